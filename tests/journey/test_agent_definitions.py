"""Agent definitions: from folders that a person wrote to the turns of the threads in which they act."""

import json
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest
from guidance_stage import GuidedDen, agent, put, section, told
from mcp_stage import McpDen, data_of, failure_of
from spawned import drain, journey, on_posix, refusal, take_turn

from gateway.wire.client import GatewayClient

pytestmark = pytest.mark.followed

SAID = [{"type": "text", "text": "hello there"}]


async def act(client: GatewayClient, slug: str, turn_id: str, **thread: Any) -> dict[str, Any]:
    """A turn in a new thread of an agent; the turn as it ended."""
    await client.request("thread/start", {"thread_id": f"thr_{turn_id}", "agent_id": slug, "agent": True, **thread})
    return await take_turn(client, f"thr_{turn_id}", "hello there", turn_id)


@on_posix
@journey
async def test_knowledge_statement_35_what_is_no_definition_is_listed_as_invalid_and_the_rest_work(
    tmp_path: Path,
) -> None:
    den = GuidedDen(tmp_path)
    put(
        den.agents,
        {
            **agent("good"),
            "noconfig/AGENTS.md": "x",
            "empty/config.yaml": "name: ''\ndescription: d\n",
            "empty/AGENTS.md": "x",
            "Bad Slug/config.yaml": "name: n\ndescription: d\n",
            "Bad Slug/AGENTS.md": "x",
            "blank/AGENTS.md": " \n",
            "small/agents.md": "x",
            "small/config.yaml": "name: n\ndescription: d\n",
            "README.md": "no definition",
            ".git/": "",
            "blank/config.yaml": "name: n\ndescription: d\n",
            "yaml/AGENTS.md": "x",
            "yaml/config.yaml": "name: &a n\ndescription: *a\n",
            "linkfile/config.yaml": "name: n\ndescription: d\n",
            "mode/AGENTS.md": "x",
            "mode/config.yaml": "name: n\ndescription: d\nmemory_mode: all\n",
        },
    )
    (den.agents / "linked").symlink_to(den.agents / "good")
    (den.agents / "linkfile" / "AGENTS.md").symlink_to(den.agents / "good" / "AGENTS.md")
    async with den.client() as client:
        found = await client.request("agents/list", {})
        assert [(one["slug"], one["layer"], one["problems"]) for one in found["agents"]] == [("good", "vault", [])]
        assert {one["slug"]: [(p["code"], p["key"]) for p in one["problems"]] for one in found["invalid"]} == {
            "noconfig": [("missing", "config.yaml")],
            "empty": [("empty", "name")],
            "Bad Slug": [("bad_slug", None)],
            "small": [("wrong_case", "agents.md")],
            "blank": [("empty", "AGENTS.md")],
            "linked": [("link", None)],
            "linkfile": [("link", "AGENTS.md")],
            "yaml": [("config_invalid", "config.yaml")],
            "mode": [("config_invalid", "memory_mode")],
        }
        turn = await act(client, "good", "trn_good")
        assert turn["status"] == "completed"
        assert "Work carefully." in den.system("trn_good")
        for slug in ("noconfig", "empty", "small", "blank", "linked", "yaml", "mode"):
            failed = await refusal(client, "thread/start", {"agent_id": slug, "agent": True})
            assert (failed.reason, failed.code) == ("agent_invalid", -32045), slug
            assert (await refusal(client, "agents/get", {"slug": slug})).reason == "agent_invalid"
        assert (await refusal(client, "agents/get", {"slug": "nobody"})).reason == "not_found"


@journey
async def test_a_thread_acts_by_a_definition_only_where_it_is_asked_to(tmp_path: Path) -> None:
    den = GuidedDen(tmp_path)
    put(den.agents, agent("reviewer"))
    async with den.client() as client:
        plain = await client.request("thread/start", {"thread_id": "thr_plain", "agent_id": "reviewer"})
        assert plain["thread"]["agent"] is None
        await take_turn(client, "thr_plain", "hello", "trn_plain")
        assert "Work carefully." not in den.system("trn_plain")
        unknown = await client.request("thread/start", {"agent_id": "unknown", "agent": True})
        assert unknown["thread"]["agent"] is None
        assert (await refusal(client, "thread/start", {"agent": True})).reason == "invalid_params"
        started = await client.request("thread/start", {"thread_id": "thr_a", "agent_id": "reviewer", "agent": True})
        before = started["thread"]["agent"]
        assert (before["slug"], before["layer"]) == ("reviewer", "vault")
        put(den.agents, {"reviewer/AGENTS.md": "Work fast.\n"})
        turn = await take_turn(client, "thr_a", "hello", "trn_a")
        assert "You are Reviewer. These are your rules:\n\nWork fast." in den.system("trn_a")
        after = (await client.request("thread/get", {"thread_id": "thr_a"}))["thread"]["agent"]
        assert after["sha256"] != before["sha256"]
        found = section(turn["prompt_manifest"], "agent_definition")
        assert found is not None
        digest = sha256(b"Work fast.\n").hexdigest()
        assert found["source_refs"] == [{"kind": "agent", "id": "reviewer/AGENTS.md", "sha256": digest}]


@journey
async def test_the_order_of_a_prompt_and_what_an_agent_refuses_of_it(tmp_path: Path) -> None:
    den = GuidedDen(tmp_path, config='[gateway.agent]\nsystem_prompt = "SYSTEM"\n')
    put(den.repo, {".git/": "", "AGENTS.md": "RULES"})
    put(
        den.agents,
        {**agent("top", text="ITSELF", soul="SOUL", memory="SEED"), **agent("without", config="instructions: false\n")},
    )
    async with den.client() as client:
        await act(client, "top", "trn_top", cwd=str(den.repo), instructions="HOST")
        system = den.system("trn_top")
        places = [
            system.index(word) for word in ("SYSTEM", "HOST", "RULES", "ITSELF", "SOUL", "SEED", "## Durable memory")
        ]
        assert places == sorted(places)
        turn = await act(client, "without", "trn_without", cwd=str(den.repo))
        assert section(turn["prompt_manifest"]) is None
        assert "RULES" not in den.system("trn_without")
        shown = [
            await client.request("instructions/preview", {"thread_id": f"thr_trn_{slug}"})
            for slug in ("top", "without")
        ]
        assert [[one["path"] for one in given["files"]] for given in shown] == [["AGENTS.md"], []]
        assert (shown[1]["text"], shown[1]["budget"]["used"]) == ("", 0)
        (entry,) = shown[1]["diagnostics"]
        assert entry["data"] == {"reason": "agent"}
        assert told(turn["prompt_manifest"], "instructions_off") == [entry]
        put(den.agents, {"top/AGENTS.md": ""})
        failed = await refusal(client, "instructions/preview", {"thread_id": "thr_trn_top"})
        assert failed.reason == "agent_invalid"  # as its turn would be


@journey
async def test_knowledge_statement_36_soul_and_memory_reach_their_own_top_thread_alone(tmp_path: Path) -> None:
    den = McpDen(tmp_path, scripted=True)
    agents = den.home / "agents"
    put(
        agents,
        {
            **agent("alpha", soul="SOUL-OF-ALPHA walrus", memory="SEED-OF-ALPHA walrus"),
            **agent("beta", soul="SOUL-OF-BETA walrus", memory="SEED-OF-BETA walrus"),
        },
    )
    canaries = ("SOUL-OF-ALPHA", "SEED-OF-ALPHA", "SOUL-OF-BETA", "SEED-OF-BETA")

    def in_text(value: Any) -> list[str]:
        text = json.dumps(value)
        return [canary for canary in canaries if canary in text]

    def asked(turn_id: str) -> list[Any]:
        return [one for one in map(json.loads, den.record.read_text("utf-8").splitlines()) if one["turn_id"] == turn_id]

    async with den.client() as client:
        top = await act(client, "alpha", "trn_top")
        assert in_text(asked("trn_top")) == ["SOUL-OF-ALPHA", "SEED-OF-ALPHA"]
        helper = await act(client, "alpha", "trn_helper", parent_thread_id="thr_trn_top")
        other = await act(client, "beta", "trn_other", parent_thread_id="thr_trn_top")
        assert "Work carefully." in json.dumps(asked("trn_helper"))
        assert in_text([asked("trn_helper"), asked("trn_other")]) == []
        prepared = await client.request("turn/prepare", {"thread_id": "thr_trn_top", "turn_id": "trn_p", "input": SAID})
        tools = [
            (
                await client.request(
                    "turn/tool_call", {"turn_id": "trn_p", "call_id": f"c{n}", "name": name, "arguments": given}
                )
            )
            for n, (name, given) in enumerate(
                [
                    ("request_tools", {"domains": ["agent"], "reason": "x"}),
                    ("agent_list", {}),
                    ("agent_info", {"slug": "alpha"}),
                    ("agent_info", {"slug": "beta"}),
                    ("agent_info", {"slug": "none"}),
                ]
            )
        ]
        assert tools[2]["result"]["data"]["text"] == "Work carefully.\n"
        assert tools[4]["result"]["error"]["code"] == "not_found"
        answers = [
            await client.request("agents/list", {}),
            await client.request("agents/get", {"slug": "alpha"}),
            tools,
            top["prompt_manifest"],
            helper,
            other,
            prepared["prompt_manifest"],
            await client.request("hooks/runs", {"limit": 100}),
            await client.request("memory/export", {}),
            await client.request("memory/search", {"query": "walrus"}),
            await client.request("thread_episodic/search", {"workspace_id": "ws_here", "query": "walrus"}),
        ]
        assert in_text(answers) == []
        parts = {"slug": "alpha", "parts": ["soul", "memory"]}
        whole = await client.request("agents/get", parts)
        assert whole["texts"] == {"soul": "SOUL-OF-ALPHA walrus", "memory": "SEED-OF-ALPHA walrus"}
        failed = await refusal(client, "agents/get", {**parts, "context": {"thread_id": "thr_trn_helper"}})
        assert (failed.reason, failed.code, in_text(failed.data)) == ("forbidden", -32043, [])
        failed = await refusal(client, "agents/get", {**parts, "context": {"thread_id": "thr_unknown"}})
        assert (failed.reason, failed.code, in_text(failed.data)) == ("not_found", -32044, [])
        await client.request("turn/finish", {"turn_id": "trn_p", "status": "succeeded"})
        await drain(client)
        assert in_text([str(told) for told in client.received]) == []
    async with den.assistant("auto") as assistant:
        offered = [tool.name for tool in (await assistant.list_tools()).tools]
        assert {"agent_list", "agent_info"} <= set(offered)
        listed = await data_of(assistant, "agent_list")
        assert [one["slug"] for one in listed["agents"]] == ["alpha", "beta"]
        info = await data_of(assistant, "agent_info", slug="alpha")
        assert info["text"] == "Work carefully.\n"
        assert in_text([listed, info, await failure_of(assistant, "agent_info", slug="none")]) == []
    stored = {name: data for name, data in den.files().items() if not name.startswith("agents/")}
    assert [name for name, data in stored.items() if any(canary.encode() in data for canary in canaries)] == []


@journey
async def test_knowledge_statement_37_no_file_that_steers_is_changed(tmp_path: Path) -> None:
    """By what this room answers; tools and jobs of the whole schema run in the leak matrix, which has these files too."""
    den = GuidedDen(tmp_path)
    put(den.agents, {**agent("alpha", soul="s", memory="m"), "broken/AGENTS.md": "x"})
    put(den.repo, {".git/": "", "AGENTS.md": "Rules @x.md", "x.md": "more"})

    def state() -> dict[str, tuple[bytes, int]]:
        files = [path for root in (den.agents, den.repo) for path in sorted(root.rglob("*")) if path.is_file()]
        return {str(path): (path.read_bytes(), path.stat().st_mtime_ns) for path in files}

    before = state()
    async with den.client() as client:
        await act(client, "alpha", "trn_1", cwd=str(den.repo))
        for method, params in (
            ("agents/list", {}),
            ("agents/get", {"slug": "alpha", "parts": ["agents", "soul", "memory"]}),
            ("instructions/preview", {"cwd": str(den.repo)}),
            ("instructions/set", {"workspace_id": "ws_here", "mode": "off"}),
            ("instructions/versions", {"workspace_id": "ws_here", "path": "x.md"}),
            ("passes/run", {"pass": "dream"}),
        ):
            await client.request(method, params)
        await drain(client)
        await client.request("thread/delete", {"thread_id": "thr_trn_1"})
    assert state() == before


ROLES = """
[gateway.roles]
main = "scripted"

[gateway.roles.agents]
reviewer = "second"

[gateway.providers.scripted]
kind = "scripted"
script = "script.jsonl"
record = "record.jsonl"

[gateway.providers.second]
kind = "scripted"
script = "script.jsonl"
record = "second.jsonl"
"""


@journey
async def test_knowledge_statement_38_a_role_picks_its_provider_and_other_keys_do_nothing(tmp_path: Path) -> None:
    den = GuidedDen(tmp_path, scripted=False, config=ROLES)
    foreign = "provider: second\nhooks:\n  start: rm -rf /\nenv:\n  KEY: x\n"
    put(
        den.agents,
        {
            **agent("set", config="model_role: reviewer\n"),
            **agent("unset", config="model_role: nobody\n"),
            **agent("foreign", config=foreign),
            **agent("plain"),
        },
    )

    def asked(turn_id: str) -> list[str]:
        records = [den.record, den.folder / "second.jsonl"]
        return [path.name for path in records if path.exists() and f'"turn_id":"{turn_id}"' in path.read_text("utf-8")]

    async with den.client() as client:
        turns = {slug: await act(client, slug, f"trn_{slug}") for slug in ("set", "unset", "foreign", "plain")}
        assert {slug: asked(f"trn_{slug}") for slug in turns} == {
            "set": ["second.jsonl"],
            "unset": ["record.jsonl"],
            "foreign": ["record.jsonl"],
            "plain": ["record.jsonl"],
        }
        told_of = {slug: told(turn["prompt_manifest"], "model_role_unset") for slug, turn in turns.items()}
        assert {slug for slug, found in told_of.items() if found} == {"unset"}
        problems = {
            one["slug"]: [(p["code"], p["key"]) for p in one["problems"]]
            for one in (await client.request("agents/list", {}))["agents"]
        }
        assert problems == {
            "set": [],
            "plain": [],
            "unset": [("unknown_role", "nobody")],
            "foreign": [("ignored_key", name) for name in ("env", "hooks", "provider")],
        }
        # the turn's and the thread's own choice come first
        await client.request(
            "thread/start", {"thread_id": "thr_own", "agent_id": "set", "agent": True, "provider": "scripted"}
        )
        await take_turn(client, "thr_own", "hello", "trn_own")
        assert asked("trn_own") == ["record.jsonl"]


@journey
async def test_knowledge_statement_39_a_broken_definition_stops_its_agent_until_it_is_mended(tmp_path: Path) -> None:
    den = GuidedDen(tmp_path)
    put(den.agents, agent("keeper"))
    sound = (den.agents / "keeper" / "config.yaml").read_text(encoding="utf-8")
    async with den.client() as client:
        await act(client, "keeper", "trn_1")
        put(den.agents, {"keeper/config.yaml": "name: [\n"})
        for method in ("turn/start", "turn/prepare"):
            failed = await refusal(client, method, {"thread_id": "thr_trn_1", "turn_id": "trn_2", "input": SAID})
            assert (failed.reason, failed.code) == ("agent_invalid", -32045)
        assert den.asked("trn_2") == []
        assert (await client.request("turn/start", {"thread_id": "thr_trn_1", "turn_id": "trn_1", "input": SAID}))[
            "turn"
        ]["status"] == "completed"
        put(den.agents, {"keeper/config.yaml": sound})
        turn = await take_turn(client, "thr_trn_1", "hello there", "trn_2")
        assert (turn["status"], len(den.asked("trn_2"))) == ("completed", 1)
        for path in (den.agents / "keeper").iterdir():
            path.unlink()
        (den.agents / "keeper").rmdir()
        failed = await refusal(client, "turn/start", {"thread_id": "thr_trn_1", "input": SAID})
        assert failed.reason == "agent_invalid"


@journey
async def test_a_definition_narrows_memory_and_tools_and_widens_nothing(tmp_path: Path) -> None:
    den = GuidedDen(tmp_path)
    put(
        den.agents,
        {
            **agent("reader", config="memory_mode: read_only\ntools: [memory]\n"),
            **agent("closed", config="memory_mode: ignored\ntools: []\n"),
            **agent("open"),
        },
    )
    async with den.client() as client:
        turn = await act(client, "reader", "trn_reader")
        policy, tools = turn["prompt_manifest"]["policy"], turn["prompt_manifest"]["tools"]
        assert (policy["remember"]["allowed"], policy["recall"]["allowed"]) == (False, True)
        assert (tools["visible"], tools["hidden_domains"]) == (["request_tools"], ["memory"])
        closed = await act(client, "closed", "trn_closed")
        assert not closed["prompt_manifest"]["policy"]["recall"]["allowed"]
        tools = closed["prompt_manifest"]["tools"]
        assert (tools["visible"], tools["hidden_domains"]) == ([], [])  # nothing could be asked for
        await act(client, "open", "trn_open", memory_mode="read_only")
        thread = (await client.request("thread/get", {"thread_id": "thr_trn_open"}))["thread"]
        assert thread["memory_mode"] == "read_only"
        # a later edit narrows the turns that come, and what they say is not searched
        await act(client, "open", "trn_later")
        put(den.agents, agent("open", config="memory_mode: ignored\n"))
        text = "The walrus sleeps in the boathouse."
        await take_turn(client, "thr_trn_later", text, "trn_ignored")
        await drain(client)
        found = await client.request("thread_episodic/search", {"workspace_id": "ws_here", "query": "walrus boathouse"})
        assert found["hits"] == []
