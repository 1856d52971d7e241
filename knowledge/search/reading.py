"""`knowledge/read`: lines of an indexed file as they are now, and what became of the place that was asked for.

Rule 1: only a file that is indexed can be read; everything else is not found, whatever lies on the disk.
Rule 2: a place is found again by its hash; where it is gone, the lines are given as they are now, and that is said.
"""

import hashlib
import os
from bisect import bisect_right
from collections import Counter
from collections.abc import Sequence
from functools import partial
from itertools import pairwise
from typing import BinaryIO, NamedTuple

import anyio.to_thread

from knowledge.index.cutting import line_starts
from knowledge.index.hidden import decode_part, find_hidden, replace_parts
from knowledge.index.reading import hash_of
from knowledge.ports import KnowledgeMeans
from knowledge.rows.collections import KnownCollection
from knowledge.rows.contents import PlacedPiece, pieces_of, read_packed_text, unpack_text
from knowledge.rows.files import FileRow, find_file, hurry_files
from knowledge.search.addresses import HASH_DIGITS, Address, is_anchor_of, read_address, slug_of
from knowledge.search.current_rules import CurrentRules
from knowledge.search.outline import find_outline, is_opted_out
from knowledge.search.verifying import digest_of_file, read_range
from knowledge.search.visible import visible_collections
from promt.own_blocks import find_blocks
from protocol.errors import CallerError
from protocol.files.knowledge import KnowledgeReadParams, KnowledgeReadResult, OutlineEntry, ReadState
from protocol.hooks import TurnContext
from protocol.seams.ports import Tx
from protocol.seams.safe_files import UnsafeFileError

READABLE = frozenset({"indexed", "partial", "pending"})
LINES_SHOWN = 400
"""Of a file without a place: its beginning."""


class _Wanted(NamedTuple):
    known: KnownCollection
    file: FileRow
    pieces: list[PlacedPiece]
    packed: bytes | None
    """The packed text of a PDF; None of any other kind."""


class _Place(NamedTuple):
    """Lines from 1, and what became of the place that was asked for."""

    first: int
    last: int
    state: ReadState
    piece: tuple[int, int] | None = None
    """The bytes of the piece that an address means, where it stands: they may begin and end within a line."""


class PlaceReader:
    """Answers `knowledge/read`."""

    def __init__(self, means: KnowledgeMeans) -> None:
        self._means = means

    async def read(self, params: KnowledgeReadParams, turn: TurnContext | None = None) -> KnowledgeReadResult:
        """Return the lines of a place, for a client or for the tool of a turn.

        Raises `CallerError` for what is not indexed, or not visible here.
        """
        address = self._address(params)
        means = self._means

        def look(tx: Tx) -> _Wanted | None:
            visible = {known.collection_id: known for known in visible_collections(tx, means, params.context, turn)}
            known = visible.get(address.collection_id)
            file = find_file(tx, known.id, address.path) if known is not None else None
            if known is None or file is None or file.state not in READABLE or file.content is None:
                return None
            packed = read_packed_text(tx, file.content) if file.kind == "pdf" else None
            return _Wanted(known, file, pieces_of(tx, file.content), packed)

        wanted = await means.db.read(look)
        if wanted is None:
            raise CallerError.missing("indexed file")
        result = await anyio.to_thread.run_sync(partial(self._read, wanted, address, params))
        if result.state in {"changed", "gone"}:
            now = means.clock.now()

            def hurry(tx: Tx) -> None:
                hurry_files(tx, [wanted.file.id], now)
                means.jobs.enqueue(tx, "scan", wanted.known.collection_id)

            await means.db.jot(hurry)
        return result

    @staticmethod
    def _address(params: KnowledgeReadParams) -> Address:
        if params.address is not None:
            address = read_address(params.address)
            if address is None:
                raise CallerError.at("$.address", "This is no address of a file")
            return address
        if params.collection_id is None or params.path is None:
            raise CallerError.at("$.address", "Name an address, or a collection and a path")
        return Address(params.collection_id, params.path)

    def _read(self, wanted: _Wanted, address: Address, params: KnowledgeReadParams) -> KnowledgeReadResult:
        file = wanted.file
        try:
            with self._means.open_root(wanted.known.path) as root, root.open_file(file.path) as opened:
                if CurrentRules([wanted.known]).leave_out(root, wanted.known.id, file.path):
                    raise CallerError.missing("indexed file")
                data = self._bytes_of(opened, wanted)
                changed_at = os.fstat(opened.fileno()).st_mtime_ns // 1_000_000
        except (UnsafeFileError, OSError):
            return KnowledgeReadResult(
                text="",
                collection_id=wanted.known.collection_id,
                path=file.path,
                from_line=0,
                to_line=0,
                total_lines=0,
                next_line=None,
                sha256=None,
                changed_at=None,
                state="gone",
                masked=False,
                outline=[],
            )
        encoding = file.encoding or "utf-8"
        text = decode_part(data, encoding)
        if file.kind == "markdown" and is_opted_out(text):
            raise CallerError.missing("indexed file")
        starts = line_starts(text) if text else []
        outline = [
            OutlineEntry(heading=self._means.scanner.mask(one.heading), level=one.level, from_line=one.from_line)
            for one in (find_outline(_lines(text, starts)) if file.kind == "markdown" else ())
        ]
        place = self._place(wanted, address, params, data, encoding, outline)
        last = min(place.last, len(starts))
        first = min(place.first, max(1, len(starts)))
        end = starts[last] if last < len(starts) else len(text)
        begin = starts[first - 1] if starts else 0
        if place.piece is not None:  # an address gives back what was shown with it, to the letter
            begin, end = (len(decode_part(data[:byte], encoding)) for byte in place.piece)
        cut = min(end, begin + params.max_chars)
        if cut < end:  # whole lines, unless the first one alone is too long
            inner = starts[bisect_right(starts, cut) - 1]
            cut = inner if inner > begin else cut
        shown_to = bisect_right(starts, max(begin, cut - 1)) if starts else 0
        masked = self._mask_part(text, begin, cut)
        line_end = min(end, starts[shown_to] if shown_to < len(starts) else len(text))
        return KnowledgeReadResult(
            text=masked,
            collection_id=wanted.known.collection_id,
            path=file.path,
            from_line=first,
            to_line=shown_to,
            total_lines=len(starts),
            next_line=_next_line(starts, first, cut, len(text)),
            sha256=file.sha256.hex() if file.kind == "pdf" and file.sha256 else hashlib.sha256(data).hexdigest(),
            changed_at=changed_at,
            state=place.state,
            masked=masked != text[begin:cut],
            outline=outline,
            cut_chars=max(0, line_end - cut),
        )

    def _bytes_of(self, opened: BinaryIO, wanted: _Wanted) -> bytes:
        """Return the bytes of a file; of a PDF its text, if the file did not change. Raises `UnsafeFileError`."""
        settings = self._means.settings()
        if wanted.file.kind != "pdf":
            return read_range(opened, 0, settings.max_file_bytes)
        text = unpack_text(wanted.packed)
        if text is None or digest_of_file(opened) != wanted.file.sha256:
            raise UnsafeFileError("unreadable")  # it is read again first
        return text

    def _mask_part(self, text: str, begin: int, end: int) -> str:
        """Return a part without credentials and context blocks of ours, also those that its edges cut."""
        parts = find_hidden(self._means.scanner.find(text), find_blocks(text))
        return replace_parts(parts, begin, end, lambda start, stop: text[start:stop])

    def _place(
        self,
        wanted: _Wanted,
        address: Address,
        params: KnowledgeReadParams,
        data: bytes,
        encoding: str,
        outline: Sequence[OutlineEntry],
    ) -> _Place:
        first, last = 1, LINES_SHOWN
        state: ReadState = "same"
        piece: tuple[int, int] | None = None
        if address.anchor is not None:
            first, last = _section(address.anchor, outline)
        elif address.from_line is not None:
            first, last = address.from_line, address.to_line or address.from_line
        if address.text_hash is not None:
            first, last, state, piece = self._find(wanted.pieces, address, data, encoding)
        if params.from_line is not None:
            first, last, piece = params.from_line, params.to_line or params.from_line + LINES_SHOWN, None
        elif params.to_line is not None:
            last, piece = params.to_line, None
        return _Place(first, max(first, last), state, piece)

    def _find(self, pieces: Sequence[PlacedPiece], address: Address, data: bytes, encoding: str) -> _Place:
        """Return where the piece of an address stands now."""
        known = [one for one in pieces if one.text_hash.hex()[:HASH_DIGITS] == address.text_hash]
        sizes = {one.to_byte - one.from_byte for one in known}
        first, last = address.from_line or 1, address.to_line or 1
        known.sort(key=lambda one: (one.from_line, one.to_line) != (first, last))  # of equal pieces, the one meant
        for one in known:
            if hash_of(self._means, data[one.from_byte : one.to_byte]) == one.text_hash:
                is_same = (one.from_line, one.to_line) == (first, last)
                state: ReadState = "same" if is_same else "moved"
                return _Place(one.from_line, one.to_line, state, (one.from_byte, one.to_byte))
        starts = [0, *(place + 1 for place, byte in enumerate(data) if byte == 0x0A)]
        for size in sizes:
            for line, start in enumerate(starts, 1):
                part = data[start : start + size]
                if len(part) == size and hash_of(self._means, part).hex()[:HASH_DIGITS] == address.text_hash:
                    return _Place(line, line + last - first, "moved", (start, start + size))
        is_there = self._is_by_lines(address, data, encoding)
        return _Place(first, last, "same" if is_there else "changed")

    def _is_by_lines(self, address: Address, data: bytes, encoding: str) -> bool:
        """Return whether the very lines of an address say what it was made of: its piece may be cut otherwise now."""
        text = decode_part(data, encoding)
        starts = line_starts(text) if text else []
        first, last = address.from_line or 1, address.to_line or 1
        if not starts or last > len(starts):
            return False
        end = starts[last] if last < len(starts) else len(text)
        part = text[starts[first - 1] : end].encode(encoding, "replace")
        return hash_of(self._means, part).hex()[:HASH_DIGITS] == address.text_hash


def _lines(text: str, starts: Sequence[int]) -> list[str]:
    return [text[start:end] for start, end in pairwise([*starts, len(text)])]


def _next_line(starts: Sequence[int], first: int, cut: int, whole: int) -> int | None:
    """Return the line that a reading from `first` to a place goes on with, None at the end of the text.

    A line that was cut is begun again, unless the reading began with it: else it would never end.
    """
    line = max(first + 1, bisect_right(starts, cut))
    return line if cut < whole and line <= len(starts) else None


def _section(anchor: str, outline: Sequence[OutlineEntry]) -> tuple[int, int]:
    """Return the lines of the section that an anchor names. Raises `CallerError` where there is none."""
    above = Counter[str]()
    for place, entry in enumerate(outline):
        slug = slug_of(entry.heading)
        if is_anchor_of(anchor, entry.heading, above[slug]):
            ends = (one.from_line - 1 for one in outline[place + 1 :] if one.level <= entry.level)
            return entry.from_line, next(ends, 2**31)
        above[slug] += 1
    raise CallerError.missing("heading in that file")
