"""Finds where a message hands something over: a request for work on a text, a question about it, words that point.

Rule 1: pure; the words are those of the languages, and no grammar is built of them.
"""
# ruff: noqa: RUF001  # marks of many languages are the subject here

import re
from collections.abc import Mapping
from functools import cache
from typing import Any, Final, NamedTuple

from promt.language.reader import either, languages, tables, whole
from promt.layout import MASK, QUOTED, TextBlock, sentences
from promt.patterns import compile_late
from promt.speaker import speaks_to_reader

HANDING_CHARS: Final = 200
"""The longest paragraph that hands a text over by pointing at it, with words that no table knows."""

POINTS = compile_late(
    lambda: (
        rf"\b(?:{either('own_words', 'points', spaced=True)})|↑|↓"
        rf"|{either('own_words', 'points', spaced=False)}"
    ),
    re.IGNORECASE,
)
"""Points at a text that stands near."""
POINTS_AHEAD = compile_late(lambda: whole("own_words", "points_ahead"), re.IGNORECASE)
"""Says that a text follows, or stood before."""


def _polite() -> str:
    """Return the pattern of where a request may begin in a language with blanks."""
    said = either("own_words", "polite", spaced=True)
    return rf"(?:^|[,;:：，。.!?¿¡—–-]\s*|\b(?:{said})\s+,?\s*)"


_JOINS = compile_late(lambda: whole("extraction", "and"), re.IGNORECASE)
QUESTION = compile_late(r"[?？]")
"""A question mark anywhere in a stretch makes it a question."""
KEEPS = compile_late(lambda: rf"(?:{either('own_words', 'keeps')})", re.IGNORECASE)
"""Asks for what follows to be kept: that is the user's own."""
ASKS_TO_KEEP = compile_late(
    lambda: rf"{_polite()}(?:{KEEPS.pattern})(?!\w)|{either('own_words', 'kept_anywhere')}", re.IGNORECASE
)
INTRODUCES = compile_late(lambda: whole("own_words", "introduces"), re.IGNORECASE)
"""Says that its speaker will tell about themselves."""
BEGINS_QUESTION = compile_late(
    lambda: rf"\W*(?:(?:{either('quotes', 'asks', spaced=True)})\b|{either('quotes', 'asks', spaced=False)})",
    re.IGNORECASE,
)
"""Begins with a word that asks."""
COLON = compile_late(r"[:：](?=\s|$|[\u3040-\u9fff\"'“„«「])|\s(?:[-=]>|→)(?=\s)")
"""A colon, or an arrow, behind which something may follow."""
_LINE_END = compile_late(r"[ \t]*\n")
_DASH = compile_late(r"\s[–—-](?=\s)")
"""Stands for a colon behind a request for work on a text."""
ALWAYS = compile_late(lambda: whole("own_words", "always"), re.IGNORECASE)
"""Says that something holds for good: it makes a sentence an order."""
HEADS_ORDER = compile_late(lambda: whole("own_words", "heads_order"), re.IGNORECASE)
"""Heads an order of one's own, as a name heads what somebody said: "Important: always ..."."""
_WHENEVER = compile_late(
    lambda: (
        rf"\b(?:{either('own_words', 'whenever', spaced=True)}) (?:{either('own_words', 'whenever_who')})\b"
        rf"|{either('own_words', 'whenever', spaced=False)}"
    ),
    re.IGNORECASE,
)
"""Words of an order for good: it holds whenever something happens, and hands nothing over."""
THAT = compile_late(r"\b(?:that|it|them)\b(?=\s*(?:[.,!?;:]|to\b|into\b|as\b|$))", re.IGNORECASE)
"""The object of a request to work on something that stands before it."""
_TEXTS = compile_late(lambda: whole("own_words", "texts"), re.IGNORECASE)
"""Names a kind of text."""
COMING = compile_late(lambda: whole("own_words", "coming"), re.IGNORECASE)
"""Speaks of a text that is still to come."""
SAYS = compile_late(lambda: whole("own_words", "says"), re.IGNORECASE)
"""Asks how something is said in other words or in another language."""
SUBJECT = compile_late(lambda: whole("own_words", "subject"), re.IGNORECASE)
"""Speaks of the speaker as the one who does or has, not as the one something is done for."""


def statements() -> Mapping[str, Mapping[str, Any]]:
    """Return the wordings of statements by language."""
    return tables("statements")


@cache
def compile_works() -> re.Pattern[str]:
    """Return the pattern of a request to work on something, where a request may begin."""
    spaced: list[str] = []
    unspaced: list[str] = []
    for code, table in statements().items():
        handed = "|".join(table.get("handed", ["(?!)"]))
        if languages()[code].spaced:
            spaced.append(handed)
        else:
            unspaced.append(rf"(?:{tables('own_words').get(code, {}).get('polite', '')})(?:{handed})")
    for code, table in tables("own_words").items():
        if code not in statements() and "reworks" in table:
            (spaced if languages()[code].spaced else unspaced).append(table["reworks"])
    return re.compile("|".join([rf"{_polite()}(?:{'|'.join(spaced)})(?!\w)", *unspaced]), re.IGNORECASE)


REWORKS = compile_late(
    lambda: (
        rf"(?<!\w)(?:{either('own_words', 'reworks', spaced=True)})(?!\w)"
        rf"|{either('own_words', 'reworks', spaced=False)}"
    ),
    re.IGNORECASE,
)
"""Asks for work that needs a text."""


def begins_request(said: str) -> bool:
    """Return whether words begin by asking for work on something."""
    return compile_works().match(said) is not None


def asks_anything(said: str) -> bool:
    """Return whether words hold a question or a request."""
    return QUESTION.search(said) is not None or compile_works().search(said) is not None


def asks_for_rework(said: str) -> bool:
    """Return whether words ask for work that needs a text."""
    return REWORKS.search(said) is not None and compile_works().search(said) is not None


def _is_request(said: str) -> bool:
    """Return whether words ask for work on a text, and do more than point at it."""
    return any(not POINTS.search(one[0]) for one in compile_works().finditer(said))


class Cover(NamedTuple):
    """The end of a request to work on something, how surely a text follows, and the end of the first pointer at one."""

    ends: int
    is_sure: bool
    points: int | None = None
    is_asked: bool = False
    """A request or a question hands over what it points at; words that only point may announce one's own."""
    is_lined: bool = False
    """It asks for work on a text, asks of one that it points at, or points ahead, and that begins on the next line."""


def find_cover(text: str, block: TextBlock) -> Cover | None:
    """Return the place in a paragraph where the user hands something over: a request, a question, words that point.

    Return None where there is none.
    """
    found: Cover | None = None
    masked = QUOTED.sub(lambda quoted: MASK * len(quoted[0]), text[block.start : block.end])
    for first, until in sentences(masked):
        start, end = block.start + first, block.start + until
        bare = masked[first:until].replace("’", "'")
        works = None if _WHENEVER.search(bare) else compile_works().search(bare)
        ahead = POINTS_AHEAD.search(bare)
        points = ahead or POINTS.search(bare)
        asks = QUESTION.search(bare)
        if works and not points and not asks and _JOINS.match(works[0]):
            works = None  # the second half of what a sentence tells: "she paints and reads a lot"
        colon = COLON.search(bare, works.end() if works else 0)
        if works and colon is None and REWORKS.search(bare):
            colon = _DASH.search(bare, works.end())
        may_hand = works or points or asks or colon  # nothing else is kept or handed over
        head = bare[: colon.end()] if colon else bare
        is_kept = may_hand is not None and (ASKS_TO_KEEP.search(head) or INTRODUCES.search(head)) is not None
        is_kept = is_kept and not (works and REWORKS.search(works[0]))  # "translate it, keep the rhythm"
        ends_label = colon is not None and colon.end() == len(bare)
        names = not (works or points) and names_text(bare, block, has_colon=ends_label)
        if works and colon and not is_kept:
            return Cover(start + colon.end(), True, is_asked=True, is_lined=True)
        is_asked_for = points is not None and end == block.end and speaks_to_reader(bare)
        if ends_label and (ahead or asks or is_asked_for) and not is_kept:
            return Cover(end, True, is_asked=bool(asks))
        if (works or asks) and not is_kept and not (works and ALWAYS.search(bare) and not asks):
            known = found.points if found is not None else None
            pointed = known or (end if works and points and MASK not in bare else None)
            is_asked = bool(points and asks) or (pointed is not None and _is_request(bare))
            is_sure = bool(works or points or names) or (found is not None and found.is_sure)
            asks_for_text = bool((points and asks) or (works and REWORKS.search(bare)))
            is_lined = asks_for_text and _LINE_END.match(text, end, block.end) is not None
            found = Cover(end, is_sure, pointed, is_asked, is_lined)
            if is_lined:
                return found
        elif is_kept or (ends_label and not names):
            continue
        elif names or ahead or (points and not SUBJECT.search(bare) and block.end - block.start <= HANDING_CHARS):
            found = Cover(end, True, is_lined=ahead is not None and _LINE_END.match(text, end, block.end) is not None)
    return found


def names_text(bare: str, block: TextBlock, *, has_colon: bool) -> bool:
    """Return whether a short paragraph names a kind of text, and not one that its speaker writes: lyrics, a read."""
    if block.end - block.start > HANDING_CHARS or not (has_colon or SUBJECT.search(bare) is None):
        return False
    return _TEXTS.search(bare) is not None
