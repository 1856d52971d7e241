"""YAML of strangers: tables and lists of texts, and nothing else of the language.

Rule 1: every scalar is a text; its reader decides what it means, so that `no` stays a word.
Rule 2: an anchor, a tag, a second document or deep nesting ends the reading: none is needed, and each is a way to make
a small text large or slow.
"""

from typing import Any, cast

MAX_BYTES = 16 * 1024
MAX_DEPTH = 32


class NotPlainYamlError(Exception):
    """The text is no YAML, or more of it than is read here."""


def read_plain_yaml(text: str) -> dict[str, Any]:
    """Return the table that a text holds; an empty one for an empty text. Raises `NotPlainYamlError`."""
    if len(text.encode()) > MAX_BYTES:
        raise NotPlainYamlError
    import yaml  # noqa: PLC0415  # a gateway without such files never needs it

    module: Any = yaml
    try:
        events = module.parse(text, Loader=getattr(module, "CBaseLoader", module.BaseLoader))
        value = _Reader(module).read(events)
    except (module.YAMLError, RecursionError, ValueError):
        raise NotPlainYamlError from None
    if value == "":
        return {}
    if not isinstance(value, dict):
        raise NotPlainYamlError
    return cast("dict[str, Any]", value)


class _Reader:
    """Builds the value of a stream of events."""

    def __init__(self, module: Any) -> None:
        self._yaml = module
        self._stack: list[list[Any]] = []
        self._is_table: list[bool] = []
        self._done: list[Any] = []

    def read(self, events: Any) -> Any:
        for event in events:
            self._take(event)
        if len(self._done) > 1:
            raise NotPlainYamlError
        return self._done[0] if self._done else ""

    def _take(self, event: Any) -> None:
        yaml = self._yaml
        if isinstance(event, yaml.AliasEvent) or getattr(event, "anchor", None) or getattr(event, "tag", None):
            raise NotPlainYamlError
        if isinstance(event, yaml.ScalarEvent):
            self._put(event.value)
        elif isinstance(event, yaml.MappingStartEvent | yaml.SequenceStartEvent):
            if len(self._stack) == MAX_DEPTH:
                raise NotPlainYamlError
            self._stack.append([])
            self._is_table.append(isinstance(event, yaml.MappingStartEvent))
        elif isinstance(event, yaml.MappingEndEvent | yaml.SequenceEndEvent):
            values = self._stack.pop()
            self._put(_table(values) if self._is_table.pop() else values)

    def _put(self, value: Any) -> None:
        (self._stack[-1] if self._stack else self._done).append(value)


def _table(values: list[Any]) -> dict[str, Any]:
    """Return keys and values in turn as a table; a key that is no text, or stands there twice, ends the reading."""
    keys = values[::2]
    if not all(isinstance(key, str) for key in keys) or len(set(keys)) < len(keys):
        raise NotPlainYamlError
    return dict(zip(keys, values[1::2], strict=True))
