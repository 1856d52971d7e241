"""Reads the tables of this room: `rules.toml` and `words.toml`, each once, when a text is first looked through."""

import tomllib
from functools import cache
from pathlib import Path
from typing import Any


@cache
def read_table(name: str) -> dict[str, Any]:
    """Return a table of this room as it stands."""
    return tomllib.loads((Path(__file__).parent / f"{name}.toml").read_text(encoding="utf-8"))


def any_word(name: str) -> str:
    """Return the pattern of any of the words that a check asks for; they stand in `words.toml` by their names."""
    return "|".join(read_table("words")[name])
