"""The work of memory on one proxied request: read it, insert blocks of memory within the deadline, keep its answer.

Rule 1: a request that cannot be read, or that a program makes for itself, is passed on as it is; nothing of it is kept.
Rule 2: a turn whose blocks were not there in time is kept as one in which nothing was shown.
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
from gateway.doors.proxy.route import Api, ProxyAddress, Upstream
from gateway.doors.proxy.spool import Spool
from gateway.doors.proxy.tee import READERS, Tee
from gateway.wire.client import CallFailed
from protocol.base import ID_TEXT
from protocol.capture.calls import MAX_CHAIN
from protocol.capture.chain import START, ChainMessage, begin_at, follow_all, without_blocks
from protocol.conversation.turns import Usage
from protocol.conversation.values import MAX_TEXT_CHARS
from protocol.settings import ProxySettings

MODES = frozenset({"normal", "read_only", "ignored"})
ROLES = frozenset({"main", "subagent", "task"})
_ID = re.compile(ID_TEXT)
MAX_TOOL_EVENTS = 256
MAX_CLIENT_CHARS = 64
MAX_SESSION_CHARS = 512
MAX_LABEL_CHARS = 256
"""The lengths that `CaptureSource`, `TurnUpstream` and `ToolEvent` allow."""
NAMED_ANSWER = "previous_response_id"
"""The member of a request that names the answer it goes on from, in place of the messages before it."""
MAX_HELD = 64
"""The most answers with calls of tools whose conversations are held; the oldest is dropped first."""
MAX_OPEN_TURNS = 1000
"""The most turns with calls of tools whose tokens are summed; the oldest is dropped first."""
UTILITY_CHARS = 400
"""Characters of a message's or system text's beginning in which marks of a program's own requests are searched for."""

Outcome: TypeAlias = Literal["recalled", "empty", "late", "down", "off", "skipped"]
Status: TypeAlias = Literal["succeeded", "failed", "provider_failure", "interrupted"]


class RecalledRequest(NamedTuple):
    """The request to be passed on: its body, what memory did, the number of inserted blocks, and its milliseconds."""

    body: bytes
    outcome: Outcome
    blocks: int = 0
    ms: int = 0
    capture: "Capture | None" = None


class Capture(NamedTuple):
    """A captured message, to be stored with its answer."""

    api: Api
    request: ChatRequest
    params: dict[str, Any]
    upstream: Upstream
    said_hash: bytes
    """The chain's hash up to the request's last message; the answer's hash is made of it."""
    turn_id: str | None = None
    reason: Literal["late", "down"] | None = None
    """The reason for which it was passed on without blocks of memory."""
    called: Sequence[str] = ()
    """Tools that were called in earlier requests of the turn and that this one does not hold."""


class EarlierTalk(NamedTuple):
    """The conversation before a request that names an answer in place of the messages before it."""

    links: Sequence[dict[str, str]] = ()
    said_hash: bytes = START
    user_index: int | None = None
    """The index among the links of the user's message whose turn goes on."""
    user_text: str = ""
    called: Sequence[str] = ()


class UserMessage(NamedTuple):
    """The user's message that a request is about."""

    params: dict[str, Any]
    """The parameters of `capture/prepare` that describe it."""
    offset: int
    """The index in the request of the chain's first message; below zero where the request names an answer."""
    said_hash: bytes
    """The chain's hash up to the request's last message."""


class Capturing:
    """Prepares requests and keeps answers."""

    def __init__(self, child: Child, spool: Spool, settings: Callable[[], ProxySettings]) -> None:
        self._child, self._spool, self._settings = child, spool, settings
        self._streaming: set[str] = set()
        """Turns whose answers are being passed on."""
        self._open_usage: dict[str, Usage] = {}
        """The tokens of each open turn so far."""
        self._called: dict[str, EarlierTalk] = {}
        """By the name of an answer that calls tools, the conversation up to its end."""
        self.usage = Usage()
        self.last_turn_at: int | None = None

    def mode_of(self, headers: Mapping[str, Sequence[str]]) -> str:
        """Return the memory mode of a request: that of its header (a misspelt one is `ignored`), else the setting."""
        given = next((value.strip().lower() for value in headers.get("x-pioneer-memory", ()) if value.strip()), None)
        if given is None:
            return self._settings().memory_mode
        return given if given in MODES else "ignored"

    async def prepare(
        self,
        api: Api,
        body: bytes,
        headers: Mapping[str, Sequence[str]],
        address: ProxyAddress,
        upstream: Upstream,
        *,
        is_oauth: bool,
    ) -> RecalledRequest:
        """Return the request to be passed on, within the deadline of the settings."""
        due = time.monotonic() + self._settings().recall_deadline_ms / 1000  # reading the request counts, too
        mode = self.mode_of(headers)
        names = _read_names(headers, address)
        if mode == "ignored" or not _is_valid(headers, names):
            return RecalledRequest(body, "off")
        client = name_of(_one(headers, "user-agent"), names["agent_id"])
        row = client_rows().get(client, ClientRow(agent=[]))
        try:
            request = READERS[api].read_request(body, row.wrappers)
        except UnreadableError:
            return RecalledRequest(body, "skipped")
        earlier = self._find_earlier(request.names.get(NAMED_ANSWER))
        asked = self._find_user_message(request, earlier)
        if asked is None or self._is_utility(request, asked.params["user_text"], row.utility, headers):
            return RecalledRequest(body, "skipped")
        source = self._source(request, headers, names, client, row.session)
        goes_to = _describe_upstream(upstream, request.model)
        params = asked.params | {"source": source, "memory_mode": mode, "upstream": goes_to}
        began = time.monotonic()
        found, reason = await self._ask(params, due)
        ms = round((time.monotonic() - began) * 1000)
        if found is None:
            late = Capture(api, request, params, upstream, asked.said_hash, reason=reason, called=earlier.called)
            return RecalledRequest(body, reason or "late", ms=ms, capture=late)
        if found["recall_status"] == "off" and found["turn"] is None:
            return RecalledRequest(body, "skipped", ms=ms)
        turn_id = found["turn"]["turn_id"] if found["turn"] is not None else None
        if turn_id is not None:
            self._streaming.add(turn_id)
        edits = self._edits(request, asked, found, is_oauth=is_oauth)
        blocks = len(found["blocks"]) + bool(found["brief"])
        capture = Capture(api, request, params, upstream, asked.said_hash, turn_id, called=earlier.called)
        return RecalledRequest(apply(body, edits), "recalled" if blocks else "empty", blocks, ms, capture)

    async def _ask(
        self, params: dict[str, Any], due: float
    ) -> tuple[dict[str, Any] | None, Literal["late", "down"] | None]:
        """Return the answer of `capture/prepare`, or the reason why there is none.

        `due` is a time of the monotonic clock. Where a conversation of the same beginning is being answered, `params`
        get a thread of their own.
        """
        first = self._spool.wait_until_delivered
        try:
            found = await self._child.ask("capture/prepare", params, due - time.monotonic(), first)
            turn = found["turn"]
            is_other = (
                found["is_continuation"]
                and turn is not None
                and turn["turn_id"] in self._streaming
                and params["user_index"] == len(params["chain"]) - 1
            )
            if is_other:  # that turn is being answered, so this is another conversation with the same beginning
                # in the caller's parameters: `capture/finish` has to name the same thread
                params["source"] = {**params["source"], "thread_id": f"thr_{secrets.token_hex(12)}"}
                found = await self._child.ask("capture/prepare", params, due - time.monotonic())
        except Late:
            return None, "late"
        except (Down, CallFailed):
            return None, "down"
        return found, None

    def _is_utility(
        self, request: ChatRequest, words: str, marks: Sequence[str], headers: Mapping[str, Sequence[str]]
    ) -> bool:
        """Return whether a program makes a request for itself, such as one for a title, by its role or its marks."""
        if _role(headers) == "task":
            return True
        texts = (words, *request.system_texts)
        begun = [text[:UTILITY_CHARS].lower().lstrip() for text in texts]
        return any(text.startswith(mark) for text in begun for mark in marks)

    def _source(
        self,
        request: ChatRequest,
        headers: Mapping[str, Sequence[str]],
        names: Mapping[str, str | None],
        client: str,
        session_marks: Sequence[str],
    ) -> dict[str, str]:
        """Return the parameter `source` of a captured message, without empty members."""
        name = client if client != UNKNOWN else (_one(headers, "user-agent") or UNKNOWN)[:MAX_CLIENT_CHARS]
        source = {
            "door": "proxy",
            "client": name,
            "role": _role(headers),
            "session_id": _session(session_marks, headers, request.names),
            **names,
        }
        return {key: value for key, value in source.items() if value}

    def _find_earlier(self, name: str | None) -> EarlierTalk:
        """Return the conversation before a request, given the name of the answer that it goes on from, if any."""
        if not name:
            return EarlierTalk()
        said_hash = begin_at(name)
        return self._called.get(name) or EarlierTalk([{"role": "assistant", "hash": said_hash.hex()}], said_hash)

    def _find_user_message(self, request: ChatRequest, earlier: EarlierTalk) -> UserMessage | None:
        """Return the user's message that a request is about; None where no person said anything."""
        said = [one.said for one in request.messages]
        hashes = follow_all(earlier.said_hash, said)
        links = [*earlier.links, *_links(said, hashes)]
        user, words = earlier.user_index, earlier.user_text
        if request.user_index is not None:
            user, words = len(earlier.links) + request.user_index, request.messages[request.user_index].words
        text = without_blocks(words)[:MAX_TEXT_CHARS].replace("\0", "")
        if user is None or not text.strip():
            return None
        first = max(0, min(user, len(links) - MAX_CHAIN))
        params = {
            "chain": links[first:][:MAX_CHAIN],
            "user_index": user - first,
            "user_text": text,
            "placement": self._settings().placement,
        }
        return UserMessage(params, first - len(earlier.links), [earlier.said_hash, *hashes][-1])

    def _edits(self, request: ChatRequest, asked: UserMessage, found: dict[str, Any], *, is_oauth: bool) -> list[Edit]:
        """Return the edits that insert the brief and the blocks; messages up to a named answer have theirs already."""
        placement = asked.params["placement"]
        user = asked.offset + asked.params["user_index"]
        brief: str | None = found["brief"]
        blocks = {asked.offset + block["index"]: block["text"] for block in found["blocks"]}
        with_system = [text for text in (brief, blocks.get(user) if placement == "system" else None) if text]
        keeps_system = is_oauth or placement == "user" or request.system is None
        has_no_place = placement == "system" and not keeps_system
        texts: dict[int, list[str]] = {} if has_no_place else {at: [text] for at, text in blocks.items()}
        said = [place for place, one in enumerate(request.messages) if one.words and one.point is not None]
        if brief and keeps_system and said:
            texts[said[0]] = [brief, *texts.get(said[0], [])]
        edits = [
            point.edit("\n\n".join(parts))
            for place, parts in texts.items()
            if place >= 0 and (point := request.messages[place].point) is not None
        ]
        if with_system and not keeps_system and request.system is not None:
            edits.append(request.system.edit("\n\n".join(with_system)))
        return edits

    # -- the answer ----------------------------------------------------------------------------------------------------

    async def finish(self, capture: Capture, tee: Tee, status: Status, note_written: Callable[[], None]) -> None:
        """Keep an answer; one that ends in calls of tools leaves its turn open for the next request.

        `note_written` is called once the answer outlives this process.
        """
        if capture.turn_id is not None:
            self._streaming.discard(capture.turn_id)
        finish = self._finish_of(capture, tee.answer(), status)
        if finish is not None:
            self.last_turn_at = round(time.time() * 1000)
            await self._spool.add(finish, note_written)

    def _finish_of(self, capture: Capture, answer: ChatAnswer, status: Status) -> dict[str, Any] | None:
        """Return the parameters of `capture/finish`; None where the turn goes on."""
        if status == "succeeded" and not answer.is_whole:
            status = "provider_failure"
        self._add_usage(capture.turn_id, answer.usage)
        if status == "succeeded" and answer.called:
            self._note_called(capture, answer)
            return None
        usage = self._open_usage.pop(capture.turn_id, None) if capture.turn_id is not None else answer.usage
        finish: dict[str, Any] = {
            "status": status,
            "shown": capture.reason is None,
            "capture": capture.params,
            "tool_events": self._tool_events(capture, answer),
            "upstream": _describe_upstream(capture.upstream, answer.model or capture.request.model),
        }
        if capture.turn_id is not None:
            finish["turn_id"] = capture.turn_id
        if capture.reason is not None:
            finish["recall"] = {"status": "skipped", "reason": capture.reason}
        if answer.text:
            finish["assistant_text"] = answer.text.replace("\0", "")
        if status == "succeeded":
            finish["answer_hash"] = [capture.said_hash, *follow_all(capture.said_hash, answer.messages)][-1].hex()
            if answer.name:
                finish["answer_name"] = begin_at(answer.name).hex()
        if usage is not None:
            finish["usage"] = {name: getattr(usage, name) for name in usage.__struct_fields__}
        return finish

    def _note_called(self, capture: Capture, answer: ChatAnswer) -> None:
        """Hold the conversation up to an answer that calls tools: the next request may name that answer instead."""
        if not answer.name:
            return
        hashes = follow_all(capture.said_hash, answer.messages)
        params = capture.params
        while len(self._called) >= MAX_HELD:
            del self._called[next(iter(self._called))]
        self._called[answer.name] = EarlierTalk(
            [*params["chain"], *_links(answer.messages, hashes)],
            hashes[-1],
            params["user_index"],
            params["user_text"],
            self._tools_of(capture, answer),
        )

    def _add_usage(self, turn_id: str | None, usage: Usage | None) -> None:
        """Add an answer's tokens to those of the process and of its turn."""
        if usage is not None:
            self.usage = _sum(self.usage, usage)
            if turn_id is not None:
                while len(self._open_usage) >= MAX_OPEN_TURNS:
                    del self._open_usage[next(iter(self._open_usage))]
                self._open_usage[turn_id] = _sum(self._open_usage.get(turn_id, Usage()), usage)

    def _tool_events(self, capture: Capture, answer: ChatAnswer) -> list[dict[str, str]]:
        """Return the names of the tools called since the user's message, as `tool_events`."""
        called = [name for name in self._tools_of(capture, answer) if name]
        return [{"name": name[:MAX_LABEL_CHARS].replace("\0", "")} for name in called][-MAX_TOOL_EVENTS:]

    def _tools_of(self, capture: Capture, answer: ChatAnswer) -> list[str]:
        """Return the names of the tools called since the user's message, the answer's last."""
        user = capture.request.user_index
        earlier = capture.called if user is None else ()
        since = capture.request.messages[user + 1 if user is not None else 0 :]
        return [*earlier, *(call.name for one in since for call in one.said.tools), *answer.called]


def _describe_upstream(upstream: Upstream, model: str) -> dict[str, str | None]:
    """Return the member `upstream` of a turn."""
    label = model[:MAX_LABEL_CHARS].replace("\0", "")
    return {"name": upstream.name, "dialect": upstream.settings.dialect, "model": label or None}


def _links(said: Sequence[ChainMessage], hashes: Sequence[bytes]) -> list[dict[str, str]]:
    """Return messages as links of the chain: the role of each, and the hash up to it."""
    return [
        {"role": one.role if one.role in {"user", "assistant"} else "tool", "hash": digest.hex()}
        for one, digest in zip(said, hashes, strict=True)
    ]


def _one(headers: Mapping[str, Sequence[str]], name: str) -> str:
    return next((value.strip() for value in headers.get(name, ())), "")


def _role(headers: Mapping[str, Sequence[str]]) -> str:
    return _one(headers, "x-pioneer-role").lower() or "main"


def _read_names(headers: Mapping[str, Sequence[str]], address: ProxyAddress) -> dict[str, str | None]:
    """Return the workspace, agent and thread that a request names; a header wins over the address."""
    return {
        "workspace_id": _one(headers, "x-pioneer-workspace") or address.workspace_id,
        "agent_id": _one(headers, "x-pioneer-agent") or address.agent_id,
        "thread_id": _one(headers, "x-pioneer-thread") or None,
    }


def _is_valid(headers: Mapping[str, Sequence[str]], names: Mapping[str, str | None]) -> bool:
    """Return whether role and ids of a request are valid: a subagent with a misspelt role must not count as `main`."""
    return _role(headers) in ROLES and all(name is None or _ID.fullmatch(name) for name in names.values())


def _session(marks: Sequence[str], headers: Mapping[str, Sequence[str]], names: Mapping[str, str]) -> str | None:
    """Return a program's own id of the conversation, from the first header or member of its marks that is there."""
    for mark in (*marks, "member:conversation"):
        kind, _, name = mark.partition(":")
        found = _one(headers, name) if kind == "header" else names.get(name)
        if found:
            return found[:MAX_SESSION_CHARS]
    return None


def _sum(one: Usage, other: Usage) -> Usage:
    return Usage(
        input_tokens=one.input_tokens + other.input_tokens,
        output_tokens=one.output_tokens + other.output_tokens,
        cached_tokens=one.cached_tokens + other.cached_tokens,
    )
