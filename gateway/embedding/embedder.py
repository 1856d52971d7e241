"""The embedding model as other modules use it: texts in, vectors out, the work done in one thread.

Rule 1: heavy libraries are imported when a model is loaded, in that thread.
Rule 2: a query waits for at most one small batch of texts, and every queue is bounded.
Rule 3: a cancelled call stops its work; `close` fails every call that still waits.
Rule 4: the interpreter does not end under a thread that runs foreign code: that would abort the process.
"""

import asyncio
import atexit
import contextlib
import hashlib
import importlib
import threading
import weakref
from collections import OrderedDict, deque
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from msgspec import Struct

from gateway.embedding.engine import (
    AbandonedError,
    EmbedderError,
    EmbedderReason,
    EmbeddingModel,
    ModelIdentity,
    OnProgress,
    Order,
    failing_as,
    open_model,
)
from gateway.embedding.model_files import ModelFiles, StaticFiles
from gateway.embedding.static_model import StaticModel, open_static

__all__ = ["Embedder", "EmbedderError", "EmbedderReason", "ModelIdentity", "OnProgress", "load"]

BATCH_TEXTS = 32
BATCH_BYTES = 1024  # of padded text: about 30 ms of a small model on one core; larger ones are no faster for each text
MAX_CHARS = 32_768  # more than any model reads; spares the tokenizer the rest
CALLS_WAITING = 64  # further callers wait outside
QUERIES_KEPT = 512
BLANK = "."  # a text of nothing needs a vector too, and every tokenizer has a token for this
EXIT_SECONDS = 3.0  # what the interpreter waits for a batch or a load in hand; usually milliseconds


# -- between the loop and the thread -----------------------------------------------------------------------------------


class _Call:
    """Texts handed to the thread, and the future that waits for their vectors."""

    def __init__(self, texts: Sequence[str], *, is_query: bool) -> None:
        self.texts = texts
        self.is_query = is_query
        self.is_over = False  # for the thread alone: the future is settled a little later
        self.future: asyncio.Future[list[bytes]] = asyncio.get_running_loop().create_future()
        self._found: dict[int, bytes] = {}

    def keep(self, places: Sequence[int], vectors: Sequence[bytes]) -> list[bytes] | None:
        """Store some vectors; return all of them in order once none is missing, else None."""
        self._found.update(zip(places, vectors, strict=True))
        if len(self._found) < len(self.texts):
            return None
        return [self._found[place] for place in range(len(self.texts))]


class _Batch(Struct, frozen=True):
    """A piece of a call that the thread works on at a time."""

    call: _Call
    places: list[int]


def batches_of(sizes: Sequence[int]) -> list[list[int]]:
    """Return places in batches of like length: few texts, and few bytes counting what is padded."""
    batches: list[list[int]] = []
    for place in sorted(range(len(sizes)), key=sizes.__getitem__):
        last = batches[-1] if batches else None
        # lengths rise, so the new one is what all of its batch are padded to
        if last is None or len(last) == BATCH_TEXTS or (len(last) + 1) * sizes[place] > BATCH_BYTES:
            batches.append([place])
        else:
            last.append(place)
    return batches


class _Worker:
    """The thread, its two queues and its end."""

    def __init__(
        self, name: str, files: ModelFiles | StaticFiles | None, threads: int, cache: Path, on_progress: OnProgress
    ) -> None:
        self.closed_for: EmbedderReason | None = None
        self.opened: asyncio.Future[ModelIdentity] = asyncio.get_running_loop().create_future()
        self.ended = asyncio.Event()
        self._loop = asyncio.get_running_loop()
        self._on_progress = on_progress
        self._open_calls: set[_Call] = set()
        self._queries: deque[_Batch] = deque()
        self._batches: deque[_Batch] = deque()
        self._changed = threading.Condition()
        self._fetching = threading.Event()
        open_: Callable[[], EmbeddingModel | StaticModel]
        if isinstance(files, StaticFiles):
            open_ = partial(open_static, files)
        else:
            open_ = partial(open_model, Order(name, files, threads, cache, self._report, self._is_open, self._fetching))
        self._thread = threading.Thread(target=self._run, args=(open_,), name="embedder", daemon=True)
        self._thread.start()
        _RUNNING.add(self)

    # on the loop

    async def vectors(self, call: _Call, batches: Sequence[list[int]]) -> list[bytes]:
        if self.closed_for is not None:
            raise EmbedderError(self.closed_for)
        self._open_calls.add(call)
        with self._changed:
            (self._queries if call.is_query else self._batches).extend(_Batch(call, places) for places in batches)
            self._changed.notify()
        try:
            return await call.future
        finally:
            self._open_calls.discard(call)

    def close(self, reason: EmbedderReason) -> None:
        self._halt(reason)
        for call in self._open_calls:
            _settle(call.future, None, self.closed_for)

    def _halt(self, reason: EmbedderReason) -> None:
        with self._changed:
            self.closed_for = self.closed_for or reason
            self._queries.clear()
            self._batches.clear()
            self._changed.notify()

    def leave(self) -> None:
        """Stop at the interpreter's end: no call waits any more, but the thread must be out of foreign code."""
        self._halt("closed")
        if not self._fetching.is_set():  # a wait for the network may be cut off
            self._thread.join(EXIT_SECONDS)

    def _report_progress(self, done: int, total: int | None) -> None:
        if self.closed_for is None:
            self._on_progress(done, total)

    # in the thread

    def _call_in_loop(self, call: Callable[..., None], *arguments: object) -> None:
        """Call a function on the loop; on a closed loop no caller waits."""
        with contextlib.suppress(RuntimeError):
            self._loop.call_soon_threadsafe(call, *arguments)

    def _is_open(self) -> bool:
        return self.closed_for is None

    def _report(self, done: int, total: int | None) -> None:
        self._call_in_loop(self._report_progress, done, total)

    def _run(self, open_: Callable[[], EmbeddingModel | StaticModel]) -> None:
        try:
            with failing_as("model_broken"):
                model = open_()
        except AbandonedError:
            self._call_in_loop(_settle, self.opened, None, "closed")
        except EmbedderError as error:
            self._call_in_loop(_settle, self.opened, None, error.reason)
        else:
            self._call_in_loop(_settle, self.opened, model.identity, None)
            while (batch := self._next()) is not None:
                self._serve(model, batch)
        self._call_in_loop(self.ended.set)

    def _next(self) -> _Batch | None:
        with self._changed:
            self._changed.wait_for(lambda: self.closed_for or self._queries or self._batches)
            if self.closed_for is not None:
                return None
            return (self._queries or self._batches).popleft()

    def _serve(self, model: EmbeddingModel | StaticModel, batch: _Batch) -> None:
        call = batch.call
        if call.is_over or call.future.cancelled():
            return
        texts = [call.texts[place] for place in batch.places]
        try:
            with failing_as("model_broken"):
                vectors = model.vectors(texts, is_query=call.is_query)
        except EmbedderError as error:
            call.is_over = True
            self._call_in_loop(_settle, call.future, None, error.reason)
        else:
            if (whole := call.keep(batch.places, vectors)) is not None:
                self._call_in_loop(_settle, call.future, whole, None)


# it cannot be imported any more once the interpreter has begun to end, and what is loaded then may be importing it
importlib.import_module("concurrent.futures.thread")

_RUNNING: weakref.WeakSet[_Worker] = weakref.WeakSet()


@atexit.register
def _leave() -> None:
    for worker in list(_RUNNING):
        worker.leave()


def _settle(future: asyncio.Future[Any], result: object, reason: EmbedderReason | None) -> None:
    if future.done():
        return
    if reason is None:
        future.set_result(result)
    else:
        future.set_exception(EmbedderError(reason))  # made anew: the cause stays in the thread


# -- on the loop -------------------------------------------------------------------------------------------------------


def to_readable(text: str) -> str:
    """Return the text as a tokenizer can take it: no half characters, not endless, not empty."""
    cut = text[:MAX_CHARS].encode("utf-8", "replace").decode()
    return BLANK if not cut or cut.isspace() else cut


class _Asked:
    """A query under way, with the number of its waiting callers."""

    def __init__(self, task: asyncio.Task[bytes]) -> None:
        self.task = task
        self.waiting = 0


class Embedder:
    """Turns texts into unit vectors of one space. Belongs to the loop that loaded it."""

    def __init__(self, worker: _Worker, identity: ModelIdentity) -> None:
        self.identity = identity
        self._worker = worker
        self._places = asyncio.Semaphore(CALLS_WAITING)
        self._query_places = asyncio.Semaphore(CALLS_WAITING)
        self._known: OrderedDict[bytes, bytes] = OrderedDict()
        self._asked: dict[bytes, _Asked] = {}

    @property
    def model(self) -> str:
        """Return the model's name."""
        return self.identity.name

    @property
    def dim(self) -> int:
        """Return the number of a vector's dimensions."""
        return self.identity.dim

    async def embed(self, texts: Sequence[str]) -> list[bytes]:
        """Return one little-endian float16 unit vector for each text, in order. Raises `EmbedderError`."""
        if not texts:
            return []
        async with self._places:
            cut = [to_readable(text) for text in texts]
            call = _Call(cut, is_query=False)
            return await self._worker.vectors(call, batches_of([len(text.encode()) for text in cut]))

    async def embed_query(self, text: str) -> bytes:
        """Return the vector of a query, which goes before any batch of texts. Raises `EmbedderError`."""
        # the key is a hash, so that no text stays in memory longer than its question
        key = hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()
        if (known := self._known.get(key)) is not None and self._worker.closed_for is None:
            self._known.move_to_end(key)
            return known
        asked = self._asked.get(key)
        if asked is None:
            asked = self._asked[key] = _Asked(asyncio.ensure_future(self._ask(key, text)))
        asked.waiting += 1
        try:
            return await asyncio.shield(asked.task)
        finally:
            asked.waiting -= 1
            if not asked.waiting and not asked.task.done():
                asked.task.cancel()
                self._forget(key, asked.task)

    async def _ask(self, key: bytes, text: str) -> bytes:
        try:
            async with self._query_places:
                [vector] = await self._worker.vectors(_Call([to_readable(text)], is_query=True), [[0]])
        finally:
            self._forget(key, asyncio.current_task())
        self._known[key] = vector
        if len(self._known) > QUERIES_KEPT:
            self._known.popitem(last=False)
        return vector

    def _forget(self, key: bytes, task: object) -> None:
        asked = self._asked.get(key)
        if asked is not None and asked.task is task:
            del self._asked[key]

    def close(self, reason: EmbedderReason = "closed") -> None:
        """Fail every call under way and every later one; the thread ends after the batch in its hands."""
        self._worker.close(reason)
        self._known.clear()

    async def wait_closed(self) -> None:
        """Wait until the thread has released the model."""
        await self._worker.ended.wait()


async def load(
    name: str,
    files: ModelFiles | StaticFiles | None,
    *,
    threads: int = 1,
    cache_dir: Path,
    allow_download: bool = False,
    on_progress: OnProgress = lambda _done, _total: None,
) -> Embedder:
    """Load a model and return its embedder, fetching it first where that is needed and allowed.

    Raises `EmbedderError`.
    """
    if files is None and not allow_download:
        raise EmbedderError("download_not_allowed")
    worker = _Worker(name, files, threads, cache_dir, on_progress)
    try:
        identity = await worker.opened
    except asyncio.CancelledError:
        worker.close("closed")
        raise
    return Embedder(worker, identity)
