"""The structure of a text once it is read: the answer of a reader, of ranges and terms, without a sentence of it."""

from collections.abc import Iterable
from typing import Literal, Protocol, TypeAlias

import msgspec

from knowledge.links.finding import RawLink
from protocol.files.knowledge import FileKind

Unread: TypeAlias = Literal[
    "binary", "encoding_unknown", "generated", "opted_out", "no_reader", "encrypted", "broken", "too_large"
]
"""The reason why a file has no pieces, as its reader found."""


def join_terms(terms: Iterable[str], of_headings: Iterable[str]) -> str:
    """Return the terms of a piece as its row keeps them: sorted, and in a second line those of its headings again."""
    named = " ".join(sorted(set(of_headings)))
    return " ".join(sorted(terms)) + (f"\n{named}" if named else "")


class PieceOfText(msgspec.Struct, frozen=True, array_like=True):
    """A piece: its range in bytes, its lines from 1, byte ranges of the headings above it, its terms (`join_terms`)."""

    from_byte: int
    to_byte: int
    from_line: int
    to_line: int
    headings: list[tuple[int, int]]
    terms: str
    page: int | None = None


class TextStructure(msgspec.Struct, frozen=True, kw_only=True):
    """The structure of a text, or why it has none. `left_from` is the first line without a piece."""

    unread: Unread | None = None
    encoding: str = "utf-8"
    lines: int = 0
    left_from: int | None = None
    pieces: list[PieceOfText] = []
    importance: float = 0.5
    topics: list[str] = []
    title: str = ""
    """Of the front matter; nothing where there is none, or it holds a credential."""
    aliases: list[str] = []
    """The title and other names, without those that hold a credential; so are the tags."""
    tags: list[str] = []
    links: list[RawLink] = []
    hidden: list[tuple[int, int, str]] = []
    """Byte ranges of credentials and of our own context blocks, with the mark that is shown instead, in order."""
    text: str = ""
    """Of a PDF: what its pages say, without credentials. The ranges are those of this text in UTF-8."""
    spent_ms: int = 0
    """The milliseconds of the processor that it took, without the start of the reader."""


class ReadRequest(msgspec.Struct, frozen=True, kw_only=True):
    """The request to a reader: how to read so many bytes that follow. It holds no name."""

    kind: FileKind
    size: int
    max_pieces: int
    max_pages: int = 0
    language: str | None = None
    is_plain: bool = False
    """Without structure: two readers ended at it before."""


class ReaderEndedError(Exception):
    """The reader ended while it read this text: it ran out of time or memory, or a parser failed."""


class ReadText(Protocol):
    """Reads texts one after the other, beside the process."""

    async def __call__(self, request: ReadRequest, data: bytes) -> TextStructure:
        """Return the structure of a text. Raises `ReaderEndedError`."""
        ...
