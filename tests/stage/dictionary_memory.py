"""Durable memory in a dictionary: the second implementation of what the memory hooks need."""
# ruff: noqa: ARG002  # a port's signature is fixed

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from memory.rules.categories import STANDING
from promt.brief import Brief, StandingStatement, compose
from protocol.base import Scope
from protocol.conversation.turns import TurnOptions
from protocol.errors import Refused
from protocol.hooks import TurnContext
from protocol.memory.facts import Fact
from protocol.memory.forgetting import ForgetById, ForgetParams, ForgetResult
from protocol.memory.reads import GetParams, GetResult, Hit, ListParams, ListResult, SearchParams, SearchResult
from protocol.memory.values import Action, Decision, ReasonCode
from protocol.memory.writes import RememberParams, WriteResult
from protocol.record import Actor, Provenance, Record
from retrieval.terms import SnowballLexicon

_LEXICON = SnowballLexicon()
USER = Scope(kind="user", key="default")
DAY = 86_400_000


def turn_context(**changes: Any) -> TurnContext:
    """An ordinary turn of a user's thread."""
    values: dict[str, Any] = {
        "workspace_id": "ws_1",
        "thread_id": "thr_1",
        "turn_id": "trn_1",
        "agent_id": None,
        "task_id": None,
        "parent_thread_id": None,
        "mode": "agent",
        "memory_mode": "normal",
        "origin": "user",
        "driver": "gateway",
        "options": TurnOptions(),
        "now": 20_000 * DAY,
        "time_zone": "UTC",
    }
    return TurnContext(**values | changes)


def record_of(memory_id: str, content: str, **changes: Any) -> Record:
    """An active record of the user's scope."""
    values: dict[str, Any] = {
        "memory_id": memory_id,
        "scope": USER,
        "namespace": None,
        "category": "custom",
        "kind": "semantic",
        "key": f"key_{memory_id}",
        "content": content,
        "value": None,
        "status": "active",
        "sensitivity": "normal",
        "confidence": 1.0,
        "importance": 0.5,
        "tags": [],
        "provenance": Provenance(),
        "evidence_count": 1,
        "created_at": DAY,
        "updated_at": 20_000 * DAY,
        "valid_from": None,
        "expires_at": None,
        "last_accessed_at": None,
        "access_count": 0,
        "supersedes": None,
        "superseded_by": None,
        "contested": False,
        "index_state": "indexed",
        "metadata": {},
    }
    return Record(**values | changes)


class Found(NamedTuple):
    """A recall's outcome."""

    hits: list[Hit]
    reason: str
    is_partial: bool = False


def result_of(action: Action, reason_code: ReasonCode, record: Record | None) -> WriteResult:
    """A decision as the service tells it."""
    decision = Decision(action=action, score=1.0, bucket="high", reason_code=reason_code, factors=[])
    return WriteResult(
        relation="novel",
        canonical_key="k",
        semantic_fingerprint="f",
        decision=decision,
        record=record,
        candidate=None,
        superseded_memory_id=None,
        evidence_merged=False,
    )


class DictionaryMemory:
    """Records found by a shared word; scopes of the turn are the user's and the workspace's."""

    def __init__(self, *records: Record) -> None:
        self.records = {record.memory_id: record for record in records}
        self.asked: list[tuple[str, Any]] = []
        self.by_rules: bool | None = None
        self.proposals: dict[str, dict[str, Any]] = {}

    @property
    def lexicon(self) -> SnowballLexicon:
        return _LEXICON

    def turn_scopes(self, turn: TurnContext) -> list[Scope]:
        return [USER, Scope(kind="workspace", key=turn.workspace_id)]

    def _hits(self, text: str) -> list[Hit]:
        words = set(text.casefold().split())
        scored = [(len(words & set(r.content.casefold().rstrip(".").split())), r) for r in self.records.values()]
        return [
            Hit(record=r, score=min(1.0, n / 3), breakdown={}, snippet=r.content[:100], matched_terms=[])
            for n, r in sorted(scored, key=lambda pair: -pair[0])
            if n
        ]

    async def standing(self, turn: TurnContext) -> Brief:
        stated = [
            StandingStatement(r.memory_id, STANDING.index(r.category), r.key, r.content, r.updated_at, r.created_at)
            for r in self.records.values()
            if r.category in STANDING
        ]
        return compose(stated, 1200)

    async def recall(
        self, turn: TurnContext, text: str, *, limit: int, exclude: Sequence[str] = (), before: Sequence[str] = ()
    ) -> Found:
        self.asked.append(("recall", text))
        hits = [hit for hit in self._hits(text) if hit.record.memory_id not in exclude]
        return Found(hits[:limit], "recalled" if hits else "no_match")

    def _judge(self, turn: TurnContext, scopes: Sequence[Scope] | None) -> None:
        if any(scope not in self.turn_scopes(turn) for scope in scopes or ()):
            raise Refused("scope_out_of_context")

    async def search_in_turn(self, turn: TurnContext, params: SearchParams) -> SearchResult:
        self._judge(turn, params.scopes)
        return SearchResult(hits=self._hits(params.query)[: params.limit], next_cursor=None, semantic="off")

    async def list_in_turn(self, turn: TurnContext, params: ListParams) -> ListResult:
        self._judge(turn, params.scopes)
        self.asked.append(("list", params.limit))
        start = int(params.cursor or 0)
        fitting = [r for r in self.records.values() if params.categories is None or r.category in params.categories]
        page = fitting[start : start + params.limit]
        more = start + len(page) < len(fitting)
        return ListResult(records=page, next_cursor=str(start + len(page)) if more else None)

    async def get_in_turn(self, turn: TurnContext, params: GetParams) -> GetResult:
        if params.memory_id is not None:
            return GetResult(record=self.records.get(params.memory_id))
        named = [r for r in self.records.values() if (r.scope, r.key) == (params.scope, params.key)]
        return GetResult(record=named[0] if named else None)

    async def forget_in_turn(self, turn: TurnContext, params: ForgetParams) -> ForgetResult:
        memory_id = params.target.memory_id if isinstance(params.target, ForgetById) else ""
        forgotten = [memory_id] if self.records.pop(memory_id, None) else []
        return ForgetResult(forgotten_memory_ids=forgotten, dry_run=False)

    async def remember_in_turn(
        self,
        turn: TurnContext,
        params: RememberParams,
        *,
        explicit: bool,
        said: str | None = None,
        is_note: bool = False,
    ) -> WriteResult:
        self.asked.append(("remember", explicit))
        if is_note:
            author = Actor(kind="assistant", id=turn.agent_id)
            source = Provenance(source_kind="agent_note", created_by=author)
            note = record_of(f"mem_{len(self.records) + 1}", params.content, provenance=source, voice="machine")
            self.records[note.memory_id] = note
            return result_of("activate", "agent_note_created", note)
        if not explicit:
            return result_of("reject", "assistant_inference", None)
        for known in self.records.values():
            if known.content == params.content:
                return result_of("merge", "duplicate_active", known)
        key = {} if params.key is None else {"key": params.key}
        record = record_of(f"mem_{len(self.records) + 1}", params.content, category=params.category, **key)
        self.records[record.memory_id] = record
        return result_of("activate", "active_created", record)

    async def propose(
        self,
        turn: TurnContext,
        facts: Sequence[Fact],
        *,
        run_id: str,
        user_items: Mapping[str, str],
        is_by_rule: bool = False,
    ) -> list[WriteResult]:
        self.by_rules = is_by_rule
        self.asked.append(("propose", list(facts)))
        results: list[WriteResult] = []
        for fact in facts:
            if not any(fact.evidence.quote in text for text in user_items.values()):
                results.append(result_of("reject", "quote_not_found", None))
                continue
            record = record_of(f"mem_{len(self.records) + 1}", fact.content, category=fact.semantic.category)
            self.records[record.memory_id] = record
            results.append(result_of("activate", "active_created", record))
        self.proposals[run_id] = {"facts": len(facts), "activated": len(facts)}
        return results

    async def find_earlier_counts(self, run_id: str) -> dict[str, Any] | None:
        return self.proposals.get(run_id)

    async def find_related(self, turn: TurnContext, text: str, limit: int) -> list[dict[str, Any]]:
        return [
            {"memory_id": r.memory_id, "category": r.category, "key": r.key, "content": r.content}
            for r in list(self.records.values())[:limit]
        ]
