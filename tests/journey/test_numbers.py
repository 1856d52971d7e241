"""Numbers of cards, accounts and ids are kept by nobody's wish; what an earlier version kept of them is hidden, and
erased when a person says so."""

import json

import apsw
import pytest
from command_line import run
from mcp_stage import REVISIONS, McpDen, text_of
from spawned import Den, drain, hello, journey, refusal, remember

from memory.rows.store import SQL, checksum_of

CARD, CPF, IBAN = "4111 1111 " + "1111 1111", "529.982." + "247-25", "DE89 3704 0044 " + "0532 0130 00"
NUMBERS = {"credit_card": f"My Visa is {CARD}", "national_id": f"My CPF is {CPF}", "iban": f"Rent goes to {IBAN}"}


def make_older(den, memory_id, content):
    """Have a record say what a version before this one let it say, in a home that was not looked through yet."""
    with apsw.Connection(str(den.home / "gateway.db")) as connection:
        connection.execute("UPDATE record SET content = ? WHERE memory_id = ?", (content, memory_id))
        (row,) = connection.execute(SQL["get_record"], {"memory_id": memory_id}).fetchall()
        connection.execute("UPDATE record SET checksum = ? WHERE memory_id = ?", (checksum_of(row), memory_id))
        connection.execute("DELETE FROM memory_fact WHERE name = 'numbers'")


async def older_home(den):
    """A home with a card's number, and with a fact that holds none; their ids."""
    async with den.client() as client:
        card = await remember(client, "My Visa is the blue one")
        tea = await remember(client, "I drink green tea")
    make_older(den, card, NUMBERS["credit_card"])
    return card, tea


@journey
async def test_a_number_is_refused_whoever_asks_and_a_label_is_suggested(tmp_path):
    async with Den(tmp_path).client() as client:
        for kind, words in NUMBERS.items():
            for more in ({}, {"sensitivity": "regulated"}, {"category": "identity"}):
                failed = await refusal(client, "memory/remember", {"content": words, **more})
                assert failed.data["reason"] == "write_refused"
                decision = failed.data["details"]["decision"]
                assert decision["reason_code"] == "secret_detected"
                assert {factor["name"] for factor in decision["factors"]} >= {kind}
                assert "the blue card" in failed.message
                assert words.split()[-1] not in json.dumps([failed.message, failed.data])
        memory_id = await remember(client, "I pay with the blue card")
        failed = await refusal(client, "memory/update", {"memory_id": memory_id, "value": CARD})
        assert failed.data["details"]["decision"]["reason_code"] == "secret_detected"
        assert "the blue card" in failed.message
        assert (await client.request("memory/list", {"include_sensitive": True}))["records"][0]["value"] is None


@journey
async def test_an_allergy_is_still_kept_on_request(tmp_path):
    async with Den(tmp_path).client() as client:
        memory_id = await remember(client, "I am allergic to peanuts")
        record = (await client.request("memory/get", {"memory_id": memory_id}))["record"]
        assert (record["content"], record["sensitivity"]) == ("I am allergic to peanuts", "regulated")


def test_the_command_line_says_why_and_what_to_keep_instead(tmp_path):
    refused = run("remember", NUMBERS["national_id"], "--home", str(tmp_path / "home"))
    assert refused.code != 0
    assert "the blue card" in refused.err
    assert CPF not in refused.err + refused.out


@pytest.mark.parametrize("revision", REVISIONS)
@journey
async def test_an_assistant_is_told_of_the_label(tmp_path, revision):
    async with McpDen(tmp_path).assistant(revision) as client:
        result = await client.call_tool("memory_remember", {"content": NUMBERS["credit_card"], "category": "custom"})
        assert "the blue card" in text_of(result)
        assert CARD not in text_of(result)


@journey
async def test_what_was_kept_before_is_in_no_answer_from_the_first_one_on(tmp_path):
    den = Den(tmp_path)
    card, tea = await older_home(den)
    async with await den.spawn() as client:
        await hello(client)
        for drained in (False, True):
            if drained:
                await drain(client)
            for shown in ({}, {"include_sensitive": True}):
                listed = (await client.request("memory/list", shown))["records"]
                assert [record["memory_id"] for record in listed] == [tea]
                assert (await client.request("memory/search", {"query": "my Visa", **shown}))["hits"] == []
            assert (await client.request("memory/get", {"memory_id": card}))["record"] is None
            exported = (await client.request("memory/export", {}))["bundle"]
            assert CARD not in exported
            assert tea in exported
        failed = await refusal(client, "memory/update", {"memory_id": card, "tags": ["card"]})
        assert failed.data["reason"] == "not_found"


@journey
async def test_one_of_them_can_be_erased_by_its_id(tmp_path):
    den = Den(tmp_path)
    card, _ = await older_home(den)
    async with den.client() as client:
        await drain(client)
        params = {"target": {"kind": "id", "memory_id": card}, "mode": "erase"}
        assert (await client.request("memory/forget", params))["forgotten_memory_ids"] == [card]
    assert not any(CARD.encode() in data for data in den.files().values())


def test_the_doctor_counts_them_and_erases_them(tmp_path):
    home = ("--home", str(tmp_path / "home"))
    den = Den(tmp_path)
    card = run("remember", "My Visa is the blue one", "--json", *home).json["record"]["memory_id"]
    assert run("remember", "I drink green tea", *home).code == 0
    assert run("doctor", *home).code == 0
    make_older(den, card, NUMBERS["credit_card"])

    told = run("doctor", *home)
    assert told.code == 1
    assert "1 records hold the number" in told.out
    assert "pioneer doctor --erase-numbers" in told.out
    assert CARD not in told.out
    assert run("doctor", "--erase-numbers", *home).code != 0  # nobody is there to say yes
    assert any(CARD.encode() in data for data in den.files().values())

    erased = run("doctor", "--erase-numbers", "--yes", *home)
    assert "done: 1 records are erased" in erased.out
    assert erased.code == 0
    assert not any(CARD.encode() in data for data in den.files().values())
    assert [record["content"] for record in run("list", "--json", *home).json["records"]] == ["I drink green tea"]
