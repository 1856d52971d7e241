"""The file of a proxy's answers, on a disk that takes no more."""

from pathlib import Path

import pytest

from gateway.home.spool import OwnFile, line_of, path_of_spool, read_spool

resource = pytest.importorskip("resource", reason="Windows limits no file's size")


def test_a_line_that_the_disk_takes_only_in_part_is_refused_and_tears_no_other(tmp_path: Path) -> None:
    (tmp_path / "run").mkdir()
    own, first = OwnFile(tmp_path, "own_a"), line_of({"text": "first"})
    own.append(first)
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (len(first) + 10, limits[1]))
    try:
        with pytest.raises(OSError, match="too large"):
            own.append(line_of({"text": "second"}))
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    own.append(line_of({"text": "third"}))
    found = read_spool(path_of_spool(tmp_path, "own_a"))
    own.close()
    assert [line.finish["text"] for line in found.lines] == ["first", "third"]
    assert found.torn == []
