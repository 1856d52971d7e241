"""What was forgotten and can be restored: which memories, of what kind and when, and nothing of what they said."""

import argparse
import json

import msgspec

from gateway.commands.door import Door
from gateway.commands.options import context_of, present, scopes_of
from gateway.commands.paging import each_page
from protocol import methods as m
from protocol.base import Scope
from protocol.bundle import BundleTombstone


class Forgotten(msgspec.Struct, frozen=True):
    """A memory that `restore` can bring back."""

    memory_id: str
    category: str
    scope: Scope
    forgotten_at: int


async def find_forgotten(door: Door, given: argparse.Namespace) -> list[Forgotten]:
    """Everything that can be restored in these scopes, the last one forgotten first."""
    context = context_of(given)
    stones = [
        msgspec.convert(entry, BundleTombstone)
        async for page in each_page(door, m.MEMORY_EXPORT, present(scopes=scopes_of(given), context=context))
        for entry in map(json.loads, page.bundle.rstrip("\n").split("\n"))
        if entry["type"] == "tombstone"
    ]
    found = list[Forgotten]()
    for stone in sorted(stones, key=lambda stone: -stone.forgotten_at):
        asked = {"memory_id": stone.memory_id, "include_deleted": True, "context": context}
        record = (await door.call(m.MEMORY_GET, asked)).record
        if record is None or record.status != "deleted":  # of what was erased nothing but the tombstone is there
            continue
        if given.category is None or record.category in given.category:
            found.append(Forgotten(stone.memory_id, record.category, stone.scope, stone.forgotten_at))
    return found
