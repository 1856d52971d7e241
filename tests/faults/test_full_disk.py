"""A disk that is full, read-only or gone: writes say why, reads go on, forgetting works, and it mends without a
restart."""

import asyncio
import contextlib
import errno
import os
import shutil
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from fault_vfs import CODES, Fault, FaultVFS, Kind, faulty
from fresh import fresh_database
from memory_home import HERE, MemoryHome
from proxy_stage import Program, ProxyDen, fake_model, kept, said
from spawned import Den, every, hello, journey, refusal, remember, take_turn
from timed_den import DAY, TimedDen

from gateway.store.database import Database
from gateway.store.reserved_space import RESERVED_BYTES, ReservedSpace
from gateway.wire.client import CallFailed, GatewayClient, console_script
from protocol.errors import GatewayError, Unavailable
from protocol.memory.forgetting import ForgetById, ForgetParams

FULL: list[Kind] = ["full", "quota", "too_large"]


class Room(ReservedSpace):
    """A ballast on a disk that is full but for it."""

    def __init__(self, path: Path, vfs: FaultVFS, kind: Kind) -> None:
        super().__init__(path, 4096)
        self._vfs = vfs
        self._kind: Kind = kind
        self.is_full = False

    def fill(self) -> None:
        self.is_full = True
        self._vfs.arm(Fault(1, self._kind, is_lasting=True))

    def release(self) -> bool:
        self._vfs.heal()
        return super().release()

    def keep(self) -> None:
        if self.is_full:
            raise OSError(CODES[self._kind], "injected")
        super().keep()


class Place:
    """A home on a disk that can fill up, and what is told about it."""

    def __init__(self, folder: Path, vfs: FaultVFS, kind: Kind) -> None:
        self.home = MemoryHome(folder, vfs=vfs.name)
        self.room = Room(folder / "ballast", vfs, kind)
        self.home.db._ballast = self.room
        self.told: list[str | None] = []
        self.home.db.troubles.connect(self.told.append)
        self.home.do(self.home.db.mend())

    def look_again(self) -> None:
        self.home.db._probe_at = 0.0
        self.home.do(self.home.db.mend())

    def refusal(self, content: str) -> str:
        with pytest.raises(Unavailable) as caught:
            self.home.remember(content)
        return caught.value.reason


@pytest.fixture
def vfs(request: pytest.FixtureRequest) -> Iterator[FaultVFS]:
    with faulty(f"disk-{request.node.name}") as made:
        yield made


@contextlib.contextmanager
def place(folder: Path, vfs: FaultVFS, kind: Kind) -> Iterator[Place]:
    made = Place(folder, vfs, kind)
    try:
        yield made
    finally:
        vfs.heal()
        made.home.close()


@pytest.mark.parametrize("mode", ["tombstone", "erase"])
@pytest.mark.parametrize("kind", FULL)
def test_a_full_disk_refuses_writes_and_lets_forget(kind: Kind, mode: Any, vfs: FaultVFS, tmp_path: Path) -> None:
    with place(tmp_path, vfs, kind) as it:
        home = it.home
        ids = [
            home.remember(f"The {word} hangs in the hall.").record.memory_id
            for word in ("mirror", "lantern", "portrait")
        ]
        assert it.room.is_kept
        it.room.fill()
        assert it.refusal("The ladder hangs in the hall.") == "storage_full"
        assert it.refusal("The ladder hangs in the hall.") == "storage_full"
        assert it.told == ["storage_full"]
        assert "The mirror hangs in the hall." in home.found("mirror")
        for memory_id in ids[:2]:
            forgotten = home.do(
                home.service.forget(ForgetParams(target=ForgetById(memory_id=memory_id), context=HERE, mode=mode))
            )
            assert forgotten.forgotten_memory_ids == [memory_id]
        assert not it.room.is_kept
        assert [home.get(memory_id) is None for memory_id in ids] == [True, True, False]
        assert "The mirror hangs in the hall." not in home.found("mirror")
        assert it.refusal("A doormat.") == "storage_full"  # the room that is left is for forgetting
        it.look_again()
        assert it.told == ["storage_full"]
        it.room.is_full = False
        it.look_again()
        assert it.told == ["storage_full", None]
        assert it.room.is_kept
        assert home.remember("The ladder hangs in the hall.").created


@pytest.mark.parametrize(
    ("kind", "reason", "trouble"),
    [("read_only", "storage_read_only", "storage_read_only"), ("io", "unavailable", "io_error")],
)
def test_a_disk_that_takes_nothing_is_told_and_mends(
    kind: Kind, reason: str, trouble: str, vfs: FaultVFS, tmp_path: Path
) -> None:
    with place(tmp_path, vfs, kind) as it:
        kept = it.home.remember("The mirror hangs in the hall.").record.memory_id
        vfs.arm(Fault(1, kind, is_lasting=True))
        assert it.refusal("The ladder hangs in the hall.") == reason
        if kind == "read_only":
            assert it.home.get(kept) is not None
        it.look_again()
        assert it.told == [trouble]
        assert it.room.is_kept  # it would not help
        vfs.heal()
        it.look_again()
        assert it.told == [trouble, None]
        assert it.home.found("mirror")
        assert it.home.remember("The ladder hangs in the hall.").created


def test_a_disk_without_room_for_the_ballast_counts_as_full(vfs: FaultVFS, tmp_path: Path) -> None:
    with place(tmp_path, vfs, "full") as it:
        (tmp_path / "ballast").unlink()
        it.room.is_full = True
        it.look_again()
        assert it.told == ["storage_full"]
        assert it.home.remember("A small thing still fits.").created


@pytest.mark.skipif(sys.platform == "win32", reason="Windows keeps an open file where it is")
@pytest.mark.parametrize("name", ["gateway.db", "gateway.db-wal"])
def test_a_file_that_vanished_is_told_and_not_made_anew(name: str, vfs: FaultVFS, tmp_path: Path) -> None:
    with place(tmp_path, vfs, "io") as it:
        it.home.remember("The mirror hangs in the hall.")
        shutil.move(tmp_path / name, tmp_path / "moved")
        assert it.refusal("The ladder hangs in the hall.") == "unavailable"
        assert it.told == ["database_moved"]
        assert it.home.found("mirror")
        it.home.db._file.let_go()  # who reads now must open the file again, which is refused before the disk is asked
        vfs.arm(Fault(1, "io"))
        for _ in range(4):
            with pytest.raises(GatewayError, match="moved or deleted"):
                it.home.found("mirror")
        assert vfs.struck == 0
        vfs.arm(None)
        assert not (tmp_path / "gateway.db").exists() or name != "gateway.db"
        it.look_again()
        assert it.told[-1] is not None
        shutil.move(tmp_path / "moved", tmp_path / name)
        it.look_again()
        assert it.told[-1] is None
        assert it.home.found("mirror")
        assert it.home.remember("The ladder hangs in the hall.").created


def test_a_store_that_cannot_be_opened_says_so_and_leaves_no_thread(vfs: FaultVFS, tmp_path: Path) -> None:
    path = fresh_database(tmp_path)
    at = 0
    while True:
        at += 1
        vfs.arm(Fault(at))
        before = threading.active_count()
        try:
            db = Database(path, vfs=vfs.name)
        except Unavailable:
            assert threading.active_count() == before
            continue
        finally:
            vfs.heal()
        if not vfs.struck:
            break
        db.close()
    db.close()
    assert at > 20
    asyncio.run(reads(path))


async def reads(path: Path) -> None:
    db = Database(path)
    assert await db.read(lambda tx: tx.one("PRAGMA integrity_check")) == ("ok",)
    db.close()


# -- the ballast -----------------------------------------------------------------------------------------------------


def test_the_ballast_is_as_large_as_it_says_and_is_made_anew(tmp_path: Path) -> None:
    ballast = ReservedSpace(tmp_path / "ballast")
    assert not ballast.is_kept
    assert not ballast.release()
    for _ in range(2):
        ballast.keep()
        assert ballast.is_kept
    assert [(path.name, path.stat().st_size) for path in tmp_path.iterdir()] == [("ballast", RESERVED_BYTES)]
    assert ballast.release()
    assert list(tmp_path.iterdir()) == []


def test_a_ballast_that_does_not_fit_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(_descriptor: int) -> None:
        raise OSError(errno.ENOSPC, "injected")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="injected"):
        ReservedSpace(tmp_path / "ballast").keep()
    assert list(tmp_path.iterdir()) == []


# -- a real disk, very small -----------------------------------------------------------------------------------------

MOUNT = 'mount -t tmpfs -o size=16m none "$1" && shift && exec "$@"'


def may_mount(folder: Path) -> bool:
    if shutil.which("unshare") is None:
        return False
    tried = subprocess.run(
        ["unshare", "-rm", "sh", "-c", MOUNT, "sh", str(folder), "true"], check=False, capture_output=True, timeout=240
    )
    return tried.returncode == 0


async def told(client: GatewayClient, method: str, component: str) -> None:
    await client.wait_for(method, lambda params: params["component"] == component)


@journey
async def test_a_gateway_on_a_full_disk_forgets_and_mends(tmp_path: Path) -> None:
    den = Den(tmp_path, scripted=True)
    den.write_script([{"role": "main", "respond": {"text": "Ada."}}])
    den.home.mkdir()
    if not may_mount(den.home):
        pytest.skip("nobody may mount a small disk here")
    command = ["unshare", "-rm", "sh", "-c", MOUNT, "sh", str(den.home), *den.command()]
    async with await GatewayClient.start(command) as client:
        await hello(client)
        disk = Path(f"/proc/{client.pid}/root{den.home}")  # the disk as that process sees it
        ids = [await remember(client, f"The lighthouse keeper number {n} is called Ada.") for n in range(3)]
        await client.request("thread/start", {"thread_id": "thr_old", "workspace_id": "ws_here"})
        while not (disk / "ballast").exists():
            await client.request("ping")
        filler = fill(disk / "filler")
        with pytest.raises(CallFailed) as caught:
            await keep_remembering(client)
        assert (caught.value.reason, caught.value.code) == ("storage_full", -32046)
        await told(client, "gateway/degraded", "storage")
        status = await client.request("gateway/status")
        assert ("storage", "storage_full") in {(entry["component"], entry["reason"]) for entry in status["degraded"]}
        assert (await client.request("memory/search", {"query": "lighthouse keeper"}))["hits"]
        for memory_id, mode in zip(ids[:2], ("tombstone", "erase"), strict=True):
            asked = {"target": {"kind": "id", "memory_id": memory_id}, "mode": mode}
            assert (await client.request("memory/forget", asked))["forgotten_memory_ids"] == [memory_id]
        more = fill(disk / "more")  # the reserved room is free now: with that of the log the disk would soon do again
        assert not (disk / "ballast").exists()
        for memory_id in ids[:2]:
            assert (await client.request("memory/get", {"memory_id": memory_id}))["record"] is None
        new = {"thread_id": "thr_new", "workspace_id": "ws_unseen"}
        assert (await refusal(client, "thread/start", new)).reason == "not_found"
        new = {"thread_id": "thr_new", "workspace_id": "ws_here"}
        assert (await client.request("thread/start", new))["thread"]["not_stored"] == "storage_full"
        for thread_id in ("thr_old", "thr_new"):
            turn = await take_turn(client, thread_id, "How is the lighthouse keeper called?", f"full_{thread_id}")
            assert (turn["status"], turn["not_stored"]) == ("completed", "storage_full"), turn
            assert turn["prompt_manifest"]["recall"]["memory_ids"] == ids[2:]
        more.unlink()
        filler.unlink()
        await told(client, "gateway/recovered", "storage")
        turn = await take_turn(client, "thr_new", "How is the lighthouse keeper called?", "kept")
        assert (turn["status"], turn["not_stored"]) == ("completed", None)
        for thread_id, items in (("thr_new", 2), ("thr_old", 0)):
            thread = (await client.request("thread/get", {"thread_id": thread_id}))["thread"]
            assert (thread["not_stored"], thread["turn_count"]) == (None, items // 2)
            assert len((await client.request("thread/history", {"thread_id": thread_id}))["items"]) == items
        assert await remember(client, "The ladder hangs in the hall.")
        assert (disk / "ballast").stat().st_size == RESERVED_BYTES
        status = await client.request("gateway/status")
        assert "storage" not in {entry["component"] for entry in status["degraded"]}


@journey
async def test_21_a_full_disk_pauses_passes_which_go_on_when_there_is_room(tmp_path: Path) -> None:
    den, notes = TimedDen(tmp_path), 5
    den.home.mkdir()
    if not may_mount(den.home):
        pytest.skip("nobody may mount a small disk here")
    command = ["unshare", "-rm", "sh", "-c", MOUNT, "sh", str(den.home), *den.command()]
    async with await GatewayClient.start(command) as client:
        await hello(client)
        disk = Path(f"/proc/{client.pid}/root{den.home}")
        mine = await remember(client, "My locker has the number 4711.", importance=0.05)
        noted = {"agent_id": "agt_pilot", "agent_kind": "system", "importance": 0.05}
        for n in range(notes):
            await client.request("memory/note", {**noted, "content": f"The relay {n} clicks twice."})
        await client.request("gateway/drain", {"timeout_ms": 30_000})
        while not (disk / "ballast").exists():
            await client.request("ping")
        filler = fill(disk / "filler")
        with pytest.raises(CallFailed):
            await keep_remembering(client)
        await told(client, "gateway/degraded", "storage")
        den.forward(8 * DAY)
        assert (await refusal(client, "passes/run", {"pass": "consolidate"})).reason == "storage_full"
        assert (await every(client, "passes/runs", "runs")) == []
        assert len(await every(client, "memory/list", "records", voices=["machine"])) == notes
        filler.unlink()
        await told(client, "gateway/recovered", "storage")
        await client.request("gateway/drain", {"timeout_ms": 30_000})
        (run,) = await every(client, "passes/runs", "runs")
        assert (run["state"], run["trigger"], run["changes"]) == ("completed", "catch_up", notes)
        records = await every(client, "memory/list", "records", voices=["user"])
        assert mine in {record["memory_id"] for record in records}


STORY = """
import subprocess, sys
from pathlib import Path
home, tests, *command = sys.argv[1:]
sys.path.insert(0, tests)
from test_full_disk import fill
def run(*words):
    return subprocess.run([*command, *words, "--home", home], capture_output=True, text=True, stdin=subprocess.DEVNULL)
kept = run("remember", "The lighthouse keeper is called Ada.", "--key", "keeper")
with subprocess.Popen([*command, "serve", "--home", home], stdin=subprocess.PIPE, stdout=subprocess.DEVNULL) as gateway:
    while not (Path(home) / "ballast").exists():
        gateway.poll()
    gateway.stdin.close()
filler = fill(Path(home) / "filler")
shown = run("search", "lighthouse keeper")
gone = run("forget", "--key", "keeper", "--yes")
after = run("search", "lighthouse keeper")
fill(Path(home) / "more")
none = run("list")
print([done.returncode for done in (kept, shown, gone, after, none)])
for done in (kept, shown, gone, after, none):
    print(done.stdout, done.stderr)
"""


def test_a_full_disk_is_opened_searched_and_made_to_forget(tmp_path: Path) -> None:
    home = tmp_path / "home"
    home.mkdir()
    if not may_mount(home):
        pytest.skip("nobody may mount a small disk here")
    command = ["unshare", "-rm", "sh", "-c", MOUNT, "sh", str(home), sys.executable, "-c", STORY, str(home)]
    path = os.pathsep.join(sys.path)
    done = subprocess.run(
        [*command, str(Path(__file__).parent), *console_script()],
        check=False,
        capture_output=True,
        text=True,
        timeout=240,
        env={**os.environ, "PYTHONPATH": path},
    )
    assert done.stdout.startswith("[0, 0, 0, 1, 73]"), done.stdout + done.stderr


SCARCE_BYTES = 3_500_000


def fill_but_some(path: Path) -> Path:
    """Take the disk but for `SCARCE_BYTES`."""
    disk = os.statvfs(path.parent)
    path.write_bytes(b"x" * (disk.f_bavail * disk.f_frsize - SCARCE_BYTES))
    return path


def write_notes(folder: Path) -> Path:
    """Notes whose index takes more than `SCARCE_BYTES`."""
    folder.mkdir()
    for n in range(400):
        words = " ".join(f"w{n}x{m}" for m in range(300))
        (folder / f"n{n}.md").write_text(f"# Note {n}\n\nflimflam{n} {words}\n", encoding="utf-8")
    return folder


@journey
async def test_a_collection_that_filled_the_disk_is_removed(tmp_path: Path) -> None:
    den, folder = Den(tmp_path / "den"), write_notes(tmp_path / "notes")
    den.home.mkdir(parents=True)
    if not may_mount(den.home):
        pytest.skip("nobody may mount a small disk here")
    command = ["unshare", "-rm", "sh", "-c", MOUNT, "sh", str(den.home), *den.command()]
    async with await GatewayClient.start(command) as client:
        await hello(client)
        disk = Path(f"/proc/{client.pid}/root{den.home}")
        while not (disk / "ballast").exists():
            await client.request("ping")
        filler = fill_but_some(disk / "filler")
        await client.request("knowledge/collections/add", {"path": str(folder), "collection_id": "notes"})
        await told(client, "gateway/degraded", "storage")
        assert b"flimflam" in (disk / "gateway.db-wal").read_bytes()
        removed = await client.request("knowledge/collections/remove", {"collection_id": "notes"})
        assert removed["receipt"]["complete"]
        assert removed["receipt"]["files"] > 0
        for path in disk.glob("gateway.db*"):
            assert b"flimflam" not in path.read_bytes(), path
        filler.unlink()
        await told(client, "gateway/recovered", "storage")
        assert (await client.request("knowledge/collections/list"))["collections"] == []
        assert await remember(client, "The ladder hangs in the hall.")


NOTES_STORY = """
import subprocess, sys
from pathlib import Path
home, tests, notes, *command = sys.argv[1:]
sys.path.insert(0, tests)
from test_full_disk import fill_but_some
def run(*words):
    return subprocess.run([*command, *words, "--home", home], capture_output=True, text=True, stdin=subprocess.DEVNULL)
with subprocess.Popen([*command, "serve", "--home", home], stdin=subprocess.PIPE, stdout=subprocess.DEVNULL) as gateway:
    while not (Path(home) / "ballast").exists():
        gateway.poll()
    gateway.stdin.close()
fill_but_some(Path(home) / "filler")
run("knowledge", "add", notes)
steps = [("list",), ("list",), ("remove", "notes"), ("list",)]
done = [run("knowledge", *step) for step in steps]
print([one.returncode for one in done])
for one in done:
    print(one.stdout, one.stderr)
"""


def test_a_collection_that_filled_the_disk_is_listed_and_removed_by_commands(tmp_path: Path) -> None:
    home, folder = tmp_path / "home", write_notes(tmp_path / "notes")
    home.mkdir()
    if not may_mount(home):
        pytest.skip("nobody may mount a small disk here")
    command = ["unshare", "-rm", "sh", "-c", MOUNT, "sh", str(home), sys.executable, "-c", NOTES_STORY, str(home)]
    done = subprocess.run(
        [*command, str(Path(__file__).parent), str(folder), *console_script()],
        check=False,
        capture_output=True,
        text=True,
        timeout=240,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
    )
    assert done.stdout.startswith("[0, 0, 0, 1]"), done.stdout + done.stderr


async def keep_remembering(client: GatewayClient) -> None:
    for n in range(300):
        await remember(client, f"Filler number {n}: " + "x" * 4000 + str(n))


def fill(path: Path) -> Path:
    """Take every byte that is left."""
    with path.open("wb", buffering=0) as file:
        with contextlib.suppress(OSError):
            while True:
                file.write(b"x" * 65536)
        with contextlib.suppress(OSError):
            while True:
                file.write(b"x" * 512)
    return path


class FullDen(ProxyDen):
    """A den whose proxy lives on a small disk of its own."""

    def proxy_command(self, *more: str) -> list[str]:
        return ["unshare", "-rm", "sh", "-c", MOUNT, "sh", str(self.home), *super().proxy_command(*more)]

    def on_its_disk(self, *command: str) -> list[str]:
        """A command that sees the proxy's disk."""
        return ["nsenter", f"--target={self.process.pid}", "--user", "--mount", "--preserve-credentials", *command]

    @property
    def disk(self) -> Path:
        """The home as the proxy sees it."""
        return Path(f"/proc/{self.process.pid}/root{self.home}")

    @property
    def token(self) -> str:
        return (self.disk / "http" / "proxy_token").read_text(encoding="utf-8").strip()


@journey
async def test_proxy_statement_17_a_full_disk_costs_memory_only(tmp_path: Path) -> None:
    async with fake_model() as model:
        den = FullDen(tmp_path, config=model.config())
        den.home.mkdir()
        if not may_mount(den.home):
            pytest.skip("nobody may mount a small disk here")
        async with den.proxy():
            program = Program(den)
            assert (await program.ask("Is there room?")).status == 200
            filler = fill(den.disk / "filler")
            asked = [f"Question {number}, and no more." for number in range(6)]
            for question in asked:
                came = await program.ask(question)
                assert (came.status, came.is_whole) == (200, True)
                assert came.body == b"".join(said("chat", f"Answer {len(model.seen)}."))
            assert await den.health() == "degraded"
            log = (den.disk / "logs" / "gateway.log").read_text(encoding="utf-8")
            assert log.count('"memory_missed"') + log.count('"spool_failed"') <= 1
            filler.unlink()
            await den.wait_for_health("ok")
            assert (await program.ask("Is there room again?")).status == 200
            async with await GatewayClient.start(den.on_its_disk(*den.command())) as client:
                await hello(client)
                (texts,) = await kept(client, len(model.seen))
                assert [text for text in texts if text in asked] == asked


@pytest.mark.parametrize("while_at_work", ["main", "extractor"])
@journey
async def test_a_turn_on_a_disk_that_fills_up_ends_for_its_client(tmp_path: Path, while_at_work: str) -> None:
    den = Den(tmp_path, scripted=True)
    den.home.mkdir()
    if not may_mount(den.home):
        pytest.skip("nobody may mount a small disk here")
    answers = {"extractor": {"json": {"facts": []}}, "main": {"text": "Ada."}}
    den.write_script([{"role": role, "respond": answer} for role, answer in answers.items()])
    command = ["unshare", "-rm", "sh", "-c", MOUNT, "sh", str(den.home), *den.command()]
    async with await GatewayClient.start(command) as client:
        await hello(client)
        disk = Path(f"/proc/{client.pid}/root{den.home}")
        await client.request("thread/start", {"thread_id": "thr_a", "workspace_id": "ws_here"})
        while not (disk / "ballast").exists():
            await client.request("ping")
        held = [{"role": while_at_work, "times": 1, "delay_ms": 10_000, "respond": answers[while_at_work]}]
        den.write_script([*held, *({"role": role, "respond": answer} for role, answer in answers.items())])
        said = [{"type": "text", "text": "Remember that I live in Graz."}]
        ended = "turn/completed" if while_at_work == "extractor" else "turn/failed"
        await client.request("turn/start", {"thread_id": "thr_a", "turn_id": "trn_a", "input": said})
        await client.wait_for("turn/started" if while_at_work == "main" else ended)
        filler = fill(disk / "filler")
        with pytest.raises(CallFailed):
            await keep_remembering(client)
        seq = (await client.wait_for(ended))["seq"]
        notice = await client.wait_for("turn/post_completed")
        assert (notice["turn_id"], notice["seq"]) == ("trn_a", seq + 1)
        assert [run["status"] for run in notice["hook_runs"]] in ([], ["queued"], ["running"])
        assert bool(notice["hook_runs"]) is (while_at_work == "extractor")
        filler.unlink()
        await told(client, "gateway/recovered", "storage")
        await client.request("gateway/drain", {"timeout_ms": 60_000})
        (run,) = (await client.request("hooks/runs", {"turn_id": "trn_a", "phase": "TurnPostTurn"}))["runs"]
        kept = [one["content"] for one in await every(client, "memory/list", "records")]
        is_learnt = while_at_work == "extractor"  # of a turn that failed nothing is
        assert (run["status"], kept) == (("succeeded", ["I live in Graz"]) if is_learnt else ("skipped", []))
        await take_turn(client, "thr_a", "How are you?", "trn_b")
        notices = [params for method, params in client.received if method == "turn/post_completed"]
        assert [one["turn_id"] for one in notices] == ["trn_a", "trn_b"]
