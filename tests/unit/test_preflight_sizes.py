"""What a model that plans is told of the size of memory and of conversation: counts that are kept anyway."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest
from episodic_home import DAY, NOON, Home
from memory_home import MemoryHome

from memory.rows.store import SQL as MEMORY_SQL
from protocol.conversation.turns import TurnOptions
from protocol.hooks import TurnContext
from protocol.sizes import ConversationSize
from thread_episodic.rows.statements import SQL as EPISODIC_SQL

TURN = TurnContext(
    workspace_id="a",
    thread_id="a_1",
    turn_id="t_now",
    agent_id=None,
    task_id=None,
    parent_thread_id=None,
    mode="agent",
    memory_mode="normal",
    origin="user",
    driver="gateway",
    options=TurnOptions(),
    now=NOON,
    time_zone="UTC",
)


@pytest.fixture
def home(tmp_path: Path) -> Iterator[Home]:
    home = Home(tmp_path)
    yield home
    home.close()


def goes_through_a_table(plan: list[tuple[Any, ...]]) -> bool:
    return any("SCAN" in str(row[-1]) for row in plan)


@pytest.mark.anyio
async def test_conversation_is_counted_by_its_workspace(home: Home) -> None:
    async def size(workspace_id: str = "a") -> ConversationSize:
        turn = msgspec.structs.replace(TURN, workspace_id=workspace_id)
        return await home.db.read(lambda tx: home.service.size(tx, turn))

    nothing = ConversationSize(threads=0, chunks=0, oldest_at=None)
    assert await size() == nothing
    await home.say("i1", "The valve leaks.", at=NOON - DAY)
    await home.say("i2", "The boiler hums.", thread="a_2")
    await home.say("b1", "Others have a valve, too.", thread="b_1")
    await home.index()
    assert await size() == ConversationSize(threads=2, chunks=2, oldest_at=NOON - DAY)
    assert await size("b") == ConversationSize(threads=1, chunks=1, oldest_at=NOON)
    assert await size("nowhere") == nothing
    home.change(recall_enabled=False)
    assert await size() == nothing
    assert not goes_through_a_table(
        await home.rows("EXPLAIN QUERY PLAN " + EPISODIC_SQL["size_of_workspace"].replace(":workspace", "1"))
    )


def test_memories_are_counted_by_the_scopes_of_the_turn(tmp_path: Path) -> None:
    home = MemoryHome(tmp_path)
    try:

        def sizes(**changes: Any) -> dict[str, int]:
            turn = home.turn(**changes)
            return {size.kind: size.count for size in home.sql(lambda tx: home.service.turns.sizes(tx, turn))}

        assert sizes() == {"user": 0, "workspace": 0, "thread": 0}
        kept = home.remember("The user likes tea.").record
        home.remember("The user lives in Oslo.")
        assert sizes() == {"user": 2, "workspace": 0, "thread": 0}
        assert sizes(parent_thread_id="thr_0") == {"workspace": 0, "thread": 0}
        home.forget(kept.memory_id)
        assert sizes()["user"] == 1
        assert not goes_through_a_table(
            home.rows("EXPLAIN QUERY PLAN " + MEMORY_SQL["count_in_scope"].replace(":scope_id", "1"))
        )
    finally:
        home.close()
