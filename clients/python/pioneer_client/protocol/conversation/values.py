"""Kinds and states of conversations, and the texts that name their parts."""

from typing import Annotated, Literal, TypeAlias

from msgspec import Meta

from pioneer_client.protocol.base import WITHOUT_NUL, matching

Mode: TypeAlias = Literal["agent", "chat"]
MemoryMode: TypeAlias = Literal["normal", "read_only", "ignored"]
ThreadOrigin: TypeAlias = Literal["user", "task", "system"]
Driver: TypeAlias = Literal["gateway", "host"]
TurnStatus: TypeAlias = Literal["in_progress", "awaiting_host", "completed", "failed", "cancelled", "interrupted"]
FinishStatus: TypeAlias = Literal["succeeded", "failed", "provider_failure", "interrupted"]
ItemKind: TypeAlias = Literal["user_message", "agent_message", "tool_call", "tool_result", "system_event"]
Role: TypeAlias = Literal["user", "assistant", "tool", "system"]
ItemStatus: TypeAlias = Literal["in_progress", "completed", "failed", "interrupted"]
ArtifactKind: TypeAlias = Literal["image", "document", "data", "audio", "video", "other"]
RecallStatus: TypeAlias = Literal["recalled", "empty", "skipped", "failed", "partial", "off"]
Phase: TypeAlias = Literal[
    "TurnPrePolicy",
    "TurnPrePromptContext",
    "TurnPostPreflightPromptContext",
    "TurnPreToolMaterialization",
    "TurnPrePromptCompile",
    "TurnPostTurn",
]
RunStatus: TypeAlias = Literal["queued", "running", "succeeded", "failed", "timed_out", "skipped"]
Domain: TypeAlias = Literal["memory", "thread", "artifact", "agent", "knowledge"]
InstructionFiles: TypeAlias = Literal["auto", "off"]
InstructionProfile: TypeAlias = Literal["default", "claude", "codex", "gemini", "qwen"]
AgentLayer: TypeAlias = Literal["built_in", "vault"]
MAX_TEXT_CHARS = 4_000_000  # a message of up to half a message line; longer input is a file
Text: TypeAlias = Annotated[str, matching(WITHOUT_NUL), Meta(max_length=MAX_TEXT_CHARS)]
Label: TypeAlias = Annotated[str, matching(WITHOUT_NUL), Meta(max_length=256)]
Path: TypeAlias = Annotated[str, matching(WITHOUT_NUL), Meta(min_length=1, max_length=4096)]
WorkPath: TypeAlias = Annotated[
    str, matching(WITHOUT_NUL, "The folder that is worked in: an absolute path."), Meta(min_length=1, max_length=4096)
]
NotStored: TypeAlias = Literal["storage_full", "storage_read_only"]
"""The reasons for which the store takes nothing at all."""
Placement: TypeAlias = Literal["system_suffix", "before_user"]
