"""What a thread that is not an ordinary one may and may not do with memory: a row for each kind, observed from outside."""

import json
from pathlib import Path
from typing import Any, NamedTuple

from spawned import Den, drain, every, fact, journey, remember


class Row(NamedTuple):
    """A kind of thread or turn, and what comes of it."""

    name: str
    thread: dict[str, Any] = {}
    turn: dict[str, Any] = {}
    user_recall: bool = True
    workspace_recall: bool = True
    search: str = "ok"
    remember: str = "saved"
    """Or why the model is not even offered the tool."""
    extraction: str = "succeeded"
    indexed: bool = True


ROWS = [
    Row("ordinary"),
    Row(
        "subagent", {"parent_thread_id": "thr-ordinary"}, user_recall=False, remember="subagent", extraction="subagent"
    ),
    Row("task", {"origin": "task", "task_id": "task_1"}, remember="task_owned", extraction="task_owned"),
    Row("system", {"origin": "system"}, remember="system_or_tool_only", extraction="system_or_tool_only"),
    Row("chat", {"mode": "chat"}, search="unknown_tool", remember="chat_mode", extraction="chat_mode"),
    Row("chat-turn", turn={"mode": "chat"}, search="unknown_tool", remember="chat_mode", extraction="chat_mode"),
    Row("read-only", {"memory_mode": "read_only"}, remember="memory_mode", extraction="memory_mode"),
    Row(
        "ignored",
        {"memory_mode": "ignored"},
        user_recall=False,
        workspace_recall=False,
        search="unknown_tool",
        remember="memory_mode",
        extraction="memory_mode",
        indexed=False,
    ),
    Row("kept-out", turn={"options": {"skip_retention": True}}, remember="skip_retention", extraction="skip_retention"),
    Row("not-recalled", turn={"options": {"skip_recall": True}}, user_recall=False, workspace_recall=False),
]

REVEAL = {"name": "request_tools", "arguments": {"domains": ["memory"], "reason": "to look and to keep"}}


def word_of(row: Row) -> str:
    """A word that only this row's turn says."""
    return f"quince{row.name.replace('-', '')}"


def script(row: Row) -> list[dict[str, Any]]:
    """A model that looks, and keeps what it was asked to keep; an extractor that learns."""
    word = word_of(row)
    calls = [
        {"name": "memory_search", "arguments": {"query": "favourite tea"}},
        {"name": "memory_remember", "arguments": {"content": f"The user's locker is {word}"}},
    ]
    learnt = fact(f"The user prefers {word} marmalade", f"I prefer {word} marmalade", f"marmalade_{word}")
    return [
        {"role": "main", "round": 1, "respond": {"tool_calls": [REVEAL]}},
        {"role": "main", "round": 2, "respond": {"tool_calls": calls}},
        {"role": "main", "respond": {"text": "Done."}},
        {"role": "extractor", "respond": {"json": {"facts": [learnt]}}},
    ]


def outcome(result: dict[str, Any]) -> str:
    """What a tool answered: `ok` or a status, or why not."""
    if not result["ok"]:
        return str(result["error"]["code"])
    status = result["data"].get("status", "ok")
    return str(result["data"]["reason_code"] if status == "rejected" else status)


async def observe(client: Any, den: Den, row: Row) -> Row:
    """Live a turn of the row's kind, and tell what came of it."""
    den.write_script(script(row))
    thread_id, turn_id, word = f"thr-{row.name}", f"trn-{row.name}", word_of(row)
    await client.request("thread/start", {"thread_id": thread_id, **row.thread})
    text = f"Please remember that my locker is {word}. I prefer {word} marmalade. And which tea is my favourite tea, or the team's?"
    said = {"thread_id": thread_id, "turn_id": turn_id, "input": [{"type": "text", "text": text}], **row.turn}
    await client.request("turn/start", said)
    await client.wait_for("turn/post_completed", lambda told: told["turn_id"] == turn_id)
    await drain(client)
    asked = [json.loads(line) for line in den.record.read_text(encoding="utf-8").splitlines()]
    (first,) = [one for one in asked if (one["turn_id"], one["role"], one["round"]) == (turn_id, "main", 1)]
    shown = "\n".join(message["content"] for message in first["messages"])
    items = await every(client, "turn/items", "items", turn_id=turn_id)
    told = {item["tool"]["name"]: outcome(json.loads(item["text"])) for item in items if item["kind"] == "tool_result"}
    (run,) = await every(client, "hooks/runs", "runs", turn_id=turn_id, phase="TurnPostTurn")
    extraction = run["status"] if run["status"] == "succeeded" else run["diagnostics"][0]["code"]
    chunks = (await client.request("thread_episodic/status", {"thread_id": thread_id}))["chunks"]
    asks_extractor = any((one["turn_id"], one["role"]) == (turn_id, "extractor") for one in asked)
    assert asks_extractor == (extraction == "succeeded")
    records = {record["content"] for record in await every(client, "memory/list", "records")}
    assert (f"The user prefers {word} marmalade" in records) == (extraction == "succeeded")
    assert (f"The user's locker is {word}" in records) == (told["memory_remember"] == "saved")
    remembered = told["memory_remember"]
    if remembered == "unknown_tool":  # what is not allowed is not even offered; the policy says why
        policy = (await client.request("turn/get", {"turn_id": turn_id}))["turn"]["prompt_manifest"]["policy"]
        assert not policy["remember"]["allowed"]
        remembered = policy["remember"]["reason_code"]
    return Row(
        row.name,
        row.thread,
        row.turn,
        user_recall="tea is sencha" in shown,
        workspace_recall="tea is oolong" in shown,
        search=told["memory_search"],
        remember=remembered,
        extraction=extraction,
        indexed=chunks["indexed"] > 0,
    )


@journey
async def test_each_kind_of_thread_does_what_its_row_says(tmp_path: Path) -> None:
    den = Den(tmp_path, scripted=True)
    async with den.client() as client:
        await remember(client, "The user's favourite tea is sencha")
        scope = {"kind": "workspace", "key": "ws_here"}
        await remember(client, "The team's favourite tea is oolong", scope=scope, context={"workspace_id": "ws_here"})
        assert [await observe(client, den, row) for row in ROWS] == ROWS
    database = den.database()
    try:
        named = {
            name for (name,) in database.execute("SELECT DISTINCT turn_id FROM evidence WHERE turn_id IS NOT NULL")
        }
    finally:
        database.close()
    may_teach = {f"trn-{row.name}" for row in ROWS if "succeeded" in row.extraction or row.remember == "saved"}
    assert named == may_teach
