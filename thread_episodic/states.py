"""The lives of what the index holds, as tables.

Rule 1: every move of a state is a row here; nothing here knows what makes it.

A message (`SOURCES`):
    pending   waits to be cut and indexed
    indexed   all of its chunks are in the index

A chunk (`CHUNKS`):
    indexed   is found by its words and its meaning
    excluded  somebody had it never recalled again
    retired   its text is not said any more

A partition (`SEGMENTS`):
    open      takes new chunks
    sealed    is full
"""

from collections.abc import Mapping
from typing import Literal, TypeAlias

SourceStatus: TypeAlias = Literal["pending", "indexed"]
SourceEvent: TypeAlias = Literal["finish", "repeat"]
ChunkStatus: TypeAlias = Literal["indexed", "excluded", "retired"]
ChunkEvent: TypeAlias = Literal["exclude", "readmit", "retire"]
SegmentState: TypeAlias = Literal["open", "sealed"]

SOURCES: Mapping[SourceStatus, Mapping[SourceEvent, SourceStatus]] = {
    "pending": {"finish": "indexed"},
    "indexed": {"repeat": "pending"},
}

CHUNKS: Mapping[ChunkStatus, Mapping[ChunkEvent, ChunkStatus]] = {
    "indexed": {"exclude": "excluded", "retire": "retired"},
    "excluded": {"readmit": "indexed", "retire": "retired"},
    "retired": {},
}

SEGMENTS: Mapping[SegmentState, Mapping[Literal["seal"], SegmentState]] = {"open": {"seal": "sealed"}, "sealed": {}}
