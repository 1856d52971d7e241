"""A sentence transformer that pools by the mean, run without fastembed: its import takes three times as long as these.

Rule 1: only models of `PLAIN_MODELS`, whose way from a text to a vector is known here. A test compares each vector with
fastembed's, byte by byte. Every other model is fastembed's.
Rule 2: present files alone; nothing here can reach a network.
"""

import json
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

from gateway.embedding.model_files import TOKENIZER, ModelFiles, data_files
from retrieval.flat import load_numpy

PLAIN_MODELS = frozenset({"sentence-transformers/all-minilm-l6-v2"})
"""Names in lower case."""
LEAST_TOKENS = 1e-9  # of a text without any token, so that its mean is no division by zero


def is_plain(files: ModelFiles, pooling: str) -> bool:
    """Return whether a model is one that is run here: known by name, pooled by the mean, whole in one file."""
    return files.name.lower() in PLAIN_MODELS and pooling == "MEAN" and not data_files(files.onnx)


class PlainEngine:
    """A loaded model, in the shape that `EmbeddingModel` knows of fastembed's."""

    def __init__(self, files: ModelFiles, threads: int) -> None:
        import onnxruntime  # noqa: PLC0415  # pyright: ignore[reportMissingTypeStubs]

        runtime: Any = onnxruntime
        options = runtime.SessionOptions()
        options.intra_op_num_threads = options.inter_op_num_threads = threads
        session = runtime.InferenceSession(str(files.onnx), options, providers=["CPUExecutionProvider"])
        self.model = SimpleNamespace(tokenizer=_tokenizer_of(files.folder), model=session)
        self._takes = {one.name for one in session.get_inputs()}

    def passage_embed(self, texts: Sequence[str]) -> Iterator[Any]:
        """Yield one vector a text: the mean of its tokens' vectors."""
        np = load_numpy()
        encoded = self.model.tokenizer.encode_batch(list(texts))
        ids = np.array([one.ids for one in encoded], dtype=np.int64)
        mask = np.array([one.attention_mask for one in encoded], dtype=np.int64)
        given = {"input_ids": ids, "attention_mask": mask, "token_type_ids": np.zeros_like(ids)}
        [tokens, *_] = self.model.model.run(None, {name: given[name] for name in given if name in self._takes})
        shown = mask[:, :, np.newaxis]
        means = (tokens * shown).sum(axis=1) / np.clip(shown.sum(axis=1), LEAST_TOKENS, None)
        lengths = np.linalg.norm(means, axis=1, keepdims=True)
        yield from (means / lengths).astype(tokens.dtype)

    query_embed = passage_embed
    """A query is a text like any other."""


def _tokenizer_of(folder: Path) -> Any:
    """Return the tokenizer of a folder: texts cut at the stated length, and padded to the longest of their batch."""
    from tokenizers import AddedToken, Tokenizer  # noqa: PLC0415

    described: dict[str, Any] = json.loads((folder / "tokenizer_config.json").read_bytes())
    stated = [described.get("model_max_length"), described.get("max_length")]
    longest = min(count for count in stated if isinstance(count, int) and 0 < count <= sys.maxsize)
    made: Any = Tokenizer.from_file(str(folder / TOKENIZER))
    made.enable_truncation(longest)
    special = folder / "special_tokens_map.json"
    named: dict[str, Any] = json.loads(special.read_bytes()) if special.is_file() else {}
    for value in named.values():
        some = cast("list[Any]", value if isinstance(value, list) else [value])
        made.add_special_tokens([one if isinstance(one, str) else AddedToken(**one) for one in some])
    padding: dict[str, Any] = made.padding or {"pad_token": described["pad_token"]}
    made.enable_padding(**(padding | {"length": None}))
    return made
