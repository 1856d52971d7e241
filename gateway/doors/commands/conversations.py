"""`pioneer recall`: a search of earlier conversations."""

import argparse
import sys
from typing import Any, get_args

from gateway.base.exit_codes import NEGATIVE, OK
from gateway.doors.commands import Command
from gateway.doors.commands.door import MADE_AT_ONCE, HomeMethods, through_door
from gateway.doors.commands.options import add_place, add_words, number, positive, present, text_of, time_of
from gateway.doors.terminal.screen import hint, plain, show_json, show_table, when, words
from protocol import methods as m
from protocol.thread_episodic import IndexedRole, ThreadSearchResult

DIAGNOSTIC_WORDS = {
    "query_too_vague": "the question holds no word that could be looked for",
    "index_pending": "some messages are not indexed yet: a running gateway does that",
    "semantic_off": "by words only",
    "below_floor": "what was found fits too badly",
    "no_match": "nothing that was said fits",
    "disabled": "search of conversations is switched off in the settings",
    "recall_disabled": "recall of conversations is switched off in the settings",
}
"""The words for diagnostics of a search."""


async def find_said(door: HomeMethods, params: dict[str, Any]) -> ThreadSearchResult:
    """Return the result of `episodic/search`.

    Where messages wait for the index, or nothing is found and other workspaces are asked about, what waits in any
    workspace is indexed, and the search is made again.
    """
    result = await door.call(m.EPISODIC_SEARCH, params)
    is_pending = any(entry.code == "index_pending" for entry in result.diagnostics)
    if is_pending or (not result.hits and params.get("count_elsewhere")):
        await door.catch_up()
        result = await door.call(m.EPISODIC_SEARCH, params)
    return result


def _arrange_recall(to: argparse.ArgumentParser) -> None:
    add_place(to)
    to.add_argument("query", nargs="+", metavar="QUERY", help="plain words; `-` reads stdin")
    to.add_argument("--thread", metavar="ID", help="only in this conversation")
    to.add_argument("--from", dest="since", metavar="TIME", help="not before: a date, or a span such as 7d")
    to.add_argument("--to", dest="until", metavar="TIME", help="not after")
    to.add_argument(
        "--role",
        action="append",
        choices=get_args(IndexedRole),
        metavar="ROLE",
        help="user, assistant or tool; repeatable",
    )
    add_words(to)
    to.add_argument("--min-score", type=number, metavar="0..1", help="only what fits at least so well")
    to.add_argument("--limit", type=positive, default=20, metavar="N", help="at most so many, 1 to 100 (default: 20)")


def _recall(given: argparse.Namespace) -> int:
    params = present(
        workspace_id=given.workspace,
        query=text_of(given.query),
        thread_id=given.thread,
        from_at=time_of(given.since),
        to_at=time_of(given.until),
        roles=given.role,
        min_score=given.min_score,
        limit=given.limit,
        count_elsewhere=True,
    )

    async def work(door: HomeMethods) -> ThreadSearchResult:
        waiting = await door.count_pieces_without_vector()
        if 0 < waiting <= MADE_AT_ONCE:
            await door.catch_up()
        elif waiting:
            sys.stderr.write(
                f"pioneer: {waiting} pieces have no vector yet, and only words find them: `pioneer models index`\n"
            )
        result = await find_said(door, params)
        await door.hint_at(result.elsewhere)
        return result

    result = through_door(given, work, "later" if given.words else "write")
    if given.json:
        show_json(result)
    else:
        _show_hits(result)
    return OK if result.hits else NEGATIVE


def _show_hits(result: ThreadSearchResult) -> None:
    """Show the hits, best first, and the time that was read from the query; without hits, the reasons."""
    show_table(
        ["when", "who", "score", "conversation", "text"],
        [[when(hit.at), hit.role, f"{hit.score:.2f}", hit.thread_id, plain(hit.snippet)] for hit in result.hits],
    )
    if result.understood is not None:
        read = result.understood
        hint(f"understood: {plain(read.text)} ({when(read.from_at)} to {when(read.to_at)})", "dim")
    codes = [entry.code for entry in result.diagnostics if not (result.hits and entry.code == "semantic_off")]
    if not result.hits:
        hint("; ".join(["nothing found", *(DIAGNOSTIC_WORDS.get(code, words(code)) for code in codes)]))


COMMANDS = {
    "recall": Command(
        _arrange_recall,
        _recall,
        '  pioneer recall "timetable sync" --from 30d\n  pioneer recall harbour --role user --json',
    ),
}
