"""Kept files as they are read: opened by their content, paged.

Rule 1: only a reference whose bytes were received here leads to bytes: a digest alone opens nothing.
Rule 2: files are read in worker threads, a page at a time.
"""

import hashlib
from collections import OrderedDict
from collections.abc import Callable
from contextlib import closing
from threading import Lock
from typing import BinaryIO, Protocol, TypeVar

import anyio
from msgspec import Struct

from agent.files.text import HEAD_BYTES, Medium, TextIndex, essence_of, index_text, medium_of, read_text
from protocol.conversation.artifacts import ArtifactRef
from protocol.models import Picture

T = TypeVar("T")

MAX_PICTURE_BYTES = 5 * 1024 * 1024
"""The largest picture that the usual providers take."""
KNOWN_TEXTS = 64
"""Files whose characters were counted; the index of the largest has two hundred entries."""


class FileRefusedError(Exception):
    """A file that a client named is not taken; the message says why and holds nothing of its name."""


class KeptContent(Struct, frozen=True):
    """A content that is kept."""

    sha256: str
    size: int


class Files(Protocol):
    """Keeps contents by their SHA-256."""

    def put(self, data: bytes) -> KeptContent:
        """Keep bytes, durably; the same again is stored once."""
        ...

    def copy(self, name: str, limit: int) -> KeptContent:
        """Keep what a file holds, durably. Raises `FileRefusedError`."""
        ...

    def holds(self, sha256: str) -> bool:
        """Return whether the file of that digest is kept."""
        ...

    def open(self, sha256: str) -> BinaryIO | None:
        """Return the content to be read and closed; None where it is not kept."""
        ...

    def remove(self, sha256: str) -> None:
        """Remove the content of that digest."""
        ...

    def digests(self) -> list[str]:
        """Return the digests of all contents that are kept."""
        ...


class FilePage(Struct, frozen=True):
    """A part of a file: characters where it is text, else bytes."""

    text: str | None
    data: bytes
    next_offset: int | None
    total: int
    is_guess: bool = False


class TextWindow(Struct, frozen=True):
    """Characters of a file with some of what stands before and after them."""

    text: str
    start: int
    total: int
    is_guess: bool


class Reading:
    """Reads kept files."""

    def __init__(self, files: Files) -> None:
        self._files = files
        self._indexes: OrderedDict[tuple[str, bool], TextIndex | None] = OrderedDict()
        self._lock = Lock()
        """Worker threads forget one another's indexes."""

    async def with_file(self, ref: ArtifactRef, read: Callable[[BinaryIO], T]) -> T | None:
        """Call `read` on the bytes in a worker thread and return its result; None where they are not kept."""

        def run() -> T | None:
            file = self._files.open(ref.sha256) if ref.sha256 is not None else None
            if file is None:
                return None
            with closing(file):
                return read(file)

        return await anyio.to_thread.run_sync(run, abandon_on_cancel=True)

    async def open_content(self, ref: ArtifactRef) -> BinaryIO | None:
        """Return the bytes, to be read and closed; None where they are not kept."""
        return await anyio.to_thread.run_sync(self._files.open, ref.sha256) if ref.sha256 is not None else None

    def _index(self, ref: ArtifactRef, file: BinaryIO) -> TextIndex | None:
        is_declared = essence_of(ref.mime) != "application/octet-stream"
        key = (ref.sha256 or "", is_declared)
        with self._lock:
            if key in self._indexes:
                return self._indexes[key]
        index = index_text(file, is_declared=is_declared)
        with self._lock:
            self._indexes[key] = index
            while len(self._indexes) > KNOWN_TEXTS:
                self._indexes.popitem(last=False)
        return index

    async def medium(self, ref: ArtifactRef) -> Medium | None:
        """Return the medium that the file can be read as; None where its bytes are not kept."""

        def look(file: BinaryIO) -> Medium:
            medium = medium_of(ref.mime, file.read(HEAD_BYTES))
            is_bytes = medium in {"text", "table"} and self._index(ref, file) is None
            return "other" if is_bytes else medium

        return await self.with_file(ref, look)

    async def page(self, ref: ArtifactRef, offset: int, limit: int) -> FilePage | None:
        """Return a part of the file: characters of text, bytes of anything else. None where its bytes are not kept."""

        def read(file: BinaryIO) -> FilePage:
            medium = medium_of(ref.mime, file.read(HEAD_BYTES))
            index = self._index(ref, file) if medium in {"text", "table"} else None
            if index is not None:
                text = read_text(file, index, offset, limit)
                end = offset + len(text)
                return FilePage(text, b"", end if end < index.chars else None, index.chars, index.is_guess)
            file.seek(min(offset, ref.size_bytes))
            data = file.read(limit)
            end = offset + len(data)
            return FilePage(None, data, end if end < ref.size_bytes else None, ref.size_bytes)

        return await self.with_file(ref, read)

    async def window(self, ref: ArtifactRef, offset: int, limit: int, margin: int) -> TextWindow | None:
        """Return characters of a text with at most `margin` on both sides; None for no text, or none that is kept."""

        def read(file: BinaryIO) -> TextWindow | None:
            index = self._index(ref, file)
            if index is None:
                return None
            start = max(0, offset - margin)
            text = read_text(file, index, start, offset - start + limit + margin)
            return TextWindow(text, start, index.chars, index.is_guess)

        return await self.with_file(ref, read)

    async def picture(self, ref: ArtifactRef) -> Picture | None:
        """Return the file as a model takes it; None for what is no such picture, or too large for one."""
        if ref.size_bytes > MAX_PICTURE_BYTES or await self.medium(ref) != "picture":
            return None
        data = await self.with_file(ref, lambda file: file.read())
        if data is None or hashlib.sha256(data).hexdigest() != ref.sha256:
            return None
        return Picture(mime=essence_of(ref.mime), data=data)
