"""An embedding model in memory: the one home of fastembed and its libraries. It runs in a thread that may wait.

Rule 1: a text has one vector of one space: finite, unit, the right size, in whatever company; anything else is an
error.
Rule 2: an error is a reason from a short list; a library's words, texts and paths go no further than this file.
Rule 3: without permission this module cannot reach the network: present files are loaded by their folder.
"""

import contextlib
import json
import os
import threading
import time
import warnings
from collections.abc import Callable, Generator, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, NamedTuple, Self, TypeAlias, cast

from msgspec import Struct

from gateway.base.logs import Log
from gateway.embedding.model_files import DECIDING, ModelFiles, data_files, digest, find_in_cache, source_of
from gateway.embedding.plain_model import PlainEngine, is_plain

EmbedderReason: TypeAlias = Literal[
    "model_missing",
    "model_broken",
    "download_failed",
    "download_not_allowed",
    "not_finite",
    "wrong_dimension",
    "closed",
]
OnProgress: TypeAlias = Callable[[int, int | None], None]
"""Bytes that have arrived, and bytes in all where that is known."""

MAX_DIM = 8192  # a longer row is no embedding
PROBES = ("one probe", "another, longer probe, so that the first one is padded and in company")
STEADY = 0.9995  # cosine of a text's vectors alone and in company, below which a model gets its texts one by one
OWN_TOKENS = 0.9  # share of the model's vocabulary below which a tokenizer belongs to another model
PROGRESS_SECONDS = 0.5

QUIET: Mapping[str, str] = {
    "HF_HUB_DISABLE_TELEMETRY": "1",
    "HF_HUB_DISABLE_PROGRESS_BARS": "1",
    "HF_HUB_DISABLE_UPDATE_CHECK": "1",
    "HF_HUB_DISABLE_IMPLICIT_TOKEN": "1",  # the models are public; a user's token must not be sent
    "HF_HUB_DISABLE_SYMLINKS_WARNING": "1",
    "HF_HUB_DISABLE_SHARED_BLOBS": "1",
    "HF_HUB_DISABLE_XET": "1",  # plain HTTPS keeps to the time-outs
    "HF_HUB_VERBOSITY": "critical",
    "TOKENIZERS_PARALLELISM": "false",
}
USUAL: Mapping[str, str] = {"OPENBLAS_NUM_THREADS": "1", "HF_HUB_ETAG_TIMEOUT": "10", "HF_HUB_DOWNLOAD_TIMEOUT": "10"}
"""Defaults of variables that a user may have set otherwise."""

FIRST_TOKEN = ("baai/bge-", "snowflake/snowflake-arctic-embed-", "mixedbread-ai/mxbai-embed-")
LAST_TOKEN = ("qwen/qwen3-embedding-",)
"""Families that fastembed knows and does not pool by the mean."""

STATED_POOLING: Mapping[str, str] = {
    "pooling_mode_cls_token": "CLS",
    "pooling_mode_lasttoken": "LAST_TOKEN",
    "pooling_mode_mean_tokens": "MEAN",
}

log = Log("embedder")


class EmbedderError(Exception):
    """No vectors can be made, for a reason."""

    def __init__(self, reason: EmbedderReason) -> None:
        self.reason: EmbedderReason = reason
        super().__init__(reason)


class ModelIdentity(NamedTuple):
    """The identity that distinguishes one space from another."""

    name: str
    dim: int
    digest: str


class AbandonedError(Exception):
    """No caller waits for this download any more."""


@contextlib.contextmanager
def failing_as(reason: EmbedderReason) -> Generator[None]:
    """Raise any error of a library as an `EmbedderError` of that reason; a file that is gone is a missing model."""
    try:
        yield
    except (EmbedderError, AbandonedError):
        raise
    except BaseException as error:  # a panic of a library in Rust is no Exception
        is_gone = reason == "model_broken" and isinstance(error, FileNotFoundError)
        log.warning("embedder_failed", reason=reason, type=type(error).__name__)
        raise EmbedderError("model_missing" if is_gone else reason) from error


class Order(Struct, frozen=True):
    """The order to load a model, with the callbacks of its download."""

    name: str
    files: ModelFiles | None
    threads: int
    cache: Path
    on_progress: OnProgress
    is_wanted: Callable[[], bool]
    fetching: threading.Event  # set while nothing but the network is waited for

    def require_wanted(self) -> None:
        """Raise `AbandonedError` where no caller waits any more."""
        if not self.is_wanted():
            raise AbandonedError


class EmbeddingModel:
    """A loaded model: texts and vectors, no queues."""

    def __init__(self, engine: Any, files: ModelFiles, digest_: str) -> None:
        self._engine = engine
        with failing_as("model_broken"):
            self._check_tokenizer(files.folder)
        alone = self._embed_checked(PROBES[:1], is_query=False)
        together = self._embed_checked(PROBES, is_query=False)
        self.is_steady = float(alone[0] @ together[0]) >= STEADY
        self.identity = ModelIdentity(files.name, alone.shape[1], digest_)

    def vectors(self, texts: Sequence[str], *, is_query: bool) -> list[bytes]:
        """Return one float16 unit vector for each text, in order."""
        batches = [texts] if self.is_steady else [[text] for text in texts]
        found: list[bytes] = []
        for batch in batches:
            checked = self._embed_checked(batch, is_query=is_query)
            if checked.shape[1] != self.identity.dim:
                raise EmbedderError("wrong_dimension")
            found += [row.tobytes() for row in checked.astype("<f2")]
        return found

    def _embed_checked(self, texts: Sequence[str], *, is_query: bool) -> Any:
        import numpy as np  # noqa: PLC0415

        run = self._engine.query_embed if is_query else self._engine.passage_embed
        with failing_as("model_broken"), np.errstate(all="ignore"):
            rows = [np.asarray(row, dtype=np.float64) for row in run(list(texts))]
        sizes = {row.shape for row in rows}
        if len(rows) != len(texts) or len(sizes) != 1 or len(shape := sizes.pop()) != 1 or not 0 < shape[0] <= MAX_DIM:
            raise EmbedderError("wrong_dimension")
        found = np.stack(rows)
        with np.errstate(all="ignore"):
            norms = np.linalg.norm(found, axis=1, keepdims=True)
        if not np.isfinite(norms).all() or not norms.all():
            raise EmbedderError("not_finite")
        return found / norms

    def _check_tokenizer(self, folder: Path) -> None:
        """Raise unless the model knows every token, and the tokenizer nearly every one of the model's."""
        tokenizer, session = self._engine.model.tokenizer, self._engine.model.model
        count = tokenizer.get_vocab_size()
        described = folder / "config.json"
        stated = json.loads(described.read_bytes()).get("vocab_size") if described.is_file() else None
        if isinstance(stated, int) and count < OWN_TOKENS * stated:
            raise EmbedderError("model_broken")
        values = {"input_ids": count - 1, "attention_mask": 1, "token_type_ids": 0}
        names = [one.name for one in session.get_inputs()]
        if set(names) <= values.keys():
            import numpy as np  # noqa: PLC0415

            session.run(None, {name: np.array([[values[name]]], dtype=np.int64) for name in names})


_registering = threading.Lock()


def _quieten() -> None:
    """Forbid the libraries that are imported next any message. To be called before their first import."""
    os.environ.update(QUIET)
    for name, value in USUAL.items():
        os.environ.setdefault(name, value)
    warnings.filterwarnings("ignore", module=r"(fastembed|huggingface_hub|onnxruntime|gateway\.embedding)\b")


def open_model(order: Order) -> EmbeddingModel:
    """Import, fetch if need be, load and probe a model; return it. It takes seconds.

    Raises `EmbedderError` and `AbandonedError`.
    """
    _quieten()
    with failing_as("model_broken"):
        import onnxruntime  # noqa: PLC0415  # pyright: ignore[reportMissingTypeStubs]

        runtime = cast("Any", onnxruntime)
        runtime.set_default_logger_severity(4)  # it would write to stderr itself
        runtime.disable_telemetry_events()
    order.require_wanted()
    files = order.files or _fetch(order)
    with failing_as("model_broken"):
        known_as = digest(files)
        order.require_wanted()
        return EmbeddingModel(_engine(files, known_as, order.threads), files, known_as)


def _engine(files: ModelFiles, known_as: str, threads: int) -> Any:
    pooling = _pooling(files)
    return PlainEngine(files, threads) if is_plain(files, pooling) else _of_fastembed(files, known_as, threads, pooling)


def _of_fastembed(files: ModelFiles, known_as: str, threads: int, pooling: str) -> Any:
    from fastembed import TextEmbedding  # noqa: PLC0415
    from fastembed.common.model_description import ModelSource, PoolingType  # noqa: PLC0415
    from loguru import logger  # noqa: PLC0415

    logger.disable("fastembed")

    model_file = files.onnx.relative_to(files.folder).as_posix()
    name = f"local/{known_as}/{model_file}"
    with _registering:
        known = {one["model"].lower(): one for one in TextEmbedding.list_supported_models()}
        built_in = known.get(files.name.lower())
        if built_in is not None and built_in["model_file"] == model_file:
            name = built_in["model"]
        elif name.lower() not in known:
            TextEmbedding.add_custom_model(
                model=name,
                pooling=PoolingType(pooling),
                normalization=True,
                sources=ModelSource(hf=name),  # never asked: the folder is named below
                dim=1,  # never read: a probe measures it
                model_file=model_file,
                additional_files=[path.relative_to(files.folder).as_posix() for path in data_files(files.onnx)],
            )
    folder = str(files.folder)
    return TextEmbedding(
        name,
        cache_dir=folder,
        threads=threads,
        providers=["CPUExecutionProvider"],
        specific_model_path=folder,
        local_files_only=True,
    )


def _pooling(files: ModelFiles) -> str:
    """Return the pooling of a text's token vectors: as the folder states it, else as is usual in the model's family."""
    stated = files.folder / "1_Pooling" / "config.json"
    if stated.is_file():
        modes = json.loads(stated.read_bytes())
        return next((kind for name, kind in STATED_POOLING.items() if modes.get(name) is True), "MEAN")
    name = files.name.lower()
    if name.startswith(FIRST_TOKEN):
        return "CLS"
    return "LAST_TOKEN" if name.startswith(LAST_TOKEN) else "MEAN"


# -- the download ---------------------------------------------------------------------------------------


class _Meter:
    """A count of a download's bytes: it reports twice a second, and ends a download that is not wanted any more."""

    def __init__(self, total: int | None, order: Order) -> None:
        self._total = total
        self._order = order
        self._done = 0
        self._reported_at = 0.0

    def add(self, count: int) -> None:
        self.reach(self._done + count)

    def reach(self, done: int) -> None:
        self._order.require_wanted()
        self._done = done
        now = time.monotonic()
        if now - self._reported_at >= PROGRESS_SECONDS or done == self._total:
            self._reported_at = now
            self._order.on_progress(done, self._total)

    def bar(self) -> Any:
        """Return a class with the shape of a progress bar, as huggingface_hub takes one."""
        meter = self

        class Bar:
            def __init__(self, *_: object, initial: int = 0, **__: object) -> None:
                meter.add(initial)

            def __enter__(self) -> Self:
                return self

            def __exit__(self, *_: object) -> None:
                pass

            def update(self, count: float | None = 1) -> None:
                meter.add(int(count or 0))

        return Bar


def _fetch(order: Order) -> ModelFiles:
    """Bring the model into the cache, one file after the other, and return it; files that arrived before are kept."""
    order.fetching.set()
    try:
        files = _download(order)
    finally:
        order.fetching.clear()
    order.require_wanted()
    if files is None:
        raise EmbedderError("model_missing")
    return files


def _download(order: Order) -> ModelFiles | None:
    repository, onnx_names = source_of(order.name)
    with failing_as("download_failed"):
        import huggingface_hub  # noqa: PLC0415

        timeout = float(os.environ["HF_HUB_ETAG_TIMEOUT"])
        hub = cast("Any", huggingface_hub)  # its signatures are partially unknown
        info = hub.model_info(repository, timeout=timeout, files_metadata=True, token=False)
        sizes = {one.rfilename: one.size for one in info.siblings or ()}
        onnx = next((name for name in onnx_names if name in sizes), None)
        if onnx is None:
            raise EmbedderError("model_missing")
        wanted = [name for name in sizes if name in DECIDING or name.startswith(onnx)]
        known = [size for name in wanted if (size := sizes[name]) is not None]
        meter = _Meter(sum(known) if len(known) == len(wanted) else None, order)
        meter.reach(0)
        done = 0
        for name in wanted:
            hub.hf_hub_download(
                repository,
                name,
                revision=info.sha,
                cache_dir=order.cache,
                token=False,
                etag_timeout=timeout,
                tqdm_class=meter.bar(),
            )
            done += sizes[name] or 0
            meter.reach(done)
        return find_in_cache(order.name, order.cache)
