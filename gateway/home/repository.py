"""The workspace of a folder: that of its git repository, by its address or else its path; else the default one.

Rule 1: the ways to one repository agree: ssh, https and git addresses, clones, worktrees and folders inside.
Rule 2: a user name, a password, a token or a query of an address is dropped before anything is made from it.
Rule 3: git is never run: its files are read, bounded, and anything strange in them means "no repository".
"""

import hashlib
import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple
from urllib.parse import unquote, urlsplit

from protocol.base import DEFAULT_WORKSPACE

MAX_CONFIG_BYTES = 1024 * 1024  # a config of thousands of branches has a tenth of it
MAX_TITLE = 120
_ID_CHARS = 26  # as long as other ids; 104 bits of a hash

SSH, HTTP = frozenset({"ssh", "git+ssh", "ssh+git"}), frozenset({"https", "http"})
USUAL_PORTS = {"https": 443, "http": 80, "git": 9418, **dict.fromkeys(SSH, 22)}
LOOPBACK = frozenset({"localhost", "127.0.0.1", "::1"})
"""Behind a port of this machine may be any other machine."""
SAME_HOST = {
    "ssh.github.com": "github.com",
    "www.github.com": "github.com",
    "altssh.gitlab.com": "gitlab.com",
    "altssh.bitbucket.org": "bitbucket.org",
    "www.gitlab.com": "gitlab.com",
}
"""Names under which a forge answers where port 22 is closed, and by which people paste it."""
FOLDS_CASE = frozenset({"github.com", "gitlab.com", "bitbucket.org", "codeberg.org"})
"""Forges to which `Acme/Shop` and `acme/shop` are one repository; another host may distinguish them."""

_SCP = re.compile(r"(?:[^@/\s]*@)?(?P<host>\[[^\]/\s]+\]|[^:/\s\[\]]+):(?P<path>[^\s].*)")
_BRACKETED = re.compile(r"\[(?P<host>[^\]:]+):(?P<port>\d+)\]")
_DRIVE = re.compile(r"[A-Za-z]:(?:[\\/]|$)")
_UNSEEN = re.compile(r"[\x00-\x1f\x7f]")
_SECTION = re.compile(r'\[\s*(?P<name>[A-Za-z0-9.-]+)(?:\s+"(?P<sub>(?:[^"\\]|\\.)*)")?\s*\]')
_ENTRY = re.compile(r"(?P<key>[A-Za-z][A-Za-z0-9-]*)\s*=\s*(?P<value>.*)", re.DOTALL)
_VALUE_PART = re.compile(r'"(?:[^"\\]|\\.)*"|\\.|[#;].*|[^"\\#;]+', re.DOTALL)
_ESCAPES = {"n": "\n", "t": "\t", "b": "\b"}


class Project(NamedTuple):
    """A workspace's id and a title that a person knows it by."""

    workspace_id: str
    title: str


# -- addresses -------------------------------------------------------------------------------------------------------


def normalise_remote(url: str) -> str | None:
    """Return `host[:port]/path` of a remote's address, equal for every way to reach it; None for a local address."""
    text = url.strip()
    if not text or _UNSEEN.search(text) or _DRIVE.match(text):
        return None
    if "://" in text:
        return _of_address(text)
    found = _SCP.fullmatch(text)
    if found is None or text.startswith((".", "/", "~", "\\")):
        return None
    host = found["host"]
    bracketed = _BRACKETED.fullmatch(host)
    port = int(bracketed["port"]) if bracketed else None
    return _build_address("ssh", bracketed["host"] if bracketed else host.strip("[]"), port, found["path"])


def _of_address(text: str) -> str | None:
    try:
        parts = urlsplit(text)
        host, port = parts.hostname, parts.port
    except ValueError:  # a port that is no number, a bracket that does not close
        return None
    scheme = parts.scheme.lower()
    if not host or scheme not in SSH | HTTP | {"git"}:
        return None
    return _build_address(scheme, host, port, parts.path)


def _build_address(scheme: str, host: str, port: int | None, path: str) -> str | None:
    name = unquote(host).rstrip(".").lower()
    name = SAME_HOST.get(name, name)
    if _UNSEEN.search(name) or "@" in name:  # escaped bytes of a user name, or worse
        return None
    kept, *rest = re.split("[?#]", path, maxsplit=1)
    kept = unquote(kept)
    if _UNSEEN.search(kept) or any("@" in part for part in rest):  # a host may follow: the kept part is a password
        return None
    segments = [segment for segment in kept.replace("\\", "/").split("/") if segment not in {"", "."}]
    if not segments or "@" in "/".join(segments)[1:]:  # a password with a slash ends up here
        return None
    segments[-1] = segments[-1].removesuffix(".git") or segments[-1]
    place = "/".join(segments)
    return f"{name}{_port(scheme, name, port)}/{place.casefold() if name in FOLDS_CASE else place}"


def _port(scheme: str, host: str, port: int | None) -> str:
    """Return the part of a port in the identity: ssh's is a way to the host, another's names a server on it."""
    is_usual = port is None or port == USUAL_PORTS.get(scheme)
    is_way_only = host in FOLDS_CASE or (scheme in SSH and host not in LOOPBACK)
    return "" if is_usual or is_way_only else f":{port}"


# -- git's files -----------------------------------------------------------------------------------------------------


def origin_of(config: str) -> str | None:
    """Return the first address of the remote `origin` in the text of a git configuration."""
    is_origin = False
    for line in _lines(config):
        rest = line.strip()
        section = _SECTION.match(rest)
        if section is not None:
            named = re.sub(r"\\(.)", r"\1", section["sub"]) if section["sub"] is not None else None
            is_origin = section["name"].lower() == "remote" and named == "origin"
            rest = rest[section.end() :].strip()
        entry = _ENTRY.match(rest)
        if is_origin and entry is not None and entry["key"].lower() == "url":
            return _value(entry["value"]) or None
    return None


def _lines(config: str) -> Iterator[str]:
    """Yield lines, joined where one ends with a backslash that is not itself escaped."""
    held = ""
    for line in config.splitlines():
        ending = len(line) - len(line.rstrip("\\"))
        if ending % 2:
            held += line[:-1]
            continue
        yield held + line
        held = ""
    if held:
        yield held


def _value(raw: str) -> str:
    """Return a value without its quotes, escapes and comment."""
    said: list[str] = []
    for part in _VALUE_PART.findall(raw):
        if part[0] in "#;":
            break
        bare = part[1:-1] if part[0] == '"' and len(part) > 1 else part
        said.append(re.sub(r"\\(.)", lambda found: _ESCAPES.get(found[1], found[1]), bare))
    return "".join(said).strip()


def _text(path: Path) -> str | None:
    try:
        with path.open("rb") as file:
            return file.read(MAX_CONFIG_BYTES).decode("utf-8", "replace")
    except OSError:
        return None


def _follow_pointer(base: Path, text: str | None) -> Path | None:
    """Return the folder that a pointer file names, from where the file is."""
    named = text.strip() if text else ""
    return base / named if named and not _UNSEEN.search(named) else None


def git_folder(folder: Path) -> Path | None:
    """Return the git folder that a folder's repository keeps its configuration in; worktrees share their clone's."""
    for place in (folder, *folder.parents):
        entry = place / ".git"
        if entry.is_dir():
            found: Path | None = entry
        elif entry.is_file():
            text = _text(entry) or ""
            found = _follow_pointer(place, text.removeprefix("gitdir:")) if text.startswith("gitdir:") else None
        else:
            continue
        if found is None or not (found / "HEAD").is_file():
            return None
        return _follow_pointer(found, _text(found / "commondir")) or found
    return None


# -- the project -----------------------------------------------------------------------------------------------------


def _project(kind: str, identity: str, title: str) -> Project:
    digest = hashlib.sha256(f"pioneer workspace\0{kind}\0{identity}".encode("utf-8", "surrogatepass")).hexdigest()
    seen = "".join(c if c.isprintable() else "\N{REPLACEMENT CHARACTER}" for c in title)
    return Project(f"ws_{digest[:_ID_CHARS]}", seen[:MAX_TITLE])


def of_remote(identity: str) -> Project:
    """Return the project of a normalised remote; its title is the path there."""
    return _project("remote", identity, identity.partition("/")[2])


def of_path(path: str) -> Project:
    """Return the project of a repository's own path, as the system compares paths; its title is the folder's name."""
    plain = os.path.normcase(path)
    return _project("path", plain, Path(path).name or "folder")


def project_of(folder: Path) -> Project | None:
    """Return the project of the repository that a folder is in, or None where there is none."""
    try:
        git = git_folder(folder.resolve(strict=True))
        if git is None:
            return None
        remote = normalise_remote(origin_of(_text(git / "config") or "") or "")
        if remote is not None:
            return of_remote(remote)
        whole = git.resolve(strict=True)
    except (OSError, RuntimeError):  # absent, forbidden, or a circle of links
        return None
    return of_path(str(whole.parent if whole.name == ".git" else whole))


def project_of_session(cwd: str, remote: str) -> Project | None:
    """Return the project of the repository in which a session was held, by the session's own records; or None.

    A folder that is not there any more may still be known by the repository's address.
    """
    folder = Path(cwd) if cwd and not _UNSEEN.search(cwd) else None
    # a path of another machine is not opened
    is_here = folder is not None and folder.is_absolute() and not cwd.startswith(("\\\\", "//"))
    found = project_of(folder) if folder is not None and is_here else None
    identity = normalise_remote(remote) if found is None else None
    return of_remote(identity) if identity is not None else found


def workspace_of(folder: Path | None = None, *, named: str | None = None) -> Project:
    """Return the named workspace, else that of the folder's repository (None: the working folder), else the default.

    The one rule of the command line, of MCP and of the sessions that are imported.
    """
    if named is not None:
        return Project(named, "")
    try:
        found = project_of(folder if folder is not None else Path.cwd())
    except OSError:  # the working folder was deleted
        found = None
    return found or Project(DEFAULT_WORKSPACE, "")
