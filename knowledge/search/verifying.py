"""Verification of pieces on the disk: a piece is shown only where its file has it at this moment.

Rule 1: a piece is read by its byte range and compared by its keyed hash; else it is searched for in the whole file.
Rule 2: a piece that is not found is dropped, and its file is noted as stale.
Rule 3: folders of collections are opened once for a search, and closed with it.
"""

import hashlib
from collections.abc import Callable, Mapping, Sequence
from typing import BinaryIO, NamedTuple, Self

import msgspec

from knowledge.index.hidden import decode_part, mask_hidden, parts_of
from knowledge.index.judging import FRONT_CHARS, FRONT_EDGE, is_opted_out
from knowledge.rows.contents import FoundPiece, unpack_text
from knowledge.rows.files import ContentPlace
from knowledge.walk.current_rules import CurrentRules
from protocol.seams.safe_files import SafeRoot, UnsafeFileError, read_up_to

REREAD_BYTES = 256 * 1024
"""The most bytes of a file that is searched for a piece that moved within it."""

HashOf = Callable[[bytes], bytes]


class ShownPiece(NamedTuple):
    """A verified piece: its text, its present lines, the headings above it, and the places that have it."""

    text: str
    from_line: int
    to_line: int
    headings: list[str]
    places: list[ContentPlace]


class Disk:
    """The present files of collections, for one search; a context manager."""

    def __init__(
        self,
        open_root: Callable[[str], SafeRoot],
        hash_of: HashOf,
        rules: CurrentRules,
        packed: Mapping[int, bytes],
    ) -> None:
        """`packed` are the compressed texts of PDF files, by the rows of their contents."""
        self._open_root = open_root
        self._hash_of = hash_of
        self._rules = rules
        self._packed = packed
        self._texts: dict[int, bytes | None] = {}
        self._digests: dict[tuple[str, str], bytes] = {}
        self._roots: dict[str, SafeRoot | None] = {}
        self.stale: set[int] = set()
        """Rows of files that changed since they were indexed, or are left out at present."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_problem: object) -> None:
        for root in self._roots.values():
            if root is not None:
                root.close()

    def _open_collection(self, path: str) -> SafeRoot | None:
        if path not in self._roots:
            try:
                self._roots[path] = self._open_root(path)
            except UnsafeFileError:
                self._roots[path] = None
        return self._roots[path]

    def show(self, piece: FoundPiece, places: Sequence[ContentPlace]) -> ShownPiece | None:
        """Return a piece as it stands in the first of its places that still has it; None where none does."""
        shown: ShownPiece | None = None
        kept: list[ContentPlace] = []
        for place in places:
            found = self._read_at(piece, place)
            if found is None:
                self.stale.add(place.file)
                continue
            shown = shown or found
            kept.append(place)
        return shown._replace(places=kept) if shown is not None else None

    def _read_at(self, piece: FoundPiece, place: ContentPlace) -> ShownPiece | None:
        """Return a piece as its file at one place has it; None where it has not, or may not be shown at present."""
        root = self._open_collection(place.root)
        if root is None or self._rules.leave_out(root, place.collection, place.path):
            return None
        try:
            with self._rules.open_file(root, place.collection, place.path) as file:
                if piece.kind == "markdown" and _has_opted_out(file, piece.encoding):
                    return None
                return self._read_pdf(file, piece, place) if piece.kind == "pdf" else self._read(file, piece)
        except (UnsafeFileError, OSError):
            return None

    def _read_pdf(self, file: BinaryIO, piece: FoundPiece, place: ContentPlace) -> ShownPiece | None:
        """Return a piece of a PDF; None unless the file's digest is the indexed one."""
        key = (place.root, place.path)
        if key not in self._digests:
            self._digests[key] = digest_of_file(file)
        text = self._text_of(piece.content)
        if self._digests[key] != piece.sha256 or text is None:
            return None
        said = text[piece.from_byte : piece.to_byte]
        if self._hash_of(said) != piece.text_hash:
            return None
        return ShownPiece(decode_part(said, "utf-8"), piece.from_line, piece.to_line, [], [])

    def _text_of(self, content: int) -> bytes | None:
        """Return the text of a PDF, which is decompressed for the first of its pieces."""
        if content not in self._texts:
            self._texts[content] = unpack_text(self._packed.get(content))
        return self._texts[content]

    def _read(self, file: BinaryIO, piece: FoundPiece) -> ShownPiece | None:
        size = piece.to_byte - piece.from_byte
        data = read_range(file, piece.from_byte, size)
        if self._hash_of(data) == piece.text_hash:
            ranges = msgspec.json.decode(piece.headings, type=list[tuple[int, int]])
            headings = [decode_part(read_range(file, start, end - start), piece.encoding) for start, end in ranges]
            return ShownPiece(_mask_piece(data, piece), piece.from_line, piece.to_line, headings, [])
        whole = read_range(file, 0, REREAD_BYTES + 1)
        if len(whole) > REREAD_BYTES:
            return None
        start = find_piece(whole, size, piece.text_hash, self._hash_of)
        if start is None:
            return None
        from_line = count_lines(whole[:start], piece.encoding) + 1
        text = _mask_piece(whole[start : start + size], piece)
        return ShownPiece(text, from_line, from_line + piece.to_line - piece.from_line, [], [])


def _mask_piece(data: bytes, piece: FoundPiece) -> str:
    """Return the text of a piece with marks for its hidden parts, which lie as they were indexed even if it moved."""
    return mask_hidden(data, piece.from_byte, parts_of(piece.hidden), piece.encoding)


def _has_opted_out(file: BinaryIO, encoding: str) -> bool:
    """Return whether a note opts out at present: it may do so since it was indexed, also while it waits to be read."""
    if FRONT_EDGE not in decode_part(read_range(file, 0, 16), encoding):
        return False
    return is_opted_out(decode_part(read_range(file, 0, 4 * FRONT_CHARS), encoding))


def find_piece(data: bytes, size: int, text_hash: bytes, hash_of: HashOf) -> int | None:
    """Return the offset of a piece of that size and hash, at the beginning of a line; None where there is none."""
    start = 0
    while 0 <= start <= len(data) - size:
        if hash_of(data[start : start + size]) == text_hash:
            return start
        start = data.find(b"\n", start) + 1 or -1
    return None


def digest_of_file(file: BinaryIO) -> bytes:
    """Return the SHA-256 of a whole file."""
    digest = hashlib.sha256()
    file.seek(0)
    while part := file.read(1024 * 1024):
        digest.update(part)
    return digest.digest()


def read_range(file: BinaryIO, start: int, size: int) -> bytes:
    """Return `size` bytes of a file from `start` on, fewer where it ends."""
    file.seek(start)
    return read_up_to(file, size)


def count_lines(data: bytes, encoding: str) -> int:
    """Return the number of line ends in a part of a file; CR LF is one."""
    text = decode_part(data, encoding)
    return text.count("\n") + text.count("\r") - text.count("\r\n")
