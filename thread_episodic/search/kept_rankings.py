"""Rankings of the last minute, for turns whose message is repeated: the recall cache of conversation.

Rule 1: a ranking is kept as rows and scores, never as text, under a keyed hash of its question.
Rule 2: it holds while the chunks that its search could see are the same. What a turn leaves out anyway, its own message
above all, is not counted. The weights of words are those of the first search, up to a minute old.
Rule 3: its rows are read anew at each use, and pass the same filter and the same gate as those of a new ranking.
"""

import threading
from collections import OrderedDict
from collections.abc import Mapping, Sequence

from msgspec import Struct

from protocol.seams.ports import Clock, Tx
from thread_episodic.rows import lookups
from thread_episodic.search.display import READ_AHEAD, Limits, RankedChunks
from thread_episodic.search.ranking import Ranked
from thread_episodic.values import Filter, Places

KEPT = 64  # rankings of a few turns: one is used again for a minute at most


class _Kept(Struct, frozen=True):
    """A ranking as it is kept: without the question's words.

    `at` is in seconds of the monotonic clock, `in_view` the sums of the chunks that its search could see. `weights` are
    by the place of a term in the question.
    """

    at: float
    in_view: tuple[int, ...]
    ranked: Sequence[Ranked]
    weights: Mapping[int, float]
    found: int
    is_limited: bool

    @property
    def is_cut(self) -> bool:
        """Return whether the ranking had more rows than are kept."""
        return len(self.ranked) < self.found


class ReusedRanking(Struct, frozen=True):
    """A kept ranking with its candidates as they are now, how many it had, and whether some of them are not kept."""

    ranking: RankedChunks
    found: int
    is_cut: bool


class KeptRankings:
    """The latest rankings. Safe for threads."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._lock = threading.Lock()
        self._kept: OrderedDict[bytes, _Kept] = OrderedDict()

    def find(
        self, tx: Tx, key: bytes, places: Places, wanted: Filter, terms: Sequence[str], seconds: int
    ) -> ReusedRanking | None:
        """Return the ranking of a question, at most so many seconds old; None where it does not hold any more."""
        with self._lock:
            kept = self._kept.get(key)
        if kept is None:
            return None
        is_late = self._clock.monotonic() - kept.at > seconds
        if is_late or kept.in_view != lookups.sums_in_view(tx, places, wanted):
            with self._lock:
                self._kept.pop(key, None)
            return None
        candidates = lookups.chunks_by_row(tx, [one.row for one in kept.ranked], places, wanted)
        ranking = RankedChunks(
            [one for one in kept.ranked if one.row in candidates],
            candidates,
            {terms[place]: weight for place, weight in kept.weights.items()},
            kept.is_limited,
        )
        return ReusedRanking(ranking, kept.found, kept.is_cut)

    def keep(
        self,
        tx: Tx,
        key: bytes,
        places: Places,
        wanted: Filter,
        terms: Sequence[str],
        ranking: RankedChunks,
        limits: Limits,
    ) -> None:
        """Keep what of a ranking may be shown, and some more; nothing while vectors are still made."""
        in_view = lookups.sums_in_view(tx, places, wanted)
        if in_view is None:
            return
        good = sum(1 for one in ranking.ranked if one.score >= limits.floor.score)
        weights = {place: ranking.weights[term] for place, term in enumerate(terms) if term in ranking.weights}
        kept = _Kept(
            self._clock.monotonic(),
            in_view,
            ranking.ranked[: good + limits.hits + READ_AHEAD],
            weights,
            len(ranking.ranked),
            ranking.is_limited,
        )
        with self._lock:
            self._kept[key] = kept
            if len(self._kept) > KEPT:
                self._kept.popitem(last=False)
