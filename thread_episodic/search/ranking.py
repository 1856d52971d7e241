"""Orders the candidates, and scores how good each is.

Rule 1: pure. What decides is the share of the question's weight that a chunk holds, rare terms weighing more; what it
means, where a model can tell; and whether its session is about the question.
Rule 2: people who have names talk in turns: what is said beside a message belongs to it, and an answer may have none of
the question's words. Who has none talks with an assistant: each message stands alone, few words in common are chance,
and a reply repeats what it was asked.
Rule 3: a score is 0 to 1. The order is made for one question at a time: between two questions, a score is a rough
measure.
Rule 4: equal scores have one order.

The gains are one listwise logistic fit for each mode on three kinds of talk, each weighing the same: two people, a user
with an assistant, a user with an agent whose tools speak. `apart` is set by hand, so that one floor can do for both: it
lets more foreign questions through where a user talks with an assistant than between people. `python -m benchmarks
episodic` shows what each is worth on every kind, and what the floor lets through and cuts.
"""

import math
from collections.abc import Collection, Mapping, Sequence
from itertools import chain, pairwise
from operator import itemgetter
from typing import NamedTuple

from msgspec import Struct

from retrieval.weights import logistic

PRIOR_CHUNKS = 200  # as if the index held this much other talk: a term's weight is steady while the index is small
SESSION_GAP_MS = 6 * 3_600_000  # a night's sleep ends a conversation; a meal does not
SESSION_WITNESSES = 3  # as many good chunks make a session one about the question
USUAL_COSINE = 0.2  # of a chunk that has nothing to do with the question; of one whose vector is not made yet, too
NOBODY_NAMED = 0.4  # a question that names none of those who spoke, or all, speaks neither for nor against any of them
COSINE_IN_SESSION, COSINE_ALONE = 2.0, 6.0
"""The weight of a cosine beside the words: for a message within a session, and for one that stands alone."""
SHORT = 300  # characters: what is longer holds more words by chance
ANSWER = 24  # characters that say something: of less, as of "OK.", an answer gains but a part


class WeightedQuery(Struct, frozen=True):
    """A query as ranking takes it.

    It has its terms with their weights, whether it asks for a time, and whether only a named time is searched.
    """

    weights: Mapping[str, float]
    asks_when: bool
    names_time: bool = False


class Passage(Struct, frozen=True):
    """A chunk with the features that relate it to a question."""

    row: int
    thread_id: str
    at: int
    own: frozenset[str]
    """The question's terms that it holds."""
    around: frozenset[str]
    """Those that it holds together with what was said just before and just after; its own where it stands alone."""
    answered: frozenset[str]
    """Those in what was asked just before it; none where it stands alone."""
    speaker: frozenset[str]
    """Those that name who said it."""
    asks: bool
    is_dated: bool
    length: int
    is_named: bool
    """The speaker has a name; without one, the chunk stands alone."""
    is_reply: bool
    """The speaker is an assistant or a tool without a name."""
    cosine: float | None = None

    @property
    def is_about(self) -> bool:
        """Return whether the passage has words of the question, answers them, or means them.

        One that only stands beside an answer has none of these.
        """
        return bool(self.own or self.answered) or (self.cosine is not None and self.cosine >= USUAL_COSINE)


class Ranked(NamedTuple):
    """A passage's row with its score and what that is made of."""

    row: int
    score: float
    parts: Mapping[str, float]


class PassageGains(Struct, frozen=True):
    """The weight of each quality of a passage, and the function that turns their sum into a score."""

    worth: Mapping[str, float]
    slope: float
    offset: float


BY_WORDS = PassageGains(
    {
        "words": 2.5,
        "window": 2.4,
        "answer": 2.2,
        "alone": 8.1,
        "session": 4.5,
        "speaker": 2.3,
        "question": -0.65,
        "time": 0.9,
        "apart": 4.5,
        "reply": -1.1,
        "length": -0.45,
    },
    slope=0.51,
    offset=-4.5,
)
BY_BOTH = PassageGains(
    {
        "words": 1.9,
        "window": 2.5,
        "answer": 2.0,
        "alone": 5.4,
        "session": 2.7,
        "speaker": 1.9,
        "question": -0.65,
        "time": 0.4,
        "apart": 2.4,
        "reply": -0.8,
        "meaning": 3.9,
    },
    slope=0.57,
    offset=-4.9,
)


class Statistics(Struct, frozen=True, kw_only=True):
    """The frequency of the question's terms in the workspace."""

    chunks: int
    frequencies: Mapping[str, int]

    def weight(self, term: str) -> float:
        """Return the term's inverse document frequency as BM25 has it, in its form that is never negative."""
        chunks, frequency = self.chunks + PRIOR_CHUNKS, self.frequencies.get(term, 0)
        return math.log1p((chunks - frequency + 0.5) / (frequency + 0.5)) if chunks > frequency else math.log1p(0.5)


def sessions(passages: Sequence[Passage]) -> list[int]:
    """Return the number of each passage's session.

    A session holds the passages of a thread with no longer silence between them than a night.
    """
    order = sorted(range(len(passages)), key=lambda place: (passages[place].thread_id, passages[place].at))
    found = [0] * len(passages)
    for before, place in pairwise(order):
        one, other = passages[before], passages[place]
        is_same = one.thread_id == other.thread_id and other.at - one.at <= SESSION_GAP_MS
        found[place] = found[before] + (not is_same)
    return found


def nearness_of(session: Collection[float]) -> float:
    """Return how near a session is to the question: its best few passages together."""
    best = sorted(session, reverse=True)[:SESSION_WITNESSES]
    return sum(best) / len(best)


def qualities_of(question: WeightedQuery, passages: Sequence[Passage], *, has_meaning: bool) -> list[dict[str, float]]:
    """Return for each passage its qualities by the name of their gain, without those that it lacks."""
    weights, total = question.weights, sum(question.weights.values()) or 1.0
    shares: dict[frozenset[str], float] = {}  # many chunks hold the same few terms
    for held in chain.from_iterable((passage.own, passage.around, passage.answered) for passage in passages):
        if held not in shares:
            shares[held] = sum(weights[term] for term in sorted(held)) / total
    naming = {bool(passage.speaker) for passage in passages}
    by_speaker = {False: 0.0, True: 1.0} if len(naming) > 1 else dict.fromkeys(naming, NOBODY_NAMED)
    parts: list[dict[str, float]] = []
    by_session: dict[int, list[float]] = {}
    places = sessions(passages)
    cosines = [passage.cosine for passage in passages if passage.cosine is not None]
    # in a language that a model hardly knows every cosine is high: only what is above the others there means something
    usual = max(USUAL_COSINE, sum(cosines) / len(cosines)) if cosines else USUAL_COSINE
    for passage, session in zip(passages, places, strict=True):
        words = shares[passage.own]
        part = {
            "speaker": by_speaker[bool(passage.speaker)],
            "question": float(passage.asks),
            "time": float(question.names_time or (question.asks_when and passage.is_dated)),
            "length": math.log(max(SHORT, passage.length) / SHORT),
            "reply": float(passage.is_reply),
        }
        near = 0.0
        if has_meaning:
            near = part["meaning"] = (
                0.0 if passage.cosine is None else passage.cosine - (USUAL_COSINE if passage.is_named else usual)
            )
        if passage.is_named:
            says = min(1.0, passage.length / ANSWER)
            part |= {"words": words, "window": shares[passage.around], "answer": says * shares[passage.answered]}
            base = words + part["window"] + COSINE_IN_SESSION * near
        else:
            part |= {"alone": words * words, "apart": 1.0}
            base = part["alone"] + COSINE_ALONE * near
        parts.append(part)
        by_session.setdefault(session, []).append(base)
    nearness = {session: nearness_of(bases) for session, bases in by_session.items()}
    for part, session in zip(parts, places, strict=True):
        part["session"] = nearness[session]
    return parts


def rank(question: WeightedQuery, passages: Sequence[Passage], *, has_meaning: bool) -> list[Ranked]:
    """Return the passages by score, best first; equal ones by time, newest first, then by row."""
    gains = BY_BOTH if has_meaning else BY_WORDS
    worth = gains.worth.items()
    found: list[tuple[float, int, int, dict[str, float]]] = []
    for passage, part in zip(passages, qualities_of(question, passages, has_meaning=has_meaning), strict=True):
        total = 0.0
        for name, gain in worth:
            total += gain * part.get(name, 0.0)
        found.append((-total, -passage.at, passage.row, part))
    found.sort(key=itemgetter(0, 1, 2))
    return [Ranked(row, calibrate(-total, gains), part) for total, _, row, part in found]


def calibrate(total: float, gains: PassageGains) -> float:
    """Return a weighted sum of qualities as a score from 0 to 1."""
    return logistic(gains.slope * total + gains.offset)
