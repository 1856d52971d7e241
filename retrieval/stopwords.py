"""Function words by language: the words that build a question, not those that it is about.

Rule 1: words stand folded as the lexicon folds them (no case, no diacritics, cut at an apostrophe), unstemmed.
Rule 2: a function word that is also a month, a number or a name of a thing is left out of its list: `may` is a month.
Rule 3: a word of one Latin list is often a noun of another language (`die`, `war`, `son`), so only one of these lists
holds for a text; the first wins a tie. Words of other scripts collide with none and always hold.
"""

from functools import cache
from typing import NamedTuple

from promt.language.reader import languages, tables


class _Lists(NamedTuple):
    """The function words of each Latin language, alone and with those that always hold, and the union of the former."""

    latin: dict[str, frozenset[str]]
    complete: dict[str, frozenset[str]]
    telling: frozenset[str]


@cache
def _lists() -> _Lists:
    lists = {code: frozenset(table["words"].split()) for code, table in tables("stop_words").items()}
    latin = {code: words for code, words in lists.items() if languages()[code].is_latin}
    always = frozenset[str]().union(*(words for code, words in lists.items() if code not in latin))
    return _Lists(
        latin, {code: words | always for code, words in latin.items()}, frozenset[str]().union(*latin.values())
    )


def find_latin_language(words: list[str]) -> str:
    """Return the code of the Latin language whose function words are most of the words; the first list wins a tie."""
    latin, _, telling = _lists()
    known = [word for word in words if word in telling]
    return max(latin, key=lambda code: sum(map(latin[code].__contains__, known)))


def stop_words_for(words: list[str]) -> frozenset[str]:
    """Return the function words of the language of the words, with those of other scripts, which always hold."""
    return _lists().complete[find_latin_language(words)]
