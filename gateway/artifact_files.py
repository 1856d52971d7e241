"""Bytes of artifacts: one file for each content, named by its SHA-256."""

from pathlib import Path

from gateway.durable_file import publish


class ArtifactFiles:
    """Satisfies `agent.artifacts.KeepBytes` below a folder of the home."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def path(self, sha256: str) -> Path:
        """Where the content of that digest is kept."""
        return self._folder / sha256[:2] / sha256

    def read(self, sha256: str) -> bytes | None:
        """The bytes of that digest, or None where they are not kept."""
        path = self.path(sha256)
        return path.read_bytes() if path.exists() else None

    def __call__(self, sha256: str, data: bytes) -> None:
        """Keep the bytes; what is there already is the same by its name."""
        path = self.path(sha256)
        if not path.exists():
            publish(path, data)
