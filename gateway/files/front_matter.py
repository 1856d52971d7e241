"""The front matter of a Markdown file: a few plain fields in YAML between two lines of `---`.

Rule 1: a file is a stranger's: what is long, deep, tagged, or names one thing by another is no front matter at all.
Rule 2: every scalar is text here; whoever knows a field decides its type.
"""

import re
from importlib import import_module
from typing import Any, NamedTuple, cast

MAX_CHARS = 16 * 1024
MAX_DEPTH = 32

_BLOCK = re.compile(r"\ufeff?---[ \t]*(?:\r\n|\n|\r)(.*?)(?:\r\n|\n|\r)---[ \t]*(?:\r\n|\n|\r|\Z)", re.DOTALL)


class FrontMatter(NamedTuple):
    """The fields of a file, and the number of characters that they take with their two lines."""

    fields: dict[str, Any]
    end: int


def read_front_matter(text: str) -> FrontMatter:
    """Return the fields at the beginning of a text; none, and an end of 0, where there is no front matter."""
    found = _BLOCK.match(text[: MAX_CHARS + 16])
    if found is None:
        return FrontMatter({}, 0)
    fields = read_plain_yaml(found[1])
    return FrontMatter(fields, found.end()) if fields is not None else FrontMatter({}, 0)


def read_plain_yaml(text: str) -> dict[str, Any] | None:
    """Return a mapping of texts, lists and mappings of them; None for any other YAML."""
    if len(text) > MAX_CHARS:
        return None
    yaml: Any = import_module("yaml")  # 20 ms, and without types
    loader = getattr(yaml, "CBaseLoader", yaml.BaseLoader)
    try:
        depth = 0
        for event in yaml.parse(text, Loader=loader):
            depth += isinstance(event, yaml.CollectionStartEvent) - isinstance(event, yaml.CollectionEndEvent)
            is_tagged = getattr(event, "tag", None) is not None
            if isinstance(event, yaml.AliasEvent) or is_tagged or getattr(event, "anchor", None) or depth > MAX_DEPTH:
                return None
        fields = yaml.load(text, Loader=loader)  # makes texts, lists and mappings alone
    except (yaml.YAMLError, RecursionError, ValueError):
        return None
    return cast("dict[str, Any]", fields) if isinstance(fields, dict) else None
