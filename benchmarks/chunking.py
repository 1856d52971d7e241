"""The speed at which messages are cut into chunks: megabytes (UTF-8) per second of processor time, for each kind of text.

Rule 1: the texts are generated, the same every time; each is as long as an item with the usual settings may be.
Rule 2: the best of several tries counts, as other work on the machine can only slow it down.
"""

import argparse
import random
import sys
import time
from collections.abc import Callable, Iterator, Mapping

from benchmarks.report import machine, show_table
from protocol.settings import ThreadEpisodicSettings
from retrieval.chunking import cut_text
from thread_episodic.index.message_plans import sizes_of

PROSE_GOAL = 20.0
"""Megabytes per second of prose: a million messages are cut in less than a minute."""

TEXT_CHARS = 60_000
"""Below `max_chunks_per_item` chunks, so that all of it is cut."""

TRIES = 7
_TEXT = (
    "harbour crane lifts the of crates tea and before noon while gulls circle over a grey pier where ropes dry in wind "
    "because nobody asked for boats that evening although every lamp was lit twice by keepers who counted steps slowly"
)
WORDS = _TEXT.split()
ENDS = (". ", ". ", ". ", "? ", "! ", ", Dr. Weir said. ", " (v2.4.1). ", ", e.g. in 1.5 hours. ")
SIGNS = "今日港口的起重机在中午之前吊起了茶箱海鸥在灰色的码头上空盘旋因为那天晚上没有人问船"


def _sentence(rng: random.Random) -> str:
    words = rng.choices(WORDS, k=rng.randint(5, 22))
    return " ".join(words).capitalize() + rng.choice(ENDS)


def _prose(rng: random.Random) -> str:
    return "".join(_sentence(rng) for _ in range(rng.randint(2, 7))) + "\n\n"


def _unbroken(rng: random.Random) -> str:
    return _sentence(rng)


def _markdown(rng: random.Random) -> str:
    kind = rng.randrange(5)
    if kind == 0:
        return f"## {' '.join(rng.choices(WORDS, k=4))}\n\n"
    if kind == 1:
        return "".join(f"- {' '.join(rng.choices(WORDS, k=8))}\n" for _ in range(rng.randint(2, 8))) + "\n"
    if kind == 2:
        return "```python\n" + _code(rng) + "```\n\n"
    if kind == 3:
        rows = "".join(f"| {rng.choice(WORDS)} | {rng.random():.3f} |\n" for _ in range(rng.randint(2, 9)))
        return "| what | value |\n| --- | --- |\n" + rows + "\n"
    return _prose(rng)


def _code(rng: random.Random) -> str:
    lines = (f"    {rng.choice(WORDS)} = {rng.choice(WORDS)}({rng.randrange(99)})\n" for _ in range(rng.randint(3, 15)))
    return f"def {rng.choice(WORDS)}({rng.choice(WORDS)}):\n" + "".join(lines) + "\n"


def _cjk(rng: random.Random) -> str:
    return (
        "".join(rng.choices(SIGNS, k=rng.randint(8, 40)))
        + rng.choice("。。。\uff01\uff1f")
        + rng.choice(["", "", "", "\n"])
    )


KINDS: Mapping[str, Callable[[random.Random], str]] = {
    "prose": _prose,
    "prose, one paragraph": _unbroken,
    "Markdown": _markdown,
    "code": _code,
    "CJK": _cjk,
}


def texts() -> Iterator[tuple[str, str]]:
    """A text of each kind."""
    for name, piece in KINDS.items():
        rng = random.Random(name)
        pieces: list[str] = []
        while sum(map(len, pieces)) < TEXT_CHARS:
            pieces.append(piece(rng))
        yield name, "".join(pieces)


def speed(text: str) -> float:
    """Megabytes per second of processor time, at best."""
    sizes = sizes_of(ThreadEpisodicSettings())
    best = float("inf")
    for _ in range(TRIES):
        began = time.process_time()
        cut_text(text, sizes)
        best = min(best, time.process_time() - began)
    return len(text.encode()) / best / 1e6


def main(arguments: list[str] | None = None) -> int:
    """Run it; 1 when prose is cut too slowly."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks chunking", description=(__doc__ or "").split("\n")[0])
    parser.parse_args(arguments)
    sizes = sizes_of(ThreadEpisodicSettings())
    rows = [(name, len(text), len(cut_text(text, sizes).ranges), speed(text)) for name, text in texts()]
    print(f"chunking on {machine()}")
    show_table("messages cut into chunks", ["text", "characters", "chunks", "MB/s"], rows)
    slowest = min(rate for name, _, _, rate in rows if name.startswith("prose"))
    print(f"\nprose at {PROSE_GOAL:.0f} MB/s or more: {'ok' if slowest >= PROSE_GOAL else 'MISSED'}")
    return 0 if slowest >= PROSE_GOAL else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
