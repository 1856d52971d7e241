"""The figures of a statement that several words tell: numbers, dates, times of the day, and amounts in one unit.

Rule 1: pure; the same amount is one figure however it is told: `two weeks` and `14 days`, `4 pm` and `16:00`.
Rule 2: what may be two amounts is left as it was written: `at four` is neither.
"""

from collections.abc import Iterable, Iterator, Sequence
from decimal import Decimal
from typing import Final, NamedTuple

from memory.likeness_words import Words
from promt.patterns import compile_late

_MONTH: Final = compile_late(r"m\d+")
_DAY: Final = compile_late(r"\d{1,2}\.?")
_YEAR: Final = compile_late(r"[12]\d{3}")
_CLOCK: Final = compile_late(r"(\d{1,2})(?::([0-5]\d))?")
_AMOUNT: Final = compile_late(r"\d{1,9}(?:\.\d{1,6})?")
_NOON: Final = 12
_HOURS: Final = 24
_UNITS: Final = {
    "second-of-time": ("second-of-time", "1"), "minute": ("second-of-time", "60"), "hour": ("second-of-time", "3600"),
    "day": ("second-of-time", "86400"), "week": ("second-of-time", "604800"),
    "milligram": ("gram", "0.001"), "gram": ("gram", "1"), "kilogram": ("gram", "1000"),
    "millimetre": ("metre", "0.001"), "centimetre": ("metre", "0.01"), "metre": ("metre", "1"), "kilometre": ("metre", "1000"),
    "millilitre": ("litre", "0.001"), "litre": ("litre", "1"),
}  # fmt: skip
"""What an amount is told in, and how much that is of the unit it is compared in."""


class Symbol(NamedTuple):
    """A role (`@not`), a concept, a name or a figure, before it is known what governs it."""

    text: str
    kind: str
    stops: bool
    tense: str = ""
    shade: str = ""
    """Which of the words of a light concept it is, where they are not the same."""


def is_unit(concept: str) -> bool:
    """Whether an amount may be told in it."""
    return concept in _UNITS


def composed(found: Sequence[Symbol], table: Words) -> Iterable[Symbol]:
    """The symbols with what several words tell of one number, date, time or amount as one figure."""
    found = list(_numbers(found))
    return _amounts(list(_times(found))) if table.name == "en" else found


def _numbers(found: Sequence[Symbol]) -> Iterator[Symbol]:
    at = 0
    while at < len(found):
        length, figure = _date(found, at) or _sum(found, at) or (1, found[at].text)
        last = found[at + length - 1]
        yield found[at]._replace(text=figure, stops=last.stops)
        at += length


def _times(found: Sequence[Symbol]) -> Iterator[Symbol]:
    """The symbols with the times of the day on a clock of 24 hours."""
    at = 0
    while at < len(found):
        length, figure = _time(found, at)
        if figure is None:
            yield found[at]
        else:
            yield Symbol(figure, "figure", found[at + length - 1].stops)
        at += length


def _time(found: Sequence[Symbol], at: int) -> tuple[int, str | None]:
    text = found[at].text
    clock = _CLOCK.fullmatch(text) if found[at].kind == "figure" else None
    if clock is None:
        return 1, _NAMED.get(text)
    hour, minute = int(clock[1]), clock[2] or "00"
    end = at + 1
    while end < len(found) and found[end].text in {"@loc", "@drop"} and not found[end - 1].stops:
        end += 1
    part = found[end].text if end < len(found) and not found[end - 1].stops else ""
    if part in _PARTS and 1 <= hour <= _NOON:
        hour %= _NOON
        return end + 1 - at, f"t{hour + _NOON if hour >= _PARTS[part] else hour}:{minute}"
    return 1, f"t{hour}:{minute}" if clock[2] and hour < _HOURS else None


_NAMED: Final = {"noon": "t12:00", "midnight": "t0:00"}
_PARTS: Final = {"am": 12, "morning": 12, "pm": 0, "afternoon": 0, "evening": 4, "night": 6}
"""From which hour on each is of the later half of the day."""


def _amounts(found: list[Symbol]) -> list[Symbol]:
    """The symbols with every amount in the unit it is compared in."""
    for at in range(len(found) - 1):
        unit = _UNITS.get(found[at + 1].text)
        if unit and found[at].kind == "figure" and _AMOUNT.fullmatch(found[at].text) and not found[at].stops:
            amount = Decimal(found[at].text) * Decimal(unit[1])
            found[at] = found[at]._replace(text=f"{amount.normalize():f}")
            found[at + 1] = found[at + 1]._replace(text=unit[0])
    return found


def _date(found: Sequence[Symbol], at: int) -> tuple[int, str] | None:
    run = [symbol.text if symbol.kind == "figure" else "" for symbol in found[at : at + 3]]
    run += [""] * (3 - len(run))
    month, day = (run[0], run[1]) if _MONTH.fullmatch(run[0]) else (run[1], run[0])
    if not (_MONTH.fullmatch(month) and _DAY.fullmatch(day)):
        return None
    length, year = (3, run[2]) if _YEAR.fullmatch(run[2]) else (2, "")
    return length, f"{year}-{month}-{day.rstrip('.')}"


def _sum(found: Sequence[Symbol], at: int) -> tuple[int, str] | None:
    if at + 1 >= len(found) or found[at].kind != "figure" or found[at + 1].kind != "figure":
        return None
    tens, ones = found[at].text, found[at + 1].text
    is_sum = len(tens) == 2 and tens.isdecimal() and tens[1] == "0" and tens != "10" and ones.isdecimal()
    if not is_sum or not 0 < int(ones) < (20 if tens in {"60", "80"} else 10):
        return None
    return 2, str(int(tens) + int(ones))
