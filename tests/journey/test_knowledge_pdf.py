"""PDF files of a collection: read by page beside the process, shown while their bytes are the same, gone with the
collection."""

import zlib
from typing import Any

import pytest
from small_pdf import bomb, encrypted, pdf
from spawned import Den, drain, journey, on_linux, refusal
from test_knowledge import add, paths, search, write

KEY = "AKIAIOSFODNN7" + "EXAMPL2"

pytest.importorskip("pypdf")


@journey
async def test_knowledge_pdf_is_found_by_page_and_read_while_it_is_the_same(tmp_path):
    folder = write(tmp_path / "notes", {"a.md": "A note.\n"})
    (folder / "report.pdf").write_bytes(
        pdf(["The walrus of page one.", f"The heron of page two.\nIts key is {KEY}.", "Last."])
    )
    den = Den(tmp_path / "den")
    async with den.client() as client:
        name = await add(client, folder)
        preview = await client.request(
            "knowledge/collections/add", {"path": str(folder), "scope": "user", "dry_run": True}
        )
        assert preview["preview"]["by_kind"] == {"markdown": 1, "pdf": 1}
        found = (await search(client, "heron"))["hits"][0]
        assert [(one["path"], one["page"]) for one in found["locations"]] == [("report.pdf", 2)]
        assert "heron of page two" in found["text"]
        assert KEY not in found["text"]
        read = await client.request("knowledge/read", {"address": found["address"]})
        assert read["state"] == "same"
        assert "heron of page two" in read["text"]
        (folder / "report.pdf").write_bytes(pdf(["The pelican of page one."]))
        stale = await search(client, "heron")
        assert stale["hits"] == []
        assert [one["data"] for one in stale["diagnostics"] if one["code"] == "stale_dropped"] == [{"count": 1}]
        await drain(client)
        assert paths(await search(client, "pelican")) == ["report.pdf"]
        await client.request("knowledge/collections/remove", {"collection_id": name})
    assert den.database().execute("SELECT count(*) FROM pdf_text").fetchall() == [(0,)]


@journey
async def test_knowledge_statement_18_a_linked_pdf_is_shown_with_the_note_that_links_to_it(tmp_path):
    folder = write(
        tmp_path / "notes",
        {
            "seed.md": "The walrus sleeps. See [the paper](papers/herons.pdf).\n",
            "other.md": "The otter sleeps: ![[herons.pdf]]\n",
            "third.md": "The lantern is lit, see [[herons]].\n",
            "herons.md": "A note about the paper.\n",
            "papers/x.md": "Nothing.\n",
        },
    )
    (folder / "papers" / "herons.pdf").write_bytes(pdf(["Pelicans of page one.", "Cormorants of page two."]))

    async def related(query: str) -> dict[str, dict[str, Any]]:
        found = await search(client, query, max_results=50, include_related=True)
        return {hit["locations"][0]["path"]: hit for hit in found["hits"]}

    async with Den(tmp_path / "den").client() as client:
        await add(client, folder)
        hits = await related("walrus sleeps")
        near = hits["papers/herons.pdf"]
        assert (near["locations"][0]["page"], near["via"]["kind"]) == (1, "links")
        assert "Pelicans of page one" in near["text"]
        assert near["score"] == 0.2 * hits["seed.md"]["score"]
        assert (await related("otter"))["papers/herons.pdf"]["via"]["kind"] == "embeds"
        assert set(await related("lantern lit")) == {"third.md", "herons.md"}  # a bare name is that of the note
        assert (await related("cormorants"))["seed.md"]["via"]["direction"] == "in"
        (folder / "papers" / "herons.pdf").write_bytes(pdf(["Something else."]))
        assert "papers/herons.pdf" not in await related("walrus sleeps")


@journey
async def test_knowledge_statement_40_pdf_settings_bound_what_is_read(tmp_path):
    folder = write(tmp_path / "notes", {"a.md": "A note.\n"})
    (folder / "long.pdf").write_bytes(pdf([f"Word{page} of the walrus." for page in range(6)]))
    (folder / "big.pdf").write_bytes(pdf(["x" * 9000]))
    config = "[gateway.knowledge]\nmax_pdf_pages = 2\nmax_pdf_bytes = 6000\n"
    async with Den(tmp_path / "den", config=config).client() as client:
        name = await add(client, folder)
        found = await client.request("knowledge/files", {"collection_id": name, "kinds": ["pdf"]})
        assert [(one["path"], one["state"]) for one in found["files"]] == [("long.pdf", "partial")]
        assert (found["files"][0]["left_out"], found["files"][0]["left_out_pages"]) == (None, [[3, 6]])
        got = (await client.request("knowledge/collections/get", {"collection_id": name}))["collection"]
        assert got["files"]["skipped"] == {"too_large": 1}
        assert set(paths(await search(client, "word1"))) == {"long.pdf"}
        assert "Word4" not in str(await search(client, "word4 walrus"))


@journey
async def test_a_pdf_says_which_pages_were_lost_and_one_without_any_is_no_pdf(tmp_path):
    damaged = b"\x78\x9c" + b"\xff" * 40
    one, three = (zlib.compress(b"BT /F1 12 Tf 72 720 Td (The walrus of page %d.) Tj ET" % page) for page in (1, 3))
    lost = pdf([one, damaged, three, damaged, damaged], filters=b"/Filter /FlateDecode")
    folder = write(tmp_path / "notes", {"a.md": "A note.\n"})
    for path in ("lost.pdf", "copy.pdf"):
        (folder / path).write_bytes(lost)
    (folder / "nothing.pdf").write_bytes(pdf([damaged, damaged], filters=b"/Filter /FlateDecode"))
    (folder / "none.pdf").write_bytes(pdf([]))
    (folder / "blank.pdf").write_bytes(pdf(["", " "]))
    den = Den(tmp_path / "den")
    async with den.client() as client:
        name = await add(client, folder)
        listed = await client.request("knowledge/files", {"collection_id": name, "kinds": ["pdf"]})
        assert {one["path"]: (one["state"], one["reason"], one["left_out_pages"]) for one in listed["files"]} == {
            "none.pdf": ("skipped", "broken", []),
            "nothing.pdf": ("skipped", "broken", []),
            "blank.pdf": ("indexed", None, []),
            "copy.pdf": ("partial", None, [[2, 2], [4, 5]]),
            "lost.pdf": ("partial", None, [[2, 2], [4, 5]]),
        }
        got = (await client.request("knowledge/collections/get", {"collection_id": name}))["collection"]
        assert got["files"]["skipped"] == {"broken": 2}
        told = await client.request("knowledge/explain", {"collection_id": name, "path": "lost.pdf"})
        assert (told["indexed"], told["state"], told["left_out_pages"]) == (True, "partial", [[2, 2], [4, 5]])
        read = await client.request("knowledge/read", {"collection_id": name, "path": "blank.pdf"})
        assert (read["text"].strip(), read["state"]) == ("", "same")
        assert (
            await refusal(client, "knowledge/read", {"collection_id": name, "path": "none.pdf"})
        ).reason == "not_found"
        assert [one["page"] for one in (await search(client, "walrus"))["hits"][1]["locations"]] == [3, 3]


@journey
async def test_a_credential_that_runs_over_two_pages_is_masked_as_a_whole(tmp_path):
    key = "ghp_" + "aB3dE6gH9jK2mN5pQ8sT1vW4yZ7bC0eF3hI6"
    folder = tmp_path / "notes"
    folder.mkdir()
    (folder / "keys.pdf").write_bytes(
        pdf(["The walrus.", f"The otter {key[:20]}", f"{key[20:]} of the otter", "Last."])
    )
    den = Den(tmp_path / "den")
    async with den.client() as client:
        name = await add(client, folder)
        found = await search(client, "otter", max_results=50)
        assert sorted((hit["locations"][0]["page"], hit["text"]) for hit in found["hits"]) == [
            (2, "The otter [secret:github_token]\n"),
            (3, "[secret:github_token] of the otter\n"),
        ]
        whole = await client.request("knowledge/read", {"collection_id": name, "path": "keys.pdf"})
        assert whole["masked"]
        assert not any(part in str([found, whole]) for part in (key[:20], key[20:]))
        bare = await client.request("knowledge/read", {"collection_id": name, "path": "keys.pdf", "to_line": 1})
        assert (bare["text"], bare["masked"]) == ("The walrus.\n", False)
    kept = b"".join(zlib.decompress(text) for (text,) in den.database().execute("SELECT text FROM pdf_text"))
    assert key[:20].encode() not in kept


@on_linux
@journey
async def test_knowledge_statement_15_a_pdf_that_ends_its_reader_fails_and_the_next_file_is_read(tmp_path):
    folder = write(tmp_path / "notes", {"z.md": "The walrus sleeps.\n"})
    (folder / "bomb.pdf").write_bytes(bomb(256))
    (folder / "locked.pdf").write_bytes(encrypted(pdf(["Secret walrus."]), "word", "RC4-128"))
    (folder / "torn.pdf").write_bytes(pdf(["Torn walrus."])[:60])
    async with Den(tmp_path / "den").client() as client:
        name = await add(client, folder)
        states = {
            one["path"]: (one["state"], one["reason"])
            for one in (await client.request("knowledge/files", {"collection_id": name}))["files"]
        }
        assert states["z.md"] == ("indexed", None)
        assert states["locked.pdf"] == ("skipped", "encrypted")
        assert states["torn.pdf"] == ("skipped", "broken")
        assert "bomb.pdf" in states
        if states["bomb.pdf"] == ("failed", "reader_failed"):
            told = [params for method, params in client.received if method == "knowledge/changed"]
            assert sum(one["failed"] for one in told) == 1
            degraded = (await client.request("gateway/status", {}))["degraded"]
            assert ("knowledge:notes", "reader_failed") in {(one["component"], one["reason"]) for one in degraded}
        progress = [params for method, params in client.received if method == "gateway/progress"]
        assert progress[-1] == progress[-1] | {"token": "knowledge:notes", "done": 4, "total": 4}
        assert "z.md" in paths(await search(client, "walrus"))
        assert (await client.request("ping", {})) is not None
