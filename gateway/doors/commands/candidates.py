"""`pioneer candidates`: facts that wait for a person, and that person's decision."""

import argparse
from typing import get_args

from gateway.base.exit_codes import NEGATIVE, OK
from gateway.doors.commands import Command
from gateway.doors.commands.door import through_door
from gateway.doors.commands.options import add_context, add_place, context_of, present
from gateway.doors.commands.paging import MORE, add_limit, collect_pages, limit_of
from gateway.doors.terminal.screen import hint, plain, say, show_json, show_table, when, words
from protocol import methods as m
from protocol.memory.values import CandidateStatus


def _arrange(to: argparse.ArgumentParser) -> None:
    add_place(to)
    add_context(to)
    add_limit(to)
    to.add_argument(
        "--status",
        action="append",
        choices=get_args(CandidateStatus),
        metavar="NAME",
        help="default: pending; repeatable",
    )
    decision = to.add_mutually_exclusive_group()
    decision.add_argument("--approve", metavar="ID", help="remember it")
    decision.add_argument("--reject", metavar="ID", help="refuse it; the same is not proposed again")
    to.add_argument("--reason", help="your own words, kept with the decision")


def _candidates(given: argparse.Namespace) -> int:
    return _list(given) if given.approve is None and given.reject is None else _decide(given)


def _list(given: argparse.Namespace) -> int:
    params = present(statuses=given.status, context=context_of(given))
    result = through_door(
        given, lambda door: collect_pages(door, m.CANDIDATES_LIST, params, "candidates", limit_of(given))
    )
    if given.json:
        show_json(result)
        return OK if result.candidates else NEGATIVE
    show_table(
        ["id", "status", "scope", "made", "why", "content"],
        [
            [one.candidate_id, one.status, str(one.scope), when(one.created_at), words(one.reason_code), one.content]
            for one in result.candidates
        ],
    )
    if result.next_cursor is not None:
        hint(MORE)
    if not result.candidates:
        hint("nothing waits for you; `gateway.memory.review_enabled` lets facts of middling confidence wait")
    return OK if result.candidates else NEGATIVE


def _decide(given: argparse.Namespace) -> int:
    method = m.CANDIDATES_REJECT if given.approve is None else m.CANDIDATES_APPROVE
    params = present(candidate_id=given.approve or given.reject, reason=given.reason, context=context_of(given))
    result = through_door(given, lambda door: door.call(method, params), "write")
    if given.json:
        show_json(result)
    elif result.record is not None:
        say(f"kept: {result.record.memory_id}  {plain(result.record.content)}", "green")
    else:
        say(f"{result.candidate.status}: {result.candidate.candidate_id}  {plain(result.candidate.content)}", "green")
    return OK


COMMANDS = {
    "candidates": Command(
        _arrange,
        _candidates,
        "  pioneer candidates\n  pioneer candidates --approve cand_…\n  pioneer candidates --reject cand_…",
    )
}
