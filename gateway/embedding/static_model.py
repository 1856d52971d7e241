"""The embedding model that comes with a dependency: one vector for each token, and their mean for a text.

Rule 1: only two data files of a package are read. The package is never imported, and this module reaches no network.
Rule 2: the vectors stay in their file, which is mapped: a text touches the pages of its own tokens.
Rule 3: no text and no word of one is kept: forgotten words must not stay in memory.

The mean is plain. Weights by rank, by a smoothed frequency, and unit vectors for each token were tried on 354 questions
of persons and 628 of LoCoMo, and order no better: the lengths of the vectors were trained and are such weights. Lower
case helps a little (LoCoMo facts, recall@5: .666 → .688), special tokens harm (.651).
"""

import hashlib
from collections.abc import Sequence
from heapq import heapify, heappop, heappush
from itertools import pairwise
from pathlib import Path
from typing import Any

import msgspec

from gateway.embedding.engine import EmbedderError, ModelIdentity, failing_as
from gateway.embedding.model_files import StaticFiles
from gateway.embedding.spaces import STATIC_NAME
from retrieval.flat import load_numpy

MADE_AS = "1"
"""The version of the way from a text to a vector; another version is another space."""

GAP = "\u2581"
"""The sign of a blank in a token; every word begins with one."""
HEADER_LENGTH_BYTES = 8
TENSOR = "embedding.weight"


class _Bpe(msgspec.Struct):
    vocab: dict[str, int]


class _Tokenizer(msgspec.Struct):
    """The needed part of a `tokenizer.json`."""

    model: _Bpe


class _Tensor(msgspec.Struct):
    dtype: str
    shape: tuple[int, int]
    data_offsets: tuple[int, int]


def cut(word: str, vocabulary: dict[str, int]) -> list[int]:
    """Return the tokens of a word: its neighbouring pieces are merged, the token of the lowest number first.

    The numbers are the order in which the tokens were learnt. A character that is no token is spelled by its bytes.
    A word of n characters takes n log n steps: a line of a file, or a Chinese paragraph, is one word.
    """
    if (whole := vocabulary.get(word)) is not None:
        return [whole]
    pieces: list[str] = []
    for char in word:
        pieces += [char] if char in vocabulary else [f"<0x{byte:02X}>" for byte in char.encode()]
    end = len(pieces)
    following, previous = list(range(1, end + 1)), list(range(-1, end))
    waiting = [
        (number, place)
        for place, (one, other) in enumerate(pairwise(pieces))
        if (number := vocabulary.get(one + other)) is not None
    ]
    heapify(waiting)
    while waiting:
        number, place = heappop(waiting)
        after = following[place]
        if after == end or not pieces[place] or vocabulary.get(pieces[place] + pieces[after]) != number:
            continue  # one of the two was merged with another since
        pieces[place], pieces[after] = pieces[place] + pieces[after], ""
        following[place] = following[after]
        previous[following[after]] = place
        for left in (previous[place], place):
            right = following[left] if left >= 0 else end
            if right < end and (made := vocabulary.get(pieces[left] + pieces[right])) is not None:
                heappush(waiting, (made, left))
    return [vocabulary[piece] for piece in pieces if piece]


def tokens_of(text: str, vocabulary: dict[str, int]) -> list[int]:
    """Return the tokens of a text in order, those of its beginning and end left out."""
    return [token for word in text.lower().split() for token in cut(GAP + word, vocabulary)]


class StaticModel:
    """A loaded model, in the shape of `engine.EmbeddingModel`."""

    def __init__(self, files: StaticFiles) -> None:
        whole = hashlib.sha256(f"{MADE_AS}\0{STATIC_NAME}\0".encode())
        with files.vectors.open("rb") as file:
            whole.update(hashlib.file_digest(file, "sha256").digest())
        tokens = files.tokens.read_bytes()
        whole.update(tokens.replace(b"\r", b"").rstrip())  # its line ends differ between releases of the package
        self._vocabulary = msgspec.json.decode(tokens, type=_Tokenizer).model.vocab
        self._rows = _map_rows(files.vectors)
        if len(self._rows) <= max(self._vocabulary.values()):
            raise EmbedderError("model_broken")
        self.identity = ModelIdentity(STATIC_NAME, self._rows.shape[1], whole.hexdigest())

    def vectors(self, texts: Sequence[str], *, is_query: bool) -> list[bytes]:  # noqa: ARG002  # the shape of a model
        """Return one float16 unit vector for each text, in order."""
        return [self._vector(text) for text in texts]

    def _vector(self, text: str) -> bytes:
        np = load_numpy()
        total = self._rows[tokens_of(text, self._vocabulary)].sum(axis=0, dtype=np.float32)
        length = float(np.sqrt(total @ total))
        if not 0 < length < float("inf"):
            raise EmbedderError("not_finite")
        return (total / length).astype("<f2").tobytes()


def _map_rows(path: Path) -> Any:
    """Return the rows of the file's one tensor, mapped. The format is a length, a JSON header, and the numbers."""
    np = load_numpy()
    with path.open("rb") as file:
        length = int.from_bytes(file.read(HEADER_LENGTH_BYTES), "little")
        header = msgspec.json.decode(file.read(length), type=dict[str, msgspec.Raw])
    tensor = msgspec.json.decode(header[TENSOR], type=_Tensor)
    if tensor.dtype != "F16":
        raise EmbedderError("model_broken")
    begin = HEADER_LENGTH_BYTES + length + tensor.data_offsets[0]
    return np.asarray(np.memmap(path, "<f2", mode="r", offset=begin, shape=tensor.shape))


def open_static(files: StaticFiles) -> StaticModel:
    """Load the model and return it, in some ten milliseconds. Raises `EmbedderError`."""
    with failing_as("model_broken"):
        return StaticModel(files)
