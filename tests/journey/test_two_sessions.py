"""Two clients of one process: each has its own workspace, zone, notifications and cancellations, and either ends alone."""

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from datetime import datetime
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest
from in_process import Pair, Served, two_sessions
from spawned import Den, fact, journey

from gateway.home.starting import Options
from gateway.process import running
from gateway.providers.roles import TEST_QUESTION
from gateway.wiring import App

pytestmark = pytest.mark.loop("test")

NOON = 1_700_000_000_000
SLOW = {"role": "main", "input_contains": "slow", "delay_ms": 60_000, "respond": {"text": "late"}}
QUICK = {"role": "main", "respond": {"text": "Noted."}}
LEARNT = fact(
    "The project builds with cmake",
    "Our project builds with cmake",
    "build_system",
    category="project_fact",
    subject="project",
    scope_hint="project_workspace",
)
LEARNS = {"role": "extractor", "input_contains": "cmake", "respond": {"json": {"facts": [LEARNT]}}}


@asynccontextmanager
async def stage(folder: Path, config: str = "") -> AsyncIterator[App]:
    """A gateway that runs in this process, with a scripted model."""
    den = Den(folder, scripted=True, config=config)
    den.write_script([SLOW, SLOW | {"input_contains": TEST_QUESTION}, LEARNS, QUICK])
    clock = folder / "clock"
    clock.write_text(str(NOON))
    async with running(Options(home=den.home, config=den.config, clock_file=clock, log_level="error")) as app:
        await app.pulse.look_at_all()  # what it finds is told to every client, whenever that is
        yield app


def told(text: str) -> list[dict[str, str]]:
    return [{"type": "text", "text": text}]


async def turn(pair: Pair, thread_id: str, text: str) -> str:
    """A turn in a thread of its own, with all that follows it."""
    await pair.call("thread/start", thread_id=thread_id)
    turn_id = f"turn_{thread_id}"
    await pair.call("turn/start", thread_id=thread_id, turn_id=turn_id, input=told(text))
    await pair.heard("turn/post_completed", lambda news: news["turn_id"] == turn_id)
    assert (await pair.call("gateway/drain", timeout_ms=30_000))["idle"]
    return turn_id


@journey
async def test_each_has_its_own_workspace_and_zone(tmp_path):
    async with stage(tmp_path) as app, two_sessions(app) as (one, other):
        for name, served in (("one", one), ("other", other)):
            kept = await served.pair.call(
                "memory/remember", content=f"The repository of {name} builds with make", category="project_fact"
            )
            assert kept["record"]["scope"] == {"kind": "workspace", "key": f"ws_{name}"}
            started = await served.pair.call("thread/start", thread_id=f"thread_{name}")
            assert started["thread"]["workspace_id"] == f"ws_{name}"
        for name, served in (("one", one), ("other", other)):
            found = await served.pair.call("memory/search", query="the repository builds with make")
            assert [hit["record"]["content"] for hit in found["hits"]] == [f"The repository of {name} builds with make"]
        for served, zone in ((one, "Pacific/Auckland"), (other, "America/Los_Angeles")):
            found = await served.pair.call(
                "thread_episodic/search", workspace_id="ws_one", query="what was said yesterday"
            )
            begins = datetime.fromtimestamp(found["understood"]["from_at"] / 1000, ZoneInfo(zone))
            assert (begins.hour, begins.minute) == (0, 0)
            named = await served.pair.call(
                "thread_episodic/search", workspace_id="ws_one", query="what was said yesterday", time_zone="UTC"
            )
            assert named["understood"]["from_at"] % 86_400_000 == 0
        # a thread that is there keeps its workspace, whoever opens it
        assert (await one.pair.call("thread/start", thread_id="thread_other"))["thread"]["workspace_id"] == "ws_other"


@journey
async def test_a_turn_is_told_to_its_own_client_alone_with_all_that_follows(tmp_path):
    async with stage(tmp_path) as app, two_sessions(app) as (one, other):
        before = len(other.pair.said)
        mine = await turn(one.pair, "mine", "Our project builds with cmake")
        learnt = [params for name, params in one.pair.news if name in {"memory/changed", "memory/candidate_created"}]
        assert [str(params["record"]["scope"]["key"]) for params in learnt] == ["ws_one"]
        assert {
            "turn/started",
            "item/completed",
            "turn/completed",
            "turn/post_completed",
            "thread_episodic/indexed",
        } <= {*one.pair.methods()}
        assert other.pair.said[before:] == ""
        before = len(one.pair.said)
        theirs = await turn(other.pair, "theirs", "My tuba is in the cellar")
        assert one.pair.said[before:] == ""
        for pair, own in ((one.pair, mine), (other.pair, theirs)):
            assert {params["turn_id"] for _, params in pair.news if "turn_id" in params} == {own}
            seen = [params["seq"] for _, params in pair.news if "seq" in params]
            assert seen == list(range(1, len(seen) + 1))


@journey
async def test_a_change_goes_to_those_who_see_it(tmp_path):
    async with stage(tmp_path) as app, two_sessions(app) as (one, other):
        here = await one.pair.call("memory/remember", content="This project is written in Ada", category="project_fact")
        await one.pair.call("memory/forget", target={"kind": "id", "memory_id": here["record"]["memory_id"]})
        ours = await one.pair.call("memory/remember", content="The user plays the viola", category="biography")
        assert ours["record"]["scope"]["kind"] == "user"
        await other.pair.call("ping")
        assert [params["memory_id"] for name, params in other.pair.news if name == "memory/changed"] == [
            ours["record"]["memory_id"]
        ]
        assert here["record"]["memory_id"] not in other.pair.said
        assert one.pair.methods().count("memory/changed") == 3


@journey
async def test_a_request_is_cancelled_by_its_own_client_alone(tmp_path):
    async with stage(tmp_path) as app, two_sessions(app) as (one, other):
        numbers = [served.pair.ask("provider/test", name="scripted") for served in (one, other)]
        assert numbers[0] == numbers[1]  # equal ids
        one.pair.write("$/cancelRequest", id=numbers[0])
        await one.pair.until(lambda: numbers[0] in one.pair.answers)
        assert one.pair.answers[numbers[0]]["error"]["data"]["reason"] == "cancelled"
        await other.pair.call("ping")
        assert numbers[1] not in other.pair.answers
        other.pair.write("$/cancelRequest", id=numbers[1])
        await other.pair.until(lambda: numbers[1] in other.pair.answers)


async def leave(served: Served) -> None:
    """End as a client does that says so."""
    await served.pair.call("shutdown")
    served.pair.write("exit")
    assert await served.task == 0


async def vanish(served: Served) -> None:
    """End as a client does whose process was killed."""
    served.pair.end()
    await asyncio.wait([served.task])
    assert served.task.result() == 0


@pytest.mark.parametrize("end", [leave, vanish, Served.cut], ids=["in order", "gone", "cut off"])
@journey
async def test_one_ends_and_the_other_goes_on(tmp_path, end: Callable[[Served], Awaitable[None]]):
    async with stage(tmp_path) as app, two_sessions(app) as (one, other):
        for name, served in (("one", one), ("other", other)):
            await served.pair.call("thread/start", thread_id=name)
            await served.pair.call("turn/start", thread_id=name, turn_id=f"run_{name}", input=told("be slow"))
            await served.pair.call("thread/start", thread_id=f"host_{name}")
            await served.pair.call("turn/prepare", thread_id=f"host_{name}", turn_id=f"hosted_{name}", input=told("hi"))
        before = len(other.pair.said)
        await end(one)
        assert other.pair.said[before:] == ""
        # what the first one began ended with it, and its thread is free
        states = [
            (await other.pair.call("turn/get", turn_id=turn_id))["turn"]["status"]
            for turn_id in ("run_one", "hosted_one", "run_other", "hosted_other")
        ]
        assert states == ["interrupted", "interrupted", "in_progress", "awaiting_host"]
        assert {params["turn_id"] for _, params in other.pair.news if "turn_id" in params} <= {
            "run_other",
            "hosted_other",
        }
        ended = await other.pair.call(
            "turn/finish", turn_id="hosted_other", status="succeeded", assistant_text="And so it went on."
        )
        assert ended["turn"]["status"] == "completed"
        await turn(other.pair, "later", "Is anybody there?")
        assert not any("_one" in json.dumps(params) for _, params in other.pair.news)
        third = Served(app)  # and a new client is as welcome as the first
        await third.pair.hello("ws_one")
        assert (await third.pair.call("thread/get", thread_id="one"))["thread"]["workspace_id"] == "ws_one"
        third.pair.end()
        assert await third.task == 0


@journey
async def test_a_client_that_comes_later_is_told_what_does_not_work(tmp_path):
    unknown = "\n[gateway.memory]\nno_such_key = 1\n"
    async with stage(tmp_path, config=unknown) as app, two_sessions(app) as (one, other):
        for served in (one, other):
            await served.pair.call("ping")
            assert served.pair.news[0] == ("gateway/degraded", {"component": "config", "reason": "unknown_key"})
