"""A product whose records have a nullable text field `mood`; it runs in a process of its own
(`test_memory_record_fields.py`).

Each step is one through which a field goes: a door, a row, a correction, a candidate, a bundle.
"""

import sys
from pathlib import Path
from typing import Any

import msgspec
from memory_home import HERE, MIDDLING, SURE, MemoryHome

from protocol.errors import Refused
from protocol.memory.bundles import ExportParams, ImportParams
from protocol.memory.candidates import CandidateDecideParams
from protocol.record import Record

PLAN: Any = {"mood": "calm at noon"}
CREDENTIAL: Any = {"mood": "ghp_" + "a1B2c3D4" * 4 + "e5F6"}


def mood_of(record: Record | None) -> str | None:
    """Return the new field of a record."""
    return msgspec.to_builtins(record)["mood"]


def live(folder: Path) -> None:
    """Take the field through each of its ways."""
    home, other = MemoryHome(folder / "one"), MemoryHome(folder / "other")
    home.switch(review_enabled=True)
    kept = home.remember("The plan is in the repository", **PLAN).record.memory_id
    bare = home.remember("Tea is served at five").record.memory_id
    assert (mood_of(home.get(kept)), mood_of(home.get(bare))) == ("calm at noon", None)

    corrected = home.update(kept, content="The plan is in the wiki").record.memory_id
    assert (corrected != kept, mood_of(home.get(corrected))) == (True, "calm at noon")

    assert mood_of(home.propose("Prefers pears", SURE, **PLAN).record) == "calm at noon"
    waits = home.propose("Is fond of long train journeys", MIDDLING, **PLAN).candidate
    assert waits is not None
    decide = CandidateDecideParams(candidate_id=waits.candidate_id, decision="approve", context=HERE)
    assert mood_of(home.do(home.service.candidates.decide(decide)).record) == "calm at noon"

    try:
        home.remember("The key is in a file", **CREDENTIAL)
    except Refused:
        pass
    else:
        raise AssertionError("a credential was kept")

    bundle = home.do(home.service.export_bundle(ExportParams(context=HERE))).bundle
    for is_first in (True, False):
        taken = other.do(other.service.import_bundle(ImportParams(bundle=bundle, context=HERE)))
        assert (taken.imported > 0, taken.conflicts) == (is_first, [])
    assert (mood_of(other.get(corrected)), mood_of(other.get(bare))) == ("calm at noon", None)
    home.close()
    other.close()


if __name__ == "__main__":
    for name in ("one", "other"):
        (Path(sys.argv[1]) / name).mkdir(parents=True)
    live(Path(sys.argv[1]))
