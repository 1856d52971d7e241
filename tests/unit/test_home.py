"""The home folder: who may read it, and that no configured path leaves it."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from cases import each
from hypothesis import given
from hypothesis import strategies as st

from gateway.home import folder as home_module
from gateway.home.folder import NETWORK_FILE_SYSTEMS, Home, default_root, may_only_be_read, problem_of_relative
from protocol.errors import CallerError, Unavailable

posix_only = pytest.mark.skipif(sys.platform == "win32", reason="modes and unprivileged links are POSIX's")

GOOD = [
    "capsules",
    "memory/capsules",
    "a/b/c/d",
    "a\\b",
    "with space/in it",
    "capsule-1_2",
    ".hidden",
    "..hidden",
    "a..b",
    "a.b.c",
    "console",
    "common",
    "com",
    "com10",
    "null",
    "lpt",
    "nulx.txt",
    "auxiliary",
    "кэш",
    "索引",
    "naïve",
    "x" * 255,
    "..a/b",
    "...a",
    "a+b=c,d;e",
    "(x)[y]{z}!@#^&'`",
]

BAD = [
    # nothing, or blanks that no one sees
    "",
    " ",
    "\t",
    "\u3000",
    " a",
    "a ",
    "\u00a0a",
    "a\n",
    # absolute somewhere
    "/",
    "/etc",
    "//host/share",
    "\\",
    "\\etc",
    "\\\\host\\share",
    "\\\\?\\C:\\x",
    "\\\\.\\pipe\\x",
    "///a",
    # drives
    "C:",
    "C:\\",
    "C:/x",
    "C:x",
    "c:capsules",
    "Z:..\\x",
    "\uff23:x",
    "\uff23\uff1a\\x",
    # upwards
    ".",
    "..",
    "./a",
    "../a",
    "a/..",
    "a/../b",
    "a/./b",
    "a/../../b",
    "..\\a",
    "a\\..\\..\\b",
    "a//b",
    "a/",
    "a\\",
    "a/../../../../etc/passwd",
    "\u2025",
    "\u2025/a",
    "\uff0e\uff0e",
    "\uff0e\uff0e/a",
    "a/\uff0e\uff0e\uff0fb",
    "\u2024\u2024/a",
    "a\uff3c\uff0e\uff0e\uff3cb",
    "\uff0fetc",
    "\ufe52\ufe52/a",
    # names that a shell or a platform reads
    "~",
    "~/x",
    "~root/x",
    "$HOME/x",
    "%APPDATA%\\x",
    "a:b",
    "file.txt:stream",
    "a*",
    "a?",
    'a"b',
    "a<b",
    "a>b",
    "a|b",
    # invisible and control characters
    "a\x00b",
    "\x00",
    "a\x01b",
    "a\x1fb",
    "a\x7fb",
    "a\x85b",
    "a\u200bb",
    "a\u202eb",
    "a\u2028b",
    "a\ufeffb",
    "a\rb",
    "\ud800",
    # reserved by some platform
    "con",
    "CON",
    "nul",
    "NUL.txt",
    "aux",
    "prn",
    "com1",
    "COM9",
    "lpt1",
    "LPT9.log",
    "a/con",
    "a/Con.d/b",
    "com0",
    "con .txt",
    "com\u00b9",
    "\uff23\uff2f\uff2e",
    "a.",
    "a./b",
    "a /b",
    "...",
    "a/...",
    # too long for a file system
    "x" * 256,
    "ж" * 128,
    "a/" + "x" * 300,
]


@each("path", GOOD)
def test_a_plain_relative_path_is_used(path: str, tmp_path: Path) -> None:
    assert problem_of_relative(path) is None
    root = Home(tmp_path / "home").root
    child = Home(root).child(path, key="memory.capsules_dir")
    assert child.is_relative_to(root)
    assert child != root


@each("path", BAD)
def test_any_other_path_is_refused_by_name(path: str, tmp_path: Path) -> None:
    home = Home(tmp_path / "home")
    assert problem_of_relative(path) is not None
    with pytest.raises(CallerError) as caught:
        home.child(path, key="memory.capsules_dir")
    assert caught.value.reason == "invalid_params"
    assert caught.value.details is not None
    assert caught.value.details["path"] == "$.memory.capsules_dir"
    assert str(tmp_path) not in caught.value.message


def test_the_tables_are_long_enough_to_mean_something() -> None:
    assert len(set(GOOD) | set(BAD)) >= 100


PATHS = st.text(
    st.sampled_from("ab./\\:~ \u2025\uff0e\uff0f\uff3cC\x00\u202e") | st.characters(), min_size=1, max_size=20
)


@given(PATHS)
def test_whatever_is_accepted_stays_inside(path: str) -> None:
    root = Path("/nowhere/home")
    if problem_of_relative(path) is None:
        joined = os.path.normpath(root / home_module.unicodedata.normalize("NFKC", path))
        assert Path(joined).is_relative_to(root)
        assert joined != str(root)


@posix_only
@pytest.mark.parametrize("target", ["/tmp", "/does/not/exist/yet", "..", "../elsewhere", "loop"])  # noqa: S108
def test_a_configured_folder_is_reached_by_no_link(target: str, tmp_path: Path) -> None:
    home = Home(tmp_path / "home")
    (home.root / "loop").symlink_to(target)
    for path in ("loop", "loop/deeper"):
        with pytest.raises(CallerError, match="must not have a link in it"):
            home.child(path, key="memory.capsules_dir")


@posix_only
def test_a_linked_home_is_used_and_a_link_within_it_is_not(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "linked").symlink_to(tmp_path / "real")
    home = Home(tmp_path / "linked")
    assert home.root == (tmp_path / "real").resolve()
    (home.root / "inside").mkdir()
    (home.root / "link").symlink_to(home.root / "inside")
    with pytest.raises(CallerError, match="must not have a link in it"):
        home.child("link/x", key="k")


@posix_only
@pytest.mark.parametrize(
    "name",
    ["gateway.db", "config.toml", "logs", "keys/fingerprint.key", "artifacts/ab", "backups/monday.backup", "notes"],
)
def test_a_home_with_a_link_in_it_is_refused_and_the_link_is_named(name: str, tmp_path: Path) -> None:
    link = tmp_path / "home" / name
    link.parent.mkdir(parents=True)
    (tmp_path / "home" / "gateway.db").touch()
    link.unlink(missing_ok=True)
    (tmp_path / "elsewhere").mkdir()
    link.symlink_to(tmp_path / "elsewhere")
    with pytest.raises(Unavailable) as caught:
        Home(tmp_path / "home")
    assert repr(name) in caught.value.message
    assert list((tmp_path / "elsewhere").iterdir()) == []


def test_the_layout(tmp_path: Path) -> None:
    home = Home(tmp_path / "deep" / "home")
    for folder in (home.run, home.keys, home.logs):
        assert folder.is_dir()
        assert folder.parent == home.root
    assert home.database == home.root / "gateway.db"
    assert not home.database.exists()
    assert {home.artifacts.parent, home.backups.parent} == {home.root}


@posix_only
def test_it_is_closed_to_others(tmp_path: Path) -> None:
    root = tmp_path / "home"
    root.mkdir(mode=0o777)
    root.chmod(0o777)
    home = Home(root)
    assert root.stat().st_mode & 0o777 == 0o700
    for folder in (home.run, home.keys, home.logs):
        assert folder.stat().st_mode & 0o077 == 0


def test_a_second_opening_changes_nothing(tmp_path: Path) -> None:
    first = Home(tmp_path / "home")
    (first.run / "kept").write_text("x")
    assert Home(tmp_path / "home").root == first.root
    assert (first.run / "kept").read_text() == "x"


def test_a_file_in_its_place_is_told(tmp_path: Path) -> None:
    (tmp_path / "home").write_text("a file")
    with pytest.raises(Unavailable) as caught:
        Home(tmp_path / "home")
    assert caught.value.reason == "storage_read_only"
    assert str(tmp_path) not in caught.value.message


@pytest.mark.skipif(sys.platform == "win32" or os.geteuid() == 0, reason="root may write everywhere")
def test_a_place_that_cannot_be_written_is_told(tmp_path: Path) -> None:  # pragma: no cover  # not as root
    (tmp_path / "shut").mkdir(mode=0o500)
    with pytest.raises(Unavailable, match="cannot be written"):
        Home(tmp_path / "shut" / "home")


def test_a_log_that_comes_and_goes_makes_no_home_read_only(tmp_path: Path) -> None:
    """Another process that opens and closes the database makes its log and removes it: two may start at once."""
    database = Home(tmp_path).database
    come_and_go = """
import sqlite3, sys
while True:
    opened = sqlite3.connect(sys.argv[1], isolation_level=None)
    opened.execute("PRAGMA journal_mode = wal")
    opened.execute("PRAGMA user_version = 1")
    opened.close()
"""
    with subprocess.Popen([sys.executable, "-I", "-c", come_and_go, str(database)]) as other:
        try:
            while not database.with_name("gateway.db-wal").exists():
                assert other.poll() is None
            assert not any(may_only_be_read(tmp_path) for _ in range(5000))
        finally:
            other.kill()


@pytest.mark.parametrize("kind", sorted(NETWORK_FILE_SYSTEMS))
def test_a_network_file_system_is_refused(kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(home_module, "file_system_of", lambda _path: kind)
    with pytest.raises(Unavailable, match=f"network file system .{kind}."):
        Home(tmp_path / "home")


@pytest.mark.skipif(not Path("/proc/self/mounts").exists(), reason="only Linux tells")
def test_the_file_system_is_that_of_the_nearest_mount() -> None:
    assert home_module.file_system_of(Path("/proc/self")) == "proc"
    assert home_module.file_system_of(Path("/")) not in {None, "proc"}


def test_the_root_is_the_environment_s_or_the_platform_s(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PIONEER_HOME", str(tmp_path))
    assert default_root() == tmp_path
    monkeypatch.delenv("PIONEER_HOME")
    assert default_root().name == "pioneer-gateway"
    assert default_root().is_absolute()
