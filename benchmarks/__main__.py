"""`python -m benchmarks [episodic|hygiene|locomo|peers|performance|ranking|search_scale|speed|turn_scale|vectors|wire] [options]`: one benchmark, or without a name each of them."""

import sys
from collections.abc import Callable

from benchmarks import (
    episodic,
    hygiene,
    locomo,
    peers,
    performance,
    ranking,
    search_scale,
    speed,
    turn_scale,
    vectors,
    wire,
)

BENCHMARKS: dict[str, Callable[[list[str]], int]] = {
    "speed": speed.main,
    "peers": peers.main,
    "wire": wire.main,
    "search_scale": search_scale.main,
    "turn_scale": turn_scale.main,
    "vectors": vectors.main,
    "ranking": ranking.main,
    "episodic": episodic.main,
    "locomo": locomo.main,
    "hygiene": hygiene.main,
    "performance": performance.main,
}


def main(arguments: list[str]) -> int:
    """Run what is named; return the worst exit code."""
    if arguments and arguments[0] in BENCHMARKS:
        return BENCHMARKS[arguments[0]](arguments[1:])
    if arguments:
        sys.stderr.write(f"usage: python -m benchmarks [{'|'.join(BENCHMARKS)}] [options]\n")
        return 64
    return max([run([]) for run in BENCHMARKS.values()])


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
