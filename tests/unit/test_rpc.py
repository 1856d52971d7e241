"""JSON-RPC: what a line may be, what an envelope may be, and that an error never says more than it should."""

import json
from collections.abc import Awaitable, Callable
from typing import Annotated, Any

import anyio
import msgspec
import pytest
from cases import each
from hypothesis import given
from hypothesis import strategies as st
from msgspec import Meta

from gateway.wire.rpc import (
    MAX_DEPTH,
    BadMessage,
    Dispatcher,
    Ignored,
    Message,
    RpcRequest,
    decode,
    error_of,
    error_reply,
    is_request_id,
    message_of,
    params_of,
)
from protocol.base import Empty, Params, Wire
from protocol.conversation.workspaces import WorkspaceParams
from protocol.errors import REASONS, CallerError, Defect, GatewayError, Refused, Unavailable
from protocol.methods import Bound, Method, bind

SECRET = "sk-live-0123456789abcdef"  # noqa: S105  # a canary

# -- lines -----------------------------------------------------------------------------------------------------------

JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(st.characters(exclude_categories=["Cs"])),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(st.text(st.characters(exclude_categories=["Cs"])), inner, max_size=4)
    ),
)


@given(JSON, st.booleans())
def test_a_strict_json_line_is_its_value(value: Any, escaped: Any) -> None:
    assert decode(json.dumps(value, ensure_ascii=escaped).encode()) == value


def deep(levels: int) -> list[Any]:
    value: list[Any] = []
    for _ in range(levels):
        value = [value]
    return value


GOOD_LINES: list[tuple[bytes, Any]] = [
    (b"  {}\t", {}),
    (b'"\\ud83d\\ude00"', "\U0001f600"),
    (b'"\\\\ud800"', "\\ud800"),
    (b'{"a":{"x":1},"b":{"x":2}}', {"a": {"x": 1}, "b": {"x": 2}}),
    (b"1e308", 1e308),
    (b"-0.0", -0.0),
    (b"1e-999", 0.0),
    (b"9" * 400, int("9" * 400)),
    (b"[" * MAX_DEPTH + b"]" * MAX_DEPTH, deep(MAX_DEPTH - 1)),
    (b"[" + b"{}," * MAX_DEPTH + b"{}]", [{} for _ in range(MAX_DEPTH + 1)]),
    ("\u2028\u00e9".join('""').encode(), "\u2028\u00e9"),
]


@each(("line", "expected"), GOOD_LINES)
def test_unusual_but_strict_lines(line: bytes, expected: Any) -> None:
    assert decode(line) == expected


BAD_LINES = [
    b"",
    b" ",
    b"x",
    b"{",
    b"[1,]",
    b"{'a':1}",
    b'{"a":1}{"b":2}',
    b'{"a":1} x',
    b"// c\n1",
    b"[1 2]",
    b"+1",
    b"01",
    b".5",
    b"1.",
    b"0x10",
    b"True",
    b"undefined",
    b"\xef\xbb\xbf{}",
    b"\xff\xfe{\x00}\x00",  # marks of an encoding
    b"NaN",
    b"[Infinity]",
    b'{"a":-Infinity}',
    b"1e999",
    b"[-1e400]",
    b'"\xff"',
    b'"\xc3"',
    b'"\xed\xa0\x80"',
    b'"\xc0\xaf"',
    b'"\xf4\x90\x80\x80"',  # not UTF-8
    b'"\\ud800"',
    b'"\\udc00\\ud800"',
    b'{"\\udfff":1}',
    b'["x",{"y":"\\uD83D"}]',
    b'"\\ud83d x \\ude00"',
    b'{"a":1,"a":2}',
    b'[{"x":{"a":1,"b":2,"a":1}}]',
    b'{"a":1,"\\u0061":2}',  # members twice
    b'"a\nb"',
    b'"a\tb"',
    b'"a\x00b"',
    b'"\\x41"',
    b'"\\u12"',
    b'"open',
    b"\x00",
    b"{}\x00",
    b"[" * (MAX_DEPTH + 1) + b"]" * (MAX_DEPTH + 1),
    b'{"a":[' * 300 + b"]}" * 300,
    b"[" * 100_000 + b"]" * 100_000,
    b'{"a":' * 50_000 + b"1" + b"}" * 50_000,
    b"[" * 1_000_000,
    b"9" * 5000,
    b"-" + b"9" * 5000,
]


@each("line", BAD_LINES)
def test_anything_else_is_a_parse_error(line: bytes) -> None:
    with pytest.raises(CallerError) as caught:
        decode(line)
    assert caught.value.reason == "parse_error"
    assert caught.value.details is None


@given(st.binary(max_size=60))
def test_no_bytes_do_more_than_fail(line: bytes) -> None:
    try:
        value = decode(line)
    except CallerError:
        return
    assert decode(json.dumps(value).encode()) == value


# -- envelopes -------------------------------------------------------------------------------------------------------

PING = {"jsonrpc": "2.0", "method": "ping"}
INVALID = BadMessage(None, "invalid_request")

ENVELOPES: list[tuple[Any, Message]] = [
    (PING | {"id": 1}, RpcRequest(1, "ping", None)),
    (PING | {"id": 0}, RpcRequest(0, "ping", None)),
    (PING | {"id": ""}, RpcRequest("", "ping", None)),
    (PING | {"id": "a"}, RpcRequest("a", "ping", None)),
    (PING | {"id": -(2**63)}, RpcRequest(-(2**63), "ping", None)),
    (PING | {"id": "x" * 1024}, RpcRequest("x" * 1024, "ping", None)),
    (PING | {"id": 1, "params": {"a": 1}}, RpcRequest(1, "ping", {"a": 1})),
    (PING | {"id": 1, "params": [1]}, RpcRequest(1, "ping", [1])),
    (PING | {"id": 1, "params": None}, RpcRequest(1, "ping", None)),
    (PING | {"id": 1, "more": True}, RpcRequest(1, "ping", None)),
    (PING, RpcRequest(None, "ping", None)),
    (PING | {"id": None}, INVALID),
    (PING | {"id": True}, INVALID),
    (PING | {"id": 1.0}, INVALID),
    (PING | {"id": [1]}, INVALID),
    (PING | {"id": {}}, INVALID),
    (PING | {"id": 2**64}, INVALID),
    (PING | {"id": -(2**64)}, INVALID),
    (PING | {"id": "x" * 1025}, INVALID),
    (PING | {"id": 1, "params": "a"}, BadMessage(1, "invalid_request")),
    (PING | {"id": 1, "params": 0}, BadMessage(1, "invalid_request")),
    (PING | {"id": 1, "params": False}, BadMessage(1, "invalid_request")),
    (PING | {"params": "a"}, INVALID),
    ({"jsonrpc": "2.0", "id": 1, "method": 1}, BadMessage(1, "invalid_request")),
    ({"jsonrpc": "2.0", "id": 1, "method": None}, BadMessage(1, "invalid_request")),
    ({"jsonrpc": "2.0", "id": 1}, BadMessage(1, "invalid_request")),
    ({"jsonrpc": "2.0"}, INVALID),
    ({"jsonrpc": "1.0", "id": "a", "method": "ping"}, BadMessage("a", "invalid_request")),
    ({"jsonrpc": 2.0, "id": 1, "method": "ping"}, BadMessage(1, "invalid_request")),
    ({"id": 1, "method": "ping"}, BadMessage(1, "invalid_request")),
    ({"jsonrpc": "2.0", "id": 1, "result": None}, Ignored()),
    ({"jsonrpc": "2.0", "id": 1, "error": {"code": 1}}, Ignored()),
    ({"id": None, "error": {}}, Ignored()),
    (PING | {"id": 1, "result": 1}, RpcRequest(1, "ping", None)),
    (None, INVALID),
    (1, INVALID),
    ("ping", INVALID),
    (True, INVALID),
    ([], INVALID),
    ([PING], INVALID),
    ({}, INVALID),
]


@each(("value", "expected"), ENVELOPES)
def test_what_a_value_is(value: Any, expected: Message) -> None:
    found = message_of(value)
    assert found == expected
    assert type(found) is type(expected)
    if isinstance(found, RpcRequest):
        assert type(found.request_id) is type(value.get("id"))


@given(JSON)
def test_every_value_is_something(value: Any) -> None:
    assert isinstance(message_of(value), RpcRequest | BadMessage | Ignored)
    assert isinstance(is_request_id(value), bool)


# -- parameters ------------------------------------------------------------------------------------------------------


class Inner(Params):
    """A member with members."""

    kind: str
    size: Annotated[int, Meta(ge=0, le=9)] = 0


class Example(Params):
    """Parameters of a method that exists only here."""

    text: str
    inner: Inner | None = None
    many: list[Inner] = []
    free: dict[str, Any] | None = None


def test_parameters_are_typed() -> None:
    given_ = {"text": "x", "inner": {"kind": "k", "size": 3}, "_meta": {"progress": 1}}
    assert params_of(Example, given_) == Example(text="x", inner=Inner(kind="k", size=3))
    assert params_of(Empty, None) == Empty()
    assert params_of(Empty, {}) == Empty()


WRONG: list[tuple[Any, str]] = [
    ({}, "$.text"),
    (None, "$.text"),
    ({"text": 1}, "$.text"),
    ({"text": None}, "$.text"),
    ({"text": "x", "other": 1}, "$.other"),
    ({"text": "x", "inner": {}}, "$.inner.kind"),
    ({"text": "x", "inner": {"kind": "k", "more": 1}}, "$.inner.more"),
    ({"text": "x", "inner": {"kind": "k", "size": 10}}, "$.inner.size"),
    ({"text": "x", "inner": {"kind": "k", "size": 2**80}}, "$.inner.size"),
    ({"text": "x", "inner": {"kind": "k", "size": "3"}}, "$.inner.size"),
    ({"text": "x", "inner": {"kind": "k", "size": True}}, "$.inner.size"),
    ({"text": "x", "inner": {"kind": "k", "_meta": {}}}, "$.inner._meta"),
    ({"text": "x", "inner": {"kind": "k", "in_wVGxLHMOIYrPiMPVBMLUAoTj": 1}}, "$.inner"),  # no words: it may be a key
    ({"text": "x", "many": [{"kind": "a"}, {"kind": 1}]}, "$.many[1].kind"),
    ({"text": "x", "many": {"kind": "a"}}, "$.many"),
    ({"text": "x", "free": [1]}, "$.free"),
    (["x"], "$"),
    ([], "$"),
]


@each(("params", "path"), WRONG)
def test_a_wrong_parameter_is_named(params: Any, path: str) -> None:
    with pytest.raises(CallerError) as caught:
        params_of(Example, params)
    assert caught.value.reason == "invalid_params"
    assert caught.value.details is not None
    assert caught.value.details["path"] == path
    assert caught.value.details["problem"]
    assert path in caught.value.message


def test_the_form_of_a_wrong_identifier_is_told_without_a_language_of_its_own() -> None:
    with pytest.raises(CallerError) as caught:
        params_of(WorkspaceParams, {"workspace_id": "a b"})
    assert caught.value.details is not None
    assert caught.value.details["problem"] == "must be an id: letters, digits and _ . : -, at most 128 of them"


@given(JSON)
def test_no_parameters_do_more_than_fail(params: Any) -> None:
    if params is None or isinstance(params, (dict, list)):
        with pytest.raises(CallerError):
            params_of(Example, params)


# -- errors ----------------------------------------------------------------------------------------------------------


def no_incident(_error: BaseException) -> str:
    raise AssertionError("an error of the contract is no incident")


@each("reason", sorted(set(REASONS) - {"internal"}))
def test_an_error_of_the_contract_goes_out_as_it_is(reason: Any) -> None:
    found = error_of(Refused(reason, details={"why": "so"}), no_incident)
    info = REASONS[reason]
    assert (found.code, found.message) == (info.code, info.message)
    assert found.data.reason == reason
    assert found.data.retryable is info.retryable
    assert found.data.details == {"why": "so"}
    assert found.data.incident_id is None


@pytest.mark.parametrize(
    "error",
    [
        ValueError(SECRET),
        KeyError(SECRET),
        RuntimeError(SECRET, "/home/me"),
        OSError(2, SECRET, SECRET),
        Defect(message=SECRET),
        Defect("internal", SECRET, details={"text": SECRET}),
        ExceptionGroup(SECRET, [ValueError()]),
        AssertionError(SECRET),
        UnicodeEncodeError("utf-8", SECRET, 0, 1, SECRET),
        GatewayError("internal", SECRET),
    ],
    ids=lambda error: type(error).__name__,
)
def test_any_other_error_is_only_an_incident(error: Exception) -> None:
    seen: list[BaseException] = []

    def incident(failure: BaseException) -> str:
        seen.append(failure)
        return "inc_1"

    found = error_of(error, incident)
    assert seen == [error]
    assert msgspec.to_builtins(found) == {
        "code": -32603,
        "message": REASONS["internal"].message,
        "data": {"reason": "internal", "retryable": False, "details": None, "incident_id": "inc_1"},
    }


@pytest.mark.parametrize("request_id", [None, 1, "a"])
def test_an_error_reply_by_its_reason(request_id: Any) -> None:
    said = json.loads(error_reply(request_id, "message_too_large"))
    assert (said["jsonrpc"], said["id"], said["error"]["code"]) == ("2.0", request_id, -32600)
    assert said["error"]["data"]["reason"] == "message_too_large"
    assert "result" not in said


# -- calling ---------------------------------------------------------------------------------------------------------


class Echoed(Wire):
    """What the example method answers."""

    text: str


EXAMPLE = Method("example/echo", Example, Echoed, "Say it again.")


async def echo(params: Example) -> Echoed:
    return Echoed(text=params.text)


def replies(call: Callable[[Any], Awaitable[Any]], *requests: RpcRequest) -> list[dict[str, Any]]:
    incidents: list[str] = []

    def incident(error: BaseException) -> str:
        incidents.append(type(error).__name__)
        return f"inc_{len(incidents)}"

    dispatcher = Dispatcher({"example/echo": Bound(EXAMPLE, call)}, incident)
    found: list[dict[str, Any]] = []

    async def run() -> None:
        for request in requests:
            reply = await dispatcher.reply_to(request, lambda params: params)
            assert b"\n" not in reply.line
            said = json.loads(reply.line)
            assert said["jsonrpc"] == "2.0"
            assert said["id"] == request.request_id
            assert type(said["id"]) is type(request.request_id)
            assert reply.succeeded is ("result" in said)
            assert ("result" in said) != ("error" in said)
            assert SECRET not in reply.line.decode()
            found.append(said)

    anyio.run(run)
    return found


@pytest.mark.parametrize("request_id", [0, 1, -7, 2**64 - 1, "", "a", "\u2028\n"])
def test_a_request_is_answered_under_its_id(request_id: Any) -> None:
    (said,) = replies(echo, RpcRequest(request_id, "example/echo", {"text": "hi\n\u2028"}))
    assert said["result"] == {"text": "hi\n\u2028"}


def test_a_method_that_is_not_bound_is_not_found() -> None:
    for method in ("nope", "", "example", "__class__", "example/echo ", "\x00"):
        (said,) = replies(echo, RpcRequest(1, method, {"text": "x"}))
        assert said["error"]["data"]["reason"] == "method_not_found"
        assert said["error"]["code"] == -32601


def test_wrong_parameters_do_not_reach_the_service() -> None:
    called: list[Any] = []

    async def note(params: Example) -> Echoed:
        called.append(params)
        return Echoed(text="")

    for params, path in WRONG:
        (said,) = replies(note, RpcRequest(1, "example/echo", params))
        assert (said["error"]["code"], said["error"]["data"]["details"]["path"]) == (-32602, path)
    assert called == []


@pytest.mark.parametrize(
    "error", [ValueError(SECRET), Defect(message=SECRET), OSError(2, SECRET), ExceptionGroup(SECRET, [OSError()])]
)
def test_a_service_that_raises_a_secret_does_not_leak_it(error: Exception) -> None:
    async def fail(_params: Example) -> Echoed:
        raise error

    (said,) = replies(fail, RpcRequest(1, "example/echo", {"text": SECRET}))
    assert said["error"]["data"] == {"reason": "internal", "retryable": False, "details": None, "incident_id": "inc_1"}


def test_a_service_s_own_error_travels() -> None:
    async def refuse(_params: Example) -> Echoed:
        raise Unavailable("storage_full")

    (said,) = replies(refuse, RpcRequest(1, "example/echo", {"text": "x"}))
    assert said["error"]["data"]["reason"] == "storage_full"
    assert said["error"]["data"]["retryable"] is True


class Unencodable:
    """Nothing that JSON knows."""

    def __repr__(self) -> str:
        return SECRET


@each("make", [Unencodable, lambda: {"x": Unencodable()}, lambda: deep(1_000_000), lambda: "\ud800", lambda: {1j: 1}])
def test_a_result_that_cannot_be_encoded_is_an_incident(make: Callable[[], Any]) -> None:
    async def answer(_params: Example) -> Any:
        return make()

    (said,) = replies(answer, RpcRequest(1, "example/echo", {"text": "x"}))
    assert said["error"]["data"]["reason"] == "internal"


def test_an_error_that_cannot_be_encoded_is_an_incident() -> None:
    async def refuse(_params: Example) -> Any:
        raise Refused(details={"x": Unencodable()})

    (said,) = replies(refuse, RpcRequest(1, "example/echo", {"text": "x"}))
    assert said["error"]["data"]["reason"] == "internal"


def test_bind_joins_a_method_and_a_service() -> None:
    assert bind(EXAMPLE, echo) == Bound(EXAMPLE, echo)
    assert Dispatcher({"example/echo": bind(EXAMPLE, echo)}, no_incident).table == {"example/echo": EXAMPLE}
