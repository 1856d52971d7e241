"""The same fact in other words becomes evidence of the record that is there; anything else stays a fact of its own."""

from pathlib import Path

import pytest
from memory_home import HERE, SURE, WISH, WS1, MemoryHome

from gateway.spaces import Identity, adopt
from memory import likeness, paraphrase
from protocol.memory import ExplainParams, ExplainTarget, RememberParams

STORED = "The user prefers tea over coffee."
REWORDED = "I like tea more than coffee."


@pytest.fixture(params=["words", "meaning"])
def home(tmp_path: Path, request: pytest.FixtureRequest):
    home = MemoryHome(tmp_path)
    if request.param == "meaning":
        known = home.sql(lambda tx: adopt(tx, Identity("one", 64, "one"), 0, keeps_current=False))
        home.meaning.space = known.space
    yield home
    home.close()


def test_other_words_for_the_same_merge_their_evidence_and_keep_the_wording(home: MemoryHome) -> None:
    first = home.remember(STORED, category="preference")
    again = home.remember(REWORDED, category="preference")
    assert (again.created, again.relation) == (False, "duplicate")
    assert again.decision.reason_code == "near_duplicate"
    assert again.record.memory_id == first.record.memory_id
    assert again.record.content == STORED
    assert again.record.evidence_count == 2
    target = ExplainTarget(kind="memory", id=first.record.memory_id)
    told = home.do(home.service.explain(ExplainParams(target=target, context=HERE)))
    assert [decision.reason_code for decision in told.decisions] == ["active_created", "near_duplicate"]


@pytest.mark.parametrize(
    "other",
    [
        "I like coffee more than tea.",
        "I do not like tea more than coffee.",
        "I like tea more than cocoa.",
        "The user drinks tea and coffee.",
        "I like tea 3 times more than coffee.",
    ],
)
def test_another_fact_is_another_record(home: MemoryHome, other: str) -> None:
    home.remember(STORED, category="preference")
    assert home.remember(other, category="preference").created is True


@pytest.mark.parametrize(
    ("stored", "said", "is_compared"),
    [
        ("The club has 1,000 members.", "The club has 1000 members.", True),
        ("The trial lasts 14 days.", "The trial lasts 2 weeks.", True),
        ("The standup is at 4 pm.", "The standup is at 16:00.", True),
        ("Lot 3 measured well in the hall.", "Lot 4 measured well in the hall.", False),
        ("The hall has 3 lamps.", "The hall has 5 lamps.", False),
    ],
)
def test_figures_are_compared_as_written_unless_they_count_a_unit(
    stored: str,
    said: str,
    is_compared: bool,  # noqa: FBT001
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    compared: list[str] = []

    def is_same_fact(known: str, again: str, cosine: float | None = None) -> likeness.Verdict:
        compared.append(known)
        return likeness.is_same_fact(known, again, cosine)

    monkeypatch.setattr(paraphrase, "is_same_fact", is_same_fact)
    home = MemoryHome(tmp_path)
    try:
        home.remember(stored)
        assert home.remember(said).created is not is_compared
        assert compared == ([stored] if is_compared else [])
    finally:
        home.close()


def test_another_category_scope_value_or_name_is_never_merged(home: MemoryHome) -> None:
    home.remember(STORED, category="preference")
    others = (
        "I like tea better than coffee.",
        REWORDED,
        "I'd rather drink tea than coffee.",
        "I favour tea over coffee.",
    )
    differences = ({"category": "biography"}, {"scope": WS1}, {"value": "tea"}, {"key": "drink"})
    for words, difference in zip(others, differences, strict=True):
        assert home.remember(words, **{"category": "preference", **difference}).created is True


def test_a_correction_that_is_meant_as_one_is_one(home: MemoryHome) -> None:
    first = home.remember(STORED, category="preference").record
    params = RememberParams(content=REWORDED, category="preference", supersedes=first.memory_id, context=HERE)
    assert home.do(home.service.remember(params)).superseded_memory_id == first.memory_id


def test_what_a_model_proposes_in_other_words_is_no_new_record(home: MemoryHome) -> None:
    wished = home.propose("The user prefers tea over coffee.", WISH)
    assert wished.record is not None
    proposed = home.propose("The user likes tea better than coffee.", SURE)
    assert proposed.decision.reason_code == "near_duplicate"


def test_one_that_is_forgotten_or_could_be_two_is_not_merged_into(home: MemoryHome) -> None:
    first = home.remember(STORED, category="preference").record
    home.forget(first.memory_id)
    assert home.remember(REWORDED, category="preference").created is True
