"""Claude's export: `conversations.json`, a list of conversations with their messages in order.

Rule 1: where a file has branches, the one that ends in the current leaf is the conversation.
Rule 2: the text of an attachment was given by the user: it is a message of its own behind the words it came with.
"""

from collections.abc import Iterable, Iterator
from typing import Any

from gateway.base.json_values import list_of, table_of, text_of
from gateway.imports.formats.draft import Draft, Found, Role, SourceOrigin, Unreadable, moment
from gateway.imports.formats.json_elements import conversations

KIND = "claude"

SPEAKERS: dict[str, Role] = {"human": "user", "user": "user", "assistant": "assistant"}
OTHER_BLOCKS = {
    "thinking": "thinking",
    "redacted_thinking": "thinking",
    "tool_use": "tool_call",
    "tool_result": "tool_result",
    "token_budget": "system",
    "flag": "system",
    "image": "file",
}


def read(chunks: Iterable[bytes], origin: SourceOrigin) -> Iterator[Found]:
    """Return the conversations of an export."""
    return conversations(chunks, origin, KIND, _fill_draft)


def _fill_draft(value: dict[str, Any], draft: Draft) -> tuple[str, str]:
    """Add a conversation's messages to the draft; return its id and title. Raises `Unreadable`."""
    if not isinstance(value.get("chat_messages"), list):
        raise Unreadable("not_a_conversation")
    draft.at = moment(value.get("created_at"))
    messages = [table_of(message) for message in list_of(value["chat_messages"])]
    branch = _branch(messages, text_of(value.get("current_leaf_message_uuid")))
    for index, message in enumerate(messages):
        if index in branch:
            _add_message(message, draft)
        else:
            draft.left_out["other_branch"] += 1
    return text_of(value.get("uuid")), text_of(value.get("name"))


def _branch(messages: list[dict[str, Any]], leaf: str) -> set[int]:
    """Return the places of the messages from the root to the leaf; all of them when there is no leaf."""
    places = {text_of(message.get("uuid")): index for index, message in enumerate(messages)}
    if not leaf or leaf not in places:
        return set(range(len(messages)))
    branch: set[int] = set()
    while leaf in places and leaf:
        if places[leaf] in branch:
            raise Unreadable("circular")
        branch.add(places[leaf])
        leaf = text_of(messages[places[leaf]].get("parent_message_uuid"))
    return branch


def _add_message(message: dict[str, Any], draft: Draft) -> None:
    role = SPEAKERS.get(text_of(message.get("sender")))
    if role is None:
        draft.left_out["unknown_role"] += 1
        return
    at = moment(message.get("created_at"))
    texts: list[str] = []
    for block in map(table_of, list_of(message.get("content"))):
        kind = text_of(block.get("type"))
        if kind == "text":
            texts.append(text_of(block.get("text")))
        else:
            draft.left_out[OTHER_BLOCKS.get(kind, "unknown_block")] += 1
    attached = [table_of(entry) for entry in list_of(message.get("attachments"))]
    given = [text for entry in attached if (text := _attachment(entry))]
    said = "\n\n".join(text for text in texts if text.strip()) or text_of(message.get("text"))
    if said.strip() or not given:
        draft.add_message(role, said, at)
    for text in given:
        draft.add_message(role, text, at)
    if bare := len(attached) - len(given) + len(list_of(message.get("files"))):
        draft.left_out["file"] += bare


def _attachment(entry: dict[str, Any]) -> str:
    """Return an attachment's text below its name, or nothing."""
    text, name = text_of(entry.get("extracted_content")), text_of(entry.get("file_name"))
    if not text.strip():
        return ""
    return f"{name}\n\n{text}" if name else text
