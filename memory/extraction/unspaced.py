"""Compares texts in scripts without blanks by the pieces between small words: Chinese, Japanese, Thai.

Rule 1: pure. A piece is compared by the pairs of its characters, so that another order of the pieces is no other
matter.
"""

from itertools import pairwise
from typing import Final

from promt.language.reader import either
from promt.patterns import compile_late

UNSPACED: Final = compile_late("[\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff\u0e00-\u0e7f]+")
_NOT: Final = compile_late(lambda: either("compared", "denial"))
_SMALL: Final = compile_late(lambda: either("compared", "small"))
"""Words of person, liking and grammar, and what joins the others."""


def count_denials(text: str) -> int:
    """Return how often the text denies."""
    return len(_NOT.findall(text))


def pieces_of(text: str) -> set[str]:
    """Return the pairs of neighbouring characters of its pieces; a piece of one character is itself."""
    found: set[str] = set()
    for token in UNSPACED.findall(text):
        for piece in _SMALL.sub(" ", _NOT.sub(" ", token)).split():
            found.update([piece] if len(piece) == 1 else map("".join, pairwise(piece)))
    return found
