"""The names of settings: their lines in a file, and the nearest known name of a wrong one.

Rule 1: pure. A value is never looked at, so none can be shown.
"""

from collections.abc import Iterable, Mapping

import msgspec
from msgspec import Struct

from promt.patterns import compile_late
from protocol.reference.setting_meanings import GROUPS, MEANINGS
from protocol.settings import ProviderConfig, UpstreamSettings

_TABLE = compile_late(r"\s*\[\s*([^\[\]]+?)\s*\]")
_KEY = compile_late(r"\s*([A-Za-z0-9_.\"' -]+?)\s*=")
_ROOT = "gateway."
NAMED_TABLES: Mapping[str, type[msgspec.Struct]] = {"providers": ProviderConfig, "proxy.upstreams": UpstreamSettings}
"""The tables that hold tables with names of a person's own."""
_VARIABLE = compile_late(r"PIONEER_(?P<table>[A-Z][A-Z0-9_]*?)__(?P<name>[A-Z0-9_]+)")


class UnknownKey(Struct, frozen=True):
    """A table, key or variable that does not exist: as it was written, the nearest known one, its line in the file."""

    key: str
    nearest: str | None
    line: int | None

    def __str__(self) -> str:
        """Return one sentence for a person."""
        where = f"line {self.line}: " if self.line is not None else ""
        hint = f"; did you mean {self.nearest}?" if self.nearest is not None else ""
        return f"{where}there is no setting {self.key}{hint}"


def find_lines(text: str) -> dict[str, int]:
    """Return the line of each key and table of a file, by dotted name."""
    places: dict[str, int] = {}
    table = ""
    for number, line in enumerate(text.splitlines(), 1):
        if (header := _TABLE.match(line)) is not None:
            table = _bare(header[1])
            places.setdefault(table, number)
        elif (entry := _KEY.match(line)) is not None and not line.lstrip().startswith("#"):
            name = _bare(entry[1])
            places.setdefault(f"{table}.{name}" if table else name, number)
    return places


def _bare(name: str) -> str:
    return ".".join(part.strip(" \"'") for part in name.split("."))


def find_line(places: dict[str, int], key: str) -> int | None:
    """Return the line of a key; else of the first entry below it, else of the nearest table around it."""
    below = [line for name, line in places.items() if name == key or name.startswith(f"{key}.")]
    if below:
        return min(below)
    above, _, _ = key.rpartition(".")
    return find_line(places, above) if above else None


def find_nearest(key: str) -> str | None:
    """Return the known table or key that a name most likely means, as a file has it; None where none is near."""
    import difflib  # noqa: PLC0415  # needed only where something is wrong

    bare = key.removeprefix(_ROOT)
    table, _, name = bare.rpartition(".")
    known = _list_possible_names(bare)
    if bare in known:
        return _ROOT + bare
    namesakes = [one for one in known if one.rpartition(".")[2] == name]
    if len(namesakes) == 1:
        return _ROOT + namesakes[0]
    beside = {one.rpartition(".")[2]: one for one in known if one.rpartition(".")[0] == table}
    candidates = beside if table and beside else {one: one for one in known}
    near = difflib.get_close_matches(name if candidates is beside else bare, candidates, n=1)
    return _ROOT + candidates[near[0]] if near else None


def _list_possible_names(bare: str) -> list[str]:
    """Return every name that could be meant: of a provider or an upstream its own keys, else all tables and keys."""
    named = table_of(bare)
    if named is not None:
        own, kind = named
        return [f"{own}.{name}" for name in kind.__struct_fields__]
    return [*GROUPS, *MEANINGS]


def table_of(bare: str) -> tuple[str, type[msgspec.Struct]] | None:
    """Return the table with a name of its own that a key stands in, and its type; None for another key."""
    for tables, kind in NAMED_TABLES.items():
        name, _, rest = bare.removeprefix(f"{tables}.").rpartition(".")
        if bare.startswith(f"{tables}.") and name and rest:
            return f"{tables}.{name}", kind
    return None


def find_unknown(names: Iterable[str], text: str) -> list[UnknownKey]:
    """Return unknown names of a file with their lines and nearest known names, in the order of the file."""
    places = find_lines(text)
    found = [UnknownKey(name, find_nearest(name), find_line(places, name)) for name in names]
    return sorted(found, key=lambda one: one.line or 0)


def to_variable(key: str) -> str:
    """Return the environment variable that overrides a key: `memory.enabled` is `PIONEER_MEMORY__ENABLED`."""
    table, _, name = key.removeprefix(_ROOT).rpartition(".")
    return f"PIONEER_{table.upper()}__{name.upper()}"


def from_variable(variable: str) -> str | None:
    """Return the dotted key that an environment variable names; None for a variable of another form."""
    found = _VARIABLE.fullmatch(variable)
    return f"{found['table'].lower()}.{found['name'].lower()}" if found else None
