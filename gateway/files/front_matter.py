"""The front matter of a Markdown file: a few plain fields in YAML between two lines of `---`.

Rule 1: a file is a stranger's: what is long, deep, tagged, or names one thing by another is no front matter at all.
Rule 2: every scalar is text here; the reader of a field decides its type.
"""

import re
from typing import Any, NamedTuple

from gateway.files.plain_yaml import MAX_BYTES, NotPlainYamlError, read_plain_yaml

_BLOCK = re.compile(r"\ufeff?---[ \t]*(?:\r\n|\n|\r)(.*?)(?:\r\n|\n|\r)---[ \t]*(?:\r\n|\n|\r|\Z)", re.DOTALL)


class FrontMatter(NamedTuple):
    """The fields of a file, and the number of characters that they take with their two lines."""

    fields: dict[str, Any]
    end: int


def read_front_matter(text: str) -> FrontMatter:
    """Return the fields at the beginning of a text; none, and an end of 0, where there is no front matter."""
    found = _BLOCK.match(text[: MAX_BYTES + 16])
    if found is None:
        return FrontMatter({}, 0)
    try:
        return FrontMatter(read_plain_yaml(found[1]).table, found.end())
    except NotPlainYamlError:
        return FrontMatter({}, 0)
