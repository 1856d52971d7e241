"""The doors of durable memory over a real database file: evidence, remembering, repeats, updates."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest
from memory_home import HERE, MIDDLING, NAME, SURE, USER, WISH, WS1, WS2, MemoryHome

from protocol.base import Scope
from protocol.errors import CallerError, Refused
from protocol.memory.values import Context, Evidence

AWS = "AKIA" + "Y34FZKBOKMUTVV7A"


@pytest.fixture
def home(tmp_path: Path) -> Iterator[MemoryHome]:
    made = MemoryHome(tmp_path)
    yield made
    made.close()


# -- evidence --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("quote", ["i LIKE\n tea", "I like tea!!", "like tea, don’t"])
def test_a_quote_is_found_however_it_is_set(home: MemoryHome, quote: str) -> None:
    said = home.say("I like   tea, don't you? I like tea")
    assert home.propose("Likes tea", SURE, [msgspec.structs.replace(said, quote=quote)]).record


@pytest.mark.parametrize("quote", ["I like jam", "...", "!", "。", "I like tea too"])
def test_a_quote_that_is_not_there_is_no_evidence(home: MemoryHome, quote: str) -> None:
    said = msgspec.structs.replace(home.say("I like tea"), quote=quote)
    assert home.propose("Likes tea", SURE, [said]).decision.reason_code == "quote_not_found"


def test_evidence_of_another_workspace_does_not_exist(home: MemoryHome) -> None:
    home.add_thread("thr_far", "ws_2")
    said = home.say("I like tea", thread_id="thr_far")
    assert home.propose("Likes tea", WISH, [said]).decision.reason_code == "quote_not_found"
    assert home.propose("Likes tea", SURE, []).decision.reason_code == "missing_evidence"
    both = [said, home.say("I like tea")]
    kept = home.propose("Likes tea", SURE, both).record
    assert kept is not None
    assert kept.evidence_count == 1


def test_where_a_fact_comes_from_is_read_from_the_message(home: MemoryHome) -> None:
    said = home.say("I like tea")
    bare = Evidence(quote="I like tea", item_id=said.item_id)
    lie = Evidence(
        quote="I like jam", item_id=home.say("I like jam").item_id, turn_id="trn_other", thread_id="thr_other"
    )
    first, second = home.propose("Likes tea", SURE, [bare]).record, home.propose("Likes jam", SURE, [lie]).record
    assert first is not None
    assert second is not None
    assert (first.provenance.turn_id, first.provenance.thread_id) == (said.turn_id, "thr_1")
    assert (second.provenance.turn_id, second.provenance.thread_id) == ("trn_2", "thr_1")


# -- remember --------------------------------------------------------------------------------------------------------


def test_without_a_key_nothing_contradicts(home: MemoryHome) -> None:
    assert home.remember("Likes tea").created
    assert home.remember("Likes jam").created
    assert sorted(home.listed()) == ["Likes jam", "Likes tea"]


def test_with_a_key_other_content_supersedes(home: MemoryHome) -> None:
    first = home.remember("Editor is vim", key="My Editor")
    again = home.remember("editor is VIM", key="my_editor")
    assert (again.created, again.record.memory_id) == (False, first.record.memory_id)
    second = home.remember("Editor is emacs", key="my editor", category="preference")
    assert (second.relation, second.superseded_memory_id) == ("contradiction", first.record.memory_id)
    for key in ("My Editor", "my_editor", second.record.key):
        found = home.named(key)
        assert found is not None
        assert found.content == "Editor is emacs"
    by_canonical = home.remember("Editor is nano", key=second.record.key)
    assert by_canonical.superseded_memory_id == second.record.memory_id
    assert by_canonical.record.key == second.record.key
    same = home.remember("Editor is nano", key=second.record.key)
    assert (same.created, same.record.memory_id) == (False, by_canonical.record.memory_id)
    assert home.listed() == ["Editor is nano"]


def test_two_keys_are_two_facts_also_when_they_say_the_same(home: MemoryHome) -> None:
    home.remember("vim", key="home_editor")
    assert home.remember("vim", key="work_editor").created
    home.remember("emacs", key="home_editor")
    kept = home.named("work_editor")
    assert kept is not None
    assert kept.content == "vim"


def test_supersedes_names_what_it_replaces(home: MemoryHome) -> None:
    first, other = home.remember("Likes tea").record, home.remember("Likes jam").record
    made = home.remember("Likes coffee", supersedes=first.memory_id)
    assert made.superseded_memory_id == first.memory_id
    merged = home.remember("Likes jam", supersedes=made.record.memory_id)
    assert (merged.created, merged.record.memory_id) == (False, other.memory_id)
    assert merged.superseded_memory_id == made.record.memory_id
    assert home.listed() == ["Likes jam"]
    for gone in (first.memory_id, "mem_unknown"):
        with pytest.raises(CallerError) as caught:
            home.remember("Likes cake", supersedes=gone)
        assert caught.value.reason == "not_found"


@pytest.mark.parametrize(
    ("given", "path"),
    [
        ({"content": "я" * 8193}, "$.content"),
        ({"content": "x", "value": "я" * 600}, "$.value"),
        ({"content": "x", "metadata": {"a": "y" * 8200}}, "$.metadata"),
        ({"content": "\u200b \x00"}, "$.content"),
    ],
)
def test_bounds_are_in_bytes(home: MemoryHome, given: dict[str, Any], path: str) -> None:
    with pytest.raises(CallerError) as caught:
        home.remember(**given)
    assert (caught.value.details or {})["path"] == path
    assert home.rows("SELECT 1 FROM record") == []


def test_default_scopes_and_scopes_that_are_not_there(home: MemoryHome) -> None:
    assert home.remember("Uses tabs", category="project_policy").record.scope == WS1
    assert home.remember("Likes tea", category="preference").record.scope == USER
    home.switch(allow_global_user_by_default=False)
    assert home.remember("Likes jam", category="preference").record.scope == WS1
    for scope, reason in ((WS2, "scope_out_of_context"), (USER, "scope_out_of_context")):
        with pytest.raises(Refused) as caught:
            home.remember("Likes cake", scope=scope)
        assert caught.value.reason == reason
    for context, scope in (
        (Context(workspace_id="ws_none"), Scope(kind="workspace", key="ws_none")),
        (Context(workspace_id="ws_1", thread_id="thr_none"), Scope(kind="thread", key="thr_none")),
    ):
        with pytest.raises(CallerError) as missing:
            home.remember("Likes cake", context=context, scope=scope)
        assert missing.value.reason == "not_found"


# -- idempotency -----------------------------------------------------------------------------------------------------


def test_a_repeat_answers_the_same_with_the_record_as_it_is_now(home: MemoryHome) -> None:
    first = home.remember("Likes tea", idempotency_key="k")
    home.tell()
    home.update(first.record.memory_id, importance=0.9)
    home.tell()
    again = home.remember("Likes tea", idempotency_key="k")
    assert (again.created, again.relation, again.decision) == (True, "novel", first.decision)
    assert (again.record.memory_id, again.record.importance) == (first.record.memory_id, 0.9)
    assert home.tell() == []
    assert len(home.rows("SELECT 1 FROM decision")) == 1


def test_another_request_under_the_same_key_is_refused(home: MemoryHome) -> None:
    home.remember("Likes tea", idempotency_key="k")
    for content, tags in (("Likes jam", []), ("Likes tea", ["x"])):
        with pytest.raises(Refused) as caught:
            home.remember(content, idempotency_key="k", tags=tags)
        assert caught.value.reason == "idempotency_mismatch"
    elsewhere = home.remember("Likes tea", idempotency_key="k", context=Context(workspace_id="ws_2"), scope=WS2)
    assert elsewhere.created


def test_a_refused_repeat_is_refused_again_and_keys_expire(home: MemoryHome) -> None:
    said = home.say("Likes tea")
    first = home.propose("Likes tea", MIDDLING, [said], idempotency_key="k")
    assert home.propose("Likes tea", MIDDLING, [said], idempotency_key="k") == first
    assert len(home.rows("SELECT 1 FROM decision")) == 1
    home.later(31 * 86_400_000)
    assert home.propose("Likes jam", SURE, [home.say("Likes jam")], idempotency_key="k").record is not None


# -- update ----------------------------------------------------------------------------------------------------------


def test_an_update_in_place(home: MemoryHome) -> None:
    made = home.remember("Likes tea", tags=["drink"], expires_at=home.clock.at + 10).record
    home.tell()
    home.later(5)
    result = home.update(made.memory_id, tags=["beverage"], importance=1.0, expires_at=None, metadata={"x": 1}, value=3)
    record = result.record
    assert (record.memory_id, result.superseded_memory_id) == (made.memory_id, None)
    assert (record.tags, record.importance, record.expires_at, record.metadata, record.value) == (
        ["beverage"],
        1.0,
        None,
        {"x": 1},
        3,
    )
    assert record.updated_at == home.clock.at
    assert home.tell() == [("memory/changed", "updated")]
    assert home.found("beverage") == ["Likes tea"]
    assert home.found("drink") == []
    assert "drink" not in home.vocabulary()


def test_new_content_is_a_correction(home: MemoryHome) -> None:
    made = home.remember("Likes tea", tags=["drink"], importance=0.7, category="preference").record
    home.tell()
    result = home.update(made.memory_id, content="Likes coffee")
    assert result.superseded_memory_id == made.memory_id
    new = result.record
    assert (new.content, new.tags, new.importance, new.category, new.scope) == (
        "Likes coffee",
        ["drink"],
        0.7,
        "preference",
        USER,
    )
    assert new.provenance.source_kind == "user_correction"
    assert home.tell() == [("memory/changed", "superseded"), ("memory/changed", "created")]
    named = home.remember("Editor is vim", key="editor").record
    assert home.update(named.memory_id, content="Editor is nano").record.key == named.key
    single = home.propose("Is called Anna", NAME).record
    assert single is not None
    assert home.update(single.memory_id, content="Is called Berta").record.key == single.key


def test_a_correction_to_what_is_known_already_leaves_one(home: MemoryHome) -> None:
    wrong, right = home.remember("Likes tea").record, home.remember("Likes coffee").record
    result = home.update(wrong.memory_id, content="Likes coffee")
    assert (result.record.memory_id, result.superseded_memory_id) == (right.memory_id, wrong.memory_id)
    assert home.listed() == ["Likes coffee"]


def test_an_update_that_may_not_be(home: MemoryHome) -> None:
    made = home.remember("Likes tea").record
    with pytest.raises(Refused) as caught:
        home.update(made.memory_id, importance=0.1, expected_updated_at=made.updated_at - 1)
    assert caught.value.reason == "conflict"
    home.update(made.memory_id, importance=0.1, expected_updated_at=made.updated_at)
    said: tuple[dict[str, Any], ...] = (
        {"content": f"Key {AWS}"},
        {"value": AWS},
        {"tags": [AWS]},
        {"metadata": {"k": AWS}},
    )
    for changes in said:
        with pytest.raises(Refused) as refused:
            home.update(made.memory_id, **changes)
        assert refused.value.reason == "write_refused"
    assert AWS.encode() not in home.bytes_on_disk()
    home.update(made.memory_id, content="Likes jam")
    with pytest.raises(Refused):
        home.update(made.memory_id, content="Likes cake")
    for memory_id, context in (("mem_none", HERE), (made.memory_id, Context(workspace_id="ws_1", thread_id="thr_1"))):
        home.switch(allow_global_user_by_default=False)
        with pytest.raises(CallerError) as missing:
            home.update(memory_id, content="x", context=context)
        assert missing.value.reason == "not_found"
