"""Compare two statements by what can be read off them without knowing their meaning: words, figures, names, denials.

Rule 1: pure. Two statements have the same words only if every word of one is a word of the other, in the same order
around a circle: a part that is moved ("in winter I ski") says the same, two that change places ("Ann pays Bob") do not.
Rule 2: no word is too small to count: `for` and `from`, `few` and `a few` make two facts of one.
Rule 3: figures, names and denials that differ always make two facts; where they agree, nothing is known yet.
"""
# ruff: noqa: RUF001  # marks of many languages are the subject here

from functools import cache
from typing import Final

from memory.extraction.unspaced import count_denials
from memory.rules.identity import fold_text
from promt.language.reader import list_words
from promt.patterns import compile_late
from protocol.saying import TYPOGRAPHY
from protocol.seams.ports import Lexicon

_AROUND: Final = '.,;:!?…。，！？；："“”«»()[]'
LEAST_MOVED: Final = 4
"""The fewest words in which a part may be moved: `Ann leads` and `leads Ann` are two facts."""
MOST_MOVED: Final = 64
"""The most words: a fact is a sentence or two, and comparing every rotation costs the square of the words."""
_EXACT: Final = compile_late(r"[\w@:/.+#%$€£-]*(?:\d|@|://|\w[./]\w)[\w@:/.+#%$€£-]*")
"""A number, an address, a path: it stands in another text as it is."""
WORD: Final = compile_late(r"\d+(?:[.,]\d+)+|[^\W_]+(?:['’][^\W_]+)*")
_ENDS: Final = ".!?:;…"
_TOKEN: Final = compile_late(r"[^\W_]+(?:['’][^\W_]+)*|[.!?:;…]")
_POSSESSIVE: Final = compile_late("['’]s$")
TELLING_WORD: Final = "qzx"
"""A word that is no function word in any language. A lexicon drops function words of a query only beside another word,
so that this one shows whether a word is one."""


def words_in_order(text: str) -> tuple[str, ...]:
    """Return the folded words in their smallest rotation, so that texts of rule 1 with the same words are equal."""
    found = [word for part in fold_text(text.translate(TYPOGRAPHY)).split() if (word := part.strip(_AROUND))]
    if not LEAST_MOVED <= len(found) <= MOST_MOVED:
        return tuple(found)
    return min(tuple(found[start:] + found[:start]) for start in range(len(found)))


def figures_in(text: str) -> set[str]:
    """Return the numbers, addresses and paths as they are written, without case."""
    return {found.strip(".-:/+").casefold() for found in _EXACT.findall(text)}


def denials_in(text: str) -> int:
    """Return how many words of the text deny something."""
    plain = text.replace("’", "'")
    return count_denials(plain) + sum(word in _denying() for word in WORD.findall(plain.casefold()))


def names_in(text: str, lexicon: Lexicon | None = None) -> set[str]:
    """Return the folded words that are capitalised within a sentence, as names are, and German nouns.

    With a lexicon, so are words at a sentence's beginning but function words: any of these may be a name.
    """
    names: set[str] = set()
    is_begun = False
    for token in _TOKEN.findall(text):
        if token in _ENDS:
            is_begun = False
            continue
        is_name = token[0].isupper() and len(token) > 1 and not token.startswith(("I'", "I’"))
        if is_name and (is_begun or (lexicon is not None and is_telling(token, lexicon))):
            names.add(fold_word(token))
        is_begun = True
    return names


def is_telling(words: str, lexicon: Lexicon) -> bool:
    """Return whether any of the words is no function word."""
    return len(lexicon.query_terms(f"{TELLING_WORD} {words}")) > 1


def stands_in(said: str, known: str, lexicon: Lexicon | None = None) -> bool:
    """Return whether a known statement has the figures and names of another one, and as many denials."""
    return (
        denials_in(said) == denials_in(known)
        and figures_in(said) <= figures_in(known)
        and names_in(said, lexicon) <= {fold_word(word) for word in WORD.findall(known)}
    )


def agree(one: str, other: str) -> bool:
    """Return whether two statements have the same figures, names and denials."""
    return stands_in(one, other) and stands_in(other, one)


def fold_word(word: str) -> str:
    """Return a word without case and possessive ending."""
    return _POSSESSIVE.sub("", word.casefold())


@cache
def _denying() -> frozenset[str]:
    """Return the words of all languages that deny."""
    return frozenset(list_words("statements", "denies"))
