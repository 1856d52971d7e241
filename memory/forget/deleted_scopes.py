"""Removes the memory of a deleted thread or workspace, to the last byte, and cancels the work that came from it.

Rule 1: records of the user's scope stay, though they were learnt there. The scope of the deleted thread or workspace is
erased, and nothing of it can be restored.
Rule 2: a part is one transaction, which other writers wait for; the files are wiped once, after the last part.
"""

from collections.abc import Mapping, Sequence

from memory.candidates.decisions import Candidates
from memory.forget.erased_phrases import find_erased
from memory.forget.erasing import Eraser
from memory.forget.forgetting import Forgetter
from memory.ports import Collaborators
from memory.proposals.forgotten_sources import (
    Mark,
    cancel_runs,
    is_forgotten_since,
    mark_of_place,
    note_forgotten,
)
from memory.rows.forgetting import read_generation, records_in
from memory.rows.records import records_of
from memory.rows.store import scope_id_of
from memory.rules.actors import SYSTEM_ACTOR
from memory.write.idempotency import notify_after_commit
from protocol.base import Cancelled, Scope
from protocol.saying import Saying
from protocol.seams.ports import Tx

ERASED_AT_ONCE = 100
"""Records of one transaction of an erase, so that other writers wait for milliseconds."""


class DeletedScopes:
    """Forgets what other houses delete. Satisfies `Forgettings`."""

    def __init__(self, means: Collaborators, forgetter: Forgetter, eraser: Eraser, candidates: Candidates) -> None:
        self._means = means
        self._forgetter = forgetter
        self._candidates = candidates
        self.promise = eraser.promise
        self.keep_promise = eraser.keep_promise

    def generation(self, tx: Tx) -> int:
        """Return the home's generation, which grows with every forgetting."""
        return read_generation(tx)

    def is_forgotten(self, tx: Tx, workspace_id: str, thread_id: str, since: int) -> bool:
        """Return whether a thread was forgotten or deleted after that generation, or its workspace deleted."""
        marks = (Mark("thread", thread_id), Mark("workspace", workspace_id))
        return any(is_forgotten_since(tx, self._means, mark, since) for mark in marks)

    def find_erased(self, tx: Tx, texts: Sequence[str], since: int) -> Saying:
        """Return the phrases of some texts that were erased with their sources after a generation."""
        return find_erased(tx, self._means, texts, since)

    def forget_thread(self, tx: Tx, thread_id: str) -> list[Cancelled]:
        """Mark a thread as forgotten, so that nothing said in it up to now is learnt; return the cancelled runs."""
        scope = Scope(kind="thread", key=thread_id)
        marks = [Mark("thread", thread_id), Mark("scope", str(scope))]
        if (thread := self._means.read_thread(tx, thread_id)) is not None:
            marks.append(mark_of_place(thread.workspace_id, thread_id))
        note_forgotten(tx, self._means, marks)
        return cancel_runs(tx, self._means, lambda run: run.thread_id == thread_id)

    def forget_workspace(self, tx: Tx, workspace_id: str) -> None:
        """Mark a workspace as forgotten, so that no work that has begun writes into it or its scope."""
        scope = Scope(kind="workspace", key=workspace_id)
        note_forgotten(tx, self._means, [Mark("workspace", workspace_id), Mark("scope", str(scope))])

    def erase_part(self, tx: Tx, scope: Scope) -> Mapping[str, int]:
        """Erase some of a scope's records, forgotten or not, and all its candidates.

        Return the number of records that were not forgotten before; an empty mapping once none is left.
        """
        scope_id = scope_id_of(tx, scope)
        if scope_id is None:
            return {}
        self._candidates.drop_scope(tx, scope_id)
        found = records_of(tx, records_in(tx, scope_id)[:ERASED_AT_ONCE])
        if not found:
            return {}
        forgotten = self._forgetter.erase(tx, found, SYSTEM_ACTOR, restore_superseded=False)
        notify_after_commit(tx, self._means, forgotten.notices)
        self.promise(tx)
        return {"memories": sum(stored.record.status != "deleted" for stored in found)}
