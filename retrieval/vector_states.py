"""States of a row's vector, as a table: the same for every house that has vectors.

indexed        waits for no vector
pending        waits for one
repair_needed  the model makes none of its words
"""

from collections.abc import Mapping
from typing import Literal, TypeAlias

from protocol.record import IndexState

VectorEvent: TypeAlias = Literal["await", "settle", "refuse"]

VECTORS: Mapping[IndexState, Mapping[VectorEvent, IndexState]] = {
    "indexed": {"await": "pending", "refuse": "repair_needed"},
    "pending": {"settle": "indexed", "refuse": "repair_needed"},
    "repair_needed": {"await": "pending", "settle": "indexed"},
}
