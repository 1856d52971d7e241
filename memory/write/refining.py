"""Finding the active record of which a proposal says all, and a detail more.

Rule 1: the record of its key; without a key the closest one of its scope, category, subject and attribute.
Rule 2: whether it is a detail is decided by `precision` alone; here is only which records are compared.
"""

from collections.abc import Sequence

from memory.proposals.proposal import Proposed
from memory.read.shared_words import sharing_words
from memory.rows.search import ScopedCategory
from memory.rows.store import Stored
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
    """Return the record that gives way, and the detail that it lacks; None where there is none."""
    if same_key is not None:
        found = [same_key]
    elif identity.is_single or not may_add_detail(proposed.content):
        found = list[Stored]()
    else:
        shared = sharing_words(tx, ScopedCategory(scope_id, proposed.semantic.category), gist)
        found = [one for one in shared if not one.is_single and base_of(one.record.key) == base_of(identity.key)]
    for stored in found:
        record = stored.record
        detail = detail_of(record, proposed.content, proposed.value, is_one_slot=same_key is not None)
        if detail is not None and status_at(record, now) == "active":
            return Refined(record.memory_id, detail)
    return None
