"""The methods of the process itself: handshake, status, drain, settings.

Rule 1: other houses do the work; this module only puts their answers together.
"""

import time
from collections.abc import Awaitable, Callable, Sequence
from typing import cast

import anyio
import anyio.to_thread
import msgspec

from agent.threads.threads import Threads
from agent.turns.background import Background
from gateway import __version__
from gateway.base.health import Health
from gateway.embedding.meaning import Embedding
from gateway.foundations import Foundations
from gateway.home.owners import SQL, fact_of_home
from gateway.home.run_files import living_doors
from gateway.jobs.runner import JobRunner
from gateway.passes.scheduler import Scheduler
from gateway.providers.roles import Providers
from gateway.pulse import Pulse
from gateway.store.migrations import SCHEMA_VERSION
from protocol import methods as m
from protocol.base import DEFAULT_WORKSPACE, PROTOCOL_VERSION, Empty, Nothing
from protocol.errors import GatewayError
from protocol.gateway import (
    MAX_BATCH,
    Capabilities,
    CaptureState,
    DrainParams,
    DrainResult,
    EpisodicState,
    InitializeParams,
    InitializeResult,
    MemoryState,
    ProviderListResult,
    ProviderTestParams,
    ProviderTestResult,
    QueueCounts,
    RepairState,
    ServerInfo,
    StatusResult,
    StorageState,
    WireLimits,
)
from protocol.methods import Bound, bind
from protocol.notifications import NOTIFICATIONS
from protocol.seams.ports import Spawn, Tx
from protocol.settings import SettingsGetParams, SettingsResult, SettingsUpdateParams

SERVER_NAME = "pioneer-gateway"
MOST_FILE_ROUNDS = 5
"""The most rounds in which a drain looks for changed files: a log that grows all the time would hold it up for ever."""


class Shell:
    """The process's own methods."""

    def __init__(
        self,
        *,
        base: Foundations,
        pulse: Pulse,
        health: Health,
        embedding: Embedding,
        runner: JobRunner,
        providers: Providers,
        threads: Threads,
        background: Background,
        sweep: Callable[[], Awaitable[int]],
        repair_state: Callable[[], Awaitable[RepairState]],
        spawn: Spawn,
        answered: Sequence[Bound],
        scheduler: Scheduler,
    ) -> None:
        self._base = base
        self._pulse = pulse
        self._health = health
        self._embedding = embedding
        self._runner = runner
        self._providers = providers
        self._threads = threads
        self._background = background
        self._sweep = sweep
        self._repair_state = repair_state
        self._spawn = spawn
        self._scheduler = scheduler
        self._started = time.monotonic()
        names = {entry.method.name for entry in (*self.bindings(), *answered)}
        self._methods = [name for name in m.METHODS if name in names]

    def bindings(self) -> list[Bound]:
        """Return the methods of the wire that this service answers."""
        return [
            bind(m.INITIALIZE, self.initialize),
            bind(m.PING, self.ping),
            bind(m.SHUTDOWN, self.shutdown),
            bind(m.STATUS, self.status),
            bind(m.DRAIN, self.drain),
            bind(m.SETTINGS_GET, self.settings_get),
            bind(m.SETTINGS_UPDATE, self.settings_update),
            bind(m.PROVIDER_LIST, self.provider_list),
            bind(m.PROVIDER_TEST, self.provider_test),
        ]

    async def initialize(self, params: InitializeParams) -> InitializeResult:
        """Return versions, capabilities and limits, and ensure that the named workspace exists."""
        await self.welcome()
        if params.workspace_id is not None:
            await self._threads.ensure(params.workspace_id)
        if params.client.time_zone is not None:
            self._scheduler.live_in(params.client.time_zone)
        described = await self.describe(params)
        return msgspec.structs.replace(described, interrupted_turns=await self._background.take_interrupted())

    async def welcome(self) -> None:
        """Prepare for a first client: the default workspace exists, and the embedding model is loaded soon."""
        await self._pulse.beyond_damage(lambda: self._threads.ensure(DEFAULT_WORKSPACE))
        self._spawn(self._embedding.warm, "warm")

    async def describe(self, params: InitializeParams) -> InitializeResult:
        """Return versions, capabilities and limits, and change nothing: interrupted turns are for another client."""
        config = self._base.config.config
        return InitializeResult(
            protocol_version=PROTOCOL_VERSION,
            server=ServerInfo(name=SERVER_NAME, version=__version__),
            capabilities=Capabilities(methods=self._methods, notifications=list(NOTIFICATIONS)),
            memory=MemoryState(
                enabled=config.memory.enabled,
                tools_enabled=config.memory.tools_enabled,
                deterministic_recall_enabled=config.memory.deterministic_recall_enabled,
                active_recall_enabled=config.memory.active_recall_enabled,
                background_extraction_enabled=config.memory.background_extraction_enabled,
                review_enabled=config.memory.review_enabled,
            ),
            thread_episodic=EpisodicState(
                enabled=config.thread_episodic.enabled,
                indexing_enabled=config.thread_episodic.indexing_enabled,
                recall_enabled=config.thread_episodic.recall_enabled,
            ),
            search=self._embedding.get_search_state(),
            home_id=await self._home_id(),
            workspace_id=params.workspace_id or DEFAULT_WORKSPACE,
            limits=WireLimits(
                max_message_bytes=config.limits.max_message_bytes,
                max_in_flight=config.limits.max_in_flight,
                max_batch=MAX_BATCH,
            ),
            interrupted_turns=[],
        )

    async def _home_id(self) -> str:
        return await self._base.database.read(lambda tx: fact_of_home(tx, "home_id")) or ""

    async def ping(self, _params: Empty) -> Nothing:
        """Answer at once."""
        return Nothing()

    async def shutdown(self, _params: Empty) -> None:
        """Do nothing: requests in flight go on to their end, and the session then accepts only `exit`."""

    async def status(self, _params: Empty) -> StatusResult:
        """Return the state of the process: queues, search, providers, health, storage."""
        db = self._base.database

        def count(tx: Tx) -> tuple[dict[str, dict[str, int]], int]:
            queues: dict[str, dict[str, int]] = {}
            for kind, state, number in tx.all(SQL["count_all_jobs"]):
                queues.setdefault(kind, {})[state] = number
            owners = {owner for (owner,) in tx.all(SQL["list_owners"])}
            return queues, len(owners | {self._base.owners.owner})  # a read-only process has no row

        queues, processes = await db.read(count)
        db_bytes, wal_bytes = db.sizes()
        shown = ("queued", "leased", "retry_wait", "dead")
        return StatusResult(
            version=__version__,
            schema_version=SCHEMA_VERSION,
            uptime_ms=int((time.monotonic() - self._started) * 1000),
            home_id=await self._home_id(),
            processes=processes,
            queues={
                kind: QueueCounts(**{state: states.get(state, 0) for state in shown}) for kind, states in queues.items()
            },
            search=self._embedding.get_search_state(),
            providers=self._providers.states(),
            degraded=self._health.list_degraded(),
            last_errors=self._health.last_errors(),
            storage=StorageState(db_bytes=db_bytes, wal_bytes=wal_bytes),
            repair=await self._repair(),
            capture=await anyio.to_thread.run_sync(self._captures),
        )

    def _captures(self) -> list[CaptureState]:
        """Return the chat proxies of the home, as their run files describe them."""
        return [
            CaptureState(
                kind="proxy",
                pid=entry.pid,
                url=entry.url,
                status="live" if entry.capture == "live" else "dark",
                late=entry.late,
                spooled=entry.spooled,
                last_turn_at=entry.last_turn_at,
                usage=entry.usage,
            )
            for entry in living_doors(self._base.home.run, "proxy")
        ]

    async def _repair(self) -> RepairState | None:
        try:
            return await self._repair_state()
        except GatewayError:  # the store cannot be read, which the rest of the answer reports
            return None

    async def drain(self, params: DrainParams) -> DrainResult:
        """Do due work, then wait until no background work is runnable; return the counts."""
        seconds = params.timeout_ms / 1000
        began = time.monotonic()
        with anyio.move_on_after(seconds):
            await self._pulse.look_at_all()  # first of all: the rest reads pages that may be damaged
        while await self._sweep():
            pass  # a sweep does a bounded part; the rest is due as well
        await self._pulse.reclaim()
        await self._scheduler.look(waits_for_idle=False)
        rounds = 0
        while True:
            drained = await self._runner.drain(max(0.0, seconds - (time.monotonic() - began)))
            if not self._pulse.is_looking(at_files=rounds < MOST_FILE_ROUNDS):
                return drained
            if time.monotonic() - began >= seconds:
                return msgspec.structs.replace(drained, idle=False)
            with anyio.move_on_after(seconds - (time.monotonic() - began)):
                # a job met damage, or files changed; what is to be done is queued when this returns
                await self._pulse.look_at_all()
            rounds += 1

    async def provider_list(self, _params: Empty) -> ProviderListResult:
        """Return the configured providers, each with the problem that keeps it from being asked."""
        return ProviderListResult(providers=self._providers.states())

    async def provider_test(self, params: ProviderTestParams) -> ProviderTestResult:
        """Ask a provider for one word and return the outcome."""
        return await self._providers.test(params.name)

    async def settings_get(self, params: SettingsGetParams) -> SettingsResult:
        """Return the settings in force, and their origins if asked."""
        config = self._base.config
        return SettingsResult(settings=config.view(), origins=config.origins() if params.origins else None)

    async def settings_update(self, params: SettingsUpdateParams) -> SettingsResult:
        """Change settings in the file and in force; return them."""
        patch = cast("msgspec.Struct", getattr(params, "update"))  # noqa: B009  # a type made from the settings
        await anyio.to_thread.run_sync(self._base.config.update, patch)  # another process may hold the file for a while
        self._pulse.apply_settings()
        return SettingsResult(settings=self._base.config.view())
