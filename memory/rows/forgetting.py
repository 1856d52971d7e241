"""Rows of a forgetting: those that its target names, its marks, and those that have become due."""

from collections.abc import Collection, Sequence
from typing import Final, Literal, NamedTuple, TypeAlias

from memory.rows.evidence import recount_evidence
from memory.rows.record_columns import SQL, Stored, to_csv
from memory.rows.records import records_of
from protocol.seams.ports import Tx

Bookkeeping: TypeAlias = Literal["answers", "changes", "recalls", "decisions", "repetitions"]

_DROP_OLD: Final[dict[Bookkeeping, str]] = {
    "answers": SQL["forget_answers"],
    "changes": SQL["forget_changes"],
    "recalls": SQL["forget_recalls"],
    "decisions": SQL["forget_decisions"],
    "repetitions": SQL["forget_repetitions"],
}


class ForgottenSource(NamedTuple):
    """A turn or thread that is forgotten."""

    turn_id: str | None
    thread_id: str | None


class QuoteHolder(NamedTuple):
    """A record or a candidate that quotes a source."""

    memory_id: str | None
    candidate_id: str | None


def records_of_source(tx: Tx, source: ForgottenSource) -> list[str]:
    """Return the ids of the records that were learnt from a turn or thread."""
    return [memory_id for (memory_id,) in tx.all(SQL["records_of_source"], source._asdict())]


def records_in(tx: Tx, scope_id: int) -> list[str]:
    """Return the ids of every record of a scope, the oldest first."""
    return [memory_id for (memory_id,) in tx.all(SQL["records_of_scope"], {"scope_id": scope_id})]


def candidates_of_source(tx: Tx, source: ForgottenSource) -> list[str]:
    """Return the ids of the candidates that were proposed in a source."""
    return [candidate_id for (candidate_id,) in tx.all(SQL["candidates_of_source"], source._asdict())]


def candidates_saying(tx: Tx, stored: Stored) -> list[str]:
    """Return the ids of the candidates that say what a record says, or became it."""
    said = {"scope_id": stored.scope_id, "fingerprint": stored.fingerprint, "text_hash": stored.text_hash}
    rows = tx.all(SQL["candidates_saying"], {"memory_id": stored.record.memory_id, **said})
    return [candidate_id for (candidate_id,) in rows]


def holders_of_quotes(tx: Tx, source: ForgottenSource) -> list[QuoteHolder]:
    """Return the records and candidates that quote a source."""
    return [QuoteHolder(*row) for row in tx.all(SQL["holders_of_quotes"], source._asdict())]


def drop_quotes(tx: Tx, source: ForgottenSource, holder: QuoteHolder, now: int) -> int:
    """Remove a source's quotes from a record or candidate, and count its evidence anew; return how many there were."""
    dropped = tx.run(SQL["drop_quotes"], {**source._asdict(), **holder._asdict()})
    if holder.candidate_id is not None:
        tx.run(SQL["count_quotes_of_candidate"], {"candidate_id": holder.candidate_id})
    if holder.memory_id is not None:
        recount_evidence(tx, holder.memory_id, now)
    return dropped


def drop_repetitions(tx: Tx, source: ForgottenSource, scope_ids: Collection[int]) -> None:
    """Remove the counted repetitions of a source in some scopes."""
    tx.run(SQL["forget_repetition"], {**source._asdict(), "scope_ids": to_csv(scope_ids)})


# -- generations of forgetting ---------------------------------------------------------------------------------------


def read_generation(tx: Tx) -> int:
    """Return the generation of forgetting of this home: a number that every forgetting raises."""
    row = tx.one(SQL["generation"])
    return row[0] if row else 0


def keep_marks(tx: Tx, marks: Sequence[bytes]) -> None:
    """Store marks in new generations, each in place of an earlier one."""
    tx.run_many(SQL["note_forgotten"], [{"mark": mark} for mark in marks])


def marks_since(tx: Tx, since: int) -> frozenset[bytes]:
    """Return the marks of generations after one."""
    return frozenset(mark for (mark,) in tx.all(SQL["marks_since"], {"since": since}))


def generation_of(tx: Tx, mark: bytes) -> int | None:
    """Return the generation of a mark; None where it was never forgotten."""
    row = tx.one(SQL["forgotten_at"], {"mark": mark})
    return row[0] if row is not None else None


# -- due rows --------------------------------------------------------------------------------------------------------


def list_expired_records(tx: Tx, now: int, limit: int) -> list[Stored]:
    """Return active records whose time is over."""
    rows = tx.all(SQL["due_expiries"], {"now": now, "limit": limit})
    return records_of(tx, [memory_id for (memory_id,) in rows])


def forgotten_by(tx: Tx, before: int, limit: int) -> list[Stored]:
    """Return records that were forgotten before a time, the oldest first."""
    rows = tx.all(SQL["due_erasures"], {"before": before, "limit": limit})
    return records_of(tx, [memory_id for (memory_id,) in rows])


def next_expiry(tx: Tx) -> int | None:
    """Return the time at which the next active record expires; None where none does."""
    row = tx.one(SQL["next_expiry"])
    return row[0] if row is not None else None


def first_forgotten(tx: Tx) -> int | None:
    """Return the oldest time at which a record was forgotten; None where none is."""
    row = tx.one(SQL["next_erasure"])
    return row[0] if row is not None else None


def drop_old(tx: Tx, kind: Bookkeeping, before: int, limit: int) -> int:
    """Remove some bookkeeping rows from before a time; return how many, at most `limit`."""
    return tx.run(_DROP_OLD[kind], {"before": before, "limit": limit})
