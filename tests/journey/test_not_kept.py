"""What its user asks not to keep is kept by no door: in letters that look alike, said again, or repeated by a question."""

from pathlib import Path

import pytest
from spawned import Den, drain, every, fact, journey, take_turn

TOLD_OF = "My brother Tom is in rehab for alcohol since March."
AGAIN = "Tom calls me from the rehab on Sunday evenings."
KEPT = "I have worked as a nurse in Leeds for twelve years."
TOLD = (
    f"{KEPT} I live with my cat Miso in a flat by the canal. My commute takes forty minutes on the bus. "
    f"I like to cook Thai food on Sundays. {TOLD_OF} Please don't save that bit about him. I play the cello in a small "
    "orchestra. We rehearse every Tuesday in a church hall. Our next concert is in the spring, I hope. I want to learn "
    f"Dutch before the summer comes. {AGAIN} My favourite tea is a smoky one from China. I read before I go to sleep, "
    "mostly novels. That is all for now about my little life. What should I cook tonight for two people?"
)


@journey
async def test_what_is_not_to_be_kept_is_not_kept_where_it_is_said_again(tmp_path: Path) -> None:
    den = Den(tmp_path, scripted=True)
    learnt = [fact(one, one, "custom") for one in (TOLD_OF, AGAIN, KEPT)]
    den.write_script([{"role": "extractor", "respond": {"json": {"facts": learnt}}}])
    async with den.client() as client:
        await client.request("thread/start", {"thread_id": "thr_1"})
        await take_turn(client, "thr_1", TOLD, "trn_1")
        await drain(client)
        assert [one["content"] for one in await every(client, "memory/list", "records")] == [KEPT]


@pytest.mark.parametrize(
    ("said", "wish"),
    [(KEPT, "Dоn't sаvе this."), ("Я живу в Казани с мамой и котом.", "Hе сохpаняй это.")],  # letters of two scripts
)
@journey
async def test_a_wish_in_letters_that_look_alike_is_heard(said: str, wish: str, tmp_path: Path) -> None:
    den = Den(tmp_path, scripted=True)
    den.write_script([{"role": "extractor", "respond": {"json": {"facts": [fact(said, said, "custom")]}}}])
    async with den.client() as client:
        await client.request("thread/start", {"thread_id": "thr_1"})
        await take_turn(client, "thr_1", f"{said} {wish}", "trn_1")
        await drain(client)
        assert await every(client, "memory/list", "records") == []
        await take_turn(client, "thr_1", said, "trn_2")
        await drain(client)
        assert len(await every(client, "memory/list", "records")) == 1


@journey
async def test_what_a_question_after_the_past_repeats_is_kept_by_no_rule_and_no_client(tmp_path: Path) -> None:
    said = "I live in Lisbon with my dog."
    den = Den(tmp_path, scripted=True)
    den.write_script([{"role": "extractor", "respond": {"json": {"facts": []}}}])
    async with den.client() as client:
        await client.request("thread/start", {"thread_id": "thr_1"})
        for number, text in enumerate((f"What did I say about my dog: {said}", f"About my dog: {said}")):
            await take_turn(client, "thr_1", text, f"trn_{number}")
            await drain(client)
            items = (await client.request("turn/items", {"turn_id": f"trn_{number}"}))["items"]
            asked = next(item["item_id"] for item in items if item["kind"] == "user_message")
            wish = {
                "content": said,
                "semantic": fact(said, said, "home", category="biography")["semantic"],
                "evidence": [{"quote": said, "item_id": asked}],
                "context": {"thread_id": "thr_1"},
            }
            await client.request("memory/write", wish)
            known = await every(client, "memory/list", "records") + await every(
                client, "memory/candidates/list", "candidates"
            )
            assert bool(known) is bool(number)
