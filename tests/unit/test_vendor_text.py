"""What a server says is text that can be stored and sent, whatever it sends: by the real SDKs, from a real socket."""

import json
from typing import Any

import pytest
from fake_vendor import Said
from test_vendor_models import TOOL, Stage, both, chunks, play, surroundings

from gateway.providers.vendor import MAX_ANSWER_CALLS, IncomingAnswer, join_surrogates, json_in
from gateway.wire.rpc import MAX_DEPTH
from protocol.models import Message, MessageRole, Picture, ProviderFailed, ToolRequest

__all__ = ["surroundings"]

HIGH, LOW, FACE, GONE = "\ud83d", "\ude00", "\U0001f600", "\N{REPLACEMENT CHARACTER}"
SPLIT = [
    (["Hi ", HIGH, LOW + " there"], f"Hi {FACE} there"),
    (["Hi " + HIGH, "", LOW], f"Hi {FACE}"),
    ([HIGH, HIGH, LOW], GONE + FACE),
    ([HIGH, "x"], GONE + "x"),
    ([LOW, "x", HIGH], GONE + "x" + GONE),
    (["\ufeff", HIGH + LOW], "\ufeff" + FACE),
]


def events(*told: dict[str, Any]) -> Said:
    """Events of the anthropic dialect."""
    lines = [f"event: {one['type']}\ndata: {json.dumps(one)}\n\n" for one in told]
    return Said(tuple(line.encode() for line in lines))


def block(index: int, start: dict[str, Any], *deltas: dict[str, Any]) -> list[dict[str, Any]]:
    begun = {"type": "content_block_start", "index": index, "content_block": start}
    return [begun, *({"type": "content_block_delta", "index": index, "delta": delta} for delta in deltas)]


def says(kind: str, pieces: list[str]) -> Said:
    if kind == "openai":
        return chunks(*({"delta": {"content": piece}} for piece in pieces), {"delta": {}, "finish_reason": "stop"})
    deltas = [{"type": "text_delta", "text": piece} for piece in pieces]
    return events(*block(0, {"type": "text", "text": ""}, *deltas), {"type": "message_stop"})


def calls(kind: str, call_id: str, name: str, *arguments: str, thoughts: tuple[str, ...] = ()) -> Said:
    if kind == "openai":
        first = {"index": 0, "id": call_id, "function": {"name": name, "arguments": ""}}
        more = [{"index": 0, "function": {"arguments": piece}} for piece in arguments]
        thought = [{"delta": {"reasoning_content": piece}} for piece in thoughts]
        asked = [{"delta": {"tool_calls": [call]}} for call in (first, *more)]
        return chunks(*thought, *asked, {"delta": {}, "finish_reason": "tool_calls"})
    thought = block(
        0,
        {"type": "thinking", "thinking": "", "signature": "s"},
        *({"type": "thinking_delta", "thinking": piece} for piece in thoughts),
    )
    pieces = [{"type": "input_json_delta", "partial_json": piece} for piece in arguments]
    asked = block(1, {"type": "tool_use", "id": call_id, "name": name, "input": {}}, *pieces)
    return events(*thought, *asked, {"type": "message_stop"})


@both
@pytest.mark.parametrize(("pieces", "whole"), SPLIT)
def test_a_character_that_comes_in_halves_is_one_and_half_a_one_is_none(
    kind: str, pieces: list[str], whole: str
) -> None:
    async def scene(stage: Stage) -> None:
        reply = await stage.ask()
        assert reply.text == "".join(piece or "" for piece in stage.streamed) == whole
        assert all((piece or "").encode() for piece in stage.streamed)

    play(kind, scene, says(kind, pieces))


@both
def test_halves_in_a_tool_call_and_in_thoughts_go_back_whole(kind: str) -> None:
    async def scene(stage: Stage) -> None:
        reply = await stage.ask(tools=[TOOL])
        (call,) = reply.tool_calls
        assert (call.call_id, call.name, call.arguments) == (f"c{GONE}", f"t{GONE}", {"a": FACE})
        asked = Message(role="assistant", content=reply.text, tool_calls=reply.tool_calls)
        done = Message(role="tool", content="r", tool_call_id=call.call_id)
        await stage.ask(Message(role="user", content="What?"), asked, done)
        told = json.dumps(stage.fake.asked[1].body, ensure_ascii=False)
        assert f"so {FACE}" in told
        assert told.count(f"c{GONE}") == 2

    call = calls(kind, f"c{HIGH}", f"t{LOW}", f'{{"a": "{HIGH}', f'{LOW}"}}', thoughts=(f"so {HIGH}", LOW))
    play(kind, scene, call, says(kind, ["Done."]))


def test_a_half_in_a_json_answer_is_no_failure() -> None:
    async def scene(stage: Stage) -> None:
        reply = await stage.ask(json_answer=True)
        assert json.loads(reply.text) == {"a": GONE}

    play("openai", scene, says("openai", [f'{{"a": "{HIGH}', '"}']))


@both
def test_two_speakers_take_turns(kind: str) -> None:
    """Templates of some servers refuse what a recalled block, or an answer of several rounds, would be otherwise."""
    said: list[tuple[MessageRole, str]] = [
        ("user", "one"),
        ("user", "two"),
        ("assistant", "yes"),
        ("assistant", ""),
        ("user", "context"),
        ("user", "now"),
    ]
    png = Picture(mime="image/png", data=b"x")
    last = Message(role="user", content="look", pictures=[png])

    async def scene(stage: Stage) -> None:
        await stage.ask(Message(role="system", content="S"), *(Message(role=role, content=text) for role, text in said))
        await stage.ask(Message(role="user", content="context"), last)
        first, second = (asked.body["messages"] for asked in stage.fake.asked)
        told = [m for m in first if m["role"] != "system"]
        assert [m["role"] for m in told] == ["user", "assistant", "user"]
        (shown,) = second
        if kind == "openai":
            assert [m["content"] for m in told] == ["one\n\ntwo", "yes", "context\n\nnow"]
            assert [part["type"] for part in shown["content"]] == ["text", "image_url"]
            assert shown["content"][0]["text"] == "context\n\nlook"
        else:
            assert [[part["text"] for part in m["content"]] for m in told] == [
                ["one", "two"],
                ["yes"],
                ["context", "now"],
            ]

    play(kind, scene, says(kind, ["Yes."]), says(kind, ["Yes."]))


def test_what_tools_have_shown_joins_what_the_user_says_next() -> None:
    called = Message(role="assistant", content="", tool_calls=[ToolRequest(call_id="c", name="t", arguments={})])
    answer = Message(role="tool", content="r", tool_call_id="c", pictures=[Picture(mime="image/png", data=b"x")])

    async def scene(stage: Stage) -> None:
        await stage.ask(Message(role="user", content="Look."), called, answer, Message(role="user", content="And?"))
        told = stage.fake.asked[0].body["messages"]
        assert [m["role"] for m in told] == ["user", "assistant", "tool", "user"]
        assert told[-1]["content"][0]["text"].endswith("\n\nAnd?")

    play("openai", scene, says("openai", ["Yes."]))


def test_what_was_called_is_declared_where_nothing_may_be_called_any_more() -> None:
    """That dialect refuses a conversation with calls of tools that the request does not name."""
    called = Message(role="assistant", content="", tool_calls=[ToolRequest(call_id="c", name="t", arguments={})])
    answer = Message(role="tool", content="r", tool_call_id="c")

    async def scene(stage: Stage) -> None:
        for tools in ([], [TOOL]):
            await stage.ask(Message(role="user", content="Look."), called, answer, tools=tools)
        await stage.ask()
        closed, offered, plain = (asked.body for asked in stage.fake.asked)
        assert [tool["name"] for tool in closed["tools"]] == ["t"]
        assert closed["tool_choice"] == {"type": "none"}
        assert ([tool["name"] for tool in offered["tools"]], "tool_choice" in offered) == (["request_tools"], False)
        assert not {"tools", "tool_choice"} & set(plain)

    play("anthropic", scene, *[says("anthropic", ["Yes."])] * 3)


@both
def test_calls_without_end_end(kind: str) -> None:
    async def scene(stage: Stage) -> None:
        assert (await stage.failure(tools=[TOOL])).fault == "bad_json"

    many = range(MAX_ANSWER_CALLS + 1)
    if kind == "openai":
        asked = [{"index": n, "id": f"c{n}", "function": {"name": "t", "arguments": ""}} for n in many]
        play(kind, scene, chunks({"delta": {"tool_calls": asked}}, {"delta": {}, "finish_reason": "tool_calls"}))
    else:
        asked = [one for n in many for one in block(n, {"type": "tool_use", "id": f"c{n}", "name": "t", "input": {}})]
        play(kind, scene, events(*asked, {"type": "message_stop"}))


def nested(depth: int) -> str:
    return '{"a":' * depth + "1" + "}" * depth


@both
@pytest.mark.parametrize("depth", [MAX_DEPTH + 1, 5_000, 100_000])
def test_arguments_without_end_are_bad_arguments(kind: str, depth: int) -> None:
    async def scene(stage: Stage) -> None:
        (call,) = (await stage.ask(tools=[TOOL])).tool_calls
        assert call.arguments is None

    play(kind, scene, calls(kind, "c", "t", nested(depth)))


def test_what_a_message_may_have_arguments_may_have() -> None:
    answer = IncomingAnswer(None)
    answer.add_call(0, "c", "t", nested(MAX_DEPTH))
    answer.is_whole = True
    (call,) = answer.reply(as_json=False).tool_calls
    assert call.arguments is not None


@pytest.mark.parametrize("text", [nested(MAX_DEPTH + 1), nested(100_000), f'{{"a": "{HIGH}"}}'])
def test_json_that_cannot_be_told_on_is_none(text: str) -> None:
    with pytest.raises(ProviderFailed) as caught:
        json_in(text)
    assert caught.value.fault == "bad_json"


def test_sound_text_stays_as_it_is() -> None:
    for text in ("", "plain", "好 ☕ " + FACE, "\ufeffx\x00"):
        assert join_surrogates(text) is text
