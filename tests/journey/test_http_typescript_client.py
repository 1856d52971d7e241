"""The TypeScript client against spawned gateways, over pipes and over HTTP; its own tests are in
clients/typescript/test."""

import json
import re
from pathlib import Path

import pytest
from documented_examples import examples_of
from http_stage import HttpDen
from loops import matrix
from spawned import SCRIPTED, WITHOUT_MODEL, on_posix
from typescript_stage import (
    PACKAGE,
    build,
    compile_types,
    install,
    node,
    oldest_node,
    run,
    write_project,
)

from gateway.wire.client import console_script

pytestmark = on_posix

FILES = ("calls", "turns", "restarts")
EXAMPLES = examples_of(PACKAGE / "README.md", "ts")


@pytest.fixture(scope="module")
def typescript_client(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build(tmp_path_factory.mktemp("client"))


@pytest.fixture(scope="module")
def built_tests(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The client's tests as the oldest Node runs them, compiled once for both ways."""
    folder = tmp_path_factory.mktemp("tests")
    project = write_project(
        folder,
        [PACKAGE / "src", PACKAGE / "test"],
        rootDir=str(PACKAGE),
        outDir=str(folder / "built"),
        declaration=False,
        declarationMap=False,
    )
    built = compile_types("--project", str(project))
    assert built.returncode == 0, built.stdout
    (folder / "built" / "package.json").write_text('{"type": "module"}', encoding="utf-8")
    return folder / "built" / "test"


def tell(way: str, program: str, file: Path, folder: Path) -> None:
    """Run a file of tests, none of which may fail or be missing."""
    folder.mkdir()
    given = {"PIONEER_WAY": way, "PIONEER_FOLDER": str(folder), "PIONEER_CONFIG": WITHOUT_MODEL + SCRIPTED}
    given["PIONEER_COMMAND"] = json.dumps(console_script())
    ended = run([program, "--test-reporter=tap", str(file)], given)
    counts = {
        name: int(count)
        for name, count in re.findall(r"^# (tests|pass|fail|skipped) (\d+)$", ended.stdout, re.MULTILINE)
    }
    assert ended.returncode == 0, ended.stdout + ended.stderr
    assert counts["tests"] == counts["pass"] + counts["skipped"]
    assert counts["pass"] > 0


@pytest.mark.parametrize("file", FILES)
@pytest.mark.parametrize("way", ["pipes", "http"])
def test_http_statement_34_the_client_over_both_ways(tmp_path: Path, way: str, file: str) -> None:
    tell(way, node(), PACKAGE / "test" / f"{file}.test.ts", tmp_path / "stages")


def test_the_small_decisions(tmp_path: Path) -> None:
    tell("pipes", node(), PACKAGE / "test" / "units.test.ts", tmp_path / "stages")


@pytest.mark.parametrize("way", matrix(["pipes", "http"], in_check={"pipes"}))
def test_http_statement_34_the_built_client_on_the_oldest_node(built_tests: Path, tmp_path: Path, way: str) -> None:
    for file in ("units", *FILES):
        tell(way, oldest_node(), built_tests / f"{file}.test.js", tmp_path / file)


def test_http_statement_34_strict_types() -> None:
    checked = compile_types("--project", str(PACKAGE / "tsconfig.check.json"))
    assert checked.returncode == 0, checked.stdout


def test_http_statement_35_the_examples_have_strict_types_in_a_program_that_installs_the_client(
    typescript_client: Path, tmp_path: Path
) -> None:
    app = tmp_path / "app"
    compile_types("--version")
    install(typescript_client, app)
    (app / "package.json").write_text('{"type": "module"}', encoding="utf-8")
    for number, example in enumerate(EXAMPLES):
        (app / f"example_{number}.ts").write_text(example.values[0], encoding="utf-8")
    project = write_project(app, [app], rootDir=str(app), noEmit=True)
    checked = compile_types("--project", str(project))
    assert checked.returncode == 0, checked.stdout
    (app / "wrong.ts").write_text('import "@pioneer-gateway/client/dist/nothing.js";\n', encoding="utf-8")
    assert compile_types("--project", str(project)).returncode != 0


@pytest.mark.parametrize("code", EXAMPLES)
def test_http_statement_35_the_examples_run(typescript_client: Path, tmp_path: Path, code: str) -> None:
    app = tmp_path / "app"
    install(typescript_client, app)
    (app / "package.json").write_text('{"type": "module"}', encoding="utf-8")
    (app / "example.ts").write_text(code, encoding="utf-8")
    with HttpDen(tmp_path / "den").door() as den:
        told = {"PIONEER_URL": f"http://127.0.0.1:{den.port}", "PIONEER_TOKEN": den.token()}
        ended = run([node(), "example.ts"], told, app)
    assert ended.returncode == 0, ended.stderr
    assert ended.stderr == ""
    assert ended.stdout
