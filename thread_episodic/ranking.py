"""Which of the candidates is best, and how good it is.

Rule 1: pure. What decides is the share of the question's weight that a chunk holds, itself or with what was said just before and
after it, rare terms weighing more; what it means, where a model can tell; and whether its session is about the question.
Rule 2: a score is 0 to 1 and means the same with and without a model: equal scores are equally likely to be relevant.
Rule 3: equal scores have one order.

The gains are those of a listwise logistic fit on the questions of three LoCoMo conversations, over the candidates that the
product finds (`python -m benchmarks episodic` shows what each is worth on those and on two others). The score is the logistic
fit of relevance by their sum, made once for each mode, the odds of both raised alike. At the usual floor of 0.25, by words alone,
4 % of the questions about other people's lives find anything and 7 % of the right answers among the best five are lost; with a
model 2 % and 3 %. What one speaker did, asked about the other, looks like an answer: 9 in 10 such questions find it.
"""

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, pairwise
from operator import itemgetter
from typing import NamedTuple

PRIOR_CHUNKS = 200  # as if the index held this much other talk: a term's weight is steady while the index is small
SESSION_GAP_MS = 6 * 3_600_000  # a night's sleep ends a conversation; a meal does not
SESSION_WITNESSES = 3  # as many good chunks make a session one about the question
USUAL_COSINE = 0.2  # of a chunk that has nothing to do with the question; of one whose vector is not made yet, too
NOBODY_NAMED = 0.4  # a question that names none of those who spoke, or all, speaks neither for nor against any of them
COSINE_IN_SESSION = 2.0
"""What a cosine counts beside a coverage where it is told how near a session is."""


class Question(NamedTuple):
    """What is asked: its terms with their weights, whether it asks for a time, and whether only a named time is looked through."""

    weights: Mapping[str, float]
    asks_when: bool
    names_time: bool = False


class Passage(NamedTuple):
    """What a chunk is to a question."""

    row: int
    thread_id: str
    at: int
    own: frozenset[str]
    """The question's terms that it holds."""
    around: frozenset[str]
    """Those that it holds together with what was said just before and just after."""
    answered: frozenset[str]
    """Those in what was asked just before it."""
    speaker: frozenset[str]
    """Those that name who said it."""
    asks: bool
    is_dated: bool
    cosine: float | None = None

    @property
    def is_about(self) -> bool:
        """Whether it is more than what stands beside an answer: it has words of the question, answers them, or means them."""
        return bool(self.own or self.answered) or (self.cosine is not None and self.cosine >= USUAL_COSINE)


class Ranked(NamedTuple):
    """A passage's row with its score and what that is made of."""

    row: int
    score: float
    parts: Mapping[str, float]


class Gains(NamedTuple):
    """What each part of a passage is worth, and how their sum becomes a score."""

    worth: Mapping[str, float]
    slope: float
    offset: float


BY_WORDS = Gains(
    {"words": 2.9, "window": 3.1, "answer": 2.7, "session": 3.7, "speaker": 2.3, "question": -0.5, "time": 1.7},
    slope=0.51, offset=-4.5,
)  # fmt: skip
BY_BOTH = Gains(
    {
        "words": 2.1, "window": 2.7, "answer": 2.4, "session": 2.7, "speaker": 2.1, "question": -0.6, "time": 1.7,
        "meaning": 4.1,
    },
    slope=0.57, offset=-4.9,
)  # fmt: skip


@dataclass(frozen=True, kw_only=True, slots=True)
class Statistics:
    """How common the question's terms are in the workspace."""

    chunks: int
    frequencies: Mapping[str, int]

    def weight(self, term: str) -> float:
        """The term's worth: the rarer, the more; never negative."""
        chunks, frequency = self.chunks + PRIOR_CHUNKS, self.frequencies.get(term, 0)
        return math.log1p((chunks - frequency + 0.5) / (frequency + 0.5)) if chunks > frequency else math.log1p(0.5)


def sessions(passages: Sequence[Passage]) -> list[int]:
    """The session of each passage, numbered: those of a thread with no longer silence between them than a night."""
    order = sorted(range(len(passages)), key=lambda place: (passages[place].thread_id, passages[place].at))
    found = [0] * len(passages)
    for before, place in pairwise(order):
        one, other = passages[before], passages[place]
        is_same = one.thread_id == other.thread_id and other.at - one.at <= SESSION_GAP_MS
        found[place] = found[before] + (not is_same)
    return found


def nearness_of(session: Collection[float]) -> float:
    """How near a session is to the question: its best few passages together."""
    best = sorted(session, reverse=True)[:SESSION_WITNESSES]
    return sum(best) / len(best)


def qualities_of(question: Question, passages: Sequence[Passage], *, has_meaning: bool) -> list[dict[str, float]]:
    """What each passage has of what counts, by the name of its gain."""
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
    for passage, session in zip(passages, places, strict=True):
        words, window = shares[passage.own], shares[passage.around]
        part = {
            "words": words,
            "window": window,
            "answer": shares[passage.answered],
            "speaker": by_speaker[bool(passage.speaker)],
            "question": float(passage.asks),
            "time": float(question.names_time or (question.asks_when and passage.is_dated)),
        }
        base = words + window
        if has_meaning:
            part["meaning"] = 0.0 if passage.cosine is None else passage.cosine - USUAL_COSINE
            base += COSINE_IN_SESSION * part["meaning"]
        parts.append(part)
        by_session.setdefault(session, []).append(base)
    near = {session: nearness_of(bases) for session, bases in by_session.items()}
    for part, session in zip(parts, places, strict=True):
        part["session"] = near[session]
    return parts


def rank(question: Question, passages: Sequence[Passage], *, has_meaning: bool) -> list[Ranked]:
    """Passages by score; equal ones by time, newest first, then by row."""
    gains = BY_BOTH if has_meaning else BY_WORDS
    worth = gains.worth.items()
    found: list[tuple[float, int, int, dict[str, float]]] = []
    for passage, part in zip(passages, qualities_of(question, passages, has_meaning=has_meaning), strict=True):
        total = 0.0
        for name, gain in worth:
            total += gain * part[name]
        found.append((-total, -passage.at, passage.row, part))
    found.sort(key=itemgetter(0, 1, 2))
    return [Ranked(row, calibrated(-total, gains), part) for total, _, row, part in found]


def calibrated(total: float, gains: Gains) -> float:
    """How likely a passage of such a sum is to be relevant."""
    return 1 / (1 + math.exp(-(gains.slope * total + gains.offset)))
