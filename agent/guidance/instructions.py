"""Instruction files of a turn: the section of its prompt, its diagnostics, and the texts that earlier turns had.

Rule 1: files are read for each turn. Nothing watches them, and nothing indexes them.
Rule 2: what a turn was given is known afterwards: its files' digests stand in its manifest, their texts are versions.
"""

import hashlib
import os
from collections.abc import Callable, Mapping
from typing import Literal, NamedTuple, TypeAlias

from msgspec import Struct

from agent.guidance.budget import Fitted, SteeringText, fit
from agent.guidance.chain import Chain, InstructionSources, LoadedFile, load_chain
from agent.guidance.ports import InstructionDisk
from agent.rows.instructions import (
    InstructionState,
    add_instruction_version,
    put_instructions_used,
    read_instruction_state,
)
from agent.rows.threads import WorkFolder
from promt import load
from promt.render import shorten
from protocol.conversation.manifests import ManifestBudget, SourceRef
from protocol.conversation.values import ThreadOrigin
from protocol.guidance import InstructionChange, InstructionVersion
from protocol.hooks import Contribution, DiagnosticContribution, SectionContribution
from protocol.notifications import InstructionsChanged
from protocol.seams.ports import Clock, Notify, SecretScanner, Tx
from protocol.settings import InstructionSettings

SECTION_ID = "project_instructions"
UNKNOWN_WINDOW_CHARS = 12_000
"""The budget where the model's window is not known: a half of the usual request."""
WINDOW_SHARE = 4
"""Instruction files take at most a quarter of the window."""
CHARS_PER_TOKEN = 3
"""Of the window, which is in tokens: rather too few characters than too many."""
MAX_EACH = 32
"""Refusals, and files with hidden characters, that get a diagnostic each; more refusals are counted in one."""
MAX_DIAGNOSTICS = 56
"""Of one turn: a hook makes at most 64 contributions (`MAX_CONTRIBUTIONS`), and the section is one of them."""
MAX_COUNTED = 1024
"""Texts whose secrets were counted; beyond it the counts are forgotten."""
MAX_MESSAGE_CHARS = 400
HARMLESS = (None, "empty", "repeated")
"""Problems by which a turn lacks nothing: the preview alone shows them."""


class Wanted(NamedTuple):
    """The instruction files that a turn asks for: its folder, its workspace and its window in tokens."""

    workspace_id: str
    workspace_root: str | None
    folder: WorkFolder
    origin: ThreadOrigin
    cwd: str | None
    """The turn's own; None where it names none."""
    window_tokens: int | None
    state: InstructionState
    agent_takes: bool = True
    """The agent's definition lets the project's files in."""

    @property
    def start(self) -> str | None:
        """Return the folder to begin at; None where there is none."""
        cwd = self.cwd or self.folder.cwd
        if self.origin == "task" and self.workspace_root is not None:
            return self.workspace_root
        if self.folder.files is None and cwd is None:
            return None
        return cwd or self.workspace_root


OffReason: TypeAlias = Literal["thread", "no_folder", "agent", "disabled", "workspace"]
"""The reason why a turn has no instruction files: its thread's choice or lack of a folder, its agent's, a setting's,
or that of its workspace."""


class Instructions(Struct, frozen=True):
    """The instruction files as a turn is given them."""

    chain: Chain
    fitted: Fitted
    text: str
    limit: int
    off: OffReason | None
    """None where there may be some."""
    is_missing: bool = False
    """The folder itself is not there."""

    @property
    def loaded(self) -> list[LoadedFile]:
        """Return the files that have a text."""
        return [file for file in self.chain.files if file.source is not None]

    @property
    def digests(self) -> dict[str, str]:
        """Return the digests of the files, by path."""
        return {file.path: file.source.sha256 for file in self.loaded if file.source is not None}

    @property
    def used(self) -> dict[str, dict[str, str]]:
        """Return the digests of the files by path, for each folder between the boundary and the turn's own."""
        keys = [hashlib.sha256(os.fsencode(folder)).hexdigest()[:32] for folder in self.chain.folders]
        found: dict[str, dict[str, str]] = {key: {} for key in keys}
        for file in self.loaded:
            if file.source is not None:
                found[keys[file.level]][file.path] = file.source.sha256
        return found

    def differs(self, used: Mapping[str, Mapping[str, str]]) -> bool:
        """Return whether a folder has other files than the last turn had from it."""
        return any(files != used.get(folder, {}) for folder, files in self.used.items())


def budget_of(settings: InstructionSettings, window_tokens: int | None) -> int:
    """Return how many characters instruction files may have."""
    window = UNKNOWN_WINDOW_CHARS if window_tokens is None else window_tokens * CHARS_PER_TOKEN // WINDOW_SHARE
    return min(settings.max_chars, window)


class InstructionReader:
    """Reads the instruction files of turns."""

    def __init__(
        self,
        *,
        disk: InstructionDisk,
        scanner: SecretScanner,
        clock: Clock,
        notify: Notify,
        settings: Callable[[], InstructionSettings],
    ) -> None:
        self._disk = disk
        self._scanner = scanner
        self._clock = clock
        self._notify = notify
        self._settings = settings
        self._sources = InstructionSources(disk)
        self._secrets: dict[str, int] = {}

    def read(self, wanted: Wanted) -> Instructions:
        """Return the instructions that a turn is given. Reads the disk."""
        settings = self._settings()
        limit = budget_of(settings, wanted.window_tokens)
        off = self._find_reason_off(wanted, limit)
        cwd = self._disk.real_folder(wanted.start) if off is None and wanted.start is not None else None
        if cwd is None:
            return Instructions(Chain("cwd"), Fitted([], []), "", limit, off, is_missing=off is None)
        chain = load_chain(
            self._sources,
            self._disk,
            cwd,
            wanted.workspace_root,
            profile=wanted.folder.profile,
            depth=settings.include_depth,
        )
        head = load(SECTION_ID).text.removesuffix("{files}")
        fitted = fit([piece for file in chain.files if (piece := _piece(file)) is not None], limit - len(head))
        text = head + fitted.text if fitted.text else ""
        return Instructions(chain, fitted, text, limit, None)

    def _find_reason_off(self, wanted: Wanted, limit: int) -> OffReason | None:
        """Return why a turn has no instruction files, the reason nearest to it first; None where it may have some."""
        if wanted.folder.files == "off":
            return "thread"
        if wanted.start is None:
            return "no_folder"
        if not wanted.agent_takes:
            return "agent"
        if not self._settings().enabled or not limit:
            return "disabled"
        return "workspace" if wanted.state.mode == "off" else None

    # -- section and diagnostics -----------------------------------------------------------------------------------

    def contributions(self, given: Instructions) -> list[Contribution]:
        """Return the section of the prompt, and the diagnostics of it for a person."""
        section = SectionContribution(
            section_id=SECTION_ID,
            domain="agent",
            title=load(SECTION_ID).title,
            text=given.text,
            verbatim=True,
            truncated=bool(given.fitted.cuts),
            budget=ManifestBudget(name=SECTION_ID, limit=given.limit, used=len(given.text)),
            source_refs=[SourceRef(kind="instruction", id=path, sha256=sha) for path, sha in given.digests.items()],
        )
        told = self.diagnostics(given)
        return [section, *told] if given.off is None else [*told]

    def diagnostics(self, given: Instructions) -> list[DiagnosticContribution]:
        """Return the diagnostics for a person: cuts, refusals, hidden characters, secrets."""
        if given.off is not None:
            return [self._build_diagnostic("instructions_off", None, reason=given.off)]
        found = [self._build_diagnostic("cwd_missing", None)] if given.is_missing else []
        if given.fitted.cuts:
            cuts = "; ".join(f"{cut.path}: lines {cut.from_line}-{cut.to_line}" for cut in given.fitted.cuts)
            count, chars = len(given.fitted.cuts), sum(cut.chars for cut in given.fitted.cuts)
            found.append(self._build_diagnostic("instructions_cut", cuts, count=count, chars=chars))
        refused = [file for file in given.chain.files if file.problem not in HARMLESS]
        found += [self._refusal(file) for file in refused[:MAX_EACH]]
        if len(refused) > MAX_EACH:
            found.append(self._build_diagnostic("include_refused", None, count=len(refused) - MAX_EACH))
        for file in given.loaded[:MAX_EACH]:
            if file.source is not None and file.source.hidden:
                lines = ", ".join(map(str, file.source.hidden))
                count = sum(file.source.hidden.values())
                found.append(self._build_diagnostic("hidden_characters", f"{file.path}: lines {lines}", count=count))
        with_secrets = [(file.path, count) for file in given.loaded if (count := self._count_secrets(file))]
        if with_secrets:
            paths, count = ", ".join(path for path, _ in with_secrets), sum(count for _, count in with_secrets)
            found.append(self._build_diagnostic("secret_in_instructions", paths, count=count))
        return found[:MAX_DIAGNOSTICS]

    def _refusal(self, file: LoadedFile) -> DiagnosticContribution:
        if file.included_by is None:
            return self._build_diagnostic("instructions_unreadable", file.path, reason=file.problem)
        return self._build_diagnostic("include_refused", f"{file.path} in {file.included_by}", reason=file.problem)

    def _build_diagnostic(self, code: str, message: str | None, **data: object) -> DiagnosticContribution:
        said = shorten(self._scanner.mask(message), MAX_MESSAGE_CHARS) if message is not None else None
        return DiagnosticContribution(code=code, message=said, data=dict(data) or None)

    def _count_secrets(self, file: LoadedFile) -> int:
        """Return how many secrets a file holds; a text is searched once."""
        if file.source is None:
            return 0
        if file.source.sha256 not in self._secrets:
            if len(self._secrets) > MAX_COUNTED:
                self._secrets.clear()
            self._secrets[file.source.sha256] = len(self._scanner.find(file.source.text))
        return self._secrets[file.source.sha256]

    # -- what is kept ----------------------------------------------------------------------------------------------

    def record(self, tx: Tx, workspace_id: str, given: Instructions) -> None:
        """Store the files' texts that are new, and notify of what differs from the last turn that had them."""
        used, now = read_instruction_state(tx, workspace_id).used, given.digests
        if not given.differs(used):
            return
        others = {folder: files for folder, files in used.items() if folder not in given.used}
        put_instructions_used(tx, workspace_id, others | {key: files for key, files in given.used.items() if files})
        before = {path: sha for folder in given.used for path, sha in used.get(folder, {}).items()}
        at = self._clock.now()
        for file in given.loaded:
            if file.source is not None and before.get(file.path) != file.source.sha256:
                text = self._scanner.mask(file.source.text)
                version = InstructionVersion(sha256=file.source.sha256, at=at, text=text)
                add_instruction_version(tx, workspace_id, file.path, version)
        files = [
            InstructionChange(path=path, sha256=sha, change="changed" if path in before else "added")
            for path, sha in now.items()
            if before.get(path) != sha
        ]
        files += [
            InstructionChange(path=path, sha256=sha, change="removed")
            for path, sha in before.items()
            if path not in now
        ]
        if files:
            notice = InstructionsChanged(workspace_id=workspace_id, files=files)
            tx.after_commit(lambda: self._notify("instructions/changed", notice))


def _piece(file: LoadedFile) -> SteeringText | None:
    """Return a file as it stands in the prompt: one that cannot be read is named, a refused include is not."""
    by = f" (included by {file.included_by})" if file.included_by is not None else ""
    if file.source is not None:
        return SteeringText(file.path, f"### {file.path}{by}\n\n", file.source.text, file.level)
    if file.problem in HARMLESS or by:
        return None
    notice = f"[{file.path}: left out, {str(file.problem).replace('_', ' ')}]\n"
    return SteeringText(file.path, "", notice, file.level)


def lines_used(file: LoadedFile, fitted: Fitted) -> int:
    """Return how many lines of a file stand in the prompt."""
    if file.source is None or not file.source.text:
        return 0
    cut = next((cut for cut in fitted.cuts if cut.path == file.path), None)
    kept = file.source.text[: len(file.source.text) - cut.chars] if cut is not None else file.source.text
    return kept.count("\n") + (not kept.endswith("\n")) if kept else 0
