"""The shape of the house, as failing tests."""

import ast
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from cases import each
from house_code import MODULES, ROOT, name_of, nodes_of, text_of, tree_of
from house_tree import HOUSES, find_rooms

from gateway.secrets.rules import find_rules
from gateway.wiring import build as _wiring  # noqa: F401  # the composition root imports, so every module does
from protocol.methods import METHODS

pytestmark = [pytest.mark.loop("check"), pytest.mark.no_cover]  # the code is read here, not run
CLIENT = ROOT / "clients/python/pioneer_client"
STAGE = sorted((ROOT / "tests/stage").rglob("*.py"))
BENCHMARKS = sorted((ROOT / "benchmarks").glob("*.py"))
WORDED = MODULES + [path for path in CLIENT.rglob("*.py") if "protocol" not in path.parts]
"""Modules whose words are read here; a copy is read where it comes from."""
PACKAGES = [path for path in MODULES if path.name == "__init__.py"]
MAX_MODULES = 25
"""A folder that holds more is two rooms."""
MAX_LINES = 500
"""Four hundred are a warning; a thought is not cut in two for it."""
TABLES = {"protocol/methods.py"}
"""Declarations without logic: a table is as long as what it lists."""

OF_ANY_TABLE = {"gateway/store/damaged_rows.py", "gateway/store/losses.py", "gateway/store/schema_shapes.py"}
"""What reads whichever table is damaged has no statement that could stand in a file."""

QUESTION = re.compile(r"(?:What(?:ever)?|Whether|Who(?:ever|se|m)?|Where|Which|How|When|Why)\b")
"""A docstring that begins like this has a clause where its subject belongs."""
PARTICIPLE = re.compile(
    r"(?!(?:need|seed|feed|embed|speed|shed|proceed|succeed|exceed)(?:_|$))(?:[a-z0-9]+ed"
    r"|told|said|shown|kept|held|found|made|taken|given|known|sent|left|built|begun|done|gone|written|broken|drawn"
    r"|torn|seen|heard|meant|met)(?:_|$)"
)
FORBIDDEN_NAMES = {"utils", "helpers", "common", "manager", "core", "types"}
HOME_OF = {
    "jsonrpcserver": {"gateway/wire/rpc.py"},
    "apsw": {
        "gateway/store/database.py",
        "gateway/store/damaged_rows.py",
        "gateway/store/copy.py",
        "gateway/store/file.py",
        "gateway/store/pages.py",
        "gateway/store/threads.py",
        "gateway/store/log_end.py",
        "gateway/store/migrations.py",
        "gateway/store/sqlite.py",
        "gateway/store/wiping.py",
    },
    "tenacity": {"gateway/providers/tries.py"},
    "Stemmer": {"retrieval/terms.py"},
    "tomlkit": {"gateway/home/config.py"},
    "filelock": {
        "gateway/home/config.py",
        "gateway/store/migrations.py",
        "gateway/home/owners.py",
        "gateway/home/collection_locks.py",
    },
    "platformdirs": {"gateway/home/folder.py"},
    "pypdf": {"gateway/files/pdf_text.py"},
    "tree_sitter": {"gateway/files/code_structure.py"},
    "watchfiles": {"gateway/files/folder_watch.py"},
    "yaml": {"gateway/files/plain_yaml.py"},
    "rich": {"gateway/doors/terminal/screen.py", "gateway/play/demo.py", "gateway/imports/report.py"},
    "shtab": {"gateway/doors/commands/processes/starting.py"},
    "usearch": set(),
    "fastembed": {"gateway/embedding/engine.py"},
    "onnxruntime": {"gateway/embedding/engine.py", "gateway/embedding/plain_model.py"},
    "tokenizers": {"gateway/embedding/plain_model.py"},
    "mcp": {"gateway/doors/mcp/server.py", "gateway/doors/mcp/streams.py"},
    "mcp_types": {"gateway/doors/mcp/server.py", "gateway/doors/mcp/streams.py"},
    "uvicorn": {"gateway/doors/http/uvicorn_parts.py"},
    "httpx2": {"gateway/doors/proxy/upstream.py"},
    "h11": {"gateway/doors/http/server.py"},
    "jinja2": {"gateway/doors/inspect/rendering.py"},
    "markupsafe": {"gateway/doors/inspect/rendering.py"},
    "pydantic": {"gateway/doors/mcp/streams.py"},
    "openai": {"gateway/providers/openai_chat.py"},
    "anthropic": {"gateway/providers/anthropic_messages.py"},
}
ROWS = {
    "agent": "agent/rows/",
    "memory": "memory/rows/",
    "thread_episodic": "thread_episodic/rows/",
    "knowledge": "knowledge/rows/",
    "retrieval": "retrieval/rows/",
}
"""The houses whose statements are run in one room only: that is where another engine than SQLite could stand."""
SQL_VERB = re.compile(r"\b(?:SELECT .+ FROM|INSERT INTO|UPDATE \w+ SET|DELETE FROM)\b")


@each("path", MODULES)
def test_a_file_is_one_idea(path: Path) -> None:
    lines = len(text_of(path).splitlines())
    assert lines <= MAX_LINES or name_of(path) in TABLES, f"{name_of(path)} has {lines} lines"


@each("path", MODULES)
def test_modules_are_nouns_of_the_domain(path: Path) -> None:
    assert path.stem not in FORBIDDEN_NAMES
    assert not path.stem.startswith("base_")


@each("path", MODULES)
def test_sql_stands_in_sql_files(path: Path) -> None:
    strings = [node.value for node in nodes_of(path) if isinstance(node, ast.Constant) and isinstance(node.value, str)]
    assert name_of(path) in OF_ANY_TABLE or not [text for text in strings if SQL_VERB.search(text)]


@each("house", ROWS)
def test_statements_are_run_in_the_rows_of_a_house(house: str) -> None:
    elsewhere = [path for path in MODULES if name_of(path).startswith(f"{house}/") and "SQL[" in text_of(path)]
    assert [name_of(path) for path in elsewhere if not name_of(path).startswith(ROWS[house])] == []


@each("path", MODULES)
def test_libraries_have_one_home(path: Path) -> None:
    nodes = nodes_of(path)
    imported = {alias.name.split(".")[0] for node in nodes if isinstance(node, ast.Import) for alias in node.names}
    imported |= {node.module.split(".")[0] for node in nodes if isinstance(node, ast.ImportFrom) and node.module}
    strangers = {name for name in imported & set(HOME_OF) if name_of(path) not in HOME_OF[name]}
    assert not strangers


@each("path", [path for path in MODULES if path.name != "__init__.py"])
def test_every_module_says_what_it_is(path: Path) -> None:
    assert ast.get_docstring(tree_of(path))


@each("path", PACKAGES)
def test_a_room_is_not_crowded_and_says_what_it_holds(path: Path) -> None:
    assert len([*path.parent.glob("*.py")]) <= MAX_MODULES
    assert ast.get_docstring(tree_of(path))


@each("house", HOUSES)
def test_a_house_lists_its_rooms(house: str) -> None:
    docstring = ast.get_docstring(tree_of(ROOT / house / "__init__.py")) or ""
    listed = re.findall(r"^(\w+)/ ", docstring, re.MULTILINE)
    assert sorted(listed) == [room.name for room in find_rooms(ROOT / house)]


def test_docstrings_begin_with_a_subject_or_an_imperative() -> None:
    texts = [
        f"{name_of(path)}:{node.lineno}: {text}"
        for path in [*WORDED, *STAGE, *BENCHMARKS]
        for node in nodes_of(path)
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
        if isinstance(text := node.value.value, str) and QUESTION.match(text.lstrip())
    ]
    assert not texts, "\n".join(texts)


def test_functions_are_named_by_verbs() -> None:
    named_by_rows = {rule.check.__name__ for rule in find_rules()}
    functions = [
        f"{name_of(path)}:{node.lineno}: {node.name}"
        for path in WORDED
        for node in nodes_of(path)
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and PARTICIPLE.match(node.name.strip("_"))
        if node.name not in named_by_rows and not any("property" in ast.unparse(one) for one in node.decorator_list)
    ]
    assert not functions, "\n".join(functions)


def test_a_class_name_occurs_once() -> None:
    homes: dict[str, list[str]] = {}
    for path in MODULES:
        for node in tree_of(path).body:
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                homes.setdefault(node.name, []).append(name_of(path))
    assert {name: paths for name, paths in homes.items() if len(paths) > 1} == {}


def test_folders_layers_and_wheel_agree() -> None:
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    layers = settings["tool"]["importlinter"]["contracts"][0]["layers"]
    named = {house.strip() for layer in layers for house in layer.split("|")}
    assert named == set(HOUSES)
    assert set(settings["tool"]["hatch"]["build"]["targets"]["wheel"]["packages"]) == set(HOUSES)
    assert set(settings["tool"]["importlinter"]["root_packages"]) == set(HOUSES)


def test_nothing_heavy_is_imported_to_serve() -> None:
    heavy = (
        "fastembed",
        "usearch",
        "numpy",
        "onnxruntime",
        "rich",
        "tomlkit",
        "httpx",
        "httpx2",
        "hypothesis",
        "pypdf",
        "openai",
        "anthropic",
        "pydantic",
        "uvicorn",
        "h11",
        "starlette",
        "jinja2",
        "markupsafe",
        "gateway.doors.http",
        "gateway.doors.inspect",
        "gateway.doors.proxy",
        "gateway.files.text_reader",
        "gateway.files.code_structure",
        "knowledge.house",
        "knowledge.index",
        "knowledge.links",
        "knowledge.scan",
        "knowledge.search.searching",
    )
    code = f"import sys, gateway.process; print([name for name in {heavy!r} if name in sys.modules])"
    told = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=ROOT)
    assert told.stdout.strip() == "[]"


def test_most_values_of_a_start_are_structs() -> None:
    """A named tuple takes five times as long to define, so a class is one only where it is unpacked or compared."""
    code = (
        "import sys, gateway.process;"
        f"own = [module for name, module in sys.modules.items() if name.partition('.')[0] in {(*ROWS, 'gateway', 'promt', 'protocol')!r}];"
        "kinds = {one for module in own for one in vars(module).values() if isinstance(one, type)};"
        "print(len([one for one in kinds if issubclass(one, tuple) and hasattr(one, '_fields')]))"
    )
    told = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=ROOT)
    assert int(told.stdout) <= 100


def test_nothing_is_collected_while_a_server_imports_its_modules(tmp_path: Path) -> None:
    code = (
        "import gc, sys; during = [];"
        "is_importing = lambda: 'gateway.process' in sys.modules and not hasattr(sys.modules.get('gateway.wiring'), 'build');"
        "gc.callbacks.append(lambda phase, info: during.append(phase) if is_importing() else None);"
        "from gateway.cli import main;"
        f"code = main(['serve', '--home', {str(tmp_path / 'home')!r}]);"
        "print(during, gc.isenabled(), code, file=sys.stderr)"
    )
    told = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=ROOT, stdin=subprocess.DEVNULL
    )
    assert told.stderr.splitlines()[-1] == "[] True 0"


def test_no_template_engine_is_imported_before_a_page_is_asked_for() -> None:
    code = (
        "import sys, gateway.doors.http.app, gateway.doors.http.server, gateway.doors.commands.processes.starting;"
        "print([name for name in ('jinja2', 'markupsafe', 'gateway.doors.inspect') if name in sys.modules])"
    )
    told = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=ROOT)
    assert told.stdout.strip() == "[]"


def test_the_servers_command_line_is_imported_for_who_asks_for_it_alone() -> None:
    code = (
        "import sys, gateway.doors.http.server as door, uvicorn;"
        "print([name for name in ('click', 'watchfiles', 'multiprocessing') if name in sys.modules]);"
        "print(uvicorn.Server is door.Server, callable(uvicorn.run), hasattr(uvicorn, 'no_such_name'))"
    )
    told = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=ROOT)
    assert told.stdout.splitlines() == ["[]", "True True False"]


def test_every_method_has_one_name_on_the_wire_and_one_sentence() -> None:
    for name, method in METHODS.items():
        assert re.fullmatch(r"[a-z_]+(?:/[a-z_]+)*", name)
        assert method.summary.endswith(".")
        assert "\n" not in method.summary


def test_no_console_entry_but_the_script() -> None:
    assert not [path for path in MODULES if path.name == "__main__.py"]
