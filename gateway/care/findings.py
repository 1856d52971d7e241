"""Findings of a home's checks, and the home that is checked."""

from collections.abc import Sequence
from pathlib import Path
from typing import Literal, NamedTuple, TypeAlias

from gateway.home.config import ConfigError, ConfigStore
from protocol.settings import GatewayConfig

Level: TypeAlias = Literal["ok", "note", "warning", "error"]
LEVELS: Sequence[Level] = ("ok", "note", "warning", "error")
Mend: TypeAlias = Literal[
    "pages",
    "schema",
    "rows",
    "losses",
    "permissions",
    "key",
    "memory",
    "conversation",
    "files",
    "jobs",
    "processes",
    "leftovers",
    "tokens",
    "run_files",
    "spool",
]


class Finding(NamedTuple):
    """A finding: its level, plain words, advice, and the repair that `--fix` makes."""

    check: str
    level: Level
    text: str
    advice: str = ""
    mend: Mend | None = None


class Subject(NamedTuple):
    """The home that is checked."""

    root: Path
    config_path: Path

    @property
    def database(self) -> Path:
        """Return the path of `gateway.db`."""
        return self.root / "gateway.db"

    @property
    def workplaces(self) -> tuple[Path, ...]:
        """Return the folders in which copies of the home are made."""
        return self.root.absolute().parent, self.root / "backups"

    def config(self) -> GatewayConfig:
        """Return the settings, or the defaults where the file cannot be used."""
        try:
            return ConfigStore(self.config_path).config
        except ConfigError:
            return GatewayConfig()
