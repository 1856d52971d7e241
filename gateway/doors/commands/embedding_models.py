"""`pioneer models`: the embedding models, the vectors of the home, and advice for a better search by meaning.

Rule 1: without `fetch` or `index` nothing is loaded, fetched or made.
"""

import argparse
import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec

from gateway.base.exit_codes import CONFIG, NEGATIVE, OK, UNAVAILABLE
from gateway.doors.commands import Command
from gateway.doors.commands.door import HomeMethods, has_home, home_of, read_configuration, require_home, through_door
from gateway.doors.commands.options import add_home, add_json
from gateway.doors.terminal.exits import Stop
from gateway.doors.terminal.screen import hint, plain, progress, show_json, show_pairs, size
from gateway.embedding.choice import Choice, choose
from gateway.embedding.coverage import count_texts
from gateway.embedding.spaces import STATIC_NAME, find_current, list_spaces
from gateway.store.copy import open_snapshot
from protocol.memory.values import SpaceKind
from protocol.seams.ports import PauseQueue, Tx

FAILURES = {
    "download_failed": "it cannot be fetched: is there a network, and a model of that name?",
    "model_broken": "it was fetched, and cannot be used: it is damaged, or no model for texts",
    "model_missing": "there is no such model",
}
GAIN = (
    "A model that reads sentences finds the needed fact among the first five for about 56 of 100 messages, "
    "the static one for 35, words alone for 20."
)
"""Figures of all-MiniLM-L6-v2, the static model and words on the group english_2 of `python -m benchmarks recall`."""


class VectorCoverage(msgspec.Struct, kw_only=True):
    """The space that the home searches, and the numbers of texts that can have a vector, all and those with one in it.

    `pieces` are those of conversations, `file_pieces` those of files whose collection is searched by meaning.
    """

    model: str | None = None
    kind: SpaceKind | None = None
    dim: int | None = None
    facts: int = 0
    facts_with_vector: int = 0
    pieces: int = 0
    pieces_with_vector: int = 0
    file_pieces: int = 0
    file_pieces_with_vector: int = 0

    @property
    def lacking(self) -> int:
        """Return the number of texts without a vector in the space."""
        present = self.facts_with_vector + self.pieces_with_vector + self.file_pieces_with_vector
        return self.facts + self.pieces + self.file_pieces - present


def _arrange(to: argparse.ArgumentParser) -> None:
    to.add_argument(
        "what",
        nargs="?",
        choices=("fetch", "index"),
        help="fetch: bring the model here now (network); index: make the missing vectors of all that is searched",
    )
    add_home(to)
    add_json(to)


def _choose_models(given: argparse.Namespace) -> Choice:
    """Return the models that the configuration and the disk offer, without loading any. Raises `Stop`."""
    return choose(read_configuration(given).config.embedding, home_of(given) / "models")


def _count_bytes(folder: Path) -> int:
    """Return the bytes of all files below a folder; a file that several links lead to counts once."""
    found = {path.resolve() for path in folder.rglob("*") if path.is_file()}
    return sum(path.stat().st_size for path in found)


def _count_vectors(tx: Tx) -> VectorCoverage:
    """Count the texts with a vector in the current space."""
    known = find_current(list_spaces(tx))
    members: dict[str, Any] = {}
    for name, count in count_texts(tx, known.space.id if known is not None else 0).items():
        members |= {name: count.possible, f"{name}_with_vector": count.possible - count.lacking}
    if known is not None:
        members |= {"model": known.space.model, "kind": known.space.kind, "dim": known.space.dim}
    return VectorCoverage(**members)


def _describe(given: argparse.Namespace, choice: Choice) -> dict[str, Any]:
    """Return the state of models and vectors, as `--json` shows it."""
    settings, located, static = choice.settings, choice.located, choice.static
    folder = located.files.folder if located.files is not None else None
    vectors = VectorCoverage()
    if has_home(given):
        with open_snapshot(home_of(given) / "gateway.db") as tx:
            vectors = _count_vectors(tx)
    return {
        "enabled": settings.enabled,
        "model": settings.model,
        "is_there": folder is not None,
        "problem": located.reason,
        "folder": str(folder) if folder is not None else None,
        "bytes": _count_bytes(folder) if folder is not None else 0,
        "cache": str(located.cache),
        "may_be_fetched_by_a_gateway": settings.allow_download and settings.model_path is None,
        "static": {
            "model": STATIC_NAME,
            "is_there": static is not None,
            "bytes": static.nbytes if static is not None else 0,
        },
        "vectors": vectors,
        "advice": _advise(choice, vectors),
    }


def _advise(choice: Choice, vectors: VectorCoverage) -> list[str]:
    """Return the steps towards a better search by meaning, the first one first; none where all is done."""
    if not choice.settings.enabled:
        return ["switch search by meaning on: `pioneer settings set gateway.embedding.enabled true`"]
    if not choice.has_model:
        if choice.is_misplaced:
            return ["correct gateway.embedding.model_path: no usable model is in that folder"]
        if choice.settings.model_path is None:
            return [
                "`pioneer models fetch` fetches the model (network), or name a folder: gateway.embedding.model_path",
                "then `pioneer models index` makes its vectors, and the searches use it",
            ]
    if choice.has_model and vectors.kind == "static":
        return ["`pioneer models index` makes the model's vectors; a running gateway does so by itself"]
    return (
        ["`pioneer models index` makes the missing vectors; a running gateway does so by itself"]
        if vectors.lacking
        else []
    )


def _models(given: argparse.Namespace) -> int:
    choice = _choose_models(given)
    if given.what == "fetch" and not choice.located.files:
        if choice.settings.model_path is not None:
            raise Stop(CONFIG, "gateway.embedding.model_path names a folder: put the model there, or unset it")
        _fetch(choice)
        choice = _choose_models(given)
    if given.what == "index":
        _index(given, choice)
    described = _describe(given, choice)
    if given.json:
        show_json(described)
    else:
        _show(described, choice)
    return OK if choice.has_model or choice.static is not None else NEGATIVE


def _format_coverage(present: int, possible: int, noun: str) -> str:
    """Return how many texts have a vector in words; empty where there are none."""
    return f"{present} of {possible} {noun}have a vector" if possible else ""


def _show(described: dict[str, Any], choice: Choice) -> None:
    vectors: VectorCoverage = described["vectors"]
    state = "there" if described["is_there"] else "damaged" if described["problem"] == "model_broken" else "not there"
    static = (
        "the one that comes along; used while the model is not there" if described["static"]["is_there"] else "none"
    )
    used = f"{vectors.model} ({vectors.dim} numbers)" if vectors.model else "nothing has a vector yet"
    show_pairs(
        [
            ("model", described["model"]),
            ("state", state if described["enabled"] else f"{state}, and switched off (gateway.embedding.enabled)"),
            ("folder", described["folder"] or ""),
            ("size", size(described["bytes"]) if described["is_there"] else ""),
            ("cache", described["cache"]),
            ("static model", static if described["enabled"] else ""),
            ("searched", used),
            ("facts", _format_coverage(vectors.facts_with_vector, vectors.facts, "")),
            ("conversation", _format_coverage(vectors.pieces_with_vector, vectors.pieces, "pieces ")),
            ("files", _format_coverage(vectors.file_pieces_with_vector, vectors.file_pieces, "pieces ")),
        ]
    )
    if choice.settings.enabled and choice.static is not None and vectors.kind != "model":
        hint(GAIN)
    for line in described["advice"]:
        hint(line)


# -- fetch -------------------------------------------------------------------------------------------------------------


def _fetch(choice: Choice) -> None:
    from gateway.embedding.embedder import EmbedderError  # noqa: PLC0415

    try:
        with progress(f"fetching {plain(choice.settings.model)}") as report:
            asyncio.run(_load(choice, report))
    except EmbedderError as error:
        raise Stop(UNAVAILABLE, FAILURES.get(error.reason, error.reason.replace("_", " "))) from None


async def _load(choice: Choice, report: Callable[[int, int | None], None]) -> None:
    """Fetch the model and load it once, so that one that cannot be used is noticed. Raises `EmbedderError`."""
    from gateway.embedding.embedder import load  # noqa: PLC0415

    settings = choice.settings
    embedder = await load(
        settings.model,
        None,
        threads=settings.threads,
        cache_dir=choice.located.cache,
        allow_download=True,
        on_progress=report,
    )
    embedder.close()
    await embedder.wait_closed()


# -- index -------------------------------------------------------------------------------------------------------------


def _index(given: argparse.Namespace, choice: Choice) -> None:
    require_home(given)
    if not choice.has_model and choice.static is None:
        raise Stop(UNAVAILABLE, "there is no embedding model: see `pioneer models`")
    with progress("making vectors") as report:
        through_door(given, lambda door: _fill(door, report), "fill")


async def _fill(door: HomeMethods, report: Callable[[int, int | None], None]) -> None:
    """Make the missing vectors of facts, conversations and files in the spaces of all present models.

    A better model's space is the current one afterwards. Raises `Stop`.
    """
    spaces = await door.embedding.load_all()
    if not spaces:
        raise Stop(UNAVAILABLE, "no embedding model could be loaded: see `pioneer status`")
    app, done = door.app, 0

    def lacking(tx: Tx) -> int:
        return sum(count.lacking for space in spaces for count in count_texts(tx, space.id).values())

    total = await app.base.database.read(lacking)
    report(0, total)

    def on_made(count: int) -> None:
        nonlocal done
        done += count
        report(done, max(done, total))

    door.embedding.made.connect(on_made)
    try:
        for fill in (app.memory.vectors.fill, app.episodic.vectors.fill, app.knowledge.fill_vectors):
            await fill()
    except PauseQueue as paused:
        raise Stop(UNAVAILABLE, f"the model makes no vectors: {paused.reason.replace('_', ' ')}") from None


COMMANDS = {"models": Command(_arrange, _models, "  pioneer models\n  pioneer models fetch\n  pioneer models index")}
