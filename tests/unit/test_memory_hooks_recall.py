"""Policy, recall before the model, the prompt contract and the local plan."""
# ruff: noqa: ARG002  # a port's signature is fixed

import itertools
from typing import Any

import anyio
import msgspec
import pytest
from dictionary_memory import DAY, USER, DictionaryMemory, record_of, turn_context

from memory.hooks import POLICY_TIMEOUT_MS, build
from memory.hooks.active_recall import ActiveRecall
from memory.hooks.policy import DENIALS, PERMISSIONS, decide, turn_policy
from memory.hooks.prompt_contract import PromptContract
from memory.hooks.recall import MAX_CHARS, MAX_ITEM_CHARS, MAX_ITEMS, DeterministicRecall
from memory.hooks.standing import StandingBlock
from memory.rules.categories import ABOUT_THE_USER
from memory.rules.planning import propose_durable
from promt.intents import Intents, detect
from promt.render import render_block
from protocol.conversation.manifests import ManifestBudget, TurnPolicy
from protocol.conversation.turns import TurnOptions
from protocol.conversation.values import Phase
from protocol.hooks import (
    ALLOWED,
    DEFAULT_TIMEOUT_MS,
    DurablePlan,
    HookInput,
    HookOutput,
    PolicyContribution,
    PromptContext,
    RecallPlan,
    SectionContribution,
    SkipRun,
)
from protocol.memory.writes import RememberParams
from protocol.models import Deltas, ModelReply, ModelRequest
from protocol.settings import GatewayConfig, MemorySettings, RecallDeadlines, ThreadEpisodicSettings
from protocol.shown import Recalled

NOTHING_SAID = Intents()
ALL_YES: dict[str, tuple[bool, str]] = dict.fromkeys(PERMISSIONS, (True, "default"))


class NoModel:
    def is_configured(self, role: str) -> bool:
        return False

    def prompt_tokens(self, role: str, provider: str | None = None) -> None:
        return None

    def window_tokens(self, role: str, provider: str | None = None) -> None:
        return None

    def calls_tools(self, role: str, provider: str | None = None) -> bool:
        return False

    def takes_pictures(self, role: str, provider: str | None = None) -> bool:
        return False

    async def complete(self, request: ModelRequest, deltas: Deltas | None = None) -> ModelReply:
        raise AssertionError("no model is configured")


def shown(policy: TurnPolicy) -> dict[str, tuple[bool, str]]:
    return {name: (getattr(policy, name).allowed, getattr(policy, name).reason_code) for name in PERMISSIONS}


def denied(reason: str, *names: str) -> dict[str, tuple[bool, str]]:
    return ALL_YES | dict.fromkeys(names, (False, reason))


WRITES = ("remember", "forget", "extraction")


@pytest.mark.parametrize(
    ("turn", "intents", "expected"),
    [
        ({}, NOTHING_SAID, ALL_YES),
        ({"mode": "chat"}, NOTHING_SAID, denied("chat_mode", "read_tools", *WRITES)),
        ({"memory_mode": "read_only"}, NOTHING_SAID, denied("memory_mode", *WRITES)),
        ({"memory_mode": "ignored"}, NOTHING_SAID, denied("memory_mode", *PERMISSIONS)),
        ({"options": TurnOptions(skip_recall=True)}, NOTHING_SAID, denied("skip_recall", "recall")),
        ({}, Intents(no_recall=True), denied("no_recall_requested", "recall")),
        (
            {"options": TurnOptions(skip_retention=True)},
            NOTHING_SAID,
            denied("skip_retention", "remember", "extraction"),
        ),
        ({}, Intents(no_save=True), denied("no_memory_requested", "remember", "extraction")),
        ({"parent_thread_id": "thr_0"}, NOTHING_SAID, denied("subagent", *WRITES)),
        ({"origin": "task"}, NOTHING_SAID, denied("task_owned", "remember", "forget", "extraction")),
        ({"origin": "system"}, NOTHING_SAID, denied("system_or_tool_only", "remember", "forget", "extraction")),
        ({"options": TurnOptions(unknown_client=True)}, NOTHING_SAID, denied("unknown_client", "extraction")),
        ({"not_stored": "storage_full"}, NOTHING_SAID, denied("storage_full", *WRITES)),
        ({"not_stored": "storage_read_only"}, NOTHING_SAID, denied("storage_read_only", *WRITES)),
        ({}, Intents(remember=True), ALL_YES | {"remember": (True, "user_asked")}),
        ({}, Intents(forget=True), ALL_YES | {"forget": (True, "user_asked")}),
        ({"memory_mode": "read_only"}, Intents(remember=True), denied("memory_mode", *WRITES)),
    ],
)
def test_policy_table(turn: dict[str, Any], intents: Intents, expected: dict[str, tuple[bool, str]]) -> None:
    assert shown(turn_policy(turn_context(**turn), intents)) == expected


def test_restrictions_only_add_up() -> None:
    restrictions: list[tuple[dict[str, Any], Intents]] = [
        ({"mode": "chat"}, NOTHING_SAID),
        ({"memory_mode": "read_only"}, NOTHING_SAID),
        ({"options": TurnOptions(skip_recall=True)}, NOTHING_SAID),
        ({"origin": "task"}, NOTHING_SAID),
        ({"parent_thread_id": "thr_0"}, Intents(no_save=True, remember=True)),
    ]
    for (one, said_one), (two, said_two) in itertools.permutations(restrictions, 2):
        alone = shown(turn_policy(turn_context(**one), said_one))
        both_said = Intents(**{name: getattr(said_one, name) or getattr(said_two, name) for name in Intents._fields})
        both = shown(turn_policy(turn_context(**one | two), both_said))
        assert all(alone[name][0] or not both[name][0] for name in PERMISSIONS)


def test_every_denial_has_its_own_case() -> None:
    reasons = [denial.reason_code for denial in DENIALS]
    assert set(reasons) == {
        "chat_mode",
        "memory_mode",
        "skip_recall",
        "skip_retention",
        "no_recall_requested",
        "no_memory_requested",
        "subagent",
        "task_owned",
        "system_or_tool_only",
        "unknown_client",
        "storage_full",
        "storage_read_only",
    }


def given(text: str = "which editor do I like", phase: Phase = "TurnPrePromptContext", **members: Any) -> HookInput:
    turn = members.pop("turn", {})
    return HookInput(phase=phase, run_id="run_1", context=turn_context(**turn), text=text, **members)


def context(output: HookOutput) -> PromptContext:
    (contribution,) = output.contributions
    assert isinstance(contribution, PromptContext)
    assert contribution.domain == "memory"
    return contribution


def recall(memory: DictionaryMemory, hook_input: HookInput) -> PromptContext:
    return context(anyio.run(DeterministicRecall(service=memory), hook_input))


def test_policy_hook_hears_the_message() -> None:
    (contribution,) = anyio.run(decide, given("Don't remember this: I was ill.", "TurnPrePolicy")).contributions
    assert isinstance(contribution, PolicyContribution)
    assert contribution.policy.extraction.reason_code == "no_memory_requested"


def test_recall_shows_the_record_with_scope_and_date() -> None:
    memory = DictionaryMemory(record_of("mem_1", "I like the editor Helix."), record_of("mem_2", "Unrelated."))
    found = recall(memory, given())
    assert (found.status, found.reason, found.context_id) == ("recalled", "matched", "memory_deterministic")
    (item,) = found.items
    assert (item.ref.id, item.text) == ("mem_1", "I like the editor Helix.")
    assert item.labels == {"scope": "user", "at": "2024-10-04"}


def test_date_is_the_users_own() -> None:
    memory = DictionaryMemory(record_of("mem_1", "I like the editor Helix.", updated_at=20_000 * DAY - 1))
    assert recall(memory, given()).items[0].labels["at"] == "2024-10-03"
    east = recall(memory, given(turn={"time_zone": "Europe/Berlin"}))
    assert east.items[0].labels["at"] == "2024-10-04"
    assert recall(memory, given(turn={"time_zone": "Nowhere/../x"})).items[0].labels["at"] == "2024-10-03"


@pytest.mark.parametrize(
    ("members", "reason"),
    [
        ({"text": "ok"}, "too_short"),
        ({"text": "  hm \n"}, "too_short"),
        ({"turn": {"memory_mode": "ignored"}}, "memory_mode"),
        ({"turn": {"options": TurnOptions(skip_recall=True)}}, "skip_recall"),
        ({"policy": turn_policy(turn_context(memory_mode="ignored"), NOTHING_SAID)}, "memory_mode"),
    ],
)
def test_recall_is_skipped_and_says_why(members: dict[str, Any], reason: str) -> None:
    memory = DictionaryMemory(record_of("mem_1", "I like the editor Helix."))
    found = recall(memory, given(**members))
    assert (found.status, found.reason, found.items) == ("skipped", reason, [])
    assert memory.asked == []


def test_chat_mode_still_recalls() -> None:
    memory = DictionaryMemory(record_of("mem_1", "I like the editor Helix."))
    assert recall(memory, given(turn={"mode": "chat"})).status == "recalled"


def test_nothing_relevant_is_empty() -> None:
    found = recall(DictionaryMemory(record_of("mem_1", "Cats purr.")), given())
    assert (found.status, found.reason, found.items) == ("empty", "no_match", [])


def test_recall_stays_within_its_budget() -> None:
    records = [record_of(f"mem_{i}", f"editor note {i}: " + "long words " * 60) for i in range(9)]
    found = recall(DictionaryMemory(*records), given())
    assert len(found.items) == MAX_ITEMS
    assert (found.max_chars, found.max_item_chars) == (MAX_CHARS, MAX_ITEM_CHARS) == (1500, 280)
    block = render_block("memory", found.items, nonce="abcd", max_chars=found.max_chars, max_item_chars=280)
    assert block is not None
    assert len(block.text) <= 1500


# -- active recall -------------------------------------------------------------------------------------------------


def active(memory: DictionaryMemory, plan: DurablePlan | None, **members: Any) -> HookOutput:
    recall_plan = None if plan is None else RecallPlan(durable=plan)
    return anyio.run(
        ActiveRecall(service=memory), given(phase="TurnPostPreflightPromptContext", plan=recall_plan, **members)
    )


MEMORY = (
    record_of("mem_1", "I like the editor Helix.", category="preference"),
    record_of("mem_2", "My name is Anna.", category="identity"),
    record_of("mem_3", "Deploys happen on Fridays.", category="project_fact"),
)


def test_no_plan_is_no_contribution() -> None:
    memory = DictionaryMemory(*MEMORY)
    for plan in (None, DurablePlan(), DurablePlan(status="recall", modes=["query"], targets=[])):
        assert active(memory, plan).contributions == []
    assert memory.asked == []


def test_plan_is_carried_out_keys_first_and_nothing_twice() -> None:
    plan = DurablePlan(
        status="recall", modes=["query", "category", "key"], targets=["deploys", "identity", "key_mem_1"]
    )
    found = context(active(DictionaryMemory(*MEMORY), plan))
    assert (found.context_id, found.status) == ("memory_active", "recalled")
    assert [item.ref.id for item in found.items] == ["mem_1", "mem_2", "mem_3"]


def test_active_recall_stays_within_its_budget() -> None:
    categories = ("identity", "preference", "todo", "custom")
    records = [record_of(f"mem_{i}", f"note {i}", category=c) for i in range(4) for c in categories]
    records = [record_of(f"mem_{n}", r.content, category=r.category) for n, r in enumerate(records)]
    plan = DurablePlan(status="recall", modes=["category"], targets=[*categories])
    assert len(context(active(DictionaryMemory(*records), plan)).items) == MAX_ITEMS
    given_already = Recalled(memory_ids=[f"mem_x{n}" for n in range(MAX_ITEMS - 2)])
    assert len(context(active(DictionaryMemory(*records), plan, recalled=given_already)).items) == 2


def test_what_is_shown_already_is_not_shown_again() -> None:
    plan = DurablePlan(status="recall", modes=["category", "query"], targets=["identity", "name is"])
    found = context(active(DictionaryMemory(*MEMORY), plan, recalled=Recalled(memory_ids=["mem_2", "mem_1", "mem_3"])))
    assert (found.status, found.reason, found.items) == ("empty", "no_match", [])


def test_a_key_reveals_no_more_than_a_search() -> None:
    hidden = [
        record_of("mem_8", "Insulin.", sensitivity="regulated"),
        record_of("mem_9", "Old.", status="superseded"),
    ]
    plan = DurablePlan(status="recall", modes=["key"], targets=["key_mem_8", "key_mem_9"])
    assert context(active(DictionaryMemory(*hidden), plan)).items == []


def test_unknown_category_and_too_many_targets_are_harmless() -> None:
    memory = DictionaryMemory(*MEMORY)
    plan = DurablePlan(status="recall", modes=["category", "query"], targets=["secrets"] * 50)
    assert context(active(memory, plan)).items == []
    assert len(memory.asked) == 6


def test_active_recall_follows_mode_and_policy() -> None:
    plan = DurablePlan(status="recall", modes=["category"], targets=["identity"])
    memory = DictionaryMemory(*MEMORY)
    assert context(active(memory, plan, turn={"mode": "chat"})).reason == "chat_mode"
    assert context(active(memory, plan, turn={"memory_mode": "ignored"})).reason == "memory_mode"
    assert memory.asked == []


# -- standing block ------------------------------------------------------------------------------------------------


def standing(memory: DictionaryMemory, **members: Any) -> list[Any]:
    return anyio.run(StandingBlock(service=memory), given(**members)).contributions


def test_the_standing_block_is_a_stable_section_with_its_lines() -> None:
    (section,) = standing(DictionaryMemory(*MEMORY), turn={"mode": "chat"})
    assert (section.section_id, section.domain, section.stable) == ("memory_standing", "memory", True)
    assert [(line.ref.id, line.text) for line in section.lines] == [("mem_2", "- [mem_2]: My name is Anna.")]
    assert section.budget == ManifestBudget(name="standing", limit=1200, used=len(section.text))


def test_without_statements_the_section_is_empty_and_its_budget_told() -> None:
    (section,) = standing(DictionaryMemory())
    assert (section.text, section.lines) == ("", [])
    assert section.budget == ManifestBudget(name="standing", limit=1200, used=0)


def test_what_does_not_fit_is_counted_and_at_most_a_hundred_are_named() -> None:
    long = [record_of(f"mem_{n:03}", "Always say " + "so " * 90, category="recurring_instruction") for n in range(120)]
    distinct = [msgspec.structs.replace(r, content=f"{n} {r.content}", key=f"k{n}") for n, r in enumerate(long)]
    section, cut = standing(DictionaryMemory(*distinct))
    assert section.truncated
    assert cut.code == "standing_cut"
    assert cut.data["count"] == 120 - len(section.lines)
    assert len(cut.data["memory_ids"]) == 100
    assert not {line.ref.id for line in section.lines} & set(cut.data["memory_ids"])


@pytest.mark.parametrize(
    ("turn", "text", "reason"),
    [
        ({"parent_thread_id": "thr_0"}, "hello", "subagent"),
        ({"memory_mode": "ignored"}, "hello", "memory_mode"),
        ({"options": TurnOptions(skip_recall=True)}, "hello", "skip_recall"),
        ({}, "Don't use anything you remember about me for this.", "no_recall_requested"),
    ],
)
def test_a_turn_that_may_not_recall_has_no_standing_block(turn: dict[str, Any], text: str, reason: str) -> None:
    with pytest.raises(SkipRun) as skipped:
        standing(DictionaryMemory(*MEMORY), turn=turn, text=text)
    assert skipped.value.code == reason


def test_recall_leaves_out_what_stands_and_says_so() -> None:
    memory = DictionaryMemory(*MEMORY)
    found = recall(memory, given("what is my name is anna", recalled=Recalled(standing_ids=["mem_2"])))
    assert "mem_2" not in [item.ref.id for item in found.items]
    plan = DurablePlan(status="recall", modes=["category"], targets=["identity"])
    assert context(active(memory, plan, recalled=Recalled(standing_ids=["mem_2"]))).items == []


# -- prompt contract -----------------------------------------------------------------------------------------------


def sections(config: GatewayConfig, **members: Any) -> list[SectionContribution]:
    output = anyio.run(PromptContract(settings=lambda: config), given(phase="TurnPrePromptCompile", **members))
    return [section for section in output.contributions if isinstance(section, SectionContribution)]


def ids(config: GatewayConfig, **members: Any) -> list[str]:
    return [section.section_id for section in sections(config, **members)]


def test_sections_are_the_same_in_every_turn() -> None:
    first = sections(GatewayConfig(), text="hello there", recalled=Recalled(memory_ids=["mem_1"]))
    assert [section.section_id for section in first] == ["memory_recall", "thread_context"]
    assert first == sections(GatewayConfig(), text="something else", turn={"turn_id": "trn_2", "now": 5})
    assert all(section.stable for section in first)


def test_sections_follow_switches_and_policy() -> None:
    tools_only = GatewayConfig(
        memory=MemorySettings(deterministic_recall_enabled=False, active_recall_enabled=False),
        thread_episodic=ThreadEpisodicSettings(recall_enabled=False),
    )
    assert ids(tools_only) == ["memory_recall"]
    assert ids(tools_only, turn={"mode": "chat"}) == []
    assert ids(GatewayConfig(), turn={"memory_mode": "ignored"}) == []
    assert ids(GatewayConfig(thread_episodic=ThreadEpisodicSettings(enabled=False))) == ["memory_recall"]


# -- registration --------------------------------------------------------------------------------------------------

SWITCHES = {
    "memory.deterministic_recall": "deterministic_recall_enabled",
    "memory.active_recall": "active_recall_enabled",
    "memory.tool_bundle": "tools_enabled",
    "memory.post_turn_extractor": "background_extraction_enabled",
}


def enabled(config: GatewayConfig) -> set[str]:
    subscriptions, _ = build(DictionaryMemory(), lambda: config, NoModel())
    return {subscription.hook_id for subscription in subscriptions if subscription.enabled()}


def test_each_switch_takes_away_its_hook() -> None:
    everything = {"memory.policy", "memory.standing", "memory.prompt_contract", *SWITCHES}
    assert enabled(GatewayConfig()) == everything
    for hook_id, switch in SWITCHES.items():
        config = GatewayConfig(memory=msgspec.structs.replace(MemorySettings(), **{switch: False}))
        assert enabled(config) == everything - {hook_id}
    assert enabled(GatewayConfig(memory=MemorySettings(standing_chars=0))) == everything - {"memory.standing"}


def test_the_policy_is_waited_for_on_a_busy_machine() -> None:
    subscriptions, _ = build(DictionaryMemory(), GatewayConfig, NoModel())
    waits = {subscription.hook_id: subscription.timeout_ms for subscription in subscriptions}
    assert waits["memory.policy"] == POLICY_TIMEOUT_MS >= 10 * DEFAULT_TIMEOUT_MS  # without it a turn learns nothing


def test_prompt_contract_goes_with_the_last_switch() -> None:
    all_off = msgspec.structs.replace(MemorySettings(standing_chars=0), **dict.fromkeys(SWITCHES.values(), False))
    silent = ThreadEpisodicSettings(recall_enabled=False)
    assert enabled(GatewayConfig(memory=all_off, thread_episodic=silent)) == {"memory.policy"}
    assert enabled(GatewayConfig(memory=all_off)) == {"memory.policy", "memory.prompt_contract"}


def test_memory_off_is_no_hook() -> None:
    assert enabled(GatewayConfig(memory=MemorySettings(enabled=False))) == set()


def test_hooks_stand_in_their_phases_with_their_deadlines() -> None:
    subscriptions, tools = build(DictionaryMemory(), GatewayConfig, NoModel())
    assert list(tools) == ["memory_search", "memory_list", "memory_get", "memory_remember", "memory_forget"]
    by_id = {subscription.hook_id: subscription for subscription in subscriptions}
    assert list(dict.fromkeys(subscription.phase for subscription in subscriptions)) == list(ALLOWED)
    assert by_id["memory.deterministic_recall"].after == ("memory.standing",)
    longest = RecallDeadlines(turn=60_000)
    assert by_id["memory.deterministic_recall"].timeout_ms > longest.turn, "its own deadline comes first"
    assert by_id["memory.active_recall"].timeout_ms == 800
    extractor = by_id["memory.post_turn_extractor"]
    assert (extractor.await_policy, extractor.timeout_ms, extractor.retry.attempts) == ("background", 60_000, 3)
    assert all(s.failure_policy == "best_effort" for s in subscriptions)


def test_hooks_give_only_what_their_phase_allows() -> None:
    memory = DictionaryMemory(*MEMORY)
    subscriptions, _ = build(memory, GatewayConfig, NoModel())
    plan = RecallPlan(durable=DurablePlan(status="recall", modes=["category"], targets=["identity"]))
    for subscription in subscriptions[:6]:
        output = anyio.run(subscription.call, given(phase=subscription.phase, plan=plan, provider_calls_tools=True))
        assert output.contributions
        assert all(isinstance(c, ALLOWED[subscription.phase]) for c in output.contributions)


# -- the local plan ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "tools"),
    [
        ("What do you know about me?", ["memory_search", "memory_list"]),
        ("Remember that I like tea.", ["memory_remember"]),
        ("Forget that I like tea.", ["memory_search", "memory_forget"]),
        ("Forget that I like tea. Remember that I like mate.", ["memory_remember", "memory_search", "memory_forget"]),
        ("Write a haiku.", []),
        ("Что ты знаешь обо мне?", ["memory_search", "memory_list"]),
    ],
)
def test_plan_reveals_the_tools_that_the_message_needs(text: str, tools: list[str]) -> None:
    plan, visible = propose_durable(text, turn_context())
    assert visible == tools
    asks = detect(text).asks_memory
    assert plan == (
        DurablePlan(status="recall", modes=["category"], targets=list(ABOUT_THE_USER)) if asks else DurablePlan()
    )
    assert propose_durable(text, turn_context(mode="chat")) == (DurablePlan(), [])
    assert propose_durable(text, turn_context(memory_mode="ignored")) == (DurablePlan(), [])


def test_question_about_oneself_is_answered_from_the_categories() -> None:
    plan, _ = propose_durable("What do you know about me?", turn_context())
    found = context(active(DictionaryMemory(*MEMORY), plan))
    assert {item.ref.id for item in found.items} == {"mem_1", "mem_2"}


def test_second_implementation_keeps_what_it_is_told() -> None:
    memory = DictionaryMemory()
    result = anyio.run(lambda: memory.remember_in_turn(turn_context(), RememberParams(content="x"), explicit=True))
    assert result.record is not None
    assert result.record.scope == USER
