"""The parts of this house that service, turns and passes share: each is built once.

Rule 1: nothing is decided here.
"""

from msgspec import Struct

from memory.doorway import Doorway
from memory.forget.erasing import Eraser
from memory.forget.forgetting import Forgetter
from memory.forget.sources import Sources
from memory.ports import Collaborators
from memory.read.gate import RecordGate
from memory.read.reads import RecordReader
from memory.read.recall import Recaller
from memory.read.searching import RecordSearcher
from memory.read.vectors import RecordVectors
from memory.write.writing import RecordWriter


class Parts(Struct, frozen=True, kw_only=True):
    """The shared parts."""

    means: Collaborators
    door: Doorway
    reader: RecordReader
    searcher: RecordSearcher
    recaller: Recaller
    vectors: RecordVectors
    writer: RecordWriter
    forgetter: Forgetter
    eraser: Eraser


def build_parts(means: Collaborators) -> Parts:
    """Return every part, built from the collaborators that wiring hands in."""
    gate, vectors, sources = RecordGate(means), RecordVectors(means), Sources(means)
    searcher = RecordSearcher(means, gate)
    return Parts(
        means=means,
        door=Doorway(means),
        reader=RecordReader(means, gate),
        searcher=searcher,
        recaller=Recaller(means, searcher),
        vectors=vectors,
        writer=RecordWriter(means, vectors),
        forgetter=Forgetter(means, sources, vectors),
        eraser=Eraser(means, sources),
    )
