"""The receipt of an erase in plain words: the places that lost the words, and those that still hold them."""

import sys
from collections import Counter

from gateway.doors.terminal.screen import hint, plain, show_table
from protocol.memory.forgetting import ForgottenPlace, LeftFile, LeftPlace, LeftReason, Receipt

PLACES: dict[ForgottenPlace, tuple[str, str]] = {
    "message": ("message", "messages"),
    "turn": ("turn's notes of tools", "turns' notes of tools"),
    "tool_reply": ("answer of a tool", "answers of tools"),
    "hook_run": ("note of a hook", "notes of hooks"),
    "thread": ("conversation's name or instructions", "conversations' names or instructions"),
    "workspace": ("workspace's name", "workspaces' names"),
    "artifact": ("file", "files"),
    "memory": ("memory", "memories"),
    "candidate": ("candidate", "candidates"),
    "evidence": ("quote", "quotes"),
    "earlier_value": ("earlier value of a memory", "earlier values of memories"),
    "decision": ("decision's reason", "decisions' reasons"),
    "answer": ("kept answer", "kept answers"),
    "exclusion": ("exclusion's reason", "exclusions' reasons"),
    "config": ("configuration", "configurations"),
    "log": ("log", "logs"),
    "backup": ("backup", "backups"),
    "agent": ("agent's file", "agents' files"),
    "shown_line": ("recalled line of a conversation", "recalled lines of conversations"),
    "instruction": ("version of an instruction file", "versions of instruction files"),
}
"""The name of one and of several places of each kind."""

WHY: dict[LeftReason, str] = {
    "sources_kept": "you did not ask for it: --include-sources takes the words out there, too",
    "another_memory": "another memory that you keep says the same",
    "restorable": "it is forgotten and can be restored: forget it with --erase as well",
    "common_word": "the word stands in so many places that it is not this memory's own",
    "identifier": "it is an id or a path, which others refer to",
    "file_content": "it is inside a file that you gave: delete the file to be rid of it",
    "own_file": "the file is your own: change it yourself",
    "log_line": "a log of the gateway says it: delete the file",
    "may_hold_it": "it was made before and may hold it: remove it if you do not need it",
    "unreadable": "it could not be read: see `pioneer doctor`",
    "still_written": "it is still being said: forget it again when that is over",
}
"""The sentence for each reason for which a place still holds the words."""
NAMED = 20
"""The most places that are named; `--json` has more."""


def show_sources(receipt: Receipt, *, is_rehearsal: bool) -> None:
    """Show how many places of each kind the words were removed from."""
    counts: Counter[ForgottenPlace] = Counter(one.place for one in receipt.sources)
    if counts:
        named = ", ".join(f"{count} {PLACES[place][count > 1]}" for place, count in counts.items())
        hint(f"its words {'would be' if is_rehearsal else 'were'} taken out of {named}")


def show_left(receipt: Receipt, *, is_rehearsal: bool) -> None:
    """Show the places that still hold the words, with the reasons."""
    left = receipt.remaining
    rows = [*map(_row, left.places), *map(_row_of_file, left.files)]
    if not rows and not left.more:
        return
    hint("would stay, and why:" if is_rehearsal else "left, and why:", "yellow")
    if rows:
        show_table(["place", "which", "why"], rows[:NAMED], to=sys.stderr)
    more = len(rows[NAMED:]) + left.more
    if more:
        hint(f"and {more} more; --json names {'them' if not left.more else 'the first'}", "yellow")


def _row(left: LeftPlace) -> list[str]:
    name = plain(left.id)
    return [PLACES[left.place][0], f"HOME/backups/{name}" if left.place == "backup" else name, WHY[left.reason]]


def _row_of_file(left: LeftFile) -> list[str]:
    return ["file of a collection", plain(f"{left.collection_id}:{left.path}"), WHY[left.reason]]
