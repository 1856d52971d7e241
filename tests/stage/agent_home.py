"""Turns over a real database file: hooks, tools and answers are what a test makes them."""
# ruff: noqa: ARG002  # a port's signature is fixed

import asyncio
import contextlib
import inspect
from collections.abc import AsyncIterator, Callable, Coroutine, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

from clock import SetClock
from fresh import fresh_database
from memory_home import Told

from agent.files.artifacts import Artifacts
from agent.forget.deletion import Deletions
from agent.guidance.agents import Agents
from agent.guidance.instructions import InstructionReader
from agent.guidance.steering import Guidance
from agent.hooks.registration import Registry
from agent.hooks.runtime import HookRuntime
from agent.prompt.ledger import Ledger
from agent.prompt.preflight import Planners
from agent.prompt.preflight_advice import Advisor
from agent.rows.threads import add_workspace
from agent.threads.threads import Neighbours, Threads
from agent.threads.unstored import Unstored
from agent.tools import subscriptions as own_subscriptions
from agent.turns.background import Background
from agent.turns.lifecycle import TurnMeans
from agent.turns.pipeline import Pipeline
from agent.turns.turns import Turns
from gateway.base.ids import SortableIds
from gateway.files.artifact_files import ArtifactFiles
from gateway.files.guidance_files import AgentFolders, InstructionFiles
from gateway.home.keys import HomeKey
from gateway.jobs.queue import Jobs
from gateway.jobs.retry import RetryLimits
from gateway.jobs.runner import JobRunner, Work
from gateway.secrets.scanner import RuleScanner
from gateway.store.database import Database
from protocol.base import Cancelled, Scope
from protocol.conversation.host_turns import ToolReply
from protocol.conversation.items import Item
from protocol.conversation.manifests import SourceRef
from protocol.conversation.threads import ThreadStartParams
from protocol.conversation.turns import TextInput, Turn, TurnItemsParams, TurnParams, TurnStartParams
from protocol.hooks import (
    DurablePlan,
    EpisodicPlan,
    HookCall,
    HookInput,
    HookOutput,
    PromptContext,
    SectionContribution,
    Subscription,
    ToolBundle,
    ToolCall,
    ToolContext,
)
from protocol.models import Deltas, ModelReply, ModelRequest, ToolRequest
from protocol.saying import Saying
from protocol.seams.house_facts import ItemFact
from protocol.seams.ports import Tx
from protocol.settings import AgentSettings, GatewayConfig
from protocol.shown import ContextItem
from protocol.sizes import ConversationSize
from protocol.tools import tool_spec

T = TypeVar("T")
SECONDS = 60.0  # a test that waits longer has failed; nothing here waits for time to pass
TERMINAL = {"turn/completed", "turn/failed", "turn/cancelled"}


class Answers:
    """A model that gives the answers of a list: a reply, an error to raise, or a function of (request, deltas)."""

    def __init__(self, *answers: Any) -> None:
        self.answers = list(answers)
        self.asked: list[ModelRequest] = []
        self.configured = True
        self.pictures = False
        self.tokens: int | None = None

    def is_configured(self, role: str) -> bool:
        return self.configured

    def calls_tools(self, role: str, provider: str | None = None) -> bool:
        return True

    def takes_pictures(self, role: str, provider: str | None = None) -> bool:
        return self.pictures

    def prompt_tokens(self, role: str, provider: str | None = None) -> int | None:
        return self.tokens

    def window_tokens(self, role: str, provider: str | None = None) -> int | None:
        return self.tokens

    async def complete(self, request: ModelRequest, deltas: Deltas | None = None) -> ModelReply:
        self.asked.append(request)
        answer = self.answers.pop(0) if self.answers else ModelReply(text="OK.")
        if isinstance(answer, BaseException):
            raise answer
        if callable(answer):
            made: Any = answer(request, deltas)
            return await made if inspect.isawaitable(made) else made
        if deltas is not None and answer.text:
            deltas.delta(answer.text)
        return answer


def wants(*calls: tuple[str, Any], text: str = "") -> ModelReply:
    """An answer that asks for tools."""
    made = [ToolRequest(call_id=f"call_{n}", name=name, arguments=given) for n, (name, given) in enumerate(calls, 1)]
    return ModelReply(text=text, tool_calls=made)


class Lived(NamedTuple):
    """A finished turn and its items."""

    turn: Turn
    items: list[Item]


class NothingForgotten:
    """A home in which nothing was ever forgotten, and whose files hold nothing. Satisfies `Forgettings`."""

    def generation(self, tx: Tx) -> int:
        return 0

    def is_forgotten(self, tx: Tx, workspace_id: str, thread_id: str, since: int) -> bool:
        return False

    def find_erased(self, tx: Tx, texts: Sequence[str], since: int) -> Saying:
        return Saying(())

    def forget_thread(self, tx: Tx, thread_id: str) -> list[Cancelled]:
        return []

    def forget_workspace(self, tx: Tx, workspace_id: str) -> None:
        pass

    def erase_part(self, tx: Tx, scope: Scope) -> Mapping[str, int]:
        return {}

    def promise(self, tx: Tx) -> None:
        pass

    async def keep_promise(self) -> bool:
        return True


class AgentHome:
    """Everything under the turns of one process."""

    def __init__(
        self,
        path: Path,
        *,
        model: Answers,
        hooks: Sequence[Subscription] = (),
        tools: Mapping[str, ToolCall] | None = None,
        plan: Sequence[str] = (),
        owner: str = "own_1",
        max_rounds: int = 4,
        clock: SetClock | None = None,
    ) -> None:
        self.clock = clock or SetClock()
        self.ids = SortableIds(self.clock)
        self.db = Database(path)
        self.told: list[Told] = []
        self.facts: list[ItemFact] = []
        self.incidents: list[type[BaseException]] = []  # an error itself would keep all its frames
        self.tasks: list[asyncio.Task[Any]] = []
        self.model = model
        self.key = HomeKey(b"k" * 32)
        self.ledger = Ledger(self.key)
        self.jobs = Jobs(self.ids, self.clock, "own_test")
        self.settings = GatewayConfig(
            agent=AgentSettings(max_rounds=max_rounds, context_chars=2000, history_turns_min=0)
        )
        self.tell: Callable[[str, Any], object] = lambda _method, _params: None
        """A test's answer to a notification, given before it counts as sent."""
        self.marks: dict[str, bytes] | None = None
        """The check that vouches for sources; without one, all of them are as they were."""
        self._news = asyncio.Event()
        self.runtime = HookRuntime(
            registry=Registry([*hooks, *own_subscriptions()]),
            ids=self.ids,
            clock=self.clock,
            incident=self.incident,
            mask=lambda text: text.replace("hunter2", "***"),
            is_strict=lambda: self.settings.memory.strict_diagnostics_enabled,
        )
        self.background = Background(
            db=self.db,
            clock=self.clock,
            jobs=self.jobs,
            runtime=self.runtime,
            ledger=self.ledger,
            notify=self.notify,
            on_items=lambda _tx, facts: self.facts.extend(facts),
        )
        self.files = ArtifactFiles(path.parent / "artifacts")
        self.artifacts = Artifacts(
            db=self.db,
            ids=self.ids,
            jobs=self.jobs,
            files=self.files,
            settings=lambda: self.settings.artifacts,
            forgettings=NothingForgotten(),
        )
        neighbours = Neighbours(
            on_items=lambda _tx, facts: self.facts.extend(facts),
            on_items_removed=lambda _tx, _ids: None,
            on_thread_deleted=[self.artifacts.on_thread_deleted],
        )
        planners = Planners(lambda _text, _context: (DurablePlan(), list(plan)), lambda _text, _context: EpisodicPlan())
        settings = lambda: self.settings  # noqa: E731
        nothing = ConversationSize(threads=0, chunks=0, oldest_at=None)
        advisor = Advisor(
            model, list(tools or {}), self.db, lambda _tx, _turn: [], lambda _tx, _turn: nothing, self.incident
        )
        unstored = Unstored()
        means = TurnMeans(
            db=self.db,
            clock=self.clock,
            ids=self.ids,
            background=self.background,
            ledger=self.ledger,
            artifacts=self.artifacts,
            notify=self.notify,
            on_items=neighbours.on_items,
            settings=settings,
            owner=owner,
            incident=self.incident,
            unstored=unstored,
            find_erased=NothingForgotten().find_erased,
        )
        pipeline = Pipeline(runtime=self.runtime, planners=planners, advisor=advisor, settings=settings)
        shelf = AgentFolders(lambda: path.parent / "agents")
        agents = Agents(db=self.db, find_thread=unstored.find_thread, shelf=shelf, settings=settings)
        reader = InstructionReader(
            disk=InstructionFiles(),
            scanner=RuleScanner(),
            clock=self.clock,
            notify=self.notify,
            settings=lambda: self.settings.instructions,
        )
        self.guidance = Guidance(db=self.db, known=unstored, reader=reader, agents=agents, model=model)
        self.turns = Turns(
            means,
            pipeline=pipeline,
            model=model,
            tools=tools or {},
            spawn=self.spawn,
            mask=lambda text: text,
            marks=self.marks_of,
            guidance=self.guidance,
        )
        self.threads = Threads(
            db=self.db,
            clock=self.clock,
            ids=self.ids,
            neighbours=neighbours,
            unstored=unstored,
            define=self.guidance.define,
        )
        self.deletions = Deletions(
            db=self.db, jobs=self.jobs, neighbours=neighbours, forgettings=NothingForgotten(), settle=self.turns.settle
        )
        self.runner = JobRunner(
            db=self.db,
            clock=self.clock,
            owner=owner,
            bell=self.jobs.bell,
            work={"hook_run": Work(self.background.run), "sweep": Work(self.artifacts.sweep)},
            limits=lambda _kind: RetryLimits(1000, 1000, 5),
            on_paused=lambda _component, _reason: None,
            on_resumed=lambda _component: None,
        )

    def incident(self, error: BaseException) -> str:
        self.incidents.append(type(error))
        return "inc_1"

    def notify(self, method: str, params: Any) -> None:
        self.tell(method, params)
        self.told.append(Told(method, params))
        self._news.set()

    def marks_of(self, _tx: Tx, refs: Sequence[SourceRef]) -> dict[str, bytes]:
        return {ref.id: b"" for ref in refs} if self.marks is None else self.marks

    def spawn(self, work: Callable[[], Any], name: str) -> None:
        self.tasks.append(asyncio.ensure_future(work()))

    # -- a turn ----------------------------------------------------------------------------------------------------

    async def open(self, thread_id: str = "thr_1", workspace_id: str | None = "ws_1", **changes: Any) -> str:
        await self.db.write(lambda tx: add_workspace(tx, "ws_1", self.clock.now()))
        started = await self.threads.thread_start(
            ThreadStartParams(workspace_id=workspace_id, thread_id=thread_id, **changes)
        )
        return started.thread.thread_id

    def start(self, text: str = "hello", **changes: Any) -> TurnStartParams:
        return TurnStartParams(**{"thread_id": "thr_1", "input": [TextInput(text=text)]} | changes)

    async def begin(self, text: str = "hello", **changes: Any) -> str:
        return (await self.turns.turn_start(self.start(text, **changes))).turn.turn_id

    async def live(self, text: str = "hello", **changes: Any) -> Lived:
        """Run a turn to its end."""
        return await self.end_of(await self.begin(text, **changes))

    async def end_of(self, turn_id: str) -> Lived:
        await self.until(lambda: TERMINAL & set(self.methods(turn_id)))
        return await self.lived(turn_id)

    async def lived(self, turn_id: str) -> Lived:
        turn = (await self.threads.turn_get(TurnParams(turn_id=turn_id))).turn
        items = (await self.threads.turn_items(TurnItemsParams(turn_id=turn_id, limit=100))).items
        return Lived(turn, items)

    async def until(self, holds: Callable[[], Any]) -> None:
        async with asyncio.timeout(SECONDS):
            while not holds():
                self._news.clear()
                await self._news.wait()

    async def drain(self) -> None:
        result = await self.runner.drain(SECONDS)
        assert result.idle

    # -- looking ---------------------------------------------------------------------------------------------------

    def of(self, turn_id: str) -> list[Told]:
        return [one for one in self.told if getattr(one.params, "turn_id", None) == turn_id]

    def methods(self, turn_id: str) -> list[str]:
        return [one.method for one in self.of(turn_id)]

    def check_story(self, turn_id: str) -> None:
        """Every promise about the notifications of a turn that has ended."""
        told = self.of(turn_id)
        assert [one.params.seq for one in told] == list(range(1, len(told) + 1))
        assert told[0].method == "turn/started"
        ends = [n for n, one in enumerate(told) if one.method in TERMINAL]
        assert len(ends) == 1
        assert {one.method for one in told[ends[0] + 1 :]} <= {"turn/post_completed"}
        assert sum(one.method == "turn/post_completed" for one in told) <= 1
        whole = [one.params.item_id for one in told if one.method == "item/completed"]
        assert len(set(whole)) == len(whole)
        begun = [one.params.item_id for one in told if one.method == "item/started"]
        assert sorted(begun) == sorted(whole)
        steps = [(one.params.item_id, one.method) for one in told if one.method in {"item/started", "item/completed"}]
        assert all(steps.index((one, "item/started")) < steps.index((one, "item/completed")) for one in whole)

    async def rows(self, statement: str) -> list[tuple[Any, ...]]:
        return await self.db.read(lambda tx: tx.all(statement))

    # -- life ------------------------------------------------------------------------------------------------------

    @contextlib.asynccontextmanager
    async def running(self) -> AsyncIterator["AgentHome"]:
        """With the workers of background jobs at work."""
        worker = asyncio.ensure_future(self.runner.run())
        try:
            yield self
        finally:
            worker.cancel()
            await asyncio.gather(worker, return_exceptions=True)

    async def close(self) -> None:
        for task in self.tasks:
            task.cancel()
        await asyncio.gather(*self.tasks, return_exceptions=True)
        self.db.close()


def play(folder: Path, scene: Callable[[AgentHome], Coroutine[Any, Any, T]], *answers: Any, **given: Any) -> T:
    """Run a scene on a fresh home with an open thread, the workers at work."""

    async def whole() -> T:
        home = AgentHome(fresh_database(folder), model=Answers(*answers), **given)
        try:
            async with home.running():
                await home.open()
                return await scene(home)
        finally:
            await home.close()

    return asyncio.run(whole())


# -- hooks and tools that tests share
# -----------------------------------------------------------------------------------

TOOLS = ("memory_search", "memory_get", "memory_list")


async def offers_tools(_given: HookInput) -> HookOutput:
    return HookOutput(contributions=[ToolBundle(domain="memory", tools=[tool_spec(name) for name in TOOLS])])


def recalls(**facts: str) -> HookCall:
    async def call(_given: HookInput) -> HookOutput:
        items = [ContextItem(ref=SourceRef(kind="memory", id=name), text=text) for name, text in facts.items()]
        context = PromptContext(
            context_id="c",
            domain="memory",
            items=items,
            max_chars=1500,
            max_item_chars=280,
            status="recalled",
            reason="recalled",
        )
        return HookOutput(contributions=[context])

    return call


async def explains(_given: HookInput) -> HookOutput:
    section = SectionContribution(section_id="memory_recall", domain="memory", title="Memory", text="How to use it.")
    return HookOutput(contributions=[section])


BUNDLE = Subscription(hook_id="t.tools", phase="TurnPreToolMaterialization", call=offers_tools)
RECALL = Subscription(hook_id="t.recall", phase="TurnPrePromptContext", call=recalls(mem_1="Likes tea"))
RECALL_TWO = Subscription(
    hook_id="t.recall", phase="TurnPrePromptContext", call=recalls(mem_1="Likes tea", mem_2="Likes rye")
)
SECTION = Subscription(hook_id="t.section", phase="TurnPrePromptCompile", call=explains)


async def echoes(_context: ToolContext, name: str, arguments: dict[str, Any]) -> ToolReply:
    return ToolReply(ok=True, data={"name": name, **arguments})
