"""Named SQL from a package's `queries.sql`.

A file is a list of blocks: `-- name: verb_noun`, one comment line that says what it does, the statement. A misspelt
name is a `KeyError` at import, and no SQL is ever built from text of the outside. A house may name a list of its own
columns `{name}` in the file; it is filled once, when the file is loaded.
"""

import re
from collections.abc import Iterator, Mapping
from importlib.resources import files

_BLOCK = re.compile(
    r"^-- name: (?P<name>[a-z][a-z0-9_]*)\n-- (?P<about>[^\n]+)\n(?P<sql>.*?)(?=^-- name: |\Z)",
    re.MULTILINE | re.DOTALL,
)


class Statements(Mapping[str, str]):
    """The statements of one package by name."""

    def __init__(self, package: str, lists: Mapping[str, str] | None = None) -> None:
        text = files(package).joinpath("queries.sql").read_text(encoding="utf-8")
        for name, names in (lists or {}).items():
            text = text.replace(f"{{{name}}}", names)
        self._blocks = {m["name"]: m["sql"].strip().rstrip(";") for m in _BLOCK.finditer(text)}
        self.abouts = {m["name"]: m["about"] for m in _BLOCK.finditer(text)}
        self.package = package

    def __getitem__(self, name: str) -> str:
        return self._blocks[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._blocks)

    def __len__(self) -> int:
        return len(self._blocks)
