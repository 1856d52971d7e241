"""YAML of strangers: tables and lists of texts, and nothing else of the language.

Rule 1: every scalar is a text; its reader decides what it means, so that `no` stays a word.
Rule 2: an anchor, a tag, a second document or deep nesting ends the reading: none is needed, and each is a way to make
a small text large or slow.
"""

from typing import TYPE_CHECKING, Any, cast

from msgspec import Struct

if TYPE_CHECKING:  # the process that reads files has no use for the wire
    from protocol.guidance import AgentProblemCause

MAX_BYTES = 16 * 1024
MAX_DEPTH = 32


class NotPlainYamlError(Exception):
    """The text is no YAML, or more of it than is read here: the cause, and its line from 1 where there is one."""

    def __init__(self, cause: "AgentProblemCause", line: int | None = None) -> None:
        self.cause: AgentProblemCause = cause
        self.line = line
        super().__init__(cause, line)


class PlainYaml(Struct, frozen=True):
    """The table that a text holds, and the line of each of its keys, from 1."""

    table: dict[str, Any]
    lines: dict[str, int]


def read_plain_yaml(text: str) -> PlainYaml:
    """Return the table that a text holds; an empty one for an empty text. Raises `NotPlainYamlError`."""
    if len(text.encode()) > MAX_BYTES:
        raise NotPlainYamlError("too_large")
    import yaml  # noqa: PLC0415  # a gateway without such files never needs it

    module: Any = yaml
    reader = _Reader(module)
    try:
        for event in module.parse(text, Loader=getattr(module, "CBaseLoader", module.BaseLoader)):
            reader.take(event)
    except (module.YAMLError, RecursionError, ValueError) as error:
        mark = getattr(error, "problem_mark", None)  # its words may be those of the file
        last = text.removesuffix("\n").count("\n")  # what is not closed is missed behind the end
        raise NotPlainYamlError("syntax", min(mark.line, last) + 1 if mark is not None else None) from None
    return reader.result()


class _Level(Struct, frozen=True):
    """A table or list that is being read: keys and values in turn, or values; a list has no keys."""

    values: list[Any]
    keys: dict[str, int] | None


class _Reader:
    """Builds the value of a stream of events."""

    def __init__(self, module: Any) -> None:
        self._yaml = module
        self._levels: list[_Level] = []
        self._done: list[Any] = []
        self._keys: dict[str, int] = {}

    def result(self) -> PlainYaml:
        """Return what was read. Raises `NotPlainYamlError` where it is no table."""
        value = self._done[0] if self._done else ""
        if value == "":
            return PlainYaml({}, {})
        if not isinstance(value, dict):
            raise NotPlainYamlError("no_table", 1)
        return PlainYaml(cast("dict[str, Any]", value), self._keys)

    def take(self, event: Any) -> None:
        """Read an event further. Raises `NotPlainYamlError`."""
        yaml, line = self._yaml, event.start_mark.line + 1
        if isinstance(event, yaml.AliasEvent) or getattr(event, "anchor", None):
            raise NotPlainYamlError("anchor", line)
        if getattr(event, "tag", None):
            raise NotPlainYamlError("tag", line)
        if isinstance(event, yaml.DocumentStartEvent) and self._done:
            raise NotPlainYamlError("second_document", line)
        if isinstance(event, yaml.ScalarEvent):
            self._put(event.value, line)
        elif isinstance(event, yaml.MappingStartEvent | yaml.SequenceStartEvent):
            if len(self._levels) == MAX_DEPTH:
                raise NotPlainYamlError("too_deep", line)
            self._levels.append(_Level([], {} if isinstance(event, yaml.MappingStartEvent) else None))
        elif isinstance(event, yaml.MappingEndEvent | yaml.SequenceEndEvent):
            ended = self._levels.pop()
            values, keys = ended.values, ended.keys
            if keys is not None and not self._levels:
                self._keys = keys
            self._put(values if keys is None else dict(zip(values[::2], values[1::2], strict=True)), line)

    def _put(self, value: Any, line: int) -> None:
        """Add a value where it belongs; as a key only a text, and once."""
        if not self._levels:
            self._done.append(value)
            return
        values, keys = self._levels[-1].values, self._levels[-1].keys
        if keys is not None and len(values) % 2 == 0:
            if not isinstance(value, str):
                raise NotPlainYamlError("key_not_text", line)
            if value in keys:
                raise NotPlainYamlError("double_key", line)
            keys[value] = line
        values.append(value)
