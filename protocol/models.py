"""Language models as the gateway uses them: the port, its request and answer, and the scripted provider's files."""

from collections.abc import Mapping
from typing import Any, Literal, Protocol, TypeAlias

from protocol.base import Millis, Params, Wire
from protocol.conversation.host_turns import ToolSpec
from protocol.conversation.turns import Usage
from protocol.errors import ErrorReason, Unavailable
from protocol.settings import RoleName

MessageRole: TypeAlias = Literal["system", "user", "assistant", "tool"]
ProviderFault: TypeAlias = Literal[
    "timeout", "http_500", "http_429", "bad_json", "disconnect", "not_configured", "auth", "rejected"
]

PASSING_FAULTS: frozenset[ProviderFault] = frozenset({"timeout", "http_500", "http_429", "bad_json", "disconnect"})
"""Faults that may pass by themselves; the others stay until the request or the configuration changes."""

FAULT_REASONS: Mapping[ProviderFault, ErrorReason] = {
    "timeout": "provider_timeout",
    "http_500": "provider_unavailable",
    "http_429": "provider_rate_limited",
    "disconnect": "provider_unavailable",
    "not_configured": "provider_not_configured",
    "auth": "provider_unauthorized",
}
"""The reason that a client gets for a fault; every other fault is `provider_failed`."""


class ToolRequest(Wire):
    """A tool call that a model asks for. `arguments` is None where the model wrote no valid JSON object."""

    call_id: str
    name: str
    arguments: dict[str, Any] | None


class Picture(Wire):
    """A picture as a model is shown it."""

    mime: str
    data: bytes


class Message(Wire):
    """One message of a request."""

    role: MessageRole
    content: str
    tool_calls: list[ToolRequest] = []
    tool_call_id: str | None = None
    name: str | None = None
    pictures: list[Picture] = []


class ModelRequest(Wire):
    """A request to a model."""

    role: RoleName
    thread_id: str
    turn_id: str
    messages: list[Message]
    round: int = 1
    tools: list[ToolSpec] = []
    json_answer: bool = False
    model: str | None = None
    provider: str | None = None


class ModelReply(Wire):
    """The answer of a model."""

    text: str = ""
    tool_calls: list[ToolRequest] = []
    usage: Usage | None = None


class ProviderFailed(Unavailable):
    """The provider failed after all tries, with a `fault`; `retry_after` is the wait in seconds that it asked for."""

    default = "provider_failed"

    def __init__(self, fault: ProviderFault, retry_after: float | None = None) -> None:
        self.fault: ProviderFault = fault
        self.retry_after = retry_after
        super().__init__(FAULT_REASONS.get(fault))

    @property
    def retryable(self) -> bool:
        """Return whether the same request may succeed later."""
        return self.fault in PASSING_FAULTS


class Deltas(Protocol):
    """Receives a streamed answer."""

    def delta(self, text: str) -> None:
        """Take the next piece of the answer."""
        ...

    def reset(self) -> None:
        """Drop all pieces so far: the stream broke, and a new try begins."""
        ...


class Model(Protocol):
    """Answers in a role, with its tries and timeouts inside."""

    def is_configured(self, role: RoleName) -> bool:
        """Return whether a provider is set for the role."""
        ...

    def calls_tools(self, role: RoleName, provider: str | None = None) -> bool:
        """Return whether that provider, or the role's, can call tools."""
        ...

    def takes_pictures(self, role: RoleName, provider: str | None = None) -> bool:
        """Return whether that provider, or the role's, takes pictures."""
        ...

    def prompt_tokens(self, role: RoleName, provider: str | None = None) -> int | None:
        """Return the tokens that a request to that provider, or the role's, may have; None without a setting."""
        ...

    def window_tokens(self, role: RoleName, provider: str | None = None) -> int | None:
        """Return the tokens that the model of that provider, or the role's, takes in all; None without a setting."""
        ...

    async def complete(self, request: ModelRequest, deltas: Deltas | None = None) -> ModelReply:
        """Return the answer; raises `ProviderFailed`."""
        ...


# -- the scripted provider's files ---------------------------------------------------------------------------------


class ScriptedToolCall(Params):
    """A tool call of a scripted answer."""

    name: str
    arguments: dict[str, Any] = {}


class ScriptedAnswer(Params):
    """A scripted answer: exactly one member is given."""

    text: str | None = None
    tool_calls: list[ScriptedToolCall] | None = None
    json: dict[str, Any] | None = None
    error: Literal["timeout", "http_500", "http_429", "bad_json", "disconnect"] | None = None


class ScriptRule(Params):
    """A line of a script: the first rule that fits and has answers left is taken."""

    role: Literal["main", "preflight", "extractor", "any"]
    respond: ScriptedAnswer
    input_contains: str | None = None
    round: int | None = None
    times: int | None = None
    delay_ms: int = 0
    stream_chunks: int = 1


class RecordedPicture(Wire):
    """A picture as the record file shows it: never its bytes."""

    mime: str
    size_bytes: int
    sha256: str


class RecordedMessage(Wire, omit_defaults=True):
    """A message as the record file shows it."""

    role: MessageRole
    content: str
    pictures: list[RecordedPicture] = []


class RecordedTool(Wire):
    """A tool as the record file shows it."""

    name: str
    description: str
    parameters: dict[str, Any]


class RecordedCall(Wire):
    """A line of the record file."""

    seq: int
    role: RoleName
    thread_id: str
    turn_id: str
    round: int
    attempt: int
    messages: list[RecordedMessage]
    tools: list[RecordedTool]
    at: Millis
