"""The recent conversation that goes into a request as it was said: newest first within a budget, whole turns.

Rule 1: it is chosen before the hooks run, so that recall knows what need not be recalled, and fitted once more when the
rest of the request is known; the second time it only loses.
Rule 2: the last turns always stay; what was left out can be seen in the manifest.
"""

from collections.abc import Sequence

from agent.model import History
from agent.store import SQL, items_of_turn
from protocol.models import Message
from protocol.ports import Tx
from protocol.threads import Item, ManifestBudget, ToolSpec

MAX_TURNS = 200  # beyond it, recall finds what matters; reading more costs time in every turn

RESERVED_CHARS = 8000
"""What the system's words and the tools usually take, before it is known; at most a quarter of the whole."""

BYTES_PER_TOKEN = 3
"""Tokenizers differ and none is here: English has 4 bytes to a token, Russian 5, Chinese 3; too many is the safe side."""
PICTURE_TOKENS = 1600
"""What the usual models count for the largest picture that they look at whole."""


def _said(items: Sequence[Item]) -> list[Message]:
    return [
        Message(role="user" if item.kind == "user_message" else "assistant", content=item.text)
        for item in items
        if item.kind in {"user_message", "agent_message"} and item.status == "completed" and item.text
    ]


def room_for_history(context_chars: int, text: str) -> int:
    """The characters of a request that are left for history when only the user's words are known."""
    return context_chars - min(RESERVED_CHARS, context_chars // 4) - len(text)


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
    counts = [len(messages) for _, messages in chosen]
    return History(said, [turn_id for turn_id, _ in chosen], chars, asked[-1] if asked else None, counts, len(rows))


def estimated_tokens(messages: Sequence[Message]) -> int:
    """About how many tokens messages have, rather too many than too few."""
    size = sum(len(message.content.encode()) for message in messages)
    return size // BYTES_PER_TOKEN + PICTURE_TOKENS * sum(len(message.pictures) for message in messages)


def fit_history(
    history: History,
    rest: Sequence[Message],
    tools: Sequence[ToolSpec],
    *,
    max_chars: int,
    max_tokens: int | None,
    min_turns: int,
) -> tuple[History, list[ManifestBudget]]:
    """The history that fits beside the rest of a request and its tools: the oldest turns go, `min_turns` stay."""
    offered = Message(role="system", content="".join(f"{t.name}{t.description}{t.parameters}" for t in tools))
    others = [*rest, offered]
    room = max_chars - sum(len(message.content) for message in others)
    room_tokens = max_tokens - estimated_tokens(others) if max_tokens is not None else None
    cut, messages = 0, history.messages
    chars, tokens = history.chars, estimated_tokens(messages)
    while len(history.turn_ids) - cut > min_turns and (
        chars > room or (room_tokens is not None and tokens > room_tokens)
    ):
        messages = messages[history.counts[cut] :]
        chars, tokens = sum(len(message.content) for message in messages), estimated_tokens(messages)
        cut += 1
    kept = history._replace(
        messages=messages, turn_ids=history.turn_ids[cut:], chars=chars, counts=history.counts[cut:]
    )
    budgets = [
        ManifestBudget(name="history_chars", limit=max(0, room), used=chars),
        ManifestBudget(name="history_turns", limit=history.available, used=len(kept.turn_ids)),
    ]
    if max_tokens is not None:
        used = tokens + estimated_tokens(others)
        budgets.append(ManifestBudget(name="request_tokens", limit=max_tokens, used=used))
    return kept, budgets
