"""Files in the graph: the entity of each file, its names, folders and tags, and the targets of its links.

Rule 1: an entity's id is made of the file, tag or folder that it stands for: it is the same after a move and a new
index.
Rule 2: a file that is added, removed or renamed has every link by its names resolved again, in the same transaction.
"""

import hashlib
from collections.abc import Collection, Mapping, Sequence
from functools import cache
from typing import Final, NamedTuple

from msgspec import Struct

from knowledge.links.finding import LinkForm, RawLink
from knowledge.links.folders import INDEX_NOTES, FolderEntity, folder_of_index, list_folders_above
from knowledge.links.resolving import Named, Names, Resolved, key_of, names_by_path, resolve, stem_of
from knowledge.rows.references import (
    LANGUAGES_OF_FORM,
    TextReferences,
    find_imported,
    list_imports_of,
    references_of_file,
)
from knowledge.rows.statements import SQL
from protocol.base import encode
from protocol.seams.ports import Tx
from retrieval.packing import unpack
from retrieval.rows.graph import (
    Entity,
    EntityKind,
    NewEdge,
    NewEntity,
    fold_name,
    put_aliases,
    put_entity,
    remove_subject,
    replace_edges,
)
from retrieval.rows.links import (
    REPEATED_STRENGTH,
    KeyedEdge,
    MovedEntity,
    add_edge,
    aliases_of,
    also_called,
    drop_edge,
    drop_entity,
    drop_kinds,
    entities_of,
    entity_at,
    entity_of,
    find_keys,
    find_named_entities,
    find_stating,
    lead_to,
    links_by_key,
    links_of,
    move_entities,
    subjects_leading_to,
)

HOUSE: Final = "knowledge"
MEMBER_OF, TAGGED = "member_of", "tagged"
IMPORTS = "imports"
MEMBER_STRENGTH, TAG_STRENGTH = 0.5, 0.4
ENTITY_KINDS: Mapping[str, EntityKind] = {"markdown": "page", "pdf": "page", "code": "code"}
STRENGTHS: Mapping[LinkForm, tuple[str, float]] = {
    "wiki": ("links", 0.6),
    "link": ("links", 0.6),
    "wiki_embed": ("embeds", 0.7),
    "embed": ("embeds", 0.7),
    "relates": ("relates", 0.8),
    "supersedes": ("supersedes", 0.9),
    "superseded_by": ("supersedes", 0.9),
    "import_python": ("imports", 0.6),
    "import_script": ("imports", 0.6),
    "import_c": ("imports", 0.6),
    "import_ruby": ("imports", 0.6),
    "import_rust": ("imports", 0.6),
}
"""The kind and strength of each form of a link."""
SINGLE_STRENGTHS: Mapping[str, float] = dict(STRENGTHS.values())
"""The strength of a link that stands once, by its kind."""


class LinkedFile(Struct, frozen=True):
    """A file in the graph."""

    file_id: str
    place: str
    path: str
    kind: str
    language: str | None
    at: int
    """The time of its collection's last scan."""

    @property
    def name(self) -> str:
        """Return its own name."""
        return self.path.rpartition("/")[2]


class _Minted:
    """Returns one id, whatever the prefix. Satisfies `Ids`."""

    def __init__(self, entity_id: str) -> None:
        self.entity_id = entity_id

    def new(self, prefix: str) -> str:
        del prefix
        return self.entity_id


def _files_of(tx: Tx, rows: Sequence[int]) -> dict[int, LinkedFile]:
    return {row: LinkedFile(*found) for row, *found in tx.all(SQL["linked_files"], {"rows": encode(rows).decode()})}


def _file_of(tx: Tx, row: int) -> LinkedFile | None:
    return _files_of(tx, [row]).get(row)


def find_waiting(tx: Tx, rows: Sequence[int]) -> dict[int, tuple[LinkedFile, str]]:
    """Return by row those of some files that still wait to be read, each with the present terms of its names."""
    found = tx.all(SQL["linked_waiting_files"], {"rows": encode(rows).decode()})
    return {row: (LinkedFile(*columns), unpack(card)) for row, card, *columns in found}


def _to_named(entities: Sequence[Entity]) -> list[Named]:
    return [Named(one.row, one.entity_id) for one in entities]


def names_in(tx: Tx, place: str, *, only_code: bool = False) -> Names:
    """Return the lookups of names in the collection `place`; with `only_code` a path leads to code alone."""

    def by_path(path: str) -> Named | None:
        found = entity_at(tx, HOUSE, place, path)
        if found is None or found.subject is None or (only_code and found.kind != "code"):
            return None
        return Named(found.row, found.entity_id)

    def by_name(name: str) -> list[Named]:
        return _to_named(find_named_entities(tx, HOUSE, place, name))

    def by_alias(name: str) -> list[Named]:
        return _to_named(also_called(tx, HOUSE, place, name))

    return Names(by_path, by_name, by_alias)


def resolve_link(tx: Tx, place: str, source: str, edge: KeyedEdge) -> Resolved:
    """Return the present target of a stored link, or the candidates that it could mean."""
    form, _ = form_and_line(edge.address)
    return resolve(form, edge.target, source, names_in(tx, place))


def form_and_line(address: str) -> tuple[LinkForm, int]:
    """Return the form of a link and its first line, from the address of its edge."""
    form, _, line = address.partition(":")
    return form, int(line)  # pyright: ignore[reportReturnType]  # only forms are written there


def put_file(tx: Tx, file: LinkedFile, references: TextReferences | None, now: int) -> None:
    """Write the entity of a file that was read, with its names, links, tags and folders.

    A file without references, or of a kind without entities, is taken out of the graph.
    """
    kind = ENTITY_KINDS.get(file.kind)
    before = entity_of(tx, HOUSE, file.file_id)
    if kind is None or references is None:
        if before is not None:
            _forget(tx, file, before)
        return
    old_names = _names_of(tx, before) if before is not None else set[str]()
    stem = stem_of(file.name)
    minted = _Minted(f"ent_{file.file_id.partition('_')[2]}")
    name = file.name if kind == "code" else stem
    new = NewEntity(HOUSE, file.place, kind, name, file.path, file.file_id, key=stem)
    entity = put_entity(tx, minted, new)
    is_new = before is None and entity.entity_id == minted.entity_id  # else it has what it had before
    if references.aliases or not is_new:
        put_aliases(tx, entity.row, references.aliases)
    stated = (_edge_of(tx, link, entity.row, file) for link in references.links if _holds(link, file))
    edges = [edge for edge in stated if edge.kind != IMPORTS or edge.to_row is not None]
    tags = [_tag(tx, file.place, tag) for tag in dict.fromkeys(references.tags)]
    edges += [NewEdge(entity.row, tag.row, TAGGED, TAG_STRENGTH) for tag in tags]
    if edges or not is_new:
        replace_edges(tx, HOUSE, file.file_id, "explicit", edges, now)
    _put_folders(tx, file, entity, now)
    _relink(tx, file.place, old_names ^ {*references.aliases, *_own_names(entity)})


def _names_of(tx: Tx, entity: Entity) -> set[str]:
    """Return the names of a file, aliases included."""
    return {*aliases_of(tx, [entity.row]).get(entity.row, []), *_own_names(entity)}


def _own_names(entity: Entity) -> set[str]:
    """Return the names that a file has by its path."""
    return names_by_path(entity.kind, entity.path or entity.name)


def _holds(link: RawLink, file: LinkedFile) -> bool:
    """Return whether a link counts for a file; an import counts in files of its own language alone."""
    languages = LANGUAGES_OF_FORM.get(link.form)
    return languages is None or file.language in languages


def _edge_of(tx: Tx, link: RawLink, entity: int, file: LinkedFile) -> NewEdge:
    kind, strength = STRENGTHS[link.form]
    names = names_in(tx, file.place, only_code=kind == IMPORTS)
    found = resolve(link.form, link.target, file.path, names).found
    is_own = found is not None and found.row == entity and kind == IMPORTS  # `json.py` imports another `json`
    to_row = found.row if found is not None and not is_own else None
    return NewEdge(
        entity,
        to_row,
        kind,
        min(1.0, round(strength + REPEATED_STRENGTH * (link.count - 1), 2)),
        link.target,
        f"{link.form}:{link.line}",
        key_of(link.form, link.target),
    )


def _tag(tx: Tx, place: str, name: str) -> Entity:
    digest = hashlib.blake2b(f"{place}\ntag\n{fold_name(name)}".encode(), digest_size=13).hexdigest()
    return put_entity(tx, _Minted(f"ent_{digest}"), NewEntity(HOUSE, place, "tag", name))


def _folder(tx: Tx, place: str, folder: FolderEntity, subject: str | None) -> Entity:
    digest = hashlib.blake2b(f"{place}\nfolder\n{folder.path}".encode(), digest_size=13).hexdigest()
    new = NewEntity(HOUSE, place, folder.kind, folder.name, folder.path, subject)
    return put_entity(tx, _Minted(f"ent_{digest}"), new)


def _put_folders(tx: Tx, file: LinkedFile, entity: Entity, now: int) -> None:
    """Link a file with the folder that it lies in, where that is an entity, or becomes one by this file."""
    ordered = [_folder(tx, file.place, folder, None) for folder in list_folders_above(file.path)]
    own = folder_of_index(file.path)
    if own is not None:
        is_new = entity_at(tx, HOUSE, file.place, own.path) is None
        made = _folder(tx, file.place, own, file.file_id)
        beside = tx.all(SQL["files_beside"], {"file_id": file.file_id}) if is_new else []  # else they have that edge
        for (other,) in beside:
            known = entity_of(tx, HOUSE, other)
            if known is not None:
                drop_kinds(tx, HOUSE, other, [MEMBER_OF])
                add_edge(tx, HOUSE, other, NewEdge(known.row, made.row, MEMBER_OF, MEMBER_STRENGTH), now)
    folder, _, _ = file.path.rpartition("/")
    above = ordered[-1] if ordered else entity_at(tx, HOUSE, file.place, folder) if folder else None
    if above is not None and above.row != entity.row:
        add_edge(tx, HOUSE, file.file_id, NewEdge(entity.row, above.row, MEMBER_OF, MEMBER_STRENGTH), now)


def _relink(tx: Tx, place: str, names: set[str]) -> None:
    """Resolve every link by one of the names again."""
    sources: dict[str, str | None] = {}
    for name in names:
        _import_again(tx, place, name)
        for edge in links_by_key(tx, HOUSE, place, name):
            if edge.kind == IMPORTS:
                continue
            if edge.subject not in sources:
                stated_by = entity_of(tx, HOUSE, edge.subject)
                sources[edge.subject] = stated_by.path if stated_by is not None else None
            source = sources[edge.subject]
            if source is not None:
                _lead(tx, place, source, edge)


def _import_again(tx: Tx, place: str, name: str) -> None:
    """Resolve the imports of a name again in every file that has one."""
    for row, links in list_imports_of(tx, place, name):
        file = _file_of(tx, row)
        entity = entity_of(tx, HOUSE, file.file_id) if file is not None else None
        if file is not None and entity is not None:
            _put_imports(tx, file, entity.row, links)


def _put_imports(tx: Tx, file: LinkedFile, entity: int, links: Sequence[RawLink]) -> None:
    """Make the edges of a file's imports lead to their present targets; an import without a target has no edge."""
    wanted = [one for one in links if one.form in LANGUAGES_OF_FORM and _holds(one, file)]
    before = {edge.target: edge for edge in links_of(tx, HOUSE, file.file_id) if edge.kind == IMPORTS} if wanted else {}
    for link in wanted:
        edge, known = _edge_of(tx, link, entity, file), before.get(link.target)
        if known is not None and edge.to_row is None:
            drop_edge(tx, known.id)
        elif known is None and edge.to_row is not None:
            add_edge(tx, HOUSE, file.file_id, edge, file.at)
        elif known is not None and known.to_row != edge.to_row:
            lead_to(tx, known.id, edge.to_row)


def _lead(tx: Tx, place: str, source: str, edge: KeyedEdge) -> None:
    found = resolve_link(tx, place, source, edge).found
    to_row = found.row if found is not None else None
    if to_row != edge.to_row:
        lead_to(tx, edge.id, to_row)


class _Moving(NamedTuple):
    """A moved file: `file` has the new path, `entity` still the old one."""

    row: int
    file: LinkedFile
    entity: Entity

    def names(self, aliases: Mapping[int, list[str]]) -> set[str]:
        """Return its old and its new names."""
        before, after = self.entity, self.file
        old, new = (names_by_path(before.kind, path) for path in (before.path or "", after.path))
        return {*old, *new, *aliases.get(before.row, ())}


def move_files_in_graph(tx: Tx, rows: Sequence[int]) -> None:
    """Give the entities of files that were moved their new paths and names; their ids and links stay.

    In a renamed folder most files have no link, folder or name that an edge depends on. A few statements find the
    others, and only these are linked anew.
    """
    files = _files_of(tx, rows)
    entities = entities_of(tx, HOUSE, [file.file_id for file in files.values()])
    moving = [_Moving(row, file, entities[file.file_id]) for row, file in files.items() if file.file_id in entities]
    move_entities(tx, [_to_moved_entity(one) for one in moving])
    for one in _find_linked(tx, moving):
        _relink_moved(tx, one)


def _to_moved_entity(one: _Moving) -> MovedEntity:
    stem = stem_of(one.file.name)
    return MovedEntity(one.entity, one.file.path, one.file.name if one.entity.kind == "code" else stem, stem)


def _find_linked(tx: Tx, moving: Sequence[_Moving]) -> list[_Moving]:
    """Return those of some moved files whose move may change an edge or a folder that is an entity."""
    stating = find_stating(tx, HOUSE, [one.file.file_id for one in moving])
    code = [one.row for one in moving if one.entity.kind == "code"]
    importing = {row for (row,) in tx.all(SQL["files_with_references"], {"rows": encode(code).decode()})}
    aliases = aliases_of(tx, [one.entity.row for one in moving])
    names = [one.names(aliases) for one in moving]
    wanted = _find_wanted(tx, set[str]().union(*names))

    @cache
    def is_entity(place: str, folder: str) -> bool:
        return entity_at(tx, HOUSE, place, folder) is not None

    @cache
    def is_ordered(folder: str) -> bool:
        return bool(list_folders_above(f"{folder}/"))

    def is_linked(one: _Moving, called: set[str]) -> bool:
        folder, before = (path.rpartition("/")[0] for path in (one.file.path, one.entity.path or ""))
        return (
            one.file.file_id in stating
            or one.row in importing
            or not wanted.isdisjoint(called)
            or is_entity(one.file.place, folder)
            or is_ordered(folder)
            or is_ordered(before)
            or any(name.casefold() in INDEX_NOTES for name in called)
        )

    return [one for one, called in zip(moving, names, strict=True) if is_linked(one, called)]


def _find_wanted(tx: Tx, names: Collection[str]) -> set[str]:
    """Return the names that a stored link or import uses."""
    linked, imported = find_keys(tx, {fold_name(name) for name in names}), find_imported(tx, names)
    return {name for name in names if name in imported or fold_name(name) in linked}


def _relink_moved(tx: Tx, moved: _Moving) -> None:
    """Resolve the links of a moved file and those by its names again, and link it with its new folder."""
    row, file, entity = moved
    for edge in links_of(tx, HOUSE, file.file_id):
        if edge.kind != IMPORTS:
            _lead(tx, file.place, file.path, edge)
    if entity.kind == "code":
        _put_imports(tx, file, entity.row, references_of_file(tx, row).links)
    drop_kinds(tx, HOUSE, file.file_id, [MEMBER_OF])
    _put_folders(tx, file, entity, file.at)
    _leave_folder(tx, file, entity.path or "")
    _drop_empty_folders(tx, file.place, entity.path or "")
    _relink(tx, file.place, moved.names(aliases_of(tx, [entity.row])))


def forget_file(tx: Tx, row: int) -> None:
    """Remove a file from the graph."""
    file = _file_of(tx, row)
    entity = entity_of(tx, HOUSE, file.file_id) if file is not None else None
    if file is not None and entity is not None:
        _forget(tx, file, entity)


def _forget(tx: Tx, file: LinkedFile, entity: Entity) -> None:
    names = _names_of(tx, entity)
    _leave_folder(tx, file, entity.path or "", is_gone=True)
    remove_subject(tx, HOUSE, file.file_id)
    _relink(tx, file.place, names)
    _drop_empty_folders(tx, file.place, entity.path or "")


def _leave_folder(tx: Tx, file: LinkedFile, path: str, *, is_gone: bool = False) -> None:
    """Drop the folder that the note at `path` made an entity, unless there is another such note in it."""
    folder = folder_of_index(path)
    entity = entity_at(tx, HOUSE, file.place, folder.path) if folder is not None else None
    if folder is None or entity is None or entity.subject != file.file_id:
        return
    inside = [one for one in subjects_leading_to(tx, entity.row, MEMBER_OF) if not (is_gone and one == file.file_id)]
    for subject in inside:
        known = entity_of(tx, HOUSE, subject)
        if known is not None and known.path is not None and folder_of_index(known.path) == folder:
            _folder(tx, file.place, folder, subject)
            return
    for subject in inside:
        drop_kinds(tx, HOUSE, subject, [MEMBER_OF])
    drop_entity(tx, entity.row)


def _drop_empty_folders(tx: Tx, place: str, path: str) -> None:
    """Drop the entities of the folders above a path that have no other file, the innermost first."""
    for folder in reversed(list_folders_above(path)):
        entity = entity_at(tx, HOUSE, place, folder.path)
        if entity is None or tx.one(SQL["has_other_files"], {"place": place, "folder": folder.path, "path": path}):
            return
        drop_entity(tx, entity.row)
