"""The states of messages, chunks and partitions in the index, as transition tables.

Rule 1: every transition is a row here; nothing here knows what causes it.

A message (`SOURCES`):
    pending   waits to be cut and indexed
    indexed   all of its chunks are in the index

A chunk (`CHUNKS`):
    indexed   is found by its words and its meaning
    excluded  is hidden from every search, as `thread_episodic/exclude` asked
    retired   its message was edited or cut differently; the row keeps neither terms nor partition

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
