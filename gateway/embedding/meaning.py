"""The embedding model in use, and its replacement by another one. Satisfies `Meaning`.

Rule 1: a model is loaded on first use, in the background; no reader waits longer than its own patience.
Rule 2: while a new model fills its space, the one before goes on answering; a model that cannot be loaded changes
nothing.
Rule 3: absent, late or broken is a state that `gateway/status` shows, never an error of a read.
Rule 4: while the configured model is not there the static one is used, as a space like any other; each gives way to the
better one.
"""

import asyncio
import contextlib
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path

import anyio
from msgspec import Struct

from gateway.base.health import Health
from gateway.base.logs import Log
from gateway.base.signals import Signal
from gateway.embedding.choice import Choice, choose
from gateway.embedding.embedder import Embedder, EmbedderError
from gateway.embedding.spaces import SpaceIdentity, adopt, find_current, find_outdated, list_spaces, switch
from gateway.embedding.vector_houses import Houses
from gateway.home.owners import SQL
from protocol.errors import GatewayError
from protocol.gateway import SearchState
from protocol.memory.values import SemanticState
from protocol.notifications import Progress
from protocol.seams.ports import (
    Clock,
    GiveUpJob,
    ModelChanged,
    Nearness,
    Notify,
    PauseQueue,
    Space,
    Transact,
    Tx,
    Vector,
    VectorTable,
)
from protocol.settings import EmbeddingSettings
from retrieval.flat import FlatVectors

COMPONENT = "embedding"
OF_THE_TEXT = frozenset({"not_finite"})
"""Failures that another text would not have; every other one is the model's."""
AGAIN_SECONDS = 30.0
"""The time until a model is loaded again after the store failed, without an earlier signal that it works again."""
NO_SPACE = Space(0, "", 0)
"""A space without any vector."""

log = Log("embedding")


class _Loaded(Struct, frozen=True):
    """A model in memory, and the space of its vectors."""

    space: Space
    embedder: Embedder


class Embedding:
    """The models of this process and the spaces of the home."""

    def __init__(
        self,
        *,
        db: Transact,
        clock: Clock,
        settings: Callable[[], EmbeddingSettings],
        cache: Path,
        health: Health,
        notify: Notify,
        vectors: FlatVectors,
        houses: Callable[[], Houses],
    ) -> None:
        self._db, self._clock = db, clock
        self._settings = settings
        self._cache = cache
        self._health, self._notify = health, notify
        self._vectors = vectors
        self._houses = houses
        self.made = Signal[int]()  # sends the number of vectors that were made just now
        self._choice: Choice | None = None
        self._is_tried = False
        """The loading of the present choice was tried, with whatever success."""
        self._is_owed = False
        """The store's failure kept a model from being loaded: it is tried again."""
        self._serving: _Loaded | None = None
        """The model whose space is searched."""
        self._incoming: _Loaded | None = None
        """The model whose space is being filled."""
        self._asked = anyio.Event()
        """Set where `run` has something to load or to release."""
        self._settled = anyio.Event()
        """Set, and replaced, after each try to load."""
        self._unread = anyio.Event()
        """Set where a search met vectors that are not in memory yet."""
        self._loop: asyncio.AbstractEventLoop | None = None

    # -- for other houses ------------------------------------------------------------------------------------------

    def state(self) -> SemanticState:
        """Return the state of search by meaning: `off`, `pending` or `ready`."""
        if self._serving is not None:
            return "ready"
        return "pending" if self._is_loadable() else "off"

    def get_searched_space(self) -> Space | None:
        """Return the space that this process searches; None where no model is in memory."""
        return self._serving.space if self._serving is not None else None

    def get_search_state(self) -> SearchState:
        """Return the state of search as `initialize` and `gateway/status` report it."""
        space = self.get_searched_space()
        if space is None:
            return SearchState(lexical=True, semantic=self.state())
        return SearchState(lexical=True, semantic=self.state(), model=space.model, dim=space.dim, kind=space.kind)

    async def wake(self) -> bool:
        """Load a model and wait until one serves; return False where no model works."""
        while self._serving is None and self._is_loadable():
            settled = self._settled
            self._asked.set()
            await settled.wait()
        return self._serving is not None

    async def of_query(self, text: str, patience: float) -> Vector | None:
        """Return the vector of a text in the current space; None when there is none within `patience` seconds."""
        with anyio.move_on_after(patience):
            if self._serving is None and not await self.wake():
                return None
            loaded = self._serving
            if loaded is None:
                return None
            try:
                return Vector(loaded.space.id, await loaded.embedder.embed_query(text), loaded.space.kind)
            except EmbedderError as error:
                self._health.add_failure(COMPONENT, error.reason)
        return None

    async def of_texts(self, space: Space, texts: Sequence[str]) -> list[bytes]:
        """Return the vectors of texts in a space, in order.

        Raises `ModelChanged`, `GiveUpJob` for a text without a vector, `PauseQueue` for a model that does not work.
        """
        loaded = self._find_loaded(space)
        if loaded is None:
            raise ModelChanged(COMPONENT, "model_changed")
        try:
            made = await loaded.embedder.embed(texts)
        except EmbedderError as error:
            if self._find_loaded(space) is not loaded:
                raise ModelChanged(COMPONENT, "model_changed") from error
            self._health.add_failure(COMPONENT, error.reason)
            if error.reason in OF_THE_TEXT:
                raise GiveUpJob(error.reason) from error
            raise PauseQueue(COMPONENT, error.reason) from error
        self.made.send(len(made))
        return made

    def _find_loaded(self, space: Space) -> _Loaded | None:
        return next((one for one in (self._serving, self._incoming) if one is not None and one.space == space), None)

    async def load_all(self) -> Sequence[Space]:
        """Load every model that is there and return their spaces: the current one, and one that will replace it."""
        while self._is_loadable():
            settled = self._settled
            self._asked.set()
            await settled.wait()
        return await self._db.read(self.to_fill)

    def to_fill(self, tx: Tx) -> list[Space]:
        """Return the spaces of the models in memory that are searched or being filled."""
        loaded = [one.space for one in (self._serving, self._incoming) if one is not None]
        wanted = {known.space.id for known in list_spaces(tx) if known.state != "retired"} if loaded else set[int]()
        return [space for space in loaded if space.id in wanted]

    def nearness(self, tx: Tx, table: VectorTable, partitions: Sequence[int], query: Vector) -> Nearness:
        """Return the nearness of a query to all loaded vectors of the partitions; the others are loaded from now on."""
        near = self._vectors.nearness(tx, table, partitions, query)
        if not near.is_whole and self._loop is not None:
            with contextlib.suppress(RuntimeError):  # the loop is closed: no search comes any more
                self._loop.call_soon_threadsafe(self._note_unread)
        return near

    def _note_unread(self) -> None:
        self._unread.set()

    async def read_ahead(self) -> None:
        """Load the vectors that searches did not wait for, in bounded snapshots, until cancelled."""
        self._loop = asyncio.get_running_loop()
        while True:
            await self._unread.wait()
            self._unread = anyio.Event()
            try:
                while await self._db.read(self._vectors.catch_up):
                    pass
            except GatewayError as error:  # the next search tries again
                log.warning("read_ahead_failed", reason=error.reason)

    # -- the model's life ------------------------------------------------------------------------------------------

    def _is_loadable(self) -> bool:
        """Return whether a model is there, or may be fetched, and was not tried yet."""
        choice = self._choice
        return choice is not None and not self._is_tried and (choice.static is not None or choice.is_model_reachable)

    def _is_static_serving(self) -> bool:
        return self._serving is not None and self._serving.space.kind == "static"

    def apply(self) -> None:
        """Look for the wanted models again, after settings may have changed."""
        settings, before = self._settings(), self._choice
        if before is not None and settings == before.settings:
            return
        choice = choose(settings, self._cache)
        self._choice, self._is_tried = choice, False
        goes_on = self._serving is not None and not self._is_static_serving()
        if not settings.enabled or choice.is_model_reachable:
            self._health.recover(COMPONENT)
        elif choice.is_misplaced or goes_on:
            self._health.degrade(COMPONENT, choice.located.reason or "model_missing")
        if before is not None or choice.static is None or choice.is_model_reachable:
            self._asked.set()  # the static model alone is loaded when it is needed: a start does not pay for numpy

    def try_again(self) -> None:
        """Load a model now whose loading the store prevented: the store works again."""
        if self._is_owed:
            self._asked.set()

    async def run(self) -> None:
        """Load models as they are asked for, until cancelled."""
        try:
            while True:
                with anyio.move_on_after(AGAIN_SECONDS if self._is_owed else None):
                    await self._asked.wait()
                self._asked = anyio.Event()
                await self._follow()
        finally:
            self.close()

    async def _follow(self) -> None:
        """Bring the loaded models in line with the choice."""
        choice = self._choice
        if choice is None:
            return
        if self._is_owed:
            self._is_tried = self._is_owed = False
        try:
            if not choice.settings.enabled or (self._is_static_serving() and choice.static is None):
                await self._attempt(self._switch_off)
            if self._is_loadable():
                await self._load(choice)
        finally:
            self._is_tried = self._choice is choice
            self._wake_waiters()

    async def _load(self, choice: Choice) -> None:
        """Load the models of a choice: the static one first where it is ready before the other one."""

        async def model() -> None:
            await self._use(await choice.open_model(self._progress))
            self._recover()

        async def static() -> None:
            await self._use(await choice.open_static())

        async def static_first() -> None:
            if await self._begins_with_static(choice):
                await static()
                self._recover()

        await self._attempt(static_first)
        if choice.is_model_reachable:
            self._wake_waiters()  # a caller that waits for any model need not wait for this one
            await self._attempt(model)
            if self._serving is None and choice.static is not None:
                await self._attempt(static)  # the model's failure stays in the state of health

    async def _begins_with_static(self, choice: Choice) -> bool:
        """Return whether the static model is to be used, alone or until the configured one's space is filled."""
        if choice.static is None or self._serving is not None:
            return False
        if not choice.has_model:
            return True
        searched = find_current(await self._db.read(list_spaces))
        return searched is not None and searched.space.kind == "static"

    async def _attempt(self, step: Callable[[], Awaitable[None]]) -> None:
        """Take a step; a failure becomes a state of health."""
        try:
            await step()
        except (EmbedderError, GatewayError) as error:
            log.warning("model_not_loaded", reason=error.reason)
            self._health.degrade(COMPONENT, error.reason)
            self._is_owed |= isinstance(error, GatewayError)  # the store may work later, whatever the next step does

    def _recover(self) -> None:
        """Note that the wanted model works, unless a folder was named that holds no model."""
        if self._choice is not None and not self._choice.is_misplaced:
            self._health.recover(COMPONENT)

    def _wake_waiters(self) -> None:
        self._settled.set()
        self._settled = anyio.Event()

    async def _switch_off(self) -> None:
        self.close()
        await self._db.write(self._houses().settle)
        self._recover()

    async def _use(self, embedder: Embedder) -> None:
        """Search, or fill, the space of a loaded model."""
        try:
            space, is_current = await self._adopt(SpaceIdentity(*embedder.identity))
        except BaseException:
            embedder.close()
            raise
        before = self._serving if is_current else self._incoming
        if is_current:
            self._serving = _Loaded(space, embedder)
        else:
            self._incoming = _Loaded(space, embedder)
        if before is not None:
            before.embedder.close()

    async def _adopt(self, identity: SpaceIdentity) -> tuple[Space, bool]:
        """Adopt the space of a model and queue the vectors that it lacks; return it, and whether it is searched."""
        has_serving = self._serving is not None
        searched = find_current(await self._db.read(list_spaces))
        lacking = None
        if searched is not None and searched.digest == identity.digest:
            lacking = await self._houses().lacking(searched.space)

        def settle(tx: Tx) -> tuple[Space, bool]:
            known = adopt(tx, identity, self._clock.now(), keeps_current=has_serving)
            self._houses().enlist(tx, known.space, lacking)
            return known.space, known.state == "current"

        return await self._db.write(settle)

    def _progress(self, done: int, total: int | None) -> None:
        self._notify("gateway/progress", Progress(token=COMPONENT, title="Fetching the model", done=done, total=total))

    async def warm(self) -> None:
        """Load at the start the model of the home's vectors; the static model only where none of its vectors exist."""
        if self._choice is None or not self._is_loadable():
            return
        searched = find_current(await self._db.read(list_spaces))
        if self._choice.is_model_reachable:
            is_due = searched is not None
        elif searched is None:
            is_due = bool(await self._houses().lacking(NO_SPACE))
        else:
            is_due = searched.space.kind != "static"
        if is_due:
            self._asked.set()

    async def attach(self) -> bool:
        """Load the model of the current space without a change to the home; return whether a model serves now."""
        searched, choice = find_current(await self._db.read(list_spaces)), self._choice
        if searched is None or choice is None:
            return False
        try:
            embedder = await choice.open_present(searched.space.kind)
        except EmbedderError as error:
            self._health.degrade(COMPONENT, error.reason)
            return False
        if embedder is not None and embedder.identity.digest == searched.digest:
            self._serving = _Loaded(searched.space, embedder)
        elif embedder is not None:
            embedder.close()
        return self._serving is not None

    def close(self) -> None:
        """Release the models in memory."""
        for loaded in (self._serving, self._incoming):
            if loaded is not None:
                loaded.embedder.close()
        self._serving = self._incoming = None

    async def refresh(self) -> None:
        """Look for changes of another process: a fetched model, or the space in filling made current."""
        choice = self._choice
        if choice is not None and self._is_static_serving() and not choice.is_model_reachable:
            found = choose(choice.settings, self._cache)
            if found.has_model:
                self._choice, self._is_tried = found, False
                self._asked.set()
        incoming = self._incoming
        if incoming is None:
            return
        serving = find_current(await self._db.read(list_spaces))
        if serving is not None and serving.space == incoming.space:
            self._take_over(incoming)

    def _take_over(self, incoming: _Loaded) -> None:
        before, self._serving, self._incoming = self._serving, incoming, None
        if before is not None:
            before.embedder.close()

    async def adopt_filled_space(self) -> None:
        """Make a new space that lacks no vector current, after a house filled its part, and drop outdated spaces."""
        incoming = self._incoming
        if incoming is not None and not await self._houses().lacking(incoming.space):

            def take_over(tx: Tx) -> bool:
                is_whole = not self._houses().lacks_now(tx, incoming.space)
                return is_whole and switch(tx, incoming.space, self._clock.now())

            if await self._db.write(take_over) and self._incoming is incoming:
                self._take_over(incoming)
        for space in find_outdated(await self._db.read(list_spaces)):
            await self._houses().drop(space)
            await self._db.write(lambda tx, space=space: tx.run(SQL["drop_space"], {"id": space.id}))
