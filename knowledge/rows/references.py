"""Rows of references: the names that a text gives itself, its tags and title, and its links to others.

Rule 1: references belong to a content, as files of equal text have the same. What a link leads to is a matter of files.
Rule 2: a number leads from the name of an import to the contents that import it.
"""

import hashlib
from collections.abc import Collection, Mapping
from typing import NamedTuple

import msgspec

from knowledge.links.finding import RawLink
from knowledge.links.resolving import key_of
from knowledge.rows.statements import SQL
from protocol.base import encode
from protocol.seams.ports import Tx
from retrieval.packing import pack, unpack
from retrieval.rows.graph import fold_name

LANGUAGES_OF_FORM: Mapping[str, frozenset[str]] = {
    "import_python": frozenset({"python"}),
    "import_script": frozenset({"javascript", "typescript", "vue", "svelte"}),
    "import_c": frozenset({"c", "cpp"}),
    "import_ruby": frozenset({"ruby"}),
    "import_rust": frozenset({"rust"}),
}
"""The languages that import in each form; in others such a line means something else."""


class TextReferences(NamedTuple):
    """The names that a text gives itself, its tags, and its links to others."""

    aliases: list[str]
    tags: list[str]
    links: list[RawLink]
    title: str = ""


def put_references(tx: Tx, content: int, references: TextReferences) -> None:
    """Store the references of a content; without any, no row."""
    if not any(references):
        return
    said = {name: msgspec.json.encode(getattr(references, name)).decode() for name in ("aliases", "tags")}
    links = pack(msgspec.json.encode(references.links).decode()) if references.links else None
    tx.run(SQL["put_references"], {"content": content, "title": references.title, **said, "links": links})
    keys = {_key_number(link) for link in references.links if link.form in LANGUAGES_OF_FORM}
    tx.run_many(SQL["add_import"], [{"key": key, "content": content} for key in sorted(keys)])


def read_references(tx: Tx, content: int) -> TextReferences:
    """Return the references of a content; empty ones where it has no row."""
    row = tx.one(SQL["get_references"], {"content": content})
    if row is None:
        return TextReferences([], [], [])
    aliases, tags = (msgspec.json.decode(part, type=list[str]) for part in row[:2])
    return TextReferences(aliases, tags, _links_of(row[2]), row[3])


def _links_of(packed: bytes | None) -> list[RawLink]:
    words = unpack(packed)
    return msgspec.json.decode(words, type=list[RawLink]) if words else []


def references_of_file(tx: Tx, file: int) -> TextReferences:
    """Return the references of a file's content."""
    row = tx.one(SQL["card_of_file"], {"id": file})
    return read_references(tx, row[1]) if row is not None and row[1] is not None else TextReferences([], [], [])


def drop_references(tx: Tx, contents: Collection[int]) -> None:
    """Remove the references of some contents."""
    named = {"contents": encode(sorted(contents)).decode()}
    for content, links in tx.all(SQL["links_of_contents"], named):
        keys = {_key_number(link) for link in _links_of(links) if link.form in LANGUAGES_OF_FORM}
        tx.run_many(SQL["drop_import"], [{"key": key, "content": content} for key in sorted(keys)])
    tx.run(SQL["drop_references"], named)


def titles_of(tx: Tx, contents: Collection[int]) -> dict[int, str]:
    """Return by content the titles in the front matter; a content without one is left out."""
    return dict(tx.all(SQL["titles_of"], {"contents": encode(sorted(contents)).decode()}))


def find_imported(tx: Tx, names: Collection[str]) -> set[str]:
    """Return those of some names that a text imports."""
    numbers = {name: _number_of(name) for name in names}
    found = {key for (key,) in tx.all(SQL["imported_names"], {"keys": encode(sorted(numbers.values())).decode()})}
    return {name for name, number in numbers.items() if number in found}


def list_imports_of(tx: Tx, place: str, name: str) -> list[tuple[int, list[RawLink]]]:
    """Return the rows of a collection's files that import something of a name, each with those of its links."""
    key = _number_of(name)
    rows = tx.all(SQL["importing_files"], {"key": key, "place": place})
    return [(row, [link for link in _links_of(packed) if _key_number(link) == key]) for row, packed in rows]


def _number_of(name: str) -> int:
    """Return the 32-bit number of a name in the table of imports; two names that share one are resolved together."""
    return int.from_bytes(hashlib.blake2b(fold_name(name).encode(), digest_size=4).digest(), "big")


def _key_number(link: RawLink) -> int:
    return _number_of(key_of(link.form, link.target))
