"""Options that several commands share, and the parameters of calls that are made of them."""

import argparse
import math
import os
import re
import sys
from datetime import datetime
from pathlib import Path
from typing import Any, BinaryIO, get_args

from gateway.base.exit_codes import DATA, NO_INPUT, USAGE
from gateway.doors.terminal.exits import Stop
from gateway.home.folder import path_of
from protocol.base import DEFAULT_WORKSPACE, USER_SCOPE_KEY
from protocol.record import Category, Status

MAX_INPUT_BYTES = 64 * 1024 * 1024
"""The most bytes that are read from stdin, which is more than any method takes."""


def path(text: str) -> Path:
    """Return a path. Raises `ArgumentTypeError` for an empty one, which must not mean the working folder."""
    if not text.strip():
        raise argparse.ArgumentTypeError("a path is not empty")
    return path_of(text)


def number(text: str) -> float:
    """Return a number. Raises `ArgumentTypeError`."""
    try:
        return float(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is no number") from None


def positive(text: str) -> int:
    """Return a whole number from 1 on. Raises `ArgumentTypeError`."""
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is no number from 1 on")
    return int(text)


def add_home(to: argparse.ArgumentParser, *, has_config: bool = True) -> None:
    """Add the options for the home and the configuration."""
    to.add_argument(
        "--home",
        type=path,
        metavar="DIR",
        help="where everything is kept (default: $PIONEER_HOME, else the user's data folder)",
    )
    if has_config:
        to.add_argument("--config", type=path, metavar="FILE", help="configuration file (default: HOME/config.toml)")


def add_json(to: argparse.ArgumentParser) -> None:
    """Add the option for the result as JSON."""
    to.add_argument("--json", action="store_true", help="the result as one JSON document")


def read_workspace_variable() -> str | None:
    """Return the workspace that the environment names; None where it names none."""
    return os.environ.get("PIONEER_WORKSPACE") or None


HERE = "(here)"
"""The default of --workspace. It is replaced when a command line is parsed, so that help looks for no repository."""


def workspace_here() -> str:
    """Return the workspace of a command that names none: the environment's, else that of the present repository."""
    from gateway.home.repository import workspace_of  # noqa: PLC0415

    return workspace_of(named=read_workspace_variable()).workspace_id


def _workspace(text: str) -> str:
    """Return the named workspace; argparse calls this with the default, `HERE`, where none is named."""
    return workspace_here() if text is HERE else text


def add_place(to: argparse.ArgumentParser) -> None:
    """Add the options of nearly every command: home, workspace and format."""
    add_home(to)
    project = to.add_mutually_exclusive_group()
    project.add_argument(
        "--workspace",
        type=_workspace,
        default=HERE,
        metavar="ID",
        help="the project that this is about (default: $PIONEER_WORKSPACE, else that of the repository one is in, "
        f"else {DEFAULT_WORKSPACE})",
    )
    project.add_argument(
        "--folder",
        action=_OfFolder,
        type=path,
        default=argparse.SUPPRESS,
        metavar="DIR",
        help="the project of the repository that this folder is in",
    )
    add_json(to)


class _OfFolder(argparse.Action):
    """The option `--folder`, which sets the workspace to that of a folder's repository."""

    def __call__(self, _parser: object, namespace: argparse.Namespace, values: Any, _option: str | None = None) -> None:
        """Set `workspace` and `workspace_name`. Raises `ArgumentError`."""
        from gateway.home.repository import workspace_of  # noqa: PLC0415

        folder: Path = values
        if not folder.is_dir():
            raise argparse.ArgumentError(self, f"there is no folder {str(folder)!r}")
        namespace.workspace, namespace.workspace_name = workspace_of(folder)


def add_context(to: argparse.ArgumentParser) -> None:
    """Add the options for the scopes of an agent and a conversation."""
    to.add_argument("--agent", metavar="ID", help="with the memory of this agent")
    to.add_argument("--thread", metavar="ID", help="with the memory of this conversation")


def add_words(to: argparse.ArgumentParser) -> None:
    """Add the option for a search by words alone."""
    way = to.add_mutually_exclusive_group()
    way.add_argument("--words", action="store_true", help="by words alone; loads no embedding model")
    way.add_argument(
        "--meaning", action="store_true", help=argparse.SUPPRESS
    )  # the default; earlier versions needed it


def add_sureness(to: argparse.ArgumentParser) -> None:
    """Add the option that answers every question with yes."""
    to.add_argument("--yes", action="store_true", help="do not ask")


def add_filters(to: argparse.ArgumentParser) -> None:
    """Add the options that search and list share."""
    add_place(to)
    add_context(to)
    to.add_argument(
        "--category", action="append", choices=get_args(Category), metavar="NAME", help="only this one; repeatable"
    )
    to.add_argument("--tag", action="append", metavar="TAG", help="only with this tag; repeatable")
    to.add_argument(
        "--scope", action="append", metavar="SCOPE", help="only user, workspace, agent or thread; repeatable"
    )
    to.add_argument(
        "--status",
        action="append",
        choices=[status for status in get_args(Status) if status != "deleted"],
        metavar="NAME",
        help="default: active; repeatable",
    )
    to.add_argument("--notes", action="store_true", help="only what agents noted and nobody confirmed")
    to.add_argument(
        "--source-agent", action="append", metavar="ID", help="what that agent noted, or `user` said; repeatable"
    )
    to.add_argument("--sensitive", action="store_true", help="with what is only shown when it is asked for")


def present(**members: Any) -> dict[str, Any]:
    """Return the members that are not None."""
    return {name: value for name, value in members.items() if value is not None}


def context_of(given: argparse.Namespace) -> dict[str, Any]:
    """Return the parameter `context` of a call."""
    return present(agent_id=getattr(given, "agent", None), thread_id=getattr(given, "thread", None))


def scope_of(text: str, given: argparse.Namespace) -> dict[str, str]:
    """Return a scope: `user`, `workspace`, or a kind with its key, as in `thread:thr_1`. Raises `Stop`."""
    kind, _, key = text.partition(":")
    own = {
        "user": USER_SCOPE_KEY,
        "workspace": given.workspace,
        "agent": getattr(given, "agent", None),
        "thread": getattr(given, "thread", None),
    }
    key = key or own.get(kind) or ""
    if kind not in {*own, "task"} or not key:
        raise Stop(USAGE, f"{text!r} is no scope: user, workspace, agent:ID, thread:ID or task:ID")
    return {"kind": kind, "key": key}


def scopes_of(given: argparse.Namespace) -> list[dict[str, str]] | None:
    """Return the named scopes; None without any. Raises `Stop`."""
    return [scope_of(text, given) for text in given.scope] if given.scope else None


def filters_of(given: argparse.Namespace) -> dict[str, Any]:
    """Return the parameters that a search and a list share, as `Filters` has them. Raises `Stop`."""
    return present(
        context=context_of(given),
        categories=given.category,
        tags=given.tag,
        statuses=given.status,
        scopes=scopes_of(given),
        voices=["machine"] if given.notes else None,
        source_agents=given.source_agent,
        include_sensitive=given.sensitive or None,
    )


def stdin_file() -> BinaryIO:
    """Return stdin as a file of bytes. Raises `Stop` where a shell has closed it."""
    if sys.stdin is None:
        raise Stop(NO_INPUT, "there is nothing to read: stdin is closed")
    return sys.stdin.buffer


def text_of(parts: list[str]) -> str:
    """Return the words of the command line, or of stdin where they are a single dash. Raises `Stop`."""
    if parts != ["-"]:
        return " ".join(parts)
    text = _read_stdin()
    if "\0" in text:
        raise Stop(DATA, f"stdin holds a NUL character (character {text.index(chr(0)) + 1}): that is no text")
    return text


def _read_stdin() -> str:
    data = stdin_file().read(MAX_INPUT_BYTES + 1)
    if len(data) > MAX_INPUT_BYTES:
        raise Stop(DATA, "stdin holds more than 64 MiB")
    try:
        return data.decode("utf-8-sig").strip()
    except UnicodeDecodeError:
        raise Stop(DATA, "stdin is not UTF-8") from None


_SPAN = re.compile(r"(\d{1,5})([hdwmy])")
_HOURS = {"h": 1, "d": 24, "w": 7 * 24, "m": 30 * 24, "y": 365 * 24}


def time_of(text: str | None, *, is_future: bool = False) -> int | None:
    """Return a time in Unix milliseconds: of `2026-05-19`, `2026-05-19 14:30`, or a span such as `30d`; None for None.

    A span is counted from now, back, or forward with `is_future`. Raises `Stop`, with `is_future` also for a past time.
    """
    if text is None:
        return None
    now = datetime.now().astimezone().timestamp()
    at = _time_of(text, now, is_future=is_future)
    if is_future and at <= now * 1000:
        raise Stop(USAGE, f"{text!r} is over already")
    return at


def _time_of(text: str, now: float, *, is_future: bool) -> int:
    if (span := _SPAN.fullmatch(text)) is not None:
        seconds = 3600 * int(span[1]) * _HOURS[span[2]]
        return math.floor((now + seconds if is_future else now - seconds) * 1000)
    try:
        return math.floor(datetime.fromisoformat(text).astimezone().timestamp() * 1000)
    except (ValueError, OverflowError, OSError):
        raise Stop(USAGE, f"{text!r} is no time: write 2026-05-19, 2026-05-19T14:30 or a span such as 30d") from None
