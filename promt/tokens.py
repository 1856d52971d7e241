"""Estimates how many tokens a text has: no tokenizer is loaded for that.

Rule 1: rather too many than too few, and never more than there are characters.
"""

from promt.patterns import compile_late

CHARS_PER_TOKEN = 4
"""Of the letters, digits and signs of Latin text; measured tokenizers need one for four to five characters of
English."""
CHARS_PER_OTHER_TOKEN = 2
"""Of other alphabets."""

_LATIN = compile_late(r"[\x20-\x7e]+")
_ALPHABETIC = compile_late(r"[\x80-\u1fff]+")


def estimate_tokens(text: str) -> int:
    """Return the estimate: a part of a token for each letter of an alphabet, a whole one for any other character."""
    latin = sum(len(run) for run in _LATIN.findall(text))
    alphabetic = sum(len(run) for run in _ALPHABETIC.findall(text))
    others = len(text) - latin - alphabetic
    return -(-latin // CHARS_PER_TOKEN) - (-alphabetic // CHARS_PER_OTHER_TOKEN) + others
