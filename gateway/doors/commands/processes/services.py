"""`pioneer token` and `pioneer service`: the token of a door that listens on a port, and the unit that keeps it open.

Rule 1: nothing is installed: a unit is written to stdout, and the user puts it where it belongs.
"""

import argparse
import plistlib
import shutil
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from string import Template
from xml.sax.saxutils import escape

from gateway.base.exit_codes import CANNOT_WRITE, OK
from gateway.doors.commands import Command
from gateway.doors.commands.door import home_of
from gateway.doors.commands.options import add_home
from gateway.doors.terminal.exits import Stop
from gateway.home.folder import Home
from gateway.home.tokens import FILES, read_token, rotate, token_path

DOORS = ("http", "proxy")
"""Doors that the system can keep open."""


def _arrange_token(to: argparse.ArgumentParser) -> None:
    to.add_argument("action", choices=("show", "rotate"), help="show it, or put a new one in its place")
    to.add_argument("door", choices=tuple(FILES), help="the door that asks for it")
    add_home(to, has_config=False)


def _token(given: argparse.Namespace) -> int:
    home = Home(home_of(given))
    file = token_path(home.root, given.door)
    try:
        if given.action == "show":
            sys.stdout.write(read_token(file) + "\n")
        else:
            rotate(file)
            sys.stdout.write("rotated\n")
    except OSError as error:
        raise Stop(CANNOT_WRITE, f"the token cannot be read or made ({error.strerror})") from None
    return OK


def _quote_for_systemd(text: str) -> str:
    """Return a text quoted for a systemd unit, with its `%` escaped; in `ExecStart` a `$` has to be doubled, too."""
    escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("%", "%%")
    return f'"{escaped}"'


def systemd_unit(door: str, command: Sequence[str], home: Path) -> str:
    """Return a unit for the user's instance of systemd, which may write to the home alone."""
    words = " ".join(_quote_for_systemd(word).replace("$", "$$") for word in command)
    return f"""\
[Unit]
Description=Pioneer gateway: {door}

[Service]
Type=exec
ExecStart={words}
Restart=on-failure
NoNewPrivileges=yes
ProtectSystem=strict
ReadWritePaths={_quote_for_systemd(str(home))}

[Install]
WantedBy=default.target
"""


def launchd_agent(door: str, command: Sequence[str], _home: Path) -> str:
    """Return the property list of an agent for launchd."""
    agent = {
        "Label": f"pioneer-gateway.{door}",
        "ProgramArguments": list(command),
        "RunAtLoad": True,
        "KeepAlive": {"SuccessfulExit": False},
    }
    return plistlib.dumps(agent).decode()


def windows_task(door: str, command: Sequence[str], _home: Path) -> str:
    """Return the XML of a task for Windows' Task Scheduler, which starts when the user signs in."""
    program, *arguments = command
    quoted = " ".join(f'"{word}"' for word in arguments)
    task = Template(Path(__file__).with_name("windows_task.xml").read_text(encoding="utf-8"))
    return task.substitute(door=escape(door), program=escape(program), arguments=escape(quoted))


UNITS: Mapping[str, Callable[[str, Sequence[str], Path], str]] = {
    "systemd": systemd_unit,
    "launchd": launchd_agent,
    "windows": windows_task,
}
"""The function that writes the unit of each service manager."""


def _arrange_service(to: argparse.ArgumentParser) -> None:
    to.add_argument("action", choices=("show",), help="write it to the standard output")
    to.add_argument("system", choices=tuple(UNITS), help="what keeps services on this system")
    to.add_argument("door", choices=DOORS, help="the door")
    add_home(to)


def _service(given: argparse.Namespace) -> int:
    from gateway.wire.client import console_script  # noqa: PLC0415

    program = console_script()[0]
    home = home_of(given).absolute()
    command = [shutil.which(program) or program, given.door, "--home", str(home)]
    if given.config is not None:
        command += ["--config", str(given.config.absolute())]
    sys.stdout.write(UNITS[given.system](given.door, command, home))
    return OK


COMMANDS = {
    "token": Command(_arrange_token, _token, "  pioneer token show http\n  pioneer token rotate http"),
    "service": Command(
        _arrange_service,
        _service,
        "  pioneer service show systemd http > ~/.config/systemd/user/pioneer-http.service",
    ),
}
