"""Spawned HTTP doors, and requests to them byte by byte."""

import json
import re
import signal
import socket
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from http.client import HTTPConnection
from pathlib import Path
from typing import Any, NamedTuple, Self
from urllib.parse import urlencode

from spawned import Den

from gateway.wire.client import console_script

SECONDS = 60.0
"""As long as a test waits for bytes that come."""
LINE = re.compile(r"pioneer http: http://([0-9.:\[\]]+):(\d+) \(token in (.*)\)")


class Said(NamedTuple):
    """An answer: its code, its headers in small letters, its body."""

    status: int
    headers: dict[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)

    @property
    def reason(self) -> str:
        """The reason of an error."""
        return self.json["error"]["data"]["reason"]


class HttpDen(Den):
    """A den whose home is open over HTTP."""

    port: int
    pid: int

    def token(self) -> str:
        return (self.home / "http" / "token").read_text(encoding="utf-8")

    def door_command(self, *more: str) -> list[str]:
        return [*console_script(), "http", "--home", str(self.home), "--config", str(self.config), *more]

    @contextmanager
    def door(self, *more: str, **how: Any) -> Iterator[Self]:
        """A door on a free port, until the end of the block."""
        process = self.start(*more, **how)
        try:
            yield self
        finally:
            process.send_signal(signal.SIGTERM)
            assert self.wait(process) == 0

    def start(self, *more: str, **how: Any) -> subprocess.Popen[str]:
        port = () if "--port" in more else ("--port", "0")
        process = subprocess.Popen(
            self.door_command(*port, *more), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **how
        )
        assert process.stdout is not None
        line = process.stdout.readline()
        found = LINE.fullmatch(line.strip())
        assert found, (line, process.stderr and process.stderr.read())
        self.port, self.pid = int(found[2]), process.pid
        return process

    def wait(self, process: "subprocess.Popen[str]") -> int:
        """Wait for its end; its code."""
        with process:
            return process.wait(SECONDS)

    def ask(
        self,
        verb: str,
        path: str,
        body: Any = None,
        /,
        *,
        token: str | None = "",
        headers: Mapping[str, str] | None = None,
        **query: Any,
    ) -> Said:
        """One request; without a word about it, with the token."""
        sent = dict(headers or {})
        if token is not None:
            sent["Authorization"] = f"Bearer {token or self.token()}"
        data = None
        if body is not None:
            data = body if isinstance(body, bytes) else json.dumps(body).encode()
            sent.setdefault("Content-Type", "application/json")
        connection = HTTPConnection("127.0.0.1", self.port, timeout=SECONDS)
        try:
            connection.request(verb, f"{path}?{urlencode(query)}" if query else path, data, sent)
            answer = connection.getresponse()
            return Said(answer.status, {name.lower(): value for name, value in answer.getheaders()}, answer.read())
        finally:
            connection.close()

    def rpc(self, method: str, params: Any = None, **how: Any) -> Any:
        """The result of a method; its envelope has to be a success."""
        sent = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params or {}}
        return self.ask("POST", "/rpc", sent, **how).json["result"]

    def raw(self) -> "Raw":
        return Raw(self.port)

    def head(self, start: str, *lines: str) -> bytes:
        """A request's head with the host and the token."""
        own = (f"Host: 127.0.0.1:{self.port}", f"Authorization: Bearer {self.token()}")
        return "\r\n".join([start, *own, *lines, "", ""]).encode("latin-1")

    def is_healthy(self) -> bool:
        return self.ask("GET", "/health", token=None).json["service"] == "pioneer"


class Raw:
    """A connection that is written to byte by byte."""

    def __init__(self, port: int) -> None:
        self.socket = socket.create_connection(("127.0.0.1", port), SECONDS)
        self._read = b""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.socket.close()

    def send(self, data: bytes) -> None:
        self.socket.sendall(data)

    def until(self, mark: bytes) -> bytes:
        """The bytes up to a mark, and with it."""
        while mark not in self._read:
            data = self.socket.recv(65536)
            if not data:
                raise EOFError(self._read)
            self._read += data
        found, _, self._read = self._read.partition(mark)
        return found + mark

    def exactly(self, count: int) -> bytes:
        while len(self._read) < count:
            data = self.socket.recv(65536)
            if not data:
                raise EOFError(self._read)
            self._read += data
        found, self._read = self._read[:count], self._read[count:]
        return found

    def answer(self) -> Said:
        """The next answer, which has a length."""
        start, *lines = self.until(b"\r\n\r\n").decode("latin-1").strip().split("\r\n")
        headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines)}
        return Said(int(start.split()[1]), headers, self.exactly(int(headers.get("content-length", "0"))))

    def is_closed(self) -> bool:
        """The other side sends nothing more."""
        try:
            return self.socket.recv(1) == b""
        except ConnectionError:
            return True


class Events:
    """An event stream that is read as it comes."""

    def __init__(self, den: HttpDen, last_id: str | None = None, **query: str) -> None:
        self._raw = den.raw()
        path = f"/events?{urlencode(query)}" if query else "/events"
        more = (f"Last-Event-ID: {last_id}",) if last_id is not None else ()
        self._raw.send(den.head(f"GET {path} HTTP/1.1", *more))
        head = self._raw.until(b"\r\n\r\n")
        assert b" 200 " in head.split(b"\r\n")[0], head
        self._text = b""
        self.next_part()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._raw.socket.close()

    def next_part(self) -> bytes:
        """The next event or comment."""
        while b"\n\n" not in self._text:
            size = int(self._raw.until(b"\r\n"), 16)
            self._text += self._raw.exactly(size)
            self._raw.exactly(2)
            if not size:
                raise EOFError
        found, _, self._text = self._text.partition(b"\n\n")
        return found

    def next(self) -> dict[str, Any]:
        """The next event: its `id`, `event` and `data`."""
        while True:
            lines = [line.partition(": ") for line in self.next_part().decode().split("\n") if not line.startswith(":")]
            if lines:
                members: dict[str, Any] = {name: value for name, _, value in lines}
                return {**members, "data": json.loads(members["data"])}

    def until(self, name: str) -> list[dict[str, Any]]:
        """The events up to one of a name, and with it."""
        found = [self.next()]
        while found[-1]["event"] != name:
            found.append(self.next())
        return found


def mode_of(path: Path) -> int:
    return path.stat().st_mode & 0o777
