"""Logs: a JSON object a line, nothing that was said, and never a process that waits for them."""

import json
import logging
import os
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from gateway.base import logs
from gateway.base.logs import FILE_BYTES, FILES_KEPT, MAX_VALUE_CHARS, QUEUE_LINES, Log

SECRET = "sk-live-0123456789abcdef"  # noqa: S105  # a canary

log = Log("test")


def mask(text: str) -> str:
    return text.replace(SECRET, "[secret:key]")


@pytest.fixture
def begin(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Callable[..., list[dict[str, Any]]]]:
    """Configure logs of this test's own, and give a function that ends them and reads what was written."""
    monkeypatch.setattr(logs, "_SINK", logs._Sink())
    monkeypatch.setattr(logging, "raiseExceptions", True)
    root = logging.getLogger()
    handlers, level = root.handlers[:], root.level
    logs.configure(tmp_path, "info", mask)

    def end() -> list[dict[str, Any]]:
        logs.close(5)
        path = tmp_path / "gateway.log"
        return [json.loads(line) for line in path.read_text(encoding="utf-8").split("\n") if line]

    yield end
    logs.close(5)
    root.handlers[:] = handlers
    root.setLevel(level)


End = Callable[[], list[dict[str, Any]]]


def test_a_line_is_an_object_on_stderr_and_in_the_file(begin: End, capfd: pytest.CaptureFixture[str]) -> None:
    log.info("started", version="1", count=3, ratio=0.5, ok=True, none=None)
    log.warning("odd")
    log.error("bad")
    lines = begin()
    assert [json.loads(line) for line in capfd.readouterr().err.splitlines()] == lines
    assert lines[0] | {"at": 0} == {
        "at": 0,
        "level": "info",
        "component": "test",
        "event": "started",
        "version": "1",
        "count": 3,
        "ratio": 0.5,
        "ok": True,
        "none": None,
    }
    assert [line["level"] for line in lines] == ["info", "warning", "error"]
    assert isinstance(lines[0]["at"], int)


@pytest.mark.parametrize(
    ("level", "expected"),
    [("debug", ["a", "b", "c"]), ("info", ["a", "b", "c"]), ("warning", ["b", "c"]), ("error", ["c"])],
)
def test_what_is_below_the_level_is_not_written(begin: End, level: str, expected: list[str]) -> None:
    logs._SINK.level = logs.LEVELS[level]
    log.info("a")
    log.warning("b")
    log.error("c")
    path_lines = begin()
    assert [line["event"] for line in path_lines] == expected


@pytest.mark.parametrize(
    "value",
    [
        SECRET,
        f"before {SECRET} after",
        [SECRET],
        ("x", [SECRET]),
        {"key": SECRET},
        {SECRET: 1},
        {"a": [{"b": SECRET}]},
        ValueError(SECRET),
        Path(SECRET),
        SECRET.encode(),
        {SECRET},
        SECRET * 3,
    ],
    ids=lambda value: type(value).__name__,
)
def test_no_value_brings_a_secret_in(begin: End, value: Any, capfd: pytest.CaptureFixture[str]) -> None:
    log.error("e", value=value)
    (line,) = begin()
    assert SECRET not in json.dumps(line)
    assert SECRET not in capfd.readouterr().err


@pytest.mark.parametrize(
    "value",
    [object(), 2**100, -(2**100), float("inf"), 1j, {1: {2: 3}}, "\ud800", lambda: 0],
    ids=lambda value: type(value).__name__,
)
def test_any_value_is_logged_somehow(begin: End, value: Any) -> None:
    log.info("e", value=value)
    assert [line["event"] for line in begin()] == ["e"]


def test_control_characters_cannot_forge_a_line(begin: End, capfd: pytest.CaptureFixture[str]) -> None:
    hostile = 'x\n{"level":"error"}\r\x1b[2J\x00\x85\u2028\u2029\u202e\u200b\t'
    log.info("e", value=hostile, nested=[hostile])
    (line,) = begin()
    written = capfd.readouterr().err
    assert len(written.split("\n")) == 2
    assert written.removesuffix("\n").isprintable()
    assert line["value"].startswith('x\ufffd{"level":"error"}\ufffd\ufffd[2J')
    assert line["value"].isprintable()


def test_a_long_value_is_cut(begin: End) -> None:
    log.info("e", value="y" * 100_000)
    (line,) = begin()
    assert line["value"] == "y" * MAX_VALUE_CHARS


def test_an_incident_names_places_and_never_texts(begin: End, capfd: pytest.CaptureFixture[str]) -> None:
    def inner() -> None:
        raise ValueError(SECRET, "what the user said")

    with pytest.raises(ValueError, match=SECRET) as caught:
        inner()
    incident_id = log.incident(caught.value)
    (line,) = begin()
    assert (line["level"], line["event"], line["type"]) == ("error", "incident", "ValueError")
    assert line["incident_id"] == incident_id
    assert incident_id.startswith("inc_")
    assert line["where"].split(" < ")[0].split(":")[::2] == ["test_logs.py", "inner"]
    assert str(Path(__file__).parent) not in json.dumps(line)
    assert SECRET not in json.dumps(line) + capfd.readouterr().err
    assert "what the user said" not in json.dumps(line)


def test_an_error_that_was_never_raised_is_an_incident_too(begin: End) -> None:
    log.incident(RuntimeError(SECRET))
    (line,) = begin()
    assert (line["type"], line["where"]) == ("RuntimeError", "")


def test_a_library_s_log_is_a_place_and_never_a_text(begin: End) -> None:
    logging.getLogger("another.package").warning("it said %s", SECRET)
    logging.getLogger("another.package").error("text", exc_info=ValueError(SECRET))
    logging.getLogger("another.package").info("quiet")
    lines = begin()
    assert [(line["component"], line["level"], line["event"]) for line in lines] == [
        ("another.package", "warning", "library"),
        ("another.package", "error", "library"),
    ]
    assert lines[0]["where"].startswith("test_logs.py:")
    assert set(lines[0]) == {"at", "level", "component", "event", "where"}


def test_who_begins_again_ends_what_was_begun_before(begin: End, tmp_path: Path) -> None:
    writers = [logs._SINK._thread]
    log.info("first")
    again = tmp_path / "again"
    again.mkdir()
    logs.configure(again, "info", mask)
    writers.append(logs._SINK._thread)
    for number in range(20):
        log.info("second", value=number)
    assert [line["event"] for line in begin()] == ["first"]
    assert len((again / "gateway.log").read_text(encoding="utf-8").splitlines()) == 20
    assert [thread is not None and thread.is_alive() for thread in writers] == [False, False]


def test_a_full_queue_drops_counts_and_never_waits(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    sink = logs._Sink()
    monkeypatch.setattr(logs, "_SINK", sink)
    stuck, go_on = threading.Event(), threading.Event()

    def write(_descriptor: int, _line: bytes) -> int:
        stuck.set()
        go_on.wait(10)
        return 0

    monkeypatch.setattr(logs.os, "write", write)
    sink.open(tmp_path)
    log.info("first")
    assert stuck.wait(5)
    for n in range(QUEUE_LINES + 25):
        log.info("more", n=n)
    assert sink.dropped == 25
    go_on.set()
    sink.close(5)
    kept = [json.loads(line) for line in (tmp_path / "gateway.log").read_text().splitlines()]
    assert [line.get("n") for line in kept] == [None, *range(QUEUE_LINES)]


def test_a_torn_stderr_costs_only_stderr(begin: End, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(_descriptor: int, _line: bytes) -> int:
        raise BrokenPipeError

    monkeypatch.setattr(logs.os, "write", fail)
    log.info("a")
    log.info("b")
    assert [line["event"] for line in begin()] == ["a", "b"]


def test_a_full_disk_costs_only_the_file(begin: End, capfd: pytest.CaptureFixture[str]) -> None:
    class Full:
        def write(self, _text: str) -> int:
            raise OSError(28, "no space")

        def __getattr__(self, _name: str) -> Callable[..., int]:
            return lambda *_: 0

    file = logs._SINK._file
    assert file is not None
    full: Any = Full()
    file.stream = full
    log.info("a")
    log.info("b")
    logs.close(5)
    assert [json.loads(line)["event"] for line in capfd.readouterr().err.splitlines()] == ["a", "b"]
    assert begin() == []


def test_without_a_folder_there_is_only_stderr(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    sink = logs._Sink()
    monkeypatch.setattr(logs, "_SINK", sink)
    sink.open(None)
    log.info("a")
    sink.close(5)
    assert json.loads(capfd.readouterr().err)["event"] == "a"


def test_before_and_after_nothing_is_written(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(logs, "_SINK", logs._Sink())
    log.info("early")
    logs.close()
    log.error("late")
    assert capfd.readouterr().err == ""


@pytest.mark.skipif(sys.platform == "win32", reason="modes are POSIX's")
def test_the_file_is_for_its_owner_alone(begin: End, tmp_path: Path) -> None:
    umask = os.umask(0)
    try:
        log.info("a")
        begin()
    finally:
        os.umask(umask)
    assert (tmp_path / "gateway.log").stat().st_mode & 0o077 == 0


def test_the_file_is_rotated(begin: End, tmp_path: Path) -> None:
    file = logs._SINK._file
    assert file is not None
    assert file.most_bytes == FILE_BYTES
    file.most_bytes = 2000
    for _ in range(100):
        log.info("e", value="z" * 100)
    begin()
    names = sorted(path.name for path in tmp_path.iterdir())
    assert names == ["gateway.log", *(f"gateway.log.{n}" for n in range(1, FILES_KEPT + 1))]
    assert all(path.stat().st_size <= 2000 for path in tmp_path.iterdir())


def test_a_file_that_another_process_holds_grows_and_loses_nothing(
    begin: End, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = logs._SINK._file
    assert file is not None
    file.most_bytes = 2000
    for older in (1, 2):
        (tmp_path / f"gateway.log.{older}").write_text(f"older {older}", encoding="utf-8")
    held = [True]
    move = os.replace

    def replace(source: str, target: str) -> None:  # as Windows has it
        if held[0] and str(source).endswith("gateway.log"):
            raise PermissionError(13, "used by another process")
        move(source, target)

    monkeypatch.setattr(os, "replace", replace)
    for number in range(50):
        log.info("held", value=str(number).rjust(100))
    lines = begin()
    assert len(lines) == 50
    assert len((tmp_path / "gateway.log").read_text(encoding="utf-8").splitlines()) == 50
    assert [(tmp_path / f"gateway.log.{n}").read_text(encoding="utf-8") for n in (1, 2)] == ["older 1", "older 2"]
    held[0] = False
    logs._SINK.open(tmp_path)
    assert logs._SINK._file is not None
    logs._SINK._file.most_bytes = 2000
    log.info("free")
    begin()
    assert [path.name for path in sorted(tmp_path.iterdir())] == [
        "gateway.log",
        *(f"gateway.log.{n}" for n in (1, 2, 3)),
    ]
    assert len((tmp_path / "gateway.log.1").read_text(encoding="utf-8").splitlines()) == 50
