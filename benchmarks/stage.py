"""A gateway on a home of its own that can be killed and started again, with the scripted extractor's answers beside it."""

import asyncio
import contextlib
import json
from collections.abc import Coroutine, Sequence
from pathlib import Path
from typing import Any

import msgspec

from benchmarks.conversations import Conversation, Observation, Said
from gateway.wire.client import ConnectionClosed, GatewayClient, console_script
from protocol import methods as call
from protocol.base import Empty
from protocol.conversation.workspaces import WorkspaceCreateParams
from protocol.gateway import ClientInfo, DrainParams, InitializeParams
from protocol.memory.facts import MAX_FACTS

WORKSPACE = "told"
"""The workspace in which the turns are played; imported conversations have a workspace each."""

DRAIN_MS = 600_000
MAX_QUOTE = 500
"""The contract's bound for the words that a fact rests on."""


class Stage:
    """One home; at most one gateway at a time."""

    def __init__(self, folder: Path, command: Sequence[str] = ()) -> None:
        self.folder = folder
        self.crashes = 0
        self._command = command or console_script()
        self._client: GatewayClient | None = None

    @property
    def client(self) -> GatewayClient:
        """The running gateway."""
        if self._client is None:
            raise ConnectionClosed("no gateway was started")
        return self._client

    def write_files(self, rules: bytes, model: Path | None = None) -> None:
        """The configuration, with the scripted provider as main model and extractor, its rules, and an embedding model
        if given."""
        text = '[gateway.providers.script]\nkind = "scripted"\nscript = "script.jsonl"\n\n'
        text += '[gateway.roles]\nmain = "script"\nextractor = "script"\n'
        text += (
            f"\n[gateway.embedding]\nmodel_path = {json.dumps(str(model))}\n"
            if model
            else "\n[gateway.embedding]\nenabled = false\n"
        )
        (self.folder / "config.toml").write_text(text, encoding="utf-8")
        (self.folder / "script.jsonl").write_bytes(rules)

    async def open(self) -> None:
        """Start a gateway and shake hands."""
        home, config = self.folder / "home", self.folder / "config.toml"
        self._client = await GatewayClient.start(
            [*self._command, "serve", "--home", str(home), "--config", str(config)]
        )
        hello = InitializeParams(
            protocol_version="2026-11",
            client=ClientInfo(name="benchmarks", version="1", time_zone="UTC"),
            workspace_id=WORKSPACE,
        )
        await self.client.call(call.INITIALIZE, hello)

    async def close(self) -> None:
        """End the gateway in order."""
        client, self._client = self.client, None
        await client.close()

    async def crash(self, during: Coroutine[Any, Any, object] | None = None) -> None:
        """Kill the gateway, in the middle of a request where one is given, and start another on the same home.

        The gateway has read the request by then (a `ping` sent behind it is answered); how far it came is left to chance.
        """
        request = asyncio.ensure_future(during) if during is not None else None
        if request is not None:
            await asyncio.sleep(0)  # the request is written before the ping
            await self.client.call(call.PING, Empty())
        self.client.kill()
        await self.client.wait()
        if request is not None:
            with contextlib.suppress(ConnectionClosed):
                await request
        self.crashes += 1
        await self.open()

    async def end(self) -> None:
        """Leave no process behind, whatever happened."""
        if self._client is not None:
            self._client.kill()
            await self._client.wait()

    async def add_workspace(self, workspace_id: str) -> None:
        """Make a workspace, or find it made."""
        await self.client.call(call.WORKSPACE_CREATE, WorkspaceCreateParams(workspace_id=workspace_id))

    async def drain(self) -> int:
        """Wait until no background work is runnable; what is left for later."""
        drained = await self.client.call(call.DRAIN, DrainParams(timeout_ms=DRAIN_MS))
        if not drained.idle:
            raise TimeoutError(f"{drained.pending} jobs are still runnable after {DRAIN_MS / 1000:.0f} s")
        return sum(waiting.count for waiting in drained.waiting)


def fact(observation: Observation, said: Said) -> dict[str, object]:
    """An observation as an extractor would answer it that keeps to the speaker's own words: those of the message."""
    semantic = {
        "intent": "implicit_candidate",
        "explicitness": "implicit",
        "category": "biography",
        "subject": "person",
        "subject_key": observation.speaker,
        "durability": "long_lived",
        "sensitivity": "none",
        "certainty": "high",
    }
    words = said.text[:MAX_QUOTE]
    return {"semantic": semantic, "content": words, "evidence": {"quote": words}}


def told_turns(conversation: Conversation) -> list[tuple[Said, list[Observation]]]:
    """The turns of a conversation that support observations, in order."""
    turns = (said for session in conversation.sessions for said in session.turns)
    return [(said, conversation.observed[said.dia_id]) for said in turns if said.dia_id in conversation.observed]


def script(told: list[tuple[Said, list[Observation]]], times: int = 1) -> bytes:
    """The extractor's rules: one per turn, good for so many answers, found by the whole text as the request quotes it."""
    rules = [
        {
            "role": "extractor",
            "input_contains": f'"text":{msgspec.json.encode(said.text).decode()}',
            "times": times,
            "respond": {"json": {"facts": [fact(observation, said) for observation in observations[:MAX_FACTS]]}},
        }
        for said, observations in told
    ]
    return b"".join(msgspec.json.encode(rule) + b"\n" for rule in rules)
