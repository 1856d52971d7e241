"""Vectors of pieces: those that are missing are made of the files' present bytes.

Rule 1: the home keeps no text of files but that of PDF: a piece is read from its file, whose digest must be the indexed
one.
Rule 2: the model gets the headings above a piece and its words, without credentials and blocks of the gateway.
Rule 3: a text that has a vector, or had one in a piece that left, is not given to the model again.
"""

import hashlib
from collections.abc import Callable, Mapping, Sequence

import anyio.to_thread
import msgspec

from knowledge.index.hidden import blank_hidden
from knowledge.ports import SUBJECT
from knowledge.rows.contents import read_packed_text, unpack_text
from knowledge.rows.files import ContentPlace, places_of
from knowledge.rows.vectors import (
    FILLING,
    LackingPiece,
    add_vector,
    find_vectors_of_texts,
    lacking_pieces,
    refuse_vector,
    settle_vector,
)
from protocol.seams.ports import JobHandle, JobQueue, KeyedHash, Meaning, Space, SqlValue, Transact, Tx
from protocol.seams.safe_files import SafeRoot, UnsafeFileError, read_up_to
from retrieval.filling import Made, VectorFilling
from retrieval.packing import HASH_BYTES, as_bytes
from retrieval.rows.embedding_cache import drop_left_in_space

TEXT_DOMAIN = "embedded_text"


class PieceVectors(VectorFilling[LackingPiece]):
    """The vectors that this house holds."""

    def __init__(
        self, *, db: Transact, jobs: JobQueue, meaning: Meaning, keyed: KeyedHash, open_root: Callable[[str], SafeRoot]
    ) -> None:
        super().__init__(db=db, jobs=jobs, meaning=meaning, statements=FILLING, subject=SUBJECT)
        self._keyed = keyed
        self._open_root = open_root
        self._newest = 0
        self._hashes: dict[int, bytes] = {}
        self._last: dict[tuple[int, bytes], bytes] = {}
        """The bytes of the content that was read last; the next batch begins with the rest of its pieces."""

    def are_made(self) -> bool:
        """Return whether new pieces get vectors: a model is loaded, or will be."""
        return self._meaning.state() != "off"

    async def fill(self, handle: JobHandle | None = None) -> None:
        """Make the missing vectors, those of the newest pieces first. This handles `embed` jobs."""
        self._newest = 0
        try:
            await super().fill(handle)
        finally:
            self._last = {}

    def drop(self, tx: Tx, space: Space, limit: int) -> int:
        """Remove some of the space's vectors, first those kept of pieces that left; return their number."""
        return drop_left_in_space(tx, space.id) or super().drop(tx, space, limit)

    def rows_of(self, tx: Tx, statement: str, values: Mapping[str, SqlValue]) -> list[LackingPiece]:
        """Return the pieces that a statement finds; new ones since the last call come first."""
        if statement != FILLING.pending:
            return lacking_pieces(tx, statement, values)
        rows = lacking_pieces(tx, statement, {**values, "newest": self._newest})
        self._newest = max([self._newest, *(one.row for one in rows)])
        return rows

    async def texts_of(self, rows: Sequence[LackingPiece]) -> list[str | None]:
        """Return the text of each piece with the headings above it; None where no file has those bytes any more."""
        wanted = {one.content: one.kind for one in rows if (one.content, one.sha256) not in self._last}

        def look(tx: Tx) -> tuple[dict[int, list[ContentPlace]], dict[int, bytes | None]]:
            places = {content: places_of(tx, content) for content, kind in wanted.items() if kind != "pdf"}
            return places, {content: read_packed_text(tx, content) for content, kind in wanted.items() if kind == "pdf"}

        places, packed = await self._db.read(look)
        return await anyio.to_thread.run_sync(self._texts, rows, places, packed)

    def _texts(
        self,
        rows: Sequence[LackingPiece],
        places: Mapping[int, Sequence[ContentPlace]],
        packed: Mapping[int, bytes | None],
    ) -> list[str | None]:
        texts: list[str | None] = []
        data: dict[tuple[int, bytes], bytes | None] = {**self._last}
        self._last = {}
        for one in rows:
            key = (one.content, one.sha256)
            if key not in data:
                is_kept = one.content in packed
                data[key] = unpack_text(packed[one.content]) if is_kept else self._read(one, places[one.content])
            said = data[key]
            texts.append(build_embedded_text(one, said) if said is not None else None)
            self._last = {key: said} if said is not None else {}
        return texts

    def _read(self, piece: LackingPiece, places: Sequence[ContentPlace]) -> bytes | None:
        """Return the bytes of a content from the first of its files whose digest still fits; None if none does."""
        for place in places:
            try:
                with self._open_root(place.root) as root, root.open_file(place.path) as file:
                    data = read_up_to(file, piece.size + 1)  # no more of one that has grown since
            except (UnsafeFileError, OSError):
                continue
            if hashlib.sha256(data).digest() == piece.sha256:
                return data
        return None

    async def find_known_vectors(self, space: Space, texts: Sequence[tuple[LackingPiece, str]]) -> Mapping[int, bytes]:
        """Return the vectors, by hash of the text, that any piece has or had for one of the texts."""
        hashes = [self._keyed.digest(TEXT_DOMAIN, text)[:HASH_BYTES] for _, text in texts]
        self._hashes = {one.row: text_hash for (one, _), text_hash in zip(texts, hashes, strict=True)}
        return await self._db.read(lambda tx: find_vectors_of_texts(tx, space.id, hashes))

    def keep_made(self, tx: Tx, space: Space, made: Sequence[Made[LackingPiece]], *, is_searched: bool) -> None:
        """Keep the vectors. A piece never changes, and one that is gone meanwhile takes none."""
        for one, numbers in made:
            if numbers is None:
                refuse_vector(tx, one.row)
                continue
            small = numbers if len(numbers) == space.dim else as_bytes(numbers)
            add_vector(tx, space.id, one.row, self._hashes[one.row], small)
            if is_searched:
                settle_vector(tx, one.row)


def build_embedded_text(piece: LackingPiece, data: bytes) -> str:
    """Return the text that the model gets for a piece, made of the bytes of its content."""
    above = [
        blank_hidden(data, start, end, piece.hidden, piece.encoding).strip()
        for start, end in msgspec.json.decode(piece.headings, type=list[tuple[int, int]])
    ]
    text = blank_hidden(data, piece.from_byte, piece.to_byte, piece.hidden, piece.encoding).strip()
    return "\n".join([*([" > ".join(above)] if above else []), text])
