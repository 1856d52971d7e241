"""A second implementation of `Meaning`, in memory: a vector is the sum of its words' vectors, words of one meaning
share one."""

import hashlib
import math
import re
import struct
from collections.abc import Iterator, Sequence
from itertools import takewhile

from protocol.memory.values import SemanticState
from protocol.seams.ports import GiveUpJob, PauseQueue, Space, Tx, Vector, VectorTable

DIM = 64
SAME = {
    "automobile": "car",
    "vehicle": "car",
    "hound": "dog",
    "puppy": "dog",
    "physician": "doctor",
    "residence": "home",
}
POISON = "poison"
"""A word of which this model makes no vector."""


def numbers_of(text: str, salt: str = "") -> bytes:
    """The unit vector of a text."""
    total = [0.0] * DIM
    for word in re.findall(r"\w+", text.casefold()) or [""]:
        digest = hashlib.sha256(f"{salt}{SAME.get(word, word)}".encode()).digest() * (DIM // 32)
        total = [have + (byte - 127.5) for have, byte in zip(total, digest, strict=True)]
    length = math.sqrt(sum(number * number for number in total)) or 1.0
    return struct.pack(f"<{DIM}e", *(number / length for number in total))


def cosine(one: bytes, other: bytes) -> float:
    """Of a stored vector, int8 or float16, and a unit vector."""
    stored = struct.unpack(f"{DIM}b" if len(one) == DIM else f"<{DIM}e", one)
    length = math.hypot(*stored) if len(one) == DIM else 1.0
    return sum(a * b for a, b in zip(stored, struct.unpack(f"<{DIM}e", other), strict=True)) / length


class ListedNearness:
    """Cosines in a dictionary."""

    def __init__(self, cosines: dict[int, float]) -> None:
        self._cosines = cosines

    is_whole = True

    def crowding(self, rows: Sequence[int]) -> dict[int, float]:
        return dict.fromkeys(self.of(rows), 0.25)

    def rank(self, least: float, among: Sequence[int] | None = None) -> Iterator[tuple[int, float]]:
        wanted = self._cosines if among is None else self.of(among)
        ordered = sorted(wanted.items(), key=lambda entry: (-entry[1], entry[0]))
        yield from takewhile(lambda entry: entry[1] >= least, ordered)

    def of(self, rows: Sequence[int]) -> dict[int, float]:
        return {row: self._cosines[row] for row in rows if row in self._cosines}


class WordedMeaning:
    """Off until `space` is given; a second space in `building` is filled beside it."""

    def __init__(self) -> None:
        self.space: Space | None = None
        self.building: Space | None = None
        self.is_down = False
        self.fills = 0

    def state(self) -> SemanticState:
        return "off" if self.space is None else "pending" if self.is_down else "ready"

    async def wake(self) -> bool:
        return self.space is not None

    async def of_query(self, text: str, patience: float) -> Vector | None:  # noqa: ARG002  # the port's signature
        if self.space is None or self.is_down:
            return None
        return Vector(self.space.id, numbers_of(text, self.space.model))

    async def of_texts(self, space: Space, texts: Sequence[str]) -> list[bytes]:
        if self.is_down:
            raise PauseQueue("embedding", "model_broken")
        if any(POISON in text for text in texts):
            raise GiveUpJob("not_finite")
        return [numbers_of(text, space.model) for text in texts]

    def to_fill(self, tx: Tx) -> list[Space]:  # noqa: ARG002  # the port's signature
        return [space for space in (self.space, self.building) if space is not None]

    async def adopt_filled_space(self) -> None:
        self.fills += 1

    def nearness(self, tx: Tx, table: VectorTable, partitions: Sequence[int], query: Vector) -> ListedNearness:
        rows = [
            row
            for partition in partitions
            for row in tx.all(table.added, {"space": query.space_id, "partition": partition, "after": 0, "limit": -1})
        ]
        return ListedNearness({subject: cosine(numbers, query.numbers) for _, subject, numbers in rows})
