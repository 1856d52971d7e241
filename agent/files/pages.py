"""A document that is read page by page, as the one text that its readers page through.

Rule 1: what was read once is kept for a while, so that reading on costs what is read and not what was read before.
"""

from collections import OrderedDict
from collections.abc import Awaitable, Callable
from typing import BinaryIO, Literal, TypeAlias

from msgspec import Struct

from agent.files.text import page_text

PdfProblem: TypeAlias = Literal["encrypted", "broken", "too_slow", "too_large", "no_reader"]

MAX_DOCUMENT_CHARS = 2_000_000
"""A thousand dense pages; a longer document is searched elsewhere."""
DOCUMENTS = 4
"""Documents that are kept at a time: what one conversation reads from."""
READ_AHEAD_CHARS = 40_000
"""Read at least this much at a time: ten answers of a tool for one start of the parser."""
CUT = "[the rest of the document is not read]\n"


class PdfPages(Struct, frozen=True):
    """Pages of a file: how many it has, the texts read (None: cannot be read), and the problem that ended reading."""

    total: int
    pages: list[str | None]
    problem: PdfProblem | None


ReadPdf: TypeAlias = Callable[[BinaryIO, int, int], Awaitable[PdfPages]]
"""(file, first page from 0, characters wanted) → pages, within a deadline of its own."""


class Document(Struct, frozen=True):
    """The part of a document that has been read by now."""

    text: str = ""
    pages: int = 0
    """Pages that were read."""
    is_whole: bool = False
    has_words: bool = False

    def extend(self, read: PdfPages) -> "Document":
        """Return the document with the pages that follow it."""
        pieces = [page_text(number, text) for number, text in enumerate(read.pages, self.pages + 1)]
        text, pages = self.text + "".join(pieces), self.pages + len(read.pages)
        is_cut = len(text) > MAX_DOCUMENT_CHARS
        if is_cut:
            text = text[:MAX_DOCUMENT_CHARS] + CUT
        has_words = self.has_words or any(page and page.strip() for page in read.pages)
        is_whole = is_cut or (read.total > 0 and pages >= read.total) or (read.problem is None and read.total == 0)
        return Document(text, pages, is_whole, has_words)


class Documents:
    """The documents read last, by the digest of their bytes."""

    def __init__(self) -> None:
        self._known: OrderedDict[str, Document] = OrderedDict()

    def get(self, sha256: str) -> Document:
        """Return the part of a document that has been read; an empty one for a digest that is not known."""
        return self._known.get(sha256, Document())

    def put(self, sha256: str, document: Document) -> None:
        """Keep a document, unless more of it has been read by now."""
        if document.pages >= self.get(sha256).pages:
            self._known[sha256] = document
            self._known.move_to_end(sha256)
        while len(self._known) > DOCUMENTS:
            self._known.popitem(last=False)
