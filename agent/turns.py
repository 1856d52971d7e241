"""Turns: one at a time in a thread, run by the gateway or by the host, ended exactly once.

Rule 1: both drivers share one lifecycle and one pipeline; only who calls the model differs.
Rule 2: a turn that began is ended, whatever happened to it.
"""

import hashlib
from collections.abc import Callable, Mapping
from typing import NamedTuple

import anyio
import msgspec

from agent.active import ActiveTurn
from agent.artifacts import Artifacts
from agent.background import Background
from agent.compile import context_blocks, injected, messages_of, system_text
from agent.history import fit_history
from agent.imports import artifact_ref
from agent.ledger import Ledger
from agent.lifecycle import TurnLifecycle, turn_values
from agent.model import NOTHING_SAID, History
from agent.pipeline import Pipeline, Prepared
from agent.rounds import Tools, run_rounds, run_tool
from agent.runtime import RequiredHookFailedError
from agent.store import SQL, StoredThread, add_run, add_tool_reply, encoded, get_thread, get_turn
from protocol.errors import CallerError, GatewayError, Refused, Unavailable
from protocol.gateway import HookRun
from protocol.hooks import OnItems, ToolCall
from protocol.models import Model, ModelRequest, ProviderFailed, ToolRequest
from protocol.ports import Clock, Ids, Notify, Spawn, Transact, Tx
from protocol.settings import GatewayConfig
from protocol.threads import (
    FinishStatus,
    PrepareResult,
    ToolCallParams,
    ToolCallResult,
    ToolEvent,
    ToolReply,
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


class _HostTurn(NamedTuple):
    """A prepared turn whose model the host runs."""

    active: ActiveTurn
    prepared: Prepared


def _provider_of(asked: TurnStartParams, found: StoredThread | None) -> str | None:
    """The provider that the turn names, else its thread; None for the role's."""
    return asked.provider or (found.provider if found is not None else None)


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
        mask: Callable[[str], str],
    ) -> None:
        self._db = db
        self._pipeline = pipeline
        self._ledger = ledger
        self._model = model
        self._tools = tools
        self._spawn = spawn
        self._settings = settings
        self._owner = owner
        self._artifacts = artifacts
        self._incident = incident
        self._mask = mask
        self._host: dict[str, _HostTurn] = {}
        self._life = TurnLifecycle(
            db=db, clock=clock, ids=ids, background=background, ledger=ledger, artifacts=artifacts, notify=notify,
            on_items=on_items, settings=settings, owner=owner, time_zone=time_zone,
        )  # fmt: skip

    def thread_of(self, turn_id: str) -> str | None:
        """The thread of a turn that runs in this process."""
        active = self._life.running.get(turn_id)
        return active.turn.thread_id if active is not None else None

    # -- the gateway calls the model -------------------------------------------------------------------------------

    async def turn_start(self, params: TurnStartParams) -> TurnResult:
        """Begin a turn; the rest comes as notifications."""
        if not self._model.is_configured("main"):
            found = await self._db.read(lambda tx: get_thread(tx, params.thread_id))
            if _provider_of(params, found) is None:
                raise Unavailable("provider_not_configured")
        begun = await self._life.begin(params, "in_progress", "gateway")
        active = begun.active
        if active is not None:
            self._spawn(lambda: self._drive(active, begun.history, params), "turn")
        return TurnResult(turn=begun.turn)

    async def _drive(self, active: ActiveTurn, history: History, params: TurnStartParams) -> None:
        prepared: Prepared | None = None
        status: TurnStatus = "failed"
        error: TurnError | None = None
        runs: list[HookRun] = []
        try:
            with active.scope:
                active.started()
                active.complete(active.user_item, is_stored=True)
                found = await self._db.read(lambda tx: get_thread(tx, active.turn.thread_id))
                calls_tools = self._model.calls_tools("main", _provider_of(params, found))
                prepared = await self._pipeline.prepare(active.context, active.text, history, calls_tools=calls_tools)
                request, prepared = await self._request(active, prepared, history, params, found)
                tools = Tools(prepared.toolset, self._tools, prepared.policy, self._incident)
                await run_rounds(active, tools, self._model, request, self._settings().agent.max_rounds)
                status = "completed"
            if active.scope.cancelled_caught:
                status = active.end_as
        except RequiredHookFailedError as failed:
            runs = failed.runs
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
                await self._life.end(active, status, prepared, error=error, runs=runs)

    async def _request(
        self,
        active: ActiveTurn,
        prepared: Prepared,
        history: History,
        asked: TurnStartParams,
        found: StoredThread | None,
    ) -> tuple[ModelRequest, Prepared]:
        """The first request of a turn, and the turn with what was left out of its history."""
        provider = _provider_of(asked, found)
        settings = self._settings().agent
        instructions = found.instructions if found is not None else None
        system = system_text(prepared.compiled.sections, settings.system_prompt, instructions)
        takes_pictures = self._model.takes_pictures("main", provider)
        pictures = await self._artifacts.pictures(active.user_item.artifacts) if takes_pictures else []
        blocks = prepared.compiled.blocks
        history, budgets = fit_history(
            history,
            messages_of(system, NOTHING_SAID, blocks, active.text, pictures),
            prepared.toolset.visible(),
            max_chars=settings.context_chars,
            max_tokens=self._model.prompt_tokens("main", provider),
            min_turns=settings.history_turns_min,
        )
        request = ModelRequest(
            role="main",
            thread_id=active.turn.thread_id,
            turn_id=active.turn.turn_id,
            messages=messages_of(
                system, history, blocks, active.text, pictures, active.context.options.context_placement
            ),
            model=asked.model or (found.model if found is not None else None),
            provider=provider,
        )
        return request, prepared.with_budgets(budgets)

    # -- the host calls the model ----------------------------------------------------------------------------------

    async def turn_prepare(self, params: TurnStartParams) -> PrepareResult:
        """Everything before the model, for a host that calls its own."""
        begun = await self._life.begin(params, "awaiting_host", "host")
        active = begun.active
        if active is None:
            host = self._host.get(begun.turn.turn_id)
            if host is None:
                raise Refused("conflict", "That turn has ended, or another process runs it.")
            return self._prepared_result(host)
        prepared = await self._prepare_for_host(active, begun.history)
        host = self._host[active.turn.turn_id] = _HostTurn(active, prepared)
        active.turn = msgspec.structs.replace(active.turn, prompt_manifest=prepared.manifest())
        await self._db.write(lambda tx: self._store_prepared(tx, host))
        return self._prepared_result(host)

    async def _prepare_for_host(self, active: ActiveTurn, history: History) -> Prepared:
        prepared: Prepared | None = None
        status: TurnStatus = "cancelled"  # unless something below says that it failed
        error: TurnError | None = None
        runs: list[HookRun] = []
        try:
            with active.scope:
                active.started()
                active.complete(active.user_item, is_stored=True)
                prepared = await self._pipeline.prepare(active.context, active.text, history, calls_tools=True)
            if active.scope.cancel_called:
                prepared, status = None, active.end_as
        except RequiredHookFailedError as failed:
            status, runs = "failed", failed.runs
            error = TurnError(reason=f"hook_failed:{failed.hook_id}", retryable=True)
            raise Unavailable("unavailable", "A hook without which the turn may not begin has failed.") from failed
        except Exception:
            status, error = "failed", TurnError(reason="internal", retryable=True)
            raise
        finally:
            if prepared is None:
                with anyio.CancelScope(shield=True):
                    await self._life.end(active, status, None, error=error, runs=runs)
        if prepared is None:
            raise Refused("conflict", "The turn was cancelled.")
        return prepared

    def _store_prepared(self, tx: Tx, host: _HostTurn) -> None:
        turn = host.active.turn
        for run in host.prepared.runs:
            add_run(tx, run)
        place = (turn.workspace_id, turn.thread_id, turn.turn_id)
        self._ledger.record(tx, place, injected(host.prepared.compiled.blocks))
        tx.run(SQL["end_turn"], turn_values(turn, host.active.seq, self._owner, []))

    def _prepared_result(self, host: _HostTurn) -> PrepareResult:
        prepared, manifest = host.prepared, host.prepared.manifest()
        return PrepareResult(
            turn=host.active.turn,
            context_blocks=context_blocks(prepared.compiled.blocks, host.active.context.options.context_placement),
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
        tools = Tools(host.prepared.toolset, self._tools, host.prepared.policy, self._incident)
        wanted = ToolRequest(call_id=params.call_id, name=params.name, arguments=params.arguments)
        reply = await run_tool(host.active, tools, wanted)
        values = {**key, "request": request, "result": encoded(reply)}
        await self._db.write(lambda tx: add_tool_reply(tx, values))
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
        del self._host[params.turn_id]
        events = [self._masked(event) for event in params.tool_events]
        turn = await self._life.end(host.active, status, host.prepared, error=error, tool_events=events)
        return TurnResult(turn=turn)

    def _masked(self, event: ToolEvent) -> ToolEvent:
        """A host's tool event as it is kept: what a tool said is no message of the user, so no secret of it stays."""
        summary = self._mask(event.summary) if event.summary is not None else None
        return msgspec.structs.replace(event, name=self._mask(event.name), summary=summary)

    async def _explain_absence(self, turn_id: str) -> None:
        found = await self._db.read(lambda tx: get_turn(tx, turn_id))
        if found is None:
            raise CallerError.missing("turn")
        raise Refused("conflict", "That turn is not waiting for its host here.")

    # -- both ------------------------------------------------------------------------------------------------------

    async def turn_cancel(self, params: TurnParams) -> TurnResult:
        """Stop a turn; one that has ended is returned as it is."""
        active = self._life.running.get(params.turn_id)
        if active is not None:
            active.end_as = "cancelled"
            host = self._host.pop(params.turn_id, None)
            if host is not None:
                await self._life.end(active, "cancelled", host.prepared)
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
        running = list(self._life.running.values())
        for active in running:
            active.end_as = "interrupted"
            active.scope.cancel()
        with anyio.move_on_after(SHUTDOWN_SECONDS, shield=True):
            for active in running:
                host = self._host.pop(active.turn.turn_id, None)
                if host is not None:
                    await self._life.end(active, "interrupted", host.prepared)
                else:
                    await active.ended.wait()
