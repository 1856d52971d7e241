"""The composition root: builds every object once and joins the houses. Nothing here decides anything.

Rule 1: siblings meet only here and, durable memory with what it reads of turns, in `gateway.memory_core`; by the shapes of `protocol/`.
Rule 2: a method that is bound in neither does not exist for a client.
"""

from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from functools import partial
from typing import Any

from agent.artifact_tool import ArtifactTool, artifact_hooks
from agent.artifacts import Artifacts
from agent.background import Background
from agent.deletion import Deletions
from agent.imports import Imports
from agent.pipeline import Pipeline
from agent.preflight import Planners
from agent.preflight_advice import Advisor
from agent.registration import Registry
from agent.runtime import HookRuntime
from agent.store import (
    items_after,
    read_artifacts,
    read_items,
    read_thread,
    thread_names,
    thread_turns,
    turn_items,
    workspace_exists,
    workspace_threads,
)
from agent.threads import Neighbours, Threads
from agent.tools import subscriptions as agent_subscriptions
from agent.turns import Turns
from gateway.artifact_files import ArtifactFiles
from gateway.degraded import Health
from gateway.foreground import Foreground
from gateway.index_watch import IndexWatch, reporter
from gateway.job_runner import Handler, JobRunner
from gateway.logs import Log
from gateway.memory_core import MemoryCore
from gateway.owners import living
from gateway.pdf_text import PdfText
from gateway.providers import Providers
from gateway.retry import limits_of
from gateway.rpc import Bound, bind
from gateway.shell import Shell
from gateway.spaces import searched
from gateway.sqlite import Trouble
from gateway.written_dates import WrittenDates
from memory.hooks import build as memory_hooks
from memory.planning import propose_durable
from memory.service import MemoryService
from memory.vectors import SUBJECT as MEMORY_VECTORS
from promt.phrases import detect
from protocol import methods as m
from protocol.base import Empty
from protocol.gateway import HooksListResult
from protocol.hooks import Marks, ToolCall
from protocol.ports import Tx
from protocol.settings import GatewayConfig
from protocol.threads import SourceRef
from thread_episodic.hooks import build_hooks as episodic_hooks
from thread_episodic.planning import make_planner
from thread_episodic.service import EpisodicService
from thread_episodic.tools import THREAD_SEARCH, ThreadSearchTool
from thread_episodic.vectors import SUBJECT as EPISODIC_VECTORS

log = Log("gateway")


@dataclass(frozen=True, kw_only=True)
class App(MemoryCore):
    """A gateway, put together."""

    runner: JobRunner
    episodic: EpisodicService
    background: Background
    artifacts: Artifacts
    turns: Turns
    shell: Shell
    watch: IndexWatch
    tools: Mapping[str, ToolCall]
    """The tools of memory and conversation, for a model that is at another door than a turn's."""
    bound: dict[str, Bound]


def build(core: MemoryCore) -> App:
    """Build every other object upon durable memory and join them."""
    base, client, outbox, health, jobs = core.base, core.client, core.outbox, core.health, core.jobs
    lexicon, ledger, embedding, memory = core.lexicon, core.ledger, core.embedding, core.memory
    db, clock, ids, config = base.database, base.clock, base.ids, base.config
    foreground = Foreground()

    def settings() -> GatewayConfig:
        return config.config

    runner = JobRunner(
        db=db,
        clock=clock,
        owner=base.owners.owner,
        limits=lambda kind: limits_of(kind, settings().thread_episodic),
        on_paused=health.degrade,
        on_resumed=health.recover,
        let_pass=foreground.let_pass,
    )
    jobs.wake = runner.wake

    read_date = WrittenDates()
    episodic = EpisodicService(
        db=db,
        clock=clock,
        ids=ids,
        keyed=base.key,
        lexicon=lexicon,
        meaning=embedding,
        scanner=base.scanner,
        jobs=jobs,
        notify=outbox.notify,
        settings=lambda: settings().thread_episodic,
        read_items=read_items,
        read_thread=read_thread,
        workspace_exists=workspace_exists,
        echo_spans=ledger.echo_spans,
        turn_items=turn_items,
        thread_turns=thread_turns,
        workspace_threads=workspace_threads,
        thread_names=thread_names,
        read_artifacts=read_artifacts,
        paused=lambda: runner.paused("index"),
        items_after=items_after,
        searched_space=searched,
        report_damage=reporter(health, "thread_episodic"),
        time_zone=client.time_zone,
        read_date=read_date,
    )

    def queue_repairs(tx: Tx) -> None:
        jobs.enqueue(tx, "repair", "deep")
        episodic.repair.queue(tx)
        jobs.hurry(tx, kinds=("repair", "index", "embed"))

    async def have_repaired() -> None:
        await db.note(queue_repairs)

    watch = IndexWatch(
        db=db, looks={"memory": memory.look_at_index, "thread_episodic": episodic.repair.look},
        health=health, spawn=outbox.spawn, queue_repairs=have_repaired,
        is_alone=lambda: living(base.home.run) == [base.owners.owner], restored=base.restored,
    )  # fmt: skip
    core.on_redacted.append(episodic.on_redacted)
    core.searched.append(episodic.reasons)
    model = Providers(config=settings, folder=config.folder, views=lambda: config.view().providers, clock=clock)
    memory_subscriptions, memory_tools = memory_hooks(memory.turns, settings, model)
    artifacts = Artifacts(
        db=db, ids=ids, jobs=jobs, files=ArtifactFiles(base.home.artifacts), settings=lambda: settings().artifacts,
        forgettings=memory.deleted,
    )  # fmt: skip
    artifact_subscriptions, artifact_tools = artifact_hooks(
        ArtifactTool(db=db, reading=artifacts.reading, read_pdf=PdfText(), scanner=base.scanner)
    )
    registry = Registry(
        [*memory_subscriptions, *episodic_hooks(episodic, settings), *agent_subscriptions(), *artifact_subscriptions]
    )
    runtime = HookRuntime(
        registry=registry, ids=ids, clock=clock, incident=log.incident, mask=base.scanner.mask,
        is_strict=lambda: settings().memory.strict_diagnostics_enabled,
    )  # fmt: skip
    background = Background(
        db=db, clock=clock, jobs=jobs, runtime=runtime, ledger=ledger, notify=outbox.notify,
        on_items=episodic.on_items, time_zone=client.time_zone,
    )  # fmt: skip
    core.on_cancelled.append(background.end_runs)
    neighbours = Neighbours(
        on_items=episodic.on_items,
        on_items_removed=episodic.on_items_removed,
        on_thread_deleted=[episodic.on_thread_deleted, artifacts.on_thread_deleted],
        on_workspace_deleted=[episodic.on_workspace_deleted],
    )
    imports = Imports(db=db, clock=clock, ledger=ledger, neighbours=neighbours, forgettings=memory.deleted)
    planners = Planners(propose_durable, make_planner(lambda text: detect(text).refers_to_history, read_date))
    advisor = Advisor(model, [*memory_tools, *artifact_tools], db, memory.turns.sizes, episodic.size, log.incident)
    turns = Turns(
        db=db, clock=clock, ids=ids,
        pipeline=Pipeline(runtime=runtime, planners=planners, advisor=advisor, settings=settings),
        background=background, ledger=ledger, artifacts=artifacts, model=model,
        tools={**memory_tools, **artifact_tools}, notify=outbox.notify, spawn=outbox.spawn,
        on_items=episodic.on_items, settings=settings, owner=base.owners.owner, time_zone=client.time_zone,
        incident=log.incident, mask=base.scanner.mask, marks=_marks(memory, episodic),
    )  # fmt: skip
    threads = Threads(db=db, clock=clock, ids=ids, neighbours=neighbours, default_workspace=client.workspace)
    deletions = Deletions(
        db=db, jobs=jobs, neighbours=neighbours, forgettings=memory.deleted, settle=turns.settle
    )  # fmt: skip
    db.tell = _storage(
        health,
        partial(runner.resume_all, "storage"),
        embedding.try_again,
        partial(outbox.spawn, turns.settle, "settle"),
    )
    runner.handle("index", episodic.index, lambda: _index_gate(settings()), together=episodic.index_together)
    runner.handle("hook_run", background.run)
    runner.handle("erase_finish", memory.finish_erase)
    repair = _by_subject({"quick": memory.repair, "deep": memory.repair, EPISODIC_VECTORS: episodic.repair.work})
    runner.handle("repair", lambda handle: watch.beyond_damage(lambda: repair(handle)))
    runner.handle("delete", deletions.go_on)
    runner.handle("embed", _by_subject({MEMORY_VECTORS: memory.vectors.fill, EPISODIC_VECTORS: episodic.vectors.fill}))
    embedding.houses.append(episodic.vectors)
    runner.handle("sweep", artifacts.sweep)
    shell = Shell(
        base=base, client=client, health=health, embedding=embedding, runner=runner, providers=model, threads=threads,
        background=background, sweep=memory.sweep, repair_state=memory.repair_state, spawn=outbox.spawn,
    )  # fmt: skip
    entries = [
        *core.questions(),
        bind(m.WORKSPACE_DELETE, deletions.workspace_delete),
        bind(m.THREAD_DELETE, deletions.thread_delete),
        *_bound(shell, threads, imports, turns, artifacts, memory, episodic, registry),
    ]
    bound = {entry.method.name: _after(shell.refresh_settings, entry, foreground) for entry in entries}
    shell.methods = list(bound)
    return App(
        **vars(core),
        runner=runner,
        episodic=episodic,
        background=background,
        artifacts=artifacts,
        turns=turns,
        shell=shell,
        watch=watch,
        tools={**memory_tools, THREAD_SEARCH: ThreadSearchTool(episodic)},
        bound=bound,
    )


def _by_subject(handlers: Mapping[str, Handler]) -> Handler:
    """The handler of a kind of work that several houses have: the job's subject says whose it is."""
    return lambda handle: handlers[handle.job.subject](handle)


def _storage(health: Health, *again: Callable[[], None]) -> Callable[[Trouble | None], None]:
    """Who hears that the store is in trouble, and what goes on when it works again."""

    def tell(trouble: Trouble | None) -> None:
        if trouble is not None:
            health.degrade("storage", trouble)
            return
        health.recover("storage")
        for go_on in again:
            go_on()

    return tell


def _marks(memory: MemoryService, episodic: EpisodicService) -> Marks:
    """What vouches for the sources of a prompt: each house for its own."""

    def marks(tx: Tx, refs: Sequence[SourceRef]) -> dict[str, bytes]:
        of_memories = memory.turns.marks(tx, [ref.id for ref in refs if ref.kind == "memory"])
        return of_memories | episodic.marks(tx, [ref.id for ref in refs if ref.kind == "chunk"])

    return marks


def _index_gate(config: GatewayConfig) -> tuple[str, str] | None:
    """What holds the index queue: the switch that stops indexing."""
    return None if config.thread_episodic.indexing_enabled else ("thread_episodic", "indexing_disabled")


def _bound(
    shell: Shell,
    threads: Threads,
    imports: Imports,
    turns: Turns,
    artifacts: Artifacts,
    memory: MemoryService,
    episodic: EpisodicService,
    registry: Registry,
) -> list[Bound]:
    """Every method but the questions to memory, with the service function that answers it."""

    async def hooks_list(_params: Empty) -> HooksListResult:
        return HooksListResult(subscriptions=registry.views())

    return [
        bind(m.INITIALIZE, shell.initialize),
        bind(m.PING, shell.ping),
        bind(m.SHUTDOWN, shell.shutdown),
        bind(m.STATUS, shell.status),
        bind(m.DRAIN, shell.drain),
        bind(m.SETTINGS_GET, shell.settings_get),
        bind(m.SETTINGS_UPDATE, shell.settings_update),
        bind(m.WORKSPACE_CREATE, threads.workspace_create),
        bind(m.WORKSPACE_LIST, threads.workspace_list),
        bind(m.WORKSPACE_GET, threads.workspace_get),
        bind(m.THREAD_START, threads.thread_start),
        bind(m.THREAD_GET, threads.thread_get),
        bind(m.THREAD_LIST, threads.thread_list),
        bind(m.THREAD_UPDATE, threads.thread_update),
        bind(m.THREAD_HISTORY, threads.thread_history),
        bind(m.THREAD_IMPORT, imports.thread_import),
        bind(m.TURN_START, turns.turn_start),
        bind(m.TURN_PREPARE, turns.turn_prepare),
        bind(m.TURN_TOOL_CALL, turns.turn_tool_call),
        bind(m.TURN_FINISH, turns.turn_finish),
        bind(m.TURN_CANCEL, turns.turn_cancel),
        bind(m.TURN_GET, threads.turn_get),
        bind(m.TURN_ITEMS, threads.turn_items),
        bind(m.ARTIFACT_LIST, artifacts.artifact_list),
        bind(m.ARTIFACT_GET, artifacts.artifact_get),
        bind(m.ARTIFACT_DELETE, artifacts.artifact_delete),
        bind(m.MEMORY_REMEMBER, memory.remember),
        bind(m.MEMORY_WRITE, memory.write),
        bind(m.MEMORY_NOTE, memory.notes.note),
        bind(m.MEMORY_CONFIRM, memory.notes.confirm),
        bind(m.MEMORY_UPDATE, memory.update),
        bind(m.CANDIDATES_LIST, memory.candidates.list_candidates),
        bind(m.CANDIDATES_GET, memory.candidates.get),
        bind(m.CANDIDATES_DECIDE, memory.candidates.decide),
        bind(m.CANDIDATES_APPROVE, memory.candidates.approve),
        bind(m.CANDIDATES_REJECT, memory.candidates.reject),
        bind(m.CANDIDATES_EDIT, memory.candidates.edit_and_approve),
        bind(m.CANDIDATES_MERGE, memory.candidates.merge),
        bind(m.CANDIDATES_SUPPRESS, memory.candidates.suppress_similar),
        bind(m.MEMORY_FORGET, memory.forget),
        bind(m.MEMORY_RESTORE, memory.restore),
        bind(m.MEMORY_EXPORT, memory.export_bundle),
        bind(m.MEMORY_IMPORT, memory.import_bundle),
        bind(m.EPISODIC_SEARCH, episodic.search),
        bind(m.EPISODIC_STATUS, episodic.status),
        bind(m.EPISODIC_JOBS, episodic.list_jobs),
        bind(m.EPISODIC_RETRY, episodic.retry),
        bind(m.EPISODIC_REINDEX, episodic.reindex),
        bind(m.EPISODIC_EXCLUDE, episodic.exclude),
        bind(m.EPISODIC_UNEXCLUDE, episodic.unexclude),
        bind(m.HOOKS_LIST, hooks_list),
        bind(m.HOOKS_RUNS, threads.hook_runs),
        bind(m.PROVIDER_LIST, shell.provider_list),
        bind(m.PROVIDER_TEST, shell.provider_test),
    ]


GO_FIRST = frozenset({"memory/search", "memory/remember", "memory/write", "thread_episodic/search", "turn/prepare"})
"""What a person waits for: indexing lets it pass, and its reads go before others."""


def _after(first: Callable[[], None], entry: Bound, foreground: Foreground) -> Bound:
    """The method, with something done before it: what another process of the home set is in force for it."""
    waiting = foreground.asked if entry.method.name in GO_FIRST else nullcontext

    async def call(params: Any) -> Any:
        first()
        with waiting():
            return await entry.call(params)

    return Bound(entry.method, call)
