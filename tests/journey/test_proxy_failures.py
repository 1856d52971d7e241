"""The chat proxy when something fails: a chat goes on without memory, and memory gets later what it missed."""

import asyncio
import contextlib
import json
import os
import random
import signal
from functools import partial
from itertools import pairwise
from pathlib import Path

import pytest
from proxy_stage import (
    CUT,
    JSON,
    Program,
    ProxyDen,
    Reply,
    ended,
    fake_model,
    fetch,
    kept,
    said,
    until,
    user,
)
from sizes import size
from spawned import every, journey, on_linux
from test_proxy import ASK, BOAT, SLOW, den_of, fill

pytestmark = on_linux

QUICK = "[gateway.proxy]\nrecall_deadline_ms = 300\n"
LIVES, REQUESTS = size("proxy_lives"), size("proxy_requests")


@journey
async def test_proxy_statement_17_a_killed_child_costs_memory_only(tmp_path):
    async with fake_model() as model:
        den = den_of(tmp_path, model)
        await fill(den, BOAT)
        async with den.proxy():
            os.kill(den.child(), signal.SIGKILL)
            await den.wait_for_health("degraded")
            program = Program(den)
            came = await program.ask(ASK)
            assert (came.status, came.memory, came.body) == (200, "down", b"".join(said("chat", "Answer 1.")))
            assert "Marigold" not in model.seen[0].body.decode()
            await den.wait_for_health("ok")
            second = await program.ask("And where does the sailing boat lie?")
            assert second.memory == "recalled"
            async with den.client("ws_default") as client:
                assert await kept(client, 2) == [
                    [ASK, "Answer 1.", "And where does the sailing boat lie?", "Answer 2."]
                ]


@journey
async def test_proxy_statement_17_18_a_child_that_dies_with_an_answer_undelivered_holds_no_chat(tmp_path):
    async with fake_model() as model:
        den = den_of(tmp_path, model, settings=QUICK)
        await fill(den, BOAT)
        async with den.proxy():
            child = den.child()
            os.kill(child, signal.SIGSTOP)
            program = Program(den)
            assert (await program.ask("What waits in the spool?")).memory == "late"
            os.kill(child, signal.SIGKILL)
            assert (await program.ask("And what comes behind it?")).status == 200
            await den.wait_for_health("ok")
            async with den.client("ws_default") as client:
                said_then = ["What waits in the spool?", "Answer 1.", "And what comes behind it?", "Answer 2."]
                assert await kept(client, 2) == [said_then]


@journey
async def test_proxy_statement_17_18_a_hung_child_is_not_waited_for(tmp_path):
    async with fake_model() as model:
        den = den_of(tmp_path, model, settings=QUICK)
        await fill(den, BOAT)
        async with den.proxy():
            child = den.child()
            os.kill(child, signal.SIGSTOP)
            program = Program(den)
            for number in range(5):
                came = await program.ask(f"Question {number}, and no more.")
                assert (came.status, came.memory) == (200, "late")
            assert await den.health() == "degraded"
            os.kill(child, signal.SIGCONT)
            await den.wait_for_health("ok")
            async with den.client("ws_default") as client:
                (texts,) = await kept(client, 5)
                assert texts == [text for n in range(5) for text in (f"Question {n}, and no more.", f"Answer {n + 1}.")]
        log = (den.home / "logs" / "gateway.log").read_text()
        assert log.count('"memory_missed"') == 1


@pytest.mark.parametrize("harm", ["overwritten", "folder"])
@journey
async def test_proxy_statement_17_a_home_that_cannot_be_opened(tmp_path, harm):
    async with fake_model() as model:
        den = den_of(tmp_path, model)
        await fill(den, BOAT)
        database, aside = den.home / "gateway.db", tmp_path / "aside.db"
        database.rename(aside)
        if harm == "overwritten":
            database.write_bytes(b"this is no database" * 400)
        else:
            database.mkdir()
        for more in ("-wal", "-shm"):
            Path(f"{database}{more}").unlink(missing_ok=True)
        async with den.proxy():
            assert den.state == "dark"
            program = Program(den)
            came = await program.ask(ASK)
            assert (came.status, came.memory) == (200, "down")
            assert await den.health() == "degraded"

            async def is_spooled():
                return any((den.home / "spool").glob("capture-*.jsonl"))

            await until(is_spooled)
            database.rmdir() if harm == "folder" else database.unlink()
            aside.rename(database)
            await den.wait_for_health("ok")
            async with den.client("ws_default") as client:
                assert await kept(client, 1) == [[ASK, "Answer 1."]]


@journey
async def test_proxy_statement_18_what_a_killed_proxy_left_is_delivered_without_a_torn_line(tmp_path):
    async with fake_model() as model:
        den = den_of(tmp_path, model, settings="")  # nothing is to be waited for: memory is stopped
        await den.start()
        os.kill(den.child(), signal.SIGSTOP)
        stopped = den.child()
        program = Program(den)
        for number in range(3):
            await program.ask(f"Question {number}, and no more.")

        await until(partial(are_lines, den, 3))
        den.process.kill()
        await den.process.wait()
        os.kill(stopped, signal.SIGKILL)
        (spool,) = (den.home / "spool").glob("capture-*.jsonl")
        assert spool.stat().st_mode & 0o777 == 0o600
        with spool.open("ab") as file:
            file.write(b'{"v":1,"sha256":"00","finish":{"status"')
        async with den.proxy(), den.client("ws_default") as client:
            (texts,) = await kept(client, 3)
            assert texts == [text for n in range(3) for text in (f"Question {n}, and no more.", f"Answer {n + 1}.")]
            assert b'"sha256":"00"' in (den.home / "spool" / "quarantine.jsonl").read_bytes()


@journey
@pytest.mark.parametrize("is_stream", [True, False])
async def test_proxy_statement_19_an_answer_that_has_come_whole_outlives_its_proxy(tmp_path, is_stream):
    """The proxy is killed as soon as its program has the last byte, while memory hangs."""
    message = {"message": {"role": "assistant", "content": "Fine."}, "finish_reason": "stop"}
    answer = json.dumps({"choices": [message]}).encode()
    async with fake_model() as model:
        den = den_of(tmp_path, model, settings="[gateway.proxy]\nrecall_deadline_ms = 2000\n")
        await den.start()
        child = den.child()
        os.kill(child, signal.SIGSTOP)
        whole = Reply([answer], headers=[*JSON, ("content-length", str(len(answer)))])
        model.replies.append(Reply(said("chat", "Fine.")) if is_stream else whole)
        program = Program(den)
        program.said.append(user("chat", ASK))
        body = json.dumps(program.body(stream=is_stream)).encode()
        came = await fetch(den.port, "POST", program.path(), body, program.headers)
        den.process.kill()
        assert came.is_whole
        await den.process.wait()
        os.kill(child, signal.SIGKILL)
        (spool,) = (den.home / "spool").glob("capture-*.jsonl")
        assert spool.read_bytes().count(b"Fine.") == 1
        async with den.proxy(), den.client("ws_default") as client:
            assert await kept(client, 1) == [[ASK, "Fine."]]


@pytest.mark.loop("check", "campaign")
@journey
async def test_proxy_statement_19_kill_9_loses_no_finished_turn_and_doubles_none(tmp_path):
    dice = random.Random(19)
    asked: list[str] = []
    answers: dict[str, str] = {}

    async def chat(den: ProxyDen, life: int, told: asyncio.Event) -> None:
        program = Program(den, user_agent="codex_cli_rs/1", session_id=f"s{life}")
        with contextlib.suppress(OSError, asyncio.IncompleteReadError):
            while True:
                asked.append(f"Question {len(asked)}, and no more.")
                came = await program.ask(asked[-1])
                if not came.is_whole:
                    return
                answers[asked[-1]] = program.said[-1]["content"]
                told.set()

    async with fake_model() as model:
        den = den_of(tmp_path, model, settings=QUICK)
        for life in range(LIVES):
            goal = len(asked) + -(-REQUESTS // LIVES)
            await den.start()
            child, told = den.child(), asyncio.Event()
            chatting = asyncio.ensure_future(chat(den, life, told))
            await told.wait()
            if life % 3 == 2:  # what is said from now on can only be spooled
                os.kill(child, signal.SIGSTOP)
            await until(partial(are_asked, asked, goal))
            asyncio.get_running_loop().call_later(dice.uniform(0.0, 0.05), den.process.kill)
            await den.process.wait()
            await chatting
            if life % 3 == 2:
                os.kill(child, signal.SIGCONT)
            await until(partial(is_gone, child))
        async with den.proxy(), den.client("ws_default") as client:
            await until(partial(is_delivered, den))
            said_of = [
                [item["text"] for item in await every(client, "thread/history", "items", thread_id=one["thread_id"])]
                for one in await every(client, "thread/list", "threads")
            ]
        texts = [text for one in said_of for text in one]
        assert [text for text in texts if texts.count(text) > 1] == [], said_of
        pairs = {question: answer for one in said_of for question, answer in pairwise(one) if question in answers}
        lost = {question for question, answer in answers.items() if pairs.get(question) != answer}
        assert lost == set(), said_of
        assert len(answers) >= REQUESTS - LIVES


@journey
async def test_proxy_statement_21_a_client_that_leaves_and_an_upstream_that_breaks(tmp_path):
    async with fake_model() as model:
        den = den_of(tmp_path, model)
        async with den.proxy(), den.client("ws_default") as client:
            chunks = said("chat", "One two three four")
            model.replies.append(Reply([*chunks[:2], asyncio.Event()]))
            program = Program(den)
            line = await program.open("I prefer dark mode in every editor.")
            assert [await line.chunk() for _ in range(2)] == chunks[:2]
            line.close()
            await model.gone.wait()
            turn_id = line.headers["x-pioneer-turn"]
            await ended(client, turn_id)
            turn = (await client.request("turn/get", {"turn_id": turn_id}))["turn"]
            assert turn["status"] == "interrupted"
            items = (await client.request("turn/items", {"turn_id": turn_id}))["items"]
            assert [(item["text"], item["status"]) for item in items][1] == ("One two ", "interrupted")
            model.replies.append(Reply([*chunks[:2], CUT]))
            came = await Program(den).ask("Another question for you.")
            assert (came.status, came.is_whole) == (200, False)
            turn = await ended(client, came.headers["x-pioneer-turn"])
            assert (turn["status"], turn["error"]["reason"]) == ("failed", "provider_failed")
            assert (await client.request("gateway/drain", {"timeout_ms": 60_000}))["idle"]
            assert (await client.request("memory/list", {}))["records"] == []


async def is_gone(pid):
    return not Path(f"/proc/{pid}").exists() or "Z" in Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2]


async def is_delivered(den):
    return not any((den.home / "spool").glob("capture-*.jsonl"))


async def are_lines(den, count):
    return sum(path.read_bytes().count(b"\n") for path in (den.home / "spool").glob("capture-*")) == count


async def are_asked(asked, count):
    return len(asked) >= count


async def saw(model, count):
    return len(model.seen) >= count


@journey
async def test_proxy_statement_22_interleaved_chats_that_begin_alike(tmp_path):
    async with fake_model() as model:
        den = den_of(tmp_path, model)
        async with den.proxy(), den.client("ws_default") as client:
            gate = asyncio.Event()
            model.replies += [Reply([gate, *said("chat", "Hello!")]), Reply([gate, *said("chat", "Hello!")])]
            one, other = Program(den), Program(den)
            first = asyncio.ensure_future(one.ask("Hi there, my friend."))
            await until(partial(saw, model, 1))
            second = asyncio.ensure_future(other.ask("Hi there, my friend."))
            await until(partial(saw, model, 2))
            gate.set()
            await asyncio.gather(first, second)
            await one.ask("Let us talk about bread.")
            await other.ask("Let us talk about ships.")
            found = await kept(client, 4)
            assert sorted(texts[2] for texts in found) == ["Let us talk about bread.", "Let us talk about ships."]


async def is_closed(den: ProxyDen) -> bool:
    """The proxy accepts no more: it has heard of its end."""
    try:
        _, writer = await asyncio.open_connection("127.0.0.1", den.port)
    except (ConnectionRefusedError, ConnectionResetError):  # reset: it was taken in just before the end of listening
        return True
    writer.close()
    return False


@journey
async def test_proxy_statement_36_sigterm_lets_a_stream_end(tmp_path):
    async with fake_model() as model:
        den = den_of(tmp_path, model)
        for is_twice in (False, True):
            await den.start()
            gate = asyncio.Event()
            chunks = said("chat", f"One two {is_twice}")
            model.replies.append(Reply([chunks[0], gate, *chunks[1:]]))
            program = Program(den)
            line = await program.open(ASK)
            await line.chunk()
            den.process.send_signal(signal.SIGTERM)
            if is_twice:
                await until(partial(is_closed, den))  # two signals at once are one
                den.process.send_signal(signal.SIGTERM)
                assert await den.process.wait() == 0
                assert not (await line.rest()).is_whole
            else:
                gate.set()
                came = await line.rest()
                assert (came.is_whole, came.body) == (True, b"".join(chunks[1:]))
                assert await den.process.wait() == 0
            line.close()


@journey
async def test_an_upstream_that_is_not_there_is_told_in_the_dialects_form(tmp_path):
    den = ProxyDen(
        tmp_path,
        config=SLOW + '[gateway.proxy.upstreams.claude]\ndialect = "anthropic"\nbase_url = "http://127.0.0.1:9"\n',
    )
    async with den.proxy():
        came = await Program(den, "messages").ask(ASK)
        assert (came.status, came.json["type"], came.json["error"]["code"]) == (502, "error", "upstream_unreachable")
        program = Program(den)
        program.place = "/u/nowhere"
        assert (await program.ask(ASK)).status == 404
