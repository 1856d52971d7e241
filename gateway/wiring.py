"""The composition root: it builds every object once and joins the houses, and takes no decision.

Rule 1: siblings meet only here and, durable memory with what it reads of turns, in `gateway.memory_core`; by the shapes
of `protocol/`.
Rule 2: each service lists the methods that it answers; a method that is in no list does not exist for a client.
"""

from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from functools import partial
from typing import Any, get_args

from msgspec import structs

from agent.files.artifacts import SWEEP_SUBJECT as OF_ARTIFACTS
from agent.files.artifacts import Artifacts
from agent.files.tool import ArtifactTool, artifact_hooks
from agent.forget.deletion import Deletions
from agent.forget.places import conversation
from agent.hooks.registration import Registry
from agent.hooks.runtime import HookRuntime
from agent.prompt.preflight import Planners
from agent.prompt.preflight_advice import Advisor
from agent.rows.artifacts import read_artifacts
from agent.rows.items import items_after, read_items, turn_items
from agent.rows.threads import read_thread, restore_threads, thread_names, workspace_exists, workspace_threads
from agent.rows.turns import thread_turns
from agent.threads.imports import Imports
from agent.threads.threads import Neighbours, Threads
from agent.threads.unstored import Unstored
from agent.tools import subscriptions as agent_subscriptions
from agent.turns.background import Background
from agent.turns.lifecycle import TurnMeans
from agent.turns.pipeline import Pipeline
from agent.turns.turns import Turns
from gateway.base.health import Health
from gateway.base.logs import Log
from gateway.care.index_watch import IndexWatch, reporter
from gateway.embedding.spaces import current_row
from gateway.files.artifact_files import ArtifactFiles
from gateway.files.pdf_text import PdfText
from gateway.home.owners import living_owners
from gateway.home.tokens import FOLDER, INTERNAL
from gateway.house_means import LaterFiles, build_captures, build_files, build_guidance, files_gate
from gateway.jobs.queue import Jobs
from gateway.jobs.retry import limits_of
from gateway.jobs.runner import Handler, JobRunner, Work
from gateway.left_answers import LeftAnswers
from gateway.memory_core import MemoryCore
from gateway.passes.building import build_passes
from gateway.passes.scheduler import SWEEP_SUBJECT as OF_DERIVED
from gateway.process_methods import Shell
from gateway.providers.roles import Providers
from gateway.pulse import Pulse, Tended
from gateway.store.priority import Foreground
from gateway.store.sqlite import Trouble
from gateway.wire.tool_complaints import word_complaints
from knowledge.ports import SUBJECT as FILE_VECTORS
from knowledge.service import KnowledgeService
from memory.hooks import build as memory_hooks
from memory.read.vectors import SUBJECT as MEMORY_VECTORS
from memory.rules.planning import propose_durable
from memory.service import MemoryService
from promt.intents import detect
from protocol.conversation.manifests import SourceRef
from protocol.hooks import ToolCall
from protocol.methods import Bound
from protocol.seams.house_facts import Marks
from protocol.seams.ports import JobHandle, Tx
from protocol.settings import GatewayConfig
from thread_episodic.hooks import build_hooks as episodic_hooks
from thread_episodic.ports import EpisodicMeans
from thread_episodic.rows.scopes import find_indexed_workspace
from thread_episodic.search.planning import make_planner
from thread_episodic.search.vectors import SUBJECT as EPISODIC_VECTORS
from thread_episodic.service import EpisodicService
from thread_episodic.tools import THREAD_SEARCH, ThreadSearchTool

log = Log("gateway")


class App(MemoryCore, frozen=True, kw_only=True):
    """A whole gateway."""

    memory: MemoryService
    runner: JobRunner
    episodic: EpisodicService
    knowledge: KnowledgeService
    background: Background
    artifacts: Artifacts
    turns: Turns
    watch: IndexWatch
    pulse: Pulse
    shell: Shell
    left: LeftAnswers
    tools: Mapping[str, ToolCall]
    """The tools of memory and conversation, for a model at another door than a turn's."""
    bound: dict[str, Bound]


def build(core: MemoryCore) -> App:
    """Build every other object upon the core, join them, and return the gateway.

    Two houses that act on one another are joined by a function that names the later one.
    """
    base, hub, health, jobs = core.base, core.hub, core.health, core.jobs
    lexicon, ledger, embedding = core.lexicon, core.ledger, core.embedding
    db, clock, ids, config = base.database, base.clock, base.ids, base.config
    foreground, spawn, unstored = Foreground(), core.spawner.spawn, Unstored(is_read_only=base.home.is_read_only)

    def settings() -> GatewayConfig:
        return config.config

    read_date = core.means.read_date
    episodic = EpisodicService(
        EpisodicMeans(
            db=db,
            clock=clock,
            ids=ids,
            keyed=base.key,
            lexicon=lexicon,
            meaning=embedding,
            scanner=base.scanner,
            jobs=jobs,
            notify=hub.notify,
            settings=lambda: settings().thread_episodic,
            cache_seconds=lambda: settings().recall.cache_seconds,
            read_items=read_items,
            read_thread=read_thread,
            workspace_exists=workspace_exists,
            echo_spans=ledger.echo_spans,
            turn_items=turn_items,
            thread_turns=thread_turns,
            workspace_threads=workspace_threads,
            thread_names=thread_names,
            read_artifacts=read_artifacts,
            paused=lambda: runner.pause_of("index"),
            items_after=items_after,
            searched_space=current_row,
            report_damage=reporter(health, "thread_episodic"),
            read_date=read_date,
        )
    )

    def end_runs(tx: Tx, run_ids: Sequence[str], code: str) -> None:
        background.end_runs(tx, run_ids, code)

    memory = MemoryService(
        structs.replace(
            core.means,
            searched=[conversation(episodic.on_redacted), episodic.reasons],
            end_runs=end_runs,
            files=LaterFiles(lambda: knowledge),
        )
    )

    knowledge = build_files(core, memory, episodic)

    watch = IndexWatch(
        db=db,
        looks={"memory": memory.look_at_index, "thread_episodic": episodic.repair.look},
        health=health,
        spawn=spawn,
        queue_repairs=partial(db.note, partial(_queue_repairs, jobs=jobs, episodic=episodic)),
        hurry_repairs=lambda: db.jot(lambda tx: jobs.hurry(tx, kinds=("repair",))),
        is_alone=lambda: not base.home.is_read_only and living_owners(base.home.run) == [base.owners.owner],
        copies=base.home.backups,
        restored=base.restored,
    )
    model = Providers(
        config=settings,
        folder=config.folder,
        views=lambda: config.view().providers,
        clock=clock,
        mark=base.home.root / FOLDER / INTERNAL,
    )
    memory_subscriptions, memory_tools = memory_hooks(memory.turns, settings, model)
    artifacts = Artifacts(
        db=db,
        ids=ids,
        jobs=jobs,
        files=ArtifactFiles(base.home.artifacts),
        settings=lambda: settings().artifacts,
        forgettings=memory.deleted,
    )
    artifact_subscriptions, artifact_tools = artifact_hooks(
        ArtifactTool(db=db, reading=artifacts.reading, read_pdf=PdfText(), scanner=base.scanner)
    )
    agents, guidance = build_guidance(base, hub.notify, unstored, model)
    registry = Registry(
        [
            *memory_subscriptions,
            *episodic_hooks(episodic.searching, settings),
            *knowledge.hooks(),
            *agent_subscriptions(),
            *artifact_subscriptions,
        ]
    )
    runtime = HookRuntime(
        registry=registry,
        ids=ids,
        clock=clock,
        incident=log.incident,
        mask=base.scanner.mask,
        is_strict=lambda: settings().memory.strict_diagnostics_enabled,
    )
    background = Background(
        db=db, clock=clock, jobs=jobs, runtime=runtime, ledger=ledger, notify=hub.notify, on_items=episodic.on_items
    )
    neighbours = Neighbours(
        on_items=episodic.on_items,
        on_items_removed=episodic.on_items_removed,
        on_thread_deleted=[episodic.on_thread_deleted, artifacts.on_thread_deleted],
        on_workspace_deleted=[episodic.on_workspace_deleted, knowledge.on_workspace_deleted],
    )
    imports = Imports(db=db, clock=clock, ledger=ledger, neighbours=neighbours, forgettings=memory.deleted)
    planners = Planners(
        propose_durable, make_planner(lambda text: detect(text).refers_to_history, read_date), knowledge.plan
    )
    advisor = Advisor(
        model,
        [*memory_tools, *artifact_tools, *knowledge.tools.by_name()],
        db,
        memory.turns.sizes,
        episodic.size,
        log.incident,
    )
    means = TurnMeans(
        db=db,
        clock=clock,
        ids=ids,
        background=background,
        ledger=ledger,
        artifacts=artifacts,
        notify=hub.notify,
        on_items=episodic.on_items,
        settings=settings,
        owner=base.owners.owner,
        incident=log.incident,
        unstored=unstored,
        find_erased=memory.deleted.find_erased,
    )
    marks = _marks(memory, episodic, knowledge)
    pipeline = Pipeline(runtime=runtime, planners=planners, advisor=advisor, settings=settings)
    turns = Turns(
        means,
        pipeline=pipeline,
        model=model,
        tools=word_complaints({**memory_tools, **artifact_tools, **agents.tools(), **knowledge.tools.by_name()}),
        spawn=spawn,
        mask=base.scanner.mask,
        marks=marks,
        guidance=guidance,
    )
    captures, ingests, left = build_captures(core, memory, turns, pipeline, background, marks, neighbours)
    threads = Threads(
        db=db,
        clock=clock,
        ids=ids,
        neighbours=neighbours,
        unstored=unstored,
        define=guidance.define,
        on_altered=lambda: health.degrade("conversation", "altered_messages"),
    )
    deletions = Deletions(db=db, jobs=jobs, neighbours=neighbours, forgettings=memory.deleted, settle=turns.settle)
    passes = build_passes(
        base,
        jobs,
        hub.notify,
        memory.consolidation,
        queue_index_repair=episodic.repair.queue,
        has_turn=turns.has_running,
        workspace_exists=workspace_exists,
    )
    repair = _by_subject({"quick": memory.repair, "deep": memory.repair, EPISODIC_VECTORS: episodic.repair.work})

    async def repair_beyond_damage(handle: JobHandle) -> None:
        await watch.beyond_damage(lambda: repair(handle))

    runner = JobRunner(
        db=db,
        clock=clock,
        owner=base.owners.owner,
        bell=jobs.bell,
        limits=lambda kind: limits_of(kind, settings().thread_episodic),
        on_paused=health.degrade,
        on_resumed=health.recover,
        let_pass=foreground.let_pass,
        work={
            "index": Work(episodic.index, lambda: _index_gate(settings()), episodic.index_together),
            "hook_run": Work(background.run),
            "erase_finish": Work(memory.finish_erase),
            "repair": Work(repair_beyond_damage),
            "delete": Work(deletions.go_on),
            "embed": Work(
                _by_subject(
                    {
                        MEMORY_VECTORS: memory.vectors.fill,
                        EPISODIC_VECTORS: episodic.vectors.fill,
                        FILE_VECTORS: knowledge.fill_vectors,
                    }
                )
            ),
            "sweep": Work(_by_subject({OF_ARTIFACTS: artifacts.sweep, OF_DERIVED: passes.sweep.work})),
            "pass": Work(passes.runs.work),
            "scan": Work(knowledge.scan, lambda: files_gate(settings())),
            "read": Work(knowledge.read_files, lambda: files_gate(settings())),
        },
    )
    db.troubles.connect(
        _report_storage(
            health, partial(runner.resume_all, "storage"), embedding.try_again, partial(spawn, turns.settle, "settle")
        )
    )
    pulse = Pulse(
        Tended(
            base=base,
            hub=hub,
            health=health,
            embedding=embedding,
            runner=runner,
            memory=memory,
            episodic=episodic,
            knowledge=knowledge,
            background=background,
            artifacts=artifacts,
            watch=watch,
            scheduler=passes.scheduler,
            captures=captures,
        )
    )
    services = (
        memory,
        deletions,
        threads,
        imports,
        turns,
        captures,
        ingests,
        guidance,
        artifacts,
        episodic,
        knowledge,
        registry,
        passes.methods,
    )
    answered = [entry for service in services for entry in service.bindings()]
    shell = Shell(
        base=base,
        pulse=pulse,
        health=health,
        embedding=embedding,
        runner=runner,
        providers=model,
        threads=threads,
        background=background,
        sweep=memory.sweep,
        repair_state=memory.repair_state,
        spawn=spawn,
        answered=answered,
        scheduler=passes.scheduler,
    )

    def prepare() -> None:
        passes.scheduler.note_request()
        core.base.database.note_request()
        pulse.refresh_settings()

    bound = {
        entry.method.name: _after(prepare, left.bound(entry), foreground) for entry in (*shell.bindings(), *answered)
    }
    return App(
        **structs.asdict(core),
        memory=memory,
        runner=runner,
        episodic=episodic,
        knowledge=knowledge,
        background=background,
        artifacts=artifacts,
        turns=turns,
        watch=watch,
        pulse=pulse,
        shell=shell,
        left=left,
        tools=word_complaints(
            {
                **memory_tools,
                THREAD_SEARCH: ThreadSearchTool(episodic.searching),
                **agents.tools(),
                **knowledge.tools.by_name(),
            }
        ),
        bound=bound,
    )


def _by_subject(handlers: Mapping[str, Handler]) -> Handler:
    """Return the handler of a kind of work that several houses have: the job's subject names the house's handler."""
    return lambda handle: handlers[handle.job.subject](handle)


def _queue_repairs(tx: Tx, *, jobs: Jobs, episodic: EpisodicService) -> None:
    """Make lost conversations again, before the index drops what none is there for, and queue the repair of indexes."""
    restore_threads(tx, find_indexed_workspace)
    jobs.enqueue(tx, "repair", "deep")
    episodic.repair.queue(tx)
    jobs.hurry(tx, kinds=("repair", "index", "embed"))


def _report_storage(health: Health, *again: Callable[[], None]) -> Callable[[Trouble | None], None]:
    """Return a function that reports the store's trouble, and calls each of `again` once the store works again."""

    def report(trouble: Trouble | None) -> None:
        if trouble is not None:
            health.degrade("storage", trouble)
            return
        for each in get_args(Trouble):  # reports of lost data are no `Trouble`: they stay
            health.recover("storage", each)
        for go_on in again:
            go_on()

    return report


def _marks(memory: MemoryService, episodic: EpisodicService, knowledge: KnowledgeService) -> Marks:
    """Return a function that gives the marks of a prompt's sources by id; each house knows its own."""

    def marks(tx: Tx, refs: Sequence[SourceRef]) -> dict[str, bytes]:
        of_memories = memory.turns.marks(tx, [ref.id for ref in refs if ref.kind == "memory"])
        of_talk = episodic.marks(tx, [ref.id for ref in refs if ref.kind == "chunk"])
        return of_memories | of_talk | knowledge.marks(tx, [ref.id for ref in refs if ref.kind == "file"])

    return marks


def _index_gate(config: GatewayConfig) -> tuple[str, str] | None:
    """Return the component and reason that hold the index queue; None while indexing is on."""
    return None if config.thread_episodic.indexing_enabled else ("thread_episodic", "indexing_disabled")


def _after(first: Callable[[], None], entry: Bound, foreground: Foreground) -> Bound:
    """Return the method with `first` called before it: settings of another process are then in force for it."""
    waiting = foreground.count_waiting_caller if entry.method.urgency == "first" else nullcontext

    async def call(params: Any) -> Any:
        first()
        with waiting():
            return await entry.call(params)

    return Bound(entry.method, call)
