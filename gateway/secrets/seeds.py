"""The words that a wallet is made again from: known by their list and by the checksum in the last one.

Rule 1: the words are those of BIP-39's English list, whole or cut to the four letters by which each is known; the
package `mnemonic` brings the list.
Rule 2: words of a sentence are words of the list as well: without the checksum they have to stand by themselves.
"""

import hashlib
import re
from collections.abc import Sequence
from functools import cache, partial

from gateway.secrets.checks import Range, RuleMatch
from gateway.secrets.engine import Pattern
from gateway.secrets.tables import any_word
from promt.language.reader import words_of_grammar

SIZES = (24, 21, 18, 15, 12)
"""The numbers of words that BIP-39 allows, the longest first."""
WORD_BITS = 11
"""The bits that a word stands for: the list has 2,048 words."""
PREFIX_LETTERS = 4
"""The letters by which each word of the list is known."""
LEAST_LISTED = 9
"""The fewest of twelve words that are of the list, where some are misread."""
NEAR_CHARS = 80
"""The most characters between the words and the name of a wallet."""
_WALLETS = Pattern(partial(any_word, "wallets"))
"""Names a wallet, or what it is made again from."""


@cache
def _places() -> dict[str, int]:
    """Return the place in the list of each word, whole and cut."""
    from mnemonic import Mnemonic  # noqa: PLC0415  # few texts have a dozen short words in a row

    listed = list(enumerate(Mnemonic("english").wordlist))
    return {word[:PREFIX_LETTERS]: place for place, word in listed} | {word: place for place, word in listed}


def _has_checksum(places: Sequence[int]) -> bool:
    """Return whether the last bits, one for each three words, are the first ones of the other bits' SHA-256."""
    number = 0
    for place in places:
        number = number << WORD_BITS | place
    bits = len(places) // 3
    body = (number >> bits).to_bytes(len(places) * WORD_BITS // 8, "big")
    return hashlib.sha256(body).digest()[0] >> (8 - bits) == number & ((1 << bits) - 1)


def _is_varied(words: Sequence[object], size: int) -> bool:
    """Return whether words may be a phrase: one said again and again is none, and one in sixteen has the checksum."""
    return 2 * len(set(words)) > size


def _find_next(text: str, at: int, step: int, passed: str) -> str:
    """Return the next character from `at` on, in steps of `step`, that is not in `passed`; empty at the text's end."""
    while 0 <= at < len(text):
        if text[at] not in passed:
            return text[at]
        at += step
    return ""


def bare_seed_words(found: RuleMatch) -> Range | None:
    """Return the range of twelve to twenty-four words of the list that are a phrase; None where there is none.

    They have the right checksum, a wallet or their number named beside them, nothing but a line's end or a colon
    around, or no word of grammar among them. Beside a name some words that are not of the list are a slip.
    """
    known = _places()
    listed = [word for word in re.findall("[a-z]+", found.value) if word in known]
    if len(listed) < LEAST_LISTED or not _is_varied(listed, LEAST_LISTED):
        return None  # where prose has no marks this is asked at each word, and was most of what reading it takes
    is_named = _WALLETS.occurs(found.lowered[max(0, found.start - NEAR_CHARS) : found.end + NEAR_CHARS])
    if len(listed) < SIZES[-1] and not is_named:
        return None
    words = [(m[0], m.start(), m.end()) for m in re.finditer("[a-z]+", found.value)]
    places = [known.get(word) for word, _, _ in words]
    before = _find_next(found.text, found.start - 1, -1, " \"'`")
    is_alone = before in {"", "\n", ":"} and _find_next(found.text, found.end, 1, " \"'`.") in {"", "\n"}
    for size in SIZES:
        for first in range(len(words) - size + 1):
            run = [place for place in places[first : first + size] if place is not None]
            is_list = len(run) == size and _is_varied(run, size)
            is_apart = (is_alone and len(words) == size) or (
                len(set(run)) == size and _has_no_grammar(words[first : first + size])
            )
            is_slip = is_named and _is_mostly_listed(run, words[first : first + size])
            if (is_list and (is_named or is_apart or _has_checksum(run))) or is_slip:
                return found.start + words[first][1], found.start + words[first + size - 1][2]
    return None


def _is_mostly_listed(run: Sequence[int], words: Sequence[tuple[str, int, int]]) -> bool:
    """Return whether three of four words are of the list, and none is a word of grammar."""
    is_mostly = 4 * len(run) >= 3 * len(words) and _is_varied(run, len(run))
    return is_mostly and _has_no_grammar(words)


def _has_no_grammar(words: Sequence[tuple[str, int, int]]) -> bool:
    return words_of_grammar().isdisjoint(word for word, _, _ in words)


def numbered_seed_words(found: RuleMatch) -> Range | None:
    """Return the range of a list of seed words, each with its number; None for any other.

    A person who copies them by hand may write some that are not of the list: three of four must be.
    """
    words = re.findall("[a-z]+", found.lowered[found.start : found.end])
    listed = sum(word in _places() for word in words)
    return (found.start, found.end) if len(words) in SIZES and 4 * listed >= 3 * len(words) else None
