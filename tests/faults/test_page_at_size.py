"""The inspect page of a home that was used for years: a page costs about what it costs in a small home."""

import asyncio
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import apsw
from own_page import OwnPage, own_page
from sizes import size

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))  # `benchmarks` is not installed

from benchmarks.search_scale import SEED, Words, fill, spread
from gateway.store.sqlite import Transaction
from protocol import methods as m

SMALL = 1_000
LARGE = size("page_records")
MOST_TIMES = 4.0
"""A tree of a hundred times as many rows is one level deeper, and a search has more hits to rank."""
TRIES = 7
QUESTION = "coffee+report"
NO_TURN = "thread=thr_none"
PAGES = (
    "today",
    "today?scope=user",
    "today?before=4102444800000",
    f"undo-all?{NO_TURN}",
    "memories",
    "memories?scope=user",
    "memories?category=custom",
    f"memories?q={QUESTION}",
    "memories?status=deleted",
    "memories/*",
    "memories/*/edit",
    "candidates",
    "threads",
    f"why?q={QUESTION}",
)
"""Not among them: a filter that fits almost nothing walks along its index, an erase looks through every text, and
`health` counts."""


class Cost(NamedTuple):
    """The least processor time of a page in some tries, and the fewest rows that its statements gave back."""

    seconds: float
    rows: int


class CountedRows:
    """Counts what statements give back."""

    def __init__(self, monkeypatch: Any) -> None:
        self.count = 0
        each, every, one = Transaction.each, Transaction.all, Transaction.one

        def counted_each(tx: Transaction, *asked: Any) -> Iterator[Any]:
            for row in each(tx, *asked):
                self.count += 1
                yield row

        def counted_all(tx: Transaction, *asked: Any) -> list[Any]:
            found = every(tx, *asked)
            self.count += len(found)
            return found

        def counted_one(tx: Transaction, *asked: Any) -> Any:
            self.count += 1
            return one(tx, *asked)

        for name, counted in (("each", counted_each), ("all", counted_all), ("one", counted_one)):
            monkeypatch.setattr(Transaction, name, counted)


def remember_events(home: Path) -> None:
    """Give each record the event of its making, and have every tenth forgotten: all on one day."""
    connection = apsw.Connection(str(home / "gateway.db"))
    made = "SELECT memory_id, created_at, 'created', :actor FROM record ORDER BY id"
    forgotten = "SELECT memory_id, updated_at, 'deleted', :actor FROM record WHERE status = 'deleted' ORDER BY id"
    deleted = "UPDATE record SET status = 'deleted', deleted_at = updated_at WHERE id % 10 = 5"
    with connection:
        connection.execute(deleted)
        for events in (made, forgotten):
            connection.execute(
                f"INSERT INTO memory_event (memory_id, at, event, actor) {events}", {"actor": '{"kind":"user"}'}
            )
    connection.close()


async def cost_of(page: OwnPage, path: str, rows: CountedRows) -> Cost:
    """What a page costs once it was asked for."""
    assert (await page.see(path)).status == 200, path
    costs: list[Cost] = []
    for _ in range(TRIES):
        rows.count, begun = 0, time.process_time()
        await page.see(path)
        costs.append(Cost(time.process_time() - begun, rows.count))
    return Cost(min(one.seconds for one in costs), min(one.rows for one in costs))


async def costs_of(folder: Path, count: int, rows: CountedRows) -> Sequence[Cost]:
    """What each page costs in a home of so many records."""
    folder.mkdir()
    home = folder / "home"
    await fill(home, list(spread(Words(SEED), count)))
    remember_events(home)
    async with own_page(home) as page:
        while not (await page.call(m.DRAIN, timeout_ms=60_000)).idle:
            pass
        (record,) = (await page.call(m.MEMORY_LIST, limit=1)).records
        return [await cost_of(page, path.replace("*", record.memory_id), rows) for path in PAGES]


def test_a_page_costs_about_the_same_whatever_the_home_holds(tmp_path: Path, monkeypatch: Any) -> None:
    rows = CountedRows(monkeypatch)
    small = asyncio.run(costs_of(tmp_path / "small", SMALL, rows))
    large = asyncio.run(costs_of(tmp_path / "large", LARGE, rows))
    told = [
        f"{path}: {a.seconds * 1000:.1f} and {b.seconds * 1000:.1f} ms, {a.rows} and {b.rows} rows"
        for path, a, b in zip(PAGES, small, large, strict=True)
    ]
    sys.stdout.write("\n".join((f"{SMALL} and {LARGE} records:", *told, "")))
    dear = [one for one, a, b in zip(told, small, large, strict=True) if b.seconds > MOST_TIMES * a.seconds]
    loading = [one for one, a, b in zip(told, small, large, strict=True) if b.rows > MOST_TIMES * a.rows]
    assert dear == [], dear
    assert loading == [], loading
