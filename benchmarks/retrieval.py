"""Questions asked of conversation search, and how much of their evidence it found.

Rule 1: a turn found counts once, at the rank of its first hit; a figure is a mean over questions, never over turns.
"""

import time
from typing import NamedTuple

from benchmarks.conversations import Conversation, Question
from benchmarks.report import percentile, show_table
from benchmarks.stage import Stage
from protocol import methods as call
from protocol.thread_episodic import ThreadSearchParams

RECALL_FLOOR = 0.62
"""What plain BM25 with a sensible tokenizer reaches with room to spare; less is a defect, not a matter of taste."""

DEPTHS = (5, 10, 20)
SEARCH_LIMIT = 20
SEARCH_CHARS = 12_000
CATEGORIES = {1: "multi-hop", 2: "temporal", 3: "open-domain", 4: "single-hop"}


class Asked(NamedTuple):
    """What a question found."""

    category: int
    recall: tuple[float, ...]
    is_hit: bool
    reciprocal_rank: float
    milliseconds: float


async def ask(stage: Stage, conversation: Conversation, question: Question) -> Asked:
    """One question, by the search a prompt would make."""
    params = ThreadSearchParams(
        workspace_id=conversation.name, query=question.text, mode="workspace_threads", limit=SEARCH_LIMIT,
        max_prompt_chars=SEARCH_CHARS, min_score=0.0,
    )  # fmt: skip
    begun = time.perf_counter()
    found = await stage.client.call(call.EPISODIC_SEARCH, params)
    took = (time.perf_counter() - begun) * 1000
    ranked = list(dict.fromkeys(hit.turn_id.partition(":")[2] for hit in found.hits))
    ranks = [rank for rank, dia_id in enumerate(ranked, 1) if dia_id in question.evidence]
    recall = tuple(sum(rank <= depth for rank in ranks) / len(question.evidence) for depth in DEPTHS)
    return Asked(question.category, recall, any(r <= 10 for r in ranks), 1 / ranks[0] if ranks else 0.0, took)


def show_found(asked: list[Asked]) -> None:
    """The retrieval table, one row per category and one for all, and the floor."""
    rows: list[list[object]] = []
    for name, of in [*((name, number) for number, name in CATEGORIES.items()), ("all", None)]:
        part = [one for one in asked if of is None or one.category == of]
        if not part:
            continue
        means = [sum(one.recall[i] for one in part) / len(part) for i in range(len(DEPTHS))]
        hits, mrr = (
            sum(values) / len(part) for values in zip(*((o.is_hit, o.reciprocal_rank) for o in part), strict=True)
        )
        times = [one.milliseconds for one in part]
        rows.append([name, len(part), *means, hits, mrr, percentile(times, 50), percentile(times, 95)])
    heads = ["category", "questions", *(f"recall@{k}" for k in DEPTHS), "hit@10", "MRR", "p50 ms", "p95 ms"]
    show_table("evidence found by thread_episodic/search", heads, rows)
    reached = sum(one.recall[DEPTHS.index(10)] for one in asked) / len(asked) if asked else 0.0
    print(f"\nrecall@10 >= {RECALL_FLOOR}: {'ok' if reached >= RECALL_FLOOR else 'MISSED'} ({reached:.3f})")
