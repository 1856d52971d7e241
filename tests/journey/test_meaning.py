"""Search by meaning, over the wire: a model comes, goes, is changed and is broken, and what was written is found all
the while."""

import shutil
from pathlib import Path
from typing import Any

import pytest
from spawned import Den, ask_with_meaning, drain, hello, journey, remember
from tiny_model import make_tiny_model

FACTS = (
    "The user drives an old automobile.",
    "The hound of the user sleeps in the kitchen.",
    "The user drinks oolong in the afternoon.",
    "The user works as a gardener.",
)


@pytest.fixture(scope="module")
def models(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two tiny models that make different vectors, and one that is broken."""
    folder = tmp_path_factory.mktemp("models")
    make_tiny_model(folder / "one", seed=1)
    make_tiny_model(folder / "two", seed=2, dim=64)
    shutil.copytree(folder / "one", folder / "torn")
    onnx = folder / "torn" / "onnx" / "model.onnx"
    onnx.write_bytes(onnx.read_bytes()[:5000])
    return folder


async def search(client: Any, query: str, mode: str = "hybrid") -> dict[str, Any]:
    return await ask_with_meaning(client, "memory/search", {"query": query, "mode": mode})


def contents(answer: dict[str, Any]) -> list[str]:
    return [hit["record"]["content"] for hit in answer["hits"]]


async def tell(client: Any) -> list[str]:
    ids = [await remember(client, content) for content in FACTS]
    await drain(client)
    return ids


async def status(client: Any) -> dict[str, Any]:
    return await client.request("gateway/status", {})


async def use(client: Any, folder: Path | None, **more: Any) -> None:
    patch = {"model_path": str(folder) if folder else None, **more}
    await client.request("settings/update", {"update": {"embedding": patch}})


async def until_model(client: Any, dim: int) -> None:
    """Wait for the space of that many numbers to be the one that is searched."""
    while (await status(client))["search"].get("dim") != dim:
        await drain(client)


@journey
async def test_what_shares_no_word_is_found_by_what_it_means(tmp_path: Path, models: Path) -> None:
    den = Den(tmp_path, model=models / "one")
    async with await den.spawn() as client:
        said = await hello(client)
        assert said["search"] == {"lexical": True, "semantic": "pending", "model": None, "dim": None, "kind": None}
        ids = await tell(client)
        answer = await client.request("memory/search", {"query": "which car is driven", "mode": "hybrid"})
        assert answer["semantic"] == "ready"
        assert answer["diagnostics"] == []
        assert contents(answer)[0] == FACTS[0]
        assert answer["hits"][0]["breakdown"]["semantic"] > 0.5
        assert contents(await search(client, "a puppy of the user sleeps", "semantic"))[0] == FACTS[1]
        lexical = await search(client, "puppy", "lexical")
        assert (lexical["hits"], lexical["semantic"]) == ([], "ready")
        shown = (await status(client))["search"]
        assert (shown["semantic"], shown["model"], shown["dim"], shown["kind"]) == ("ready", "test/tiny", 48, "model")
        record = (await client.request("memory/get", {"memory_id": ids[0]}))["record"]
        assert record["index_state"] == "indexed"
        why = await client.request("memory/explain", {"query": "which car is driven"})
        assert why["candidates"][0]["memory_id"] == ids[0]
        await client.request("memory/forget", {"target": {"kind": "id", "memory_id": ids[0]}})
        assert FACTS[0] not in contents(await search(client, "the user drives an old car", "semantic"))


@journey
async def test_a_restart_keeps_the_vectors(tmp_path: Path, models: Path) -> None:
    den = Den(tmp_path, model=models / "one")
    async with den.client() as client:
        await tell(client)
        assert (await search(client, "puppy sleeps"))["semantic"] == "ready"
    rows = "SELECT id, record_id FROM memory_vec ORDER BY id"
    before = den.database().execute(rows).fetchall()
    assert len(before) == len(FACTS)
    async with den.client() as client:
        assert contents(await search(client, "a puppy sleeps in a kitchen"))[0] == FACTS[1]
    assert den.database().execute(rows).fetchall() == before


@journey
async def test_another_model_takes_over_in_the_background_and_gives_way_again(tmp_path: Path, models: Path) -> None:
    den = Den(tmp_path, model=models / "one")
    async with den.client() as client:
        await tell(client)
        assert contents(await search(client, "a car is driven"))[0] == FACTS[0]
        await use(client, models / "two")
        assert contents(await search(client, "a car is driven"))[0] == FACTS[0]  # whichever space answers by now
        await until_model(client, 64)
        assert contents(await search(client, "a car is driven"))[0] == FACTS[0]
        await remember(client, "The user owns a yellow bicycle.")
        await drain(client)
        await use(client, models / "one")
        await until_model(client, 48)
        assert contents(await search(client, "a yellow bike"))[0] == "The user owns a yellow bicycle."
    states = den.database().execute("SELECT dim, state FROM space ORDER BY dim").fetchall()
    assert states == [(48, "current"), (64, "retired")]
    missing = "SELECT count(*) FROM record WHERE NOT EXISTS (SELECT 1 FROM memory_vec JOIN space ON space.id = space_id WHERE record_id = record.id AND dim = 48)"
    assert den.database().execute(missing).fetchall() == [(0,)]


@journey
async def test_a_model_that_is_not_there_is_a_state(tmp_path: Path, models: Path) -> None:
    den = Den(tmp_path, model=tmp_path / "nowhere")
    async with await den.spawn() as client:
        assert (await hello(client))["search"]["semantic"] == "off"
        await tell(client)
        answer = await search(client, "automobile puppy")
        assert (answer["semantic"], [d["code"] for d in answer["diagnostics"]]) == ("off", ["semantic_off"])
        assert contents(answer) == [FACTS[0]]
        shown = await status(client)
        assert {"component": "embedding", "reason": "model_missing"}.items() <= shown["degraded"][0].items()
        stats = await client.request("memory/stats", {})
        assert stats["index"]["pending"] == 0
        await use(client, models / "one")
        await client.wait_for("gateway/recovered", lambda told: told["component"] == "embedding")
        await search(client, "a vehicle")  # the first one asks for the model
        await drain(client)
        assert contents(await search(client, "drives an old car"))[0] == FACTS[0]
        assert (await status(client))["degraded"] == []


@journey
async def test_a_broken_model_is_a_state_and_the_one_before_goes_on(tmp_path: Path, models: Path) -> None:
    den = Den(tmp_path, model=models / "one")
    async with den.client() as client:
        await tell(client)
        assert contents(await search(client, "a puppy sleeps in a kitchen"))[0] == FACTS[1]
        await use(client, models / "torn")
        await client.wait_for("gateway/degraded", lambda told: told["component"] == "embedding")
        answer = await search(client, "a puppy sleeps in a kitchen")
        assert (answer["semantic"], contents(answer)[0]) == ("ready", FACTS[1])
        await remember(client, "The user has a kitten.")
        await drain(client)
        assert "The user has a kitten." in contents(await search(client, "a cat"))
        await use(client, models / "one")
        await client.wait_for("gateway/recovered", lambda told: told["component"] == "embedding")
    async with Den(tmp_path / "fresh", model=models / "torn").client() as client:
        await tell(client)
        assert contents(await search(client, "automobile")) == [FACTS[0]]
        assert {d["reason"] for d in (await status(client))["degraded"]} == {"model_broken"}
        assert (await search(client, "automobile"))["semantic"] == "off"


@journey
async def test_meaning_is_switched_off_and_on_live(tmp_path: Path, models: Path) -> None:
    den = Den(tmp_path, model=models / "one")
    async with den.client() as client:
        await tell(client)
        assert (await search(client, "puppy"))["semantic"] == "ready"
        await client.request("settings/update", {"update": {"embedding": {"enabled": False}}})
        answer = await search(client, "puppy")
        assert (answer["semantic"], answer["hits"]) == ("off", [])
        await remember(client, "The user has a kitten.")
        await drain(client)
        assert (await client.request("memory/stats", {}))["index"]["pending"] == 0
        await client.request("settings/update", {"update": {"embedding": {"enabled": True}}})
        await search(client, "wake up")
        await drain(client)
        assert contents(await search(client, "that is a cat"))[0] == "The user has a kitten."


@journey
async def test_two_processes_search_what_either_wrote(tmp_path: Path, models: Path) -> None:
    den = Den(tmp_path, model=models / "one")
    async with den.client() as one, den.client() as two:
        await tell(one)
        assert contents(await search(two, "a puppy sleeps in a kitchen"))[0] == FACTS[1]
        await remember(two, "The user has a kitten.")
        await drain(two)
        assert contents(await search(one, "that is a cat"))[0] == "The user has a kitten."
