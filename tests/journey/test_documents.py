"""What the documents say works as they say it."""

import html
import json
import os
import re
import shutil
import subprocess
import sys
import sysconfig
import zipfile
from pathlib import Path

import pytest

from gateway.wire.client import console_script
from protocol.methods import METHODS
from protocol.reference.setting_table import settings

ROOT = Path(__file__).resolve().parents[2]

UNHURRIED = {"PIONEER_RECALL__DEADLINE_MS": "{ turn = 60000 }"}
"""A turn on a busy machine is given what it recalls however late that comes."""


def test_the_readme_shows_the_three_commands_on_its_first_screen() -> None:
    first_screen = (ROOT / "README.md").read_text(encoding="utf-8").splitlines()[:22]
    assert "    make demo\n    make test\n    uv tool install .\n" in "\n".join(first_screen)
    assert "`pipx install .`" in "\n".join(first_screen)


def test_the_readme_says_in_ten_lines_who_it_is_for_and_why_and_shows_a_picture() -> None:
    lines = "\n".join((ROOT / "README.md").read_text(encoding="utf-8").splitlines()[:10])
    assert all(who in lines for who in ("people with an assistant", "people in a terminal", "authors of desktop apps"))
    figures = (ROOT / "docs" / "performance.md").read_text(encoding="utf-8")
    [ours], [mem0] = (
        re.findall(rf"^\| {row} .*?\| 760 \| (0\.\d\d)", figures, re.MULTILINE)
        for row in ("pioneer \\| hybrid;", "mem0")
    )
    assert f"{ours[1:]} of LoCoMo" in lines
    assert f"mem0 and Chroma find {mem0[1:]}" in lines
    [(start, met)] = re.findall(
        r"^\| spawn → `initialize`, CPU \| ([\d.]+) \| ms .*\| (yes|NO) \|$", figures, re.MULTILINE
    )
    assert (
        f"A start takes {float(start) / 1000:.2f} s of CPU{'.' if met == 'yes' else ', which misses its goal.'}"
        in lines
    )
    assert 'src="docs/demo.svg"' in lines


def test_the_picture_is_one_of_what_the_demo_shows_and_fetches_nothing(tmp_path: Path) -> None:
    made = tmp_path / "demo.svg"
    subprocess.run([*console_script(), "demo", "--svg", str(made)], capture_output=True, timeout=60, check=True)

    def shown(picture: Path) -> list[str]:
        texts = re.findall(r"<text[^>]*>(.*?)</text>", picture.read_text(encoding="utf-8"))
        plain = html.unescape("\n".join(texts)).replace("\xa0", " ")
        return re.findall(r"Correction: .*|Please forget .*|secret_detected|no_memory_requested|replaced", plain)

    kept = ROOT / "docs" / "demo.svg"
    assert shown(kept) == shown(made)
    assert len(shown(kept)) == 5
    assert not re.search(r"url\((?!#)|href=|@import", kept.read_text(encoding="utf-8"))


def test_nothing_names_a_package_that_no_index_has() -> None:
    said = [*ROOT.glob("*.md"), *(ROOT / "docs").glob("*.md"), *(ROOT / "gateway").rglob("*.py")]
    for place in said:
        named = re.findall(r"(?:install|uvx|pip)[^\n]{0,40}pioneer[-_]gateway", place.read_text(encoding="utf-8"))
        assert not named, place.name


def test_the_documents_name_settings_as_the_file_does() -> None:
    keys = [re.escape(setting.key) for setting in settings() if setting.group != "providers"]
    short = re.compile(rf"(?<![\w./])(?:{'|'.join(keys)})(?![\w(])")
    for document in (*ROOT.glob("*.md"), *(ROOT / "docs").glob("*.md")):
        assert not short.findall(document.read_text(encoding="utf-8")), document.name


def test_every_link_of_the_documents_leads_somewhere() -> None:
    for document in (*ROOT.glob("*.md"), *(ROOT / "docs").glob("*.md")):
        for target in re.findall(r"\]\(([^)#:]+)\)", document.read_text(encoding="utf-8")):
            assert (document.parent / target).exists(), f"{document.name}: {target}"


def test_every_make_command_of_the_documents_exists() -> None:
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE))
    for document in (*ROOT.glob("*.md"), *(ROOT / "docs").glob("*.md")):
        named = re.findall(r"`make ([a-z-]+)", document.read_text(encoding="utf-8"))
        assert set(named) <= targets, document.name


def test_who_wants_the_demo_is_given_nothing_for_tests(tmp_path: Path) -> None:
    make = shutil.which("make")
    if make is None:
        pytest.skip("there is no make here")

    def steps(target: str) -> str:
        told = [make, "--dry-run", "-C", str(ROOT), f"VENV={tmp_path}/none", target]
        return subprocess.run(told, capture_output=True, text=True, check=True).stdout

    assert "pip install" in steps("demo")
    assert "pioneer demo" in steps("demo")
    [install] = [line for line in steps("demo").splitlines() if "pip install" in line]
    assert not {"-q", "--quiet"} & set(install.split())  # who waits sees what is being done
    assert "setting up the gateway" in steps("demo")
    assert "requirements" not in steps("demo")
    assert all(name in steps("test") for name in ("requirements-dev.txt", "requirements-sdk1.txt"))


@pytest.mark.skipif(sys.platform == "win32", reason="a script stands in for the interpreter")
@pytest.mark.parametrize("fails", [False, True])
def test_a_setup_shows_a_dot_for_each_package_and_the_log_only_where_it_failed(tmp_path: Path, *, fails: bool) -> None:
    make = shutil.which("make")
    if make is None:
        pytest.skip("there is no make here")
    stand_in = tmp_path / "venv" / "bin" / "python"
    stand_in.parent.mkdir(parents=True)
    pip = f"echo Collecting anyio; echo Collecting msgspec; echo no room >&2; exit {int(fails)}"
    stand_in.write_text(f'#!/bin/sh\ncase "$*" in "-m pip install "*) {pip};; esac\n')
    stand_in.chmod(0o755)
    told = subprocess.run(
        [make, "-C", str(ROOT), f"VENV={tmp_path}/venv", f"{tmp_path}/venv/.product"],
        capture_output=True,
        text=True,
        check=False,
    )
    lines = told.stdout.splitlines()
    assert ".." in lines
    assert ("no room" in lines) is fails
    assert (told.returncode != 0) is fails
    assert (tmp_path / "venv" / ".product").exists() is not fails


def test_the_example_host_runs() -> None:
    told = subprocess.run(
        [sys.executable, str(ROOT / "examples" / "host.py")],
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
        env={**os.environ, **UNHURRIED, "PYTHONPATH": str(ROOT / "clients" / "python")},
    )
    assert told.returncode == 0, told.stderr
    assert "saved: I take my coffee without sugar. - active_created" in told.stdout
    assert "]: I take my coffee without sugar." in told.stdout
    assert "after forgetting: []" in told.stdout


def test_the_demo_shows_the_main_job(tmp_path: Path) -> None:
    environment = {
        **os.environ,
        **UNHURRIED,
        "NO_COLOR": "1",
        "COLUMNS": "120",
        "TMPDIR": str(tmp_path),
    }  # it keeps its home
    told = subprocess.run(
        [*console_script(), "demo"], capture_output=True, text=True, timeout=240, env=environment, check=False
    )
    assert told.returncode == 0, told.stderr
    shown = " ".join(told.stdout.split())
    for expected in (
        "remembered The user's name is Mira Castellan.",
        "refused it holds a credential: no record, no candidate, no log [secret_detected (aws_access_key)]",
        "refused the user asked not to remember this [no_memory_requested]",
        "recalled what memory adds to the message, with its place in [brackets]",
        "recalled nothing: no memory has to do with it",
        "recalled Harbor is a timetable app for island ferries. [memory: project fact]",
        ": left out, too far from it)",
        "replaced Harbor syncs its timetables every six hours.",
        "recalled Harbor syncs every two hours.",
        "[conversation of 12 May]",
        "forgotten mem_",
        "(nothing)",
        f"pioneer inspect --home {tmp_path}",
    ):
        assert expected in shown, expected
    after = shown.split("the same home after a restart")[1]
    assert "every six hours" not in after.split("history of the sync interval")[0]
    assert "Aldermouth" not in after.split("forgotten is forgotten")[1]


@pytest.mark.parametrize(
    "arguments", [["--help"], ["serve", "--help"], ["demo", "--help"], ["replay", "--help"], ["schemas", "--help"]]
)
def test_help_is_there(arguments: list[str]) -> None:
    told = subprocess.run([*console_script(), *arguments], capture_output=True, text=True, timeout=240, check=False)
    assert (told.returncode, told.stderr) == (0, "")
    assert "usage: pioneer" in told.stdout


def test_a_wrong_command_line_ends_with_64_and_one_hint() -> None:
    told = subprocess.run(
        [*console_script(), "serve", "--hom"], capture_output=True, text=True, timeout=240, check=False
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
    assert tops == {"gateway", "agent", "memory", "thread_episodic", "knowledge", "retrieval", "promt", "protocol"}
    assert {"memory/schema.sql", "memory/queries.sql", "promt/language/en.toml", "gateway/secrets/rules.toml"} <= set(
        names
    )


def test_an_installed_wheel_serves_an_assistant_without_any_extra(tmp_path: Path) -> None:
    """The command that `uv tool install .` makes, in an environment of its own; dependencies are lent, because no index
    is asked here."""
    build = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(tmp_path)]
    subprocess.run(build, cwd=ROOT, capture_output=True, check=True)
    (wheel,) = tmp_path.glob("*.whl")
    with zipfile.ZipFile(wheel) as packed:
        [metadata] = [packed.read(name).decode() for name in packed.namelist() if name.endswith("METADATA")]
    needed = [line for line in metadata.splitlines() if line.startswith("Requires-Dist: mcp")]
    assert needed == ["Requires-Dist: mcp>=2"]
    own = tmp_path / "own"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(own)], check=True)
    python = own / ("Scripts" if os.name == "nt" else "bin") / "python"
    site = subprocess.run(
        [str(python), "-c", "import sysconfig; print(sysconfig.get_path('purelib'))"],
        capture_output=True,
        text=True,
        check=True,
    ).stdout.strip()
    Path(site, "lent.pth").write_text(sysconfig.get_path("purelib") + "\n", encoding="utf-8")
    pip = [sys.executable, "-m", "pip", "--python", str(python), "install", "--quiet", "--no-deps", "--no-index"]
    subprocess.run([*pip, str(wheel)], check=True, capture_output=True)
    command, home = str(python.with_name("pioneer")), str(tmp_path / "home")
    hello = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}}
    served = subprocess.run(
        [command, "mcp", "--home", home],
        cwd=tmp_path,
        check=True,
        capture_output=True,
        timeout=60,
        input=json.dumps({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": hello}).encode() + b"\n",
    )
    assert json.loads(served.stdout)["result"]["serverInfo"]["name"]
    where = [str(python), "-c", "import gateway; print(gateway.__file__)"]
    assert subprocess.run(where, cwd=tmp_path, check=True, capture_output=True, text=True).stdout.startswith(str(own))
    kept = subprocess.run(
        [command, "remember", "I live in Graz.", "--home", home], check=True, capture_output=True, cwd=tmp_path
    )
    assert b"biography" in kept.stdout
