"""Makes the columns of a record from a proposal; pure."""

from typing import Any

import msgspec
from msgspec import UNSET, Struct

from memory.proposals.proposal import Checked, Proposed, actor_of
from memory.rules.identity import FactIdentity
from memory.rules.sensitivity import level_of
from protocol.record import details_of


class RecordPlacement(Struct, frozen=True):
    """The values of a new record that do not come from its proposal."""

    memory_id: str
    scope_id: int
    supersedes: str | None
    now: int
    path: str | None
    """The path of a record for which the proposal names none."""


def columns_of(
    p: Proposed, identity: FactIdentity, checked: Checked, place: RecordPlacement, *, is_regulated: bool
) -> dict[str, Any]:
    """Return the fields and columns of a new record by name, but for those that begin alike in every record."""
    provenance = msgspec.structs.replace(p.provenance, source_kind=checked.source_kind, created_by=actor_of(p))
    if p.provenance.source_kind in {"import", "user_correction"} or p.provenance.collection_id is not UNSET:
        provenance = msgspec.structs.replace(provenance, source_kind=p.provenance.source_kind)
    level = level_of(p.declared, p.semantic.sensitivity, p.semantic.category, is_regulated=is_regulated)
    return details_of(p) | {
        "memory_id": place.memory_id,
        "scope_id": place.scope_id,
        "category": p.semantic.category,
        "key": identity.key,
        "alias": identity.alias,
        "is_single": identity.is_single,
        "content": p.content,
        "value": p.value,
        "sensitivity": level,
        "confidence": 1.0 if p.confidence is None else p.confidence,
        "provenance": provenance,
        "evidence_count": len(checked.evidence),
        "created_at": place.now,
        "updated_at": place.now,
        "expires_at": p.expires_at,
        "supersedes": place.supersedes,
        "metadata": p.metadata or {},
        "fingerprint": identity.fingerprint,
        "text_hash": identity.text_hash,
        "path": p.path if p.path is not None else place.path,
    }
