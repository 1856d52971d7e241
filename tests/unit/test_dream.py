"""The census and the prunings of a night, slice by slice."""

from collections import Counter
from collections.abc import Iterator

import pytest

from gateway.passes import dream
from gateway.passes.dream import Census, Prune
from gateway.store.schema_shapes import scripts
from gateway.store.sqlite import Transaction, connect
from memory.rows import repair
from protocol.seams.checks import LOOKED_AT
from protocol.seams.passes import PassStage, StageRun
from protocol.seams.ports import Tx

LOOKS = 3
ROWS = LOOKS * LOOKED_AT - 1


@pytest.fixture
def tx(monkeypatch: pytest.MonkeyPatch) -> Iterator[Tx]:
    """A home with enrichment of records that are gone, and as many tombstones; a slice has time for one look."""
    monkeypatch.setattr(dream, "SLICE_SECONDS", 0.0)
    connection = connect(":memory:", synchronous="off")
    for script in scripts():
        connection.execute(script).fetchall()
    connection.execute("PRAGMA foreign_keys = off").fetchall()
    tx = Transaction(connection)
    for row in range(1, ROWS + 1):
        tx.run(
            "INSERT INTO tombstone (memory_id, scope_id, fingerprint, text_hash, key_hash, erased_at)"
            " VALUES (:id, 1, x'00', x'00', x'00', 1)",
            {"id": f"mem_{row}"},
        )
        tx.run("INSERT INTO enrichment VALUES (:row, '[]', '[]', 'lone', 'm', 1, 1)", {"row": row})
    yield tx
    connection.close()


def slices(tx: Tx, stage: PassStage) -> tuple[int, Counter[str]]:
    """Run a stage to its end; return in how many slices, and what they counted together."""
    place, total, number = None, Counter[str](), 0
    while number == 0 or place is not None:
        done = stage.work(tx, StageRun(now=0, place=place, limit=10 * ROWS, changes=0))
        place, number = done.place, number + 1
        total.update(done.counts)
    return number, total


def test_a_census_counts_each_row_once_in_slices_that_do_not_grow(tx: Tx) -> None:
    tallies = repair.tallies()
    number, total = slices(tx, Census(tallies))
    assert total == {"tombstones": ROWS}
    assert number >= LOOKS + len(tallies) - 1


def test_prunings_drop_each_row_once_in_slices_that_do_not_grow(tx: Tx) -> None:
    number, total = slices(tx, Prune(lambda _: repair.prunings()))
    assert total == {"enrichment": ROWS}
    assert number >= LOOKS
    assert slices(tx, Prune(lambda _: repair.prunings()))[1] == {}
