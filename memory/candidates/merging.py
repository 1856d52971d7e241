"""Merging two records that say the same, by a person's word.

Rule 1: it goes through the write pipeline, as what the user says again in the words of the record that stays; the other
one is superseded.
Rule 2: what the merged record rests upon stays with it, so that `memory/restore` brings it back whole.
"""

from collections.abc import Sequence
from functools import partial

from msgspec.structs import replace

from memory.doorway import Doorway
from memory.ports import Collaborators
from memory.proposals.proposal_sources import explicit_wish
from memory.rows.store import Stored
from memory.rows.withheld import find_kept
from memory.rules.notes import is_note
from memory.rules.visibility import status_at
from memory.write.answers import require_record
from memory.write.idempotency import write_once
from memory.write.writing import Outcome, RecordWriter
from protocol.base import Scope
from protocol.errors import CallerError, Defect, Refused
from protocol.memory.writes import MergeParams, MergeResult, RememberParams
from protocol.record import Provenance
from protocol.seams.ports import Tx


class Merger:
    """Answers `memory/merge`."""

    def __init__(self, means: Collaborators, writer: RecordWriter, door: Doorway) -> None:
        self._means = means
        self._writer = writer
        self._door = door

    async def merge(self, params: MergeParams) -> MergeResult:
        """Supersede one record by another one of its scope that says the same.

        Raises `CallerError("not_found")`, and `Refused("conflict")` for what is not active, not of one scope, or an
        agent's note.
        """
        self._door.require_enabled()
        if params.memory_id == params.into_memory_id:
            raise CallerError.at("$.into_memory_id", "Name two memories")
        scopes, workspace_id, _ = await self._door.place(params.context)
        work = partial(self._merge, params=params, scopes=scopes, workspace_id=workspace_id)
        request = ["merge", params.memory_id, params.into_memory_id, params.context]
        outcome = await write_once(self._means, params.idempotency_key, request, workspace_id, work)
        if outcome.result.superseded_memory_id is None:
            raise Defect
        return MergeResult(record=require_record(outcome), merged_memory_id=outcome.result.superseded_memory_id)

    def _merge(self, tx: Tx, *, params: MergeParams, scopes: Sequence[Scope], workspace_id: str) -> Outcome:
        merged, into = (
            self._require_active(tx, memory_id, scopes) for memory_id in (params.memory_id, params.into_memory_id)
        )
        self._door.require_writable(tx, params.context, into.record.scope, scopes)
        if is_note(into.record):
            raise Refused("conflict", "An agent's note is confirmed before anything is merged into it.")
        stays = into.record
        wish = RememberParams(
            content=stays.content,
            category=stays.category,
            scope=stays.scope,
            value=stays.value,
            sensitivity=stays.sensitivity,
            supersedes=merged.record.memory_id,
        )
        proposed = explicit_wish(wish, Provenance(thread_id=params.context.thread_id), workspace_id)
        outcome = self._writer.write(tx, replace(proposed, same_as=stays.memory_id), scopes)
        require_record(outcome)  # a refusal changes nothing
        return outcome

    def _require_active(self, tx: Tx, memory_id: str, scopes: Sequence[Scope]) -> Stored:
        found = find_kept(tx, self._means, memory_id, scopes)
        if found is None:
            raise CallerError.missing("memory")
        if status_at(found.record, self._means.clock.now()) != "active":
            raise Refused("conflict", "Only active memories can be merged.")
        return found
