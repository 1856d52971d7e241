"""Which project a folder belongs to: every way to one repository agrees, and nothing secret leaves an address."""

import os
import re
import string
from pathlib import Path

import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st

from gateway.home.repository import (
    git_folder,
    normalise_remote,
    of_path,
    of_remote,
    origin_of,
    project_of,
    project_of_session,
    workspace_of,
)
from protocol.base import DEFAULT_WORKSPACE, ID_TEXT

WORD = st.text(string.ascii_letters + string.digits + "_-", min_size=1, max_size=12).filter(lambda word: word != "git")
LABEL = st.text(string.ascii_lowercase + string.digits, min_size=1, max_size=10)
HOST = st.lists(LABEL, min_size=2, max_size=4).map(".".join).filter(lambda host: not host.split(".")[-1].isdigit())
PATH = st.lists(WORD, min_size=1, max_size=4).map("/".join)
SECRET = st.text(string.ascii_letters + string.digits, min_size=12, max_size=40).map(lambda text: f"zq{text}qz")
CASES = st.lists(st.booleans(), min_size=1, max_size=8)


def recased(text: str, cases: list[bool]) -> str:
    """The text with some letters as capitals."""
    return "".join(c.upper() if cases[n % len(cases)] else c for n, c in enumerate(text))


@given(host=HOST, path=PATH, user=WORD, secret=SECRET, cases=CASES, port=st.integers(1, 65535))
def test_every_way_to_a_repository_agrees(host, path, user, secret, cases, port):
    loud = recased(host, cases)
    ways = [
        f"https://{host}/{path}",
        f"https://{loud}/{path}.git",
        f"https://{loud}:443/{path}/",
        f"http://{host}:80/{path}",
        f"https://{user}:{secret}@{loud}/{path}.git",
        f"https://{secret}@{host}/{path}?token={secret}#{secret}",
        f"ssh://git@{loud}/{path}.git",
        f"ssh://{user}:{secret}@{host}:{port}/{path}",
        f"SSH://{host}//{path}.git/",
        f"git://{host}/{path}",
        f"git://{host}:9418/{path}.git",
        f"{user}@{loud}:{path}.git",
        f"{host}:{path}",
        f"{user}@{host}:/{path}/",
        f"{user}@[{host}:{port}]:{path}.git",
    ]
    assume(len(host) > 1)
    identities = {normalise_remote(way) for way in ways}
    assert identities == {f"{host}/{path}"}
    assert secret not in str(identities)


@given(HOST, PATH, st.text(max_size=80), SECRET)
@example("0.a", "0", "? ", "zq000000000000qz")
@example("0.a", "0", "/", "zq000000000000qz")
def test_no_address_is_too_strange_and_none_gives_a_credential_away(host, path, text, secret):
    assume(secret not in text)
    for user in (secret, f"{text}{secret}", f"u:{secret}", f"u:{secret}{text}", f"u:12/{secret}"):
        for url in (f"https://{user}@{host}/{path}", f"ssh://{user}@{host}/{path}", f"{user}@{host}:{path}"):
            assert secret not in (normalise_remote(url) or "")
    for url in (text, f"https://{text}", f"ssh://git@{host}/{text}", f"{host}:{text}", f"[{text}]:{path}"):
        found = normalise_remote(url)
        assert found is None or not any(c in found for c in "\n\r\0")


@given(first=st.tuples(HOST, PATH), second=st.tuples(HOST, PATH))
def test_different_repositories_are_different_projects(first, second):
    assume(first != second)
    one, other = (normalise_remote(f"https://{host}/{path}") for host, path in (first, second))
    assert one is not None
    assert other is not None
    assert of_remote(one).workspace_id != of_remote(other).workspace_id


@given(host=HOST, path=PATH)
def test_an_id_is_an_id_that_tells_nothing_and_a_title_tells_enough(host, path):
    project = of_remote(f"{host}/{path}")
    assert project == of_remote(f"{host}/{path}")
    assert project.workspace_id.startswith("ws_")
    assert re.fullmatch(ID_TEXT, project.workspace_id)
    assert project.title == path
    assert project.workspace_id != of_path(f"{host}/{path}").workspace_id


@pytest.mark.parametrize(
    ("url", "identity"),
    [
        ("git@github.com:Acme/Shop.git", "github.com/acme/shop"),
        ("ssh://git@ssh.github.com:443/Acme/Shop.git", "github.com/acme/shop"),
        ("https://www.github.com/acme/shop", "github.com/acme/shop"),
        ("https://git.example.org/Acme/Shop", "git.example.org/Acme/Shop"),  # a host that may tell cases apart
        ("https://git.example.org:8443/x", "git.example.org:8443/x"),
        ("http://localhost:3000/x.git", "localhost:3000/x"),
        ("ssh://git@localhost:2222/x", "localhost:2222/x"),  # behind a port of this machine may be any other
        ("ssh://git@git.example.org:2222/x", "git.example.org/x"),
        ("https://example.org./x%20y.git", "example.org/x y"),
        ("git@example.org:team/.git", "example.org/team/.git"),
        ("ssh://git@[2001:db8::1]:22/x.git", "2001:db8::1/x"),
        ("user@example.org:~me/x.git", "example.org/~me/x"),
    ],
)
def test_addresses_of_the_wild(url, identity):
    assert normalise_remote(url) == identity


@pytest.mark.parametrize(
    "url",
    [
        "",
        " ",
        "/srv/git/x.git",
        "./x",
        "../x",
        "~/x",
        "file:///srv/git/x.git",
        "C:\\git\\x",
        "C:/git/x",
        "x",
        "https://",
        "https:///x",
        "https://example.org",
        "https://example.org/",
        "https://example.org:port/x",
        "https://[::1/x",
        "ftp://example.org/x",
        "git@host:",
        "https://exa\nmple.org/x",
        "https://u:12/ss@example.org/x",
        "https://me%40x/x",
        "https://h/a%00b",
    ],
)
def test_what_is_no_remote_address(url):
    assert normalise_remote(url) is None


# -- git's own files -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("config", "url"),
    [
        ('[remote "origin"]\n\turl = https://h/x\n\turl = https://h/second\n', "https://h/x"),
        ('[core]\n\turl = no\n[REMOTE "origin"] URL = "https://h/x" ; comment\n', "https://h/x"),
        ('[remote "other"]\nurl = https://h/y\n[remote "origin"]\n# url = z\nurl=https://h/x # c\n', "https://h/x"),
        ('[remote "Origin"]\nurl = https://h/y\n', None),
        ('[remote "origin"]\nurl = https://h/\\\nx\n', "https://h/x"),
        ('[remote "origin"]\nurl = "https://h/a#b"\n', "https://h/a#b"),
        ('[remote "or\\igin"]\nurl = https://h/x\n', "https://h/x"),
        ('[remote "origin"]\npushurl = https://h/x\n', None),
        ('[remote "origin"]\nurl =\n', None),
        ("", None),
        ("]][[\x00=", None),
    ],
)
def test_the_origin_in_a_configuration(config, url):
    assert origin_of(config) == url


@given(st.text(max_size=400))
def test_no_configuration_is_too_strange(text):
    assert origin_of(text) is None or isinstance(origin_of('[remote "origin"]\n' + text), str | None)


def repository(folder: Path, remote: str | None = None) -> Path:
    """A repository as `git init` leaves it, as far as it matters here."""
    git = folder / ".git"
    git.mkdir(parents=True)
    (git / "HEAD").write_text("ref: refs/heads/main\n")
    (git / "config").write_text(f'[remote "origin"]\n\turl = {remote}\n' if remote else "[core]\n")
    return folder


def worktree_of(clone: Path, folder: Path) -> Path:
    """A worktree of a clone."""
    inner = clone / ".git" / "worktrees" / folder.name
    inner.mkdir(parents=True)
    (inner / "HEAD").write_text("ref: refs/heads/side\n")
    (inner / "commondir").write_text("../..\n")
    folder.mkdir(parents=True)
    (folder / ".git").write_text(f"gitdir: {inner}\n")
    return folder


def test_clones_worktrees_and_folders_inside_are_one_project(tmp_path):
    clone = repository(tmp_path / "a" / "clone", "git@example.org:acme/tides.git")
    other = repository(tmp_path / "b" / "again", "https://me:pw12345678@EXAMPLE.org/acme/tides")
    tree = worktree_of(clone, tmp_path / "tree")
    (clone / "src" / "deep").mkdir(parents=True)
    projects = {project_of(place) for place in (clone, clone / "src" / "deep", other, tree)}
    assert projects == {of_remote("example.org/acme/tides")}


def test_a_repository_without_a_remote_is_its_place(tmp_path):
    clone = repository(tmp_path / "alone")
    tree = worktree_of(clone, tmp_path / "tree")
    (clone / "src").mkdir()
    assert project_of(clone) == project_of(clone / "src") == project_of(tree) == of_path(str(clone.resolve()))
    assert of_path(str(clone.resolve())).title == "alone"
    assert project_of(repository(tmp_path / "second")) != project_of(clone)


def test_a_remote_that_is_a_folder_is_no_identity(tmp_path):
    assert project_of(repository(tmp_path / "x", "/srv/git/x.git")) == of_path(str((tmp_path / "x").resolve()))


def test_a_submodule_is_its_own_project(tmp_path):
    whole = repository(tmp_path / "whole", "https://example.org/whole")
    inner = whole / ".git" / "modules" / "part"
    inner.mkdir(parents=True)
    (inner / "HEAD").write_text("ref: refs/heads/main\n")
    (inner / "config").write_text('[remote "origin"]\nurl = https://example.org/part\n')
    (whole / "part").mkdir()
    (whole / "part" / ".git").write_text("gitdir: ../.git/modules/part\n")
    assert project_of(whole / "part") == of_remote("example.org/part")


@pytest.mark.parametrize("pointer", ["", "gitdir:", "gitdir: /nowhere/at/all", "gitdir: \x00", "nonsense", "gitdir: ."])
def test_a_torn_pointer_is_no_repository(tmp_path, pointer):
    (tmp_path / ".git").write_text(pointer)
    assert git_folder(tmp_path) is None
    assert project_of(tmp_path) is None


def test_places_that_are_no_repository(tmp_path, monkeypatch):
    (tmp_path / "notes").mkdir()
    for place in (tmp_path / "notes", Path(os.sep).resolve(), tmp_path / "not there"):
        assert project_of(place) is None
        assert workspace_of(place) == (DEFAULT_WORKSPACE, "")
    clone = repository(tmp_path / "clone")
    assert workspace_of(clone, named="ws_named") == ("ws_named", "")
    monkeypatch.chdir(clone)
    assert workspace_of() == workspace_of(clone) == project_of(clone)


@pytest.mark.skipif(os.name == "nt", reason="that system deletes no folder in which a process stands")
def test_a_process_in_a_folder_that_was_deleted_has_the_default_workspace(tmp_path, monkeypatch):
    gone = tmp_path / "gone"
    gone.mkdir()
    monkeypatch.chdir(gone)
    gone.rmdir()
    assert workspace_of() == (DEFAULT_WORKSPACE, "")


def test_a_session_is_of_its_folder_s_repository_else_of_the_address_that_it_names(tmp_path, monkeypatch):
    clone = repository(tmp_path / "clone", "git@example.org:acme/tides.git")
    here, there = of_remote("example.org/acme/tides"), of_remote("example.org/acme/other")
    assert project_of_session(str(clone), "https://example.org/acme/other") == here
    assert project_of_session(str(tmp_path / "gone"), "https://me:pw@example.org/acme/other.git") == there
    monkeypatch.chdir(tmp_path)
    for cwd in ("", "clone", ".", "\\\\host\\clone", f"/{clone}", f"{clone}\0"):
        assert project_of_session(cwd, "") is None, cwd
    assert project_of_session("", "/srv/git/x.git") is None


def test_a_title_is_readable_whatever_the_folder_is_called(tmp_path):
    project = project_of(repository(tmp_path / ("n" * 150 + "\u202e")))
    assert project is not None
    assert len(project.title) <= 120
    assert project.title.isprintable()
