"""The contract as pages to read: the reference of the configuration and of the methods, in Markdown.

Rule 1: everything is derived from the Structs and tables of this package, and examples from sessions that tests play.
Rule 2: the same contract gives the same bytes.
"""

import inspect
import json
from collections.abc import Iterable, Mapping
from itertools import groupby
from pathlib import Path
from typing import Any, cast

import msgspec

from protocol.errors import REASONS
from protocol.methods import CLIENT_NOTIFICATIONS, COMMON_ERRORS, METHODS, Method
from protocol.notifications import NOTIFICATIONS
from protocol.reference.recorded_examples import read_examples
from protocol.reference.setting_meanings import GROUPS
from protocol.reference.setting_table import Setting, settings

NOTICE = "Generated from `protocol/` by `pioneer schemas`; changes are made there."


def pages(sessions: Path) -> dict[str, bytes]:
    """Return every page by its file name, with examples from a folder of recorded sessions if it is there."""
    return {
        "configuration.md": _configuration().encode(),
        "methods.md": _methods(read_examples(sessions)).encode(),
        "types.md": _types().encode(),
    }


def write(folder: Path) -> None:
    """Write the present pages into the folder; its other files stay."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, data in pages(_sessions_beside(folder)).items():
        (folder / name).write_bytes(data)


def find_stale(folder: Path) -> list[str]:
    """Return the names of pages that are missing or different."""
    wanted = pages(_sessions_beside(folder))
    found = {name: folder / name for name in wanted}
    kept = {name: path.read_bytes().replace(b"\r\n", b"\n") for name, path in found.items() if path.is_file()}
    return sorted(name for name, data in wanted.items() if kept.get(name) != data)


def _sessions_beside(docs: Path) -> Path:
    return docs.absolute().parent / "tests" / "golden"


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


# -- methods and types -------------------------------------------------------------------------------------------------


def _methods(examples: Mapping[str, str]) -> str:
    lines = [
        "# Methods",
        "",
        NOTICE,
        "",
        "JSON-RPC 2.0, one message a line. A type with a link has its members in [types.md](types.md), and as JSON",
        "Schema in [schemas/](../schemas). A member with `?` may be left out. An example shows `params` of a request",
        "from [tests/golden/](../tests/golden), whose sessions are played against a spawned gateway.",
        "",
        f"Every request may end with {', '.join(f'`{reason}`' for reason in COMMON_ERRORS)}.",
    ]
    for house, methods in groupby(METHODS.values(), key=_house):
        lines += ["", f"## {house}"]
        for method in methods:
            lines += _method(method, examples.get(method.name))
    lines += ["", "## Notifications of the gateway", "", "| notification | says | params |", "| --- | --- | --- |"]
    lines += [f"| `{name}` | {one.summary} | {_link(one.params.__name__)} |" for name, one in NOTIFICATIONS.items()]
    lines += ["", "## Notifications of the client", "", "| notification | says | params |", "| --- | --- | --- |"]
    lines += [
        f"| `{name}` | {summary} | {_link(params.__name__) if params.__struct_fields__ else ''} |"
        for name, (params, summary) in CLIENT_NOTIFICATIONS.items()
    ]
    lines += ["", "## Errors", "", "| reason | code | try again | meaning |", "| --- | --- | --- | --- |"]
    lines += [
        f"| `{reason}` | {info.code} | {'yes' if info.retryable else 'no'} | {info.message} |"
        for reason, info in REASONS.items()
    ]
    return "\n".join(lines) + "\n"


def _house(method: Method[Any, Any]) -> str:
    return method.name.split("/")[0] if "/" in method.name else "the process"


def _method(method: Method[Any, Any], example: str | None) -> list[str]:
    lines = ["", f"### `{method.name}`", "", method.summary]
    lines += [line for more in _split_paragraphs(method.params)[1:] for line in ("", more)]
    if method.errors:
        lines += ["", f"Its own errors: {', '.join(f'`{reason}`' for reason in method.errors)}."]
    if method.params.__struct_fields__:
        lines += ["", *_list_given(_components([method.params])[method.params.__name__])]
    if example is not None:
        lines += ["", "```json", example, "```"]
    if issubclass(method.result, msgspec.Struct) and method.result.__struct_fields__:
        members = _list_answered(_components([method.result])[method.result.__name__])
        lines += ["", f"Result: {_split_paragraphs(method.result)[0]}", "", *members]
    return lines


def _types() -> str:
    """Return the page of every type that a member of parameters, results or notifications has."""
    told = [one.params for one in NOTIFICATIONS.values()] + [params for params, _ in CLIENT_NOTIFICATIONS.values()]
    shapes = _components([*(kind for one in METHODS.values() for kind in (one.params, one.result)), *told])
    linked = {kind.__name__ for kind in told}.union(*(_find_names(shape["properties"]) for shape in shapes.values()))
    lines = ["# Types", "", NOTICE, "", "The members of the types that [methods.md](methods.md) links to."]
    lines += ["A member with `?` may be left out."]
    for name in sorted(linked):
        if shapes[name]["properties"]:
            about = " ".join(inspect.cleandoc(shapes[name].get("description", "")).split())
            lines += ["", f"## `{name}`", "", about, "", *_list_given(shapes[name])]
    return "\n".join(lines) + "\n"


def _components(kinds: Iterable[Any]) -> dict[str, Any]:
    return msgspec.json.schema_components(list(kinds), ref_template="{name}")[1]


def _find_names(schema: Any) -> set[str]:
    """Return the names of the types that a schema refers to."""
    if isinstance(schema, list):
        return set[str]().union(*map(_find_names, cast("list[Any]", schema)))
    if not isinstance(schema, dict):
        return set()
    members = cast("dict[str, Any]", schema)
    return {members["$ref"]} if "$ref" in members else set[str]().union(*map(_find_names, members.values()))


def _split_paragraphs(kind: type[msgspec.Struct]) -> list[str]:
    return [" ".join(part.split()) for part in (inspect.getdoc(kind) or "").split("\n\n")]


def _list_given(shape: dict[str, Any]) -> Iterable[str]:
    """Return the table of members that somebody gives, the required ones first."""
    yield from ("| member | type | default | meaning |", "| --- | --- | --- | --- |")
    for name, member in sorted(shape["properties"].items(), key=lambda one: one[0] not in shape["required"]):
        is_required = name in shape["required"]
        default = "" if is_required or "default" not in member else f"`{json.dumps(member['default'])}`"
        kind = _type(member) + (_add_null(member) if is_required else "")
        yield f"| `{name}{'' if is_required else '?'}` | {kind} | {default} | {_describe(member)} |"


def _list_answered(shape: dict[str, Any]) -> Iterable[str]:
    yield from ("| member | type | meaning |", "| --- | --- | --- |")
    for name, member in shape["properties"].items():
        yield f"| `{name}` | {_type(member)}{_add_null(member)} | {_describe(member)} |"


def _link(name: str) -> str:
    return f"[`{name}`](types.md#{name.lower()})"


def _type(member: dict[str, Any]) -> str:
    if "$ref" in member:
        return _link(member["$ref"])
    if "anyOf" in member:
        return " or ".join(dict.fromkeys(_type(part) for part in member["anyOf"] if part.get("type") != "null"))
    if "enum" in member:
        return ", ".join(f"`{value}`" for value in member["enum"])
    if member.get("type") == "array":
        return f"list of {_type(member.get('items', {}))}"
    if "additionalProperties" in member:
        return f"object, each value {_type(member['additionalProperties'])}"
    return str(member.get("type", "anything"))


def _add_null(member: dict[str, Any]) -> str:
    return " or `null`" if {"type": "null"} in member.get("anyOf", ()) else ""


def _describe(member: dict[str, Any]) -> str:
    """Return what a schema says of a member: on itself, or on the form that is not null."""
    told = next((one["description"] for one in (member, *member.get("anyOf", ())) if "description" in one), "")
    return " ".join(told.split()).replace("|", "\\|")
