"""Names and links of files, from outside: what a link leads to, and what one step over it brings."""

import json
import subprocess
from pathlib import Path
from typing import Any

import apsw
import pytest
from spawned import Den, drain, every, journey, refusal
from test_knowledge import add, paths, search, write

from gateway.wire.client import GatewayClient, console_script

pytestmark = pytest.mark.followed


async def edges(client: GatewayClient, entity: str, **more: Any) -> list[dict[str, Any]]:
    return await every(client, "knowledge/edges", "edges", entity=entity, **more)


async def names(client: GatewayClient) -> dict[str, dict[str, Any]]:
    """Entities by id."""
    return {one["entity_id"]: one for one in await every(client, "knowledge/entities", "entities")}


async def scan(client: GatewayClient) -> None:
    await client.request("knowledge/collections/scan", {"collection_id": "notes"})
    await drain(client)


@journey
async def test_a_readme_that_moves_leaves_its_folder_without_a_name(tmp_path: Path) -> None:
    folder = write(
        tmp_path / "notes",
        {
            "lib/README.md": "# Lib\n",
            "lib/more.md": "A walrus.\n",
            "app/a.md": "An app.\n",
            "both/index.md": "# One\n",
            "both/README.md": "# Two\n",
            "both/b.md": "A pelican.\n",
        },
    )
    async with Den(tmp_path / "den").client() as client:
        await add(client, folder)
        assert folders_of(await names(client)) == {"lib": 2, "both": 3}
        (folder / "lib" / "README.md").rename(folder / "app" / "README.md")
        (folder / "both" / "README.md").rename(folder / "both" / "told.md")
        await scan(client)
        assert folders_of(await names(client)) == {"app": 2, "both": 3}
        assert await edges(client, "notes:lib/more.md") == []
        (belongs,) = await edges(client, "notes:both/b.md")
        assert (belongs["kind"], belongs.get("unresolved")) == ("member_of", None)
        (folder / "both" / "index.md").rename(folder / "lib" / "index.md")
        await scan(client)
        assert folders_of(await names(client)) == {"app": 2, "lib": 2}
        assert await edges(client, "notes:both/b.md") == []
        (folder / "app" / "README.md").unlink()
        await scan(client)
        assert folders_of(await names(client)) == {"lib": 2}
        assert await edges(client, "notes:app/a.md") == []


def folders_of(known: dict[str, dict[str, Any]]) -> dict[str, int]:
    """How many files the folders have that are entities by a note of their own."""
    return {one["path"]: one["files"] for one in known.values() if one["kind"] == "folder"}


@journey
async def test_knowledge_statement_01_folders_pages_tags_and_code_have_their_kinds(tmp_path: Path) -> None:
    kinds = {
        "1 Projects": "project",
        "areas": "area",
        "Resources": "resource",
        "Archive": "archive",
        "00_Inbox": "inbox",
    }
    folder = write(
        tmp_path / "notes", {f"{name}/x/{kind}.md": f"The walrus of {kind}.\n" for name, kind in kinds.items()}
    )
    write(
        folder,
        {
            "lib/README.md": "# Lib\n",
            "lib/more.md": "The walrus of the library.\n",
            "loose/a.md": "A walrus, loose.\n",
            "tool.py": "walrus = 1\n",
            "plain.txt": "A walrus in a text.\n",
            "tagged.md": "---\ntags: [Ice, sea]\naliases: [Frozen]\n---\nThe walrus, tagged.\n",
            "other.md": "---\ntags: sea, salt\n---\nA walrus.\n",
        },
    )
    async with Den(tmp_path / "den").client() as client:
        await add(client, folder)
        known = await names(client)
        found = {(one["kind"], one["path"] or one["name"]): one["files"] for one in known.values()}
        for name, kind in kinds.items():
            assert found[kind, name] == found[kind, f"{name}/x"] == found["page", f"{name}/x/{kind}.md"] == 1
        assert found["folder", "lib"] == 2
        assert found["code", "tool.py"] == 1
        assert (found["tag", "Ice"], found["tag", "sea"]) == (1, 2)
        assert {path for kind, path in found if kind == "folder"} == {"lib"}
        expected = {
            "notes:1 Projects/x": {"1 Projects/x/project.md"},
            "areas": {"areas/x/area.md"},
            "lib": {"lib/README.md", "lib/more.md"},
            "Frozen": {"tagged.md"},
            "ice": {"tagged.md"},
            "#sea": {"tagged.md", "other.md"},
            "salt": {"other.md"},
            "tool.py": {"tool.py"},
            "lib/more.md": {"lib/more.md"},
            "more": {"lib/more.md"},
            "nothing of that name": set(),
            "notes:none": set(),
        }
        for entity, wanted in expected.items():
            answer = await search(client, "walrus lib", entity=entity, max_results=50)
            assert set(paths(answer)) == wanted, entity
        by_id = next(one["entity_id"] for one in known.values() if one["name"] == "sea")
        assert set(paths(await search(client, "walrus", entity=by_id))) == {"tagged.md", "other.md"}
        failed = await refusal(client, "knowledge/search", {"query": "walrus", "entity": "x"})
        assert failed.reason == "invalid_params"
        assert len(failed.data["details"]["candidates"]) == 5
        (hit,) = (await search(client, "walrus", entity="Frozen"))["hits"]
        assert {(one["kind"], one["name"]) for one in hit["entities"]} == {
            ("page", "tagged"),
            ("tag", "Ice"),
            ("tag", "sea"),
        }


@journey
async def test_knowledge_statement_20_a_link_by_name_leads_to_one_note_or_to_none(tmp_path: Path) -> None:
    folder = write(
        tmp_path / "notes",
        {
            "index.md": "See [[Name]] and [[Later]] and [[Nick]].\n\n```\n[[Fenced]]\n```\nAnd `[[Coded]]`.\n",
            "a/Name.md": "One walrus.\n",
            "b/Name.md": "Another walrus.\n",
            "c/known.md": "---\naliases: [Nick]\n---\nThe third.\n",
        },
    )
    async with Den(tmp_path / "den").client() as client:
        await add(client, folder)

        async def links() -> dict[str, Any]:
            """Where the links of the index lead, by what was written."""
            known, found = await names(client), dict[str, Any]()
            for edge in await edges(client, "notes:index.md", direction="out"):
                if edge["unresolved"] is not None:
                    found[edge["unresolved"]["text"]] = sorted(
                        known[one]["path"] for one in edge["unresolved"]["candidates"]
                    )
                else:
                    found[known[edge["to"]]["path"]] = edge["kind"]
            return found

        assert await links() == {"Name": ["a/Name.md", "b/Name.md"], "Later": [], "c/known.md": "links"}
        (folder / "b" / "Name.md").rename(folder / "b" / "Renamed.md")
        await scan(client)
        assert await links() == {"a/Name.md": "links", "Later": [], "c/known.md": "links"}
        write(folder, {"d/Later.md": "Here at last.\n"})
        await scan(client)
        assert await links() == {"a/Name.md": "links", "d/Later.md": "links", "c/known.md": "links"}
        (folder / "a" / "Name.md").unlink()
        (folder / "c" / "known.md").write_text("Nothing else.\n", encoding="utf-8")
        await scan(client)
        assert await links() == {"Name": [], "d/Later.md": "links", "Nick": []}


@journey
async def test_knowledge_links_have_the_kinds_and_strengths_of_their_forms(tmp_path: Path) -> None:
    folder = write(
        tmp_path / "notes",
        {
            "here/a.md": "---\nrelated: ['[[rel]]']\nup: top\nsupersedes: '[[old]]'\nsuperseded_by: new\n---\n"
            "[b](b.md) [b](b.md) [c](../c.md#Part) ![[emb]] [web](https://example.org) ![pic](x.png) [[pic.png]]\n",
            "here/b.md": "x\n",
            "c.md": "# Part\n",
            "emb.md": "x\n",
            "rel.md": "x\n",
            "top.md": "x\n",
            "old.md": "x\n",
            "new.md": "x\n",
            "src/app/main.py": "import os\nfrom app.util import helper\nfrom . import near\n",
            "src/app/util.py": "x = 1\n",
            "src/app/near.py": "y = 1\n",
            "web/m.ts": "import { a } from './n'\n",
            "web/n.ts": "export const a = 1\n",
            "crate/src/lib.rs": "mod foo;\n",
            "crate/src/foo.rs": 'mod bar;\n#[path = "odd.rs"]\nmod strange;\n',
            "crate/src/foo/bar.rs": "fn bar() {}\n",
            "crate/src/odd.rs": "fn odd() {}\n",
        },
    )
    async with Den(tmp_path / "den").client() as client:
        await add(client, folder)
        known = await names(client)

        async def told(entity: str, **more: Any) -> set[tuple[str, str, str, float]]:
            return {
                (known[one["from"]]["path"], one["kind"], known[one["to"]]["path"], one["strength"])
                for one in await edges(client, entity, **more)
                if one["to"] is not None
            }

        assert await told("notes:here/a.md") == {
            ("here/a.md", "links", "here/b.md", 0.7),
            ("here/a.md", "links", "c.md", 0.6),
            ("here/a.md", "embeds", "emb.md", 0.7),
            ("here/a.md", "relates", "rel.md", 0.8),
            ("here/a.md", "relates", "top.md", 0.8),
            ("here/a.md", "supersedes", "old.md", 0.9),
            ("new.md", "supersedes", "here/a.md", 0.9),
        }
        assert [one["unresolved"] for one in await edges(client, "notes:here/a.md") if one["to"] is None] == []
        assert await told("main.py") == {
            ("src/app/main.py", "imports", "src/app/util.py", 0.6),
            ("src/app/main.py", "imports", "src/app/near.py", 0.6),
        }
        assert await told("crate/src/foo.rs") == {
            ("crate/src/lib.rs", "imports", "crate/src/foo.rs", 0.6),
            ("crate/src/foo.rs", "imports", "crate/src/foo/bar.rs", 0.6),
            ("crate/src/foo.rs", "imports", "crate/src/odd.rs", 0.6),
        }
        assert await told("web/n.ts", direction="in") == {("web/m.ts", "imports", "web/n.ts", 0.6)}
        assert await told("notes:here/a.md", min_strength=0.75, kinds=["relates", "links"]) == {
            ("here/a.md", "relates", "rel.md", 0.8),
            ("here/a.md", "relates", "top.md", 0.8),
        }
        (link, *_) = await edges(client, "notes:here/a.md", kinds=["links"])
        assert link["address"] == "notes:here/a.md#L7"
        before = {one["path"]: one["entity_id"] for one in known.values()}
        (folder / "here").rename(folder / "there")
        await scan(client)
        known = await names(client)
        after = {one["path"]: one["entity_id"] for one in known.values()}
        assert after["there/a.md"] == before["here/a.md"]
        assert ("there/a.md", "links", "there/b.md", 0.7) in await told("notes:there/a.md")
        receipt = (await client.request("knowledge/collections/remove", {"collection_id": "notes"}))["receipt"]
        assert receipt["edges"] >= 10
        assert receipt["complete"]
        assert await names(client) == {}


@journey
async def test_knowledge_links_to_one_note_are_one_edge_however_they_are_written(tmp_path: Path) -> None:
    folder = write(
        tmp_path / "notes",
        {
            "a.md": "The walrus: [[Near]] and [n](Near.md).\n\n[[Near|again]] [[near]] ![[Near]] [[a]]\n",
            "b.md": "[[Near#Part]] [[Near]] [[Near]] [[Near]] [[Near]] [[Near]]\n",
            "Near.md": "# Near\n\nA seal.\n",
        },
    )
    async with Den(tmp_path / "den").client() as client:
        await add(client, folder)

        async def told(entity: str, **more: Any) -> list[tuple[str, str, str | None, float, str]]:
            known = {one: entity["path"] for one, entity in (await names(client)).items()}
            found = await edges(client, entity, limit=1, **more)
            return [(known[e["from"]], e["kind"], known.get(e["to"]), e["strength"], e["address"]) for e in found]

        near = [
            ("a.md", "links", "Near.md", 0.9, "notes:a.md#L1"),
            ("a.md", "embeds", "Near.md", 0.7, "notes:a.md#L3"),
        ]
        assert sorted(await told("notes:a.md")) == sorted([*near, ("a.md", "links", "a.md", 0.6, "notes:a.md#L3")])
        assert ("b.md", "links", "Near.md", 1.0, "notes:b.md#L1") in await told("Near", direction="in")
        assert {edge[3] for edge in await told("Near", min_strength=0.8)} == {0.9, 1.0}
        found = (await search(client, "walrus", include_related=True))["hits"]
        (seal,) = [hit for hit in found if hit["locations"][0]["path"] == "Near.md"]
        assert seal["via"]["strength"] == 0.9
        # each spelling has its own fate when names change
        write(folder, {"other/near.md": "Another.\n"})
        await scan(client)
        assert ("a.md", "links", "Near.md", 0.6, "notes:a.md#L1") in await told("notes:a.md")
        (folder / "other" / "near.md").unlink()
        await scan(client)
        assert near[0] in await told("notes:a.md")


def set_strength(den: Den, kind: str, target: str, strength: float) -> None:
    """Have a link of a home without a process be as strong as that."""
    database = apsw.Connection(str(den.home / "gateway.db"))
    try:
        database.execute("UPDATE edge SET strength = ? WHERE kind = ? AND target = ?", (strength, kind, target))
        assert database.changes() == 1
    finally:
        database.close()


@journey
async def test_knowledge_an_import_leads_to_a_package_that_comes_later_and_to_nothing_else(tmp_path: Path) -> None:
    text = "import os\nimport json, util\nfrom pkg.part import thing\n"
    folder = write(tmp_path / "notes", {"app.py": text, "web/a.ts": 'import x from "./lib"\n'})
    den = Den(tmp_path / "den")
    async with den.client() as client:

        async def led(entity: str) -> set[str]:
            known = await names(client)
            return {known[one["to"]]["path"] for one in await edges(client, entity, direction="out")}

        await add(client, folder)
        assert await led("notes:app.py") == set()
        write(folder, {"pkg/__init__.py": "", "pkg/part/__init__.py": "thing = 1\n", "web/lib/index.ts": "export 1\n"})
        write(folder, {"util.py": "x = 1\n"})
        await scan(client)
        assert await led("notes:app.py") == {"util.py", "pkg/part/__init__.py"}
        assert await led("notes:web/a.ts") == {"web/lib/index.ts"}
        (folder / "web").rename(folder / "site")
        (folder / "util.py").unlink()
        (folder / "pkg").rename(folder / "kit")
        await scan(client)
        assert await led("notes:app.py") == set()
        assert await led("notes:site/a.ts") == {"site/lib/index.ts"}
        (folder / "kit").rename(folder / "pkg")
        await scan(client)
        assert await led("notes:app.py") == {"pkg/part/__init__.py"}
    database = den.database()
    lost = "SELECT count(*) FROM edge WHERE kind = 'imports' AND to_entity IS NULL"
    assert list(database.execute(lost)) == [(0,)]
    database.close()


@journey
async def test_knowledge_statement_18_one_step_over_strong_links_and_never_over_a_tag(tmp_path: Path) -> None:
    files = {
        "seed.md": "---\ntags: [common]\n---\nThe walrus sleeps. See [[weak]], [[strong]] and [[deep#Second part]].\n",
        "weak.md": "Pelicans.\n",
        "strong.md": "Herons. See [[two]].\n",
        "two.md": "Otters.\n",
        "deep.md": "# Deep\n\nFirst words.\n\n## Second part\n\nSecond words.\n",
    }
    files |= {f"many/n{n}.md": f"---\ntags: [common]\n---\nNumber {n}.\n" for n in range(500)}
    folder, den = write(tmp_path / "notes", files), Den(tmp_path / "den")
    async with den.client() as client:
        await add(client, folder)
    set_strength(den, "links", "weak", 0.2)
    set_strength(den, "links", "strong", 0.21)
    async with den.client() as client:
        plain = await search(client, "walrus sleeps", max_results=50)
        assert paths(plain) == ["seed.md"]
        found = await search(client, "walrus sleeps", max_results=50, include_related=True)
        hits = {hit["locations"][0]["path"]: hit for hit in found["hits"]}
        assert set(hits) == {"seed.md", "strong.md", "deep.md"}
        seed = hits["seed.md"]
        near = hits["strong.md"]
        assert near["score"] == near["breakdown"]["related"] == 0.2 * seed["score"]
        assert (near["via"]["kind"], near["via"]["strength"], near["via"]["direction"]) == ("links", 0.21, "out")
        assert near["via"]["entity_id"] == next(one["entity_id"] for one in seed["entities"] if one["kind"] == "page")
        assert hits["deep.md"]["text"].startswith("## Second part")
        # both directions count
        back = await search(client, "pelicans herons otters", max_results=50, include_related=True)
        by_path = {hit["locations"][0]["path"]: hit for hit in back["hits"]}
        assert by_path["seed.md"]["via"]["direction"] == "in"
        # entity and importance stay hard filters, and what is not there any more is not shown
        assert set(paths(await search(client, "walrus", entity="seed.md", include_related=True))) == {"seed.md"}
        assert set(paths(await search(client, "walrus", min_importance=0.6, include_related=True))) == set()
        (folder / "strong.md").unlink()
        gone = await search(client, "walrus sleeps", max_results=50, include_related=True)
        assert "strong.md" not in paths(gone)
        assert {"code": "stale_dropped", "message": None, "data": {"count": 1}} in gone["diagnostics"]
        await drain(client)
        assert await edges(client, "notes:strong.md") == []


def test_knowledge_links_are_told_by_the_command_line(tmp_path: Path) -> None:
    folder = write(tmp_path / "notes", {"a.md": "See [[b]] and [[c]].\n", "b.md": "The walrus.\n"})
    den = Den(tmp_path / "den")

    @journey
    async def prepare() -> None:
        async with den.client() as client:
            await add(client, folder)

    prepare()
    place = ["--home", str(den.home), "--config", str(den.config), "--workspace", "ws_here"]

    def run(*words: str, code: int = 0) -> str:
        command = [*console_script(), "knowledge", *words, *place]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        assert done.returncode == code, done.stderr
        assert bool(code) == ("nothing found" in done.stderr)
        return done.stdout

    assert "b" in run("edges", "a")
    told = json.loads(run("edges", "a", "--json"))["edges"]
    assert [one["kind"] for one in told] == ["links", "links"]
    assert "c" in run("edges", "notes:a.md", "--direction", "out", "--kind", "links")
    assert run("edges", "nobody", code=1).strip() == ""
    assert "page" in run("entities")
    assert json.loads(run("entities", "b", "--json"))["entities"][0]["path"] == "b.md"
