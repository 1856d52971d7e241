import msgspec
from clock import SetClock

from gateway.base.health import LAST_ERRORS, Health


def health_with_ears():
    heard = []
    clock = SetClock(1000)

    def notify(method, params):
        heard.append((method, msgspec.to_builtins(params)))

    return Health(notify, clock), heard, clock


def test_a_change_is_told_once_and_its_repetition_changes_nothing():
    health, heard, clock = health_with_ears()
    health.degrade("embedding", "model_absent")
    clock.at = 2000
    health.degrade("embedding", "model_absent")
    assert heard == [("gateway/degraded", {"component": "embedding", "reason": "model_absent"})]
    assert [entry.since for entry in health.list_degraded()] == [1000]

    health.recover("embedding")
    health.recover("embedding")
    assert heard[1:] == [("gateway/recovered", {"component": "embedding"})]
    assert health.list_degraded() == []


def test_another_reason_replaces_the_one_before():
    health, heard, clock = health_with_ears()
    health.degrade("embedding", "model_absent")
    clock.at = 2000
    health.degrade("embedding", "model_failed")
    assert [(entry.reason, entry.since) for entry in health.list_degraded()] == [("model_failed", 2000)]
    assert [params["reason"] for _, params in heard] == ["model_absent", "model_failed"]


def test_keys_stand_side_by_side_are_told_once_and_recover_together():
    health, heard, _ = health_with_ears()
    health.degrade("config", "unknown_key", "gateway.x")
    health.degrade("config", "unknown_key", "gateway.y")
    health.degrade("storage", "storage_full")
    assert [entry.key for entry in health.list_degraded()] == ["gateway.x", "gateway.y", None]
    assert [method for method, _ in heard] == ["gateway/degraded", "gateway/degraded"]
    health.recover("config")
    assert [entry.component for entry in health.list_degraded()] == ["storage"]


def test_the_last_failures_are_kept_newest_first():
    health, heard, clock = health_with_ears()
    for n in range(LAST_ERRORS + 5):
        clock.at = n
        health.add_failure("provider", "timeout", f"inc_{n}")
    errors = health.last_errors()
    assert len(errors) == LAST_ERRORS
    assert (errors[0].at, errors[0].incident_id, errors[-1].at) == (24, "inc_24", 5)
    assert heard == []
