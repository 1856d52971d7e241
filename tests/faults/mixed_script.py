"""A day of durable memory in small: a prepared home, and steps whose subjects do not touch.

A step's subject is a word that stands in its records only, so that one look at that word tells whether the step is
undone, done, or torn.
"""

import asyncio
import shutil
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import apsw
from memory_home import DAY, HERE, MIDDLING, SURE, MemoryHome

from gateway.store.database import Database
from gateway.store.wiping import wipe
from memory.service import MemoryService
from protocol.memory.forgetting import ForgetById, ForgetParams
from protocol.memory.reads import SearchParams
from protocol.memory.values import Evidence
from protocol.memory.writes import RememberParams, RestoreParams, UpdateParams, WriteParams

EXPIRY = 1_700_000_000_000 + DAY


@dataclass
class Prepared:
    """A home before the script, and what its steps refer to."""

    path: Path
    ids: dict[str, str]
    quotes: dict[str, Evidence]


@dataclass(frozen=True)
class Step:
    """One call, its subject, and whether it may be repeated without knowing what became of it."""

    word: str
    call: Callable[[MemoryService, Prepared], Awaitable[Any]]
    repeats: bool = True


def prepare(folder: Path) -> Prepared:
    """A home with something to correct, to forget, to bring back and to let expire."""
    home = MemoryHome(folder)
    home.switch(review_enabled=True)
    ids = {}
    for word in ("walrus", "gibbon", "ferret", "lizard", "magpie"):
        ids[word] = home.remember(f"A {word} sleeps in the shed.", key=f"pet.{word}").record.memory_id
    ids["parrot"] = home.remember("A parrot sings at noon.", expires_at=EXPIRY).record.memory_id
    home.forget(ids["magpie"])
    home.propose("Likes the zander at dusk", MIDDLING)
    quotes = {
        word: home.say(text)
        for word, text in (
            ("zander", "Likes the zander at dusk"),
            ("turnip", "Grows a turnip in spring"),
            ("radish", "Eats radish raw"),
        )
    }
    assert home.do(home.db.truncate_wal())
    home.close()
    return Prepared(home.path, ids, quotes)


def remembering(word: str, **more: Any) -> Step:
    params = RememberParams(
        content=f"The {word} is kept on the roof.", idempotency_key=f"key-{word}", context=HERE, **more
    )
    return Step(word, lambda service, _home: service.remember(params))


def writing(word: str, semantic: Any) -> Step:
    def call(service: MemoryService, home: Prepared) -> Awaitable[Any]:
        quote = home.quotes[word]
        return service.write(
            WriteParams(
                content=quote.quote, semantic=semantic, evidence=[quote], idempotency_key=f"key-{word}", context=HERE
            )
        )

    return Step(word, call)


def forgetting(word: str, **more: Any) -> Step:
    def call(service: MemoryService, home: Prepared) -> Awaitable[Any]:
        return service.forget(ForgetParams(target=ForgetById(memory_id=home.ids[word]), context=HERE, **more))

    return Step(word, call)


def updating(word: str, **changes: Any) -> Step:
    def call(service: MemoryService, home: Prepared) -> Awaitable[Any]:
        return service.update(UpdateParams(memory_id=home.ids[word], context=HERE, **changes))

    return Step(word, call, repeats=False)


def restoring(word: str) -> Step:
    def call(service: MemoryService, home: Prepared) -> Awaitable[Any]:
        return service.restore(RestoreParams(memory_id=home.ids[word], context=HERE))

    return Step(word, call, repeats=False)


SWEEP = Step("parrot", lambda service, _home: service.sweep())
SEARCH = Step("", lambda service, _home: service.questions.search(SearchParams(query="the shed", context=HERE)))

SCRIPT: list[list[Step]] = [
    [remembering("alpaca")],
    [remembering("beaver"), remembering("condor", key="pet.condor"), forgetting("walrus"), remembering("dugong")],
    [updating("gibbon", content="A gibbon moved to the attic.")],
    [updating("ferret", importance=0.9, tags=["soft"])],
    [forgetting("lizard", mode="erase")],
    [SEARCH],
    [restoring("magpie"), writing("turnip", SURE)],
    [writing("zander", MIDDLING), writing("radish", MIDDLING), SEARCH],
    [SWEEP],
]
"""Steps of one line run at the same time, so that they share commits."""

WORDS = [step.word for line in SCRIPT for step in line if step.word]


class House:
    """A home for one run of the script, on a file system of choice."""

    def __init__(self, folder: Path, prepared: Prepared, vfs: str | None = None) -> None:
        folder.mkdir()
        self._prepared = prepared
        self._vfs = vfs
        self.home = MemoryHome(folder, prepared=prepared.path, vfs=vfs)
        self.home._truncate = lambda: wipe(self.home.db)
        self.home.service = self.home.make_service()
        self.home.switch(review_enabled=True)
        self.home.clock.at = EXPIRY + 1
        self.path = self.home.path

    def play(self, line: list[Step]) -> list[Any]:
        """The results and errors of a line's steps."""

        async def together() -> list[Any]:
            calls = [asyncio.ensure_future(step.call(self.home.service, self._prepared)) for step in line]
            return await asyncio.gather(*calls, return_exceptions=True)

        return self.home.do(together())

    def reopen(self) -> None:
        """Close the store in order, and open it again."""
        self.home.db.close()
        self.home.db = Database(self.path, vfs=self._vfs)
        self.home.service = self.home.make_service()

    def copy(self, folder: Path) -> Path:
        """The files as another process would find them if this one died now."""
        folder.mkdir()
        for path in self.path.parent.glob("gateway.db*"):
            if not path.name.endswith("-shm"):
                shutil.copy(path, folder / path.name)
        return folder / "gateway.db"

    def close(self) -> None:
        self.home.close()


VIEW = {
    "records": "SELECT content, status, key, importance, tags, (SELECT n.content FROM record n WHERE n.memory_id = r.superseded_by) "
    "FROM record r WHERE content LIKE :like ORDER BY r.id",
    "events": "SELECT e.event, e.from_status, e.to_status FROM memory_event e JOIN record r USING (memory_id) "
    "WHERE r.content LIKE :like ORDER BY e.id",
    "decisions": "SELECT d.action, d.reason_code FROM decision d JOIN record r USING (memory_id) WHERE r.content LIKE :like ORDER BY d.id",
    "evidence": "SELECT e.quote, e.memory_id IS NULL FROM evidence e WHERE e.quote LIKE :like ORDER BY e.id",
    "candidates": "SELECT content, status, evidence_count FROM candidate WHERE content LIKE :like ORDER BY id",
    "found": "SELECT count(DISTINCT doc) FROM memory_terms WHERE term LIKE :term",
}


def look(connection: apsw.Connection, word: str) -> tuple[Any, ...]:
    """Everything that the store holds about a word."""
    given = {"like": f"%{word}%", "term": f"s%·{word[:5]}%"}
    return tuple(tuple(connection.execute(statement, given).fetchall()) for statement in VIEW.values())


def look_at(path: Path, *, is_sound: bool = True) -> dict[str, tuple[Any, ...]]:
    """Everything about every word, from the files alone; they must be sound, which may be taken for granted."""
    connection = apsw.Connection(str(path))
    connection.execute("PRAGMA synchronous = off").fetchall()
    try:
        assert not is_sound or connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
        return {word: look(connection, word) for word in WORDS}
    finally:
        connection.close()
