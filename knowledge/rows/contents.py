"""Rows of contents and their pieces, with their full-text rows.

Rule 1: a piece and its full-text row are added and removed together, by this module alone.
Rule 2: of a text only ranges, a keyed hash and its sorted terms are stored; of a PDF its text as well.
"""

import json
import zlib
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from itertools import groupby, islice
from operator import itemgetter
from typing import Literal, NamedTuple, TypeAlias

import msgspec
from msgspec import Struct

from knowledge.rows.references import drop_references
from knowledge.rows.statements import SQL
from knowledge.rows.vectors import cache_vectors_of, drop_vectors_of
from protocol.seams.ports import SqlValue, Tx
from retrieval.packing import pack, unpack

MATCH_CAP = 20_000
"""The most rows that are read of one term, the newest first."""


def entry(owner: int, terms: str) -> str:
    """Return terms as the full-text index has them: each with its owner, so that a search reads its own rows alone."""
    marked = f" w{owner}·"
    return marked.join(["", *dict.fromkeys(terms.split())])[1:]


FullText: TypeAlias = Literal["words", "card"]
"""A full-text table: that of pieces, or that of the names of files (a file's card)."""


class _Statements(Struct, frozen=True):
    """The statements of a full-text table; `there` returns those of some rows that it has."""

    there: str
    add: str
    remove: str


_FULL_TEXT: Mapping[FullText, _Statements] = {
    "words": _Statements(SQL["words_there"], SQL["add_words"], SQL["remove_words"]),
    "card": _Statements(SQL["cards_there"], SQL["add_card"], SQL["remove_card"]),
}


_EMPTYING: Sequence[tuple[FullText, str, str]] = (
    ("words", SQL["words_of_others"], SQL["empty_words"]),
    ("card", SQL["cards_of_others"], SQL["empty_cards"]),
)
"""Full-text tables with the statements that find the rows of collections that stay, and that empty the table."""


class WordChange(Struct, frozen=True):
    """A change of a full-text row: it is added, removed, added if it is missing, or gets terms other than `before`."""

    row: int
    body: str
    how: Literal["add", "remove", "keep", "exchange"]
    before: str = ""


class WordChanges:
    """Changes of full-text rows that a transaction collects and makes at its end.

    SQLite flushes a full-text table's pending rows into a new segment before each statement that changes several rows,
    of any table, and could fail midway. Made together at the end, they are one segment.
    """

    def __init__(self) -> None:
        self._changes: dict[FullText, list[WordChange]] = {"words": [], "card": []}

    def add(self, table: FullText, row: int, body: str) -> None:
        """Note a row to be added."""
        self._changes[table].append(WordChange(row, body, "add"))

    def keep(self, table: FullText, row: int, body: str) -> None:
        """Note a row that should be there; it is added where it is not, as in a table that was lost and made anew."""
        self._changes[table].append(WordChange(row, body, "keep"))

    def exchange(self, table: FullText, row: int, before: str, body: str) -> None:
        """Note a row that gets other terms; those in both are not written again.

        To erase from one row a term that a hundred thousand rows have takes a tenth of a millisecond.
        """
        self._changes[table].append(WordChange(row, body, "exchange", before))

    def remove(self, table: FullText, row: int, body: str) -> None:
        """Note a row to be removed, if it is there."""
        self._changes[table].append(WordChange(row, body, "remove"))

    def store(self, tx: Tx) -> None:
        """Make the changes by ascending row, as a lower row would begin a new segment; those of one row as noted."""
        for table, statements in _FULL_TEXT.items():
            changes = sorted(self._changes[table], key=lambda one: one.row)
            asked = [one.row for one in changes if one.how != "add"]
            there = tx.all(statements.there, {"rows": json.dumps(asked)}) if asked else []
            present = {row for (row,) in there}
            steps: list[tuple[str, dict[str, SqlValue]]] = []
            for one in changes:
                if one.how == "remove":
                    if one.row in present:
                        steps.append((statements.remove, {"id": one.row, "body": one.body}))
                    present.discard(one.row)
                elif one.how == "exchange" and one.row in present:
                    gone, come = _list_exchanged(one.before.split(), one.body.split())
                    steps.append((statements.remove, {"id": one.row, "body": gone}))
                    steps.append((statements.add, {"id": one.row, "body": come}))
                elif one.how == "add" or one.row not in present:
                    steps.append((statements.add, {"id": one.row, "body": one.body}))
                    present.add(one.row)
            for statement, some in groupby(steps, key=itemgetter(0)):
                tx.run_many(statement, [values for _, values in some])
            self._changes[table].clear()


def _list_exchanged(before: list[str], after: list[str]) -> tuple[str, str]:
    """Return the terms that only the first list has, and those that only the second has."""
    old, new = set(before), set(after)
    return " ".join(term for term in before if term not in new), " ".join(term for term in after if term not in old)


class NewContent(NamedTuple):
    """The row of a content to be added; `left_from` is the first line without a piece, None where each has one.

    `left_pages` is the JSON of the runs of pages that were not read.
    """

    owner: int
    sha256: bytes
    kind: str
    encoding: str
    bytes: int
    lines: int
    left_from: int | None
    importance: float
    topics: str
    hidden: str
    left_pages: str = "[]"

    @property
    def is_partial(self) -> bool:
        """Return whether something of the file is left out."""
        return self.left_from is not None or self.left_pages != "[]"


class NewPiece(NamedTuple):
    """The row of a piece to be added."""

    from_byte: int
    to_byte: int
    from_line: int
    to_line: int
    headings: str
    text_hash: bytes
    terms: str
    page: int | None


class FoundPiece(Struct, frozen=True):
    """A piece as a search reads it."""

    id: int
    content: int
    position: int
    from_byte: int
    to_byte: int
    from_line: int
    to_line: int
    headings: str
    text_hash: bytes
    terms: bytes | None
    term_count: int
    owner: int
    encoding: str
    importance: float
    topics: str
    kind: str
    sha256: bytes
    hidden: str
    page: int | None

    def words(self) -> tuple[list[str], list[str]]:
        """Return its own terms, sorted and with repetitions, and those of the headings above it."""
        own, _, named = unpack(self.terms).partition("\n")
        return own.split(), named.split()


class PlacedPiece(Struct, frozen=True):
    """The place of a piece in its content."""

    position: int
    from_byte: int
    to_byte: int
    from_line: int
    to_line: int
    text_hash: bytes
    id: int


def find_content(tx: Tx, owner: int, sha256: bytes, kind: str) -> tuple[int, bool] | None:
    """Return a content's row, and whether something is left out of it; None where the index has no such content."""
    row = tx.one(SQL["find_content"], {"owner": owner, "sha256": sha256, "kind": kind})
    return (row[0], bool(row[1])) if row else None


def add_content(tx: Tx, content: NewContent, pieces: Sequence[NewPiece], words: WordChanges, text: str = "") -> int:
    """Store a content with its pieces, and note their full-text rows; return its row. `text` is that of a PDF."""
    row = tx.insert(SQL["add_content"], content._asdict() | {"pieces": len(pieces)})
    if text:
        tx.run(SQL["add_pdf_text"], {"content": row, "text": zlib.compress(text.encode())})
    first = tx.all(SQL["last_chunk"])[0][0] + 1
    chunks: list[dict[str, SqlValue]] = []
    for position, piece in enumerate(pieces):
        values: dict[str, SqlValue] = piece._asdict()
        chunks.append(
            values
            | {
                "id": first + position,
                "content": row,
                "position": position,
                "terms": pack(piece.terms),
                "term_count": len(piece.terms.partition("\n")[0].split()),
            }
        )
        if piece.terms:
            words.add("words", first + position, entry(content.owner, piece.terms))
    tx.run_many(SQL["add_chunk"], chunks)
    tx.run(SQL["add_pieces"], {"owner": content.owner, "count": len(chunks)})
    return row


def keep_words(tx: Tx, content: int, words: WordChanges) -> None:
    """Note the full-text rows that a content lacks, as one does whose collection is being removed."""
    for row, owner, terms, is_there in tx.all(SQL["terms_of_contents"], {"contents": json.dumps([content])}):
        if terms is not None and not is_there:
            words.keep("words", row, entry(owner, unpack(terms)))


class Leaving(Struct, frozen=True):
    """The collection whose last file of a content is gone, and the time; the content's vectors are kept for a while."""

    collection_id: str
    now: int


class DroppedRows(NamedTuple):
    """The numbers of removed pieces, full-text rows and vectors."""

    chunks: int = 0
    fts_rows: int = 0
    vectors: int = 0


def drop_unused(tx: Tx, contents: Collection[int], leaving: Leaving | None, words: WordChanges) -> DroppedRows:
    """Remove those of some contents that no file has any more.

    With `leaving` their vectors are kept in the cache for a while.
    """
    found = tx.all(SQL["unused_contents"], {"contents": json.dumps(list(contents))})
    unused = [content for (content,) in found]
    if not unused:
        return DroppedRows()
    named: dict[str, SqlValue] = {"contents": json.dumps(unused)}
    pieces = tx.all(SQL["terms_of_contents"], named)
    for row, owner, terms, is_there in pieces:
        if is_there and terms is not None:
            words.remove("words", row, entry(owner, unpack(terms)))
    if leaving is not None:
        for content in unused:
            cache_vectors_of(tx, content, leaving.collection_id, leaving.now)
    vectors = drop_vectors_of(tx, unused)
    drop_references(tx, unused)
    tx.run(SQL["remove_chunks"], named)
    tx.run(SQL["remove_contents"], named)
    for owner, count in Counter(piece[1] for piece in pieces).items():
        tx.run(SQL["add_pieces"], {"owner": owner, "count": -count})
    return DroppedRows(len(pieces), sum(piece[2] is not None for piece in pieces), vectors)


def drop_names(tx: Tx, owner: int, files: Sequence[int], words: WordChanges) -> tuple[int, set[int]]:
    """Note the removal of files' names; return the number of files with names, and the contents that files have."""
    rows = tx.all(SQL["cards_of_files"], {"rows": json.dumps(list(files))})
    named = [(row, card) for row, card, _ in rows if card is not None]
    for row, card in named:
        words.remove("card", row, entry(owner, unpack(card)))
    return len(named), {content for *_, content in rows if content is not None}


def empty_words(tx: Tx, most: int) -> None:
    """Empty the full-text tables where collections that stay have at most so many rows, and put those in again.

    To take each word of a removed collection out of the pages where it stands costs more than its first index did.
    """
    for table, others, empty in _EMPTYING:
        kept = tx.all(others, {"limit": most + 1})
        if len(kept) > most:
            continue
        words = WordChanges()
        for row, owner, terms in kept:
            words.add(table, row, entry(owner, unpack(terms)))
        tx.run(empty)
        words.store(tx)


def put_card(tx: Tx, file: int, owner: int, before: str, terms: str, words: WordChanges) -> int:
    """Store the terms of a file's names in place of those of `before`; return the number of removed full-text rows."""
    if before == terms:
        if terms:
            words.keep("card", file, entry(owner, terms))
        return 0
    tx.run(SQL["set_card"], {"id": file, "card": pack(terms)})
    _change_words(words, file, owner, before, terms)
    return int(bool(before))


def _change_words(words: WordChanges, file: int, owner: int, before: str, after: str) -> None:
    if before and after:
        words.exchange("card", file, entry(owner, before), entry(owner, after))
    elif before:
        words.remove("card", file, entry(owner, before))
    elif after:
        words.add("card", file, entry(owner, after))


class PathTerms(Struct, frozen=True):
    """The terms of the path that a file had, and of the one that it has now."""

    old: Sequence[str]
    new: Sequence[str]


def merge_cards(tx: Tx) -> None:
    """Make the index of names one segment: to take a term out of a row then costs a third of what it costs in many."""
    tx.run(SQL["merge_cards"])


def move_cards(tx: Tx, owner: int, moved: Mapping[int, PathTerms], words: WordChanges) -> dict[int, bytes | None]:
    """Exchange the terms of the old path for those of the new one in the index; return the cards to be stored."""
    cards: dict[int, bytes | None] = {}
    for file, card, _ in tx.all(SQL["cards_of_files"], {"rows": json.dumps(list(moved))}):
        before = unpack(card)
        kept = before.split()
        for term in moved[file].old:
            if term in kept:
                kept.remove(term)
        after = " ".join(sorted([*kept, *moved[file].new]))
        cards[file] = pack(after)
        _change_words(words, file, owner, before, after)
    return cards


def _rows(tx: Tx, statement: str, owners: Sequence[int], term: str) -> list[int]:
    match = " OR ".join(f'"w{owner}·{term}"' for owner in owners)
    found = tx.one(statement, {"match": match, "cap": MATCH_CAP})
    return msgspec.json.decode(found[0], type=list[int]) if found else []


def pieces_with(tx: Tx, owners: Sequence[int], term: str) -> list[int]:
    """Return the rows of the newest pieces of some owners that have a term, at most `MATCH_CAP`."""
    return _rows(tx, SQL["rows_with_term"], owners, term)


def cards_with(tx: Tx, owners: Sequence[int], term: str) -> list[int]:
    """Return the rows of the newest files of some owners whose names have a term, at most `MATCH_CAP`."""
    return _rows(tx, SQL["cards_with_term"], owners, term)


def read_pieces(tx: Tx, rows: Sequence[int], owners: Sequence[int]) -> dict[int, FoundPiece]:
    """Return pieces by row; those of other owners are left out."""
    values = {"rows": json.dumps(list(rows)), "owners": json.dumps(list(owners))}
    return {row[0]: FoundPiece(*row) for row in tx.all(SQL["chunks_by_row"], values)}


def first_pieces(tx: Tx, files: Sequence[int]) -> dict[int, int]:
    """Return the row of the first piece of each of some files, by the file's row."""
    return {file: piece for piece, file in tx.all(SQL["first_chunks_of_files"], {"rows": json.dumps(list(files))})}


def read_packed_text(tx: Tx, content: int) -> bytes | None:
    """Return the compressed text of a PDF, for `unpack_text`; None where there is none."""
    row = tx.one(SQL["get_pdf_text"], {"content": content})
    return row[0] if row is not None else None


def unpack_text(packed: bytes | None) -> bytes | None:
    """Return the text of a PDF in UTF-8; None where there is none, or it cannot be decompressed."""
    with suppress(zlib.error):
        return zlib.decompress(packed) if packed is not None else None
    return None


def read_packed_texts(tx: Tx, pieces: Iterable[FoundPiece], most: int) -> dict[int, bytes]:
    """Return by content the compressed texts of the first `most` PDF files among some pieces.

    `unpack_text` takes them. They stay compressed: most hits are not shown, and the text of a book takes megabytes.
    """
    contents = islice(dict.fromkeys(one.content for one in pieces if one.kind == "pdf"), most)
    return {content: packed for content in contents if (packed := read_packed_text(tx, content)) is not None}


def pieces_of(tx: Tx, content: int) -> list[PlacedPiece]:
    """Return the places of a content's pieces in their order."""
    return [PlacedPiece(*row) for row in tx.all(SQL["chunks_of_content"], {"content": content})]


def count_pieces(tx: Tx, owners: Sequence[int]) -> int:
    """Return the number of pieces of some owners, from the kept counts."""
    return tx.all(SQL["pieces_of_owners"], {"owners": json.dumps(list(owners))})[0][0]


def count_pieces_anew(tx: Tx) -> None:
    """Count the pieces of contents and owners anew: where tables were lost and made again, kept counts are wrong."""
    tx.run(SQL["count_pieces_anew"])
    tx.run(SQL["sum_pieces_anew"])
