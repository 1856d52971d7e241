"""Two gateways on one home: each sees what the other writes, and takes over what the other leaves."""

import asyncio
import random
import time

from spawned import Den, drain, every, fact, hello, journey, remember, take_turn

TELL_SECONDS = 1.0


async def two(den):
    """Two processes that were greeted."""
    clients = await den.spawn(), await den.spawn()
    for client in clients:
        await hello(client)
    return clients


@journey
async def test_each_sees_what_the_other_writes_at_once(tmp_path):
    first, second = await two(Den(tmp_path))
    async with first, second:
        for n, (writer, reader) in enumerate([(first, second), (second, first)] * 5):
            memory_id = await remember(writer, f"The {n}th drawer holds the spare fuses of hall {n}.")
            assert (await reader.request("memory/get", {"memory_id": memory_id}))["record"]["memory_id"] == memory_id
            hits = (await reader.request("memory/search", {"query": f"fuses hall {n}"}))["hits"]
            assert memory_id in {hit["record"]["memory_id"] for hit in hits}
            await reader.request("memory/forget", {"target": {"kind": "id", "memory_id": memory_id}})
            assert (await writer.request("memory/get", {"memory_id": memory_id}))["record"] is None
            assert (await writer.request("memory/list", {}))["records"] == []


@journey
async def test_the_other_process_is_told_within_a_second(tmp_path):
    first, second = await two(Den(tmp_path))
    async with first, second:
        took = []
        for n in range(10):  # the machine is shared: the best of a few is the gateway's own
            told = len(second.received)
            await remember(first, f"Lamp {n} flickers.")
            began = time.monotonic()
            changed = await second.wait_for("memory/invalidated", since=told)
            took.append(time.monotonic() - began)
            assert changed["scopes"] == [{"kind": "user", "key": "default"}]
            if n >= 2 and min(took) < TELL_SECONDS:
                break
        assert min(took) < TELL_SECONDS, took
        await drain(first)
        assert "memory/invalidated" not in {method for method, _ in first.received}


async def operate(client, name, count, rng, errors):
    """Mixed operations of one client, one after another; every refusal is an error here."""
    kept = []
    await client.request("thread/start", {"thread_id": f"thr_{name}"})
    for n in range(count):
        kind = rng.randrange(6)
        try:
            if kind <= 1 or not kept:
                kept.append(await remember(client, f"Crate {name}{n} weighs {n} stone."))
            elif kind == 2:
                target = {"kind": "id", "memory_id": kept.pop(rng.randrange(len(kept)))}
                await client.request("memory/forget", {"target": target})
            elif kind == 3:
                await client.request("memory/search", {"query": f"crate {name}{n - 1}"})
            elif kind == 4:
                changed = {"memory_id": rng.choice(kept), "importance": rng.random()}
                await client.request("memory/update", changed)
            else:
                said = [{"type": "text", "text": f"How heavy is crate {name}{n}?"}]
                asked = {"thread_id": f"thr_{name}", "turn_id": f"trn_{name}_{n}", "input": said}
                await client.request("turn/start", asked)
                await client.wait_for(
                    "turn/completed", lambda told, turn_id=asked["turn_id"]: told["turn_id"] == turn_id
                )
        except Exception as error:  # noqa: BLE001  # every one of them is reported
            errors.append((name, n, kind, repr(error)))
    return set(kept)


@journey
async def test_four_hundred_operations_of_two_processes_end_without_an_error(tmp_path):
    seed = random.randrange(2**32)
    errors = []
    first, second = await two(Den(tmp_path, scripted=True))
    async with first, second:
        kept = await asyncio.gather(
            *(
                operate(client, f"{place}{lane}", 50, random.Random(f"{seed}-{place}-{lane}"), errors)
                for place, client in (("a", first), ("b", second))
                for lane in range(4)
            )
        )
        assert errors == [], f"seed {seed}"
        await drain(first)
        await drain(second)
        for client in (first, second):
            records = await every(client, "memory/list", "records")
            assert {record["memory_id"] for record in records} == set.union(*kept), f"seed {seed}"
            status = await client.request("gateway/status")
            assert status["processes"] == 2
            assert status["last_errors"] == []
            assert status["degraded"] == []


@journey
async def test_each_client_is_told_the_whole_end_of_its_own_turns_and_of_no_others(tmp_path):
    """Background work is shared between the processes; what is told about it goes to the client whose turn it was."""
    first, second = await two(Den(tmp_path, scripted=True))
    async with first, second:
        turns = {client: [f"trn_{client.pid}_{n}" for n in range(15)] for client in (first, second)}

        async def talk(client):
            await client.request("thread/start", {"thread_id": f"thr_{client.pid}"})
            for turn_id in turns[client]:
                said = [{"type": "text", "text": f"I noted {turn_id}."}]
                asked = {"thread_id": f"thr_{client.pid}", "turn_id": turn_id, "input": said}
                await client.request("turn/start", asked)
                await client.wait_for("turn/completed", lambda told: told["turn_id"] == turn_id)  # noqa: B023

        await asyncio.gather(talk(first), talk(second))
        await drain(first)
        await drain(second)
        for client in (first, second):
            for turn_id in turns[client]:
                await client.wait_for("turn/post_completed", lambda told: told["turn_id"] == turn_id)  # noqa: B023
            told = [params["turn_id"] for method, params in client.received if method == "turn/post_completed"]
            assert sorted(told) == sorted(turns[client])


@journey
async def test_what_a_killed_process_was_doing_is_done_by_the_other(tmp_path):
    den = Den(tmp_path, scripted=True)
    learnt = fact("The user's cat is called Fig.", "my cat is called Fig", "cat_name")
    answer = {"role": "extractor", "input_contains": "Fig", "respond": {"json": {"facts": [learnt]}}}
    den.write_script([{**answer, "delay_ms": 60_000}])
    first, second = await two(den)
    async with second:
        await first.request("thread/start", {"thread_id": "thr_a"})
        said = [{"type": "text", "text": "By the way, my cat is called Fig."}]
        await first.request("turn/start", {"thread_id": "thr_a", "turn_id": "trn_a", "input": said})
        await first.wait_for("turn/completed")
        while (await second.request("gateway/status"))["queues"].get("hook_run", {}).get("leased") != 1:
            pass  # every look is an answered request
        den.write_script([answer])
        first.kill()
        await first.wait()
        await drain(second)
        records = (await second.request("memory/list", {}))["records"]
        assert [record["content"] for record in records] == ["The user's cat is called Fig."]
        runs = (await second.request("hooks/runs", {"turn_id": "trn_a", "phase": "TurnPostTurn"}))["runs"]
        assert {run["status"] for run in runs} <= {"succeeded", "skipped"}
        assert (await second.request("gateway/status"))["processes"] == 1


@journey
async def test_a_running_turn_of_a_killed_process_becomes_interrupted(tmp_path):
    den = Den(tmp_path, scripted=True)
    den.write_script([{"role": "main", "input_contains": "slowly", "delay_ms": 60_000, "respond": {"text": "late"}}])
    first, second = await two(den)
    async with second:
        await first.request("thread/start", {"thread_id": "thr_a"})
        said = [{"type": "text", "text": "Answer slowly, please."}]
        await first.request("turn/start", {"thread_id": "thr_a", "turn_id": "trn_a", "input": said})
        await first.wait_for("turn/started")
        assert (await second.request("turn/get", {"turn_id": "trn_a"}))["turn"]["status"] == "in_progress"
        first.kill()
        await first.wait()
        den.write_script([])
        await drain(second)
        assert (await second.request("turn/get", {"turn_id": "trn_a"}))["turn"]["status"] == "interrupted"
        turn = await take_turn(second, "thr_a", "And now quickly.", "trn_b")
        assert turn["status"] == "completed"
    for named in ([{"thread_id": "thr_a", "turn_id": "trn_a"}], []):  # the next client is told, and nobody again
        third = await den.spawn()
        async with third:
            assert (await hello(third))["interrupted_turns"] == named


@journey
async def test_processes_are_counted_while_they_live(tmp_path):
    den = Den(tmp_path)
    first, second = await two(den)
    async with first:
        assert (await first.request("gateway/status"))["processes"] == 2
        assert await second.close() == 0
        assert (await first.request("gateway/status"))["processes"] == 1
        third = await den.spawn()
        await hello(third)
        third.kill()
        await third.wait()
        await drain(first)
        assert (await first.request("gateway/status"))["processes"] == 1
