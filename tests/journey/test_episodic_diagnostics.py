"""Why a search of the conversation finds nothing, or not all: each reason over the wire, and in a turn's manifest."""

from typing import Any, NamedTuple

from spawned import Den, drain, journey, refusal
from tiny_model import make_tiny_model

AT = 1_700_000_000_000
VALVE = "We chose the brass valve for the boiler."
LONG = "\n\n".join(f"Paragraph {n} tells of the harbour crane. " + "It lifts crates of tea. " * 25 for n in range(8))
ASKED = "Which valve did we choose for the boiler?"


async def say(client: Any, name: str, *texts: str) -> None:
    turns = [
        {"turn_id": f"trn_{name}_{n}", "at": AT + n, "items": [{"role": "user", "text": text}]}
        for n, text in enumerate(texts)
    ]
    await client.request(
        "thread/import",
        {"workspace_id": "ws_here", "thread_id": f"thr_{name}", "source": {"kind": "j", "id": name}, "turns": turns},
    )


async def change(client: Any, **settings: Any) -> None:
    await client.request("settings/update", {"update": {"thread_episodic": settings}})


class Reason(NamedTuple):
    """A way to find nothing, or not all: what is set, said and asked, and what is told."""

    asked: dict[str, Any]
    status: str
    codes: set[str]
    texts: set[str] = set()
    settings: dict[str, Any] = {}
    said: str | None = None


REASONS = {
    "found": Reason({"query": "brass valve"}, "completed", set(), {VALVE}),
    "disabled": Reason({"query": "brass valve"}, "skipped", {"disabled"}, settings={"enabled": False}),
    "vague": Reason({"query": "what was it that we did"}, "skipped", {"query_too_vague"}),
    "nothing": Reason({"query": "platypus"}, "empty", {"no_match"}),
    "another time": Reason({"query": "brass valve", "to_at": AT - 1}, "empty", {"no_match"}),
    "another role": Reason({"query": "brass valve", "roles": ["assistant"]}, "empty", {"no_match"}),
    "another thread": Reason({"query": "brass valve", "thread_id": "thr_other"}, "empty", {"no_match"}),
    "this thread": Reason(
        {"query": "brass valve", "thread_id": "thr_a", "mode": "related_threads"}, "empty", {"no_match"}
    ),
    "in the history": Reason({"query": "brass valve", "exclude_turn_ids": ["trn_a_0"]}, "empty", {"no_match"}),
    "the caller's floor": Reason({"query": "valve piston", "min_score": 0.99}, "empty", {"below_floor"}),
    "the settings' floor": Reason(
        {"query": "valve piston crankshaft manifold"},
        "empty",
        {"below_floor"},
        settings={"min_results": 0, "min_relevancy": 0.9},
    ),
    "no room": Reason({"query": "brass valve", "max_prompt_chars": 10}, "empty", {"budget_too_small"}),
    "not indexed yet": Reason(
        {"query": "walnut cake"},
        "partial",
        {"index_pending", "no_match"},
        settings={"indexing_enabled": False},
        said="A walnut cake for Sunday.",
    ),
    "too long": Reason(
        {"query": "okapi"},
        "empty",
        {"no_match", "partial_item"},
        settings={"max_chunks_per_item": 2},
        said=LONG + "The okapi is at the end.",
    ),
}


@journey
async def test_each_reason_is_told(tmp_path: Any) -> None:
    den = Den(tmp_path)
    async with den.client() as client:
        await say(client, "a", VALVE)
        await say(client, "other", "We painted the fence.")
        await drain(client)
        for name, reason in REASONS.items():
            await change(client, **reason.settings)
            if reason.said is not None:
                await say(client, f"of_{len(reason.said)}", reason.said)
                await drain(client)
            answer = await client.request("thread_episodic/search", {"workspace_id": "ws_here", **reason.asked})
            codes = {one["code"] for one in answer["diagnostics"]} - {"semantic_off"}
            found = {hit["text"] for hit in answer["hits"]}
            assert (name, answer["status"], codes, found) == (name, reason.status, reason.codes, reason.texts)
            await change(client, **dict.fromkeys(reason.settings))
            await drain(client)
        status = await client.request("thread_episodic/status", {"workspace_id": "ws_here"})
        assert status["chunks"]["partial"] == 1
        (part,) = status["partial_items"]
        assert part["to_char"] == len(LONG + "The okapi is at the end.")
        assert part["from_char"] < part["to_char"]


@journey
async def test_a_search_without_a_model_says_so_and_a_mode_needs_its_thread(tmp_path: Any) -> None:
    async with Den(tmp_path).client() as client:
        answer = await client.request("thread_episodic/search", {"workspace_id": "ws_here", "query": "valve"})
        assert [one["code"] for one in answer["diagnostics"]] in (["no_match"], ["no_match", "semantic_off"])
        for mode in ("current_thread", "related_threads"):
            asked = {"workspace_id": "ws_here", "query": "valve", "mode": mode}
            assert (await refusal(client, "thread_episodic/search", asked)).code == -32602


@journey
async def test_partitions_that_were_not_compared_are_told(tmp_path: Any) -> None:
    small = "[gateway.thread_episodic]\nsegment_capacity_chunks = 16\nnear_capacity_percent = 50.0\nmax_segments = 1\n"
    model = make_tiny_model(tmp_path / "model")
    async with Den(tmp_path / "den", model=model, config=small).client() as client:
        await say(client, "a", *(f"The brass valve number {n} is in the box." for n in range(20)))
        await drain(client)
        asked = {"workspace_id": "ws_here", "query": "brass valve"}
        answer = await client.request("thread_episodic/search", asked)
        assert [one["code"] for one in answer["diagnostics"]] == ["segments_limited"]
        assert len(answer["hits"]) == 20
        await change(client, max_segments=16)
        assert (await client.request("thread_episodic/search", asked))["diagnostics"] == []


@journey
async def test_what_is_too_long_for_the_room_is_skipped_and_neighbours_are_one_hit(tmp_path: Any) -> None:
    async with Den(tmp_path).client() as client:
        await say(client, "long", "Copper kettle copper kettle " + "and so on " * 30)
        await say(client, "short", "A copper kettle.")
        await say(client, "crane", LONG.replace("crane", "zeppelin", 3))
        await drain(client)
        asked = {"workspace_id": "ws_here", "query": "copper kettle", "max_prompt_chars": 50}
        answer = await client.request("thread_episodic/search", asked)
        assert [hit["text"] for hit in answer["hits"]] == ["A copper kettle."]
        assert "budget_too_small" in {one["code"] for one in answer["diagnostics"]}
        asked = {"workspace_id": "ws_here", "query": "zeppelin", "max_prompt_chars": 12_000}
        await change(client, max_hit_chars=5000)
        (joined,) = (await client.request("thread_episodic/search", asked))["hits"]
        await change(client, max_hit_chars=400)
        apart = (await client.request("thread_episodic/search", asked))["hits"]
        assert len(apart) > 1
        assert len(joined["text"]) == sum(len(hit["text"]) for hit in apart)
        assert joined["text"] in LONG.replace("crane", "zeppelin", 3)


@journey
async def test_the_manifest_of_a_turn_says_why(tmp_path: Any) -> None:
    rows: tuple[tuple[dict[str, Any], str, str, str], ...] = (
        ({}, "Which platypus did we choose?", "empty", "no_match"),
        ({}, ASKED, "recalled", "matched"),
        ({"default_prompt_chars": 100}, "Which one valve did we choose for the boiler?", "partial", "budget_too_small"),
        ({"min_relevancy": 1.0}, "Which two valves fit the boiler?", "empty", "below_floor"),
        ({"indexing_enabled": False}, "Which walnut cake is there for Sunday?", "empty", "index_pending"),
    )
    async with Den(tmp_path).client() as client:
        await say(client, "a", VALVE)
        await drain(client)
        for settings, text, status, reason in rows:
            await change(client, **settings)
            if reason == "index_pending":
                await say(client, "b", "A walnut cake for Sunday, that is what we want.")
            thread_id = (await client.request("thread/start", {}))["thread"]["thread_id"]
            said = [{"type": "text", "text": text}]
            turn = (await client.request("turn/prepare", {"thread_id": thread_id, "input": said}))["turn"]
            recall = turn["prompt_manifest"]["recall"]
            assert (recall["status"], recall["reason"]) == (status, reason)
            assert bool(recall["chunk_ids"]) == (status == "recalled")
            await client.request("turn/cancel", {"turn_id": turn["turn_id"]})
            await change(client, **dict.fromkeys(settings))
            await drain(client)  # the next search is not to meet this turn while it is being indexed


@journey
async def test_a_date_prefers_what_was_said_then_and_hides_nothing(tmp_path: Any) -> None:
    async with Den(tmp_path).client() as client:
        await say(client, "a", VALVE)  # on 14 November 2023
        await drain(client)
        for day, is_then in ((14, True), (15, False)):
            thread_id = (await client.request("thread/start", {}))["thread"]["thread_id"]
            said = [{"type": "text", "text": f"Which valve did we choose for the boiler on {day} November 2023?"}]
            turn = (await client.request("turn/prepare", {"thread_id": thread_id, "input": said}))["turn"]
            queries = turn["prompt_manifest"]["preflight"]["plan"]["memory"]["active_recall"]["episodic"]["queries"]
            timed, anytime = queries
            assert (timed["from_at"] <= AT <= timed["to_at"]) == is_then
            assert anytime["from_at"] is None
            chunk_ids = turn["prompt_manifest"]["recall"]["chunk_ids"]
            assert any(chunk_id.startswith("thread:trn_a_0/") for chunk_id in chunk_ids)
            await client.request("turn/cancel", {"turn_id": turn["turn_id"]})


@journey
async def test_a_queue_that_is_held_says_so_and_goes_on_where_it_was(tmp_path: Any) -> None:
    async with Den(tmp_path, config="[gateway.thread_episodic]\nindexing_enabled = false\n").client() as client:
        await say(client, "a", VALVE, "We painted the fence.")
        await drain(client)  # what is held does not count
        status = await client.request("thread_episodic/status", {"workspace_id": "ws_here"})
        assert (status["jobs"]["queued"], status["chunks"]["pending"], status["chunks"]["indexed"]) == (2, 2, 0)
        assert (status["paused"]["component"], status["paused"]["reason"]) == ("thread_episodic", "indexing_disabled")
        degraded = (await client.request("gateway/status"))["degraded"]
        assert ("thread_episodic", "indexing_disabled") in {(one["component"], one["reason"]) for one in degraded}
        await change(client, indexing_enabled=True)
        await drain(client)
        status = await client.request("thread_episodic/status", {"workspace_id": "ws_here"})
        assert (status["jobs"]["done"], status["chunks"]["indexed"], status["paused"]) == (2, 2, None)
        jobs = (await client.request("thread_episodic/jobs"))["jobs"]
        assert [job["attempt_count"] for job in jobs] == [1, 1]
        answer = await client.request("thread_episodic/search", {"workspace_id": "ws_here", "query": "brass valve"})
        assert [hit["text"] for hit in answer["hits"]] == [VALVE]
