"""Rows of runs: what is planned, how far each run is, and what it changed.

Rule 1: every function works on the transaction it is given and decides nothing.
"""

from collections.abc import Sequence
from typing import Any, Final, NamedTuple

import msgspec
from msgspec import Struct

from gateway.home.owners import SQL
from protocol.base import encode_sorted
from protocol.passes import PassName, Run, RunChange, RunStage, RunState, Trigger
from protocol.seams.checks import BATCH, Check, draining_finder, row_mender
from protocol.seams.passes import StageChange
from protocol.seams.ports import Row, Tx

_STAGES: Final = msgspec.json.Decoder(list[RunStage])
"""Made here: two threads of the database must not be the first to meet a type at once, which msgspec does not guard."""
_OBJECT: Final = msgspec.json.Decoder(dict[str, Any])


class StoredRun(NamedTuple):
    """A run as stored. `stage` is the number of the stage that it is at, `place` where that one goes on."""

    run: Run
    workspace_id: str | None
    stage: int
    place: str | None


class NewRun(Struct, frozen=True):
    """A run that is to be queued."""

    run_id: str
    name: PassName
    trigger: Trigger
    stages: Sequence[str]
    is_dry: bool = False
    workspace_id: str | None = None


def _text(value: Any) -> str:
    return encode_sorted(value).decode()


def run_of(row: Row) -> StoredRun:
    """Return a row of `pass_run` as a run."""
    run_id, name, trigger, is_dry, state, reason, workspace_id, *later = row
    started_at, ended_at, stages, stage, place, changes, reversible_until = later
    run = Run(
        run_id=run_id,
        pass_=name,
        trigger=trigger,
        dry_run=bool(is_dry),
        state=state,
        reason=reason,
        started_at=started_at,
        ended_at=ended_at,
        stages=_STAGES.decode(stages),
        llm_enriched=0,
        model=None,
        changes=changes,
        reversible_until=reversible_until,
    )
    return StoredRun(run, workspace_id, stage, place)


def add_run(tx: Tx, new: NewRun, now: int) -> None:
    """Queue a run whose stages all wait."""
    stages = [RunStage(name=name, state="waiting") for name in new.stages]
    tx.run(
        SQL["add_run"],
        {
            "run_id": new.run_id,
            "name": new.name,
            "trigger": new.trigger,
            "is_dry": int(new.is_dry),
            "workspace_id": new.workspace_id,
            "stages": _text(stages),
            "now": now,
        },
    )


def put_run(tx: Tx, stored: StoredRun) -> None:
    """Store how far a run is."""
    run = stored.run
    tx.run(
        SQL["put_run"],
        {
            "run_id": run.run_id,
            "state": run.state,
            "reason": run.reason,
            "started_at": run.started_at,
            "ended_at": run.ended_at,
            "stages": _text(run.stages),
            "stage": stored.stage,
            "place": stored.place,
            "changes": run.changes,
            "reversible_until": run.reversible_until,
        },
    )


def find_run(tx: Tx, run_id: str) -> StoredRun | None:
    """Return a run by its id."""
    row = tx.one(SQL["get_run"], {"run_id": run_id})
    return run_of(row) if row else None


def find_unfinished_run(tx: Tx, name: PassName | None = None) -> StoredRun | None:
    """Return the oldest run, of a pass or of any, that is queued or running."""
    row = tx.one(SQL["unfinished_run"], {"name": name})
    return run_of(row) if row else None


def last_run(tx: Tx, name: PassName) -> Run | None:
    """Return the newest run of a pass that has ended and was no dry run."""
    row = tx.one(SQL["last_run"], {"name": name})
    return run_of(row).run if row else None


def list_runs(
    tx: Tx, name: PassName | None, states: Sequence[RunState] | None, before: int, limit: int
) -> list[tuple[int, Run]]:
    """Return runs with their row numbers, newest first."""
    listed = f",{','.join(states)}," if states else None
    rows = tx.all(SQL["list_runs"], {"name": name, "states": listed, "before": before, "limit": limit})
    return [(row[0], run_of(row[1:]).run) for row in rows]


def add_changes(tx: Tx, run_id: str, changes: Sequence[StageChange]) -> None:
    """Log what a run changed."""
    rows = [
        {
            "run_id": run_id,
            "subject": one.subject,
            "what": one.what,
            "before": _text(one.before),
            "after": _text(one.after),
        }
        for one in changes
    ]
    tx.run_many(SQL["add_change"], rows)


def _change_of(row: Row) -> tuple[int, StageChange]:
    number, subject, what, before, after = row
    return number, StageChange(subject, what, _OBJECT.decode(before), _OBJECT.decode(after))


def changes_after(tx: Tx, run_id: str, place: int, limit: int) -> list[tuple[int, RunChange]]:
    """Return the changes of a run, in order, each with its number."""
    rows = tx.all(SQL["changes_of_run_after"], {"run_id": run_id, "place": place, "limit": limit})
    return [
        (number, RunChange(id=one.subject, what=one.what, from_=dict(one.before), to=dict(one.after)))
        for number, one in map(_change_of, rows)
    ]


def changes_to_undo(tx: Tx, run_id: str, limit: int) -> list[tuple[int, StageChange]]:
    """Return the last changes of a run that no undoing has looked at."""
    return list(map(_change_of, tx.all(SQL["changes_to_undo"], {"run_id": run_id, "limit": limit})))


def mark_seen(tx: Tx, number: int) -> None:
    """Mark a change as one that an undoing has looked at, whether it was undone or skipped."""
    tx.run(SQL["mark_change"], {"id": number})


def find_planned_time(tx: Tx, name: str) -> int | None:
    """Return when a pass is planned to run next, in Unix milliseconds; None where nothing is planned."""
    row = tx.one(SQL["planned_pass"], {"name": name})
    return row[0] if row else None


def plan(tx: Tx, name: str, at: int) -> None:
    """Plan the next run of a pass."""
    tx.run(SQL["plan_pass"], {"name": name, "at": at})


def old_runs(before: int) -> Check:
    """Return the check that drops runs which ended before a time, with their changes."""
    return Check("runs", draining_finder(SQL["old_runs"], BATCH, before=before), row_mender(SQL["forget_runs"]))
