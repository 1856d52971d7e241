"""`pioneer backup` and `pioneer restore-backup`."""

import argparse
from pathlib import Path

from gateway.base.exit_codes import DATA, OK, USAGE
from gateway.care.backup import BadBackupError, Manifest, restore_backup, write_backup
from gateway.doors.commands import Command
from gateway.doors.commands.door import home_of, require_home, through_door
from gateway.doors.commands.options import add_home, add_json, path
from gateway.doors.terminal.exits import Stop, reading, require_folder_of, writing
from gateway.doors.terminal.screen import hint, plain, progress, say, show_json, size
from gateway.home.spool import find_spools
from gateway.home.starting import UnusableError


def _arrange_backup(to: argparse.ArgumentParser) -> None:
    to.add_argument("file", type=path, metavar="FILE", help="where to")
    to.add_argument("--force", action="store_true", help="replace a file that is there")
    to.set_defaults(config=None)
    add_home(to, has_config=False)
    add_json(to)


def _backup(given: argparse.Namespace) -> int:
    require_home(given)
    home, file = home_of(given), given.file.absolute()
    if file.exists() and not given.force:
        raise Stop(USAGE, "the file is there already; --force replaces it")
    require_folder_of(file)
    if find_spools(home):
        _keep_spooled(given)
    with progress("backing up") as report, writing(given.file):
        manifest = write_backup(home, file, report)
    _show(given, manifest, f"written: {size(file.stat().st_size)}")
    return OK


def _keep_spooled(given: argparse.Namespace) -> None:
    """Store the answers that chat proxies hold, which no table of the home has yet; warn where that fails."""
    try:
        through_door(given, lambda door: door.app.left.deliver(takes_living=True))
    except UnusableError as error:
        hint(f"answers that chat proxies hold are not in it: {plain(error.line)}", "yellow")


def _show(given: argparse.Namespace, manifest: Manifest, line: str, aside: Path | None = None) -> None:
    """Show what a backup holds; `aside` is the former home that a restore moved away."""
    files = len(manifest.members)
    if given.json:
        show_json(
            {
                "created_at": manifest.created_at,
                "schema_version": manifest.schema_version,
                "files": files,
                "bytes": manifest.size,
                "missing": manifest.missing,
                "moved_aside": str(aside) if aside is not None else None,
                "has_key": manifest.has_key,
            }
        )
        return
    say(f"{line}, of {files} files with {size(manifest.size)}", "green")
    if manifest.missing:
        say(f"{len(manifest.missing)} files of messages were not there to be kept", "yellow")
    if not manifest.has_key:
        say(
            "the home's key is not in it: what was forgotten is not known again, "
            "and nothing is learnt (`pioneer doctor`)",
            "yellow",
        )
    if aside is not None:
        say(f"the home before it: {plain(str(aside))}")


def _arrange_restore(to: argparse.ArgumentParser) -> None:
    to.add_argument("file", type=path, metavar="FILE", help="what `pioneer backup` wrote")
    to.add_argument("--force", action="store_true", help="move a home that is there aside")
    add_home(to, has_config=False)
    add_json(to)


def _restore(given: argparse.Namespace) -> int:
    with reading(given.file), given.file.open("rb"):
        pass  # a file that cannot be read is refused before the home is touched
    try:
        with progress("restoring") as report:
            manifest, aside = restore_backup(given.file, home_of(given).absolute(), report, is_forced=given.force)
    except BadBackupError as error:
        raise Stop(DATA, str(error)) from None
    _show(given, manifest, "restored and checked", aside)
    return OK


COMMANDS = {
    "backup": Command(_arrange_backup, _backup, "  pioneer backup pioneer.backup"),
    "restore-backup": Command(_arrange_restore, _restore, "  pioneer restore-backup pioneer.backup --home ./elsewhere"),
}
