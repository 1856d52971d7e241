"""Runs the hooks of one phase.

Rule 1: a hook that crashes, hangs or talks nonsense never fails a turn unless it is `required`; a diagnostic takes its
place.
Rule 2: results are merged in the order of registration, whatever finishes first.
Rule 3: nothing here knows what memory is.
"""

import asyncio
import hashlib
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, NamedTuple, cast

import msgspec
from msgspec import Struct

from agent.hooks.deadline import CallEnd, all_within, call_within
from agent.hooks.diagnostics import vet
from agent.hooks.registration import Registry
from agent.values import Contributed
from protocol.base import Diagnostic, encode
from protocol.conversation.manifests import ManifestRun
from protocol.conversation.values import Phase, RunStatus
from protocol.gateway import HookRun, RunError
from protocol.hooks import (
    ALLOWED,
    MAX_CONTRIBUTIONS,
    MAX_OUTPUT_BYTES,
    Contribution,
    HookFailure,
    HookInput,
    HookOutput,
    SkipRun,
    Subscription,
    collect_recalled,
)
from protocol.seams.ports import Clock, Ids

HELD_SECONDS = 0.25
"""A hook that keeps the event loop longer gets a diagnostic, even if it ends in time: no other client was served."""

UNRESPONSIVE = "hook_unresponsive"


class RequiredHookFailedError(Exception):
    """A hook that is registered as required has failed; `runs` are those of its phase."""

    def __init__(self, hook_id: str, runs: list[HookRun]) -> None:
        self.hook_id = hook_id
        self.runs = runs
        super().__init__(hook_id)


class PhaseResult(Struct, frozen=True):
    """The merged results of the hooks of a phase."""

    runs: list[HookRun]
    contributed: list[Contributed]


class HookOutcome(NamedTuple):
    """The end of one call of a hook."""

    status: RunStatus
    contributions: list[Contribution]
    error: RunError | None
    diagnostics: list[Diagnostic]
    hashes: list[str]


def manifest_run(run: HookRun) -> ManifestRun:
    """Return a run as the manifest shows it."""
    return ManifestRun(
        run_id=run.run_id,
        hook_id=run.hook_id,
        status=run.status,
        duration_ms=run.duration_ms or 0,
        contribution_count=run.contribution_count,
        diagnostics=run.diagnostics,
    )


def end_run(
    run: HookRun, verdict: HookOutcome, *, attempts: int, started_at: int, completed_at: int, duration_ms: int
) -> HookRun:
    """Return the run with its end written in: hashes of what it gave, never contents."""
    return msgspec.structs.replace(
        run,
        status=verdict.status,
        attempt_count=attempts,
        started_at=started_at,
        completed_at=completed_at,
        duration_ms=duration_ms,
        contribution_count=len(verdict.hashes),
        contribution_hashes=verdict.hashes,
        diagnostics=verdict.diagnostics,
        error=verdict.error,
    )


def build_failure(code: str, *, retryable: bool = False, status: RunStatus = "failed") -> HookOutcome:
    """Return the outcome of a call that failed, with the code as its diagnostic too."""
    return HookOutcome(status, [], RunError(code=code, retryable=retryable), [Diagnostic(code=code)], [])


def apply_failure_policy(subscription: Subscription, verdict: HookOutcome) -> HookOutcome:
    """Return the final verdict: the failure of a hook whose policy is `skip` counts as not having run."""
    has_failed = verdict.error is not None and subscription.failure_policy == "skip"
    return verdict._replace(status="skipped", error=None) if has_failed else verdict


def build_skip(code: str) -> HookOutcome:
    """Return the outcome of a hook that did not apply."""
    return HookOutcome("skipped", [], None, [Diagnostic(code=code)], [])


def _check_output(phase: Phase, output: Any) -> HookOutcome:
    """Return the outcome of a hook's output, failed where its phase does not allow it.

    The contributions are copies that the hook does not hold.
    """
    if not isinstance(output, HookOutput) or not isinstance(cast("object", output.contributions), list):
        return build_failure("bad_output")
    if len(output.contributions) > MAX_CONTRIBUTIONS:
        return build_failure("too_many_contributions")
    if not all(isinstance(contribution, ALLOWED[phase]) for contribution in output.contributions):
        return build_failure("contribution_not_allowed")
    try:  # msgspec validates what it decodes, not a Struct that code has built
        texts = [encode(contribution) for contribution in output.contributions]
        if sum(map(len, texts)) > MAX_OUTPUT_BYTES:
            return build_failure("output_too_large")
        kept = [
            msgspec.json.decode(text, type=type(given)) for text, given in zip(texts, output.contributions, strict=True)
        ]
    except (TypeError, ValueError, OverflowError, RecursionError):
        return build_failure("bad_output")
    return HookOutcome("succeeded", kept, None, [], [hashlib.sha256(text).hexdigest() for text in texts])


def _to_failure(error: BaseException, incident: Callable[[BaseException], str]) -> HookOutcome:
    if isinstance(error, asyncio.CancelledError):
        return build_failure("cancelled_itself")
    if isinstance(error, SkipRun):
        return build_skip(error.code)
    if isinstance(error, HookFailure):
        return build_failure(error.code, retryable=error.retryable)
    incident(error)
    return build_failure("hook_crashed")


class HookRuntime:
    """Calls hooks and dispatches phases."""

    def __init__(
        self,
        *,
        registry: Registry,
        ids: Ids,
        clock: Clock,
        incident: Callable[[BaseException], str],
        mask: Callable[[str], str],
        is_strict: Callable[[], bool],
    ) -> None:
        self.registry = registry
        self._incident = incident
        self._ids = ids
        self._clock = clock
        self._mask = mask
        self._is_strict = is_strict

    def new_run(self, subscription: Subscription, place: tuple[str, str]) -> HookRun:
        """Return a run that is about to begin; `place` is (thread, turn)."""
        thread_id, turn_id = place
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

    async def call(self, subscription: Subscription, given: HookInput) -> HookOutcome:
        """Call a hook within its deadline and return the outcome; only the turn's own cancellation is raised."""
        ended = await call_within(lambda: subscription.call(given), subscription.timeout_ms / 1000)
        return self._verdict(subscription.phase, ended)

    def _verdict(self, phase: Phase, ended: CallEnd) -> HookOutcome:
        verdict = self._judge(phase, ended)
        if ended.is_running or ended.held_seconds > HELD_SECONDS:
            verdict.diagnostics.append(Diagnostic(code=UNRESPONSIVE))
        return verdict

    def _judge(self, phase: Phase, ended: CallEnd) -> HookOutcome:
        if ended.is_late:
            return build_failure("deadline_exceeded", retryable=True, status="timed_out")
        if ended.error is not None:
            return _to_failure(ended.error, self._incident)
        verdict = _check_output(phase, ended.result)
        vetted = vet(verdict.contributions, self._mask)
        if self._is_strict() and not vetted.is_clean:
            return build_failure("bad_diagnostic")
        return verdict._replace(diagnostics=[*verdict.diagnostics, *vetted.diagnostics])

    async def dispatch(self, phase: Phase, given: HookInput, own: Sequence[Subscription] = ()) -> PhaseResult:
        """Run a phase; a later batch sees what the earlier ones gave. Raises `RequiredHookFailedError`.

        `own` are hooks of this turn alone; those of the phase run before all others.
        """
        runs: list[HookRun] = []
        contributed: list[Contributed] = []
        first = [s for s in own if s.phase == phase]
        for batch in ([first] if first else []) + self.registry.batches(phase):
            fresh = [entry.contribution for entry in contributed]
            recalled = given.recalled.join(collect_recalled(fresh))
            seen = msgspec.structs.replace(given, contributions=[*given.contributions, *fresh], recalled=recalled)
            outcomes = await self._batch(batch, seen)
            for subscription, (run, contributions) in zip(batch, outcomes, strict=True):
                runs.append(run)
                contributed += [Contributed(subscription.hook_id, contribution) for contribution in contributions]
            for subscription, (run, _) in zip(batch, outcomes, strict=True):
                if subscription.failure_policy == "required" and run.status in {"failed", "timed_out"}:
                    raise RequiredHookFailedError(subscription.hook_id, runs)
        order = {s.hook_id: index for index, s in enumerate([*first, *self.registry.list_enabled(phase)])}
        return PhaseResult(
            sorted(runs, key=lambda run: order.get(run.hook_id, len(order))),
            sorted(contributed, key=lambda entry: order.get(entry.hook_id, len(order))),
        )

    async def _batch(self, batch: Sequence[Subscription], given: HookInput) -> list[tuple[HookRun, list[Contribution]]]:
        place = given.context.thread_id, given.context.turn_id
        runs = [self.new_run(subscription, place) for subscription in batch]
        inputs = [msgspec.structs.replace(given, run_id=run.run_id) for run in runs]
        started_at = self._clock.now()
        calls = await all_within(
            [
                (partial(subscription.call, own), subscription.timeout_ms / 1000)
                for subscription, own in zip(batch, inputs, strict=True)
            ]
        )
        all_ended_at = self._clock.now()
        outcomes: list[tuple[HookRun, list[Contribution]]] = []
        for subscription, run, call in zip(batch, runs, calls, strict=True):
            verdict = apply_failure_policy(subscription, self._verdict(subscription.phase, call))
            duration = int(call.took_seconds * 1000)
            done = end_run(
                run,
                verdict,
                attempts=1,
                started_at=started_at,
                # durations come from another clock; this one may be set back
                completed_at=min(started_at + duration, all_ended_at),
                duration_ms=duration,
            )
            outcomes.append((done, verdict.contributions))
        return outcomes
