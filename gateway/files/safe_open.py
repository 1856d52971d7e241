"""The safe opening of files in a folder of the user: no link, device or pipe is followed or opened on the way.

Rule 1: a path is opened component by component from the root's descriptor, so that a link that is put in its place
between a look and the opening is refused, not followed. Windows has no such descriptors: there the opened file is
compared with what the path names without links.
Rule 2: no link is followed. Of one to a file below the same root `target_of` tells where it leads, so that who asks can
judge the target by its own name and open that.
Rule 3: what is opened is a regular file on the root's device whose bytes are on this disk.
"""

import os
import stat
import sys
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from operator import itemgetter
from pathlib import Path
from typing import BinaryIO, NamedTuple, Self

from protocol.seams.safe_files import EntryKind, FolderEntry, Refusal, UnsafeFileError

MAX_PATH_CHARS = 1024
"""Of a path below the root; systems allow four times that, and no person writes it."""
MAX_LEVELS = 64
_NO_NAMES = frozenset({"", ".", ".."})

_NO_FOLLOW = getattr(os, "O_NOFOLLOW", 0)
_BASE_FLAGS = os.O_RDONLY | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_BINARY", 0)
_FILE_FLAGS = _BASE_FLAGS | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_NOCTTY", 0) | _NO_FOLLOW
_FOLDER_FLAGS = _BASE_FLAGS | getattr(os, "O_DIRECTORY", 0) | _NO_FOLLOW
_HAS_DESCRIPTORS = bool(_NO_FOLLOW) and os.open in os.supports_dir_fd and os.scandir in os.supports_fd

_KINDS: Mapping[int, EntryKind] = {stat.S_IFREG: "file", stat.S_IFDIR: "folder", stat.S_IFLNK: "link"}
_DATALESS = 0x40000000
"""macOS, `st_flags`: the file's bytes are in the cloud alone (SF_DATALESS in <sys/stat.h>)."""
_HAS_PLACEHOLDERS = hasattr(os.stat_result, "st_flags") or hasattr(os.stat_result, "st_file_attributes")
_RECALLED = 0x1000 | 0x40000 | 0x400000
"""Windows, `st_file_attributes`: offline, recall on open, recall on data access."""


class SafeFolder:
    """A root folder that is held open; a context manager. Its path may be a link: it is resolved once, first.

    Raises `UnsafeFileError` where it is no folder or cannot be read.
    """

    def __init__(self, root: str | Path, *, by_descriptor: bool = _HAS_DESCRIPTORS) -> None:
        self._by_descriptor = by_descriptor
        self._descriptor: int | None = None
        with _Refusing():
            self.path = os.path.realpath(root, strict=True)
            found = os.stat(self.path)  # noqa: PTH116  # all of this module works on names as the system has them
            if not stat.S_ISDIR(found.st_mode):
                raise UnsafeFileError("not_regular")
            self.device = found.st_dev
            if by_descriptor:
                self._descriptor = os.open(self.path, _FOLDER_FLAGS)
            else:
                os.scandir(self.path).close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *problem: object) -> None:
        self.close()

    def close(self) -> None:
        """Let go of the folder; a second call does nothing."""
        if self._descriptor is not None:
            os.close(self._descriptor)
            self._descriptor = None

    def open_file(self, path: str) -> BinaryIO:
        """Return a regular file below the root to be read in binary, unbuffered. `path` has `/` between its names.

        Raises `UnsafeFileError`.
        """
        with _Refusing():
            return os.fdopen(self._open(split_path(path)), "rb", buffering=0)

    def open_folder(self, path: str) -> "SafeFolder":
        """Return another folder, whose path is absolute or relative to this one and leads through no link.

        Raises `UnsafeFileError`.
        """
        return open_kept_root(os.path.normpath(os.path.join(self.path, path)))  # noqa: PTH118

    def open_holder(self, name: str) -> "SafeFolder | None":
        """Return the nearest folder, from this one upwards, that has an entry of a name; None where none has.

        The user's own folder is none, nor is what lies above it or on another device. Raises `UnsafeFileError`.
        """
        with _Refusing():
            user_folder = os.path.realpath(os.path.expanduser("~"))  # noqa: PTH111
            folder, inner = self.path, ""
            while folder != inner and not Path(user_folder).is_relative_to(folder):
                if os.path.lexists(os.path.join(folder, name)):  # noqa: PTH118
                    return open_kept_root(folder)
                folder, inner = os.path.dirname(folder), folder  # noqa: PTH120
                if os.stat(folder).st_dev != self.device:  # noqa: PTH116
                    break
        return None

    def list_folder(self, path: str) -> list[FolderEntry]:
        """Return the entries of a folder below the root ("" is the root), sorted by name. Raises `UnsafeFileError`."""
        with _Refusing():
            parts = split_path(path) if path else []
            if not self._by_descriptor:
                return _entries(self._check_path(parts))
            with self._folder(parts) as descriptor:
                return _entries(descriptor)

    def count_files(self, path: str, until: float | None = None) -> int:
        """Return how many entries that are no folders lie at any depth below a folder; no link is followed.

        After the time `until`, of the monotonic clock, no further one is counted. Raises `UnsafeFileError`.
        """
        with _Refusing():
            parts = split_path(path)
            if not self._by_descriptor:
                return _count(self._check_path(parts), until, MAX_LEVELS)
            with self._folder(parts) as descriptor:
                return _count(descriptor, until, MAX_LEVELS)

    def find(self, path: str) -> FolderEntry:
        """Return the file or folder at a path below the root, without following links. Raises `UnsafeFileError`."""
        with _Refusing():
            parts = split_path(path)
            if not self._by_descriptor:
                folder = self._check_path(parts[:-1])
                return _entry(parts[-1], os.lstat(os.path.join(folder, parts[-1])))  # noqa: PTH118
            with self._folder(parts[:-1]) as descriptor:
                return _entry(parts[-1], os.stat(parts[-1], dir_fd=descriptor, follow_symlinks=False))

    def target_of(self, path: str) -> str | None:
        """Return the path below the root that a link to a file names; None where it leads out or to no regular file."""
        try:
            with _Refusing():
                target = "/".join(self._link_target(split_path(path)))
                return target if self.find(target).kind == "file" else None
        except UnsafeFileError:
            return None

    # -- by descriptors ------------------------------------------------------------------------------------------

    def _folder(self, parts: list[str]) -> "_Descriptor":
        """Return the descriptor of a folder below the root; every component is a folder itself, no link."""
        if self._descriptor is None:
            raise UnsafeFileError("missing")
        descriptor = self._descriptor
        for part in parts:
            try:
                inner = self._open_folder(part, descriptor)
            finally:
                if descriptor != self._descriptor:
                    os.close(descriptor)
            descriptor = inner
        return _Descriptor(descriptor, is_kept=descriptor == self._descriptor)

    def _open_folder(self, name: str, parent: int) -> int:
        found = os.stat(name, dir_fd=parent, follow_symlinks=False)
        if not stat.S_ISDIR(found.st_mode):  # also a link, wherever it leads
            raise UnsafeFileError("not_regular")
        if found.st_dev != self.device:
            raise UnsafeFileError("other_device")
        return os.open(name, _FOLDER_FLAGS, dir_fd=parent)

    def _open(self, parts: list[str]) -> int:
        if not self._by_descriptor:
            return self._open_by_path(parts)
        with self._folder(parts[:-1]) as parent:
            self._require_plain(os.stat(parts[-1], dir_fd=parent, follow_symlinks=False))
            return self._check_descriptor(os.open(parts[-1], _FILE_FLAGS, dir_fd=parent))

    # -- by names, where there are no descriptors of folders -------------------------------------------------------

    def _check_path(self, parts: list[str]) -> str:
        """Return the full path of a folder below the root, of which no component is a link."""
        path = self.path
        for part in parts:
            path = os.path.join(path, part)  # noqa: PTH118
            if not _is_same_path(os.path.realpath(path), path):
                raise UnsafeFileError("not_regular")
        return path

    def _open_by_path(self, parts: list[str]) -> int:
        path = os.path.join(self._check_path(parts[:-1]), parts[-1])  # noqa: PTH118
        before = os.lstat(path)
        self._require_plain(before)
        descriptor = self._check_descriptor(os.open(path, _FILE_FLAGS))
        with suppress(OSError):
            if os.path.samestat(before, os.fstat(descriptor)) and _is_same_path(os.path.realpath(path), path):
                return descriptor
        os.close(descriptor)
        raise UnsafeFileError("not_regular")

    # -- both ----------------------------------------------------------------------------------------------------

    def _check_descriptor(self, descriptor: int) -> int:
        try:
            self._require_plain(os.fstat(descriptor))
        except BaseException:
            os.close(descriptor)
            raise
        return descriptor

    def _require_plain(self, found: os.stat_result) -> None:
        if stat.S_ISLNK(found.st_mode):
            raise UnsafeFileError("link")
        if not stat.S_ISREG(found.st_mode):
            raise UnsafeFileError("not_regular")
        if found.st_dev != self.device:
            raise UnsafeFileError("other_device")
        if not _is_downloaded(found):
            raise UnsafeFileError("not_downloaded")

    def _link_target(self, parts: list[str]) -> list[str]:
        """Return the names below the root that the link at the end of `parts` leads to.

        The folders on the way are no links, so `..` may be taken away by its text.
        """
        if self._by_descriptor:
            with self._folder(parts[:-1]) as parent:
                target = os.readlink(parts[-1], dir_fd=parent)
        else:
            target = os.readlink(os.path.join(self._check_path(parts[:-1]), parts[-1]))  # noqa: PTH115, PTH118
        if os.path.isabs(target):  # noqa: PTH117
            if not target.startswith(self.path + os.sep):
                raise UnsafeFileError("link")
            target, above = target[len(self.path) + 1 :], list[str]()
        else:
            above = parts[:-1]
        names = list(above)
        for name in target.replace(os.sep, "/").split("/"):
            if name == "..":
                if not names:
                    raise UnsafeFileError("link")
                names.pop()
            elif name not in {"", "."}:
                names.append(name)
        if not names:
            raise UnsafeFileError("link")
        return split_path("/".join(names))


def split_path(path: str) -> list[str]:
    """Return the names of a path below a root, which has `/` between them.

    Raises `UnsafeFileError` where it is too long or too deep, is empty, is absolute or has a component `.` or `..`.
    """
    if len(path) > MAX_PATH_CHARS:
        raise UnsafeFileError("path_too_long")
    parts = path.split("/")
    if len(parts) > MAX_LEVELS:
        raise UnsafeFileError("path_too_long")
    is_foreign = sys.platform == "win32" and ("\\" in path or ":" in path)
    if is_foreign or "\0" in path or not _NO_NAMES.isdisjoint(parts):
        raise UnsafeFileError("missing")
    return parts


def _is_same_path(left: str, right: str) -> bool:
    return os.path.normcase(left) == os.path.normcase(right)


def _is_downloaded(found: os.stat_result) -> bool:
    """Return whether the bytes are on this disk: opening a placeholder of a cloud folder would fetch them."""
    if not _HAS_PLACEHOLDERS:
        return True
    flags: int = getattr(found, "st_flags", 0)
    attributes: int = getattr(found, "st_file_attributes", 0)
    return not (flags & _DATALESS or attributes & _RECALLED)


def _entry(name: str, found: os.stat_result) -> FolderEntry:
    kind = _KINDS.get(stat.S_IFMT(found.st_mode), "other")
    device, inode = _to_signed(found.st_dev), _to_signed(found.st_ino)
    return FolderEntry(name, kind, device, inode, found.st_size, found.st_mtime_ns, _is_downloaded(found))


def _to_signed(number: int) -> int:
    """Return the last 64 bits of a number of the file system, as a signed integer: a database stores no larger one."""
    return (number + (1 << 63)) % (1 << 64) - (1 << 63)


def _entries(folder: int | str) -> list[FolderEntry]:
    found: list[FolderEntry] = []
    with os.scandir(folder) as entries:
        for entry in entries:
            try:  # not `suppress`: a large collection has this many times
                found.append(_entry(entry.name, entry.stat(follow_symlinks=False)))
            except FileNotFoundError:  # it went while the folder was read
                continue
    found.sort(key=itemgetter(0))
    return found


def _count(folder: int | str, until: float | None, levels: int) -> int:
    inner: list[str] = []
    count = 0
    with os.scandir(folder) as entries:
        for entry in entries:
            if entry.is_dir(follow_symlinks=False):
                inner.append(entry.name)
            else:
                count += 1
    for name in inner if levels else ():
        if until is not None and time.monotonic() > until:
            break
        with suppress(OSError):  # it went meanwhile, or may not be read: its files are not counted
            if isinstance(folder, str):
                count += _count(os.path.join(folder, name), until, levels - 1)  # noqa: PTH118
                continue
            descriptor = os.open(name, _FOLDER_FLAGS, dir_fd=folder)
            try:
                count += _count(descriptor, until, levels - 1)
            finally:
                os.close(descriptor)
    return count


_REASONS: Sequence[tuple[tuple[type[Exception], ...], Refusal]] = (
    ((FileNotFoundError,), "missing"),
    ((PermissionError,), "permission_denied"),
    ((NotADirectoryError, IsADirectoryError), "not_regular"),
    ((OSError, ValueError, UnicodeError), "unreadable"),
)


class _Refusing:
    """Raises what the system says as a `UnsafeFileError`.

    A class, as a search enters it for every hit: a generator's frame costs a fifth of opening a file.
    """

    def __enter__(self) -> None:
        return None

    def __exit__(self, _kind: object, error: BaseException | None, _trace: object) -> None:
        if error is None:
            return
        for kinds, reason in _REASONS:
            if isinstance(error, kinds):
                raise UnsafeFileError(reason) from None


class _Descriptor(NamedTuple):
    """The descriptor of a folder, which is closed at the end of a `with` where it is not the root's."""

    number: int
    is_kept: bool

    def __enter__(self) -> int:
        return self.number

    def __exit__(self, *_problem: object) -> None:
        if not self.is_kept:
            os.close(self.number)


def open_kept_root(path: str) -> SafeFolder:
    """Return a folder whose path was resolved when it was stored. Raises `UnsafeFileError`.

    It leads through no link then: one that was put in its place since would lead to other files.
    """
    root = SafeFolder(path)
    if root.path == path:
        return root
    root.close()
    raise UnsafeFileError("link")
