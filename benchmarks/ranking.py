"""What each term of durable memory's ranking is worth: the observations of real conversations, asked about, term by term.

The records of a conversation are its observations; a record is relevant when the turn that supports it is evidence of the question.
A foreign question is one about another conversation's people: nothing should be recalled for it.

Rule 1: the ranking that is measured is the product's own; an ablation changes one of its constants and nothing else.
"""

import argparse
import asyncio
import os
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import NamedTuple
from unittest.mock import patch

import numpy as np

from benchmarks.conversations import Conversation, Question, absence, data_folder, read_conversations
from benchmarks.report import machine, show_table
from gateway.embedder import load
from gateway.lexicon import SnowballLexicon
from gateway.model_files import locate
from memory import ranking
from memory.ranking import INJECTION_FLOOR, Scored, rarity, score
from protocol.settings import EmbeddingSettings

MODEL_VARIABLE = "PIONEER_TEST_MODEL"
MODEL_PLACE = "../shared/models/all-MiniLM-L6-v2"
TUNED_ON = frozenset({"conv-26", "conv-41", "conv-43"})
"""The gains were fitted on these; the others are told apart."""
INJECTED = 5
DAY_MS = 86_400_000
EVERY_FOREIGN = 3  # each third question is asked to the next conversation as well: some three hundred are enough

LEXICON = SnowballLexicon()


class Memory(NamedTuple):
    """A conversation's observations as records, with their vectors where there is a model."""

    name: str
    records: list[Scored]
    supports: list[str]
    vectors: np.ndarray | None


class Asked(NamedTuple):
    """A question with its terms and cosines to every record of the memory that it is asked to."""

    memory: Memory
    terms: list[str]
    cosines: Sequence[float] | None
    evidence: frozenset[str]


class Figures(NamedTuple):
    """How well the relevant records came first, and what the floor let through and cut."""

    recall_5: float
    recall_10: float
    mrr: float
    missed: float
    injected: float


def _embedder(texts: Sequence[str]) -> np.ndarray | None:
    folder = Path(os.environ.get(MODEL_VARIABLE) or Path(__file__).resolve().parent.parent / MODEL_PLACE)
    located = locate(EmbeddingSettings(model_path=str(folder)), folder)
    if located.files is None:
        return None

    async def embed() -> list[bytes]:
        embedder = await load(EmbeddingSettings().model, located.files, cache_dir=located.cache)
        try:
            return await embedder.embed(texts)
        finally:
            embedder.close()

    blobs = asyncio.run(embed())
    return np.frombuffer(b"".join(blobs), "<f2").reshape(len(blobs), -1).astype(np.float32)


def _memory(conversation: Conversation) -> Memory:
    at = {said.dia_id: said.at for session in conversation.sessions for said in session.turns}
    facts = [(one.fact, dia_id) for dia_id, seen in conversation.observed.items() for one in seen]
    records = [
        Scored(
            terms=LEXICON.index_terms(fact), gist=LEXICON.query_terms(fact), nearness=1.0, updated_at=at[dia_id],
            importance=0.5, confidence=1.0, evidence_count=1,
        )
        for fact, dia_id in facts
    ]  # fmt: skip
    return Memory(conversation.name, records, [dia_id for _, dia_id in facts], _embedder([fact for fact, _ in facts]))


def _asked(memory: Memory, questions: Sequence[Question]) -> list[Asked]:
    vectors = _embedder([question.text for question in questions]) if memory.vectors is not None else None
    cosines = (
        [None] * len(questions) if vectors is None or memory.vectors is None else (vectors @ memory.vectors.T).tolist()
    )
    return [
        Asked(memory, LEXICON.query_terms(question.text), near, question.evidence)
        for question, near in zip(questions, cosines, strict=True)
    ]


def _scores(asked: Asked, mode: str) -> np.ndarray:
    """The score of every record for a question, in its mode."""
    memory, terms = asked.memory, [] if mode == "semantic" else asked.terms
    weights = rarity(terms, [record.terms for record in memory.records], len(memory.records))
    now = max(record.updated_at for record in memory.records) + DAY_MS
    cosines = asked.cosines if mode != "lexical" and asked.cosines is not None else [None] * len(memory.records)
    found = [
        score(terms, record._replace(cosine=cosine), weights, now).place
        for record, cosine in zip(memory.records, cosines, strict=True)
    ]
    return np.array(found)


def _figures(own: Sequence[Asked], foreign: Sequence[Asked], mode: str) -> Figures:
    found_5, found_10, reciprocal, missed = [], [], [], []
    for asked in own:
        relevant = np.array([support in asked.evidence for support in asked.memory.supports])
        if not relevant.any():
            continue
        scores = _scores(asked, mode)
        order = np.argsort(-scores, kind="stable")
        wanted = asked.evidence.intersection(asked.memory.supports)
        for top, found in ((5, found_5), (10, found_10)):
            got = {asked.memory.supports[place] for place in order[:top]}
            found.append(len(got & wanted) / len(wanted))
        reciprocal.append(1 / (1 + int(np.flatnonzero(relevant[order])[0])))
        shown = [place for place in order[:INJECTED] if relevant[place]]
        if shown:
            missed.append(max(scores[place] for place in shown) < INJECTION_FLOOR)
    injected = [_scores(asked, mode).max() >= INJECTION_FLOOR for asked in foreign]
    mean: Callable[[Sequence[float]], float] = lambda values: float(np.mean(values)) if values else 0.0  # noqa: E731
    return Figures(mean(found_5), mean(found_10), mean(reciprocal), mean(missed), mean(injected))


ABLATIONS: Mapping[str, Mapping[str, float]] = {
    "all terms": {},
    "without the record's side": {"RECORD_SIDE": 0.0},
    "without the coincidence rule": {"COINCIDENCE": 1.0},
    "without recency": {"RECENCY_GAIN": 0.0},
    "cosine without its floor": {"COSINE_FLOOR": 0.0},
    "twice the recency": {"RECENCY_GAIN": 2 * ranking.RECENCY_GAIN},
}  # fmt: skip


def main(arguments: list[str]) -> int:
    """Print the figures of each mode, and of each term left out."""
    argparse.ArgumentParser(prog="python -m benchmarks ranking", description=__doc__).parse_args(arguments)
    folder = data_folder()
    if folder is None:
        print(absence())
        return 0
    conversations = read_conversations(folder)
    memories = [_memory(conversation) for conversation in conversations]
    own = [_asked(memory, c.questions) for memory, c in zip(memories, conversations, strict=True)]
    foreign = [
        _asked(memories[(n + 1) % len(memories)], c.questions[::EVERY_FOREIGN]) for n, c in enumerate(conversations)
    ]
    print(f"{sum(len(m.records) for m in memories)} records, {sum(map(len, own))} questions; {machine()}")
    has_model = memories[0].vectors is not None
    heads = ("", "recall@5", "recall@10", "MRR", "missed", "foreign injected")

    def rows(name: str, mode: str) -> list[tuple[object, ...]]:
        groups = (("tuned on", True), ("held out", False))
        return [
            (f"{name}, {group}", *_figures(
                [asked for part in own for asked in part if (asked.memory.name in TUNED_ON) is tuned],
                [asked for part in foreign for asked in part if (asked.memory.name in TUNED_ON) is tuned], mode,
            ))
            for group, tuned in groups
        ]  # fmt: skip

    modes = ("lexical", "semantic", "hybrid") if has_model else ("lexical",)
    show_table("modes", heads, [row for mode in modes for row in rows(mode, mode)])
    ablated: list[tuple[object, ...]] = []
    for name, changes in ABLATIONS.items():
        with ExitStack() as changed:
            for constant, value in changes.items():
                changed.enter_context(patch.object(ranking, constant, value))
            ablated += rows(name, modes[-1])
    show_table(f"terms of the {modes[-1]} score", heads, ablated)
    return 0
