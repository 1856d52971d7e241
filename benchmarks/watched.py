"""`python -m benchmarks.watched FILE serve ...`: a gateway that writes down, when it ends, when its loop was held and
how long.

Rule 1: nothing of the gateway is changed; only the loop's own step is timed, in the processor time of its thread.
Rule 2: whoever measures leaves out what was before the process answered: a start holds the loop, and nobody waits for
that.
"""

import json
import sys
import time
from asyncio.events import Handle
from pathlib import Path
from typing import Any

from gateway.cli import main

STEP = "_run"
"""The function of the loop that makes a step."""
TOLD_MS = 2.0  # what is shorter holds nobody up, and would be most of all there is
blocks: list[tuple[float, float, float]] = []
"""The start of each step (seconds since the epoch), its processor time and its wall time in milliseconds."""


def watch() -> None:
    """Time every callback from now on."""
    owner: Any = Handle
    run: Any = getattr(owner, STEP)

    def timed(handle: Any) -> None:
        at, begun, wall = time.time(), time.thread_time(), time.perf_counter()
        run(handle)
        if (held := (time.perf_counter() - wall) * 1000) > TOLD_MS:
            blocks.append((at, (time.thread_time() - begun) * 1000, held))

    setattr(owner, STEP, timed)


if __name__ == "__main__":
    watch()
    try:
        code = main(sys.argv[2:])
    finally:
        Path(sys.argv[1]).write_text(json.dumps(blocks), encoding="utf-8")
    sys.exit(code)
