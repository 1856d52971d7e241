"""Builds the parts of files, guidance and captured conversations from the objects that other houses lend to them.

Rule 1: nothing is decided here; `gateway.wiring` says in which order the houses are built.
"""

import os
from collections.abc import Callable, Sequence
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import TYPE_CHECKING

from agent.capture.captures import Captures
from agent.capture.ingest import Ingests
from agent.capture.means import CaptureMeans
from agent.forget.redaction import forget_quotations
from agent.guidance.agents import Agents
from agent.guidance.instructions import InstructionReader
from agent.guidance.steering import Guidance
from agent.rows.threads import read_thread, workspace_exists
from agent.threads.threads import Neighbours
from agent.threads.unstored import Unstored
from agent.turns.background import Background
from agent.turns.pipeline import Pipeline
from agent.turns.turns import Turns
from gateway.base.chat_programs import list_clients
from gateway.files.folder_watch import watch_folders
from gateway.files.guidance_files import AgentFolders, InstructionFiles, agents_folder
from gateway.files.safe_open import SafeFolder, open_kept_root
from gateway.foundations import Foundations
from gateway.home.collection_locks import CollectionFileLocks
from gateway.left_answers import LeftAnswers
from gateway.memory_core import MemoryCore
from knowledge.ports import KnowledgeMeans
from knowledge.service import KnowledgeService
from memory.service import MemoryService
from protocol.memory.values import Context
from protocol.models import Model
from protocol.saying import Saying
from protocol.seams.file_evidence import FilePlace, PlaceState, SayingFile
from protocol.seams.house_facts import Marks
from protocol.seams.ports import Notify
from protocol.settings import GatewayConfig
from thread_episodic.service import EpisodicService

if TYPE_CHECKING:
    from knowledge.structure import ReadText


def build_guidance(base: Foundations, notify: Notify, known: Unstored, model: Model) -> tuple[Agents, Guidance]:
    """Return the agent definitions, which lie below the home by default, and what gathers the guidance of turns."""

    def folder() -> Path:
        return agents_folder(base.config.config.agents, base.home.root)

    agents = Agents(
        db=base.database,
        find_thread=known.find_thread,
        shelf=AgentFolders(folder),
        settings=lambda: base.config.config,
    )
    reader = InstructionReader(
        disk=InstructionFiles(),
        scanner=base.scanner,
        clock=base.clock,
        notify=notify,
        settings=lambda: base.config.config.instructions,
    )
    return agents, Guidance(db=base.database, known=known, reader=reader, agents=agents, model=model)


def build_captures(
    core: MemoryCore,
    memory: MemoryService,
    turns: Turns,
    pipeline: Pipeline,
    background: Background,
    marks: Marks,
    neighbours: Neighbours,
) -> tuple[Captures, Ingests, LeftAnswers]:
    """Return the captures of other programs' conversations, of their transcripts, and of answers that proxies left."""
    base = core.base
    means = CaptureMeans(
        db=base.database,
        clock=base.clock,
        ids=base.ids,
        keyed=base.key,
        turns=turns,
        pipeline=pipeline,
        background=background,
        marks=marks,
        neighbours=neighbours,
        settings=lambda: base.config.config,
        known_clients=list_clients,
        project_rules=memory.turns.project_rules,
    )
    captures = Captures(means)
    ingests = Ingests(captures, means, core.jobs, memory.deleted)
    return captures, ingests, LeftAnswers(base.home, captures.capture_finish)


def build_files(core: MemoryCore, memory: MemoryService, episodic: EpisodicService) -> KnowledgeService:
    """Return the house of the user's files, which asks the others' own indexes."""
    base = core.base
    return KnowledgeService(
        KnowledgeMeans(
            db=base.database,
            clock=base.clock,
            ids=base.ids,
            keyed=base.key,
            lexicon=core.lexicon,
            meaning=core.embedding,
            scanner=base.scanner,
            jobs=core.jobs,
            notify=core.hub.notify,
            settings=lambda: base.config.config.knowledge,
            home=os.path.realpath(base.home.root),
            user_folder=os.path.realpath(os.path.expanduser("~")),  # noqa: PTH111  # both as the system has them
            resolve_root=SafeFolder,
            open_root=open_kept_root,
            reader=_open_reader,
            read_thread=read_thread,
            forget_quotations=forget_quotations,
            workspace_exists=workspace_exists,
            search_memory=memory.questions.search,
            search_memory_in_turn=memory.turns.search_in_turn,
            search_conversation=episodic.searching.search,
            has_memory=lambda: base.config.config.memory.enabled,
            truncate_wal=core.means.truncate_wal,
            degrade=core.health.degrade,
            recover=core.health.recover,
            has_code_structure=_has_code_structure,
            has_enricher=lambda: base.config.config.roles.enricher is not None,
            spawn=core.spawner.spawn,
            watch_folders=watch_folders,
            locks=CollectionFileLocks(base.home.run),
        )
    )


def _open_reader() -> "AbstractAsyncContextManager[ReadText]":
    from gateway.files.text_reader import text_reader  # noqa: PLC0415  # a home without collections never needs it

    return text_reader()


def _has_code_structure() -> bool:
    from gateway.files.code_structure import has_grammars  # noqa: PLC0415  # as in `_open_reader`

    return has_grammars()


class LaterFiles:
    """Durable memory's look into files, whose house is built upon it. Satisfies `FileEvidence`."""

    def __init__(self, house: Callable[[], KnowledgeService]) -> None:
        self._house = house

    async def stands_there(self, place: FilePlace, context: Context) -> bool:
        """Return whether the words stand at a place, in the very file whose digest it names."""
        return await self._house().house.evidence.stands_there(place, context)

    async def state_of(self, place: FilePlace, context: Context) -> PlaceState:
        """Return the state of a place in a file, as the house of files sees it."""
        return await self._house().house.evidence.state_of(place, context)

    async def list_saying(
        self, saying: Saying, places: Sequence[FilePlace], context: Context | None
    ) -> list[SayingFile]:
        """Return every file that says one of the phrases."""
        return await self._house().house.evidence.list_saying(saying, places, context)


def files_gate(config: GatewayConfig) -> tuple[str, str] | None:
    """Return the component and reason that hold the scans and readings of files; None while they are on."""
    is_on = config.knowledge.enabled and config.knowledge.indexing_enabled
    return None if is_on else ("knowledge", "indexing_disabled")
