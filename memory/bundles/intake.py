"""Imports entries of a bundle on a transaction: gathers the rows of this home, has a plan decide, stores new rows.

Rule 1: statuses, times and history are those of the bundle; hashes, checksums and index rows are this home's own.
Rule 2: nothing here is overwritten; a record of this home gets evidence, events and decisions that it lacks, no more.
"""

from collections.abc import Callable, Sequence
from typing import Any

import msgspec
from msgspec import Struct

from memory.bundles.exporting import bare_candidate, bare_record
from memory.ports import Collaborators
from memory.proposals.forgotten_sources import EvidencePlace, Lesson, is_forgotten
from memory.read.vectors import RecordVectors
from memory.rows.bundles import (
    are_words_forgotten,
    count_imported_evidence,
    import_candidate,
    import_decision,
    import_event,
    read_touch_time,
)
from memory.rows.evidence import add_evidence
from memory.rows.notices import expire, note_change
from memory.rows.record_columns import FIELDS, Stored, to_column
from memory.rows.store import (
    Change,
    active_by_key,
    active_by_path,
    active_duplicate,
    add_event,
    add_first_text,
    add_record,
    ensure_scope,
    get_any_candidate,
    get_record,
    pending_candidate,
)
from memory.rows.tombstones import import_tombstone, is_buried
from memory.rules.actors import IMPORTER
from memory.rules.identity import FactIdentity
from memory.rules.import_plan import EntrySituation, EntryVerdict, Twin, plan_import, plan_tombstone
from memory.rules.visibility import status_at
from protocol.base import Scope
from protocol.bundle import BundleCandidate, BundleEntry, BundleRecord, BundleTombstone
from protocol.errors import CallerError
from protocol.memory.bundles import Conflict, ConflictReason, ImportResult
from protocol.notifications import MemoryInvalidated
from protocol.record import Provenance
from protocol.seams.ports import Tx

DATED_APART = {"last_accessed_at": None, "access_count": 0, "supersedes": None, "superseded_by": None}
"""Members of a record that change without its `updated_at`: they are not compared."""


class PreparedEntry(Struct, frozen=True):
    """An entry with what can be computed of it without the store."""

    entry: BundleEntry
    identity: FactIdentity | None = None
    """None of a tombstone, and of an entry with a problem."""
    problem: ConflictReason | None = None
    """The reason for which it is not imported into any home."""


class Tally:
    """The counts and conflicts of an import."""

    def __init__(self) -> None:
        self.imported = self.skipped = self.tombstoned = 0
        self.conflicts: list[Conflict] = []

    def count(self, entry_id: str, verdict: EntryVerdict) -> None:
        """Count an entry by the decision on it."""
        if verdict.fate == "import":
            self.imported += 1
        elif verdict.fate == "tombstone":
            self.tombstoned += 1
        elif verdict.reason is not None:
            conflict = Conflict(memory_id=entry_id, existing_memory_id=verdict.existing, reason=verdict.reason)
            self.conflicts.append(conflict)
        else:
            self.skipped += 1

    def result(self) -> ImportResult:
        """Return the result of the import."""
        return ImportResult(
            imported=self.imported, skipped=self.skipped, conflicts=self.conflicts, tombstoned=self.tombstoned
        )


class Intake:
    """The import of some entries on one transaction; `began` is the generation in which the whole import began."""

    def __init__(
        self, tx: Tx, means: Collaborators, vectors: RecordVectors, scopes: Sequence[Scope], began: int
    ) -> None:
        self._tx = tx
        self._means = means
        self._scopes = frozenset(scopes)
        self._vectors = vectors
        self._now = means.clock.now()
        self._began = began
        self._scope_rows: dict[Scope, int] = {}
        self._changed: set[Scope] = set()
        self.tally = Tally()

    def take(self, prepared: PreparedEntry) -> None:
        """Decide on an entry and store what is new of it."""
        entry = prepared.entry
        if isinstance(entry, BundleTombstone):
            self._take_tombstone(entry)
        elif isinstance(entry, BundleRecord):
            self._take_record(entry, prepared)
        else:
            self._take_candidate(entry, prepared)

    def notify(self) -> None:
        """Notify clients and other processes of the changed scopes, once for all entries: an app reads them anew."""
        for scope in self._changed:
            note_change(self._tx, self._means, self._scope_rows[scope])
        if self._changed:
            params = MemoryInvalidated(scopes=sorted(self._changed))
            self._tx.after_commit(lambda: self._means.notify("memory/invalidated", params))

    def _scope_id(self, scope: Scope) -> int:
        """Return the row of an active scope. Raises `CallerError` where its workspace or thread does not exist."""
        if scope not in self._scope_rows:
            if scope.kind == "workspace" and not self._means.workspace_exists(self._tx, scope.key):
                raise CallerError.missing("workspace")
            if scope.kind == "thread" and self._means.read_thread(self._tx, scope.key) is None:
                raise CallerError.missing("thread")
            self._scope_rows[scope] = ensure_scope(self._tx, scope)
        return self._scope_rows[scope]

    # -- records ---------------------------------------------------------------------------------------------------

    def _take_record(self, entry: BundleRecord, prepared: PreparedEntry) -> None:
        verdict = plan_import(self._situation_of_record(entry, prepared))
        self.tally.count(entry.memory_id, verdict)
        if verdict.fate == "import" and prepared.identity is not None:
            self._store_record(entry, prepared.identity)
        elif verdict.fate == "attach":
            self._attach(entry, memory_id=entry.memory_id)

    def _situation_of_record(self, entry: BundleRecord, prepared: PreparedEntry) -> EntrySituation:
        """Return what this home has of a record; without an active scope, or with a problem, no row is read."""
        nothing = EntrySituation(entry.scope in self._scopes, prepared.problem, None, False, False, None, None)
        if not nothing.is_scope_active or prepared.identity is None:
            return nothing
        identity, scope_id = prepared.identity, self._scope_id(entry.scope)
        found = get_record(self._tx, entry.memory_id)
        if found is not None:
            return nothing._replace(twin=self._twin_of_record(entry, found))
        is_active = status_at(entry, self._now) == "active"
        value = to_column(entry.value) if entry.value is not None else None
        duplicate = key_holder = path_holder = None
        if is_active and (path := entry.path) is not None:
            path_holder = self._find_active(lambda: active_by_path(self._tx, path))
        if is_active:
            duplicate = self._find_active(lambda: active_duplicate(self._tx, scope_id, identity, value))
            key_holder = self._find_active(lambda: active_by_key(self._tx, scope_id, identity))
        if (
            key_holder is not None
            and key_holder.text_hash == identity.text_hash
            and key_holder.record.value == entry.value
        ):
            duplicate = duplicate or key_holder
        return nothing._replace(
            is_id_forgotten=is_buried(self._tx, entry.memory_id),
            are_words_forgotten=are_words_forgotten(self._tx, scope_id, identity, entry.created_at, is_record=True)
            or self._is_late(entry, entry.provenance, identity),
            duplicate=duplicate.record.memory_id if duplicate is not None else None,
            key_holder=key_holder.record.memory_id if key_holder is not None else None,
            path_holder=self._to_shown_id(path_holder) if path_holder is not None else None,
        )

    def _twin_of_record(self, entry: BundleRecord, found: Stored) -> Twin:
        """Compare an entry with the record that this home has under its id."""
        ours = bare_record(found, self._now)
        bare: dict[str, Any] = {"events": [], "decisions": [], "evidence": [], **DATED_APART}
        status = status_at(entry, self._now)
        theirs = msgspec.structs.replace(entry, **bare, status=status)
        is_unchanged = ours.updated_at == entry.updated_at
        is_same = (ours.scope, ours.key, ours.content) == (entry.scope, entry.key, entry.content)
        if is_unchanged:
            is_same = msgspec.structs.replace(ours, **DATED_APART) == theirs
        return Twin(
            is_forgotten=found.record.status == "deleted" and ours.scope in self._scopes,
            is_same_thing=is_same and found.is_intact,
            is_unchanged=is_unchanged,
            is_older=ours.updated_at < entry.updated_at,
            memory_id=found.record.memory_id if ours.scope in self._scopes else None,
        )

    def _to_shown_id(self, found: Stored) -> str:
        """Return the id of a record; "" for one that the caller may not see."""
        return found.record.memory_id if found.record.scope in self._scopes else ""

    def _find_active(self, find: Callable[[], Stored | None]) -> Stored | None:
        """Return the record that `find` returns, once that is active at this moment; None where there is none.

        A record whose time is over is marked as expired, if no sweep has done so, and `find` is asked again.
        """
        while (found := find()) is not None:
            if status_at(found.record, self._now) == "active":
                return found
            expire(self._tx, self._means, found)
            self._changed.add(found.record.scope)
        return None

    def _store_record(self, entry: BundleRecord, identity: FactIdentity) -> None:
        """Store a record, sealed and indexed, with its evidence, events and decisions; its vector is queued."""
        tx, memory_id, scope_id = self._tx, entry.memory_id, self._scope_id(entry.scope)
        status = status_at(entry, self._now)
        superseded_by = entry.superseded_by or ("" if status == "superseded" else None)
        stored = add_record(
            tx,
            entry.scope,
            {
                **{name: getattr(entry, name) for name in FIELDS if name in entry.__struct_fields__},
                "scope_id": scope_id,
                "key": identity.key,
                "alias": entry.alias,
                "is_single": entry.is_single,
                "status": status,
                "superseded_by": superseded_by,
                "fingerprint": identity.fingerprint,
                "text_hash": identity.text_hash,
            },
        )
        self._attach(entry, memory_id=memory_id, is_new=True)
        add_event(tx, memory_id, self._now, Change("imported", IMPORTER, None, None, status))
        add_first_text(tx, stored, self._means.lexicon)
        self._vectors.expect(tx, stored)
        self._changed.add(entry.scope)

    # -- candidates ------------------------------------------------------------------------------------------------

    def _take_candidate(self, entry: BundleCandidate, prepared: PreparedEntry) -> None:
        verdict = plan_import(self._situation_of_candidate(entry, prepared))
        self.tally.count(entry.candidate_id, verdict)
        if verdict.fate == "import" and prepared.identity is not None:
            self._store_candidate(entry, prepared.identity)
        elif verdict.fate == "attach":
            self._attach(entry, candidate_id=entry.candidate_id)

    def _situation_of_candidate(self, entry: BundleCandidate, prepared: PreparedEntry) -> EntrySituation:
        """Return what this home has of a candidate, as `_situation_of_record` does of a record."""
        nothing = EntrySituation(entry.scope in self._scopes, prepared.problem, None, False, False, None, None)
        if not nothing.is_scope_active or prepared.identity is None:
            return nothing
        identity, scope_id = prepared.identity, self._scope_id(entry.scope)
        twin = self._twin_of_candidate(entry)
        if twin is not None:
            return nothing._replace(twin=twin)
        value = to_column(entry.value) if entry.value is not None else None
        duplicate = None
        if entry.status == "pending":
            said = self._find_active(lambda: active_duplicate(self._tx, scope_id, identity, value))
            waiting = pending_candidate(self._tx, scope_id, identity, value)
            duplicate = said.record.memory_id if said else waiting.candidate.candidate_id if waiting else None
        became = [one for one in (entry.promoted_memory_id, entry.merged_into) if one is not None]
        return nothing._replace(
            is_id_forgotten=any(map(self._is_gone, became)),
            are_words_forgotten=are_words_forgotten(self._tx, scope_id, identity, entry.created_at, is_record=False)
            or self._is_late(entry, entry.proposal.provenance, identity),
            duplicate=duplicate,
        )

    def _twin_of_candidate(self, entry: BundleCandidate) -> Twin | None:
        """Compare an entry with the candidate that this home has under its id; None where it has none."""
        found = get_any_candidate(self._tx, entry.candidate_id)
        if found is None:
            return None
        ours = bare_candidate(found, read_touch_time(self._tx, found))
        is_unchanged = ours.touched_at == entry.touched_at
        is_same = (ours.scope, ours.key, ours.content) == (entry.scope, entry.key, entry.content)
        if is_unchanged:
            is_same = ours == msgspec.structs.replace(entry, decisions=[], evidence=[])
        is_visible = ours.scope in self._scopes
        return Twin(
            is_forgotten=found.is_forgotten and is_visible,
            is_same_thing=is_same,
            is_unchanged=is_unchanged,
            is_older=ours.touched_at < entry.touched_at,
            memory_id=entry.candidate_id if is_visible else None,
        )

    def _store_candidate(self, entry: BundleCandidate, identity: FactIdentity) -> None:
        """Store a candidate with its evidence and decisions."""
        names = (
            "candidate_id",
            "category",
            "key",
            "content",
            "status",
            "score",
            "bucket",
            "reason_code",
            "evidence_count",
            "contested_memory_id",
            "promoted_memory_id",
            "merged_into",
            "created_at",
            "touched_at",
            "decided_at",
            "decided_by",
            "turn_id",
        )
        import_candidate(
            self._tx,
            {
                **{name: getattr(entry, name) for name in names},
                "scope_id": self._scope_id(entry.scope),
                "value": to_column(entry.value) if entry.value is not None else None,
                "proposal": to_column(entry.proposal),
                "fingerprint": identity.fingerprint,
                "text_hash": identity.text_hash,
            },
        )
        self._attach(entry, candidate_id=entry.candidate_id, is_new=True)
        self._changed.add(entry.scope)

    # -- evidence, events and decisions, and tombstones ------------------------------------------------------------

    def _attach(
        self,
        entry: BundleRecord | BundleCandidate,
        *,
        memory_id: str | None = None,
        candidate_id: str | None = None,
        is_new: bool = False,
    ) -> None:
        """Add an entry's evidence, events and decisions; unless its row `is_new`, only those that the row lacks."""
        owner = {"memory_id": memory_id, "candidate_id": candidate_id}
        for one in entry.evidence:
            add_evidence(self._tx, {**owner, **msgspec.structs.asdict(one)}, is_new=is_new)
        scope_id = self._scope_id(entry.scope)
        for one in entry.decisions:
            values = {**msgspec.structs.asdict(one), **owner, "scope_id": scope_id, "factors": to_column(one.factors)}
            values["candidate_id"] = candidate_id or one.candidate_id
            import_decision(self._tx, values, is_new=is_new)
        if isinstance(entry, BundleRecord):
            for one in entry.events:
                values = {**msgspec.structs.asdict(one), "memory_id": entry.memory_id}
                import_event(self._tx, values, is_new=is_new)
            count_imported_evidence(self._tx, entry.memory_id)

    def _is_gone(self, memory_id: str) -> bool:
        """Return whether a record was forgotten or erased here."""
        found = get_record(self._tx, memory_id)
        return is_buried(self._tx, memory_id) or (found is not None and found.record.status == "deleted")

    def _is_late(self, entry: BundleRecord | BundleCandidate, given: Provenance, identity: FactIdentity) -> bool:
        """Return whether the entry, or its source, was forgotten while the bundle was being imported."""
        hashes = (identity.text_hash, identity.fingerprint)
        places = [EvidencePlace(one.turn_id, one.thread_id) for one in (given, *entry.evidence)]
        return is_forgotten(self._tx, self._means, Lesson(entry.scope, hashes, places, self._began, is_decided=True))

    def _take_tombstone(self, entry: BundleTombstone) -> None:
        """Store a tombstone of the bundle, unless the record is forgotten here already, or lives here."""
        found = get_record(self._tx, entry.memory_id)
        living = found if found is not None and found.record.status != "deleted" else None
        verdict = plan_tombstone(
            is_scope_active=entry.scope in self._scopes,
            is_known=is_buried(self._tx, entry.memory_id) or (found is not None and living is None),
            living=entry.memory_id if living is not None else None,
            is_visible=living is not None and living.record.scope in self._scopes,
        )
        self.tally.count(entry.memory_id, verdict)
        if verdict.fate == "tombstone":
            import_tombstone(
                self._tx,
                {
                    "memory_id": entry.memory_id,
                    "scope_id": self._scope_id(entry.scope),
                    "fingerprint": bytes.fromhex(entry.fingerprint),
                    "text_hash": bytes.fromhex(entry.text_hash),
                    "key_hash": bytes.fromhex(entry.key_hash),
                    "erased_at": entry.forgotten_at,
                    "key_id": entry.key_id,
                },
            )
