"""The chat proxy's settings: each does what its sentence says, from one request to the next."""

import asyncio

import pytest
from proxy_stage import Program, Reply, fake_model, kept, said
from spawned import clean_environment, journey, run_to_end
from test_proxy import ASK, BOAT, SLOW, den_of, fill


@journey
async def test_drain_seconds_bounds_how_long_a_stream_may_run_on(tmp_path):
    async with fake_model() as model:
        den = den_of(tmp_path, model, settings=SLOW + "drain_seconds = 0\n")
        await den.start()
        chunks = said("chat", "One two")
        model.replies.append(Reply([chunks[0], asyncio.Event(), *chunks[1:]]))  # it would never end
        line = await Program(den).open(ASK)
        await line.chunk()
        assert await den.stop() == 0
        assert not (await line.rest()).is_whole
        line.close()


@pytest.mark.parametrize(
    ("learn", "program", "learns"),
    [
        ("all", "some-script/1", True),
        ("none", "claude-cli/2", False),
        ("known_clients", "claude-cli/2", True),
        ("known_clients", "some-script/1", False),
    ],
)
@journey
async def test_learn_says_from_whose_conversations_facts_are_taken(tmp_path, learn, program, learns):
    async with fake_model() as model:
        den = den_of(tmp_path, model, settings=SLOW + f'learn = "{learn}"\n')
        async with den.proxy(), den.client("ws_default") as client:
            await Program(den, user_agent=program).ask("Please remember that I live in Graz.")
            await kept(client, 1)
            assert (await client.request("gateway/drain", {"timeout_ms": 60_000}))["idle"]
            records = (await client.request("memory/list", {}))["records"]
            assert [one["content"] for one in records if "Graz" in one["content"]] == [
                one["content"] for one in records
            ]
            assert bool(records) is learns


@pytest.mark.parametrize(("chars", "stays"), [(0, False), (200_000, True)])
@journey
async def test_replay_chars_bounds_what_earlier_messages_keep(tmp_path, chars, stays):
    async with fake_model() as model:
        den = den_of(tmp_path, model, settings=SLOW + f"replay_chars = {chars}\n")
        await fill(den, BOAT)
        async with den.proxy():
            program = Program(den)
            first = await program.ask(ASK)
            second = await program.ask("And what is the weather like?")
            assert first.memory == "recalled"
            assert second.status == 200
            before, after = (body["messages"][1]["content"] for body in model.bodies)
            assert "Marigold" in str(before)
            assert ("Marigold" in str(after)) is stays
            assert (after == before) is stays


@journey
async def test_lines_of_a_wrong_configuration_say_what_is_wrong(tmp_path):
    async with fake_model() as model:
        den = den_of(tmp_path, model)
        den.config.write_text('[gateway.proxy.upstreams.local]\ndialect = "openai"\nbase_url = "127.0.0.1/v1"\n')
        ended = await asyncio.to_thread(run_to_end, den.proxy_command("url", "openai"), env=clean_environment())
        said = ended.stderr.decode()
        assert (ended.returncode, ended.stdout) == (78, b""), said
        assert "gateway.proxy.upstreams.local.base_url: must begin with http:// or https://" in said
