"""Rows that repair finds and mends by statements alone, and facts that earlier repairs have stored.

Rule 1: a find reads a bounded part of a snapshot; a mend changes only rows that are still wrong.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Final

import msgspec
from msgspec import Struct

from memory.rows.record_columns import SQL, Stored, to_stored
from memory.rows.record_terms import prefix_terms, terms_digest, unpack_terms
from memory.rows.store import pack_terms, remove_text
from memory.rows.tombstones import pending_erases
from protocol.gateway import RepairState
from protocol.seams.checks import BATCH, Check, Find, digest_of, finder, row_finder, row_mender
from protocol.seams.ports import Lexicon, Row, Tx
from retrieval.audit import AuditedIndex, audit_finder

_RECORDS, _SCOPES, _TEXTS = SQL["end_of_records"], SQL["end_of_scopes"], SQL["end_of_texts"]
_EVIDENCE, _CANDIDATES = SQL["end_of_evidence"], SQL["end_of_candidates"]
"""The statements that return the last row of the next look at a table."""


class _Correction(Struct, frozen=True):
    """Statements that find wrong rows of a table, and mend those of some row numbers that are still wrong."""

    end_of: str
    find: str
    mend: str


_CORRECTIONS: Final[Mapping[str, _Correction]] = {
    "orphan_evidence": _Correction(_EVIDENCE, SQL["find_orphan_evidence"], SQL["mend_orphan_evidence"]),
    "repeated_evidence": _Correction(_EVIDENCE, SQL["find_repeated_evidence"], SQL["mend_repeated_evidence"]),
    "evidence_counts": _Correction(_RECORDS, SQL["find_evidence_counts"], SQL["mend_evidence_counts"]),
    "candidate_counts": _Correction(_CANDIDATES, SQL["find_candidate_counts"], SQL["mend_candidate_counts"]),
    "scope_counts": _Correction(_SCOPES, SQL["find_scope_counts"], SQL["mend_scope_counts"]),
    "superseded_links": _Correction(_RECORDS, SQL["find_superseded_links"], SQL["mend_superseded_links"]),
    "supersedes_links": _Correction(_RECORDS, SQL["find_supersedes_links"], SQL["mend_supersedes_links"]),
}


def _body_of(entry: Row) -> tuple[int, str]:
    """Return the row and the text that the full-text index should hold of it."""
    row, scope, terms = entry
    return row, prefix_terms(scope, unpack_terms(terms))


INDEX: Final = AuditedIndex(
    body_of=_body_of,
    kept_after=SQL["terms_after"],
    kept_of=SQL["terms_of_row"],
    last_change=SQL["last_change"],
    listed_after=SQL["listed_after"],
    totals=SQL["index_totals"],
    rows_of_term_after=SQL["rows_of_term_after"],
    rows_of_terms_after=SQL["rows_of_terms_after"],
    has_term=SQL["has_term"],
)


def index_finds(lexicon: str) -> dict[str, Find]:
    """Return the quick looks at rows derived of records, by name; `lexicon` is the version in use."""
    counts = _CORRECTIONS["scope_counts"]
    return {
        "unvouched_texts": row_finder(SQL["vouched_texts_after"], _is_unvouched_text),
        "wrong_texts": audit_finder(INDEX),
        "forgotten_texts": finder(_TEXTS, SQL["find_forgotten_texts"]),
        "missing_texts": finder(_RECORDS, SQL["find_missing_texts"]),
        "stale_texts": finder(_TEXTS, SQL["find_stale_texts"], lexicon=lexicon),
        "wrong_vectors": row_finder(SQL["vouched_vectors_after"], _is_wrong_vector),
        "scope_counts": finder(counts.end_of, counts.find),
    }


def _is_unvouched_text(row: Row) -> bool:
    _, scope, terms, digest = row
    return terms_digest(scope, terms) != digest


def _is_wrong_vector(row: Row) -> bool:
    _, _, vector, digest, number_count, is_placed = row
    return not is_placed or number_count is None or len(vector) != 2 * number_count or digest_of(vector) != digest


def corrections() -> list[Check]:
    """Return the checks of `_CORRECTIONS`, in the order in which they are run."""
    return [Check(name, finder(one.end_of, one.find), row_mender(one.mend)) for name, one in _CORRECTIONS.items()]


def prunings() -> list[Check]:
    """Return the checks by which the daily sweep drops rows of records that are gone, in their order."""
    return [
        Check("terms", finder(_TEXTS, SQL["find_lone_texts"]), _remove_texts),
        Check(
            "vectors", finder(SQL["end_of_vectors"], SQL["find_lone_vectors"]), row_mender(SQL["drop_wrong_vectors"])
        ),
        Check(
            "enrichment",
            finder(SQL["end_of_enrichment"], SQL["find_lone_enrichment"]),
            row_mender(SQL["drop_enrichment"]),
        ),
    ]


def tallies() -> list[Find]:
    """Return the looks that count the rows of durable memory by kind."""
    return [
        finder(_RECORDS, SQL["tally_records"]),
        finder(_CANDIDATES, SQL["tally_candidates"]),
        finder(SQL["end_of_vectors"], SQL["tally_vectors"]),
        finder(SQL["end_of_tombstones"], SQL["tally_tombstones"]),
    ]


def _remove_texts(tx: Tx, rows: Sequence[Any]) -> int:
    return sum(remove_text(tx, row) for (row,) in rows)


def find_unfinished_erases() -> Find:
    """Return a look that finds records which were erased and are still there."""
    return finder(_RECORDS, SQL["find_unfinished_erases"])


def find_lacking_vectors(space_id: int) -> Find:
    """Return a look that finds records which wait for no vector and have none of a space."""
    return finder(_RECORDS, SQL["find_lacking_vectors"], space=space_id)


def find_index_states() -> Find:
    """Return a look that finds records which are not marked as indexed, each with its mark."""
    return finder(_RECORDS, SQL["find_index_states"])


# -- full text -------------------------------------------------------------------------------------------------------


def drop_terms(tx: Tx, row: int) -> None:
    """Remove the kept terms of a record; the index itself is left as it is."""
    tx.run(SQL["drop_terms"], {"row": row})


def is_text_right(tx: Tx, stored: Stored, lexicon: Lexicon) -> bool:
    """Return whether the kept terms of a record are those of its words; a damaged record must have none."""
    kept = tx.one(SQL["kept_terms"], {"row": stored.row})
    if stored.is_intact and kept is not None and stored.record.status != "deleted":
        return (kept[0], kept[1]) == (f"s{stored.scope_id}", pack_terms(stored, lexicon))
    return stored.is_intact or kept is None


def rebuild_texts(tx: Tx) -> None:
    """Fill the full-text index anew with the kept terms."""
    tx.run(SQL["clear_text"])
    after = 0
    while rows := tx.all(SQL["terms_after"], {"after": after, "limit": BATCH}):
        for row, scope, terms in rows:
            tx.run(SQL["add_text"], {"row": row, "body": prefix_terms(scope, unpack_terms(terms))})
        after = rows[-1][0]


# -- records and facts of earlier repairs ----------------------------------------------------------------------------


def records_after(tx: Tx, after: int, limit: int) -> list[Stored]:
    """Return the next records in the order of their rows."""
    return [to_stored(row) for row in tx.all(SQL["records_after"], {"after": after, "limit": limit})]


def find_altered_records(tx: Tx) -> list[str]:
    """Return the ids of the records that fail their own checksum; every record is read."""
    altered, after = list[str](), 0
    while page := records_after(tx, after, BATCH):
        altered += [stored.record.memory_id for stored in page if not stored.is_intact]
        after = page[-1].row
    return altered


def is_lexicon_known(tx: Tx, version: str) -> bool:
    """Return whether the last repair was run with this version of the lexicon."""
    return tx.one(SQL["get_fact"], {"name": "lexicon"}) == (version,)


def note_lexicon(tx: Tx, version: str) -> None:
    """Store the version of the lexicon with which the home was repaired."""
    tx.run(SQL["put_fact"], {"name": "lexicon", "value": version})


def note_damaged(tx: Tx, count: int) -> None:
    """Store the number of records that fail their own checksum."""
    tx.run(SQL["put_fact"], {"name": "damaged", "value": str(count)})


def count_damaged(tx: Tx) -> int:
    """Return how many records failed their own checksum when all were last checked."""
    found = tx.one(SQL["get_fact"], {"name": "damaged"})
    return msgspec.convert(found[0], int, strict=False) if found is not None else 0


def state_of(tx: Tx) -> RepairState:
    """Return the damage that repair has still to mend, and the damage that it cannot mend."""
    damaged = count_damaged(tx)
    gaps = tx.one(SQL["text_gaps"]) or (0, 0)
    marked = tx.one(SQL["count_marked"]) or (0,)
    unfinished = len(pending_erases(tx)) + (tx.one(SQL["count_unfinished_erases"]) or (0,))[0]
    return RepairState(damaged=damaged, texts=max(gaps[0] - damaged, gaps[1]) + marked[0], erases=unfinished)
