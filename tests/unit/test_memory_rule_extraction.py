"""What users state outright, found by rule; and all that only resembles it."""

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory.rule_extraction import MEANING, extract_statements
from protocol.memory import Fact


def facts(text: str) -> list[Fact]:
    return extract_statements({"itm_1": text})


STATED = [
    ("Remember that I like green tea.", "remember", "I like green tea", None),
    ("Please remember: the office closes at six.", "remember", "The office closes at six", None),
    ("Can you remember that my bike is red?", "remember", "My bike is red", None),
    ("Don't forget that we deploy on Fridays", "remember", "We deploy on Fridays", None),
    ("Remember my locker code word is on the fridge.", "remember", "My locker code word is on the fridge", None),
    ("Remember that my name is Anna.", "name", "My name is Anna", "Anna"),
    ("Hi! My name is Anna and I need help.", "name", "My name is Anna", "Anna"),
    ("Hello, my name is Jean-Luc de la Cruz.", "name", "My name is Jean-Luc de la Cruz", "Jean-Luc de la Cruz"),
    ("my name is anna", "name", "My name is anna", "anna"),
    ("My name's Li", "name", "My name's Li", "Li"),
    ("Please call me Bob.", "call_me", "Call me Bob", "Bob"),
    ("I prefer tabs over spaces.", "preference", "I prefer tabs over spaces", None),
    ("I really prefer short answers", "preference", "I really prefer short answers", None),
    ("Always answer in English.", "instruction", "Always answer in English", None),
    ("Please never use emojis in commit messages.", "instruction", "Please never use emojis in commit messages", None),
    ("From now on, use metric units.", "instruction", "From now on, use metric units", None),
    ("I no longer work at Acme.", "no_longer", "I no longer work at Acme", None),
    ("I don't eat meat anymore.", "no_longer", "I don't eat meat anymore", None),
    ("Запомни, что я люблю чай.", "remember", "Я люблю чай", None),
    ("Привет! Меня зовут Анна.", "name", "Меня зовут Анна", "Анна"),
    ("Называй меня Шеф.", "call_me", "Называй меня Шеф", "Шеф"),
    ("Я предпочитаю короткие ответы.", "preference", "Я предпочитаю короткие ответы", None),
    ("Всегда отвечай по-русски.", "instruction", "Всегда отвечай по-русски", None),
    ("Я больше не курю.", "no_longer", "Я больше не курю", None),
    ("Merk dir bitte, dass ich in Graz wohne.", "remember", "Ich in Graz wohne", None),
    ("Ich heiße Jürgen.", "name", "Ich heiße Jürgen", "Jürgen"),
    ("Nenn mich Max.", "call_me", "Nenn mich Max", "Max"),
    ("Ich bevorzuge kurze Antworten.", "preference", "Ich bevorzuge kurze Antworten", None),
    ("Antworte mir immer auf Deutsch.", "instruction", "Antworte mir immer auf Deutsch", None),
    ("Ich trinke keinen Kaffee mehr.", "no_longer", "Ich trinke keinen Kaffee mehr", None),
    ("Recuerda que soy alérgica a las nueces.", "remember", "Soy alérgica a las nueces", None),
    ("Me llamo Lucía.", "name", "Me llamo Lucía", "Lucía"),
    ("Llámame Lu.", "call_me", "Llámame Lu", "Lu"),
    ("Prefiero respuestas cortas.", "preference", "Prefiero respuestas cortas", None),
    ("Siempre responde en español.", "instruction", "Siempre responde en español", None),
    ("Ya no vivo en Madrid.", "no_longer", "Ya no vivo en Madrid", None),
    ("N'oublie pas que j'habite à Lyon.", "remember", "J'habite à Lyon", None),
    ("Je m'appelle Zoé.", "name", "Je m'appelle Zoé", "Zoé"),
    ("Appelle-moi Zo.", "call_me", "Appelle-moi Zo", "Zo"),
    ("Je préfère les réponses courtes.", "preference", "Je préfère les réponses courtes", None),
    ("Réponds toujours en français.", "instruction", "Réponds toujours en français", None),
    ("Je ne mange plus de viande.", "no_longer", "Je ne mange plus de viande", None),
    ("请记住我对花生过敏。", "remember", "我对花生过敏", None),
    ("我叫李雷。", "name", "我叫李雷", "李雷"),
    ("我更喜欢简短的回答。", "preference", "我更喜欢简短的回答", None),
    ("私の名前は田中です。", "name", "私の名前は田中です", "田中"),
    ("火曜日は会議だと覚えておいてください。", "remember", "火曜日は会議だ", None),
]


@pytest.mark.parametrize(("text", "kind", "content", "value"), STATED)
def test_statement_is_found(text: str, kind: str, content: str, value: str | None) -> None:
    (fact,) = facts(text)
    assert fact.content == content
    assert fact.value == value
    assert fact.semantic == MEANING[kind]  # type: ignore[index]
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


@pytest.mark.parametrize("text", INNOCENT)
def test_innocent_sentence_states_nothing(text: str) -> None:
    assert facts(text) == []


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


def test_a_statement_is_the_users_explicit_wish() -> None:
    for meaning in MEANING.values():
        assert (meaning.intent, meaning.explicitness, meaning.durability, meaning.certainty) == (
            "explicit_store", "explicit", "long_lived", "high",
        )  # fmt: skip
    assert {kind for _, kind, _, _ in STATED} == set(MEANING)


def test_long_statement_is_bounded() -> None:
    (fact,) = facts("Remember that " + "very " * 400 + "long")
    assert len(fact.content) <= 800
    assert len(fact.evidence.quote) <= 500


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
        started = time.process_time()
        facts(text)
        assert time.process_time() - started < 1.0
