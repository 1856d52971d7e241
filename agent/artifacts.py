"""Files that a message carries: read once, kept by content, referred to by id and version."""

import base64
import binascii
import hashlib
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple, Protocol

import anyio

from agent.imports import derived_id
from agent.store import SQL
from protocol.errors import CallerError
from protocol.ports import Ids, Transact, Tx
from protocol.settings import ArtifactSettings
from protocol.threads import ArtifactInput, ArtifactKind, ArtifactRef

KINDS: tuple[tuple[str, ArtifactKind], ...] = (
    ("image/", "image"), ("audio/", "audio"), ("video/", "video"), ("text/csv", "data"), ("application/json", "data"),
    ("text/", "document"), ("application/pdf", "document"),
)  # fmt: skip


class KeepBytes(Protocol):
    """Stores bytes under their SHA-256, durably; storing the same again is a no-op."""

    def __call__(self, sha256: str, data: bytes) -> None:
        """Keep them."""
        ...


class Received(NamedTuple):
    """A file of a message, and its bytes where it has some."""

    ref: ArtifactRef
    data: bytes | None


def kind_of(mime: str) -> ArtifactKind:
    """The kind that a media type stands for."""
    for prefix, kind in KINDS:
        if mime.startswith(prefix):
            return kind
    return "other"


class Artifacts:
    """Takes the files of a message in."""

    def __init__(self, *, db: Transact, ids: Ids, keep: KeepBytes, settings: Callable[[], ArtifactSettings]) -> None:
        self._db = db
        self._ids = ids
        self._keep = keep
        self._settings = settings

    async def receive(self, given: Sequence[tuple[int, ArtifactInput]], workspace_id: str) -> list[ArtifactRef]:
        """Read, check and keep the files; `given` are (place in the input, file)."""
        return [await self._one(f"$.input[{place}]", file, workspace_id) for place, file in given]

    async def _one(self, path: str, file: ArtifactInput, workspace_id: str) -> ArtifactRef:
        data = await self._data(path, file)
        if data is None:
            return await self._known(path, file, workspace_id)
        sha256 = hashlib.sha256(data).hexdigest()
        await anyio.to_thread.run_sync(self._keep, sha256, data)
        artifact_id = file.artifact_id or self._ids.new("art")
        return ArtifactRef(
            artifact_id=artifact_id, version_id=derived_id("ver", artifact_id, sha256), name=file.name,
            kind=file.kind or kind_of(file.mime), mime=file.mime, size_bytes=len(data), role="user", sha256=sha256,
        )  # fmt: skip

    async def _data(self, path: str, file: ArtifactInput) -> bytes | None:
        if file.data_base64 is not None and file.path is not None:
            raise CallerError.at(path, "Give `path` or `data_base64`, not both")
        if file.data_base64 is not None:
            return self._inline(path, file.data_base64)
        if file.path is not None:
            return await anyio.to_thread.run_sync(self._read, path, file.path)
        return None

    def _inline(self, path: str, text: str) -> bytes:
        try:
            data = base64.b64decode(text, validate=True)
        except (binascii.Error, ValueError):
            raise CallerError.at(f"{path}.data_base64", "This is not base64") from None
        return self._within(f"{path}.data_base64", data, self._settings().max_inline_bytes)

    def _read(self, path: str, name: str) -> bytes:
        limit = self._settings().max_bytes
        try:
            with Path(name).open("rb") as file:
                data = file.read(limit + 1)
        except (OSError, ValueError):
            raise CallerError.at(f"{path}.path", "The file cannot be read") from None
        return self._within(f"{path}.path", data, limit)

    def _within(self, path: str, data: bytes, limit: int) -> bytes:
        if len(data) > limit:
            raise CallerError.at(path, f"The file is larger than {limit} bytes")
        return data

    async def _known(self, path: str, file: ArtifactInput, workspace_id: str) -> ArtifactRef:
        if file.artifact_id is None:
            raise CallerError.at(path, "Give `path`, `data_base64` or a known `artifact_id`")
        values = {"artifact_id": file.artifact_id, "version_id": None, "workspace_id": workspace_id}

        def find(tx: Tx) -> ArtifactRef | None:
            row = tx.one(SQL["find_artifact"], values)
            return ArtifactRef(artifact_id=row[0], version_id=row[1], name=row[2], kind=row[3], mime=row[4],
                               size_bytes=row[5], role=row[6], sha256=row[7]) if row else None  # fmt: skip

        found = await self._db.read(find)
        if found is None:
            raise CallerError.missing("artifact")
        return found
