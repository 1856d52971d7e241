"""What "yesterday" means on this machine, where the client does not say."""

import os
import subprocess
import sys

import pytest

ASK = "from gateway.base.time_zone import system_zone; print(system_zone())"
ZONES = {
    "Asia/Kolkata": {"Asia/Kolkata"},
    "Europe/Berlin": {"Europe/Berlin"},
    "UTC": {"UTC"},
    "XYZ-7": {"Etc/GMT-7"},
    "XYZ-5:30": {"UTC"},
    "No/Such": {"UTC", "Etc/UTC"},
}


@pytest.mark.skipif(os.name != "posix", reason="there TZ does not name the system's zone")
@pytest.mark.parametrize("told", ZONES)
def test_the_systems_zone_has_a_name_or_at_least_the_right_offset(told: str) -> None:
    done = subprocess.run(
        [sys.executable, "-c", ASK], env={**os.environ, "TZ": told}, capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() in ZONES[told]
    assert done.stderr == ""
