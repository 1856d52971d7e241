"""Reads letters of one script that stand in words of another for what they look like.

Rule 1: pure, and the length stays: places in the text keep their numbers.
Rule 2: only a word that mixes scripts, or has nothing but look-alikes in a text of another script, is read anew.
"""

from typing import Final

from promt.patterns import compile_late

_LATIN: Final = "aceopxyijsdhqwkABCEHIKMOPTXYSJaovpikuxABEZHIKMNOPTYX"
_OTHERS: Final = "асеорхуіјѕԁһԛԝкАВСЕНІКМОРТХУЅЈαονρικυχΑΒΕΖΗΙΚΜΝΟΡΤΥΧ"
_TO_LATIN: Final = dict(zip(map(ord, _OTHERS), _LATIN, strict=True))
_TO_CYRILLIC: Final = {ord(one): other for one, other in zip(_LATIN, _OTHERS, strict=True) if other > "\u03ff"}
_OTHER: Final = "\u0370-\u052f"
_WORD = compile_late(rf"(?<![A-Za-z{_OTHER}])[A-Za-z]*[{_OTHER}][A-Za-z{_OTHER}]*")
_MIXED = compile_late(rf"[A-Za-z][{_OTHER}]|[{_OTHER}][A-Za-z]")
_ASCII = compile_late(r"[A-Za-z]")


def read_alike(text: str) -> str:
    """Return the text with look-alikes as the letters of the word, or of the text, that they stand in."""
    if text.isascii() or _MIXED.search(text) is None:
        return text
    words = _WORD.findall(text)
    is_latin = 2 * len(_ASCII.findall(text)) > sum(map(len, words))
    return _WORD.sub(lambda word: _read_word(word[0], is_latin=is_latin), text)


def _read_word(word: str, *, is_latin: bool) -> str:
    if not (is_latin or _MIXED.search(word)):
        return word
    latin, cyrillic = word.translate(_TO_LATIN), word.translate(_TO_CYRILLIC)
    read = [(latin, latin.isascii()), (cyrillic, _ASCII.search(cyrillic) is None)]
    return next((one for one, is_whole in read[:: 1 if is_latin else -1] if is_whole), word)
