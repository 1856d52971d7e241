"""Forgetting what tools showed: only the turns in which a tool named the memory are looked at."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from clock import START
from memory_home import MemoryHome

from agent.forget.redaction import forget_copies
from agent.rows.items import StoredReply, add_item, add_tool_reply
from agent.rows.statements import SQL, to_json
from protocol.conversation.items import Item
from protocol.seams.ports import Bindings, Tx

TURNS = 40
FORGOTTEN = "mem_forgotten"


class Watched:
    """A transaction that counts what is read through it."""

    def __init__(self, tx: Tx) -> None:
        self._tx = tx
        self.rows = 0

    def run(self, statement: str, bindings: Bindings = ()) -> int:
        return self._tx.run(statement, bindings)

    def one(self, statement: str, bindings: Bindings = ()) -> Any:
        return self._tx.one(statement, bindings)

    def all(self, statement: str, bindings: Bindings = ()) -> list[Any]:
        found = self._tx.all(statement, bindings)
        self.rows += len(found)
        return found


@pytest.fixture
def home(tmp_path: Path) -> Iterator[MemoryHome]:
    made = MemoryHome(tmp_path)
    yield made
    made.close()


def shown(memory_ids: Sequence[str]) -> str:
    return to_json({"hits": [{"memory_id": name, "content": f"What {name} says"} for name in memory_ids]})


def fill(tx: Tx) -> None:
    for n in range(TURNS):
        turn_id, names = f"trn_{n}", [f"mem_{n}", *([FORGOTTEN] if n == 7 else [])]
        tx.run(
            SQL["add_turn"],
            {
                "turn_id": turn_id,
                "thread_id": "thr_1",
                "position": n,
                "driver": "host",
                "mode": "agent",
                "status": "completed",
                "options": "{}",
                "input_hash": None,
                "started_at": START,
                "completed_at": START,
                "owner": None,
                "origin": None,
                "caller": None,
                "memory_mode": None,
            },
        )
        item = Item(
            item_id=f"itm_{n}",
            turn_id=turn_id,
            thread_id="thr_1",
            kind="tool_result",
            role="tool",
            status="completed",
            text=shown(names),
            at=START,
            name=None,
            artifacts=[],
            tool=None,
        )
        add_item(tx, item, 0)
        add_tool_reply(tx, turn_id, "c", StoredReply(b"", shown(names)))


def test_a_copy_is_found_by_its_memory_and_no_other_turn_is_read(home: MemoryHome) -> None:
    home.sql(fill)
    watched: list[Watched] = []

    def forget(tx: Tx) -> int:
        watched.append(Watched(tx))
        watching: Any = watched[0]
        return forget_copies(watching, {FORGOTTEN: ["What it says"]})

    assert home.sql(forget) == 2
    assert watched[0].rows <= 5
    said = home.rows("SELECT text FROM item UNION ALL SELECT result FROM tool_reply")
    assert sum(f"What {FORGOTTEN} says" in text for (text,) in said) == 0
    assert sum("What mem_7 says" in text for (text,) in said) == 2
    assert home.sql(lambda tx: forget_copies(tx, {"mem_unknown": ["x"]})) == 0
