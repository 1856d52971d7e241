"""`pioneer` called in this process: what it ends with, writes and complains of."""

import gc
import io
import json
import logging
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from gateway.base import logs
from gateway.cli import main
from gateway.doors.commands.door import through_door
from gateway.doors.commands.parsing import parser
from protocol.methods import MEMORY_WRITE


class Ended(NamedTuple):
    """The exit code and the output of a command that ended."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)


@contextmanager
def _undisturbed(stdin: bytes) -> Iterator[None]:
    """Put back what a process of its own would have to itself."""
    root = logging.getLogger()
    handlers, level, mask, given = root.handlers[:], root.level, os.umask(0o077), sys.stdin
    raises = logging.raiseExceptions
    sys.stdin = io.TextIOWrapper(io.BytesIO(stdin), encoding="utf-8")
    try:
        yield
    finally:
        sys.stdin = given
        os.umask(mask)
        root.handlers[:] = handlers
        root.setLevel(level)
        logging.raiseExceptions = raises
        gc.unfreeze()


def run(*arguments: str, stdin: bytes = b"", encoding: str = "utf-8") -> Ended:
    """Run a command."""
    raw, raw_err = io.BytesIO(), io.BytesIO()
    out, err = io.TextIOWrapper(raw, encoding=encoding), io.TextIOWrapper(raw_err, encoding=encoding)
    with _undisturbed(stdin), redirect_stdout(out), redirect_stderr(err):
        try:
            code = main(list(arguments))
        except SystemExit as left:
            code = left.code if isinstance(left.code, int) else 70
    out.flush()
    err.flush()
    return Ended(code, raw.getvalue().decode(out.encoding), raw_err.getvalue().decode(err.encoding))


def new_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The home that commands use from now on, which is not there yet; they are called in the folder beside it."""
    monkeypatch.setenv("PIONEER_HOME", str(tmp_path / "home"))
    monkeypatch.delenv("PIONEER_WORKSPACE", raising=False)
    monkeypatch.chdir(tmp_path)
    return tmp_path / "home"


def remember(text: str, *more: str) -> str:
    """The id of what is remembered."""
    ended = run("remember", text, "--json", *more)
    assert ended.code == 0, ended.err
    return ended.json["record"]["memory_id"]


def ids(*arguments: str) -> list[str]:
    """The ids that `pioneer list` shows."""
    return [record["memory_id"] for record in run("list", "--json", *arguments).json["records"]]


def propose(content: str, *arguments: str) -> str:
    """The id of a proposal that waits for a person."""
    wish = {
        "intent": "explicit_store",
        "explicitness": "explicit",
        "category": "preference",
        "durability": "long_lived",
        "certainty": "high",
        "sensitivity": "none",
        "scope_hint": "user_global",
    }
    said = {"quote": content, "source_kind": "user_statement"}
    params = {"semantic": wish, "content": content, "evidence": [said], "disposition": "create_pending_candidate"}
    given = parser("stats").parse_args(["stats", *arguments])
    with _undisturbed(b""):
        written = through_door(given, lambda door: door.call(MEMORY_WRITE, params))
        logs.close()
    assert written.candidate is not None, written
    return written.candidate.candidate_id
