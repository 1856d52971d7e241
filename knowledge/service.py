"""The interface of this house to the shell: the wire's methods, the hooks, the jobs, the deletion of a workspace.

Rule 1: methods take the protocol's Params and return its Results.
Rule 2: while the house is switched off, search and reading are refused, as is what starts a scan; lists and removals
are answered.
Rule 3: the answers come from `knowledge.house`, whose modules are imported when it is first asked: a home without
collections never needs them.
"""

import math
from collections.abc import Awaitable, Callable, Mapping, Sequence
from threading import Lock
from typing import TYPE_CHECKING

import anyio.to_thread

from knowledge.notices import ChangeNotices
from knowledge.ports import KnowledgeMeans
from knowledge.presence import Presence
from knowledge.rows.collections import find_collection
from knowledge.turns.planning import propose_files
from knowledge.turns.recall import list_recall_hooks
from knowledge.turns.tools import KnowledgeTools
from protocol import methods as m
from protocol.base import USER_SCOPE_KEY, Scope
from protocol.errors import Unavailable
from protocol.hooks import FilesPlan, Subscription, TurnContext
from protocol.methods import Bound, Method
from protocol.seams.ports import JobHandle, Tx

if TYPE_CHECKING:
    from knowledge.house import KnowledgeHouse


class KnowledgeService:
    """Searchable files."""

    def __init__(self, means: KnowledgeMeans) -> None:
        self._means = means
        self._house: KnowledgeHouse | None = None
        self._building = Lock()
        self._has_looked = False
        self._has_changed = False
        """Set by a change of the home or its settings, until the next look."""
        self._next_look = -math.inf
        self.presence = Presence(means.db)
        self.notices = ChangeNotices(means.db, means.notify, means.spawn)
        self.tools = KnowledgeTools(lambda: self.house.searcher, lambda: self.house.places, means.settings)

    @property
    def house(self) -> "KnowledgeHouse":
        """Return the parts that answer, built once by the thread that needs them first."""
        with self._building:
            if self._house is None:
                from knowledge.house import KnowledgeHouse  # noqa: PLC0415  # 7 % of a start

                self._house = KnowledgeHouse(self._means, self.notices)
            return self._house

    async def _find_house(self) -> "KnowledgeHouse":
        """Return the parts that answer. A thread imports them, as that takes long: the event loop is not blocked."""
        return self._house or await anyio.to_thread.run_sync(lambda: self.house)

    def bindings(self) -> list[Bound]:
        """Return the methods of the wire that this house answers."""
        return [
            self._bind(m.COLLECTIONS_ADD, lambda house: house.collections.add, needs_on=True, changes_presence=True),
            self._bind(m.COLLECTIONS_LIST, lambda house: house.collections.list),
            self._bind(m.COLLECTIONS_GET, lambda house: house.collections.get),
            self._bind(
                m.COLLECTIONS_UPDATE, lambda house: house.collections.update, needs_on=True, changes_presence=True
            ),
            self._bind(m.COLLECTIONS_REMOVE, lambda house: house.collections.remove, changes_presence=True),
            self._bind(m.COLLECTIONS_SCAN, lambda house: house.collections.scan, needs_on=True),
            self._bind(m.KNOWLEDGE_ENTITIES, lambda house: house.graph.entities),
            self._bind(m.KNOWLEDGE_EDGES, lambda house: house.graph.edges),
            self._bind(m.KNOWLEDGE_FILES, lambda house: house.inquiries.files),
            self._bind(m.KNOWLEDGE_STATUS, lambda house: house.inquiries.status),
            self._bind(m.KNOWLEDGE_RETRY, lambda house: house.inquiries.retry, needs_on=True),
            self._bind(m.KNOWLEDGE_EXPLAIN, lambda house: house.inquiries.explain, needs_on=True),
            self._bind(m.KNOWLEDGE_CHANGES, lambda house: house.inquiries.changes),
            self._bind(m.KNOWLEDGE_VERSIONS, lambda house: house.inquiries.versions),
            self._bind(m.KNOWLEDGE_SEARCH, lambda house: house.searcher.search, needs_on=True),
            self._bind(m.KNOWLEDGE_READ, lambda house: house.places.read, needs_on=True),
        ]

    def _bind(
        self,
        method: Method[m.P, m.R],
        find: "Callable[[KnowledgeHouse], Callable[[m.P], Awaitable[m.R]]]",
        *,
        needs_on: bool = False,
        changes_presence: bool = False,
    ) -> Bound:
        """Bind a method to the function of the house that `find` returns.

        With `needs_on` it is refused while the house is switched off (`knowledge_disabled`); with `changes_presence`
        the facts of `Presence` are read again after it.
        """

        async def call(params: m.P) -> m.R:
            if needs_on and not self._means.settings().enabled:
                raise Unavailable("knowledge_disabled")
            result = await find(await self._find_house())(params)
            if changes_presence:
                await self.presence.refresh()
            return result

        return m.bind(method, call)

    def hooks(self) -> list[Subscription]:
        """Return this house's hooks of a turn; without collections they are not enabled."""

        def offers_tools() -> bool:
            settings = self._means.settings()
            return settings.enabled and settings.tools_enabled and self.presence.has_any

        bundle = Subscription(
            hook_id="knowledge.tool_bundle",
            phase="TurnPreToolMaterialization",
            call=self.tools.offer,
            enabled=offers_tools,
        )
        recalls = list_recall_hooks(
            lambda: self.house.searcher, self._means.settings, lambda: self.presence.has_recalled
        )
        return [*recalls, bundle]

    def plan(self, text: str, context: TurnContext) -> tuple[FilesPlan, list[str]]:
        """Return the files part of a turn's local plan; none for a home without collections."""
        is_on = self._means.settings().enabled and self.presence.has_any
        return propose_files(text, context) if is_on else (FilesPlan(), [])

    # -- the process ---------------------------------------------------------------------------------------------

    async def begin(self) -> None:
        """Read what is kept in memory of the home; only later changes of files are news to a client."""
        await self.presence.refresh()
        await self.notices.begin()

    async def look(self) -> None:
        """Begin and end watches, and queue due scans and the reading of files that wait.

        The first call queues a scan of every collection and begins no watch.
        """
        is_first, self._has_looked = not self._has_looked, True
        self._has_changed, self._next_look = False, -math.inf  # a look that fails is taken again
        await self.presence.refresh()
        following = math.inf
        if self.presence.has_any or self._house is not None:
            house = await self._find_house()
            following = await house.look(is_first=is_first)
        self._next_look = following

    async def note_change(self) -> None:
        """Note that the home or its settings changed: what is kept in memory is read again, and a look is due."""
        self._has_changed = True
        await self.presence.refresh()

    def needs_look(self, now: int) -> bool:
        """Return whether there is a reason to look: a change, a watch that began or ended, or a time that came."""
        is_due = self._has_changed or now >= self._next_look
        return is_due or (self._house is not None and self._house.watchers.needs_look)

    async def settle(self) -> None:
        """Return when the jobs for every reported change of a file are queued, and no removal is left undone."""
        if self._house is not None:
            await self._house.collections.remove_left()
            await self._house.watchers.settle()
            await self._house.hurry_resting()

    @property
    def has_unseen(self) -> bool:
        """Return whether a reported change of a file has led to no job yet."""
        return self._house is not None and self._house.watchers.has_unseen

    async def queue_all(self) -> int:
        """Have every file of every collection read again; return the number of collections."""
        return await (await self._find_house()).queue_all()

    async def scan(self, handle: JobHandle) -> None:
        """Handle a `scan` job."""
        await (await self._find_house()).scanner.scan(handle)

    async def read_files(self, handle: JobHandle) -> None:
        """Handle a `read` job."""
        await (await self._find_house()).reader.read(handle)

    async def fill_vectors(self, handle: JobHandle | None = None) -> None:
        """Make the missing vectors of pieces of files. This handles `embed` jobs."""
        house = await self._find_house()
        await house.vectors.fill(handle)

    def marks(self, tx: Tx, addresses: Sequence[str]) -> dict[str, bytes]:
        """Return by address the SHA-256 that its file had when it was indexed; other addresses are left out."""
        return self.house.marks(tx, addresses) if addresses else {}

    async def scope_of(self, collection_id: str) -> Scope | None:
        """Return whose a collection is: its workspace's, or the user's; None where there is no such collection."""
        known = await self._means.db.read(lambda tx: find_collection(tx, collection_id))
        if known is None:
            return None
        if not known.workspace_id:
            return Scope(kind="user", key=USER_SCOPE_KEY)
        return Scope(kind="workspace", key=known.workspace_id)

    def on_workspace_deleted(self, tx: Tx, workspace_id: str) -> Mapping[str, int]:
        """Remove a workspace's collections in the transaction that deletes it; return the counts of removed rows."""
        return self.house.collections.on_workspace_deleted(tx, workspace_id)
