"""The neighbours of hits in the graph: files one link away from the best ones, and the folders and tags of each.

Rule 1: links and imports are followed, in both directions. Folders and tags are not: one of them may hold every file.
Rule 2: a neighbour shows the section that the link names, else its beginning; it is read from the disk like any hit.
"""

from collections.abc import Mapping, Sequence

import msgspec
from msgspec import Struct

from knowledge.links.resolving import split_target
from knowledge.rows.collections import KnownCollection, find_collection
from knowledge.rows.contents import FoundPiece, pieces_of, read_pieces
from knowledge.rows.files import ContentPlace, find_file, places_of
from knowledge.rows.links import HOUSE, MEMBER_OF, SINGLE_STRENGTHS, TAGGED
from knowledge.rows.references import titles_of
from knowledge.search.addresses import is_anchor_of
from knowledge.search.ranking import total_of
from knowledge.search.verifying import Disk, ShownPiece
from knowledge.search.visible import Part
from protocol.files.knowledge import HitEntity, KnowledgeHit, KnowledgeSearchArgs, Via
from protocol.seams.ports import Tx
from retrieval.rows.links import belongings, entity_at, neighbours

MOST_SEEDS = 10
"""The most hits whose links are followed, those of the highest scores."""
MOST_NEIGHBOURS = 20
"""The most links of one hit that are followed."""
LEAST_STRENGTH = 0.2
"""The strength that an edge must exceed to be followed."""
RELATED_PART = 0.2
"""The part of a seed's score that its neighbour gets."""
MOST_ENTITIES = 8
"""The most entities that a hit names."""
MOST_PIECES_READ = 200
"""Pieces of a neighbour that are read in search of the section that a link names."""


class Related(Struct, frozen=True):
    """A file that is linked with a hit, the seed; `anchor` is the heading that the link names."""

    collection_id: str
    path: str
    score: float
    via: Via
    anchor: str | None


class RelatedPieces(Struct, frozen=True):
    """The first pieces of a neighbour in order, and the places of its content, its own first."""

    related: Related
    pieces: list[FoundPiece]
    places: list[ContentPlace]


def find_related(
    tx: Tx, seeds: Sequence[KnowledgeHit], collections: Sequence[KnownCollection], part: Part | None
) -> dict[tuple[str, str], Related]:
    """Return the neighbours of the best hits by collection and path, each by its strongest seed."""
    shown = {known.collection_id for known in collections if known.state != "unavailable"}
    found: dict[tuple[str, str], Related] = {}
    for seed in sorted(seeds, key=lambda hit: -hit.score)[:MOST_SEEDS]:
        at = seed.locations[0]
        entity = entity_at(tx, HOUSE, at.collection_id, at.path)
        if entity is None:
            continue
        ends = neighbours(
            tx,
            entity.row,
            single=SINGLE_STRENGTHS,
            above=LEAST_STRENGTH,
            but=(MEMBER_OF, TAGGED),
            limit=MOST_NEIGHBOURS,
        )
        for end in ends:
            key = (end.place, end.path)
            is_hidden = end.place not in shown or (part is not None and not part.holds(*key))
            if is_hidden or key == (at.collection_id, at.path) or key in found:
                continue
            via = Via(entity_id=entity.entity_id, kind=end.kind, strength=end.strength, direction=end.direction)
            anchor = split_target(end.target).anchor if end.target is not None else None
            found[key] = Related(*key, RELATED_PART * seed.score, via, anchor)
    return found


def read_related(tx: Tx, related: Related, args: KnowledgeSearchArgs) -> RelatedPieces | None:
    """Return the first pieces of a neighbour; None where it is not indexed or an option leaves it out."""
    known = find_collection(tx, related.collection_id)
    file = find_file(tx, known.id, related.path) if known is not None else None
    if known is None or file is None or file.content is None or file.state not in {"indexed", "partial", "pending"}:
        return None
    most = MOST_PIECES_READ if related.anchor is not None else 1
    rows = [piece.id for piece in pieces_of(tx, file.content)[:most]]
    pieces = read_pieces(tx, rows, [known.owner])
    if not pieces or (args.min_importance is not None and pieces[rows[0]].importance < args.min_importance):
        return None
    places = [place for place in places_of(tx, file.content) if place.collection == known.id]
    own_first = sorted(places, key=lambda place: place.path != related.path)
    return RelatedPieces(related, [pieces[row] for row in rows if row in pieces], own_first)


def show_related(disk: Disk, one: RelatedPieces) -> tuple[FoundPiece, ShownPiece] | None:
    """Return the piece of a neighbour that is shown, with its present text; None where the disk has none of them."""
    first: tuple[FoundPiece, ShownPiece] | None = None
    for piece in one.pieces:
        shown = disk.show(piece, one.places)
        if shown is None:
            continue
        first = first or (piece, shown)
        anchor = one.related.anchor
        if anchor is None or any(is_anchor_of(anchor.rpartition("#")[2], heading) for heading in shown.headings[-1:]):
            return piece, shown
    return first


def add_related_score(hit: KnowledgeHit, related: Related) -> KnowledgeHit:
    """Return a hit with the score of a neighbour added, as it is one of another hit, too."""
    if hit.breakdown.related >= related.score:
        return hit
    parts = msgspec.structs.replace(hit.breakdown, related=related.score)
    return msgspec.structs.replace(hit, breakdown=parts, score=total_of(parts), via=related.via)


def titles_of_hits(tx: Tx, hits: Sequence[KnowledgeHit]) -> Mapping[str, str]:
    """Return by address the titles in the front matter of the hits' files."""
    at = {hit.address: content for hit in hits if (content := _content_of(tx, hit)) is not None}
    titles = titles_of(tx, set(at.values()))
    return {address: titles[content] for address, content in at.items() if content in titles}


def _content_of(tx: Tx, hit: KnowledgeHit) -> int | None:
    """Return the row of the content that a hit's first file has at present; None without one."""
    at = hit.locations[0]
    known = find_collection(tx, at.collection_id)
    file = find_file(tx, known.id, at.path) if known is not None else None
    return file.content if file is not None else None


def entities_of(tx: Tx, hits: Sequence[KnowledgeHit]) -> Mapping[str, list[HitEntity]]:
    """Return by address the entities of the hits' files: the page itself, its folder, its tags."""
    subjects: dict[str, str] = {}
    for hit in hits:
        at = hit.locations[0]
        entity = entity_at(tx, HOUSE, at.collection_id, at.path)
        if entity is not None and entity.subject is not None:
            subjects[hit.address] = entity.subject
    found: dict[str, list[HitEntity]] = {}
    for subject, entity_id, name, kind in belongings(tx, HOUSE, list(dict.fromkeys(subjects.values()))):
        found.setdefault(subject, []).append(HitEntity(entity_id=entity_id, name=name, kind=kind))
    return {address: found.get(subject, [])[:MOST_ENTITIES] for address, subject in subjects.items()}
