"""The one place that knows Jinja2: templates, and how a value looks to a person.

Rule 1: every value is escaped by the engine; a filter that makes markup makes it of escaped parts.
Rule 2: a text keeps its letters; marks in it that no eye sees are named beside it.
"""

import unicodedata
from collections.abc import Mapping
from datetime import UTC, date, datetime, timedelta, tzinfo
from functools import cache, partial
from pathlib import Path
from typing import Any
from urllib.parse import quote

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from gateway.doors.terminal.screen import size, words

FOLDER = Path(__file__).parent
SHOWN_CHARS = 6000
"""Characters of one text on a page: what is longer is read part by part."""
_BEFORE_TEXT, _AFTER_TEXT = Markup('<bdi dir="auto">'), Markup("</bdi>")
_BEFORE_TIME, _AFTER_ATTRIBUTE, _AFTER_TIME = Markup('<time datetime="'), Markup('">'), Markup("</time>")
"""The parts around escaped text: adding to a `Markup` escapes, in a fifth of the time of `Markup.format`."""
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_UNSEEN = frozenset("\u00ad\u061c\u180e\u200b\u200c\u200d\u200e\u200f\u2060\ufeff")
_TURNING = frozenset("\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")
_NAMED_MARKS = (_UNSEEN - {"\u200c", "\u200d"}) | _TURNING
"""Marks that turn or hide letters. Joiners are left out: emoji and many scripts are written with them."""


def readable(text: str) -> str:
    """Return a text without the control characters that a page cannot hold."""
    if text.isprintable():
        return text
    return "".join(c if c in "\n\t" or unicodedata.category(c) not in {"Cc", "Cs"} else "\ufffd" for c in text)


def marks_in(text: str) -> list[str]:
    """Return the names of the marks in a text that no eye sees, each once."""
    if text.isascii():
        return []
    return [f"U+{ord(mark):04X}" for mark in dict.fromkeys(c for c in text if c in _NAMED_MARKS or c >= "\U000e0000")]


def cut(text: str, most: int) -> str:
    """Return the beginning of a text, with a mark where something was left out."""
    return text if len(text) <= most else text[: most - 1].rstrip() + "\u2026"


def render_text(text: object, most: int = SHOWN_CHARS) -> Markup:
    """Return a stored text as it was said: by itself, so that its direction turns nothing around it."""
    shown = cut(str(text), most)
    marks = marks_in(shown)
    told = Markup("").join(Markup(' <span class="mark">hidden mark {}</span>').format(mark) for mark in marks[:5])
    return _BEFORE_TEXT + readable(shown) + _AFTER_TEXT + told


def percent(part: float) -> int:
    """Return a part of one as whole hundredths."""
    return round(max(0.0, min(1.0, part)) * 100)


def figure(value: object) -> str:
    """Return a number with at most three decimals; anything else as its text."""
    return f"{value:.3f}".rstrip("0").rstrip(".") if isinstance(value, float) else str(value)


def path_part(name: object) -> str:
    """Return an id as a part of a path."""
    return quote(str(name), safe="")


class PageTimes:
    """Times of the home as its person's clock shows them."""

    def __init__(self, zone: tzinfo, now: int) -> None:
        self._zone, self._now = zone, now

    def local(self, at: int) -> datetime | None:
        """Return a time in the person's zone; None for one that no calendar has."""
        try:
            return (_EPOCH + timedelta(milliseconds=at)).astimezone(self._zone)
        except (OverflowError, OSError, ValueError):
            return None

    def today(self) -> date:
        """Return the day that it is."""
        return (self.local(self._now) or _EPOCH).date()

    def bounds(self, day: date) -> tuple[int, int]:
        """Return the first millisecond of a day, and that of the next one."""
        first = datetime(day.year, day.month, day.day, tzinfo=self._zone)
        following = day + timedelta(days=1)
        last = datetime(following.year, following.month, following.day, tzinfo=self._zone)
        return int(first.timestamp() * 1000), int(last.timestamp() * 1000)

    def when(self, at: int | None, form: str = "%-d %b %Y, %H:%M") -> Markup:
        """Return a time as an element that programs can read, too."""
        found = self.local(at) if at is not None else None
        if found is None:
            return Markup('<span class="quiet">at no known time</span>')
        shown = found.strftime(form.replace("%-d", str(found.day)))
        return _BEFORE_TIME + found.isoformat(timespec="seconds") + _AFTER_ATTRIBUTE + shown + _AFTER_TIME

    def clock(self, at: int) -> Markup:
        """Return the time of a day."""
        return self.when(at, "%H:%M")

    def ago(self, at: int) -> str:
        """Return how long ago something was, in the largest unit that fits."""
        seconds = max(0, (self._now - at) // 1000)
        for unit, length in (("day", 86400), ("hour", 3600), ("minute", 60)):
            if seconds >= length:
                count = seconds // length
                return f"{count} {unit}{'' if count == 1 else 's'} ago"
        return "just now"


@cache
def environment() -> Environment:
    """Return the engine with the page's templates and filters."""
    made = Environment(
        loader=FileSystemLoader(FOLDER / "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        auto_reload=False,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    filters: dict[str, Any] = {
        "said": render_text,
        "words": words,
        "size": partial(size, byte="bytes"),
        "percent": percent,
        "figure": figure,
        "part": path_part,
        "cut": cut,
        "readable": readable,
    }
    made.filters.update(filters)
    return made


def render(template: str, values: Mapping[str, Any]) -> bytes:
    """Return a page."""
    return environment().get_template(template).render(values).encode("utf-8", "replace")
