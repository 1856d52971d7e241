"""The methods over HTTP: `POST /rpc` takes JSON-RPC, `POST /rpc/<group>/<verb>` bare parameters.

Rule 1: both call the very methods that a session over pipes calls, but for those of `LEFT_OUT`.
Rule 2: of a batch, requests are answered one after the other, in their order.
"""

from collections.abc import Mapping
from typing import Any, NamedTuple, TypeVar, cast

from msgspec.structs import replace

from gateway.base.hub import CURRENT, Deferred, Hub
from gateway.base.logs import Log
from gateway.doors.http.exchange import NO_CONTENT, Answer
from gateway.doors.http.rules import STATUS_OF_REASON, headers_of
from gateway.wire.client_session import SessionClient
from gateway.wire.rpc import (
    BadMessage,
    Dispatcher,
    Fill,
    Ignored,
    RpcRequest,
    decode,
    error_of,
    error_reply,
    message_of,
    params_of,
)
from gateway.wiring import App
from protocol import methods as m
from protocol.base import DoorName, encode
from protocol.errors import CallerError, GatewayError
from protocol.gateway import MAX_BATCH, InitializeParams, InitializeResult
from protocol.http import HttpError, HttpErrorData, HttpErrorObject
from protocol.methods import Bound, Method, bind
from protocol.seams.callers import enter

LEFT_OUT = frozenset({m.SHUTDOWN.name})
"""Methods that end a session; a request belongs to none."""

R = TypeVar("R")

log = Log("http")


def bound_over_http(app: App) -> dict[str, Bound]:
    """Return the methods that a request may call: `initialize` describes the gateway and changes nothing."""

    async def describe(params: InitializeParams) -> InitializeResult:
        described = await app.shell.describe(params)
        capabilities = described.capabilities
        methods = [name for name in capabilities.methods if name not in LEFT_OUT]
        return replace(described, capabilities=replace(capabilities, methods=methods))

    kept = {name: entry for name, entry in app.bound.items() if name not in LEFT_OUT}
    return {**kept, m.INITIALIZE.name: bind(m.INITIALIZE, describe)}


class HttpCaller(NamedTuple):
    """A request's caller: its client, which completes parameters, and the notifications that wait for the answer."""

    client: SessionClient
    deferred: Deferred


class Methods:
    """Calls methods for requests over HTTP."""

    def __init__(self, app: App, subscriber: int) -> None:
        self.bound = bound_over_http(app)
        self._hub: Hub = app.hub
        self._subscriber = subscriber
        """The subscriber of the hub that stands for all requests."""
        self._dispatcher = Dispatcher(self.bound, log.incident)

    def begin(self, client: SessionClient, door: DoorName = "http") -> HttpCaller:
        """Begin a request: notifications that it causes wait until it is answered."""
        caller = HttpCaller(client, Deferred(self._subscriber))
        CURRENT.set(caller.deferred)
        enter(door, client.agent_id)
        return caller

    async def ask(self, caller: HttpCaller, method: Method[Any, R], params: Any) -> R:
        """Return a method's result for parameters that are not checked yet. Raises `GatewayError`."""
        entry = self.bound[method.name]
        self._use(method, params)
        return await entry.call(self._fill(caller)(params_of(method.params, params)))

    def _use(self, method: Method[Any, Any] | None, params: Any) -> None:
        """Mark the thread that a request works in as used by HTTP: its later notifications are sent there, too."""
        thread_id: object = cast("Mapping[str, Any]", params).get("thread_id") if isinstance(params, Mapping) else None
        if method is not None and method.ordering == "thread" and isinstance(thread_id, str):
            self._hub.use(self._subscriber, thread_id)

    def _fill(self, caller: HttpCaller) -> Fill:
        """Return the function that completes parameters; a handshake leaves no trace in the requests after it."""
        return lambda params: (SessionClient() if isinstance(params, InitializeParams) else caller.client).fill(params)

    async def answer_bare(self, caller: HttpCaller, method: Method[Any, Any], body: bytes) -> Answer:
        """Answer `/rpc/<group>/<verb>`."""
        params: Any = decode(body) if body.strip() else {}
        if not isinstance(params, (dict, list, type(None))):
            raise CallerError("invalid_request", "The body holds the parameters: an object.")
        return Answer(200, encode(await self.ask(caller, method, params)))

    async def answer_rpc(self, caller: HttpCaller, body: bytes) -> Answer:
        """Answer `/rpc`: 200 once the envelope is read, whatever came of the requests in it."""
        try:
            value = decode(body)
        except GatewayError as error:
            return Answer(400, error_reply(None, error.reason))
        if not isinstance(value, list):
            reply = await self._reply(caller, value)
            is_readable = not isinstance(message_of(value), BadMessage)
            return Answer(200 if is_readable else 400, reply) if reply is not None else Answer(NO_CONTENT)
        values = cast("list[Any]", value)
        if not 0 < len(values) <= MAX_BATCH:
            return Answer(200, error_reply(None, "invalid_request"))
        replies = [reply for one in values if (reply := await self._reply(caller, one)) is not None]
        return Answer(200, b"[" + b",".join(replies) + b"]") if replies else Answer(NO_CONTENT)

    async def _reply(self, caller: HttpCaller, value: Any) -> bytes | None:
        """Return the reply to one message; None for a message that gets none."""
        message = message_of(value)
        match message:
            case Ignored() | RpcRequest(request_id=None):
                return None
            case BadMessage(request_id=request_id, reason=reason):
                return error_reply(request_id, reason)
            case RpcRequest():
                self._use(self._dispatcher.table.get(message.method), message.params)
                return (await self._dispatcher.reply_to(message, self._fill(caller))).line


def answer_error(error: BaseException) -> Answer:
    """Return the HTTP response for an exception that a method raised."""
    found = error_of(error, log.incident)
    data = HttpErrorData(
        reason=found.data.reason,
        retryable=found.data.retryable,
        details=found.data.details,
        incident_id=found.data.incident_id,
    )
    body = encode(HttpError(error=HttpErrorObject(code=found.code, message=found.message, data=data)))
    return Answer(STATUS_OF_REASON[found.data.reason], body, headers_of(found))
