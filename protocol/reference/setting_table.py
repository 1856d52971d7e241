"""The settings as a table: each key with its type, bounds, default and meaning, read from `protocol.settings`.

Rule 1: only declared settings are listed; their words stand in `protocol.reference.setting_meanings`.
"""

import json
import math
import types
from collections.abc import Iterator
from typing import Annotated, Any, Literal, Union, get_args, get_origin

import msgspec
from msgspec import Struct

from protocol.reference.setting_meanings import MEANINGS
from protocol.settings import GatewayConfig, ProviderConfig


class Setting(Struct, frozen=True):
    """One key of config.toml."""

    group: str
    name: str
    kind: Any
    allowed: str
    default: Any
    is_required: bool

    @property
    def key(self) -> str:
        """Return the key as `group.name`."""
        return f"{self.group}.{self.name}"

    @property
    def meaning(self) -> str:
        """Return the setting's meaning, in one sentence."""
        return MEANINGS[self.key]

    @property
    def shown_default(self) -> str:
        """Return the default as the file would have it."""
        return "unset" if self.default is None or self.is_required else toml(self.default)

    def parse(self, text: str) -> Any:
        """Return the value that words mean: `true`, `30`, a text without quotes, a table or a list as TOML has it.

        Raises `ValueError`.
        """
        if toml(self.default).startswith(("{", "[")):
            return msgspec.convert(msgspec.toml.decode(f"value = {text}")["value"], self.kind)
        value = msgspec.convert(text, self.kind, strict=False)
        if isinstance(value, float) and math.isnan(value):  # it passes every bound, being neither above nor below
            raise ValueError(self.key)
        return value


def toml(value: Any) -> str:
    """Return a setting's value as TOML: JSON where both agree, and a table in one line."""
    if isinstance(value, (msgspec.Struct, dict)):
        members = msgspec.to_builtins(value).items()
        inner = ", ".join(f"{name} = {toml(member)}" for name, member in members if member is not None)
        return f"{{ {inner} }}" if inner else "{}"
    return json.dumps(value, ensure_ascii=False)


def groups() -> dict[str, type[msgspec.Struct]]:
    """Return every table of the file by its name; `providers` stands for each provider's own."""
    fields = msgspec.structs.fields(GatewayConfig)
    return {field.name: ProviderConfig if field.name == "providers" else field.type for field in fields}


def settings() -> Iterator[Setting]:
    """Yield every key, in the order of the declarations."""
    for group, kind in groups().items():
        yield from settings_of(group, kind)


def settings_of(group: str, kind: type[msgspec.Struct]) -> Iterator[Setting]:
    """Yield every key of a table."""
    for field in msgspec.structs.fields(kind):
        allowed = describe_allowed(field.type)
        yield Setting(group, field.name, field.type, allowed, _default_of(field), field.required)


def _default_of(field: msgspec.structs.FieldInfo) -> Any:
    """Return the default of a field; None of one that is required."""
    if field.required:
        return None
    return field.default_factory() if field.default is msgspec.NODEFAULT else field.default


def describe_allowed(kind: Any) -> str:
    """Return the values of a type, in a few words."""
    if isinstance(kind, type) and issubclass(kind, msgspec.Struct):
        return "; ".join(f"{field.name}: {describe_allowed(field.type)}" for field in msgspec.structs.fields(kind))
    origin = get_origin(kind)
    if origin in {Union, types.UnionType}:
        return " or ".join(describe_allowed(part) for part in get_args(kind) if part is not type(None))
    if origin is list:
        return f"list of: {describe_allowed(get_args(kind)[0])}"
    if origin is Literal:
        return ", ".join(json.dumps(value) for value in get_args(kind))
    if origin is Annotated:
        base, *metas = get_args(kind)
        bounds = "".join(_bounds(meta, base) for meta in metas if isinstance(meta, msgspec.Meta))
        return f"{describe_allowed(base)}{bounds}"
    if origin is dict:
        return f"a table of names, each with: {describe_allowed(get_args(kind)[1])}"
    return {bool: "true or false", int: "whole number", float: "number", str: "text"}[kind]


def _bounds(meta: msgspec.Meta, base: Any) -> str:
    low, high = meta.ge, meta.le
    if low is not None or high is not None:
        return f", {low} to {high}"
    if meta.max_length is not None:
        return f", at most {meta.max_length} {'entries' if get_origin(base) is list else 'characters'}"
    return ""
