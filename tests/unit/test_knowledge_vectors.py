"""The texts of pieces that a model is given, read from files as they are at present."""

import hashlib
import tracemalloc
from pathlib import Path
from typing import Any, cast

from gateway.files.safe_open import open_kept_root
from knowledge.index.vectors import PieceVectors
from knowledge.rows.files import ContentPlace
from knowledge.rows.vectors import LackingPiece

TEXT = b"The ferry leaves at ten.\n"
GROWN_BYTES = 64 * 1024 * 1024


def texts_in(folder: Path) -> list[str | None]:
    """The text of the piece of `log.txt`, which was indexed when it held `TEXT`."""
    nothing = cast("Any", None)
    vectors = PieceVectors(db=nothing, jobs=nothing, meaning=nothing, keyed=nothing, open_root=open_kept_root)
    digest = hashlib.sha256(TEXT).digest()
    piece = LackingPiece(1, 1, 0, len(TEXT), "[]", 1, digest, "utf-8", "[]", "text", len(TEXT))
    place = ContentPlace("notes", "", "log.txt", str(folder.resolve()), "live", 0, 1, 1, "indexed")
    return vectors._texts([piece], {1: [place]}, {})


def test_a_file_that_grew_since_it_was_indexed_is_not_read_whole(tmp_path: Path) -> None:
    file = tmp_path / "log.txt"
    file.write_bytes(TEXT)
    assert texts_in(tmp_path) == [TEXT.decode().strip()]
    with file.open("ab") as opened:
        opened.truncate(GROWN_BYTES)
    tracemalloc.start()
    try:
        assert texts_in(tmp_path) == [None]
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < GROWN_BYTES // 16
