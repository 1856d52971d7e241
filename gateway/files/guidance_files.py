"""The files that steer a turn, as `agent.guidance` reads them: instruction files, and folders of agent definitions.

Rule 1: a file is opened by `gateway.files.safe_open` alone. What is looked at before is a hint: which names are there.
Rule 2: of a definition no link is read, neither a folder nor a file.
"""

import hashlib
import ntpath
import os
import stat
import sys
from collections.abc import Callable, Collection, Mapping
from pathlib import Path

from agent.guidance.definitions import AGENTS_FILE, CONFIG_FILE, FILES
from agent.guidance.ports import AgentFile, AgentFolder, Stamp, UnreadFile, problem
from agent.guidance.source_text import decode_source
from gateway.files.plain_yaml import NotPlainYamlError, PlainYaml, read_plain_yaml
from gateway.files.safe_open import FolderEntry, SafeFolder, UnsafeFileError
from protocol.conversation.values import AgentLayer
from protocol.guidance import AgentProblem, AgentProblemCode
from protocol.seams.safe_files import read_up_to
from protocol.settings import AgentFileSettings

MAX_AGENT_FILE_BYTES = 512 * 1024
"""More than the largest budget of such a text."""
MAX_RESOLVED = 2048
"""Paths of some projects; then they are resolved anew."""

DISTINGUISHES_CAPITALS = sys.platform not in {"darwin", "win32"}
"""True where disks of this system find a file by its exact name alone; others may find it by other letters as well."""

BUILT_IN = Path(__file__).resolve().parents[2] / "promt" / "agents"
"""The definitions that come with the package. There is none yet."""


class InstructionFiles:
    """Folders in which instruction files lie. Satisfies `InstructionDisk`.

    A resolved path is kept for as long as the path as it was given leads to the same file or folder.
    """

    def __init__(self) -> None:
        self._resolved: dict[str, str] = {}

    def user_home(self) -> str:
        """Return the full path of the user's home folder."""
        return self._resolve(os.path.expanduser("~"))  # noqa: PTH111

    def real_folder(self, path: str) -> str | None:
        """Return the full path of a folder without links; None where there is no such folder."""
        try:
            real = self._resolve(path)
            return real if stat.S_ISDIR(os.lstat(real).st_mode) else None
        except (OSError, ValueError):
            return None

    def has_git(self, folder: str) -> bool:
        """Return whether a folder holds `.git`, as a folder or, in a worktree, a file."""
        return os.path.lexists(f"{folder}{os.sep}.git")

    def find(self, root: str, path: str) -> Stamp | None:
        """Return the stamp of a regular file below a root by its exact name; None where there is none."""
        full = f"{root}{os.sep}{path}"
        try:
            found = os.lstat(full)
        except (OSError, ValueError):
            return None
        is_it = stat.S_ISREG(found.st_mode) and (DISTINGUISHES_CAPITALS or _is_exact(full, found))
        return (found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns) if is_it else None

    def is_link(self, root: str, path: str) -> bool:
        """Return whether a path below a root is a link."""
        return os.path.islink(f"{root}{os.sep}{path}")  # noqa: PTH114

    def resolve(self, root: str, folder: str, written: str) -> str:
        """Return the path below the root that a path written in a file of `folder` means. Raises `UnreadFile`."""
        if written.startswith("~"):
            raise UnreadFile("home")
        # a project's files are the same on every system, and so is what they may name
        is_absolute = written[0] in "/\\" or ntpath.isabs(written)
        if is_absolute or (os.name == "nt" and os.path.splitdrive(written)[0]):
            raise UnreadFile("absolute")
        try:
            real = self._resolve(f"{root}{os.sep}{folder}{os.sep}{written}")
        except (OSError, ValueError):
            raise UnreadFile("missing") from None
        if not real.startswith(root.rstrip(os.sep) + os.sep):
            raise UnreadFile("outside")
        return real[len(root) :].strip(os.sep).replace(os.sep, "/")

    def _resolve(self, path: str) -> str:
        """Return a path without links and `..`; what does not exist may have such a path. Raises `OSError`."""
        known = self._resolved.get(path)
        if known is not None and _is_same(path, known):
            return known
        if len(self._resolved) > MAX_RESOLVED:
            self._resolved.clear()
        real = self._resolved[path] = os.path.realpath(path)
        return real

    def read(self, root: str, path: str, most: int) -> bytes:
        """Return a file's bytes, of which there are at most so many. Raises `UnreadFile`."""
        try:
            with SafeFolder(root) as folder:
                return _read(folder, path, most)
        except UnsafeFileError as error:
            raise UnreadFile("missing" if error.reason == "missing" else "unreadable") from None


def _is_same(path: str, real: str) -> bool:
    """Return whether a path leads to what another one, without links, names."""
    try:
        return os.path.samestat(os.stat(path), os.lstat(real))  # noqa: PTH116
    except OSError:
        return False


def _is_exact(full: str, found: os.stat_result) -> bool:
    """Return whether a file has a name in these very letters: some disks find it by others as well."""
    folder, name = os.path.split(full)
    try:
        other = os.lstat(os.path.join(folder, name.swapcase()))  # noqa: PTH118
    except OSError:
        return True  # this disk distinguishes capital letters
    return not os.path.samestat(found, other) or name in os.listdir(folder)  # noqa: PTH208


def _read(folder: SafeFolder, path: str, most: int) -> bytes:
    try:
        with folder.open_file(path) as file:
            data = read_up_to(file, most + 1)
    except OSError:
        raise UnreadFile("unreadable") from None
    if len(data) > most:
        raise UnreadFile("too_large")
    return data


def agents_folder(settings: AgentFileSettings, home: Path) -> Path:
    """Return the folder of agent definitions; a relative one lies below the home."""
    return home / Path(settings.folder or "agents").expanduser()


class AgentFolders:
    """The folders of agent definitions in both layers, read anew at every question. Satisfies `AgentShelf`."""

    def __init__(self, vault: Callable[[], Path], built_in: Path = BUILT_IN) -> None:
        self._layers: Mapping[AgentLayer, Callable[[], Path]] = {"built_in": lambda: built_in, "vault": vault}

    def slugs(self) -> dict[str, AgentLayer]:
        """Return the names of all entries that mean to be definitions, each with its layer.

        The vault's hides the built-in one.
        """
        found: dict[str, AgentLayer] = {}
        for layer, root in self._layers.items():
            for entry in _entries(root()):
                if entry.kind in {"folder", "link"} and not entry.name.startswith("."):
                    found[entry.name] = layer
        return dict(sorted(found.items()))

    def read(self, slug: str, texts: Collection[str]) -> AgentFolder | None:
        """Return a definition's folder with the texts of those files; None where no layer has it."""
        for layer, root_of in reversed([*self._layers.items()]):
            root = root_of()
            entry = next((one for one in _entries(root) if one.name == slug), None)
            if entry is None or entry.kind not in {"folder", "link"}:
                continue
            if entry.kind == "link":
                return AgentFolder(layer, slug, {}, None, [problem("link")])
            try:
                with SafeFolder(root) as folder:
                    return _definition(folder, layer, slug, texts)
            except UnsafeFileError:
                return AgentFolder(layer, slug, {}, None, [problem("unreadable")])
        return None


def _entries(root: Path) -> list[FolderEntry]:
    """Return the entries of a folder of definitions; none where there is no such folder."""
    try:
        with SafeFolder(root) as folder:
            return folder.list_folder("")
    except UnsafeFileError:
        return []


def _definition(folder: SafeFolder, layer: AgentLayer, slug: str, texts: Collection[str]) -> AgentFolder:
    """Return one definition as it lies there. Raises `UnsafeFileError`."""
    by_name = {entry.name: entry for entry in folder.list_folder(slug)}
    by_letters = {name.casefold(): name for name in by_name}
    files: dict[str, AgentFile] = {}
    config = PlainYaml({}, {})
    problems: list[AgentProblem] = []
    for name in FILES:
        entry = by_name.get(name)
        if entry is None:
            if name.casefold() in by_letters:
                problems.append(problem("wrong_case", by_letters[name.casefold()]))
            elif name in {AGENTS_FILE, CONFIG_FILE}:
                problems.append(problem("missing", name))
            continue
        if entry.kind != "file":
            problems.append(problem("link" if entry.kind == "link" else "not_regular", name))
            continue
        data, code = _bytes_of(folder, f"{slug}/{name}")
        text = _text_of(data)
        if code is not None or text is None:
            problems.append(problem(code or "not_text", name))
            continue
        files[name] = AgentFile(hashlib.sha256(data).hexdigest(), text if name in texts else None)
        if name == CONFIG_FILE:
            try:
                config = read_plain_yaml(text)
            except NotPlainYamlError as error:
                problems.append(problem("config_invalid", name, error.line, error.cause))
    return AgentFolder(layer, slug, files, config.table, problems, config.lines)


def _bytes_of(folder: SafeFolder, path: str) -> tuple[bytes, AgentProblemCode | None]:
    try:
        return _read(folder, path, MAX_AGENT_FILE_BYTES), None
    except UnreadFile as unread:
        return b"", "too_large" if unread.problem == "too_large" else "unreadable"
    except UnsafeFileError:
        return b"", "unreadable"


def _text_of(data: bytes) -> str | None:
    """Return the bytes as text; None where they are none."""
    try:
        return decode_source(data)
    except UnreadFile:
        return None
