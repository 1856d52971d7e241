"""The preview of a collection: the files that a scan would index, within two seconds, without storing anything.

Rule 1: it counts as a scan does: the walk is the same, and the reader is asked about files that only it can judge.
Rule 2: the answer is never late: a step that is under way when the time is over ends unobserved, and the answer is
`partial`.
"""

import time
from collections import Counter
from contextlib import suppress
from typing import NamedTuple

import anyio
import anyio.to_thread

from knowledge.index.judging import FRONT_CHARS, is_binary, is_generated
from knowledge.index.reading import ReadBytes, read_file
from knowledge.ports import KnowledgeMeans
from knowledge.rows.collections import KnownCollection
from knowledge.rows.files import WaitingFile, path_of
from knowledge.structure import ReadRequest, ReadText, Unread
from knowledge.walk.collection_walks import limits_of, list_bad_patterns, walk_of
from knowledge.walk.walking import SeenFile, Walk
from protocol.files.collections import LargeFile, Preview
from protocol.files.knowledge import FileKind
from protocol.seams.safe_files import SafeRoot, UnsafeFileError

SECONDS = 2.0
"""The longest time that a preview takes."""
MOST_LARGEST = 10
"""The most files that a preview names as the largest."""
CHEAP, LARGE, DEAR = range(3)
"""The costs of asking the reader about a front matter, a PDF, an encoding; the cheap ones are asked first."""


class Doubt(NamedTuple):
    """A file that only the reader can judge, with the cost of asking it."""

    cost: int
    file: WaitingFile


def judge(kind: FileKind, data: bytes) -> Unread | int | None:
    """Return why a text would not be indexed, None where it would, or the cost of asking the reader; pure."""
    if is_binary(data):
        return "binary"
    try:
        text = data.decode()
    except UnicodeDecodeError:
        return DEAR  # its encoding has to be guessed
    if kind != "markdown":
        return "generated" if is_generated(text) else None
    head = text[:FRONT_CHARS]
    may_opt_out = "---" in head[:4] and ("knowledge" in head or "\\" in head)
    return CHEAP if may_opt_out else None


class _FolderPreview:
    """The preview of a folder. Its threads only ever add to what was found, which can be read at any time."""

    def __init__(self, means: KnowledgeMeans, known: KnownCollection) -> None:
        self._means = means
        self._known = known
        self._until = time.monotonic() + SECONDS
        self._limits = limits_of(means.settings())._replace(until=self._until)
        self._files: list[WaitingFile] = []
        self._doubtful: list[Doubt] = []
        self._left_out: dict[str, str] = {}
        self._walk: Walk | None = None
        self._is_cut = False
        self._is_asked = False

    def find(self) -> None:
        """Walk the folder; judge its files, small ones first, and note those that only the reader can judge."""
        with suppress(UnsafeFileError), self._means.open_root(self._known.path) as root:
            walk = walk_of(root, self._known, self._limits)
            self._walk = walk
            for sight in walk:
                self._files += [_to_waiting(sight.folder, seen) for seen in sight.files.values()]
            for file in sorted(self._files, key=lambda one: one.size):
                if time.monotonic() > self._until:
                    self._is_cut = True
                    break
                self._judge(root, file)

    def _judge(self, root: SafeRoot, file: WaitingFile) -> None:
        if file.kind == "pdf":
            self._doubtful.append(Doubt(LARGE, file))
            return
        read = self._read(root, file)
        found = judge(file.kind, read.data) if read.is_read else _find_refusal(read)
        if isinstance(found, int):
            self._doubtful.append(Doubt(found, file))
        elif found is not None:
            self._leave_out(file, found)

    def _leave_out(self, file: WaitingFile, reason: str) -> None:
        self._left_out[path_of(file.folder, file.name)] = reason

    async def run(self) -> None:
        """Look at the whole folder. The reader's process, which takes a moment to start, begins beside the walk."""
        async with self._means.reader() as reader:
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(_ask, reader, "text", b"")
                await anyio.to_thread.run_sync(self.find, abandon_on_cancel=True)
                if not self._doubtful:
                    tasks.cancel_scope.cancel()
            for _, file in sorted(self._doubtful, key=lambda one: one.cost):
                read = await anyio.to_thread.run_sync(self._read_alone, file, abandon_on_cancel=True)
                unread = await _ask(reader, file.kind, read.data) if read.is_read else _find_refusal(read)
                if unread is not None:
                    self._leave_out(file, unread)
        self._is_asked = True

    def _read(self, root: SafeRoot, file: WaitingFile) -> ReadBytes:
        return read_file(root, self._known, file, self._means.settings())

    def _read_alone(self, file: WaitingFile) -> ReadBytes:
        try:
            with self._means.open_root(self._known.path) as root:  # its own, as an abandoned thread may still use it
                return self._read(root, file)
        except UnsafeFileError as error:
            return ReadBytes(file, error=error.reason)

    def to_preview(self) -> Preview:
        """Return the counts of what was found so far."""
        walk, left_out = self._walk, dict(self._left_out)
        kept = [one for one in list(self._files) if path_of(one.folder, one.name) not in left_out]
        skipped = Counter(dict(walk.skipped) if walk is not None else {}) + Counter(left_out.values())
        largest = sorted((-one.size, path_of(one.folder, one.name)) for one in kept)[:MOST_LARGEST]
        return Preview(
            files=len(kept),
            bytes=sum(one.size for one in kept),
            by_kind=dict(Counter(one.kind for one in kept)),
            skipped=dict(skipped),
            largest=[LargeFile(path=path, bytes=-size) for size, path in largest],
            partial=not self._is_asked or self._is_cut or walk is None or walk.is_cut,
            bad_patterns=list_bad_patterns(walk, self._means.scanner) if walk is not None else [],
        )


async def preview(means: KnowledgeMeans, known: KnownCollection) -> Preview:
    """Return the files that a scan of a collection would index, within two seconds; `partial` where that is not all."""
    found = _FolderPreview(means, known)
    with anyio.move_on_after(SECONDS):
        await found.run()
    return found.to_preview()


async def _ask(reader: ReadText, kind: FileKind, data: bytes) -> Unread | None:
    """Return the reason for which the reader would not read a file; None where it would."""
    (found,) = await reader([(ReadRequest(kind=kind, size=len(data), max_pieces=0), data)])
    return found.unread if found is not None else None  # a scan would cut it as plain text


def _find_refusal(read: ReadBytes) -> str | None:
    """Return why a file without bytes would not be indexed; None where only its moment was a bad one."""
    return read.error if read.error in {"permission_denied", "unreadable"} else read.skipped


def _to_waiting(folder: str, seen: SeenFile) -> WaitingFile:
    """Return a seen file in the form of a waiting one."""
    entry, (kind, language) = seen
    return WaitingFile(0, folder, entry.name, kind, None, 0, 0, entry.size, entry.mtime_ns, 1, language)
