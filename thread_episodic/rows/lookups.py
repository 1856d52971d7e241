"""The reads of a search: chunks by their words, their time, their row, and what stands beside them.

Rule 1: every filter is a part of the statement, so that what is hidden takes no place; the gate still sees each hit.
Rule 2: a statement's cost is bounded by what it is asked for, not by the size of the index.
"""

import json
from collections.abc import Sequence

import msgspec

from protocol.seams.ports import SqlValue, Tx
from thread_episodic.rows.statements import SQL
from thread_episodic.values import Beside, ChunkCandidate, Filter, Places

LAST = 2**62  # later than any time
ALL = -1  # no limit, to SQLite
NEWEST_LOOKED_AT = 512  # chunks with a word that are sorted by time: the full-text index has only the order of rows
LATEST_OF_THREAD = 4096  # messages of a thread that say which partitions are its own: more would cost what they save


def _common_values(wanted: Filter) -> dict[str, SqlValue]:
    return {
        "roles": ",".join(wanted.roles),
        "excluded_turns": json.dumps(wanted.excluded_turns),
        "from_at": wanted.from_at,
        "to_at": wanted.to_at,
    }


def newest_chunks(tx: Tx, places: Places, wanted: Filter, saying: Sequence[int], limit: int) -> list[ChunkCandidate]:
    """Return the newest chunks of a time range: first those of some rows that do not ask, then all others."""
    values: dict[str, SqlValue] = {"limit": limit} | places._asdict() | _common_values(wanted) | _span(wanted)
    said: list[ChunkCandidate] = []
    if saying:
        found = chunks_by_row(tx, saying, places, wanted)
        said = sorted((one for one in found.values() if not one.asks), key=lambda one: (-one.at, one.id))[:limit]
    known = {one.id for one in said}
    rest = [ChunkCandidate._make(row) for row in tx.all(SQL["find_chunks_by_time"], values)]
    return (said + [one for one in rest if one.id not in known])[:limit]


def chunks_by_row(tx: Tx, rows: Sequence[int], places: Places, wanted: Filter) -> dict[int, ChunkCandidate]:
    """Return those of some chunks that a filter lets through and that have words, by row."""
    values = {"rows": json.dumps(list(rows))} | places._asdict()
    found = tx.all(SQL["chunks_by_row"], values | _common_values(wanted))
    return {row[0]: ChunkCandidate._make(row) for row in found}


def sums_in_view(tx: Tx, places: Places, wanted: Filter) -> tuple[int, ...] | None:
    """Return numbers that change with the chunks that a search can see, whatever comes of the turns that it leaves out.

    None while a chunk waits for its vector: it will be found where it is not found now.
    """
    turns = json.dumps(list(dict.fromkeys(wanted.excluded_turns)))
    return tx.one(SQL["sums_in_view"], {"workspace": places.workspace, "excluded_turns": turns})


def chunks_within(tx: Tx, places: Places, wanted: Filter, limit: int) -> list[int] | None:
    """Return the rows of the few chunks that a filter may let through.

    None where they may be more than `limit`, or where neither a thread nor a time bounds them.
    """
    if places.thread is None and wanted.from_at is None and wanted.to_at is None:
        return None
    values = {"limit": limit + 1} | _span(wanted)
    if places.thread is not None:
        rows = tx.all(SQL["chunks_of_thread"], values | {"thread": places.thread})
    else:
        rows = tx.all(SQL["chunks_of_time"], values | {"workspace": places.workspace})
    return [row for (row,) in rows] if len(rows) <= limit else None


def _span(wanted: Filter) -> dict[str, SqlValue]:
    """Return the time that a filter lets through, with both ends set."""
    return {
        "from_at": 0 if wanted.from_at is None else wanted.from_at,
        "to_at": LAST if wanted.to_at is None else wanted.to_at,
    }


def chunks_beside(tx: Tx, rows: Sequence[int], gap: int) -> dict[int, Beside]:
    """Return the rows of what was said just before and just after some chunks, at most `gap` milliseconds away."""
    found = tx.all(SQL["chunks_beside"], {"rows": json.dumps(list(rows)), "gap": gap})
    return {row: Beside(before, after) for row, before, after in found}


def words_by_row(tx: Tx, rows: Sequence[int]) -> list[tuple[int, bytes, int]]:
    """Return row, packed words and whether it asks, of those of some chunks that are in the index."""
    return [(row, terms, asks) for row, terms, asks in tx.all(SQL["words_by_row"], {"rows": json.dumps(list(rows))})]


def segments_to_compare(tx: Tx, places: Places, wanted: Filter, limit: int) -> tuple[list[int], bool]:
    """Return the partitions whose vectors are compared, and whether some had to be left out."""
    count = tx.all(SQL["count_workspace_segments"], {"workspace": places.workspace})[0][0]
    is_limited = count > limit  # only then it matters which come first
    values: dict[str, SqlValue] = {
        "workspace": places.workspace,
        "limit": limit,
        "thread": None,
        "looked_at": LATEST_OF_THREAD,
    }
    if not is_limited or (wanted.from_at is None and wanted.to_at is None):
        values |= {"from_at": LAST, "to_at": 0}  # no time comes first
    else:
        values |= _span(wanted)
    if is_limited:
        values["thread"] = places.thread
    return [row for (row,) in tx.all(SQL["segments_to_compare"], values)], is_limited


def has_pending(tx: Tx, places: Places, wanted: Filter) -> bool:
    """Return whether something there waits to be indexed."""
    values = places._asdict() | {"excluded_turns": json.dumps(wanted.excluded_turns)}
    return tx.one(SQL["has_pending"], values) is not None


def has_partial(tx: Tx, places: Places) -> bool:
    """Return whether some message there is too long to be indexed whole."""
    values = {"workspace": places.workspace, "thread": places.thread}
    return tx.all(SQL["count_partial_sources"], values)[0][0] > 0


def rows_with(tx: Tx, match: str, cap: int) -> list[int]:
    """Return the newest chunks that fit a full-text expression, up to `cap`."""
    found = tx.one(SQL["rows_with_term"], {"match": match, "cap": cap})
    return msgspec.json.decode(found[0], type=list[int]) if found else []


def newest_terms(tx: Tx, workspace: int, limit: int) -> list[tuple[int, int, bytes]]:
    """Return row, thread and packed words of the newest chunks of a workspace."""
    rows = tx.all(SQL["newest_terms"], {"workspace": workspace, "limit": limit})
    return [(row, thread, terms) for row, thread, terms in rows]


def count_matches(tx: Tx, match: str, cap: int) -> int:
    """Return how many chunks fit a full-text expression, counted up to `cap`."""
    return tx.all(SQL["count_term"], {"match": match, "cap": cap})[0][0]


def chunks_in(tx: Tx, workspace: int) -> int:
    """Return how many chunks a workspace has."""
    return tx.all(SQL["count_in_segments"], {"workspace": workspace})[0][0]
