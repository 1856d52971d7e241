"""Claude Code's sessions: a file of JSON Lines each, kept below `~/.claude/projects`.

Rule 1: a file is a conversation, known by its session: the file's name where that is a session's id.
Rule 2: text that the program itself put into a message of the user is no message of the user.
"""

import re
from collections.abc import Iterable, Iterator
from pathlib import PurePath
from typing import Any

from gateway.base.json_values import list_of, table_of, text_of
from gateway.imports.formats.draft import Draft, Found, Role, SourceOrigin, moment
from gateway.imports.formats.json_lines import records

KIND = "claude_code"

SPEAKERS: dict[str, Role] = {"user": "user", "assistant": "assistant"}
TITLES = {"custom-title": "customTitle", "ai-title": "aiTitle", "summary": "summary"}
"""Records that name the session, and their member; the user's own name comes first."""
OTHER_BLOCKS = {
    "thinking": "thinking",
    "redacted_thinking": "thinking",
    "tool_use": "tool_call",
    "tool_result": "tool_result",
    "image": "file",
    "document": "file",
}
_BY_PROGRAM = re.compile(r"\s*<(?:command-(?:name|message|args)|local-command-|bash-(?:input|std)|system-reminder)")
_SESSION = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.IGNORECASE)


def read(chunks: Iterable[bytes], origin: SourceOrigin) -> Iterator[Found]:
    """Yield the session of a file."""
    draft = Draft(KIND, origin)
    titles: dict[str, str] = {}
    seen: set[str] = set()
    session = ""
    for record in records(chunks, draft):
        kind = text_of(record.get("type"))
        session = session or text_of(record.get("sessionId"))
        draft.cwd = draft.cwd or text_of(record.get("cwd"))  # where it was begun; a tool may go elsewhere
        if kind in TITLES:
            titles[kind] = text_of(record.get(TITLES[kind]))
            continue
        own = text_of(record.get("uuid"))
        if kind in SPEAKERS and own and own in seen:
            draft.left_out["repeated"] += 1
            continue
        seen.add(own)
        _add_record(record, SPEAKERS.get(kind), draft)
    stem = PurePath(origin.name).stem
    known = stem if _SESSION.fullmatch(stem) else session
    yield draft.finish(known, next((titles[kind] for kind in TITLES if titles.get(kind)), ""))


def _add_record(record: dict[str, Any], role: Role | None, draft: Draft) -> None:
    """Add a record's message to the draft; what is no message of the conversation is counted as left out."""
    if role is None:
        draft.left_out["record"] += 1
        return
    if reason := _reason_against(record):
        draft.left_out[reason] += 1
        return
    content = table_of(record.get("message")).get("content")
    blocks = [{"type": "text", "text": content}] if isinstance(content, str) else list(map(table_of, list_of(content)))
    texts: list[str] = []
    for block in blocks:
        kind, text = text_of(block.get("type")), text_of(block.get("text"))
        if kind != "text":
            draft.left_out[OTHER_BLOCKS.get(kind, "unknown_block")] += 1
        elif role == "user" and _BY_PROGRAM.match(text):
            draft.left_out["system"] += 1
        else:
            texts.append(text)
    if texts:
        draft.add_message(role, "\n\n".join(texts), moment(record.get("timestamp")))


def _reason_against(record: dict[str, Any]) -> str | None:
    """Return why the record is not a part of the conversation, or None."""
    if record.get("isSidechain") is True:
        return "sidechain"
    if record.get("isMeta") is True or record.get("isCompactSummary") is True:
        return "system"
    return "error" if record.get("isApiErrorMessage") is True else None
