"""The contract as types of TypeScript: every message, the method table, the notifications.

Rule 1: everything is derived from the Structs and tables of this package.
Rule 2: the same contract gives the same bytes.
Rule 3: a client may leave out of a request what has a default; an answer has every member that the gateway knows.
"""

import inspect
import json
import textwrap
from collections.abc import Iterable, Mapping
from pathlib import Path
from types import ModuleType
from typing import Any, Literal, cast, get_args, get_origin

import msgspec

from protocol import base, errors, gateway, guidance, passes, record, settings, thread_episodic
from protocol.base import PROTOCOL_VERSION
from protocol.conversation import values as conversation
from protocol.errors import REASONS
from protocol.files import collections, knowledge
from protocol.memory import bundles, candidates, changes, explaining, facts, forgetting, reads, values, writes
from protocol.methods import COMMON_ERRORS, METHODS, Method
from protocol.notifications import NOTIFICATIONS

FILE = "types.ts"

NOTICE = "// Generated from `protocol/` by `pioneer schemas`; changes are made there."

PREFIX = "#/components/schemas/"

ALIASED: tuple[ModuleType, ...] = (
    base,
    errors,
    gateway,
    guidance,
    values,
    reads,
    writes,
    forgetting,
    changes,
    candidates,
    explaining,
    bundles,
    facts,
    passes,
    record,
    settings,
    thread_episodic,
    conversation,
    collections,
    knowledge,
)
"""Modules whose named choices keep their names."""

PLAIN = {"string": "string", "integer": "number", "number": "number", "boolean": "boolean", "null": "null"}

LINE = 120
"""Characters of a line."""

Schema = Mapping[str, Any]


def module_bytes() -> bytes:
    """Return the TypeScript module."""
    parts = [NOTICE, _constants(), *_choices(), *_messages(), _methods(), _notifications()]
    return ("\n\n".join(parts) + "\n").encode()


def write(file: Path) -> None:
    """Write the module."""
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(module_bytes())


def find_stale(file: Path) -> list[str]:
    """Return the file's name in a list where it is missing or different, else an empty list."""
    found = file.read_bytes().replace(b"\r\n", b"\n") if file.is_file() else None
    return [] if found == module_bytes() else [file.name]


# -- the parts -------------------------------------------------------------------------------------------------------


def _constants() -> str:
    repeatable = [f"  {_quote(name)}," for name, method in METHODS.items() if method.is_safe_to_repeat]
    version = f"export const PROTOCOL_VERSION = {_quote(PROTOCOL_VERSION)};"
    about = _comment("Methods that only read: a call that got no answer may be made again.")
    return "\n".join(
        [
            version,
            "",
            *about,
            "export const SAFE_TO_REPEAT: ReadonlySet<string> = new Set<MethodName>([",
            *repeatable,
            "]);",
        ]
    )


def _choices() -> list[str]:
    named = sorted((name, values) for values, name in CHOICES.items())
    common = _declare("CommonError", _union(map(_quote, COMMON_ERRORS)), "Any request may end with one of these.")
    return [*(_declare(name, _union(map(_quote, values))) for name, values in named), common]


def _messages() -> list[str]:
    methods = METHODS.values()
    taken = _components(method.params for method in methods)
    given = _components([*(method.result for method in methods), *(one.params for one in NOTIFICATIONS.values())])
    return [_message(name, shape, is_sent=name in taken) for name, shape in sorted((given | taken).items())]


def _methods() -> str:
    rows = [line for method in METHODS.values() for line in _method(method)]
    names = _declare("MethodName", "keyof Methods")
    about = _comment("Every request: its parameters, its result, and the reasons of its errors.")
    return "\n".join([*about, "export interface Methods {", *rows, "}", "", names])


def _notifications() -> str:
    rows = [
        line
        for name, one in NOTIFICATIONS.items()
        for line in (*_comment(one.summary, "  "), f"  {_quote(name)}: {_type(_reference(one.params))};")
    ]
    names = _declare("NotificationName", "keyof Notifications")
    about = _comment("The parameters of every notification.")
    return "\n".join([*about, "export interface Notifications {", *rows, "}", "", names])


def _method(method: Method[Any, Any]) -> list[str]:
    own = _union([*map(_quote, method.errors), "CommonError"])
    return [
        *_comment(method.summary, "  "),
        f"  {_quote(method.name)}: {{",
        f"    params: {_type(_reference(method.params))};",
        f"    result: {_type(_reference(method.result))};",
        *_wrap_declaration("    errors: ", own),
        "  };",
    ]


def _message(name: str, shape: Schema, *, is_sent: bool) -> str:
    about = _comment(inspect.cleandoc(shape.get("description", "")))
    if not shape["properties"]:
        return "\n".join([*about, f"export type {name} = {_map_to('never')};"])
    required = set(shape["required"])
    lines = [
        line
        for member, schema in shape["properties"].items()
        for line in _member(
            member,
            schema,
            is_optional=member not in required and (is_sent or "default" not in schema),
            shows_default=is_sent,
        )
    ]
    return "\n".join([*about, f"export interface {name} {{", *lines, "}"])


def _member(name: str, schema: Schema, *, is_optional: bool, shows_default: bool) -> list[str]:
    said = [_description(schema)]
    default = schema.get("default")
    if shows_default and default is not None and not isinstance(default, dict):
        said.append(f"Default: {json.dumps(default, ensure_ascii=False)}.")
    text = " ".join(filter(None, said))
    return [*_comment(text, "  "), *_wrap_declaration(f"  {name}{'?' if is_optional else ''}: ", _type(schema))]


# -- types -----------------------------------------------------------------------------------------------------------


def _components(kinds: Iterable[Any]) -> dict[str, Any]:
    return msgspec.json.schema_components(list(kinds), ref_template=PREFIX + "{name}")[1]


def _reference(kind: Any) -> Schema:
    (schema,), _ = msgspec.json.schema_components([kind], ref_template=PREFIX + "{name}")
    return schema


def _names_of_choices() -> dict[tuple[Any, ...], str]:
    """Return the name of each set of literals that a module names, unless a message has that name.

    Of two names the first in the alphabet counts.
    """
    taken = {name for module in ALIASED for name, value in vars(module).items() if isinstance(value, type)}
    found: dict[tuple[Any, ...], str] = {(*sorted(REASONS),): "ErrorReason"}
    for module in ALIASED:
        for name, value in vars(module).items():
            is_choice = get_origin(value) is Literal and len(get_args(value)) > 1
            if is_choice and name not in taken and not name.startswith("_"):
                values = (*sorted(get_args(value)),)
                found[values] = min(name, found.get(values, name))
    return found


CHOICES = _names_of_choices()


def _type(schema: Schema) -> str:
    """Return a schema as a type. Raises `KeyError` for what this contract did not have so far."""
    if "$ref" in schema:
        return schema["$ref"].removeprefix(PREFIX)
    if "anyOf" in schema:
        return _union(_type(one) for one in schema["anyOf"])
    if "enum" in schema:
        values = (*sorted(schema["enum"]),)
        return CHOICES.get(values) or _union(map(_quote, values))
    kind = schema.get("type")
    if kind is None:
        return "unknown"
    if kind == "array":
        return f"Array<{_type(schema['items'])}>" if "items" in schema else "unknown[]"
    if kind == "object":
        values = schema.get("additionalProperties", {})
        return _map_to(_type(cast("Schema", values)))
    return PLAIN[kind]


def _map_to(kind: str) -> str:
    """Return the type of an object with any names; not the built-in `Record`, whose name a message has."""
    return f"{{ [name: string]: {kind} }}"


def _union(types: Iterable[str]) -> str:
    return " | ".join(dict.fromkeys(types))


def _description(schema: Schema) -> str:
    own = schema.get("description")
    return own or next((one["description"] for one in schema.get("anyOf", ()) if "description" in one), "")


# -- text ------------------------------------------------------------------------------------------------------------


def _quote(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)


def _declare(name: str, value: str, about: str = "") -> str:
    return "\n".join([*_comment(about), *_wrap_declaration(f"export type {name} = ", value)])


def _wrap_declaration(start: str, value: str) -> list[str]:
    """Return a declaration as one line, or as one line a choice where that is too long."""
    whole = f"{start}{value};"
    if len(whole) <= LINE:
        return [whole]
    indent = " " * (len(start) - len(start.lstrip()) + 2)
    *first, last = value.split(" | ")
    return [start.rstrip(), *(f"{indent}| {one}" for one in first), f"{indent}| {last};"]


def _comment(text: str, indent: str = "") -> list[str]:
    lines = [part for line in text.replace("*/", "* /").splitlines() for part in textwrap.wrap(line, 100) or [""]]
    if not lines:
        return []
    if len(lines) == 1 and len(indent) + len(lines[0]) + 7 <= LINE:
        return [f"{indent}/** {lines[0]} */"]
    return [f"{indent}/**", *(f"{indent} * {line}".rstrip() for line in lines), f"{indent} */"]
