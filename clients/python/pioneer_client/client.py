"""The client: calls, notifications, turns, and a new process after a crash.

Rule 1: the method table is the only source of types; this module knows the handshake and the methods of a turn.
Rule 2: what was sent and not answered fails with `GatewayDied`; only reads are asked again, once, by themselves.
Rule 3: a call that is made while there is no gateway waits for the next one.
"""

import asyncio
import contextlib
import logging
import os
import secrets
from collections import defaultdict
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple, Self, TypeAlias, TypeVar

import msgspec
from msgspec import Raw

from pioneer_client.connection import Connection, Take
from pioneer_client.errors import GatewayDied, GatewayError
from pioneer_client.http import Door, EventConnection
from pioneer_client.pipes import Pipes
from pioneer_client.protocol.base import PROTOCOL_VERSION
from pioneer_client.protocol.conversation.turns import TurnParams, TurnStartParams
from pioneer_client.protocol.gateway import ClientInfo, InitializeParams, InitializeResult, InterruptedTurn
from pioneer_client.protocol.methods import INITIALIZE, TURN_GET, TURN_START, Method
from pioneer_client.protocol.notifications import NOTIFICATIONS

P = TypeVar("P", bound=msgspec.Struct)
R = TypeVar("R")

FIRST_WAIT = 0.25
LONGEST_WAIT = 30.0
"""Seconds before a new process; each one doubles them, until one has lived for the longest wait."""

HANDSHAKE_SECONDS = 60.0

RESTARTED = "restarted"
DIED = "died"
"""Events of the client itself."""

GAP = "pioneer/gap"
TURN_ENDS = frozenset({"turn/completed", "turn/failed", "turn/cancelled"})

ME = ClientInfo(name="pioneer-gateway-client", version="0.1.0")

log = logging.getLogger("pioneer_client")

Open: TypeAlias = Callable[[Take], Awaitable[Connection]]
Listener: TypeAlias = Callable[[Any], object]


class Notice(NamedTuple):
    """A notification: its name and its parameters, a struct of `pioneer_client.protocol.notifications`."""

    method: str
    params: Any


class Restarted(NamedTuple):
    """The event `restarted`: the turns that the end of the process interrupted."""

    interrupted_turns: list[InterruptedTurn]


def make_waits() -> Iterator[float]:
    """Yield the seconds before each try of a row, without end."""
    wait = FIRST_WAIT
    while True:
        yield wait
        wait = min(wait * 2, LONGEST_WAIT)


class Client:
    """A gateway, and the conversation with it. Made by `start` or `connect`; ends with `close` or `async with`."""

    def __init__(self, open_connection: Open, hello: InitializeParams, *, restart: bool) -> None:
        self._open_connection = open_connection
        self._hello = hello
        self._restart = restart
        self._connection: Connection | None = None
        self._handshake: InitializeResult | None = None
        self._news = asyncio.Event()
        self._end: str | None = None
        self._listeners: defaultdict[str, list[Listener]] = defaultdict(list)
        self._watched: dict[str, asyncio.Queue[Notice | GatewayDied]] = {}
        """The notices of the turns that are read, by turn."""
        self._broken: set[str] = set()
        """Turns that were read when the gateway went."""
        self._supervisor: asyncio.Task[None] | None = None

    @classmethod
    async def start(
        cls,
        command: Sequence[str] = ("pioneer",),
        home: str | os.PathLike[str] | None = None,
        workspace: str | None = None,
        *,
        arguments: Sequence[str] = (),
        client: ClientInfo = ME,
        env: Mapping[str, str] | None = None,
        cwd: str | os.PathLike[str] | None = None,
        restart: bool = True,
    ) -> Self:
        """Spawn `command serve --home HOME` with more `arguments`, and shake hands.

        Args:
            command: The program and what stands before `serve`.
            home: The folder of the memory; None leaves it to the gateway.
            workspace: The workspace of all that names none; it is made where it does not exist.
            arguments: More options of `serve`.
            client: The name of this program, and its time zone.
            env: The environment of the process; None for that of this one.
            cwd: The folder of the process; None for that of this one.
            restart: True starts another process after one that ends.

        Raises:
            GatewayDied: The process does not start, or ends before it answers; the message has its last words.
            GatewayError: It refuses the handshake.
            TypeError: The command is one text: a list of words needs no rules of a shell.

        """
        if isinstance(command, str):
            raise TypeError('command is a list of words, as in ["pioneer"]')
        where = [] if home is None else ["--home", os.fspath(home)]
        line = [*command, "serve", *where, *arguments]
        hello = InitializeParams(protocol_version=PROTOCOL_VERSION, client=client, workspace_id=workspace)
        return await cls(lambda take: Pipes.spawn(line, take, env=env, cwd=cwd), hello, restart=restart).begin()

    @classmethod
    async def connect(
        cls, url: str, token: str, workspace: str | None = None, *, client: ClientInfo = ME, restart: bool = True
    ) -> Self:
        """Speak to `pioneer http` at a URL; `restart` opens a broken event stream again.

        Raises:
            GatewayDied: Nothing answers there, or no gateway.
            GatewayError: It refuses the token or the request.
            ValueError: The URL is not one of http or https.

        """
        door = Door(url, token, workspace_id=workspace, time_zone=client.time_zone)
        hello = InitializeParams(protocol_version=PROTOCOL_VERSION, client=client, workspace_id=workspace)
        return await cls(lambda take: EventConnection.open(door, take), hello, restart=restart).begin()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    @property
    def handshake(self) -> InitializeResult:
        """Return the gateway's newest answer to `initialize`: version, capabilities, limits."""
        if self._handshake is None:
            raise GatewayDied("no handshake was made")
        return self._handshake

    @property
    def pid(self) -> int | None:
        """Return the id of the spawned process; None over HTTP, and while there is none."""
        is_up = self._connection is not None and not self._connection.ended.done()
        return self._connection.pid if is_up and isinstance(self._connection, Pipes) else None

    async def call(self, method: Method[P, R], params: P, timeout: float | None = None) -> R:
        """Call a method of `pioneer_client.protocol.methods`; a cancelled call is cancelled at the gateway, too.

        Args:
            method: The method's row of the table.
            params: Its parameters.
            timeout: Seconds; None waits for as long as it takes, for a gateway that is being restarted, too.

        Raises:
            GatewayError: The gateway answered with an error.
            GatewayDied: The gateway went before it answered. Whether the method was done is not known.
            TimeoutError: The time is over; the call is cancelled.
            msgspec.ValidationError: A newer gateway answers in another shape.

        """
        async with asyncio.timeout(timeout):
            try:
                result = await self._ask(method.name, params)
            except GatewayDied:
                if not (method.is_safe_to_repeat and self._restart):
                    raise
                result = await self._ask(method.name, params)
        return msgspec.json.decode(result, type=method.result)

    def on(self, name: str, listener: Listener) -> Callable[[], None]:
        """Call a function with the parameters of each notification of a name; return what ends that.

        The parameters are the struct of that name in `NOTIFICATIONS`. Three events are the client's own: `died` with
        the reason, `restarted` with a `Restarted`, and over HTTP `pioneer/gap` with `{"missed": number or None}`.
        """
        self._listeners[name].append(listener)

        def stop() -> None:
            with contextlib.suppress(ValueError):  # stopped twice
                self._listeners[name].remove(listener)

        return stop

    async def turn(self, params: TurnStartParams) -> AsyncGenerator[Notice]:
        """Start a turn and yield its notifications, up to `turn/completed`, `turn/failed` or `turn/cancelled`.

        A turn that exists already yields nothing where it has ended. To stop reading does not stop the turn:
        `turn/cancel` does.

        Raises:
            GatewayError: The turn does not begin.
            GatewayDied: The gateway went, or over HTTP events were lost; `turn/get` knows how the turn ended.

        """
        turn_id = params.turn_id or f"trn_{secrets.token_hex(12)}"
        inbox: asyncio.Queue[Notice | GatewayDied] = asyncio.Queue()
        self._watched[turn_id] = inbox
        try:
            started = await self.call(TURN_START, msgspec.structs.replace(params, turn_id=turn_id))
            is_over = started.turn.status != "in_progress" and inbox.empty()
            while not is_over:
                notice = await inbox.get()
                if isinstance(notice, GatewayDied):
                    raise notice
                yield notice
                is_over = notice.method in TURN_ENDS
        finally:
            self._watched.pop(turn_id, None)

    async def close(self) -> None:
        """End the session; a spawned gateway ends with it, within ten seconds."""
        self._end = self._end or "the client is closed"
        if self._supervisor is not None:
            self._supervisor.cancel()
            await asyncio.wait([self._supervisor])
        if self._connection is not None:
            await self._connection.close()
        self._break_off(self._end)
        self._wake()

    async def begin(self) -> Self:
        """Open the first connection; `start` and `connect` have done so. Raises `GatewayDied`, `GatewayError`."""
        self._supervisor = asyncio.create_task(self._supervise(await self._open()))
        return self

    async def _open(self) -> Connection:
        """Open a connection, shake hands, and use it from now on. Raises `GatewayDied`, `GatewayError`."""
        connection: Connection | None = None
        try:
            async with asyncio.timeout(HANDSHAKE_SECONDS):
                connection = await self._open_connection(self._take)
                result = await connection.ask(INITIALIZE.name, self._hello)
            self._handshake = msgspec.json.decode(result, type=INITIALIZE.result)
        except BaseException as error:
            if connection is not None:
                await connection.kill()
            if isinstance(error, TimeoutError):
                raise GatewayDied("the gateway does not answer initialize") from error
            raise
        self._connection = connection
        self._wake()
        return connection

    async def _supervise(self, connection: Connection) -> None:
        """Follow each connection that ends by another one, until `close`."""
        clock = asyncio.get_running_loop().time
        waits = make_waits()
        while True:
            opened_at = clock()
            reason = await asyncio.shield(connection.ended)
            if not self._restart:
                self._end = reason
            self._lose(reason)
            if not self._restart:
                return
            if clock() - opened_at >= LONGEST_WAIT:
                waits = make_waits()
            connection = await self._open_again(waits)
            self._emit(RESTARTED, Restarted(await self._find_interrupted_turns(connection)))

    async def _open_again(self, waits: Iterator[float]) -> Connection:
        """Try until a gateway answers."""
        while True:
            await asyncio.sleep(next(waits))
            try:
                return await self._open()
            except (GatewayDied, GatewayError, msgspec.DecodeError) as error:
                self._emit(DIED, str(error))

    async def _find_interrupted_turns(self, connection: Connection) -> list[InterruptedTurn]:
        """Return the turns that the handshake names, and those that were read and are interrupted."""
        named = list(self.handshake.interrupted_turns)
        broken, self._broken = self._broken, set()
        for turn_id in broken - {turn.turn_id for turn in named}:
            with contextlib.suppress(GatewayDied, GatewayError):  # of a turn that was never stored nothing is known
                answer = await connection.ask(TURN_GET.name, TurnParams(turn_id=turn_id))
                turn = msgspec.json.decode(answer, type=TURN_GET.result).turn
                if turn.status == "interrupted":
                    named.append(InterruptedTurn(thread_id=turn.thread_id, turn_id=turn_id))
        return named

    async def _ask(self, method: str, params: msgspec.Struct) -> Raw:
        """Return a result as JSON; wait while there is no connection. Raises `GatewayDied`, `GatewayError`."""
        while self._connection is None or self._connection.ended.done():
            if self._end is not None:
                raise GatewayDied(self._end)
            await self._news.wait()
        return await self._connection.ask(method, params)

    def _wake(self) -> None:
        """Wake the calls that wait for a connection."""
        self._news.set()
        self._news = asyncio.Event()

    def _lose(self, reason: str) -> None:
        """Break off the turns that are read, and emit `died`."""
        self._broken |= self._watched.keys()
        self._break_off(reason)
        self._emit(DIED, reason)
        self._wake()

    def _break_off(self, reason: str) -> None:
        """Let every turn that is read end with `GatewayDied`."""
        for inbox in self._watched.values():
            inbox.put_nowait(GatewayDied(reason))

    def _take(self, method: str, params: Raw) -> None:
        """Give a notification to the turn that it belongs to, and to the listeners of its name."""
        known = NOTIFICATIONS.get(method)
        try:
            value = msgspec.json.decode(params, type=Any if known is None else known.params)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):  # of a newer gateway; a turn may wait for it
            log.warning("%s has a shape that this client does not know", method)
            self._break_off(f"{method} cannot be read")
            return
        if method == GAP:
            self._break_off("events were lost")
        inbox = self._watched.get(getattr(value, "turn_id", ""))
        if inbox is not None:
            inbox.put_nowait(Notice(method, value))
        self._emit(method, value)

    def _emit(self, name: str, value: object) -> None:
        for listener in tuple(self._listeners[name]):
            try:
                listener(value)
            except Exception:  # the program's own code: its defect must not end the reading
                log.exception("a listener of %s failed", name)
