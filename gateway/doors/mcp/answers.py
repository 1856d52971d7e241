"""Answers of the tools: their types, and a short text of each that a model reads as data.

Rule 1: stored text stands in a block that it cannot leave; the gateway's own words stand outside.
Rule 2: pure; the same answer gives the same text.
Rule 3: the docstrings of types stand in the tools' output schemas, which clients read.
"""

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime, tzinfo
from typing import Annotated, Any, Literal, NamedTuple, TypeAlias, cast

from msgspec import Meta

from memory.rules.notes import NOTE_LABEL
from promt.render import BlockDomain, render_block
from protocol.base import At, Diagnostic, Wire
from protocol.conversation.manifests import SourceRef
from protocol.files.knowledge import Freshness
from protocol.memory.values import ReasonCode
from protocol.record import Category, Kind, Status, Voice
from protocol.shown import ContextItem
from protocol.thread_episodic import IndexedRole, SearchStatus, Understood
from protocol.tools import MAX_RESULT_CHARS

MAX_WHOLE_CHARS = 6000
"""The most characters of the one record that `memory_get` returns."""

Nonce: TypeAlias = Callable[[str], str]
"""A function from a block's text to its mark: the same answer has the same mark, and stored text cannot foresee it."""


AnyJson: TypeAlias = Annotated[
    Any,
    Meta(
        extra_json_schema={
            "anyOf": [{"type": name} for name in ("string", "number", "boolean", "object", "array", "null")]
        }
    ),
]


class Row(Wire):
    """A remembered fact in a list."""

    memory_id: str
    content: str
    category: Category
    key: str
    scope: str
    voice: Voice
    updated_at: At


class FoundRow(Row):
    """A remembered fact that was found."""

    score: float


class WholeRow(Row):
    """A remembered fact, whole."""

    kind: Kind | None = None
    status: Status | None = None
    value: AnyJson = None
    tags: list[str] = []
    confidence: float | None = None
    created_at: At | None = None
    expires_at: At | None = None
    contested: bool = False


class SearchAnswer(Wire):
    """Best first."""

    hits: list[FoundRow]
    note: str
    truncated: bool = False


class ListAnswer(Wire):
    """Newest first; `next_cursor` goes on."""

    records: list[Row]
    next_cursor: str | None
    note: str
    truncated: bool = False


class GetAnswer(Wire):
    """The fact, or null for what does not exist here."""

    record: WholeRow | None
    note: str | None = None
    truncated: bool = False


class RememberAnswer(Wire):
    """The answer of `memory_remember`. `noted`: kept as the caller's own note until the user runs `how_to_confirm`."""

    status: Literal["saved", "duplicate", "noted", "rejected"]
    reason_code: ReasonCode
    memory_id: str | None = None
    how_to_confirm: str | None = None
    why: str | None = None
    """The command by which the user reads how a proposal that was not saved was judged."""


class ForgetAnswer(Wire):
    """The facts that are forgotten; none where the user has to say yes first, to these or by that command.

    `not_found`: there is no such fact, or it may not be seen here.
    """

    forgotten_memory_ids: list[str]
    status: Literal["forgotten", "confirmation_needed", "declined", "not_found"]
    memory_ids: list[str] = []
    command: str | None = None
    same_sentence: list[str] = []
    """Facts that stay, of the same sentence of the user's."""


class SaidRow(Wire):
    """Something that was said in an earlier conversation; `uri` gives the turn, from this place on where it is long."""

    thread_id: str
    turn_id: str
    turn: int
    uri: str
    role: IndexedRole
    at: At
    text: str
    score: float


class ThreadAnswer(Wire):
    """Best first; `diagnostics` says why there are none or not all."""

    hits: list[SaidRow]
    status: SearchStatus
    diagnostics: list[str]
    note: str
    truncated: bool = False
    understood: Understood | None = None
    """The time that was read from the query: what was said then comes first."""


class AgentRow(Wire):
    """An agent in a list."""

    slug: str
    name: str
    description: str


class AgentListAnswer(Wire):
    """By slug."""

    agents: list[AgentRow]
    truncated: bool = False


class AgentInfoAnswer(AgentRow):
    """An agent with its rules."""

    text: str
    truncated: bool = False


class PlaceRow(Wire):
    """A place where a found text stands; lines are counted from 1."""

    collection_id: str
    path: str
    from_line: int
    to_line: int
    page: int | None = None
    """Of a PDF, from 1."""


class RelatedBy(Wire):
    """The link over which something was found."""

    entity_id: str
    kind: str
    strength: float
    direction: Literal["out", "in"]


class KnowledgeRow(Wire):
    """Something that a file, a conversation or memory says. `address` is what `knowledge_read` takes, of a file."""

    address: str
    source: Literal["file", "conversation", "memory", "heartbeat", "consolidation"]
    trust: Literal["untrusted", "claim", "derived"]
    title: str
    heading: list[str]
    locations: list[PlaceRow]
    snippet: str
    score: float
    importance: float
    topics: list[str]
    at: At
    via: RelatedBy | None = None
    contested: bool | None = None


class KnowledgeSearchAnswer(Wire):
    """Best first; `diagnostics` says why there are none or not all."""

    hits: list[KnowledgeRow]
    freshness: Freshness
    diagnostics: list[Diagnostic]
    note: str
    truncated: bool = False


class OutlineRow(Wire):
    """A heading of a file."""

    heading: str
    level: int
    from_line: int


class KnowledgeReadAnswer(Wire):
    """Lines of a file as they are now; `next_line` goes on, and `cut_chars` of the last line are left out."""

    text: str
    collection_id: str
    path: str
    from_line: int
    to_line: int
    total_lines: int
    next_line: int | None
    sha256: str | None
    changed_at: Annotated[int, Meta(description="Unix time in milliseconds, UTC.")] | None
    state: Literal["same", "moved", "changed", "gone"]
    masked: bool
    outline: list[OutlineRow]
    cut_chars: int
    note: str


ANSWERS: Mapping[str, type[Wire]] = {
    "memory_search": SearchAnswer,
    "memory_list": ListAnswer,
    "memory_get": GetAnswer,
    "memory_remember": RememberAnswer,
    "memory_forget": ForgetAnswer,
    "thread_search": ThreadAnswer,
    "agent_list": AgentListAnswer,
    "agent_info": AgentInfoAnswer,
    "knowledge_search": KnowledgeSearchAnswer,
    "knowledge_read": KnowledgeReadAnswer,
}
"""The type of each tool's answer; tools are listed in this order."""

WHY_REJECTED: Mapping[str, str] = {
    "assistant_inference": (
        "a model's word alone keeps nothing, nor does what goes beyond the words of the user: "
        "another fact, value, key or order. The user can keep it with the prompt `remember`, or with `pioneer remember`"
    ),
    "note_would_instruct": (
        "a model's own note tells how things are: never what anybody should do, and nothing in the user's scope. "
        "The user can keep it with the prompt `remember`, or with `pioneer remember`"
    ),
    "no_memory_requested": "the user did not want it kept",
    "secret_detected": "it looks like a secret, or the number of a card, a bank account or an id, "
    "and these are never kept; a label can be, such as \u201cthe blue card\u201d",
    "regulated_needs_request": "such personal data is kept only at the user's own request",
    "own_context_block": "it is a copy of recalled memory",
    "suppressed_by_rejection": "the user rejected or forgot it before",
    "memory_write_disabled": "memory may not be changed here",
}
"""The words for the reasons why a fact was not kept; a reason without a row is named by its code alone."""

HOW_KEPT: Mapping[str, str] = {
    "superseded_by_correction": "Kept, in place of what was remembered before",
    "stored_as_said": "Kept in the user's own words, without `key` and `value`",
}
"""The words for a fact that was kept, but not simply added."""


class ClientView(NamedTuple):
    """The rendering of stored text for one client: each function returns a block, or an empty text without rows."""

    nonce: Nonce
    zone: tzinfo

    def format_day(self, at: int) -> str:
        """Return the day of a time, in Unix milliseconds, as an ISO date in the client's zone."""
        return datetime.fromtimestamp(at / 1000, self.zone).date().isoformat()

    def _render(self, domain: BlockDomain, items: Sequence[ContextItem], max_item_chars: int) -> str:
        text = "\n".join(f"{item.ref.id} {item.text}" for item in items)
        block = render_block(
            domain, items, nonce=self.nonce(text), max_chars=MAX_RESULT_CHARS, max_item_chars=max_item_chars
        )
        return block.text if block is not None else ""

    def render_memories(self, rows: Sequence[Mapping[str, Any]], max_item_chars: int = 400) -> str:
        """Return a block of remembered facts."""
        return self._render("memory", [self._memory_item(row) for row in rows], max_item_chars)

    def _memory_item(self, row: Mapping[str, Any]) -> ContextItem:
        labels = {"scope": row["scope"], "category": row["category"], "at": self.format_day(row["updated_at"])}
        if row["voice"] == "machine":
            labels["voice"] = NOTE_LABEL
        return ContextItem(ref=SourceRef(kind="memory", id=row["memory_id"]), text=row["content"], labels=labels)

    def render_quotations(self, rows: Sequence[Mapping[str, Any]], max_item_chars: int = 400) -> str:
        """Return a block of quotations from conversations."""
        items = [
            ContextItem(
                ref=SourceRef(kind="thread", id=row["uri"]),
                text=row["text"],
                labels={"role": row["role"], "at": self.format_day(row["at"])},
            )
            for row in rows
        ]
        return self._render("thread", items, max_item_chars)

    def render_hits(self, rows: Sequence[Mapping[str, Any]], max_item_chars: int = 360) -> str:
        """Return a block of hits in files, conversations and memory."""
        return self._render("knowledge", [self._hit_item(row) for row in rows], max_item_chars)

    def _hit_item(self, row: Mapping[str, Any]) -> ContextItem:
        labels = {row["source"]: row["address"]}
        if row["heading"]:
            labels[""] = " > ".join(row["heading"])
        page = next((at["page"] for at in row["locations"]), None)
        if page is not None:
            labels["page"] = str(page)
        labels["changed"] = self.format_day(row["at"])
        return ContextItem(ref=SourceRef(kind="file", id=row["address"]), text=row["snippet"], labels=labels)

    def render_names(self, names: Sequence[str]) -> str:
        """Return a block of what a name may have meant."""
        items = [
            ContextItem(ref=SourceRef(kind="file", id=name), text=name, labels={"": "may be meant"}) for name in names
        ]
        return self._render("knowledge", items, MAX_RESULT_CHARS)

    def render_lines(self, data: Mapping[str, Any]) -> str:
        """Return a block of a file's lines, from the answer of `knowledge_read`."""
        place = f"{data['collection_id']}:{data['path']} L{data['from_line']}-L{data['to_line']}"
        item = ContextItem(ref=SourceRef(kind="file", id=place), text=data["text"], labels={"file": place})
        return self._render("knowledge", [item], MAX_RESULT_CHARS)


def _render_search(data: Mapping[str, Any], view: ClientView) -> str:
    return view.render_memories(data["hits"]) or "Nothing is remembered about that."


def _render_list(data: Mapping[str, Any], view: ClientView) -> str:
    more = f"\n\nMore: cursor {data['next_cursor']}" if data["next_cursor"] else ""
    return (view.render_memories(data["records"]) or "Nothing is remembered.") + more


def _render_get(data: Mapping[str, Any], view: ClientView) -> str:
    found = data["record"]
    return view.render_memories([found], MAX_WHOLE_CHARS) if found is not None else "There is no such memory."


def _render_remember(data: Mapping[str, Any], _view: ClientView) -> str:
    if data["status"] == "noted":
        return (
            f"Noted as your own, not as the user's word: {data['memory_id']}. Search finds it; it is in no brief, "
            "and goes to the archive in time. "
            f"Tell the user that `{data['how_to_confirm']}` in a terminal makes it theirs."
        )
    if data["status"] == "rejected":
        why = WHY_REJECTED.get(data["reason_code"])
        more = f" The user can read more by `{data['why']}`." if data["why"] else ""
        return f"Not kept ({data['reason_code']}){f': {why}' if why else ''}.{more}"
    known = "It was known already" if data["status"] == "duplicate" else HOW_KEPT.get(data["reason_code"], "Kept")
    return f"{known}: {data['memory_id']}."


def _render_forget(data: Mapping[str, Any], _view: ClientView) -> str:
    if data["status"] == "confirmation_needed":
        which = ", ".join(data["memory_ids"])
        return (
            f"Not forgotten yet: {which}. Ask the user; they can take the prompt `forget`, or run `{data['command']}`."
        )
    if data["status"] == "declined":
        return "Not forgotten: the user wants to keep it."
    if data["status"] == "not_found" or not data["forgotten_memory_ids"]:
        return "Nothing was forgotten: there is no such memory."
    forgotten = data["forgotten_memory_ids"]
    undo = f" `pioneer restore {forgotten[0]}` brings it back, for some weeks." if len(forgotten) == 1 else ""
    beside = data["same_sentence"]
    rest = f" Of the same sentence stays: {', '.join(beside)}; ask the user whether that goes, too." if beside else ""
    return f"Forgotten: {', '.join(forgotten)}.{undo}{rest}"


def _render_thread_search(data: Mapping[str, Any], view: ClientView) -> str:
    why = f" ({', '.join(data['diagnostics'])})" if data["diagnostics"] else ""
    read = data["understood"]
    days = f"{view.format_day(read['from_at'])} to {view.format_day(read['to_at'])}" if read else ""
    when = f"Read as {read['text']}: {days}.\n\n" if read else ""
    return when + (view.render_quotations(data["hits"]) or f"Nothing was found in earlier conversation{why}.")


def _render_agent_list(data: Mapping[str, Any], _view: ClientView) -> str:
    rows = [f"{one['slug']}: {one['name']}. {one['description']}" for one in data["agents"]]
    return "\n".join(rows) or "No agents are defined."


def _render_agent_info(data: Mapping[str, Any], _view: ClientView) -> str:
    cut = "\n[cut here]" if data["truncated"] else ""
    return f"{data['name']}: {data['description']}\n\n{data['text']}{cut}"


def _describe_diagnostic(one: Mapping[str, Any]) -> str:
    """Return its code, with its counts and ids."""
    values = cast("list[int | list[str]]", [*(one["data"] or {}).values()])
    told = [str(value) if isinstance(value, int) else ", ".join(value) for value in values]
    return ": ".join([one["code"], *told])


def _render_knowledge_search(data: Mapping[str, Any], view: ClientView) -> str:
    hits = view.render_hits(data["hits"])
    # with hits, what was searched is of no interest: only what could not be
    told = [one for one in data["diagnostics"] if not one["message"] and (one["data"] or not hits)]
    why = f" ({', '.join(map(_describe_diagnostic, told))})" if told else ""
    if hits:
        return f"{hits}\n\nThere may be more{why}." if told else hits
    return " ".join([f"Nothing was found{why}.", *(one["message"] for one in data["diagnostics"] if one["message"])])


def _render_knowledge_read(data: Mapping[str, Any], view: ClientView) -> str:
    if data["state"] == "gone":
        lines = f"That file has {data['total_lines']} lines, and not those."
        return lines if data["total_lines"] else "That file is not there any more."
    states = {"moved": "It stands at other lines now. ", "changed": "The file says something else there now. "}
    cut = f"{data['cut_chars']} characters of the last line are left out. " if data["cut_chars"] else ""
    more = f"It goes on at line {data['next_line']} of {data['total_lines']}." if data["next_line"] else ""
    remarks = f"{states.get(data['state'], '')}{cut}{more}".strip()
    return "\n\n".join(part for part in (view.render_lines(data), remarks) if part)


_RENDERERS: Mapping[str, Callable[[Mapping[str, Any], ClientView], str]] = {
    "memory_search": _render_search,
    "memory_list": _render_list,
    "memory_get": _render_get,
    "memory_remember": _render_remember,
    "memory_forget": _render_forget,
    "thread_search": _render_thread_search,
    "agent_list": _render_agent_list,
    "agent_info": _render_agent_info,
    "knowledge_search": _render_knowledge_search,
    "knowledge_read": _render_knowledge_read,
}


def text_of(name: str, data: Mapping[str, Any], view: ClientView) -> str:
    """Return a tool's answer as a short text."""
    return _RENDERERS[name](data, view)
