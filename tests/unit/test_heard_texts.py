"""Texts of others are read once for all facts of a turn."""

from types import SimpleNamespace
from typing import Any

from memory.write.heard import HeardInTurn


def test_texts_of_others_are_read_once_a_turn() -> None:
    reads: list[str] = []

    def listed(_tx: Any, turn_id: str, _limit: int) -> list[str]:
        reads.append(turn_id)
        return ["A text of a tool."]

    means: Any = SimpleNamespace(list_texts_of_others=listed)
    tx: Any = None
    heard = HeardInTurn(tx, means, "trn_1")
    assert [heard.texts for _ in range(3)] == [[" a text of a tool "]] * 3
    assert reads == ["trn_1"]
