"""Which of the candidates is best, and how good it is.

Rule 1: pure. A score is 0 to 1 and means the same in a small and in a large index: the share of the query's weight that a
chunk has, rare terms weighing more, each as strong as it is frequent there.
Rule 2: equal scores have one order.
"""

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from thread_episodic.model import Candidate

PRIOR_CHUNKS = 200  # as if the index held this much other talk: a term's weight is steady while the index is small
K1, B = 0.9, 0.4  # BM25 for passages: messages are short, so length and repetition tell less than in documents
NEIGHBOUR_SHARE = 0.25  # of a neighbouring message's score: question and answer are found together


@dataclass(frozen=True, kw_only=True, slots=True)
class Ranked:
    """A candidate with its score and what it is made of."""

    candidate: Candidate
    score: float
    breakdown: Mapping[str, float]


@dataclass(frozen=True, kw_only=True, slots=True)
class Statistics:
    """How common the query's terms are in the workspace."""

    chunks: int
    average_terms: float
    frequencies: Mapping[str, int]

    def weight(self, term: str) -> float:
        """The term's worth: the rarer, the more; never negative."""
        chunks, frequency = self.chunks + PRIOR_CHUNKS, self.frequencies.get(term, 0)
        return math.log1p((chunks - frequency + 0.5) / (frequency + 0.5)) if chunks > frequency else math.log1p(0.5)


def lexical_score(counts: Mapping[str, int], length: int, weights: Mapping[str, float], average: float) -> float:
    """The share of the query's weight that a chunk has: about 1 for one of usual length that has each term once."""
    norm = K1 * (1 - B + B * length / max(average, 1.0))
    strength = sum(
        weight * counts[term] * (K1 + 1) / (counts[term] + norm) for term, weight in weights.items() if term in counts
    )
    return strength / sum(weights.values())


def _are_neighbours(one: Candidate, other: Candidate) -> bool:
    """Whether two messages of a thread follow one another."""
    if one.turn_seq == other.turn_seq:
        return abs(one.item_seq - other.item_seq) == 1
    return abs(one.turn_seq - other.turn_seq) == 1


def rank(candidates: Sequence[Candidate], weights: Mapping[str, float], average: float) -> list[Ranked]:
    """Candidates by score; equal ones by time, newest first, then by id."""
    own = [
        lexical_score(Counter(filter(weights.__contains__, c.body.split(" "))), c.term_count, weights, average)
        for c in candidates
    ]
    by_place: dict[tuple[str, int], list[int]] = {}
    for index, candidate in enumerate(candidates):
        by_place.setdefault((candidate.thread_id, candidate.turn_seq), []).append(index)
    ranked: list[tuple[float, Ranked]] = []
    for index, candidate in enumerate(candidates):
        near = max(
            (
                own[other]
                for step in (-1, 0, 1)
                for other in by_place.get((candidate.thread_id, candidate.turn_seq + step), ())
                if _are_neighbours(candidate, candidates[other])
            ),
            default=0.0,
        )
        total = own[index] + NEIGHBOUR_SHARE * near
        breakdown = {"lexical": min(1.0, own[index]), "neighbour": min(1.0, near)}
        ranked.append((total, Ranked(candidate=candidate, score=min(1.0, total), breakdown=breakdown)))
    ranked.sort(key=lambda pair: (-pair[0], -pair[1].candidate.at, pair[1].candidate.id))
    return [item for _, item in ranked]
