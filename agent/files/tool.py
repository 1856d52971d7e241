"""The tool `artifact_read`: a part of a file that a message of the workspace carried.

Rule 1: nothing outside the thread's workspace is read; what is elsewhere answers like what does not exist.
Rule 2: what a file says is a tool's answer: data, without the secrets in it, within the tool's room, with the
offset at which more follows.
Rule 3: a file that cannot be read is a tool error that says why; nothing about a file ends a turn.
"""

from collections.abc import Mapping
from contextlib import closing
from typing import Any

import msgspec

from agent.files.pages import READ_AHEAD_CHARS, Document, Documents, PdfProblem, ReadPdf
from agent.files.reading import Reading, TextWindow
from agent.files.text import delimiter_of, essence_of, fields_of, mask_spans, records_of
from agent.rows.artifacts import find_kept
from agent.tools import failure, fits, most_that_fits
from protocol.conversation.artifacts import ArtifactRef
from protocol.conversation.host_turns import ToolReply
from protocol.hooks import HookInput, HookOutput, Subscription, ToolBundle, ToolCall, ToolContext
from protocol.seams.ports import SecretScanner, Transact
from protocol.tools import ArtifactReadArgs, tool_spec

ARTIFACT_READ = "artifact_read"

MARGIN_CHARS = 4096
"""Looked at on both sides of a page, so that a secret across its edge is seen whole: a private key has up to 3,300."""
HEADER_CHARS = 2000
"""A table's first record goes with every page while it is no longer."""

PDF_FAILURES: Mapping[PdfProblem, tuple[str, str]] = {
    "encrypted": ("unsupported", "The PDF is encrypted."),
    "broken": ("unsupported", "The PDF is damaged and cannot be read."),
    "too_slow": ("deadline_exceeded", "The PDF takes too long to read; asking again goes on where this try ended."),
    "too_large": ("unsupported", "The PDF needs too much memory to be read."),
    "no_reader": (
        "unsupported",
        "Reading PDF files is not installed here: `uv tool install '.[pdf]'` in pioneer's clone adds it.",
    ),
}


async def _offer(_given: HookInput) -> HookOutput:
    return HookOutput(contributions=[ToolBundle(domain="artifact", tools=[tool_spec(ARTIFACT_READ)])])


class ArtifactTool:
    """Runs `artifact_read`."""

    def __init__(self, *, db: Transact, reading: Reading, read_pdf: ReadPdf, scanner: SecretScanner) -> None:
        self._db = db
        self._reading = reading
        self._read_pdf = read_pdf
        self._scanner = scanner
        self._documents = Documents()

    async def __call__(self, context: ToolContext, _name: str, arguments: dict[str, Any]) -> ToolReply:
        """Return a page of a file: characters of a text or a document, rows of a table, or a picture as a whole."""
        try:
            wanted = msgspec.convert(arguments, ArtifactReadArgs)
        except msgspec.ValidationError as error:
            return failure("invalid_params", str(error))
        place = (wanted.artifact_id, wanted.version_id, context.turn.workspace_id)
        ref = await self._db.read(lambda tx: find_kept(tx, *place))
        if ref is None:
            return failure("not_found", "There is no such artifact here.")
        return await self._read_as_it_is(context, ref, wanted) or failure(
            "unavailable", "The bytes of that artifact are not kept here."
        )

    async def _read_as_it_is(
        self, context: ToolContext, ref: ArtifactRef, wanted: ArtifactReadArgs
    ) -> ToolReply | None:
        """Return the answer that the file's medium allows; None where its bytes are not kept."""
        medium = await self._reading.medium(ref)
        if medium == "picture":
            return await self._picture(context, ref)
        if medium == "pdf":
            return await self._document(ref, wanted)
        if medium == "other":
            return failure("unsupported", f"What is in that file cannot be read as {essence_of(ref.mime)[:100]}.")
        window = await self._reading.window(ref, wanted.offset, wanted.limit, MARGIN_CHARS)
        if window is None or medium is None:
            return None
        return await self._rows(ref, wanted, window) if medium == "table" else self._text(ref, wanted, window)

    def _about(self, ref: ArtifactRef, wanted: ArtifactReadArgs) -> dict[str, Any]:
        return {
            "artifact_id": ref.artifact_id,
            "version_id": ref.version_id,
            "name": self._scanner.mask(ref.name),
            "mime": ref.mime,
            "offset": wanted.offset,
        }

    # -- text ------------------------------------------------------------------------------------------------------

    def _text(
        self, ref: ArtifactRef, wanted: ArtifactReadArgs, window: TextWindow, *, has_more: bool = False
    ) -> ToolReply:
        """Return a page; `has_more`: the document goes on behind the pages that have been read."""
        spans = self._scanner.find(window.text)
        start = wanted.offset - window.start
        about = self._about(ref, wanted) | {"total": None if has_more else window.total}
        if window.is_guess:
            about["encoding"] = "guessed"

        def build_page(count: int) -> dict[str, Any]:
            end = wanted.offset + count
            text = mask_spans(window.text, spans, start, start + count)
            return about | {"text": text, "next_offset": end if has_more or end < window.total else None}

        most = max(0, min(wanted.limit, len(window.text) - start))
        return ToolReply(ok=True, data=build_page(most_that_fits(most, lambda count: fits(build_page(count)))))

    async def _document(self, ref: ArtifactRef, wanted: ArtifactReadArgs) -> ToolReply | None:
        sha256, end = ref.sha256 or "", wanted.offset + wanted.limit
        document = self._documents.get(sha256)
        problem: PdfProblem | None = None
        if len(document.text) < end and not document.is_whole:
            chars = max(end - len(document.text), READ_AHEAD_CHARS)
            file = await self._reading.open_content(ref)
            if file is None:
                return None
            with closing(file):
                read = await self._read_pdf(file, document.pages, chars)
            document, problem = document.extend(read), read.problem
            self._documents.put(sha256, document)
        return self._of_document(ref, wanted, document, problem)

    def _of_document(
        self, ref: ArtifactRef, wanted: ArtifactReadArgs, document: Document, problem: PdfProblem | None
    ) -> ToolReply:
        has_more = not document.is_whole
        if has_more and len(document.text) <= wanted.offset:
            return failure(*PDF_FAILURES[problem or "too_slow"])
        if document.is_whole and not document.has_words:
            return failure("unsupported", "The pages of that PDF hold no text; it may be scanned.")
        start = max(0, wanted.offset - MARGIN_CHARS)
        text = document.text[start : wanted.offset + wanted.limit + MARGIN_CHARS]
        return self._text(ref, wanted, TextWindow(text, start, len(document.text), is_guess=False), has_more=has_more)

    # -- tables ----------------------------------------------------------------------------------------------------

    async def _rows(self, ref: ArtifactRef, wanted: ArtifactReadArgs, window: TextWindow) -> ToolReply:
        """Return whole records; one that is longer than a page is answered as plain text."""
        start = wanted.offset - window.start
        text = window.text[start : start + wanted.limit]
        records = records_of(text, is_end=wanted.offset + len(text) >= window.total)
        head = await self._header(ref, wanted, window)
        if not records or head is None:
            return self._text(ref, wanted, window)
        spans = self._scanner.find(window.text)
        delimiter = "\t" if essence_of(ref.mime).startswith("text/tab") else delimiter_of(head)
        fields = [fields_of(mask_spans(window.text, spans, start + a, start + b), delimiter) for a, b in records]
        about = self._about(ref, wanted) | {"total": window.total}
        if wanted.offset:
            about["columns"] = fields_of(self._scanner.mask(head), delimiter)

        def build_page(count: int) -> dict[str, Any]:
            end = wanted.offset + (records[count - 1][1] if count else 0)
            return about | {"rows": fields[:count], "next_offset": end if end < window.total else None}

        count = most_that_fits(len(records), lambda count: fits(build_page(count)))
        return ToolReply(ok=True, data=build_page(count)) if count else self._text(ref, wanted, window)

    async def _header(self, ref: ArtifactRef, wanted: ArtifactReadArgs, window: TextWindow) -> str | None:
        """Return a table's first record; None where it is too long to go with every page."""
        first: TextWindow | None = window
        if window.start > 0 or wanted.offset:
            first = await self._reading.window(ref, 0, HEADER_CHARS, 0)
        text = first.text[:HEADER_CHARS] if first is not None else ""
        records = records_of(text, is_end=first is not None and len(text) >= first.total)
        return text[: records[0][1]] if records else None

    # -- pictures --------------------------------------------------------------------------------------------------

    async def _picture(self, context: ToolContext, ref: ArtifactRef) -> ToolReply:
        if context.show is None:
            return failure("unsupported", "The model of this turn takes no pictures.")
        picture = await self._reading.picture(ref)
        if picture is None:
            return failure("unsupported", "That picture is too large, or damaged.")
        context.show(picture)
        about = {"artifact_id": ref.artifact_id, "version_id": ref.version_id, "name": self._scanner.mask(ref.name)}
        return ToolReply(ok=True, data={**about, "mime": ref.mime, "shown": True})


def artifact_hooks(tool: ArtifactTool) -> tuple[list[Subscription], dict[str, ToolCall]]:
    """Return the hook that offers the tool in every turn, and the tool by its name."""
    hook = Subscription(hook_id="artifact.tool_bundle", phase="TurnPreToolMaterialization", call=_offer)
    return [hook], {ARTIFACT_READ: tool}
