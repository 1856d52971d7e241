"""Meaning from the first minute: without a model, without settings, without a network; and every way to a better model
and back."""

import shutil
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from command_line import Ended, run
from spawned import Den, ask_with_meaning, drain, journey, on_linux, remember
from tiny_model import make_tiny_model

from gateway.embedding.spaces import STATIC_NAME
from gateway.wire.client import GatewayClient

FACTS = (
    "The user drives an old automobile.",
    "The hound of the user sleeps in the kitchen.",
    "The user works as a gardener.",
)
CAR = "an old car is driven"
"""Shares one word with the first fact."""


class FirstMinute(Den):
    """A home whose configuration says nothing of models."""

    def __init__(self, folder: Path, config: str = "") -> None:
        super().__init__(folder)
        self.config.write_text(config, encoding="utf-8")


@pytest.fixture(scope="module")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model that reads sentences, as far as the gateway can tell."""
    return make_tiny_model(tmp_path_factory.mktemp("models") / "one", seed=1)


async def by_meaning(client: GatewayClient, query: str) -> list[str]:
    """The facts that a search by meaning alone finds, best first; the model is waited for."""
    answer = await ask_with_meaning(client, "memory/search", {"query": query, "mode": "semantic"})
    assert answer["semantic"] != "off"
    return [hit["record"]["content"] for hit in answer["hits"]]


async def search_state(client: GatewayClient) -> dict[str, Any]:
    return (await client.request("gateway/status", {}))["search"]


async def until_kind(client: GatewayClient, kind: str) -> None:
    """Wait until the space of that kind is searched."""
    while (await search_state(client))["kind"] != kind:
        await drain(client)


async def use(client: GatewayClient, **patch: Any) -> None:
    await client.request("settings/update", {"update": {"embedding": patch}})


def lacking(den: Den) -> dict[str, int]:
    """How many facts have no vector, by the kind of space."""
    with closing(sqlite3.connect(den.home / "gateway.db")) as connection:
        statement = (
            "SELECT model, (SELECT count(*) FROM record WHERE NOT EXISTS"
            " (SELECT 1 FROM memory_vec WHERE record_id = record.id AND space_id = space.id)) FROM space"
        )
        return dict(connection.execute(statement).fetchall())


def command(den: Den, *arguments: str) -> Ended:
    return run(*arguments, "--home", str(den.home), "--config", str(den.config))


# -- over the wire -----------------------------------------------------------------------------------------------------


@journey
async def test_a_new_home_finds_by_meaning_without_a_word_of_setup(tmp_path: Path) -> None:
    den = FirstMinute(tmp_path)
    async with den.client() as client:
        assert (await search_state(client))["semantic"] == "pending"
        for fact in FACTS:
            await remember(client, fact)
        await drain(client)
        assert (await by_meaning(client, CAR))[0] == FACTS[0]
        assert (await by_meaning(client, "the user is employed in gardening"))[0] == FACTS[2]
        shown = await search_state(client)
        assert (shown["semantic"], shown["kind"], shown["model"], shown["dim"]) == ("ready", "static", STATIC_NAME, 256)
        assert (await client.request("gateway/status", {}))["degraded"] == []
        hybrid = await ask_with_meaning(client, "memory/search", {"query": CAR})
        assert (hybrid["semantic"], hybrid["diagnostics"]) == ("ready", [])
    assert lacking(den) == {STATIC_NAME: 0}


@on_linux
@pytest.mark.cold
@journey
async def test_a_start_loads_nothing_heavy_and_the_first_question_only_numpy(tmp_path: Path) -> None:
    def loaded(client: GatewayClient) -> set[str]:
        maps = Path(f"/proc/{client.pid}/maps").read_text(encoding="utf-8")
        return {name for name in ("numpy", "tokenizers", "onnxruntime", "safetensors") if f"/{name}" in maps}

    den = FirstMinute(tmp_path)
    async with den.client() as client:
        await drain(client)
        assert loaded(client) == set()
        await remember(client, FACTS[0])
        await drain(client)
        assert await by_meaning(client, CAR) == [FACTS[0]]
        assert loaded(client) == {"numpy"}
    async with den.client() as client:  # a home that is used already
        await drain(client)
        assert loaded(client) == set()
        assert await by_meaning(client, CAR) == [FACTS[0]]


@journey
async def test_a_better_model_takes_over_in_place_and_gives_way_again(tmp_path: Path, tiny: Path) -> None:
    den = FirstMinute(tmp_path)
    async with den.client() as client:
        for fact in FACTS:
            await remember(client, fact)
        await drain(client)
        assert (await by_meaning(client, CAR))[0] == FACTS[0]
        await use(client, model="test/tiny", model_path=str(tiny))
        assert (await by_meaning(client, CAR))[0] == FACTS[0]  # whichever space answers by now
        await until_kind(client, "model")
        assert (await by_meaning(client, "a puppy of the user sleeps"))[0] == FACTS[1]
    gone = tiny.rename(tiny.parent / "away")
    try:
        async with den.client() as client:
            assert (await by_meaning(client, CAR))[0:1] in ([], [FACTS[0]])  # until the job has filled the space again
            await drain(client)
            assert (await by_meaning(client, CAR))[0] == FACTS[0]
            await remember(client, "The user owns a yellow bicycle.")
            await drain(client)
            assert (await search_state(client))["kind"] == "static"
            [told] = (await client.request("gateway/status", {}))["degraded"]
            assert (told["component"], told["reason"]) == ("embedding", "model_missing")
    finally:
        gone.rename(tiny)
    async with den.client() as client:
        await until_kind(client, "model")
        assert (await by_meaning(client, "a yellow bike"))[0] == "The user owns a yellow bicycle."
        assert (await client.request("gateway/status", {}))["degraded"] == []
    assert lacking(den) == {STATIC_NAME: 0, "test/tiny": 0}


@journey
async def test_a_restart_is_answered_by_the_static_space_until_the_models_is_filled(tmp_path: Path, tiny: Path) -> None:
    den = FirstMinute(tmp_path)
    async with den.client() as client:
        await remember(client, FACTS[0])
        await drain(client)
    den.config.write_text(
        f'[gateway.embedding]\nmodel = "test/tiny"\nmodel_path = "{tiny.as_posix()}"\n', encoding="utf-8"
    )
    async with den.client() as client:
        assert await by_meaning(client, CAR) == [FACTS[0]]
        await until_kind(client, "model")
        assert await by_meaning(client, CAR) == [FACTS[0]]


@journey
async def test_a_model_that_was_fetched_meanwhile_is_noticed(tmp_path: Path, tiny: Path) -> None:
    den = FirstMinute(tmp_path, '[gateway.embedding]\nmodel = "test/tiny"\n')
    async with den.client() as client:
        await remember(client, FACTS[0])
        await drain(client)
        assert await by_meaning(client, CAR) == [FACTS[0]]
        shutil.copytree(tiny, den.home / "models" / "models--test--tiny" / "snapshots" / "r1")
        async with den.client() as other:  # whatever another process does in the home has this one look
            await remember(other, FACTS[1])
        await until_kind(client, "model")
        await drain(client)
        assert (await by_meaning(client, "a puppy of the user sleeps"))[0] == FACTS[1]


@journey
async def test_a_broken_model_leaves_the_static_one(tmp_path: Path, tiny: Path) -> None:
    torn = tmp_path / "torn"
    shutil.copytree(tiny, torn)
    (torn / "onnx" / "model.onnx").write_bytes(b"no model")
    den = FirstMinute(tmp_path / "den", f'[gateway.embedding]\nmodel_path = "{torn.as_posix()}"\n')
    async with den.client() as client:
        await remember(client, FACTS[0])
        await drain(client)
        assert await by_meaning(client, CAR) == [FACTS[0]]
        assert (await search_state(client))["kind"] == "static"
        [told] = (await client.request("gateway/status", {}))["degraded"]
        assert (told["component"], told["reason"]) == ("embedding", "model_broken")


@journey
async def test_a_model_that_goes_missing_while_it_is_used_is_told(tmp_path: Path, tiny: Path) -> None:
    den = FirstMinute(tmp_path / "den", f'[gateway.embedding]\nmodel = "test/tiny"\nmodel_path = "{tiny.as_posix()}"\n')
    async with den.client() as client:
        await remember(client, FACTS[0])
        await drain(client)
        await until_kind(client, "model")
        await use(client, model="test/other", model_path=None)
        await client.wait_for("gateway/degraded", lambda told: told["component"] == "embedding")
        await drain(client)
        assert (await search_state(client))["kind"] == "model"  # what is in memory goes on
        [told] = (await client.request("gateway/status", {}))["degraded"]
        assert told["reason"] == "model_missing"
    async with den.client() as client:
        await remember(client, FACTS[1])
        await drain(client)
        assert (await by_meaning(client, CAR))[0] == FACTS[0]
        assert (await search_state(client))["kind"] == "static"


@journey
async def test_it_is_switched_off_alone_and_with_everything_and_on_again(tmp_path: Path) -> None:
    den = FirstMinute(tmp_path)
    async with den.client() as client:
        await remember(client, FACTS[0])
        await drain(client)
        assert await by_meaning(client, CAR) == [FACTS[0]]
        for off, on in (
            ({"embedded_default": False}, {"embedded_default": None}),
            ({"enabled": False}, {"enabled": None}),
        ):
            await use(client, **off)
            while (await search_state(client))["semantic"] != "off":
                await drain(client)
            answer = await client.request("memory/search", {"query": CAR, "mode": "semantic"})
            assert (answer["hits"], [one["code"] for one in answer["diagnostics"]]) == ([], ["semantic_off"])
            written = await remember(client, f"The user bought {len(off)} bicycle while {next(iter(off))} was off.")
            await drain(client)
            assert (await client.request("memory/stats", {}))["index"]["pending"] == 0
            await use(client, **on)
            await until_kind(client, "static")
            await drain(client)
            assert (await client.request("memory/get", {"memory_id": written}))["record"]["index_state"] == "indexed"
    assert lacking(den) == {STATIC_NAME: 0}


# -- on the command line -----------------------------------------------------------------------------------------------


def test_remember_writes_the_vector_and_search_goes_by_meaning(tmp_path: Path) -> None:
    den = FirstMinute(tmp_path)
    for fact in FACTS:
        ended = command(den, "remember", fact, "--json")
        assert (ended.code, ended.json["record"]["index_state"]) == (0, "indexed")
    assert lacking(den) == {STATIC_NAME: 0}
    found = command(den, "search", "vehicles and motoring", "--json")
    assert found.json["semantic"] == "ready"
    assert command(den, "search", CAR, "--json").json["hits"][0]["breakdown"]["semantic"] > 0.5
    by_words = command(den, "search", CAR, "--words", "--json")
    assert "semantic" not in by_words.json["hits"][0]["breakdown"]
    for ended in (found, command(den, "search", CAR)):
        assert ended.err == ""
        assert "off" not in ended.out
    assert command(den, "status", "--json").json["search"]["semantic"] == "pending"
    assert command(den, "search", CAR, "--words", "--meaning").code == 64


def test_what_has_no_vector_is_told_and_made(tmp_path: Path) -> None:
    den = FirstMinute(tmp_path, "[gateway.embedding]\nenabled = false\n")
    for fact in FACTS:
        assert command(den, "remember", fact).code == 0
    assert command(den, "search", CAR).err == ""
    den.config.write_text("", encoding="utf-8")
    assert "3 facts have no vector yet" in command(den, "search", CAR).err
    assert "3 facts, 0 pieces of conversations and 0 pieces of files" in command(den, "doctor").out
    before = command(den, "models", "--json").json
    assert (before["vectors"]["facts"], before["vectors"]["facts_with_vector"]) == (3, 0)
    made = command(den, "models", "index", "--json").json["vectors"]
    assert made == {
        "model": STATIC_NAME,
        "kind": "static",
        "dim": 256,
        "facts": 3,
        "facts_with_vector": 3,
        "pieces": 0,
        "pieces_with_vector": 0,
        "file_pieces": 0,
        "file_pieces_with_vector": 0,
    }
    after = command(den, "search", CAR, "--json")
    assert (after.err, after.json["hits"][0]["record"]["content"]) == ("", FACTS[0])
    assert "no vector" not in command(den, "doctor").out


def test_models_index_brings_the_better_model_into_use(tmp_path: Path, tiny: Path) -> None:
    den = FirstMinute(tmp_path)
    for fact in FACTS:
        assert command(den, "remember", fact).code == 0
    shown = command(den, "models")
    assert "3 of 3 have a vector" in shown.out
    assert "pioneer models fetch" in shown.err
    den.config.write_text(
        f'[gateway.embedding]\nmodel = "test/tiny"\nmodel_path = "{tiny.as_posix()}"\n', encoding="utf-8"
    )
    assert "pioneer models index" in command(den, "models").err
    assert command(den, "search", CAR, "--json").json["semantic"] == "ready"  # in the space that is filled
    made = command(den, "models", "index", "--json").json
    assert (made["vectors"]["kind"], made["vectors"]["facts_with_vector"], made["advice"]) == ("model", 3, [])
    assert (
        command(den, "search", "the puppy of the user sleeps in the kitchen", "--json").json["hits"][0]["record"][
            "content"
        ]
        == FACTS[1]
    )
    den.config.write_text("", encoding="utf-8")  # and back: the model is not named any more
    assert "3 facts have no vector yet" in command(den, "search", CAR).err
    assert command(den, "models", "index", "--json").json["vectors"]["kind"] == "static"
    assert command(den, "search", CAR, "--json").json["hits"][0]["record"]["content"] == FACTS[0]


def test_models_index_counts_and_makes_vectors_of_files_and_a_changed_model_takes_over_with_them(
    tmp_path: Path, tiny: Path
) -> None:
    den = FirstMinute(tmp_path, "[gateway.embedding]\nenabled = false\n")
    notes = tmp_path / "notes"
    notes.mkdir()
    (notes / "hound.md").write_text("# Hound\n\nThe hound sleeps in the kitchen.\n", encoding="utf-8")
    (notes / "tool.py").write_text("hound = 1\n", encoding="utf-8")  # code is not searched by meaning
    assert command(den, "remember", FACTS[0]).code == 0
    assert command(den, "knowledge", "add", str(notes), "--scope", "user").code == 0

    def of_files() -> tuple[str | None, int, int]:
        vectors = command(den, "models", "--json").json["vectors"]
        return vectors["kind"], vectors["file_pieces_with_vector"], vectors["file_pieces"]

    assert of_files() == (None, 0, 1)
    den.config.write_text("", encoding="utf-8")
    assert "1 facts, 0 pieces of conversations and 1 pieces of files" in command(den, "doctor").out
    assert "pioneer models index" in command(den, "models").err
    assert command(den, "models", "index").code == 0
    assert of_files() == ("static", 1, 1)
    shown = command(den, "models")
    assert "1 of 1 pieces have a vector" in shown.out
    den.config.write_text(
        f'[gateway.embedding]\nmodel = "test/tiny"\nmodel_path = "{tiny.as_posix()}"\n', encoding="utf-8"
    )
    made = command(den, "models", "index", "--json").json
    assert (made["vectors"]["kind"], made["advice"]) == ("model", [])
    assert of_files() == ("model", 1, 1)
    found = command(den, "knowledge", "search", "puppy", "--json").json["hits"]
    assert [hit["title"] for hit in found] == ["Hound"]


def test_every_command_that_writes_a_fact_leaves_it_with_its_vector(tmp_path: Path) -> None:
    den, other = FirstMinute(tmp_path / "den"), FirstMinute(tmp_path / "other")
    kept = command(den, "remember", FACTS[0], "--json").json["record"]["memory_id"]
    assert command(den, "edit", kept, "The user drives a small tractor.").code == 0
    assert command(den, "search", "farm machines", "--json").err == ""
    assert command(den, "forget", kept).code == 0
    assert command(den, "restore", kept).code == 0
    assert command(den, "export", str(tmp_path / "all.jsonl")).code == 0
    assert command(other, "import", str(tmp_path / "all.jsonl")).code == 0
    for one in (den, other):
        vectors = command(one, "models", "--json").json["vectors"]
        assert vectors["facts"] == vectors["facts_with_vector"] > 0


def test_without_any_model_index_says_so(tmp_path: Path) -> None:
    den = FirstMinute(tmp_path, "[gateway.embedding]\nembedded_default = false\n")
    assert command(den, "remember", FACTS[0]).code == 0
    ended = command(den, "models", "index")
    assert (ended.code, "no embedding model" in ended.err) == (69, True)
    assert command(den, "models").code == 1


def test_what_was_imported_is_recalled_by_meaning(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)  # no project: what was imported without one lies where this folder looks
    den = FirstMinute(tmp_path / "den")
    notes = tmp_path / "talk.md"
    notes.write_text(
        "# A talk\n\n**User:** The automobile needs a new clutch.\n\n**Assistant:** I noted that.\n", encoding="utf-8"
    )
    imported = command(den, "import", str(notes), "--json")
    assert imported.code == 0, imported.err
    recalled = command(den, "recall", "the clutch of the car", "--json")
    assert any("clutch" in hit["snippet"] for hit in recalled.json["hits"])
    told = command(den, "models", "--json").json["vectors"]
    assert 0 < told["pieces"] == told["pieces_with_vector"]


@pytest.mark.skipif(sys.platform == "win32", reason="there are no pseudo-terminals")
def test_a_search_in_a_process_of_its_own_loads_numpy_and_nothing_else(tmp_path: Path) -> None:
    den = FirstMinute(tmp_path)
    assert command(den, "remember", FACTS[0]).code == 0
    heavy = ("fastembed", "onnxruntime", "tokenizers", "safetensors", "wordllama", "gateway.wiring", "memory.service")
    code = (
        f"import sys; from gateway.cli import main; code = main(['search', {CAR!r}, '--home', {str(den.home)!r}]);"
        f"print(code, 'numpy' in sys.modules, [name for name in {heavy!r} if name in sys.modules], file=sys.stderr)"
    )
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert ended.stderr.strip() == "0 True []"
    assert FACTS[0] in ended.stdout
