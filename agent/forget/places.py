"""The places of a conversation that a forgotten memory's words may stand in, and how they leave them.

Rule 1: indexes get every changed item in the same transaction, so that none holds words that no text holds.
Rule 2: the bytes of a received file are never changed: a file that holds the words is named.
"""

import codecs
from collections.abc import Callable, Iterator, Sequence
from typing import BinaryIO

import anyio

from agent.files.reading import Files
from agent.rows.artifacts import list_kept_files
from agent.rows.items import read_items, turn_items
from agent.rows.spoken_texts import WORDS_OF_EVENT
from agent.rows.statements import SQL
from agent.rows.turns import thread_turns
from protocol.saying import Saying
from protocol.seams.house_facts import ItemFact
from protocol.seams.ports import Transact, Tx
from protocol.seams.shelves import Column, SayingRow, Shelf, Shelves

SHELVES = (
    Shelf("message", "item", "said_in_items", "keep_said_item",
          (Column("text"), Column("name"), Column("tool", ("arguments",))), ("item_id",)),
    Shelf("turn", "turn", "said_in_turns", "keep_said_turn",
          (Column("manifest", ("plan", "message", "data"), ("knowledge_ids",)),
           Column("tool_events", WORDS_OF_EVENT)),
          ("turn_id", "upstream")),
    Shelf("tool_reply", "tool_reply", "said_in_replies", "keep_said_reply",
          (Column("result", ("data", "message")),), ("call_id",)),
    Shelf("hook_run", "hook_run", "said_in_runs", "keep_said_run", (Column("diagnostics", ("data", "message")),)),
    Shelf("thread", "thread", "said_in_threads", "keep_said_thread",
          (Column("name"), Column("instructions")), ("thread_id", "agent_id", "task_id", "model", "provider", "cwd")),
    Shelf("workspace", "workspace", "said_in_workspaces", "keep_said_workspace",
          (Column("name"),), ("workspace_id", "root_path")),
    Shelf("artifact", "artifact", "said_in_artifacts", "keep_said_artifact",
          (Column("name"),), ("artifact_id", "kind", "mime")),
    Shelf("instruction", "instruction_version", "said_in_instructions", "keep_said_instruction",
          (Column("text"),), ("path",)),
    Shelf("shown_line", "shown_line", "said_in_shown_lines", "keep_said_shown_line",
          (Column("text"),), ("source_id",)),
)  # fmt: skip

BLOCK_BYTES = 1024 * 1024
OVERLAP_CHARS = 4096
"""A phrase that stands across two blocks of a file is found if it is no longer."""
ENCODINGS = ("utf-8", "utf-16-le", "utf-16-be")
HEAD_BYTES = 1024
"""Bytes in which a text of two bytes a character has zeros, and one of single bytes none."""


def conversation(on_redacted: Callable[[Tx, Sequence[ItemFact]], None]) -> Shelves:
    """Return the shelves of this house; `on_redacted` gets every item whose text or whose thread's name changed."""

    def notify_redacted(tx: Tx, found: Sequence[SayingRow]) -> None:
        turns = [one.id for one in found if one.place == "turn"]
        for one in found:
            if one.place == "thread":  # each message is found by the name of its thread, too
                turns += thread_turns(tx, one.id)
        items = [one.id for one in found if one.place == "message"]
        items += [item_id for of_turn in turn_items(tx, turns).values() for item_id in of_turn]
        on_redacted(tx, list(read_items(tx, dict.fromkeys(items)).values()))

    return Shelves(SQL, SHELVES, notify_redacted)


class KeptFiles:
    """Looks into the files that messages carried."""

    def __init__(self, db: Transact, files: Files) -> None:
        self._db = db
        self._files = files

    async def say(self, saying: Saying) -> list[str]:
        """Return the ids of the files whose bytes say it. Pictures, sounds and films are not read."""
        kept = await self._db.read(list_kept_files)
        says: dict[str, bool] = {}
        for sha256 in {sha256 for _, sha256 in kept}:
            says[sha256] = await anyio.to_thread.run_sync(self._says, sha256, saying)
        return list(dict.fromkeys(artifact_id for artifact_id, sha256 in kept if says[sha256]))

    def _says(self, sha256: str, saying: Saying) -> bool:
        file = self._files.open(sha256)
        if file is None:
            return False
        with file:
            wide = b"\0" in file.read(HEAD_BYTES)
            return any(_is_in(file, encoding, saying) for encoding in (ENCODINGS if wide else ENCODINGS[:1]))


def _is_in(file: BinaryIO, encoding: str, saying: Saying) -> bool:
    file.seek(0)
    return any(saying.find_phrases(text) for text in _texts(file, encoding))


def _texts(file: BinaryIO, encoding: str) -> Iterator[str]:
    decoder = codecs.getincrementaldecoder(encoding)("ignore")
    tail = ""
    while block := file.read(BLOCK_BYTES):
        text = tail + decoder.decode(block)
        yield text
        tail = text[-OVERLAP_CHARS:]
