"""Terms and vectors of a chunk as its row keeps them.

Rule 1: terms that are damaged are none: repair makes them anew, and no search ends by them.
"""

import struct
import zlib
from functools import cache
from pathlib import Path

COMPRESSION = 6  # of raw deflate; with the common terms a fifth less room than zlib alone, and unpacked as fast
CHECK_BYTES = 4  # of a checksum: raw deflate has none
PLAIN, DEFLATED = b"\0", b"\1"
"""The first byte of terms, which says how the others are kept."""
INT8_MOST = 127
HASH_BYTES = 16
"""Of the keyed hash of a text, as rows keep it: half of its bytes tell any number of texts apart."""


@cache
def _load_common_terms() -> bytes:
    """Return the 500 most frequent terms of our own documentation and code, with which each compression begins.

    Rows are read by them: another list is a migration.
    """
    return b" ".join(Path(__file__).with_name("common_terms.txt").read_bytes().split())


def pack(words: str) -> bytes | None:
    """Return terms, a blank between two, as a row keeps them."""
    if not words:
        return None
    body = words.encode()
    deflate = zlib.compressobj(COMPRESSION, zlib.DEFLATED, -zlib.MAX_WBITS, zdict=_load_common_terms())
    packed = deflate.compress(body) + deflate.flush()
    check = zlib.crc32(body).to_bytes(CHECK_BYTES, "big")
    return PLAIN + body if len(body) <= len(check + packed) else DEFLATED + check + packed


def unpack(terms: bytes | None) -> str:
    """Return the body of the full-text row; nothing where it is damaged."""
    if not terms:
        return ""
    try:
        return (terms[1:] if terms.startswith(PLAIN) else _inflate(terms)).decode()
    except (zlib.error, UnicodeDecodeError):  # repair makes them anew; no search ends by them
        return ""


def _inflate(terms: bytes) -> bytes:
    """Return packed terms as they were, or nothing. Raises `zlib.error`."""
    inflate = zlib.decompressobj(-zlib.MAX_WBITS, zdict=_load_common_terms())
    body = inflate.decompress(memoryview(terms)[1 + CHECK_BYTES :])
    return body if zlib.crc32(body).to_bytes(CHECK_BYTES, "big") == terms[1 : 1 + CHECK_BYTES] else b""


def as_bytes(numbers: bytes) -> bytes:
    """Return a float16 vector as int8, its largest number as 127.

    Half the room, and cosines within .004 of those of all its bits.
    """
    values: tuple[float, ...] = struct.unpack(f"<{len(numbers) // 2}e", numbers)
    step = (max(map(abs, values)) or 1.0) / INT8_MOST
    return struct.pack(f"{len(values)}b", *[round(value / step) for value in values])
