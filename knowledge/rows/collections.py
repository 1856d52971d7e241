"""Rows of collections and of their owners: workspaces and the user."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

from msgspec import Struct

from knowledge.rows.statements import SQL
from protocol.files.collections import Collection, FileCounts, PatternProblem
from protocol.seams.ports import SqlValue, Tx

USER = ""
"""The name of the user among the owners of collections; the others are workspaces."""
CHOICES = ("name", "path", "include", "exclude", "follow_gitignore", "watch", "recall", "meaning", "enrich")
"""The fields that a person chooses for a collection, and may change."""
_LISTS = frozenset({"include", "exclude"})


class KnownCollection(Struct, frozen=True):
    """A collection's row; `workspace_id` is empty for one of the user."""

    id: int
    collection_id: str
    workspace_id: str
    owner: int
    name: str
    path: str
    include: str
    exclude: str
    follow_gitignore: int
    watch: int
    recall: int
    meaning: Any
    enrich: int
    state: Any
    reason: str | None
    skipped: str
    bad_patterns: str
    withheld_at: int | None
    deep_wanted: int
    scanned_at: int | None
    deep_scanned_at: int | None
    created_at: int

    @property
    def bad(self) -> list[PatternProblem]:
        """Return the lines that the last scan could not read as patterns."""
        return [PatternProblem(**one) for one in json.loads(self.bad_patterns)]

    def choices(self) -> dict[str, Any]:
        """Return the columns of `CHOICES` in the types of the wire."""
        return {
            name: json.loads(getattr(self, name))
            if name in _LISTS
            else bool(getattr(self, name))
            if isinstance(getattr(self, name), int)
            else getattr(self, name)
            for name in CHOICES
        }


def owner_of(tx: Tx, workspace_id: str) -> int:
    """Return the number of a workspace or of the user as an owner; it is given one if it has none."""
    tx.run(SQL["add_owner"], {"workspace_id": workspace_id})
    return tx.all(SQL["get_owner"], {"workspace_id": workspace_id})[0][0]


def find_owner(tx: Tx, workspace_id: str) -> int | None:
    """Return the number of a workspace or of the user as an owner; None where it never had a collection."""
    row = tx.one(SQL["get_owner"], {"workspace_id": workspace_id})
    return row[0] if row else None


def remove_owner(tx: Tx, owner: int) -> None:
    """Remove the number of a workspace that is gone."""
    tx.run(SQL["remove_owner"], {"owner": owner})


def _columns(choices: Mapping[str, Any]) -> dict[str, SqlValue]:
    return {
        name: json.dumps(value) if name in _LISTS else int(value) if isinstance(value, bool) else value
        for name, value in choices.items()
    }


def add_collection(tx: Tx, collection_id: str, owner: int, choices: Mapping[str, Any], now: int) -> int:
    """Store a new collection; return its row."""
    return tx.insert(
        SQL["add_collection"], {"collection_id": collection_id, "owner": owner, "now": now, **_columns(choices)}
    )


def find_collection(tx: Tx, collection_id: str) -> KnownCollection | None:
    """Return a collection by its id, or None."""
    row = tx.one(SQL["get_collection"], {"collection_id": collection_id})
    return KnownCollection(*row) if row else None


def list_collections(
    tx: Tx, workspaces: Sequence[str] | None = None, after: int = 0, limit: int = 1000
) -> list[KnownCollection]:
    """Return the collections of some owners, or of all, in the order of their rows, from the row behind `after` on."""
    listed = json.dumps(list(workspaces)) if workspaces is not None else ""
    rows = tx.all(SQL["collections_of"], {"workspaces": listed, "after": after, "limit": limit})
    return [KnownCollection(*row) for row in rows]


def find_presence(tx: Tx) -> tuple[bool, bool]:
    """Return whether there is a collection, and whether there is one whose files are recalled in turns."""
    any_one, recalled = tx.all(SQL["find_presence"])[0]
    return bool(any_one), bool(recalled)


def count_collections(tx: Tx) -> int:
    """Return how many collections there are in the home."""
    return tx.all(SQL["count_collections"])[0][0]


def change_collection(tx: Tx, row: int, choices: Mapping[str, Any]) -> None:
    """Store changed choices; `choices` has every member of `CHOICES`."""
    tx.run(SQL["change_collection"], {"id": row, **_columns(choices)})


def set_state(tx: Tx, row: int, state: str, reason: str | None = None) -> None:
    """Store the state of a collection."""
    tx.run(SQL["set_state"], {"id": row, "state": state, "reason": reason})


def change_state(tx: Tx, known: KnownCollection, state: str, reason: str | None) -> None:
    """Store the state of a collection, unless a scan has changed it since `known` was read."""
    tx.run(SQL["change_state"], {"id": known.id, "before": known.state, "state": state, "reason": reason})


def want_deep(tx: Tx, row: int) -> None:
    """Have the next scan read every file again."""
    tx.run(SQL["want_deep"], {"id": row})


def end_scan(
    tx: Tx,
    row: int,
    now: int,
    *,
    state: str,
    reason: str | None,
    skipped: Mapping[str, int],
    bad: Sequence[Mapping[str, Any]],
    withheld_at: int | None,
    deep: bool,
) -> None:
    """Store the outcome of a scan in the collection's row; `deep` says that every file is read again."""
    values: dict[str, SqlValue] = {
        "id": row,
        "now": now,
        "state": state,
        "reason": reason,
        "skipped": json.dumps(skipped),
        "bad_patterns": json.dumps(list(bad)),
        "withheld_at": withheld_at,
        "deep": int(deep),
    }
    tx.run(SQL["end_scan"], values)


class LeavingCollection(Struct, frozen=True):
    """A collection that is being removed; nothing else finds it by an id, or lists it."""

    id: int
    owner: int


def leave_collection(tx: Tx, row: int) -> None:
    """Begin to remove a collection: its id is free, and no statement of this module but one finds it any more."""
    tx.run(SQL["leave_collection"], {"id": row})


def list_leaving(tx: Tx, owner: int = 0) -> list[LeavingCollection]:
    """Return the collections of an owner, or of all, that are being removed."""
    return [LeavingCollection(*row) for row in tx.all(SQL["leaving_collections"], {"owner": owner})]


def remove_collection_row(tx: Tx, row: int) -> None:
    """Remove a collection with its log and versions."""
    tx.run(SQL["remove_collection"], {"id": row})


def to_wire(tx: Tx, known: KnownCollection) -> Collection:
    """Return a collection as the wire shows it, with the counts of its files."""
    states = {"indexed": 0, "pending": 0, "partial": 0, "failed": 0}
    skipped: dict[str, int] = json.loads(known.skipped)
    for state, reason, count in tx.all(SQL["count_files"], {"collection": known.id}):
        if state in states:
            states[state] += count
        elif state == "missing" and reason is None:  # withheld, or about to be removed
            skipped["missing"] = count
        elif state == "skipped":
            skipped[reason] = skipped.get(reason, 0) + count
    size, chunks = tx.all(SQL["size_of_collection"], {"collection": known.id})[0]
    return Collection(
        collection_id=known.collection_id,
        workspace_id=known.workspace_id or None,
        scope="workspace" if known.workspace_id else "user",
        **known.choices(),
        state=known.state,
        reason=known.reason,
        files=FileCounts(skipped=skipped, **states),
        bytes=size,
        chunks=chunks,
        scanned_at=known.scanned_at,
        deep_scanned_at=known.deep_scanned_at,
        created_at=known.created_at,
    )


def oldest_pending(tx: Tx, row: int) -> int | None:
    """Return the time since which the oldest waiting file waits; None where none does."""
    return tx.all(SQL["oldest_pending"], {"collection": row})[0][0]
