"""The work after a turn: durable runs of TurnPostTurn hooks, and the notification that all have ended.

Rule 1: runs and their jobs are stored in the transaction that ends the turn.
Rule 2: no text is copied into a run; what a hook needs is read from the items when it runs.
Rule 3: an attempt is noted before it is made, so that a hook which takes its process down is not run forever.
Rule 4: a run's job is queued when the runs that its hook depends on have ended, in the transaction that ends the last.
Rule 5: clients do not wait for a store that takes nothing: they are notified without the work, which goes on later.
"""

import asyncio
import contextlib
import time
from collections.abc import Sequence
from typing import Literal

import anyio
import msgspec

from agent.guidance.definitions import stricter
from agent.hooks.runtime import (
    HookOutcome,
    HookRuntime,
    apply_failure_policy,
    build_failure,
    build_skip,
    end_run,
    manifest_run,
)
from agent.prompt.ledger import Ledger
from agent.rows.items import items_of_turn, read_items, turn_items
from agent.rows.runs import add_run, change_run, contract_of_run, read_run, runs_of_turn, skip_waiting_runs
from agent.rows.threads import get_thread
from agent.rows.turns import (
    StoredTurn,
    complete_post_work,
    end_turn,
    get_turn,
    recently_interrupted,
    status_of_turn,
    turns_of_owner,
)
from agent.states import TURNS
from agent.threads.unstored import refusal_of
from protocol.base import Diagnostic
from protocol.conversation.threads import Thread
from protocol.conversation.turns import ToolEvent, Turn, TurnOptions
from protocol.conversation.values import MemoryMode, TurnStatus
from protocol.errors import GatewayError, Unavailable
from protocol.gateway import HookRun, InterruptedTurn
from protocol.hooks import HookInput, Subscription, TranscriptItem, TurnContext
from protocol.notifications import PostCompletedNotice
from protocol.seams.house_facts import OnItems
from protocol.seams.ports import Clock, JobHandle, JobQueue, Notify, RetryJob, Transact, Tx
from protocol.shown import Recalled

MAX_LOST_ATTEMPTS = 3
"""The number of processes that may end during a run, beyond its attempts, before its hook is taken for the cause."""

OUTCOMES: dict[TurnStatus, Literal["succeeded", "failed", "cancelled", "interrupted"]] = {
    "completed": "succeeded",
    "failed": "failed",
    "cancelled": "cancelled",
    "interrupted": "interrupted",
}
"""The end of a turn as its TurnPostTurn hooks get it."""


def context_of(tx: Tx, stored: StoredTurn, now: int) -> TurnContext:
    """Return the context that hooks get of a stored turn.

    Raises:
        KeyError: its thread is gone.

    """
    found = get_thread(tx, stored.turn.thread_id)
    if found is None:
        raise KeyError(stored.turn.thread_id)
    context = context_in(found.thread, stored.turn, stored.options, now, stored.memory_mode)
    return msgspec.structs.replace(context, said_at=stored.turn.started_at) if stored.is_brought_in else context


def context_in(
    thread: Thread, turn: Turn, options: TurnOptions, now: int, memory_mode: MemoryMode | None
) -> TurnContext:
    """Return the context that hooks get of a turn; `memory_mode` is what its agent's definition asks for."""
    return TurnContext(
        workspace_id=thread.workspace_id,
        thread_id=thread.thread_id,
        turn_id=turn.turn_id,
        agent_id=thread.agent_id,
        task_id=thread.task_id,
        parent_thread_id=thread.parent_thread_id,
        mode=turn.mode,
        memory_mode=stricter(thread.memory_mode, memory_mode or "normal"),
        origin=thread.origin,
        driver=turn.driver,
        options=options,
        now=now,
        time_zone=options.time_zone or "UTC",  # only a turn that was stored before its zone was has none
        not_stored=turn.not_stored,
    )


def post_runs(tx: Tx, turn_id: str) -> list[HookRun]:
    """Return the TurnPostTurn runs of a turn, in order."""
    return [run for run in runs_of_turn(tx, turn_id) if run.phase == "TurnPostTurn"]


def _admit_attempt(
    run: HookRun, subscription: Subscription | None, contract_version: int
) -> Subscription | HookOutcome:
    """Return the subscription that makes the attempt, or the outcome of a run for which none is made."""
    if subscription is None or not subscription.enabled():
        return build_skip("hook_disabled")
    if contract_version != subscription.contract_version:
        return build_skip("contract_changed")
    if run.attempt_count > subscription.retry.attempts + MAX_LOST_ATTEMPTS:
        return build_failure("process_lost")
    return subscription


class Background:
    """Queues and runs what follows a turn."""

    def __init__(
        self,
        *,
        db: Transact,
        clock: Clock,
        jobs: JobQueue,
        runtime: HookRuntime,
        ledger: Ledger,
        notify: Notify,
        on_items: OnItems,
    ) -> None:
        self._db = db
        self._clock = clock
        self._jobs = jobs
        self._runtime = runtime
        self._ledger = ledger
        self._notify = notify
        self._on_items = on_items
        self._open: set[str] = set()
        """Ids of turns that ended in this process and whose work goes on."""
        self._notified: set[str] = set()
        """Ids of turns whose clients were notified before their work was done."""

    def queue(self, tx: Tx, thread_id: str, turn_id: str) -> None:
        """Store the runs of a turn that ends in this transaction, with the jobs of those that wait for no other."""
        subscriptions = self._runtime.registry.list_enabled("TurnPostTurn")
        runs = [self._runtime.new_run(subscription, (thread_id, turn_id)) for subscription in subscriptions]
        for run in runs:
            add_run(tx, run)
        self._release(tx, runs)
        tx.after_commit(lambda: self._open.add(turn_id))
        self.settle(tx, turn_id)

    def _release(self, tx: Tx, runs: Sequence[HookRun], after: str | None = None) -> None:
        """Queue the work of runs that wait for no other one any more: at first, or because the hook `after` ended."""
        is_open = {run.hook_id for run in runs if run.completed_at is None and run.hook_id != after}
        for run in runs:
            subscription = self._runtime.registry.find(run.phase, run.hook_id)
            before = set(subscription.after) if subscription is not None else set[str]()
            is_next = after is None or after in before
            if is_next and run.hook_id in is_open and not before & is_open:
                self._jobs.enqueue(tx, "hook_run", run.run_id, thread_id=run.thread_id, turn_id=run.turn_id)

    def settle(self, tx: Tx, turn_id: str) -> None:
        """Notify, once for a turn, that all its runs have ended, if they have."""
        runs = post_runs(tx, turn_id)
        stored = get_turn(tx, turn_id)
        if stored is None or stored.turn.completed_at is None or any(run.completed_at is None for run in runs):
            return
        seq = complete_post_work(tx, turn_id)
        if seq is not None:
            tx.after_commit(lambda: self._notify_once(_build_notice(stored.turn, seq, runs)))

    def _notify_once(self, notice: PostCompletedNotice) -> None:
        self._open.discard(notice.turn_id)
        if notice.turn_id in self._notified:
            self._notified.discard(notice.turn_id)
        else:
            self._notify("turn/post_completed", notice)

    def notify_without_runs(self, turn: Turn, seq: int) -> None:
        """Notify that no work follows a turn of which nothing is stored."""
        self._notify("turn/post_completed", _build_notice(turn, seq, []))

    def notify_unstored_end(self, turn: Turn, seq: int) -> None:
        """Notify that no work follows now: the turn's end could not be stored. If it is later, nobody is notified."""
        self._notified.add(turn.turn_id)
        self.notify_without_runs(turn, seq)

    async def notify_held(self) -> None:
        """Notify of turns whose work cannot be stored now, with its runs as they are; that it ends later is not told.

        Called while the store takes nothing.
        """
        for turn_id in self._open - self._notified:
            stored, runs = await self._db.read(lambda tx, of=turn_id: (get_turn(tx, of), post_runs(tx, of)))
            if stored is None:
                self._open.discard(turn_id)
            elif turn_id in self._open:  # else its work has ended meanwhile
                self._notified.add(turn_id)
                self._notify("turn/post_completed", _build_notice(stored.turn, stored.last_seq + 1, runs))

    async def run(self, handle: JobHandle) -> None:
        """Handle a `hook_run` job: make one attempt of its run. Raises `RetryJob` where another one is due."""
        run_id = handle.job.subject
        now = self._clock.now()
        gathered = await self._db.read(lambda tx: self._gather(tx, run_id, now))
        if gathered is None:
            return
        before, given, version = gathered
        run = msgspec.structs.replace(before, status="running", attempt_count=before.attempt_count + 1, started_at=now)
        begun = time.perf_counter()
        admitted = _admit_attempt(run, self._runtime.registry.find(run.phase, run.hook_id), version)
        verdict = admitted if isinstance(admitted, HookOutcome) else await self._attempt(admitted, before, run, given)
        done = end_run(
            run,
            verdict,
            attempts=run.attempt_count,
            started_at=now,
            completed_at=self._clock.now(),
            duration_ms=int((time.perf_counter() - begun) * 1000),
        )

        def finish(tx: Tx) -> None:
            change_run(tx, done)  # unless a forgetting has ended it meanwhile
            handle.finish(tx)
            self._release(tx, post_runs(tx, run.turn_id), after=run.hook_id)
            self.settle(tx, run.turn_id)

        await self._db.write(finish)

    def end_runs(self, tx: Tx, run_ids: Sequence[str], code: str) -> None:
        """End runs as skipped, whether they wait or are at work; what waits for them goes on. Satisfies `EndRuns`."""
        now = self._clock.now()
        for run in filter(None, (read_run(tx, run_id) for run_id in run_ids)):
            change_run(
                tx,
                end_run(
                    run,
                    build_skip(code),
                    attempts=run.attempt_count,
                    started_at=run.started_at or now,
                    completed_at=now,
                    duration_ms=0,
                ),
            )
            self._jobs.cancel(tx, kind="hook_run", subject=run.run_id)
            self._release(tx, post_runs(tx, run.turn_id), after=run.hook_id)
            self.settle(tx, run.turn_id)

    async def _attempt(
        self, subscription: Subscription, before: HookRun, run: HookRun, given: HookInput
    ) -> HookOutcome:
        """Call the hook and return the outcome. Raises `RetryJob` where it is to be tried again."""
        await self._db.note(lambda tx: change_run(tx, run))
        try:
            verdict = await self._runtime.call(subscription, given)
        except asyncio.CancelledError:  # the process ends in order: this was no attempt
            with anyio.CancelScope(shield=True), contextlib.suppress(GatewayError):
                await self._db.note(lambda tx: change_run(tx, before))
            raise
        error = verdict.error
        if error is not None and error.retryable and run.attempt_count < subscription.retry.attempts:
            waiting = msgspec.structs.replace(run, status="queued", diagnostics=verdict.diagnostics, error=error)
            await self._db.write(lambda tx: change_run(tx, waiting))
            raise RetryJob(error.code)
        return apply_failure_policy(subscription, verdict)

    def _gather(self, tx: Tx, run_id: str, now: int) -> tuple[HookRun, HookInput, int] | None:
        run = read_run(tx, run_id)
        stored = get_turn(tx, run.turn_id) if run is not None else None
        version = contract_of_run(tx, run_id)
        if run is None or stored is None or version is None or run.completed_at is not None:
            return None
        context = context_of(tx, stored, now)
        manifest = stored.turn.prompt_manifest
        recalled = manifest.recall if manifest is not None else None
        given = HookInput(
            phase=run.phase,
            run_id=run_id,
            context=context,
            policy=manifest.policy if manifest is not None else None,
            recalled=Recalled(memory_ids=recalled.memory_ids, chunk_ids=recalled.chunk_ids) if recalled else Recalled(),
            status=OUTCOMES.get(stored.turn.status, "interrupted"),
            transcript=self._transcript(tx, stored),
            tool_events=_tool_events(tx, stored),
        )
        return run, given, version

    def _transcript(self, tx: Tx, stored: StoredTurn) -> list[TranscriptItem]:
        said = [
            (item, self._ledger.remove_injected(tx, stored.turn.workspace_id, item.text))
            for item in items_of_turn(tx, stored.turn.turn_id)
            if item.kind in {"user_message", "agent_message"} and item.status == "completed" and not item.altered
        ]
        return [TranscriptItem(item_id=item.item_id, role=item.role, text=text) for item, text in said if text]

    # -- recovery --------------------------------------------------------------------------------------------------

    def interrupt_turns_of(self, tx: Tx, owners: Sequence[str]) -> None:
        """Interrupt the turns that dead processes left running; no hook runs after them."""
        for owner in owners:
            for turn_id, _ in turns_of_owner(tx, owner):
                self.interrupt(tx, turn_id)

    def interrupt(self, tx: Tx, turn_id: str) -> None:
        """Interrupt a turn that no process runs: no hook runs after it, but its messages go to the index."""
        now = self._clock.now()
        status = status_of_turn(tx, turn_id)
        if status is not None and "interrupt" in TURNS[status]:
            end_turn(tx, turn_id, status, "interrupt", now)
        skip_waiting_runs(tx, turn_id, now, [Diagnostic(code="not_succeeded")])
        said = read_items(tx, turn_items(tx, [turn_id])[turn_id]).values()  # what the user said was said, answer or not
        self._on_items(tx, [fact for fact in said if fact.indexable])

    async def take_interrupted(self) -> list[InterruptedTurn]:
        """Return the turns that a dead process left running, each of them once."""

        def take(tx: Tx) -> list[InterruptedTurn]:
            rows = recently_interrupted(tx)
            for _, turn_id in rows:
                self.settle(tx, turn_id)
            return [InterruptedTurn(thread_id=thread_id, turn_id=turn_id) for thread_id, turn_id in rows]

        if not await self._db.read(recently_interrupted):
            return []
        try:
            return await self._db.write(take)
        except Unavailable as failure:
            if refusal_of(failure) is None:
                raise
            return []  # they are returned once it can be stored that they were


def _build_notice(turn: Turn, seq: int, runs: Sequence[HookRun]) -> PostCompletedNotice:
    shown = [manifest_run(run) for run in runs]
    return PostCompletedNotice(thread_id=turn.thread_id, turn_id=turn.turn_id, seq=seq, hook_runs=shown)


def _tool_events(tx: Tx, stored: StoredTurn) -> list[ToolEvent]:
    """Return the turn's tool calls by name and outcome; never their output."""
    own = [
        ToolEvent(name=item.tool.name, call_id=item.tool.call_id, status="error" if item.tool.is_error else "ok")
        for item in items_of_turn(tx, stored.turn.turn_id)
        if item.kind == "tool_result" and item.tool is not None
    ]
    return [*own, *stored.turn.tool_events]
