"""Which records stand in every prompt, when they are read anew, and at what cost."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from dictionary_memory import turn_context
from memory_home import HERE, USER, WISH, WS1, WS2, MemoryHome, msgspec

from agent.prompt.compiler import compile_prompt, list_injected
from agent.prompt.ledger import without
from agent.values import Contributed
from memory.read.standing import Standing, voucher_of
from memory.rows.store import SQL
from promt.brief import Brief
from protocol.hooks import SectionContribution
from protocol.memory.forgetting import ForgetById, ForgetParams
from protocol.memory.writes import RememberParams, UpdateParams, WriteParams
from protocol.record import Actor, Provenance, Record


@pytest.fixture
def home(tmp_path: Path) -> Iterator[MemoryHome]:
    made = MemoryHome(tmp_path)
    yield made
    made.close()


def brief(home: MemoryHome, **turn: Any) -> Brief:
    return home.do(home.service.turns.standing(turn_context(**{"workspace_id": "ws_1"} | turn)))


def shown(home: MemoryHome, **turn: Any) -> list[str]:
    return [line.text.partition("]: ")[2] for line in brief(home, **turn).lines]


def keep(home: MemoryHome, content: str, category: Any = "recurring_instruction", **members: Any) -> Record:
    home.later()
    return home.do(
        home.service.remember(RememberParams(content=content, category=category, context=HERE, **members))
    ).record


def forget(home: MemoryHome, record: Record) -> None:
    home.do(home.service.forget(ForgetParams(target=ForgetById(memory_id=record.memory_id), context=HERE)))


def test_only_standing_categories_of_the_scopes_in_view(home: MemoryHome) -> None:
    keep(home, "Always answer in German.")
    keep(home, "I like tea.", "preference")
    keep(home, "Use tabs here.", scope=WS1)
    assert shown(home) == ["Always answer in German.", "Use tabs here."]
    assert shown(home, workspace_id="ws_2") == ["Always answer in German."]


def test_the_newest_of_a_key_wins_over_scopes(home: MemoryHome) -> None:
    old = keep(home, "Answer in German.", key="language")
    new = keep(home, "Answer in French.", key="language", scope=WS1)
    assert shown(home) == ["Answer in French."]
    keep(home, "Answer in German.", key="language")  # said again
    assert shown(home) == ["Answer in German."]
    forget(home, old)
    assert shown(home) == ["Answer in French."]
    forget(home, new)
    assert shown(home) == []


def test_a_correction_an_expiry_and_a_forgetting_are_seen_at_once(home: MemoryHome) -> None:
    record = keep(home, "Call me Mira.", "identity")
    assert shown(home) == ["Call me Mira."]
    updated = home.do(
        home.service.update(UpdateParams(memory_id=record.memory_id, content="Call me Miriam.", context=HERE))
    ).record
    assert shown(home) == ["Call me Miriam."]
    until = home.clock.at + 60_000
    keep(home, "Be brief today.", expires_at=until)
    assert shown(home) == ["Be brief today.", "Call me Miriam."]
    home.clock.at = until
    assert shown(home) == ["Call me Miriam."]
    forget(home, updated)
    assert brief(home).text == ""


def test_what_is_regulated_or_damaged_is_not_shown(home: MemoryHome) -> None:
    keep(home, "I am HIV positive.", "identity", sensitivity="regulated")
    broken = keep(home, "Always sign as M.")
    keep(home, "Be brief.")
    home.sql(
        lambda tx: tx.run("UPDATE record SET content = 'Always obey.' WHERE memory_id = :id", {"id": broken.memory_id})
    )
    assert shown(home) == ["Be brief."]


@pytest.mark.parametrize(
    ("provenance", "stands"),
    [
        (Provenance(created_by=Actor(kind="user")), True),
        (Provenance(created_by=Actor(kind="user", id="cli")), True),
        (Provenance(source_kind="user_correction", created_by=Actor(kind="user")), True),
        (Provenance(source_kind="import", created_by=Actor(kind="import")), True),
        (Provenance(), True),
        (Provenance(source_kind="user_statement", item_id="itm_1", created_by=Actor(kind="user", id="approval")), True),
        (
            Provenance(source_kind="user_statement", item_id="itm_1", created_by=Actor(kind="extractor", id="rules")),
            True,
        ),
        (Provenance(source_kind="user_statement", item_id="itm_1", created_by=Actor(kind="extractor")), False),
        (Provenance(created_by=Actor(kind="assistant")), False),
        (Provenance(created_by=Actor(kind="assistant", id="approval")), False),
        (Provenance(source_kind="assistant_inference", created_by=Actor(kind="user")), False),
        (Provenance(source_kind="tool_observation", created_by=Actor(kind="user")), False),
        (Provenance(item_id="itm_1", created_by=Actor(kind="user")), False),
    ],
)
def test_whose_words_may_stand(provenance: Provenance, stands: bool) -> None:  # noqa: FBT001
    assert (voucher_of(provenance) is not None) == stands


def test_what_each_door_wrote_is_judged_by_what_is_stored(home: MemoryHome) -> None:
    semantic = msgspec.structs.replace(WISH, category="recurring_instruction", attribute="tone")
    said = home.say("Always be formal with me.")
    params = WriteParams(content="Always be formal with me.", semantic=semantic, evidence=[said], context=HERE)
    written = home.do(home.service.write(params)).record
    assert written is not None
    turn = turn_context(workspace_id="ws_1", thread_id="thr_1", turn_id=said.turn_id)
    tool = RememberParams(content="Always add a joke.", category="recurring_instruction")
    saved = home.do(home.service.turns.remember_in_turn(turn, tool, explicit=True)).record
    assert saved is not None
    assert shown(home) == [
        "Always add a joke."
    ]  # the tool was called for own words of the turn; the host's quote was not looked at
    inferred = RememberParams(content="Always add a poem.", category="recurring_instruction")
    home.do(home.service.turns.remember_in_turn(turn, inferred, explicit=False))
    assert shown(home) == ["Always add a joke."]
    corrected = UpdateParams(memory_id=saved.memory_id, content="Always add a pun.", context=HERE)
    home.do(home.service.update(corrected))
    assert shown(home) == ["Always add a pun."]


def test_bytes_do_not_move_while_nothing_changes(home: MemoryHome) -> None:
    for n in range(5):
        keep(home, f"Always keep rule {n}.")
    first = brief(home)
    home.later(86_400_000)
    keep(home, "Tea is nice.", "preference")
    keep(home, "Always keep rule 2.")  # said again: more evidence, no other words
    assert brief(home, thread_id="thr_9", turn_id="trn_9").text == first.text
    other = home.make_service().turns  # as after a restart
    assert home.do(other.standing(turn_context(workspace_id="ws_1"))).text == first.text


def test_an_unchanged_turn_reads_the_index_alone(home: MemoryHome, monkeypatch: pytest.MonkeyPatch) -> None:
    for n in range(20):
        keep(home, f"Always keep rule {n}.")
    first = brief(home)
    monkeypatch.setattr("memory.read.standing.compose", lambda *_: pytest.fail("made anew"))
    assert brief(home) is first
    monkeypatch.undo()
    read: list[int] = []
    real = __import__("memory.rows.records", fromlist=["records_by_row"]).records_by_row
    monkeypatch.setattr("memory.read.standing.records_by_row", lambda tx, rows: read.extend(rows) or real(tx, rows))
    keep(home, "Always keep rule 20.")
    brief(home)
    assert len(read) == 1  # only what is new
    plan = home.sql(lambda tx: tx.all("EXPLAIN QUERY PLAN " + SQL["standing_state"], {"scope_ids": "[1,2]"}))
    assert any("USING COVERING INDEX record_standing" in row[-1] for row in plan), plan


def test_budgets_are_kept_apart_and_few_are_kept(home: MemoryHome) -> None:
    keep(home, "Always answer in German, and with all the dates and names that there are.")
    wide = brief(home)
    home.switch(standing_chars=220)
    assert brief(home).left_out == [wide.lines[0].ref.id]
    home.switch(standing_chars=1200)
    assert brief(home).text == wide.text
    standing = Standing(home.service.turns._means)
    for number in range(80):
        home.switch(standing_chars=1000 + number)
        home.do(standing.read([USER, WS1, WS2]))
    assert len(standing._kept) <= 64


def test_the_ledger_knows_standing_lines_again_and_keeps_each_once_in_a_thread(home: MemoryHome) -> None:
    keep(home, "Always answer in German.")
    whole = brief(home)
    home.say("hello", turn_id="trn_1")
    home.say("hello", turn_id="trn_2")
    section = SectionContribution(
        section_id="memory_standing", domain="memory", title="t", text=whole.text, lines=list(whole.lines)
    )
    compiled = compile_prompt([Contributed("h", section)], nonce="abcd", recall_failed=False, off_reason="x")
    for turn_id in ("trn_1", "trn_2"):
        home.sql(lambda tx, t=turn_id: home.ledger.record(tx, ("ws_1", "thr_1", t), list_injected(compiled)))
    assert home.sql(lambda tx: tx.one("SELECT count(*) FROM injection")) == (1,)

    def rest(text: str) -> str:
        return home.sql(lambda tx: without(text, home.ledger.echo_spans(tx, "ws_2", text)))

    assert rest(f"You told me:\n{whole.lines[0].text}\nand more") == "You told me:\n\nand more"
    assert rest(f"before\n{whole.text}\nafter") == "before\n\nafter"
    talk = "The tags <standing_memory> and </standing_memory> stand around it."
    assert rest(talk) == talk
