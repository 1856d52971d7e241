"""Checks of damage that only read: pages of the file, and each derived part.

Rule 1: damage of a derived part is a warning with its repair; only parts with a meaning of their own can be lost.
"""

from collections.abc import Iterator, Mapping
from typing import Literal, TypeAlias

from gateway.care.findings import Finding, Subject
from gateway.home.owners import living_owners
from gateway.store.copy import find_complaints, open_snapshot, read_version
from gateway.store.derived import TABLE, TABLES
from gateway.store.log_end import count_lost_frames
from gateway.store.losses import join_names, read_losses
from gateway.store.migrations import SCHEMA_VERSION
from gateway.store.pages import find_hit_rows, find_lost, look_at_pages
from gateway.store.schema_shapes import is_of_meaning
from protocol.errors import GatewayError
from protocol.seams.checks import Find

RESTORE = "restore a backup: `pioneer restore-backup FILE --force`"
REMADE = "--fix makes them anew; a backup is not needed for that"


def find_page_damage(subject: Subject) -> Iterator[Finding]:
    """Yield a finding for each unreadable part of the file: derived parts, indexes, and rows by their owners."""
    if not living_owners(subject.root / "run") and (frames := count_lost_frames(subject.database)):
        text = f"its write-ahead log ends early: {frames} frames of it cannot be reached, and what they hold is lost"
        yield Finding("database", "warning", text, "nothing mends that; a backup that is newer may hold more")
    damage = look_at_pages(subject.database)
    if damage is None:
        yield Finding("database", "error", "it is damaged: its schema cannot be read", RESTORE)
        return
    for part in dict.fromkeys(TABLES[table].name for table in damage.derived):
        yield Finding("database", "warning", f"pages of the {part} cannot be read", REMADE, "pages")
    if damage.indexes:
        names = ", ".join(damage.indexes)
        yield Finding("database", "warning", f"pages of indexes cannot be read: {names}", REMADE, "pages")
    for table, rows in find_hit_rows(subject.database, damage.kept).items():
        yield Finding(
            "database",
            "error",
            f"rows of the table {table} cannot be read; hit: {join_names(rows.hit)}",
            f"{RESTORE}, or keep the rest: --fix, or the next gateway, copies the file and goes on without these",
            "rows",
        )
    if not any((damage.derived, damage.indexes, damage.kept)) and (
        wrong := find_complaints(subject.database, is_thorough=True)
    ):
        yield Finding("database", "warning", f"pages of it are in no use: {wrong[0].splitlines()[-1]}", REMADE, "pages")


def is_readable(subject: Subject) -> bool:
    """Return whether the home has a database of this version."""
    return subject.database.is_file() and read_version(subject.database) == SCHEMA_VERSION


ComparedHouse: TypeAlias = Literal["conversation", "memory"]
"""A house whose derived parts are compared; files are compared by every scan."""
REPAIRED = "a gateway repairs that by itself; --fix does it now"


def find_lost_parts(subject: Subject) -> Iterator[Finding]:
    """Yield findings where the schema lacks something that opening the home brings back, its own tables empty."""
    lost = find_lost(subject.database)
    tables = [name for name in lost if is_of_meaning(name)]
    if tables:
        text = f"tables are gone, and what they held is lost: {', '.join(tables)}"
        yield Finding("database", "error", text, f"{RESTORE}, or go on with empty ones: --fix", "rows")
    if others := [name for name in lost if name not in tables]:
        text = f"triggers, indexes or derived tables are gone: {', '.join(others)}"
        yield Finding("database", "warning", text, REPAIRED, "schema")


def find_losses(subject: Subject) -> Iterator[Finding]:
    """Yield a finding for each loss of which no person has taken note yet."""
    if not is_readable(subject):
        return
    with open_snapshot(subject.database) as tx:
        losses = read_losses(tx)
    for loss in losses:
        kept = f"; the file as it was is {loss.aside} in the home's folder backups" if loss.aside else ""
        text = f"the table {loss.table} lost rows: {loss.names}" if loss.hit else f"the table {loss.table} was gone"
        yield Finding("losses", "error", text + kept, f"{RESTORE}, or take note of it: --fix", "losses")


def find_wrong_parts(subject: Subject, house: ComparedHouse, finds: Mapping[str, Find]) -> Iterator[Finding]:
    """Yield a finding for each derived part with damage; an unreadable part counts as damaged."""
    wrong = [name for name, find in finds.items() if _is_wrong(subject, find)]
    for part in TABLE:
        kinds = [name.replace("_", " ") for name in wrong if name in part.checks and part.house == house]
        if kinds:
            text = f"the {part.name}: {', '.join(kinds)} (made of {part.made_of})"
            yield Finding(house, "warning", text, REPAIRED, house)


def list_altered(subject: Subject, find: Find) -> list[str]:
    """Return the owners of rows that are not as they were written, each once.

    An owner is named by the columns between the first, the row's number, and the last, its digest. Raises
    `GatewayError`.
    """
    names, after = dict[str, None](), 0 if is_readable(subject) else None
    while after is not None:
        with open_snapshot(subject.database) as tx:
            rows, after = find(tx, after)
        names |= dict.fromkeys("/".join(name.decode("utf-8", "replace") for name in row[1:-1]) for row in rows)
    return list(names)


def _is_wrong(subject: Subject, find: Find) -> bool:
    try:
        with open_snapshot(subject.database) as tx:
            subjects, after = find(tx, 0)
            while not subjects and after is not None:
                subjects, after = find(tx, after)
    except GatewayError:
        return True
    return bool(subjects)
