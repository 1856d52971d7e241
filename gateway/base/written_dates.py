"""Dates of the calendar, read with `dateparser`: "21 April", "am 3. Mai", "24 de diciembre de 2025", "02.04.2026".

Rule 1: the library is given a date and nothing else: in a sentence it takes "we", "may", "do" and "die" for days and
months.
Rule 2: it is imported with the first date, which costs a tenth of a second: not on the event loop.
"""

import re
from datetime import date, datetime, time
from functools import cache
from threading import Lock
from typing import Any, Literal

from promt.language.reader import tables

NOON = time(12)


@cache
def _languages() -> list[str]:
    """Return the codes of the languages whose months are known; the library has to know them, too."""
    return [code for code, table in tables("time").items() if "month" in table]


@cache
def _endings() -> list[tuple[re.Pattern[str], str]]:
    """Return how a month's name within a sentence becomes the name that the library knows."""
    return [
        (re.compile(said), known) for table in tables("time").values() for said, known in table.get("month_endings", [])
    ]


class WrittenDates:
    """A reader of dates; any thread may call it."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._today: date | None = None
        self._parser: Any = None

    def __call__(self, text: str, today: date) -> tuple[date, Literal["day", "month"]] | None:
        """Return the date that a text is, with its precision; None for other text. In figures the day comes first."""
        text = text.lower()
        for said, known in _endings():
            text = said.sub(known, text)
        with self._lock:
            found = self._parser_for(today).get_date_data(text)
        if found.date_obj is None or found.period not in {"day", "month"}:
            return None
        return found.date_obj.date(), found.period

    def _parser_for(self, today: date) -> Any:
        """Return the parser of the day: the library keeps settings for ever, so they change once a day."""
        if self._today != today:
            from dateparser.date import DateDataParser  # noqa: PLC0415

            settings = {
                "PREFER_DATES_FROM": "past",
                "RELATIVE_BASE": datetime.combine(today, NOON),
                "DATE_ORDER": "DMY",
                "REQUIRE_PARTS": ["month"],
                "PARSERS": ["absolute-time"],
            }
            self._parser = DateDataParser(languages=_languages(), settings=settings)
            self._today = today
        return self._parser
