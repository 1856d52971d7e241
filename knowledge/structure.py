"""The structure of a file's text: the reader's answer, which holds ranges, terms and names, but no sentence of it."""

from collections.abc import Iterable, Sequence
from typing import Literal, Protocol, TypeAlias

import msgspec

from knowledge.links.finding import RawLink
from protocol.files.knowledge import FileKind

Unread: TypeAlias = Literal[
    "binary", "encoding_unknown", "generated", "opted_out", "no_reader", "encrypted", "broken", "too_large"
]
"""The reason for which a reader returns no pieces of a file."""


def join_terms(terms: Iterable[str], of_headings: Iterable[str]) -> str:
    """Return the terms of a piece as its row keeps them: sorted, then on a second line those of its headings alone."""
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
    """The structure of a text, or the reason why it has none. `left_from` is the first line without a piece."""

    unread: Unread | None = None
    encoding: str = "utf-8"
    lines: int = 0
    left_from: int | None = None
    left_pages: list[tuple[int, int]] = []
    """The first and last page of each run of pages of a PDF that were not read, or not as a whole."""
    pieces: list[PieceOfText] = []
    importance: float = 0.5
    topics: list[str] = []
    title: str = ""
    """The title in the front matter; empty where there is none, or it holds a credential."""
    aliases: list[str] = []
    """The title and other names, without those that hold a credential."""
    tags: list[str] = []
    """The tags, without those that hold a credential."""
    links: list[RawLink] = []
    hidden: list[tuple[int, int, str]] = []
    """Byte ranges of credentials and of our own context blocks, with the mark that is shown instead, in order."""
    text: str = ""
    """The text of a PDF's pages, without credentials; ranges are those of this text in UTF-8. Empty for other kinds."""
    spent_ms: int = 0
    """The processor time that parsing took, without the start of the reader."""


class ReadRequest(msgspec.Struct, frozen=True, kw_only=True):
    """The request to a reader, which `size` bytes of a file follow. It holds no name of the file."""

    kind: FileKind
    size: int
    max_pieces: int
    max_pages: int = 0
    language: str | None = None
    is_plain: bool = False
    """Read it without structure, as readers ended at it before."""


class ReadText(Protocol):
    """A reader: it parses texts one after another in a process of its own."""

    async def __call__(self, texts: Sequence[tuple[ReadRequest, bytes]]) -> list[TextStructure | None]:
        """Return the structure of each text; None where the reader ended: out of time or memory, or a parser failed."""
        ...
