"""A home, opened for one command: the same objects as behind JSON-RPC, called by the same method table.

Rule 1: a command is a process of its own in the home, also beside a running gateway. It does only the background work
that its answer waits for; jobs that its writes queue are done by a running gateway, or by the next one.
Rule 2: parameters are checked like those of any client.
Rule 3: with `meaning` "off" no model is loaded: only words are searched, and a new memory waits for its vector.
Rule 4: a question uses the vectors that the home has; only a write or a filling makes a space, or changes the current
one.
"""

import argparse
import asyncio
import sys
import time
from collections.abc import AsyncGenerator, Awaitable, Callable, Collection, Generator, Sequence
from contextlib import asynccontextmanager, contextmanager, suppress
from functools import cached_property
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, TypeVar

import anyio
from anyio.abc import TaskGroup

from gateway.base import logs
from gateway.base.exit_codes import CONFIG, NO_INPUT
from gateway.base.hub import Hub
from gateway.doors.terminal.exits import Stop
from gateway.doors.terminal.screen import format_count, plain
from gateway.foundations import Foundations, open_home
from gateway.home.config import ConfigError, ConfigStore
from gateway.home.folder import default_root, is_foreign
from gateway.home.owners import living_owners
from gateway.home.starting import Options
from gateway.memory_core import MemoryCore, build_core
from gateway.wire.client_session import SessionClient
from gateway.wire.rpc import params_of
from memory.questions import build_questions
from protocol.base import PROTOCOL_VERSION, Elsewhere
from protocol.errors import CallerError, GatewayError, Unavailable
from protocol.gateway import InitializeParams
from protocol.methods import INITIALIZE, Method
from protocol.seams.callers import enter
from protocol.seams.ports import JobKind, PauseQueue, Tx

if TYPE_CHECKING:
    from gateway.wiring import App
    from protocol.conversation.workspaces import Workspace
    from protocol.passes import Run
    from protocol.settings import KnowledgeSettings

T = TypeVar("T")

Meaning: TypeAlias = Literal["off", "ask", "later", "write", "fill"]
"""The use of an embedding model in a command.

`off`: none. `ask`: for the vector of the question. `later`: none, and vectors of written texts are left to another
process. `write`: written texts get their vectors. `fill`: every present model makes the missing vectors of its space.
"""

NAME = "cli"
FINDABLE: tuple[JobKind, ...] = ("index", "embed")
"""The jobs that make messages findable: by words and, where a model is loaded, by meaning."""
LEAVE_SECONDS = 2.0
"""The longest time in which a command takes itself off the list of the home's processes."""
PASS_MS = 3_600_000
"""The longest time for which a command waits for a pass."""
MADE_AT_ONCE = 5000
"""The most vectors that a search makes before it searches; with the static model that takes seconds."""
STEP_SECONDS = 0.5
"""The time between two looks at how far a comparison of folders is."""
BYTES_LEFT = "some bytes are left in the database file while others use it; the next gateway finishes the work"
CATCH_UP_SECONDS = 10.0
"""The longest time for which messages are indexed before an answer; it is enough for some thousand."""


class HomeMethods:
    """The methods of an open home."""

    def __init__(self, core: MemoryCore, client: SessionClient, workspace_name: str | None = None) -> None:
        self._core = core
        self._client = client
        self.embedding = core.embedding
        self.lexicon = core.lexicon
        self._questions = {bound.method.name: bound for bound in build_questions(core.means).bindings()}
        self._workspace_name = workspace_name
        self._has_caught_up = False

    @cached_property
    def app(self) -> "App":
        """Return the whole gateway, which is built at first need: a question to memory does without its import."""
        from gateway.wiring import build  # noqa: PLC0415

        return build(self._core)

    async def call(self, method: Method[Any, T], params: dict[str, Any] | None = None) -> T:
        """Call a method as a client does. Raises `GatewayError`."""
        enter("command_line")
        bound = self._questions.get(method.name) or self.app.bound[method.name]
        return await bound.call(self._client.fill(params_of(method.params, params or {})))

    async def count_facts_without_vector(self) -> int:
        """Return the number of facts without a vector in the current space; 0 where search by meaning is off."""
        from memory.rows.vectors import coverage  # noqa: PLC0415

        def count(tx: Tx) -> int:
            searched = self.embedding.get_searched_space()
            return coverage(tx, searched.id if searched is not None else 0).lacking

        return await self._core.base.database.read(count) if self.embedding.state() != "off" else 0

    async def count_pieces_without_vector(self) -> int:
        """Return the number of chunks of conversations that wait for a vector; 0 without a model in this process."""
        from thread_episodic.rows.vectors import count_waiting  # noqa: PLC0415

        return (
            await self._core.base.database.read(count_waiting) if self.embedding.get_searched_space() is not None else 0
        )

    async def catch_up(self) -> None:
        """Index waiting messages for at most `CATCH_UP_SECONDS`; a second call does nothing.

        Jobs of other kinds are not done, so that a question calls no provider and remembers nothing.
        """
        if self._has_caught_up or self._core.base.home.is_read_only:
            return
        self._has_caught_up = True
        makes = self.embedding.get_searched_space() is not None
        await self._work(FINDABLE if makes else FINDABLE[:1], CATCH_UP_SECONDS)

    async def compare_files(self, seconds: float, tell: Callable[[], Awaitable[None]] | None = None) -> bool:
        """Compare collections with their folders for at most so many seconds; return whether work is left.

        `tell` is called after each `STEP_SECONDS`, to show how far it is. With a loaded model, pieces of files get
        their vectors, too, unless there are more than `MADE_AT_ONCE`.
        """
        from knowledge.rows.vectors import count_waiting  # noqa: PLC0415

        if self._core.base.home.is_read_only:
            return False
        await self.app.knowledge.look()
        makes = self.embedding.get_searched_space() is not None
        makes = makes and await self._core.base.database.read(count_waiting) <= MADE_AT_ONCE
        return not await self._work(("scan", "read", "embed") if makes else ("scan", "read"), seconds, tell)

    async def _work(
        self, kinds: Collection[JobKind], seconds: float, tell: Callable[[], Awaitable[None]] | None = None
    ) -> bool:
        """Do jobs of these kinds for at most so many seconds; return whether none is left that is due."""
        self.app.runner.keep_to(kinds)
        is_idle, ends = False, time.monotonic() + seconds
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(self.app.runner.run)
            while not is_idle and (left := ends - time.monotonic()) > 0:
                is_idle = (await self.app.runner.drain(left if tell is None else min(left, STEP_SECONDS))).idle
                if tell is not None:
                    await tell()
            tasks.cancel_scope.cancel()
        return is_idle

    @property
    def is_alone(self) -> bool:
        """Return whether no other process lives in the home, so that nobody goes on with what this one leaves."""
        base = self._core.base
        return set(living_owners(base.home.root / "run")) <= {base.owners.owner}

    @property
    def knowledge_settings(self) -> "KnowledgeSettings":
        """Return the settings of searched files."""
        return self._core.base.config.config.knowledge

    async def run_pass(self, params: dict[str, Any]) -> "Run":
        """Run a pass in this process, or wait for the one that another process runs. Raises `GatewayError`."""
        from protocol.methods import PASSES_RUN  # noqa: PLC0415

        self.app.runner.keep_to(("pass",))
        outcome: Run | GatewayError = Unavailable()
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(self.app.runner.run)
            try:
                outcome = (await self.call(PASSES_RUN, {**params, "timeout_ms": PASS_MS})).run
            except GatewayError as error:  # the task group would wrap it
                outcome = error
            tasks.cancel_scope.cancel()
        if isinstance(outcome, GatewayError):
            raise outcome
        return outcome

    async def ensure_workspace(self, workspace_id: str) -> None:
        """Create a workspace unless it exists, with the name of the folder's repository. Raises `GatewayError`."""
        from gateway.home.repository import workspace_of  # noqa: PLC0415
        from protocol.methods import WORKSPACE_CREATE, WORKSPACE_GET  # noqa: PLC0415

        try:
            await self.call(WORKSPACE_GET, {"workspace_id": workspace_id})
        except GatewayError as error:
            if error.reason != "not_found":
                raise
            here = workspace_of()
            name = self._workspace_name or (here.title if here.workspace_id == workspace_id else None)
            await self.call(WORKSPACE_CREATE, {"workspace_id": workspace_id, "name": name or None})

    def enter(self, workspace_id: str) -> None:
        """Make another workspace that of the calls that follow."""
        self._client.enter(workspace_id)

    def hint_at_project(self, workspace: "Workspace") -> None:
        """Write on stderr that what is named belongs to another workspace, and which."""
        named = f" ({plain(workspace.name)})" if workspace.name else ""
        sys.stderr.write(f"pioneer: of another project{named}: --workspace {workspace.workspace_id}\n")

    async def hint_at(self, elsewhere: Sequence[Elsewhere], one: str = "hit", several: str = "hits") -> None:
        """Write on stderr which other workspaces have hits, and how many; `one` and `several` name a hit."""
        from protocol.methods import WORKSPACE_GET  # noqa: PLC0415

        for other in elsewhere:
            with suppress(CallerError):  # it was deleted this moment
                workspace = (await self.call(WORKSPACE_GET, {"workspace_id": other.workspace_id})).workspace
                named = f" ({plain(workspace.name)})" if workspace.name else ""
                found = format_count(other.count, one, several)
                sys.stderr.write(f"pioneer: {found} in another project{named}: --workspace {other.workspace_id}\n")


def home_of(given: argparse.Namespace) -> Path:
    """Return the home that the options name, else the default."""
    return given.home or default_root()


def has_home(given: argparse.Namespace) -> bool:
    """Return whether the home that the options name exists."""
    return (home_of(given) / "gateway.db").exists()


def describe_no_home(given: argparse.Namespace) -> str:
    """Return the sentence for a folder without a home: the command that makes one there, or why none can be made."""
    home = plain(str(home_of(given)))
    if is_foreign(home_of(given)):
        return f"{home} holds other things and is no home: name an empty or a new folder by --home or PIONEER_HOME"
    makers = "`pioneer remember`, `pioneer import` or `pioneer knowledge add`"
    return f"there is no home yet in {home}: {makers} makes one, --home names another"


@contextmanager
def trying_home(given: argparse.Namespace) -> Generator[None]:
    """Give a `--dry-run` without a home a temporary one with the same configuration, so that it makes none."""
    if not given.dry_run or has_home(given):
        yield
        return
    home, config = home_of(given).absolute(), config_of(given)
    # Beside the real home, because the same roots of collections are then refused.
    above = next(folder for folder in home.parents if folder.is_dir())
    with TemporaryDirectory(prefix=".pioneer-dry-run-", dir=above, ignore_cleanup_errors=True) as folder:
        given.home, given.config = Path(folder), config if config.exists() else None
        try:
            yield
        finally:
            logs.close()  # some platforms cannot remove an open file


def require_home(given: argparse.Namespace) -> None:
    """Raise `Stop` where there is no home, as a question must not make one."""
    if not has_home(given):
        if hasattr(given, "config"):
            read_configuration(given)  # its error comes first, as it does where there is a home
        raise Stop(NO_INPUT, describe_no_home(given))


def config_of(given: argparse.Namespace) -> Path:
    """Return the path of the configuration. Raises `Stop` where a named one does not exist."""
    if given.config is not None and not given.config.exists():
        raise Stop(CONFIG, f"there is no configuration file {given.config}")
    return given.config or home_of(given) / "config.toml"


def read_configuration(given: argparse.Namespace) -> ConfigStore:
    """Return the configuration, without opening the home. Raises `Stop` for a wrong value or an unknown key."""
    try:
        store = ConfigStore(config_of(given))
        store.require_known()
    except ConfigError as error:
        raise Stop(CONFIG, f"configuration: {error}") from None
    return store


@asynccontextmanager
async def open_given_home(
    given: argparse.Namespace, meaning: Meaning, *, makes_home: bool
) -> AsyncGenerator[HomeMethods]:
    """Open the home that the options name. Raises `Stop` and `UnusableError`."""
    if not makes_home:
        require_home(given)
    config_of(given)
    options = Options(
        home=home_of(given), config=given.config, log_level="warning", uses_stderr=False, refuses_unknown_keys=True
    )
    base = await open_home(options)
    try:
        client = SessionClient()
        hello = {
            "protocol_version": PROTOCOL_VERSION,
            "client": {"name": NAME, "version": "1"},
            "workspace_id": getattr(given, "workspace", None),
        }
        introduced: InitializeParams = params_of(INITIALIZE.params, hello)
        client.introduce(introduced)
        core = build_core(base, Hub())
        door = HomeMethods(core, client, getattr(given, "workspace_name", None))
        try:
            async with core.spawner.open() as tasks:
                await _take_in_models(base, door, meaning, tasks)
                yield door
                if meaning == "write":
                    await _make_vectors(door)
                tasks.cancel_scope.cancel()
        finally:
            core.embedding.close()
    finally:
        await _leave(base)


async def _take_in_models(base: Foundations, door: HomeMethods, meaning: Meaning, tasks: TaskGroup) -> None:
    """Load the models that a command needs."""
    if meaning == "off":
        return
    # a write or a filling makes vectors for every house, so it needs the whole gateway
    embedding = door.embedding if meaning == "ask" else door.app.embedding
    embedding.apply()
    if meaning in {"ask", "write"} and await embedding.attach():
        return  # the home has a current space, and its model is here
    if meaning in {"write", "fill"} and not base.home.is_read_only:
        tasks.start_soon(embedding.run)
        await (embedding.load_all() if meaning == "fill" else embedding.wake())


async def _make_vectors(door: HomeMethods) -> None:
    """Make the vectors of waiting facts; those that cannot be made in time stay queued for a gateway."""
    if door.embedding.get_searched_space() is not None:
        with anyio.move_on_after(CATCH_UP_SECONDS), suppress(GatewayError, PauseQueue):
            await door.app.memory.vectors.fill()


async def _leave(base: Foundations) -> None:
    with anyio.CancelScope(shield=True), anyio.move_on_after(LEAVE_SECONDS), suppress(GatewayError):
        await base.owners.leave(base.database)
    base.database.close()


def through_door(
    given: argparse.Namespace,
    work: Callable[[HomeMethods], Awaitable[T]],
    meaning: Meaning = "off",
    *,
    makes_home: bool = False,
) -> T:
    """Open the home, return the result of `work`, and close the home. Raises `Stop`, `UnusableError`, `GatewayError`.

    `makes_home` creates the home where there is none.
    """

    async def run() -> T:
        async with open_given_home(given, meaning, makes_home=makes_home) as door:
            return await work(door)

    return asyncio.run(run())
