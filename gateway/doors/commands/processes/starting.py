"""The commands serve, http, inspect, mcp, demo, replay and schemas, and the completion of shells."""

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from gateway.base.exit_codes import NEGATIVE, OK
from gateway.base.start_imports import importing
from gateway.doors.commands import Command
from gateway.doors.commands.options import add_home, path, read_workspace_variable

if TYPE_CHECKING:
    from gateway.doors.http.page_routes import Pages
    from gateway.doors.http.rpc import Methods
    from gateway.home.starting import Options
    from protocol.seams.ports import Clock

MAX_PORT = 65_535
LOG_LEVELS = ("debug", "info", "warning", "error")


def _greet(name: str, client: str) -> None:
    """Write on stderr what the process waits for, where a person started it at a terminal."""
    # stdin is None where the shell has closed it
    if sys.stdin is not None and sys.stdin.isatty():
        sys.stderr.write(
            f"pioneer {name} waits here for messages of {client}, which starts it itself. Ctrl-D ends it.\n"
        )


def arrange_process(to: argparse.ArgumentParser, log_level: str) -> None:
    """Add the options of a process that opens a home."""
    add_home(to)
    to.add_argument(
        "--clock-file",
        type=path,
        metavar="FILE",
        help="a file with Unix milliseconds that stands in for the wall clock",
    )
    to.add_argument("--log-level", choices=LOG_LEVELS, default=log_level, help=f"default: {log_level}")


def options_of(given: argparse.Namespace) -> "Options":
    """Return the options of `arrange_process`, with the default home."""
    from gateway.home.folder import default_root  # noqa: PLC0415
    from gateway.home.starting import Options  # noqa: PLC0415

    return Options(
        home=given.home or default_root(),
        config=given.config,
        clock_file=given.clock_file,
        log_level=given.log_level,
    )


def port_of(text: str) -> int:
    """Return a port. Raises `ArgumentTypeError`."""
    if not (text.isascii() and text.isdigit() and int(text) <= MAX_PORT):
        raise argparse.ArgumentTypeError(f"a port is a number from 0 to {MAX_PORT}")
    return int(text)


def _arrange_serve(to: argparse.ArgumentParser) -> None:
    arrange_process(to, "info")
    to.add_argument("--http", action="store_true", help="answer HTTP as well, as `pioneer http` does")
    to.add_argument(
        "--port", type=port_of, metavar="N", help="the port of --http (default: gateway.http.port; 0: a free one)"
    )


def _serve(given: argparse.Namespace) -> int:
    with importing():
        from gateway.process import main  # noqa: PLC0415

    _greet("serve", "a program")
    if not given.http:
        return main(options_of(given))
    from gateway.doors.http.listening import HttpOptions  # noqa: PLC0415
    from gateway.doors.http.process import open_door  # noqa: PLC0415

    return main(options_of(given), lambda app: open_door(app, HttpOptions(port=given.port), sys.stderr, _make_pages))


def _make_pages(methods: "Methods", clock: "Clock") -> "Pages":
    """Return the inspect page; Jinja2 is imported with it."""
    from gateway.doors.inspect.door import InspectPages  # noqa: PLC0415

    return InspectPages(methods, clock)


def _arrange_http(to: argparse.ArgumentParser) -> None:
    arrange_process(to, "warning")
    to.add_argument("--port", type=port_of, metavar="N", help="default: gateway.http.port; 0: a free one")
    to.add_argument("--bind", metavar="ADDRESS", help="default: gateway.http.bind")


def _http(given: argparse.Namespace) -> int:
    with importing():
        from gateway.doors.http.listening import HttpOptions  # noqa: PLC0415
        from gateway.doors.http.process import main  # noqa: PLC0415

    return main(options_of(given), HttpOptions(port=given.port, bind=given.bind), _make_pages)


def _arrange_inspect(to: argparse.ArgumentParser) -> None:
    arrange_process(to, "warning")
    to.add_argument("--no-open", action="store_true", help="only print the address; open no browser")


def _inspect(given: argparse.Namespace) -> int:
    with importing():
        from gateway.doors.inspect.opening import main  # noqa: PLC0415

    return main(options_of(given), _make_pages, opens=not given.no_open)


def _arrange_mcp(to: argparse.ArgumentParser) -> None:
    add_home(to)
    to.add_argument(
        "--workspace",
        default=read_workspace_variable(),
        metavar="ID",
        help="made if missing (default: $PIONEER_WORKSPACE, else by the folder's git repository)",
    )
    to.add_argument("--folder", type=path, metavar="DIR", help="the project's folder (default: where it was started)")
    to.add_argument("--admin", action="store_true", help="offer the tools of upkeep as well")
    to.add_argument("--log-level", choices=LOG_LEVELS, default="warning", help="default: warning")


def _mcp(given: argparse.Namespace) -> int:
    with importing():
        from gateway.doors.mcp.process import McpOptions, main  # noqa: PLC0415
    from gateway.home.folder import default_root  # noqa: PLC0415
    from gateway.home.starting import Options  # noqa: PLC0415

    _greet("mcp", "an assistant")
    return main(
        Options(home=given.home or default_root(), config=given.config, log_level=given.log_level),
        McpOptions(workspace_id=given.workspace, folder=given.folder, is_admin=given.admin),
    )


def _arrange_demo(to: argparse.ArgumentParser) -> None:
    to.add_argument("--svg", type=path, metavar="FILE", help="also write a picture of its middle, as the README has it")


def _demo(given: argparse.Namespace) -> int:
    from gateway.play.demo import main  # noqa: PLC0415

    return main(given.svg)


def _arrange_replay(to: argparse.ArgumentParser) -> None:
    to.add_argument("files", nargs="+", metavar="FILE.jsonl", help="sessions, as docs/replay.md describes them")


def _replay(given: argparse.Namespace) -> int:
    from gateway.play.replay import main  # noqa: PLC0415

    return main(given.files)


def own_tree() -> Path | None:
    """Return the source tree that the program runs from, whatever the working folder; None where it was installed."""
    root = Path(__file__).resolve().parents[4]
    return root if (root / "pyproject.toml").is_file() else None


def _arrange_schemas(to: argparse.ArgumentParser) -> None:
    tree = own_tree()
    to.add_argument(
        "--out",
        type=path,
        required=tree is None,
        default=tree and tree / "schemas",
        metavar="DIR",
        help="for the schemas (default: schemas/ of the sources that this program runs from)",
    )
    to.add_argument(
        "--docs",
        type=path,
        required=tree is None,
        default=tree and tree / "docs",
        metavar="DIR",
        help="for the references (default: docs/ of the same)",
    )
    to.add_argument(
        "--types",
        type=path,
        default=tree and tree / "clients" / "typescript" / "src" / "types.ts",
        metavar="FILE",
        help="for the types of TypeScript (default: those of clients/typescript of the same, else none)",
    )
    to.add_argument("--check", action="store_true", help="write nothing; fail when something is not current")


def _schemas(given: argparse.Namespace) -> int:
    from gateway.doors.http import openapi  # noqa: PLC0415
    from protocol.reference import pages as reference  # noqa: PLC0415
    from protocol.reference import schema, typescript  # noqa: PLC0415

    of_doors = {openapi.FILE: openapi.document_bytes()}
    if not given.check:
        schema.write(given.out, of_doors)
        reference.write(given.docs)
        if given.types is not None:
            typescript.write(given.types)
        return OK
    types = typescript.find_stale(given.types) if given.types is not None else []
    stale = [*schema.find_stale(given.out, of_doors), *reference.find_stale(given.docs), *types]
    if stale:
        sys.stderr.write(
            f"not current: {', '.join(stale)}\nrun: make schemas; what it does not write is to be removed\n"
        )
    return NEGATIVE if stale else OK


def _arrange_completion(to: argparse.ArgumentParser) -> None:
    to.add_argument("shell", choices=("bash", "zsh", "fish", "tcsh", "powershell"), help="the shell")


def _completion(given: argparse.Namespace) -> int:
    import shtab  # noqa: PLC0415

    from gateway.doors.commands.parsing import parser  # noqa: PLC0415

    sys.stdout.write(shtab.complete(parser(), given.shell) + "\n")
    return OK


COMMANDS = {
    "serve": Command(_arrange_serve, _serve),
    "http": Command(
        _arrange_http,
        _http,
        '  pioneer http &\n  curl -H "Authorization: Bearer $(pioneer token show http)" "http://127.0.0.1:42069/v1/recall"',
    ),
    "inspect": Command(_arrange_inspect, _inspect, "  pioneer inspect\n  pioneer inspect --no-open"),
    "mcp": Command(_arrange_mcp, _mcp, "  claude mcp add --scope user pioneer -- pioneer mcp"),
    "demo": Command(_arrange_demo, _demo),
    "replay": Command(_arrange_replay, _replay, "  pioneer replay tests/golden/ping.jsonl"),
    "schemas": Command(_arrange_schemas, _schemas),
    "completion": Command(
        _arrange_completion,
        _completion,
        '  eval "$(pioneer completion bash)"\n  pioneer completion fish > ~/.config/fish/completions/pioneer.fish',
    ),
}
