"""A spawned gateway, and the messages that go through its pipes.

Rule 1: one task reads. It gives every answer to its call and, at the end, fails every call that still waits.
Rule 2: what the process writes to stderr never makes it wait.
"""

import asyncio
import contextlib
import os
import signal
import sys
from asyncio.subprocess import PIPE, Process
from collections.abc import Mapping, Sequence
from typing import cast

import msgspec
from msgspec import Raw

from pioneer_client.connection import READ_BYTES, LineSplitter, Message, Take, read_message
from pioneer_client.errors import GatewayDied, GatewayError
from pioneer_client.protocol.base import Empty

CLOSE_SECONDS = 10.0
"""An orderly end takes the gateway's two seconds of grace at most; a process that lives longer is killed."""

STDERR_KEPT = 64 * 1024
"""Bytes: enough for the log's last words."""


class Pipes:
    """A process. Satisfies `Connection`."""

    def __init__(self, process: Process, take: Take) -> None:
        self._process = process
        self._take = take
        self._last_id = 0
        self._waiting: dict[int, asyncio.Future[Message]] = {}
        self._sizes: dict[int, int] = {}
        """The length in bytes of each message that waits for its answer."""
        self._stderr = bytearray()
        self._ended: asyncio.Future[str] = asyncio.get_running_loop().create_future()
        self._draining = asyncio.create_task(self._drain_stderr())
        self._reader = asyncio.create_task(self._read())

    @classmethod
    async def spawn(
        cls, command: Sequence[str], take: Take, *, env: Mapping[str, str] | None, cwd: str | os.PathLike[str] | None
    ) -> "Pipes":
        """Spawn the command. Raises `GatewayDied` where there is no such program."""
        try:
            process = await asyncio.create_subprocess_exec(
                *command, stdin=PIPE, stdout=PIPE, stderr=PIPE, env=env, cwd=cwd
            )
        except OSError as error:
            raise GatewayDied(f"{command[0]} cannot be started: {error.strerror}") from error
        return cls(process, take)

    @property
    def ended(self) -> asyncio.Future[str]:
        """Return the future of the reason why no more can come."""
        return self._ended

    @property
    def pid(self) -> int:
        """Return the process id."""
        return self._process.pid

    async def ask(self, method: str, params: msgspec.Struct) -> Raw:
        """Return the result as JSON. Raises `GatewayError`, `GatewayDied`."""
        self._last_id += 1
        number = self._last_id
        answer: asyncio.Future[Message] = asyncio.get_running_loop().create_future()
        line = msgspec.json.encode({"jsonrpc": "2.0", "id": number, "method": method, "params": params})
        self._waiting[number], self._sizes[number] = answer, len(line)
        try:
            await self._send(line)
            return (await answer).unwrap()
        except asyncio.CancelledError:
            with contextlib.suppress(GatewayDied):
                self._write(
                    msgspec.json.encode({"jsonrpc": "2.0", "method": "$/cancelRequest", "params": {"id": number}})
                )
            raise
        finally:
            del self._waiting[number], self._sizes[number]

    async def close(self) -> None:
        """Send `shutdown` and `exit`, and wait for the end; after ten seconds the process is killed."""
        with contextlib.suppress(TimeoutError, GatewayError, GatewayDied):
            async with asyncio.timeout(CLOSE_SECONDS):
                await self.ask("shutdown", Empty())
                await self._send(msgspec.json.encode({"jsonrpc": "2.0", "method": "exit"}))
                await asyncio.shield(self._ended)
        await self.kill()

    async def kill(self) -> None:
        """Kill the process if it still runs, and wait for its end."""
        self._kill()
        await asyncio.shield(self._reader)

    def _kill(self) -> None:
        if self._process.returncode is not None:
            return
        with contextlib.suppress(ProcessLookupError):  # it ended by itself
            if sys.platform == "win32":
                self._process.kill()
            else:  # asyncio's own way looks at the child first and so may take its exit code from asyncio's watcher
                os.kill(self._process.pid, signal.SIGKILL)

    @property
    def _stdin(self) -> asyncio.StreamWriter:
        return cast("asyncio.StreamWriter", self._process.stdin)

    def _write(self, line: bytes) -> None:
        if self._ended.done():
            raise GatewayDied(self._ended.result())
        self._stdin.write(line + b"\n")

    async def _send(self, line: bytes) -> None:
        self._write(line)
        try:
            await self._stdin.drain()
        except ConnectionError as error:  # its end, which follows, fails the calls with its last words
            if not (await asyncio.wait({self._ended}, timeout=CLOSE_SECONDS))[0]:
                raise GatewayDied("the process reads no more") from error

    async def _read(self) -> None:
        stdout = cast("asyncio.StreamReader", self._process.stdout)
        lines = LineSplitter()
        is_garbled = False
        try:
            while data := await stdout.read(READ_BYTES):
                for line in filter(None, lines.feed(data)):
                    self._receive(read_message(line))
        except msgspec.DecodeError:  # a process that writes anything else cannot be trusted with calls
            is_garbled = True
            self._kill()
        code = await self._process.wait()
        await self._draining
        self._stdin.close()
        self._finish("it wrote to stdout what is no message" if is_garbled else self._describe_end(code))

    def _describe_end(self, code: int) -> str:
        last = self._stderr.decode(errors="replace").strip().rpartition("\n")[2]
        return f"the process ended with code {code}" + (f": {last}" if last else "")

    def _finish(self, reason: str) -> None:
        self._ended.set_result(reason)  # first: a call that is asked again must not be asked here
        for answer in self._waiting.values():
            if not answer.done():
                answer.set_exception(GatewayDied(reason))

    def _receive(self, message: Message) -> None:
        if message.method is not None:
            self._take(message.method, message.params)
        elif isinstance(message.id, int):
            answer = self._waiting.get(message.id)
            if answer is not None and not answer.done():  # the answer to a cancelled call has no reader
                answer.set_result(message)
        else:
            self._answer_longest(message)

    def _answer_longest(self, message: Message) -> None:
        """Give an answer without a number, as one to a line that is too long has, to the longest call that waits."""
        waiting = [number for number, answer in self._waiting.items() if not answer.done()]
        if waiting:
            self._waiting[max(waiting, key=self._sizes.__getitem__)].set_result(message)

    async def _drain_stderr(self) -> None:
        stderr = cast("asyncio.StreamReader", self._process.stderr)
        while data := await stderr.read(READ_BYTES):
            self._stderr += data
            del self._stderr[:-STDERR_KEPT]
