"""Durable memory as the contract has it, seen from outside: what an acceptance tester would try, and what once went
wrong."""

import pytest
from spawned import Den, every, journey, refusal, remember, take_turn
from timed_den import START, TimedDen

from memory.read.explain import MAX_DECISIONS

USER = {"kind": "user", "key": "default"}
HERE = {"kind": "workspace", "key": "ws_here"}


async def wish(client, content, **more):
    """The whole answer to a wish."""
    return await client.request("memory/remember", {"content": content, **more})


async def forget(client, memory_id, **more):
    return await client.request("memory/forget", {"target": {"kind": "id", "memory_id": memory_id}, **more})


async def all_pages(client, method, member, limit, meanwhile, **params):
    """The items of every page, with something done between the pages."""
    found, cursor = [], None
    while True:
        page = await client.request(method, {**params, "limit": limit, **({"cursor": cursor} if cursor else {})})
        found += page[member]
        cursor = page["next_cursor"]
        if cursor is None:
            return found
        await meanwhile(len(found))


async def nothing(_):
    """Nothing is done between the pages."""


# -- identity --------------------------------------------------------------------------------------------------------


@journey
async def test_two_contents_with_one_value_are_two_facts_while_nobody_named_an_attribute(tmp_path):
    async with Den(tmp_path).client() as client:
        for value in (5, False, "", "blue", [1], {"a": 1}):
            await remember(client, f"The cat of {value!r} has it.", value=value)
            other = await wish(client, f"A dog with {value!r} ran off.", value=value)
            assert (other["relation"], other["created"]) == ("novel", True), value
        assert len(await every(client, "memory/list", "records")) == 12
        assert (await wish(client, "!!!"))["created"]
        assert (await wish(client, "???"))["created"]


@journey
async def test_what_was_kept_is_found_at_once_whatever_else_says_the_same_words(tmp_path):
    async with Den(tmp_path).client() as client:
        kept = []
        for more in (
            {"value": 1, "key": "port a"},
            {"value": 2, "key": "port b"},
            {"value": 3},
            {"value": 4},
            {"key": "port c"},
        ):
            made = await wish(client, "The port of the server", **more)
            assert made["created"]
            kept.append(made["record"]["memory_id"])
            for limit in (1, 20):
                hits = await all_pages(client, "memory/search", "hits", limit, nothing, query="server port")
                assert sorted(hit["record"]["memory_id"] for hit in hits) == sorted(kept)
        elsewhere = await wish(client, "the  PORT of the server", value=4, scope=HERE)
        hits = (await client.request("memory/search", {"query": "server port"}))["hits"]
        shown = {hit["record"]["memory_id"] for hit in hits}
        assert len(shown) == 5
        assert len(shown & {kept[3], elsewhere["record"]["memory_id"]}) == 1


@journey
async def test_a_value_is_what_it_was_changed_to_and_another_one_is_news(tmp_path):
    async with Den(tmp_path).client() as client:
        berlin = {"content": "Home city of the user", "key": "city", "value": "Berlin"}
        memory_id = await remember(client, **berlin)
        await client.request("memory/update", {"memory_id": memory_id, "value": "Paris"})
        again = await wish(client, **berlin)
        assert (again["created"], again["record"]["value"], again["superseded_memory_id"]) == (
            True,
            "Berlin",
            memory_id,
        )
        (hit,) = (await client.request("memory/search", {"query": "home city"}))["hits"]
        assert hit["record"]["value"] == "Berlin"
        corrected = {"memory_id": again["record"]["memory_id"], "content": "Where the user lives"}
        record = (await client.request("memory/update", corrected))["record"]
        assert (record["content"], record["value"]) == ("Where the user lives", "Berlin")
        ports = [await remember(client, "The port", value=n) for n in (1, 2)]
        refused = await refusal(client, "memory/update", {"memory_id": ports[0], "value": 2})
        assert (refused.code, refused.reason) == (-32045, "conflict")


@journey
async def test_nothing_is_restored_into_a_workspace_that_is_gone(tmp_path):
    async with Den(tmp_path).client() as client:
        await client.request("workspace/create", {"workspace_id": "ws_gone"})
        there = {"context": {"workspace_id": "ws_gone"}}
        scope = {"kind": "workspace", "key": "ws_gone"}
        memory_id = await remember(client, "The build runs on Mondays.", scope=scope, **there)
        await forget(client, memory_id, **there)
        await client.request("workspace/delete", {"workspace_id": "ws_gone"})
        refused = await refusal(client, "memory/restore", {"memory_id": memory_id, **there})
        assert (refused.code, refused.reason) == (-32044, "not_found")
        await client.request("workspace/create", {"workspace_id": "ws_gone"})
        assert await every(client, "memory/list", "records", **there) == []


@journey
async def test_vowel_signs_and_tones_tell_keys_apart(tmp_path):
    async with Den(tmp_path).client() as client:
        for one, other in (("कि", "की"), ("ที่", "ทั่")):
            first = await wish(client, f"This is {one}.", key=one)
            second = await wish(client, f"That is {other}.", key=other)
            assert (second["relation"], second["superseded_memory_id"]) == ("novel", None)
            found = await client.request("memory/get", {"scope": USER, "key": one})
            assert found["record"]["memory_id"] == first["record"]["memory_id"]
        assert (await wish(client, "A heart.", key="a ❤️ b"))["record"]["key"].endswith(":a_b")


@journey
async def test_a_canonical_key_corrects_and_the_callers_own_name_still_finds_it(tmp_path):
    async with Den(tmp_path).client() as client:
        first = await wish(client, "The diet is vegan.", key="My Diet")
        second = await wish(client, "The diet is keto.", key=first["record"]["key"])
        assert second["superseded_memory_id"] == first["record"]["memory_id"]
        found = await client.request("memory/get", {"scope": USER, "key": "my diet"})
        assert found["record"]["content"] == "The diet is keto."
        third = await wish(client, "The diet is paleo.", key="my diet", category="preference")
        assert third["superseded_memory_id"] == second["record"]["memory_id"]
        assert [r["content"] for r in await every(client, "memory/list", "records")] == ["The diet is paleo."]


@journey
async def test_supersession_never_crosses_a_scope(tmp_path):
    async with Den(tmp_path).client() as client:
        here = await remember(client, "The build runs on Mondays.", scope=HERE)
        asked = {"content": "The build runs on Fridays.", "supersedes": here}
        refused = await refusal(client, "memory/remember", {**asked, "scope": USER})
        assert (refused.code, refused.reason) == (-32045, "conflict")
        corrected = await client.request("memory/remember", asked)
        assert (corrected["record"]["scope"], corrected["superseded_memory_id"]) == (HERE, here)


@journey
async def test_control_and_bidi_characters_are_in_no_text_that_is_kept(tmp_path):
    async with Den(tmp_path).client() as client:
        made = await wish(client, "Plain\u202e words\x07.", tags=["t\u202eag"], value={"a\u2066": ["v\u202e\x07\n"]})
        record = made["record"]
        assert (record["content"], record["tags"], record["value"]) == ("Plain words.", ["tag"], {"a": ["v\n"]})
        changed = {"memory_id": record["memory_id"], "tags": ["n\u202eew"], "value": "\u2067w"}
        updated = (await client.request("memory/update", changed))["record"]
        assert (updated["tags"], updated["value"]) == (["new"], "w")


@journey
async def test_what_an_update_adds_can_make_a_record_regulated(tmp_path):
    async with Den(tmp_path).client() as client:
        memory_id = await remember(client, "There is a thing about me.")
        changed = await client.request("memory/update", {"memory_id": memory_id, "value": "diabetes"})
        assert changed["record"]["sensitivity"] == "regulated"
        assert await every(client, "memory/list", "records") == []


# -- pages -----------------------------------------------------------------------------------------------------------


@journey
@pytest.mark.parametrize("limit", [1, 3])
async def test_pages_hold_every_item_once_while_others_are_written(tmp_path, limit):
    async with Den(tmp_path).client() as client:
        ids = [await remember(client, f"Turnips, row {n}.", importance=n % 3 / 2) for n in range(12)]

        async def write(n):
            await remember(client, f"More turnips, row {n} of {len(client.received)} news", importance=0.5)

        hits = await all_pages(client, "memory/search", "hits", limit, write, query="turnips row")
        found = [hit["record"]["memory_id"] for hit in hits]
        assert (len(found), sorted(found)) == (12, sorted(ids))
        known = {r["memory_id"] for r in await every(client, "memory/list", "records")}
        for order in ("updated_at", "created_at", "importance"):
            records = await all_pages(client, "memory/list", "records", limit * 4, write, order=order)
            listed = [record["memory_id"] for record in records]
            assert len(set(listed)) == len(listed)
            assert set(listed) >= known


@journey
async def test_what_is_forgotten_between_two_pages_is_not_shown_and_hides_nothing_else(tmp_path):
    async with Den(tmp_path).client() as client:
        ids = [await remember(client, f"Turnips, row {n}.") for n in range(9)]
        first = await client.request("memory/search", {"query": "turnips", "limit": 3})
        seen = [hit["record"]["memory_id"] for hit in first["hits"]]
        gone = [seen[0], next(one for one in ids if one not in seen)]
        for memory_id in gone:
            await forget(client, memory_id)
        rest = await client.request("memory/search", {"query": "turnips", "limit": 100, "cursor": first["next_cursor"]})
        assert {hit["record"]["memory_id"] for hit in rest["hits"]} == set(ids) - set(seen) - set(gone)


@journey
async def test_a_cursor_belongs_to_the_question_that_gave_it(tmp_path):
    async with Den(tmp_path).client() as client:
        for n in range(4):
            await remember(client, f"Turnips, row {n}.", tags=["a"])
        listed = (await client.request("memory/list", {"limit": 2}))["next_cursor"]
        found = (await client.request("memory/search", {"query": "turnips", "limit": 2}))["next_cursor"]
        for method, params in (
            ("memory/list", {"cursor": listed, "order": "importance"}),
            ("memory/list", {"cursor": listed, "tags": ["a"]}),
            ("memory/search", {"cursor": found, "query": "turnips", "min_score": 0.1}),
            ("memory/search", {"cursor": found, "query": "rows"}),
        ):
            assert (await refusal(client, method, params)).data["details"]["path"] == "$.cursor", params
        assert len((await client.request("memory/list", {"cursor": listed, "limit": 1}))["records"]) == 1


# -- repeats and time ------------------------------------------------------------------------------------------------


@journey
async def test_a_repeat_may_name_the_default_workspace_and_never_brings_back_what_was_erased(tmp_path):
    async with Den(tmp_path).client() as client:
        asked = {"content": "The vault is blue.", "idempotency_key": "once"}
        first = await client.request("memory/remember", asked)
        again = await client.request("memory/remember", {**asked, "context": {"workspace_id": "ws_here"}})
        assert again == first
        for mode in ("tombstone", "erase"):
            await forget(client, first["record"]["memory_id"], mode=mode)
            assert (await refusal(client, "memory/remember", asked)).reason == "conflict"
        assert await every(client, "memory/list", "records") == []
        assert (await wish(client, "The vault is blue."))["created"]


@journey
async def test_statistics_count_by_the_clock(tmp_path):
    den = TimedDen(tmp_path)
    async with den.client() as client:
        await remember(client, "The sale is on.", expires_at=START + 1000)
        den.set(START + 999)
        assert (await client.request("memory/stats"))["records"]["by_status"] == {"active": 1}
        den.set(START + 1000)
        counted = (await client.request("memory/stats"))["records"]
        assert (counted["by_status"], counted["by_scope"][0]["count"]) == ({"expired": 1}, 0)


# -- what is told ----------------------------------------------------------------------------------------------------


@journey
async def test_an_explanation_says_what_became_of_a_record(tmp_path):
    async with Den(tmp_path).client() as client:
        old = await remember(client, "The hat is green.", key="hat")
        new = await remember(client, "The hat is blue.", key="hat")
        told = await client.request("memory/explain", {"target": {"kind": "memory", "id": old}})
        assert (told["outcome"], "in its place" in told["summary"]) == ("superseded", True)
        await forget(client, new)
        told = await client.request("memory/explain", {"target": {"kind": "memory", "id": new}})
        assert "forgotten since" in told["summary"]


@journey
async def test_a_record_that_was_said_often_is_explained_by_the_decision_that_made_it(tmp_path):
    async with Den(tmp_path).client() as client:
        hat = await remember(client, "The hat is green.")
        for _ in range(MAX_DECISIONS + 1):
            assert await remember(client, "The hat is green.") == hat
        told = await client.request("memory/explain", {"target": {"kind": "memory", "id": hat}})
        assert (told["outcome"], told["decision"]["action"]) == ("saved", "merge")
        assert len(told["decisions"]) == MAX_DECISIONS


@journey
async def test_a_turn_that_recalled_can_be_explained_with_its_ranking(tmp_path):
    async with Den(tmp_path, scripted=True).client() as client:
        memory_id = await remember(client, "The boat is called Pelorus.")
        await client.request("thread/start", {"thread_id": "thr_one"})
        for turn_id, is_traced in (("trn_one", False), ("trn_two", True)):
            text = f"What is the boat called, {turn_id}?"  # the same words again are not searched for
            await client.request("settings/update", {"update": {"memory": {"debug_trace_enabled": is_traced}}})
            await take_turn(client, "thr_one", text, turn_id)
            of_turn = await client.request("memory/explain", {"target": {"kind": "turn", "id": turn_id}})
            runs = (await client.request("hooks/runs", {"turn_id": turn_id}))["runs"]
            run_id = next(run["run_id"] for run in runs if run["hook_id"] == "memory.deterministic_recall")
            of_run = await client.request("memory/explain", {"target": {"kind": "hook_run", "id": run_id}})
            for told in (of_turn, of_run):
                assert memory_id in [entry["memory_id"] for entry in told["candidates"]] or not is_traced
                assert bool(told["missing"]) or is_traced
                assert "recall_enabled" in [gate["gate"] for gate in told["gates"]]
                assert "Pelorus" not in str(told)
        assert of_run["outcome"] == "recalled"


@journey
async def test_a_supersession_is_told_with_what_caused_it(tmp_path):
    async with Den(tmp_path).client() as client:
        for n, hue in enumerate(("green", "blue")):
            came_from = {"source_kind": "explicit_user_request", "turn_id": f"trn_{n}"}
            await remember(client, f"The hat is {hue}.", key="hat", provenance=came_from)
        told = await client.wait_for("memory/changed", lambda news: news["change_kind"] == "superseded")
        assert told["origin"]["turn_id"] == "trn_1"


@journey
async def test_while_memory_is_off_forgetting_is_silent_and_a_turn_says_that_recall_is_off(tmp_path):
    async with Den(tmp_path, scripted=True).client() as client:
        memory_id = await remember(client, "The hat is green.")
        await client.wait_for("memory/changed")
        await client.request("settings/update", {"update": {"memory": {"enabled": False}}})
        since = len(client.received)
        assert (await forget(client, memory_id))["forgotten_memory_ids"] == [memory_id]
        await client.request("thread/start", {"thread_id": "thr_one"})
        turn = await take_turn(client, "thr_one", "What colour is my hat?", "trn_one")
        assert turn["prompt_manifest"]["recall"]["status"] == "off"
        assert [name for name, _ in client.received[since:] if name.startswith("memory/")] == []


@journey
async def test_evidence_that_a_candidate_gains_is_told_as_merged(tmp_path):
    async with Den(tmp_path).client() as client:
        await client.request("settings/update", {"update": {"memory": {"review_enabled": True}}})
        semantic = {
            "intent": "implicit_candidate",
            "explicitness": "implicit",
            "category": "preference",
            "attribute": "food",
            "durability": "long_lived",
            "certainty": "medium",
        }
        said = {"semantic": semantic, "content": "Likes kale.", "evidence": [{"quote": "I like kale"}]}
        first = await client.request("memory/write", said)
        again = await client.request("memory/write", {**said, "evidence": [{"quote": "kale is what I like"}]})
        assert (first["evidence_merged"], again["evidence_merged"]) == (False, True)
        assert again["candidate"]["candidate_id"] == first["candidate"]["candidate_id"]
        assert again["candidate"]["evidence_count"] == 2


# -- what is not meant -----------------------------------------------------------------------------------------------


@journey
async def test_an_update_that_asks_for_nothing_changes_nothing_and_a_tag_is_named_once(tmp_path):
    async with Den(tmp_path).client() as client:
        kept = (await wish(client, "Tea is at four.", tags=["tea", "day", "tea"]))["record"]
        assert kept["tags"] == ["tea", "day"]
        same = (await client.request("memory/update", {"memory_id": kept["memory_id"]}))["record"]
        assert same["updated_at"] == kept["updated_at"]
        more = {"memory_id": kept["memory_id"], "tags": ["tea", "tea"]}
        assert (await client.request("memory/update", more))["record"]["tags"] == ["tea"]
