"""Blocks that the gateway put into a prompt, found again in a text that somebody copied them into; pure."""

import re
from bisect import bisect_right

from promt.brief import STANDING
from promt.patterns import compile_late

_EDGE = compile_late(
    r'<(?P<end>/?)(?P<name>(?:recalled_memory|thread_context|file_context) nonce="[\w-]{4,64}"|standing_memory)>'
)
_HEAD = STANDING.head.partition(">")[2]
"""The words after the tag of a block that has no nonce. A text that only speaks of its tag has no block."""


def find_blocks(text: str) -> list[tuple[int, int]]:
    """Return ranges from an opening of ours to its own end, whatever stands between, in their order.

    In time linear in the text, which may be hostile.
    """
    edges = [edge for edge in _EDGE.finditer(text) if _is_edge(edge, text)]
    ends: dict[str, list[int]] = {}
    for edge in edges:
        if edge["end"]:
            ends.setdefault(edge["name"], []).append(edge.end())
    spans: list[tuple[int, int]] = []
    place = 0
    for edge in edges:
        closings = ends.get(edge["name"], [])
        at = bisect_right(closings, edge.end())
        if not edge["end"] and edge.start() >= place and at < len(closings):
            place = closings[at]
            spans.append((edge.start(), place))
    return spans


def _is_edge(edge: re.Match[str], text: str) -> bool:
    return edge["name"] != "standing_memory" or bool(edge["end"]) or text.startswith(_HEAD, edge.end())
