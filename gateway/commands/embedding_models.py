"""`pioneer models`: which embedding model is chosen, whether it is there, and fetching it when the user asks."""

import argparse
import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any

from gateway.commands import Command
from gateway.commands.door import configured, home_of
from gateway.commands.exits import CONFIG, NEGATIVE, OK, UNAVAILABLE, Stop
from gateway.commands.options import add_home, add_json
from gateway.commands.terminal import plain, progress, say, show_json, show_pairs, size
from gateway.model_files import Located, locate
from protocol.settings import EmbeddingSettings

FAILURES = {
    "download_failed": "it cannot be fetched: is there a network, and a model of that name?",
    "model_broken": "it was fetched, and cannot be used: it is damaged, or no model for texts",
    "model_missing": "there is no such model",
}


def _arrange(to: argparse.ArgumentParser) -> None:
    to.add_argument("what", nargs="?", choices=("fetch",), help="fetch the model now (network)")
    add_home(to)
    add_json(to)


def chosen(given: argparse.Namespace) -> tuple[EmbeddingSettings, Located]:
    """The model that the configuration names, and what is there of it; nothing is made or loaded. Raises `Stop`."""
    settings = configured(given).config.embedding
    return settings, locate(settings, home_of(given) / "models")


def bytes_below(folder: Path) -> int:
    """The bytes of all files below a folder; a file that several links lead to counts once."""
    found = {path.resolve() for path in folder.rglob("*") if path.is_file()}
    return sum(path.stat().st_size for path in found)


def _told(settings: EmbeddingSettings, located: Located) -> dict[str, Any]:
    folder = located.files.folder if located.files is not None else None
    return {
        "enabled": settings.enabled, "model": settings.model, "is_there": folder is not None, "problem": located.reason,
        "folder": str(folder) if folder is not None else None, "bytes": bytes_below(folder) if folder is not None else 0,
        "cache": str(located.cache), "may_be_fetched_by_a_gateway": settings.allow_download and settings.model_path is None,
    }  # fmt: skip


def _models(given: argparse.Namespace) -> int:
    settings, located = chosen(given)
    if given.what == "fetch" and located.files is None:
        if settings.model_path is not None:
            raise Stop(CONFIG, "embedding.model_path names a folder: put the model there, or unset it")
        _fetch(settings, located)
        settings, located = chosen(given)
    told = _told(settings, located)
    if given.json:
        show_json(told)
    else:
        _show(told)
    return OK if told["is_there"] else NEGATIVE


def _show(told: dict[str, Any]) -> None:
    state = "there" if told["is_there"] else "damaged" if told["problem"] == "model_broken" else "not there"
    show_pairs([
        ("model", told["model"]), ("state", state if told["enabled"] else f"{state}, and switched off (embedding.enabled)"),
        ("folder", told["folder"] or ""), ("size", size(told["bytes"]) if told["is_there"] else ""), ("cache", told["cache"]),
    ])  # fmt: skip
    if not told["is_there"]:
        say(
            "search goes by words; `pioneer models fetch` fetches the model (network), or name a folder: embedding.model_path"
        )


def _fetch(settings: EmbeddingSettings, located: Located) -> None:
    from gateway.embedder import EmbedderError  # noqa: PLC0415

    try:
        with progress(f"fetching {plain(settings.model)}") as tell:
            asyncio.run(_load(settings, located, tell))
    except EmbedderError as error:
        raise Stop(UNAVAILABLE, FAILURES.get(error.reason, error.reason.replace("_", " "))) from None


async def _load(settings: EmbeddingSettings, located: Located, tell: Callable[[int, int | None], None]) -> None:
    """Fetch the model and load it once, so that what does not work is known now."""
    from gateway.embedder import load  # noqa: PLC0415

    embedder = await load(
        settings.model, None, threads=settings.threads, cache_dir=located.cache, allow_download=True, on_progress=tell
    )
    embedder.close()
    await embedder.wait_closed()


COMMANDS = {"models": Command(_arrange, _models, "  pioneer models\n  pioneer models fetch")}
