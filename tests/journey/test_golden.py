"""The golden sessions: one for every method, played against a spawned gateway."""

import asyncio
from pathlib import Path

import pytest
from spawned import JOURNEY_SECONDS, Den, hello, journey

from gateway.play.replay import run
from gateway.wire.client import console_script

pytestmark = pytest.mark.loop("test")  # every method

GOLDEN = sorted((Path(__file__).resolve().parents[1] / "golden").glob("*.jsonl"))
NOT_OF_A_METHOD = "errors"
"""Sessions whose names begin so are about the envelope, not about one method."""


@pytest.mark.parametrize("path", GOLDEN, ids=lambda path: path.stem)
def test_a_golden_session_goes_as_written(path, monkeypatch):
    monkeypatch.setattr(
        "gateway.play.replay.STEP_SECONDS", JOURNEY_SECONDS
    )  # a machine with much to do starts nothing in ten
    report = asyncio.run(run(path, console_script()))
    assert report.ok, f"line {report.line}: {report.mismatch}"


@journey
async def test_every_method_has_a_golden_session_and_every_session_a_method(tmp_path):
    async with await Den(tmp_path).spawn() as client:
        methods = (await hello(client))["capabilities"]["methods"]
    named = {path.stem for path in GOLDEN if not path.stem.startswith(NOT_OF_A_METHOD)}
    assert named == {method.replace("/", "_") for method in methods}
