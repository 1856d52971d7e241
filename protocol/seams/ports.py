"""The seams that more than one house needs, each declared once.

Rule 1: only shapes live here; an implementation lives in `gateway/` (the real one) or `tests/` (the second one).
Rule 2: this module knows no table, no library and no domain rule.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import date
from typing import Any, Literal, Protocol, TypeAlias, TypeVar

import msgspec
from msgspec import Struct

from protocol.base import Wire
from protocol.memory.values import SemanticState, SpaceKind

T = TypeVar("T")

SqlValue: TypeAlias = None | int | float | str | bytes
Row: TypeAlias = tuple[Any, ...]
Bindings: TypeAlias = Mapping[str, SqlValue] | Sequence[SqlValue]


class Tx(Protocol):
    """One open transaction (or read snapshot), usable only inside the function that received it."""

    def run(self, statement: str, bindings: Bindings = ()) -> int:
        """Execute to the end; return the number of rows changed."""
        ...

    def run_many(self, statement: str, bindings: Sequence[Bindings]) -> None:
        """Execute a statement once for each of some bindings."""
        ...

    def insert(self, statement: str, bindings: Bindings = ()) -> int:
        """Execute an INSERT to the end; return the rowid of the new row."""
        ...

    def one(self, statement: str, bindings: Bindings = ()) -> Row | None:
        """Return the first row, or None."""
        ...

    def all(self, statement: str, bindings: Bindings = ()) -> list[Row]:
        """Return every row."""
        ...

    def each(self, statement: str, bindings: Bindings = ()) -> Iterator[Row]:
        """Return rows one by one, for scans that must not be held in memory."""
        ...

    def after_commit(self, call: Callable[[], None]) -> None:
        """Call it on the event loop once this transaction is committed; never if it is not."""
        ...


class Transact(Protocol):
    """Runs plain functions on a transaction in the database's own threads. Work must not await and must be short."""

    async def write(self, work: Callable[[Tx], T], *, is_vital: bool = False) -> T:
        """Run `work` in a transaction that is durable (synchronous=FULL) when this returns.

        What is vital (forgetting) may use the room that is kept for it when the disk is full, and runs once more then.

        An exception from `work` rolls back that work alone and is raised here. A failed commit raises `Unavailable`:
        whether it is stored is then unknown, so callers that retry carry an idempotency key.
        """
        ...

    async def note(self, work: Callable[[Tx], T]) -> T:
        """Run bookkeeping of background work in a transaction that a power cut may lose."""
        ...

    async def jot(self, work: Callable[[Tx], object]) -> None:
        """Run bookkeeping like `note`, but skip it where nothing can be written."""
        ...

    def trace(self, work: Callable[[Tx], object]) -> None:
        """Have bookkeeping of a read (access counts, recall events) run like `jot`, without waiting for it.

        What is noted or written afterwards comes after it.
        """
        ...

    async def read(self, work: Callable[[Tx], T], deadline: float | None = None) -> T:
        """Run `work` on a snapshot that sees every write acknowledged before the call.

        Raises `Unavailable` when it takes more than `deadline` seconds of a processor, which a busy machine does not
        use up, or 2 seconds in all. No caller may have more: work that reads everything reads a part at a time.
        """
        ...

    async def calm(self) -> bool:
        """Return when no read or write waits, or soon; background work calls it between its steps.

        Return whether any waited: others follow it, most likely.
        """
        ...


class Clock(Protocol):
    """Time as the gateway stores and compares it."""

    def now(self) -> int:
        """Return Unix milliseconds of the wall clock, or of the clock file."""
        ...

    def monotonic(self) -> float:
        """Return seconds of the machine's own clock, for deadlines and leases."""
        ...


class Ids(Protocol):
    """Makes identifiers."""

    def new(self, prefix: str) -> str:
        """Return a sortable, unique id such as `mem_…` for the prefix `mem`."""
        ...


class KeyedHash(Protocol):
    """HMAC-SHA-256 under the home's own key: equality without content."""

    def digest(self, domain: str, text: str) -> bytes:
        """Return 32 bytes; equal for equal (domain, text) within one home, meaningless in another."""
        ...


KEY_ID_BYTES = 16


def key_id(keyed: KeyedHash) -> str:
    """Return the name of the home's key: the same in every copy of the home, and of no use to find the key."""
    return keyed.digest("key_id", "")[:KEY_ID_BYTES].hex()


class ReadDate(Protocol):
    """Reads a date as people write it, in any of the languages that are spoken here."""

    def __call__(self, text: str, today: date) -> tuple[date, Literal["day", "month"]] | None:
        """Return the day, or some day of the month, that the text names: the latest past one without a named year."""
        ...


class Lexicon(Protocol):
    """Splits text into the terms that the full-text index stores: folded, segmented by script, stemmed."""

    version: str

    def index_terms(self, text: str) -> list[str]:
        """Return every term of the text in order, with repetitions; each has only [a-z0-9] and non-ASCII characters."""
        ...

    def query_terms(self, text: str) -> list[str]:
        """Return the distinct terms for a query, at most 32, without stop words unless there are no others."""
        ...


class SecretSpan(msgspec.Struct, frozen=True, kw_only=True):
    """The place of a secret in a text: its kind and its half-open range in code points, never its value."""

    kind: str
    start: int
    end: int


class SecretScanner(Protocol):
    """Finds credentials in text."""

    def find(self, text: str) -> list[SecretSpan]:
        """Return spans in order, not overlapping; empty for innocent text."""
        ...

    def mask(self, text: str) -> str:
        """Return the text with every span replaced by `[secret:<kind>]`."""
        ...


class Notify(Protocol):
    """Sends a notification to the client: after the reply of the request that caused it, else at once."""

    def __call__(self, method: str, params: msgspec.Struct) -> None:
        """Send it; never blocks."""
        ...


class Spawn(Protocol):
    """A function that starts background work, which outlives the request. Its notifications come after the reply."""

    def __call__(self, work: Callable[[], Any], name: str) -> None:
        """Start `work`, an async function of no arguments; an exception that it raises is logged as a defect."""
        ...


class Space(msgspec.Struct, frozen=True):
    """A set of comparable vectors: its row, the model that makes them, how many numbers each has, the model's kind."""

    id: int
    model: str
    dim: int
    kind: SpaceKind = "model"


class Vector(msgspec.Struct, frozen=True):
    """A text's place in a space: little-endian float16 numbers of unit length."""

    space_id: int
    numbers: bytes
    kind: SpaceKind = "model"


class Coverage(Struct, frozen=True):
    """The numbers of a house's texts that can have a vector of a space, and of those that have one."""

    possible: int
    present: int

    @property
    def lacking(self) -> int:
        """Return how many have none yet."""
        return max(0, self.possible - self.present)


class VectorTable(msgspec.Struct, frozen=True):
    """The statements by which a house's vectors are read; a partition is what a search is confined to.

    `added`: `:space, :partition, :after, :limit` → (vector row, subject row, numbers), by vector row, which only grows.
    `present`: `:space, :partition` → (vector row). `losses`: `:space, :partition` → (count of rows ever removed).
    `numbers`: `:space, :partitions, :subjects` (lists as JSON) → (subject row, numbers). A number of a row has two
    bytes, float16 of a unit vector, or one: int8 of a vector whose length says nothing.
    """

    name: str
    number_bytes: Literal[1, 2]
    added: str
    present: str
    losses: str
    numbers: str


class Nearness(Protocol):
    """Nearness of some partitions' vectors to a query, within its snapshot."""

    @property
    def is_whole(self) -> bool:
        """Return whether every vector of the partitions was compared; `of` finds the others too."""
        ...

    def rank(self, least: float, among: Sequence[int] | None = None) -> Iterator[tuple[int, float]]:
        """Yield subject rows with cosines of `least` or more, nearest first, equal ones by row; all, or `among` some.

        The first hundreds are in exact order; further ones may be a little out of order.
        """
        ...

    def of(self, rows: Sequence[int]) -> dict[int, float]:
        """Return the cosines of those of some subject rows that have a vector."""
        ...

    def crowding(self, rows: Sequence[int]) -> dict[int, tuple[float, float]]:
        """Return the mean cosines of subject rows with a vector to other compared ones: the nearest few, a third."""
        ...


class Meaning(Protocol):
    """Turns text into vectors and compares them. Absent, late or broken is a state, never an error of a read."""

    def state(self) -> SemanticState:
        """Return `off` without a model, `pending` while it is loaded or will be on first use, else `ready`."""
        ...

    async def wake(self) -> bool:
        """Load a model and wait for it; False when no model works."""
        ...

    async def of_query(self, text: str, patience: float) -> Vector | None:
        """Return the vector of a text in the current space; None when there is none within `patience` seconds."""
        ...

    async def of_texts(self, space: Space, texts: Sequence[str]) -> list[bytes]:
        """Return the vectors of texts, in order.

        Raises `ModelChanged` when no model in memory makes vectors of that space, `PauseQueue` when it fails, and
        `GiveUpJob` when it makes none of one of these texts.
        """
        ...

    def to_fill(self, tx: Tx) -> list[Space]:
        """Return the spaces that want a vector of every text: the current one, and one that will replace it."""
        ...

    async def adopt_filled_space(self) -> None:
        """Let a new space that lacks no vector take over, after a house has filled its part."""
        ...

    def nearness(self, tx: Tx, table: VectorTable, partitions: Sequence[int], query: Vector) -> Nearness:
        """Return the nearness of a query to all vectors of the partitions in this snapshot."""
        ...


JobKind: TypeAlias = Literal[
    "index",
    "hook_run",
    "embed",
    "extract",
    "graph",
    "sweep",
    "repair",
    "erase_finish",
    "delete",
    "pass",
    "scan",
    "read",
]
JobState: TypeAlias = Literal["queued", "leased", "retry_wait", "dead", "cancelled", "done"]


class Job(Wire):
    """A piece of durable background work.

    `subject` is the id of its subject (an item, a run), unique while unfinished.
    """

    job_id: str
    kind: JobKind
    subject: str
    thread_id: str | None
    turn_id: str | None
    state: JobState
    attempt_count: int
    next_run_at: int
    created_at: int
    last_error: str | None
    death_count: int = 0
    """The number of processes that died while they worked on it."""


class PauseQueue(Exception):
    """Raised by a job's handler when a component is down: it costs no attempt; the queue waits and reports it."""

    def __init__(self, component: str, reason: str) -> None:
        self.component = component
        self.reason = reason
        super().__init__(component, reason)


class ModelChanged(PauseQueue):
    """Raised where vectors of a replaced space are wanted: a filling begins again with the present spaces."""


class GiveUpJob(Exception):
    """Raised by a job's handler that knows that no further try can help."""

    def __init__(self, code: str) -> None:
        self.code = code
        super().__init__(code)


class RetryJob(Exception):
    """Raised by a job's handler that failed for a known, passing cause."""

    def __init__(self, code: str) -> None:
        self.code = code
        super().__init__(code)


class JobHandle(Protocol):
    """A claimed job in its handler's hands."""

    @property
    def job(self) -> Job:
        """Return the job as claimed."""
        ...

    def finish(self, tx: Tx) -> None:
        """Mark it done inside the handler's own transaction: effect and mark are one."""
        ...


class JobQueue(Protocol):
    """Enqueues and inspects durable work inside the caller's own transaction."""

    def enqueue(
        self,
        tx: Tx,
        kind: JobKind,
        subject: str,
        *,
        thread_id: str | None = None,
        turn_id: str | None = None,
        delay_ms: int = 0,
    ) -> str | None:
        """Queue work; return its job id, None where an unfinished one of (kind, subject) exists. It runs after commit.

        Work with a delay begins after it: the process that queues it may do the work itself before, and cancel the job.
        """
        ...

    def cancel(self, tx: Tx, *, kind: JobKind, thread_id: str | None = None, subject: str | None = None) -> int:
        """Cancel unfinished jobs of that thread or subject; return how many."""
        ...

    def remove(self, tx: Tx, *, kind: JobKind, subject: str) -> int:
        """Remove the subject's jobs in every state, as nothing may name it any more; return how many."""
        ...

    def requeue(self, tx: Tx, *, kind: JobKind, job_id: str | None = None) -> int:
        """Make a dead job (or, without an id, every dead job of the kind) runnable again; return how many."""
        ...

    def jobs(
        self, tx: Tx, *, kind: JobKind, states: Sequence[JobState] = (), before: str | None = None, limit: int = 20
    ) -> list[Job]:
        """Return jobs of a kind, newest first, older than job id `before`."""
        ...

    def without_job(self, tx: Tx, *, kind: JobKind, subjects: Sequence[str]) -> list[str]:
        """Return those of some subjects that no job of the kind is about, neither an unfinished nor a dead one."""
        ...

    def counts(self, tx: Tx, *, kind: JobKind, thread_id: str | None = None) -> dict[JobState, int]:
        """Return how many jobs of the kind are in each state (zero included)."""
        ...
