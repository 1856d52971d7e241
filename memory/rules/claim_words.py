"""Compares the words of a claim with those of its user: what it adds to them, alters, or says as they do.

Rule 1: pure. A claim may lack words of its user, and add those of `[quotes] added` that any retelling adds.
Rule 2: a number, a denial and a word of duty count wherever they stand, and no ending of a word does.
"""
# ruff: noqa: RUF001  # words of many languages are the subject here

import re
from collections.abc import Iterator, Mapping, Sequence
from functools import cache, lru_cache
from typing import Any, Final, cast

from memory.extraction.unspaced import UNSPACED, pieces_of
from memory.rules.identity import fold_text
from memory.rules.same_words import TELLING_WORD, WORD, denials_in, figures_in, fold_word
from promt.handing_over import BEGINS_QUESTION, KEEPS, begins_request
from promt.language.reader import either, list_words, whole
from promt.patterns import compile_late
from promt.speaker import is_about_user
from protocol.saying import TYPOGRAPHY
from protocol.seams.ports import Lexicon

MAX_LEAVES: Final = 32
"""The most texts, numbers and names in a value that is compared with a quote."""
ASKED_WORDS: Final = 12
"""The words of one question to the lexicon, which returns at most 32 terms of a query."""
COMPARED: Final = 16
"""Texts whose denials are cached: a claim, its quote and its sentence are compared in pairs."""
STEM_CHARS: Final = 4
"""The fewest letters of a stem."""
RESTED_ON: Final = 0.5
"""The least share of a claim's telling terms that stand in a sentence about the same thing."""
OBLIGES: Final = compile_late(lambda: whole("quotes", "obliges"), re.IGNORECASE)
"""A word of duty: "always", "never", "must"."""
_TURNS: Final = compile_late(lambda: whole("quotes", "turns"), re.IGNORECASE)
"""Words without which a sentence says something else, though no index holds them."""
_OF_USER: Final = compile_late(
    lambda: rf"\b(?:{either('quotes', 'of_user', spaced=True)})|{either('quotes', 'of_user', spaced=False)}",
    re.IGNORECASE,
)
_REMINDER: Final = compile_late(lambda: either("quotes", "reminder"), re.IGNORECASE)
"""Asks by a denial that something be kept ("don't forget that …"): it denies nothing of the fact."""
CLAUSE_MARK: Final = compile_late(r"[,;:，、；：—–]\s*")
"""Stands between two clauses of a sentence."""


def fold_quote(text: str) -> str:
    """Return a quote as it is compared: as `fold_text` folds, with typographic quotes and dashes as ASCII."""
    return fold_text(text.translate(TYPOGRAPHY))


def telling_terms(text: str, lexicon: Lexicon) -> list[str]:
    """Return the terms, in order, of the words that tell something.

    Function words are left out, and words that any retelling adds. The stem of a word depends on the language of its
    sentence, so that the whole text is asked for the terms, and each word only for its own.
    """
    found: list[str] = []
    for words in _chunks(UNSPACED.sub(" ", text)):
        asked = set(lexicon.query_terms(f"{TELLING_WORD} {' '.join(words)}"))
        for word in words:
            if fold_word(word) not in _list_added_words() and not KEEPS.fullmatch(word):
                terms = lexicon.index_terms(word)
                stems = [term for term in terms[:1] if term.startswith(tuple(one for one in asked if len(one) > 2))]
                found += [term for term in terms if term in asked] or stems
    return [*found, *sorted(pieces_of(text))]


def _chunks(text: str) -> Iterator[list[str]]:
    """Yield the words of a text, `ASKED_WORDS` at a time."""
    words = WORD.findall(text)
    for start in range(0, len(words), ASKED_WORDS):
        yield words[start : start + ASKED_WORDS]


@cache
def _list_added_words() -> frozenset[str]:
    """Return the words that a retelling adds: who is meant, that somebody has a name, that a thing is liked."""
    return frozenset(list_words("quotes", "added"))


def holds(term: str, known: set[str]) -> bool:
    """Return whether a term is known, or one with the same stem: endings are grammar."""
    if term in known:
        return True
    if not term.isalpha() or len(term) <= STEM_CHARS:
        return False
    stem = term[: max(STEM_CHARS, len(term) - 2)]
    return any(other.startswith(stem) and abs(len(other) - len(term)) <= STEM_CHARS - 1 for other in known)


def shares_words(words: str, text: str, lexicon: Lexicon) -> bool:
    """Return whether a telling term of `words` is in `text`."""
    known = {*lexicon.index_terms(text), *pieces_of(text)}
    return any(holds(term, known) for term in telling_terms(words, lexicon))


def adds_words(content: str, quote: str, lexicon: Lexicon) -> bool:
    """Return whether the content has a term, number, address, denial or obligation that the quote has not."""
    if fold_quote(content) in fold_quote(quote):
        return False
    known = {*lexicon.index_terms(quote), *pieces_of(quote)}
    return not all(holds(term, known) for term in telling_terms(content, lexicon)) or _alters(content, quote)


def _alters(content: str, quote: str) -> bool:
    """Return whether the content has a number, denial or obligation that the quote has not."""
    if not figures_in(content) <= figures_in(quote) or count_true_denials(content) > count_true_denials(quote):
        return True
    return OBLIGES.search(content) is not None and OBLIGES.search(quote) is None


@lru_cache(maxsize=COMPARED)
def count_true_denials(text: str) -> int:
    """Return how many words of a text deny something, but for a request to keep it."""
    return denials_in(_REMINDER.sub(" ", text.replace("’", "'")))


def turns_of(text: str) -> tuple[int, list[str]]:
    """Return the denials of a text and its words of `[quotes] turns`, sorted."""
    return count_true_denials(text), sorted(found.casefold() for found in _TURNS.findall(text))


def says_the_same(content: str, sentence: str, lexicon: Lexicon) -> bool:
    """Return whether the content states the whole sentence in its order, but for the request to keep it."""
    stated = _REMINDER.sub(" ", sentence.replace("’", "'"))
    return (
        telling_terms(content, lexicon) == telling_terms(stated, lexicon)
        and turns_of(content) == turns_of(stated)
        and figures_in(content) == figures_in(stated)
        and OBLIGES.findall(content.casefold()) == OBLIGES.findall(stated.casefold())
    )


def rests_on(content: str, sentence: str, lexicon: Lexicon) -> bool:
    """Return whether a claim that adds words is still about what its sentence states.

    It shares a word with a sentence about the user, or half of its words with another one. With a number, denial or
    obligation of its own it is another claim; and a sentence that only asks states nothing.
    """
    stating = [one for one in CLAUSE_MARK.split(sentence) if not (BEGINS_QUESTION.match(one) or begins_request(one))]
    if _alters(content, sentence) or not stating:
        return False
    known = {*lexicon.index_terms(sentence), *pieces_of(sentence)}
    telling = telling_terms(content, lexicon)
    shared = sum(holds(term, known) or _is_mistyped(term, known) for term in telling)
    return shared > 0 and (any(map(is_about_user, stating)) or shared >= RESTED_ON * len(telling))


def _is_mistyped(term: str, known: set[str]) -> bool:
    """Return whether a known term is the same but for about one letter; short terms are never taken for mistyped."""
    return len(term) > STEM_CHARS and any(
        abs(len(other) - len(term)) <= 1 and _common(term, other) + _common(term[::-1], other[::-1]) >= len(term) - 1
        for other in known
        if len(other) > STEM_CHARS
    )


def _common(one: str, other: str) -> int:
    """Return how many letters two words begin with in common."""
    return next((at for at, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), min(len(one), len(other)))


def is_of_another(content: str, sentence: str) -> bool:
    """Return whether the content is about the user and its sentence is not."""
    return _OF_USER.search(content) is not None and not (is_about_user(sentence) or _OF_USER.search(sentence))


def is_within(value: Any, words: str, lexicon: Lexicon) -> bool:
    """Return whether a value, and the names of its members, add nothing to the words."""
    leaves = list(_leaves(value))
    return (
        len(leaves) <= MAX_LEAVES
        and None not in leaves
        and not any(adds_words(leaf or "", words, lexicon) for leaf in leaves)
    )


def _leaves(value: Any) -> Iterator[str | None]:
    """Yield the texts, numbers and names of a value; None for a False, which denies something."""
    match value:
        case None | True:
            return
        case False:
            yield None
        case dict():
            members = cast("Mapping[str, Any]", value)
            for name, part in members.items():
                yield name
                yield from _leaves(part)
        case list():
            for part in cast("Sequence[Any]", value):
                yield from _leaves(part)
        case _:
            yield str(value)
