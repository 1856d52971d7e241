"""Files, folders and archives as streams of UTF-8 bytes.

Rule 1: links below the named path are not followed, and only files of known kinds are opened.
Rule 2: an archive is read as a stream and may not unpack to more than a bounded multiple of itself.
"""

import codecs
import lzma
import os
import stat
import zipfile
import zlib
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager
from datetime import UTC, datetime
from pathlib import Path
from typing import IO, NamedTuple, TypeAlias

from gateway.home.folder import is_link
from gateway.imports.formats.detection import ARCHIVES, HEAD_BYTES, SUFFIXES, reader_of
from gateway.imports.formats.draft import Found, Reader, Skipped, SourceOrigin, Unreadable, to_printable

CHUNK_BYTES = 256 * 1024
MAX_MEMBERS = 100_000
MAX_RATIO = 200
"""Talk shrinks to a fifth or a twentieth; a file that shrinks further is no talk."""
FREE_BYTES = 64 * 1024 * 1024
"""The bytes that may come out of any archive: small files of repeated words shrink well."""

_BOMS = (  # the longer ones first: UTF-32's begins like UTF-16's
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)

Progress: TypeAlias = Callable[[float], None]


class ImportFile(NamedTuple):
    """A file: its share of the work in bytes, how many bytes are to be read, and how to open it."""

    origin: SourceOrigin
    suffix: str
    size: int
    length: int
    open: Callable[[], AbstractContextManager[IO[bytes]]]
    is_packed: bool = False


def walk(root: Path) -> Iterator[ImportFile | Skipped]:
    """Yield the files at and below a path in order, and the entries that are passed over."""
    if not root.is_dir():
        yield _file(root, root.name)
        return
    folders = [root]
    while folders:
        folder = folders.pop()
        try:
            found = sorted(os.scandir(folder), key=lambda entry: entry.name)
        except OSError:
            yield Skipped(to_printable(folder.relative_to(root).as_posix()), "", "unreadable")
            continue
        below: list[Path] = []
        for entry in found:
            path = Path(entry.path)
            name = path.relative_to(root).as_posix()
            if is_link(path):
                yield Skipped(to_printable(name), "", "link")
            elif entry.is_dir():
                below.append(path)
            else:
                yield _file(path, name)
        folders += reversed(below)


def _file(path: Path, name: str) -> ImportFile | Skipped:
    suffix = path.suffix.lower()
    try:
        state = path.stat()
    except OSError:  # it was there a moment ago
        return Skipped(to_printable(name), "", "unreadable")
    if not stat.S_ISREG(state.st_mode):
        return Skipped(to_printable(name), "", "not_a_file")
    if suffix not in SUFFIXES | ARCHIVES:
        return Skipped(to_printable(name), "", "unknown_format")
    origin = SourceOrigin(str(path.resolve()), to_printable(name), max(0, int(state.st_mtime * 1000)))
    return ImportFile(origin, suffix, state.st_size, state.st_size, lambda: path.open("rb"))


def read(source: ImportFile, advance: Progress) -> Iterator[Found]:
    """Yield the conversations of a file, or of the files of an archive. Raises `Unreadable`."""
    if source.suffix in ARCHIVES and not source.is_packed:
        yield from _unpack(source, advance)
        return
    if source.suffix not in SUFFIXES:
        raise Unreadable("nested_archive" if source.suffix in ARCHIVES else "unknown_format")
    chunks = utf8(_chunks(source, advance))
    head = bytearray()
    for chunk in chunks:
        head += chunk
        if len(head) >= HEAD_BYTES:
            break
    reader: Reader | None = reader_of(source.suffix, bytes(head))
    if reader is None:
        raise Unreadable("unknown_format")

    def whole() -> Iterator[bytes]:
        yield bytes(head)
        head.clear()
        yield from chunks

    yield from reader(whole(), source.origin)


def _unpack(source: ImportFile, advance: Progress) -> Iterator[Found]:
    try:
        with source.open() as file, zipfile.ZipFile(file) as archive:
            infos = sorted(archive.infolist(), key=lambda info: info.filename)
            if len(infos) > MAX_MEMBERS:
                raise Unreadable("too_many_files")
            for info in infos:
                if info.is_dir():
                    continue
                member = _member(source.origin, archive, info)
                try:
                    yield from read(member, advance)
                except Unreadable as problem:
                    yield Skipped(member.origin.name, "", problem.reason)
    except (OSError, zipfile.BadZipFile, NotImplementedError, ValueError) as error:
        raise Unreadable("damaged_archive") from error


def _member(origin: SourceOrigin, archive: zipfile.ZipFile, info: zipfile.ZipInfo) -> ImportFile:
    try:
        at = int(datetime(*info.date_time, tzinfo=UTC).timestamp() * 1000)
    except ValueError:
        at = origin.at
    suffix = os.path.splitext(info.filename)[1].lower()  # noqa: PTH122 - a name of another system, not a path of this one
    inner = SourceOrigin(f"{origin.key}!{info.filename}", f"{origin.name}!{to_printable(info.filename)}", at)
    return ImportFile(inner, suffix, info.compress_size, info.file_size, lambda: archive.open(info), is_packed=True)


def _chunks(source: ImportFile, advance: Progress) -> Iterator[bytes]:
    """Yield the bytes of a file. Raises `Unreadable`."""
    allowed = max(FREE_BYTES, source.size * MAX_RATIO)
    scale = source.size / source.length if source.length else 0.0
    size = 0
    try:
        with source.open() as file:
            while chunk := file.read(CHUNK_BYTES):
                size += len(chunk)
                if source.is_packed and size > allowed:
                    raise Unreadable("unpacks_to_too_much")
                advance(len(chunk) * scale)
                yield chunk
    except (zipfile.BadZipFile, zlib.error, lzma.LZMAError, EOFError, NotImplementedError) as error:
        raise Unreadable("damaged_archive") from error
    except RuntimeError as error:  # zipfile raises it for a file that needs a password
        raise Unreadable("encrypted") from error
    except OSError as error:
        raise Unreadable("unreadable") from error


def utf8(chunks: Iterable[bytes]) -> Iterator[bytes]:
    """Yield the bytes without a byte order mark, as UTF-8 whatever the mark is."""
    stream = iter(chunks)
    first = b""
    for chunk in stream:
        first += chunk
        if len(first) >= len(codecs.BOM_UTF32_LE):
            break
    mark, encoding = next(((mark, name) for mark, name in _BOMS if first.startswith(mark)), (b"", "utf-8"))
    if encoding == "utf-8":
        yield first[len(mark) :]
        yield from stream
        return
    decoder = codecs.getincrementaldecoder(encoding)("replace")
    yield decoder.decode(first[len(mark) :]).encode()
    for chunk in stream:
        yield decoder.decode(chunk).encode()
    yield decoder.decode(b"", final=True).encode()
