"""A small client: it spawns a gateway and exchanges the contract's messages with it over pipes.

Rule 1: the method table is the only source of types; this module knows no method but the two that end a
session.
Rule 2: one task reads; it hands every message to its waiting call and, at the end, fails every call that still waits.
Rule 3: a line may be of any length, and what the process writes to stderr never makes it wait.
"""

import asyncio
import contextlib
import os
import signal
import sys
from asyncio.subprocess import PIPE, Process
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Self, TypeVar, cast

import msgspec

from gateway.base.json_values import table_of
from gateway.wire.framing import LineReceiver
from protocol.base import Empty
from protocol.methods import SHUTDOWN, Method

P = TypeVar("P", bound=msgspec.Struct)
R = TypeVar("R")

CLOSE_SECONDS = 10.0
"""An orderly end takes the gateway's two seconds of grace at most; a process that lives longer is killed."""

STDERR_KEPT = 64 * 1024
"""Enough for the log's last words, little enough for a session of weeks."""

READ_BYTES = 256 * 1024


class CallFailed(Exception):
    """The gateway answered with an error."""

    def __init__(self, error: dict[str, Any]) -> None:
        self.code: int = error["code"]
        self.message: str = error["message"]
        self.data: dict[str, Any] = error.get("data") or {}
        self.reason: str = self.data.get("reason", "")
        super().__init__(f"{self.reason} ({self.code}): {self.message} {self.data.get('details') or ''}".rstrip())


class ConnectionClosed(Exception):
    """The process ended, or wrote something that is not a message, so that no answer can come any more."""


def console_script() -> list[str]:
    """Return the command that starts a gateway: the console script beside this Python, or else the one on the path."""
    beside = Path(sys.executable).with_name("pioneer.exe" if os.name == "nt" else "pioneer")
    return [str(beside) if beside.exists() else "pioneer"]


class GatewayClient:
    """A spawned gateway process and the conversation with it.

    Made by `start`; ends with `close`, `kill` or `async with`.
    """

    def __init__(self, process: Process) -> None:
        self.received: list[tuple[str, dict[str, Any]]] = []
        """Every notification so far, in order."""
        self._process = process
        self._next_id = 1
        self._pending: dict[int, asyncio.Future[dict[str, Any]]] = {}
        self._others: list[Any] = []
        self._news = asyncio.Event()
        self._end: str | None = None
        self._stderr = bytearray()
        self._tasks = [asyncio.create_task(self._read()), asyncio.create_task(self._drain_stderr())]

    @classmethod
    async def start(
        cls,
        command: Sequence[str],
        *,
        env: Mapping[str, str] | None = None,
        cwd: str | os.PathLike[str] | None = None,
    ) -> "GatewayClient":
        """Spawn the command and return its client; `env` replaces the environment when given."""
        return cls(
            await asyncio.create_subprocess_exec(*command, stdin=PIPE, stdout=PIPE, stderr=PIPE, env=env, cwd=cwd)
        )

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if kind is None:
            await self.close()
        else:  # the block failed: do not wait for a process that may be the cause
            self.kill()
            await self.wait()

    @property
    def pid(self) -> int:
        """Return the process id."""
        return self._process.pid

    @property
    def stderr(self) -> bytes:
        """Return the last 64 KiB of what the process wrote to stderr."""
        return bytes(self._stderr)

    async def call(self, method: Method[P, R], params: P) -> R:
        """Call a method of the table and return its result.

        Raises `CallFailed` for an error, `ConnectionClosed` when no answer can come.
        """
        return msgspec.convert(await self._ask(method.name, params), method.result)

    async def request(self, method: str, params: Any = None) -> Any:
        """Call a method by name with any JSON as parameters (None: without); return the result as it came."""
        return await self._ask(method, params)

    async def notify(self, method: str, params: Any = None) -> None:
        """Send a notification."""
        await self._send({"jsonrpc": "2.0", "method": method, **({} if params is None else {"params": params})})

    async def wait_for(
        self, method: str, predicate: Callable[[dict[str, Any]], bool] = lambda _params: True, since: int = 0
    ) -> dict[str, Any]:
        """Return the parameters of the first notification of `received[since:]`, past or to come, that fits."""
        seen = since
        while True:
            for name, params in self.received[seen:]:
                if name == method and predicate(params):
                    return params
            seen = max(seen, len(self.received))
            await self._wait_for_news(f"no more {method} can come")

    def send_line(self, line: bytes) -> None:
        """Queue a raw line; the newline is added."""
        if self._end is not None:
            raise ConnectionClosed(self._end)
        self._stdin.write(line + b"\n")

    async def read_message(self) -> Any:
        """Return the next message that is neither a notification nor the answer to `call` or `request`."""
        while not self._others:
            await self._wait_for_news("no more message can come")
        return self._others.pop(0)

    async def end_of_input(self) -> int:
        """Close the process's stdin, wait for its end and return its exit code."""
        self._stdin.close()
        return await self.wait()

    async def close(self) -> int:
        """End the session in order and return the exit code; after ten seconds the process is ended."""
        try:
            async with asyncio.timeout(CLOSE_SECONDS):
                # a gateway that is not initialized, or gone, ends all the same
                with contextlib.suppress(CallFailed, ConnectionClosed):
                    await self.call(SHUTDOWN, Empty())
                with contextlib.suppress(ConnectionClosed):
                    await self.notify("exit")
                return await self.wait()
        except TimeoutError:
            self.kill()
            return await self.wait()

    def kill(self) -> None:
        """End the process at once, as a crash would."""
        if self._process.returncode is not None:
            return
        with contextlib.suppress(ProcessLookupError):  # it ended by itself
            if sys.platform == "win32":
                self._process.kill()
            else:  # asyncio's own way looks at the child first and so may take its exit code from asyncio's watcher
                os.kill(self.pid, signal.SIGKILL)

    async def wait(self) -> int:
        """Wait for the end of the process and of its output; return the exit code."""
        await asyncio.gather(*map(asyncio.shield, self._tasks))
        code = await self._process.wait()
        self._stdin.close()
        return code

    @property
    def _stdin(self) -> asyncio.StreamWriter:
        return cast("asyncio.StreamWriter", self._process.stdin)

    async def _ask(self, method: str, params: Any) -> Any:
        number = self._next_id
        self._next_id += 1
        reply: asyncio.Future[dict[str, Any]] = asyncio.get_running_loop().create_future()
        self._pending[number] = reply
        try:
            message = {"jsonrpc": "2.0", "id": number, "method": method}
            await self._send(message if params is None else message | {"params": params})
            answer = await reply
        finally:
            del self._pending[number]
        if "error" in answer:
            raise CallFailed(answer["error"])
        return answer["result"]

    async def _send(self, message: dict[str, Any]) -> None:
        self.send_line(msgspec.json.encode(message))
        try:
            await self._stdin.drain()
        except ConnectionError as error:
            raise ConnectionClosed("the process reads no more") from error

    async def _wait_for_news(self, otherwise: str) -> None:
        if self._end is not None:
            raise ConnectionClosed(f"{otherwise}: {self._end}")
        await self._news.wait()

    def _wake_waiters(self) -> None:
        self._news.set()
        self._news = asyncio.Event()

    async def _read(self) -> None:
        stdout = cast("asyncio.StreamReader", self._process.stdout)
        lines = LineReceiver(sys.maxsize)
        end = "the process ended"
        try:
            while data := await stdout.read(READ_BYTES):
                for line in lines.feed(data):
                    self._take(msgspec.json.decode(line))
        except (msgspec.DecodeError, UnicodeDecodeError):
            end = "the process wrote something to stdout that is not a message"
            self.kill()
        finally:
            self._finish(end)

    def _finish(self, end: str) -> None:
        self._end = end
        for reply in self._pending.values():
            if not reply.done():
                reply.set_exception(ConnectionClosed(end))
        self._wake_waiters()

    def _take(self, message: Any) -> None:
        members = table_of(message)
        waiting = self._pending.get(members.get("id", 0)) if "method" not in members else None
        if waiting is not None and not waiting.done():
            waiting.set_result(members)
            return
        if "method" in members:
            self.received.append((members["method"], members.get("params") or {}))
        else:
            self._others.append(message)
        self._wake_waiters()

    async def _drain_stderr(self) -> None:
        stderr = cast("asyncio.StreamReader", self._process.stderr)
        while data := await stderr.read(READ_BYTES):
            self._stderr += data
            del self._stderr[:-STDERR_KEPT]
