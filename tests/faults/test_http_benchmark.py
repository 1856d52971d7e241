"""The benchmark of the door and the proxy, whole, with sizes so small that its figures say nothing: only that all of
them are there."""

from typing import Any

import pytest
from spawned import on_linux

from benchmarks import chat_proxy, http
from benchmarks.goals import Row

SMALL: dict[Any, dict[str, float]] = {
    http: {
        "RECORDS": 6,
        "ROUNDS": 2,
        "CALLS": 2,
        "WARM": 1,
        "STARTS": 1,
        "IDLE_SECONDS": 0.5,
        "IDLE_ROUNDS": 1,
        "SETTLE_SECONDS": 0.1,
    },
    chat_proxy: {
        "RECORDS": 6,
        "REQUESTS": 3,
        "WARM": 1,
        "CHUNKS": 20,
        "STREAMS": 1,
        "FIRST_BYTES": 3,
        "HANGS": 1,
        "SHORT": 1,
        "PREPARED": 2,
        "LONG_TURNS": 3,
        "IMPORTED": 200,
        "PARALLEL_CHUNKS": 10,
        "STREAM_CHUNKS": 200,
        "READS": 2,
    },
}
WITH_GOAL = (
    "a search over HTTP",
    "the page today",
    "the page memories",
    "the page a search",
    "the page a memory",
    "a start",
    "doing nothing",
    "a request, memory off",
    "a chunk of a stream",
    "first byte, memory on",
    "a chunk's delay, median",
    "first byte, hung child",
    "first byte after three misses",
    "memory that a stream",
    "split and chain of 400 KB",
    "the same of twice as much",
    "`capture/prepare` after 2 turns",
    "`capture/prepare` after 3 turns",
)
"""What section 5 of the door's design bounds, as the benchmark calls it."""


@on_linux
def test_http_statement_37_one_run_measures_every_figure_against_its_floor(monkeypatch: pytest.MonkeyPatch) -> None:
    for module, sizes in SMALL.items():
        for name, value in sizes.items():
            monkeypatch.setattr(module, name, int(value) if value >= 1 else value)
    shown: list[Row] = []
    monkeypatch.setattr(http, "show", lambda _title, rows: shown.extend(rows))
    code = http.main([])
    bounded = [row for row in shown if row.goal]
    assert code == int(any(row.is_met is False for row in bounded))
    assert [name for name in WITH_GOAL if not any(row.what.startswith(name) for row in bounded)] == []
    assert [row.what for row in bounded if not any(row.what.startswith(name) for name in WITH_GOAL)] == []
    assert all(row.is_met is not None for row in bounded)
