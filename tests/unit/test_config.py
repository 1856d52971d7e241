import json
import os
import tomllib
from pathlib import Path

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from gateway.home.config import ConfigError, ConfigStore, read, strip_url_credentials
from gateway.home.config_check import find_problems
from gateway.home.config_keys import UnknownKey, find_nearest
from protocol.errors import CallerError, Unavailable
from protocol.settings import (
    GatewayConfig,
    HttpSettings,
    MemorySettings,
    ProxySettings,
    SettingsUpdateParams,
    UpstreamSettings,
)

PROVIDER = '[gateway.providers.local]\nkind = "openai"\n'


def patch(**groups):
    return msgspec.convert({"update": groups}, SettingsUpdateParams).update


def store_of(tmp_path: Path, text: str = "") -> ConfigStore:
    path = tmp_path / "config.toml"
    path.write_text(text, encoding="utf-8")
    return ConfigStore(path)


def test_an_absent_file_is_every_default_and_is_made_by_the_first_update(tmp_path):
    store = ConfigStore(tmp_path / "config.toml")
    assert (store.config, store.unknown_keys, store.problem) == (GatewayConfig(), [], None)

    store.update(patch(memory={"retention_days": 7}))

    assert tomllib.loads((tmp_path / "config.toml").read_text()) == {"gateway": {"memory": {"retention_days": 7}}}
    assert ConfigStore(tmp_path / "config.toml").config == store.config


def test_a_file_gives_what_it_says_and_defaults_for_the_rest():
    config, unknown = read(
        "[other]\nx = 1\n[gateway.memory]\nenabled = false\n[gateway.thread_episodic]\nmin_relevancy = 1\n" + PROVIDER
    )
    assert unknown == ["other"]
    assert config.memory == MemorySettings(enabled=False)
    assert config.thread_episodic.min_relevancy == 1.0
    assert config.providers["local"].timeout_ms == 120_000


def test_unknown_keys_are_set_aside_and_told_at_every_depth():
    _, unknown = read(
        "x = 1\n[gateway]\ncolour = 1\n[gateway.memory]\nenabeld = false\n[gateway.nothing.deep]\ny = 1\n"
        '[gateway.providers.p]\nkind = "openai"\napi_key = "sk-1"\n'
    )
    assert unknown == [
        "gateway.colour",
        "gateway.memory.enabeld",
        "gateway.nothing",
        "gateway.providers.p.api_key",
        "x",
    ]


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("[gateway\n", "TOML"),
        ("gateway = 3", "gateway: must be a table"),
        ("[gateway]\nmemory = 3", "gateway.memory: must be a table"),
        ('[gateway.memory]\nretention_days = "x"', "gateway.memory.retention_days: must be a whole number, not text"),
        ("[gateway.memory]\nretention_days = 0", "gateway.memory.retention_days: must be at least 1"),
        ("[gateway.memory]\nenabled = 1", "gateway.memory.enabled: must be true or false, not a whole number"),
        ("[gateway.thread_episodic]\nmin_relevancy = nan", "gateway.thread_episodic.min_relevancy: must be a number"),
        ("[gateway.thread_episodic]\nmin_relevancy = inf", "gateway.thread_episodic.min_relevancy: must be"),
        ('[gateway.providers."a b"]\nmodel = "m"', "gateway.providers.a b.kind: is required"),
        ('[gateway.providers.p]\nkind = "sk-secret"', "gateway.providers.p.kind: must be one of openai, anthropic"),
        ('[gateway.roles]\nmain = "sk-secret"', "gateway.roles.main: names no provider"),
        (
            PROVIDER + "context_tokens = 4000\nmax_output_tokens = 4000",
            "gateway.providers.local.max_output_tokens: must be less",
        ),
        ("[gateway.thread_episodic]\nsnippet_chars = 2000", "gateway.thread_episodic.snippet_chars: must not be"),
        ('[gateway.memory]\ncapsules_dir = "../up"', "gateway.memory.capsules_dir: must not hold `.`"),
        ("[gateway.memory]\nenabled = 2020-01-01", "gateway.memory.enabled: must be true or false"),
    ],
)
def test_a_bad_file_is_refused_in_one_line_that_names_the_key_and_not_the_value(text, names):
    with pytest.raises(ConfigError) as caught:
        read(text)
    assert names in str(caught.value)
    assert "\n" not in str(caught.value)
    assert "sk-secret" not in str(caught.value)


def test_a_file_that_is_not_utf_8_is_refused(tmp_path):
    (tmp_path / "config.toml").write_bytes(b"# \xff\n")
    with pytest.raises(ConfigError, match="UTF-8"):
        ConfigStore(tmp_path / "config.toml")


def test_a_byte_order_mark_and_windows_line_ends_are_read_and_line_ends_kept(tmp_path):
    path = tmp_path / "config.toml"
    path.write_bytes(b"\xef\xbb\xbf# mine\r\n[gateway.memory]\r\nretention_days = 9\r\n")
    store = ConfigStore(path)
    assert store.config.memory.retention_days == 9
    store.update(patch(memory={"retention_days": 10}))
    assert path.read_bytes() == b"# mine\r\n[gateway.memory]\r\nretention_days = 10\r\n"


def test_an_update_keeps_comments_and_order_and_foreign_tables(tmp_path):
    text = (
        "# mine\n[theirs]\nb = 1\na = [1, 2]  # odd\n\n[gateway.memory] # the memory\n"
        "retention_days = 9 # days\n# between\nenabled = false\n\n[zoo]\nlion = true\n"
    )
    store = store_of(tmp_path, text)
    config = store.update(patch(memory={"retention_days": 11, "enabled": None}, agent={"max_rounds": 3}))
    written = (tmp_path / "config.toml").read_text()

    assert (config.memory.retention_days, config.memory.enabled, config.agent.max_rounds) == (11, True, 3)
    assert written.startswith(
        "# mine\n[theirs]\nb = 1\na = [1, 2]  # odd\n\n[gateway.memory] # the memory\nretention_days = 11 # days\n"
    )
    assert "# between" in written
    assert "enabled" not in written
    assert tomllib.loads(written)["zoo"] == {"lion": True}
    assert store.config == config == ConfigStore(tmp_path / "config.toml").config


@pytest.mark.parametrize(
    "text",
    [
        "gateway = {memory = {enabled = false}}\n",
        "gateway.memory.enabled = false\ngateway.agent.max_rounds = 4\n",
        "[gateway]\nmemory.enabled = false\n",
        "[gateway]\nmemory = {enabled = false} # inline\n",
        "[gateway.memory]\nenabled = false\n[other]\nx = 1\n[gateway.agent]\nmax_rounds = 4\n",
        "[gateway]\n# nothing\n\n[other]\nx = 1\n",
        "[gateway.memory]\n[gateway.roles]\n",
        "",
    ],
)
def test_any_way_to_write_a_table_can_be_updated(tmp_path, text):
    store = store_of(tmp_path, text)
    wanted = patch(
        memory={"enabled": True, "retention_days": 12},
        agent={"max_rounds": 5, "system_prompt": 'line\n"two" \\ \x01 é'},
        thread_episodic={"min_relevancy": 0.5},
    )
    config = store.update(wanted)
    assert (config.memory.retention_days, config.agent.max_rounds) == (12, 5)
    assert ConfigStore(tmp_path / "config.toml").config == config
    removed = patch(memory={"enabled": None, "retention_days": None}, agent={"max_rounds": None, "system_prompt": None})
    assert store.update(removed).agent.max_rounds == GatewayConfig().agent.max_rounds
    assert ConfigStore(tmp_path / "config.toml").config == store.config


@settings(
    max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow]
)
@given(
    st.lists(
        st.fixed_dictionaries(
            {},
            optional={
                "retention_days": st.none() | st.integers(1, 3650),
                "capsules_dir": st.none() | st.sampled_from(["a/b", "c"]),
                "enabled": st.none() | st.booleans(),
            },
        ),
        max_size=4,
    ),
    st.text(st.characters(exclude_categories=["Cs"]), max_size=20),
)
def test_what_is_in_force_is_always_what_the_file_says(tmp_path, updates, prompt):
    path = tmp_path / "config.toml"
    path.write_text("[gateway.memory] # here\nenabled = false\n[tail]\nx = 1\n", encoding="utf-8")
    store = ConfigStore(path)
    for members in updates:
        store.update(patch(memory=members, agent={"system_prompt": prompt}))
    assert ConfigStore(path).config == store.config
    assert tomllib.loads(path.read_text(encoding="utf-8"))["tail"] == {"x": 1}


@pytest.mark.parametrize(
    ("groups", "path"),
    [
        ({"roles": {"main": "nobody"}}, "$.update.roles.main"),
        ({"artifacts": {"max_bytes": 1}}, "$.update.artifacts.max_inline_bytes"),
        ({"memory": {"capsules_dir": "/etc"}}, "$.update.memory.capsules_dir"),
    ],
)
def test_a_refused_update_names_the_key_and_changes_nothing(tmp_path, groups, path):
    store = store_of(tmp_path, PROVIDER)
    with pytest.raises(CallerError) as caught:
        store.update(patch(**groups))
    assert caught.value.reason == "invalid_params"
    assert caught.value.details is not None
    assert caught.value.details["path"] == path
    assert store.config == read(PROVIDER)[0]
    assert (tmp_path / "config.toml").read_text() == PROVIDER


def test_an_update_starts_from_what_another_process_wrote(tmp_path):
    ours = store_of(tmp_path)
    theirs = ConfigStore(tmp_path / "config.toml")
    theirs.update(patch(memory={"retention_days": 5}))
    config = ours.update(patch(agent={"max_rounds": 2}))
    assert (config.memory.retention_days, config.agent.max_rounds) == (5, 2)
    assert theirs.refresh() is True
    assert theirs.config == config
    assert (theirs.refresh(), ours.refresh()) == (False, False)


def test_a_file_that_became_bad_leaves_the_settings_in_force_until_it_is_mended(tmp_path):
    store = store_of(tmp_path, "[gateway.memory]\nretention_days = 5\n")
    path = tmp_path / "config.toml"
    path.write_text("[gateway.memory]\nretention_days = 50000\n")
    assert store.refresh() is True
    assert store.config.memory.retention_days == 5
    assert store.problem is not None
    assert "gateway.memory.retention_days" in store.problem
    with pytest.raises(Unavailable, match="mended first"):
        store.update(patch(agent={"max_rounds": 2}))
    assert path.read_text() == "[gateway.memory]\nretention_days = 50000\n"

    path.write_text("[gateway.memory]\nretention_days = 50\nx = 1\n")
    assert store.refresh() is True
    assert (store.config.memory.retention_days, store.problem) == (50, None)
    assert store.unknown_keys == [UnknownKey("gateway.memory.x", None, 3)]

    path.unlink()
    assert store.refresh() is True
    assert store.config == GatewayConfig()


@pytest.mark.skipif(os.name == "nt", reason="a link needs a privilege there")
def test_a_linked_file_is_changed_where_it_is(tmp_path):
    real = tmp_path / "dotfiles" / "pioneer.toml"
    real.parent.mkdir()
    real.write_text("")
    (tmp_path / "config.toml").symlink_to(real)
    ConfigStore(tmp_path / "config.toml").update(patch(memory={"retention_days": 3}))
    assert (tmp_path / "config.toml").is_symlink()
    assert "retention_days = 3" in real.read_text()


def test_a_file_that_cannot_be_written_is_told_as_such(tmp_path, monkeypatch):
    store = store_of(tmp_path)

    def full(_path, _data):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("gateway.home.config.publish", full)
    with pytest.raises(Unavailable) as caught:
        store.update(patch(memory={"retention_days": 3}))
    assert caught.value.reason == "storage_full"
    assert store.config == GatewayConfig()


def test_the_view_shows_that_there_is_a_key_and_no_key(tmp_path, monkeypatch):
    monkeypatch.setenv("PIONEER_TEST_KEY", "sk-secret")
    monkeypatch.delenv("PIONEER_TEST_NO_KEY", raising=False)
    store = store_of(
        tmp_path,
        '[gateway.providers.a]\nkind = "openai"\napi_key_env = "PIONEER_TEST_KEY"\n'
        'base_url = "https://me:sk-secret@host:1/v1?key=sk-secret"\n'
        '[gateway.providers.b]\nkind = "anthropic"\napi_key_env = "PIONEER_TEST_NO_KEY"\n',
    )
    view = store.view()
    assert (view.providers["a"].has_key, view.providers["b"].has_key) == (True, False)
    assert view.providers["a"].base_url == "https://host:1/v1"
    assert b"sk-secret" not in msgspec.json.encode(view)
    assert view.limits == store.config.limits
    assert strip_url_credentials("http://[") is None


def test_relative_paths_start_at_the_file(tmp_path):
    assert store_of(tmp_path).folder == tmp_path.resolve()


@pytest.mark.parametrize(
    ("wrong", "nearest"),
    [
        ("memory", "gateway.memory"),
        ("mcp", "gateway.mcp"),
        ("Memory", "gateway.memory"),
        ("gateway.memry", "gateway.memory"),
        ("retention_days", "gateway.memory.retention_days"),
        ("memory.retention_days", "gateway.memory.retention_days"),
        ("gateway.memory.enabeld", "gateway.memory.enabled"),
        ("gateway.agent.retention_days", "gateway.memory.retention_days"),
        ("gateway.providers.my.api_key", "gateway.providers.my.api_key_env"),
        ("gateway.memory.x", None),
        ("theirs", None),
    ],
)
def test_a_wrong_name_is_told_with_the_one_that_it_most_likely_means(wrong, nearest):
    assert find_nearest(wrong) == nearest


def test_unknown_names_come_in_the_order_of_the_file_with_their_lines(tmp_path):
    store = store_of(tmp_path, "[memory]\nretention_days = 3\n\n[gateway.agent]\nmax_round = 2\n")
    assert store.unknown_keys == [
        UnknownKey("memory", "gateway.memory", 1),
        UnknownKey("gateway.agent.max_round", "gateway.agent.max_rounds", 5),
    ]
    with pytest.raises(
        ConfigError, match=r"^line 1: there is no setting memory; did you mean gateway.memory\? \(and 1 more"
    ):
        store.require_known()


def layered(tmp_path: Path, text: str, **environ: str) -> ConfigStore:
    path = tmp_path / "config.toml"
    path.write_text(text, encoding="utf-8")
    return ConfigStore(path, environ=environ)


def test_the_environment_is_stronger_than_the_file_and_origins_say_so(tmp_path):
    text = "[gateway.memory]\nretention_days = 5\nenabled = false\n" + PROVIDER
    store = layered(tmp_path, text, PIONEER_MEMORY__RETENTION_DAYS="7", PIONEER_RECALL__FLOORS="{ total = 0.5 }")
    assert (store.config.memory.retention_days, store.config.memory.enabled) == (7, False)
    assert store.config.recall.floors.total == 0.5
    origins = store.origins()
    assert (origins["memory.retention_days"], origins["memory.enabled"]) == ("environment", "file")
    assert (origins["agent.max_rounds"], origins["providers.local"]) == ("default", "file")

    store.update(patch(memory={"retention_days": 9, "enabled": None}))
    assert (store.config.memory.retention_days, store.config.memory.enabled) == (7, True)
    assert tomllib.loads((tmp_path / "config.toml").read_text())["gateway"]["memory"] == {"retention_days": 9}
    assert store.origins()["memory.enabled"] == "default"


def test_a_changed_file_stays_below_the_environment(tmp_path):
    store = layered(tmp_path, "", PIONEER_AGENT__MAX_ROUNDS="3")
    (tmp_path / "config.toml").write_text("[gateway.agent]\nmax_rounds = 4\nhistory_turns_min = 2\n")
    assert store.refresh() is True
    assert (store.config.agent.max_rounds, store.config.agent.history_turns_min) == (3, 2)


@pytest.mark.parametrize(
    ("variable", "value", "names"),
    [
        (
            "PIONEER_MEMORY__RETENTION_DAYS",
            "sk-secret",
            "PIONEER_MEMORY__RETENTION_DAYS: takes whole number, 1 to 3650",
        ),
        (
            "PIONEER_THREAD_EPISODIC__MIN_RELEVANCY",
            "nan",
            "PIONEER_THREAD_EPISODIC__MIN_RELEVANCY: takes number, 0 to 1",
        ),
        (
            "PIONEER_THREAD_EPISODIC__SNIPPET_CHARS",
            "9999",
            "PIONEER_THREAD_EPISODIC__SNIPPET_CHARS: with it, thread_episodic.snippet_chars must not be greater than",
        ),
        ("PIONEER_MEMORY__CAPSULES_DIR", "../up", "PIONEER_MEMORY__CAPSULES_DIR: with it, memory.capsules_dir "),
    ],
)
def test_a_wrong_value_of_the_environment_gives_way_and_is_refused_by_its_variable(tmp_path, variable, value, names):
    text = "[gateway.memory]\nretention_days = 5\n"
    store = layered(tmp_path, text, **{variable: value, "PIONEER_AGENT__MAX_ROUNDS": "3"})
    beneath = layered(tmp_path, text, PIONEER_AGENT__MAX_ROUNDS="3")
    assert (store.config, store.origins()) == (beneath.config, beneath.origins())
    assert store.config.agent.max_rounds == 3
    assert [wrong.variable for wrong in store.wrong_values] == [variable]
    with pytest.raises(ConfigError) as caught:
        store.require_known()
    assert names in str(caught.value)
    assert "sk-secret" not in str(caught.value)


def test_a_variable_that_names_no_setting_is_told_with_the_nearest(tmp_path):
    environ = {
        "PIONEER_MEMRY__ENABLED": "1",
        "PIONEER_PROVIDERS__MODEL": "m",
        "PIONEER_HOME": "h",
        "PIONEER_FAULT_STRIDE": "1",
    }
    assert layered(tmp_path, "", **environ).unknown_keys == [
        UnknownKey("PIONEER_MEMRY__ENABLED", "PIONEER_MEMORY__ENABLED", None),
        UnknownKey("PIONEER_PROVIDERS__MODEL", "gateway.providers.model", None),
    ]


UPSTREAM = '[gateway.proxy.upstreams.local]\ndialect = "openai"\nbase_url = "http://127.0.0.1:9/v1"\n'
DOORS = {
    "http.port": ("70000", "at most 65535"),
    "http.bind": ('"nosuch host"', "an address of this machine"),
    "http.allow_remote": ('"yes"', "true or false"),
    "http.allowed_hosts": ('["http://box/"]', "box.example:8080"),
    "http.allowed_origins": ('["https://app.example/page"]', "https://app.example"),
    "http.max_body_bytes": ("1", "at least 65536"),
    "http.request_seconds": ("0", "at least 1"),
    "http.requests_per_second": ("1.5", "a whole number"),
    "http.max_streams": ("257", "at most 256"),
    "http.session_hours": ("0", "at least 1"),
    "http.ingest_learns": ("1", "true or false"),
    "proxy.port": ('"x"', "a whole number"),
    "proxy.bind": ('"0.0.0.0"', "needs allow_remote = true and allowed_hosts"),
    "proxy.allow_remote": ("1", "true or false"),
    "proxy.allowed_hosts": ("[1]", "must be text"),
    "proxy.request_seconds": ("301", "at most 300"),
    "proxy.recall_deadline_ms": ("5001", "at most 5000"),
    "proxy.placement": ('"spilt"', "one of split, user, system"),
    "proxy.learn": ('"everyone"', "one of known_clients, all, none"),
    "proxy.replay_chars": ("-1", "at least 0"),
    "proxy.memory_mode": ('"off"', "one of normal, read_only, ignored"),
    "proxy.drain_seconds": ("601", "at most 600"),
    "proxy.response_headers": ('"no"', "true or false"),
    "proxy.upstreams": ('"local"', "must be a table"),
    "limits.max_in_flight": ("0", "at least 1"),
    "proxy.upstreams.local.dialect": ('"gemini"', "one of openai, anthropic"),
    "proxy.upstreams.local.base_url": ('"http://ann:key@127.0.0.1/v1"', "without credentials, query or blanks"),
    "proxy.upstreams.local.api_key_env": ('""', "must not be empty"),
    "proxy.upstreams.local.connect_timeout_ms": ("1", "at least 10"),
    "proxy.upstreams.local.idle_timeout_ms": ("3600001", "at most 3600000"),
    "proxy.upstreams.local.default": ("1", "true or false"),
}
"""A wrong value of each setting of the doors, and words that say what would be right."""


def test_every_setting_of_the_doors_has_a_wrong_value_here():
    tables = {"http": HttpSettings, "proxy": ProxySettings, "proxy.upstreams.local": UpstreamSettings}
    names = {f"{table}.{name}" for table, kind in tables.items() for name in kind.__struct_fields__}
    assert names == DOORS.keys() - {"limits.max_in_flight"}


@pytest.mark.parametrize("key", DOORS)
def test_a_wrong_value_of_a_door_is_told_once_with_its_line_and_what_would_be_right(key):
    value, words = DOORS[key]
    table, _, name = key.rpartition(".")
    lines = [line for line in UPSTREAM.splitlines() if not line.startswith(name)] if "local" in key else []
    text = "\n".join([*(lines or [f"[gateway.{table}]"]), f"{name} = {value}\n"])
    (problem,) = find_problems(text)
    assert problem.key.removesuffix("[0]") == f"gateway.{key}"
    assert words in problem.problem
    assert problem.line == text.count("\n")
    assert problem.hint
    assert "key@" not in str(problem)


@pytest.mark.parametrize(
    ("more", "key", "words"),
    [
        ('api_key = "sk-1"\n', "local.api_key", "did you mean gateway.proxy.upstreams.local.api_key_env?"),
        ('[gateway.proxy.upstreams.c]\nbase_url = "http://c"\n', "c.dialect", "is required"),
        ('[gateway.proxy.upstreams.c]\ndialect = "anthropic"\nbase_url = "http://c/v1/"\n', "c.base_url", "end in /v1"),
        ('[gateway.proxy.upstreams."c/d"]\ndialect = "openai"\nbase_url = "http://c"\n', "c/d", "letters, digits"),
        ('[gateway.proxy.upstreams.c]\ndialect = "openai"\nbase_url = "http://localhost:4040"\n', "c.base_url", "own"),
    ],
)
def test_a_wrong_upstream_is_told_by_its_name(more, key, words):
    (problem,) = find_problems(UPSTREAM + more)
    assert problem.key == f"gateway.proxy.upstreams.{key}"
    assert words in problem.problem + problem.hint
    assert "sk-1" not in str(problem)


def test_what_doors_take_is_taken():
    hosts = ["box", "box.example:8080", "[::1]:80", "10.0.0.3", "xn--bcher-kva.example"]
    origins = ["https://app.example", "http://localhost:3000/", "chrome-extension://abcdef", "tauri://localhost"]
    bases = ["http://127.0.0.1:11434/v1", "https://api.example/v1beta/openai/", "http://[::1]:9", "https://api.example"]
    binds = ["127.0.0.1", "localhost", "::1", "[::1]", "fe80::1%eth0"]
    allowed = "allow_remote = true\nallowed_hosts = {}\nallowed_origins = {}\n".format(
        *map(json.dumps, (hosts, origins))
    )
    for bind in binds:
        text = f'[gateway.http]\nbind = "{bind}"\n{allowed}'
        for number, base in enumerate(bases):
            text += f'[gateway.proxy.upstreams.u{number}]\ndialect = "openai"\nbase_url = "{base}"\n'
        assert find_problems(text) == [], bind
