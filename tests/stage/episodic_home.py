"""A home with nothing but the conversation index: a file database, items in a dictionary, jobs run by hand."""

from collections import Counter
from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec
from clock import SetClock
from fresh import fresh_database
from worded_meaning import WordedMeaning

from gateway.base.ids import SortableIds
from gateway.base.written_dates import WrittenDates
from gateway.home.keys import HomeKey
from gateway.jobs.queue import Jobs
from gateway.secrets.scanner import RuleScanner
from gateway.store.database import Database
from protocol.conversation.artifacts import ArtifactRef
from protocol.conversation.values import Role
from protocol.seams.house_facts import ItemFact, ThreadFact
from protocol.seams.ports import Job, Lexicon, Tx
from protocol.settings import GatewayConfig, ThreadEpisodicSettings
from protocol.thread_episodic import ThreadSearchParams, ThreadSearchResult
from retrieval.terms import SnowballLexicon
from thread_episodic.ports import EpisodicMeans
from thread_episodic.service import EpisodicService

DAY = 86_400_000
NOON = 1_772_366_400_000  # Sunday, 1 March 2026, 12:00 UTC


@dataclass
class Handle:
    """A claimed job."""

    job: Job

    def finish(self, tx: Tx) -> None:
        tx.run("UPDATE job SET state = 'done' WHERE job_id = :job_id AND state = 'queued'", {"job_id": self.job.job_id})


class Home:
    """The index over items in memory. Threads `a_*` belong to the workspace `a`, `b_*` to `b`."""

    def __init__(self, folder: Path, lexicon: Lexicon | None = None) -> None:
        self.db = Database(fresh_database(folder))
        self.clock = SetClock(NOON)
        self.items: dict[str, ItemFact] = {}
        self.names: dict[str, str] = {}
        self.artifacts: dict[str, list[ArtifactRef]] = {}
        self.echoes: list[str] = []
        self.held: tuple[str, str] | None = None
        self.told: list[tuple[str, Any]] = []
        self.damage: list[tuple[list[str], bool]] = []
        self.settings = ThreadEpisodicSettings()
        self.cache_seconds = 0
        self.meaning = WordedMeaning()
        ids = SortableIds(self.clock)
        self.jobs = Jobs(ids, self.clock, "own_test")
        self.service = EpisodicService(
            EpisodicMeans(
                db=self.db,
                clock=self.clock,
                ids=ids,
                keyed=HomeKey(b"k" * 32),
                lexicon=lexicon or SnowballLexicon(),
                meaning=self.meaning,
                scanner=RuleScanner(),
                jobs=self.jobs,
                notify=lambda method, params: self.told.append((method, params)),
                settings=lambda: self.settings,
                cache_seconds=lambda: self.cache_seconds,
                read_items=self._read_items,
                read_thread=self._read_thread,
                workspace_exists=lambda _, workspace: workspace in {"a", "b"},
                echo_spans=self._echo_spans,
                turn_items=lambda _, turns: {
                    turn: {item.item_id: len(item.text) for item in self._in_order() if item.turn_id == turn}
                    for turn in turns
                },
                thread_turns=lambda _, thread: list(
                    dict.fromkeys(i.turn_id for i in self._in_order() if i.thread_id == thread)
                ),
                workspace_threads=lambda _, workspace: sorted(
                    {i.thread_id for i in self.items.values() if i.workspace_id == workspace}
                ),
                thread_names=lambda _, workspace, limit: {
                    t: n for t, n in list(self.names.items())[:limit] if t.startswith(workspace)
                },
                read_artifacts=lambda _, ids: {i: self.artifacts[i] for i in ids if i in self.artifacts},
                paused=lambda: self.held,
                items_after=self._items_after,
                searched_space=lambda _: self.meaning.space.id if self.meaning.space else None,
                report_damage=lambda reasons, has_failed: self.damage.append((list(reasons), has_failed)),
                read_date=WrittenDates(),
            )
        )

    def config(self) -> GatewayConfig:
        return msgspec.structs.replace(GatewayConfig(), thread_episodic=self.settings)

    def change(self, **settings: Any) -> None:
        self.settings = msgspec.structs.replace(self.settings, **settings)

    def _in_order(self) -> list[ItemFact]:
        return sorted(self.items.values(), key=lambda item: (item.thread_id, item.turn_seq, item.item_seq))

    def _read_items(self, _tx: Tx, item_ids: Collection[str]) -> dict[str, ItemFact]:
        return {item_id: self.items[item_id] for item_id in item_ids if item_id in self.items}

    def _items_after(self, _tx: Tx, after: int, limit: int) -> list[tuple[int, str]]:
        return list(enumerate(self.items, 1))[after : after + limit]

    def _read_thread(self, _tx: Tx, thread_id: str) -> ThreadFact | None:
        if all(item.thread_id != thread_id for item in self.items.values()):
            return None
        return ThreadFact(
            thread_id=thread_id,
            workspace_id=thread_id[0],
            agent_id=None,
            parent_thread_id=None,
            task_id=None,
            memory_mode="normal",
            origin="user",
            name=self.names.get(thread_id),
        )

    def _echo_spans(self, _tx: Tx, _workspace_id: str, text: str) -> list[tuple[int, int]]:
        return [(text.index(line), text.index(line) + len(line)) for line in self.echoes if line in text]

    async def say(
        self,
        item_id: str,
        text: str,
        *,
        thread: str = "a_1",
        at: int = NOON,
        role: Role = "user",
        name: str | None = None,
        indexable: bool = True,
        turn: str | None = None,
    ) -> ItemFact:
        """Store (or replace) a message, each in a turn of its own unless it is named."""
        known = self.items.get(item_id)
        fact = ItemFact(
            item_id=item_id,
            turn_id=turn or f"t_{item_id}",
            thread_id=thread,
            workspace_id=thread[0],
            role=role,
            name=name,
            text=text,
            at=at,
            turn_seq=known.turn_seq if known else len(self.items),
            item_seq=0,
            indexable=indexable,
            thread_name=self.names.get(thread),
        )
        self.items[item_id] = fact
        await self.db.write(lambda tx: self.service.on_items(tx, [fact]))
        return fact

    async def waiting(self) -> list[Job]:
        return (await self.db.read(lambda tx: self.jobs.jobs(tx, kind="index", states=["queued"], limit=100)))[::-1]

    async def index(self) -> int:
        """Run every waiting job; how many there were."""
        jobs = await self.waiting()
        for job in jobs:
            await self.service.index(Handle(job))
        return len(jobs)

    async def search(self, query: str, *, workspace_id: str = "a", **more: Any) -> ThreadSearchResult:
        return await self.service.searching.search(ThreadSearchParams(workspace_id=workspace_id, query=query, **more))

    async def found(self, query: str, **more: Any) -> list[str]:
        return [hit.item_id for hit in (await self.search(query, **more)).hits]

    async def rows(self, statement: str) -> list[tuple[Any, ...]]:
        await self.db.note(lambda _: None)  # what searches leave behind is not waited for
        return await self.db.read(lambda tx: tx.all(statement))

    async def fts_terms(self) -> Counter[str]:
        """Every term of the index without its workspace, and how many rows hold it: the proof that deletions were
        exact."""

        def read(tx: Tx) -> Counter[str]:
            tx.run("CREATE VIRTUAL TABLE IF NOT EXISTS temp.chunk_terms USING fts5vocab('main', 'chunk_fts', 'row')")
            held = Counter[str]()
            for term, count in tx.all("SELECT term, doc FROM temp.chunk_terms"):
                held[term.partition("·")[2] or term] += count
            return held

        return await self.db.note(read)

    def close(self) -> None:
        self.db.close()
