"""Durable memory's front door: the wire methods, and what a turn may do.

Rule 1: every call begins with its active scopes and ends with its notifications, after the commit.
Rule 2: writes go through `Writer`, reads through `Reader`, forgetting through `Forgetter`; nothing is decided here.
"""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple, TypeVar

import msgspec
from msgspec import UNSET

from memory.explain import Explainer, explain_recall
from memory.forgetting import ERASE_SUBJECT, Forgetter, Forgotten
from memory.ports import Collaborators
from memory.proposal import Proposed, compared
from memory.reads import Reader, Recall, at_time
from memory.scopes import PROJECT_CATEGORIES, narrowed, of_context, of_turn, required
from memory.store import (
    SQL,
    Change,
    Stored,
    add_event,
    add_text,
    checksum,
    encoded,
    get_candidate,
    get_record,
    remove_text,
    scope_ids_of,
    stored_of,
)
from memory.visibility import KEPT, View, is_visible
from memory.writing import Notice, Outcome, Writer, changed, note_change
from protocol.base import Scope
from protocol.errors import CallerError, Defect, Refused, Unavailable
from protocol.hooks import TurnContext
from protocol.memory import (
    MAX_CONTENT_BYTES,
    MAX_METADATA_BYTES,
    MAX_VALUE_BYTES,
    Actor,
    Context,
    Decision,
    DecisionCounts,
    Event,
    Evidence,
    ExplainParams,
    ExplainResult,
    Fact,
    ForgetParams,
    ForgetResult,
    GetParams,
    GetResult,
    HistoryParams,
    HistoryResult,
    IndexCounts,
    ListParams,
    ListResult,
    Provenance,
    ReasonCode,
    Record,
    RecordCounts,
    RememberParams,
    RememberResult,
    RestoreParams,
    RestoreResult,
    ScopeCount,
    SearchParams,
    SearchResult,
    SemanticFields,
    StatsParams,
    StatsResult,
    UpdateParams,
    UpdateResult,
    WriteParams,
    WriteResult,
)
from protocol.notifications import MemoryErased
from protocol.ports import JobHandle, RetryJob, Tx

T = TypeVar("T")

EXPLAINED_LIMIT = 5  # as many as deterministic recall puts into a prompt
RELATED_CHARS = 300
KEEP_ANSWERS_MS = 30 * 86_400_000
USER_ACTOR = Actor(kind="user")


class _Place(NamedTuple):
    """Where a call comes from: its active scopes and its workspace."""

    scopes: list[Scope]
    workspace_id: str | None


def explicit_fields(params: RememberParams) -> SemanticFields:
    """What an explicit wish claims about its fact."""
    is_project = params.category in PROJECT_CATEGORIES
    return SemanticFields(
        intent="explicit_store",
        explicitness="explicit",
        category=params.category,
        subject="project" if is_project else "current_user",
        durability="project_lifetime" if is_project else "long_lived",
        certainty="high",
        sensitivity="regulated" if params.sensitivity == "regulated" else "none",
    )


def check_bounds(content: str | None, value: Any, metadata: Mapping[str, Any] | None) -> None:
    """Sizes that the schema cannot say, in bytes. Raises `CallerError`."""
    for path, size, limit in (
        ("$.content", len(content.encode()) if content is not None else 0, MAX_CONTENT_BYTES),
        ("$.value", len(encoded(value)) if value is not None else 0, MAX_VALUE_BYTES),
        ("$.metadata", len(encoded(metadata)) if metadata else 0, MAX_METADATA_BYTES),
    ):
        if size > limit:
            raise CallerError.at(path, f"It is larger than {limit} bytes")


class MemoryService:
    """Everything that other houses and the wire may ask of durable memory."""

    def __init__(self, **collaborators: Any) -> None:
        self._means = Collaborators(**collaborators)
        self._reader = Reader(self._means)
        self._writer = Writer(self._means)
        self._forgetter = Forgetter(self._means)
        self._explainer = Explainer(self._means)

    # -- places ----------------------------------------------------------------------------------------------------

    def _place(self, context: Context) -> _Place:
        means = self._means
        workspace_id = context.workspace_id or means.default_workspace()
        return _Place(of_context(context, means.settings(), means.default_workspace()), workspace_id)

    def turn_scopes(self, turn: TurnContext) -> list[Scope]:
        """The scopes that are active in a turn."""
        return of_turn(turn, self._means.settings())

    def _require_enabled(self) -> None:
        if not self._means.settings().enabled:
            raise Unavailable("memory_disabled")

    def _require_writable(self, tx: Tx, context: Context, scope: Scope | None, scopes: Sequence[Scope]) -> None:
        """Raise for a thread that may not write, a scope that is not active, or one that does not exist."""
        thread = self._means.read_thread(tx, context.thread_id) if context.thread_id is not None else None
        if thread is not None and thread.memory_mode == "read_only":
            raise Refused("memory_write_disabled")
        if thread is not None and thread.memory_mode == "ignored":
            raise Refused("memory_ignored")
        if scope is not None:
            required(scopes, scope)
        written = scope or next((s for s in scopes if s.kind == "workspace"), None)
        if written is not None and written.kind == "workspace" and not self._means.workspace_exists(tx, written.key):
            raise CallerError.missing("workspace")
        if scope is not None and scope.kind == "thread" and self._means.read_thread(tx, scope.key) is None:
            raise CallerError.missing("thread")

    def _tell(self, notices: Sequence[Notice]) -> None:
        for notice in notices:
            self._means.notify(notice.method, notice.params)

    # -- reads -----------------------------------------------------------------------------------------------------

    async def search(self, params: SearchParams) -> SearchResult:
        """Hits, best first."""
        self._require_enabled()
        scopes = narrowed(self._place(params.context).scopes, params.scopes)
        return await self._reader.search(params, scopes)

    async def get(self, params: GetParams) -> GetResult:
        """One record, or null."""
        return await self._reader.get(params, self._place(params.context).scopes)

    async def list_records(self, params: ListParams) -> ListResult:
        """Records in an order."""
        return await self._reader.list_records(params, narrowed(self._place(params.context).scopes, params.scopes))

    async def search_in_turn(self, turn: TurnContext, params: SearchParams) -> SearchResult:
        """Hits within a turn's scopes."""
        self._require_enabled()
        return await self._reader.search(params, narrowed(self.turn_scopes(turn), params.scopes))

    async def get_in_turn(self, turn: TurnContext, params: GetParams) -> GetResult:
        """One record within a turn's scopes."""
        return await self._reader.get(params, self.turn_scopes(turn))

    async def list_in_turn(self, turn: TurnContext, params: ListParams) -> ListResult:
        """Records within a turn's scopes."""
        return await self._reader.list_records(params, narrowed(self.turn_scopes(turn), params.scopes))

    async def recall(self, turn: TurnContext, text: str, *, limit: int, exclude: Sequence[str] = ()) -> Recall:
        """What is worth putting into a turn's prompt."""
        scopes = self.turn_scopes(turn)
        return await self._reader.recall(text, scopes, limit=limit, exclude=exclude, turn_id=turn.turn_id)

    async def related(self, turn: TurnContext, text: str, limit: int = 24) -> list[dict[str, Any]]:
        """Active and waiting memory near a text, for the extractor."""
        scopes = self.turn_scopes(turn)
        found = await self._reader.search(SearchParams(query=text[:4096], limit=limit), scopes)
        shown = [
            _manifest("memory_id", h.record.memory_id, h.record.category, h.record.key, h.record.content)
            for h in found.hits
        ]

        def waiting(tx: Tx) -> list[dict[str, Any]]:
            rows = [
                row[1]
                for scope_id in scope_ids_of(tx, scopes)
                for row in tx.all(SQL["pending_candidates"], {"scope_id": scope_id, "limit": limit})
            ]
            candidates = [found.candidate for row in rows if (found := get_candidate(tx, row)) is not None]
            return [_manifest("candidate_id", c.candidate_id, c.category, c.key, c.content) for c in candidates]

        return [*shown, *await self._means.db.read(waiting)][:limit]

    # -- writes ----------------------------------------------------------------------------------------------------

    async def remember(self, params: RememberParams) -> RememberResult:
        """Keep something because the user wants it kept."""
        self._require_enabled()
        check_bounds(params.content, params.value, params.metadata)
        place = self._place(params.context)
        provenance = params.provenance or Provenance()
        provenance = msgspec.structs.replace(provenance, thread_id=provenance.thread_id or params.context.thread_id)
        proposed = _explicit(params, provenance, place.workspace_id)
        write = partial(self._write, proposed=proposed, context=params.context, place=place)
        outcome = await self._once(params.idempotency_key, ["remember", params], place, write)
        return _remembered(outcome)

    async def write(self, params: WriteParams) -> WriteResult:
        """Decide on a proposal; a refusal is a result."""
        self._require_enabled()
        check_bounds(params.content, params.value, params.metadata)
        place = self._place(params.context)
        first = params.evidence[0] if params.evidence else None
        provenance = params.provenance or Provenance(
            source_kind="user_statement",
            thread_id=(first.thread_id if first else None) or params.context.thread_id,
            turn_id=first.turn_id if first else None,
            item_id=first.item_id if first else None,
        )
        proposed = Proposed(
            semantic=params.semantic,
            content=params.content,
            workspace_id=place.workspace_id,
            scope=params.scope,
            value=params.value,
            alias=params.key,
            evidence=params.evidence,
            is_explicit=_is_explicit(params),
            disposition=params.disposition,
            kind=params.kind,
            tags=params.tags,
            confidence=params.confidence,
            importance=params.importance,
            valid_from=params.valid_from,
            expires_at=params.expires_at,
            metadata=params.metadata,
            provenance=provenance,
        )
        write = partial(self._write, proposed=proposed, context=params.context, place=place)
        return (await self._once(params.idempotency_key, ["write", params], place, write)).result

    def _write(self, tx: Tx, *, proposed: Proposed, context: Context, place: _Place) -> Outcome:
        self._require_writable(tx, context, proposed.scope, place.scopes)
        return self._writer.write(tx, proposed, place.scopes)

    async def remember_in_turn(self, turn: TurnContext, params: RememberParams, *, explicit: bool) -> WriteResult:
        """A model's `memory_remember`: a wish of the user where they asked in this turn, else a mere proposal."""
        check_bounds(params.content, params.value, params.metadata)
        scopes = self.turn_scopes(turn)
        if params.scope is not None:
            required(scopes, params.scope)
        given = params.provenance or Provenance()
        source = "explicit_user_request" if explicit else "assistant_inference"
        provenance = msgspec.structs.replace(
            given,
            source_kind=source,
            thread_id=turn.thread_id,
            turn_id=turn.turn_id,
            created_by=Actor(kind="assistant"),
        )
        proposed = _explicit(params, provenance, turn.workspace_id)._replace(
            owner="user" if turn.origin == "user" else turn.origin, forbidden=_forbidden(turn)
        )
        if not explicit:
            semantic = msgspec.structs.replace(proposed.semantic, intent="implicit_candidate", explicitness="implicit")
            proposed = proposed._replace(semantic=semantic, is_explicit=False)
        place = _Place(scopes, turn.workspace_id)
        write = partial(_in_turn, writer=self._writer, proposed=proposed, scopes=scopes)
        return (await self._once(params.idempotency_key, ["tool", params], place, write)).result

    async def propose(
        self,
        turn: TurnContext,
        facts: Sequence[Fact],
        *,
        run_id: str,
        user_items: Mapping[str, str],
        policy_allows: bool,
    ) -> list[WriteResult]:
        """Decide on the facts of an extraction, all in one transaction, once for a run."""
        scopes = self.turn_scopes(turn)
        outcomes: list[Outcome] = []

        def apply(tx: Tx) -> None:
            key = f"run:{run_id}"
            if tx.one(SQL["get_answer"], {"key": key, "after": 0}) is not None:
                return
            for fact in facts:
                proposed = _from_fact(turn, fact, run_id, user_items, policy_allows=policy_allows)
                outcomes.append(self._writer.write(tx, proposed, scopes))
            counts: dict[str, int] = {}
            for outcome in outcomes:
                code = outcome.result.decision.reason_code
                counts[code] = counts.get(code, 0) + 1
            values = {"key": key, "request": b"", "answer": encoded(counts), "at": self._means.clock.now()}
            tx.run(SQL["put_answer"], values)

        await self._means.db.write(apply)
        for outcome in outcomes:
            self._tell(outcome.notices)
        return [outcome.result for outcome in outcomes]

    async def proposal_of(self, run_id: str) -> dict[str, Any] | None:
        """What an earlier attempt of a run left, by reason; None if none was committed."""
        row = await self._means.db.read(lambda tx: tx.one(SQL["get_answer"], {"key": f"run:{run_id}", "after": 0}))
        return msgspec.json.decode(row[1], type=dict[str, Any]) if row else None

    async def _once(self, key: str | None, request: list[Any], place: _Place, work: Callable[[Tx], Outcome]) -> Outcome:
        """Run a write; under an idempotency key, a repeat gets the same answer with the record as it is now."""
        means = self._means
        named = f"{place.workspace_id or '-'}|{key}" if key is not None else None
        digest = means.keyed.digest("request", encoded(request))
        after = means.clock.now() - KEEP_ANSWERS_MS

        def write(tx: Tx) -> Outcome:
            if named is None:
                return work(tx)
            known = tx.one(SQL["get_answer"], {"key": named, "after": after})
            if known is not None:
                if known[0] != digest:
                    raise Refused("idempotency_mismatch")
                return _answered(tx, known[1], means.clock.now())
            outcome = work(tx)
            answer = encoded(_answer(outcome))
            tx.run(SQL["put_answer"], {"key": named, "request": digest, "answer": answer, "at": means.clock.now()})
            return outcome

        outcome = await means.db.write(write)
        self._tell(outcome.notices)
        return outcome

    async def update(self, params: UpdateParams) -> UpdateResult:
        """Correct a record (new content supersedes) or annotate it in place."""
        self._require_enabled()
        content = params.content if params.content is not UNSET else None
        check_bounds(content, params.value if params.value is not UNSET else None, params.metadata or None)
        place = self._place(params.context)

        def update(tx: Tx) -> tuple[Record, str | None, list[Notice]]:
            self._require_writable(tx, params.context, None, place.scopes)
            stored = self._updatable(tx, params, place.scopes)
            if content is not None and content != stored.record.content:
                outcome = self._writer.write(tx, _correction(params, stored, content, place.workspace_id), place.scopes)
                record = _kept(outcome)
                return record, outcome.result.superseded_memory_id, outcome.notices
            record = self._annotate(tx, stored, params)
            return record, None, [changed(record, "updated", None)]

        record, superseded, notices = await self._means.db.write(update)
        self._tell(notices)
        return UpdateResult(record=record, superseded_memory_id=superseded)

    def _updatable(self, tx: Tx, params: UpdateParams, scopes: Sequence[Scope]) -> Stored:
        stored = get_record(tx, params.memory_id)
        view = View(frozenset(scope_ids_of(tx, scopes)), KEPT, self._means.clock.now(), shows_regulated=True)
        if stored is None or not is_visible(stored.seen, view):
            raise CallerError.missing("memory")
        if stored.record.status != "active":
            raise Refused("conflict", "Only an active memory can be changed.")
        if params.expected_updated_at not in {None, stored.record.updated_at}:
            raise Refused("conflict", "The memory was changed meanwhile.")
        return stored

    def _annotate(self, tx: Tx, stored: Stored, params: UpdateParams) -> Record:
        old, now = stored.record, self._means.clock.now()
        names = ("value", "tags", "category", "importance", "expires_at", "metadata")
        new = {name: given for name in names if (given := getattr(params, name)) is not UNSET}
        texts = [encoded(entry) for entry in new.values()]
        if any(self._means.scanner.find(text) for text in texts):
            raise Refused("write_refused", details={"reason_code": "secret_detected"})
        record = msgspec.structs.replace(old, **new)
        value = encoded(record.value) if record.value is not None else None
        remove_text(tx, stored, self._means.lexicon)
        tx.run(SQL["update_record"], {
            "memory_id": old.memory_id, "value": value, "tags": encoded(record.tags), "category": record.category,
            "importance": record.importance, "expires_at": record.expires_at, "metadata": encoded(record.metadata),
            "now": now, "checksum": checksum(old.memory_id, old.key, old.content, value),
        })  # fmt: skip
        current = get_record(tx, old.memory_id)
        if current is None:
            raise Defect
        add_text(tx, current, self._means.lexicon)
        add_event(tx, old.memory_id, now, Change("updated", USER_ACTOR, None, "active", "active"))
        note_change(tx, self._means, stored.scope_id)
        return current.record

    # -- forgetting ------------------------------------------------------------------------------------------------

    async def forget(self, params: ForgetParams) -> ForgetResult:
        """Forget what a target names. Goes on while memory is switched off."""
        place = self._place(params.context)

        def check(tx: Tx) -> Forgotten:
            thread = self._means.read_thread(tx, params.context.thread_id) if params.context.thread_id else None
            if thread is not None and thread.memory_mode != "normal" and not params.dry_run:
                raise Refused("memory_write_disabled")
            return self._forgetter.forget(tx, params, place.scopes, USER_ACTOR)

        return await self._forget(check)

    async def forget_in_turn(self, turn: TurnContext, params: ForgetParams) -> ForgetResult:
        """Forget within a turn's scopes."""
        scopes = self.turn_scopes(turn)
        actor = Actor(kind="assistant")
        return await self._forget(lambda tx: self._forgetter.forget(tx, params, scopes, actor))

    async def _forget(self, work: Callable[[Tx], Forgotten]) -> ForgetResult:
        forgotten = await self._means.db.write(work)
        result = forgotten.result
        if result.receipt is not None and not result.dry_run:
            receipt = result.receipt
            is_cut = await self._means.truncate_wal()
            if not is_cut:
                await self._means.db.write(lambda tx: self._means.jobs.enqueue(tx, "erase_finish", ERASE_SUBJECT))
            receipt = msgspec.structs.replace(receipt, wal="truncated" if is_cut else "pending", complete=is_cut)
            result = msgspec.structs.replace(result, receipt=receipt)
        self._tell(forgotten.notices)
        return result

    async def finish_erase(self, _handle: JobHandle) -> None:
        """The handler of `erase_finish` jobs: empty the WAL of erased bytes, again and again until it succeeds."""
        if not await self._means.truncate_wal():
            raise RetryJob("wal_busy")
        self._means.notify("memory/erased", MemoryErased(memory_ids=[]))

    async def restore(self, params: RestoreParams) -> RestoreResult:
        """Undo a forgetting."""
        self._require_enabled()
        scopes = self._place(params.context).scopes
        record, notices = await self._means.db.write(
            lambda tx: self._forgetter.restore(tx, params.memory_id, scopes, USER_ACTOR)
        )
        self._tell(notices)
        return RestoreResult(record=record)

    # -- looking back ----------------------------------------------------------------------------------------------

    async def history(self, params: HistoryParams) -> HistoryResult:
        """The events of a whole supersession chain, oldest first."""
        scopes = self._place(params.context).scopes

        def read(tx: Tx) -> list[Event]:
            stored = get_record(tx, params.memory_id)
            if stored is None or stored.scope_id not in scope_ids_of(tx, scopes):
                raise CallerError.missing("memory")
            rows = [
                row
                for memory_id in _chain(tx, stored.record)
                for row in tx.all(SQL["events_of"], {"memory_id": memory_id})
            ]
            return [_event(row) for row in sorted(rows, key=lambda row: row[7])]

        return HistoryResult(events=await self._means.db.read(read))

    async def explain(self, params: ExplainParams) -> ExplainResult:
        """Why something was or was not saved or recalled."""
        place = self._place(params.context)
        if params.target is not None:
            target = params.target
            return await self._means.db.read(lambda tx: self._explainer.explain(tx, target, place.scopes))
        if params.query is None:
            raise CallerError.at("$", "Give a `target` or a `query`")
        if not self._means.settings().enabled:
            return explain_recall(None, is_enabled=False, limit=EXPLAINED_LIMIT)
        recall = await self._reader.recall(params.query, place.scopes, limit=EXPLAINED_LIMIT, exclude=(), turn_id=None)
        return explain_recall(recall, is_enabled=True, limit=EXPLAINED_LIMIT)

    async def stats(self, params: StatsParams) -> StatsResult:
        """Counts of the active scopes."""
        scopes = self._place(params.context).scopes

        def read(tx: Tx) -> StatsResult:
            by_scope: list[ScopeCount] = []
            totals: dict[str, dict[str, int]] = {
                "category": {},
                "status": {},
                "index": {},
                "candidates": {},
                "reasons": {},
            }
            for scope_id, scope in scope_ids_of(tx, scopes).items():
                counted = 0
                for category, status, index, count in tx.all(SQL["count_records"], {"scope_id": scope_id}):
                    counted += count if status == "active" else 0
                    for name, key in (("category", category), ("status", status), ("index", index)):
                        totals[name][key] = totals[name].get(key, 0) + count
                by_scope.append(ScopeCount(scope=scope, count=counted))
                for name, query in (("candidates", "count_candidates"), ("reasons", "count_decisions")):
                    for key, count in tx.all(SQL[query], {"scope_id": scope_id}):
                        totals[name][key] = totals[name].get(key, 0) + count
            records = RecordCounts(by_scope=by_scope, by_category=totals["category"], by_status=totals["status"])
            index = IndexCounts(**totals["index"])
            decisions = DecisionCounts(by_reason_code=totals["reasons"])
            return StatsResult(records=records, candidates=totals["candidates"], decisions=decisions, index=index)

        return await self._means.db.read(read)

    # -- the clock, other processes, other houses ------------------------------------------------------------------

    async def sweep(self) -> int:
        """Do what the clock has made due; returns how much was done."""
        days = self._means.settings().retention_days
        done, notices = await self._means.db.write(lambda tx: self._forgetter.sweep(tx, days))
        self._tell(notices)
        return done

    async def due_at(self) -> int | None:
        """When the next sweep has something to do."""
        days = self._means.settings().retention_days
        return await self._means.db.read(lambda tx: self._forgetter.due_at(tx, days))

    def changes_since(self, tx: Tx, seq: int) -> tuple[list[Scope], int]:
        """Scopes that other processes changed after a place, and the newest place."""
        rows = tx.all(SQL["changes_after"], {"seq": seq, "owner": self._means.owner})
        last = tx.one(SQL["last_change"])
        return [Scope(kind=kind, key=key) for kind, key in rows], last[0] if last else 0

    def on_thread_deleted(self, tx: Tx, thread_id: str) -> Mapping[str, int]:
        """A deleted thread takes its own scope's memory along; what the user taught there stays theirs."""
        return self._bury_scope(tx, Scope(kind="thread", key=thread_id))

    def on_workspace_deleted(self, tx: Tx, workspace_id: str) -> Mapping[str, int]:
        """A deleted workspace takes its memory along; tombstones stay."""
        return self._bury_scope(tx, Scope(kind="workspace", key=workspace_id))

    def _bury_scope(self, tx: Tx, scope: Scope) -> Mapping[str, int]:
        buried = 0
        notices: list[Notice] = []
        for scope_id in scope_ids_of(tx, [scope]):
            for (memory_id,) in tx.all(SQL["records_of_scope"], {"scope_id": scope_id}):
                stored = get_record(tx, memory_id)
                if stored is not None:
                    notices += self._forgetter.bury(tx, stored, Actor(kind="system"), restore_superseded=False)
                    buried += 1
        tx.after_commit(lambda: self._tell(notices))
        return {"memories": buried}

    async def rebuild_text(self) -> bool:
        """Fill the full-text index anew when another version of the lexicon filled it; returns whether it did."""
        lexicon = self._means.lexicon

        def rebuild(tx: Tx) -> bool:
            known = tx.one(SQL["get_fact"], {"name": "lexicon"})
            if known is not None and known[0] == lexicon.version:
                return False
            tx.run(SQL["clear_text"])
            for row in tx.all(SQL["records_to_index"]):
                add_text(tx, stored_of(row), lexicon)
            tx.run(SQL["put_fact"], {"name": "lexicon", "value": lexicon.version})
            return True

        known = await self._means.db.read(lambda tx: tx.one(SQL["get_fact"], {"name": "lexicon"}))
        return False if known is not None and known[0] == lexicon.version else await self._means.db.write(rebuild)


# -- proposals from each door ----------------------------------------------------------------------------------------


def _in_turn(tx: Tx, *, writer: Writer, proposed: Proposed, scopes: Sequence[Scope]) -> Outcome:
    return writer.write(tx, proposed, scopes)


def _forbidden(turn: TurnContext) -> ReasonCode | None:
    is_closed = turn.memory_mode != "normal" or turn.mode == "chat" or turn.parent_thread_id is not None
    return "memory_write_disabled" if is_closed else None


def _explicit(params: RememberParams, provenance: Provenance, workspace_id: str | None) -> Proposed:
    """An explicit wish: the words themselves are its evidence."""
    evidence = Evidence(
        quote=params.content[:2000], thread_id=provenance.thread_id, turn_id=provenance.turn_id,
        source_kind=provenance.source_kind,
    )  # fmt: skip
    return Proposed(
        semantic=explicit_fields(params), content=params.content, workspace_id=workspace_id, scope=params.scope,
        value=params.value, alias=params.key, evidence=[evidence], is_explicit=True, disposition="accept_active",
        kind=params.kind, tags=params.tags, confidence=params.confidence, importance=params.importance,
        valid_from=params.valid_from, expires_at=params.expires_at, metadata=params.metadata, provenance=provenance,
        declared=params.sensitivity, supersedes=params.supersedes,
    )  # fmt: skip


def _is_explicit(params: WriteParams) -> bool:
    """Whether a proposal is the user's own wish: said so, and meant to be kept."""
    return params.semantic.intent == "explicit_store" and params.semantic.explicitness == "explicit"


def _from_fact(
    turn: TurnContext, fact: Fact, run_id: str, user_items: Mapping[str, str], *, policy_allows: bool
) -> Proposed:
    """A fact of the extractor; a quote without a message may stand in any message of the user."""
    item_id = fact.evidence.item_id or _item_with(fact.evidence.quote, user_items)
    evidence = Evidence(
        quote=fact.evidence.quote, thread_id=turn.thread_id, turn_id=turn.turn_id, item_id=item_id or "itm_none"
    )  # fmt: skip
    forbidden: ReasonCode | None = None if policy_allows else "no_memory_requested"
    return Proposed(
        semantic=fact.semantic, content=fact.content, workspace_id=turn.workspace_id, value=fact.value,
        evidence=[evidence], run_id=run_id, forbidden=forbidden or _forbidden(turn),
        is_explicit=fact.semantic.intent == "explicit_store" and fact.semantic.explicitness == "explicit",
        owner="user" if turn.origin == "user" else turn.origin,
        provenance=Provenance(
            source_kind="user_statement", thread_id=turn.thread_id, turn_id=turn.turn_id, item_id=item_id,
            created_by=Actor(kind="extractor"),
        ),
    )  # fmt: skip


def _item_with(quote: str, user_items: Mapping[str, str]) -> str | None:
    wanted = compared(quote)
    return next(
        (item_id for item_id, text in user_items.items() if wanted in compared(text)), next(iter(user_items), None)
    )


def _correction(params: UpdateParams, stored: Stored, content: str, workspace_id: str | None) -> Proposed:
    """New words for a record: an explicit correction that keeps its scope, key and everything not changed."""
    old = stored.record
    remember = RememberParams(
        content=content,
        category=old.category if params.category is UNSET else params.category,
        scope=old.scope,
        key=stored.alias or (old.key if stored.is_single else None),
        kind=old.kind,
        value=None if params.value is UNSET else params.value,
        tags=old.tags if params.tags is UNSET else params.tags,
        sensitivity=old.sensitivity,
        confidence=old.confidence,
        importance=old.importance if params.importance is UNSET else params.importance,
        expires_at=old.expires_at if params.expires_at is UNSET else params.expires_at,
        metadata=old.metadata if params.metadata is UNSET else params.metadata,
        supersedes=old.memory_id,
    )
    return _explicit(remember, Provenance(source_kind="user_correction"), workspace_id)


# -- answers ---------------------------------------------------------------------------------------------------------


def _kept(outcome: Outcome) -> Record:
    """The record of a write that had to succeed. Raises `Refused("write_refused")` with the decision."""
    record = outcome.result.record
    if record is None:
        decision: Decision = outcome.result.decision
        message = f"The memory was not saved: {decision.reason_code.replace('_', ' ')}."
        raise Refused("write_refused", message, details={"decision": msgspec.to_builtins(decision)})
    return record


def _remembered(outcome: Outcome) -> RememberResult:
    result = outcome.result
    return RememberResult(
        record=_kept(outcome), created=outcome.created, relation=result.relation, decision=result.decision,
        superseded_memory_id=result.superseded_memory_id,
    )  # fmt: skip


def _answer(outcome: Outcome) -> dict[str, Any]:
    """What is kept of an answer: ids, never content."""
    r = outcome.result
    return {
        "created": outcome.created, "relation": r.relation, "canonical_key": r.canonical_key,
        "semantic_fingerprint": r.semantic_fingerprint, "decision": r.decision,
        "memory_id": r.record.memory_id if r.record else None,
        "candidate_id": r.candidate.candidate_id if r.candidate else None,
        "superseded_memory_id": r.superseded_memory_id, "evidence_merged": r.evidence_merged,
    }  # fmt: skip


def _answered(tx: Tx, answer: str, now: int) -> Outcome:
    """A stored answer with its record and candidate as they are now."""
    kept = msgspec.json.decode(answer, type=dict[str, Any])
    stored = get_record(tx, kept["memory_id"]) if kept["memory_id"] else None
    waiting = get_candidate(tx, kept["candidate_id"]) if kept["candidate_id"] else None
    result = WriteResult(
        relation=kept["relation"], canonical_key=kept["canonical_key"], semantic_fingerprint=kept["semantic_fingerprint"],
        decision=msgspec.convert(kept["decision"], Decision), record=at_time(stored.record, now) if stored else None,
        candidate=waiting.candidate if waiting else None, superseded_memory_id=kept["superseded_memory_id"],
        evidence_merged=kept["evidence_merged"],
    )  # fmt: skip
    return Outcome(result, kept["created"], [])


def _manifest(name: str, identifier: str, category: str, key: str, content: str) -> dict[str, Any]:
    return {name: identifier, "category": category, "key": key, "content": content[:RELATED_CHARS]}


def _chain(tx: Tx, record: Record) -> list[str]:
    """Ids of everything that a record replaced or was replaced by, without end in any direction."""
    ids = [record.memory_id]
    older, newer = record.supersedes, record.superseded_by
    while older is not None and older not in ids:
        ids.append(older)
        found = get_record(tx, older)
        older = found.record.supersedes if found is not None else None
    while newer is not None and newer not in ids:
        ids.append(newer)
        found = get_record(tx, newer)
        newer = found.record.superseded_by if found is not None else None
    return ids


def _event(row: Sequence[Any]) -> Event:
    return Event(
        at=row[0], event=row[1], actor=msgspec.json.decode(row[2], type=Actor), reason_code=row[3], from_status=row[4],
        to_status=row[5], memory_id=row[6],
    )  # fmt: skip
