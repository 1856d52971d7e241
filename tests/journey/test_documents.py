"""What the documents say works as they say it."""

import os
import re
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from gateway.client import console_script
from protocol.methods import METHODS

pytestmark = pytest.mark.loop("test")  # what a newcomer types first

ROOT = Path(__file__).resolve().parents[2]


def test_the_readme_shows_the_two_commands() -> None:
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    assert "    make demo\n    make test\n" in readme


def test_every_link_of_the_documents_leads_somewhere() -> None:
    for document in (*ROOT.glob("*.md"), *(ROOT / "docs").glob("*.md")):
        for target in re.findall(r"\]\(([^)#:]+)\)", document.read_text(encoding="utf-8")):
            assert (document.parent / target).exists(), f"{document.name}: {target}"


def test_every_make_command_of_the_documents_exists() -> None:
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE))
    for document in (*ROOT.glob("*.md"), *(ROOT / "docs").glob("*.md")):
        named = re.findall(r"`make ([a-z-]+)", document.read_text(encoding="utf-8"))
        assert set(named) <= targets, document.name


def test_the_example_host_runs() -> None:
    told = subprocess.run(
        [sys.executable, str(ROOT / "examples" / "host.py")], capture_output=True, text=True, timeout=60, check=False
    )
    assert told.returncode == 0, told.stderr
    assert "saved: I take my coffee without sugar. - active_created" in told.stdout
    assert "]: I take my coffee without sugar." in told.stdout
    assert "after forgetting: []" in told.stdout


def test_the_demo_shows_the_main_job() -> None:
    environment = {**os.environ, "NO_COLOR": "1", "COLUMNS": "120"}
    told = subprocess.run(
        [*console_script(), "demo"], capture_output=True, text=True, timeout=60, env=environment, check=False
    )
    assert told.returncode == 0, told.stderr
    shown = " ".join(told.stdout.split())
    for expected in (
        "remembered The user's name is Mira Castellan.",
        "refused secret_detected (aws_access_key)",
        "refused no_memory_requested",
        "replaced Harbor syncs its timetables every six hours.",
        "recalled Harbor syncs every two hours.",
        "[12 May, conversation]",
        "forgotten mem_",
        "(nothing)",
    ):
        assert expected in shown, expected
    after = shown.split("the same home after a restart")[1]
    assert "every six hours" not in after.split("history of the sync interval")[0]
    assert "Aldermouth" not in after.split("forgotten is forgotten")[1]


@pytest.mark.parametrize(
    "arguments", [["--help"], ["serve", "--help"], ["demo", "--help"], ["replay", "--help"], ["schemas", "--help"]]
)
def test_help_is_there(arguments: list[str]) -> None:
    told = subprocess.run([*console_script(), *arguments], capture_output=True, text=True, timeout=30, check=False)
    assert (told.returncode, told.stderr) == (0, "")
    assert "usage: pioneer" in told.stdout


def test_a_wrong_command_line_ends_with_64_and_one_hint() -> None:
    told = subprocess.run(
        [*console_script(), "serve", "--hom"], capture_output=True, text=True, timeout=30, check=False
    )
    assert told.returncode == 64
    assert "usage: pioneer serve" in told.stderr


def test_the_contributing_guide_names_what_exists() -> None:
    guide = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    for path in re.findall(r"`([a-z_]+/[a-z_/]+\.(?:py|sql|md))`", guide):
        assert (ROOT / path).exists(), path


def test_methods_stand_in_the_generated_description() -> None:
    described = (ROOT / "schemas" / "openrpc.json").read_text(encoding="utf-8")
    assert all(f'"{name}"' in described for name in METHODS)


def test_the_wheel_holds_the_houses_and_nothing_else(tmp_path: Path) -> None:
    pytest.importorskip("hatchling", reason="the build backend is not installed here")
    subprocess.run(
        [
            sys.executable,
            "-m",
            "pip",
            "wheel",
            "--no-deps",
            "--no-build-isolation",
            "-q",
            "-w",
            str(tmp_path),
            str(ROOT),
        ],
        check=True,
    )
    (wheel,) = tmp_path.glob("*.whl")
    names = zipfile.ZipFile(wheel).namelist()
    tops = {name.split("/")[0] for name in names if ".dist-info" not in name}
    assert tops == {"gateway", "agent", "memory", "thread_episodic", "promt", "protocol"}
    assert {"memory/schema.sql", "memory/queries.sql", "promt/phrases.toml", "promt/extraction.md"} <= set(names)
