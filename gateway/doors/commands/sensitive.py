"""Sensitive memories on the command line, such as what is said of health.

Rule 1: lists keep them back unless `--sensitive` asks for them, and say how many there are.
Rule 2: the words of one memory that is named by its id, key or words are shown, and the hint says that lists do not.
"""

from gateway.doors.terminal.screen import format_count, hint
from protocol.record import Record

HIDDEN = "(sensitive: `pioneer show` with its id has the words)"


def is_sensitive(record: Record) -> bool:
    """Return whether a record is shown only to those who ask for sensitive ones."""
    return record.sensitivity == "regulated"


def hide_sensitive(record: Record) -> str:
    """Return a record's words for a list that nobody asked for sensitive ones."""
    return HIDDEN if is_sensitive(record) else record.content


def hint_sensitive(count: int, option: str = "--sensitive") -> None:
    """Hint at memories that an answer withholds because they are sensitive, if there are any."""
    if count:
        hint(f"{format_count(count, 'sensitive memory', 'sensitive memories')} not shown: {option} shows more")


def hint_named_sensitive(record: Record) -> None:
    """Hint that a memory whose words are shown is sensitive, and where it is not shown unasked."""
    if is_sensitive(record):
        hint("sensitive: shown because you named it; `search` and `list` show it with --sensitive alone")
