"""The Python client against spawned gateways, over pipes and over HTTP."""

import asyncio
import os
import shutil
import signal
import subprocess
import sys
import threading
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import msgspec
import pytest
from documented_examples import examples_of
from http_stage import HttpDen
from pioneer_client import Client, GatewayDied, GatewayError, Restarted, Sync
from pioneer_client.pipes import Pipes
from pioneer_client.protocol import methods as m
from pioneer_client.protocol.base import Empty
from pioneer_client.protocol.conversation.imports import ImportItem, ImportSource, ImportTurn, ThreadImportParams
from pioneer_client.protocol.conversation.threads import ThreadHistoryParams, ThreadParams, ThreadStartParams
from pioneer_client.protocol.conversation.turns import TextInput, TurnStartParams
from pioneer_client.protocol.conversation.workspaces import WorkspaceCreateParams
from pioneer_client.protocol.gateway import ProviderTestParams
from pioneer_client.protocol.memory.forgetting import ForgetById, ForgetParams
from pioneer_client.protocol.memory.reads import SearchParams
from pioneer_client.protocol.memory.writes import RememberParams
from pioneer_client.protocol.notifications import DeltaNotice, MemoryChanged
from spawned import JOURNEY_SECONDS, clean_environment, journey, on_posix

from gateway.wire.client import console_script

pytestmark = [pytest.mark.loop("test"), on_posix]

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = ROOT / "clients" / "python"
EXAMPLES = examples_of(PACKAGE / "README.md", "python", "pioneer_client")
LATE_MS = 600_000
"""Longer than any test takes."""


class Way:
    """A gateway, spawned or behind a door, that can be killed and is there again."""

    def __init__(self, name: str, folder: Path, config: str = "") -> None:
        self.name = name
        self.den = HttpDen(folder, scripted=True).add_config(config)
        self._door: subprocess.Popen[str] | None = None

    @asynccontextmanager
    async def client(self) -> AsyncIterator[Client]:
        try:
            async with await self.open() as client:
                if self.name == "http":
                    await client.call(m.WORKSPACE_CREATE, WorkspaceCreateParams(workspace_id="ws_here"))
                yield client
        finally:
            if self._door is not None:
                self._end_door(signal.SIGTERM)

    async def open(self) -> Client:
        if self.name == "pipes":
            more = ["--config", str(self.den.config)]
            return await Client.start(console_script(), self.den.home, "ws_here", arguments=more)
        self._door = self.den.start()
        return await Client.connect(f"http://127.0.0.1:{self.den.port}", self.den.token(), "ws_here")

    async def kill(self, client: Client) -> None:
        """End the gateway as a crash would; a door is opened again at its port."""
        if client.pid is not None:
            os.kill(client.pid, signal.SIGKILL)
            return
        self._end_door(signal.SIGKILL)
        self._door = await asyncio.to_thread(self.den.start, "--port", str(self.den.port))

    def _end_door(self, number: signal.Signals) -> None:
        assert self._door is not None
        self._door.send_signal(number)
        self.den.wait(self._door)
        for stream in (self._door.stdout, self._door.stderr):
            assert stream is not None
            stream.close()


@pytest.fixture(params=["pipes", "http"])
def way(request: pytest.FixtureRequest, tmp_path: Path) -> Way:
    return Way(request.param, tmp_path)


def question(**more: Any) -> TurnStartParams:
    return TurnStartParams(thread_id="thr_1", input=[TextInput(text="How do I take my coffee?")], **more)


def once(client: Client, name: str) -> asyncio.Future[Any]:
    """The next notification of a name."""
    found: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
    client.on(name, lambda params: None if found.done() else found.set_result(params))
    return found


@journey
async def test_the_handshake_typed_results_and_notifications(way: Way) -> None:
    async with way.client() as client:
        assert client.handshake.workspace_id == "ws_here"
        assert client.handshake.protocol_version == "2026-11"
        changed, forgotten = once(client, "memory/changed"), once(client, "memory/forgotten")
        told = await client.call(m.MEMORY_REMEMBER, RememberParams(content="The boat is called Tern."))
        found = await client.call(m.MEMORY_SEARCH, SearchParams(query="boat"))
        assert [hit.record.content for hit in found.hits] == ["The boat is called Tern."]
        notice = await changed
        assert isinstance(notice, MemoryChanged)
        assert notice.memory_id == told.record.memory_id
        await client.call(m.MEMORY_FORGET, ForgetParams(target=ForgetById(memory_id=told.record.memory_id)))
        assert (await forgotten).memory_ids == [told.record.memory_id]


@journey
async def test_errors_are_typed(way: Way) -> None:
    async with way.client() as client:
        with pytest.raises(GatewayError) as missing:
            await client.call(m.THREAD_GET, ThreadParams(thread_id="thr_none"))
        assert (missing.value.reason, missing.value.code, missing.value.retryable) == ("not_found", -32044, False)
        with pytest.raises(GatewayError) as wrong:
            await client.call(m.MEMORY_SEARCH, SearchParams(query="x" * 5000))
        assert wrong.value.reason == "invalid_params"
        assert (wrong.value.details or {})["path"] == "$.query"
    with pytest.raises(GatewayDied):
        await client.call(m.PING, Empty())


@journey
async def test_a_turn_is_streamed(way: Way) -> None:
    way.den.write_script([{"role": "main", "respond": {"text": "Without any sugar."}, "stream_chunks": 3}])
    async with way.client() as client:
        await client.call(m.THREAD_START, ThreadStartParams(thread_id="thr_1"))
        for _ in range(2):
            notices = [notice async for notice in client.turn(question())]
            deltas = [notice.params.delta for notice in notices if isinstance(notice.params, DeltaNotice)]
            assert len(deltas) == 3
            assert "".join(deltas) == "Without any sugar."
            assert (notices[0].method, notices[-1].method) == ("turn/started", "turn/completed")
            assert [notice.params.seq for notice in notices] == list(range(1, len(notices) + 1))


@journey
async def test_a_turn_that_cannot_begin_says_so(way: Way) -> None:
    async with way.client() as client:
        with pytest.raises(GatewayError, match="not_found"):
            await anext(client.turn(question()))


@pytest.mark.parametrize("name", ["pipes", "http"])
@journey
async def test_a_cancelled_call_is_cancelled_at_the_gateway(tmp_path: Path, name: str) -> None:
    way = Way(name, tmp_path, "\n[gateway.limits]\nmax_in_flight = 2\n")
    way.den.write_script([{"role": "any", "respond": {"text": "ok"}, "delay_ms": LATE_MS}])
    asked = ProviderTestParams(name="scripted")
    async with way.client() as client:
        first = asyncio.create_task(client.call(m.PROVIDER_TEST, asked))
        while not way.den.record.exists():
            await is_overloaded(client)
        first.cancel()
        with pytest.raises(asyncio.CancelledError):
            await first
        second = asyncio.create_task(client.call(m.PROVIDER_TEST, asked))
        while await is_overloaded(client):  # for ten minutes, if the gateway had not heard of both ends
            pass
        second.cancel()
        with pytest.raises(TimeoutError):
            await client.call(m.PROVIDER_TEST, asked, timeout=0.2)


async def is_overloaded(client: Client) -> bool:
    """Whether there is no room for one more request; over pipes it would wait instead."""
    try:
        await client.call(m.PING, Empty())
    except GatewayError as error:
        assert error.reason == "overloaded"
        return True
    return False


@journey
async def test_after_a_kill_there_is_a_new_process_and_the_interrupted_turn_is_named(way: Way) -> None:
    way.den.write_script([{"role": "main", "respond": {"text": "ok"}, "delay_ms": LATE_MS}])
    async with way.client() as client:
        await client.call(m.THREAD_START, ThreadStartParams(thread_id="thr_1"))
        died, restarted = once(client, "died"), once(client, "restarted")
        turn = client.turn(question(turn_id="trn_1"))
        assert (await anext(turn)).method == "turn/started"
        open_call = asyncio.create_task(client.call(m.PROVIDER_TEST, ProviderTestParams(name="scripted")))
        await client.call(m.STATUS, Empty())
        before = client.pid
        await way.kill(client)
        with pytest.raises(GatewayDied):
            await open_call
        with pytest.raises(GatewayDied):
            async for _ in turn:
                pass
        assert await died
        told = await restarted
        assert isinstance(told, Restarted)
        assert [(one.thread_id, one.turn_id) for one in told.interrupted_turns] == [("thr_1", "trn_1")]
        assert client.pid is None or client.pid != before
        way.den.write_script([{"role": "main", "respond": {"text": "Without."}}])
        assert [notice.method async for notice in client.turn(question())][-1] == "turn/completed"


@journey
async def test_a_read_that_a_crash_left_unanswered_is_asked_again(tmp_path: Path) -> None:
    way = Way("pipes", tmp_path)
    async with way.client() as client:
        await client.call(m.MEMORY_REMEMBER, RememberParams(content="The boat is called Tern."))
        assert client.pid is not None
        os.kill(client.pid, signal.SIGSTOP)  # so that neither is answered before it is killed
        read = asyncio.create_task(client.call(m.MEMORY_SEARCH, SearchParams(query="boat")))
        write = asyncio.create_task(client.call(m.MEMORY_REMEMBER, RememberParams(content="The boat is blue.")))
        await asyncio.sleep(0)  # both are sent
        await way.kill(client)
        with pytest.raises(GatewayDied):
            await write
        assert [hit.record.content for hit in (await read).hits] == ["The boat is called Tern."]


@journey
async def test_without_restart_the_end_is_the_end(tmp_path: Path) -> None:
    den = HttpDen(tmp_path)
    async with await Client.start(console_script(), den.home, restart=False) as client:
        died = once(client, "died")
        assert client.pid is not None
        os.kill(client.pid, signal.SIGKILL)
        assert "-9" in await died
        with pytest.raises(GatewayDied, match="-9"):
            await client.call(m.PING, Empty())


@journey
async def test_a_gateway_that_does_not_start_says_why(tmp_path: Path) -> None:
    with pytest.raises(GatewayDied, match=r"code 64: .*--nonsense"):
        await Client.start(console_script(), tmp_path, arguments=["--nonsense"])
    with pytest.raises(TypeError, match="list of words"):
        await Client.start("pioneer serve", tmp_path)
    with pytest.raises(GatewayDied, match="cannot be started"):
        await Client.start([str(tmp_path / "none")])
    with pytest.raises(ValueError, match="no http or https address"):
        await Client.connect("127.0.0.1:1", "token")
    with HttpDen(tmp_path / "den").door() as den:
        with pytest.raises(GatewayError) as refused:
            await Client.connect(f"http://127.0.0.1:{den.port}", "wrong")
        assert refused.value.reason == "unauthorized"
    with pytest.raises(GatewayDied, match="does not answer"):
        await Client.connect(f"http://127.0.0.1:{den.port}", "token")


READS_NO_MORE = """
import os, signal, sys
signal.signal(signal.SIGTERM, lambda *_: sys.exit("last words"))
os.close(0)
print('{"jsonrpc": "2.0", "method": "deaf", "params": {}}', flush=True)
signal.pause()
"""


@journey
async def test_a_process_that_reads_no_more_is_heard_to_its_end() -> None:
    deaf = asyncio.Event()
    pipes = await Pipes.spawn([sys.executable, "-c", READS_NO_MORE], lambda *_: deaf.set(), env=None, cwd=None)
    await deaf.wait()
    asked = asyncio.create_task(pipes.ask("ping", Empty()))
    await asyncio.sleep(0)
    assert pipes._stdin.is_closing()  # the line was written, and could not be
    os.kill(pipes.pid, signal.SIGTERM)
    with pytest.raises(GatewayDied, match="code 1: last words"):
        await asked
    await pipes.kill()


@pytest.mark.loop("check")
@journey
async def test_lines_of_eight_megabytes(way: Way) -> None:
    async with way.client() as client:
        texts = [letter * 3_900_000 for letter in "ab"]
        items = [ImportItem(role="user", text=texts[0]), ImportItem(role="assistant", text=texts[1])]
        sent = ThreadImportParams(
            workspace_id="ws_here",
            thread_id="thr_1",
            source=ImportSource(kind="chat", id="1"),
            turns=[ImportTurn(at=1, items=items)],
        )
        assert (await client.call(m.THREAD_IMPORT, sent)).imported == 1
        history = await client.call(m.THREAD_HISTORY, ThreadHistoryParams(thread_id="thr_1"))
        assert len(msgspec.json.encode(history)) > 7_800_000


@pytest.mark.loop("check")
@pytest.mark.parametrize("name", ["pipes", "http"])
def test_the_same_without_asyncio(tmp_path: Path, name: str) -> None:
    way = Way(name, tmp_path)
    way.den.write_script([{"role": "main", "respond": {"text": "Without."}, "stream_chunks": 2}])
    told = threading.Event()
    with Sync(way.open()) as client:
        if name == "http":
            client.call(m.WORKSPACE_CREATE, WorkspaceCreateParams(workspace_id="ws_here"))
        problems: list[BaseException] = []

        def hear(_changed: MemoryChanged) -> None:
            try:
                client.call(m.PING, Empty())
            except RuntimeError as error:
                problems.append(error)
            told.set()

        client.on("memory/changed", hear)
        client.call(m.MEMORY_REMEMBER, RememberParams(content="The boat is called Tern."))
        assert told.wait(JOURNEY_SECONDS)
        assert "must not call" in str(problems)
        client.call(m.THREAD_START, ThreadStartParams(thread_id="thr_1"))
        methods = [notice.method for notice in client.turn(question())]
        assert methods[-1] == "turn/completed"
        assert methods.count("item/agent_message/delta") == 2
        with pytest.raises(GatewayError, match="not_found"):
            client.call(m.THREAD_GET, ThreadParams(thread_id="thr_none"))
    with pytest.raises(GatewayDied):
        client.call(m.PING, Empty())
    if way._door is not None:
        way._end_door(signal.SIGTERM)


# -- as it is installed ----------------------------------------------------------------------------------------------


def make_environment(folder: Path) -> Path:
    """An environment with msgspec and the client, and nothing else; its Python."""
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", "--symlinks", str(folder)], check=True)
    (packages,) = folder.glob("lib/python*/site-packages")
    shutil.copytree(Path(msgspec.__file__).parent, packages / "msgspec")
    shutil.copytree(
        PACKAGE / "pioneer_client", packages / "pioneer_client", ignore=shutil.ignore_patterns("__pycache__")
    )
    return folder / "bin" / "python"


@pytest.mark.loop("campaign")
def test_http_statement_35_strict_types_with_msgspec_alone(tmp_path: Path) -> None:
    checker = Path(sys.executable).with_name("basedpyright")
    if not checker.exists():
        pytest.skip("basedpyright is not installed here")
    python = make_environment(tmp_path / "env")
    project = tmp_path / "project"
    shutil.copytree(PACKAGE / "pioneer_client", project / "pioneer_client")
    for number, example in enumerate(EXAMPLES):
        (project / f"example_{number}.py").write_text(example.values[0], encoding="utf-8")
    (project / "bare.py").write_text("import anyio\n", encoding="utf-8")
    config = '{"typeCheckingMode": "strict", "pythonVersion": "3.11", "reportUnusedImport": false}'
    (project / "pyrightconfig.json").write_text(config, encoding="utf-8")
    ended = subprocess.run(
        [str(checker), "--project", str(project), "--pythonpath", str(python)],
        capture_output=True,
        text=True,
        timeout=JOURNEY_SECONDS,
        check=False,
    )
    assert '"anyio" could not be resolved' in ended.stdout  # the environment is as bare as it should be
    assert "1 error, 0 warnings" in ended.stdout


@pytest.mark.loop("check")
@pytest.mark.parametrize("code", EXAMPLES)
def test_http_statement_35_the_examples_run(tmp_path: Path, code: str) -> None:
    python = make_environment(tmp_path / "env")
    path = f"{Path(console_script()[0]).parent}{os.pathsep}{os.environ['PATH']}"
    with HttpDen(tmp_path / "den").door() as den:
        told = {"PIONEER_URL": f"http://127.0.0.1:{den.port}", "PIONEER_TOKEN": den.token()}
        ended = subprocess.run(
            [str(python), "-W", "error", "-c", code],
            cwd=tmp_path,
            env=clean_environment(PATH=path, **told),
            capture_output=True,
            text=True,
            timeout=JOURNEY_SECONDS,
            check=False,
        )
    assert ended.returncode == 0, ended.stderr
    assert ended.stderr == ""
    assert ended.stdout


@pytest.mark.parametrize("name", ["pipes", "http"])
@journey
async def test_a_call_that_is_too_long_is_refused_and_the_next_one_is_answered(tmp_path: Path, name: str) -> None:
    async with Way(name, tmp_path, "[gateway.limits]\nmax_message_bytes = 65536\n").client() as client:
        long = asyncio.ensure_future(client.call(m.MEMORY_SEARCH, SearchParams(query="x" * 100_000)))
        assert (await client.call(m.MEMORY_SEARCH, SearchParams(query="boat"))).hits == []
        with pytest.raises(GatewayError) as refused:
            await long
        assert refused.value.reason in {"message_too_large", "too_large", "invalid_params"}
