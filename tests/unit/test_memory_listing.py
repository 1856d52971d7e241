"""Lists of a large scope beside larger ones: what a page costs, that every record is on one page, and which filters
there are."""

import re
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from memory_home import DAY, ELSEWHERE, HERE, MIDDLING, USER, WS1, WS2, MemoryHome

from memory.rows.store import SQL, ensure_scope, seal
from protocol.memory.candidates import CandidateListParams
from protocol.memory.reads import ListParams
from protocol.record import Record
from protocol.seams.ports import Tx

HERE_COUNT, ELSEWHERE_COUNT = 20_000, 100_000
WHOLE = 150  # records whose bytes are confirmed: of the others a list tells that they are damaged, and goes on
SECONDS = 0.5
"""Of processor time: ten times what a page costs here, and a fraction of what reading every record costs."""

COPY = """
WITH RECURSIVE numbers (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM numbers WHERE n < :count)
INSERT INTO record (memory_id, scope_id, category, kind, key, is_single, content, status, sensitivity, confidence, importance,
    tags, provenance, evidence_count, created_at, updated_at, metadata, fingerprint, text_hash, checksum)
SELECT 'mem_' || :scope_id || '_' || n, :scope_id, category, kind, 'key ' || n, 1, content, status, sensitivity, confidence,
    (n % 11) / 10.0, '["all"]', provenance, evidence_count, created_at + n / 3, updated_at + n / 3, metadata, randomblob(32),
    randomblob(32), x''
FROM record JOIN numbers WHERE memory_id = :memory_id
"""


def copies(tx: Tx, memory_id: str, scope: Any, count: int) -> None:
    """Many records that differ from a record in name and time."""
    tx.run(COPY, {"scope_id": ensure_scope(tx, scope), "count": count, "memory_id": memory_id})


@pytest.fixture(scope="module")
def large(tmp_path_factory: pytest.TempPathFactory) -> Iterator[MemoryHome]:
    """Few todos, first and last of many records; tests only read it."""
    home = MemoryHome(tmp_path_factory.mktemp("large"))
    model = home.remember("One of very many").record.memory_id
    home.remember("The oldest", scope=WS1, category="todo", tags=["rare", "all"], kind="procedural", importance=0.05)
    home.later(1)

    def fill(tx: Tx) -> None:
        copies(tx, model, WS1, HERE_COUNT)
        copies(tx, model, USER, ELSEWHERE_COUNT // 4)
        copies(tx, model, WS2, 3 * ELSEWHERE_COUNT // 4)
        newest = "SELECT memory_id FROM record WHERE scope_id = :scope_id ORDER BY id DESC LIMIT :limit"
        for (memory_id,) in tx.all(newest, {"scope_id": ensure_scope(tx, WS1), "limit": WHOLE}):
            seal(tx, memory_id)

    home.sql(fill)
    home.later(DAY)
    home.remember("The newest", scope=WS1, category="todo")
    yield home
    home.close()


def cost(home: MemoryHome, **asked: Any) -> tuple[float, list[str]]:
    """The least processor time of a few pages, and the contents of the page."""
    times: list[float] = []
    contents: list[str] = []
    for _ in range(3):
        began = time.process_time()
        contents = home.listed(scopes=[WS1], **asked)
        times.append(time.process_time() - began)
    return min(times), contents


@pytest.mark.loop("check")
@pytest.mark.parametrize("order", ["updated_at", "created_at", "importance"])
@pytest.mark.parametrize(
    ("filters", "found"),
    [
        ({"categories": ["todo"]}, 2),
        ({"tags": ["rare"]}, 1),
        ({"tags": ["rare", "all"], "kinds": ["procedural"], "categories": ["todo", "custom"]}, 1),
        ({"statuses": ["expired"]}, 0),
        ({"statuses": ["superseded", "archived"]}, 0),
        ({"categories": ["identity"]}, 0),
    ],
)
def test_a_filter_that_few_pass_costs_one_look(
    large: MemoryHome, order: str, filters: dict[str, Any], found: int
) -> None:
    seconds, contents = cost(large, order=order, **filters)
    assert len(contents) == found
    assert seconds < SECONDS


def test_a_plain_page_reads_no_more_than_itself(large: MemoryHome) -> None:
    seconds, contents = cost(large, limit=100)
    assert contents == ["The newest", *["One of very many"] * 99]
    assert seconds < SECONDS / 5
    elsewhere = large.listed(context=ELSEWHERE, scopes=[WS2], categories=["todo"])
    assert elsewhere == []


@pytest.mark.parametrize("name", ["list_by_update", "list_by_creation", "list_by_importance", "list_candidates"])
def test_a_page_is_a_range_of_an_index(large: MemoryHome, name: str) -> None:
    """Whatever is before a page, or in another scope, is not looked at, and nothing is sorted."""
    values = dict.fromkeys(re.findall(r":([a-z_]+)", SQL[name]))
    plan = large.sql(lambda tx: [row[3] for row in tx.all(f"EXPLAIN QUERY PLAN {SQL[name]}", values)])
    assert any(re.search(r"SEARCH (record|candidate) .*\(scope_id=\? AND [^)]+<\?\)", step) for step in plan), plan
    assert not any("TEMP B-TREE" in step for step in plan), plan


@pytest.fixture
def home(tmp_path: Path) -> Iterator[MemoryHome]:
    made = MemoryHome(tmp_path)
    made.switch(review_enabled=True)
    yield made
    made.close()


def pages(home: MemoryHome, limit: int, **asked: Any) -> list[Record]:
    found: list[Record] = []
    cursor = None
    while True:
        params = ListParams(context=HERE, limit=limit, cursor=cursor, **asked)
        page = home.do(home.service.questions.list_records(params))
        found += page.records
        cursor = page.next_cursor
        if cursor is None:
            return found


@pytest.mark.parametrize("order", ["updated_at", "created_at", "importance"])
@pytest.mark.parametrize("limit", [1, 3, 50])
def test_pages_go_on_through_scopes_ties_and_what_is_hidden(home: MemoryHome, order: Any, limit: int) -> None:
    ids = [
        home.remember(f"Number {n}", scope=[USER, WS1][n % 2], importance=(n // 4) / 10).record.memory_id
        for n in range(12)
        if home.later(n % 2)
    ]
    home.sql(lambda tx: tx.run("UPDATE record SET tags = '[\"a', content = 'damaged' WHERE id IN (3, 8)"))
    seen = pages(home, limit, order=order)
    assert sorted(record.content for record in seen) == sorted(f"Number {n}" for n in range(12) if n not in {2, 7})
    values = [(getattr(record, order), ids.index(record.memory_id)) for record in seen]
    assert values == sorted(values, reverse=True)
    assert home.damage == [1]
    assert pages(home, limit, tags=["a"]) == []


def test_the_state_of_now_is_asked_for(home: MemoryHome) -> None:
    home.remember("For a day", expires_at=home.clock.at + DAY)
    home.remember("For ever", tags=['a "quoted", tag', "x,y"])
    assert home.listed(statuses=["expired"]) == []
    home.later(DAY)
    assert (home.listed(), home.listed(statuses=["expired"])) == (["For ever"], ["For a day"])
    assert home.listed(statuses=["active", "expired", "deleted"]) == ["For ever", "For a day"]
    assert (
        home.listed(tags=['a "quoted", tag'])
        == home.listed(tags=["x,y", "x,y"])
        == home.listed(tags=[])
        == ["For ever"]
    )
    assert home.listed(tags=["x"]) == home.listed(tags=[","]) == []


def test_candidates_of_several_scopes_come_newest_first(home: MemoryHome) -> None:
    for n in range(6):
        assert home.propose(f"Likes tea number {n}", MIDDLING, scope=[USER, WS1][n % 2]).candidate is not None
    found: list[str] = []
    cursor = None
    while True:
        params = CandidateListParams(context=HERE, limit=2, cursor=cursor)
        page = home.do(home.service.candidates.list_candidates(params))
        found += [one.content for one in page.candidates]
        cursor = page.next_cursor
        if cursor is None:
            break
    assert found == [f"Likes tea number {n}" for n in (5, 4, 3, 2, 1, 0)]
