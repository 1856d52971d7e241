"""A transcript in Markdown or plain text: speakers as headings, in bold, or before a colon.

Rule 1: one style holds for the whole file: the first of the three in which both a user and an assistant speak.
Rule 2: inside a code fence no message begins.
"""

import codecs
import re
from collections.abc import Iterable, Iterator
from pathlib import PurePath
from typing import NamedTuple

from gateway.imports.formats.draft import (
    MAX_CONVERSATION,
    Draft,
    Found,
    Role,
    SourceOrigin,
    Unreadable,
    moment,
    stable_id,
)

KIND = "markdown"

MARK_CHARS = 200
"""A line that names a speaker does so at its beginning."""
MAX_FRONT_LINES = 200

_SPEAKER = (
    r"(?P<who>user|human|you|me|prompt|assistant|ai|bot|response|chatgpt|gpt-?\d[\w.-]*|claude(?: [\w.-]+){0,3}|"
    r"gemini(?: [\w.-]+){0,3}|copilot|codex|llama[\w.-]*|mistral[\w.-]*|system|tool)(?: said)?\b"
)
_WHEN = r"\d{4}-\d\d-\d\d(?:[T ,]{1,2}\d\d:\d\d(?::\d\d(?:\.\d{1,6})?)?(?: ?(?:Z|UTC|[+-]\d\d:?\d\d))?)?"
_HEADING = rf"(?P<level>#{{1,6}})[ \t]+[^\w\s]*\s?{_SPEAKER}[^\w]{{0,8}}(?P<when>{_WHEN})?[^\w]{{0,8}}$"
_BOLD = (
    rf"\*\*[^\w*]{{0,4}}{_SPEAKER}\s*[\[(]?(?P<when>{_WHEN})?[\])]?\s*"
    rf"(?::\s*\*\*|\*\*\s*[\[(]?(?P<late>{_WHEN})?[\])]?\s*(?::|$))[ \t]*"
)
_PLAIN = rf"(?:\[?(?P<when>{_WHEN})\]?\s+)?{_SPEAKER}(?:\s*[\[(](?P<late>{_WHEN})[\])])?\s*:[ \t]*"
_STYLES = tuple(re.compile(pattern, re.IGNORECASE) for pattern in (_HEADING, _BOLD, _PLAIN))
_USERS = frozenset({"user", "human", "you", "me", "prompt"})
_NO_SPEAKERS = frozenset({"system", "tool"})
_FENCE = re.compile(r" {0,3}(`{3,}|~{3,})(.*)")
_DATE_IN_NAME = re.compile(r"\d{4}-\d\d-\d\d(?:[T _]\d\d[-:]\d\d(?:[-:]\d\d)?)?")


class _Mark(NamedTuple):
    """A line at which a speaker begins."""

    line: int
    role: Role | None
    at: int | None
    rest: str
    level: int


def read(chunks: Iterable[bytes], origin: SourceOrigin) -> Iterator[Found]:
    """Yield the transcript of a file. Raises `Unreadable` for a file without a speaker."""
    draft = Draft(KIND, origin)
    lines = _lines(chunks, draft)
    front, start = _front_matter(lines)
    marks = _marks(lines, start)
    if not marks:
        raise Unreadable("unknown_format")
    stem = PurePath(origin.name.rpartition("!")[2]).stem
    date = next((front[key] for key in ("created_at", "created", "date", "time") if front.get(key)), "")
    draft.at = _time(date) or _time(_date_in(stem))
    ends = [mark.line for mark in marks[1:]] + [len(lines)]
    for mark, end in zip(marks, ends, strict=True):
        if mark.role is None:
            draft.left_out["system"] += 1
        else:
            draft.add_message(mark.role, _body([mark.rest, *lines[mark.line + 1 : end]]), mark.at)
    heading = next((line[2:].strip() for line in lines[start : marks[0].line] if line.startswith("# ")), "")
    known = front.get("conversation_id") or front.get("id") or ""
    yield draft.finish(known or stable_id(origin.key), front.get("title") or heading or stem)


def _lines(chunks: Iterable[bytes], draft: Draft) -> list[str]:
    decoder = codecs.getincrementaldecoder("utf-8")("replace")
    parts: list[str] = []
    size = 0
    for chunk in chunks:
        parts.append(decoder.decode(chunk))
        size += len(parts[-1])
        if size > MAX_CONVERSATION:
            raise Unreadable("too_large")
    text = "".join([*parts, decoder.decode(b"", final=True)])
    draft.repaired += text.count("\ufffd")
    return [line.removesuffix("\r") for line in text.split("\n")]


def _front_matter(lines: list[str]) -> tuple[dict[str, str], int]:
    """Return the simple members between two `---` at the top, and the line behind them."""
    if lines[0].rstrip() != "---":
        return {}, 0
    end = next((i for i, line in enumerate(lines[1:MAX_FRONT_LINES], 1) if line.rstrip() in {"---", "..."}), 0)
    pairs = (line.partition(":") for line in lines[1:end] if line[:1].isalpha())
    return {key.strip().lower(): value.strip().strip("\"'") for key, _, value in pairs}, end + 1 if end else 0


def _marks(lines: list[str], start: int) -> list[_Mark]:
    """Return the lines at which a speaker begins, in the first style in which both sides do."""
    outside = list(_outside_fences(lines, start))
    for style in _STYLES:
        marks = [mark for line in outside if (mark := _mark(style, line, lines[line])) is not None]
        top = min((mark.level for mark in marks), default=0)
        marks = [mark for mark in marks if mark.level == top]
        if {mark.role for mark in marks} >= {"user", "assistant"}:
            return marks
    return []


def _outside_fences(lines: list[str], start: int) -> Iterator[int]:
    fence = ""
    for number in range(start, len(lines)):
        found = _FENCE.match(lines[number])
        if found is None:
            if not fence:
                yield number
        elif not fence:
            fence = found[1]
        elif found[1].startswith(fence) and not found[2].strip():
            fence = ""


def _mark(style: re.Pattern[str], number: int, line: str) -> _Mark | None:
    found = style.match(line[:MARK_CHARS])
    if found is None:
        return None
    groups = found.groupdict()
    who = groups["who"].lower()
    role: Role | None = None if who in _NO_SPEAKERS else "user" if who in _USERS else "assistant"
    when = groups["when"] or groups.get("late") or ""
    return _Mark(number, role, _time(when), line[found.end() :], len(groups.get("level") or ""))


def _time(text: str) -> int | None:
    return moment(re.sub(r"(?<=\d)[, ]+(?=\d)", "T", text).replace("UTC", "Z").replace(" ", ""))


def _date_in(stem: str) -> str:
    found = _DATE_IN_NAME.search(stem)
    if found is None:
        return ""
    day, clock = found[0][:10], found[0][11:]
    return f"{day}T{clock.replace('-', ':')}" if clock else day


def _body(lines: list[str]) -> str:
    """Return a message's text, without the blank lines and the rule that set it apart from the next speaker."""
    first, last = 0, len(lines)
    while last and (not lines[last - 1].strip() or _is_rule(lines[last - 1])):
        last -= 1
    while first < last and not lines[first].strip():
        first += 1
    return "\n".join(lines[first:last])


def _is_rule(line: str) -> bool:
    marks = "".join(line.split())
    return len(marks) >= len("---") and marks[0] in "-*_" and not marks.strip(marks[0])
