"""Later pages of an answer: the query that a cursor belongs to, and the ranking that it goes on with.

Rule 1: all pages of a search are of one ranking: records written meanwhile move nothing, forgotten ones are left out.
Rule 2: a ranking is kept as ids and scores, never as text, and only `KEPT_RANKINGS` are; a dropped one is made anew.
"""

import zlib
from collections.abc import Sequence

import msgspec

from memory.read.matching import Match
from memory.rows.record_columns import to_column
from protocol.cursors import place_of
from protocol.errors import CallerError
from protocol.memory.candidates import CandidateListParams
from protocol.memory.changes import MemoryChangesParams
from protocol.memory.reads import ListParams, SearchParams, SimilarParams
from protocol.memory.values import Context

LAST = 2**62
"""A place behind every other one: where a list in descending order begins."""
KEPT_RANKINGS = 16
"""More than one person pages at a time, and a few MB: a ranking has 70 matches, and 240 more for each time that all its
pages were turned."""


def mark_of(params: SearchParams | ListParams | CandidateListParams | SimilarParams | MemoryChangesParams) -> int:
    """Return a checksum of a query: the same for all its pages, whatever their limit and the caller's context."""
    return zlib.crc32(to_column(msgspec.structs.replace(params, cursor=None, limit=1, context=Context())).encode())


def page_place(cursor: str | None, start: tuple[int, ...]) -> tuple[int, ...]:
    """Return the place at which a page begins: that of its cursor, else `start`, whose last part is the query's mark.

    Raises `CallerError` for a cursor of another query.
    """
    place = place_of(cursor, start)
    if place[-1] != start[-1]:
        raise CallerError.at("$.cursor", "This cursor belongs to another query")
    return place


class Rankings:
    """The latest rankings that had more than one page."""

    def __init__(self) -> None:
        self._kept: dict[int, list[Match]] = {}
        self._last = 0

    def of(self, ticket: int) -> list[Match] | None:
        """Return the ranking of a ticket; None where it was dropped."""
        return self._kept.get(ticket)

    def keep(self, matches: Sequence[Match]) -> int:
        """Keep a ranking in place of the oldest one; return its ticket."""
        self._last += 1
        self._kept[self._last] = list(matches)
        self._kept.pop(self._last - KEPT_RANKINGS, None)
        return self._last
