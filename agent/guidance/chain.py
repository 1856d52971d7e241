"""Instruction files of a folder: one from each folder between the boundary and it, and the files that these include.

Rule 1: the boundary is the folder that holds `.git`, else the workspace's root around the folder, else the folder
itself. The user's home folder and what is above it are never read.
Rule 2: nothing beyond the boundary is read, wherever a path or a link leads; a refused file has a problem.
Rule 3: a file is read again when its inode, size or time has changed, and at no other time.
"""

import os
import re
from collections import OrderedDict
from collections.abc import Iterator, Mapping, Sequence
from fnmatch import translate
from typing import NamedTuple

from msgspec import Struct

from agent.guidance.ports import InstructionDisk, Stamp, UnreadFile
from agent.guidance.source_text import IncludeToken, SourceText, parse_source, to_printable
from promt.patterns import compile_late
from protocol.conversation.values import InstructionProfile
from protocol.guidance import BoundaryKind, InstructionKind, InstructionProblem
from protocol.seams.safe_files import INSTRUCTION_FILES, SECRET_FILES

AGENTS, CLAUDE, GEMINI, QWEN = INSTRUCTION_FILES
PROFILES: Mapping[InstructionProfile, Sequence[str]] = {
    "default": (AGENTS, CLAUDE, GEMINI, QWEN),
    "claude": (CLAUDE, AGENTS),
    "codex": (AGENTS,),
    "gemini": (GEMINI, AGENTS),
    "qwen": (QWEN, AGENTS),
}
"""The names that a program looks for; the first one that is there wins."""

MAX_FILE_BYTES = 1024 * 1024
"""Of an instruction file: four times what any budget takes of it."""
MAX_INCLUDE_BYTES = 64 * 1024
MAX_INCLUDES = 32
MAX_CACHED = 512
"""Files of some projects; the one that was read first is forgotten first."""

_SECRET_NAME = compile_late(lambda: "|".join(map(translate, SECRET_FILES)), re.IGNORECASE)
"""No rule of a project needs such a file, and a strange repository may ask for one."""


class LoadedFile(NamedTuple):
    """A file with its text, or with the problem for which it has none; of an include, the file that named it."""

    path: str
    kind: InstructionKind
    level: int
    source: SourceText | None
    problem: InstructionProblem | None = None
    included_by: str | None = None


class Chain(Struct, frozen=True):
    """The instruction files of a folder, outermost first, each followed by what it includes."""

    boundary: BoundaryKind
    files: Sequence[LoadedFile] = ()
    folders: Sequence[str] = ()
    """The full path of each level's folder."""


class InstructionSources:
    """The files that were read, by their place; safe to be used by several threads at once."""

    def __init__(self, disk: InstructionDisk) -> None:
        self._disk = disk
        self._read: OrderedDict[tuple[str, str], tuple[Stamp, SourceText]] = OrderedDict()

    def get(self, root: str, path: str, stamp: Stamp, most: int) -> SourceText:
        """Return a file as it is now. Raises `UnreadFile`."""
        if stamp[2] > most:
            raise UnreadFile("too_large")
        known = self._read.get((root, path))
        if known is not None and known[0] == stamp:
            return known[1]
        source = parse_source(self._disk.read(root, path, most))
        self._read[root, path] = stamp, source
        if len(self._read) > MAX_CACHED:
            self._read.popitem(last=False)
        return source


def holds(outer: str, inner: str) -> bool:
    """Return whether a folder is another one or lies in it; both are full paths without links."""
    return inner == outer or inner.startswith(outer.rstrip(os.sep) + os.sep)


def parents_of(folder: str) -> list[str]:
    """Return a folder and all above it, innermost first."""
    found = [folder]
    while (above := os.path.dirname(found[-1])) != found[-1]:  # noqa: PTH120  # names as the system has them
        found.append(above)
    return found


def find_boundary(
    disk: InstructionDisk, parents: Sequence[str], workspace_root: str | None, home: str
) -> tuple[BoundaryKind, str]:
    """Return why a folder is the boundary, and its path: nothing is read beyond it. `parents` begin with the folder."""
    cwd = parents[0]
    for folder in parents:
        if holds(folder, home):
            break
        if disk.has_git(folder):
            return "git", folder
    root = disk.real_folder(workspace_root) if workspace_root is not None else None
    if root is not None and holds(root, cwd) and not holds(root, home):
        return "workspace", root
    return "cwd", cwd


def load_chain(
    sources: InstructionSources,
    disk: InstructionDisk,
    cwd: str,
    workspace_root: str | None,
    *,
    profile: InstructionProfile,
    depth: int,
) -> Chain:
    """Return the instruction files of a folder, which is a full path without links."""
    parents, home = parents_of(cwd), disk.user_home()
    boundary, root = find_boundary(disk, parents, workspace_root, home)
    if holds(cwd, home):
        return Chain(boundary)
    folders = [folder for folder in reversed(parents) if holds(root, folder)]
    walk = _Walk(sources, disk, root, depth)
    for level, folder in enumerate(folders):
        walk.add_folder(folder[len(root) :].strip(os.sep).replace(os.sep, "/"), level, PROFILES[profile])
    return Chain(boundary, [_with_printable_names(file) for file in walk.with_includes()], folders)


def _with_printable_names(file: LoadedFile) -> LoadedFile:
    """Return a file with names that a prompt can hold: those of a strange repository may be of several lines."""
    by = to_printable(file.included_by) if file.included_by is not None else None
    return file._replace(path=to_printable(file.path), included_by=by)


class _Walk:
    """One walk from a boundary down to a folder."""

    def __init__(self, sources: InstructionSources, disk: InstructionDisk, root: str, depth: int) -> None:
        self._sources = sources
        self._disk = disk
        self._root = root
        self._depth = depth
        self._own: list[LoadedFile] = []
        self._seen: set[str] = set()
        self._digests: set[str] = set()
        self._includes = 0

    def add_folder(self, folder: str, level: int, names: Sequence[str]) -> None:
        """Take the folder's first file of these names that says something, and those passed over with their problems.

        A link to the file that is taken is no problem.
        """
        kind: InstructionKind = "nested" if folder else "root"
        taken: LoadedFile | None = None
        passed: list[LoadedFile] = []
        for name in names:
            path = f"{folder}/{name}" if folder else name
            loaded = self._load_own(path, kind, level)
            if loaded is None:
                continue
            if loaded.problem is not None:
                passed.append(loaded)
                continue
            taken = loaded
            break
        self._own += [one for one in passed if taken is None or not self._leads_to(one, taken)]
        if taken is not None:
            self._own.append(taken)
            self._seen.add(taken.path)

    def _load_own(self, path: str, kind: InstructionKind, level: int) -> LoadedFile | None:
        """Return an instruction file with its text or its problem; None where there is none of that name."""
        stamp = self._disk.find(self._root, path)
        if stamp is None:
            return LoadedFile(path, kind, level, None, "link") if self._disk.is_link(self._root, path) else None
        try:
            source = self._sources.get(self._root, path, stamp, MAX_FILE_BYTES)
        except UnreadFile as unread:
            return None if unread.problem == "missing" else LoadedFile(path, kind, level, None, unread.problem)
        is_empty = not source.text.strip()
        return LoadedFile(path, kind, level, None if is_empty else source, "empty" if is_empty else None)

    def _leads_to(self, passed: LoadedFile, taken: LoadedFile) -> bool:
        """Return whether a file that was passed over is a link to another one."""
        folder, _, name = passed.path.rpartition("/")
        try:
            return passed.problem == "link" and self._disk.resolve(self._root, folder, name) == taken.path
        except UnreadFile:
            return False

    def with_includes(self) -> Iterator[LoadedFile]:
        """Yield the files, each followed by what it includes."""
        own = [(file, self._once(file)) for file in self._own]
        for file, shown in own:
            yield shown
            yield from self._walk_includes(file, 1, (file.path,))

    def _once(self, file: LoadedFile) -> LoadedFile:
        """Return a file, without its text where another one says the same already."""
        self._seen.add(file.path)
        if file.source is None or file.source.sha256 not in self._digests:
            self._digests |= {file.source.sha256} if file.source is not None else set()
            return file
        return file._replace(source=None, problem="repeated")

    def _walk_includes(self, by: LoadedFile, depth: int, trail: tuple[str, ...]) -> Iterator[LoadedFile]:
        for token in by.source.tokens if by.source is not None else ():
            found = self._include(by, token, depth, trail)
            if found is None:
                continue
            yield self._once(found)
            if found.source is not None:
                yield from self._walk_includes(found, depth + 1, (*trail, found.path))

    def _include(self, by: LoadedFile, token: IncludeToken, depth: int, trail: tuple[str, ...]) -> LoadedFile | None:
        """Return the file that a token includes, or its refusal; None for a file that is there already or a name."""
        try:
            path, source = self._load(by, token, depth, trail)
        except UnreadFile as unread:
            is_name = unread.problem in {"missing", "in_code"} and not token.names_a_path
            refused = LoadedFile(f"@{token.written}", "include", by.level, None, unread.problem, by.path)
            return None if is_name else refused
        if source is None:
            return None
        return LoadedFile(path, "include", by.level, source, None, by.path)

    def _load(
        self, by: LoadedFile, token: IncludeToken, depth: int, trail: tuple[str, ...]
    ) -> tuple[str, SourceText | None]:
        """Return an include's path and text; no text where it is there already. Raises `UnreadFile`."""
        if token.in_code:
            raise UnreadFile("in_code")
        path = self._disk.resolve(self._root, by.path.rpartition("/")[0], token.written)
        if path in trail:
            raise UnreadFile("cycle")
        if path in self._seen:
            return path, None
        if any(map(_SECRET_NAME.match, path.split("/"))):
            raise UnreadFile("secret_file")
        if depth > self._depth:
            raise UnreadFile("too_deep")
        if self._includes == MAX_INCLUDES:
            raise UnreadFile("too_many")
        stamp = self._disk.find(self._root, path)
        if stamp is None:
            raise UnreadFile("missing")
        source = self._sources.get(self._root, path, stamp, MAX_INCLUDE_BYTES)
        self._includes += 1
        return path, source
