"""Scores how likely a query needs a record: 0 to 1, for any size of memory, with and without a model.

Rule 1: pure, and only from what the caller may see: no statistic of another scope has a part in a score.
Rule 2: a score is a logistic function of a weighted sum of few features; `benchmarks recall` prints what each kind of
data says of it.

The features of a record, given a query:

- `lexical`: overlap weighted by rarity (the idf of Robertson and Spärck Jones over the records in view), 0 to 1;
- `distinct`: the record's share of the overlap that the best candidates have together, 0 to 1: a word that many of
  them have tells little;
- `semantic`: the cosine of both vectors;
- `crowding`: the mean cosine of the record to its ten nearest neighbours. Records that lie close together are near to
  every query; the correction is that of cross-domain similarity local scaling (Conneau et al., 2018, arXiv 1710.04087);
- `commonness`: its mean cosine to a third of the records near the query. It orders records, since what they have in
  common with many is not what is asked for. Crowding decides whether anything is shown: a joke about a parrot is near
  to a crowd of facts;
- whether the record is about the user, and whether the user asks about themselves;
- in a prompt, how much it looks like one that needs the person (`promt/person_need.py`). It is the same for all
  records: it decides whether anything is shown, and no order.

Two sums are made of them, which differ in one addend. The sum with commonness orders the records. The best sum with
crowding is the log odds that the first record gets, and all others are moved by as much. So scores order the records of
a query, and the best score decides whether the query needs any.
"""

import math
from bisect import bisect_right
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from itertools import accumulate, chain

from msgspec import Struct

from protocol.base import DAY_MS
from retrieval.weights import logistic

RECALL_FLOOR = 0.05
"""The least score of the best record at which a query recalls anything. A missing fact costs more than a stray one of
some 25 tokens: one unrelated prompt in ten gets a fact, and in no home more than one in five
(`python -m benchmarks recall` shows the curve)."""
MOST_RECALLED = 6
"""The most records of one scope that a prompt is given, and the most notes of it."""
RECALL_ODDS = 18.0
"""The most that the odds of the best record may be, as a multiple of those of one that is recalled with it.

The logarithm of the multiple is divided by the root of the rank: 8 times at the second, 3 at the sixth, which is the
last. Five kinds of bound were compared on `python -m benchmarks recall`: at equal numbers of facts none shows more
needed ones. With this multiple an English message gets four.
"""
NEED_GAIN = 1.3
"""The weight of a prompt's need of the person in the log odds of each record."""
SEARCH_FLOOR = 0.002
"""The least score of a hit of a search that names no other."""
COSINE_FLOOR = 0.0
"""Records that are less near than this to a query are no candidates by meaning."""
USUAL_COSINE = 0.2  # of a record whose vector is not made yet
USUAL_CROWDING = 0.25  # of a record with no neighbours
RECORD_SIDE = 0.85  # a query that holds a short record whole is a little less of a hit than a record that holds a query
MIN_SHARED = 2  # words in common that are no coincidence
COINCIDENCE = 0.5  # one shared word of several is as likely a coincidence as a hit
POPULATION_FLOOR = 50  # in a memory of three records every word is "rare"; statistics begin to mean something here
RECENCY_DAYS = 30.0
RECENCY_GAIN = 0.03
STANDING_GAIN = 0.04
USUAL_STANDING = 0.9  # of what the user said with the importance that is usual: it neither wins nor loses
MACHINE_FACTOR = 0.9
FADED_FACTOR = 0.9
CONFIDENCE_GAIN = 0.02
EVIDENCE_GAIN = 0.01
RIVALS = 10  # best candidates by words, among which a record's share is taken
RARE_WORD = 5.0  # about the weight of a word that one record of a hundred has: a share of less overlap is small
BOOST_POWER = 2.0  # odds grow by so many powers of the boosts, which makes a score of 0.3 differ by a few hundredths


class RecordGains(Struct, frozen=True):
    """The weight of each feature, and the logistic function that makes a score of the sum."""

    lexical: float
    distinct: float
    semantic: float
    crowding: float
    commonness: float
    about_user: float
    asked_by_user: float
    slope: float
    center: float
    in_prompt: float
    """The log odds that a prompt adds to each record, so that `RECALL_FLOOR` fits these gains."""


GAINS_BY_WORDS = RecordGains(
    lexical=1.0,
    distinct=0.7,
    semantic=0.0,
    crowding=0.0,
    commonness=0.0,
    about_user=0.1,
    asked_by_user=0.3,
    slope=4.0,
    center=1.3,
    in_prompt=0.0,
)
GAINS_BY_MEANING = RecordGains(
    lexical=0.35,
    distinct=0.05,
    semantic=1.0,
    crowding=-0.65,
    commonness=-0.6,
    about_user=0.05,
    asked_by_user=0.16,
    slope=10.0,
    center=0.605,
    in_prompt=0.75,
)
"""The gains were fitted on facts and questions of two English personas, of personas in eight other languages and on
LoCoMo's observations, each kind weighing the same. The vectors of a transformer and of a static model want the same
gains. `python -m benchmarks recall`."""


class Scored(Struct, frozen=True):
    """The members of a record that its score is made of."""

    terms: Collection[str]
    gist: Sequence[str]
    """Its terms without function words."""
    nearness: float
    """The factor of its scope."""
    updated_at: int
    standing: float
    confidence: float
    evidence_count: int
    cosine: float | None = None
    crowding: float | None = None
    commonness: float | None = None
    is_about_user: bool = False
    is_machine: bool = False
    is_faded: bool = False
    kind_factor: float = 1.0


class QueryTerms(Struct, frozen=True):
    """The members of a query that scores are made of."""

    terms: Sequence[str]
    has_vector: bool = False
    is_about_user: bool = False
    """The user asks about themselves."""
    need: float | None = None
    """The degree to which a prompt looks like one that needs the person; None of a search, which always does."""


BOOSTS = ("scope", "recency", "standing", "confidence", "evidence")
"""The names of `Score.boosts`, which are near 1 and count by their `BOOST_POWER`."""
FACTORS = ("voice", "faded", "kind")
"""The names of `Score.factors`, which multiply the odds as they are."""


class Score(Struct, frozen=True):
    """A record's log odds of being relevant, and the features that they are made of."""

    log_odds: float
    lexical: float
    distinct: float
    cosine: float | None
    crowding: float | None
    commonness: float | None
    boosts: tuple[float, ...]
    factors: tuple[float, ...]
    shared: list[str]
    """The query's terms that the record has."""

    @property
    def total(self) -> float:
        """The score: 0 to 1."""
        return round(logistic(self.log_odds), 4)

    @property
    def parts(self) -> dict[str, float]:
        """Each feature by its name."""
        near = {"semantic": self.cosine, "crowding": self.crowding, "commonness": self.commonness}
        known = {name: value for name, value in near.items() if value is not None}
        return {
            "lexical": self.lexical,
            "distinct": self.distinct,
            **known,
            **dict(zip(BOOSTS, self.boosts, strict=True)),
            **{name: value for name, value in zip(FACTORS, self.factors, strict=True) if value != 1.0},
        }


def weight_of(count: int, population: int) -> float:
    """Return the weight of a term that `count` records of `population` have: its idf, always above zero."""
    total = max(population, POPULATION_FLOOR, count)
    return math.log(1 + (total - count + 0.5) / (count + 0.5)) + 0.1


def rarity(query: Sequence[str], records: Sequence[Collection[str]], population: int) -> dict[str, float]:
    """Return the weight of each term of a query and of some records.

    A term is counted in these records, which are the candidates, and set against the population in view.
    """
    frequency = Counter(chain.from_iterable(map(frozenset, records)))
    total = max(population, len(records))
    weights = {count: weight_of(count, total) for count in {0, *frequency.values()}}
    unknown = dict.fromkeys(query, weights[0])
    return unknown | {term: weights[count] for term, count in frequency.items()}


class _Shared(Struct, frozen=True):
    """The query's terms that a record has, and their weight together."""

    terms: list[str]
    weight: float


def _lexical_of(query: Sequence[str], record: Scored, weights: Mapping[str, float], shared: _Shared) -> float:
    """Return the greater of two shares, 0 to 1: of the query's weight in the record, of the record's in the query."""
    share = shared.weight / (sum(map(weights.__getitem__, query)) or 1.0)
    if len(shared.terms) >= MIN_SHARED and (
        record_weight := sum([weights[term] for term in record.gist if term in record.terms])
    ):
        share = max(share, RECORD_SIDE * shared.weight / record_weight)
    elif len(query) >= MIN_SHARED:
        share *= COINCIDENCE
    return min(1.0, share)


def _boosts_of(record: Scored, now: int) -> tuple[float, ...]:
    """Return the factors of `BOOSTS`."""
    return (
        record.nearness,
        1 + RECENCY_GAIN * math.exp(-max(0, now - record.updated_at) / DAY_MS / RECENCY_DAYS),
        1 + STANDING_GAIN * (min(1.0, record.standing) - USUAL_STANDING),
        1 + CONFIDENCE_GAIN * (record.confidence - 1),
        1 + EVIDENCE_GAIN * min(3.0, math.log(max(1, record.evidence_count))),
    )


def _factors_of(record: Scored) -> tuple[float, ...]:
    """Return the factors of `FACTORS`."""
    voice = MACHINE_FACTOR if record.is_machine else 1.0
    return voice, FADED_FACTOR if record.is_faded else 1.0, record.kind_factor


def _best(values: Sequence[float]) -> float:
    """Return the greatest finite value: a damaged vector makes others; 0 without one."""
    return max(filter(math.isfinite, values), default=0.0)


def score_all(asked: QueryTerms, records: Sequence[Scored], weights: Mapping[str, float], now: int) -> list[Score]:
    """Return the score of each record, in the order of the records; one without a vector has the usual cosine."""
    gains = GAINS_BY_MEANING if asked.has_vector else GAINS_BY_WORDS
    shared: list[_Shared] = []
    for record in records:
        terms = [term for term in asked.terms if term in record.terms]
        shared.append(_Shared(terms, sum([weights[term] for term in terms])))
    rivals = RARE_WORD + sum(sorted([own.weight for own in shared], reverse=True)[:RIVALS])
    sums: list[float] = []  # with commonness: the order
    levels: list[float] = []  # with crowding: the level of the best
    features: list[tuple[float, float, tuple[float, ...], tuple[float, ...]]] = []
    slope, need = gains.slope, 0.0 if asked.need is None else gains.in_prompt + NEED_GAIN * asked.need
    usual = gains.asked_by_user * asked.is_about_user - gains.center
    for record, own in zip(records, shared, strict=True):
        lexical, distinct = _lexical_of(asked.terms, record, weights, own), own.weight / rivals
        boosts, factors = _boosts_of(record, now), _factors_of(record)
        moved = need + math.log(math.prod(boosts) ** BOOST_POWER * math.prod(factors))
        total = (
            usual
            + gains.lexical * lexical
            + gains.distinct * distinct
            + gains.semantic * (USUAL_COSINE if record.cosine is None else record.cosine)
            + gains.about_user * record.is_about_user
        )
        common = gains.commonness * (USUAL_CROWDING if record.commonness is None else record.commonness)
        crowded = gains.crowding * (USUAL_CROWDING if record.crowding is None else record.crowding)
        sums.append(slope * (total + common) + moved)
        levels.append(slope * (total + crowded) + moved)
        features.append((lexical, distinct, boosts, factors))
    lift = _best(levels) - _best(sums)
    return [
        Score(total + lift, *parts[:2], record.cosine, record.crowding, record.commonness, *parts[2:], own.terms)
        for record, own, total, parts in zip(records, shared, sums, features, strict=True)
    ]


def count_recallable(log_odds: Sequence[float], floor: float = RECALL_FLOOR) -> int:
    """Return how many of the first log odds, given highest first, are worth a place in a prompt.

    It is 0 where the score of the best is below the floor, which only a benchmark varies; else it counts those that are
    close enough to the best for their rank.
    """
    if not log_odds or logistic(log_odds[0]) < floor:
        return 0
    room, few = math.log(RECALL_ODDS), log_odds[:MOST_RECALLED]
    far = (place for place, value in enumerate(few) if value < log_odds[0] - room / math.sqrt(place + 1))
    return next(far, len(few))


def cut_snippet(content: str, words: Sequence[str], max_chars: int) -> str:
    """Return the part of a content around the first of some folded words, with "…" where it is cut."""
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
