"""How well a record answers a query: 0 to 1, the same meaning for any size of memory.

Rule 1: pure, and only from what the caller may see: no statistic of another scope has a part in a score.
Rule 2: what the words say decides; every other term is a factor near 1.0.

The lexical score is an overlap weighted by rarity (the idf of Robertson and Spärck Jones over the records in view):
the weight of the shared terms over the weight of the query's terms, or over the record's where the record is the shorter.
"""

import math
from bisect import bisect_right
from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import accumulate
from typing import NamedTuple

INJECTION_FLOOR = 0.30
"""Below it a hit is not put into a prompt: about a third of what was asked, by weight. A weak hit is worse than none."""
SEARCH_FLOOR = 0.05
RECORD_SIDE = 0.85  # a short record that the query covers whole is a good hit, a little less than the other way round
MIN_SHARED = 2
COINCIDENCE = 0.5  # one shared word of several is as likely a coincidence as a hit
POPULATION_FLOOR = 50  # in a memory of three records every word is "rare"; statistics begin to mean something here
DAY_MS = 86_400_000
RECENCY_DAYS = 30.0
RECENCY_GAIN = 0.03
IMPORTANCE_GAIN = 0.04
CONFIDENCE_GAIN = 0.02
EVIDENCE_GAIN = 0.01


class Scored(NamedTuple):
    """A record's terms, those of them that are no function words, and the properties that its boosts come from."""

    terms: Sequence[str]
    gist: Sequence[str]
    nearness: float
    updated_at: int
    importance: float
    confidence: float
    evidence_count: int


class Score(NamedTuple):
    """A score, its place among others before it is cut at 1, its parts, and the query's terms that the record has."""

    total: float
    place: float
    parts: Mapping[str, float]
    shared: list[str]


def rarity(query: Sequence[str], records: Sequence[Sequence[str]], population: int) -> dict[str, float]:
    """The weight of each term: idf over the population in view, always above zero."""
    frequency = Counter(term for terms in records for term in set(terms))
    wanted = set(query) | set(frequency)
    total = max(population, POPULATION_FLOOR, len(records))
    return {term: math.log(1 + (total - frequency[term] + 0.5) / (frequency[term] + 0.5)) + 0.1 for term in wanted}


def score(query: Sequence[str], record: Scored, weights: Mapping[str, float], now: int) -> Score:
    """How well the record answers the query's terms."""
    own = set(record.terms)
    shared = [term for term in query if term in own]
    gist = [term for term in record.gist if term in own]
    overlap = sum(weights[term] for term in shared)
    asked = sum(weights[term] for term in query) or 1.0
    has = sum(weights[term] for term in gist)
    lexical = overlap / asked
    if len(shared) >= MIN_SHARED and has:
        lexical = max(lexical, RECORD_SIDE * overlap / has)
    elif len(query) >= MIN_SHARED:
        lexical *= COINCIDENCE
    parts = {
        "lexical": round(min(1.0, lexical), 4),
        "scope": record.nearness,
        "recency": 1 + RECENCY_GAIN * math.exp(-max(0, now - record.updated_at) / DAY_MS / RECENCY_DAYS),
        "importance": 1 + IMPORTANCE_GAIN * (record.importance - 0.5),
        "confidence": 1 + CONFIDENCE_GAIN * (record.confidence - 1),
        "evidence": 1 + EVIDENCE_GAIN * min(3.0, math.log(max(1, record.evidence_count))),
    }
    total = parts["lexical"]
    for name, factor in parts.items():
        if name != "lexical":
            total *= factor
    return Score(round(min(1.0, total), 4), total, {name: round(part, 4) for name, part in parts.items()}, shared)


def snippet(content: str, words: Sequence[str], max_chars: int) -> str:
    """A part of the content around the first of the words."""
    if len(content) <= max_chars:
        return content
    low = content.casefold()
    places = [place for word in words if (place := low.find(word)) >= 0]
    place = min(places, default=0)
    if len(low) != len(content):  # folding made the text longer: "ß" is "ss"
        place = bisect_right(list(accumulate(len(char.casefold()) for char in content)), place)
    start = max(0, min(place - max_chars // 4, len(content) - max_chars + 2))
    piece = content[start : start + max_chars - 2].strip()
    return ("…" if start else "") + piece + ("…" if start + max_chars - 2 < len(content) else "")
