"""`python -m benchmarks [NAME [options]]`: one benchmark, or without a name each of them."""

import sys
from importlib import import_module

BENCHMARKS = (
    "speed",
    "hooks",
    "wire",
    "http",
    "search_scale",
    "turn_scale",
    "vectors",
    "chunking",
    "recall",
    "episodic",
    "locomo",
    "hygiene",
    "lookback",
    "own_words",
    "passes",
    "guidance",
    "knowledge",
    "peers",
    "performance",
)
"""Modules of this package, each with a `main(arguments)` that returns an exit code."""


def main(arguments: list[str]) -> int:
    """Run what is named; return the worst exit code."""
    if arguments and arguments[0] not in BENCHMARKS:
        sys.stderr.write(f"usage: python -m benchmarks [{'|'.join(BENCHMARKS)}] [options]\n")
        return 64
    wanted = arguments[:1] or BENCHMARKS
    return max(import_module(f"benchmarks.{name}").main(arguments[1:]) for name in wanted)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
