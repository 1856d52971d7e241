"""The common part of both ways to a gateway."""

import asyncio
from collections.abc import Callable
from typing import Protocol, TypeAlias

import msgspec
from msgspec import Raw

from pioneer_client.errors import Failure, GatewayError

READ_BYTES = 256 * 1024

Take: TypeAlias = Callable[[str, Raw], None]
"""A function that is called with each notification: its name, and its parameters as JSON."""


class Message(msgspec.Struct):
    """An answer or a notification."""

    id: int | str | None = None
    method: str | None = None
    params: Raw = Raw(b"{}")
    result: Raw = Raw(b"null")
    error: Failure | None = None

    def unwrap(self) -> Raw:
        """Return an answer's result as JSON. Raises `GatewayError`."""
        if self.error is not None:
            raise GatewayError(self.error)
        return self.result


_MESSAGES = msgspec.json.Decoder(Message)


def read_message(data: bytes) -> Message:
    """Return the message that some bytes are. Raises `msgspec.DecodeError`."""
    try:
        return _MESSAGES.decode(data)
    except (UnicodeDecodeError, RecursionError) as error:  # bytes that are no UTF-8, or nested too deeply
        raise msgspec.DecodeError(str(error)) from error


class Connection(Protocol):
    """One process, or one open event stream; it is not used again once `ended` has a reason."""

    @property
    def ended(self) -> asyncio.Future[str]:
        """Return the future of the reason why no more can come."""
        ...

    async def ask(self, method: str, params: msgspec.Struct) -> Raw:
        """Return the result as JSON; a cancelled call is cancelled at the gateway, too.

        Raises:
            GatewayError: The gateway answered with an error.
            GatewayDied: No answer can come.

        """
        ...

    async def close(self) -> None:
        """End in order, and wait for the end."""
        ...

    async def kill(self) -> None:
        """End at once, and wait for the end."""
        ...


class LineSplitter:
    """Collects bytes into lines of any length, without their ends."""

    def __init__(self) -> None:
        self._parts: list[bytes] = []

    def feed(self, data: bytes) -> list[bytes]:
        """Return the lines that these bytes complete, blank ones too."""
        first, *others = data.split(b"\n")
        self._parts.append(first)
        if not others:
            return []
        whole = b"".join(self._parts)
        self._parts = [others.pop()]
        return [line.removesuffix(b"\r") for line in (whole, *others)]
