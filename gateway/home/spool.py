"""The spool of a home: answers that chat proxies have on disk until memory has them, a file for each proxy.

Rule 1: a file belongs to its proxy while that lives; what an ended one left is any gateway's to deliver.
Rule 2: a torn line is put aside, and the others are read.
"""

import hashlib
import time
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from gateway.home.owners import is_free
from protocol.base import encode, encode_sorted

FOLDER = "spool"
QUARANTINE = "quarantine.jsonl"
STAYS_FOR = frozenset(
    {"storage_full", "storage_read_only", "unavailable", "overloaded", "home_locked", "turn_in_progress"}
)
"""Reasons for which an answer is delivered again later; for any other it is refused for good."""


class SpoolLine(msgspec.Struct, frozen=True):
    """A line: `finish` are the parameters of `capture/finish`, `sha256` is that of them in sorted JSON.

    `at` is the time at which it was written, in milliseconds.
    """

    v: int
    sha256: str
    finish: dict[str, Any]
    at: int


class ReadSpool(NamedTuple):
    """A file's whole lines in their order, and its torn ones."""

    lines: Sequence[SpoolLine]
    torn: Sequence[bytes]


class SpoolFile(NamedTuple):
    """A file of the spool; `is_left`: its proxy has ended."""

    path: Path
    is_left: bool


def path_of_spool(root: Path, owner: str) -> Path:
    """Return the path of a proxy's file."""
    return root / FOLDER / f"capture-{owner}.jsonl"


def line_of(finish: dict[str, Any]) -> bytes:
    """Return the line of a finish, written now."""
    digest = hashlib.sha256(encode_sorted(finish)).hexdigest()
    return encode(SpoolLine(1, digest, finish, time.time_ns() // 1_000_000)) + b"\n"


def find_spools(root: Path) -> list[SpoolFile]:
    """Return the files of proxies, oldest first."""
    found: list[tuple[int, SpoolFile]] = []
    for path in (root / FOLDER).glob("capture-*.jsonl"):
        lock = root / "run" / f"{path.stem.removeprefix('capture-')}.lock"
        try:
            found.append((path.stat().st_mtime_ns, SpoolFile(path, is_free(lock))))
        except FileNotFoundError:  # delivered meanwhile
            continue
    return [file for _, file in sorted(found)]


def read_spool(path: Path) -> ReadSpool:
    """Return the lines of a spool file; none where it is gone. Raises `OSError`."""
    try:
        data = path.read_bytes()
    except FileNotFoundError:
        return ReadSpool([], [])
    lines, torn = list[SpoolLine](), list[bytes]()
    for line in filter(None, data.split(b"\n")):
        found = _decoded(line)
        if found is not None:
            lines.append(found)
        else:
            torn.append(line)
    return ReadSpool(lines, torn)


def _decoded(line: bytes) -> SpoolLine | None:
    try:
        found = msgspec.json.decode(line, type=SpoolLine)
    except (msgspec.DecodeError, UnicodeDecodeError):
        return None
    return found if found.sha256 == hashlib.sha256(encode_sorted(found.finish)).hexdigest() else None


def put_aside(root: Path, torn: Iterable[bytes]) -> None:
    """Append torn lines to the quarantine. Raises `OSError`."""
    lines = b"".join(line + b"\n" for line in torn)
    if lines:
        path = root / FOLDER / QUARANTINE
        with path.open("ab") as aside:
            aside.write(lines)
        path.chmod(0o600)


def count_aside(root: Path) -> int:
    """Return how many torn lines lie aside."""
    try:
        return (root / FOLDER / QUARANTINE).read_bytes().count(b"\n")
    except FileNotFoundError:
        return 0


def drop_aside(root: Path) -> None:
    """Remove the quarantine. Raises `OSError`."""
    (root / FOLDER / QUARANTINE).unlink(missing_ok=True)
