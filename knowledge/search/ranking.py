"""Scores of what is found: on one scale from 0 to 1, whatever house it comes from; pure.

Rule 1: score = min(1, (words + meaning + card) x topics x consolidation + related).
Rule 2: topics and consolidations raise a score; they never filter.
"""

import math
from collections import Counter
from collections.abc import Collection, Mapping, Sequence

from protocol.files.knowledge import ScoreParts

WORDS_PART = 0.8
CARD_PART = 0.2
"""What all words of a question are worth in a text, and in the names of a file."""
SATURATION = 0.6
"""Of BM25: how much a second mention of a word is worth; the usual value is 1.2 over a document, pieces are shorter."""
TOPICS_RAISE = 0.2
CONSOLIDATION_RAISE = 1.2


def weights_of(found: Mapping[str, int], total: int) -> dict[str, float]:
    """Return the weight of each term of a question by how many pieces of all have it."""
    return {term: math.log(1 + (total - count + 0.5) / (count + 0.5)) for term, count in found.items()}


def words_score(words: Sequence[str], weights: Mapping[str, float]) -> float:
    """Return what the words of a piece are worth: 0 without any of the question, `WORDS_PART` with all of them."""
    whole = sum(weights.values())
    if not whole:
        return 0.0
    counts = Counter(word for word in words if word in weights)
    said = sum(weights[term] * count / (count + SATURATION) for term, count in counts.items())
    most = 1 / (1 + SATURATION)
    present = sum(weights[term] for term in counts)
    return WORDS_PART * min(1.0, (0.85 * present + 0.15 * (said - most * present) / (1 - most)) / whole)


def card_score(present: Collection[str], weights: Mapping[str, float]) -> float:
    """Return what the question's terms among the names of a file are worth."""
    whole = sum(weights.values())
    return CARD_PART * sum(weights[term] for term in present) / whole if whole else 0.0


def topics_factor(wanted: Collection[str], topics: Collection[str]) -> float:
    """Return the factor by which a hit rises with the share of the wanted topics that it has."""
    asked = {one.strip().casefold() for one in wanted}
    has = {one.strip().casefold() for one in topics}
    return 1 + TOPICS_RAISE * len(asked & has) / len(asked) if asked else 1.0


def total_of(parts: ScoreParts) -> float:
    """Return the score of a hit."""
    return min(1.0, (parts.words + parts.meaning + parts.card) * parts.topics * parts.consolidation + parts.related)
