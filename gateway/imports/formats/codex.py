"""Codex's sessions: a `rollout-*.jsonl` each, kept below `~/.codex/sessions`.

Rule 1: `response_item` records are the conversation; events repeat them for the screen and are counted as records.
Rule 2: text that the program itself put before the user's words is no message of the user.
"""

import re
from collections.abc import Iterable, Iterator
from typing import Any

from gateway.base.json_values import list_of, table_of, text_of
from gateway.imports.formats.draft import Draft, Found, Role, SourceOrigin, moment
from gateway.imports.formats.json_lines import records

KIND = "codex"

SPEAKERS: dict[str, Role] = {"user": "user", "assistant": "assistant"}
OTHER_ITEMS = {"reasoning": "thinking", "compaction": "system", "message": "system"}
TEXT_BLOCKS = frozenset({"input_text", "output_text", "text"})
TITLE_CHARS = 80
_BY_PROGRAM = re.compile(
    r"\s*(?:<(?:environment_context|user_instructions|instructions|permissions|turn_aborted|skill|user_shell_command|"
    r"collaboration_mode|subagent_notification)\b|# AGENTS\.md instructions)",
    re.IGNORECASE,
)


def read(chunks: Iterable[bytes], origin: SourceOrigin) -> Iterator[Found]:
    """Yield the session of a file."""
    draft = Draft(KIND, origin)
    session = ""
    for record in records(chunks, draft):
        kind = text_of(record.get("type"))
        is_old_head = not kind and "id" in record and "timestamp" in record  # files of 2025's first half
        if kind == "session_meta" or is_old_head:
            meta = table_of(record.get("payload")) or record
            if not session:
                session = text_of(meta.get("id"))
                draft.cwd = text_of(meta.get("cwd"))
                draft.remote = text_of(table_of(meta.get("git")).get("repository_url"))
                draft.at = moment(meta.get("timestamp"))
        elif kind == "response_item" or (kind and "payload" not in record):
            _add_item(table_of(record.get("payload")) or record, moment(record.get("timestamp")), draft)
        else:
            draft.left_out["record"] += 1
    asked = next((said.text for said in draft.messages if said.role == "user"), "")
    yield draft.finish(session, asked.strip().partition("\n")[0][:TITLE_CHARS])


def _add_item(item: dict[str, Any], at: int | None, draft: Draft) -> None:
    """Add an item's message to the draft; what is no message of the conversation is counted as left out."""
    kind = text_of(item.get("type"))
    role = SPEAKERS.get(text_of(item.get("role")))
    if kind != "message" or role is None:
        draft.left_out[_reason_against(kind)] += 1
        return
    texts: list[str] = []
    for block in map(table_of, list_of(item.get("content"))):
        text = text_of(block.get("text"))
        if text_of(block.get("type")) not in TEXT_BLOCKS:
            draft.left_out["file"] += 1
        elif role == "user" and _BY_PROGRAM.match(text):
            draft.left_out["system"] += 1
        else:
            texts.append(text)
    if texts:
        draft.add_message(role, "\n\n".join(texts), at)


def _reason_against(kind: str) -> str:
    if kind.endswith("_output"):
        return "tool_result"
    return "tool_call" if kind.endswith("_call") else OTHER_ITEMS.get(kind, "record")
