"""examples/desktop_host under plain Node: the app's own files, with a thread as its window."""

import json
import re
import shutil
from pathlib import Path
from typing import Any

import pytest
from http_stage import HttpDen
from spawned import on_posix
from typescript_stage import ROOT, build, install, node, run

pytestmark = on_posix

EXAMPLE = ROOT / "examples" / "desktop_host"

PAGE = """
(async () => {
  const changes = [];
  const text = [];
  pioneer.on((name, params) => {
    if (name === "memory/changed") changes.push(params.change_kind);
    if (name === "item/agent_message/delta") text.push(params.delta);
  });
  const told = await pioneer.remember({ content: "The boat is called Tern." });
  const found = await pioneer.search({ query: "boat" });
  report({ found: found.result.hits.map((hit) => hit.record.content) });
  report({ wrong: (await pioneer.search({ query: "x".repeat(5000) })).error });
  report({ answer: await pioneer.ask("How do I take my coffee?"), text });
  report({ forgotten: (await pioneer.forget({ target: { kind: "id", memory_id: told.result.record.memory_id } })).result.forgotten });
  report({ listed: (await pioneer.list({})).result.records, changes });
  report({ seen: [typeof require, typeof process, Object.keys(pioneer).sort()] });
})()
"""


@pytest.fixture(scope="module")
def typescript_client(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build(tmp_path_factory.mktemp("client"))


def open_window(
    client: Path, folder: Path, page: str, preload: str | None = None
) -> tuple[int, list[dict[str, Any]], str]:
    """Run the app until its window closes: the exit code, what the page reported, and stderr."""
    den = HttpDen(folder / "den", scripted=True)
    den.write_script([{"role": "main", "respond": {"text": "Without any sugar."}, "stream_chunks": 3}])
    config = den.config.read_text(encoding="utf-8")
    for file in (den.script, den.record):
        config = config.replace(json.dumps(file.name), json.dumps(str(file)))
    den.home.mkdir()
    (den.home / "config.toml").write_text(config, encoding="utf-8")
    app = folder / "app"
    shutil.copytree(EXAMPLE, app)
    shutil.copytree(EXAMPLE / "stand_in", app / "node_modules" / "electron")
    install(client, app)
    if preload is not None:
        (app / "preload.cjs").write_text(preload, encoding="utf-8")
    (folder / "page.js").write_text(page, encoding="utf-8")
    ended = run([node(), "main.mjs"], {"PAGE": str(folder / "page.js"), "PIONEER_HOME": str(den.home)}, app)
    return ended.returncode, [json.loads(line) for line in ended.stdout.splitlines()], ended.stderr


def test_http_section_2_10_a_page_reaches_the_listed_methods(typescript_client: Path, tmp_path: Path) -> None:
    code, reports, errors = open_window(typescript_client, tmp_path, PAGE)
    assert errors == ""
    assert code == 0
    told = {name: value for report in reports for name, value in report.items()}
    assert told["found"] == ["The boat is called Tern."]
    assert told["wrong"]["reason"] == "invalid_params"
    assert told["wrong"]["retryable"] is False
    assert told["answer"] == {"result": "Without any sugar."}
    assert "".join(told["text"]) == "Without any sugar."
    assert len(told["text"]) == 3
    assert told["listed"] == []
    assert told["changes"][0] == "created"
    methods = re.findall(r"^  (\w+): \"", (EXAMPLE / "preload.cjs").read_text(encoding="utf-8"), re.MULTILINE)
    assert told["seen"] == ["undefined", "undefined", sorted([*methods, "ask", "on"])]


def test_a_page_that_asks_for_another_method_is_refused_by_the_main_process(
    typescript_client: Path, tmp_path: Path
) -> None:
    preload = (EXAMPLE / "preload.cjs").read_text(encoding="utf-8").replace('"memory/list"', '"settings/update"')
    page = "(async () => { await pioneer.list({}).catch((error) => report({ refused: error.message })); })()"
    code, reports, errors = open_window(typescript_client, tmp_path, page, preload)
    assert errors == ""
    assert code == 0
    assert reports == [{"refused": "Error: settings/update is not for pages"}]


def test_the_lists_of_both_sides_are_the_same() -> None:
    sides = [
        set(re.findall(r'"(\w+/\w+)"', (EXAMPLE / file).read_text(encoding="utf-8").partition(end)[0]))
        for file, end in (("main.mjs", "const EVENTS"), ("preload.cjs", "const calls"))
    ]
    assert sides[0] == sides[1] != set()
