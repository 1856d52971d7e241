"""Finds words by the full-text index or, while that is in doubt, in the chunks themselves.

Rule 1: a scan is bounded: it reads the newest chunks of a workspace, and the answer says that it may lack something.
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Protocol

from protocol.seams.ports import Tx
from retrieval.packing import unpack
from thread_episodic.rows import lookups
from thread_episodic.values import Places, of_thread, prefix_terms

MOST_SCANNED = 10_000
"""Chunks whose terms are unpacked for one search: some 50 ms."""


class TermScan(Protocol):
    """Knows which chunks have a term."""

    def count(self, places: Places, term: str, cap: int) -> int:
        """Return how many chunks a term is in, counted up to `cap`."""
        ...

    def rows(self, places: Places, term: str, cap: int) -> Sequence[int]:
        """Return the newest chunks that a term is in, up to `cap`; all of them where that is negative."""
        ...


def match_of(places: Places, term: str) -> str:
    """Return the full-text expression for a term. It has no quotes: the lexicon's alphabet has none."""
    match = f'"{prefix_terms(places.workspace, term)}"'
    if places.thread is not None:
        match = f'"{of_thread(places.thread)}" AND {match}'
    return match if places.other_than is None else f'{match} NOT "{of_thread(places.other_than)}"'


class IndexedWords:
    """Words as the full-text index has them."""

    def __init__(self, tx: Tx) -> None:
        self.tx = tx

    def count(self, places: Places, term: str, cap: int) -> int:
        """Satisfies `TermScan`."""
        return lookups.count_matches(self.tx, match_of(places, term), cap)

    def rows(self, places: Places, term: str, cap: int) -> Sequence[int]:
        """Satisfies `TermScan`."""
        return lookups.rows_with(self.tx, match_of(places, term), cap)


class ScannedWords:
    """Words as the newest chunks of a workspace keep them."""

    def __init__(self, tx: Tx, workspace: int) -> None:
        found: defaultdict[str, list[tuple[int, int]]] = defaultdict(list)
        for row, thread, terms in lookups.newest_terms(tx, workspace, MOST_SCANNED):
            for word in set(unpack(terms).split(" ")):
                found[word].append((row, thread))
        self._places: Mapping[str, Sequence[tuple[int, int]]] = found

    def count(self, places: Places, term: str, cap: int) -> int:
        """Satisfies `TermScan`."""
        return len(self.rows(places, term, cap))

    def rows(self, places: Places, term: str, cap: int) -> Sequence[int]:
        """Satisfies `TermScan`."""
        rows = [
            row
            for row, thread in self._places.get(term, ())
            if places.thread in {None, thread} and thread != places.other_than
        ]
        return rows if cap < 0 else rows[:cap]
