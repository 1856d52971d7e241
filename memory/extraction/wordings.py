"""How each language says what is kept: the rows of `promt/statements.toml`, compiled.

Rule 1: it knows wordings, not what they mean; what they mean is decided where statements are found.
Rule 2: a row is a regular expression with named parts in braces; it is matched where a clause begins.
"""
# ruff: noqa: RUF001  # statements of many languages are the subject here

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any, Literal, NamedTuple, TypeAlias

from promt.own_words import statements
from promt.patterns import compile_late

Kind: TypeAlias = Literal[
    "remember", "project", "decided", "name", "nickname", "pronouns", "age", "birthday", "mother_tongue", "home", "job",
    "person", "constraint", "favourite", "preference", "style", "address", "language", "instruction", "policy", "no_longer",
    "no_longer_home", "no_longer_job",
]  # fmt: skip

_ROWS: tuple[Kind, ...] = (
    "remember", "name", "nickname", "pronouns", "age", "birthday", "mother_tongue", "no_longer_home", "no_longer_job", "no_longer",
    "home", "job", "person", "constraint", "favourite", "address", "instruction", "preference",
)  # fmt: skip
"""The kinds that have wordings, in the order in which they are tried; the others are told apart afterwards."""

AND = (
    r"(?:and|but|so|because|since|und|aber|denn|weil|y|pero|porque|et|mais|car|и|а|но|потому что)"
    r"(?: (?:please|bitte|also|therefore))?"
)
_NOWHERE = (
    r"(?:fear|peace|hope|denial|pain|hell|debt|a bubble|the (?:past|moment|future|now)|angst|frieden|sorge|scheidung|trennung|"
    r"miedo|paz|peur|paix|enfer|страхе|надежде|мечтах|долг)\b"
)
"""What one lives in without living there."""
_PARTS = {
    "rest": r"(?P<value>.+)",
    "thing": r"(?P<value>[^,.;:!?，。；！？]{1,80})",
    "place": rf"(?!{_NOWHERE})(?P<value>[^,.;:!?，。；！？了]{{1,60}}?)(?=\s*(?:[,.;:!?，。；！？了]|$)|\s+{AND}\b)",
    "name": (
        r"(?P<value>[^\W\d_][^\s,.;:!?()]*(?:[ ][^\s,.;:!?()]+){0,3}?)"
        rf"(?=\s*(?:[^\w\s'’-]|$)|\s+(?:{AND}|please|bitte|rather|instead|not|from|aus|genannt|nennen|zu|when|for|these|in|at|if|unless|wenn|falls|si|depuis|desde|seit|ab|если|с|—|–)(?!\w))"
    ),
}
_AFTER_LEAD = r"(?:\s*[,;!:，、！：；—–-]+\s*|\s+|(?<=[\u3040-\u9fff]))"
_THEN = r"(?:[,;:.，。；—–-]+\s*|\s+(?=(?:and|so|und|also|y|et|donc|и) ))"
_TAG, _ASKS = r"[,，;.—–-]\s*¿?", r"\s*[?？]+\s*$"
_EDGE = r"(?:\b|(?<=[\u3040-\u9fff]))"
"""Where a word ends; scripts without blanks end one anywhere."""


_LATIN = ("en", "de", "es", "fr")
_LETTER = compile_late(r"[^\W\d_]")
_WORD = compile_late(r"[^\W\d_]+")
_CYRILLIC = compile_late("[Ѐ-ӿ]")
_KANA = compile_late("[\u3040-\u30ff]")
_HAN = compile_late("[\u3040-\u30ff\u3400-\u9fff]")


class Tongue(NamedTuple):
    """The wordings of one language."""

    lead: re.Pattern[str]
    clause: re.Pattern[str]
    tag: re.Pattern[str]
    kept: re.Pattern[str]
    kept_after: re.Pattern[str]
    unreal: re.Pattern[str]
    handed: re.Pattern[str]
    passing: re.Pattern[str]
    hurry: re.Pattern[str]
    done: re.Pattern[str]
    choice: re.Pattern[str]
    particular: re.Pattern[str]
    pick: re.Pattern[str]
    habit: re.Pattern[str]
    work: re.Pattern[str]
    brief: re.Pattern[str]
    pointing: re.Pattern[str]
    made: re.Pattern[str]
    fiction: re.Pattern[str]
    lasting: re.Pattern[str]
    provided: re.Pattern[str]
    assent: re.Pattern[str]
    project: re.Pattern[str]
    decided: re.Pattern[str]
    answers: re.Pattern[str]
    own: re.Pattern[str]
    you: re.Pattern[str]
    joke: re.Pattern[str]
    saying: re.Pattern[str]
    answer_in: re.Pattern[str]
    rows: tuple[tuple[Kind, re.Pattern[str]], ...]


def _pattern(text: str) -> re.Pattern[str]:
    return re.compile(text, re.IGNORECASE)


def _any(rows: Sequence[str], before: str = "", after: str = "") -> re.Pattern[str]:
    return _pattern(f"{before}(?:{'|'.join(rows) or '(?!)'}){after}")


@cache
def _spoken(name: str) -> Tongue:
    """A language, compiled when a sentence needs it: neither a start nor a turn pays for those that nobody speaks."""
    return _tongue(statements()[name])


@cache
def _hints() -> Mapping[str, frozenset[str]]:
    """The languages that a small word points to."""
    hints: dict[str, set[str]] = {}
    for name, rows in statements().items():
        for words in rows.get("words", []):
            for word in str(words).split():
                hints.setdefault(word, set()).add(name)
    return {word: frozenset(names) for word, names in hints.items()}


def _alphabetic(text: str) -> list[str]:
    hits = Counter(name for word in _WORD.findall(text.casefold()) for name in _hints().get(word, ()))
    most = max(hits.values(), default=0)
    return [name for name in _LATIN if 2 * hits[name] > most]


def spoken(sentence: str, within: str = "") -> list[Tongue]:
    """The languages that a sentence may be in, by its script and its small words, or by those of the text around it."""
    names = ["ru"] if _CYRILLIC.search(sentence) else []
    if _HAN.search(sentence):
        names += ["ja"] if _KANA.search(sentence) else ["zh"]
    if not names:
        names = _alphabetic(sentence) or _alphabetic(within) or [*_LATIN] * (_LETTER.search(sentence) is not None)
    return [_spoken(name) for name in names]


def _tongue(rows: Mapping[str, Any]) -> Tongue:
    languages = "|".join(str(names) for names in statements()["languages"].values())
    parts = {**_PARTS, "do": rows["do"], "language": f"(?P<language>{languages})"}

    def filled(row: str) -> str:
        for name, part in parts.items():
            row = row.replace(f"{{{name}}}", f"(?:{part})" if name == "do" else str(part))
        return row

    return Tongue(
        lead=_any(rows["lead"], after=_AFTER_LEAD),
        clause=_any(rows.get("clause", []), after=_AFTER_LEAD),
        tag=_any([*rows["tag"], *rows.get("assent", [])], before=_TAG, after=_ASKS),
        kept=_any(rows["kept"], after=r"\W*$"),
        kept_after=_any(rows["kept"], before=_THEN, after=r"\W*$"),
        unreal=_any(rows["unreal"], after=_EDGE),
        handed=_any(rows["handed"], after=_EDGE),
        passing=_any(rows["passing"], before=_EDGE, after=_EDGE),
        hurry=_any(rows.get("hurry", []), before=_EDGE, after=_EDGE),
        done=_any(rows.get("done", []), before=_EDGE, after=_EDGE),
        choice=_any(rows["choice"]),
        particular=_any(rows.get("particular", [])),
        pick=_any(rows.get("pick", []), before=_EDGE, after=_EDGE),
        habit=_any(rows.get("habit", []), before=_EDGE, after=_EDGE),
        work=_any(rows.get("work", []), before=_EDGE, after=_EDGE),
        brief=_any(rows.get("brief", []), after=_EDGE),
        pointing=_any(rows.get("pointing", []), before=_EDGE, after=_EDGE),
        made=_any(rows.get("made", []), after=_EDGE),
        fiction=_any(rows.get("fiction", []), before=_EDGE, after=_EDGE),
        lasting=_any(rows.get("lasting", []), before=_EDGE, after=_EDGE),
        provided=_any(rows.get("provided", []), before=_EDGE, after=_EDGE),
        assent=_any(rows.get("assent", []), before=_TAG, after=_ASKS),
        project=_any(rows["project"], before=_EDGE),
        decided=_any(rows["decided"]),
        answers=_any(rows["answers"], before=_EDGE, after=_EDGE),
        own=_any(rows["own"]),
        you=_any(rows["you"]),
        joke=_any(rows["joke"]),
        saying=_any(rows.get("saying", [])),
        answer_in=_any([filled(row) for row in rows.get("answer_in", [])]),
        rows=tuple((kind, _pattern(filled(row))) for kind in _ROWS for row in rows.get(kind, [])),
    )


@cache
def no_names() -> frozenset[str]:
    """Words that cannot be part of a name."""
    return frozenset(
        word for name, rows in statements().items() if name != "languages" for word in rows.get("no_name", [])
    )


def code_of(language: str) -> str | None:
    """The code of a language by its name in any of the languages."""
    names: dict[str, str] = statements()["languages"]
    return next((code for code, name in names.items() if _pattern(name).fullmatch(language)), None)
