"""Ours beside others on the same conversations and questions: evidence found, latency, filling, start, memory, disk.

Rule 1: each peer runs in an environment of its own under benchmarks/out and is never a dependency of ours.
Rule 2: what does not install or does not run is told with its reason; nothing is guessed for it.
Rule 3: texts, questions, model and measure are the same for all; ours goes through the protocol.
"""

import argparse
import asyncio
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from benchmarks.conversations import Conversation, Question, absence, data_folder, read_conversations
from benchmarks.goals import OUT, keep, kept
from benchmarks.inputs import MODEL_VARIABLE, embed_texts, model_folder
from benchmarks.locomo import import_all, make_plan
from benchmarks.report import machine, percentile, show_table
from benchmarks.retrieval import ask
from benchmarks.stage import Stage
from benchmarks.wire import spent

DRIVER = Path(__file__).with_name("peer_driver.py")
PLACE = OUT / "peers"
INSTALL_SECONDS = 900
WORK_SECONDS = 900
DEPTH = 10
HEADS = (
    "system",
    "how",
    "questions",
    "recall@10",
    "MRR",
    "cpu p50 ms",
    "wall p50 ms",
    "wall p95 ms",
    "stored a second",
    "open s",
    "RSS MB",
    "disk MB",
)


class Peer(NamedTuple):
    """A peer: its packages, its way of searching, the number of its conversations, and notes for a reader."""

    packages: tuple[str, ...]
    how: str
    is_npm: bool = False
    conversations: int = 5


PEERS = {
    "lancedb": Peer(("lancedb", "pyarrow", "fastembed"), "hybrid, its reranker"),
    "chroma": Peer(("chromadb", "fastembed"), "vectors"),
    "qdrant": Peer(("qdrant-client", "fastembed"), "vectors, local mode"),
    "sqlite-vec": Peer(("sqlite-vec", "fastembed"), "hybrid, with FTS5 by rank fusion"),
    "mem0": Peer(("mem0ai", "qdrant-client", "fastembed"), "no inference, local store"),
    "mcp-memory-service": Peer(
        ("mcp-memory-service", "onnxruntime", "tokenizers"),
        "vectors of its own; stored a second includes them",
        conversations=2,
    ),
    "mcp-memory": Peer(("@modelcontextprotocol/server-memory",), "substring", is_npm=True),
}


class Figures(NamedTuple):
    """A system's row; `reason` when there is none."""

    system: str
    how: str
    reason: str = ""
    questions: int = 0
    recall: float = 0.0
    mrr: float = 0.0
    cpu: float = 0.0
    p50: float = 0.0
    p95: float = 0.0
    stored: float = 0.0
    opened: float = 0.0
    rss: float = 0.0
    disk: float = 0.0


class Data(NamedTuple):
    """Conversations as every system gets them."""

    conversations: list[Conversation]
    items: list[tuple[str, str, str, list[float]]]
    """Conversation, id, text and vector."""
    questions: list[tuple[Conversation, Question]]

    def first(self, count: int) -> "Data":
        """Those of the first conversations."""
        kept = self.conversations[:count]
        names = {c.name for c in kept}
        return Data(
            kept, [i for i in self.items if i[0] in names], [(c, q) for c, q in self.questions if c.name in names]
        )


async def read(conversations: list[Conversation], model: Path) -> Data:
    """Messages with their date, speaker and vector, and the questions."""
    rows = [
        (
            c.name,
            f"{c.name}:{said.dia_id}",
            f"[{time.strftime('%d %B %Y', time.gmtime(said.at / 1000))}] {said.speaker}: {said.text}",
        )
        for c in conversations
        for session in c.sessions
        for said in session.turns
    ]
    numbers = (await embed_texts(model, [text for _, _, text in rows])).astype(np.float32).tolist()
    items = [(*row, vector) for row, vector in zip(rows, numbers, strict=True)]
    return Data(conversations, items, [(c, question) for c in conversations for question in c.questions])


def environment(name: str, peer: Peer) -> str:
    """Install a peer if it is not there; why not, or nothing."""
    folder = PLACE / name
    if (folder / "ready").exists():
        return ""
    folder.mkdir(parents=True, exist_ok=True)
    if peer.is_npm:
        npm = shutil.which("npm")
        commands = [[npm, "install", "--silent", "--no-fund", "--prefix", str(folder), *peer.packages]] if npm else []
        if not commands:
            return "npm is not here"
    else:
        python = str(python_of(folder))
        commands = [
            [_plain_python(), "-m", "venv", str(folder)],
            [python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", *peer.packages],
        ]
    for command in commands:
        try:
            done = subprocess.run(command, capture_output=True, text=True, timeout=INSTALL_SECONDS, check=False)
        except subprocess.TimeoutExpired:
            return "not installed in time"
        if done.returncode:
            return f"does not install: {(done.stderr.strip().splitlines() or ['?'])[-1][:160]}"
    (folder / "ready").touch()
    return ""


def _plain_python() -> str:
    """A Python whose sqlite3 loads extensions, which some peers need; else this one."""
    asks = "import sqlite3, sys, ensurepip; sys.exit(not hasattr(sqlite3.Connection, 'enable_load_extension'))"
    for python in (sys.executable, "/usr/bin/python3", "/opt/homebrew/bin/python3"):
        if Path(python).exists() and subprocess.run([python, "-c", asks], check=False).returncode == 0:
            return python
    return sys.executable


def python_of(folder: Path) -> Path:
    return folder / ("Scripts/python.exe" if os.name == "nt" else "bin/python")


def _size_mb(folder: Path) -> float:
    """Bytes that the store takes; not a link's target."""
    files = (path for path in folder.rglob("*") if path.is_file() and not path.is_symlink())
    return sum(path.stat().st_size for path in files) / 2**20


def _work(name: str, peer: Peer, task: dict[str, Any], folder: Path) -> dict[str, Any]:
    """One process of the driver in the peer's environment."""
    given, told = folder / "task.json", folder / "told.json"
    given.write_text(json.dumps(task), encoding="utf-8")
    python = sys.executable if peer.is_npm else str(python_of(PLACE / name))
    single = {"OMP_NUM_THREADS": "1", "PEER_FOLDER": str(PLACE / name), "HF_HUB_OFFLINE": "1"}
    environment = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"} | single
    # -P: beside the driver stands a module `http`, which is not the one that peers import
    done = subprocess.run(
        [python, "-P", str(DRIVER), str(given), str(told)],
        capture_output=True,
        text=True,
        timeout=WORK_SECONDS,
        check=False,
        env=environment,
    )
    if done.returncode:
        raise RuntimeError((done.stderr.strip().splitlines() or ["?"])[-1][:160])
    return json.loads(told.read_text(encoding="utf-8"))


def quality(ranked: Sequence[Sequence[str]], wanted: Sequence[frozenset[str]]) -> tuple[float, float]:
    """Mean recall@10 and mean reciprocal rank."""
    recall = [
        len(set(found[:DEPTH]) & evidence) / len(evidence) for found, evidence in zip(ranked, wanted, strict=True)
    ]
    first = [
        next((1 / place for place, name in enumerate(found, 1) if name in evidence), 0.0)
        for found, evidence in zip(ranked, wanted, strict=True)
    ]
    return sum(recall) / len(recall), sum(first) / len(first)


class Told(NamedTuple):
    """The names that a peer found for each question, best first, and the cost of it: milliseconds a question, seconds,
    megabytes."""

    ranked: list[list[str]]
    cpu: list[float]
    wall: list[float]
    fill_s: float
    open_s: float
    rss_mb: float
    disk_mb: float


def run_peer(
    name: str, items: Sequence[tuple[str, str, str, list[float]]], asked: Sequence[tuple[str, str]], model: Path
) -> Told | str:
    """Give a peer items of (group, name, text, vector), ask it questions of (group, text); what came of it, or why
    nothing did."""
    peer = PEERS[name]
    if reason := environment(name, peer):
        return reason
    with tempfile.TemporaryDirectory(prefix="pioneer-bench-") as temporary:
        folder = Path(temporary)
        store = folder / "store"
        store.mkdir()
        task = {"peer": name, "folder": str(store), "model": str(model)}
        try:
            filled = _work(name, peer, {**task, "work": "fill", "items": items}, folder)
            told = _work(name, peer, {**task, "work": "ask", "questions": asked}, folder)
        except subprocess.TimeoutExpired:
            return f"not done in {WORK_SECONDS} s"
        except RuntimeError as error:
            return str(error)
        return Told(**filled, **told, disk_mb=_size_mb(store))


def measure_peer(name: str, whole: Data, model: Path) -> Figures:
    """A peer's row, or why there is none."""
    peer = PEERS[name]
    data = whole.first(peer.conversations)
    told = run_peer(name, data.items, [(c.name, question.text) for c, question in data.questions], model)
    if isinstance(told, str):
        return Figures(name, peer.how, told)
    wanted = [frozenset(f"{c.name}:{dia_id}" for dia_id in question.evidence) for c, question in data.questions]
    recall, mrr = quality(told.ranked, wanted)
    return Figures(
        name,
        peer.how,
        "",
        len(wanted),
        recall,
        mrr,
        percentile(told.cpu, 50),
        percentile(told.wall, 50),
        percentile(told.wall, 95),
        len(data.items) / told.fill_s,
        told.open_s,
        told.rss_mb,
        told.disk_mb,
    )


async def measure_ours(data: Data, model: Path | None) -> Figures:
    """Ours, through the protocol; stored a second includes indexing, and embedding where there is a model."""
    with tempfile.TemporaryDirectory(prefix="pioneer-bench-") as temporary:
        stage = Stage(Path(temporary))
        stage.write_files(b"", model)
        plan = make_plan(data.conversations, is_quick=False, is_killed=False, model=model)
        try:
            await stage.open()
            begun = time.perf_counter()
            await import_all(stage, plan, is_killed=False)
            await stage.drain()
            filled = time.perf_counter() - begun
            await stage.close()
            begun = time.perf_counter()
            await stage.open()
            await ask(stage, *data.questions[0])
            opened = time.perf_counter() - begun
            asked = [await ask(stage, conversation, question) for conversation, question in data.questions]
            rss = spent(stage.client.pid).rss_mb or 0.0
            await stage.close()
        finally:
            await stage.end()
        how = "hybrid; stored a second includes vectors" if model else "words alone"
        recall = sum(one.recall[1] for one in asked) / len(asked)
        mrr = sum(one.reciprocal_rank for one in asked) / len(asked)
        times = [one.milliseconds for one in asked]
        return Figures(
            "pioneer",
            how,
            "",
            len(asked),
            recall,
            mrr,
            percentile([one.cpu for one in asked], 50),
            percentile(times, 50),
            percentile(times, 95),
            len(data.items) / filled,
            opened,
            rss,
            _size_mb(Path(temporary) / "home"),
        )


def cells(row: Figures) -> list[object]:
    """A row as tables have it."""
    return [
        row.system,
        row.how,
        row.questions,
        row.recall,
        row.mrr,
        row.cpu,
        row.p50,
        row.p95,
        row.stored,
        row.opened,
        row.rss,
        row.disk,
    ]


def _note(rows: Sequence[Figures], before: Sequence[Figures]) -> None:
    """Keep the rows, and those from before of systems that were not measured now."""
    named = {(row.system, row.how) for row in rows}
    whole = [*rows, *(row for row in before if (row.system, row.how) not in named)]
    keep("peers", {"command": "python -m benchmarks peers", "rows": [row._asdict() for row in whole]})


def _before() -> list[Figures]:
    return [Figures(**row) for row in kept("peers").get("rows", [])]


async def _run(options: argparse.Namespace, conversations: list[Conversation], model: Path) -> list[Figures]:
    data, before = await read(conversations, model), [] if set(options.only) == set(PEERS) else _before()
    rows = [await measure_ours(data, model), await measure_ours(data, None)]
    fewer = min((PEERS[name].conversations for name in options.only), default=len(conversations))
    if fewer < len(conversations):
        few = await measure_ours(data.first(fewer), model)
        rows.append(few._replace(how=f"hybrid, the first {fewer} conversations alone"))
    for name in options.only:
        rows.append(await asyncio.to_thread(measure_peer, name, data, model))
        print(f"  {rows[-1].system}: {rows[-1].reason or f'recall@10 {rows[-1].recall:.3f}'}", flush=True)
        _note(rows, before)
    return rows


def main(arguments: list[str] | None = None) -> int:
    """Run it."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks peers", description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--data", type=Path, help="a folder with LoCoMo conversations (default: as for locomo)")
    parser.add_argument("--conversations", type=int, help="how many of them (default: all)")
    parser.add_argument("--only", nargs="+", choices=list(PEERS), default=list(PEERS), help="some of the peers")
    options = parser.parse_args(arguments)
    folder = options.data or data_folder()
    conversations = [] if folder is None else read_conversations(folder, options.conversations)
    if not conversations:
        print(f"peers: {absence()}")
        return 0
    if (model := model_folder()) is None:
        print(f"peers: no embedding model (set {MODEL_VARIABLE})")
        return 0
    print(f"peers: {len(conversations)} conversations, on {machine()}", flush=True)
    rows = asyncio.run(_run(options, conversations, model))
    show_table("evidence found, and what it costs", HEADS, [cells(row) for row in rows if not row.reason])
    for row in rows:
        if row.reason:
            print(f"{row.system}: left out, {row.reason}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
