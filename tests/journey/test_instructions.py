"""Instruction files of a project, from the folder that is worked in to the model's request."""

import itertools
import os
from pathlib import Path
from typing import Any

import pytest
from guidance_stage import GuidedDen, paths, put, section, told
from home_bytes import files_holding, needles
from spawned import drain, every, journey, on_posix, refusal, remember, take_turn

from agent.guidance.chain import MAX_FILE_BYTES
from gateway.wire.client import GatewayClient

pytestmark = pytest.mark.followed

numbers = itertools.count(1)


async def live(client: GatewayClient, cwd: Path | None, **thread: Any) -> dict[str, Any]:
    """A turn in a new thread that works in a folder; the turn as it ended."""
    number = next(numbers)
    place = {"cwd": str(cwd)} if cwd is not None else {}
    await client.request("thread/start", {"thread_id": f"thr_{number}", **place, **thread})
    return await take_turn(client, f"thr_{number}", "hello there", f"trn_{number}")


def manifest_of(turn: dict[str, Any]) -> dict[str, Any]:
    assert turn["status"] == "completed", turn["error"]
    return turn["prompt_manifest"]


@journey
async def test_knowledge_statement_29_the_boundary_is_git_and_the_users_home_is_never_read(tmp_path: Path) -> None:
    den = GuidedDen(tmp_path)
    put(
        tmp_path,
        {
            "CLAUDE.md": "above the repository",
            "repo/.git/": "",
            "repo/CLAUDE.md": "at the root",
            "repo/a/b/CLAUDE.md": "nested",
            "user/.git/": "",
            "user/CLAUDE.md": "in the home folder",
            "user/proj/CLAUDE.md": "below the home folder",
            "tree/.git": "gitdir: elsewhere",
            "tree/CLAUDE.md": "of the worktree",
            "tree/in/": "",
            "plain/CLAUDE.md": "around the folder",
            "plain/in/CLAUDE.md": "in the folder",
        },
    )
    async with den.client() as client:
        turn = await live(client, den.repo / "a" / "b")
        manifest = manifest_of(turn)
        assert paths(manifest) == ["CLAUDE.md", "a/b/CLAUDE.md"]
        system = den.system(turn["turn_id"])
        assert system.index("at the root") < system.index("nested")
        assert "above the repository" not in system
        home = await live(client, den.user_home / "proj")
        assert paths(manifest_of(home)) == ["CLAUDE.md"]
        assert "below the home folder" in den.system(home["turn_id"])
        assert "in the home folder" not in den.system(home["turn_id"])
        assert paths(manifest_of(await live(client, den.user_home))) == []
        assert "of the worktree" in den.system((await live(client, tmp_path / "tree" / "in"))["turn_id"])
        alone = den.system((await live(client, tmp_path / "plain" / "in"))["turn_id"])
        assert "in the folder" in alone
        assert "around the folder" not in alone
        await client.request("workspace/create", {"workspace_id": "ws_plain", "root_path": str(tmp_path / "plain")})
        rooted = den.system((await live(client, tmp_path / "plain" / "in", workspace_id="ws_plain"))["turn_id"])
        assert rooted.index("around the folder") < rooted.index("in the folder")


@journey
async def test_knowledge_statement_30_one_file_a_folder_equal_ones_once_and_an_edit_holds(tmp_path: Path) -> None:
    den = GuidedDen(tmp_path)
    put(den.repo, {".git/": "", "AGENTS.md": "same rules", "CLAUDE.md": "same rules", "in/AGENTS.md": "same rules"})
    async with den.client() as client:
        turn = await live(client, den.repo / "in")
        assert paths(manifest_of(turn)) == ["AGENTS.md"]
        assert den.system(turn["turn_id"]).count("same rules") == 1
        assert told(manifest_of(turn), "instructions_unreadable") == []
        put(den.repo, {name: f"rules of {name}" for name in ("AGENTS.md", "CLAUDE.md", "GEMINI.md", "QWEN.md")})
        wanted = {"default": "AGENTS", "claude": "CLAUDE", "codex": "AGENTS", "gemini": "GEMINI", "qwen": "QWEN"}
        for profile, name in wanted.items():
            own = await live(client, den.repo, instruction_profile=profile)
            assert paths(manifest_of(own)) == [f"{name}.md"], profile
        await client.request("thread/start", {"thread_id": "thr_edit", "cwd": str(den.repo)})
        await take_turn(client, "thr_edit", "hello", "trn_before")
        put(den.repo, {"AGENTS.md": "a walrus rule"})
        await take_turn(client, "thr_edit", "hello", "trn_after")
        assert "rules of AGENTS.md" in den.system("trn_before")
        assert "a walrus rule" in den.system("trn_after")
        await drain(client)
        found = await client.request("thread_episodic/search", {"workspace_id": "ws_here", "query": "walrus rule"})
        assert not [hit for hit in found["hits"] if "walrus" in hit["snippet"]]
        assert not (await client.request("memory/search", {"query": "walrus"}))["hits"]


@on_posix
@journey
async def test_knowledge_statement_31_only_what_lies_inside_is_included_and_refusals_are_told(tmp_path: Path) -> None:
    den = GuidedDen(tmp_path)
    deep = {f"d{n}.md": f"depth {n}\n@d{n + 1}.md\n" for n in range(1, 7)}
    root = (
        "Read @docs/rules.md first, (also @docs/more.md).\n@../../secret @../secret.md @~/x @/etc/passwd @out.md @C:\\rules.md\n"
        "`@docs/span.md`\n\n```\n@docs/fenced.md\n@app.route @angular/core\n```\n\n    @docs/indented.md\n\nmail a@docs/mail.md, ask @alice\n@gone.md @bin.dat @.env @d1.md\n"
    )
    put(tmp_path, {"secret.md": "top secret", "user/x": "of the home", "repo/.git/": ""})
    put(
        den.repo,
        {
            "AGENTS.md": root,
            "docs/rules.md": "the included rules @more.md\n",
            "docs/more.md": "more rules @../AGENTS.md\n",
            "docs/span.md": "in a span",
            "docs/fenced.md": "in a fence",
            "docs/indented.md": "below four blanks",
            "docs/mail.md": "in an address",
            "bin.dat": b"\0\1",
            ".env": "TOKEN=walrus",
            **deep,
        },
    )
    (den.repo / "out.md").symlink_to(tmp_path / "secret.md")
    async with den.client() as client:
        turn = await live(client, den.repo)
        manifest, system = manifest_of(turn), den.system(turn["turn_id"])
        assert paths(manifest) == ["AGENTS.md", "docs/rules.md", "docs/more.md", *(f"d{n}.md" for n in range(1, 6))]
        assert "the included rules" in system
        assert "Read @docs/rules.md first" in system  # the token stays
        for text in (
            "top secret",
            "of the home",
            "root:",
            "in a span",
            "in a fence",
            "below four blanks",
            "in an address",
            "walrus",
            "depth 6",
        ):
            assert text not in system
        refused = {one["message"].split(" in ")[0]: one["data"]["reason"] for one in told(manifest, "include_refused")}
        assert refused == {
            "@../../secret": "outside",
            "@../secret.md": "outside",
            "@~/x": "home",
            "@/etc/passwd": "absolute",
            "@C:\\rules.md": "absolute",
            "@out.md": "outside",
            "@docs/span.md": "in_code",
            "@docs/fenced.md": "in_code",
            "@docs/indented.md": "in_code",
            "@gone.md": "missing",
            "@bin.dat": "binary",
            "@.env": "secret_file",
            "@../AGENTS.md": "cycle",
            "@d6.md": "too_deep",
        }
        shown = await client.request("instructions/preview", {"cwd": str(den.repo)})
        problems = {one["path"]: one["problem"] for one in shown["files"] if one["problem"]}
        assert problems == refused


@journey
async def test_knowledge_statement_32_the_nested_rules_are_whole_and_the_cut_is_named(tmp_path: Path) -> None:
    den = GuidedDen(tmp_path)
    rules = "".join(f"# Rule {n}\n\nKeep rule number {n} of the root, always.\n\n" for n in range(1, 1200))[:60_000]
    nested = "".join(f"Nested rule {n}.\n" for n in range(200))[:2000]
    put(den.repo, {".git/": "", "AGENTS.md": rules, "in/AGENTS.md": nested})
    async with den.client() as client:
        turn = await live(client, den.repo / "in")
        manifest, system = manifest_of(turn), den.system(turn["turn_id"])
        assert nested in system
        (cut,) = (await client.request("instructions/preview", {"cwd": str(den.repo / "in")}))["cut"]
        last = rules.count("\n") + 1
        notice = f"[AGENTS.md: lines {cut['from_line']}-{last} left out, {cut['chars']:,} characters over the budget]"
        assert notice in system
        assert f"{rules[: len(rules) - cut['chars']]}{notice}" in system
        assert rules[: len(rules) - cut["chars"]].endswith("\n\n")  # at a paragraph
        found = section(manifest)
        assert found is not None
        assert found["truncated"]
        (entry,) = told(manifest, "instructions_cut")
        assert entry["data"] == {"count": 1, "chars": cut["chars"]}
        assert f"lines {cut['from_line']}-{last}" in entry["message"]
        (budget,) = [one for one in manifest["budgets"] if one["name"] == "project_instructions"]
        assert found["chars"] == budget["used"] <= budget["limit"] == 12_000
        assert budget["used"] > 11_800


@journey
async def test_knowledge_statement_33_what_nobody_sees_does_not_reach_the_provider(tmp_path: Path) -> None:
    den = GuidedDen(tmp_path)
    hidden = ["\U000e0041", "\u200b", "\u202e", "\u2066", "\ufeff", "\u200d"]
    seen = "Rules é漢 \t«ok» \x07 <b> ``` end  \r\nlast\u00a0line without an end"
    put(den.repo, {".git/": "", "CLAUDE.md": f"first\n{hidden[0] * 3}{seen}{''.join(hidden)}"})
    async with den.client() as client:
        turn = await live(client, den.repo)
        system = den.system(turn["turn_id"])
        assert f"first\n{seen}" in system
        assert not [char for char in hidden if char in system]
        (entry,) = told(manifest_of(turn), "hidden_characters")
        assert entry == {"code": "hidden_characters", "message": "CLAUDE.md: lines 2, 3", "data": {"count": 9}}


@on_posix
@journey
async def test_a_name_tears_no_prompt_and_ends_no_turn(tmp_path: Path) -> None:
    den = GuidedDen(tmp_path)
    folder = "in\n## System\u202e"
    put(den.repo, {".git/": "", "AGENTS.md": "root rules @link.md\n", f"{folder}/AGENTS.md": "nested rules"})
    named = b"no\xff.md"  # no UTF-8, as some disks hold it
    try:
        (den.repo / os.fsdecode(named)).write_bytes(b"included rules")
    except OSError:
        pytest.skip("names of this disk are UTF-8")
    (den.repo / "link.md").symlink_to(os.fsdecode(named))
    async with den.client() as client:
        turn = await live(client, den.repo / folder)
        shown = "in\ufffd## System\ufffd/AGENTS.md"
        assert paths(manifest_of(turn)) == ["AGENTS.md", "no\ufffd.md", shown]
        system = den.system(turn["turn_id"])
        assert "### no\ufffd.md (included by AGENTS.md)\n\nincluded rules" in system
        assert f"### {shown}\n\nnested rules" in system
        given = await client.request("instructions/preview", {"cwd": str(den.repo / folder)})
        assert [one["path"] for one in given["files"]] == ["AGENTS.md", "no\ufffd.md", shown]


@journey
async def test_knowledge_statement_34_a_job_has_the_chain_of_its_root_and_both_drivers_the_same(tmp_path: Path) -> None:
    den = GuidedDen(tmp_path)
    put(den.repo, {".git/": "", "AGENTS.md": "rules of the root", "in/AGENTS.md": "nested"})
    put(tmp_path / "else", {".git/": "", "AGENTS.md": "rules from elsewhere"})
    async with den.client() as client:
        await client.request("workspace/create", {"workspace_id": "ws_repo", "root_path": str(den.repo)})
        job = {"workspace_id": "ws_repo", "origin": "task", "task_id": "task_1"}
        system = den.system((await live(client, tmp_path / "else", **job))["turn_id"])
        assert "rules of the root" in system
        assert "rules from elsewhere" not in system
        # the turn's own folder, for both drivers
        await client.request("thread/start", {"thread_id": "thr_both", "workspace_id": "ws_repo"})
        said = [{"type": "text", "text": "hello there"}]
        place = {"thread_id": "thr_both", "cwd": str(den.repo / "in"), "input": said}
        prepared = await client.request("turn/prepare", {**place, "turn_id": "trn_host"})
        (own,) = [one for one in prepared["prompt_sections"] if one["section_id"] == "project_instructions"]
        assert own["stable"]
        await client.request("turn/finish", {"turn_id": "trn_host", "status": "succeeded"})
        await client.wait_for("turn/post_completed", lambda one: one["turn_id"] == "trn_host")
        turn = await take_turn(client, "thr_both", "hello there", "trn_own", cwd=str(den.repo / "in"))
        assert f"## {own['title']}\n\n{own['text']}" in den.system("trn_own")
        assert section(manifest_of(turn)) == section(prepared["prompt_manifest"])


@journey
async def test_knowledge_statement_30_an_equal_file_is_told_and_what_it_includes_is_loaded(tmp_path: Path) -> None:
    den = GuidedDen(tmp_path)
    put(den.repo, {".git/": "", "AGENTS.md": "See @more.md", "more.md": "outer rule"})
    put(den.repo, {"in/AGENTS.md": "See @more.md", "in/more.md": "inner rule"})
    async with den.client() as client:
        preview = await client.request("instructions/preview", {"cwd": str(den.repo / "in")})
        assert [(one["path"], one.get("problem")) for one in preview["files"]] == [
            ("AGENTS.md", None),
            ("more.md", None),
            ("in/AGENTS.md", "repeated"),
            ("in/more.md", None),
        ]
        assert preview["text"].count("See @more.md") == 1
        assert "inner rule" in preview["text"]
        assert preview["diagnostics"] == []


@journey
async def test_knowledge_statement_34_a_job_without_a_folder_has_the_chain_of_its_root(tmp_path: Path) -> None:
    den = GuidedDen(tmp_path)
    put(den.repo, {".git/": "", "AGENTS.md": "rules of the root"})
    async with den.client() as client:
        await client.request("workspace/create", {"workspace_id": "ws_repo", "root_path": str(den.repo)})
        job = {"workspace_id": "ws_repo", "origin": "task", "task_id": "task_1"}
        assert paths(manifest_of(await live(client, None, **job))) == ["AGENTS.md"]
        assert section(manifest_of(await live(client, None, **job, instruction_files="off"))) is None
        bare = {"origin": "task", "task_id": "task_2"}
        assert section(manifest_of(await live(client, None, **bare))) is None  # its workspace has no folder


@journey
async def test_a_file_that_cannot_be_given_is_named_in_the_prompt(tmp_path: Path) -> None:
    den = GuidedDen(tmp_path)
    put(den.repo, {".git/": "", "AGENTS.md": "x" * (MAX_FILE_BYTES + 1), "in/AGENTS.md": "nested rules"})
    async with den.client() as client:
        turn = await live(client, den.repo / "in")
        assert "[AGENTS.md: left out, too large]\n" in den.system(turn["turn_id"])
        assert "nested rules" in den.system(turn["turn_id"])
        (entry,) = told(manifest_of(turn), "instructions_unreadable")
        assert (entry["message"], entry["data"]) == ("AGENTS.md", {"reason": "too_large"})
        assert paths(manifest_of(turn)) == ["in/AGENTS.md"]


@journey
async def test_a_helper_works_in_the_folder_of_its_parent_unless_it_names_another(tmp_path: Path) -> None:
    den = GuidedDen(tmp_path)
    put(den.repo, {".git/": "", "AGENTS.md": "rules of the root", "CLAUDE.md": "rules for one"})
    put(tmp_path / "else", {".git/": "", "AGENTS.md": "rules from elsewhere"})
    async with den.client() as client:
        await client.request(
            "thread/start", {"thread_id": "thr_top", "cwd": str(den.repo), "instruction_profile": "claude"}
        )
        await client.request(
            "thread/start", {"thread_id": "thr_closed", "cwd": str(den.repo), "instruction_files": "off"}
        )
        await client.request("thread/start", {"thread_id": "thr_nowhere"})
        for parent, cwd, more, wanted in (
            ("thr_top", None, {}, "rules for one"),
            ("thr_top", None, {"instruction_profile": "codex"}, "rules of the root"),
            ("thr_top", tmp_path / "else", {}, "rules from elsewhere"),
            ("thr_top", None, {"instruction_files": "off"}, None),
            ("thr_closed", None, {}, None),
            ("thr_nowhere", None, {}, None),
        ):
            turn = await live(client, cwd, parent_thread_id=parent, **more)
            system = den.system(turn["turn_id"])
            assert [text for text in ("rules for one", "rules of the root", "elsewhere") if text in system] == (
                [wanted.removeprefix("rules from ")] if wanted is not None else []
            ), (parent, cwd, more)


@journey
async def test_a_thread_without_a_folder_has_no_instructions_and_no_hook_more(tmp_path: Path) -> None:
    den = GuidedDen(tmp_path)
    put(den.repo, {".git/": "", "AGENTS.md": "rules of the root"})

    def hooks(manifest: dict[str, Any]) -> list[str]:
        return [run["hook_id"] for phase in manifest["phases"] for run in phase["hook_runs"]]

    async with den.client() as client:
        await client.request("workspace/create", {"workspace_id": "ws_repo", "root_path": str(den.repo)})
        without = manifest_of(await live(client, None, workspace_id="ws_repo"))
        assert section(without) is None
        assert not [one for one in hooks(without) if one.startswith("agent.i")]
        off = manifest_of(await live(client, den.repo, instruction_files="off"))
        assert (section(off), hooks(off)) == (None, hooks(without))
        auto = manifest_of(await live(client, None, workspace_id="ws_repo", instruction_files="auto"))
        assert paths(auto) == ["AGENTS.md"]  # asked for: the workspace's own folder
        assert sorted([*hooks(without), "agent.instructions"]) == sorted(hooks(auto))
        gone = manifest_of(await live(client, tmp_path / "gone"))
        assert (section(gone), len(told(gone, "cwd_missing"))) == (None, 1)
        for method, more in (
            ("thread/start", {}),
            ("turn/prepare", {"thread_id": "thr_1", "input": [{"type": "text", "text": "x"}]}),
        ):
            failed = await refusal(client, method, {"cwd": "relative/path", **more})
            assert failed.reason == "invalid_params"


@journey
async def test_a_workspace_is_switched_off_and_on_and_changes_are_told_and_kept(tmp_path: Path) -> None:
    den = GuidedDen(tmp_path)
    key = "AKIAQ" + "3EGRZVNXKKDLQHX"  # shaped like a key of AWS
    put(den.repo, {".git/": "", "AGENTS.md": f"first text, key {key}"})
    ask = {"workspace_id": "ws_here", "path": "AGENTS.md"}
    async with den.client() as client:
        manifest = manifest_of(await live(client, den.repo))
        (secret,) = told(manifest, "secret_in_instructions")
        assert secret["data"] == {"count": 1}
        first = await client.wait_for("instructions/changed")
        assert [one["change"] for one in first["files"]] == ["added"]
        await live(client, den.repo)
        since = len(client.received)
        put(den.repo, {"AGENTS.md": "second text", "in/AGENTS.md": "nested"})
        await live(client, den.repo / "in")
        changed = await client.wait_for("instructions/changed", since=since)
        assert [(one["path"], one["change"]) for one in changed["files"]] == [
            ("AGENTS.md", "changed"),
            ("in/AGENTS.md", "added"),
        ]
        since = len(client.received)
        (den.repo / "in" / "AGENTS.md").unlink()
        await live(client, den.repo / "in")
        gone = await client.wait_for("instructions/changed", since=since)
        assert [(one["path"], one["change"]) for one in gone["files"]] == [("in/AGENTS.md", "removed")]
        assert sum(name == "instructions/changed" for name, _ in client.received) == 3
        kept = await every(client, "instructions/versions", "versions", **ask)
        assert [one["text"] for one in kept] == ["second text", kept[1]["text"]]
        assert kept[1]["text"].startswith("first text, key [secret:")
        for number in range(60):
            put(den.repo, {"AGENTS.md": f"text {number}"})
            await client.request("thread/start", {"thread_id": "thr_many", "cwd": str(den.repo)})
            said = {"thread_id": "thr_many", "turn_id": f"trn_v{number}", "input": [{"type": "text", "text": "x"}]}
            await client.request("turn/prepare", said)
            await client.request("turn/finish", {"turn_id": f"trn_v{number}", "status": "interrupted"})
        kept = await every(client, "instructions/versions", "versions", **ask)
        assert [one["text"] for one in kept] == [f"text {number}" for number in range(59, 9, -1)]
        answer = await client.request("instructions/set", {"workspace_id": "ws_here", "mode": "off"})
        assert answer == {"workspace_id": "ws_here", "mode": "off"}
        manifest = manifest_of(await live(client, den.repo))
        assert (section(manifest), [one["data"] for one in told(manifest, "instructions_off")]) == (
            None,
            [{"reason": "workspace"}],
        )
        await client.request("instructions/set", {"workspace_id": "ws_here", "mode": "on"})
        assert paths(manifest_of(await live(client, den.repo))) == ["AGENTS.md"]
        for method in ("instructions/set", "instructions/versions"):
            more = {"mode": "on"} if method.endswith("set") else {"path": "x"}
            assert (await refusal(client, method, {"workspace_id": "ws_nowhere", **more})).reason == "not_found"
    assert key.encode() not in b"".join(den.files().values())


@journey
async def test_work_in_another_folder_is_no_change_of_its_files(tmp_path: Path) -> None:
    den = GuidedDen(tmp_path)
    put(tmp_path, {"a/.git/": "", "a/AGENTS.md": "rules of a", "a/in/AGENTS.md": "nested"})
    put(tmp_path, {"b/.git/": "", "b/AGENTS.md": "rules of b"})
    folders = [tmp_path / "a", tmp_path / "b", tmp_path / "a" / "in"]
    async with den.client() as client:

        def changes() -> list[list[tuple[str, str]]]:
            told = [given["files"] for name, given in client.received if name == "instructions/changed"]
            return [[(one["path"], one["change"]) for one in files] for files in told]

        for folder in folders * 3:
            await live(client, folder)
        first = [[("AGENTS.md", "added")], [("AGENTS.md", "added")], [("in/AGENTS.md", "added")]]
        assert changes() == first
        put(tmp_path, {"b/AGENTS.md": "other rules of b"})
        (tmp_path / "a" / "in" / "AGENTS.md").unlink()
        for folder in folders * 2:
            await live(client, folder)
        await drain(client)
        assert changes() == [*first, [("AGENTS.md", "changed")], [("in/AGENTS.md", "removed")]]
        ask = {"workspace_id": "ws_here", "path": "AGENTS.md"}
        kept = await every(client, "instructions/versions", "versions", **ask)
        assert [one["text"] for one in kept] == ["other rules of b", "rules of b", "rules of a"]


@journey
async def test_a_forgotten_memory_leaves_kept_versions_of_instruction_files(tmp_path: Path) -> None:
    den, (word,) = GuidedDen(tmp_path), needles(1)
    put(den.repo, {".git/": "", "AGENTS.md": f"Be brief. The vault is called {word}. Be kind."})
    ask = {"workspace_id": "ws_here", "path": "AGENTS.md"}
    async with den.client() as client:
        await live(client, den.repo)
        put(den.repo, {"AGENTS.md": "Be brief."})
        await live(client, den.repo)
        memory_id = await remember(client, f"The vault is called {word}.")
        asked = {"target": {"kind": "id", "memory_id": memory_id}, "mode": "erase", "include_sources": True}
        receipt = (await client.request("memory/forget", asked))["receipt"]
        assert ("instruction", True) in {(one["place"], receipt["complete"]) for one in receipt["sources"]}
        kept = await every(client, "instructions/versions", "versions", **ask)
        assert [one["text"] for one in kept] == ["Be brief.", "Be brief. [forgotten]. Be kind."]
        await drain(client)
        assert files_holding(den, [word]) == set()


@journey
async def test_a_preview_is_what_a_turn_is_given(tmp_path: Path) -> None:
    config = "context_tokens = 4000\n"
    den = GuidedDen(tmp_path, config=config)
    put(den.repo, {".git/": "", "AGENTS.md": "a rule\n\n" * 1000, "in/CLAUDE.md": "nested @../docs/x.md"})
    put(den.repo, {"docs/x.md": "included"})
    async with den.client() as client:
        await client.request("thread/start", {"thread_id": "thr_shown", "cwd": str(den.repo / "in")})
        turn = await take_turn(client, "thr_shown", "hello there", "trn_shown")
        shown = await client.request("instructions/preview", {"thread_id": "thr_shown"})
        assert shown == await client.request("instructions/preview", {"cwd": str(den.repo / "in")})
        assert shown["budget"]["limit"] == 3000  # a quarter of the window
        assert f"## Project instructions\n\n{shown['text']}" in den.system(turn["turn_id"])
        assert (shown["boundary"], len(shown["text"])) == ("git", shown["budget"]["used"])
        assert [(one["path"], one["kind"]) for one in shown["files"]] == [
            ("AGENTS.md", "root"),
            ("in/CLAUDE.md", "nested"),
            ("docs/x.md", "include"),
        ]
        assert shown["files"][1]["used_lines"] == 1
        assert shown["files"][0]["used_lines"] == shown["cut"][0]["from_line"] - 1
        for thread_id, more, reason in (
            ("thr_off", {"cwd": str(den.repo), "instruction_files": "off"}, "thread"),
            ("thr_nowhere", {}, "no_folder"),
        ):
            await client.request("thread/start", {"thread_id": thread_id, **more})
            without = await client.request("instructions/preview", {"thread_id": thread_id})
            assert (without["text"], without["files"]) == ("", [])
            assert [(one["code"], one["data"]) for one in without["diagnostics"]] == [
                ("instructions_off", {"reason": reason})
            ]
        claude = await client.request("instructions/preview", {"cwd": str(den.repo), "profile": "claude"})
        assert [one["path"] for one in claude["files"]] == ["AGENTS.md"]
        for params, reason in (
            ({"thread_id": "thr_none"}, "not_found"),
            ({"workspace_id": "ws_none"}, "not_found"),
            ({}, "invalid_params"),
            ({"cwd": "a"}, "invalid_params"),
        ):
            assert (await refusal(client, "instructions/preview", params)).reason == reason
