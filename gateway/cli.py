"""The command line: `pioneer COMMAND`.

Rule 1: nothing of another house is imported before the origin of the houses was checked.
Rule 2: of all commands only the one that is run is imported; what each needs to be listed stands in `gateway.commands`.
"""

import argparse
import sys
from collections.abc import Sequence

from gateway.commands import COMMANDS, Command, load

EXIT_USAGE = 64
EXIT_DEFECT = 70


class Parser(argparse.ArgumentParser):
    """An argument parser whose usage errors end with the code that programs expect."""

    def error(self, message: str) -> None:  # pyright: ignore[reportIncompatibleMethodOverride]
        """Say what is wrong and how it is used."""
        self.print_usage(sys.stderr)
        self.exit(EXIT_USAGE, f"{self.prog}: {message}\n")


def _without_command(known: Sequence[str], name: str) -> str:
    """What is wrong with a word that is no command, and which one may have been meant."""
    import difflib  # noqa: PLC0415  # needed only where something is wrong

    near = difflib.get_close_matches(name, known, n=1)
    return f"there is no command {name!r}" + (f"; did you mean {near[0]!r}?" if near else "; see `pioneer --help`")


def parser(wanted: str | None = None) -> argparse.ArgumentParser:
    """The commands; with the options of the one that is wanted, or of all."""
    from gateway import __version__  # noqa: PLC0415

    top = Parser(
        prog="pioneer",
        description="A local memory for assistants: serve it to a program, or use it yourself.",
        epilog="`pioneer COMMAND --help` shows a command's options and examples. Exit codes: docs/cli.md.",
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    top.add_argument("--version", action="version", version=f"pioneer {__version__}")
    commands = top.add_subparsers(dest="command", required=True, metavar="COMMAND", parser_class=Parser)
    for name, entry in COMMANDS.items():
        command: Command | None = load(name) if wanted in {None, name} else None
        sub = commands.add_parser(
            name, help=entry.summary, description=entry.summary[0].upper() + entry.summary[1:] + ".",
            epilog=f"examples:\n{command.examples}" if command and command.examples else None,
            formatter_class=argparse.RawDescriptionHelpFormatter, allow_abbrev=False,
        )  # fmt: skip
        if command is not None:
            command.arrange(sub)
    return top


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command; return its exit code."""
    from gateway.origin import refusal  # noqa: PLC0415

    refused = refusal()
    if refused is not None:
        sys.stderr.write(f"pioneer: {refused}\n")
        return EXIT_DEFECT
    given = list(sys.argv[1:] if arguments is None else arguments)
    name = given[0] if given else ""
    if name and not name.startswith("-") and name not in COMMANDS:
        sys.stderr.write(f"pioneer: {_without_command(list(COMMANDS), name)}\n")
        return EXIT_USAGE
    options = parser(name).parse_args(given)
    if not COMMANDS[options.command].is_guarded:
        return load(options.command).run(options)
    from gateway.commands.exits import guarded  # noqa: PLC0415

    return guarded(load(options.command).run, options)
