"""A model with a small window: what does not fit into its prompt any more can be recalled."""

import json
from pathlib import Path

from spawned import Den, drain, journey, take_turn

DECISION = "We decided that the roof gets slate from Wales and Hargreaves builds it in September."
ASIDE = "Noted. " + "We can go on with the next point whenever you like. " * 4
TOPICS = ("kitchen", "garden", "cellar", "fence", "garage", "attic", "window", "stairs")
TURNS = 14  # of which nine or so fit, and six always stay


@journey
async def test_what_was_cut_from_the_prompt_is_recalled_and_nothing_is_told_twice(tmp_path: Path) -> None:
    den = Den(tmp_path, scripted=True, config="context_tokens = 2600\n")
    async with den.client() as client:
        den.write_script([{"role": "main", "respond": {"text": ASIDE}}])
        await client.request("thread/start", {"thread_id": "thr"})
        for n in range(TURNS):
            point = f"Point {n}: the {TOPICS[n % 8]} needs paint number {n} and a new handle, please note that for later on."
            await take_turn(client, "thr", DECISION if n == 2 else point, f"trn_{n}")
        await drain(client)
        turn = await take_turn(client, "thr", "What did we decide earlier about the roof slate?", "trn_ask")
        manifest = turn["prompt_manifest"]
        budgets = {budget["name"]: budget for budget in manifest["budgets"]}
        assert 6 <= budgets["history_turns"]["used"] < TURNS - 2  # the decision is not among them
        assert budgets["request_tokens"]["used"] <= budgets["request_tokens"]["limit"]
        calls = [json.loads(line) for line in den.record.read_text(encoding="utf-8").splitlines()]
        (asked,) = [call["messages"] for call in calls if (call["role"], call["turn_id"]) == ("main", "trn_ask")]
        assert sum("Hargreaves" in message["content"] for message in asked) == 1
        assert manifest["recall"]["status"] == "recalled"
        recalled = {chunk_id.partition("/")[0].removeprefix("thread:") for chunk_id in manifest["recall"]["chunk_ids"]}
        assert "trn_2" in recalled
        kept = {f"trn_{n}" for n in range(TURNS - budgets["history_turns"]["used"], TURNS)}
        assert not kept & recalled
