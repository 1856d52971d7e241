"""Making an agent's note the user's word: because the user said the same, or a person confirmed it.

Rule 1: the record stays the record, with its id and its words; whose word it is, where it is filed and when it ends are written anew.
"""

from collections.abc import Mapping
from typing import Any

from memory.identity import Identity
from memory.notes import is_note
from memory.proposal import Proposed
from memory.store import SQL, Change, Stored, add_event, add_text, get_record, seal
from protocol.errors import Defect
from protocol.ports import Lexicon, Tx

_COLUMNS = (
    "category", "kind", "key", "alias", "is_single", "fingerprint", "sensitivity", "confidence", "importance", "provenance",
    "thread_id", "turn_id", "valid_from", "expires_at", "value", "tags",
)  # fmt: skip


def adopt(tx: Tx, memory_id: str, values: Mapping[str, Any], change: Change, now: int, lexicon: Lexicon) -> Stored:
    """Write the columns that say whose word a record is and where it is filed; return it as it is now, sealed and findable."""
    tx.run(SQL["adopt_record"], {name: values[name] for name in _COLUMNS} | {"memory_id": memory_id, "now": now})
    seal(tx, memory_id)
    found = get_record(tx, memory_id)
    if found is None:
        raise Defect
    add_event(tx, memory_id, now, change)
    add_text(tx, found, lexicon)
    return found


def may_adopt(found: Stored, proposed: Proposed, identity: Identity, same_key: Stored | None) -> bool:
    """Whether what was found can be taken for what is said: an agent's note only where it says just that, and no other record has the key."""
    if not is_note(found.record):
        return True
    is_alone = same_key is None or same_key.row == found.row
    return is_alone and found.text_hash == identity.text_hash and proposed.disposition != "create_pending_candidate"
