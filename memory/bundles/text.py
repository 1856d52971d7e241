"""Writes and reads the text of a bundle: a header, lines of entries, and a checksum.

Rule 1: pure: nothing here knows a store, a key or a scope.
Rule 2: input from anywhere: no entry is returned before all were checked: version, checksum, every line, the counts.
"""

import hashlib
from collections.abc import Iterator, Sequence
from typing import Any, cast

import msgspec

from memory.proposals.proposal_sources import check_bounds
from protocol.base import Wire, encode_sorted
from protocol.bundle import (
    BUNDLE_FORMAT,
    BUNDLE_VERSION,
    BundleCandidate,
    BundleCounts,
    BundleEnd,
    BundleEntry,
    BundleHeader,
    BundleRecord,
    BundleTombstone,
)
from protocol.errors import CallerError
from protocol.memory.bundles import MAX_BUNDLE_BYTES

PAGE_BYTES = 1024 * 1024
"""Far under the 4 MiB of the contract, so that the import of a page fits into a message whatever the client escapes."""
PART_BYTES = 256 * 1024
"""The size at which an entry is cut into several lines: a quarter of a page, so that pages fill well."""

_LISTS = ("events", "decisions", "evidence")

_LINE_DECODER = msgspec.json.Decoder(BundleHeader | BundleRecord | BundleCandidate | BundleTombstone | BundleEnd)


class _AnyHeader(Wire):
    """The members that a header of any version has."""

    format: str
    version: int


_HEADER_DECODER = msgspec.json.Decoder(_AnyHeader)


def line_of(entry: BundleEntry | BundleHeader | BundleEnd) -> bytes:
    """Return an object as a line of JSON, with its line break."""
    return encode_sorted(entry) + b"\n"


def seal(lines: Sequence[bytes], counts: BundleCounts, created_at: int) -> str:
    """Return the text of a bundle of these lines: between its header and its checksum."""
    header = BundleHeader(version=BUNDLE_VERSION, created_at=created_at, counts=counts)
    body = line_of(header) + b"".join(lines)
    return (body + line_of(BundleEnd(sha256=hashlib.sha256(body).hexdigest()))).decode()


def parts_of(entry: BundleEntry, begin: int = 0) -> Iterator[tuple[int, bytes]]:
    """Yield an entry's lines, each with its place in the entry's lists; `begin` is the place of the first.

    The lists are events, decisions and evidence, one behind the other. Most entries are one line.
    """
    if isinstance(entry, BundleTombstone):
        yield 0, line_of(entry)
        return
    attached = [(name, one) for name in _LISTS for one in getattr(entry, name, ())]
    bare = msgspec.structs.replace(entry, **{name: [] for name in _LISTS if hasattr(entry, name)})
    room = PART_BYTES - len(line_of(bare))
    place = begin
    while True:
        taken: dict[str, list[Any]] = {}
        start, size = place, 0
        while place < len(attached):
            name, one = attached[place]
            size += len(encode_sorted(one)) + 1
            if size > room and place > start:
                break
            taken.setdefault(name, []).append(one)
            place += 1
        yield start, line_of(msgspec.structs.replace(bare, **taken))
        if place >= len(attached):
            return


def count_entries(entries: Sequence[BundleEntry]) -> BundleCounts:
    """Return how many entries of each kind there are."""
    of_kind = [sum(isinstance(entry, kind) for entry in entries) for kind in (BundleRecord, BundleCandidate)]
    return BundleCounts(records=of_kind[0], candidates=of_kind[1], tombstones=len(entries) - sum(of_kind))


def open_bundle(text: str) -> list[BundleEntry]:
    """Return the entries of a bundle.

    Raises `CallerError` for a text that is no valid bundle, with the place and the problem: `version_too_new`,
    `checksum_mismatch`, or invalid params.
    """
    data = text.encode("utf-8", "surrogatepass")
    if len(data) > MAX_BUNDLE_BYTES:
        raise CallerError.at("$.bundle", f"It is larger than {MAX_BUNDLE_BYTES} bytes of UTF-8")
    lines = data.removesuffix(b"\n").split(b"\n")
    _check_version(lines[0])
    _check_sum(lines)
    header, *entries, _ = [_decode_line(line, number) for number, line in enumerate(lines)]
    for number, entry in enumerate(entries, 1):
        if isinstance(entry, (BundleHeader, BundleEnd)):
            raise _wrong(number, "type", "A header is first and an end is last, and there is one of each")
    checked = cast("list[BundleEntry]", entries)
    if not isinstance(header, BundleHeader) or header.counts != count_entries(checked):
        raise _wrong(0, "counts", "The header does not count what follows it")
    for number, entry in enumerate(checked, 1):
        _check_entry(entry, number)
    return checked


def _check_version(line: bytes) -> None:
    """Raise `CallerError` for a header of another format, or of a version that this one cannot read."""
    try:
        found = _HEADER_DECODER.decode(line)
    except (msgspec.MsgspecError, RecursionError):
        raise _wrong(0, None, "A bundle begins with its header") from None
    if found.format != BUNDLE_FORMAT or found.version < 1:
        raise _wrong(0, "format", "This is not a bundle of durable memory")
    if found.version > BUNDLE_VERSION:
        raise CallerError("version_too_new", details={"version": found.version, "supported": BUNDLE_VERSION})


def _check_sum(lines: Sequence[bytes]) -> None:
    """Raise `CallerError("checksum_mismatch")` unless the last line has the checksum of all others."""
    try:
        end = _LINE_DECODER.decode(lines[-1])
    except (msgspec.MsgspecError, RecursionError):
        end = None
    body = b"".join(line + b"\n" for line in lines[:-1])
    if not isinstance(end, BundleEnd) or end.sha256 != hashlib.sha256(body).hexdigest():
        raise CallerError("checksum_mismatch")


def _decode_line(line: bytes, number: int) -> BundleEntry | BundleHeader | BundleEnd:
    """Return the object of a line. Raises `CallerError` with the line's number and the problem."""
    try:
        return _LINE_DECODER.decode(line)
    except msgspec.ValidationError as error:
        problem, _, path = str(error).partition(" - at `$")
        raise _wrong(number, path.rstrip("`").removeprefix("."), problem) from None
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        raise _wrong(number, None, "The line is not JSON") from None


def _check_entry(entry: BundleEntry, number: int) -> None:
    """Raise `CallerError` for what the shapes cannot express: the key's scope, sizes, a candidate's status."""
    if isinstance(entry, BundleTombstone):
        return
    if not entry.key.startswith(f"{entry.scope.kind}:{entry.scope.key}:"):
        raise _wrong(number, "key", "The key is not one of the entry's scope")
    try:
        details = entry if isinstance(entry, BundleRecord) else entry.proposal
        check_bounds(entry.content, entry.value, details.metadata, details.path)
    except CallerError as error:
        found = error.details or {}
        raise _wrong(number, found["path"].removeprefix("$."), found["problem"]) from None
    if isinstance(entry, BundleCandidate) and (entry.decided_at is None) != (entry.status == "pending"):
        raise _wrong(number, "decided_at", "A candidate that waits was not decided, and any other was")


def _wrong(number: int, member: str | None, problem: str) -> CallerError:
    """Return the `-32602` of a problem at a line, counted from 0 as JSON paths do."""
    return CallerError.at(f"$.bundle[{number}]" + (f".{member}" if member else ""), problem)
