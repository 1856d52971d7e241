"""Durable memory over a real database file, with a clock that tests set and a list for what it tells."""

import asyncio
import shutil
from collections.abc import Callable, Coroutine, Sequence
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import msgspec
from clock import START, SetClock
from fresh import fresh_database
from worded_meaning import WordedMeaning

from agent.forget.places import conversation
from agent.forget.redaction import forget_copies
from agent.prompt.ledger import Ledger
from agent.rows.injections import turns_shown
from agent.rows.items import add_item, find_request_before, list_texts_of_others, read_items
from agent.rows.runs import open_runs, read_run, read_turn
from agent.rows.statements import SQL
from agent.rows.threads import add_workspace, read_thread, workspace_exists
from agent.rows.turns import caller_of_turn, generation_of_turn
from gateway.base.ids import SortableIds
from gateway.base.written_dates import WrittenDates
from gateway.home.keys import HomeKey
from gateway.jobs.queue import Jobs
from gateway.secrets.scanner import RuleScanner
from gateway.store.database import Database
from gateway.store.wiping import wipe
from memory.ports import Collaborators
from memory.service import MemoryService
from protocol.base import Scope
from protocol.conversation.items import Item
from protocol.conversation.turns import TurnOptions
from protocol.conversation.values import Role
from protocol.hooks import TurnContext
from protocol.memory.forgetting import ForgetById, ForgetParams, ForgetResult, LeftPlace
from protocol.memory.reads import GetParams, ListParams, SearchParams
from protocol.memory.values import Context, Evidence, SemanticFields
from protocol.memory.writes import (
    RememberParams,
    RememberResult,
    RestoreParams,
    UpdateParams,
    UpdateResult,
    WriteParams,
    WriteResult,
)
from protocol.record import Record
from protocol.saying import Saying
from protocol.seams.ports import Tx
from protocol.settings import MemorySettings, RecallDeadlines, RecallSettings
from retrieval.terms import SnowballLexicon

T = TypeVar("T")

USER = Scope(kind="user", key="default")
WS1 = Scope(kind="workspace", key="ws_1")
WS2 = Scope(kind="workspace", key="ws_2")
HERE = Context(workspace_id="ws_1")
ELSEWHERE = Context(workspace_id="ws_2")
DAY = 86_400_000

SURE = SemanticFields(
    explicitness="implicit",
    category="preference",
    attribute="food",
    durability="long_lived",
    certainty="high",
    sensitivity="none",
)
MIDDLING = msgspec.structs.replace(SURE, durability="unknown", certainty="medium")
WISH = msgspec.structs.replace(SURE, intent="explicit_store", explicitness="explicit")
NAME = msgspec.structs.replace(SURE, category="identity", attribute="name")

_LEXICON = SnowballLexicon()
_SCANNER = RuleScanner()


class Told(NamedTuple):
    """A notification."""

    method: str
    params: Any


class MemoryHome:
    """The service and everything under it. Calls run on one event loop, one after the other."""

    def __init__(self, folder: Path, *, prepared: Path | None = None, vfs: str | None = None) -> None:
        self.runner = asyncio.Runner()
        self.path = fresh_database(folder) if prepared is None else Path(shutil.copy(prepared, folder / "gateway.db"))
        self.clock = SetClock()
        self.told: list[Told] = []
        self.settings = MemorySettings()
        self.key = HomeKey(b"k" * 32)
        self.ledger = Ledger(self.key)
        self.ids = SortableIds(self.clock)
        self.jobs = Jobs(self.ids, self.clock, "own_test")
        self.wal_is_held = False
        self.ended: list[tuple[str, str]] = []
        self.damage: list[int] = []
        self.index_damage: list[tuple[list[str], bool]] = []
        self.backups: list[str] = []
        self.recall_settings = RecallSettings(deadline_ms=RecallDeadlines(turn=60_000))
        """With all the time that a busy machine may take."""
        self.scanner: Any = _SCANNER
        self.lexicon: Any = _LEXICON
        self.meaning = WordedMeaning()
        self.db = Database(self.path, vfs=vfs)
        self.service = self.make_service()
        self.items = 0
        if prepared is None:
            for workspace_id in ("ws_1", "ws_2"):
                self.sql(lambda tx, w=workspace_id: add_workspace(tx, w, START))
            self.add_thread("thr_1")

    def make_service(self, owner: str = "own_1") -> MemoryService:
        return MemoryService(
            Collaborators(
                db=self.db,
                clock=self.clock,
                ids=self.ids,
                keyed=self.key,
                lexicon=self.lexicon,
                meaning=self.meaning,
                scanner=self.scanner,
                jobs=self.jobs,
                notify=lambda method, params: self.told.append(Told(method, params)),
                settings=lambda: self.settings,
                recall_settings=lambda: self.recall_settings,
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
                end_runs=lambda _tx, run_ids, code: self.ended.extend((run_id, code) for run_id in run_ids),
                echo_spans=self.ledger.echo_spans,
                read_date=WrittenDates(),
                forget_copies=forget_copies,
                files=None,
                searched=[conversation(lambda _tx, _items: None)],
                look_into_files=self._look_into_files,
                report_damage=self.damage.append,
                searched_space=lambda _tx: self.meaning.space.id if self.meaning.space else None,
                report_index=lambda reasons, has_failed: self.index_damage.append((list(reasons), has_failed)),
                truncate_wal=self._truncate,
                backups=lambda: self.backups,
                owner=owner,
            )
        )

    async def _look_into_files(self, _saying: Saying) -> list[LeftPlace]:
        return []

    async def _truncate(self) -> bool:
        return False if self.wal_is_held else await wipe(self.db)

    def close(self) -> None:
        self.db.close()
        self.runner.close()

    # -- doing -----------------------------------------------------------------------------------------------------

    def do(self, work: Coroutine[Any, Any, T]) -> T:
        return self.runner.run(work)

    def sql(self, work: Callable[[Tx], T]) -> T:
        return self.do(self.db.write(work))

    def switch(self, **changes: Any) -> None:
        self.settings = msgspec.structs.replace(self.settings, **changes)

    def later(self, milliseconds: int = 1000) -> int:
        self.clock.at += milliseconds
        return self.clock.at

    def tell(self) -> list[tuple[str, str | None]]:
        """Return the notifications since the last call: the method and the kind of change of each."""
        told, self.told[:] = list(self.told), []
        return [(one.method, getattr(one.params, "change_kind", None)) for one in told]

    # -- conversation ----------------------------------------------------------------------------------------------

    def add_thread(self, thread_id: str, workspace_id: str = "ws_1", **changes: Any) -> None:
        values = {
            "thread_id": thread_id,
            "workspace_id": workspace_id,
            "agent_id": None,
            "parent_thread_id": None,
            "name": None,
            "mode": "agent",
            "memory_mode": "normal",
            "origin": "user",
            "task_id": None,
            "instructions": None,
            "model": None,
            "provider": None,
            "cwd": None,
            "instruction_files": None,
            "instruction_profile": "default",
            "agent": None,
            "forked_from": None,
            "now": START,
        }
        self.sql(lambda tx: tx.run(SQL["add_thread"], values | changes))

    def say(self, text: str, *, role: Role = "user", thread_id: str = "thr_1", turn_id: str | None = None) -> Evidence:
        """Store a message in a turn of its own, and quote it whole."""
        self.items += 1
        turn, item_id = turn_id or f"trn_{self.items}", f"itm_{self.items}"
        kinds: Any = {
            "user": "user_message",
            "assistant": "agent_message",
            "tool": "tool_result",
            "system": "system_event",
        }
        item = Item(
            item_id=item_id,
            turn_id=turn,
            thread_id=thread_id,
            kind=kinds[role],
            role=role,
            status="completed",
            text=text,
            at=self.clock.at,
            name=None,
            artifacts=[],
            tool=None,
        )

        def store(tx: Tx) -> None:
            if tx.one(SQL["get_turn"], {"turn_id": turn}) is None:
                tx.run(
                    SQL["add_turn"],
                    {
                        "turn_id": turn,
                        "thread_id": thread_id,
                        "position": self.items,
                        "driver": "host",
                        "mode": "agent",
                        "status": "completed",
                        "options": "{}",
                        "input_hash": None,
                        "started_at": self.clock.at,
                        "completed_at": self.clock.at,
                        "owner": None,
                        "origin": None,
                        "caller": None,
                        "memory_mode": None,
                    },
                )
            add_item(tx, item, self.items)

        self.sql(store)
        return Evidence(quote=text, thread_id=thread_id, turn_id=turn, item_id=item_id)

    def turn(self, **changes: Any) -> TurnContext:
        values: dict[str, Any] = {
            "workspace_id": "ws_1",
            "thread_id": "thr_1",
            "turn_id": "trn_now",
            "agent_id": None,
            "task_id": None,
            "parent_thread_id": None,
            "mode": "agent",
            "memory_mode": "normal",
            "origin": "user",
            "driver": "gateway",
            "options": TurnOptions(),
            "now": self.clock.at,
            "time_zone": "UTC",
        }
        return TurnContext(**values | changes)

    # -- memory ----------------------------------------------------------------------------------------------------

    def remember(self, content: str, *, context: Context = HERE, **given: Any) -> RememberResult:
        return self.do(self.service.remember(RememberParams(content=content, context=context, **given)))

    def propose(
        self,
        content: str,
        semantic: SemanticFields = SURE,
        evidence: Sequence[Evidence] | None = None,
        *,
        context: Context = HERE,
        **given: Any,
    ) -> WriteResult:
        """`memory/write`; without evidence the user says the content in a turn of its own."""
        quotes = [self.say(content)] if evidence is None else list(evidence)
        params = WriteParams(content=content, semantic=semantic, evidence=quotes, context=context, **given)
        return self.do(self.service.write(params))

    def get(self, memory_id: str, context: Context = HERE, **given: Any) -> Record | None:
        return self.do(self.service.questions.get(GetParams(memory_id=memory_id, context=context, **given))).record

    def named(self, key: str, scope: Scope = USER, **given: Any) -> Record | None:
        return self.do(self.service.questions.get(GetParams(scope=scope, key=key, context=HERE, **given))).record

    def found(self, query: str, context: Context = HERE, **given: Any) -> list[str]:
        """The contents of the hits."""
        hits = self.do(self.service.questions.search(SearchParams(query=query, context=context, **given))).hits
        return [hit.record.content for hit in hits]

    def listed(self, context: Context = HERE, **given: Any) -> list[str]:
        records = self.do(self.service.questions.list_records(ListParams(context=context, **given))).records
        return [record.content for record in records]

    def forget(self, memory_id: str, *, context: Context = HERE, **given: Any) -> ForgetResult:
        target = ForgetById(memory_id=memory_id)
        return self.do(self.service.forget(ForgetParams(target=target, context=context, **given)))

    def update(self, memory_id: str, *, context: Context = HERE, **changes: Any) -> UpdateResult:
        params = UpdateParams(memory_id=memory_id, context=context, **changes)
        return self.do(self.service.update(params))

    def restore(self, memory_id: str, context: Context = HERE) -> Record:
        return self.do(self.service.restore(RestoreParams(memory_id=memory_id, context=context))).record

    # -- looking underneath ----------------------------------------------------------------------------------------

    def bytes_on_disk(self) -> bytes:
        """Every byte of the database and of its log."""
        return b"".join(path.read_bytes() for path in sorted(self.path.parent.glob("gateway.db*")))

    def vocabulary(self) -> set[str]:
        """Every term that the full-text index holds, of whichever scope."""

        def read(tx: Tx) -> set[str]:
            tx.run("CREATE VIRTUAL TABLE temp.vocabulary USING fts5vocab('main', 'memory_fts', 'row')")
            terms = {row[0].partition("·")[2] for row in tx.all("SELECT term FROM temp.vocabulary")}
            tx.run("DROP TABLE temp.vocabulary")
            return terms

        return self.sql(read)

    def rows(self, statement: str) -> list[tuple[Any, ...]]:
        return self.do(self.db.read(lambda tx: tx.all(statement)))
