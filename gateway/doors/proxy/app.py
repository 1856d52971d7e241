"""The chat proxy's application: every request is judged, prepared by memory, passed on, and its answer is kept.

Rule 1: a request is judged in this order: host, web page, head, token, upgrade, length, hop, upstream, path.
Rule 2: an upstream's error is passed on; the proxy's own have the form of the dialect.
Rule 3: the log has the route's name, codes, sizes and times: no token, no path, no header, no text.
"""

import asyncio
import time
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from typing import Any, NamedTuple

import anyio

from gateway import __version__
from gateway.base.addresses import key_in
from gateway.base.logs import Log
from gateway.doors.http.exchange import Answer, Exchange, Gone, answer_of, has_body, headers_of
from gateway.doors.http.rules import (
    NO_ROUTE,
    DoorAccess,
    Failures,
    Headers,
    refuse_head,
    refuse_host,
    refuse_page,
)
from gateway.doors.proxy.capturing import Capture, Capturing, RecalledRequest, Status
from gateway.doors.proxy.route import (
    APIS,
    INTERNAL,
    Header,
    ProxyAddress,
    Upstream,
    error_body,
    find_upstream,
    has_hop,
    is_oauth,
    is_right_token,
    read_address,
    request_headers,
    response_headers,
    with_length,
)
from gateway.doors.proxy.tee import Tee
from gateway.doors.proxy.upstream import Body, Broken, TimedOut, Unreachable, UpstreamAnswer, Upstreams
from gateway.home.tokens import Token
from protocol.base import encode
from protocol.http import HealthResult
from protocol.settings import Dialect, ProxySettings

MAX_READ_BYTES = 64 * 1024 * 1024
"""The most bytes of a body that memory reads; a longer one is passed on without memory."""
FIRST_FAILED_STATUS = 300
"""The lowest HTTP code of an answer that has failed."""
SERVICE = "pioneer"

log = Log("proxy")


class OwnError(NamedTuple):
    """An error answer of the proxy itself."""

    status: int
    code: str
    message: str


UNAUTHORIZED = OwnError(401, "unauthorized", "The address has no token of this proxy: `pioneer proxy url` prints it.")
LOOP = OwnError(508, "loop", "The request came back to this proxy: its upstream leads here.")
TOO_LARGE = OwnError(431, "too_large", "The head of the request is too long.")
DOUBLE_LENGTH = OwnError(400, "invalid_request", "A request has one length.")
STALLED = OwnError(408, "too_slow", "The body of the request stopped before its end.")
UPGRADE = OwnError(426, "not_supported", "This proxy speaks HTTP only.")
UNREACHABLE = OwnError(502, "upstream_unreachable", "The upstream cannot be reached.")
TIMEOUT = OwnError(504, "upstream_timeout", "The upstream did not answer in time.")
DEFECT = OwnError(500, "internal", "A defect of the proxy; its log names the place.")
NOT_FOUND = OwnError(404, "not_found", "There is no such path or upstream.")


class Stalled(Exception):
    """The client paused too long in the middle of its request."""


class ProxyMeans(NamedTuple):
    """The collaborators and settings of the application."""

    settings: Callable[[], ProxySettings]
    refresh: Callable[[], object]
    """Reads changed settings; called once for a request."""
    token: Token
    internal: Token
    """The token by which the home's own gateway says that a request is its own; memory leaves such a request alone."""
    capturing: Capturing
    home_id: Callable[[], str]
    """Returns the name by which a request that comes back is known: the home's id, until then the process's own."""
    is_dark: Callable[[], bool]
    changed: Callable[[], None]
    """Called after an answer was kept, or could not be."""


class _JudgedRequest(NamedTuple):
    """A judged request."""

    verb: str
    query: bytes
    raw: Sequence[Header]
    headers: Headers
    address: ProxyAddress
    upstream: Upstream


class _Keeping:
    """The keeping of the answer to a captured request, which happens once."""

    def __init__(self, capture: Capture, tee: Tee, keep: Callable[[Capture, Tee, Status], asyncio.Event]) -> None:
        self._capture, self.tee, self._keep = capture, tee, keep
        self._written: asyncio.Event | None = None

    def begin(self, status: Status) -> asyncio.Event:
        """Begin to keep the answer, which ended with `status`, unless that has begun.

        Returns the event that is set once the answer outlives this process.
        """
        if self._written is None:
            self._written = self._keep(self._capture, self.tee, status)
        return self._written


class ProxyDoor:
    """The ASGI application, which the server calls for each request."""

    def __init__(self, means: ProxyMeans, port: int, bind: str) -> None:
        self._means = means
        self._upstreams = Upstreams()
        self._failures = Failures()
        self._access = DoorAccess(port, bind)
        self._open: set[anyio.CancelScope] = set()
        self._settled = anyio.Event()
        self._keeping: set[asyncio.Task[None]] = set()

    async def __call__(self, scope: Mapping[str, Any], receive: Any, send: Any) -> None:
        """Answer one request."""
        began = time.monotonic()
        self._means.refresh()
        headers = headers_of(scope)
        exchange = Exchange(receive, send, has_body=has_body(headers))
        name = "-"
        with anyio.CancelScope() as life:
            self._open.add(life)
            try:
                name = await self._answer(scope, headers, exchange, receive, send)
            except Broken:
                name = "broken"
                raise
            except (Gone, ConnectionError):
                pass
            except Exception as error:
                log.incident(error)
                if exchange.status:
                    raise
                await _send(exchange, "openai", DEFECT)
            finally:
                self._open.discard(life)
                self._settled.set()
                ms = round((time.monotonic() - began) * 1000)
                log.info("request", route=name, status=exchange.status, ms=ms, **exchange.sizes)

    async def _answer(
        self, scope: Mapping[str, Any], headers: Headers, exchange: Exchange, receive: Any, send: Any
    ) -> str:
        """Judge a request and pass it on; return its route's name."""
        raw_path = scope["raw_path"].decode("latin-1")
        access = self._access.by(self._means.settings().allowed_hosts)
        refusal = refuse_host(headers, access) or refuse_page(headers, access)
        if refusal is not None:
            await exchange.send(answer_of(refusal))
            return "-"
        if raw_path == "/health":
            await exchange.send(self._health() if scope["method"] == "GET" else answer_of(NO_ROUTE))
            return raw_path
        address = read_address(raw_path)
        dialect: Dialect = "anthropic" if "anthropic-version" in headers or "/v1/messages" in address.path else "openai"
        is_long = refuse_head(scope["raw_path"] + scope["query_string"], headers) is not None
        refused = TOO_LARGE if is_long else await self._refuse(headers, address)
        if refused is not None:
            await _send(exchange, dialect, refused)
            return "-"
        upstream = find_upstream(address, frozenset(headers), self._means.settings().upstreams)
        if upstream is None or not address.is_served:
            await _send(exchange, dialect, NOT_FOUND)
            return "-"
        judged = _JudgedRequest(
            scope["method"], scope["query_string"], scope["headers_as_written"], headers, address, upstream
        )
        try:
            return await self._serve(judged, exchange, receive, send)
        except Stalled:
            await _send(exchange, dialect, STALLED)
            return "-"

    async def _serve(self, judged: _JudgedRequest, exchange: Exchange, receive: Any, send: Any) -> str:
        """Pass a request on, with blocks of memory where its API is understood; return its route's name."""
        headers, address = judged.headers, judged.address
        api = APIS.get(address.path) if judged.verb == "POST" else None
        is_own = (
            is_right_token(_first(headers, INTERNAL), self._means.internal.current()) if INTERNAL in headers else False
        )
        parts = _parts_of(receive, exchange, self._means.settings().request_seconds)
        if api is None or is_own or api[1] != judged.upstream.settings.dialect:
            rest = parts if exchange.has_more else None
            await self._pass_on(judged, exchange, send, rest, None, is_understood=False)
            return "passed"
        body = await _read(parts)
        if not isinstance(body, bytes):
            await self._pass_on(judged, exchange, send, body, RecalledRequest(b"", "skipped"), is_understood=True)
            return address.path
        recalled = await self._means.capturing.prepare(
            api[0], body, headers, address, judged.upstream, is_oauth=is_oauth(headers)
        )
        await self._pass_on(judged, exchange, send, recalled.body, recalled, is_understood=True)
        return address.path

    async def _refuse(self, headers: Headers, address: ProxyAddress) -> OwnError | None:
        if not is_right_token(address.token or _first(headers, "x-pioneer-token"), self._means.token.current()):
            await anyio.sleep(self._failures.delay(time.monotonic()))
            return UNAUTHORIZED
        if "upgrade" in headers:
            return UPGRADE
        if "transfer-encoding" in headers and "content-length" in headers:
            return DOUBLE_LENGTH
        return LOOP if has_hop(headers, self._means.home_id()) else None

    def _health(self) -> Answer:
        status = "degraded" if self._means.is_dark() else "ok"
        return Answer(200, encode(HealthResult(status=status, service=SERVICE, version=__version__)))

    # -- passing on ----------------------------------------------------------------------------------------------------

    async def _pass_on(
        self,
        judged: _JudgedRequest,
        exchange: Exchange,
        send: Any,
        body: Body,
        recalled: RecalledRequest | None,
        *,
        is_understood: bool,
    ) -> None:
        """Send a request to its upstream and the answer back, chunk by chunk, until the client leaves.

        `is_understood` asks for an answer that is not compressed, which memory can read.
        """
        upstream, capture = judged.upstream, recalled.capture if recalled is not None else None
        headers = request_headers(
            judged.raw,
            upstream,
            key_in(upstream.settings.api_key_env),
            home_id=self._means.home_id(),
            is_understood=is_understood,
        )
        if isinstance(body, bytes):
            headers = with_length(headers, len(body))
        keeping = _Keeping(capture, Tee(capture.api), self._keep) if capture is not None else None
        status: Status = "interrupted"
        watcher: asyncio.Task[None] | None = None
        try:
            with anyio.CancelScope() as scope:
                try:
                    if not exchange.has_more:
                        watcher = exchange.watch(scope.cancel)
                    answer = await self._ask_upstream(judged, headers, body)
                    watcher = watcher or exchange.watch(scope.cancel)
                    if isinstance(answer, OwnError):
                        status = "provider_failure"
                        await _send(exchange, upstream.settings.dialect, answer)
                        return
                    if keeping is not None:
                        keeping.tee.begin(is_stream=answer.is_stream, encoding=answer.encoding)
                    exchange.status = answer.status
                    own = self._own_headers(recalled, is_stream=answer.is_stream)
                    await self._send_back(answer, exchange, send, own, keeping)
                except Broken:
                    status = "provider_failure"
                    raise
                finally:
                    if watcher is not None:
                        watcher.cancel()
        finally:
            if keeping is not None:
                keeping.begin(status)

    async def _ask_upstream(
        self, judged: _JudgedRequest, headers: Sequence[Header], body: Body
    ) -> UpstreamAnswer | OwnError:
        url = judged.upstream.url(judged.address.path, judged.query)
        try:
            return await self._upstreams.send(judged.upstream, judged.verb, url, headers, body)
        except TimedOut:
            return TIMEOUT
        except (Unreachable, Broken):
            return UNREACHABLE

    async def _send_back(
        self, answer: UpstreamAnswer, exchange: Exchange, send: Any, own: Sequence[Header], keeping: "_Keeping | None"
    ) -> None:
        """Send an answer back, each chunk when it comes; its last bytes wait until it is kept.

        Raises `Broken` where the upstream breaks off, so that the client's connection breaks, too.
        """
        status: Status = "succeeded" if answer.status < FIRST_FAILED_STATUS else "provider_failure"
        left = answer.size
        try:
            headers = [*response_headers(answer.headers), *own]
            await send({"type": "http.response.start", "status": answer.status, "headers": headers})
            async for chunk in answer.chunks():
                left = left - len(chunk) if left is not None else None
                if keeping is not None and left == 0:  # with these bytes the client has the whole answer
                    keeping.tee.add(chunk)
                    await self._wait_until_written(keeping.begin(status))
                await send({"type": "http.response.body", "body": chunk, "more_body": True})
                exchange.sent += len(chunk)
                if keeping is not None and left != 0:
                    keeping.tee.add(chunk)
            if keeping is not None:
                await self._wait_until_written(keeping.begin(status))
            await send({"type": "http.response.body", "body": b"", "more_body": False})
        finally:
            with anyio.CancelScope(shield=True):
                await answer.close()

    def _own_headers(self, recalled: RecalledRequest | None, *, is_stream: bool) -> list[Header]:
        """Return the headers that the proxy adds to an answer."""
        found: list[Header] = [(b"x-accel-buffering", b"no")] if is_stream else []
        if recalled is None or not self._means.settings().response_headers:
            return found
        found.append((b"x-pioneer-memory", f"{recalled.outcome};blocks={recalled.blocks};ms={recalled.ms}".encode()))
        turn_id = recalled.capture.turn_id if recalled.capture is not None else None
        return [*found, (b"x-pioneer-turn", turn_id.encode())] if turn_id is not None else found

    async def _wait_until_written(self, written: asyncio.Event) -> None:
        """Wait until an answer is kept, at most as long as a request waits for memory, also if the client leaves."""
        with anyio.move_on_after(self._means.settings().recall_deadline_ms / 1000, shield=True):
            await written.wait()

    def _keep(self, capture: Capture, tee: Tee, status: Status) -> asyncio.Event:
        """Begin to keep an answer; return the event that is set once it outlives this process, or cannot be kept."""
        written = asyncio.Event()
        task = asyncio.create_task(self._means.capturing.finish(capture, tee, status, written.set))
        self._keeping.add(task)
        task.add_done_callback(self._finish_keeping)
        task.add_done_callback(lambda _: written.set())
        return written

    def _finish_keeping(self, task: "asyncio.Task[None]") -> None:
        self._keeping.discard(task)
        if not task.cancelled() and (error := task.exception()) is not None:
            log.incident(error)
        self._means.changed()

    async def end(self) -> None:
        """Wait `drain_seconds` for open requests; then cancel them."""
        with anyio.move_on_after(self._means.settings().drain_seconds):
            while self._open:
                self._settled = anyio.Event()
                await self._settled.wait()
        for scope in list(self._open):
            scope.cancel()

    async def close(self) -> None:
        """Wait until every answer is kept, and close the connections to upstreams."""
        if self._keeping:
            await asyncio.wait(set(self._keeping))
        await self._upstreams.close()


def _first(headers: Headers, name: str) -> str | None:
    return next(iter(headers.get(name, ())), None)


async def _send(exchange: Exchange, dialect: Dialect, refused: OwnError) -> None:
    await exchange.send(Answer(refused.status, encode(error_body(dialect, refused.code, refused.message))))


async def _read(parts: AsyncIterator[bytes]) -> bytes | AsyncIterator[bytes]:
    """Return a whole body; for one beyond `MAX_READ_BYTES` its parts, read and unread ones."""
    read: list[bytes] = []
    size = 0
    async for part in parts:
        read.append(part)
        size += len(part)
        if size > MAX_READ_BYTES:
            return _chain(read, parts)
    return b"".join(read)


async def _chain(read: Sequence[bytes], rest: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
    for part in read:
        yield part
    async for part in rest:
        yield part


async def _parts_of(receive: Any, exchange: Exchange, seconds: float) -> AsyncIterator[bytes]:
    """Yield the parts of a body as they come.

    Raises `Gone` where the client leaves before the end, and `Stalled` where it pauses for `seconds`. Either breaks the
    connection to the upstream, which must not take half a request for a whole one.
    """
    while exchange.has_more:
        try:
            async with asyncio.timeout(seconds):
                message = await receive()
        except TimeoutError:
            raise Stalled from None
        if message["type"] == "http.disconnect":
            raise Gone
        if not message["more_body"]:
            exchange.note_read()
        exchange.taken += len(message["body"])
        yield message["body"]
