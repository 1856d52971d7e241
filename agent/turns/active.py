"""A turn while it runs: its items so far, and its notifications with their numbers.

Rule 1: `seq` counts every notification of a turn from 1 without a gap: one that could not be sent is not counted, and
its item is not kept.
"""

from collections.abc import Awaitable, Callable
from typing import Any, TypeVar

import anyio
import msgspec

from agent.states import TurnEvent
from agent.turns.replayed_answers import Hosted
from protocol.conversation.items import Item, ToolUse
from protocol.conversation.turns import Turn, TurnError, TurnUpstream, Usage
from protocol.conversation.values import ItemKind, ItemStatus, Role, TurnStatus
from protocol.hooks import TurnContext
from protocol.notifications import DeltaNotice, ItemNotice, ResetNotice, TurnFailedNotice, TurnNotice
from protocol.seams.ports import Clock, Ids, Notify

T = TypeVar("T")

TERMINAL: dict[TurnStatus, str] = {
    "completed": "turn/completed",
    "failed": "turn/failed",
    "cancelled": "turn/cancelled",
    "interrupted": "turn/cancelled",
}
"""The one notification that ends a turn. To the client that stops the process, an interruption is a cancellation."""


class ActiveTurn:
    """A running turn."""

    def __init__(
        self, *, turn: Turn, context: TurnContext, user_item: Item, ids: Ids, clock: Clock, notify: Notify
    ) -> None:
        self.turn = turn
        self.user_item = user_item
        self.context = context
        self.text = user_item.text
        self.items: list[Item] = []
        self.seq = 0
        self.scope = anyio.CancelScope()
        self.hosted: Hosted | None = None
        """The answer to its host, once it may call its model; None for a turn whose model the gateway calls."""
        self.is_ending = False
        self.ended = anyio.Event()
        self.end_as: TurnEvent = "interrupt"
        self.usage: Usage | None = None
        self.upstream: TurnUpstream | None = None
        self.rounds = 0
        self.partial: Item | None = None
        self._working: set[anyio.CancelScope] = set()
        self._said: list[str] = []  # joined once: a long answer has many pieces
        self._ids = ids
        self._clock = clock
        self._notify = notify

    # -- the tool calls of its host --------------------------------------------------------------------------------

    async def while_it_runs(self, work: Callable[[], Awaitable[T]]) -> T | None:
        """Return the result of the work; None where the turn ended first, which cancels the work."""
        given: T | None = None
        with anyio.CancelScope() as scope:
            self._working.add(scope)
            try:
                given = await work()
            finally:
                self._working.discard(scope)
        return given

    def stop_working(self) -> None:
        """Cancel the work that runs for its host: the turn ends."""
        for scope in self._working:
            scope.cancel()

    # -- items -----------------------------------------------------------------------------------------------------

    def new_item(
        self,
        kind: ItemKind,
        role: Role,
        text: str = "",
        *,
        status: ItemStatus = "completed",
        tool: ToolUse | None = None,
    ) -> Item:
        """Make an item of this turn and return it."""
        return Item(
            item_id=self._ids.new("itm"),
            turn_id=self.turn.turn_id,
            thread_id=self.turn.thread_id,
            kind=kind,
            role=role,
            status=status,
            text=text,
            at=self._clock.now(),
            name=None,
            artifacts=[],
            tool=tool,
        )

    def begin(self, item: Item) -> None:
        """Notify that an item begins."""
        started = msgspec.structs.replace(item, status="in_progress")
        self._send_item("item/started", started)

    def complete(self, item: Item) -> None:
        """Notify that an item is complete, and keep it for the end of the turn."""
        self._send_item("item/completed", item)
        self.items.append(item)

    # -- notifications ---------------------------------------------------------------------------------------------

    def _build_place(self) -> dict[str, Any]:
        return {"thread_id": self.turn.thread_id, "turn_id": self.turn.turn_id, "seq": self.seq + 1}

    def _send(self, method: str, notice: msgspec.Struct) -> None:
        self._notify(method, notice)
        self.seq += 1

    def _send_item(self, method: str, item: Item) -> None:
        self._send(method, ItemNotice(**self._build_place(), item_id=item.item_id, item=item))

    def notify_started(self) -> None:
        """Notify that the turn began, and of its first item: the user's message."""
        self._send("turn/started", TurnNotice(**self._build_place(), turn=self.turn))
        self.begin(self.user_item)
        self._send_item("item/completed", self.user_item)

    def terminal(self, turn: Turn) -> Callable[[], None]:
        """Number the notification that ends the turn, and return the function that sends it."""
        method = TERMINAL[turn.status]
        if method == "turn/failed":
            error = turn.error or TurnError.of("internal", retryable=False)
            notice: msgspec.Struct = TurnFailedNotice(**self._build_place(), turn=turn, error=error)
        else:
            notice = TurnNotice(**self._build_place(), turn=turn)
        self.seq += 1
        return lambda: self._notify(method, notice)

    # -- the stream of an answer (satisfies `Deltas`) ---------------------------------------------------------------

    def delta(self, text: str) -> None:
        """Notify of the next piece of the answer; the first one begins an item."""
        if self.partial is None:
            self.partial = self.new_item("agent_message", "assistant", status="in_progress")
            self.begin(self.partial)
        notice = DeltaNotice(**self._build_place(), item_id=self.partial.item_id, delta=text)
        self._send("item/agent_message/delta", notice)
        self._said.append(text)

    def reset(self) -> None:
        """Notify that the pieces so far are void: the stream broke, and the next try begins anew."""
        if self.partial is not None and self._said:
            self._said.clear()
            self._send("item/agent_message/reset", ResetNotice(**self._build_place(), item_id=self.partial.item_id))

    def complete_answer(self, text: str) -> None:
        """Complete the item of a round's answer; a round without text and pieces has none."""
        if not text and self.partial is None:
            return
        item = self.partial or self.new_item("agent_message", "assistant", status="in_progress")
        if self.partial is None:
            self.begin(item)
        self.partial = None
        self._said.clear()
        self.complete(msgspec.structs.replace(item, text=text, status="completed"))

    def abandon(self, status: ItemStatus) -> None:
        """Complete the open message with the text that arrived before the end, marked with `status`."""
        if self.partial is not None:
            item, self.partial = self.partial, None
            text = "".join(self._said)
            self._said.clear()
            self.complete(msgspec.structs.replace(item, text=text, status=status))
