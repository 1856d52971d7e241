"""Kinds of files by their names; pure.

Rule 1: a file is read as what its name says; its content may still keep it out of the index.
"""

from collections.abc import Mapping
from typing import NamedTuple

from protocol.files.knowledge import FileKind


class Kind(NamedTuple):
    """The kind as which a file is read, and the language of code."""

    kind: FileKind
    language: str | None = None


LANGUAGES: Mapping[str, str] = {
    "c": "c h",
    "cpp": "cc cpp cxx hh hpp hxx",
    "csharp": "cs",
    "css": "css less sass scss",
    "elixir": "ex exs",
    "erlang": "erl hrl",
    "go": "go",
    "graphql": "gql graphql",
    "haskell": "hs",
    "html": "htm html",
    "ini": "cfg conf ini properties",
    "java": "java",
    "javascript": "cjs js jsx mjs",
    "json": "json json5 jsonc",
    "kotlin": "kt kts",
    "lua": "lua",
    "ocaml": "ml mli",
    "perl": "pl pm",
    "php": "php",
    "powershell": "ps1 psm1",
    "proto": "proto",
    "python": "py pyi",
    "r": "r",
    "ruby": "rb",
    "rust": "rs",
    "scala": "scala",
    "shell": "bash fish sh zsh",
    "sql": "sql",
    "svelte": "svelte",
    "swift": "swift",
    "terraform": "tf",
    "toml": "toml",
    "typescript": "cts mts ts tsx",
    "vue": "vue",
    "xml": "xml xsd xsl",
    "yaml": "yaml yml",
    "zig": "zig",
}
MARKDOWN = "markdown md mdown mdx mkd"
PDF = "pdf"
TEXT = "adoc asciidoc csv org rst tex text tsv txt"
WHOLE_NAMES: Mapping[str, Kind] = {
    "dockerfile": Kind("code", "dockerfile"),
    "makefile": Kind("code", "make"),
    **{name: Kind("text") for name in ("authors", "changelog", "copying", "license", "notice", "readme", "todo")},
}

_BY_SUFFIX: Mapping[str, Kind] = {
    **{suffix: Kind("code", language) for language, suffixes in LANGUAGES.items() for suffix in suffixes.split()},
    **{suffix: Kind("markdown") for suffix in MARKDOWN.split()},
    **{suffix: Kind("text") for suffix in TEXT.split()},
    PDF: Kind("pdf"),
}


def kind_of(name: str) -> Kind | None:
    """Return the kind of a file by its name; None for a file that is not read."""
    stem, dot, suffix = name.rpartition(".")
    return _BY_SUFFIX.get(suffix.casefold()) if dot and stem else WHOLE_NAMES.get(name.casefold())
