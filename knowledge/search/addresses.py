"""Addresses of places in files: `notes:plans/q3.md#L12-L30~9f2c4e1a`; pure.

Rule 1: an address names a collection and a path, then lines from 1 with the first digits of the piece's hash, or an
anchor.
"""

from typing import NamedTuple

from promt.patterns import compile_late
from protocol.unicode_forms import normalize

HASH_DIGITS = 8

_LINES = compile_late(r"L([1-9][0-9]{0,8})(?:-L?([1-9][0-9]{0,8}))?(?:~([0-9a-f]{8}))?")
_LIKE_LINES = compile_late(r"L[0-9]+(?:-L?[0-9]*)?(?:~.*)?")
_QUOTED = compile_late(r"[%#\x00-\x1f\x7f]")
_ESCAPE = compile_late(r"%([0-9A-Fa-f]{2})")
_NOT_OF_SLUG = compile_late(r"[^\w\- ]")


class Address(NamedTuple):
    """The parts of an address; `text_hash` is the beginning of the piece's hash in hexadecimal digits."""

    collection_id: str
    path: str
    from_line: int | None = None
    to_line: int | None = None
    text_hash: str | None = None
    anchor: str | None = None


def quote_path(path: str) -> str:
    """Return a path as an address has it: `%`, `#` and control characters percent-encoded."""
    return _QUOTED.sub(lambda found: f"%{ord(found[0]):02X}", path)


def unquote_path(text: str) -> str:
    """Return the path that an address has in quoted form; codes above ASCII stay as they are."""
    return _ESCAPE.sub(lambda found: chr(int(found[1], 16)) if int(found[1], 16) < 128 else found[0], text)


def write_address(collection_id: str, path: str, from_line: int, to_line: int, text_hash: bytes) -> str:
    """Return the address of a piece."""
    digits = text_hash.hex()[:HASH_DIGITS]
    return f"{collection_id}:{quote_path(path)}#L{from_line}-L{to_line}~{digits}"


def read_address(text: str) -> Address | None:
    """Return the parts of an address; None for a text that is none."""
    collection_id, colon, rest = text.partition(":")
    path, sign, place = rest.partition("#")
    if not (colon and collection_id and path):
        return None
    address = Address(collection_id, unquote_path(path))
    if not sign or not place:
        return address
    found = _LINES.fullmatch(place)
    if found is None:
        return address._replace(anchor=place)
    first, last = int(found[1]), int(found[2] or found[1])
    return address._replace(from_line=first, to_line=last, text_hash=found[3]) if first <= last else None


def resembles_lines(anchor: str) -> bool:
    """Return whether an anchor was meant as lines: they count from 1, and eight small digits are a hash."""
    return _LIKE_LINES.fullmatch(anchor) is not None


def slug_of(heading: str) -> str:
    """Return the slug of a heading, as GitHub makes its anchors."""
    return _NOT_OF_SLUG.sub("", normalize("NFC", heading).strip().casefold()).replace(" ", "-")


def is_anchor_of(anchor: str, heading: str, before: int = 0) -> bool:
    """Return whether an anchor names a heading, by its slug or word for word.

    `before` is the number of headings above it with the same slug, which GitHub appends to the slug.
    """
    named = normalize("NFC", unquote_path(anchor)).replace("%20", " ").strip().casefold()
    slug = f"{slug_of(heading)}-{before}" if before else slug_of(heading)
    return named in {slug, normalize("NFC", heading).strip().casefold()}
