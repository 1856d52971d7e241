"""Bundles: what goes out of a home comes into another one whole, and nothing else does."""

import hashlib
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest
from clock import START
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from memory_home import DAY, HERE, MIDDLING, SURE, USER, WISH, WS1, MemoryHome
from msgspec import structs
from sizes import size

from gateway.home.keys import HomeKey
from memory.bundles import text as codec
from memory.bundles.text import PAGE_BYTES, PART_BYTES, count_entries, line_of, open_bundle, parts_of
from memory.rows.store import SQL
from memory.rules.import_plan import EntrySituation, Twin, plan_import, plan_tombstone
from protocol.base import Scope
from protocol.bundle import BUNDLE_VERSION, BundleCandidate, BundleEntry, BundleRecord, BundleTombstone
from protocol.errors import CallerError, GatewayError, Refused, Unavailable
from protocol.memory.bundles import MAX_BUNDLE_BYTES, ExportParams, ExportResult, ImportParams, ImportResult
from protocol.memory.changes import HistoryParams
from protocol.memory.reads import StatsParams
from protocol.memory.values import Context
from protocol.seams.ports import key_id

LIVES = size("bundle_lives")
"""How many lives travel: each needs three homes, which is a third of a second."""


@pytest.fixture
def homes(tmp_path: Path) -> Iterator[Callable[..., MemoryHome]]:
    """Makes homes, each with a secret of its own unless it is said."""
    made: list[MemoryHome] = []

    def make(key: str | None = None) -> MemoryHome:
        folder = tmp_path / str(len(made))
        folder.mkdir()
        home = MemoryHome(folder)
        home.key = HomeKey((key or str(len(made))).encode().ljust(32, b"."))
        home.service = home.make_service()
        made.append(home)
        return home

    yield make
    for home in made:
        home.close()


def pages(home: MemoryHome, context: Context = HERE, **given: Any) -> list[ExportResult]:
    """Every page of an export."""
    found: list[ExportResult] = []
    cursor = None
    while True:
        found.append(home.do(home.service.export_bundle(ExportParams(context=context, cursor=cursor, **given))))
        cursor = found[-1].next_cursor
        if cursor is None:
            return found


def bundle(home: MemoryHome, context: Context = HERE) -> str:
    """The one page of a small home."""
    (page,) = pages(home, context)
    return page.bundle


def take(home: MemoryHome, text: str, context: Context = HERE, *, dry_run: bool = False) -> ImportResult:
    return home.do(home.service.import_bundle(ImportParams(bundle=text, dry_run=dry_run, context=context)))


def counts(result: ImportResult) -> tuple[int, int, int, list[str]]:
    return result.imported, result.skipped, result.tombstoned, sorted(one.reason for one in result.conflicts)


def entries(texts: list[str]) -> dict[str, BundleEntry]:
    """What the pages hold, parts put together, without the events of imports."""
    found: dict[str, Any] = {}
    for text in texts:
        for entry in open_bundle(text):
            name = entry.candidate_id if isinstance(entry, BundleCandidate) else entry.memory_id
            if isinstance(entry, BundleTombstone):
                found[name] = entry
                continue
            known = found.get(name)
            lists = {
                member: [*getattr(known, member, []), *getattr(entry, member)]
                for member in ("events", "decisions", "evidence")
                if hasattr(entry, member)
            }
            if isinstance(entry, BundleRecord):
                lists["events"] = [event for event in lists["events"] if event.event != "imported"]
            found[name] = msgspec.structs.replace(entry, **lists)
    return found


def resealed(text: str, change: Callable[[list[dict[str, Any]]], None]) -> str:
    """The bundle with its lines changed, and a checksum that fits again."""
    lines = [json.loads(line) for line in text.splitlines()][:-1]
    change(lines)
    body = "".join(json.dumps(line) + "\n" for line in lines)
    return body + json.dumps({"type": "end", "sha256": hashlib.sha256(body.encode()).hexdigest()}) + "\n"


def failure(home: MemoryHome, text: str) -> GatewayError:
    with pytest.raises(GatewayError) as caught:
        take(home, text)
    return caught.value


# -- there and back --------------------------------------------------------------------------------------------------


def furnish(home: MemoryHome) -> None:
    """One of everything that a home can hold."""
    home.remember("Ada keeps bees.", tags=["animals"], metadata={"from": ["a", 1]}, importance=0.25, confidence=0.5)
    home.remember("The port is 8080.", key="port", category="project_fact", value=8080)
    home.later()
    home.remember("The port is 9090.", key="port", category="project_fact", value=9090)
    home.later()
    home.remember("The port is 9191.", key="port", category="project_fact", value=9191, scope=WS1)
    home.propose("I like aniseed.", SURE)
    home.propose("I like aniseed.", SURE)
    home.propose("My name is Ada Lovelace.", msgspec.structs.replace(WISH, category="identity", attribute="name"))
    home.remember("I take insulin every morning.", sensitivity="regulated")
    home.remember("The tent is let until spring.", expires_at=home.clock.at + DAY, valid_from=home.clock.at)
    home.remember("The sale ends soon.", expires_at=home.clock.at + 500)
    home.switch(review_enabled=True)
    home.propose("I like liquorice.", MIDDLING)
    home.forget(home.remember("The dog is called Rex.").record.memory_id)
    home.forget(home.remember("The cat is called Tom.").record.memory_id, mode="erase")
    home.get(home.remember("Winters are mild.").record.memory_id)
    home.later()


def test_another_home_with_another_key_holds_the_same(homes: Callable[..., MemoryHome]) -> None:
    here, there = homes(), homes()
    furnish(here)
    there.clock.at = here.clock.at
    text = bundle(here)
    result = take(there, text)
    of_kind = json.loads(text.splitlines()[0])["counts"]
    assert of_kind == {"records": 10, "candidates": 1, "tombstones": 2}
    assert counts(result) == (11, 0, 2, [])
    assert entries([bundle(there)]) == entries([text])
    assert there.found("bees") == ["Ada keeps bees."]
    assert there.rows("SELECT 1 FROM record WHERE fingerprint IN (x'00')") == []


def test_records_answer_as_they_did(homes: Callable[..., MemoryHome]) -> None:
    here, there = homes(), homes()
    furnish(here)
    there.clock.at = here.clock.at
    take(there, bundle(here))
    listed = [row[0] for row in here.rows("SELECT memory_id FROM record WHERE status <> 'deleted' ORDER BY id")]
    for memory_id in listed:
        ours, theirs = here.get(memory_id), there.get(memory_id)
        assert ours is not None
        assert theirs is not None
        drift = {"access_count": 0, "last_accessed_at": None, "index_state": "indexed", "reinforced_at": 0}
        assert msgspec.structs.replace(ours, **drift) == msgspec.structs.replace(theirs, **drift)
        params = HistoryParams(memory_id=memory_id, context=HERE)
        told = there.do(there.service.questions.history(params)).events
        assert [e for e in told if e.event != "imported"] == here.do(here.service.questions.history(params)).events
        assert any((e.event, e.actor.kind, e.memory_id) == ("imported", "import", memory_id) for e in told)


def test_an_imported_record_is_a_record_like_any_other(homes: Callable[..., MemoryHome]) -> None:
    here, there = homes(), homes()
    furnish(here)
    take(there, bundle(here))
    again = there.remember("Ada keeps bees.")
    assert (again.created, again.relation) == (False, "duplicate")
    newer = there.remember("The port is 7000.", key="port", category="project_fact", value=7000)
    assert newer.superseded_memory_id is not None
    there.forget(newer.record.memory_id)
    named = there.named("port", WS1)
    assert named is not None
    assert named.value == 9191
    assert there.found("bees") == ["Ada keeps bees."]


def test_importing_twice_imports_nothing(homes: Callable[..., MemoryHome]) -> None:
    here, there = homes(), homes()
    furnish(here)
    there.clock.at = here.clock.at
    text = bundle(here)
    take(there, text)
    before = (entries([bundle(there)]), there.rows("SELECT count(*) FROM memory_event"))
    assert counts(take(there, text)) == (0, 13, 0, [])
    assert (entries([bundle(there)]), there.rows("SELECT count(*) FROM memory_event")) == before
    assert counts(take(here, text)) == (0, 13, 0, [])


def test_a_dry_run_answers_the_same_and_changes_nothing(homes: Callable[..., MemoryHome]) -> None:
    here, there = homes(), homes()
    furnish(here)
    there.remember("The port is 1.", key="port", category="project_fact", value=1)
    text, before = bundle(here), entries([bundle(there)])
    there.tell()
    rehearsed = take(there, text, dry_run=True)
    assert (entries([bundle(there)]), there.tell()) == (before, [])
    assert rehearsed == take(there, text)


words = st.text(st.characters(exclude_categories=["C"]), min_size=1, max_size=40).map(lambda text: f"Fact {text}")
steps = st.lists(
    st.one_of(
        st.tuples(st.just("remember"), words, st.none() | st.sampled_from(["a", "b"]), st.integers(0, 3)),
        st.tuples(st.just("propose"), words, st.booleans(), st.integers(0, 1)),
        st.tuples(
            st.sampled_from(["forget", "erase", "restore", "update", "touch"]), words, st.none(), st.integers(0, 9)
        ),
        st.tuples(st.just("later"), st.just(""), st.none(), st.integers(1, 3)),
    ),
    min_size=1,
    max_size=12,
)


def play(home: MemoryHome, story: list[Any]) -> None:
    """A life of a home; what is refused is refused."""
    home.switch(review_enabled=True)
    for verb, text, extra, number in story:
        ids = [row[0] for row in home.rows("SELECT memory_id FROM record ORDER BY id")]
        picked = ids[number % len(ids)] if ids else "mem_none"
        try:
            if verb == "remember":
                places: list[Scope | None] = [USER, WS1, Scope(kind="thread", key="thr_1"), None]
                expires = home.clock.at + 1500 if number == 1 else None
                value = {"n": [number, text]} if number == 2 else None
                context = msgspec.structs.replace(HERE, thread_id="thr_1")
                home.remember(
                    text, key=extra, scope=places[number], expires_at=expires, value=value, tags=[text], context=context
                )
            elif verb == "propose":
                home.propose(text, SURE if extra else MIDDLING)
            elif verb in {"forget", "erase"}:
                home.forget(picked, mode="erase" if verb == "erase" else "tombstone")
            elif verb == "restore":
                home.restore(picked)
            elif verb == "update":
                home.update(picked, tags=["changed"], importance=0.1)
            elif verb == "touch":
                home.get(picked)
            else:
                home.later(number * 1000)
        except (Refused, CallerError):
            continue


@pytest.mark.loop("check", "campaign")
@settings(
    max_examples=LIVES, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow]
)
@given(story=steps, earlier=steps)
def test_any_life_of_a_home_travels(homes: Callable[..., MemoryHome], story: list[Any], earlier: list[Any]) -> None:
    everywhere = msgspec.structs.replace(HERE, thread_id="thr_1")
    here, there, third = homes(), homes(), homes()
    play(here, story)
    there.clock.at = here.clock.at
    texts = [page.bundle for page in pages(here, everywhere)]
    for text in texts:
        assert take(there, text, everywhere).conflicts == []
    went, came = entries(texts), entries([page.bundle for page in pages(there, everywhere)])
    assert came == went
    assert all(take(there, text, everywhere).imported == 0 for text in texts)
    # a home that has a life of its own keeps it
    play(third, earlier)
    third.clock.at = max(here.clock.at, third.clock.at)
    third.do(third.service.sweep())
    before = entries([page.bundle for page in pages(third, everywhere)])
    rehearsed = [take(third, text, everywhere, dry_run=True) for text in texts]
    assert [take(third, text, everywhere) for text in texts] == rehearsed
    after = entries([page.bundle for page in pages(third, everywhere)])
    assert {name: after[name] for name in before} == before
    for home in (here, there, third):
        home.db.close()


# -- what is forgotten -----------------------------------------------------------------------------------------------


def test_nothing_forgotten_is_in_an_export(homes: Callable[..., MemoryHome]) -> None:
    home = homes()
    home.switch(review_enabled=True)
    for mode, word in (("tombstone", "Zanzibar"), ("erase", "Quokka")):
        kept = home.propose(f"I like the {word}.", SURE).record
        assert kept is not None
        home.propose(f"I like the {word}.", SURE)
        home.forget(kept.memory_id, mode=mode)
    home.propose("I like the Wombat.", MIDDLING)
    home.forget(home.remember("I like the Wombat.").record.memory_id)
    text = bundle(home)
    assert not [word for word in ("Zanzibar", "Quokka", "Wombat") if word.casefold() in text.casefold()]
    tombstones = [entry for entry in open_bundle(text) if isinstance(entry, BundleTombstone)]
    assert len(tombstones) == 3
    assert {one.key_id for one in tombstones} == {key_id(home.key)}


@pytest.mark.parametrize("mode", ["tombstone", "erase"])
def test_what_is_forgotten_here_does_not_come_back(homes: Callable[..., MemoryHome], mode: str) -> None:
    here, there = homes(), homes()
    kept = here.remember("The dog is called Rex.").record
    text = bundle(here)
    here.forget(kept.memory_id, mode=mode)
    assert counts(take(here, text)) == (0, 0, 1, [])  # by its id
    there.forget(there.remember("the dog is called  REX").record.memory_id, mode=mode)
    assert counts(take(there, text)) == (0, 0, 1, [])  # by its words
    assert here.listed() == there.listed() == []


def test_a_tombstone_of_another_home_keeps_out_what_it_names(homes: Callable[..., MemoryHome]) -> None:
    here, there, third = homes(), homes(), homes()
    kept = here.remember("The dog is called Rex.").record
    before = bundle(here)
    here.forget(kept.memory_id, mode="erase")
    after = bundle(here)
    assert counts(take(there, after)) == (0, 0, 1, [])
    assert counts(take(there, before)) == (0, 0, 1, [])
    assert counts(take(third, bundle(there))) == (0, 0, 1, [])
    assert bundle(third).splitlines()[1:-1] == after.splitlines()[1:-1]  # whose hashes they are is not lost


def test_a_tombstone_that_comes_home_knows_its_words(homes: Callable[..., MemoryHome]) -> None:
    here, anew = homes("same"), homes("same")
    here.forget(here.remember("The dog is called Rex.").record.memory_id, mode="erase")
    take(anew, bundle(here))
    said = anew.propose("The dog is called Rex.", msgspec.structs.replace(SURE, attribute="custom", category="custom"))
    assert said.decision.reason_code == "suppressed_by_rejection"


def test_said_again_after_a_forgetting_travels_in_any_order(homes: Callable[..., MemoryHome]) -> None:
    here, anew = homes("same"), homes("same")
    here.forget(here.remember("The dog is called Rex.").record.memory_id)
    here.later()
    again = here.remember("The dog is called Rex.").record
    anew.clock.at = here.clock.at

    def turn_round(lines: list[dict[str, Any]]) -> None:
        lines[1:] = lines[:0:-1]

    assert counts(take(anew, resealed(bundle(here), turn_round))) == (1, 0, 1, [])
    assert anew.get(again.memory_id) is not None


def test_what_was_forgotten_there_lives_on_here_and_is_told(homes: Callable[..., MemoryHome]) -> None:
    here, there = homes(), homes()
    kept = here.remember("The dog is called Rex.").record
    take(there, bundle(here))
    here.forget(kept.memory_id)
    (conflict,) = take(there, bundle(here)).conflicts
    assert (conflict.memory_id, conflict.existing_memory_id, conflict.reason) == (
        kept.memory_id,
        kept.memory_id,
        "forgotten_there",
    )
    assert there.get(kept.memory_id) is not None


# -- conflicts -------------------------------------------------------------------------------------------------------


def test_the_key_of_another_active_record_is_a_conflict(homes: Callable[..., MemoryHome]) -> None:
    here, there = homes(), homes()
    theirs = here.remember("The port is 1.", key="port").record
    ours = there.remember("The port is 2.", key="port").record
    (conflict,) = take(there, bundle(here)).conflicts
    assert (conflict.memory_id, conflict.existing_memory_id, conflict.reason) == (
        theirs.memory_id,
        ours.memory_id,
        "key_taken",
    )
    named = there.named("port")
    assert named is not None
    assert (named.memory_id, named.content) == (ours.memory_id, "The port is 2.")
    assert there.get(theirs.memory_id) is None


def test_what_an_active_record_says_already_is_skipped(homes: Callable[..., MemoryHome]) -> None:
    here, there = homes(), homes()
    here.remember("Ada keeps bees.")
    here.remember("The port is 2.", key="port")
    there.remember("ada keeps  bees")
    there.remember("The port is 2.", key="port")
    assert counts(take(there, bundle(here))) == (0, 2, 0, [])


def test_an_expired_holder_makes_room(homes: Callable[..., MemoryHome]) -> None:
    here, there = homes(), homes()
    here.remember("The port is 1.", key="port")
    there.remember("The port is 2.", key="port", expires_at=there.clock.at + 10)
    there.later()
    assert counts(take(there, bundle(here))) == (1, 0, 0, [])


def test_a_change_there_is_a_conflict_and_a_change_here_is_not(homes: Callable[..., MemoryHome]) -> None:
    here, there = homes(), homes()
    kept = here.remember("Ada keeps bees.").record
    old = bundle(here)
    take(there, old)
    here.later()
    here.update(kept.memory_id, tags=["changed"])
    assert counts(take(there, bundle(here))) == (0, 0, 0, ["newer_there"])
    assert counts(take(here, old)) == (0, 1, 0, [])
    found = there.get(kept.memory_id)
    assert found is not None
    assert found.tags == []


def test_an_id_that_names_something_else_is_a_conflict(homes: Callable[..., MemoryHome]) -> None:
    here = homes()
    kept = here.remember("Ada keeps bees.").record

    def forge(lines: list[dict[str, Any]]) -> None:
        lines[1]["content"] = "Ada keeps wasps."

    assert counts(take(here, resealed(bundle(here), forge))) == (0, 0, 0, ["different_record"])
    assert here.get(kept.memory_id, HERE) is not None
    assert here.listed() == ["Ada keeps bees."]


def test_scopes_that_are_not_active_are_told(homes: Callable[..., MemoryHome]) -> None:
    here, there = homes(), homes()
    here.remember("In the workspace.", scope=WS1)
    here.remember("Of the user.", scope=USER)
    text = bundle(here)
    elsewhere = Context(workspace_id="ws_2")
    assert counts(take(there, text, elsewhere)) == (1, 0, 0, ["scope_out_of_context"])
    assert there.listed(elsewhere) == ["Of the user."]
    narrow = pages(here, scopes=[USER])
    assert [e.content for e in open_bundle(narrow[0].bundle) if isinstance(e, BundleRecord)] == ["Of the user."]


def test_a_workspace_that_is_not_here_is_not_found(homes: Callable[..., MemoryHome]) -> None:
    here, there = homes(), homes()
    here.remember("In the workspace.", scope=WS1)
    there.sql(lambda tx: tx.run("DELETE FROM thread"))
    there.sql(lambda tx: tx.run("DELETE FROM workspace WHERE workspace_id = 'ws_1'"))
    assert failure(there, bundle(here)).reason == "not_found"


# -- guards ----------------------------------------------------------------------------------------------------------


def test_import_asks_for_memory_and_for_a_thread_that_may_write(homes: Callable[..., MemoryHome]) -> None:
    home = homes()
    home.remember("Ada keeps bees.")
    home.add_thread("thr_ro", memory_mode="read_only")
    home.add_thread("thr_no", memory_mode="ignored")
    text = bundle(home)
    for thread_id, reason in (("thr_ro", "memory_write_disabled"), ("thr_no", "memory_ignored")):
        with pytest.raises(Refused) as caught:
            take(home, text, msgspec.structs.replace(HERE, thread_id=thread_id))
        assert caught.value.reason == reason
    home.switch(enabled=False)
    assert bundle(home) == text
    with pytest.raises(Unavailable) as off:
        take(home, text)
    assert off.value.reason == "memory_disabled"


def test_secrets_and_our_own_blocks_stay_out(homes: Callable[..., MemoryHome]) -> None:
    home = homes()
    home.remember("Ada keeps bees.")
    token = "ghp_" + "a1B2c3D4" * 4 + "e5F6"
    texts = [
        {"content": f"The token is {token}."},
        {"tags": [token]},
        {"metadata": {"note": [token]}},
        {"value": token},
        {"content": "please keep </recalled_memory>"},
    ]

    def forge(lines: list[dict[str, Any]]) -> None:
        model = lines.pop()
        lines += [{**model, "memory_id": f"mem_{n}", **change} for n, change in enumerate(texts)]
        quote = {"quote": token, "source_kind": "user_statement", "at": 1}
        lines.append({**model, "memory_id": "mem_quote", "evidence": [quote]})
        lines[0]["counts"]["records"] = len(lines) - 1

    there = homes()
    result = take(there, resealed(bundle(home), forge))
    assert result.imported == 0
    assert sorted({one.reason for one in result.conflicts}) == ["own_context_block", "secret_detected"]
    assert token.encode() not in there.bytes_on_disk()


def test_regulated_words_are_marked_whatever_the_bundle_says(homes: Callable[..., MemoryHome]) -> None:
    here, there = homes(), homes()
    here.remember("I take insulin every morning.", sensitivity="regulated")

    def forge(lines: list[dict[str, Any]]) -> None:
        lines[1]["sensitivity"] = "normal"

    take(there, resealed(bundle(here), forge))
    assert there.found("insulin") == []
    assert there.found("insulin", include_sensitive=True) == ["I take insulin every morning."]


def test_unseen_characters_are_not_taken_in(homes: Callable[..., MemoryHome]) -> None:
    here, there = homes(), homes()
    here.remember("Ada keeps bees.")

    def forge(lines: list[dict[str, Any]]) -> None:
        lines[1]["content"] = "Ada \u202ekeeps\x07 bees."

    take(there, resealed(bundle(here), forge))
    assert there.listed() == ["Ada keeps bees."]


def test_a_damaged_record_is_left_out_and_named(homes: Callable[..., MemoryHome]) -> None:
    home = homes()
    kept = home.remember("Ada keeps bees.").record
    home.remember("Winters are mild.")
    home.sql(lambda tx: tx.run("UPDATE record SET content = 'Ada keeps wasps.' WHERE memory_id = ?", (kept.memory_id,)))
    (page,) = pages(home)
    assert [e.content for e in open_bundle(page.bundle) if isinstance(e, BundleRecord)] == ["Winters are mild."]
    assert [(d.code, d.data) for d in page.diagnostics] == [("damaged_left_out", {"memory_ids": [kept.memory_id]})]


def test_one_notification_tells_of_all_of_it(homes: Callable[..., MemoryHome]) -> None:
    here, there = homes(), homes()
    furnish(here)
    there.tell()
    take(there, bundle(here))
    (told,) = there.told
    assert (told.method, told.params.scopes) == ("memory/invalidated", [USER, WS1])


def test_what_has_expired_meanwhile_says_so(homes: Callable[..., MemoryHome]) -> None:
    here, there = homes(), homes()
    kept = here.remember("The tent is let.", expires_at=START + 1000).record
    text = bundle(here)
    there.later(2000)
    take(there, text)
    found = there.get(kept.memory_id)
    assert found is not None
    assert found.status == "expired"
    assert there.listed() == []
    assert counts(take(there, text)) == (0, 1, 0, [])


# -- pages -----------------------------------------------------------------------------------------------------------


def test_pages_are_whole_bundles_and_come_in_any_order(homes: Callable[..., MemoryHome], monkeypatch: Any) -> None:
    monkeypatch.setattr("memory.bundles.exporting.PAGE_BYTES", 6000)
    here, there = homes(), homes()
    furnish(here)
    there.clock.at = here.clock.at
    texts = [page.bundle for page in pages(here)]
    assert len(texts) > 3
    assert sum(take(there, text).imported for text in reversed(texts)) == 11
    assert entries([page.bundle for page in pages(there)]) == entries(texts)


@pytest.mark.loop("check")
def test_a_record_with_more_evidence_than_a_page_travels_whole(homes: Callable[..., MemoryHome]) -> None:
    here, there = homes(), homes()
    kept = here.remember("Ada keeps bees.").record
    quotes = 2 * PAGE_BYTES // 5000

    def grow(tx: Any) -> None:
        for n in range(quotes):
            tx.run(
                SQL["add_evidence"],
                {
                    "memory_id": kept.memory_id,
                    "candidate_id": None,
                    "quote": f"{n} " + "é" * 1990,
                    "source_kind": "user_statement",
                    "thread_id": None,
                    "turn_id": f"trn_{n}",
                    "item_id": None,
                    "at": n,
                },
            )

    here.sql(grow)
    here.sql(lambda tx: tx.run(SQL["recount_imported_evidence"], {"memory_id": kept.memory_id}))
    texts = [page.bundle for page in pages(here)]
    assert len(texts) > 1
    assert all(len(text.encode()) < PAGE_BYTES + 1000 for text in texts)
    for text in reversed(texts):
        take(there, text)
    found = there.get(kept.memory_id)
    assert found is not None
    assert found.evidence_count == quotes + 1
    assert sum(take(there, text).imported for text in texts) == 0
    ours, theirs = (entries([page.bundle for page in pages(home)])[kept.memory_id] for home in (here, there))
    assert isinstance(ours, BundleRecord)
    assert isinstance(theirs, BundleRecord)
    assert theirs.evidence == ours.evidence
    assert theirs.events == ours.events


def test_an_import_that_was_cut_off_is_completed_by_importing_again(
    homes: Callable[..., MemoryHome], monkeypatch: Any
) -> None:
    monkeypatch.setattr("memory.bundles.importing.CHUNK", 3)
    here, there = homes(), homes()
    furnish(here)
    there.clock.at = here.clock.at
    text, write = bundle(here), there.db.write
    calls: list[Any] = []

    async def flaky(work: Any) -> Any:
        calls.append(work)
        if len(calls) == 3:
            raise Unavailable
        return await write(work)

    monkeypatch.setattr(there.db, "write", flaky)
    with pytest.raises(Unavailable):
        take(there, text)
    assert 0 < len(there.rows("SELECT 1 FROM record")) < 10
    assert counts(take(there, text)) == (5, 6, 2, [])
    assert entries([bundle(there)]) == entries([text])


@pytest.mark.parametrize("cursor", ["WzksMCwwXQ", "Wy0xLDAsMF0", "WzAsMCwtMV0", "WzAsMF0", "x"])
def test_a_cursor_that_nobody_gave_is_refused(homes: Callable[..., MemoryHome], cursor: str) -> None:
    home = homes()
    with pytest.raises(CallerError) as caught:
        home.do(home.service.export_bundle(ExportParams(context=HERE, cursor=cursor)))
    assert caught.value.details == {"path": "$.cursor", "problem": "This is not a cursor of a page before"}


def test_an_empty_home_exports_an_empty_bundle(homes: Callable[..., MemoryHome]) -> None:
    here, there = homes(), homes()
    assert open_bundle(bundle(here)) == []
    assert counts(take(there, bundle(here))) == (0, 0, 0, [])


# -- a text that came from anywhere ----------------------------------------------------------------------------------


@pytest.fixture
def sample(homes: Callable[..., MemoryHome]) -> str:
    home = homes()
    home.switch(review_enabled=True)
    home.remember("Ada keeps bees.")
    home.propose("I like liquorice.", MIDDLING)
    home.forget(home.remember("The dog is called Rex.").record.memory_id)
    return bundle(home)


def test_a_changed_byte_a_lost_line_or_another_order_is_noticed(sample: str) -> None:
    lines = sample.splitlines(keepends=True)
    for broken in (
        sample.replace("bees", "wasp"),
        "".join(lines[:-1]),
        "".join([lines[0], *lines[2:]]),
        "".join([lines[0], *lines[2:-1], lines[1], lines[-1]]),
        sample[: len(sample) // 2],
        lines[0],
        sample + sample,
    ):
        with pytest.raises(CallerError) as caught:
            open_bundle(broken)
        assert caught.value.reason == "checksum_mismatch"


def test_a_newer_version_is_told_apart_from_a_broken_one(sample: str) -> None:
    def newer(lines: list[dict[str, Any]]) -> None:
        lines[0] |= {"version": BUNDLE_VERSION + 1, "news": True}
        lines[1] = {"type": "record2"}

    for text in (resealed(sample, newer), sample.replace('"version":1', '"version":2')):
        with pytest.raises(CallerError) as caught:
            open_bundle(text)
        assert caught.value.reason == "version_too_new"
        assert caught.value.details == {"version": 2, "supported": 1}


FORGED: list[tuple[str, Callable[[list[dict[str, Any]]], Any]]] = [
    ("$.bundle[1].surprise", lambda lines: lines[1].update(surprise=1)),
    ("$.bundle[1].content", lambda lines: lines[1].update(content="x" * 16385)),
    ("$.bundle[1].content", lambda lines: lines[1].update(content="é" * 16000)),
    ("$.bundle[1].content", lambda lines: lines[1].update(content="\u202e \u200b")),
    ("$.bundle[1].value", lambda lines: lines[1].update(value="x" * 1100)),
    ("$.bundle[1].metadata", lambda lines: lines[1].update(metadata={"x": "y" * 9000})),
    ("$.bundle[1].memory_id", lambda lines: lines[1].update(memory_id="../x")),
    ("$.bundle[1].scope.kind", lambda lines: lines[1]["scope"].update(kind="world")),
    ("$.bundle[1].key", lambda lines: lines[1].update(key="workspace:other:custom:x:y")),
    ("$.bundle[1].status", lambda lines: lines[1].update(status="deleted")),
    ("$.bundle[1].sensitivity", lambda lines: lines[1].update(sensitivity="secret_like")),
    ("$.bundle[1].created_at", lambda lines: lines[1].update(created_at=-1)),
    ("$.bundle[1].access_count", lambda lines: lines[1].update(access_count=2**60)),
    ("$.bundle[1].evidence[0].quote", lambda lines: lines[1]["evidence"][0].update(quote="x" * 2001)),
    ("$.bundle[1].events[0].actor.kind", lambda lines: lines[1]["events"][0]["actor"].update(kind="god")),
    ("$.bundle[2].decided_at", lambda lines: lines[2].update(decided_at=1)),
    ("$.bundle[3].fingerprint", lambda lines: lines[3].update(fingerprint="00")),
    ("$.bundle[0].counts", lambda lines: lines[0]["counts"].update(records=2)),
    ("$.bundle[0].format", lambda lines: lines[0].update(format="other")),
    ("$.bundle[2].type", lambda lines: lines.insert(2, lines[0])),
    ("$.bundle[1].type", lambda lines: lines[1].update(type="secret")),
]


@pytest.mark.parametrize(("path", "forge"), FORGED, ids=[f"{n}-{path}" for n, (path, _) in enumerate(FORGED)])
def test_a_wrong_line_is_named_and_nothing_is_taken(
    homes: Callable[..., MemoryHome], sample: str, path: str, forge: Callable[[list[dict[str, Any]]], Any]
) -> None:
    home = homes()
    failed = failure(home, resealed(sample, forge))
    assert failed.reason == "invalid_params"
    assert failed.details is not None
    named = failed.details["path"]
    assert named == path or (path.rpartition(".")[0] == named and path.rpartition(".")[2] in failed.details["problem"])
    assert home.rows("SELECT 1 FROM record UNION ALL SELECT 1 FROM tombstone UNION ALL SELECT 1 FROM candidate") == []


@pytest.mark.parametrize(
    "line",
    [
        b"{",
        b"[]",
        b"1",
        b"",
        b'"x"',
        b"\xff",
        b'{"type":"record"}',
        b"[" * 100_000,
        b'{"type":' + b"[" * 100_000,
        b'{"type":"tombstone","memory_id":"\\ud800"}',
    ],
)
def test_a_line_of_anything_is_an_error_of_the_caller(sample: str, line: bytes) -> None:
    head, *_ = sample.encode().splitlines(keepends=True)
    body = head + line + b"\n"
    text = body + json.dumps({"type": "end", "sha256": hashlib.sha256(body).hexdigest()}).encode()
    with pytest.raises((CallerError, UnicodeDecodeError)) as caught:
        open_bundle(text.decode())
    if isinstance(caught.value, CallerError):
        assert caught.value.details is not None
        assert caught.value.details["path"] == "$.bundle[1]"


@pytest.mark.parametrize("text", ["", "\n", "{}", "null", "[" * 100_000, "\ud800", "héllo", '{"format":1,"version":1}'])
def test_a_text_of_anything_is_an_error_of_the_caller(text: str) -> None:
    with pytest.raises(CallerError):
        open_bundle(text)


def test_the_bound_counts_bytes() -> None:
    with pytest.raises(CallerError) as caught:
        open_bundle("é" * (MAX_BUNDLE_BYTES // 2 + 1))
    assert caught.value.details is not None
    assert "larger" in caught.value.details["problem"]


@settings(max_examples=200, deadline=None)
@given(data=st.data())
def test_no_text_breaks_the_opener(data: st.DataObject) -> None:
    text = data.draw(st.text(max_size=200) | st.binary(max_size=200).map(lambda raw: raw.decode("latin-1")))
    with pytest.raises(CallerError):
        open_bundle(text)


def test_parts_cover_everything_once(sample: str, monkeypatch: Any) -> None:
    record = next(entry for entry in open_bundle(sample) if isinstance(entry, BundleRecord))
    many = msgspec.structs.replace(record, evidence=record.evidence * 50, events=record.events * 30)
    assert PART_BYTES < PAGE_BYTES < MAX_BUNDLE_BYTES
    monkeypatch.setattr(codec, "PART_BYTES", 2500)
    parts = [(place, msgspec.json.decode(line, type=BundleRecord)) for place, line in parts_of(many)]
    assert len(parts) > 5
    for name in ("evidence", "events", "decisions"):
        assert [one for _, part in parts for one in getattr(part, name)] == getattr(many, name)
    place, _ = parts[3]
    assert [line for _, line in parts_of(many, place)] == [line_of(part) for _, part in parts[3:]]
    assert count_entries([part for _, part in parts]).records == len(parts)


# -- the plan --------------------------------------------------------------------------------------------------------

CLEAR = EntrySituation(True, None, None, False, False, None, None)
SAME = Twin(is_forgotten=False, is_same_thing=True, is_unchanged=True, is_older=False, memory_id="mem_1")


@pytest.mark.parametrize(
    ("situation", "fate", "reason"),
    [
        (CLEAR, "import", None),
        (CLEAR._replace(is_scope_active=False, problem="secret_detected"), "conflict", "scope_out_of_context"),
        (CLEAR._replace(problem="secret_detected", twin=SAME), "conflict", "secret_detected"),
        (CLEAR._replace(twin=SAME), "attach", None),
        (CLEAR._replace(twin=structs.replace(SAME, is_forgotten=True)), "tombstone", None),
        (CLEAR._replace(twin=structs.replace(SAME, is_same_thing=False)), "conflict", "different_record"),
        (CLEAR._replace(twin=structs.replace(SAME, is_unchanged=False)), "skip", None),
        (
            CLEAR._replace(twin=structs.replace(SAME, is_unchanged=False, is_older=True)),
            "conflict",
            "newer_there",
        ),
        (CLEAR._replace(is_id_forgotten=True, duplicate="mem_2"), "tombstone", None),
        (CLEAR._replace(are_words_forgotten=True, key_holder="mem_2"), "tombstone", None),
        (CLEAR._replace(duplicate="mem_2", key_holder="mem_2"), "skip", None),
        (CLEAR._replace(key_holder="mem_2"), "conflict", "key_taken"),
    ],
)
def test_the_first_row_that_holds_decides(situation: EntrySituation, fate: str, reason: str | None) -> None:
    verdict = plan_import(situation)
    assert (verdict.fate, verdict.reason) == (fate, reason)


def test_a_tombstone_ends_no_life() -> None:
    new = plan_tombstone(is_scope_active=True, is_known=False, living=None, is_visible=False)
    alive = plan_tombstone(is_scope_active=True, is_known=False, living="mem_1", is_visible=True)
    hidden = plan_tombstone(is_scope_active=True, is_known=False, living="mem_1", is_visible=False)
    assert (new.fate, alive.reason, alive.existing) == ("tombstone", "forgotten_there", "mem_1")
    assert (hidden.reason, hidden.existing) == ("different_record", None)


def test_statistics_count_what_came(homes: Callable[..., MemoryHome]) -> None:
    here, there = homes(), homes()
    furnish(here)
    here.do(here.service.sweep())
    there.clock.at = here.clock.at
    take(there, bundle(here))
    ours, theirs = (home.do(home.service.questions.stats(StatsParams(context=HERE))) for home in (here, there))
    assert theirs.records.by_category == ours.records.by_category
    assert theirs.records.by_status["active"] == ours.records.by_status["active"]
