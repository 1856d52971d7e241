"""Folders that are entities: those below a folder of projects, areas and the like, and those with a note of their own.

Rule 1: pure; the name of the outermost folder gives its kind to all folders below it.
"""

from collections.abc import Mapping
from typing import Literal, TypeAlias

from msgspec import Struct

from knowledge.kinds import kind_of
from knowledge.links.resolving import stem_of
from promt.patterns import compile_late

FolderKind: TypeAlias = Literal["project", "area", "resource", "archive", "inbox", "folder"]

KINDS: Mapping[str, FolderKind] = {
    "project": "project",
    "projects": "project",
    "area": "area",
    "areas": "area",
    "resource": "resource",
    "resources": "resource",
    "archive": "archive",
    "archives": "archive",
    "inbox": "inbox",
}
"""The folders of the PARA order, and the inbox before it."""
INDEX_NOTES = frozenset({"index", "readme"})

_NUMBERED = compile_late(r"^[0-9]{1,3}(?:[.)_ -]+|(?=[A-Za-z]))[ ]*-?[ ]*")


class FolderEntity(Struct, frozen=True):
    """A folder that is an entity."""

    path: str
    kind: FolderKind

    @property
    def name(self) -> str:
        """Return its own name."""
        return self.path.rpartition("/")[2]


def kind_of_root(name: str) -> FolderKind | None:
    """Return the kind of an outermost folder by its name, which may begin with a number; None for any other."""
    return KINDS.get(_NUMBERED.sub("", name).strip().casefold())


def list_folders_above(path: str) -> list[FolderEntity]:
    """Return the folders above a file, the outermost first; none where the outermost one gives them no kind."""
    parts = path.split("/")[:-1]
    kind = kind_of_root(parts[0]) if parts else None
    return [FolderEntity("/".join(parts[: n + 1]), kind) for n in range(len(parts))] if kind is not None else []


def folder_of_index(path: str) -> FolderEntity | None:
    """Return the folder that a note makes an entity, as its index or README; None for any other file."""
    folder, _, name = path.rpartition("/")
    kind = kind_of(name)
    is_note = kind is not None and kind.kind != "code"
    is_index = bool(folder) and is_note and stem_of(name).casefold() in INDEX_NOTES
    return FolderEntity(folder, "folder") if is_index and not list_folders_above(path) else None
