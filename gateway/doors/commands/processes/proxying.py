"""`pioneer proxy`, and `pioneer proxy url`, which prints the lines that lead a program through the proxy."""

import argparse
import re
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import NamedTuple

from gateway.base.exit_codes import CANNOT_WRITE, OK, USAGE
from gateway.doors.commands import Command
from gateway.doors.commands.door import home_of, read_configuration
from gateway.doors.commands.options import path
from gateway.doors.commands.processes.starting import arrange_process, options_of, port_of
from gateway.doors.terminal.exits import Stop
from protocol.base import ID_TEXT

CURSOR = (
    "Cursor's own servers make its calls to models, so an address of this machine cannot work there: use MCP instead"
    " (`pioneer mcp`, docs/mcp.md)."
)


class ProgramAddress(NamedTuple):
    """The proxy's address for a program."""

    base: str
    """The address above `/v1/…`."""
    is_anthropic_replaced: bool
    """True where the upstream of Anthropic's dialect is another company's, or a program's of this machine."""

    @property
    def openai(self) -> str:
        """Return the base URL for programs of OpenAI's dialect."""
        return f"{self.base}/v1"


def _claude_code(at: ProgramAddress) -> list[str]:
    more = ["export CLAUDE_CODE_ATTRIBUTION_HEADER=0"] if at.is_anthropic_replaced else []
    return [f"export ANTHROPIC_BASE_URL={at.base}", *more]


def _codex(at: ProgramAddress) -> list[str]:
    return [
        "# ~/.codex/config.toml",
        'model_provider = "pioneer"',
        "",
        "[model_providers.pioneer]",
        'name = "pioneer"',
        f'base_url = "{at.openai}"',
        'env_key = "OPENAI_API_KEY"',
        'wire_api = "responses"',
        "supports_websockets = false",
    ]


NAMED = frozenset({"aider", "open-webui", "librechat", "cline", "continue", "llm"})
"""Programs whose requests do not name them: their address does."""
LINES: Mapping[str, Callable[[ProgramAddress], list[str]]] = {
    "claude-code": _claude_code,
    "codex": _codex,
    "openai": lambda at: [f"export OPENAI_BASE_URL={at.openai}"],
    "aider": lambda at: [f"export OPENAI_API_BASE={at.openai}", f"export ANTHROPIC_API_BASE={at.base}"],
    "open-webui": lambda at: [f"OPENAI_API_BASE_URL={at.openai}", "ENABLE_FORWARD_USER_INFO_HEADERS=true"],
    "librechat": lambda at: ["# librechat.yaml, endpoints.custom", f'baseURL: "{at.openai}"'],
    "zed": lambda at: ["# settings.json", f'{{"language_models": {{"openai": {{"api_url": "{at.openai}"}}}}}}'],
    "cline": lambda at: ["# API provider: OpenAI Compatible, base URL:", at.openai],
    "continue": lambda at: ["# config.yaml, of a model", "provider: openai", f"apiBase: {at.openai}"],
    "llm": lambda at: ["# extra-openai-models.yaml", f'api_base: "{at.openai}"'],
}
"""The lines of each program's configuration."""


def _arrange(to: argparse.ArgumentParser) -> None:
    arrange_process(to, "warning")
    to.add_argument("--port", type=port_of, metavar="N", help="default: gateway.proxy.port; 0: a free one")
    to.add_argument("--bind", metavar="ADDRESS", help="default: gateway.proxy.bind")
    to.add_argument("action", nargs="?", choices=("url",), help="print the lines that lead a program through it")
    to.add_argument("client", nargs="?", choices=(*LINES, "cursor"), help="the program; without one, the bare address")
    to.add_argument("--upstream", metavar="NAME", help="of gateway.proxy.upstreams")
    place = to.add_mutually_exclusive_group()
    place.add_argument("--workspace", metavar="ID", help="the workspace of what is said")
    place.add_argument("--folder", type=path, metavar="DIR", help="the workspace of that project")


def _run(given: argparse.Namespace) -> int:
    if given.action == "url":
        from gateway.doors.commands.ending import run_command  # noqa: PLC0415

        return run_command(_print_url, given)  # unlike the proxy itself, which has exit codes of its own
    from gateway.doors.http.listening import HttpOptions  # noqa: PLC0415
    from gateway.doors.proxy.process import main  # noqa: PLC0415

    return main(options_of(given), HttpOptions(port=given.port, bind=given.bind))


def _print_url(given: argparse.Namespace) -> int:
    if given.client == "cursor":
        sys.stdout.write(CURSOR + "\n")
        return OK
    address = _find_address(given)
    lines = LINES[given.client](address) if given.client else [address.base]
    sys.stdout.write("\n".join(lines) + "\n")
    return OK


def _find_address(given: argparse.Namespace) -> ProgramAddress:
    """Return the address that the options name: of a running proxy, else of the configured port. Raises `Stop`."""
    from gateway.doors.proxy.route import ProxyAddress, find_upstream  # noqa: PLC0415
    from gateway.home.folder import Home  # noqa: PLC0415
    from gateway.home.run_files import living_doors  # noqa: PLC0415
    from gateway.home.tokens import read_token, token_path  # noqa: PLC0415

    if given.workspace is not None and not re.fullmatch(ID_TEXT, given.workspace):
        raise Stop(USAGE, f"{given.workspace!r} cannot be the id of a workspace: its address would lead nowhere")
    if given.folder is not None and not given.folder.is_dir():
        raise Stop(USAGE, f"there is no folder {str(given.folder)!r}")
    home = Home(home_of(given))
    settings = read_configuration(given).config.proxy
    asked = ProxyAddress(None, given.upstream, None, None, "/v1/messages")
    upstream = find_upstream(asked, frozenset(), settings.upstreams)
    if upstream is None:
        raise Stop(USAGE, f"gateway.proxy.upstreams has no {given.upstream!r}: its address would answer 404")
    try:
        token = read_token(token_path(home.root, "proxy"))
    except OSError as error:
        raise Stop(CANNOT_WRITE, f"the token cannot be read or made ({error.strerror})") from None
    running = [one.url for one in living_doors(home.run, "proxy")]
    if given.port:
        running = [one for one in running if one.endswith(f":{given.port}")]
    url = next(iter(running), f"http://127.0.0.1:{given.port or settings.port}")
    workspace_id = given.workspace or (_workspace_of(given.folder) if given.folder is not None else None)
    base = f"{url}/t/{token}"
    base += f"/u/{given.upstream}" if given.upstream else ""
    base += f"/w/{workspace_id}" if workspace_id else ""
    base += f"/a/{given.client}" if given.client in NAMED else ""
    return ProgramAddress(base, "api.anthropic.com" not in upstream.settings.base_url)


def _workspace_of(folder: Path) -> str | None:
    from gateway.home.repository import project_of  # noqa: PLC0415

    found = project_of(folder)
    return found.workspace_id if found is not None else None


COMMANDS = {
    "proxy": Command(
        _arrange,
        _run,
        '  pioneer proxy &\n  eval "$(pioneer proxy url claude-code)"\n  pioneer proxy url codex --folder .',
    )
}
