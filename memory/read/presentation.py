"""Decides how a prompt shows a hit, and whether it does; pure."""

from promt.render import carries_own_block
from protocol.memory.reads import Hit
from protocol.settings import RecallFloors

MAX_ITEM_CHARS = 280
"""The most characters of one record in a prompt, without its labels."""


def text_of(hit: Hit) -> str:
    """Return a hit's text as a prompt shows it: whole if it is short, else the snippet around the found words."""
    content = hit.record.content
    return content if len(content) <= MAX_ITEM_CHARS else hit.snippet or content


def is_presentable(hit: Hit, floors: RecallFloors) -> bool:
    """Return whether a hit has words, is no block that the gateway injected, and is above each floor that is set."""
    measured = [
        (floors.lexical, hit.breakdown.get("lexical")),
        (floors.semantic, hit.breakdown.get("semantic")),
        (floors.total, hit.score),
    ]
    is_low = any(value is not None and least is not None and value < least for least, value in measured)
    return bool(hit.record.content.strip()) and not carries_own_block(hit.record.content) and not is_low
