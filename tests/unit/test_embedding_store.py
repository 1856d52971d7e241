"""A store that fails while a model is loaded: it is told, and the model comes when the store works again."""

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from fresh import fresh_database

from gateway.base.clock import SystemClock
from gateway.base.health import Health
from gateway.embedding import choice as model_choice
from gateway.embedding import meaning as embedding_module
from gateway.embedding.engine import EmbedderError
from gateway.embedding.meaning import Embedding
from gateway.embedding.model_files import Located, ModelFiles
from gateway.embedding.vector_houses import Houses
from gateway.store.database import Database
from protocol.errors import Unavailable
from protocol.seams.ports import Tx
from protocol.settings import EmbeddingSettings
from retrieval.flat import FlatVectors


class Loaded:
    """A model as `load` gives it; only its name and its end count here."""

    identity = ("test/model", 4, "digest")
    is_closed = False

    def close(self) -> None:
        self.is_closed = True


class Failing:
    """A database whose first writes fail."""

    def __init__(self, db: Database, failures: int) -> None:
        self._db = db
        self._failures = failures
        self.read = db.read

    async def write(self, work: Callable[[Tx], Any], **how: Any) -> Any:
        if self._failures:
            self._failures -= 1
            raise Unavailable("storage_full")
        return await self._db.write(work, **how)


@pytest.mark.parametrize("is_told", [True, False], ids=["the store says so", "nobody says so"])
def test_a_model_that_the_store_kept_away_is_told_and_comes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, is_told: bool
) -> None:
    models = [Loaded(), Loaded()]
    left = iter(models)

    async def load(*_: Any, **__: Any) -> Loaded:
        return next(left)

    monkeypatch.setattr(model_choice, "load", load)
    files = ModelFiles("made", tmp_path, tmp_path / "model.onnx", tmp_path / "tokenizer.json")
    monkeypatch.setattr(model_choice, "locate", lambda *_: Located(files=files, cache=tmp_path, reason=None))
    monkeypatch.setattr(embedding_module, "AGAIN_SECONDS", 60.0 if is_told else 0.01, raising=False)

    async def story() -> None:
        db, news = Database(fresh_database(tmp_path)), asyncio.Queue[str]()
        health = Health(lambda method, *_, **__: news.put_nowait(method), SystemClock())
        made: Any = Failing(db, 1)
        embedding = Embedding(
            db=made,
            clock=SystemClock(),
            settings=lambda: EmbeddingSettings(embedded_default=False),
            cache=tmp_path,
            health=health,
            notify=lambda *_, **__: None,
            vectors=FlatVectors(),
            houses=lambda: Houses(db, []),
        )
        embedding.apply()
        running = asyncio.create_task(embedding.run())
        try:
            async with asyncio.timeout(20):
                assert await news.get() == "gateway/degraded"
                assert models[0].is_closed
                if is_told:
                    assert [(one.component, one.reason) for one in health.list_degraded()] == [
                        ("embedding", "storage_full")
                    ]
                    assert embedding.state() == "off"
                    embedding.try_again()
                assert await news.get() == "gateway/recovered"
                assert await embedding.wake()
            assert (embedding.state(), health.list_degraded(), models[1].is_closed) == ("ready", [], False)
        finally:
            running.cancel()
            await asyncio.wait([running])
            db.close()

    asyncio.run(story())


def test_what_the_store_kept_away_stays_owed_though_the_next_step_fails_for_good(tmp_path: Path) -> None:
    async def story() -> None:
        db = Database(fresh_database(tmp_path))
        health = Health(lambda *_, **__: None, SystemClock())
        embedding = Embedding(
            db=db,
            clock=SystemClock(),
            settings=lambda: EmbeddingSettings(embedded_default=False),
            cache=tmp_path,
            health=health,
            notify=lambda *_, **__: None,
            vectors=FlatVectors(),
            houses=lambda: Houses(db, []),
        )

        async def store() -> None:
            raise Unavailable("storage_full")

        async def model() -> None:
            raise EmbedderError("model_broken")

        await embedding._attempt(store)
        await embedding._attempt(model)
        assert embedding._is_owed
        assert [one.reason for one in health.list_degraded()] == ["model_broken"]
        db.close()

    asyncio.run(story())
