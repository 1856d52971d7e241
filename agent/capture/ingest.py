"""`capture/ingest`: a transcript that is sent again as it grows; each of its turns is stored once.

Rule 1: a turn begins with each message of the user and is known by the hash chain up to it, so a transcript that grew
brings what is new in it alone.
Rule 2: a transcript that went another way than the conversation that is there is a conversation of its own, and
so is one that another client or agent passes on.
Rule 3: a message without a word is not kept, and counted: one of them is no reason to refuse a transcript.
Rule 4: nothing is learnt from a transcript that does not say that it is live.
Rule 5: words that are erased while a transcript comes in are in none of its parts.
"""

from collections.abc import Sequence
from functools import partial

import anyio
from msgspec import Struct

from agent.capture.captures import Captures
from agent.capture.means import CaptureMeans, options_of
from agent.rows.captures import (
    KnownCapture,
    NewCapture,
    add_capture,
    answer_capture,
    captures_in,
    newest_of_hash,
    newest_of_session,
)
from agent.rows.items import add_item, items_of_turn, read_items, turn_items
from agent.rows.threads import touch_thread
from agent.rows.turns import NewTurn, add_turn, last_position
from protocol import methods as m
from protocol.capture.calls import CaptureIngestParams, CaptureIngestResult, TranscriptMessage
from protocol.capture.chain import START, ChainMessage, follow
from protocol.conversation.items import Item
from protocol.conversation.threads import ThreadFork
from protocol.errors import CallerError
from protocol.methods import Bound, bind
from protocol.saying import Saying
from protocol.seams.callers import enter
from protocol.seams.forgettings import FindErased, Forgettings
from protocol.seams.ports import JobKind, JobQueue, Tx

TURNS_AT_ONCE = 200
"""Turns that one transaction stores, so that other writers get their turn."""
FOLLOWING: tuple[JobKind, ...] = ("hook_run", "index")
"""Kinds of work after a turn, the longest first: the job of the answer is the first one that waits."""


class HashedTurn(Struct, frozen=True):
    """A turn of a transcript: its messages, and the digests up to the user's words and to its end."""

    messages: Sequence[TranscriptMessage]
    at: int | None
    user_hash: bytes
    whole_hash: bytes

    @property
    def has_answer(self) -> bool:
        """Return whether something follows the user's words."""
        return self.user_hash != self.whole_hash


def split(params: CaptureIngestParams) -> list[tuple[list[TranscriptMessage], int | None]]:
    """Return the turns of a transcript: each message of the user begins one."""
    found: list[tuple[list[TranscriptMessage], int | None]] = []
    for turn in params.turns:
        for place, message in enumerate(turn.messages):
            if not found or place == 0 or message.role == "user":
                found.append(([], turn.at))
            found[-1][0].append(message)
    return found


class _Work:
    """One transcript on its way into the home."""

    def __init__(
        self, captures: Captures, means: CaptureMeans, params: CaptureIngestParams, find_erased: FindErased, began: int
    ) -> None:
        self._captures, self._means, self.params = captures, means, params
        self._find_erased, self._began = find_erased, began
        self._erased = Saying(())
        """The phrases of the part that is stored now that were erased since the transcript came."""
        self.session = captures.session_of(params.source)
        self.skipped = 0
        self.said = self._build_chain()
        self.thread_id = ""
        self.turns = 0

    def _build_chain(self) -> list[HashedTurn]:
        """Return the turns in which somebody says something; blank messages are hashed as the others are."""
        found: list[HashedTurn] = []
        before = START
        for messages, at in split(self.params):
            user = before = follow(before, ChainMessage(messages[0].role, [messages[0].text]))
            for message in messages[1:]:
                before = follow(before, ChainMessage(message.role, [message.text]))
            digests = (self._captures.digest(user), self._captures.digest(before))
            spoken = [message for message in messages if message.text.strip()]
            self.skipped += len(messages) - len(spoken)
            if spoken:
                found.append(HashedTurn(spoken, at, *digests))
        return found

    def store(self, tx: Tx, part: Sequence[HashedTurn], *, learns: bool) -> None:
        """Store what is new in a part of the transcript."""
        workspace_id = self._captures.workspace_of(tx, self.params.source)
        texts = [message.text for said in part for message in said.messages]
        self._erased = self._find_erased(tx, texts, self._began)
        known = {one.user_hash: one for one in captures_in(tx, self.thread_id)}
        fresh: list[str] = []
        for said in part:
            there = known.get(said.user_hash)
            if there is None:
                fresh.append(self._add(tx, workspace_id, said))
            elif there.answer_hash is None and said.has_answer and there.turn_id is not None:
                fresh.append(self._go_on(tx, there, said))
        self.turns += len(fresh)
        facts = [fact for of in turn_items(tx, fresh).values() for fact in read_items(tx, list(of)).values()]
        self._means.neighbours.on_items(tx, [fact for fact in facts if fact.indexable])
        for turn_id in fresh if learns else ():
            self._means.background.queue(tx, self.thread_id, turn_id)
        touch_thread(tx, self.thread_id, self._means.clock.now())

    def open(self, tx: Tx) -> None:
        """Find or make the conversation: that of the session, else the newest of its client and agent that began alike.

        Where that went on otherwise, a new one is made.
        """
        source = self.params.source
        workspace_id = self._captures.workspace_of(tx, source)
        if self.session is not None:
            newest = newest_of_session(tx, workspace_id, self.session)
        else:
            newest = newest_of_hash(tx, workspace_id, self.said[0].user_hash, source.client, source.agent_id)
        thread_id = source.thread_id or (newest.thread_id if newest is not None else None)
        known = captures_in(tx, thread_id) if thread_id is not None else []
        shared = _count_shared_turns(known, self.said)
        has_left = source.thread_id is None and shared < min(len(known), len(self.said))
        is_other = thread_id is None or has_left
        self.thread_id = self._means.ids.new("thr") if is_other else thread_id or ""
        fork = None
        if has_left and thread_id is not None and shared:
            fork = ThreadFork(thread_id=thread_id, turn_id=known[shared - 1].turn_id)
            self.said = self.said[shared:]
        self._captures.ensure_thread(tx, workspace_id, self.thread_id, source.agent_id, fork)

    def _add(self, tx: Tx, workspace_id: str, said: HashedTurn) -> str:
        """Store a new turn at the end of the conversation; return its id."""
        turn_id = self._means.ids.new("trn")
        at = said.at if said.at is not None else self._means.clock.now()
        options = options_of(self._means, self.params.source)
        place = (turn_id, self.thread_id, last_position(tx, self.thread_id) + 1)
        add_turn(tx, NewTurn(*place, "import", "agent", said.whole_hash, at, options=options))
        new = NewCapture(workspace_id, self.thread_id, turn_id, self.session, self.said[0].user_hash, said.user_hash)
        row = add_capture(tx, new, self._means.clock.now())
        if said.has_answer:
            answer_capture(tx, row, said.whole_hash, self._means.clock.now())
        self._add_items(tx, turn_id, said.messages, 0, at)
        return turn_id

    def _go_on(self, tx: Tx, there: KnownCapture, said: HashedTurn) -> str:
        """Add the answer to a turn that had none yet; return its id."""
        turn_id = there.turn_id or ""
        known = items_of_turn(tx, turn_id)
        at = said.at if said.at is not None else self._means.clock.now()
        self._add_items(tx, turn_id, said.messages[len(known) :], len(known), at)
        answer_capture(tx, there.row, said.whole_hash, self._means.clock.now())
        return turn_id

    def _add_items(self, tx: Tx, turn_id: str, messages: Sequence[TranscriptMessage], first: int, at: int) -> None:
        for place, message in enumerate(messages, first):
            item = Item(
                item_id=self._means.ids.new("itm"),
                turn_id=turn_id,
                thread_id=self.thread_id,
                kind="user_message" if message.role == "user" else "agent_message",
                role=message.role,
                status="completed",
                text=self._erased.take_out(message.text),
                at=at,
                name=None,
                artifacts=[],
                tool=None,
            )
            add_item(tx, item, place)


def _count_shared_turns(known: Sequence[KnownCapture], said: Sequence[HashedTurn]) -> int:
    """Return how many turns a conversation and a transcript have in common from their beginnings."""
    count = 0
    for one, other in zip(known, said, strict=False):
        if one.user_hash != other.user_hash or (one.answer_hash or other.whole_hash) != other.whole_hash:
            break
        count += 1
    return count


class Ingests:
    """The wire method of transcripts."""

    def __init__(self, captures: Captures, means: CaptureMeans, jobs: JobQueue, forgettings: Forgettings) -> None:
        self._captures, self._means, self._jobs, self._forgettings = captures, means, jobs, forgettings
        self._storing = anyio.Lock()

    def bindings(self) -> list[Bound]:
        """Return the methods of the wire that are answered here."""
        return [bind(m.CAPTURE_INGEST, self.capture_ingest)]

    async def capture_ingest(self, params: CaptureIngestParams) -> CaptureIngestResult:
        """Keep a transcript; return its conversation and how many of its turns are new or have an answer now."""
        enter(params.source.door, params.source.client)
        db, forgettings = self._means.db, self._forgettings
        began = await db.read(forgettings.generation)
        work = _Work(self._captures, self._means, params, forgettings.find_erased, began)
        if not work.said:
            raise CallerError.at("$.turns", "Nobody says anything in them")
        learns = params.live and self._means.settings().http.ingest_learns
        async with self._storing:  # a transcript that comes twice at once is stored once
            await db.write(work.open)
            for begun in range(0, len(work.said), TURNS_AT_ONCE):
                part = work.said[begun : begun + TURNS_AT_ONCE]
                await db.write(partial(work.store, part=part, learns=learns))
        job_id = await db.read(lambda tx: self._job_of(tx, work.thread_id)) if work.turns else None
        return CaptureIngestResult(job_id=job_id, thread_id=work.thread_id, turns=work.turns, skipped=work.skipped)

    def _job_of(self, tx: Tx, thread_id: str) -> str | None:
        """Return the newest work that follows what was said in a conversation; None where none waits."""
        for kind in FOLLOWING:
            for job in self._jobs.jobs(tx, kind=kind, states=("queued", "leased"), limit=100):
                if job.thread_id == thread_id:
                    return job.job_id
        return None
