"""Collections on the wire: folders whose files are indexed, and how they are arranged."""

from typing import Annotated, Literal, TypeAlias

from msgspec import UNSET, Meta, UnsetType, field

from protocol.base import At, Cursor, Id, Limit, Params, Wire, matching

CollectionScope: TypeAlias = Literal["workspace", "user"]
CollectionState: TypeAlias = Literal["new", "scanning", "live", "polling", "unavailable", "over_limit"]
MeaningMode: TypeAlias = Literal["documents", "all", "off"]
AbsolutePath: TypeAlias = Annotated[str, Meta(min_length=1, max_length=4096, description="An absolute path.")]
Pattern: TypeAlias = Annotated[str, Meta(min_length=1, max_length=256, description="One line as of a .gitignore.")]
Patterns: TypeAlias = Annotated[list[Pattern], Meta(max_length=200)]
CollectionName: TypeAlias = Annotated[str, Meta(min_length=1, max_length=80)]
COLLECTION_TEXT = "[A-Za-z0-9_.-]{1,64}"
CollectionId: TypeAlias = Annotated[
    str, matching(COLLECTION_TEXT, "A collection: 1 to 64 of A-Z, a-z, 0-9, `_`, `.`, `-`.")
]


class PatternProblem(Wire):
    """A line of patterns that is not understood and has no effect; the other lines hold.

    With `reason` it is a whole file that is not read (`line` is 0): a `link` or what is `not_regular` has no effect;
    for another reason all in its folder is left out.
    """

    file: str
    line: int
    pattern: str
    reason: str | UnsetType = UNSET


class FileCounts(Wire):
    """The files of a collection by state; what is skipped, by reason.

    `missing` are files that are gone and still in the index: many that went at once are withheld for ten minutes.
    """

    indexed: int = 0
    pending: int = 0
    partial: int = 0
    failed: int = 0
    skipped: dict[str, int] = field(default_factory=dict[str, int])


class Collection(Wire):
    """A folder whose files are indexed. Times are null until that has happened."""

    collection_id: str
    workspace_id: str | None
    scope: CollectionScope
    name: str
    path: str
    include: list[str]
    exclude: list[str]
    follow_gitignore: bool
    watch: bool
    recall: bool
    meaning: MeaningMode
    enrich: bool
    state: CollectionState
    reason: str | None
    files: FileCounts
    bytes: int
    chunks: int
    scanned_at: int | None
    deep_scanned_at: int | None
    created_at: At


class LargeFile(Wire):
    """A file of a preview, with its size."""

    path: str
    bytes: int


class Preview(Wire):
    """The files that a scan would index. `partial` where two seconds were not enough to see all of it."""

    files: int
    bytes: int
    by_kind: dict[str, int]
    skipped: dict[str, int]
    largest: list[LargeFile]
    partial: bool
    bad_patterns: list[PatternProblem] = []


class CollectionAddParams(Params):
    """`knowledge/collections/add`."""

    path: AbsolutePath
    collection_id: CollectionId | None = None
    name: CollectionName | None = None
    workspace_id: Id | None = None
    scope: CollectionScope = "workspace"
    include: Patterns = []
    exclude: Patterns = []
    follow_gitignore: bool = True
    watch: bool = True
    recall: bool = True
    meaning: MeaningMode = "documents"
    enrich: bool = False
    dry_run: bool = False


class CollectionAddResult(Wire):
    """The collection as it will be; with `dry_run` nothing was stored and `preview` says what would be indexed."""

    collection: Collection
    preview: Preview | None = None


class CollectionListParams(Params):
    """`knowledge/collections/list`: those of a workspace and of the user."""

    workspace_id: Id | None = None
    limit: Limit = 20
    cursor: Cursor | None = None


class CollectionListResult(Wire):
    """Collections in the order of their making."""

    collections: list[Collection]
    next_cursor: str | None


class CollectionParams(Params):
    """`knowledge/collections/get` and `remove`."""

    collection_id: CollectionId


class CollectionResult(Wire):
    """One collection."""

    collection: Collection


class CollectionUpdateParams(Params):
    """`knowledge/collections/update`: absent members stay. A new `path` finds the files again by their content."""

    collection_id: CollectionId
    name: CollectionName | None = None
    path: AbsolutePath | None = None
    include: Patterns | None = None
    exclude: Patterns | None = None
    follow_gitignore: bool | None = None
    watch: bool | None = None
    recall: bool | None = None
    meaning: MeaningMode | None = None
    enrich: bool | None = None


class RemovalReceipt(Wire):
    """The parts of a collection that were removed. `wal`: the log holds no byte of it; `complete` needs that."""

    files: int
    chunks: int
    fts_rows: int
    vectors: int
    edges: int
    versions: int
    wal: bool
    complete: bool


class CollectionRemoveResult(Wire):
    """The receipt of a removal; the folder itself is untouched."""

    receipt: RemovalReceipt


class CollectionScanParams(Params):
    """`knowledge/collections/scan`; with `deep` every file is read and hashed again."""

    collection_id: CollectionId
    deep: bool = False


class CollectionScanResult(Wire):
    """A scan is queued, or one was waiting already."""

    queued: bool
