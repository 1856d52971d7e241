"""The imports of a start, during which objects are not collected."""

import gc
from collections.abc import Generator
from contextlib import contextmanager


@contextmanager
def importing() -> Generator[None]:
    """Switch garbage collection off while the block imports, and exempt its objects from it.

    A start makes a hundred thousand objects that all stay; looking through them costs a thirtieth of it
    (`python -m benchmarks speed`).
    """
    gc.disable()
    try:
        yield
    finally:
        gc.freeze()  # else the first collection afterwards looks through them all the same
        gc.enable()
