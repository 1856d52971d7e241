"""The embedding model: the same vectors in any company, queries first, and no failure without a reason."""

import asyncio
import contextlib
import hashlib
import http.server
import json
import os
import random
import shutil
import socket
import subprocess
import sys
import threading
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tiny_model import SYNONYMS, make_tiny_model, some_words

from gateway.embedding import embedder as module
from gateway.embedding import engine
from gateway.embedding.embedder import (
    BATCH_BYTES,
    BATCH_TEXTS,
    MAX_CHARS,
    QUERIES_KEPT,
    EmbedderError,
    ModelIdentity,
    batches_of,
    load,
)
from gateway.embedding.model_files import locate
from protocol.settings import EmbeddingSettings

ROOT = Path(__file__).resolve().parents[2]
REAL = Path(os.environ.get("PIONEER_TEST_MODEL") or ROOT / "../shared/models/all-MiniLM-L6-v2")
TEXTS = [
    "one small thing",
    "",
    "Where did I park my automobile?",
    some_words(150),
    "日本語のテキスト",
    some_words(40, 1),
    "x",
]


@pytest.fixture(scope="module")
def tiny(tmp_path_factory):
    return make_tiny_model(tmp_path_factory.mktemp("models") / "tiny")


@pytest.fixture(params=["tiny", pytest.param("real", marks=pytest.mark.loop("check"))])
def folder(request, tiny):
    if request.param == "tiny":
        return tiny
    if not REAL.is_dir():
        pytest.skip("the model is not on this machine")
    return REAL


@contextlib.asynccontextmanager
async def loaded(folder, name="test/model"):
    files = locate(EmbeddingSettings(model=name, model_path=str(folder)), folder).files
    embedder = await load(name, files, cache_dir=folder)
    try:
        yield embedder
    finally:
        embedder.close()
        await embedder.wait_closed()


def numbers(vectors):
    return np.stack([np.frombuffer(vector, "<f2").astype(np.float64) for vector in vectors])


def reason_of(coroutine):
    with pytest.raises(EmbedderError) as raised:
        asyncio.run(coroutine)
    assert str(raised.value) == raised.value.reason
    assert raised.value.__cause__ is None
    assert raised.value.__context__ is None
    return raised.value.reason


async def load_and_close(folder):
    async with loaded(folder) as embedder:
        return embedder.identity


# -- vectors -----------------------------------------------------------------------------------------------------------


def test_a_text_has_one_unit_vector_in_any_company(folder):
    async def scene():
        async with loaded(folder) as embedder:
            mixed = TEXTS * 6
            random.Random(3).shuffle(mixed)
            together = numbers(await embedder.embed(mixed))
            alone = {text: numbers(await embedder.embed([text]))[0] for text in TEXTS}
            asked = {text: numbers([await embedder.embed_query(text)])[0] for text in TEXTS}
            return embedder.dim, mixed, together, alone, asked

    dim, mixed, together, alone, asked = asyncio.run(scene())
    assert together.shape == (len(mixed), dim)
    assert np.abs(np.linalg.norm(together, axis=1) - 1).max() < 1e-3
    for text, vector in zip(mixed, together, strict=True):
        assert vector @ alone[text] > 0.9995
        assert vector @ asked[text] > 0.9995
    assert alone[TEXTS[0]] @ alone[TEXTS[3]] < 0.9


def test_meaning_is_near_without_a_common_word(folder):
    async def scene():
        async with loaded(folder) as embedder:
            query = numbers([await embedder.embed_query("Where is my car?")])[0]
            return (
                numbers(await embedder.embed(["The automobile is parked outside", "We drank oolong together"])) @ query
            )

    near, far = asyncio.run(scene())
    assert near > far + 0.2


def test_the_identity_is_name_size_and_digest(tiny, tmp_path):
    first = asyncio.run(load_and_close(tiny))
    assert first == asyncio.run(load_and_close(tiny))  # the second time under the name that is registered already
    assert (first.name, first.dim) == ("test/model", 48)
    other = asyncio.run(load_and_close(make_tiny_model(tmp_path / "other", seed=1, dim=32)))
    assert (other.dim, other.digest != first.digest) == (32, True)


@pytest.mark.parametrize("name", ["sentence-transformers/all-MiniLM-L6-v2", "BAAI/bge-small-en-v1.5"])
def test_a_folder_may_bear_a_name_that_fastembed_knows(tiny, tmp_path, name):
    """Whether the file lies where fastembed has it, or elsewhere; and the family decides how tokens become a text."""
    flat = Path(shutil.copytree(tiny, tmp_path / "flat"))
    (flat / "onnx" / "model.onnx").rename(flat / ("model.onnx" if "MiniLM" in name else "model_optimized.onnx"))

    async def scene(folder):
        async with loaded(folder, name) as embedder:
            assert embedder.model == name
            return numbers(await embedder.embed(["my car", "the boat"]))

    deep, built_in = asyncio.run(scene(tiny)), asyncio.run(scene(flat))
    assert np.abs(deep - built_in).max() < 1e-3
    assert (deep[0] @ deep[1] > 0.999) == ("bge" in name)  # the first token is the same in both


def test_the_folder_may_say_how_its_tokens_are_pooled(tiny, tmp_path):
    folder = Path(shutil.copytree(tiny, tmp_path / "cls"))
    (folder / "1_Pooling").mkdir()
    (folder / "1_Pooling" / "config.json").write_text('{"pooling_mode_cls_token": true}')

    async def scene():
        async with loaded(folder) as embedder:
            one, other = await embedder.embed(["my car", "the boat"])
            return one == other

    assert asyncio.run(scene())


def test_long_broken_and_blank_texts_have_vectors(tiny):
    async def scene():
        async with loaded(tiny) as embedder:
            endless = "word " * MAX_CHARS
            assert await embedder.embed([]) == []
            odd = [endless, endless[:MAX_CHARS], "\ud800 half", "\x00", " \n", "", "."]
            return await embedder.embed(odd), await embedder.embed_query("\ud800 half")

    vectors, query = asyncio.run(scene())
    assert vectors[0] == vectors[1]
    assert vectors[4] == vectors[5] == vectors[6]
    assert vectors[2] == query


def test_a_model_whose_vectors_depend_on_company_gets_texts_one_by_one(tiny, monkeypatch):
    """As models with dynamic quantisation do; here the length of what is padded is mixed in."""
    sizes = []
    checked = engine.EmbeddingModel._embed_checked

    def swayed(self, texts, *, is_query):
        sizes.append(len(texts))
        found = checked(self, texts, is_query=is_query)
        found[:, 0] += (len(texts) - 1) * 0.2
        return found / np.linalg.norm(found, axis=1, keepdims=True)

    monkeypatch.setattr(engine.EmbeddingModel, "_embed_checked", swayed)

    async def scene():
        async with loaded(tiny) as embedder:
            del sizes[:]
            await embedder.embed(["a", "b", "c"])

    asyncio.run(scene())
    assert sizes == [1, 1, 1]


# -- the queue ---------------------------------------------------------------------------------------------------------


@given(st.lists(st.integers(0, 3000), max_size=200))
def test_batches_hold_every_place_once_and_are_small(sizes):
    batches = batches_of(sizes)
    assert sorted(place for batch in batches for place in batch) == list(range(len(sizes)))
    for batch in batches:
        assert 1 <= len(batch) <= BATCH_TEXTS
        assert len(batch) == 1 or len(batch) * max(sizes[place] for place in batch) <= BATCH_BYTES
    lengths = [sizes[place] for batch in batches for place in batch]
    assert lengths == sorted(lengths)


class Stage:
    """A model that waits for its cue and notes what it is given."""

    def __init__(self):
        self.identity = ModelIdentity("staged", 2, "d")
        self.seen = []
        self.begun = threading.Semaphore(0)
        self.cues = threading.Semaphore(0)
        self.is_broken = False

    def vectors(self, texts, **_):
        self.seen += texts
        self.begun.release()
        self.cues.acquire()
        if self.is_broken:
            raise ZeroDivisionError(texts[0])
        return [hashlib.sha256(text.encode()).digest()[:4] for text in texts]


def vector_of(text):
    return hashlib.sha256(text.encode()).digest()[:4]


@contextlib.asynccontextmanager
async def staged(monkeypatch):
    stage = Stage()
    monkeypatch.setattr(module, "open_model", lambda _: stage)
    embedder = await load("staged", None, cache_dir=Path("unused"), allow_download=True)
    try:
        yield stage, embedder
    finally:
        embedder.close()
        stage.cues.release(1000)
        await embedder.wait_closed()


async def begun(stage):
    await asyncio.to_thread(stage.begun.acquire)


async def turns_of_the_loop(count=3):
    for _ in range(count):
        await asyncio.sleep(0)


LONG = ["a" * BATCH_BYTES, "b" * BATCH_BYTES, "c" * BATCH_BYTES]
"""Each a batch of its own."""


def test_a_query_goes_before_the_texts_that_wait(monkeypatch):
    async def scene():
        async with staged(monkeypatch) as (stage, embedder):
            texts = asyncio.create_task(embedder.embed(LONG))
            await begun(stage)
            query = asyncio.create_task(embedder.embed_query("q"))
            await turns_of_the_loop()
            stage.cues.release(2)
            assert await query == vector_of("q")
            assert stage.seen[:2] == [LONG[0], "q"]
            stage.cues.release(10)
            assert await texts == [vector_of(text) for text in LONG]

    asyncio.run(scene())


def test_who_stops_waiting_stops_the_work(monkeypatch):
    async def scene():
        async with staged(monkeypatch) as (stage, embedder):
            first = asyncio.create_task(embedder.embed(LONG))
            await begun(stage)
            second = asyncio.create_task(embedder.embed(["never"]))
            query = asyncio.create_task(embedder.embed_query("nor this"))
            await turns_of_the_loop()
            for task in (first, second, query):
                task.cancel()
            await asyncio.gather(first, second, query, return_exceptions=True)
            assert all(task.cancelled() for task in (first, second, query))
            stage.cues.release(10)
            assert await embedder.embed(["after"]) == [vector_of("after")]
            assert stage.seen == [LONG[0], "after"]

    asyncio.run(scene())


def test_a_query_under_way_is_asked_once_and_lives_as_long_as_one_waits(monkeypatch):
    async def scene():
        async with staged(monkeypatch) as (stage, embedder):
            waiting = [asyncio.create_task(embedder.embed_query("same")) for _ in range(5)]
            await begun(stage)
            waiting[0].cancel()
            await turns_of_the_loop()
            stage.cues.release(1)
            assert await asyncio.gather(*waiting[1:]) == [vector_of("same")] * 4
            assert await embedder.embed_query("same") == vector_of("same")
            assert stage.seen == ["same"]

    asyncio.run(scene())


def test_queries_are_kept_by_their_exact_text_the_oldest_go(monkeypatch):
    async def scene():
        async with staged(monkeypatch) as (stage, embedder):
            stage.cues.release(5 * QUERIES_KEPT)
            assert await embedder.embed_query("Turkey") != await embedder.embed_query("turkey")
            for number in range(QUERIES_KEPT - 2):
                await embedder.embed_query(str(number))
            await embedder.embed_query("Turkey")  # young again
            await embedder.embed_query("one more")
            del stage.seen[:]
            await embedder.embed_query("Turkey")
            await embedder.embed_query("turkey")
            assert stage.seen == ["turkey"]

    asyncio.run(scene())


def test_the_queue_has_an_end_and_outside_of_it_nobody_is_lost(monkeypatch):
    async def scene():
        async with staged(monkeypatch) as (stage, embedder):
            calls = [asyncio.create_task(embedder.embed([str(number)])) for number in range(200)]
            await begun(stage)
            assert len(embedder._worker._open_calls) == module.CALLS_WAITING
            calls[150].cancel()  # waits outside
            stage.cues.release(1000)
            done = await asyncio.gather(*calls, return_exceptions=True)
            assert isinstance(done.pop(150), asyncio.CancelledError)
            assert done == [[vector_of(str(number))] for number in range(200) if number != 150]

    asyncio.run(scene())


def test_closing_fails_whoever_waits_and_ends_the_thread(monkeypatch):
    async def scene():
        async with staged(monkeypatch) as (stage, embedder):
            calls: list[asyncio.Task[Any]] = [asyncio.create_task(embedder.embed(LONG)) for _ in range(100)]
            calls += [asyncio.create_task(embedder.embed_query(str(number))) for number in range(100)]
            await begun(stage)
            embedder.close("model_missing")
            done = await asyncio.gather(*calls, return_exceptions=True)
            assert {str(error) for error in done} == {"model_missing"}
            assert len(stage.seen) == 1
            stage.cues.release(1)
            await embedder.wait_closed()
            embedder.close()  # again does no harm, and the first reason stands
            for late in (embedder.embed(["x"]), embedder.embed_query("x")):
                with pytest.raises(EmbedderError, match="model_missing"):
                    await late

    asyncio.run(scene())
    assert "embedder" not in {thread.name for thread in threading.enumerate()}


def test_a_failed_batch_fails_its_call_and_no_other(monkeypatch):
    async def scene():
        async with staged(monkeypatch) as (stage, embedder):
            stage.is_broken = True
            stage.cues.release(1)
            with pytest.raises(EmbedderError, match="model_broken") as raised:
                await embedder.embed(LONG)
            assert raised.value.__context__ is None
            assert len(stage.seen) == 1
            stage.is_broken = False
            stage.cues.release(1)
            assert await embedder.embed(["next"]) == [vector_of("next")]

    asyncio.run(scene())


def test_many_at_once_get_what_is_theirs(tiny):
    async def scene():
        async with loaded(tiny) as embedder:
            texts = [some_words(number % 30 + 1, number) for number in range(200)]
            alone = numbers(await embedder.embed(texts))
            found, queries = await asyncio.gather(
                asyncio.gather(*(embedder.embed([text, texts[0]]) for text in texts)),
                asyncio.gather(*(embedder.embed_query(text) for text in texts)),
            )
            assert ((numbers([pair[0] for pair in found]) * alone).sum(axis=1) > 0.9995).all()
            assert ((numbers(queries) * alone).sum(axis=1) > 0.9995).all()

    asyncio.run(scene())


def test_giving_up_a_load_ends_its_thread(tiny):
    async def scene():
        files = locate(EmbeddingSettings(model_path=str(tiny)), tiny).files
        task = asyncio.create_task(load("test/model", files, cache_dir=tiny))
        await turns_of_the_loop()
        thread = next(thread for thread in threading.enumerate() if thread.name == "embedder")
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        await asyncio.to_thread(thread.join)

    asyncio.run(scene())


# -- failures ----------------------------------------------------------------------------------------------------------


def copy_of(tiny, tmp_path):
    return Path(shutil.copytree(tiny, tmp_path / "model"))


@pytest.mark.parametrize("share", [0.0001, 0.3, 0.9999])
@pytest.mark.parametrize("name", ["onnx/model.onnx", "tokenizer.json"])
def test_a_truncated_file_is_a_broken_model(tiny, tmp_path, name, share):
    folder = copy_of(tiny, tmp_path)
    content = (folder / name).read_bytes()
    (folder / name).write_bytes(content[: max(1, int(len(content) * share))])
    assert reason_of(load_and_close(folder)) == "model_broken"


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("tokenizer.json", "{}"),
        ("tokenizer_config.json", "[]"),
        ("config.json", "{"),
        ("config.json", '{"vocab_size": 30522}'),
        ("onnx/model.onnx", "version https://git-lfs.github.com/spec/v1"),
        ("1_Pooling/config.json", "nothing"),
    ],
)
def test_foreign_content_is_a_broken_model(tiny, tmp_path, name, content):
    folder = copy_of(tiny, tmp_path)
    (folder / name).parent.mkdir(exist_ok=True)
    (folder / name).write_text(content)
    assert reason_of(load_and_close(folder)) == "model_broken"


def test_a_tokenizer_with_words_that_the_model_lacks_is_a_broken_model(tiny, tmp_path):
    folder = copy_of(tiny, tmp_path)
    tokenizer = json.loads((folder / "tokenizer.json").read_text(encoding="utf-8"))
    tokenizer["model"]["vocab"]["unheard"] = len(tokenizer["model"]["vocab"])
    (folder / "tokenizer.json").write_text(json.dumps(tokenizer), encoding="utf-8")
    assert reason_of(load_and_close(folder)) == "model_broken"


def test_flipped_bits_are_a_reason_or_a_working_model_of_another_space(tiny, tmp_path):
    folder = copy_of(tiny, tmp_path)
    onnx = folder / "onnx" / "model.onnx"
    content, chance = onnx.read_bytes(), random.Random(5)
    outcomes = []

    async def outcome():
        try:
            async with loaded(folder) as embedder:
                await embedder.embed(TEXTS)
                return embedder.identity.digest
        except EmbedderError as error:
            return error.reason

    before = asyncio.run(outcome())
    for place in [*(chance.randrange(len(content) - 300, len(content)) for _ in range(25)), *range(0, 100, 4)]:
        flipped = bytearray(content)
        flipped[place] ^= 1 << chance.randrange(8)
        onnx.write_bytes(flipped)
        outcomes.append(asyncio.run(outcome()))
    assert len(before) == 64
    assert before not in outcomes
    assert "model_broken" in outcomes
    assert {outcome for outcome in outcomes if len(outcome) != 64} <= {"model_broken", "not_finite", "wrong_dimension"}


def test_files_that_went_away_are_a_missing_model(tiny, tmp_path):
    folder = copy_of(tiny, tmp_path)
    files = locate(EmbeddingSettings(model_path=str(folder)), folder).files
    shutil.rmtree(folder)
    assert reason_of(load("test/model", files, cache_dir=folder)) == "model_missing"


@pytest.mark.parametrize("value", [np.nan, np.inf, 0.0])
def test_vectors_that_are_none_are_refused(tiny, tmp_path, value):
    import onnx  # noqa: PLC0415  # slow; only the tests of the engine need it

    folder = copy_of(tiny, tmp_path)
    model = onnx.load(folder / "onnx" / "model.onnx")
    table = onnx.numpy_helper.to_array(model.graph.initializer[0]).copy()
    table[:] = value
    model.graph.initializer[0].CopyFrom(onnx.numpy_helper.from_array(table, "words"))
    onnx.save(model, folder / "onnx" / "model.onnx")
    assert reason_of(load_and_close(folder)) == "not_finite"


class Engine:
    """What fastembed would return."""

    def __init__(self, *answers):
        self.answers = list(answers)

    def passage_embed(self, _):
        return self.answers.pop(0)


GOOD = [[3.0, 4.0]], [[3.0, 4.0], [0.0, 1.0]]


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        ([[1.0, 0.0, 0.0]], "wrong_dimension"),
        ([], "wrong_dimension"),
        ([[[1.0, 0.0]]], "wrong_dimension"),
        ([[]], "wrong_dimension"),
        ([[float("nan"), 1.0]], "not_finite"),
        ([[float("inf"), 1.0]], "not_finite"),
        ([[0.0, 0.0]], "not_finite"),
        ([["x"]], "model_broken"),
    ],
)
def test_every_vector_is_checked_not_only_the_first(tiny, monkeypatch, answer, reason):
    monkeypatch.setattr(engine.EmbeddingModel, "_check_tokenizer", lambda *_: None)
    files = locate(EmbeddingSettings(model_path=str(tiny)), tiny).files
    assert files is not None
    model = engine.EmbeddingModel(Engine(*GOOD, [[3e30, 4e30]], answer), files, "d")
    assert numbers(model.vectors(["huge"], is_query=False)).tolist() == pytest.approx(np.array([[0.6, 0.8]]), abs=1e-3)
    with pytest.raises(EmbedderError, match=reason):
        model.vectors(["text"], is_query=False)


# -- the network -------------------------------------------------------------------------------------------------------

CHILD = """
import asyncio, json, sys
from pathlib import Path
from gateway.embedding.embedder import EmbedderError, load
from gateway.embedding.model_files import locate
from protocol.settings import EmbeddingSettings

async def main(model, cache, download, path):
    settings = EmbeddingSettings(model=model, model_path=path)
    found = locate(settings, Path(cache))
    told = []
    try:
        embedder = await load(
            model, found.files, cache_dir=found.cache, allow_download=download, on_progress=lambda *at: told.append(at)
        )
        vectors = await embedder.embed(["a text"])
        assert len(vectors[0]) == 2 * embedder.dim
    except EmbedderError as error:
        return {"reason": error.reason, "told": told}
    return {"dim": embedder.dim, "told": told, "there": locate(settings, Path(cache)).files is not None}

"""


def in_child(model, cache, *, download, path=None, before="", endpoint="http://127.0.0.1:9"):
    """A process of its own: what is imported first decides where the network is. Returns its answer; it says nothing
    else."""
    code = CHILD + before + f"\nprint(json.dumps(asyncio.run(main({model!r}, {str(cache)!r}, {download}, {path!r}))))"
    surroundings = {name: value for name, value in os.environ.items() if not name.lower().endswith("_proxy")}
    surroundings |= {"HF_ENDPOINT": endpoint, "HF_HOME": str(cache / "hf"), "HF_HUB_ETAG_TIMEOUT": "2"}
    told = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        cwd=ROOT,
        env=surroundings,
        timeout=240,
        check=False,
    )
    assert (told.returncode, told.stderr) == (0, "")
    [line] = told.stdout.splitlines()
    return json.loads(line)


NO_NETWORK = """
import socket
def refuse(*_, **__):
    raise SystemExit("the network was touched")
socket.socket.connect = socket.socket.connect_ex = socket.getaddrinfo = socket.create_connection = refuse
"""


def test_loading_what_is_there_is_silent_and_touches_no_network(tiny, tmp_path):
    """The thread is left running, too: a process that ends does not wait for it and does not complain."""
    told = in_child("any/name", tmp_path, download=False, path=str(tiny), before=NO_NETWORK)
    assert told == {"dim": 48, "told": [], "there": True}


PLAIN = """
import sys
from gateway.embedding import engine
from gateway.embedding.model_files import digest
async def main(model, cache, download, path):
    files = locate(EmbeddingSettings(model=model, model_path=path), Path(cache)).files
    engine._quieten()
    plain = engine.EmbeddingModel(engine._engine(files, digest(files), 1), files, digest(files))
    imported = sorted({"fastembed", "huggingface_hub", "requests"} & sys.modules.keys())
    theirs = engine.EmbeddingModel(engine._of_fastembed(files, digest(files), 1, "MEAN"), files, digest(files))
    texts = ["one small thing", "Where did I park my automobile?", "日本語のテキスト [MASK]", "word " * 600, "x", "."]
    batches = [texts, *([text] for text in texts)]
    same = [plain.vectors(some, is_query=True) == theirs.vectors(some, is_query=True) for some in batches]
    return {"imported": imported, "same": all(same) and plain.identity == theirs.identity}
"""


def test_the_plain_way_makes_the_vectors_of_fastembed_and_does_not_import_it(folder, tmp_path):
    name = "sentence-transformers/all-MiniLM-L6-v2"
    assert in_child(name, tmp_path, download=False, path=str(folder), before=PLAIN) == {"imported": [], "same": True}


LEAVE = """
async def main(model, cache, download, path):
    files = locate(EmbeddingSettings(model_path=path), Path(cache)).files
    task = asyncio.create_task(load(model, files, cache_dir=Path(cache)))
    if download:  # here: leave in the middle of the loading
        return await asyncio.wait({task}, timeout=0.2) and None
    embedder = await task
    asyncio.get_running_loop().create_task(embedder.embed(["word " * 200] * 500))
    await embedder.embed_query("a query is answered while the texts are worked on")
"""


@pytest.mark.parametrize("is_loading", [True, False])
def test_the_process_may_end_in_the_middle_of_the_work(folder, tmp_path, is_loading):
    """Ending under a thread in foreign code would abort the process; ending late would let it be killed."""
    assert in_child("any/name", tmp_path, download=is_loading, path=str(folder), before=LEAVE) is None


def test_without_permission_nothing_is_fetched_or_imported(tmp_path, monkeypatch):
    async def scene():
        monkeypatch.setattr(socket, "socket", None)
        monkeypatch.setattr(threading, "Thread", None)
        try:
            await load("any/name", None, cache_dir=tmp_path)
        finally:
            monkeypatch.undo()

    assert reason_of(scene()) == "download_not_allowed"
    assert not list(tmp_path.iterdir())


def test_no_network_is_a_failed_download(tmp_path):
    told = in_child("sentence-transformers/all-MiniLM-L6-v2", tmp_path, download=True)
    assert told == {"reason": "download_failed", "told": []}


class Shelf(http.server.ThreadingHTTPServer):
    """The server of a `Hub`: its files, those it sends by half, and what it was asked for."""

    def __init__(self, files: dict[str, bytes]) -> None:
        super().__init__(("127.0.0.1", 0), Hub)
        self.files = files
        self.short: set[str] = set()
        self.asked: list[tuple[str, str, str | None]] = []
        self.url = f"http://127.0.0.1:{self.server_address[1]}"


class Hub(http.server.BaseHTTPRequestHandler):
    """As much of a model hub as a download needs."""

    protocol_version = "HTTP/1.1"
    revision = "0" * 39 + "1"
    repository = "Qdrant/all-MiniLM-L6-v2-onnx"

    def log_message(self, *_, **__):
        pass

    def _answer(self, content, headers, status=200):
        self.send_response(status)
        for name, value in {"Content-Length": str(len(content)), **headers}.items():
            self.send_header(name, value)
        self.end_headers()
        if self.command == "GET":
            self.wfile.write(content)

    def do_GET(self):
        assert isinstance(self.server, Shelf)
        self.server.asked.append((self.command, self.path, self.headers.get("authorization")))
        files = self.server.files
        if self.path.startswith(f"/api/models/{self.repository}"):
            listed = [{"rfilename": name, "size": len(content), "blobId": "b"} for name, content in files.items()]
            body = {
                "id": self.repository,
                "modelId": self.repository,
                "sha": self.revision,
                "siblings": listed,
                "tags": [],
            }
            return self._answer(json.dumps(body).encode(), {"Content-Type": "application/json"})
        name = self.path.removeprefix(f"/{self.repository}/resolve/{self.revision}/")
        if name not in files:
            return self._answer(b"", {"X-Error-Code": "RepoNotFound"}, 404)
        content = files[name]
        tag = hashlib.sha256(content).hexdigest()
        sent = content[: len(content) // 2] if name in self.server.short and self.command == "GET" else content
        return self._answer(
            sent, {"ETag": f'"{tag}"', "X-Repo-Commit": self.revision, "X-Linked-Size": str(len(content))}
        )

    do_HEAD = do_GET  # noqa: N815


@pytest.fixture
def hub(tiny):
    server = Shelf(
        {
            "README.md": b"about",
            "model.onnx": (tiny / "onnx" / "model.onnx").read_bytes(),
            **{path.name: path.read_bytes() for path in tiny.iterdir() if path.is_file()},
        }
    )
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield server
    server.shutdown()
    server.server_close()
    thread.join()


NAME = "sentence-transformers/all-MiniLM-L6-v2"


def test_a_download_is_told_lands_in_the_cache_and_is_not_repeated(hub, tmp_path):
    cache = tmp_path / "cache"
    told = in_child(NAME, cache, download=True, endpoint=hub.url)
    assert (told["dim"], told["there"]) == (48, True)
    size = sum(len(content) for name, content in hub.files.items() if name != "README.md")
    assert told["told"][0] == [0, size]
    assert told["told"][-1] == [size, size]
    assert not [path for _, path, _ in hub.asked if "README" in path]
    assert {authorization for _, _, authorization in hub.asked} == {None}
    del hub.asked[:]
    assert in_child(NAME, cache, download=False, endpoint=hub.url)["dim"] == 48
    assert hub.asked == []


@pytest.mark.loop("check")  # a process that imports fastembed for each; the loop "test" has the download that lands
@pytest.mark.parametrize("fault", ["short", "no tokenizer", "no model", "no repository"])
def test_a_download_that_brings_too_little_fails(hub, tmp_path, fault):
    if fault == "short":
        hub.short.add("special_tokens_map.json")
    elif fault != "no repository":
        del hub.files["tokenizer.json" if fault == "no tokenizer" else "model.onnx"]
    name = "someone/nobody" if fault == "no repository" else NAME
    told = in_child(name, tmp_path, download=True, endpoint=hub.url)
    assert told["reason"] == ("model_missing" if fault in {"no tokenizer", "no model"} else "download_failed")


GIVE_UP = """
async def main(model, cache, download, path):
    import contextlib, os, threading, urllib.error, urllib.request
    heard = asyncio.Event()
    task = asyncio.create_task(load(model, None, cache_dir=Path(cache), allow_download=True, on_progress=lambda *_: heard.set()))
    await heard.wait()
    thread = next(thread for thread in threading.enumerate() if thread.name == "embedder")
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)
    with contextlib.suppress(urllib.error.HTTPError):
        await asyncio.to_thread(urllib.request.urlopen, os.environ["HF_ENDPOINT"] + "/given-up")
    await asyncio.to_thread(thread.join)
    return task.cancelled()
"""


@pytest.mark.loop("check")
def test_a_download_that_is_given_up_ends_after_the_piece_in_hand(hub, tmp_path):
    """The first file is held back until the child has given up."""
    given_up = threading.Event()

    class Slow(Hub):
        def do_GET(self):
            if self.path == "/given-up":
                given_up.set()
            elif self.path.endswith("/model.onnx"):
                given_up.wait(30)
            return super().do_GET()

        do_HEAD = do_GET  # noqa: N815

    hub.RequestHandlerClass = Slow
    hub.files = {"model.onnx": hub.files.pop("model.onnx"), **hub.files}
    assert in_child(NAME, tmp_path, download=True, endpoint=hub.url, before=GIVE_UP) is True
    assert not [path for _, path, _ in hub.asked if path.endswith("tokenizer.json")]


def test_synonyms_share_a_vector_and_nothing_else_does(tiny):
    async def scene():
        async with loaded(tiny) as embedder:
            for row in SYNONYMS:
                vectors = numbers(await embedder.embed(list(row)))
                assert (vectors @ vectors[0] > 0.999).all(), row
            heads = numbers(await embedder.embed([row[0] for row in SYNONYMS]))
            assert np.max(heads @ heads.T - 2 * np.eye(len(heads))) < 0.8

    asyncio.run(scene())


def test_a_library_that_warns_in_our_name_is_not_heard(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(engine.os, "environ", dict(os.environ))
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        engine._quieten()
        warnings.warn_explicit("old", DeprecationWarning, "engine.py", 1, module=engine.__name__)
    assert seen == []
