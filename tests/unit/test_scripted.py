"""The scripted provider: which rule answers, how often, when, and what is written down."""

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest
from clock import START, SetClock
from hypothesis import given
from hypothesis import strategies as st

from gateway.providers.roles import Providers
from gateway.providers.scripted import Script, ScriptError, pieces
from protocol.conversation.host_turns import ToolSpec
from protocol.models import Message, ModelRequest, ProviderFailed
from protocol.settings import GatewayConfig, ProviderConfig, RoleSettings


@pytest.fixture(autouse=True)
def no_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gateway.providers.tries.FIRST_WAIT_SECONDS", 0)
    monkeypatch.setattr("gateway.providers.tries.MAX_WAIT_SECONDS", 0)


class Stage:
    """A script in a folder, and the provider that reads it."""

    def __init__(self, folder: Path, *rules: dict[str, Any]) -> None:
        self.script = folder / "script.jsonl"
        self.record = folder / "record.jsonl"
        self.write(*rules)
        provider = ProviderConfig(kind="scripted", script="script.jsonl", record="record.jsonl")
        config = GatewayConfig(
            roles=RoleSettings(main="p", extractor="p", preflight="p"),
            providers={"p": provider, "real": ProviderConfig(kind="openai")},
        )
        self.providers = Providers(config=lambda: config, folder=folder, views=dict, clock=SetClock())
        self.deltas: list[str] = []
        self.resets = 0

    def write(self, *rules: dict[str, Any]) -> None:
        self.script.write_text("\n".join(json.dumps(rule) for rule in rules) + "\n\n", encoding="utf-8")

    def delta(self, text: str) -> None:
        self.deltas.append(text)

    def reset(self) -> None:
        self.resets += 1

    def request(self, text: str = "hello", **changes: Any) -> ModelRequest:
        messages = [Message(role="system", content="You are"), Message(role="user", content=text)]
        return ModelRequest(
            **{"role": "main", "thread_id": "thr_1", "turn_id": "trn_1", "messages": messages} | changes
        )

    async def complete(self, text: str = "hello", **changes: Any) -> Any:
        return await self.providers.complete(self.request(text, **changes), self)

    def ask(self, text: str = "hello", **changes: Any) -> str:
        return asyncio.run(self.complete(text, **changes)).text

    def recorded(self) -> list[dict[str, Any]]:
        return [json.loads(line) for line in self.record.read_text(encoding="utf-8").splitlines()]


def says(text: str, role: str = "main", **rule: Any) -> dict[str, Any]:
    return {"role": role, "respond": {"text": text}, **rule}


def fails(error: str, **rule: Any) -> dict[str, Any]:
    return {"role": "any", "respond": {"error": error}, **rule}


# -- which rule ------------------------------------------------------------------------------------------------------


def test_the_first_rule_that_fits_answers(tmp_path: Path) -> None:
    stage = Stage(
        tmp_path,
        says("tea!", input_contains="tea"),
        says("second", round=2),
        says("x", "extractor"),
        says("any", "any"),
    )
    assert stage.ask("I like tea") == "tea!"
    assert stage.ask("I like TEA") == "any"
    assert stage.ask(round=2) == "second"
    assert stage.ask(role="extractor") == "x"
    assert stage.ask(role="preflight") == "any"
    assert stage.ask("You are") == stage.ask() == "any"
    stage.write(says("in the system text", input_contains="You are\nhello"))
    assert stage.ask() == "in the system text"


def test_without_a_rule_main_is_content_and_the_others_are_unavailable(tmp_path: Path) -> None:
    stage = Stage(tmp_path)
    assert stage.ask() == "OK."
    for role in ("preflight", "extractor"):
        with pytest.raises(ProviderFailed) as caught:
            stage.ask(role=role)
        assert caught.value.fault == "not_configured"


def test_rules_are_used_up_each_for_itself(tmp_path: Path) -> None:
    rules = [says("once", times=1), says("once", times=1), says("twice", times=2), says("never", times=0)]
    stage = Stage(tmp_path, *rules)
    assert [stage.ask() for _ in range(5)] == ["once", "once", "twice", "twice", "OK."]
    stage.write(*rules, says("new"))
    assert [stage.ask() for _ in range(2)] == ["new", "new"]
    stage.write(says("changed entirely", times=1))
    assert [stage.ask() for _ in range(2)] == ["changed entirely", "OK."]


@pytest.mark.parametrize(
    "line",
    ["{", "[]", '{"role": "main"}', '{"role": "king", "respond": {}}', '{"role":"main","respond":{"words":"x"}}'],
)
def test_a_script_that_cannot_be_read(tmp_path: Path, line: str) -> None:
    stage = Stage(tmp_path)
    stage.script.write_text(line, encoding="utf-8")
    with pytest.raises(ScriptError):
        Script(stage.script).answer_to(stage.request())
    with pytest.raises(ProviderFailed) as caught:
        stage.ask()
    assert caught.value.fault == "not_configured"
    stage.script.unlink()
    with pytest.raises(ProviderFailed):
        stage.ask()
    stage.write(says("back"))
    assert stage.ask() == "back"


# -- what it answers -------------------------------------------------------------------------------------------------


def test_tool_calls_and_json(tmp_path: Path) -> None:
    calls = [{"name": "memory_get", "arguments": {"memory_id": "mem_1"}}, {"name": "request_tools"}]
    stage = Stage(
        tmp_path,
        {"role": "main", "respond": {"tool_calls": calls}},
        {"role": "extractor", "respond": {"json": {"facts": []}}},
    )
    reply = asyncio.run(stage.complete())
    assert [(call.name, call.arguments) for call in reply.tool_calls] == [
        ("memory_get", {"memory_id": "mem_1"}),
        ("request_tools", {}),
    ]
    again = asyncio.run(stage.complete())
    assert len({call.call_id for call in [*reply.tool_calls, *again.tool_calls]}) == 4
    assert stage.deltas == []
    assert json.loads(stage.ask(role="extractor")) == {"facts": []}


@given(st.text(max_size=60), st.integers(-1, 70))
def test_pieces_join_to_the_text(text: str, count: int) -> None:
    found = pieces(text, count)
    assert "".join(found) == text
    assert len(found) == max(1, min(count, len(text)))
    assert all(found) or not text


@pytest.mark.parametrize(("chunks", "deltas"), [(1, 1), (3, 3), (100, 11)])
def test_a_stream_has_as_many_deltas_as_asked(tmp_path: Path, chunks: int, deltas: int) -> None:
    stage = Stage(tmp_path, says("Hello world", stream_chunks=chunks))
    assert stage.ask() == "".join(stage.deltas) == "Hello world"
    assert len(stage.deltas) == deltas


# -- errors and tries ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("error", "reason", "tries"),
    [
        ("timeout", "provider_timeout", 3),
        ("disconnect", "provider_unavailable", 3),
        ("http_429", "provider_rate_limited", 3),
        ("http_500", "provider_unavailable", 3),
        ("bad_json", "provider_failed", 1),
    ],
)
def test_errors_are_tried_as_often_as_they_deserve(tmp_path: Path, error: str, reason: str, tries: int) -> None:
    stage = Stage(tmp_path, fails(error))
    with pytest.raises(ProviderFailed) as caught:
        stage.ask(round=2)
    assert (caught.value.fault, caught.value.reason) == (error, reason)
    assert [(line["attempt"], line["round"], line["seq"]) for line in stage.recorded()] == [
        (n, 2, n) for n in range(1, tries + 1)
    ]
    assert stage.resets == tries - 1


def test_a_second_try_may_succeed(tmp_path: Path) -> None:
    stage = Stage(tmp_path, fails("http_500", times=1), fails("disconnect", times=1), says("at last"))
    assert stage.ask() == "at last"
    assert (len(stage.recorded()), stage.resets, stage.deltas) == (3, 2, ["at last"])


def test_providers_that_are_not_there(tmp_path: Path) -> None:
    stage = Stage(tmp_path, says("hi"))
    for name in ("nobody", "real"):
        with pytest.raises(ProviderFailed) as caught:
            stage.ask(provider=name)
        assert caught.value.reason == "provider_not_configured"
    assert stage.ask(provider="p") == "hi"


# -- the record ------------------------------------------------------------------------------------------------------


def test_a_call_is_recorded_before_it_is_answered(tmp_path: Path) -> None:
    stage = Stage(tmp_path, says("late", delay_ms=60_000))
    tool = ToolSpec(name="t", domain="memory", description="d", parameters={"type": "object"})

    async def scene() -> None:
        asked = asyncio.ensure_future(stage.complete(tools=[tool]))
        async with asyncio.timeout(5):
            while not stage.record.exists() or not stage.recorded():  # noqa: ASYNC110  # a file says nothing when it grows
                await asyncio.sleep(0)
        assert not asked.done()
        asked.cancel()
        with pytest.raises(asyncio.CancelledError):
            await asked

    asyncio.run(scene())
    assert stage.recorded() == [
        {
            "seq": 1,
            "role": "main",
            "thread_id": "thr_1",
            "turn_id": "trn_1",
            "round": 1,
            "attempt": 1,
            "messages": [{"role": "system", "content": "You are"}, {"role": "user", "content": "hello"}],
            "tools": [{"name": "t", "description": "d", "parameters": {"type": "object"}}],
            "at": START,
        }
    ]
    assert stage.deltas == []


def test_a_delay_is_real(tmp_path: Path) -> None:
    stage = Stage(tmp_path, says("later", delay_ms=30))

    async def scene() -> float:
        loop = asyncio.get_running_loop()
        begun = loop.time()
        await stage.complete()
        return loop.time() - begun

    assert asyncio.run(scene()) >= 0.03
