"""Hooks that misbehave, in order, and what they cost."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import pytest
from dictionary_memory import turn_context
from hostile_hooks import cost_of_no_ops
from processor import MARGIN, slowness, untraced

from agent.hooks.registration import RegistrationError, Registry
from agent.hooks.runtime import HookRuntime, PhaseResult, RequiredHookFailedError
from gateway.base.clock import SystemClock
from gateway.base.ids import SortableIds
from protocol.base import Diagnostic
from protocol.conversation.manifests import SourceRef
from protocol.conversation.values import Phase
from protocol.gateway import RunError
from protocol.hooks import (
    Contribution,
    DiagnosticContribution,
    HookFailure,
    HookInput,
    HookOutput,
    PromptContext,
    Retry,
    SkipRun,
    Subscription,
    ToolBundle,
)
from protocol.shown import ContextItem

PHASE: Phase = "TurnPrePromptContext"
CLOCK = SystemClock()
incidents: list[BaseException] = []
NO_OPS_SECONDS = 0.002
"""The promise of a turn with ten hooks that do nothing."""


def incident(error: BaseException) -> str:
    incidents.append(error)
    return "inc_1"


def note(code: str) -> HookOutput:
    return HookOutput(contributions=[DiagnosticContribution(code=code)])


def says(code: str) -> Callable[[HookInput], Awaitable[HookOutput]]:
    async def call(_given: HookInput) -> HookOutput:
        return note(code)

    return call


def sub(hook_id: str, call: Any = None, **changes: Any) -> Subscription:
    return Subscription(hook_id=hook_id, phase=changes.pop("phase", PHASE), call=call or says(hook_id), **changes)


def given(phase: Phase = PHASE) -> HookInput:
    return HookInput(phase=phase, run_id="", context=turn_context(), text="hi")


def runtime_of(*subscriptions: Subscription, is_strict: bool = False) -> HookRuntime:
    return HookRuntime(
        registry=Registry(subscriptions),
        ids=SortableIds(CLOCK),
        clock=CLOCK,
        incident=incident,
        mask=lambda text: text.replace("hunter2", "[secret]"),
        is_strict=lambda: is_strict,
    )


def dispatch(*subscriptions: Subscription, phase: Phase = PHASE) -> PhaseResult:
    incidents.clear()
    runtime = runtime_of(*subscriptions)
    return asyncio.run(runtime.dispatch(phase, given(phase)))


def code(contribution: Contribution) -> str:
    assert isinstance(contribution, DiagnosticContribution)
    return contribution.code


def codes(result: PhaseResult) -> list[str]:
    return [code(entry.contribution) for entry in result.contributed]


# -- hooks that misbehave --------------------------------------------------------------------------------------------


async def sleeps(_given: HookInput) -> HookOutput:
    await asyncio.Event().wait()
    raise AssertionError


async def raises(_given: HookInput) -> HookOutput:
    raise ValueError("secret text")


async def cancels_itself(_given: HookInput) -> HookOutput:
    raise asyncio.CancelledError


async def gives_none(_given: HookInput) -> Any:
    return None


async def gives_a_dict(_given: HookInput) -> Any:
    return {"contributions": []}


async def gives_no_list(_given: HookInput) -> Any:
    nonsense: Any = "nonsense"
    return HookOutput(contributions=nonsense)


async def gives_what_is_not_allowed(_given: HookInput) -> HookOutput:
    bundle = ToolBundle(domain="memory", tools=[])
    return HookOutput(contributions=[DiagnosticContribution(code="fine"), bundle])


async def gives_garbage_inside(_given: HookInput) -> HookOutput:
    wrong: Any = {"context_id": 5, "items": "none", "max_chars": "many"}
    return HookOutput(
        contributions=[
            PromptContext(**{"domain": "memory", "max_item_chars": 1, "status": "recalled", "reason": "x"} | wrong)
        ]
    )


async def gives_what_no_json_holds(_given: HookInput) -> HookOutput:
    return HookOutput(contributions=[DiagnosticContribution(code="x", data={"o": object()})])


def raises_at_once(_given: HookInput) -> Any:
    raise RuntimeError


def is_no_coroutine(_given: HookInput) -> Any:
    return 5


async def fails(_given: HookInput) -> HookOutput:
    raise HookFailure("known_cause", retryable=True)


async def skips(_given: HookInput) -> HookOutput:
    raise SkipRun("not_now")


BAD: list[tuple[Any, str, str, int]] = [
    (sleeps, "timed_out", "deadline_exceeded", 0),
    (raises, "failed", "hook_crashed", 1),
    (raises_at_once, "failed", "hook_crashed", 1),
    (is_no_coroutine, "failed", "hook_crashed", 1),
    (cancels_itself, "failed", "cancelled_itself", 0),
    (gives_none, "failed", "bad_output", 0),
    (gives_a_dict, "failed", "bad_output", 0),
    (gives_no_list, "failed", "bad_output", 0),
    (gives_garbage_inside, "failed", "bad_output", 0),
    (gives_what_no_json_holds, "failed", "bad_output", 0),
    (gives_what_is_not_allowed, "failed", "contribution_not_allowed", 0),
    (fails, "failed", "known_cause", 0),
    (skips, "skipped", "not_now", 0),
]


@pytest.mark.parametrize(("call", "status", "code", "told"), BAD, ids=[row[0].__name__ for row in BAD])
def test_a_bad_hook_leaves_a_diagnostic_and_the_others_alone(call: Any, status: str, code: str, told: int) -> None:
    result = dispatch(sub("a.good"), sub("b.bad", call, timeout_ms=30), sub("c.good"))
    assert codes(result) == ["a.good", "c.good"]
    bad = result.runs[1]
    assert (bad.hook_id, bad.status, bad.contribution_count) == ("b.bad", status, 0)
    assert bad.diagnostics[0].code == code
    assert (bad.error is None) == (status == "skipped")
    assert bad.completed_at is not None
    assert len(incidents) == told
    assert "secret text" not in str(bad)


@pytest.mark.parametrize(("call", "status", "code", "told"), BAD[:-1], ids=[row[0].__name__ for row in BAD[:-1]])
def test_a_required_hook_fails_the_turn_and_every_run_is_told(call: Any, status: str, code: str, told: int) -> None:
    with pytest.raises(RequiredHookFailedError) as caught:
        dispatch(sub("a.bad", call, timeout_ms=30, failure_policy="required"), sub("b.good"))
    assert caught.value.hook_id == "a.bad"
    assert [(run.hook_id, run.status) for run in caught.value.runs] == [("a.bad", status), ("b.good", "succeeded")]


def test_a_required_hook_may_skip() -> None:
    assert dispatch(sub("a", skips, failure_policy="required")).runs[0].status == "skipped"


def test_a_hook_that_swallows_cancellation_is_reported_and_left_behind() -> None:
    released: list[asyncio.Event] = []

    async def swallows(_given: HookInput) -> HookOutput:
        released.append(asyncio.Event())
        while not released[0].is_set():
            try:
                await released[0].wait()
            except asyncio.CancelledError:
                continue
        return note("too_late")

    async def scene() -> PhaseResult:
        runtime = runtime_of(sub("a", swallows, timeout_ms=20), sub("b"))
        result = await runtime.dispatch(PHASE, given())
        released[0].set()
        await asyncio.sleep(0)
        return result

    result = asyncio.run(scene())
    assert [one.code for one in result.runs[0].diagnostics] == ["deadline_exceeded", "hook_unresponsive"]
    assert codes(result) == ["b"]


def test_a_deadline_cancels_for_real() -> None:
    ended: list[str] = []

    async def cleans_up(_given: HookInput) -> HookOutput:
        try:
            await asyncio.Event().wait()
        finally:
            ended.append("clean")
        raise AssertionError

    result = dispatch(sub("a", cleans_up, timeout_ms=10))
    assert ended == ["clean"]
    assert [one.code for one in result.runs[0].diagnostics] == ["deadline_exceeded"]


def test_cancelling_the_turn_cancels_its_hooks() -> None:
    async def scene() -> list[str]:
        ended: list[str] = []
        inside = asyncio.Event()

        async def waits(_given: HookInput) -> HookOutput:
            inside.set()
            try:
                await asyncio.Event().wait()
            finally:
                ended.append("clean")
            raise AssertionError

        runtime = runtime_of(sub("a", waits), sub("b"))
        task = asyncio.ensure_future(runtime.dispatch(PHASE, given()))
        await inside.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        for _ in range(5):
            await asyncio.sleep(0)
        return ended

    assert asyncio.run(scene()) == ["clean"]


def test_a_run_keeps_hashes_and_never_contents() -> None:
    async def recalls(_given: HookInput) -> HookOutput:
        item = ContextItem(ref=SourceRef(kind="memory", id="mem_1"), text="Likes tea")
        return HookOutput(
            contributions=[
                PromptContext(
                    context_id="c",
                    domain="memory",
                    items=[item],
                    max_chars=100,
                    max_item_chars=50,
                    status="recalled",
                    reason="x",
                )
            ]
        )

    (run,) = dispatch(sub("a", recalls)).runs
    assert (run.status, run.contribution_count, len(run.contribution_hashes[0])) == ("succeeded", 1, 64)
    assert "Likes" not in str(run)  # an id has no capitals
    assert dispatch(sub("a", recalls)).runs[0].contribution_hashes == run.contribution_hashes


# -- order -----------------------------------------------------------------------------------------------------------


def test_results_stand_in_registration_order_whatever_ends_first() -> None:
    order: list[str] = []

    def after(turns: int, code: str) -> Any:
        async def call(_given: HookInput) -> HookOutput:
            for _ in range(turns):
                await asyncio.sleep(0)
            order.append(code)
            return note(code)

        return call

    result = dispatch(sub("slow", after(20, "slow"), priority=-1), sub("a", after(1, "a")), sub("b", after(5, "b")))
    assert order == ["a", "b", "slow"]
    assert codes(result) == ["slow", "a", "b"] == [run.hook_id for run in result.runs]


def test_a_later_batch_sees_what_the_earlier_gave() -> None:
    seen: dict[str, list[str]] = {}

    def looks(name: str) -> Any:
        async def call(given: HookInput) -> HookOutput:
            seen[name] = [code(one) for one in given.contributions]
            return note(name)

        return call

    result = dispatch(
        sub("a", looks("a"), after=("c",)),
        sub("b", looks("b"), after=("a", "c")),
        sub("c", looks("c")),
        sub("d", looks("d")),
    )
    assert {name: sorted(found) for name, found in seen.items()} == {
        "c": [],
        "d": [],
        "a": ["c", "d"],
        "b": ["a", "c", "d"],
    }
    assert codes(result) == ["a", "b", "c", "d"]


def test_a_disabled_dependency_counts_as_satisfied_and_a_failed_one_too() -> None:
    off = sub("a", enabled=lambda: False)
    result = dispatch(off, sub("b", after=("a",)), sub("c", raises), sub("d", after=("c",)))
    assert codes(result) == ["b", "d"]
    assert [run.hook_id for run in result.runs] == ["b", "c", "d"]
    registry = Registry([off, sub("b", after=("a",))])
    assert [view.hook_id for view in registry.views()] == ["b"]
    assert registry.find(PHASE, "a") is off
    assert registry.find("TurnPostTurn", "a") is None


@pytest.mark.parametrize(
    ("call", "code"), [(raises, "hook_crashed"), (sleeps, "deadline_exceeded"), (fails, "known_cause")]
)
def test_the_failure_of_a_hook_that_may_be_skipped_counts_as_not_having_run(call: Any, code: str) -> None:
    (run,) = dispatch(sub("a", call, failure_policy="skip", timeout_ms=20)).runs
    assert (run.status, run.diagnostics[0].code, run.error) == ("skipped", code, None)


@pytest.mark.parametrize("is_strict", [False, True])
def test_what_a_hook_says_of_itself_is_cut_or_where_that_is_strict_fails_it(is_strict: bool) -> None:  # noqa: FBT001
    def told(**members: Any) -> Any:
        async def call(_given: HookInput) -> HookOutput:
            return HookOutput(contributions=[DiagnosticContribution(**members)])

        (run,) = asyncio.run(runtime_of(sub("a", call), is_strict=is_strict).dispatch(PHASE, given())).runs
        return run.diagnostics[0] if run.status == "succeeded" else run.error

    fine = {"code": "extraction_stats", "message": "all is well", "data": {"facts": 3, "why": "too_many", "is": True}}
    assert told(**fine) == Diagnostic(**fine)
    for unfit, kept in [
        ({"code": "nobody_knows_it", "message": "x", "data": {"n": 1}}, {"code": "nobody_knows_it"}),
        ({"code": "Words of the user!"}, {"code": "unregistered"}),
        (
            {"code": "malformed_fact", "message": "it is hunter2"},
            {"code": "malformed_fact", "message": "it is [secret]"},
        ),
        (
            {"code": "malformed_fact", "data": {"said": "I like tea", "n": 1}},
            {"code": "malformed_fact", "data": {"n": 1}},
        ),
    ]:
        assert told(**unfit) == (RunError(code="bad_diagnostic", retryable=False) if is_strict else Diagnostic(**kept))


@pytest.mark.parametrize(
    ("subscriptions", "words"),
    [
        ([sub("a"), sub("a")], "twice"),
        ([sub("a", after=("ghost",))], "unknown dependencies"),
        ([sub("a", after=("a",))], "circle"),
        ([sub("a", after=("b",)), sub("b", after=("c",)), sub("c", after=("a",))], "circle"),
        ([sub("a"), sub("b", phase="TurnPostTurn", after=("a",))], "unknown dependencies"),
        ([sub("a", phase="TurnNever")], "unknown phases"),
        ([sub("a", contract_version=2)], "another version"),
        ([sub("a", timeout_ms=0)], "no time"),
        ([sub("a", phase="TurnPostTurn", retry=Retry(attempts=0))], "no attempt"),
        ([sub("a", await_policy="background")], "in the background"),
        ([sub("a", retry=Retry(attempts=2))], "tried again"),
        ([sub("a", phase="TurnPostTurn", failure_policy="required")], "cannot fail it"),
    ],
)
def test_a_wrong_registration_is_found_at_start(subscriptions: Any, words: str) -> None:
    with pytest.raises(RegistrationError, match=words):
        Registry(subscriptions)


def test_the_same_hook_in_two_phases_is_fine() -> None:
    assert len(Registry([sub("a"), sub("a", phase="TurnPostTurn")]).views()) == 2


# -- cost ------------------------------------------------------------------------------------------------------------


def test_ten_hooks_that_do_nothing_cost_next_to_nothing() -> None:
    with untraced():
        costs = cost_of_no_ops(10, turns=20)
    assert min(costs) < MARGIN * NO_OPS_SECONDS * slowness()
