"""Turns that a host drives: the prompt that it is given, its tool calls, and its end."""

from typing import Annotated, Any, Literal

from msgspec import Meta

from pioneer_client.protocol.base import Id, Params, Wire
from pioneer_client.protocol.conversation.artifacts import ArtifactRefInput
from pioneer_client.protocol.conversation.manifests import PromptManifest, SourceRef, TurnPolicy
from pioneer_client.protocol.conversation.turns import ToolEvent, Turn
from pioneer_client.protocol.conversation.values import Domain, FinishStatus, Label, Placement, RecallStatus, Text


class ToolSpec(Wire):
    """A tool as a model sees it; `parameters` is a JSON Schema."""

    name: str
    domain: Domain
    description: str
    parameters: dict[str, Any]


class PromptSection(Wire):
    """A part of the system prompt; a stable one is byte-identical from turn to turn."""

    section_id: str
    title: str
    text: str
    stable: bool


class ContextBlock(Wire):
    """Recalled data, rendered so that it cannot close its own block."""

    block_id: str
    domain: Literal["memory", "thread", "knowledge"]
    text: str
    placement: Placement
    source_refs: list[SourceRef]


class PrepareResult(Wire):
    """All that a host needs to call its own model."""

    turn: Turn
    context_blocks: list[ContextBlock]
    prompt_sections: list[PromptSection]
    tools: list[ToolSpec]
    policy: TurnPolicy
    prompt_manifest: PromptManifest
    recall_status: RecallStatus


class ToolCallParams(Params):
    """`turn/tool_call`; `call_id` is idempotent within the turn."""

    turn_id: Id
    call_id: Id
    name: Label
    arguments: dict[str, Any] = {}


class ToolFailure(Wire):
    """The error of a tool."""

    code: str
    message: str
    retryable: bool = False


class ToolReply(Wire):
    """The answer of a tool."""

    ok: bool
    data: Any = None
    error: ToolFailure | None = None


class ToolCallResult(Wire):
    """The answer, and the tools that are visible now."""

    result: ToolReply
    visible_tools: list[str]


class TurnFinishParams(Params):
    """`turn/finish`; idempotent."""

    turn_id: Id
    status: FinishStatus
    assistant_text: Text | None = None
    tool_events: Annotated[list[ToolEvent], Meta(max_length=256)] = []
    artifacts: Annotated[list[ArtifactRefInput], Meta(max_length=64)] = []
