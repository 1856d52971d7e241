"""Notes in the home itself, until a person has read them, which rows it lost of tables with a meaning.

Rule 1: numbers that lost rows had are given to no other row: what still names them would be another's.
"""

from collections.abc import Iterable, Sequence
from typing import Final

import msgspec
from msgspec import Struct

from gateway.home.owners import SQL, fact_of_home
from gateway.store.derived import owner_of
from gateway.store.schema_shapes import SEQUENCE, list_numbered_tables, make_table
from gateway.store.sqlite import Handle, Transaction, changing
from knowledge.rows.statements import KEEP_NUMBERS as OF_OWNERS
from memory.rows.record_columns import KEEP_NUMBERS as OF_SCOPES
from protocol.base import encode
from protocol.seams.ports import Tx

FACT = "losses"
MOST_NAMED = 20
"""Rows that are named one by one."""
MOST_KEPT = 100
"""Losses that are noted: more tables than a home has."""
STEP = 1 << 30
"""The next number of a table that lost rows is raised by this, which is more numbers than any home has given."""
NUMBERS_ARE_NAMED: Final = {"scope": OF_SCOPES, "knowledge_owner": OF_OWNERS}
"""The statements that keep the number of a lost scope or owner: rows of other tables that name it outlive it."""


class Loss(Struct, frozen=True, omit_defaults=True):
    """Rows that a table lost: their names, how many more there are, and the copy of the file as it was."""

    table: str
    hit: list[str] = []
    more: int = 0
    aside: str | None = None

    @classmethod
    def of(cls, table: str, hit: Sequence[str], aside: str | None) -> "Loss":
        """Return the loss of rows; of many the first ones are named."""
        return cls(table, list(hit[:MOST_NAMED]), max(0, len(hit) - MOST_NAMED), aside)

    @property
    def names(self) -> str:
        """Return the names of the rows, joined for a sentence; empty for a table that was gone."""
        return join_names(self.hit, self.more)


def join_names(names: Sequence[str], more: int = 0) -> str:
    """Return the first of some rows' names, joined for a sentence, and how many more there are."""
    more += max(0, len(names) - MOST_NAMED)
    return ", ".join(names[:MOST_NAMED]) + (f" and {more} more" if more else "")


_DECODE: Final = msgspec.json.Decoder(list[Loss]).decode


def read_losses(tx: Tx) -> list[Loss]:
    """Return the losses of which no person has taken note yet, oldest first."""
    found = fact_of_home(tx, FACT)
    try:
        return _DECODE(found) if found is not None else []
    except msgspec.DecodeError:  # the note itself was hit
        return [Loss("home")]


def note_losses(connection: Handle, losses: Iterable[Loss]) -> None:
    """Note losses in the home, in the caller's transaction."""
    noted = [*read_losses(Transaction(connection)), *losses][-MOST_KEPT:]
    connection.execute(SQL["put_home"], {"name": FACT, "value": encode(noted).decode()}).fetchall()


def forget_losses(tx: Tx) -> None:
    """Remove the losses from the home: a person has taken note of them."""
    tx.run(SQL["remove_home"], {"name": FACT})


def keep_numbers(connection: Handle, tables: Iterable[str]) -> None:
    """Give the numbers of lost rows to nothing else, in the caller's transaction."""
    hit = set(tables)
    for table, statement in NUMBERS_ARE_NAMED.items():
        if table in hit:
            connection.execute(statement).fetchall()
    for child, key, parent, parent_key, what_follows in connection.execute(SQL["list_numbered_children"]).fetchall():
        if parent in hit and owner_of(child) is None:
            # names of our schema
            change = f"UPDATE {child} SET {key} = NULL" if what_follows == "SET NULL" else f"DELETE FROM {child}"  # noqa: S608
            connection.execute(f"{change} WHERE {key} NOT IN (SELECT {parent_key} FROM {parent})").fetchall()  # noqa: S608
    for table in list_numbered_tables():
        if table in hit or SEQUENCE in hit:
            connection.execute(SQL["raise_sequence"], {"name": table, "step": STEP}).fetchall()


def restore_tables(connection: Handle, tables: Sequence[str]) -> None:
    """Make tables again that were gone, in one transaction with the note of it. Raises what apsw raises."""
    if not tables:
        return
    connection.execute("PRAGMA foreign_keys = off").fetchall()
    with changing(connection):
        for table in tables:
            make_table(connection, table)
        keep_numbers(connection, tables)
        note_losses(connection, [Loss(table) for table in tables])
