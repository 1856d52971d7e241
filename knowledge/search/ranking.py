"""Scores of what is found: on one scale from 0 to 1, whatever house it comes from; pure.

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
"""The worth of all words of a question: in a text, in a file's names, in a piece's headings."""
K1, B, USUAL_SIZE = 1.5, 0.4, 150
"""Of BM25: what a second mention is worth, what length takes away, and how many terms a piece usually has."""
STEEPNESS = 0.7
"""The steepness with which a sum of BM25 nears `WORDS_PART`.

A short piece with each word of a question once has 0.54; one with half of their weight has 0.33, which is less than
recall in turns asks for.
"""
MEANING_PART: Mapping[SpaceKind, float] = {"static": 0.3, "model": 0.5}
"""The worth of the nearest meaning; the words and names of a piece with a vector are worth the rest.

A model that reads the text is right more often than the mean of its words. Chosen on the questions of development: over
four collections recall@5 is .77 with 0.4 and .79 with 0.5 (MRR .64 and .65).
"""
NO_COSINE, FULL_COSINE = 0.1, 0.8
"""Cosines of texts that have nothing to do with one another, and of a question and its answer at their nearest.

The others were chosen on `benchmarks/sets/files/tuning.jsonl` with the static model: `python -m benchmarks knowledge`.
"""
NEAR_COSINE = 0.25
"""From here on a piece is looked at for its meaning alone."""
PRIOR_PIECES = 200
"""As if there were this many other pieces: a term's weight is steady while a collection is small, as in talk."""
TOPICS_RAISE = 0.2
CONSOLIDATION_RAISE = 1.2


def weights_of(found: Mapping[str, int], total: int) -> dict[str, float]:
    """Return the weight of each term of a question by how many pieces of all have it.

    A word that no piece has tells no more than one that a single piece has: it may be the question's alone.
    """
    every = total + PRIOR_PIECES
    return {
        term: math.log(1 + (every - count + 0.5) / (count + 0.5))
        for term, count in ((term, max(1, count)) for term, count in found.items())
    }


def words_score(words: Sequence[str], weights: Mapping[str, float]) -> float:
    """Return the score of a piece's words: 0 without any of the question, near `WORDS_PART` with many of all."""
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
    """Return the score of the nearness of a piece's meaning to the question's: 0 to that space's `MEANING_PART`."""
    return MEANING_PART[kind] * min(1.0, max(0.0, (cosine - NO_COSINE) / (FULL_COSINE - NO_COSINE)))


def weigh(words: float, card: float, cosine: float | None, topics: float, kind: SpaceKind = "model") -> ScoreParts:
    """Return the parts of a score; what has no vector is judged by its words and names alone."""
    if cosine is None:
        return ScoreParts(words=words, card=card, topics=topics)
    rest = 1 - MEANING_PART[kind]
    return ScoreParts(words=rest * words, meaning=meaning_score(cosine, kind), card=rest * card, topics=topics)


def topics_factor(wanted: Collection[str], topics: Collection[str]) -> float:
    """Return the factor by which a hit rises with the share of the wanted topics that it has."""
    asked = {one.strip().casefold() for one in wanted}
    has = {one.strip().casefold() for one in topics}
    return 1 + TOPICS_RAISE * len(asked & has) / len(asked) if asked else 1.0


def total_of(parts: ScoreParts) -> float:
    """Return the score of a hit."""
    return min(1.0, (parts.words + parts.meaning + parts.card) * parts.topics * parts.consolidation + parts.related)
