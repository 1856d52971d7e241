"""The safe opening of the user's files: both ways, with and without descriptors of folders."""

import os
import socket
import threading
from io import BytesIO
from pathlib import Path

import pytest

from gateway.files.safe_open import SafeFolder, UnsafeFileError
from protocol.seams.safe_files import read_up_to

pytestmark = pytest.mark.skipif(os.name == "nt", reason="links and pipes are made by POSIX calls here")
WAYS = [True, False]


@pytest.fixture(params=WAYS, ids=["descriptors", "names"])
def root(request: pytest.FixtureRequest, tmp_path: Path):
    folder = tmp_path / "root"
    (folder / "deep" / "er").mkdir(parents=True)
    (folder / "deep" / "er" / "note.md").write_text("inside")
    (tmp_path / "secret").write_text("outside")
    with SafeFolder(folder, by_descriptor=request.param) as opened:
        yield opened


def refusal(root: SafeFolder, path: str) -> str:
    with pytest.raises(UnsafeFileError) as found:
        root.open_file(path).close()
    return found.value.reason


def read(root: SafeFolder, path: str) -> str:
    with root.open_file(path) as file:
        return file.read().decode()


class Dribble(BytesIO):
    """A file of which a read returns less than is there."""

    def read(self, size: int | None = -1, /) -> bytes:
        return super().read(min(3, size if size is not None and size >= 0 else 3))


@pytest.mark.parametrize(("size", "expected"), [(0, b""), (2, b"ab"), (3, b"abc"), (7, b"abcdefg"), (9, b"abcdefgh")])
def test_a_file_is_read_up_to_a_size_whatever_one_read_of_it_returns(size: int, expected: bytes):
    assert read_up_to(Dribble(b"abcdefgh"), size) == expected


def test_a_file_is_read_from_where_it_stands(root: SafeFolder):
    with root.open_file("deep/er/note.md") as file:
        file.seek(2)
        assert [read_up_to(file, 3), read_up_to(file, 3), read_up_to(file, 3)] == [b"sid", b"e", b""]


def test_a_plain_file_is_read(root: SafeFolder):
    assert read(root, "deep/er/note.md") == "inside"


def test_paths_that_leave_the_root_name_nothing(root: SafeFolder):
    for path in ("../secret", "/etc/passwd", "deep/../../secret", "", "deep//er", "./deep", "a\0b"):
        assert refusal(root, path) == "missing", path


def test_links_out_are_refused(root: SafeFolder):
    base = Path(root.path)
    (base / "passwd").symlink_to("/etc/passwd")
    (base / "out").symlink_to("../secret")
    (base / "loop").symlink_to("loop")
    (base / "folder").symlink_to("deep")
    assert refusal(root, "passwd") == "link"
    assert refusal(root, "out") == "link"
    assert refusal(root, "loop") == "link"
    assert refusal(root, "folder/er/note.md") == "not_regular"
    with pytest.raises(UnsafeFileError):
        root.list_folder("folder")


def test_a_link_to_a_file_of_the_root_has_a_target_and_is_not_followed(root: SafeFolder):
    base = Path(root.path)
    (base / "near.md").symlink_to("deep/er/note.md")
    (base / "deep" / "up.md").symlink_to("../deep/er/note.md")
    (base / "absolute.md").symlink_to(base / "deep" / "er" / "note.md")
    (base / "second.md").symlink_to("near.md")
    links = ["near.md", "deep/up.md", "absolute.md", "second.md"]
    assert [refusal(root, path) for path in links] == ["link"] * 4
    assert [root.target_of(path) for path in links] == ["deep/er/note.md"] * 3 + [None]


def test_pipes_sockets_and_folders_are_not_opened(root: SafeFolder):
    base = Path(root.path)
    os.mkfifo(base / "pipe")
    here = Path.cwd()
    os.chdir(base)  # the name of a socket is short
    try:
        with socket.socket(socket.AF_UNIX) as listening:
            listening.bind("sock")
    finally:
        os.chdir(here)
    assert [refusal(root, name) for name in ("pipe", "sock", "deep")] == ["not_regular"] * 3
    assert {entry.name: entry.kind for entry in root.list_folder("")} == {
        "deep": "folder",
        "pipe": "other",
        "sock": "other",
    }


def test_long_and_deep_paths_are_refused(root: SafeFolder):
    assert refusal(root, "a" * 1025) == "path_too_long"
    assert refusal(root, "/".join("a" * 65)) == "path_too_long"


def test_a_root_that_is_a_link_is_resolved_first(tmp_path: Path):
    (tmp_path / "real").mkdir()
    (tmp_path / "real" / "a.md").write_text("a")
    (tmp_path / "link").symlink_to("real")
    with SafeFolder(tmp_path / "link") as opened:
        assert opened.path == str(tmp_path / "real")
        assert read(opened, "a.md") == "a"
    with pytest.raises(UnsafeFileError):
        SafeFolder(tmp_path / "none")
    with pytest.raises(UnsafeFileError):
        SafeFolder(tmp_path / "real" / "a.md")


def test_knowledge_statement_10_a_link_swapped_in_is_never_followed(tmp_path: Path):
    """A thread swaps a folder and a link to outside as fast as it can: no byte of outside is ever read."""
    inside, outside = tmp_path / "root" / "sub", tmp_path / "outside"
    inside.mkdir(parents=True)
    outside.mkdir()
    (inside / "f").write_text("inside")
    (outside / "f").write_text("outside")
    link = tmp_path / "link"
    done = threading.Event()

    def swap() -> None:
        while not done.is_set():
            link.symlink_to(outside)
            inside.rename(tmp_path / "aside")
            link.rename(inside)
            inside.unlink()
            (tmp_path / "aside").rename(inside)

    swapping = threading.Thread(target=swap)
    swapping.start()
    seen: set[str] = set()
    try:
        with SafeFolder(tmp_path / "root") as opened:
            for _ in range(10_000):
                try:
                    seen.add(read(opened, "sub/f"))
                except UnsafeFileError as error:
                    seen.add(error.reason)
    finally:
        done.set()
        swapping.join()
    assert "outside" not in seen
    with SafeFolder(tmp_path / "root") as opened:  # whether a read of before met the folder is up to the threads
        assert read(opened, "sub/f") == "inside"


@pytest.mark.parametrize("inode", [5, 1 << 63, (1 << 64) - 1, (7 << 64) + 5])
def test_an_entry_has_numbers_that_a_database_stores(root: SafeFolder, monkeypatch: pytest.MonkeyPatch, inode: int):
    """Some file systems, and Windows, number files beyond 63 bits."""

    def with_inode(found: os.stat_result) -> os.stat_result:
        return os.stat_result((found.st_mode, inode, *found[2:]), {"st_mtime_ns": found.st_mtime_ns})

    for name, real in (("stat", os.stat), ("lstat", os.lstat)):
        monkeypatch.setattr(os, name, lambda *given, real=real, **named: with_inode(real(*given, **named)))
    entry = root.find("deep/er/note.md")
    assert -(1 << 63) <= entry.inode < 1 << 63
    assert (entry.inode - inode) % (1 << 64) == 0
