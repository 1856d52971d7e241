"""`pioneer replay FILE.jsonl`: a conversation with a spawned gateway, written down as steps and checked step by step.

Rule 1: steps are data (docs/replay.md); `Step` is their shape, `gateway.play.replay_pattern` the meaning of patterns.
Rule 2: every step goes over the wire to a real process on a temporary home; nothing is reached from inside.
"""

import asyncio
import sys
import tempfile
from collections.abc import Awaitable, Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple, cast

import msgspec
from msgspec import UNSET, UnsetType

from gateway.base.durable_file import publish
from gateway.play.replay_pattern import BadPattern, Mismatch, fill_references, format_value, match
from gateway.wire.client import ConnectionClosed, GatewayClient, console_script

STEP_SECONDS = 10.0
"""No step of a healthy gateway with a scripted model takes a tenth of this."""

LAST_SECONDS = 2.0
"""Between the end of its output and its end a process has little left to do."""

STDERR_SHOWN = 1500
"""The last words of a process that ended too early; its log has the rest."""


class BadReplay(Exception):
    """The file itself is not a replay: a step that does not exist, or stands in the wrong place."""

    def __init__(self, line: int, problem: str) -> None:
        self.line = line
        super().__init__(problem)


class Setup(msgspec.Struct, forbid_unknown_fields=True):
    """The process's surroundings: config.toml's text, script.jsonl's rules, the clock, more arguments of `serve`.

    `files` are texts by their paths below the session's folder, which the name `folder` stands for;
    `folder/NAME` stands for a folder that they make there.
    """

    config: str = ""
    script: list[dict[str, Any]] = []
    clock: int | None = None
    args: list[str] = []
    files: dict[str, str] = {}


class Step(msgspec.Struct, forbid_unknown_fields=True):
    """One line of the file: one member at most beside the comment."""

    comment: Any = None
    setup: Setup | UnsetType = UNSET
    send: Any = UNSET
    send_raw: str | UnsetType = UNSET
    expect: Any = UNSET
    notification: dict[str, Any] | UnsetType = UNSET
    none: str | UnsetType = UNSET
    advance_clock_ms: int | UnsetType = UNSET
    restart: bool | UnsetType = UNSET
    kill: bool | UnsetType = UNSET


class PlacedStep(NamedTuple):
    """A step with its argument and its line in the file."""

    line: int
    verb: str
    given: Any


class ReplayReport(NamedTuple):
    """The outcome of a replay: the line of the step that failed, and its failure in words."""

    ok: bool
    line: int | None = None
    mismatch: str | None = None


def steps_of(text: str) -> list[PlacedStep]:
    """Return the file's steps without its comments. Raises `BadReplay`."""
    steps: list[PlacedStep] = []
    for number, line in enumerate(text.split("\n"), 1):
        if not line.strip():
            continue
        try:
            step = msgspec.json.decode(line, type=Step)
        except msgspec.MsgspecError as error:
            raise BadReplay(number, str(error)) from None
        verbs = [name for name in Step.__struct_fields__[1:] if getattr(step, name) is not UNSET]
        if len(verbs) > 1:
            raise BadReplay(number, f"one step a line, not {' and '.join(verbs)}")
        steps += [PlacedStep(number, verb, getattr(step, verb)) for verb in verbs]
    return steps


def is_reply_to(pattern: Any, message: Any) -> bool:
    """Return whether a message may be the reply that a pattern of `expect` describes: the one of its id, if it has one.

    A pattern that is an array is about the reply to a batch.
    """
    if isinstance(pattern, list):
        return isinstance(message, list)
    if not isinstance(pattern, dict) or isinstance(members := cast("dict[str, Any]", pattern).get("id", {}), dict):
        return True  # no id, or an operator in its place: the next one in order of arrival
    return isinstance(message, dict) and cast("dict[str, Any]", message).get("id") == members


class Player:
    """Plays the steps of one file against one home, over as many processes as the steps ask for."""

    def __init__(self, folder: Path, command: Sequence[str]) -> None:
        self._folder = folder
        self._command = command
        self._setup: Setup | None = None
        self._clock: int | None = None
        self._client: GatewayClient | None = None
        self._is_down = True
        self._bound: dict[str, Any] = {"folder": str(self._folder)}
        self._replies: list[Any] = []
        self._matched: set[int] = set()
        self._verbs: dict[str, Callable[[Any], Awaitable[None]]] = {
            "setup": self._prepare,
            "send": lambda given: self._send(msgspec.json.encode(fill_references(given, self._bound))),
            "send_raw": lambda given: self._send(given.encode()),
            "expect": self._expect,
            "notification": self._notification,
            "none": self._none,
            "advance_clock_ms": self._advance,
            "restart": self._restart,
            "kill": self._kill,
        }

    async def play(self, step: PlacedStep) -> str | None:
        """Do one step; return its failure in words, or None."""
        try:
            async with asyncio.timeout(STEP_SECONDS):
                await self._verbs[step.verb](step.given)
        except (Mismatch, BadPattern) as error:
            return str(error)
        except ConnectionClosed as error:
            return f"{error}\n{await self._last_words()}"
        except TimeoutError:
            return f"nothing that fits came within {STEP_SECONDS:g} s\n{self._describe_unmatched(step)}"
        return None

    async def end(self) -> str | None:
        """End the process in order; return a failure in words, or None."""
        if self._client is None:
            return None
        try:
            async with asyncio.timeout(STEP_SECONDS):
                await self._client.end_of_input()
        except TimeoutError:
            self._client.kill()
            await self._client.wait()
            return f"the process did not end within {STEP_SECONDS:g} s of the end of its input"
        return None

    async def _prepare(self, setup: Setup) -> None:
        if self._setup is not None or self._client is not None:
            raise BadPattern("setup comes once, and before the first send")
        self._setup = setup
        folders = {name.partition("/")[0] for name in setup.files if "/" in name}
        self._bound = {**self._bound, **{f"folder/{name}": str(self._folder / name) for name in folders}}

    async def _spawn(self) -> GatewayClient:
        setup = self._setup = self._setup or Setup()
        config = self._folder / "config.toml"
        if self._client is None:
            publish(config, setup.config.encode())
            publish(self._folder / "script.jsonl", b"".join(msgspec.json.encode(r) + b"\n" for r in setup.script))
            self._put(setup.files)
            self._set_clock(setup.clock)
        clock = [] if self._clock is None else ["--clock-file", str(self._clock_file)]
        home = str(self._folder / "home")
        arguments = ["serve", "--home", home, "--config", str(config), *clock, *setup.args]
        self._replies.clear()
        self._matched.clear()
        self._client = await GatewayClient.start([*self._command, *arguments])
        self._is_down = False
        return self._client

    def _put(self, files: Mapping[str, str]) -> None:
        for name, text in files.items():
            path = (self._folder / name).resolve()
            if not path.is_relative_to(self._folder.resolve()):
                raise BadPattern("a file lies below the session's folder")
            path.parent.mkdir(parents=True, exist_ok=True)
            publish(path, text.encode())

    @property
    def _clock_file(self) -> Path:
        return self._folder / "clock"

    def _set_clock(self, now: int | None) -> None:
        self._clock = now
        if now is not None:
            publish(self._clock_file, str(now).encode())

    async def _send(self, line: bytes) -> None:
        client = await self._spawn() if self._client is None or self._is_down else self._client
        client.send_line(line)

    async def _expect(self, pattern: Any) -> None:
        ask: Any = pattern
        if isinstance(pattern, dict) and "id" in pattern:
            ask = fill_references({"id": pattern["id"]}, self._bound)
        place = 0
        while True:
            if place == len(self._replies):
                self._replies.append(await self._running().read_message())
            if is_reply_to(ask, self._replies[place]):
                break
            place += 1
        self._bound = match(pattern, self._replies.pop(place), self._bound)

    async def _notification(self, pattern: dict[str, Any]) -> None:
        method, wanted = pattern.get("method"), {"params": {"$any": True}, **pattern}
        if not isinstance(method, str):
            raise BadPattern("a notification's pattern names its method")

        def fits(params: dict[str, Any]) -> bool:
            try:
                match(wanted, {"method": method, "params": params}, self._bound)
            except Mismatch:
                return False
            return id(params) not in self._matched

        params = await self._running().wait_for(method, fits)
        self._matched.add(id(params))  # the client keeps received parameters, so that the identity stays their own
        self._bound = match(wanted, {"method": method, "params": params}, self._bound)

    async def _none(self, method: str) -> None:
        """Check that no notification of the method has come that no step matched. Raises `Mismatch`."""
        for came in self._fresh():
            if came["method"] == method:
                raise Mismatch("$", f"no {method}", came)

    async def _advance(self, milliseconds: int) -> None:
        if self._client is None:
            raise BadPattern("the clock is advanced after the first send; before it, setup sets it")
        if self._clock is None:
            raise BadPattern("the clock is the machine's own; setup can set one")
        self._set_clock(self._clock + milliseconds)

    async def _restart(self, _given: bool) -> None:  # noqa: FBT001  # the step's value, always true
        await self._running().end_of_input()
        await self._spawn()

    async def _kill(self, _given: bool) -> None:  # noqa: FBT001  # the step's value, always true
        client = self._running()
        client.kill()
        await client.wait()
        self._is_down = True

    def _running(self) -> GatewayClient:
        if self._client is None:
            raise BadPattern("no process runs yet: the first send starts it")
        return self._client

    def _fresh(self) -> list[dict[str, Any]]:
        """Return the notifications so far that no step has matched, in order."""
        received = [] if self._client is None else self._client.received
        return [{"method": name, "params": params} for name, params in received if id(params) not in self._matched]

    def _describe_unmatched(self, step: PlacedStep) -> str:
        """Return the notifications that did come, in words: whole where one could have been meant."""
        fresh = self._fresh()
        wanted: Any = step.given.get("method") if step.verb == "notification" else None
        near = [came for came in fresh if came["method"] == wanted] or self._replies
        lines = [f"    expected: {format_value(step.given)}", *(f"    came:     {format_value(came)}" for came in near)]
        others = [came["method"] for came in fresh if came["method"] != wanted]
        return "\n".join([*lines, f"    notifications not matched: {', '.join(others) or 'none'}"])

    async def _last_words(self) -> str:
        client = self._running()
        try:
            async with asyncio.timeout(LAST_SECONDS):
                code = await client.wait()
        except TimeoutError:  # it closed its pipes and goes on
            client.kill()
            code = await client.wait()
        words = client.stderr.decode(errors="replace")[-STDERR_SHOWN:].strip()
        return f"    exit code: {code}\n    stderr:    {words or 'nothing'}"


async def run(path: Path, command: Sequence[str]) -> ReplayReport:
    """Play one file and return its outcome; `command` starts `pioneer`, without `serve`."""
    try:
        steps = steps_of(_text_of(path))
    except BadReplay as error:
        return ReplayReport(ok=False, line=error.line, mismatch=str(error))
    with tempfile.TemporaryDirectory(prefix="pioneer-replay-", ignore_cleanup_errors=True) as folder:
        player = Player(Path(folder), command)
        report = ReplayReport(ok=True)
        try:
            for step in steps:
                if problem := await player.play(step):
                    report = ReplayReport(ok=False, line=step.line, mismatch=problem)
                    break
        finally:
            trouble = await player.end()
        return ReplayReport(ok=False, mismatch=trouble) if report.ok and trouble else report


def _text_of(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise BadReplay(0, f"the file cannot be read ({type(error).__name__})") from None


def main(paths: Sequence[str]) -> int:
    """Play the files in order and write the outcome of each; return 1 when one of them failed."""
    failures = 0
    for path in paths:
        report = asyncio.run(run(Path(path), console_script()))
        failures += not report.ok
        where = f":{report.line}" if report.line else ""
        sys.stdout.write(f"ok    {path}\n" if report.ok else f"FAIL  {path}{where}: {report.mismatch}\n")
    return 1 if failures else 0
