"""The notifications of the gateway, one declaration each."""

import msgspec
from msgspec import Struct, field

from pioneer_client.protocol.base import Scope, Wire
from pioneer_client.protocol.conversation.items import Item
from pioneer_client.protocol.conversation.manifests import ManifestRun
from pioneer_client.protocol.conversation.turns import Turn, TurnError
from pioneer_client.protocol.guidance import InstructionChange
from pioneer_client.protocol.memory.values import Candidate, ChangeKind, Origin
from pioneer_client.protocol.passes import PassName, Run, Trigger
from pioneer_client.protocol.record import Record


class TurnEvent(Wire):
    """The members of every notification of a turn: `seq` counts them from 1 without a gap."""

    thread_id: str
    turn_id: str
    seq: int


class TurnNotice(TurnEvent):
    """`turn/started`, `turn/completed`, `turn/cancelled`."""

    turn: Turn


class TurnFailedNotice(TurnNotice):
    """`turn/failed`."""

    error: TurnError


class ItemNotice(TurnEvent):
    """`item/started` and `item/completed`."""

    item_id: str
    item: Item


class DeltaNotice(TurnEvent):
    """`item/agent_message/delta`."""

    item_id: str
    delta: str


class ResetNotice(TurnEvent):
    """`item/agent_message/reset`: the deltas so far do not count."""

    item_id: str


class PostCompletedNotice(TurnEvent):
    """`turn/post_completed`: every TurnPostTurn run has ended for good, or waits until the store takes something again.

    What waits is shown as it is (`queued`, `running`); it goes on later without another notification.
    """

    hook_runs: list[ManifestRun]


class MemoryChanged(Wire):
    """`memory/changed`."""

    memory_id: str
    scope: Scope
    change_kind: ChangeKind
    record: Record | None
    origin: Origin


class CandidateCreated(Wire):
    """`memory/candidate_created`."""

    candidate: Candidate


class MemoryForgotten(Wire):
    """`memory/forgotten`."""

    memory_ids: list[str]
    reason: str | None


class MemoryErased(Wire):
    """`memory/erased`: a pending erase is complete."""

    memory_ids: list[str]


class MemoryInvalidated(Wire):
    """`memory/invalidated`: another process of the home, or an import, changed these scopes; read records again."""

    scopes: list[Scope]


class ThreadIndexed(Wire):
    """`thread_episodic/indexed`."""

    thread_id: str
    turn_id: str
    chunk_count: int


class KnowledgeChanged(Wire):
    """`knowledge/changed`."""

    collection_id: str
    added: int
    changed: int
    moved: int
    removed: int
    failed: int


class KnowledgeIndexed(Wire):
    """`knowledge/indexed`: nothing of the collection is pending."""

    collection_id: str


class InstructionsChanged(Wire):
    """`instructions/changed`."""

    workspace_id: str
    files: list[InstructionChange]


class Progress(Wire):
    """`gateway/progress`."""

    token: str
    title: str
    done: int
    total: int | None = None
    message: str | None = None


class PassStarted(Wire):
    """`passes/started`."""

    run_id: str
    pass_: PassName = field(name="pass")
    trigger: Trigger


class PassCompleted(Wire):
    """`passes/completed`."""

    run: Run


class GatewayDegraded(Wire):
    """`gateway/degraded`."""

    component: str
    reason: str


class GatewayRecovered(Wire):
    """`gateway/recovered`."""

    component: str


class Notification(Struct, frozen=True):
    """A notification: its params, one sentence, and whether only the newest of a subject matters to a slow reader."""

    params: type[msgspec.Struct]
    summary: str
    coalescable: bool = False


NOTIFICATIONS: dict[str, Notification] = {
    "turn/started": Notification(TurnNotice, "A turn began."),
    "item/started": Notification(ItemNotice, "An item began."),
    "item/agent_message/delta": Notification(DeltaNotice, "The next piece of an answer."),
    "item/agent_message/reset": Notification(
        ResetNotice, "A broken stream is tried again; earlier pieces do not count."
    ),
    "item/completed": Notification(ItemNotice, "An item is whole."),
    "turn/completed": Notification(TurnNotice, "A turn ended well."),
    "turn/failed": Notification(TurnFailedNotice, "A turn failed; its items are kept."),
    "turn/cancelled": Notification(TurnNotice, "A turn was cancelled."),
    "turn/post_completed": Notification(PostCompletedNotice, "The work after a turn is done."),
    "memory/changed": Notification(MemoryChanged, "A record changed."),
    "memory/candidate_created": Notification(CandidateCreated, "A proposal waits for a decision."),
    "memory/forgotten": Notification(MemoryForgotten, "Records were forgotten."),
    "memory/erased": Notification(MemoryErased, "An erase that was pending is complete."),
    "memory/invalidated": Notification(MemoryInvalidated, "Another process or an import changed these scopes."),
    "passes/started": Notification(PassStarted, "Scheduled maintenance began."),
    "passes/completed": Notification(PassCompleted, "Scheduled maintenance ended."),
    "thread_episodic/indexed": Notification(ThreadIndexed, "A turn became searchable.", coalescable=True),
    "knowledge/changed": Notification(
        KnowledgeChanged, "Files of a collection changed; `knowledge/changes` has them.", coalescable=True
    ),
    "knowledge/indexed": Notification(KnowledgeIndexed, "Every file of a collection is read.", coalescable=True),
    "instructions/changed": Notification(
        InstructionsChanged, "A turn's instruction files differ from those last used in that workspace."
    ),
    "gateway/progress": Notification(Progress, "Long work goes on.", coalescable=True),
    "gateway/degraded": Notification(GatewayDegraded, "Something stopped working."),
    "gateway/recovered": Notification(GatewayRecovered, "Something works again."),
}
