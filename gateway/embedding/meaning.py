"""Which embedding model is in use, and how another one takes its place. Satisfies `Meaning`.

Rule 1: a model is loaded on first use, in the background; nobody who reads waits longer than their own patience.
Rule 2: while a new model fills its space, the one before goes on answering; a model that cannot be loaded changes nothing.
Rule 3: absent, late or broken is a state that `gateway/status` shows, never an error of a read.
Rule 4: while the configured model is not there the static one is used, as a space like any other; each gives way to the better one.
"""

import asyncio
import contextlib
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import NamedTuple

import anyio

from gateway.base.health import Health
from gateway.base.logs import Log
from gateway.base.signals import Signal
from gateway.embedding.choice import Choice, choose
from gateway.embedding.embedder import Embedder, EmbedderError
from gateway.embedding.spaces import SpaceIdentity, adopt, current, known_spaces, outdated, switch
from gateway.embedding.vector_houses import Houses
from gateway.home.owners import SQL
from protocol.errors import GatewayError
from protocol.gateway import SearchState
from protocol.memory import SemanticState
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
AGAIN_SECONDS = (
    30.0  # until a model is loaded again after the store failed, where nobody says sooner that it works again
)
NO_SPACE = Space(0, "", 0)
"""What nothing has a vector of."""

log = Log("embedding")


class _Loaded(NamedTuple):
    """A model in memory, and the space of its vectors."""

    space: Space
    embedder: Embedder


class Embedding:
    """The models of this process and the spaces of the home."""

    def __init__(
        self, *, db: Transact, clock: Clock, settings: Callable[[], EmbeddingSettings], cache: Path, health: Health,
        notify: Notify, vectors: FlatVectors, houses: Callable[[], Houses],
    ) -> None:  # fmt: skip
        self._db, self._clock = db, clock
        self._settings = settings
        self._cache = cache
        self._health, self._notify = health, notify
        self._vectors = vectors
        self._houses = houses
        self.made = Signal[int]()  # how many vectors were made just now
        self._choice: Choice | None = None
        self._is_tried = False
        self._is_owed = False
        self._serving: _Loaded | None = None
        self._incoming: _Loaded | None = None
        self._asked = anyio.Event()
        self._settled = anyio.Event()
        self._is_behind = anyio.Event()
        self._loop: asyncio.AbstractEventLoop | None = None

    # -- what others ask -------------------------------------------------------------------------------------------

    def state(self) -> SemanticState:
        """`off`, `pending` or `ready`."""
        if self._serving is not None:
            return "ready"
        return "pending" if self._is_loadable() else "off"

    def searched(self) -> Space | None:
        """Return the space that this process searches; None where no model is in memory."""
        return self._serving.space if self._serving is not None else None

    def shown(self) -> SearchState:
        """What `initialize` and `gateway/status` say of search."""
        space = self.searched()
        if space is None:
            return SearchState(lexical=True, semantic=self.state())
        return SearchState(lexical=True, semantic=self.state(), model=space.model, dim=space.dim, kind=space.kind)

    async def wake(self) -> bool:
        """Load the model if there is one, and wait until something can be asked; False when there is none that works."""
        while self._serving is None and self._is_loadable():
            settled = self._settled
            self._asked.set()
            await settled.wait()
        return self._serving is not None

    async def of_query(self, text: str, patience: float) -> Vector | None:
        """The vector of a text in the space that is searched; None when there is none within `patience` seconds."""
        with anyio.move_on_after(patience):
            if self._serving is None and not await self.wake():
                return None
            loaded = self._serving
            if loaded is None:
                return None
            try:
                return Vector(loaded.space.id, await loaded.embedder.embed_query(text))
            except EmbedderError as error:
                self._health.failed(COMPONENT, error.reason)
        return None

    async def of_texts(self, space: Space, texts: Sequence[str]) -> list[bytes]:
        """The vectors of texts, in order."""
        loaded = self._loaded(space)
        if loaded is None:
            raise ModelChanged(COMPONENT, "model_changed")
        try:
            made = await loaded.embedder.embed(texts)
        except EmbedderError as error:
            if self._loaded(space) is not loaded:
                raise ModelChanged(COMPONENT, "model_changed") from error
            self._health.failed(COMPONENT, error.reason)
            if error.reason in OF_THE_TEXT:
                raise GiveUpJob(error.reason) from error
            raise PauseQueue(COMPONENT, error.reason) from error
        self.made.send(len(made))
        return made

    def _loaded(self, space: Space) -> _Loaded | None:
        return next((one for one in (self._serving, self._incoming) if one is not None and one.space == space), None)

    async def load_all(self) -> Sequence[Space]:
        """Load whatever is there, and return its spaces: the one that is searched, and one that is to replace it."""
        while self._is_loadable():
            settled = self._settled
            self._asked.set()
            await settled.wait()
        return await self._db.read(self.to_fill)

    def to_fill(self, tx: Tx) -> list[Space]:
        """The spaces of the models in memory that are searched or being filled."""
        loaded = [one.space for one in (self._serving, self._incoming) if one is not None]
        wanted = {known.space.id for known in known_spaces(tx) if known.state != "retired"} if loaded else set[int]()
        return [space for space in loaded if space.id in wanted]

    def nearness(self, tx: Tx, table: VectorTable, partitions: Sequence[int], query: Vector) -> Nearness:
        """Compare a query with everything in the partitions that is loaded; the rest is, in the background, from then on."""
        near = self._vectors.nearness(tx, table, partitions, query)
        if not near.is_whole and self._loop is not None:
            with contextlib.suppress(RuntimeError):  # the loop is closed: nobody searches any more
                self._loop.call_soon_threadsafe(self._note_behind)
        return near

    def _note_behind(self) -> None:
        self._is_behind.set()

    async def read_ahead(self) -> None:
        """Load what searches did not wait for, in bounded snapshots, until cancelled."""
        self._loop = asyncio.get_running_loop()
        while True:
            await self._is_behind.wait()
            self._is_behind = anyio.Event()
            try:
                while await self._db.read(self._vectors.catch_up):
                    pass
            except GatewayError as error:  # the next search tries again
                log.warning("read_ahead_failed", reason=error.reason)

    # -- the model's life ------------------------------------------------------------------------------------------

    def _is_loadable(self) -> bool:
        """Whether a model is there, or may be fetched, and was not tried yet."""
        choice = self._choice
        return choice is not None and not self._is_tried and (choice.static is not None or choice.is_model_reachable)

    def _is_static_serving(self) -> bool:
        return self._serving is not None and self._serving.space.kind == "static"

    def apply(self) -> None:
        """Settings may have changed: look again at what models are wanted and whether they are there."""
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
        """The store works again: a model that it kept from being loaded is loaded now."""
        if self._is_owed:
            self._asked.set()

    async def run(self) -> None:
        """Load what is asked for, as it is asked for, until cancelled."""
        try:
            while True:
                with anyio.move_on_after(AGAIN_SECONDS if self._is_owed else None):
                    await self._asked.wait()
                self._asked = anyio.Event()
                await self._follow()
        finally:
            self.close()

    async def _follow(self) -> None:
        """Bring what is loaded in line with what is chosen."""
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
            self._tell_settled()

    async def _load(self, choice: Choice) -> None:
        """Load the models of a choice: the static one first where it can be asked before the other one can."""

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
            self._tell_settled()  # who waits for any model need not wait for this one
            await self._attempt(model)
            if self._serving is None and choice.static is not None:
                await self._attempt(static)  # what is wrong with the model stays to be seen

    async def _begins_with_static(self, choice: Choice) -> bool:
        """Whether the static model is to be used, alone or until the configured one's space is filled."""
        if choice.static is None or self._serving is not None:
            return False
        if not choice.has_model:
            return True
        searched = current(await self._db.read(known_spaces))
        return searched is not None and searched.space.kind == "static"

    async def _attempt(self, step: Callable[[], Awaitable[None]]) -> None:
        """Take a step; a failure becomes a state of health."""
        try:
            await step()
        except (EmbedderError, GatewayError) as error:
            log.warning("model_not_loaded", reason=error.reason)
            self._health.degrade(COMPONENT, error.reason)
            self._is_owed = isinstance(error, GatewayError)  # what the store could not do now it can do later

    def _recover(self) -> None:
        """Note that what is wanted works, unless a folder was named that holds no model."""
        if self._choice is not None and not self._choice.is_misplaced:
            self._health.recover(COMPONENT)

    def _tell_settled(self) -> None:
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
        """The space of a model, where everything that lacks a vector of it waits for one, and whether it is searched."""
        has_serving = self._serving is not None
        searched = current(await self._db.read(known_spaces))
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
        """Load at the start what this home has vectors of; the static model, which takes no time, only where it has none of it."""
        if self._choice is None or not self._is_loadable():
            return
        searched = current(await self._db.read(known_spaces))
        if self._choice.is_model_reachable:
            is_due = searched is not None
        elif searched is None:
            is_due = bool(await self._houses().lacking(NO_SPACE))
        else:
            is_due = searched.space.kind != "static"
        if is_due:
            self._asked.set()

    async def attach(self) -> bool:
        """Load the model of the space that is searched, and leave the home as it is; False where that model is not here."""
        searched, choice = current(await self._db.read(known_spaces)), self._choice
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
        """Let go of the models in memory."""
        for loaded in (self._serving, self._incoming):
            if loaded is not None:
                loaded.embedder.close()
        self._serving = self._incoming = None

    async def refresh(self) -> None:
        """Another process may have fetched the model, or made the space current that this one was filling, too."""
        choice = self._choice
        if choice is not None and self._is_static_serving() and not choice.is_model_reachable:
            found = choose(choice.settings, self._cache)
            if found.has_model:
                self._choice, self._is_tried = found, False
                self._asked.set()
        incoming = self._incoming
        if incoming is None:
            return
        serving = current(await self._db.read(known_spaces))
        if serving is not None and serving.space == incoming.space:
            self._take_over(incoming)

    def _take_over(self, incoming: _Loaded) -> None:
        before, self._serving, self._incoming = self._serving, incoming, None
        if before is not None:
            before.embedder.close()

    async def filled(self) -> None:
        """A house has filled what it could: a new space that lacks nothing takes over, and what is outdated goes."""
        incoming = self._incoming
        if incoming is not None and not await self._houses().lacking(incoming.space):

            def take_over(tx: Tx) -> bool:
                is_whole = not self._houses().lacks_now(tx, incoming.space)
                return is_whole and switch(tx, incoming.space, self._clock.now())

            if await self._db.write(take_over) and self._incoming is incoming:
                self._take_over(incoming)
        for space in outdated(await self._db.read(known_spaces)):
            await self._houses().drop(space)
            await self._db.write(lambda tx, space=space: tx.run(SQL["drop_space"], {"id": space.id}))
