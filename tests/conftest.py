"""The ground of every test, however the tests were started."""

import os
import random
import shutil
import signal
import sys
import tempfile
from collections import Counter
from pathlib import Path

import pytest
from forked import FOLLOW, followed_by_pattern, fork_commands, usual_config
from hypothesis import HealthCheck, is_hypothesis_test, settings
from loops import LOOPS, SEED, drawn, loops_of, may_hold

from gateway.wire.client import console_script

for _name, _usual in {"SIGINT": signal.default_int_handler, "SIGHUP": signal.SIG_DFL}.items():
    _number = getattr(signal, _name, None)  # Windows knows no SIGHUP
    if _number is not None and signal.getsignal(_number) is signal.SIG_IGN:
        signal.signal(
            _number, _usual
        )  # `nohup make test &` has them ignored, and whatever a test starts would ignore them too

# Containers like to forbid it, and every gateway that a test spawns would be compiled anew: a second instead of a half.
sys.dont_write_bytecode = False
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)

# Chance belongs to the campaigns: what turns a test red is the change, and of examples that are the same in every run
# half of Hypothesis' usual hundred tell as much. Time is no argument anywhere, machines are shared.
_IS_CAMPAIGN = "PIONEER_SIZE" in os.environ
settings.register_profile(
    "loop",
    derandomize=not _IS_CAMPAIGN,
    max_examples=100 if _IS_CAMPAIGN else 50,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.load_profile("loop")


COUNTED_CASES = 3
"""The cases of a test that coverage counts."""
MEMORY = Path("/dev/shm")  # noqa: S108  # files are made in it as in any folder for temporary files
ROOM = 1 << 30
"""Bytes: ten times what the tests of a run hold at once."""


def pytest_configure(config: pytest.Config) -> None:
    """Fork commands of `pioneer`, and keep the files of the loop `test` in memory where there is room: a run waits for
    thousands of syncs.

    The other loops wait for the disk that a person has.
    """
    fork_commands(console_script()[0], lambda: config.stash.get(_is_cold, False))
    if config.getoption("loop") == "campaign":  # before there are workers: all of them draw the same
        os.environ.setdefault(SEED, str(random.randrange(1 << 32)))
    is_there = config.getoption("loop") == "test" and os.access(MEMORY, os.W_OK)
    if is_there and shutil.disk_usage(MEMORY).free >= ROOM:
        tempfile.tempdir = os.environ["TMPDIR"] = str(MEMORY)


_follow = pytest.StashKey[str | None]()
_is_cold = pytest.StashKey[bool]()


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    """Let coverage follow the processes of tests that are marked for it, and no others; fork those of tests that are
    not cold."""
    stash = item.config.stash
    stash[_is_cold] = item.get_closest_marker("cold") is not None
    if _follow not in stash:
        told = os.environ.get(FOLLOW) or (usual_config() if item.config.getoption("follow") else None)
        stash[_follow] = None if told is None else followed_by_pattern(told)
    config = stash[_follow]
    if config is not None and item.get_closest_marker("followed") is not None:
        os.environ[FOLLOW] = config
    else:
        os.environ.pop(FOLLOW, None)


def pytest_addoption(parser: pytest.Parser) -> None:
    told = "; ".join(f"{name}: {what}" for name, what in LOOPS.items())
    parser.addoption("--loop", choices=list(LOOPS), help=f"run the tests of one loop ({told})")
    parser.addoption("--follow", action="store_true", help="have coverage count the processes of followed tests alone")


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Leave out modules of which no test is in the loop: those of another loop's folder that mark none."""
    return True if not may_hold(collection_path, config.getoption("loop")) else None


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    wanted = config.getoption("loop")
    kept = [item for item in items if wanted in (*loops_of(item), None)]
    if wanted == "campaign":
        rows = [item for item in kept if item.get_closest_marker("matrix") is not None]
        left_out = {*rows} - {*drawn(rows)}
        kept = [item for item in kept if item not in left_out]
    config.hook.pytest_deselected(items=[*({*items} - {*kept})])
    items[:] = kept
    _leave_uncounted(items)


def _leave_uncounted(items: list[pytest.Item]) -> None:
    """Mark what coverage need not count: counting doubles the time of a test, and the fourth case of a test or the
    fiftieth example of a property run hardly a line that others do not. The figure is a lower bound by that."""
    cases: Counter[str] = Counter()
    for item in items:
        test = item.nodeid.partition("[")[0]
        cases[test] += 1
        if cases[test] > COUNTED_CASES or is_hypothesis_test(getattr(item, "obj", None)):
            item.add_marker(pytest.mark.no_cover)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    if config.getoption("loop") == "campaign":
        terminalreporter.write_line(f"{SEED}={os.environ[SEED]} draws the same rows of matrices")
