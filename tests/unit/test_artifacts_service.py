"""Files of turns over a real database: received, found again, deleted, and read by the tool."""

import asyncio
import base64
import hashlib
from pathlib import Path
from typing import Any

import pytest
from agent_home import AgentHome, NothingForgotten, play, wants
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from small_pdf import pdf

from agent.files import reading
from agent.files.artifacts import ContentGoneError
from agent.files.pages import PdfPages
from agent.files.tool import ArtifactTool, artifact_hooks
from agent.rows.threads import add_workspace
from agent.tools import result_text
from gateway.files.artifact_files import ArtifactFiles
from gateway.files.pdf_text import PdfText
from gateway.secrets.scanner import RuleScanner
from protocol.conversation.artifacts import (
    ArtifactDeleteParams,
    ArtifactGetParams,
    ArtifactListParams,
    ArtifactRef,
    ArtifactRefInput,
)
from protocol.conversation.host_turns import ToolReply
from protocol.conversation.imports import ImportItem, ImportSource, ImportTurn, ThreadImportParams
from protocol.conversation.threads import ThreadParams, ThreadStartParams
from protocol.conversation.turns import ArtifactInput, TextInput
from protocol.conversation.workspaces import WorkspaceParams
from protocol.errors import GatewayError, Unavailable
from protocol.hooks import ToolContext
from protocol.models import Picture
from protocol.settings import ArtifactSettings, GatewayConfig
from protocol.tools import MAX_RESULT_CHARS, tool_spec

PNG = b"\x89PNG\r\n\x1a\n" + b"\0" * 50
TOKEN = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"


def given_file(data: bytes, mime: str = "text/plain", **more: Any) -> ArtifactInput:
    members: dict[str, Any] = {"name": "a file", "mime": mime, "data_base64": base64.b64encode(data).decode(), **more}
    return ArtifactInput(**members)


async def carry(home: AgentHome, *files: ArtifactInput, thread_id: str = "thr_1", **more: Any) -> list[ArtifactRef]:
    turn_id = await home.begin(thread_id=thread_id, input=[TextInput(text="hello"), *files], **more)
    return (await home.end_of(turn_id)).items[0].artifacts


async def open_thread(home: AgentHome, thread_id: str, workspace_id: str = "ws_1") -> None:
    await home.db.write(lambda tx: add_workspace(tx, workspace_id, 1))
    await home.threads.thread_start(ThreadStartParams(thread_id=thread_id, workspace_id=workspace_id))


async def refused(awaitable: Any) -> GatewayError:
    with pytest.raises(GatewayError) as caught:
        await awaitable
    return caught.value


def kept(home: AgentHome) -> list[str]:
    return home.files.digests()


def temporary(home: AgentHome) -> list[Path]:
    return list(home.files._folder.rglob(".new.*"))


async def get(home: AgentHome, artifact_id: str, **more: Any) -> Any:
    return await home.artifacts.artifact_get(ArtifactGetParams(artifact_id=artifact_id, **more))


# -- receiving -----------------------------------------------------------------------------------------------------


def test_the_same_content_is_stored_once(tmp_path: Path) -> None:
    async def scene(home: AgentHome) -> None:
        (a,) = await carry(home, given_file(b"words", artifact_id="art_a"))
        (tmp_path / "f").write_bytes(b"words")
        (b,) = await carry(home, ArtifactInput(name="../../b", mime="text/markdown", path=str(tmp_path / "f")))
        assert a.sha256 == b.sha256 == hashlib.sha256(b"words").hexdigest()
        assert kept(home) == [a.sha256]
        assert a.version_id != b.version_id
        assert b.name == "../../b"
        (tmp_path / "f").write_bytes(b"changed since")
        assert (await get(home, b.artifact_id)).text == "words"

    play(tmp_path, scene)


@pytest.mark.parametrize(
    ("changes", "path", "problem"),
    [
        ({"data_base64": "not base64!"}, "$.input[1].data_base64", "not base64"),
        ({"data_base64": "YQ"}, "$.input[1].data_base64", "not base64"),
        ({"data_base64": "ä"}, "$.input[1].data_base64", "not base64"),
        ({"data_base64": "YWJjZGVm" * 2}, "$.input[1].data_base64", "larger than 10 bytes"),
        ({"data_base64": None}, "$.input[1]", "`path`, `data_base64` or a known `artifact_id`"),
        ({"path": "/x"}, "$.input[1]", "not both"),
        ({"data_base64": None, "path": "/no/such/file"}, "$.input[1].path", "no such file"),
    ],
)
def test_a_bad_file_is_refused_by_its_place(tmp_path: Path, changes: Any, path: str, problem: str) -> None:
    async def scene(home: AgentHome) -> None:
        home.settings = GatewayConfig(artifacts=ArtifactSettings(max_inline_bytes=10, max_bytes=20))
        error = await refused(carry(home, given_file(b"words", **changes)))
        assert (error.reason, error.details and error.details["path"]) == ("invalid_params", path)
        assert problem in error.message
        assert "/no/such" not in error.message
        assert await home.rows("SELECT * FROM turn") == []
        assert kept(home) == temporary(home) == []

    play(tmp_path, scene)


def test_limits_are_those_in_force(tmp_path: Path) -> None:
    async def scene(home: AgentHome) -> None:
        (tmp_path / "f").write_bytes(b"x" * 12)
        by_path = ArtifactInput(name="f", mime="text/plain", path=str(tmp_path / "f"))
        for inline, whole, fits_inline, fits_path in (
            (10, 11, False, False),
            (11, 12, False, True),
            (12, 12, True, True),
        ):
            home.settings = GatewayConfig(artifacts=ArtifactSettings(max_inline_bytes=inline, max_bytes=whole))
            for file, fits in ((given_file(b"x" * 12), fits_inline), (by_path, fits_path)):
                if fits:
                    assert (await carry(home, file))[0].size_bytes == 12
                else:
                    assert "larger" in (await refused(carry(home, file))).message

    play(tmp_path, scene)


def test_nothing_stays_of_a_message_that_is_refused_for_its_last_file(tmp_path: Path) -> None:
    async def scene(home: AgentHome) -> None:
        await refused(carry(home, given_file(b"first"), given_file(b"second", data_base64="?")))
        assert kept(home) == []
        await carry(home, given_file(b"first"))
        await refused(carry(home, given_file(b"first"), given_file(b"second", data_base64="?")))
        assert len(kept(home)) == 1

    play(tmp_path, scene)


def test_a_turn_that_may_not_begin_leaves_no_bytes(tmp_path: Path) -> None:
    async def scene(home: AgentHome) -> None:
        going = asyncio.Event()

        async def waits(_request: Any, _deltas: Any) -> Any:
            await going.wait()

        home.model.answers = [waits]
        turn_id = await home.begin()
        error = await refused(carry(home, given_file(b"words")))
        assert error.reason == "turn_in_progress"
        assert kept(home) == []
        going.set()
        await home.end_of(turn_id)

    play(tmp_path, scene)


def test_a_full_disk_is_told_and_nothing_is_half_stored(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async def scene(home: AgentHome) -> None:
        with monkeypatch.context() as patched:
            patched.setattr(
                "gateway.files.artifact_files.os.fsync", lambda _fd: (_ for _ in ()).throw(OSError(28, "full"))
            )
            error = await refused(carry(home, given_file(b"words")))
        assert (error.reason, error.retryable) == ("storage_full", True)
        assert kept(home) == temporary(home) == []
        assert await home.rows("SELECT * FROM turn") == []
        assert len(await carry(home, given_file(b"words"))) == 1

    play(tmp_path, scene)


def test_a_transaction_that_fails_leaves_no_bytes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async def scene(home: AgentHome) -> None:
        real = home.db.write

        async def fails(work: Any, **more: Any) -> Any:
            if kept(home):
                raise Unavailable("storage_full")
            return await real(work, **more)

        monkeypatch.setattr(home.db, "write", fails)
        assert (await refused(carry(home, given_file(b"words")))).reason == "storage_full"
        assert kept(home) == []

    play(tmp_path, scene)


def test_a_sweep_between_a_file_and_its_message_costs_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async def scene(home: AgentHome) -> None:
        real, swept = home.artifacts.confirm, []

        def confirm(*args: Any) -> None:
            if not swept:
                swept.append(home.files.remove(hashlib.sha256(b"words").hexdigest()))
                with pytest.raises(ContentGoneError):
                    real(*args)
                raise ContentGoneError
            real(*args)

        monkeypatch.setattr(home.artifacts, "confirm", confirm)
        (ref,) = await carry(home, given_file(b"words"))
        assert (await get(home, ref.artifact_id)).text == "words"

    play(tmp_path, scene)


def test_a_repeated_turn_keeps_what_it_kept(tmp_path: Path) -> None:
    async def scene(home: AgentHome) -> None:
        file = given_file(b"words")
        await carry(home, file, turn_id="trn_a")
        assert len(await carry(home, file, turn_id="trn_a")) == 1
        assert len(kept(home)) == 1
        assert len(await home.rows("SELECT * FROM artifact")) == 1

    play(tmp_path, scene)


# -- versions and fences -------------------------------------------------------------------------------------------


def test_an_id_again_with_other_bytes_is_a_version(tmp_path: Path) -> None:
    async def scene(home: AgentHome) -> None:
        (first,) = await carry(home, given_file(b"first", artifact_id="art"))
        (second,) = await carry(home, given_file(b"second", artifact_id="art"))
        (again,) = await carry(home, given_file(b"first", artifact_id="art"))
        assert first.version_id == again.version_id != second.version_id
        assert (await get(home, "art")).text == "first"
        assert (await get(home, "art", version_id=second.version_id)).text == "second"
        listed = (await home.artifacts.artifact_list(ArtifactListParams(thread_id="thr_1"))).artifacts
        assert [ref.version_id for ref in listed] == [first.version_id, second.version_id]

    play(tmp_path, scene)


def test_an_id_belongs_to_its_thread_and_is_known_in_its_workspace(tmp_path: Path) -> None:
    async def scene(home: AgentHome) -> None:
        await open_thread(home, "thr_2")
        await open_thread(home, "thr_3", "ws_other")
        await carry(home, given_file(b"mine", artifact_id="art"))
        known = ArtifactInput(name="x", mime="text/plain", artifact_id="art")
        nothing = ArtifactInput(name="x", mime="text/plain", artifact_id="art_none")
        absent = await refused(carry(home, nothing))
        for file, thread in (
            (given_file(b"theirs", artifact_id="art"), "thr_2"),
            (known, "thr_3"),
            (given_file(b"theirs", artifact_id="art"), "thr_3"),
        ):
            error = await refused(carry(home, file, thread_id=thread))
            assert (
                (error.reason, error.message)
                == (absent.reason, absent.message)
                == ("not_found", "There is no such artifact.")
            )
        assert len(kept(home)) == 1
        (shared,) = await carry(home, known, thread_id="thr_2")
        assert shared.sha256 == hashlib.sha256(b"mine").hexdigest()
        await home.deletions.thread_delete(ThreadParams(thread_id="thr_1"))
        await home.drain()
        assert (await get(home, "art")).text == "mine"

    play(tmp_path, scene)


def test_a_digest_that_is_only_told_opens_nothing(tmp_path: Path) -> None:
    async def scene(home: AgentHome) -> None:
        from agent.threads.imports import Imports  # noqa: PLC0415
        from agent.threads.threads import Neighbours  # noqa: PLC0415

        (mine,) = await carry(home, given_file(b"mine"))
        neighbours = Neighbours(on_items=lambda _tx, _facts: None, on_items_removed=lambda _tx, _ids: None)
        imports = Imports(
            db=home.db, clock=home.clock, ledger=home.ledger, neighbours=neighbours, forgettings=NothingForgotten()
        )
        await home.db.write(lambda tx: add_workspace(tx, "ws_other", 1))
        told = ArtifactRefInput(artifact_id="art_told", sha256=mine.sha256, size_bytes=4, mime="text/plain")
        turn = ImportTurn(at=1, items=[ImportItem(role="user", text="x", artifacts=[told])])
        await imports.thread_import(
            ThreadImportParams(
                workspace_id="ws_other", source=ImportSource(kind="k", id="i"), thread_id="thr_i", turns=[turn]
            )
        )
        assert (await refused(get(home, "art_told"))).reason == "not_found"
        listed = (await home.artifacts.artifact_list(ArtifactListParams(thread_id="thr_i"))).artifacts
        assert [ref.artifact_id for ref in listed] == ["art_told"]
        reply = await read(home, told, workspace_id="ws_other")
        assert reply.error is not None
        assert reply.error.code == "not_found"
        await home.artifacts.artifact_delete(ArtifactDeleteParams(artifact_id="art_told"))
        assert kept(home) == [mine.sha256]

    play(tmp_path, scene)


# -- deleting ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("what", ["artifact", "thread", "workspace"])
def test_bytes_go_with_the_last_that_needs_them(tmp_path: Path, what: str) -> None:
    async def scene(home: AgentHome) -> None:
        for name in ("a", "b"):
            await open_thread(home, f"thr_{name}", f"ws_{name}")
            await carry(
                home, given_file(b"both", artifact_id=f"art_{name}"), given_file(name.encode()), thread_id=f"thr_{name}"
            )
        assert len(kept(home)) == 3
        for name, left in (("a", 1 + 1 + (what == "artifact")), ("b", 2 * (what == "artifact"))):
            if what == "artifact":
                await home.artifacts.artifact_delete(ArtifactDeleteParams(artifact_id=f"art_{name}"))
            elif what == "thread":
                await home.deletions.thread_delete(ThreadParams(thread_id=f"thr_{name}"))
            else:
                await home.deletions.workspace_delete(WorkspaceParams(workspace_id=f"ws_{name}"))
            await home.drain()
            assert len(kept(home)) == left

    play(tmp_path, scene)


def test_bytes_that_the_system_holds_on_to_are_swept_later(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async def scene(home: AgentHome) -> None:
        (ref,) = await carry(home, given_file(b"words"))
        real, tries = ArtifactFiles.remove, []

        def remove(files: ArtifactFiles, sha256: str) -> None:
            tries.append(sha256)
            if len(tries) == 1:
                raise Unavailable
            real(files, sha256)

        monkeypatch.setattr(ArtifactFiles, "remove", remove)
        result = await home.artifacts.artifact_delete(ArtifactDeleteParams(artifact_id=ref.artifact_id))
        assert result.removed == {"artifacts": 1, "contents": 0}
        await home.drain()
        assert kept(home) == []

    play(tmp_path, scene)


def test_a_sweep_takes_what_a_crash_left_and_nothing_else(tmp_path: Path) -> None:
    async def scene(home: AgentHome) -> None:
        (ref,) = await carry(home, given_file(b"needed"))
        for n in range(150):
            home.files.put(b"orphan %d" % n)
        await home.artifacts.look_for_orphans()
        await home.drain()
        assert kept(home) == [ref.sha256]

    play(tmp_path, scene)


# -- reading -------------------------------------------------------------------------------------------------------


@settings(
    max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow]
)
@given(data=st.binary(max_size=300), limit=st.integers(1, 40), is_text=st.booleans())
def test_pages_of_any_file_yield_everything_once(
    tmp_path_factory: pytest.TempPathFactory, *, data: bytes, limit: int, is_text: bool
) -> None:
    async def scene(home: AgentHome) -> None:
        (ref,) = await carry(home, given_file(data, "text/plain" if is_text else "application/x-thing"))
        came, offset = [], 0
        while offset is not None:
            page = await get(home, ref.artifact_id, offset=offset, limit=limit)
            came.append(page.text if page.text is not None else base64.b64decode(page.data_base64))
            offset = page.next_offset
        if isinstance(came[0], bytes):
            assert b"".join(came) == data
        else:
            assert is_text
            assert "".join(came) == (await get(home, ref.artifact_id)).text
            assert all(len(page) <= limit for page in came)

    play(tmp_path_factory.mktemp("pages"), scene)


def test_beyond_the_end_there_is_nothing(tmp_path: Path) -> None:
    async def scene(home: AgentHome) -> None:
        for mime, text in (("text/plain", ""), ("application/x-thing", None)):
            (ref,) = await carry(home, given_file(b"words", mime))
            page = await get(home, ref.artifact_id, offset=10**15)
            assert (page.text, page.data_base64, page.next_offset) == (text, None if text == "" else "", None)

    play(tmp_path, scene)


def test_bytes_that_vanished_are_not_found(tmp_path: Path) -> None:
    async def scene(home: AgentHome) -> None:
        (ref,) = await carry(home, given_file(b"words"))
        home.files.remove(ref.sha256 or "")
        assert (await refused(get(home, ref.artifact_id))).reason == "not_found"
        reply = await read(home, ref)
        assert reply.error is not None
        assert reply.error.code == "unavailable"

    play(tmp_path, scene)


# -- the tool ------------------------------------------------------------------------------------------------------


def tool_of(home: AgentHome, read_pdf: Any = None) -> ArtifactTool:
    return ArtifactTool(
        db=home.db, reading=home.artifacts.reading, read_pdf=read_pdf or PdfText(), scanner=RuleScanner()
    )


async def read(
    home: AgentHome,
    ref: Any,
    *,
    show: Any = None,
    tool: ArtifactTool | None = None,
    workspace_id: str = "ws_1",
    **arguments: Any,
) -> ToolReply:
    place: Any = type("Place", (), {"workspace_id": workspace_id})()
    context: Any = type("Context", (), {"turn": place, "show": show})()
    reply = await (tool or tool_of(home))(context, "artifact_read", {"artifact_id": ref.artifact_id, **arguments})
    assert len(result_text(reply)) <= MAX_RESULT_CHARS
    assert "result_too_large" not in result_text(reply)
    return reply


async def read_on(home: AgentHome, ref: ArtifactRef, member: str, **more: Any) -> list[Any]:
    """That member of every page."""
    came, offset = [], 0
    while offset is not None:
        reply = await read(home, ref, offset=offset, **more)
        assert reply.ok, reply
        came.append(reply.data[member])
        offset = reply.data["next_offset"]
    return came


@pytest.mark.parametrize("text", ['"quotes" \\ and\nlines ' * 900, "🌍 wörld\n" * 2000, "\x01" * 5000, "short", ""])
def test_a_text_is_read_whole_within_the_room_of_a_tool(tmp_path: Path, text: str) -> None:
    async def scene(home: AgentHome) -> None:
        (ref,) = await carry(home, given_file(text.encode()))
        for limit in (8000, 777):
            assert "".join(await read_on(home, ref, "text", limit=limit)) == text

    play(tmp_path, scene)


def test_a_secret_in_a_file_does_not_reach_a_model(tmp_path: Path) -> None:
    async def scene(home: AgentHome) -> None:
        text = f"{'words ' * 100}the token is {TOKEN} and {'more ' * 100}"
        (plain,) = await carry(home, given_file(text.encode()))
        (table,) = await carry(home, given_file(f"name,token\na,{TOKEN}\n".encode(), "text/csv"))
        for limit in (8000, 100, 50, 33):
            assert TOKEN[6:16] not in "".join(await read_on(home, plain, "text", limit=limit))
        rows = (await read(home, table)).data["rows"]
        assert rows[0] == ["name", "token"]
        assert TOKEN not in str(rows)
        assert (await get(home, plain.artifact_id)).text == text  # to the client, the file is its own

    play(tmp_path, scene)


def test_a_table_is_read_by_whole_rows(tmp_path: Path) -> None:
    async def scene(home: AgentHome) -> None:
        rows = [["n", "text"]] + [[str(n), f'a "quoted", thing\nin two lines {n}'] for n in range(400)]
        data = "".join(",".join('"' + cell.replace('"', '""') + '"' for cell in row) + "\r\n" for row in rows)
        (ref,) = await carry(home, given_file(data.encode(), "text/csv"))
        for limit in (8000, 500):
            pages = await read_on(home, ref, "rows", limit=limit)
            assert [row for page in pages for row in page] == rows
            assert len(pages) > 1
        second = await read(home, ref, offset=(await read(home, ref)).data["next_offset"])
        assert second.data["columns"] == ["n", "text"]

    play(tmp_path, scene)


def test_a_place_in_a_table_is_counted_in_characters_as_a_model_is_told(tmp_path: Path) -> None:
    async def scene(home: AgentHome) -> None:
        (ref,) = await carry(home, given_file(b"n,text\n1,one\n2,two\n3,three\n", "text/csv"))
        page = await read(home, ref, offset=7, limit=12)
        assert page.data["rows"] == [["1", "one"], ["2", "two"]]
        assert page.data["next_offset"] == 19

    members = tool_spec("artifact_read").parameters["properties"]
    assert members["offset"]["description"].startswith("From which character on")
    assert members["limit"]["description"].startswith("At most so many characters;")
    play(tmp_path, scene)


def test_a_file_whose_index_another_thread_drops_is_read_all_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def scene(home: AgentHome) -> None:
        (ref,) = await carry(home, given_file(b"words"))
        monkeypatch.setattr(reading, "KNOWN_TEXTS", 0)  # as if others had read so many texts since this one's index
        assert (await get(home, ref.artifact_id)).text == "words"

    play(tmp_path, scene)


def test_a_row_that_is_longer_than_a_page_is_told_as_text(tmp_path: Path) -> None:
    async def scene(home: AgentHome) -> None:
        data = f'a;b\n1;"{"x" * 20_000}"\n2;y\n'
        (ref,) = await carry(home, given_file(data.encode(), "text/csv"))
        came, offset = "", 0
        while offset is not None:
            page = (await read(home, ref, offset=offset, limit=8000)).data
            came += page["text"] if "text" in page else "".join(";".join(row) + "\n" for row in page["rows"])
            offset = page["next_offset"]
        assert came.replace('"', "") == data.replace('"', "")

    play(tmp_path, scene)


def test_a_document_is_read_page_by_page(tmp_path: Path) -> None:
    async def scene(home: AgentHome) -> None:
        pages = [f"Page {n} tells of herons. " + "word " * 100 for n in range(1, 8)]
        (ref,) = await carry(home, given_file(pdf(pages), "application/pdf"))
        asked = []

        async def few(file: Any, first: int, chars: int) -> PdfPages:
            asked.append(first)
            return await PdfText(20)(file, first, 900)

        tool = tool_of(home, few)
        text = "".join(await read_on(home, ref, "text", limit=2000, tool=tool))
        assert [text.count(f"[page {n}]\nPage {n} tells") for n in range(1, 8)] == [1] * 7
        assert asked == sorted(set(asked))
        assert len(asked) > 1

    play(tmp_path, scene)


@pytest.mark.parametrize(
    ("pages", "code"),
    [
        (PdfPages(0, [], "encrypted"), "unsupported"),
        (PdfPages(0, [], "broken"), "unsupported"),
        (PdfPages(0, [], "too_large"), "unsupported"),
        (PdfPages(0, [], "no_reader"), "unsupported"),
        (PdfPages(9, [], "too_slow"), "deadline_exceeded"),
        (PdfPages(2, ["", "  "], None), "unsupported"),
        (PdfPages(0, [], None), "unsupported"),
    ],
)
def test_a_document_that_cannot_be_read_is_an_error_that_says_why(tmp_path: Path, pages: PdfPages, code: str) -> None:
    async def scene(home: AgentHome) -> None:
        async def told(_file: Any, _first: int, _chars: int) -> PdfPages:
            return pages

        (ref,) = await carry(home, given_file(b"%PDF-1.7", "application/pdf"))
        reply = await read(home, ref, tool=tool_of(home, told))
        assert reply.error is not None
        assert reply.error.code == code

    play(tmp_path, scene)


def test_what_is_read_before_a_deadline_is_shown(tmp_path: Path) -> None:
    async def scene(home: AgentHome) -> None:
        async def told(_file: Any, first: int, _chars: int) -> PdfPages:
            return PdfPages(3, ["some words"] if first == 0 else [], "too_slow")

        (ref,) = await carry(home, given_file(b"%PDF-1.7", "application/pdf"))
        tool = tool_of(home, told)
        reply = await read(home, ref, tool=tool)
        assert (reply.data["text"], reply.data["total"]) == ("[page 1]\nsome words\n\n", None)
        after = await read(home, ref, tool=tool, offset=reply.data["next_offset"])
        assert after.error is not None
        assert after.error.code == "deadline_exceeded"

    play(tmp_path, scene)


@pytest.mark.parametrize(
    ("data", "mime"),
    [(PNG, "text/plain"), (b"a\0b", "text/plain"), (b"\xff", "application/octet-stream"), (b"x", "image/png")],
)
def test_what_is_not_what_it_is_called_is_not_read(tmp_path: Path, data: bytes, mime: str) -> None:
    async def scene(home: AgentHome) -> None:
        (ref,) = await carry(home, given_file(data, mime))
        reply = await read(home, ref, show=lambda _picture: pytest.fail("shown"))
        assert reply.error is not None
        assert reply.error.code == "unsupported"

    play(tmp_path, scene)


def test_another_workspace_reads_nothing(tmp_path: Path) -> None:
    async def scene(home: AgentHome) -> None:
        (ref,) = await carry(home, given_file(b"words"))
        nobody = type("Ref", (), {"artifact_id": "art_none"})()
        assert await read(home, ref, workspace_id="ws_2") == await read(home, nobody, workspace_id="ws_2")
        bad = await read(home, ref, offset=-1)
        assert bad.error is not None
        assert bad.error.code == "invalid_params"

    play(tmp_path, scene)


# -- pictures ------------------------------------------------------------------------------------------------------


def test_the_pictures_of_a_turn_go_to_a_model_that_takes_them(tmp_path: Path) -> None:
    async def scene(home: AgentHome) -> None:
        files = [given_file(PNG, "image/png"), given_file(b"words"), given_file(b"no picture", "image/png")]
        for takes in (True, False):
            home.model.pictures = takes
            await carry(home, *files)
            last = home.model.asked[-1].messages[-1]
            assert last.content == "hello"
            assert last.pictures == ([Picture(mime="image/png", data=PNG)] if takes else [])
        home.model.pictures = True
        await home.live("later")
        assert all(message.pictures == [] for message in home.model.asked[-1].messages)

    play(tmp_path, scene)


def test_pictures_are_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("agent.files.reading.MAX_PICTURE_BYTES", 100)
    monkeypatch.setattr("agent.files.artifacts.MAX_PICTURES_BYTES", 150)

    async def scene(home: AgentHome) -> None:
        refs = await carry(
            home,
            given_file(PNG, "image/png"),
            given_file(PNG * 2, "image/png"),
            given_file(PNG + b"1", "image/png"),
            given_file(PNG + b"2", "image/png"),
        )
        assert [picture.data for picture in await home.artifacts.pictures(refs)] == [PNG, PNG + b"1"]
        home.files.path(refs[0].sha256 or "").write_bytes(PNG[:-1] + b"x")
        assert [picture.data for picture in await home.artifacts.pictures(refs)] == [PNG + b"1", PNG + b"2"]

    play(tmp_path, scene)


@pytest.mark.parametrize("takes", [True, False])
def test_an_older_picture_is_shown_by_the_tool(tmp_path: Path, *, takes: bool) -> None:
    held: list[ArtifactTool] = []

    async def calls(context: ToolContext, name: str, arguments: dict[str, Any]) -> ToolReply:
        return await held[0](context, name, arguments)

    unused: Any = None
    hooks, _ = artifact_hooks(unused)

    async def scene(home: AgentHome) -> None:
        held.append(tool_of(home))
        (ref,) = await carry(home, given_file(PNG, "image/png"))
        home.model.pictures = takes
        reveal = ("request_tools", {"domains": ["artifact"], "reason": "x"})
        home.model.answers = [wants(reveal), wants(("artifact_read", {"artifact_id": ref.artifact_id}))]
        lived = await home.live("what was on it?")
        told = home.model.asked[-1].messages[-1]
        assert told.role == "tool"
        assert told.pictures == ([Picture(mime="image/png", data=PNG)] if takes else [])
        assert ('"shown":true' in told.content) == takes
        assert ("takes no pictures" in told.content) != takes
        assert base64.b64encode(PNG).decode()[:20] not in str(lived.items)

    play(tmp_path, scene, hooks=hooks, tools={"artifact_read": calls})
