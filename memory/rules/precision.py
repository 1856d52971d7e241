"""Decides whether new words repeat old words and add a detail: `May 6` and `May 6, 1990`.

Rule 1: pure. The old words stand in the new ones, in their order and unbroken but for one place, where the detail is.
Rule 2: a detail is of a kind in `_DETAILS`. With any other added word it is another fact: two facts that stay apart
cost less than one that was lost.
Rule 3: a statement that denies or generalises is never made more precise: `never on Fridays` says more than `never on
Fridays at 16:00`.
"""
# ruff: noqa: RUF001  # details of many languages are the subject here

import re
from collections.abc import Sequence
from functools import cache
from typing import Any, Final, NamedTuple

from msgspec import Struct

from promt.language.reader import either, list_words
from promt.patterns import compile_late
from protocol.unicode_forms import normalize

_TOKEN: Final = compile_late(
    r"\d+(?:[.,:/-]\d+)*(?:st|nd|rd|th|er|º|ª)?|[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]|[^\W\d_]+(?:['’.][^\W\d_]+)*"
)
_CLOSED_SIGNS: Final = compile_late(lambda: rf"[?？¿]|{either('precision', 'closed_signs')}")
"""Signs of questions, and of languages without blanks those that deny, generalise or set a condition. The words of
other languages that do are `[precision] closed`."""


def _any(key: str) -> str:
    return f"(?:{either('precision', key)})"


_YEAR: Final = r"(?:1[89]|20)\d\d"
_HOUR: Final = r"(?:[01]?\d|2[0-4])"
_NAME: Final = r"[A-ZÀ-ÞА-ЯĄ-Ž][\w'’-]*"


def _clock() -> str:
    return rf"(?:{_HOUR}(?::|h|\.)[0-5]\d|{_HOUR} ?{_any('o_clock')})"


def _address() -> str:
    step = rf"(?:{_NAME}|\d+[\w/-]*|{_any('street')}\b\.?|{_any('within_name')}\b\.?)"
    return rf"{step}(?:[ ,]+{step}){{0,7}}"


class _Place(NamedTuple):
    """The place of a detail: the old words before it and behind it."""

    before: Sequence[str]
    after: Sequence[str]
    is_one_slot: bool
    """The old and the new words are values of one key, which has one value at a time."""


class _Detail(Struct, frozen=True):
    """A kind of detail and its form; `_fits` decides whether one may stand at a place."""

    name: str
    form: re.Pattern[str]


_DETAILS: Final = (
    _Detail(
        "year",
        compile_late(lambda: rf"[,]? ?(?:{_any('of_year')} )?{_YEAR}(?: ?{_any('year')})?", re.IGNORECASE),
    ),
    _Detail(
        "time",
        compile_late(
            lambda: (
                rf"[,]? ?(?:{_any('at')}\.? )?{_clock()}(?: ?[-–] ?{_clock()})?(?: {_any('hours')})?(?: [a-z]{{2,5}})?"
            ),
            re.IGNORECASE,
        ),
    ),
    _Detail(
        "since",
        compile_late(lambda: rf"[,]? {_any('since')} (?:[^\W\d_]+ )?{_YEAR}(?: ?{_any('year')})?", re.IGNORECASE),
    ),
    _Detail("name", compile_late(lambda: rf"[,]? (?i:{_any('called')}) {_NAME}(?: {_NAME}){{0,2}}")),
    _Detail("address", compile_late(lambda: rf"(?: ?, ?{_address()}| ?\({_address()}\))")),
    _Detail("version", compile_late(r" v?\d+(?:\.\d+)*")),
)
_ADDRESS_TELLS: Final = compile_late(lambda: rf"\d|\b{_any('street')}\b", re.IGNORECASE)
_DAY: Final = compile_late(r"(?:0?[1-9]|[12]\d|3[01])(?:st|nd|rd|th|er|º|ª)?")
_MONTH: Final = compile_late(lambda: either("precision", "month"))
_DAY_NEAR = 3
"""The most words from a day to its year, both included: `6 de mayo`."""
_TIMED: Final = compile_late(_clock, re.IGNORECASE)
_PARTIAL: Final = compile_late(r"(?:(\d{4})|-)?-?(?:(\d\d)(?:-(\d\d))?)?")
"""An ISO date, of which the year, or the day, or month and day may be missing."""


@cache
def _words(key: str) -> frozenset[str]:
    return frozenset(list_words("precision", key))


def find_added_detail(old: str, new: str, *, is_one_slot: bool) -> str | None:
    """Return the detail that the new words add to the old ones; None where they add none, or differ otherwise.

    `is_one_slot`: both are values of one key, which has one value at a time.
    """
    if is_one_slot and (date := _fuller_date(old, new)) is not None:
        return date
    old, new = (" ".join(normalize("NFKC", text).split()).rstrip(" .!;。！") for text in (old, new))
    said, tokens = [m[0].casefold() for m in _TOKEN.finditer(old)], list(_TOKEN.finditer(new))
    said_now = [m[0].casefold() for m in tokens]
    if not said or len(said_now) <= len(said) or _is_closed(said, old):
        return None
    first = next((n for n, pair in enumerate(zip(said, said_now, strict=False)) if pair[0] != pair[1]), len(said))
    rest = len(said) - first  # the old words behind the detail
    if rest and said_now[-rest:] != said[first:]:
        return None
    start = tokens[first - 1].end() if first else 0
    end = tokens[len(said_now) - rest].start() if rest else len(new)
    run = new[start:end].rstrip(" ,") if rest else new[start:end]
    place = _Place(said[:first], said[first:], is_one_slot)
    kinds = [kind.name for kind in _DETAILS if kind.form.fullmatch(run)]
    return run.strip(" ,()") if any(_fits(kind, run, place, old) for kind in kinds) else None


def _fits(kind: str, run: str, place: _Place, old: str) -> bool:
    """Return whether a detail of that kind is one at its place."""
    before = place.before
    if kind == "year":
        near = before[-_DAY_NEAR:]
        is_behind_day = any(map(_DAY.fullmatch, near)) and any(map(_MONTH.match, near))
        is_ahead_of_month = run.endswith("年") and place.after[1:2] == ["月"]
        return is_behind_day or is_ahead_of_month
    if kind == "time":
        return bool(before) and _TIMED.search(old) is None
    if kind == "address":
        is_placed = any(word in _words("in") for word in before[-3:-1])
        return place.is_one_slot or (is_placed and _ADDRESS_TELLS.search(run) is not None)
    if kind == "version":
        is_named = bool(before) and not before[-1][0].isdigit() and re.search(rf"{_NAME}$", old) is not None
        return not place.after and is_named and (place.is_one_slot or "." in run)
    return not place.after and bool(before)


def _is_closed(said: Sequence[str], text: str) -> bool:
    """Return whether a text denies, generalises, asks or sets a condition; `said` are its folded words."""
    is_denied = any(word in _words("closed") or word.endswith(("n't", "n’t")) for word in said)
    return is_denied or _CLOSED_SIGNS.search(text) is not None


def _fuller_date(old: str, new: str) -> str | None:
    """Return the new one of two ISO dates, where it has all parts of the old one and more: `--05-06`, `1990-05-06`."""
    known, said = (_PARTIAL.fullmatch(text.strip()) for text in (old, new))
    if known is None or said is None or not any(known.groups()):
        return None
    has_all = all(part in {None, now} for part, now in zip(known.groups(), said.groups(), strict=True))
    return new.strip() if has_all and known.groups() != said.groups() else None


_HAS_DETAIL: Final = compile_late(lambda: rf"\d|(?i:{_any('called')}|\b{_any('street')}\b)")


def may_add_detail(new: str) -> bool:
    """Return whether the words hold anything that could be a detail; a fact that holds none needs no comparison."""
    return _HAS_DETAIL.search(new) is not None


def detail_of(old: str, old_value: Any, content: str, value: Any, *, is_one_slot: bool) -> str | None:
    """Return the detail that a proposal adds to a record; None where it adds none, or differs otherwise.

    It is added to the words of a record without a value or with the same one; else to its value, where that is text.
    `is_one_slot`: both are of one key, which has one value at a time.
    """
    if old_value is None or old_value == value:
        return find_added_detail(old, content, is_one_slot=is_one_slot)
    if is_one_slot and isinstance(old_value, str) and isinstance(value, str):
        return find_added_detail(old_value, value, is_one_slot=True)
    return None
