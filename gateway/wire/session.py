"""One client's session: handshake, ordering, capacity, batches, cancellation, the end.

Rule 1: which message is allowed when is the table `REFUSALS`; nothing here knows what a method does.
Rule 2: a request is answered exactly once, whatever happens to it.
"""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import Any, Literal, NamedTuple, Protocol, TypeAlias, TypeVar, cast

import anyio
from anyio.abc import TaskGroup

from gateway.base.hub import CURRENT, Announcement, Deferred, Hub
from gateway.wire.client_session import SessionClient
from gateway.wire.framing import TOO_LONG, Frame, LineReceiver
from gateway.wire.outbox import Outbox, Sink
from gateway.wire.rpc import (
    BadMessage,
    Dispatcher,
    Ignored,
    Message,
    Reply,
    RpcRequest,
    decode,
    error_reply,
    is_request_id,
    message_of,
)
from protocol.envelope import RequestId
from protocol.errors import ErrorReason, GatewayError
from protocol.gateway import MAX_BATCH
from protocol.seams.callers import enter

T = TypeVar("T")

GRACE_SECONDS = 2.0
"""Requests in flight at the end of input get this long."""

State: TypeAlias = Literal["new", "initialized", "shut_down"]

REFUSALS: dict[State, Callable[[str], ErrorReason | None]] = {
    "new": lambda method: None if method in {"initialize", "ping"} else "not_initialized",
    "initialized": lambda method: "already_initialized" if method == "initialize" else None,
    "shut_down": lambda _method: "shutting_down",
}
"""The reason for which a state refuses a method, or None."""

REACHED: dict[str, State] = {"initialize": "initialized", "shutdown": "shut_down"}
"""The state that a method leads to when it succeeds."""

Turnstile: TypeAlias = "asyncio.Future[None] | None"
"""Done when a request of a thread was answered; the next one of that thread waits for it."""


class Input(Protocol):
    """The source of a client's bytes."""

    async def receive(self) -> bytes:
        """Return the next bytes; empty bytes at the end, for whatever reason it ends."""
        ...

    def end(self) -> None:
        """Have a `receive` that waits return, and take nothing more."""
        ...


class Output(Sink, Protocol):
    """The destination of a client's lines, with the state of its room."""

    async def wait_writable(self) -> None:
        """Return when there is room."""
        ...

    async def flush(self) -> None:
        """Return when everything was written."""
        ...


class Transport(NamedTuple):
    """One client's connection."""

    source: Input
    sink: Output


class Session:
    """Reads one client's messages, has them answered, and ends in order."""

    def __init__(
        self,
        *,
        transport: Transport,
        hub: Hub,
        dispatcher: Dispatcher,
        max_message_bytes: int,
        max_in_flight: int,
        thread_of_turn: Callable[[str], str | None],
        news: Sequence[Announcement] = (),
    ) -> None:
        self.client = SessionClient()
        self._source, self._sink = transport
        self._hub = hub
        self._outbox = Outbox(self._sink, self.client.sees, news)
        self._number = hub.subscribe(self._outbox)
        self._dispatcher = dispatcher
        self._receiver = LineReceiver(max_message_bytes)
        self._room = anyio.Semaphore(max_in_flight)
        self._thread_of_turn = thread_of_turn
        self._state: State = "new"
        self._tails: dict[str, asyncio.Future[None]] = {}
        """The turnstile of the last request of each thread, or turn without one."""
        self._coming: dict[str, tuple[str, asyncio.Future[None]]] = {}
        """The thread of each turn whose start is still being answered, with that request's turnstile."""
        self._scopes: dict[RequestId, anyio.CancelScope] = {}
        self._in_flight = 0
        self._settled = anyio.Event()
        self._waiting = anyio.CancelScope()
        self._is_over = False
        self.exit_code = 0

    async def run(self) -> int:
        """Serve until the end of input, `exit`, or cancellation; return the exit code."""
        async with anyio.create_task_group() as tasks:
            while not self._is_over:
                chunk = await self._source.receive()
                frames = self._receiver.feed(chunk) if chunk else self._receiver.close()
                for frame in frames:
                    if self._is_over:
                        break
                    await self._accept(frame, tasks)
                    if not self._sink.is_within_budget:
                        await self._until_stopped(self._sink.wait_writable)
                if not chunk:
                    break
            with anyio.move_on_after(GRACE_SECONDS, shield=True):
                await self._wait_for_requests()
            tasks.cancel_scope.cancel()
        return self.exit_code

    def stop(self) -> None:
        """Accept no further message; requests in flight get their grace."""
        self._is_over = True
        self._source.end()
        self._waiting.cancel()

    def threads(self) -> list[str]:
        """Return the ids of the threads that only this client of those present works in."""
        return self._hub.threads_of_one(self._number)

    def close(self) -> None:
        """Unsubscribe from notifications: from now on only answers are sent."""
        self._hub.unsubscribe(self._number)

    async def _until_stopped(self, wait: Callable[[], Awaitable[T]]) -> T | None:
        """Return the result of the wait; None when `stop` ended it. The reading side waits so for all but input."""
        if self._is_over:
            return None
        with anyio.CancelScope() as self._waiting:
            return await wait()
        return None

    async def _wait_for_requests(self) -> None:
        while self._in_flight:
            self._settled = anyio.Event()
            await self._settled.wait()

    async def _accept(self, frame: Frame, tasks: TaskGroup) -> None:
        if frame == TOO_LONG:
            self._sink.send(error_reply(None, "message_too_large"))
            return
        try:
            value = decode(frame)
        except GatewayError as error:
            self._sink.send(error_reply(None, error.reason))
            return
        if isinstance(value, list):
            await self._accept_batch(cast("list[object]", value), tasks)
        else:
            await self._accept_one(message_of(value), tasks, self._reply_alone)

    async def _accept_batch(self, values: list[object], tasks: TaskGroup) -> None:
        if not values or len(values) > MAX_BATCH:
            self._sink.send(error_reply(None, "invalid_request"))
            return
        messages = [message_of(value) for value in values]
        batch = _Batch(sum(1 for message in messages if _wants_reply(message)), self._sink.send)
        for message in messages:
            await self._accept_one(message, tasks, batch.add)

    def _reply_alone(self, reply: bytes, deferred: Deferred) -> None:
        self._sink.send(reply)
        deferred.release()

    async def _accept_one(self, message: Message, tasks: TaskGroup, answer: Callable[[bytes, Deferred], None]) -> None:
        if isinstance(message, Ignored):
            return
        if isinstance(message, BadMessage):
            answer(error_reply(message.request_id, message.reason), Deferred())
            return
        if message.request_id is None:
            self._take_notification(message)
            return
        refusal = REFUSALS[self._state](message.method)
        if refusal is not None:
            answer(error_reply(message.request_id, refusal), Deferred())
            return
        if self._is_over or not (self._take_free_room() or await self._until_stopped(self._wait_for_room)):
            answer(error_reply(message.request_id, "cancelled"), Deferred())
            return
        self._in_flight += 1
        turnstiles = self._queue_up(message)
        scope = anyio.CancelScope()
        self._scopes.setdefault(message.request_id, scope)  # from now on it can be cancelled, begun or not
        if message.method not in REACHED:
            tasks.start_soon(self._process, message, scope, turnstiles, answer)
            return
        answered = anyio.Event()

        def send(reply: bytes, deferred: Deferred) -> None:
            answer(reply, deferred)
            answered.set()

        tasks.start_soon(self._process, message, scope, turnstiles, send)
        await self._until_stopped(answered.wait)  # the next message is judged by the state that this one leads to

    def _take_free_room(self) -> bool:
        """Take room and return True where some is free: a wait would cost more."""
        try:
            self._room.acquire_nowait()
        except anyio.WouldBlock:
            return False
        return True

    async def _wait_for_room(self) -> bool:
        await self._room.acquire()
        return True

    def _take_notification(self, message: RpcRequest) -> None:
        if message.method == "exit":
            self.exit_code = 0 if self._state == "shut_down" else 1
            self._is_over = True
        elif message.method == "$/cancelRequest" and isinstance(message.params, dict):
            request_id: object = cast("dict[str, Any]", message.params).get("id")
            scope = self._scopes.get(request_id) if is_request_id(request_id) else None
            if scope is not None:
                scope.cancel()

    def _queue_up(self, request: RpcRequest) -> tuple[Turnstile, Turnstile]:
        """Return the turnstile to wait for and the one to open; None for a request that keeps no order."""
        method = self._dispatcher.table.get(request.method)
        ordering = method.ordering if method is not None else "free"
        turn_id = _text_member(request.params, "turn_id")
        scope = _text_member(request.params, "thread_id") if ordering == "thread" else None
        if ordering == "turn" and turn_id is not None:
            scope = self._thread_of(turn_id)
        if scope is None:
            return None, None
        if ordering == "thread":
            self._hub.use(self._number, scope)
        before, mine = self._tails.get(scope), asyncio.get_running_loop().create_future()
        self._tails[scope] = mine
        if ordering == "thread" and turn_id is not None and self._coming.get(turn_id, (scope,))[0] == scope:
            self._coming[turn_id] = scope, mine
        mine.add_done_callback(lambda done: self._forget(scope, turn_id, done))
        return before, mine

    def _thread_of(self, turn_id: str) -> str:
        """Return the thread of a turn that runs or is about to begin; else a name for the turn alone."""
        coming = self._coming.get(turn_id)
        return self._thread_of_turn(turn_id) or (coming[0] if coming is not None else f"turn:{turn_id}")

    def _forget(self, scope: str, turn_id: str | None, done: asyncio.Future[None]) -> None:
        if self._tails.get(scope) is done:
            del self._tails[scope]
        if turn_id is not None and self._coming.get(turn_id) == (scope, done):
            del self._coming[turn_id]

    async def _process(
        self,
        request: RpcRequest,
        scope: anyio.CancelScope,
        turnstiles: tuple[Turnstile, Turnstile],
        answer: Callable[[bytes, Deferred], None],
    ) -> None:
        request_id, deferred = request.request_id, Deferred(self._number)
        before, mine = turnstiles
        assert request_id is not None  # noqa: S101  # a notification does not come here
        reply: Reply | None = None
        try:
            with scope:
                if before is not None:
                    await asyncio.wait([before])
                CURRENT.set(deferred)
                enter("stdio", self.client.name)
                if not scope.cancel_called:
                    reply = await self._dispatcher.reply_to(request, self.client.fill)
        finally:
            if self._scopes.get(request_id) is scope:
                del self._scopes[request_id]
            if reply is None:
                reply = Reply(error_reply(request_id, "cancelled"), succeeded=False)
            if reply.succeeded and (reached := REACHED.get(request.method)) is not None:
                self._state = reached
            if request.method == "initialize" and reply.succeeded:
                deferred.add(self._outbox.open)
            answer(reply.line, deferred)
            _pass_on(before, mine)
            self._in_flight -= 1
            self._room.release()
            self._settled.set()


def _text_member(params: Any, name: str) -> str | None:
    """Return a member of named parameters where it is a text, else None."""
    value: Any = params.get(name) if isinstance(params, dict) else None  # pyright: ignore[reportUnknownMemberType,reportUnknownVariableType]
    return value if isinstance(value, str) else None


def _pass_on(before: Turnstile, mine: Turnstile) -> None:
    """Let the next request of the thread begin, but never before the one ahead of us is done."""
    if mine is None:
        return
    if before is None or before.done():
        mine.set_result(None)
    else:
        before.add_done_callback(lambda _: mine.set_result(None))


def _wants_reply(message: Message) -> bool:
    return isinstance(message, BadMessage) or (isinstance(message, RpcRequest) and message.request_id is not None)


class _Batch:
    """Collects the replies of a batch and sends them as one array."""

    def __init__(self, expected: int, send: Callable[[bytes], None]) -> None:
        self._expected = expected
        self._send = send
        self._replies: list[bytes] = []
        self._deferred: list[Deferred] = []

    def add(self, reply: bytes, deferred: Deferred) -> None:
        """Add a reply; the last one sends them all."""
        self._replies.append(reply)
        self._deferred.append(deferred)
        if len(self._replies) == self._expected:
            self._send(b"[" + b",".join(self._replies) + b"]")
            for waiting in self._deferred:
                waiting.release()
