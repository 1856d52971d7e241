"""How well a record answers a query: 0 to 1, the same meaning for any size of memory.

Rule 1: pure, and only from what the caller may see: no statistic of another scope has a part in a score.
Rule 2: what the words say decides; every other term is a factor near 1.0.

The lexical score is an overlap weighted by rarity (the idf of Robertson and Spärck Jones over the records in view):
the weight of the shared terms over the weight of the query's terms, or over the record's where the record is the shorter.

The three modes share one scale: equal scores are equally likely to be relevant. The gains are the ratios of three logistic fits
(relevance by lexical score, by cosine, by their sum) on the observations of three LoCoMo conversations with all-MiniLM-L6-v2; on the other
two the fits differ by less than 3 %. The sum of both, unweighted, orders best (recall@5 0.73, MRR 0.67; words alone 0.68, 0.62; meaning alone 0.67, 0.60).
"""

import math
from bisect import bisect_right
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from itertools import accumulate, chain
from typing import NamedTuple

INJECTION_FLOOR = 0.30
"""Below it a hit is not put into a prompt; a weak hit is worse than none. On LoCoMo it lets 4 % of the questions about other people's
lives inject anything (9 % by words alone) and cuts 9 % (14 %) of the right answers out of the best five."""
SEARCH_FLOOR = 0.05
COSINE_FLOOR = 0.45
"""Sentences about the same people are so near to each other whatever they say; only what is nearer speaks for a record."""
HYBRID_GAIN = 0.82
SEMANTIC_GAIN = 2.31
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

    terms: Collection[str]
    gist: Sequence[str]
    nearness: float
    updated_at: int
    importance: float
    confidence: float
    evidence_count: int
    cosine: float | None = None


BOOSTS = ("scope", "recency", "importance", "confidence", "evidence")


class Score(NamedTuple):
    """A score's place among others before it is cut at 1, what it is made of, and the query's terms that the record has."""

    place: float
    lexical: float
    cosine: float | None
    boosts: tuple[float, ...]
    shared: list[str]

    @property
    def total(self) -> float:
        """The score as it is told: 0 to 1."""
        return round(min(1.0, self.place), 4)

    @property
    def parts(self) -> dict[str, float]:
        """Each part by its name."""
        near = {} if self.cosine is None else {"semantic": self.cosine}
        return {"lexical": self.lexical, **near, **dict(zip(BOOSTS, self.boosts, strict=True))}


def weight_of(count: int, population: int) -> float:
    """The weight of a term that so many records of so many have: idf, always above zero."""
    total = max(population, POPULATION_FLOOR, count)
    return math.log(1 + (total - count + 0.5) / (count + 0.5)) + 0.1


def rarity(query: Sequence[str], records: Sequence[Collection[str]], population: int) -> dict[str, float]:
    """The weight of each term: as many of the records as have it, over the population in view."""
    frequency = Counter(chain.from_iterable(map(frozenset, records)))
    total = max(population, len(records))
    weights = {count: weight_of(count, total) for count in {0, *frequency.values()}}
    unknown = dict.fromkeys(query, weights[0])
    return unknown | {term: weights[count] for term, count in frequency.items()}


def relevance_of(lexical: float | None, cosine: float | None) -> float:
    """Words and meaning on one scale, 0 and up; None: that side was not asked, or has nothing to say."""
    if cosine is None:
        return lexical or 0.0
    near = max(0.0, cosine - COSINE_FLOOR)
    return SEMANTIC_GAIN * near if lexical is None else HYBRID_GAIN * (lexical + near)


def score(query: Sequence[str], record: Scored, weights: Mapping[str, float], now: int) -> Score:
    """How well the record answers the query's terms."""
    own, weight = record.terms, weights.__getitem__
    shared = [term for term in query if term in own]
    overlap = sum(map(weight, shared))
    lexical = overlap / (sum(map(weight, query)) or 1.0)
    if len(shared) >= MIN_SHARED and (has := sum([weights[term] for term in record.gist if term in own])):
        lexical = max(lexical, RECORD_SIDE * overlap / has)
    elif len(query) >= MIN_SHARED:
        lexical *= COINCIDENCE
    lexical = min(1.0, lexical)
    boosts = (
        record.nearness,
        1 + RECENCY_GAIN * math.exp(-max(0, now - record.updated_at) / DAY_MS / RECENCY_DAYS),
        1 + IMPORTANCE_GAIN * (record.importance - 0.5),
        1 + CONFIDENCE_GAIN * (record.confidence - 1),
        1 + EVIDENCE_GAIN * min(3.0, math.log(max(1, record.evidence_count))),
    )
    place = math.prod(boosts, start=relevance_of(lexical if query else None, record.cosine))
    return Score(place, lexical, record.cosine, boosts, shared)


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
