"""Finds in a message the phrases of the languages, which are written down as `promt/language/grammar.md` says.

Rule 1: pure, and bounded: only the beginning and the end of a long message are read, for that is where people steer.
Rule 2: a phrase becomes an expression only for a text that contains the words that it needs: most never do.
"""
# ruff: noqa: RUF001  # signs of many languages are the subject here

import re
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from functools import cache, cached_property
from itertools import chain
from typing import Any, Final, NamedTuple

from promt.language.reader import Language, languages, tables
from promt.layout import MASK, mask_quotes
from promt.patterns import compile_late
from promt.render import UNSEEN
from protocol.unicode_forms import normalize

HEAD_CHARS: Final = 4000
TAIL_CHARS: Final = 2000
"""People steer and ask at the beginning and at the end of what they write; what they paste stands between."""
KEY_CHARS: Final = 5
"""The first letters of a word, by which phrases are looked up."""
_ACCENTS = compile_late("[\u0300-\u036f]")
_WORDS = compile_late(rf"[\w{MASK}]+(?:'[\w{MASK}]+)*|[?？¿]|[^\s\w'’\-‐‑*_#]")
_QUESTION_MARKS = frozenset("?？")
_SYNTAX = compile_late(r"\([^()\[\]^$~@&?¦<]*\)|[()\[\]|^$~@&?¦]|<\w+>|[^()\[\]|^$~@&?¦<\s][^()\[\]|^$~@&?¦<]*")
_ESCAPED = {ord(sign): f"\\{sign}" for sign in ".+{}\\"}
_SIMPLIFIED = str.maketrans(
    "記憶儲錄別請將麻煩幫這個說話對過無從刪關於數據檔寫進還後們會紀歷問題備長願給許銷號礙須讓試應該聽見戶舊認識參慮"
    "裡裏資訊學處確實樣著當總結單條誰產覺嗎麼設計體畫斷純論評類語帶換隱跡筆續腦轉滅棄剛隨沒啟動務護權場點內繼專層態聲劃裝複徹義樹洩傳錯視",
    "记忆储录别请将麻烦帮这个说话对过无从删关于数据档写进还后们会纪历问题备长愿给许销号碍须让试应该听见户旧认识参虑"
    "里里资讯学处确实样着当总结单条谁产觉吗么设计体画断纯论评类语带换隐迹笔续脑转灭弃刚随没启动务护权场点内继专层态声划装复彻义树泄传错视",
)
"""Traditional characters that steer memory and their simplified forms, on both sides of the comparison."""
_CURLY = str.maketrans({"’": "'", "ʼ": "'", "＇": "'"})
_WITH_BLANKS = {  # the marks of `[intents]` in grammar.md, as expressions on the text of `_clauses`
    "^": "[¦,] ",
    "$": r"(?:\? )?[¦,] ",
    "~": "(?:[^¦? ]+ ){0,4}?",
    "@": "(?:[^¦? ]+ ){0,12}?",
    "&": "(?:[^¦?, ][^ ]* )*",
    "?": r"\? ",
    "¦": "[¦,] ",
}
_WITHOUT_BLANKS = {
    "^": "[¦,] ",
    "$": r" (?:\? )?[¦,]",
    "~": "[^¦? ]{0,12}?",
    "@": "(?: ?,? ?[^¦?, ]){0,24}?",
    "&": "(?: ?,? ?[^¦?, ])*",
    "?": r" \?",
    "¦": " [¦,]",
}
_REST_OF_WORD = {True: "[^ ]{0,12}", False: "[^¦? ]{0,4}?"}
_AFTER_WORD = " (?:, )?"  # many languages put a comma before "that": it may stand between any two words
_GROUPS: Final = frozenset("([")
_CLOSING: Final = frozenset("|)]")


class Clauses:
    """The clauses of a message, which remember what they were found to contain."""

    def __init__(self, clauses: str) -> None:
        self.clauses = clauses
        self._contains: dict[frozenset[str], bool] = {}

    @cached_property
    def keys(self) -> frozenset[str]:
        """Return the beginnings of its words, a blank behind each word: up to `KEY_CHARS` characters."""
        return frozenset(word[:length] for word in self.words for length in range(1, KEY_CHARS + 1))

    @cached_property
    def words(self) -> frozenset[str]:
        """Return its words, a blank behind each."""
        return frozenset(f"{word} " for word in self.clauses.split(" "))

    def contains(self, need: frozenset[str]) -> bool:
        """Return whether a text has one of the strings of a need."""
        known = self._contains.get(need)
        if known is None:
            words, parts = _split_need(need)
            known = not words.isdisjoint(self.words) or any(part in self.clauses for part in parts)
            self._contains[need] = known
        return known


@cache
def _split_need(need: frozenset[str]) -> tuple[frozenset[str], tuple[str, ...]]:
    """Return the whole words of a need, a blank behind each, and its other strings."""
    words = frozenset(word[1:] for word in need if re.fullmatch(r" [^ ]+ ", word))
    return words, tuple(word for word in need if word[1:] not in words or word[:1] != " ")


def ends_of(text: str) -> str:
    """Return a message, or the beginning and the end of a long one, a line each."""
    return text if len(text) <= HEAD_CHARS + TAIL_CHARS else f"{text[:HEAD_CHARS]}\n{text[-TAIL_CHARS:]}"


def read_clauses(text: str) -> Clauses:
    """Return the clauses of the part of a message that is read."""
    return Clauses(_clauses(ends_of(text)))


def _clauses(text: str) -> str:
    """Return the words of a message, one blank after each, with `,` and `¦` where a clause ends."""
    lines = mask_quotes(UNSEEN.sub("", text.translate(_CURLY))).replace("\n", " ¦ ")
    return " ¦ " + " ".join(_tokens(_fold_text(lines))) + " ¦ "


def _tokens(text: str) -> Iterator[str]:
    for word in _WORDS.findall(text):
        if word[0].isalnum() or word[0] in MASK + "_":
            yield word
        elif word in _QUESTION_MARKS:
            yield "?"
            yield "¦"
        else:
            yield "," if word == "," else "¦"


def _fold_text(text: str) -> str:
    """Return the text in lower case without accents on letters that have a form without; kana keep their marks."""
    lowered = normalize("NFKC", text).casefold().translate(_CURLY)
    if lowered.isascii():
        return lowered
    return normalize("NFC", _ACCENTS.sub("", normalize("NFD", lowered))).translate(_SIMPLIFIED)


class _Words(str):
    """Words as a row has them, `|` between choices: a piece that becomes an expression only when one is compiled."""

    __slots__ = ()


class _Pattern(NamedTuple):
    """A phrase or a part of one: the pieces of its expression, and what a text that matches it must contain."""

    pieces: tuple[str, ...]
    needs: tuple[frozenset[str], ...] = ()
    """Of each of these sets at least one string occurs in every match, with a blank before it (and after a whole
    word)."""


class _Phrase:
    """A phrase, compiled only for a text that contains what it needs: most never are."""

    def __init__(self, pattern: _Pattern, *, spaced: bool) -> None:
        self._pieces, self.needs = pattern
        self._spaced = spaced

    @cached_property
    def regex(self) -> re.Pattern[str]:
        pieces = [self._choices(piece) if isinstance(piece, _Words) else piece for piece in self._pieces]
        return re.compile(("(?<= )" if self._spaced else "") + "".join(pieces))

    def _choices(self, words: _Words) -> str:
        """Return the expression of words: with `*` every word that begins so."""
        blank = _AFTER_WORD if self._spaced else ""
        choices = [
            "".join([word + blank for word in choice.split()]) for choice in words.translate(_ESCAPED).split("|")
        ]
        return "|".join(choices).replace("*", _REST_OF_WORD[self._spaced])

    def occurs(self, text: Clauses) -> bool:
        for need in self.needs:  # a loop, faster than all(): most phrases have one need, and most texts lack it
            if not text.contains(need):
                return False
        return self.regex.search(text.clauses) is not None


class _Phrases:
    """The phrases of an intent in their order, found by how a word begins that each needs: most texts have none."""

    def __init__(self, phrases: Sequence[_Phrase]) -> None:
        self._phrases = phrases
        self._always: list[int] = []
        self._by_key: dict[str, list[int]] = {}
        for number, phrase in enumerate(phrases):
            begun = [need for need in phrase.needs if all(word.startswith(" ") for word in need)]
            if not begun:
                self._always.append(number)
                continue
            for key in {word[1 : 1 + KEY_CHARS] for word in max(begun, key=_strength)}:
                self._by_key.setdefault(key, []).append(number)
        self._keys = frozenset(self._by_key)
        self._usual = [phrases[number] for number in self._always]

    def near(self, text: Clauses) -> Sequence[_Phrase]:
        """Return the phrases that may occur in a text, in their order."""
        met = self._keys & text.keys
        if not met:
            return self._usual
        found = {number for key in met for number in self._by_key[key]}
        return [self._phrases[number] for number in sorted(found.union(self._always))]


class _Reader:
    """Reads the rows of a language; what many rows name is read once."""

    def __init__(self, words: dict[str, str], *, spaced: bool) -> None:
        self._sources = words
        self._spaced = spaced
        self._marks = _WITH_BLANKS if spaced else _WITHOUT_BLANKS
        self._known: dict[str, _Pattern] = {}

    def phrase(self, source: str) -> "_Phrase":
        return _Phrase(self._sequence(deque(_SYNTAX.findall(_fold_text(source)))), spaced=self._spaced)

    def _sequence(self, parts: deque[str]) -> _Pattern:
        """Return the pattern up to the end of the group or of its alternative."""
        pieces: list[str] = []
        needs: list[frozenset[str]] = []
        while parts and parts[0] not in _CLOSING:
            part = parts.popleft()
            read = self._group(part, parts) if part in _GROUPS else self._known.get(part) or self._simple(part)
            pieces += read.pieces
            needs += read.needs
        return _Pattern(tuple(pieces), tuple(needs))

    def _simple(self, part: str) -> _Pattern:
        """Return the pattern of a mark, of a list by its name, of words, or of a group that has but words."""
        if part in self._marks:
            read = _Pattern((self._marks[part],))
        elif part[0] == "<":
            read = self._group("(", deque([*_SYNTAX.findall(_fold_text(self._sources[part[1:-1]])), ")"]))
        elif part[0] == "(":
            words = part[1:-1]
            longest = [max(choice.split(), key=len) for choice in words.split("|")]
            read = _Pattern(("(?:", _Words(words), ")"), (frozenset(map(self._need, longest)),))
        else:
            read = _Pattern((_Words(part),), tuple(frozenset((self._need(word),)) for word in part.split()))
        self._known[part] = read
        return read

    def _need(self, word: str) -> str:
        """Return the word with the blanks around it, so that it is not sought within others.

        A stem or an ending keeps its other side.
        """
        return f" {word} ".replace("* ", "").replace(" *", "") if self._spaced else word.rstrip("*")

    def _group(self, opening: str, parts: deque[str]) -> _Pattern:
        choices = [self._sequence(parts)]
        while parts.popleft() == "|":
            choices.append(self._sequence(parts))
        pieces = [piece for choice in choices for piece in ("|", *choice.pieces)][1:]
        if opening == "[":
            return _Pattern(("(?:", *pieces, ")?"))
        return _Pattern(("(?:", *pieces, ")"), _needs_of_any(choices))


def _needs_of_any(choices: list[_Pattern]) -> tuple[frozenset[str], ...]:
    """Return the needs of every match of one of some patterns.

    That is all that a single one needs; of several, for each the need that is rarest.
    """
    if len(choices) == 1:
        return choices[0].needs
    if not all(choice.needs for choice in choices):
        return ()
    rarest = [max(choice.needs, key=_strength) for choice in choices]
    return (rarest[0].union(*rarest[1:]),)


def _strength(need: frozenset[str]) -> int:
    """Return the length of the shortest of its strings: the longer it is, the fewer texts contain one."""
    return min(map(len, need))


class LanguagePhrases:
    """A language's phrases by intent, and those that only look like it (`not_…`), each list read at its first use."""

    def __init__(self, language: Language, table: Mapping[str, Any]) -> None:
        self.name = language.code
        self._table = table
        self._reader = _Reader(table.get("words", {}), spaced=language.spaced)
        self._letters = re.compile(f"[{language.letters}]")
        self._foreign = re.compile(f"[{language.foreign}]") if language.foreign else None
        self._read: dict[str, _Phrases] = {}

    @property
    def names_everything(self) -> bool:
        """Return whether the language has words for all that is said (`of_everything`)."""
        return "of_everything" in self._table

    def may_be(self, text: Clauses) -> bool:
        """Return whether a text may be of this language, by its letters.

        It has a letter without which nothing is said in the language, and none that the language never writes.
        """
        if self._foreign is not None and self._foreign.search(text.clauses):
            return False
        return self._letters.search(text.clauses) is not None

    def phrases(self, intent: str) -> _Phrases:
        """Return the phrases of one list of the language, in their order."""
        read = self._read.get(intent)
        if read is None:
            read = self._read[intent] = _Phrases([self._reader.phrase(row) for row in self._table.get(intent, [])])
        return read


@cache
def list_language_phrases() -> tuple[LanguagePhrases, ...]:
    """Return the languages that have phrases, in the order of their files."""
    return tuple(LanguagePhrases(languages()[code], table) for code, table in tables("intents").items())


def occurs(language: LanguagePhrases, intent: str, text: Clauses, *others: str) -> bool:
    """Return whether the intent is said outside its look-alikes and outside the phrases of the others."""
    phrases = language.phrases(intent)
    if not any(phrase.occurs(text) for phrase in phrases.near(text)):
        return False
    cleared = text
    for phrase in chain.from_iterable(language.phrases(one).near(text) for one in (*others, f"not_{intent}")):
        if phrase.occurs(cleared):
            cleared = Clauses(phrase.regex.sub(f"{MASK} ", cleared.clauses))
    return cleared is text or any(phrase.occurs(cleared) for phrase in phrases.near(cleared))
