"""A hit as a prompt shows it, and whether it may be shown at all. Pure."""

from promt.render import carries_own_block
from protocol.memory.reads import Hit
from protocol.settings import RecallFloors

MAX_ITEM_CHARS = 280
"""The most characters of one record in a prompt, without its labels."""


def text_of(hit: Hit) -> str:
    """Return a hit's text as the prompt shows it: whole if it is short, else the part that was found."""
    content = hit.record.content
    return content if len(content) <= MAX_ITEM_CHARS else hit.snippet or content


def is_presentable(hit: Hit, floors: RecallFloors) -> bool:
    """Return whether a hit says something, is none of our own blocks, and is above each floor that applies."""
    measured = [
        (floors.lexical, hit.breakdown.get("lexical")),
        (floors.semantic, hit.breakdown.get("semantic")),
        (floors.total, hit.score),
    ]
    is_low = any(value is not None and least is not None and value < least for least, value in measured)
    return bool(hit.record.content.strip()) and not carries_own_block(hit.record.content) and not is_low
