import os
import subprocess
import sys
from pathlib import Path

import pytest

from gateway.origin import HOUSES, refusal

ROOT = Path(__file__).resolve().parents[2]
ASK = f"""
import sys
from gateway.origin import refusal
print(refusal() or "fine")
print(sorted(set(sys.modules) & set({HOUSES})))
"""


def ask(*path: Path) -> list[str]:
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(map(str, path))}
    ran = subprocess.run([sys.executable, "-c", ASK], env=env, capture_output=True, text=True, check=True, cwd=path[0])
    return ran.stdout.splitlines()


def test_this_very_process_is_fine():
    assert refusal() is None


def test_nothing_is_imported_to_find_out(tmp_path):
    assert ask(tmp_path, ROOT) == ["fine", "['gateway']"]


@pytest.mark.parametrize("house", [house for house in HOUSES if house != "gateway"])
def test_a_package_from_elsewhere_is_refused_by_name(tmp_path, house):
    (tmp_path / house).mkdir()
    (tmp_path / house / "__init__.py").write_text("raise SystemExit('must not be imported')")
    said = ask(tmp_path, ROOT)[0]
    assert f"`{house}`" in said
    assert str(tmp_path) not in said


def test_a_module_of_the_name_counts_too(tmp_path):
    (tmp_path / "memory.py").write_text("")
    assert "`memory`" in ask(tmp_path, ROOT)[0]


def test_a_bare_folder_of_the_name_loses_against_a_package(tmp_path):
    (tmp_path / "memory").mkdir()
    assert ask(tmp_path, ROOT)[0] == "fine"


def test_an_impostor_without_a_file_is_refused(monkeypatch):
    monkeypatch.setitem(sys.modules, "promt", type(sys)("promt"))
    assert "`promt`" in (refusal() or "")
