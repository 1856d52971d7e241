"""JSON-RPC 2.0 between decoded lines and services.

Rule 1: jsonrpcserver is used only here, and only to look a method up and call it, in the task that asks: into one of
its own no shield against a cancellation would reach. Its own validation, batches and error texts are replaced: they
leak exception text, refuse a batch for one bad item and answer responses.
Rule 2: `error_of` is the one place that turns an exception into an error on the wire.
Rule 3: this module knows no method by name.
"""

import json
import math
import re
import sys
from collections.abc import Awaitable, Callable, Iterable, Mapping
from functools import cache, partial
from importlib.machinery import ModuleSpec
from importlib.util import find_spec, module_from_spec
from inspect import Parameter, Signature
from itertools import chain
from typing import Any, TypeAlias, TypeGuard, TypeVar, cast

import msgspec
from msgspec import Struct

from gateway.base.complaints import to_words
from promt.patterns import compile_late
from protocol.base import encode
from protocol.envelope import ErrorResponse, RequestId, Response
from protocol.errors import REASONS, CallerError, ErrorData, ErrorObject, ErrorReason, GatewayError
from protocol.methods import Bound

_LIBRARIES = ("jsonrpcserver", "oslash")
"""The library, and the one that its results are made of."""
MAX_ID_CHARS = 1024
ID_BITS = 64  # what hosts count with; it comes back digit by digit

P = TypeVar("P", bound=msgspec.Struct)

_SURROGATE = compile_late(r"\\u[dD][89a-fA-F]")
_AT = compile_late(r"^(?P<problem>.*) - at `(?P<path>[^`]*)`$", re.DOTALL)
_MEMBER = compile_late(r"(?:unknown field|required field) `(?P<name>[^`]*)`")
_NAME = compile_late(r"_?[A-Za-z][a-z]{0,19}(?:_[a-z]{1,20}|[A-Z][a-z]{1,19}){0,4}[0-9]{0,2}")
"""Words, joined as members are: any other name may be a secret in the wrong place, and is not repeated."""


Fill: TypeAlias = Callable[[Any], Any]
"""A function that returns the typed parameters of a method with the absent ones filled in."""


class RpcRequest(Struct, frozen=True):
    """A request or notification whose envelope is right. `request_id` is None for a notification."""

    request_id: RequestId | None
    method: str
    params: Any


class Reply(Struct, frozen=True):
    """An encoded reply."""

    line: bytes
    succeeded: bool


class BadMessage(Struct, frozen=True):
    """A message that is answered with an error at once."""

    request_id: RequestId | None
    reason: ErrorReason


class Ignored(Struct, frozen=True):
    """A message that is never answered: a response to a request that the gateway never sent."""


Message: TypeAlias = RpcRequest | BadMessage | Ignored


class _NotStrictError(ValueError):
    """The text is JSON only to a generous reader: doubled members, NaN, too large a number, endless nesting."""


MAX_DEPTH = 512
"""Objects and arrays within one another: far more than any message has, and less than any library refuses."""


def _children(node: Any) -> Iterable[Any]:
    if isinstance(node, dict):
        return cast("dict[str, Any]", node).values()
    return cast("list[Any]", node) if isinstance(node, list) else ()


def is_too_deep(value: Any) -> bool:
    """Return whether a decoded value is nested deeper than `MAX_DEPTH`."""
    level: list[Any] = [value]
    for _ in range(MAX_DEPTH):
        level = list(chain.from_iterable(map(_children, level)))
        if not level:
            return False
    return any(isinstance(node, (dict, list)) for node in level)


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    members = dict(pairs)
    if len(members) != len(pairs):
        raise _NotStrictError
    return members


def _no_constant(_name: str) -> Any:
    raise _NotStrictError


def _finite(digits: str) -> float:
    value = float(digits)
    if math.isinf(value):
        raise _NotStrictError
    return value


_decoder = json.JSONDecoder(object_pairs_hook=_unique, parse_constant=_no_constant, parse_float=_finite)


def decode(line: bytes) -> Any:
    """Return the line's one JSON value.

    Raises `CallerError("parse_error")` for anything that is not strict JSON in UTF-8.
    """
    try:
        text = line.decode("utf-8", "strict")
        value = _decoder.decode(text)
        if line.count(b"{") + line.count(b"[") > MAX_DEPTH and is_too_deep(value):
            raise _NotStrictError
        if _SURROGATE.search(text):
            json.dumps(value, ensure_ascii=False).encode("utf-8", "strict")
    except (ValueError, RecursionError):
        raise CallerError("parse_error") from None
    return value


def message_of(value: Any) -> Message:
    """Return a decoded value as a message, judged by its envelope."""
    if not isinstance(value, dict):
        return BadMessage(None, "invalid_request")
    members = cast("dict[str, Any]", value)
    if "method" not in members and ("result" in members or "error" in members):
        return Ignored()
    has_id = "id" in members
    request_id = members.get("id")
    if has_id and not is_request_id(request_id):
        return BadMessage(None, "invalid_request")
    method = members.get("method")
    if members.get("jsonrpc") != "2.0" or not isinstance(method, str):
        return BadMessage(request_id, "invalid_request")
    params = members.get("params")
    if params is not None and not isinstance(params, (dict, list)):
        return BadMessage(request_id, "invalid_request")
    return RpcRequest(request_id if has_id else None, method, cast("Any", params))


def is_request_id(value: object) -> TypeGuard[RequestId]:
    """Return whether a value may be a request's id: a string or an integer, within bounds."""
    if isinstance(value, bool):
        return False
    if isinstance(value, str):
        return len(value) <= MAX_ID_CHARS
    return isinstance(value, int) and value.bit_length() <= ID_BITS


def params_of(kind: type[P], params: Any) -> P:
    """Return the typed parameters. Raises `CallerError` that names the member."""
    if params is None:
        params = {}
    if isinstance(params, list):
        raise CallerError.at("$", "Parameters are given by name, not by position")
    members = {name: value for name, value in params.items() if name != "_meta"}
    try:
        return msgspec.convert(members, kind)
    except msgspec.ValidationError as error:
        raise _name_what_is_taken(refusal_of(str(error)), str(error), kind) from None


def _name_what_is_taken(refusal: CallerError, complaint: str, kind: type[Struct]) -> CallerError:
    """Return a refusal whose message ends with the names or values that its place takes; its details stay."""
    from gateway.wire.taken_values import name_taken  # noqa: PLC0415  # a good request needs no schema

    message = refusal.message + name_taken(complaint, *_make_schema(kind))
    return CallerError(refusal.reason, message, details=refusal.details)


@cache
def _make_schema(kind: type[Struct]) -> tuple[Mapping[str, Any], Mapping[str, Mapping[str, Any]]]:
    """Return the schema of a message, and those that it refers to by name; kept, because a caller errs in a row."""
    (schema,), types = msgspec.json.schema_components([kind], ref_template="{name}")
    return schema, types


def refusal_of(text: str) -> CallerError:
    """Return the complaint of a contract's check as the caller's error: in words, with the member's path."""
    found = _AT.match(text)
    problem, path = (found["problem"], found["path"]) if found else (text, "$")
    member = _MEMBER.search(problem)
    if member and _NAME.fullmatch(member["name"]) is None:
        return CallerError.at(path, "it has a member that does not exist")
    if member:
        path = f"{path}.{member['name']}"
    return CallerError.at(path, to_words(problem))


def error_of(error: BaseException, incident: Callable[[BaseException], str]) -> ErrorObject:
    """Return the error object for anything that a service may raise."""
    if isinstance(error, GatewayError) and error.reason != "internal":
        return error.on_the_wire()
    info = REASONS["internal"]
    data = ErrorData(reason="internal", retryable=False, incident_id=incident(error))
    return ErrorObject(code=info.code, message=info.message, data=data)


def error_reply(request_id: RequestId | None, reason: ErrorReason) -> bytes:
    """Return an error reply by its reason alone."""
    return encode(ErrorResponse(id=request_id, error=GatewayError(reason).on_the_wire()))


_SIGNATURE = Signature([Parameter(name, Parameter.KEYWORD_ONLY) for name in ("params", "fill")])
"""The parameters of every bound method, stated once: to read them from a hundred functions is a part of each start."""


def _library() -> tuple[Any, Any, Any]:
    """Import what is used of jsonrpcserver, and return it: its success, its request, its dispatch.

    Running the `__init__` of the packages as well would import an HTTP server, a validator and a dozen monads: a tenth
    of a start, for nothing.
    """
    absent = [name for name in _LIBRARIES if name not in sys.modules]
    for name in absent:
        sys.modules[name] = module_from_spec(cast("ModuleSpec", find_spec(name)))
    from jsonrpcserver.async_dispatcher import dispatch_request  # noqa: PLC0415  # a command calls a method itself
    from jsonrpcserver.request import Request as Asked  # noqa: PLC0415
    from jsonrpcserver.result import Success  # noqa: PLC0415
    from jsonrpcserver.sentinels import NOCONTEXT  # noqa: PLC0415

    for name in absent:
        del sys.modules[name]  # a later import gets the whole package
    return Success, Asked, partial(dispatch_request, context=NOCONTEXT)


class Dispatcher:
    """Calls bound methods by name."""

    def __init__(self, bound: Mapping[str, Bound], incident: Callable[[BaseException], str]) -> None:
        self._success, self._asked, self._dispatch = _library()
        self._incident = incident
        self.table = {name: entry.method for name, entry in bound.items()}
        self._methods: Any = {name: self._wrap_method(entry) for name, entry in bound.items()}

    def _wrap_method(self, entry: Bound) -> Callable[..., Awaitable[Any]]:
        """Return a method as jsonrpcserver calls it: it never sees an exception, so it has nothing to leak."""

        async def call(*, params: Any, fill: Fill) -> Any:
            try:
                return self._success(await entry.call(fill(params_of(entry.method.params, params))))
            except Exception as error:  # noqa: BLE001  # the one boundary between services and the wire
                return self._success(error_of(error, self._incident))

        vars(call)["__signature__"] = _SIGNATURE  # the library asks for it at every call
        return call

    async def reply_to(self, request: RpcRequest, fill: Fill) -> Reply:
        """Return the encoded reply to a request; `fill` completes its parameters from the client's handshake."""
        if request.method not in self._methods:
            return Reply(error_reply(request.request_id, "method_not_found"), succeeded=False)
        asked = self._asked(request.method, {"params": request.params, "fill": fill}, request.request_id)
        _, answer = await self._dispatch(self._methods, request=asked)
        return self._encode_reply(request.request_id, answer)

    def _encode_reply(self, request_id: RequestId | None, answer: Any) -> Reply:
        result = answer._value.result  # noqa: SLF001  # the library's Either has no public accessor
        try:
            if not isinstance(result, ErrorObject):
                return Reply(encode(Response(id=cast("RequestId", request_id), result=result)), succeeded=True)
            return Reply(encode(ErrorResponse(id=request_id, error=result)), succeeded=False)
        except Exception as failure:  # noqa: BLE001  # what cannot be encoded is our defect, and still an answer
            result = error_of(failure, self._incident)
            return Reply(encode(ErrorResponse(id=request_id, error=result)), succeeded=False)
