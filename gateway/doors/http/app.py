"""The HTTP door's application: every request is judged, answered and logged here.

Rule 1: a request is judged in this order: host, web page, token, route, verb, rate, the body's head. Then its body is
read.
Rule 2: whatever happens, a request is answered once; a defect by its incident's id.
Rule 3: the log has the route's name, codes, sizes and times: no path, no header, no text.
"""

import asyncio
import contextlib
import time
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, NamedTuple, TypeAlias

import anyio

from gateway import __version__
from gateway.base.logs import Log
from gateway.doors.http import openapi, rest
from gateway.doors.http.events import EventLog, EventStream, OwnerLookups, WantedEvents, names_of
from gateway.doors.http.exchange import Answer, Exchange, Gone, answer_of, has_body, headers_of
from gateway.doors.http.page_routes import (
    CODE_PATH,
    MAX_FORM_BYTES,
    SESSION_PATH,
    MakePages,
    PageRequest,
    Pages,
    code_answer,
    is_page,
    refuse_form_body,
    refuse_page_verb,
    split_session,
    without_data,
)
from gateway.doors.http.rpc import HttpCaller, Methods, answer_error
from gateway.doors.http.rules import (
    ENDING,
    NO_BODY,
    NO_METHOD,
    NO_ROUTE,
    TOO_MANY,
    UNAUTHORIZED,
    Access,
    DoorAccess,
    Failures,
    Headers,
    Rate,
    Refusal,
    cross_origin_headers,
    members_of,
    refuse_form,
    refuse_head,
    refuse_host,
    refuse_message,
    refuse_page,
    refuse_token,
    refuse_verb,
    wrong_verb,
)
from gateway.home.run_files import living_doors
from gateway.home.tokens import Token
from gateway.wire.client_session import SessionClient
from gateway.wire.rpc import params_of
from gateway.wiring import App
from protocol import methods as m
from protocol.base import PROTOCOL_VERSION, DoorName, Scope, encode
from protocol.conversation.threads import ThreadParams
from protocol.errors import CallerError, GatewayError
from protocol.gateway import InitializeParams
from protocol.http import EventsQuery, HealthResult
from protocol.memory.values import Context

SERVICE = "pioneer"
MOVED = 303
"""The code of `Pages.open` for a code that opened a session."""
TOKEN_SECONDS = 0.5
"""The interval at which an open event stream checks whether its token was replaced."""
GRACE_SECONDS = 2.0
"""The time that requests in flight have left when the door closes."""
CONTEXT = {"workspace_id": "x-pioneer-workspace", "agent_id": "x-pioneer-agent", "time_zone": "x-pioneer-time-zone"}
"""Members that a request may leave out, and the header that holds the default of each."""

log = Log("http")


class Request(NamedTuple):
    """A request that passed the rules: its headers, its query and its body."""

    headers: Headers
    query: bytes
    body: bytes


Work: TypeAlias = Callable[[HttpCaller, Request], Awaitable[Answer]]
"""A function that answers a request, or raises `GatewayError`."""


class Route(NamedTuple):
    """The answer to a verb of a path."""

    name: str
    work: Work
    takes_body: bool = False
    door: DoorName = "http"
    max_body: int | None = None
    """The most bytes of a body; None for the limit of the settings."""


class Door:
    """The ASGI application, which the server calls for each request."""

    def __init__(self, app: App, token: Token, port: int, bind: str, make_pages: MakePages | None = None) -> None:
        self._app, self._token, self._port = app, token, port
        self._host = f"[{bind}]" if ":" in bind else bind
        self._events = EventLog()
        self._owners = OwnerLookups(self._workspace_of, self._scope_of)
        self._subscriber = app.hub.subscribe(self._events)
        self._methods = Methods(app, self._subscriber)
        self._means = rest.Means(self._methods, app.base.clock)
        self._rate, self._failures = Rate(), Failures()
        self._streams: set[EventStream] = set()
        self._scopes: set[anyio.CancelScope] = set()
        self._is_closing = False
        self._settled = anyio.Event()
        self._make_pages, self._made_pages = make_pages, None
        self.asked_at = time.monotonic()
        """The time of the last request, by the machine's clock that only advances."""
        self._access = DoorAccess(port, bind)
        self._routes = self._make_routes()

    def _make_routes(self) -> dict[str, dict[str, Route]]:
        """Return the routes by path and verb."""
        routes = {"/rpc": {"POST": Route("/rpc", self._rpc, takes_body=True)}}
        for name, entry in self._methods.bound.items():
            if "/" in name:
                routes[f"/rpc/{name}"] = {
                    "POST": Route(f"/rpc/{name}", self._work_of_method(entry.method), takes_body=True)
                }
        for row in rest.ROWS:
            routes.setdefault(row.path, {})[row.verb] = Route(row.path, self._work_of_row(row), row.in_body)
        if self._make_pages is not None:
            routes[CODE_PATH] = {"POST": Route(CODE_PATH, self._make_code, takes_body=True)}
        return routes | {"/openapi.json": {"GET": Route("/openapi.json", self._describe)}}

    async def _rpc(self, caller: HttpCaller, request: Request) -> Answer:
        return await self._methods.answer_rpc(caller, request.body)

    def _work_of_method(self, method: m.Method[Any, Any]) -> Work:
        return lambda caller, request: self._methods.answer_bare(caller, method, request.body)

    def _work_of_row(self, row: rest.RestRow) -> Work:
        async def work(caller: HttpCaller, request: Request) -> Answer:
            lists, switches = rest.lists_of(row.takes), rest.switches_of(row.takes)
            members = rest.body_of(request.body) if row.in_body else members_of(request.query, lists, switches)
            if row.in_body and request.query:
                raise CallerError.at("$", "This route takes no query")
            taken = rest.convert(members, row.takes, is_text=not row.in_body)
            reply = await row.work(self._means, caller, taken)
            return Answer(reply.status, encode(reply.result))

        return work

    async def _describe(self, _caller: HttpCaller, _request: Request) -> Answer:
        return Answer(200, openapi.document_bytes())

    async def _make_code(self, _caller: HttpCaller, request: Request) -> Answer:
        return code_answer(self._pages(), request.body, f"http://{self._host}:{self._port}")

    def _pages(self) -> Pages:
        """Return the inspect page, which is made at first need. Raises `CallerError` where this door has none."""
        if self._made_pages is None:
            if self._make_pages is None:
                raise CallerError.missing("page")
            self._made_pages = self._make_pages(self._methods, self._app.base.clock)
        return self._made_pages

    # -- judging -------------------------------------------------------------------------------------------------------

    async def __call__(self, scope: Mapping[str, Any], receive: Any, send: Any) -> None:
        """Answer one request."""
        began = self.asked_at = time.monotonic()
        headers = headers_of(scope)
        exchange = Exchange(receive, send, has_body=has_body(headers))
        name = "-"
        try:
            settings = self._app.base.config.config.http
            access = self._access.by(settings.allowed_hosts, settings.allowed_origins)
            exchange.shared = cross_origin_headers(headers, access)
            name = await self._answer(scope, headers, access, exchange)
        except Gone:
            pass
        except Exception as error:  # noqa: BLE001  # the boundary between the door and its server
            if exchange.status:
                log.incident(error)  # uvicorn closes the connection of an answer that is not whole
            else:
                await exchange.send(answer_error(error))
        finally:
            ms = round((time.monotonic() - began) * 1000)
            log.info("request", route=name, verb=_verb_of(scope), status=exchange.status, ms=ms, **exchange.sizes)

    async def _answer(self, scope: Mapping[str, Any], headers: Headers, access: Access, exchange: Exchange) -> str:
        """Judge a request and answer it; return its route's name."""
        verb, path = scope["method"], scope["path"]
        if self._make_pages is not None and is_page(verb, path):
            return await self._answer_page(scope, headers, access, exchange)
        refusal = (
            refuse_head(scope["raw_path"] + scope["query_string"], headers)
            or refuse_host(headers, access)
            or refuse_page(headers, access)
            or refuse_verb(verb, headers)
        )
        if refusal is None and verb == "OPTIONS" and exchange.shared:
            exchange.shared = cross_origin_headers(headers, access, is_preflight=True)
            await exchange.send(Answer(204))
            return "preflight"
        if refusal is None and path == "/health":
            await exchange.send(await self._health() if verb == "GET" else answer_of(wrong_verb(["GET"])))
            return path
        refusal = refusal or refuse_token(headers, self._token.current())
        if refusal is not None:
            if refusal is UNAUTHORIZED:
                await anyio.sleep(self._failures.delay(time.monotonic()))
            await exchange.send(answer_of(refusal))
            return "-"
        self._report_open_token()
        if path == "/events":
            await self._serve_events(verb, headers, scope, exchange)
            return path
        verbs = self._routes.get(path)
        route = verbs.get(verb) if verbs is not None else None
        if route is None:
            unknown = NO_METHOD if path.startswith("/rpc/") else NO_ROUTE
            await exchange.send(answer_of(unknown if verbs is None else wrong_verb(list(verbs))))
            return "-"
        refusal = self._refuse_busy() or refuse_message(headers, self._app.base.config.config.http.max_body_bytes)
        if refusal is not None:
            await exchange.send(answer_of(refusal))
            return route.name
        await self._work(route, Request(headers, scope["query_string"], b""), exchange)
        return route.name

    async def _answer_page(self, scope: Mapping[str, Any], headers: Headers, access: Access, exchange: Exchange) -> str:
        """Judge a request for the inspect page and answer it; return its route's name."""
        verb, path = scope["method"], scope["path"]
        refusal = (
            refuse_head(scope["raw_path"] + scope["query_string"], headers)
            or refuse_host(headers, access)
            or refuse_form(headers, access)
            or refuse_verb(verb, headers)
            or refuse_page_verb(verb, path)
            or refuse_form_body(verb, headers)
            or self._refuse_busy()
        )
        if refusal is not None:
            await exchange.send(answer_of(refusal))
            return "page"
        pages = self._pages()
        if not path.startswith(SESSION_PATH):
            await self._open_page(pages, path, scope["query_string"], exchange)
            return "page"
        name, rest = split_session(path)
        session = pages.find(name, self._app.base.config.config.http.session_hours)
        if session is None:
            await anyio.sleep(self._failures.delay(time.monotonic()))
            await exchange.send(pages.refuse())
        elif rest == "events" and verb == "GET":
            await self._serve_page_events(pages, session, exchange)
        else:

            async def work(caller: HttpCaller, request: Request) -> Answer:
                asked = PageRequest(verb, rest, request.query, request.body)
                return await pages.answer(caller, session, asked)

            route = Route("page", work, takes_body=verb == "POST", door="inspect", max_body=MAX_FORM_BYTES)
            await self._work(route, Request({}, scope["query_string"], b""), exchange)
        return "page"

    async def _open_page(self, pages: Pages, path: str, query: bytes, exchange: Exchange) -> None:
        if path != CODE_PATH:
            found = pages.asset(path.removeprefix(CODE_PATH + "/"))
            return await exchange.send(answer_of(NO_ROUTE) if found is None else found)
        answer = pages.open(query)
        if answer.status != MOVED:
            await anyio.sleep(self._failures.delay(time.monotonic()))
        return await exchange.send(answer)

    async def _serve_page_events(self, pages: Pages, session: Any, exchange: Exchange) -> None:
        """Send an open page the names of memory's events while its session lasts, so that it loads itself anew."""
        if len(self._streams) >= self._app.base.config.config.http.max_streams:
            return await exchange.send(answer_of(TOO_MANY))
        wanted = WantedEvents(names_of("memory/*"))
        stream = EventStream(self._events, wanted, self._owners, None)

        async def write(part: bytes) -> None:
            if pages.is_open(session, self._app.base.config.config.http.session_hours):
                await exchange.send_part(without_data(part))
            else:
                stream.end()

        return await self._run_stream(stream, exchange, write)

    async def _health(self) -> Answer:
        proxies = await anyio.to_thread.run_sync(living_doors, self._app.base.home.run, "proxy")
        has_dark_proxy = any(entry.capture == "dark" for entry in proxies)
        status = "degraded" if self._app.health.list_degraded() or has_dark_proxy else "ok"
        return Answer(200, encode(HealthResult(status=status, service=SERVICE, version=__version__)))

    def _report_open_token(self) -> None:
        """Report once that other users could read the token's file."""
        if self._token.was_open:
            self._token.was_open = False
            self._app.health.degrade("http", "token_was_readable")

    def _refuse_busy(self) -> Refusal | None:
        """Refuse a request of a door that closes, that answers enough of them already, or that is asked too fast."""
        config = self._app.base.config.config
        if self._is_closing:
            return ENDING
        if len(self._scopes) - len(self._streams) >= config.limits.max_in_flight:
            return TOO_MANY
        return None if self._rate.takes(time.monotonic(), config.http.requests_per_second) else TOO_MANY

    # -- answering -----------------------------------------------------------------------------------------------------

    async def _work(self, route: Route, request: Request, exchange: Exchange) -> None:
        """Read the body, do the work while the client is there, and answer; its notifications come after that."""
        with anyio.CancelScope() as scope:
            self._scopes.add(scope)
            try:
                settings = self._app.base.config.config.http
                body = await exchange.read(route.max_body or settings.max_body_bytes, settings.request_seconds)
                if body and not route.takes_body and not isinstance(body, Refusal):
                    body = NO_BODY
                if isinstance(body, Refusal):
                    await exchange.send(answer_of(body))
                    return
                caller = self._methods.begin(_client_of(request.headers), route.door)
                watcher = exchange.watch(scope.cancel)
                try:
                    try:
                        answer = await route.work(caller, request._replace(body=body))
                    except Exception as error:  # noqa: BLE001  # the boundary between services and the wire
                        answer = answer_error(error)
                    watcher.cancel()
                    await exchange.send(answer)
                finally:
                    watcher.cancel()
                    caller.deferred.release()
            finally:
                self._leave(scope)
        if scope.cancelled_caught and not (exchange.status or exchange.is_gone):
            await exchange.send(answer_of(ENDING))

    def _leave(self, scope: anyio.CancelScope) -> None:
        self._scopes.discard(scope)
        self._settled.set()

    async def _serve_events(self, verb: str, headers: Headers, scope: Mapping[str, Any], exchange: Exchange) -> None:
        if verb != "GET":
            return await exchange.send(answer_of(wrong_verb(["GET"])))
        refusal = NO_BODY if exchange.has_more else self._refuse_busy()
        if refusal is None and len(self._streams) >= self._app.base.config.config.http.max_streams:
            refusal = TOO_MANY
        if refusal is not None:
            return await exchange.send(answer_of(refusal))
        try:
            query = rest.convert(members_of(scope["query_string"]), EventsQuery, is_text=True)
            client = _client_of(headers)
            wanted = WantedEvents(names_of(query.types), query.workspace_id or client.workspace_id, query.thread_id)
        except GatewayError as error:
            return await exchange.send(answer_error(error))
        last_id = next(iter(headers.get("last-event-id", ())), None)
        stream = EventStream(self._events, wanted, self._owners, last_id)
        watcher = asyncio.create_task(self._end_with_token(stream, headers))
        try:
            await self._run_stream(stream, exchange)
        finally:
            watcher.cancel()

    async def _end_with_token(self, stream: EventStream, headers: Headers) -> None:
        """End a stream once its request would be refused, because its token was replaced or cannot be read."""
        with contextlib.suppress(OSError):
            while refuse_token(headers, self._token.current()) is None:  # noqa: ASYNC110  # another process replaces it
                await asyncio.sleep(TOKEN_SECONDS)
        stream.end()

    async def _run_stream(
        self, stream: EventStream, exchange: Exchange, write: Callable[[bytes], Awaitable[None]] | None = None
    ) -> None:
        with anyio.CancelScope() as scope:
            self._scopes.add(scope)
            self._streams.add(stream)
            watcher = exchange.watch(scope.cancel)
            try:
                await exchange.begin("text/event-stream")
                await stream.run(write or exchange.send_part)
                await exchange.finish()
            finally:
                watcher.cancel()
                self._streams.discard(stream)
                self._leave(scope)

    async def _workspace_of(self, thread_id: str) -> str | None:
        """Return a thread's workspace; None where it cannot be read."""
        get = self._methods.bound[m.THREAD_GET.name].call
        try:
            return (await get(ThreadParams(thread_id=thread_id))).thread.workspace_id
        except GatewayError:  # it was deleted meanwhile, or the store cannot be read
            return None

    async def _scope_of(self, collection_id: str) -> Scope | None:
        """Return the scope of a collection; None where it cannot be read."""
        try:
            return await self._app.knowledge.scope_of(collection_id)
        except GatewayError:  # the store cannot be read
            return None

    async def end(self) -> None:
        """End event streams with a last event, wait at most `GRACE_SECONDS` for other requests, and cancel these."""
        self._is_closing = True
        for stream in list(self._streams):
            stream.end()
        with anyio.move_on_after(GRACE_SECONDS):
            while self._scopes:
                self._settled = anyio.Event()
                await self._settled.wait()
        for scope in list(self._scopes):
            scope.cancel()

    def is_idle(self, seconds: float) -> bool:
        """Return whether no request came within that time, and none is being answered."""
        return not self._scopes and time.monotonic() - self.asked_at >= seconds

    def close(self) -> None:
        """Unsubscribe from notifications."""
        self._app.hub.unsubscribe(self._subscriber)


def _verb_of(scope: Mapping[str, Any]) -> str:
    """Return a known verb, else `-`: a log holds no text of a caller."""
    return scope["method"] if scope["method"] in {"GET", "POST", "DELETE", "OPTIONS", "HEAD", "PUT", "PATCH"} else "-"


def _client_of(headers: Headers) -> SessionClient:
    """Return the client that the context headers name. Raises `CallerError` for a malformed one."""
    found = {member: headers[name] for member, name in CONTEXT.items() if name in headers}
    if not found:
        return SessionClient()
    if any(len(values) != 1 for values in found.values()):
        raise CallerError.at("$", "A context header is given twice")
    given: Mapping[str, str] = {member: values[0] for member, values in found.items()}
    zone = {"time_zone": given["time_zone"]} if "time_zone" in given else {}
    hello = {"protocol_version": PROTOCOL_VERSION, "client": {"name": "http", "version": "1", **zone}}
    if "workspace_id" in given:
        hello["workspace_id"] = given["workspace_id"]
    agent_id = params_of(Context, {"agent_id": given.get("agent_id")}).agent_id
    client = SessionClient(agent_id)
    client.introduce(params_of(InitializeParams, hello))
    return client
