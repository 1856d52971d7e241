"""Conversation as a model reads it: the tool `thread_search`, and turns read back by their number."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import anyio
import msgspec
import pytest
from dictionary_memory import turn_context
from episodic_home import Home

from memory.hooks.policy import turn_policy
from promt.intents import Intents
from protocol.conversation.host_turns import ToolReply
from protocol.errors import CallerError, Unavailable
from protocol.hooks import ToolContext
from protocol.thread_episodic import ExcludeParams
from protocol.tools import MAX_RESULT_CHARS
from thread_episodic.tools import ThreadSearchTool
from thread_episodic.visibility import EXCLUDED, INJECTED

KEY = "AKIA" + "QX7Z2M4N8P1R5T9V"


@pytest.fixture
def home(tmp_path: Path) -> Iterator[Home]:
    home = Home(tmp_path)
    yield home
    home.close()


async def call(home: Home, arguments: dict[str, Any], *, name: str = "thread_search", **turn: Any) -> ToolReply:
    context = turn_context(**{"workspace_id": "a"} | turn)
    given = ToolContext(turn=context, policy=turn_policy(context, Intents()), user_text="", call_id="call_1")
    return await ThreadSearchTool(home.service.searching)(given, name, arguments)


def test_the_tool_finds_what_was_said_in_its_own_workspace(home: Home) -> None:
    async def story() -> None:
        await home.say("i1", "The valve of the north tank leaks.")
        await home.say("i2", "The valve elsewhere is sound.", thread="b_1")
        await home.index()
        reply = await call(home, {"query": "valve"})
        assert reply.ok
        assert [(hit["thread_id"], hit["turn_id"], hit["role"]) for hit in reply.data["hits"]] == [
            ("a_1", "t_i1", "user")
        ]
        assert reply.data["hits"][0]["text"] == "The valve of the north tank leaks."
        assert "not instructions" in reply.data["note"]
        assert (await call(home, {"query": "valve", "thread_id": "b_1"})).data["hits"] == []
        assert (await call(home, {"query": "the of"})).data["diagnostics"] == ["query_too_vague"]

    anyio.run(story)


def test_the_tool_says_what_is_wrong(home: Home) -> None:
    async def story() -> None:
        for arguments in ({}, {"query": 1}, {"query": "x", "limit": 0}, {"query": "x", "workspace_id": "b"}):
            reply = await call(home, arguments)
            assert reply.error is not None
            assert reply.error.code == "invalid_params"
        unknown, unread = await call(home, {"query": "x"}, name="other"), await call(home, {"query": "x"}, mode="chat")
        assert (unknown.error and unknown.error.code, unread.error and unread.error.code) == (
            "unknown_tool",
            "forbidden",
        )

    anyio.run(story)


def test_an_answer_is_bounded(home: Home) -> None:
    async def story() -> None:
        home.change(min_relevancy=0.0, default_prompt_chars=12_000, snippet_chars=500)
        for n in range(20):
            await home.say(f"i{n}", f"The valve {n} leaks, " + '"rust\\ ' * 60, turn=f"t_{'x' * 100}{n}")
        await home.index()
        reply = await call(home, {"query": "valve leaks", "limit": 20})
        assert reply.data["truncated"] is True
        assert len(reply.data["hits"]) > 5
        assert len(msgspec.json.encode(reply).decode()) <= MAX_RESULT_CHARS

    anyio.run(story)


def test_a_turn_is_read_back_as_far_as_search_would_show_it(home: Home) -> None:
    async def story() -> None:
        turns = home.service.turns
        await home.say("i1", "Where is the spare key?", turn="t_1")
        await home.say("i2", f"In the drawer; {KEY} opens the bucket.", turn="t_1", role="assistant")
        await home.say("i3", "A line of a tool.", turn="t_1", role="tool", indexable=False)
        await home.say("i4", "Muted words.", turn="t_2", indexable=False)
        await home.say("i5", "Later words.", turn="t_3")
        await home.say("i6", "Foreign words.", thread="b_1", turn="t_b")
        await home.index()
        first = await turns.read("a", "a_1", 1)
        assert [(said.item_id, said.role) for said in first] == [("i1", "user"), ("i2", "assistant")]
        assert KEY not in first[1].text
        assert first[1].text.startswith("In the drawer; [secret:")
        assert [said.text for said in await turns.read("a", "a_1", 3)] == ["Later words."]
        assert await turns.numbers(["a_1", "b_1", "a_9"]) == {"t_1": 1, "t_2": 2, "t_3": 3, "t_b": 1}
        for workspace, thread, number in (
            ("a", "a_1", 0),
            ("a", "a_1", 2),
            ("a", "a_1", 4),
            ("a", "b_1", 1),
            ("b", "a_1", 1),
            ("a", "a_9", 1),
        ):
            with pytest.raises(CallerError, match="no such turn"):
                await turns.read(workspace, thread, number)

    anyio.run(story)


def test_what_is_excluded_from_recall_is_not_read_back(home: Home) -> None:
    async def story() -> None:
        turns = home.service.turns
        home.change(chunk_target_min_chars=50, chunk_target_max_chars=100, chunk_max_chars=100)
        words = "The first part is about the harbour and its long pier. " * 3
        hidden = "The second part names the lover of the harbour master, which nobody should repeat. "
        await home.say("i1", words + hidden, turn="t_1")
        await home.index()
        hit = next(h for h in (await home.search("lover")).hits if "lover" in h.text)
        await home.service.exclude(ExcludeParams(chunk_id=hit.chunk_id))
        (said,) = await turns.read("a", "a_1", 1)
        assert "lover" not in said.text
        assert EXCLUDED in said.text
        assert said.text.startswith("The first part")
        await home.service.exclude(ExcludeParams(item_id="i1"))
        (said,) = await turns.read("a", "a_1", 1)
        assert "harbour" not in said.text

    anyio.run(story)


def test_what_was_injected_is_not_read_back_as_if_it_had_been_said(home: Home) -> None:
    async def story() -> None:
        line = "- [mem_1, scope=user]: Keeps the key in the drawer."
        home.echoes.append(line)
        await home.say("i1", f"I was told:\n{line}\nIs that so?", turn="t_1")
        (said,) = await home.service.turns.read("a", "a_1", 1)
        assert said.text == f"I was told:\n{INJECTED}\nIs that so?"
        await home.index()
        (hit,) = (await home.search("told")).hits
        assert hit.text == hit.snippet == said.text

    anyio.run(story)


def test_nothing_is_read_back_while_conversation_search_is_off(home: Home) -> None:
    async def story() -> None:
        await home.say("i1", "Where is the spare key?", turn="t_1")
        home.change(enabled=False)
        with pytest.raises(Unavailable):
            await home.service.turns.read("a", "a_1", 1)

    anyio.run(story)
