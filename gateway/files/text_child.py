"""The reader of texts, which runs in a process of its own: bytes come in, their structure goes out.

Rule 1: a file is hostile until it is read: a deadline of processor time and a limit of memory end the reader, and no
other work waits for it. It is given bytes and how to read them: no name, no key, no environment of use.
Rule 2: credentials and context blocks of ours are blanked before terms are made of a text.
Rule 3: answers to requests come before reading, which takes the processor time that is left.
"""

import contextlib
import os
import re
import signal
import sys
import threading
import time
from bisect import bisect_right
from collections.abc import Sequence
from functools import cache
from importlib import import_module
from io import BytesIO
from itertools import accumulate, pairwise
from typing import Any, BinaryIO, NamedTuple, cast

import msgspec

from gateway.files.front_matter import FrontMatter, read_front_matter
from gateway.secrets.scanner import RuleScanner
from knowledge.index.code_cutting import CodeSymbol, cut_code
from knowledge.index.cutting import Heading, TextPiece, cut_pieces, line_starts
from knowledge.index.hidden import HiddenPart, find_hidden, replace_parts
from knowledge.index.judging import OFF, UTF16_MARKS, is_binary, is_generated, is_opted_out
from knowledge.links.finding import RawLink, find_imports, find_links
from knowledge.structure import PieceOfText, ReadRequest, TextStructure, join_terms
from promt.own_blocks import find_blocks
from retrieval.terms import SnowballLexicon

SECONDS = 5.0
"""Processor time for one file: the largest takes one second."""
PDF_SECONDS = 30.0
"""The same for a PDF: a page takes twenty milliseconds, and a book has hundreds."""
PDF_ENOUGH = 0.7
"""The part of that time after which no further page is read: what was read is cut and kept."""
MAX_PDF_CHARS = 8 * 1024 * 1024
MEMORY_BYTES = 768 * 1024 * 1024
NICENESS = 5
"""By how much the reader stands back behind the process that answers requests, where the system has such a number.

Beside the first reading of 10,000 files, on two busy processors, a ping waited (p95, in turns) 29, 57 and 48 ms without
it and 20, 38 and 28 ms with it: most of that wait was for a processor, not for the interpreter or a lock. With 10 it
waited half as long, but then a machine whose processors are taken hardly reads at all.
"""
GUESSED_BYTES = 65_536
"""The beginning of a text by which its encoding is guessed."""
MAX_TOPICS = 16
MAX_TOPIC_CHARS = 64
MAX_NAMES = 32
MAX_NAME_CHARS = 200

_UTF8_MARK = b"\xef\xbb\xbf"
_HEADING_SIGNS = re.compile(r"[ \t]{0,3}#{1,6}[ \t]+|[ \t]*")
_HEADING_END = re.compile(r"[ \t]+#*[ \t]*\Z|\s+\Z")


class _Decoded(NamedTuple):
    """A text, the encoding by which its parts are bytes again, and the length of its mark in bytes."""

    text: str
    encoding: str
    mark: int


def decode(data: bytes) -> _Decoded | None:
    """Return a file's text; None where its encoding cannot be guessed, or does not give its bytes back."""
    if data.startswith(UTF16_MARKS):
        mark, encoding = 2, "utf-16-le" if data.startswith(b"\xff\xfe") else "utf-16-be"
    else:
        mark, encoding = (3 if data.startswith(_UTF8_MARK) else 0), "utf-8"
    try:
        return _Decoded(data[mark:].decode(encoding), encoding, mark)
    except UnicodeDecodeError:
        if mark:
            return None
    best = import_module("charset_normalizer").from_bytes(data[:GUESSED_BYTES]).best()
    if best is None:
        return None
    try:
        text = data.decode(best.encoding)
        return _Decoded(text, best.encoding, 0) if text.encode(best.encoding) == data else None
    except (UnicodeError, LookupError):
        return None


@cache
def _markdown_parser() -> Any:
    """Return the parser of blocks, made once: that takes as long as to read a short note."""
    markdown: Any = import_module("markdown_it")
    return markdown.MarkdownIt("commonmark", {"maxNesting": 20}).enable("table").disable(["inline"])


def find_headings(text: str, begin: int) -> list[Heading]:
    """Return the headings of a Markdown text from a character on, by the rules of CommonMark."""
    starts = line_starts(text)
    first = len(line_starts(text[:begin])) if begin else 0
    found: list[Heading] = []
    for token in _markdown_parser().parse(text[begin:]):
        if token.type != "heading_open" or token.level or token.map is None:
            continue
        line: int = first + token.map[0]
        last: int = first + token.map[1] - (1 if token.markup in {"=", "-"} else 0)
        end = starts[last] if last < len(starts) else len(text)
        signs = _HEADING_SIGNS.match(text, starts[line], end)
        start = signs.end() if signs is not None else starts[line]
        said = text[start:end].rstrip()
        closing = _HEADING_END.search(said) if token.markup.startswith("#") else None
        found.append(Heading(int(token.tag[1:]), start, start + (closing.start() if closing else len(said)), line))
    return found


class _Reader:
    """The reader of the process, with its lexicon and scanner: made once for all files."""

    def __init__(self) -> None:
        self._lexicon = SnowballLexicon()
        self._scanner = RuleScanner()

    def read(self, request: ReadRequest, data: bytes) -> TextStructure:
        """Return the structure of a text."""
        if request.kind == "pdf":
            return self._read_pdf(request, data)
        if is_binary(data):
            return TextStructure(unread="binary")
        decoded = decode(data)
        if decoded is None:
            return TextStructure(unread="encoding_unknown")
        text = decoded.text
        starts = line_starts(text)
        if request.kind != "markdown" and is_generated(text):
            return TextStructure(unread="generated")
        is_markdown = request.kind == "markdown" and not request.is_plain
        front = read_front_matter(text) if is_markdown else FrontMatter({}, 0)
        is_off = str(front.fields.get("knowledge", "")).casefold() in OFF  # written over two lines, perhaps
        if request.kind == "markdown" and (is_off or is_opted_out(text)):
            return TextStructure(unread="opted_out")
        headings = find_headings(text, front.end) if is_markdown else []
        symbols = self._symbols_of(request, text)
        is_markdown = request.kind == "markdown"
        pieces = cut_code(text, symbols) if symbols else cut_pieces(text, headings, is_markdown=is_markdown)
        kept = pieces[: request.max_pieces]
        hidden = self._hidden_in(text)
        said = blank(text, hidden)
        title = self._drop_secret_names(_words_of(front.fields.get("title")))
        tags = self._drop_secret_names(_tags_of(front.fields.get("tags")))
        topics = self._drop_secret_names(_tags_of(front.fields.get("topics")))
        return TextStructure(
            encoding=decoded.encoding,
            lines=len(starts) if text else 0,
            left_from=pieces[len(kept)].from_line if len(kept) < len(pieces) else None,
            pieces=self._pieces(kept, said, decoded, title),
            importance=_importance(front.fields.get("importance")),
            topics=_to_topics([*topics, *tags]),
            title=next(iter(title), ""),
            aliases=self._drop_secret_names(title + _words_of(front.fields.get("aliases"))),
            tags=tags,
            links=self._links(text, front, request) if not request.is_plain else [],
            hidden=_in_bytes(decoded, hidden),
        )

    @staticmethod
    def _symbols_of(request: ReadRequest, text: str) -> list[CodeSymbol]:
        """Return the symbols of code; none of other texts, or of a file that is to be read plainly."""
        if request.kind != "code" or request.is_plain or request.language is None:
            return []
        return import_module("gateway.files.code_structure").find_symbols(text, request.language)

    def _read_pdf(self, request: ReadRequest, data: bytes) -> TextStructure:
        """Return the structure of a PDF by its pages, with the text that they have: what is kept has no credentials."""
        pdf: Any = import_module("gateway.files.pdf_text")
        opened = pdf.open_pdf(BytesIO(data))
        if opened.problem is not None:
            return TextStructure(unread=opened.problem)
        begun, pages, size, total = time.process_time(), list[str | None](), 0, opened.total
        wanted = min(total, request.max_pages)
        for page in pdf.page_texts(opened.reader, 0, wanted):
            pages.append(page)
            size += len(page or "")
            if size > MAX_PDF_CHARS or time.process_time() - begun > PDF_SECONDS * PDF_ENOUGH:
                break
        else:
            total = total if len(pages) == wanted else len(pages)  # the file names more pages than it has
        if not total or (pages and not any(page is not None for page in pages)):
            return TextStructure(unread="broken")
        lost = [number for number, page in enumerate(pages, 1) if page is None or len(page) >= pdf.MAX_PAGE_CHARS]
        parts = self._mask_pages(pages)
        starts = list(accumulate((len(part) for part in parts), initial=0))[: len(parts)]
        text = "".join(parts)
        pieces = cut_pieces(text, [], is_markdown=False, breaks=starts)
        kept = pieces[: request.max_pieces]
        made = self._pieces(kept, text, _Decoded(text, "utf-8", 0), [])
        return TextStructure(
            lines=len(line_starts(text)) if text else 0,
            left_from=pieces[len(kept)].from_line if len(kept) < len(pieces) else None,
            left_pages=_find_runs([*lost, *range(len(pages) + 1, total + 1)]),
            pieces=[
                msgspec.structs.replace(one, page=bisect_right(starts, piece.start))
                for one, piece in zip(made, kept, strict=True)
            ],
            text=text,
        )

    def _drop_secret_names(self, words: Sequence[str]) -> list[str]:
        """Return names as they were written, but for those that hold a credential."""
        kept = (one.strip()[:MAX_NAME_CHARS] for one in words if self._scanner.mask(one) == one)
        return [one for one in dict.fromkeys(kept) if one][:MAX_NAMES]

    def _links(self, text: str, front: FrontMatter, request: ReadRequest) -> list[RawLink]:
        if request.kind == "markdown":
            found = find_links(text, front.fields, front.end)
        else:
            found = find_imports(text) if request.kind == "code" else []
        return [one for one in found if self._scanner.mask(one.target) == one.target]

    def _hidden_in(self, text: str) -> list[HiddenPart]:
        """Return the parts of a text that are neither indexed nor shown, in characters and in order."""
        return find_hidden(self._scanner.find(text), find_blocks(text))

    def _mask_pages(self, pages: Sequence[str | None]) -> list[str]:
        """Return the text of each page with marks for its hidden parts, also for those that run over several pages."""
        raw = [(page or "").strip() + "\n" for page in pages]
        text = "".join(raw)
        hidden = self._hidden_in(text)
        places = pairwise(accumulate((len(one) for one in raw), initial=0))
        return [replace_parts(hidden, start, end, lambda a, b: text[a:b]).strip() + "\n" for start, end in places]

    def _pieces(
        self, pieces: Sequence[TextPiece], said: str, decoded: _Decoded, title: Sequence[str]
    ) -> list[PieceOfText]:
        places = {0} | {place for one in pieces for place in (one.start, one.end)}
        places |= {place for one in pieces for heading in one.trail for place in (heading.start, heading.end)}
        at = _bytes_at(decoded, sorted(places))
        found: list[PieceOfText] = []
        for one in pieces:
            above = " ".join([*title, *(said[heading.start : heading.end] for heading in one.trail)])
            named = self._lexicon.index_terms(above)
            terms = [*named, *self._lexicon.index_terms(said[one.start : one.end])]
            found.append(
                PieceOfText(
                    at[one.start] if one.start else 0,
                    at[one.end],
                    one.from_line,
                    one.to_line,
                    [(at[heading.start], at[heading.end]) for heading in one.trail],
                    join_terms(terms, named),
                )
            )
        return found


def _find_runs(numbers: Sequence[int]) -> list[tuple[int, int]]:
    """Return the first and the last of each run of numbers without a gap; they are in order."""
    runs: list[tuple[int, int]] = []
    for number in numbers:
        if runs and runs[-1][1] == number - 1:
            runs[-1] = (runs[-1][0], number)
        else:
            runs.append((number, number))
    return runs


def blank(text: str, hidden: Sequence[HiddenPart]) -> str:
    """Return a text of the same length with blanks in place of its hidden parts."""
    return _replace_hidden(text, [(start, end, " " * (end - start)) for start, end, _ in hidden])


def _replace_hidden(text: str, parts: Sequence[HiddenPart]) -> str:
    return replace_parts(parts, 0, len(text), lambda start, end: text[start:end])


def _bytes_at(decoded: _Decoded, places: Sequence[int]) -> dict[int, int]:
    """Return the byte at which each character begins; `places` are in order."""
    at: dict[int, int] = {}
    last, byte = 0, decoded.mark
    for place in places:
        byte += len(decoded.text[last:place].encode(decoded.encoding))
        at[place], last = byte, place
    return at


def _in_bytes(decoded: _Decoded, parts: Sequence[HiddenPart]) -> list[HiddenPart]:
    at = _bytes_at(decoded, sorted({place for start, end, _ in parts for place in (start, end)}))
    return [(at[start], at[end], mark) for start, end, mark in parts]


def _words_of(value: Any) -> list[str]:
    """Return the texts of a field that is one text or a list of them."""
    values = cast("list[Any]", value) if isinstance(value, list) else [value]
    return [one for one in values if isinstance(one, str) and one]


def _tags_of(value: Any) -> list[str]:
    """Return the tags of a field: a list of them, or one text with commas between them."""
    return _words_of([one.strip() for one in value.split(",")] if isinstance(value, str) else value)


def _to_topics(words: Sequence[str]) -> list[str]:
    """Return words as a file's topics: folded and short, each once."""
    return list(dict.fromkeys(one.casefold()[:MAX_TOPIC_CHARS] for one in words))[:MAX_TOPICS]


def _importance(value: Any) -> float:
    try:
        number = float(value)
    except (TypeError, ValueError):
        return 0.5
    return min(1.0, max(0.0, number)) if number == number else 0.5  # noqa: PLR0124  # not a number


# -- the process -----------------------------------------------------------------------------------------------------


class _Deadline:
    """Ends this process when a file takes too long, also when its parent is gone."""

    def __init__(self) -> None:
        self._watch: threading.Timer | None = None
        if sys.platform != "win32":
            import resource  # noqa: PLC0415  # not on Windows

            with contextlib.suppress(ValueError, OSError):  # macOS takes no such limit
                resource.setrlimit(resource.RLIMIT_AS, (MEMORY_BYTES, MEMORY_BYTES))

    def begin(self, seconds: float = SECONDS) -> None:
        if sys.platform == "win32":
            self._watch = threading.Timer(2 * seconds, os._exit, [1])
            self._watch.daemon = True
            self._watch.start()
        else:
            signal.setitimer(signal.ITIMER_PROF, seconds)  # the signal ends the process without a line of Python

    def end(self) -> None:
        if sys.platform == "win32":
            if self._watch is not None:
                self._watch.cancel()
        else:
            signal.setitimer(signal.ITIMER_PROF, 0)


def serve(source: BinaryIO, target: BinaryIO) -> None:
    """Answer requests until the input ends: a line that is a request, its bytes; a line that is the structure."""
    deadline = _Deadline()
    deadline.begin()
    reader = _Reader()
    spent = time.process_time()
    while line := source.readline():
        request = msgspec.json.decode(line, type=ReadRequest)
        data = source.read(request.size)
        deadline.begin(PDF_SECONDS if request.kind == "pdf" else SECONDS)
        structure, before = reader.read(request, data), spent
        spent = time.process_time()
        structure = msgspec.structs.replace(structure, spent_ms=round((spent - before) * 1000))
        target.write(msgspec.json.encode(structure) + b"\n")
        target.flush()
        deadline.end()


if __name__ == "__main__":
    if sys.platform != "win32":
        os.nice(NICENESS)
    serve(sys.stdin.buffer, sys.stdout.buffer)
