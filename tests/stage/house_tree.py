"""Print the rooms and the transition tables of the product into docs/architecture.md.

python tests/stage/house_tree.py            compare; exit 1 where the document differs
python tests/stage/house_tree.py --write    write it
"""

import ast
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from agent.states import TURNS
from gateway.jobs.states import TRANSITIONS
from memory.rules.lifecycle import CANDIDATES, RECORDS
from retrieval.vector_states import VECTORS
from thread_episodic.states import CHUNKS, SEGMENTS, SOURCES

ROOT = Path(__file__).resolve().parents[2]
HOUSES = ("gateway", "agent", "memory", "thread_episodic", "knowledge", "retrieval", "promt", "protocol")
"""From the top layer to the lowest."""
LIVES: Mapping[str, Mapping[Any, Mapping[Any, str]]] = {
    "job": TRANSITIONS,
    "turn": TURNS,
    "record": RECORDS,
    "candidate": CANDIDATES,
    "message in the index": SOURCES,
    "chunk": CHUNKS,
    "partition": SEGMENTS,
    "vector of a row": VECTORS,
}
"""Each row that is stored with a state, and its transition table."""
PAGE = ROOT / "docs" / "architecture.md"


def find_rooms(folder: Path) -> list[Path]:
    """Return the packages directly below a package, by name."""
    return sorted(path.parent for path in folder.glob("*/__init__.py"))


def _first_sentence(path: Path) -> str:
    docstring = ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) or ""
    return " ".join(docstring.partition("\n\n")[0].split())


def _rows(folder: Path) -> Iterator[str]:
    modules = sorted(path.stem for path in folder.glob("*.py") if path.stem != "__init__")
    name = folder.relative_to(ROOT).as_posix()
    named = ", ".join(f"`{module}`" for module in modules)
    yield f"| **{name}/** | {_first_sentence(folder / '__init__.py')} | {named} |"
    for room in find_rooms(folder):
        yield from _rows(room)


def print_rooms() -> str:
    """Return the table of every house and room as Markdown: folder, purpose, modules."""
    rows = (row for house in HOUSES for row in _rows(ROOT / house))
    return "\n".join(["| room | holds | modules |", "| --- | --- | --- |", *rows]) + "\n"


def print_states() -> str:
    """Return the transition tables as Markdown: whose state, state, event, next state."""
    moves = [
        f"| {name} | {state} | {event} | {end} |"
        for name, table in LIVES.items()
        for state, row in table.items()
        for event, end in row.items()
    ]
    return "\n".join(["| of | state | event | next state |", "| --- | --- | --- | --- |", *moves]) + "\n"


def print_page() -> str:
    """Return docs/architecture.md with its tables as the code has them now."""
    page = PAGE.read_text(encoding="utf-8")
    for name, table in (("rooms", print_rooms()), ("states", print_states())):
        begin, end = f"<!-- {name}: made by `make schemas` -->\n", f"<!-- end of {name} -->\n"
        before, _, rest = page.partition(begin)
        page = f"{before}{begin}\n{table}\n{end}{rest.partition(end)[2]}"
    return page


if __name__ == "__main__":
    page = print_page()
    if sys.argv[1:] == ["--write"]:
        PAGE.write_text(page, encoding="utf-8", newline="\n")
    elif page != PAGE.read_text(encoding="utf-8"):
        sys.exit("docs/architecture.md is older than the code: make schemas")
