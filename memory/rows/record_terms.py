"""The terms of a record as its row keeps them: packed, vouched for, and each with its scope in the index.

Rule 1: terms that are damaged are none: repair makes them anew, and no search ends by them.
"""

import zlib
from functools import lru_cache

from memory.rows.record_columns import SQL
from protocol.seams.checks import digest_of

FORMAT = SQL["find_format"], SQL["put_format"]
"""The statements that find the format of the full-text table, and write it again."""
WORDS_KEPT = 2000
"""Records whose terms are kept unpacked, some 3 KB each: a person's whole memory, seldom more."""


def unpack_terms(terms: bytes) -> str:
    """Return a record's terms; none where they are damaged."""
    return _lines_of(terms).partition("\n")[0]


def _lines_of(terms: bytes) -> str:
    try:
        return zlib.decompress(terms).decode()
    except (zlib.error, UnicodeDecodeError):  # repair makes them anew; no search ends by them
        return ""


def terms_digest(scope: str, terms: bytes) -> int:
    """Return the digest of the terms that are kept of a record."""
    return digest_of(terms, scope)


def prefix_terms(scope: str, terms: str) -> str:
    """Terms as the index has them: each with its scope, so that no search comes upon another scope's places."""
    return " ".join([f"{scope}·{term}" for term in terms.split()])


@lru_cache(maxsize=WORDS_KEPT)
def words_of(terms: bytes) -> tuple[frozenset[str], tuple[str, ...]]:
    """Return a record's terms and its gist."""
    body, _, gist = _lines_of(terms).partition("\n")
    return frozenset(body.split(" ")), tuple(gist.split())
