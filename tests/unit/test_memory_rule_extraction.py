"""What users state outright, found by rule; and all that only resembles it."""

from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest
from cases import each
from hypothesis import given, settings
from hypothesis import strategies as st
from memory_home import MemoryHome
from processor import assert_cheap

from memory.extraction.rule_extraction import MEANING, extract_statements, file_in_workspace
from protocol.base import DEFAULT_WORKSPACE
from protocol.memory.facts import Fact
from protocol.memory.writes import WriteResult


@pytest.fixture
def home(tmp_path: Path) -> Iterator[MemoryHome]:
    made = MemoryHome(tmp_path)
    yield made
    made.close()


def tell(home: MemoryHome, text: str) -> list[WriteResult]:
    """A turn in which the user says it and nothing but rules reads it."""
    words = home.say(text)
    said = {words.item_id or "": text}
    found = extract_statements(said)
    turn = home.turn(turn_id=words.turn_id)
    return home.do(
        home.service.turns.propose(turn, found, run_id=f"run_{words.item_id}", user_items=said, is_by_rule=True)
    )


def facts(text: str) -> list[Fact]:
    return extract_statements({"itm_1": text})


STATED = [
    ("Remember that I like green tea.", "remember", "I like green tea", None),
    ("Please remember: the office closes at six.", "remember", "The office closes at six", None),
    ("Can you remember that my bike is red?", "remember", "My bike is red", None),
    ("Don't forget that we deploy on Fridays", "ours", "We deploy on Fridays", None),
    ("Remember that my dentist is called Dr. Quast.", "person", "My dentist is called Dr. Quast", None),
    (
        "Remember that I work from 9 a.m. to 5 p.m. on Mondays.",
        "remember",
        "I work from 9 a.m. to 5 p.m. on Mondays",
        None,
    ),
    ("Remember that the project uses SQLite.", "project", "The project uses SQLite", None),
    ("Remember my locker code word is on the fridge.", "remember", "My locker code word is on the fridge", None),
    ("Remember that my name is Anna.", "name", "My name is Anna", "Anna"),
    ("Hi! My name is Anna and I need help.", "name", "My name is Anna", "Anna"),
    ("Hello, my name is Jean-Luc de la Cruz.", "name", "My name is Jean-Luc de la Cruz", "Jean-Luc de la Cruz"),
    ("my name is anna", "name", "My name is anna", "anna"),
    ("My name's Li", "name", "My name's Li", "Li"),
    ("Please call me Bob.", "nickname", "Call me Bob", "Bob"),
    ("I prefer tabs over spaces.", "preference", "I prefer tabs over spaces", None),
    ("I really prefer short answers", "style", "I really prefer short answers", None),
    ("Always answer in English.", "language", "Always answer in English", "en"),
    ("Please never use emojis in commit messages.", "instruction", "Never use emojis in commit messages", None),
    ("From now on, use metric units.", "instruction", "From now on, use metric units", None),
    ("I no longer work at Acme.", "no_longer_job", "I no longer work at Acme", None),
    ("I don't eat meat anymore.", "no_longer", "I don't eat meat anymore", None),
    ("Запомни, что я люблю чай.", "remember", "Я люблю чай", None),
    ("Привет! Меня зовут Анна.", "name", "Меня зовут Анна", "Анна"),
    ("Называй меня Шеф.", "nickname", "Называй меня Шеф", "Шеф"),
    ("Я предпочитаю короткие ответы.", "style", "Я предпочитаю короткие ответы", None),
    ("Всегда отвечай по-русски.", "language", "Всегда отвечай по-русски", "ru"),
    ("Я больше не курю.", "no_longer", "Я больше не курю", None),
    ("Merk dir bitte, dass ich in Graz wohne.", "remember", "Ich wohne in Graz", None),
    ("Ich heiße Jürgen.", "name", "Ich heiße Jürgen", "Jürgen"),
    ("Nenn mich Max.", "nickname", "Nenn mich Max", "Max"),
    ("Ich bevorzuge kurze Antworten.", "style", "Ich bevorzuge kurze Antworten", None),
    ("Antworte mir immer auf Deutsch.", "language", "Antworte mir immer auf Deutsch", "de"),
    ("Ich trinke keinen Kaffee mehr.", "no_longer", "Ich trinke keinen Kaffee mehr", None),
    ("Recuerda que soy alérgica a las nueces.", "constraint", "Soy alérgica a las nueces", None),
    ("Me llamo Lucía.", "name", "Me llamo Lucía", "Lucía"),
    ("Llámame Lu.", "nickname", "Llámame Lu", "Lu"),
    ("Prefiero respuestas cortas.", "style", "Prefiero respuestas cortas", None),
    ("Siempre responde en español.", "language", "Siempre responde en español", "es"),
    ("Ya no vivo en Madrid.", "no_longer_home", "Ya no vivo en Madrid", None),
    ("N'oublie pas que j'habite à Lyon.", "home", "J'habite à Lyon", "Lyon"),
    ("Je m'appelle Zoé.", "name", "Je m'appelle Zoé", "Zoé"),
    ("Appelle-moi Zo.", "nickname", "Appelle-moi Zo", "Zo"),
    ("Je préfère les réponses courtes.", "style", "Je préfère les réponses courtes", None),
    ("Réponds toujours en français.", "language", "Réponds toujours en français", "fr"),
    ("Je ne mange plus de viande.", "no_longer", "Je ne mange plus de viande", None),
    ("请记住我对花生过敏。", "constraint", "我对花生过敏", None),
    ("我叫李雷。", "name", "我叫李雷", "李雷"),
    ("我更喜欢简短的回答。", "style", "我更喜欢简短的回答", None),
    ("私の名前は田中です。", "name", "私の名前は田中です", "田中"),
    ("火曜日は会議だと覚えておいてください。", "remember", "火曜日は会議だ", None),
    ("I prefer being called Doc.", "nickname", "I prefer being called Doc", "Doc"),
    ("My pronouns are they/them.", "pronouns", "My pronouns are they/them", "they/them"),
    ("My birthday is on May 3rd.", "birthday", "My birthday is on May 3rd", "May 3rd"),
    ("I'm 44.", "age", "I'm 44", "44"),
    ("Meine Muttersprache ist Sorbisch.", "mother_tongue", "Meine Muttersprache ist Sorbisch", "Sorbisch"),
    ("I live in Oslo with two cats.", "home", "I live in Oslo with two cats", "Oslo with two cats"),
    ("Я работаю врачом в Томске.", "job", "Я работаю врачом в Томске", None),
    ("Ma sœur s'appelle Lou.", "person", "Ma sœur s'appelle Lou", None),
    ("I'm allergic to nuts.", "constraint", "I'm allergic to nuts", None),
    ("My favourite colour is teal.", "favourite", "My favourite colour is teal", "teal"),
    ("Tutéame, por favor.", "address", "Tutéame, por favor", None),
    ("In this repo, always use tabs.", "policy", "In this repo, always use tabs", None),
    ("Remember that we decided on Postgres.", "decided", "We decided on Postgres", None),
    ("Prefiero el tren al avión.", "preference", "Prefiero el tren al avión", None),
    ("Never push without asking me.", "instruction", "Never push without asking me", None),
    ("Ich esse kein Fleisch mehr.", "no_longer", "Ich esse kein Fleisch mehr", None),
    ("Wir mergen nur mit zwei Freigaben, merk dir das.", "ours", "Wir mergen nur mit zwei Freigaben", None),
    (
        "Vergiss nicht, dass meine Tochter am 3. Mai Geburtstag hat.",
        "remember",
        "Meine Tochter hat am 3. Mai Geburtstag",
        None,
    ),
]


@each(("text", "kind", "content", "value"), STATED)
def test_statement_is_found(text: str, kind: str, content: str, value: str | None) -> None:
    (fact,) = facts(text)
    assert fact.content == content
    assert fact.value == value
    (meant,) = (meaning for name, meaning in MEANING.items() if name == kind)
    said = ("category", "attribute", "subject", "scope_hint", "durability", "explicitness", "certainty")
    assert [getattr(fact.semantic, name) for name in said] == [getattr(meant, name) for name in said]
    assert fact.evidence.item_id == "itm_1"
    assert fact.evidence.quote in text


INNOCENT = [
    "Remember that ...",
    "Remember that time we went to Rome?",
    "Do you remember my name?",
    "I remember that I like tea.",
    "Remember when we met?",
    "Remember I told you about the bug.",
    "What is my name?",
    "My name is not important.",
    "My name is spelled wrong in the report.",
    "My name is on the list.",
    "Call me back later.",
    "Call me when you are ready.",
    "Call me maybe",
    "Call me crazy, but this should work.",
    "I prefer this one.",
    "I prefer the second option.",
    "I prefer not to say.",
    "I'd prefer a shorter text.",
    "I prefer the blue one for now.",
    "Do I prefer tabs?",
    "Should I always use tabs?",
    "Always a pleasure!",
    "Always wondered how it works.",
    "Never mind.",
    "Never heard of it.",
    "Never again!",
    "Never say never.",
    "Never give up!",
    "You should always use tabs.",
    "The docs say: always use tabs.",
    "Never use goto?",
    "She said my name is Anna.",
    'He told me: "My name is Anna."',
    '"I prefer tabs." Translate this.',
    "> My name is Anna.\nWho wrote this?",
    "```\nAlways use tabs.\nMy name is Bob.\n```\nExplain.",
    "`Remember that I like tea` is a phrase.",
    "I no longer understand this error.",
    "I don't like this error.",
    "I don't understand it anymore.",
    "Forget that I live in Oslo.",
    "Forget everything about me.",
    "Call me tomorrow.",
    "Use tabs here.",
    "Always use tabs here.",
    "Как меня зовут?",
    "Я не помню, как меня зовут.",
    "Я предпочитаю этот вариант.",
    "Wie heiße ich?",
    "Ich bevorzuge die zweite Variante.",
    "Immer wieder passiert das.",
    "Ich verstehe das nicht mehr.",
    "¿Cómo me llamo?",
    "Prefiero esta opción.",
    "Siempre pasa lo mismo.",
    "Comment je m'appelle ?",
    "Je préfère celui-là.",
    "Toujours pareil.",
    "我叫了外卖。",
    "我叫什么名字？",
    "我更喜欢这个",
    "Remember.",
    "Remember that",
    "My name is 42.",
    "",
    "👍",
]


RESEMBLING = [
    "When you're done, tell me",
    "When I say go, start the timer",
    "For each row, add a checkbox",
    "In every cell, write a zero",
    "Remember that scene where he dies?",
    "Remember that feeling when you win",
    "Don't forget to water the plants",
    "Remember to breathe",
    "Never judge a book by its cover",
    "Never change a running system",
    "Note that the function is recursive",
    "Keep in mind that the API is slow",
    "Test fails every time I push",
    "I've stopped the server",
    "I switched to the main branch",
    "I no longer have questions",
    "I live in fear",
    "I have three cats and two dogs. How many legs is that?",
    "Each time I run it, it crashes",
    "Call me Einstein, but I think this is wrong",
    "I prefer the shorter version",
    "I prefer Anna's draft",
    "I love it",
    "My wife is angry",
    "My cat is hungry",
    "Bring milk, don't forget",
    "Build breaks whenever I rename the file",
    "Ich habe keine Fragen mehr",
    "Ich mag nicht mehr",
    "Sag niemals nie",
    "Gib nie auf!",
    "Ich arbeite am Projekt weiter",
    "Ich bin der Meinung, dass das falsch ist",
    "Ich heiße das nicht gut",
    "Beachte, dass die Datei groß ist",
    "Wenn du fertig bist, sag Bescheid",
    "Katzen landen immer auf den Pfoten",
    "Das vergesse ich immer",
    "Nie wieder Montag",
    "Ich komme aus dem Urlaub",
    "Mein Chef ist sauer",
    "Nunca digas nunca",
    "Me encanta este poema",
    "Ya no tengo dudas",
    "Cuando termines, avísame",
    "En cada fila, pon un cero",
    "Vivo con miedo",
    "Siempre llueve aquí",
    "Recuerda que la función es recursiva?",
    "Trabajo en ello",
    "Soy consciente de eso",
    "Tengo 3 años de experiencia con esto",
    "N'abandonne jamais",
    "Il ne faut jamais dire jamais",
    "J'ai arrêté le serveur",
    "Je n'ai plus de questions",
    "Quand tu as fini, dis-moi",
    "Pour chaque ligne, ajoute un zéro",
    "J'ai 3 ans d'expérience",
    "Je suis plutôt perdu",
    "C'est toujours pareil",
    "Presque toujours faux",
    "Note que la fonction est récursive",
    "Никогда не говори никогда",
    "Кошки всегда падают на лапы",
    "Дети всегда правы",
    "Соседи шумят всегда",
    "Когда закончишь, скажи",
    "В каждой строке добавь ноль",
    "Я работаю над отчётом",
    "Я работаю дома",
    "Давай на сегодня закончим",
    "Я больше не понимаю",
    "Меня зовут гулять",
    "У меня больше нет вопросов",
    "Всегда твой",
    "Учти, что функция рекурсивная",
    "我在做作业",
    "我在家做饭",
    "我老板叫大家加班",
    "我妈妈叫我吃饭",
    "每次我运行都会报错",
    "所有的测试都用了mock",
    "永远不要放弃",
    "我喜欢这首歌",
    "我叫了出租车",
    "我不吃了",
    "我不喝了",
    "我在想这个问题",
    "我是说第二个",
    "现在更喜欢这个了",
    "请记住这个数字",
    "我搬不动",
    "我们总是这样",
    "Remember, you're the expert here.",
    "Always the same story with this printer.",
    "I prefer to keep it simple here.",
    "Please always keep in touch!",
    "My name is on the ticket, check again.",
    "I go by bus.",
    "From now on it gets harder, right?",
    "I no longer see the error.",
    "Please note: the meeting moved to 3 pm.",
    "Save this as a PDF: the report from yesterday.",
    "Save: Ctrl+S does not work.",
    "Don't forget: the deadline is tonight.",
    "Reminder: dentist at four.",
    "Important: the build is broken.",
    "For the record, I was right.",
    "Add a note that the shop is closed on Mondays.",
    "Write an email and say that my name is Carl.",
    "Write a bio: My name is Carl. I live in Rome.",
    "In the script, the pirate says: never trust a parrot.",
    "I am 100% sure.",
    "I am 5 minutes late",
    "I'm a bit of a perfectionist about this paragraph",
    "I'm an idiot, it was a typo",
    "I don't drink that much tea, is that bad?",
    "I'm allergic to meetings, lol",
    "Never have I ever seen such a mess",
    "Make sure to always close the tag in that snippet",
    "The rule is to always add a comma",
    "I usually prefer tabs but for this file use spaces",
    "If the user is new, always show the tour",
    "Address me in the letter as Dr. Smith",
    "Nota: el archivo está dañado",
    "Importante: la reunión es a las tres",
    "Guarda esto como PDF: el informe",
    "Apunta que la reunión es mañana",
    "Recuerda: hoy cerramos a las dos",
    "Me llamo a mí mismo en la función",
    "Siempre me pasa lo mismo",
    "Nunca me acuerdo de eso",
    "Ya no funciona el botón",
    "Ya no uso la variable x, ¿la borro?",
    "Prefiero hacerlo yo",
    "Prefiero no hacerlo",
    "Soy de los que madrugan",
    "Note : la réunion est reportée",
    "Important : le serveur est en panne",
    "Je préfère le faire moi-même",
    "Je préfère ne pas répondre",
    "Rappel : rendez-vous à seize heures",
    "Je n'utilise plus la variable x, je la supprime ?",
    "Retiens la page pour moi",
    "Moi, c'est pareil",
    "Важно: сервер упал",
    "Напоминание: встреча в три",
    "Запиши: молоко, хлеб",
    "Я предпочитаю не отвечать",
    "Мне больше нравится так",
    "Я больше не использую переменную x, удалить?",
    "Не забудь, завтра встреча",
    "Помни, что сегодня мы закрываемся в два",
    "Merke: Heute ist Redaktionsschluss",
    "Notiz: Termin um vier",
    "Wichtig: der Server ist kaputt",
    "Ich bevorzuge es, das selbst zu machen",
    "Ich nutze die Variable x nicht mehr, löschen?",
    "重要：服务器坏了",
    "备注：会议改到三点",
    "记住这一页",
    "请保存：报告.docx",
    "我更喜欢自己做",
    "我宁愿不回答",
    "以后再说吧",
    "以后会更好",
]
"""Work at hand, sayings, reminders of the day and things that merely sound alike."""

WORDED_OTHERWISE = [
    "I work as a baker.",
    "Just remember: I'm allergic to bees.",
    "Please note that I work part-time.",
    "Address me as Captain.",
    "I'm from Lagos.",
    "I quit smoking.",
    "Keep your answers short, always.",
    "No emojis, ever.",
    "Under no circumstances delete my files.",
    "Make sure to always cite sources.",
    "Don't use jargon in your answers.",
    "We use Postgres, for future reference.",
    "My preferred editor is Helix.",
    "I'm more of a tea person.",
    "Bitte sag du zu mir.",
    "Ich ernähre mich vegan.",
    "Fürs Protokoll: Unser Server steht in Wien.",
    "Ich nutze kein Windows mehr.",
    "Auf keinen Fall Dateien ohne Rückfrage löschen.",
    "Mir ist Tee lieber als Kaffee.",
    "Denk dran: Ich arbeite nur vormittags.",
    "Ich wohne in Linz.",
    "Tengo alergia al marisco.",
    "He dejado de fumar.",
    "Puedes decirme Paco.",
    "Ten presente que trabajo de noche.",
    "Cuando me escribas código, no uses punto y coma.",
    "Soy de Quito.",
    "Note que je travaille de nuit.",
    "Garde à l'esprit que je suis végétarienne.",
    "J'ai arrêté de fumer.",
    "Ne m'écris jamais en majuscules.",
    "Tu peux m'appeler Zaza.",
    "Ma langue maternelle est le wolof.",
    "Возьми на заметку: я веган.",
    "Я бросил курить.",
    "Можешь звать меня Лёша.",
    "Ни в коем случае не удаляй мои файлы.",
    "Больше не используй эмодзи.",
    "Я из Казани.",
    "我来自成都。",
    "我戒烟了。",
    "请务必用中文回答我。",
    "你可以叫我阿明。",
    "我的职业是老师。",
    "任何时候都不要删除我的文件。",
    "记得我不吃辣。",
    "我的猫叫米粒。",
]


@each("text", [*INNOCENT, *RESEMBLING])
def test_innocent_sentence_states_nothing(text: str) -> None:
    assert facts(text) == []


@each("text", WORDED_OTHERWISE)
def test_statement_in_other_words_is_found(text: str) -> None:
    assert len(facts(text)) == 1


def test_every_statement_of_a_message_is_found_once() -> None:
    said = {
        "itm_1": "My name is Dr. Anna Berg. I prefer tabs over spaces! Always answer in English.\nMy name is Dr. Anna Berg",
        "itm_2": "I prefer tabs over spaces.",
    }
    found = extract_statements(said)
    assert [fact.content for fact in found][1:] == ["I prefer tabs over spaces", "Always answer in English"]
    assert all(fact.evidence.quote in said["itm_1"] for fact in found)


def test_statement_may_hold_a_quotation() -> None:
    (fact,) = facts('Remember that the door code word is "swordfish".')
    assert fact.content == 'The door code word is "swordfish"'


NICKNAMES = [
    "From now on call me Bo.",
    "Von nun an nenn mich bitte Bo.",
    "A partir de ahora llámame Bo.",
    "Désormais, appelle-moi Bo.",
    "Отныне называй меня Bo.",
    "以后请叫我Bo。",
    "Please call me Bo.",
    "Tu peux m'appeler Bo.",
]


@each("text", NICKNAMES)
def test_a_nickname_is_one_thing_in_every_language(text: str) -> None:
    (fact,) = facts(text)
    assert (fact.semantic.category, fact.semantic.attribute, fact.value) == ("identity", "nickname", "Bo")


def test_only_a_wish_counts_as_one() -> None:
    (said,), (asked,) = facts("I live in Oslo."), facts("Remember that I live in Oslo.")
    assert (said.semantic.intent, asked.semantic.intent) == ("implicit_candidate", "explicit_store")
    assert said.semantic.attribute == asked.semantic.attribute == "home"
    for meaning in MEANING.values():
        assert (meaning.explicitness, meaning.certainty) == ("explicit", "high")
        assert meaning.durability in {"long_lived", "project_lifetime"}
    assert {kind for _, kind, _, _ in STATED} == set(MEANING)


SINGLE = [
    ("My name is Anna.", "My name is Hanna."),
    ("Call me Bob.", "Nenn mich Robert."),
    ("Always answer in English.", "À partir de maintenant, réponds toujours en français."),
    ("Remember that I live in Oslo.", "I no longer live in Oslo."),
    ("My favourite colour is teal, remember that.", "Remember that my favourite colour is red."),
]


@pytest.mark.parametrize(("before", "after"), SINGLE)
def test_what_there_is_one_of_is_corrected(home: MemoryHome, before: str, after: str) -> None:
    first, second = tell(home, before), tell(home, after)
    assert [r.decision.reason_code for r in (*first, *second)] == ["active_created", "superseded_by_correction"]
    assert second[0].superseded_memory_id == (first[0].record and first[0].record.memory_id)


def test_a_secret_is_no_statement() -> None:
    for text in (
        "Remember that my password is hunter2-Blue.",
        "Merk dir mein Passwort: Sommer2023!",
        "Запомни мой пароль: Zima-2022",
        "Recuerda que mi PIN es 4821",
        "Retiens que le code de ma carte est 4242",
        "记住我的密码：Maomao2021",
        "Remember that my API key is abc",
        "Remember: IBAN DE02 1203 0000 0000 2020 51",
    ):
        assert facts(text) == [], text


def test_statements_that_follow_one_another_are_all_found() -> None:
    found = facts("Hi! My name is Anna, I live in Graz and I'm vegan.")
    assert [fact.content for fact in found] == ["My name is Anna", "I live in Graz", "I'm vegan"]


def test_a_text_handed_over_is_not_the_users() -> None:
    for text in (
        "Translate this:\nMy name is Anna. I prefer tea.",
        "Please proofread: Dear all. My name is Anna.",
        "Here is the mail:\nAlways answer in English.",
        "Imagine you are a pirate. Always answer in English.",
        "user: hi\nassistant: hello\nuser: My name is Anna. I live in Oslo.",
        "My name is Napoleon. Just kidding!",
        "Korrigiere bitte diesen Text. Ich heiße Anna.",
    ):
        assert facts(text) == [], text


def test_long_statement_is_bounded() -> None:
    (fact,) = facts("Remember that " + "very " * 400 + "long")
    assert len(fact.content) <= 800
    assert len(fact.evidence.quote) <= 500


@settings(deadline=None)  # the first reading compiles the phrases
@given(st.text(max_size=300), st.sampled_from([text for text, *_ in STATED]))
def test_quote_is_always_the_users_own_words(noise: str, statement: str) -> None:
    text = f"{noise}\n{statement}"
    for fact in facts(text):
        assert fact.evidence.quote in text
        assert fact.content


def test_hostile_text_is_read_in_no_time() -> None:
    for text in (
        "hi, " * 5000,
        "my name is " * 2000,
        "always use " * 2000,
        "ich esse " * 2500,
        "记住" * 9000,
        "a " * 10_000,
    ):
        assert_cheap(partial(facts, text), 0.5)


def test_outside_projects_what_we_do_is_the_user_s_and_a_decision_stays_one() -> None:
    ours = file_in_workspace(facts("Remember that we keep kosher."), DEFAULT_WORKSPACE)
    assert [(fact.semantic.category, fact.semantic.scope_hint) for fact in ours] == [("custom", "user_global")]
    decided = facts("Remember that we decided to sell the boat.")
    assert decided[0].semantic.category == "project_decision"
    named = facts("Remember that the project uses SQLite.")
    assert named[0].semantic.category == "project_fact"
    assert file_in_workspace(decided + named, DEFAULT_WORKSPACE) == decided + named
