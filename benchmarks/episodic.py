"""What each term of conversation search's ranking is worth, and what its floor lets through and cuts; without a process.

A conversation's sessions are threads of a workspace of its own, its turns messages. A foreign question is one about another conversation's
people: nothing should be recalled for it.

Rule 1: chunks, vectors, candidates and ranking are the product's own; an ablation sets one of its gains to nothing.
"""

import argparse
import asyncio
import os
import tempfile
from collections.abc import Callable, Sequence
from functools import partial
from importlib.resources import files
from pathlib import Path
from statistics import fmean
from typing import Any, NamedTuple
from unittest.mock import patch

from benchmarks.conversations import Conversation, Question, absence, data_folder, read_conversations
from benchmarks.report import machine, show_table
from gateway.database import Database
from gateway.embedder import Embedder, load
from gateway.flat_vectors import FlatVectors
from gateway.ids import SortableIds
from gateway.jobs import Jobs
from gateway.keys import HomeKey
from gateway.lexicon import SnowballLexicon
from gateway.model_files import Located, locate
from gateway.secret_scanner import RuleScanner
from gateway.sqlite import connect
from gateway.written_dates import WrittenDates
from protocol.hooks import ItemFact, ThreadFact
from protocol.memory import SemanticState
from protocol.ports import Clock, Job, Nearness, Space, Tx, Vector, VectorTable
from protocol.settings import EmbeddingSettings, ThreadEpisodicSettings
from thread_episodic import ranking, store
from thread_episodic.finding import Asked, Finder
from thread_episodic.model import Filter, Places
from thread_episodic.ranking import Gains, Passage, rank
from thread_episodic.service import EpisodicService
from thread_episodic.time_words import asks_when

MODEL_VARIABLE = "PIONEER_TEST_MODEL"
MODEL_PLACE = "../shared/models/all-MiniLM-L6-v2"
TUNED_ON = frozenset({"conv-26", "conv-41", "conv-43"})
"""The gains were fitted on these; the others are told apart."""
INJECTED = 5
EVERY_FOREIGN = 3  # each third question is asked to the next conversation as well: some three hundred are enough
DEPTHS = (5, 10, 20)
PATIENCE = 10.0
SETTINGS = ThreadEpisodicSettings()
LEXICON = SnowballLexicon()


class StillClock(Clock):
    """A clock that stands still."""

    def now(self) -> int:
        return 1_700_000_000_000

    def monotonic(self) -> float:
        return 0.0


class LoadedMeaning:
    """The vectors of one loaded model, or of none. Satisfies `Meaning`."""

    def __init__(self, embedder: Embedder | None) -> None:
        self._embedder = embedder
        self._vectors = FlatVectors()
        self.spaces = [Space(1, *embedder.identity[:2])] if embedder is not None else []

    def state(self) -> SemanticState:
        return "ready" if self._embedder is not None else "off"

    async def wake(self) -> bool:
        return self._embedder is not None

    async def of_query(self, text: str, patience: float) -> Vector | None:  # noqa: ARG002  # it is loaded already
        return Vector(1, await self._embedder.embed_query(text)) if self._embedder is not None else None

    async def of_texts(self, space: Space, texts: Sequence[str]) -> list[bytes]:  # noqa: ARG002  # there is one
        return await self._embedder.embed(texts) if self._embedder is not None else []

    def to_fill(self, tx: Tx) -> list[Space]:  # noqa: ARG002
        return self.spaces

    async def filled(self) -> None:
        """No other space waits."""

    def nearness(self, tx: Tx, table: VectorTable, partitions: Sequence[int], query: Vector) -> Nearness:
        return self._vectors.nearness(tx, table, partitions, query)


class _Claimed(NamedTuple):
    job: Job

    def finish(self, tx: Tx) -> None:
        tx.run("UPDATE job SET state = 'done' WHERE job_id = :job_id", {"job_id": self.job.job_id})


class Index:
    """Conversations in the product's own index, in a folder of its own."""

    def __init__(self, folder: Path, meaning: LoadedMeaning) -> None:
        path = folder / "gateway.db"
        connection = connect(path, synchronous="off")
        for house in ("gateway", "thread_episodic"):
            for _ in connection.execute(files(house).joinpath("schema.sql").read_text(encoding="utf-8")):
                pass
        for space in meaning.spaces:
            values = (space.id, space.model, space.dim)
            connection.execute(
                "INSERT INTO space (id, model, dim, digest, state, changed_at) VALUES (?, ?, ?, 'bench', 'current', 0)",
                values,
            )
        connection.close()
        self.db = Database(path)
        self.items: dict[str, ItemFact] = {}
        self._turns: dict[str, list[str]] = {}
        self._meaning = meaning
        clock = StillClock()
        ids = SortableIds(clock)
        self._jobs = Jobs(ids, clock, "own_bench")
        self.service = EpisodicService(
            db=self.db, clock=clock, ids=ids, keyed=HomeKey(b"k" * 32), lexicon=LEXICON, meaning=meaning,
            scanner=RuleScanner(), jobs=self._jobs, notify=lambda *_: None, settings=lambda: SETTINGS,
            read_items=lambda _, wanted: {one: self.items[one] for one in wanted if one in self.items},
            read_thread=self._thread, workspace_exists=lambda *_: True, echo_spans=lambda *_: [],
            turn_items=lambda _, turns: {turn: dict.fromkeys(self._turns[turn], 0) for turn in turns}, thread_turns=lambda *_: [], workspace_threads=lambda *_: [], thread_names=lambda *_: {},
            read_artifacts=lambda *_: {}, paused=lambda: None, time_zone=lambda: "UTC", read_date=WrittenDates(),
        )  # fmt: skip

    @staticmethod
    def _thread(_tx: Tx, thread_id: str) -> ThreadFact:
        return ThreadFact(
            thread_id=thread_id, workspace_id=thread_id.partition("/")[0], agent_id=None, parent_thread_id=None,
            task_id=None, memory_mode="normal", origin="user", name=None,
        )  # fmt: skip

    async def add(self, conversation: Conversation) -> None:
        """Every session as a thread; indexed when this returns."""
        for session in conversation.sessions:
            thread_id = f"{conversation.name}/{session.number}"
            facts = [
                ItemFact(
                    item_id=f"{conversation.name}:{said.dia_id}", turn_id=f"{conversation.name}:{said.dia_id}",
                    thread_id=thread_id, workspace_id=conversation.name,
                    role="user" if said.speaker == conversation.first_speaker else "assistant", name=said.speaker,
                    text=said.text, at=said.at, turn_seq=place, item_seq=0, indexable=True,
                )
                for place, said in enumerate(session.turns)
            ]  # fmt: skip
            self.items |= {fact.item_id: fact for fact in facts}
            self._turns |= {fact.turn_id: [fact.item_id] for fact in facts}
            await self.db.write(partial(self.service.on_items, facts=facts))
        await self._work("index", self.service.index)
        await self._work("embed", self.service.vectors.fill)

    async def _work(self, kind: Any, handler: Callable[[Any], Any]) -> None:
        while waiting := await self.db.read(lambda tx: self._jobs.jobs(tx, kind=kind, states=["queued"], limit=1000)):
            for job in waiting:
                claimed = _Claimed(job)
                await handler(claimed)
                await self.db.note(claimed.finish)

    async def ask(self, workspace: str, question: Question, *, by_meaning: bool) -> "Judged":
        """The candidates of a question, and which of them are its evidence."""
        vector = await self._meaning.of_query(question.text, PATIENCE) if by_meaning else None
        asked = Asked(LEXICON.query_terms(question.text), asks_when(question.text), vector)
        wanted = Filter(workspace_id=workspace, mode="workspace_threads", thread_id=None)

        def read(tx: Tx) -> Judged:
            place = Places(store.find_scope(tx, "workspace", workspace) or 0)
            finder = Finder(
                tx, self._meaning, place, wanted, work=SETTINGS.max_candidate_work, max_segments=SETTINGS.max_segments
            )  # fmt: skip
            found = finder.find(asked)
            name = f"{workspace}:"
            evidence = frozenset(
                row for row, one in found.candidates.items() if one.turn_id.removeprefix(name) in question.evidence
            )
            return Judged(workspace, found.question, found.passages, evidence, len(question.evidence))

        return await self.db.read(read)


class Judged(NamedTuple):
    """A question with its candidates and those that hold its answer, of how many that there are."""

    workspace: str
    question: ranking.Question
    passages: Sequence[Passage]
    evidence: frozenset[int]
    wanted: int


class Figures(NamedTuple):
    """How well the evidence came first, and what the floor cut and let through."""

    recall_5: float
    recall_10: float
    recall_20: float
    mrr: float
    missed: float
    foreign: float


def _figures(own: Sequence[Judged], foreign: Sequence[Judged], *, has_meaning: bool) -> Figures:
    recalls: dict[int, list[float]] = {depth: [] for depth in DEPTHS}
    reciprocal: list[float] = []
    missed: list[bool] = []
    for judged in own:
        ranked = rank(judged.question, judged.passages, has_meaning=has_meaning)
        ranks = [place for place, one in enumerate(ranked, 1) if one.row in judged.evidence]
        for depth, found in recalls.items():
            found.append(sum(place <= depth for place in ranks) / judged.wanted)
        reciprocal.append(1 / ranks[0] if ranks else 0.0)
        if ranks and ranks[0] <= INJECTED:
            missed.append(ranked[ranks[0] - 1].score < SETTINGS.min_relevancy)
    injected = [
        any(one.score >= SETTINGS.min_relevancy for one in rank(j.question, j.passages, has_meaning=has_meaning))
        for j in foreign
    ]
    return Figures(*(fmean(values or [0.0]) for values in (*recalls.values(), reciprocal, missed, injected)))


def _ablations(gains: Gains) -> dict[str, Gains]:
    """The gains as they are, and each of them left out."""
    return {"all terms": gains} | {
        f"without {name}": gains._replace(worth={**gains.worth, name: 0.0}) for name in gains.worth
    }


def _loaded(folder: Path) -> Located | None:
    located = locate(EmbeddingSettings(model_path=str(folder)), folder)
    return located if located.files is not None else None


async def _judge(conversations: Sequence[Conversation], located: Located | None, folder: Path) -> None:
    embedder = None
    if located is not None:
        embedder = await load(EmbeddingSettings().model, located.files, cache_dir=located.cache)
    index = Index(folder, LoadedMeaning(embedder))
    for conversation in conversations:
        await index.add(conversation)
    pairs = list(zip(conversations, [*conversations[1:], conversations[0]], strict=True))
    heads = ("", *(f"recall@{depth}" for depth in DEPTHS), "MRR", "missed", "foreign injected")
    for by_meaning in (False, True)[: 1 + (embedder is not None)]:
        own = [await index.ask(c.name, q, by_meaning=by_meaning) for c in conversations for q in c.questions]
        foreign = [
            await index.ask(other.name, q, by_meaning=by_meaning)
            for c, other in pairs
            for q in c.questions[::EVERY_FOREIGN]
        ]
        constant = "BY_BOTH" if by_meaning else "BY_WORDS"
        rows: list[tuple[object, ...]] = []
        for name, gains in _ablations(getattr(ranking, constant)).items():
            with patch.object(ranking, constant, gains):
                for group, is_tuned in (("tuned on", True), ("held out", False)):
                    figures = _figures(
                        [one for one in own if (one.workspace in TUNED_ON) is is_tuned],
                        [one for one in foreign if (one.workspace in TUNED_ON) is is_tuned], has_meaning=by_meaning,
                    )  # fmt: skip
                    rows.append((f"{name}, {group}", *figures))
        show_table(f"terms of the score {'with' if by_meaning else 'without'} a model", heads, rows)
    index.db.close()
    if embedder is not None:
        embedder.close()


def main(arguments: list[str]) -> int:
    """Print the figures of both modes, and of each term left out."""
    argparse.ArgumentParser(prog="python -m benchmarks episodic", description=__doc__).parse_args(arguments)
    folder = data_folder()
    if folder is None:
        print(absence())
        return 0
    conversations = read_conversations(folder)
    model = Path(os.environ.get(MODEL_VARIABLE) or Path(__file__).resolve().parent.parent / MODEL_PLACE)
    print(f"{sum(len(c.questions) for c in conversations)} questions; {machine()}")
    with tempfile.TemporaryDirectory(prefix="pioneer-bench-") as temporary:
        asyncio.run(_judge(conversations, _loaded(model), Path(temporary)))
    return 0
