"""Rankings without any of our code: BM25 alone, exact cosine alone, and their sum, over the same chunks and terms."""

import math
from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from protocol.seams.ports import Tx, Vector
from retrieval.packing import unpack

SATURATION, LENGTH_PART = 1.2, 0.75  # the usual k1 and b
WORDS_PART = 0.04  # what a BM25 score counts beside a cosine in the sum

CHUNKS = """SELECT c.id, s.item_id, c.terms, v.vector FROM chunk AS c JOIN chunk_source AS s ON s.id = c.source
JOIN chunk_scope AS w ON w.id = s.workspace AND w.kind = 'workspace' LEFT JOIN chunk_vec AS v ON v.chunk = c.id
WHERE w.key = :workspace AND c.status = 'indexed' AND c.terms IS NOT NULL ORDER BY c.id"""


def bm25(terms: Sequence[str], documents: Sequence[Counter[str]], lengths: Sequence[int]) -> list[float]:
    """Return each document's score; a document is its words as counts, and how many they are."""
    mean = sum(lengths) / max(1, len(lengths))
    scores = [0.0] * len(documents)
    for term in terms:
        places = [place for place, held in enumerate(documents) if term in held]
        rarity = math.log1p((len(documents) - len(places) + 0.5) / (len(places) + 0.5))
        for place in places:
            count, share = documents[place][term], lengths[place] / mean
            norm = count + SATURATION * (1 - LENGTH_PART + LENGTH_PART * share)
            scores[place] += rarity * count * (SATURATION + 1) / norm
    return scores


class Shelf(NamedTuple):
    """The chunks of a workspace: the message of each, its words as counts, and its vector where it has one."""

    items: list[str]
    words: list[Counter[str]]
    lengths: list[int]
    vectors: list[bytes | None]

    @classmethod
    def of(cls, tx: Tx, workspace: str) -> "Shelf":
        """All of a workspace."""
        found = tx.all(CHUNKS, {"workspace": workspace})
        words = [Counter(unpack(terms).split(" ")) for _, _, terms, _ in found]
        return cls([item for _, item, _, _ in found], words, [held.total() for held in words], [v for *_, v in found])

    def is_apart(self, terms: Sequence[str], evidence: frozenset[str]) -> bool:
        """Return whether some messages are here, and have none of some words."""
        told = [words for item, words in zip(self.items, self.words, strict=True) if item in evidence]
        return bool(told) and all(words.keys().isdisjoint(terms) for words in told)

    def bm25(self, terms: Sequence[str]) -> list[float]:
        """Return each chunk's score."""
        return bm25(terms, self.words, self.lengths)

    def cosines(self, query: Vector) -> list[float]:
        """Each chunk's cosine with a query, by every number."""
        asked = np.frombuffer(query.numbers, "<f2").astype(np.float32)
        nothing = bytes(len(asked))
        rows = np.frombuffer(b"".join(vector or nothing for vector in self.vectors), "i1").reshape(
            len(self.vectors), -1
        )
        rows = rows.astype(np.float32)
        return (rows @ asked / np.maximum(np.linalg.norm(rows, axis=1), 1e-9)).tolist()

    def ranked(self, scores: Sequence[float]) -> list[str]:
        """The messages by their chunks' scores; those that score nothing are not found."""
        order = sorted((place for place, score in enumerate(scores) if score > 0), key=lambda place: -scores[place])
        return [self.items[place] for place in order]

    def sum_of(self, words: Sequence[float], cosines: Sequence[float]) -> list[float]:
        """Both together."""
        return [cosine + WORDS_PART * score for score, cosine in zip(words, cosines, strict=True)]
