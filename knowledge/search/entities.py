"""Entities of files and their links: the methods that list them, and the names by which callers refer to them.

Rule 1: only entities of visible collections exist. A name of several is refused with the list of them; an unknown one
matches nothing.
"""

from collections.abc import Mapping, Sequence
from typing import cast

from knowledge.links.resolving import stem_of
from knowledge.ports import KnowledgeMeans
from knowledge.rows.collections import KnownCollection
from knowledge.rows.files import count_below
from knowledge.rows.links import HOUSE, SINGLE_STRENGTHS, TAGGED, form_and_line, resolve_link
from knowledge.search.addresses import quote_path
from knowledge.search.readable_files import follow_path
from knowledge.search.visible import Part, part_of, select_by_source, visible_collections
from protocol.base import Diagnostic, EdgeOrigin
from protocol.cursors import cut_page, place_of
from protocol.errors import CallerError
from protocol.files.graph import (
    EdgesParams,
    EdgesResult,
    EntitiesParams,
    EntitiesResult,
    FileEdge,
    FileEdgeKind,
    FileEntity,
    FileEntityKind,
    UnresolvedLink,
)
from protocol.seams.ports import Tx
from retrieval.rows.graph import Entity, entities_named
from retrieval.rows.links import (
    Direction,
    KeyedEdge,
    ShownEdge,
    aliases_of,
    edges_around,
    entity_at,
    entity_by_id,
    entity_of,
    list_entities,
    subjects_leading_to,
)

MOST_CANDIDATES = 20
UNKNOWN = "No page, folder, tag or file of code has that name."
DIRECTIONS: Mapping[str, Sequence[Direction]] = {"out": ("out",), "in": ("in",), "both": ("out", "in")}
SUPERSEDED_BY = "superseded_by"


def find_entities(tx: Tx, collections: Sequence[KnownCollection], text: str) -> list[Entity]:
    """Return the entity that a text names by id, path or name; several where several collections have that tag.

    Raises `CallerError`, with the candidates, for any other name of several.
    """
    places = [known.collection_id for known in collections]
    by_id = entity_by_id(tx, text)
    if by_id is not None:
        return [by_id] if by_id.house == HOUSE and by_id.place in places else []
    part = _find_place(tx, collections, text)
    if part is not None:
        found = entity_at(tx, HOUSE, part.collection_id, part.path)
        return [found] if found is not None else []
    by_path = [one for place in places if (one := entity_at(tx, HOUSE, place, text.strip("/"))) is not None]
    found = by_path or _find_named(tx, places, text.strip())
    if len(found) > 1 and {one.kind for one in found} != {"tag"}:
        candidates = [{"entity_id": one.entity_id, "entity": _full_name(one), "kind": one.kind} for one in found]
        problem = "Several have that name"
        details = {"path": "$.entity", "problem": problem, "candidates": candidates[:MOST_CANDIDATES]}
        raise CallerError("invalid_params", f"{problem} - at `$.entity`", details=details)
    return found


def _find_place(tx: Tx, collections: Sequence[KnownCollection], text: str) -> Part | None:
    """Return the file or folder that `COLLECTION:PATH` names, at its present path; None for any other text."""
    part = part_of(text)
    known = next((one for one in collections if part is not None and one.collection_id == part.collection_id), None)
    return part._replace(path=follow_path(tx, known, part.path)) if part is not None and known is not None else None


def _find_named(tx: Tx, places: Sequence[str], name: str) -> list[Entity]:
    wanted = dict.fromkeys(one for one in (name, stem_of(name), name.removeprefix("#")) if one)
    found = {one.row: one for place in places for each in wanted for one in entities_named(tx, HOUSE, place, each)}
    return list(found.values())


def _full_name(entity: Entity) -> str:
    return f"{entity.place}:{entity.path}" if entity.path is not None else f"#{entity.name}"


def find_part(tx: Tx, collections: Sequence[KnownCollection], text: str) -> Part | None:
    """Return the files that an entity stands for; None where there is no such entity.

    Raises `CallerError` for a name of several.
    """
    part = _find_place(tx, collections, text)
    if part is not None:
        return part
    entities = find_entities(tx, collections, text)
    if not entities:
        return None
    (first, *_) = entities
    if first.kind != "tag" and first.path is not None:
        return Part(first.place, first.path)
    places = {
        (page.place, page.path)
        for entity in entities
        for subject in subjects_leading_to(tx, entity.row, TAGGED)
        if (page := entity_of(tx, HOUSE, subject)) is not None and page.path is not None
    }
    return Part(first.place, "", frozenset(places))


class EntityReader:
    """Answers `knowledge/entities` and `knowledge/edges`."""

    def __init__(self, means: KnowledgeMeans) -> None:
        self._means = means

    async def entities(self, params: EntitiesParams) -> EntitiesResult:
        """`knowledge/entities`."""
        (after,) = place_of(params.cursor, (0,))

        def read(tx: Tx) -> EntitiesResult:
            visible = visible_collections(tx, self._means, params.context)
            source = f"collection:{params.collection_id}" if params.collection_id is not None else None
            places = [known.collection_id for known in select_by_source(visible, source)]
            if params.collection_id is not None and not places:
                raise CallerError.missing("collection")
            found = list_entities(
                tx, HOUSE, places, params.kinds or (), params.query or "", after=after, limit=params.limit + 1
            )
            page, more = cut_page(found, params.limit, lambda one: (one.row,))
            aliases = aliases_of(tx, [one.row for one in page])
            shown = [_to_file_entity(tx, one, aliases.get(one.row, [])) for one in page]
            return EntitiesResult(entities=shown, next_cursor=more)

        return await self._means.db.read(read)

    async def edges(self, params: EdgesParams) -> EdgesResult:
        """`knowledge/edges`."""
        (after,) = place_of(params.cursor, (0,))

        def read(tx: Tx) -> EdgesResult:
            entities = find_entities(tx, visible_collections(tx, self._means, params.context), params.entity)
            found = edges_around(
                tx,
                [one.row for one in entities],
                DIRECTIONS[params.direction],
                params.kinds or (),
                single=SINGLE_STRENGTHS,
                min_strength=params.min_strength,
                after=after,
                limit=params.limit + 1,
            )
            page, more = cut_page(found, params.limit, lambda one: (one.id,))
            unknown = [] if entities else [Diagnostic(code="no_match", message=UNKNOWN)]
            return EdgesResult(edges=[_to_file_edge(tx, edge) for edge in page], next_cursor=more, diagnostics=unknown)

        return await self._means.db.read(read)


def _to_file_entity(tx: Tx, entity: Entity, aliases: list[str]) -> FileEntity:
    files = 1
    if entity.kind == "tag":
        files = len(subjects_leading_to(tx, entity.row, TAGGED))
    elif entity.kind not in {"page", "code"} and entity.path is not None:
        files = count_below(tx, entity.place, entity.path)
    return FileEntity(
        entity_id=entity.entity_id,
        name=entity.name,
        kind=cast("FileEntityKind", entity.kind),  # the kinds of this house
        collection_id=entity.place,
        path=entity.path,
        aliases=aliases,
        files=files,
    )


def _to_file_edge(tx: Tx, edge: ShownEdge) -> FileEdge:
    source = entity_of(tx, HOUSE, edge.subject)
    path = source.path if source is not None and source.path is not None else ""
    form, line = form_and_line(edge.address) if edge.address is not None else ("", 0)
    ends = (edge.from_id, edge.to_id)
    start, end = (ends[1], ends[0]) if form == SUPERSEDED_BY and ends[1] is not None else ends
    unresolved = None
    if end is None and edge.target is not None and edge.address is not None:
        keyed = KeyedEdge(edge.id, edge.subject, 0, None, edge.kind, edge.target, edge.address)
        candidates = [one.entity_id for one in resolve_link(tx, edge.place, path, keyed).candidates]
        unresolved = UnresolvedLink(text=edge.target, candidates=candidates)
    place = f"{edge.place}:{quote_path(path)}"
    return FileEdge(
        from_=start or edge.from_id,
        to=end,
        unresolved=unresolved,
        kind=cast("FileEdgeKind", edge.kind),  # the kinds of this house
        strength=edge.strength,
        origin=cast("EdgeOrigin", edge.origin),  # as it is stored
        address=f"{place}#L{line}" if line else place,
        created_at=edge.created_at,
    )
