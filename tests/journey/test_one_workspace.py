"""One project, one workspace: whichever way in is taken, and what is nowhere here is hinted at with a count."""

import json
import os
import shutil
import subprocess
from pathlib import Path

from mcp_stage import McpDen, data_of
from spawned import Den, clean_environment, drain, every, hello, journey, remember, run_to_end

from gateway.wire.client import GatewayClient, console_script

QUESTION = "Which glaze did we choose for the bowls?"
ANSWER = "We chose the ash glaze for the bowls."


def repository(folder, remote=None):
    """A repository as git leaves it, as far as it matters here."""
    (folder / ".git").mkdir(parents=True)
    (folder / ".git" / "HEAD").write_text("ref: refs/heads/main\n")
    (folder / ".git" / "config").write_text(f'[remote "origin"]\n\turl = {remote}\n' if remote else "[core]\n")
    return folder


def claude_code(path, session, cwd):
    """A session file; `cwd` None leaves it out."""
    place = {"cwd": str(cwd)} if cwd is not None else {}
    said = [("user", QUESTION), ("assistant", ANSWER)]
    path.mkdir(exist_ok=True)
    (path / f"{session}.jsonl").write_text(
        "".join(
            json.dumps(
                {
                    "type": who,
                    "sessionId": session,
                    "uuid": f"{session}-{who}",
                    "timestamp": "2025-09-01T08:00:00Z",
                    **place,
                    "message": {"role": who, "content": text},
                }
            )
            + "\n"
            for who, text in said
        )
    )


def codex(path, session, cwd, remote):
    """A session file of the other kind, which also names its repository."""
    meta = {"id": session, "timestamp": "2025-09-02T08:00:00Z", "cwd": str(cwd), "git": {"repository_url": remote}}
    said = {"type": "message", "role": "user", "content": [{"type": "input_text", "text": QUESTION}]}
    path.mkdir(exist_ok=True)
    (path / f"rollout-{session}.jsonl").write_text(
        json.dumps({"type": "session_meta", "timestamp": "2025-09-02T08:00:00Z", "payload": meta})
        + "\n"
        + json.dumps({"type": "response_item", "timestamp": "2025-09-02T08:00:00Z", "payload": said})
        + "\n"
    )


def pioneer(den, cwd, *arguments):
    """A command, run in a folder."""
    return subprocess.run(
        [*console_script(), *arguments, "--home", str(den.home), "--config", str(den.config)],
        cwd=cwd,
        env=clean_environment(),
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


@journey
async def test_command_line_mcp_and_import_mean_the_same_workspace(tmp_path):
    den = McpDen(tmp_path / "den")
    pots = repository(tmp_path / "pots", "git@github.com:Clay/Pots.git")
    (pots / "src").mkdir()
    plain = tmp_path / "plain"
    plain.mkdir()
    assert pioneer(den, pots / "src", "remember", ANSWER, "--scope", "workspace").returncode == 0
    claude_code(tmp_path / "sessions", "33333333-0000-4000-8000-00000000000a", pots)
    codex(
        tmp_path / "sessions", "44444444-0000-7000-8000-00000000000a", tmp_path / "gone", "https://github.com/clay/pots"
    )
    claude_code(tmp_path / "sessions", "33333333-0000-4000-8000-00000000000b", None)
    claude_code(tmp_path / "sessions", "33333333-0000-4000-8000-00000000000c", plain)
    imported = pioneer(den, plain, "import", str(tmp_path / "sessions"), "--json")
    assert imported.returncode == 0, imported.stderr
    found = json.loads(pioneer(den, pots, "search", "ash glaze", "--words", "--json").stdout)["hits"]
    (place,) = [hit["record"]["scope"]["key"] for hit in found]
    assert json.loads(imported.stdout)["workspaces"] == {place: 2, "ws_default": 2}
    async with den.assistant("auto", workspace=None, cwd=pots / "src") as client:
        hits = (await data_of(client, "memory_search", query="ash glaze"))["hits"]
        assert [hit["content"] for hit in hits] == [ANSWER]
    async with den.assistant("auto", workspace=None, cwd=plain) as client:
        assert (await data_of(client, "memory_search", query="ash glaze"))["hits"] == []
    async with den.client() as app:
        named = {one["workspace_id"]: one["name"] for one in await every(app, "workspace/list", "workspaces")}
        assert named[place] == "clay/pots"


def test_an_import_is_known_again_also_when_its_folder_is_gone(tmp_path):
    den = Den(tmp_path / "den")
    pots = repository(tmp_path / "pots")
    claude_code(tmp_path / "sessions", "33333333-0000-4000-8000-00000000000a", pots)

    def places(*more):
        ended = pioneer(den, tmp_path, "import", str(tmp_path / "sessions"), "--json", *more)
        figures = json.loads(ended.stdout)
        return figures["workspaces"], figures["conversations"]["unchanged"]

    first, unchanged = places("--workspace", "ws_named")  # its own records say more than the option
    assert ("ws_named" in first, unchanged) == (False, 0)
    shutil.rmtree(pots)
    assert places() == (first, 1)
    claude_code(tmp_path / "sessions", "33333333-0000-4000-8000-00000000000b", pots)
    assert places("--workspace", "ws_named", "--dry-run") == (first | {"ws_named": 1}, 1)
    assert places("--workspace", "ws_named") == (first | {"ws_named": 1}, 1)
    assert places() == (first | {"ws_named": 1}, 2)


@journey
async def test_serve_looks_at_no_folder(tmp_path):
    den = Den(tmp_path / "den")
    pots = repository(tmp_path / "pots")
    at, surroundings = Path.cwd(), clean_environment()
    os.chdir(pots)
    try:
        client = await GatewayClient.start(den.command(), env=surroundings)
    finally:
        os.chdir(at)
    async with client:
        await hello(client, None)
        thread = (await client.request("thread/start", {}))["thread"]
        assert thread["workspace_id"] == "ws_default"


@journey
async def test_a_session_that_names_no_workspace_is_in_that_of_the_thread_it_names_else_in_the_default_one(tmp_path):
    async with await Den(tmp_path).spawn() as client:
        await hello(client, None)
        await client.request("workspace/create", {"workspace_id": "ws_pots"})
        await client.request("thread/start", {"thread_id": "thr_pots", "workspace_id": "ws_pots"})
        await client.request("thread/start", {"thread_id": "thr_here"})
        ids = {
            name: await remember(client, f"The {name} are fired twice.", **place)
            for name, place in (
                ("pots", {"scope": {"kind": "workspace", "key": "ws_pots"}, "context": {"workspace_id": "ws_pots"}}),
                ("pans", {"scope": {"kind": "workspace", "key": "ws_default"}}),
                ("pegs", {"category": "project_policy"}),
            )
        }
        for context, seen in (
            ({}, {"pans", "pegs"}),
            ({"thread_id": "thr_here"}, {"pans", "pegs"}),
            ({"thread_id": "thr_nobody"}, {"pans", "pegs"}),
            ({"thread_id": "thr_pots"}, {"pots"}),
            ({"workspace_id": "ws_pots"}, {"pots"}),
        ):
            asked = {"query": "fired twice", "context": context}
            hits = (await client.request("memory/search", asked))["hits"]
            assert {hit["record"]["memory_id"] for hit in hits} == {ids[name] for name in seen}, context
            found = (await client.request("knowledge/search", asked))["hits"]
            assert {hit["address"].split(":")[-1] for hit in found} == {ids[name] for name in seen}, context


def test_list_and_why_hint_at_other_projects_as_search_does(tmp_path):
    den = Den(tmp_path / "den")
    pots, pans, bare = (repository(tmp_path / name) for name in ("pots", "pans", "bare"))
    for place, text in ((pots, ANSWER), (pots, "The kiln stands outside."), (pans, "The pans are cast from iron.")):
        assert pioneer(den, place, "remember", text, "--scope", "workspace").returncode == 0
    ids = {
        place: json.loads(pioneer(den, place, "list", "--json").stdout)["records"][0]["scope"]["key"]
        for place in (pots, pans)
    }
    listed = pioneer(den, bare, "list")
    assert (listed.returncode, listed.stdout) == (0, "")
    assert listed.stderr.splitlines()[:2] == [
        f"pioneer: 2 memories in another project (pots): --workspace {ids[pots]}",
        f"pioneer: 1 memory in another project (pans): --workspace {ids[pans]}",
    ]
    assert json.loads(pioneer(den, bare, "list", "--json").stdout)["records"] == []
    for quiet in (["--scope", "user"], ["--category", "todo"]):
        assert "another project" not in pioneer(den, bare, "list", *quiet).stderr
    assert "another project" not in pioneer(den, pots, "list").stderr

    for command in ("why", "search"):
        asked = pioneer(den, bare, command, QUESTION)
        assert asked.returncode == 1
        assert f"pioneer: 1 hit in another project (pots): --workspace {ids[pots]}\n" in asked.stderr
        assert "ash" not in asked.stdout + asked.stderr
    assert "another project" not in pioneer(den, pots, "why", QUESTION).stderr

    claude_code(tmp_path / "sessions", "33333333-0000-4000-8000-00000000000a", pots)
    configured = den.config.read_text()
    den.config.write_text(configured + "\n[gateway.thread_episodic]\nindexing_enabled = false\n")
    assert pioneer(den, bare, "import", str(tmp_path / "sessions")).returncode == 0
    den.config.write_text(configured)  # what was imported waits for its index
    recalled = pioneer(den, bare, "recall", QUESTION)
    assert (recalled.returncode, "hits in another project (pots)" in recalled.stderr) == (1, True), recalled.stderr
    said = pioneer(den, bare, "why", QUESTION)  # a memory and a message
    assert f"pioneer: 2 hits in another project (pots): --workspace {ids[pots]}\n" in said.stderr


@journey
async def test_a_search_that_finds_nothing_counts_what_others_have_and_shows_none_of_it(tmp_path):
    den = Den(tmp_path / "den")
    async with den.client("ws_here") as client:
        for place in ("ws_here", "ws_kiln", "ws_shop"):
            await client.request("workspace/create", {"workspace_id": place})
        kiln, shop = ({"kind": "workspace", "key": key} for key in ("ws_kiln", "ws_shop"))
        for text in (ANSWER, "The bowls dry for a week."):
            await remember(client, text, scope=kiln, context={"workspace_id": "ws_kiln"})
        await remember(client, "Bowls cost thirty.", scope=shop, context={"workspace_id": "ws_shop"})
        await remember(client, "Rent is due in May.", scope={"kind": "workspace", "key": "ws_here"})
        secret = await remember(
            client, "Bowls of the hospital.", scope=shop, context={"workspace_id": "ws_shop"}, sensitivity="regulated"
        )
        gone = await remember(client, "Bowls are cursed.", scope=shop, context={"workspace_id": "ws_shop"})
        await client.request(
            "memory/forget", {"target": {"kind": "id", "memory_id": gone}, "context": {"workspace_id": "ws_shop"}}
        )
        for place, text, at in (
            ("ws_kiln", QUESTION, 1_700_000_000_000),
            ("ws_here", "Hello there.", 1_600_000_000_000),
        ):
            turns = [{"at": at, "items": [{"role": "user", "text": text}]}]
            source = {"kind": "app", "id": place}
            await client.request("thread/import", {"workspace_id": place, "source": source, "turns": turns})
        await drain(client)

        counted = [{"workspace_id": "ws_kiln", "count": 2}, {"workspace_id": "ws_shop", "count": 1}]
        uncounted = await client.request("memory/search", {"query": "bowls"})
        assert uncounted["elsewhere"] == []  # who may not know of other workspaces does not ask
        empty = await client.request("memory/search", {"count_elsewhere": True, "query": "bowls"})
        assert (empty["hits"], empty["elsewhere"]) == ([], counted)
        assert (await client.request("memory/search", {"count_elsewhere": True, "query": "bowls", "limit": 1}))[
            "elsewhere"
        ] == counted
        sensitive = await client.request(
            "memory/search", {"count_elsewhere": True, "query": "bowls", "include_sensitive": True}
        )
        assert {one["workspace_id"]: one["count"] for one in sensitive["elsewhere"]}["ws_shop"] == 2
        assert (await client.request("memory/search", {"count_elsewhere": True, "query": "rent"}))["elsewhere"] == []
        only_user = {"count_elsewhere": True, "query": "bowls", "scopes": [{"kind": "user", "key": "default"}]}
        assert (await client.request("memory/search", only_user))["elsewhere"] == []

        said = await client.request(
            "thread_episodic/search", {"count_elsewhere": True, "workspace_id": "ws_here", "query": "which glaze"}
        )
        assert (said["hits"], said["elsewhere"]) == ([], [{"workspace_id": "ws_kiln", "count": 1}])
        then = {"count_elsewhere": True, "workspace_id": "ws_here", "query": "glaze in November 2023"}
        assert (await client.request("thread_episodic/search", then))["elsewhere"] == [
            {"workspace_id": "ws_kiln", "count": 1}
        ]
        there = await client.request("thread_episodic/search", {"workspace_id": "ws_kiln", "query": "which glaze"})
        assert (len(there["hits"]), there["elsewhere"]) == (1, [])
        told = json.dumps([empty, said, sensitive])
        assert not any(text in told for text in ("ash", "thirty", "hospital", "cursed", secret))

        await client.request("workspace/delete", {"workspace_id": "ws_kiln"})
        left = await client.request("memory/search", {"count_elsewhere": True, "query": "bowls"})
        assert left["elsewhere"] == counted[1:]
        assert (
            await client.request(
                "thread_episodic/search", {"count_elsewhere": True, "workspace_id": "ws_here", "query": "which glaze"}
            )
        )["elsewhere"] == []
    ended = pioneer(den, tmp_path, "search", "bowls", "--words", "--workspace", "ws_here")
    assert ended.returncode == 1
    assert "1 hit in another project: --workspace ws_shop" in ended.stderr
    assert (
        run_to_end(
            [*console_script(), "search", "bowls", "--words", "--workspace", "ws_here", "--home", str(den.home)]
        ).returncode
        == 1
    )
