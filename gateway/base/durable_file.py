"""Publishing a file so that a crash leaves the old one or the new one, whole."""

import os
import tempfile
from pathlib import Path


def sync_folder(folder: Path) -> None:
    """Make a rename in the folder durable, where the platform lets a folder be opened."""
    if os.name == "nt":
        return
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _write_beside(path: Path, data: bytes) -> Path:
    """Write a durable temporary file in the folder of `path` and return its path; none is left when that fails."""
    descriptor, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise
    return Path(name)


def publish(path: Path, data: bytes) -> None:
    """Write `data` under `path`: a temporary file in the same folder, fsync, rename, fsync of the folder."""
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    written = _write_beside(path, data)
    try:
        written.replace(path)
    except BaseException:
        written.unlink(missing_ok=True)
        raise
    sync_folder(path.parent)


def publish_once(path: Path, data: bytes) -> bytes:
    """Write `data` as `publish` does, unless another process was first; return the bytes that the file holds."""
    if not path.exists():
        written = _write_beside(path, data)
        try:
            os.link(written, path)
        except FileExistsError:
            pass  # another process was first; its file counts
        except OSError:  # no hard links here: an exclusive creation is the next best
            _create_exclusively(path, data)
        finally:
            written.unlink(missing_ok=True)
        sync_folder(path.parent)
    return path.read_bytes()


def _create_exclusively(path: Path, data: bytes) -> None:
    try:
        with path.open("xb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
    except FileExistsError:
        pass  # another process was first; its file counts
