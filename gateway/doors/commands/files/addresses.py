"""The places that a person names: an address is known in every folder, and an existing path names a file, too.

Rule 1: the methods see the collections of one workspace and of the user; a collection of another project is read in
its own workspace, which is named on stderr, unless an option names a workspace: that one is not left.
"""

import argparse
import os
from collections.abc import AsyncIterator
from pathlib import Path

from gateway.base.exit_codes import NEGATIVE
from gateway.doors.commands.door import HomeMethods
from gateway.doors.commands.options import workspace_here
from gateway.doors.commands.paging import collect_pages
from gateway.doors.terminal.exits import Stop
from gateway.doors.terminal.screen import plain
from protocol import methods as m
from protocol.errors import GatewayError
from protocol.files.collections import Collection

SEPARATORS = (os.sep, os.altsep or os.sep)


def is_path(text: str) -> bool:
    """Return whether a text names something on the disk: a file, or a folder that is written as a path."""
    is_written_so = any(mark in text for mark in SEPARATORS)
    return os.path.exists(text) if is_written_so else os.path.isfile(text)  # noqa: PTH110, PTH113  # any text is fine


def find_collection_id(text: str) -> str | None:
    """Return the collection that an address begins with; None for words without one."""
    collection_id, colon, _ = text.partition(":")
    return collection_id if colon and not any(mark.isspace() for mark in collection_id) else None


async def find_workspace(door: HomeMethods, given: argparse.Namespace, collection_id: str | None) -> str:
    """Return the workspace in which what lies in a collection is looked up; None stands for no collection."""
    if collection_id is None:
        return given.workspace
    try:
        owner = (await door.call(m.COLLECTIONS_GET, {"collection_id": collection_id})).collection.workspace_id
    except GatewayError:  # it is no collection: the method itself tells of that
        return given.workspace
    if owner is None or owner == given.workspace:
        return given.workspace
    door.hint_at_project((await door.call(m.WORKSPACE_GET, {"workspace_id": owner})).workspace)
    return owner if given.workspace == workspace_here() else given.workspace


async def find_place(door: HomeMethods, given: argparse.Namespace, text: str) -> tuple[str, str] | None:
    """Return the collection that holds an existing path, and the path in it; None for a text that is no path.

    Raises `Stop` where no collection holds it, or it is the whole folder of one.
    """
    if not is_path(text):
        return None
    place = _resolve(Path(text))
    async for one in _each_collection(door, given):
        if place == Path(one.path):
            line = f"{plain(text)} is the folder of collection {one.collection_id}: `pioneer knowledge status`"
            raise Stop(NEGATIVE, line)
        if place.is_relative_to(one.path):
            return one.collection_id, place.relative_to(one.path).as_posix()
    raise Stop(NEGATIVE, f"no collection holds {plain(text)}; `pioneer knowledge add DIR` makes one of a folder")


def _resolve(path: Path) -> Path:
    """Return the absolute path; a link to a file stays, as it is a file of the folder that it lies in."""
    return path.resolve() if path.is_dir() else path.parent.resolve() / path.name


async def _each_collection(door: HomeMethods, given: argparse.Namespace) -> AsyncIterator[Collection]:
    """Yield the collections of the home, first those that are seen from here."""
    others = (await collect_pages(door, m.WORKSPACE_LIST, {}, "workspaces", None)).workspaces
    for workspace in dict.fromkeys([given.workspace, *(one.workspace_id for one in others)]):
        asked = {"workspace_id": workspace}
        for one in (await collect_pages(door, m.COLLECTIONS_LIST, asked, "collections", None)).collections:
            yield one
