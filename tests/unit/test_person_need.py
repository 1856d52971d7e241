"""Prompts that need the person are told from those that need nothing of them, by examples of each language."""

from hypothesis import given
from hypothesis import strategies as st

from promt.language.reader import languages, tables
from promt.person_need import weigh_need

NEEDS = [
    "Which pharmacy do I use?",
    "Suggest a restaurant for my mother's visit",
    "when does our lease end",
    "Was schenke ich meinem Bruder?",
    "Où travaille ma cousine ?",
    "¿A qué gimnasio voy?",
    "Как зовут мою соседку?",
    "我住在哪一层？",
    "私の好きな飲み物は？",
]
NEEDS_NOTHING = [
    "Explain how a steam engine works",
    "Write a Python function that counts vowels in a string",
    "What is the capital of Norway?",
    "Translate this sentence into Dutch: The shop is closed.",
    "Erkläre, wie ein Motor funktioniert",
    "Qui a peint La Joconde ?",
    "Traduce esta frase al francés: Llueve.",
    "Кто написал «Анну Каренину»?",
    "解释一下什么是通货膨胀。",
    "コンピュータの仕組みを説明してください。",
]


def test_each_kind_is_told_in_several_languages() -> None:
    assert [text for text in NEEDS if weigh_need(text) <= 0] == []
    assert [text for text in NEEDS_NOTHING if weigh_need(text) >= 0] == []


def test_what_says_nothing_weighs_little_and_case_nothing() -> None:
    assert weigh_need("") == 0
    assert weigh_need("qzx") == 0
    assert weigh_need("WHICH PHARMACY DO I USE?") == weigh_need("which pharmacy do i use")


@given(st.text(max_size=300))
def test_any_text_has_a_bounded_weight(text: str) -> None:
    assert abs(weigh_need(text)) < 2 * (len(text) + 1)


def test_no_example_is_of_both_kinds_or_stands_twice() -> None:
    told = [line for table in tables("examples").values() for kind in table.values() for line in kind.splitlines()]
    lines = [line for line in told if line]
    assert sorted(set(lines)) == sorted(lines)
    assert len(lines) > 40 * len(tables("examples"))
    assert {"en", "de", "fr", "es", "ru", "zh", "ja"} <= tables("examples").keys() <= languages().keys()
