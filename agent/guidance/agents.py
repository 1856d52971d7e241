"""Agent definitions: listed, read, and given to the turns of the threads in which they act.

Rule 1: nothing writes a definition. Both layers are read anew by every call.
Rule 2: `_read_whole` is the one place where the texts of SOUL.md and MEMORY.md are read.
"""

from collections.abc import Callable
from typing import Any

import anyio.to_thread
import msgspec
from msgspec import Struct

from agent.guidance.budget import SteeringText, fit
from agent.guidance.definitions import (
    AGENTS_FILE,
    FILES,
    MEMORY_FILE,
    SOUL_FILE,
    HelperDefinition,
    TopDefinition,
    judge,
    judge_whole,
)
from agent.guidance.ports import AgentShelf, problem
from agent.guidance.source_text import take_out_hidden
from agent.rows.threads import StoredThread
from agent.tools import AGENT_INFO, AGENT_LIST, failure, fits, most_that_fits
from promt import load
from protocol import methods as m
from protocol.conversation.host_turns import ToolReply
from protocol.conversation.manifests import ManifestBudget, SourceRef
from protocol.cursors import cursor_of, place_of
from protocol.errors import CallerError, Refused
from protocol.guidance import (
    Agent,
    AgentPart,
    AgentsGetParams,
    AgentsGetResult,
    AgentsListParams,
    AgentsListResult,
    InvalidAgent,
)
from protocol.hooks import Contribution, DiagnosticContribution, SectionContribution, ToolCall, ToolContext
from protocol.memory.values import Context
from protocol.methods import Bound, bind
from protocol.seams.contexts import require_own_thread
from protocol.seams.ports import Transact, Tx
from protocol.settings import AgentFileSettings, GatewayConfig
from protocol.tools import AgentInfoArgs, AgentListArgs

ROLES = ("main", "preflight", "extractor")
"""Roles of the settings beside those of agents."""


class _Part(Struct, frozen=True):
    """A text of a definition as a section of a prompt."""

    section_id: str
    file: str
    text: str
    sha256: str
    limit: int


def to_refusal(found: InvalidAgent) -> Refused:
    """Return the refusal of a definition that is not valid."""
    problems = ", ".join(one.in_words for one in found.problems)
    return Refused(
        "agent_invalid",
        f"The agent's definition is not valid: {problems}.",
        details={"slug": found.slug, "problems": msgspec.to_builtins(found.problems)},
    )


MOST_LISTED = 256
"""Definitions that are read for one list; the rest is counted."""


class Agents:
    """The definitions of both layers: the wire methods, the tools, and what a turn is given."""

    def __init__(
        self,
        *,
        db: Transact,
        find_thread: Callable[[Tx, str], StoredThread | None],
        shelf: AgentShelf,
        settings: Callable[[], GatewayConfig],
    ) -> None:
        """Take `find_thread` as a function that finds the threads which the store did not take, too."""
        self._db = db
        self._find_thread = find_thread
        self._shelf = shelf
        self._settings = settings

    def bindings(self) -> list[Bound]:
        """Return the methods of the wire that are answered here."""
        return [bind(m.AGENTS_LIST, self.agents_list), bind(m.AGENTS_GET, self.agents_get)]

    def tools(self) -> dict[str, ToolCall]:
        """Return the tools of a model."""
        return {AGENT_LIST: self._tool_list, AGENT_INFO: self._tool_info}

    # -- reading ---------------------------------------------------------------------------------------------------

    def read(self, slug: str) -> HelperDefinition | InvalidAgent | None:
        """Return a definition as helpers, lists and tools may know it; None where there is none. Reads the disk."""
        folder = self._shelf.read(slug, {AGENTS_FILE})
        if folder is None:
            return None
        judged = judge(folder)
        if isinstance(judged, HelperDefinition):
            return msgspec.structs.replace(judged, about=self._with_role(judged.about))
        return judged

    def _read_whole(self, slug: str) -> TopDefinition | InvalidAgent | None:
        """Return a definition with the texts that only its own top thread, and a person, may know. Reads the disk."""
        folder = self._shelf.read(slug, FILES)
        return judge_whole(folder) if folder is not None else None

    def for_thread(self, slug: str, *, is_helper: bool) -> HelperDefinition | InvalidAgent | None:
        """Return the definition by which a thread of that agent acts. Reads the disk."""
        return self.read(slug) if is_helper else self._read_whole(slug)

    def _all(self) -> tuple[list[HelperDefinition | InvalidAgent], int]:
        """Return the first `MOST_LISTED` definitions by slug, and how many more there are. Reads the disk."""
        slugs = list(self._shelf.slugs())
        judged = (self.read(slug) for slug in slugs[:MOST_LISTED])
        return [one for one in judged if one is not None], max(0, len(slugs) - MOST_LISTED)

    def _with_role(self, about: Agent) -> Agent:
        """Return the agent with a note where no provider answers in its role."""
        if about.model_role is None or self.provider_of(about.model_role) is not None:
            return about
        return msgspec.structs.replace(about, problems=[*about.problems, problem("unknown_role", about.model_role)])

    def provider_of(self, role: str | None) -> str | None:
        """Return the provider that answers in a role of a definition; None where `main` does."""
        roles = self._settings().roles
        if role is None:
            return None
        return roles.agents.get(role) or (getattr(roles, role) if role in ROLES else None)

    # -- a turn ----------------------------------------------------------------------------------------------------

    def contributions(self, definition: HelperDefinition) -> list[Contribution]:
        """Return the sections of a prompt that make its model that agent, and what a person should know of them."""
        found: list[Contribution] = []
        for part in _parts(definition, self._settings().agents):
            visible, hidden = take_out_hidden(part.text)
            fitted = fit([SteeringText(part.file, "", visible)], part.limit)
            frame = load(part.section_id)
            text = frame.text.replace("{name}", definition.about.name).replace("{text}", fitted.text)
            found.append(
                SectionContribution(
                    section_id=part.section_id,
                    domain="agent",
                    title=frame.title,
                    text=text if fitted.text else "",
                    verbatim=True,
                    truncated=bool(fitted.cuts),
                    budget=ManifestBudget(name=part.section_id, limit=part.limit, used=len(fitted.text)),
                    source_refs=[
                        SourceRef(kind="agent", id=f"{definition.about.slug}/{part.file}", sha256=part.sha256)
                    ],
                )
            )
            for cut in fitted.cuts:
                said = f"{cut.path}: lines {cut.from_line}-{cut.to_line}"
                data: dict[str, Any] = {"chars": cut.chars}
                found.append(DiagnosticContribution(code="agent_cut", message=said, data=data))
            if hidden:
                count: dict[str, Any] = {"count": sum(hidden.values())}
                said = f"{part.file}: lines {', '.join(map(str, hidden))}"[:400]
                found.append(DiagnosticContribution(code="hidden_characters", message=said, data=count))
        role = definition.about.model_role
        if role is not None and self.provider_of(role) is None:
            found.append(DiagnosticContribution(code="model_role_unset", message=role))
        return found

    # -- methods ---------------------------------------------------------------------------------------------------

    async def agents_list(self, params: AgentsListParams) -> AgentsListResult:
        """Return the agents, by slug, and the definitions that are invalid."""
        (skip,) = place_of(params.cursor, (0,))
        judged, left_out = await anyio.to_thread.run_sync(self._all)
        valid = [one.about for one in judged if isinstance(one, HelperDefinition)]
        page = valid[skip : skip + params.limit]
        return AgentsListResult(
            agents=page,
            invalid=[one for one in judged if isinstance(one, InvalidAgent)],
            left_out=left_out,
            next_cursor=cursor_of(skip + len(page)) if skip + len(page) < len(valid) else None,
        )

    async def agents_get(self, params: AgentsGetParams) -> AgentsGetResult:
        """Return an agent with the parts that were asked for. Raises `CallerError` and `Refused`."""
        is_helper = await self._asks_for_a_helper(params.context)
        if not {"soul", "memory"}.isdisjoint(params.parts):
            if is_helper:  # a helper reads no SOUL.md and no MEMORY.md
                raise Refused("forbidden")
            whole = await anyio.to_thread.run_sync(self._read_whole, params.slug)
        else:
            whole = None
        found = await anyio.to_thread.run_sync(self.read, params.slug)
        if found is None:
            raise CallerError.missing("agent")
        if isinstance(found, InvalidAgent):
            raise to_refusal(found)
        texts: dict[AgentPart, str | None] = {"agents": found.text}
        if isinstance(whole, TopDefinition):
            texts |= {"soul": whole.soul, "memory": whole.memory}
        asked: dict[AgentPart, str] = {
            part: text for part, text in texts.items() if part in params.parts and text is not None
        }
        return AgentsGetResult(agent=found.about, texts=asked)

    async def _asks_for_a_helper(self, context: Context) -> bool:
        """Return whether the thread that asks is a helper's; a call without a thread is none.

        Raises `CallerError` and `Refused("scope_out_of_context")`.
        """
        thread_id = context.thread_id
        if thread_id is None:
            return False
        found = await self._db.read(lambda tx: self._find_thread(tx, thread_id))
        if found is None:
            raise CallerError.missing("thread")
        require_own_thread(context, found.thread.workspace_id)
        return found.thread.parent_thread_id is not None

    # -- tools -----------------------------------------------------------------------------------------------------

    async def _tool_list(self, _context: ToolContext, _name: str, arguments: dict[str, Any]) -> ToolReply:
        try:
            msgspec.convert(arguments, AgentListArgs)
        except msgspec.ValidationError as error:
            return failure("invalid_params", str(error))
        judged, left_out = await anyio.to_thread.run_sync(self._all)
        rows = [
            {"slug": one.about.slug, "name": one.about.name, "description": one.about.description}
            for one in judged
            if isinstance(one, HelperDefinition)
        ]

        def build_data(count: int) -> dict[str, Any]:
            return {"agents": rows[:count], "truncated": count < len(rows) or left_out > 0}

        return ToolReply(ok=True, data=build_data(most_that_fits(len(rows), lambda count: fits(build_data(count)))))

    async def _tool_info(self, _context: ToolContext, _name: str, arguments: dict[str, Any]) -> ToolReply:
        try:
            wanted = msgspec.convert(arguments, AgentInfoArgs)
        except msgspec.ValidationError as error:
            return failure("invalid_params", str(error))
        found = await anyio.to_thread.run_sync(self.read, wanted.slug)
        if found is None:
            return failure("not_found", "There is no such agent.")
        if isinstance(found, InvalidAgent):
            return failure("agent_invalid", "The definition of that agent is not valid.")
        about, text = found.about, take_out_hidden(found.text)[0]

        def build_data(count: int) -> dict[str, Any]:
            data = {"slug": about.slug, "name": about.name, "description": about.description, "text": text[:count]}
            return {**data, "truncated": count < len(text)}

        return ToolReply(ok=True, data=build_data(most_that_fits(len(text), lambda count: fits(build_data(count)))))


def _parts(definition: HelperDefinition, settings: AgentFileSettings) -> list[_Part]:
    """Return the texts of a definition that a prompt gets, each with its budget."""
    parts = [_Part("agent_definition", AGENTS_FILE, definition.text, definition.text_sha256, settings.agents_chars)]
    if isinstance(definition, TopDefinition):
        if definition.soul is not None and definition.soul_sha256 is not None:
            parts.append(_Part("agent_soul", SOUL_FILE, definition.soul, definition.soul_sha256, settings.soul_chars))
        if definition.memory is not None and definition.memory_sha256 is not None:
            parts.append(
                _Part("agent_memory", MEMORY_FILE, definition.memory, definition.memory_sha256, settings.memory_chars)
            )
    return parts
