"""Symbols of code: functions, classes and methods, with their names. The one home of tree-sitter, in a child only.

Rule 1: a grammar is C code that reads hostile bytes: it is imported by the reader beside the process alone.
Rule 2: without the extra, or for a language without a grammar, there are no symbols, and the text is cut by its lines.
"""

from collections.abc import Iterator, Mapping
from importlib import import_module
from importlib.util import find_spec
from typing import Any

from msgspec import Struct

from knowledge.index.code_cutting import CodeSymbol

MOST_SYMBOLS = 20_000  # of one text; further ones are left out
MOST_LEVELS = 64
"""Deeper nodes are not looked into: no person writes a function there."""


class _Grammar(Struct, frozen=True):
    """A grammar: its module, the function that gives it, and the nodes that are symbols, with their name's field."""

    module: str
    maker: str
    symbols: Mapping[str, str]


def _map_kinds_to_name(kinds: str, **other: str) -> dict[str, str]:
    return {**dict.fromkeys(kinds.split(), "name"), **other}


_SCRIPT = _map_kinds_to_name(
    "function_declaration generator_function_declaration class_declaration method_definition variable_declarator"
)
_TYPED = _SCRIPT | _map_kinds_to_name(
    "abstract_class_declaration interface_declaration enum_declaration internal_module"
)
_C = {"function_definition": "declarator", **_map_kinds_to_name("struct_specifier union_specifier enum_specifier")}

GRAMMARS: Mapping[str, tuple[_Grammar, ...]] = {
    "c": (_Grammar("tree_sitter_c", "language", _C),),
    "cpp": (
        _Grammar(
            "tree_sitter_cpp",
            "language",
            _C | _map_kinds_to_name("class_specifier namespace_definition concept_definition"),
        ),
    ),
    "csharp": (
        _Grammar(
            "tree_sitter_c_sharp",
            "language",
            _map_kinds_to_name(
                "class_declaration interface_declaration struct_declaration record_declaration enum_declaration "
                "method_declaration constructor_declaration property_declaration local_function_statement"
            ),
        ),
    ),
    "go": (
        _Grammar("tree_sitter_go", "language", _map_kinds_to_name("function_declaration method_declaration type_spec")),
    ),
    "java": (
        _Grammar(
            "tree_sitter_java",
            "language",
            _map_kinds_to_name(
                "class_declaration interface_declaration enum_declaration record_declaration method_declaration "
                "constructor_declaration annotation_type_declaration"
            ),
        ),
    ),
    "javascript": (_Grammar("tree_sitter_javascript", "language", _SCRIPT),),
    "python": (_Grammar("tree_sitter_python", "language", _map_kinds_to_name("function_definition class_definition")),),
    "ruby": (_Grammar("tree_sitter_ruby", "language", _map_kinds_to_name("method singleton_method class module")),),
    "rust": (
        _Grammar(
            "tree_sitter_rust",
            "language",
            _map_kinds_to_name(
                "function_item struct_item enum_item trait_item mod_item union_item macro_definition", impl_item="type"
            ),
        ),
    ),
    "typescript": (
        _Grammar("tree_sitter_typescript", "language_typescript", _TYPED),
        _Grammar("tree_sitter_typescript", "language_tsx", _TYPED),
    ),
}
"""The grammars of a language; where there are two, the first that reads the text without an error is taken."""
_FUNCTIONS = frozenset({"arrow_function", "function_expression", "function", "generator_function", "class"})
_WRAPPERS = frozenset({"decorated_definition", "export_statement", "template_declaration", "type_declaration"})
"""Nodes that stand around a symbol and belong to it."""


def has_grammars() -> bool:
    """Return whether the extra is installed, without importing any of it."""
    return find_spec("tree_sitter") is not None and find_spec("tree_sitter_python") is not None


def find_symbols(text: str, language: str | None) -> list[CodeSymbol]:
    """Return the symbols of a text in characters, by their beginning; none without a grammar."""
    grammars = GRAMMARS.get(language or "", ())
    if not grammars or not has_grammars():
        return []
    data = text.encode()
    read = [(grammar, tree) for grammar in grammars if (tree := _parse(grammar, data)) is not None]
    if not read:
        return []
    grammar, tree = min(read, key=lambda one: one[1].root_node.has_error)
    found = [one for _, one in zip(range(MOST_SYMBOLS), _symbols(tree.root_node, grammar), strict=False)]
    return _in_characters(text, data, found)


def _parse(grammar: _Grammar, data: bytes) -> Any:
    try:
        parsing: Any = import_module("tree_sitter")
        made = getattr(import_module(grammar.module), grammar.maker)()
    except (ImportError, AttributeError):
        return None
    return parsing.Parser(parsing.Language(made)).parse(data)


def _symbols(root: Any, grammar: _Grammar) -> Iterator[CodeSymbol]:
    """Yield symbols in bytes, outer ones before those in them."""
    waiting: list[tuple[Any, int, int]] = [(root, 0, -1)]
    while waiting:
        node, level, begin = waiting.pop()
        field = grammar.symbols.get(node.type)
        start = begin if begin >= 0 else node.start_byte
        if field is not None and (name := _name_of(node, field)) is not None:
            yield CodeSymbol(start, node.end_byte, name.start_byte, name.end_byte)
        if level < MOST_LEVELS:
            passed_on = start if node.type in _WRAPPERS else -1
            waiting.extend((child, level + 1, passed_on) for child in reversed(node.named_children))


def _name_of(node: Any, field: str) -> Any:
    """Return the node that names a symbol; None for what only looks like one."""
    name = node.child_by_field_name(field)
    if name is None or (node.type.endswith("_specifier") and node.child_by_field_name("body") is None):
        return None
    if node.type == "variable_declarator":
        value = node.child_by_field_name("value")
        if value is None or value.type not in _FUNCTIONS:
            return None
    while field == "declarator" and (inner := name.child_by_field_name("declarator")) is not None:
        name = inner  # of C: `int *(*name)(void)`
    return name


def _in_characters(text: str, data: bytes, symbols: list[CodeSymbol]) -> list[CodeSymbol]:
    if len(text) == len(data):
        return symbols
    at: dict[int, int] = {}
    last = char = 0
    for place in sorted({place for one in symbols for place in one}):
        char += len(data[last:place].decode("utf-8", "ignore"))
        at[place], last = char, place
    return [CodeSymbol(*(at[place] for place in one)) for one in symbols]
