"""Whatever of the indexes is damaged in the file: the start after it notices, a job mends, and searches find what they
found."""

import asyncio
import json
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from damages import (
    DAMAGES,
    FACT_QUERIES,
    FOUND,
    QUERIES,
    answers,
    change,
    copied,
    derived,
    fill,
    sql,
)
from loops import matrix
from spawned import Den, clean_environment, drain, hello, journey, run_to_end
from tiny_model import make_tiny_model

from gateway.care.damage_checks import RESTORE
from gateway.store.copy import find_complaints
from gateway.wire.client import CallFailed, GatewayClient, console_script

ONE_OF_EACH_KIND = {(reason, "memory" in name): name for name, (reason, _) in reversed(DAMAGES.items())}.values()
"""The first damage that is told for each reason, in each house."""
MET_BY_A_START = {*[*ONE_OF_EACH_KIND][::2]}
"""A merge sees every other kind met by a start, and the rest by the doctor; campaigns see each damage met by both."""

FAILED_REPAIR = """
    INSERT INTO job (job_id, kind, subject, maker, state, attempt_count, next_run_at, created_at, last_error)
    VALUES ('job_failed_before', 'repair', 'thread_episodic', 'own_gone', 'retry_wait', 1, 9e12, 1, 'unavailable')
"""
"""A repair that a process before could not end, and that its own patience would try in centuries."""


@pytest.fixture(scope="module")
def prepared(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A home in which something was said and kept, and the model of its vectors."""
    folder = tmp_path_factory.mktemp("prepared")

    @journey
    async def story() -> None:
        den = Den(folder / "den", model=make_tiny_model(folder / "model"))
        await fill(den)
        await start_and_drain(den)  # the first one notes by which lexicon the home was written

    story()
    return folder


class Seen(NamedTuple):
    """What a start after the damage told, and what there is after its first drain."""

    reasons: set[str]
    status: dict[str, Any]
    answers: list[Any]


async def start_and_drain(den: Den) -> Seen:
    async with await den.spawn() as client:
        await hello(client)
        await drain(client)
        told = [params for method, params in client.received if method == "gateway/degraded"]
        status = await client.request("gateway/status", {})
        episodic = await client.request("thread_episodic/status", {"workspace_id": "ws_here"})
        assert episodic["repair"] == {"state": "ok", "reasons": [], "done": 0, "total": 0}
        return Seen({one["reason"] for one in told if one["component"] == "index"}, status, await answers(client))


class Told(NamedTuple):
    """How the doctor ended, and what it found and did."""

    code: int
    findings: list[dict[str, Any]]


def doctor(den: Den, *options: str) -> Told:
    place = ["--home", str(den.home), "--config", str(den.config)]
    ended = run_to_end([*console_script(), "doctor", "--json", *place, *options], env=clean_environment())
    assert ended.returncode in {0, 1}, ended.stderr
    return Told(ended.returncode, json.loads(ended.stdout)["findings"])


@pytest.mark.parametrize("name", matrix(DAMAGES, in_check=MET_BY_A_START))
def test_a_start_and_a_drain_mend_each_damage(prepared: Path, tmp_path: Path, name: str) -> None:
    @journey
    async def story() -> None:
        den = copied(prepared, tmp_path)
        before = derived(den)
        reason, damage = DAMAGES[name]
        change(den, damage)
        seen = await start_and_drain(den)
        assert seen.answers == FOUND
        # a lost table is told when the client comes; what was in it may be whole again by then
        assert seen.reasons & {"schema_restored", reason, "texts" if name.startswith("memory") else reason}
        shown = [(one["component"], one["reason"]) for one in seen.status["degraded"]]
        assert shown == ([("index", "damaged_pages")] if reason == "damaged_pages" else [])
        if shown:  # until a process that is alone in the home makes the file anew
            seen = await start_and_drain(den)
            assert (seen.answers, seen.status["degraded"]) == (FOUND, [])
            assert find_complaints(den.home / "gateway.db", is_thorough=True) == []
        assert derived(den) == before

    story()


def test_a_home_without_damage_is_left_alone(prepared: Path, tmp_path: Path) -> None:
    @journey
    async def story() -> None:
        den = copied(prepared, tmp_path)
        before = derived(den)
        seen = await start_and_drain(den)
        assert (seen.answers, seen.reasons, seen.status["degraded"]) == (FOUND, set(), [])
        assert derived(den) == before
        connection = den.database()
        assert not connection.execute(
            "SELECT 1 FROM job WHERE kind = 'repair' AND subject = 'thread_episodic'"
        ).fetchall()
        connection.close()

    story()


@pytest.mark.parametrize("name", ["full text emptied", "shadow data gone", "terms garbage", "memory: shadow data gone"])
def test_damage_under_a_running_gateway_is_no_defect(prepared: Path, tmp_path: Path, name: str) -> None:
    @journey
    async def story() -> None:
        den = copied(prepared, tmp_path)
        before = derived(den)
        async with den.client() as client:
            await drain(client)
            change(den, DAMAGES[name][1])
            await answers_or_says_so(client)
        seen = await start_and_drain(den)
        assert (seen.answers, seen.status["degraded"]) == (FOUND, [])
        assert derived(den) == before

    story()


def test_a_vector_that_goes_leaves_a_piece_with_another_one_as_it_is_beside_a_loaded_model(
    prepared: Path, tmp_path: Path
) -> None:
    """Only a gateway that makes vectors has pieces wait for them; a search that meets damage has all of it mended."""

    @journey
    async def story() -> None:
        den = copied(prepared, tmp_path)
        before = derived(den)
        async with den.client() as client:
            await drain(client)
            assert await answers(client) == FOUND  # the model is loaded
            change(den, DAMAGES["vectors of an unknown space"][1])
            change(den, DAMAGES["shadow data gone"][1])
            await answers_or_says_so(client)
            await drain(client)
            assert derived(den) == before

    story()


@pytest.mark.parametrize("name", ["vectors missing", "memory: vectors missing"])
def test_vectors_lost_beside_a_loaded_model_come_back_at_the_start_of_another_process(
    prepared: Path, tmp_path: Path, name: str
) -> None:
    """Who loads a model makes all that is missing; one that is loaded already has to be told by the repair."""

    @journey
    async def story() -> None:
        den = copied(prepared, tmp_path)
        before = derived(den)
        async with den.client() as client:
            await drain(client)
            assert await answers(client) == FOUND  # the model is loaded
            await drain(client)
            change(den, DAMAGES[name][1])
            async with await den.spawn() as other:
                await hello(other)
                await drain(other)
            await drain(client)
            assert derived(den) == before

    story()


async def answers_or_says_so(client: GatewayClient) -> None:
    """No search ends as a defect, and none that lacks something says that it is whole; a damage of words alone is
    noticed later."""
    for query in QUERIES:
        told = await client.request("thread_episodic/search", {"workspace_id": "ws_here", "query": query})
        assert told["status"] in {"completed", "partial", "empty"}
    for query in FACT_QUERIES:
        try:
            await client.request("memory/search", {"query": query})
        except CallFailed as failed:
            assert failed.code == -32046


@pytest.mark.parametrize("name", matrix(DAMAGES, in_check={*ONE_OF_EACH_KIND} - MET_BY_A_START))
def test_the_doctor_shows_and_mends_each_damage(prepared: Path, tmp_path: Path, name: str) -> None:
    den = copied(prepared, tmp_path)
    before = derived(den)
    change(den, DAMAGES[name][1])
    shown = doctor(den)
    told = [one for one in shown.findings if one["level"] != "ok"]
    assert told
    assert shown.code == (1 if any(one["level"] == "warning" for one in told) else 0), told
    assert not [one for one in told if one["level"] == "error" or RESTORE in one["advice"]]
    mended = doctor(den, "--fix")
    left = {(one["check"], one["level"]) for one in mended.findings if one["level"] != "ok"}
    assert left <= {("vectors", "note"), ("conversation", "note")}  # what waits for a gateway
    assert mended.code == 0  # the findings of a mending doctor are those of a look after it
    if derived(den) != before:  # vectors and queued messages wait for a gateway: the doctor asks no model
        asyncio.run(start_and_drain(den))
        assert doctor(den).code == 0
    assert derived(den) == before


def test_a_repair_that_failed_before_a_start_is_tried_at_that_start(prepared: Path, tmp_path: Path) -> None:
    @journey
    async def story() -> None:
        den = copied(prepared, tmp_path)
        before = derived(den)
        change(den, DAMAGES["segment times null"][1])
        change(den, sql(FAILED_REPAIR))
        async with den.client() as client:
            await drain(client)
            assert await answers(client) == FOUND
        assert derived(den) == before

    story()


def test_reindexing_makes_everything_anew(prepared: Path, tmp_path: Path) -> None:
    @journey
    async def story() -> None:
        den = copied(prepared, tmp_path)
        before = derived(den)
        async with den.client() as client:
            await drain(client)
            for name in ("full text emptied", "terms garbage", "segment counts 0", "vectors random"):
                change(den, DAMAGES[name][1])
            await client.request("thread_episodic/reindex", {"workspace_id": "ws_here"})
            await drain(client)
            assert await answers(client) == FOUND
        assert derived(den) == before

    story()
