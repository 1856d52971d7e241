"""Assistants for the journeys of `pioneer mcp`: the SDK's own client over stdio, in both kinds of revisions."""

import asyncio
import json
import subprocess
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import mcp_types as types
from mcp import Client
from mcp.client.stdio import StdioServerParameters, stdio_client
from spawned import Den, clean_environment, drain

from gateway.wire.client import console_script

REVISIONS = ("legacy", "auto")
"""With a handshake, and without: `auto` takes the newest that both know."""

THREAD = "thr_plan"
PLAN = [
    [
        ("user", "Which harbour did the survey of the lighthouse recommend?"),
        ("assistant", "The survey names Ålesund harbour."),
    ],
    [("user", "Then the ferry timetable decides."), ("assistant", "The ferry timetable is printed in May.")],
]


class McpDen(Den):
    """A home that assistants are at the door of."""

    def command_of(self, *more: str) -> list[str]:
        """Return the command that an assistant's program would spawn."""
        return [*console_script(), "mcp", "--home", str(self.home), "--config", str(self.config), *more]

    def log(self) -> str:
        """Return what the servers wrote to stderr."""
        path = self.folder / "stderr.txt"
        return path.read_text(encoding="utf-8") if path.exists() else ""

    @asynccontextmanager
    async def assistant(
        self,
        revision: str,
        *more: str,
        workspace: str | None = "ws_here",
        cwd: Path | None = None,
        ask: Callable[[str], Awaitable[types.ElicitResult]] | None = None,
        name: str = "journey",
    ) -> AsyncIterator[Client]:
        """A connected client whose user answers questions by `ask`."""

        async def asked(context: Any, params: Any) -> types.ElicitResult:
            assert ask is not None
            return await ask(params.message)

        chosen = () if workspace is None else ("--workspace", workspace)
        command, *arguments = self.command_of(*chosen, *more)
        server = StdioServerParameters(command=command, args=arguments, cwd=cwd or self.folder, env=clean_environment())
        with (self.folder / "stderr.txt").open("a", encoding="utf-8") as errors:
            async with Client(
                stdio_client(server, errlog=errors),
                mode=revision,
                client_info=types.Implementation(name=name, version="3"),
                elicitation_callback=asked if ask is not None else None,
            ) as client:
                yield client


def text_of(result: types.CallToolResult) -> str:
    """A result's text."""
    (content,) = result.content
    assert isinstance(content, types.TextContent)
    return content.text


async def data_of(client: Client, tool: str, **arguments: Any) -> dict[str, Any]:
    """Return the answer of a tool that succeeded."""
    result = await client.call_tool(tool, arguments)
    assert not result.is_error, text_of(result)
    return result.structured_content


async def failure_of(client: Client, tool: str, **arguments: Any) -> str:
    """Return the answer of a tool that failed."""
    result = await client.call_tool(tool, arguments)
    assert result.is_error, text_of(result)
    assert result.structured_content is None
    return text_of(result)


async def resource(client: Client, uri: str) -> str:
    """A resource's text."""
    (content,) = (await client.read_resource(uri)).contents
    assert isinstance(content, types.TextResourceContents)
    assert content.uri == uri
    return content.text


async def prompt(client: Client, name: str, **arguments: str) -> str:
    """A prompt's message."""
    (message,) = (await client.get_prompt(name, arguments)).messages
    assert message.role == "user"
    assert isinstance(message.content, types.TextContent)
    return message.content.text


async def furnish(den: Den) -> dict[str, str]:
    """A home with memory and a conversation in one workspace, a memory in another; the ids."""
    ids: dict[str, str] = {}
    async with den.client() as app:
        for name, content, more in (
            ("tea", "The user prefers green tea without sugar.", {"category": "preference"}),
            ("build", "The lighthouse project builds with Bazel.", {"category": "project_fact"}),
            (
                "elsewhere",
                "The other project keeps its keys on the roof.",
                {"category": "project_fact", "context": {"workspace_id": "ws_other"}},
            ),
        ):
            if name == "elsewhere":
                await app.request("workspace/create", {"workspace_id": "ws_other"})
            ids[name] = (await app.request("memory/remember", {"content": content, **more}))["record"]["memory_id"]
        for thread, workspace, texts in ((THREAD, "ws_here", PLAN), ("thr_far", "ws_other", PLAN[:1])):
            turns = [
                {
                    "turn_id": f"trn_{thread}_{n}",
                    "at": 1779827200000 + n,
                    "items": [{"role": r, "text": t} for r, t in turn],
                }
                for n, turn in enumerate(texts)
            ]
            source = {"kind": "journey", "id": thread}
            await app.request(
                "thread/import", {"workspace_id": workspace, "thread_id": thread, "source": source, "turns": turns}
            )
        await drain(app)
    return ids


def run(
    den: McpDen, *lines: Any, arguments: tuple[str, ...] = ("--workspace", "ws_here")
) -> tuple[list[Any], int, str]:
    """Return the server's answers to raw lines, its exit code and its stderr."""
    raw = b"".join((line if isinstance(line, bytes) else json.dumps(line).encode()) + b"\n" for line in lines)
    ended = subprocess.run(
        den.command_of(*arguments), input=raw, capture_output=True, timeout=240, check=False, cwd=den.folder
    )
    return [json.loads(line) for line in ended.stdout.splitlines()], ended.returncode, ended.stderr.decode()


class Raw:
    """A spawned server, spoken to line by line."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self._process = process
        self._next = 0
        self.others: list[dict[str, Any]] = []
        self.meta: dict[str, Any] | None = None

    async def send(self, message: dict[str, Any]) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n")

    async def ask(self, method: str, params: dict[str, Any] | None = None, **how: Any) -> dict[str, Any]:
        """The whole answer; what else comes meanwhile is kept."""
        self._next += 1
        meta = how.get("meta", self.meta)
        whole = (params or {}) | ({"_meta": meta} if meta is not None else {})
        await self.send({"id": self._next, "method": method, "params": whole})
        return await self.answer(self._next)

    async def answer(self, number: int) -> dict[str, Any]:
        while (message := await self.read()).get("id") != number or "method" in message:
            self.others.append(message)
        return message

    async def read(self) -> dict[str, Any]:
        assert self._process.stdout is not None
        return json.loads(await self._process.stdout.readline())

    async def result(self, method: str, params: dict[str, Any] | None = None, **how: Any) -> dict[str, Any]:
        answer = await self.ask(method, params, **how)
        assert "result" in answer, answer
        return answer["result"]

    async def error(self, method: str, params: dict[str, Any] | None = None, **how: Any) -> dict[str, Any]:
        answer = await self.ask(method, params, **how)
        assert "error" in answer, answer
        assert answer["id"] == self._next
        return answer["error"]


@asynccontextmanager
async def spoken_to(folder: Path) -> AsyncIterator[Raw]:
    process = await asyncio.create_subprocess_exec(
        *McpDen(folder).command_of("--workspace", "ws_here"), stdin=subprocess.PIPE, stdout=subprocess.PIPE, limit=2**24
    )
    yield Raw(process)
    assert process.stdin is not None
    process.stdin.close()
    assert await process.wait() == 0
