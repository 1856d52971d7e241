"""The lives of a record and of a candidate: every pair of status and event is a row of a table or an error."""

import re
from itertools import product
from pathlib import Path
from typing import get_args

import pytest
from cases import each

import memory
from memory.rows.store import SQL
from memory.rules.lifecycle import (
    CANDIDATES,
    RECORDS,
    RESTORED_TO,
    CandidateEvent,
    RecordEvent,
)
from protocol.memory.values import CandidateStatus
from protocol.record import Status
from protocol.seams.transitions import IllegalMoveError, after

STATUSES: tuple[Status, ...] = get_args(Status)
EVENTS: tuple[RecordEvent, ...] = get_args(RecordEvent)
ENDS: tuple[CandidateStatus, ...] = get_args(CandidateStatus)
CANDIDATE_EVENTS: tuple[CandidateEvent, ...] = get_args(CandidateEvent)

SETTERS = {
    "record": {"add_record": "INSERT", "change_status": "UPDATE"},
    "candidate": {"add_candidate": "INSERT", "import_candidate": "INSERT", "change_candidate_status": "UPDATE"},
}
"""The statements that set a status: with a new row, or by an event."""

MOVES: dict[tuple[str, str], str] = {
    ("active", "replace"): "superseded",
    ("active", "expire"): "expired",
    ("active", "archive"): "archived",
    ("active", "forget"): "deleted",
    ("superseded", "restore"): "active",
    ("superseded", "forget"): "deleted",
    ("expired", "replace"): "superseded",
    ("expired", "forget"): "deleted",
    ("archived", "restore"): "active",
    ("archived", "replace"): "superseded",
    ("archived", "forget"): "deleted",
    ("deleted", "restore"): "active",
    ("deleted", "restore_replaced"): "superseded",
    ("deleted", "restore_expired"): "expired",
    ("deleted", "restore_archived"): "archived",
}


@each(("status", "event"), product(STATUSES, EVENTS))
def test_each_pair_of_a_record_is_a_move_or_an_error(status: Status, event: RecordEvent) -> None:
    if (status, event) in MOVES:
        assert after(RECORDS, status, event) == MOVES[status, event]
    else:
        with pytest.raises(IllegalMoveError, match=f"{status} cannot {event}") as failure:
            after(RECORDS, status, event)
        assert failure.value.reason == "internal"


@each(("status", "event"), product(ENDS, CANDIDATE_EVENTS))
def test_a_candidate_ends_once(status: CandidateStatus, event: CandidateEvent) -> None:
    if (status, event) == ("expired", "reopen"):  # a pass let it go, and that is undone
        assert after(CANDIDATES, status, event) == "pending"
    elif status == "pending" and event != "reopen":
        assert after(CANDIDATES, status, event) in {*ENDS} - {"pending"}
    else:
        with pytest.raises(IllegalMoveError, match=f"{status} cannot {event}"):
            after(CANDIDATES, status, event)


def test_the_tables_know_every_status_and_event_and_nothing_else() -> None:
    assert (set(RECORDS), set(CANDIDATES)) == (set(STATUSES), set(ENDS))
    assert {event for moves in RECORDS.values() for event in moves} == set(EVENTS)
    assert {event for moves in CANDIDATES.values() for event in moves} == set(CANDIDATE_EVENTS)
    assert set(CANDIDATES["pending"].values()) == set(ENDS) - {"pending"}


def test_what_can_be_forgotten_can_be_restored_to_what_it_was() -> None:
    forgettable = {status for status, moves in RECORDS.items() if "forget" in moves}
    assert forgettable == set(STATUSES) - {"deleted"} == set(RESTORED_TO)
    assert all(after(RECORDS, "deleted", event) == status for status, event in RESTORED_TO.items())


# -- no other way ----------------------------------------------------------------------------------------------------


def set_columns(statement: str) -> tuple[str, str, list[str]]:
    """Return how a statement writes (INSERT or UPDATE, else nothing), the table, and the columns that it sets."""
    inserted = re.match(r"INSERT (?:OR \w+ )?INTO (\w+) \(([^)]*)\)", statement)
    if inserted is not None:
        upserted = statement.partition(" DO UPDATE SET ")[2]
        return "INSERT", inserted[1], [*re.findall(r"\w+", inserted[2]), *re.findall(r"(?:^|, *)\s*(\w+) =", upserted)]
    updated = re.match(r"UPDATE (?:OR \w+ )?(\w+) SET (.*)", statement, re.DOTALL)
    if updated is None:
        return "", "", []
    depth, members = 0, [""]
    for part in re.split(r"([(),]|\bCASE\b|\bEND\b|\bWHERE\b)", updated[2]):
        depth += part in {"(", "CASE"}
        depth -= part in {")", "END"}
        if part == "WHERE" and depth == 0:
            break
        if part == "," and depth == 0:
            members.append("")
        else:
            members[-1] += part
    return "UPDATE", updated[1], [member.strip().partition(" ")[0] for member in members]


def test_no_other_statement_sets_a_status() -> None:
    found: dict[str, dict[str, str]] = {table: {} for table in SETTERS}
    for name in SQL:
        how, table, columns = set_columns(SQL[name])
        if table in found and "status" in columns:
            found[table][name] = how
    assert found == SETTERS


def test_a_status_is_found_wherever_it_is_set() -> None:
    of_case = "UPDATE candidate SET at = CASE status WHEN 'a' THEN 1 ELSE 2 END, status = (SELECT 1, 2), x = 1 WHERE status = 'b'"
    assert set_columns(of_case) == ("UPDATE", "candidate", ["at", "status", "x"])
    upsert = "INSERT INTO record (id, x) VALUES (:id, :x) ON CONFLICT (id) DO UPDATE SET x = 1, status = 'active'"
    assert set_columns(upsert) == ("INSERT", "record", ["id", "x", "x", "status"])


def test_one_function_applies_the_events_of_each() -> None:
    folder = Path(memory.__file__).parent
    texts = [path.read_text(encoding="utf-8") for path in sorted(folder.rglob("*.py"))]
    for name in ("change_status", "change_candidate_status"):
        assert sum(text.count(f'"{name}"') for text in texts) == 1
