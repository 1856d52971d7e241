"""The embedding models that a process can use: the configured one, and the static one while that is not there.

Rule 1: a choice costs a few stats; a model is loaded by `open_model` and `open_static` alone.
"""

from collections.abc import Callable
from pathlib import Path

from msgspec import Struct

from gateway.embedding.embedder import Embedder, load
from gateway.embedding.model_files import Located, StaticFiles, find_static, locate
from gateway.embedding.spaces import STATIC_NAME
from protocol.memory.values import SpaceKind
from protocol.settings import EmbeddingSettings


class Choice(Struct, frozen=True):
    """The settings, and the files on this disk of the models that they allow."""

    settings: EmbeddingSettings
    located: Located
    static: StaticFiles | None

    @property
    def may_fetch(self) -> bool:
        """Return whether the configured model may be fetched."""
        chosen = self.settings
        return chosen.enabled and chosen.allow_download and chosen.model_path is None

    @property
    def has_model(self) -> bool:
        """Return whether the configured model is there."""
        return self.settings.enabled and self.located.files is not None

    @property
    def is_model_reachable(self) -> bool:
        """Return whether the configured model is there, or may be fetched."""
        return self.has_model or self.may_fetch

    @property
    def is_misplaced(self) -> bool:
        """Return whether a folder was named, and no model is in it."""
        return self.settings.enabled and self.settings.model_path is not None and not self.has_model

    async def open_model(self, on_progress: Callable[[int, int | None], None]) -> Embedder:
        """Load the configured model and return it; it is fetched first where it may be. Raises `EmbedderError`."""
        return await load(
            self.settings.model,
            self.located.files,
            threads=self.settings.threads,
            cache_dir=self.located.cache,
            allow_download=self.may_fetch,
            on_progress=on_progress,
        )

    async def open_static(self) -> Embedder:
        """Load the static model and return it. Raises `EmbedderError`."""
        return await load(STATIC_NAME, self.static, cache_dir=self.located.cache)

    async def open_present(self, kind: SpaceKind) -> Embedder | None:
        """Load the model of that kind and return it; None where it is not on this disk. Raises `EmbedderError`."""
        if kind == "static":
            return await self.open_static() if self.static is not None else None
        return await self.open_model(lambda _done, _total: None) if self.has_model else None


def choose(settings: EmbeddingSettings, cache: Path) -> Choice:
    """Return the models that the settings allow; `cache` holds fetched ones, unless the settings name another place."""
    is_static_wanted = settings.enabled and settings.embedded_default
    return Choice(settings, locate(settings, cache), find_static() if is_static_wanted else None)
