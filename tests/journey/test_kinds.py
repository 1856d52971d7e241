"""What happened and what is preferred are told apart, by a search and in a prompt."""

from typing import Any

from spawned import drain, journey, remember
from timed_den import DAY, HOUR, TimedDen

from gateway.wire.client import GatewayClient

EVENT = "We ate oysters with Tomas at the harbor festival."
TASTE = "I prefer to eat oysters with Tomas at the harbor festival."
WHEN = "What happened with Tomas and the oysters at the harbor festival last Thursday?"
WHAT = "What do I prefer to eat with Tomas at the harbor festival?"


async def recalled(client: GatewayClient, text: str) -> list[str]:
    opened = await client.request("thread/start", {})
    asked = {"thread_id": opened["thread"]["thread_id"], "input": [{"type": "text", "text": text}]}
    return (await client.request("turn/prepare", asked))["prompt_manifest"]["recall"]["memory_ids"]


async def found(client: GatewayClient, query: str, **more: Any) -> tuple[list[str], dict[str, Any]]:
    result = await client.request("memory/search", {"query": query, **more})
    return [hit["record"]["memory_id"] for hit in result["hits"]], result["route"]


@journey
async def test_19_an_event_answers_what_happened_and_a_preference_what_is_preferred(tmp_path: Any) -> None:
    den = TimedDen(tmp_path)
    async with den.client() as client:
        taste = await remember(client, TASTE, category="preference")
        event = await remember(client, EVENT, kind="episodic", valid_from=den.now - 4 * DAY)  # a Thursday
        await drain(client)
        ids, route = await found(client, WHEN)
        assert (ids, route["kind"]) == ([event, taste], "temporal")
        assert route["from_at"] <= den.now - 4 * DAY <= route["to_at"]
        ids, route = await found(client, WHAT)
        assert (ids, route) == ([taste, event], {"kind": "preference", "from_at": None, "to_at": None})
        assert (await recalled(client, WHEN))[0] == event
        assert (await recalled(client, WHAT))[0] == taste
        await client.request("memory/forget", {"target": {"kind": "id", "memory_id": event}})
        assert await recalled(client, WHEN) == []
        assert (await found(client, WHEN))[0] == [taste]
        told = await client.request("memory/explain", {"query": WHEN})
        assert [one["cut_by"] for one in told["candidates"] if one["memory_id"] == taste] == ["time"]


@journey
async def test_what_was_decided_in_the_time_asked_for_is_recalled(tmp_path: Any) -> None:
    den = TimedDen(tmp_path)
    async with den.client() as client:
        await remember(client, TASTE, category="preference")
        decided = await remember(client, "The harbor festival gets a second stage.", category="project_decision")
        await drain(client)
        den.forward(7 * DAY)
        assert decided in await recalled(client, "What did we decide last week about the harbor festival?")
        await client.request("memory/forget", {"target": {"kind": "id", "memory_id": decided}})
        assert await recalled(client, "What did we decide last week about the harbor festival?") == []


@journey
async def test_kinds_are_exact_and_ask_for_nothing_else(tmp_path: Any) -> None:
    async with TimedDen(tmp_path).client() as client:
        taste = await remember(client, TASTE, category="preference")
        await remember(client, EVENT, kind="episodic")
        assert await found(client, WHEN, kinds=["semantic"]) == (
            [taste],
            {"kind": "any", "from_at": None, "to_at": None},
        )


@journey
async def test_the_day_is_that_of_the_zone(tmp_path: Any) -> None:
    den = TimedDen(tmp_path)  # the clock says 14:13 in UTC, a quarter past four of the next day in Kiritimati
    async with den.client() as client:
        event = await remember(client, EVENT, kind="episodic", valid_from=den.now - 5 * HOUR)
        routes = [
            (await found(client, "What happened yesterday?", time_zone=zone))[1]
            for zone in ("UTC", "Pacific/Kiritimati")
        ]
        assert [route["from_at"] <= den.now - 5 * HOUR <= route["to_at"] for route in routes] == [False, True]
        assert event
