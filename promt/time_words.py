"""Finds the time that a message names: "yesterday", "in March", "vor zwei Tagen", "3 мая" as a range of milliseconds.

Rule 1: now, the time zone and the reader of dates are arguments. Phrases that count back from today are a table here,
because a library does not know how loosely they are meant; a date of the calendar is found here and read by a library.
Rule 2: only the past is found: what may lie ahead ("on Monday", "in May") means the last one that began.
Rule 3: an unknown phrase is no time; a guess would hide what was said.
"""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import UTC, date, datetime, time, timedelta, tzinfo
from functools import cache
from itertools import islice
from typing import NamedTuple, TypeAlias

from msgspec import Struct, structs

from promt.language.reader import either, tables
from promt.patterns import compile_late
from promt.phrases import HEAD_CHARS, ends_of
from protocol.seams.ports import ReadDate
from protocol.zones import find_zone

Days: TypeAlias = tuple[date, date]
"""From the first day to before the second."""


class TimeRange(Struct, frozen=True, kw_only=True):
    """A range of time in milliseconds, both ends included, and where in the text it is said."""

    from_at: int
    to_at: int
    spans: tuple[tuple[int, int], ...]


def zone_of(name: str) -> tzinfo:
    """Return the time zone of that name; UTC where this machine does not know it."""
    return find_zone(name) or UTC


# -- what phrases mean: from today's date and the phrase to days ---------------------------------------------------

_DAY = timedelta(days=1)


def _month_start(day: date, back: int) -> date:
    months = day.year * 12 + day.month - 1 - back
    return date(months // 12, months % 12 + 1, 1)


def _days_ago(count: int) -> Callable[[date], Days]:
    return lambda today: (today - count * _DAY, today - (count - 1) * _DAY)


def _weeks_ago(count: int) -> Callable[[date], Days]:
    def days(today: date) -> Days:
        monday = today - today.weekday() * _DAY - 7 * count * _DAY
        return monday, monday + 7 * _DAY

    return days


def _months_ago(count: int) -> Callable[[date], Days]:
    return lambda today: (_month_start(today, count), _month_start(today, count - 1))


def _years_ago(count: int) -> Callable[[date], Days]:
    return lambda today: (date(today.year - count, 1, 1), date(today.year - count + 1, 1, 1))


def _around(unit: str, count: int) -> Callable[[date], Days]:
    """Return the days of N units ago, as loosely as people count: a day, half a week around, a month, a year."""
    if unit == "day":
        return _days_ago(count)
    if unit == "week":
        return lambda today: (today - (7 * count + 3) * _DAY, today - (7 * count - 4) * _DAY)
    return _months_ago(count) if unit == "month" else _years_ago(count)


def _weekday(number: int) -> Callable[[date], Days]:
    """Return the last such day before today; 0 is Monday."""
    return lambda today: _days_ago((today.weekday() - number - 1) % 7 + 1)(today)


def _few(unit: str) -> Callable[[date], Days]:
    """Return the days of "a few units ago": from four to two of them."""
    return lambda today: (_around(unit, 4)(today)[0], _around(unit, 2)(today)[1])


# -- words ---------------------------------------------------------------------------------------------------------


class _Words(NamedTuple):
    """A language's words for times: `[time]` of its file. Values are regular expressions on text in lower case."""

    named: Sequence[tuple[str, str, int]]
    """Phrases, and how many days, weeks, months or years ago they mean."""
    ago: str
    few: str
    numbers: Sequence[str]
    units: Mapping[str, str]
    weekdays: Sequence[str]
    on_weekday: str


_SPANS: Mapping[str, Callable[[int], Callable[[date], Days]]] = {
    "day": _days_ago,
    "week": _weeks_ago,
    "month": _months_ago,
    "year": _years_ago,
}
MAX_COUNT = 400  # "500 days ago" is no way to point at a conversation

_YEAR = r"(?:19|20)\d\d"
_DAY_OF_MONTH = r"(?:0?[1-9]|[12]\d|3[01])"


def _dates() -> list[tuple[str, str]]:
    """Return dates of the calendar in any of the languages, and what none of them is without.

    A month's name alone is no time ("may", "mar"), nor is a number.
    """
    months, ending, in_month = (either("time", key) for key in ("month", "day_ending", "in_month"))
    month = f"(?:{months})"
    year = rf"(?:,?(?: (?:{either('time', 'of_year')}))? {_YEAR})?"
    return [
        (rf"{_DAY_OF_MONTH}(?:{ending}|\.)?(?: (?:{either('time', 'of_month')}))? {month}{year}", months),
        (rf"{month} {_DAY_OF_MONTH}(?:{ending})?(?:,? {_YEAR})?", months),
        (rf"(?:{in_month}) (?P<month>{month}{year})", months),
        (rf"{_YEAR}-\d\d-\d\d|\d\d?\.\d\d?\.{_YEAR}|\d\d?/\d\d?/{_YEAR}", r"19\d\d|20\d\d"),
    ]


class _Asked(Struct, frozen=True):
    """A text that names a time, with today's date and the reader of written dates."""

    text: str
    today: date
    read_date: ReadDate


class _Rule(Struct, frozen=True):
    """A way to name a time."""

    pattern: re.Pattern[str]
    anchors: tuple[str, ...]
    """Each match has one of them: a text without is not looked through."""
    days_of: Callable[[re.Match[str], _Asked], Days | None]
    words: re.Pattern[str] | None = None
    """The words that begin with an anchor, where a match has no others."""

    def matches(self, folded: str) -> Iterator[re.Match[str]]:
        return self.pattern.finditer(folded) if any(anchor in folded for anchor in self.anchors) else iter(())


_GROUPS = compile_late(r"\([^()]*\)\??|\[[^\]]*\]")
_LETTERS = compile_late(r"(?:\w(?!\?))+")


def _rule(phrase: str, days_of: Callable[[re.Match[str], _Asked], Days | None], anchored: str | None = None) -> _Rule:
    """Return a rule; `anchored` is the part of its phrase that no match is without, if it is not all of it."""
    spaced = phrase.replace(" ", r"\s+")
    alternatives = _GROUPS.sub("\0", anchored or phrase).split("|")
    anchors = tuple(max(_LETTERS.findall(words), key=len) for words in alternatives)
    words = re.compile(anchored) if anchored is not None else None
    return _Rule(re.compile(rf"(?<![\w-])(?:{spaced})(?![\w-])"), anchors, days_of, words)


def _read_written_date(match: re.Match[str], asked: _Asked) -> Days | None:
    """Return the days of a date: of a month, all of it. None where the library cannot read it."""
    start, end = match.span("month" if "month" in match.re.groupindex else 0)
    found = asked.read_date(asked.text[start:end], asked.today)
    if found is None:
        return None
    day, period = found
    return (_month_start(day, 0), _month_start(day, -1)) if period == "month" else (day, day + _DAY)


def _build_reader(days: Callable[[date], Days]) -> Callable[[re.Match[str], _Asked], Days]:
    return lambda _, asked: days(asked.today)


def _rules_of(words: _Words) -> list[_Rule]:
    numbers = "|".join(f"(?P<n{n}>{word})" for n, word in enumerate(words.numbers, 1))
    number = rf"(?:(?P<few>{words.few})|{numbers}|(?P<digits>\d{{1,3}}))"
    unit = "(?:" + "|".join(f"(?P<{name}>{word})" for name, word in words.units.items()) + ")"
    weekday = "(?:" + "|".join(f"(?P<w{n}>{word})" for n, word in enumerate(words.weekdays)) + ")"

    def ago(match: re.Match[str], asked: _Asked) -> Days:
        name = next(name for name in words.units if match[name])
        count = int(match["digits"] or _pick_number(match, "n", default=1))
        return (_few(name) if match["few"] else _around(name, min(count, MAX_COUNT)))(asked.today)

    def on_weekday(match: re.Match[str], asked: _Asked) -> Days:
        return _weekday(_pick_number(match, "w"))(asked.today)

    return [
        *(_rule(phrase, _build_reader(_SPANS[unit](count))) for phrase, unit, count in words.named),
        _rule(words.ago.format(number=number, unit=unit), ago, "|".join(words.units.values())),
        _rule(words.on_weekday.format(weekday=weekday), on_weekday, "|".join(words.weekdays)),
    ]


def _pick_number(match: re.Match[str], letter: str, default: int = 0) -> int:
    """Return the number in the name of the one group of a kind that matched."""
    names = (name for name, value in match.groupdict().items() if value and re.fullmatch(rf"{letter}\d+", name))
    name = next(names, None)
    return int(name[1:]) if name else default


@cache
def _rules() -> list[_Rule]:
    """Return all rules, made at the first question of time: other processes do not pay for them."""
    return [
        *(_rule(phrase, _read_written_date, anchored) for phrase, anchored in _dates()),
        *(
            rule
            for table in tables("time").values()
            for rule in _rules_of(_Words(*map(table.__getitem__, _Words._fields)))
        ),
    ]


_FOLD = str.maketrans("áéíóúüñäöё", "aeiouunaoе")  # noqa: RUF001
"""One character for one, so that places keep their numbers."""


def fold(text: str) -> str:
    """Return the text in lower case without the accents that people leave out; its length is the same."""
    lowered = text.lower()
    return (lowered if len(lowered) == len(text) else text).translate(_FOLD)


class _Anchors(Struct, frozen=True):
    """A pattern that finds in one pass the words that begin with an anchor, and the rules of each anchor."""

    pattern: re.Pattern[str]
    rules: dict[str, list[_Rule]]

    def near(self, folded: str) -> Iterator[_Rule]:
        """Yield the rules that may match in a text: whose words are there, not only their beginnings."""
        for anchor, word in {match.group(1, 0) for match in self.pattern.finditer(folded)}:
            yield from (rule for rule in self.rules[anchor] if rule.words is None or rule.words.fullmatch(word))


def _any_of(words: Sequence[str]) -> str:
    """Return the pattern of words none of which begins another, as a trie: what begins alike is looked at once."""
    by_letter: dict[str, list[str]] = {}
    for word in words:
        by_letter.setdefault(word[:1], []).append(word[1:])
    if len(by_letter) == 1:
        ((letter, rest),) = by_letter.items()
        return letter + (_any_of(rest) if letter else "")
    return "(?:" + "|".join(letter + _any_of(rest) for letter, rest in by_letter.items()) + ")"


@cache
def _anchors() -> _Anchors:
    """Return the anchors of all rules. Where one begins another, the shorter is found and stands for both."""
    anchors = dict.fromkeys(anchor for rule in _rules() for anchor in rule.anchors)
    shortest = [anchor for anchor in anchors if not any(anchor != one and anchor.startswith(one) for one in anchors)]
    rules = {
        one: [rule for rule in _rules() if any(anchor.startswith(one) for anchor in rule.anchors)] for one in shortest
    }
    return _Anchors(re.compile(rf"(?<!\w)({_any_of(shortest)})\w*"), rules)


MAX_TIMES = 8
"""Times of one rule in a message; more of them were pasted, and count nothing."""


def find_time(text: str, now: int, zone: tzinfo, read_date: ReadDate) -> TimeRange | None:
    """Return the span of the past that a message names, over all time words of its beginning and end; None without any.

    A rule that matches more than `MAX_TIMES` times is left out.
    """
    read = ends_of(text)
    found = _time_of(read, now, zone, read_date)
    if found is None or read is text:
        return found
    moved = len(text) - len(read)  # the part between beginning and end that was not read
    spans = ((at, end) if at <= HEAD_CHARS else (at + moved, end + moved) for at, end in found.spans)
    return structs.replace(found, spans=tuple(spans))


def _time_of(text: str, now: int, zone: tzinfo, read_date: ReadDate) -> TimeRange | None:
    folded = fold(text)
    asked = _Asked(text, datetime.fromtimestamp(now / 1000, zone).date(), read_date)
    spans: list[tuple[int, int]] = []
    found: list[Days] = []
    for rule in _rules():
        matches = list(islice(rule.matches(folded), MAX_TIMES + 1))
        for match in matches if len(matches) <= MAX_TIMES else ():
            if any(match.start() < end and match.end() > start for start, end in spans):
                continue  # "the day before yesterday" is not also "yesterday": longer phrases stand first
            days = rule.days_of(match, asked)
            if days is not None and days[0] <= asked.today:
                spans.append(match.span())
                found.append(days)
    if not found:
        return None
    begin, end = min(days[0] for days in found), max(days[1] for days in found)
    return TimeRange(from_at=_millis(begin, zone), to_at=min(_millis(end, zone) - 1, now), spans=tuple(sorted(spans)))


_ASKS_WHEN = compile_late(lambda: rf"(?<![\w-])(?:{either('time', 'asks_when')})(?![\w-])")


def tells_time(text: str) -> bool:
    """Return whether a text names any time in the past."""
    folded = fold(text)
    return any(rule.pattern.search(folded) is not None for rule in dict.fromkeys(_anchors().near(folded)))


def asks_when(text: str) -> bool:
    """Return whether a question asks for a time."""
    return _ASKS_WHEN.search(fold(text)) is not None


def _millis(day: date, zone: tzinfo) -> int:
    return int(datetime.combine(day, time.min, zone).timestamp() * 1000)
