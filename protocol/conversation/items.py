"""Items: the messages, tool calls and results of a turn."""

from typing import Any

from protocol.base import Wire
from protocol.conversation.artifacts import ArtifactRef
from protocol.conversation.values import ItemKind, ItemStatus, Role


class ToolUse(Wire):
    """The tool side of an item."""

    call_id: str
    name: str
    arguments: Any
    is_error: bool


class Item(Wire, omit_defaults=True):
    """One thing said or done in a turn. `text` is byte for byte what was given.

    An item that was altered in the file is `altered`: its text is `[altered]`, and it has no name and no tool.
    """

    item_id: str
    turn_id: str
    thread_id: str
    kind: ItemKind
    role: Role
    status: ItemStatus
    text: str
    at: int
    name: str | None
    artifacts: list[ArtifactRef]
    tool: ToolUse | None
    altered: bool = False


class ItemsResult(Wire):
    """Items in order."""

    items: list[Item]
    next_cursor: str | None
