"""Threads that are about a question, among fifty: one of the first three is the right one, and none where none is.

The set is written by hand: short talk of a household and its work in four languages, with neighbours in topic. A
question that no thread answers asks for the same kinds of things, often in the words of a thread.
"""

import json
import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from spawned import Den, drain, journey

ROOT = Path(__file__).resolve().parents[2]
CORPUS = ROOT / "tests" / "corpora" / "related"
MODEL = Path(os.environ.get("PIONEER_TEST_MODEL", ROOT.parent / "shared" / "models" / "all-MiniLM-L6-v2"))
FIRST = 3
FOUND_AT_LEAST = 0.8
SILENT_AT_LEAST = 0.9
USUAL_FLOOR = 0.25  # what a turn's recall shows at least
BEGAN = 1_760_000_000_000
HOUR = 3_600_000


class Measured(NamedTuple):
    """What was found of what should be, and how often nothing was where nothing is."""

    found: float
    silent: float
    missed: list[str]
    invented: list[str]


def rows(name: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (CORPUS / name).read_text(encoding="utf-8").splitlines()]


async def tell(client: Any) -> None:
    """Every thread, each on another day."""
    for number, thread in enumerate(rows("threads.jsonl")):
        began = BEGAN + number * 30 * HOUR
        turns = [
            {"at": began + n * 60_000, "items": [{"role": ("user", "assistant")[n % 2], "text": text}]}
            for n, text in enumerate(thread["messages"])
        ]
        source = {"kind": "corpus", "id": thread["thread"]}
        params = {"workspace_id": "ws_here", "thread_id": f"thr_{thread['thread']}", "source": source, "turns": turns}
        await client.request("thread/import", params)
    await client.request("thread/start", {"thread_id": "thr_now"})
    await drain(client)


async def threads_of(client: Any, query: str) -> list[str]:
    """The threads that are found, best first, without what a turn would not be shown."""
    asked = {
        "workspace_id": "ws_here",
        "thread_id": "thr_now",
        "mode": "related_threads",
        "query": query,
        "min_score": USUAL_FLOOR,
    }
    hits = (await client.request("thread_episodic/search", asked))["hits"]
    return list(dict.fromkeys(hit["thread_id"].removeprefix("thr_") for hit in hits))


def share(flags: Iterable[bool]) -> float:
    listed = list(flags)
    return sum(listed) / len(listed)


async def measure(client: Any) -> Measured:
    answers = [(row["thread"], row["query"], await threads_of(client, row["query"])) for row in rows("queries.jsonl")]
    right = [(query, thread in found[:FIRST]) for thread, query, found in answers if thread is not None]
    silent = [(query, not found) for thread, query, found in answers if thread is None]
    return Measured(
        share(flag for _, flag in right),
        share(flag for _, flag in silent),
        [query for query, flag in right if not flag],
        [query for query, flag in silent if not flag],
    )


@journey
@pytest.mark.parametrize("model", [None, MODEL], ids=["words", "model"])
async def test_the_right_thread_is_among_the_first_and_none_where_there_is_none(
    tmp_path: Path, model: Path | None
) -> None:
    if model is not None and not model.is_dir():
        pytest.skip("the model is not there")
    assert len(rows("threads.jsonl")) == 50
    async with Den(tmp_path, model=model).client() as client:
        await tell(client)
        measured = await measure(client)
    print(measured)  # noqa: T201  # shown with -s, and when the test fails
    assert measured.found >= FOUND_AT_LEAST
    assert measured.silent >= SILENT_AT_LEAST
