"""Lists of any length, collected over the pages of a method."""

import argparse
from collections.abc import AsyncIterator, Iterable, Iterator
from itertools import repeat
from typing import Any, TypeVar

import msgspec

from gateway.doors.commands.door import HomeMethods
from gateway.doors.commands.options import positive, present
from protocol.methods import Method

T = TypeVar("T", bound=msgspec.Struct)

PAGE = 100
"""The most that a page holds."""
MORE = "there are more: --limit N, or --all"


def add_limit(to: argparse.ArgumentParser, default: int = 20) -> None:
    """Add the options for the length of a list."""
    to.add_argument(
        "--limit", type=positive, default=default, metavar="N", help="at most so many (default: %(default)s)"
    )
    to.add_argument("--all", action="store_true", help="all of them")


def limit_of(given: argparse.Namespace) -> int | None:
    """Return the most entries that are wanted, or None for all of them."""
    return None if given.all else given.limit


def _sizes(limit: int | None) -> Iterator[int]:
    """Yield the sizes of the pages that together hold `limit` entries; without end for None."""
    while limit is None or limit > PAGE:
        yield PAGE
        limit = None if limit is None else limit - PAGE
    yield limit


async def each_page(
    door: HomeMethods, method: Method[Any, T], params: dict[str, Any], sizes: Iterable[int | None] = repeat(None)
) -> AsyncIterator[T]:
    """Yield a method's pages, as many as there are sizes, up to the last one; None is the method's own size."""
    cursor = None
    for size in sizes:
        page = await door.call(method, params | present(limit=size, cursor=cursor))
        yield page
        cursor = getattr(page, "next_cursor", None)
        if cursor is None:
            return


async def collect_pages(
    door: HomeMethods, method: Method[Any, T], params: dict[str, Any], member: str, limit: int | None
) -> T:
    """Return a method's last page with the entries of all pages, at most `limit`, in its list `member`.

    Raises `GatewayError`.
    """
    pages = [page async for page in each_page(door, method, params, _sizes(limit))]
    found = [entry for page in pages for entry in getattr(page, member)]
    return msgspec.structs.replace(pages[-1], **{member: found})
