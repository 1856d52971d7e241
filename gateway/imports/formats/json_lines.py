"""A file of JSON Lines, one record at a time; a broken line is left out and the others go on."""

import json
from collections.abc import Iterable, Iterator
from itertools import chain
from typing import Any

from gateway.base.json_values import table_of
from gateway.imports.formats.draft import Draft, decode_text
from gateway.wire.framing import LineReceiver

MAX_LINE_BYTES = 32 * 1024 * 1024
"""Results of tools with pictures take a few megabytes a line."""


def records(chunks: Iterable[bytes], draft: Draft) -> Iterator[dict[str, Any]]:
    """Yield the objects of the file; other values, and mended characters, are counted in the draft."""
    receiver = LineReceiver(MAX_LINE_BYTES)
    frames = chain.from_iterable(map(receiver.feed, chunks))
    for frame in chain(frames, _last_of(receiver)):
        if isinstance(frame, str):
            draft.left_out["line_too_long"] += 1
            continue
        text, repaired = decode_text(frame)
        draft.repaired += repaired
        try:
            record = table_of(json.loads(text))
        except (ValueError, RecursionError):
            record = {}
        if record:
            yield record
        else:
            draft.left_out["broken_line"] += 1


def _last_of(receiver: LineReceiver) -> Iterator[Any]:
    yield from receiver.close()
