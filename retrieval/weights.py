"""Arithmetic of every ranking: how log odds become a score, and which rows share the most telling words."""

import math
from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from typing import TypeVar

T = TypeVar("T")

DEEPER = 8
"""The growth of the number of rows that are read when the filter left too few."""


def logistic(log_odds: float) -> float:
    """Return the probability, 0 to 1, of log odds of any size; 0 for NaN, which a damaged vector may give."""
    if math.isnan(log_odds):
        return 0.0
    odds = math.exp(-abs(log_odds))
    return 1 / (1 + odds) if log_odds >= 0 else odds / (1 + odds)


def by_weight(weighted: Sequence[tuple[float, Sequence[int]]], enough: int) -> Iterator[int]:
    """Yield rows by the sum of the weights that they are listed under, of equal ones the newest first.

    Each list has its newest row first. Light lists are long. As soon as `enough` rows outweigh everything that the
    remaining lists could add, these rows are yielded; the others follow only if the caller goes on.
    """
    lists = sorted(weighted, key=lambda entry: -entry[0])
    rest = sum(weight for weight, _ in lists)
    sums: dict[int, float] = {}
    yielded: set[int] = set()
    for place, (weight, rows) in enumerate(lists, 1):
        more = {row: sums[row] + weight for row in sums.keys() & rows}
        sums |= dict.fromkeys(rows, weight) | more
        rest -= weight
        is_last = place == len(lists)
        if is_last or sum(map(rest.__lt__, sums.values())) - len(yielded) >= enough:
            whole = dict(sums)
            for lighter, others in lists[place:]:
                for row in whole.keys() & others:
                    whole[row] += lighter
            ahead = [row for row, total in whole.items() if row not in yielded and (is_last or total > rest)]
            ranked = sorted(sorted(ahead, reverse=True), key=whole.__getitem__, reverse=True)
            yield from ranked
            yielded.update(ranked)


def best_of(
    weighted: Sequence[tuple[float, Sequence[int]]], enough: int, read: Callable[[Sequence[int]], Sequence[T]]
) -> list[T]:
    """Return the best rows as `read` gives them, up to `enough`."""
    return first_of(by_weight(weighted, enough), enough, read)


def first_of(ranked: Iterator[int], enough: int, read: Callable[[Sequence[int]], Sequence[T]]) -> list[T]:
    """Return the first rows as `read` gives them, up to `enough`.

    `read` keeps their order and drops unwanted rows; the more it drops, the more rows are read at once.
    """
    depth, found = enough, list[T]()
    while len(found) < enough and (rows := list(islice(ranked, depth))):
        found += read(rows)
        depth *= DEEPER
    return found[:enough]
