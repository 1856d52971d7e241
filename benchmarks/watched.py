"""`python -m benchmarks.watched FILE serve ...`: a gateway that writes down, when it ends, the longest that one callback held its loop.

Rule 1: nothing of the gateway is changed; only the loop's own step is timed, in the processor time of its thread.
"""

import json
import sys
import time
from asyncio.events import Handle
from pathlib import Path
from typing import Any

from gateway.cli import main

STEP = "_run"
"""What the loop calls to make a step."""
longest = {"cpu_ms": 0.0, "wall_ms": 0.0}


def watch() -> None:
    """Time every callback from now on."""
    owner: Any = Handle
    run: Any = getattr(owner, STEP)

    def timed(handle: Any) -> None:
        begun, wall = time.thread_time(), time.perf_counter()
        run(handle)
        longest["cpu_ms"] = max(longest["cpu_ms"], (time.thread_time() - begun) * 1000)
        longest["wall_ms"] = max(longest["wall_ms"], (time.perf_counter() - wall) * 1000)

    setattr(owner, STEP, timed)


if __name__ == "__main__":
    watch()
    try:
        code = main(sys.argv[2:])
    finally:
        Path(sys.argv[1]).write_text(json.dumps(longest), encoding="utf-8")
    sys.exit(code)
