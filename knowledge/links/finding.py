"""Links in a text: to other notes, to files beside it, to code that it imports; pure.

Rule 1: brackets in the code of a note are no link, nor is an address of the web.
Rule 2: a link is kept as it was written; its target is resolved when its file is indexed, and whenever names change.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain
from typing import Any, Literal, TypeAlias, cast
from urllib.parse import unquote

import msgspec
from msgspec import Struct

from knowledge.kinds import kind_of
from promt.patterns import compile_late

LinkForm: TypeAlias = Literal[
    "wiki",
    "wiki_embed",
    "link",
    "embed",
    "relates",
    "supersedes",
    "superseded_by",
    "import_python",
    "import_script",
    "import_c",
    "import_ruby",
    "import_rust",
]
MAX_LINKS = 2000
"""The most different links of one text; later ones are left out."""
MAX_TARGET_CHARS = 400
"""The most characters of a target; the rest is cut off."""
MAX_IMPORTED_NAMES = 4
"""The most names that are read of one `from module import a, b`: each may be a module."""
STATED_IN_FRONT: Mapping[str, LinkForm] = {
    "related": "relates",
    "up": "relates",
    "supersedes": "supersedes",
    "superseded_by": "superseded_by",
}
"""Members of a front matter that name other notes."""

_FENCE = compile_late(r"^[ \t>]{0,12}(`{3,}|~{3,})")
_CODE = compile_late(r"(`+)(?!`)(?:(?!\1).){1,2000}?\1(?!`)")
_WIKI = compile_late(r"(!?)\[\[([^\[\]\n]{1,800})\]\]")
_LINK = compile_late(
    r"(!?)\[[^\[\]\n]{0,400}\]\([ \t]*(?:<([^<>\n]{1,800})>|([^()<>\s]{1,800}))(?:[ \t]+[\"'(][^\n]{0,300})?"
)
_DEFINED = compile_late(r"^[ ]{0,3}\[[^\[\]\n]{1,200}\]:[ \t]+<?([^<>\s]{1,800})>?")
_SCHEME = compile_late(r"[A-Za-z][A-Za-z0-9+.-]*:|//")
_PICTURE = compile_late(r"[A-Za-z][A-Za-z0-9]{1,4}\Z")
_PYTHON_FROM = compile_late(r"^[ \t]*from[ \t]+(\.*[\w.]*)[ \t]+import[ \t]+\(?([\w*,. \t]+)")
_PYTHON_IMPORT = compile_late(r"^[ \t]*import[ \t]+([\w.]+(?:[ \t]*,[ \t]*[\w.]+)*)[ \t]*(?:as\b|#|$)")
_SCRIPT = compile_late(r"""(?:\bfrom|\bimport|\brequire|\bimport[ \t]*\()[ \t(]*["'](\.{1,2}/[^"'\n]{1,300})["']""")
_INCLUDE = compile_late(r'^[ \t]*#[ \t]*include[ \t]+"([^"\n]{1,300})"')
_RUBY = compile_late(r"""^[ \t]*require_relative[ \t(]*["']([^"'\n]{1,300})["']""")
_RUST = compile_late(
    r"^([ \t]*)((?:#\[[^\]\n]{0,400}\][ \t]*)*)(?:pub(?:\([^)\n]{0,40}\))?[ \t]+)?"
    r"mod[ \t]+(?:r#)?(\w{1,100})[ \t]*([;{])(.{0,400})"
)
_RUST_ATTRIBUTE = compile_late(r"^[ \t]*(?:\#!?\[|//|$)")
_RUST_PATH = compile_late(r"""\bpath[ \t]*=[ \t]*"([^"\n]{1,300})\"""")


class RawLink(msgspec.Struct, frozen=True, array_like=True):
    """A link as it was written: its form, its target, the first line with it, from 1, and the number of its copies."""

    form: LinkForm
    target: str
    line: int
    count: int


class _FoundLink(Struct, frozen=True):
    """A link at one place of a text."""

    form: LinkForm
    target: str
    line: int


def find_links(text: str, fields: Mapping[str, Any], begin: int) -> list[RawLink]:
    """Return the links of a note whose front matter has `fields`, and whose text begins at the character `begin`."""
    first = text.count("\n", 0, begin) + 1
    front = text[:begin].split("\n")
    in_front = [
        _FoundLink(form, target, _find_line(front, name, target))
        for name, form in STATED_IN_FRONT.items()
        for target in names_of(fields.get(name))
    ]
    return _count_links([*in_front, *_find_in_lines(text[begin:].split("\n"), first)])


def _find_line(front: Sequence[str], name: str, target: str) -> int:
    """Return the line, from 1, with a target of a member of a front matter; the member's own where it is in none."""
    of_member = next((number for number, line in enumerate(front, 1) if line.startswith(f"{name}:")), 1)
    return next((number for number, line in enumerate(front, 1) if number >= of_member and target in line), of_member)


def find_imports(text: str) -> list[RawLink]:
    """Return the imports of code, read as each known language writes them: that of the code is not known here."""
    lines = text.split("\n")
    by_line = (one for number, line in enumerate(lines, 1) for one in _find_imports(line, number))
    return _count_links(chain(by_line, _find_modules(lines)))


def names_of(value: Any) -> list[str]:
    """Return the notes that a member of a front matter names; its value is a text, a link, or a list of these."""
    if isinstance(value, list):
        return [name for one in cast("list[Any]", value) for name in names_of(one)]
    if not isinstance(value, str):
        return []
    linked = [_target_of_wiki(found[2]) for found in _WIKI.finditer(value)] or [_target_of_wiki(value)]
    return [name for name in linked if name and not _SCHEME.match(name)]


def _target_of_wiki(written: str) -> str:
    """Return the target of a wiki link, which ends before the `|` with the words that are shown."""
    return written.replace("\\|", "|").partition("|")[0].strip()[:MAX_TARGET_CHARS]


def _find_in_lines(lines: Sequence[str], first: int) -> Iterator[_FoundLink]:
    fence = ""
    for number, line in enumerate(lines, first):
        edge = _FENCE.match(line)
        if edge is not None and (not fence or edge[1].startswith(fence)):
            fence = "" if fence else edge[1]
            continue
        if fence or ("[" not in line):
            continue
        yield from _find_in_line(_CODE.sub(lambda code: " " * len(code[0]), line), number)


def _find_in_line(line: str, number: int) -> Iterator[_FoundLink]:
    for found in _WIKI.finditer(line):
        target = _target_of_wiki(found[2])
        if target and not target.startswith("#") and _is_text(target):
            yield _FoundLink("wiki_embed" if found[1] else "wiki", target, number)
    for found in _LINK.finditer(line):
        target = found[2] or found[3]
        if _leads_inside(target):
            yield _FoundLink("embed" if found[1] else "link", unquote(target)[:MAX_TARGET_CHARS], number)
    defined = _DEFINED.match(line)
    if defined is not None and _leads_inside(defined[1]):
        yield _FoundLink("link", unquote(defined[1])[:MAX_TARGET_CHARS], number)


def _leads_inside(target: str) -> bool:
    return not target.startswith("#") and not _SCHEME.match(target) and _is_text(target)


def _is_text(target: str) -> bool:
    """Return whether a target may be a file that is indexed; its suffix tells a picture from a note."""
    name = target.partition("#")[0].rpartition("/")[2]
    stem, dot, suffix = name.rpartition(".")
    return not (dot and stem and _PICTURE.match(suffix)) or kind_of(name) is not None


def _find_imports(line: str, number: int) -> Iterator[_FoundLink]:
    if "import" in line:
        if (found := _PYTHON_FROM.match(line)) is not None:
            module = found[1]
            names = [name.strip().split(" ")[0] for name in found[2].split(",")][:MAX_IMPORTED_NAMES]
            if module.strip("."):
                yield _FoundLink("import_python", module, number)
            dot = "" if module.endswith(".") else "."
            for name in names:
                if name.isidentifier() and name.islower():
                    yield _FoundLink("import_python", f"{module}{dot}{name}", number)
        elif (found := _PYTHON_IMPORT.match(line)) is not None:
            for module in found[1].split(","):
                yield _FoundLink("import_python", module.strip(), number)
    for form, pattern in _BY_LINE.items():
        for found in pattern.finditer(line):
            yield _FoundLink(form, found[1], number)


_BY_LINE: Mapping[LinkForm, re.Pattern[str]] = {
    "import_script": _SCRIPT,
    "import_c": _INCLUDE,
    "import_ruby": _RUBY,
}


class _Inline(Struct, frozen=True):
    """A module of Rust whose body stands in the text: the indentation of its line, and the folder of its modules."""

    indent: str
    folder: str


def _find_modules(lines: Sequence[str]) -> Iterator[_FoundLink]:
    """Yield the modules of Rust that are declared, each as the path that leads to it.

    It is below the folder of the text's own module, by the names of the inline modules around it. A path that
    `#[path]` gives outside of these begins with `./`: it counts from the folder of the file. An inline module ends with
    the brace below its own line, as the language's formatter writes it.
    """
    around, attributes = list[_Inline](), ""
    for number, line in enumerate(lines, 1):
        if around and line.startswith(f"{around[-1].indent}}}"):
            around.pop()
        found = _RUST.match(line) if "mod" in line else None
        if found is None:
            attributes = (
                f"{attributes} {line}" if _RUST_ATTRIBUTE.match(line) and len(attributes) < MAX_TARGET_CHARS else ""
            )
            continue
        indent, own, name, sign, rest = found.groups()
        paths = _RUST_PATH.findall(f"{attributes} {own}")
        attributes = ""
        above = f"{around[-1].folder}/" if around else ""
        written = [f"{above or './'}{path}" for path in paths] or [f"{above}{name}"]
        targets = [target[:MAX_TARGET_CHARS] for target in written]
        if sign == ";":
            yield from (_FoundLink("import_rust", target, number) for target in targets)
        elif "}" not in rest:
            around.append(_Inline(indent, targets[0]))


def _count_links(links: Iterable[_FoundLink]) -> list[RawLink]:
    """Return each pair of form and target once, with its first line and its number, in the order of first lines."""
    found: dict[tuple[str, str], list[int]] = {}
    forms: dict[tuple[str, str], LinkForm] = {}
    for one in links:
        key = (one.form, one.target)
        if key not in found and len(found) >= MAX_LINKS:
            continue
        forms[key] = one.form
        found.setdefault(key, []).append(one.line)
    return [RawLink(forms[key], key[1], lines[0], len(lines)) for key, lines in found.items()]
