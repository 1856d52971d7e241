"""Threads and turns that the store did not take, because its disk is full or its home may only be read.

Rule 1: nothing of such a turn is stored, then or later. The turn says so (`not_stored`), and its policy denies what
would be written.
Rule 2: such a thread lives as long as the process. It is stored with its first turn that can be.
Rule 3: any other failure of the store is an error.
"""

from collections.abc import Mapping

from agent.rows.threads import (
    StoredThread,
    add_thread,
    add_workspace,
    get_thread,
    open_thread,
    workspace_exists,
)
from protocol.conversation.threads import Thread
from protocol.conversation.turns import Turn
from protocol.conversation.values import NotStored
from protocol.errors import CallerError, GatewayError
from protocol.seams.ports import Tx

MOST = 256
"""Threads, and ended turns, that a process knows of without the store; the oldest is forgotten first."""

REFUSALS: Mapping[str, NotStored] = {"storage_full": "storage_full", "storage_read_only": "storage_read_only"}


def refusal_of(failure: GatewayError) -> NotStored | None:
    """Return why the store takes nothing at all; None for a failure of another kind."""
    return REFUSALS.get(failure.reason)


class Unstored:
    """Threads and turns that this process knows and the store does not."""

    def __init__(self, *, is_read_only: bool = False) -> None:
        self.is_read_only = is_read_only
        """The home takes nothing as long as the process lives."""
        self.workspaces: set[str] = set()
        """Ids of workspaces that are made with their first thread that is stored."""
        self._threads: dict[str, StoredThread] = {}
        self._turns: dict[str, tuple[bytes, Turn]] = {}

    # -- threads ---------------------------------------------------------------------------------------------------

    def has_workspace(self, tx: Tx, workspace_id: str) -> bool:
        """Return whether threads may begin in a workspace."""
        return workspace_exists(tx, workspace_id) or workspace_id in self.workspaces

    def find_thread(self, tx: Tx, thread_id: str) -> StoredThread | None:
        """Return a thread by id, stored or not."""
        return get_thread(tx, thread_id) or self._threads.get(thread_id)

    def open_thread(self, tx: Tx, thread_id: str) -> StoredThread | None:
        """Return a thread in which something may begin, stored or not."""
        return open_thread(tx, thread_id) or self._threads.get(thread_id)

    def keep_thread(self, found: StoredThread) -> Thread:
        """Keep a thread until the process ends, or until it is stored; return it."""
        self._threads[found.thread.thread_id] = found
        if len(self._threads) > MOST:
            del self._threads[next(iter(self._threads))]
        return found.thread

    def store_thread(self, tx: Tx, thread_id: str) -> None:
        """Store a thread that waits for it. Raises `CallerError` where its workspace is gone."""
        waiting = self._threads.get(thread_id)
        if waiting is None or get_thread(tx, thread_id) is not None:
            return
        thread = waiting.thread
        if thread.parent_thread_id is not None:
            self.store_thread(tx, thread.parent_thread_id)
        if thread.workspace_id in self.workspaces:
            add_workspace(tx, thread.workspace_id, thread.created_at)
        if not workspace_exists(tx, thread.workspace_id):
            raise CallerError.missing("workspace")
        add_thread(tx, waiting)
        tx.after_commit(lambda: self._forget_thread(thread_id))

    def _forget_thread(self, thread_id: str) -> None:
        self._threads.pop(thread_id, None)

    # -- turns -----------------------------------------------------------------------------------------------------

    def keep_turn(self, digest: bytes, turn: Turn) -> None:
        """Keep a turn with the digest of its input."""
        self._turns[turn.turn_id] = digest, turn
        if len(self._turns) > MOST:
            ended = (turn_id for turn_id, (_, known) in self._turns.items() if known.completed_at is not None)
            del self._turns[next(ended, turn.turn_id)]

    def end_turn(self, turn: Turn) -> None:
        """Replace a kept turn by the turn as it ended; a stored one is not kept here."""
        if turn.turn_id in self._turns:
            self._turns[turn.turn_id] = self._turns[turn.turn_id][0], turn

    def find_turn(self, turn_id: str) -> tuple[bytes, Turn] | None:
        """Return the digest of a turn's input, and the turn; None where it is not kept here."""
        return self._turns.get(turn_id)

    def is_running_in(self, thread_id: str) -> bool:
        """Return whether a turn that is not stored runs in a thread."""
        return any(turn.thread_id == thread_id and turn.completed_at is None for _, turn in self._turns.values())
