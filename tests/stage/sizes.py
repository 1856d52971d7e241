"""The size of the campaigns: small beside other tests, `ci` in continuous integration, `full` before a release."""

import os

SIZES = {
    # what                  small     ci    full
    "kills":              (   24,    150,  1_000),
    "job_kills":          (    6,     30,    300),
    "file_kills":         (    8,     20,     50),
    "killed_files":       (  320,  1_000,  5_000),
    "watched_files":      (  300,  1_000,  5_000),
    "jobs":               (  240,    600,  5_000),
    "cuts":               (1_500,  1_500, 20_000),
    "fault_stride":       (    8,      2,      1),
    "matrix_stride":      (    8,      4,      1),
    "damage_rounds":      (    2,     10,    200),
    "operations":         (2_000, 10_000, 10_000),
    "records":            (20_000, 20_000, 20_000),
    "repair_records":     (1_500,  1_500,  1_500),
    "page_records":       (10_000, 30_000, 100_000),
    "repair_examples":    (    8,     20,    200),
    "bundle_lives":       (   12,     12,    100),
    "driver_examples":    (   12,     12,    200),
    "hostile_turns":      (    6,      6,    100),
    "echo_turns":         (   20,     20,    200),
    "proxy_echoes":       (   20,    200,    200),
    "proxy_lives":        (    4,     20,     25),
    "proxy_requests":     (   20,    200,    400),
    "read_texts":         (  200,  1_000,  1_000),
    "year_days":          (   40,     60,    365),
    "year_turns":         (    1,      2,      6),
    "policy_every":       (    4,      1,      1),
    "payload_every":      (    8,      4,      1),
    "await_stride":       (    4,      4,      1),
}  # fmt: skip
"""Of kills, faults and examples how many; a stride or `every` is the share that is looked at."""
_COLUMN = ("small", "ci", "full").index(os.environ.get("PIONEER_SIZE") or "small")


def size(name: str) -> int:
    """Return how much of something is done: PIONEER_<NAME> says it for one, PIONEER_SIZE for all."""
    return int(os.environ.get(f"PIONEER_{name.upper()}") or SIZES[name][_COLUMN])
