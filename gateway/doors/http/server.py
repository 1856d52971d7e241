"""The one place that knows uvicorn and h11: connections, heads that cannot be read, and the server's end.

Rule 1: whatever a connection sends, it gets an answer in JSON or is closed; every wait for a peer has a time limit.
Rule 2: an open door wakes only for its connections: uvicorn's own loop, which polls ten times a second, is not used.
Rule 3: signals, logs and access logs are the gateway's own.
"""

import asyncio
import contextlib
import socket
import sys
from collections.abc import Awaitable, Callable, Generator, Sequence
from functools import partial
from typing import Any, cast

import h11

from gateway.doors.http.rules import BY_STATUS, MAX_HEAD_BYTES, MISDIRECTED, TOO_SLOW, UNREADABLE, Refusal
from gateway.doors.http.uvicorn_parts import STATUS_PHRASES, Config, H11Protocol, Server

BACKLOG = 128
MAX_CONNECTIONS = 512
"""Half of what a process may usually open: the home's files need room beside them."""
KEEP_ALIVE_SECONDS = 30
CLOSE_SECONDS = 1
"""The time to send the last bytes once every request was answered."""
SEND_BYTES = 128 * 1024
"""The size of a socket's send buffer: beyond it the door notices that a reader of events is slow."""
DOUBLE_HOST = "Found multiple Host: headers"
"""h11's words for it; it refuses such a head before the door's rules see it."""


class _HeaderKeeper(h11.Connection):
    """h11's parser, which keeps the headers of the newest request as they were written."""

    as_written: Sequence[tuple[bytes, bytes]] = ()

    def next_event(self) -> Any:
        """Return h11's next event. A request follows another one only after that was answered."""
        event = super().next_event()
        if isinstance(event, h11.Request):
            self.as_written = event.headers.raw_items()
        return event


class DoorConnection(H11Protocol):
    """A connection whose heads have to come in time, and whose unreadable heads are answered in JSON.

    The application finds `headers` with names in small letters, and `headers_as_written`.
    """

    _timer: asyncio.TimerHandle | None = None

    def __init__(self, *given: Any, head_seconds: Callable[[], float], **named: Any) -> None:
        super().__init__(*given, **named)
        self._head_seconds = head_seconds
        self.conn = parser = _HeaderKeeper(h11.SERVER, MAX_HEAD_BYTES)
        app = self.app

        async def answer(scope: dict[str, Any], receive: Any, send: Any) -> None:
            scope["headers_as_written"] = parser.as_written
            await app(scope, receive, send)

        self.app = cast("Any", answer)

    def connection_made(self, transport: asyncio.Transport) -> None:
        """Begin to wait for the first head."""
        super().connection_made(transport)
        if len(self.connections) > MAX_CONNECTIONS:
            transport.abort()
        else:
            self._wait_for_head()

    def connection_lost(self, exc: Exception | None) -> None:
        """Stop waiting for a head."""
        self._stop_waiting()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Parse the bytes; once they hold a whole head, the time limits of the request count instead."""
        super().data_received(data)
        if self.cycle is not None and not self.cycle.response_complete:  # pyright: ignore[reportUnnecessaryComparison]
            self._stop_waiting()

    def on_response_complete(self) -> None:
        """Begin to wait for the next head."""
        self._wait_for_head()
        super().on_response_complete()
        if not self.cycle.response_complete:  # the next request was here already
            self._stop_waiting()

    def _wait_for_head(self) -> None:
        self._stop_waiting()
        self._timer = self.loop.call_later(self._head_seconds(), self._end_waiting)

    def _stop_waiting(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _end_waiting(self) -> None:
        if not self.transport.is_closing():
            self._refuse(TOO_SLOW)

    def send_400_response(self, msg: str) -> None:  # noqa: ARG002  # uvicorn's words are not for our clients
        """Answer a head that h11 refuses, by the code that h11 hints at. uvicorn calls this in its error's `except`."""
        error = sys.exception()
        if str(error) == DOUBLE_HOST:
            self._refuse(MISDIRECTED)
        else:
            self._refuse(BY_STATUS.get(getattr(error, "error_status_hint", 400), UNREADABLE))

    def _refuse(self, refusal: Refusal) -> None:
        """Send the refusal, unless an answer has begun, and close the connection."""
        if self.cycle is not None:  # pyright: ignore[reportUnnecessaryComparison]
            self.cycle.disconnected = True
            self.cycle.message_event.set()
        if self.conn.our_state in {h11.IDLE, h11.SEND_RESPONSE}:
            body = refusal.body()
            headers = [(b"content-type", b"application/json"), (b"content-length", str(len(body)).encode())]
            head = h11.Response(
                status_code=refusal.status,
                headers=[*headers, (b"cache-control", b"no-store"), (b"connection", b"close")],
                reason=STATUS_PHRASES[refusal.status],
            )
            for event in (head, h11.Data(data=body), h11.EndOfMessage()):
                self.transport.write(self.conn.send(event) or b"")
        self.transport.close()


class DoorServer(Server):
    """uvicorn's server, which waits for the end instead of looking for it."""

    def __init__(
        self,
        app: Any,
        listener: socket.socket,
        end: Callable[[], Awaitable[None]],
        head_seconds: Callable[[], float],
    ) -> None:
        super().__init__(
            Config(
                app,
                http=cast("Any", partial(DoorConnection, head_seconds=head_seconds)),
                ws="none",
                loop="none",
                lifespan="off",
                log_config=None,
                log_level="critical",
                access_log=False,
                proxy_headers=False,
                server_header=False,
                date_header=False,
                reset_contextvars=True,
                backlog=BACKLOG,
                timeout_keep_alive=KEEP_ALIVE_SECONDS,
                timeout_graceful_shutdown=CLOSE_SECONDS,
                h11_max_incomplete_event_size=MAX_HEAD_BYTES,
            )
        )
        self._listener = listener
        self._end = end
        self._stopping = asyncio.Event()
        self.listening = asyncio.Event()

    async def run_door(self) -> None:
        """Answer requests until `stop`; then accept no more, end what is open, and return."""
        await self.serve(sockets=[self._listener])

    def stop(self) -> None:
        """Make `run_door` end."""
        self._stopping.set()

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Start uvicorn's server on the listening socket."""
        await super().startup(sockets)
        self.listening.set()

    async def main_loop(self) -> None:
        """Wait for `stop` without polling, then end what is open."""
        await self._stopping.wait()
        for server in self.servers:
            server.close()
        await self._end()

    @contextlib.contextmanager
    def capture_signals(self) -> Generator[None]:
        """Leave the process's signals alone."""
        yield


def listen(bind: str, port: int) -> socket.socket:
    """Return a socket that listens on an address; port 0 takes a free one. Raises `OSError`."""
    family = socket.AF_INET6 if ":" in bind else socket.AF_INET
    # Named as TCP, or asyncio leaves Nagle's algorithm on: a body would wait 40 ms for its head to be acknowledged.
    listener = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    try:
        if sys.platform == "win32":
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_EXCLUSIVEADDRUSE, 1)
        else:
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        if family == socket.AF_INET6:
            listener.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, SEND_BYTES)  # connections inherit it
        listener.bind((bind, port))
        listener.listen(BACKLOG)  # at once: of two that bind the same port only one may listen
    except OSError:
        listener.close()
        raise
    listener.setblocking(False)
    return listener
