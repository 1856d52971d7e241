"""The terms of a record as they are kept: packed, with a digest, and in the index each with its scope.

Rule 1: damaged terms are read as none: repair makes them anew, and no search fails by them.
"""

import zlib
from functools import lru_cache

from memory.rows.record_columns import SQL
from protocol.seams.checks import digest_of

FORMAT = SQL["find_format"], SQL["put_format"]
"""The statements that find the format of the full-text table, and write it again."""
WORDS_KEPT = 2000
"""The most records whose terms are cached unpacked, some 3 KB each: seldom less than a person's whole memory."""


def unpack_terms(terms: bytes) -> str:
    """Return a record's terms between blanks; "" where they are damaged."""
    return _lines_of(terms).partition("\n")[0]


def _lines_of(terms: bytes) -> str:
    try:
        return zlib.decompress(terms).decode()
    except (zlib.error, UnicodeDecodeError):
        return ""


def terms_digest(scope: str, terms: bytes) -> int:
    """Return the digest of the terms that are kept of a record."""
    return digest_of(terms, scope)


def prefix_terms(scope: str, terms: str) -> str:
    """Return terms as the index holds them: each with its scope, so that no search meets entries of another scope."""
    return " ".join([f"{scope}·{term}" for term in terms.split()])


@lru_cache(maxsize=WORDS_KEPT)
def words_of(terms: bytes) -> tuple[frozenset[str], tuple[str, ...]]:
    """Return a record's terms and its gist, the terms of its content without function words."""
    body, _, gist = _lines_of(terms).partition("\n")
    return frozenset(body.split(" ")), tuple(gist.split())
