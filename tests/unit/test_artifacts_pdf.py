import asyncio
import io
import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from small_pdf import bomb, encrypted, pdf

from agent.files.pages import CUT, MAX_DOCUMENT_CHARS, Document, Documents, PdfPages
from gateway.files import pdf_text
from gateway.files.pdf_text import PdfText, write_pages

SECONDS = 20.0  # a machine under load starts a process slowly; what must hit the deadline has one of its own


def read(folder: Path, data: bytes, first: int = 0, chars: int = 1000, seconds: float = SECONDS) -> PdfPages:
    """Through a child, as the gateway does."""
    path = folder / "file"
    path.write_bytes(data)

    async def run() -> PdfPages:
        with path.open("rb") as file:
            return await PdfText(seconds)(file, first, chars)

    return asyncio.run(run())


def said(capsys: pytest.CaptureFixture[str], data: bytes, first: int = 0, chars: int = 1000) -> list[dict[str, object]]:
    """What the child says, in this process."""
    write_pages(io.BytesIO(data), first, chars)
    return [json.loads(line) for line in capsys.readouterr().out.splitlines()]


def test_pages_are_read_in_a_process_of_its_own(tmp_path: Path) -> None:
    found = read(tmp_path, pdf(["The heron (grey) waits.", "Second page", ""]))
    assert found.total == 3
    assert [(page or "").strip() for page in found.pages] == ["The heron (grey) waits.", "Second page", ""]
    assert found.problem is None


def test_reading_goes_on_where_it_ended(tmp_path: Path) -> None:
    data = pdf([f"page number {n}" for n in range(5)])
    found = read(tmp_path, data, first=1, chars=20)
    assert [(page or "").strip() for page in found.pages] == ["page number 1", "page number 2"]
    assert (found.total, found.problem) == (5, None)
    assert read(tmp_path, data, first=5) == PdfPages(5, [], None)


@pytest.mark.parametrize(
    ("data", "problem"),
    [
        (b"", "broken"),
        (b"%PDF-1.7\nnothing else", "broken"),
        (b"%PDF-1.7\n" + bytes(range(256)) * 40, "broken"),
        (encrypted(pdf(["secret words"]), "a password", algorithm="RC4-128"), "encrypted"),
    ],
    ids=["empty", "torn", "noise", "encrypted"],
)
def test_what_cannot_be_read_is_said(capsys: pytest.CaptureFixture[str], data: bytes, problem: str) -> None:
    assert said(capsys, data)[-1] == {"end": problem}


def test_a_file_that_only_forbids_printing_is_read(capsys: pytest.CaptureFixture[str]) -> None:
    lines = said(capsys, encrypted(pdf(["open words"]), "", algorithm="RC4-128"))
    assert [str(line["page"]).strip() for line in lines if "page" in line] == ["open words"]


def test_a_count_that_lies_ends_with_the_pages(capsys: pytest.CaptureFixture[str]) -> None:
    lines = said(capsys, pdf(["one", "two"], count=1_000_000))
    assert len([line for line in lines if "page" in line]) == 2
    assert [line["total"] for line in lines if "total" in line][-1] == 2
    assert lines[-1] == {"end": None}


def test_a_page_that_breaks_the_parser_does_not_end_the_file(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    import pypdf  # noqa: PLC0415

    real = pypdf.PageObject.extract_text

    def extract(page: pypdf.PageObject) -> str:
        text = real(page)
        if "two" in text:
            raise RecursionError
        return text.strip() + "\0\ud800"

    monkeypatch.setattr(pypdf.PageObject, "extract_text", extract)
    lines = said(capsys, pdf(["one", "two", "three"]))
    assert [line["page"] for line in lines if "page" in line] == ["one��", None, "three��"]


def test_without_the_extra_it_is_said(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pypdf", None)
    assert said(capsys, pdf(["one"])) == [{"end": "no_reader"}]


def test_a_bomb_ends_with_a_clean_word_in_time(tmp_path: Path) -> None:
    data = bomb(256)
    assert len(data) < 20_000
    found = read(tmp_path, data, seconds=SECONDS)
    assert found.problem in {"too_large", "too_slow"} or found.pages in ([None], [""])


@pytest.mark.loop("check")
def test_many_pages_come_as_far_as_the_deadline_lets_them(tmp_path: Path) -> None:
    """However many there are, what was read is kept, and the answer comes without the others."""
    data = pdf(["word " * 10] * 10_000)
    found = read(tmp_path, data, chars=10_000_000, seconds=3.0)
    assert len(found.pages) < 10_000
    assert found.problem == "too_slow"


def test_a_child_that_hangs_is_ended(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    hanging = tmp_path / "hanging.py"
    hanging.write_text(
        'import sys, time\nprint(\'{"total": 2}\\n{"page": "one"}\\n{"pa\', end="", flush=True)\ntime.sleep(600)\n'
    )
    monkeypatch.setattr(pdf_text, "__name__", "hanging")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    assert read(tmp_path, b"", seconds=2.0) == PdfPages(2, ["one"], "too_slow")


def test_the_child_ends_itself_when_nobody_does(tmp_path: Path) -> None:
    path = tmp_path / "f"
    path.write_bytes(pdf(["word " * 10] * 10_000))
    command = [sys.executable, "-P", "-m", "gateway.files.pdf_text", "0", "100000000", "1.0"]
    with path.open("rb") as file:
        ended = subprocess.run(command, stdin=file, stdout=subprocess.DEVNULL, timeout=240, check=False)
    assert ended.returncode in pdf_text.ENDED_BY_ITS_WATCH


def test_a_child_that_dies_before_its_time_met_a_broken_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "dying.py").write_text("import os\nprint('{\"total\": 2}', flush=True)\nos.abort()\n")
    monkeypatch.setattr(pdf_text, "__name__", "dying")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    assert read(tmp_path, b"", seconds=30.0) == PdfPages(2, [], "broken")


@pytest.mark.skipif(os.name != "posix", reason="there is no such limit")
def test_a_platform_without_the_limit_reads_all_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    import resource  # noqa: PLC0415  # not on Windows

    def refuse(*_: object) -> None:
        raise ValueError("current limit exceeds maximum limit")

    monkeypatch.setattr(resource, "setrlimit", refuse)
    pdf_text._limit(600.0)
    signal.setitimer(signal.ITIMER_REAL, 0)


@pytest.mark.skipif(os.name != "posix", reason="prints the environment")
def test_the_child_knows_no_key(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    spy = tmp_path / "spy.py"
    spy.write_text('import json, os, sys\nprint(json.dumps({"page": " ".join([*os.environ, *sys.argv[1:]])}))\n')
    monkeypatch.setattr(pdf_text, "__name__", "spy")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    monkeypatch.setenv("SOME_PROVIDER_KEY", "x")
    (told,) = read(tmp_path, b"").pages
    assert told is not None
    assert "KEY" not in told
    assert str(tmp_path) not in told


# -- documents -----------------------------------------------------------------------------------------------------


def test_a_document_grows_by_what_is_read() -> None:
    some = Document().extend(PdfPages(3, ["one", None], None))
    assert some == Document("[page 1]\none\n\n[page 2: cannot be read]\n\n", 2, is_whole=False, has_words=True)
    whole = some.extend(PdfPages(3, [" "], None))
    assert whole.text.endswith("[page 3: no text]\n\n")
    assert (whole.is_whole, whole.pages) == (True, 3)
    assert Document().extend(PdfPages(0, [], "broken")) == Document()
    assert Document().extend(PdfPages(0, [], None)).is_whole


def test_a_document_without_end_is_cut() -> None:
    cut = Document().extend(PdfPages(9, ["x" * (MAX_DOCUMENT_CHARS + 1)], None))
    assert cut.is_whole
    assert len(cut.text) == MAX_DOCUMENT_CHARS + len(CUT)


def test_only_the_last_documents_are_kept() -> None:
    documents = Documents()
    for n in range(5):
        documents.put(str(n), Document("x", 1))
    documents.put("4", Document("", 0))
    assert documents.get("0") == Document()
    assert documents.get("4") == Document("x", 1)
