"""Conversation found by its meaning, over the wire: with a model, after a restart, with another model, and without any."""

import shutil
from pathlib import Path
from typing import Any

import pytest
from spawned import Den, ask_with_meaning, drain, journey
from tiny_model import make_tiny_model

SAID = (
    ("user", "We parked the old automobile behind the barn."),
    ("assistant", "The hound sleeps in the kitchen."),
    ("user", "Oolong in the afternoon, please."),
    ("assistant", "The gardener comes on Mondays."),
)


@pytest.fixture(scope="module")
def models(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two tiny models that make different vectors."""
    folder = tmp_path_factory.mktemp("models")
    make_tiny_model(folder / "one", seed=1)
    make_tiny_model(folder / "two", seed=2, dim=64)
    shutil.copytree(folder / "one", folder / "torn")
    onnx = folder / "torn" / "onnx" / "model.onnx"
    onnx.write_bytes(onnx.read_bytes()[:5000])
    return folder


async def tell(client: Any) -> None:
    for number, (role, text) in enumerate(SAID):
        turn = {"turn_id": f"trn_{number}", "at": 1_700_000_000_000, "items": [{"role": role, "text": text}]}
        source = {"kind": "journey", "id": f"s{number}"}
        await client.request(
            "thread/import",
            {"workspace_id": "ws_here", "thread_id": f"thr_{number}", "source": source, "turns": [turn]},
        )
    await drain(client)


def asked(query: str, **more: Any) -> dict[str, Any]:
    return {"workspace_id": "ws_here", "query": query, "min_score": 0.0, **more}


async def found(client: Any, query: str, **more: Any) -> dict[str, Any]:
    return await ask_with_meaning(client, "thread_episodic/search", asked(query, **more))


def first(answer: dict[str, Any]) -> str | None:
    return answer["hits"][0]["text"] if answer["hits"] else None


def codes(answer: dict[str, Any]) -> list[str]:
    return [one["code"] for one in answer["diagnostics"]]


VECTORS = "SELECT id, chunk, space_id FROM chunk_vec ORDER BY id"


@journey
async def test_what_was_said_in_other_words_is_found_and_a_restart_keeps_the_vectors(
    tmp_path: Path, models: Path
) -> None:
    den = Den(tmp_path, model=models / "one")
    async with den.client() as client:
        await tell(client)
        answer = await client.request("thread_episodic/search", asked("which car is parked"))
        assert first(answer) == SAID[0][1]
        assert "meaning" in answer["hits"][0]["breakdown"]
        assert "semantic_off" not in codes(answer)
        assert first(await found(client, "puppy sleeps")) == SAID[1][1]
        assert first(await found(client, "puppy sleeps", roles=["user"])) != SAID[1][1]
    before = den.database().execute(VECTORS).fetchall()
    assert len(before) == len(SAID)
    async with den.client() as client:
        assert first(await found(client, "a puppy in a kitchen")) == SAID[1][1]
        await client.request(
            "thread_episodic/exclude", {"item_id": (await found(client, "puppy"))["hits"][0]["item_id"]}
        )
        assert SAID[1][1] not in [hit["text"] for hit in (await found(client, "puppy sleeps in the kitchen"))["hits"]]
    after = den.database().execute(VECTORS).fetchall()
    assert set(after) < set(before), "nothing was made anew"
    assert len(after) == len(before) - 1


@journey
async def test_another_model_takes_over_while_search_goes_on(tmp_path: Path, models: Path) -> None:
    den = Den(tmp_path, model=models / "one")
    async with den.client() as client:
        await tell(client)
        assert first(await found(client, "which car is parked")) == SAID[0][1]
        await client.request("settings/update", {"update": {"embedding": {"model_path": str(models / "two")}}})
        assert first(await found(client, "which automobile is parked")) == SAID[0][1]
        while (await client.request("gateway/status", {}))["search"].get("dim") != 64:
            await drain(client)
        assert first(await found(client, "which car is parked")) == SAID[0][1]
    missing = (
        "SELECT count(*) FROM chunk WHERE NOT EXISTS (SELECT 1 FROM chunk_vec JOIN space ON space.id = space_id "
        "WHERE chunk_vec.chunk = chunk.id AND space.dim = 64)"
    )
    assert den.database().execute(missing).fetchall() == [(0,)]


@journey
@pytest.mark.parametrize("model", ["nowhere", "torn"])
async def test_without_a_model_that_works_words_find_and_the_answer_says_so(
    tmp_path: Path, models: Path, model: str
) -> None:
    den = Den(tmp_path, model=models / model)
    async with den.client() as client:
        await tell(client)
        answer = await found(client, "automobile behind the barn")
        assert (first(answer), answer["status"]) == (SAID[0][1], "completed")
        assert "semantic_off" in codes(answer)
        assert "meaning" not in answer["hits"][0]["breakdown"]
        assert (await found(client, "puppy"))["hits"] == []
    assert den.database().execute(VECTORS).fetchall() == []
