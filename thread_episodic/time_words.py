"""What time a message speaks of: "yesterday", "in March", "vor zwei Tagen" as a range of milliseconds.

Rule 1: pure tables over the standard library; now and the time zone are arguments.
Rule 2: only the past is found: what may lie ahead ("on Monday", "in May") means the last one that began.
Rule 3: an unknown phrase is no time; a guess would hide what was said.
"""
# ruff: noqa: RUF001  # months and weekdays of several scripts are the subject here

import re
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta, tzinfo
from functools import cache
from typing import TypeAlias
from zoneinfo import ZoneInfo

Days: TypeAlias = tuple[date, date]
"""From the first day to before the second."""


@dataclass(frozen=True, kw_only=True, slots=True)
class TimeRange:
    """When: milliseconds, both ends included, and where in the text it is said."""

    from_at: int
    to_at: int
    spans: tuple[tuple[int, int], ...]


def zone_of(name: str) -> tzinfo:
    """The time zone of that name; UTC where this machine does not know it."""
    try:
        return ZoneInfo(name)
    except (KeyError, ValueError, OSError):
        return UTC


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
    """N units ago, as loosely as people count: to the day for days, half a unit to either side for more."""
    if unit == "day":
        return _days_ago(count)
    if unit == "week":
        return lambda today: (today - (7 * count + 3) * _DAY, today - (7 * count - 4) * _DAY)
    return _months_ago(count) if unit == "month" else _years_ago(count)


def _weekday(number: int) -> Callable[[date], Days]:
    """The last such day before today."""
    return lambda today: _days_ago((today.weekday() - number - 1) % 7 + 1)(today)


def _month(number: int, year: int | None) -> Callable[[date], Days]:
    """That month of the year, or the last one that began."""

    def days(today: date) -> Days:
        first = date(year or today.year - (number > today.month), number, 1)
        return first, _month_start(first, -1)

    return days


# -- words ---------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class _Words:
    """How a language says it. Values are regular expressions on text in lower case."""

    named: tuple[tuple[str, Callable[[date], Days]], ...]
    ago: str
    numbers: tuple[str, ...]
    units: tuple[tuple[str, str], ...]
    weekdays: tuple[str, ...]
    on_weekday: str
    months: tuple[str, ...]
    in_month: str


_TODAY = _days_ago(0)

_ENGLISH = _Words(
    named=(
        ("the day before yesterday", _days_ago(2)), ("yesterday", _days_ago(1)), ("last night", _days_ago(1)),
        ("this (?:morning|afternoon)|earlier today|today", _TODAY),
        ("last week", _weeks_ago(1)), ("(?:earlier )?this week", _weeks_ago(0)),
        ("last month", _months_ago(1)), ("(?:earlier )?this month", _months_ago(0)), ("last year", _years_ago(1)),
    ),
    ago=r"{number} {unit} ago",
    numbers=("an?|one", "two|a couple(?: of)?", "three", "four", "five", "six", "seven", "eight", "nine", "ten"),
    units=(("day", "days?"), ("week", "weeks?"), ("month", "months?"), ("year", "years?")),
    weekdays=("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday"),
    on_weekday=r"(?:last|on|this past) {weekday}",
    months=(
        "january|jan", "february|feb", "march", "april", "may", "june", "july", "august|aug", "september|sept?",
        "october|oct", "november|nov", "december|dec",
    ),
    in_month=r"(?:back in|in|last|during) {month}(?:,? (?P<year>(?:19|20)\d\d))?",
)  # fmt: skip

_RUSSIAN = _Words(
    named=(
        ("позавчера", _days_ago(2)), ("вчера", _days_ago(1)), ("прошлой ночью", _days_ago(1)),
        ("сегодня(?: утром| днем)?", _TODAY),
        ("на прошлой неделе", _weeks_ago(1)), ("на этой неделе", _weeks_ago(0)),
        ("в прошлом месяце", _months_ago(1)), ("в этом месяце", _months_ago(0)), ("в прошлом году", _years_ago(1)),
    ),
    ago=r"(?:{number} )?{unit} (?:тому )?назад",
    numbers=("один|одну", "два|две|пару", "три", "четыре", "пять", "шесть", "семь", "восемь", "девять", "десять"),
    units=(("day", "день|дня|дней"), ("week", "недел[юиь]"), ("month", "месяц(?:а|ев)?"), ("year", "год(?:а)?|лет")),
    weekdays=("понедельник", "вторник", "среду", "четверг", "пятницу", "субботу", "воскресенье"),
    on_weekday=r"во? (?:прошл(?:ый|ую|ое) )?{weekday}",
    months=(
        "январе", "феврале", "марте", "апреле", "мае", "июне", "июле", "августе", "сентябре", "октябре", "ноябре",
        "декабре",
    ),
    in_month=r"в {month}(?: (?P<year>(?:19|20)\d\d)(?: года)?)?",
)  # fmt: skip

_GERMAN = _Words(
    named=(
        ("vorgestern", _days_ago(2)), ("gestern(?: abend| nacht)?", _days_ago(1)), ("letzte nacht", _days_ago(1)),
        ("heute(?: morgen| fruh| vormittag)?", _TODAY),
        ("(?:letzte|vorige|vergangene) woche", _weeks_ago(1)), ("diese woche", _weeks_ago(0)),
        ("(?:letzten|vorigen|vergangenen) monat", _months_ago(1)), ("diesen monat", _months_ago(0)),
        ("(?:letztes|voriges) jahr", _years_ago(1)),
    ),
    ago=r"vor {number} {unit}",
    numbers=(
        "eine[mr]", "zwei|ein paar", "drei", "vier", "funf", "sechs", "sieben", "acht", "neun", "zehn",
    ),
    units=(("day", "tag(?:en)?"), ("week", "wochen?"), ("month", "monat(?:en)?"), ("year", "jahr(?:en)?")),
    weekdays=("montag", "dienstag", "mittwoch", "donnerstag", "freitag", "samstag|sonnabend", "sonntag"),
    on_weekday=r"(?:am|letzten|vergangenen|vorigen) {weekday}",
    months=(
        "januar|janner", "februar", "marz", "april", "mai", "juni", "juli", "august", "september", "oktober",
        "november", "dezember",
    ),
    in_month=r"(?:im|letzten) {month}(?: (?P<year>(?:19|20)\d\d))?",
)  # fmt: skip

_SPANISH = _Words(
    named=(
        ("anteayer|antes de ayer", _days_ago(2)), ("ayer", _days_ago(1)), ("anoche", _days_ago(1)),
        ("esta (?:manana|tarde)|hoy", _TODAY),
        ("la semana pasada", _weeks_ago(1)), ("esta semana", _weeks_ago(0)),
        ("el mes pasado", _months_ago(1)), ("este mes", _months_ago(0)), ("el ano pasado", _years_ago(1)),
    ),
    ago=r"hace {number} {unit}",
    numbers=("una?", "dos|un par de", "tres", "cuatro", "cinco", "seis", "siete", "ocho", "nueve", "diez"),
    units=(("day", "dias?"), ("week", "semanas?"), ("month", "mes(?:es)?"), ("year", "anos?")),
    weekdays=("lunes", "martes", "miercoles", "jueves", "viernes", "sabado", "domingo"),
    on_weekday=r"el {weekday}(?: pasado)?",
    months=(
        "enero", "febrero", "marzo", "abril", "mayo", "junio", "julio", "agosto", "septiembre|setiembre", "octubre",
        "noviembre", "diciembre",
    ),
    in_month=r"en {month}(?: (?:de|del) (?P<year>(?:19|20)\d\d))?",
)  # fmt: skip

MAX_COUNT = 400  # "500 days ago" is no way to point at a conversation


def _rules_of(words: _Words) -> list[tuple[re.Pattern[str], Callable[[re.Match[str]], Callable[[date], Days]]]]:
    number = "(?:" + "|".join(f"(?P<n{n}>{word})" for n, word in enumerate(words.numbers, 1)) + r"|(?P<digits>\d{1,3}))"
    unit = "(?:" + "|".join(f"(?P<{name}>{word})" for name, word in words.units) + ")"
    weekday = "(?:" + "|".join(f"(?P<w{n}>{word})" for n, word in enumerate(words.weekdays)) + ")"
    month = "(?:" + "|".join(f"(?P<m{n}>{word})" for n, word in enumerate(words.months, 1)) + ")"

    def ago(match: re.Match[str]) -> Callable[[date], Days]:
        count = int(match["digits"] or _picked(match, "n", default=1))
        name = next(name for name, _ in words.units if match[name])
        return _around(name, min(count, MAX_COUNT))

    return [
        *((_compiled(phrase), lambda _, days=days: days) for phrase, days in words.named),
        (_compiled(words.ago.format(number=number, unit=unit)), ago),
        (_compiled(words.on_weekday.format(weekday=weekday)), lambda match: _weekday(_picked(match, "w"))),
        (
            _compiled(words.in_month.replace("{month}", month)),
            lambda match: _month(_picked(match, "m"), int(match["year"]) if match["year"] else None),
        ),
    ]


def _compiled(phrase: str) -> re.Pattern[str]:
    return re.compile(rf"(?<![\w-])(?:{phrase.replace(' ', chr(92) + 's+')})(?![\w-])")


def _picked(match: re.Match[str], letter: str, default: int = 0) -> int:
    """The number in the name of the one group of a kind that matched."""
    names = (name for name, value in match.groupdict().items() if value and re.fullmatch(rf"{letter}\d+", name))
    name = next(names, None)
    return int(name[1:]) if name else default


@cache
def _rules() -> list[tuple[re.Pattern[str], Callable[[re.Match[str]], Callable[[date], Days]]]]:
    """Every language's; made when a text is first looked at, because it takes a tenth of the time of a start."""
    return [rule for words in (_ENGLISH, _RUSSIAN, _GERMAN, _SPANISH) for rule in _rules_of(words)]


_FOLD = str.maketrans("áéíóúüñäöё", "aeiouunaoе")
"""One character for one, so that places keep their numbers."""


def fold(text: str) -> str:
    """Lower case without the accents that people leave out; as long as the text."""
    lowered = text.lower()
    return (lowered if len(lowered) == len(text) else text).translate(_FOLD)


def find_time(text: str, now: int, zone: tzinfo) -> TimeRange | None:
    """The span of the past that a message names, over all its time words; None without any."""
    folded = fold(text)
    moment = datetime.fromtimestamp(now / 1000, zone)
    spans: list[tuple[int, int]] = []
    found: list[Days] = []
    for pattern, days_of in _rules():
        for match in pattern.finditer(folded):
            if any(match.start() < end and match.end() > start for start, end in spans):
                continue  # "the day before yesterday" is not also "yesterday": longer phrases stand first
            days = days_of(match)(moment.date())
            if days[0] <= moment.date():
                spans.append(match.span())
                found.append(days)
    if not found:
        return None
    begin, end = min(days[0] for days in found), max(days[1] for days in found)
    return TimeRange(from_at=_millis(begin, zone), to_at=min(_millis(end, zone) - 1, now), spans=tuple(sorted(spans)))


@cache
def _any_time() -> re.Pattern[str]:
    phrases = (re.sub(r"\(\?P<\w+>", "(?:", pattern.pattern) for pattern, _ in _rules())
    return re.compile(r"(?<![\w-])(?=\w)(?:" + "|".join(phrases) + ")")


_ASKS_WHEN = re.compile(
    r"(?<![\w-])(?:when|how long|since when|(?:what|which) (?:date|day|month|year|time)"
    r"|когда|как давно|с каких пор|(?:какого числа|в каком (?:месяце|году)|в какой день)"
    r"|wann|seit wann|wie lange|(?:an )?welche[mnrs]? (?:datum|tag|monat|jahr)"
    r"|cuando|desde cuando|cuanto (?:tiempo )?hace|(?:que|cual) (?:fecha|dia|mes|ano))(?![\w-])"
)


def tells_time(text: str) -> bool:
    """Whether a text names some time in the past, whichever."""
    return _any_time().search(fold(text)) is not None


def asks_when(text: str) -> bool:
    """Whether a question is one for a time."""
    return _ASKS_WHEN.search(fold(text)) is not None


def _millis(day: date, zone: tzinfo) -> int:
    return int(datetime.combine(day, time.min, zone).timestamp() * 1000)
