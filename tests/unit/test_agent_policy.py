"""A policy hook that fails changes nothing of reading, and nothing is written or learnt."""

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from agent_home import AgentHome, play

from protocol.conversation.manifests import Permission, TurnPolicy
from protocol.conversation.turns import TurnOptions
from protocol.hooks import HookInput, HookOutput, Subscription

YES, NO = (Permission(allowed=allowed, reason_code="policy_failed") for allowed in (True, False))


async def crashes(_given: HookInput) -> HookOutput:
    raise ValueError


async def hangs(_given: HookInput) -> HookOutput:
    await asyncio.Event().wait()
    raise AssertionError


@pytest.mark.parametrize("policy", [crashes, hangs])
@pytest.mark.parametrize(
    ("options", "thread", "recall", "read_tools"),
    [
        ({}, {}, YES, YES),
        ({"skip_recall": True}, {}, NO, YES),
        ({}, {"memory_mode": "ignored"}, NO, NO),
        ({}, {"mode": "chat"}, YES, NO),
    ],
)
def test_reading_goes_on_as_the_turn_says(
    tmp_path: Path,
    policy: Callable[..., Any],
    options: dict[str, Any],
    thread: dict[str, Any],
    recall: Permission,
    read_tools: Permission,
) -> None:
    told: list[TurnPolicy | None] = []

    async def looks(given: HookInput) -> HookOutput:
        told.append(given.policy)
        return HookOutput()

    hooks = [
        Subscription(hook_id="t.policy", phase="TurnPrePolicy", call=policy, timeout_ms=20),
        Subscription(hook_id="t.looks", phase="TurnPrePromptContext", call=looks),
    ]

    async def scene(home: AgentHome) -> None:
        await home.open(thread_id="thr_2", **thread)
        lived = await home.live(thread_id="thr_2", options=TurnOptions(**options))
        expected = TurnPolicy(recall=recall, read_tools=read_tools, remember=NO, forget=NO, extraction=NO)
        assert lived.turn.prompt_manifest is not None
        assert (lived.turn.status, lived.turn.prompt_manifest.policy) == ("completed", expected)
        assert told == [None if recall.allowed else expected]

    play(tmp_path, scene, hooks=hooks)


def test_where_nobody_speaks_for_memory_it_is_off(tmp_path: Path) -> None:
    async def scene(home: AgentHome) -> None:
        manifest = (await home.live()).turn.prompt_manifest
        assert manifest is not None
        off = Permission(allowed=False, reason_code="memory_disabled")
        assert manifest.policy == TurnPolicy(recall=off, read_tools=off, remember=off, forget=off, extraction=off)

    play(tmp_path, scene)
