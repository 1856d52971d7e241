"""Conversations and their workspaces: listed, shown, renamed and deleted."""

import argparse
from collections.abc import Sequence

from gateway.base.exit_codes import NEGATIVE, OK, USAGE
from gateway.doors.commands import Command
from gateway.doors.commands.door import (
    BYTES_LEFT,
    HomeMethods,
    describe_no_home,
    has_home,
    read_configuration,
    through_door,
)
from gateway.doors.commands.options import add_home, add_json, add_place, add_sureness, present
from gateway.doors.commands.paging import MORE, add_limit, collect_pages, limit_of
from gateway.doors.terminal.exits import Stop
from gateway.doors.terminal.screen import confirm, hint, plain, readable, say, show_json, show_table, when
from protocol import methods as m
from protocol.conversation.threads import DeleteResult, ThreadListResult
from protocol.conversation.workspaces import WorkspaceListResult
from protocol.errors import CallerError

FIRST_WORDS = 60
"""The most characters of a conversation's beginning that stand for its title."""


def _require_subject(given: argparse.Namespace, subject: str | None, actions: Sequence[str]) -> None:
    """Raise `Stop` where one of the options `actions` is given, and no subject is named."""
    if subject is None and (asked := next((name for name in actions if getattr(given, name)), None)):
        raise Stop(USAGE, f"--{asked} needs the id of what is meant; the list shows it")


def _show_deleted(given: argparse.Namespace, result: DeleteResult, subject: str) -> int:
    if given.json:
        show_json(result)
    else:
        removed = ", ".join(f"{count} {plain(name)}" for name, count in result.removed.items() if count)
        say(f"deleted: {plain(subject)}" + (f" ({removed})" if removed else ""), "green")
        if not result.complete:
            say(BYTES_LEFT, "yellow")
    return OK if result.deleted else NEGATIVE


# -- conversations -----------------------------------------------------------------------------------------------------


def _arrange_threads(to: argparse.ArgumentParser) -> None:
    add_place(to)
    add_limit(to)
    add_sureness(to)
    to.add_argument("thread", nargs="?", metavar="ID", help="show this one's talk")
    to.add_argument("--archived", action="store_true", help="only archived ones")
    to.add_argument("--everywhere", action="store_true", help="of all workspaces")
    change = to.add_mutually_exclusive_group()
    change.add_argument("--rename", metavar="NAME", help="give this one another title")
    change.add_argument("--delete", action="store_true", help="remove this one, its files and its index for ever")


def _threads(given: argparse.Namespace) -> int:
    _require_subject(given, given.thread, ("rename", "delete"))
    if given.rename is not None:
        return _rename(given)
    if given.delete:
        return _delete_thread(given)
    return _list_threads(given) if given.thread is None else _show_talk(given)


def _list_threads(given: argparse.Namespace) -> int:
    params = present(workspace_id=None if given.everywhere else given.workspace, archived=given.archived or None)
    titles: dict[str, str] = {}
    if has_home(given):

        async def work(door: HomeMethods) -> ThreadListResult:
            listed: ThreadListResult = await collect_pages(door, m.THREAD_LIST, params, "threads", limit_of(given))
            for thread in () if given.json else listed.threads:
                titles[thread.thread_id] = thread.name or await _read_first_words(door, thread.thread_id)
            return listed

        result = through_door(given, work)
    else:
        read_configuration(given)  # its errors are shown, also without a home
        result = ThreadListResult(threads=[], next_cursor=None)
    if given.json:
        show_json(result)
        return OK if result.threads else NEGATIVE
    if not result.threads:
        hint(_no_threads(given))
    else:
        show_table(
            ["id", "updated", "turns", "workspace", "title"],
            [
                [
                    thread.thread_id,
                    when(thread.updated_at),
                    str(thread.turn_count),
                    thread.workspace_id,
                    titles[thread.thread_id],
                ]
                for thread in result.threads
            ],
        )
        if result.next_cursor is not None:
            hint(MORE)
    return OK


async def _read_first_words(door: HomeMethods, thread_id: str) -> str:
    """Return the beginning of a conversation's first message, in quotes; empty without messages."""
    asked = {"thread_id": thread_id, "kinds": ["user_message", "agent_message"], "limit": 1}
    try:
        items = (await door.call(m.THREAD_HISTORY, asked)).items
    except CallerError:  # it was deleted this moment
        return ""
    said = plain(items[0].text) if items else ""
    return f'"{said[:FIRST_WORDS].rstrip()}{"…" if len(said) > FIRST_WORDS else ""}"' if said else ""


def _no_threads(given: argparse.Namespace) -> str:
    """Return the sentence for an empty list of conversations, with the command that brings some in."""
    if not has_home(given):
        return f"there are no conversations yet; {describe_no_home(given)}"
    if given.archived:
        return "no conversation is archived"
    where = "" if given.everywhere else f" in workspace {plain(given.workspace)} (--everywhere looks into all)"
    return f"there are no conversations yet{where}; `pioneer import` brings those that you had elsewhere"


def _show_talk(given: argparse.Namespace) -> int:
    params = {"thread_id": given.thread, "kinds": ["user_message", "agent_message"], "order": "desc"}
    result = through_door(given, lambda door: collect_pages(door, m.THREAD_HISTORY, params, "items", limit_of(given)))
    if given.json:
        show_json(result)
        return OK
    if result.next_cursor is not None:
        hint("… and what was said before: --limit N, or --all")
    for item in reversed(result.items):
        say(f"{when(item.at)}  {item.role}", "bold")
        say(readable(item.text))
        say()
    return OK


def _rename(given: argparse.Namespace) -> int:
    params = {"thread_id": given.thread, "name": given.rename}
    result = through_door(given, lambda door: door.call(m.THREAD_UPDATE, params))
    if given.json:
        show_json(result)
    else:
        say(f"renamed: {result.thread.thread_id}  {plain(result.thread.name or '')}", "green")
    return OK


def _delete_thread(given: argparse.Namespace) -> int:
    params = {"thread_id": given.thread}
    if not given.yes:
        thread = through_door(given, lambda door: door.call(m.THREAD_GET, params)).thread
        named = f"{thread.thread_id} ({plain(thread.name or 'without a title')}, {thread.turn_count} turns)"
        confirm(f"delete {named} for ever?")
    return _show_deleted(given, through_door(given, lambda door: door.call(m.THREAD_DELETE, params)), given.thread)


# -- workspaces --------------------------------------------------------------------------------------------------------


def _arrange_workspaces(to: argparse.ArgumentParser) -> None:
    add_home(to)
    add_json(to)
    add_sureness(to)
    to.add_argument("subject", nargs="?", metavar="ID", help="show only this one")
    to.add_argument("--delete", action="store_true", help="remove this one, its conversations and its memory for ever")


def _workspaces(given: argparse.Namespace) -> int:
    _require_subject(given, given.subject, ("delete",))
    if given.delete:
        return _delete_workspace(given)
    result = through_door(given, lambda door: _read_workspaces(door, given.subject))
    if given.json:
        show_json(result)
    else:
        show_table(
            ["id", "made", "name", "folder", "state"],
            [
                [
                    workspace.workspace_id,
                    when(workspace.created_at),
                    workspace.name or "",
                    workspace.root_path or "",
                    "" if workspace.state == "active" else workspace.state,
                ]
                for workspace in result.workspaces
            ],
        )
    return OK if result.workspaces else NEGATIVE


async def _read_workspaces(door: HomeMethods, workspace_id: str | None) -> WorkspaceListResult:
    if workspace_id is None:
        return await collect_pages(door, m.WORKSPACE_LIST, {}, "workspaces", None)
    one = (await door.call(m.WORKSPACE_GET, {"workspace_id": workspace_id})).workspace
    return WorkspaceListResult(workspaces=[one], next_cursor=None)


def _delete_workspace(given: argparse.Namespace) -> int:
    params = {"workspace_id": given.subject}
    if not given.yes:
        through_door(given, lambda door: door.call(m.WORKSPACE_GET, params))  # an unknown one is an error, no question
        confirm(f"delete {plain(given.subject)}, its conversations and its memory for ever?")
    return _show_deleted(given, through_door(given, lambda door: door.call(m.WORKSPACE_DELETE, params)), given.subject)


COMMANDS = {
    "threads": Command(
        _arrange_threads,
        _threads,
        '  pioneer threads\n  pioneer threads thr_… --limit 50\n  pioneer threads thr_… --rename "Timetables"\n'
        "  pioneer threads thr_… --delete",
    ),
    "workspaces": Command(
        _arrange_workspaces,
        _workspaces,
        "  pioneer workspaces\n  pioneer workspaces ws_… --delete\n  pioneer workspaces --json",
    ),
}
