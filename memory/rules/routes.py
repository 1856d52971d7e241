"""Finds the kind of memory that a question asks for: an event, a preference, or a way to do something.

Rule 1: pure, and without a model: a span of the past and a few phrases of a language (`[kinds]`, `[talk]`).
Rule 2: a factor moves records of a kind up or down; it hides none. Only recall for a prompt leaves out records of
another time where a question names one.
"""

from collections.abc import Callable
from typing import NamedTuple

from promt.language.reader import either
from promt.patterns import compile_late
from promt.phrases import ends_of
from promt.time_words import TimeRange, fold
from protocol.record import Kind, RouteKind

WITHIN = 1.5
"""The factor of a record of the time asked for."""
HAPPENED: frozenset[Kind] = frozenset({"episodic", "session_summary"})
_FITTING = 1.25
_OTHER = 0.8
"""The factors of a fitting kind and of another one: defaults, of which `python -m benchmarks recall` shows the cost."""


class QueryRoute(NamedTuple):
    """The kind of memory that a question asks for, and its span of time: Unix milliseconds, both ends included."""

    kind: RouteKind = "any"
    from_at: int | None = None
    to_at: int | None = None

    def covers(self, at: int) -> bool:
        """Return whether a moment is in the time that the question names."""
        return self.from_at is not None and self.from_at <= at <= (self.to_at or self.from_at)

    def is_within(self, kind: Kind, valid_from: int | None, created_at: int) -> bool:
        """Return whether a record is of the time that the question names.

        A record's time is its `valid_from`, else its creation where it is of a kind in `HAPPENED`.
        """
        at = valid_from if valid_from is not None or kind not in HAPPENED else created_at
        return at is not None and self.covers(at)

    def factor(self, kind: Kind, valid_from: int | None, created_at: int) -> float:
        """Return the factor of a record's odds, by its kind and its time."""
        if self.kind == "temporal":
            within = WITHIN if self.is_within(kind, valid_from, created_at) else 1.0
            return within * (_FITTING if kind in HAPPENED else _OTHER)
        if self.kind == "preference":
            return {"semantic": _FITTING, "episodic": _OTHER}.get(kind, 1.0)
        return _FITTING if self.kind == "procedure" and kind == "procedural" else 1.0


ANY_KIND = QueryRoute()

_HAPPENING, _PREFERENCE, _PROCEDURE = (
    compile_late(lambda key=key: rf"(?<!\w)(?:{either('kinds', key)})(?!\w)")
    for key in ("happening", "preferring", "doing")
)
_ASKS_OF_PAST = compile_late(
    lambda: rf"(?<!\w)(?:{either('talk', 'question')})(?!\w)[^.?!]{{0,60}}?(?<!\w)(?:{either('talk', 'past')})(?!\w)"
)


def find_route(text: str, find_time: Callable[[str], TimeRange | None]) -> QueryRoute:
    """Return the kind of memory and the time that a question asks for.

    `find_time` is asked only where the question is about the past.
    """
    folded = fold(ends_of(text))
    asks_what_happened = _HAPPENING.search(folded) is not None
    if asks_what_happened or _ASKS_OF_PAST.search(folded):
        when = find_time(text)
        if when is not None:
            return QueryRoute("temporal", when.from_at, when.to_at)
        if asks_what_happened:
            return QueryRoute("temporal")
    if _PREFERENCE.search(folded):
        return QueryRoute("preference")
    return QueryRoute("procedure") if _PROCEDURE.search(folded) else ANY_KIND
