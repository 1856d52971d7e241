"""Each stored state is changed along its transition table, by whichever statement."""

import re
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple, get_args

import pytest
from cases import each

from agent.states import BEGINNINGS, TURNS
from gateway.jobs.states import TRANSITIONS
from protocol.conversation.values import TurnStatus
from protocol.record import IndexState
from protocol.seams.ports import JobState
from protocol.seams.transitions import IllegalMoveError, after
from protocol.statements import Statements
from retrieval.vector_states import VECTORS
from thread_episodic.states import CHUNKS, SEGMENTS, SOURCES, ChunkStatus, SegmentState, SourceStatus


class Life(NamedTuple):
    """A column with a state, its table, and what a new row begins as."""

    house: str
    table: str
    column: str
    moves: Mapping[Any, Mapping[Any, str]]
    first: frozenset[str]
    states: tuple[str, ...]
    moved_by: frozenset[str] = frozenset()
    """The statements whose states are bound: rows run them with what `after` returns."""


LIVES = {
    "job": Life(
        "gateway",
        "job",
        "state",
        TRANSITIONS,
        frozenset({"queued", "retry_wait"}),
        get_args(JobState),
        frozenset({"move_job"}),
    ),
    "turn": Life(
        "agent", "turn", "status", TURNS, frozenset(BEGINNINGS.values()), get_args(TurnStatus), frozenset({"end_turn"})
    ),
    "source": Life("thread_episodic", "chunk_source", "state", SOURCES, frozenset({"pending"}), get_args(SourceStatus)),
    "chunk": Life(
        "thread_episodic",
        "chunk",
        "status",
        CHUNKS,
        frozenset({"indexed", "excluded"}),
        get_args(ChunkStatus),
        frozenset({"move_chunk_status"}),
    ),
    "segment": Life("thread_episodic", "segment", "state", SEGMENTS, frozenset({"open"}), get_args(SegmentState)),
    "vector of a chunk": Life(
        "thread_episodic",
        "chunk",
        "index_state",
        VECTORS,
        frozenset({"indexed", "pending"}),
        get_args(IndexState),
        frozenset({"move_chunk_status"}),
    ),
}


class Change(NamedTuple):
    """A statement that sets a state: which states it finds, which it leaves, and whether the new one is bound."""

    statement: str
    before: frozenset[str]
    following: frozenset[str]
    is_bound: bool


def changes_of(life: Life, statements: Mapping[str, str]) -> Iterator[Change]:
    """Find what sets the state of a row that is there."""
    for name, sql in statements.items():
        update = re.match(rf"UPDATE {life.table} SET (.*?)(?:\bWHERE\b(.*)|\Z)", sql, re.DOTALL)  # noqa: S608  # a pattern
        upsert = re.match(rf"INSERT INTO {life.table} .*DO UPDATE SET(.*?)(?:\bWHERE\b(.*)|\Z)", sql, re.DOTALL)
        found = update or upsert
        value = re.search(rf"(?<![\w.]){life.column} = (iif\(.*?'\)|\S+)", found[1]) if found else None
        if found and value:
            literals = frozenset(re.findall(r"(?<!\$\.)'(\w+)'", value[1]))
            where = re.findall(rf"(?<![\w.]){life.column} (?:= ('\w+')|IN \(([^)]*)\)|<> ('\w+'))", found[2] or "")
            equal = {state for one, several, _ in where for state in re.findall(r"'(\w+)'", one + several)}
            other = {state.strip("'") for *_, state in where if state}
            before = equal or set(life.states) - other
            yield Change(name, frozenset(before), literals, value[1].startswith(":"))


CHANGES = [(name, change) for name, life in LIVES.items() for change in changes_of(life, Statements(life.house))]


@each(("name", "change"), CHANGES)
def test_a_statement_makes_only_moves_of_the_table(name: str, change: Change) -> None:
    life = LIVES[name]
    if change.is_bound:
        assert change.statement in life.moved_by
        return
    assert change.following
    for state in change.before:
        assert change.following <= {state, *life.moves[state].values()}, f"{change.statement} finds {state}"


@each("name", LIVES)
def test_new_rows_begin_in_a_first_state(name: str) -> None:
    life = LIVES[name]
    inserts = [sql for sql in Statements(life.house).values() if sql.startswith(f"INSERT INTO {life.table} ")]
    assert inserts
    given = [set(re.findall(r"'(\w+)'", re.split(r"\bWHERE\b|\bON CONFLICT\b", sql)[0])) for sql in inserts]
    assert all(words & set(life.states) <= life.first for words in given)


@each("name", LIVES)
def test_the_table_knows_every_state_and_each_is_reached(name: str) -> None:
    life = LIVES[name]
    assert set(life.moves) == set(life.states)
    reached, todo = set[str](), [*life.first]
    while todo:
        state = todo.pop()
        if state not in reached:
            reached.add(state)
            todo += life.moves[state].values()
    assert reached == set(life.states)


def test_a_statement_that_leaves_the_table_is_found() -> None:
    life = LIVES["turn"]
    (wrong,) = changes_of(life, {"again": "UPDATE turn SET status = 'in_progress' WHERE status = 'failed'"})
    assert not wrong.following <= {*life.moves["failed"].values()}
    (loose,) = changes_of(life, {"all": "UPDATE turn SET owner = NULL, status = 'failed' WHERE turn_id = :turn_id"})
    assert loose.before == set(life.states)
    assert [*changes_of(life, {"not": "UPDATE turn SET owner = NULL WHERE status = 'failed'"})] == []


def test_a_move_that_there_is_not_is_an_error() -> None:
    assert after(TURNS, "in_progress", "complete") == "completed"
    with pytest.raises(IllegalMoveError, match="completed cannot fail"):
        after(TURNS, "completed", "fail")
