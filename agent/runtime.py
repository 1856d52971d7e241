"""Runs the hooks of one phase.

Rule 1: a hook that crashes, hangs or talks nonsense never fails a turn unless it is `required`; a diagnostic takes its place.
Rule 2: results are merged in the order of registration, whatever finishes first.
Rule 3: nothing here knows what memory is.
"""

import asyncio
import hashlib
import time
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, cast

import msgspec

from agent.model import Contributed
from agent.registration import Registry
from protocol.base import Diagnostic
from protocol.gateway import HookRun, RunError
from protocol.hooks import (
    ALLOWED,
    Contribution,
    HookFailure,
    HookInput,
    HookOutput,
    SkipRun,
    Subscription,
    diagnostics_of,
)
from protocol.ports import Clock, Ids
from protocol.threads import ManifestRun, Phase, RunStatus

CANCEL_GRACE_SECONDS = 0.05
"""How long a cancelled hook may take to clean up before the turn goes on without it."""

_encode = msgspec.json.Encoder().encode


class RequiredHookFailedError(Exception):
    """A hook without which its registration forbids the turn."""

    def __init__(self, hook_id: str, runs: list[HookRun]) -> None:
        self.hook_id = hook_id
        self.runs = runs
        super().__init__(hook_id)


class PhaseResult(NamedTuple):
    """What a phase gave."""

    runs: list[HookRun]
    contributed: list[Contributed]


class Verdict(NamedTuple):
    """How one call of a hook ended."""

    status: RunStatus
    contributions: list[Contribution]
    error: RunError | None
    diagnostics: list[Diagnostic]


def manifest_run(run: HookRun) -> ManifestRun:
    """A run as the manifest shows it."""
    return ManifestRun(
        run_id=run.run_id,
        hook_id=run.hook_id,
        status=run.status,
        duration_ms=run.duration_ms or 0,
        contribution_count=run.contribution_count,
        diagnostics=run.diagnostics,
    )


def ended(
    run: HookRun, verdict: Verdict, *, attempts: int, started_at: int, completed_at: int, duration_ms: int
) -> HookRun:
    """The run with its end written in: hashes of what it gave, never contents."""
    hashes = [hashlib.sha256(_encode(contribution)).hexdigest() for contribution in verdict.contributions]
    return msgspec.structs.replace(
        run,
        status=verdict.status,
        attempt_count=attempts,
        started_at=started_at,
        completed_at=completed_at,
        duration_ms=duration_ms,
        contribution_count=len(hashes),
        contribution_hashes=hashes,
        diagnostics=[*verdict.diagnostics, *diagnostics_of(verdict.contributions)],
        error=verdict.error,
    )


def _failed(code: str, *, retryable: bool = False, status: RunStatus = "failed") -> Verdict:
    return Verdict(status, [], RunError(code=code, retryable=retryable), [Diagnostic(code=code)])


def _judged(phase: Phase, output: Any) -> Verdict:
    """Whether what a hook gave is what its phase allows."""
    if not isinstance(output, HookOutput) or not isinstance(cast("object", output.contributions), list):
        return _failed("bad_output")
    if not all(isinstance(contribution, ALLOWED[phase]) for contribution in output.contributions):
        return _failed("contribution_not_allowed")
    try:  # a Struct does not look at what it is made of
        for contribution in output.contributions:
            msgspec.json.decode(_encode(contribution), type=type(contribution))
    except (TypeError, ValueError):
        return _failed("bad_output")
    return Verdict("succeeded", output.contributions, None, [])


async def _called(subscription: Subscription, given: HookInput) -> Any:
    """Whatever the hook is or does, it happens inside a task."""
    return await subscription.call(given)


async def call_hook(subscription: Subscription, given: HookInput, incident: Callable[[BaseException], str]) -> Verdict:
    """Call a hook within its deadline. Only the cancellation of the turn itself comes out of here as an exception."""
    task: asyncio.Task[Any] = asyncio.ensure_future(_called(subscription, given))
    try:
        await asyncio.wait({task}, timeout=subscription.timeout_ms / 1000)
        if not task.done():
            task.cancel()
            await asyncio.wait({task}, timeout=CANCEL_GRACE_SECONDS)
            late = [] if task.done() else [Diagnostic(code="hook_unresponsive")]
            verdict = _failed("deadline_exceeded", retryable=True, status="timed_out")
            return verdict._replace(diagnostics=[*verdict.diagnostics, *late])
    finally:
        if not task.done():
            task.cancel()
            task.add_done_callback(_retrieve)
    return _verdict_of(task, subscription.phase, incident)


def _retrieve(task: "asyncio.Task[Any]") -> None:
    """Look at the outcome of an abandoned hook, so that nobody warns of it; it was reported as unresponsive."""
    if not task.cancelled():
        task.exception()


def _verdict_of(task: "asyncio.Task[Any]", phase: Phase, incident: Callable[[BaseException], str]) -> Verdict:
    if task.cancelled():
        return _failed("cancelled_itself")
    error = task.exception()
    if error is None:
        return _judged(phase, task.result())
    if isinstance(error, SkipRun):
        return Verdict("skipped", [], None, [Diagnostic(code=error.code)])
    if isinstance(error, HookFailure):
        return _failed(error.code, retryable=error.retryable)
    incident(error)
    return _failed("hook_crashed")


class HookRuntime:
    """Dispatches phases."""

    def __init__(self, *, registry: Registry, ids: Ids, clock: Clock, incident: Callable[[BaseException], str]) -> None:
        self.registry = registry
        self.incident = incident
        self._ids = ids
        self._clock = clock

    def new_run(self, subscription: Subscription, given_to: tuple[str, str]) -> HookRun:
        """A run that is about to begin, for (thread, turn)."""
        thread_id, turn_id = given_to
        return HookRun(
            run_id=self._ids.new("run"),
            hook_id=subscription.hook_id,
            phase=subscription.phase,
            thread_id=thread_id,
            turn_id=turn_id,
            status="queued",
            attempt_count=0,
            queued_at=self._clock.now(),
            started_at=None,
            completed_at=None,
            duration_ms=None,
            contribution_count=0,
            contribution_hashes=[],
            diagnostics=[],
        )

    async def dispatch(self, phase: Phase, given: HookInput) -> PhaseResult:
        """Run a phase; a later batch sees what the earlier ones gave. Raises `RequiredHookFailedError`."""
        runs: list[HookRun] = []
        contributed: list[Contributed] = []
        for batch in self.registry.batches(phase):
            seen = [*given.contributions, *(entry.contribution for entry in contributed)]
            outcomes = await self._batch(batch, msgspec.structs.replace(given, contributions=seen))
            for subscription, (run, contributions) in zip(batch, outcomes, strict=True):
                runs.append(run)
                contributed += [Contributed(subscription.hook_id, contribution) for contribution in contributions]
            for subscription, (run, _) in zip(batch, outcomes, strict=True):
                if subscription.failure_policy == "required" and run.status in {"failed", "timed_out"}:
                    raise RequiredHookFailedError(subscription.hook_id, runs)
        order = {s.hook_id: index for index, s in enumerate(self.registry.enabled(phase))}
        return PhaseResult(
            sorted(runs, key=lambda run: order.get(run.hook_id, len(order))),
            sorted(contributed, key=lambda entry: order.get(entry.hook_id, len(order))),
        )

    async def _batch(self, batch: Sequence[Subscription], given: HookInput) -> list[tuple[HookRun, list[Contribution]]]:
        if len(batch) == 1:
            return [await self._run(batch[0], given)]
        tasks = [asyncio.ensure_future(self._run(subscription, given)) for subscription in batch]
        try:
            return list(await asyncio.gather(*tasks))
        finally:
            for task in tasks:
                task.cancel()

    async def _run(self, subscription: Subscription, given: HookInput) -> tuple[HookRun, list[Contribution]]:
        run = self.new_run(subscription, (given.context.thread_id, given.context.turn_id))
        started_at, begun = self._clock.now(), time.perf_counter()
        if subscription.failure_policy == "skip":
            verdict = Verdict("skipped", [], None, [Diagnostic(code="skipped_by_policy")])
        else:
            verdict = await call_hook(subscription, msgspec.structs.replace(given, run_id=run.run_id), self.incident)
        duration = int((time.perf_counter() - begun) * 1000)
        done = ended(
            run, verdict, attempts=1, started_at=started_at, completed_at=self._clock.now(), duration_ms=duration
        )
        return done, verdict.contributions
