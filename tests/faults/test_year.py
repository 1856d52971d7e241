"""A year of a life by the clock file: three projects, turns, wishes, agents' notes, and a consolidation a day.

`PIONEER_SIZE=full PIONEER_PLOT=docs/passes-year.svg pytest tests/faults/test_year.py` draws what the memory held, day
by day.
"""

import asyncio
import os
import random
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from sizes import size
from spawned import drain, every
from timed_den import DAY, TimedDen

from benchmarks.plots import Point, Series, line_chart
from gateway.wire.client import GatewayClient

DAYS = size("year_days")
TURNS_A_DAY = size("year_turns")
NOTES_A_DAY = 3
PROJECTS = ("ws_harbour", "ws_garden", "ws_novel")
SUBJECTS = ("ferry", "crane", "greenhouse", "beehive", "chapter", "editor", "pump", "fence", "index", "map")
DEEDS = (
    "leaks",
    "is painted green",
    "needs a second look",
    "belongs to Marguerite",
    "opens at seven",
    "costs 40 euros",
)
SAID = ("content", "evidence_count", "status", "category", "created_at", "updated_at", "tags", "provenance", "value")
"""The members of a record of the user that no pass may touch."""


class Census(NamedTuple):
    """What the memory held on a day."""

    day: int
    user: int
    notes: dict[int, int]
    """Active notes by the days that their tier lasts; 0: for good."""
    archived: int


def sentence(random_: random.Random, number: int) -> str:
    return f"The {random_.choice(SUBJECTS)} number {number} {random_.choice(DEEDS)}."


async def live_a_day(client: GatewayClient, random_: random.Random, day: int, notes: list[str]) -> None:
    for n in range(TURNS_A_DAY):
        project, number = random_.choice(PROJECTS), day * 100 + n
        text = sentence(random_, number)
        if random_.random() < 0.2:
            text = f"Remember that {text[0].lower()}{text[1:]}"
            await client.request(
                "memory/remember", {"content": text, "context": {"workspace_id": project, "include_user": True}}
            )
        said = {
            "thread_id": f"thr_{project}_{day // 30}",
            "turn_id": f"trn_{number}",
            "input": [{"type": "text", "text": text}],
        }
        await client.request("turn/prepare", said)
        await client.request(
            "turn/finish", {"turn_id": f"trn_{number}", "status": "succeeded", "assistant_text": "Noted."}
        )
    for n in range(NOTES_A_DAY):
        context = {"workspace_id": random_.choice(PROJECTS)}
        given = {"agent_id": "agt_pilot", "importance": random_.choice((0.1, 0.25, 0.4, 0.5)), "context": context}
        noted = await client.request("memory/note", {"content": sentence(random_, day * 100 + 50 + n), **given})
        if noted["memory_id"] is not None:
            notes.append(noted["memory_id"])
    if notes and random_.random() < 0.5:  # somebody looks something up, which reinforces it
        await client.request(
            "memory/get",
            {"memory_id": random_.choice(notes[-60:]), "context": {"workspace_id": random_.choice(PROJECTS)}},
        )


def count(den: TimedDen, day: int) -> Census:
    connection = den.database()
    rows: list[Any] = connection.execute(
        "SELECT is_machine, status, tier_days, count(*) FROM record GROUP BY 1, 2, 3"
    ).fetchall()
    connection.close()
    user = sum(number for is_machine, status, _, number in rows if not is_machine and status == "active")
    active = {days: number for is_machine, status, days, number in rows if is_machine and status == "active"}
    return Census(day, user, active, sum(row[3] for row in rows if row[0] and row[1] == "archived"))


async def told_by_the_user(client: GatewayClient) -> dict[str, dict[str, Any]]:
    """Return every record of the user's voice, in all projects, by its id."""
    found: dict[str, dict[str, Any]] = {}
    for project in PROJECTS:
        context = {"workspace_id": project, "include_user": True}
        statuses = ["active", "superseded", "expired", "archived"]
        records = await every(client, "memory/list", "records", context=context, voices=["user"], statuses=statuses)
        found |= {record["memory_id"]: {name: record[name] for name in SAID} for record in records}
    return found


@pytest.mark.timeout(3600)
def test_a_year_changes_hides_and_loses_nothing_that_the_user_said(tmp_path: Path) -> None:
    asyncio.run(live(tmp_path))


async def live(tmp_path: Path) -> None:
    den, random_, notes, days = TimedDen(tmp_path), random.Random(2026), list[str](), list[Census]()
    said: dict[str, dict[str, Any]] = {}
    async with den.client(None) as client:
        for project in PROJECTS:
            await client.request("workspace/create", {"workspace_id": project})
        for day in range(DAYS):
            for project in PROJECTS if day % 30 == 0 else ():
                await client.request(
                    "thread/start", {"thread_id": f"thr_{project}_{day // 30}", "workspace_id": project}
                )
            await live_a_day(client, random_, day, notes)
            if day % 30 == 29 or day == DAYS - 1:
                now = await told_by_the_user(client)
                assert said == {
                    memory_id: now.get(memory_id) for memory_id in said
                }  # nothing is changed, hidden or lost
                said = now
            den.forward(DAY)
            await drain(client)
            days.append(count(den, day))
        runs = await every(client, "passes/runs", "runs")
        assert {run["state"] for run in runs} == {"completed"}
        assert DAYS - 1 <= len(runs) <= DAYS
    assert days[-1].user == sum(record["status"] == "active" for record in said.values()) > 0
    at_rest = [sum(one.notes.values()) for one in days[DAYS // 2 :]]
    assert max(at_rest) < len(notes)  # notes go
    if DAYS > 120:
        assert max(at_rest) <= 100 * NOTES_A_DAY  # of what is noted in a day no more stays than its longest tier keeps
    if plot := os.environ.get("PIONEER_PLOT"):
        Path(plot).write_text(_drawn(days), encoding="utf-8")


def _drawn(days: list[Census]) -> str:
    def line(name: str, value: Any) -> Series:
        return Series(name, [Point(one.day + 1, value(one)) for one in days])

    tiers = sorted({tier for one in days for tier in one.notes}, key=lambda tier: tier or 999)
    series = [line("said by the user", lambda one: one.user)]
    series += [
        line("notes for good" if tier == 0 else f"notes for {tier} days", lambda one, tier=tier: one.notes.get(tier, 0))
        for tier in tiers
    ]
    series.append(line("notes in the archive", lambda one: one.archived))
    return line_chart("A year of a memory", "day", "records", series)
