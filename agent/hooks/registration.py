"""Hooks by phase and order, checked once, when the process is put together.

Rule 1: a wrong registration is found at start, never in a turn.
Rule 2: a disabled dependency counts as satisfied.
"""

from collections.abc import Mapping, Sequence
from graphlib import CycleError, TopologicalSorter

from protocol.base import Empty
from protocol.conversation.values import Phase
from protocol.gateway import HooksListResult, SubscriptionView
from protocol.hooks import HOOK_CONTRACT_VERSION, PHASES, Subscription
from protocol.methods import HOOKS_LIST, Bound, bind


class RegistrationError(Exception):
    """Hooks are registered in a way that cannot work."""


def _check_each(subscriptions: Sequence[Subscription]) -> None:
    for s in subscriptions:
        if s.phase not in PHASES:
            raise RegistrationError(f"{s.hook_id}: unknown phases: {s.phase}")
        if s.contract_version != HOOK_CONTRACT_VERSION:
            raise RegistrationError(f"{s.hook_id} follows another version of the contract")
        if s.timeout_ms < 1 or s.retry.attempts < 1:
            raise RegistrationError(f"{s.hook_id} has no time or no attempt")
        if s.phase != "TurnPostTurn" and (s.await_policy == "background" or s.retry.attempts > 1):
            raise RegistrationError(f"{s.hook_id}: only what follows a turn runs in the background and is tried again")
        if s.phase == "TurnPostTurn" and s.failure_policy == "required":
            raise RegistrationError(f"{s.hook_id}: what follows a turn cannot fail it")


def _check_phase(phase: Phase, subscriptions: Sequence[Subscription]) -> None:
    ids = [s.hook_id for s in subscriptions]
    if len(set(ids)) != len(ids):
        raise RegistrationError(f"a hook is registered twice for {phase}")
    unknown = {after for s in subscriptions for after in s.after} - set(ids)
    if unknown:
        raise RegistrationError(f"unknown dependencies in {phase}: {', '.join(sorted(unknown))}")
    try:
        TopologicalSorter({s.hook_id: set(s.after) for s in subscriptions}).prepare()
    except CycleError as error:
        raise RegistrationError(f"dependencies of {phase} form a circle") from error


def _sort_into_batches(enabled: Sequence[Subscription]) -> list[list[Subscription]]:
    ids = {s.hook_id for s in enabled}
    sorter = TopologicalSorter({s.hook_id: set(s.after) & ids for s in enabled})
    sorter.prepare()
    batches: list[list[Subscription]] = []
    while sorter.is_active():
        ready = set(sorter.get_ready())
        batches.append([s for s in enabled if s.hook_id in ready])
        sorter.done(*ready)
    return batches


class Registry:
    """The subscriptions of every phase, lower priority first, then by id."""

    def __init__(self, subscriptions: Sequence[Subscription]) -> None:
        _check_each(subscriptions)
        ordered = sorted(subscriptions, key=lambda s: (s.priority, s.hook_id))
        self._by_phase: Mapping[Phase, list[Subscription]] = {
            phase: [s for s in ordered if s.phase == phase] for phase in PHASES
        }
        for phase, found in self._by_phase.items():
            _check_phase(phase, found)
        self._batches: dict[Phase, tuple[tuple[str, ...], list[list[Subscription]]]] = {}

    def list_enabled(self, phase: Phase) -> list[Subscription]:
        """Return the hooks that no setting has switched off, in order."""
        return [s for s in self._by_phase[phase] if s.enabled()]

    def find(self, phase: Phase, hook_id: str) -> Subscription | None:
        """Return a hook of a phase, enabled or not; None where there is none of that id."""
        return next((s for s in self._by_phase[phase] if s.hook_id == hook_id), None)

    def batches(self, phase: Phase) -> list[list[Subscription]]:
        """Return enabled hooks in batches: those of a batch run side by side, a later batch after an earlier one."""
        enabled = self.list_enabled(phase)
        ids = tuple(s.hook_id for s in enabled)
        sorted_for, batches = self._batches.get(phase, ((), []))
        if sorted_for != ids:  # settings changed since
            batches = _sort_into_batches(enabled)
            self._batches[phase] = ids, batches
        return batches

    def bindings(self) -> list[Bound]:
        """Return the methods of the wire that are answered here."""
        return [bind(HOOKS_LIST, self.hooks_list)]

    async def hooks_list(self, _params: Empty) -> HooksListResult:
        """Return the enabled hooks in dispatch order."""
        return HooksListResult(subscriptions=self.views())

    def views(self) -> list[SubscriptionView]:
        """Return the enabled hooks as `hooks/list` shows them."""
        return [
            SubscriptionView(
                hook_id=s.hook_id,
                phase=phase,
                priority=s.priority,
                await_policy=s.await_policy,
                timeout_ms=s.timeout_ms,
                failure_policy=s.failure_policy,
                enabled=True,
            )
            for phase in PHASES
            for s in self.list_enabled(phase)
        ]
