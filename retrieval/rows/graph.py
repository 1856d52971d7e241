"""The graph: entities, their other names, and the edges between them; one for all houses.

Rule 1: every function works on the transaction it is given and decides nothing.
Rule 2: an edge goes with the thing that states it; an entity that only edges name goes with the last of them.
Rule 3: visibility is the house's: a caller names its house and place, and judges whose edges may be shown.
"""

from collections.abc import Iterable, Sequence
from typing import Literal, NamedTuple, TypeAlias

from protocol.base import EdgeOrigin
from protocol.seams.ports import Ids, Tx
from protocol.statements import Statements
from protocol.unicode_forms import normalize

SQL = Statements("retrieval")

GraphHouse: TypeAlias = Literal["memory", "thread_episodic", "knowledge"]
EntityKind: TypeAlias = Literal[
    "page",
    "folder",
    "project",
    "area",
    "resource",
    "archive",
    "inbox",
    "tag",
    "code",
    "person",
    "organization",
    "place",
    "system",
    "thing",
    "topic",
]


class NewEntity(NamedTuple):
    """An entity as a house names it. See `schema.sql` for what `place`, `path` and `subject` are."""

    house: GraphHouse
    place: str
    kind: EntityKind
    name: str
    path: str | None = None
    subject: str | None = None
    key: str | None = None
    """The name by which it is found, where that is not its own one."""


class Entity(NamedTuple):
    """A stored entity; `row` is its number, which edges name."""

    row: int
    entity_id: str
    house: GraphHouse
    place: str
    kind: EntityKind
    name: str
    path: str | None
    subject: str | None


class NewEdge(NamedTuple):
    """An edge between two entities by their rows. A link without `to_row` leads nowhere yet; `target` has its words."""

    from_row: int
    to_row: int | None
    kind: str
    strength: float
    target: str | None = None
    address: str | None = None
    key: str | None = None
    """The name by which the link is found again; by default all words of its target."""


class StatedEdge(NamedTuple):
    """An edge by the names of its ends. `strength`: 0 to 1."""

    start: str
    kind: str
    end: str
    strength: float
    origin: EdgeOrigin


class LinkedSubject(NamedTuple):
    """A thing that an edge joins to the one that was asked about.

    `direction`: `out` where the edge leads from the asked one to this one, `in` where it leads the other way.
    """

    subject: str
    kind: str
    origin: EdgeOrigin
    direction: Literal["out", "in"]


def fold_name(name: str) -> str:
    """Return a name as names are compared: without case, width and doubled blanks."""
    return " ".join(normalize("NFKC", name).casefold().split())


def put_entity(tx: Tx, ids: Ids, new: NewEntity) -> Entity:
    """Return the entity of that path, subject or name, as it is now; a new one where there is none."""
    values = new._asdict() | {"folded": fold_name(new.key or new.name), "entity_id": ids.new("ent")}
    if new.path is None and new.subject is not None and (known := tx.all(SQL["renew_entity"], values)):
        return Entity(*known[0])
    (row,) = tx.all(SQL["add_entity"], values)
    return Entity(*row)


def put_aliases(tx: Tx, entity: int, names: Iterable[str]) -> None:
    """Replace the other names of an entity by these."""
    tx.run(SQL["drop_aliases"], {"entity": entity})
    tx.run_many(SQL["add_alias"], [{"entity": entity, "folded": fold_name(name), "name": name} for name in names])


def entities_named(tx: Tx, house: GraphHouse, place: str, name: str) -> list[Entity]:
    """Return the entities of a place that have a name or go by it as well, without regard to case."""
    rows = tx.all(SQL["entities_named"], {"house": house, "place": place, "folded": fold_name(name)})
    return [Entity(*row) for row in rows]


def replace_edges(
    tx: Tx, house: GraphHouse, subject: str, origin: EdgeOrigin, edges: Sequence[NewEdge], now: int
) -> None:
    """Replace the edges of one origin that a thing states by these, confirmed now.

    The new edges are added before the old ones go, so that an entity that only they name keeps its id.
    """
    stated = {"house": house, "subject": subject, "origin": origin}
    before = tx.all(SQL["edges_of_subject"], stated)
    for edge in edges:
        folded = None if edge.target is None else fold_name(edge.key or edge.target)
        tx.run(SQL["add_edge"], stated | edge._asdict() | {"target_folded": folded, "now": now})
    tx.run_many(SQL["drop_edge"], [{"id": row} for (row,) in before])


def remove_subject(tx: Tx, house: GraphHouse, subject: str) -> None:
    """Remove what a thing of a house states, and the entities that stand for it."""
    tx.run(SQL["drop_edges"], {"house": house, "subject": subject})
    tx.run(SQL["drop_entities"], {"house": house, "subject": subject})


def list_stated_edges(tx: Tx, house: GraphHouse, subject: str, limit: int) -> list[StatedEdge]:
    """Return the edges that a thing states, the strongest first."""
    rows = tx.all(SQL["stated_edges"], {"house": house, "subject": subject, "limit": limit})
    return [StatedEdge(*row) for row in rows]


def list_linked_subjects(tx: Tx, house: GraphHouse, subject: str, limit: int) -> list[LinkedSubject]:
    """Return the things of a house that edges join to one of it, in either direction."""
    rows = tx.all(SQL["linked_subjects"], {"house": house, "subject": subject, "limit": limit})
    return [LinkedSubject(*row) for row in rows]
