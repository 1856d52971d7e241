"""The recall hook: a plan becomes snippets, within budgets, never what the prompt has already."""

from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from typing import Any

import anyio
import msgspec
import pytest
from episodic_home import DAY, NOON, Home

from protocol.conversation.artifacts import ArtifactRef
from protocol.conversation.manifests import Permission, TurnPolicy
from protocol.conversation.turns import TurnOptions
from protocol.errors import Unavailable
from protocol.hooks import EpisodicPlan, EpisodicQuery, HookInput, PromptContext, RecallPlan, TurnContext
from protocol.settings import RecallDeadlines, RecallSettings
from protocol.shown import Recalled
from protocol.thread_episodic import ThreadSearchParams
from retrieval.budget import Floor
from thread_episodic.hooks import build_hooks, size_of

TURN = TurnContext(
    workspace_id="a",
    thread_id="a_1",
    turn_id="t_now",
    agent_id=None,
    task_id=None,
    parent_thread_id=None,
    mode="agent",
    memory_mode="normal",
    origin="user",
    driver="gateway",
    options=TurnOptions(),
    now=NOON,
    time_zone="Pacific/Auckland",
)
VALVE = EpisodicQuery(mode="workspace_threads", query="leaking valve")
YES = Permission(allowed=True, reason_code="default")
POLICY = TurnPolicy(recall=YES, read_tools=YES, remember=YES, forget=YES, extraction=YES)


@pytest.fixture
def home(tmp_path: Path) -> Iterator[Home]:
    home = Home(tmp_path)
    yield home
    home.close()


def given(*queries: EpisodicQuery, **more: Any) -> HookInput:
    plan = RecallPlan(episodic=EpisodicPlan(status="recall" if queries else "skip", queries=list(queries)))
    members = {
        "phase": "TurnPostPreflightPromptContext",
        "run_id": "r",
        "context": TURN,
        "policy": POLICY,
        "plan": plan,
    }
    return HookInput(**(members | more))


async def recalled(home: Home, hook_input: HookInput) -> PromptContext:
    (subscription,) = build_hooks(home.service.searching, home.config)
    (context,) = (await subscription.call(hook_input)).contributions
    assert isinstance(context, PromptContext)
    return context


async def valves(home: Home) -> None:
    home.names["a_2"] = "Boiler room"
    await home.say("i1", "Is this the valve that leaks?", at=NOON - DAY)
    await home.say("i2", "The leaking valve was mended.", thread="a_2", at=NOON - 3 * DAY)
    await home.say("i3", "The leaking valve again.", thread="a_3", at=NOON - 4 * DAY)
    await home.say("b1", "A leaking valve of others.", thread="b_1")
    await home.index()


def run(story: Callable[[], Awaitable[Any]]) -> Any:
    return anyio.run(story)


def test_the_hook_is_registered_as_the_contract_says_and_follows_the_switches(home: Home) -> None:
    (subscription,) = build_hooks(home.service.searching, home.config)
    assert (subscription.hook_id, subscription.phase) == ("thread_episodic.recall", "TurnPostPreflightPromptContext")
    assert subscription.timeout_ms == 800
    assert subscription.enabled()
    home.change(recall_enabled=False)
    assert not subscription.enabled()
    home.change(recall_enabled=True, enabled=False)
    assert not subscription.enabled()


def test_snippets_come_with_their_source_date_and_files(home: Home) -> None:
    async def story() -> None:
        await valves(home)
        home.artifacts["i1"] = [
            ArtifactRef(
                artifact_id="art_valve",
                version_id="ver_2",
                name='the "valve".jpg',
                kind="image",
                mime="image/jpeg",
                size_bytes=419_840,
                role="user",
                sha256=None,
            )
        ]
        context = await recalled(home, given(VALVE))
        assert (context.context_id, context.domain, context.status, context.reason) == (
            "thread_recall",
            "thread",
            "recalled",
            "matched",
        )
        assert (context.max_chars, context.max_item_chars) == (2400, 1200)
        by_id = {item.ref.id: item for item in context.items}
        assert set(by_id) == {"thread:t_i1/i1/chunk_0", "thread:t_i2/i2/chunk_0", "thread:t_i3/i3/chunk_0"}
        here = by_id["thread:t_i1/i1/chunk_0"]
        assert (here.ref.kind, here.text) == ("chunk", "Is this the valve that leaks?")
        assert here.labels == {"source": "current thread", "at": "2026-03-01", "boundary": "whole"}
        assert here.attachments == [
            "artifactId=art_valve, versionId=ver_2, name=\"the 'valve'.jpg\", kind=image, mime=image/jpeg, size=410 KB, role=user."
        ]
        assert by_id["thread:t_i2/i2/chunk_0"].labels["source"] == "Boiler room"
        assert by_id["thread:t_i3/i3/chunk_0"].labels["source"] == "a_3"

    run(story)


def test_what_the_prompt_has_already_is_left_out(home: Home) -> None:
    async def story() -> None:
        await valves(home)
        now = await home.say("i9", "Which leaking valve?", turn="t_now")
        await home.index()
        assert now.turn_id == TURN.turn_id
        context = await recalled(
            home,
            given(VALVE, VALVE, history_turn_ids=["t_i1"], recalled=Recalled(chunk_ids=["thread:t_i2/i2/chunk_0"])),
        )
        assert [item.ref.id for item in context.items] == ["thread:t_i3/i3/chunk_0"]

    run(story)


def test_a_weak_hit_is_not_injected(home: Home) -> None:
    async def story() -> None:
        await valves(home)
        weak = EpisodicQuery(mode="workspace_threads", query="valve turbine compressor manifold piston crankshaft")
        context = await recalled(home, given(weak))
        assert (context.items, context.status, context.reason) == ([], "empty", "below_floor")

    run(story)


@pytest.mark.parametrize("timed", ["leaking valve cellar size", ""], ids=["words", "all of the time"])
def test_a_time_that_was_guessed_wrong_does_not_hide_a_better_hit(home: Home, timed: str) -> None:
    async def story() -> None:
        for n in range(20):
            talk = f"The valve number {n} is leaking, says the shop of the cellar. " + f"It is of brass {n}. " * 12
            await home.say(f"w{n}", talk, at=NOON - DAY + n)
        await home.say(
            "best",
            "The leaking valve in the cellar: its size is 22 mm. " + "So it was written. " * 15,
            thread="a_2",
            at=NOON - 40 * DAY,
        )
        await home.index()
        day = {"from_at": NOON - 2 * DAY, "to_at": NOON, "mode": "workspace_threads"}
        anytime = EpisodicQuery(mode="workspace_threads", query="leaking valve cellar size yesterday")
        context = await recalled(home, given(EpisodicQuery(query=timed, **day), anytime))
        ids = [item.ref.id for item in context.items]
        assert "thread:t_best/best/chunk_0" in ids
        assert ids[0].startswith("thread:t_w")  # the named time comes first
        assert len(ids) > 3
        assert sum(len(item.text) for item in context.items) <= home.settings.default_prompt_chars

    run(story)


def test_the_named_time_comes_first_and_a_query_without_words_takes_all_of_it(home: Home) -> None:
    async def story() -> None:
        await valves(home)
        await home.say("i5", "Lunch was soup.", at=NOON - 3 * DAY)
        await home.index()
        day = {"from_at": NOON - 3 * DAY - 1, "to_at": NOON - 3 * DAY + 1, "mode": "workspace_threads"}
        context = await recalled(home, given(EpisodicQuery(query="leaking valve", **day), VALVE))
        assert context.items[0].ref.id == "thread:t_i2/i2/chunk_0"
        assert len(context.items) == 3
        context = await recalled(
            home, given(EpisodicQuery(query="what did we say", **day), EpisodicQuery(query="", **day))
        )
        assert {item.ref.id for item in context.items} == {"thread:t_i2/i2/chunk_0", "thread:t_i5/i5/chunk_0"}

    run(story)


def test_snippets_together_stay_within_the_room(home: Home) -> None:
    async def story() -> None:
        for n in range(12):
            await home.say(
                f"i{n}", f"Leaking valve number {n}. " + "It drips and drips all day. " * 20, thread=f"a_{n}"
            )
        await home.index()
        home.change(default_prompt_chars=800, snippet_chars=200)
        context = await recalled(home, given(VALVE, VALVE))
        assert 2 < len(context.items) <= 6
        assert sum(len(item.text) for item in context.items) <= 800
        assert all(len(item.text) <= 200 and item.labels["boundary"] == "snippet" for item in context.items)
        bounded = EpisodicQuery(mode="workspace_threads", query="leaking valve", max_chars=210)
        assert len((await recalled(home, given(bounded))).items) == 1

    run(story)


@pytest.mark.parametrize(
    ("change", "status", "reason"),
    [
        ({"plan": None}, "skipped", "not_planned"),
        (
            {"plan": RecallPlan(), "context": msgspec.structs.replace(TURN, parent_thread_id="a_0")},
            "skipped",
            "not_planned",
        ),
        ({"plan": RecallPlan(), "text": "Write a haiku about rain."}, "empty", "no_match"),
        (
            {"policy": msgspec.structs.replace(POLICY, recall=Permission(allowed=False, reason_code="skip_recall"))},
            "skipped",
            "skip_recall",
        ),
        (
            {"policy": None, "text": "Answer without using my history, please: what leaks?"},
            "skipped",
            "no_recall_requested",
        ),
    ],
)
def test_no_recall_and_why(home: Home, change: dict[str, Any], status: str, reason: str) -> None:
    async def story() -> None:
        await valves(home)
        context = await recalled(home, given(VALVE, **change))
        assert (context.items, context.status, context.reason) == ([], status, reason)

    run(story)


def test_where_the_policy_failed_recall_goes_on(home: Home) -> None:
    async def story() -> None:
        await valves(home)
        assert (await recalled(home, given(VALVE, policy=None, text="What leaks?"))).status == "recalled"

    run(story)


def test_what_the_index_has_to_say_is_the_reason(home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    async def story() -> None:
        context = await recalled(home, given(VALVE))
        assert (context.status, context.reason) == ("empty", "no_match")
        await home.say("i1", "The leaking valve.")
        context = await recalled(home, given(VALVE))
        assert (context.status, context.reason) == ("empty", "index_pending")
        await home.index()
        await home.say("i2", "Not indexed yet.")
        context = await recalled(home, given(VALVE))
        assert (len(context.items), context.status, context.reason) == (1, "partial", "index_pending")
        context = await recalled(home, given(EpisodicQuery(mode="workspace_threads", query="what was it")))
        assert (context.status, context.reason) == ("skipped", "query_too_vague")

        async def too_long(*_: Any) -> None:
            raise Unavailable

        monkeypatch.setattr(home.db, "read", too_long)
        context = await recalled(home, given(VALVE))
        assert (context.status, context.reason) == ("failed", "unavailable")

    run(story)


@pytest.mark.parametrize(
    ("size", "text"),
    [(0, "0 bytes"), (1023, "1023 bytes"), (419_840, "410 KB"), (5_500_000, "5.2 MB"), (3 * 2**40, "3072.0 GB")],
)
def test_sizes_are_told_as_people_read_them(size: int, text: str) -> None:
    assert size_of(size) == text


def test_a_plain_question_that_was_asked_before_brings_its_answer_and_not_itself(home: Home) -> None:
    async def story() -> None:
        await home.say("q1", "Where is the leaking valve?", thread="a_2", at=NOON - DAY)
        await home.say("r1", "Behind the boiler.", thread="a_2", at=NOON - DAY + 1000, role="assistant")
        await home.index()
        shown = await recalled(home, given(text="Where is the leaking valve?"))
        assert [item.text for item in shown.items] == ["Behind the boiler."]

    run(story)


def test_a_plain_question_is_shown_what_answers_it_and_no_weak_hit(home: Home) -> None:
    async def story() -> None:
        await valves(home)
        plain = given(text="Where is the leaking valve?")
        assert {item.ref.id for item in (await recalled(home, plain)).items} >= {"thread:t_i2/i2/chunk_0"}
        weak = given(text="Which valve turbine compressor manifold piston crankshaft is best?")
        context = await recalled(home, weak)
        assert (context.items, context.status, context.reason) == ([], "empty", "below_floor")

    run(story)


def test_who_clearly_asks_is_shown_the_best_there_is_as_the_setting_says(home: Home) -> None:
    async def story() -> None:
        await valves(home)
        weak = EpisodicQuery(mode="workspace_threads", query="valve turbine compressor manifold piston crankshaft")
        home.change(min_relevancy=0.9)
        asked = given(plan=RecallPlan(episodic=EpisodicPlan(status="recall", queries=[weak], is_asked=True)))
        assert len((await recalled(home, asked)).items) == 1
        home.change(min_results=0)
        assert (await recalled(home, asked)).items == []

    run(story)


def test_what_a_fact_in_the_prompt_says_is_not_said_twice(home: Home) -> None:
    async def story() -> None:
        await valves(home)
        told = given(VALVE, recalled=Recalled(facts=["The leaking valve was mended by the plumber."]))
        shown = [item.ref.id for item in (await recalled(home, told)).items]
        assert "thread:t_i2/i2/chunk_0" not in shown
        assert "thread:t_i1/i1/chunk_0" in shown

    run(story)


def test_a_thread_that_is_named_is_looked_into_first(home: Home) -> None:
    async def story() -> None:
        home.names["a_2"] = "Boiler room"
        await home.say("i1", "The pump in the cellar is a Grundfos.", thread="a_2", at=NOON - 9 * DAY)
        await home.say("i2", "We talked of the boiler and of a room.", thread="a_3", at=NOON - DAY)
        await home.index()
        asked = EpisodicQuery(mode="workspace_threads", query="boiler room")
        plan = RecallPlan(episodic=EpisodicPlan(status="recall", queries=[asked], is_asked=True))
        assert (await recalled(home, given(plan=plan))).items[0].ref.id == "thread:t_i1/i1/chunk_0"

    run(story)


def test_the_newest_that_sounds_like_a_decision_comes_before_what_is_newer(home: Home) -> None:
    async def story() -> None:
        await home.say("i1", "We agreed on copper pipes.", at=NOON - 3 * DAY)
        await home.say("i2", "It is decided: the bath comes first.", thread="a_2", at=NOON - 2 * DAY)
        await home.say("i3", "What did we decide?", thread="a_2", at=NOON - DAY)
        await home.say("i4", "The weather is fine.", thread="a_3", at=NOON - DAY)
        await home.index()
        newest = EpisodicQuery(mode="workspace_threads", query="decided agreed", newest=True)
        shown = [item.ref.id.split("/")[1] for item in (await recalled(home, given(newest))).items]
        assert shown[:2] == ["i2", "i1"]

    run(story)


@pytest.mark.parametrize(("served", "status"), [(1, "partial"), (0, "failed")])
def test_at_its_deadline_the_hook_gives_what_is_there(
    home: Home, monkeypatch: pytest.MonkeyPatch, served: int, status: str
) -> None:
    async def story() -> None:
        await valves(home)
        search, calls = home.service.searching.recall, iter(range(served))
        patience = anyio.CancelScope()
        waited: list[float] = []

        def move_on_after(seconds: float) -> anyio.CancelScope:
            waited.append(seconds)
            return patience

        async def late(*args: Any, **more: Any) -> Any:
            if next(calls, None) is None:
                patience.cancel()  # the deadline, in the middle of a search
                await anyio.sleep_forever()
            return await search(*args, **more)

        monkeypatch.setattr(home.service.searching, "recall", late)
        monkeypatch.setattr("thread_episodic.hooks.anyio.move_on_after", move_on_after)
        context = await recalled(home, given(VALVE, VALVE))
        assert (context.status, context.reason, bool(context.items)) == (status, "deadline", bool(served))
        assert waited == [0.75], "the hook has 800 ms, whatever the setting says"

    run(story)


def test_the_hook_waits_as_long_as_the_setting_says(home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    async def story() -> None:
        await valves(home)
        waited: list[float] = []
        wait = anyio.move_on_after

        def move_on_after(seconds: float) -> anyio.CancelScope:
            waited.append(seconds)
            return wait(None)

        monkeypatch.setattr("thread_episodic.hooks.anyio.move_on_after", move_on_after)
        recall = RecallSettings(deadline_ms=RecallDeadlines(hook=40))
        (subscription,) = build_hooks(
            home.service.searching, lambda: msgspec.structs.replace(home.config(), recall=recall)
        )
        await subscription.call(given(VALVE))
        assert waited == [0.04]

    run(story)


async def _talk(home: Home, *, name: str | None = None) -> None:
    """A question, an answer without a word of it, and what was said long after both."""
    await home.say("q1", "Which leaking valve did the plumber replace?", thread="a_2", at=NOON - DAY, name=name)
    reply = name and "Olga"
    await home.say("r1", "That one under the sink.", thread="a_2", at=NOON - DAY + 1000, role="assistant", name=reply)
    await home.say("u2", "Fine.", thread="a_2", at=NOON - DAY + 2000, name=name)
    await home.index()


def test_a_question_is_shown_with_its_answer_and_no_more(home: Home) -> None:
    async def story() -> None:
        await _talk(home)
        context = await recalled(home, given(VALVE))
        assert [item.text for item in context.items] == [
            "Which leaking valve did the plumber replace?",
            "That one under the sink.",
        ]
        seen = await recalled(home, given(VALVE, history_turn_ids=["t_r1"]))
        assert [item.ref.id for item in seen.items] == ["thread:t_q1/q1/chunk_0"]
        found = await home.service.searching.search(ThreadSearchParams(workspace_id="a", query=VALVE.query))
        assert [hit.item_id for hit in found.hits] == ["q1"], "a search lists what fits, each by itself"

    run(story)


def test_an_answer_is_shown_once_and_only_where_it_follows(home: Home) -> None:
    async def story() -> None:
        await home.say("q1", "Which leaking valve was it?", thread="a_2", at=NOON - DAY)
        await home.say("r1", "The leaking valve of the boiler.", thread="a_2", at=NOON - DAY + 1000, role="assistant")
        await home.say("q2", "Another leaking valve?", thread="a_2", at=NOON - 20 * DAY)
        await home.index()
        context = await recalled(home, given(VALVE))
        ids = [item.ref.id for item in context.items]
        assert sorted(ids) == [f"thread:t_{one}/{one}/chunk_0" for one in ("q1", "q2", "r1")]

    run(story)


def test_what_people_with_names_say_is_ranked_by_what_was_said_beside_it_and_brings_nothing_along(home: Home) -> None:
    async def story() -> None:
        await _talk(home, name="Ira")
        found = await home.service.searching.search(ThreadSearchParams(workspace_id="a", query=VALVE.query))
        context = await recalled(home, given(VALVE))
        assert [item.ref.id for item in context.items] == [hit.chunk_id for hit in found.hits]

    run(story)


def test_the_floor_of_an_unasked_search_is_lower_where_it_has_a_vector() -> None:
    floor = Floor(0.4, 1, 0.3)
    assert floor.in_force(has_meaning=False) == (0.4, 1, None)
    assert floor.in_force(has_meaning=True) == (0.3, 1, None)
    assert Floor(0.2, 0).in_force(has_meaning=True) == (0.2, 0, None)
