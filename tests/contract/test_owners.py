"""Who lives in a home: a life is a lock, and its end is known at once."""

import os
import subprocess
import sys
import textwrap
import threading
from collections.abc import Awaitable, Callable
from importlib.resources import files
from pathlib import Path

import pytest
import small_store
from filelock import FileLock

from gateway.base.clock import SystemClock
from gateway.base.ids import SortableIds
from gateway.home.owners import COARSEST_NS, FINE_NS, SECOND_NS, Owners, is_free
from gateway.store.database import Database
from gateway.store.sqlite import connect
from protocol.seams.ports import Tx


def make(run: Path) -> Owners:
    clock = SystemClock()
    return Owners(run, SortableIds(clock), clock)


def of_a_home(path: Path) -> Database:
    connection = connect(path, synchronous="full")
    for _ in connection.execute(files("gateway").joinpath("schema.sql").read_text(encoding="utf-8")):
        pass
    connection.close()
    return Database(path)


def play(scene: Callable[[Database], Awaitable[None]], tmp_path: Path) -> None:
    small_store.play(scene, tmp_path, of_a_home)


def locks(run: Path) -> list[Path]:
    return list(run.glob("*.lock"))


def test_a_life_is_a_lock(tmp_path: Path) -> None:
    one, other = make(tmp_path), make(tmp_path)
    assert one.owner != other.owner
    for _ in range(3):  # looking does not take the lock away
        assert not other.is_dead(one.owner)
        assert not one.is_dead(other.owner)
        assert not one.is_dead(one.owner)
    one.release()
    assert other.is_dead(one.owner)
    assert not (tmp_path / f"{one.owner}.lock").exists()
    other.release()
    assert list(tmp_path.iterdir()) == []


def test_to_release_twice_does_nothing(tmp_path: Path) -> None:
    owners = make(tmp_path)
    owners.release()
    owners.release()


def test_one_who_never_lived_is_dead(tmp_path: Path) -> None:
    owners = make(tmp_path)
    assert owners.is_dead("own_nobody")
    assert not (tmp_path / "own_nobody.lock").exists()
    owners.release()


def test_a_file_without_a_lock_is_a_dead_one_s(tmp_path: Path) -> None:
    owners = make(tmp_path)
    (tmp_path / "own_before.lock").touch()
    assert owners.is_dead("own_before")
    with FileLock(tmp_path / "own_before.lock"):
        assert not owners.is_dead("own_before")
    assert owners.is_dead("own_before")
    owners.release()


def test_the_book_of_the_home(tmp_path: Path) -> None:
    async def scene(db: Database) -> None:
        one, other, third = (make(tmp_path) for _ in range(3))
        for owners in (one, other, third):
            await owners.enter(db)
        assert set(await db.read(one.others)) == {other.owner, third.owner}
        assert set(await db.read(other.others)) == {one.owner, third.owner}
        await third.leave(db)
        assert await db.read(one.others) == [other.owner]
        other.release()  # ended without a word
        assert await db.read(one.others) == [other.owner]
        (tmp_path / f"{other.owner}.lock").touch()
        await db.write(lambda tx: one.remove_dead(tx, other.owner))
        assert await db.read(one.others) == []
        assert [path.name for path in locks(tmp_path)] == [f"{one.owner}.lock"]
        one.release()

    play(scene, tmp_path)


def test_a_burial_that_is_rolled_back_leaves_the_file(tmp_path: Path) -> None:
    async def scene(db: Database) -> None:
        one = make(tmp_path)
        (tmp_path / "own_x.lock").touch()

        def work(tx: Tx) -> None:
            one.remove_dead(tx, "own_x")
            raise ValueError

        with pytest.raises(ValueError, match=r"^$"):
            await db.write(work)
        assert (tmp_path / "own_x.lock").exists()
        one.release()

    play(scene, tmp_path)


LIVE = """
    import sys
    from pathlib import Path
    from gateway.base.clock import SystemClock
    from gateway.base.ids import SortableIds
    from gateway.home.owners import Owners
    clock = SystemClock()
    owners = Owners(Path(sys.argv[1]), SortableIds(clock), clock)
    print(owners.owner, flush=True)
    sys.stdin.read()
"""


@pytest.mark.parametrize("how", ["killed", "ended"])
def test_a_process_is_dead_as_soon_as_it_ended(how: str, tmp_path: Path) -> None:
    owners = make(tmp_path)
    process = subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(LIVE), str(tmp_path)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    other = process.stdout.readline().strip()
    assert not owners.is_dead(other)
    if how == "killed":
        process.kill()
    process.communicate(timeout=240)
    assert owners.is_dead(other)
    owners.release()


def test_a_process_knows_since_when_it_is_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def pass_by(nanoseconds: int) -> None:
        """Let so much time be over since the folder's last change."""
        now = tmp_path.stat().st_mtime_ns + nanoseconds
        monkeypatch.setattr("gateway.home.owners.time.time_ns", lambda: now)

    owners = make(tmp_path)
    os.utime(tmp_path, ns=(SECOND_NS + 1, SECOND_NS + 1))
    pass_by(FINE_NS - 1)
    assert owners.alone_since() is None, "somebody may have come in the same moment"
    pass_by(FINE_NS)
    alone = owners.alone_since()
    assert alone is not None
    assert owners.alone_since() == alone
    other = make(tmp_path)
    pass_by(0)
    assert owners.alone_since() is None
    pass_by(FINE_NS)
    assert owners.alone_since() is None, "it has been here for a while"
    other.release()
    pass_by(0)
    assert owners.alone_since() is None
    pass_by(FINE_NS)
    assert owners.alone_since() not in {None, alone}, "somebody was here"
    os.utime(tmp_path, ns=(5 * SECOND_NS, 5 * SECOND_NS))
    pass_by(COARSEST_NS - 1)
    assert owners.alone_since() is None, "a file system that counts whole seconds tells less"
    pass_by(COARSEST_NS)
    assert owners.alone_since() == 5 * SECOND_NS
    owners.release()


class KnownId:
    """Ids of which the next one is known."""

    def new(self, prefix: str) -> str:
        return f"{prefix}_known"


def test_a_process_begins_though_another_looks_at_its_lock_at_that_moment(tmp_path: Path) -> None:
    look = FileLock(tmp_path / "own_known.lock", thread_local=False)
    look.acquire()
    end = threading.Timer(0.2, look.release)
    end.start()
    owners = Owners(tmp_path, KnownId(), SystemClock())
    end.join()
    assert not is_free(tmp_path / "own_known.lock")
    owners.release()
    assert is_free(tmp_path / "own_known.lock")
