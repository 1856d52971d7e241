"""Scores of hits, on one scale from 0 to 1 for the hits of all houses; pure.

Rule 1: score = min(1, (words + meaning + card) x topics x consolidation + related).
Rule 2: topics and consolidations raise a score; they never filter.
"""

import math
from collections import Counter
from collections.abc import Collection, Mapping, Sequence

from protocol.files.knowledge import ScoreParts
from protocol.memory.values import SpaceKind

WORDS_PART = 0.9
CARD_PART = 0.1
HEADING_PART = 0.1
"""The most that all words of a question add to a score: in a piece, in its file's names, in its headings."""
K1, B, USUAL_SIZE = 1.5, 0.4, 150
"""The parameters of BM25: saturation, normalization by length, and the average number of terms of a piece."""
STEEPNESS = 0.7
"""The steepness with which a sum of BM25 nears `WORDS_PART`.

A short piece with each word of a question once has 0.54; one with half of their weight has 0.33, which is less than
recall in turns asks for.
"""
MEANING_PART: Mapping[SpaceKind, float] = {"static": 0.3, "model": 0.5}
"""The most that meaning adds to a score; words and names of a piece with a vector count for the rest.

A model that reads the text is right more often than a static one, which averages words. Chosen on the questions of
development: over four collections recall@5 is .77 with 0.4 and .79 with 0.5 (MRR .64 and .65).
"""
NO_COSINE, FULL_COSINE = 0.1, 0.8
"""The cosines at which meaning adds nothing, as of unrelated texts, and its most, as of a question and its answer.

The values above and below were chosen on `benchmarks/sets/files/tuning.jsonl` with the static model: `python -m
benchmarks knowledge`.
"""
BARE = 0.6
"""The factor of a piece that is only its heading: it answers nothing, but would take one of the places of its file."""
NEAR_COSINE = 0.25
"""The least cosine at which a piece is scored for its meaning alone."""
PRIOR_PIECES = 200
"""Pieces added to the count of all: the weights of terms are steady while a collection is small, as in conversation."""
TOPICS_RAISE = 0.2
"""The most that wanted topics add to a score's factor of 1."""
CONSOLIDATION_RAISE = 1.2
"""The factor of an insight's score."""


def weights_of(found: Mapping[str, int], total: int) -> dict[str, float]:
    """Return the inverse document frequency of each term, from the number of pieces with it among `total`.

    A word that no piece has weighs no more than one that a single piece has: it may be the question's alone.
    """
    every = total + PRIOR_PIECES
    return {
        term: math.log(1 + (every - count + 0.5) / (count + 0.5))
        for term, count in ((term, max(1, count)) for term, count in found.items())
    }


def words_score(words: Sequence[str], weights: Mapping[str, float]) -> float:
    """Return the score of a piece's words: 0 without any of the question's, up to `WORDS_PART`."""
    whole = sum(weights.values())
    if not whole:
        return 0.0
    counts = Counter(word for word in words if word in weights)
    length = K1 * (1 - B + B * len(words) / USUAL_SIZE)
    said = sum(weights[term] * count * (K1 + 1) / (count + length) for term, count in counts.items())
    return WORDS_PART * (1 - math.exp(-STEEPNESS * said / whole))


def card_score(present: Collection[str], weights: Mapping[str, float]) -> float:
    """Return the score of the question's terms among the names of a file."""
    return CARD_PART * _share(present, weights)


def heading_score(named: Collection[str], weights: Mapping[str, float]) -> float:
    """Return the score of the question's terms among those of a piece's headings."""
    return HEADING_PART * _share(weights.keys() & set(named), weights)


def _share(present: Collection[str], weights: Mapping[str, float]) -> float:
    whole = sum(weights.values())
    return sum(weights[term] for term in present) / whole if whole else 0.0


def meaning_score(cosine: float, kind: SpaceKind) -> float:
    """Return the score of a cosine: 0 to the `MEANING_PART` of that kind of space."""
    return MEANING_PART[kind] * min(1.0, max(0.0, (cosine - NO_COSINE) / (FULL_COSINE - NO_COSINE)))


def weigh(
    words: float, card: float, cosine: float | None, topics: float, kind: SpaceKind = "model", *, is_bare: bool = False
) -> ScoreParts:
    """Return the parts of a score; without a vector (`cosine` is None) words and names count in full."""
    share = BARE if is_bare else 1.0
    if cosine is None:
        return ScoreParts(words=share * words, card=share * card, topics=topics)
    rest = share * (1 - MEANING_PART[kind])
    return ScoreParts(words=rest * words, meaning=share * meaning_score(cosine, kind), card=rest * card, topics=topics)


def topics_factor(wanted: Collection[str], topics: Collection[str]) -> float:
    """Return the factor, from 1 to 1 + `TOPICS_RAISE`, by the share of the wanted topics that a hit has."""
    asked = {one.strip().casefold() for one in wanted}
    has = {one.strip().casefold() for one in topics}
    return 1 + TOPICS_RAISE * len(asked & has) / len(asked) if asked else 1.0


def total_of(parts: ScoreParts) -> float:
    """Return the score of a hit, from its parts (rule 1)."""
    return min(1.0, (parts.words + parts.meaning + parts.card) * parts.topics * parts.consolidation + parts.related)
