"""The scripted model of the test harness: it answers from a file and records its requests.

Rule 1: rules are read again when the file changes; how often a rule has answered is counted per line and process.
"""

import time
from collections import Counter
from hashlib import sha256
from pathlib import Path

import anyio
import msgspec

from protocol.base import encode
from protocol.models import (
    Deltas,
    Message,
    ModelReply,
    ModelRequest,
    ProviderFailed,
    RecordedCall,
    RecordedMessage,
    RecordedPicture,
    RecordedTool,
    ScriptedAnswer,
    ScriptRule,
    ToolRequest,
)
from protocol.seams.ports import Clock


class ScriptError(Exception):
    """The script's file cannot be read or holds a line that is no rule."""


def pieces(text: str, count: int) -> list[str]:
    """Return the text in `count` pieces that join to it; fewer when it is shorter."""
    count = max(1, min(count, len(text) or 1))
    size, rest = divmod(len(text), count)
    ends = [(n + 1) * size + min(n + 1, rest) for n in range(count)]
    return [text[start:end] for start, end in zip([0, *ends], ends, strict=False)]


class Script:
    """The rules of a file."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._stamp: tuple[int, int] | None = None
        self._rules: list[tuple[bytes, ScriptRule]] = []
        self._used: Counter[bytes] = Counter()

    def _refresh(self) -> None:
        try:
            stat = self._path.stat()
            stamp = (stat.st_mtime_ns, stat.st_size)
            if stamp == self._stamp:
                return
            lines = [line for line in self._path.read_bytes().splitlines() if line.strip()]
            numbered = enumerate(lines)
            self._rules = [(b"%d:%s" % (n, line), msgspec.json.decode(line, type=ScriptRule)) for n, line in numbered]
            self._stamp = stamp
        except (OSError, msgspec.DecodeError) as error:
            raise ScriptError(type(error).__name__) from error

    def answer_to(self, request: ModelRequest) -> ScriptRule | None:
        """Return the first fitting rule with answers left, and use up one of them; None where no rule fits."""
        self._refresh()
        text = "\n".join(message.content for message in request.messages)
        for line, rule in self._rules:
            fits = (
                rule.role in {"any", request.role}
                and (rule.input_contains is None or rule.input_contains in text)
                and (rule.round is None or rule.round == request.round)
                and (rule.times is None or self._used[line] < rule.times)
            )
            if fits:
                self._used[line] += 1
                return rule
        return None


class Recorder:
    """Records every attempt in a file before it is answered."""

    def __init__(self, path: Path, clock: Clock) -> None:
        self._path = path
        self._clock = clock
        self._seq = 0

    def note(self, request: ModelRequest, attempt: int) -> None:
        """Append a line for an attempt to the file, and flush it."""
        self._seq += 1
        call = RecordedCall(
            seq=self._seq,
            role=request.role,
            thread_id=request.thread_id,
            turn_id=request.turn_id,
            round=request.round,
            attempt=attempt,
            messages=[_to_recorded_message(message) for message in request.messages],
            tools=[
                RecordedTool(name=t.name, description=t.description, parameters=t.parameters) for t in request.tools
            ],
            at=self._clock.now(),
        )
        with self._path.open("ab") as file:
            file.write(encode(call) + b"\n")
            file.flush()


def _to_recorded_message(message: Message) -> RecordedMessage:
    pictures = [
        RecordedPicture(mime=picture.mime, size_bytes=len(picture.data), sha256=sha256(picture.data).hexdigest())
        for picture in message.pictures
    ]
    return RecordedMessage(role=message.role, content=message.content, pictures=pictures)


class ScriptedModel:
    """One try of a scripted provider."""

    def __init__(self, script: Script, recorder: Recorder | None) -> None:
        self._script = script
        self._recorder = recorder

    async def attempt(self, request: ModelRequest, attempt: int, deltas: Deltas | None) -> ModelReply:
        """Return the scripted answer. Raises `ProviderFailed`."""
        if self._recorder is not None:
            self._recorder.note(request, attempt)
        try:
            rule = self._script.answer_to(request)
        except ScriptError:
            raise ProviderFailed("not_configured") from None
        if rule is None:
            if request.role != "main":
                raise ProviderFailed("not_configured")
            rule = ScriptRule(role="main", respond=ScriptedAnswer(text="OK."))
        if rule.delay_ms:
            await anyio.sleep(rule.delay_ms / 1000)
        return await self._answer_by_rule(rule, deltas)

    async def _answer_by_rule(self, rule: ScriptRule, deltas: Deltas | None) -> ModelReply:
        answer = rule.respond
        if answer.error is not None:
            if answer.error == "disconnect" and answer.text and deltas is not None:
                deltas.delta(answer.text)
            raise ProviderFailed(answer.error)
        text = answer.text if answer.text is not None else ""
        if answer.json is not None:
            text = encode(answer.json).decode()
        if text and deltas is not None:
            for piece in pieces(text, rule.stream_chunks):
                deltas.delta(piece)
                await anyio.lowlevel.checkpoint()
        calls = [
            ToolRequest(call_id=f"call_{time.monotonic_ns():x}_{n}", name=call.name, arguments=call.arguments)
            for n, call in enumerate(answer.tool_calls or [])
        ]
        return ModelReply(text=text, tool_calls=calls)
