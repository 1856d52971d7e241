"""The target of a link, by the names and paths of a collection; pure.

Rule 1: a target is looked up as a relative path, an exact path, a unique file name and an alias, in this order; a
similar name is no match.
Rule 2: a link by name alone, such as `[[name]]`, leads to neither of two notes of that name.
"""

import posixpath
from collections.abc import Callable, Iterator, Mapping, Sequence

from msgspec import Struct

from knowledge.kinds import MARKDOWN, kind_of
from knowledge.links.finding import LinkForm

LINKS_BY_NAME = frozenset({"wiki", "wiki_embed", "relates", "supersedes", "superseded_by"})
SCRIPT_SUFFIXES = ("", ".ts", ".tsx", ".js", ".jsx", ".mjs", ".cjs", ".vue", ".svelte")
C_FOLDERS = ("", "include/", "src/")
PYTHON_ROOTS = ("", "src/", "lib/")
RUST_OWN_FOLDER = frozenset({"mod", "main", "lib", "build"})
"""Names of files of Rust whose modules lie beside them: that of a folder's module, and the usual roots of a crate."""

_MARKDOWN = tuple(sorted((f".{suffix}" for suffix in MARKDOWN.split()), key=len))
OF_FOLDER = frozenset({"__init__", "index", "mod"})
"""Names of files of code that an import means by the name of their folder."""


class Named(Struct, frozen=True):
    """An entity that a link could lead to."""

    row: int
    entity_id: str


class Names(Struct, frozen=True):
    """The lookups of a collection: by path, by the name of a file without its suffix, by another name."""

    by_path: Callable[[str], Named | None]
    by_name: Callable[[str], Sequence[Named]]
    by_alias: Callable[[str], Sequence[Named]]


class Resolved(Struct, frozen=True):
    """The target of a link; None where there is none, or several `candidates` that it could mean."""

    found: Named | None
    candidates: Sequence[Named] = ()


class WrittenTarget(Struct, frozen=True):
    """A written target: a path or name, and the heading in it."""

    path: str
    anchor: str | None


NOWHERE = Resolved(None)


def split_target(target: str) -> WrittenTarget:
    """Return a target's path or name, and the heading behind its `#`; None without one."""
    path, sign, anchor = target.partition("#")
    return WrittenTarget(path.strip(), anchor.strip() if sign and anchor.strip() else None)


def stem_of(name: str) -> str:
    """Return a file's name without a suffix of `kinds`; a PDF keeps its own, as a note about it often has its name."""
    stem, dot, _ = name.rpartition(".")
    kind = kind_of(name) if dot and stem else None
    return stem if kind is not None and kind.kind != "pdf" else name


def names_by_path(kind: str, path: str) -> set[str]:
    """Return the names of a path: its stem, and for a file of `OF_FOLDER` its folder's name."""
    above, _, name = path.rpartition("/")
    stem = stem_of(name)
    folder = above.rpartition("/")[2] if kind == "code" and stem in OF_FOLDER else ""
    return {stem, folder} if folder else {stem}


def key_of(form: LinkForm, target: str) -> str:
    """Return the name by which a stored link is found, to be resolved again when a file of that name comes or goes."""
    if form == "import_python":
        return target.rstrip(".").rpartition(".")[2]
    return stem_of(split_target(target).path.rstrip("/").rpartition("/")[2])


def resolve(form: LinkForm, target: str, source: str, names: Names) -> Resolved:
    """Return the target of a link that stands in the file at the path `source`."""
    if form.startswith("import_"):
        paths = _IMPORTS[form](target, source)
        return Resolved(next((found for path in paths if (found := names.by_path(path)) is not None), None))
    path = split_target(target).path
    if not path:
        return NOWHERE
    is_name = form in LINKS_BY_NAME and "/" not in path
    if not is_name or path.endswith(_MARKDOWN):
        for place in _list_places(path, posixpath.dirname(source)):
            if (found := names.by_path(place)) is not None and not (is_name and len(names.by_name(stem_of(path))) > 1):
                return Resolved(found)
    if "/" in path:
        return NOWHERE
    for called in (names.by_name(stem_of(path)), names.by_alias(path)):
        if len(called) == 1:
            return Resolved(called[0])
        if called:
            return Resolved(None, called)
    return NOWHERE


def _list_places(path: str, folder: str) -> Iterator[str]:
    """Yield the paths below a collection that a written path may mean, the nearest first."""
    relative = normalize_path(f"{folder}/{path}" if folder and not path.startswith("/") else path)
    for place in dict.fromkeys([relative, normalize_path(path)]):
        if place is not None:
            yield place
            if kind_of(place.rpartition("/")[2]) is None:
                yield from (f"{place}{suffix}" for suffix in _MARKDOWN)


def normalize_path(path: str) -> str | None:
    """Return a path below the collection without `.` and `..`; None for the collection itself, or one outside of it."""
    plain = posixpath.normpath(path.strip("/")) if path.strip("/") else ""
    return None if plain in {"", "."} or plain.startswith("..") else plain


def _places_of_python(target: str, source: str) -> Iterator[str]:
    folder = posixpath.dirname(source)
    name = target.lstrip(".")
    dots = len(target) - len(name)
    below = name.replace(".", "/")
    if dots:
        base = folder
        for _ in range(dots - 1):
            base = posixpath.dirname(base)
        starts = [f"{base}/" if base else ""]
    else:
        starts = [*PYTHON_ROOTS, f"{folder}/" if folder else ""]
    for start in dict.fromkeys(starts):
        if below:
            yield f"{start}{below}.py"
        yield f"{start}{below}/__init__.py" if below else f"{start}__init__.py"


def _places_of_script(target: str, source: str) -> Iterator[str]:
    folder = posixpath.dirname(source)
    place = normalize_path(f"{folder}/{target}" if folder else target)
    if place is not None:
        yield from (f"{place}{suffix}" for suffix in SCRIPT_SUFFIXES)
        yield from (f"{place}/index{suffix}" for suffix in SCRIPT_SUFFIXES[1:])


def _places_of_include(target: str, source: str) -> Iterator[str]:
    folder = posixpath.dirname(source)
    for start in dict.fromkeys([f"{folder}/" if folder else "", *C_FOLDERS]):
        if (place := normalize_path(f"{start}{target}")) is not None:
            yield place


def _places_of_ruby(target: str, source: str) -> Iterator[str]:
    folder = posixpath.dirname(source)
    place = normalize_path(f"{folder}/{target}" if folder else target)
    if place is not None:
        yield from (place, f"{place}.rb")


def _places_of_rust(target: str, source: str) -> Iterator[str]:
    """Yield the places of a module, as https://doc.rust-lang.org/reference/items/modules.html has them.

    The modules of `a/b.rs` lie in `a/b/`, those of `a/mod.rs` and of a crate's root in `a/`. Which files are roots is
    said outside of the code, so beside any other file is looked where its own folder has no such module.
    """
    folder = posixpath.dirname(source)
    is_path = "." in posixpath.basename(target)
    own = [] if target.startswith("./") or stem_of(posixpath.basename(source)) in RUST_OWN_FOLDER else [stem_of(source)]
    for start in [*own, folder]:
        place = normalize_path(f"{start}/{target}")
        if place is not None:
            yield from (place,) if is_path else (f"{place}.rs", f"{place}/mod.rs")


_IMPORTS: Mapping[str, Callable[[str, str], Iterator[str]]] = {
    "import_python": _places_of_python,
    "import_script": _places_of_script,
    "import_c": _places_of_include,
    "import_ruby": _places_of_ruby,
    "import_rust": _places_of_rust,
}
