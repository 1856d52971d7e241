"""Copies what a client needs of `protocol/` into the Python client; `--check` says whether the copy is current.

Rule 1: the copy is what the method table and the notifications import, and nothing else of the house.
"""

import argparse
import ast
import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
SOURCE = ROOT / "protocol"
TARGET = ROOT / "clients" / "python" / "pioneer_client" / "protocol"
ROOTS = ("methods.py", "notifications.py")
IMPORT = re.compile(r"^from protocol\b", re.MULTILINE)
INIT = '"""The messages of the gateway: a copy that `make clients` makes. Change the original, never this."""\n'


def file_of(module: str) -> str | None:
    """Return the file of a module of `protocol`, relative to that folder; None where the name is no module."""
    path = module.removeprefix("protocol").removeprefix(".").replace(".", "/")
    names = (f"{path}.py", f"{path}/__init__.py")
    return next((name for name in names if path and (SOURCE / name).is_file()), None)


def imported_by(text: str) -> set[str]:
    """Return the files of `protocol` that a module imports."""
    found: set[str | None] = set()
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.ImportFrom) and (node.module or "").partition(".")[0] == "protocol":
            found |= {file_of(f"{node.module}"), *(file_of(f"{node.module}.{alias.name}") for alias in node.names)}
            found |= {file_of(f"{node.module}".rpartition(".")[0])}
    return {name for name in found if name is not None}


def make_copy() -> dict[str, str]:
    """Return the text of every file of the copy by its name."""
    copy = {"__init__.py": INIT}
    wanted = set(ROOTS)
    while wanted:
        name = wanted.pop()
        text = (SOURCE / name).read_text(encoding="utf-8")
        copy[name] = IMPORT.sub("from pioneer_client.protocol", text)
        wanted |= imported_by(text) - copy.keys()
    return copy


def is_current() -> bool:
    """Return whether the files of the client are those that would be made."""
    there = {path.relative_to(TARGET).as_posix(): path for path in TARGET.rglob("*.py")}
    return make_copy() == {name: path.read_text(encoding="utf-8") for name, path in there.items()}


def write() -> None:
    """Make the copy anew."""
    for path in TARGET.rglob("*.py"):
        path.unlink()
    for name, text in make_copy().items():
        (TARGET / name).parent.mkdir(parents=True, exist_ok=True)
        (TARGET / name).write_text(text, encoding="utf-8")


def main() -> int:
    """Write the copy, or check it: 1 where it is not current."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true")
    if not parser.parse_args().check:
        write()
    elif not is_current():
        sys.stderr.write("clients/python is not current: run `make clients`\n")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
