r"""A line of a .gitignore as a regular expression of RE2's dialect, by the rules of git's own matching; pure.

Rule 1: a path is below the folder of the list, and a folder's ends with `/`. The expression matches what the line
names; git looks at each folder on the way, so that what lies below a matched one is of no concern here.
Rule 2: git compares bytes. Letters beyond ASCII are as many characters as UTF-8 has bytes (`to_bytewise`).
Rule 3: a line that git can match nothing by raises `ValueError`, so that somebody is told.

`pathspec` has a translation too, but of whole paths: by it `!foo/` brings all below `foo/` back, and `foo/**/` is
`foo/`.
"""

import re
from collections.abc import Iterator

CLASSES = {
    "alnum": "a-zA-Z0-9",
    "alpha": "a-zA-Z",
    "blank": " \t",
    "cntrl": "\x01-\x1f\x7f",
    "digit": "0-9",
    "graph": "!-~",
    "lower": "a-z",
    "print": " -~",
    "punct": "!-/:-@[-`{-~",
    "space": " \t-\r",
    "upper": "A-Z",
    "xdigit": "0-9a-fA-F",
}
"""The characters of git's named classes."""
MAX_CHARS = 1024
"""The most characters of a line; no longer path is indexed."""
_BEFORE_BLANKS = re.compile(r"((?:\\.|[^\\])*?) *", re.DOTALL)
_PARTS = re.compile(
    r"(?:^|(?<=/))(?:(?P<folders>\*\*+/)|(?P<below>\*\*+$)|(?P<name>\*)(?=/|$))|(?P<some>\*+)|(?P<one>\?)"
    r"|\[(?P<negation>[!^]?)(?P<set>\]?(?>\[:[^\]]*:\]|\\.|[^\]\\])*+)\]|\\?(?P<letter>.)",
    re.DOTALL,
)
_MEMBERS = re.compile(r"\[:(?P<name>[^\]]*):\]|\\?(?P<first>.)(?:-\\?(?P<last>.))?", re.DOTALL)


def to_bytewise(text: str) -> str:
    """Return a text with a character for each byte of its UTF-8."""
    return text if text.isascii() else text.encode("utf-8", "surrogatepass").decode("latin-1")


def to_expression(line: str, *, with_below: bool = False) -> tuple[bool, str]:
    """Return whether a line leaves out (it lets in where it begins with `!`), and the expression of its paths.

    `with_below`: what lies below a matched folder is matched as well. Raises `ValueError` (Rule 3).
    """
    if len(line) > MAX_CHARS:
        raise ValueError("too long")
    ended = _BEFORE_BLANKS.fullmatch(to_bytewise(line))
    text = ended[1] if ended is not None else line
    glob = text.removeprefix("!")
    is_of_folders = glob.endswith("/")
    glob = glob.removesuffix("/")
    if not glob or glob.endswith("/"):
        raise ValueError("no name")
    begin = "^" if "/" in glob else "(?:^|/)"
    end = ("/" if is_of_folders else "(?:/|$)") if with_below else ("/$" if is_of_folders else "/?$")
    return not text.startswith("!"), f"(?s){begin}{_PARTS.sub(_spell, glob.removeprefix('/'))}{end}"


def _spell(part: re.Match[str]) -> str:
    """Return the expression of one part of a pattern."""
    if part["folders"]:
        return "(?:.+/)?"
    if part["below"]:
        return ".+"
    if part["name"]:
        return "[^/]+"
    if part["some"]:
        return "[^/]*"
    if part["one"]:
        return "[^/]"
    if part["letter"]:
        if part[0] in {"[", "\\"}:
            raise ValueError("not closed")
        return re.escape(part["letter"])
    within = "".join(_spell_members(part["set"]))
    if part["negation"]:
        return f"[^/{within}]"
    if not within:
        raise ValueError("empty")
    return f"[{within}]"


def _spell_members(within: str) -> Iterator[str]:
    """Yield the ranges of a set; a slash is in none."""
    for member in _MEMBERS.finditer(within):
        if member["name"] is not None:
            if member["name"] not in CLASSES:
                raise ValueError("no class of letters")
            yield from _spell_members(CLASSES[member["name"]])
            continue
        first, last = member["first"], member["last"] or member["first"]
        if last < first:
            raise ValueError("no range")
        for begin, end in ((first, min(last, ".")), (max(first, "0"), last)):
            if begin <= end:
                yield f"{re.escape(begin)}-{re.escape(end)}"
