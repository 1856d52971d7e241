"""Records that look alike are both kept, linked when somebody asks, and merged by a person alone."""

from pathlib import Path
from typing import Any

import pytest
from memory_home import DAY, ELSEWHERE, HERE, SURE, USER, WISH, WS1, MemoryHome

from gateway.embedding.spaces import SpaceIdentity, adopt
from memory.read import similar
from memory.rules.same_words import agree, names_in, stands_in, words_in_order
from protocol.errors import CallerError, GatewayError
from protocol.memory.changes import HistoryParams
from protocol.memory.forgetting import ForgetById, ForgetParams
from protocol.memory.reads import GetParams, SimilarParams
from protocol.memory.values import Context
from protocol.memory.writes import MergeParams, RestoreParams, UpdateParams
from protocol.record import Record
from retrieval.terms import SnowballLexicon

STORED = "The user prefers tea over coffee."
REWORDED = "The user prefers a tea over any coffee."
MOVED = "In winter I ride the bus to work"
AGAIN = "I ride the bus to work in winter!"


@pytest.fixture
def home(tmp_path: Path):
    made = MemoryHome(tmp_path)
    yield made
    made.close()


@pytest.fixture
def near(home: MemoryHome) -> MemoryHome:
    """A home with vectors of words."""
    home.meaning.space = home.sql(lambda tx: adopt(tx, SpaceIdentity("one", 64, "one"), 0, keeps_current=False)).space
    return home


def kept(home: MemoryHome, content: str, **more: Any) -> Record:
    record = home.remember(content, **more).record
    assert record is not None
    return record


def linked(home: MemoryHome, memory_id: str, context: Context = HERE) -> list[str]:
    found = home.do(home.service.questions.get(GetParams(memory_id=memory_id, context=context)))
    return [one.memory_id for one in found.similar_to]


def pairs(home: MemoryHome, **asked: object) -> list[set[str]]:
    found: list[set[str]] = []
    cursor: str | None = None
    while True:
        page = home.do(home.service.questions.similar(SimilarParams(**{"context": HERE, "cursor": cursor, **asked})))
        found += [{pair.record.memory_id, pair.other.memory_id} for pair in page.pairs]
        cursor = page.next_cursor
        if cursor is None:
            return found


def merge(home: MemoryHome, one: Record, into: Record, **more: object):
    params = MergeParams(memory_id=one.memory_id, into_memory_id=into.memory_id, **{"context": HERE, **more})
    return home.do(home.service.merge(params))


def refusal(home: MemoryHome, one: Record, into: Record, **more: object) -> str:
    with pytest.raises(GatewayError) as raised:
        merge(home, one, into, **more)
    return raised.value.reason


# -- words -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("one", "other", "are_same"),
    [
        (MOVED, AGAIN, True),
        ("The team’s “stand-up” is at nine.", 'the team\'s "stand-up" is at nine', True),
        ("Ann pays Bob", "Bob pays Ann", False),
        ("Ann leads", "leads Ann", False),
        ("User has a few friends", "User has few friends", False),
        ("Send the reports for Ingrid", "Send the reports from Ingrid", False),
        ("The service is written in C", "The service is written in C++", False),
        ("The room has -5 degrees", "The room has 5 degrees", False),
        ("We use port 80", "We use port 8080", False),
        ("I can swim in cold water", "I can't swim in cold water", False),
        ("Only Maria may approve releases", "Maria may approve only releases", False),
        ("word " * 64 + "end", "end " + "word " * 64, False),
    ],
)
def test_the_same_words_are_all_words_in_one_order(one: str, other: str, *, are_same: bool) -> None:
    assert (words_in_order(one) == words_in_order(other)) is are_same


def test_names_are_read_off_capitals() -> None:
    lexicon = SnowballLexicon()
    assert names_in("Yesterday I met Ann's boss. Bob was there.") == {"ann"}
    assert names_in("Bob likes tea", lexicon) == {"bob"}
    assert names_in("My boss is I'm sure Bob", lexicon) == {"bob"}


@pytest.mark.parametrize(
    "other",
    ["I have met Bob at 9", "I have met Ann at 10", "I have never met Ann at 9", "I have met Ann"],
)
def test_figures_names_and_denials_make_another_fact(other: str) -> None:
    assert agree("I have met Ann at 9", "At 9 I came across Ann")
    assert not agree("I have met Ann at 9", other)
    assert not stands_in("I have met Ann at 9", other) or not stands_in(other, "I have met Ann at 9")


# -- links -------------------------------------------------------------------------------------------------------------


def test_without_vectors_only_the_same_words_are_linked(home: MemoryHome) -> None:
    first, again, other = kept(home, MOVED), kept(home, AGAIN), kept(home, "I ride the bus to school in winter")
    assert first.memory_id != again.memory_id
    assert linked(home, first.memory_id) == [again.memory_id]
    assert linked(home, other.memory_id) == []
    assert pairs(home) == [{first.memory_id, again.memory_id}]


def test_what_is_near_in_meaning_is_linked_and_both_are_kept(near: MemoryHome) -> None:
    first, again = kept(near, STORED, category="preference"), kept(near, REWORDED, category="preference")
    assert linked(near, first.memory_id) == [again.memory_id]
    assert linked(near, again.memory_id) == [first.memory_id]
    page = near.do(near.service.questions.similar(SimilarParams(context=HERE)))
    assert [(pair.record.memory_id, pair.other.memory_id) for pair in page.pairs] == [
        (again.memory_id, first.memory_id)
    ]
    assert page.pairs[0].cosine is not None
    assert page.pairs[0].cosine >= similar.NEAR_COSINE


@pytest.mark.parametrize(
    "other",
    [
        "The user never prefers tea over coffee.",
        "The user prefers tea over coffee at 9.",
        "The user prefers tea over Coffee Bob.",
    ],
)
def test_near_statements_that_differ_in_figure_name_or_denial_are_not_linked(near: MemoryHome, other: str) -> None:
    first = kept(near, STORED)
    kept(near, other)
    assert linked(near, first.memory_id) == []


def test_another_scope_and_another_value_are_not_linked(near: MemoryHome) -> None:
    first = kept(near, MOVED, scope=USER, value=1)
    kept(near, AGAIN, scope=WS1)
    kept(near, "I ride the bus to work in winter", scope=USER, value=2)
    assert linked(near, first.memory_id) == []


def test_what_is_forgotten_erased_or_regulated_is_in_no_link(near: MemoryHome) -> None:
    first, again = kept(near, MOVED), kept(near, AGAIN)
    near.forget(again.memory_id)
    assert (linked(near, first.memory_id), pairs(near)) == ([], [])
    near.do(near.service.restore(RestoreParams(memory_id=again.memory_id, context=HERE)))
    assert pairs(near) == [{first.memory_id, again.memory_id}]
    erase = ForgetParams(target=ForgetById(memory_id=again.memory_id), mode="erase", context=HERE)
    near.do(near.service.forget(erase))
    assert (linked(near, first.memory_id), pairs(near)) == ([], [])
    kept(near, AGAIN, sensitivity="regulated")
    assert pairs(near) == []
    assert len(pairs(near, include_sensitive=True)) == 1


def test_pages_hold_each_pair_once(near: MemoryHome, monkeypatch: pytest.MonkeyPatch) -> None:
    words = ["rainy", "snowy", "sunny", "windy", "foggy", "icy", "dark"]
    for word in words:
        kept(near, f"In {word} weeks I ride the bus to work")
        kept(near, f"I ride the bus to work in {word} weeks")
    whole = pairs(near, limit=100)
    assert len({frozenset(pair) for pair in whole}) == len(whole) >= len(words)
    monkeypatch.setattr(similar, "LOOKED_AT", 3)
    assert pairs(near, limit=1) == whole
    cursor = near.do(near.service.questions.similar(SimilarParams(context=HERE, limit=1))).next_cursor
    with pytest.raises(CallerError):
        near.do(near.service.questions.similar(SimilarParams(context=HERE, cursor=cursor, include_sensitive=True)))


def test_at_most_five_are_named(near: MemoryHome) -> None:
    records = [
        kept(near, f"I prefer tea to coffee, {word} always.") for word in "red blue green black white grey pink".split()
    ]
    assert len(linked(near, records[0].memory_id)) == similar.MOST_LINKS


# -- merging -----------------------------------------------------------------------------------------------------------


def test_a_merge_supersedes_with_history_and_is_undone_by_a_restore(near: MemoryHome) -> None:
    first, again = kept(near, STORED), kept(near, REWORDED)
    done = merge(near, again, first)
    assert (done.record.memory_id, done.record.content, done.merged_memory_id) == (
        first.memory_id,
        STORED,
        again.memory_id,
    )
    gone = near.do(near.service.questions.get(GetParams(memory_id=again.memory_id, context=HERE))).record
    assert gone is not None
    assert (gone.status, gone.superseded_by) == ("superseded", first.memory_id)
    events = near.do(near.service.questions.history(HistoryParams(memory_id=again.memory_id, context=HERE))).events
    assert ("superseded", again.memory_id) in [(event.event, event.memory_id) for event in events]
    assert {told.params.change_kind for told in near.told if told.method == "memory/changed"} >= {"superseded"}
    assert pairs(near) == []
    back = near.do(near.service.restore(RestoreParams(memory_id=again.memory_id, context=HERE))).record
    assert (back.status, back.content, back.superseded_by) == ("active", REWORDED, None)
    assert set(near.found("tea coffee")) == {STORED, REWORDED}


def test_a_correction_is_no_merge_that_a_restore_undoes(home: MemoryHome) -> None:
    first = kept(home, "I live in Oslo.")
    home.do(home.service.update(UpdateParams(memory_id=first.memory_id, content="I live in Rome.", context=HERE)))
    with pytest.raises(GatewayError) as raised:
        home.do(home.service.restore(RestoreParams(memory_id=first.memory_id, context=HERE)))
    assert raised.value.reason == "conflict"


def test_a_merge_that_makes_no_sense_is_refused(home: MemoryHome) -> None:
    first, there = kept(home, STORED, scope=USER), kept(home, "We ship on Fridays.", scope=WS1)
    assert refusal(home, first, first) == "invalid_params"
    assert refusal(home, first, there) == "conflict"
    assert refusal(home, there, first, context=ELSEWHERE) == "not_found"
    other = kept(home, "I sail.", scope=USER, expires_at=home.clock.now() + DAY)
    home.later(2 * DAY)
    assert refusal(home, other, first) == "conflict"
    home.forget(first.memory_id)
    assert refusal(home, kept(home, "I sail.", scope=USER), first) == "not_found"


def test_a_merge_is_done_once_under_its_key(home: MemoryHome) -> None:
    first, again, third = kept(home, STORED), kept(home, REWORDED), kept(home, "I sail on lakes.")
    done = [merge(home, again, first, idempotency_key="k") for _ in range(2)]
    assert [one.merged_memory_id for one in done] == [again.memory_id] * 2
    assert refusal(home, third, first, idempotency_key="k") == "idempotency_mismatch"
    assert refusal(home, again, first) == "conflict"


def test_what_was_merged_stays_merged_when_it_is_said_again(home: MemoryHome) -> None:
    first, again = kept(home, STORED), kept(home, REWORDED)
    merge(home, again, first)
    said = home.remember(REWORDED)
    assert (said.created, said.decision.reason_code) == (False, "near_duplicate")
    assert said.record.memory_id == first.memory_id
    assert home.remember(REWORDED, value="tea").created is True
    home.restore(again.memory_id)
    assert home.remember(REWORDED).record.memory_id == again.memory_id


def test_what_was_corrected_may_be_said_again(home: MemoryHome) -> None:
    first = kept(home, "I live in Oslo.")
    home.update(first.memory_id, content="I live in Rome.")
    assert home.remember("I live in Oslo.").created is True


def test_records_of_one_text_are_merged_as_they_are_named(home: MemoryHome) -> None:
    one, other = kept(home, STORED, value=1), kept(home, STORED, value=2)
    done = merge(home, one, other)
    assert (done.record.memory_id, done.record.value, done.merged_memory_id) == (other.memory_id, 2, one.memory_id)
    assert home.listed() == [STORED]


def test_several_are_merged_into_one_that_is_erased_or_forgotten(home: MemoryHome) -> None:
    first, again, third = kept(home, STORED), kept(home, REWORDED), kept(home, "Tea, and no coffee.")
    merge(home, again, first)
    merge(home, third, first)
    home.forget(third.memory_id)
    assert home.restore(third.memory_id).status == "superseded"
    home.forget(first.memory_id)
    assert home.listed() == []
    assert home.restore(third.memory_id).status == "active"
    home.forget(first.memory_id, mode="erase")
    assert home.restore(again.memory_id).status == "active"
    assert set(home.listed()) == {REWORDED, "Tea, and no coffee."}


# -- recall ------------------------------------------------------------------------------------------------------------


def recalled(home: MemoryHome, text: str) -> set[str]:
    found = home.do(home.service.turns.recall(home.turn(), text, limit=8))
    return {hit.record.content for hit in found.hits}


def test_only_the_same_words_are_shown_as_one(near: MemoryHome) -> None:
    kept(near, MOVED)
    kept(near, AGAIN)
    assert len(recalled(near, "Which bus do I ride to work in winter?")) == 1
    for fact in ("Ann pays Bob for the tickets", "Bob pays Ann for the tickets"):
        kept(near, fact)
    assert len(recalled(near, "Who pays for the tickets, Ann or Bob?")) == 2


# -- what an extractor says --------------------------------------------------------------------------------------------


def test_a_wish_in_other_words_is_a_record_of_its_own(near: MemoryHome) -> None:
    wished, proposed = near.propose(STORED, WISH), near.propose(REWORDED, SURE)
    assert wished.record is not None
    assert proposed.decision.reason_code != "near_duplicate"


def test_search_finds_both(near: MemoryHome) -> None:
    kept(near, STORED)
    kept(near, REWORDED)
    assert set(near.found("tea or coffee")) == {STORED, REWORDED}
