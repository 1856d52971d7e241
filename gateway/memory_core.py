"""The core beneath durable memory in an open home: the part of a gateway that a question to memory needs.

Rule 1: the whole gateway, which `gateway.wiring` builds upon this, shares every object of it.
Rule 2: without the other houses it answers only questions that change nothing of theirs.
"""

from functools import cache, partial

from msgspec import Struct

from agent.forget.places import KeptFiles
from agent.forget.redaction import forget_copies
from agent.prompt.ledger import Ledger
from agent.rows.injections import turns_shown
from agent.rows.items import find_request_before, list_texts_of_others, read_items
from agent.rows.runs import open_runs, read_run, read_turn
from agent.rows.threads import read_thread, workspace_exists
from agent.rows.turns import caller_of_turn, generation_of_turn
from gateway.base.health import Health
from gateway.base.hub import Hub
from gateway.base.spawner import Spawner
from gateway.base.written_dates import WrittenDates
from gateway.care.index_watch import reporter
from gateway.embedding.meaning import Embedding
from gateway.embedding.spaces import current_row
from gateway.embedding.vector_houses import Houses
from gateway.files.artifact_files import ArtifactFiles
from gateway.foundations import Foundations
from gateway.home.files import HomeFiles
from gateway.home.owners import fact_of_home
from gateway.jobs.queue import Jobs
from gateway.store.schema_shapes import OWED
from gateway.store.wiping import wipe
from memory.ports import Collaborators
from memory.read.vectors import RecordVectors
from retrieval.flat import FlatVectors
from retrieval.terms import SnowballLexicon


class MemoryCore(Struct, frozen=True, kw_only=True):
    """The parts that durable memory has and that the other houses share with it."""

    base: Foundations
    hub: Hub
    spawner: Spawner
    health: Health
    jobs: Jobs
    lexicon: SnowballLexicon
    ledger: Ledger
    embedding: Embedding
    means: Collaborators
    """The collaborators of durable memory's questions: no other house is there yet to act on a change."""


def build_core(base: Foundations, hub: Hub) -> MemoryCore:
    """Build the objects beneath durable memory and return them."""
    db, clock, ids, config = base.database, base.clock, base.ids, base.config
    health, jobs = Health(hub.notify, clock), Jobs(ids, clock, base.owners.owner)
    if base.home.is_read_only:
        health.degrade("storage", "storage_read_only")
    lexicon = SnowballLexicon()
    ledger = Ledger(base.key)

    @cache
    def houses() -> Houses:
        # a question by words needs no vectors
        from gateway.files.safe_open import open_kept_root  # noqa: PLC0415
        from knowledge.index.vectors import PieceVectors  # noqa: PLC0415
        from thread_episodic.index.message_plans import source_hash_of  # noqa: PLC0415
        from thread_episodic.search.vectors import ChunkVectors as ConversationVectors  # noqa: PLC0415

        of_conversations = ConversationVectors(
            db=db,
            jobs=jobs,
            meaning=embedding,
            scanner=base.scanner,
            read_items=read_items,
            echo_spans=ledger.echo_spans,
            hash_of=partial(source_hash_of, base.key),
        )
        of_files = PieceVectors(db=db, jobs=jobs, meaning=embedding, keyed=base.key, open_root=open_kept_root)
        return Houses(db, [RecordVectors(means), of_conversations, of_files])

    embedding = Embedding(
        db=db,
        clock=clock,
        settings=lambda: config.config.embedding,
        cache=base.home.models,
        health=health,
        notify=hub.notify,
        vectors=FlatVectors(),
        houses=houses,
    )

    def report_damage(count: int) -> None:
        if count:
            health.degrade("memory", "damaged_records")
        else:
            health.recover("memory", "damaged_records")

    async def is_wiped() -> bool:
        """Return whether erased words are gone: pages in no use may hold them until the file is made anew."""
        return await wipe(db) and await db.read(lambda tx: fact_of_home(tx, OWED)) is None

    files = HomeFiles(base.home, KeptFiles(db, ArtifactFiles(base.home.artifacts)))
    means = Collaborators(
        db=db,
        clock=clock,
        ids=ids,
        keyed=base.key,
        lexicon=lexicon,
        meaning=embedding,
        scanner=base.scanner,
        jobs=jobs,
        notify=hub.notify,
        settings=lambda: config.config.memory,
        recall_settings=lambda: config.config.recall,
        read_items=read_items,
        read_thread=read_thread,
        workspace_exists=workspace_exists,
        read_turn=read_turn,
        read_run=read_run,
        generation_of_turn=generation_of_turn,
        caller_of_turn=caller_of_turn,
        turns_shown=turns_shown,
        find_request_before=find_request_before,
        list_texts_of_others=list_texts_of_others,
        open_runs=open_runs,
        end_runs=lambda _tx, _run_ids, _code: None,
        echo_spans=ledger.echo_spans,
        read_date=WrittenDates(),
        forget_copies=forget_copies,
        files=None,
        searched=(),
        look_into_files=files.list_saying,
        report_damage=report_damage,
        report_index=reporter(health, "memory"),
        searched_space=current_row,
        truncate_wal=is_wiped,
        backups=base.home.backup_names,
        owner=base.owners.owner,
    )
    return MemoryCore(
        base=base,
        hub=hub,
        spawner=Spawner(),
        health=health,
        jobs=jobs,
        lexicon=lexicon,
        ledger=ledger,
        embedding=embedding,
        means=means,
    )
