"""Questions asked of real collections, and where the place that answers comes: by our ranking, by BM25, by cosines.

Rule 1: a place is a path, and words that must stand in the piece found; what was shown before it counts as the rank.
Rule 2: each address shown is read, and must give back the text shown.
Rule 3: BM25 and cosines rank the very pieces that the gateway made, of the text that its model was given.
"""

import asyncio
import json
import math
import sqlite3
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
import numpy as np

from benchmarks.peers import PLACE, Peer, environment, python_of
from benchmarks.report import show_table
from gateway.embedding.choice import choose
from gateway.embedding.embedder import Embedder
from gateway.wire.client import GatewayClient, console_script
from knowledge.index.vectors import build_embedded_text
from knowledge.rows.vectors import LackingPiece
from knowledge.search.searching import HITS_OF_A_FILE
from protocol.settings import EmbeddingSettings
from retrieval.terms import SnowballLexicon

DEPTH = 5
ASKED = 20
K1, B = 1.2, 0.75
"""Of BM25, as they are usually chosen."""
SAMPLED, SAMPLES = 7, 4000
"""Of the bootstrap: its seed and its size."""
WAYS = ("ours", "ours, words alone", "BM25", "cosine", "LlamaIndex")
PEER = Peer(("llama-index-core",), "its default splitter and retriever, our model")


class RankedPlace(NamedTuple):
    """A piece as a way of ranking shows it."""

    path: str
    text: str
    from_line: int
    to_line: int


Ranked = list[RankedPlace]


class AnswerLines(msgspec.Struct, frozen=True):
    """Lines that answer a question by themselves."""

    path: str
    from_line: int
    to_line: int


class FileQuestion(msgspec.Struct, frozen=True):
    """A question to a collection (`docs` or `code`), and what answers it: lines, or a path and words of the piece."""

    question: str
    collection: str = ""
    path: str = ""
    words: str = ""
    answers: list[AnswerLines] = []
    is_reported: bool = True
    """Nothing was chosen by it."""

    def rank_in(self, ranked: Ranked) -> int | None:
        """Return the rank of the first piece that answers, from 1."""
        return next((rank for rank, one in enumerate(ranked, 1) if self._is_answered(one)), None)

    def _is_answered(self, one: RankedPlace) -> bool:
        if self.answers:
            return any(
                one.path == place.path and one.from_line <= place.to_line and place.from_line <= one.to_line
                for place in self.answers
            )
        return one.path == self.path and " ".join(self.words.split()) in " ".join(one.text.split())


class _Asked(NamedTuple):
    """The ranked places of each question, and how many addresses were shown and gave back the text shown."""

    ranked: list[Ranked]
    shown: int
    cited: int


class _Piece(NamedTuple):
    place: RankedPlace
    given: str


def read_questions(path: Path) -> list[FileQuestion]:
    """Return the questions of a file, one JSON object a line; `…_docs` and `…_code` name the collection of all.

    In such a file every second question, from the first on, may be looked at while the ranking is made.
    """
    lines = path.read_text(encoding="utf-8").splitlines()
    read = [msgspec.json.decode(line, type=FileQuestion) for line in lines if line.strip()]
    named = path.stem.rpartition("_")[2]
    return [
        one if one.collection else msgspec.structs.replace(one, collection=named, is_reported=number % 2 == 1)
        for number, one in enumerate(read)
    ]


async def compare(
    folder: Path,
    folders: Mapping[str, Path],
    asked: Sequence[FileQuestion],
    meaning: str,
    model: Path | None,
    *,
    each: bool,
) -> bool:
    """Ask, print the figures of each way, and return whether ours is nowhere below the best of the others.

    Questions of development are shown, and judge nothing.
    """
    usable = [one for one in asked if one.collection in folders]
    if not usable:
        return True
    hybrid = await _ask(folder / "hybrid", folders, usable, meaning, model, is_on=True)
    found = hybrid.ranked
    words = (await _ask(folder / "words", folders, usable, meaning, model, is_on=False)).ranked
    pieces = {name: _pieces(folder / "hybrid" / "home" / "gateway.db", name, root) for name, root in folders.items()}
    embedder = await _open(folder, model)
    vectors = {name: await _vectors(embedder, [one.given for one in some]) for name, some in pieces.items()}
    bm25 = {name: _Bm25([one.given for one in some]) for name, some in pieces.items()}
    reason = environment("llama-index", PEER)
    print(f"\nLlamaIndex: {reason}" if reason else "", end="")
    theirs: dict[str, list[Ranked]] = {}
    for name, root in folders.items() if not reason else ():
        questions = [one.question for one in usable if one.collection == name]
        theirs[name] = await _ask_peer(root, pieces[name], questions, embedder)
    rows: list[tuple[FileQuestion, list[int | None]]] = []
    for number, one in enumerate(usable):
        here = pieces[one.collection]
        query = np.frombuffer(await embedder.embed_query(one.question), "<f2").astype(np.float32)
        near = vectors[one.collection] @ query
        ways = (
            found[number],
            words[number],
            _order(here, bm25[one.collection].scores(one.question)),
            _order(here, near),
            theirs[one.collection].pop(0) if theirs else [],
        )
        rows.append((one, [one.rank_in(way) for way in ways]))
    embedder.close()
    show_table(
        "citations", ("", "number"), [("addresses shown", hybrid.shown), ("give back the text shown", hybrid.cited)]
    )
    is_good = hybrid.cited == hybrid.shown > 0
    for name, is_reported in ((name, is_reported) for name in folders for is_reported in (False, True)):
        ranks = [ranks for one, ranks in rows if one.collection == name and one.is_reported is is_reported]
        if not ranks:
            continue
        figures = [_figures([rank[way] for rank in ranks]) for way in range(len(WAYS))]
        shares = [[1 / (rank[way] or math.inf) for rank in ranks] for way in range(len(WAYS))]
        ahead = [_interval([a - b for a, b in zip(shares[0], other, strict=True)]) for other in shares]
        show_table(
            f"{name}: {len(ranks)} questions{'' if is_reported else ' for development'}, {len(pieces[name])} pieces",
            ("way", f"recall@{DEPTH}", "MRR", "MRR of 95 %", "ours less this"),
            [
                (way, *at, _interval(share), lead)
                for way, at, share, lead in zip(WAYS, figures, shares, ahead, strict=True)
            ],
        )
        if is_reported:
            is_good &= all(figures[0][at] >= max(figure[at] for figure in figures[2:]) for at in range(2))
    if each:
        show_table(
            "ranks", ("question", *WAYS), [(one.question[:70], *(rank or "-" for rank in ranks)) for one, ranks in rows]
        )
    return is_good


def _interval(values: Sequence[float]) -> str:
    """Return between which bounds 95 of 100 means of other samples of as many questions would lie: a bootstrap."""
    given = np.asarray(values)
    picked = np.random.default_rng(SAMPLED).integers(0, len(given), (SAMPLES, len(given)))
    low, high = np.percentile(given[picked].mean(axis=1), (2.5, 97.5))
    return f"{low:+.3f} to {high:+.3f}"


def _figures(ranks: Sequence[int | None]) -> tuple[float, float]:
    recall = sum(rank is not None and rank <= DEPTH for rank in ranks) / len(ranks)
    return recall, sum(1 / rank for rank in ranks if rank is not None) / len(ranks)


async def _ask(
    folder: Path,
    folders: Mapping[str, Path],
    asked: Sequence[FileQuestion],
    meaning: str,
    model: Path | None,
    *,
    is_on: bool,
) -> _Asked:
    config = folder / "config.toml"
    chosen = f"model_path = {json.dumps(str(model))}\nembedded_default = false\n" if model else ""
    _write(config, f"[gateway.embedding]\nenabled = {str(is_on).lower()}\n{chosen}")
    command = [*console_script(), "serve", "--home", str(folder / "home"), "--config", str(config)]
    async with await GatewayClient.start(command) as client:
        await client.request(
            "initialize", {"protocol_version": "2026-11", "client": {"name": "benchmarks", "version": "1"}}
        )
        for name, root in folders.items():
            await client.request(
                "knowledge/collections/add", {"path": str(root.resolve()), "collection_id": name, "meaning": meaning}
            )
        await _drained(client)
        answers: list[Ranked] = []
        shown = cited = 0
        for one in asked:
            params = {"query": one.question, "source": f"collection:{one.collection}", "max_results": ASKED}
            answer = await client.request("knowledge/search", params)
            while is_on and answer["semantic"] == "pending":
                await _drained(client)
                answer = await client.request("knowledge/search", params)
            answers.append([_place_of(hit) for hit in answer["hits"]])
            shown += len(answer["hits"])
            for hit in answer["hits"]:
                read = await client.request("knowledge/read", {"address": hit["address"]})
                cited += read["text"] == hit["text"] and read["state"] == "same"
    return _Asked(answers, shown, cited)


async def _ask_peer(root: Path, pieces: Sequence[_Piece], questions: Sequence[str], embedder: Embedder) -> list[Ranked]:
    """Return what LlamaIndex retrieves from the same files, in its environment, with vectors of the same model."""
    texts = {path: (root / path).read_text(encoding="utf-8") for path in sorted({one.place.path for one in pieces})}
    process = await asyncio.create_subprocess_exec(
        str(python_of(PLACE / "llama-index")),
        "-P",
        str(Path(__file__).with_name("llama_driver.py")),
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        limit=2**30,
    )
    if process.stdin is None or process.stdout is None:
        raise SystemExit("LlamaIndex did not start")
    process.stdin.write(json.dumps({"files": list(texts.items()), "questions": questions}).encode() + b"\n")
    wanted = json.loads(await process.stdout.readline())
    vectors = [*(await _vectors(embedder, wanted)).tolist()]
    vectors += [np.frombuffer(await embedder.embed_query(one), "<f2").astype(float).tolist() for one in questions]
    process.stdin.write(json.dumps(vectors).encode() + b"\n")
    found = json.loads(await process.stdout.readline())
    process.stdin.close()
    await process.wait()

    def place(path: str, start: int, end: int) -> RankedPlace:
        text = texts[path]
        first = text.count("\n", 0, start) + 1
        return RankedPlace(path, text[start:end], first, first + text[start:end].rstrip("\n").count("\n"))

    return [[place(*one) for one in ranked] for ranked in found]


def _place_of(hit: dict[str, Any]) -> RankedPlace:
    at = hit["locations"][0]
    return RankedPlace(at["path"], hit["text"], at["from_line"], at["to_line"])


def _write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True)
    path.write_text(text, encoding="utf-8")


async def _drained(client: GatewayClient) -> None:
    while not (await client.request("gateway/drain", {"timeout_ms": 60_000}))["idle"]:
        pass


def _pieces(database: Path, collection: str, root: Path) -> list[_Piece]:
    """Return the pieces of a collection as the gateway cut them, with the text that a model is given of each."""
    statement = (
        "SELECT f.folder, f.name, k.id, k.content, k.from_byte, k.to_byte, k.headings, n.owner, n.sha256, n.encoding, n.hidden, n.kind, n.bytes, k.from_line, k.to_line"
        " FROM knowledge_file AS f JOIN collection AS c ON c.id = f.collection JOIN knowledge_content AS n ON n.id = f.content"
        " JOIN knowledge_chunk AS k ON k.content = n.id WHERE c.collection_id = ? AND n.kind <> 'pdf' AND k.terms IS NOT NULL"
    )
    found: list[_Piece] = []
    with closing(sqlite3.connect(database)) as connection:
        for folder, name, *rest, first, last in connection.execute(statement, (collection,)):
            piece, path = LackingPiece(*rest), f"{folder}/{name}" if folder else name
            data = (root / path).read_bytes()
            text = data[piece.from_byte : piece.to_byte].decode(piece.encoding, "replace")
            found.append(_Piece(RankedPlace(path, text, first, last), build_embedded_text(piece, data)))
    return found


async def _open(folder: Path, model: Path | None) -> Embedder:
    choice = choose(EmbeddingSettings(model_path=str(model) if model else None), folder / "models")
    return await (choice.open_model(lambda _done, _total: None) if model else choice.open_static())


async def _vectors(embedder: Embedder, texts: Sequence[str]) -> Any:
    return np.stack([np.frombuffer(one, "<f2").astype(np.float32) for one in await embedder.embed(texts)])


def _order(pieces: Sequence[_Piece], scores: Any) -> Ranked:
    """Return the best pieces, two of a file at most, as every answer shows them."""
    shown = Counter[str]()
    ranked: Ranked = []
    for at in sorted(range(len(pieces)), key=lambda at: -scores[at]):
        path = pieces[at].place.path
        if scores[at] > 0 and shown[path] < HITS_OF_A_FILE and len(ranked) < ASKED:
            shown[path] += 1
            ranked.append(pieces[at].place)
    return ranked


class _Bm25:
    """BM25 with the gateway's own terms."""

    def __init__(self, texts: Sequence[str]) -> None:
        self._lexicon = SnowballLexicon()
        self._counts = [Counter(self._lexicon.index_terms(text)) for text in texts]
        self._sizes = [counts.total() for counts in self._counts]
        self._mean = sum(self._sizes) / max(1, len(texts))
        self._found = Counter(term for counts in self._counts for term in counts)

    def scores(self, question: str) -> list[float]:
        """Return the score of each text."""
        total = len(self._counts)
        scores = [0.0] * total
        for term in self._lexicon.query_terms(question):
            weight = math.log(1 + (total - self._found[term] + 0.5) / (self._found[term] + 0.5))
            for at, counts in enumerate(self._counts):
                if count := counts[term]:
                    scores[at] += weight * count * (K1 + 1) / (count + K1 * (1 - B + B * self._sizes[at] / self._mean))
        return scores
