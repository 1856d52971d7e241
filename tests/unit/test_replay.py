import asyncio
import json
import re
import sys
import textwrap
from pathlib import Path

import msgspec
import pytest

from gateway.home.config import read
from gateway.play import replay
from gateway.play.replay import BadReplay, run, steps_of
from gateway.play.replay_pattern import ABSENT, BadPattern, Mismatch, fill_references, match
from protocol.methods import METHODS
from protocol.notifications import NOTIFICATIONS

ECHO = textwrap.dedent(
    '''
    """A stand-in for the gateway: answers with what it was asked, after what it was told to say."""
    import json, pathlib, sys
    options = dict(zip(sys.argv[2::2], sys.argv[3::2]))
    def say(value):
        sys.stdout.buffer.write(json.dumps(value).encode() + b"\\n")
        sys.stdout.buffer.flush()
    for line in sys.stdin.buffer:
        try:
            ask = json.loads(line)
        except ValueError:
            say({"jsonrpc": "2.0", "id": None, "error": {"code": -32700, "message": "not JSON"}})
            continue
        if isinstance(ask, list):
            say([{"id": item["id"], "result": item.get("params")} for item in ask])
            continue
        if ask["method"] == "die":
            print("last words", file=sys.stderr)
            sys.exit(7)
        if ask["method"] == "hang":
            import time
            time.sleep(60)
        if ask["method"] == "clock":
            ask["params"] = int(pathlib.Path(options["--clock-file"]).read_text())
        if ask["method"] == "files":
            folder = pathlib.Path(options["--config"]).parent
            ask["params"] = {
                "config": (folder / "config.toml").read_text(), "script": (folder / "script.jsonl").read_text(),
                "verb": sys.argv[1], "options": sorted(options),
            }
        for notice in (ask.get("params") or {}).get("say", []) if isinstance(ask.get("params"), dict) else []:
            say({"jsonrpc": "2.0", "method": notice["method"], "params": notice["params"]})
        if "id" in ask and ask["method"] != "silence":
            say({"jsonrpc": "2.0", "id": ask["id"], "result": ask.get("params")})
    '''
)


@pytest.fixture
def play(tmp_path):
    echo = tmp_path / "echo.py"
    echo.write_text(ECHO)

    def playing(*steps):
        path = tmp_path / "scene.jsonl"
        path.write_text("\n".join(step if isinstance(step, str) else json.dumps(step) for step in steps))
        return asyncio.run(run(path, [sys.executable, str(echo)]))

    return playing


def ask(number, method="echo", **params):
    return {"send": {"jsonrpc": "2.0", "id": number, "method": method, "params": params}}


# -- patterns --------------------------------------------------------------------------------------------------------

MATCHES = [
    (1, 1.0),
    ({"a": 1}, {"a": 1, "b": 2}),
    ({"a": 1, "$exact": True}, {"a": 1}),
    ({"a": 1, "b": {"$absent": True}, "$exact": True}, {"a": 1}),
    ([1, {"$any": True}], [1, None]),
    ({"a": {"$any": True}}, {"a": None}),
    ({"$type": "integer"}, 3),
    ({"$type": "number"}, 3.5),
    ({"$type": "object", "a": 1}, {"a": 1}),
    ({"$contains": [2, {"$type": "string"}]}, [1, "x", 2]),
    ({"$contains": []}, []),
    ({"$matches": "^thr_"}, "thr_1"),
    ({"$length": 2}, "ab"),
    ({"$length": 0}, []),
    ({"$capture": "x", "a": 1}, {"a": 1, "b": 2}),
    ([{"$capture": "x"}, {"$ref": "x"}], [{"a": [1]}, {"a": [1]}]),
]

MISMATCHES = [
    (1, True, "$"),
    (True, 1, "$"),
    (None, False, "$"),
    ("a", ABSENT, "$"),
    ({"a": None}, {}, "$.a"),
    ({"a": {"b": [0, 1]}}, {"a": {"b": [0, 2]}}, "$.a.b[1]"),
    ([1], [1, 2], "$"),
    ([1], "x", "$"),
    ({"a": 1}, [1], "$"),
    ({"a": 1, "$exact": True}, {"a": 1, "b": 2}, "$"),
    ({"a": {"$any": True}}, {}, "$.a"),
    ({"a": {"$absent": True}}, {"a": None}, "$.a"),
    ({"$type": "integer"}, True, "$"),
    ({"$type": "number"}, "3", "$"),
    ({"$contains": [1, 3]}, [1, 2], "$"),
    ({"$contains": [1]}, {"1": 1}, "$"),
    ({"$matches": "^thr_"}, "trn_1", "$"),
    ({"$matches": "^3"}, 3, "$"),
    ({"$length": 2}, [1], "$"),
    ({"$length": 1}, 1, "$"),
    ({"$type": "object", "a": 1}, {"a": 2}, "$.a"),
    ([{"$capture": "x"}, {"$ref": "x"}], [{"a": [1]}, {"a": [True]}], "$[1]"),
    ({"a": {"$capture": "x"}}, {}, "$.a"),
]


@pytest.mark.parametrize(("pattern", "value"), MATCHES)
def test_a_value_fits_its_pattern(pattern, value):
    match(pattern, value, {})


@pytest.mark.parametrize(("pattern", "value", "path"), MISMATCHES)
def test_a_value_that_does_not_fit_is_told_with_its_place(pattern, value, path):
    with pytest.raises(Mismatch) as caught:
        match(pattern, value, {})
    assert caught.value.path == path
    assert "expected:" in str(caught.value)


def test_captures_are_given_back_and_fill_what_is_sent():
    bound = match({"thread": {"id": {"$capture": "thread"}}}, {"thread": {"id": "thr_1"}}, {"old": 1})
    assert bound == {"old": 1, "thread": "thr_1"}
    assert fill_references({"a": [{"$ref": "thread"}], "b": 2}, bound) == {"a": ["thr_1"], "b": 2}


@pytest.mark.parametrize("pattern", [{"$nothing": 1}, {"$ref": "x"}, {"$type": "thing"}, {"$matches": "("}])
def test_a_pattern_that_means_nothing_is_no_mismatch(pattern):
    with pytest.raises(BadPattern):
        match(pattern, "x", {})


# -- files -----------------------------------------------------------------------------------------------------------


def test_steps_know_their_lines_and_comments_are_none():
    text = '{"comment": "a\u2028b"}\n\n{"send": null, "comment": "why"}\r\n{"expect": {"id": 1}}'
    assert steps_of(text) == [(3, "send", None), (4, "expect", {"id": 1})]


@pytest.mark.parametrize("line", ["{", '{"sned": 1}', '{"send": 1, "expect": 2}', "[]", '{"advance_clock_ms": "1"}'])
def test_a_line_that_is_no_step_is_named(line):
    with pytest.raises(BadReplay) as caught:
        steps_of("\n" + line)
    assert caught.value.line == 2


# -- plays -----------------------------------------------------------------------------------------------------------


def test_replies_are_found_by_id_and_the_others_in_order_of_arrival(play):
    report = play(
        ask("a", n=1),
        ask("b", n=2),
        {"send_raw": "{"},
        {"send": [{"id": 5, "params": 1}, {"id": 6}]},
        {"expect": [{"id": 5, "result": 1}, {"id": 6}]},
        {"expect": {"id": "b", "result": {"n": {"$capture": "n"}}}},
        {"expect": {"id": None, "error": {"code": -32700}}},
        {"expect": {"result": {"n": 1}}},
        {"send": {"id": {"$ref": "n"}, "method": "echo", "params": [{"$ref": "n"}]}},
        {"expect": {"id": {"$ref": "n"}, "result": [2]}},
    )
    assert report == (True, None, None)


def test_notifications_match_once_each_and_in_any_order(play):
    notices = [{"method": "m", "params": {"n": n}} for n in (1, 2, 2)]
    report = play(
        ask(1, say=notices),
        {"notification": {"method": "m", "params": {"n": 2}}},
        {"notification": {"method": "m", "params": {"n": {"$capture": "first"}}}},
        {"none": "other"},
        {"notification": {"method": "m"}},
        {"none": "m"},
        ask(2, n={"$ref": "first"}),
        {"expect": {"id": 2, "result": {"n": 1}}},
    )
    assert report == (True, None, None)


def test_a_notification_that_should_not_have_come_is_told(play):
    report = play(ask(1, say=[{"method": "m", "params": {"n": 1}}]), {"expect": {"id": 1}}, {"none": "m"})
    assert (report.ok, report.line) == (False, 3)
    assert '"n": 1' in report.mismatch


def test_a_mismatch_names_line_place_and_both_values(play):
    report = play(
        {"comment": "one"}, ask(1, thread={"name": "y"}), {"expect": {"id": 1, "result": {"thread": {"name": "x"}}}}
    )
    assert (report.ok, report.line) == (False, 3)
    assert report.mismatch == 'at $.result.thread.name\n    expected: "x"\n    came:     "y"'


def test_setup_gives_config_script_clock_and_arguments(play):
    report = play(
        {"setup": {"config": "# mine", "script": [{"role": "any"}], "clock": 5000, "args": ["--log-level", "debug"]}},
        ask(1, "files"),
        {
            "expect": {
                "result": {
                    "config": "# mine",
                    "script": '{"role":"any"}\n',
                    "verb": "serve",
                    "options": ["--clock-file", "--config", "--home", "--log-level"],
                }
            }
        },
        {"advance_clock_ms": 250},
        ask(2, "clock"),
        {"expect": {"id": 2, "result": 5250}},
        {"restart": True},
        ask(3, "clock"),
        {"expect": {"id": 3, "result": 5250}},
    )
    assert report == (True, None, None)


def test_the_send_after_a_kill_starts_another_process(play):
    report = play(
        ask(1, say=[{"method": "m", "params": {}}]),
        {"expect": {"id": 1}},
        {"kill": True},
        ask(1),
        {"expect": {"id": 1}},
        {"none": "m"},
    )
    assert report == (True, None, None)


def test_a_process_that_ends_is_told_with_its_last_words(play):
    report = play(ask(1, "die"), {"expect": {"id": 1}})
    assert (report.ok, report.line) == (False, 2)
    assert "exit code: 7" in report.mismatch
    assert "last words" in report.mismatch


def test_what_does_not_come_in_time_is_told_with_what_came(play, monkeypatch):
    monkeypatch.setattr(replay, "STEP_SECONDS", 0.5)
    report = play(
        ask(1, say=[{"method": "m", "params": {"n": 1}}, {"method": "o", "params": {}}]),
        {"expect": {"id": 1}},
        {"notification": {"method": "m", "params": {"n": 2}}},
    )
    assert (report.ok, report.line) == (False, 3)
    assert '"n": 1' in report.mismatch
    assert "not matched: o" in report.mismatch


def test_a_process_that_does_not_end_is_a_failure(play, monkeypatch):
    monkeypatch.setattr(replay, "STEP_SECONDS", 5.0)
    report = play(ask(1), {"expect": {"id": 1}}, ask(2, "hang"))
    assert not report.ok
    assert "did not end" in report.mismatch


@pytest.mark.parametrize(
    ("steps", "line", "words"),
    [
        (["nonsense"], 1, "malformed"),
        ([{"expect": {"id": 1}}], 1, "no process runs"),
        ([ask(1), {"setup": {}}], 2, "before the first send"),
        ([ask(1), {"advance_clock_ms": 1}], 2, "setup can set one"),
        ([{"send": {"$ref": "x"}}], 1, "nothing was captured"),
        ([ask(1), {"notification": {"params": {}}}], 2, "names its method"),
    ],
)
def test_a_file_that_is_no_replay_is_told_as_such(play, steps, line, words):
    report = play(*steps)
    assert (report.ok, report.line) == (False, line)
    assert words in report.mismatch


def test_the_command_says_how_each_file_went(tmp_path, monkeypatch, capsys):
    (tmp_path / "echo.py").write_text(ECHO)
    monkeypatch.setattr(replay, "console_script", lambda: [sys.executable, str(tmp_path / "echo.py")])
    good, bad = tmp_path / "good.jsonl", tmp_path / "bad.jsonl"
    good.write_text(json.dumps(ask(1)) + '\n{"expect": {"id": 1}}\n')
    bad.write_text('{"expect": 1}\n')
    assert replay.main([str(good)]) == 0
    assert replay.main([str(good), str(bad), str(tmp_path / "absent.jsonl")]) == 1
    said = capsys.readouterr().out
    assert f"ok    {good}\n" in said
    assert f"FAIL  {bad}:1: " in said
    assert "cannot be read (FileNotFoundError)" in said


def test_the_documented_example_is_made_of_steps_and_of_messages_of_the_contract():
    docs = Path(__file__).resolve().parents[2] / "docs" / "replay.md"
    (example, *_) = re.findall(r"```json\n(.*?)```", docs.read_text(encoding="utf-8"), re.DOTALL)
    steps = steps_of(example)
    sent = [step.given for step in steps if step.verb == "send"]
    assert len(sent) >= 4
    for message in sent:
        msgspec.convert(fill_references(message["params"], {"roses": "mem_1"}), METHODS[message["method"]].params)
    read(next(step.given.config for step in steps if step.verb == "setup"))
    noticed = [step.given["method"] for step in steps if step.verb == "notification"]
    assert set(noticed) <= set(NOTIFICATIONS)
