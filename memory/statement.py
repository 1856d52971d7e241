"""The words of a statement and what each stands for: a name, a figure, a concept, or a role such as "not" or "before".

Rule 1: pure, and bounded by its callers: it knows words and their tables, neither records nor vectors.
Rule 2: what is not understood is kept as it was written; only listed function words are left out.
"""

# ruff: noqa: RUF001  (quotation marks and dashes of many languages are what is cut here)

import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from memory.likeness_words import SHADE, Sense, Words
from memory.statement_figures import Symbol, composed, is_unit
from promt.patterns import compile_late

_EDGE: Final = "\"'`“”„«»‹›‘’()[]{}¿¡…"
_STOPS: Final = ".,;:!?—–"
_SPLIT: Final = compile_late(r"\s+|(?<=[^\W\d_])[,;](?=[^\W\d_])|(?<=\w)[—–](?=\w)")
_NUMBER: Final = compile_late(r"[+-]?\d+(?:[.,:]\d+)*")
_WITH_UNIT: Final = compile_late(r"([+-]?\d+(?:[.,:]\d+)*)([^\W\d_]{1,3}|[%$€])")
_COUNTED: Final = compile_late(r"(\d+)-([a-z]+(?:-[a-z]+)*)")
_PRICE: Final = compile_late(r"([$€£])(\d+(?:[.,:]\d+)*)")
_ORDINAL: Final = compile_late(r"(\d+)(?:st|nd|rd|th|º|ª|er|e|-?(?:го|й|е|я))\.?")
_GROUPED: Final = compile_late(r"\d{1,3}(?:,\d{3})+")
_SPELLINGS: Final = str.maketrans({"‐": "-", "‑": "-", "’": "'", "ʼ": "'", "ё": "е", "Ё": "Е"})
_AUXILIARY_REACH: Final = 3
"""How many words may stand between an auxiliary and its participle."""
_AGES_OF_AUXILIARIES: Final = {
    **dict.fromkeys(("was", "were", "did", "didn't", "wasn't", "weren't"), "past"),
    **dict.fromkeys(("is", "are", "am", "i'm", "isn't", "aren't", "does", "do", "doesn't", "don't"), "present"),
    **dict.fromkeys(("will", "won't", "i'll", "we'll", "'ll"), "future"),
    **dict.fromkeys(("has", "have", "had", "been", "be", "being", "i've", "we've", "you've", "to", "'ve", "got"), ""),
}


@dataclass(frozen=True, slots=True)
class Word:
    """One word as it was written."""

    text: str
    is_capital: bool = False
    is_first: bool = False
    """Whether a sentence begins with it: its capital says nothing then."""
    stops: bool = False
    """Whether a comma or its like follows."""
    low: str = field(init=False)
    """As tables have it."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "low", self.text.lower())


def cut(text: str) -> list[Word]:
    """The words of a text, with what their spelling tells."""
    words: list[Word] = []
    is_first = True
    for piece in _SPLIT.split(unicodedata.normalize("NFKC", text).translate(_SPELLINGS)):
        if not piece:
            continue
        bare = piece.strip(_EDGE).rstrip(_STOPS + _EDGE).lstrip(",;:?—–")
        if not bare:
            if words:
                words[-1] = replace(words[-1], stops=True)
            continue
        tail = piece[piece.rfind(bare) + len(bare) :]
        words.append(Word(bare, bare != bare.lower(), is_first, any(char in _STOPS for char in tail)))
        is_first = any(char in ".!?" for char in tail)
    return words


def split_words(words: Sequence[Word], table: Words, shared: frozenset[str]) -> list[Word]:
    """The words with clitics, possessives and compounds taken apart, except compounds that both texts have."""
    found: list[Word] = []
    for word in words:
        parts = _apart(word.text, table, shared)
        for number, part in enumerate(parts):
            is_last = number == len(parts) - 1
            capital = part != part.lower()
            found.append(Word(part, capital, word.is_first and number == 0, word.stops and is_last))
    return found


def _apart(text: str, table: Words, shared: frozenset[str]) -> list[str]:
    low = text.lower()
    if low in table.function_words or low in table.figures or low in shared:
        return [text]
    if "'" in low and low.replace("'", "").isalpha():
        return _apart_at_apostrophe(text, table, shared)
    if low[0] in _NUMERIC and not table.has_stem(low):
        return _measured(low)
    if "-" in low and all(part.isalpha() for part in low.split("-")) and not table.has_stem(low):
        return [part for piece in text.split("-") for part in _apart(piece, table, shared)]
    return [text]


def _apart_at_apostrophe(text: str, table: Words, shared: frozenset[str]) -> list[str]:
    low = text.lower()
    if table.name == "fr":
        head, _, rest = text.partition("'")
        return [head + "'", *_apart(rest, table, shared)] if head and rest else [text]
    if low.endswith(("'s", "s'")) and not table.has_stem(low):
        return [text[:-2] if low.endswith("'s") else text[:-1], "@gen"]
    return [text]


def _measured(low: str) -> list[str]:
    """A number and what it counts: `8gb`, `$400`, `six` of `6-year-old`."""
    unit = _WITH_UNIT.fullmatch(low)
    if unit is not None and not _ORDINAL.fullmatch(low):
        return [unit[1], unit[2]]
    price = _PRICE.fullmatch(low)
    if price is not None:
        return [price[2], price[1]]
    counted = _COUNTED.fullmatch(low)
    return [counted[1], *counted[2].split("-")] if counted is not None else [low]


_NUMERIC: Final = frozenset("0123456789+-$€£")


def symbols(words: Sequence[Word], table: Words, names: frozenset[str]) -> list[Symbol]:
    """What each word or phrase stands for."""
    lows = [word.low for word in words]
    stems = [table.stem(low) for low in lows]
    found: list[Symbol] = []
    at = 0
    while at < len(words):
        word = words[at]
        if word.text == "@gen":
            found.append(Symbol("@possessor", "role", word.stops))
        elif lows[at] in names:
            found.append(Symbol(lows[at], "name", word.stops))
        elif lows[at] in _PERFECT and _has_participle(lows, at, table):
            pass
        elif (special := _special(words, lows, stems, at, found, table)) is not None:
            found.append(special)
        elif (sense := table.sense(lows, stems, at)) is not None:
            tense = _tense(words, lows, at, table)
            told = ["@with" if it == "@by" and not _is_done(lows, at, table) else it for it in sense.symbols]
            found += [_shaded(symbol, tense, table) for symbol in told]
            at += sense.length - 1
            found[-1] = found[-1]._replace(stops=words[at].stops)
        else:
            found.append(Symbol(stems[at], "word", word.stops, _tense(words, lows, at, table)))
        at += 1
    return _bounded(list(composed(found, table)))


def _shaded(symbol: str, tense: str, table: Words) -> Symbol:
    text, _, shade = symbol.partition(SHADE)
    return Symbol(text, _kind_of(text, table), stops=False, tense=tense, shade=shade)


def _is_done(lows: Sequence[str], at: int, table: Words) -> bool:
    """Whether `by` names who did it, or a point in time, and no means: `paid by Ann`, `by Friday`, `pay by card`."""
    following = lows[at + 1] if at + 1 < len(lows) else ""
    if table.name != "en" or following.endswith("ing"):
        return table.name != "en"
    if _figure(following, table) is not None:
        return True
    before = lows[max(0, at - _PASSIVE_REACH) : at]
    return any(
        low.endswith("ed") or low in table.listed("participles") or low in table.listed("past") for low in before
    )


_PASSIVE_REACH: Final = 4
"""How many words may stand between a participle and who did it."""


def _bounded(found: list[Symbol]) -> list[Symbol]:
    """The symbols with "not more than" a figure as "at most", and "not less than" as "at least"."""
    for at in range(len(found) - 1):
        bound = _BOUNDS.get(found[at].text)
        if bound is None:
            continue
        if found[at + 1].kind != "figure":
            unbound = _UNBOUND[found[at].text]
            found[at] = Symbol(unbound, "role" if unbound[0] == "@" else "word", found[at].stops)
            continue
        if found[at].text == "@upto":
            found[at] = Symbol(bound, "word", stops=False)
            continue
        start = max(0, at - _NEGATION_REACH)
        denied = next((i for i in range(at - 1, start - 1, -1) if found[i].text == "@not" or found[i].stops), None)
        if denied is None or found[denied].stops:
            found[at] = Symbol(found[at].text[1:], "word", stops=False)
            continue
        found[at] = Symbol(bound, "word", stops=False)
        found[denied] = Symbol("@drop", "role", stops=False)
        if found[denied + 1].text == "can":
            found[denied + 1] = Symbol("@drop", "role", stops=False)
    return found


_BOUNDS: Final = {"@above": "most", "@below": "least", "@upto": "most"}
_UNBOUND: Final = {"@above": "@instead", "@below": "@drop", "@upto": "up"}
"""What such a word says where no figure follows."""
_NEGATION_REACH: Final = 6


_FIRST_VERB: Final = 3
"""How many words stand before the verb of a short subject: `the old parser`."""
_GETTING: Final = frozenset({"get", "gets"})
_HAVING: Final = frozenset({"has", "have", "been", "i've", "we've", "'ve"})
_PERFECT: Final = frozenset({"has", "have", "had"})


def _has_participle(lows: Sequence[str], at: int, table: Words) -> bool:
    """Whether `have` helps a participle that follows: nothing is owned then."""
    following = [
        low for low in lows[at + 1 : at + 3] if low not in {"already", "just", "also", "always", "never", "not"}
    ]
    return (
        table.name == "en"
        and bool(following)
        and (following[0].endswith("ed") or following[0] in table.listed("participles"))
    )


def _special(
    words: Sequence[Word], lows: list[str], stems: list[str], at: int, found: Sequence[Symbol], table: Words
) -> Symbol | None:
    """A figure, or a word that its neighbours make another one."""
    low, following = lows[at], lows[at + 1] if at + 1 < len(lows) else ""
    if table.name == "en" and low == "am" and found and found[-1].kind == "figure":
        return Symbol("am", "word", words[at].stops)
    if table.name == "en" and stems[at] == "need" and following.endswith("ing"):
        return Symbol("must", "light", stops=False)  # "needs watering"
    if table.name == "en" and low in {"a", "an"} and at and lows[at - 1] in _BEFORE_SPANS and is_unit(following):
        return Symbol("1", "figure", stops=False)  # "takes an hour"
    near = slice(at, at + _LONGEST_WITH_FIGURE)
    special = _apart_from_phrases(words, lows, stems[at], at, table)
    return None if special is None or _is_part(table.sense(lows[near], stems[near], 0)) else special  # `last name`


def _apart_from_phrases(words: Sequence[Word], lows: Sequence[str], stem: str, at: int, table: Words) -> Symbol | None:
    """What a word says that begins no listed phrase."""
    word, low, following = words[at], lows[at], lows[at + 1 : at + _LONGEST_WITH_FIGURE]
    if table.name == "en" and low == "too" and following and not word.stops:
        return Symbol("too", "word", stops=False)
    if table.name == "en" and low == "last" and not _is_measured(following, table):
        return Symbol("final", "word", word.stops)
    if table.name == "en" and stem == "work" and following[:1] == ["on"] and not _is_time(following[1:], table):
        return Symbol("work-on", "word", word.stops)
    figure = _figure_at(words, at, table)
    return None if figure is None else Symbol(figure, "figure", word.stops)


def _is_measured(following: Sequence[str], table: Words) -> bool:
    """Whether `last` is a verb: what it says is followed by how long."""
    return bool(following) and (following[0] in _MEASURING or _figure(following[0], table) is not None)


_BEFORE_SPANS: Final = frozenset(
    {"in", "after", "lasts", "last", "lasted", "takes", "take", "took", "needs", "spends", "about"}
)
_MEASURING: Final = frozenset(
    {"a", "an", "for", "about", "around", "until", "till", "at", "up", "longer", "more", "less"}
)


def _is_time(following: Sequence[str], table: Words) -> bool:
    """Whether a weekday, a date or a part of the day follows."""
    nouns = [low for low in following if low not in table.listed("articles")][:1]
    return any(_figure(low, table) is not None or table.concept_of(low) in table.listed("times") for low in nouns)


_LONGEST_WITH_FIGURE: Final = 4
"""How many words a listed phrase has that begins with a figure: `first language`."""


def _kind_of(symbol: str, table: Words) -> str:
    if symbol[0] == "@":
        return "role"
    return "figure" if symbol.isdecimal() else "light" if symbol in table.light else "word"


def _is_part(sense: Sense | None) -> bool:
    """Whether a figure belongs to a listed phrase: `first language`."""
    return sense is not None and sense.length > 1 and sense.symbols[0][0] != "@"


def _figure_at(words: Sequence[Word], at: int, table: Words) -> str | None:
    low = words[at].low
    figure = _figure(low, table)
    if figure is None or _is_pronoun(words, at, table):
        return None
    return None if _has_digit(low) and table.is_word(low) else figure  # `2fa`


def _has_digit(low: str) -> bool:
    return not low.isalpha() and any(char.isdigit() for char in low)


def _figure(low: str, table: Words) -> str | None:
    if low in table.figures:
        return table.figures[low]
    if not _has_digit(low):
        return None
    ordinal = _ORDINAL.fullmatch(low)
    if ordinal is not None:
        return ordinal[1] + "."
    return low.replace(",", "") if _GROUPED.fullmatch(low) else low


def _is_pronoun(words: Sequence[Word], at: int, table: Words) -> bool:
    """Whether `one` stands for a thing instead of counting it; whether `may` is no month."""
    low = words[at].low
    if low == "may" and table.name == "en":
        return not words[at].is_capital or words[at].is_first
    if low in {"mar", "sat", "sun"} and table.name == "en":
        return not words[at].is_capital
    if low == "first" and at + 1 < len(words) and words[at + 1].low == "of":
        return False
    if low == "first" and at == 0:
        return True
    is_last = at + 1 == len(words) or words[at].stops or words[at + 1].low in table.function_words
    return low in {"one", "first"} and is_last and at > 0 and words[at - 1].low not in table.figures


def _tense(words: Sequence[Word], lows: Sequence[str], at: int, table: Words) -> str:
    """`past`, `present` or nothing, as far as English forms and auxiliaries tell."""
    low = lows[at]
    if table.name != "en" or low in table.listed("adjectives"):
        return ""
    is_past_form = (low.endswith("ed") and low not in table.listed("present")) or low in table.listed("past")
    nearest = lows[max(0, at - _AUXILIARY_REACH) : at][::-1]
    for before in nearest:
        if before in _HAVING and not _SPANNING.isdisjoint(lows[at:]):
            return "present"  # what has been for a year still is
        if before in _AGES_OF_AUXILIARIES:
            return _AGES_OF_AUXILIARIES[before]
    if 0 < at <= _FIRST_VERB and _NOT_ALONE.isdisjoint(lows):
        if is_past_form and lows[at + 1 : at + 2] != ["by"]:
            return "past"
        if low.endswith("s"):
            return "present"
    if is_past_form:
        return "past" if at == 0 or nearest[0] in {"i", "we", "he", "she", "they", "user"} else ""
    return "present" if at == 0 or nearest[0] in {"i", "we", "user"} or words[at].is_first else ""


_SPANNING: Final = frozenset({"for", "since"})
_NOT_ALONE: Final = frozenset({*_AGES_OF_AUXILIARIES, *_GETTING})
"""Where a statement has one of these, a verb of its subject is not told by its form."""
