"""`pioneer settings`, which shows and changes settings, and `pioneer config`, which writes and checks their file."""

import argparse
import os
import sys
from pathlib import Path
from typing import Any

from gateway.base.exit_codes import CONFIG, NO_INPUT, OK, USAGE
from gateway.doors.commands import Command
from gateway.doors.commands.door import home_of, read_configuration, through_door
from gateway.doors.commands.options import add_home, add_json
from gateway.doors.terminal.exits import Stop, writing
from gateway.doors.terminal.screen import plain, say, show_json, show_table
from gateway.home.config_keys import to_variable
from protocol import methods as m
from protocol.reference.setting_table import Setting, settings, toml
from protocol.settings import PATCHABLE, SettingsResult

# -- settings ----------------------------------------------------------------------------------------------------------


def _arrange_settings(to: argparse.ArgumentParser) -> None:
    to.add_argument(
        "what",
        nargs="?",
        choices=("get", "set", "unset"),
        default="get",
        help="default: get; unset: back to the default",
    )
    to.add_argument("key", nargs="?", metavar="KEY", help="such as gateway.memory.review_enabled")
    to.add_argument("value", nargs="?", metavar="VALUE", help="for set")
    to.add_argument("--origin", action="store_true", help="with where each value comes from")
    add_home(to)
    add_json(to)


def to_file_key(key: str) -> str:
    """Return the full key of a setting in the file."""
    return f"gateway.{key}"


def setting_of(key: str) -> Setting:
    """Return the setting of a key, with or without `gateway.`. Raises `Stop` with the nearest known key."""
    import difflib  # noqa: PLC0415  # needed only where something is wrong

    known = {setting.key: setting for setting in settings()}
    if (found := known.get(key.removeprefix("gateway."))) is not None:
        return found
    near = difflib.get_close_matches(key.removeprefix("gateway."), known, n=1)
    meant = f"; did you mean {to_file_key(near[0])}?" if near else ""
    raise Stop(USAGE, f"there is no setting {plain(key)!r}{meant}")


def _value(setting: Setting, text: str) -> Any:
    """Return the value that a word of the command line means: `true`, `30`, or a text without quotes.

    Raises `Stop` for a value that the setting does not take.
    """
    try:
        return setting.parse(text)
    except ValueError:
        raise Stop(USAGE, f"{to_file_key(setting.key)} takes {setting.allowed}") from None


def _settings(given: argparse.Namespace) -> int:
    if (given.value is not None) != (given.what == "set") or (given.key is None and given.what != "get"):
        raise Stop(USAGE, "write `settings get [KEY]`, `settings set KEY VALUE` or `settings unset KEY`")
    wanted = setting_of(given.key) if given.key is not None else None
    if wanted is not None and wanted.group == "providers":
        raise Stop(USAGE, "providers have names: `pioneer settings` shows them, config.toml has their keys")
    if given.what == "get":
        store = read_configuration(given)  # as `settings/get` has it, with or without a home
        result = SettingsResult(settings=store.view(), origins=store.origins() if given.origin else None)
    else:
        params = {"update": _update(wanted, given)}
        result = through_door(given, lambda door: door.call(m.SETTINGS_UPDATE, params), makes_home=True)
        _warn_of_override(wanted)
    if given.json:
        show_json(_describe(result, wanted) if wanted is not None and given.what == "get" else result)
    else:
        _show_settings(result, wanted)
    return OK


def _warn_of_override(setting: Setting | None) -> None:
    """Write on stderr that a variable of the environment overrides the value in the file, if one does."""
    if setting is not None and (variable := to_variable(setting.key)) in os.environ:
        sys.stderr.write(f"pioneer: {variable} is set here, and stronger than the file\n")


def _update(setting: Setting | None, given: argparse.Namespace) -> dict[str, Any]:
    """Return the patch for `settings/update`. Raises `Stop`."""
    if setting is None or setting.group not in PATCHABLE:
        raise Stop(USAGE, f"{given.key} is changed in config.toml alone, and holds from the next start on")
    return {setting.group: {setting.name: _value(setting, given.value) if given.what == "set" else None}}


def _describe(result: SettingsResult, setting: Setting) -> dict[str, Any]:
    """Return one setting as `settings get KEY --json` shows it."""
    origin = {"origin": result.origins[setting.key]} if result.origins is not None else {}
    return {"key": setting.key, "value": _in_force(result, setting), "default": setting.default, **origin}


def _show_settings(result: SettingsResult, wanted: Setting | None) -> None:
    shown = [wanted] if wanted is not None else [one for one in settings() if one.group != "providers"]
    origins = result.origins
    show_table(
        ["key", "value", *(["origin"] if origins is not None else []), "default", "meaning"],
        [
            [
                to_file_key(one.key),
                _current(result, one),
                *([origins[one.key]] if origins is not None else []),
                one.shown_default,
                one.meaning,
            ]
            for one in shown
        ],
    )
    if wanted is None:
        for name, provider in result.settings.providers.items():
            say(f"provider {plain(name)}: {provider.kind}, {plain(provider.model or 'no model named')}")


def _in_force(result: SettingsResult, setting: Setting) -> Any:
    return getattr(getattr(result.settings, setting.group), setting.name)


def _current(result: SettingsResult, setting: Setting) -> str:
    value = _in_force(result, setting)
    return "unset" if value is None else toml(value)


# -- config ------------------------------------------------------------------------------------------------------------


def _arrange_config(to: argparse.ArgumentParser) -> None:
    to.add_argument(
        "what",
        choices=("init", "check"),
        help="write config.toml with every key as a comment, or explain what is wrong with one",
    )
    to.add_argument("--force", action="store_true", help="for init: replace a file that is there")
    add_home(to)
    add_json(to)


def _file_of(given: argparse.Namespace) -> Path:
    return (given.config or home_of(given) / "config.toml").absolute()


def _config(given: argparse.Namespace) -> int:
    return _init(given) if given.what == "init" else _check(given)


def _init(given: argparse.Namespace) -> int:
    from gateway.base.durable_file import publish  # noqa: PLC0415
    from protocol.reference.pages import render_commented_config  # noqa: PLC0415

    path = _file_of(given)
    if path.exists() and not given.force:
        raise Stop(USAGE, "the file is there already; --force replaces it")
    with writing(path):
        publish(path, render_commented_config().encode())
    if given.json:
        show_json({"file": str(path)})
    else:
        say(f"written: {plain(str(path))}", "green")
    return OK


def _check(given: argparse.Namespace) -> int:
    from gateway.home.config_check import find_environment_problems, find_problems  # noqa: PLC0415

    path = _file_of(given)
    text = ""
    try:
        text = path.read_bytes().decode("utf-8-sig")
    except FileNotFoundError:
        if given.config is not None:
            raise Stop(NO_INPUT, "there is no such file") from None
    except UnicodeDecodeError:
        raise Stop(CONFIG, "the file is not UTF-8") from None
    found = [*find_environment_problems(os.environ, text), *find_problems(text)]
    if given.json:
        show_json({"problems": [one._asdict() for one in found]})
    elif not found:
        say("nothing is wrong with it" if path.exists() else "there is no file: every setting has its default", "green")
    for one in [] if given.json else found:
        where = f"line {one.line}: " if one.line is not None else ""
        say(f"{where}{plain(one.key)}: {plain(one.problem)}" if one.key else f"{where}{plain(one.problem)}", "red")
        if one.hint:
            say(f"    {plain(one.hint)}")
    return CONFIG if found else OK


COMMANDS = {
    "settings": Command(
        _arrange_settings,
        _settings,
        "  pioneer settings\n  pioneer settings get gateway.memory.retention_days\n"
        "  pioneer settings set gateway.memory.review_enabled true\n"
        "  pioneer settings unset gateway.memory.review_enabled",
    ),
    "config": Command(_arrange_config, _config, "  pioneer config init\n  pioneer config check --config ./config.toml"),
}
