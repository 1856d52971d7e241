"""`workspace/delete` and `thread/update` to `ignored`, killed at each of their writes: whole, not at all, or told as
going on."""

import contextlib
from collections.abc import Awaitable, Callable
from itertools import product
from pathlib import Path
from typing import Any

import pytest
from killed import WHEN, KillPlace, When
from loops import matrix
from spawned import drain, every, hello, journey, refusal, remember
from test_forgetting import holding, needle
from timed_den import TimedDen

from gateway.wire.client import CallFailed, ConnectionClosed, GatewayClient

MINUTE = 60_000
"""Longer than a job waits before another process goes on with it."""
SCOPE = {"kind": "workspace", "key": "ws_gone"}
CONTEXT = {"workspace_id": "ws_gone"}
Furnish = Callable[[GatewayClient, str], Awaitable[None]]


async def interrupted(
    den: TimedDen, furnish: Furnish, word: str, method: str, params: dict[str, Any], number: int, when: When
) -> bool:
    """Ask a gateway that dies with this write of the request; whether it did before it answered."""
    place = KillPlace(den.folder, number, when)
    client = await GatewayClient.start(place.command(den.command()), env=place.environment())
    try:
        await hello(client)
        await furnish(client, word)
        await drain(client)
        place.count_from_now()
        await client.request(method, params)
    except ConnectionClosed:
        return True
    finally:
        client.kill()
        await client.wait()
    return False


async def furnish_workspace(client: GatewayClient, word: str) -> None:
    """A workspace with conversations that take more than one part, memory, and what was forgotten."""
    await client.request("workspace/create", {"workspace_id": "ws_gone"})
    turns = [{"at": n + 1, "items": [{"role": "user", "text": f"Line {n} is about {word}."}]} for n in range(260)]
    for n in range(3):
        source = {"kind": "chat", "id": f"talk-{n}"}
        asked = {"workspace_id": "ws_gone", "thread_id": f"thr_{n}", "source": source, "turns": turns}
        await client.request("thread/import", asked)
    kept = [await remember(client, f"Rule {n} of {word}.", scope=SCOPE, context=CONTEXT) for n in range(3)]
    await client.request("memory/forget", {"target": {"kind": "id", "memory_id": kept[0]}, "context": CONTEXT})


async def look_at_workspace(den: TimedDen, word: str) -> str:
    """What the next process sees: it is `whole`, `gone`, or told as `going on`, and then it comes to its end by itself."""
    async with den.client() as client:
        try:
            state = (await client.request("workspace/get", {"workspace_id": "ws_gone"}))["workspace"]["state"]
        except CallFailed as failed:
            assert failed.reason == "not_found"
            state = "gone"
        if state == "active":
            assert len(await every(client, "thread/list", "threads", workspace_id="ws_gone")) == 3
            assert len(await every(client, "memory/list", "records", scopes=[SCOPE], context=CONTEXT)) == 2
            items = await every(client, "thread/history", "items", thread_id="thr_1")
            assert len(items) == 260
            return "whole"
        if state == "deleting":
            listed = await every(client, "workspace/list", "workspaces")
            assert [one["state"] for one in listed if one["workspace_id"] == "ws_gone"] == ["deleting"]
            for method, params in (
                ("thread/start", {"workspace_id": "ws_gone"}),
                ("memory/remember", {"content": f"One more of {word}.", "scope": SCOPE, "context": CONTEXT}),
                ("workspace/create", {"workspace_id": "ws_gone"}),
            ):
                assert (await refusal(client, method, params)).reason in {"not_found", "conflict"}
        seen = "gone" if state == "gone" else "going on"
        den.forward(MINUTE)
        while state == "deleting":
            await drain(client)
            with contextlib.suppress(AssertionError):
                assert (await refusal(client, "workspace/get", {"workspace_id": "ws_gone"})).reason == "not_found"
                state = "gone"
        den.forward(MINUTE)
        await drain(client)
        assert await every(client, "thread/list", "threads", workspace_id="ws_gone") == []
        await client.request("workspace/create", {"workspace_id": "ws_gone"})
        assert await every(client, "memory/list", "records", scopes=[SCOPE], context=CONTEXT) == []
        assert (await refusal(client, "thread/get", {"thread_id": "thr_1"})).reason == "not_found"
    assert holding(den, word) == []
    return seen


@pytest.mark.parametrize("when", matrix(WHEN, in_check=()))
@journey
async def test_a_workspace_is_deleted_whole_or_not_at_all_or_it_is_told_and_ends(tmp_path: Path, when: When) -> None:
    seen, number, is_killed = [], 0, True
    while is_killed:
        number += 1
        den, word = TimedDen(tmp_path / str(number)), needle()
        is_killed = await interrupted(
            den, furnish_workspace, word, "workspace/delete", {"workspace_id": "ws_gone"}, number, when
        )
        seen.append(await look_at_workspace(den, word))
    assert ("whole" in seen) == (when == WHEN[0])  # from the first commit on it comes to its end
    assert "going on" in seen
    assert seen[-1] == "gone"


async def furnish_thread(client: GatewayClient, word: str) -> None:
    turns = [{"at": n + 1, "items": [{"role": "user", "text": f"Line {n} is about {word}."}]} for n in range(60)]
    asked = {"workspace_id": "ws_here", "thread_id": "thr", "source": {"kind": "chat", "id": "talk"}, "turns": turns}
    await client.request("thread/import", asked)


@pytest.mark.parametrize(
    ("when", "mode"),
    matrix(product(WHEN, ["ignored", "normal"]), in_check={(WHEN[0], "ignored"), (WHEN[1], "normal")}),
)
@journey
async def test_a_thread_is_ignored_or_shown_again_whole_or_not_at_all(tmp_path: Path, when: When, mode: str) -> None:
    """Its mode and its index agree, whichever write of the request is the last of the process."""

    async def furnish(client: GatewayClient, word: str) -> None:
        await furnish_thread(client, word)
        if mode == "normal":
            await client.request("thread/update", {"thread_id": "thr", "memory_mode": "ignored"})

    modes, number, is_killed = [], 0, True
    while is_killed:
        number += 1
        den, word = TimedDen(tmp_path / str(number)), needle()
        asked = {"thread_id": "thr", "memory_mode": mode}
        is_killed = await interrupted(den, furnish, word, "thread/update", asked, number, when)
        async with den.client() as client:
            den.forward(MINUTE)
            await drain(client)
            modes.append((await client.request("thread/get", {"thread_id": "thr"}))["thread"]["memory_mode"])
            assert len(await every(client, "thread/history", "items", thread_id="thr")) == 60
            told = await client.request("thread_episodic/search", {"workspace_id": "ws_here", "query": word})
            assert (modes[-1] == "ignored") == (told["hits"] == [])
    assert (modes[0] == mode) == (when == WHEN[1])
    assert modes[-1] == mode
    assert len(modes) >= 2
