"""The files of a home beside its database, searched for forgotten words.

Rule 1: nothing is changed: the configuration and the agents are the user's own, a file that a message carried is
theirs, and a log holds no words.
"""

from collections.abc import Iterator, Sequence
from pathlib import Path

import anyio

from agent.forget.places import KeptFiles
from gateway.home.folder import Home
from gateway.home.spool import FOLDER, QUARANTINE
from protocol.memory.forgetting import LeftPlace
from protocol.saying import Saying


class HomeFiles:
    """A search of the home's files for forgotten words."""

    def __init__(self, home: Home, kept: KeptFiles) -> None:
        self._home = home
        self._kept = kept

    async def list_saying(self, saying: Saying) -> Sequence[LeftPlace]:
        """Return the files that hold the saying's words, artifacts first."""
        given = [
            LeftPlace(place="artifact", id=artifact_id, reason="file_content")
            for artifact_id in await self._kept.say(saying)
        ]
        return [*given, *await anyio.to_thread.run_sync(lambda: list(self._own(saying)))]

    def _own(self, saying: Saying) -> Iterator[LeftPlace]:
        config = self._home.root / "config.toml"
        if _says(config, saying):
            yield LeftPlace(place="config", id=config.name, reason="own_file")
        for path in sorted((self._home.root / "agents").glob("*/*")):
            if path.is_file() and not path.is_symlink() and _says(path, saying):
                yield LeftPlace(place="agent", id=f"{path.parent.name}/{path.name}", reason="own_file")
        for path in sorted(self._home.logs.iterdir()):
            if _says(path, saying):
                yield LeftPlace(place="log", id=path.name, reason="log_line")
        for path in sorted((self._home.root / FOLDER).glob("*.jsonl")):
            if _says(path, saying):
                is_aside = path.name == QUARANTINE
                yield LeftPlace(place="log", id=path.name, reason="log_line" if is_aside else "still_written")


def _says(path: Path, saying: Saying) -> bool:
    try:
        with path.open(encoding="utf-8", errors="replace") as file:
            return any(saying.find_phrases(line) for line in file)
    except OSError:
        return False
