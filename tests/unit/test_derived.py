"""The table of what is derived: every table of the schema and every check of repair has its place in it."""

import re
from collections import Counter
from types import SimpleNamespace
from typing import Any

import pytest

from gateway.store.derived import TABLE, TABLES, add_shadows, owner_of, part_of, tables_to_empty
from gateway.store.schema_shapes import scripts
from memory.read.vectors import RecordVectors
from memory.repair import RecordRepairer
from thread_episodic.rows.damage import index_finds
from thread_episodic.values import lexicon_digest

OF_MEANING = frozenset(
    {
        "home",
        "owner",
        "job",
        "space",
        "workspace",
        "thread",
        "turn",
        "item",
        "artifact",
        "hook_run",
        "injection",
        "tool_reply",
        "mention",
        "capture",
        "shown_line",
        "pass_state",
        "pass_run",
        "pass_change",
        "scope",
        "record",
        "candidate",
        "evidence",
        "earlier_value",
        "repetition",
        "decision",
        "memory_event",
        "tombstone",
        "idempotency",
        "memory_recall",
        "memory_change",
        "memory_fact",
        "chunk_exclusion",
        "recall_event",
        "forgotten",
        "enrichment",
        "entity",
        "alias",
        "edge",
        "instruction_state",
        "instruction_version",
        "collection",
        "knowledge_owner",
        "knowledge_change",
        "file_version",
    }
)
"""What nothing else in a home could be asked for again."""
NOT_DERIVED = frozenset(
    {"unfinished_erases", "pending_erases", "orphan_evidence", "repeated_evidence", "withheld_numbers"}
)
"""Checks of memory that end what was begun, and drop what belongs to nothing."""


def test_every_table_is_derived_or_has_a_meaning() -> None:
    made = {
        name for script in scripts() for name in re.findall(r"^CREATE (?:VIRTUAL )?TABLE (\w+)", script, re.MULTILINE)
    }
    assert made == OF_MEANING | TABLES.keys()
    assert not OF_MEANING & TABLES.keys()


def test_every_check_has_one_place(monkeypatch: pytest.MonkeyPatch) -> None:
    counted = Counter((part.house, check) for part in TABLE for check in part.checks)
    assert set(counted.values()) == {1}
    monkeypatch.setattr("memory.repair.index_finds", lambda _version: Looks())
    means: Any = SimpleNamespace(lexicon=SimpleNamespace(version="1"), db=None, jobs=None, meaning=None)
    names = {check.name for check in RecordRepairer(means, RecordVectors(means)).checks()} - NOT_DERIVED
    assert names == {check for part in TABLE if part.house == "memory" for check in part.checks}
    lexicon: Any = type("Words", (), {"version": "1"})
    assert all(part_of(name, "conversation") is not None for name in index_finds(lexicon_digest(lexicon)))


class Looks(dict[str, Any]):
    def __missing__(self, _key: str) -> None:
        return None


@pytest.mark.parametrize(
    ("damaged", "expected"),
    [
        (["memory_vec"], ["memory_vec", "memory_vec_loss"]),
        (["chunk_fts"], ["chunk_fts", "chunk_terms"]),
        (["segment"], [table for part in TABLE if part.house == "conversation" for table in part.tables]),
        ([], []),
    ],
)
def test_what_names_its_rows_goes_with_a_table(damaged: list[str], expected: list[str]) -> None:
    assert tables_to_empty(damaged) == expected


def test_a_shadow_belongs_to_its_table() -> None:
    assert owner_of("memory_fts_idx") == "memory_fts"
    assert owner_of("record") is None
    assert add_shadows(["chunk"]) == ["chunk"]
