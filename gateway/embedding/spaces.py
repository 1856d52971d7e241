"""The embedding spaces of a home: the current one, the one that will replace it, the one that is kept for a return.

Rule 1: `target_state` is pure; a space takes over only by `adopt` or `switch`, each in one transaction.
Rule 2: this module knows no model and no vector; the houses hold the vectors and report a space that lacks none.
"""

from collections.abc import Sequence
from typing import Literal, NamedTuple

from gateway.home.owners import SQL
from protocol.memory.values import SpaceKind
from protocol.seams.ports import Space, Tx

SpaceState = Literal["building", "current", "retired"]

STATIC_NAME = "static/wordllama-l2-supercat-256"
"""The name of the static model; no repository of models has an owner of that name."""

KEPT_RETIRED = 1
"""Going back to the model before is one switch; two models back is a new embedding."""


class SpaceIdentity(NamedTuple):
    """The identity by which vectors are comparable: the model's name, its dimension, and a digest of its files."""

    model: str
    dim: int
    digest: str


class StoredSpace(NamedTuple):
    """A space as stored."""

    space: Space
    digest: str
    state: SpaceState


def kind_of(model: str) -> SpaceKind:
    """Return the kind of the vectors that a model of this name makes."""
    return "static" if model == STATIC_NAME else "model"


def list_spaces(tx: Tx) -> list[StoredSpace]:
    """Return every space, latest change last."""
    return [
        StoredSpace(Space(row, model, dim, kind_of(model)), digest, state)
        for row, model, dim, digest, state in tx.all(SQL["list_spaces"])
    ]


def find_current(spaces: Sequence[StoredSpace]) -> StoredSpace | None:
    """Return the space that is searched; None without one."""
    return next((known for known in spaces if known.state == "current"), None)


def current_row(tx: Tx) -> int | None:
    """Return the row of the space that is searched, loaded or not; None without one."""
    found = find_current(list_spaces(tx))
    return found.space.id if found is not None else None


def target_state(spaces: Sequence[StoredSpace], digest: str, *, keeps_current: bool) -> SpaceState:
    """Return the new state of the space of a model that was just loaded.

    The space is filled before it is searched, unless no other space with a model can be searched meanwhile.
    """
    serving = find_current(spaces)
    is_alone = serving is None or serving.digest == digest or not keeps_current
    return "current" if is_alone else "building"


def adopt(tx: Tx, identity: SpaceIdentity, now: int, *, keeps_current: bool) -> StoredSpace:
    """Make the model's space current or building, retire the space that it displaces, and return the model's space."""
    spaces = list_spaces(tx)
    state = target_state(spaces, identity.digest, keeps_current=keeps_current)
    for other in spaces:
        if other.digest != identity.digest and other.state in {"building", state}:
            tx.run(SQL["move_space"], {"id": other.space.id, "state": "retired", "now": now})
    found = next((known for known in spaces if known.digest == identity.digest), None)
    if found is not None:
        if found.state != state:
            tx.run(SQL["move_space"], {"id": found.space.id, "state": state, "now": now})
        return found._replace(state=state)
    row = tx.insert(SQL["add_space"], {**identity._asdict(), "state": state, "now": now})
    return StoredSpace(Space(row, identity.model, identity.dim, kind_of(identity.model)), identity.digest, state)


def switch(tx: Tx, space: Space, now: int) -> bool:
    """Make the space that was being filled the current one; return False where it is not being filled any more."""
    spaces = list_spaces(tx)
    if not any(known.space.id == space.id and known.state == "building" for known in spaces):
        return False
    serving = find_current(spaces)
    if serving is not None:
        tx.run(SQL["move_space"], {"id": serving.space.id, "state": "retired", "now": now})
    tx.run(SQL["move_space"], {"id": space.id, "state": "current", "now": now})
    return True


def find_outdated(spaces: Sequence[StoredSpace]) -> list[Space]:
    """Return the retired spaces beyond those that are kept for a return."""
    retired = [known.space for known in spaces if known.state == "retired"]
    return retired[: len(retired) - KEPT_RETIRED] if len(retired) > KEPT_RETIRED else []
