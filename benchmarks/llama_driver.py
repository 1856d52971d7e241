"""Runs inside LlamaIndex's own environment: cuts documents and retrieves from them, as its documentation shows.

Rule 1: only the standard library and what is installed beside the peer is imported; it asks no network.
Rule 2: vectors come from the caller, so that the model is the same: texts go out as one line of JSON, vectors come
back.
"""

import json
import sys
from importlib import import_module
from typing import Any

TOP = 20


def main() -> None:
    """Read files and questions, send the texts that need vectors, read them, and answer with the places retrieved."""
    core: Any = import_module("llama_index.core")
    parts: Any = import_module("llama_index.core.node_parser")
    schema: Any = import_module("llama_index.core.schema")
    base: Any = import_module("llama_index.core.embeddings").BaseEmbedding

    class Table(base):
        """Vectors by the text that they are of."""

        vectors: dict[str, list[float]] = {}

        def _get_text_embedding(self, text: str) -> list[float]:
            return self.vectors[text]

        def _get_query_embedding(self, query: str) -> list[float]:
            return self.vectors[query]

        async def _aget_query_embedding(self, query: str) -> list[float]:
            return self.vectors[query]

    given: dict[str, Any] = json.loads(sys.stdin.readline())
    documents = [core.Document(text=text, metadata={"file_path": path}) for path, text in given["files"]]
    nodes: list[Any] = parts.SentenceSplitter().get_nodes_from_documents(documents)
    texts = [node.get_content(metadata_mode=schema.MetadataMode.EMBED) for node in nodes]
    print(json.dumps(texts), flush=True)
    numbers = json.loads(sys.stdin.readline())
    table = Table(vectors=dict(zip([*texts, *given["questions"]], numbers, strict=True)))
    retriever = core.VectorStoreIndex(nodes, embed_model=table).as_retriever(similarity_top_k=TOP)
    found = [
        [
            [one.node.metadata["file_path"], one.node.start_char_idx, one.node.end_char_idx]
            for one in retriever.retrieve(question)
        ]
        for question in given["questions"]
    ]
    print(json.dumps(found), flush=True)


if __name__ == "__main__":
    main()
