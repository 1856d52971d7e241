"""Cuts texts in scripts without blanks (Chinese, Japanese, Thai) into pieces that can be compared.

Rule 1: pure. A piece stands between two function words and is compared by the pairs of its characters, so that texts
with the same pieces in another order are equal.
"""

from itertools import pairwise
from typing import Final

from promt.language.reader import either
from promt.patterns import compile_late

UNSPACED: Final = compile_late("[\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff\u0e00-\u0e7f]+")
_NOT: Final = compile_late(lambda: either("compared", "denial"))
_SMALL: Final = compile_late(lambda: either("compared", "small"))
"""Words of person, liking and grammar, and those that join others."""


def count_denials(text: str) -> int:
    """Return how many words of the text deny something."""
    return len(_NOT.findall(text))


def pieces_of(text: str) -> set[str]:
    """Return the pairs of neighbouring characters of the text's pieces; of a piece of one character, that one."""
    found: set[str] = set()
    for token in UNSPACED.findall(text):
        for piece in _SMALL.sub(" ", _NOT.sub(" ", token)).split():
            found.update([piece] if len(piece) == 1 else map("".join, pairwise(piece)))
    return found
