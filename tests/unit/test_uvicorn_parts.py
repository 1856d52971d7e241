"""uvicorn without its command line: the package's own file is run when a name of it is asked for, and not before."""

import subprocess
import sys

import pytest

SCRIPT = """
import sys
import gateway.doors.http.uvicorn_parts
import uvicorn
before = "uvicorn.main" in sys.modules
found = getattr(uvicorn, {name!r}, "absent")
print(before, "uvicorn.main" in sys.modules, found == "absent")
"""


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("run", "False True False"),
        ("Config", "False False False"),
        ("__version__", "False True False"),
        ("__all__", "False True False"),
        ("__wrapped__", "False False True"),
        ("nothing", "False True True"),
    ],
)
def test_the_own_file_is_run_for_its_names_alone(name: str, said: str):
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT.format(name=name)], capture_output=True, text=True, check=True, timeout=60
    )
    assert done.stdout.split() == said.split()


LOADED = """
import sys
from gateway.doors.http.uvicorn_parts import Config
Config(print, ws="none", loop="none", lifespan="off", log_config=None).load()
print("uvicorn.main" in sys.modules)
"""


def test_a_server_that_begins_runs_it_neither():
    done = subprocess.run([sys.executable, "-c", LOADED], capture_output=True, text=True, check=True, timeout=60)
    assert done.stdout.split() == ["False"]
