"""The content of a message, which in all three dialects is a text or a list of parts."""

from collections.abc import Mapping, Sequence
from typing import Any

from msgspec import Struct

from gateway.base.json_values import table_of, text_of
from gateway.doors.proxy.body import elements, is_list, is_text, text_at
from gateway.doors.proxy.dialects.reading import InsertPoint, digest_of_value, strip_wrappers, value_at
from protocol.capture.chain import ToolWish

TEXT_PARTS = frozenset({"text", "input_text", "output_text"})
REASONING = frozenset({"thinking", "redacted_thinking", "reasoning"})


class ReadContent(Struct, frozen=True):
    """The parts of a content."""

    texts: Sequence[str] = ()
    """The texts without the wrappers of the program."""
    words: str = ""
    """The texts together: the words of a person, in a message of the user."""
    tools: Sequence[ToolWish] = ()
    """The calls of tools."""
    others: Sequence[bytes] = ()
    """Digests of all other parts but reasoning, such as pictures and results of tools."""
    point: InsertPoint | None = None
    """The place before the first text."""
    is_of_tools: bool = False
    """It holds results of tools and no words."""


def read_content(body: bytes, span: slice | None, wrappers: Sequence[str], part: str = "text") -> ReadContent:
    """Return the parts of a content; `part` is the type of a part that is inserted as a text.

    Raises `UnreadableError`.
    """
    if span is None:
        return ReadContent()
    if is_text(body, span):
        words = strip_wrappers(text_at(body, span), wrappers).strip()
        return ReadContent([words], words, point=InsertPoint("before_text", span.start + 1, span.start + 1))
    if not is_list(body, span):
        return ReadContent()
    texts, tools, others = list[str](), list[ToolWish](), list[bytes]()
    point: InsertPoint | None = None
    has_results = False
    for place in elements(body, span):
        value = table_of(value_at(body, place))
        kind = value.get("type")
        if kind in TEXT_PARTS:
            words = strip_wrappers(text_of(value.get("text")), wrappers).strip()
            texts.append(words)
            if words and point is None:
                shape = f'{{"type":"{part}","text":%s}}'
                point = InsertPoint("part_before", place.start, place.start, shape)
        elif kind == "tool_use":
            tools.append(ToolWish(text_of(value.get("name")), value.get("input")))
        elif kind not in REASONING:
            has_results |= kind == "tool_result"
            others.append(digest_of_value(value))
    words = "\n\n".join(text for text in texts if text)
    return ReadContent(texts, words, tools, others, point, is_of_tools=has_results and not words)


def member_point(body: bytes, members: Mapping[str, slice], name: str) -> InsertPoint:
    """Return the place at which a new first member `name` of a body may be inserted."""
    first = min((span.start for span in members.values()), default=0)
    at = body.rfind(b"{", 0, first) + 1
    return InsertPoint("member", at, at, f'"{name}":%s')


def system_point(body: bytes, span: slice | None, part: str = "text") -> InsertPoint | None:
    """Return the place behind a system text, or that of an empty one; None where it is neither text nor list.

    Raises `UnreadableError`.
    """
    if span is None:
        return None
    if body[span] in {b"null", b'""'}:
        return InsertPoint("value", span.start, span.stop, "%s")
    if is_text(body, span):
        return InsertPoint("behind_text", span.stop - 1, span.stop - 1)
    if not is_list(body, span):
        return None
    places = elements(body, span)
    shape = f'{{"type":"{part}","text":%s}}'
    if not places:
        return InsertPoint("first_part", span.start + 1, span.start + 1, shape)
    return InsertPoint("part_behind", places[-1].stop, places[-1].stop, shape)


def system_texts_at(body: bytes, span: slice | None) -> list[str]:
    """Return the texts of a system text's parts. Raises `UnreadableError`."""
    if span is None:
        return []
    if is_text(body, span):
        return [text_at(body, span)]
    parts = elements(body, span) if is_list(body, span) else []
    return [text_of(table_of(value_at(body, place)).get("text")) for place in parts]


def names_in(body: bytes, members: Mapping[str, slice], names: Sequence[str]) -> dict[str, str]:
    """Return those of the named members of a body that are texts and not empty. Raises `UnreadableError`."""
    found: dict[str, Any] = {name: text_at(body, members[name]) for name in names if name in members}
    return {name: text for name, text in found.items() if text}
