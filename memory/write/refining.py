"""Finds the active record whose words a proposal repeats with a detail more.

Rule 1: it is compared with the record of its key; where no record has that, with those of its scope, category, subject
and attribute that share most terms.
Rule 2: `memory/rules/precision.py` decides what a detail is; here records to compare are chosen.
"""

from collections.abc import Sequence

import msgspec

from memory.proposals.proposal import Proposed
from memory.read.shared_words import find_sharing
from memory.rows.record_columns import Stored
from memory.rows.records import records_by_row
from memory.rows.search import ComparableRecord, ScopedCategory
from memory.rules.identity import FactIdentity, base_of
from memory.rules.precision import detail_of, may_add_detail
from memory.rules.visibility import status_at
from memory.rules.write_plan import Refined
from protocol.seams.ports import Tx


def find_refined(
    tx: Tx,
    identity: FactIdentity,
    proposed: Proposed,
    same_key: Stored | None,
    gist: Sequence[str],
    scope_id: int,
    now: int,
) -> Refined | None:
    """Return the record that gives way, and the detail that it lacks; None where there is none.

    `gist` are the query terms of the proposal's content.
    """
    is_one_slot = same_key is not None
    if same_key is not None:
        found = [same_key]
    elif identity.is_single or not may_add_detail(proposed.content):
        found = list[Stored]()
    else:
        shared = find_sharing(tx, ScopedCategory(scope_id, proposed.semantic.category), gist)
        close = [one.row for one in shared if _is_close(one, identity, proposed)]
        whole = records_by_row(tx, close) if close else {}
        found = [whole[row] for row in close if row in whole and whole[row].is_intact]
    for stored in found:
        record = stored.record
        detail = detail_of(record.content, record.value, proposed.content, proposed.value, is_one_slot=is_one_slot)
        if detail is not None and status_at(record, now) == "active":
            return Refined(record.memory_id, detail)
    return None


def _is_close(one: ComparableRecord, identity: FactIdentity, proposed: Proposed) -> bool:
    """Return whether the proposal adds a detail to a record, by the columns of a cheap read; the whole is read then."""
    if one.is_single or base_of(one.key) != base_of(identity.key):
        return False
    try:
        value = msgspec.json.decode(one.value) if one.value is not None else None
    except msgspec.DecodeError:  # damaged
        return False
    return detail_of(one.content, value, proposed.content, proposed.value, is_one_slot=False) is not None
