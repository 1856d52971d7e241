"""Artifacts: the files and pictures that a conversation holds."""

from typing import Annotated

from msgspec import Meta

from protocol.base import Cursor, Diagnostic, Id, Limit, Params, Wire, matching
from protocol.conversation.values import ArtifactKind, Label, Role


class ArtifactRef(Wire):
    """A file that a message carried; its bytes are elsewhere."""

    artifact_id: str
    version_id: str
    name: str
    kind: ArtifactKind
    mime: str
    size_bytes: int
    role: Role
    sha256: str | None


class ArtifactRefInput(Params):
    """A reference to a file of an imported turn."""

    artifact_id: Id
    version_id: Id | None = None
    name: Label = "file"
    kind: ArtifactKind = "other"
    mime: Label = "application/octet-stream"
    size_bytes: Annotated[int, Meta(ge=0)] = 0
    role: Role = "user"
    sha256: Annotated[str, matching("[0-9a-f]{64}")] | None = None


class ArtifactListParams(Params):
    """`artifact/list`."""

    thread_id: Id
    limit: Limit = 20
    cursor: Cursor | None = None


class ArtifactListResult(Wire):
    """Artifacts of a thread, newest first."""

    artifacts: list[ArtifactRef]
    next_cursor: str | None


class ArtifactGetParams(Params):
    """`artifact/get`."""

    artifact_id: Id
    version_id: Id | None = None
    offset: Annotated[int, Meta(ge=0)] = 0
    limit: Annotated[int, Meta(ge=1, le=5 * 1024 * 1024)] = 65536


class ArtifactGetResult(Wire):
    """A part of a file, as text where it is text; `offset` counts characters there, else bytes."""

    artifact: ArtifactRef
    offset: int
    next_offset: int | None
    text: str | None = None
    data_base64: str | None = None
    diagnostics: list[Diagnostic] = []


class ArtifactDeleteParams(Params):
    """`artifact/delete`."""

    artifact_id: Id
