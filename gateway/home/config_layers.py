"""Settings from the environment, which are stronger than the file: `PIONEER_<SECTION>__<KEY>`.

Rule 1: pure. A value of the wrong kind is a problem that names its variable; the value itself is never shown.
Rule 2: providers have names of their own and stand in the file alone.
"""

from collections.abc import Collection, Mapping
from typing import Any

import msgspec
from msgspec import Struct

from gateway.home.config_keys import UnknownKey, find_nearest, from_variable, to_variable
from protocol.reference.setting_table import Setting, settings
from protocol.settings import GatewayConfig

PLACES = frozenset({"PIONEER_HOME", "PIONEER_WORKSPACE"})
"""The variables that are no settings: they name a place in which a command works."""
NEAR = 0.8
"""The likeness (of difflib) from which a name is offered in place of another: one slip in eight letters."""


class WrongValue(Struct, frozen=True):
    """A variable whose value its setting does not take, with the reason."""

    variable: str
    problem: str

    def __str__(self) -> str:
        """Return one sentence for a person."""
        return f"{self.variable}: {self.problem}"


class Overlay(Struct, frozen=True):
    """The environment's settings: values by table and key, variables that name no setting, and wrong values."""

    values: dict[str, dict[str, Any]]
    unknown: list[UnknownKey]
    wrong: list[WrongValue]

    def apply(self, config: GatewayConfig) -> GatewayConfig:
        """Return the settings with the environment's values in place of theirs."""
        changed = {
            table: msgspec.structs.replace(getattr(config, table), **values) for table, values in self.values.items()
        }
        return msgspec.structs.replace(config, **changed) if changed else config

    def without(self, key: str, problem: str) -> "Overlay":
        """Return the overlay without its values of the key's table; each of them becomes a wrong value."""
        table, _, _ = key.partition(".")
        values = dict(self.values)
        dropped = [
            WrongValue(to_variable(f"{table}.{name}"), f"with it, {key} {problem}") for name in values.pop(table)
        ]
        return Overlay(values, self.unknown, [*self.wrong, *dropped])

    def has(self, setting: Setting) -> bool:
        """Return whether the environment gives this setting its value."""
        return setting.name in self.values.get(setting.group, {})


def read_environment(environ: Mapping[str, str]) -> Overlay:
    """Return the settings that the variables of an environment give."""
    named = {name: key for name in sorted(environ) if (key := from_variable(name)) is not None}
    overlay = Overlay({}, [], [])
    known = {one.key: one for one in settings() if one.group != "providers"} if named else {}
    for name, key in named.items():
        setting = known.get(key)
        if setting is None:
            near = find_nearest(key)
            is_variable = near is not None and near.removeprefix("gateway.") in known
            overlay.unknown.append(UnknownKey(name, to_variable(near) if near and is_variable else near, None))
            continue
        try:
            overlay.values.setdefault(setting.group, {})[setting.name] = setting.parse(environ[name])
        except ValueError:
            overlay.wrong.append(WrongValue(name, f"takes {setting.allowed}"))
    return overlay


def find_unread(environ: Mapping[str, str], others: Collection[str]) -> list[tuple[str, str | None]]:
    """Return variables that begin like ours and are read by nothing, each with the nearest one that is.

    `others` are names that a configuration gives, such as those of keys.
    """
    from difflib import get_close_matches  # noqa: PLC0415  # the doctor alone asks

    read = {*PLACES, *(to_variable(one.key) for one in settings() if one.group != "providers")}
    unread = [
        name
        for name in sorted(environ)
        if name.startswith("PIONEER_") and from_variable(name) is None and name not in PLACES and name not in others
    ]
    return [(name, next(iter(get_close_matches(name, read, n=1, cutoff=NEAR)), None)) for name in unread]
