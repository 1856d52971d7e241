"""The door of MCP: the tools of a turn, called without one.

Rule 1: a call is judged by the very code that judges it in a turn. There is no message of the user here. So what a
model wants remembered becomes a note of its own, unless the user took the prompt `remember`, whose words are theirs, or
said yes to a question that showed them the whole text.
Rule 2: scopes are the user's and one workspace's; other scopes do not exist here.
Rule 3: every call is answered; a defect is answered with the id of its incident in the log.
"""

import re
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from typing import Any, NamedTuple, TypeAlias, TypeVar
from urllib.parse import quote

import anyio
import msgspec

from gateway.base.logs import Log
from gateway.doors.mcp.admin import ADMIN_ANSWERS, admin_text, admin_tools
from gateway.doors.mcp.answers import ANSWERS, ClientView, text_of
from gateway.doors.mcp.pages import PAGE_CHARS, page_of, page_start_of, to_block_text
from gateway.wire.tool_complaints import word_complaints
from gateway.wiring import App
from memory.hooks.policy import turn_policy
from memory.read.standing import order_brief
from promt.intents import Intents
from promt.render import UNSEEN
from protocol.base import Wire
from protocol.conversation.host_turns import ToolFailure, ToolReply
from protocol.conversation.turns import TurnOptions
from protocol.errors import REASONS, CallerError, GatewayError, Unavailable
from protocol.hooks import CALL_PREFIX, ToolContext, TurnContext
from protocol.memory.reads import GetParams, ListParams
from protocol.record import Record
from protocol.seams.callers import enter
from thread_episodic.reading import ShownMessage

WORDS_MS = 10 * 60_000
"""The time for which a prompt's words stand for the user's wish: a slow model calls minutes later."""
MAX_SAVES = 5
"""The number of facts that the words of one prompt may keep: a few that were given together, not a stream."""
MAX_ASKED_CHARS = 2000
"""A user agrees only to a text that they saw whole; the door does not ask about longer ones."""
MAX_CLIENT_NAME = 60
"""The most characters of a client's name in its id."""
CONFIRMATION_NEEDED = "confirmation_needed"

BRIEF_RECORDS = 100
"""The most records of the brief: a page of `memory/list`, which its block cuts to `MAX_RESULT_CHARS`."""
BRIEF_ITEM_CHARS = 280
"""The most characters of one record in the brief."""
EMPTY_BRIEF = "Nothing is remembered yet."

log = Log("mcp")

T = TypeVar("T")

Ask: TypeAlias = Callable[[str], Awaitable[bool | None]]
"""A function that asks the user a question. Returns their yes or no, or None where they cannot be asked."""


class Interruption(Exception):
    """A question that ends the call: the client has to ask its user, and to call again with the answer."""


class Caller(NamedTuple):
    """The client that calls: its name, and the way to ask its user."""

    name: str | None
    ask: Ask
    consent: bool | None = None
    """The user's answer where they were asked about this very call before."""
    can_ask: bool = True
    """False where its client cannot ask the user at all."""


class ToolAnswer(NamedTuple):
    """A tool's answer: a text, and the same as data where it succeeded."""

    text: str
    data: dict[str, Any] | None
    code: str | None = None
    """The reason of a failure."""


class _Words(NamedTuple):
    """The user's words in a prompt, which allow some calls for a while; the default allows none."""

    text: str = ""
    until: int = 0
    """The last millisecond at which they hold."""
    calls: int = 0
    """The calls that they still allow."""


def agent_id_of(client_name: str | None) -> str:
    """Return the agent id of a client's calls; its prefix keeps it apart from the agents of apps."""
    slug = re.sub(r"[^a-z0-9._-]+", "-", (client_name or "").casefold()).strip("-")[:MAX_CLIENT_NAME]
    return f"mcp:{slug}" if slug else "mcp"


def turn_uri(thread_id: str, number: int, start: int = 0) -> str:
    """Return the address of the resource that holds a turn, from its character `start` on."""
    begins = f"?from={start}" if start else ""
    return f"memory://thread/{quote(thread_id, safe='')}/turn/{number}{begins}"


class McpDoor:
    """The tools and resources of a client in one workspace."""

    def __init__(
        self, app: App, workspace_id: str, time_zone: str, view: ClientView, *, is_admin: bool = False
    ) -> None:
        self._app = app
        self._time_zone = time_zone
        self._workspace_id = workspace_id
        self._view = view
        self._conversation = app.base.ids.new("mcp")  # the thread id of all calls of one client's session
        self._admin = word_complaints(admin_tools(app.bound)) if is_admin else {}
        self.answers: Mapping[str, type[Wire]] = {**ANSWERS, **(ADMIN_ANSWERS if is_admin else {})}
        """The type of each offered tool's answer; tools are listed in this order."""
        self._to_remember = _Words()
        self._to_forget = _Words()

    # -- tools -----------------------------------------------------------------------------------------------------

    async def call(self, name: str, arguments: dict[str, Any], caller: Caller) -> ToolAnswer:
        """Call one of `answers`, and return its answer; every failure is an answer, too. Raises `Interruption`."""
        enter("mcp", caller.name)
        try:
            run = {"memory_remember": self._remember, "memory_forget": self._forget}.get(
                name, self._run if name in self._admin else self._read
            )
            return await self._answer(name, await run(name, arguments, caller))
        except Interruption:
            raise
        except GatewayError as error:  # from `_locate_hits`: a tool's own failure is a reply
            return ToolAnswer(f"{error.reason}: {error.message}", None, error.reason)
        except Exception as error:  # noqa: BLE001  # the boundary: a model gets an answer, never a traceback
            return ToolAnswer(f"internal: {REASONS['internal'].message} ({log.incident(error)})", None, "internal")

    async def _answer(self, name: str, reply: ToolReply) -> ToolAnswer:
        """Return a tool's reply in the type that its output schema promises, and as a text."""
        if not reply.ok:
            failed = reply.error or ToolFailure(code="internal", message=REASONS["internal"].message)
            names = self._view.render_names(reply.data.get("candidates", [])) if reply.data else ""
            return ToolAnswer(f"{failed.code}: {failed.message}\n\n{names}".rstrip(), None, failed.code)
        data = dict(reply.data)
        if name == "thread_search":
            data["hits"] = await self._locate_hits(data["hits"])
        plain = msgspec.to_builtins(msgspec.convert(msgspec.to_builtins(data), self.answers[name]))
        text = admin_text(name, plain) if name in self._admin else text_of(name, plain, self._view)
        return ToolAnswer(text, plain)

    async def _locate_hits(self, hits: list[dict[str, Any]]) -> list[dict[str, Any]]:
        """Return the hits, each with the number of its turn and the address of the page that holds it.

        A hit whose turn was deleted meanwhile is left out.
        """
        numbers = await self._app.episodic.turns.numbers(hit["thread_id"] for hit in hits)
        placed: list[dict[str, Any]] = []
        texts: dict[tuple[str, int], list[str]] = {}  # several hits may be of one turn
        for hit in hits:
            with suppress(KeyError, CallerError):  # its turn was deleted this moment
                turn = hit["thread_id"], numbers[hit["turn_id"]]
                if turn not in texts:
                    texts[turn] = [to_block_text(message.text) for message in await self._messages(*turn)]
                placed.append({**hit, "turn": turn[1], "uri": turn_uri(*turn, page_start_of(texts[turn], hit["text"]))})
        return placed

    async def _messages(self, thread_id: str, number: int) -> list[ShownMessage]:
        return await self._app.episodic.turns.read(self._workspace_id, thread_id, number)

    def make_turn(self, client_name: str | None) -> TurnContext:
        """Return the turn that a call is judged in: one of the user's own conversation, of which nothing is stored."""
        return TurnContext(
            workspace_id=self._workspace_id,
            thread_id=self._conversation,
            turn_id=self._app.base.ids.new(CALL_PREFIX),
            agent_id=agent_id_of(client_name),
            task_id=None,
            parent_thread_id=None,
            mode="agent",
            memory_mode="normal",
            origin="user",
            driver="host",
            options=TurnOptions(),
            now=self._app.base.clock.now(),
            time_zone=self._time_zone,
        )

    async def _run(
        self,
        name: str,
        arguments: dict[str, Any],
        caller: Caller,
        words: str = "",
        *,
        agreed: bool = False,
        may_note: bool = False,
    ) -> ToolReply:
        """Call a tool; `words` are the user's own, `agreed` is their yes, `may_note` lets it keep a model's note."""
        turn = self.make_turn(caller.name)
        intents = Intents(forget=bool(words)) if name == "memory_forget" else Intents(remember=bool(words))
        policy = turn_policy(turn, intents)
        context = ToolContext(
            turn=turn, policy=policy, user_text=words, call_id=turn.turn_id, agreed=agreed, may_note=may_note
        )
        reply = await {**self._app.tools, **self._admin}[name](context, name, arguments)
        if not reply.ok or reply.data.get("status") != "rejected":
            return reply
        return msgspec.structs.replace(reply, data={**reply.data, "why": f"pioneer why {turn.turn_id}"})

    async def _read(self, name: str, arguments: dict[str, Any], caller: Caller) -> ToolReply:
        """Call a tool that changes nothing. Raises `Unavailable` at the deadline."""
        return await self._within_deadline(self._run(name, arguments, caller))

    async def _within_deadline(self, work: Awaitable[T]) -> T:
        """Return the result of work that only reads. Raises `Unavailable` at the deadline."""
        deadline_ms = self._app.base.config.config.recall.deadline_ms.mcp
        try:
            with anyio.fail_after(deadline_ms / 1000):
                return await work
        except TimeoutError:
            message = f"Nothing was found within {deadline_ms} ms (`gateway.recall.deadline_ms.mcp`). Try again."
            raise Unavailable(message=message) from None

    async def _remember(self, name: str, arguments: dict[str, Any], caller: Caller) -> ToolReply:
        """Propose a fact with the words of the prompt; ask the user where only their yes is missing.

        Where they cannot be asked, the fact becomes a note of the client's own.
        """
        if caller.consent is False:
            return _decline_keeping(await self._run(name, arguments, caller))
        question = keeping_question(arguments) if caller.can_ask else None
        if caller.consent and question is not None:
            return await self._run(name, arguments, caller, agreed=True)
        reply = await self._propose(name, arguments, caller, may_note=question is None)
        lacks_word = reply.ok and reply.data["reason_code"] == "assistant_inference"
        if not lacks_word or question is None:
            return reply
        is_agreed = await caller.ask(question)
        if is_agreed is None:  # it could not be asked after all
            return await self._run(name, arguments, caller, may_note=True)
        return await self._run(name, arguments, caller, agreed=True) if is_agreed else _decline_keeping(reply)

    async def _propose(self, name: str, arguments: dict[str, Any], caller: Caller, *, may_note: bool) -> ToolReply:
        """Propose a fact with the words of the prompt, and count it where they kept it."""
        words = self._valid_text(self._to_remember)
        reply = await self._run(name, arguments, caller, words, may_note=may_note)
        if words and reply.ok and reply.data["status"] in {"saved", "duplicate"}:
            self._to_remember = self._to_remember._replace(calls=self._to_remember.calls - 1)
        return reply

    async def _forget(self, name: str, arguments: dict[str, Any], caller: Caller) -> ToolReply:
        """Forget a memory by the words of the prompt, which allow one, or by the user's yes to the shown memory."""
        if caller.consent is False:
            return _decline_forgetting()
        if caller.consent:
            return await self._run(name, arguments, caller, agreed=True)
        words = self._valid_text(self._to_forget)
        reply = await self._run(name, arguments, caller, words)
        if not reply.ok or reply.data["status"] != CONFIRMATION_NEEDED:
            if words and reply.ok:
                self._to_forget = _Words()
            return reply
        question = await self._forgetting_question(reply.data["memory_ids"][0], caller)
        is_agreed = await caller.ask(question) if question is not None else None
        if is_agreed is None:
            return reply
        return await self._run(name, arguments, caller, agreed=True) if is_agreed else _decline_forgetting()

    async def _forgetting_question(self, memory_id: str, caller: Caller) -> str | None:
        """Return the question to the user before a memory is forgotten; None where it cannot be shown whole."""
        turn = self.make_turn(caller.name)
        record = (await self._app.memory.turns.get_in_turn(turn, GetParams(memory_id=memory_id))).record
        seen = UNSEEN.sub("", record.content) if record is not None else ""
        return f"Forget this?\n\n{seen}" if 0 < len(seen) <= MAX_ASKED_CHARS else None

    # -- the user's own words --------------------------------------------------------------------------------------

    def allow_remembering(self, words: str) -> None:
        """Let the words in which the user asked to remember something hold for the next calls of `memory_remember`."""
        self._to_remember = _Words(words, self._app.base.clock.now() + WORDS_MS, MAX_SAVES)

    def allow_forgetting(self, words: str) -> None:
        """Let the words in which the user asked to forget something hold for the next call of `memory_forget`."""
        self._to_forget = _Words(words, self._app.base.clock.now() + WORDS_MS, 1)

    def _valid_text(self, words: _Words) -> str:
        """Return the words; empty once their time is over or their calls are used up."""
        return words.text if words.calls > 0 and self._app.base.clock.now() <= words.until else ""

    # -- resources -------------------------------------------------------------------------------------------------

    async def brief(self) -> str:
        """Return a block of the records to know when a session begins. Raises `Unavailable`."""
        memory = self._app.base.config.config.memory
        if not (memory.enabled and memory.tools_enabled):
            raise Unavailable("memory_disabled")
        ordered = order_brief(await self._within_deadline(self._list_unfaded()))
        rows = [msgspec.to_builtins(record) | {"scope": str(record.scope)} for record in ordered]
        return self._view.render_memories(rows, BRIEF_ITEM_CHARS) or EMPTY_BRIEF

    async def _list_unfaded(self) -> list[Record]:
        """Return the most important records of the user that have not faded, most important first."""
        found, cursor = list[Record](), None
        while len(found) < BRIEF_RECORDS:
            params = ListParams(order="importance", limit=BRIEF_RECORDS, voices=["user"], cursor=cursor)
            page = await self._app.memory.turns.list_in_turn(self.make_turn(None), params)
            found += [record for record in page.records if not record.faded]
            cursor = page.next_cursor
            if cursor is None:
                break
        return found[:BRIEF_RECORDS]

    async def render_turn(self, thread_id: str, number: int, start: int = 0) -> str:
        """Return a block of a turn's messages from character `start` on, and the address of the next page.

        Raises `CallerError` for a turn that may not be shown.
        """
        messages = await self._messages(thread_id, number)
        page = page_of([to_block_text(message.text) for message in messages], start)
        if start and not page.pieces:
            raise CallerError.missing("turn")
        rows = [
            {**messages[piece.message]._asdict(), "text": piece.text, "uri": messages[piece.message].item_id}
            for piece in page.pieces
        ]
        rest = turn_uri(thread_id, number, page.end)
        more = f"\n\nThese are characters {start} to {page.end} of {page.total}. It goes on: {rest}"
        return self._view.render_quotations(rows, PAGE_CHARS) + (more if page.end < page.total else "")


def _decline_keeping(reply: ToolReply) -> ToolReply:
    """Return the reply to a proposal that the user declined, with the command that shows how it was judged before."""
    why = reply.data.get("why") if reply.ok else None
    return ToolReply(ok=True, data={"status": "rejected", "reason_code": "no_memory_requested", "why": why})


def _decline_forgetting() -> ToolReply:
    return ToolReply(ok=True, data={"status": "declined", "forgotten_memory_ids": []})


def keeping_question(arguments: Mapping[str, Any]) -> str | None:
    """Return the question to the user before a model's proposal is kept; None where it cannot be shown whole."""
    content = arguments.get("content")
    if not isinstance(content, str):
        return None
    more = {name: arguments[name] for name in ("category", "key", "value", "scope") if arguments.get(name) is not None}
    shown = "\n".join([content, *(f"{name}: {msgspec.json.encode(value).decode()}" for name, value in more.items())])
    seen = UNSEEN.sub("", shown)
    return f"Keep this in your memory?\n\n{seen}" if len(seen) <= MAX_ASKED_CHARS else None
