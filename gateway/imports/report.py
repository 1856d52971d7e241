"""The report of an import: figures for programs, lines for a person, and the progress on a terminal.

Rule 1: nothing is passed over silently: each reason is counted, and the first places are named.
Rule 2: figures go to stdout, progress to stderr.
"""

import sys
import time
from collections import Counter
from typing import Any, Literal, TextIO, TypeAlias

import msgspec
from rich.console import Console
from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn

from gateway.imports.formats.draft import Conversation, Skipped, to_printable

Outcome: TypeAlias = Literal["new", "changed", "unchanged"]

MAX_NAMED = 1000
"""The most places that the figures name: a folder of a million pictures gives no list of a million lines."""
NAMED_FOR_PERSON = 20  # places on a screen
LINE_SECONDS = 5.0  # between two lines of progress where there is no terminal

HARMLESS = frozenset({"unknown_format", "link", "not_a_file", "no_messages", "duplicate_id", "nested_archive"})
"""Reasons that are no failure; each other one is."""

MEANING = {
    "unknown_format": "not a format that is known here",
    "link": "a link; links are not followed",
    "not_a_file": "not a regular file",
    "no_messages": "no message of a person or an assistant",
    "duplicate_id": "the same conversation was in this import before",
    "nested_archive": "an archive in an archive",
    "broken_json": "not valid JSON",
    "not_a_conversation": "not a conversation",
    "truncated": "the file ends in the middle",
    "too_large": "larger than 32 MiB",
    "circular": "its messages answer one another in a circle",
    "unreadable": "the file cannot be read",
    "damaged_archive": "the archive is damaged",
    "encrypted": "the archive needs a password",
    "too_many_files": "the archive holds too many files",
    "unpacks_to_too_much": "the archive unpacks to far more than talk does",
    "refused:conflict": "the gateway has something else under its ids",
    "refused:invalid_params": "the gateway does not take it",
    "refused:message_too_large": "larger than the gateway's limit for a message",
    "other_branch": "messages on branches that were left",
    "system": "instructions of the program, not of the user",
    "tool_call": "calls of tools",
    "tool_result": "results of tools",
    "thinking": "thoughts of the model",
    "file": "files whose content is not in the source",
    "record": "bookkeeping records",
    "sidechain": "talk of helpers of the assistant",
    "empty": "empty messages",
    "repeated": "messages that stand there twice",
    "error": "error messages of the program",
    "citation": "citation marks of the other program",
    "control": "control characters",
    "broken_line": "lines that are not valid JSON",
    "line_too_long": "lines over 32 MiB",
    "unknown_role": "messages of unknown roles",
    "unknown_block": "parts of unknown kinds",
}


class ImportCounts:
    """The counts of an import."""

    def __init__(self, workspace_id: str, *, is_dry_run: bool) -> None:
        self.workspace_id = workspace_id
        self.is_dry_run = is_dry_run
        self.is_interrupted = False
        self.problem: str | None = None
        """The reason that ended the run early."""
        self.files = 0
        self.messages = 0
        self.repaired = 0
        self.conversations: Counter[Outcome] = Counter()
        self.workspaces: Counter[str] = Counter()
        """Conversations by the workspace that they belong to."""
        self.turns: Counter[str] = Counter()
        self.left_out: Counter[str] = Counter()
        self.reasons: Counter[str] = Counter()
        self.skipped: list[Skipped] = []

    def skip(self, skipped: Skipped) -> None:
        """Note something that was passed over."""
        self.reasons[skipped.reason] += 1
        if len(self.skipped) < MAX_NAMED:
            self.skipped.append(skipped._replace(place=to_printable(skipped.place)))

    def add(
        self,
        conversation: Conversation,
        workspace_id: str,
        outcome: Outcome,
        *,
        imported: int,
        replaced: int,
        unchanged: int,
    ) -> None:
        """Count a conversation and the outcome of its turns."""
        self.conversations[outcome] += 1
        self.workspaces[workspace_id] += 1
        self.messages += len(conversation.messages)
        self.repaired += conversation.repaired
        self.left_out += conversation.left_out
        self.turns += Counter(imported=imported, replaced=replaced, unchanged=unchanged)

    @property
    def has_failures(self) -> bool:
        """Return whether some input could not be read or was refused."""
        return bool(self.reasons.keys() - HARMLESS)

    def figures(self) -> dict[str, Any]:
        """Return everything as JSON."""
        return {
            **({"error": {"message": self.problem}} if self.problem is not None else {}),
            "workspace_id": self.workspace_id,
            "workspaces": dict(self.workspaces.most_common()),
            "dry_run": self.is_dry_run,
            "interrupted": self.is_interrupted,
            "files": self.files,
            "conversations": {name: self.conversations[name] for name in ("new", "changed", "unchanged")},
            "turns": {name: self.turns[name] for name in ("imported", "replaced", "unchanged")},
            "messages": self.messages,
            "repaired_characters": self.repaired,
            "left_out": dict(sorted(self.left_out.items())),
            "skipped": {
                "total": self.reasons.total(),
                "by_reason": dict(sorted(self.reasons.items())),
                "first": [skipped._asdict() for skipped in self.skipped],
            },
        }

    def write_json(self, out: TextIO) -> None:
        """Write the figures as one line of JSON."""
        out.write(msgspec.json.encode(self.figures()).decode() + "\n")

    def write(self, out: TextIO) -> None:
        """Write a short account for a person."""
        done = self.conversations
        verb = "would be imported" if self.is_dry_run else "imported"
        places = list(self.workspaces) or [self.workspace_id]
        into = places[0] if len(places) == 1 else f"{len(places)} workspaces"
        out.write(
            f"{done.total()} conversations with {self.messages} messages from {self.files} files into "
            f"{into}: {done['new']} {verb}, {done['changed']} changed, {done['unchanged']} unchanged\n"
        )
        if len(places) > 1:
            out.writelines(f"  {count:>8}  in {place}\n" for place, count in self.workspaces.most_common())
        if self.repaired:
            out.write(f"{self.repaired} characters could not be stored and were replaced\n")
        if self.left_out:
            out.write("left out of conversations:\n")
            out.writelines(f"  {count:>8}  {MEANING.get(why, why)}\n" for why, count in self.left_out.most_common())
        if self.reasons:
            out.write(f"skipped ({self.reasons.total()}):\n")
            for entry in self.skipped[:NAMED_FOR_PERSON]:
                place = f", {entry.place}" if entry.place else ""
                out.write(f"  {entry.file}{place}: {MEANING.get(entry.reason, entry.reason)}\n")
        if self.reasons.total() > NAMED_FOR_PERSON:
            out.writelines(f"  {count:>8}  {MEANING.get(why, why)}\n" for why, count in self.reasons.most_common())
        if self.reasons["unknown_format"] and not done.total():
            out.write(
                "notes and documents are no conversations: `pioneer knowledge add DIR` has a folder's files searched\n"
            )
        if self.is_interrupted:
            out.write("stopped: what is imported stays; the same command goes on from there\n")


class Ticker:
    """Progress on stderr: a bar on a terminal, a line every few seconds elsewhere."""

    def __init__(self, total: int) -> None:
        self._total = max(1, total)
        self._done = 0.0
        self._shown_at = time.monotonic()
        self._bar: Progress | None = None
        console = Console(stderr=True)
        if console.is_terminal:
            self._bar = Progress(
                TextColumn("{task.description}", markup=False),
                BarColumn(),
                TaskProgressColumn(),
                TimeRemainingColumn(),
                console=console,
                transient=True,
            )
            self._task = self._bar.add_task("", total=self._total)
            self._bar.start()

    def advance(self, size: float) -> None:
        """Count bytes that were read."""
        self._done += size

    def show(self, report: ImportCounts) -> None:
        """Show how far the import is."""
        count = f"{report.conversations.total()} conversations"
        if self._bar is not None:
            self._bar.update(self._task, completed=self._done, description=count)
        elif time.monotonic() - self._shown_at >= LINE_SECONDS:
            self._shown_at = time.monotonic()
            sys.stderr.write(f"{min(100, int(100 * self._done / self._total))} %, {count}\n")

    def close(self) -> None:
        """Leave the terminal as it was."""
        if self._bar is not None:
            self._bar.stop()
