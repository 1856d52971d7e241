"""What a thread or a workspace owned is gone with it: every column of every table is looked through."""

import base64
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from capture_stage import Chat
from spawned import Den, drain, every, fact, journey, remember, take_turn
from timed_den import DAY, TimedDen

GONE = "zz-gone"
"""Stands in every id and every text that the doomed thread and workspace own."""

TAUGHT = "what the user taught there is the user's own, with the words that it rests on"
AUDIT = "why something was or was not kept, as ids, codes and numbers"
A_WEEK = "finished work and recalls are known by their ids for a week"
KEPT = {
    "candidate.content": TAUGHT,
    "candidate.proposal": TAUGHT,
    "record.content": TAUGHT,
    "record.provenance": TAUGHT,
    "record.thread_id": TAUGHT,
    "record.turn_id": TAUGHT,
    "evidence.quote": TAUGHT,
    "evidence.thread_id": TAUGHT,
    "evidence.turn_id": TAUGHT,
    "decision.thread_id": AUDIT,
    "decision.turn_id": AUDIT,
    "scope.key": "what decisions and the traces of what was erased are numbered by",
}
"""What may name a thread or a workspace that is gone, for good, and why."""

KEPT_FOR_A_WHILE = {
    "job.subject": A_WEEK,
    "job.thread_id": A_WEEK,
    "job.turn_id": A_WEEK,
    "memory_recall.turn_id": A_WEEK,
    "idempotency.key": "an answer is repeated for 30 days",
    "idempotency.answer": "the same",
}

BY_NUMBER = {
    "chunk": "its source",
    "chunk_vec": "its chunk",
    "segment": "its scope",
    "record_terms": "its record",
    "memory_vec": "its record",
    "repetition": "its turn",
    "tombstone": "its scope",
    "memory_change": "its scope",
    "memory_event": "its record",
    "memory_vec_loss": "its scope",
    "earlier_value": "its record",
    "pass_change": "ids of records and candidates, for 90 days",
    "pass_run": "counts, for 90 days",
    "chunk_vec_loss": "its segment",
    "knowledge_content": "its owner",
    "knowledge_chunk": "its content",
    "pdf_text": "its content",
    "knowledge_vec": "its owner",
    "knowledge_vec_loss": "its owner",
    "embedding_cache": "the collection that left it",
    "knowledge_reference": "its content",
    "knowledge_import": "its content",
    "enrichment": "its record",
    "alias": "its entity",
    "edge": "what states it",
    "forgotten": "a keyed hash",
    "mention": "its turn",
}
"""Tables whose rows name their owner by a number or through another row."""

OF_NOBODY = {"home", "owner", "space", "memory_fact", "pass_state", "sqlite_sequence"}


def tables(den: Den) -> list[str]:
    """Every table of the home that holds rows of its own."""
    database = den.database()
    try:
        names = [name for (name,) in database.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
    finally:
        database.close()
    full_text = (
        "memory_fts",
        "memory_terms",
        "chunk_fts",
        "chunk_terms",
        "knowledge_fts",
        "knowledge_card_fts",
    )  # by number too: `memory_fts` goes with the record's terms
    return [name for name in names if not name.startswith(full_text)]


def traces(den: Den) -> dict[str, int]:
    """Rows that name what is gone, by `table.column`."""
    found: dict[str, int] = {}
    names = tables(den)
    database = den.database()
    try:
        for table in names:
            for column in [row[1] for row in database.execute(f'PRAGMA table_info("{table}")')]:
                holds = f'instr(CAST("{column}" AS BLOB), CAST(? AS BLOB)) > 0'
                count = next(database.execute(f'SELECT count(*) FROM "{table}" WHERE {holds}', (GONE,)))[0]  # noqa: S608
                if count:
                    found[f"{table}.{column}"] = count
    finally:
        database.close()
    return found


def sizes(den: Den) -> dict[str, int]:
    """How many rows the indexes have."""
    names = (
        "chunk",
        "chunk_source",
        "chunk_vec",
        "chunk_fts",
        "record_terms",
        "memory_fts",
        "memory_vec",
        "repetition",
    )
    database = den.database()
    try:
        found = {name: next(database.execute(f"SELECT count(*) FROM {name}"))[0] for name in names if "fts" not in name}  # noqa: S608
        for name in ("chunk_fts", "memory_fts"):
            found[name] = next(database.execute(f"SELECT count(*) FROM {name}_docsize"))[0]  # noqa: S608
    finally:
        database.close()
    return found


def check_gone(den: Den, before: dict[str, int], *, taught: int) -> None:
    """Nothing names it but what may, its memory, its index rows and its files are gone."""
    assert {name: count for name, count in traces(den).items() if name not in KEPT | KEPT_FOR_A_WHILE} == {}
    database = den.database()
    try:
        owned = "SELECT DISTINCT r.status FROM record AS r JOIN scope AS s ON s.id = r.scope_id WHERE instr(s.key, ?)"
        assert [*database.execute(owned, (GONE,))] == []
        waiting = "SELECT c.status FROM candidate AS c JOIN scope AS s ON s.id = c.scope_id WHERE instr(s.key, ?)"
        assert [*database.execute(waiting, (GONE,))] == []
    finally:
        database.close()
    after = sizes(den)
    assert after == before | {name: before[name] + taught for name in ("record_terms", "memory_fts")}
    kept = [name for name, data in den.files().items() if name.startswith("artifacts/") and GONE.encode() in data]
    assert kept == []


async def live(client: Any, den: Den, workspace_id: str, thread_id: str, word: str) -> None:
    """All that can be done in a thread."""
    (den.folder / "AGENTS.md").write_text("Use tabs.", encoding="utf-8")
    await client.request(
        "thread/start",
        {
            "thread_id": thread_id,
            "workspace_id": workspace_id,
            "cwd": str(den.folder),
            "name": f"name {word}",
            "agent_id": f"agent-{word}",
            "task_id": f"task-{word}",
            "instructions": f"instructions {word}",
        },
    )
    data = base64.b64encode(f"a file about {word}".encode()).decode()
    learnt = [fact(f"The user likes {word} tea", f"I like {word} tea", "tea")]
    den.write_script(
        [
            {
                "role": "main",
                "round": 1,
                "times": 1,
                "respond": {
                    "tool_calls": [{"name": "request_tools", "arguments": {"domains": ["memory"], "reason": word}}]
                },
            },
            {"role": "main", "respond": {"text": f"answer {word}"}},
            {"role": "extractor", "respond": {"json": {"facts": learnt}}},
        ]
    )
    for number in range(2):
        said = [
            {"type": "text", "text": f"I like {word} tea. Number {number}"},
            {
                "type": "artifact",
                "artifact_id": f"art-{word}",
                "name": f"{word}.txt",
                "mime": "text/plain",
                "data_base64": data,
            },
        ]
        await client.request("turn/start", {"thread_id": thread_id, "turn_id": f"trn-{word}-{number}", "input": said})
        await client.wait_for(
            "turn/post_completed", lambda told, number=number: told["turn_id"] == f"trn-{word}-{number}"
        )
    context = {"workspace_id": workspace_id, "thread_id": thread_id, "task_id": f"task-{word}"}
    for kind, key in (("thread", thread_id), ("workspace", workspace_id)):
        for number in range(2):
            scope = {"kind": kind, "key": key}
            repeat = f"key-{kind}-{number}-{word}"
            kept = await remember(
                client, f"{kind} fact {number} about {word}", scope=scope, context=context, idempotency_key=repeat
            )
            if number:
                await client.request(
                    "memory/write",
                    {
                        "content": f"{kind} candidate about {word}",
                        "scope": scope,
                        "context": context,
                        "semantic": learnt[0]["semantic"],
                        "disposition": "create_pending_candidate",
                        "evidence": [{"quote": f"about {word}"}],
                    },
                )
                await client.request("memory/forget", {"target": {"kind": "id", "memory_id": kept}, "context": context})
    prepared = {
        "thread_id": thread_id,
        "turn_id": f"trn-{word}-host",
        "input": [{"type": "text", "text": f"Which {word} tea?"}],
    }
    await client.request("turn/prepare", prepared)
    arguments = {"domains": ["memory"], "reason": word}
    await client.request(
        "turn/tool_call",
        {"turn_id": f"trn-{word}-host", "call_id": f"call-{word}", "name": "request_tools", "arguments": arguments},
    )
    await client.request(
        "turn/finish",
        {
            "turn_id": f"trn-{word}-host",
            "status": "succeeded",
            "assistant_text": f"{word} tea",
            "tool_events": [{"name": word, "call_id": "c", "status": "ok"}],
        },
    )
    await client.request(
        "thread/import",
        {
            "workspace_id": workspace_id,
            "thread_id": thread_id,
            "source": {"kind": "chat", "id": word},
            "mode": "append",
            "turns": [
                {"turn_id": f"trn-{word}-import", "at": 1, "items": [{"role": "user", "text": f"imported {word}"}]}
            ],
        },
    )
    await take_turn(client, thread_id, f"What did we say of {word} earlier?", f"trn-{word}-recall")
    for mode in ("normal", "read_only"):
        source = {"workspace_id": workspace_id, "thread_id": thread_id, "session_id": f"{mode} {word}"}
        chat = Chat(client, **source)
        assert (await chat.say(f"Which {word} tea do I like, {mode}?", f"The {word}.", memory_mode=mode))["blocks"]
    await drain(client)
    item = (await every(client, "thread/history", "items", thread_id=thread_id))[0]
    await client.request("thread_episodic/exclude", {"item_id": item["item_id"], "reason": word})
    await client.request("memory/search", {"query": f"{word} tea", "context": context})
    await client.request(
        "thread_episodic/search", {"workspace_id": workspace_id, "query": word, "thread_id": thread_id}
    )


@journey
async def test_what_a_thread_or_a_workspace_owned_goes_with_it(tmp_path: Path) -> None:
    den = TimedDen(tmp_path, scripted=True)

    @asynccontextmanager
    async def opened() -> AsyncIterator[Any]:
        async with den.client("ws-stays") as client:
            yield client
            await drain(client)

    async with opened() as client:
        await live(client, den, "ws-stays", "thr-stays", "sencha")
    before = sizes(den)
    assert traces(den) == {}
    async with opened() as client:
        await live(client, den, "ws-stays", f"thr-{GONE}", GONE)
    named = {name.split(".")[0] for name in traces(den)}
    assert any(GONE.encode() in data for name, data in den.files().items() if name.startswith("artifacts/"))
    async with opened() as client:
        removed = (await client.request("thread/delete", {"thread_id": f"thr-{GONE}"}))["removed"]
        assert (removed["threads"], removed["turns"], removed["artifacts"]) == (1, 6, 2)
        assert await every(
            client, "memory/list", "records", context={"workspace_id": "ws-stays", "thread_id": f"thr-{GONE}"}
        )
    check_gone(den, before, taught=2)

    async with opened() as client:
        await client.request("workspace/create", {"workspace_id": f"ws-{GONE}", "name": GONE, "root_path": f"/{GONE}"})
        await live(client, den, f"ws-{GONE}", f"thr-2-{GONE}", f"2-{GONE}")
        folder = tmp_path / f"files-{GONE}"
        folder.mkdir()
        (folder / f"{GONE}.md").write_text(f"# {GONE}\n", encoding="utf-8")
        await client.request("knowledge/collections/add", {"path": str(folder), "workspace_id": f"ws-{GONE}"})
        await drain(client)
    named |= {name.split(".")[0] for name in traces(den)}
    assert {*tables(den)} - named == {*BY_NUMBER, *OF_NOBODY}  # a new table: let a thread write to it, or say why not
    async with opened() as client:
        await client.request("workspace/delete", {"workspace_id": f"ws-{GONE}"})
    check_gone(den, before, taught=3)

    den.forward(60 * DAY)
    async with opened():
        pass
    assert {name: count for name, count in traces(den).items() if name not in KEPT} == {}
