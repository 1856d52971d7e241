"""The files of patterns of a collection: those in its folders, and those of the repository that it lies in.

Rule 1: no link to such a file is followed, as git follows none; each is read up to a bound.
Rule 2: above a collection only files named .gitignore are read, up to the nearest folder that has `.git`, and the
`info/exclude` of that repository: of a worktree it lies in the repository that `.git`, a file, leads to.
"""

import codecs
import os

from knowledge.walk.patterns import GITIGNORE, Lines, PatternList, Unread
from protocol.seams.safe_files import SafeRoot, UnsafeFileError, read_up_to

MAX_BYTES = 256 * 1024
"""The most bytes of a file of patterns; lists that people keep are shorter."""
MAX_LINES = 10_000
"""The most lines of it; the longest that people keep have some hundreds."""
GIT = ".git"
EXCLUDE = "info/exclude"
LEADS_TO = "gitdir: "
"""The beginning of a `.git` that is a file; a folder follows."""


def lines_of(root: SafeRoot, path: str) -> Lines:
    """Return the lines of a file of patterns; none where it is missing."""
    try:
        with root.open_file(path) as file:
            data = read_up_to(file, MAX_BYTES + 1)
    except UnsafeFileError as error:
        return [] if error.reason == "missing" else Unread(error.reason)
    except OSError:
        return Unread("unreadable")
    lines = data.removeprefix(codecs.BOM_UTF8).decode("utf-8", "surrogateescape").split("\n")
    if len(data) > MAX_BYTES or len(lines) > MAX_LINES:
        return Unread("too_large")
    return [line.removesuffix("\r").partition("\0")[0] for line in lines]  # git reads a line up to its first zero


def lists_of_repository(root: SafeRoot) -> list[PatternList]:
    """Return the lists of the repository that a collection lies in, but those in its folders; the innermost first."""
    try:
        top = root.open_holder(GIT)
    except UnsafeFileError:
        top = None
    if top is None:
        return []
    with top:
        way = root.path[len(top.path) :].replace(os.sep, "/").strip("/")
        names = way.split("/") if way else []
        found = [
            _build_list_above(names, depth, GITIGNORE, lines_of(top, "/".join([*names[:depth], GITIGNORE])))
            for depth in range(len(names) - 1, -1, -1)
        ]
        found.append(_build_list_above(names, 0, f"{GIT}/{EXCLUDE}", _lines_of_exclude(top)))
    return [one for one in found if one or one.bad]


def _build_list_above(names: list[str], depth: int, file: str, lines: Lines) -> PatternList:
    """Return the patterns of a file that lies so deep on the way, by such names, from a repository to a collection."""
    above = "".join(f"{name}/" for name in names[depth:])
    return PatternList("../" * (len(names) - depth) + file, "", lines, above=above)


def _lines_of_exclude(top: SafeRoot) -> Lines:
    """Return the lines of the `info/exclude` of a repository."""
    try:
        if top.find(GIT).kind != "file":
            return lines_of(top, f"{GIT}/{EXCLUDE}")
        with top.open_folder(_first_line(top, GIT).removeprefix(LEADS_TO)) as own:
            common = _first_line(own, "commondir")
            with own.open_folder(common or ".") as whole:
                return lines_of(whole, EXCLUDE)
    except UnsafeFileError as error:
        return [] if error.reason == "missing" else Unread(error.reason)


def _first_line(root: SafeRoot, path: str) -> str:
    """Return the first line of a file; empty where it has none."""
    lines = lines_of(root, path)
    return lines[0] if not isinstance(lines, Unread) and lines else ""
