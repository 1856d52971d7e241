"""The files of an embedding model on this disk, and the digest of the space that they span.

Rule 1: a look costs a few stats and imports no heavy library; only the digest reads a file.
Rule 2: a folder that was named is the truth; a cache is only searched where no folder was named.
Rule 3: everything that can change a vector is part of the digest.
"""

import hashlib
import importlib.util
import os
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Literal, NamedTuple, TypeAlias

from promt.patterns import compile_late
from protocol.settings import EmbeddingSettings

Absence: TypeAlias = Literal["model_missing", "model_broken"]

ONNX_NAMES = (
    "onnx/model.onnx",
    "model.onnx",
    "model_optimized.onnx",
    "onnx/model_optimized.onnx",
    "onnx/model_quantized.onnx",
)
"""The places of a model in its folder, the usual one first."""

TOKENIZER = "tokenizer.json"
NEEDED = (TOKENIZER, "tokenizer_config.json")  # the second one says how long a text may be
DECIDING = (*NEEDED, "special_tokens_map.json", "config.json", "1_Pooling/config.json")
"""Files that decide, beside the model itself, which vector a text gets."""

CACHED_AS: Mapping[str, tuple[str, str]] = {
    "sentence-transformers/all-minilm-l6-v2": ("Qdrant/all-MiniLM-L6-v2-onnx", "model.onnx"),
    "sentence-transformers/paraphrase-multilingual-minilm-l12-v2": (
        "Qdrant/paraphrase-multilingual-MiniLM-L12-v2-onnx-Q",
        "model_optimized.onnx",
    ),
    "sentence-transformers/paraphrase-multilingual-mpnet-base-v2": (
        "Xenova/paraphrase-multilingual-mpnet-base-v2",
        "onnx/model.onnx",
    ),
    "intfloat/multilingual-e5-large": ("Qdrant/multilingual-e5-large-onnx", "model.onnx"),
    "baai/bge-base-en": ("Qdrant/fast-bge-base-en", "model_optimized.onnx"),
    "baai/bge-base-en-v1.5": ("Qdrant/bge-base-en-v1.5-onnx-Q", "model_optimized.onnx"),
    "baai/bge-large-en-v1.5": ("Qdrant/bge-large-en-v1.5-onnx", "model.onnx"),
    "baai/bge-small-en": ("Qdrant/bge-small-en", "model_optimized.onnx"),
    "baai/bge-small-en-v1.5": ("Qdrant/bge-small-en-v1.5-onnx-Q", "model_optimized.onnx"),
    "baai/bge-small-zh-v1.5": ("Qdrant/bge-small-zh-v1.5", "model_optimized.onnx"),
    "snowflake/snowflake-arctic-embed-xs": ("Snowflake/snowflake-arctic-embed-xs", "onnx/model.onnx"),
    "snowflake/snowflake-arctic-embed-s": ("Snowflake/snowflake-arctic-embed-s", "onnx/model.onnx"),
    "snowflake/snowflake-arctic-embed-m": ("Snowflake/snowflake-arctic-embed-m", "onnx/model.onnx"),
    "snowflake/snowflake-arctic-embed-m-long": ("Snowflake/snowflake-arctic-embed-m-long", "onnx/model.onnx"),
    "snowflake/snowflake-arctic-embed-l": ("Snowflake/snowflake-arctic-embed-l", "onnx/model.onnx"),
    "jinaai/jina-embeddings-v2-base-en": ("Xenova/jina-embeddings-v2-base-en", "onnx/model.onnx"),
    "jinaai/jina-embeddings-v2-small-en": ("Xenova/jina-embeddings-v2-small-en", "onnx/model.onnx"),
    "thenlper/gte-large": ("Qdrant/gte-large-onnx", "model.onnx"),
    "nomic-ai/nomic-embed-text-v1.5-q": ("nomic-ai/nomic-embed-text-v1.5", "onnx/model_quantized.onnx"),
    "google/embeddinggemma-300m": ("onnx-community/embeddinggemma-300m-ONNX", "onnx/model.onnx"),
    "ibm-granite/granite-embedding-small-english-r2": (
        "onnx-community/granite-embedding-small-english-r2-ONNX",
        "onnx/model.onnx",
    ),
    "qwen/qwen3-embedding-0.6b": ("Qdrant/Qwen3-Embedding-0.6B-onnx", "onnx/model.onnx"),
    "qwen/qwen3-embedding-0.6b-q": ("Qdrant/Qwen3-Embedding-0.6B-onnx", "onnx/model_quantized.onnx"),
}
"""Repository and file of the models that fastembed fetches from elsewhere than their name says; a test compares."""

STATIC_PACKAGE = "wordllama"

_REPOSITORY = compile_late(r"[A-Za-z0-9][\w.-]*/[\w.-]+", re.ASCII)
_SHA256 = re.compile(r"[0-9a-f]{64}")


class ModelFiles(NamedTuple):
    """A model on this disk: all of its files lie in `folder`."""

    name: str
    folder: Path
    onnx: Path
    tokenizer: Path


class StaticFiles(NamedTuple):
    """The static model on this disk: the two data files of the package that brings it."""

    vectors: Path
    tokens: Path

    @property
    def folder(self) -> Path:
        """Return the folder of the package."""
        return self.vectors.parent.parent

    @property
    def nbytes(self) -> int:
        """Return the size of both files."""
        return self.vectors.stat().st_size + self.tokens.stat().st_size


class Located(NamedTuple):
    """The result of a look: the files, or the reason for none; and the cache that a download would fill."""

    files: ModelFiles | None
    reason: Absence | None
    cache: Path


class DamagedError(Exception):
    """A cached file does not have the hash in its name."""


def locate(settings: EmbeddingSettings, default_cache: Path) -> Located:
    """Return the files on this disk of the model that the settings name."""
    cache = _path(settings.cache_dir) if settings.cache_dir else default_cache
    try:
        if settings.model_path:
            return Located(*_in_folder(settings.model, _path(settings.model_path)), cache)
        files = find_in_cache(settings.model, cache)
    except (OSError, ValueError):  # no permission, a NUL in a path
        return Located(None, "model_broken" if settings.model_path else "model_missing", cache)
    return Located(files, None if files is not None else "model_missing", cache)


def find_static() -> StaticFiles | None:
    """Return the static model's files; None where the package that brings them is not installed, or lacks one.

    Nothing of it is imported.
    """
    try:
        spec = importlib.util.find_spec(STATIC_PACKAGE)
    except (ImportError, ValueError):
        return None
    for place in (spec.submodule_search_locations or ()) if spec is not None else ():
        files = StaticFiles(
            Path(place, "weights", "l2_supercat_256.safetensors"),
            Path(place, "tokenizers", "l2_supercat_tokenizer_config.json"),
        )
        if files.vectors.is_file() and files.tokens.is_file():
            return files
    return None


def source_of(name: str) -> tuple[str, tuple[str, ...]]:
    """Return the repository that a model of that name comes from, and the files that may be the model in it."""
    if (known := CACHED_AS.get(name.lower())) is not None:
        return known[0], (known[1],)
    return name, ONNX_NAMES


def find_in_cache(name: str, cache: Path) -> ModelFiles | None:
    """Return the model in fastembed's cache; None while a needed file is lacking."""
    repository, onnx_names = source_of(name)
    if _REPOSITORY.fullmatch(repository) is None:
        return None
    for folder in _snapshots(cache / f"models--{repository.replace('/', '--')}"):
        if (files := _find_model(name, folder, onnx_names)) is not None:
            return files
    # the folder of an older fastembed, which fetched archives
    return _find_model(name, cache / f"fast-{name.rpartition('/')[2]}", ONNX_NAMES)


def data_files(onnx: Path) -> list[Path]:
    """Return the files beside the model that hold its weights where it is too large for one."""
    return sorted(path for path in onnx.parent.iterdir() if path.name.startswith(onnx.name) and path.name != onnx.name)


def digest(files: ModelFiles) -> str:
    """Return one hash of everything that decides vectors. Raises `DamagedError` and `OSError`."""
    whole = hashlib.sha256(f"1\0{files.name.lower()}".encode())
    for name in DECIDING:
        path = files.folder / name
        whole.update(f"\0{name}\0{_sha256(path) if path.is_file() else '-'}".encode())
    for path in (files.onnx, *data_files(files.onnx)):
        whole.update(f"\0{path.name.removeprefix(files.onnx.name)}\0{_sha256(path)}".encode())
    return whole.hexdigest()


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        found = hashlib.file_digest(file, "sha256").hexdigest()
    # huggingface's cache keeps a large file under its SHA-256, and a link to it under its own name
    kept_as = path.resolve()
    if kept_as.parent.name == "blobs" and _SHA256.fullmatch(kept_as.name) and kept_as.name != found:
        raise DamagedError
    return found


def _path(text: str) -> Path:
    try:
        return Path(text).expanduser()
    except RuntimeError:  # `~` of an unknown user
        return Path(text)


def _in_folder(name: str, folder: Path) -> tuple[ModelFiles | None, Absence | None]:
    if not folder.is_dir():
        return None, "model_missing"
    files = _find_model(name, folder, ONNX_NAMES)
    return files, None if files is not None else "model_broken"


def _find_model(name: str, folder: Path, onnx_names: tuple[str, ...]) -> ModelFiles | None:
    """Return the model in a folder; None where one of the files that it needs is lacking or empty."""
    onnx = next((path for path in map(folder.joinpath, onnx_names) if _is_usable(path)), None)
    if onnx is None or not all(_is_usable(folder / needed) for needed in NEEDED):
        return None
    return ModelFiles(name, folder, onnx, folder / TOKENIZER)


def _is_usable(path: Path) -> bool:
    return path.is_file() and path.stat().st_size > 0 and os.access(path, os.R_OK)


def _snapshots(repository: Path) -> Iterator[Path]:
    """Yield the fetched revisions, the one that `main` names first."""
    folder = repository / "snapshots"
    main = repository / "refs" / "main"
    revision = main.read_text(encoding="ascii", errors="replace").strip() if main.is_file() else ""
    if revision and revision == Path(revision).name:
        yield folder / revision
    if folder.is_dir():
        yield from sorted(path for path in folder.iterdir() if path.name != revision)
