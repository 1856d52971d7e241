"""The shape of a folder of the user that is read safely: what a house sees of it, and why something is not opened."""

from collections.abc import Sequence
from typing import BinaryIO, Literal, NamedTuple, Protocol, Self, TypeAlias

Refusal: TypeAlias = Literal[
    "missing",
    "link",
    "not_regular",
    "other_device",
    "permission_denied",
    "not_downloaded",
    "path_too_long",
    "unreadable",
]
"""The reason why a file or folder is not opened."""

SECRET_FILES: Sequence[str] = (
    ".git",
    ".ssh",
    ".gnupg",
    ".aws",
    ".env*",
    "*.pem",
    "*.key",
    "*.p12",
    "*.kdbx",
    "id_rsa*",
    "id_ed25519*",
    ".netrc",
    ".npmrc",
    ".pypirc",
)
"""Names of files and folders that hold keys and passwords, in any spelling of capital letters. None is read."""

INSTRUCTION_FILES = ("AGENTS.md", "CLAUDE.md", "GEMINI.md", "QWEN.md")
"""Names of files that steer a turn; they are read as they are, and never searched as evidence."""

EntryKind: TypeAlias = Literal["file", "folder", "link", "other"]


READ_BYTES = 1024 * 1024
"""Bytes of one read: an unbuffered file makes room for as many as it is asked for."""


def read_up_to(file: BinaryIO, size: int) -> bytes:
    """Return so many bytes of a file from where it stands, fewer where it ends. Raises `OSError`.

    A single read of an unbuffered file may return less than is there.
    """
    parts: list[bytes] = []
    while size > 0 and (part := file.read(min(size, READ_BYTES))):
        parts.append(part)
        size -= len(part)
    return b"".join(parts)


class UnsafeFileError(Exception):
    """A file or folder is not opened. `reason` says why; the words hold nothing of its name."""

    def __init__(self, reason: Refusal) -> None:
        super().__init__(f"The file is not opened: {reason}")
        self.reason: Refusal = reason


class FolderEntry(NamedTuple):
    """One entry of a folder, as it is without following links."""

    name: str
    kind: EntryKind
    device: int
    inode: int
    size: int
    mtime_ns: int
    is_downloaded: bool


class SafeRoot(Protocol):
    """A folder that is held open; paths below it have `/` between their names. Methods raise `UnsafeFileError`."""

    path: str

    def __enter__(self) -> Self:
        """Return it."""
        ...

    def __exit__(self, *problem: object) -> None:
        """Close it."""
        ...

    def close(self) -> None:
        """Let go of the folder."""
        ...

    def open_file(self, path: str) -> BinaryIO:
        """Return a regular file, which is no link, to be read."""
        ...

    def open_folder(self, path: str) -> "SafeRoot":
        """Return another folder, whose path is absolute or relative to this one and leads through no link."""
        ...

    def open_holder(self, name: str) -> "SafeRoot | None":
        """Return the nearest folder, from this one upwards, that has an entry of a name; None where none has.

        The user's own folder is none, nor is what lies above it or on another device.
        """
        ...

    def list_folder(self, path: str) -> list[FolderEntry]:
        """Return the entries of a folder, sorted by name."""
        ...

    def count_files(self, path: str, until: float | None = None) -> int:
        """Return how many entries that are no folders lie below a folder; `until` ends the count."""
        ...

    def find(self, path: str) -> FolderEntry:
        """Return the file or folder at a path, without following links."""
        ...

    def target_of(self, path: str) -> str | None:
        """Return the path of the file that a link names; None where it leads out, or to another link."""
        ...


WatchRefusal: TypeAlias = Literal["watch_limit", "network_file_system", "watch_failed", "missing"]
"""The reason why changes in a folder are not reported."""


class WatchRefusedError(Exception):
    """Changes in a folder cannot be reported; `reason` says why."""

    def __init__(self, reason: WatchRefusal) -> None:
        super().__init__(f"The folder is not watched: {reason}")
        self.reason: WatchRefusal = reason


class FolderWatcher(Protocol):
    """Reports changed paths of some folders until it is closed."""

    def close(self) -> None:
        """Report nothing from now on."""
        ...


class CollectionLocks(Protocol):
    """Says which process watches or removes a collection: the one that holds its lock for that."""

    def take(self, name: str) -> bool:
        """Take a lock; return whether this process has it."""
        ...

    def release(self, name: str) -> None:
        """Let another process take a lock."""
        ...
