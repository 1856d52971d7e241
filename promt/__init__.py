"""Prompt text as versioned data, and the pure rendering of recalled text.

language/    every word of every language, one file each

Rule 1: prompts stand in `*.md` files of this package, the frames of recalled blocks in `render.py`, and words that
people say in `language/`.
Rule 2: nothing here knows a turn, a store or a provider; the same input gives the same bytes.
"""

import re
from functools import cache
from pathlib import Path
from typing import Any, Literal, get_args, get_origin, get_type_hints

from msgspec import Struct

from promt.patterns import compile_late
from protocol.memory.facts import MAX_FACTS
from protocol.memory.values import SemanticFields

NAMES = (
    "memory_recall",
    "memory_standing",
    "thread_context",
    "extraction",
    "preflight",
    "project_instructions",
    "agent_definition",
    "agent_soul",
    "agent_memory",
    "mcp_instructions",
    "mcp_recall",
    "mcp_remember",
    "mcp_forget",
    "mcp_session_brief",
)
"""Every prompt there is."""

_HEADED = compile_late(
    r"\A---\nid: (?P<id>[a-z_]+)\nversion: (?P<version>\d+)\ntitle: (?P<title>[^\n]+)\n---\n\n(?P<text>.+)\Z", re.DOTALL
)


class Prompt(Struct, frozen=True):
    """A prompt's text, with the number that changes whenever its words do."""

    id: str
    version: int
    text: str
    title: str


def _choices(hint: Any) -> str:
    """Return the values that a member may take, as a model should read them."""
    literals = [part for part in (hint, *get_args(hint)) if get_origin(part) is Literal]
    return " | ".join(str(value) for part in literals for value in get_args(part)) or "short text"


def _semantic_fields() -> str:
    """Return one line per member of the semantic fields, made from the contract so that it cannot lag."""
    return "\n".join(f"- `{name}`: {_choices(hint)}" for name, hint in get_type_hints(SemanticFields).items())


@cache
def load(name: str) -> Prompt:
    """Return the prompt of that name.

    Raises:
        KeyError: there is no such prompt, or its file is damaged.

    """
    if name not in NAMES:
        raise KeyError(name)
    whole = Path(__file__).with_name(f"{name}.md").read_text(encoding="utf-8").replace("\r\n", "\n")
    found = _HEADED.match(whole)
    if found is None or found["id"] != name:  # a file of this package that is torn
        raise KeyError(name)
    text = found["text"].strip()
    if name == "extraction":
        text = text.replace("{semantic_fields}", _semantic_fields()).replace("{max_facts}", str(MAX_FACTS))
    return Prompt(id=name, version=int(found["version"]), text=text, title=found["title"])
