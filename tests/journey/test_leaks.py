"""The leak matrix: every row of `leak_rows`, called by one tenant with everything that another one's things are called.

A method or tool without a row fails, and so does an id that a method takes and no row gives.
"""

import asyncio
import hashlib
import json
import re
import secrets
import shutil
from collections.abc import Mapping
from contextlib import asynccontextmanager
from typing import Any

import msgspec
import pytest
from cases import each
from leak_rows import CONTROLS, ROWS, SCOPES, SEMANTIC, TEXT, TOOL_ROWS, WORDS
from msgspec import inspect
from spawned import Den, drain, hello, journey, remember, take_turn

from gateway.wire.client import CallFailed
from protocol.methods import METHODS
from protocol.tools import TOOLS

TENANTS = 10
A, B = 3, 7

# -- the world -------------------------------------------------------------------------------------------------------


def names_of_nobody():
    """What nothing is called."""
    names = (
        "memory old_memory deleted_memory thread_memory agent_memory task_memory thread open_thread turn open_turn item"
    )
    names += " path chunk run job candidate artifact version workspace agent task key tag idempotency canary cursor call collection file folder"
    return {name: f"nobody-{name}" for name in names.split()} | {"chunk": "thread:nobody/nobody/chunk_9"}


async def settle_tenant(client, n, folder):
    """A workspace with something of everything; what it is all called."""
    # the same in every run: by meaning, a made-up word may be near enough to another one to be found
    canary = f"canary{n}{hashlib.sha256(bytes([n])).hexdigest()[:12]}"
    t = {kind: f"{kind}_t{n}" for kind in ("thread", "open_thread", "turn", "open_turn", "artifact", "agent", "task")}
    t |= {"workspace": f"ws_t{n}", "key": f"key.t{n}", "idempotency": f"once-t{n}", "canary": canary, "tag": f"tag{n}"}
    t |= {"new_thread": f"new_thread_t{n}", "call": f"call-t{n}", "collection": f"files_t{n}"}
    t["path"] = f"notes/t{n}.md"
    text = f"The {canary} {WORDS}"
    await client.request("workspace/create", {"workspace_id": t["workspace"], "name": f"{canary} works"})
    t["folder"] = str(folder / f"files-t{n}")
    (folder / f"files-t{n}").mkdir()
    (folder / f"files-t{n}" / "note.md").write_text(f"# {canary}\n\n{text}; in a file.\n", encoding="utf-8")
    added = {"path": t["folder"], "collection_id": t["collection"], "workspace_id": t["workspace"]}
    await client.request("knowledge/collections/add", added)
    for thread in (t["thread"], t["open_thread"], t["new_thread"]):
        opened = {"thread_id": thread, "workspace_id": t["workspace"], "agent_id": t["agent"], "name": f"{canary} talk"}
        await client.request("thread/start", opened)
    context = {"workspace_id": t["workspace"]}
    file = {
        "type": "artifact",
        "artifact_id": t["artifact"],
        "name": f"{canary}.txt",
        "mime": "text/plain",
        "data_base64": "YWJj",
    }
    said = [{"type": "text", "text": f"{text}, as I said."}, file]
    await take_turn(client, t["thread"], "", t["turn"], input=said)
    (item, *_) = (await client.request("turn/items", {"turn_id": t["turn"]}))["items"]
    t |= {
        "item": item["item_id"],
        "version": item["artifacts"][0]["version_id"],
        "chunk": f"thread:{t['turn']}/{item['item_id']}/chunk_0",
    }
    t["run"] = (await client.request("hooks/runs", {"turn_id": t["turn"]}))["runs"][0]["run_id"]
    for scope, name in (
        (("workspace", t["workspace"]), "old_memory"),
        (("workspace", t["workspace"]), "memory"),
        (("thread", t["thread"]), "thread_memory"),
        (("agent", t["agent"]), "agent_memory"),
        (("task", t["task"]), "task_memory"),
    ):
        own = {"context": {**context, f"{scope[0]}_id": scope[1]}, "scope": {"kind": scope[0], "key": scope[1]}}
        own |= {"key": t["key"], "tags": [t["tag"]], "value": {"of": f"{canary} {name}"}, "metadata": {"of": canary}}
        if name == "memory":
            own["path"] = t["path"]
        t[name] = await remember(client, f"{text}; {name}", **own)
    scope = {"kind": "workspace", "key": t["workspace"]}
    t["deleted_memory"] = await remember(
        client, f"{text}; deleted", context=context, scope=scope, idempotency_key=t["idempotency"]
    )
    await client.request(
        "memory/forget", {"target": {"kind": "id", "memory_id": t["deleted_memory"]}, "context": context}
    )
    await remember(client, f"{text}; kept", context=context, scope=scope)
    page = await client.request("memory/list", {"context": context, "limit": 1})
    t["cursor"] = page["next_cursor"]
    proposed = {
        "semantic": SEMANTIC,
        "content": f"{text}; proposed",
        "evidence": [{"quote": WORDS, "item_id": t["item"]}],
    }
    proposed |= {"disposition": "create_pending_candidate", "context": context, "scope": scope}
    t["candidate"] = (await client.request("memory/write", proposed))["candidate"]["candidate_id"]
    for kind in ("thread", "agent", "task"):
        there = {"context": {**context, f"{kind}_id": t[kind]}, "scope": {"kind": kind, "key": t[kind]}}
        assert (await client.request("memory/write", {**proposed, **there}))["candidate"] is not None
    return t


async def open_turn(client, t):
    """A turn of the tenant that goes on, with all tools."""
    await client.request(
        "turn/prepare",
        {"thread_id": t["open_thread"], "turn_id": t["open_turn"], "input": [{"type": "text", "text": "Hello"}]},
    )
    reveal = {
        "turn_id": t["open_turn"],
        "call_id": "reveal",
        "name": "request_tools",
        "arguments": {"domains": ["memory", "artifact", "agent", "knowledge"], "reason": "x"},
    }
    await client.request("turn/tool_call", reveal)


async def settle(folder):
    """Make a home with ten tenants; what their things are called."""
    async with Den(folder, scripted=True).client("ws_host") as client:
        tenants = [await settle_tenant(client, n, folder) for n in range(TENANTS)]
        await drain(client)
        for tenant in tenants:
            (file,) = (await client.request("knowledge/files", {"collection_id": tenant["collection"]}))["files"]
            tenant["file"] = file["file_id"]
        jobs = (await client.request("thread_episodic/jobs", {"limit": 100}))["jobs"]
        for tenant in tenants:
            tenant["job"] = next((job["job_id"] for job in jobs if job["thread_id"] == tenant["thread"]), "job_gone")
        return tenants


@pytest.fixture(scope="module")
def settled(tmp_path_factory):
    """The folder of such a home, and its tenants."""
    folder = tmp_path_factory.mktemp("settled")
    return folder, asyncio.run(settle(folder))


@asynccontextmanager
async def world(settled, folder):
    """A gateway over a copy of that home, in which each tenant has an open turn."""
    home, tenants = settled
    den = Den(folder, scripted=True)
    shutil.copytree(home / "home", den.home)
    async with await den.spawn() as client:
        methods = (await hello(client, "ws_host"))["capabilities"]["methods"]
        for tenant in tenants:
            await open_turn(client, tenant)
        await drain(client)
        yield client, methods, tenants


def filled(value: Any, names: Mapping[str, str]) -> Any:
    """The row with names in it."""
    if isinstance(value, dict):
        return {key: filled(member, names) for key, member in value.items()}
    if isinstance(value, list):
        return [filled(member, names) for member in value]
    return value.format_map(names) if isinstance(value, str) else value


async def outcome(client, method, params) -> dict[str, Any]:
    """What comes back, errors too."""
    try:
        return {"result": await client.request(method, params)}
    except CallFailed as failed:
        return {"error": [failed.code, failed.message, failed.data]}


MADE = re.compile(
    r"\b(?:fil|mem|cand|run|job|itm|trn|thr|ver|art|inj|blk)_[0-9a-z]{20,}\b|\b[0-9a-f]{16,}\b|\b1[5-9]\d{11}\b"
)
"""Ids, digests and times that are new in every answer."""


def plain(came, names):
    """An answer without the names of things and without what is new in every answer."""
    text = json.dumps(came, sort_keys=True)
    for name, value in sorted(names.items(), key=lambda named: -len(named[1])):
        text = text.replace(value, f"<{name}>")
    return re.sub(
        r'"(duration_ms|score|access_count|last_accessed_at|used|evidence_count)": [^,}]+', "", MADE.sub("<made>", text)
    )


def own(tenant):
    """A tenant's names as rows call the caller's own."""
    return {f"own_{name}": value for name, value in tenant.items()}


def params_of(row, names, caller):
    """The parameters of a row; memory methods speak from the caller's context."""
    params = filled(row.params, {**own(caller), **names, "mark": secrets.token_hex(8)})
    if row.method.startswith("memory/") and row.kind == "scoped":
        context = {
            "workspace_id": caller["workspace"],
            "thread_id": caller["thread"],
            "agent_id": caller["agent"],
            "task_id": caller["task"],
        }
        params["context"] = context
    return params


def foreign(came, tenants, allowed):
    """Canaries of tenants that are not allowed in the answer."""
    text = json.dumps(came, ensure_ascii=False)
    return [n for n, tenant in enumerate(tenants) if n not in allowed and tenant["canary"] in text]


async def holdings(client, tenant):
    """All that a tenant has, access counts included."""
    context = {
        "workspace_id": tenant["workspace"],
        "thread_id": tenant["thread"],
        "agent_id": tenant["agent"],
        "task_id": tenant["task"],
    }
    everything = {"context": context, "limit": 100, "include_sensitive": True}
    scopes = [filled(scope, tenant) for scope in SCOPES]
    statuses = ["active", "superseded", "expired", "archived", "deleted"]
    records = (await client.request("memory/list", {**everything, "scopes": scopes, "statuses": statuses}))["records"]
    history = await client.request("thread/history", {"thread_id": tenant["thread"], "limit": 100})
    thread = await client.request("thread/get", {"thread_id": tenant["thread"]})
    forgotten = await client.request(
        "memory/history", {"memory_id": tenant["deleted_memory"], "context": everything["context"]}
    )
    waiting = await client.request("memory/candidates/list", {"context": everything["context"], "scopes": scopes})
    return records, history, thread, forgotten, waiting["candidates"]


# -- the tests -------------------------------------------------------------------------------------------------------


@pytest.mark.loop("test")
@journey
async def test_in_the_context_of_one_tenant_another_does_not_exist(settled, tmp_path):
    async with world(settled, tmp_path) as (client, methods, tenants):
        a, b = tenants[A], tenants[B]
        before = await holdings(client, b)
        assert len(before[4]) == 4
        assert len(before[0]) == 6  # the forgotten one is in no list; its history stands beside it
        leaks, oracles = [], []
        for row in (row for row in ROWS if row.kind == "scoped" and row.method in methods):
            came = await outcome(client, row.method, params_of(row, b, a))
            if foreign(came, tenants, {A}):
                leaks.append((row, came))
            nothing = await outcome(client, row.method, params_of(row, names_of_nobody(), a))
            if not row.differs and plain(came, b) != plain(nothing, names_of_nobody()):
                oracles.append((row, plain(came, b), plain(nothing, names_of_nobody())))
        assert leaks == []
        assert oracles == [], "\n".join(
            f"{row.method} {row.params}\n    B:      {to_b}\n    nobody: {to_nobody}"
            for row, to_b, to_nobody in oracles
        )
        assert await holdings(client, b) == before


@journey
async def test_the_tools_of_one_tenants_turn_do_not_reach_another(settled, tmp_path):
    async with world(settled, tmp_path) as (client, _, tenants):
        a, b = tenants[A], tenants[B]
        before = await holdings(client, b)
        leaks, oracles = [], []
        for number, (name, arguments) in enumerate(TOOL_ROWS):
            came, nothing = [
                await outcome(
                    client,
                    "turn/tool_call",
                    {
                        "turn_id": a["open_turn"],
                        "call_id": f"{who}{number}",
                        "name": name,
                        "arguments": filled(arguments, {**names, "mark": secrets.token_hex(8)}),
                    },
                )
                for who, names in (("b", b), ("n", names_of_nobody()))
            ]
            assert "result" in came, (name, came)
            assert (
                came["result"]["result"].get("error", None) is None
                or came["result"]["result"]["error"]["code"] != "unknown_tool"
            ), name
            if foreign(came, tenants, {A}):
                leaks.append((name, arguments, came))
            if "cursor" not in arguments and plain(came, b) != plain(nothing, names_of_nobody()):
                oracles.append((name, arguments, plain(came, b), plain(nothing, names_of_nobody())))
        assert leaks == []
        assert oracles == []
        assert await holdings(client, b) == before


@journey
async def test_what_names_a_thing_brings_nothing_of_any_other(settled, tmp_path):
    async with world(settled, tmp_path) as (client, methods, tenants):
        leaks = []
        victim = TENANTS - 1
        others = [await holdings(client, tenant) for tenant in tenants[:victim]]
        for row in (row for row in ROWS if row.kind != "scoped" and row.method in methods):
            if row.method == "shutdown":
                assert [await holdings(client, tenant) for tenant in tenants[:victim]] == others
            came = await outcome(client, row.method, params_of(row, tenants[victim], tenants[A]))
            if foreign(came, tenants, {victim} if row.kind == "addressed" else set()):
                leaks.append((row, came))
        assert leaks == []


@journey
async def test_a_turn_recalls_and_tells_of_its_own_workspace_only(settled, tmp_path):
    """The whole prompt of a turn, and every notification: the tenants' texts differ in nothing but their canary."""
    async with world(settled, tmp_path) as (client, _, tenants):
        for n in (A, B):
            since = len(client.received)
            asked = {"thread_id": tenants[n]["new_thread"], "input": TEXT}
            prepared = await client.request("turn/prepare", asked)
            text = json.dumps(prepared)
            assert tenants[n]["canary"] in text
            assert foreign(prepared, tenants, {n}) == []
            await client.request("turn/finish", {"turn_id": prepared["turn"]["turn_id"], "status": "succeeded"})
            await client.wait_for("turn/post_completed", since=since)
            await take_turn(client, tenants[n]["new_thread"], TEXT[0]["text"], f"asked_{n}")
            assert foreign(client.received[since:], tenants, {n}) == []
        recorded = [json.loads(line) for line in (tmp_path / "record.jsonl").read_text(encoding="utf-8").splitlines()]
        for n in (A, B):
            asked = [call for call in recorded if call["turn_id"] == f"asked_{n}"]
            assert asked
            assert foreign(asked, tenants, {n}) == []


@journey
async def test_a_child_thread_does_not_open_its_parents_workspace(settled, tmp_path):
    async with world(settled, tmp_path) as (client, _, tenants):
        child = {
            "thread_id": "child",
            "workspace_id": tenants[A]["workspace"],
            "parent_thread_id": tenants[B]["thread"],
        }
        came = await outcome(client, "thread/start", child)
        if "result" in came:
            for mode in ("related_threads", "workspace_threads"):
                asked = {"workspace_id": tenants[A]["workspace"], "thread_id": "child", "mode": mode, "query": WORDS}
                assert foreign(await outcome(client, "thread_episodic/search", asked), tenants, {A}) == []
            prepared = await client.request("turn/prepare", {"thread_id": "child", "input": TEXT})
            assert foreign(prepared, tenants, {A}) == []


READS = {
    "memory/search",
    "memory/list",
    "memory/get",
    "memory/export",
    "memory/candidates/list",
    "memory/candidates/get",
}


@journey
async def test_to_its_owner_everything_is_shown(settled, tmp_path):
    """The control of this matrix: the same rows, called by the tenant whose names they give, show its canary."""
    async with world(settled, tmp_path) as (client, methods, tenants):
        b = tenants[B]
        silent = []
        for row in (row for row in ROWS if row.kind == "scoped" and row.method in READS & set(methods)):
            came = await outcome(client, row.method, params_of(row, b, b))
            if foreign(came, tenants, set()) != [B]:
                silent.append((row.params, came))
        told = {"scope": {"kind": "user", "key": "default"}, "key": "{key}"}
        assert [params for params, _ in silent] == [told]  # the one row of a scope that is everybody's
        for tool, arguments in CONTROLS:
            asked = {
                "turn_id": b["open_turn"],
                "call_id": secrets.token_hex(8),
                "name": tool,
                "arguments": filled(arguments, b),
            }
            assert foreign(await outcome(client, "turn/tool_call", asked), tenants, set()) == [B], (tool, arguments)


@pytest.mark.loop("test")
@journey
async def test_every_method_that_is_answered_has_a_row(tmp_path):
    async with await Den(tmp_path).spawn() as client:
        methods = (await hello(client))["capabilities"]["methods"]
    assert set(methods) - {row.method for row in ROWS} == set()


@pytest.mark.loop("test")
def test_every_row_is_of_a_method_and_every_tool_has_a_row():
    assert {row.method for row in ROWS} - set(METHODS) == set()
    assert {name for name, _ in TOOL_ROWS} == set(TOOLS)


ID_NAMES = re.compile(r"(_id|_ids)$|^(supersedes|id|scopes?|cursor|idempotency_key|target|evidence|provenance)$")
PAGED = {"cursor"}
"""A cursor is tried where a list is fenced by scopes; elsewhere it goes on with a list that names its fence."""
NOT_NAMES = {"call_id", "context", "options", "capabilities", "subject_key", "created_by"}


def id_members(type_):
    """The members of a parameters' type that name something."""
    found = set()
    if isinstance(type_, inspect.StructType):
        for member in type_.fields:
            if member.name in NOT_NAMES:
                continue
            found |= {member.name} if ID_NAMES.search(member.name) else set()
            found |= id_members(member.type)
    elif isinstance(type_, inspect.UnionType):
        found = set().union(*(id_members(one) for one in type_.types))
    elif isinstance(type_, (inspect.ListType, inspect.CollectionType)):
        found = id_members(type_.item_type)
    return found


def members(value):
    """Every member's name in a row."""
    if isinstance(value, dict):
        return set(value) | {name for member in value.values() for name in members(member)}
    if isinstance(value, list):
        return {name for member in value for name in members(member)}
    return set()


@pytest.mark.loop("test")
@each("name", sorted({row.method for row in ROWS}))
def test_every_id_that_a_method_takes_is_given_by_a_row(name):
    given = {member for row in ROWS if row.method == name for member in members(row.params)}
    taken = id_members(inspect.type_info(METHODS[name].params))
    fenced = name in {"memory/list", "memory/export"}
    assert taken - given - (set() if fenced else PAGED) == set()


@pytest.mark.loop("test")
@each("name", sorted(TOOLS))
def test_every_id_that_a_tool_takes_is_given_by_a_row(name):
    given = {member for tool, arguments in TOOL_ROWS if tool == name for member in members(arguments)}
    assert id_members(inspect.type_info(TOOLS[name][1])) - given == set()


@pytest.mark.loop("test")
def test_rows_are_well_formed():
    """A row that is refused for its form would test nothing."""
    names = {
        **names_of_nobody(),
        **own(names_of_nobody()),
        "own_new_thread": "n",
        "own_open_turn": "n",
        "own_candidate": "n",
        "mark": "n",
    }
    for row in ROWS:
        msgspec.convert(filled(row.params, names), METHODS[row.method].params)
    for tool, arguments in TOOL_ROWS:
        msgspec.convert(filled(arguments, names), TOOLS[tool][1])
