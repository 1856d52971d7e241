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
"""Of fewer words no part is moved: `Ann leads` and `leads Ann` are two facts."""
MOST_MOVED: Final = 64
"""A fact is a sentence or two; of a longer text the cost of every beginning grows with its square."""
_EXACT: Final = compile_late(r"[\w@:/.+#%$€£-]*(?:\d|@|://|\w[./]\w)[\w@:/.+#%$€£-]*")
"""A number, an address, a path: it stands in another text as it is."""
_WORD: Final = compile_late(r"\d+(?:[.,]\d+)+|[^\W_]+(?:['’][^\W_]+)*")
_ENDS: Final = ".!?:;…"
_TOKEN: Final = compile_late(r"[^\W_]+(?:['’][^\W_]+)*|[.!?:;…]")
_POSSESSIVE: Final = compile_late("['’]s$")
_ANY: Final = "qzx"
"""A word that tells something, so that a function word beside it is dropped."""


def words_in_order(text: str) -> tuple[str, ...]:
    """Return the folded words, from the smallest beginning of the circle that they form.

    Equal for texts of the same words.
    """
    found = [word for part in fold_text(text.translate(TYPOGRAPHY)).split() if (word := part.strip(_AROUND))]
    if not LEAST_MOVED <= len(found) <= MOST_MOVED:
        return tuple(found)
    return min(tuple(found[start:] + found[:start]) for start in range(len(found)))


def figures_in(text: str) -> set[str]:
    """Return the numbers, addresses and paths as they are written, without case."""
    return {found.strip(".-:/+").casefold() for found in _EXACT.findall(text)}


def denials_in(text: str) -> int:
    """Return how often the text denies."""
    bare = text.replace("’", "'")
    return count_denials(bare) + sum(word in _denying() for word in _WORD.findall(bare.casefold()))


def names_in(text: str, lexicon: Lexicon | None = None) -> set[str]:
    """Return the folded words that are written like names within a sentence; German nouns are.

    With a lexicon also the telling words that begin one: nobody can see which of these are names.
    """
    names: set[str] = set()
    is_begun = False
    for token in _TOKEN.findall(text):
        if token in _ENDS:
            is_begun = False
            continue
        is_name = token[0].isupper() and len(token) > 1 and not token.startswith(("I'", "I’"))
        if is_name and (is_begun or (lexicon is not None and len(lexicon.query_terms(f"{_ANY} {token}")) > 1)):
            names.add(_bare(token))
        is_begun = True
    return names


def stands_in(said: str, known: str, lexicon: Lexicon | None = None) -> bool:
    """Return whether the known statement has the figures and names of what is said, and denies as often."""
    return (
        denials_in(said) == denials_in(known)
        and figures_in(said) <= figures_in(known)
        and names_in(said, lexicon) <= {_bare(word) for word in _WORD.findall(known)}
    )


def agree(one: str, other: str) -> bool:
    """Return whether two statements have the same figures, names and denials."""
    return stands_in(one, other) and stands_in(other, one)


def _bare(word: str) -> str:
    return _POSSESSIVE.sub("", word.casefold())


@cache
def _denying() -> frozenset[str]:
    """The words of all languages that deny."""
    return frozenset(word for word in list_words("statements", "denies"))
