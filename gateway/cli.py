"""The command line: `pioneer COMMAND`.

Rule 1: nothing of another house is imported before the origin of the houses was checked.
Rule 2: of all commands only the one that is run is imported; the lines of the list stand in `gateway.doors.commands`.
"""

import sys
from collections.abc import Sequence

from gateway.base.exit_codes import DEFECT, OK, USAGE
from gateway.base.start_imports import importing
from gateway.doors.commands import COMMANDS, FIRST_STEPS, load
from gateway.doors.commands.parsing import parser, write_usage_error

INSTEAD = {"help": "--help", "version": "--version"}
"""Words that people try first, each with the option that it means."""
OWN_OPTIONS = frozenset({"-h", "--help", "-V", "--version"})
AFTER = "options stand after the command, as in `pioneer list --json`; see `pioneer --help`"


MEANT = {
    **dict.fromkeys(("add", "save", "store", "note"), "remember"),
    **dict.fromkeys(("delete", "remove", "rm"), "forget"),
    **dict.fromkeys(("find", "query"), "search"),
    **dict.fromkeys(("update", "change", "correct"), "edit"),
    **dict.fromkeys(("undo", "undelete"), "restore"),
    "ls": "list",
    "get": "show",
}
"""Names that other programs give to what a command does."""


def _describe_unknown(known: Sequence[str], name: str) -> str:
    """Return the complaint about a word that is no command, with the command that was probably meant."""
    import difflib  # noqa: PLC0415  # needed only where something is wrong

    near = [MEANT[name]] if name in MEANT else difflib.get_close_matches(name, known, n=1)
    return f"there is no command {name!r}" + (f"; did you mean {near[0]!r}?" if near else "; see `pioneer --help`")


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command; return its exit code."""
    from gateway.origin import refusal  # noqa: PLC0415

    refused = refusal()
    if refused is not None:
        sys.stderr.write(f"pioneer: {refused}\n")
        return DEFECT
    given = list(sys.argv[1:] if arguments is None else arguments)
    if not given:
        sys.stdout.write(FIRST_STEPS)
        return OK
    if given[0] in INSTEAD:
        given = [*given[1:], INSTEAD[given[0]]]
    name = given[0]
    if name not in COMMANDS and name not in OWN_OPTIONS:
        complaint = AFTER if name.startswith("-") else _describe_unknown([*COMMANDS, *INSTEAD], name)
        write_usage_error(complaint, given)
        sys.stderr.write(f"pioneer: {complaint}\n")
        return USAGE
    with importing():
        options = parser(name).parse_args(given)
        command = load(options.command)
    if not COMMANDS[options.command].is_guarded:
        return command.run(options)
    from gateway.doors.commands.ending import run_command  # noqa: PLC0415

    return run_command(command.run, options)
