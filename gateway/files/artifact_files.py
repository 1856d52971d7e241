"""Bytes of artifacts: one file for each content, named by its SHA-256, and the reading of files that a client names.

Rule 1: a name that a client gave is only ever opened to read; a written file is named by its digest.
Rule 2: no call blocks: a file that is no plain file is refused before it is opened.
Rule 3: a crash leaves at most a file that nothing needs.
"""

import hashlib
import os
import stat
import tempfile
import time
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

from agent.files.reading import FileRefusedError, KeptContent
from gateway.base.durable_file import sync_folder
from gateway.store.sqlite import unavailable
from promt.patterns import compile_late
from protocol.errors import Defect, Unavailable

CHUNK_BYTES = 1024 * 1024
STALE_SECONDS = 3600.0
"""A temporary file this old was left by a dead process: writing the largest one takes seconds."""

_DIGEST = compile_late(r"[0-9a-f]{64}")
_TEMPORARY = ".new."
_OPEN_FLAGS = (
    os.O_RDONLY
    | getattr(os, "O_NONBLOCK", 0)
    | getattr(os, "O_CLOEXEC", 0)
    | getattr(os, "O_NOCTTY", 0)
    | getattr(os, "O_BINARY", 0)
)


def _require_plain(found: os.stat_result) -> None:
    if stat.S_ISDIR(found.st_mode):
        raise FileRefusedError("That is a folder")
    if not stat.S_ISREG(found.st_mode):
        raise FileRefusedError("That is no plain file")


@contextmanager
def _open_foreign(name: str) -> Generator[int]:
    """Yield a descriptor of a file that a client names.

    Raises `FileRefusedError` with what is wrong, never with its name.
    """
    try:
        _require_plain(os.stat(name))  # noqa: PTH116  # the name is no checked path yet, and may hold anything
        descriptor = os.open(name, _OPEN_FLAGS)
    except FileNotFoundError:
        raise FileRefusedError("There is no such file") from None
    except PermissionError:
        raise FileRefusedError("The file may not be read") from None
    except (OSError, ValueError):
        raise FileRefusedError("The file cannot be read") from None
    try:
        yield descriptor
    finally:
        os.close(descriptor)


def _read(descriptor: int) -> bytes:
    try:
        return os.read(descriptor, CHUNK_BYTES)
    except OSError:
        raise FileRefusedError("The file cannot be read") from None


def _read_all(descriptor: int, limit: int) -> Iterator[bytes]:
    """Yield the whole file in pieces. Raises `FileRefusedError` where it is too large or changes meanwhile."""
    before = os.fstat(descriptor)
    _require_plain(before)  # the name may mean another file by now
    size = 0
    if before.st_size <= limit:
        while size <= limit and (chunk := _read(descriptor)):
            size += len(chunk)
            yield chunk
    if max(before.st_size, size) > limit:
        raise FileRefusedError(f"The file is larger than {limit} bytes")
    after = os.fstat(descriptor)
    if (before.st_size, before.st_mtime_ns, size) != (after.st_size, after.st_mtime_ns, before.st_size):
        raise FileRefusedError("The file changed while it was read")


@contextmanager
def _storing() -> Generator[None]:
    """Raise errors of the home's own disk as errors of the contract."""
    try:
        yield
    except OSError as error:
        failure = unavailable(error)
        raise (Unavailable() if isinstance(failure, Defect) else failure) from error


class ArtifactFiles:
    """Satisfies `agent.files.reading.Files` below a folder of the home."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def path(self, sha256: str) -> Path:
        """Return the path of the content of that digest."""
        return self._folder / sha256[:2] / sha256

    def put(self, data: bytes) -> KeptContent:
        """Store bytes durably and return their digest and size; equal content is stored once."""
        return self._store(lambda: iter([data]))

    def copy(self, name: str, limit: int) -> KeptContent:
        """Store the content of the file of that name; return its digest and size. Raises `FileRefusedError`."""
        with _open_foreign(name) as descriptor:
            return self._store(lambda: _read_all(descriptor, limit))

    def holds(self, sha256: str) -> bool:
        """Return whether the content of that digest is kept."""
        return self._is_there(self.path(sha256))

    def open(self, sha256: str) -> BinaryIO | None:
        """Return the content of that digest to be read, or None where it is not kept."""
        path = self.path(sha256)
        try:
            return path.open("rb") if self._is_there(path) else None
        except FileNotFoundError:
            return None

    @staticmethod
    def _is_there(path: Path) -> bool:
        """Return whether a content is a file of the home itself: a link in its place is not followed."""
        return path.is_file() and not path.is_symlink()

    def remove(self, sha256: str) -> None:
        """Remove the content of that digest; a sweep removes one that a crash brings back."""
        with _storing():
            self.path(sha256).unlink(missing_ok=True)

    def digests(self) -> list[str]:
        """Return the digests of all stored contents; temporary files that a crash left are removed on the way."""
        if not self._folder.is_dir():
            return []
        for path in self._folder.glob(f"{_TEMPORARY}*"):
            if time.time() - path.stat().st_mtime > STALE_SECONDS:
                path.unlink(missing_ok=True)
        return [path.name for path in self._folder.glob("??/*") if _DIGEST.fullmatch(path.name)]

    def _store(self, read: Callable[[], Iterator[bytes]]) -> KeptContent:
        """Write beside, flush, rename, flush the folder; return digest and size. A failure leaves no file."""
        with _storing():
            self._make(self._folder)
            descriptor, name = tempfile.mkstemp(dir=self._folder, prefix=_TEMPORARY)
        written = Path(name)
        digest, size = hashlib.sha256(), 0
        try:
            with _storing(), os.fdopen(descriptor, "wb") as file:
                for chunk in read():
                    digest.update(chunk)
                    size += len(chunk)
                    file.write(chunk)
                file.flush()
                os.fsync(file.fileno())
            with _storing():
                self._publish(written, digest.hexdigest(), size)
        finally:
            written.unlink(missing_ok=True)
        return KeptContent(digest.hexdigest(), size)

    def _publish(self, written: Path, sha256: str, size: int) -> None:
        path = self.path(sha256)
        with suppress(FileNotFoundError):  # one look: another process may be removing it
            if path.stat().st_size == size:
                return
        self._make(path.parent)
        written.replace(path)
        sync_folder(path.parent)

    def _make(self, folder: Path) -> None:
        if not folder.is_dir():
            folder.mkdir(parents=True, exist_ok=True, mode=0o700)
            sync_folder(folder.parent)
