"""`pioneer demo`: it plays the bundled story through a spawned gateway on a home of its own and shows its decisions.

Rule 1: everything shown comes over the wire from a real gateway; nothing is computed or remembered here.
"""

import contextlib
import re
import shutil
import sys
import tempfile
import time
from datetime import UTC, datetime
from pathlib import Path

import anyio
import msgspec
from rich._export_format import CONSOLE_SVG_FORMAT
from rich.console import Console
from rich.panel import Panel
from rich.text import Text

from gateway.play.demo_story import FILES, MONDAY, STORY, USER, WORKSPACE, StoryTurn, script
from gateway.wire.client import GatewayClient, console_script
from protocol import methods as call
from protocol.base import DAY_MS, PROTOCOL_VERSION, Empty
from protocol.conversation.threads import ThreadHistoryParams, ThreadStartParams
from protocol.conversation.turns import TextInput, Turn, TurnParams, TurnStartParams
from protocol.files.collections import CollectionAddParams, CollectionParams
from protocol.files.knowledge import KnowledgeReadParams
from protocol.gateway import ClientInfo, DrainParams, InitializeParams
from protocol.memory.changes import HistoryParams
from protocol.memory.explaining import ExplainParams, ExplainTarget
from protocol.memory.reads import GetParams, ListParams, SearchParams
from protocol.memory.values import Context
from protocol.notifications import MemoryChanged
from protocol.thread_episodic import ThreadSearchParams

TURN_SECONDS = 20
"""A turn of the demo takes well under a second; a machine in trouble gets a clear end instead of a hanging terminal."""

PICTURE_WIDTH = 100
PICTURE_BEGINS_ON = 2
"""The day at which the picture begins: a secret, a correction, a question and a forgetting fit on one screen."""

INTRODUCTION = """\
A made-up conversation of nine days: Mira talks to an assistant, whose answers
are written beforehand. The gateway is real: it decides what is kept, what is
found again for a message, and why. Its lines mean:

    recalled  what memory adds to the message, with its place in [brackets]
  remembered  a fact that is kept, and why
    replaced  a fact that gives way to a newer one
     refused  what is not kept, and why
       calls  a tool that the assistant uses
       files  notes of a folder, read where they lie
       rules  instructions of the project or of an agent\
"""

NOTHING = {
    "no_match": "nothing: no memory has to do with it",
    "below_floor": "nothing: no memory is near enough to it",
}
"""The reasons for which a message gets nothing from memory; another one is shown as its code."""

CUTS = {None: "recalled", "floor": "left out, too far from it", "budget": "left out, no room"}
"""The fate of a memory that a question came upon."""

WHY = {
    "active_created": "stated by the user, durable, clear",
    "duplicate_active": "known already: evidence merged, no second record",
    "superseded_by_correction": "a correction: the new one replaces the old, both are kept",
    "secret_detected": "it holds a credential: no record, no candidate, no log",
    "no_memory_requested": "the user asked not to remember this",
    "low_score": "not certain enough",
    "subagent": "a helper is given no persona, and teaches memory nothing",
}


class Stage:
    """The stage of the demo: the output that a person sees."""

    def __init__(self, project: Path, picture: Path | None = None) -> None:
        self.project = project
        width = min(Console().width, 110) if picture is None else PICTURE_WIDTH
        self.out = Console(highlight=False, soft_wrap=False, width=width, record=picture is not None)
        self._picture = picture

    def begin_picture(self) -> None:
        """Begin the picture here: earlier output is left out of it."""
        if self._picture is not None:
            self.out.export_text(clear=True)

    def end_picture(self) -> None:
        """Write the picture of the output since its beginning, without a font that a reader would fetch."""
        if self._picture is not None:
            plain = re.sub(r"@font-face \{\{.*?\}\}\s*", "", CONSOLE_SVG_FORMAT, flags=re.DOTALL)
            self.out.save_svg(str(self._picture), title="pioneer demo", code_format=plain, unique_id="demo")
            self._picture = None

    def scene(self, said: StoryTurn, at: int) -> None:
        """Show a heading for a new day."""
        when = datetime.fromtimestamp(at / 1000, UTC)
        self.out.print()
        self.out.rule(f"[bold]{said.title}[/bold]  [dim]{when:%A %d %B %Y}[/dim]", align="left")

    def line(self, label: str, text: str, style: str = "") -> None:
        """Show one labelled line, wrapped under itself."""
        first = True
        for part in Text(text).wrap(self.out, self.out.width - 14):
            self.out.print(Text.assemble((f"{label if first else '':>12}  ", "dim"), (part.plain, style)))
            first = False

    def box(self, title: str, lines: list[str], style: str) -> None:
        """Show a framed list."""
        self.out.print()
        self.out.print(
            Panel(Text("\n".join(lines) or "(nothing)"), title=title, title_align="left", border_style=style)
        )


def _home_files(home: Path) -> tuple[Path, Path]:
    """Write the configuration, the story and the scripted answers; return the paths of the clock and of config.toml."""
    (home / "script.jsonl").write_bytes(b"\n".join(msgspec.json.encode(rule) for rule in script()) + b"\n")
    for name, text in FILES.items():
        path = home / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    config = home / "config.toml"
    config.write_text(
        '[gateway.providers.demo]\nkind = "scripted"\nscript = "script.jsonl"\n\n'
        '[gateway.roles]\nmain = "demo"\nextractor = "demo"\n',
        encoding="utf-8",
    )
    return home / "clock", config


async def _spawn(home: Path, clock: Path, config: Path) -> GatewayClient:
    client = await GatewayClient.start(
        [*console_script(), "serve", "--home", str(home / "home"), "--config", str(config), "--clock-file", str(clock)]
    )
    hello = InitializeParams(
        protocol_version=PROTOCOL_VERSION,
        client=ClientInfo(name="Demo app", version="1", time_zone="UTC"),
        workspace_id=WORKSPACE,
    )
    await client.call(call.INITIALIZE, hello)
    return client


async def _add_notes(client: GatewayClient, stage: Stage) -> None:
    """Have the folder of notes indexed; it is read where it lies, and nothing of it is copied."""
    notes = str(stage.project / "notes")
    await client.call(call.COLLECTIONS_ADD, CollectionAddParams(path=notes, workspace_id=WORKSPACE))
    await client.call(call.DRAIN, DrainParams())
    known = (await client.call(call.COLLECTIONS_GET, CollectionParams(collection_id="notes"))).collection
    stage.line("files", f"{known.files.indexed} notes are searched where they lie; no text of them is copied", "cyan")


async def _play(client: GatewayClient, stage: Stage, said: StoryTurn) -> None:
    """Play one turn and show its messages, recall, and decisions."""
    where = str(stage.project) if said.in_project else None
    await client.call(
        call.THREAD_START,
        ThreadStartParams(
            thread_id=said.thread,
            cwd=where,
            agent_id=said.agent,
            agent=said.agent is not None,
            parent_thread_id=said.helps,
        ),
    )
    stage.line(USER, said.text, "bold")
    seen = len(client.received)
    started = await client.call(
        call.TURN_START, TurnStartParams(thread_id=said.thread, input=[TextInput(text=said.text)])
    )
    turn_id = started.turn.turn_id
    with anyio.fail_after(TURN_SECONDS):
        await client.wait_for("turn/post_completed", lambda p: p["turn_id"] == turn_id)
    turn = (await client.call(call.TURN_GET, TurnParams(turn_id=turn_id))).turn
    await _show_recall(client, stage, turn)
    items = await client.call(call.THREAD_HISTORY, ThreadHistoryParams(thread_id=said.thread, order="desc", limit=10))
    for item in reversed([i for i in items.items if i.turn_id == turn_id]):
        if item.tool is not None and item.kind == "tool_call":
            stage.line("calls", f"{item.tool.name} {msgspec.json.encode(item.tool.arguments).decode()}", "cyan")
        elif item.kind == "agent_message":
            stage.line("assistant", item.text)
    await _show_memory(client, stage, turn_id, client.received[seen:])


async def _show_recall(client: GatewayClient, stage: Stage, turn: Turn) -> None:
    """Show what the turn's prompt was given: memories, earlier conversation, files and rules."""
    manifest = turn.prompt_manifest
    if manifest is None:
        return
    for memory_id in manifest.recall.memory_ids:
        found = await client.call(call.MEMORY_GET, GetParams(memory_id=memory_id))
        if found.record is not None:
            kind = found.record.category.replace("_", " ")
            stage.line("recalled", f"{found.record.content}  [memory: {kind}]", "green")
    if manifest.recall.chunk_ids:
        hits = await client.call(
            call.EPISODIC_SEARCH,
            ThreadSearchParams(workspace_id=WORKSPACE, query="decided sync timetables SQLite hours", min_score=0.0),
        )
        texts = {hit.chunk_id: hit for hit in hits.hits}
        for chunk_id in manifest.recall.chunk_ids:
            if (hit := texts.get(chunk_id)) is not None:
                day = datetime.fromtimestamp(hit.at / 1000, UTC)
                stage.line("recalled", f"{hit.snippet}  [conversation of {day:%d %b}]", "green")
    for address in manifest.recall.knowledge_ids:
        place = KnowledgeReadParams(address=address, context=Context(workspace_id=WORKSPACE))
        found = await client.call(call.KNOWLEDGE_READ, place)
        shown = f"{found.collection_id}:{found.path}, lines {found.from_line} to {found.to_line}"
        stage.line("recalled", f"{' '.join(found.text.split())}  [{shown}]", "green")
    rules = [ref.id for part in manifest.sections for ref in part.source_refs if ref.kind in {"instruction", "agent"}]
    for name in rules:
        text = next(text for path, text in FILES.items() if path.endswith(f"/{name}"))
        stage.line("rules", f"{text.strip()}  [{name}]", "blue")
    if manifest.recall.status != "recalled":
        reason = manifest.recall.reason or ""
        stage.line("recalled", NOTHING.get(reason, f"nothing: {reason}"), "dim")


async def _show_memory(
    client: GatewayClient, stage: Stage, turn_id: str, notices: list[tuple[str, dict[str, object]]]
) -> None:
    """Show what memory kept, replaced and forgot in the turn, and what it refused, with the reasons."""
    for method, params in notices:
        if method == "memory/changed":
            change = msgspec.convert(params, MemoryChanged)
            gone = f"{change.memory_id}: its words are in no answer any more, and it can be restored for 30 days"
            content = change.record.content if change.record is not None else gone
            why = WHY.get(change.origin.reason_code or "", change.origin.reason_code or "")
            label = {"created": "remembered", "superseded": "replaced", "deleted": "forgotten"}.get(change.change_kind)
            if label is not None:
                stage.line(label, f"{content}" + (f"  ({why})" if label == "remembered" else ""), "magenta")
    explained = await client.call(call.MEMORY_EXPLAIN, ExplainParams(target=ExplainTarget(kind="turn", id=turn_id)))
    for decision in explained.decisions:
        if decision.action in {"reject", "suppress"}:
            kinds = [
                f.name
                for f in decision.factors
                if decision.reason_code == "secret_detected" and f.value is True and not f.weight
            ]
            named = f" ({', '.join(kinds)})" if kinds else ""
            stage.line("refused", f"{WHY.get(decision.reason_code, '')}  [{decision.reason_code}{named}]", "yellow")
    if explained.outcome == "rejected" and not explained.decisions:
        failed = next((gate for gate in explained.gates if not gate.passed), None)
        if failed is not None:
            why = WHY.get(failed.reason_code or "", explained.summary)
            stage.line("refused", f"{why}  [{failed.reason_code}]", "yellow")


async def _epilogue(client: GatewayClient, stage: Stage) -> int:
    """Show the same home after a restart: its memories, the forgotten ones, and the reasons.

    Return when the last of its memories changed, in milliseconds.
    """
    listed = await client.call(call.MEMORY_LIST, ListParams(limit=50))
    stage.box(
        "the same home after a restart: durable memory",
        [f"{r.scope.kind:>9}  {r.content}" for r in listed.records],
        "green",
    )
    sync = next((r for r in listed.records if "two hours" in r.content), None)
    if sync is not None:
        events = (await client.call(call.MEMORY_HISTORY, HistoryParams(memory_id=sync.memory_id))).events
        lines = [
            f"{datetime.fromtimestamp(e.at / 1000, UTC):%d %b}  {e.event:<12} {WHY.get(e.reason_code or '', '')}"
            for e in events
        ]
        stage.box("history of the sync interval", lines, "magenta")
    gone = await client.call(call.MEMORY_SEARCH, SearchParams(query="where does Mira live, Aldermouth north pier"))
    left = [hit.record.content for hit in gone.hits if "Aldermouth" in hit.record.content]
    stage.box('search "where does Mira live": forgotten is forgotten', left, "yellow")
    why = await client.call(
        call.MEMORY_EXPLAIN, ExplainParams(query="how often does Harbor sync", context=Context(workspace_id=WORKSPACE))
    )
    known = {record.memory_id: record.content for record in listed.records}
    rows = [
        f"{c.rank}. {known.get(c.memory_id or '', c.memory_id)}  (score {c.score:.2f}: {CUTS.get(c.cut_by, c.cut_by)})"
        for c in why.candidates[:5]
    ]
    stage.box('what would "how often does Harbor sync" recall, and why?', [why.summary, *rows], "cyan")
    status = await client.call(call.STATUS, Empty())
    sizes = f"{status.storage.db_bytes // 1024} KiB"
    stage.line("status", f"version {status.version}, database {sizes}, degraded: {len(status.degraded)}")
    return max(record.updated_at for record in listed.records)


async def perform(picture: Path | None = None) -> None:
    """Play the whole demo; a part of it is written as a picture where one is wanted."""
    begun = time.monotonic()
    with contextlib.ExitStack() as kept:
        if picture is None:  # a person may look at it afterwards
            home = Path(tempfile.mkdtemp(prefix="pioneer-demo-"))
        else:
            home = Path(kept.enter_context(tempfile.TemporaryDirectory(prefix="pioneer-demo-")))
        stage = Stage(home / "harbor", picture)
        stage.out.print(INTRODUCTION, markup=False)
        clock, config = _home_files(home)
        clock.write_text(str(MONDAY), encoding="ascii")
        client = await _spawn(home, clock, config)
        for number, said in enumerate(STORY):
            at = MONDAY + said.day * DAY_MS + number * 60_000
            clock.write_text(str(at), encoding="ascii")
            if said.in_project:
                stage.end_picture()
            if said.title is not None:
                if said.day == PICTURE_BEGINS_ON:
                    stage.begin_picture()
                stage.scene(said, at)
            else:
                stage.out.print()
            if said.in_project:
                await _add_notes(client, stage)
            await _play(client, stage, said)
            await client.call(call.DRAIN, DrainParams())
        await client.close()
        stage.end_picture()
        stage.out.print()
        stage.out.rule("[bold]restart[/bold]  [dim]a new process on the same home[/dim]", align="left")
        client = await _spawn(home, clock, config)
        last_change = await _epilogue(client, stage)
        await client.close()
    stage.out.print()
    stage.out.print(
        f"[dim]Two gateway processes, {len(STORY)} turns, {time.monotonic() - begun:.1f} s. No network, no model.[/dim]"
    )
    if picture is None:
        stage.out.print("\nSee this home as a page: what was learned, why, and how it is undone:\n")
        clock.write_text(str(last_change), encoding="ascii")  # the page opens on this day
        # `make demo` installs below the checkout: the name alone would not be found there
        program = "pioneer" if shutil.which("pioneer") else f"{Path(sys.executable).parent / 'pioneer'}"
        stage.out.print(f"  {program} inspect --home {home / 'home'} --clock-file {clock}\n", soft_wrap=True)
        stage.out.print(f"[dim]It stays in {home} until you remove it.[/dim]", soft_wrap=True)


def main(picture: Path | None = None) -> int:
    """Run the demo in this terminal, with a path write a picture of its middle there; return the exit code."""
    anyio.run(perform, picture)
    return 0
