"""Runs inside a peer's own environment: fills its store with messages, or asks it questions, as its documentation
shows.

Rule 1: only the standard library and what is installed beside the peer is imported.
Rule 2: every peer is given the same texts and the same model; vectors of stored texts come with the input, except where
a peer makes its own. A question is embedded as it is asked.
Rule 3: filling and asking are processes of their own, so that the second opens what the first left on disk.
"""

import json
import os
import re
import sqlite3
import struct
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

DIM = 384
LIMIT = 20
FUSED_FROM = 60
"""The usual constant of rank fusion."""
MODEL_NAME = "local/shared-minilm"
SDK_VERSION = "2025-06-18"


class Model:
    """The shared model, by fastembed."""

    def __init__(self, folder: str) -> None:
        fastembed: Any = __import__("fastembed")
        described: Any = __import__("fastembed.common.model_description", fromlist=["PoolingType"])
        if MODEL_NAME not in (known["model"] for known in fastembed.TextEmbedding.list_supported_models()):
            fastembed.TextEmbedding.add_custom_model(
                model=MODEL_NAME,
                pooling=described.PoolingType.MEAN,
                normalization=True,
                dim=DIM,
                sources=described.ModelSource(hf=MODEL_NAME),
                model_file="onnx/model.onnx",
            )
        self._model = fastembed.TextEmbedding(
            model_name=MODEL_NAME, specific_model_path=folder, threads=1, providers=["CPUExecutionProvider"]
        )

    def embed(self, text: str) -> list[float]:
        """The vector of a question."""
        return [float(number) for number in next(iter(self._model.embed([text])))]


class Item:
    """A message: where it belongs, its id, its text and its vector."""

    def __init__(self, group: str, name: str, text: str, vector: list[float]) -> None:
        self.group, self.name, self.text, self.vector = group, name, text, vector


class Lance:
    """LanceDB: a table with a full-text index, hybrid search with its reranker."""

    def __init__(self, folder: Path, _model: str) -> None:
        lancedb: Any = __import__("lancedb")
        rerankers: Any = __import__("lancedb.rerankers", fromlist=["RRFReranker"])
        self._db, self._reranker = lancedb.connect(str(folder)), rerankers.RRFReranker()
        self._table = self._db.open_table("said") if (folder / "said.lance").exists() else None

    def fill(self, items: list[Item]) -> None:
        rows = [{"name": i.name, "conv": i.group, "text": i.text, "vector": i.vector} for i in items]
        self._db.create_table("said", data=rows).create_fts_index("text")

    def search(self, group: str, query: str, vector: list[float]) -> list[str]:
        asked: Any = self._table
        asked = asked.search(query_type="hybrid").vector(vector).text(re.sub(r"[^\w\s]", " ", query))
        return [row["name"] for row in asked.where(f"conv = '{group}'").rerank(self._reranker).limit(LIMIT).to_list()]


class Chroma:
    """Chroma: a persistent collection."""

    def __init__(self, folder: Path, _model: str) -> None:
        chromadb: Any = __import__("chromadb")
        settings = chromadb.config.Settings(anonymized_telemetry=False)
        client = chromadb.PersistentClient(path=str(folder), settings=settings)
        self._said = client.get_or_create_collection("said", metadata={"hnsw:space": "cosine"}, embedding_function=None)

    def fill(self, items: list[Item]) -> None:
        for first in range(0, len(items), 1000):
            some = items[first : first + 1000]
            self._said.add(
                ids=[i.name for i in some],
                documents=[i.text for i in some],
                embeddings=[i.vector for i in some],
                metadatas=[{"conv": i.group} for i in some],
            )

    def search(self, group: str, _query: str, vector: list[float]) -> list[str]:
        return self._said.query(query_embeddings=[vector], n_results=LIMIT, where={"conv": group})["ids"][0]


class Qdrant:
    """Qdrant's client in local mode."""

    def __init__(self, folder: Path, _model: str) -> None:
        library: Any = __import__("qdrant_client")
        self._models: Any = __import__("qdrant_client.models", fromlist=["models"])
        self._client = library.QdrantClient(path=str(folder))

    def fill(self, items: list[Item]) -> None:
        models = self._models
        of = models.VectorParams(size=DIM, distance=models.Distance.COSINE)
        self._client.create_collection("said", vectors_config=of)
        points = [
            models.PointStruct(id=n, vector=i.vector, payload={"name": i.name, "conv": i.group, "text": i.text})
            for n, i in enumerate(items)
        ]
        self._client.upsert("said", points)

    def search(self, group: str, _query: str, vector: list[float]) -> list[str]:
        models = self._models
        only = models.Filter(must=[models.FieldCondition(key="conv", match=models.MatchValue(value=group))])
        found = self._client.query_points("said", query=vector, query_filter=only, limit=LIMIT)
        return [point.payload["name"] for point in found.points]

    def close(self) -> None:
        self._client.close()


class SqliteVec:
    """sqlite-vec beside FTS5, put together by rank fusion, as tutorials do."""

    def __init__(self, folder: Path, _model: str) -> None:
        extension: Any = __import__("sqlite_vec")
        self._db = sqlite3.connect(folder / "said.db")
        self._db.enable_load_extension(True)
        extension.load(self._db)

    def fill(self, items: list[Item]) -> None:
        self._db.executescript(
            "PRAGMA journal_mode = wal; CREATE TABLE said (id INTEGER PRIMARY KEY, name TEXT, conv TEXT, text TEXT);"
            f"CREATE VIRTUAL TABLE near USING vec0(conv TEXT partition key, vector float[{DIM}] distance_metric=cosine);"
            "CREATE VIRTUAL TABLE words USING fts5(text, tokenize = 'porter unicode61');"
        )
        with self._db:
            for number, i in enumerate(items, 1):
                self._db.execute("INSERT INTO said VALUES (?, ?, ?, ?)", (number, i.name, i.group, i.text))
                packed = struct.pack(f"{DIM}f", *i.vector)
                self._db.execute("INSERT INTO near (rowid, conv, vector) VALUES (?, ?, ?)", (number, i.group, packed))
                self._db.execute("INSERT INTO words (rowid, text) VALUES (?, ?)", (number, i.text))

    def search(self, group: str, query: str, vector: list[float]) -> list[str]:
        terms = " OR ".join(f'"{word}"' for word in re.findall(r"\w+", query))
        near = self._db.execute(
            "SELECT rowid FROM near WHERE vector MATCH ? AND conv = ? AND k = 50 ORDER BY distance",
            (struct.pack(f"{DIM}f", *vector), group),
        )
        ranked = [near.fetchall()]
        worded = "SELECT s.id FROM words JOIN said AS s ON s.id = words.rowid WHERE words MATCH ? AND s.conv = ? ORDER BY bm25(words) LIMIT 50"
        ranked.append(self._db.execute(worded, (terms, group)).fetchall())
        scores: dict[int, float] = {}
        for rows in ranked:
            for place, (row,) in enumerate(rows):
                scores[row] = scores.get(row, 0.0) + 1 / (FUSED_FROM + place + 1)
        best = sorted(scores, key=lambda row: -scores[row])[:LIMIT]
        return [self._db.execute("SELECT name FROM said WHERE id = ?", (row,)).fetchone()[0] for row in best]


class Mem0:
    """mem0 without inference, with its default store in a folder; its embedder answers from the shared model."""

    def __init__(self, folder: Path, model: str) -> None:
        os.environ |= {"MEM0_TELEMETRY": "False", "MEM0_DIR": str(folder), "OPENAI_API_KEY": "unused"}
        mem0: Any = __import__("mem0")
        store = {
            "path": str(folder / "qdrant"),
            "embedding_model_dims": DIM,
            "on_disk": True,
            "collection_name": "said",
        }
        config = {
            "vector_store": {"provider": "qdrant", "config": store},
            "history_db_path": str(folder / "history.db"),
            "embedder": {"provider": "openai", "config": {"embedding_dims": DIM}},
        }
        self._memory = mem0.Memory.from_config(config)
        self._known: dict[str, list[float]] = {}
        self._memory.embedding_model = self
        self._loaded: Model | None = None
        self._folder = model

    def embed(self, text: str, memory_action: str | None = None) -> list[float]:  # noqa: ARG002  # mem0's own signature
        if text in self._known:
            return self._known[text]
        self._loaded = self._loaded or Model(self._folder)
        return self._loaded.embed(text)

    def embed_batch(self, texts: list[str], memory_action: str | None = None) -> list[list[float]]:
        return [self.embed(text, memory_action) for text in texts]

    def fill(self, items: list[Item]) -> None:
        self._known = {i.text: i.vector for i in items}
        for i in items:
            self._memory.add(i.text, user_id=i.group, infer=False, metadata={"name": i.name})

    def search(self, group: str, query: str, vector: list[float]) -> list[str]:
        self._known[query] = vector
        found = self._memory.search(query, top_k=LIMIT, filters={"user_id": group}, threshold=0.0)
        return [row["metadata"]["name"] for row in found["results"]]

    def close(self) -> None:
        self._memory.vector_store.client.close()


class McpServer:
    """An MCP server over its pipes, one store for each conversation."""

    command: list[str]

    def __init__(self, folder: Path, model: str) -> None:
        self._folder, self._model = folder, model
        self._running: dict[str, subprocess.Popen[bytes]] = {}
        self._number = 0

    def environment(self, group: str) -> dict[str, str]:
        """Return the settings of the server's store."""
        raise NotImplementedError

    def process(self, group: str) -> "subprocess.Popen[bytes]":
        """The server of a conversation."""
        if group not in self._running:
            self.close()
            told = {**os.environ, **self.environment(group)}
            self._running[group] = subprocess.Popen(
                self.command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env=told
            )
            client = {
                "protocolVersion": SDK_VERSION,
                "capabilities": {},
                "clientInfo": {"name": "peers", "version": "1"},
            }
            self._ask(group, "initialize", client)
            self._tell(group, {"jsonrpc": "2.0", "method": "notifications/initialized"})
        return self._running[group]

    def call(self, group: str, tool: str, arguments: dict[str, Any]) -> str:
        """Call a tool; its text."""
        self.process(group)
        result = self._ask(group, "tools/call", {"name": tool, "arguments": arguments})
        if result.get("isError"):
            raise RuntimeError(json.dumps(result)[:500])
        return "\n".join(part.get("text", "") for part in result["content"])

    def _tell(self, group: str, message: dict[str, Any]) -> None:
        stdin: Any = self._running[group].stdin
        stdin.write(json.dumps(message).encode() + b"\n")
        stdin.flush()

    def _ask(self, group: str, method: str, params: dict[str, Any]) -> Any:
        self._number += 1
        self._tell(group, {"jsonrpc": "2.0", "id": self._number, "method": method, "params": params})
        stdout: Any = self._running[group].stdout
        while line := stdout.readline():
            answer = json.loads(line)
            if answer.get("id") == self._number:
                if "error" in answer:
                    raise RuntimeError(json.dumps(answer["error"])[:500])
                return answer["result"]
        raise EOFError("the server ended")

    def pid(self) -> int:
        """The process of the last conversation."""
        return next(reversed(self._running.values())).pid

    def close(self) -> None:
        for process in self._running.values():
            for pipe in (process.stdin, process.stdout):
                if pipe is not None:
                    pipe.close()
            try:
                process.wait(5)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
        self._running.clear()


class McpMemoryService(McpServer):
    """mcp-memory-service with sqlite-vec and its own ONNX embedding, which is given the shared model."""

    def __init__(self, folder: Path, model: str) -> None:
        super().__init__(folder, model)
        self.command = [str(Path(sys.executable).with_name("memory")), "server"]
        home = folder / "home" / ".cache" / "mcp_memory" / "onnx_models" / "all-MiniLM-L6-v2" / "onnx"
        if not home.exists():
            home.mkdir(parents=True)
            for file in [*Path(model).glob("*.json"), *Path(model).glob("*.txt"), Path(model) / "onnx" / "model.onnx"]:
                (home / file.name).symlink_to(file)

    def environment(self, group: str) -> dict[str, str]:
        return {
            "HOME": str(self._folder / "home"),
            "MCP_MEMORY_STORAGE_BACKEND": "sqlite_vec",
            "MCP_MEMORY_USE_ONNX": "1",
            "MCP_MEMORY_SQLITE_PATH": str(self._folder / f"{group}.db"),
            "MCP_CONSOLIDATION_ENABLED": "false",
            "MCP_QUALITY_SYSTEM_ENABLED": "false",
            "MCP_SEMANTIC_DEDUP_ENABLED": "false",
            "HF_HUB_OFFLINE": "1",
            "MCP_MEMORY_BASE_DIR": str(self._folder / "base"),
        }

    def fill(self, items: list[Item]) -> None:
        for i in items:
            tag = {"tags": f"item-{i.name.encode().hex()}"}  # it may fold a tag: figures and a to f stay as they are
            self.call(i.group, "memory_store", {"content": i.text, "conversation_id": i.group, "metadata": tag})

    def search(self, group: str, query: str, vector: list[float]) -> list[str]:  # noqa: ARG002  # it makes its own
        told = self.call(group, "memory_search", {"query": query, "limit": LIMIT, "output_format": "json"})
        return list(dict.fromkeys(bytes.fromhex(name).decode() for name in re.findall(r"\bitem-([0-9a-f]+)\b", told)))


class McpMemory(McpServer):
    """The official MCP memory server: entities with observations, found by part of a string."""

    def __init__(self, folder: Path, model: str) -> None:
        super().__init__(folder, model)
        bin_folder = Path(os.environ["PEER_FOLDER"]) / "node_modules" / ".bin"
        self.command = [str(bin_folder / "mcp-server-memory")]

    def environment(self, group: str) -> dict[str, str]:
        return {"MEMORY_FILE_PATH": str(self._folder / f"{group}.jsonl")}

    def fill(self, items: list[Item]) -> None:
        for i in items:
            entity = {"name": i.name, "entityType": "message", "observations": [i.text]}
            self.call(i.group, "create_entities", {"entities": [entity]})

    def search(self, group: str, query: str, vector: list[float]) -> list[str]:  # noqa: ARG002  # it has no vectors
        found = json.loads(self.call(group, "search_nodes", {"query": query}))
        return [entity["name"] for entity in found["entities"][:LIMIT]]


PEERS = {
    "lancedb": Lance,
    "chroma": Chroma,
    "qdrant": Qdrant,
    "sqlite-vec": SqliteVec,
    "mem0": Mem0,
    "mcp-memory-service": McpMemoryService,
    "mcp-memory": McpMemory,
}


def _rss_mb(pid: int) -> float:
    status = Path(f"/proc/{pid}/statm")
    return int(status.read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 2**20 if status.exists() else 0.0


def _cpu_s(pid: int) -> float:
    return time.clock_gettime((~pid << 3) | 2) if sys.platform.startswith("linux") else time.process_time()


def work(task: dict[str, Any]) -> dict[str, Any]:
    """Fill or ask, and what it cost."""
    begun = time.perf_counter()
    peer: Any = PEERS[task["peer"]](Path(task["folder"]), task["model"])
    try:
        if task["work"] == "fill":
            items = [Item(*one) for one in task["items"]]
            begun = time.perf_counter()
            peer.fill(items)
            return {"fill_s": time.perf_counter() - begun}
        first = task["questions"][0]
        is_server = isinstance(peer, McpServer)
        peer.search(first[0], first[1], [1.0] + [0.0] * (DIM - 1))
        opened = time.perf_counter() - begun
        model = None if is_server else Model(task["model"])
        ranked: list[list[str]] = []
        wall: list[float] = []
        cpu: list[float] = []
        rss = 0.0
        for group, query in task["questions"]:
            if is_server:
                peer.process(group)
            pid = peer.pid() if is_server else os.getpid()
            used, begun = _cpu_s(pid), time.perf_counter()
            ranked.append(peer.search(group, query, model.embed(query) if model else []))
            wall.append((time.perf_counter() - begun) * 1000)
            cpu.append((_cpu_s(pid) - used) * 1000)
            rss = max(rss, _rss_mb(pid))
        return {"open_s": opened, "ranked": ranked, "wall": wall, "cpu": cpu, "rss_mb": rss}
    finally:
        if hasattr(peer, "close"):
            peer.close()


if __name__ == "__main__":
    given = json.loads(Path(sys.argv[1]).read_text(encoding="utf-8"))
    Path(sys.argv[2]).write_text(json.dumps(work(given)), encoding="utf-8")
