"""What a write answers without reading it back is what is read afterwards, and a new fact is looked up in few steps."""

from pathlib import Path
from typing import Any

import pytest
from clock import START
from memory_home import SURE, WISH, WS1, MemoryHome

from gateway.embedding.spaces import SpaceIdentity, adopt
from gateway.store.sqlite import Transaction
from memory.rows.store import get_record
from protocol.memory.values import Evidence
from protocol.record import Actor, Provenance, Record

MOST_STEPS = 14
"""Statements of a fact that meets nothing; one for each of its telling words comes on top."""


@pytest.fixture
def home(tmp_path: Path):
    home = MemoryHome(tmp_path)
    yield home
    home.close()


def kept(home: MemoryHome, memory_id: str) -> Record:
    stored = home.sql(lambda tx: get_record(tx, memory_id))
    assert stored is not None
    assert stored.is_intact
    return stored.record


def have_model(home: MemoryHome, *, is_down: bool) -> None:
    known = home.sql(lambda tx: adopt(tx, SpaceIdentity("one", 64, "one"), 0, keeps_current=False))
    home.meaning.space, home.meaning.is_down = known.space, is_down


@pytest.mark.parametrize(
    "given",
    [
        {},
        {"value": {"b": [1, 2.5, None], "a": "é"}, "tags": ["x", "ö"], "metadata": {"n": 1}, "scope": WS1},
        {"importance": 1, "confidence": 0, "kind": "procedural", "category": "procedure"},
        {"key": "Drink", "value": "tea", "sensitivity": "personal", "expires_at": START + 5000, "valid_from": START},
        {"provenance": Provenance(created_by=Actor(kind="user", id="ann"), turn_id="trn_9")},
        {"sensitivity": "regulated"},
    ],
    ids=["bare", "value", "whole_numbers", "named", "provenance", "regulated"],
)
@pytest.mark.parametrize("model", ["off", "pending", "ready"])
def test_what_is_answered_and_told_is_what_is_kept(home: MemoryHome, given: dict[str, Any], model: str) -> None:
    if model != "off":
        have_model(home, is_down=model == "pending")
    answered = home.remember("I drink tea \N{EM DASH} 3 cups.", **given).record
    assert repr(answered) == repr(kept(home, answered.memory_id))
    assert answered.index_state == ("pending" if model == "pending" else "indexed")
    assert home.told[-1].params.record == (answered if answered.sensitivity != "regulated" else None)


def test_what_replaces_another_and_what_takes_over_a_candidate_is_answered_as_it_is_kept(home: MemoryHome) -> None:
    first = home.remember("I live in Oslo.", key="home").record
    second = home.remember("I live in Rome.", key="home")
    assert second.superseded_memory_id == first.memory_id
    assert repr(second.record) == repr(kept(home, second.record.memory_id))
    home.propose("I collect stamps.", WISH, disposition="create_pending_candidate")
    taken = home.propose("I collect stamps.", WISH)
    assert taken.record is not None
    assert taken.record.evidence_count == 2
    assert repr(taken.record) == repr(kept(home, taken.record.memory_id))


def test_the_same_words_of_the_same_message_support_a_fact_once(home: MemoryHome) -> None:
    said = home.say("I collect stamps.")
    record = home.propose(
        "I collect stamps.", SURE, evidence=[said, said, Evidence(quote="stamps", item_id=said.item_id)]
    )
    assert record.record is not None
    assert record.record.evidence_count == 2
    assert kept(home, record.record.memory_id).evidence_count == 2


def test_a_fact_that_meets_nothing_takes_few_statements(home: MemoryHome, monkeypatch: pytest.MonkeyPatch) -> None:
    home.remember("I live in Oslo.")
    seen: list[str] = []
    for name in ("run", "insert", "all"):  # `one` is the first of `all`
        plain = getattr(Transaction, name)

        def counted(tx: Transaction, statement: str, bindings: Any = (), plain: Any = plain) -> Any:
            seen.append(statement)
            return plain(tx, statement, bindings)

        monkeypatch.setattr(Transaction, name, counted)
    content = "Ann repaired the red kettle of the harbour."
    home.remember(content)
    assert len(seen) <= MOST_STEPS + len(home.lexicon.query_terms(content)), seen
