"""Questions asked of conversation search, and how much of their evidence it found.

Rule 1: a turn found counts once, at the rank of its first hit; a figure is a mean over questions, never over turns.
"""

import time
from collections.abc import Callable, Sequence
from typing import NamedTuple

from benchmarks.conversations import Conversation, Question
from benchmarks.report import percentile, show_table
from benchmarks.stage import Stage
from benchmarks.wire import cpu_ms
from protocol import methods as call
from protocol.thread_episodic import ThreadSearchParams

GOALS = {False: (0.75, 0.56), True: (0.79, 0.58)}
"""Least recall@10 and MRR over all questions, without and with a model; plain BM25 has 0.67 and 0.45."""
FLOOR = 0.62
"""The least of a part of the questions: what plain BM25 with a sensible tokenizer reaches with room to spare."""
TUNED_ON = frozenset({"conv-26", "conv-41", "conv-43"})
"""The ranking was fitted on these conversations; the others are told apart."""

DEPTHS = (5, 10, 20)
SEARCH_LIMIT = 20
INJECTION_FLOOR = 0.25
"""The setting `min_relevancy`, strict as it is in a turn."""
EVERY_FOREIGN = 3  # each third question is asked of the next conversation as well: some three hundred are enough
SEARCH_CHARS = 12_000
CATEGORIES = {1: "multi-hop", 2: "temporal", 3: "open-domain", 4: "single-hop"}


class Asked(NamedTuple):
    """The hits of a question."""

    conversation: str
    category: int
    recall: tuple[float, ...]
    is_hit: bool
    reciprocal_rank: float
    milliseconds: float
    cpu: float


async def ask(stage: Stage, conversation: Conversation, question: Question) -> Asked:
    """One question, by the search a prompt would make."""
    params = ThreadSearchParams(
        workspace_id=conversation.name,
        query=question.text,
        mode="workspace_threads",
        limit=SEARCH_LIMIT,
        max_prompt_chars=SEARCH_CHARS,
        min_score=0.0,
    )
    begun, used = time.perf_counter(), cpu_ms(stage.client.pid)
    found = await stage.client.call(call.EPISODIC_SEARCH, params)
    took, cpu = (time.perf_counter() - begun) * 1000, cpu_ms(stage.client.pid) - used
    ranked = list(dict.fromkeys(hit.turn_id.partition(":")[2] for hit in found.hits))
    ranks = [rank for rank, dia_id in enumerate(ranked, 1) if dia_id in question.evidence]
    recall = tuple(sum(rank <= depth for rank in ranks) / len(question.evidence) for depth in DEPTHS)
    is_hit, reciprocal = any(rank <= 10 for rank in ranks), 1 / ranks[0] if ranks else 0.0
    return Asked(conversation.name, question.category, recall, is_hit, reciprocal, took, cpu)


async def injected(stage: Stage, conversation: Conversation, questions: Sequence[Question]) -> float:
    """The part of some questions for which the floor of a prompt lets anything through."""
    count = 0
    for question in questions:
        params = ThreadSearchParams(workspace_id=conversation.name, query=question.text, min_score=INJECTION_FLOOR)
        count += bool((await stage.client.call(call.EPISODIC_SEARCH, params)).hits)
    return count / len(questions) if questions else 0.0


def show_found(asked: list[Asked], *, has_model: bool, is_whole: bool) -> bool:
    """The retrieval table, one row per category, one per part of the conversations and one for all; whether the goals
    are met."""
    parts: list[tuple[str, Callable[[Asked], bool]]] = [
        *((name, lambda one, number=number: one.category == number) for number, name in CATEGORIES.items()),
        ("tuned on", lambda one: one.conversation in TUNED_ON),
        ("held out", lambda one: one.conversation not in TUNED_ON),
        ("all", lambda _: True),
    ]
    rows: list[list[object]] = []
    for name, belongs in parts:
        part = [one for one in asked if belongs(one)]
        if not part:
            continue
        means = [sum(one.recall[i] for one in part) / len(part) for i in range(len(DEPTHS))]
        hits, mrr = sum(one.is_hit for one in part) / len(part), _mrr(part)
        times, cpu = [one.milliseconds for one in part], [one.cpu for one in part]
        rows.append(
            [name, len(part), *means, hits, mrr, percentile(times, 50), percentile(times, 95), percentile(cpu, 50)]
        )
    heads = ["questions", *(f"recall@{k}" for k in DEPTHS), "hit@10", "MRR", "p50 ms", "p95 ms", "cpu p50 ms"]
    show_table(
        f"evidence found by thread_episodic/search, {'with' if has_model else 'without'} a model", ["", *heads], rows
    )
    reached = sum(one.recall[DEPTHS.index(10)] for one in asked) / len(asked) if asked else 0.0
    recall, mrr = GOALS[has_model] if is_whole else (FLOOR, 0.0)
    is_met = reached >= recall and _mrr(asked) >= mrr
    print(f"\nrecall@10 >= {recall}, MRR >= {mrr}: {'ok' if is_met else 'MISSED'} ({reached:.3f}, {_mrr(asked):.3f})")
    return is_met


def _mrr(asked: Sequence[Asked]) -> float:
    return sum(one.reciprocal_rank for one in asked) / len(asked) if asked else 0.0
