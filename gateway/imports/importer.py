"""`pioneer import`: it reads other programs' conversations and sends them one by one to a gateway on the home.

Rule 1: everything goes through `thread/import` of a spawned gateway, so another one may serve the same home meanwhile.
Rule 2: a conversation that cannot be read or is refused is reported and the others go on; a home that fails ends the
run.
Rule 3: a run keeps no record of its work: equal input gives equal ids, so a second run finds its work done.
"""

import asyncio
import re
import sys
from collections.abc import Mapping, Sequence
from itertools import accumulate
from pathlib import Path
from typing import NamedTuple

import msgspec
from msgspec import Struct

from agent.threads.imports import derive_id
from gateway.base.exit_codes import DATA, INTERRUPTED, NO_INPUT, UNAVAILABLE, USAGE
from gateway.home.repository import Project, project_of_session
from gateway.imports.formats.draft import Conversation, Skipped, Unreadable, stable_id, to_printable
from gateway.imports.formats.sources import ImportFile, read, walk
from gateway.imports.formats.turns import Sizes, requests, turns
from gateway.imports.report import ImportCounts, Outcome, Ticker
from gateway.wire.client import CallFailed, ConnectionClosed, GatewayClient, console_script
from protocol import methods as call
from protocol.base import DEFAULT_WORKSPACE, ID_TEXT, PROTOCOL_VERSION
from protocol.conversation.imports import ImportSource, ImportTurn, ThreadImportParams, ThreadImportResult
from protocol.conversation.threads import ThreadListParams
from protocol.conversation.workspaces import WorkspaceCreateParams, WorkspaceParams
from protocol.gateway import ClientInfo, InitializeParams

MAX_SOURCE_ID = 512
MAX_NAME = 256
IN_FLIGHT = 2
"""Conversations at once: the gateway stores one while the next is read and sent."""
RETRIES_MS = (100, 200, 400, 800, 1600, 3200)
"""The waits before further tries: a busy home becomes free in this time, a full disk does not."""
FAULTS_OF_CONVERSATION = frozenset({"conflict", "invalid_params", "message_too_large"})


class ImportOptions(Struct, frozen=True, kw_only=True):
    """The options of the command line."""

    path: Path
    home: Path
    config: Path | None = None
    workspace_id: str = DEFAULT_WORKSPACE
    is_dry_run: bool = False
    is_json: bool = False


class Stopped(Exception):
    """The home cannot take any more; an exit code and a line for a person."""

    def __init__(self, code: int, line: str) -> None:
        self.code = code
        self.line = line
        super().__init__(line)


class _ImportedTurns:
    """The counts of a conversation's turns, added up over its requests."""

    def __init__(self) -> None:
        self.imported = self.replaced = self.unchanged = self.removed = 0
        self.generation: int | None = None
        """The generation of the first look: a later request does not bring back turns that were deleted meanwhile."""

    def add(self, result: ThreadImportResult) -> None:
        self.imported += result.imported
        self.replaced += result.replaced
        self.unchanged += result.skipped
        self.removed += result.removed
        self.generation = result.generation if self.generation is None else self.generation

    @property
    def outcome(self) -> Outcome:
        if not self.imported and not self.replaced and not self.removed:
            return "unchanged"
        return "changed" if self.replaced or self.unchanged or self.removed else "new"


def _source_id(conversation: Conversation) -> str:
    known = conversation.source_id
    return known if len(known) <= MAX_SOURCE_ID else stable_id(known)


class _Part(NamedTuple):
    """Turns of a conversation that fit one request, the number before them, and whether others follow."""

    turns: list[ImportTurn]
    offset: int
    has_more: bool


class ConversationImporter:
    """The import of conversations into one gateway: into the workspace of their repository, else the given one."""

    def __init__(
        self, client: GatewayClient, options: ImportOptions, report: ImportCounts, max_message_bytes: int
    ) -> None:
        self._client = client
        self._options = options
        self._report = report
        self._line = max_message_bytes
        self._sizes = Sizes.of(max_message_bytes)
        self._seen: set[bytes] = set()
        self._open: dict[str, bool] = {}
        self._threads: dict[str, str] | None = None

    async def _has_workspace(self, project: Project) -> bool:
        """Return whether the workspace was there, or could be: one that is absent is made, but not by a dry run."""
        workspace_id = project.workspace_id
        if workspace_id not in self._open:
            try:
                await self._client.call(call.WORKSPACE_GET, WorkspaceParams(workspace_id=workspace_id))
                self._open[workspace_id] = True
            except CallFailed as failed:
                if failed.reason != "not_found":
                    raise
                self._open[workspace_id] = not self._options.is_dry_run
                if not self._options.is_dry_run:
                    wanted = WorkspaceCreateParams(workspace_id=workspace_id, name=project.title or None)
                    await self._client.call(call.WORKSPACE_CREATE, wanted)
        return self._open[workspace_id]

    async def _project_of(self, conversation: Conversation) -> Project:
        """Return the project of a conversation.

        A conversation whose repository cannot be found any more stays where it was imported to before.
        """
        found = project_of_session(conversation.cwd, conversation.remote)
        if found is not None or not conversation.cwd:
            return found or Project(self._options.workspace_id, "")
        source = conversation.kind, _source_id(conversation)
        known = await self._read_known_threads()
        for workspace_id in {*known.values()}:
            if derive_id("thr", workspace_id, *source) in known:
                return Project(workspace_id, "")
        return Project(self._options.workspace_id, "")

    async def _read_known_threads(self) -> Mapping[str, str]:
        """Return every thread of the home with its workspace, as they were when the first conversation asked."""
        if self._threads is None:
            threads: dict[str, str] = {}
            params = ThreadListParams(limit=100)
            while True:
                page = await self._client.call(call.THREAD_LIST, params)
                threads |= {thread.thread_id: thread.workspace_id for thread in page.threads}
                if page.next_cursor is None:
                    break
                params = msgspec.structs.replace(params, cursor=page.next_cursor)
            self._threads = threads
        return self._threads

    def is_repeated(self, conversation: Conversation) -> bool:
        """Return whether this run had a conversation of that id already."""
        key = bytes.fromhex(stable_id(conversation.kind, conversation.source_id))[:16]
        if key in self._seen:
            return True
        self._seen.add(key)
        return False

    async def import_one(self, conversation: Conversation, file: str) -> None:
        """Import one conversation and report its outcome. Raises `Stopped`."""
        self._client.received.clear()  # the import waits for no notification, and there is one for each indexed turn
        try:
            project = await self._project_of(conversation)
            done = await self._import_turns(conversation, project)
        except CallFailed as failed:
            if failed.reason not in FAULTS_OF_CONVERSATION:
                raise Stopped(UNAVAILABLE, f"the gateway refused: {failed.message}") from failed
            self._report.skip(Skipped(file, conversation.title or conversation.source_id, f"refused:{failed.reason}"))
        except Unreadable as problem:
            self._report.skip(Skipped(file, conversation.title or conversation.source_id, problem.reason))
        else:
            self._report.add(
                conversation,
                project.workspace_id,
                done.outcome,
                imported=done.imported,
                replaced=done.replaced,
                unchanged=done.unchanged,
            )

    async def _import_turns(self, conversation: Conversation, project: Project) -> _ImportedTurns:
        """Compare the turns with the home by a dry run, which holds up no writer, and send them if some differ."""
        groups = list(requests(turns(conversation, self._sizes), self._sizes))
        *first, total = accumulate(map(len, groups), initial=0)
        parts = [
            _Part(group, offset, has_more=offset + len(group) < total)
            for group, offset in zip(groups, first, strict=True)
        ]
        seen = _ImportedTurns()
        if not await self._has_workspace(project):
            seen.imported = total
            return seen
        for part in parts:
            seen.add(await self._send(conversation, project, part, seen.generation, is_dry_run=True))
        if not self._options.is_dry_run and seen.outcome != "unchanged":
            for part in parts:
                await self._send(conversation, project, part, seen.generation)
        return seen

    async def _send(
        self,
        conversation: Conversation,
        project: Project,
        part: _Part,
        generation: int | None,
        *,
        is_dry_run: bool = False,
    ) -> ThreadImportResult:
        params = ThreadImportParams(
            workspace_id=project.workspace_id,
            source=ImportSource(kind=conversation.kind, id=_source_id(conversation)),
            turns=part.turns,
            offset=part.offset,
            has_more=part.has_more,
            dry_run=is_dry_run,
            name=conversation.title[:MAX_NAME] if conversation.title else None,
            generation=generation,
        )
        if len(msgspec.json.encode(params)) + MAX_SOURCE_ID > self._line:  # such a line would never be answered
            raise Unreadable("refused:message_too_large")
        return await self._send_import(params)

    async def _send_import(self, params: ThreadImportParams) -> ThreadImportResult:
        """Return the gateway's answer, after at most as many retries as `RETRIES_MS` has waits. Raises `CallFailed`."""
        for wait_ms in RETRIES_MS:
            try:
                return await self._client.call(call.THREAD_IMPORT, params)
            except CallFailed as failed:
                if not failed.data.get("retryable"):
                    raise
            await asyncio.sleep(wait_ms / 1000)
        return await self._client.call(call.THREAD_IMPORT, params)


class ImportWindow:
    """Conversations on their way: a few at once, so that neither process waits for the other."""

    def __init__(self, importer: ConversationImporter) -> None:
        self._importer = importer
        self._tasks: set[asyncio.Task[None]] = set()

    async def put(self, conversation: Conversation, file: str) -> None:
        """Begin a conversation as soon as there is room. Raises the error of an earlier one."""
        self._tasks.add(asyncio.create_task(self._importer.import_one(conversation, file)))
        await self._wait(IN_FLIGHT - 1)

    async def close(self) -> None:
        """Wait for all of them."""
        await self._wait(0)

    async def abandon(self) -> None:
        """Drop the conversations whose answers did not come."""
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _wait(self, most: int) -> None:
        while len(self._tasks) > most:
            done, self._tasks = await asyncio.wait(self._tasks, return_when=asyncio.FIRST_COMPLETED)
            for task in done:
                task.result()


async def _import_all(
    importer: ConversationImporter, sources: Sequence[ImportFile], report: ImportCounts, ticker: Ticker
) -> None:
    window = ImportWindow(importer)
    try:
        for source in sources:
            report.files += 1
            try:
                for found in read(source, ticker.advance):
                    if isinstance(found, Skipped):
                        report.skip(found)
                    elif importer.is_repeated(found):
                        report.skip(Skipped(source.origin.name, found.title or found.source_id, "duplicate_id"))
                    else:
                        await window.put(found, source.origin.name)
                    ticker.show(report)
            except Unreadable as problem:
                report.skip(Skipped(source.origin.name, "", problem.reason))
            await asyncio.sleep(0)  # lets a signal through, also where nothing is sent
        await window.close()
    finally:
        await window.abandon()


async def _open_gateway(options: ImportOptions) -> tuple[GatewayClient, int]:
    """Start a gateway on the home; return it and the most bytes of a line that it takes.

    Raises `Stopped` with the process's exit code.
    """
    config = [] if options.config is None else ["--config", str(options.config)]
    try:
        client = await GatewayClient.start([*console_script(), "serve", "--home", str(options.home), *config])
    except OSError as error:
        raise Stopped(UNAVAILABLE, "the gateway cannot be started") from error
    hello = InitializeParams(
        protocol_version=PROTOCOL_VERSION, client=ClientInfo(name="pioneer import", version="1", time_zone="UTC")
    )
    try:
        return client, (await client.call(call.INITIALIZE, hello)).limits.max_message_bytes
    except ConnectionClosed as error:
        code = await client.wait()
        last = client.stderr.decode("utf-8", "replace").strip().rpartition("\n")[2]
        raise Stopped(code or UNAVAILABLE, last.removeprefix("pioneer: ")) from error
    except CallFailed as failed:
        await client.close()
        raise Stopped(UNAVAILABLE, failed.message) from failed


async def _run(options: ImportOptions, report: ImportCounts) -> None:
    """Run the whole import. Raises `Stopped`; an interruption is noted in the report."""
    found = list(walk(options.path))
    sources = [source for source in found if isinstance(source, ImportFile)]
    for entry in found:
        if isinstance(entry, Skipped):
            report.skip(entry)
    client, max_message_bytes = await _open_gateway(options)
    ticker = Ticker(sum(source.size for source in sources))
    try:
        importer = ConversationImporter(client, options, report, max_message_bytes)
        await _import_all(importer, sources, report, ticker)
    except CallFailed as failed:
        raise Stopped(UNAVAILABLE, failed.message) from failed
    except ConnectionClosed as error:
        raise Stopped(UNAVAILABLE, "the gateway ended before the import did") from error
    except asyncio.CancelledError:  # Ctrl-C: stored turns stay, the gateway is still ended in order
        report.is_interrupted = True
    finally:
        ticker.close()
        await client.close()


def _exit_code(report: ImportCounts) -> int:
    if report.is_interrupted:
        return INTERRUPTED
    if not report.conversations:
        return DATA if report.reasons else NO_INPUT
    return DATA if report.has_failures else 0


def main(options: ImportOptions) -> int:
    """Import the conversations of a path; return the exit code. Raises `Stopped` where none was begun."""
    report = ImportCounts(options.workspace_id, is_dry_run=options.is_dry_run)
    if not options.path.exists():
        raise Stopped(NO_INPUT, f"there is no such file or folder: {to_printable(str(options.path))}")
    if not re.fullmatch(ID_TEXT, options.workspace_id):
        raise Stopped(USAGE, "a workspace is named by 1 to 128 of A-Z, a-z, 0-9, _ . : -")
    problem: Stopped | None = None
    try:
        asyncio.run(_run(options, report))
    except Stopped as stopped:
        if not report.files:
            raise
        problem, report.problem = stopped, stopped.line
    except KeyboardInterrupt:  # before anything was sent, or a second time
        report.is_interrupted = True
    (report.write_json if options.is_json else report.write)(sys.stdout)
    if problem is not None:
        sys.stderr.write(f"pioneer import: {problem.line}\n")
        return problem.code
    return _exit_code(report)
