"""Providers of both vendors' dialects: the real SDKs against a server on a real socket."""

import asyncio
import contextlib
import json
import threading
import time
from collections.abc import AsyncIterator, Callable, Coroutine
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from typing import Any, get_args

import pytest
from clock import SetClock
from fake_vendor import PATHS, Said, Vendor, recorded, refused, silent, vendor

from gateway.home import config as configuration
from gateway.providers import roles as providers_module
from gateway.providers import tries as provider_tries
from gateway.providers.faults import retry_after
from gateway.providers.roles import FACTORIES, FAULT_HINTS, PROBLEM_HINTS, Providers
from gateway.providers.vendor import MAX_ANSWER_CHARS, json_in
from protocol.conversation.host_turns import ToolSpec
from protocol.errors import CallerError
from protocol.gateway import ProviderProblem
from protocol.models import Message, ModelReply, ModelRequest, Picture, ProviderFailed, ProviderFault, ToolRequest
from protocol.settings import ProviderConfig, ProviderKind

KINDS = ("openai", "anthropic")
KEY = "key-of-this-test-1f9c"
TEXT = "Green tea, as always – 好 ☕."
TOOL = ToolSpec(name="request_tools", domain="memory", description="More tools.", parameters={"type": "object"})
PNG = Picture(mime="image/png", data=b"\x89PNG")


@pytest.fixture(autouse=True)
def surroundings(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gateway.providers.tries.FIRST_WAIT_SECONDS", 0)
    monkeypatch.setenv("PIONEER_TEST_KEY", KEY)
    for name in ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"):  # nothing of this is for a server of this machine
        monkeypatch.setenv(name, "http://127.0.0.1:9")


class Stage:
    """Configured providers, and what they stream."""

    def __init__(self, fake: Vendor, kind: str, **more: Any) -> None:
        text = fake.config(kind, "p", **{"api_key_env": "PIONEER_TEST_KEY", "timeout_ms": 20_000} | more)
        self.fake, self.kind = fake, kind
        config = configuration.read(text + '[gateway.roles]\nmain = "p"\n')[0]
        self.providers = Providers(config=lambda: config, folder=configuration.Path(), views=dict, clock=SetClock())
        self.streamed: list[str | None] = []
        self.streams = asyncio.Event()

    def delta(self, text: str) -> None:
        self.streamed.append(text)
        self.streams.set()

    def reset(self) -> None:
        self.streamed.append(None)

    async def ask(self, *messages: Message, **changes: Any) -> ModelReply:
        said = list(messages) or [Message(role="system", content="Be brief."), Message(role="user", content="What?")]
        asked = {"role": "main", "thread_id": "thr_1", "turn_id": "trn_1", "messages": said} | changes
        return await self.providers.complete(ModelRequest(**asked), self)

    async def failure(self, **changes: Any) -> ProviderFailed:
        with pytest.raises(ProviderFailed) as caught:
            await self.ask(**changes)
        return caught.value

    async def close(self) -> None:
        for _, made in self.providers._made.values():
            client = getattr(made, "_client", None)
            if client is not None:
                part = getattr(client, "_completions", None) or client._messages
                await part._client.close()


@contextlib.asynccontextmanager
async def staged(kind: str, *answers: Said, **more: Any) -> AsyncIterator[Stage]:
    async with vendor(*answers) as fake:
        stage = Stage(fake, kind, **more)
        try:
            yield stage
        finally:
            await stage.close()


def play(kind: str, scene: Callable[[Stage], Coroutine[Any, Any, None]], *answers: Said, **more: Any) -> None:
    async def whole() -> None:
        async with asyncio.timeout(240), staged(kind, *answers, **more) as stage:
            await scene(stage)

    asyncio.run(whole())


def both(test: Any) -> Any:
    return pytest.mark.parametrize("kind", KINDS)(test)


# -- what is said ------------------------------------------------------------------------------------------------------


@both
def test_an_answer_is_streamed_and_counted(kind: str) -> None:
    async def scene(stage: Stage) -> None:
        reply = await stage.ask()
        assert reply.text == "".join(piece or "" for piece in stage.streamed) == TEXT
        assert len(stage.streamed) == 4
        assert reply.usage is not None
        assert (reply.usage.input_tokens, reply.usage.output_tokens) == {"openai": (412, 17), "anthropic": (401, 17)}[
            kind
        ]
        (asked,) = stage.fake.asked
        assert asked.path == PATHS[kind]
        assert asked.key in {KEY, f"Bearer {KEY}"}  # the header that carries it is the library's choice
        assert (asked.body["model"], asked.body["stream"]) == ("m-1", True)
        assert "tools" not in asked.body

    play(kind, scene, recorded(f"{kind}_text"))


@both
def test_tool_calls_come_in_pieces_side_by_side(kind: str) -> None:
    async def scene(stage: Stage) -> None:
        reply = await stage.ask(tools=[TOOL])
        assert [(call.name, call.arguments) for call in reply.tool_calls] == [
            ("request_tools", {"domains": ["memory"], "reason": "to look it up"}),
            ("request_tools", {"domains": ["artifact"], "reason": "a file"}),
            ("request_tools", None),
        ]
        assert len({call.call_id for call in reply.tool_calls}) == 3
        told = [Message(role="assistant", content=reply.text, tool_calls=reply.tool_calls)]
        told += [
            Message(role="tool", content=f"r{n}", tool_call_id=c.call_id, pictures=[PNG][n:])
            for n, c in enumerate(reply.tool_calls)
        ]
        await stage.ask(Message(role="user", content="What?"), *told, tools=[TOOL])
        first, second = (asked.body for asked in stage.fake.asked)
        assert (
            first["tools"]
            == {
                "openai": [
                    {
                        "type": "function",
                        "function": {
                            "name": "request_tools",
                            "description": "More tools.",
                            "parameters": {"type": "object"},
                        },
                    }
                ],
                "anthropic": [
                    {"name": "request_tools", "description": "More tools.", "input_schema": {"type": "object"}}
                ],
            }[kind]
        )
        ids = [call.call_id for call in reply.tool_calls]
        if kind == "openai":
            assistant, *answers, pictures = second["messages"][1:]
            assert [call["id"] for call in assistant["tool_calls"]] == [one["tool_call_id"] for one in answers] == ids
            assert json.loads(assistant["tool_calls"][0]["function"]["arguments"])["domains"] == ["memory"]
            assert assistant["tool_calls"][2]["function"]["arguments"] == "{}"
            assert [one["content"] for one in answers] == ["r0", "r1", "r2"]
            assert (pictures["role"], pictures["content"][1]["image_url"]["url"]) == (
                "user",
                "data:image/png;base64,iVBORw==",
            )
        else:
            _, assistant, results = second["messages"]
            assert assistant["content"][0] == {
                "type": "thinking",
                "thinking": "What did they say?",
                "signature": "EqQBCgIYAhIM1gbcDa9GJwZA2b3h",
            }
            assert [(b["id"], b["input"]) for b in assistant["content"][2:]] == list(
                zip(
                    ids,
                    [
                        {"domains": ["memory"], "reason": "to look it up"},
                        {"domains": ["artifact"], "reason": "a file"},
                        {},
                    ],
                    strict=True,
                )
            )
            assert [block["tool_use_id"] for block in results["content"]] == ids
            assert [part["type"] for part in results["content"][0]["content"]] == ["text", "image"]

    play(kind, scene, recorded(f"{kind}_tools"), recorded(f"{kind}_text"))


def chunks(*choices: dict[str, Any]) -> Said:
    return Said(tuple(b"data: %s\n\n" % json.dumps({"choices": [choice]}).encode() for choice in choices))


def test_servers_that_number_their_calls_badly() -> None:
    def call(**members: Any) -> dict[str, Any]:
        return {"delta": {"tool_calls": [{"function": {"name": "t", "arguments": '{"a": 1}'}, **members}]}}

    async def scene(stage: Stage) -> None:
        for expected in (2, 1):
            reply = await stage.ask(tools=[TOOL])
            assert [c.arguments for c in reply.tool_calls] == [{"a": 1}] * expected
            assert all(call.call_id for call in reply.tool_calls)

    end = {"delta": {}, "finish_reason": "tool_calls"}
    play("openai", scene, chunks(call(index=0, id="x"), call(index=0, id="y"), end), chunks(call(id=""), end))


@both
def test_pictures_and_empty_messages(kind: str) -> None:
    said = [
        Message(role="assistant", content="Hello?"),
        Message(role="user", content="one"),
        Message(role="assistant", content="yes"),
        Message(role="user", content="  "),
        Message(role="user", content="look", pictures=[PNG]),
    ]

    async def scene(stage: Stage) -> None:
        await stage.ask(Message(role="system", content="S"), *said)
        body = stage.fake.asked[0].body
        if kind == "openai":
            assert [m["role"] for m in body["messages"]] == ["system", "assistant", "user", "assistant", "user"]
            assert body["messages"][-1]["content"][0] == {"type": "text", "text": "look"}
            assert body["messages"][-1]["content"][1]["image_url"]["url"].startswith("data:image/png;base64,")
        else:
            assert [m["role"] for m in body["messages"]] == ["user", "assistant", "user", "assistant", "user"]
            assert body["system"][0]["text"] == "S"
            assert [part["type"] for part in body["messages"][-1]["content"]] == ["image", "text"]
            assert all(part.get("text", "x").strip() for m in body["messages"] for part in m["content"])

    play(kind, scene, recorded(f"{kind}_text"))


@both
@pytest.mark.parametrize(("asked", "sent"), [(None, 8192), (300, 300)])
def test_a_bound_of_the_answer(kind: str, asked: int | None, sent: int) -> None:
    async def scene(stage: Stage) -> None:
        await stage.ask(model="m-2")
        body = stage.fake.asked[0].body
        assert body["model"] == "m-2"
        assert body.get("max_tokens") == (sent if kind == "anthropic" else asked)

    more = {} if asked is None else {"max_output_tokens": asked}
    play(kind, scene, recorded(f"{kind}_text"), **more)


# -- JSON --------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["openai_json", "openai_thinking_json", "anthropic_json"])
def test_json_is_found_in_an_answer(name: str) -> None:
    async def scene(stage: Stage) -> None:
        reply = await stage.ask(json_answer=True)
        assert json.loads(reply.text)["facts"][0]["evidence"]["quote"] == "I drink green tea every morning"
        asked = stage.fake.asked[0].body.get("response_format")
        assert asked == ({"type": "json_object"} if stage.kind == "openai" else None)

    play(name.partition("_")[0], scene, recorded(name))


def test_a_server_without_json_mode_is_asked_without_from_then_on() -> None:
    async def scene(stage: Stage) -> None:
        for _ in range(2):
            assert "facts" in (await stage.ask(json_answer=True)).text
        extras = [{"response_format", "stream_options"} & set(asked.body) for asked in stage.fake.asked]
        assert extras == [{"response_format", "stream_options"}, set(), set()]

    no = refused(400, {"error": "'response_format.type' must be 'json_schema' or 'text'"})
    play("openai", scene, no, recorded("openai_json"), recorded("openai_json"))


def test_a_request_that_is_refused_for_another_reason_changes_nothing() -> None:
    async def scene(stage: Stage) -> None:
        assert (await stage.failure()).fault == "rejected"
        await stage.ask()
        assert "stream_options" in stage.fake.asked[-1].body
        assert len(stage.fake.asked) == 3

    no = refused(400, {"error": {"code": "context_length_exceeded", "message": "too long"}})
    play("openai", scene, no, no, recorded("openai_text"))


@pytest.mark.parametrize("text", ["", "no", "{", '{"a": }', "}{", "[1]", "{a} no {"])
def test_no_json(text: str) -> None:
    with pytest.raises(ProviderFailed) as caught:
        json_in(text)
    assert caught.value.fault == "bad_json"


# -- faults ------------------------------------------------------------------------------------------------------------

CANARY = "canary-words-of-a-server"
WRONG = {"error": {"message": CANARY, "type": "some_error"}}
FAULTS = [
    ("wrong key", refused(401, WRONG), "auth", 1),
    ("no right", refused(403, WRONG), "auth", 1),
    ("no money", refused(402, WRONG), "auth", 1),
    ("quota", refused(429, {"error": {"message": CANARY, "code": "insufficient_quota"}}), "auth", 1),
    ("wrong model", refused(404, WRONG), "not_configured", 1),
    ("too long", refused(413, WRONG), "rejected", 1),
    ("moved", refused(307, b"", location="http://127.0.0.1:9/elsewhere"), "rejected", 1),
    ("busy", refused(429, WRONG), "http_429", 3),
    ("broken", refused(500, WRONG), "http_500", 3),
    ("overloaded", refused(529, b"<html>overloaded</html>"), "http_500", 3),
    ("mid-stream", None, "http_500", 3),
    ("cut", "cut", "disconnect", 3),
    ("ends early", "early", "disconnect", 3),
    ("garbage", Said((b'event: message_start\ndata: {"type": \n\n',)), "bad_json", 1),
    ("no UTF-8", Said((b"event: message_start\ndata: \xff\xfe\n\n",)), "bad_json", 1),
    (
        "other shape",
        Said((b'event: message_start\ndata: {"type": "message_start", "message": 7, "choices": 7}\n\n',)),
        "bad_json",
        1,
    ),
    ("a web page", Said((b"<!DOCTYPE html><html></html>",), headers=(("content-type", "text/html"),)), "bad_json", 1),
]


@both
@pytest.mark.parametrize(("answer", "fault", "tries"), [row[1:] for row in FAULTS], ids=[row[0] for row in FAULTS])
def test_every_fault_has_its_code_and_its_tries(kind: str, answer: Any, fault: str, tries: int) -> None:
    said = {
        None: recorded(f"{kind}_error"),
        "cut": recorded(f"{kind}_text", pieces=4, then="cut"),
        "early": recorded(f"{kind}_text", pieces=4),
    }
    answer = said.get(answer, answer) if answer is None or isinstance(answer, str) else answer

    async def scene(stage: Stage) -> None:
        failed = await stage.failure()
        assert failed.fault == fault
        extra = 1 if kind == "openai" and fault == "rejected" else 0  # once more without what not every server knows
        assert len(stage.fake.asked) == tries + extra
        assert CANARY not in "".join(str(error) + repr(error) for error in (failed, failed.__cause__))
        assert failed.retryable == (fault not in {"auth", "rejected", "not_configured"})
        assert stage.streamed.count(None) == tries - 1

    play(kind, scene, *[answer] * 4)


@both
def test_a_stream_that_breaks_begins_anew(kind: str) -> None:
    async def scene(stage: Stage) -> None:
        assert (await stage.ask()).text == TEXT
        first, again = "".join(p or "|" for p in stage.streamed).split("|")
        assert (TEXT.startswith(first), len(first) > 0, again) == (True, True, TEXT)
        assert stage.providers.states() == []

    play(kind, scene, recorded(f"{kind}_text", pieces=4, then="cut"), recorded(f"{kind}_text"))


@both
@pytest.mark.parametrize("answer", ["silent", "stuck", "pings"])
def test_silence_is_not_waited_for(kind: str, answer: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither before the first byte nor later, nor where a server only shows that it lives."""
    ping = b": still here\n\n" if kind == "openai" else b'event: ping\ndata: {"type": "ping"}\n\n'
    said = {
        "silent": silent(),
        "stuck": recorded(f"{kind}_text", pieces=4, then="hang"),
        "pings": Said((ping,) * 50, then="hang"),
    }[answer]
    monkeypatch.setattr(provider_tries, "MAX_TRIES", 1)

    async def scene(stage: Stage) -> None:
        assert (await stage.failure()).fault == "timeout"
        await stage.fake.left.wait()

    play(kind, scene, said, timeout_ms=400)


@both
def test_nobody_listens(kind: str) -> None:
    async def scene(stage: Stage) -> None:
        assert (await stage.failure()).fault == "disconnect"
        assert stage.fake.asked == []

    play(kind, scene, base_url="http://127.0.0.1:1/v1")


@both
@pytest.mark.parametrize("pieces", [0, 4])
def test_a_cancelled_call_closes_its_connection(kind: str, pieces: int) -> None:
    async def scene(stage: Stage) -> None:
        asked = asyncio.ensure_future(stage.ask())
        await stage.fake.begun.wait()
        if pieces:
            await stage.streams.wait()
        asked.cancel()
        with pytest.raises(asyncio.CancelledError):
            await asked
        await stage.fake.left.wait()  # the server never ends by itself; how soon it is left, a journey measures

    play(kind, scene, recorded(f"{kind}_text", pieces=pieces, then="hang") if pieces else silent())


@both
def test_a_call_can_be_left_while_the_library_is_imported(kind: ProviderKind, monkeypatch: pytest.MonkeyPatch) -> None:
    inside, leave = threading.Event(), threading.Event()
    real = FACTORIES[kind]

    def slow(config: ProviderConfig, *more: Any) -> Any:
        made: Any = real(config, *more)
        connect = made._connect
        made._connect = lambda *given: (inside.set(), leave.wait(20), connect(*given))[2]
        return made

    monkeypatch.setattr(providers_module, "FACTORIES", {kind: slow})

    async def scene(stage: Stage) -> None:
        asked = asyncio.ensure_future(stage.ask())
        await asyncio.to_thread(inside.wait, 20)
        asked.cancel()
        with pytest.raises(asyncio.CancelledError):
            await asked
        leave.set()
        assert stage.fake.asked == []

    play(kind, scene)


@both
def test_an_endless_answer_ends(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gateway.providers.vendor.MAX_ANSWER_CHARS", 9)
    assert MAX_ANSWER_CHARS > 1_000_000

    async def scene(stage: Stage) -> None:
        assert (await stage.failure()).fault == "bad_json"

    play(kind, scene, recorded(f"{kind}_text"))


def test_a_defect_of_ours_is_not_taken_for_the_servers(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_given: Any) -> None:
        raise AttributeError("ours")

    async def scene(stage: Stage) -> None:
        with pytest.raises(AttributeError):
            await stage.ask()

    monkeypatch.setattr("gateway.providers.openai_chat.OpenAIChat.read", broken)
    play("openai", scene, recorded("openai_text"))


# -- how long to wait --------------------------------------------------------------------------------------------------


@both
def test_a_server_says_when_to_come_again(kind: str) -> None:
    async def scene(stage: Stage) -> None:
        began = time.monotonic()
        assert (await stage.ask()).text == TEXT
        assert time.monotonic() - began >= 0.25

    play(kind, scene, refused(429, WRONG, retry_after="0.3"), recorded(f"{kind}_text"))


@both
def test_one_that_wants_too_much_patience_is_not_asked_again(kind: str) -> None:
    async def scene(stage: Stage) -> None:
        failed = await stage.failure()
        assert (failed.fault, failed.retry_after, len(stage.fake.asked)) == ("http_429", 60, 1)

    play(kind, scene, refused(429, WRONG, retry_after="60"), recorded(f"{kind}_text"))


@pytest.mark.parametrize(
    ("headers", "expected"),
    [
        ({}, None),
        ({"retry-after": "2"}, 2.0),
        ({"retry-after": "0"}, 0.0),
        ({"retry-after": "1.5"}, 1.5),
        ({"retry-after-ms": "250", "retry-after": "1"}, 0.25),
        ({"retry-after-ms": "x", "retry-after": "1"}, 1.0),
        ({"retry-after": "-1"}, None),
        ({"retry-after": "nan"}, None),
        ({"retry-after": "inf"}, None),
        ({"retry-after": "soon"}, None),
        ({"retry-after": "Wed, 21 Oct 2015 07:28:00 GMT"}, 0.0),
        ({"retry-after": "Wed, 99 Oct 2015 07:28:00 GMT"}, None),
    ],
)
def test_forms_of_retry_after(headers: dict[str, str], expected: float | None) -> None:
    assert retry_after(headers) == expected


def test_a_date_to_come_again() -> None:
    found = retry_after({"retry-after": format_datetime(datetime.now(UTC) + timedelta(seconds=100), usegmt=True)})
    assert found is not None
    assert 60 < found <= 100


# -- keys and surroundings ---------------------------------------------------------------------------------------------

OTHERS = {
    "OPENAI_API_KEY": "other",
    "OPENAI_ADMIN_KEY": "other",
    "OPENAI_ORG_ID": "other",
    "OPENAI_PROJECT_ID": "other",
    "OPENAI_BASE_URL": "http://127.0.0.1:9/other",
    "OPENAI_CUSTOM_HEADERS": "X-Other: other\nAuthorization: other",
    "ANTHROPIC_API_KEY": "other",
    "ANTHROPIC_AUTH_TOKEN": "other",
    "ANTHROPIC_BASE_URL": "http://127.0.0.1:9/other",
    "ANTHROPIC_CUSTOM_HEADERS": "X-Other: other\nX-Api-Key: other",
}


@both
@pytest.mark.parametrize("has_key", [True, False])
def test_nothing_of_the_environment_goes_along_but_the_key_that_is_named(
    kind: str,
    has_key: bool,  # noqa: FBT001
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for name, value in OTHERS.items():
        monkeypatch.setenv(name, value)

    async def scene(stage: Stage) -> None:
        await stage.ask()
        (asked,) = stage.fake.asked
        assert "other" not in json.dumps(asked.headers)
        assert "none" not in (asked.key or "")
        if not has_key:
            assert asked.key is None

    key = {"api_key_env": "PIONEER_TEST_KEY"} if has_key else {}
    text = recorded(f"{kind}_text")

    async def whole() -> None:
        async with vendor(text) as fake:
            stage = Stage(fake, kind)
            config = configuration.read(fake.config(kind, "p", **key) + '[gateway.roles]\nmain = "p"\n')[0]
            stage.providers._config = lambda: config
            await scene(stage)
            await stage.close()

    asyncio.run(whole())


@pytest.mark.parametrize(
    ("settings", "environment", "problem"),
    [
        ({"base_url": "http://127.0.0.1:9"}, None, None),
        ({"base_url": "https://models.example/v1", "api_key_env": "PIONEER_NO_KEY"}, "k", None),
        ({"base_url": "https://models.example/v1", "api_key_env": "PIONEER_NO_KEY"}, None, "key_missing"),
        ({"api_key_env": "PIONEER_NO_KEY"}, "", "key_missing"),
        ({"api_key_env": "PIONEER_NO_KEY"}, "two\nlines", "key_missing"),
        ({"api_key_env": "PIONEER_NO_KEY"}, "ключ", "key_missing"),
        ({"api_key_env": "PIONEER_NO_KEY"}, " k\n", None),
        ({}, None, "key_missing"),
        ({"base_url": "models.example/v1"}, None, "base_url_invalid"),
        ({"base_url": "file:///etc/passwd"}, None, "base_url_invalid"),
        ({"base_url": "http://[::1"}, None, "base_url_invalid"),
        ({"base_url": "http://127.0.0.1:9", "model": None}, None, "model_missing"),
    ],
)
@both
def test_what_keeps_a_provider_from_being_asked_is_named(
    kind: ProviderKind,
    settings: dict[str, Any],
    environment: str | None,
    problem: str | None,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    if environment is not None:
        monkeypatch.setenv("PIONEER_NO_KEY", environment)
    config = ProviderConfig(kind=kind, **{"model": "m", **settings})
    assert providers_module.problem_of(config) == problem
    if settings.get("model", "m") is None:
        assert providers_module.problem_of(config, "another") is None


@both
def test_without_the_extra_a_provider_says_what_to_install(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    async def scene(stage: Stage) -> None:
        assert (await stage.failure()).reason == "provider_not_configured"
        tested = await stage.providers.test("p")
        assert (tested.ok, tested.error, tested.hint) == (False, "not_configured", PROBLEM_HINTS["extra_missing"])

    monkeypatch.setattr("gateway.providers.connection.find_spec", lambda _name: None)
    play(kind, scene)


@both
def test_a_provider_is_tested_with_one_try(kind: str) -> None:
    async def scene(stage: Stage) -> None:
        tested = await stage.providers.test("p")
        assert (tested.ok, tested.error, tested.hint) == (False, "http_429", FAULT_HINTS["http_429"])
        tested = await stage.providers.test("p")
        assert (tested.ok, tested.error, tested.hint) == (True, None, None)
        assert len(stage.fake.asked) == 2
        with pytest.raises(CallerError):
            await stage.providers.test("nobody")

    play(kind, scene, refused(429, WRONG), recorded(f"{kind}_text"))


def test_every_fault_and_problem_has_a_hint_and_every_kind_a_factory() -> None:
    assert set(FAULT_HINTS) == set(get_args(ProviderFault))
    assert set(PROBLEM_HINTS) == set(get_args(ProviderProblem))
    assert set(FACTORIES) == set(get_args(ProviderKind))


def test_a_call_without_arguments() -> None:
    async def scene(stage: Stage) -> None:
        reply = await stage.ask(tools=[TOOL])
        assert [(type(call), call.arguments) for call in reply.tool_calls] == [(ToolRequest, {})]

    started = (
        b'data: {"choices": [{"delta": {"tool_calls": [{"index": 0, "id": "c", "function": {"name": "t"}}]}}]}\n\n'
    )
    play("openai", scene, Said((started, b'data: {"choices": [{"delta": null, "finish_reason": "tool_calls"}]}\n\n')))


def test_thoughts_that_a_server_tells_go_back_with_the_results() -> None:
    async def scene(stage: Stage) -> None:
        reply = await stage.ask(tools=[TOOL])
        assert reply.text == ""
        asked = Message(role="assistant", content="", tool_calls=reply.tool_calls)
        done = Message(role="tool", content="r", tool_call_id="c")
        await stage.ask(Message(role="user", content="What?"), asked, done, Message(role="assistant", content="x"))
        sent = stage.fake.asked[1].body["messages"]
        assert [message.get("reasoning_content") for message in sent] == [None, "Look it up.", None, None]

    call = {"delta": {"tool_calls": [{"index": 0, "id": "c", "function": {"name": "t", "arguments": "{}"}}]}}
    thoughts = [{"delta": {"reasoning_content": piece}} for piece in ("Look ", "it up.")]
    end = {"delta": {}, "finish_reason": "tool_calls"}
    play("openai", scene, chunks(*thoughts, call, end), recorded("openai_text"))
