"""What an import does to a thread: a plan, and importing twice changes nothing."""

import asyncio
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from agent_home import NothingForgotten
from clock import SetClock
from fresh import fresh_database
from hypothesis import given
from hypothesis import strategies as st
from msgspec import structs

from agent.prompt.ledger import Ledger
from agent.rows.statements import SQL
from agent.rows.threads import add_workspace
from agent.threads.imports import (
    Imports,
    KnownTurn,
    ThreadImportPlan,
    content_hash,
    derive_id,
    find_echoes,
    identify_turns,
    plan_import,
)
from agent.threads.threads import Neighbours
from gateway.home.keys import HomeKey
from gateway.store.database import Database
from protocol.conversation.imports import ImportItem, ImportSource, ImportTurn, ThreadImportParams
from protocol.errors import CallerError, Refused

SOURCE = ("thr", "chat", "file")


def turn(text: str, at: int = 1, turn_id: str | None = None) -> ImportTurn:
    return ImportTurn(at=at, items=[ImportItem(role="user", text=text)], turn_id=turn_id)


def applied(known: Sequence[KnownTurn], plan: ThreadImportPlan) -> list[KnownTurn]:
    """A thread after a plan, as `_Import.apply` leaves it."""
    contents = {k.turn_id: (k.driver, k.content) for k in known if k.turn_id not in plan.remove}
    contents |= {entry.turn_id: ("import", entry.content) for entry in [*plan.add, *plan.replace]}
    order = plan.order if plan.add or plan.replace or plan.remove or plan.is_moving else [k.turn_id for k in known]
    return [KnownTurn(turn_id, *contents[turn_id], position) for position, turn_id in enumerate(order, 1)]


def run(
    known: Sequence[KnownTurn], turns: Sequence[ImportTurn], *, is_replacing: bool
) -> tuple[list[KnownTurn], ThreadImportPlan]:
    plan = plan_import(
        known, identify_turns(known, turns, SOURCE, is_replacing=is_replacing), is_replacing=is_replacing
    )
    return applied(known, plan), plan


texts = st.lists(st.sampled_from("abcd"), max_size=6)
live = st.lists(st.sampled_from(["trn_live_1", "trn_live_2"]), unique=True, max_size=2)


def thread_of(first: Sequence[str], live_ids: Sequence[str]) -> list[KnownTurn]:
    known, _ = run([], [turn(text) for text in first], is_replacing=True)
    return [*known, *(KnownTurn(turn_id, "gateway", b"own", len(known) + n) for n, turn_id in enumerate(live_ids, 1))]


@given(texts, live, texts, st.booleans())
def test_importing_twice_changes_nothing(
    first: list[str],
    live_ids: list[str],
    second: list[str],
    is_replacing: bool,  # noqa: FBT001
) -> None:
    turns = [turn(text) for text in second]
    after, _ = run(thread_of(first, live_ids), turns, is_replacing=is_replacing)
    again, plan = run(after, turns, is_replacing=is_replacing)
    assert again == after
    assert (plan.add, plan.replace, plan.remove, plan.is_moving) == ([], [], [], False)
    assert plan.skipped == len(turns)


@given(texts, live, texts)
def test_replacing_makes_it_equal_to_the_source_and_keeps_live_turns(
    first: list[str], live_ids: list[str], second: list[str]
) -> None:
    turns = [turn(text) for text in second]
    after, plan = run(thread_of(first, live_ids), turns, is_replacing=True)
    assert [k.content for k in after] == [content_hash(t) for t in turns] + [b"own"] * len(live_ids)
    assert len(plan.add) + len(plan.replace) + plan.skipped == len(turns)


@given(texts, live, texts)
def test_appending_only_adds_and_loses_nothing(first: list[str], live_ids: list[str], second: list[str]) -> None:
    before = thread_of(first, live_ids)
    turns = [turn(text) for text in second]
    after, plan = run(before, turns, is_replacing=False)
    assert after[: len(before)] == before
    assert (plan.replace, plan.remove) == ([], [])
    for text in set(second):
        held = sum(1 for k in after if k.content == content_hash(turn(text)))
        assert held == max(first.count(text), second.count(text))


@given(st.permutations(["a", "b", "c"]))
def test_named_turns_follow_the_order_of_the_source(order: list[str]) -> None:
    known, _ = run([], [turn(name, turn_id=f"trn_{name}") for name in "abc"], is_replacing=True)
    after, plan = run(known, [turn(name, turn_id=f"trn_{name}") for name in order], is_replacing=True)
    assert [k.turn_id for k in after] == [f"trn_{name}" for name in order]
    assert plan.is_moving == (order != ["a", "b", "c"])
    assert plan.skipped == 3


@given(texts, texts, texts, live)
def test_a_source_replaces_its_own_turns_and_no_others(
    first: list[str], other: list[str], second: list[str], live_ids: list[str]
) -> None:
    def bring(known: Sequence[KnownTurn], source: str, words: Sequence[str]) -> list[KnownTurn]:
        incoming = identify_turns(known, [turn(word) for word in words], ("thr", source), is_replacing=True)
        plan = plan_import(known, incoming, is_replacing=True, source=source)
        of = {k.turn_id: k.source for k in known} | {entry.turn_id: source for entry in plan.add}
        return [structs.replace(k, source=of[k.turn_id]) for k in applied(known, plan)]

    known = bring([], "one", first)
    known += [KnownTurn(turn_id, "gateway", b"own", len(known) + n) for n, turn_id in enumerate(live_ids, 1)]
    after = bring(bring(known, "two", other), "one", second)
    assert [k.content for k in after if k.source == "two"] == [content_hash(turn(word)) for word in other]
    assert [k.content for k in after if k.source == "one"] == [content_hash(turn(word)) for word in second]
    assert [k.turn_id for k in after[len(after) - len(live_ids) :]] == live_ids
    assert bring(bring(after, "two", other), "one", second) == after


def in_parts(
    known: Sequence[KnownTurn], turns: Sequence[ImportTurn], size: int, parts: Sequence[int] | None = None
) -> list[KnownTurn]:
    """A thread after a source came in parts of a size: all of them, or those at some places."""
    starts = list(range(0, len(turns), size)) or [0]
    for offset in starts if parts is None else [starts[part] for part in parts]:
        group = turns[offset : offset + size]
        incoming = identify_turns(known, group, SOURCE, is_replacing=True, offset=offset)
        has_more = offset + size < len(turns)
        known = applied(known, plan_import(known, incoming, is_replacing=True, offset=offset, has_more=has_more))
    return list(known)


@given(texts, live, texts, st.integers(1, 4), st.integers(1, 4))
def test_parts_make_the_same_thread_as_the_whole(
    first: list[str], live_ids: list[str], second: list[str], size: int, before: int
) -> None:
    turns = [turn(text) for text in second]
    there = in_parts([], [turn(text) for text in first], before)
    there = [*there, *(KnownTurn(turn_id, "gateway", b"own", len(there) + n) for n, turn_id in enumerate(live_ids, 1))]
    whole, _ = run(there, turns, is_replacing=True)
    assert in_parts(there, turns, size) == whole
    assert in_parts(whole, turns, size) == whole


@given(st.lists(st.sampled_from("abcd"), min_size=1, max_size=12), live, st.integers(1, 4), st.data())
def test_a_part_that_comes_again_takes_no_later_one_away(
    said: list[str], live_ids: list[str], size: int, data: st.DataObject
) -> None:
    turns = [turn(text) for text in said]
    there = in_parts([], turns, size)
    there = [*there, *(KnownTurn(turn_id, "gateway", b"own", len(there) + n) for n, turn_id in enumerate(live_ids, 1))]
    again = data.draw(st.lists(st.integers(0, (len(turns) - 1) // size), max_size=4))
    assert in_parts(there, turns, size, again) == there


@given(texts, texts)
def test_what_is_appended_at_a_place_is_known_by_it(first: list[str], second: list[str]) -> None:
    """Also where it says what was said before: "thanks" is said twice, and a source may know no times."""
    known, _ = run([], [turn(text) for text in first], is_replacing=True)
    later = [turn(text) for text in second]
    for _ in range(2):
        incoming = identify_turns(known, later, SOURCE, is_replacing=False, offset=len(first))
        known = applied(known, plan_import(known, incoming, is_replacing=False))
        assert [k.content for k in known] == [content_hash(turn(text)) for text in [*first, *second]]


def test_what_an_import_may_not_name() -> None:
    with pytest.raises(CallerError):
        run([], [turn("a", turn_id="trn_1"), turn("b", turn_id="trn_1")], is_replacing=True)
    with pytest.raises(Refused) as caught:
        run([KnownTurn("trn_live", "gateway", None, 1)], [turn("a", turn_id="trn_live")], is_replacing=False)
    assert caught.value.reason == "conflict"


def test_derived_ids_depend_on_every_part() -> None:
    ids = {derive_id("trn", *parts) for parts in (("a", "b"), ("ab",), ("a", "b", ""), ("b", "a"), ("a,b",))}
    assert len(ids) == 5
    assert derive_id("trn", "a", "b") in ids
    assert all(len(found) == 30 for found in ids)


A, B, NOTHING = (("user", "a"),), (("user", "b"), ("assistant", "c")), ()


@pytest.mark.parametrize(
    ("incoming", "places"),
    [
        ([(None, A)], {0}),
        ([(None, A), (None, A), (None, A)], {0, 1}),  # it was said twice
        ([("live_1", A), ("live_1", A)], {0}),
        ([("live_3", A), ("other", A), (None, None)], set()),
        ([(None, NOTHING), ("other", NOTHING)], {0, 1}),
        ([(None, (("assistant", "a"),)), (None, B)], {1}),
    ],
)
def test_which_turns_are_live_turns_given_back(incoming: Any, places: set[int]) -> None:
    assert find_echoes({"live_1": A, "live_2": A, "live_3": B, "live_4": NOTHING}, incoming) == places


# -- over a database -------------------------------------------------------------------------------------------------


def test_imports_over_a_database(tmp_path: Path) -> None:
    db = Database(fresh_database(tmp_path))
    indexed: list[str] = []
    removed: list[str] = []
    neighbours = Neighbours(
        on_items=lambda _tx, facts: indexed.extend(fact.text for fact in facts),
        on_items_removed=lambda _tx, ids: removed.extend(ids),
    )
    imports = Imports(
        db=db,
        clock=SetClock(),
        ledger=Ledger(HomeKey(b"k" * 32)),
        neighbours=neighbours,
        forgettings=NothingForgotten(),
    )

    def params(*said: str, **changes: Any) -> ThreadImportParams:
        turns = [turn(text, at=n) for n, text in enumerate(said)]
        source = ImportSource(kind="chat", id="file")
        return ThreadImportParams(**{"workspace_id": "ws_1", "source": source, "turns": turns} | changes)

    async def texts_of(thread_id: str) -> list[str]:
        rows = await db.read(
            lambda tx: tx.all(
                "SELECT text FROM item JOIN turn USING (turn_id) WHERE turn.thread_id = ? ORDER BY turn.position",
                [thread_id],
            )
        )
        return [row[0] for row in rows]

    async def counts(given: ThreadImportParams) -> tuple[int, int, int]:
        result = await imports.thread_import(given)
        return result.imported, result.skipped, result.replaced

    async def scene() -> None:
        await db.write(lambda tx: add_workspace(tx, "ws_1", 1))
        await db.write(lambda tx: add_workspace(tx, "ws_2", 1))
        with pytest.raises(CallerError):
            await imports.thread_import(params("a", workspace_id="ws_none"))
        rehearsed = await imports.thread_import(params("a", "b", dry_run=True))
        assert (rehearsed.imported, await texts_of(rehearsed.thread.thread_id)) == (2, [])
        first = await imports.thread_import(params("a", "b"))
        thread_id = first.thread.thread_id
        assert (thread_id, first.thread.turn_count) == (rehearsed.thread.thread_id, 2)
        assert indexed == ["a", "b"]
        assert await counts(params("a", "b")) == (0, 2, 0)
        assert (indexed, removed) == (["a", "b"], [])
        assert await counts(params("a", "B", "c")) == (1, 1, 1)
        assert (await texts_of(thread_id), indexed[2:], len(removed)) == (["a", "B", "c"], ["B", "c"], 1)
        assert await counts(params("x", "y", mode="append")) == (2, 0, 0)
        assert await counts(params("x", "y", mode="append")) == (0, 2, 0)
        assert await texts_of(thread_id) == ["a", "B", "c", "x", "y"]
        assert await counts(params("a")) == (0, 1, 0)
        assert (await texts_of(thread_id), len(removed)) == (["a"], 5)
        with pytest.raises(Refused):
            await imports.thread_import(params("a", workspace_id="ws_2", thread_id=thread_id))
        with pytest.raises(Refused):
            await imports.thread_import(
                params(
                    thread_id="thr_other",
                    turns=[
                        turn(
                            "a",
                            turn_id=(
                                await db.read(lambda tx: tx.all(SQL["turns_of_thread"], {"thread_id": thread_id}))
                            )[0][0],
                        )
                    ],
                )
            )

    try:
        asyncio.run(scene())
    finally:
        db.close()
