"""Run files: where the doors of living processes listen.

Rule 1: a file lives as long as its owner's lock is held; one that a killed process left counts for nothing.
"""

import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Literal, TypeAlias

import msgspec

from gateway.base.durable_file import publish
from gateway.home.owners import is_free
from protocol.conversation.turns import Usage

Door: TypeAlias = Literal["http", "proxy"]
DOORS: Sequence[Door] = ("http", "proxy")
"""The doors that write one."""


class RunFile(msgspec.Struct, frozen=True, kw_only=True):
    """A door that listens: its address, process, home, and the owner whose lock says that it lives."""

    url: str
    pid: int
    home_id: str
    owner: str
    capture: str | None = None
    """Of a proxy: `live`, or `dark` while its memory does not answer."""
    late: int = 0
    spooled: int = 0
    last_turn_at: int | None = None
    usage: Usage = Usage()


def write_run_file(run: Path, door: Door, entry: RunFile) -> Path:
    """Write the file of this process's door; return its path, to be removed when the door closes. Raises `OSError`."""
    path = run / f"{door}-{os.getpid()}.json"
    publish(path, msgspec.json.encode(entry) + b"\n")
    return path


def living_doors(run: Path, *doors: Door) -> list[RunFile]:
    """Return the entries of living processes' doors, of all kinds where none is named."""
    return [entry for _, entry in find_run_files(run, doors or DOORS) if entry is not None]


def find_run_files(run: Path, doors: Sequence[Door] = DOORS) -> Iterator[tuple[Path, RunFile | None]]:
    """Yield each run file with its entry; None where its process has ended, or the file cannot be read."""
    for door in doors:
        for path in sorted(run.glob(f"{door}-*.json")):
            try:
                entry = msgspec.json.decode(path.read_bytes(), type=RunFile)
            except (OSError, msgspec.DecodeError):
                yield path, None
                continue
            yield path, None if is_free(run / f"{entry.owner}.lock") else entry
