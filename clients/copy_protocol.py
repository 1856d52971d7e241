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
ROOTS = ("methods", "notifications")
IMPORT = re.compile(r"^from protocol\b", re.MULTILINE)
INIT = '"""The messages of the gateway: a copy that `make clients` makes. Change the original, never this."""\n'


def imported_by(text: str) -> set[str]:
    """Return the modules of `protocol` that a module imports."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.ImportFrom) and node.module == "protocol":
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module is not None and node.module.startswith("protocol."):
            found.add(node.module.removeprefix("protocol."))
    return found


def make_copy() -> dict[str, str]:
    """Return the text of every file of the copy by its name."""
    copy = {"__init__.py": INIT}
    wanted = set(ROOTS)
    while wanted:
        name = wanted.pop()
        text = (SOURCE / f"{name}.py").read_text(encoding="utf-8")
        copy[f"{name}.py"] = IMPORT.sub("from pioneer_client.protocol", text)
        wanted |= {other for other in imported_by(text) if f"{other}.py" not in copy}
    return copy


def is_current() -> bool:
    """Return whether the files of the client are those that would be made."""
    return make_copy() == {path.name: path.read_text(encoding="utf-8") for path in TARGET.glob("*.py")}


def write() -> None:
    """Make the copy anew."""
    TARGET.mkdir(exist_ok=True)
    for path in TARGET.glob("*.py"):
        path.unlink()
    for name, text in make_copy().items():
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
