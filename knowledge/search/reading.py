"""`knowledge/read`: the present lines of an indexed file, and the state of the place that was asked for.

Rule 1: only an indexed file can be read; everything else is not found, whatever lies on the disk.
Rule 2: a place is found again by its hash, also after its file moved. Where it is not, the present lines are returned
with the state `changed`.
Rule 3: for lines that a file does not have, no others are returned.
"""

import hashlib
import os
from bisect import bisect_right
from collections import Counter
from collections.abc import Sequence
from contextlib import suppress
from functools import partial
from itertools import pairwise
from typing import NamedTuple

import anyio.to_thread
import msgspec
from msgspec import Struct

from knowledge.index.cutting import line_starts
from knowledge.index.hidden import decode_part, find_hidden, has_mark, replace_parts
from knowledge.index.judging import is_opted_out
from knowledge.index.reading import hash_of
from knowledge.ports import KnowledgeMeans
from knowledge.rows.contents import PlacedPiece, pieces_of
from knowledge.rows.files import hurry_files
from knowledge.scan.roots import reason_of_loss
from knowledge.search.addresses import HASH_DIGITS, Address, is_anchor_of, read_address, resembles_lines, slug_of
from knowledge.search.outline import find_outline
from knowledge.search.readable_files import ReadableFile, locate, read_bytes
from knowledge.search.visible import visible_collections
from knowledge.walk.current_rules import CurrentRules
from promt.own_blocks import find_blocks
from protocol.errors import CallerError, Unavailable
from protocol.files.knowledge import KnowledgeReadParams, KnowledgeReadResult, OutlineEntry, ReadState
from protocol.hooks import TurnContext
from protocol.seams.ports import Tx
from protocol.seams.safe_files import SafeRoot, UnsafeFileError

DELETED = frozenset({"missing", "link", "not_regular"})
"""Refusals to open a file by which it is not there any more; after any other it may be readable later."""
LINES_SHOWN = 400
"""Lines that are returned of a file's beginning where no lines are asked for."""


class _Wanted(Struct, frozen=True):
    """A file to be read, with the places of its pieces."""

    place: ReadableFile
    pieces: list[PlacedPiece]


class _AddressedFiles(Struct, frozen=True):
    """The file that an address means, other files that may hold its piece, and whether the file was deleted."""

    current: _Wanted | None
    earlier: list[_Wanted]
    is_gone: bool


class _Place(NamedTuple):
    """Lines from 1, and the state of the place that was asked for."""

    first: int
    last: int
    state: ReadState
    piece: tuple[int, int] | None = None
    """The range in bytes of the piece that an address means, if it was found; it may begin and end within a line."""


class PlaceReader:
    """Answers `knowledge/read`."""

    def __init__(self, means: KnowledgeMeans) -> None:
        self._means = means

    async def read(self, params: KnowledgeReadParams, turn: TurnContext | None = None) -> KnowledgeReadResult:
        """Return the lines of a place, for a client or for the tool of a turn.

        Raises `CallerError` for a file that is not indexed or not visible here, and `Unavailable` for one that cannot
        be opened at present.
        """
        address = self._address_of(params)
        means = self._means

        def look(tx: Tx) -> _AddressedFiles | None:
            visible = {known.collection_id: known for known in visible_collections(tx, means, params.context, turn)}
            known = visible.get(address.collection_id)
            if known is None:
                return None
            there = locate(tx, known, address.path)
            current, *earlier = [
                _Wanted(one, pieces_of(tx, one.content)) if one is not None else None
                for one in (there.current, *(there.earlier if address.text_hash is not None else ()))
            ]
            return _AddressedFiles(current, [one for one in earlier if one is not None], there.is_gone)

        found = await means.db.read(look)
        if found is None:
            raise CallerError.missing("indexed file")
        try:
            result = await anyio.to_thread.run_sync(partial(self._read_first, found, address, params))
        except Unavailable:
            await means.db.jot(lambda tx: means.jobs.enqueue(tx, "scan", address.collection_id))
            raise
        if found.current is not None:
            file, now = found.current.place, means.clock.now()
            is_changed = result.state == "changed" or result.sha256 is None

            def hurry(tx: Tx) -> None:
                if is_changed:
                    hurry_files(tx, [file.file.id], now)
                means.jobs.enqueue(tx, "scan", file.known.collection_id)

            if is_changed or file.known.state == "unavailable":  # which is back, as it could be read
                await means.db.jot(hurry)
        return result

    def _read_first(self, found: _AddressedFiles, address: Address, params: KnowledgeReadParams) -> KnowledgeReadResult:
        """Return the place in the file that an address means, or in the first of the others that has its piece."""
        result = self._read(found.current, address, params) if found.current is not None else None
        if result is not None and result.state not in {"changed", "gone"}:
            return result
        for one in found.earlier:
            with suppress(CallerError, Unavailable):  # a pattern leaves it out at present, or it cannot be opened
                other = self._read(one, address, params)
                if other.state in {"same", "moved"}:
                    return other
        if result is None and found.is_gone:
            return _build_gone(address.collection_id, address.path)
        if result is None:
            raise CallerError.missing("indexed file")
        return result

    @staticmethod
    def _address_of(params: KnowledgeReadParams) -> Address:
        """Return the address that the parameters name. Raises `CallerError` where they name none, or two."""
        if params.address is not None:
            address = read_address(params.address)
            if address is None:
                raise CallerError.at("$.address", "This is no address of a file")
            for name, given in (("collection_id", params.collection_id), ("path", params.path)):
                if given is not None and given != getattr(address, name):
                    raise CallerError.at(f"$.{name}", "The address names another one")
            return address
        if params.collection_id is None or params.path is None:
            raise CallerError.at("$.address", "Name an address, or a collection and a path")
        return Address(params.collection_id, params.path)

    def _read(self, wanted: _Wanted, address: Address, params: KnowledgeReadParams) -> KnowledgeReadResult:
        """Return the place in one file; `gone` where the file is deleted.

        Raises `CallerError` where it is left out, and `Unavailable` where it, or its folder, cannot be opened now.
        """
        known, file = wanted.place.known, wanted.place.file
        with _open_collection(self._means, known.path) as root:
            try:
                rules = CurrentRules([known], self._means.settings())
                with rules.open_file(root, known.id, file.path) as opened:
                    if rules.leave_out(root, known.id, file.path):
                        raise CallerError.missing("indexed file")
                    data = read_bytes(self._means, opened, wanted.place)
                    changed_at = os.fstat(opened.fileno()).st_mtime_ns // 1_000_000
            except (UnsafeFileError, OSError) as error:
                reason = error.reason if isinstance(error, UnsafeFileError) else "unreadable"
                if reason not in DELETED:
                    raise _build_unavailable("file", reason) from None
                if not _has_entries(root):
                    raise _build_unavailable("collection", "root_empty") from None
                return _build_gone(known.collection_id, file.path)
        encoding = file.encoding or "utf-8"
        text = decode_part(data, encoding)
        if file.kind == "markdown" and is_opted_out(text):
            raise CallerError.missing("indexed file")
        starts = line_starts(text) if text else []
        outline = [
            OutlineEntry(heading=self._means.scanner.mask(one.heading), level=one.level, from_line=one.from_line)
            for one in (find_outline(_split_lines(text, starts)) if file.kind == "markdown" else ())
        ]
        place = self._find_place(wanted, address, params, data, encoding, outline)
        sha256 = file.sha256.hex() if file.kind == "pdf" and file.sha256 else hashlib.sha256(data).hexdigest()
        first, last = place.first, min(place.last, len(starts))
        if first > max(1, len(starts)):
            return msgspec.structs.replace(
                _build_gone(known.collection_id, file.path),
                state="changed" if place.state == "changed" else "gone",
                total_lines=len(starts),
                sha256=sha256,
                changed_at=changed_at,
                outline=outline,
            )
        end = starts[last] if last < len(starts) else len(text)
        begin = starts[first - 1] if starts else 0
        if place.piece is not None:  # the exact text that a search showed with the address
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
            collection_id=known.collection_id,
            path=file.path,
            from_line=first,
            to_line=shown_to,
            total_lines=len(starts),
            next_line=_next_line(starts, first, cut, len(text)),
            sha256=sha256,
            changed_at=changed_at,
            state="moved" if place.state == "same" and file.path != address.path else place.state,
            masked=masked != text[begin:cut] or (file.kind == "pdf" and has_mark(masked)),
            outline=outline,
            cut_chars=max(0, line_end - cut),
        )

    def _mask_part(self, text: str, begin: int, end: int) -> str:
        """Return a part of a text with marks for credentials and our own blocks, also for those that its edges cut."""
        parts = find_hidden(self._means.scanner.find(text), find_blocks(text))
        return replace_parts(parts, begin, end, lambda start, stop: text[start:stop])

    def _find_place(
        self,
        wanted: _Wanted,
        address: Address,
        params: KnowledgeReadParams,
        data: bytes,
        encoding: str,
        outline: Sequence[OutlineEntry],
    ) -> _Place:
        """Return the lines that address and parameters mean; the parameters' lines win. Raises `CallerError`."""
        first, last = 1, LINES_SHOWN
        state: ReadState = "same"
        piece: tuple[int, int] | None = None
        if address.anchor is not None:
            first, last = _find_section(address.anchor, outline)
        elif address.from_line is not None:
            first, last = address.from_line, address.to_line or address.from_line
        if address.text_hash is not None:
            first, last, state, piece = self._find_piece(wanted.pieces, address, data, encoding)
        if params.from_line is not None:
            first, last, piece = params.from_line, params.to_line or params.from_line + LINES_SHOWN, None
        elif params.to_line is not None:
            last, piece = params.to_line, None
        if last < first:
            raise CallerError.at("$.to_line", "That is before the first line")
        return _Place(first, last, state, piece)

    def _find_piece(self, pieces: Sequence[PlacedPiece], address: Address, data: bytes, encoding: str) -> _Place:
        """Return the present place of an address's piece: where it was indexed, else elsewhere, else its lines."""
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
        """Return whether the lines of an address have its hash, though no indexed piece has these bounds any more."""
        text = decode_part(data, encoding)
        starts = line_starts(text) if text else []
        first, last = address.from_line or 1, address.to_line or 1
        if not starts or last > len(starts):
            return False
        end = starts[last] if last < len(starts) else len(text)
        part = text[starts[first - 1] : end].encode(encoding, "replace")
        return hash_of(self._means, part).hex()[:HASH_DIGITS] == address.text_hash


def _open_collection(means: KnowledgeMeans, path: str) -> SafeRoot:
    """Return the opened folder of a collection. Raises `Unavailable`."""
    try:
        return means.open_root(path)
    except UnsafeFileError as error:
        raise _build_unavailable("collection", reason_of_loss(error)) from None


def _build_unavailable(what: str, reason: str) -> Unavailable:
    return Unavailable("unavailable", f"The {what} is unavailable: {reason}", details={"reason": reason})


def _has_entries(root: SafeRoot) -> bool:
    """Return whether a folder holds anything: an empty one may be the place of a drive that is not there."""
    try:
        return bool(root.list_folder(""))
    except UnsafeFileError:
        return False


def _build_gone(collection_id: str, path: str) -> KnowledgeReadResult:
    """Return the answer for a file that cannot be read: no lines, state `gone`."""
    return KnowledgeReadResult(
        text="",
        collection_id=collection_id,
        path=path,
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


def _split_lines(text: str, starts: Sequence[int]) -> list[str]:
    return [text[start:end] for start, end in pairwise([*starts, len(text)])]


def _next_line(starts: Sequence[int], first: int, cut: int, whole: int) -> int | None:
    """Return the line with which to go on after lines from `first` up to the offset `cut`; None at the end of the text.

    A line that was cut is read again from its beginning, unless it is `first` itself: that would never end.
    """
    line = max(first + 1, bisect_right(starts, cut))
    return line if cut < whole and line <= len(starts) else None


def _find_section(anchor: str, outline: Sequence[OutlineEntry]) -> tuple[int, int]:
    """Return the lines of the section that an anchor names. Raises `CallerError` where there is none."""
    place = _find_heading(anchor, outline, range(len(outline)))
    if place is None and resembles_lines(anchor):
        problem = "Neither a heading of the file nor lines, which are written `#L12-L30` or `#L12-L30~9f2c4e1a`"
        raise CallerError.at("$.address", problem)
    if place is None:
        raise CallerError.missing("heading in that file")
    end = _end_of_section(outline, place)
    return outline[place].from_line, outline[end].from_line - 1 if end < len(outline) else 2**31


def _find_heading(anchor: str, outline: Sequence[OutlineEntry], within: range) -> int | None:
    """Return the index of the heading that an anchor names; of `Heading#Heading below it`, the last one's."""
    above = Counter[str]()
    for place in within:
        heading = outline[place].heading
        slug = slug_of(heading)
        if is_anchor_of(anchor, heading, above[slug]):
            return place
        above[slug] += 1
    outer, sign, inner = anchor.partition("#")
    place = _find_heading(outer, outline, within) if sign else None
    if place is None:
        return None
    return _find_heading(inner, outline, range(place + 1, _end_of_section(outline, place)))


def _end_of_section(outline: Sequence[OutlineEntry], place: int) -> int:
    """Return the index of the first heading behind the one at `place` that is not below it."""
    level = outline[place].level
    return next((n for n in range(place + 1, len(outline)) if outline[n].level <= level), len(outline))
