"""Durable memory of an open home, put together: as much of a gateway as a question to memory needs.

Rule 1: the same objects answer here and in the whole gateway, which `gateway.wiring` builds upon this.
Rule 2: only what changes nothing of another house is answered without the others: they hear of the rest.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from agent.forgotten import KeptFiles, conversation
from agent.ledger import Ledger
from agent.redaction import forget_copies
from agent.store import (
    generation_of_turn,
    open_runs,
    read_items,
    read_run,
    read_thread,
    read_turn,
    workspace_exists,
)
from gateway.artifact_files import ArtifactFiles
from gateway.degraded import Health
from gateway.embedding import Embedding
from gateway.flat_vectors import FlatVectors
from gateway.foundations import Foundations
from gateway.home_files import HomeFiles
from gateway.index_watch import reporter
from gateway.introduction import Client
from gateway.jobs import Jobs
from gateway.lexicon import SnowballLexicon
from gateway.outbox import Outbox
from gateway.owners import fact_of_home
from gateway.rpc import Bound, bind
from gateway.schema_shapes import OWED
from gateway.spaces import searched as searched_space
from gateway.wiping import wipe
from memory.ports import Collaborators
from memory.service import MemoryService
from protocol import methods as m
from protocol.forgettings import EndRuns
from protocol.hooks import ItemFact, OnItems
from protocol.ports import Tx
from protocol.shelves import Searched


@dataclass(frozen=True, kw_only=True)
class MemoryCore:
    """The parts that durable memory has and that the other houses share with it."""

    base: Foundations
    client: Client
    outbox: Outbox
    health: Health
    jobs: Jobs
    lexicon: SnowballLexicon
    ledger: Ledger
    embedding: Embedding
    memory: MemoryService
    on_redacted: list[OnItems]
    """Who hears, in the same transaction, of items whose text was taken out."""
    on_cancelled: list[EndRuns]
    """Who ends, in the same transaction, runs that learn from what is forgotten."""
    searched: list[Searched]
    """The houses whose texts are searched for what is forgotten."""

    def questions(self) -> list[Bound]:
        """The methods that read durable memory alone."""
        memory = self.memory
        return [
            bind(m.MEMORY_SEARCH, memory.search),
            bind(m.MEMORY_GET, memory.get),
            bind(m.MEMORY_LIST, memory.list_records),
            bind(m.MEMORY_HISTORY, memory.history),
            bind(m.MEMORY_EXPLAIN, memory.explain),
            bind(m.MEMORY_STATS, memory.stats),
        ]


def build_core(base: Foundations, send: Callable[[bytes, str | None], None], client: Client) -> MemoryCore:
    """Build durable memory and what it stands on."""
    db, clock, ids, config = base.database, base.clock, base.ids, base.config
    outbox = Outbox(send)
    health = Health(outbox.notify, clock)
    jobs = Jobs(ids, clock, base.owners.owner)
    lexicon = SnowballLexicon()
    ledger = Ledger(base.key)
    embedding = Embedding(
        db=db,
        clock=clock,
        settings=lambda: config.config.embedding,
        cache=base.home.models,
        health=health,
        notify=outbox.notify,
        vectors=FlatVectors(),
    )
    on_redacted = list[OnItems]()

    def report_damage(count: int) -> None:
        if count:
            health.degrade("memory", "damaged_records")
        else:
            health.recover("memory", "damaged_records")

    def tell_redacted(tx: Tx, items: Sequence[ItemFact]) -> None:
        for tell in on_redacted:
            tell(tx, items)

    async def is_wiped() -> bool:
        """Pages that are in no use may hold what was erased until the file is made anew."""
        return await wipe(db) and await db.read(lambda tx: fact_of_home(tx, OWED)) is None

    on_cancelled = list[EndRuns]()

    def end_runs(tx: Tx, run_ids: Sequence[str], code: str) -> None:
        for end in on_cancelled:
            end(tx, run_ids, code)

    searched: list[Searched] = [conversation(tell_redacted)]
    files = HomeFiles(base.home, KeptFiles(db, ArtifactFiles(base.home.artifacts)))

    memory = MemoryService(
        Collaborators(
            db=db,
            clock=clock,
            ids=ids,
            keyed=base.key,
            lexicon=lexicon,
            meaning=embedding,
            scanner=base.scanner,
            jobs=jobs,
            notify=outbox.notify,
            settings=lambda: config.config.memory,
            recall_settings=lambda: config.config.recall,
            default_workspace=client.workspace,
            read_items=read_items,
            read_thread=read_thread,
            workspace_exists=workspace_exists,
            read_turn=read_turn,
            read_run=read_run,
            generation_of_turn=generation_of_turn,
            open_runs=open_runs,
            end_runs=end_runs,
            echo_spans=ledger.echo_spans,
            forget_copies=forget_copies,
            searched=searched,
            look_into_files=files.say,
            report_damage=report_damage,
            report_index=reporter(health, "memory"),
            searched_space=searched_space,
            truncate_wal=is_wiped,
            backups=base.home.backup_names,
            owner=base.owners.owner,
        )
    )
    embedding.houses.append(memory.vectors)
    return MemoryCore(
        base=base, client=client, outbox=outbox, health=health, jobs=jobs, lexicon=lexicon, ledger=ledger,
        embedding=embedding, memory=memory, on_redacted=on_redacted, on_cancelled=on_cancelled, searched=searched,
    )  # fmt: skip
