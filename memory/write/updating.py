"""Changes a record: new words are a correction, which supersedes it; every other member is written in place.

Rule 1: a member that is not named stays as it is.
Rule 2: identity follows the value: another one gives the record another fingerprint, and in a set another key, in the
same statement.
Rule 3: two active records never say the same: an update to what another one says is a conflict.
"""

from collections.abc import Sequence

import msgspec
from msgspec import UNSET

from memory.ports import Collaborators
from memory.proposals.proposal_sources import correction
from memory.rows.notices import Notice, build_changed_notice, expire, note_change
from memory.rows.record_columns import CLEANED, UPDATABLE, Stored, to_column, to_columns
from memory.rows.records import find_same, update_record
from memory.rows.store import Change, add_event, add_text, get_record
from memory.rows.withheld import find_kept
from memory.rules.actors import USER_ACTOR
from memory.rules.identity import FactIdentity, identity_with
from memory.rules.sensitivity import clean_value, judge
from memory.rules.visibility import status_at
from memory.rules.write_plan import secret_factors
from memory.write.answers import refusal, require_record
from memory.write.idempotency import notify_after_commit
from memory.write.writing import RecordWriter
from protocol.base import Scope
from protocol.errors import CallerError, Defect, Refused
from protocol.memory.writes import UpdateParams, UpdateResult
from protocol.record import Record
from protocol.seams.ports import Tx


class Updater:
    """Answers `memory/update`, on a transaction."""

    def __init__(self, means: Collaborators, writer: RecordWriter) -> None:
        self._means = means
        self._writer = writer

    def update(self, tx: Tx, params: UpdateParams, scopes: Sequence[Scope], workspace_id: str | None) -> UpdateResult:
        """Correct a record or annotate it in place; return the record as it is now.

        Raises `CallerError("not_found")`, `Refused("conflict")`, or `Refused("write_refused")` with the decision.
        """
        content = params.content if params.content is not UNSET else None
        stored = self._require_updatable(tx, params, scopes)
        if content is not None and content != stored.record.content:
            outcome = self._writer.write(tx, correction(params, stored, content, workspace_id), scopes)
            record = require_record(outcome)
            notify_after_commit(tx, self._means, outcome.notices)
            return UpdateResult(record=record, superseded_memory_id=outcome.result.superseded_memory_id)
        if all(getattr(params, name) is UNSET for name in UPDATABLE):
            return UpdateResult(record=stored.record)  # no member is named, or only the words that it has
        notices: list[Notice] = []
        record = self._annotate(tx, stored, params, notices)
        notify_after_commit(tx, self._means, [*notices, build_changed_notice(record, "updated", None)])
        return UpdateResult(record=record)

    def _require_updatable(self, tx: Tx, params: UpdateParams, scopes: Sequence[Scope]) -> Stored:
        """Return the record to update. Raises where it is not found, not active, or has changed meanwhile."""
        stored = find_kept(tx, self._means, params.memory_id, scopes)
        if stored is None:
            raise CallerError.missing("memory")
        if stored.record.status != "active":
            raise Refused("conflict", "Only an active memory can be changed.")
        if params.expected_updated_at not in {None, stored.record.updated_at}:
            raise Refused("conflict", "The memory was changed meanwhile.")
        return stored

    def _annotate(self, tx: Tx, stored: Stored, params: UpdateParams, notices: list[Notice]) -> Record:
        """Write the named members in place; return the record, and add the notices of records that expired."""
        old, now = stored.record, self._means.clock.now()
        new = {name: given for name in UPDATABLE if (given := getattr(params, name)) is not UNSET}
        new |= {name: clean_value(new[name]) for name in CLEANED if name in new}
        if "tags" in new:
            new["tags"] = list(dict.fromkeys(new["tags"]))
        texts = [to_column(entry) for entry in new.values()]
        findings = judge(texts, [span for text in texts for span in self._means.scanner.find(text)])
        if findings.secret_kinds:
            raise refusal("secret_detected", secret_factors(findings.secret_kinds))
        level = "regulated" if findings.is_regulated else old.sensitivity
        record = msgspec.structs.replace(old, **new, sensitivity=level)
        identity = self._identity(tx, stored, record, notices)
        update_record(
            tx,
            old.memory_id,
            {
                **to_columns({name: getattr(record, name) for name in UPDATABLE}),
                "sensitivity": level,
                "key": identity.key,
                "fingerprint": identity.fingerprint,
            },
            now,
        )
        current = get_record(tx, old.memory_id)
        if current is None:
            raise Defect
        add_text(tx, current, self._means.lexicon)
        add_event(tx, old.memory_id, now, Change("updated", USER_ACTOR, None, "active", "active"))
        note_change(tx, self._means, stored.scope_id)
        return current.record

    def _identity(self, tx: Tx, stored: Stored, record: Record, notices: list[Notice]) -> FactIdentity:
        """Return the identity that a record has after the update.

        A record that has it and whose time is over is marked as expired, which adds to the notices. Raises
        `Refused("conflict")` where an active one has it.
        """
        old = stored.record
        known = FactIdentity(old.key, stored.alias, stored.fingerprint, stored.text_hash, stored.is_single)
        if record.value == old.value:
            return known
        identity = identity_with(known, old.scope, old.content, record.value, self._means.keyed)
        for memory_id in find_same(tx, stored, identity.key, identity.fingerprint):
            other = get_record(tx, memory_id)
            if other is None:
                raise Defect
            if status_at(other.record, self._means.clock.now()) == "active":
                raise Refused("conflict", "Another memory says that already.")
            notices.append(expire(tx, self._means, other))
        return identity
