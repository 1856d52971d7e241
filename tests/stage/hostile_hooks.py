"""Hooks that do what no hook should. Imported by tests in this process, and by the gateway that a journey spawns."""

import asyncio
import time
from collections.abc import Awaitable, Callable
from typing import Any, NamedTuple

from dictionary_memory import turn_context

from agent.hooks.registration import Registry
from agent.hooks.runtime import HookRuntime
from gateway.base.clock import SystemClock
from gateway.base.ids import SortableIds
from protocol.conversation.manifests import SourceRef
from protocol.hooks import (
    MAX_OUTPUT_BYTES,
    PHASES,
    DiagnosticContribution,
    HookInput,
    HookOutput,
    PromptContext,
    SectionContribution,
    Subscription,
    ToolBundle,
)
from protocol.shown import ContextItem
from protocol.tools import tool_spec

TIMEOUT_MS = 60
HELD_SECONDS = 0.4
SECRET_TEXT = "what nobody may read"  # noqa: S105


async def sleeps(_given: HookInput) -> HookOutput:
    await asyncio.Event().wait()
    raise AssertionError


async def swallows(_given: HookInput) -> HookOutput:
    while True:
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            continue


async def swallows_everything(_given: HookInput) -> HookOutput:
    closed = 0
    while closed < 2:  # the second time comes from the interpreter, which would write about it
        try:
            await asyncio.Event().wait()
        except BaseException as error:  # noqa: BLE001  # that is the point
            closed += isinstance(error, GeneratorExit)
    return HookOutput()


async def spins(_given: HookInput) -> HookOutput:
    while True:
        try:
            await asyncio.sleep(0)
        except asyncio.CancelledError:
            continue


async def holds_the_loop(_given: HookInput) -> HookOutput:
    until = time.monotonic() + HELD_SECONDS
    while time.monotonic() < until:
        pass
    return HookOutput()


async def raises(_given: HookInput) -> HookOutput:
    raise ValueError(SECRET_TEXT)


async def raises_a_group(_given: HookInput) -> HookOutput:
    raise BaseExceptionGroup(SECRET_TEXT, [KeyboardInterrupt(), ValueError(SECRET_TEXT)])


async def exits(_given: HookInput) -> HookOutput:
    raise SystemExit(SECRET_TEXT)


async def interrupts(_given: HookInput) -> HookOutput:
    raise KeyboardInterrupt


async def recurses(given: HookInput) -> HookOutput:
    return await recurses(given)


def crashes_at_once(_given: HookInput) -> Any:
    raise RuntimeError(SECRET_TEXT)


async def gives_garbage(_given: HookInput) -> Any:
    return [{"kind": "policy"}, 5, None]


async def gives_a_circle(_given: HookInput) -> HookOutput:
    data: dict[str, Any] = {}
    data["again"] = data
    return HookOutput(contributions=[DiagnosticContribution(code="extraction_stats", data=data)])


async def floods(_given: HookInput) -> HookOutput:
    return HookOutput(contributions=[DiagnosticContribution(code="x", message=SECRET_TEXT)] * 100_000)


def context(*texts: str, max_chars: int = 10**9) -> PromptContext:
    items = [ContextItem(ref=SourceRef(kind="memory", id=f"mem_{n}"), text=text) for n, text in enumerate(texts)]
    return PromptContext(
        context_id="c",
        domain="memory",
        items=items,
        max_chars=max_chars,
        max_item_chars=max_chars,
        status="recalled",
        reason="matched",
    )


async def gives_too_much(_given: HookInput) -> HookOutput:
    return HookOutput(contributions=[context("word " * (MAX_OUTPUT_BYTES // 5))])


async def fills_its_phase(given: HookInput) -> HookOutput:
    """As much as may be given at once, of what the phase allows."""
    bulk = "word " * 1_500
    per_phase: dict[str, Callable[[], Any]] = {
        "TurnPrePromptContext": lambda: context(*[bulk] * 4),
        "TurnPostPreflightPromptContext": lambda: context(*[bulk] * 4),
        "TurnPreToolMaterialization": lambda: ToolBundle(domain="memory", tools=[tool_spec("memory_get")]),
        "TurnPrePromptCompile": lambda: SectionContribution(section_id="s", domain="memory", title="t", text=bulk),
    }
    make = per_phase.get(given.phase, lambda: DiagnosticContribution(code="x"))
    return HookOutput(contributions=[make() for _ in range(16)])


class Hostile(NamedTuple):
    """A hook, how its run ends before the model, and the codes that its run is told with, whatever else is."""

    call: Callable[[HookInput], Awaitable[HookOutput]]
    status: str
    codes: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        """Its name."""
        return self.call.__name__


KIT = [
    Hostile(sleeps, "timed_out", ("deadline_exceeded",)),
    Hostile(swallows, "timed_out", ("deadline_exceeded", "hook_unresponsive")),
    Hostile(swallows_everything, "timed_out", ("deadline_exceeded", "hook_unresponsive")),
    Hostile(spins, "timed_out", ("deadline_exceeded", "hook_unresponsive")),
    Hostile(holds_the_loop, "timed_out", ("deadline_exceeded", "hook_unresponsive")),
    Hostile(raises, "failed", ("hook_crashed",)),
    Hostile(raises_a_group, "failed", ("hook_crashed",)),
    Hostile(exits, "failed", ("hook_crashed",)),
    Hostile(interrupts, "failed", ("hook_crashed",)),
    Hostile(recurses, "failed", ("hook_crashed",)),
    Hostile(crashes_at_once, "failed", ("hook_crashed",)),
    Hostile(gives_garbage, "failed", ("bad_output",)),
    Hostile(gives_a_circle, "failed", ("bad_output",)),
    Hostile(floods, "failed", ("too_many_contributions",)),
    Hostile(gives_too_much, "failed", ("contribution_not_allowed", "output_too_large")),
    Hostile(fills_its_phase, "succeeded"),
]

QUICK = [hostile for hostile in KIT if hostile.call is not holds_the_loop]
"""Those that let others run."""


def subscribed(hostile: Hostile, *phases: Any) -> list[Subscription]:
    """The hook in those phases, with little time where it uses all of it."""
    timeout_ms = TIMEOUT_MS if hostile.status == "timed_out" else 2000
    return [
        Subscription(hook_id=f"t.{hostile.name}", phase=phase, call=hostile.call, timeout_ms=timeout_ms)
        for phase in phases
    ]


# -- hooks that do nothing, and what that costs
# -------------------------------------------------------------------------


async def nothing(_given: HookInput) -> HookOutput:
    return HookOutput()


def cost_of_no_ops(hooks: int, *, turns: int) -> list[float]:
    """Seconds of CPU that each turn spends for so many hooks, every one of them in every phase."""
    subscriptions = [Subscription(hook_id=f"h{n}", phase=phase, call=nothing) for phase in PHASES for n in range(hooks)]
    clock = SystemClock()
    runtime = HookRuntime(
        registry=Registry(subscriptions),
        ids=SortableIds(clock),
        clock=clock,
        incident=str,
        mask=str,
        is_strict=lambda: False,
    )

    async def scene() -> list[float]:
        costs: list[float] = []
        for _ in range(turns):
            begun = time.process_time()
            for phase in PHASES:
                await runtime.dispatch(phase, HookInput(phase=phase, run_id="", context=turn_context(), text="hi"))
            costs.append(time.process_time() - begun)
        return costs

    return asyncio.run(scene())
