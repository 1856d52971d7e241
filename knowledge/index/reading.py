"""The reading of files that wait: they are opened, parsed by a reader in a process of its own, and stored as pieces.

Rule 1: a file that changed while it was read is read again; until then its former content is found.
Rule 2: a content that the index has already is not parsed again, whichever file has it now.
Rule 3: a failure costs its file one attempt. After a crash files still wait, and reading them again changes nothing.
"""

import hashlib
import os
from collections.abc import Sequence
from functools import lru_cache, partial
from typing import NamedTuple, TypeAlias

import anyio.to_thread
import msgspec
from msgspec import Struct

from knowledge.index.storing import settle_missing
from knowledge.index.vectors import PieceVectors
from knowledge.notices import ChangeNotices
from knowledge.ports import KnowledgeMeans
from knowledge.rows.changes import FileChange, add_change, note_version
from knowledge.rows.collections import KnownCollection, find_collection
from knowledge.rows.contents import (
    Leaving,
    NewContent,
    NewPiece,
    WordChanges,
    add_content,
    drop_unused,
    find_content,
    keep_words,
    put_card,
)
from knowledge.rows.files import (
    FileMove,
    WaitingFile,
    count_pending,
    count_read,
    count_readable,
    delete_file,
    fail_file,
    find_file_again,
    finish_file,
    has_lost_reader,
    missing_with_content,
    move_files,
    next_due,
    path_of,
    waiting_files,
    waits_for_new,
)
from knowledge.rows.links import LinkedFile, find_waiting, put_file
from knowledge.rows.references import TextReferences, put_references, read_references
from knowledge.rows.vectors import mean_contents
from knowledge.structure import ReadRequest, ReadText, TextStructure
from knowledge.walk.collection_walks import limits_of, open_indexed
from protocol.notifications import KnowledgeIndexed, Progress
from protocol.seams.ports import JobHandle, Tx
from protocol.seams.safe_files import SafeRoot, UnsafeFileError, read_up_to
from protocol.settings import KnowledgeSettings
from retrieval.packing import HASH_BYTES

FILES_AT_ONCE = 64
FOLDERS_KEPT = 64
"""Folders whose terms are cached; files are read in the order of the scan, so neighbours share a folder."""
BYTES_AT_ONCE = 8 * 1024 * 1024
MOST_ATTEMPTS = 5
FIRST_DELAY_MS = 30_000
LAST_DELAY_MS = 900_000
RESTS = 20
"""The rest of a file after it was read, as a multiple of the reader's time, so that a log that grows costs a bounded
share of a processor: a tenth, as for a log of 2 MB the index takes as long again as the reader."""
PLAIN_AFTER = 2
"""Crashes of the reader at a file before it is read without structure; with one more it has failed."""
UNSEEN = frozenset({"new", "scanning", "unavailable"})
"""States of a collection whose files are not read: the scan that ends such a state queues their reading."""
READER_FAILED = "reader_failed"
HASH_DOMAIN = "knowledge_chunk"


class ReadBytes(NamedTuple):
    """A file's bytes, or the reason without them: `skipped` where it is not tried again, `error` where it is."""

    file: WaitingFile
    data: bytes = b""
    sha256: bytes = b""
    mtime_ns: int = 0
    skipped: str | None = None
    error: str | None = None

    @property
    def is_read(self) -> bool:
        """Return whether there are bytes."""
        return self.skipped is None and self.error is None


class ReadFile(NamedTuple):
    """A file with its structure; None where its content needs no parsing, or the reader ended."""

    read: ReadBytes
    structure: TextStructure | None = None
    has_ended: bool = False
    """The reader's process ended at this file."""


ParsedContents: TypeAlias = dict[tuple[bytes, str], tuple[NewContent, list[NewPiece], str]]
"""Contents that were parsed, by digest and kind, each with its pieces and, of a PDF, its text."""


class ReadOutcome(Struct, frozen=True):
    """The outcome of a reading; a file that has no content is skipped for a reason."""

    state: str
    reason: str | None = None
    content: int | None = None
    references: TextReferences | None = None


class _Batch(Struct, frozen=True):
    """The files of one transaction: those that still wait, their changes of words, and the contents that they have."""

    known: KnownCollection
    waiting: dict[int, tuple[LinkedFile, str]]
    words: WordChanges
    contents: set[int]


def hash_of(means: KnowledgeMeans, data: bytes) -> bytes:
    """Return the keyed hash of a piece's bytes."""
    return means.keyed.digest(HASH_DOMAIN, data.decode("latin-1"))[:HASH_BYTES]


class FileReader:
    """Reads the files of a collection that wait."""

    def __init__(self, means: KnowledgeMeans, vectors: PieceVectors, notices: ChangeNotices) -> None:
        self._means = means
        self._vectors = vectors
        self._notices = notices
        self._folder_terms = lru_cache(FOLDERS_KEPT)(means.lexicon.index_terms)

    async def read(self, handle: JobHandle) -> None:
        """Read the files that wait of the collection that a `read` job names, until none is due."""
        means, collection_id = self._means, handle.job.subject
        known = await means.db.read(lambda tx: find_collection(tx, collection_id))
        if known is None:  # removed since this was queued
            await means.db.note(lambda tx: means.jobs.remove(tx, kind="read", subject=collection_id))
            return
        if known.state in UNSEEN:
            return
        try:
            root = await anyio.to_thread.run_sync(means.open_root, known.path)
        except UnsafeFileError:
            return  # the next scan finds the folder missing, too, and says so in the collection's state
        has_done = False
        try:
            is_first = not await means.db.read(lambda tx: count_read(tx, known.id))
            async with means.reader() as reader:
                while await self._read_some(known, root, reader):
                    has_done = True
                    if is_first:
                        await self._send_progress(known)
                    await means.db.calm()
        finally:
            root.close()

        while await means.db.note(lambda tx: self._settle(tx, collection_id)):
            has_done = True
            await self._notices.follow()
            await means.db.calm()
        if not await means.db.read(lambda tx: has_lost_reader(tx, known.id)):
            means.recover(f"knowledge:{collection_id}", READER_FAILED)
        if has_done and await means.db.read(lambda tx: self._is_whole(tx, collection_id)):
            means.notify("knowledge/indexed", KnowledgeIndexed(collection_id=collection_id))

    async def _send_progress(self, known: KnownCollection) -> None:
        """Send the progress of a collection's first reading, in files."""
        every, waiting = await self._means.db.read(
            lambda tx: (count_readable(tx, known.id), count_pending(tx, [known.id]))
        )
        token = f"knowledge:{known.collection_id}"
        progress = Progress(token=token, title="Indexing files", done=every - waiting, total=every)
        self._means.notify("gateway/progress", progress)

    def _settle(self, tx: Tx, collection_id: str) -> int:
        """Remove files that are gone, once no new file waits that one of them may have become; return their number."""
        fresh = find_collection(tx, collection_id)
        if fresh is None or fresh.withheld_at is not None or waits_for_new(tx, fresh.id):
            return 0  # the job that reads the waiting file settles them
        return settle_missing(tx, fresh, self._means.clock.now())

    @staticmethod
    def _is_whole(tx: Tx, collection_id: str) -> bool:
        """Return whether no file of the collection waits."""
        fresh = find_collection(tx, collection_id)
        return fresh is not None and next_due(tx, fresh.id) is None

    def _list_waiting(self, tx: Tx, known: KnownCollection) -> list[WaitingFile]:
        """Return the next files to be read; none once the collection has another folder, whose scan queues them."""
        fresh = find_collection(tx, known.collection_id)
        is_same = fresh is not None and fresh.path == known.path
        return waiting_files(tx, known.id, self._means.clock.now(), FILES_AT_ONCE) if is_same else []

    async def _read_some(self, known: KnownCollection, root: SafeRoot, reader: ReadText) -> bool:
        """Read the next files; return whether there were any."""
        means, settings = self._means, self._means.settings()
        waiting = await means.db.read(lambda tx: self._list_waiting(tx, known))
        if not waiting:
            return False
        taken = await anyio.to_thread.run_sync(partial(_read_all, root, known, waiting, settings))
        shas = {(one.sha256, one.file.kind) for one in taken if one.is_read}
        there = await means.db.read(lambda tx: {key for key in shas if find_content(tx, known.owner, *key) is not None})
        asked: dict[tuple[bytes, str], ReadBytes] = {}
        for one in taken:
            if one.is_read and (key := (one.sha256, one.file.kind)) not in there:
                asked.setdefault(key, one)
        answers = await reader([(_to_request(one, settings), one.data) for one in asked.values()])
        read = {one.file.id: answer for one, answer in zip(asked.values(), answers, strict=True)}
        ended = {file for file, answer in read.items() if answer is None}
        files = [ReadFile(one, read.get(one.file.id), one.file.id in ended) for one in taken]
        contents = await anyio.to_thread.run_sync(self._contents, known.owner, files)
        failed = await means.db.note(partial(self._apply, known=known, files=files, contents=contents))
        await self._notices.follow()
        if failed:
            self._notices.count(known.collection_id, {"failed": len(failed)})
        if READER_FAILED in failed:
            means.degrade(f"knowledge:{known.collection_id}", READER_FAILED)
        return True

    def _contents(self, owner: int, files: Sequence[ReadFile]) -> ParsedContents:
        """Return the contents of the files whose structure was read."""
        found: ParsedContents = {}
        for read, structure, _ in files:
            if structure is None or structure.unread is not None:
                continue
            said = structure.text.encode() if read.file.kind == "pdf" else read.data
            pieces = [
                NewPiece(
                    one.from_byte,
                    one.to_byte,
                    one.from_line,
                    one.to_line,
                    msgspec.json.encode(one.headings).decode(),
                    hash_of(self._means, said[one.from_byte : one.to_byte]),
                    one.terms,
                    one.page,
                )
                for one in structure.pieces
            ]
            content = NewContent(
                owner,
                read.sha256,
                read.file.kind,
                structure.encoding,
                len(read.data),
                structure.lines,
                structure.left_from,
                structure.importance,
                msgspec.json.encode(structure.topics).decode(),
                msgspec.json.encode(structure.hidden).decode(),
                msgspec.json.encode(structure.left_pages).decode(),
            )
            found[read.sha256, read.file.kind] = (content, pieces, structure.text)
        return found

    def _apply(self, tx: Tx, known: KnownCollection, files: Sequence[ReadFile], contents: ParsedContents) -> list[str]:
        """Store the outcomes; return the reason of each file that failed for good.

        A file that changed or moved meanwhile still waits, and is read by the next job. One that waits no more, as it
        is gone, was settled by the scan that found that.
        """
        fresh = find_collection(tx, known.collection_id)
        if fresh is None or fresh.path != known.path:
            return []
        waiting = find_waiting(tx, [one.read.file.id for one in files])
        batch, failed = _Batch(fresh, waiting, WordChanges(), set()), list[str]()
        for one in files:
            read, structure = one.read, one.structure
            linked, _ = waiting.get(read.file.id, (None, ""))
            if linked is None or linked.path != path_of(read.file.folder, read.file.name):
                continue
            if read.error is not None or one.has_ended:
                failed += self._fail(tx, read, has_ended=one.has_ended)
            elif read.skipped is not None:
                self._finish(tx, batch, one, ReadOutcome("skipped", read.skipped))
            elif structure is not None and structure.unread is not None:
                self._finish(tx, batch, one, ReadOutcome("skipped", structure.unread))
            else:
                self._keep(tx, batch, one, contents)
        batch.words.store(tx)
        if mean_contents(tx, batch.contents, awaits=self._vectors.are_made()):
            self._vectors.queue(tx)
        return failed

    def _keep(self, tx: Tx, batch: _Batch, one: ReadFile, contents: ParsedContents) -> None:
        """Store the content of a file that was read, and the change: added, changed, or moved from a missing file."""
        known, read, structure, gone = batch.known, one.read, one.structure, None
        key = (read.sha256, read.file.kind)
        there = find_content(tx, known.owner, *key)
        if there is not None:
            references = read_references(tx, there[0])
            keep_words(tx, there[0], batch.words)
            gone = missing_with_content(tx, known.id, there[0]) if read.file.content is None else None
        elif key in contents and structure is not None:
            content, pieces, text = contents[key]
            there = add_content(tx, content, pieces, batch.words, text), content.is_partial
            references = TextReferences(structure.aliases, structure.tags, structure.links, structure.title)
            put_references(tx, there[0], references)
        else:
            return  # another file's content, found before, left the index meanwhile: the file still waits
        row, is_partial = there
        now, path = self._means.clock.now(), path_of(read.file.folder, read.file.name)
        outcome = ReadOutcome(
            state="partial" if is_partial else "indexed",
            reason="structure_failed" if structure is not None and read.file.deaths >= PLAIN_AFTER else None,
            content=row,
            references=references,
        )
        if gone is None:
            self._finish(tx, batch, one, outcome)
            has_moved = read.file.content not in {None, row}  # its new path may have no version yet
            if note_version(tx, known.id, path, read.sha256, len(read.data), now) or has_moved:
                add_change(tx, known, FileChange("changed", path, sha256=read.sha256), now)
            elif read.file.content is None and not read.file.is_baseline:
                add_change(tx, known, FileChange("added", path, sha256=read.sha256), now)
            return
        delete_file(tx, read.file.id)
        find_file_again(tx, gone[0])
        move_files(tx, [FileMove(gone[0], read.file.folder, read.file.name, read.file.kind, None)])
        batch.waiting.update(find_waiting(tx, [gone[0]]))
        moved = read.file._replace(id=gone[0])
        self._finish(tx, batch, one._replace(read=read._replace(file=moved)), outcome)
        note_version(tx, known.id, path, read.sha256, len(read.data), now)
        add_change(tx, known, FileChange("moved", path, path_of(gone[1], gone[2]), read.sha256), now)

    def _finish(self, tx: Tx, batch: _Batch, one: ReadFile, outcome: ReadOutcome) -> None:
        """Store the outcome of a reading: the file's state, the terms of its names, and its place in the graph.

        Its other names are those of its content, also where that was read as another file's.
        """
        read, now, content, references = one.read, self._means.clock.now(), outcome.content, outcome.references
        file, spent_ms = read.file, one.structure.spent_ms if one.structure is not None else 0
        values = {
            "id": file.id,
            "state": outcome.state,
            "reason": outcome.reason,
            "content": content,
            "now": now,
            "size": len(read.data) if read.is_read else file.size,
            "mtime_ns": read.mtime_ns if read.is_read else file.mtime_ns,
            "rests_until": now + RESTS * spent_ms,
        }
        finish_file(tx, values)
        linked, before = batch.waiting[file.id]
        terms = " ".join(sorted(self._card_of(file, references)))
        put_card(tx, file.id, batch.known.owner, before, terms, batch.words)
        put_file(tx, linked, references, now)
        if file.content is not None and file.content != content:
            drop_unused(tx, [file.content], Leaving(batch.known.collection_id, now), batch.words)
        if content is not None:
            batch.contents.add(content)

    def _card_of(self, file: WaitingFile, references: TextReferences | None) -> list[str]:
        """Return the terms of a file's path and of its other names; none of a file without a content."""
        if references is None:
            return []
        names = " ".join([*references.aliases, *references.tags])
        index_terms = self._means.lexicon.index_terms
        return [*self._folder_terms(file.folder), *index_terms(file.name), *(index_terms(names) if names else ())]

    def _fail(self, tx: Tx, read: ReadBytes, *, has_ended: bool) -> list[str]:
        """Store a failed attempt and when the next one is due; return the reason where there is none."""
        file = read.file
        attempts, deaths = file.attempts + 1, file.deaths + has_ended
        is_over = deaths > PLAIN_AFTER if has_ended else attempts >= MOST_ATTEMPTS
        reason = READER_FAILED if has_ended else read.error or "unreadable"
        delay = 0 if has_ended else min(LAST_DELAY_MS, FIRST_DELAY_MS * 2 ** (attempts - 1))
        fail_file(
            tx,
            {
                "id": file.id,
                "state": "failed" if is_over else "pending",
                "reason": READER_FAILED if has_ended and is_over else None,
                "error": reason,
                "attempts": attempts,
                "deaths": deaths,
                "next_run_at": self._means.clock.now() + delay,
            },
        )
        return [reason] if is_over else []


FOR_GOOD = frozenset({"link", "not_regular", "other_device", "not_downloaded", "path_too_long"})
"""Refusals to open a file that another attempt would not change."""


def _to_request(one: ReadBytes, settings: KnowledgeSettings) -> ReadRequest:
    return ReadRequest(
        kind=one.file.kind,
        size=len(one.data),
        max_pieces=settings.max_chunks_per_file,
        is_plain=one.file.deaths >= PLAIN_AFTER,
        max_pages=settings.max_pdf_pages,
        language=one.file.language,
    )


def _read_all(
    root: SafeRoot, known: KnownCollection, waiting: Sequence[WaitingFile], settings: KnowledgeSettings
) -> list[ReadBytes]:
    """Return the first of the waiting files with their bytes, up to about `BYTES_AT_ONCE` together."""
    found: list[ReadBytes] = []
    size = 0
    for file in waiting:
        found.append(read_file(root, known, file, settings))
        size += len(found[-1].data)
        if size > BYTES_AT_ONCE:
            break
    return found


def read_file(root: SafeRoot, known: KnownCollection, file: WaitingFile, settings: KnowledgeSettings) -> ReadBytes:
    """Return a file's bytes, or the reason without them: too large, refused, or changed while it was read."""
    limit = limits_of(settings).most(file.kind)
    try:
        with open_indexed(root, known, settings, path_of(file.folder, file.name)) as opened:
            before = os.fstat(opened.fileno())
            data = read_up_to(opened, limit + 1) if before.st_size <= limit else b""
            after = os.fstat(opened.fileno())
    except UnsafeFileError as error:
        is_lasting = error.reason in FOR_GOOD
        return ReadBytes(file, skipped=error.reason) if is_lasting else ReadBytes(file, error=error.reason)
    except OSError:
        return ReadBytes(file, error="unreadable")
    if max(before.st_size, len(data)) > limit:
        return ReadBytes(file, skipped="too_large")
    if (before.st_size, before.st_mtime_ns) != (after.st_size, after.st_mtime_ns) or len(data) != after.st_size:
        return ReadBytes(file, error="changing")
    return ReadBytes(file, data, hashlib.sha256(data).digest(), after.st_mtime_ns)
