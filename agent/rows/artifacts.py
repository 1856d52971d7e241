"""Rows of files that messages carry: references, and which contents are kept.

Rule 1: a version is found in a workspace or not at all; what is elsewhere answers like what does not exist.
"""

from collections.abc import Mapping, Sequence

from agent.rows.statements import SQL
from protocol.conversation.artifacts import ArtifactRef
from protocol.conversation.items import Item
from protocol.seams.ports import Row, Tx


def _ref_of(row: Row) -> ArtifactRef:
    return ArtifactRef(
        artifact_id=row[0],
        version_id=row[1],
        name=row[2],
        kind=row[3],
        mime=row[4],
        size_bytes=row[5],
        role=row[6],
        sha256=row[7],
    )


def artifacts_of(tx: Tx, item_id: str) -> list[ArtifactRef]:
    """Return the files that a message carried, in order."""
    return [_ref_of(row) for row in tx.all(SQL["artifacts_of_item"], {"item_id": item_id})]


def read_artifacts(tx: Tx, item_ids: Sequence[str]) -> Mapping[str, list[ArtifactRef]]:
    """Return the files of several messages, by item id."""
    return {item_id: refs for item_id in item_ids if (refs := artifacts_of(tx, item_id))}


def add_artifacts(tx: Tx, item: Item, *, are_kept: bool) -> None:
    """Store the references of an item's files; `are_kept`: their bytes were received here."""
    for ref in item.artifacts:
        tx.run(
            SQL["add_artifact"],
            {
                "artifact_id": ref.artifact_id,
                "version_id": ref.version_id,
                "item_id": item.item_id,
                "thread_id": item.thread_id,
                "name": ref.name,
                "kind": ref.kind,
                "mime": ref.mime,
                "size_bytes": ref.size_bytes,
                "role": ref.role,
                "sha256": ref.sha256,
                "is_kept": are_kept,
                "now": item.at,
            },
        )


def find_kept(tx: Tx, artifact_id: str, version_id: str | None, workspace_id: str | None) -> ArtifactRef | None:
    """Return a version of a file whose bytes were received here; None where there is none.

    A `version_id` of None means the newest version, a `workspace_id` of None any workspace.
    """
    values = {"artifact_id": artifact_id, "version_id": version_id, "workspace_id": workspace_id}
    row = tx.one(SQL["find_artifact"], values)
    return _ref_of(row) if row is not None else None


def is_kept_elsewhere(tx: Tx, artifact_id: str, thread_id: str) -> bool:
    """Return whether the bytes of a file are kept by other threads alone."""
    return tx.one(SQL["artifact_elsewhere"], {"artifact_id": artifact_id, "thread_id": thread_id}) is not None


def list_artifacts(tx: Tx, thread_id: str, before: int, limit: int) -> list[tuple[int, ArtifactRef]]:
    """Return the files of a thread before a row, newest first: each version with the row that last referred to it."""
    values = {"thread_id": thread_id, "before": before, "limit": limit}
    return [(row[8], _ref_of(row)) for row in tx.all(SQL["list_artifacts"], values)]


def contents_of(tx: Tx, artifact_id: str) -> list[str]:
    """Return the digests of what the versions of a file hold."""
    return [sha256 for (sha256,) in tx.all(SQL["contents_of_artifact"], {"artifact_id": artifact_id})]


def remove_artifact(tx: Tx, artifact_id: str) -> int:
    """Remove a file with all that refers to it; return how many references went."""
    return tx.run(SQL["remove_artifact"], {"artifact_id": artifact_id})


def find_unneeded(tx: Tx, digests: Sequence[str]) -> list[str]:
    """Return those of some contents that nothing refers to, each once, in their order."""
    return [sha256 for sha256 in dict.fromkeys(digests) if not tx.one(SQL["content_is_needed"], {"sha256": sha256})]


def list_needed_contents(tx: Tx) -> list[str]:
    """Return the digest of every content that something refers to."""
    return [sha256 for (sha256,) in tx.all(SQL["needed_contents"])]


def keeps_bytes(tx: Tx, thread_id: str) -> bool:
    """Return whether a thread has a file whose bytes are kept."""
    return tx.one(SQL["thread_keeps_bytes"], {"thread_id": thread_id}) is not None


def list_kept_files(tx: Tx) -> list[tuple[str, str]]:
    """Return every kept file but pictures, sounds and films, as (artifact id, digest), a row for each content."""
    return [(artifact_id, sha256) for artifact_id, sha256 in tx.all(SQL["kept_files"])]
