"""What a turn is given of durable memory, over the wire: by meaning, for tasks as for questions, again for the same
words."""

from pathlib import Path
from typing import Any

import pytest
from spawned import Den, drain, journey, remember
from tiny_model import make_tiny_model

PLUMBER = "My plumber is Marek Novak."
WORKSPACE = {"kind": "workspace", "key": "ws_here"}


async def prepare(client: Any, text: str, **thread: Any) -> dict[str, Any]:
    opened = await client.request("thread/start", thread)
    given = {"thread_id": opened["thread"]["thread_id"], "input": [{"type": "text", "text": text}]}
    return await client.request("turn/prepare", given)


def recalled(turn: dict[str, Any]) -> dict[str, Any]:
    return turn["prompt_manifest"]["recall"]


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("model")
    make_tiny_model(folder, seed=1)
    return folder


@journey
async def test_a_repeated_message_keeps_its_memory_until_it_is_forgotten(tmp_path: Path) -> None:
    den = Den(tmp_path)
    async with den.client() as client:
        memory_id = await remember(client, PLUMBER)
        thread = (await client.request("thread/start", {}))["thread"]["thread_id"]
        told: list[dict[str, Any]] = []
        for _ in range(2):
            given = {"thread_id": thread, "input": [{"type": "text", "text": "Who is my plumber?"}]}
            turn = await client.request("turn/prepare", given)
            told.append(turn)
            await client.request(
                "turn/finish", {"turn_id": turn["turn"]["turn_id"], "status": "succeeded", "assistant_text": "Yes."}
            )
        assert [recalled(turn)["reason"] for turn in told] == ["matched", "cached"]
        assert [recalled(turn)["memory_ids"] for turn in told] == [[memory_id]] * 2
        assert PLUMBER in told[1]["context_blocks"][0]["text"]
        await client.request("memory/forget", {"target": {"kind": "id", "memory_id": memory_id}})
        gone = await prepare(client, "Who is my plumber?")
        assert recalled(gone)["memory_ids"] == []


@journey
async def test_another_workspace_is_another_question(tmp_path: Path) -> None:
    den = Den(tmp_path)
    async with den.client() as client:
        await client.request("workspace/create", {"workspace_id": "ws_there"})
        mine = await remember(client, "Our deploys run on Friday mornings.", scope=WORKSPACE)
        assert recalled(await prepare(client, "When do our deploys run?"))["memory_ids"] == [mine]
        there = await prepare(client, "When do our deploys run?", workspace_id="ws_there")
        assert recalled(there)["memory_ids"] == []


@journey
async def test_many_long_matches_of_one_scope_leave_room_for_another(tmp_path: Path) -> None:
    den = Den(tmp_path)
    async with den.client() as client:
        for n in range(500):
            words = " ".join(f"detail{n}x{k}" for k in range(24))
            await remember(client, f"The release checklist item {n} says: {words}.", scope=WORKSPACE)
        mine = await remember(client, "I hate a release checklist longer than a page.")
        shown = recalled(await prepare(client, "What does the release checklist say?"))["memory_ids"]
        assert mine in shown
        assert 2 <= len(shown) <= 8
        await client.request("settings/update", {"update": {"recall": {"workspace_tokens": 0, "user_tokens": 400}}})
        assert recalled(await prepare(client, "What does the release checklist say?"))["memory_ids"] == [mine]


@journey
async def test_a_task_and_a_short_follow_up_get_what_they_need(tmp_path: Path) -> None:
    den = Den(tmp_path)
    async with den.client() as client:
        diet = await remember(client, "We keep kosher when we go to a restaurant.")
        assert diet in recalled(await prepare(client, "Pick a restaurant for our Friday"))["memory_ids"]
        thread = (await client.request("thread/start", {}))["thread"]["thread_id"]
        for text in ("Where could we find a restaurant?", "and Friday?"):
            turn = await client.request(
                "turn/prepare", {"thread_id": thread, "input": [{"type": "text", "text": text}]}
            )
            answer = {"turn_id": turn["turn"]["turn_id"], "status": "succeeded", "assistant_text": "There are several."}
            await client.request("turn/finish", answer)
            assert diet in recalled(turn)["memory_ids"], text


@journey
async def test_every_page_is_a_part_of_one_order(tmp_path: Path, model: Path) -> None:
    den = Den(tmp_path, model=model)
    async with den.client() as client:
        for n in range(45):
            await remember(
                client, f"The automobile number {n} has {'a long' if n % 3 else 'no'} history {'x' * (n % 5)}"
            )
        await drain(client)

        async def paged(limit: int, mode: str) -> list[str]:
            got: list[str] = []
            cursor = None
            while True:
                asked = {"query": "automobile history", "limit": limit, "mode": mode}
                page = await client.request("memory/search", asked | ({"cursor": cursor} if cursor else {}))
                got += [hit["record"]["memory_id"] for hit in page["hits"]]
                cursor = page["next_cursor"]
                if cursor is None:
                    return got

        await paged(5, "hybrid")  # the model is loaded by the first search
        for mode in ("hybrid", "lexical", "semantic"):
            whole = await paged(100, mode)
            assert len(set(whole)) == len(whole) >= 20, mode
            assert await paged(4, mode) == whole, mode
            assert await paged(33, mode) == whole, mode
