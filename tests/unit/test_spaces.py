"""Which space is searched, which one is being filled, which one is kept for going back."""

from pathlib import Path

import pytest
from memory_home import MemoryHome

from gateway.embedding.spaces import (
    SpaceIdentity,
    StoredSpace,
    adopt,
    find_current,
    find_outdated,
    list_spaces,
    switch,
)
from protocol.seams.ports import Space

ONE, TWO, THREE = (SpaceIdentity(f"model-{n}", 8, f"digest-{n}") for n in (1, 2, 3))


@pytest.fixture
def home(tmp_path: Path):
    home = MemoryHome(tmp_path)
    yield home
    home.close()


def take(home: MemoryHome, identity: SpaceIdentity, *, keeps_current: bool = True) -> StoredSpace:
    home.clock.at += 1
    return home.sql(lambda tx: adopt(tx, identity, home.clock.now(), keeps_current=keeps_current))


def states(home: MemoryHome) -> dict[str, str]:
    return {known.space.model: known.state for known in home.sql(list_spaces)}


def test_the_first_space_is_searched_at_once(home: MemoryHome) -> None:
    known = take(home, ONE)
    assert (known.state, known.space.model, known.space.dim) == ("current", "model-1", 8)
    assert take(home, ONE) == known


def test_another_model_fills_its_space_before_it_is_searched(home: MemoryHome) -> None:
    take(home, ONE)
    new = take(home, TWO)
    assert states(home) == {"model-1": "current", "model-2": "building"}
    home.clock.at += 1
    assert home.sql(lambda tx: switch(tx, new.space, home.clock.now())) is True
    assert states(home) == {"model-1": "retired", "model-2": "current"}
    assert home.sql(lambda tx: switch(tx, new.space, home.clock.now())) is False


def test_a_change_of_mind_sets_the_half_filled_space_aside(home: MemoryHome) -> None:
    take(home, ONE)
    take(home, TWO)
    take(home, THREE)
    assert states(home) == {"model-1": "current", "model-2": "retired", "model-3": "building"}
    take(home, ONE)
    assert states(home) == {"model-1": "current", "model-2": "retired", "model-3": "retired"}


def test_a_space_whose_model_is_gone_gives_way_at_once(home: MemoryHome) -> None:
    take(home, ONE)
    assert take(home, TWO, keeps_current=False).state == "current"
    assert states(home) == {"model-1": "retired", "model-2": "current"}


def test_going_back_takes_up_the_space_that_was_kept(home: MemoryHome) -> None:
    first = take(home, ONE)
    take(home, TWO, keeps_current=False)
    assert take(home, ONE, keeps_current=False).space == first.space
    assert states(home) == {"model-1": "current", "model-2": "retired"}


def test_only_the_last_retired_space_is_kept() -> None:
    spaces = [StoredSpace(Space(n, f"m{n}", 8), f"d{n}", "retired") for n in (1, 2, 3)]
    serving = StoredSpace(Space(4, "m4", 8), "d4", "current")
    assert [space.id for space in find_outdated([*spaces, serving])] == [1, 2]
    assert find_outdated([spaces[0], serving]) == []
    assert find_current([*spaces, serving]) == serving
    assert find_current(spaces) is None
