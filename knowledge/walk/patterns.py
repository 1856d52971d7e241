"""Rules of a collection: the files that it holds, and the line by which another one is left out; pure.

Rule 1: the first rule that matches decides: safety, `exclude`, `.pioneerignore`, `.gitignore`, defaults, `include`.
Rule 2: nothing below an ignored folder comes back; a line that is no pattern is reported and skipped.
Rule 3: patterns are those of git, in the words of regular expressions (`knowledge.walk.wildmatch`). `pathspec` compares
a path with all of a list at once, in linear time; it is imported when a collection is first scanned.
Rule 4: a file of patterns that is there and cannot be read shuts its folder, unless git would not read it either.
"""

import re
from collections.abc import Callable, Sequence
from copy import copy
from functools import cache
from itertools import chain
from typing import Any, TypeAlias

from msgspec import Struct

from knowledge.walk.wildmatch import to_bytewise, to_expression
from protocol.files.collections import PatternProblem
from protocol.files.knowledge import PatternRule, SkipReason
from protocol.seams.safe_files import INSTRUCTION_FILES, SECRET_FILES

DEFAULTS = (
    "node_modules/",
    ".venv/",
    "venv/",
    "__pycache__/",
    "dist/",
    "build/",
    "target/",
    ".next/",
    ".cache/",
    "coverage/",
    "*.min.*",
    "*.map",
    "*.lock",
    "package-lock.json",
)
"""Files and folders that programs make; a negation in `exclude` or `.pioneerignore` brings them back."""
GITIGNORE = ".gitignore"
PIONEERIGNORE = ".pioneerignore"
_NO_PATTERN = re.compile(r"^#|^ *$|[\r\n\0]")
OPEN_TROUBLES = frozenset({"link", "not_regular"})
"""Of a file of patterns that cannot be read, what git does not read either; for another reason its folder is shut."""


class Unread(Struct, frozen=True):
    """Stands for the lines of a file of patterns that is there and cannot be read whole."""

    reason: str


Lines: TypeAlias = Sequence[str] | Unread


class LeftOut(Struct, frozen=True):
    """The reason why a file or folder is left out, and the line that says so."""

    reason: SkipReason
    rule: PatternRule | None = None


class PatternList:
    """The patterns of one file or option; `folder` is where the file lies in the collection, "" for its root.

    `above` is the way, ending with `/`, from a file's folder above the collection down to the collection.
    `with_below`: a pattern matches also what lies below what it names. `is_chosen`: a person gave each line by itself,
    so that a comment, or what is no line, is told. Lines that cannot be read leave all out.
    """

    def __init__(
        self,
        file: str,
        folder: str,
        lines: Lines,
        *,
        above: str = "",
        with_below: bool = False,
        is_chosen: bool = False,
    ) -> None:
        from pathspec import PathSpec  # noqa: PLC0415  # 50 ms that only a scan needs
        from pathspec.pattern import RegexPattern  # noqa: PLC0415

        self.file = file
        self.above = above
        self._prefix = f"{folder}/" if folder else ""
        self.bad: list[PatternProblem] = []
        self._lines: list[tuple[int, str]] = []
        self._shut_by: str | None = None
        patterns: list[RegexPattern] = []
        if isinstance(lines, Unread):
            self.bad.append(PatternProblem(file=file, line=0, pattern="", reason=lines.reason))
            self._shut_by = lines.reason if lines.reason not in OPEN_TROUBLES else None
            lines = []
        for number, line in enumerate(lines, 1):
            if not is_chosen and (not line.strip(" ") or line.startswith("#")):
                continue
            try:
                if is_chosen and _NO_PATTERN.search(line) is not None:
                    raise ValueError("no pattern")  # noqa: TRY301  # told as any other
                leaves_out, expression = to_expression(line, with_below=with_below)
                patterns.append(RegexPattern(re.compile(expression), leaves_out))
            except (ValueError, re.error):  # git matches nothing by such a line either
                self._report(number, line)
                continue
            self._lines.append((number, line))
        built: list[_Spec] = _build_specs(PathSpec, list(zip(self._lines, patterns, strict=True)))
        self._specs: list[_Spec] = [one for one in built if one.spec is not None]
        for refused in (one for one in built if one.spec is None):
            self._report(*refused.lines[0])
        self._lines = [line for one in self._specs for line in one.lines]
        words = [word_of(line) for _, line in self._lines]
        self.words: list[str] | None = words if all(words) and self._shut_by is None else None
        """For each pattern a word that every path it matches has, folded; None where a pattern has no such word."""

    def _report(self, number: int, line: str) -> None:
        self.bad.append(PatternProblem(file=self.file, line=number, pattern=_to_shown(line)))

    def __bool__(self) -> bool:
        return bool(self._lines) or self._shut_by is not None

    def find(self, path: str) -> tuple[bool, PatternRule] | None:
        """Return whether a path is matched or let through by a negation, with the line; None where no line matches.

        A folder's path ends with `/`.
        """
        if not path.startswith(self._prefix):
            return None
        if self._shut_by is not None:
            return True, PatternRule(file=self.file, line=0, pattern="", reason=self._shut_by)
        inner = to_bytewise(self.above + path[len(self._prefix) :])
        for one in reversed(self._specs):  # the last line that matches decides
            found = one.spec.check_file(inner)
            if found.include is not None and found.index is not None:
                number, line = one.lines[int(found.index)]
                return bool(found.include), PatternRule(file=self.file, line=number, pattern=_to_shown(line))
        return None


def _to_shown(line: str) -> str:
    """Return a line as it is told: cut, and without what is no UTF-8."""
    return line[:256].encode("utf-8", "replace").decode()


class _Spec(Struct, frozen=True):
    """Compiled patterns with their lines; without a spec, one line that the library refuses to compile."""

    spec: Any
    lines: Sequence[tuple[int, str]]


def _build_specs(build: Callable[[list[Any]], object], rows: Sequence[tuple[tuple[int, str], object]]) -> list[_Spec]:
    """Return the patterns compiled, in order; where the library refuses them together, in halves.

    It refuses a single bad line, and too many lines. Python's own engine would take all of them, but for some names it
    would need time without bound.
    """
    lines = [line for line, _ in rows]
    try:
        return [_Spec(build([pattern for _, pattern in rows]), lines)]
    except Exception:  # noqa: BLE001  # each library that `pathspec` may use has its own
        if len(rows) == 1:
            return [_Spec(None, lines)]
        half = len(rows) // 2
        return [*_build_specs(build, rows[:half]), *_build_specs(build, rows[half:])]


def word_of(line: str) -> str:
    """Return the longest text, folded, that every path matched by a pattern holds; empty where none is known."""
    plain = "" if "[" in line or "\\" in line else line.strip().removeprefix("!")
    return max(re.split(r"[*?/]+", plain), key=len).casefold()


@cache
def _search_for(words: frozenset[str]) -> Callable[[str], object]:
    """Return the search for any of some words in a text."""
    return re.compile("|".join(re.escape(word) for word in sorted(words))).search if words else lambda _text: None


class _Deciding(Struct, frozen=True):
    """The lists that decide in a folder, and a quick test of whether any could match a folded path; most match none."""

    lists: tuple[PatternList, ...]
    may_match: Callable[[str], object]


@cache
def _build_fixed_list(file: str, lines: tuple[str, ...]) -> PatternList:
    """Return a list that is the same for every collection, compiled once."""
    return PatternList(file, "", lines)


class Rules:
    """The rules in a folder of a collection: those of the collection, and of the folders down to this one."""

    def __init__(
        self, include: Sequence[str], exclude: Sequence[str], of_git: Sequence[PatternList], *, follows_git: bool
    ) -> None:
        self._safety = _build_fixed_list("safety", tuple(SECRET_FILES))
        self._defaults = _build_fixed_list("defaults", DEFAULTS)
        self._exclude = PatternList("exclude", "", exclude, is_chosen=True)
        self._include = PatternList("include", "", include, with_below=True, is_chosen=True)
        self._has_include = bool(include)  # also where no line of it is a pattern: then nothing is included
        self._follows_git = follows_git
        self._above = max((one.above for one in of_git), key=len, default="").casefold()
        self.of_folders: tuple[PatternList, ...] = ()
        self.of_git = tuple(of_git)
        self.bad: list[PatternProblem] = [
            problem for one in (self._exclude, self._include, *of_git) for problem in one.bad
        ]
        self.deciding = self._decide_by(self.of_folders, self.of_git)

    def _decide_by(self, of_folders: Sequence[PatternList], of_git: Sequence[PatternList]) -> _Deciding:
        lists = (self._exclude, *of_folders, *of_git, self._defaults)
        every = tuple(one for one in lists if one)
        words = [one.words for one in (self._safety, *every)]
        known = [one for one in words if one is not None]
        is_known = len(known) == len(words)
        return _Deciding(every, _search_for(frozenset(chain.from_iterable(known))) if is_known else bool)

    def within(self, folder: str, gitignore: Lines, pioneerignore: Lines) -> "Rules":
        """Return the rules in a folder below whose own two files have these lines; the innermost list decides first."""
        if not gitignore and not pioneerignore:
            return self
        inner = copy(self)
        prefix = f"{folder}/" if folder else ""
        if pioneerignore:
            own = PatternList(prefix + PIONEERIGNORE, folder, pioneerignore)
            inner.of_folders = (own, *self.of_folders)
            self.bad.extend(own.bad)
        if gitignore and self._follows_git:
            own = PatternList(prefix + GITIGNORE, folder, gitignore)
            inner.of_git = (own, *self.of_git)
            self.bad.extend(own.bad)
        inner.deciding = self._decide_by(inner.of_folders, inner.of_git)
        return inner

    def skips(self, path: str, *, is_folder: bool) -> LeftOut | None:
        """Return the reason for which a path below the collection is left out; None where it is not."""
        asked = f"{path}/" if is_folder else path
        folded = path.casefold()
        may_match = self.deciding.may_match(self._above + folded)
        secret = self._safety.find(f"{folded}/" if is_folder else folded) if may_match else None
        if secret is not None:
            return LeftOut("secret_file", secret[1])
        if path.rpartition("/")[2] in INSTRUCTION_FILES:
            return LeftOut("instruction_file")
        if may_match:
            found = next((found for one in self.deciding.lists if (found := one.find(asked)) is not None), None)
            if found is not None and found[0]:
                return LeftOut("excluded" if found[1].file in {"exclude", "defaults"} else "ignored", found[1])
        if self._has_include and not is_folder:
            included = self._include.find(asked)
            if included is None or not included[0]:
                return LeftOut("not_included")
        return None
