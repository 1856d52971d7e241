"""Finds what a message asks of memory, by the phrases of its language.

Rule 1: the phrases are data (`[intents]` of the languages); this module only knows how to read them.
Rule 2: only the user's own words speak for the user; a wish that nothing be kept counts at the edges of any message,
too, whose words these may be.
Rule 3: pure, and bounded: only the beginning and the end of a long message are read, for that is where people steer.
"""
# ruff: noqa: RUF001  # signs of many languages are the subject here

import re
import threading
from collections import Counter, deque
from collections.abc import Iterator, Mapping, Sequence
from functools import cache, cached_property, lru_cache
from itertools import chain
from typing import Any, Final, Literal, NamedTuple

from promt.handing_over import BEGINS_QUESTION, COLON, KEEPS
from promt.language.reader import Language, languages, tables, words_of_grammar
from promt.layout import MASK, Span, mask_quotes, sentences
from promt.lookalikes import read_alike
from promt.own_words import edges, only_own, own_stretches, own_words
from promt.patterns import compile_late
from promt.render import UNSEEN
from promt.speaker import is_about_user
from protocol.unicode_forms import normalize

HEAD_CHARS: Final = 4000
TAIL_CHARS: Final = 2000
"""People steer and ask at the beginning and at the end of what they write; what they paste stands between."""
TELLING_CHARS: Final = 600
TELLING_SENTENCES: Final = 8
"""A message that tells so much may ask that one thing be not kept; in a shorter one the wish is for all of it."""
POINTING_CHARS: Final = 40  # a longer message says more than "Forget that."
SAID_AGAIN: Final = 2
"""A sentence elsewhere that shares so many words of its subject with what is not to be kept says it again."""
STEM_CHARS: Final = 6
"""The first letters by which words are compared, whatever their endings."""
SAID_WORDS: Final = 3
"""A last sentence that is shorter says good-bye."""
ASKED_AGAIN: Final = 16  # messages whose intents are cached: a turn asks for its own several times
_READING = threading.Lock()
"""Held while a message is read: of turns that come at once, one reads and compiles the phrases of a language."""
_YIELDS_TO: Final[dict[str, tuple[str, ...]]] = {
    "no_save": (),
    "forget": ("no_save",),
    "no_recall": ("no_save", "forget"),
    "remember": ("no_save", "forget"),
    "history": (),
    "asks": (),
}
"""The intents in the order they are sought, each with those it yields to: "keep it out of your memory" states one."""
KEY_CHARS: Final = 5  # the first letters of a word, by which phrases are looked up
_NOT_STEERING: Final = "not_steering"
"""The list of talk that steers nothing though it has the words: other people's sayings, texts to write, programs,
machines."""
_STEERING: Final = frozenset(("no_save", "no_recall", "remember", "forget"))

_TELLING = compile_late(r"[^\W\d_\u3040-\u9fff]{3,}|[\u30a0-\u30ff]{2,}|[\u4e00-\u9fff]{2,}")
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


class Intents(NamedTuple):
    """The intents about memory that a message states in its own words, and its language."""

    no_save: bool = False
    no_recall: bool = False
    remember: bool = False
    forget: bool = False
    refers_to_history: bool = False
    asks_memory: bool = False
    language: str | None = None
    unsaved: tuple[Span, ...] = ()
    """Ranges of a long message that alone are not to be kept."""
    points_back: bool = False
    """A short message says by a phrase of forgetting what else means "never mind": it is for what was just shown."""


class _Words(str):
    """Words as a row has them, `|` between choices: a piece that becomes an expression only when one is compiled."""

    __slots__ = ()


class _Pattern(NamedTuple):
    """A phrase or a part of one: the pieces of its expression, and what a text that matches it must contain."""

    pieces: tuple[str, ...]
    needs: tuple[frozenset[str], ...] = ()
    """Of each of these sets at least one string occurs in every match, with a blank before it (and after a whole
    word)."""


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


@cache
def _split_need(need: frozenset[str]) -> tuple[frozenset[str], tuple[str, ...]]:
    """Return the whole words of a need, a blank behind each, and its other strings."""
    words = frozenset(word[1:] for word in need if re.fullmatch(r" [^ ]+ ", word))
    return words, tuple(word for word in need if word[1:] not in words or word[:1] != " ")


class _Text:
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
        known = self._contains.get(need)
        if known is None:
            words, parts = _split_need(need)
            known = not words.isdisjoint(self.words) or any(part in self.clauses for part in parts)
            self._contains[need] = known
        return known


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

    def occurs(self, text: _Text) -> bool:
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

    def near(self, text: _Text) -> Sequence[_Phrase]:
        """Return the phrases that may occur in a text, in their order."""
        met = self._keys & text.keys
        if not met:
            return self._usual
        found = {number for key in met for number in self._by_key[key]}
        return [self._phrases[number] for number in sorted(found.union(self._always))]


def _fold_text(text: str) -> str:
    """Return the text in lower case without accents on letters that have a form without; kana keep their marks."""
    lowered = normalize("NFKC", text).casefold().translate(_CURLY)
    if lowered.isascii():
        return lowered
    return normalize("NFC", _ACCENTS.sub("", normalize("NFD", lowered))).translate(_SIMPLIFIED)


def _tokens(text: str) -> Iterator[str]:
    for word in _WORDS.findall(text):
        if word[0].isalnum() or word[0] in MASK + "_":
            yield word
        elif word in _QUESTION_MARKS:
            yield "?"
            yield "¦"
        else:
            yield "," if word == "," else "¦"


def _clauses(text: str) -> str:
    """Return the words of a message, one blank after each, with `,` and `¦` where a clause ends."""
    lines = mask_quotes(UNSEEN.sub("", text.translate(_CURLY))).replace("\n", " ¦ ")
    return " ¦ " + " ".join(_tokens(_fold_text(lines))) + " ¦ "


class _Language:
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

    def may_be(self, text: "_Text") -> bool:
        """Return whether a text may be of this language, by its letters.

        It has a letter without which nothing is said in the language, and none that the language never writes.
        """
        if self._foreign is not None and self._foreign.search(text.clauses):
            return False
        return self._letters.search(text.clauses) is not None

    def phrases(self, intent: str) -> _Phrases:
        read = self._read.get(intent)
        if read is None:
            read = self._read[intent] = _Phrases([self._reader.phrase(row) for row in self._table.get(intent, [])])
        return read


@cache
def _languages() -> tuple[_Language, ...]:
    return tuple(_Language(languages()[code], table) for code, table in tables("intents").items())


def _occurs(language: _Language, intent: str, text: _Text, *others: str) -> bool:
    """Return whether the intent is said outside its look-alikes and outside the phrases of the others."""
    phrases = language.phrases(intent)
    if not any(phrase.occurs(text) for phrase in phrases.near(text)):
        return False
    cleared = text
    for phrase in chain.from_iterable(language.phrases(one).near(text) for one in (*others, f"not_{intent}")):
        if phrase.occurs(cleared):
            cleared = _Text(phrase.regex.sub(f"{MASK} ", cleared.clauses))
    return cleared is text or any(phrase.occurs(cleared) for phrase in phrases.near(cleared))


def _find_intents(language: _Language, text: _Text) -> list[str]:
    """Return the intents that a text states in a language, those left out that yield to another one of it."""
    heard: list[str] = []
    for intent, stronger in _YIELDS_TO.items():
        others = [other for other in stronger if other in heard]
        if _occurs(language, intent, text, *others, *([_NOT_STEERING] if intent in _STEERING else [])):
            heard.append(intent)
    return heard


def ends_of(text: str) -> str:
    """Return a message, or the beginning and the end of a long one, a line each."""
    return text if len(text) <= HEAD_CHARS + TAIL_CHARS else f"{text[:HEAD_CHARS]}\n{text[-TAIL_CHARS:]}"


def _read(text: str) -> _Text:
    """Return the clauses of the part of a message that is read."""
    return _Text(_clauses(ends_of(text)))


def says(text: str, subject: Literal["artifact", "files", "hints"]) -> bool:
    """Return whether the message speaks of a subject.

    `artifact`: it names a file of the conversation. `files`: it asks for the user's notes, documents or code. `hints`:
    it hints at the past without saying what of it.
    """
    with _READING:
        return _is_said(subject, _read(text))


def _is_said(intent: str, text: _Text, *others: str) -> bool:
    """Return whether the intent is said in any language, outside of the phrases of the others."""
    return any(_occurs(language, intent, text, *others) for language in _languages() if language.may_be(text))


def detect(text: str) -> Intents:
    """Return the wishes of a message for memory; all false for a message that asks nothing."""
    with _READING:
        return _detect(text)


def _denies_keeping(text: str) -> bool:
    """Return whether words that may be the user's own ask to keep nothing, which only takes away."""
    return _is_said("no_save", _read(text), _NOT_STEERING)


@lru_cache(maxsize=ASKED_AGAIN)
def _detect(text: str) -> Intents:
    text = read_alike(text)
    own = only_own(text)
    folded = _read(own)
    said, found = Counter[str](), set[str]()
    for language in _languages():
        if language.may_be(folded):
            intents = _find_intents(language, folded)
            found.update(intents)
            said[language.name] += len(intents)
    apart = _find_unsaved(text) if "no_save" in found else ()
    if apart:
        found.remove("no_save")
    elif "no_save" not in found and own != text and not is_about_user(own) and _denies_keeping(edges(text)):
        found.add("no_save")
    return Intents(
        no_save="no_save" in found,
        no_recall="no_recall" in found,
        remember="remember" in found and not found & {"no_save", "no_recall"},
        forget="forget" in found,
        refers_to_history="history" in found and "no_recall" not in found,
        asks_memory="asks" in found,
        language=next((name for name, count in said.most_common(1) if count), None),
        unsaved=apart,
        points_back=not found and len(own.strip()) <= POINTING_CHARS and _is_said("forget", folded),
    )


def keep_savable(text: str, material: Sequence[Span] = ()) -> list[str]:
    """Return the user's own words that may be kept, stretch by stretch."""
    return own_stretches(text, [*material, *find_unsavable(text)])


def find_unsavable(text: str) -> list[Span]:
    """Return the ranges of the user's own words that nothing is kept of, often none.

    They are what their user asks not to keep, and what a question after the past repeats behind a colon.
    """
    return [*find_unsaved(text), *_find_repeated(text)]


def _find_repeated(text: str) -> Iterator[Span]:
    """Yield what a question after the past repeats behind its colon."""
    for start, end in own_words(text) if COLON.search(text) else ():
        for first, until in sentences(text, start, end):
            colon = COLON.search(text, first, until)
            if colon is not None and BEGINS_QUESTION.match(text, first, colon.start()) is not None:
                asked = detect(text[first : colon.start()])
                if (asked.refers_to_history or asked.asks_memory) and not asked.remember:
                    yield colon.end(), end
                    break


def find_unsaved(text: str) -> tuple[Span, ...]:
    """Return the ranges of a long message that alone its user asks not to keep, in order; often none."""
    return detect(text).unsaved if len(text) >= TELLING_CHARS else ()


def _find_unsaved(text: str) -> tuple[Span, ...]:
    """Return the ranges of a long message that alone are not to be kept: sentences that say so, with both neighbours.

    There is none where no sentence says so, and where the wish is for all of the message: at its beginning or its end,
    or of everything.
    """
    if len(text) < TELLING_CHARS:
        return ()
    said = [span for start, end in own_words(text) for span in sentences(text, start, end)]
    while said and len(text[slice(*said[-1])].split()) < SAID_WORDS and text[slice(*said[-1])].isascii():
        said.pop()
    if len(said) < TELLING_SENTENCES:
        return ()
    denied = [at for at, (start, end) in enumerate(said) if _denies_keeping(text[start:end])]
    if any(at in {0, 1, len(said) - 1} or _is_of_everything(text[slice(*said[at])]) for at in denied):
        return ()
    apart = {near for at in denied for near in (at - 1, at, at + 1)}
    matter = set[str]().union(*(_telling_words(text[slice(*said[at])]) for at in apart))
    apart |= {at for at, span in enumerate(said) if len(matter & _telling_words(text[slice(*span)])) >= SAID_AGAIN}
    return tuple(said[at] for at in sorted(apart))


def _telling_words(sentence: str) -> set[str]:
    """Return the first `STEM_CHARS` letters of the words that say what a sentence is about."""
    known = words_of_grammar()
    words = (word.casefold() for word in _TELLING.findall(sentence) if not KEEPS.fullmatch(word))
    return {word[:STEM_CHARS] for word in words if word not in known}


def _is_of_everything(said: str) -> bool:
    """Return whether a sentence speaks of all that is said; in a language that has no words for that it always may."""
    folded = _read(said)
    heard = [language for language in _languages() if language.may_be(folded) and _occurs(language, "no_save", folded)]
    return any(not language.names_everything or _occurs(language, "of_everything", folded) for language in heard)
