"""Every row of the error table is provoked over stdio, or says here why it cannot be."""

import asyncio
import os
import re
import shutil
import sys
from pathlib import Path
from typing import Any, get_args

import pytest
from spawned import Den, hello, journey, remember

from gateway.wire.client import CallFailed, GatewayClient
from protocol.errors import REASONS, ErrorReason

GOLDEN = Path(__file__).parent.parent / "golden"

HERE = {"storage_full", "unavailable"}
ELSEWHERE = {
    "schema_too_new": "ends the process before the first message: test_process.py",
    "message_too_large": "test_process.py",
    **dict.fromkeys(
        ("provider_failed", "provider_rate_limited", "provider_unauthorized"), "needs a vendor: test_failed_turns.py"
    ),
    "provider_timeout": "needs a vendor that says nothing: test_vendor_turns.py",
    "storage_read_only": "ends the process before the first message: test_home.py",
}
NOT_OVER_STDIO = {
    "internal": "needs a defect of ours: test_rpc.py raises one in a service",
    "overloaded": "needs a process that holds the write lock for half a minute: test_database.py",
    "pass_running": "needs a run under way: test_passes.py",
    "home_locked": "needs a migration that takes half a minute: test_migrations.py",
}


def in_golden_sessions() -> set[str]:
    told = "".join(path.read_text(encoding="utf-8") for path in GOLDEN.glob("*.jsonl"))
    return set(re.findall(r'"reason": "([a-z_]+)"', told)) & set(get_args(ErrorReason))


def test_every_reason_has_its_place() -> None:
    placed = in_golden_sessions() | HERE | set(ELSEWHERE) | set(NOT_OVER_STDIO)
    assert set(REASONS) - placed == set()


def test_a_reason_is_not_excused_that_a_golden_session_has() -> None:
    assert in_golden_sessions() & set(NOT_OVER_STDIO) == set()


async def failure_of(client: GatewayClient, method: str, params: dict[str, Any]) -> CallFailed:
    with pytest.raises(CallFailed) as caught:
        await client.request(method, params)
    return caught.value


@pytest.mark.skipif(sys.platform == "win32", reason="file size limits are a matter of POSIX")
@journey
async def test_a_full_disk_is_told_and_reads_go_on(tmp_path: Path) -> None:
    den = Den(tmp_path)
    async with den.client() as client:
        kept = await remember(client, "The lighthouse keeper is called Ada.")
    limit = sum(path.stat().st_size for path in den.home.glob("gateway.db*")) // 512 + 200
    limited = ["sh", "-c", f'ulimit -f {limit}; trap "" XFSZ; exec "$0" "$@"', *den.command()]
    async with await GatewayClient.start(limited) as client:
        await hello(client)
        failed = None
        for n in range(200):
            try:
                await remember(client, f"Filler number {n}: " + "x" * 4000 + str(n))
            except CallFailed as error:
                failed = error
                break
        assert failed is not None
        assert (failed.reason, failed.code, failed.data["retryable"]) == ("storage_full", -32046, True)
        found = await client.request("memory/search", {"query": "lighthouse keeper"})
        assert [hit["record"]["memory_id"] for hit in found["hits"]] == [kept]
    async with den.client() as client:
        assert (await client.request("memory/get", {"memory_id": kept}))["record"] is not None


@pytest.mark.skipif(sys.platform == "win32", reason="an open file cannot be moved there")
@journey
async def test_a_database_that_vanished_takes_no_writes(tmp_path: Path) -> None:
    den = Den(tmp_path)
    async with den.client() as client:
        await remember(client, "The key is under the third pot.")
        shutil.copy(den.home / "gateway.db", tmp_path / "copy.db")
        os.replace(tmp_path / "copy.db", den.home / "gateway.db")
        failed = await failure_of(client, "memory/remember", {"content": "This must not be acknowledged."})
        assert (failed.reason, failed.code, failed.data["retryable"]) == ("unavailable", -32046, True)


@journey
async def test_a_method_that_nobody_built_is_not_found(tmp_path: Path) -> None:
    async with Den(tmp_path).client() as client:
        failed = await failure_of(client, "memory/dream", {})
        assert (failed.reason, failed.code) == ("method_not_found", -32601)
        await asyncio.wait_for(client.request("ping", {}), 5)
