"""Links of the graph: found again by the name that they lead to, listed around an entity, followed one step.

Rule 1: every function works on the transaction it is given and decides nothing.
"""

import json
from collections.abc import Collection, Mapping, Sequence
from typing import Literal, TypeAlias

from msgspec import Struct

from protocol.seams.ports import SqlValue, Tx
from retrieval.rows.graph import SQL, Entity, GraphHouse, NewEdge, fold_name

REPEATED_STRENGTH = 0.1
"""The strength that each repetition adds to a stated link; all of it is 1 at most."""

Direction: TypeAlias = Literal["out", "in"]


class KeyedEdge(Struct, frozen=True):
    """A stated link, with where it leads now."""

    id: int
    subject: str
    from_row: int
    to_row: int | None
    kind: str
    target: str
    address: str


class ShownEdge(Struct, frozen=True):
    """An edge as it is listed; `to_id` is None for a link that leads nowhere."""

    id: int
    place: str
    subject: str
    from_id: str
    to_id: str | None
    target: str | None
    kind: str
    strength: float
    origin: str
    address: str | None
    created_at: int


class Neighbour(Struct, frozen=True):
    """The other end of an edge: a thing of a house with a path."""

    direction: Direction
    kind: str
    strength: float
    subject: str
    place: str
    path: str
    target: str | None


def entity_at(tx: Tx, house: GraphHouse, place: str, path: str) -> Entity | None:
    """Return the entity of a path, or None."""
    row = tx.one(SQL["entity_at_path"], {"house": house, "place": place, "path": path})
    return Entity(*row) if row else None


def entity_by_id(tx: Tx, entity_id: str) -> Entity | None:
    """Return an entity by its id, or None."""
    row = tx.one(SQL["entity_by_id"], {"entity_id": entity_id})
    return Entity(*row) if row else None


def entity_of(tx: Tx, house: GraphHouse, subject: str) -> Entity | None:
    """Return the page or code that stands for a thing, or None."""
    row = tx.one(SQL["entity_of_subject"], {"house": house, "subject": subject})
    return Entity(*row) if row else None


def entities_of(tx: Tx, house: GraphHouse, subjects: Collection[str]) -> dict[str, Entity]:
    """Return the pages and code that stand for some things, by the thing."""
    rows = tx.all(SQL["entities_of_subjects"], {"house": house, "subjects": json.dumps(list(subjects))})
    return {one.subject: one for one in (Entity(*row) for row in rows) if one.subject is not None}


def find_stating(tx: Tx, house: GraphHouse, subjects: Collection[str]) -> set[str]:
    """Return those of some things that state an edge."""
    return {row for (row,) in tx.all(SQL["stating_subjects"], {"house": house, "subjects": json.dumps(list(subjects))})}


def find_keys(tx: Tx, names: Collection[str]) -> set[str]:
    """Return those of some folded names by which a link of any place is found again."""
    return {row for (row,) in tx.all(SQL["keys_of_links"], {"names": json.dumps(list(names))})}


def find_named_entities(tx: Tx, house: GraphHouse, place: str, name: str) -> list[Entity]:
    """Return pages and code of a name."""
    rows = tx.all(SQL["entities_called"], {"house": house, "place": place, "folded": fold_name(name)})
    return [Entity(*row) for row in rows]


def also_called(tx: Tx, house: GraphHouse, place: str, name: str) -> list[Entity]:
    """Return the entities that go by a name as well."""
    rows = tx.all(SQL["entities_aliased"], {"house": house, "place": place, "folded": fold_name(name)})
    return [Entity(*row) for row in rows]


def aliases_of(tx: Tx, entities: Collection[int]) -> Mapping[int, list[str]]:
    """Return the other names of entities by their rows."""
    found: dict[int, list[str]] = {}
    for entity, name in tx.all(SQL["aliases_of"], {"entities": json.dumps(list(entities))}):
        found.setdefault(entity, []).append(name)
    return found


class MovedEntity(Struct, frozen=True):
    """The new path and name of an entity; `key` is the name by which it is found."""

    entity: Entity
    path: str
    name: str
    key: str


def move_entities(tx: Tx, moved: Sequence[MovedEntity]) -> None:
    """Give entities other paths, and other names where they have them."""
    tx.run_many(SQL["move_entity"], [{"row": one.entity.row, "path": one.path} for one in moved])
    renamed = [one for one in moved if one.name != one.entity.name]
    names = [{"row": one.entity.row, "name": one.name, "folded": fold_name(one.key)} for one in renamed]
    tx.run_many(SQL["rename_entity"], names)


def drop_entity(tx: Tx, entity: int) -> None:
    """Remove an entity with the edges that begin at it."""
    tx.run(SQL["drop_entity"], {"id": entity})


def drop_place(tx: Tx, house: GraphHouse, place: str) -> None:
    """Remove every entity of a place, with their edges."""
    tx.run(SQL["drop_place"], {"house": house, "place": place})


def count_edges(tx: Tx, house: GraphHouse, place: str) -> int:
    """Return how many edges begin in a place."""
    return tx.all(SQL["count_edges_of_place"], {"house": house, "place": place})[0][0]


def add_edge(tx: Tx, house: GraphHouse, subject: str, edge: NewEdge, now: int) -> None:
    """Add an explicit edge to those that a thing states."""
    values: dict[str, SqlValue] = {"house": house, "subject": subject, "origin": "explicit", "now": now}
    folded = None if edge.target is None else fold_name(edge.key or edge.target)
    tx.run(SQL["add_edge"], values | edge._asdict() | {"target_folded": folded})


def drop_kinds(tx: Tx, house: GraphHouse, subject: str, kinds: Collection[str]) -> None:
    """Remove the edges of some kinds that a thing states."""
    tx.run(SQL["drop_edges_of_kinds"], {"house": house, "subject": subject, "kinds": json.dumps(sorted(kinds))})


def links_by_key(tx: Tx, house: GraphHouse, place: str, key: str) -> list[KeyedEdge]:
    """Return the links of a place that are found again by a name."""
    rows = tx.all(SQL["links_by_key"], {"house": house, "place": place, "folded": fold_name(key)})
    return [KeyedEdge(*row) for row in rows]


def links_of(tx: Tx, house: GraphHouse, subject: str) -> list[KeyedEdge]:
    """Return the links that a thing states."""
    return [KeyedEdge(*row) for row in tx.all(SQL["links_of_subject"], {"house": house, "subject": subject})]


def lead_to(tx: Tx, edge: int, entity: int | None) -> None:
    """Let a link lead to an entity, or nowhere."""
    tx.run(SQL["lead_to"], {"id": edge, "to_row": entity})


def drop_edge(tx: Tx, edge: int) -> None:
    """Remove an edge."""
    tx.run(SQL["drop_edge"], {"id": edge})


def edges_around(
    tx: Tx,
    entities: Collection[int],
    directions: Collection[Direction],
    kinds: Collection[str],
    *,
    single: Mapping[str, float],
    min_strength: float,
    after: int,
    limit: int,
) -> list[ShownEdge]:
    """Return the edges at some entities, in the order in which they were made.

    Links of one kind between the same two are one edge, however they are written: that of the first, as strong as
    all its repetitions make it. `single`: the strength of a link that stands once, by its kind.
    """
    values: dict[str, SqlValue] = {
        "entities": json.dumps(list(entities)),
        "out": int("out" in directions),
        "in": int("in" in directions),
        "kinds": json.dumps(sorted(kinds)) if kinds else "",
        **_strengths(single),
        "min_strength": min_strength,
        "after": after,
        "limit": limit,
    }
    return [ShownEdge(*row) for row in tx.all(SQL["edges_around"], values)]


def _strengths(single: Mapping[str, float]) -> dict[str, SqlValue]:
    return {"single": json.dumps(dict(single)), "repeated": REPEATED_STRENGTH}


def neighbours(
    tx: Tx, entity: int, *, single: Mapping[str, float], above: float, but: Collection[str], limit: int
) -> list[Neighbour]:
    """Return the strongest ends of edges at an entity above a strength, in either direction, `but` of some kinds.

    `single`: as for `edges_around`.
    """
    values: dict[str, SqlValue] = {"entity": entity, "above": above, "but": json.dumps(sorted(but)), "limit": limit}
    values |= _strengths(single)
    return [Neighbour(*row) for row in tx.all(SQL["neighbours"], values)]


def list_entities(
    tx: Tx, house: GraphHouse, places: Collection[str], kinds: Collection[str], query: str, *, after: int, limit: int
) -> list[Entity]:
    """Return the entities of some places whose name, or other name, has the query in it."""
    values: dict[str, SqlValue] = {
        "house": house,
        "places": json.dumps(sorted(places)),
        "kinds": json.dumps(sorted(kinds)) if kinds else "",
        "query": fold_name(query),
        "after": after,
        "limit": limit,
    }
    return [Entity(*row) for row in tx.all(SQL["list_entities"], values)]


def subjects_leading_to(tx: Tx, entity: int, kind: str) -> list[str]:
    """Return the things whose edges of a kind lead to an entity."""
    return [subject for (subject,) in tx.all(SQL["subjects_leading_to"], {"entity": entity, "kind": kind})]


def belongings(tx: Tx, house: GraphHouse, subjects: Sequence[str]) -> list[tuple[str, str, str, str]]:
    """Return (subject, entity id, name, kind) of what things stand for and of the folders and tags that they are in."""
    return [
        (row[0], row[1], row[2], row[3])
        for row in tx.all(SQL["belongings"], {"house": house, "subjects": json.dumps(list(subjects))})
    ]
