"""The comparison of a folder with its rows; pure.

Rule 1: a file with the same device, inode, size and time of change is the same one, and is not read.
"""

from collections.abc import Collection, Iterable, Mapping

from msgspec import Struct

from knowledge.rows.files import SeenRow
from knowledge.walk.walking import FolderSight, SeenFile, is_below

MASS = 100
"""Files that are gone at once: where they are more than this, and more than half of a collection, they are withheld."""


class FolderPlan(Struct, frozen=True):
    """The changes of a folder: new files, changed ones with their rows, and rows of gone ones with the reason."""

    new: list[SeenFile]
    changed: list[tuple[SeenRow, SeenFile]]
    gone: list[tuple[SeenRow, str | None]]

    def __bool__(self) -> bool:
        return bool(self.new or self.changed or self.gone)


def compare(sight: FolderSight, rows: Mapping[str, SeenRow]) -> FolderPlan:
    """Return the changes of a folder since its rows were written; none where it cannot be read at present."""
    if sight.is_unreadable:
        return FolderPlan([], [], [])
    new = [seen for name, seen in sight.files.items() if name not in rows]
    changed = [
        (rows[name], seen) for name, seen in sight.files.items() if name in rows and not _is_same(rows[name], seen)
    ]
    gone = [
        (row, "ignored" if name in sight.left_out else None)
        for name, row in rows.items()
        if name not in sight.files and row.state != "missing"
    ]
    return FolderPlan(new, changed, gone)


def _is_same(row: SeenRow, seen: SeenFile) -> bool:
    entry, kind = seen
    is_known = (
        row.mtime_ns == entry.mtime_ns
        and row.inode == entry.inode
        and row.size == entry.size
        and row.device == entry.device
    )
    return is_known and row.kind == kind.kind and row.state != "missing"


def find_gone(known: Iterable[str], walked: Collection[str], unreadable: Collection[str]) -> list[str]:
    """Return the known folders that a whole walk did not find; those below an unreadable one are left out."""
    return sorted(one for one in known if one not in walked and not is_below(one, unreadable))


def is_mass(gone: int, present: int) -> bool:
    """Return whether so many files are gone at once that their folder may only be out of reach, as on a lost drive."""
    return gone > MASS and gone * 2 > gone + present
