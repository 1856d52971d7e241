"""Scores proposals: the one quality gate of durable memory.

Rule 1: pure; every number stands in one of the tables below, with its reason. A score is the sum of the weights.
Rule 2: monotone: a better factor never lowers the score (a property test holds this).
"""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from protocol.memory.values import Bucket, Certainty, Durability, Explicitness, Factor, SensitivityHint

HIGH = 0.75
MIDDLE = 0.45
"""At `HIGH` a proposal is believed, at `MIDDLE` it is worth a person's look, below it is noise."""

EXPLICITNESS: Mapping[Explicitness, tuple[float, str]] = {
    "explicit": (0.30, "the user asked for it or stated it as such"),
    "implicit": (0.20, "said in passing"),
    "unclear": (0.05, "the proposer does not know how it was meant"),
}
DURABILITY: Mapping[Durability, tuple[float, str]] = {
    "long_lived": (0.25, "holds beyond this project"),
    "project_lifetime": (0.25, "holds as long as the project"),
    "unknown": (0.05, "nobody said how long it holds"),
    "session_only": (0.0, "holds for this session"),
    "transient": (0.0, "holds for a moment"),
}
CERTAINTY: Mapping[Certainty, tuple[float, str]] = {
    "high": (0.20, "the proposer is sure"),
    "medium": (0.05, "the proposer is not quite sure"),
    "low": (-0.35, "the proposer guesses; no other single factor makes up for that"),
}
SCOPE: Mapping[bool, tuple[float, str]] = {
    True: (0.10, "it is clear whose fact it is"),
    False: (0.0, "the scope is a fallback"),
}
USER_SAID: Mapping[bool, tuple[float, str]] = {
    True: (0.10, "the user's own words support it"),
    False: (0.0, "the user did not say it"),
}
REPETITION: tuple[tuple[int, float, str], ...] = (
    (3, 0.30, "said in three turns or more"),
    (2, 0.12, "said in two turns"),
    (1, 0.0, "said once"),
)
"""The least number of distinct turns of the user; echoes and derived text do not count."""
CONTRADICTION: Mapping[bool, tuple[float, str]] = {
    True: (-0.15, "something else is believed at present"),
    False: (0.0, "nothing speaks against it"),
}
SENSITIVITY: Mapping[SensitivityHint, tuple[float, str]] = {
    "none": (0.0, "nothing sensitive"),
    "personal": (-0.02, "personal: a little more is asked"),
    "regulated": (-0.05, "regulated: decided by its own rule"),
    "secret": (-0.10, "secret: decided by its own rule"),
    "unknown": (-0.02, "nobody said whether it is sensitive"),
}


class Proposal(NamedTuple):
    """Everything that a score depends on."""

    explicitness: Explicitness
    durability: Durability
    certainty: Certainty
    sensitivity: SensitivityHint
    is_scope_clear: bool
    is_user_said: bool
    turns: int
    """Distinct turns in which the user said it; 0 where somebody else did."""
    contradicts: bool


class AdmissionScore(NamedTuple):
    """A score, 0 to 1, with its bucket and the factors that it is the sum of."""

    score: float
    bucket: Bucket
    factors: list[Factor]


def bucket_of(score: float) -> Bucket:
    """Return the bucket of a score."""
    return "high" if score >= HIGH else "middle" if score >= MIDDLE else "low"


def assess(proposal: Proposal) -> AdmissionScore:
    """Return the score of a proposal."""
    rows: list[tuple[str, object, tuple[float, str]]] = [
        ("explicitness", proposal.explicitness, EXPLICITNESS[proposal.explicitness]),
        ("durability", proposal.durability, DURABILITY[proposal.durability]),
        ("certainty", proposal.certainty, CERTAINTY[proposal.certainty]),
        ("scope_clarity", proposal.is_scope_clear, SCOPE[proposal.is_scope_clear]),
        ("source_trust", proposal.is_user_said, USER_SAID[proposal.is_user_said]),
        ("repetition", proposal.turns, _repetition_of(proposal.turns)),
        ("contradiction", proposal.contradicts, CONTRADICTION[proposal.contradicts]),
        ("sensitivity", proposal.sensitivity, SENSITIVITY[proposal.sensitivity]),
    ]
    factors = [
        Factor(name=name, value=value, weight=weight, contribution=weight, why=why)
        for name, value, (weight, why) in rows
    ]
    return _score_of(factors)


def rescore_repetition(factors: Sequence[Factor], turns: int) -> AdmissionScore:
    """Return the score that earlier factors have once the claim was said in that many turns."""
    weight, why = _repetition_of(turns)
    repeated = Factor(name="repetition", value=turns, weight=weight, contribution=weight, why=why)
    return _score_of([repeated if factor.name == "repetition" else factor for factor in factors])


def _repetition_of(turns: int) -> tuple[float, str]:
    """Return the weight of a claim that was said in that many turns, and its reason."""
    return next(((weight, why) for least, weight, why in REPETITION if turns >= least), (0.0, "not said by the user"))


def _score_of(factors: list[Factor]) -> AdmissionScore:
    """Return the score of factors: the sum of their contributions, rounded to four digits."""
    score = round(min(1.0, max(0.0, sum(factor.contribution for factor in factors))), 4)
    return AdmissionScore(score, bucket_of(score), factors)
