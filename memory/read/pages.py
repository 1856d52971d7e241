"""Later pages of an answer: the question that a cursor belongs to, and the ranking that it goes on with.

Rule 1: all pages of a search are one ranking: what is written meanwhile moves nothing, and what is forgotten is left
out.
Rule 2: a ranking is kept as ids and scores, never as text, and only so many of them; one that is gone is made anew.
"""

import zlib
from collections.abc import Iterable, Sequence

import msgspec

from memory.read.matching import Match
from memory.rows.store import to_column
from protocol.cursors import place_of
from protocol.errors import CallerError
from protocol.memory.candidates import CandidateListParams
from protocol.memory.changes import MemoryChangesParams
from protocol.memory.reads import ListParams, SearchParams, SimilarParams
from protocol.memory.values import Context

KEPT_RANKINGS = 16
"""A ranking has 70 matches, and 240 more for each time that somebody turned every page: a few MB in all, and more
than one person pages at a time."""


def mark_of(params: SearchParams | ListParams | CandidateListParams | SimilarParams | MemoryChangesParams) -> int:
    """Return a checksum of the question, the same for all its pages, whatever the page and the caller's context."""
    return zlib.crc32(to_column(msgspec.structs.replace(params, cursor=None, limit=1, context=Context())).encode())


def page_place(cursor: str | None, start: tuple[int, ...]) -> tuple[int, ...]:
    """Return where a page begins; the last part of `start` is the mark of what was asked."""
    place = place_of(cursor, start)
    if place[-1] != start[-1]:
        raise CallerError.at("$.cursor", "This cursor belongs to another query")
    return place


def to_csv(names: Iterable[str] | None) -> str | None:
    """Names between commas, for a membership test in SQL; None lets everything through."""
    return f",{','.join(names)}," if names is not None else None


class Rankings:
    """The latest rankings that had more than one page."""

    def __init__(self) -> None:
        self._kept: dict[int, list[Match]] = {}
        self._last = 0

    def of(self, ticket: int) -> list[Match] | None:
        """Return the ranking of a ticket, unless too many came after it."""
        return self._kept.get(ticket)

    def keep(self, matches: Sequence[Match]) -> int:
        """Keep a ranking; its ticket."""
        self._last += 1
        self._kept[self._last] = list(matches)
        self._kept.pop(self._last - KEPT_RANKINGS, None)
        return self._last
