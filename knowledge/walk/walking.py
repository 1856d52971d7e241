"""The walk through a collection: for each folder the files to be read, and the reasons for which others are left out.

Rule 1: of all files only those of patterns are read here; an ignored folder's files are counted and not looked at.
Rule 2: memory is bounded by the largest folder and the depth of the tree.
Rule 3: the order is that of names: the files of a folder, then its folders. What comes after `max_files` is left out.
"""

import time
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from knowledge.kinds import Kind, kind_of
from knowledge.walk.pattern_files import lines_of, lists_of_repository
from knowledge.walk.patterns import GITIGNORE, PIONEERIGNORE, LeftOut, Rules
from protocol.files.collections import PatternProblem
from protocol.files.knowledge import FileKind, SkipReason
from protocol.seams.safe_files import FolderEntry, SafeRoot, UnsafeFileError

AGENT_FILES = frozenset({"AGENTS.md", "config.yaml"})
"""A folder with both defines an agent, which is no evidence."""
MAX_PATH_CHARS = 1024
COUNTED_BELOW = frozenset({"ignored", "excluded", "agent_folder"})
"""Reasons for which each file below a left-out folder is counted; for other reasons the folder counts as one."""


class SeenFile(NamedTuple):
    """A file that is to be read."""

    entry: FolderEntry
    kind: Kind


@dataclass
class FolderSight:
    """A folder as it is at present: by name its files to be read, and the reasons for which others are left out."""

    folder: str
    files: dict[str, SeenFile] = field(default_factory=dict[str, SeenFile])
    left_out: dict[str, LeftOut] = field(default_factory=dict[str, LeftOut])
    is_unreadable: bool = False
    is_missing: bool = False
    is_empty: bool = False
    """Nothing at all lies in it, not even what is left out."""


class WalkLimits(NamedTuple):
    """The limits of a walk: the most bytes of a text and of a PDF, and the monotonic time at which it ends, if any."""

    max_file_bytes: int
    max_pdf_bytes: int
    until: float | None = None
    counts_below: bool = True
    """Files below folders that are left out are counted, too."""
    max_files: int | None = None
    """The most files that the whole walk yields."""

    def most(self, kind: FileKind) -> int:
        """Return the most bytes of a file of a kind."""
        return self.max_pdf_bytes if kind == "pdf" else self.max_file_bytes


def is_below(folder: str, above: Iterable[str]) -> bool:
    """Return whether a folder is one of some others, or lies in one."""
    return any(folder == one or folder.startswith(f"{one}/") for one in above)


def rules_of(root: SafeRoot, choices: Mapping[str, Sequence[str]], *, follows_git: bool) -> Rules:
    """Return the rules at the root of a collection, without those of its folders."""
    of_git = lists_of_repository(root) if follows_git else []
    return Rules(choices["include"], choices["exclude"], of_git, follows_git=follows_git)


def rules_at(root: SafeRoot, rules: Rules, folder: str) -> Rules:
    """Return the rules in a folder, given those of the folder above it."""
    prefix = f"{folder}/" if folder else ""
    return rules.within(folder, lines_of(root, prefix + GITIGNORE), lines_of(root, prefix + PIONEERIGNORE))


class Walk:
    """One walk, to be iterated over once; `skipped`, `ignored` and `unreadable` are complete at its end."""

    def __init__(self, root: SafeRoot, rules: Rules, limits: WalkLimits) -> None:
        self._root = root
        self._limits = limits
        self._rules = rules
        self._files = 0
        self.skipped: Counter[str] = Counter()
        self.ignored: list[str] = []
        self.unreadable: list[str] = []
        self.is_cut = False

    @property
    def is_over(self) -> bool:
        """Return whether there were more files than the walk may yield."""
        return self.skipped["over_limit"] > 0

    @property
    def bad(self) -> list[PatternProblem]:
        """Return the lines that cannot be read as patterns, of all rules met so far."""
        return self._rules.bad

    def __iter__(self) -> Iterator[FolderSight]:
        return self._below([("", self._rules)])

    def look_at(self, folder: str, known: Collection[str]) -> Iterator[FolderSight]:
        """Yield a folder and those below it that are not in `known`; nothing where it is left out."""
        rules, path = self._rules, ""
        for name in folder.split("/") if folder else ():
            rules = rules_at(self._root, rules, path)
            path = f"{path}/{name}" if path else name
            if rules.skips(path, is_folder=True) is not None:
                return
        sight, inner = self._look(folder, rules)
        yield sight
        yield from self._below([one for one in reversed(inner) if one[0] not in known])

    def judge_path(self, path: str) -> LeftOut | None:
        """Return the reason for which a scan leaves a path out, with its line; None for a file that it reads."""
        rules, folder = self._rules, ""
        *above, _ = path.split("/")
        for name in above:
            rules = rules_at(self._root, rules, folder)
            inner = f"{folder}/{name}" if folder else name
            skipped = rules.skips(inner, is_folder=True)
            if skipped is not None:
                return skipped
            if self._is_agent(folder):
                return LeftOut("agent_folder")
            folder = inner
        rules = rules_at(self._root, rules, folder)
        try:
            entry = self._root.find(path)
            found = self._judge(path, entry, rules)
            if isinstance(found, LeftOut):
                return found
            is_folder = entry.kind == "folder"
            if self._is_agent(folder) or (is_folder and self._is_agent(path)):
                return LeftOut("agent_folder")
            if is_folder:
                return LeftOut("folder")  # each of its files is judged by itself
            self._root.open_file(path if entry.kind == "file" else self._root.target_of(path) or path).close()
        except UnsafeFileError as error:
            return rules.skips(path, is_folder=False) or LeftOut(error.reason)
        return None

    def _is_agent(self, folder: str) -> bool:
        """Return whether a folder defines an agent; one that cannot be read does not."""
        try:
            return {entry.name for entry in self._root.list_folder(folder)} >= AGENT_FILES
        except UnsafeFileError:
            return False

    def _below(self, waiting: list[tuple[str, Rules]]) -> Iterator[FolderSight]:
        """Yield the waiting folders, each with the rules above it, and all below them."""
        while waiting:
            if self._limits.until is not None and time.monotonic() > self._limits.until:
                self.is_cut = True
                return
            folder, above = waiting.pop()
            sight, inner = self._look(folder, above)
            yield sight
            waiting.extend(reversed(inner))

    def _look(self, folder: str, above: Rules) -> tuple[FolderSight, list[tuple[str, Rules]]]:
        """Return a folder, and the folders in it that are to be entered, with their rules."""
        sight = FolderSight(folder)
        try:
            entries = self._root.list_folder(folder)
        except UnsafeFileError as error:
            if not folder:
                raise
            self.skipped[error.reason] += 1
            sight.is_missing = error.reason in {"missing", "not_regular"}
            sight.is_unreadable = not sight.is_missing
            if sight.is_unreadable:
                self.unreadable.append(folder)
            return sight, []
        sight.is_empty = not entries
        names = {entry.name for entry in entries}
        has_own = not names.isdisjoint({GITIGNORE, PIONEERIGNORE})
        rules = rules_at(self._root, above, folder) if has_own else above
        inner: list[tuple[str, Rules]] = []
        is_agent = names >= AGENT_FILES
        for entry in entries:
            path = f"{folder}/{entry.name}" if folder else entry.name
            found = self._judge(path, entry, rules)
            if is_agent and not isinstance(found, LeftOut):
                found = LeftOut("agent_folder")
            if isinstance(found, SeenFile) and not self._has_room():
                found = LeftOut("over_limit")
            if isinstance(found, LeftOut):
                sight.left_out[entry.name] = found
                self.skipped[found.reason] += self._count(path, entry, found)
                if entry.kind == "folder":
                    self.ignored.append(path)
            elif found is None:
                inner.append((path, rules))
            else:
                sight.files[entry.name] = found
        return sight, inner

    def _has_room(self) -> bool:
        """Return whether one more file may be yielded, and count it."""
        self._files += 1
        return self._limits.max_files is None or self._files <= self._limits.max_files

    def _count(self, path: str, entry: FolderEntry, found: LeftOut) -> int:
        """Return the number of files for which a left-out name counts."""
        if entry.kind != "folder" or found.reason not in COUNTED_BELOW:
            return 1
        if not self._limits.counts_below:
            return 0
        try:
            return self._root.count_files(path, self._limits.until)
        except UnsafeFileError:
            return 0

    def _judge(self, path: str, entry: FolderEntry, rules: Rules) -> SeenFile | LeftOut | None:
        """Return a file to be read, the reason for which a name is left out, or None for a folder to be entered."""
        problem = _problem_of(path, entry)
        if problem is not None:
            return LeftOut(problem)
        skipped = rules.skips(path, is_folder=entry.kind == "folder")
        if skipped is not None or entry.kind == "folder":
            return skipped
        if entry.kind == "link":
            followed = self._follow(path)
            if isinstance(followed, LeftOut):
                return followed
            entry = followed._replace(name=entry.name)
        kind = kind_of(entry.name)
        if kind is None:
            return LeftOut("unknown_kind")
        if not entry.is_downloaded:
            return LeftOut("not_downloaded")
        return LeftOut("too_large") if entry.size > self._limits.most(kind.kind) else SeenFile(entry, kind)

    def _follow(self, path: str) -> FolderEntry | LeftOut:
        """Return the file that a link leads to, or the reason for which that, or the link, is left out.

        The target is judged by its own name: a link shows nothing that is not read where it lies.
        """
        target = self._root.target_of(path)
        if target is None:
            return LeftOut("link")
        try:
            return self.judge_path(target) or self._root.find(target)
        except UnsafeFileError:
            return LeftOut("link")


def _problem_of(path: str, entry: FolderEntry) -> SkipReason | None:
    try:
        if not path.isascii():
            path.encode()
    except UnicodeEncodeError:
        return "name_not_utf8"
    if len(path) > MAX_PATH_CHARS or path.count("/") >= 64:
        return "path_too_long"
    return "not_regular" if entry.kind == "other" else None
