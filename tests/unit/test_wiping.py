"""What is deleted leaves no byte in the file, also where pages were balanced."""

import asyncio
import random
from pathlib import Path

import apsw
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.store.database import Database
from gateway.store.sqlite import Handle, connect
from gateway.store.wiping import find_leftovers, free_room, wipe

ROUNDS = 2500
SEEDS = (2,)


def churn(path: Path, seed: int) -> tuple[set[bytes], set[bytes]]:
    """Rows of all sizes that come and go; the words of those that went, and of those that stayed."""
    rnd = random.Random(seed)
    connection = connect(path, synchronous="off")
    connection.execute(
        "CREATE TABLE r (id INTEGER PRIMARY KEY, scope INTEGER, content TEXT, word TEXT) STRICT;"
        "CREATE INDEX r_word ON r (scope, word);"
        "CREATE VIRTUAL TABLE f USING fts5(body, content = '', tokenize = 'ascii');"
        "INSERT INTO f(f, rank) VALUES ('secure-delete', 1)"
    ).fetchall()
    alive: dict[int, str] = {}
    gone: set[bytes] = set()
    for _ in range(ROUNDS):
        if rnd.random() < 0.6 or len(alive) < 50:
            word = "".join(rnd.choices("bcdfghjklmnpqrstvwxz", k=14))
            values = (rnd.randrange(5), f"{word} {'e' * rnd.choice([10, 50, 200, 900, 3000])}", word)
            connection.execute("INSERT INTO r (scope, content, word) VALUES (?, ?, ?)", values).fetchall()
            row = connection.last_insert_rowid()
            connection.execute("INSERT INTO f (rowid, body) VALUES (?, ?)", (row, word)).fetchall()
            alive[row] = word
        else:
            row = rnd.choice(list(alive))
            word = alive.pop(row)
            connection.execute("INSERT INTO f (f, rowid, body) VALUES ('delete', ?, ?)", (row, word)).fetchall()
            connection.execute("DELETE FROM r WHERE id = ?", (row,)).fetchall()
            gone.add(word.encode())
    connection.close()
    return gone, {word.encode() for word in alive.values()}


@pytest.mark.parametrize("seed", SEEDS)
def test_nothing_that_was_deleted_is_in_the_file(tmp_path: Path, seed: int) -> None:
    path = tmp_path / "gateway.db"
    gone, kept = churn(path, seed)
    assert any(word in path.read_bytes() for word in gone), (
        "without wiping something stays: else nothing is tested here"
    )

    async def story() -> None:
        db = Database(path)
        try:
            await db.read(lambda tx: tx.all("SELECT * FROM r"))  # pages in memory hold the leftovers too
            await db.write(lambda tx: tx.run("UPDATE r SET scope = scope"))
            assert await wipe(db)
            await db.write(lambda tx: tx.run("UPDATE r SET scope = scope + 1"))
            assert await db.truncate_wal()
        finally:
            db.close()

    asyncio.run(story())
    data = path.read_bytes()
    assert [word for word in gone if word in data] == []
    assert all(word in data for word in kept)
    check: Handle = apsw.Connection(str(path))
    assert check.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
    check.close()


def test_another_reader_is_waited_for(tmp_path: Path) -> None:
    path = tmp_path / "gateway.db"
    connect(path, synchronous="off").execute("CREATE TABLE r (id INTEGER PRIMARY KEY) STRICT").fetchall()
    reader: Handle = apsw.Connection(str(path))

    async def story() -> None:
        db = Database(path)
        try:
            reader.execute("BEGIN").fetchall()
            reader.execute("SELECT count(*) FROM r").fetchall()
            await db.write(lambda tx: tx.run("INSERT INTO r DEFAULT VALUES"))
            assert not await wipe(db)
            reader.execute("COMMIT").fetchall()
            assert await wipe(db)
        finally:
            db.close()

    asyncio.run(story())
    reader.close()


@given(st.binary(min_size=512, max_size=512), st.integers(1, 3))
def test_whatever_a_page_holds_its_free_room_lies_within_it(page: bytes, number: int) -> None:
    for start, end in free_room(page, number, 512):
        assert 0 <= start <= 512
        assert end <= 512
    assert all(start < end for start, end in find_leftovers(page, number, 512))
