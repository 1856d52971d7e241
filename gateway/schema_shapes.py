"""The shapes of a home that hold nothing which is not derived: triggers, indexes, views, full-text tables and their format.

Rule 1: what a home lacks of them is found by names alone, at a cost that does not grow with the home, and is made again empty.
Rule 2: a shape that cannot be made again keeps no process from starting; what it should hold is compared later, by repair.
"""

import re
from collections.abc import Iterator
from functools import lru_cache
from importlib.resources import files

from gateway.owners import SQL
from gateway.sqlite import Handle, connect
from memory.record_terms import FORMAT as FORMAT_OF_RECORDS
from protocol.ports import Tx
from thread_episodic.store import FORMAT as FORMAT_OF_CHUNKS

HOUSES = ("gateway", "agent", "memory", "thread_episodic")
"""Each keeps its tables in `schema.sql`; version 1 is their sum, in this order."""

_SHAPE = re.compile(r"^CREATE (?:UNIQUE )?(?:TRIGGER|INDEX|VIEW|VIRTUAL TABLE) (\w+)", re.MULTILINE)

FORMATS = {"chunk_fts": FORMAT_OF_CHUNKS, "memory_fts": FORMAT_OF_RECORDS}
"""How the format of each full-text table is found, and written again: without it the table cannot even be emptied."""


def scripts() -> Iterator[str]:
    """The schema of each house."""
    for house in HOUSES:
        yield files(house).joinpath("schema.sql").read_text(encoding="utf-8")


@lru_cache(maxsize=1)
def _names() -> tuple[str, ...]:
    return tuple(name for script in scripts() for name in _SHAPE.findall(script))


def lost_shapes(tx: Tx) -> list[str]:
    """The names of the shapes that a home of this version lacks, in the order in which they are made."""
    present = {row[0] for row in tx.all(SQL["list_shapes"])}
    lost = [name for name in _names() if name not in present]
    unreadable = [name for name, (found, _) in FORMATS.items() if name in present and not tx.all(found)]
    return [*lost, *unreadable]


def restore_shapes(connection: Handle, names: list[str]) -> None:
    """Make the shapes again. Raises what the connection raises; each is made in a transaction of its own."""
    model = connect(":memory:", synchronous="off")
    try:
        for script in scripts():
            model.execute(script).fetchall()
        making = dict(model.execute(SQL["list_shapes"]).fetchall())
    finally:
        model.close()
    present = {row[0] for row in connection.execute(SQL["list_shapes"]).fetchall()}
    for name in names:
        if name not in present:
            connection.execute(making[name]).fetchall()
        if name in FORMATS:
            connection.execute(FORMATS[name][1]).fetchall()
