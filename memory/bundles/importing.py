"""Imports a bundle: all of it is checked before any of it is stored, and it is stored in bounded transactions.

Rule 1: an entry is no proposal, and is not weighed. But a secret, text that a gateway injected, and words that were
forgotten are not imported.
Rule 2: an import that was cut off is completed by importing the bundle again.
"""

from collections.abc import Callable, Iterator, Sequence

import anyio.to_thread
import msgspec

from memory.bundles.intake import Intake, PreparedEntry, Tally
from memory.bundles.text import open_bundle
from memory.ports import Collaborators
from memory.read.vectors import RecordVectors
from memory.rows.forgetting import read_generation
from memory.rows.record_columns import texts_of_details, to_column
from memory.rules.identity import FactIdentity, identify, identity_at, value_text
from memory.rules.sensitivity import clean, judge
from promt.render import carries_own_block
from protocol.base import Scope
from protocol.bundle import BundleCandidate, BundleEntry, BundleRecord, BundleTombstone
from protocol.errors import CallerError
from protocol.memory.bundles import ImportParams, ImportResult
from protocol.seams.ports import KeyedHash, Tx
from protocol.seams.rehearsal import rehearse

CHUNK = 100
"""Entries of a transaction, which other writers wait for: some tens of milliseconds."""


class BundleImporter:
    """Answers `memory/import`."""

    def __init__(self, means: Collaborators, vectors: RecordVectors) -> None:
        self._means = means
        self._vectors = vectors

    async def take(self, params: ImportParams, scopes: Sequence[Scope], allow: Callable[[Tx], None]) -> ImportResult:
        """Import a bundle, or only find what an import would do; return the counts and conflicts.

        `allow` raises, in each transaction, for a caller who may not write. Raises `CallerError` for a text that is no
        valid bundle.
        """
        began = await self._means.db.read(read_generation)
        prepared = await anyio.to_thread.run_sync(self._prepare, params.bundle)
        size = max(len(prepared), 1) if params.dry_run else CHUNK
        tally = Tally()
        for begin in range(0, max(len(prepared), 1), size):
            part = prepared[begin : begin + size]

            def take(tx: Tx, part: Sequence[PreparedEntry] = part) -> Tally:
                allow(tx)
                chunk = Intake(tx, self._means, self._vectors, scopes, began)
                for one in part:
                    chunk.take(one)
                chunk.notify()
                return chunk.tally

            done = await (rehearse(self._means.db, take) if params.dry_run else self._means.db.write(take))
            tally.imported += done.imported
            tally.skipped += done.skipped
            tally.tombstoned += done.tombstoned
            tally.conflicts += done.conflicts
        return tally.result()

    def _prepare(self, bundle: str) -> list[PreparedEntry]:
        return [self._prepare_entry(entry, number) for number, entry in enumerate(open_bundle(bundle), 1)]

    def _prepare_entry(self, entry: BundleEntry, number: int) -> PreparedEntry:
        """Return an entry with its identity, or the problem for which it is not imported; `number` is its line."""
        if isinstance(entry, BundleTombstone):
            return PreparedEntry(entry)
        content = clean(entry.content)
        if not content.strip():
            raise CallerError.at(f"$.bundle[{number}].content", "There are no words in it")
        entry = msgspec.structs.replace(entry, content=content)
        texts = list(_texts(entry))
        findings = judge(texts, [span for text in texts for span in self._means.scanner.find(text)])
        if findings.secret_kinds:
            return PreparedEntry(entry, None, "secret_detected")
        if carries_own_block(content):
            return PreparedEntry(entry, None, "own_context_block")
        return PreparedEntry(self._mark_regulated(entry), _identity_of(entry, self._means.keyed))

    def _mark_regulated(self, entry: BundleRecord | BundleCandidate) -> BundleRecord | BundleCandidate:
        """Return the entry, marked as regulated where its own words are, whatever the bundle claims."""
        if not isinstance(entry, BundleRecord):
            return entry
        texts = [entry.content, value_text("", entry.value) if entry.value is not None else ""]
        is_regulated = judge(texts, [span for text in texts for span in self._means.scanner.find(text)]).is_regulated
        return msgspec.structs.replace(entry, sensitivity="regulated") if is_regulated else entry


def _texts(entry: BundleRecord | BundleCandidate) -> Iterator[str]:
    """Yield every free text of an entry."""
    about = entry if isinstance(entry, BundleRecord) else entry.proposal
    yield entry.content
    if entry.value is not None:
        yield value_text("", entry.value)
    yield about.alias or ""
    yield from texts_of_details(about)
    yield (about.provenance.created_by.id or "") if about.provenance.created_by is not None else ""
    yield from (one.quote for one in entry.evidence)
    yield from (to_column(decision.factors) for decision in entry.decisions if decision.factors)
    if isinstance(entry, BundleRecord):
        yield from (event.actor.id for event in entry.events if event.actor.id is not None)
    else:
        semantic = entry.proposal.semantic
        yield from (semantic.subject_key or "", semantic.custom_attribute or "", semantic.attribute)
        yield entry.decided_by or ""


def _identity_of(entry: BundleRecord | BundleCandidate, keyed: KeyedHash) -> FactIdentity:
    """Return the identity of an entry by this home's secret; its key stays as it is."""
    if isinstance(entry, BundleRecord):
        return identity_at(
            entry.scope, entry.key, entry.alias, entry.content, entry.value, keyed, is_single=entry.is_single
        )
    kept = entry.proposal
    semantic = msgspec.structs.replace(kept.semantic, category=entry.category)
    return identify(entry.scope, semantic, entry.content, entry.value, kept.alias, keyed)._replace(key=entry.key)
