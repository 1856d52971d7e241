"""One sentence planted in every place of a home, forgotten with its sources, and looked for in every answer and every
byte."""

import base64
import json

import pytest
from home_bytes import files_holding, needles, tables_holding
from spawned import Den, drain, every, fact, journey, remember, take_turn

from gateway.wire.client import CallFailed
from protocol.methods import METHODS

STAYS = "The cellar is locked with a brass key."
HIDDEN = "marmaladecupboard"  # no name and no code: only the whole sentence tells that it is the memory's
PLAIN = (
    f"My old mill keeps its flour in the {HIDDEN}.",
    f"The user's old mill keeps its flour in the {HIDDEN}.",
    HIDDEN,
)
SEMANTIC = {
    "intent": "implicit_candidate",
    "explicitness": "implicit",
    "category": "project_fact",
    "subject": "workspace",
    "attribute": "place",
    "durability": "project_lifetime",
    "sensitivity": "none",
    "certainty": "medium",
    "scope_hint": "project_workspace",
}
CHANGES = {
    "initialize",
    "shutdown",
    "gateway/drain",
    "settings/update",
    "workspace/create",
    "workspace/delete",
    "thread/start",
    "thread/update",
    "thread/delete",
    "thread/import",
    "turn/start",
    "turn/prepare",
    "turn/tool_call",
    "turn/finish",
    "turn/cancel",
    "artifact/delete",
    "memory/remember",
    "memory/write",
    "memory/update",
    "memory/forget",
    "memory/restore",
    "memory/candidates/decide",
    "memory/candidates/approve",
    "memory/candidates/reject",
    "memory/candidates/edit_and_approve",
    "memory/candidates/merge",
    "memory/candidates/suppress_similar",
    "memory/import",
    "thread_episodic/retry",
    "thread_episodic/reindex",
    "thread_episodic/exclude",
    "thread_episodic/unexclude",
    "provider/test",
}
"""Methods that change something; every other one is asked for all that it knows."""


def coded():
    """A sentence with a code in it, as the user says it and as it is remembered."""
    (word,) = needles(1)
    return f"My vault is called {word}.", f"The user's vault is called {word}.", word


def scripted(den, said, content):
    """A model that learns the sentence once, and repeats it."""
    den.write_script(
        [
            {"role": "extractor", "times": 1, "respond": {"json": {"facts": [fact(content, said, "place")]}}},
            {"role": "extractor", "respond": {"json": {"facts": []}}},
            {
                "role": "main",
                "input_contains": "Search",
                "round": 1,
                "respond": {"tool_calls": [{"name": "memory_search", "arguments": {"query": said}}]},
            },
            {"role": "main", "respond": {"text": f"Noted: {said} I keep that in mind."}},
        ]
    )


def text(words):
    return [{"type": "text", "text": words}]


async def plant(client, said, *, in_file):
    """Have the sentence in every place; the id of the memory that was learnt from it."""
    await client.request("workspace/create", {"workspace_id": "ws_here", "name": f"About: {said}"})
    await client.request("thread/start", {"thread_id": "thr_a", "name": said, "instructions": f"Mind this. {said}"})
    data = base64.b64encode((f"A file. {said}" if in_file else "A file.").encode()).decode()
    file = {
        "type": "artifact",
        "artifact_id": "art_a",
        "name": f"{said}.txt",
        "mime": "text/plain",
        "data_base64": data,
    }
    await take_turn(client, "thr_a", "", "trn_a", input=[*text(f"Hello there. {said}"), file])
    (record,) = await every(client, "memory/list", "records")
    await client.request("thread/start", {"thread_id": "thr_b"})
    await take_turn(client, "thr_b", f"I told you in the morning: {said.lower()} Search it.", "trn_b")
    await client.request("thread/start", {"thread_id": "thr_c", "memory_mode": "ignored"})
    await take_turn(client, "thr_c", f"Nobody may index this. {said}", "trn_c")
    await client.request("thread/start", {"thread_id": "thr_h", "workspace_id": "ws_here"})
    await client.request(
        "turn/prepare", {"thread_id": "thr_h", "turn_id": "trn_h", "input": text(f"By a host. {said}")}
    )
    for call, name, arguments in (
        ("call_1", "request_tools", {"domains": ["memory"], "reason": said}),
        ("call_2", "memory_search", {"query": said}),
    ):
        asked = {"turn_id": "trn_h", "call_id": call, "name": name, "arguments": arguments}
        await client.request("turn/tool_call", asked)
    events = [{"name": "shell", "call_id": "c", "status": "ok", "summary": f"Wrote into a file: {said}"}]
    finish = {"turn_id": "trn_h", "status": "succeeded", "assistant_text": f"Done: {said}", "tool_events": events}
    await client.request("turn/finish", finish)
    emphasized, quoted = " ".join(f"**{word}**" for word in said.split()), said.replace(" ", "\n> ")
    items = [
        {"role": "user", "text": f"Long ago: {said}"},
        {"role": "assistant", "text": f"I see: {emphasized}"},
        {"role": "user", "text": f"> {quoted}\n\nYes, that."},
    ]
    turns = [{"at": 1_700_000_000_000, "items": items}]
    source = {"kind": "test", "id": "one"}
    await client.request(
        "thread/import", {"workspace_id": "ws_here", "source": source, "turns": turns, "name": f"Old: {said}"}
    )
    (item, *_) = (await client.request("turn/items", {"turn_id": "trn_b"}))["items"]
    await drain(client)
    await client.request("thread_episodic/exclude", {"item_id": item["item_id"], "reason": f"Because {said}"})
    proposed = {
        "semantic": SEMANTIC,
        "content": f"About the team: {said}",
        "evidence": [{"quote": said, "item_id": item["item_id"]}],
        "disposition": "create_pending_candidate",
        "scope": {"kind": "workspace", "key": "ws_here"},
    }
    assert (await client.request("memory/write", proposed))["candidate"] is not None
    return record["memory_id"]


async def everything_told(client, said, memory_id):
    """What every method that reads answers, by method."""
    threads = [thread["thread_id"] for thread in await every(client, "thread/list", "threads")]
    turns = {
        item["turn_id"]
        for thread in threads
        for item in await every(client, "thread/history", "items", thread_id=thread)
    }
    runs = [run["run_id"] for run in await every(client, "hooks/runs", "runs")]
    candidates = [one["candidate_id"] for one in await every(client, "memory/candidates/list", "candidates")]
    of_threads, of_turns = [{"thread_id": one} for one in threads], [{"turn_id": one} for one in turns]
    statuses = ["active", "superseded", "expired", "archived", "deleted"]
    asked = {
        "thread/get": of_threads,
        "thread/history": of_threads,
        "artifact/list": of_threads,
        "turn/get": of_turns,
        "turn/items": of_turns,
        "workspace/get": [{"workspace_id": "ws_here"}],
        "artifact/get": [{"artifact_id": "art_a"}],
        "hooks/runs": [{}, *of_turns],
        "memory/candidates/get": [{"candidate_id": one} for one in candidates],
        "memory/list": [{"statuses": statuses}],
        "memory/search": [{"query": said, "statuses": statuses}, {"query": said, "mode": "lexical"}],
        "memory/get": [{"memory_id": memory_id, "include_deleted": True}],
        "memory/history": [{"memory_id": memory_id}],
        "memory/explain": [
            *({"target": {"kind": "turn", "id": one}} for one in turns),
            *({"target": {"kind": "run", "id": one}} for one in runs),
            {"target": {"kind": "memory", "id": memory_id}},
        ],
        "memory/candidates/list": [
            {"statuses": ["pending", "approved", "rejected", "expired", "merged", "suppressed"]}
        ],
        "thread_episodic/search": [{"workspace_id": "ws_here", "query": said}],
        "thread_episodic/status": [{"workspace_id": "ws_here"}],
    }
    told = {}
    for method in [name for name in METHODS if name not in CHANGES]:
        for params in asked.get(method, [{}]):
            try:
                told.setdefault(method, []).append(await client.request(method, params))
            except CallFailed as failed:
                assert failed.reason in {"not_found", "invalid_params"}, (method, failed)
    assert len(told) > 20
    return told


def methods_saying(told, word):
    return {
        method for method, answers in told.items() if word.lower() in json.dumps(answers, ensure_ascii=False).lower()
    }


@pytest.mark.parametrize("kind", ["code", "plain"])
@journey
async def test_nothing_says_it_any_more_but_what_is_named(tmp_path, kind):
    said, content, word = coded() if kind == "code" else PLAIN
    in_file = kind == "plain"
    den = Den(tmp_path, scripted=True)
    scripted(den, said, content)
    async with den.client() as client:
        memory_id = await plant(client, said, in_file=in_file)
        kept = await remember(client, STAYS)
        await take_turn(client, "thr_b", "Is the cellar locked with a brass key?", "trn_k")
        await drain(client)
        before = methods_saying(await everything_told(client, said, memory_id), word)
        assert before >= {
            "thread/list",
            "thread/history",
            "turn/items",
            "workspace/list",
            "artifact/list",
            "memory/list",
            "memory/candidates/list",
            "memory/export",
            "thread_episodic/search",
        }
        assert {
            "item",
            "turn",
            "tool_reply",
            "thread",
            "workspace",
            "artifact",
            "candidate",
            "evidence",
            "chunk_exclusion",
        } <= {table for table, _ in tables_holding(den, [word])}
        asked = {"target": {"kind": "id", "memory_id": memory_id}, "mode": "erase", "include_sources": True}
        rehearsed = (await client.request("memory/forget", {**asked, "dry_run": True}))["receipt"]
        assert methods_saying(await everything_told(client, said, memory_id), word) == before
        receipt = (await client.request("memory/forget", asked))["receipt"]
        assert receipt["sources"] == rehearsed["sources"]
        assert {one["place"] for one in receipt["sources"]} >= {
            "message",
            "turn",
            "tool_reply",
            "thread",
            "workspace",
            "artifact",
            "candidate",
            "exclusion",
        }
        left = [{"place": "artifact", "id": "art_a", "reason": "file_content"}] if in_file else []
        assert receipt["remaining"]["places"] == left
        assert receipt["wal"] == "truncated"
        assert receipt["complete"] is not in_file
        (file,) = (await client.request("artifact/list", {"thread_id": "thr_a"}))["artifacts"]
        named = {f"artifacts/{file['sha256'][:2]}/{file['sha256']}"} if in_file else set()
        assert {name for name, _ in files_holding(den, [word])} == named
        await drain(client)
        assert methods_saying(await everything_told(client, said, memory_id), word) == (
            {"artifact/get"} if in_file else set()
        )
        assert tables_holding(den, [word]) == set()
        assert {name for name, _ in files_holding(den, [word])} == named
        # what was said beside it is as it was, and found
        items = await every(client, "thread/history", "items", thread_id="thr_a", order="asc")
        assert items[0]["text"] == "Hello there. [forgotten]."
        assert (await client.request("memory/get", {"memory_id": kept}))["record"]["content"] == STAYS
        found = await client.request(
            "thread_episodic/search", {"workspace_id": "ws_here", "query": "cellar locked brass key"}
        )
        assert "trn_k" in {hit["turn_id"] for hit in found["hits"]}
        assert (await client.request("gateway/status"))["repair"]["damaged"] == 0
    assert {name for name, _ in files_holding(den, [word])} == named


@journey
async def test_what_another_memory_says_too_and_what_was_not_asked_for_stays_and_is_named(tmp_path):
    (word,) = needles(1)
    async with Den(tmp_path, scripted=True).client() as client:
        await client.request("thread/start", {"thread_id": "thr_a", "name": "A talk"})
        await take_turn(client, "thr_a", f"We meet at {word} and eat at {word}.", "trn_a")
        (item, *_) = (await client.request("turn/items", {"turn_id": "trn_a"}))["items"]
        meets = await remember(client, f"The team meets at {word}.", value=word)
        eats = await remember(client, f"The team eats at {word}.", value=word)
        asked = {"target": {"kind": "id", "memory_id": meets}, "mode": "erase"}
        rehearsed = (await client.request("memory/forget", {**asked, "dry_run": True, "include_sources": True}))[
            "receipt"
        ]
        both = [("memory", eats, "another_memory"), ("message", item["item_id"], "another_memory")]
        assert [(one["place"], one["id"], one["reason"]) for one in rehearsed["remaining"]["places"]] == both
        receipt = (await client.request("memory/forget", {**asked, "include_sources": True}))["receipt"]
        assert [(one["place"], one["id"], one["reason"]) for one in receipt["remaining"]["places"]] == both
        assert (receipt["complete"], receipt["sources"]) == (False, [])
        last = {"target": {"kind": "id", "memory_id": eats}, "mode": "erase"}
        receipt = (await client.request("memory/forget", last))["receipt"]
        assert receipt["remaining"]["places"] == [{"place": "message", "id": item["item_id"], "reason": "sources_kept"}]
        (told, *_) = (await client.request("turn/items", {"turn_id": "trn_a"}))["items"]
        assert told["text"] == f"We meet at {word} and eat at {word}."


# -- JSON: words beside a quotation mark, a line break, or in a member's name ------------------------------------------


@journey
async def test_what_stands_in_tags_and_data_of_another_memory_is_named(tmp_path):
    (word, other, third) = needles(3)
    said = f'Our gate says "{word}" to guests.'
    async with Den(tmp_path).client() as client:
        first = await remember(client, said, value={"gate": {other: [third]}})
        left = {
            await remember(client, "About gates.", metadata={"log": f"first line\n{other} again"}),
            await remember(client, "About guests.", metadata={"note": f"They heard: {said}"}),
            await remember(client, "About tags.", tags=[f"gate\t{third}"]),
            await remember(client, "About values.", value=[f"first\n{third}"]),
        }
        await remember(client, "About nothing.", metadata={"log": "first line\nagain"})
        asked = {"target": {"kind": "id", "memory_id": first}, "mode": "erase", "include_sources": True}
        receipt = (await client.request("memory/forget", asked))["receipt"]
        assert {(one["place"], one["id"], one["reason"]) for one in receipt["remaining"]["places"]} == {
            ("memory", memory_id, "another_memory") for memory_id in left
        }
        assert not receipt["complete"]
