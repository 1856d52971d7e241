"""How well a message's own words steer memory, in seven languages, on phrasings that were written without the tables.

`blind.jsonl`, `hard.jsonl` and `hard_blind.jsonl` were never read while the tables were written: only their rates were
looked at. Each bound is what is reached there, with a little room. What is told from `dev.jsonl` says less: it was
read. The hard ones are written to mislead: wishes in unusual words, and half of the messages have the words of a wish
and are none.
"""

import json
from functools import cache
from pathlib import Path

import pytest
from sizes import size

from promt.intents import Intents, detect

pytestmark = pytest.mark.loop("check", "campaign")
CORPORA = Path(__file__).parent / "policy"
LANGUAGES = {"en", "ru", "de", "es", "fr", "zh", "ja"}
INTENTS = ("no_save", "no_recall", "remember", "forget")
_SOME = size("policy_every")
EVERY = {"dev": _SOME, "blind": 1, "hard": _SOME, "hard_blind": 1}
"""Of `dev.jsonl` and `hard.jsonl` each fourth phrasing is heard; all of them with PIONEER_POLICY_EVERY=1."""
BOUNDS = {
    "dev": {
        "no_save": (0.105, 0.009),
        "no_recall": (0.165, 0.013),
        "remember": (0.165, 0.016),
        "forget": (0.13, 0.013),
    },
    "blind": {"no_save": (0.04, 0.03), "no_recall": (0.23, 0.01), "remember": (0.125, 0.019), "forget": (0.1, 0.014)},
    "hard": {"no_save": (0.42, 0.13), "no_recall": (0.72, 0.06), "remember": (0.7, 0.045), "forget": (0.4, 0.045)},
    "hard_blind": {
        "no_save": (0.4, 0.105),
        "no_recall": (0.52, 0.045),
        "remember": (0.35, 0.042),
        "forget": (0.29, 0.04),
    },
}
"""Missed and falsely heard, per intent. The aim for `no_save` is 0.02 and 0.01 on all; it is not reached."""

BEFORE = {
    "en": "We moved in May and the boxes are still in the hall. My sister helps on Sundays, the cat hides all day. ",
    "ru": "Мы переехали в мае, и коробки всё ещё стоят в коридоре. Сестра помогает по воскресеньям, кот прячется. ",
    "de": "Wir sind im Mai umgezogen und die Kisten stehen noch im Flur. Meine Schwester hilft sonntags beim Streichen. ",
    "es": "Nos mudamos en mayo y las cajas siguen en el pasillo. Mi hermana ayuda los domingos, el gato se esconde. ",
    "fr": "Nous avons déménagé en mai et les cartons sont dans le couloir. Ma sœur aide le dimanche, le chat se cache. ",
    "zh": "我们五月搬了家，箱子还在走廊里。姐姐周日来帮忙，猫整天躲着。",
    "ja": "五月に引っ越して、箱はまだ廊下にある。日曜は姉が手伝いに来る。猫は一日中隠れている。",
}
AFTER = {
    "en": " Which colour suits a dark hall, and how many litres of paint are needed for forty square metres?",
    "ru": " Какой цвет подойдёт тёмному коридору и сколько литров краски нужно на сорок метров?",
    "de": " Welche Farbe passt in einen dunklen Flur, und wie viele Liter braucht man für vierzig Quadratmeter?",
    "es": " ¿Qué color va bien en un pasillo oscuro y cuántos litros de pintura hacen falta para cuarenta metros?",
    "fr": " Quelle couleur va dans un couloir sombre, et combien de litres de peinture pour quarante mètres carrés ?",
    "zh": "暗走廊适合什么颜色，四十平米要几升油漆？",
    "ja": "暗い廊下に合う色は何色で、四十平米に塗料は何リットル必要ですか？",
}


@cache
def corpus(name: str) -> list[dict[str, str]]:
    lines = (CORPORA / f"{name}.jsonl").read_text(encoding="utf-8").splitlines()
    return [json.loads(line) for line in lines]


def rows(name: str) -> list[dict[str, str]]:
    return corpus(name)[:: EVERY[name]]


@cache
def heard(name: str, *, amid: bool = False) -> list[Intents]:
    """What is heard in each phrasing, which stands alone or in the middle of a message about something else."""
    return [
        detect(f"{BEFORE[row['language']]}{row['text']}{AFTER[row['language']]}" if amid else row["text"])
        for row in rows(name)
    ]


def rates(name: str, intent: str, *, amid: bool = False) -> tuple[float, float]:
    """The shares of missed and of false among those that say it and those that do not."""
    counts = {True: [0, 0], False: [0, 0]}
    for row, said in zip(rows(name), heard(name, amid=amid), strict=True):
        meant = row["intent"] == intent
        counts[meant][0] += 1
        counts[meant][1] += getattr(said, intent) != meant
    missed, false = (wrong / total for total, wrong in (counts[True], counts[False]))
    return missed, false


def test_corpora_cover_every_language_and_intent() -> None:
    for name, least in (("dev", 100), ("blind", 38), ("hard", 6), ("hard_blind", 8)):
        said = [(row["language"], row["intent"]) for row in corpus(name)]
        assert {language for language, _ in said} == LANGUAGES
        assert all(said.count((language, intent)) >= least for language in LANGUAGES for intent in INTENTS)


@pytest.mark.parametrize("intent", INTENTS)
@pytest.mark.parametrize("name", BOUNDS)
def test_intent_is_heard_within_its_bounds(name: str, intent: str) -> None:
    missed, false = rates(name, intent)
    bound = BOUNDS[name][intent]
    assert (missed <= bound[0], false <= bound[1]) == (True, True), (missed, false)


def test_no_save_is_heard_in_the_middle_of_a_long_message() -> None:
    missed, false = rates("dev", "no_save", amid=True)
    assert (missed <= 0.12, false <= 0.015) == (True, True), (missed, false)


def test_surroundings_say_nothing_themselves() -> None:
    for language in LANGUAGES:
        said = detect(BEFORE[language] + AFTER[language])
        assert not any(getattr(said, intent) for intent in INTENTS)
