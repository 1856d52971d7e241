"""Homes and spawned gateways for the journey tests, and the few things that every journey says to them."""

import asyncio
import functools
import json
import os
import re
import subprocess
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, Self

import apsw
import pytest

from gateway.wire.client import CallFailed, GatewayClient, console_script

JOURNEY_SECONDS = 240.0
"""No journey takes a tenth of this on a quiet machine; what hangs is told with its place instead of by the runner."""

WITHOUT_MODEL = "[gateway.embedding]\nenabled = false\n"
PATIENT = "[gateway.recall.deadline_ms]\nturn = 60000\n"
"""A busy machine takes longer for a recall than a person would wait; that a turn goes on without has tests of its own."""


def with_model(folder: Path) -> str:
    """The configuration of an embedding model in a folder, with no other one beside it."""
    return (
        f'[gateway.embedding]\nmodel = "test/tiny"\nmodel_path = {json.dumps(str(folder))}\nembedded_default = false\n'
    )


SCRIPTED = """
[gateway.roles]
main = "scripted"
extractor = "scripted"

[gateway.providers.scripted]
kind = "scripted"
script = "script.jsonl"
record = "record.jsonl"
"""


def journey(story: Callable[..., Awaitable[None]]) -> Callable[..., None]:
    """A test that is a coroutine function, run in an event loop of its own."""

    @functools.wraps(story)
    def test(**given: Any) -> None:
        async def told() -> None:
            async with asyncio.timeout(JOURNEY_SECONDS):
                await story(**given)

        asyncio.run(told())

    return test


class Den:
    """A folder with a home, its configuration, and the script of its model."""

    def __init__(self, folder: Path, *, scripted: bool = False, config: str = "", model: Path | None = None) -> None:
        self.folder = folder
        self.home = folder / "home"
        self.config = folder / "config.toml"
        self.script = folder / "script.jsonl"
        self.record = folder / "record.jsonl"
        folder.mkdir(parents=True, exist_ok=True)
        embedding = WITHOUT_MODEL if model is None else with_model(model)
        self.config.write_text(embedding + PATIENT + (SCRIPTED if scripted else "") + config, encoding="utf-8")
        self.write_script([])

    def add_config(self, text: str) -> Self:
        """Add to the configuration; a gateway that runs reads it again."""
        self.config.write_text(self.config.read_text(encoding="utf-8") + text, encoding="utf-8")
        return self

    def write_script(self, rules: list[dict[str, Any]]) -> None:
        """Replace the scripted model's rules."""
        self.script.write_text("".join(json.dumps(rule) + "\n" for rule in rules), encoding="utf-8")

    def command(self) -> list[str]:
        """Return the command that a desktop app would spawn."""
        return [*console_script(), "serve", "--home", str(self.home), "--config", str(self.config)]

    async def spawn(self, **how: Any) -> GatewayClient:
        """A process that was not spoken to yet."""
        return await GatewayClient.start(self.command(), **how)

    @asynccontextmanager
    async def client(self, workspace_id: str | None = "ws_here") -> AsyncIterator[GatewayClient]:
        """A session that was initialized, and that is ended in order."""
        async with await self.spawn() as client:
            await hello(client, workspace_id)
            yield client

    def database(self) -> apsw.Connection:
        """The home's database, to be read when its processes have ended."""
        return apsw.Connection(str(self.home / "gateway.db"), flags=apsw.SQLITE_OPEN_READONLY)

    def files(self) -> dict[str, bytes]:
        """Every file of the home by its relative name."""
        return {
            path.relative_to(self.home).as_posix(): path.read_bytes()
            for path in sorted(self.home.rglob("*"))
            if path.is_file()
        }


async def hello(client: GatewayClient, workspace_id: str | None = "ws_here") -> dict[str, Any]:
    """Initialize; the answer."""
    params: dict[str, Any] = {"protocol_version": "2026-11", "client": {"name": "journey", "version": "1"}}
    if workspace_id is not None:
        params["workspace_id"] = workspace_id
    return await client.request("initialize", params)


async def drain(client: GatewayClient) -> None:
    """Wait for the background work."""
    drained = await client.request("gateway/drain", {"timeout_ms": 120_000})
    assert drained["idle"], drained


async def remember(client: GatewayClient, content: str, **more: Any) -> str:
    """Keep something; its id."""
    return (await client.request("memory/remember", {"content": content, **more}))["record"]["memory_id"]


async def ask_with_meaning(client: GatewayClient, method: str, params: Mapping[str, Any]) -> dict[str, Any]:
    """The answer to a search once its vector came in time, where a model makes one: a busy machine may take longer than
    a search waits."""
    while True:
        answer = await client.request(method, params)
        went_by_words = any(told["code"] == "semantic_off" for told in answer["diagnostics"])
        if not went_by_words or (await client.request("gateway/status", {}))["search"]["semantic"] == "off":
            return answer


async def take_turn(client: GatewayClient, thread_id: str, text: str, turn_id: str, **more: Any) -> dict[str, Any]:
    """A whole turn, its hooks of afterwards included; the turn as it ended."""
    params = {"thread_id": thread_id, "turn_id": turn_id, "input": [{"type": "text", "text": text}], **more}
    await client.request("turn/start", params)
    await client.wait_for("turn/post_completed", lambda told: told["turn_id"] == turn_id)
    return (await client.request("turn/get", {"turn_id": turn_id}))["turn"]


async def every(client: GatewayClient, method: str, member: str, **params: Any) -> list[dict[str, Any]]:
    """All pages of a list."""
    found: list[dict[str, Any]] = []
    cursor = None
    while True:
        page = await client.request(method, {**params, "limit": 100, **({"cursor": cursor} if cursor else {})})
        found += page[member]
        cursor = page["next_cursor"]
        if cursor is None:
            return found


async def refusal(client: GatewayClient, method: str, params: Any = None) -> CallFailed:
    """The error that a call ends with."""
    try:
        result = await client.request(method, params)
    except CallFailed as failed:
        return failed
    raise AssertionError(f"{method} was answered: {result}")


def clean_environment(**more: str) -> dict[str, str]:
    """This process's environment without what Python would read of it, and without what tells the tests their sizes."""
    return {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "PIONEER_"))} | more


def fact(content: str, quote: str, attribute: str, **semantic: Any) -> dict[str, Any]:
    """A fact as an extractor that is sure of it answers."""
    claims = {
        "intent": "implicit_candidate",
        "explicitness": "explicit",
        "category": "preference",
        "subject": "current_user",
        "attribute": attribute,
        "durability": "long_lived",
        "sensitivity": "none",
        "certainty": "high",
        **semantic,
    }
    return {"semantic": claims, "content": content, "evidence": {"quote": quote}}


# -- processes without a session -------------------------------------------------------------------------------------

on_linux = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads /proc")
on_posix = pytest.mark.skipif(os.name != "posix", reason="POSIX signals and permissions")

RSS_MIB = 160
"""A process without a model has about 50; what is queued for a reader who does not read is bounded by 16."""


def proc_status(pid: int, name: str) -> int:
    """A figure of /proc/PID/status in KiB."""
    text = Path(f"/proc/{pid}/status").read_text(encoding="utf-8")
    return int(re.findall(rf"^{name}:\s+(\d+)", text, re.MULTILINE)[0])


def run_to_end(command: list[str], *, send: bytes = b"", **how: Any) -> subprocess.CompletedProcess[bytes]:
    """A process that is given all its input at once."""
    return subprocess.run(command, input=send, capture_output=True, timeout=240, check=False, **how)
