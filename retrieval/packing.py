"""Terms and vectors of a chunk as its row keeps them.

Rule 1: damaged terms are read as none: repair makes them anew, and no search fails because of them.
"""

import struct
import zlib
from functools import cache
from pathlib import Path

COMPRESSION = 6  # level of raw deflate; with the common terms a fifth less room than zlib alone, and unpacked as fast
WINDOW, MEMORY = 13, 6
"""Bits of the window and the level of memory: what is packed is shorter than 8 KiB, common terms included. Of the
terms of 2,000 notes it comes out as long as with the largest ones, in 55 us a piece instead of 138 and in 10 us a name
instead of 30, which went to clearing memory. It is read with any window."""
CHECK_BYTES = 4  # length of the checksum: raw deflate has none of its own
PLAIN_BYTES = 64
"""Terms up to this length are kept as they are: packed, the names of a file would be 6 to 15 bytes shorter, and a move
of it would cost 15 us more of some 110 (`cProfile`)."""
PLAIN, DEFLATED = b"\0", b"\1"
"""The first byte of terms, which says how the others are kept."""
INT8_MOST = 127
HASH_BYTES = 16
"""Length of a text's keyed hash as rows keep it: half of its 32 bytes tells any number of texts apart."""


@cache
def _load_common_terms() -> bytes:
    """Return the 500 most frequent terms of our own documentation and code, with which each compression begins.

    Rows are read by them: another list is a migration.
    """
    return b" ".join(Path(__file__).with_name("common_terms.txt").read_bytes().split())


def pack(words: str) -> bytes | None:
    """Return space-separated terms as a row keeps them; None where there are none."""
    if not words:
        return None
    body = words.encode()
    if len(body) <= PLAIN_BYTES:
        return PLAIN + body
    deflate = zlib.compressobj(COMPRESSION, zlib.DEFLATED, -WINDOW, MEMORY, zdict=_load_common_terms())
    packed = deflate.compress(body) + deflate.flush()
    check = zlib.crc32(body).to_bytes(CHECK_BYTES, "big")
    return PLAIN + body if len(body) <= len(check + packed) else DEFLATED + check + packed


def unpack(terms: bytes | None) -> str:
    """Return the body of the full-text row; an empty text where it is damaged."""
    if not terms:
        return ""
    try:
        return (terms[1:] if terms.startswith(PLAIN) else _inflate(terms)).decode()
    except (zlib.error, UnicodeDecodeError):  # rule 1
        return ""


def _inflate(terms: bytes) -> bytes:
    """Return packed terms as they were; nothing where their checksum differs.

    Raises:
        zlib.error: the bytes are not deflated data.

    """
    inflate = zlib.decompressobj(-zlib.MAX_WBITS, zdict=_load_common_terms())
    body = inflate.decompress(memoryview(terms)[1 + CHECK_BYTES :])
    return body if zlib.crc32(body).to_bytes(CHECK_BYTES, "big") == terms[1 : 1 + CHECK_BYTES] else b""


def as_bytes(numbers: bytes) -> bytes:
    """Return a float16 vector as int8 numbers, scaled so that its largest one is 127.

    That takes half the room, and cosines stay within .004 of those of all bits.
    """
    values: tuple[float, ...] = struct.unpack(f"<{len(numbers) // 2}e", numbers)
    step = (max(map(abs, values)) or 1.0) / INT8_MOST
    return struct.pack(f"{len(values)}b", *[round(value / step) for value in values])
