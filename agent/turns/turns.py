"""Turns: one at a time in a thread, run by the gateway or by the host, ended exactly once.

Rule 1: both drivers share one lifecycle and one pipeline; only who calls the model differs.
Rule 2: a turn that began is ended, whatever happened to it.
"""

import hashlib
from collections.abc import Callable, Collection, Mapping, Sequence

import anyio
import msgspec
from msgspec import Struct

from agent.guidance.steering import Guidance, TurnGuidance
from agent.hooks.runtime import RequiredHookFailedError
from agent.prompt.compiler import context_blocks, list_injected, messages_of, system_text
from agent.prompt.history import fit_history, room_of
from agent.rows.items import StoredReply, add_tool_reply, find_tool_reply
from agent.rows.runs import add_run
from agent.rows.statements import to_json
from agent.rows.threads import StoredThread
from agent.rows.turns import get_turn, keep_prepared
from agent.states import TurnEvent
from agent.threads.imports import artifact_ref
from agent.turns.active import ActiveTurn
from agent.turns.lifecycle import TurnLifecycle, TurnMeans
from agent.turns.pipeline import Pipeline, PreparedTurn
from agent.turns.replayed_answers import Hosted, Replays
from agent.turns.rounds import MAX_ROUNDS, Tools, run_rounds, run_tool
from agent.values import NOTHING_SAID, History
from protocol import methods as m
from protocol.base import encode
from protocol.conversation.host_turns import (
    PrepareResult,
    ToolCallParams,
    ToolCallResult,
    ToolEvent,
    ToolReply,
    TurnFinishParams,
)
from protocol.conversation.manifests import ManifestRecall
from protocol.conversation.turns import (
    Turn,
    TurnError,
    TurnParams,
    TurnResult,
    TurnStartParams,
    TurnUpstream,
    Usage,
)
from protocol.conversation.values import FinishStatus, ItemStatus
from protocol.errors import CallerError, GatewayError, Refused, Unavailable
from protocol.gateway import HookRun
from protocol.hooks import ToolCall
from protocol.methods import Bound, bind
from protocol.models import Model, ModelRequest, ToolRequest
from protocol.saying import Saying
from protocol.seams.house_facts import Marks
from protocol.seams.ports import Spawn, Tx
from protocol.thread_episodic import parts_of_chunk
from protocol.tools import quotes_files

SHUTDOWN_SECONDS = 1.0
"""Running turns are ended as interrupted within this time when the process ends."""

FINISHED: Mapping[FinishStatus, TurnEvent] = {
    "succeeded": "complete",
    "failed": "fail",
    "provider_failure": "fail",
    "interrupted": "interrupt",
}
FINISH_ERRORS: Mapping[FinishStatus, TurnError] = {
    "failed": TurnError.of("host_failed", retryable=False),
    "provider_failure": TurnError.of("provider_failed", retryable=True),
}


def may_have_ended_by(turn: Turn, status: FinishStatus) -> bool:
    """Return whether a turn may have ended by a finish of that status: a repeated finish gets the turn as its answer.

    A cancelled turn may have ended by `interrupted`, one that failed by an error of the gateway's own by any status.
    """
    is_ours = turn.error is not None and turn.error not in FINISH_ERRORS.values()
    is_alike = turn.error == FINISH_ERRORS.get(status) and (turn.status == "completed") == (status == "succeeded")
    return is_ours or is_alike


ITEM_STATUS: Mapping[TurnEvent, ItemStatus] = {"complete": "completed", "fail": "failed", "interrupt": "interrupted"}
"""The status of an answer, by how its turn ends."""


class CapturedEnd(Struct, frozen=True):
    """The end of a captured turn; `recall` replaces the turn's own where nothing of what was prepared was shown."""

    status: FinishStatus
    text: str | None
    events: Sequence[ToolEvent]
    usage: Usage | None
    upstream: TurnUpstream | None
    recall: ManifestRecall | None


def _provider_of(asked: TurnStartParams, found: StoredThread | None, guidance: TurnGuidance) -> str | None:
    """Return the provider that the turn names, else its thread, else its agent's role; None for that of `main`."""
    return asked.provider or (found.provider if found is not None else None) or guidance.provider


class Turns:
    """The wire methods of turns."""

    def __init__(
        self,
        means: TurnMeans,
        *,
        pipeline: Pipeline,
        model: Model,
        tools: Mapping[str, ToolCall],
        spawn: Spawn,
        mask: Callable[[str], str],
        marks: Marks,
        guidance: Guidance,
    ) -> None:
        self._means = means
        self._pipeline = pipeline
        self._model = model
        self._tools = tools
        self._spawn = spawn
        self._mask = mask
        self._guidance = guidance
        self._replays = Replays(marks)
        self._life = TurnLifecycle(means)

    def bindings(self) -> list[Bound]:
        """Return the methods of the wire that are answered here."""
        return [
            bind(m.TURN_START, self.turn_start),
            bind(m.TURN_PREPARE, self.turn_prepare),
            bind(m.TURN_TOOL_CALL, self.turn_tool_call),
            bind(m.TURN_FINISH, self.turn_finish),
            bind(m.TURN_CANCEL, self.turn_cancel),
        ]

    def thread_of(self, turn_id: str) -> str | None:
        """Return the thread of a turn that runs in this process."""
        active = self._life.running.get(turn_id)
        return active.turn.thread_id if active is not None else None

    # -- the gateway calls the model -------------------------------------------------------------------------------

    async def turn_start(self, params: TurnStartParams) -> TurnResult:
        """Begin a turn; the rest comes as notifications."""
        is_configured = self._model.is_configured("main")
        async with self._life.expecting(params.turn_id):  # a cancellation that comes now waits for the beginning
            guidance = await self._guidance.gather(params, "gateway")

        def admit(thread: StoredThread) -> int | None:
            guidance.require_sound()
            provider = _provider_of(params, thread, guidance)
            if not is_configured and provider is None:
                raise Unavailable("provider_not_configured")
            return self._model.prompt_tokens("main", provider)

        begun = await self._life.begin(params, "gateway", admit, guidance)
        active = begun.active
        if active is not None:
            self._spawn(lambda: self._drive(active, begun.history, params, guidance), "turn")
        return TurnResult(turn=begun.turn)

    async def _drive(
        self, active: ActiveTurn, history: History, params: TurnStartParams, guidance: TurnGuidance
    ) -> None:
        prepared: PreparedTurn | None = None
        event: TurnEvent = "fail"
        error: TurnError | None = None
        runs: list[HookRun] = []
        try:
            with active.scope:
                active.notify_started()
                found = await self._means.db.read(lambda tx: self._life.unstored.find_thread(tx, active.turn.thread_id))
                provider = _provider_of(params, found, guidance)
                calls_tools = self._model.calls_tools("main", provider)
                prepared = await self._prepare_turn(active, history, guidance, calls_tools=calls_tools)
                request, prepared = await self._request(
                    active, prepared, history, model=params.model, provider=provider, found=found, guidance=guidance
                )
                tools = Tools(prepared.toolset, self._tools, prepared.policy, self._means.incident)
                if await run_rounds(active, tools, self._model, request, self._means.settings().agent.max_rounds):
                    event = "complete"
                else:
                    error = TurnError.of(MAX_ROUNDS, retryable=True)
            if active.scope.cancelled_caught:
                event = active.end_as
        except RequiredHookFailedError as failed:
            runs = failed.runs
            error = TurnError.of(f"hook_failed:{failed.hook_id}", retryable=True)
        except GatewayError as failed:
            error = TurnError.of(failed.reason, retryable=failed.retryable)
        except Exception as failed:  # noqa: BLE001  # the boundary of a turn: it ends as failed, and an incident is logged
            self._means.incident(failed)
            error = TurnError.of("internal", retryable=False)
        finally:
            await self._life.end(active, event, prepared, error=error, runs=runs)

    async def _prepare_turn(
        self, active: ActiveTurn, history: History, guidance: TurnGuidance, *, calls_tools: bool
    ) -> PreparedTurn:
        """Return the turn ready for its model, for both drivers. Raises `RequiredHookFailedError`."""
        if active.turn.not_stored is None:
            await self._guidance.record(guidance)
        return await self._pipeline.prepare(
            active.context, active.text, history, calls_tools=calls_tools, guidance=guidance
        )

    async def _request(
        self,
        active: ActiveTurn,
        prepared: PreparedTurn,
        history: History,
        *,
        model: str | None,
        provider: str | None,
        found: StoredThread | None,
        guidance: TurnGuidance,
    ) -> tuple[ModelRequest, PreparedTurn]:
        """Return the first request of a turn, and the turn with the budgets of its history."""
        settings = self._means.settings().agent
        instructions = found.instructions if found is not None else None
        system = system_text(prepared.compiled.sections, settings.system_prompt, instructions)
        takes_pictures = self._model.takes_pictures("main", provider)
        pictures = await self._means.artifacts.pictures(active.user_item.artifacts) if takes_pictures else []
        blocks = prepared.compiled.blocks
        history, budgets = fit_history(
            history,
            messages_of(system, NOTHING_SAID, blocks, active.text, pictures),
            prepared.toolset.visible(),
            room=room_of(settings.context_chars + len(guidance.text), self._model.prompt_tokens("main", provider)),
            min_turns=settings.history_turns_min,
            recalled={parts[0] for chunk in prepared.compiled.recall.chunk_ids if (parts := parts_of_chunk(chunk))},
        )
        request = ModelRequest(
            role="main",
            thread_id=active.turn.thread_id,
            turn_id=active.turn.turn_id,
            messages=messages_of(
                system, history, blocks, active.text, pictures, active.context.options.context_placement
            ),
            model=model or (found.model if found is not None else None),
            provider=provider,
        )
        return request, prepared.with_budgets(budgets)

    # -- the host calls the model ----------------------------------------------------------------------------------

    async def turn_prepare(self, params: TurnStartParams) -> PrepareResult:
        """Prepare a turn whose host calls its own model; again, the same without what was forgotten since."""
        async with self._life.expecting(params.turn_id):  # a cancellation that comes now waits for the beginning
            guidance = await self._guidance.gather(params, "host")
        begun = await self._life.begin(params, "host", lambda _thread: guidance.require_sound(), guidance)
        if begun.active is not None:
            prepared = await self._prepare_for_host(begun.active, begun.history, guidance)
            return self._build_prepare_result(begun.active, prepared)
        active = self._life.running.get(begun.turn.turn_id)
        hosted = active.hosted if active is not None else None
        if active is None or hosted is None:
            raise Refused("conflict", "That turn has ended, or another process runs it.")
        return self._build_prepare_result(
            active, await self._means.db.read(lambda tx: self._replays.replay_prompt(tx, hosted))
        )

    async def _prepare_for_host(self, active: ActiveTurn, history: History, guidance: TurnGuidance) -> PreparedTurn:
        """Return the prepared turn once it is stored; a turn that fails or is cancelled before is ended, and raises."""
        prepared: PreparedTurn | None = None
        hosted: Hosted | None = None
        event: TurnEvent = "cancel"  # a cancelled request raises past the handlers below
        error: TurnError | None = None
        runs: list[HookRun] = []
        try:
            with active.scope:
                active.notify_started()
                prepared = await self._prepare_turn(active, history, guidance, calls_tools=True)
                with anyio.CancelScope(shield=True):
                    hosted = await self._store_prepared(active, prepared)
            if active.scope.cancel_called:
                event = active.end_as
            else:
                active.hosted = hosted
        except RequiredHookFailedError as failed:
            event, runs = "fail", failed.runs
            error = TurnError.of(f"hook_failed:{failed.hook_id}", retryable=True)
            raise Unavailable("unavailable", "A hook without which the turn may not begin has failed.") from failed
        except Exception as failed:
            event = "fail"
            error = TurnError.of(failed.reason if isinstance(failed, GatewayError) else "internal", retryable=True)
            raise
        finally:
            if active.hosted is None:
                await self._life.end(active, event, prepared, error=error, runs=runs)
        if active.hosted is None:
            raise Refused("conflict", "The turn was cancelled.")
        return active.hosted.prepared

    async def _store_prepared(self, active: ActiveTurn, prepared: PreparedTurn) -> Hosted:
        turn = msgspec.structs.replace(active.turn, prompt_manifest=prepared.manifest())

        def store(tx: Tx) -> Hosted:
            for run in prepared.runs:
                add_run(tx, run)
            place = (turn.workspace_id, turn.thread_id, turn.turn_id)
            self._means.ledger.record(tx, place, list_injected(prepared.compiled))
            keep_prepared(tx, turn, active.seq)
            return self._replays.to_hosted(tx, prepared)

        if turn.not_stored is None:
            hosted = await self._means.db.write(store)
        else:
            hosted = await self._means.db.read(lambda tx: self._replays.to_hosted(tx, prepared))
        active.turn = turn
        return hosted

    def _build_prepare_result(self, active: ActiveTurn, prepared: PreparedTurn) -> PrepareResult:
        manifest = prepared.manifest()
        return PrepareResult(
            turn=active.turn,
            context_blocks=context_blocks(prepared.compiled.blocks, active.context.options.context_placement),
            prompt_sections=prepared.compiled.sections,
            tools=prepared.toolset.visible(),
            policy=prepared.policy,
            prompt_manifest=manifest,
            recall_status=manifest.recall.status,
        )

    async def turn_tool_call(self, params: ToolCallParams) -> ToolCallResult:
        """Run one of the gateway's tools; the same `call_id` again gives the same answer, a quoted file as it is."""
        active = self._life.running.get(params.turn_id)
        if active is None or active.hosted is None or active.is_ending:
            raise await self._absence(params.turn_id)
        toolset, policy = active.hosted.prepared.toolset, active.hosted.prepared.policy
        request = hashlib.sha256(encode([params.name, params.arguments])).digest()

        def look(tx: Tx) -> ToolReply | None:
            known = find_tool_reply(tx, params.turn_id, params.call_id)
            if known is not None and known.request != request:
                raise Refused("conflict", "That call_id was used with another call.")
            if known is None or quotes_files(params.name):  # what stands in a file now is told again, and no more
                return None
            return self._replays.replay_reply(tx, known.result, active.turn.workspace_id)

        answered = await self._means.db.read(look)
        if answered is not None:
            return ToolCallResult(result=answered, visible_tools=toolset.visible_names())
        wanted = ToolRequest(call_id=params.call_id, name=params.name, arguments=params.arguments)
        tools = Tools(toolset, self._tools, policy, self._means.incident)
        reply = await active.while_it_runs(lambda: run_tool(active, tools, wanted))
        if reply is None:
            raise await self._absence(params.turn_id)
        if active.turn.not_stored is not None:
            return ToolCallResult(result=reply, visible_tools=toolset.visible_names())
        with anyio.CancelScope(shield=True):  # what a tool did is done: asked again, it must not do it twice
            stored = StoredReply(request, to_json(reply))
            await self._means.db.write(lambda tx: add_tool_reply(tx, params.turn_id, params.call_id, stored))
        return ToolCallResult(result=reply, visible_tools=toolset.visible_names())

    async def turn_finish(self, params: TurnFinishParams) -> TurnResult:
        """End a host-driven turn; the same call again returns the same turn."""
        active = self._life.running.get(params.turn_id)
        if active is not None and active.is_ending:
            await active.ended.wait()
        elif active is not None and active.hosted is not None:
            return TurnResult(turn=await self._finish(active, active.hosted.prepared, params))
        found = await self._get_ended_turn(params.turn_id)
        if found.driver != "host":
            raise Refused("conflict", "The gateway runs that turn.")
        if found.completed_at is None:
            raise Refused("conflict", "Another process runs that turn.")
        if not may_have_ended_by(found, params.status):
            raise Refused("conflict", "That turn has ended otherwise; what is told of it now is not kept.")
        return TurnResult(turn=found)

    async def _get_ended_turn(self, turn_id: str) -> Turn:
        """Return a turn that does not run here. Raises `CallerError` where there is none."""
        unstored = self._life.unstored.find_turn(turn_id)
        if unstored is not None:
            return unstored[1]
        await self._life.settle()
        found = await self._means.db.read(lambda tx: get_turn(tx, turn_id))
        if found is None:
            raise CallerError.missing("turn")
        return found.turn

    async def _finish(self, active: ActiveTurn, prepared: PreparedTurn, params: TurnFinishParams) -> Turn:
        event = FINISHED[params.status]
        if params.assistant_text:
            item = active.new_item("agent_message", "assistant", params.assistant_text)
            whole = "completed" if event == "complete" else "failed"
            refs = [artifact_ref(given) for given in params.artifacts]
            item = msgspec.structs.replace(item, status=whole, artifacts=refs)
            active.begin(item)
            active.complete(item)
        error = FINISH_ERRORS.get(params.status)
        events = self.mask_events(params.tool_events)
        return await self._life.end(active, event, prepared, error=error, tool_events=events)

    # -- turns of other programs' conversations --------------------------------------------------------------------

    async def end_captured(self, turn_id: str, end: CapturedEnd) -> Turn | None:
        """End a host-driven turn whose host is a door; None where it does not run in this process."""
        active = self._life.running.get(turn_id)
        if active is None or (active.hosted is None and not active.is_ending):
            return None
        if active.is_ending or active.hosted is None:
            await active.ended.wait()
            return active.turn
        event = FINISHED[end.status]
        if end.text:
            item = active.new_item("agent_message", "assistant", end.text, status=ITEM_STATUS[event])
            active.begin(item)
            active.complete(item)
        active.usage, active.upstream = end.usage, end.upstream
        prepared = active.hosted.prepared
        if end.recall is not None:
            prepared = prepared._replace(compiled=prepared.compiled.not_shown(end.recall))
        return await self._life.end(
            active,
            event,
            prepared,
            error=FINISH_ERRORS.get(end.status),
            tool_events=self.mask_events(end.events),
        )

    def mask_events(self, events: Sequence[ToolEvent]) -> list[ToolEvent]:
        """Return a host's tool events without secrets: a user may tell one, a tool's output keeps none."""
        return [
            msgspec.structs.replace(
                one, name=self._mask(one.name), summary=self._mask(one.summary) if one.summary is not None else None
            )
            for one in events
        ]

    def find_erased(self, tx: Tx, turn_id: str, texts: Sequence[str]) -> Saying:
        """Return the phrases of a turn's texts that were erased with their sources since it began."""
        return self._life.find_erased(tx, turn_id, texts)

    async def interrupt(self, turn_id: str) -> bool:
        """Interrupt a turn; return whether it runs in this process."""
        active = await self._life.find(turn_id)
        if active is not None:
            await self._stop(active, "interrupt")
        return active is not None

    async def _absence(self, turn_id: str) -> GatewayError:
        """Return the error of a turn that no host of this process may go on with."""
        is_unstored = self._life.unstored.find_turn(turn_id) is not None
        if not is_unstored and await self._means.db.read(lambda tx: get_turn(tx, turn_id)) is None:
            return CallerError.missing("turn")
        return Refused("conflict", "That turn is not waiting for its host here.")

    # -- both ------------------------------------------------------------------------------------------------------

    async def turn_cancel(self, params: TurnParams) -> TurnResult:
        """Stop a turn; one that has ended is returned as it is."""
        active = await self._life.find(params.turn_id)
        if active is not None:
            await self._stop(active, "cancel")
            return TurnResult(turn=active.turn)
        found = await self._get_ended_turn(params.turn_id)
        if found.completed_at is None:
            raise Refused("conflict", "Another process runs that turn.")
        return TurnResult(turn=found)

    async def _stop(self, active: ActiveTurn, event: TurnEvent) -> None:
        """End a turn, and return when it has ended."""
        active.end_as = event
        if active.hosted is not None:
            await self._life.end(active, event, active.hosted.prepared)
        else:
            active.scope.cancel()
            await active.ended.wait()

    async def settle(self) -> None:
        """Store the ends of turns that could not be stored when they came."""
        await self._life.settle()

    def has_running(self) -> bool:
        """Return whether a turn of this process runs."""
        return bool(self._life.running)

    async def end_all(self) -> None:
        """Interrupt every turn of this process, which ends."""
        await self._interrupt(list(self._life.running.values()))

    async def end_in(self, threads: Collection[str]) -> None:
        """Interrupt the turns that run in these threads: their clients are gone."""
        await self._interrupt([active for active in self._life.running.values() if active.turn.thread_id in threads])

    async def _interrupt(self, turns: Sequence[ActiveTurn]) -> None:
        with anyio.move_on_after(SHUTDOWN_SECONDS, shield=True):
            async with anyio.create_task_group() as ends:
                for active in turns:
                    ends.start_soon(self._stop, active, "interrupt")
