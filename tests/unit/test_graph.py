"""The graph: who an edge and an entity belong to, and what goes with them."""

from collections.abc import Iterator

import pytest
from clock import SetClock

from gateway.base.ids import SortableIds
from gateway.store.schema_shapes import scripts
from gateway.store.sqlite import Transaction, connect
from protocol.seams.ports import Tx
from retrieval.rows.graph import (
    NewEdge,
    NewEntity,
    entities_named,
    list_linked_subjects,
    list_stated_edges,
    put_aliases,
    put_entity,
    remove_subject,
    replace_edges,
)
from retrieval.rows.pruning import CONFIRMED_MS, prunings, tallies

IDS = SortableIds(SetClock())
PLACE = "col_notes"
CHECK = "PRAGMA foreign_key_check"


@pytest.fixture
def tx() -> Iterator[Tx]:
    connection = connect(":memory:", synchronous="off")
    for script in scripts():
        connection.execute(script).fetchall()
    yield Transaction(connection)
    assert connection.execute(CHECK).fetchall() == []
    connection.close()


def pruned(tx: Tx, now: int) -> dict[str, int]:
    """Prune, and count what is gone."""
    found = {check.name: check.find(tx, 0).subjects for check in prunings(now)}
    return {check.name: check.mend(tx, rows=found[check.name]) for check in prunings(now) if found[check.name]}


def counted(tx: Tx) -> dict[str, int]:
    """Count the graph by kind."""
    return dict(pair for tally in tallies() for pair in tally(tx, 0).subjects)


def page(path: str, subject: str) -> NewEntity:
    return NewEntity("knowledge", PLACE, "page", path, path, subject)


def topic(name: str) -> NewEntity:
    return NewEntity("knowledge", PLACE, "topic", name)


def test_an_entity_of_a_path_or_a_name_is_made_once(tx: Tx) -> None:
    first = put_entity(tx, IDS, page("a.md", "fil_a"))
    assert put_entity(tx, IDS, page("a.md", "fil_b")) == first._replace(subject="fil_b")
    named = put_entity(tx, IDS, topic("Größe"))
    assert put_entity(tx, IDS, topic("GRÖSSE")) == named._replace(name="GRÖSSE")
    assert put_entity(tx, IDS, topic("Größe")._replace(place="col_other")).row != named.row
    note = NewEntity("memory", "user:default", "page", "Coffee", subject="mem_a")
    known = put_entity(tx, IDS, note)
    assert put_entity(tx, IDS, note._replace(name="Tea")) == known._replace(name="Tea")
    assert entities_named(tx, "memory", "user:default", "coffee") == []
    assert counted(tx) == {"entities": 4}


def test_an_entity_is_found_by_each_of_its_names_in_its_place_alone(tx: Tx) -> None:
    entity = put_entity(tx, IDS, page("Release checklist", "fil_a"))
    put_aliases(tx, entity.row, ["Going  live"])
    assert entities_named(tx, "knowledge", PLACE, "release CHECKLIST") == [entity]
    assert entities_named(tx, "knowledge", PLACE, "going live") == [entity]
    assert entities_named(tx, "knowledge", "col_other", "going live") == []
    assert entities_named(tx, "memory", PLACE, "going live") == []
    put_aliases(tx, entity.row, [])
    assert entities_named(tx, "knowledge", PLACE, "going live") == []


def test_what_only_an_edge_names_goes_with_the_last_of_them(tx: Tx) -> None:
    a, b = (put_entity(tx, IDS, page(f"{name}.md", f"fil_{name}")) for name in "ab")
    ants = put_entity(tx, IDS, topic("ants"))
    for one in (a, b):
        replace_edges(tx, "knowledge", one.subject or "", "inferred", [NewEdge(one.row, ants.row, "mentions", 0.5)], 1)
    replace_edges(tx, "knowledge", "fil_a", "inferred", [], 2)
    assert entities_named(tx, "knowledge", PLACE, "ants") == [ants]
    remove_subject(tx, "knowledge", "fil_b")
    assert entities_named(tx, "knowledge", PLACE, "ants") == []
    assert entities_named(tx, "knowledge", PLACE, "b.md") == []
    assert counted(tx) == {"entities": 1}


def test_edges_that_are_stated_again_keep_the_ids_of_what_they_name(tx: Tx) -> None:
    a, ants = put_entity(tx, IDS, page("a.md", "fil_a")), put_entity(tx, IDS, topic("ants"))
    edge = NewEdge(a.row, ants.row, "mentions", 0.5)
    replace_edges(tx, "knowledge", "fil_a", "inferred", [edge], 1)
    replace_edges(tx, "knowledge", "fil_a", "inferred", [edge._replace(strength=0.6)], 2)
    assert entities_named(tx, "knowledge", PLACE, "ants") == [ants]
    assert list_stated_edges(tx, "knowledge", "fil_a", 9) == [("a.md", "mentions", "ants", 0.6, "inferred")]


def test_a_link_to_what_has_gone_leads_nowhere_and_keeps_its_words(tx: Tx) -> None:
    a, b = (put_entity(tx, IDS, page(f"{name}.md", f"fil_{name}")) for name in "ab")
    replace_edges(tx, "knowledge", "fil_a", "explicit", [NewEdge(a.row, b.row, "links", 0.6, target="the B")], 1)
    assert list_linked_subjects(tx, "knowledge", "fil_a", 9) == [("fil_b", "links", "explicit", "out")]
    assert list_linked_subjects(tx, "knowledge", "fil_b", 9) == [("fil_a", "links", "explicit", "in")]
    remove_subject(tx, "knowledge", "fil_b")
    assert list_stated_edges(tx, "knowledge", "fil_a", 9) == [("a.md", "links", "the B", 0.6, "explicit")]
    assert pruned(tx, 1) == {}


def test_only_inferred_edges_go_unconfirmed(tx: Tx) -> None:
    a, b = (put_entity(tx, IDS, page(f"{name}.md", f"fil_{name}")) for name in "ab")
    edges = [NewEdge(a.row, b.row, "links", 0.6)]
    replace_edges(tx, "knowledge", "fil_a", "explicit", edges, 1)
    replace_edges(tx, "knowledge", "fil_a", "inferred", edges, 4)
    replace_edges(tx, "knowledge", "fil_b", "inferred", edges, 5)
    assert pruned(tx, CONFIRMED_MS + 5) == {"inferred_edges": 1}
    assert counted(tx) == {"entities": 2, "edges_explicit": 1, "edges_inferred": 1}
