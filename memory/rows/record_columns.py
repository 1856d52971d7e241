"""The columns of a record, derived once from the fields of `Record`: a new field is a column without a line here.

Rule 1: the names in braces of this house's statements are filled here when they are loaded, with constants alone.
Rule 2: a column that came after the first version is sealed only where it is not null, so that older checksums hold.
"""

import hashlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from operator import itemgetter
from types import NoneType
from typing import Any, Final, Literal, NamedTuple, Optional, cast, get_args, get_origin, get_type_hints

import msgspec
from msgspec import Struct

from memory.rules.notes import NAMELESS_AGENT, USER_AGENT, find_note_author, voice_of
from memory.rules.paths import fold_path
from memory.rules.strength import RECENCY_POWER
from memory.rules.visibility import WITHHELD, Seen
from protocol.base import HOUR_MS, Id, Scope, encode_sorted
from protocol.memory.writes import UpdateParams
from protocol.record import DETAILS, Record, RecordDetails, RecordFields
from protocol.seams.checks import format_vouching
from protocol.seams.ports import Row
from protocol.statements import Statements

_WITHOUT_COLUMN = frozenset({"scope", "namespace", "voice", "strength", "faded", "derived_from"})
"""A scope has a table of its own, a voice follows from the provenance, a namespace is always null, and the others are
computed when a record is read."""
FIELDS: Final = tuple(name for name in Record.__struct_fields__ if name not in _WITHOUT_COLUMN)
"""The fields that have a column."""
GENERATED: Final = ("standing", "fades_at")
"""The columns that the table computes itself."""
_IDENTITY = ("scope_id", "alias", "is_single", "path_key", "thread_id", "turn_id")
_BYTES = ("fingerprint", "text_hash", "checksum")
COLUMNS: Final = (*FIELDS, *_IDENTITY, *_BYTES, "deleted_at")
"""The columns of a record without its row number."""
WRITTEN: Final = tuple(name for name in COLUMNS if name not in GENERATED)
READ: Final = ("id", *COLUMNS, "scope_kind", "scope_key")
"""The columns that a statement with `{record}` reads, in its order."""

_UNSEALED = frozenset(
    {
        "id",
        "evidence_count",
        "updated_at",
        "last_accessed_at",
        "access_count",
        "supersedes",
        "superseded_by",
        "contested",
        "index_state",
        "pinned",
        "path_key",
        "reinforced_at",
        *GENERATED,
        "checksum",
        "scope_kind",
        "scope_key",
    }
)
"""The columns outside the checksum: bookkeeping, and those that repair can compute from other rows."""
_SEALED_AT_FIRST = (
    "memory_id",
    "scope_id",
    "category",
    "kind",
    "key",
    "alias",
    "is_single",
    "content",
    "value",
    "status",
    "sensitivity",
    "confidence",
    "importance",
    "tags",
    "provenance",
    "thread_id",
    "turn_id",
    "created_at",
    "valid_from",
    "expires_at",
    "metadata",
    "fingerprint",
    "text_hash",
    "deleted_at",
)
"""The columns in the checksum of the first version, in its order. Never change them: checksums are stored."""
_SEALED_LATER = tuple(name for name in COLUMNS if name not in _UNSEALED and name not in _SEALED_AT_FIRST)


class _Json(Struct, frozen=True):
    """A column that holds JSON: its decoder, and the maker of the value that stands for a damaged one."""

    decode: Callable[[str], Any]
    make_empty: Callable[[], Any]


def options_of(kind: Any) -> tuple[Any, ...]:
    """Return the types of a field besides None."""
    parts = get_args(kind) if NoneType in get_args(kind) else (kind,)
    return tuple(part for part in parts if part is not NoneType)


def _is_text(kind: Any) -> bool:
    return all(one is str or get_origin(one) is Literal for one in options_of(kind))


def _json_of(kind: Any) -> _Json:
    empty: Any = NoneType if kind is Any or NoneType in get_args(kind) else get_origin(kind) or kind
    return _Json(msgspec.json.Decoder(kind).decode, empty)


_KINDS: Final = {name: kind for name, kind in get_type_hints(Record).items() if name in FIELDS}
_OF_SQLITE = {int, float, bool}
JSONS: Final[Mapping[str, _Json]] = {
    name: _json_of(kind)
    for name, kind in _KINDS.items()
    if not _is_text(kind) and _OF_SQLITE.isdisjoint(options_of(kind))
}
"""Made at import: msgspec does not guard two threads of the database that meet a type for the first time at once."""
_FLAGS = frozenset({"is_single", *(name for name, kind in _KINDS.items() if kind is bool)})
_NUMBERS = frozenset(name for name, kind in _KINDS.items() if kind is float)

_BOUNDED = get_type_hints(RecordFields, include_extras=True)
_IDS: tuple[Any, ...] = (Id, Optional[Id])  # noqa: UP045  # an `Annotated` has no `|` of its own


def _holds_words(name: str) -> bool:
    """Return whether a field holds free text: a text that is neither an identifier nor one name of several, or JSON."""
    if name in JSONS:
        return name != "provenance"
    return _KINDS[name] in (str, str | None) and _BOUNDED.get(name) not in _IDS


WORDS: Final = (*filter(_holds_words, FIELDS), "alias", "path_key")
"""The columns that hold free text, which an erase searches."""
SAID_DETAILS: Final = tuple(name for name in DETAILS if name in WORDS)
"""The details that hold free text, which is searched for credentials before it is stored."""
CLEANED: Final = ("value", *(name for name in SAID_DETAILS if name != "metadata"))
"""The fields that are stored without invisible characters. The host's metadata is stored as it is."""
UPDATABLE: Final = tuple(
    name for name in UpdateParams.__struct_fields__ if name in FIELDS and name not in {"memory_id", "content"}
)
"""The fields that `memory/update` changes in place."""
ADOPTED: Final = (
    *(name for name in DETAILS if name != "metadata"),
    "category",
    "key",
    "value",
    "sensitivity",
    "confidence",
    "provenance",
    "alias",
    "is_single",
    "path_key",
    "thread_id",
    "turn_id",
    "fingerprint",
)
"""The columns that are written when a note becomes the user's: its voice, its key and path, and its end."""


def _format_assignments(names: Iterable[str]) -> str:
    return ", ".join(f"{name} = :{name}" for name in names)


_SOURCE_AGENT = (
    "CASE WHEN is_machine THEN coalesce(nullif(nullif(json_extract(iif(json_valid(provenance), provenance, '{}'),"
    f" '$.created_by.id'), ''), '{USER_AGENT}'), '{NAMELESS_AGENT}') ELSE '{USER_AGENT}' END"
)
"""The SQL of `source_agent_of` of memory/rules/notes.py."""
_STRENGTH_PLACE = (
    f"CAST(1000000 * min(1.0, standing * pow(max(1.0, (:at - reinforced_at) / {HOUR_MS}.0), -{RECENCY_POWER}))"
    " AS INTEGER)"
)
"""The SQL of `strength_of` of memory/rules/strength.py, as a whole number."""
_OF_EVIDENCE: Final = (
    "quote", "memory_id", "candidate_id", "source_kind", "thread_id", "turn_id", "item_id", "at",
)  # fmt: skip
"""The columns that the digest of a piece of evidence vouches for."""
SQL: Final = Statements(
    "memory",
    {
        "record": ", ".join(
            [*(f"whole.raw_{name}" for name in ("id", *COLUMNS)), "scope.kind AS scope_kind", "scope.key AS scope_key"]
        ),
        "columns": ", ".join(WRITTEN),
        "values": ", ".join(f":{name}" for name in WRITTEN),
        "generated": ", ".join(GENERATED),
        "updated": _format_assignments(UPDATABLE),
        "adopted": _format_assignments(ADOPTED),
        "words": ", ".join(f"CAST({name} AS BLOB)" for name in WORDS),
        "source_agent": _SOURCE_AGENT,
        "strength_place": _STRENGTH_PLACE,
        "vouched_evidence": format_vouching(_OF_EVIDENCE),
        "vouched_new_evidence": format_vouching(_OF_EVIDENCE, _OF_EVIDENCE),
        "vouched_moved_evidence": format_vouching(_OF_EVIDENCE, {"memory_id", "candidate_id"}),
        "vouched_taken_evidence": format_vouching(_OF_EVIDENCE, {"memory_id"}),
        "vouched_said_evidence": format_vouching(_OF_EVIDENCE, {"quote"}),
    },
)
"""The statements of the house."""
KEEP_NUMBERS: Final = SQL["keep_lost_scopes"]
"""The statement that keeps the numbers of lost scopes."""

_PLACES: Final = {name: place for place, name in enumerate(READ)}
_AFTER_FIELDS = 1 + len(FIELDS)
_JSON_PLACES = tuple((FIELDS.index(name), one.decode, one.make_empty) for name, one in JSONS.items())
_FLAG_PLACES = tuple(FIELDS.index(name) for name in FIELDS if name in _FLAGS)
_CHECKSUM = _PLACES["checksum"]
_NOT_COMPUTED: Final = dict.fromkeys(GENERATED)
_GENERATED_PLACES = tuple(map(_PLACES.__getitem__, GENERATED))
checksum_in = itemgetter(_CHECKSUM)
_sealed = itemgetter(*map(_PLACES.__getitem__, _SEALED_AT_FIRST))
_later = tuple((name, itemgetter(_PLACES[name])) for name in _SEALED_LATER)
_hidden = itemgetter(
    *map(
        _PLACES.__getitem__,
        ("id", "scope_id", "scope_kind", "scope_key", "alias", "is_single", "fingerprint", "text_hash", "deleted_at"),
    )
)


def to_column(value: Any) -> str:
    """Return a value as JSON for a column, with sorted members."""
    return encode_sorted(value).decode()


def to_csv(names: Iterable[object] | None) -> str | None:
    """Return names between commas, for a membership test in SQL; None, which lets everything through, for None."""
    return f",{','.join(map(str, names))}," if names is not None else None


def texts_of_details(source: RecordDetails) -> Iterator[str]:
    """Yield each free text of the details."""
    for name in SAID_DETAILS:
        value: Any = getattr(source, name)
        if isinstance(value, str):
            yield value
        elif isinstance(value, list):
            yield from cast("list[str]", value)
        elif value:
            yield to_column(value)


def to_columns(values: Mapping[str, Any]) -> dict[str, Any]:
    """Return fields and columns of a record as values of the table's columns.

    Thread and turn follow from its provenance, the path's key from its path.
    """
    columns = dict(values)
    if (provenance := columns.get("provenance")) is not None:
        columns |= {"thread_id": provenance.thread_id, "turn_id": provenance.turn_id}
    if "path" in columns:
        columns["path_key"] = fold_path(columns["path"]) if columns["path"] is not None else None
    for name, value in columns.items():
        if value is None:
            continue
        if name in JSONS:
            columns[name] = to_column(value)
        elif name in _FLAGS:
            columns[name] = int(value)
        elif name in _NUMBERS:
            columns[name] = float(value)  # the column is REAL, and the checksum is of what is read back
    return columns


def checksum_of(row: Row) -> bytes:
    """Return the checksum of a row of `{record}`; a row that holds another one is damaged."""
    sealed: list[Any] = list(_sealed(row))
    if _later:
        sealed += [(name, value) for name, get in _later if (value := get(row)) is not None]
    return hashlib.sha256(repr(sealed).encode("utf-8", "surrogatepass")).digest()


def with_checksum(columns: Mapping[str, Any], scope: Scope) -> Row:
    """Return the columns of a new record as a row of `{record}` would be read, sealed, without its row number."""
    row = {name: value.encode() if isinstance(value, str) else value for name, value in columns.items()}
    row |= {"id": None, "checksum": b"", "scope_kind": scope.kind, "scope_key": scope.key} | _NOT_COMPUTED
    whole = tuple(map(row.__getitem__, READ))
    return (*whole[:_CHECKSUM], checksum_of(whole), *whole[_CHECKSUM + 1 :])


def as_inserted(row: Row, returned: Row) -> Row:
    """Return a new record's row with the values that `add_record` returned: row number and generated columns."""
    whole = [returned[0], *row[1:]]
    for place, value in zip(_GENERATED_PLACES, returned[1:], strict=True):
        whole[place] = value
    return tuple(whole)


class Stored(NamedTuple):
    """A record as it is stored, with the columns that are in no answer."""

    row: int
    scope_id: int
    record: Record
    alias: str | None
    is_single: bool
    fingerprint: bytes
    text_hash: bytes
    is_intact: bool
    deleted_at: int | None
    followed_by: str | None = None
    """`superseded_by` as it is stored: "" where the record that replaced it was erased."""

    @property
    def seen(self) -> Seen:
        """Return the members that visibility depends on."""
        r = self.record
        return Seen(
            self.scope_id,
            r.status,
            r.sensitivity,
            r.expires_at,
            self.is_intact,
            WITHHELD in r.metadata,
            find_note_author(r.provenance),
        )


def _text(column: Any) -> Any:
    """Return bytes as text, whatever damage they have; another value as it is."""
    return column.decode("utf-8", "replace") if isinstance(column, bytes) else column


def to_stored(row: Row) -> Stored:
    """Return the record of a row of `{record}`; members of a damaged one that cannot be decoded are empty."""
    is_intact = checksum_of(row) == row[_CHECKSUM]
    columns: list[Any] = [
        value.decode("utf-8", "replace") if isinstance(value, bytes) else value for value in row[1:_AFTER_FIELDS]
    ]
    for place, decode, make_empty in _JSON_PLACES:
        text = columns[place]
        try:
            columns[place] = decode(text) if text is not None else make_empty()
        except (msgspec.DecodeError, TypeError):
            if is_intact:
                raise
            columns[place] = make_empty()
    for place in _FLAG_PLACES:
        columns[place] = bool(columns[place])
    members = dict(zip(FIELDS, columns, strict=True))
    row_id, scope_id, kind, key, alias, is_single, fingerprint, text_hash, deleted_at = _hidden(row)
    followed_by = members["superseded_by"]
    members["superseded_by"] = followed_by or None
    members["scope"] = Scope(kind=kind, key=key)
    members["namespace"] = None
    members["voice"] = voice_of(members["provenance"])
    members["strength"] = min(1.0, members["standing"] or 0.0)
    return Stored(
        row_id,
        scope_id,
        Record(**members),
        _text(alias),
        bool(is_single),
        fingerprint,
        text_hash,
        is_intact,
        deleted_at,
        followed_by,
    )
