"""Rules of a collection: the files that it holds, and the line by which another one is left out; pure.

Rule 1: the first rule that matches decides: safety, `exclude`, `.pioneerignore`, `.gitignore`, defaults, `include`.
Rule 2: nothing below an ignored folder comes back; a line that is no pattern is reported and skipped.
Rule 3: patterns are those of git, by `pathspec`; it is imported when a collection is first scanned.
"""

import re
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from copy import copy
from functools import cache
from itertools import chain, islice
from typing import Any

from msgspec import Struct

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
GIT_EXCLUDE = ".git/info/exclude"
MAX_LINES = 10_000
"""The most lines of one file of patterns; the longest that people keep have some hundreds."""
CLASSES = {
    "alnum": "a-zA-Z0-9",
    "alpha": "a-zA-Z",
    "blank": " \t",
    "cntrl": "\x01-\x1f\x7f",
    "digit": "0-9",
    "graph": '"-.0-~!',
    "lower": "a-z",
    "print": " -.0-~",
    "punct": "{-~:-@!-.[-`",
    "space": " \t-\r",
    "upper": "A-Z",
    "xdigit": "0-9a-fA-F",
}
"""The characters of git's named classes, of which `pathspec` knows none.

No class begins with a mark of negation, and none holds the slash, which git matches by no class.
"""
MAX_CLASS_CHARS = 1024
"""The most characters of a line with a named class; no longer path is indexed."""
_BRACKETS = re.compile(r"\\.|\[[!^]?\]?(?:\[:[a-z]*:\]|\\.|[^\]\\])*\]")
_CLASS = re.compile(r"\[:([a-z]*):\]")


class LeftOut(Struct, frozen=True):
    """The reason why a file or folder is left out, and the line that says so."""

    reason: SkipReason
    rule: PatternRule | None = None


class PatternList:
    """The patterns of one file or option; `folder` is where the file lies in the collection, "" for its root."""

    def __init__(self, file: str, folder: str, lines: Iterable[str]) -> None:
        from pathspec import GitIgnoreSpec  # noqa: PLC0415  # 50 ms that only a scan needs
        from pathspec.patterns.gitignore.spec import GitIgnoreSpecPattern  # noqa: PLC0415

        self.file = file
        self._prefix = f"{folder}/" if folder else ""
        self.bad: list[PatternProblem] = []
        self._lines: list[tuple[int, str]] = []
        patterns: list[GitIgnoreSpecPattern] = []
        for number, raw in enumerate(islice(lines, MAX_LINES), 1):
            line = raw.rstrip("\r\n")
            if not line.strip() or line.startswith("#"):
                continue
            pattern: GitIgnoreSpecPattern | None = None
            with suppress(ValueError, re.error):
                pattern = GitIgnoreSpecPattern(spell_classes(line))
            if pattern is None or pattern.include is None:  # git matches nothing by such a line either
                self._report(number, line)
                continue
            patterns.append(pattern)
            self._lines.append((number, line))
        built: list[_Spec] = _build_specs(GitIgnoreSpec, list(zip(self._lines, patterns, strict=True)))
        self._specs: list[_Spec] = [one for one in built if one.spec is not None]
        for refused in (one for one in built if one.spec is None):
            self._report(*refused.lines[0])
        self._lines = [line for one in self._specs for line in one.lines]
        words = [word_of(line) for _, line in self._lines]
        self.words: list[str] | None = words if all(words) else None
        """For each pattern a word that every path it matches has, folded; None where a pattern has no such word."""

    def _report(self, number: int, line: str) -> None:
        shown = line[:256].encode("utf-8", "replace").decode()
        self.bad.append(PatternProblem(file=self.file, line=number, pattern=shown))

    def __bool__(self) -> bool:
        return bool(self._lines)

    def find(self, path: str) -> tuple[bool, PatternRule] | None:
        """Return whether a path is matched or let through by a negation, with the line; None where no line matches.

        A folder's path ends with `/`.
        """
        if not path.startswith(self._prefix):
            return None
        inner = path[len(self._prefix) :]
        for one in reversed(self._specs):  # the last line that matches decides
            found = one.spec.check_file(inner)
            if found.include is not None and found.index is not None:
                number, line = one.lines[int(found.index)]
                return bool(found.include), PatternRule(file=self.file, line=number, pattern=line[:256])
        return None


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


def spell_classes(line: str) -> str:
    """Return a pattern with the characters of each named class, such as `[[:digit:]]`, in the name's place.

    Raises `ValueError` for a name that git does not know.
    """
    if "[:" not in line:
        return line
    if len(line) > MAX_CLASS_CHARS:
        raise ValueError("too long")
    try:
        # Within the brackets: `[:alpha:]` alone is a set of four letters and the colon, as it is for git.
        return _BRACKETS.sub(lambda found: found[0][:1] + _CLASS.sub(lambda one: CLASSES[one[1]], found[0][1:]), line)
    except KeyError:
        raise ValueError("no class of letters") from None


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
        self, include: Sequence[str], exclude: Sequence[str], git_exclude: Sequence[str], *, follows_git: bool
    ) -> None:
        self._safety = _build_fixed_list("safety", tuple(SECRET_FILES))
        self._defaults = _build_fixed_list("defaults", DEFAULTS)
        self._exclude = PatternList("exclude", "", exclude)
        self._include = PatternList("include", "", include)
        self._follows_git = follows_git
        whole = PatternList(GIT_EXCLUDE, "", git_exclude if follows_git else ())
        self.of_folders: tuple[PatternList, ...] = ()
        self.of_git: tuple[PatternList, ...] = (whole,) if whole else ()
        self.bad: list[PatternProblem] = [*self._exclude.bad, *self._include.bad, *whole.bad]
        self.deciding = self._decide_by(self.of_folders, self.of_git)

    def _decide_by(self, of_folders: Sequence[PatternList], of_git: Sequence[PatternList]) -> _Deciding:
        lists = (self._exclude, *of_folders, *of_git, self._defaults)
        every = tuple(one for one in lists if one)
        words = [one.words for one in (self._safety, *every)]
        known = [one for one in words if one is not None]
        is_known = len(known) == len(words)
        return _Deciding(every, _search_for(frozenset(chain.from_iterable(known))) if is_known else bool)

    def within(self, folder: str, gitignore: Sequence[str], pioneerignore: Sequence[str]) -> "Rules":
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
        may_match = self.deciding.may_match(folded)
        secret = self._safety.find(f"{folded}/" if is_folder else folded) if may_match else None
        if secret is not None:
            return LeftOut("secret_file", secret[1])
        if path.rpartition("/")[2] in INSTRUCTION_FILES:
            return LeftOut("instruction_file")
        if may_match:
            found = next((found for one in self.deciding.lists if (found := one.find(asked)) is not None), None)
            if found is not None and found[0]:
                return LeftOut("excluded" if found[1].file in {"exclude", "defaults"} else "ignored", found[1])
        if self._include and not is_folder:
            included = self._include.find(asked)
            if included is None or not included[0]:
                return LeftOut("not_included")
        return None
