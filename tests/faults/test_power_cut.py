"""The power goes at any moment: what was acknowledged is there, what was not is whole or absent, nothing forgotten is
back.

The oracle is exact: the image of the database after each commit is known by its digest, and what a cut leaves must be
one of the images from the last durable commit on. A disk that lies about its syncs shows that the same oracle does find
losses.
"""

import hashlib
import os
import random
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import apsw
import pytest
from memory_home import HERE, USER
from mixed_script import SCRIPT, SEARCH, WORDS, House, Prepared, Step, look_at, prepare, remembering
from power_cut import Change, Disk, RecordingVFS, recorded
from sizes import size

from gateway.home.owners import SQL
from gateway.store import file as database_file
from gateway.store.database import Database
from gateway.store.wiping import free_room
from memory.service import MemoryService
from protocol.memory.forgetting import ForgetByKey, ForgetParams

CUTS = size("cuts")
USUAL_PAGES = database_file.CHECKPOINT_PAGES
NOTE = SQL["put_home"]
LOOKED_INTO = 20
"""Every so many cuts the records themselves are looked at, and not only the image."""

MORE = [
    first + rest for first in "gal mon per sul tor ven wim yok".split() for rest in "dabo kipu mezu rofi tuwa".split()
]
"""Words of a load beside the script: each is remembered, and every other one forgotten again."""


def image_of(connection: Any) -> bytes:
    """The digest of every byte that holds something; an erase wipes the others, and has a commit that only counts
    itself."""
    return digest_of(connection.serialize("main"))


def digest_of(image: bytes) -> bytes:
    data = bytearray(image)
    size = int.from_bytes(image[16:18]) if image[16:18] != b"\0\1" else 1 << 16
    for number, place in enumerate(range(0, len(image), size), 1):
        for start, end in free_room(image[place : place + size], number, size - image[20]):
            data[place + start : place + end] = bytes(end - start)
    del data[92:100], data[24:28]  # the counter of changes, and who counted
    return hashlib.sha256(data).digest()


@dataclass
class Recording:
    """A run: the file at first, all that happened to the disk, and what was told when."""

    first: bytes
    log: list[Change]
    told: list[tuple[int, Step]]
    """At which place of the log a step was acknowledged."""
    asked: list[tuple[int, Step]]
    before: dict[str, tuple[Any, ...]]
    after: dict[str, tuple[Any, ...]]

    @property
    def commits(self) -> list[tuple[int, bytes, bool]]:
        """Place, image and durability of each commit, the first image included."""
        told = [(at + 1, c.digest, c.is_durable) for at, c in enumerate(self.log) if c.what == "commit"]
        return [(0, digest_of(self.first), True), *told]


def watch(db: Database, vfs: RecordingVFS) -> None:
    """Have each commit noted where it happens, before anyone hears of it."""
    for writer in (db._writer, db._notes):

        def commit(group: Any, writer: Any = writer, commit: Any = writer._commit) -> Any:
            outcomes = commit(group)
            vfs.commit(image_of(writer.connection()), is_durable=writer is db._writer)
            return outcomes

        writer._commit = commit


def noting(number: int) -> Step:
    """Bookkeeping, which a cut may lose."""
    return Step(
        "",
        lambda service, _home: service._means.db.note(lambda tx: tx.run(NOTE, {"name": "note", "value": str(number)})),
    )


def forgetting_again(word: str) -> Step:
    def call(service: MemoryService, _home: Prepared) -> Any:
        target = ForgetByKey(scope=USER, key=f"load.{word}")
        return service.forget(
            ForgetParams(target=target, context=HERE, mode="erase" if word.endswith("o") else "tombstone")
        )

    return Step("", call)


def script() -> Iterator[list[Step]]:
    """The mixed script, a line at a time between a load of small writes."""
    mixed = iter(SCRIPT)
    for number, word in enumerate(MORE):
        yield [remembering(word, key=f"load.{word}")]
        yield [noting(number)]
        if number % 2:
            yield [forgetting_again(word), noting(-number)]
        if number % 4 == 3:
            yield next(mixed, [SEARCH])


def record(folder: Path) -> Recording:
    """A run with checkpoints, notes, and a store that closes and opens again."""
    (folder / "prepared").mkdir()
    prepared = prepare(folder / "prepared")
    told: list[tuple[int, Step]] = []
    asked: list[tuple[int, Step]] = []
    with recorded("recorded") as vfs:
        house = House(folder / "house", prepared, vfs.name)
        watch(house.home.db, vfs)
        for number, line in enumerate(script()):
            asked += [(len(vfs.log), step) for step in line]
            assert not [error for error in house.play(line) if isinstance(error, BaseException)]
            told += [(len(vfs.log), step) for step in line]
            if number % 40 == 39:
                house.reopen()
                watch(house.home.db, vfs)
        house.close()
        log = vfs.log
    return Recording(prepared.path.read_bytes(), log, told, asked, look_at(prepared.path), look_at(house.path))


@pytest.fixture(scope="module")
def recording(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Recording]:
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(database_file, "CHECKPOINT_PAGES", 40)  # so that the short log holds many checkpoints
        yield record(tmp_path_factory.mktemp("recorded"))


def cut(
    recording: Recording, rng: random.Random, cuts: int, *, obeys_sync: bool = True
) -> Iterator[tuple[int, dict[str, bytes]]]:
    """Places of the log, in order, and what the disk holds after a cut there."""
    disk = Disk(obeys_sync=obeys_sync)
    disk.put("gateway.db", recording.first)
    place = 0
    for at in sorted(rng.choices(range(len(recording.log) + 1), k=cuts)):
        for change in recording.log[place:at]:
            disk.play(change)
        place = at
        yield at, disk.after_cut(rng)


def put(folder: Path, files: dict[str, bytes]) -> Path:
    for path in folder.iterdir():
        path.unlink()
    for name, data in files.items():
        (folder / name).write_bytes(data)
    return folder / "gateway.db"


def found_image(path: Path) -> bytes:
    """What the next process finds; b"" for a file that is not sound."""
    connection = apsw.Connection(str(path))
    connection.config(apsw.SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1)
    try:
        if connection.execute("PRAGMA integrity_check").fetchall() != [("ok",)]:
            return b""
        return image_of(connection)
    except apsw.Error:
        return b""
    finally:
        connection.close()


def verdict(recording: Recording, at: int, image: bytes) -> str:
    """`kept`, `lost`, `torn`, or `ahead` for something that was not even asked for."""
    commits = recording.commits
    begun = bisect_right(commits, at, key=lambda commit: commit[0])
    durable = max(n for n in range(begun) if commits[n][2])
    places = [n for n, (_, known, _) in enumerate(commits) if known == image]
    if not places:
        return "torn"
    if any(durable <= n <= begun for n in places):
        return "kept"
    return "lost" if max(places) < durable else "ahead"


def check_records(recording: Recording, at: int, path: Path) -> None:
    views = look_at(path)
    acknowledged = {step.word for place, step in recording.told if place <= at}
    asked = {step.word for place, step in recording.asked if place < at}
    for word in WORDS:
        if word in acknowledged:
            assert views[word] == recording.after[word]
        elif word in asked:
            assert views[word] in {recording.before[word], recording.after[word]}
        else:
            assert views[word] == recording.before[word]


@pytest.mark.timeout(300 + CUTS // 20)
def test_a_power_cut_loses_nothing_tears_nothing_and_brings_nothing_back(recording: Recording, tmp_path: Path) -> None:
    seed = int(os.environ.get("PIONEER_SEED", random.randrange(2**32)))
    print(f"seed {seed}: {CUTS} cuts, {len(recording.log)} changes, {len(recording.commits)} commits")  # noqa: T201  # shown when the test fails
    verdicts: Counter[str] = Counter()
    images = set()
    for number, (at, files) in enumerate(cut(recording, random.Random(seed), CUTS)):
        path = put(tmp_path, files)
        image = found_image(path)
        images.add(image)
        verdicts[verdict(recording, at, image)] += 1
        if number % LOOKED_INTO == 0:
            check_records(recording, at, path)
    assert verdicts == {"kept": CUTS}
    assert len(images) > min(CUTS / 50, len(recording.commits) / 3)  # the cuts fell all over the run


def test_a_disk_that_lies_about_its_syncs_is_found_out(recording: Recording, tmp_path: Path) -> None:
    verdicts = Counter(
        verdict(recording, at, found_image(put(tmp_path, files)))
        for at, files in cut(recording, random.Random(7), 100, obeys_sync=False)
    )
    assert verdicts["lost"] + verdicts["torn"] > 20, verdicts


# -- a sync that failed ----------------------------------------------------------------------------------------------


def lost_after(failing: int, folder: Path, prepared: Prepared, after: dict[str, tuple[Any, ...]]) -> list[str] | None:
    """Acknowledged words that a cut at the end takes when the n-th sync had failed; None when none failed.

    What that sync was to write is gone, and later syncs say nothing about it. What was refused is asked for once more.
    """
    folder.mkdir()
    with recorded(f"syncless-{folder.name}") as vfs:
        house = House(folder / "house", prepared, vfs.name)
        vfs.syncs, vfs.failing_sync = 0, failing
        for number, line in enumerate(SCRIPT):
            house.play([noting(number)])
            told = house.play(line)
            again = [step for step, said in zip(line, told, strict=True) if isinstance(said, BaseException)]
            assert not [said for said in house.play(again) if isinstance(said, BaseException)]
        log = list(vfs.log)
        house.close()
    disk = Disk()
    disk.put("gateway.db", prepared.path.read_bytes())
    for change in log:
        disk.play(change)
    if not any(change.what == "failed_sync" for change in log):
        return None
    (folder / "cut").mkdir()
    path = put(folder / "cut", disk.after_cut(random.Random(failing)))
    if not found_image(path):
        return ["everything"]
    views = look_at(path, is_sound=False)
    return [word for word in WORDS if views[word] != after[word]]


def losses(folder: Path) -> list[list[str]]:
    """What is lost for each sync that can fail."""
    (folder / "prepared").mkdir()
    prepared = prepare(folder / "prepared")
    house = House(folder / "whole", prepared)
    for line in SCRIPT:
        house.play(line)
    house.close()
    after = look_at(house.path)
    found: list[list[str]] = []
    while (lost := lost_after(len(found) + 1, folder / str(len(found)), prepared, after)) is not None:
        found.append(lost)
    return found


def test_after_a_failed_sync_nothing_is_acknowledged_on_top_of_what_was_dropped(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(database_file, "CHECKPOINT_PAGES", 40)
    found = losses(tmp_path)
    assert len(found) > len(SCRIPT)
    assert [(number, lost) for number, lost in enumerate(found, 1) if lost] == []


def test_who_trusts_the_log_after_a_failed_sync_loses_acknowledged_writes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(database_file.DatabaseFile, "doubt", lambda _file, _failure: None)
    monkeypatch.setattr(database_file, "CHECKPOINT_PAGES", USUAL_PAGES)  # a checkpoint soon after hides the loss
    assert any(losses(tmp_path))
