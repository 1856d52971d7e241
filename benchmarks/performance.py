"""`docs/performance.md` and its pictures, from the results that are kept in benchmarks/out.

Rule 1: nothing is measured here; a result that is not there leaves its section out, and says by which command it comes.
"""

import argparse
import sys
from pathlib import Path
from typing import Any

from benchmarks.goals import HEADS, Row, as_markdown, cells, kept
from benchmarks.peers import HEADS as PEER_HEADS
from benchmarks.peers import Figures
from benchmarks.peers import cells as peer_cells
from benchmarks.plots import peers_by_cost, recall_by_size

DOCS = Path(__file__).resolve().parent.parent / "docs"
TITLES = {
    "process": "The process",
    "search": "Searches and turns, memory and disk",
    "load": "Indexing, and searches under load",
}
OPENING = """# Performance

Made by `python -m benchmarks performance` from the results of `python -m benchmarks speed`, `peers`, `recall` and `passes`;
nothing here is written by hand. CPU is processor time of the gateway's process, and what is judged: wall time depends on who else
uses the machine. A floor is measured in the same run: the least that the work could cost, or what another implementation costs.
Each part begins with what an empty Python took just then, beside the machine that the goals come from: others use this one too, and
its pace changes by half and more within an hour. Where the load is above the number of processors, processor time is dearer too:
ratios of the same run hold, absolute figures are too large. Goals are held against figures as they are.
Homes and texts are generated from one seed; conversations beside peers are LoCoMo's.
"""


def _where(result: dict[str, Any]) -> str:
    seed = f", seed {result['seed']}" if "seed" in result else ""
    load = f", load at the end {result['load']:.1f}" if result.get("load") is not None else ""
    return f"`{result['command']}`, {result['date']}{seed}, {result['machine']}{load}.\n"


def _speed(result: dict[str, Any], folder: Path) -> str:
    parts = [f"## Goals\n\n{_where(result)}"]
    for part, rows in result["parts"].items():
        table = as_markdown([cells(Row(**row)) for row in rows], HEADS)
        parts.append(f"### {TITLES[part]}\n\n{table}\n")
    if result["points"]:
        (folder / "performance-size.svg").write_text(recall_by_size(result["points"]), encoding="utf-8")
        parts.append("![What a recall costs at each size](performance-size.svg)\n")
    return "\n".join(parts)


def _peers(result: dict[str, Any], folder: Path) -> str:
    rows = [Figures(**row) for row in result["rows"]]
    table = as_markdown([peer_cells(row) for row in rows if not row.reason], PEER_HEADS)
    left_out = "".join(f"- {row.system} is left out: {row.reason}\n" for row in rows if row.reason)
    (folder / "performance-peers.svg").write_text(peers_by_cost(result["rows"]), encoding="utf-8")
    return (
        f"## Beside others\n\n{_where(result)}\nThe same messages, questions and embedding model for all. Libraries run in the asking"
        " process and are given the vectors of stored messages; ours and the MCP servers are asked over pipes and make their own."
        " A latency includes the embedding of the question. Open is from nothing to the first answer."
        " Our ranking was fitted on three of the five conversations; `python -m benchmarks locomo` tells the others apart.\n\n"
        f"{table}\n\n{left_out}\n![Evidence found and its cost](performance-peers.svg)\n"
    )


def _recall(result: dict[str, Any], _folder: Path) -> str:
    """The shares of messages with a needed fact among the first five of a search: a row for each way, a column for each
    set."""
    shares = {(way, group): share for group, way, share in result["first_five"]}
    groups, ways = (sorted({place[n] for place in shares}) for n in (1, 0))
    table = as_markdown([[way, *(shares.get((way, group), "") for group in groups)] for way in ways], ["way", *groups])
    return (
        f"## Facts beside others\n\n{_where(result)}\nThe share of a person's messages whose needed fact is among the first five that a"
        " search finds. The same facts, messages and embedding model for all; ways of ours are told by what searches: words,"
        f" the static model, the model. What each set is stands in [recall.md](recall.md).\n\n{table}\n"
    )


def _passes(result: dict[str, Any], _folder: Path) -> str:
    table = as_markdown([cells(Row(**row)) for row in result["rows"]], HEADS)
    return f"## Passes\n\n{_where(result)}\n{table}\n"


def main(arguments: list[str] | None = None) -> int:
    """Write it."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks performance", description=(__doc__ or "").split("\n")[0]
    )
    parser.add_argument("--folder", type=Path, default=DOCS, help="where it is written")
    parser.add_argument("--speed", default="speed", help="the name of the result of speed")
    options = parser.parse_args(arguments)
    sections = [OPENING]
    for name, write in ((options.speed, _speed), ("peers", _peers), ("recall", _recall), ("passes", _passes)):
        result = kept(name)
        sections.append(write(result, options.folder) if result else f"Not measured: `python -m benchmarks {name}`\n")
    (options.folder / "performance.md").write_text("\n".join(sections), encoding="utf-8")
    print(options.folder / "performance.md")
    return 0


if __name__ == "__main__":
    sys.exit(main())
