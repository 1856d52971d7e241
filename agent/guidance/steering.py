"""The guidance of one turn: its folder's instruction files and its agent's definition, gathered before it begins.

Rule 1: a turn whose agent is not valid does not begin. A thread without a folder and without an agent costs nothing
here.
Rule 2: what was gathered becomes hooks of this turn alone, so that the manifest shows it as it shows any hook's.
"""

import os
from collections.abc import Sequence
from typing import Protocol

import anyio.to_thread
from msgspec import Struct

from agent.guidance.agents import Agents, to_refusal
from agent.guidance.definitions import HelperDefinition
from agent.guidance.instructions import InstructionReader, Instructions, Wanted, lines_used
from agent.rows.instructions import (
    InstructionState,
    list_instruction_versions,
    put_instruction_mode,
    read_instruction_state,
)
from agent.rows.statements import LAST
from agent.rows.threads import StoredThread, WorkFolder, get_workspace
from protocol import methods as m
from protocol.base import DEFAULT_WORKSPACE
from protocol.conversation.threads import AgentRef, ThreadStartParams
from protocol.conversation.turns import TurnStartParams
from protocol.conversation.values import Driver, MemoryMode
from protocol.cursors import cut_page, place_of
from protocol.errors import CallerError, GatewayError, Refused
from protocol.guidance import (
    InstructionBudget,
    InstructionCut,
    InstructionFile,
    InstructionsPreviewParams,
    InstructionsPreviewResult,
    InstructionsSetParams,
    InstructionsSetResult,
    InstructionsVersionsParams,
    InstructionsVersionsResult,
    InstructionVersion,
    InvalidAgent,
)
from protocol.hooks import (
    Contribution,
    HookInput,
    HookOutput,
    SectionContribution,
    Subscription,
    diagnostics_of,
)
from protocol.methods import Bound, bind
from protocol.models import Model
from protocol.seams.ports import Transact, Tx

INSTRUCTIONS_HOOK, DEFINITION_HOOK = "agent.instructions", "agent.definition"


class KnownThreads(Protocol):
    """Threads and workspaces of this process, also those that the store did not take."""

    def find_thread(self, tx: Tx, thread_id: str) -> StoredThread | None:
        """Return a thread by id."""
        ...

    def has_workspace(self, tx: Tx, workspace_id: str) -> bool:
        """Return whether there is such a workspace."""
        ...


class TurnGuidance(Struct, frozen=True):
    """The guidance of a turn: its own hooks, and its agent's choice of provider, memory and tools."""

    hooks: Sequence[Subscription] = ()
    text: str = ""
    """All that the hooks add to the prompt; it has budgets of its own."""
    problem: GatewayError | None = None
    """The reason why the turn may not begin."""
    agent: AgentRef | None = None
    provider: str | None = None
    memory_mode: MemoryMode | None = None
    tools: frozenset[str] | None = None
    """The domains whose tools may be seen; None: all."""
    workspace_id: str = DEFAULT_WORKSPACE
    instructions: Instructions | None = None

    def require_sound(self) -> None:
        """Raise where the turn may not begin."""
        if self.problem is not None:
            raise self.problem


NO_GUIDANCE = TurnGuidance()


class Guidance:
    """Gathers what steers turns, and answers the methods of instruction files."""

    def __init__(
        self, *, db: Transact, known: KnownThreads, reader: InstructionReader, agents: Agents, model: Model
    ) -> None:
        self._db = db
        self._known = known
        self._reader = reader
        self._agents = agents
        self._model = model

    def bindings(self) -> list[Bound]:
        """Return the methods of the wire that are answered here."""
        return [
            bind(m.INSTRUCTIONS_PREVIEW, self.preview),
            bind(m.INSTRUCTIONS_SET, self.set_mode),
            bind(m.INSTRUCTIONS_VERSIONS, self.versions),
            *self._agents.bindings(),
        ]

    # -- threads ---------------------------------------------------------------------------------------------------

    async def define(self, params: ThreadStartParams) -> HelperDefinition | InvalidAgent | None:
        """Return the definition that shall act in a new thread; None where none is meant, or none has that name."""
        _require_absolute(params.cwd)
        if not params.agent:
            return None
        if params.agent_id is None:
            raise CallerError.at("$.agent", "Needs `agent_id`, the definition's name")
        return await anyio.to_thread.run_sync(self._agents.read, params.agent_id)

    # -- turns -----------------------------------------------------------------------------------------------------

    async def gather(self, params: TurnStartParams, driver: Driver) -> TurnGuidance:
        """Return the instructions and the agent definition of a turn that is asked for."""
        _require_absolute(params.cwd)

        def look(tx: Tx) -> tuple[StoredThread, Wanted | None] | None:
            found = self._known.find_thread(tx, params.thread_id)
            if found is None:  # the turn is refused where it would begin
                return None
            has_folder = params.cwd is not None or found.folder.cwd is not None or found.folder.files == "auto"
            is_asked = has_folder or found.thread.origin == "task"  # a task has the files of its workspace
            return found, self._read_wanted(tx, found, params.cwd) if is_asked else None

        looked = await self._db.read(look)
        if looked is None or (looked[1] is None and looked[0].thread.agent is None):
            return NO_GUIDANCE
        found, wanted = looked
        return await anyio.to_thread.run_sync(self._gather, found, wanted, params.provider, driver)

    def _read_wanted(self, tx: Tx, found: StoredThread, cwd: str | None) -> Wanted:
        workspace_id = found.thread.workspace_id
        workspace = get_workspace(tx, workspace_id)
        state = read_instruction_state(tx, workspace_id)
        root = workspace.root_path if workspace is not None else None
        return Wanted(workspace_id, root, found.folder, found.thread.origin, cwd, None, state)

    def _gather(self, found: StoredThread, wanted: Wanted | None, provider: str | None, driver: Driver) -> TurnGuidance:
        """Return the guidance of a turn. Reads the disk."""
        thread = found.thread
        try:
            definition = self._find_definition(found)
        except Refused as problem:
            return TurnGuidance(problem=problem)
        by_role = self._agents.provider_of(definition.about.model_role) if definition is not None else None
        instructions = None
        if wanted is not None:
            # the window of a host's own model is not known here
            window = self._window(provider or found.provider or by_role) if driver == "gateway" else None
            instructions = self._read(wanted._replace(window_tokens=window), definition)
        given: dict[str, list[Contribution]] = {}
        if instructions is not None and instructions.off not in {"thread", "no_folder"}:  # as without a folder
            given[INSTRUCTIONS_HOOK] = self._reader.contributions(instructions)
        if definition is not None:
            given[DEFINITION_HOOK] = self._agents.contributions(definition)
        sections = [one for of_hook in given.values() for one in of_hook if isinstance(one, SectionContribution)]
        return TurnGuidance(
            hooks=[_hook(hook_id, contributions) for hook_id, contributions in given.items()],
            text="".join(section.text for section in sections),
            agent=definition.ref if definition is not None else None,
            provider=by_role,
            memory_mode=definition.about.memory_mode if definition is not None else None,
            tools=definition.tools if definition is not None else None,
            workspace_id=thread.workspace_id,
            instructions=instructions,
        )

    def _read(self, wanted: Wanted, definition: HelperDefinition | None) -> Instructions:
        """Return the instructions of a turn in which an agent acts, or none. Reads the disk."""
        takes = definition is None or definition.about.instructions
        return self._reader.read(wanted._replace(agent_takes=takes))

    def _find_definition(self, found: StoredThread) -> HelperDefinition | None:
        """Return the definition by which a thread acts now. Reads the disk. Raises `Refused` where it is not valid."""
        thread = found.thread
        if thread.agent is None:
            return None
        definition = self._agents.for_thread(thread.agent.slug, is_helper=thread.parent_thread_id is not None)
        if definition is None:
            raise Refused("agent_invalid", "The agent's definition is not there any more.")
        if not isinstance(definition, HelperDefinition):
            raise to_refusal(definition)
        return definition

    def _window(self, provider: str | None) -> int | None:
        return self._model.window_tokens("main", provider)

    async def record(self, guidance: TurnGuidance) -> None:
        """Keep which instruction files a turn that has begun is given, where these folders had others."""
        given = guidance.instructions
        if given is None or given.off is not None:
            return
        used = (await self._db.read(lambda tx: read_instruction_state(tx, guidance.workspace_id))).used
        if given.differs(used):
            await self._db.jot(lambda tx: self._reader.record(tx, guidance.workspace_id, given))

    # -- methods ---------------------------------------------------------------------------------------------------

    async def preview(self, params: InstructionsPreviewParams) -> InstructionsPreviewResult:
        """Return the instruction files that a turn would be given now. Raises `CallerError` and `Refused`."""
        _require_absolute(params.cwd)

        def look(tx: Tx) -> tuple[Wanted, StoredThread | None]:
            if params.thread_id is None:
                return self._of_workspace(tx, params), None
            found = self._known.find_thread(tx, params.thread_id)
            if found is None:
                raise CallerError.missing("thread")
            return self._read_wanted(tx, found, params.cwd), found

        wanted, found = await self._db.read(look)
        if params.profile is not None:
            wanted = wanted._replace(folder=wanted.folder._replace(profile=params.profile))
        definition = await anyio.to_thread.run_sync(self._find_definition, found) if found is not None else None
        by_role = self._agents.provider_of(definition.about.model_role) if definition is not None else None
        wanted = wanted._replace(window_tokens=self._window((found.provider if found is not None else None) or by_role))
        given = await anyio.to_thread.run_sync(self._read, wanted, definition)
        files = [
            InstructionFile(
                path=file.path,
                kind=file.kind,
                problem=file.problem,
                used_lines=lines_used(file, given.fitted),
                sha256=file.source.sha256 if file.source is not None else None,
                chars=len(file.source.text) if file.source is not None else 0,
            )
            for file in given.chain.files
        ]
        return InstructionsPreviewResult(
            text=given.text,
            files=files,
            cut=[
                InstructionCut(path=cut.path, from_line=cut.from_line, to_line=cut.to_line, chars=cut.chars)
                for cut in given.fitted.cuts
            ],
            budget=InstructionBudget(limit=given.limit, used=len(given.text)),
            boundary=given.chain.boundary,
            diagnostics=diagnostics_of(self._reader.diagnostics(given)),
        )

    def _of_workspace(self, tx: Tx, params: InstructionsPreviewParams) -> Wanted:
        """Return the instructions that a thread of a workspace would ask for.

        They are those of the folder given, else the workspace's own.
        """
        workspace_id = params.workspace_id or DEFAULT_WORKSPACE
        workspace = get_workspace(tx, workspace_id)
        if workspace is None and params.cwd is None:
            raise CallerError.missing("workspace")
        root = workspace.root_path if workspace is not None else None
        if params.cwd is None and root is None:
            raise CallerError.at("$.cwd", "Needs a folder: the workspace has no `root_path`")
        state: InstructionState = read_instruction_state(tx, workspace_id)
        return Wanted(workspace_id, root, WorkFolder(params.cwd or root), "user", None, None, state)

    async def set_mode(self, params: InstructionsSetParams) -> InstructionsSetResult:
        """Switch the instruction files of a workspace on or off. Raises `CallerError`."""

        def put(tx: Tx) -> None:
            if params.workspace_id != DEFAULT_WORKSPACE and not self._known.has_workspace(tx, params.workspace_id):
                raise CallerError.missing("workspace")
            put_instruction_mode(tx, params.workspace_id, params.mode)

        await self._db.write(put)
        return InstructionsSetResult(workspace_id=params.workspace_id, mode=params.mode)

    async def versions(self, params: InstructionsVersionsParams) -> InstructionsVersionsResult:
        """Return the texts that a file had, newest first. Raises `CallerError`."""
        (before,) = place_of(params.cursor, (LAST,))

        def read(tx: Tx) -> list[tuple[int, InstructionVersion]]:
            if params.workspace_id != DEFAULT_WORKSPACE and not self._known.has_workspace(tx, params.workspace_id):
                raise CallerError.missing("workspace")
            return list_instruction_versions(tx, params.workspace_id, params.path, before, params.limit + 1)

        found = await self._db.read(read)
        page, following = cut_page(found, params.limit, lambda one: (one[0],))
        return InstructionsVersionsResult(versions=[version for _, version in page], next_cursor=following)


def _require_absolute(cwd: str | None) -> None:
    if cwd is not None and not os.path.isabs(cwd):  # noqa: PTH117  # a path as the client's system has it
        raise CallerError.at("$.cwd", "Must be an absolute path")


def _hook(hook_id: str, contributions: Sequence[Contribution]) -> Subscription:
    """Return a hook of one turn that contributes what was gathered; without it the turn fails."""

    async def call(_given: HookInput) -> HookOutput:
        return HookOutput(contributions=list(contributions))

    return Subscription(
        hook_id=hook_id, phase="TurnPrePromptContext", call=call, failure_policy="required", timeout_ms=10_000
    )
