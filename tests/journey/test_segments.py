"""Segments over the wire: they fill and are sealed, bound what is compared by meaning, and are followed by every
process."""

from pathlib import Path
from typing import Any

import pytest
from spawned import Den, drain, journey
from tiny_model import make_tiny_model

SMALL = "[gateway.thread_episodic]\nsegment_capacity_chunks = 16\nnear_capacity_percent = 50.0\nmax_segments = 2\n"
"""Eight chunks a segment."""
DAY = 86_400_000
FIRST_AT = 1_700_000_000_000
PETS = ("puppy", "kitten", "automobile", "physician", "espresso")
ASKED = {"puppy": "dogs", "kitten": "feline", "automobile": "cars", "physician": "medic", "espresso": "coffee"}
"""The same without a common word."""


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("models")
    make_tiny_model(folder / "one", seed=1)
    return folder / "one"


async def say(client: Any, number: int, text: str) -> None:
    """One message of a day of its own, in a thread of its own."""
    turn = {"turn_id": f"trn_{number}", "at": FIRST_AT + number * DAY, "items": [{"role": "user", "text": text}]}
    place = {"workspace_id": "ws_here", "thread_id": f"thr_{number}", "source": {"kind": "journey", "id": f"s{number}"}}
    await client.request("thread/import", {**place, "turns": [turn]})


async def asked(client: Any, query: str, **more: Any) -> tuple[list[str], bool]:
    """The items that a question finds, and whether some segments were left out."""
    params = {"workspace_id": "ws_here", "query": query, "mode": "workspace_threads", "min_score": 0.0, **more}
    answer = await client.request("thread_episodic/search", params)
    return [hit["turn_id"] for hit in answer["hits"]], "segments_limited" in [d["code"] for d in answer["diagnostics"]]


async def segments(client: Any) -> tuple[int, int]:
    told = (await client.request("thread_episodic/status", {"workspace_id": "ws_here"}))["segments"]
    assert told["count"] == told["open"] + told["sealed"]
    return told["open"], told["sealed"]


@journey
async def test_segments_fill_bound_the_work_and_are_followed_by_a_second_process(tmp_path: Path, model: Path) -> None:
    den = Den(tmp_path, model=model, config=SMALL)
    async with den.client() as client:
        for number in range(40):
            await say(client, number, f"The {PETS[number // 8]} of number {number}.")
        await drain(client)
        assert await segments(client) == (1, 4)
        found, is_limited = await asked(client, ASKED["espresso"])
        assert is_limited
        assert set(found) == {f"trn_{number}" for number in range(32, 40)}
        assert await asked(client, ASKED["puppy"]) == ([], True)  # the oldest segment is not compared
        assert "trn_3" in (await asked(client, "puppy of number 3"))[0]  # what it says is found anyway
        span = {"from_at": FIRST_AT, "to_at": FIRST_AT + 7 * DAY}
        assert set((await asked(client, ASKED["puppy"], **span))[0]) == {f"trn_{number}" for number in range(8)}
        in_thread = {"mode": "current_thread", "thread_id": "thr_2"}
        assert (await asked(client, ASKED["puppy"], **in_thread))[0] == ["trn_2"]
        await client.request("settings/update", {"update": {"thread_episodic": {"max_segments": 16}}})
        found, is_limited = await asked(client, ASKED["puppy"])
        assert not is_limited
        assert set(found) == {f"trn_{number}" for number in range(8)}
        await client.request("settings/update", {"update": {"thread_episodic": {"near_capacity_percent": 100.0}}})
        for number in range(40, 56):
            await say(client, number, f"The cinema of number {number}.")
        await drain(client)
        assert await segments(client) == (1, 5)  # the open one took eight more before it was sealed
        async with den.client() as other:
            while (await other.request("gateway/status", {}))["search"]["semantic"] != "ready":
                await asked(other, ASKED["puppy"])  # each asks for the model, and waits for it a while
            assert "trn_5" in (await asked(other, ASKED["puppy"]))[0]
            await say(other, 60, "The hound of number 60.")
            await drain(other)
            await other.request("thread_episodic/exclude", {"item_id": await item_of(other, "puppy of number 5")})
        found, _ = await asked(client, ASKED["puppy"], limit=50)
        assert "trn_60" in found
        assert "trn_5" not in found
        await client.request("thread/delete", {"thread_id": "thr_60"})
        assert "trn_60" not in (await asked(client, ASKED["puppy"], limit=50))[0]
    assert not [name for name in den.files() if "capsule" in name and not name.endswith("/")]


async def item_of(client: Any, query: str) -> str:
    params = {"workspace_id": "ws_here", "query": query, "mode": "workspace_threads"}
    return (await client.request("thread_episodic/search", params))["hits"][0]["item_id"]
