import errno
import os
import sys
from pathlib import Path

import pytest

from agent.files.reading import FileRefusedError
from gateway.files import artifact_files
from gateway.files.artifact_files import ArtifactFiles
from protocol.errors import Unavailable

LIMIT = 1000
on_posix = pytest.mark.skipif(os.name != "posix", reason="POSIX files")


def content(folder: Path) -> list[Path]:
    return sorted(path for path in folder.rglob("*") if path.is_file())


@pytest.fixture
def files(tmp_path: Path) -> ArtifactFiles:
    return ArtifactFiles(tmp_path / "home" / "artifacts")


def refusal(files: ArtifactFiles, name: Path | str, limit: int = LIMIT) -> str:
    with pytest.raises(FileRefusedError) as caught:
        files.copy(str(name), limit)
    assert str(name) not in str(caught.value)
    return str(caught.value)


def test_a_copy_is_the_same_content_as_the_bytes(files: ArtifactFiles, tmp_path: Path) -> None:
    (tmp_path / "ünï 🌍 file.txt").write_bytes(b"words")
    kept = files.copy(str(tmp_path / "ünï 🌍 file.txt"), LIMIT)
    assert kept == files.put(b"words")
    assert files.holds(kept.sha256)
    assert files.digests() == [kept.sha256]
    (path,) = content(tmp_path / "home")
    assert path == files.path(kept.sha256)
    with files.open(kept.sha256) as file:  # type: ignore[union-attr]
        assert file.read() == b"words"


@on_posix
def test_what_is_kept_is_the_users_alone(files: ArtifactFiles, tmp_path: Path) -> None:
    kept = files.put(b"words")
    assert files.path(kept.sha256).stat().st_mode & 0o777 == 0o600
    assert {path.stat().st_mode & 0o777 for path in (tmp_path / "home").rglob("*") if path.is_dir()} == {0o700}


def test_a_content_that_was_cut_short_is_written_again(files: ArtifactFiles) -> None:
    kept = files.put(b"words")
    files.path(kept.sha256).write_bytes(b"wor")
    files.put(b"words")
    assert files.path(kept.sha256).read_bytes() == b"words"


def test_removing_is_final_and_may_be_repeated(files: ArtifactFiles) -> None:
    kept = files.put(b"words")
    for _ in range(2):
        files.remove(kept.sha256)
    files.remove("f" * 64)
    assert not files.holds(kept.sha256)
    assert files.open(kept.sha256) is None
    assert files.digests() == []


def test_nothing_is_there_before_the_first_file(files: ArtifactFiles, tmp_path: Path) -> None:
    assert files.digests() == []
    assert not (tmp_path / "home").exists()


def test_sizes(files: ArtifactFiles, tmp_path: Path) -> None:
    for size, fits in ((0, True), (LIMIT, True), (LIMIT + 1, False)):
        path = tmp_path / "f"
        path.write_bytes(b"x" * size)
        if fits:
            assert files.copy(str(path), LIMIT).size == size
        else:
            assert "larger than 1000 bytes" in refusal(files, path)


def test_a_sparse_file_counts_with_its_holes(files: ArtifactFiles, tmp_path: Path) -> None:
    path = tmp_path / "sparse"
    with path.open("wb") as file:
        file.truncate(1 << 40)
    assert "larger" in refusal(files, path)
    assert content(tmp_path / "home") == []


@pytest.mark.parametrize("name", ["missing.txt", "", "a\0b", "x" * 5000, "C:\\nowhere\\file.txt", "\\\\host\\share\\f"])
def test_what_is_not_there(files: ArtifactFiles, tmp_path: Path, name: str) -> None:
    with pytest.raises(FileRefusedError):
        files.copy(str(tmp_path / "nowhere") + "/" + name if name == "missing.txt" else name, LIMIT)
    assert content(tmp_path) == []


def test_a_folder_is_no_file(files: ArtifactFiles, tmp_path: Path) -> None:
    assert refusal(files, tmp_path) == "That is a folder"


@on_posix
@pytest.mark.parametrize("name", ["/dev/zero", "/dev/null", "/dev/tty", "/dev/stdin"])
def test_a_device_is_refused(files: ArtifactFiles, name: str) -> None:
    assert refusal(files, name)


@on_posix
def test_a_pipe_blocks_nobody(files: ArtifactFiles, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    assert refusal(files, pipe) == "That is no plain file"
    real, looks = artifact_files._require_plain, []
    # between the look and the opening, the name may come to be another file's
    monkeypatch.setattr(artifact_files, "_require_plain", lambda found: real(found) if looks else looks.append(found))
    assert refusal(files, pipe) == "That is no plain file"


@on_posix
def test_links_are_followed_and_never_in_circles(files: ArtifactFiles, tmp_path: Path) -> None:
    (tmp_path / "real").write_bytes(b"words")
    (tmp_path / "link").symlink_to("real")
    (tmp_path / "broken").symlink_to("nowhere")
    (tmp_path / "loop").symlink_to("loop")
    (tmp_path / "folder").symlink_to(tmp_path)
    assert files.copy(str(tmp_path / "link"), LIMIT).size == 5
    assert refusal(files, tmp_path / "broken") == "There is no such file"
    assert refusal(files, tmp_path / "loop") == "The file cannot be read"
    assert refusal(files, tmp_path / "folder") == "That is a folder"


@pytest.mark.skipif(os.name != "posix" or os.geteuid() == 0, reason="the superuser may read everything")
def test_a_file_without_permission(files: ArtifactFiles, tmp_path: Path) -> None:
    path = tmp_path / "locked"
    path.write_bytes(b"x")
    path.chmod(0)
    assert refusal(files, path) == "The file may not be read"


def test_no_permission_is_told(files: ArtifactFiles, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "f").write_bytes(b"x")

    def closed(*_given: object) -> int:
        raise PermissionError(errno.EACCES, "no")

    monkeypatch.setattr(artifact_files.os, "open", closed)
    assert refusal(files, tmp_path / "f") == "The file may not be read"


@pytest.mark.parametrize("change", ["grows", "shrinks", "is written", "breaks"])
def test_a_file_that_changes_while_it_is_read(
    files: ArtifactFiles, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, change: str
) -> None:
    path = tmp_path / "f"
    path.write_bytes(b"0123456789")
    real = os.read
    left = [change]

    def read(descriptor: int, size: int) -> bytes:
        data = real(descriptor, size)
        if left:
            match left.pop():
                case "grows":
                    with path.open("ab") as file:
                        file.write(b"more")
                case "shrinks":
                    os.truncate(path, 3)
                case "is written":
                    os.utime(path, ns=(1, 1))
                case _:
                    raise OSError(errno.EIO, "broken")
        return data

    monkeypatch.setattr(artifact_files.os, "read", read)
    assert refusal(files, path) == (
        "The file cannot be read" if change == "breaks" else "The file changed while it was read"
    )
    assert content(tmp_path / "home") == []


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="reads /proc")
def test_a_file_that_says_nothing_of_its_size(files: ArtifactFiles) -> None:
    assert "changed" in refusal(files, "/proc/self/status", 1_000_000)


@pytest.mark.parametrize("step", ["write", "fsync", "replace"])
@pytest.mark.parametrize(
    "code", [errno.ENOSPC, errno.EFBIG, getattr(errno, "EDQUOT", errno.ENOSPC), errno.EIO, errno.EROFS]
)
def test_a_disk_that_fails_keeps_nothing_half(
    files: ArtifactFiles, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, step: str, code: int
) -> None:
    def fails(*_given: object, **_named: object) -> None:
        raise OSError(code, "disk")

    if step == "write":
        monkeypatch.setattr(artifact_files.tempfile, "mkstemp", fails)
    elif step == "fsync":
        monkeypatch.setattr(artifact_files.os, "fsync", fails)
    else:
        monkeypatch.setattr(Path, "replace", fails)
    with pytest.raises(Unavailable) as caught:
        files.put(b"words")
    expected = {errno.EIO: "unavailable", errno.EROFS: "storage_read_only"}.get(code, "storage_full")
    assert caught.value.reason == expected
    assert content(tmp_path / "home") == []


def test_what_a_crash_left_half_is_removed_when_it_is_old(files: ArtifactFiles, tmp_path: Path) -> None:
    kept = files.put(b"words")
    folder = files.path(kept.sha256).parent.parent
    old, young = folder / ".new.old", folder / ".new.young"
    for path in (old, young):
        path.write_bytes(b"half")
    os.utime(old, (1, 1))
    assert files.digests() == [kept.sha256]
    assert not old.exists()
    assert young.exists()


@pytest.mark.skipif(sys.platform == "win32", reason="an open file cannot be removed there")
def test_what_is_open_is_read_to_its_end(files: ArtifactFiles) -> None:
    kept = files.put(b"words")
    with files.open(kept.sha256) as file:  # type: ignore[union-attr]
        files.remove(kept.sha256)
        assert file.read() == b"words"
