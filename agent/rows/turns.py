"""Rows of turns, and of what tools answered in host-driven ones.

Rule 1: `end_turn` alone changes the status of a turn.
"""

from typing import Any, Final, NamedTuple, cast

import msgspec
from msgspec import Struct

from agent.rows.statements import SQL, to_json
from agent.states import BEGINNINGS, TURNS, TurnDriver, TurnEvent
from protocol.conversation.manifests import PromptManifest
from protocol.conversation.turns import ToolEvent, Turn, TurnError, TurnOptions, TurnUpstream, Usage
from protocol.conversation.values import Driver, MemoryMode, Mode, TurnStatus
from protocol.seams.callers import RequestCaller, caller_of, encode_caller
from protocol.seams.ports import Row, Tx
from protocol.seams.transitions import after

_USAGE: Final = msgspec.json.Decoder(Usage)
_MANIFEST: Final = msgspec.json.Decoder(PromptManifest)
_OPTIONS: Final = msgspec.json.Decoder(TurnOptions)
_EVENTS: Final = msgspec.json.Decoder(list[ToolEvent])
_UPSTREAM: Final = msgspec.json.Decoder(TurnUpstream)
"""Built at import: msgspec does not guard two threads that build the decoder of one type at once."""


class StoredTurn(Struct, frozen=True):
    """A turn with what only this house needs."""

    turn: Turn
    input_hash: bytes | None
    options: TurnOptions
    last_seq: int
    position: int
    owner: str | None
    memory_mode: MemoryMode | None = None
    """The mode that its agent's definition asked for, where one acted."""
    is_brought_in: bool = False
    """It was said elsewhere, and came with its conversation."""


def _turn_of(row: Row) -> StoredTurn:
    driver = cast("Driver", "host" if row[3] == "import" else row[3])
    error = TurnError.of(row[8], retryable=bool(row[9])) if row[8] else None
    turn = Turn(
        turn_id=row[0],
        thread_id=row[1],
        workspace_id=row[2],
        driver=driver,
        mode=row[4],
        status=row[5],
        started_at=row[6],
        completed_at=row[7],
        error=error,
        rounds=row[10],
        usage=_USAGE.decode(row[11]) if row[11] else None,
        prompt_manifest=_MANIFEST.decode(row[12]) if row[12] else None,
        superseded_by=row[20],
        tool_events=_EVENTS.decode(row[18]),
        upstream=_UPSTREAM.decode(row[21]) if row[21] else None,
    )
    options = _OPTIONS.decode(row[14])
    return StoredTurn(turn, row[13], options, row[15], row[16], row[17], row[19], row[3] == "import")


def get_turn(tx: Tx, turn_id: str) -> StoredTurn | None:
    """Return a turn by id."""
    row = tx.one(SQL["get_turn"], {"turn_id": turn_id})
    return _turn_of(row) if row else None


def thread_turns(tx: Tx, thread_id: str) -> list[str]:
    """Return the turn ids of a thread in order."""
    return [row[0] for row in tx.all(SQL["turns_of_thread"], {"thread_id": thread_id})]


class KnownTurn(Struct, frozen=True):
    """A turn of a thread by what an import compares it with."""

    turn_id: str
    driver: str
    content: bytes | None
    position: int
    source: str | None = None
    """Names where an imported turn came from; none for a live one."""


def turns_by_source(tx: Tx, thread_id: str) -> list[KnownTurn]:
    """Return a thread's turns in order, each with where it came from."""
    return [KnownTurn(*row) for row in tx.all(SQL["turns_of_thread"], {"thread_id": thread_id})]


def list_ended_turns(tx: Tx, thread_id: str, position: int, limit: int) -> list[tuple[str, TurnStatus]]:
    """Return the turns of a thread that ended before a position as (turn id, status), newest first."""
    values = {"thread_id": thread_id, "position": position, "limit": limit}
    return [(turn_id, status) for turn_id, status in tx.all(SQL["ended_turns_of_thread"], values)]


def running_turn(tx: Tx, thread_id: str) -> str | None:
    """Return the turn that is running in a thread."""
    row = tx.one(SQL["running_turn_of_thread"], {"thread_id": thread_id})
    return row[0] if row else None


def is_running_in_workspace(tx: Tx, workspace_id: str) -> bool:
    """Return whether a turn is running in a workspace."""
    return tx.one(SQL["running_turn_of_workspace"], {"workspace_id": workspace_id}) is not None


def last_position(tx: Tx, thread_id: str) -> int:
    """Return the position of the newest turn of a thread; 0 where there is none."""
    return tx.all(SQL["last_position"], {"thread_id": thread_id})[0][0]


def turns_of_owner(tx: Tx, owner: str) -> list[tuple[str, str]]:
    """Return the turns that a process runs, or left running, as (turn id, thread id), oldest first."""
    return [(turn_id, thread_id) for turn_id, thread_id in tx.all(SQL["turns_of_owner"], {"owner": owner})]


def recently_interrupted(tx: Tx) -> list[tuple[str, str]]:
    """Return the turns whose process died and that no client was notified of as (thread id, turn id), oldest first."""
    return [(thread_id, turn_id) for thread_id, turn_id in tx.all(SQL["recently_interrupted"])]


def caller_of_turn(tx: Tx, turn_id: str) -> RequestCaller | None:
    """Return the door and the client that began a turn; None where neither is known."""
    row = tx.one(SQL["caller_of_turn"], {"turn_id": turn_id})
    return caller_of(row[0]) if row is not None else None


def generation_of_turn(tx: Tx, turn_id: str) -> int | None:
    """Return the number of the home's last forgetting before a turn began; None for a turn that is not there."""
    row = tx.one(SQL["generation_of_turn"], {"turn_id": turn_id})
    return row[0] if row else None


# -- the life of a turn ----------------------------------------------------------------------------------------------


class NewTurn(NamedTuple):
    """A turn that is to be stored: where, by whom it is run, and a digest of its input."""

    turn_id: str
    thread_id: str
    position: int
    driver: TurnDriver
    mode: Mode
    input_hash: bytes
    started_at: int
    options: TurnOptions | None = None
    owner: str | None = None
    """The process that runs it; None for one that has ended elsewhere."""
    origin: str | None = None
    """Names the source of an imported turn, by a digest; None for any other."""
    memory_mode: MemoryMode | None = None


def add_turn(tx: Tx, new: NewTurn) -> None:
    """Store a turn in the first status of its driver."""
    tx.run(
        SQL["add_turn"],
        new._asdict()
        | {
            "status": BEGINNINGS[new.driver],
            "options": "{}" if new.options is None else to_json(new.options),
            "completed_at": new.started_at if new.owner is None else None,
            "caller": encode_caller(),
        },
    )


def keep_prepared(tx: Tx, turn: Turn, seq: int) -> None:
    """Keep the manifest of a turn whose host may call its model now."""
    manifest = to_json(turn.prompt_manifest) if turn.prompt_manifest else None
    tx.run(SQL["keep_prepared"], {"turn_id": turn.turn_id, "manifest": manifest, "last_seq": seq})


def keep_manifest(tx: Tx, turn_id: str, manifest: PromptManifest) -> None:
    """Keep a turn's manifest, whatever its status."""
    tx.run(SQL["keep_manifest"], {"turn_id": turn_id, "manifest": to_json(manifest)})


class TurnLeft(Struct, frozen=True):
    """The results of a turn at its end, beside its items."""

    turn: Turn
    seq: int


def end_turn(
    tx: Tx, turn_id: str, status: TurnStatus, event: TurnEvent, now: int, left: TurnLeft | None = None
) -> None:
    """Apply an event to a turn of that status; one that another process has ended meanwhile stays as it is.

    `left` is None for a turn of which nothing more is known.
    """
    values = {"turn_id": turn_id, "before": status, "status": after(TURNS, status, event), "now": now}
    tx.run(SQL["end_turn"], values | (_NOTHING_LEFT if left is None else _values_of(left)))


_NOTHING_LEFT: dict[str, Any] = dict.fromkeys(
    ("error_reason", "error_retryable", "rounds", "usage", "manifest", "last_seq", "tool_events", "upstream")
)


def _values_of(left: TurnLeft) -> dict[str, Any]:
    turn = left.turn
    return {
        "error_reason": turn.error.reason if turn.error else None,
        "error_retryable": turn.error.retryable if turn.error else None,
        "rounds": turn.rounds,
        "usage": to_json(turn.usage) if turn.usage else None,
        "manifest": to_json(turn.prompt_manifest) if turn.prompt_manifest else None,
        "last_seq": left.seq,
        "tool_events": to_json(turn.tool_events),
        "upstream": to_json(turn.upstream) if turn.upstream else None,
    }


def keep_upstream(tx: Tx, turn_id: str, upstream: TurnUpstream) -> None:
    """Keep where a turn that runs went."""
    tx.run(SQL["keep_upstream"], {"turn_id": turn_id, "upstream": to_json(upstream)})


def supersede_turn(tx: Tx, turn_id: str, by: str) -> None:
    """Keep that the question of a turn was asked again in another one."""
    tx.run(SQL["supersede_turn"], {"turn_id": turn_id, "by": by})


def status_of_turn(tx: Tx, turn_id: str) -> TurnStatus | None:
    """Return the status of a turn."""
    row = tx.one(SQL["status_of_turn"], {"turn_id": turn_id})
    return row[0] if row else None


def complete_post_work(tx: Tx, turn_id: str) -> int | None:
    """Store that all work after a turn is done; return the number of its last notification, None if it was stored."""
    row = tx.one(SQL["post_complete"], {"turn_id": turn_id})
    return row[0] if row else None


def move_turn(tx: Tx, turn_id: str, position: int) -> None:
    """Keep a turn's place in its thread."""
    tx.run(SQL["move_turn"], {"turn_id": turn_id, "position": position})


def remove_turn(tx: Tx, turn_id: str) -> None:
    """Remove a turn with its items."""
    tx.run(SQL["remove_turn"], {"turn_id": turn_id})
