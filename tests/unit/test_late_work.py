"""Work under way against forgetting: each is stopped at every one of its awaits, and something is forgotten there."""

import asyncio
import json
from collections.abc import Awaitable, Callable, Coroutine, Iterator, Mapping, Sequence
from importlib import import_module
from itertools import count
from pathlib import Path
from typing import Any, TypeVar

import msgspec
import pytest
from interleaving import Await, Interleaving, awaits_in_the_code, loaded_modules
from loops import first_of, matrix
from sizes import size
from spawned import SCRIPTED

from agent.capture import ingest
from gateway.base.hub import Hub
from gateway.embedding.meaning import Embedding
from gateway.foundations import open_home
from gateway.home.starting import Options
from gateway.jobs.queue import job_of
from gateway.memory_core import build_core
from gateway.wiring import App, build
from memory.doorway import begin_write
from memory.forget.deleted_scopes import DeletedScopes
from memory.rows.forgetting import read_generation
from protocol.errors import GatewayError
from protocol.seams.ports import Job, Tx

pytestmark = pytest.mark.loop("check")  # seconds each

T = TypeVar("T")
Work = Callable[["House"], Awaitable[Coroutine[Any, Any, Any]]]
"""Makes everything ready that a piece of work reads, and returns the work, which is not begun."""

SURE = {
    "explicitness": "explicit",
    "category": "preference",
    "subject": "current_user",
    "attribute": "food",
    "durability": "long_lived",
    "certainty": "high",
    "sensitivity": "none",
}
OF_PROJECT = {"category": "project_fact", "subject": "workspace", "scope_hint": "project_workspace"}
BEGINNINGS = {begin_write, read_generation, DeletedScopes.generation}
OPEN_RUN = "SELECT * FROM job WHERE kind = 'hook_run' AND state = 'queued' ORDER BY id DESC LIMIT 1"
SAYING = "SELECT content FROM record WHERE status = 'active' AND instr(content, ?) AND memory_id <> ?"
WAITING = "SELECT content FROM shown_candidate WHERE status = 'pending' AND instr(content, ?)"


class Held:
    """A claimed job that is done once its handler returns."""

    def __init__(self, job: Job) -> None:
        self.job = job

    def finish(self, tx: Tx) -> None:
        """There is no lease to end."""


class House:
    """A whole gateway without its workers, and one conversation at a time that teaches one fact."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        (folder / "config.toml").write_text(SCRIPTED, encoding="utf-8")
        self.script([])
        self.runner = asyncio.Runner()
        self.base = self.do(open_home(Options(home=folder / "home", config=folder / "config.toml", uses_stderr=False)))
        core = build_core(self.base, Hub())
        self.app: App = build(core)
        self.models = self.do(self.load_model(core.embedding))  # a write waits for its vector
        self.write = self.base.database.write
        for name in ("read", "write", "note"):
            setattr(self.base.database, name, self.heard(getattr(self.base.database, name)))
        self.has_begun = False
        self.met = 0
        self.numbers = count()
        self.known = ""
        self.is_of_project = False
        """Whether the facts are the workspace's; else they are the user's own."""
        self.fresh()

    @staticmethod
    async def load_model(embedding: Embedding) -> asyncio.Task[None]:
        loading = asyncio.ensure_future(embedding.run())
        embedding.apply()
        assert await embedding.wake()
        return loading

    def heard(self, call: Callable[..., Coroutine[Any, Any, Any]]) -> Callable[..., Coroutine[Any, Any, Any]]:
        """Work that a person decides on begins where it reads how much was forgotten: before, it has read nothing."""

        async def calling(work: Any, *given: Any, **named: Any) -> Any:
            result = await call(work, *given, **named)
            called = getattr(work, "func", work)
            self.has_begun |= getattr(called, "__func__", called) in BEGINNINGS
            return result

        return calling

    def do(self, work: Coroutine[Any, Any, T]) -> T:
        return self.runner.run(work)

    def close(self) -> None:
        self.models.cancel()
        self.base.database.close()
        self.runner.close()

    def script(self, facts: list[dict[str, Any]]) -> None:
        """What the extractor's model finds."""
        rule = {"role": "extractor", "respond": {"json": {"facts": facts}}}
        (self.folder / "script.jsonl").write_text(json.dumps(rule) + "\n", encoding="utf-8")

    def fresh(self) -> None:
        """Another workspace, thread, turn and fact: nothing of what was forgotten before has to do with it."""
        n = next(self.numbers)
        self.workspace, self.thread, self.turn = f"ws_{n}", f"thr_{n}", f"trn_{n}"
        self.word = f"zq{n}x"
        self.said = f"My favourite drink is {self.word} tea"
        self.content = f"The user's favourite drink is {self.word} tea"
        if self.is_of_project:
            self.said, self.content = (
                f"Remember that the project uses {self.word} tea",
                f"The project uses {self.word} tea",
            )
        self.semantic = {**SURE, **(OF_PROJECT if self.is_of_project else {})}
        self.context = {"workspace_id": self.workspace, "thread_id": self.thread}
        self.known = ""
        self.has_begun = False

    async def call(self, method: str, /, **params: Any) -> Any:
        bound = self.app.bound[method]
        return await bound.call(msgspec.convert(params, bound.method.params))

    async def talk(self) -> None:
        """A turn in which the fact is said, in a thread and a workspace of its own."""
        await self.call("workspace/create", workspace_id=self.workspace)
        await self.call("thread/start", thread_id=self.thread, workspace_id=self.workspace)
        said = [{"type": "text", "text": self.said}]
        await self.call("turn/prepare", thread_id=self.thread, turn_id=self.turn, input=said)
        await self.call("turn/finish", turn_id=self.turn, status="succeeded", assistant_text="Good.")

    async def learn(self, content: str) -> None:
        """A record that came from the turn."""
        self.known = (
            await self.propose(content=content, semantic={**self.semantic, "attribute": "other"})
        ).record.memory_id

    async def propose(self, **more: Any) -> Any:
        items = (await self.call("turn/items", turn_id=self.turn)).items
        evidence = [{"quote": self.said, "thread_id": self.thread, "turn_id": self.turn, "item_id": items[0].item_id}]
        asked = {"content": self.content, "semantic": self.semantic, "evidence": evidence, "context": self.context}
        return await self.call("memory/write", **{**asked, **more})

    async def records(self) -> list[str]:
        """What is believed of the fact, after everything that the writer was asked for before; not the record known at
        first."""
        rows = await self.write(lambda tx: tx.all(SAYING, (self.word, self.known)))
        return [content for (content,) in rows]

    async def candidates(self) -> list[str]:
        """What waits of the fact."""
        return [content for (content,) in await self.write(lambda tx: tx.all(WAITING, (self.word,)))]

    @property
    def scope(self) -> dict[str, str]:
        """The scope of the facts."""
        return (
            {"kind": "workspace", "key": self.workspace} if self.is_of_project else {"kind": "user", "key": "default"}
        )

    async def forget(self, target: dict[str, Any]) -> Any:
        return await self.call("memory/forget", target=target, context=self.context)


@pytest.fixture(scope="module")
def awaits() -> Iterator[list[Await]]:
    """Stops in front of the awaits of all modules."""
    for name in ("scripted", "tries"):
        import_module(f"gateway.providers.{name}")  # else a first answer of the model would do it
    import_module("knowledge.house")  # else a first question to files
    loaded = loaded_modules()
    with awaits_in_the_code() as found:
        yield found
    assert loaded_modules() - loaded == set(), "awaits of modules that are imported later are passed over"


@pytest.fixture
def house(tmp_path: Path, awaits: list[Await]) -> Iterator[House]:
    assert awaits
    made = House(tmp_path)
    yield made
    made.close()


# -- what is under way -------------------------------------------------------------------------------------------------


async def extraction(house: House) -> Coroutine[Any, Any, Any]:
    """The hook run of a turn, with a model that finds the fact."""
    house.script([{"semantic": house.semantic, "content": house.content, "evidence": {"quote": house.said}}])
    return await _extraction(house)


async def extraction_by_rules(house: House) -> Coroutine[Any, Any, Any]:
    """The hook run of a turn in which a model finds nothing."""
    house.script([])
    return await _extraction(house)


async def _extraction(house: House) -> Coroutine[Any, Any, Any]:
    await house.talk()
    row = await house.write(lambda tx: tx.one(OPEN_RUN))
    assert row is not None
    names = await house.write(lambda tx: [column[1] for column in tx.all("PRAGMA table_info(job)")])
    wanted = (
        "job_id",
        "kind",
        "subject",
        "thread_id",
        "turn_id",
        "state",
        "attempt_count",
        "next_run_at",
        "created_at",
        "last_error",
        "death_count",
    )
    values = dict(zip(names, row, strict=True))
    return house.app.background.run(Held(job_of(tuple(values[name] for name in wanted))))


async def proposal(house: House) -> Coroutine[Any, Any, Any]:
    """A host's own proposal, with the turn's words as evidence."""
    await house.talk()
    return house.propose()


async def approval(house: House) -> Coroutine[Any, Any, Any]:
    """A person's yes to a candidate that came from the turn."""
    await house.talk()
    made = await house.propose(disposition="create_pending_candidate")
    wanted = {"candidate_id": made.candidate.candidate_id, "context": house.context}
    return house.call("memory/candidates/approve", **wanted)


async def tool(house: House) -> Coroutine[Any, Any, Any]:
    """A model's own note of the fact, in a turn that runs."""
    return await _tool_call(house, house.said if house.is_of_project else f"Please remember: {house.said}.")


async def _tool_call(house: House, text: str) -> Coroutine[Any, Any, Any]:
    await house.talk()
    house.turn += "_b"
    said = [{"type": "text", "text": text}]
    await house.call("turn/prepare", thread_id=house.thread, turn_id=house.turn, input=said)
    asked = {"domains": ["memory"], "reason": "to keep it"}
    await house.call("turn/tool_call", turn_id=house.turn, call_id="c0", name="request_tools", arguments=asked)
    arguments = {"content": house.content, "category": house.semantic["category"]}
    return house.call("turn/tool_call", turn_id=house.turn, call_id="c1", name="memory_remember", arguments=arguments)


async def wish(house: House) -> Coroutine[Any, Any, Any]:
    """A host's `memory/remember`, said to come from the turn."""
    await house.talk()
    came = {"thread_id": house.thread, "turn_id": house.turn}
    once = {"provenance": came, "idempotency_key": house.word, "scope": house.scope}
    return house.call("memory/remember", content=house.content, context=house.context, **once)


async def bundle(house: House) -> Coroutine[Any, Any, Any]:
    """A bundle that holds the record of the turn; the home of now has it not."""
    await house.talk()
    made = (await house.propose()).record
    text = (await house.call("memory/export", context=house.context)).bundle

    def lose(tx: Tx) -> None:
        for table in ("evidence", "memory_event", "record_terms", "memory_vec"):
            column = "row" if table == "record_terms" else "record_id" if table == "memory_vec" else "memory_id"
            one = "(SELECT id FROM record WHERE memory_id = ?)" if column != "memory_id" else "?"
            tx.run(f"DELETE FROM {table} WHERE {column} = {one}", (made.memory_id,))  # noqa: S608  # names of this test
        tx.run("DELETE FROM record WHERE memory_id = ?", (made.memory_id,))

    await house.write(lose)
    return house.call("memory/import", bundle=text, context=house.context)


async def agent_note(house: House) -> Coroutine[Any, Any, Any]:
    """An agent's note on its own account, in its workspace."""
    await house.talk()
    return house.call("memory/note", content=house.content, agent_id="helper", context=house.context)


async def note_in_turn(house: House) -> Coroutine[Any, Any, Any]:
    """A model's note in a turn in which nobody asked for it."""
    await house.call("settings/update", update={"memory": {"agent_notes": "all"}})
    return await _tool_call(house, "What do you think of it?")


EXTRACTIONS = (extraction, extraction_by_rules)
WORKS: Sequence[Work] = (*EXTRACTIONS, proposal, approval, bundle, tool, wish)
NOTES = (agent_note, note_in_turn)
"""Works that write nothing of the user's own."""
IN_TURNS = (tool, note_in_turn)
"""Works during which their thread cannot be deleted."""


# -- what is forgotten -------------------------------------------------------------------------------------------------


async def forget_record(house: House) -> None:
    await house.forget({"kind": "id", "memory_id": house.known})


async def forget_turn(house: House) -> None:
    await house.forget({"kind": "turn", "turn_id": house.turn})


async def forget_thread(house: House) -> None:
    await house.forget({"kind": "thread", "thread_id": house.thread})


async def forget_scope(house: House) -> None:
    await house.forget({"kind": "scope", "scope": house.scope})


async def delete_thread(house: House) -> None:
    await house.call("thread/delete", thread_id=house.thread)


async def delete_workspace(house: House) -> None:
    await house.call("workspace/delete", workspace_id=house.workspace)


DELETIONS = {delete_thread, delete_workspace}
SPARING = {forget_record, *DELETIONS}
"""What is another record, or the user's own, stays where it was written before."""
OF_SOURCES = {forget_turn, forget_thread, *DELETIONS}
"""What a host's proposal cannot come after, whenever it began: the source itself is forgotten."""
FORGETS = [forget_record, forget_turn, forget_thread, forget_scope, delete_thread, delete_workspace]


def play(house: House, work: Work, forget: Callable[[House], Awaitable[None]], at: int) -> bool:
    """Do the work, with the forgetting at one of its awaits; False where it has no such await."""

    spared = SPARING - ({delete_workspace} if house.is_of_project else set())

    async def scene() -> bool:
        house.fresh()
        begun = await work(house)
        if forget is forget_record:
            is_reworded = work in {approval, *EXTRACTIONS}
            await house.learn(f"The user has a cup of {house.word} at five" if is_reworded else house.content)
        house.has_begun = is_begun = is_written = False
        refusals: list[GatewayError] = []

        async def between() -> None:
            nonlocal is_begun, is_written
            is_begun = house.has_begun or work in EXTRACTIONS or (work is proposal and forget in OF_SOURCES)
            is_written = bool(await house.records() or (work is not approval and await house.candidates()))
            try:
                await forget(house)
            except GatewayError as failure:
                refusals.append(failure)

        interleaving = Interleaving(at, between)
        try:
            await interleaving.run(begun)
        except GatewayError as failure:
            assert failure.reason in {"not_found", "write_refused", "conflict"}  # whichever of them
        if refusals:  # a thread with a running turn is not deleted
            assert (work in IN_TURNS, refusals[0].reason in {"turn_in_progress", "conflict"}) == (True, True)
        elif is_begun and not (is_written and forget in spared):
            house.met += 1
            assert await house.records() == [], interleaving.stopped_at
            assert work is approval or await house.candidates() == [], interleaving.stopped_at
        return interleaving.was_reached

    return house.do(scene())


OF_PROJECTS = [forget_scope, delete_workspace]
"""What reaches a workspace's facts otherwise than the user's own."""
MET = ((WORKS, FORGETS, False), ((*WORKS, *NOTES), OF_PROJECTS, True))
"""The pairs of a work and a forgetting that meet, of facts of the user and of a workspace."""
CASES = [(work, forget, is_of) for works, forgets, is_of in MET for work in works for forget in forgets]
IN_CHECK = {
    *((work, FORGETS[n % len(FORGETS)], False) for n, work in enumerate(WORKS)),
    *((work, forget, True) for work, forget in zip((proposal, agent_note), OF_PROJECTS, strict=True)),
    (note_in_turn, forget_scope, True),
}
"""Each work once, and each forgetting, of facts of both kinds."""


@pytest.mark.parametrize(
    ("work", "forget", "is_of_project"),
    matrix(CASES, in_check=IN_CHECK),
    ids=lambda one: one.__name__ if callable(one) else "project" if one else "user",
)
def test_nothing_is_kept_of_what_is_forgotten_meanwhile(
    house: House, work: Work, forget: Callable[[House], Awaitable[None]], *, is_of_project: bool
) -> None:
    house.is_of_project = is_of_project
    reached = 0
    while play(house, work, forget, reached):
        reached += 1
    assert reached >= 4
    is_refused = work in IN_TURNS and forget in DELETIONS  # a thread with a running turn is not deleted
    assert house.met or is_refused, "the forgetting met no work that had begun"


UNMET: Mapping[tuple[str, int], str] = {
    ("Background._attempt", 2): "the process ends",
    ("Background._attempt", 3): "the extractor fails, and nothing is written",
    ("Database.write", 0): "bookkeeping of a read is still to be written, as it happens",
    ("Database.write", 2): "what is written even to a full disk, which nothing learnt is",
    ("Database.write", 3): "a full disk",
    ("Database.write", 4): "a full disk",
    ("Embedding.of_query", 0): "no model is loaded: the vector is made later",
    ("MemoryService.remember", 1): "what the user took from a file of a collection",
    ("RecordGate.read", 1): "a damaged record",
    ("RecordSearcher.rank", 1): "a damaged index",
    ("RecordSearcher.search", 2): "a search that finds nothing and looks elsewhere",
    ("ScriptedModel.attempt", 0): "a model that takes its time",
    ("Turns.turn_tool_call", 0): "a turn that has ended",
    ("Turns.turn_tool_call", 3): "a turn that ends",
}
"""Awaits of functions that the works run, which no work comes to, each with its reason: by function and number."""


def test_each_work_keeps_its_fact_and_no_await_on_its_way_is_passed_over(house: House, awaits: list[Await]) -> None:
    met = set[Await]()

    async def scene(work: Work) -> None:
        house.fresh()
        interleaving = Interleaving(-1, lambda: asyncio.sleep(0))
        await interleaving.run(await work(house))
        met.update(interleaving.met)
        assert len(await house.records()) == 1, work

    for house.is_of_project in (False, True):
        for work in (*WORKS, *(NOTES if house.is_of_project else ())):
            house.do(scene(work))
    entered = {(one.module, one.function) for one in met}
    unmet = {(one.function, one.number) for one in set(awaits) - met if (one.module, one.function) in entered}
    assert unmet == set(UNMET)


def test_another_workspace_does_not_learn_that_a_thread_was_deleted_meanwhile(house: House) -> None:
    async def outcome(names: Callable[[], str], at: int) -> tuple[str, bool]:
        """Propose from another workspace what names a thread, which is deleted at an await; the answer's code."""
        house.fresh()
        await house.talk()
        await house.call("workspace/create", workspace_id="ws_stranger")
        evidence = [{"quote": house.said, "thread_id": names()}]
        interleaving = Interleaving(at, lambda: delete_thread(house))
        proposed = house.call(
            "memory/write",
            content=house.content,
            semantic=SURE,
            evidence=evidence,
            context={"workspace_id": "ws_stranger"},
        )
        try:
            code = (await interleaving.run(proposed)).decision.reason_code
        except GatewayError as failure:
            code = str(failure.details)
        return code, interleaving.was_reached

    at, is_reached = 0, True
    while is_reached:
        told, is_reached = house.do(outcome(lambda: house.thread, at))
        assert told == house.do(outcome(lambda: "thr_never", at))[0], at
        at += 1
    assert at >= 3


# -- a conversation that comes in --------------------------------------------------------------------------------------

BROUGHT = "SELECT count(*) FROM item WHERE instr(text, ?)"


async def delete_and_make_workspace(house: House) -> None:
    """The id is another workspace's afterwards, with nothing of the one before."""
    await delete_workspace(house)
    await house.call("workspace/create", workspace_id=house.workspace)


LOSES_WHAT_IS_THERE = [delete_thread, delete_workspace, delete_and_make_workspace]


def bring(house: House, forget: Callable[[House], Awaitable[None]], at: int, *, is_new: bool) -> bool:
    """Import a conversation, with the forgetting at one of its awaits; False where it has no such await."""

    async def scene() -> bool:
        house.fresh()
        await house.talk()
        if is_new:
            house.thread += "_new"
        words = f"{house.word} brought"
        turns = [{"turn_id": f"{house.turn}_in", "at": 1, "items": [{"role": "user", "text": words}]}]
        source = {"kind": "chat", "id": house.thread}
        asked = {
            "workspace_id": house.workspace,
            "thread_id": house.thread,
            "source": source,
            "turns": turns,
            "mode": "append",
        }
        is_begun = is_written = is_refused = False

        async def brought() -> bool:
            (count,) = (await house.write(lambda tx: tx.one(BROUGHT, (words,)))) or (0,)
            return count > 0

        async def between() -> None:
            nonlocal is_begun, is_written
            is_begun, is_written = house.has_begun, await brought()
            try:
                await forget(house)
            except GatewayError as failure:
                assert (failure.reason, is_new, is_written) == ("not_found", True, False)  # it is not there yet

        interleaving = Interleaving(at, between)
        try:
            await interleaving.run(house.call("thread/import", **asked))
        except GatewayError as failure:
            assert failure.reason in {"not_found", "conflict"}
            is_refused = True
        if not interleaving.was_reached:
            assert not is_refused
        elif is_written:
            assert await brought() is (forget not in LOSES_WHAT_IS_THERE), at
        elif is_begun and not (is_new and forget is delete_thread):  # what is not there cannot be deleted
            assert (at, is_refused, await brought()) == (at, True, False)
        return interleaving.was_reached

    return house.do(scene())


@pytest.mark.parametrize("is_new", [False, True])
@pytest.mark.parametrize("forget", [forget_thread, *LOSES_WHAT_IS_THERE])
def test_nothing_comes_in_by_an_import_that_a_forgetting_meets(
    house: House, forget: Callable[[House], Awaitable[None]], *, is_new: bool
) -> None:
    reached = 0
    while bring(house, forget, reached, is_new=is_new):
        reached += 1
    assert reached >= 4


# -- what is said while an erase is under way --------------------------------------------------------------------------


@pytest.mark.loop("check", "campaign")
def test_what_is_said_before_an_erase_commits_is_taken_out_with_its_sources(house: House) -> None:
    async def scene(at: int) -> bool:
        house.fresh()
        await house.talk()
        made = (await house.propose()).record
        is_before = False

        async def say_it_again() -> None:
            nonlocal is_before
            is_before = bool(await house.records())
            turns = [{"at": 1, "items": [{"role": "user", "text": f"Once more: {house.content}"}]}]
            asked = {"workspace_id": house.workspace, "thread_id": f"{house.thread}_in"}
            await house.call("thread/import", source={"kind": "chat", "id": house.thread}, turns=turns, **asked)

        interleaving = Interleaving(at, say_it_again)
        target = {"kind": "id", "memory_id": made.memory_id}
        erased = {"target": target, "mode": "erase", "include_sources": True, "context": house.context}
        receipt = (await interleaving.run(house.call("memory/forget", **erased))).receipt
        if is_before:
            house.met += 1
            left = await house.write(lambda tx: tx.one(BROUGHT, (house.word,)))
            assert (receipt.complete, left) == (True, (0,)), interleaving.stopped_at
        return interleaving.was_reached

    at = first_of("await_stride")
    while house.do(scene(at)):
        at += size("await_stride")
    assert house.met >= 4


@pytest.mark.loop("check", "campaign")
def test_a_transcript_that_an_erase_meets_brings_none_of_its_words(
    house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ingest, "TURNS_AT_ONCE", 1)

    async def scene(at: int) -> bool:
        house.fresh()
        await house.talk()
        made = (await house.propose()).record
        is_begun = False

        async def erase() -> None:
            nonlocal is_begun
            is_begun = house.has_begun
            target = {"kind": "id", "memory_id": made.memory_id}
            erased = {"target": target, "mode": "erase", "include_sources": True, "context": house.context}
            assert (await house.call("memory/forget", **erased)).receipt.complete

        source = {"client": "codex", "door": "ingest", "session_id": house.thread, "workspace_id": house.workspace}
        turns = [
            {"at": n, "messages": [{"role": "user", "text": f"For the {n}. time: {house.content}"}]}
            for n in range(1, 4)
        ]
        house.has_begun = False
        interleaving = Interleaving(at, erase)
        await interleaving.run(house.call("capture/ingest", source=source, turns=turns))
        if is_begun:
            house.met += 1
            left = await house.write(lambda tx: tx.one(BROUGHT, (house.word,)))
            assert left == (0,), interleaving.stopped_at
        return interleaving.was_reached

    house.met, at = 0, first_of("await_stride")
    while house.do(scene(at)):
        at += size("await_stride")
    assert house.met >= 4
