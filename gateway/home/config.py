"""config.toml: read strictly, changed with its comments kept, watched for changes by others.

Rule 1: the meaning and bounds of a key stand in `protocol.settings`; this module only reads it from the file and writes
it.
Rule 2: a problem names the key and never shows its value.
Rule 3: a file is published whole, and only after its text was read back and gave the intended settings.
"""

import errno
import math
import os
import re
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal, TypeVar, cast, get_args, get_origin
from urllib.parse import urlsplit

import msgspec
from filelock import FileLock, Timeout
from msgspec import UNSET

from gateway.base.complaints import to_words
from gateway.base.durable_file import publish
from gateway.home.config_keys import UnknownKey, find_unknown
from gateway.home.config_layers import Overlay, WrongValue, read_environment
from gateway.home.folder import problem_of_relative
from promt.patterns import compile_late
from protocol.errors import CallerError, Defect, Unavailable
from protocol.reference.setting_table import settings
from protocol.settings import (
    PATCHABLE,
    GatewayConfig,
    Origin,
    ProviderView,
    Settings,
    apply_patch,
    contradiction,
)

LOCK_SECONDS = 5.0
"""Another process holds the file for as long as one update takes: milliseconds."""

FULL = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG})
"""The error numbers by which platforms report a full disk."""

G = TypeVar("G", bound=msgspec.Struct)

_AT = compile_late(r"^(?P<problem>.*?)(?: - at `\$\.?(?P<path>[^`]*)`)?$", re.DOTALL)
_HEADER = compile_late(r"^\s*\[\s*gateway\b", re.MULTILINE)
_MISSING = compile_late(r"required field `(?P<name>[^`]*)`")


class ConfigError(Exception):
    """The file cannot be used; one line names the key and the problem, never a value."""


def _table(value: Any, key: str) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise ConfigError(f"{key}: must be a table")
    return cast("dict[str, Any]", value)


def _problem(group: type[msgspec.Struct], key: str, error: msgspec.ValidationError) -> str:
    """Return the decoder's complaint as one line, without the value that it may quote."""
    found = _AT.match(str(error))
    problem, path = (found["problem"], found["path"]) if found else ("is not valid", None)
    if missing := _MISSING.search(problem):
        return f"{key}.{missing['name']}: is required"
    types = {info.name: info.type for info in msgspec.structs.fields(group)}
    if get_origin(types.get(path or "")) is Literal:
        problem = f"must be one of {', '.join(get_args(types[path or '']))}"
    return ": ".join([".".join([key, *([path] if path else [])]), to_words(problem)])


def _group(kind: type[G], value: Any, key: str, unknown: list[str]) -> G:
    """Return one table as its Struct; keys that do not exist are added to `unknown`. Raises `ConfigError`."""
    table = _table(value, key)
    unknown += [f"{key}.{name}" for name in table if name not in kind.__struct_fields__]
    members = {name: member for name, member in table.items() if name in kind.__struct_fields__}
    for name, member in members.items():
        if isinstance(member, float) and math.isnan(member):  # fits every bound, as it is neither above nor below
            raise ConfigError(f"{key}.{name}: must be a number")
    for info in msgspec.structs.fields(kind):
        if info.encode_name in members and (inner := _kind_of_tables(info.type)) is not None:
            place = f"{key}.{info.encode_name}"
            members[info.encode_name] = _tables(inner, members[info.encode_name], place, unknown)
    try:
        return msgspec.convert(members, kind)
    except msgspec.ValidationError as error:
        raise ConfigError(_problem(kind, key, error)) from None


def _kind_of_tables(kind: Any) -> type[msgspec.Struct] | None:
    """Return the Struct of a type whose value is a table of named tables."""
    inner = get_args(kind)[1] if get_origin(kind) is dict else None
    return inner if isinstance(inner, type) and issubclass(inner, msgspec.Struct) else None


def _tables(kind: type[G], value: Any, key: str, unknown: list[str]) -> dict[str, G]:
    return {name: _group(kind, one, f"{key}.{name}", unknown) for name, one in _table(value, key).items()}


def read(text: str) -> tuple[GatewayConfig, list[str]]:
    """Return the settings that a file's text gives, and the dotted names of keys that do not exist.

    Raises `ConfigError`.
    """
    return to_settings(parse(text))


def parse(text: str) -> dict[str, Any]:
    """Return the tables of a TOML text. Raises `ConfigError` for other text."""
    try:
        return tomllib.loads(text)
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        where = re.search(r" \(at [^)]*\)$", str(error))
        raise ConfigError(f"The configuration is not TOML{where[0] if where else ''}") from None


def to_settings(document: dict[str, Any]) -> tuple[GatewayConfig, list[str]]:
    """Return the settings of a parsed file, and the dotted names of keys that do not exist. Raises `ConfigError`."""
    tables = _table(document.get("gateway", {}), "gateway")
    kinds = {info.name: info.type for info in msgspec.structs.fields(GatewayConfig)}
    unknown = [name for name in document if name != "gateway"]
    unknown += [f"gateway.{name}" for name in tables if name not in kinds]
    groups: dict[str, Any] = {}
    for name in kinds.keys() & tables.keys():
        key = f"gateway.{name}"
        inner = _kind_of_tables(kinds[name])
        groups[name] = (
            _tables(inner, tables[name], key, unknown)
            if inner is not None
            else _group(kinds[name], tables[name], key, unknown)
        )
    config = GatewayConfig(**groups)
    if found := problem_of(config):
        raise ConfigError(f"gateway.{found[0]}: {found[1]}")
    return config, sorted(unknown)


def problem_of(config: GatewayConfig) -> tuple[str, str] | None:
    """Return the first contradiction among well-formed settings as (dotted key, problem), or None."""
    if problem := problem_of_relative(config.memory.capsules_dir):
        return "memory.capsules_dir", problem
    return contradiction(config)


def apply_environment(filed: GatewayConfig, layer: Overlay) -> tuple[GatewayConfig, Overlay]:
    """Return the file's settings below those of the environment, and the layer without values that cannot hold."""
    while (config := layer.apply(filed)) is not filed and (found := problem_of(config)):
        layer = layer.without(*found)
    return config, layer


def patch_text(text: str, update: msgspec.Struct) -> str:
    """Return the file's text with a patch applied: comments and order stay, a null takes its key out."""
    import tomlkit  # noqa: PLC0415  # a gateway whose settings are not changed never needs it

    document: Any = tomlkit.parse(text)
    has_own_style = "gateway" in document and not _HEADER.search(text)
    new_table = tomlkit.inline_table if has_own_style else tomlkit.table
    root = document.setdefault("gateway", tomlkit.table(is_super_table=True))
    for group in PATCHABLE:
        patch = getattr(update, group)
        if patch is UNSET:
            continue
        members = {name: value for name in patch.__struct_fields__ if (value := getattr(patch, name)) is not UNSET}
        if group not in root and any(value is not None for value in members.values()):
            root[group] = new_table()
        for name, value in members.items():
            if isinstance(value, (msgspec.Struct, dict)):  # a table of a few keys stands in one line
                members_of = msgspec.to_builtins(value)
                root[group][name] = tomlkit.inline_table()
                root[group][name].update({key: one for key, one in members_of.items() if one is not None})
            elif value is not None:
                root[group][name] = value
            elif name in root.get(group, {}):
                del root[group][name]
    return tomlkit.dumps(document)


def strip_url_credentials(url: str | None) -> str | None:
    """Return an address without the parts that may hold a credential."""
    if url is None:
        return None
    try:
        parts = urlsplit(url)
        return parts._replace(netloc=parts.netloc.rpartition("@")[2], query="", fragment="").geturl()
    except ValueError:  # not an address at all; calls to it fail with that reason
        return None


class ConfigStore:
    """The settings in force and the file that they come from. An absent file means every default."""

    def __init__(self, path: Path, *, is_named: bool = False, environ: Mapping[str, str] = os.environ) -> None:
        self._path = path.resolve()
        self._is_named = is_named
        self._overlay = read_environment(environ)
        self.folder = self._path.parent
        """The folder from which relative paths of providers start."""
        self.problem: str | None = None
        """The reason for which the file is not in force as it is now; None when it is."""
        self._stamp = self._look()
        self._take(self._text())

    @property
    def is_missing(self) -> bool:
        """Return whether a named file does not exist: more likely a slip than a wish for every default."""
        return self._is_named and self._stamp is None

    def update(self, patch: msgspec.Struct) -> GatewayConfig:
        """Apply `SettingsUpdateParams.update` to the file and the settings in force, as a whole; return the settings.

        Raises `CallerError` for values that contradict each other, `Unavailable` for a file that cannot be changed.
        """
        try:
            with FileLock(self._path.with_name(f".{self._path.name}.lock"), timeout=LOCK_SECONDS):
                return self._update(patch)
        except Timeout:
            raise Unavailable(message="Another process is changing the configuration.") from None
        except ConfigError as error:
            raise Unavailable(message=f"The configuration file must be mended first: {error}") from None
        except OSError as error:
            reason = "storage_full" if error.errno in FULL else "storage_read_only"
            raise Unavailable(reason, "The configuration file cannot be written.") from error

    @property
    def has_changed(self) -> bool:
        """Return whether the file is another than the one that was read last."""
        return self._look() != self._stamp

    def refresh(self) -> bool:
        """Read the file again if it changed; return whether it did. A bad file leaves the settings in force."""
        stamp = self._look()
        if stamp == self._stamp:
            return False
        self._stamp = stamp
        try:
            self._take(self._text())
            self.problem = None
        except ConfigError as error:
            self.problem = str(error)
        return True

    def require_known(self) -> None:
        """Check that all tables, keys and variables are settings, and their values taken.

        Raises `ConfigError` that names the first which is not.
        """
        if self.wrong_values:
            raise ConfigError(str(self.wrong_values[0]))
        if self.unknown_keys:
            more = len(self.unknown_keys) - 1
            rest = f" (and {more} more; `pioneer config check` lists them)" if more else ""
            raise ConfigError(f"{self.unknown_keys[0]}{rest}")

    def origins(self) -> dict[str, Origin]:
        """Return the origin of each value in force, by dotted key; a provider is one entry, always of the file."""
        tables = parse(self._in_force).get("gateway", {})
        found: dict[str, Origin] = {
            one.key: "environment"
            if self._layer.has(one)
            else "file"
            if one.name in tables.get(one.group, {})
            else "default"
            for one in settings()
            if one.group != "providers"
        }
        of_providers: dict[str, Origin] = {f"providers.{name}": "file" for name in self.config.providers}
        return found | of_providers

    def view(self) -> Settings:
        """Return the settings as `settings/get` shows them."""
        config = self.config
        providers = {
            name: ProviderView(
                kind=provider.kind,
                model=provider.model,
                base_url=strip_url_credentials(provider.base_url),
                has_key=bool(provider.api_key_env and os.environ.get(provider.api_key_env)),
            )
            for name, provider in config.providers.items()
        }
        groups = {name: getattr(config, name) for name in config.__struct_fields__ if name != "providers"}
        upstreams = {
            name: msgspec.structs.replace(one, base_url=strip_url_credentials(one.base_url) or "")
            for name, one in config.proxy.upstreams.items()
        }
        groups["proxy"] = msgspec.structs.replace(config.proxy, upstreams=upstreams)
        return Settings(**groups, providers=providers)

    def _take(self, text: str) -> None:
        """Put a file's text in force, below the environment's values. Raises `ConfigError`."""
        filed, unknown = read(text)
        self.config = self._with_environment(filed)
        self._filed, self._in_force = filed, text
        self.unknown_keys: list[UnknownKey] = [
            *(find_unknown(unknown, text) if unknown else []),
            *self._overlay.unknown,
        ]

    def _with_environment(self, filed: GatewayConfig) -> GatewayConfig:
        config, self._layer = apply_environment(filed, self._overlay)
        return config

    @property
    def wrong_values(self) -> list[WrongValue]:
        """Return variables whose values are not in force: a server reports them to its client, a command ends."""
        return self._layer.wrong

    def _update(self, patch: msgspec.Struct) -> GatewayConfig:
        self.refresh()
        if self.problem is not None:
            raise ConfigError(self.problem)
        config = apply_patch(self._filed, patch)
        if found := problem_of(config):
            raise CallerError.at(f"$.update.{found[0]}", found[1])
        before = self._text()
        text = patch_text(before, patch)
        if read(text)[0] != config:
            raise Defect(message="The configuration would not say what was asked for; it was left as it is.")
        if text != before:
            publish(self._path, text.encode())
        self._stamp = self._look()
        self._take(text)
        return self.config

    def _look(self) -> tuple[int, ...] | None:
        try:
            found = self._path.stat()
        except OSError:  # absent, or forbidden: reading it raises the right error
            return None
        return found.st_mtime_ns, found.st_size, found.st_ino  # a file that was published anew is another

    def _text(self) -> str:
        try:
            return self._path.read_bytes().decode("utf-8-sig")
        except FileNotFoundError:
            return ""
        except UnicodeDecodeError:
            raise ConfigError("The configuration is not UTF-8") from None
        except OSError as error:
            raise ConfigError(f"The configuration cannot be read ({type(error).__name__})") from None
