"""What of the conversation index can be wrong, and how each kind is mended.

Rule 1: a message is never derived: whatever vouches for its chunks no more is cut anew from what was said.
Rule 2: the order of the checks counts: messages, then what is kept of their terms, then the full-text index, which is compared
with that, then sums and vectors.
"""

import json
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

from protocol.hooks import ItemFact, ReadItems
from protocol.seams.checks import Check, Find, LookResult, Mend, digest_of, finder, row_finder, step_finder
from protocol.seams.ports import Clock, JobQueue, Lexicon, Meaning, Row, Tx
from retrieval.audit import LISTED, AuditedIndex, audit_finder, believed_totals
from thread_episodic import store
from thread_episodic.index.indexing import Indexer
from thread_episodic.index.remaking import lexicon_digest
from thread_episodic.ports import ItemsAfter, SearchedSpace
from thread_episodic.search.vectors import ChunkVectors
from thread_episodic.store import SQL
from thread_episodic.values import IndexSource, chunk_digest

MESSAGES = 300  # messages of one look: each is asked for by its id
SUMMED = 3000  # chunks of one look that are added up

CHUNKS, SOURCES = SQL["end_of_chunks"], SQL["end_of_sources"]
"""Where a look at the next rows of a table ends."""


def _body_of(entry: Row) -> tuple[int, str]:
    row, workspace, thread, terms = entry
    return row, IndexSource(row, workspace, thread).entry(store.unpack(terms))


INDEX = AuditedIndex(
    body_of=_body_of, kept_after=SQL["kept_after"], kept_of=SQL["kept_of"], last_change=SQL["last_change"],
    listed_after=SQL["listed_after"],
    totals=SQL["index_totals"], rows_of_term_after=SQL["rows_of_term_after"],
    rows_of_terms_after=SQL["rows_of_terms_after"], has_term=SQL["has_term"],
)  # fmt: skip


# -- finding -------------------------------------------------------------------------------------------------------


def index_finds(lexicon: Lexicon) -> dict[str, Find]:
    """Return the looks that need nothing but the home and the lexicon."""
    return {
        "scopes": finder(SOURCES, SQL["find_lost_scopes"]),
        "source_rows": row_finder(SQL["vouched_sources_after"], _is_wrong_source),
        "orphans": finder(CHUNKS, SQL["find_orphans"]),
        "lost_segments": finder(CHUNKS, SQL["find_lost_segments"]),
        "chunk_rows": finder(SOURCES, SQL["find_wrong_chunk_counts"]),
        "terms": row_finder(SQL["vouched_chunks_after"], _is_wrong_chunk),
        "lexicon": finder(SOURCES, SQL["find_other_lexicons"], lexicon=lexicon_digest(lexicon)),
        "texts": audit_finder(INDEX),
        "missing_texts": finder(CHUNKS, SQL["find_missing_texts"]),
        "segments": step_finder(_sum_segments),
        "vectors": row_finder(SQL["vouched_vectors_after"], _is_wrong_vector),
    }


def missing_sources(items_after: ItemsAfter, read_items: ReadItems) -> Find:
    """Return a look that finds the turns of messages that ought to be in the index and that it does not know."""

    def find(tx: Tx, after: int) -> LookResult:
        page = items_after(tx, after, MESSAGES)
        known = store.find_sources(tx, [item_id for _, item_id in page])
        lacking = read_items(tx, [item_id for _, item_id in page if item_id not in known])
        turns = dict.fromkeys(fact.turn_id for fact in lacking.values() if fact.indexable)
        return LookResult(list(turns), page[-1][0] if len(page) == MESSAGES else None)

    return find


def cheap_finds() -> dict[str, Find]:
    """Return the looks of a start at a large index: what partitions and the full-text index believe to hold, against counts and digests."""
    return {"segments": step_finder(_compare_sums), "texts": step_finder(_compare_counts)}


def _compare_sums() -> Callable[[Tx], Sequence[Any] | None]:
    """Begin to compare what each partition believes to hold with its index entries, one partition a snapshot."""
    left: list[Any] | None = None
    wrong: list[Any] = []

    def step(tx: Tx) -> Sequence[Any] | None:
        nonlocal left
        if left is None:
            left = [row for row, *_ in tx.all(SQL["kept_sums"])]
        elif left:
            row = left.pop()
            found = tx.one(SQL["sums_by_index"], {"id": row})
            kept = [one[1:4] for one in tx.all(SQL["kept_sums"]) if one[0] == row]
            if found is not None and kept and tuple(kept[0]) != tuple(found[:3]):
                wrong.append((row,))
        return None if left else wrong

    return step


def _compare_counts() -> Callable[[Tx], Sequence[Any] | None]:
    """Begin to compare how many rows the full-text index lists with how many it believes to hold and how many chunks have words.

    A home that is written to meanwhile is not judged: its counts are of several moments.
    """
    begun: Row | None = None
    left: list[int] = []
    after: int | None = 0
    listed = worded = 0

    def step(tx: Tx) -> Sequence[Any] | None:
        nonlocal begun, listed, worded, after
        if begun is None:
            begun = tx.one(SQL["last_change"])
            left.extend(row for row, *_ in tx.all(SQL["kept_sums"]))
        elif left:
            found = tx.one(SQL["sums_by_index"], {"id": left.pop()})
            worded += found[3] if found is not None else 0
        elif after is not None:
            count, after = tx.all(SQL["count_listed"], {"after": after, "limit": LISTED})[0]
            listed += count
        else:
            hidden = tx.all(SQL["count_hidden"])[0][0]
            believed = believed_totals(tx, INDEX)[0]
            is_still = tx.one(SQL["last_change"]) == begun
            return [None] if is_still and not believed == listed == worded - hidden else ()
        return None

    return step


def _is_wrong_source(row: Row) -> bool:
    _, *values, digest = row
    return store.source_digest(*values) != digest


def _is_wrong_chunk(row: Row) -> bool:
    _, _, position, start, end, terms, term_count, asks, dated, digest = row
    return chunk_digest(position, start, end, terms, term_count, asks, dated) != digest


def _is_wrong_vector(row: Row) -> bool:
    _, _, vector, digest, number_count, is_placed = row
    return not is_placed or number_count is None or len(vector) != number_count or digest_of(vector) != digest


def _sum_segments() -> Callable[[Tx], Sequence[Any] | None]:
    """Begin to add up what partitions hold; those that believe anything else are counted in one snapshot each."""
    sums: dict[int, list[int]] = {}
    after: int | None = 0
    doubted: list[Any] | None = None
    wrong: list[Any] = []

    def step(tx: Tx) -> Sequence[Any] | None:
        nonlocal after, doubted
        if after is not None:
            end = tx.one(CHUNKS, {"after": after, "limit": SUMMED})
            until = end[0] if end is not None else None
            for row, *found in tx.all(SQL["sums_of_chunks"], {"after": after, "until": until}):
                count, terms, digest, first, last = sums.get(row, (0, 0, 0, found[3], found[4]))
                added = [count + found[0], terms + found[1], digest + found[2]]
                sums[row] = [*added, min(first, found[3]), max(last, found[4])]
            after = until
            return None
        if doubted is None:
            doubted = [one[0] for one in tx.all(SQL["kept_sums"]) if not _holds(one[1:], sums.get(one[0]))]
            return None if doubted else ()
        row = doubted.pop()
        wrong.extend(
            (one[0],) for one in tx.all(SQL["kept_sums"]) if one[0] == row and not _holds(one[1:], _count(tx, row))
        )
        return None if doubted else wrong

    return step


def _count(tx: Tx, row: int) -> list[int]:
    (sums,) = tx.all(SQL["count_segment"], {"id": row})
    return list(sums)


def _holds(kept: Sequence[Any], counted: Sequence[Any] | None) -> bool:
    """Whether sums are those that were counted, and the times cover them: they only grow, and may be wider."""
    *sums, first, last = counted or (0, 0, 0, None, None)
    *believed, since, until = kept
    if believed != sums:
        return False
    return sums[0] == 0 or (since is not None and until is not None and since <= first and last <= until)


# -- mending -------------------------------------------------------------------------------------------------------


class Mender:
    """Mends what the looks find."""

    def __init__(
        self, *, clock: Clock, jobs: JobQueue, lexicon: Lexicon, meaning: Meaning, indexer: Indexer, vectors: ChunkVectors,
        read_items: ReadItems, hash_of: Callable[[ItemFact], bytes], items_after: ItemsAfter,
        searched_space: SearchedSpace,
    ) -> None:  # fmt: skip
        self._clock = clock
        self._jobs = jobs
        self._lexicon = lexicon
        self._meaning = meaning
        self._indexer = indexer
        self._vectors = vectors
        self._read_items = read_items
        self._hash_of = hash_of
        self._items_after = items_after
        self._searched_space = searched_space
        self._turns: list[str] = []

    def checks(self) -> list[Check]:
        """Return every check, in the order in which they are run."""
        looks = index_finds(self._lexicon)
        remade: Sequence[tuple[str, Find, Mend]] = (
            ("orphans", looks["orphans"], _drop_orphans),
            ("scopes", looks["scopes"], self._restore_scopes),
            ("source_rows", looks["source_rows"], self._renew_sources),
            ("lost_segments", looks["lost_segments"], _restore_segments),
            ("chunk_rows", looks["chunk_rows"], self._recut_sources),
            ("terms", looks["terms"], self._recut_chunks),
            ("lexicon", looks["lexicon"], self._recut_sources),
            ("missing_sources", missing_sources(self._items_after, self._read_items), self._adopt_turns),
        )
        return [
            *(Check(name, find, mend, then=self._remake) for name, find, mend in remade),
            Check("changed_sources", self._find_changed_sources, self._adopt_turns, "deep", self._remake),
            Check("jobs", self._find_jobless, self._queue_turns),
            Check("texts", looks["texts"], _clear_texts),
            Check("missing_texts", looks["missing_texts"], _add_texts),
            Check("segments", looks["segments"], _count_segments),
            Check("vectors", looks["vectors"], self._drop_vectors),
            Check("missing_vectors", self._find_missing_vectors, self._await_vectors),
        ]

    # -- messages and their chunks ---------------------------------------------------------------------------------

    async def _remake(self) -> None:
        turns, self._turns = self._turns, []
        await self._indexer.remake(list(dict.fromkeys(turns)))

    def _recut_sources(self, tx: Tx, rows: Sequence[Any]) -> int:
        return self._recut(tx, [row[0] for row in rows])

    def _recut_chunks(self, tx: Tx, rows: Sequence[Any]) -> int:
        self._recut(tx, [row[1] for row in rows])
        return len(rows)

    def _recut(self, tx: Tx, sources: Sequence[int]) -> int:
        values = {"rows": json.dumps(sources)}
        self._turns += [turn_id for (turn_id,) in tx.all(SQL["turns_of_sources"], values)]
        return tx.run(SQL["await_sources"], values | {"now": self._clock.now()})

    def _restore_scopes(self, tx: Tx, rows: Sequence[Any]) -> int:
        """Workspaces and threads have the integers again that their messages' rows name; where another took one, the row is written anew."""
        for row, item_id, workspace, thread in rows:
            fact = self._read_items(tx, [item_id]).get(item_id)
            if fact is None:
                store.remove(tx, IndexSource(row, workspace, thread))
                continue
            for kind, number, key in (("workspace", workspace, fact.workspace_id), ("thread", thread, fact.thread_id)):
                tx.run(SQL["restore_scope"], {"id": number, "kind": kind, "key": key})
            place = store.find_scope(tx, "workspace", fact.workspace_id), store.find_scope(tx, "thread", fact.thread_id)
            if place != (workspace, thread):
                self._indexer.put(tx, fact)
                self._turns.append(fact.turn_id)
        return len(rows)

    def _renew_sources(self, tx: Tx, rows: Sequence[Any]) -> int:
        """Rows of messages are written anew; one of a message that there is none of goes."""
        for row, item_id, _, workspace, thread, *_ in rows:
            fact = self._read_items(tx, [item_id]).get(item_id)
            if fact is None or not fact.indexable:
                store.remove(tx, IndexSource(row, workspace, thread))
            else:
                self._indexer.put(tx, fact)
                self._turns.append(fact.turn_id)
        return len(rows)

    def _find_changed_sources(self, tx: Tx, after: int) -> LookResult:
        """Find messages that say something else than what was indexed."""
        page = self._items_after(tx, after, MESSAGES)
        known = store.find_sources(tx, [item_id for _, item_id in page])
        turns = dict.fromkeys(
            fact.turn_id
            for item_id, fact in self._read_items(tx, list(known)).items()
            if not fact.indexable or known[item_id].known.source_hash != self._hash_of(fact)
        )
        return LookResult(list(turns), page[-1][0] if len(page) == MESSAGES else None)

    def _adopt_turns(self, tx: Tx, rows: Sequence[Any]) -> int:
        for turn_id in rows:
            self._indexer.adopt(tx, turn_id)
        self._turns += rows
        return len(rows)

    # -- jobs ------------------------------------------------------------------------------------------------------

    def _find_jobless(self, tx: Tx, after: int) -> LookResult:
        """Find turns that wait without a job."""
        page = tx.all(SQL["pending_turns_after"], {"after": after, "limit": MESSAGES})
        threads = {turn_id: thread_id for _, turn_id, thread_id in page}
        jobless = self._jobs.without_job(tx, kind="index", subjects=list(threads))
        return LookResult(
            [(turn_id, threads[turn_id]) for turn_id in jobless], page[-1][0] if len(page) == MESSAGES else None
        )

    def _queue_turns(self, tx: Tx, rows: Sequence[Any]) -> int:
        for turn_id, thread_id in rows:
            self._jobs.enqueue(tx, "index", turn_id, thread_id=thread_id, turn_id=turn_id)
        return len(rows)

    # -- vectors ---------------------------------------------------------------------------------------------------

    def _drop_vectors(self, tx: Tx, rows: Sequence[Any]) -> int:
        """Vectors that no model of ours made, or of what is hidden, go; where there is a model others are made."""
        dropped = tx.run(SQL["drop_wrong_vectors"], {"rows": json.dumps([row[0] for row in rows])})
        if self._vectors.are_made():
            self._await_vectors(tx, [(row[1],) for row in rows])
        return dropped

    def _find_missing_vectors(self, tx: Tx, after: int) -> LookResult:
        space = self._searched_space(tx) if self._meaning.state() != "off" else None
        if space is None:
            return LookResult((), None)
        return finder(CHUNKS, SQL["find_missing_vectors"], space=space)(tx, after)

    def _await_vectors(self, tx: Tx, rows: Sequence[Any]) -> int:
        changed = tx.run(SQL["await_vectors_of"], {"rows": json.dumps([row[0] for row in rows])})
        self._vectors.queue(tx)
        return changed


def _drop_orphans(tx: Tx, rows: Sequence[Any]) -> int:
    return tx.run(SQL["drop_orphans"], {"rows": json.dumps([row[0] for row in rows])})


def _restore_segments(tx: Tx, rows: Sequence[Any]) -> int:
    """Partitions that chunks name are there again; a chunk in another workspace's moves into one of its own."""
    for row, segment, workspace in rows:
        tx.run(SQL["restore_segment"], {"id": segment, "workspace": workspace})
        own = [known for (known,) in tx.all(SQL["segments_of_workspace"], {"workspace": workspace})]
        if segment not in own:
            newest = own[0] if own else tx.insert(SQL["add_segment"], {"workspace": workspace})
            tx.run(SQL["move_chunk"], {"id": row, "segment": newest})
    return len(rows)


def _clear_texts(tx: Tx, rows: Sequence[Any]) -> int:  # noqa: ARG001  # the whole index is one row of it
    """Empty the full-text index: no wrong row can be mended alone. Its rows are missing from then on, and are added."""
    tx.run(SQL["clear_fts"])
    return 1


def _add_texts(tx: Tx, rows: Sequence[Any]) -> int:
    added = Counter[str]()
    for row, *_ in rows:
        kept = tx.one(SQL["kept_of"], {"row": row})
        if kept is not None:  # else it was hidden meanwhile
            added["rows"] += tx.run(SQL["restore_fts_row"], {"id": row, "body": _body_of(kept)[1]}) > 0
    return added["rows"]


def _count_segments(tx: Tx, rows: Sequence[Any]) -> int:
    for (row,) in rows:
        names = ("chunks", "terms", "digest", "first_at", "last_at")
        values = {"id": row} | dict(zip(names, _count(tx, row), strict=True))
        tx.run(SQL["put_segment_sums"], values)
    return len(rows)
