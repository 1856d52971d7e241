"""Compiles the wordings of statements in each language: the rows of `[statements]` of the languages' files.

Rule 1: it knows wordings, not their meanings; these are the table `MEANING` of `rule_extraction.py`.
Rule 2: a row is a regular expression with named parts in braces; it is matched where a clause begins
(promt/language/grammar.md).
"""
# ruff: noqa: RUF001  # statements of many languages are the subject here

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any, Literal, TypeAlias

from msgspec import Struct

from promt.handing_over import statements
from promt.language.reader import Language, either, languages, list_words, tables
from promt.patterns import compile_late

Kind: TypeAlias = Literal[
    "remember",
    "ours",
    "project",
    "decided",
    "name",
    "nickname",
    "pronouns",
    "age",
    "birthday",
    "mother_tongue",
    "home",
    "job",
    "person",
    "constraint",
    "favourite",
    "preference",
    "style",
    "address",
    "language",
    "instruction",
    "policy",
    "no_longer",
    "no_longer_home",
    "no_longer_job",
]

_ROWS: tuple[Kind, ...] = (
    "remember",
    "name",
    "nickname",
    "pronouns",
    "age",
    "birthday",
    "mother_tongue",
    "no_longer_home",
    "no_longer_job",
    "no_longer",
    "home",
    "job",
    "person",
    "constraint",
    "favourite",
    "address",
    "instruction",
    "preference",
)
"""The kinds that have wordings, in the order in which they are tried. The other kinds are refinements of these."""


@cache
def build_conjunction() -> str:
    """Return the pattern of words that join two clauses."""
    return rf"(?:{either('extraction', 'and')})(?: (?:{either('extraction', 'and_then')}))?"


@cache
def _parts() -> Mapping[str, str]:
    """Return the patterns that replace names in braces, which any language may use."""
    nowhere = rf"(?:{either('extraction', 'nowhere')})\b"  # no place: "I live in fear"
    stop = r",.;:!?，。；！？"
    particles = "".join(list_words("extraction", "ends_place"))
    return {
        "rest": r"(?P<value>.+)",
        "thing": rf"(?P<value>[^{stop}]{{1,80}})",
        "place": (
            rf"(?!{nowhere})(?P<value>[^{stop}{particles}]{{1,60}}?)"
            rf"(?=\s*(?:[{stop}{particles}]|$)|\s+{build_conjunction()}\b)"
        ),
        "name": (
            r"(?P<value>[^\W\d_][^\s,.;:!?()]*(?:[ ][^\s,.;:!?()]+){0,3}?)"
            rf"(?=\s*(?:[^\w\s'’-]|$)|\s+(?:{build_conjunction()}|{either('extraction', 'behind_name')}|—|–)(?!\w))"
        ),
        "language": rf"(?P<language>{'|'.join(_language_names().values())})",
    }


@cache
def _language_names() -> Mapping[str, str]:
    """Return the pattern of a language's names in all languages by its code."""
    named = tables("languages").values()
    return {code: "|".join(table[code] for table in named if code in table) for one in named for code in one}


_AFTER_LEAD = r"(?:\s*[,;!:，、！：；—–-]+\s*|\s+|(?<=[\u3040-\u9fff]))"
_TAG, _ASKS = r"[,，;.—–-]\s*¿?", r"\s*[?？]+\s*$"
_EDGE = r"(?:\b|(?<=[\u3040-\u9fff]))"
"""The end of a word; scripts without blanks end one anywhere."""
_LETTER = compile_late(r"[^\W\d_]")
_WORD = compile_late(r"[^\W\d_]+")


class Tongue(Struct, frozen=True):
    """The wordings of one language; promt/language/grammar.md explains each key of `[statements]`."""

    lead: re.Pattern[str]
    clause: re.Pattern[str]
    tag: re.Pattern[str]
    kept: re.Pattern[str]
    kept_after: re.Pattern[str]
    unreal: re.Pattern[str]
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
    ours: re.Pattern[str]
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
    return compile_late(text, re.IGNORECASE)


def _any(rows: Sequence[str], before: str = "", after: str = "") -> re.Pattern[str]:
    """Return the pattern of any of the rows between two others; without rows one that matches nothing."""
    return _pattern(f"{before}(?:{'|'.join(rows) or '(?!)'}){after}")


@cache
def _compile_tongue(name: str) -> Tongue:
    """Return a language's wordings, compiled when a sentence first needs them: no start pays for those unspoken."""
    return _build_tongue(statements()[name])


@cache
def _hints() -> Mapping[str, frozenset[str]]:
    """Return the codes of the languages that a small word points to, by the word."""
    hints: dict[str, set[str]] = {}
    for name, rows in statements().items():
        for word in rows.get("words", "").split():
            hints.setdefault(word, set()).add(name)
    return {word: frozenset(names) for word, names in hints.items()}


def _guess_by_words(text: str) -> list[str]:
    """Return the languages with more than half as many small words in a text as the one with most."""
    hits = Counter(name for word in _WORD.findall(text.casefold()) for name in _hints().get(word, ()))
    most = max(hits.values(), default=0)
    return [name for name in _list_latin() if 2 * hits[name] > most]


@cache
def _list_latin() -> list[str]:
    """Return the languages in Latin script, which are told from one another by their words."""
    return [name for name in statements() if languages()[name].is_latin]


@cache
def _scripts() -> Sequence[tuple[Language, re.Pattern[str], re.Pattern[str]]]:
    """Return the languages that are known by their letters, each with the patterns of these and of foreign letters."""
    known = [languages()[name] for name in statements() if not languages()[name].is_latin]
    return [
        (one, _pattern(f"[{one.letters}]"), _pattern(f"[{one.foreign}]" if one.foreign else "(?!)")) for one in known
    ]


def find_tongues(sentence: str, within: str = "") -> list[Tongue]:
    """Return the wordings of the languages that a sentence may be in.

    They are found by its script, else by its small words, else by those of the text `within` which it stands; a Latin
    sentence without any may be in every language of that script.
    """
    names = [one.code for one, own, foreign in _scripts() if own.search(sentence) and not foreign.search(sentence)]
    if not names:
        names = (
            _guess_by_words(sentence)
            or _guess_by_words(within)
            or _list_latin() * (_LETTER.search(sentence) is not None)
        )
    return [_compile_tongue(name) for name in names]


def _build_tongue(rows: Mapping[str, Any]) -> Tongue:
    """Return a language's rows compiled; a key that it leaves out matches nothing."""
    parts = {**_parts(), "do": rows.get("do", "(?!)")}
    then = rf"(?:[,;:.，。；—–-]+\s*|\s+(?=(?:{either('extraction', 'begins_next')}) ))"

    def fill(row: str) -> str:
        for name, part in parts.items():
            row = row.replace(f"{{{name}}}", f"(?:{part})" if name == "do" else str(part))
        return row

    return Tongue(
        lead=_any(rows.get("lead", []), after=_AFTER_LEAD),
        clause=_any(rows.get("clause", []), after=_AFTER_LEAD),
        tag=_any([*rows.get("tag", []), *rows.get("assent", [])], before=_TAG, after=_ASKS),
        kept=_any(rows.get("kept", []), after=r"\W*$"),
        kept_after=_any(rows.get("kept", []), before=then, after=r"\W*$"),
        unreal=_any(rows.get("unreal", []), after=_EDGE),
        passing=_any(rows.get("passing", []), before=_EDGE, after=_EDGE),
        hurry=_any(rows.get("hurry", []), before=_EDGE, after=_EDGE),
        done=_any(rows.get("done", []), before=_EDGE, after=_EDGE),
        choice=_any(rows.get("choice", [])),
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
        ours=_any(rows.get("ours", []), before=_EDGE),
        project=_any(rows.get("project", []), before=_EDGE),
        decided=_any(rows.get("decided", [])),
        answers=_any(rows.get("answers", []), before=_EDGE, after=_EDGE),
        own=_any(rows.get("own", [])),
        you=_any(rows.get("you", [])),
        joke=_any(rows.get("joke", [])),
        saying=_any(rows.get("saying", [])),
        answer_in=_any([fill(row) for row in rows.get("answer_in", [])]),
        rows=tuple((kind, _pattern(fill(row))) for kind in _ROWS for row in rows.get(kind, [])),
    )


@cache
def list_no_names() -> frozenset[str]:
    """Return the words of all languages that cannot be part of a name."""
    return frozenset(word for rows in statements().values() for word in rows.get("no_name", []))


def find_code(language: str) -> str | None:
    """Return the code of a language by its name in any of the languages, or None."""
    return next((code for code, name in _language_names().items() if _pattern(name).fullmatch(language)), None)
