"""Changes of memories: edit, forget, confirm, restore."""

import argparse
import sys
from collections.abc import Sequence
from typing import Any, NamedTuple, get_args

from gateway.base.exit_codes import NEGATIVE, OK, USAGE
from gateway.doors.commands import Command
from gateway.doors.commands.door import BYTES_LEFT, HomeMethods, through_door
from gateway.doors.commands.left_words import show_left, show_sources
from gateway.doors.commands.memories import show_records
from gateway.doors.commands.naming import (
    KEY_SCOPES,
    NOT_THERE,
    find_memory,
    is_id,
    name_forgotten,
    name_memory,
    reach_memory,
)
from gateway.doors.commands.new_memories import hint_way_back, understand, value_of
from gateway.doors.commands.options import (
    add_context,
    add_place,
    add_sureness,
    context_of,
    number,
    present,
    scope_of,
    text_of,
    time_of,
)
from gateway.doors.commands.sensitive import hide_sensitive, hint_named_sensitive
from gateway.doors.terminal.exits import Stop
from gateway.doors.terminal.screen import can_ask, confirm, format_count, hint, plain, say, show_json, show_table
from protocol import methods as m
from protocol.memory.forgetting import ForgetResult, Receipt
from protocol.memory.writes import ConfirmResult, RestoreResult, UpdateResult
from protocol.record import Category, Record


def _arrange_edit(to: argparse.ArgumentParser) -> None:
    add_place(to)
    add_context(to)
    to.add_argument("memory", metavar="ID|WORDS", help="a memory's id or key, or words that only it has, in quotes")
    to.add_argument("text", nargs="*", metavar="TEXT", help="what is right instead; `-` reads stdin")
    to.add_argument("--category", choices=get_args(Category), metavar="NAME")
    to.add_argument("--tag", action="append", metavar="TAG", help="in place of all its tags; repeatable")
    to.add_argument("--value", metavar="JSON")
    to.add_argument("--importance", type=number, metavar="0..1")
    to.add_argument("--expires", metavar="TIME", help="a date, a span such as 30d, or never")


def _edit(given: argparse.Namespace) -> int:
    params = present(
        content=text_of(given.text) if given.text else None,
        category=given.category,
        tags=given.tag,
        value=value_of(given.value),
        importance=given.importance,
    )
    if given.expires is not None:
        params["expires_at"] = None if given.expires == "never" else time_of(given.expires, is_future=True)
    if not params:
        raise Stop(USAGE, "say what is to change: new words, or an option")
    params["context"] = context_of(given)

    async def work(door: HomeMethods) -> Correction:
        memory_id = await name_memory(door, given.memory, given)
        record = (await door.call(m.MEMORY_GET, {"memory_id": memory_id, "context": params["context"]})).record
        if record is not None and "value" not in params and _is_unsaid(record.value, params.get("content")):
            params["value"] = understand(params["content"], given.workspace).get("value")
        return Correction(await door.call(m.MEMORY_UPDATE, params | {"memory_id": memory_id}), record)

    result, before = through_door(given, work, "write")
    if given.json:
        show_json(result)
        return OK
    is_replaced = result.superseded_memory_id is not None
    hint("corrected:" if is_replaced else "changed:", "green")
    show_records([result.record])
    if is_replaced and before is not None:
        hint(f"in place of: {plain(before.content)}", "yellow")
        hint_way_back(result.record, before)
    return OK


class Correction(NamedTuple):
    """The outcome of an edit, with the memory as it was before."""

    result: UpdateResult
    before: Record | None


def _is_unsaid(value: Any, content: str | None) -> bool:
    """Return whether there are new words that lack a text `value`, which was then read from the old ones."""
    return content is not None and isinstance(value, str) and value.casefold() not in content.casefold()


def _arrange_forget(to: argparse.ArgumentParser) -> None:
    add_place(to)
    add_context(to)
    add_sureness(to)
    what = to.add_mutually_exclusive_group(required=True)
    what.add_argument(
        "memory", nargs="*", default=(), metavar="ID|WORDS", help="a memory's id or key, or words that only it has"
    )
    what.add_argument("--key", help="the memory of this key, in --scope, else in the workspace or of the user")
    what.add_argument("--turn", metavar="ID", help="everything learnt from this turn")
    what.add_argument("--of-thread", metavar="ID", help="everything learnt from this conversation")
    what.add_argument("--everything", action="store_true", help="everything in --scope")
    to.add_argument("--scope", metavar="SCOPE", help="user, workspace, agent, thread; --everything needs it")
    to.add_argument("--erase", action="store_true", help="for ever, to the last byte; not restorable")
    to.add_argument("--include-sources", action="store_true", help="with --erase: its words in conversations, too")
    to.add_argument("--reason", help="your own words, kept with it")
    to.add_argument("--dry-run", action="store_true", help="only say what would be forgotten")


def _targets_of(given: argparse.Namespace) -> list[dict[str, Any]]:
    """Return the targets that options name where no words name a memory, in the order in which they are tried.

    Raises `Stop`.
    """
    if given.turn is not None:
        return [{"kind": "turn", "turn_id": given.turn}]
    if given.of_thread is not None:
        return [{"kind": "thread", "thread_id": given.of_thread}]
    if given.everything:
        if given.scope is None:
            raise Stop(USAGE, "--everything needs a --scope")
        return [{"kind": "scope", "scope": scope_of(given.scope, given)}]
    scopes = (given.scope,) if given.scope else KEY_SCOPES
    return [{"kind": "scoped_key", "scope": scope_of(scope, given), "key": given.key} for scope in scopes]


class Forgetting(NamedTuple):
    """A forgetting, rehearsed or carried out, as `result.dry_run` says."""

    result: ForgetResult
    records: Sequence[Record]
    """The memories that are forgotten, as far as they are shown."""
    returned: Sequence[Record] = ()
    """The memories that these had replaced, and that are active again."""
    beside: Sequence[Record] = ()
    """The memories that stay although they rest on the same sentence."""

    @property
    def rows(self) -> list[list[str]]:
        """Return a row for each forgotten memory; only the words of a single one are shown though it is sensitive."""
        is_named = len(self.records) == 1
        return [[one.memory_id, one.category, one.content if is_named else hide_sensitive(one)] for one in self.records]

    @property
    def would_forget(self) -> bool:
        """Return whether it is a rehearsal that would forget something."""
        return self.result.dry_run and bool(self.result.forgotten_memory_ids or self.result.cancelled)


async def _rehearse(door: HomeMethods, targets: Sequence[dict[str, Any]], params: dict[str, Any]) -> ForgetResult:
    """Rehearse a forgetting of the first target that holds anything, and put that target into `params`."""
    would = ForgetResult(forgotten_memory_ids=[], dry_run=True)
    for target in targets:
        params["target"] = target
        would = await door.call(m.MEMORY_FORGET, params | {"dry_run": True})
        if would.forgotten_memory_ids or would.cancelled:
            break
    return would


async def _carry_out(door: HomeMethods, params: dict[str, Any], records: Sequence[Record]) -> Forgetting:
    result = await door.call(m.MEMORY_FORGET, params)
    before = [one.supersedes for one in records if one.supersedes is not None]
    former = await _read_records(door, before, params["context"])
    beside = await _read_records(door, result.same_sentence, params["context"])
    return Forgetting(result, records, [one for one in former if one.status == "active"], beside)


async def _read_records(door: HomeMethods, ids: Sequence[str], context: dict[str, Any]) -> list[Record]:
    found = [(await door.call(m.MEMORY_GET, {"memory_id": one, "context": context})).record for one in ids]
    return [one for one in found if one is not None]


async def _find_named_target(door: HomeMethods, given: argparse.Namespace) -> list[dict[str, Any]]:
    """Return the target of the memory that is named by its id, key or words; none where there is no such memory."""
    words = " ".join(given.memory)
    if is_id(words):
        await reach_memory(door, words, given)
        return [{"kind": "id", "memory_id": words}]
    found = await find_memory(door, words, given)
    return [{"kind": "id", "memory_id": found.memory_id}] if found is not None else []


def _forget(given: argparse.Namespace) -> int:
    targets = [] if given.memory else _targets_of(given)
    params = present(
        mode="erase" if given.erase else "tombstone",
        reason=given.reason,
        include_sources=given.include_sources or None,
        context=context_of(given),
    )

    async def work(door: HomeMethods) -> Forgetting:
        would = await _rehearse(door, await _find_named_target(door, given) if given.memory else targets, params)
        ids = would.forgotten_memory_ids
        is_small = len(ids) == 1 and not given.erase  # one memory that can be restored needs no question
        is_only_rehearsed = given.dry_run or not (ids or would.cancelled) or not (given.yes or is_small)
        is_shown = can_ask() or ((given.dry_run or len(ids) == 1) and not given.json)
        found = await _read_records(door, ids, params["context"]) if is_shown else []
        return Forgetting(would, found) if is_only_rehearsed else await _carry_out(door, params, found)

    forgetting = through_door(given, work)
    if forgetting.would_forget and not given.dry_run:
        _ask(
            forgetting, is_erasing=given.erase, is_json=given.json
        )  # outside of the event loop, as `confirm` has to be
        records = forgetting.records
        forgetting = through_door(given, lambda door: _carry_out(door, params, records))
    if given.json:
        show_json(forgetting.result)
    else:
        _show_forgotten(forgetting, is_erasing=given.erase)
    return OK if forgetting.result.forgotten_memory_ids else NEGATIVE


def _ask(forgetting: Forgetting, *, is_erasing: bool, is_json: bool) -> None:
    """Show what would be forgotten, and ask. Raises `Stop` without a yes."""
    if can_ask():
        show_table(["id", "category", "content"], forgetting.rows, to=sys.stderr)
        if forgetting.result.receipt is not None and not is_json:
            _show_receipt(forgetting.result.receipt, is_rehearsal=True)
    verb = "erase for ever" if is_erasing else "forget"
    count = format_count(len(forgetting.result.forgotten_memory_ids), "memory", "memories")
    confirm(f"{verb} {count}?")


def _show_forgotten(forgetting: Forgetting, *, is_erasing: bool) -> None:
    result = forgetting.result
    if not result.forgotten_memory_ids and not result.cancelled:
        hint("there is nothing to forget: no memory here has this id, this key or these words")
    elif result.dry_run:
        hint(f"would be {'erased for ever' if is_erasing else 'forgotten'}:")
        show_table(["id", "category", "content"], forgetting.rows)
    else:
        for memory_id in result.forgotten_memory_ids:
            say(f"{plain(memory_id)}  {'erased' if is_erasing else 'forgotten, and restorable for a while'}")
        for record in forgetting.records if not is_erasing and len(forgetting.records) == 1 else ():
            hint(f"it said: {plain(record.content)}")
            hint_named_sensitive(record)
            hint(f"to undo: pioneer restore {record.memory_id}")
        for former in forgetting.returned:
            hint(f"believed again: {plain(former.content)}", "yellow")
            hint(f"to forget that, too: pioneer forget {former.memory_id}")
        for other in forgetting.beside:
            hint(f"of the same sentence stays: {plain(other.content)}", "yellow")
            hint(f"to forget that, too: pioneer forget {other.memory_id}")
    if result.cancelled:
        hint(f"learning under way from {len(result.cancelled)} turns: nothing of this comes of it")
    if result.receipt is not None:
        _show_receipt(result.receipt, is_rehearsal=result.dry_run)


def _show_receipt(receipt: Receipt, *, is_rehearsal: bool) -> None:
    show_sources(receipt, is_rehearsal=is_rehearsal)
    if receipt.wal == "pending" and not is_rehearsal:
        hint(BYTES_LEFT, "yellow")
    show_left(receipt, is_rehearsal=is_rehearsal)


def _arrange_confirm(to: argparse.ArgumentParser) -> None:
    add_place(to)
    add_context(to)
    to.add_argument("memory", metavar="ID", help="the id of an agent's note; `pioneer list --notes` shows them")


def _confirm(given: argparse.Namespace) -> int:
    async def work(door: HomeMethods) -> ConfirmResult:
        if not await reach_memory(door, given.memory, given):
            raise Stop(NEGATIVE, NOT_THERE)
        return await door.call(m.MEMORY_CONFIRM, {"memory_id": given.memory, "context": context_of(given)})

    result = through_door(given, work, "write")
    if given.json:
        show_json(result)
    else:
        say(f"yours now: {result.record.memory_id}  {plain(result.record.content)}", "green")
    return OK


def _arrange_restore(to: argparse.ArgumentParser) -> None:
    add_place(to)
    add_context(to)
    to.add_argument("memory", nargs="+", metavar="ID|WORDS", help="a forgotten memory's id, or words that only it had")


def _restore(given: argparse.Namespace) -> int:
    async def work(door: HomeMethods) -> RestoreResult:
        memory_id = await name_forgotten(door, " ".join(given.memory), given)
        return await door.call(m.MEMORY_RESTORE, {"memory_id": memory_id, "context": context_of(given)})

    result = through_door(given, work, "write")
    if given.json:
        show_json(result)
    else:
        say(f"restored: {result.record.memory_id}  {plain(result.record.content)}", "green")
    return OK


COMMANDS = {
    "edit": Command(
        _arrange_edit,
        _edit,
        '  pioneer edit mem_… "The ferry leaves at ten."\n'
        '  pioneer edit ferry "The ferry leaves at noon."\n'
        "  pioneer edit mem_… --tag harbour --importance 0.9",
    ),
    "forget": Command(
        _arrange_forget,
        _forget,
        "  pioneer forget mem_…\n  pioneer forget coffee\n  pioneer forget mem_… --erase --yes\n"
        "  pioneer forget --everything --scope workspace --dry-run",
    ),
    "confirm": Command(_arrange_confirm, _confirm, "  pioneer confirm mem_…"),
    "restore": Command(_arrange_restore, _restore, "  pioneer restore mem_…\n  pioneer restore coffee"),
}
