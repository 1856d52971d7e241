"""A process that is spoken to by lines, without an event loop in between: for round trips, rates and floods of any
server.

Rule 1: the same code measures ours and a peer, so that the cost of asking is in both.
"""

import json
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple, Self

from benchmarks.wire import cpu_ms, spent
from gateway.wire.client import console_script

READ_BYTES = 1 << 16
STALLED_SECONDS = 1.0
LOOK_SECONDS = 0.02
END_SECONDS = 20
SDK_VERSION = "2025-06-18"

SDK_ECHO = """
from mcp.server import MCPServer
server = MCPServer("echo")
@server.tool()
def echo(text: str) -> str:
    return text
server.run("stdio")
"""
"""An echo tool as the documentation of the official SDK writes it."""


class Cost(NamedTuple):
    """The cost of some requests: processor time of the server for each, and the wall time of each or of all."""

    cpu_us: float
    wall_us: list[float]


class Flood(NamedTuple):
    """The outcome of requests whose answers were not read at first."""

    answered: int
    before_mb: float
    most_mb: float


class Server:
    """A process with pipes."""

    def __init__(self, command: Sequence[str], cwd: Path | None = None) -> None:
        self._process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, cwd=cwd
        )
        self.pid = self._process.pid
        self._stdin: Any = self._process.stdin
        self._stdout: Any = self._process.stdout

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._stdin.close()
        try:
            self._process.wait(END_SECONDS)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._stdout.close()

    def ask(self, message: dict[str, Any]) -> dict[str, Any]:
        """Send a request and read what is answered to it; what is not an answer to it is passed over."""
        self.tell(message)
        while True:
            line = self._stdout.readline()
            if not line:
                raise EOFError("the process ended")
            answer = json.loads(line)
            if answer.get("id") == message["id"]:
                return answer

    def tell(self, message: dict[str, Any]) -> None:
        """Send a message."""
        self._stdin.write(json.dumps(message).encode() + b"\n")
        self._stdin.flush()

    def round_trips(self, count: int, line: Callable[[int], bytes]) -> Cost:
        """Requests one after another."""
        walls: list[float] = []
        used = cpu_ms(self.pid)
        for number in range(count):
            said = line(number)
            begun = time.perf_counter()
            self._stdin.write(said)
            self._stdin.flush()
            self._stdout.readline()
            walls.append((time.perf_counter() - begun) * 1e6)
        return Cost((cpu_ms(self.pid) - used) * 1000 / count, walls)

    def pipelined(self, count: int, line: Callable[[int], bytes]) -> Cost:
        """Requests as fast as they are taken, read as fast as they come."""
        said = b"".join(line(number) for number in range(count))
        writer = threading.Thread(target=self._write, args=(said,))
        used, begun = cpu_ms(self.pid), time.perf_counter()
        writer.start()
        self._read_lines(count)
        took = time.perf_counter() - begun
        writer.join()
        return Cost((cpu_ms(self.pid) - used) * 1000 / count, [took * 1e6 / count])

    def flood(self, count: int, line: Callable[[int], bytes]) -> Flood:
        """Requests written before any answer is read: until all are taken, or the process takes no more; then the
        answers."""
        said = b"".join(line(number) for number in range(count))
        before = most = spent(self.pid).rss_mb or 0.0
        writer = threading.Thread(target=self._write, args=(said,))
        writer.start()
        used, still = cpu_ms(self.pid), 0.0
        while writer.is_alive() and still < STALLED_SECONDS:
            writer.join(LOOK_SECONDS)
            now = cpu_ms(self.pid)
            still = still + LOOK_SECONDS if now == used else 0.0
            used, most = now, max(most, spent(self.pid).rss_mb or 0.0)
        answered = self._read_lines(count)
        writer.join()
        return Flood(answered, before, max(most, spent(self.pid).rss_mb or 0.0))

    def _write(self, said: bytes) -> None:
        self._stdin.write(said)
        self._stdin.flush()

    def _read_lines(self, count: int) -> int:
        read = 0
        while read < count:
            data = self._stdout.read1(READ_BYTES)
            if not data:
                break
            read += data.count(b"\n")
        return read


def gateway(home: Path) -> Server:
    """A gateway that has answered `initialize`, without a model."""
    config = home.parent / "pipes.toml"
    config.write_text("[gateway.embedding]\nenabled = false\n", encoding="utf-8")
    server = Server([*console_script(), "serve", "--home", str(home), "--config", str(config)])
    hello = {"protocol_version": "2026-11", "client": {"name": "pipes", "version": "1"}}
    server.ask({"jsonrpc": "2.0", "id": "hello", "method": "initialize", "params": hello})
    return server


def ping(number: int) -> bytes:
    """A ping."""
    return b'{"jsonrpc":"2.0","id":%d,"method":"ping"}\n' % number


def sdk_echo() -> Server:
    """An echo server by the official SDK that has shaken hands."""
    server = Server([sys.executable, "-c", SDK_ECHO])
    client = {"protocolVersion": SDK_VERSION, "capabilities": {}, "clientInfo": {"name": "pipes", "version": "1"}}
    server.ask({"jsonrpc": "2.0", "id": "hello", "method": "initialize", "params": client})
    server.tell({"jsonrpc": "2.0", "method": "notifications/initialized"})
    return server


def echo(number: int) -> bytes:
    """A call of the echo tool."""
    params = {"name": "echo", "arguments": {"text": "hello"}}
    return json.dumps({"jsonrpc": "2.0", "id": number, "method": "tools/call", "params": params}).encode() + b"\n"
