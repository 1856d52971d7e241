"""`pioneer consolidate`, `dream`, `passes` and `pin`: the passes over memory, their log and undoing, and pins."""

import argparse
from collections.abc import Mapping, Sequence
from typing import Any

from gateway.base.exit_codes import NEGATIVE, OK, USAGE
from gateway.doors.commands import Command
from gateway.doors.commands.door import HomeMethods, through_door
from gateway.doors.commands.naming import name_memory
from gateway.doors.commands.options import add_context, add_place, context_of
from gateway.doors.commands.paging import MORE, PAGE, add_limit, collect_pages, limit_of
from gateway.doors.terminal.exits import Stop
from gateway.doors.terminal.screen import hint, plain, say, show_json, show_table, when, words
from protocol import methods as m
from protocol.passes import PassName, Run, RunStage
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
REVIEW_CHOICES = {"keep": "its lifetime begins anew", "archive": "put it out of sight", "forget": "forget it"}
"""The options of `review` for a memory that has faded, with what they do."""


def _describe_stage(stage: RunStage) -> str:
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
        say(f"  {stage.name:<8} {_describe_stage(stage)}")
    if run.changes and not run.dry_run:
        hint(f"what it did: pioneer passes show {run.run_id}; to undo: pioneer passes undo {run.run_id}")


def _run(given: argparse.Namespace, name: PassName) -> int:
    run = through_door(given, lambda door: door.run_pass({"pass": name, "dry_run": given.dry_run}))
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
    add_limit(to, PAGE, of="runs: ")
    to.add_argument("--dry-run", action="store_true", help="undo: show what would be taken back")
    choice = to.add_mutually_exclusive_group()
    for name, purpose in REVIEW_CHOICES.items():
        choice.add_argument(f"--{name}", metavar="ID|WORDS", help=f"review: {purpose}")


def _passes(given: argparse.Namespace) -> int:
    if given.what in {"show", "undo"} and given.run is None:
        raise Stop(USAGE, f"name the run: pioneer passes {given.what} RUN")
    return {"list": _list, "runs": _runs, "show": _show, "undo": _undo, "review": _review}[given.what](given)


def _list(given: argparse.Namespace) -> int:
    result = through_door(given, lambda door: door.call(m.PASSES_LIST))
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
    result = through_door(given, lambda door: collect_pages(door, m.PASSES_RUNS, {}, "runs", limit_of(given)))
    if given.json:
        show_json({"runs": result.runs})
        return OK
    rows = [
        [one.run_id, one.pass_, when(one.ended_at), "dry run" if one.dry_run else words(one.state), str(one.changes)]
        for one in result.runs
    ]
    show_table(["run", "pass", "ended", "result", "changes"], rows)
    if result.next_cursor is not None:
        hint(MORE)
    if not result.runs:
        hint("no pass has run yet; `pioneer passes` shows when the next one does")
    return OK


def _show(given: argparse.Namespace) -> int:
    params = {"run_id": given.run}
    result = through_door(given, lambda door: collect_pages(door, m.PASSES_GET, params, "changes", None))
    if given.json:
        show_json({"run": result.run, "changes": result.changes})
        return OK
    show_run(result.run)
    rows = [[one.id, _describe_status(one.from_), _describe_status(one.to)] for one in result.changes]
    show_table(["changed", "from", "to"], rows)
    return OK


def _describe_status(members: Mapping[str, Any]) -> str:
    return words(str(members.get("status", "")))


def _undo(given: argparse.Namespace) -> int:
    params = {"run_id": given.run, "dry_run": given.dry_run}
    result = through_door(given, lambda door: door.call(m.PASSES_UNDO, params))
    if given.json:
        show_json(result)
        return OK
    reasons = sorted({words(one.reason) for one in result.skipped})
    skipped = f", {len(result.skipped)} skipped ({', '.join(reasons)})" if result.skipped else ""
    say((f"would undo {result.undone}" if given.dry_run else f"{result.undone} undone") + skipped)
    return OK


def _review(given: argparse.Namespace) -> int:
    for choice in REVIEW_CHOICES:
        if (named := getattr(given, choice)) is not None:
            return _decide(given, choice, named)
    params = {"context": context_of(given)}
    found = through_door(given, lambda door: collect_pages(door, m.PASSES_REVIEW, params, "records", None)).records
    if given.json:
        show_json({"records": found})
        return OK
    for record in found:
        say(f"{record.memory_id}  {plain(record.content)}")
    hint(
        "keep one: pioneer passes review --keep ID; also --archive, --forget" if found else "nothing of yours has faded"
    )
    return OK


def _decide(given: argparse.Namespace, choice: str, named: str) -> int:
    """Keep, archive or forget the memory that is named."""
    context = context_of(given)

    async def work(door: HomeMethods) -> str:
        memory_id = await name_memory(door, named, given)
        if choice == "forget":
            await door.call(m.MEMORY_FORGET, {"target": {"kind": "id", "memory_id": memory_id}, "context": context})
        else:
            method = m.MEMORY_REINFORCE if choice == "keep" else m.MEMORY_ARCHIVE
            await door.call(method, {"memory_id": memory_id, "context": context})
        return memory_id

    memory_id = through_door(given, work)
    if given.json:
        show_json({"memory_id": memory_id})
    else:
        say(memory_id, "green")
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
