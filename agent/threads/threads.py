"""Workspaces and threads: opening, listing, changing, reading what was said.

Rule 1: what other houses must do when something is stored or goes happens in the same transaction, by calls that wiring
hands in; nothing here knows what they do.
"""

from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from itertools import chain
from typing import TypeAlias

from msgspec import UNSET, Struct
from msgspec.structs import replace

from agent.guidance.agents import to_refusal
from agent.guidance.definitions import Judged, stricter
from agent.rows.items import HistoryPlace, items_of_turn, read_history_page, read_items, turn_items
from agent.rows.runs import list_runs
from agent.rows.statements import LAST
from agent.rows.threads import (
    StoredThread,
    WorkFolder,
    add_thread,
    add_workspace,
    change_thread,
    describe_workspace,
    get_workspace,
    list_threads,
    list_workspaces,
)
from agent.rows.turns import get_turn, thread_turns
from agent.threads.unstored import Unstored, refusal_of
from protocol import methods as m
from protocol.base import DEFAULT_WORKSPACE
from protocol.conversation.items import ItemsResult
from protocol.conversation.threads import (
    Thread,
    ThreadHistoryParams,
    ThreadListParams,
    ThreadListResult,
    ThreadParams,
    ThreadResult,
    ThreadStartParams,
    ThreadUpdateParams,
)
from protocol.conversation.turns import TurnItemsParams, TurnParams, TurnResult
from protocol.conversation.values import NotStored
from protocol.conversation.workspaces import (
    Workspace,
    WorkspaceCreateParams,
    WorkspaceListParams,
    WorkspaceListResult,
    WorkspaceParams,
    WorkspaceResult,
)
from protocol.cursors import cursor_of, cut_page, place_of
from protocol.errors import CallerError, Refused, Unavailable
from protocol.gateway import HooksRunsParams, HooksRunsResult
from protocol.guidance import InvalidAgent
from protocol.methods import Bound, bind
from protocol.seams.house_facts import OnDeleted, OnItems, OnItemsRemoved
from protocol.seams.ports import Clock, Ids, Transact, Tx

Define: TypeAlias = Callable[[ThreadStartParams], Awaitable[Judged | None]]
"""Returns the definition of the agent that shall act in a thread, or None."""


class Neighbours(Struct, frozen=True):
    """Functions of other houses that run in this house's transactions; wiring passes them in."""

    on_items: OnItems
    on_items_removed: OnItemsRemoved
    on_thread_deleted: Sequence[OnDeleted] = ()
    on_workspace_deleted: Sequence[OnDeleted] = ()


class Threads:
    """The wire methods of workspaces and threads."""

    def __init__(
        self,
        *,
        db: Transact,
        clock: Clock,
        ids: Ids,
        neighbours: Neighbours,
        unstored: Unstored,
        define: Define,
        on_altered: Callable[[], object] = lambda: None,
    ) -> None:
        self._db = db
        self._on_altered = on_altered
        self._define = define
        self._clock = clock
        self._ids = ids
        self._neighbours = neighbours
        self._unstored = unstored

    def bindings(self) -> list[Bound]:
        """Return the methods of the wire that are answered here."""
        return [
            bind(m.WORKSPACE_CREATE, self.workspace_create),
            bind(m.WORKSPACE_LIST, self.workspace_list),
            bind(m.WORKSPACE_GET, self.workspace_get),
            bind(m.THREAD_START, self.thread_start),
            bind(m.THREAD_GET, self.thread_get),
            bind(m.THREAD_LIST, self.thread_list),
            bind(m.THREAD_UPDATE, self.thread_update),
            bind(m.THREAD_HISTORY, self.thread_history),
            bind(m.TURN_GET, self.turn_get),
            bind(m.TURN_ITEMS, self.turn_items),
            bind(m.HOOKS_RUNS, self.hook_runs),
        ]

    # -- workspaces ------------------------------------------------------------------------------------------------

    async def workspace_create(self, params: WorkspaceCreateParams) -> WorkspaceResult:
        """Make a workspace; one that exists is returned, with the name and folder that it lacked."""
        workspace_id = params.workspace_id or self._ids.new("ws")
        now = self._clock.now()

        def create(tx: Tx) -> Workspace:
            found = get_workspace(tx, workspace_id)
            if found is None:
                add_workspace(tx, workspace_id, now, name=params.name, root_path=params.root_path)
                found = get_workspace(tx, workspace_id)
            if found is None:
                raise CallerError.missing("workspace")
            if found.state == "deleting":
                raise Refused("conflict", "The workspace of that id is being deleted.")
            asked = {"name": params.name, "root_path": params.root_path}
            new = {name: value for name, value in asked.items() if value is not None and value != getattr(found, name)}
            if any(getattr(found, name) is not None for name in new):
                raise Refused("conflict", "A workspace of that id exists with other values.")
            if not new:
                return found
            describe_workspace(tx, workspace_id, now, name=params.name, root_path=params.root_path)
            return get_workspace(tx, workspace_id) or found

        return WorkspaceResult(workspace=await self._db.write(create))

    async def ensure(self, workspace_id: str) -> None:
        """Make a workspace if it is not there.

        Where the store takes nothing, it is made with its first thread that is stored.
        """
        now = self._clock.now()
        if await self._db.read(lambda tx: get_workspace(tx, workspace_id)) is None:
            try:
                await self._db.write(lambda tx: add_workspace(tx, workspace_id, now))
            except Unavailable as failure:
                if refusal_of(failure) is None:
                    raise
                self._unstored.workspaces.add(workspace_id)

    async def workspace_list(self, params: WorkspaceListParams) -> WorkspaceListResult:
        """Return a page of workspaces, oldest first."""
        (after,) = place_of(params.cursor, (0,))
        found = await self._db.read(lambda tx: list_workspaces(tx, after, params.limit + 1))
        page, following = cut_page(found, params.limit, lambda one: (one[0],))
        return WorkspaceListResult(workspaces=[workspace for _, workspace in page], next_cursor=following)

    async def workspace_get(self, params: WorkspaceParams) -> WorkspaceResult:
        """Return one workspace."""
        found = await self._db.read(lambda tx: get_workspace(tx, params.workspace_id))
        if found is None:
            raise CallerError.missing("workspace")
        return WorkspaceResult(workspace=found)

    # -- threads ---------------------------------------------------------------------------------------------------

    async def thread_start(self, params: ThreadStartParams) -> ThreadResult:
        """Open a thread, or return the one of that id as it is.

        Where the store takes nothing, the thread lives as long as the process.
        """
        thread_id = params.thread_id or self._ids.new("thr")
        definition = await self._define(params)

        def start(tx: Tx) -> Thread:
            planned = self._plan_thread(tx, params, thread_id, definition)
            if isinstance(planned, Thread):
                return planned
            if params.parent_thread_id is not None:
                self._unstored.store_thread(tx, params.parent_thread_id)
            if planned.thread.workspace_id == DEFAULT_WORKSPACE:
                add_workspace(tx, DEFAULT_WORKSPACE, planned.thread.created_at)
            add_thread(tx, planned)
            return planned.thread

        def start_unstored(tx: Tx, why: NotStored) -> Thread:
            planned = self._plan_thread(tx, params, thread_id, definition)
            if isinstance(planned, Thread):
                return planned
            return self._unstored.keep_thread(planned._replace(thread=replace(planned.thread, not_stored=why)))

        try:
            return ThreadResult(thread=await self._db.write(start))
        except Unavailable as failure:
            if (why := refusal_of(failure)) is None:
                raise
        return ThreadResult(thread=await self._db.read(partial(start_unstored, why=why)))

    def _plan_thread(
        self, tx: Tx, params: ThreadStartParams, thread_id: str, definition: Judged | None
    ) -> Thread | StoredThread:
        """Return the thread of that id, or a new one as it is to be stored. Raises `CallerError` and `Refused`."""
        found = self._unstored.find_thread(tx, thread_id)
        if found is not None:
            return _require_same_place(found.thread, params)
        parent = self._unstored.find_thread(tx, params.parent_thread_id) if params.parent_thread_id else None
        if params.parent_thread_id and parent is None:
            raise CallerError.missing("parent thread")
        inherited = parent.thread.workspace_id if parent else None
        workspace_id = params.workspace_id or inherited or params.default_workspace_id or DEFAULT_WORKSPACE
        if workspace_id != DEFAULT_WORKSPACE and not self._unstored.has_workspace(tx, workspace_id):
            raise CallerError.missing("workspace")
        if inherited not in {None, workspace_id}:
            raise Refused("conflict", "The parent thread is in another workspace.")
        if isinstance(definition, InvalidAgent):
            raise to_refusal(definition)
        now = self._clock.now()
        asked_mode = definition.about.memory_mode if definition is not None else "normal"
        thread = Thread(
            thread_id=thread_id,
            workspace_id=workspace_id,
            agent_id=params.agent_id,
            parent_thread_id=params.parent_thread_id,
            name=params.name,
            mode=params.mode,
            origin=params.origin,
            memory_mode=stricter(params.memory_mode, asked_mode),
            task_id=params.task_id,
            archived=False,
            turn_count=0,
            created_at=now,
            updated_at=now,
            agent=definition.ref if definition is not None else None,
        )
        folder = _choose_folder(params, parent)
        return StoredThread(thread, params.instructions, params.model, params.provider, 0, folder)

    async def thread_get(self, params: ThreadParams) -> ThreadResult:
        """Return one thread."""
        return ThreadResult(thread=await self._db.read(lambda tx: self._require_thread(tx, params.thread_id)))

    async def thread_list(self, params: ThreadListParams) -> ThreadListResult:
        """Return a page of threads, newest first."""
        (before,) = place_of(params.cursor, (LAST,))
        found = await self._db.read(
            lambda tx: list_threads(
                tx, before, params.limit + 1, workspace_id=params.workspace_id, archived=params.archived
            )
        )
        page, following = cut_page(found, params.limit, lambda one: (one.row,))
        return ThreadListResult(threads=[entry.thread for entry in page], next_cursor=following)

    async def thread_update(self, params: ThreadUpdateParams) -> ThreadResult:
        """Change a thread; what is said in an ignored thread leaves the index at once."""
        now = self._clock.now()

        def update(tx: Tx) -> Thread:
            self._unstored.store_thread(tx, params.thread_id)
            before = self._require_thread(tx, params.thread_id)
            memory_mode = before.memory_mode if params.memory_mode is UNSET else params.memory_mode
            change_thread(
                tx,
                params.thread_id,
                now,
                name=before.name if params.name is UNSET else params.name,
                memory_mode=memory_mode,
                archived=before.archived if params.archived is UNSET else params.archived,
            )
            if (before.memory_mode == "ignored") != (memory_mode == "ignored"):
                self._reindex(tx, params.thread_id, leaves=memory_mode == "ignored")
            return self._require_thread(tx, params.thread_id)

        return ThreadResult(thread=await self._db.write(update))

    def _reindex(self, tx: Tx, thread_id: str, *, leaves: bool) -> None:
        items = list(chain.from_iterable(turn_items(tx, thread_turns(tx, thread_id)).values()))
        if leaves:
            self._neighbours.on_items_removed(tx, items)
        else:
            self._neighbours.on_items(tx, [fact for fact in read_items(tx, items).values() if fact.indexable])

    def _require_thread(self, tx: Tx, thread_id: str) -> Thread:
        """Return a thread, stored or not. Raises `CallerError` where there is none."""
        found = self._unstored.find_thread(tx, thread_id)
        if found is None:
            raise CallerError.missing("thread")
        return found.thread

    # -- reading ---------------------------------------------------------------------------------------------------

    async def thread_history(self, params: ThreadHistoryParams) -> ItemsResult:
        """Return a page of a thread's items, word for word, in either direction."""
        start = (-1, -1, -1) if params.order == "asc" else (LAST, LAST, LAST)
        place = HistoryPlace(*place_of(params.cursor, start))

        def read(tx: Tx) -> ItemsResult:
            self._require_thread(tx, params.thread_id)
            found = read_history_page(
                tx, params.thread_id, place, params.limit + 1, kinds=params.kinds, order=params.order
            )
            page, following = cut_page(found, params.limit, lambda one: one[0])
            return ItemsResult(items=[item for _, item in page], next_cursor=following)

        return self._report_altered(await self._db.read(read))

    def _report_altered(self, told: ItemsResult) -> ItemsResult:
        """Return items, and report those that were altered in the file."""
        if any(item.altered for item in told.items):
            self._on_altered()
        return told

    async def turn_get(self, params: TurnParams) -> TurnResult:
        """Return a turn with its manifest."""
        found = await self._db.read(lambda tx: get_turn(tx, params.turn_id))
        unstored = self._unstored.find_turn(params.turn_id)
        if found is not None:
            return TurnResult(turn=found.turn)
        if unstored is None:
            raise CallerError.missing("turn")
        return TurnResult(turn=unstored[1])

    async def turn_items(self, params: TurnItemsParams) -> ItemsResult:
        """Return a turn's items in order."""
        (skip,) = place_of(params.cursor, (0,))

        def read(tx: Tx) -> ItemsResult:
            if get_turn(tx, params.turn_id) is None and self._unstored.find_turn(params.turn_id) is None:
                raise CallerError.missing("turn")
            items = items_of_turn(tx, params.turn_id)
            page = items[skip : skip + params.limit]
            following = cursor_of(skip + len(page)) if skip + len(page) < len(items) else None
            return ItemsResult(items=page, next_cursor=following)

        return self._report_altered(await self._db.read(read))

    async def hook_runs(self, params: HooksRunsParams) -> HooksRunsResult:
        """Return a page of hook runs, newest first."""
        (before,) = place_of(params.cursor, (LAST,))
        found = await self._db.read(lambda tx: list_runs(tx, params, before, params.limit + 1))
        page, following = cut_page(found, params.limit, lambda one: (one[0],))
        return HooksRunsResult(runs=[run for _, run in page], next_cursor=following)


def _choose_folder(params: ThreadStartParams, parent: StoredThread | None) -> WorkFolder:
    """Return the folder that a new thread works in; a helper that names none works in its parent's, by its rules."""
    own = WorkFolder(params.cwd, params.instruction_files, params.instruction_profile)
    if parent is None or own.cwd is not None:
        return own
    cwd, files, profile = parent.folder
    return WorkFolder(cwd, own.files or files, profile if own.profile == "default" else own.profile)


def _require_same_place(thread: Thread, params: ThreadStartParams) -> Thread:
    """Return an existing thread. Raises `Refused` where the caller means another workspace or parent."""
    other_workspace = params.workspace_id not in {None, thread.workspace_id}
    other_parent = params.parent_thread_id not in {None, thread.parent_thread_id}
    if other_workspace or other_parent:
        raise Refused("conflict", "A thread of that id exists in another workspace or under another parent.")
    return thread
