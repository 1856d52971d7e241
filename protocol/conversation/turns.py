"""Turns: what the user said, how it is to be answered, and how it ended."""

from collections.abc import Mapping
from typing import Annotated, TypeAlias, cast

from msgspec import Meta

from protocol.base import WITHOUT_NUL, Cursor, Id, Limit, Params, Wire, matching
from protocol.conversation.manifests import PromptManifest
from protocol.conversation.values import (
    ArtifactKind,
    Driver,
    Label,
    Mode,
    NotStored,
    Path,
    Placement,
    Text,
    TurnStatus,
    WorkPath,
)
from protocol.errors import REASONS, ErrorReason
from protocol.settings import Dialect


class TextInput(Params, tag_field="type", tag="text"):
    """Words of the user."""

    text: Text


class ArtifactInput(Params, tag_field="type", tag="artifact"):
    """A file of the user: a `path` that is read once, inline `data_base64`, or a known `artifact_id` alone."""

    name: Label
    mime: Label
    artifact_id: Id | None = None
    kind: ArtifactKind | None = None
    path: Path | None = None
    data_base64: str | None = None


UserInput: TypeAlias = TextInput | ArtifactInput


class TurnOptions(Params):
    """Options of a host for one turn: switches, the place of recalled blocks, and the time zone.

    Recalled blocks stand as data before the user's words unless the host asks for another place.
    """

    skip_retention: bool = False
    skip_recall: bool = False
    skip_files: bool = False
    """Nothing of the user's files is recalled."""
    context_placement: Placement = "before_user"
    unknown_client: bool = False
    """The turn comes through a program that nobody named: it is searchable, and no facts are taken from it."""
    time_zone: Annotated[
        Label | None, Meta(description='The IANA zone that "yesterday" is meant in; absent, as `initialize` said.')
    ] = None


class TurnStartParams(Params):
    """`turn/start` and `turn/prepare`; `input` has a word of the user, or a file."""

    thread_id: Id
    input: Annotated[list[UserInput], Meta(min_length=1, max_length=64)]
    turn_id: Id | None = None
    model: Label | None = None
    provider: Label | None = None
    mode: Mode | None = None
    options: TurnOptions = TurnOptions()
    cwd: WorkPath | None = None
    """Absent, the thread's."""


TURN_MESSAGES: Mapping[str, str] = {
    "host_failed": "The host reports that the turn failed.",
    "hook_failed": "A step without which the turn may not go on has failed.",
    "max_rounds": "The model called tools until no more rounds were left, and gave no answer.",
}
"""Sentences of the reasons that only turns have."""


class TurnError(Wire):
    """The failure of a turn: a reason for programs, and a sentence for the person who asked."""

    reason: str
    retryable: bool
    message: str

    @classmethod
    def of(cls, reason: str, *, retryable: bool) -> "TurnError":
        """Return the error with the sentence of its reason; what follows a colon in a reason names a hook."""
        kind = reason.partition(":")[0]
        info = REASONS.get(cast("ErrorReason", kind))
        message = info.message if info is not None else TURN_MESSAGES.get(kind, "The turn failed.")
        return cls(reason=reason, retryable=retryable, message=message)


class Usage(Wire):
    """Tokens as the provider counted them; of the input, those that it had kept."""

    input_tokens: int = 0
    output_tokens: int = 0
    cached_tokens: int = 0


class ToolEvent(Params):
    """A host's own tool call of the turn, in a sentence."""

    name: Label
    summary: Annotated[str, matching(WITHOUT_NUL), Meta(max_length=2000)] | None = None
    status: Label | None = None
    call_id: Id | None = None


class TurnUpstream(Params):
    """The upstream that a proxied turn went to: its name in the configuration, its dialect, the model.

    `model` is the one that the answer names, else the one that was asked for; null where neither names one.
    """

    name: Label
    dialect: Dialect
    model: Label | None = None


class Turn(Wire):
    """One question and all that was done to answer it."""

    turn_id: str
    thread_id: str
    workspace_id: str
    driver: Driver
    mode: Mode
    status: TurnStatus
    started_at: int
    completed_at: int | None
    error: TurnError | None
    rounds: int
    usage: Usage | None
    prompt_manifest: PromptManifest | None
    not_stored: NotStored | None = None
    """The reason for which nothing of the turn is stored; null for a stored one."""
    superseded_by: str | None = None
    """The turn in which the same question was asked again; what was answered first is found no more."""
    tool_events: list[ToolEvent] = []
    """Tools that a host, or a program that speaks through the proxy, called for it; those of the gateway are items."""
    upstream: TurnUpstream | None = None
    """The upstream that it went to through the proxy; null for a turn that came another way."""


class TurnResult(Wire):
    """One turn."""

    turn: Turn


class TurnParams(Params):
    """A turn by id."""

    turn_id: Id


class TurnItemsParams(Params):
    """`turn/items`."""

    turn_id: Id
    limit: Limit = 100
    cursor: Cursor | None = None
