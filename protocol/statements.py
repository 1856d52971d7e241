"""Named SQL from a package's `queries.sql`.

A file is a list of blocks: `-- name: verb_noun`, one comment line that says what it does, the statement. A misspelt
name is a `KeyError` when it is used, and no SQL is ever built from text of the outside. A house may name a list of its
own columns `{name}` in the file; it is filled once, when the file is loaded.
"""

import re
from collections.abc import Iterator, Mapping
from importlib import import_module
from pathlib import Path

_BEGIN = "\n-- name: "
_HEAD = re.compile(r"(?P<name>[a-z][a-z0-9_]*)\n-- (?P<about>[^\n]+)\n")
"""The head of a block. An expression that looks for the end of each block as well takes 8 ms of every start."""


def read_sql(package: str, name: str) -> str:
    """Return a file of SQL of a package, which need not be imported yet. Raises `OSError` where there is none."""
    return Path(import_module(package).__file__ or "").with_name(name).read_text(encoding="utf-8")


class Statements(Mapping[str, str]):
    """The statements of one package by name."""

    def __init__(self, package: str, lists: Mapping[str, str] | None = None) -> None:
        text = read_sql(package, "queries.sql")
        for name, names in (lists or {}).items():
            text = text.replace(f"{{{name}}}", names)
        self._blocks: dict[str, str] = {}
        self.abouts: dict[str, str] = {}
        for block in f"\n{text}".split(_BEGIN)[1:]:
            if (head := _HEAD.match(block)) is not None:
                self._blocks[head["name"]] = block[head.end() :].strip().rstrip(";")
                self.abouts[head["name"]] = head["about"]
        self.package = package

    def __getitem__(self, name: str) -> str:
        return self._blocks[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._blocks)

    def __len__(self) -> int:
        return len(self._blocks)
