"""Puts a prompt together from what hooks contributed, within budgets.

Rule 1: recalled text is data in a block of its own, before the user's words, never in the system role unless the host
asks. What a section shows of its own accord is as stable as the section.
Rule 2: what does not fit is skipped, the next may fit; every cut is in the manifest.
Rule 3: the stable part comes first and is byte-identical from turn to turn; what varies comes last.
"""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import msgspec

from agent.values import Contributed, History, Injected
from promt.render import Rendered, render_block, shorten
from promt.tokens import estimate_tokens
from protocol.conversation.host_turns import ContextBlock, PromptSection
from protocol.conversation.manifests import ManifestBudget, ManifestRecall, ManifestSection, SourceRef
from protocol.conversation.values import Placement, RecallStatus
from protocol.hooks import PromptContext, SectionContribution
from protocol.models import Message, Picture
from protocol.shown import ShownLine

MAX_CONTEXTS = 16
MAX_CONTEXT_CHARS = 12_000
"""Of all recalled blocks of a prompt together."""
MAX_SECTIONS = 16
MAX_SECTION_CHARS = 8_000
MAX_SECTIONS_CHARS = 16_000
"""Of all sections that are not verbatim together."""

DEFAULT_SYSTEM = "You are a helpful assistant. Answer the user's last message."

SECTION_OF: Mapping[str, str] = {
    "memory": "memory_recall",
    "thread": "thread_context",
    "knowledge": "file_context",
}
"""The section under which a domain's recalled blocks stand in the manifest."""

RECALL_ORDER: tuple[RecallStatus, ...] = ("recalled", "partial", "failed", "empty", "skipped", "off")
"""The status of the turn's recall is the first of these that any context has."""


class RenderedContext(NamedTuple):
    """A rendered context and the hook that it came from."""

    block_id: str
    hook_id: str
    context: PromptContext
    rendered: Rendered


class Compiled(NamedTuple):
    """A prompt without history and without the user's words.

    `lines` are those of its sections that show stored things.
    """

    sections: list[PromptSection]
    blocks: list[RenderedContext]
    manifest: list[ManifestSection]
    budgets: list[ManifestBudget]
    recall: ManifestRecall
    lines: Mapping[str, Sequence[ShownLine]] = {}

    def not_shown(self, recall: ManifestRecall) -> "Compiled":
        """Return the prompt for the manifest of a turn whose model saw neither its sections nor its blocks."""
        return self._replace(manifest=[], budgets=unspend(self.budgets), recall=recall)


def unspend(budgets: Sequence[ManifestBudget]) -> list[ManifestBudget]:
    """Return budgets of which nothing was used."""
    return [msgspec.structs.replace(one, used=0) for one in budgets]


def render_contexts(contributed: Sequence[Contributed], nonce: str) -> list[RenderedContext]:
    """Return the contexts as blocks, best first, within the budget of all of them together."""
    blocks: list[RenderedContext] = []
    used = 0
    shown: set[str] = set()
    for hook_id, context in contributed:
        if not isinstance(context, PromptContext) or len(blocks) == MAX_CONTEXTS:
            continue
        fresh = [item for item in context.items if item.ref.id not in shown]
        room = min(context.max_chars, MAX_CONTEXT_CHARS - used)
        rendered = render_block(
            context.domain, fresh, nonce=nonce, max_chars=room, max_item_chars=context.max_item_chars
        )
        if rendered is not None:
            blocks.append(RenderedContext(f"{context.context_id}_{nonce}", hook_id, context, rendered))
            used += len(rendered.text)
            shown |= {ref.id for ref in rendered.refs}
    return blocks


def choose_sections(
    contributed: Sequence[Contributed],
) -> tuple[list[tuple[str, SectionContribution]], list[bool]]:
    """Return the sections that fit, each with its hook's id, and for each a flag that it was cut.

    A section is cut at a word. Verbatim sections stand first: they are not cut, and take no room of the others. Stable
    ones follow, fixed texts before those with lines.
    """
    sections = [(hook_id, c) for hook_id, c in contributed if isinstance(c, SectionContribution) and c.text]
    chosen = [(hook_id, section) for hook_id, section in sections if section.verbatim]
    cuts = [section.truncated for _, section in chosen]
    used, most = 0, MAX_SECTIONS + len(chosen)
    others = [entry for entry in sections if not entry[1].verbatim]
    for hook_id, section in sorted(others, key=lambda entry: (not entry[1].stable, bool(entry[1].lines))):
        text = shorten(section.text, MAX_SECTION_CHARS)
        if len(chosen) == most or used + len(text) > MAX_SECTIONS_CHARS:
            continue
        cuts.append(section.truncated or len(text) < len(section.text))
        chosen.append((hook_id, msgspec.structs.replace(section, text=text)))
        used += len(text)
    return chosen, cuts


def budgets_of(kind: str, limit: int, texts: Sequence[str]) -> list[ManifestBudget]:
    """Return the budgets of a limit with the characters and estimated tokens that `texts` take.

    The limit in characters is the one that is kept. It holds for tokens too: no character is more than one token.
    """
    return [
        ManifestBudget(name=f"{kind}_chars", limit=limit, used=sum(len(text) for text in texts)),
        ManifestBudget(name=f"{kind}_tokens", limit=limit, used=sum(estimate_tokens(text) for text in texts)),
    ]


def _rank_outcome(outcome: tuple[RecallStatus, str]) -> tuple[int, bool]:
    """Return the sort key of an outcome: by status, and of equal ones last what says only that nothing matched."""
    status, reason = outcome
    return RECALL_ORDER.index(status), reason == "no_match"


def recall_of(
    contexts: Sequence[PromptContext], blocks: Sequence[RenderedContext], *, failed: bool, off_reason: str
) -> ManifestRecall:
    """Return everything that the turn recalled: the sources that really stand in the prompt, not those found."""
    refs = [ref for block in blocks for ref in block.rendered.refs]
    outcomes: list[tuple[RecallStatus, str]] = [(context.status, context.reason) for context in contexts]
    if failed:
        outcomes.append(("failed", "hook_failed"))
    status, reason = min(outcomes, key=_rank_outcome, default=("off", off_reason))
    if status == "recalled" and not refs:
        status, reason = "partial", "budget_too_small"
    elif status == "recalled" and failed:
        status, reason = "partial", "hook_failed"
    elif status == "skipped" and reason == "memory_disabled":
        status = "off"  # memory is off altogether: the turn itself skipped nothing
    return ManifestRecall(
        status=status,
        reason=reason,
        memory_ids=[ref.id for ref in refs if ref.kind == "memory"],
        chunk_ids=[ref.id for ref in refs if ref.kind == "chunk"],
        knowledge_ids=[ref.id for ref in refs if ref.kind == "file"],
    )


def compile_prompt(contributed: Sequence[Contributed], *, nonce: str, recall_failed: bool, off_reason: str) -> Compiled:
    """Return the prompt of a turn from everything that its hooks contributed."""
    blocks = render_contexts(contributed, nonce)
    sections, cuts = choose_sections(contributed)
    contexts = [c for _, c in contributed if isinstance(c, PromptContext)]
    own_budgets = [c.budget for _, c in contributed if isinstance(c, SectionContribution) and c.budget is not None]
    by_section: dict[str, list[RenderedContext]] = {}
    for block in blocks:
        by_section.setdefault(SECTION_OF[block.context.domain], []).append(block)
    manifest = [
        _build_entry(hook_id, section, by_section.pop(section.section_id, []), was_cut=was_cut)
        for (hook_id, section), was_cut in zip(sections, cuts, strict=True)
    ]
    for section_id, left in by_section.items():
        manifest.append(
            ManifestSection(
                section_id=section_id,
                hook_id=left[0].hook_id,
                domain=left[0].context.domain,
                chars=sum(len(block.rendered.text) for block in left),
                truncated=any(block.rendered.truncated for block in left),
                source_refs=_refs(left),
            )
        )
    return Compiled(
        sections=[
            PromptSection(section_id=s.section_id, title=s.title, text=s.text, stable=s.stable) for _, s in sections
        ],
        blocks=blocks,
        manifest=manifest,
        budgets=[
            *budgets_of("context", MAX_CONTEXT_CHARS, [block.rendered.text for block in blocks]),
            *budgets_of("section", MAX_SECTIONS_CHARS, [s.text for _, s in sections if not s.verbatim]),
            *own_budgets,
        ],
        lines={section.section_id: section.lines for _, section in sections if section.lines},
        recall=recall_of(contexts, blocks, failed=recall_failed, off_reason=off_reason),
    )


def _build_entry(
    hook_id: str, section: SectionContribution, blocks: Sequence[RenderedContext], *, was_cut: bool
) -> ManifestSection:
    """Return a section's entry in the manifest, with the blocks that are recalled for it."""
    return ManifestSection(
        section_id=section.section_id,
        hook_id=hook_id,
        domain=section.domain,
        chars=len(section.text) + sum(len(block.rendered.text) for block in blocks),
        truncated=was_cut or any(block.rendered.truncated for block in blocks),
        source_refs=[*section.source_refs, *(line.ref for line in section.lines), *_refs(blocks)],
    )


def _refs(blocks: Sequence[RenderedContext]) -> list[SourceRef]:
    return [ref for block in blocks for ref in block.rendered.refs]


def list_injected(compiled: Compiled) -> list[Injected]:
    """Return each stored thing that the prompt shows, as the ledger stores it."""
    return [
        *(
            Injected(name, [(one.text, one.ref) for one in lines], is_standing=True)
            for name, lines in compiled.lines.items()
        ),
        *(Injected(b.block_id, list(zip(b.rendered.lines, b.rendered.refs, strict=True))) for b in compiled.blocks),
    ]


def context_blocks(blocks: Sequence[RenderedContext], placement: Placement) -> list[ContextBlock]:
    """Return the blocks as a host gets them."""
    return [
        ContextBlock(
            block_id=b.block_id,
            domain=b.context.domain,
            text=b.rendered.text,
            placement=placement,
            source_refs=b.rendered.refs,
        )
        for b in blocks
    ]


def system_text(sections: Sequence[PromptSection], system_prompt: str | None, instructions: str | None) -> str:
    """Return the system message: what stays the same in every turn of a thread."""
    parts = [system_prompt or DEFAULT_SYSTEM]
    if instructions:
        parts.append(instructions)
    parts += [f"## {section.title}\n\n{section.text}" for section in sections]
    return "\n\n".join(parts)


def messages_of(
    system: str,
    history: History,
    blocks: Sequence[RenderedContext],
    text: str,
    pictures: Sequence[Picture] = (),
    placement: Placement = "before_user",
) -> list[Message]:
    """Return the request's messages; the last user message is the user's own text and pictures only."""
    context = "\n\n".join(block.rendered.text for block in blocks)
    own = Message(role="user", content=text, pictures=list(pictures))
    if not context:
        return [Message(role="system", content=system), *history.messages, own]
    if placement == "system_suffix":
        return [Message(role="system", content=f"{system}\n\n{context}"), *history.messages, own]
    return [Message(role="system", content=system), *history.messages, Message(role="user", content=context), own]
