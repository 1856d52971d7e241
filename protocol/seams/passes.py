"""The stages that a house offers to passes, and the undoing of their changes.

Rule 1: a stage works in the transaction that it is given; the run logs its changes in the same transaction.
Rule 2: a stage goes on at the place where it stopped, and finds done what it has done already.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol

from msgspec import Struct

from protocol.passes import UndoSkip
from protocol.seams.ports import Tx


class StageChange(Struct, frozen=True):
    """A thing that a stage changed: the members that differ, before and after. Ids, states and numbers, never text."""

    subject: str
    what: str
    before: Mapping[str, Any]
    after: Mapping[str, Any]


class StageSlice(Struct, frozen=True):
    """A part of a stage's work. `place` is where the next part begins; None at the end of the stage."""

    place: str | None = None
    seen: int = 0
    changes: Sequence[StageChange] = ()
    moved: int = 0
    """Rows of bookkeeping that changed beside `changes`; an undo leaves them."""
    counts: Mapping[str, int] = {}
    skipped: str | None = None
    """The reason why the stage had nothing to work with."""


class StageRun(Struct, frozen=True):
    """The run as a stage sees it: its time, where the stage goes on, how many rows a slice may change."""

    now: int
    place: str | None
    limit: int
    changes: int
    """The changes of the run so far, of all its stages."""
    workspace_id: str | None = None
    """The workspace that the run is confined to; None: the whole home."""


class PassStage(Protocol):
    """A stage of a pass."""

    @property
    def name(self) -> str:
        """Return the name under which a run shows the stage."""
        ...

    def work(self, tx: Tx, run: StageRun) -> StageSlice:
        """Do the next part of the work."""
        ...


UndoChange = Callable[[Tx, StageChange], UndoSkip | None]
"""(tx, change): take a change back where all still is as the run left it; else return why it was skipped."""
