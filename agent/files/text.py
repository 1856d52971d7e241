"""Reads a file as text: its medium, its encoding, its pages.

Rule 1: the media type that the client gave says what a file is; its bytes are asked only whether that can be true.
Rule 2: nothing is guessed silently: an encoding that was only tried is marked as a guess.
Rule 3: decisions over bytes and text; who finds, opens and shows them is elsewhere.
"""

import codecs
import csv
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from typing import BinaryIO, Literal, TypeAlias

from msgspec import Struct

from protocol.conversation.values import ArtifactKind
from protocol.seams.ports import SecretSpan

Medium: TypeAlias = Literal["text", "table", "pdf", "picture", "other"]

HEAD_BYTES = 1024
"""Signatures stand here; a PDF's may have something before it."""
BLOCK_BYTES = 256 * 1024
"""Bytes that are decoded at once: under a millisecond, so that no request waits for a large file."""

KINDS: tuple[tuple[str, ArtifactKind], ...] = (
    ("image/", "image"),
    ("audio/", "audio"),
    ("video/", "video"),
    ("text/csv", "data"),
    ("text/tab-separated-values", "data"),
    ("application/json", "data"),
    ("text/", "document"),
    ("application/pdf", "document"),
)

PDF = "application/pdf"
PICTURES = frozenset({"image/png", "image/jpeg", "image/gif", "image/webp"})
"""The pictures that models take."""
TABLES = frozenset({"text/csv", "text/tab-separated-values"})
TEXTS = frozenset(
    {
        "application/json",
        "application/xml",
        "application/yaml",
        "application/x-yaml",
        "application/toml",
        "application/javascript",
        "application/x-sh",
        "application/sql",
        "application/x-ndjson",
        "application/jsonl",
        "image/svg+xml",
    }
)
UNDECLARED = frozenset({"", "application/octet-stream"})
ALIASES = {"image/jpg": "image/jpeg", "application/x-pdf": PDF, "application/csv": "text/csv"}

BOMS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
"""In this order: UTF-32's mark begins with UTF-16's."""
GUESSES = ("utf-8", "cp1252", "latin-1")
"""Encodings tried in this order on a file without a mark.

Bytes that are valid UTF-8 are hardly ever anything else. The last one accepts every byte.
"""

DELIMITERS = (",", ";", "\t", "|")


def essence_of(mime: str) -> str:
    """Return a media type without its parameters, under its usual name."""
    essence = mime.partition(";")[0].strip().lower()
    return ALIASES.get(essence, essence)


def kind_of(mime: str) -> ArtifactKind:
    """Return the kind that a media type stands for."""
    essence = essence_of(mime)
    for prefix, kind in KINDS:
        if essence.startswith(prefix):
            return kind
    return "other"


def signature_of(head: bytes) -> str | None:
    """Return the media type that the first bytes are unmistakably of."""
    if head.startswith(b"\x89PNG\r\n\x1a\n"):
        return "image/png"
    if head.startswith(b"\xff\xd8\xff"):
        return "image/jpeg"
    if head.startswith((b"GIF87a", b"GIF89a")):
        return "image/gif"
    if head.startswith(b"RIFF") and head[8:12] == b"WEBP":
        return "image/webp"
    return PDF if head.startswith(b"%PDF-") else None


def medium_of(mime: str, head: bytes) -> Medium:
    """Return the medium that a file can be read as; "other" where its first bytes contradict its media type."""
    essence, signature = essence_of(mime), signature_of(head)
    if essence in PICTURES:
        return "picture" if signature == essence else "other"
    if essence == PDF:
        return "pdf" if b"%PDF-" in head[:HEAD_BYTES] else "other"
    if signature is not None:
        return "other"
    if essence in TABLES:
        return "table"
    is_text = essence.startswith("text/") or essence in TEXTS | UNDECLARED or essence.endswith(("+json", "+xml"))
    return "text" if is_text else "other"


# -- text ----------------------------------------------------------------------------------------------------------


class TextIndex(Struct, frozen=True):
    """A file's encoding, and where its characters stand, so that a page is read without the text before it."""

    encoding: str
    is_guess: bool
    chars: int
    marks: Sequence[tuple[int, int]]
    """(characters before, bytes before), one a block."""


class _NoTextError(ValueError):
    """The file holds a character that no text has."""


def _blocks(file: BinaryIO) -> Iterator[bytes]:
    while block := file.read(BLOCK_BYTES):
        yield block


def _index_text(file: BinaryIO, encoding: str, start: int, *, is_guess: bool) -> TextIndex:
    decoder = codecs.getincrementaldecoder(encoding)()
    file.seek(start)
    marks, chars, place = [(0, start)], 0, start
    for block in _blocks(file):
        text = decoder.decode(block)
        if "\0" in text:
            raise _NoTextError
        chars += len(text)
        place += len(block)
        marks.append((chars, place - len(decoder.getstate()[0])))
    decoder.decode(b"", final=True)
    return TextIndex(encoding, is_guess, chars, marks)


def index_text(file: BinaryIO, *, is_declared: bool) -> TextIndex | None:
    """Return the index of a text file; None for a file that is no text.

    A file that is not declared as text is text only if it is UTF-8.
    """
    file.seek(0)
    head = file.read(4)
    marked = next(((name, len(bom)) for bom, name in BOMS if head.startswith(bom)), None)
    guesses = [marked] if marked else [(name, 0) for name in (GUESSES if is_declared else GUESSES[:1])]
    for encoding, start in guesses:
        try:
            return _index_text(file, encoding, start, is_guess=encoding not in {"utf-8", *(name for _, name in BOMS)})
        except _NoTextError:
            return None
        except UnicodeDecodeError:
            continue
    return None


def read_text(file: BinaryIO, index: TextIndex, offset: int, limit: int) -> str:
    """Return the characters from `offset` on, at most `limit`."""
    if offset >= index.chars:
        return ""
    before, start = index.marks[bisect_right(index.marks, offset, key=lambda mark: mark[0]) - 1]
    decoder = codecs.getincrementaldecoder(index.encoding)()
    file.seek(start)
    pieces: list[str] = []
    missing = offset - before + limit
    for block in _blocks(file):
        pieces.append(decoder.decode(block))
        missing -= len(pieces[-1])
        if missing <= 0:
            break
    return "".join(pieces)[offset - before : offset - before + limit]


def mask_spans(text: str, spans: Sequence[SecretSpan], start: int, end: int) -> str:
    """Return a part of the text without what the spans cover, also where a span only reaches into it."""
    pieces: list[str] = []
    place = start
    for span in spans:
        if span.end <= place or span.start >= end:
            continue
        pieces += [text[place : max(place, span.start)], f"[secret:{span.kind}]"]
        place = span.end
    return "".join([*pieces, text[min(place, end) : end]])


# -- tables --------------------------------------------------------------------------------------------------------


def records_of(text: str, *, is_end: bool) -> list[tuple[int, int]]:
    """Return the (start, end) of each whole record of a table, its line break included.

    Line breaks within quotes end no record. The last record needs a line break unless the text ends where the file
    does.
    """
    found: list[tuple[int, int]] = []
    start, is_quoted = 0, False
    for place, char in enumerate(text):
        if char == '"':
            is_quoted = not is_quoted
        elif not is_quoted and (char == "\n" or (char == "\r" and text[place + 1 : place + 2] not in {"\n", ""})):
            found.append((start, place + 1))
            start = place + 1
    if is_end and start < len(text):
        found.append((start, len(text)))
    return found


def delimiter_of(record: str) -> str:
    """Return the character that separates the fields of a table, judged by its first record."""
    outside = "".join(record.split('"')[::2])
    return max(DELIMITERS, key=outside.count)


def fields_of(record: str, delimiter: str) -> list[str]:
    """Return a record's fields; one that is not well formed is a single field."""
    try:
        rows = list(csv.reader([record.rstrip("\r\n")], delimiter=delimiter))
    except csv.Error:
        return [record.rstrip("\r\n")]
    return rows[0] if rows else []


# -- pages of a document -------------------------------------------------------------------------------------------


def page_text(number: int, text: str | None) -> str:
    """Return a page as a reader of the whole document gets it; a `text` of None is a page that cannot be read."""
    if text is None:
        return f"[page {number}: cannot be read]\n\n"
    return f"[page {number}]\n{text.strip()}\n\n" if text.strip() else f"[page {number}: no text]\n\n"
