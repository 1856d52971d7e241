"""Forgetting to the last byte: what an erase leaves in the files of a home."""

import secrets

import apsw
from spawned import Den, drain, every, fact, hello, journey, refusal, remember, take_turn
from timed_den import DAY, START, TimedDen


def needle():
    """A word that stands nowhere but where this test puts it."""
    return f"needle{secrets.token_hex(8)}"


def holding(den, word):
    """The files that hold the word, in either case."""
    sought = (word.encode(), word.upper().encode(), word.encode("utf-16-le"))
    return [name for name, data in den.files().items() if any(face in data for face in sought)]


async def erase(client, memory_id, **more):
    """The receipt."""
    asked = {"target": {"kind": "id", "memory_id": memory_id}, "mode": "erase", **more}
    forgotten = await client.request("memory/forget", asked)
    assert forgotten["forgotten_memory_ids"] == [memory_id]
    return forgotten["receipt"]


@journey
async def test_an_erased_record_is_gone_from_every_file_when_the_receipt_says_so(tmp_path):
    den, word, kept = Den(tmp_path), needle(), needle()
    async with den.client() as client:
        for n in range(30):
            await remember(client, f"Neighbour {n} of it: {kept} stays.")
        memory_id = await remember(
            client,
            f"The vault stands beside {word}.",
            tags=[word],
            value={"word": word},
            metadata={"also": word},
            key=f"vault {word}",
            idempotency_key=f"once-{word}",
        )
        await client.request("memory/update", {"memory_id": memory_id, "importance": 0.9})
        await client.request("memory/search", {"query": f"vault {word}"})
        await client.request("memory/explain", {"query": f"vault {word}"})
        assert holding(den, word)
        receipt = await erase(client, memory_id)
        assert receipt["removed"]["records"] == 1
        if not receipt["complete"]:
            await client.wait_for("memory/erased", lambda told: memory_id in told["memory_ids"])
        assert holding(den, word) == []
        assert holding(den, kept)
        assert (await client.request("memory/get", {"memory_id": memory_id, "include_deleted": True}))["record"] is None
        records = await every(client, "memory/list", "records")
        assert len(records) == 30
    assert holding(den, word) == []


@journey
async def test_without_another_reader_the_receipt_is_complete_at_once(tmp_path):
    den, word = Den(tmp_path), needle()
    async with den.client() as client:
        receipt = await erase(client, await remember(client, f"The vault stands beside {word}."))
        assert (receipt["complete"], receipt["wal"]) == (True, "truncated")
        assert holding(den, word) == []


@journey
async def test_a_tombstone_can_be_erased_and_an_erased_record_does_not_come_back(tmp_path):
    den, word = Den(tmp_path), needle()
    async with den.client() as client:
        memory_id = await remember(client, f"The vault stands beside {word}.")
        await client.request("memory/forget", {"target": {"kind": "id", "memory_id": memory_id}})
        assert holding(den, word)  # a tombstone can be undone, so its words are still there
        receipt = await erase(client, memory_id)
        if not receipt["complete"]:
            await client.wait_for("memory/erased")
        assert holding(den, word) == []
        again = await client.request(
            "memory/forget", {"target": {"kind": "id", "memory_id": memory_id}, "mode": "erase"}
        )
        assert again["forgotten_memory_ids"] == []
    async with den.client() as client:
        assert await every(client, "memory/list", "records") == []


@journey
async def test_a_chain_of_corrections_is_erased_to_its_first_word(tmp_path):
    """Every version of a fact said something about the same thing; each is erased by its own id."""
    den, words = Den(tmp_path), [needle() for _ in range(3)]
    async with den.client() as client:
        ids = [await remember(client, f"The vault stands beside {word}.", key="vault") for word in words]
        assert len(set(ids)) == 3
        for memory_id in ids:
            receipt = await erase(client, memory_id, restore_superseded=False)
            if not receipt["complete"]:
                await client.wait_for("memory/erased", lambda told: memory_id in told["memory_ids"])  # noqa: B023
        assert [holding(den, word) for word in words] == [[], [], []]


@journey
async def test_what_was_learnt_from_a_turn_is_erased_and_the_message_is_named_as_remaining(tmp_path):
    den, word = Den(tmp_path, scripted=True), needle()
    learnt = fact(f"The user's vault is called {word}.", f"my vault called {word} stuck", "vault")
    den.write_script([{"role": "extractor", "respond": {"json": {"facts": [learnt]}}}])
    async with den.client() as client:
        await client.request("thread/start", {"thread_id": "thr_a"})
        await take_turn(client, "thr_a", f"Yesterday my vault called {word} stuck.", "trn_a")
        (record,) = await every(client, "memory/list", "records")
        receipt = await erase(client, record["memory_id"])
        (left,) = receipt["remaining"]["items"]
        assert (left["thread_id"], left["turn_id"]) == ("thr_a", "trn_a")
        if not receipt["complete"]:
            await client.wait_for("memory/erased")
        await drain(client)
        assert await every(client, "memory/list", "records") == []
        # the conversation is the user's own; deleting the thread takes the last of it
        await client.request("thread/delete", {"thread_id": "thr_a"})
        found = await client.request("thread_episodic/search", {"workspace_id": "ws_here", "query": word})
        assert found["hits"] == []
        await drain(client)
    assert tables_with(den, word) == []


def tables_with(den, word):
    """Tables of the database that hold the word."""
    connection = den.database()
    tables = [name for (name,) in connection.execute("SELECT name FROM sqlite_schema WHERE type = 'table'")]
    found = [
        table
        for table in tables
        if any(word in str(value) for row in connection.execute(f'SELECT * FROM "{table}"') for value in row)  # noqa: S608
    ]
    connection.close()
    return found


@journey
async def test_while_another_reader_holds_the_old_state_the_receipt_says_pending_and_is_kept_later(tmp_path):
    den, word = Den(tmp_path), needle()
    async with den.client() as client:
        memory_id = await remember(client, f"The vault stands beside {word}.")
        reader = apsw.Connection(str(den.home / "gateway.db"))
        reader.execute("BEGIN").fetchall()
        reader.execute("SELECT count(*) FROM record").fetchall()
        receipt = await erase(client, memory_id)
        assert (receipt["complete"], receipt["wal"]) == (False, "pending")
        assert (await client.request("memory/get", {"memory_id": memory_id, "include_deleted": True}))["record"] is None
        assert holding(den, word), "the reader keeps the old pages: the receipt must not promise their end"
        reader.execute("COMMIT").fetchall()
        reader.close()
        await client.wait_for("memory/erased", lambda told: told["memory_ids"] == [memory_id])
        assert holding(den, word) == []


@journey
async def test_what_one_process_erases_the_other_does_not_have_either(tmp_path):
    den, word = Den(tmp_path), needle()
    first, second = await den.spawn(), await den.spawn()
    async with first, second:
        await hello(first)
        await hello(second)
        memory_id = await remember(first, f"The vault stands beside {word}.")
        hits = (await second.request("memory/search", {"query": word}))["hits"]
        assert [hit["record"]["memory_id"] for hit in hits] == [memory_id]
        receipt = await erase(first, memory_id)
        if not receipt["complete"]:
            await first.wait_for("memory/erased", lambda told: told["memory_ids"] == [memory_id])
        assert (await second.request("memory/search", {"query": word}))["hits"] == []
        assert (await second.request("memory/get", {"memory_id": memory_id, "include_deleted": True}))["record"] is None
        assert holding(den, word) == []


# -- the clock -------------------------------------------------------------------------------------------------------


@journey
async def test_expiry_is_exact_and_told_without_being_asked(tmp_path):
    den, word = TimedDen(tmp_path), needle()
    async with den.client() as client:
        memory_id = await remember(client, f"The vault is called {word}.", expires_at=START + 5000)
        den.set(START + 4999)
        assert (await client.request("memory/search", {"query": word}))["hits"]
        den.set(START + 5000)
        assert (await client.request("memory/search", {"query": word}))["hits"] == []
        assert await every(client, "memory/list", "records") == []
        assert (await client.request("memory/get", {"memory_id": memory_id}))["record"]["status"] == "expired"
        told = await client.wait_for("memory/changed", lambda told: told["change_kind"] == "expired")
        assert told["memory_id"] == memory_id


@journey
async def test_old_bookkeeping_goes_where_nothing_else_is_ever_due(tmp_path):
    den = TimedDen(tmp_path)
    semantic = {"category": "preference", "durability": "session_only", "certainty": "low", "sensitivity": "none"}
    async with den.client() as client:
        passing = {"content": "Is at the bus stop", "semantic": semantic, "evidence": [{"quote": "at the bus stop"}]}
        assert (await client.request("memory/write", passing))["record"] is None
        assert sum((await client.request("memory/stats", {}))["decisions"]["by_reason_code"].values()) == 1
        den.set(START + 181 * DAY)
        while (await client.request("memory/stats", {}))["decisions"]["by_reason_code"]:
            pass


@journey
async def test_retention_ends_by_the_clock_and_by_a_changed_setting(tmp_path):
    den, word = TimedDen(tmp_path), needle()
    async with den.client() as client:
        ids = [await remember(client, f"The vault number {n} is called {word}.") for n in range(2)]
        await client.request("memory/forget", {"target": {"kind": "id", "memory_id": ids[0]}})
        den.set(START + 2 * DAY)
        await drain(client)
        await client.request("memory/restore", {"memory_id": ids[0]})
        for memory_id in ids:
            await client.request("memory/forget", {"target": {"kind": "id", "memory_id": memory_id}})
        den.set(START + 4 * DAY)
        assert holding(den, word)
        await client.request("settings/update", {"update": {"memory": {"retention_days": 1}}})
        told = await client.wait_for("memory/erased")
        assert {*told["memory_ids"]} == {*ids}
        assert holding(den, word) == []
        assert (await refusal(client, "memory/restore", {"memory_id": ids[0]})).reason == "not_found"
