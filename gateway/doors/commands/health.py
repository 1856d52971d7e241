"""`pioneer doctor` and `pioneer status`.

Rule 1: without --fix the doctor changes nothing. It also examines a home that no gateway could open.
Rule 2: --fix only makes derived parts again, and writes a backup before a mend that could lose anything.
"""

import argparse
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import get_args

from gateway.base.exit_codes import CONFIG, IO_ERROR, NEGATIVE, NO_INPUT, OK, UNAVAILABLE
from gateway.care.checkup import examine
from gateway.care.findings import LEVELS, Finding, Level, Mend, Subject
from gateway.doors.commands import Command
from gateway.doors.commands.door import HomeMethods, config_of, describe_no_home, home_of, through_door
from gateway.doors.commands.options import add_home, add_json, add_place, add_sureness
from gateway.doors.terminal.exits import Stop, writing
from gateway.doors.terminal.screen import (
    confirm,
    hint,
    plain,
    progress,
    say,
    show_json,
    show_pairs,
    size,
    when,
    words,
)
from gateway.home.folder import is_foreign
from gateway.home.owners import living_owners
from gateway.home.run_files import find_run_files
from gateway.home.tokens import FILES, FOLDER, is_open_to_others, rotate, token_path
from gateway.store.staging import sweep
from protocol import methods as m
from protocol.gateway import QueueCounts, StatusResult
from protocol.seams.ports import JobKind

STYLES: Mapping[Level, str] = {"ok": "green", "note": "cyan", "warning": "yellow", "error": "red"}
CODES = {"database": IO_ERROR, "losses": IO_ERROR, "config": CONFIG}
"""The exit code of the doctor for an error of a check; for every other one: unavailable."""
UNTOUCHED = frozenset({"home", "key", "config", "schema", "database"})
"""Checks whose errors no derived data can mend: with one of them, --fix changes nothing, unless rows can be saved."""
HARMLESS: frozenset[Mend] = frozenset(
    {"pages", "rows", "losses", "permissions", "processes", "leftovers", "tokens", "run_files", "spool"}
)
"""Mends that lose nothing. No backup is written before them, as an erase would have to reach that, too."""


def _arrange_doctor(to: argparse.ArgumentParser) -> None:
    to.add_argument("--fix", action="store_true", help="mend what is derived, after a backup to HOME/backups")
    to.add_argument(
        "--erase-numbers",
        action="store_true",
        help="erase for ever the records that hold the number of a card, a bank account or an id",
    )
    add_sureness(to)
    add_home(to)
    add_json(to)


def _subject(given: argparse.Namespace) -> Subject:
    if not home_of(given).is_dir() or is_foreign(home_of(given)):
        raise Stop(NO_INPUT, describe_no_home(given))
    return Subject(home_of(given), config_of(given))


def _doctor(given: argparse.Namespace) -> int:
    subject = _subject(given)
    with progress("looking") as report:
        report(0, None)
        found = examine(subject)
    done: list[str] = []
    if given.fix:
        done = _fix(given, subject, found)
    if given.erase_numbers and _is_usable(found):
        if not given.yes:
            confirm("erase for ever every record that holds such a number?")
        done.append(through_door(given, _erase_numbers))
    found = examine(subject) if done else found
    if given.json:
        show_json({"findings": [one._asdict() for one in found], "done": done, "worst": _worst(found)})
    else:
        _show_findings(found, done, is_fixing=given.fix)
    return code_of(found)


def _worst(found: Sequence[Finding]) -> Level:
    return LEVELS[max((LEVELS.index(one.level) for one in found), default=0)]


def code_of(found: Sequence[Finding]) -> int:
    """Return the exit code for the worst finding: `NEGATIVE` for a warning, that of its check for an error."""
    worst = _worst(found)
    if worst == "error":
        return next(CODES.get(one.check, UNAVAILABLE) for one in found if one.level == "error")
    return NEGATIVE if worst == "warning" else OK


def _show_findings(found: Sequence[Finding], done: Sequence[str], *, is_fixing: bool) -> None:
    for line in done:
        say(f"done: {line}", "green")
    for one in found:
        say(f"{one.level:<8}{one.check}" + (f": {plain(one.text)}" if one.text else ""), STYLES[one.level])
        if one.advice:
            say(f"        {plain(one.advice)}")
    if is_fixing and not done:
        hint("there was nothing that --fix could mend")


# -- mending -----------------------------------------------------------------------------------------------------------


def _fix(given: argparse.Namespace, subject: Subject, found: Sequence[Finding]) -> list[str]:
    """Mend what the findings name; return a line for each mend."""
    wanted = {one.mend for one in found if one.mend is not None}
    if not wanted or not (_is_usable(found) or "rows" in wanted):
        return []
    if wanted & {"pages", "rows"} and living_owners(subject.root / "run"):
        raise Stop(UNAVAILABLE, "a gateway uses that home, and its file cannot be made anew meanwhile; end it first")
    done: list[str] = []
    if wanted & {"pages", "rows"}:
        done += _make_anew(subject)
    if wanted & {"pages", "rows", "schema"}:
        wanted |= {"memory", "conversation"}
    if "rows" in wanted:
        wanted.add("losses")
    if subject.database.is_file() and wanted - HARMLESS:
        done.append(f"a backup, {_back_up(subject).name} in the home's folder backups")
    files: Mapping[Mend, Callable[[Subject], str]] = {
        "permissions": _close_to_others,
        "leftovers": _remove_leftovers,
        "tokens": _renew_tokens,
        "run_files": _remove_run_files,
    }
    done += [mend(subject) for name, mend in files.items() if name in wanted]
    in_open_home: list[Mend] = [
        mend
        for mend in ("losses", "key", "processes", "spool", "memory", "conversation", "files", "jobs")
        if mend in wanted
    ]
    if in_open_home:
        done += through_door(given, lambda door: _mend(door, in_open_home), "later")
    return done


def _is_usable(found: Sequence[Finding]) -> bool:
    return not any(one.level == "error" and one.check in UNTOUCHED for one in found)


async def _erase_numbers(door: HomeMethods) -> str:
    """Withhold the records that hold such a number, then erase all withheld ones; return a line about it."""
    await door.app.memory.repairer.run("quick")
    count = await door.app.memory.erase_withheld()
    kept = door.app.base.home.backup_names() if count else []
    return f"{count} records are erased" + (f"; backups that still hold them: {', '.join(kept)}" if kept else "")


def _back_up(subject: Subject) -> Path:
    from gateway.care.backup import write_backup  # noqa: PLC0415

    folder = subject.root / "backups"
    folder.mkdir(exist_ok=True, mode=0o700)
    target = folder / f"before-fix-{time.strftime('%Y%m%d-%H%M%S')}.backup"
    with progress("backing up") as report, writing(target):
        write_backup(subject.root, target, report)
    return target


def _make_anew(subject: Subject) -> list[str]:
    """Make unreadable tables anew and write the file anew; return a line for each.

    Derived tables are made anew empty, the others with the rows that can be read.
    """
    from gateway.store.pages import look_at_pages, make_anew, mend  # noqa: PLC0415

    damage = look_at_pages(subject.database)
    if damage is None:
        return []
    folder = subject.root / "backups"
    with writing(folder):
        begun, losses = mend(subject.database, damage, folder)
    make_anew(subject.database)
    asides = dict.fromkeys(loss.aside for loss in losses if loss.aside)
    return [
        *(f"the damaged file is kept as {aside} in the home's folder backups" for aside in asides),
        *(f"{words(name)} is begun anew" for name in begun),
        *(f"{loss.table}: what can be read is kept; lost: {loss.names}" for loss in losses),
        "the file is made anew",
    ]


def _close_to_others(subject: Subject) -> str:
    if sys.platform != "win32":
        for path in (subject.root, *subject.root.glob("gateway.db*"), subject.root / "keys"):
            if path.exists():
                path.chmod(path.stat().st_mode & 0o700)
    return "the home is closed to other users"


def _renew_tokens(subject: Subject) -> str:
    """Replace the tokens that other users could read, and close the folder to them."""
    renewed = [file for door in FILES if is_open_to_others(file := token_path(subject.root, door)) and file.exists()]
    (subject.root / FOLDER).chmod(0o700)
    for file in renewed:
        rotate(file)
    return f"{len(renewed)} tokens are new ones, which only you can read"


def _remove_run_files(subject: Subject) -> str:
    stale = [path for path, entry in find_run_files(subject.root / "run") if entry is None]
    for path in stale:
        path.unlink(missing_ok=True)
    return f"{len(stale)} run files of ended processes are removed"


def _remove_leftovers(subject: Subject) -> str:
    count = sum(sweep(folder) for folder in subject.workplaces)
    return f"{count} copies that interrupted commands left are removed"


async def _mend(door: HomeMethods, wanted: Sequence[Mend]) -> list[str]:
    """Do the mends that need an open home; return a line for each that changed something."""
    from agent.rows.threads import restore_threads  # noqa: PLC0415
    from gateway.foundations import renew_key  # noqa: PLC0415
    from gateway.store.losses import forget_losses  # noqa: PLC0415
    from thread_episodic.rows.scopes import find_indexed_workspace  # noqa: PLC0415

    app, done = door.app, list[str]()
    if "losses" in wanted:
        await app.base.database.write(forget_losses)
        done.append("what was lost is taken note of, and told no more")
    if "key" in wanted:
        await renew_key(app.base)
        done.append("the home has a new key; what was forgotten before may come back unasked")
    if "processes" in wanted and await app.pulse.reclaim():
        done.append("what ended processes left is taken over")
    if "spool" in wanted:
        done.append(f"{await app.left.deliver()} answers that ended chat proxies left are kept")
    if "memory" in wanted:
        report = await app.memory.repairer.run("deep")
        mended = ", ".join(f"{words(name)} {count}" for name, count in report.mended.items())
        done.append(f"derived data of memory was checked and mended ({mended or 'nothing was wrong'})")
    if "conversation" in wanted:
        if made := await app.base.database.write(lambda tx: restore_threads(tx, find_indexed_workspace)):
            done.append(f"{len(made)} conversations are made again of their turns; nothing more is learnt in them")
        remade = await app.episodic.repair.run("deep")
        mended = ", ".join(f"{words(name)} {count}" for name, count in remade.items())
        done.append(f"the index of conversations was checked and mended ({mended or 'nothing was wrong'})")
    if "files" in wanted:
        done.append(f"the files of {await app.knowledge.queue_all()} collections are read again")
    if "jobs" in wanted:
        requeued = await app.base.database.write(
            lambda tx: sum(app.jobs.requeue(tx, kind=kind) for kind in get_args(JobKind))
        )
        done.append(f"{requeued} jobs are queued again; a running gateway, or the next one, does them")
    return done


# -- status ------------------------------------------------------------------------------------------------------------


def _arrange_status(to: argparse.ArgumentParser) -> None:
    add_place(to)


def _status(given: argparse.Namespace) -> int:
    result = through_door(given, lambda door: door.call(m.STATUS), "later")
    if given.json:
        show_json(result)
    else:
        _show_status(result)
    return OK


def _show_status(status: StatusResult) -> None:
    search = {
        "ready": "by words and meaning",
        "pending": "by words and meaning",
        "off": "by words",
    }
    show_pairs(
        [
            ("version", status.version),
            ("home", status.home_id),
            ("schema", str(status.schema_version)),
            ("others in it", str(status.processes - 1)),
            ("search", search[status.search.semantic]),
            ("database", f"{size(status.storage.db_bytes)}, and {size(status.storage.wal_bytes)} of log"),
            *((f"jobs: {kind}", _describe_jobs(count)) for kind, count in status.queues.items()),
        ]
    )
    if status.processes == 1 and any(count.queued for count in status.queues.values()):
        hint("no gateway runs here: waiting jobs are done by the next one (`pioneer serve`, `mcp`, `http`)")
    for provider in status.providers:
        say(f"provider {plain(provider.name)}: {provider.kind}, {', '.join(provider.roles) or 'in no role'}")
    for entry in status.degraded:
        say(f"{words(entry.component)}: {words(entry.reason)}, since {when(entry.since)}", "yellow")


def _describe_jobs(count: QueueCounts) -> str:
    """Return the counts of jobs that are not zero, each with its state; empty where all are."""
    counts = {
        "waiting": count.queued,
        "running": count.leased,
        "to be tried again": count.retry_wait,
        "given up": count.dead,
    }
    return ", ".join(f"{number} {state}" for state, number in counts.items() if number)


COMMANDS = {
    "doctor": Command(
        _arrange_doctor, _doctor, "  pioneer doctor\n  pioneer doctor --fix\n  pioneer doctor --erase-numbers"
    ),
    "status": Command(_arrange_status, _status, "  pioneer status\n  pioneer status --json"),
}
