"""Files of messages: received once, kept by content, listed, read, deleted.

Rule 1: bytes are kept before the transaction that refers to them, and go after the one that refers to them last: a
crash leaves at most bytes that nobody needs, and a sweep finds those.
Rule 2: an id belongs to the thread that has its bytes; elsewhere it answers like what does not exist.
Rule 3: a name is only ever shown; bytes are found by their digest.
"""

import base64
import binascii
import contextlib
from collections.abc import Callable, Sequence
from typing import NamedTuple

import anyio

from agent.files.reading import FileRefusedError, Files, KeptContent, Reading
from agent.files.text import kind_of
from agent.rows.artifacts import (
    contents_of,
    find_kept,
    find_unneeded,
    is_kept_elsewhere,
    keeps_bytes,
    list_artifacts,
    remove_artifact,
)
from agent.rows.statements import LAST
from agent.rows.threads import get_thread
from agent.threads.imports import derive_id
from protocol import methods as m
from protocol.base import Diagnostic
from protocol.conversation.artifacts import (
    ArtifactDeleteParams,
    ArtifactGetParams,
    ArtifactGetResult,
    ArtifactListParams,
    ArtifactListResult,
    ArtifactRef,
)
from protocol.conversation.threads import DeleteResult
from protocol.conversation.turns import ArtifactInput
from protocol.cursors import cut_page, place_of
from protocol.errors import CallerError, GatewayError
from protocol.methods import Bound, bind
from protocol.models import Picture
from protocol.seams.forgettings import Forgettings
from protocol.seams.ports import Ids, JobHandle, JobQueue, Transact, Tx
from protocol.settings import ArtifactSettings

SWEEP_SUBJECT = "artifacts"
SWEPT_AT_ONCE = 64
"""Contents that one transaction removes: other writers wait for it."""
MAX_PICTURES = 16
"""Pictures of one message that are handed to a model."""
MAX_PICTURES_BYTES = 20 * 1024 * 1024
"""Of these together: what one request may hold."""


class Received(NamedTuple):
    """A file of a message; `has_bytes`: its bytes came with the message, and not with an earlier one."""

    ref: ArtifactRef
    has_bytes: bool


class ContentGoneError(Exception):
    """A content that was kept a moment ago was swept before anything referred to it: it must be received again."""


class Artifacts:
    """Receives the files of messages, and answers `artifact/*`."""

    def __init__(
        self,
        *,
        db: Transact,
        ids: Ids,
        jobs: JobQueue,
        files: Files,
        settings: Callable[[], ArtifactSettings],
        forgettings: Forgettings,
    ) -> None:
        self._db = db
        self._ids = ids
        self._jobs = jobs
        self._files = files
        self.reading = Reading(files)
        self._settings = settings
        self._forgettings = forgettings

    def bindings(self) -> list[Bound]:
        """Return the methods of the wire that are answered here."""
        return [
            bind(m.ARTIFACT_LIST, self.artifact_list),
            bind(m.ARTIFACT_GET, self.artifact_get),
            bind(m.ARTIFACT_DELETE, self.artifact_delete),
        ]

    # -- receiving -------------------------------------------------------------------------------------------------

    async def receive(self, given: Sequence[tuple[int, ArtifactInput]], workspace_id: str) -> list[Received]:
        """Check and keep the files of an input, each given as (place in the input, file); return them in order.

        If one is refused, the files kept before it are removed.
        """
        received: list[Received] = []
        try:
            for place, file in given:
                received.append(await self._receive_one(f"$.input[{place}]", file, workspace_id))
        except BaseException:
            with anyio.CancelScope(shield=True):
                await self.discard(received)
            raise
        return received

    async def discard(self, received: Sequence[Received]) -> None:
        """Remove the bytes that came with a message which is not stored after all, unless something else needs them."""
        digests = {one.ref.sha256 for one in received if one.has_bytes and one.ref.sha256 is not None}
        if digests:
            # what stays is swept later, and the caller raises the reason for which the message is refused
            with contextlib.suppress(GatewayError):
                await self._db.jot(lambda tx: self._collect(tx, sorted(digests)))

    def confirm(self, tx: Tx, received: Sequence[Received], thread_id: str, workspace_id: str) -> None:
        """Check, in the transaction that refers to them, that the files may be referred to and are still there.

        Raises:
            CallerError: a file is not known here, or its id belongs to another thread.
            ContentGoneError: its bytes were swept meanwhile.

        """
        for ref, has_bytes in received:
            if has_bytes and is_kept_elsewhere(tx, ref.artifact_id, thread_id):
                raise CallerError.missing("artifact")
            if not has_bytes and find_kept(tx, ref.artifact_id, ref.version_id, workspace_id) is None:
                raise CallerError.missing("artifact")
            if has_bytes and ref.sha256 is not None and not self._files.holds(ref.sha256):
                raise ContentGoneError

    async def _receive_one(self, path: str, file: ArtifactInput, workspace_id: str) -> Received:
        kept = await self._keep_content(path, file)
        if kept is None:
            return Received(await self._find_known(path, file, workspace_id), has_bytes=False)
        artifact_id = file.artifact_id or self._ids.new("art")
        ref = ArtifactRef(
            artifact_id=artifact_id,
            version_id=derive_id("ver", artifact_id, kept.sha256),
            name=file.name,
            kind=file.kind or kind_of(file.mime),
            mime=file.mime,
            size_bytes=kept.size,
            role="user",
            sha256=kept.sha256,
        )
        return Received(ref, has_bytes=True)

    async def _keep_content(self, path: str, file: ArtifactInput) -> KeptContent | None:
        settings, given, name = self._settings(), file.data_base64, file.path
        if given is not None and name is not None:
            raise CallerError.at(path, "Give `path` or `data_base64`, not both")
        if given is not None:
            member, limit = f"{path}.data_base64", min(settings.max_inline_bytes, settings.max_bytes)
            return await anyio.to_thread.run_sync(lambda: self._files.put(_decode_base64(given, member, limit)))
        if name is None:
            return None
        try:
            return await anyio.to_thread.run_sync(self._files.copy, name, settings.max_bytes)
        except FileRefusedError as refused:
            raise CallerError.at(f"{path}.path", str(refused)) from None

    async def _find_known(self, path: str, file: ArtifactInput, workspace_id: str) -> ArtifactRef:
        artifact_id = file.artifact_id
        if artifact_id is None:
            raise CallerError.at(path, "Give `path`, `data_base64` or a known `artifact_id`")
        found = await self._db.read(lambda tx: find_kept(tx, artifact_id, None, workspace_id))
        if found is None:
            raise CallerError.missing("artifact")
        return found

    async def pictures(self, refs: Sequence[ArtifactRef]) -> list[Picture]:
        """Return the pictures among the files, as a model takes them.

        Files that are no pictures, that are too large or too many, are left out.
        """
        found: list[Picture] = []
        room = MAX_PICTURES_BYTES
        for ref in refs:
            picture = await self.reading.picture(ref) if len(found) < MAX_PICTURES and ref.size_bytes <= room else None
            if picture is not None:
                found.append(picture)
                room -= len(picture.data)
        return found

    # -- the wire --------------------------------------------------------------------------------------------------

    async def artifact_list(self, params: ArtifactListParams) -> ArtifactListResult:
        """Return the files of a thread, each version once, newest first."""
        (before,) = place_of(params.cursor, (LAST,))

        def read(tx: Tx) -> ArtifactListResult:
            if get_thread(tx, params.thread_id) is None:
                raise CallerError.missing("thread")
            found = list_artifacts(tx, params.thread_id, before, params.limit + 1)
            page, following = cut_page(found, params.limit, lambda one: (one[0],))
            return ArtifactListResult(artifacts=[ref for _, ref in page], next_cursor=following)

        return await self._db.read(read)

    async def artifact_get(self, params: ArtifactGetParams) -> ArtifactGetResult:
        """Return a part of a file: characters where it is text, else bytes; `offset` and `limit` count the same."""
        ref = await self._db.read(lambda tx: find_kept(tx, params.artifact_id, params.version_id, None))
        page = await self.reading.page(ref, params.offset, params.limit) if ref is not None else None
        if ref is None or page is None:
            raise CallerError.missing("artifact")
        return ArtifactGetResult(
            artifact=ref,
            offset=params.offset,
            next_offset=page.next_offset,
            text=page.text,
            data_base64=base64.b64encode(page.data).decode() if page.text is None else None,
            diagnostics=[Diagnostic(code="encoding_guessed")] if page.is_guess else [],
        )

    async def artifact_delete(self, params: ArtifactDeleteParams) -> DeleteResult:
        """Remove a file with all its versions, also from the messages that carried it, and its bytes.

        Bytes that the system does not let go of for now (`removed.contents` counts those that went) are swept later.
        """

        def delete(tx: Tx) -> tuple[int, list[str]]:
            digests = contents_of(tx, params.artifact_id)
            removed = remove_artifact(tx, params.artifact_id)
            if not removed:
                raise CallerError.missing("artifact")
            self._jobs.enqueue(tx, "sweep", SWEEP_SUBJECT)  # for the case that the bytes do not go below
            self._forgettings.promise(tx)
            return removed, digests

        removed, digests = await self._db.write(delete, is_vital=True)
        contents = 0
        with anyio.CancelScope(shield=True), contextlib.suppress(GatewayError):
            contents = await self._db.write(lambda tx: self._collect(tx, digests), is_vital=True)
        is_gone = await self._forgettings.keep_promise()
        return DeleteResult(deleted=True, removed={"artifacts": removed, "contents": contents}, complete=is_gone)

    # -- bytes without a reference ---------------------------------------------------------------------------------

    def on_thread_deleted(self, tx: Tx, thread_id: str) -> dict[str, int]:
        """Queue a sweep for after the deletion of a thread that has bytes. Satisfies `OnDeleted`; counts nothing."""
        if keeps_bytes(tx, thread_id):
            self._jobs.enqueue(tx, "sweep", SWEEP_SUBJECT)
        return {}

    async def look_for_orphans(self) -> None:
        """Queue a sweep of what a crash may have left."""
        await self._db.jot(lambda tx: self._jobs.enqueue(tx, "sweep", SWEEP_SUBJECT))

    async def sweep(self, _job: JobHandle) -> None:
        """Remove every content that nothing refers to."""
        digests = await anyio.to_thread.run_sync(self._files.digests)
        for first in range(0, len(digests), SWEPT_AT_ONCE):
            some = digests[first : first + SWEPT_AT_ONCE]
            orphans = await self._db.read(lambda tx, some=some: find_unneeded(tx, some))
            if orphans:
                await self._db.write(lambda tx, orphans=orphans: self._collect(tx, orphans))

    def _collect(self, tx: Tx, digests: Sequence[str]) -> int:
        """Remove contents that nothing refers to; return how many there were.

        Within a write transaction, so that no other one of any process comes to refer to a content between the look and
        the removal: a later transaction finds that it is gone.
        """
        unneeded = find_unneeded(tx, digests)
        for sha256 in unneeded:
            self._files.remove(sha256)
        return len(unneeded)


def _decode_base64(text: str, member: str, limit: int) -> bytes:
    """Return inline bytes. Raises `CallerError` for what is not base64, or more than `limit`."""
    # refused before it is decoded, which would take the memory; up to two characters are padding
    if len(text) * 3 // 4 - 2 > limit:
        raise CallerError.at(member, f"The file is larger than {limit} bytes")
    try:
        data = base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        raise CallerError.at(member, "This is not base64") from None
    if len(data) > limit:
        raise CallerError.at(member, f"The file is larger than {limit} bytes")
    return data
