"""Records of earlier versions that hold a number of a kind that is never kept: a card's, a bank account's, an id's.

Rule 1: such a record is withheld from every answer; it can be erased, and nothing else happens to it unasked.
Rule 2: repair looks through a home once for each edition of the kinds, a page at a time. Until that is done, reads scan
each record that they are about to show.
"""

from collections.abc import Sequence
from typing import Final

from memory.ports import Collaborators
from memory.rows.record_columns import SQL, Stored, to_column, to_stored
from memory.rows.store import Change, add_event, get_record, scope_ids_of, seal
from memory.rules.actors import SYSTEM_ACTOR
from memory.rules.identity import value_text
from memory.rules.sensitivity import NUMBER_KINDS
from memory.rules.visibility import KEPT, WITHHELD, View, is_visible, status_at
from protocol.base import Scope
from protocol.errors import CallerError, Refused
from protocol.memory.values import Candidate
from protocol.record import Record
from protocol.seams.ports import SecretScanner, Tx

EDITION: Final = "1"
"""The version of the known kinds of numbers; with another one, every home is looked through again."""
PAGE = 100
"""Records of one look: some milliseconds."""
LEAST_DIGITS = 5
"""No such number has fewer digits, so that texts with fewer, which most facts are, need no scan."""


def holds_number(said: Record | Candidate, scanner: SecretScanner) -> bool:
    """Return whether a record or candidate holds a number of a kind that is never kept."""
    texts = [said.content, *(said.tags if isinstance(said, Record) else ())]
    if said.value is not None:
        texts.append(value_text("", said.value))
    scanned = [text for text in texts if sum(map(str.isdigit, text)) >= LEAST_DIGITS]
    return any(span.kind in NUMBER_KINDS for text in scanned for span in scanner.find(text))


def are_numbers_marked(tx: Tx) -> bool:
    """Return whether every record that holds such a number is marked by now."""
    known = tx.one(SQL["get_fact"], {"name": "numbers"})
    return known is not None and known[0] == EDITION


def is_shown(tx: Tx, stored: Stored, view: View, scanner: SecretScanner) -> bool:
    """Return whether a view shows a record; while not all numbers are marked, it is scanned for them."""
    return is_visible(stored.seen, view) and (are_numbers_marked(tx) or not holds_number(stored.record, scanner))


def find_kept(tx: Tx, means: Collaborators, memory_id: str, scopes: Sequence[Scope]) -> Stored | None:
    """Return a record of the scopes that is not forgotten, regulated or not; None where an answer may not show it."""
    stored = get_record(tx, memory_id)
    view = View(frozenset(scope_ids_of(tx, scopes)), KEPT, means.clock.now(), shows_regulated=True)
    return stored if stored is not None and is_shown(tx, stored, view, means.scanner) else None


def require_active(tx: Tx, means: Collaborators, memory_id: str, scopes: Sequence[Scope], otherwise: str) -> Stored:
    """Return a record of the scopes that is active at this moment.

    Raises `CallerError("not_found")`, and `Refused("conflict")` with the sentence `otherwise`.
    """
    found = find_kept(tx, means, memory_id, scopes)
    if found is None:
        raise CallerError.missing("memory")
    if status_at(found.record, means.clock.now()) != "active":
        raise Refused("conflict", otherwise)
    return found


def note_numbers_marked(tx: Tx) -> None:
    """Store that every record that holds such a number is marked."""
    tx.run(SQL["put_fact"], {"name": "numbers", "value": EDITION})


def find_numbers(tx: Tx, after: int, scanner: SecretScanner) -> tuple[list[tuple[int]], int | None]:
    """Return the rows of a page that hold such a number unmarked, and the row after which the next page begins.

    There are none once all of the home are marked.
    """
    if after == 0 and are_numbers_marked(tx):
        return [], None
    page = [to_stored(row) for row in tx.all(SQL["records_after"], {"after": after, "limit": PAGE})]
    found = [(s.row,) for s in page if s.is_intact and not s.seen.is_withheld and holds_number(s.record, scanner)]
    return found, page[-1].row if len(page) == PAGE else None


def withhold(tx: Tx, stored: Stored, now: int) -> None:
    """Mark a record, so that no answer shows it."""
    memory_id, metadata = stored.record.memory_id, to_column({**stored.record.metadata, WITHHELD: True})
    tx.run(SQL["withhold_record"], {"memory_id": memory_id, "metadata": metadata})
    seal(tx, memory_id)
    add_event(tx, memory_id, now, Change("updated", SYSTEM_ACTOR, "secret_detected"))


def withheld_ids(tx: Tx) -> list[str]:
    """Return the ids of the marked records."""
    return [memory_id for (memory_id,) in tx.all(SQL["withheld_records"], {"name": f'"{WITHHELD}"'})]


def withheld_of(tx: Tx, memory_ids: Sequence[str]) -> list[Stored]:
    """Return the marked ones of some records."""
    found = [get_record(tx, memory_id) for memory_id in memory_ids]
    return [stored for stored in found if stored is not None and stored.seen.is_withheld]


def count_numbers(tx: Tx, scanner: SecretScanner) -> int:
    """Return how many records hold such a number, marked or not; every record is read, which only the doctor does."""
    after, count = 0, 0
    while page := [to_stored(row) for row in tx.all(SQL["records_after"], {"after": after, "limit": PAGE})]:
        count += sum(s.seen.is_withheld or (s.is_intact and holds_number(s.record, scanner)) for s in page)
        after = page[-1].row
    return count
