"""Repair: whatever mix of derived data is missing or wrong, the house answers again as if nothing had happened."""

import asyncio
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from clock import START
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from memory_home import HERE, NAME, SURE, USER, WS1, MemoryHome
from sizes import size

from gateway.store import threads as database_module
from gateway.store.sqlite import connect
from memory import repair as repair_module
from memory.read import vectors as vectors_module
from memory.rows import repair as repair_rows
from protocol.errors import CallerError
from protocol.memory.changes import HistoryParams
from protocol.memory.explaining import ExplainParams, ExplainTarget
from protocol.memory.forgetting import ForgetByScope, ForgetParams
from protocol.seams import checks as checks_module
from protocol.seams.ports import Tx
from retrieval import audit as audit_module

WORDS = ("tea", "jam", "quokka", "harbour", "violin", "Zürich", "東京タワー")
EXAMPLES = size("repair_examples")
"""A home is made for each; a hundred take a minute."""


@pytest.fixture
def home(tmp_path: Path) -> Iterator[MemoryHome]:
    made = MemoryHome(tmp_path)
    yield made
    made.close()


def populate(home: MemoryHome) -> None:
    """Records in every state, candidates, a chain, tombstones."""
    home.switch(review_enabled=True)
    for n, word in enumerate(WORDS):
        home.remember(f"Likes {word}", scope=WS1 if n % 2 else USER, tags=[f"tag{n}"])
    for text in ("vi", "vim", "emacs"):
        home.remember(text, key="editor")
    home.propose("Is called Anna", NAME)
    home.propose("Is called Berta", NAME)
    said = home.say("I like figs")
    home.propose("Likes figs", SURE, [said])
    home.propose("Likes figs", SURE, [home.say("Figs: I like figs")])
    home.remember("Passes by", expires_at=START + 5)
    home.later(10)
    home.do(home.service.sweep())
    home.forget(home.remember("Forgotten soon").record.memory_id)
    home.forget(home.remember("Erased soon").record.memory_id, mode="erase")


def answers(home: MemoryHome) -> list[Any]:
    """All that the house tells, without the times at which repair touched it.

    A read makes a record stronger, up to a bound: all are read often enough first that the order of hits stays.
    """
    for (memory_id,) in home.rows("SELECT memory_id FROM record ORDER BY id"):
        home.get(memory_id, include_deleted=True)
    every: list[Any] = ["active", "superseded", "expired", "archived"]
    shown: list[Any] = [
        home.found(word, statuses=every) for word in (*WORDS, "editor", "emacs", "vi", "figs", "Anna", "soon", "by")
    ]
    for row in home.rows("SELECT memory_id FROM record ORDER BY id"):
        record = home.get(row[0], include_deleted=True)
        shown.append(
            record
            and (
                record.content,
                record.status,
                record.evidence_count,
                record.supersedes,
                record.superseded_by,
                record.index_state,
            )
        )
        shown.append(len(home.do(home.service.questions.history(HistoryParams(memory_id=row[0], context=HERE))).events))
    shown.append(home.rows("SELECT quote, memory_id, candidate_id FROM evidence ORDER BY id"))
    shown.append(home.rows("SELECT content, status, evidence_count FROM candidate ORDER BY id"))
    shown.append(home.rows("SELECT id, sz FROM memory_fts_docsize ORDER BY id"))
    shown.append(home.rows("SELECT id, active FROM scope ORDER BY id"))
    return [*shown, sorted(home.rows("SELECT term, doc FROM memory_terms"))]


def unchecked(home: MemoryHome, *statements: str) -> None:
    """What nothing of ours would do to the file."""
    connection = connect(home.path, synchronous="off", creates=False)
    connection.execute("PRAGMA foreign_keys = off").fetchall()
    connection.execute("PRAGMA ignore_check_constraints = on").fetchall()
    for statement in statements:
        connection.execute(statement).fetchall()
    connection.close()


def terms_of_row(home: MemoryHome, row: int) -> str:
    return " ".join(term for (term,) in home.rows(f"SELECT term FROM memory_terms WHERE doc = {row}"))  # noqa: S608


def lose_a_row(home: MemoryHome) -> None:
    for (row,) in home.rows("SELECT row FROM record_terms JOIN memory_fts_docsize ON id = row ORDER BY row LIMIT 2"):
        body = terms_of_row(home, row)
        unchecked(home, f"INSERT INTO memory_fts (memory_fts, rowid, body) VALUES ('delete', {row}, '{body}')")  # noqa: S608


DAMAGES: dict[str, Callable[[MemoryHome], None]] = {
    "no index": lambda home: unchecked(home, "INSERT INTO memory_fts (memory_fts) VALUES ('delete-all')"),
    "lost rows": lose_a_row,
    "strange rows": lambda home: unchecked(
        home, "INSERT INTO memory_fts (rowid, body) VALUES (9999, 's1·likes s1·tea')"
    ),
    "doubled rows": lambda home: unchecked(
        home, "INSERT INTO memory_fts (rowid, body) VALUES (1, 's1·likes s1·strange s1·things')"
    ),
    "no terms": lambda home: unchecked(home, "DELETE FROM record_terms WHERE row % 3 = 0"),
    "no terms at all": lambda home: unchecked(home, "DELETE FROM record_terms"),
    "other terms": lambda home: unchecked(
        home, "UPDATE record_terms SET terms = (SELECT terms FROM record_terms ORDER BY row LIMIT 1) WHERE row % 2"
    ),
    "other scope": lambda home: unchecked(home, "UPDATE record_terms SET scope = 's7' WHERE row = 2"),
    "other lexicon": lambda home: unchecked(home, "UPDATE record_terms SET lexicon = 'old'"),
    "terms of the forgotten": lambda home: unchecked(
        home,
        "INSERT INTO record_terms SELECT record.id, 's1', terms, lexicon, digest FROM record, record_terms WHERE status = 'deleted' AND row = 1 "
        "ON CONFLICT DO NOTHING",
    ),
    "scopes that count wrong": lambda home: unchecked(home, "UPDATE scope SET active = active + 3"),
    "terms of nothing": lambda home: unchecked(
        home,
        "INSERT INTO record_terms SELECT 7777, 's1', terms, lexicon, digest FROM record_terms WHERE row = 1 ON CONFLICT DO NOTHING",
    ),
    "marked": lambda home: unchecked(home, "UPDATE record SET index_state = 'repair_needed' WHERE id % 2"),
    "waiting": lambda home: unchecked(home, "UPDATE record SET index_state = 'pending' WHERE id % 3 = 1"),
    "orphan evidence": lambda home: unchecked(
        home,
        "INSERT INTO evidence (memory_id, quote, source_kind, at) VALUES ('mem_none', 'x', 'user_statement', 1)",
        "INSERT INTO evidence (candidate_id, quote, source_kind, at) VALUES ('cand_none', 'x', 'user_statement', 1)",
    ),
    "repeated evidence": lambda home: unchecked(
        home,
        "INSERT INTO evidence (memory_id, candidate_id, quote, source_kind, thread_id, turn_id, item_id, at) "
        "SELECT memory_id, candidate_id, quote, source_kind, thread_id, turn_id, item_id, at FROM evidence",
    ),
    "wrong counts": lambda home: unchecked(
        home,
        "UPDATE record SET evidence_count = 41",
        "UPDATE candidate SET evidence_count = 43 WHERE status = 'pending'",
    ),
    "no successor": lambda home: unchecked(
        home, "UPDATE record SET superseded_by = 'mem_none' WHERE superseded_by IS NOT NULL"
    ),
    "erased successor": lambda home: unchecked(
        home, "UPDATE record SET superseded_by = '' WHERE superseded_by IS NOT NULL"
    ),
    "no predecessor": lambda home: unchecked(
        home, "UPDATE record SET supersedes = 'mem_none' WHERE supersedes IS NOT NULL"
    ),
}


def repair(home: MemoryHome, depth: Any = "deep") -> dict[str, int]:
    return dict(home.do(home.service.repairer.run(depth)).mended)


def test_a_home_without_damage_is_left_as_it_is(home: MemoryHome) -> None:
    populate(home)
    kept = "SELECT id, checksum, updated_at, status, supersedes, superseded_by, index_state FROM record"
    before, rows = answers(home), home.rows(kept)
    assert repair(home, "quick") == repair(home) == {}
    assert (answers(home), home.rows(kept)) == (before, rows)
    home.do(home.service.look_for_damage(is_unclean=False))
    assert home.rows("SELECT 1 FROM job WHERE kind = 'repair'") == []


@pytest.mark.parametrize("damage", DAMAGES)
def test_each_damage_is_found_and_mended(home: MemoryHome, damage: str) -> None:
    populate(home)
    before = answers(home)
    DAMAGES[damage](home)
    assert repair(home) != {}
    assert answers(home) == before
    assert repair(home) == {}


class Steps:
    """A clock that ticks with the work of SQLite: what takes long is the same on any machine."""

    def __init__(self) -> None:
        self.ticks = 0

    def monotonic(self) -> float:
        return self.ticks / 100

    def thread_time(self) -> float:
        self.ticks += 1  # asked for once whenever so many steps are done
        return self.monotonic()


@pytest.mark.loop("check")
def test_no_snapshot_of_a_repair_grows_with_the_home(home: MemoryHome, monkeypatch: pytest.MonkeyPatch) -> None:
    for n in range(250):
        home.remember(f"The {n}th quokka of the harbour likes green tea and jam {n * n}")
    before = answers(home)
    DAMAGES["lost rows"](home)
    monkeypatch.setattr(database_module, "time", Steps())
    monkeypatch.setattr(database_module, "PROGRESS_STEPS", 60)  # 12,000 steps, then a read is too long
    for module, name in (
        (checks_module, "BATCH"),
        (repair_module, "BATCH"),
        (repair_rows, "BATCH"),
        (audit_module, "LISTED"),
        (checks_module, "LOOKED_AT"),
        (audit_module, "ROWS"),
        (vectors_module, "LOOKED_AT"),
    ):
        monkeypatch.setattr(module, name, 25, raising=False)
    monkeypatch.setattr(audit_module, "PLACES", 250, raising=False)
    assert repair(home) == {"wrong_texts": 1}
    assert repair(home) == {}
    monkeypatch.undo()
    assert answers(home) == before


def test_what_is_written_while_the_index_is_looked_at_is_not_doubted(
    home: MemoryHome, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(audit_module, "ROWS", 3)
    monkeypatch.setattr(audit_module, "PLACES", 7)
    monkeypatch.setattr(audit_module, "LISTED", 3)
    kept = [home.remember(f"The {n}th quokka likes green tea").record.memory_id for n in range(12)]
    looks, told = audit_module.audit(repair_rows.INDEX), list[bool]()
    next(looks)

    def look(tx: Tx) -> None:
        try:
            looks.send(tx)
        except StopIteration as end:
            told.append(end.value)

    while not told:
        home.do(home.db.read(look))
        if kept:
            home.remember(f"Something else, said with {len(kept)} left")
            home.forget(kept.pop())
    assert told == [False]


def test_what_comes_and_goes_while_the_index_is_looked_at_is_not_doubted(
    home: MemoryHome, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(audit_module, "LISTED", 3)
    for n in range(12):
        home.remember(f"The {n}th quokka likes green tea")
    looks, told = audit_module.audit(repair_rows.INDEX), list[bool]()
    next(looks)

    def look(tx: Tx) -> None:
        try:
            looks.send(tx)
        except StopIteration as end:
            told.append(end.value)

    for _ in range(2):  # the kept terms are read
        home.do(home.db.read(look))
    guest = home.remember("A guest stays for a night").record.memory_id
    for _ in range(6):  # the rows that the index lists, and its terms
        home.do(home.db.read(look))
    home.forget(guest)
    while not told:
        home.do(home.db.read(look))
    assert told == [False]


SEVERED = [{"no successor", "no predecessor"}, {"erased successor", "no predecessor"}]
"""A link of which both ends are lost cannot be told by anybody."""


@pytest.mark.loop("check", "campaign")
@settings(
    max_examples=EXAMPLES,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(st.lists(st.sampled_from(sorted(DAMAGES)), min_size=1, max_size=6))
def test_any_mix_of_damage_converges(tmp_path_factory: pytest.TempPathFactory, mix: list[str]) -> None:
    home = MemoryHome(tmp_path_factory.mktemp("repair"))
    try:
        populate(home)
        before = answers(home)
        for damage in mix:
            if not any(damage in pair and pair & {*mix} == pair and damage == "no predecessor" for pair in SEVERED):
                DAMAGES[damage](home)
        repair(home)
        assert answers(home) == before
        assert repair(home) == {}
        home.do(home.service.forget(ForgetParams(target=ForgetByScope(scope=USER), context=HERE, mode="erase")))
        home.do(home.service.forget(ForgetParams(target=ForgetByScope(scope=WS1), context=HERE, mode="erase")))
        assert home.vocabulary() == set()
    finally:
        home.close()


def test_a_cheap_look_finds_what_is_missing_and_queues_a_repair(home: MemoryHome) -> None:
    populate(home)
    repair(home)
    DAMAGES["lost rows"](home)
    state = home.do(home.service.repair_state())
    assert (state.texts, state.damaged, state.erases) == (2, 0, 0)
    home.do(home.service.look_for_damage(is_unclean=False))
    assert home.rows("SELECT subject, state FROM job WHERE kind = 'repair'") == [("quick", "queued")]
    handle: Any = SimpleNamespace(job=SimpleNamespace(subject="quick"))
    home.do(home.service.repair(handle))
    assert home.do(home.service.repair_state()).texts == 0
    home.do(home.service.look_for_damage(is_unclean=True))
    assert ("deep", "queued") in home.rows("SELECT subject, state FROM job WHERE kind = 'repair'")


def test_an_erased_record_that_is_there_again_is_erased_again(home: MemoryHome) -> None:
    home.remember("Stays")
    made = home.remember("Likes quokkas").record
    names = ", ".join(name for (name,) in home.rows("SELECT name FROM pragma_table_info('record')"))
    row = home.rows(f"SELECT {names} FROM record ORDER BY id DESC LIMIT 1")[0]  # noqa: S608
    terms = home.rows("SELECT * FROM record_terms ORDER BY row DESC LIMIT 1")[0]
    body = terms_of_row(home, terms[0])
    home.forget(made.memory_id, mode="erase")

    def back(tx: Tx) -> None:
        tx.run(f"INSERT INTO record ({names}) VALUES ({','.join('?' * len(row))})", row)  # noqa: S608
        tx.run("INSERT INTO record_terms VALUES (?, ?, ?, ?, ?)", terms)
        tx.run("INSERT INTO memory_fts (rowid, body) VALUES (?, ?)", (terms[0], body))

    home.sql(back)
    assert home.found("quokkas") == ["Likes quokkas"]
    assert home.do(home.service.repair_state()).erases == 1
    assert repair(home, "quick") == {"unfinished_erases": 1}
    assert home.found("quokkas") == []
    assert home.listed() == ["Stays"]
    assert home.rows("SELECT kind FROM job WHERE kind = 'erase_finish' AND state <> 'cancelled'") == [("erase_finish",)]


# -- records that fail their own checksum ----------------------------------------------------------------------------

FLIPS = {
    "content": "content = replace(content, 'tea', 'sea')",
    "no longer text": "content = CAST(x'4c696b657320746561ff' AS TEXT)",
    "value": "value = '\"rum\"'",
    "key": "key = key || 'x'",
    "category": "category = 'identity'",
    "status": "status = 'expired'",
    "unknown status": "status = 'actjve'",
    "tags": "tags = '[\"x'",
    "provenance": "provenance = '{'",
    "metadata": "metadata = 'nothing'",
    "sensitivity": "sensitivity = 'personal'",
    "expiry": "expires_at = 99999999999999",
    "fingerprint": "fingerprint = x'00'",
    "unreadable value": "value = CAST(x'22ff22' AS TEXT)",
}


@pytest.mark.parametrize("flip", FLIPS)
def test_a_damaged_record_is_hidden_told_and_can_be_got_rid_of(home: MemoryHome, flip: str) -> None:
    made = home.remember("Likes tea", value="green").record
    home.remember("Likes jam")
    unchecked(home, f"UPDATE record SET {FLIPS[flip]} WHERE memory_id = '{made.memory_id}'")  # noqa: S608
    every: list[Any] = ["active", "superseded", "expired", "archived"]
    assert home.listed(statuses=every) == ["Likes jam"]
    assert home.found("tea sea likes", statuses=every, include_sensitive=True) == ["Likes jam"]
    assert home.get(made.memory_id, include_deleted=True) is None
    assert home.named(made.key) is None
    assert home.damage == [1]
    target = ExplainTarget(kind="memory", id=made.memory_id)
    told = home.do(home.service.questions.explain(ExplainParams(target=target, context=HERE)))
    assert [gate.gate for gate in told.gates if not gate.passed] == ["integrity"]
    report = home.do(home.service.repairer.run("deep"))
    assert report.damaged == 1
    assert home.do(home.service.repair_state()).damaged == 1
    assert home.vocabulary() & {"tea", "green"} == set()
    home.do(home.service.look_for_damage(is_unclean=False))
    assert home.damage == [1, 1, 1]
    gone = home.forget(made.memory_id, mode="erase")
    assert gone.forgotten_memory_ids == [made.memory_id]
    assert home.do(home.service.repairer.run("deep")).damaged == 0
    assert home.damage[-1] == 0
    assert home.listed() == ["Likes jam"]
    assert "tea" not in home.vocabulary()


def test_forgetting_does_not_make_damage_good(home: MemoryHome) -> None:
    made = home.remember("Likes tea").record
    unchecked(home, f"UPDATE record SET {FLIPS['content']}")  # noqa: S608
    assert home.forget(made.memory_id).forgotten_memory_ids == [made.memory_id]
    assert home.vocabulary() == set()
    with pytest.raises(CallerError):
        home.restore(made.memory_id)
    assert home.forget(made.memory_id).forgotten_memory_ids == []
    assert home.forget(made.memory_id, mode="erase").forgotten_memory_ids == [made.memory_id]
    assert home.rows("SELECT 1 FROM record") == []


def test_a_damaged_record_makes_room_for_what_is_said_anew(home: MemoryHome) -> None:
    home.remember("vim", key="editor")
    unchecked(home, "UPDATE record SET content = 'vyn'")
    again = home.remember("vim", key="editor")
    assert (again.created, again.record.content) == (True, "vim")
    assert home.listed() == ["vim"]
    assert home.rows("SELECT status FROM record ORDER BY id") == [("archived",), ("active",)]


def test_two_looks_at_once_do_not_disturb_each_other(home: MemoryHome) -> None:
    populate(home)
    DAMAGES["no index"](home)

    async def both() -> Sequence[Any]:
        return await asyncio.gather(home.service.repairer.damage(), home.service.repairer.damage())

    one, other = home.do(both())
    assert one == other
    assert {"wrong_texts"} <= one.keys()
    repair(home)
    assert home.do(home.service.repairer.damage()) == {}
