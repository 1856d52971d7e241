"""The words by which statements of facts are compared: function words, operators and synonyms of each language.

Rule 1: the words are data (`likeness.toml`), written as a speaker of the language would list them; this module reads them.
Rule 2: pure. A word that no table has is a word that must be matched: what is unknown never makes two facts one.
"""

import tomllib
from collections import defaultdict
from collections.abc import Iterable
from functools import cache, cached_property, lru_cache
from importlib.resources import files
from typing import Any, Final, NamedTuple

_SHORT: Final = 3
"""Words up to this length keep their endings: there is too little left of them."""
_STEM: Final = 3
_STEMS_KEPT: Final = 4096
"""A statement is compared with several that have its words, and each word is looked up in every language."""
SHADE: Final = "|"
"""Parts a light concept from the number of its shade, of which a statement has one and not another: `give`, `take`."""
_NO_ENDING: Final = " "  # no word ends with it
_VOWELS: Final = frozenset("aeiouy")


class Sense(NamedTuple):
    """What a phrase stands for: how many words it has, and its symbols (`@role`, or a concept)."""

    length: int
    symbols: tuple[str, ...]


class Words:
    """The tables of one language."""

    def __init__(self, name: str, table: dict[str, Any]) -> None:
        self.name = name
        self._table = table
        self._lists: dict[str, frozenset[str]] = {}
        endings = [ending.partition(">") for ending in table["endings"].split()]
        self._endings: defaultdict[str, list[tuple[str, str, int]]] = defaultdict(list)
        self.stem = lru_cache(_STEMS_KEPT)(self._stem_of)
        """The word without its ending; the same stem for a word and its regular forms."""
        for old, _, new in sorted(endings, key=lambda parts: -len(parts[0])):
            least = _STEM + (name == "en" and old.startswith(_LONG_ENDINGS)) - len(new) + len(old)
            self._endings[old[-1]].append((old, new, least))

    @cached_property
    def function_words(self) -> frozenset[str]:
        """Single words that tell the language."""
        return frozenset(words[0] for words, _ in self._exact_phrases() if len(words) == 1)

    def single(self, role: str) -> frozenset[str]:
        """The words of a role that are one word."""
        key = f"{role} as one word"
        if key not in self._lists:
            self._lists[key] = frozenset(word for word in self.words_of(role) if " " not in word)
        return self._lists[key]

    @cached_property
    def light(self) -> frozenset[str]:
        """Concepts that a statement may have or lack."""
        return frozenset(self._table.get("light", {}))

    @cached_property
    def figures(self) -> dict[str, str]:
        """Words that are a number, a month or a weekday."""
        return {
            spelled: figure for figure, words in self._table.get("figures", {}).items() for spelled in _listed(words)
        }

    @cached_property
    def empty(self) -> frozenset[str]:
        """Light concepts that say nothing at all."""
        return self.listed("empty")

    @cached_property
    def relations(self) -> frozenset[str]:
        """Concepts and stems that say who somebody is to somebody."""
        words = self.listed("relations")
        return words | {self._by_stem.get((self.stem(word),), (self.stem(word),))[0] for word in words}

    @cached_property
    def verb_endings(self) -> tuple[str, ...]:
        """How a verb ends that a statement begins with."""
        return tuple(self.listed("verb_endings")) or (_NO_ENDING,)

    @cached_property
    def participle_endings(self) -> tuple[str, ...]:
        """How a participle ends."""
        return tuple(self.listed("participle_endings")) or (_NO_ENDING,)

    def count_of(self, words: Iterable[str]) -> int:
        """How many of the words are function words or figures of this language."""
        heads = self.function_words
        return sum(word in heads or word.partition("'")[0] + "'" in heads for word in words)

    def is_determiner(self, word: str) -> bool:
        """Whether a noun, and no name, follows such a word."""
        return word in self.listed("determiners") or word in self.figures

    def listed(self, key: str) -> frozenset[str]:
        """A list of words of this language."""
        if key not in self._lists:
            self._lists[key] = frozenset(_listed(self._table.get(key, "")))
        return self._lists[key]

    def words_of(self, *roles: str) -> frozenset[str]:
        """The words and phrases of some roles."""
        key = " ".join(("roles", *roles))
        if key not in self._lists:
            words = (word for role in roles for word in _listed(self._table["roles"].get(role, "")))
            self._lists[key] = frozenset(words)
        return self._lists[key]

    def _exact_phrases(self) -> list[tuple[tuple[str, ...], tuple[str, ...]]]:
        found: list[tuple[tuple[str, ...], tuple[str, ...]]] = []
        for role, phrases in [*self._table["roles"].items(), *self._table["prep"].items()]:
            found += [(tuple(phrase.split()), (f"@{role}",)) for phrase in _listed(phrases)]
        for meaning, phrases in self._table.get("means", {}).items():
            found += [(tuple(phrase.split()), tuple(meaning.split())) for phrase in _listed(phrases)]
        return found

    @cached_property
    def _exact(self) -> dict[tuple[str, ...], tuple[str, ...]]:
        return dict(self._exact_phrases())

    @cached_property
    def _by_stem(self) -> dict[tuple[str, ...], tuple[str, ...]]:
        return {stems: (concept,) for stems, concept in self._stemmed()}

    def _stemmed(self) -> list[tuple[tuple[str, ...], str]]:
        groups = [*self._table.get("same", {}).items(), *self._table.get("light", {}).items()]
        return [
            (tuple(map(self.stem, phrase.split())), f"{concept}{SHADE}{shade}" if shade else concept)
            for concept, phrases in groups
            for shade, alike in enumerate(phrases.split("|"))
            for phrase in _listed(alike)
        ]

    def doubles(self) -> list[tuple[str, ...]]:
        """Stems that stand for two concepts: one of these would never be found."""
        return [stems for stems, concept in self._stemmed() if self._by_stem[stems] != (concept,)]

    @cached_property
    def _longest(self) -> dict[str, int]:
        """How long the longest phrase is that begins with this word or stem."""
        longest: dict[str, int] = {}
        for phrase in [*self._exact, *self._by_stem]:
            longest[phrase[0]] = max(longest.get(phrase[0], 0), len(phrase))
        return longest

    def _stem_of(self, word: str) -> str:
        if len(word) <= _SHORT or not word.isalpha():
            return word
        for ending, instead, least in self._endings.get(word[-1], ()):
            if len(word) >= least and word.endswith(ending):
                stem = word[: -len(ending)] + instead
                return _even(stem) if self.name == "en" and ending in _DOUBLING else stem
        return word

    def sense(self, words: list[str], stems: list[str], at: int) -> Sense | None:
        """The longest phrase that begins here."""
        longest = max(self._longest.get(words[at], 0), self._longest.get(stems[at], 0))
        for length in range(min(longest, len(words) - at), 0, -1):
            exact = self._exact.get(tuple(words[at : at + length]))
            if exact is not None:
                return Sense(length, exact)
            like = self._by_stem.get(tuple(stems[at : at + length]))
            if like is not None:
                return Sense(length, like)
            if length > 1 and words[at + 1 : at + 2] and words[at + 1] in self.listed("articles"):
                like = self._by_stem.get((stems[at], *stems[at + 2 : at + 1 + length]))
                if like is not None and len(stems) > at + length:
                    return Sense(length + 1, like)
        return None

    def concept_of(self, word: str) -> str:
        """What a single word stands for; the word where nothing else is known."""
        return self._by_stem.get((self.stem(word),), (word,))[0].partition(SHADE)[0]

    def is_word(self, word: str) -> bool:
        """Whether the word alone stands for something."""
        return (self.stem(word),) in self._by_stem or (word,) in self._exact

    def has_stem(self, word: str) -> bool:
        """Whether the tables know the word."""
        return self.stem(word) in self._longest or word in self._longest


_LONG_ENDINGS: Final = ("at", "ment")
"""Endings that leave four letters at least: `donate` is not `done`, a `moment` no `mom`."""
_DOUBLING: Final = frozenset({"ing", "ed"})


def _even(stem: str) -> str:
    """`runn` is `run`."""
    is_doubled = len(stem) > _SHORT and stem[-1] == stem[-2] and stem[-1] not in _VOWELS and stem[-1] not in "lsz"
    return stem[:-1] if is_doubled else stem


def _listed(phrases: str) -> list[str]:
    return [phrase.strip().lower() for phrase in phrases.split(",") if phrase.strip()]


@cache
def languages() -> dict[str, Words]:
    """Every language that has tables."""
    text = files(__package__ or "memory").joinpath("likeness.toml").read_text("utf-8")
    return {name: Words(name, table) for name, table in tomllib.loads(text).items()}
