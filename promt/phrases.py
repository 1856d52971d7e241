"""What a message asks of memory, told by the phrases of its language.

Rule 1: the phrases are data (`phrases.toml`, `policy_phrases.toml`); this module only knows how to read them.
Rule 2: quoted text and code never speak for the user.
Rule 3: pure, and bounded: only the beginning and the end of a long message are read, for that is where people steer.
"""
# ruff: noqa: RUF001  # quotation marks of many languages are the subject here

import re
import tomllib
import unicodedata
from collections import Counter
from collections.abc import Iterator
from functools import cache, cached_property
from importlib.resources import files
from typing import Any, Final, Literal, NamedTuple

from promt.render import UNSEEN

HEAD_CHARS: Final = 4000
TAIL_CHARS: Final = 2000
MASK: Final = "\ufffc"
"""Stands for each character of quoted text, so that places keep their numbers."""

_TABLES: Final = ("policy_phrases.toml", "phrases.toml")
_INTENTS: Final = ("no_save", "no_recall", "remember", "forget", "history", "asks")
_SUBJECTS: Final = ("artifact", "hints")

_QUOTED = re.compile(
    r"(?P<fence>```|~~~).*?(?:(?P=fence)|\Z)"
    r"|`[^`\n]{1,500}`"
    r"|^[ \t]*>[^\n]*$"
    r'|"[^"\n]{1,500}"|“[^”\n]{1,500}”|„[^“”\n]{1,500}[“”]|«[^»\n]{1,500}»|»[^«\n]{1,500}«|‹[^›\n]{1,500}›'
    r"|「[^」\n]{1,500}」|『[^』\n]{1,500}』"
    r"|(?<![\w'])'(?=\S)[^'\n]{1,300}(?:'\w[^'\n]{0,300}){0,8}'(?!\w)|‘[^’\n]{1,300}’(?!\w)",
    re.DOTALL | re.MULTILINE,
)
_ACCENTS = re.compile("[\u0300-\u036f]")
_WORDS = re.compile(rf"[\w{MASK}]+(?:'[\w{MASK}]+)*|[?？¿]|[^\s\w'’\-‐‑*_#]")
_QUESTION_MARKS = frozenset("?？")
_SYNTAX = re.compile(r"[()\[\]|^$~?¦]|[^\s()\[\]|^$~?¦]+")
_SIMPLIFIED = str.maketrans(
    "記憶儲錄別請將麻煩幫這個說話對過無從刪關於數據檔寫進還後們會紀歷問題備長願給許銷號礙須讓試應該聽見戶舊認識參慮",
    "记忆储录别请将麻烦帮这个说话对过无从删关于数据档写进还后们会纪历问题备长愿给许销号碍须让试应该听见户旧认识参虑",
)
"""Traditional characters that steer memory and their simplified forms, on both sides of the comparison."""
_CURLY = str.maketrans({"’": "'", "ʼ": "'", "＇": "'"})

_WITH_BLANKS = {"^": "[¦,] ", "$": r"(?:\? )?[¦,] ", "~": r"(?:[^¦? ]+ ){0,4}?", "?": r"\? ", "¦": "[¦,] "}
_WITHOUT_BLANKS = {"^": "[¦,] ", "$": r" (?:\? )?[¦,]", "~": "[^¦? ]{0,12}?", "?": r" \?", "¦": " [¦,]"}
_REST_OF_WORD = {True: "[^ ]{0,12}", False: "[^¦? ]{0,4}?"}
_WORD_LIST = re.compile(r"<(\w+)>")
_AFTER_WORD = " (?:, )?"  # many languages put a comma before "that": it may stand between any two words
_GROUPING = {"(": "(?:", ")": ")", "[": "(?:", "]": ")?", "|": "|"}


class Intents(NamedTuple):
    """What a message says about memory in its own words, and the language that it said it in."""

    no_save: bool = False
    no_recall: bool = False
    remember: bool = False
    forget: bool = False
    refers_to_history: bool = False
    asks_memory: bool = False
    language: str | None = None


class _Phrase:
    """A phrase, compiled only once one of its words is seen: most never are."""

    def __init__(self, source: str, *, spaced: bool) -> None:
        self._parts: list[str] = _SYNTAX.findall(_folded(source))
        self._spaced = spaced
        self.anchors = _anchors([_bounded(part) for part in self._parts] if spaced else self._parts)

    @cached_property
    def regex(self) -> re.Pattern[str]:
        marks, blank = (_WITH_BLANKS, _AFTER_WORD) if self._spaced else (_WITHOUT_BLANKS, "")
        parts = [
            _GROUPING.get(part) or marks.get(part) or _word(part, spaced=self._spaced) + blank for part in self._parts
        ]
        return re.compile(("(?<= )" if self._spaced else "") + "".join(parts))

    def occurs(self, text: str) -> bool:
        return any(anchor in text for anchor in self.anchors) and self.regex.search(text) is not None


def _word(part: str, *, spaced: bool) -> str:
    """A word, or with `*` every word that begins so."""
    stem = part.rstrip("*")
    return re.escape(stem) + (_REST_OF_WORD[spaced] if stem != part else "")


class _Language(NamedTuple):
    """A language's phrases by intent, and those that only look like it."""

    name: str
    yes: dict[str, list[_Phrase]]
    no: dict[str, list[_Phrase]]


def _bounded(part: str) -> str:
    """A word of a spaced language with the blanks around it, so that it is not sought within others; a stem keeps its end."""
    if part in _WITH_BLANKS or part in "()[]|":
        return part
    return f" {part}" if part.endswith("*") else f" {part} "


def _anchors(parts: list[str]) -> tuple[str, ...]:
    """Words of which every match of the phrase has at least one; the best such set, or the empty word."""
    best: tuple[str, ...] = ("",)
    open_groups: list[str] = []
    choice: list[str] = []
    for part in parts:
        if part in "([|":
            choice = [*choice, ""] if part == "|" and len(open_groups) == 1 else choice
            if part != "|":
                open_groups.append(part)
                choice = [""] if len(open_groups) == 1 else choice
        elif part in ")]":
            open_groups.pop()
            if part == ")" and not open_groups:
                best = max(best, tuple(choice), key=_strength)
        elif part not in _WITH_BLANKS and "[" not in open_groups:
            if not open_groups:
                best = max(best, (part.rstrip("*"),), key=_strength)
            elif len(open_groups) == 1:
                choice[-1] = max(choice[-1], part.rstrip("*"), key=len)
    return best


def _strength(anchors: tuple[str, ...]) -> int:
    return min(map(len, anchors))


def _folded(text: str) -> str:
    """Lower case without accents on letters that have a form without; kana keep their marks."""
    lowered = unicodedata.normalize("NFKC", text).casefold().translate(_CURLY)
    if lowered.isascii():
        return lowered
    return unicodedata.normalize("NFC", _ACCENTS.sub("", unicodedata.normalize("NFD", lowered))).translate(_SIMPLIFIED)


def mask_quotes(text: str) -> str:
    """The text with every character of code and quotations replaced by `MASK`; its length is the same."""
    return _QUOTED.sub(lambda found: MASK * len(found[0]), text)


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
    """The words of a message, one blank after each, with `,` and `¦` where a clause ends."""
    lines = mask_quotes(UNSEEN.sub("", text.translate(_CURLY))).replace("\n", " ¦ ")
    return " ¦ " + " ".join(_tokens(_folded(lines))) + " ¦ "


def _rows(table: str) -> dict[str, dict[str, Any]]:
    return tomllib.loads(files("promt").joinpath(table).read_text(encoding="utf-8"))


def _spelled_out(row: str, words: dict[str, str]) -> str:
    """The row with each `<name>` replaced by its list, which may name others."""
    while _WORD_LIST.search(row):
        row = _WORD_LIST.sub(lambda found: f"({words[found[1]]})", row)
    return row


@cache
def _languages() -> tuple[_Language, ...]:
    tables = [_rows(name) for name in _TABLES]

    def read(name: str, prefix: str, *, spaced: bool) -> dict[str, list[_Phrase]]:
        words: dict[str, str] = tables[0][name].get("words", {})
        return {
            intent: [
                _Phrase(_spelled_out(row, words), spaced=spaced)
                for table in tables
                for row in table[name].get(prefix + intent, [])
            ]
            for intent in (*_INTENTS, *_SUBJECTS)
        }

    return tuple(
        _Language(name, read(name, "", spaced=rows["spaced"]), read(name, "not_", spaced=rows["spaced"]))
        for name, rows in tables[1].items()
    )


def _occurs(language: _Language, intent: str, text: str) -> bool:
    if not any(phrase.occurs(text) for phrase in language.yes[intent]):
        return False
    cleared = text
    for phrase in language.no[intent]:
        if phrase.occurs(cleared):
            cleared = phrase.regex.sub(f"{MASK} ", cleared)
    return cleared is text or any(phrase.occurs(cleared) for phrase in language.yes[intent])


def _read(text: str) -> str:
    """The clauses of the part of a message that is read."""
    return _clauses(text if len(text) <= HEAD_CHARS + TAIL_CHARS else f"{text[:HEAD_CHARS]}\n{text[-TAIL_CHARS:]}")


def says(text: str, subject: Literal["artifact", "hints"]) -> bool:
    """Whether the message names a file of the conversation, or hints at the past without saying what of it."""
    folded = _read(text)
    return any(_occurs(language, subject, folded) for language in _languages())


def detect(text: str) -> Intents:
    """What the message asks of memory; all false for one that asks nothing."""
    folded = _read(text)
    said = Counter[str]()
    found: set[str] = set()
    for language in _languages():
        for intent in _INTENTS:
            if _occurs(language, intent, folded):
                found.add(intent)
                said[language.name] += 1
    return Intents(
        no_save="no_save" in found,
        no_recall="no_recall" in found,
        remember="remember" in found and not found & {"no_save", "no_recall"},
        forget="forget" in found,
        refers_to_history="history" in found and "no_recall" not in found,
        asks_memory="asks" in found,
        language=said.most_common(1)[0][0] if said else None,
    )
