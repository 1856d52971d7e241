"""Forgetting, restoring, erasing, expiry and retention over a real database file."""

import asyncio
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import msgspec
import pytest
from clock import START
from memory_home import DAY, HERE, MIDDLING, NAME, SURE, USER, WS1, WS2, MemoryHome

from memory.rows.store import seal
from protocol.base import Scope
from protocol.errors import CallerError, Refused, Unavailable
from protocol.memory.changes import HistoryParams
from protocol.memory.forgetting import (
    ForgetById,
    ForgetByKey,
    ForgetByScope,
    ForgetByThread,
    ForgetByTurn,
    ForgetParams,
)
from protocol.memory.values import Context
from protocol.memory.writes import RememberParams, UpdateParams

NEEDLE = "Zanzibarquokka"


@pytest.fixture
def home(tmp_path: Path) -> Iterator[MemoryHome]:
    made = MemoryHome(tmp_path)
    yield made
    made.close()


def forget(home: MemoryHome, target: Any, *, context: Context = HERE, **given: Any) -> Any:
    return home.do(home.service.forget(ForgetParams(target=target, context=context, **given)))


def events(home: MemoryHome, memory_id: str, context: Context = HERE) -> list[tuple[str, str]]:
    found = home.do(home.service.questions.history(HistoryParams(memory_id=memory_id, context=context))).events
    assert [event.at for event in found] == sorted(event.at for event in found)
    return [(event.memory_id, event.event) for event in found]


# -- tombstones ------------------------------------------------------------------------------------------------------


def test_what_is_forgotten_is_in_no_answer(home: MemoryHome) -> None:
    made = home.remember(NEEDLE, key="animal").record
    home.tell()
    result = home.forget(made.memory_id, reason="no more")
    assert (result.forgotten_memory_ids, result.dry_run, result.receipt) == ([made.memory_id], False, None)
    assert home.tell() == [("memory/changed", "deleted"), ("memory/forgotten", None)]
    assert home.get(made.memory_id) is None
    assert home.named("animal") is None
    assert home.found(NEEDLE) == home.found(NEEDLE, statuses=["deleted", "active"]) == []
    assert home.listed() == home.listed(statuses=["deleted", "active", "superseded"]) == []
    assert home.do(home.service.turns.recall(home.turn(), NEEDLE, limit=5)).hits == []
    shown = home.get(made.memory_id, include_deleted=True)
    assert shown is not None
    assert shown.status == "deleted"
    assert not {term for term in home.vocabulary() if "zanz" in term}
    assert home.forget(made.memory_id).forgotten_memory_ids == []


def test_targets(home: MemoryHome) -> None:
    said = home.say("I like tea")
    by_turn = home.propose("Likes tea", SURE, [said]).record
    by_thread = home.remember("Likes jam", context=Context(workspace_id="ws_1", thread_id="thr_1")).record
    by_key, in_scope, left = (
        home.remember("vim", key="Editor").record,
        home.remember("Tabs", scope=WS1).record,
        home.remember("Left").record,
    )
    assert by_turn is not None
    for target, ids in (
        (ForgetByTurn(turn_id=said.turn_id or ""), [by_turn.memory_id]),
        (ForgetByThread(thread_id="thr_1"), [by_thread.memory_id]),
        (ForgetByKey(scope=USER, key="editor"), [by_key.memory_id]),
        (ForgetByScope(scope=WS1), [in_scope.memory_id]),
    ):
        rehearsed = forget(home, target, dry_run=True)
        assert (rehearsed.forgotten_memory_ids, rehearsed.dry_run) == (ids, True)
        assert forget(home, target).forgotten_memory_ids == ids
        assert forget(home, target).forgotten_memory_ids == []
    assert home.listed() == ["Left"]
    assert forget(home, ForgetByKey(scope=USER, key=left.key)).forgotten_memory_ids == [left.memory_id]


@pytest.mark.parametrize(
    "target",
    [
        ForgetByTurn(turn_id="trn_x"),
        ForgetByThread(thread_id="thr_x"),
        ForgetByKey(scope=USER, key="x"),
        ForgetByKey(scope=WS1, key="x"),
        ForgetByScope(scope=WS1),
    ],
)
def test_an_unknown_target_is_an_empty_list(home: MemoryHome, target: Any) -> None:
    for mode in ("tombstone", "erase"):
        assert forget(home, target, mode=mode).forgotten_memory_ids == []
    assert home.forget("mem_x").forgotten_memory_ids == []
    assert home.tell() == []


def test_a_dry_run_changes_nothing(home: MemoryHome) -> None:
    made = home.remember(NEEDLE).record
    home.tell()
    before = home.rows("SELECT * FROM record")
    result = home.forget(made.memory_id, mode="erase", dry_run=True)
    assert result.receipt is not None
    assert (result.receipt.complete, result.receipt.wal) == (False, "pending")
    assert home.rows("SELECT * FROM record") == before
    assert home.rows("SELECT 1 FROM tombstone") == home.rows("SELECT 1 FROM job WHERE kind = 'erase_finish'") == []
    assert home.tell() == []
    assert home.found(NEEDLE) == [NEEDLE]
    real = home.forget(made.memory_id, mode="erase").receipt
    assert real is not None
    assert real.removed == result.receipt.removed
    assert real.removed.records == 1


def test_restoring_brings_it_back_whole(home: MemoryHome) -> None:
    made = home.remember(NEEDLE, key="animal", tags=["x"]).record
    home.forget(made.memory_id)
    home.tell()
    back = home.restore(made.memory_id)
    assert msgspec.structs.replace(back, updated_at=made.updated_at) == made
    assert home.tell() == [("memory/changed", "restored")]
    assert home.found(NEEDLE) == [NEEDLE]
    named = home.named("animal")
    assert named is not None
    assert (named.memory_id, named.content, named.tags) == (back.memory_id, NEEDLE, ["x"])
    assert home.propose(NEEDLE).decision.reason_code == "duplicate_active"
    assert events(home, made.memory_id) == [
        (made.memory_id, name) for name in ("created", "deleted", "restored", "evidence_added")
    ]


def test_what_cannot_be_restored(home: MemoryHome) -> None:
    made = home.remember("vim", key="editor").record
    with pytest.raises(Refused) as caught:
        home.restore(made.memory_id)
    assert caught.value.reason == "conflict"
    home.forget(made.memory_id)
    home.remember("emacs", key="editor")
    with pytest.raises(Refused) as taken:
        home.restore(made.memory_id)
    assert taken.value.reason == "conflict"
    for memory_id, context in (("mem_x", HERE), (made.memory_id, None)):
        home.switch(allow_global_user_by_default=False)
        with pytest.raises(CallerError) as missing:
            home.restore(memory_id, context or HERE)
        assert missing.value.reason == "not_found"


# -- chains ----------------------------------------------------------------------------------------------------------


def test_forgetting_a_correction_brings_the_old_back(home: MemoryHome) -> None:
    old, new = home.remember("vim", key="editor").record, home.remember("emacs", key="editor").record
    home.tell()
    assert home.forget(new.memory_id).forgotten_memory_ids == [new.memory_id]
    assert home.tell() == [("memory/changed", "deleted"), ("memory/changed", "restored"), ("memory/forgotten", None)]
    back = home.named("editor")
    assert back is not None
    assert (back.memory_id, back.status, back.superseded_by) == (old.memory_id, "active", None)
    assert home.found("vim") == ["vim"]


def test_unless_it_shall_not_come_back(home: MemoryHome) -> None:
    home.remember("vim", key="editor")
    new = home.remember("emacs", key="editor").record
    home.forget(new.memory_id, restore_superseded=False)
    assert home.listed() == []


def test_it_does_not_come_back_over_what_holds_now(home: MemoryHome) -> None:
    old = home.remember("vim", key="editor").record
    new = home.remember("emacs", key="other", supersedes=old.memory_id).record
    home.remember("nano", key="editor")
    assert home.forget(new.memory_id).forgotten_memory_ids == [new.memory_id]
    assert home.listed() == ["nano"]


def test_a_key_that_is_taken_cannot_supersede_another(home: MemoryHome) -> None:
    first = home.remember("first").record
    home.remember("vim", key="editor")
    with pytest.raises(Refused) as caught:
        home.remember("emacs", key="editor", supersedes=first.memory_id)
    assert caught.value.reason == "conflict"
    assert sorted(home.listed()) == ["first", "vim"]


def test_forgetting_a_whole_chain_brings_nothing_back(home: MemoryHome) -> None:
    ids = [home.remember(text, key="editor").record.memory_id for text in ("vi", "vim", "emacs")]
    home.tell()
    assert sorted(forget(home, ForgetByScope(scope=USER)).forgotten_memory_ids) == sorted(ids)
    assert [kind for _, kind in home.tell()] == ["deleted"] * 3 + [None]
    assert home.listed(statuses=["active", "superseded"]) == []


def test_a_forgotten_predecessor_is_restored_as_one(home: MemoryHome) -> None:
    old = home.remember("vim", key="editor").record
    home.remember("emacs", key="editor")
    home.forget(old.memory_id)
    assert home.restore(old.memory_id).status == "superseded"
    assert home.listed() == ["emacs"]
    assert home.found("vim", statuses=["superseded"]) == ["vim"]


@pytest.mark.parametrize("status", ["expired", "archived"])
def test_what_was_no_longer_believed_is_restored_as_that(home: MemoryHome, status: Any) -> None:
    made = home.remember(NEEDLE).record
    home.sql(lambda tx: tx.run("UPDATE record SET status = :status", {"status": status}))
    home.sql(lambda tx: seal(tx, made.memory_id))
    home.forget(made.memory_id)
    assert home.restore(made.memory_id).status == status
    assert home.rows("SELECT from_status, to_status FROM memory_event ORDER BY id DESC LIMIT 2") == [
        ("deleted", status),
        (status, "deleted"),
    ]


def test_history_is_the_whole_chain_from_any_link(home: MemoryHome) -> None:
    ids = []
    for text in ("vi", "vim", "emacs"):
        ids.append(home.remember(text, key="editor").record.memory_id)
        home.later()
    expected = [
        (ids[0], "created"),
        (ids[0], "superseded"),
        (ids[1], "created"),
        (ids[1], "superseded"),
        (ids[2], "created"),
    ]
    for memory_id in ids:
        assert events(home, memory_id) == expected
    with pytest.raises(CallerError):
        events(home, "mem_x")
    home.switch(allow_global_user_by_default=False)
    with pytest.raises(CallerError) as caught:
        events(home, ids[0])
    assert caught.value.reason == "not_found"


def test_forgetting_ends_what_waits_to_say_the_same(home: MemoryHome) -> None:
    home.switch(review_enabled=True)
    assert home.propose("Likes tea", MIDDLING).candidate is not None
    wished = home.remember("Likes tea").record
    home.forget(wished.memory_id)
    assert {row[0] for row in home.rows("SELECT status FROM candidate")} <= {"approved", "suppressed"}
    assert home.propose("Likes tea", MIDDLING).decision.reason_code == "suppressed_by_rejection"


# -- erasing ---------------------------------------------------------------------------------------------------------


def needles() -> list[bytes]:
    """No two begin alike, so that finding none is not the index sharing prefixes."""
    return [word.encode() for word in ("Zanzibarquokka", "Veldtorchid", "Kumquatglider", "Fjordwhistle", "Ubiquartz")]


def test_an_erase_leaves_no_byte(home: MemoryHome) -> None:
    content, tag, value, note, quote = (word.decode() for word in needles())
    said = home.say("I keep an animal")
    home.remember(f"An older {content}", key="animal")
    made = home.remember(
        f"Keeps a {content}", key="animal", tags=[tag], value=value, metadata={"note": note}, idempotency_key="k"
    ).record
    home.propose(f"Keeps a {content}", SURE, [said, home.say(quote)], key="animal", value=value)
    home.do(home.service.update(UpdateParams(memory_id=made.memory_id, importance=0.9, context=HERE)))
    home.found(content)
    result = home.forget(made.memory_id, mode="erase", restore_superseded=False)
    receipt = result.receipt
    assert receipt is not None
    assert (receipt.memory_ids, receipt.wal, receipt.complete) == ([made.memory_id], "truncated", True)
    assert (receipt.removed.records, receipt.removed.fts_rows) == (1, 1)
    assert receipt.removed.evidence >= 2
    assert {item.item_id for item in receipt.remaining.items} >= {said.item_id}
    older = home.get(home.rows("SELECT memory_id FROM record")[0][0])
    assert older is not None
    assert older.superseded_by is None
    home.forget(older.memory_id, mode="erase")
    on_disk = home.bytes_on_disk().lower()
    kept_by_the_message = quote.lower().encode()
    assert [word for word in needles() if word.lower() in on_disk and word.lower() != kept_by_the_message] == []
    assert home.vocabulary() & {"keep", "zanzibarquokka", "veldtorchid", "older"} == set()
    for table in ("record", "evidence", "repetition"):
        assert home.rows(f"SELECT * FROM {table}") == []  # noqa: S608  # names of our own
    assert home.rows("SELECT factors FROM decision WHERE memory_id IS NOT NULL") == []
    assert home.get(made.memory_id, include_deleted=True) is None
    assert home.propose(f"Keeps a {content}").decision.reason_code == "suppressed_by_rejection"
    with pytest.raises(CallerError):
        home.restore(made.memory_id)


def test_a_tombstone_can_be_erased_by_any_target(home: MemoryHome) -> None:
    for n, kind in enumerate((ForgetByTurn, ForgetByThread, ForgetByScope)):
        said = home.say("I like tea")  # anew each time: a source that was forgotten teaches nothing
        names = {"turn_id": said.turn_id or "", "thread_id": "thr_1", "scope": USER}
        target = kind(**{name: value for name, value in names.items() if name in kind.__struct_fields__})
        made = home.propose(f"Likes {NEEDLE} {n}", SURE, [msgspec.structs.replace(said, quote="I like tea")]).record
        assert made is not None
        home.forget(made.memory_id)
        result = forget(home, target, mode="erase")
        assert result.forgotten_memory_ids == [made.memory_id]
        assert (result.receipt.removed.fts_rows, result.receipt.complete) == (0, True)
    assert NEEDLE.encode() not in home.bytes_on_disk()
    assert NEEDLE.lower().encode() not in home.bytes_on_disk()


def test_a_pending_erase_is_finished_by_a_job(home: MemoryHome) -> None:
    from protocol.seams.ports import RetryJob  # noqa: PLC0415

    made = home.remember(NEEDLE).record
    home.wal_is_held = True
    receipt = home.forget(made.memory_id, mode="erase").receipt
    assert receipt is not None
    assert (receipt.wal, receipt.complete) == ("pending", False)
    assert home.rows("SELECT kind, state FROM job") == [("erase_finish", "retry_wait")]
    ((subject,),) = home.rows("SELECT subject FROM job")
    handle: Any = SimpleNamespace(job=SimpleNamespace(subject=subject), finish=lambda _tx: None)
    with pytest.raises(RetryJob):
        home.do(home.service.finish_erase(handle))
    home.wal_is_held = False
    home.tell()
    home.do(home.service.finish_erase(handle))
    assert [(one.method, one.params.memory_ids) for one in home.told] == [("memory/erased", [made.memory_id])]
    assert NEEDLE.encode() not in home.bytes_on_disk()


# -- the clock -------------------------------------------------------------------------------------------------------


def test_expiry_is_exact_and_the_sweep_says_so(home: MemoryHome) -> None:
    made = home.remember(NEEDLE, key="animal", expires_at=START + 1000).record
    home.remember("Stays")
    assert home.do(home.service.due_at()) == START + 1000
    home.later(999)
    assert home.found(NEEDLE) == [NEEDLE]
    home.later(1)
    assert home.found(NEEDLE) == []
    assert home.listed() == ["Stays"]
    assert home.listed(statuses=["expired"]) == home.found(NEEDLE, statuses=["expired"]) == [NEEDLE]
    got = home.get(made.memory_id)
    assert got is not None
    assert got.status == "expired"
    home.tell()
    assert home.do(home.service.sweep()) == 1
    assert home.tell() == [("memory/changed", "expired")]
    assert home.do(home.service.sweep()) == 0
    assert home.do(home.service.due_at()) is None
    assert home.listed(statuses=["expired"]) == [NEEDLE]
    assert events(home, made.memory_id)[-1] == (made.memory_id, "expired")


def test_what_has_expired_is_nobodys_duplicate(home: MemoryHome) -> None:
    old = home.remember("Likes tea", expires_at=START + 10).record
    named = home.remember("vim", key="editor", expires_at=START + 10).record
    home.later(10)
    home.tell()
    again = home.remember("Likes tea")
    assert (again.created, again.relation) == (True, "novel")
    assert again.record.memory_id != old.memory_id
    assert home.tell() == [("memory/changed", "expired"), ("memory/changed", "created")]
    other = home.remember("emacs", key="editor")
    assert (other.relation, other.superseded_memory_id) == ("novel", None)
    before = home.get(named.memory_id)
    assert before is not None
    assert before.status == "expired"
    assert sorted(home.listed()) == ["Likes tea", "emacs"]


def test_retention_erases_a_tombstone_at_its_time(home: MemoryHome) -> None:
    home.switch(retention_days=2)
    made = home.remember(NEEDLE).record
    home.forget(made.memory_id)
    assert home.do(home.service.due_at()) == START + 2 * DAY
    home.later(2 * DAY - 1)
    home.do(home.service.sweep())
    assert home.restore(made.memory_id).content == NEEDLE
    home.forget(made.memory_id)
    home.later(2 * DAY)
    assert home.do(home.service.sweep()) == 1
    assert home.rows("SELECT kind FROM job") == [("erase_finish",)]
    with pytest.raises(CallerError):
        home.restore(made.memory_id)
    home.do(home.db.truncate_wal())
    assert NEEDLE.encode() not in home.bytes_on_disk()
    assert home.propose(NEEDLE).decision.reason_code == "suppressed_by_rejection"
    assert len(home.rows("SELECT 1 FROM tombstone")) == 1


def test_deleted_scopes_take_their_memory_along_and_leave_the_rest(home: MemoryHome) -> None:
    kept = home.remember("Stays").record
    gone = home.remember("Goes", scope=WS1).record
    buried = home.remember("Went", scope=WS1).record
    home.forget(buried.memory_id)
    home.tell()
    thread = Scope(kind="thread", key="thr_1")
    context = Context(workspace_id="ws_1", thread_id="thr_1")
    small = home.remember("Small", scope=thread, context=context).record
    home.tell()
    deleted = home.service.deleted
    assert home.sql(lambda tx: deleted.erase_part(tx, thread)) == {"memories": 1}
    assert home.sql(lambda tx: deleted.erase_part(tx, WS1)) == {"memories": 1}
    assert home.sql(lambda tx: deleted.erase_part(tx, WS1)) == {}
    assert home.sql(lambda tx: deleted.erase_part(tx, Scope(kind="workspace", key="ws_none"))) == {}
    assert home.do(deleted.keep_promise())
    assert home.rows("SELECT 1 FROM tombstone WHERE is_pending") == []
    told = home.tell()
    assert [kind for method, kind in told if method == "memory/changed"] == ["deleted"] * 2
    assert home.listed(context=context) == ["Stays"]
    for record in (gone, small, buried):
        assert home.get(record.memory_id, context, include_deleted=True) is None
        with pytest.raises(CallerError):
            home.restore(record.memory_id, context)
    assert home.get(kept.memory_id) is not None


def test_a_contested_record_that_is_forgotten_or_restored(home: MemoryHome) -> None:
    old = home.propose("Is called Anna", NAME).record
    assert old is not None
    home.propose("Is called Berta", NAME)
    home.forget(old.memory_id)
    restored = home.restore(old.memory_id)
    assert restored.status == "active"
    assert home.remember("elsewhere", scope=WS2, context=Context(workspace_id="ws_2")).created


# -- sources ---------------------------------------------------------------------------------------------------------


def evidence_of(home: MemoryHome, memory_id: str) -> list[str]:
    return [row[0] for row in home.rows(f"SELECT quote FROM evidence WHERE memory_id = '{memory_id}' ORDER BY id")]  # noqa: S608


@pytest.mark.parametrize("mode", ["tombstone", "erase"])
@pytest.mark.parametrize("kind", ["turn", "thread"])
def test_what_was_learnt_elsewhere_stays_and_loses_the_quotes(home: MemoryHome, mode: str, kind: str) -> None:
    home.add_thread("thr_2")
    here, there = home.say("I like tea"), home.say(f"I like tea, {NEEDLE}", thread_id="thr_2")
    kept = home.propose("Likes tea", SURE, [here]).record
    assert kept is not None
    home.propose("Likes tea", SURE, [there])
    gone = home.propose("Likes quokkas", SURE, [msgspec.structs.replace(there, quote=NEEDLE)]).record
    assert gone is not None
    home.tell()
    target: Any = ForgetByTurn(turn_id=there.turn_id or "") if kind == "turn" else ForgetByThread(thread_id="thr_2")
    rehearsed = forget(home, target, mode=mode, dry_run=True)
    assert len(evidence_of(home, kept.memory_id)) == 2
    result = forget(home, target, mode=mode)
    assert result.forgotten_memory_ids == rehearsed.forgotten_memory_ids == [gone.memory_id]
    if mode == "erase":
        assert result.receipt.removed == rehearsed.receipt.removed
        assert result.receipt.removed.evidence == 2
    assert evidence_of(home, kept.memory_id) == ["I like tea"]
    record = home.get(kept.memory_id)
    assert record is not None
    assert (record.status, record.evidence_count) == ("active", 1)
    assert ("memory/changed", "updated") in home.tell()
    assert home.rows("SELECT 1 FROM repetition") == []


@pytest.mark.parametrize("mode", ["tombstone", "erase"])
def test_proposals_of_a_forgotten_turn_are_forgotten(home: MemoryHome, mode: str) -> None:
    home.switch(review_enabled=True)
    said = home.say("I like tea")
    assert home.propose("Likes tea", MIDDLING, [said]).candidate is not None
    other = home.propose("Likes jam", MIDDLING).candidate
    assert other is not None
    result = forget(home, ForgetByTurn(turn_id=said.turn_id or ""), mode=mode)
    assert result.forgotten_memory_ids == []
    left = dict(home.rows("SELECT content, status FROM candidate"))
    if mode == "erase":
        assert left == {"Likes jam": "pending"}
        assert (result.receipt.removed.candidates, result.receipt.complete) == (1, True)
    else:
        assert left == {"Likes jam": "pending", "Likes tea": "suppressed"}
        assert home.propose("Likes tea", MIDDLING).decision.reason_code == "suppressed_by_rejection"


def test_messages_are_changed_by_an_erase_only(home: MemoryHome) -> None:
    made = home.remember("x").record
    with pytest.raises(CallerError) as caught:
        home.forget(made.memory_id, include_sources=True)
    assert caught.value.reason == "invalid_params"
    assert home.get(made.memory_id) is not None


def test_with_its_sources_a_memory_is_gone_from_the_messages(home: MemoryHome) -> None:
    said = home.say(f"Well \u2013 my  animal is a\n{NEEDLE.upper()}!  Tea, too. My animal is a {NEEDLE}.")
    answer = home.say(f"A {NEEDLE}? How nice.", role="assistant", turn_id=said.turn_id)
    quote = msgspec.structs.replace(said, quote=f"My animal is a {NEEDLE}.")
    made = home.propose(f"{NEEDLE}", SURE, [quote]).record
    assert made is not None
    receipt = home.forget(made.memory_id, mode="erase", include_sources=True).receipt
    assert receipt is not None
    assert receipt.remaining.items == []
    texts = dict(home.rows("SELECT item_id, text FROM item"))
    assert texts[said.item_id] == "Well \u2013 [forgotten]!  Tea, too. [forgotten]."
    assert texts[answer.item_id] == "A [forgotten]? How nice."
    assert NEEDLE.lower().encode() not in home.bytes_on_disk().lower()


def test_a_message_that_is_gone_is_not_named_as_remaining(home: MemoryHome) -> None:
    said = home.say(f"I keep a {NEEDLE}")
    made = home.propose("Keeps something", SURE, [said]).record
    assert made is not None
    home.sql(lambda tx: tx.run("DELETE FROM item"))
    receipt = home.forget(made.memory_id, mode="erase").receipt
    assert receipt is not None
    assert receipt.remaining.items == []


def test_what_names_no_message_remains_where_its_conversation_is_of_the_home(home: MemoryHome) -> None:
    said = home.say(f"Remember my {NEEDLE}.")
    places = [{"thread_id": "thr_1", "turn_id": said.turn_id}, {"thread_id": "mcp_1", "turn_id": "call_1"}]
    named: list[list[str]] = []
    for place in places:
        kept = home.do(
            home.service.turns.remember_in_turn(
                home.turn(**place), RememberParams(content=f"Has a {NEEDLE}"), explicit=True
            )
        ).record
        assert kept is not None
        receipt = home.forget(kept.memory_id, mode="erase").receipt
        assert receipt is not None
        named.append([item.thread_id for item in receipt.remaining.items])
    assert named == [["thr_1"], []]  # the other one is an MCP client's own conversation, which is elsewhere


# -- restoring what stands in a chain --------------------------------------------------------------------------------


def test_restoring_replaces_again_what_had_come_back(home: MemoryHome) -> None:
    old, new = home.remember("vim", key="editor").record, home.remember("emacs", key="editor").record
    home.forget(new.memory_id)
    assert home.listed() == ["vim"]
    home.tell()
    assert home.restore(new.memory_id).status == "active"
    assert home.tell() == [("memory/changed", "superseded"), ("memory/changed", "restored")]
    assert home.listed() == ["emacs"]
    before = home.get(old.memory_id)
    assert before is not None
    assert (before.status, before.superseded_by) == ("superseded", new.memory_id)


def test_a_whole_chain_is_restored_link_by_link(home: MemoryHome) -> None:
    ids = [home.remember(text, key="editor").record.memory_id for text in ("vi", "vim", "emacs")]
    forget(home, ForgetByScope(scope=USER))
    assert [home.restore(memory_id).status for memory_id in ids] == ["superseded", "superseded", "active"]
    assert home.listed() == ["emacs"]
    assert [row for row in events(home, ids[0]) if row[1] == "restored"] == [
        (memory_id, "restored") for memory_id in ids
    ]


def test_what_had_expired_is_restored_as_expired(home: MemoryHome) -> None:
    made = home.remember("Tea", expires_at=START + 10).record
    home.later(20)
    home.do(home.service.sweep())
    home.forget(made.memory_id)
    assert home.restore(made.memory_id).status == "expired"
    assert home.listed() == []


def test_a_predecessor_whose_successor_was_erased_stays_in_the_past(home: MemoryHome) -> None:
    old, new = home.remember("vim", key="editor").record, home.remember("emacs", key="editor").record
    home.forget(new.memory_id, mode="erase", restore_superseded=False)
    home.forget(old.memory_id)
    assert home.restore(old.memory_id).status == "superseded"
    assert home.listed() == []


# -- the end of an erase ---------------------------------------------------------------------------------------------


def test_a_crash_between_the_erase_and_the_files_loses_no_promise(home: MemoryHome) -> None:
    made = home.remember(NEEDLE).record

    async def crash() -> bool:
        raise KeyboardInterrupt

    whole, home.db.truncate_wal = home.db.truncate_wal, crash
    with pytest.raises(KeyboardInterrupt):
        home.forget(made.memory_id, mode="erase")
    home.db.truncate_wal = whole
    home.do(home.service.look_for_damage(is_unclean=False))
    kinds = "SELECT kind, subject FROM job ORDER BY id"
    assert home.rows(kinds) == [("erase_finish", made.memory_id), ("repair", "quick")]
    home.do(home.service.repairer.run("quick"))
    home.tell()
    ((subject,),) = home.rows("SELECT subject FROM job WHERE kind = 'erase_finish'")
    handle: Any = SimpleNamespace(job=SimpleNamespace(subject=subject), finish=lambda _tx: None)
    home.do(home.service.finish_erase(handle))
    assert [(one.method, one.params.memory_ids) for one in home.told] == [("memory/erased", [made.memory_id])]
    assert home.rows("SELECT is_pending FROM tombstone") == [(0,)]
    assert NEEDLE.encode() not in home.bytes_on_disk()


def test_who_goes_away_after_the_commit_leaves_the_rest_to_a_job(home: MemoryHome) -> None:
    made = home.remember(NEEDLE).record

    async def scene() -> None:
        truncating, whole = asyncio.Event(), home.db.truncate_wal

        async def hang() -> bool:
            truncating.set()
            return await asyncio.get_running_loop().create_future()

        home.db.truncate_wal = hang
        target = ForgetById(memory_id=made.memory_id)
        asked = asyncio.create_task(home.service.forget(ForgetParams(target=target, context=HERE, mode="erase")))
        await truncating.wait()
        asked.cancel()
        with pytest.raises(asyncio.CancelledError):
            await asked
        home.db.truncate_wal = whole

    home.do(scene())
    ((kind, subject, state, due),) = home.rows("SELECT kind, subject, state, next_run_at FROM job")
    assert (kind, subject, state) == ("erase_finish", made.memory_id, "retry_wait")
    assert START < due < START + 10_000


def test_a_finished_erase_leaves_its_job_nothing_to_do(home: MemoryHome) -> None:
    receipt = home.forget(home.remember(NEEDLE).record.memory_id, mode="erase").receipt
    assert receipt is not None
    assert receipt.complete
    assert home.rows("SELECT kind, state FROM job") == [("erase_finish", "cancelled")]


def test_a_store_that_fails_after_the_erase_makes_the_receipt_pending(home: MemoryHome) -> None:
    memory_id = home.remember(NEEDLE).record.memory_id

    async def fail() -> bool:
        raise Unavailable

    whole, home.db.truncate_wal = home.db.truncate_wal, fail
    receipt = home.forget(memory_id, mode="erase").receipt
    home.db.truncate_wal = whole
    assert receipt is not None
    assert (receipt.wal, receipt.complete) == ("pending", False)
    assert home.rows("SELECT state FROM job WHERE kind = 'erase_finish'") == [("retry_wait",)]


# -- the clock, at length --------------------------------------------------------------------------------------------


def test_a_sweep_is_bounded_and_goes_on_until_nothing_is_due(home: MemoryHome) -> None:
    for n in range(130):
        home.remember(f"Tea {n}", expires_at=START + 10)
    home.later(10)
    assert [home.do(home.service.sweep()) for _ in range(3)] == [100, 30, 0]
    forget(home, ForgetByScope(scope=USER))
    home.later(31 * DAY)
    assert [home.do(home.service.sweep()) for _ in range(3)] == [100, 30, 0]
    assert home.rows("SELECT count(*) FROM record") == [(0,)]
    assert home.vocabulary() == set()


def test_shorter_retention_applies_to_what_is_forgotten_already(home: MemoryHome) -> None:
    home.forget(home.remember("Tea").record.memory_id)
    assert home.do(home.service.due_at()) == START + 30 * DAY
    home.switch(retention_days=1)
    assert home.do(home.service.due_at()) == START + DAY
    home.later(DAY)
    assert home.do(home.service.sweep()) == 1


def test_what_has_expired_before_it_is_written_is_never_shown(home: MemoryHome) -> None:
    made = home.remember(NEEDLE, expires_at=START - 1)
    assert home.found(NEEDLE) == home.listed() == []
    got = home.get(made.record.memory_id)
    assert got is not None
    assert got.status == "expired"
    assert home.do(home.service.sweep()) == 1


def test_decisions_that_left_nothing_are_dropped_after_half_a_year_and_no_others(home: MemoryHome) -> None:
    kept = home.propose("Likes tea").record
    passing = msgspec.structs.replace(SURE, durability="session_only", certainty="low")
    assert home.propose("Is at the bus stop", passing).record is None
    assert home.rows("SELECT count(*) FROM decision WHERE memory_id IS NULL AND candidate_id IS NULL") == [(1,)]
    home.later(180 * DAY)
    home.do(home.service.sweep())
    assert home.rows("SELECT count(*) FROM decision") == [(2,)]
    home.later(1)
    home.do(home.service.sweep())
    assert kept is not None
    assert home.rows("SELECT memory_id FROM decision") == [(kept.memory_id,)]
    assert home.rows("SELECT count(*) FROM repetition") == [(0,)]
