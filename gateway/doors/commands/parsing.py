"""The parser of the command line: every command, with the options of the one that is run.

Rule 1: this module is imported before the process has checked where it imports the houses from, so it imports none.
"""

import argparse
import json
import sys
from collections.abc import Sequence
from typing import Any

from gateway.base.exit_codes import USAGE
from gateway.doors.commands import COMMANDS, Command, load


def write_usage_error(message: str, arguments: Sequence[str]) -> None:
    """Write a usage error to stdout as JSON, where the arguments ask for JSON."""
    if "--json" in arguments:
        sys.stdout.write(json.dumps({"error": {"message": message}}) + "\n")


class Parser(argparse.ArgumentParser):
    """An argument parser whose usage errors exit with `USAGE`, and are JSON where that is asked for."""

    _given: Sequence[str] = ()

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> tuple[Any, list[str]]:  # pyright: ignore[reportIncompatibleMethodOverride]
        """Parse as the base class does; keep the arguments for an error."""
        self._given = args or ()
        return super().parse_known_args(args, namespace)

    def error(self, message: str) -> None:  # pyright: ignore[reportIncompatibleMethodOverride]
        """Write the error and the usage, and exit."""
        write_usage_error(message, self._given)
        self.print_usage(sys.stderr)
        self.exit(USAGE, f"{self.prog}: {message}\n")

    def _print_message(self, message: str, file: Any = None) -> None:
        """Write a message with a replacement for each letter that the console lacks."""
        encoding = getattr(file or sys.stderr, "encoding", None) or "utf-8"
        super()._print_message(message.encode(encoding, "replace").decode(encoding), file)


class CommandParser(Parser):
    """The parser of one command: an unknown argument is reported with the command's own usage."""

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> tuple[Any, list[str]]:
        """Parse as the base class does; exit with a usage error for an unknown argument."""
        known, unknown = super().parse_known_args(args, namespace)
        if unknown:
            self.error(f"unrecognized arguments: {' '.join(unknown)}")
        return known, unknown


def parser(wanted: str | None = None) -> argparse.ArgumentParser:
    """Return the parser of all commands with their options; with the name of one command, of that one alone.

    With another word it has all commands without their options: enough for the error or the help.
    """
    from gateway import __version__  # noqa: PLC0415

    top = Parser(
        prog="pioneer",
        description="A local memory for assistants: serve it to a program, or use it yourself.",
        epilog="`pioneer help COMMAND` shows a command's options and examples. Exit codes: docs/cli.md.",
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    top.add_argument("-V", "--version", action="version", version=f"pioneer {__version__}")
    commands = top.add_subparsers(dest="command", required=True, metavar="COMMAND", parser_class=CommandParser)
    for name, row in COMMANDS.items():
        if wanted in COMMANDS and name != wanted:
            continue  # it is not shown, and each costs a fifth of a millisecond
        command: Command | None = load(name) if wanted in {None, name} else None
        sub = commands.add_parser(
            name,
            help=row.summary,
            description=row.summary[0].upper() + row.summary[1:] + ".",
            epilog=f"examples:\n{command.examples}" if command and command.examples else None,
            formatter_class=argparse.RawDescriptionHelpFormatter,
            allow_abbrev=False,
        )
        if command is not None:
            command.arrange(sub)
    return top
