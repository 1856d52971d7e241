"""Bundles as files: they are written as bytes, and read again also where a shell changed encoding or line ends.

Rule 1: a bundle is written as the bytes that its checksum was made of, also to a console of another encoding.
Rule 2: a file is one page after another, each a bundle of its own; a file that was cut off loses its last page alone.
"""

import codecs
import json
import sys
from collections import Counter
from collections.abc import Iterable, Iterator
from itertools import chain
from typing import Any, BinaryIO, cast

from gateway.base.exit_codes import DATA
from gateway.doors.terminal.exits import Stop
from protocol.bundle import BUNDLE_FORMAT
from protocol.memory.bundles import MAX_BUNDLE_BYTES, ImportResult

HEAD_BYTES = 4096
"""Bytes in which a bundle's header ends, which has about 200; a longer first line is that of another format."""
END_CHARS = 256
"""The most characters of a page's last line, which is a hash and two names."""
CHUNK_BYTES = 64 * 1024
UTF_16 = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)


def write_out(bundle: str) -> None:
    """Write a bundle to stdout."""
    sys.stdout.flush()
    sys.stdout.buffer.write(bundle.encode())
    sys.stdout.buffer.flush()


def counts_of(bundle: str) -> dict[str, int]:
    """Return the number of a page's lines of each kind, from its header."""
    return json.loads(bundle.split("\n", 1)[0])["counts"]


def chunks_of(file: BinaryIO) -> Iterator[bytes]:
    """Return the bytes of a file in chunks, of which the first is its head."""
    return chain([file.read(HEAD_BYTES)], iter(lambda: file.read(CHUNK_BYTES), b""))


def is_bundle(head: bytes) -> bool:
    """Return whether a file with this head is a bundle of memories."""
    try:
        header = json.loads(codecs.getincrementaldecoder(_encoding_of(head))("replace").decode(head).split("\n", 1)[0])
    except (ValueError, RecursionError):
        return False
    return isinstance(header, dict) and cast("dict[str, Any]", header).get("format") == BUNDLE_FORMAT


def _encoding_of(head: bytes) -> str:
    return "utf-16" if head.startswith(UTF_16) else "utf-8-sig"


def pages_of(chunks: Iterator[bytes]) -> Iterator[str]:
    """Yield the pages of a file; a last one may be cut off, which the import notices. Raises `Stop`."""
    page, size = list[str](), 0
    for line in _lines(chunks):
        page.append(line)
        size += len(line)
        if size > MAX_BUNDLE_BYTES:
            raise Stop(DATA, "a page of the bundle is larger than 4 MiB")
        if len(line) < END_CHARS and _is_end(line):
            yield "".join(page)
            page, size = [], 0
    if "".join(page).strip():
        yield "".join(page)


def _lines(chunks: Iterator[bytes]) -> Iterator[str]:
    """Yield the lines without the byte order mark and carriage returns that a shell may have added. Raises `Stop`."""
    head = next(chunks, b"")
    rest = ""
    try:
        for text in codecs.iterdecode(chain([head], chunks), _encoding_of(head)):
            *whole, rest = (rest + text).split("\n")
            if len(rest) > MAX_BUNDLE_BYTES:
                raise Stop(DATA, "a line of the bundle is longer than 4 MiB")
            yield from (line.removesuffix("\r") + "\n" for line in whole)
    except UnicodeDecodeError:
        raise Stop(DATA, "the bundle is not UTF-8") from None
    if rest:
        yield rest


def _is_end(line: str) -> bool:
    try:
        return json.loads(line).get("type") == "end"
    except (ValueError, AttributeError):  # the import reports the problem
        return False


def count_left_outside(page: str, result: ImportResult) -> Counter[str]:
    """Count by scope, as `kind:key`, the entries of a page that an import left out because they belong elsewhere."""
    ids = {conflict.memory_id for conflict in result.conflicts if conflict.reason == "scope_out_of_context"}
    entries: Iterable[dict[str, Any]] = map(json.loads, page.rstrip("\n").split("\n") if ids else [])
    scopes = {
        one: f"{entry['scope']['kind']}:{entry['scope']['key']}"
        for entry in entries
        if (one := entry.get("memory_id") or entry.get("candidate_id")) in ids
    }
    return Counter(scopes.values())
