"""The contract as pages to read: the reference of the configuration and of the methods, in Markdown.

Rule 1: everything is derived from the Structs and tables of this package.
Rule 2: the same contract gives the same bytes.
"""

import inspect
import json
from collections.abc import Iterable
from itertools import groupby
from pathlib import Path
from typing import Any

import msgspec

from protocol.errors import REASONS
from protocol.methods import CLIENT_NOTIFICATIONS, COMMON_ERRORS, METHODS, Method
from protocol.notifications import NOTIFICATIONS
from protocol.reference.setting_meanings import GROUPS
from protocol.reference.setting_table import Setting, settings

NOTICE = "Generated from `protocol/` by `pioneer schemas`; changes are made there."


def pages() -> dict[str, bytes]:
    """Return every page by its file name."""
    return {"configuration.md": _configuration().encode(), "methods.md": _methods().encode()}


def write(folder: Path) -> None:
    """Write the present pages into the folder; its other files stay."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, data in pages().items():
        (folder / name).write_bytes(data)


def find_stale(folder: Path) -> list[str]:
    """Return the names of pages that are missing or different."""
    found = {name: folder / name for name in pages()}
    kept = {name: path.read_bytes().replace(b"\r\n", b"\n") for name, path in found.items() if path.is_file()}
    return sorted(name for name, data in pages().items() if kept.get(name) != data)


# -- configuration -----------------------------------------------------------------------------------------------------


def render_commented_config() -> str:
    """Return config.toml with every key as a comment: an unset key follows the defaults of later versions."""
    lines = [
        "# Pioneer gateway: every key with its meaning and its default. Take the # away from what you want otherwise.",
        "# A running gateway takes changes of this file over at once, but for [gateway.limits].",
    ]
    for group, members in groupby(settings(), key=lambda setting: setting.group):
        header = f"[gateway.{group}]" if group != "providers" else "# [gateway.providers.NAME]"
        lines += ["", f"# {GROUPS[group]}", header]
        for setting in members:
            lines += [f"# {setting.meaning}", f"# ({setting.allowed}; default: {setting.shown_default})"]
            lines.append(f"# {setting.name} = {_example(setting)}")
    return "\n".join(lines) + "\n"


def _example(setting: Setting) -> str:
    return '"scripted"' if setting.is_required else setting.shown_default if setting.default is not None else '"…"'


CONFIGURATION_INTRODUCTION = """\
`HOME/config.toml`, or the file that `--config` names. `pioneer config init` writes it with every key as a comment,
`pioneer config check` explains what is wrong with one, and `pioneer settings set gateway.TABLE.KEY VALUE` changes one
key in the file and in running gateways.

Strongest first: the environment variable `PIONEER_<TABLE>__<KEY>` (`PIONEER_MEMORY__RETENTION_DAYS=7`; not for
providers), the file, the default. `pioneer settings --origin` and `settings/get {origins: true}` name the origin of
each value.

A table, key or variable that does not exist is an error of `config check` and of every command (exit code 78, with
its line and the nearest name that exists). `serve` and `mcp` start and say so in `gateway/status`: `degraded
{component: config, reason: unknown_key, key, nearest, line}`, and in their log, which goes to stderr as well. A value
of the file that a setting does not take is refused by all. One of the environment is refused by commands; `serve` and
`mcp` take the file's or the default instead, and say so: `degraded {component: config, reason: invalid_value, key}`.
"""


def _configuration() -> str:
    lines = [
        "# Configuration",
        "",
        NOTICE,
        "",
        *CONFIGURATION_INTRODUCTION.splitlines(),
    ]
    for group, members in groupby(settings(), key=lambda setting: setting.group):
        title = f"[gateway.{group}]" if group != "providers" else "[gateway.providers.NAME]"
        lines += [
            "",
            f"## `{title}`",
            "",
            GROUPS[group],
            "",
            "| key | meaning | values | default |",
            "| --- | --- | --- | --- |",
        ]
        for setting in members:
            default = "required" if setting.is_required else f"`{setting.shown_default}`"
            lines.append(f"| `{setting.name}` | {setting.meaning} | {setting.allowed} | {default} |")
    return "\n".join(lines) + "\n"


# -- methods -----------------------------------------------------------------------------------------------------------


def _methods() -> str:
    lines = [
        "# Methods",
        "",
        NOTICE,
        "",
        "JSON-RPC 2.0, one message a line. Types in full are in [schemas/](../schemas).",
        "A member with `?` may be left out.",
        f"Every request may end with {', '.join(f'`{reason}`' for reason in COMMON_ERRORS)}.",
    ]
    for house, methods in groupby(METHODS.values(), key=_house):
        lines += ["", f"## {house}"]
        for method in methods:
            lines += _method(method)
    lines += ["", "## Notifications of the gateway", "", "| notification | says |", "| --- | --- |"]
    lines += [f"| `{name}` | {notice.summary} |" for name, notice in NOTIFICATIONS.items()]
    lines += ["", "## Notifications of the client", "", "| notification | says |", "| --- | --- |"]
    lines += [f"| `{name}` | {summary} |" for name, (_, summary) in CLIENT_NOTIFICATIONS.items()]
    lines += ["", "## Errors", "", "| reason | code | try again | meaning |", "| --- | --- | --- | --- |"]
    lines += [
        f"| `{reason}` | {info.code} | {'yes' if info.retryable else 'no'} | {info.message} |"
        for reason, info in REASONS.items()
    ]
    return "\n".join(lines) + "\n"


def _house(method: Method[Any, Any]) -> str:
    return method.name.split("/")[0] if "/" in method.name else "the process"


def _method(method: Method[Any, Any]) -> list[str]:
    lines = ["", f"### `{method.name}`", "", method.summary]
    if method.errors:
        lines += ["", f"Its own errors: {', '.join(f'`{reason}`' for reason in method.errors)}."]
    if method.params.__struct_fields__:
        lines += ["", "| parameter | type | default |", "| --- | --- | --- |", *_members(method.params)]
    if issubclass(method.result, msgspec.Struct) and method.result.__struct_fields__:
        about = " ".join((inspect.getdoc(method.result) or "").split("\n\n")[0].split())
        names = ", ".join(f"`{field.encode_name}`" for field in msgspec.structs.fields(method.result))
        lines += ["", f"Result: {names}. {about}"]
    return lines


def _members(params: type[msgspec.Struct]) -> Iterable[str]:
    shape = msgspec.json.schema_components([params], ref_template="{name}")[1][params.__name__]
    required_first = sorted(shape["properties"].items(), key=lambda member: member[0] not in shape["required"])
    for name, member in required_first:
        is_required = name in shape["required"]
        default = "" if is_required or "default" not in member else f"`{json.dumps(member['default'])}`"
        yield f"| `{name}{'' if is_required else '?'}` | {_type(member)} | {default} |"


def _type(member: dict[str, Any]) -> str:
    if "$ref" in member:
        return f"`{member['$ref']}`"
    if "anyOf" in member:
        return " or ".join(dict.fromkeys(_type(part) for part in member["anyOf"] if part.get("type") != "null"))
    if "enum" in member:
        return ", ".join(f"`{value}`" for value in member["enum"])
    if member.get("type") == "array":
        return f"list of {_type(member.get('items', {}))}"
    return str(member.get("type", "anything"))
