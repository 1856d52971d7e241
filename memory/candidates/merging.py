"""Merges two records that say the same, by a person's word.

Rule 1: a merge goes through the write path, as an explicit wish in the words of the record that stays, which supersedes
the other one.
Rule 2: the evidence of the merged record stays with it, so that `memory/restore` brings it back whole.
"""

from collections.abc import Sequence
from functools import partial

from msgspec.structs import replace

from memory.doorway import Doorway
from memory.ports import Collaborators
from memory.proposals.proposal_sources import explicit_wish
from memory.rows.withheld import require_active
from memory.rules.notes import is_note
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

        Raises `CallerError("not_found")`, and `Refused("conflict")` where one is not active, they are of two scopes, or
        the one that stays is an agent's note.
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
        """Write the words of the record that stays as a wish that supersedes the other one."""
        merged, into = (
            require_active(tx, self._means, memory_id, scopes, "Only active memories can be merged.")
            for memory_id in (params.memory_id, params.into_memory_id)
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
