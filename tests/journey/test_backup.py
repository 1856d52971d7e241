"""A home is backed up while two processes write to it, and the home made of the backup is compared with what it held."""

import asyncio
import base64
import hashlib
import json
import zipfile
from pathlib import Path
from typing import Any

import apsw
import pytest
from command_line import run
from spawned import Den, drain, journey

from gateway.care.backup import BadBackupError, restore_backup, write_backup
from gateway.wire.client import GatewayClient
from protocol.errors import Refused

TABLES = (
    "workspace",
    "thread",
    "turn",
    "item",
    "artifact",
    "scope",
    "record",
    "evidence",
    "decision",
    "memory_event",
    "tombstone",
    "candidate",
)
FILE = base64.b64encode(b"The tide table of Aldermouth.\n" * 50).decode()


def nothing(_done: int, _total: int | None) -> None:
    """Nobody looks at the progress."""


def rows_of(database: Path) -> dict[str, list[Any]]:
    connection = apsw.Connection(str(database), flags=apsw.SQLITE_OPEN_READONLY)
    try:
        return {table: connection.execute(f"SELECT * FROM {table} ORDER BY 1").fetchall() for table in TABLES}  # noqa: S608
    finally:
        connection.close()


async def talk(client: GatewayClient, thread: str, text: str, file: str | None = None) -> None:
    """A turn of a host that answers itself."""
    given: list[dict[str, Any]] = [{"type": "text", "text": text}]
    if file is not None:
        given.append({"type": "artifact", "name": "tide.txt", "mime": "text/plain", "data_base64": file})
    prepared = await client.request("turn/prepare", {"thread_id": thread, "input": given})
    turn_id = prepared["turn"]["turn_id"]
    await client.request("turn/finish", {"turn_id": turn_id, "status": "succeeded", "assistant_text": "Noted."})


async def write_on(client: GatewayClient, name: str, stop: asyncio.Event) -> int:
    """Remember one thing after the other until told to stop; how many."""
    count = 0
    while not stop.is_set():
        await client.request(
            "memory/remember", {"content": f"Boat number {count} of {name} is moored at pier {count % 7}."}
        )
        count += 1
    return count


@journey
async def test_a_home_in_use_is_backed_up_whole(tmp_path: Path) -> None:
    den, file = Den(tmp_path / "den"), tmp_path / "home.backup"
    async with den.client("ws_1") as first, den.client("ws_1") as second:
        thread = (await first.request("thread/start", {"workspace_id": "ws_1"}))["thread"]["thread_id"]
        await talk(first, thread, "Here is the tide table.", FILE)
        stop = asyncio.Event()
        writers = [
            asyncio.create_task(write_on(client, name, stop)) for client, name in ((first, "Tern"), (second, "Gull"))
        ]
        await talk(first, thread, "And once more, with the other tide.", base64.b64encode(b"other tide").decode())
        manifest = await asyncio.to_thread(write_backup, den.home, file, nothing)
        before = rows_of(den.home / "gateway.db")
        with pytest.raises(Refused):
            restore_backup(file, den.home, nothing, is_forced=True)  # it is in use
        stop.set()
        counts = await asyncio.gather(*writers)
        await drain(first)
    assert min(counts) > 0
    assert manifest.missing == []

    restored = tmp_path / "restored"
    restore_backup(file, restored, nothing, is_forced=False)
    held = rows_of(restored / "gateway.db")
    with zipfile.ZipFile(file) as archive:
        assert json.loads(archive.read("manifest.json"))["format"] == "pioneer.backup"
    known = {table: set(map(repr, rows)) for table, rows in before.items()}
    for table in ("workspace", "thread", "item", "artifact", "evidence", "decision", "memory_event"):
        assert {repr(row) for row in held[table]} <= known[table], table  # nothing that was not there
    assert {row[:3] for row in held["scope"]} <= {row[:3] for row in before["scope"]}
    assert sum(row[3] for row in held["scope"]) == len(held["record"])  # counted in the same snapshot
    assert len(held["item"]) == 4
    assert len(held["record"]) == len(held["memory_event"])  # each with its event: one snapshot
    assert len(held["artifact"]) == 2
    for row in held["artifact"]:
        digest = next(value for value in row if isinstance(value, str) and len(value) == 64)
        data = (restored / "artifacts" / digest[:2] / digest).read_bytes()
        assert hashlib.sha256(data).hexdigest() == digest
    assert (restored / "keys" / "fingerprint.key").read_bytes() == (den.home / "keys" / "fingerprint.key").read_bytes()
    listed = (await asyncio.to_thread(run, "list", "--all", "--json", "--home", str(restored))).json["records"]
    assert len(listed) == len(held["record"])
    assert (await asyncio.to_thread(run, "doctor", "--home", str(restored))).code == 0


def test_a_still_home_comes_back_equal_and_the_old_one_goes_aside(tmp_path: Path) -> None:
    home, file = tmp_path / "home", str(tmp_path / "home.backup")
    for text in ("The ferry leaves at ten.", "I take my coffee without sugar."):
        assert run("remember", text, "--home", str(home)).code == 0
    assert run("settings", "set", "memory.review_enabled", "true", "--home", str(home)).code == 0
    before = rows_of(home / "gateway.db")
    assert run("backup", file, "--home", str(home)).code == 0
    assert run("backup", file, "--home", str(home)).code == 64
    assert run("backup", file, "--home", str(tmp_path / "none")).code == 66
    assert run("remember", "The bus stops at the church.", "--home", str(home)).code == 0
    assert run("restore-backup", file, "--home", str(home)).code == 65
    ended = run("restore-backup", file, "--home", str(home), "--force", "--json")
    assert ended.code == 0
    assert rows_of(home / "gateway.db") == before
    assert "review_enabled = true" in (home / "config.toml").read_text(encoding="utf-8")
    aside = Path(ended.json["moved_aside"])
    assert len(rows_of(aside / "gateway.db")["record"]) == 3
    assert [path.name for path in tmp_path.iterdir() if path.name.startswith(".")] == []


@pytest.mark.parametrize("damage", ["cut", "turned", "renamed", "none", "outside"])
def test_a_damaged_backup_puts_nothing_in_place(tmp_path: Path, damage: str) -> None:
    home, file = tmp_path / "home", tmp_path / "home.backup"
    assert run("remember", "The ferry leaves at ten.", "--home", str(home)).code == 0
    write_backup(home, file, nothing)
    data = file.read_bytes()
    if damage == "cut":
        file.write_bytes(data[: len(data) // 2])
    elif damage == "turned":
        place = len(data) // 4
        file.write_bytes(data[:place] + bytes([data[place] ^ 0xFF]) + data[place + 1 :])
    elif damage == "none":
        file.write_bytes(b"this is no archive")
    else:
        with zipfile.ZipFile(file) as archive:
            members = {name: archive.read(name) for name in archive.namelist()}
        manifest = json.loads(members["manifest.json"])
        manifest["members"][0]["name"] = "../outside" if damage == "outside" else "gateway.db2"
        with zipfile.ZipFile(file, "w") as archive:
            for name, held in (members | {"manifest.json": json.dumps(manifest).encode(), "../outside": b"x"}).items():
                archive.writestr(name, held)
    target = tmp_path / "again"
    with pytest.raises(BadBackupError):
        restore_backup(file, target, nothing, is_forced=False)
    assert not target.exists()
    assert not (tmp_path / "outside").exists()
    assert run("restore-backup", str(file), "--home", str(target)).code == 65


def test_a_file_that_was_lost_is_told(tmp_path: Path) -> None:
    home, file = tmp_path / "home", tmp_path / "home.backup"
    assert run("remember", "The ferry leaves at ten.", "--home", str(home)).code == 0
    connection = apsw.Connection(str(home / "gateway.db"))
    connection.execute("PRAGMA foreign_keys = off").fetchall()
    connection.execute(
        "INSERT INTO artifact (artifact_id, version_id, item_id, thread_id, name, kind, mime, size_bytes, role, sha256, is_kept, created_at) "
        "VALUES ('art_1', 'v1', 'itm_1', 'thr_1', 'n', 'other', 'm', 1, 'user', ?, 1, 0)",
        ("a" * 64,),
    ).fetchall()
    connection.close()
    assert write_backup(home, file, nothing).missing == ["a" * 64]
    assert "1 files of messages are gone" in run("doctor", "--home", str(home)).out
