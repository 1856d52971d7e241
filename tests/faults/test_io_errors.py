"""The N-th call to the disk fails, for every N: what was acknowledged is there, what was refused is whole or absent.

Each run ends three times: as a process that died at that moment would leave its files, as the same process goes on once
the disk works again, and as the next process finds it.
"""

import random
from pathlib import Path
from typing import Any

import pytest
from fault_vfs import Fault, FaultVFS, Kind, faulty
from mixed_script import SCRIPT, SEARCH, WORDS, House, Prepared, Step, look_at, prepare
from sizes import size

from protocol.errors import Unavailable
from protocol.memory.writes import RememberResult, WriteResult

STRIDE = size("fault_stride")
"""1 strikes every point with every kind (`make campaign`). By default every fourth is struck by an I/O error and every
sixteenth by the other kinds, from a first one that differs from run to run."""

Views = dict[str, tuple[Any, ...]]


@pytest.fixture(scope="module")
def prepared(tmp_path_factory: pytest.TempPathFactory) -> Prepared:
    return prepare(tmp_path_factory.mktemp("prepared"))


@pytest.fixture(scope="module")
def before(prepared: Prepared) -> Views:
    return look_at(prepared.path)


@pytest.fixture(scope="module")
def after(prepared: Prepared, before: Views, tmp_path_factory: pytest.TempPathFactory) -> Views:
    """What the script does when nothing fails."""
    house = House(tmp_path_factory.mktemp("whole") / "house", prepared)
    for line in SCRIPT:
        assert not [told for told in house.play(line) if isinstance(told, BaseException)]
    house.close()
    views = look_at(house.path)
    assert not [word for word in WORDS if views[word] == before[word]]
    return views


def play_all(house: House) -> tuple[list[Step], list[Step]]:
    """The steps that were acknowledged, and those whose outcome is unknown; an error is one of the contract's."""
    acknowledged: list[Step] = []
    unknown: list[Step] = []
    for line in SCRIPT:
        for step, told in zip(line, house.play(line), strict=True):
            if not isinstance(told, BaseException):
                acknowledged.append(step)
            elif isinstance(told, Unavailable):
                unknown.append(step)
            else:
                raise told
    return acknowledged, unknown


def check(views: Views, before: Views, after: Views, acknowledged: list[Step]) -> None:
    done = {step.word for step in acknowledged}
    for word in WORDS:
        if word in done:
            assert views[word] == after[word], f"lost: {word}"
        else:
            assert views[word] in {before[word], after[word]}, f"torn: {word}"


def go_on(house: House, unknown: list[Step], views: Views, before: Views) -> None:
    """The disk works again: what is unknown is asked for again, once, and nobody restarts anything."""
    for step in unknown:
        if step.repeats or views[step.word] == before[step.word]:
            (told,) = house.play([step])
            assert not isinstance(told, BaseException), (step.word, told)
            if isinstance(told, (RememberResult, WriteResult)):
                (again,) = house.play([step])
                assert again == told
    (told,) = house.play([SEARCH])
    assert not isinstance(told, BaseException)


def strike(folder: Path, prepared: Prepared, vfs: FaultVFS, fault: Fault, before: Views, after: Views) -> int:
    """One run; how many calls were struck."""
    house = House(folder / "house", prepared, vfs.name)
    try:
        vfs.arm(fault)
        acknowledged, unknown = play_all(house)
        struck = vfs.struck
        vfs.heal()
        found = look_at(house.copy(folder / "died"))
        check(found, before, after, acknowledged)
        lived = look_at(house.path, is_sound=False)
        check(lived, before, after, acknowledged)
        go_on(house, unknown, lived, before)
    finally:
        vfs.heal()
        house.close()
    assert look_at(house.path) == after
    assert b"lizard" not in b"".join(path.read_bytes() for path in house.path.parent.iterdir())
    return struck


@pytest.mark.timeout(900)
@pytest.mark.parametrize("is_lasting", [False, True], ids=["once", "lasting"])
@pytest.mark.parametrize("kind", ["io", "full", "quota", "read_only"])
def test_every_call_fails_in_turn(
    kind: Kind,
    is_lasting: bool,  # noqa: FBT001
    prepared: Prepared,
    before: Views,
    after: Views,
    tmp_path: Path,
) -> None:
    stride = STRIDE if kind == "io" else STRIDE * STRIDE
    points, at = 0, random.randint(1, stride)
    with faulty(f"faulty-{kind}-{is_lasting}") as vfs:
        while True:
            folder = tmp_path / str(at)
            folder.mkdir()
            try:
                struck = strike(folder, prepared, vfs, Fault(at, kind, is_lasting), before, after)
            except BaseException:
                print(f"{kind}, call {at}, {vfs.operations[:1]}, lasting: {is_lasting}")  # noqa: T201  # shown when the test fails
                raise
            if not struck:
                break
            points += 1
            at += stride
    assert points > 200 // stride
    print(f"{points} points")  # noqa: T201  # the figure of the campaign
