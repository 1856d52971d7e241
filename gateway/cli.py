"""The command line: `pioneer serve`, `demo`, `import`, `mcp`, `replay`, `schemas`.

Rule 1: nothing of another house is imported before the origin of the houses was checked.
"""

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

EXIT_USAGE = 64


class _Parser(argparse.ArgumentParser):
    """An argument parser whose usage errors end with the code that programs expect."""

    def error(self, message: str) -> None:  # pyright: ignore[reportIncompatibleMethodOverride]
        """Say what is wrong and how it is used."""
        self.print_usage(sys.stderr)
        self.exit(EXIT_USAGE, f"{self.prog}: {message}\n")


def parser() -> argparse.ArgumentParser:
    """Every command and option."""
    from gateway import __version__  # noqa: PLC0415

    top = _Parser(prog="pioneer", description="A local memory gateway for assistants.")
    top.add_argument("--version", action="version", version=f"pioneer {__version__}")
    commands = top.add_subparsers(dest="command", required=True, metavar="COMMAND", parser_class=_Parser)
    serve = commands.add_parser("serve", help="speak JSON-RPC 2.0 over stdin and stdout; what a desktop app spawns")
    serve.add_argument(
        "--home", type=Path, help="where everything is kept (default: $PIONEER_HOME, else the user's data folder)"
    )
    serve.add_argument("--config", type=Path, help="configuration file (default: HOME/config.toml)")
    serve.add_argument(
        "--clock-file", type=Path, help="a file with Unix milliseconds that stands in for the wall clock"
    )
    serve.add_argument(
        "--log-level", choices=("debug", "info", "warning", "error"), default="info", help="default: info"
    )
    commands.add_parser("demo", help="play a bundled conversation of several days through a spawned gateway")
    bring = commands.add_parser("import", help="import conversations of other programs; repeatable (docs/import.md)")
    bring.add_argument(
        "path", type=Path, metavar="FILE|DIR",
        help="an export of ChatGPT or Claude (.json, .zip), sessions of Claude Code or Codex (.jsonl), Markdown",
    )  # fmt: skip
    bring.add_argument("--workspace", default="ws_default", metavar="ID", help="made if missing (default: ws_default)")
    bring.add_argument("--dry-run", action="store_true", help="change nothing; say what would be done")
    bring.add_argument("--json", action="store_true", help="the result as one line of JSON")
    bring.add_argument("--home", type=Path, help="as for serve")
    bring.add_argument("--config", type=Path, help="as for serve")
    mcp = commands.add_parser("mcp", help="be a memory server for assistants that speak MCP (docs/mcp.md)")
    mcp.add_argument("--workspace", metavar="ID", help="made if missing (default: by the folder's git repository)")
    mcp.add_argument("--folder", type=Path, help="the project's folder (default: where the command was started)")
    mcp.add_argument("--home", type=Path, help="as for serve")
    mcp.add_argument("--config", type=Path, help="as for serve")
    mcp.add_argument("--log-level", choices=("debug", "info", "warning", "error"), default="warning")
    replay = commands.add_parser("replay", help="play scripted sessions against a spawned gateway and compare")
    replay.add_argument("files", nargs="+", metavar="FILE.jsonl", help="sessions, as docs/replay.md describes them")
    schemas = commands.add_parser("schemas", help="write the JSON Schemas and the OpenRPC document of the protocol")
    schemas.add_argument("--out", type=Path, default=Path("schemas"), help="folder (default: schemas)")
    schemas.add_argument("--check", action="store_true", help="write nothing; fail when the folder is not current")
    return top


def _serve(given: argparse.Namespace) -> int:
    from gateway.foundations import Options  # noqa: PLC0415
    from gateway.home import default_root  # noqa: PLC0415
    from gateway.process import main  # noqa: PLC0415

    return main(
        Options(
            home=given.home or default_root(),
            config=given.config,
            clock_file=given.clock_file,
            log_level=given.log_level,
        )
    )


def _demo(_given: argparse.Namespace) -> int:
    from gateway.demo import main  # noqa: PLC0415

    return main()


def _import(given: argparse.Namespace) -> int:
    from gateway.home import default_root  # noqa: PLC0415
    from gateway.importing import Wish, main  # noqa: PLC0415

    return main(
        Wish(
            path=given.path,
            home=given.home or default_root(),
            config=given.config,
            workspace_id=given.workspace,
            is_dry_run=given.dry_run,
            is_json=given.json,
        )
    )


def _mcp(given: argparse.Namespace) -> int:
    from gateway.foundations import Options  # noqa: PLC0415
    from gateway.home import default_root  # noqa: PLC0415
    from gateway.mcp_door.process import Wish, main  # noqa: PLC0415

    return main(
        Options(home=given.home or default_root(), config=given.config, log_level=given.log_level),
        Wish(workspace_id=given.workspace, folder=given.folder),
    )


def _replay(given: argparse.Namespace) -> int:
    from gateway.replay import main  # noqa: PLC0415

    return main(given.files)


def _schemas(given: argparse.Namespace) -> int:
    from protocol import schema  # noqa: PLC0415

    if not given.check:
        schema.write(given.out)
        return 0
    stale = schema.stale(given.out)
    if stale:
        sys.stderr.write(f"not current: {', '.join(stale)}\nrun: make schemas\n")
    return 1 if stale else 0


COMMANDS = {"serve": _serve, "demo": _demo, "import": _import, "mcp": _mcp, "replay": _replay, "schemas": _schemas}


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command; return its exit code."""
    from gateway.origin import refusal  # noqa: PLC0415

    refused = refusal()
    if refused is not None:
        sys.stderr.write(f"pioneer: {refused}\n")
        return 70
    given = parser().parse_args(arguments)
    return COMMANDS[given.command](given)
