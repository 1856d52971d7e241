"""Servers of this machine that run as long as a block of a test."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

LIMIT = 2**26
"""Bytes of a line or head that are read at once."""


@asynccontextmanager
async def listening(
    serve: Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]],
) -> AsyncIterator[int]:
    """A server on a free port; the port."""
    server = await asyncio.start_server(serve, "127.0.0.1", 0, limit=LIMIT)
    try:
        yield server.sockets[0].getsockname()[1]
    finally:
        server.close()
