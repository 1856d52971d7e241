"""Databases at the newest schema."""

import shutil
from pathlib import Path

from gateway.store.migrations import migrate

_template: list[Path] = []


def fresh_database(folder: Path) -> Path:
    """Return a file at the newest schema: one is migrated for all tests of a process, then copied."""
    if not _template or not _template[0].exists():
        made = folder / "template"
        made.mkdir()
        migrate(made / "gateway.db", made, made / "backups")
        _template[:] = [made / "gateway.db"]
    return Path(shutil.copy(_template[0], folder / "gateway.db"))
