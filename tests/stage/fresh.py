"""Databases at the newest schema."""

import atexit
import shutil
import tempfile
from pathlib import Path

from gateway.store.migrations import migrate

_template: list[Path] = []


def fresh_database(folder: Path) -> Path:
    """Return a file at the newest schema: one is migrated for all tests of a process, then copied."""
    if not _template:
        made = Path(tempfile.mkdtemp(prefix="pioneer-template-"))
        atexit.register(shutil.rmtree, made, ignore_errors=True)
        migrate(made / "gateway.db", made, made / "backups")
        _template.append(made / "gateway.db")
    return Path(shutil.copy(_template[0], folder / "gateway.db"))
