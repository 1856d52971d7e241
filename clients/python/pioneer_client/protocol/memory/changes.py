"""The history of a record, and the changes of a time with the way back of each."""

from typing import Any, Literal, TypeAlias

from msgspec import field

from pioneer_client.protocol.base import Cursor, DoorName, Id, Limit, Millis, Params, Scope, Wire
from pioneer_client.protocol.memory.values import Candidate, Context, EventName
from pioneer_client.protocol.record import Actor, Category, Record, Status


class HistoryParams(Params):
    """`memory/history`."""

    memory_id: Id
    context: Context = field(default_factory=Context)


class Event(Wire):
    """One thing that happened to a record."""

    at: int
    event: EventName
    actor: Actor
    reason_code: str | None
    from_status: Status | None
    to_status: Status | None
    memory_id: str


class HistoryResult(Wire):
    """The whole supersession chain's events, oldest first."""

    events: list[Event]


ChangeEvent: TypeAlias = Literal[
    "learned", "replaced", "forgotten", "restored", "archived", "expired", "changed", "erased", "proposed"
]
"""A change of durable memory as a person sees it.

`replaced`: the record stands in the place of another one, which `record.supersedes` names. Where `record` is the one
that is replaced itself, it was merged into the other one. `changed`: in place, as an importance or a tag.
"""


class MemoryChangesParams(Params):
    """`memory/changes`: from `since_at` on, and before `until_at`."""

    since_at: Millis
    until_at: Millis | None = None
    scopes: list[Scope] | None = None
    include_sensitive: bool = False
    context: Context = field(default_factory=Context)
    limit: Limit = 20
    cursor: Cursor | None = None


class ChangeOrigin(Wire):
    """The origin of a change: the door and the client that asked for it, the conversation, and the reason's code.

    `client` is the name by which a program introduced itself. Members that nothing is known of are null.
    """

    door: DoorName | None
    client: str | None
    thread_id: str | None
    turn_id: str | None
    reason_code: str | None


class UndoCall(Wire):
    """The call that takes a change back; the context is the caller's."""

    method: str
    params: dict[str, Any]


class MemoryChange(Wire):
    """One change, with the record or the candidate as it is now.

    `record` is null where its words may not be shown: `withheld` says why, as `deleted`, `regulated` or `erased`.
    `undo` is null where there is nothing that could be taken back any more.
    """

    at: int
    event: ChangeEvent
    memory_id: str | None
    candidate_id: str | None
    scope: Scope
    category: Category | None
    record: Record | None
    candidate: Candidate | None
    withheld: str | None
    origin: ChangeOrigin
    undo: UndoCall | None


class MemoryChangesResult(Wire):
    """Changes, newest first."""

    changes: list[MemoryChange]
    next_cursor: str | None
