"""A value that is told more precisely takes the place of the old one, without a contest; the old words stay in its
history."""

from command_line import run
from spawned import Den, drain, fact, journey, remember, take_turn


def claim(said):
    """A birthday as an extractor takes it from just these words."""
    return fact(said, said, "birthday", category="identity")


async def contents(client):
    return sorted(record["content"] for record in (await client.request("memory/list", {}))["records"])


@journey
async def test_a_fuller_date_replaces_the_date_of_its_key(tmp_path):
    async with Den(tmp_path).client() as client:
        old = await remember(client, "My birthday is May 6", key="birthday")
        new = await client.request("memory/remember", {"content": "My birthday is May 6, 1990", "key": "birthday"})
        assert new["relation"] == "compatible_update"
        assert new["superseded_memory_id"] == old
        assert (new["decision"]["action"], new["decision"]["reason_code"]) == ("supersede", "made_more_precise")
        assert [f["value"] for f in new["decision"]["factors"] if f["name"] == "detail"] == ["1990"]
        assert not new["record"]["contested"]
        assert await contents(client) == ["My birthday is May 6, 1990"]

        memory_id = new["record"]["memory_id"]
        events = (await client.request("memory/history", {"memory_id": memory_id}))["events"]
        assert [(e["memory_id"], e["event"]) for e in events] == [
            (old, "created"),
            (old, "superseded"),
            (memory_id, "created"),
        ]
        before = (await client.request("memory/get", {"memory_id": old}))["record"]
        assert (before["content"], before["status"]) == ("My birthday is May 6", "superseded")
        told = await client.request("memory/explain", {"target": {"kind": "memory", "id": memory_id}})
        assert "made more precise" in told["summary"]


@journey
async def test_a_fact_without_a_key_is_made_more_precise_too(tmp_path):
    async with Den(tmp_path).client() as client:
        for old, new in (
            ("We deploy on Fridays", "We deploy on Fridays at 16:00."),
            ("She lives in Porto", "She lives in Porto, Rua X"),
            ("Wir treffen uns dienstags", "Wir treffen uns dienstags um 18 Uhr"),
        ):
            await remember(client, "I drink green tea at noon")
            known = await remember(client, old)
            answer = await client.request("memory/remember", {"content": new})
            assert (answer["relation"], answer["superseded_memory_id"]) == ("compatible_update", known)
            assert old not in await contents(client)


@journey
async def test_what_differs_is_no_detail(tmp_path):
    async with Den(tmp_path).client() as client:
        for old, new in (
            ("We deploy on Fridays", "We deploy on Mondays at 16:00"),
            ("I live in Porto", "I live in Porto Alegre"),
            ("I never work on Fridays", "I never work on Fridays at 16:00"),
            ("The rent is 900 euros", "The rent is 950 euros since 2024"),
        ):
            await remember(client, old)
            answer = await client.request("memory/remember", {"content": new})
            assert answer["superseded_memory_id"] is None
            assert {old, new} <= set(await contents(client))


@journey
async def test_a_turn_makes_a_fact_more_precise_without_a_contest(tmp_path):
    den = Den(tmp_path, scripted=True)
    first, second = "My birthday is May 6.", "My birthday is May 6, 1990."
    den.write_script(
        [
            {"role": "extractor", "input_contains": said, "respond": {"json": {"facts": [claim(said)]}}}
            for said in (second, first)
        ]
        + [{"role": "main", "respond": {"text": "Noted."}}]
    )
    async with den.client() as client:
        await client.request("thread/start", {"thread_id": "thr_1"})
        await take_turn(client, "thr_1", first, "trn_1")
        await drain(client)
        assert await contents(client) == [first]
        await take_turn(client, "thr_1", second, "trn_2")
        await drain(client)
        records = (await client.request("memory/list", {}))["records"]
        assert [(record["content"], record["contested"]) for record in records] == [(second, False)]
        assert (await client.request("memory/candidates/list", {}))["candidates"] == []


def test_the_command_line_names_what_was_replaced(tmp_path):
    home = ("--home", str(tmp_path / "home"))
    assert run("remember", "We deploy on Fridays", *home).code == 0
    assert "in place of: We deploy on Fridays\n" in run("remember", "We deploy on Fridays at 16:00", *home).err
    (record,) = run("list", "--json", *home).json["records"]
    assert "made more precise" in run("history", record["memory_id"], *home).out
    assert "made more precise" in run("why", record["memory_id"], *home).out
