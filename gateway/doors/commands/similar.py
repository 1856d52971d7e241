"""`pioneer similar`, which lists pairs of memories that look alike, and `pioneer merge`, which makes one of two."""

import argparse

from gateway.base.exit_codes import OK
from gateway.doors.commands import Command
from gateway.doors.commands.door import HomeMethods, through_door
from gateway.doors.commands.naming import name_memory
from gateway.doors.commands.options import add_context, add_place, context_of, present, scopes_of
from gateway.doors.commands.paging import MORE, add_limit, collect_pages, limit_of
from gateway.doors.terminal.screen import hint, plain, say, show_json
from protocol import methods as m
from protocol.memory.writes import MergeResult


def _arrange_similar(to: argparse.ArgumentParser) -> None:
    add_place(to)
    add_context(to)
    to.add_argument("--scope", action="append", metavar="SCOPE", help="user, workspace, agent, thread; repeatable")
    to.add_argument("--sensitive", action="store_true", help="show regulated memories, too")
    add_limit(to)


def _similar(given: argparse.Namespace) -> int:
    params = present(scopes=scopes_of(given), include_sensitive=given.sensitive or None, context=context_of(given))
    result = through_door(given, lambda door: collect_pages(door, m.MEMORY_SIMILAR, params, "pairs", limit_of(given)))
    if given.json:
        show_json(result)
        return OK
    for pair in result.pairs:
        say(f"{pair.record.memory_id}  {plain(pair.record.content)}")
        say(f"{pair.other.memory_id}  {plain(pair.other.content)}")
        say()
    if result.next_cursor is not None:
        hint(MORE)
    hint("`pioneer merge ID INTO` makes them one" if result.pairs else "no two memories look alike")
    return OK


def _arrange_merge(to: argparse.ArgumentParser) -> None:
    add_place(to)
    add_context(to)
    to.add_argument("memory", metavar="ID", help="the memory that gives way")
    to.add_argument("into", metavar="INTO", help="the memory that stays")


def _merge(given: argparse.Namespace) -> int:
    async def work(door: HomeMethods) -> MergeResult:
        named = {"memory_id": given.memory, "into_memory_id": given.into}
        ids = {name: await name_memory(door, words, given) for name, words in named.items()}
        return await door.call(m.MEMORY_MERGE, {**ids, "context": context_of(given)})

    result = through_door(given, work, "write")
    if given.json:
        show_json(result)
    else:
        say(f"one now: {result.record.memory_id}  {plain(result.record.content)}", "green")
        hint(f"to undo: pioneer restore {result.merged_memory_id}")
    return OK


COMMANDS = {
    "similar": Command(_arrange_similar, _similar, "  pioneer similar\n  pioneer similar --scope user"),
    "merge": Command(_arrange_merge, _merge, "  pioneer merge mem_… mem_…"),
}
