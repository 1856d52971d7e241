"""The inputs of every benchmark: rows of JSON Lines, and the embedding model where there is one."""

import os
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import msgspec
import numpy as np

from gateway.embedding.embedder import Embedder, load
from gateway.embedding.model_files import locate
from protocol.settings import EmbeddingSettings

MODEL_VARIABLE = "PIONEER_TEST_MODEL"
MODEL_PLACE = "../shared/models/all-MiniLM-L6-v2"
"""The folder of the model, from the repository's root, when the variable is not set."""


def read_rows(path: Path) -> list[dict[str, Any]]:
    """Return the objects of a file, one a line; a file that is absent holds none."""
    if not path.is_file():
        return []
    return [msgspec.json.decode(line) for line in path.read_bytes().splitlines() if line.strip()]


def model_folder() -> Path | None:
    """Return the folder of the embedding model, or None where it is absent."""
    folder = Path(os.environ.get(MODEL_VARIABLE) or Path(__file__).resolve().parent.parent / MODEL_PLACE)
    return folder if folder.is_dir() else None


@asynccontextmanager
async def open_embedder(folder: Path | None) -> AsyncIterator[Embedder | None]:
    """Load the model of a folder, and close it in the end; None where there is no folder or no model in it."""
    located = locate(EmbeddingSettings(model_path=str(folder)), folder) if folder is not None else None
    if located is None or located.files is None:
        yield None
        return
    embedder = await load(EmbeddingSettings().model, located.files, cache_dir=located.cache)
    try:
        yield embedder
    finally:
        embedder.close()


async def embed_texts(folder: Path, texts: Sequence[str]) -> np.ndarray:
    """Return a row of half-precision numbers for each text. Raises `FileNotFoundError` where the model is absent."""
    async with open_embedder(folder) as embedder:
        if embedder is None:
            raise FileNotFoundError(f"no model in {folder}")
        return np.frombuffer(b"".join(await embedder.embed(texts)), "<f2").reshape(len(texts), -1)
