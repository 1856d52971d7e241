"""The pieces for a question, found by words, by meaning, and by the names of files, within one read transaction.

Rule 1: the text of a question is never query syntax: only terms of the lexicon, quoted, in a bound parameter.
Rule 2: filters come before limits: a piece that is not visible never takes the place of one that is.
"""

from collections.abc import Mapping, Sequence
from functools import partial
from itertools import islice

import msgspec
from msgspec import Struct

from knowledge.rows.collections import KnownCollection
from knowledge.rows.contents import FoundPiece, cards_with, count_pieces, first_pieces, pieces_with, read_pieces
from knowledge.rows.files import ContentPlace, places_of
from knowledge.rows.vectors import TABLE
from knowledge.search.addresses import write_address
from knowledge.search.ranking import (
    NEAR_COSINE,
    card_score,
    heading_score,
    topics_factor,
    total_of,
    weigh,
    weights_of,
    words_score,
)
from knowledge.search.visible import Part
from protocol.files.knowledge import KnowledgeSearchArgs, ScoreParts
from protocol.memory.values import SpaceKind
from protocol.seams.ports import Meaning, Nearness, Tx, Vector
from retrieval.weights import best_of, first_of

WORK = 300
"""Pieces that are scored for a question."""
FILTERED_WORK = 3000
"""Pieces that are scored where a filter may leave few of them."""
NEAR_WORK = 100
"""Pieces that are scored because they are near in meaning, whatever their words."""


class RankedPiece(Struct, frozen=True):
    """A piece with those of its places that may be shown, and the parts of its score."""

    piece: FoundPiece
    places: list[ContentPlace]
    parts: ScoreParts
    topics: list[str]

    @property
    def score(self) -> float:
        """Return its score, from 0 to 1."""
        return total_of(self.parts)

    def address(self) -> str:
        """Return its address at its first place, with the lines that were indexed."""
        place, piece = self.places[0], self.piece
        return write_address(place.collection_id, place.path, piece.from_line, piece.to_line, piece.text_hash)

    @property
    def order(self) -> tuple[float, int, str]:
        """Return its key for sorting: the higher score, the newer file, the path."""
        return -self.score, -self.places[0].mtime_ns, self.places[0].path


class _RowsByTerm(Struct, frozen=True):
    """By term of a question, the rows of the pieces with it, and of the files with it in their names."""

    pieces: Mapping[str, Sequence[int]]
    cards: Mapping[str, Sequence[int]]


class FileQuestion(Struct, frozen=True):
    """A question: its terms, and its vector where a model is in use."""

    terms: Sequence[str]
    vector: Vector | None = None


class _Weighing(Struct, frozen=True):
    """The values that all pieces of a question are scored with."""

    weights: Mapping[str, float]
    files_of_term: Mapping[str, frozenset[int]]
    near: Nearness | None
    kind: SpaceKind
    places: dict[int, list[ContentPlace]]
    """The places of each content met so far: many pieces share a content."""


def find_pieces(
    tx: Tx,
    asked: FileQuestion,
    meaning: Meaning,
    collections: Sequence[KnownCollection],
    part: Part | None,
    args: KnowledgeSearchArgs,
) -> list[RankedPiece]:
    """Return the pieces of some collections for a question, best first; `part` and `args` filter them."""
    shown = {known.id: known for known in collections if known.state != "unavailable"}
    owners = sorted({known.owner for known in shown.values()})
    terms = asked.terms
    if not owners or not (terms or asked.vector):
        return []
    near = meaning.nearness(tx, TABLE, owners, asked.vector) if asked.vector is not None else None
    found = _RowsByTerm(
        {term: rows for term in terms if (rows := pieces_with(tx, owners, term))},
        {term: rows for term in terms if (rows := cards_with(tx, owners, term))},
    )
    total = count_pieces(tx, owners)
    weights = weights_of({term: len(found.pieces.get(term, ())) for term in terms}, total)
    named = first_pieces(tx, list(dict.fromkeys(row for rows in found.cards.values() for row in rows[:WORK]))[:WORK])
    weighted = [(weights[term], rows) for term, rows in found.pieces.items()]
    work = FILTERED_WORK if part is not None or args.source is not None or args.min_importance is not None else WORK
    files_of_term = {term: frozenset(rows) for term, rows in found.cards.items()}
    weighing = _Weighing(weights, files_of_term, near, asked.vector.kind if asked.vector is not None else "model", {})
    rank = partial(_rank, tx, shown=shown, owners=owners, part=part, args=args, by=weighing)
    ranked = best_of(weighted, work, rank)
    known = {one.piece.id for one in ranked}
    if near is not None:
        most = work * NEAR_WORK // WORK
        # more than are wanted, as some of them are known already, or filtered out
        by_meaning = (row for row, _ in islice(near.rank(NEAR_COSINE), 4 * most))
        ranked += first_of((row for row in by_meaning if row not in known), most, rank)
        known = {one.piece.id for one in ranked}
    ranked += rank([row for row in dict.fromkeys(named.values()) if row not in known])
    return sorted(ranked, key=lambda one: one.order)


def _rank(
    tx: Tx,
    rows: Sequence[int],
    *,
    shown: Mapping[int, KnownCollection],
    owners: Sequence[int],
    part: Part | None,
    args: KnowledgeSearchArgs,
    by: _Weighing,
) -> list[RankedPiece]:
    """Return the pieces of `rows` that pass every filter, with their scores, in the order of the rows."""
    pieces = read_pieces(tx, rows, owners)
    cosines = by.near.of(list(pieces)) if by.near is not None else {}
    ranked: list[RankedPiece] = []
    for piece in (pieces[row] for row in rows if row in pieces):
        if args.min_importance is not None and piece.importance < args.min_importance:
            continue
        if piece.content not in by.places:
            by.places[piece.content] = [
                place
                for place in places_of(tx, piece.content)
                if place.collection in shown and (part is None or part.holds(place.collection_id, place.path))
            ]
        places = by.places[piece.content]
        if not places:
            continue
        topics = msgspec.json.decode(piece.topics, type=list[str])
        cards = [[term for term, files in by.files_of_term.items() if place.file in files] for place in places]
        words, named = piece.words()
        parts = weigh(
            words_score(words, by.weights),
            max(card_score(present, by.weights) for present in cards) + heading_score(named, by.weights),
            cosines.get(piece.id),
            topics_factor(args.topics, topics),
            by.kind,
            is_bare=bool(named) and set(words) == set(named),
        )
        ranked.append(RankedPiece(piece, places, parts, topics))
    return ranked
