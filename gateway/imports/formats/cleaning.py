"""Imported text as a person read it: without citation marks of an assistant's program and without control characters.

Rule 1: pure. A mark in private-use characters is removed everywhere. One in plain characters is removed from an
assistant's words outside code only: a user may speak about such marks, and code may look for them.
Rule 2: words that a mark shows to a person stay: the name of an entity, the title of a link, a sentence that is cited.
"""

import json
import re
from typing import Any, Final, NamedTuple

_BLANKS: Final = r"(?:(?<![ \t])[ \t]+)?"
"""The blanks before a mark go with it; they are looked at once, however many there are."""

_PRIVATE: Final = re.compile(_BLANKS + "\ue200([^\ue200\ue201]*)\ue201")
"""ChatGPT: U+E200, a name, U+E202 before each argument, U+E201."""
_PRIVATE_LEFT: Final = re.compile("[\ue200-\ue206]")
"""Marks that lost their partner, and those around a cited passage (U+E203, U+E204), whose words stay."""

_REFERENCE: Final = r"turn\d{1,4}[a-z]{2,16}\d{1,4}(?:L\d{1,6}(?:-L?\d{1,6})?)?"
_PLAIN: Final = re.compile(
    r"(?P<code>^ {0,3}(?P<fence>`{3,}|~{3,}).*?(?:^ {0,3}(?P=fence)|\Z)|`[^`\n]+`)"
    rf"|{_BLANKS}(?:"
    + "|".join(
        (
            rf"(?:file)?cite(?:{_REFERENCE})+",  # the rest of a mark whose private-use characters a copy lost
            r"【[^【】\n]{0,120}†[^【】\n]{0,200}】",  # 【12†source】 of the browser, 【4:2†name.pdf】 of files
            rf"【(?:{_REFERENCE}|oaicite:\d{{1,4}})[^【】\n]{{0,80}}】",
            r":contentReference\[oaicite:\d{1,4}\](?:\{[^{}\n]{0,80}\})?",
            r"\[oai_citation(?:_attribution)?[:,]\d{1,4}[^\[\]\n]{0,300}\](?:\([^()\s]{0,2000}\))?",
            r"\[cite: ?\d{1,4}(?:[ ,-]{1,3}\d{1,4}){0,50}\]|\[span_\d{1,4}\]\(end_span\)",
        )
    )
    + r")"
    + r"|\[cite_start\]|\[span_\d{1,4}\]\(start_span\)"
    + r'|<(?P<tag>(?:antml:)?cite) index="[^"\n]{1,200}">(?P<cited>[^<]*)</(?P=tag)>',
    re.MULTILINE | re.DOTALL,
)

_HINT: Final = re.compile(r"cite|【|oai_citation|_span\)")
"""One of these is in every plain mark: most texts have none, and are looked through once."""

_TERMINAL: Final = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)|[@-Z\\^_])")
_LINE_ENDS: Final = re.compile(r"\r\n?|[\x0b\x0c\x85]")
_CONTROLS: Final = re.compile(r"[\x00-\x08\x0e-\x1f\x7f-\x9f]")


class Cleaned(NamedTuple):
    """A text, and how many citation marks and control characters it lost."""

    text: str
    citations: int
    controls: int


def clean(text: str, *, is_assistant: bool) -> Cleaned:
    """Return the text without marks and control characters; line ends become LF and are not counted."""
    text = _LINE_ENDS.sub("\n", text)
    text, colours = _TERMINAL.subn("", text)
    text, controls = _CONTROLS.subn("", text)
    text, citations = _PRIVATE.subn(_find_shown_words, text)
    text, left = _PRIVATE_LEFT.subn("", text)
    if is_assistant and _HINT.search(text):
        text, plain = _without_plain(text)
        citations += plain
    return Cleaned(text, citations + left, colours + controls)


def _find_shown_words(mark: re.Match[str]) -> str:
    """Return the words that the mark shows to a person, behind the blanks before it; mostly none."""
    name, *arguments = mark[1].split("\ue202")
    words = ""
    if name == "entity" and arguments:
        words = _name_of(arguments[0])
    elif name in {"url", "link_title"} and arguments:
        words = arguments[0]
    return mark[0][: mark[0].index("\ue200")] + words if words else ""


def _name_of(argument: str) -> str:
    """Return the name in `["kind", "name", …]`."""
    try:
        parts: Any = json.loads(argument)
    except (ValueError, RecursionError):
        return ""
    match parts:
        case [_, str() as name, *_]:
            return name
        case _:
            return ""


def _without_plain(text: str) -> tuple[str, int]:
    count = 0

    def replace_mark(mark: re.Match[str]) -> str:
        nonlocal count
        if mark["code"] is not None:
            return mark[0]
        count += 1
        return mark["cited"] or ""

    return _PLAIN.sub(replace_mark, text), count
