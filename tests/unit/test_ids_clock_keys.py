"""Identifiers, clocks, the home's key, and the files that are published whole."""

import re
import subprocess
import sys
import threading
from pathlib import Path

import pytest
from clock import SetClock
from hypothesis import given
from hypothesis import strategies as st

from gateway.base import durable_file
from gateway.base.clock import FileClock, SystemClock
from gateway.base.durable_file import publish, publish_once
from gateway.base.ids import SortableIds
from gateway.files.artifact_files import ArtifactFiles
from gateway.home.keys import HomeKey
from protocol.base import ID_TEXT
from protocol.errors import Unavailable

posix_only = pytest.mark.skipif(sys.platform == "win32", reason="modes are POSIX's")


# -- ids -------------------------------------------------------------------------------------------------------------


def test_an_id_has_its_prefix_and_fits_the_contract() -> None:
    made = SortableIds(SystemClock()).new("mem")
    assert re.fullmatch(r"mem_[0-9a-hjkmnp-tv-z]{22}", made)
    assert re.fullmatch(ID_TEXT, made)


@given(st.lists(st.integers(-(10**12), 10**14), min_size=1, max_size=50))
def test_ids_rise_whatever_the_clock_does(times: list[int]) -> None:
    clock = SetClock(0)
    ids = SortableIds(clock)
    made: list[str] = []
    for clock.at in times:
        made.append(ids.new("x"))
    assert made == sorted(set(made))
    assert {len(one) for one in made} == {24}


@given(st.integers(0, 10**14), st.integers(1, 10**12))
def test_ids_of_other_processes_sort_by_time(at: int, later: int) -> None:
    assert SortableIds(SetClock(at)).new("x") < SortableIds(SetClock(at + later)).new("x")


@pytest.mark.parametrize("at", [0, -5, 1_700_000_000_000])
def test_processes_that_start_at_one_moment_do_not_collide(at: int) -> None:
    assert len({SortableIds(SetClock(at)).new("x") for _ in range(1000)}) == 1000


def test_ids_of_many_threads_are_distinct() -> None:
    ids = SortableIds(SetClock(1_700_000_000_000))
    made: list[list[str]] = [[] for _ in range(4)]

    def make(into: list[str]) -> None:
        into.extend(ids.new("x") for _ in range(2000))

    threads = [threading.Thread(target=make, args=(into,)) for into in made]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len({one for into in made for one in into}) == 8000
    assert all(into == sorted(into) for into in made)


# -- clocks ----------------------------------------------------------------------------------------------------------


def test_the_system_clock_is_in_milliseconds_of_this_century() -> None:
    assert 1_600_000_000_000 < SystemClock().now() < 4_100_000_000_000
    assert SystemClock().monotonic() <= SystemClock().monotonic()


def test_a_file_clock_follows_its_file(tmp_path: Path) -> None:
    path = tmp_path / "clock"
    path.write_text("1000")
    clock = FileClock(path)
    assert clock.now() == 1000
    path.write_text(" 2500\n")
    assert clock.now() == 2500


@pytest.mark.parametrize("broken", [b"", b"soon", b"12.5", b"\xff\xfe", b"1 2", b"9" * 5000, None])
def test_a_file_clock_keeps_the_last_good_value(broken: bytes | None, tmp_path: Path) -> None:
    path = tmp_path / "clock"
    path.write_text("7000")
    clock = FileClock(path)
    if broken is None:
        path.unlink()
    else:
        path.write_bytes(broken)
    assert clock.now() == 7000
    path.write_text("8000")
    assert clock.now() == 8000


def test_a_file_clock_without_a_file_starts_from_the_machine_s(tmp_path: Path) -> None:
    before = SystemClock().now()
    assert before <= FileClock(tmp_path / "none").now() <= SystemClock().now()


def test_a_file_clock_never_stretches_a_deadline(tmp_path: Path) -> None:
    path = tmp_path / "clock"
    path.write_text("0")
    clock = FileClock(path)
    first = clock.monotonic()
    path.write_text(str(10**12))
    assert clock.monotonic() - first < 60


# -- the home's key --------------------------------------------------------------------------------------------------


def test_the_key_is_made_once_and_stays(tmp_path: Path) -> None:
    first = HomeKey.load(tmp_path)
    assert (tmp_path / "fingerprint.key").stat().st_size == 32
    assert [path.name for path in tmp_path.iterdir()] == ["fingerprint.key"]
    assert HomeKey.load(tmp_path).digest("d", "text") == first.digest("d", "text")


@posix_only
def test_the_key_is_for_its_owner_alone(tmp_path: Path) -> None:
    HomeKey.load(tmp_path)
    assert (tmp_path / "fingerprint.key").stat().st_mode & 0o077 == 0


def test_digests_of_two_homes_do_not_meet(tmp_path: Path) -> None:
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
    assert HomeKey.load(tmp_path / "a").digest("d", "x") != HomeKey.load(tmp_path / "b").digest("d", "x")


@given(st.tuples(st.text(max_size=8), st.text(max_size=8)), st.tuples(st.text(max_size=8), st.text(max_size=8)))
def test_a_digest_tells_domain_and_text_apart(one: tuple[str, str], other: tuple[str, str]) -> None:
    key = HomeKey(b"k" * 32)
    assert (key.digest(*one) == key.digest(*other)) == (one == other)
    assert len(key.digest(*one)) == 32


def test_a_digest_never_holds_its_text_and_takes_any_text() -> None:
    key = HomeKey(b"k" * 32)
    assert b"1990-05-08" not in key.digest("birthday", "1990-05-08")
    assert len(key.digest("x", "\ud800 and \x00")) == 32


@pytest.mark.parametrize("content", [b"", b"short", b"x" * 33])
def test_a_damaged_key_is_told_and_left(content: bytes, tmp_path: Path) -> None:
    path = tmp_path / "fingerprint.key"
    path.write_bytes(content)
    with pytest.raises(Unavailable) as caught:
        HomeKey.load(tmp_path)
    assert str(tmp_path) not in caught.value.message
    assert path.read_bytes() == content


def test_processes_that_start_together_agree_on_one_key(tmp_path: Path) -> None:
    code = (
        "import sys; from pathlib import Path; from gateway.home.keys import HomeKey; sys.stdin.read(1); "
        "print(HomeKey.load(Path(sys.argv[1])).digest('d', 'x').hex())"
    )
    started = [
        subprocess.Popen(
            [sys.executable, "-c", code, str(tmp_path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        for _ in range(4)
    ]
    said = [process.communicate("x")[0] for process in started]
    assert len(set(said)) == 1
    assert len(said[0].strip()) == 64


# -- published files -------------------------------------------------------------------------------------------------


def test_publish_replaces_a_file_whole_and_leaves_nothing_else(tmp_path: Path) -> None:
    path = tmp_path / "new" / "file"
    publish(path, b"one")
    publish(path, b"two")
    assert path.read_bytes() == b"two"
    assert [found.name for found in path.parent.iterdir()] == ["file"]


def test_a_failure_leaves_the_old_file_and_no_other(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "file"
    publish(path, b"old")

    def fail(_descriptor: int) -> None:
        raise OSError(28, "no space")

    monkeypatch.setattr(durable_file.os, "fsync", fail)
    with pytest.raises(OSError, match="no space"):
        publish(path, b"new")
    assert path.read_bytes() == b"old"
    assert [found.name for found in tmp_path.iterdir()] == ["file"]


def test_a_failed_first_publication_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(_descriptor: int) -> None:
        raise OSError(28, "no space")

    monkeypatch.setattr(durable_file.os, "fsync", fail)
    with pytest.raises(OSError, match="no space"):
        publish_once(tmp_path / "file", b"x")
    assert list(tmp_path.iterdir()) == []


def test_a_file_is_synced_before_it_gets_its_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    happened: list[str] = []
    fsync, replace = durable_file.os.fsync, Path.replace
    monkeypatch.setattr(durable_file.os, "fsync", lambda fd: (happened.append("sync"), fsync(fd))[1])
    monkeypatch.setattr(Path, "replace", lambda self, to: (happened.append("rename"), replace(self, to))[1])
    publish(tmp_path / "file", b"x")
    assert happened[:2] == ["sync", "rename"]
    if sys.platform != "win32":
        assert happened[2:] == ["sync"]


def test_publish_once_keeps_the_first(tmp_path: Path) -> None:
    path = tmp_path / "file"
    assert publish_once(path, b"one") == b"one"
    assert publish_once(path, b"two") == b"one"


def test_publish_once_works_without_hard_links(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_paths: object) -> None:
        raise OSError(1, "not here")

    monkeypatch.setattr(durable_file.os, "link", refuse)
    path = tmp_path / "file"
    assert publish_once(path, b"one") == b"one"
    assert publish_once(path, b"two") == b"one"
    assert [found.name for found in tmp_path.iterdir()] == ["file"]


def test_publish_once_without_hard_links_keeps_another_process_s_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "file"

    def other_was_first(*_paths: object) -> None:
        path.write_bytes(b"theirs")
        raise OSError(1, "not here")

    monkeypatch.setattr(durable_file.os, "link", other_was_first)
    assert publish_once(path, b"ours") == b"theirs"


def test_artifacts_are_kept_once_by_their_content(tmp_path: Path) -> None:
    files = ArtifactFiles(tmp_path)
    kept = files.put(b"content")
    assert files.put(b"content") == kept
    assert files.path(kept.sha256).read_bytes() == b"content"
    assert [path for path in tmp_path.rglob("*") if path.is_file()] == [tmp_path / kept.sha256[:2] / kept.sha256]
