"""Rows of hook runs."""

from typing import Any, Final

import msgspec

from agent.rows.statements import SQL, to_json
from agent.rows.turns import get_turn
from protocol.base import Diagnostic
from protocol.gateway import HookRun, HooksRunsParams, RunError
from protocol.hooks import HOOK_CONTRACT_VERSION
from protocol.seams.forgettings import OpenRun
from protocol.seams.house_facts import TurnTrace
from protocol.seams.ports import Row, Tx

_DIAGNOSTICS: Final = msgspec.json.Decoder(list[Diagnostic])
_HASHES: Final = msgspec.json.Decoder(list[str])
"""Built at import: msgspec does not guard two threads that build the decoder of one type at once."""


def _run_of(row: Row) -> HookRun:
    hashes = _HASHES.decode(row[11])
    return HookRun(
        run_id=row[0],
        hook_id=row[1],
        phase=row[2],
        thread_id=row[3],
        turn_id=row[4],
        status=row[5],
        attempt_count=row[6],
        queued_at=row[7],
        started_at=row[8],
        completed_at=row[9],
        duration_ms=row[10],
        contribution_count=len(hashes),
        contribution_hashes=hashes,
        diagnostics=_DIAGNOSTICS.decode(row[12]),
        error=RunError(code=row[13], retryable=bool(row[14])) if row[13] else None,
    )


def _values_of(run: HookRun) -> dict[str, Any]:
    return {
        "run_id": run.run_id,
        "hook_id": run.hook_id,
        "phase": run.phase,
        "thread_id": run.thread_id,
        "turn_id": run.turn_id,
        "status": run.status,
        "attempt_count": run.attempt_count,
        "queued_at": run.queued_at,
        "started_at": run.started_at,
        "completed_at": run.completed_at,
        "duration_ms": run.duration_ms,
        "contribution_hashes": to_json(run.contribution_hashes),
        "diagnostics": to_json(run.diagnostics),
        "error_code": run.error.code if run.error else None,
        "error_retryable": run.error.retryable if run.error else None,
    }


def add_run(tx: Tx, run: HookRun) -> None:
    """Store a new run."""
    tx.run(SQL["add_run"], {**_values_of(run), "contract_version": HOOK_CONTRACT_VERSION})


def change_run(tx: Tx, run: HookRun) -> None:
    """Store what became of a run; one that has ended stays as it ended."""
    values = _values_of(run)
    for fixed in ("hook_id", "phase", "thread_id", "turn_id", "queued_at"):
        del values[fixed]
    tx.run(SQL["change_run"], values)


def skip_waiting_runs(tx: Tx, turn_id: str, now: int, diagnostics: list[Diagnostic]) -> None:
    """End the unfinished runs of a turn as skipped."""
    tx.run(SQL["skip_waiting_runs"], {"turn_id": turn_id, "now": now, "diagnostics": to_json(diagnostics)})


def read_run(tx: Tx, run_id: str) -> HookRun | None:
    """Return a run by id."""
    row = tx.one(SQL["get_run"], {"run_id": run_id})
    return _run_of(row) if row else None


def contract_of_run(tx: Tx, run_id: str) -> int | None:
    """Return by which version of the hook contract a run was queued."""
    row = tx.one(SQL["contract_of_run"], {"run_id": run_id})
    return row[0] if row else None


def open_runs(tx: Tx, hook_id: str) -> list[OpenRun]:
    """Return the runs of a hook that have not ended, oldest first."""
    return [OpenRun(*row) for row in tx.all(SQL["open_runs"], {"hook_id": hook_id})]


def runs_of_turn(tx: Tx, turn_id: str) -> list[HookRun]:
    """Return a turn's runs in order."""
    return [_run_of(row) for row in tx.all(SQL["runs_of_turn"], {"turn_id": turn_id})]


def list_runs(tx: Tx, params: HooksRunsParams, before: int, limit: int) -> list[tuple[int, HookRun]]:
    """Return runs before a row, newest first, of a turn, a thread or all, each with its row."""
    if params.turn_id is not None:
        statement = SQL["list_runs_of_turn"]
    else:
        statement = SQL["list_runs"] if params.thread_id is None else SQL["list_runs_of_thread"]
    values = {
        "before": before,
        "limit": limit,
        "turn_id": params.turn_id,
        "thread_id": params.thread_id,
        "phase": params.phase,
        "status": params.status,
    }
    return [(row[15], _run_of(row)) for row in tx.all(statement, values)]


def read_turn(tx: Tx, turn_id: str) -> TurnTrace | None:
    """Return a turn with its hook runs, for explanations."""
    found = get_turn(tx, turn_id)
    return TurnTrace(turn=found.turn, runs=runs_of_turn(tx, turn_id)) if found else None
