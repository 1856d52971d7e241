"""Messages between the houses about a forgetting, so that no work under way brings forgotten words back.

Rule 1: the home has one generation of forgetting, which every forgetting raises; work is as old as the one in which it
began.
Rule 2: a writer asks in the transaction of its write, so that no forgetting comes between.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Protocol, TypeAlias

from msgspec import Struct

from protocol.base import Cancelled, Scope
from protocol.saying import Saying
from protocol.seams.ports import Tx


class OpenRun(Struct, frozen=True):
    """A run of a hook that has not ended."""

    run_id: str
    thread_id: str
    turn_id: str


OpenRuns: TypeAlias = Callable[[Tx, str], Sequence[OpenRun]]
"""(tx, hook id): the runs of the hook that have not ended."""

EndRuns: TypeAlias = Callable[[Tx, Sequence[str], str], object]
"""(tx, run ids, code): these runs end now as skipped, for the reason of the code, also while one is at work."""

GenerationOfTurn: TypeAlias = Callable[[Tx, str], int | None]
"""(tx, turn id): the home's generation of forgetting when the turn began; None for a turn that is not there."""

FindErased: TypeAlias = Callable[[Tx, Sequence[str], int], Saying]
"""(tx, texts, generation): the phrases of the texts that were erased with their sources after it."""


class Forgettings(Protocol):
    """The part of durable memory in deletions and imports of conversation."""

    def generation(self, tx: Tx) -> int:
        """Return a number that every forgetting raises."""
        ...

    def is_forgotten(self, tx: Tx, workspace_id: str, thread_id: str, since: int) -> bool:
        """Return whether a thread was forgotten or deleted after that generation, or its workspace deleted."""
        ...

    def find_erased(self, tx: Tx, texts: Sequence[str], since: int) -> Saying:
        """Return the phrases of some texts that were erased with their sources after a generation."""
        ...

    def forget_thread(self, tx: Tx, thread_id: str) -> list[Cancelled]:
        """Forbid learning from all messages of a thread up to now; return the learning that was cancelled."""
        ...

    def forget_workspace(self, tx: Tx, workspace_id: str) -> None:
        """Forbid writes into a workspace and its scope that began before now."""
        ...

    def erase_part(self, tx: Tx, scope: Scope) -> Mapping[str, int]:
        """Erase some of a scope's memory, and queue it for the files; return the counts, empty once all is gone."""
        ...

    def promise(self, tx: Tx) -> None:
        """Note, in the transaction that deletes, that the files have to forget as well."""
        ...

    async def keep_promise(self) -> bool:
        """Erase deleted words from the files; False where that is left to a job."""
        ...
