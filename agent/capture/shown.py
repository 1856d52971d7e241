"""Cuts what a message is given into pieces, and puts them together again without what may not be shown any more.

Rule 1: pure; the pieces of a block, one after the other, are its bytes.
Rule 2: a piece with a source is whole lines; what frames them has none. A block without a line left is no block.
"""

from collections.abc import Iterable, Mapping, Sequence

from msgspec import Struct

from agent.rows.captures import BlockPiece, StoredPiece
from promt.brief import STANDING
from promt.patterns import compile_late
from protocol.conversation.manifests import SourceRef

BETWEEN = "\n\n"
"""Stands between two blocks."""
_FILES = compile_late(r"Available artifacts for (?P<id>.+):\Z")


def cut(text: str, refs: Sequence[SourceRef]) -> list[BlockPiece]:
    """Return the pieces of a block whose lines have these sources, in order; the rest frames them."""
    pieces: list[BlockPiece] = []
    waiting = list(refs)
    source: SourceRef | None = None
    for line in text.splitlines(keepends=True):
        files = _FILES.match(line.rstrip("\n"))
        if waiting and line.startswith(f"- [{waiting[0].id}"):
            source = waiting.pop(0)
        elif files is not None:
            source = next((ref for ref in refs if files["id"].startswith(ref.id)), None)
        elif not line.startswith("- "):
            source = None
        if pieces and pieces[-1].source == source:
            pieces[-1] = BlockPiece(pieces[-1].text + line, source)
        else:
            pieces.append(BlockPiece(line, source))
    return pieces


def behind(pieces: Sequence[BlockPiece], lines: Sequence[BlockPiece]) -> list[BlockPiece]:
    """Return a standing block with `lines` behind its own; they make a block of their own where there is none."""
    if not lines:
        return list(pieces)
    whole = [piece._replace(text=piece.text.rstrip("\n") + "\n") for piece in lines]
    if pieces:
        return [*pieces[:-1], *whole, pieces[-1]]
    return [BlockPiece(STANDING.head), *whole, BlockPiece(STANDING.tail.removeprefix("\n"))]


class Rejoined(Struct, frozen=True):
    """A block as it may be shown now, and the rows of pieces that it lost."""

    text: str
    lost: list[int]


def rejoin_blocks(pieces: Iterable[StoredPiece], marks: Mapping[str, bytes]) -> dict[str, Rejoined]:
    """Return the blocks of stored pieces without what is gone: its source says something else now, or is not shown.

    A block without a line left is empty.
    """
    blocks: dict[str, list[StoredPiece]] = {}
    for piece in pieces:
        blocks.setdefault(piece.block, []).append(piece)
    return {block: _rejoin(its, marks) for block, its in blocks.items()}


def _rejoin(pieces: Sequence[StoredPiece], marks: Mapping[str, bytes]) -> Rejoined:
    lost = [piece.row for piece in pieces if piece.source is not None and marks.get(piece.source.id) != piece.mark]
    kept = [piece for piece in pieces if piece.row not in lost]
    has_line = any(piece.source is not None for piece in kept)
    return Rejoined("".join([piece.text for piece in kept]) if has_line else "", lost)


def half_to_drop(sizes: Sequence[int], room: int) -> int:
    """Return how many of the oldest blocks go: none while all fit, else the older half of their characters."""
    total = sum(sizes)
    if total <= room:
        return 0
    dropped = count = 0
    for size in sizes:
        if dropped * 2 >= total and total - dropped <= room:
            break
        dropped += size
        count += 1
    return count


def within(pieces: Sequence[BlockPiece], room: int) -> list[BlockPiece]:
    """Return the pieces of a block without the lines that do not fit into `room` beside the frame; [] without lines."""
    left = room - sum(len(piece.text) for piece in pieces if piece.source is None)
    kept: list[BlockPiece] = []
    for piece in pieces:
        if piece.source is None:
            kept.append(piece)
        elif len(piece.text) <= left:
            left -= len(piece.text)
            kept.append(piece)
    return kept if any(piece.source is not None for piece in kept) else []
