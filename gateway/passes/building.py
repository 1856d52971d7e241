"""Builds the scheduled passes of a home."""

from collections.abc import Callable, Mapping, Sequence

from msgspec import Struct

from gateway.base.time_zone import system_zone
from gateway.foundations import Foundations
from gateway.home.owners import fact_of_home
from gateway.passes.dream import Census, DailySweep, Prune
from gateway.passes.methods import Passes
from gateway.passes.rows import old_runs
from gateway.passes.runs import RunMeans, Runs
from gateway.passes.scheduler import ScheduleMeans, Scheduler
from gateway.passes.table import REVERSIBLE_MS
from gateway.passes.undoing import Undoing, UndoMeans
from memory.aging.stages import Consolidation
from memory.rows.repair import prunings as prunings_of_records
from memory.rows.repair import tallies as tallies_of_records
from protocol.base import DAY_MS
from protocol.passes import PassName
from protocol.seams.checks import Check, LookResult
from protocol.seams.passes import PassStage
from protocol.seams.ports import JobQueue, Notify, Tx
from retrieval.rows.embedding_cache import old_vectors
from retrieval.rows.pruning import prunings as prunings_of_graph
from retrieval.rows.pruning import tallies as tallies_of_graph
from thread_episodic.rows.counts import count_chunks
from thread_episodic.rows.pruning import prunings as prunings_of_conversations


def _tally_chunks(tx: Tx, _after: int) -> LookResult:
    return LookResult([("chunks", count_chunks(tx))], None)  # their partitions know it


class PassParts(Struct, frozen=True):
    """Parts of a gateway that its passes need."""

    runs: Runs
    scheduler: Scheduler
    methods: Passes
    sweep: DailySweep


def build_passes(
    base: Foundations,
    jobs: JobQueue,
    notify: Notify,
    consolidation: Consolidation,
    *,
    queue_index_repair: Callable[[Tx], None],
    has_turn: Callable[[], bool],
    workspace_exists: Callable[[Tx, str], bool],
) -> PassParts:
    """Build the scheduler, the runs, the methods and the daily sweep, and return them."""
    db, clock, ids = base.database, base.clock, base.ids

    def prunings(now: int) -> Sequence[Check]:
        # of the house of files, which a start leaves out
        from knowledge.rows.upkeep import prunings as prunings_of_files  # noqa: PLC0415

        return [
            old_runs(now - REVERSIBLE_MS),
            *prunings_of_records(),
            *prunings_of_conversations(queue_index_repair),
            *prunings_of_files(now),
            *prunings_of_graph(now),
            old_vectors(now - base.config.config.knowledge.cache_days * DAY_MS),
        ]

    stages: Mapping[PassName, Sequence[PassStage]] = {
        "consolidate": consolidation.stages(),
        "dream": [Census([*tallies_of_records(), _tally_chunks, *tallies_of_graph()]), Prune(prunings)],
    }

    def names(name: PassName) -> list[str]:
        return [stage.name for stage in stages[name]]

    def home_id(tx: Tx) -> str:
        return fact_of_home(tx, "home_id") or ""

    def is_memory_on() -> bool:
        return base.config.config.memory.enabled

    scheduler = Scheduler(
        ScheduleMeans(
            db=db,
            clock=clock,
            ids=ids,
            jobs=jobs,
            settings=lambda: base.config.config.passes,
            is_memory_on=is_memory_on,
            home_id=home_id,
            has_turn=has_turn,
            stages=names,
            zone=system_zone,
        )
    )
    runs = Runs(
        RunMeans(
            db=db, clock=clock, notify=notify, stages=stages, plan_next=scheduler.plan_next, is_memory_on=is_memory_on
        )
    )
    undoing = Undoing(UndoMeans(db=db, clock=clock, ids=ids, undo=consolidation.undoing()))
    methods = Passes(
        db=db,
        ids=ids,
        runs=runs,
        scheduler=scheduler,
        undoing=undoing,
        stages=names,
        settings=lambda: base.config.config,
        workspace_exists=workspace_exists,
    )
    return PassParts(runs, scheduler, methods, DailySweep(db, clock, prunings))
