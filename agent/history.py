"""The recent conversation that goes into a request as it was said: newest first within a budget, whole turns."""

from collections.abc import Sequence

from agent.model import History
from agent.store import SQL, items_of_turn
from protocol.models import Message
from protocol.ports import Tx
from protocol.threads import Item

MAX_TURNS = 200  # beyond it, recall finds what matters; reading more costs time in every turn


def _said(items: Sequence[Item]) -> list[Message]:
    return [
        Message(role="user" if item.kind == "user_message" else "assistant", content=item.text)
        for item in items
        if item.kind in {"user_message", "agent_message"} and item.status == "completed" and item.text
    ]


def read_history(tx: Tx, thread_id: str, position: int, *, max_chars: int, min_turns: int) -> History:
    """What was said before a position: at least `min_turns` turns, more while `max_chars` allow."""
    rows = tx.all(SQL["ended_turns_of_thread"], {"thread_id": thread_id, "position": position, "limit": MAX_TURNS})
    chosen: list[tuple[str, list[Message]]] = []
    chars = 0
    for (turn_id,) in rows:
        messages = _said(items_of_turn(tx, turn_id))
        size = sum(len(message.content) for message in messages)
        if len(chosen) >= min_turns and chars + size > max_chars:
            break
        chosen.append((turn_id, messages))
        chars += size
    chosen.reverse()
    said = [message for _, messages in chosen for message in messages]
    asked = [message.content for message in said if message.role == "user"]
    return History(said, [turn_id for turn_id, _ in chosen], chars, asked[-1] if asked else None)
