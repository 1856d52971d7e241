"""Computes the standing of a record, its strength, and the end of its lifetime: pure.

Rule 1: standing is free of time; schema.sql computes it as a column of the record, by the same factors, so that no
write can leave it stale. A test compares the column with `factors_of`.
Rule 2: strength is standing times recency, computed when it is read; no row changes by mere waiting.

The numbers are those of docs/passes.md, which explains them to users.
"""

import math
from collections.abc import Mapping
from typing import NamedTuple

from msgspec import Struct

from protocol.base import DAY_MS, HOUR_MS
from protocol.record import ActorKind, Record, SourceKind
from protocol.settings import Aging

RECENCY_POWER = 0.3
NEUTRAL_IMPORTANCE = 0.5
IN_PASSING = 0.85
"""The factor of a record that nobody asked to keep."""
SAID_IN_PASSING: frozenset[SourceKind] = frozenset({"user_statement", "background_extractor", "assistant_inference"})
USER_WEIGHT = 0.9
MACHINE_WEIGHTS: Mapping[ActorKind | None, float] = {
    "user": 0.9,
    "system": 0.85,
    "assistant": 0.7,
    "extractor": 0.7,
    "import": 0.7,
    "tool": 0.5,
    None: 0.7,
}
MOST_LINKS = 5
LINK_GAIN = 0.1

TIERS: tuple[tuple[float, int], ...] = ((0.5, 90), (0.3, 30), (0.0, 7))
"""(least standing, days): a record lasts the days of the first row that its standing reaches, rounded to six digits."""
FOR_GOOD = 0.8
"""Above this standing a record never fades."""


class Factors(NamedTuple):
    """The factors whose product is the standing."""

    base: float
    source: float
    access: float
    links: float

    @property
    def standing(self) -> float:
        """The product: 0 or more, without an upper bound."""
        return self.base * self.source * self.access * self.links


def factors_of(record: Record) -> Factors:
    """Return the factors of a record's standing."""
    made_by = record.provenance.created_by
    base = min(1.0, record.importance / NEUTRAL_IMPORTANCE)
    if record.provenance.source_kind in SAID_IN_PASSING:
        base *= IN_PASSING
    machine = MACHINE_WEIGHTS[made_by.kind if made_by is not None else None]
    links = len(record.tags) + (record.supersedes is not None)
    return Factors(
        base=base,
        source=USER_WEIGHT if record.voice == "user" else machine,
        access=1 + math.log(record.access_count + 1),
        links=1 + LINK_GAIN * min(MOST_LINKS, links),
    )


def recency_of(hours: float) -> float:
    """Return the part of a standing that is left after some hours: 1 in the first one, 0.1390 after thirty days."""
    return max(1.0, hours) ** -RECENCY_POWER


def strength_of(standing: float, reinforced_at: int, now: int) -> float:
    """Return the strength of a record, 0 to 1, by its standing and the Unix milliseconds of its last reinforcement."""
    return min(1.0, standing * recency_of((now - reinforced_at) / HOUR_MS))


def days_of(level: float) -> int | None:
    """Return the days that a record of a standing or strength lasts; None where it never fades."""
    rounded = round(level, 6)
    if rounded > FOR_GOOD:
        return None
    return next(days for least, days in TIERS if rounded >= least)


class Lifetime(Struct, frozen=True):
    """The members of a record that the end of its lifetime depends on; times are Unix milliseconds."""

    standing: float
    reinforced_at: int
    updated_at: int
    fades_at: int | None
    """The column of the record: the days of its standing after its last reinforcement; None where it never fades."""


def fade_time(aging: Aging, life: Lifetime) -> int | None:
    """Return the Unix milliseconds at which a record fades; None where it never does.

    With `reinforced` that is its column. With `literal` the tier sinks with strength, and the days of each run from
    the last change: strength falls below x after (standing / x) ** (1 / 0.3) hours, so that the end of each tier is
    known in advance.
    """
    if aging == "off" or life.fades_at is None:
        return None
    if aging == "reinforced":
        return life.fades_at
    begins = 0
    for floor, days in ((FOR_GOOD, None), *TIERS):
        ends = math.inf if floor == 0.0 else life.reinforced_at + _hours_until(life.standing, floor) * HOUR_MS
        if days is not None:
            due = max(life.updated_at + days * DAY_MS, begins)
            if due < ends:
                return int(due)
        begins = max(begins, int(ends)) if ends != math.inf else begins
    raise AssertionError  # pragma: no cover  # the last tier has no end


def has_faded(aging: Aging, life: Lifetime, now: int) -> bool:
    """Return whether a record has faded."""
    ends = fade_time(aging, life)
    return ends is not None and ends <= now


def _hours_until(standing: float, floor: float) -> float:
    """Return the hours after which strength falls below a floor; 0 where it never reached it."""
    return (standing / floor) ** (1 / RECENCY_POWER) if standing >= floor else 0.0
