"""ChatGPT's export: `conversations.json`, a list of conversations that are trees of messages.

Rule 1: the branch that ends in `current_node` is the conversation; messages of other branches are counted.
"""

from collections.abc import Iterable, Iterator
from typing import Any

from gateway.base.json_values import list_of, table_of, text_of
from gateway.imports.formats.draft import Draft, Found, Role, SourceOrigin, Unreadable, moment
from gateway.imports.formats.json_elements import conversations

KIND = "chatgpt"

SPEAKERS: dict[str, Role] = {"user": "user", "assistant": "assistant"}
OTHER_SPEAKERS = {"system": "system", "developer": "system", "tool": "tool_result"}
OTHER_CONTENT = {
    "thoughts": "thinking",
    "reasoning_recap": "thinking",
    "user_editable_context": "system",
    "model_editable_context": "system",
    "execution_output": "tool_result",
    "tether_quote": "tool_result",
    "tether_browsing_display": "tool_result",
    "system_error": "error",
}


def read(chunks: Iterable[bytes], origin: SourceOrigin) -> Iterator[Found]:
    """Return the conversations of an export."""
    return conversations(chunks, origin, KIND, _fill_draft)


def _fill_draft(value: dict[str, Any], draft: Draft) -> tuple[str, str]:
    """Add a conversation's messages to the draft; return its id and title. Raises `Unreadable`."""
    nodes = {name: table_of(node) for name, node in table_of(value.get("mapping")).items()}
    if not nodes:
        raise Unreadable("not_a_conversation")
    draft.at = moment(value.get("create_time"))
    branch = _branch(nodes, text_of(value.get("current_node")))
    for name in branch:
        _add_message(table_of(nodes[name].get("message")), draft)
    aside = Draft(KIND, SourceOrigin("", "", 0))
    for name in nodes.keys() - set(branch):
        _add_message(table_of(nodes[name].get("message")), aside)
    if aside.messages:
        draft.left_out["other_branch"] += len(aside.messages)
    return text_of(value.get("conversation_id")) or text_of(value.get("id")), text_of(value.get("title"))


def _branch(nodes: dict[str, dict[str, Any]], leaf: str) -> list[str]:
    """Return the nodes from the root to the leaf; without a leaf, to the newest node that has no answer."""
    if leaf not in nodes:
        leaf = max(nodes, key=lambda name: (not list_of(nodes[name].get("children")), _time_of(nodes[name])))
    branch: dict[str, None] = {}
    while leaf in nodes:
        if leaf in branch:
            raise Unreadable("circular")
        branch[leaf] = None
        leaf = text_of(nodes[leaf].get("parent"))
    return list(branch)[::-1]


def _time_of(node: dict[str, Any]) -> int:
    return moment(table_of(node.get("message")).get("create_time")) or 0


def _add_message(message: dict[str, Any], draft: Draft) -> None:
    if not message:  # the root of the tree
        return
    content = table_of(message.get("content"))
    speaker = text_of(table_of(message.get("author")).get("role"))
    if table_of(message.get("metadata")).get("is_visually_hidden_from_conversation") is True:
        reason = "system"
    elif speaker not in SPEAKERS:
        reason = OTHER_SPEAKERS.get(speaker, "unknown_role")
    elif speaker == "assistant" and text_of(message.get("recipient")) not in {"", "all"}:
        reason = "tool_call"
    else:
        reason = OTHER_CONTENT.get(text_of(content.get("content_type")))
    if reason is not None:
        draft.left_out[reason] += 1
        return
    texts = [_text_of(part, draft) for part in list_of(content.get("parts"))] or [text_of(content.get("text"))]
    draft.add_message(SPEAKERS[speaker], "\n\n".join(filter(None, texts)), moment(message.get("create_time")))


def _text_of(part: Any, draft: Draft) -> str:
    """Return the words of a part: a text, or the words of a recording; pictures and sounds are files."""
    if isinstance(part, str):
        return part
    if spoken := text_of(table_of(part).get("text")):
        return spoken
    draft.left_out["file"] += 1
    return ""
