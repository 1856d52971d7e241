"""Rows of captured messages, which programs without memory passed on, and of the lines that these were shown."""

import json
from collections.abc import Collection, Mapping, Sequence
from typing import NamedTuple

from msgspec import Struct

from agent.rows.statements import SQL
from protocol.conversation.manifests import SourceRef
from protocol.conversation.values import RecallStatus, TurnStatus
from protocol.seams.ports import Row, Tx
from protocol.thread_episodic import parts_of_chunk

MOST_KNOWN = 2000
"""Captured messages that a look-up reads: a chain has at most 512 digests, most of them of one conversation."""


class KnownCapture(Struct, frozen=True):
    """A captured message as it is compared with one that comes."""

    row: int
    thread_id: str
    turn_id: str | None
    session: bytes | None
    root: bytes
    """The keyed digest of the conversation's first message."""
    user_hash: bytes
    """The keyed digest of the conversation up to the message."""
    answer_hash: bytes | None
    """The same up to the answer; None without one."""
    answer_name: bytes | None
    """The keyed digest of the name by which a later request goes on from the answer."""
    status: TurnStatus | None
    """That of its turn; None where nothing is kept, or its turn is about to begin."""
    is_superseded: bool
    is_newest: bool
    """No later message of its thread is known."""
    recall: RecallStatus | None
    is_of_subagent: bool


def _to_known_capture(row: Row) -> KnownCapture:
    thread, turn, session, root, user, answer, name, status, is_superseded, is_newest, recall, is_of_subagent = row[1:]
    said = (row[0], thread, turn, session, root, user, answer, name, status)
    return KnownCapture(*said, bool(is_superseded), bool(is_newest), recall, bool(is_of_subagent))


class ShownCapture(Struct, frozen=True):
    """A captured message that is shown something each time it comes."""

    row: int
    thread_id: str
    user_hash: bytes


class NewCapture(NamedTuple):
    """A captured message that is to be stored."""

    workspace_id: str
    thread_id: str
    turn_id: str | None
    session: bytes | None
    root: bytes
    user_hash: bytes
    is_of_subagent: bool = False


def add_capture(tx: Tx, new: NewCapture, now: int) -> int:
    """Store a captured message; return its row."""
    return tx.insert(SQL["add_capture"], new._asdict() | {"now": now})


def find_captures(
    tx: Tx,
    workspace_id: str,
    said: Collection[bytes],
    answers: Collection[bytes],
    *,
    name: bytes,
    session: bytes | None,
) -> list[KnownCapture]:
    """Return the captured messages of a workspace that may be of one conversation, newest first, at most `MOST_KNOWN`.

    Found are those whose own or whose answer's digest is in `said`, whose answer's digest is in `answers`, whose
    answer has that `name`, and the newest one of the session.
    """
    values = {
        "workspace_id": workspace_id,
        "said": json.dumps([one.hex() for one in said]),
        "answers": json.dumps([one.hex() for one in answers]),
        "name": name,
        "session": session,
        "limit": MOST_KNOWN,
    }
    return [_to_known_capture(row) for row in tx.all(SQL["captures_of_chain"], values)]


def captures_with_shown(tx: Tx, workspace_id: str, threads: Sequence[str]) -> list[ShownCapture]:
    """Return the captured messages of some threads that are still shown something, newest first."""
    values = {"workspace_id": workspace_id, "threads": json.dumps(list(threads)), "limit": MOST_KNOWN}
    return [ShownCapture(*row) for row in tx.all(SQL["captures_with_shown"], values)]


def get_capture(tx: Tx, row: int) -> KnownCapture | None:
    """Return a captured message by its row."""
    found = tx.one(SQL["get_capture"], {"row": row})
    return _to_known_capture(found) if found else None


def captures_in(tx: Tx, thread_id: str) -> list[KnownCapture]:
    """Return a thread's captured messages in order."""
    return [_to_known_capture(row) for row in tx.all(SQL["captures_of_thread"], {"thread_id": thread_id})]


def newest_of_session(tx: Tx, workspace_id: str, session: bytes) -> KnownCapture | None:
    """Return the newest captured message of a client's session."""
    return _get_found(tx, tx.one(SQL["newest_of_session"], {"workspace_id": workspace_id, "session": session}))


def newest_of_hash(
    tx: Tx, workspace_id: str, user_hash: bytes, client: str, agent_id: str | None
) -> KnownCapture | None:
    """Return the newest captured message with a digest, among those of a client and an agent."""
    values = {"workspace_id": workspace_id, "user_hash": user_hash, "client": client, "agent_id": agent_id}
    return _get_found(tx, tx.one(SQL["newest_of_hash"], values))


def _get_found(tx: Tx, found: Row | None) -> KnownCapture | None:
    return get_capture(tx, found[0]) if found and found[0] is not None else None


def capture_of_turn(tx: Tx, turn_id: str) -> int | None:
    """Return the row of a turn's captured message."""
    found = tx.one(SQL["capture_of_turn"], {"turn_id": turn_id})
    return found[0] if found else None


def renew_capture(tx: Tx, row: int, now: int) -> None:
    """Keep that a captured message came again."""
    tx.run(SQL["renew_capture"], {"row": row, "now": now})


def keep_recall(tx: Tx, row: int, recall: RecallStatus) -> None:
    """Keep how the recall of a captured message ended."""
    tx.run(SQL["keep_capture_recall"], {"row": row, "recall": recall})


def hide_capture(tx: Tx, row: int) -> None:
    """Keep that a message went out without what it was to be given, and drop that."""
    tx.run(SQL["hide_capture"], {"row": row, "recall": "skipped"})
    tx.run(SQL["remove_shown_of_capture"], {"row": row})


def answer_capture(tx: Tx, row: int, answer_hash: bytes, now: int, name: bytes | None = None) -> None:
    """Keep the digest of a conversation with the answer, and that of the answer's name."""
    tx.run(SQL["answer_capture"], {"row": row, "answer_hash": answer_hash, "answer_name": name, "now": now})


def first_shown(tx: Tx, thread_id: str) -> int | None:
    """Return the row of a thread's first message that went out with what it was given."""
    found = tx.one(SQL["first_shown_capture"], {"thread_id": thread_id})
    return found[0] if found else None


def idle_captures(tx: Tx, before: int, limit: int) -> list[str]:
    """Return the ids of captured turns that wait for an answer and were last asked before a time, oldest first."""
    return [turn_id for (turn_id,) in tx.all(SQL["idle_captures"], {"before": before, "limit": limit})]


def texts_of_recent(tx: Tx, workspace_id: str, since: int, limit: int) -> list[list[str]]:
    """Return the texts of each captured turn of a workspace that was answered since a time, of the newest turns."""
    values = {"workspace_id": workspace_id, "since": since, "limit": limit}
    said: dict[str, list[str]] = {}
    for turn_id, text in tx.all(SQL["texts_of_recent_captures"], values):
        said.setdefault(turn_id, []).append(text)
    return list(said.values())


def prune_captures(tx: Tx, before: int) -> int:
    """Drop messages of which nothing is kept that came before a time; return how many."""
    return tx.run(SQL["prune_captures"], {"before": before})


# -- what was shown ----------------------------------------------------------------------------------------------------


class BlockPiece(NamedTuple):
    """A piece of a block: text that frames lines, or a line with its source."""

    text: str
    source: SourceRef | None = None


class StoredPiece(Struct, frozen=True):
    """A stored piece of a block, and the mark that its source had."""

    row: int
    block: str
    source: SourceRef | None
    mark: bytes | None
    text: str


def add_shown(tx: Tx, row: int, block: str, pieces: Sequence[BlockPiece], marks: Mapping[str, bytes]) -> None:
    """Store the pieces of a block (`brief`, `standing`, `memory`, `thread`) with their marks, given by source id."""
    tx.run_many(
        SQL["add_shown_line"],
        [
            {
                "capture_id": row,
                "block": block,
                "source_kind": piece.source.kind if piece.source else None,
                "source_id": piece.source.id if piece.source else None,
                "source_turn": _turn_of(piece.source),
                "mark": marks.get(piece.source.id) if piece.source else None,
                "text": piece.text,
            }
            for piece in pieces
        ],
    )


def _turn_of(source: SourceRef | None) -> str | None:
    parts = parts_of_chunk(source.id) if source is not None and source.kind == "chunk" else None
    return parts[0] if parts is not None else None


def read_shown(tx: Tx, rows: Sequence[int]) -> dict[int, list[StoredPiece]]:
    """Return the shown pieces of captured messages, by the messages' rows; messages without any are absent."""
    found: dict[int, list[StoredPiece]] = {}
    for capture, row, block, kind, name, mark, text in tx.all(SQL["shown_lines"], {"captures": json.dumps(list(rows))}):
        source = SourceRef(kind=kind, id=name) if kind is not None else None
        found.setdefault(capture, []).append(StoredPiece(row, block, source, mark, text))
    return found


def move_recall(tx: Tx, row: int, to: int) -> None:
    """Move what message `row` was given to message `to`, which asks the same again; the brief stays."""
    tx.run(SQL["move_recall"], {"row": row, "to": to})


def copy_brief(tx: Tx, row: int, to: int) -> None:
    """Copy the brief of message `row` to message `to`."""
    tx.run(SQL["copy_brief"], {"row": row, "to": to})


def list_shown_sources(tx: Tx, thread_id: str) -> set[str]:
    """Return the ids of everything that messages of a thread were given."""
    return {name for (name,) in tx.all(SQL["shown_sources_of_thread"], {"thread_id": thread_id})}


def remove_shown(tx: Tx, rows: Collection[int]) -> None:
    """Drop pieces: they are left out from now on."""
    tx.run(SQL["remove_shown_lines"], {"rows": json.dumps(list(rows))})


def remove_shown_source(tx: Tx, source_id: str) -> int:
    """Drop what was shown of a source; return how many pieces went."""
    return tx.run(SQL["remove_shown_source"], {"source_id": source_id})
