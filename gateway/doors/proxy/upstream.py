"""The one place that knows httpx2: it sends requests to models, and returns the bytes of answers as they come.

Rule 1: nothing is added to a request; no redirect is followed, and no credential is read from a file.
Rule 2: the proxy that the environment names is used for other machines only.
"""

import ssl
from collections.abc import AsyncIterator, Sequence
from typing import Any, TypeAlias

import httpx2

from gateway.doors.proxy.route import Header, Upstream

CONNECTIONS = 512
"""As many as the door accepts (`MAX_CONNECTIONS` of its server)."""
STREAM = b"text/event-stream"

Body: TypeAlias = bytes | AsyncIterator[bytes] | None


class Unreachable(Exception):
    """The upstream cannot be connected to."""


class TimedOut(Exception):
    """The upstream sent nothing in time."""


class Broken(Exception):
    """The upstream broke off."""


class UpstreamAnswer:
    """An answer whose head has come."""

    def __init__(self, response: httpx2.Response) -> None:
        self._response = response
        self.status: int = response.status_code
        self.headers: list[Header] = list(response.headers.raw)

    @property
    def is_stream(self) -> bool:
        """Return whether it is a stream of events."""
        return any(name.lower() == b"content-type" and STREAM in value for name, value in self.headers)

    @property
    def encoding(self) -> bytes:
        """Return the content encodings in small letters; empty for an answer without one."""
        values = [value for name, value in self.headers if name.lower() == b"content-encoding"]
        return b", ".join(values).strip().lower()

    @property
    def size(self) -> int | None:
        """Return the length of the body in bytes; None where the head does not give it."""
        values = [value for name, value in self.headers if name.lower() == b"content-length"]
        return int(values[0]) if values and values[0].isdigit() else None

    async def chunks(self) -> AsyncIterator[bytes]:
        """Yield the bytes as they come from the network. Raises `Broken`."""
        try:
            async for chunk in self._response.aiter_raw():
                if chunk:
                    yield chunk
        except httpx2.HTTPError:
            raise Broken from None

    async def close(self) -> None:
        """Return the connection to the pool, or close it where the answer has not ended."""
        await self._response.aclose()


class Upstreams:
    """Connections to models."""

    def __init__(self) -> None:
        limits = httpx2.Limits(max_connections=CONNECTIONS, max_keepalive_connections=32)
        self._local = httpx2.AsyncClient(trust_env=False, limits=limits)
        self._remote: httpx2.AsyncClient | None = None
        self._limits = limits

    def _client(self, upstream: Upstream) -> httpx2.AsyncClient:
        if upstream.is_loopback:
            return self._local
        if self._remote is None:
            self._remote = httpx2.AsyncClient(trust_env=True, limits=self._limits, verify=ssl.create_default_context())
        return self._remote

    async def send(
        self,
        upstream: Upstream,
        verb: str,
        url: str,
        headers: Sequence[Header],
        body: Body,
    ) -> UpstreamAnswer:
        """Send a request and return its answer once the head is there. Raises `Unreachable`, `TimedOut`, `Broken`."""
        settings = upstream.settings
        idle = settings.idle_timeout_ms / 1000
        timeout = httpx2.Timeout(
            idle, connect=settings.connect_timeout_ms / 1000, pool=settings.connect_timeout_ms / 1000
        )
        request = httpx2.Request(
            verb, url, headers=list(headers), content=body, extensions={"timeout": timeout.as_dict()}
        )
        try:
            response: Any = await self._client(upstream).send(request, stream=True, follow_redirects=False)
        except (httpx2.ConnectError, httpx2.ConnectTimeout, httpx2.PoolTimeout, httpx2.UnsupportedProtocol):
            raise Unreachable from None
        except httpx2.TimeoutException:
            raise TimedOut from None
        except httpx2.HTTPError:
            raise Broken from None
        return UpstreamAnswer(response)

    async def close(self) -> None:
        """Close every connection."""
        await self._local.aclose()
        if self._remote is not None:
            await self._remote.aclose()
