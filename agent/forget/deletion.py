"""Deletes whole threads and workspaces, with what is theirs.

Rule 1: a thread goes in one transaction. A workspace is marked in a first transaction and then goes in parts: nothing
begins in it once it is marked. A job queued in that first transaction finishes the deletion if its process does not.
Rule 2: afterwards the files forget as well; what they cannot forget now is left to a job, and the answer says so.
"""

from collections import Counter
from collections.abc import Awaitable, Callable

from agent.rows.instructions import remove_instructions
from agent.rows.threads import (
    condemn_workspace,
    count_in_thread,
    get_thread,
    get_workspace,
    remove_thread,
    remove_workspace,
    workspace_threads,
)
from agent.rows.turns import is_running_in_workspace, running_turn
from agent.threads.threads import Neighbours
from protocol import methods as m
from protocol.base import DEFAULT_WORKSPACE, Cancelled, Scope
from protocol.conversation.threads import DeleteResult, ThreadParams
from protocol.conversation.workspaces import WorkspaceParams
from protocol.errors import CallerError, Refused
from protocol.methods import Bound, bind
from protocol.seams.forgettings import Forgettings
from protocol.seams.ports import JobHandle, JobQueue, Transact, Tx

TURNS_AT_ONCE = 500
"""Turns that one transaction removes of a workspace before other writers get their turn: some 200 ms."""
GO_ON_DELAY_MS = 2000
"""The delay of the job: the process that begins a deletion goes on with it at once, and the job does after that."""


class _Gone:
    """The parts that a deletion has removed and cancelled so far."""

    def __init__(self) -> None:
        self.removed = Counter[str]()
        self.cancelled: list[Cancelled] = []

    def add(self, part: "_Gone") -> None:
        self.removed.update(part.removed)
        self.cancelled += part.cancelled

    def result(self, *, complete: bool) -> DeleteResult:
        return DeleteResult(deleted=True, removed=dict(self.removed), cancelled=self.cancelled, complete=complete)


class Deletions:
    """Answers `thread/delete` and `workspace/delete`, and handles the job that goes on with the latter."""

    def __init__(
        self,
        *,
        db: Transact,
        jobs: JobQueue,
        neighbours: Neighbours,
        forgettings: Forgettings,
        settle: Callable[[], Awaitable[None]],
    ) -> None:
        self._db = db
        self._jobs = jobs
        self._neighbours = neighbours
        self._forgettings = forgettings
        self._settle = settle

    def bindings(self) -> list[Bound]:
        """Return the methods of the wire that are answered here."""
        return [
            bind(m.WORKSPACE_DELETE, self.workspace_delete),
            bind(m.THREAD_DELETE, self.thread_delete),
        ]

    async def thread_delete(self, params: ThreadParams) -> DeleteResult:
        """Remove a thread with all that is its own."""

        def delete(tx: Tx) -> _Gone:
            if get_thread(tx, params.thread_id) is None:
                raise CallerError.missing("thread")
            if running_turn(tx, params.thread_id) is not None:
                raise Refused("turn_in_progress")
            gone = _Gone()
            self._remove_thread(tx, params.thread_id, gone)
            self._forgettings.promise(tx)
            return gone

        await self._settle()
        gone = await self._db.write(delete, is_vital=True)
        return gone.result(complete=await self._forgettings.keep_promise())

    async def workspace_delete(self, params: WorkspaceParams) -> DeleteResult:
        """Remove a workspace with all that is its own: a part at a time, so that other writers get their turn.

        A deletion that has begun is finished, even if the call is cancelled. Until then the workspace is marked as
        being deleted.
        """
        workspace_id, gone = params.workspace_id, _Gone()

        def begin(tx: Tx) -> None:
            if get_workspace(tx, workspace_id) is None:
                raise CallerError.missing("workspace")
            if workspace_id == DEFAULT_WORKSPACE:
                raise Refused("conflict", "The default workspace always exists.")
            if is_running_in_workspace(tx, workspace_id):
                raise Refused("conflict", "A turn is running in the workspace.")
            condemn_workspace(tx, workspace_id)
            self._forgettings.forget_workspace(tx, workspace_id)
            self._jobs.enqueue(tx, "delete", workspace_id, delay_ms=GO_ON_DELAY_MS)

        await self._settle()
        await self._db.write(begin, is_vital=True)
        await self._remove_parts(workspace_id, gone, lambda tx: self._cancel_job(tx, workspace_id))
        return gone.result(complete=await self._forgettings.keep_promise())

    async def go_on(self, handle: JobHandle) -> None:
        """Handle a `delete` job: bring the deletion of a workspace to its end."""
        await self._remove_parts(handle.job.subject, _Gone(), handle.finish)

    def _cancel_job(self, tx: Tx, workspace_id: str) -> None:
        self._jobs.cancel(tx, kind="delete", subject=workspace_id)

    async def _remove_parts(self, workspace_id: str, gone: _Gone, then: Callable[[Tx], object]) -> None:
        """Remove part after part, counted in `gone`; `then` is called in the transaction of the last one."""

        def remove(tx: Tx) -> tuple[_Gone, bool]:
            part = _Gone()
            found = get_workspace(tx, workspace_id)
            # another process was faster; a new workspace of that id stays
            is_over = found is None or found.state == "active"
            if is_over or self._remove_part(tx, workspace_id, part):
                then(tx)
                return part, True
            return part, False

        is_over = False
        while not is_over:
            part, is_over = await self._db.write(remove, is_vital=True)
            gone.add(part)

    def _remove_part(self, tx: Tx, workspace_id: str, part: _Gone) -> bool:
        """Remove a part of a workspace; return whether it was the last one."""
        erased = self._forgettings.erase_part(tx, Scope(kind="workspace", key=workspace_id))
        part.removed.update(erased)
        if erased:
            return False
        for thread_id in workspace_threads(tx, workspace_id):
            if part.removed["turns"] >= TURNS_AT_ONCE:
                return False
            self._remove_thread(tx, thread_id, part)
        for call in self._neighbours.on_workspace_deleted:
            part.removed.update(call(tx, workspace_id))
        part.removed["instruction_versions"] += remove_instructions(tx, workspace_id)
        part.removed["workspaces"] += remove_workspace(tx, workspace_id)
        self._forgettings.promise(tx)
        return True

    def _remove_thread(self, tx: Tx, thread_id: str, gone: _Gone) -> None:
        gone.cancelled += self._forgettings.forget_thread(tx, thread_id)
        while erased := self._forgettings.erase_part(tx, Scope(kind="thread", key=thread_id)):
            gone.removed.update(erased)
        for call in self._neighbours.on_thread_deleted:
            gone.removed.update(call(tx, thread_id))
        gone.removed.update(count_in_thread(tx, thread_id))
        gone.removed["jobs"] += sum(
            self._jobs.cancel(tx, kind=kind, thread_id=thread_id) for kind in ("index", "hook_run")
        )
        gone.removed["threads"] += remove_thread(tx, thread_id)
