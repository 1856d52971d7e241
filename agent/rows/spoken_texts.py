"""The texts of items and of hosts' tool events, and the same without words that were erased."""

from collections.abc import Sequence

import msgspec

from agent.rows.statements import to_json
from protocol.conversation.items import Item, ToolUse
from protocol.conversation.turns import ToolEvent
from protocol.saying import Saying, texts_in

SPOKEN = ("arguments",)
"""The members of a call that hold somebody's words."""
WORDS_OF_EVENT = ("summary", "name", "status")
"""The members of a host's tool event that hold words."""


def list_texts(items: Sequence[Item], events: Sequence[ToolEvent]) -> list[str]:
    """Return the texts that a turn leaves at its end."""
    calls = [text for item in items if item.tool is not None for text in texts_in(msgspec.to_builtins(item.tool))]
    said = [text for event in events for text in _words_of(event).values()]
    return [*(text for item in items for text in (item.text, item.name or "")), *calls, *said]


def take_out_of_item(item: Item, saying: Saying) -> Item:
    """Return an item without some phrases; its name and the arguments of a call lose them as well."""
    if not saying.phrases:
        return item
    tool = item.tool
    if tool is not None:
        tool = msgspec.json.decode(saying.take_out_of_json(to_json(tool), SPOKEN), type=ToolUse)
    name = saying.take_out(item.name) if item.name else item.name
    return msgspec.structs.replace(item, text=saying.take_out(item.text), name=name, tool=tool)


def take_out_of_event(event: ToolEvent, saying: Saying) -> ToolEvent:
    """Return a host's tool event without some phrases."""
    if not saying.phrases:
        return event
    return msgspec.structs.replace(event, **{name: saying.take_out(text) for name, text in _words_of(event).items()})


def _words_of(event: ToolEvent) -> dict[str, str]:
    """Return the members of a tool event that hold a host's words, as far as it has them."""
    return {name: text for name in WORDS_OF_EVENT if (text := getattr(event, name))}
