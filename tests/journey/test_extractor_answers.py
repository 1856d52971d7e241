"""What an extractor's answer is worth: the user's words decide, not how well a model fills in a form."""

import pytest
from spawned import Den, drain, every, journey, take_turn

SAID = "My sister Ines lives in Trieste."
SURE = {
    "intent": "implicit_candidate",
    "explicitness": "explicit",
    "category": "relationship",
    "certainty": "high",
    "durability": "long_lived",
}


def facts(*given):
    return {"role": "extractor", "respond": {"json": {"facts": list(given)}}}


async def learnt(tmp_path, rule, *said):
    """What is kept after turns with these words, and the statistics of the last one's extraction."""
    den = Den(tmp_path, scripted=True)
    den.write_script([rule])
    async with den.client() as client:
        await client.request("thread/start", {"thread_id": "thr", "workspace_id": "ws_here"})
        for number, text in enumerate(said):
            await take_turn(client, "thr", text, f"trn_{number}")
        await drain(client)
        records = await every(client, "memory/list", "records")
        candidates = await every(client, "memory/candidates/list", "candidates")
        runs = (await client.request("hooks/runs", {"turn_id": f"trn_{len(said) - 1}"}))["runs"]
        told = {one["code"]: one.get("data") for run in runs for one in run["diagnostics"]}
        items = (await client.request("turn/items", {"turn_id": f"trn_{len(said) - 1}"}))["items"]
    return records + candidates, told["extraction_stats"], items[0]["item_id"]


@pytest.mark.parametrize("item_id", ["itm_invented", "the user's message", 1])
@journey
async def test_an_exact_quote_under_a_wrong_id_counts(item_id, tmp_path):
    wrong = {"content": SAID, "evidence": {"quote": SAID, "item_id": item_id}, "semantic": SURE}
    kept, stats, said_in = await learnt(tmp_path, facts(wrong), f"{SAID} Which train goes there?")
    assert [one["content"] for one in kept] == [SAID]
    assert (stats["malformed"], stats["quote_not_found"]) == (0, 0)
    if "provenance" in kept[0]:
        assert kept[0]["provenance"]["item_id"] == said_in


@journey
async def test_words_of_another_turn_or_nobodys_do_not_count_under_any_id(tmp_path):
    of_before = {"content": SAID, "evidence": {"quote": SAID, "item_id": "itm_invented"}, "semantic": SURE}
    nobodys = {"content": "The user owns a boat.", "evidence": {"quote": "I own a boat in the harbour"}}
    kept, stats, _ = await learnt(tmp_path, facts(of_before, nobodys), f"{SAID} Bye.", "And what is the weather like?")
    assert [one["content"] for one in kept] == [SAID]  # of the turn in which it was said
    assert (stats["facts"], stats["quote_not_found"]) == (2, 2)


@pytest.mark.parametrize("answer", [[], [{"content": "no quote"}]])
@journey
async def test_an_empty_answer_leaves_explicit_statements_to_the_rules(answer, tmp_path):
    kept, stats, _ = await learnt(tmp_path, facts(*answer), "Remember that I keep my bike in the shed. And the news?")
    assert [one["content"] for one in kept] == ["I keep my bike in the shed"]
    assert kept[0]["status"] == "active"
    assert (stats["activated"], stats["malformed"]) == (1, len(answer))


@journey
async def test_an_empty_answer_to_no_statement_keeps_nothing(tmp_path):
    kept, stats, _ = await learnt(tmp_path, facts(), "Should I remember to lock the door? What do people say?")
    assert kept == []
    assert stats["facts"] == 0


LONG = """
We moved into the old mill by the river in spring.
The roof of the mill leaks, so my brother comes to mend it on Saturdays.
He is a roofer and knows each tile by its name, or so he says.
My garden faces south and is full of beans.
In the evening I walk to the bridge and count the herons.
My salary is 3,100 euros a month.
Don't save that one.
My boss must never hear of it.
The river rose twice in March and took our bench along.
A neighbour found it three villages further down, none the worse for wear.
My cat Mirko sleeps in the flour chest all day long.
What shall I plant beside the beans this year, so that the shade of the mill does no harm?
""".strip().replace("\n", " ")


@journey
async def test_what_a_long_message_asks_not_to_keep_comes_in_by_no_quote(tmp_path):
    cat = "My cat Mirko sleeps in the flour chest all day long."
    barred = ["My salary is 3,100 euros a month.", "My boss must never hear of it.", "Don't save that one."]
    across = "count the herons. My salary is 3,100 euros a month."
    quotes = [cat, *barred, across]
    rule = facts(*({"content": one, "evidence": {"quote": one}, "semantic": SURE} for one in quotes))
    kept, stats, _ = await learnt(tmp_path, rule, LONG)
    assert [one["content"] for one in kept] == [cat]
    assert (stats["facts"], stats["rejected"]) == (5, 4)


@journey
async def test_no_name_by_a_model_tells_what_a_long_message_asks_not_to_keep(tmp_path):
    cat = "my cat Mirko sleeps in the flour chest all day long."
    told = LONG.replace("My cat", "Please remember: my cat")
    den = Den(tmp_path, scripted=True)
    named = {"attribute": "salary", "custom_attribute": "salary_3100", "subject_key": "salary_3100"}
    reveal = {"name": "request_tools", "arguments": {"domains": ["memory"], "reason": "to keep it"}}
    call = {"name": "memory_remember", "arguments": {"content": cat, "quote": cat, "key": "salary_3100"}}
    den.write_script(
        [
            {"role": "main", "input_contains": "Please", "round": 1, "respond": {"tool_calls": [reveal]}},
            {"role": "main", "input_contains": "Please", "round": 2, "respond": {"tool_calls": [call]}},
            {"role": "main", "respond": {"text": "Done."}},
            facts({"content": cat, "evidence": {"quote": cat}, "semantic": SURE | named}),
        ]
    )
    async with den.client() as client:
        await client.request("thread/start", {"thread_id": "thr", "workspace_id": "ws_here"})
        for number, text in enumerate((told, LONG)):
            await take_turn(client, "thr", text, f"trn_{number}")
            await drain(client)
        kept = await every(client, "memory/list", "records")
        assert kept
        assert "salary" not in " ".join(record["key"] for record in kept)


TEA = "I prefer tea over coffee in the morning"
AGAIN = "In the mornings tea beats coffee for me"


@pytest.mark.parametrize(
    ("quote", "is_same"),
    [
        (AGAIN, True),
        ("In the mornings tea never beats coffee for me", False),
        ("At 6 in the mornings tea beats coffee for me", False),
        ("In the mornings tea beats coffee for Ines and me", False),
        ("Correction: in the mornings coffee beats tea for me", False),
    ],
)
@journey
async def test_a_fact_that_is_said_to_be_known_counts_only_by_figures_names_and_denials(quote, is_same, tmp_path):
    den = Den(tmp_path, scripted=True)
    semantic = SURE | {"category": "preference"}
    async with den.client() as client:
        known = (await client.request("memory/remember", {"content": TEA, "category": "preference"}))["record"]
    named = {"content": quote, "evidence": {"quote": quote}, "semantic": semantic, "same_as": known["memory_id"]}
    unknown = {"content": "I row at dawn", "evidence": {"quote": "I row at dawn"}, "semantic": semantic, "same_as": 7}
    den.write_script([facts(named, unknown)])
    async with den.client() as client:
        await client.request("thread/start", {"thread_id": "thr", "workspace_id": "ws_here"})
        await take_turn(client, "thr", f"{quote}. I row at dawn.", "trn_0")
        await drain(client)
        kept = {one["content"].rstrip("."): one for one in await every(client, "memory/list", "records")}
        assert set(kept) == {TEA, "I row at dawn"} | (set() if is_same else {quote})
        assert kept[TEA]["evidence_count"] == 1 + is_same
        told = await client.request("memory/explain", {"target": {"kind": "turn", "id": "trn_0"}})
        assert ("near_duplicate" in [one["reason_code"] for one in told["decisions"]]) is is_same
