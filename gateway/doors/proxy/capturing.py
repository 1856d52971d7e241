"""The work of memory on one proxied request: read it, prepare it within the deadline, report its answer.

Rule 1: a request that cannot be read, or is a program's own, goes on as it is; nothing of it is kept.
Rule 2: what did not come in time is taken back: the turn is kept as one that nothing was shown in.
"""

import re
import secrets
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal, NamedTuple, TypeAlias

from gateway.base.chat_programs import UNKNOWN, ClientRow, client_rows, name_of
from gateway.doors.proxy.body import Edit, UnreadableError, apply
from gateway.doors.proxy.child import Child, Down, Late
from gateway.doors.proxy.dialects.reading import ChatAnswer, ChatRequest
from gateway.doors.proxy.route import Language, ProxyAddress
from gateway.doors.proxy.spool import Spool
from gateway.doors.proxy.tee import DIALECTS, Tee
from gateway.wire.client import CallFailed
from protocol.base import ID_TEXT
from protocol.capture.calls import MAX_CHAIN
from protocol.capture.chain import START, follow_all, without_blocks
from protocol.conversation.turns import Usage
from protocol.conversation.values import MAX_TEXT_CHARS
from protocol.settings import ProxySettings

MODES = frozenset({"normal", "read_only", "ignored"})
ROLES = frozenset({"main", "subagent", "task"})
_ID = re.compile(ID_TEXT)
MAX_TOOL_EVENTS = 256
MAX_CLIENT_CHARS = 64
MAX_ROUNDS = 1000
"""Turns in loops of tools whose tokens are summed; the oldest is forgotten first."""
UTILITY_CHARS = 400
"""Of a message's or a system part's beginning that is compared with the marks of a program's own requests."""

Said: TypeAlias = Literal["recalled", "empty", "late", "down", "off", "skipped"]
Status: TypeAlias = Literal["succeeded", "failed", "provider_failure", "interrupted"]


class RecalledRequest(NamedTuple):
    """The request as it goes on: its body, and what memory did."""

    body: bytes
    said: Said
    blocks: int = 0
    ms: int = 0
    capture: "Capture | None" = None


class Capture(NamedTuple):
    """A message on its way through, to be finished with its answer."""

    language: Language
    request: ChatRequest
    params: dict[str, Any]
    said_hash: bytes
    """Of the conversation, to which the answer is added."""
    turn_id: str | None = None
    reason: Literal["late", "down"] | None = None
    """The reason why it went on without what memory would have given it."""


class Capturing:
    """Prepares requests and keeps answers."""

    def __init__(self, child: Child, spool: Spool, settings: Callable[[], ProxySettings]) -> None:
        self._child, self._spool, self._settings = child, spool, settings
        self._streaming: set[str] = set()
        """Turns whose answers are under way."""
        self._rounds: dict[str, Usage] = {}
        self.usage = Usage()
        self.last_turn_at: int | None = None

    def mode_of(self, headers: Mapping[str, Sequence[str]]) -> str:
        """Return how memory is used in a request: a header's mode, one that is misspelt counts as `ignored`."""
        given = next((value.strip().lower() for value in headers.get("x-pioneer-memory", ()) if value.strip()), None)
        if given is None:
            return self._settings().memory_mode
        return given if given in MODES else "ignored"

    async def prepare(
        self,
        language: Language,
        body: bytes,
        headers: Mapping[str, Sequence[str]],
        address: ProxyAddress,
        *,
        is_oauth: bool,
    ) -> RecalledRequest:
        """Return a request as it goes on, within the deadline of the settings."""
        mode = self.mode_of(headers)
        names = _names_of(headers, address)
        if mode == "ignored" or not _is_understood(headers, names):
            return RecalledRequest(body, "off")
        client = name_of(_one(headers, "user-agent"), names["agent_id"])
        row = client_rows().get(client, ClientRow(agent=[]))
        try:
            request: ChatRequest = DIALECTS[language].read(body, row.wrappers)
        except UnreadableError:
            return RecalledRequest(body, "skipped")
        user = request.user_index
        if user is None or self._is_utility(request, user, row.utility, headers):
            return RecalledRequest(body, "skipped")
        hashes = follow_all(START, [one.said for one in request.messages])
        source = self._source(request, headers, names, client, row.session)
        params = self._params(request, user, hashes) | {"source": source, "memory_mode": mode}
        began = time.monotonic()
        found, reason = await self._ask(params)
        ms = round((time.monotonic() - began) * 1000)
        if found is None:
            late = Capture(language, request, params, hashes[-1], reason=reason)
            return RecalledRequest(body, reason or "late", ms=ms, capture=late)
        if found["recall_status"] == "off" and found["turn"] is None:
            return RecalledRequest(body, "skipped", ms=ms)
        turn_id = found["turn"]["turn_id"] if found["turn"] is not None else None
        if turn_id is not None:
            self._streaming.add(turn_id)
        edits = self._edits(request, params, found, is_oauth=is_oauth)
        blocks = len(found["blocks"]) + bool(found["brief"])
        capture = Capture(language, request, params, hashes[-1], turn_id)
        return RecalledRequest(apply(body, edits), "recalled" if blocks else "empty", blocks, ms, capture)

    async def _ask(self, params: dict[str, Any]) -> tuple[dict[str, Any] | None, Literal["late", "down"] | None]:
        """Return the blocks that memory gives, or the reason why it gives none."""
        seconds = self._settings().recall_deadline_ms / 1000
        try:
            found = await self._child.ask("capture/prepare", params, seconds, self._spool.wait_until_delivered)
            turn = found["turn"]
            is_other = (
                found["is_continuation"]
                and turn is not None
                and turn["turn_id"] in self._streaming
                and params["user_index"] == len(params["chain"]) - 1
            )
            if is_other:  # the very same message is being answered: this is another conversation that begins alike
                source = params["source"] = {**params["source"], "thread_id": f"thr_{secrets.token_hex(12)}"}
                found = await self._child.ask("capture/prepare", params | {"source": source}, seconds)
        except Late:
            return None, "late"
        except (Down, CallFailed):
            return None, "down"
        return found, None

    def _is_utility(
        self, request: ChatRequest, user: int, marks: Sequence[str], headers: Mapping[str, Sequence[str]]
    ) -> bool:
        if _role(headers) == "task":
            return True
        texts = (request.messages[user].words, *request.system_texts)
        begun = [text[:UTILITY_CHARS].lower().lstrip() for text in texts]
        return any(text.startswith(mark) for text in begun for mark in marks)

    def _source(
        self,
        request: ChatRequest,
        headers: Mapping[str, Sequence[str]],
        names: Mapping[str, str | None],
        client: str,
        told: Sequence[str],
    ) -> dict[str, str]:
        """Return where a message comes from."""
        name = client if client != UNKNOWN else (_one(headers, "user-agent") or UNKNOWN)[:MAX_CLIENT_CHARS]
        source = {
            "door": "proxy",
            "client": name,
            "role": _role(headers),
            "session_id": _session(told, headers, request.names),
            **names,
        }
        return {key: value for key, value in source.items() if value}

    def _params(self, request: ChatRequest, user: int, hashes: Sequence[bytes]) -> dict[str, Any]:
        links = [
            {"role": one.said.role if one.said.role in {"user", "assistant"} else "tool", "hash": digest.hex()}
            for one, digest in zip(request.messages, hashes, strict=True)
        ]
        first = max(0, min(user, len(links) - MAX_CHAIN))
        words = without_blocks(request.messages[user].words)[:MAX_TEXT_CHARS].replace("\0", "")
        return {
            "chain": links[first:][:MAX_CHAIN],
            "user_index": user - first,
            "user_text": words,
            "placement": self._settings().placement,
        }

    def _edits(
        self, request: ChatRequest, params: dict[str, Any], found: dict[str, Any], *, is_oauth: bool
    ) -> list[Edit]:
        """Return the edits that bring the brief and the blocks in."""
        placement = params["placement"]
        user = request.user_index or 0
        first = user - params["user_index"]
        brief: str | None = found["brief"]
        blocks = {first + block["index"]: block["text"] for block in found["blocks"]}
        with_system = [text for text in (brief, blocks.get(user) if placement == "system" else None) if text]
        keeps_system = is_oauth or placement == "user" or request.system is None
        has_no_place = placement == "system" and not keeps_system
        texts: dict[int, list[str]] = {} if has_no_place else {at: [text] for at, text in blocks.items()}
        if brief and keeps_system:
            at = next(place for place, one in enumerate(request.messages) if one.words and one.point is not None)
            texts[at] = [brief, *texts.get(at, [])]
        edits = [
            point.edit("\n\n".join(parts))
            for place, parts in texts.items()
            if (point := request.messages[place].point) is not None
        ]
        if with_system and not keeps_system and request.system is not None:
            edits.append(request.system.edit("\n\n".join(with_system)))
        return edits

    # -- the answer ----------------------------------------------------------------------------------------------------

    async def finish(self, capture: Capture, tee: Tee, status: Status, note_written: Callable[[], None]) -> None:
        """Keep an answer; one that ends in calls of tools leaves its turn open for the next request.

        `note_written` is called once it outlives this process.
        """
        finish = self._finish_of(capture, tee.answer(), status)
        if finish is not None:
            self.last_turn_at = round(time.time() * 1000)
            await self._spool.add(finish, note_written)

    def _finish_of(self, capture: Capture, answer: ChatAnswer, status: Status) -> dict[str, Any] | None:
        """Return the parameters of `capture/finish`; None where the turn goes on."""
        if status == "succeeded" and not answer.is_whole:
            status = "provider_failure"
        self._count(capture.turn_id, answer.usage)
        if capture.turn_id is not None:
            self._streaming.discard(capture.turn_id)
        if status == "succeeded" and answer.called:
            return None
        usage = self._rounds.pop(capture.turn_id, None) if capture.turn_id is not None else answer.usage
        finish: dict[str, Any] = {
            "status": status,
            "shown": capture.reason is None,
            "capture": capture.params,
            "tool_events": self._events(capture.request, answer),
        }
        if capture.turn_id is not None:
            finish["turn_id"] = capture.turn_id
        if capture.reason is not None:
            finish["recall"] = {"status": "skipped", "reason": capture.reason}
        if answer.text:
            finish["assistant_text"] = answer.text.replace("\0", "")
        if status == "succeeded":
            finish["answer_hash"] = [capture.said_hash, *follow_all(capture.said_hash, answer.messages)][-1].hex()
        if usage is not None:
            finish["usage"] = {name: getattr(usage, name) for name in usage.__struct_fields__}
        return finish

    def _count(self, turn_id: str | None, usage: Usage | None) -> None:
        if usage is not None:
            self.usage = _sum(self.usage, usage)
            if turn_id is not None:
                while len(self._rounds) >= MAX_ROUNDS:
                    del self._rounds[next(iter(self._rounds))]
                self._rounds[turn_id] = _sum(self._rounds.get(turn_id, Usage()), usage)

    def _events(self, request: ChatRequest, answer: ChatAnswer) -> list[dict[str, str]]:
        """Return the calls of tools since the user's words, by name."""
        since = request.messages[(request.user_index or 0) + 1 :]
        called = [wish.name for one in since for wish in one.said.tools] + answer.called
        return [{"name": name[:256].replace("\0", "")} for name in called if name][-MAX_TOOL_EVENTS:]


def _one(headers: Mapping[str, Sequence[str]], name: str) -> str:
    return next((value.strip() for value in headers.get(name, ())), "")


def _role(headers: Mapping[str, Sequence[str]]) -> str:
    return _one(headers, "x-pioneer-role").lower() or "main"


def _names_of(headers: Mapping[str, Sequence[str]], address: ProxyAddress) -> dict[str, str | None]:
    """Return what a request is told to belong to; a header wins over the address."""
    return {
        "workspace_id": _one(headers, "x-pioneer-workspace") or address.workspace_id,
        "agent_id": _one(headers, "x-pioneer-agent") or address.agent_id,
        "thread_id": _one(headers, "x-pioneer-thread") or None,
    }


def _is_understood(headers: Mapping[str, Sequence[str]], names: Mapping[str, str | None]) -> bool:
    """Return whether a request says whose it is in words that are known: a misspelt subagent is no main one."""
    return _role(headers) in ROLES and all(name is None or _ID.fullmatch(name) for name in names.values())


def _session(told: Sequence[str], headers: Mapping[str, Sequence[str]], names: Mapping[str, str]) -> str | None:
    """Return a program's name of the conversation, by the first of its marks that is there."""
    for mark in (*told, "member:conversation"):
        kind, _, name = mark.partition(":")
        found = _one(headers, name) if kind == "header" else names.get(name)
        if found:
            return found[:512]
    return None


def _sum(one: Usage, other: Usage) -> Usage:
    return Usage(
        input_tokens=one.input_tokens + other.input_tokens,
        output_tokens=one.output_tokens + other.output_tokens,
        cached_tokens=one.cached_tokens + other.cached_tokens,
    )
