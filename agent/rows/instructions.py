"""Rows of instruction files: whether a workspace uses them, which its last turns had, and the texts that they had."""

from collections.abc import Mapping
from typing import Final

import msgspec
from msgspec import Struct

from agent.rows.statements import SQL, to_json
from protocol.guidance import InstructionMode, InstructionVersion
from protocol.seams.ports import Tx

MAX_VERSIONS = 50
"""Versions kept of one file: those of months, as a rule changes a few times a week at most."""

MAX_FOLDERS = 256
"""Folders of one workspace whose files are known; of those that were worked in longest ago files are told once more."""

_USED: Final = msgspec.json.Decoder(dict[str, dict[str, str]])
"""Built at import: msgspec does not guard two threads that build the decoder of one type at once."""


class InstructionState(Struct, frozen=True):
    """The mode of a workspace's instruction files, and the digests of those that its last turns had, by path.

    They are kept for each folder that files came from, by its key, the one that was worked in last at the end.
    """

    mode: InstructionMode = "on"
    used: Mapping[str, Mapping[str, str]] = {}


def read_instruction_state(tx: Tx, workspace_id: str) -> InstructionState:
    """Return the instruction state of a workspace; the default where none is stored."""
    row = tx.one(SQL["instruction_state"], {"workspace_id": workspace_id})
    if row is None:
        return InstructionState()
    try:
        return InstructionState(row[0], _USED.decode(row[1]))
    except msgspec.ValidationError:  # as they were stored once, without folders: they are told once more
        return InstructionState(row[0])


def put_instruction_mode(tx: Tx, workspace_id: str, mode: InstructionMode) -> None:
    """Store whether a workspace's instruction files are used."""
    tx.run(SQL["put_instruction_mode"], {"workspace_id": workspace_id, "mode": mode})


def put_instructions_used(tx: Tx, workspace_id: str, used: Mapping[str, Mapping[str, str]]) -> None:
    """Store the digests of the files that turns had, for each folder by path; the last `MAX_FOLDERS` are kept."""
    kept = dict([*used.items()][-MAX_FOLDERS:])
    tx.run(SQL["put_instructions_used"], {"workspace_id": workspace_id, "used": to_json(kept)})


def add_instruction_version(tx: Tx, workspace_id: str, path: str, version: InstructionVersion) -> None:
    """Store a text that a file has now, unless its newest version is that one; the oldest beyond `MAX_VERSIONS` go."""
    file = {"workspace_id": workspace_id, "path": path}
    new = {"sha256": version.sha256, "at": version.at, "text": version.text}
    tx.run(SQL["add_instruction_version"], file | new)
    tx.run(SQL["drop_instruction_versions"], file | {"kept": MAX_VERSIONS})


def list_instruction_versions(
    tx: Tx, workspace_id: str, path: str, before: int, limit: int
) -> list[tuple[int, InstructionVersion]]:
    """Return versions of a file before a row, newest first, each with its row."""
    values = {"workspace_id": workspace_id, "path": path, "before": before, "limit": limit}
    rows = tx.all(SQL["instruction_versions"], values)
    return [(row, InstructionVersion(sha256=sha256, at=at, text=text)) for row, sha256, at, text in rows]


def remove_instructions(tx: Tx, workspace_id: str) -> int:
    """Remove all that is known of a workspace's instruction files; return how many versions went."""
    tx.run(SQL["remove_instruction_state"], {"workspace_id": workspace_id})
    return tx.run(SQL["remove_instruction_versions"], {"workspace_id": workspace_id})
