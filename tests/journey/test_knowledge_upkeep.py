"""Care for files: what became ignored is shown no more, the doctor looks and mends, and nothing is ever written to
them."""

import json
import os
import subprocess
from hashlib import sha256
from pathlib import Path
from typing import Any

import apsw
import pytest
from guidance_stage import GuidedDen, agent, put
from leak_rows import ROWS, TOOL_ROWS
from served_notes import serve_notes
from spawned import Den, drain, every, hello, journey, on_posix, take_turn
from test_knowledge import add, paths, search, write
from test_leaks import filled, names_of_nobody, outcome

from gateway.wire.client import console_script


@journey
async def test_knowledge_statement_09_what_becomes_ignored_is_shown_no_more_at_once(tmp_path: Path) -> None:
    folder = write(
        tmp_path / "notes",
        {"a.md": "The walrus a.\n", "drafts/deep/b.md": "The walrus b.\n", "c.md": "The walrus c.\n"},
    )
    async with Den(tmp_path / "den").client() as client:
        await add(client, folder)
        assert set(paths(await search(client, "walrus"))) == {"a.md", "drafts/deep/b.md", "c.md"}
        (folder / ".gitignore").write_text("drafts/\n", encoding="utf-8")
        (folder / ".pioneerignore").write_text("c.md\n", encoding="utf-8")
        found = await search(client, "walrus")
        assert paths(found) == ["a.md"]
        assert {one["code"]: one["data"] for one in found["diagnostics"]}["stale_dropped"] == {"count": 2}
        failed = await outcome(client, "knowledge/read", {"collection_id": "notes", "path": "c.md"})
        assert failed["error"][2]["reason"] == "not_found"
        told = await client.request("knowledge/explain", {"collection_id": "notes", "path": "drafts/deep/b.md"})
        assert (told["rule"]["file"], told["rule"]["line"], told["rule"]["pattern"]) == (".gitignore", 1, "drafts/")
        await drain(client)
        events = await every(client, "knowledge/changes", "events")
        assert {one["path"] for one in events if one["event"] == "ignored"} == {"c.md", "drafts/deep/b.md"}


@journey
async def test_knowledge_what_a_note_keeps_out_of_itself_is_shown_no_more_at_once(tmp_path: Path) -> None:
    text = "---\ntitle: Private\nknowledge: true\n---\n# One\n\nThe walrus one.\n\n# Two\n\nThe walrus two.\n"
    folder = write(tmp_path / "notes", {"a.md": text, "b.md": "The walrus b.\n"})
    async with Den(tmp_path / "den").client() as client:
        await add(client, folder)
        found = await search(client, "walrus two")
        assert {hit["locations"][0]["path"]: hit["title"] for hit in found["hits"]} == {
            "a.md": "Private",
            "b.md": "b.md",
        }
        read = await client.request("knowledge/read", {"address": "notes:a.md#two"})
        assert (read["from_line"], read["to_line"]) == (9, 11)
        (folder / "a.md").write_text(text.replace("true", "no"), encoding="utf-8")
        found = await search(client, "walrus")
        assert paths(found) == ["b.md"]
        assert "stale_dropped" in {one["code"] for one in found["diagnostics"]}
        failed = await outcome(client, "knowledge/read", {"collection_id": "notes", "path": "a.md"})
        assert failed["error"][2]["reason"] == "not_found"
        told = await client.request("knowledge/explain", {"query": "walrus"})
        assert [one["name"] for one in told["gates"]] == [
            "collection",
            "file_state",
            "verified",
            "secret",
            "floor",
            "budget",
            "already_shown",
        ]


@journey
async def test_knowledge_what_a_note_keeps_out_of_itself_is_not_shown_while_it_waits_to_be_read(tmp_path: Path) -> None:
    folder = write(tmp_path / "notes", {"a.md": "The walrus sleeps.\n"})
    den = Den(tmp_path / "den", config="[gateway.knowledge]\nwatch_enabled = false\n")
    async with serve_notes(folder, den) as notes:
        write(folder, {"a.md": "---\nknowledge: false\n---\nThe walrus sleeps.\n"})
        await notes.fail("a.md", "changing")
        for _ in range(2):
            assert (await notes.files())[0]["state"] == "pending"
            assert (await notes.call("knowledge/search", query="walrus", source="file"))["hits"] == []
        thread_id = (await notes.call("thread/start"))["thread"]["thread_id"]
        asked = [{"type": "text", "text": "Does my note say that the walrus sleeps?"}]
        prepared = await notes.call("turn/prepare", thread_id=thread_id, input=asked)
        assert "The walrus sleeps." not in json.dumps(prepared)


@journey
async def test_knowledge_consent_to_enrichment_is_stored_and_answered_honestly(tmp_path: Path) -> None:
    folder = write(tmp_path / "notes", {"a.md": "The walrus a.\n"})
    script = tmp_path / "script.json"
    script.write_text("[]", encoding="utf-8")
    provider = '[gateway.roles]\nenricher = "it"\n[gateway.providers.it]\nkind = "scripted"\nscript = "script.json"\n'

    async def enrichment(den: Den) -> str:
        async with den.client() as client:
            (status,) = (await client.request("knowledge/status", {}))["collections"]
            return status["enrichment"]

    den = Den(tmp_path / "den")
    async with den.client() as client:
        await add(client, folder)
    assert await enrichment(den) == "off"
    async with den.client() as client:
        await client.request("knowledge/collections/update", {"collection_id": "notes", "enrich": True})
    assert await enrichment(den) == "no_role"
    den.config.write_text(provider.replace("script.json", str(script)), encoding="utf-8")
    assert await enrichment(den) == "not_available"


def doctor(den: Den, *words: str, code: int | None = None) -> list[dict[str, Any]]:
    """The findings of the doctor about files."""
    place = ["--home", str(den.home), "--config", str(den.config)]
    done = subprocess.run(
        [*console_script(), "doctor", *words, "--json", *place], capture_output=True, text=True, check=False
    )
    assert code is None or done.returncode == code, done.stderr
    return [one for one in json.loads(done.stdout)["findings"] if one["check"] == "files"]


@on_posix
def test_the_doctor_looks_at_files_and_has_them_read_again(tmp_path: Path) -> None:
    folder, den = (
        write(tmp_path / "notes", {f"n{n}.md": f"The walrus number w{n}x.\n" for n in range(20)}),
        Den(tmp_path / "den"),
    )

    @journey
    async def prepare() -> None:
        async with den.client() as client:
            await add(client, folder)

    @journey
    async def mended() -> None:
        async with den.client() as client:
            await drain(client)
            assert paths(await search(client, "pelican")) == ["n3.md"]

    @journey
    async def read_again() -> None:
        async with den.client() as client:
            await client.request("knowledge/collections/scan", {"collection_id": "notes", "deep": True})
            await drain(client)
            assert (await search(client, "n7"))["hits"][0]["locations"][0]["path"] == "n7.md"

    prepare()
    assert [one["level"] for one in doctor(den)] == ["ok"]
    known = (folder / "n3.md").stat()
    (folder / "n3.md").write_text("The pelican nmb w3x.\n\n\n\n"[: known.st_size], encoding="utf-8")
    os.utime(folder / "n3.md", ns=(known.st_atime_ns, known.st_mtime_ns))
    assert (folder / "n3.md").stat().st_size == known.st_size
    (found,) = doctor(den)
    assert (found["level"], found["text"].split()[0]) == ("warning", "1")
    doctor(den, "--fix")
    mended()
    assert [one["level"] for one in doctor(den)] == ["ok"]
    folder.rename(tmp_path / "elsewhere")
    (found,) = doctor(den)
    assert "notes: its folder is not there" in found["text"]
    (tmp_path / "elsewhere").rename(folder)
    database = apsw.Connection(str(den.home / "gateway.db"))
    database.execute("UPDATE knowledge_file SET state = 'failed' WHERE name = 'n5.md'")
    database.close()
    (found,) = doctor(den)
    assert "1 files could not be read" in found["text"]
    doctor(den, "--fix")
    mended()
    emptied = "INSERT INTO {0} ({0}) VALUES ('delete-all')"
    for table in ("knowledge_fts", "knowledge_card_fts"):
        database = apsw.Connection(str(den.home / "gateway.db"))
        database.execute(emptied.format(table))
        database.execute(f"INSERT INTO {table} (rowid, body) VALUES (99999, 'stray')")  # noqa: S608
        database.close()
        assert {one["text"].split(" ", 1)[1] for one in doctor(den)} == {
            f"{'pieces' if table == 'knowledge_fts' else 'files'} without words in the index of files",
            f"words without {'piece' if table == 'knowledge_fts' else 'file'} in the index of files",
        }
        doctor(den, "--fix")
        assert [one["level"] for one in doctor(den)] == ["ok"]
        mended()
    database = apsw.Connection(str(den.home / "gateway.db"))
    database.execute(emptied.format("knowledge_card_fts"))
    database.close()
    read_again()
    assert [one["level"] for one in doctor(den)] == ["ok"]


def fingerprint(folder: Path) -> dict[str, tuple[str, int]]:
    """The digest and time of each file below a folder."""
    return {
        path.relative_to(folder).as_posix(): (sha256(path.read_bytes()).hexdigest(), path.stat().st_mtime_ns)
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


@pytest.mark.loop("check")
@journey
async def test_knowledge_statement_37_no_method_tool_or_job_changes_a_file_of_the_user(tmp_path: Path) -> None:
    den = GuidedDen(tmp_path)
    put(
        den.repo,
        {".git/": "", "AGENTS.md": "RULES @docs/rules.md", "docs/rules.md": "More rules.", "src/CLAUDE.md": "Nested."},
    )
    put(den.agents, agent("reviewer", soul="SOUL", memory="SEED"))
    notes = write(
        tmp_path / "notes",
        {
            "plan.md": "---\ntags: [budget]\n---\n# Plan\n\nThe lantern under the blue staircase. See [[other]].\n",
            "other.md": "Other.\n",
            "code.py": "import os\n",
            "keys.pem": "secret\n",
            ".gitignore": "x/\n",
            "x/y.md": "ignored\n",
        },
    )
    folders = (den.repo, den.agents, notes)
    before = [fingerprint(folder) for folder in folders]
    names = names_of_nobody() | {
        "workspace": "ws_here",
        "collection": "notes",
        "folder": str(notes),
        "thread": "thr_1",
        "turn": "trn_1",
        "open_turn": "trn_open",
        "open_thread": "thr_open",
        "agent": "reviewer",
        "mark": "m1",
        **{f"own_{name}": f"own-{name}" for name in ("candidate", "new_thread", "open_turn", "thread", "workspace")},
    }
    answered: set[str] = set()
    async with await den.spawn() as client:
        methods = set((await hello(client))["capabilities"]["methods"])
        await client.request(
            "thread/start", {"thread_id": "thr_1", "agent_id": "reviewer", "agent": True, "cwd": str(den.repo)}
        )
        await client.request("thread/start", {"thread_id": "thr_open", "cwd": str(den.repo / "src")})
        await add(client, notes)
        (file, *_) = (await client.request("knowledge/files", {"collection_id": "notes"}))["files"]
        names["file"] = file["file_id"]
        await take_turn(client, "thr_1", "What do my notes say about the lantern?", "trn_1")
        opened = {
            "thread_id": "thr_open",
            "turn_id": "trn_open",
            "input": [{"type": "text", "text": "search my notes"}],
        }
        await client.request("turn/prepare", opened)
        asked = {"domains": ["memory", "artifact", "agent", "knowledge"], "reason": "x"}
        await client.request(
            "turn/tool_call", {"turn_id": "trn_open", "call_id": "c0", "name": "request_tools", "arguments": asked}
        )
        for number, (tool, arguments) in enumerate(TOOL_ROWS):
            call = {
                "turn_id": "trn_open",
                "call_id": f"call_{number}",
                "name": tool,
                "arguments": filled(arguments, names),
            }
            await outcome(client, "turn/tool_call", call)
        last = ("knowledge/collections/remove", "workspace/delete", "shutdown")
        rows = sorted((row for row in ROWS if row.method in methods), key=lambda row: row.method in last)
        for row in rows:
            if row.method in {"initialize", "shutdown"}:
                continue
            context = {"context": {"workspace_id": "ws_here"}} if row.kind == "scoped" else {}
            came = await outcome(client, row.method, {**filled(row.params, names), **context})
            if "result" not in came and context:
                came = await outcome(client, row.method, filled(row.params, names))
            answered.add(row.method)
        await drain(client)
    assert methods - answered <= {"initialize", "shutdown", "exit", "gateway/cancel", "$/cancel"}
    assert [fingerprint(folder) for folder in folders] == before
