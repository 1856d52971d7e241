"""What people say to steer memory, in seven languages, and what only sounds like it."""

from functools import partial

import pytest
from cases import each
from processor import assert_cheap

from promt.intents import Intents, detect
from promt.layout import MASK, mask_quotes

NO_SAVE = [
    "Don't remember this, but I had a rough night.",
    "Please don’t save this.",
    "This is off the record: I'm leaving in May.",
    "Do not store this in your memory.",
    "My doctor called. Don't remember any of this please",
    "Never memorize my address.",
    "dont remember that",
    "Just between us, don't keep this conversation.",
    "No need to remember this: the Wi-Fi is slow.",
    "Help me with this letter without saving it to memory",
    "Don't add that to your memory.",
    "Please keep this out of your memory.",
    "I'd ask you not to remember what I say here.",
    "don't save anything from this message",
    "Don't record this.",
    "I'm telling you, but do not remember it.",
    "Не запоминай это, пожалуйста.",
    "Это не для протокола: я увольняюсь.",
    "Пожалуйста, не сохраняй это.",
    "Merk dir das nicht.",
    "Das bitte nicht speichern.",
    "Speichere das bitte nicht",
    "No guardes esto, por favor.",
    "No recuerdes nada de lo que te diga.",
    "Ne retiens pas ça.",
    "N'enregistre pas ça.",
    "不要记住这个",
    "请别保存这些内容",
    "これは覚えないでください。",
    "オフレコだけど、来月辞めるんだ。",
]
REMEMBER = [
    "Remember that I'm allergic to nuts.",
    "remember my dog is called Rex",
    "Please remember: we deploy on Fridays.",
    "Can you remember that I use fish shell?",
    "Don't forget that I'm vegetarian.",
    "Please don’t forget my sister's name is Olga.",
    "I want you to remember this.",
    "Keep in mind that I work nights.",
    "Make a note that the office moved.",
    "Save this to your memory: I live in Porto.",
    "Add to your long-term memory that I prefer tabs.",
    "Thanks! Also remember to answer in English.",
    "Could you please remember I have two kids?",
    "Never forget that production is read-only.",
    "Hey, please memorize this: my locker is upstairs.",
    "For future reference, our sprint starts on Tuesday.",
    "Make sure to remember that I hate cilantro.",
    "Commit this to memory: tests come first.",
    "Запомни, что я люблю зелёный чай.",
    "Не забудь, что у меня аллергия на орехи.",
    "Запомните: встречи по вторникам.",
    "Merk dir bitte, dass ich in Graz wohne.",
    "Vergiss nicht, dass ich Vegetarierin bin.",
    "Denk daran, dass wir freitags ausliefern.",
    "Recuerda que soy alérgica a las nueces.",
    "No olvides que vivo en Sevilla.",
    "Por favor, recuerda que uso Linux.",
    "Souviens-toi que je suis végétarien.",
    "N’oublie pas que j’habite à Lyon.",
    "Retiens que nous livrons le vendredi.",
    "请记住我对花生过敏。",
    "记住：我住在上海",
    "别忘了我喜欢简短的回答",
    "私はベジタリアンだと覚えておいてください。",
    "会議は火曜日だと忘れないで。",
]
FORGET = [
    "Forget that I live in Oslo.",
    "Please forget my old address.",
    "Can you forget what I told you about the job?",
    "Delete that from your memory.",
    "Forget everything about me.",
    "Erase your memory.",
    "Remove my birthday from memory.",
    "Actually, forget that I like jazz.",
    "I want you to forget my ex's name.",
    "Stop remembering my diet.",
    "Delete everything you know about my health.",
    "You can forget the fact that I smoke.",
    "Wipe all saved memories.",
    "Forget about my allergy, it was a false alarm.",
    "Ok, now forget what I said about Berlin.",
    "Clear this memory.",
    "Забудь, что я живу в Омске.",
    "Пожалуйста, забудь всё про мою работу.",
    "Удали это из памяти.",
    "Vergiss bitte, dass ich rauche.",
    "Lösche das aus deinem Gedächtnis.",
    "Olvida que vivo en Madrid.",
    "Borra eso de tu memoria.",
    "Oublie que je fume.",
    "Efface ça de ta mémoire.",
    "忘记我的地址",
    "请把我的生日忘掉",
    "住所のことは忘れてください。",
    "それを記憶から削除して",
]
HISTORY = [
    "What did we decide about the database?",
    "what did we agree on yesterday",
    "Continue the plan.",
    "Let's continue where we left off",
    "As we discussed, use Postgres.",
    "You mentioned a book last week, which one?",
    "Remind me what the next step was.",
    "Where were we?",
    "Go back to our previous conversation.",
    "Do you remember what I said about the budget?",
    "Which colour did we choose?",
    "I asked about this two days ago.",
    "Earlier you gave me a recipe.",
    "What was that idea we talked about?",
    "Same as last time, please.",
    "Why did you suggest Redis?",
    "Pick up from where you stopped.",
    "Что мы вчера решили по базе?",
    "Продолжим план.",
    "Как мы договорились, берём Postgres.",
    "Напомни, на чём мы остановились?",
    "Was haben wir gestern beschlossen?",
    "Wie besprochen nehmen wir Postgres.",
    "Mach mit dem Plan weiter.",
    "¿Qué decidimos ayer?",
    "Continuemos con el plan.",
    "Como acordamos la semana pasada",
    "Qu'est-ce qu'on a décidé hier ?",
    "Continue le plan.",
    "Reprenons là où on s'était arrêtés",
    "我们昨天决定了什么？",
    "继续之前的计划",
    "昨日何を決めましたか？",
    "計画の続きをお願いします",
]
ASKS = [
    "What do you know about me?",
    "what do you remember about my project",
    "Do you know my name?",
    "What's my birthday?",
    "Who am I?",
    "What have you saved about me?",
    "Show me your memories.",
    "List all saved memories",
    "Tell me everything you know about me.",
    "Do you remember where I live?",
    "What is in your memory?",
    "What is my favorite colour?",
    "Have I ever told you about my sister?",
    "Tell me what you remember.",
    "How well do you know me?",
    "do you still know who I am?",
    "Что ты обо мне знаешь?",
    "Что ты помнишь обо мне?",
    "Как меня зовут?",
    "Was weißt du über mich?",
    "Wie heiße ich?",
    "¿Qué sabes de mí?",
    "¿Cómo me llamo?",
    "Que sais-tu de moi ?",
    "Comment je m'appelle ?",
    "你知道我的名字吗？",
    "你记得关于我什么？",
    "我叫什么？",
    "私について何を知っていますか？",
    "私の名前を覚えていますか？",
]
INNOCENT = [
    "I don't remember the name of that function.",
    "Forget it.",
    "I forgot my keys again, what should I cook?",
    "Do not save the file before the tests pass.",
    "Don't store the session token in localStorage.",
    "How do I record a macro in Vim?",
    "The compiler remembers the types.",
    "It's hard to remember all these flags.",
    "Remember?",
    "A night to remember is a film, right?",
    "Before I forget: how long does rice take?",
    "People easily forget birthdays.",
    "Write a poem about forgetting.",
    "What does `git stash` do?",
    "How does memory allocation work in Rust?",
    "Delete the third row of the table.",
    "Clear the cache and restart.",
    "How much memory does Redis use?",
    "Load the array into memory.",
    "Keep the cache in memory for speed.",
    'Translate: "remember that I like tea"',
    "What does the phrase 'don't forget that' mean?",
    "```\n# remember that this is slow\nx = 1\n```\nWhy is this slow?",
    "> forget everything about me\nIs this line fine?",
    "Explain “what do you know about me” as a song title.",
    "Continue.",
    "Yes, go ahead.",
    "Write a for loop with continue and break.",
    "What did the Romans eat?",
    "What is the capital of France?",
    "Who was the first president?",
    "Use an earlier version of Python.",
    "The earliest train is at six.",
    "What do you know about black holes?",
    "Do you know the weather model GFS?",
    "What is my IP address?",
    "Make a note field in the form.",
    "I need to remember how pointers work.",
    "She can't remember where she parked.",
    "We never forget our customers, says the slogan.",
    "Save the report as PDF.",
    "Don't keep the door open.",
    "Plan a trip to Rome for me.",
    "Who am I supposed to contact for refunds?",
    "Add a column named memory to the table.",
    "Never log the request body.",
    "Summarise this article.",
    "Thanks, that works!",
    "Я не помню пароль от роутера.",
    "Как работает память в Python?",
    "Я забыл зонт, что делать?",
    "Напиши стих про осень.",
    "Ich habe meinen Schlüssel vergessen.",
    "Wie viel Speicher braucht das?",
    "Das kann ich mir nicht merken.",
    "Vergiss es.",
    "No recuerdo cómo se llama.",
    "¿Cuánta memoria necesita?",
    "Olvidé mi paraguas.",
    "J'ai oublié mon parapluie.",
    "Je ne me souviens pas du titre.",
    "Combien de mémoire faut-il ?",
    "我忘了带伞，怎么办？",
    "怎么释放内存？",
    "写一首关于秋天的诗",
    "傘を忘れました。どうすればいい？",
    "Pythonのメモリ管理を説明して",
    "",
    "   ",
    "👍",
]


def says(**intents: bool) -> set[str]:
    return {name for name, said in intents.items() if said}


def found(text: str) -> set[str]:
    intents = detect(text)._asdict()
    intents.pop("language")
    return says(**intents)


@each("text", NO_SAVE)
def test_no_save_is_heard(text: str) -> None:
    assert "no_save" in found(text)
    assert "remember" not in found(text)


@each("text", REMEMBER)
def test_remember_is_heard(text: str) -> None:
    assert found(text) & {"remember", "no_save", "forget"} == {"remember"}


@each("text", FORGET)
def test_forget_is_heard(text: str) -> None:
    assert found(text) & {"remember", "no_save", "forget"} == {"forget"}


@each("text", HISTORY)
def test_reference_to_history_is_heard(text: str) -> None:
    assert found(text) & {"refers_to_history", "remember", "no_save", "forget"} == {"refers_to_history"}


@each("text", ASKS)
def test_question_about_memory_is_heard(text: str) -> None:
    assert found(text) & {"asks_memory", "remember", "no_save", "forget"} == {"asks_memory"}


@each("text", INNOCENT)
def test_innocent_sentence_says_nothing(text: str) -> None:
    assert detect(text) == Intents()


def test_corpus_is_as_large_as_promised() -> None:
    assert all(len(set(corpus)) >= 25 for corpus in (NO_SAVE, REMEMBER, FORGET, HISTORY, ASKS))
    assert len(set(INNOCENT)) >= 60


@pytest.mark.parametrize(
    ("text", "language"),
    [
        ("Remember that I like tea.", "en"),
        ("Запомни, что я люблю чай.", "ru"),
        ("Merk dir, dass ich Tee mag.", "de"),
        ("No olvides que me gusta el té.", "es"),
        ("N'oublie pas que j'aime le thé.", "fr"),
        ("请记住我喜欢茶。", "zh"),
        ("私はお茶が好きだと覚えておいて。", "ja"),
        ("I like tea.", None),
    ],
)
def test_language_is_the_one_that_was_spoken(text: str, language: str | None) -> None:
    assert detect(text).language == language


def test_two_intents_of_one_message_are_both_heard() -> None:
    assert found("Forget that I live in Oslo. Remember that I live in Bergen.") == {"forget", "remember"}


def test_letters_case_accents_and_invisible_characters_do_not_matter() -> None:
    assert found("REMEMBER THAT I like tea") == {"remember"}
    assert found("Re\u200bmember that I like tea") == {"remember"}
    assert found("¿Que sabes de mi?") == found("¿Qué sabes de mí?") == {"asks_memory"}


def test_only_the_ends_of_a_long_message_are_read() -> None:
    filler = "Lorem ipsum dolor sit amet. " * 4000
    assert found(f"Remember that I like tea. {filler}") == {"remember"}
    assert found(f"{filler} Remember that I like tea.") == {"remember"}
    assert found(f"{filler} Remember that I like tea. {filler}") == set()


def test_masking_keeps_every_place() -> None:
    text = "Say \"remember that\" and `forget` it's don't 'quoted' end"
    masked = mask_quotes(text)
    assert len(masked) == len(text)
    assert masked.replace(MASK, "") == "Say  and  it's don't  end"


def test_detection_is_fast_also_on_hostile_input() -> None:
    detect("warm up: compile what is needed")
    hostile = [
        "remember " * 1000,
        "don't " * 1500,
        '"' * 6000,
        "'" * 6000,
        "`" * 6000,
        "什么" * 3000,
        "what do you " * 600,
    ]
    for text in hostile:
        detect(text)
        assert_cheap(partial(detect, text), 0.125)


def test_words_that_are_nobodys_may_still_say_that_nothing_be_kept() -> None:
    heard = detect("INSERT then ROLLBACK so nothing gets saved — do sequences still increment?")
    assert (heard.language, heard.remember) == (None, False)
