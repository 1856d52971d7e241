"""The list of forgotten memories that can be restored: their ids, categories and times, without their words."""

import json
from collections.abc import Sequence
from typing import Any

import msgspec

from gateway.doors.commands.door import HomeMethods
from gateway.doors.commands.options import present
from gateway.doors.commands.paging import each_page
from protocol import methods as m
from protocol.base import Scope
from protocol.bundle import BundleTombstone


class RestorableMemory(msgspec.Struct, frozen=True):
    """A memory that `restore` can bring back."""

    memory_id: str
    category: str
    scope: Scope
    forgotten_at: int


async def find_forgotten(
    door: HomeMethods,
    context: dict[str, Any],
    scopes: list[dict[str, str]] | None = None,
    categories: Sequence[str] | None = None,
) -> list[RestorableMemory]:
    """Return the memories that can be restored, of these scopes and categories or of all, last forgotten first."""
    stones = [
        msgspec.convert(entry, BundleTombstone)
        async for page in each_page(door, m.MEMORY_EXPORT, present(scopes=scopes, context=context))
        for entry in map(json.loads, page.bundle.rstrip("\n").split("\n"))
        if entry["type"] == "tombstone"
    ]
    found = list[RestorableMemory]()
    for stone in sorted(stones, key=lambda stone: -stone.forgotten_at):
        asked = {"memory_id": stone.memory_id, "include_deleted": True, "context": context}
        record = (await door.call(m.MEMORY_GET, asked)).record
        if record is None or record.status != "deleted":  # an erased record has left only its tombstone
            continue
        if categories is None or record.category in categories:
            found.append(RestorableMemory(stone.memory_id, record.category, stone.scope, stone.forgotten_at))
    return found
