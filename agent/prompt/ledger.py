"""The injection ledger: what was put into prompts, so that it never becomes evidence, history or index again.

Rule 1: only keyed hashes of lines are kept, never their text.
"""

import re
from bisect import bisect_right
from collections.abc import Sequence

from agent.rows.injections import add_injection, is_injected
from agent.values import Injected
from promt.own_blocks import find_blocks
from promt.patterns import compile_late
from protocol.seams.ports import KeyedHash, Tx
from protocol.unicode_forms import normalize

HASH_DOMAIN = "injected-line"

_ITEM_LINE = compile_late(r"^[ \t>]*(?P<line>- \[[^\]\n]{4,400}\]: [^\n]+)$", re.MULTILINE)


def normalise_line(line: str) -> str:
    """Return a line as it is compared: NFKC, case and white space folded."""
    return " ".join(normalize("NFKC", line).casefold().split())


class Ledger:
    """Writes down what is injected, and finds it again in later text."""

    def __init__(self, keyed: KeyedHash) -> None:
        self._keyed = keyed

    def _hash(self, line: str) -> bytes:
        return self._keyed.digest(HASH_DOMAIN, normalise_line(line))

    def record(self, tx: Tx, place: tuple[str, str, str], blocks: Sequence[Injected]) -> None:
        """Store the hash of every line of the blocks; `place` is (workspace, thread, turn)."""
        for block in blocks:
            for line, source in block.lines:
                add_injection(tx, place, block.block_id, self._hash(line), source, is_standing=block.is_standing)

    def echo_spans(self, tx: Tx, workspace_id: str, text: str) -> list[tuple[int, int]]:
        """Return the sorted ranges of the text that are blocks of ours, or lines injected in this workspace before."""
        # no line and no frame of ours is without one of these, and most texts are: they cost no pattern
        if "- [" not in text and " nonce=" not in text and "standing_memory>" not in text:
            return []
        whole = find_blocks(text)
        spans = [*whole]
        for found in _ITEM_LINE.finditer(text):
            start, end = found.span("line")
            before = bisect_right(whole, (start, len(text))) - 1
            is_inside = before >= 0 and end <= whole[before][1]
            if not is_inside and is_injected(tx, workspace_id, self._hash(found["line"])):
                spans.append((start, end))
        return sorted(spans)

    def remove_injected(self, tx: Tx, workspace_id: str, text: str) -> str:
        """Return the text without what was injected."""
        return without(text, self.echo_spans(tx, workspace_id, text))


def without(text: str, spans: Sequence[tuple[int, int]]) -> str:
    """Return the text with the ranges taken out."""
    kept: list[str] = []
    place = 0
    for start, end in spans:
        kept.append(text[place:start])
        place = max(place, end)
    return "".join([*kept, text[place:]]).strip() if spans else text
