"""Sensitive memories on the command line, such as those about health.

Rule 1: lists withhold them without `--sensitive`, and say how many there are.
Rule 2: a memory named by its id, key or words is shown with its words, and a hint says that lists withhold them.
"""

from gateway.doors.terminal.screen import format_count, hint
from protocol.record import Record

HIDDEN = "(sensitive: `pioneer show` with its id has the words)"


def is_sensitive(record: Record) -> bool:
    """Return whether a record is shown only to those who ask for sensitive ones."""
    return record.sensitivity == "regulated"


def hide_sensitive(record: Record) -> str:
    """Return a record's words for a list, where those of a sensitive one are withheld."""
    return HIDDEN if is_sensitive(record) else record.content


def hint_sensitive(count: int, option: str = "--sensitive") -> None:
    """Write how many sensitive memories an answer withholds, if there are any, and the option that shows them."""
    if count:
        hint(f"{format_count(count, 'sensitive memory', 'sensitive memories')} not shown: {option} shows more")


def hint_named_sensitive(record: Record) -> None:
    """Write that a memory whose words are shown is sensitive, if it is, and that lists withhold it."""
    if is_sensitive(record):
        hint("sensitive: shown because you named it; `search` and `list` show it with --sensitive alone")
