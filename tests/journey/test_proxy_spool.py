"""What an ended chat proxy left in the spool: any gateway of the home keeps it, an erase takes it along, the doctor
tells of it."""

import asyncio
import json
import os
import signal
import zipfile
from functools import partial

from home_bytes import files_holding
from proxy_stage import Program, ProxyDen, fake_model, kept, until
from spawned import clean_environment, journey, on_linux, run_to_end
from test_proxy import BOAT, den_of, fill
from test_proxy_failures import QUICK, are_lines, is_gone

from gateway.wire.client import console_script

pytestmark = on_linux

QUESTIONS = [f"Question {number}, and no more." for number in range(3)]
KEPT = [text for number, question in enumerate(QUESTIONS, 1) for text in (question, f"Answer {number}.")]


async def leave(den: ProxyDen, *questions: str) -> None:
    """Have a proxy end that could tell memory nothing: its answers lie in the spool."""
    await den.start()
    child = den.child()
    os.kill(child, signal.SIGSTOP)
    program = Program(den)
    for question in questions:
        assert (await program.ask(question)).memory == "late"
    await until(partial(are_lines, den, len(questions)))
    den.process.kill()
    await den.process.wait()
    os.kill(child, signal.SIGKILL)
    await until(partial(is_gone, child))


def spools(den: ProxyDen) -> list[str]:
    return sorted(path.name for path in (den.home / "spool").iterdir())


def doctor(den: ProxyDen, *more: str) -> list[dict[str, str]]:
    """The findings about the spool."""
    command = [*console_script(), "doctor", "--home", str(den.home), "--config", str(den.config), "--json", *more]
    told = json.loads(run_to_end(command, env=clean_environment()).stdout)
    return [one for one in told["findings"] if one["check"] == "spool"]


@journey
async def test_any_gateway_keeps_what_an_ended_proxy_left_at_its_start_and_when_it_drains(tmp_path):
    async with fake_model() as model:
        den = den_of(tmp_path, model, settings=QUICK)
        await leave(den, *QUESTIONS)
        async with den.client("ws_default") as client:
            assert await kept(client, 3) == [KEPT]
            await leave(den, "And one more question.")
            assert len(spools(den)) == 1
            assert (await client.request("gateway/drain", {"timeout_ms": 60_000}))["idle"]
            assert spools(den) == []
            assert sorted(map(len, await kept(client, 4))) == [2, 6]


@journey
async def test_what_is_erased_is_gone_from_the_spool_as_well(tmp_path):
    async with fake_model() as model:
        den = den_of(tmp_path, model, settings=QUICK)
        (boat,) = await fill(den, BOAT)
        async with den.client("ws_default") as client:
            await leave(den, f"{BOAT} Where could Marigold lie?")
            (spool,) = (den.home / "spool").glob("capture-*.jsonl")
            (den.home / "spool" / "quarantine.jsonl").write_text(f'{{"v":1,"finish":{{"text":"{BOAT}')
            assert b"called Marigold" in spool.read_bytes()
            target = {"target": {"kind": "id", "memory_id": boat}, "mode": "erase", "include_sources": True}
            rehearsed = await client.request("memory/forget", {**target, "dry_run": True})
            assert rehearsed["receipt"]["removed"]["sources"] == 1  # what was left is looked into, too
            assert "quarantine.jsonl" in spools(den)
            receipt = (await client.request("memory/forget", target))["receipt"]
            assert receipt["remaining"]["places"] == []
            assert spools(den) == []
            (texts,) = await kept(client, 1)
            assert texts[1] == "Answer 1."
            assert "called Marigold" not in texts[0]
        assert files_holding(den, {"called Marigold"}) == set()


@journey
async def test_what_a_living_proxy_holds_is_erased_and_backed_up_as_well_and_is_kept_once(tmp_path):
    async with fake_model() as model:
        den = den_of(tmp_path, model, settings=QUICK)
        (boat,) = await fill(den, BOAT)
        async with den.proxy(), den.client("ws_default") as client:
            child = den.child()
            os.kill(child, signal.SIGSTOP)
            program = Program(den)
            assert (await program.ask(f"{BOAT} Where could Marigold lie?")).memory == "late"
            await until(partial(are_lines, den, 1))
            target = {"target": {"kind": "id", "memory_id": boat}, "mode": "erase", "include_sources": True}
            receipt = (await client.request("memory/forget", target))["receipt"]
            assert receipt["remaining"]["places"] == []
            assert spools(den) == []
            assert (await Program(den).ask(QUESTIONS[0])).memory == "late"
            await until(partial(are_lines, den, 1))
            archive = tmp_path / "home.backup"
            command = [*console_script(), "backup", str(archive), "--home", str(den.home)]
            assert (await asyncio.to_thread(run_to_end, command, env=clean_environment())).returncode == 0
            assert spools(den) == []
            assert QUESTIONS[0].encode() in zipfile.ZipFile(archive).read("gateway.db")
            os.kill(child, signal.SIGKILL)
            await den.wait_for_health("degraded")
            await den.wait_for_health("ok")
            assert (await program.ask(QUESTIONS[1])).status == 200
            assert sum(map(len, await kept(client, 3))) == 6
        assert files_holding(den, {"called Marigold"}) == set()


@journey
async def test_the_doctor_tells_of_the_spool_and_has_it_kept(tmp_path):
    async with fake_model() as model:
        den = den_of(tmp_path, model, settings=QUICK)
        async with den.client("ws_default"):
            pass
        await leave(den, *QUESTIONS)
        (spool,) = (den.home / "spool").glob("capture-*.jsonl")
        with spool.open("ab") as file:
            file.write(b'{"v":1,"sha256":"00","finish":{"status"')
        (found,) = await asyncio.to_thread(doctor, den)
        assert (found["level"], found["text"].split()[0]) == ("warning", "3")
        (found,) = await asyncio.to_thread(doctor, den, "--fix")
        assert (found["level"], found["text"].split()[0]) == ("note", "1")
        assert spools(den) == ["quarantine.jsonl"]
        async with den.client("ws_default") as client:
            assert await kept(client, 3) == [KEPT]
