"""Answers that a host is sent again: the prompt of a turn that it prepared, the reply of a tool that it called.

Rule 1: every stored answer is sent again through here alone, without what was forgotten since.
Rule 2: a source that has no mark now counts as forgotten.
"""

from collections.abc import Mapping
from typing import Any, Final

import msgspec
from msgspec import Struct

from agent.forget.redaction import empty_answer, memories_named
from agent.prompt.compiler import Compiled, RenderedContext
from agent.rows.artifacts import find_kept
from agent.tools import failure
from agent.turns.pipeline import PreparedTurn
from promt.render import render_block
from protocol.conversation.host_turns import PromptSection, ToolReply
from protocol.conversation.manifests import SourceRef
from protocol.seams.house_facts import Marks
from protocol.seams.ports import Tx

_REPLY: Final = msgspec.json.Decoder(ToolReply)
"""Built at import: msgspec does not guard two threads that build the decoder of one type at once."""


class Hosted(Struct, frozen=True):
    """A turn that is ready for its host's model, and the marks that its sources had when this was stored."""

    prepared: PreparedTurn
    marks: Mapping[str, bytes]


class Replays:
    """Returns stored prompts and replies as they may be shown now."""

    def __init__(self, marks: Marks) -> None:
        self._marks = marks

    def to_hosted(self, tx: Tx, prepared: PreparedTurn) -> Hosted:
        """Return a prepared turn as it may be sent again."""
        return Hosted(prepared, self._marks(tx, _list_shown_sources(prepared.compiled)))

    def replay_prompt(self, tx: Tx, hosted: Hosted) -> PreparedTurn:
        """Return the turn as it was prepared, without the lines whose source changed since or may not be shown."""
        compiled = hosted.prepared.compiled
        now = self._marks(tx, _list_shown_sources(compiled))
        kept = {name for name, mark in now.items() if hosted.marks.get(name) == mark}
        blocks = [left for block in compiled.blocks if (left := _render_kept_lines(block, kept)) is not None]
        sections = [left for section in compiled.sections if (left := _keep_lines(section, compiled, kept))]
        return hosted.prepared._replace(compiled=compiled._replace(blocks=blocks, sections=sections))

    def replay_reply(self, tx: Tx, result: str, workspace_id: str) -> ToolReply:
        """Return a stored answer of a tool, without the memories and the files that are not there any more."""
        named = memories_named(result)
        gone = named - self._marks(tx, [SourceRef(kind="memory", id=name) for name in sorted(named)]).keys()
        reply = _REPLY.decode(empty_answer(result, gone) if gone else result)
        file = _file_of(reply.data)
        if file is not None and find_kept(tx, *file, workspace_id) is None:
            return failure("not_found", "There is no such artifact here.")
        return reply


def _list_shown_sources(compiled: Compiled) -> list[SourceRef]:
    """Return the sources of everything that the prompt shows."""
    lines = [line for of_section in compiled.lines.values() for line in of_section]
    return [*(line.ref for line in lines), *(ref for block in compiled.blocks for ref in block.rendered.refs)]


def _keep_lines(section: PromptSection, compiled: Compiled, kept: set[str]) -> PromptSection | None:
    """Return the section without the lines whose source is not kept; None where it had lines and none is left."""
    lines = compiled.lines.get(section.section_id, [])
    gone = {line.text for line in lines if line.ref.id not in kept}
    if not gone:
        return section
    if len(gone) == len(lines):
        return None
    text = "\n".join(line for line in section.text.split("\n") if line not in gone)
    return msgspec.structs.replace(section, text=text)


def _render_kept_lines(block: RenderedContext, kept: set[str]) -> RenderedContext | None:
    """Return the block with those of its lines whose source is kept; None where none is."""
    shown = {ref.id for ref in block.rendered.refs}
    if shown <= kept:
        return block
    rendered = render_block(
        block.context.domain,
        [item for item in block.context.items if item.ref.id in shown & kept],
        nonce=block.block_id.removeprefix(f"{block.context.context_id}_"),
        max_chars=len(block.rendered.text),
        max_item_chars=block.context.max_item_chars,
    )
    return block._replace(rendered=rendered) if rendered is not None else None


def _file_of(data: Any) -> tuple[str, str | None] | None:
    """Return the artifact and version that a tool's answer names; None where it names none."""
    artifact_id = data.get("artifact_id") if isinstance(data, dict) else None  # pyright: ignore[reportUnknownMemberType,reportUnknownVariableType]
    return (artifact_id, data.get("version_id")) if isinstance(artifact_id, str) else None  # pyright: ignore[reportUnknownMemberType,reportUnknownVariableType]
