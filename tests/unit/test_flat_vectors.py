"""Exact search over partitions: the copy in memory and the rows tell the same, whatever happens to the rows."""

import math
import struct
from collections.abc import Mapping
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from memory_home import MemoryHome
from worded_meaning import ListedNearness, WordedMeaning, numbers_of

from memory.rows.vectors import TABLE
from protocol.seams.ports import Tx, Vector
from retrieval.flat import RESCORED, FlatVectors

DIM = 4
SPACE = 1


def unit(*numbers: float) -> bytes:
    length = math.sqrt(sum(n * n for n in numbers)) or 1.0
    return struct.pack(f"<{DIM}e", *(n / length for n in numbers))


class Rows:
    """Vector rows without the records that they belong to."""

    def __init__(self, home: MemoryHome) -> None:
        self.home = home
        home.sql(self._make)

    @staticmethod
    def _make(tx: Tx) -> None:
        tx.run("DROP TABLE memory_vec")
        tx.run(
            "CREATE TABLE memory_vec (id INTEGER PRIMARY KEY AUTOINCREMENT, space_id INTEGER, scope_id INTEGER,"
            " record_id INTEGER, vector BLOB, UNIQUE (record_id, space_id))"
        )
        tx.run(
            "CREATE TRIGGER lost AFTER DELETE ON memory_vec BEGIN INSERT INTO memory_vec_loss VALUES (old.space_id,"
            " old.scope_id, 1) ON CONFLICT DO UPDATE SET count = count + 1; END"
        )

    def add(self, record: int, vector: bytes, scope: int = 1) -> None:
        values = (SPACE, scope, record, vector)
        sql = "INSERT INTO memory_vec (space_id, scope_id, record_id, vector) VALUES (?, ?, ?, ?)"
        self.remove(record)
        self.home.sql(lambda tx: tx.run(sql, values))

    def add_many(self, vectors: Mapping[int, bytes], scope: int = 1) -> None:
        sql = "INSERT INTO memory_vec (space_id, scope_id, record_id, vector) VALUES (?, ?, ?, ?)"
        rows = [(SPACE, scope, record, vector) for record, vector in vectors.items()]
        self.home.sql(lambda tx: [tx.run(sql, row) for row in rows])

    def remove(self, record: int) -> None:
        self.home.sql(lambda tx: tx.run("DELETE FROM memory_vec WHERE record_id = ?", (record,)))

    def ranked(self, flat: FlatVectors, query: bytes, scopes: list[int]) -> list[tuple[int, float]]:
        asked = Vector(SPACE, query)
        return self.home.sql(lambda tx: list(flat.nearness(tx, TABLE, scopes, asked).rank(-1.0)))


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory):
    home = MemoryHome(tmp_path_factory.mktemp("flat"))
    yield home
    home.close()


@pytest.fixture
def rows(home: MemoryHome) -> Rows:
    return Rows(home)


def test_how_crowded_and_how_common_a_place_is(rows: Rows) -> None:
    """Twelve rows lie together, twenty-four beside them each another way: the twelve are a crowd, and little common."""
    together = {record: unit(1, 0, 0, 0) for record in range(1, 13)}
    others = {12 + n: unit(0, math.cos(n), math.sin(n), 0) for n in range(1, 25)}
    rows.add_many(together | others)

    def read(tx: Tx) -> tuple[float, float]:
        near = FlatVectors().nearness(tx, TABLE, [1], Vector(SPACE, unit(1, 0, 0, 0)))
        return near.crowding([*near.of(list(together | others))])[1]

    crowded, common = rows.home.sql(read)
    assert crowded == pytest.approx(1.0, abs=1e-3)
    assert common == pytest.approx((11 + 0.25) / 12, abs=1e-3)  # itself counts as no neighbour


def test_the_nearest_comes_first_and_equal_ones_by_row(rows: Rows) -> None:
    for record, vector in ((3, unit(1, 0, 0, 0)), (1, unit(1, 0, 0, 0)), (2, unit(1, 1, 0, 0)), (4, unit(0, 1, 0, 0))):
        rows.add(record, vector)
    ranked = rows.ranked(FlatVectors(), unit(1, 0, 0, 0), [1])
    assert [record for record, _ in ranked] == [1, 3, 2, 4]
    assert ranked[0][1] == pytest.approx(1.0, abs=2e-3)
    assert ranked[2][1] == pytest.approx(math.sqrt(0.5), abs=2e-3)


def test_more_rows_than_are_compared_at_once_come_in_order_step_by_step(rows: Rows) -> None:
    rows.add_many({record: unit(1, (record % 50) / 50, 0, 0) for record in range(3 * RESCORED)})
    ranked = rows.ranked(FlatVectors(), unit(1, 0, 0, 0), [1])
    assert {record for record, _ in ranked} == set(range(3 * RESCORED))
    assert len(ranked) == 3 * RESCORED
    for step in (ranked[:RESCORED], ranked[RESCORED : 2 * RESCORED], ranked[2 * RESCORED :]):
        assert step == sorted(step, key=lambda entry: (-entry[1], entry[0]))


def test_a_step_whose_further_half_is_far_is_the_last_one(rows: Rows) -> None:
    near = {record: unit(1, (record + 1) / 500, 0, 0) for record in range(RESCORED // 2)}
    far = {RESCORED + record: unit(-1, -1, -1, record / 500) for record in range(3 * RESCORED)}
    rows.add_many(near | far)
    asked = Vector(SPACE, unit(1, 0.1, 0, 0))

    read: list[int] = []

    class Counted:
        def __init__(self, tx: Tx) -> None:
            self.one = tx.one
            self._all = tx.all

        def all(self, statement: str, bindings: Any) -> list[Any]:
            found = self._all(statement, bindings)
            read.extend([len(found)] if statement == TABLE.numbers else [])
            return found

    def look(tx: Tx) -> list[int]:
        counted: Any = Counted(tx)
        return [row for row, _ in FlatVectors().nearness(counted, TABLE, [1], asked).rank(0.5)]

    assert set(rows.home.sql(look)) == set(near)
    assert read == [RESCORED]


def test_another_partition_has_no_part_in_it(rows: Rows) -> None:
    rows.add(1, unit(1, 0, 0, 0), scope=1)
    rows.add(2, unit(1, 0, 0, 0), scope=2)
    flat = FlatVectors()
    assert [record for record, _ in rows.ranked(flat, unit(1, 0, 0, 0), [2])] == [2]
    assert rows.ranked(flat, unit(1, 0, 0, 0), []) == []
    assert rows.ranked(flat, unit(1, 0, 0, 0), [9]) == []


def test_a_row_of_another_length_or_without_numbers_is_not_found(rows: Rows) -> None:
    rows.add(1, unit(1, 0, 0, 0))
    rows.add(2, b"\x00\x3c")
    rows.add(3, struct.pack("<4e", math.nan, 0, 0, 0))
    rows.add(4, struct.pack("<4e", math.inf, 1, 0, 0))
    found = dict(rows.ranked(FlatVectors(), unit(1, 0, 0, 0), [1]))
    assert 2 not in found
    assert found[3] == found[4] == 0.0


def test_copies_go_when_the_budget_is_used_up(rows: Rows) -> None:
    flat = FlatVectors(budget_bytes=1)
    for scope in (1, 2, 3):
        rows.add(scope, unit(1, 0, 0, 0), scope=scope)
        assert [record for record, _ in rows.ranked(flat, unit(1, 0, 0, 0), [scope])] == [scope]
    assert [record for record, _ in rows.ranked(flat, unit(1, 0, 0, 0), [1, 2, 3])] == [1, 2, 3]


@settings(max_examples=60, deadline=None)
@given(
    steps=st.lists(
        st.tuples(st.sampled_from(["add", "remove", "look"]), st.integers(0, 9), st.integers(1, 2)), max_size=30
    )
)
def test_a_copy_follows_its_rows(home: MemoryHome, steps: list[tuple[str, int, int]]) -> None:
    """Whatever is added and removed between looks, a copy that lives on tells what a fresh one tells."""
    rows, flat = Rows(home), FlatVectors()
    home.sql(lambda tx: tx.run("DELETE FROM memory_vec_loss"))
    query = unit(1, 0.5, 0.25, 0)
    for number, (step, record, scope) in enumerate(steps):
        if step == "add":
            rows.add(record, unit(record + 1, number % 7, scope, 1), scope)
        elif step == "remove":
            rows.remove(record)
        else:
            assert rows.ranked(flat, query, [scope]) == rows.ranked(FlatVectors(), query, [scope])
    assert rows.ranked(flat, query, [1, 2]) == rows.ranked(FlatVectors(), query, [1, 2])


def test_the_port_has_two_implementations_that_agree(rows: Rows) -> None:
    words = ["the dog sleeps", "a car is parked", "puppies and hounds", "nothing at all"]
    rows.home.sql(lambda tx: tx.run("DELETE FROM memory_vec"))
    for number, text in enumerate(words):
        rows.add(number, numbers_of(text))
    query = Vector(SPACE, numbers_of("the puppy sleeps"))

    def both(tx: Tx) -> tuple[list[tuple[int, float]], ListedNearness]:
        return list(FlatVectors().nearness(tx, TABLE, [1], query).rank(-1.0)), WordedMeaning().nearness(
            tx, TABLE, [1], query
        )

    flat, listed = rows.home.sql(both)
    assert [row for row, _ in flat] == [row for row, _ in listed.rank(-1.0)]
    assert dict(flat) == pytest.approx(listed.of([row for row, _ in flat]), abs=1e-3)
