"""The home's own key: a home that has lost it says so, learns nothing, and gets no other one unasked."""

import json
import secrets
import zipfile
from pathlib import Path

import pytest
from spawned import Den, hello, journey, refusal, remember, run_to_end

from gateway.wire.client import console_script


def pioneer(den, *words):
    """A command on the home; its end."""
    return run_to_end([*console_script(), *words, "--home", str(den.home), "--config", str(den.config)])


def key_of(doctored):
    """What `pioneer doctor --json` says of the key."""
    return [one for one in json.loads(doctored.stdout)["findings"] if one["check"] == "key"]


@journey
async def begin(den):
    async with den.client() as client:
        memory_id = await remember(client, "The ferry leaves at ten.")
        await client.request("memory/forget", {"target": {"kind": "id", "memory_id": memory_id}, "mode": "erase"})
        await remember(client, "The bus stops at the church.", key="bus")


@journey
async def live_without(den):
    """A session of a home whose key is gone: what goes on, and what does not."""
    async with await den.spawn() as client:
        await hello(client)
        told = (await client.request("gateway/status", {}))["degraded"]
        assert [(one["component"], one["reason"]) for one in told] == [("keys", "key_lost")]
        refused = await refusal(client, "memory/remember", {"content": "The ferry leaves at ten."})
        assert refused.reason == "unavailable"
        assert "doctor" in refused.message
        (hit,) = (await client.request("memory/search", {"query": "where does the bus stop"}))["hits"]
        await client.request("thread/start", {"thread_id": "thr_a"})
        target = {"kind": "id", "memory_id": hit["record"]["memory_id"]}
        forgotten = await client.request("memory/forget", {"target": target})
        assert forgotten["forgotten_memory_ids"] == [target["memory_id"]]
        await client.request("memory/restore", {"memory_id": target["memory_id"]})


@journey
async def live_with(den):
    async with den.client() as client:
        assert (await client.request("gateway/status", {}))["degraded"] == []
        await remember(client, f"The train to {secrets.token_hex(4)} is late.")


@pytest.mark.parametrize("other", [None, secrets.token_bytes(32)], ids=["gone", "another"])
def test_a_lost_key_is_told_and_nothing_is_learnt_until_it_is_back(tmp_path: Path, other: bytes | None) -> None:
    den = Den(tmp_path)
    begin(den=den)
    path = den.home / "keys" / "fingerprint.key"
    key = path.read_bytes()
    path.unlink()
    if other is not None:
        path.write_bytes(other)
    for _ in range(2):  # a second start knows no more than the first
        live_without(den=den)
        assert (path.read_bytes() if path.exists() else None) == other
    (found,) = key_of(pioneer(den, "doctor", "--json"))
    assert (found["level"], "nothing is learnt" in found["text"]) == ("warning", True)
    assert b"key_lost" in (den.home / "logs" / "gateway.log").read_bytes()
    path.write_bytes(key)
    live_with(den=den)
    assert key_of(pioneer(den, "doctor", "--json"))[0]["level"] == "ok"


def test_a_backup_without_the_key_says_what_is_lost_and_a_person_may_want_a_new_key(tmp_path: Path) -> None:
    den, file = Den(tmp_path), tmp_path / "home.backup"
    begin(den=den)
    command = [*console_script(), "backup", str(file), "--home", str(den.home), "--force"]
    (den.home / "keys" / "fingerprint.key").unlink()
    ended = run_to_end(command)
    assert (ended.returncode, b"key is not in it" in ended.stdout + ended.stderr) == (0, True)
    with zipfile.ZipFile(file) as archive:
        assert "keys/fingerprint.key" not in archive.namelist()
    ended = run_to_end([*console_script(), "restore-backup", str(file), "--home", str(den.home), "--force"])
    assert (ended.returncode, b"key is not in it" in ended.stdout + ended.stderr) == (0, True)
    assert pioneer(den, "doctor", "--fix").returncode == 0
    live_with(den=den)
