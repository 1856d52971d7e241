"""The share of questions whose answer conversation search finds, on every kind of talk, beside BM25 and cosine alone;
without a process.

A home's threads are threads of a workspace of its own. A foreign question is one about another home of its kind:
nothing should be recalled for it.

Rule 1: chunks, vectors, candidates and ranking are the product's own; an ablation sets one of its gains to nothing.
Rule 2: what is counted are messages: those that answer, among the messages of the first hits.
"""

import argparse
import asyncio
import tempfile
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from importlib.resources import files
from pathlib import Path
from statistics import fmean
from typing import Any, NamedTuple
from unittest.mock import patch

from msgspec import structs

from benchmarks.inputs import model_folder, open_embedder
from benchmarks.report import machine, show_table
from benchmarks.rivals import Shelf
from benchmarks.talks import SETS, Talk, foreign_to, read_talks
from benchmarks.talks import Asked as Question
from gateway.base.ids import SortableIds
from gateway.base.written_dates import WrittenDates
from gateway.embedding.embedder import Embedder
from gateway.home.keys import HomeKey
from gateway.jobs.queue import Jobs
from gateway.secrets.scanner import RuleScanner
from gateway.store.database import Database
from gateway.store.sqlite import connect
from promt.time_words import asks_when
from protocol.memory.values import SemanticState
from protocol.seams.house_facts import ItemFact, ThreadFact
from protocol.seams.ports import Clock, Job, Nearness, Space, Tx, Vector, VectorTable
from protocol.settings import ThreadEpisodicSettings
from retrieval.flat import FlatVectors
from retrieval.terms import SnowballLexicon
from thread_episodic.ports import EpisodicMeans
from thread_episodic.rows.scopes import find_scope
from thread_episodic.search import ranking
from thread_episodic.search.finding import ChunkFinder, ChunkQuery
from thread_episodic.search.ranking import Passage, PassageGains, rank
from thread_episodic.search.text_scan import IndexedWords
from thread_episodic.service import EpisodicService
from thread_episodic.values import Filter, Places

INJECTED = 5
MODES = ("ours by words", "ours with a model")
CONSTANTS = ("BY_WORDS", "BY_BOTH")
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

    async def adopt_filled_space(self) -> None:
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
            EpisodicMeans(
                db=self.db,
                clock=clock,
                ids=ids,
                keyed=HomeKey(b"k" * 32),
                lexicon=LEXICON,
                meaning=meaning,
                scanner=RuleScanner(),
                jobs=self._jobs,
                notify=lambda *_, **__: None,
                settings=lambda: SETTINGS,
                cache_seconds=lambda: 0,
                read_items=lambda _, wanted: {one: self.items[one] for one in wanted if one in self.items},
                read_thread=self._thread,
                workspace_exists=lambda *_: True,
                echo_spans=lambda *_: [],
                turn_items=lambda _, turns: {turn: dict.fromkeys(self._turns[turn], 0) for turn in turns},
                thread_turns=lambda *_: [],
                workspace_threads=lambda *_: [],
                thread_names=lambda *_: {},
                read_artifacts=lambda *_: {},
                paused=lambda: None,
                read_date=WrittenDates(),
                items_after=lambda *_: [],
                searched_space=lambda _: meaning.spaces[0].id if meaning.spaces else None,
                report_damage=lambda *_: None,
            )
        )

    @staticmethod
    def _thread(_tx: Tx, thread_id: str) -> ThreadFact:
        return ThreadFact(
            thread_id=thread_id,
            workspace_id=thread_id.partition("/")[0],
            agent_id=None,
            parent_thread_id=None,
            task_id=None,
            memory_mode="normal",
            origin="user",
            name=None,
        )

    async def add(self, talk: Talk) -> None:
        """Every thread of a talk; indexed when this returns."""
        threads: dict[str, list[ItemFact]] = {}
        for one in talk.messages:
            said = threads.setdefault(one.thread, [])
            item_id = f"{talk.name}:{one.message_id}"
            said.append(
                ItemFact(
                    item_id=item_id,
                    turn_id=item_id,
                    thread_id=f"{talk.name}/{one.thread}",
                    workspace_id=talk.name,
                    role=one.role,
                    name=one.name,
                    text=one.text,
                    at=one.at,
                    turn_seq=len(said),
                    item_seq=0,
                    indexable=True,
                    thread_name=one.thread_name,
                )
            )
        for facts in threads.values():
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

    async def ask(self, talk: Talk, shelf: Shelf, question: Question) -> "Judged":
        """Return the hits of a question, by each way."""
        terms, vector = LEXICON.query_terms(question.text), await self._meaning.of_query(question.text, PATIENCE)
        evidence = frozenset(f"{talk.name}:{message_id}" for message_id in question.evidence)
        words = shelf.bm25(terms)
        rivals = {"BM25 alone": shelf.ranked(words)}
        if vector is not None:
            cosines = shelf.cosines(vector)
            rivals |= {"cosine alone": shelf.ranked(cosines), "their sum": shelf.ranked(shelf.sum_of(words, cosines))}
        found = [
            await self.db.read(partial(self._found, talk.name, ChunkQuery(terms, asks_when(question.text), meant)))
            for meant in ([None] if vector is None else [None, vector])
        ]
        return Judged(talk, evidence, shelf.is_apart(terms, evidence), rivals, found)

    def _found(self, workspace: str, asked: ChunkQuery, tx: Tx) -> "Listed":
        finder = ChunkFinder(
            tx,
            self._meaning,
            IndexedWords(tx),
            Places(find_scope(tx, "workspace", workspace) or 0),
            Filter(workspace_id=workspace, mode="workspace_threads", thread_id=None),
            work=SETTINGS.max_candidate_work,
            max_segments=SETTINGS.max_segments,
        )
        found = finder.find(asked)
        return Listed(found.question, found.passages, {row: one.item_id for row, one in found.candidates.items()})


class Listed(NamedTuple):
    """Candidates of a question, and the message of each."""

    question: ranking.WeightedQuery
    passages: Sequence[Passage]
    items: Mapping[int, str]

    def ranked(self, *, has_meaning: bool) -> list[tuple[str, float]]:
        """Messages and scores, best first."""
        ranked = rank(self.question, self.passages, has_meaning=has_meaning)
        return [(self.items[one.row], one.score) for one in ranked]


class Judged(NamedTuple):
    """A question with its evidence, what the rivals rank, and our candidates: by words, and where there is a model, by
    both."""

    talk: Talk
    evidence: frozenset[str]
    is_apart: bool
    rivals: Mapping[str, Sequence[str]]
    found: Sequence[Listed]


class Figures(NamedTuple):
    """The ranks at which the evidence came."""

    questions: int
    recall_5: float
    recall_10: float
    mrr: float


def figures_of(lists: Sequence[tuple[frozenset[str], Sequence[str]]]) -> Figures:
    """Of some questions: their evidence, and the messages that were found."""
    five, ten = (
        fmean(len(wanted.intersection(got[:depth])) / len(wanted) for wanted, got in lists) for depth in (5, 10)
    )
    firsts = [next((place for place, item in enumerate(got, 1) if item in wanted), None) for wanted, got in lists]
    return Figures(len(lists), five, ten, fmean(1 / place if place else 0.0 for place in firsts))


def _ours(judged: Sequence[Judged], mode: int) -> list[tuple[frozenset[str], Sequence[str]]]:
    return [(one.evidence, [item for item, _ in one.found[mode].ranked(has_meaning=mode == 1)]) for one in judged]


def _groups(judged: Sequence[Judged]) -> dict[str, list[Judged]]:
    groups: dict[str, list[Judged]] = {}
    for one in judged:
        groups.setdefault(one.talk.group, []).append(one)
    return groups


def _floor(own: Sequence[Judged], other: Sequence[Judged], mode: int) -> tuple[float, float]:
    """The part of right answers among the best few that the floor cuts, and of other questions for which it lets
    one through."""
    least, cut = SETTINGS.min_relevancy, list[bool]()
    for one in own:
        best = one.found[mode].ranked(has_meaning=mode == 1)[:INJECTED]
        right = [score for item, score in best if item in one.evidence]
        if right:
            cut.append(max(right) < least)
    through = [any(s >= least for _, s in one.found[mode].ranked(has_meaning=mode == 1)[:1]) for one in other]
    return fmean(cut or [0.0]), fmean(through or [0.0])


def _show(own: Sequence[Judged], foreign: Sequence[Judged], unanswered: Sequence[Judged]) -> None:
    modes = range(len(own[0].found))
    rows: list[tuple[object, ...]] = []
    for group, judged in _groups(own).items():
        rows += [
            (f"{group}: {rival}", *figures_of([(one.evidence, one.rivals[rival]) for one in judged]))
            for rival in judged[0].rivals
        ]
        rows += [(f"{group}: {MODES[mode]}", *figures_of(_ours(judged, mode))) for mode in modes]
    show_table("what answers is found", ("talk: way", *Figures._fields), rows)
    if len(modes) > 1:
        rows = []
        for group, judged in _groups([one for one in own if one.is_apart]).items():
            cosine = figures_of([(one.evidence, one.rivals["cosine alone"]) for one in judged])
            rows += [(f"{group}: cosine alone", *cosine), (f"{group}: {MODES[1]}", *figures_of(_ours(judged, 1)))]
        show_table("of questions that share no word with what answers", ("talk: way", *Figures._fields), rows)
    rows = []
    others, nothing = _groups(foreign), _groups(unanswered)
    for group, judged in _groups(own).items():
        for mode in modes:
            cut, let = _floor(judged, others.get(group, []), mode)
            rows.append((f"{group}: {MODES[mode]}", cut, let, _floor([], nothing.get(group, []), mode)[1]))
    show_table("the floor", ("talk: way", "right ones cut", "foreign questions", "unanswered questions"), rows)
    for mode in modes:
        constant = CONSTANTS[mode]
        table: list[tuple[object, ...]] = []
        for name, gains in _ablations(getattr(ranking, constant)).items():
            with patch.object(ranking, constant, gains):
                found = [figures_of(_ours(judged, mode)) for judged in _groups(own).values()]
            table.append((name, *(f"{one.recall_10:.3f} {one.mrr:.3f}" for one in found)))
        show_table(f"what each gain is worth, {MODES[mode]}: recall@10 and MRR", ("gains", *_groups(own)), table)


def _ablations(gains: PassageGains) -> dict[str, PassageGains]:
    """The gains as they are, and each of them left out."""
    return {"all terms": gains} | {
        f"without {name}": structs.replace(gains, worth={**gains.worth, name: 0.0}) for name in gains.worth
    }


async def _judge(talks: Sequence[Talk], folder: Path) -> None:
    own, foreign, unanswered = list[Judged](), list[Judged](), list[Judged]()
    async with open_embedder(model_folder()) as embedder:
        index = Index(folder, LoadedMeaning(embedder))
        for talk in talks:
            await index.add(talk)
            shelf = await index.db.read(lambda tx, name=talk.name: Shelf.of(tx, name))
            asked = ((own, talk.questions), (foreign, foreign_to(talk, talks)), (unanswered, talk.unanswered))
            for judged, questions in asked:
                judged += [await index.ask(talk, shelf, question) for question in questions]
        _show(own, foreign, unanswered)
        index.db.close()


def main(arguments: list[str]) -> int:
    """Print the figures of both modes, and of each gain left out."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks episodic", description=__doc__)
    parser.add_argument(
        "--sets", type=Path, default=SETS, metavar="DIR", help="where the sets are (default: the repository's)"
    )
    talks = read_talks(parser.parse_args(arguments).sets)
    if not any(talk.questions for talk in talks):
        print("no talk to ask about (skipped)")
        return 0
    print(f"{sum(len(talk.questions) for talk in talks)} questions; {machine()}")
    with tempfile.TemporaryDirectory(prefix="pioneer-bench-") as temporary:
        asyncio.run(_judge(talks, Path(temporary)))
    return 0
