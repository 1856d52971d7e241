"""A record's fields stand once: the schema has a column for each, and one more field is two edits."""

import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import apsw
import pytest

from gateway.store.schema_shapes import scripts
from memory.rows import record_columns
from memory.rows.record_columns import COLUMNS, JSONS
from protocol.bundle import BundleRecord
from protocol.memory.writes import RememberParams, WriteParams
from protocol.record import DETAILS, Record

ROOT = Path(__file__).resolve().parents[2]
STAGE = ROOT / "tests" / "stage"
CHECKSUM = "12c6a249013b2170c1bd10174914cd836d3d6f4b2e8f3b77d40c323c47091b6c"
"""Of a row whose columns hold their own names, as the first version sealed it."""


LATER = {"path", "path_key"}
"""Columns that the first version had not."""
OF_THE_TABLE = {"tier", "tier_days", "is_machine"}
"""Columns that statements ask for and no record shows."""


@pytest.fixture(scope="module")
def schema() -> Any:
    connection = apsw.Connection(":memory:")
    for script in scripts():
        connection.execute(script).fetchall()
    yield connection
    connection.close()


def columns_of(schema: Any, table: str) -> dict[str, tuple[str, bool]]:
    """The type of each column of a table, and whether it may be null."""
    rows = schema.execute('SELECT name, type, "notnull" FROM pragma_table_xinfo(?)', (table,))
    return {name: (kind, not is_required) for name, kind, is_required in rows}


def test_the_schema_has_a_column_for_each_field_and_the_view_for_each_column(schema: Any) -> None:
    columns = columns_of(schema, "record")
    assert set(columns) == {"id", *COLUMNS, *OF_THE_TABLE}
    assert set(columns_of(schema, "record_bytes")) == {f"raw_{name}" for name in ("id", *COLUMNS)}


def test_each_column_has_the_type_of_its_field(schema: Any) -> None:
    kinds = {str: "TEXT", int: "INTEGER", bool: "INTEGER", float: "REAL"}
    columns = columns_of(schema, "record")
    for name, kind in Record.__annotations__.items():
        if name not in COLUMNS:
            continue
        options = set(record_columns.options_of(kind))
        assert columns[name][0] == kinds.get(next(iter(options)), "TEXT")
        if name not in JSONS:
            assert columns[name][1] == (type(None) in getattr(kind, "__args__", ()))


def test_every_detail_comes_in_by_the_doors_and_goes_out_by_answers_and_bundles() -> None:
    for message in (RememberParams, WriteParams, Record, BundleRecord):
        assert set(DETAILS) <= set(message.__struct_fields__)


def test_a_checksum_of_the_first_version_stays_as_it_was() -> None:
    """Checksums are stored: one that came out otherwise would hide every record of a home."""
    row = [None if name in LATER else name.encode() for name in record_columns.READ]
    assert record_columns.checksum_of(tuple(row)).hex() == CHECKSUM


def with_one_more_field(folder: Path) -> None:
    """Copy the two houses that have to do with a record, and add a field in the two places."""
    for house in ("memory", "protocol"):
        shutil.copytree(ROOT / house, folder / house, ignore=shutil.ignore_patterns("__pycache__"))
    edits = {
        "protocol/record.py": [("    metadata: Metadata\n", "    metadata: Metadata\n    mood: str | None = None\n")],
        "memory/schema.sql": [
            ("    metadata         TEXT NOT NULL,\n", "    metadata         TEXT NOT NULL,\n    mood TEXT,\n"),
            ("raw_metadata, ", "raw_metadata, raw_mood, "),
            ("CAST(metadata AS BLOB), ", "CAST(metadata AS BLOB), CAST(mood AS BLOB), "),
        ],
    }
    for name, changes in edits.items():
        text = (folder / name).read_text(encoding="utf-8")
        for old, new in changes:
            assert text.count(old) == 1
            text = text.replace(old, new)
        (folder / name).write_text(text, encoding="utf-8")


def test_one_more_field_is_two_edits(tmp_path: Path) -> None:
    """`tests/stage/one_more_field.py` takes it through every door, a correction, a candidate and a bundle."""
    with_one_more_field(tmp_path)
    search = os.pathsep.join(map(str, (tmp_path, STAGE, ROOT)))
    ran = subprocess.run(  # our own interpreter
        [sys.executable, str(STAGE / "one_more_field.py"), str(tmp_path / "home")],
        env={**os.environ, "PYTHONPATH": search, "PYTHONWARNINGS": "error"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (ran.returncode, ran.stderr) == (0, "")
