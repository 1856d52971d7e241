"""Lists of any length, collected over the pages of a method, and counts over all workspaces."""

import argparse
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Iterator
from itertools import repeat
from typing import Any, TypeVar

import msgspec

from gateway.doors.commands.door import HomeMethods
from gateway.doors.commands.options import positive, present
from protocol.base import Elsewhere
from protocol.methods import WORKSPACE_LIST, Method

T = TypeVar("T", bound=msgspec.Struct)

PAGE = 100
"""The most that a page holds."""
MORE = "there are more: --limit N, or --all"


def add_limit(to: argparse.ArgumentParser, default: int = 20, *, of: str = "") -> None:
    """Add the options for the length of a list; `of` names the part of a command that they belong to, as `runs: `."""
    to.add_argument(
        "--limit", type=positive, default=default, metavar="N", help=f"{of}at most so many (default: %(default)s)"
    )
    to.add_argument("--all", action="store_true", help=f"{of}all of them")


def limit_of(given: argparse.Namespace) -> int | None:
    """Return the most entries that are wanted, or None for all of them."""
    return None if given.all else given.limit


async def each_page(
    door: HomeMethods, method: Method[Any, T], params: dict[str, Any], sizes: Iterable[int | None] = repeat(None)
) -> AsyncIterator[T]:
    """Yield a method's pages, at most one for each size, up to the last one; None stands for the method's own size."""
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
    found = list[Any]()

    def sizes() -> Iterator[int]:
        while limit is None or len(found) < limit:  # a page that is not full may have a next one
            yield PAGE if limit is None else min(PAGE, limit - len(found))

    pages = list[T]()
    async for page in each_page(door, method, params, sizes()):
        found += getattr(page, member)
        pages = [page]
    return msgspec.structs.replace(pages[-1], **{member: found})


async def count_elsewhere(door: HomeMethods, here: str, count: Callable[[str], Awaitable[int]]) -> list[Elsewhere]:
    """Return the counts that `count` returns for the other workspaces' ids, without zeros, the highest first."""
    found = list[Elsewhere]()
    for other in (await collect_pages(door, WORKSPACE_LIST, {}, "workspaces", None)).workspaces:
        if other.workspace_id != here and (hits := await count(other.workspace_id)):
            found.append(Elsewhere(workspace_id=other.workspace_id, count=hits))
    return sorted(found, key=lambda one: -one.count)
