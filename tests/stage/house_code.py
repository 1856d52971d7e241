"""The product's code as it is written, for tests that read it: each file is read and parsed once in a process."""

import ast
from functools import cache
from pathlib import Path

from house_tree import HOUSES

ROOT = Path(__file__).resolve().parents[2]
MODULES = [path for house in HOUSES for path in sorted((ROOT / house).rglob("*.py"))]


def name_of(path: Path) -> str:
    """Return a file's name within the repository."""
    return path.relative_to(ROOT).as_posix()


@cache
def text_of(path: Path) -> str:
    """Return the text of a module."""
    return path.read_text(encoding="utf-8")


@cache
def tree_of(path: Path) -> ast.Module:
    """Return the parsed module."""
    return ast.parse(text_of(path))


@cache
def nodes_of(path: Path) -> tuple[ast.AST, ...]:
    """Return all nodes of a module."""
    return (*ast.walk(tree_of(path)),)


def names_of(path: Path) -> set[str]:
    """Return every name that the code of a module uses."""
    values = (getattr(node, field) for node in nodes_of(path) for field in node._fields if field != "value")
    return {value for value in values if isinstance(value, str)}


@cache
def literals_of(path: Path) -> tuple[str, ...]:
    """Return the source of every string of a module, of text or bytes, that is no docstring."""
    lines = text_of(path).encode().splitlines(keepends=True)
    texts = [
        node
        for node in nodes_of(path)
        if isinstance(node, ast.JoinedStr) or (isinstance(node, ast.Constant) and isinstance(node.value, str | bytes))
    ]
    said = {node.value for node in nodes_of(path) if isinstance(node, ast.Expr)}
    parts = {part for node in texts for part in ast.iter_child_nodes(node)}
    return tuple(_cut(lines, node) for node in texts if node not in said | parts)


def _cut(lines: list[bytes], node: ast.expr) -> str:
    """Return the source of a node; columns are counted in bytes."""
    assert node.end_lineno is not None
    whole = lines[node.lineno - 1 : node.end_lineno]
    whole[-1] = whole[-1][: node.end_col_offset]
    whole[0] = whole[0][node.col_offset :]
    return b"".join(whole).decode()
