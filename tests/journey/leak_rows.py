"""The rows of the leak matrix: every method and every tool with everything that it can name.

Rule 1: a row is data. `scoped` rows run in the context of tenant A with names of tenant B: what comes back holds
nothing of B and is what comes back for names that nobody has. `addressed` rows name a thing outright, which the one
client may: they bring nothing of anybody else. `open` rows bring nothing of anybody.
Rule 2: reads come first; what leaves something behind comes later, so that no row meets what another one made.
"""

from typing import Any, Literal, NamedTuple

Kind = Literal["scoped", "addressed", "open"]


class Row(NamedTuple):
    """A call. `{name}` in its strings is filled with a tenant's names; `differs` says why B and nobody need not agree."""

    method: str
    kind: Kind
    params: dict[str, Any] = {}
    differs: str = ""


SCOPES = [
    {"kind": "workspace", "key": "{workspace}"},
    {"kind": "thread", "key": "{thread}"},
    {"kind": "agent", "key": "{agent}"},
    {"kind": "task", "key": "{task}"},
]
WORDS = "lantern under the blue staircase"
"""In every tenant's texts, so that a search without a fence finds them all."""

SEMANTIC = {
    "intent": "implicit_candidate",
    "explicitness": "explicit",
    "category": "project_fact",
    "subject": "workspace",
    "attribute": "{mark}",
    "durability": "project_lifetime",
    "sensitivity": "none",
    "certainty": "high",
    "scope_hint": "project_workspace",
}
GREEN = "The gate of the garden is {mark}."
"""New in every call, so that no call meets what the one before it wrote."""
SOURCE = {"thread_id": "{thread}", "turn_id": "{turn}", "item_id": "{item}"}
FROM_FILE = {"source_kind": "file", "collection_id": "{collection}", "path": "note.md"}
TEXT = [{"type": "text", "text": f"Where is the {WORDS}?"}]
FILE = [{"type": "artifact", "artifact_id": "{artifact}", "name": "again", "mime": "text/plain"}]
FILE_VERSION = {"artifact_id": "{artifact}", "version_id": "{version}"}
CLIENT_CHOSE = "the key is the client's own choice, not a thing of a tenant"
TAKEN = "a name that the client chooses is taken or free"
CAPTURED = {
    "source": {
        "door": "proxy",
        "client": "x",
        "workspace_id": "{workspace}",
        "thread_id": "{thread}",
        "agent_id": "{agent}",
        "session_id": "{thread}",
    },
    "chain": [{"role": "user", "hash": "00" * 16}],
    "user_index": 0,
    "user_text": f"Where is the {WORDS}?",
}
FIRST_PAGE = "WzAsMCwwXQ"
"""The cursor of an export's very beginning: whoever sends it begins with what they may see."""

ROWS = [
    Row(
        "initialize",
        "open",
        {"protocol_version": "2026-11", "client": {"name": "x", "version": "1"}, "workspace_id": "{workspace}"},
    ),
    *(Row(method, "open") for method in ("ping", "gateway/status", "gateway/drain", "settings/get", "hooks/list")),
    Row("settings/update", "open", {"update": {}}),
    Row("provider/list", "open"),
    Row("provider/test", "open", {"name": "scripted"}),
    Row("passes/list", "open"),
    Row("passes/run", "open", {"pass": "dream", "dry_run": True}),
    Row("passes/run", "addressed", {"pass": "consolidate", "dry_run": True, "workspace_id": "{workspace}"}),
    Row("passes/runs", "open", {"limit": 1}),
    Row("passes/get", "open", {"run_id": "run_nothing"}),
    Row("passes/undo", "open", {"run_id": "run_nothing"}),
    # -- addressed by id: the one client's own things
    Row("workspace/list", "addressed", {"limit": 1}, "a list of everything; its first is the default workspace"),
    Row("workspace/create", "addressed", {"workspace_id": "{workspace}", "name": "{canary} works"}),
    Row("workspace/get", "addressed", {"workspace_id": "{workspace}"}),
    Row("thread/start", "addressed", {"thread_id": "{thread}", "workspace_id": "{workspace}", "agent_id": "{agent}"}),
    Row(
        "thread/start", "addressed", {"thread_id": "{thread}", "task_id": "{task}", "parent_thread_id": "{open_thread}"}
    ),
    Row("thread/get", "addressed", {"thread_id": "{thread}"}),
    Row("thread/list", "addressed", {"workspace_id": "{workspace}"}),
    Row("thread/update", "addressed", {"thread_id": "{thread}", "archived": False}),
    Row("thread/history", "addressed", {"thread_id": "{thread}"}),
    Row("turn/get", "addressed", {"turn_id": "{turn}"}),
    Row("turn/items", "addressed", {"turn_id": "{turn}"}),
    Row("turn/cancel", "addressed", {"turn_id": "{turn}"}),
    Row("turn/finish", "addressed", {"turn_id": "{turn}", "status": "succeeded"}),
    Row(
        "turn/finish",
        "addressed",
        {
            "turn_id": "{turn}",
            "status": "succeeded",
            "artifacts": [FILE_VERSION],
            "tool_events": [{"name": "x", "call_id": "c"}],
        },
    ),
    Row("hooks/runs", "addressed", {"turn_id": "{turn}"}),
    Row("hooks/runs", "addressed", {"thread_id": "{thread}"}),
    Row(
        "capture/prepare",
        "addressed",
        {**CAPTURED, "memory_mode": "read_only"},
        "a name of a workspace and of a thread is there or not",
    ),
    Row(
        "capture/prepare",
        "scoped",
        {
            **CAPTURED,
            "source": {"door": "proxy", "client": "x", "thread_id": "{thread}", "workspace_id": "{own_workspace}"},
            "memory_mode": "read_only",
        },
        "a thread that nobody has may be begun",
    ),
    Row("capture/finish", "addressed", {"turn_id": "{turn}", "status": "succeeded", "shown": True}),
    Row(
        "capture/finish",
        "addressed",
        {
            "capture": {**CAPTURED, "memory_mode": "ignored"},
            "status": "succeeded",
            "shown": True,
            "tool_events": [{"name": "x", "call_id": "c"}],
        },
    ),
    Row(
        "capture/ingest",
        "addressed",
        {
            "source": {
                "door": "ingest",
                "client": "x",
                "workspace_id": "{workspace}",
                "agent_id": "{agent}",
                "session_id": "{thread}",
                "thread_id": "{mark}",
            },
            "turns": [{"messages": [{"role": "user", "text": GREEN}]}],
        },
    ),
    Row("artifact/list", "addressed", {"thread_id": "{thread}"}),
    Row("artifact/get", "addressed", FILE_VERSION),
    Row("thread_episodic/jobs", "open", {"limit": 100}),
    Row("thread_episodic/retry", "open", {"job_id": "{job}"}),
    Row("thread_episodic/unexclude", "open", {"item_id": "{item}"}),
    Row("thread_episodic/unexclude", "open", {"chunk_id": "{chunk}"}),
    *(Row(f"knowledge/collections/{verb}", "addressed", {"collection_id": "{collection}"}) for verb in ("get", "scan")),
    Row("knowledge/collections/list", "addressed", {"workspace_id": "{workspace}"}),
    Row("knowledge/collections/update", "addressed", {"collection_id": "{collection}", "name": "{canary} notes"}),
    Row("knowledge/status", "addressed", {"workspace_id": "{workspace}"}),
    Row("knowledge/files", "addressed", {"collection_id": "{collection}"}),
    Row("knowledge/changes", "addressed", {"collection_id": "{collection}"}),
    Row("knowledge/versions", "addressed", {"collection_id": "{collection}", "path": "note.md"}),
    Row("knowledge/retry", "addressed", {"collection_id": "{collection}"}),
    Row("knowledge/retry", "addressed", {"file_id": "{file}"}),
    Row("knowledge/explain", "addressed", {"collection_id": "{collection}", "path": "note.md"}),
    Row("agents/list", "open"),
    Row(
        "agents/get",
        "open",
        {"slug": "nobody", "parts": ["agents", "soul", "memory"], "context": {"thread_id": "{thread}"}},
    ),
    Row("instructions/set", "addressed", {"workspace_id": "{workspace}", "mode": "on"}),
    Row("instructions/versions", "addressed", {"workspace_id": "{workspace}", "path": "AGENTS.md"}),
    Row("instructions/preview", "addressed", {"thread_id": "{thread}"}),
    Row("instructions/preview", "addressed", {"workspace_id": "{workspace}", "cwd": "/"}),
    # -- a tenant's own thread or workspace, with another one's things in it
    Row(
        "thread/start",
        "scoped",
        {"thread_id": "{own_thread}", "parent_thread_id": "{thread}", "default_workspace_id": "{workspace}"},
    ),
    Row(
        "thread/start",
        "scoped",
        {"workspace_id": "{own_workspace}", "parent_thread_id": "{thread}"},
        "a thread is addressed by its id",
    ),
    Row(
        "thread/import",
        "scoped",
        {
            "workspace_id": "{own_workspace}",
            "thread_id": "{thread}",
            "source": {"kind": "t", "id": "{canary}"},
            "dry_run": True,
            "turns": [
                {
                    "at": 1,
                    "turn_id": "{turn}",
                    "items": [{"role": "user", "text": "x", "item_id": "{item}", "artifacts": [FILE_VERSION]}],
                }
            ],
        },
        TAKEN,
    ),
    Row("turn/start", "scoped", {"thread_id": "{own_thread}", "input": FILE}),
    Row("turn/prepare", "scoped", {"thread_id": "{own_thread}", "input": FILE}),
    Row("turn/prepare", "scoped", {"thread_id": "{own_new_thread}", "input": TEXT}, "a turn of its own, made anew"),
    Row("turn/tool_call", "scoped", {"turn_id": "{own_open_turn}", "call_id": "{call}", "name": "memory_list"}),
    Row(
        "thread_episodic/search",
        "scoped",
        {"workspace_id": "{own_workspace}", "query": WORDS, "exclude_turn_ids": ["{turn}"]},
    ),
    Row("thread_episodic/search", "scoped", {"workspace_id": "{own_workspace}", "query": "{canary}"}),
    *(
        Row(
            "thread_episodic/search",
            "scoped",
            {"workspace_id": "{own_workspace}", "thread_id": "{thread}", "mode": mode, "query": WORDS},
        )
        for mode in ("current_thread", "related_threads", "workspace_threads")
    ),
    Row("thread_episodic/status", "scoped", {"workspace_id": "{own_workspace}", "thread_id": "{thread}"}),
    Row("thread_episodic/status", "scoped", {"workspace_id": "{own_workspace}", "item_ids": ["{item}"]}),
    # -- memory, in the context of the tenant
    *(
        Row("memory/search", "scoped", {"query": query, "mode": mode, "include_sensitive": True, "limit": 100, **more})
        for query in (WORDS, "{canary}")
        for mode in ("hybrid", "lexical")
        for more in ({}, {"statuses": ["active", "superseded", "expired", "archived", "deleted"]}, {"tags": ["{tag}"]})
    ),
    *(Row("memory/search", "scoped", {"query": WORDS, "scopes": [scope]}) for scope in SCOPES),
    *(
        Row(method, "scoped", {"source_agents": ["{agent}", "user", "unknown"], "limit": 100, **more})
        for method, more in (("memory/search", {"query": WORDS}), ("memory/list", {}))
    ),
    Row(
        "memory/list", "scoped", {"statuses": ["active", "superseded", "expired", "archived", "deleted"], "limit": 100}
    ),
    Row("memory/list", "scoped", {"tags": ["{tag}"]}),
    Row("memory/list", "scoped", {"cursor": "{cursor}"}, "a cursor is opaque; nobody's cannot be made up"),
    *(Row("memory/list", "scoped", {"scopes": [scope]}) for scope in SCOPES),
    *(
        Row("memory/get", "scoped", {"memory_id": memory, "include_deleted": True, "include_enrichment": True})
        for memory in (
            "{memory}",
            "{old_memory}",
            "{deleted_memory}",
            "{thread_memory}",
            "{agent_memory}",
            "{task_memory}",
        )
    ),
    *(Row("memory/get", "scoped", {"scope": scope, "key": "{key}"}) for scope in SCOPES),
    Row("memory/get", "scoped", {"scope": {"kind": "user", "key": "default"}, "key": "{key}"}),
    Row("memory/get", "scoped", {"path": "{path}"}),
    *(
        Row("memory/update", "scoped", {"memory_id": memory, **change})
        for memory in ("{memory}", "{deleted_memory}")
        for change in ({"content": GREEN}, {"importance": 0.9}, {"expected_updated_at": 1})
    ),
    *(
        Row("memory/forget", "scoped", {"target": target, "mode": mode, "dry_run": dry, "include_sources": True})
        for target in (
            {"kind": "id", "memory_id": "{memory}"},
            {"kind": "id", "memory_id": "{deleted_memory}"},
            {"kind": "turn", "turn_id": "{turn}"},
            {"kind": "thread", "thread_id": "{thread}"},
            *({"kind": "scope", "scope": scope} for scope in SCOPES),
            *({"kind": "scoped_key", "scope": scope, "key": "{key}"} for scope in SCOPES),
            {"kind": "path", "path": "{path}"},
        )
        for mode in ("tombstone", "erase")
        for dry in (True, False)
    ),
    *(
        Row("memory/confirm", "scoped", {"memory_id": memory})
        for memory in ("{memory}", "{old_memory}", "{deleted_memory}")
    ),
    Row("memory/links", "scoped", {"memory_id": "{memory}", "depth": 2}),
    Row("memory/similar", "scoped", {"include_sensitive": True}),
    *(Row("memory/similar", "scoped", {"scopes": [scope], "include_sensitive": True}) for scope in SCOPES),
    *(
        Row(
            "memory/merge",
            "scoped",
            {"memory_id": memory, "into_memory_id": into, "idempotency_key": "{idempotency}-merge"},
        )
        for memory, into in (
            ("{memory}", "{old_memory}"),
            ("{old_memory}", "{memory}"),
            ("{memory}", "{deleted_memory}"),
        )
    ),
    *(
        Row("memory/restore", "scoped", {"memory_id": memory})
        for memory in ("{memory}", "{old_memory}", "{deleted_memory}")
    ),
    *(
        Row("memory/history", "scoped", {"memory_id": memory})
        for memory in ("{memory}", "{old_memory}", "{deleted_memory}")
    ),
    *(
        Row("memory/explain", "scoped", {"target": {"kind": kind, "id": name}})
        for kind, name in (
            ("memory", "{memory}"),
            ("memory", "{deleted_memory}"),
            ("candidate", "{candidate}"),
            ("turn", "{turn}"),
            ("hook_run", "{run}"),
        )
    ),
    *(Row("memory/explain", "scoped", {"query": query}) for query in (WORDS, "{canary}")),
    *(
        Row("knowledge/search", "scoped", {"query": query, "max_results": 50, **more})
        for query in (WORDS, "{canary}")
        for more in ({}, {"source": "file"}, {"source": "collection:{collection}"}, {"entity": "{collection}:note.md"})
    ),
    Row("knowledge/explain", "scoped", {"query": "{canary}"}),
    Row("knowledge/entities", "scoped", {"query": "note"}),
    Row("knowledge/entities", "scoped", {"collection_id": "{collection}"}),
    Row("knowledge/edges", "scoped", {"entity": "{collection}:note.md"}),
    Row("knowledge/read", "scoped", {"collection_id": "{collection}", "path": "note.md"}),
    Row("knowledge/read", "scoped", {"address": "{collection}:note.md#L1-L3"}),
    Row("memory/changes", "scoped", {"since_at": 0, "include_sensitive": True, "limit": 100}),
    *(Row("memory/changes", "scoped", {"since_at": 0, "scopes": [scope]}) for scope in SCOPES),
    *(
        Row("memory/get", "scoped", {"memory_id": memory, "include_evidence": True})
        for memory in ("{memory}", "{old_memory}")
    ),
    Row("memory/stats", "scoped"),
    Row("memory/export", "scoped"),
    *(Row("memory/export", "scoped", {"scopes": [scope]}) for scope in SCOPES),
    Row("memory/export", "scoped", {"cursor": FIRST_PAGE}),
    Row("memory/import", "scoped", {"bundle": "{canary}"}),
    Row("memory/candidates/list", "scoped"),
    *(Row("memory/candidates/list", "scoped", {"scopes": [scope]}) for scope in SCOPES),
    Row("memory/candidates/get", "scoped", {"candidate_id": "{candidate}"}),
    *(
        Row(f"memory/candidates/{verb}", "scoped", {"candidate_id": "{candidate}", **more})
        for verb, more in (
            ("decide", {"decision": "approve"}),
            ("approve", {}),
            ("reject", {}),
            ("suppress_similar", {}),
            ("edit_and_approve", {"content": GREEN}),
            ("merge", {"target_candidate_id": "{candidate}"}),
            ("merge", {"target_memory_id": "{memory}"}),
        )
    ),
    Row("memory/candidates/merge", "scoped", {"candidate_id": "{own_candidate}", "target_memory_id": "{memory}"}),
    Row("memory/reinforce", "scoped", {"memory_id": "{memory}"}),
    Row("memory/archive", "scoped", {"memory_id": "{memory}"}),
    Row("passes/review", "scoped", {"limit": 100}),
    Row("memory/candidates/merge", "scoped", {"candidate_id": "{own_candidate}", "target_candidate_id": "{candidate}"}),
    # -- what leaves something of the caller behind
    *(Row("memory/remember", "scoped", {"content": GREEN, "scope": scope, "key": "gate"}) for scope in SCOPES),
    *(Row("memory/note", "scoped", {"content": GREEN, "agent_id": "agt_own_note", "scope": scope}) for scope in SCOPES),
    Row(
        "memory/note",
        "scoped",
        {"content": GREEN, "agent_id": "agt_own_note", "idempotency_key": "{idempotency}-note"},
        CLIENT_CHOSE,
    ),
    Row("memory/remember", "scoped", {"content": GREEN, "supersedes": "{memory}"}),
    Row("memory/remember", "scoped", {"content": GREEN, "provenance": SOURCE}),
    Row("memory/remember", "scoped", {"content": f"The {{canary}} {WORDS}", "provenance": FROM_FILE}),
    Row("memory/remember", "scoped", {"content": GREEN, "idempotency_key": "{idempotency}"}, CLIENT_CHOSE),
    Row("memory/write", "scoped", {"semantic": SEMANTIC, "content": GREEN, "provenance": SOURCE}),
    Row("memory/write", "scoped", {"semantic": SEMANTIC, "content": GREEN, "provenance": FROM_FILE}),
    *(
        Row(
            "memory/write", "scoped", {"semantic": SEMANTIC, "content": GREEN, "evidence": [{"quote": quote, **SOURCE}]}
        )
        for quote in (WORDS, "x")
    ),
    Row(
        "memory/write",
        "scoped",
        {"semantic": SEMANTIC, "content": GREEN, "evidence": [{"quote": WORDS, "item_id": "{item}"}]},
    ),
    *(Row("memory/write", "scoped", {"semantic": SEMANTIC, "content": GREEN, "scope": scope}) for scope in SCOPES),
    Row(
        "memory/write",
        "scoped",
        {"semantic": SEMANTIC, "content": GREEN, "idempotency_key": "{idempotency}"},
        CLIENT_CHOSE,
    ),
    Row(
        "turn/start",
        "scoped",
        {"thread_id": "{own_thread}", "turn_id": "{turn}", "input": [{"type": "text", "text": "x"}]},
        TAKEN,
    ),
    Row("turn/prepare", "scoped", {"thread_id": "{own_thread}", "turn_id": "{turn}", "input": TEXT}, TAKEN),
    # -- last: what changes the thing that it names
    Row("thread_episodic/exclude", "addressed", {"item_id": "{item}"}),
    Row("thread_episodic/exclude", "addressed", {"chunk_id": "{chunk}"}),
    Row("thread_episodic/reindex", "addressed", {"thread_id": "{thread}"}),
    Row("thread_episodic/reindex", "addressed", {"workspace_id": "{workspace}"}),
    Row(
        "knowledge/collections/add",
        "addressed",
        {"path": "{folder}", "workspace_id": "{workspace}", "collection_id": "{collection}", "scope": "workspace"},
    ),
    Row("knowledge/collections/remove", "addressed", {"collection_id": "{collection}"}),
    Row("artifact/delete", "addressed", {"artifact_id": "{artifact}"}),
    Row("thread/delete", "addressed", {"thread_id": "{thread}"}),
    Row("workspace/delete", "addressed", {"workspace_id": "{workspace}"}),
    Row("shutdown", "open"),
]

TOOL_ROWS = [
    *(
        ("memory_search", {"query": query, **more})
        for query in (WORDS, "{canary}")
        for more in ({}, *({"scopes": [scope]} for scope in SCOPES))
    ),
    ("memory_list", {}),
    ("memory_list", {"cursor": "{cursor}"}),
    *(("memory_list", {"scopes": [scope]}) for scope in SCOPES),
    *(
        ("memory_get", {"memory_id": memory})
        for memory in ("{memory}", "{old_memory}", "{deleted_memory}", "{thread_memory}")
    ),
    *(("memory_get", {"scope": scope, "key": "{key}"}) for scope in SCOPES),
    *(("memory_remember", {"content": GREEN, "key": "gate", "scope": scope}) for scope in SCOPES),
    ("memory_forget", {"memory_id": "{memory}"}),
    ("memory_forget", {"memory_id": "{deleted_memory}"}),
    *(("memory_forget", {"scope": scope, "key": "{key}"}) for scope in SCOPES),
    ("artifact_read", {"artifact_id": "{artifact}"}),
    ("artifact_read", FILE_VERSION),
    ("request_tools", {"domains": ["memory", "artifact", "agent", "knowledge"], "reason": "{canary}"}),
    ("agent_list", {}),
    ("agent_info", {"slug": "{agent}"}),
    *(("knowledge_search", {"query": query}) for query in (WORDS, "{canary}")),
    ("knowledge_search", {"query": WORDS, "source": "collection:{collection}"}),
    ("knowledge_search", {"query": WORDS, "entity": "{collection}:note.md", "include_related": True}),
    ("knowledge_read", {"address": "{collection}:note.md"}),
]

CONTROLS = [
    ("memory_search", {"query": WORDS}),
    ("memory_search", {"query": WORDS, "source_agents": ["{agent}", "user"]}),
    ("memory_list", {}),
    ("memory_get", {"memory_id": "{memory}"}),
    ("memory_get", {"scope": SCOPES[0], "key": "{key}"}),
    ("artifact_read", {"artifact_id": "{artifact}"}),
    ("knowledge_search", {"query": WORDS, "source": "file"}),
    ("knowledge_read", {"address": "{collection}:note.md"}),
]
"""Tool rows that show their owner something."""
