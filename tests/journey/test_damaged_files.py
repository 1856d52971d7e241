"""Damage that no repair undoes: it is told exactly, and all that is whole stays in use."""

import json
import os
import signal
from pathlib import Path

import apsw
import pytest
from damages import START, change, overwrite, page_size, pages_of
from spawned import Den, drain, journey, on_posix, remember, run_to_end

from gateway.wire.client import CallFailed, GatewayClient, console_script

pytestmark = pytest.mark.followed

TURNS = 80


async def talk(den: Den) -> None:
    """Say as much as takes several pages."""
    turns = [
        {"turn_id": f"turn_{n}", "at": START + n, "items": [{"role": "user", "text": f"Number {n} is {'w' * 200}."}]}
        for n in range(TURNS)
    ]
    place = {"workspace_id": "ws_here", "thread_id": "thr_said", "source": {"kind": "journey", "id": "said"}}
    async with den.client() as client:
        await client.request("thread/import", {**place, "turns": turns})
        await drain(client)


def lose_a_page_of_messages(connection: apsw.Connection) -> None:
    pages = pages_of(connection, ["item"])
    overwrite(connection, {pages[-2]: bytes(page_size(connection))})


def doctor(den: Den, *more: str) -> tuple[int, str, str]:
    command = [*console_script(), "doctor", "--json", "--home", str(den.home), "--config", str(den.config), *more]
    shown = run_to_end(command)
    told = json.loads(shown.stdout)
    return shown.returncode, " ".join(one["text"] for one in told["findings"]), " ".join(told["done"])


@journey
async def test_a_damaged_page_of_messages_hits_its_own_turns_alone(tmp_path: Path) -> None:
    den = Den(tmp_path)
    await talk(den)
    change(den, lose_a_page_of_messages)
    async with den.client() as client:
        await drain(client)
        status = await client.request("gateway/status", {})
        assert ("storage", "rows_lost") in {(one["component"], one["reason"]) for one in status["degraded"]}
        whole = [n for n in range(TURNS) if await is_readable(client, n)]
    hit = [n for n in range(TURNS) if n not in whole]
    assert hit
    assert whole
    code, findings, _ = doctor(den)
    assert code == 74
    named = {word.rstrip(",;") for word in findings.split() if word.startswith("turn_")}
    assert named <= {f"turn_{n}" for n in hit}
    assert len(named) == min(len(hit), 20)
    code, findings, done = doctor(den, "--fix", "--yes")
    assert code < 2, findings
    assert "taken note of" in done
    assert [path.name for path in (den.home / "backups").glob("damaged-*.db")]
    async with den.client() as client:
        await drain(client)
        assert [n for n in range(TURNS) if await is_readable(client, n)] == whole
        assert (await client.request("gateway/status", {}))["degraded"] == []


async def is_readable(client: GatewayClient, number: int) -> bool:
    """Whether a turn can be read with its words."""
    try:
        items = (await client.request("turn/items", {"turn_id": f"turn_{number}"}))["items"]
    except CallFailed as failed:
        assert failed.code == -32046, failed
        return False
    return bool(items)


@on_posix
@journey
async def test_a_log_that_ends_early_is_told(tmp_path: Path) -> None:
    den = Den(tmp_path)
    async with den.client() as client:
        for n in range(5):
            await remember(client, f"The number of the locker is {n}{n}{n}")
        os.kill(client.pid, signal.SIGKILL)
    log = den.home / "gateway.db-wal"
    size = 4096 + 24
    frames = (log.stat().st_size - 32) // size
    with log.open("r+b") as file:
        file.seek(32 + size * (frames // 2) + 24 + 100)
        file.write(b"damage")
    (den.home / "gateway.db-shm").unlink(missing_ok=True)
    _, findings, _ = doctor(den)
    assert "frames of it cannot be reached" in findings
    async with den.client() as client:
        told = (await client.request("gateway/status", {}))["degraded"]
    lost = [one["key"] for one in told if (one["component"], one["reason"]) == ("storage", "wal_damaged")]
    assert len(lost) == 1
    assert 0 < int(lost[0]) <= frames
