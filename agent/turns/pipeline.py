"""Everything before the model: the same object for turns that the gateway runs and turns that a host runs.

Rule 1: the order of phases, and the input of each, stands only in `prepare`.
"""

import secrets
from collections.abc import Callable, Sequence
from functools import partial
from typing import NamedTuple

import anyio.to_thread
import msgspec

from agent.guidance.steering import NO_GUIDANCE, TurnGuidance
from agent.hooks.runtime import HookRuntime, PhaseResult, RequiredHookFailedError, manifest_run
from agent.prompt.compiler import Compiled, compile_prompt
from agent.prompt.preflight import Planners, plan_turn
from agent.prompt.preflight_advice import Advisor, Case, advise
from agent.tools import Toolset
from agent.values import Contributed, History
from protocol.conversation.manifests import (
    ManifestBudget,
    ManifestPhase,
    ManifestPreflight,
    ManifestTools,
    Permission,
    PromptManifest,
    TurnPolicy,
)
from protocol.conversation.values import Phase
from protocol.gateway import HookRun
from protocol.hooks import HookInput, PolicyContribution, Subscription, ToolBundle, TurnContext, collect_recalled
from protocol.settings import GatewayConfig
from protocol.shown import Recalled

RECALL_PHASES: frozenset[Phase] = frozenset({"TurnPrePromptContext", "TurnPostPreflightPromptContext"})
NONCE_BYTES = 8  # 64 random bits: no recalled text can hold the end of the block in which it will stand


def nothing_allowed(reason_code: str) -> TurnPolicy:
    """Return the policy of a turn in which no hook gave one: nothing of memory is allowed."""
    no = Permission(allowed=False, reason_code=reason_code)
    return TurnPolicy(recall=no, read_tools=no, remember=no, forget=no, extraction=no)


def policy_without_hook(context: TurnContext) -> TurnPolicy:
    """Return the policy of a turn whose policy hook failed: reading stays as it is, nothing is written or learnt."""
    is_closed = context.memory_mode == "ignored"
    no = Permission(allowed=False, reason_code="policy_failed")
    recall = Permission(allowed=not (is_closed or context.options.skip_recall), reason_code="policy_failed")
    read_tools = Permission(allowed=not (is_closed or context.mode == "chat"), reason_code="policy_failed")
    return TurnPolicy(recall=recall, read_tools=read_tools, remember=no, forget=no, extraction=no)


class PreparedTurn(NamedTuple):
    """A turn that is ready for its model."""

    policy: TurnPolicy
    preflight: ManifestPreflight
    toolset: Toolset
    compiled: Compiled
    phases: list[ManifestPhase]
    runs: list[HookRun]

    def with_budgets(self, budgets: Sequence[ManifestBudget]) -> "PreparedTurn":
        """Return the prepared turn with the budgets of the rest of the prompt."""
        return self._replace(compiled=self.compiled._replace(budgets=[*self.compiled.budgets, *budgets]))

    def manifest(self) -> PromptManifest:
        """Return the manifest of the prompt, with the tools as they are visible now."""
        return PromptManifest(
            phases=self.phases,
            policy=self.policy,
            preflight=self.preflight,
            sections=self.compiled.manifest,
            tools=ManifestTools(
                visible=self.toolset.visible_names(), hidden_domains=list(self.toolset.hidden_domains())
            ),
            budgets=self.compiled.budgets,
            recall=self.compiled.recall,
        )


class _Run:
    """One pass through the phases."""

    def __init__(self, runtime: HookRuntime, base: HookInput, own: Sequence[Subscription]) -> None:
        self._runtime = runtime
        self._own = own
        self.base = base
        self.phases: list[ManifestPhase] = []
        self.runs: list[HookRun] = []
        self.contributed: list[Contributed] = []

    async def phase(self, phase: Phase) -> PhaseResult:
        given = msgspec.structs.replace(self.base, phase=phase)
        try:
            result = await self._runtime.dispatch(phase, given, self._own)
        except RequiredHookFailedError as failed:
            raise RequiredHookFailedError(failed.hook_id, [*self.runs, *failed.runs]) from failed
        self.phases.append(ManifestPhase(phase=phase, hook_runs=[manifest_run(run) for run in result.runs]))
        self.runs += result.runs
        self.contributed += result.contributed
        return result

    def set_input(self, **members: object) -> None:
        """Add members to the input of the phases that follow."""
        self.base = msgspec.structs.replace(self.base, **members)

    def collect_recalled(self) -> Recalled:
        return collect_recalled([entry.contribution for entry in self.contributed])

    def recall_failed(self) -> bool:
        return any(run.phase in RECALL_PHASES and run.status in {"failed", "timed_out"} for run in self.runs)


class Pipeline:
    """Runs the phases before the model."""

    def __init__(
        self, *, runtime: HookRuntime, planners: Planners, advisor: Advisor, settings: Callable[[], GatewayConfig]
    ) -> None:
        self._runtime = runtime
        self._planners = planners
        self._advisor = advisor
        self._settings = settings

    async def prepare(
        self,
        context: TurnContext,
        text: str,
        history: History,
        *,
        calls_tools: bool,
        guidance: TurnGuidance = NO_GUIDANCE,
    ) -> PreparedTurn:
        """Run the phases before the model and return the turn ready for it. Raises `RequiredHookFailedError`."""
        run = _Run(
            self._runtime,
            HookInput(
                phase="TurnPrePolicy",
                run_id="",
                context=context,
                text=text,
                previous=history.previous,
                history_turn_ids=history.unrecalled_turn_ids,
                provider_calls_tools=calls_tools,
            ),
            guidance.hooks,
        )
        policy, given = _policy_of(await run.phase("TurnPrePolicy"), context)
        run.set_input(policy=given)
        await run.phase("TurnPrePromptContext")
        settings = self._settings().preflight
        # not on the event loop: the first message that names a date loads the reader of dates
        local = await anyio.to_thread.run_sync(
            partial(plan_turn, text, context, self._planners, is_enabled=settings.enabled), abandon_on_cancel=True
        )
        preflight = await advise(
            local, Case(text, context, len(run.collect_recalled().memory_ids)), policy, self._advisor, settings
        )
        run.set_input(plan=preflight.plan, recalled=run.collect_recalled())
        await run.phase("TurnPostPreflightPromptContext")
        run.set_input(recalled=run.collect_recalled())
        await run.phase("TurnPreToolMaterialization")
        bundles = [c for _, c in run.contributed if isinstance(c, ToolBundle)] if calls_tools else []
        toolset = Toolset(bundles, preflight.plan.visible_tools if preflight.plan else [], guidance.tools)
        run.set_input(
            existing_tools=toolset.visible_names(), contributions=[entry.contribution for entry in run.contributed]
        )
        await run.phase("TurnPrePromptCompile")
        off_reason = policy.recall.reason_code if not policy.recall.allowed else "recall_disabled"
        compiled = compile_prompt(
            run.contributed,
            nonce=secrets.token_hex(NONCE_BYTES),
            recall_failed=run.recall_failed(),
            off_reason=off_reason,
        )
        return PreparedTurn(policy, preflight.manifest, toolset, compiled, run.phases, run.runs)


def _policy_of(decided: PhaseResult, context: TurnContext) -> tuple[TurnPolicy, TurnPolicy | None]:
    """Return the turn's policy, and the policy that hooks get: None where they find out themselves what to recall."""
    policies = [c.policy for _, c in decided.contributed if isinstance(c, PolicyContribution)]
    if not policies and any(run.status in {"failed", "timed_out"} for run in decided.runs):
        policy = policy_without_hook(context)
        return policy, None if policy.recall.allowed else policy
    policy = policies[-1] if policies else nothing_allowed("memory_disabled")
    return policy, policy
