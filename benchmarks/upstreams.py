"""Servers that the chat proxy is measured beside: a model that streams what it is asked for, and a bare forwarder to
it.

`python -m benchmarks.upstreams model`, `… forwarder PORT`: each prints its port.
Rule 1: the forwarder is what uvicorn with h11 and httpx2 cost by themselves: it reads nothing, and adds nothing.
"""

import asyncio
import json
import socket
import sys
import time
from collections.abc import Mapping
from typing import Any
from urllib.parse import parse_qs, urlsplit

import httpx2
import uvicorn

HOP_BY_HOP = {b"connection", b"keep-alive", b"transfer-encoding", b"host"}
LONGEST_LINE = 2**26


def event(text: str) -> bytes:
    """A chunk of a streamed answer, with the time at which it was written."""
    said = {"choices": [{"index": 0, "delta": {"content": text}}], "at": time.monotonic_ns()}
    return b"data: " + json.dumps(said).encode() + b"\n\n"


async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Answer the requests of a connection: `chunks` of `chars` characters each, `pause_us` microseconds apart."""
    try:
        while True:
            head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
            named = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in head[1:])}
            await reader.readexactly(int(named.get("content-length", "0")))
            asked = {name: int(values[0]) for name, values in parse_qs(urlsplit(head[0].split()[1]).query).items()}
            writer.write(b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n")
            text = "word " * (asked.get("chars", 40) // 5)
            for _ in range(asked.get("chunks", 1)):
                _write(writer, event(text))
                await writer.drain()
                if pause := asked.get("pause_us"):
                    await asyncio.sleep(pause / 1e6)
            _write(
                writer, b'data: {"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]}\n\ndata: [DONE]\n\n'
            )
            writer.write(b"0\r\n\r\n")
            await writer.drain()
    except (asyncio.IncompleteReadError, ConnectionError):
        writer.close()


def _write(writer: asyncio.StreamWriter, data: bytes) -> None:
    writer.write(b"%x\r\n%s\r\n" % (len(data), data))


async def model() -> None:
    """Serve the model until the process is ended."""
    server = await asyncio.start_server(answer, "127.0.0.1", 0, limit=LONGEST_LINE)
    sys.stdout.write(f"{server.sockets[0].getsockname()[1]}\n")
    sys.stdout.flush()
    await server.serve_forever()


class Forwarder:
    """The application of the bare forwarder."""

    def __init__(self, port: int) -> None:
        self._base = f"http://127.0.0.1:{port}"
        self._client = httpx2.AsyncClient(trust_env=False)

    async def __call__(self, scope: Mapping[str, Any], receive: Any, send: Any) -> None:
        parts: list[bytes] = []
        while True:
            message = await receive()
            parts.append(message.get("body", b""))
            if not message.get("more_body"):
                break
        url = f"{self._base}{scope['path']}?{scope['query_string'].decode()}"
        headers = [(name, value) for name, value in scope["headers"] if name not in HOP_BY_HOP]
        request = httpx2.Request(scope["method"], url, headers=headers, content=b"".join(parts))
        response = await self._client.send(request, stream=True)
        kept = [(name, value) for name, value in response.headers.raw if name.lower() not in HOP_BY_HOP]
        await send({"type": "http.response.start", "status": response.status_code, "headers": kept})
        async for chunk in response.aiter_raw():
            await send({"type": "http.response.body", "body": chunk, "more_body": True})
        await send({"type": "http.response.body", "body": b"", "more_body": False})
        await response.aclose()


def forward(port: int) -> None:
    """Serve the forwarder until the process is ended."""
    listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP)  # as the doors' is: no Nagle
    listener.bind(("127.0.0.1", 0))
    listener.listen()
    sys.stdout.write(f"{listener.getsockname()[1]}\n")
    sys.stdout.flush()
    config = uvicorn.Config(Forwarder(port), http="h11", ws="none", lifespan="off", log_level="error")
    uvicorn.Server(config).run(sockets=[listener])


if __name__ == "__main__":
    asyncio.run(model()) if sys.argv[1] == "model" else forward(int(sys.argv[2]))
