"""Reads from a provenance the place in a file that a memory was taken from; pure."""

from msgspec import UNSET

from protocol.errors import CallerError
from protocol.record import Provenance
from protocol.seams.file_evidence import FilePlace

FROM_FILE = "file"


def file_place_of(provenance: Provenance, quote: str) -> FilePlace | None:
    """Return the place in a collection's file that a provenance names, with the words; None where it names none."""
    if provenance.source_kind != FROM_FILE or provenance.collection_id is UNSET or provenance.path is UNSET:
        return None
    return FilePlace(
        provenance.collection_id,
        provenance.path,
        quote,
        provenance.from_line if provenance.from_line is not UNSET else None,
        provenance.to_line if provenance.to_line is not UNSET else None,
        provenance.sha256 if provenance.sha256 is not UNSET else None,
    )


def require_whole(provenance: Provenance) -> None:
    """Raise `CallerError` for a provenance that names only a part of a place, or one of another source than a file."""
    names_half = (provenance.collection_id is UNSET) != (provenance.path is UNSET)
    if names_half or (provenance.path is UNSET and provenance.from_line is not UNSET):
        raise CallerError.at("$.provenance", "A place in a file has `collection_id` and `path`")
    is_named = provenance.collection_id is not UNSET
    if is_named and provenance.source_kind != FROM_FILE:
        raise CallerError.at("$.provenance.source_kind", "A place in a file has the source kind `file`")
    if provenance.from_line is UNSET and provenance.to_line is not UNSET:
        raise CallerError.at("$.provenance.to_line", "Needs `from_line`")
