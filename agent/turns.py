"""Turns: one at a time in a thread, run by the gateway or by the host, ended exactly once.

Rule 1: a turn has two durable commits: the user's item before the model, everything else before the notification that ends it.
Rule 2: a turn that began is ended by `_end`, whatever happened to it.
"""

import hashlib
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

import anyio
import msgspec

from agent.active import ActiveTurn
from agent.artifacts import Artifacts
from agent.background import Background, context_of
from agent.compile import context_blocks, injected, messages_of, system_text
from agent.history import read_history
from agent.imports import artifact_ref
from agent.ledger import Ledger
from agent.model import History
from agent.pipeline import Pipeline, Prepared
from agent.rounds import Tools, run_rounds, run_tool
from agent.runtime import RequiredHookFailedError
from agent.store import SQL, add_item, add_run, encoded, get_thread, get_turn, read_items
from agent.tools import failure
from protocol.errors import CallerError, Defect, GatewayError, Refused, Unavailable
from protocol.hooks import OnItems, ToolCall, TurnContext
from protocol.models import Model, ModelRequest, ProviderFailed, ToolRequest
from protocol.ports import Clock, Ids, Notify, Spawn, Transact, Tx
from protocol.settings import GatewayConfig
from protocol.threads import (
    ArtifactInput,
    ArtifactRef,
    FinishStatus,
    Item,
    Mode,
    PrepareResult,
    TextInput,
    ToolCallParams,
    ToolCallResult,
    ToolEvent,
    ToolReply,
    Turn,
    TurnError,
    TurnFinishParams,
    TurnParams,
    TurnResult,
    TurnStartParams,
    TurnStatus,
)

SHUTDOWN_SECONDS = 1.0
"""Running turns are ended as interrupted within this time when the process ends."""

FINISHED: Mapping[FinishStatus, TurnStatus] = {
    "succeeded": "completed", "failed": "failed", "provider_failure": "failed", "interrupted": "interrupted",
}  # fmt: skip
FINISH_ERRORS: Mapping[FinishStatus, TurnError] = {
    "failed": TurnError(reason="host_failed", retryable=False),
    "provider_failure": TurnError(reason="provider_failed", retryable=True),
}

_encode = msgspec.json.Encoder().encode


class _Stored(NamedTuple):
    """The beginning of a turn as the transaction left it; no context for one that was known already."""

    turn: Turn
    context: TurnContext | None = None
    user_item: Item | None = None
    history: History = History([], [], 0, None)


class _Begun(NamedTuple):
    """A turn whose beginning is stored, or one that was known already."""

    turn: Turn
    active: ActiveTurn | None
    history: History


class _HostTurn(NamedTuple):
    """A prepared turn whose model the host runs."""

    active: ActiveTurn
    prepared: Prepared


class Turns:
    """The wire methods of turns."""

    def __init__(
        self,
        *,
        db: Transact,
        clock: Clock,
        ids: Ids,
        pipeline: Pipeline,
        background: Background,
        ledger: Ledger,
        artifacts: Artifacts,
        model: Model,
        tools: Mapping[str, ToolCall],
        notify: Notify,
        spawn: Spawn,
        on_items: OnItems,
        settings: Callable[[], GatewayConfig],
        owner: str,
        time_zone: Callable[[], str],
        incident: Callable[[BaseException], str],
    ) -> None:
        self._db = db
        self._clock = clock
        self._ids = ids
        self._pipeline = pipeline
        self._background = background
        self._ledger = ledger
        self._artifacts = artifacts
        self._model = model
        self._tools = tools
        self._notify = notify
        self._spawn = spawn
        self._on_items = on_items
        self._settings = settings
        self._owner = owner
        self._time_zone = time_zone
        self._incident = incident
        self._running: dict[str, ActiveTurn] = {}
        self._host: dict[str, _HostTurn] = {}

    def thread_of(self, turn_id: str) -> str | None:
        """The thread of a turn that runs in this process."""
        active = self._running.get(turn_id)
        return active.turn.thread_id if active is not None else None

    # -- the gateway calls the model -------------------------------------------------------------------------------

    async def turn_start(self, params: TurnStartParams) -> TurnResult:
        """Begin a turn; the rest comes as notifications."""
        if not self._model.is_configured("main") and params.provider is None:
            raise Unavailable("provider_not_configured")
        begun = await self._begin(params, "in_progress", "gateway")
        active = begun.active
        if active is not None:
            self._spawn(lambda: self._drive(active, begun.history, params), "turn")
        return TurnResult(turn=begun.turn)

    async def _drive(self, active: ActiveTurn, history: History, params: TurnStartParams) -> None:
        prepared: Prepared | None = None
        status: TurnStatus = "failed"
        error: TurnError | None = None
        try:
            with active.scope:
                active.started()
                active.complete(active.user_item, is_stored=True)
                calls_tools = self._model.calls_tools("main")
                prepared = await self._pipeline.prepare(active.context, active.text, history, calls_tools=calls_tools)
                await self._rounds(active, prepared, history, params)
                status = "completed"
            if active.scope.cancelled_caught:
                status = active.end_as
        except RequiredHookFailedError as failed:
            error = TurnError(reason=f"hook_failed:{failed.hook_id}", retryable=True)
        except ProviderFailed as failed:
            error = TurnError(reason=failed.reason, retryable=failed.retryable)
        except GatewayError as failed:
            error = TurnError(reason=failed.reason, retryable=failed.retryable)
        except Exception as failed:  # noqa: BLE001  # the boundary of a turn: it ends as failed, told by an incident
            self._incident(failed)
            error = TurnError(reason="internal", retryable=False)
        finally:
            with anyio.CancelScope(shield=True):
                active.abandon("interrupted" if status in {"cancelled", "interrupted"} else "failed")
                await self._end(active, status, prepared, error=error)

    async def _rounds(self, active: ActiveTurn, prepared: Prepared, history: History, params: TurnStartParams) -> None:
        settings = self._settings().agent
        found = await self._db.read(lambda tx: get_thread(tx, active.turn.thread_id))
        instructions = found.instructions if found is not None else None
        system = system_text(prepared.compiled.sections, settings.system_prompt, instructions)
        request = ModelRequest(
            role="main",
            thread_id=active.turn.thread_id,
            turn_id=active.turn.turn_id,
            messages=messages_of(system, history, prepared.compiled.blocks, active.text),
            model=params.model or (found.model if found is not None else None),
            provider=params.provider or (found.provider if found is not None else None),
        )
        tools = Tools(prepared.toolset, self._tools, prepared.policy)
        await run_rounds(active, tools, self._model, request, settings.max_rounds)

    # -- the host calls the model ----------------------------------------------------------------------------------

    async def turn_prepare(self, params: TurnStartParams) -> PrepareResult:
        """Everything before the model, for a host that calls its own."""
        begun = await self._begin(params, "awaiting_host", "host")
        active = begun.active
        if active is None:
            host = self._host.get(begun.turn.turn_id)
            if host is None:
                raise Refused("conflict", "That turn has ended, or another process runs it.")
            return self._prepared_result(host)
        try:
            active.started()
            active.complete(active.user_item, is_stored=True)
            prepared = await self._pipeline.prepare(active.context, active.text, begun.history, calls_tools=True)
        except BaseException as failed:
            with anyio.CancelScope(shield=True):
                reason = "cancelled" if not isinstance(failed, Exception) else "internal"
                await self._end(active, "failed", None, error=TurnError(reason=reason, retryable=True))
            raise
        host = self._host[active.turn.turn_id] = _HostTurn(active, prepared)
        active.turn = msgspec.structs.replace(active.turn, prompt_manifest=prepared.manifest())
        await self._db.write(lambda tx: self._store_prepared(tx, host))
        return self._prepared_result(host)

    def _store_prepared(self, tx: Tx, host: _HostTurn) -> None:
        turn = host.active.turn
        for run in host.prepared.runs:
            add_run(tx, run)
        place = (turn.workspace_id, turn.thread_id, turn.turn_id)
        self._ledger.record(tx, place, injected(host.prepared.compiled.blocks))
        tx.run(SQL["end_turn"], self._turn_values(turn, host.active.seq, self._owner, []))

    def _prepared_result(self, host: _HostTurn) -> PrepareResult:
        prepared, manifest = host.prepared, host.prepared.manifest()
        return PrepareResult(
            turn=host.active.turn,
            context_blocks=context_blocks(prepared.compiled.blocks),
            prompt_sections=prepared.compiled.sections,
            tools=prepared.toolset.visible(),
            policy=prepared.policy,
            prompt_manifest=manifest,
            recall_status=manifest.recall.status,
        )

    async def turn_tool_call(self, params: ToolCallParams) -> ToolCallResult:
        """Run one of the gateway's tools; the same `call_id` again gives the same answer."""
        host = self._host.get(params.turn_id)
        if host is None:
            await self._explain_absence(params.turn_id)
        assert host is not None  # noqa: S101  # the line above raises otherwise
        key = {"turn_id": params.turn_id, "call_id": params.call_id}
        request = hashlib.sha256(_encode([params.name, params.arguments])).digest()
        known = await self._db.read(lambda tx: tx.one(SQL["get_tool_reply"], key))
        if known is not None:
            if known[0] != request:
                raise Refused("conflict", "That call_id was used with another call.")
            return ToolCallResult(
                result=msgspec.json.decode(known[1], type=ToolReply),
                visible_tools=host.prepared.toolset.visible_names(),
            )
        tools = Tools(host.prepared.toolset, self._tools, host.prepared.policy)
        wanted = ToolRequest(call_id=params.call_id, name=params.name, arguments=params.arguments)
        try:
            reply = await run_tool(host.active, tools, wanted)
        except GatewayError as failed:
            reply = failure(failed.reason, failed.message)
        values = {**key, "request": request, "result": encoded(reply)}
        await self._db.write(lambda tx: tx.run(SQL["add_tool_reply"], values))
        return ToolCallResult(result=reply, visible_tools=host.prepared.toolset.visible_names())

    async def turn_finish(self, params: TurnFinishParams) -> TurnResult:
        """End a host-driven turn; again is the same."""
        host = self._host.get(params.turn_id)
        if host is None:
            found = await self._db.read(lambda tx: get_turn(tx, params.turn_id))
            if found is None:
                raise CallerError.missing("turn")
            if found.turn.driver != "host":
                raise Refused("conflict", "The gateway runs that turn.")
            if found.turn.completed_at is None:
                raise Refused("conflict", "Another process runs that turn.")
            return TurnResult(turn=found.turn)
        status = FINISHED[params.status]
        if params.assistant_text:
            item = host.active.new_item("agent_message", "assistant", params.assistant_text)
            whole = "completed" if status == "completed" else "failed"
            refs = [artifact_ref(given) for given in params.artifacts]
            item = msgspec.structs.replace(item, status=whole, artifacts=refs)
            host.active.begin(item)
            host.active.complete(item)
        error = FINISH_ERRORS.get(params.status)
        turn = await self._end(host.active, status, host.prepared, error=error, tool_events=params.tool_events)
        return TurnResult(turn=turn)

    async def _explain_absence(self, turn_id: str) -> None:
        found = await self._db.read(lambda tx: get_turn(tx, turn_id))
        if found is None:
            raise CallerError.missing("turn")
        raise Refused("conflict", "That turn is not waiting for its host here.")

    # -- both ------------------------------------------------------------------------------------------------------

    async def turn_cancel(self, params: TurnParams) -> TurnResult:
        """Stop a turn; one that has ended is returned as it is."""
        active = self._running.get(params.turn_id)
        if active is not None:
            active.end_as = "cancelled"
            if params.turn_id in self._host:
                await self._end(active, "cancelled", self._host[params.turn_id].prepared)
            else:
                active.scope.cancel()
                await active.ended.wait()
        found = await self._db.read(lambda tx: get_turn(tx, params.turn_id))
        if found is None:
            raise CallerError.missing("turn")
        if found.turn.completed_at is None:
            raise Refused("conflict", "Another process runs that turn.")
        return TurnResult(turn=found.turn)

    async def end_all(self) -> None:
        """The process ends: what runs here is interrupted."""
        running = list(self._running.values())
        for active in running:
            active.end_as = "interrupted"
            active.scope.cancel()
        with anyio.move_on_after(SHUTDOWN_SECONDS, shield=True):
            for active in running:
                host = self._host.get(active.turn.turn_id)
                if host is not None:
                    await self._end(active, "interrupted", host.prepared)
                else:
                    await active.ended.wait()

    async def _begin(self, params: TurnStartParams, status: TurnStatus, driver: str) -> _Begun:
        turn_id = params.turn_id or self._ids.new("trn")
        text = "\n\n".join(part.text for part in params.input if isinstance(part, TextInput))
        digest = hashlib.sha256(_encode([params.thread_id, params.input])).digest()
        workspace_id = await self._db.read(lambda tx: self._admit(tx, params, turn_id, digest))
        files = [(n, part) for n, part in enumerate(params.input) if isinstance(part, ArtifactInput)]
        refs = await self._artifacts.receive(files, workspace_id) if workspace_id is not None else []

        def begin(tx: Tx) -> _Stored:
            known = self._known(tx, turn_id, digest)
            if known is not None:
                return _Stored(known)
            self._admit(tx, params, turn_id, digest)
            return self._store_beginning(tx, params, turn_id, digest, text, refs, status, driver)

        stored = await self._db.write(begin)
        if stored.context is None or stored.user_item is None:
            return _Begun(stored.turn, None, stored.history)
        active = self._running[turn_id] = ActiveTurn(
            turn=stored.turn, context=stored.context, user_item=stored.user_item, ids=self._ids, clock=self._clock,
            notify=self._notify,
        )  # fmt: skip
        return _Begun(stored.turn, active, stored.history)

    def _known(self, tx: Tx, turn_id: str, digest: bytes) -> Turn | None:
        found = get_turn(tx, turn_id)
        if found is not None and found.input_hash != digest:
            raise Refused("conflict", "A turn of that id exists with other input.")
        return found.turn if found is not None else None

    def _admit(self, tx: Tx, params: TurnStartParams, turn_id: str, digest: bytes) -> str | None:
        """The workspace of a turn that may begin; None for one that is known. Raises for one that may not."""
        found = get_thread(tx, params.thread_id)
        if found is None:
            raise CallerError.missing("thread")
        if self._known(tx, turn_id, digest) is not None:
            return None
        if tx.one(SQL["running_turn_of_thread"], {"thread_id": params.thread_id}):
            raise Refused("turn_in_progress")
        return found.thread.workspace_id

    def _store_beginning(
        self, tx: Tx, params: TurnStartParams, turn_id: str, digest: bytes, text: str, refs: Sequence[ArtifactRef],
        status: TurnStatus, driver: str,
    ) -> _Stored:  # fmt: skip
        found = get_thread(tx, params.thread_id)
        if found is None:
            raise CallerError.missing("thread")
        now = self._clock.now()
        last = tx.one(SQL["last_position"], {"thread_id": params.thread_id})
        position = (last[0] if last else 0) + 1
        mode: Mode = params.mode or found.thread.mode
        tx.run(SQL["add_turn"], {
            "turn_id": turn_id, "thread_id": params.thread_id, "position": position, "driver": driver, "mode": mode,
            "status": status, "options": encoded(params.options), "input_hash": digest, "started_at": now,
            "completed_at": None, "owner": self._owner,
        })  # fmt: skip
        tx.run(SQL["touch_thread"], {"thread_id": params.thread_id, "now": now})
        stored = get_turn(tx, turn_id)
        if stored is None:
            raise Defect
        item = Item(
            item_id=self._ids.new("itm"), turn_id=turn_id, thread_id=params.thread_id, kind="user_message", role="user",
            status="completed", text=text, at=now, name=None, artifacts=list(refs), tool=None,
        )  # fmt: skip
        add_item(tx, item, 0)
        settings = self._settings().agent
        history = read_history(
            tx,
            params.thread_id,
            position,
            max_chars=settings.context_chars - len(text),
            min_turns=settings.history_turns_min,
        )
        return _Stored(stored.turn, context_of(tx, stored, now, self._time_zone()), item, history)

    async def _end(
        self,
        active: ActiveTurn,
        status: TurnStatus,
        prepared: Prepared | None,
        *,
        error: TurnError | None = None,
        tool_events: Sequence[ToolEvent] = (),
    ) -> Turn:
        """Store everything that a turn left and tell its end."""
        turn_id = active.turn.turn_id
        if turn_id not in self._running:
            await active.ended.wait()
            return active.turn
        self._host.pop(turn_id, None)
        turn = msgspec.structs.replace(
            active.turn,
            status=status,
            completed_at=self._clock.now(),
            error=error if status == "failed" else None,
            rounds=active.rounds,
            usage=active.usage,
            prompt_manifest=prepared.manifest() if prepared is not None else active.turn.prompt_manifest,
        )
        tell = active.terminal(turn)
        new_runs = prepared is not None and active.turn.prompt_manifest is None

        def store(tx: Tx) -> None:
            for position, item in enumerate(active.items, 1):
                add_item(tx, item, position)
            if prepared is not None and new_runs:
                for run in prepared.runs:
                    add_run(tx, run)
                place = (turn.workspace_id, turn.thread_id, turn_id)
                self._ledger.record(tx, place, injected(prepared.compiled.blocks))
            tx.run(SQL["end_turn"], self._turn_values(turn, active.seq, None, tool_events))
            ids = [active.user_item.item_id, *(item.item_id for item in active.items)]
            self._on_items(tx, [fact for fact in read_items(tx, ids).values() if fact.indexable])
            tx.after_commit(tell)
            self._background.queue(tx, turn.thread_id, turn_id)

        try:
            await self._db.write(store)
        except GatewayError as failed:
            # What was said so far stays "running" on disk and is told as interrupted at the next start; the client
            # learns now that the end could not be stored.
            failure_ = TurnError(reason=failed.reason, retryable=failed.retryable)
            turn = msgspec.structs.replace(turn, status="failed", error=failure_)
            active.seq -= 1
            active.terminal(turn)()
        finally:
            active.turn = turn
            self._running.pop(turn_id, None)
            active.ended.set()
        return turn

    def _turn_values(
        self, turn: Turn, seq: int, owner: str | None, tool_events: Sequence[ToolEvent]
    ) -> dict[str, str | int | None]:
        return {
            "turn_id": turn.turn_id, "status": turn.status, "completed_at": turn.completed_at,
            "error_reason": turn.error.reason if turn.error else None,
            "error_retryable": turn.error.retryable if turn.error else None, "rounds": turn.rounds,
            "usage": encoded(turn.usage) if turn.usage else None,
            "manifest": encoded(turn.prompt_manifest) if turn.prompt_manifest else None, "last_seq": seq,
            "owner": owner, "tool_events": encoded(list(tool_events)),
        }  # fmt: skip
