"""`pioneer consolidate`, `dream`, `passes` and `pin`: the passes over memory, their log and undoing, and pins."""

import argparse
from collections.abc import Mapping, Sequence
from typing import Any

from gateway.base.exit_codes import NEGATIVE, OK, USAGE
from gateway.doors.commands import Command
from gateway.doors.commands.door import HomeMethods, through_door
from gateway.doors.commands.naming import name_memory
from gateway.doors.commands.options import add_context, add_place, context_of
from gateway.doors.commands.paging import each_page
from gateway.doors.terminal.exits import Stop
from gateway.doors.terminal.screen import hint, plain, say, show_json, show_table, when, words
from protocol import methods as m
from protocol.passes import PassesGetResult, PassesListResult, PassesUndoResult, PassName, Run, RunChange, RunStage
from protocol.record import Record

LINES: Mapping[str, Sequence[tuple[str, str]]] = {
    "scan": (("raw", "{} raw"), ("older", "{} older than 24 h")),
    "score": (("scored", "{} had new inputs"), ("moved", "{} moved to another tier")),
    "promote": (
        ("promoted", "{} to knowledge"),
        ("stays_low_score", "{} stay: not sure enough"),
        ("stays_contested", "{} stay: contested"),
        ("stays_review", "{} wait for your review"),
    ),
    "expire": (
        ("archived", "{} to the archive"),
        ("erased", "{} ended in the archive"),
        ("faded", "{} of your own have faded: pioneer passes review"),
    ),
    "cap": (
        ("cap_knowledge", "{} notes over the cap"),
        ("cap_events", "{} events over the cap"),
        ("cap_procedures", "{} procedures over the cap"),
        ("cap_inbox", "{} proposals over the cap"),
    ),
    "prune": (("runs", "{} old runs dropped"),),
}
"""The words for each count of a stage, in order; a count of 0 is not shown."""
NOTHING = {"scan": "nothing raw", "score": "nothing had new inputs", "cap": "nothing over"}
"""The words for a stage whose counts are all 0."""


def _line_of(stage: RunStage) -> str:
    if stage.state == "skipped":
        no_model = stage.reason == "provider_not_configured"
        return "skipped: no model" if no_model else f"skipped: {words(stage.reason)}"
    if stage.state == "failed":
        return f"failed: {words(stage.reason)}"
    shown = LINES.get(stage.name) or [(name, f"{{}} {words(name)}") for name in sorted(stage.counts)]
    parts = [line.format(stage.counts[name]) for name, line in shown if stage.counts.get(name)]
    return ", ".join(parts) or NOTHING.get(stage.name, "nothing")


def show_run(run: Run) -> None:
    """Show the stages of a run, and the command that undoes it."""
    say(f"{run.pass_}, dry run: nothing was changed" if run.dry_run else f"{run.pass_}: {words(run.state)}")
    for stage in run.stages:
        say(f"  {stage.name:<8} {_line_of(stage)}")
    if run.changes and not run.dry_run:
        hint(f"what it did: pioneer passes show {run.run_id}; to undo: pioneer passes undo {run.run_id}")


def _run(given: argparse.Namespace, name: PassName) -> int:
    async def work(door: HomeMethods) -> Run:
        return await door.run_pass({"pass": name, "dry_run": given.dry_run})

    run = through_door(given, work)
    if given.json:
        show_json(run)
    else:
        show_run(run)
    return OK if run.state == "completed" else NEGATIVE


def _arrange_run(to: argparse.ArgumentParser) -> None:
    add_place(to)
    to.add_argument("--dry-run", action="store_true", help="show what would be done, and change nothing")


def _consolidate(given: argparse.Namespace) -> int:
    return _run(given, "consolidate")


def _dream(given: argparse.Namespace) -> int:
    return _run(given, "dream")


# -- what passes did -----------------------------------------------------------------------------------------------


def _arrange_passes(to: argparse.ArgumentParser) -> None:
    add_place(to)
    add_context(to)
    to.add_argument(
        "what",
        nargs="?",
        choices=("list", "runs", "show", "undo", "review"),
        default="list",
        help="list: the plan (the default); runs: the log; show RUN; undo RUN; review: what of yours has faded",
    )
    to.add_argument("run", nargs="?", metavar="RUN", help="the id of a run")
    to.add_argument("--dry-run", action="store_true", help="undo: show what would be taken back")
    choice = to.add_mutually_exclusive_group()
    for name, purpose in {
        "keep": "review: its lifetime begins anew",
        "archive": "review: put it out of sight",
        "forget": "review: forget it",
    }.items():
        choice.add_argument(f"--{name}", metavar="ID|WORDS", help=purpose)


def _passes(given: argparse.Namespace) -> int:
    if given.what in {"show", "undo"} and given.run is None:
        raise Stop(USAGE, f"name the run: pioneer passes {given.what} RUN")
    return {"list": _list, "runs": _runs, "show": _show, "undo": _undo, "review": _review}[given.what](given)


def _list(given: argparse.Namespace) -> int:
    async def work(door: HomeMethods) -> PassesListResult:
        return await door.call(m.PASSES_LIST, {})

    result = through_door(given, work)
    if given.json:
        show_json(result)
        return OK
    rows = [
        [
            one.name,
            "on" if one.enabled else "off",
            when(one.next_run_at) if one.enabled else "",
            when(one.last_run.ended_at) if one.last_run else "",
            words(one.last_run.state) if one.last_run else "",
        ]
        for one in result.passes
    ]
    show_table(["pass", "on", "next", "last", "result"], rows)
    return OK


def _runs(given: argparse.Namespace) -> int:
    async def work(door: HomeMethods) -> list[Run]:
        return (await door.call(m.PASSES_RUNS, {"limit": 100})).runs

    runs = through_door(given, work)
    if given.json:
        show_json({"runs": runs})
        return OK
    rows = [[one.run_id, one.pass_, when(one.ended_at), _result(one), str(one.changes)] for one in runs]
    show_table(["run", "pass", "ended", "result", "changes"], rows)
    if not runs:
        hint("no pass has run yet; `pioneer passes` shows when the next one does")
    return OK


def _result(run: Run) -> str:
    return "dry run" if run.dry_run else words(run.state)


def _show(given: argparse.Namespace) -> int:
    async def work(door: HomeMethods) -> tuple[Run, list[RunChange]]:
        changes: list[RunChange] = []
        run: Run | None = None
        async for page in each_page(door, m.PASSES_GET, {"run_id": given.run, "limit": 100}):
            found: PassesGetResult = page
            run, changes = found.run, [*changes, *found.changes]
        assert run is not None  # noqa: S101  # there is a first page
        return run, changes

    run, changes = through_door(given, work)
    if given.json:
        show_json({"run": run, "changes": changes})
        return OK
    show_run(run)
    show_table(["changed", "from", "to"], [[one.id, _state(one.from_), _state(one.to)] for one in changes])
    return OK


def _state(members: Mapping[str, Any]) -> str:
    return words(str(members.get("status", "")))


def _undo(given: argparse.Namespace) -> int:
    async def work(door: HomeMethods) -> PassesUndoResult:
        return await door.call(m.PASSES_UNDO, {"run_id": given.run, "dry_run": given.dry_run})

    result = through_door(given, work)
    if given.json:
        show_json(result)
        return OK
    reasons = sorted({words(one.reason) for one in result.skipped})
    skipped = f", {len(result.skipped)} skipped ({', '.join(reasons)})" if result.skipped else ""
    say(f"{'would undo ' if given.dry_run else ''}{result.undone}{' undone' if not given.dry_run else ''}{skipped}")
    return OK


def _review(given: argparse.Namespace) -> int:
    chosen = {name: wanted for name in ("keep", "archive", "forget") if (wanted := getattr(given, name)) is not None}
    context = context_of(given)

    async def decide(door: HomeMethods, name: str, wanted: str) -> str:
        memory_id = await name_memory(door, wanted, given)
        if name == "forget":
            await door.call(m.MEMORY_FORGET, {"target": {"kind": "id", "memory_id": memory_id}, "context": context})
        else:
            method = m.MEMORY_REINFORCE if name == "keep" else m.MEMORY_ARCHIVE
            await door.call(method, {"memory_id": memory_id, "context": context})
        return memory_id

    async def work(door: HomeMethods) -> str | list[Record]:
        for name, wanted in chosen.items():
            return await decide(door, name, wanted)
        records: list[Record] = []
        async for page in each_page(door, m.PASSES_REVIEW, {"context": context, "limit": 100}):
            records += page.records
        return records

    found = through_door(given, work)
    if isinstance(found, str):
        show_json({"memory_id": found}) if given.json else say(found, "green")
        return OK
    if given.json:
        show_json({"records": found})
        return OK
    for record in found:
        say(f"{record.memory_id}  {plain(record.content)}")
    hint(
        "keep one: pioneer passes review --keep ID; also --archive, --forget" if found else "nothing of yours has faded"
    )
    return OK


def _arrange_pin(to: argparse.ArgumentParser) -> None:
    add_place(to)
    add_context(to)
    to.add_argument("memory", metavar="ID|WORDS", help="a memory's id or key, or words that only it has, in quotes")
    to.add_argument("--off", action="store_true", help="take the pin off again")


def _pin(given: argparse.Namespace) -> int:
    async def work(door: HomeMethods) -> Record:
        memory_id = await name_memory(door, given.memory, given)
        params = {"memory_id": memory_id, "pinned": not given.off, "context": context_of(given)}
        return (await door.call(m.MEMORY_UPDATE, params)).record

    record = through_door(given, work)
    if given.json:
        show_json(record)
    else:
        say(f"{'pinned' if record.pinned else 'not pinned'}: {record.memory_id}  {plain(record.content)}", "green")
    return OK


COMMANDS = {
    "consolidate": Command(_arrange_run, _consolidate, "  pioneer consolidate --dry-run\n  pioneer consolidate"),
    "dream": Command(_arrange_run, _dream, "  pioneer dream --dry-run"),
    "passes": Command(
        _arrange_passes,
        _passes,
        "  pioneer passes\n  pioneer passes runs\n  pioneer passes undo run_…\n  pioneer passes review --keep mem_…",
    ),
    "pin": Command(_arrange_pin, _pin, "  pioneer pin mem_…\n  pioneer pin --off mem_…"),
}
