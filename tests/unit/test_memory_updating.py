"""Changing a record in place: what it says now is what it is known by."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest
from memory_home import DAY, HERE, NAME, SURE, USER, WS1, MemoryHome

from protocol.base import Scope
from protocol.errors import CallerError, Refused
from protocol.memory.forgetting import ForgetByThread, ForgetParams
from protocol.memory.values import Context
from protocol.record import Provenance

CITY = msgspec.structs.replace(SURE, category="identity", attribute="home")
FRIEND = msgspec.structs.replace(SURE, category="relationship", attribute="friend")


@pytest.fixture
def home(tmp_path: Path) -> Iterator[MemoryHome]:
    made = MemoryHome(tmp_path)
    yield made
    made.close()


@pytest.mark.parametrize("key", [None, "city"])
def test_a_former_value_said_again_is_news(home: MemoryHome, key: str | None) -> None:
    wish: dict[str, Any] = {"content": "Home city of the user", "key": key, "value": "Berlin"}
    first = home.remember(**wish).record
    changed = home.update(first.memory_id, value="Paris").record
    assert (changed.memory_id, changed.value) == (first.memory_id, "Paris")
    again = home.remember(**wish)
    assert (again.created, again.record.value) == (True, "Berlin")
    assert again.superseded_memory_id == (first.memory_id if key else None)
    for value in ["Berlin", *([] if key else ["Paris"])]:
        same = home.remember(**{**wish, "value": value})
        assert (same.created, same.record.value) == (False, value)


def test_what_the_extractor_hears_is_weighed_against_the_value_of_now(home: MemoryHome) -> None:
    first = home.propose("Lives in Berlin", CITY, value="Berlin").record
    assert first is not None
    home.update(first.memory_id, value="Paris")
    heard = home.propose("The home is Berlin", CITY, value="Berlin")
    assert (heard.relation, heard.evidence_merged) == ("contradiction", False)
    confirmed = home.propose("The home is Paris", CITY, value="Paris")
    assert (confirmed.relation, confirmed.evidence_merged) == ("duplicate", True)


def test_a_member_of_a_set_that_becomes_another_one_leaves_its_place(home: MemoryHome) -> None:
    first = home.propose("Anna is a friend", FRIEND, value="Anna").record
    assert first is not None
    changed = home.update(first.memory_id, value="Berta").record
    assert changed.key != first.key
    found = home.named(changed.key)
    assert found is not None
    assert (found.memory_id, home.named(first.key)) == (first.memory_id, None)
    again = home.propose("Has a friend called Anna", FRIEND, value="Anna")
    assert (again.relation, again.superseded_memory_id) == ("novel", None)
    assert home.propose("Berta, a friend", FRIEND, value="Berta").relation == "duplicate"


def test_another_category_leaves_what_it_is_known_by(home: MemoryHome) -> None:
    first = home.propose("Is called Anna", NAME, value="Anna").record
    assert first is not None
    changed = home.update(first.memory_id, category="biography").record
    assert (changed.category, changed.key) == ("biography", first.key)
    assert home.propose("Is called Berta", NAME, value="Berta").relation == "contradiction"
    assert home.propose("The name is Anna", NAME, value="Anna").relation == "duplicate"
    home.forget(first.memory_id)
    assert home.propose("One calls me Anna", NAME, value="Anna").relation == "suppressed_by_rejection"


def test_what_is_forgotten_is_what_it_said_last(home: MemoryHome) -> None:
    first = home.propose("Lives in Berlin", CITY, value="Berlin").record
    assert first is not None
    home.update(first.memory_id, value="Paris")
    home.forget(first.memory_id)
    assert home.propose("The home is Paris", CITY, value="Paris").relation == "suppressed_by_rejection"
    assert home.propose("The home is Berlin", CITY, value="Berlin").relation == "novel"


def test_two_records_never_come_to_say_the_same(home: MemoryHome) -> None:
    one, other = (home.remember("Port of the server", value=n).record for n in (1, 2))
    for memory_id, value in ((one.memory_id, 2), (other.memory_id, 1)):
        with pytest.raises(Refused, match="says that already"):
            home.update(memory_id, value=value)
    kept = [home.get(record.memory_id) for record in (one, other)]
    assert [(record.value, record.updated_at) for record in kept if record] == [(1, home.clock.at), (2, home.clock.at)]
    home.update(other.memory_id, expires_at=home.clock.at + DAY)
    home.later(DAY)
    home.tell()
    assert home.update(one.memory_id, value=2).record.value == 2
    assert home.tell() == [("memory/changed", "expired"), ("memory/changed", "updated")]
    named = [home.remember("Port of the server", value=n, key=f"port {n}").record for n in (3, 4)]
    assert home.update(named[0].memory_id, value=4).record.value == 4


def test_a_changed_record_is_whole_and_travels(home: MemoryHome) -> None:
    first = home.remember("Home city of the user", value="Berlin").record
    home.update(first.memory_id, value="Paris")
    home.update(first.memory_id, value=None)
    found = home.get(first.memory_id)
    assert found is not None
    assert found.value is None
    assert home.damage == []
    assert not home.remember("Home city of the user").created


def test_new_words_keep_what_was_not_named(home: MemoryHome) -> None:
    first = home.remember(
        "The port is open",
        value={"a": 1},
        key="port",
        tags=["net"],
        importance=0.9,
        valid_from=5,
        kind="procedural",
        expires_at=home.clock.at + DAY,
        metadata={"m": 1},
        provenance=Provenance(thread_id="thr_1"),
    ).record
    corrected = home.update(first.memory_id, content="The port is closed").record
    names = (
        "value",
        "key",
        "tags",
        "importance",
        "valid_from",
        "kind",
        "expires_at",
        "metadata",
        "confidence",
        "scope",
    )
    assert [getattr(corrected, name) for name in names] == [getattr(first, name) for name in names]
    assert (corrected.supersedes, corrected.provenance.thread_id) == (first.memory_id, "thr_1")
    emptied = home.update(corrected.memory_id, content="The port is gone", value=None).record
    assert (emptied.value, emptied.tags) == (None, ["net"])
    home.do(home.service.forget(ForgetParams(target=ForgetByThread(thread_id="thr_1"), context=HERE)))
    assert home.listed() == []


def test_nothing_is_restored_into_a_scope_that_is_gone(home: MemoryHome) -> None:
    ids = {scope: home.remember(f"Kept by {scope.key}", scope=scope).record.memory_id for scope in (USER, WS1)}
    for memory_id in ids.values():
        home.forget(memory_id)
    home.sql(lambda tx: tx.run("DELETE FROM thread"))
    home.sql(lambda tx: tx.run("DELETE FROM workspace WHERE workspace_id = 'ws_1'"))
    with pytest.raises(CallerError) as error:
        home.restore(ids[WS1])
    assert error.value.reason == "not_found"
    assert home.get(ids[WS1]) is None
    home.restore(ids[USER])
    talk = Context(workspace_id="ws_2", thread_id="thr_gone")
    home.add_thread("thr_gone", "ws_2")
    said = home.remember("Kept by a thread", scope=Scope(kind="thread", key="thr_gone"), context=talk).record.memory_id
    home.forget(said, context=talk)
    home.restore(said, context=talk)
    home.forget(said, context=talk)
    home.sql(lambda tx: tx.run("DELETE FROM thread"))
    with pytest.raises(CallerError):
        home.restore(said, context=talk)
