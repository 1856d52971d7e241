"""The one place that knows Jinja2: templates, and the filters that show values to a person.

Rule 1: the engine escapes every value; a filter that returns markup escapes the parts of it.
Rule 2: a text keeps its characters; invisible ones are named beside it.
"""

import unicodedata
from collections.abc import Callable, Mapping
from datetime import UTC, date, datetime, timedelta, tzinfo
from functools import cache, partial
from html import escape
from pathlib import Path
from types import MappingProxyType
from typing import Any, LiteralString, cast
from urllib.parse import quote

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from gateway.doors.terminal.screen import size, words

FOLDER = Path(__file__).parent
SHOWN_CHARS = 6000
"""The most characters of a text on a page; a longer one is read part by part."""
_HIDDEN = '<input type="hidden" name="%s" value="%s">'
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_INVISIBLE = frozenset("\u00ad\u061c\u180e\u200b\u200c\u200d\u200e\u200f\u2060\ufeff")
_DIRECTIONS = frozenset("\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")
_NAMED_MARKS = (_INVISIBLE - {"\u200c", "\u200d"}) | _DIRECTIONS
"""Characters that are invisible or turn the direction of others. Joiners are left out, as emoji and many scripts use
them."""


def readable(text: str) -> str:
    """Return a text with U+FFFD for control characters and lone surrogates, which a page cannot hold."""
    if text.isprintable():
        return text
    return "".join(c if c in "\n\t" or unicodedata.category(c) not in {"Cc", "Cs"} else "\ufffd" for c in text)


def marks_in(text: str) -> list[str]:
    """Return the code points of the invisible characters in a text, each once, as `U+202E`."""
    if text.isascii():
        return []
    return [f"U+{ord(mark):04X}" for mark in dict.fromkeys(c for c in text if c in _NAMED_MARKS or c >= "\U000e0000")]


def cut(text: str, most: int) -> str:
    """Return a text of at most `most` characters, with an ellipsis where its end was left out."""
    return text if len(text) <= most else text[: most - 1].rstrip() + "\u2026"


def fill(form: LiteralString, *parts: object) -> Markup:
    """Return the markup `form` with the parts in place of its `%s`; parts that are no markup are escaped.

    It takes a tenth of the time of `Markup.format`, because `Markup()` and `markupsafe.escape` look up a method of each
    part.
    """
    return str.__new__(Markup, form % tuple([one if type(one) is Markup else escape(str(one)) for one in parts]))


def render_text(text: object, most: int = SHOWN_CHARS) -> Markup:
    """Return a stored text as markup: its direction turns nothing around it, and its invisible characters are named."""
    shown = cut(str(text), most)
    markup = fill('<bdi dir="auto">%s</bdi>', readable(shown))
    marks = marks_in(shown)
    if not marks:
        return markup
    return markup + Markup("").join(fill(' <span class="mark">hidden mark %s</span>', mark) for mark in marks[:5])


def percent(part: float) -> int:
    """Return a number from 0 to 1 in whole percent."""
    return round(max(0.0, min(1.0, part)) * 100)


def figure(value: object) -> str:
    """Return a number with at most three decimals; anything else as its text."""
    return f"{value:.3f}".rstrip("0").rstrip(".") if isinstance(value, float) else str(value)


def path_part(name: object) -> str:
    """Return an id percent-encoded as one part of a path."""
    return quote(str(name), safe="")


class PageParts:
    """The parts that a page of one session repeats: forms, links to memories, names of places.

    They are no macros of a template, as those take three times as long.
    """

    def __init__(self, base: str, token: Callable[[str], str], labels: Mapping[str, str]) -> None:
        self._base, self._token, self._labels = base, token, labels

    def hidden(self, action: str, fields: Mapping[str, object]) -> Markup:
        """Return the hidden fields of a form: its action's token, and those of `fields` that are not None."""
        given = {"token": self._token(action), **fields}
        return Markup("").join(fill(_HIDDEN, name, one) for name, one in given.items() if one is not None)

    def act(
        self,
        action: str,
        label: str,
        fields: Mapping[str, object] = MappingProxyType({}),
        look: str = "",
        about: str = "",
    ) -> Markup:
        """Return a form of one button; `about` is for screen readers alone, `look` is the button's class."""
        return fill(
            '<form class="inline" method="post" action="%s%s">%s<button class="%s">%s%s</button></form>',
            self._base,
            action,
            self.hidden(action, fields),
            look,
            label,
            fill('<span class="unseen"> %s</span>', about) if about else "",
        )

    def memory_link(self, memory_id: str, scope: str, label: str, fragment: str = "") -> Markup:
        """Return a link to a memory in a place."""
        place = (self._base, path_part(memory_id), quote(scope), fragment)
        return fill('<a href="%smemories/%s?scope=%s%s">%s</a>', *place, label)

    def place(self, name: str) -> Markup:
        """Return a place by its label, else by its kind and key."""
        if name == "user":
            return Markup("You")
        if name in self._labels:
            return render_text(self._labels[name], 60)
        kind, _, key = name.partition(":")
        return fill("%s <bdi>%s</bdi>", kind, cut(key, 60))


class PageTimes:
    """Times of the home, in Unix milliseconds, in a person's time zone."""

    def __init__(self, zone: tzinfo, now: int) -> None:
        self._zone, self._now = zone, now

    def local(self, at: int) -> datetime | None:
        """Return a time in the person's zone; None for one that no date can express."""
        try:
            return (_EPOCH + timedelta(milliseconds=at)).astimezone(self._zone)
        except (OverflowError, OSError, ValueError):
            return None

    def today(self) -> date:
        """Return the present day."""
        return (self.local(self._now) or _EPOCH).date()

    def bounds(self, day: date) -> tuple[int, int]:
        """Return the first millisecond of a day, and that of the next one."""
        first = datetime(day.year, day.month, day.day, tzinfo=self._zone)
        following = day + timedelta(days=1)
        last = datetime(following.year, following.month, following.day, tzinfo=self._zone)
        return int(first.timestamp() * 1000), int(last.timestamp() * 1000)

    def when(self, at: int | None, form: str = "%-d %b %Y, %H:%M") -> Markup:
        """Return a time as a `time` element, shown in the `strftime` format `form`."""
        found = self.local(at) if at is not None else None
        if found is None:
            return Markup('<span class="quiet">at no known time</span>')
        shown = found.strftime(form.replace("%-d", str(found.day)))
        return fill('<time datetime="%s">%s</time>', found.isoformat(timespec="seconds"), shown)

    def clock(self, at: int) -> Markup:
        """Return a time as an element that shows hour and minute."""
        return self.when(at, "%H:%M")

    def ago(self, at: int) -> str:
        """Return the age of a time in words, in the largest unit that fits."""
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
    cast("dict[str, Callable[..., Any]]", made.filters).update(filters)
    return made


def render(template: str, values: Mapping[str, Any]) -> bytes:
    """Return a template filled with values, in UTF-8."""
    return environment().get_template(template).render(values).encode("utf-8", "replace")
