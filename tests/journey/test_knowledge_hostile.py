"""Files that are made to harm: nothing crashes, nothing outside of the folder is shown, each skip has its reason."""

import json
import os
import threading
import zlib
from pathlib import Path

import pytest
from in_process import Served
from spawned import Den, drain, journey, on_posix
from test_knowledge import add, paths, search, write

from gateway.home.starting import Options
from gateway.process import running
from knowledge.scan import previewing
from knowledge.walk import walking
from knowledge.walk.patterns import Lines
from protocol.seams.safe_files import SafeRoot

TEXTS = {
    "mixed.md": "# One\r\n\r\nwalrus crlf\n\n# Two\rwalrus cr\r\r# Three\n\nwalrus\x0b\x0c\x85 v\n",
    "lists.md": "".join(" " * depth + "- walrus\n" for depth in range(400)),
    "brackets.md": "[" * 20_000 + " walrus\n",
    "quotes.md": ">" * 5000 + " walrus\n",
    "stars.md": "*a " * 20_000 + "walrus\n",
    "links.md": " ".join(f"[[L{number}]]" for number in range(3000)) + " walrus [x](../outside/secret.md)\n",
    "alias.md": "---\na: &a [x]\nb: *a\n---\nwalrus\n",
    "object.md": "---\ntitle: !!python/object/apply:os.system ['touch pwned']\n---\nwalrus\n",
    "fields.md": "---\ntitle: [1]\ntags: {a: b}\naliases: 5\nimportance: .nan\nrelated: {x: 1}\n---\nwalrus\n",
    "control.md": "walrus \x1b[2J\x07 \u202e evil \u200b\U000e0041 tag\n# \x1b[31mHead\n",
    "one_line.md": "walrus " * 50_000,
    "empty.md": "",
    "a\nb\t\x1b.md": "walrus\n",
}
BYTES = {
    "mark.md": b"\xef\xbb\xbf# Mark\n\nwalrus\n",
    "le.md": b"\xff\xfe" + "# Le\n\nwalrus größe\n".encode("utf-16-le"),
    "be.md": b"\xfe\xff" + "# Be\n\nwalrus\n".encode("utf-16-be"),
    "only_mark.md": b"\xff\xfe",
}
SKIPPED = {
    "odd.md": (b"\xff\xfe" + "walrus\n".encode("utf-16-le") + b"A", "encoding_unknown"),
    "half.md": (b"\xff\xfe" + "walrus".encode("utf-16-le") + b"\x00\xd8\n\x00", "encoding_unknown"),
    "zero.md": (b"walrus \x00\n", "binary"),
    "bomb.pdf": (b"", "broken"),
    "loop.pdf": (
        b"%PDF-1.4\n1 0 obj<</Type/Catalog/Pages 2 0 R>>endobj\n2 0 obj<</Type/Pages/Kids[2 0 R]/Count 1>>endobj\n",
        "broken",
    ),
    "deep.py": (b"(" * 3000 + b"walrus\n", "generated"),
    "note.xyz": (b"walrus\n", "unknown_kind"),
    "large.md": (b"walrus\n" * 400_000, "too_large"),
}


def build_bomb() -> bytes:
    """A PDF whose page unpacks to 400 MB."""
    packer = zlib.compressobj(9)
    packed = b"".join(packer.compress(b" " * 2**20) for _ in range(400)) + packer.flush()
    objects = [
        b"<</Type/Catalog/Pages 2 0 R>>",
        b"<</Type/Pages/Kids[3 0 R]/Count 1>>",
        b"<</Type/Page/Parent 2 0 R/MediaBox[0 0 9 9]/Contents 4 0 R>>",
        b"<</Length %d/Filter/FlateDecode>>stream\n" % len(packed) + packed + b"\nendstream",
    ]
    body = b"".join(b"%d 0 obj" % number + one + b"endobj\n" for number, one in enumerate(objects, 1))
    return b"%PDF-1.4\n" + body + b"trailer<</Size 5/Root 1 0 R>>\n%%EOF"


@pytest.mark.loop("campaign")
@on_posix
@journey
async def test_knowledge_hostile_files_are_read_or_skipped_with_a_reason_and_cite_what_they_say(tmp_path: Path) -> None:
    folder = write(tmp_path / "notes", {"agent/AGENTS.md": "walrus", "agent/config.yaml": "", "agent/x.md": "walrus"})
    write(folder, {"agent/inner/y.md": "walrus"})
    write(tmp_path / "outside", {"secret.md": "walrus outsidesecret\n"})
    for name, text in TEXTS.items():
        (folder / name).write_text(text, encoding="utf-8", newline="")
    for name, data in {
        **BYTES,
        **{name: data for name, (data, _) in SKIPPED.items()},
        "bomb.pdf": build_bomb(),
    }.items():
        (folder / name).write_bytes(data)
    (folder / "ignored").mkdir()
    os.mkfifo(folder / "ignored" / ".gitignore")
    (folder / "linked").mkdir()
    (folder / "linked" / ".gitignore").symlink_to("/etc/passwd")
    is_over = threading.Event()

    def grow() -> None:
        with (folder / "grow.md").open("a", encoding="utf-8") as file:
            while not is_over.wait(0.001):
                file.write("walrus grows\n")
                file.flush()

    writer = threading.Thread(target=grow)
    writer.start()
    try:
        async with Den(tmp_path / "den").client() as client:
            await add(client, folder)
            is_over.set()
            writer.join()
            await client.request("knowledge/collections/scan", {"collection_id": "notes"})
            await drain(client)
            files = (await client.request("knowledge/files", {"collection_id": "notes", "limit": 100}))["files"]
            states = {one["path"]: one["state"] for one in files}
            assert {name: states[name] for name in (*TEXTS, *BYTES, "grow.md")} == dict.fromkeys(
                (*TEXTS, *BYTES, "grow.md"), "indexed"
            )
            for name, (_, reason) in SKIPPED.items():
                told = await client.request("knowledge/explain", {"collection_id": "notes", "path": name})
                assert (name, told["indexed"], told["reason"]) == (name, False, reason)
            for path in ("agent/x.md", "agent/inner/y.md"):
                told = await client.request("knowledge/explain", {"collection_id": "notes", "path": path})
                assert (told["indexed"], told["reason"]) == (False, "agent_folder")
            for name in {*TEXTS, *BYTES, "grow.md"} - {"empty.md", "only_mark.md"}:
                found = (await search(client, "walrus", entity=f"notes:{name}", max_results=50))["hits"]
                assert found
                for hit in found[:10]:
                    read = await client.request("knowledge/read", {"address": hit["address"]})
                    assert (read["text"], read["state"]) == (hit["text"], "same")
            assert "outsidesecret" not in json.dumps((await search(client, "outsidesecret"))["hits"])
    finally:
        is_over.set()
        writer.join()
    assert not (tmp_path / "pwned").exists()


@journey
async def test_a_preview_answers_in_time_whatever_holds_its_walk_up(tmp_path: Path, monkeypatch) -> None:
    folder = write(tmp_path / "notes", {"a.md": "The walrus.\n", "b/.gitignore": "x\n", "b/c.md": "The heron.\n"})
    is_answered, lines_of = threading.Event(), walking.lines_of

    def read_slowly(root: SafeRoot, path: str) -> Lines:
        if path == "b/.gitignore":
            is_answered.wait()
        return lines_of(root, path)

    monkeypatch.setattr(walking, "lines_of", read_slowly)
    monkeypatch.setattr(previewing, "SECONDS", 0.2)
    try:
        async with running(Options(home=tmp_path / "home", log_level="error")) as app:
            served = Served(app)
            await served.pair.hello("ws_here")
            added = await served.pair.call("knowledge/collections/add", path=str(folder), dry_run=True)
            is_answered.set()
            served.pair.end()
            await served.task
    finally:
        is_answered.set()
    assert added["preview"]["partial"]
    assert added["preview"]["files"] < 2


LINKED = {
    "env.txt": ("../.env", "secret_file"),
    "config.md": ("../.git/config", "secret_file"),
    "soul.md": ("../helper/SOUL.md", "agent_folder"),
    "rules.md": ("../CLAUDE.md", "instruction_file"),
    "draft.md": ("../drafts/d.md", "ignored"),
    "built.md": ("../build/b.md", "excluded"),
    "left.md": ("../left/e.md", "excluded"),
    "data.md": ("../data.bin", "unknown_kind"),
    "large.md": ("../large.txt", "too_large"),
}


@on_posix
@journey
async def test_knowledge_a_link_shows_nothing_that_is_not_read_where_it_lies(tmp_path: Path) -> None:
    targets = {target.removeprefix("../"): "The walrus swims.\n" for target, _ in LINKED.values()}
    folder = write(
        tmp_path / "notes",
        targets | {"helper/AGENTS.md": "Help.\n", "helper/config.yaml": "name: x\n", ".gitignore": "drafts/\n"},
    )
    write(folder, {"large.txt": "walrus\n" * 400_000, "n/a.md": "A plain note.\n", "b.md": "The seal sleeps.\n"})
    for name, (target, _) in LINKED.items():
        (folder / "n" / name).symlink_to(target)
    (folder / "n" / "near.md").symlink_to("../b.md")
    async with Den(tmp_path / "den").client() as client:
        await add(client, folder, exclude=["left/"])
        assert paths(await search(client, "walrus", max_results=50)) == []
        assert sorted(paths(await search(client, "seal"))) == ["b.md", "n/near.md"]
        for name, (_, reason) in LINKED.items():
            why = await client.request("knowledge/explain", {"collection_id": "notes", "path": f"n/{name}"})
            assert (why["indexed"], why["reason"]) == (False, reason)

        read = await client.request("knowledge/read", {"address": "notes:n/near.md"})
        assert read["text"] == "The seal sleeps.\n"
        for name, target in (("n/near.md", "../.env"), ("n/a.md", "../drafts/d.md")):
            (folder / name).unlink()
            (folder / name).symlink_to(target)
            read = await client.request("knowledge/read", {"address": f"notes:{name}"})
            assert (read["text"], read["state"]) == ("", "gone")  # at once, before a scan
        assert paths(await search(client, "seal")) == ["b.md"]
        assert paths(await search(client, "plain note")) == []


@on_posix
@journey
async def test_knowledge_a_root_whose_place_a_link_or_a_file_takes_is_unavailable(tmp_path: Path) -> None:
    folder = write(tmp_path / "notes", {"a.md": "The walrus stays.\n"})
    outside = write(tmp_path / "outside", {"b.md": "The outside walrus.\n"})
    async with Den(tmp_path / "den").client() as client:
        await add(client, folder)

        async def scan() -> tuple[str, str | None, list[str]]:
            await client.request("knowledge/collections/scan", {"collection_id": "notes"})
            await drain(client)
            known = (await client.request("knowledge/collections/get", {"collection_id": "notes"}))["collection"]
            return known["state"], known["reason"], paths(await search(client, "walrus"))

        folder.rename(tmp_path / "away")
        folder.symlink_to(outside)
        assert paths(await search(client, "walrus")) == []  # at once, before a scan
        assert await scan() == ("unavailable", "root_missing", [])
        folder.unlink()
        folder.write_text("The walrus of a file.\n", encoding="utf-8")
        assert await scan() == ("unavailable", "root_missing", [])
        folder.unlink()
        (tmp_path / "away").rename(folder)
        assert (await scan())[2] == ["a.md"]
        (folder / "a.md").rename(folder / "A.md")
        assert (await scan())[2] == ["A.md"]


@on_posix
def test_a_folder_is_opened_by_its_real_path_alone_once_that_is_kept(tmp_path: Path) -> None:
    from gateway.files.safe_open import UnsafeFileError, open_kept_root  # noqa: PLC0415

    (tmp_path / "real" / "in").mkdir(parents=True)
    (tmp_path / "link").symlink_to("real")
    open_kept_root(str(tmp_path.resolve() / "real" / "in")).close()
    for path in ("link", "link/in", "real/../link"):
        with pytest.raises(UnsafeFileError):
            open_kept_root(f"{tmp_path.resolve()}/{path}")
