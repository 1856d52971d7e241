"""A session: capacity, what is said without being asked, the end."""

from typing import Any

import anyio
import pytest
from session_stage import IN_FLIGHT, Stage, answers, notification, play, request, settle

from gateway.base.spawner import Spawner
from gateway.wire import session as session_module
from protocol.errors import Refused
from protocol.notifications import Progress

# -- capacity --------------------------------------------------------------------------------------------------------


def test_past_the_room_the_session_stops_reading() -> None:
    async def scene(stage: Stage) -> None:
        for n in range(IN_FLIGHT + 3):
            stage.write(request(n, "hold", name=str(n)))
        await stage.until(lambda: len(stage.begun) == IN_FLIGHT)
        await settle()
        before = stage.received
        stage.write(request("later", "ping"))
        await settle()
        assert stage.begun == [str(n) for n in range(IN_FLIGHT)]
        assert stage.received == before
        stage.gate("2").set()
        await stage.until(lambda: len(stage.begun) == IN_FLIGHT + 1)
        for n in range(IN_FLIGHT + 3):
            stage.gate(str(n)).set()
        await stage.replies(IN_FLIGHT + 4)

    _, out = play(scene)
    assert set(answers(out)) == {*range(IN_FLIGHT + 3), "later"}


@pytest.mark.parametrize(
    "line", [b"x\n", b"1\n", b'{"jsonrpc":"2.0","id":1,"method":"ping"}\n', b"[]\n", b"y" * 2500 + b"\n"]
)
def test_while_the_client_does_not_read_nothing_more_is_taken(line: bytes) -> None:
    async def scene(stage: Stage) -> None:
        await settle()
        stage.writable = anyio.Event()
        stage.write_raw(line * 50)
        await stage.replies(1)
        await settle()
        assert len(stage.out) == 1
        stage.writable.set()
        await stage.replies(50)

    _, out = play(scene)
    assert len(out) == 50


# -- the outbox ------------------------------------------------------------------------------------------------------


def test_a_notification_comes_after_the_reply_that_caused_it() -> None:
    async def scene(stage: Stage) -> None:
        stage.write(request(1, "notify", name="n"))
        await stage.replies(2)

    _, out = play(scene)
    assert out[0]["id"] == 1
    assert out[1] == {"jsonrpc": "2.0", "method": "gateway/recovered", "params": {"component": "n"}}


def test_a_notification_outside_of_a_request_goes_out_at_once() -> None:
    async def scene(stage: Stage) -> None:
        stage.write(request(1, "hold", name="x"))
        await stage.until(lambda: stage.begun)
        stage.notify("free")
        assert stage.out[0]["params"] == {"component": "free"}
        stage.gate("x").set()

    play(scene)


def test_nothing_is_said_before_initialize_was_answered() -> None:
    async def scene(stage: Stage) -> None:
        stage.notify("early")
        stage.write(request(1, "ping"), request(2, "initialize", name="late"))
        await stage.replies(4)

    _, out = play(scene, initialized=False)
    assert [message.get("id") for message in out[:2]] == [1, 2]
    assert [message["params"]["component"] for message in out[2:]] == ["early", "late"]


def test_nothing_is_said_before_a_batch_with_initialize_was_answered() -> None:
    async def scene(stage: Stage) -> None:
        stage.notify("early")
        stage.write(
            [request(1, "initialize", name="i"), request(2, "hold", name="slow"), request(3, "notify", name="n")]
        )
        await stage.until(lambda: stage.begun)
        stage.notify("meanwhile")
        await settle()
        assert stage.out == []
        stage.gate("slow").set()
        await stage.replies(5)

    _, out = play(scene, initialized=False)
    assert isinstance(out[0], list)
    assert {message["params"]["component"] for message in out[1:]} == {"early", "meanwhile", "i", "n"}


def test_too_many_early_notifications_are_cut() -> None:
    async def scene(stage: Stage) -> None:
        for n in range(150):
            stage.notify(str(n))
        stage.write(request(1, "initialize", name="i"))
        await stage.replies(101)

    _, out = play(scene, initialized=False)
    assert [message["params"]["component"] for message in out[1:]] == [str(n) for n in range(100)]


def test_what_spawned_work_tells_comes_after_the_reply() -> None:
    async def scene(stage: Stage) -> None:
        stage.write(request(1, "spawn", name="s"))
        await stage.replies(2)
        assert stage.begun == ["work of s, replies: 0"]

    _, out = play(scene)
    assert out[0]["id"] == 1
    assert out[1]["params"] == {"component": "from s"}


def test_what_a_batch_causes_comes_after_the_whole_batch() -> None:
    async def scene(stage: Stage) -> None:
        stage.write([request(1, "spawn", name="s"), request(2, "notify", name="n"), request(3, "hold", name="x")])
        await stage.until(lambda: "x" in stage.begun)
        await settle()
        assert "work of s, replies: 0" in stage.begun  # the others may wait for it
        assert stage.out == []
        stage.gate("x").set()
        await stage.replies(3)

    _, out = play(scene)
    assert len(out[0]) == 3
    assert {message["params"]["component"] for message in out[1:]} == {"from s", "n"}


def test_failing_background_work_does_not_end_the_session() -> None:
    async def scene(stage: Stage) -> None:
        async def fail() -> None:
            raise ValueError("secret")

        async def refuse() -> None:
            raise Refused("conflict")

        stage.spawner.spawn(fail, "fail")
        stage.spawner.spawn(refuse, "refuse")
        await settle()
        stage.write(request(1, "ping"))
        await stage.replies(1)

    assert play(scene)[0] == 0


def test_work_spawned_before_the_process_runs_waits_for_it_and_work_after_its_end_is_dropped() -> None:
    """A read that meets damage begins its repair by itself, also while a process starts or ends."""
    done: list[str] = []

    async def scene() -> None:
        spawner = Spawner()

        async def work() -> None:
            done.append("early")

        spawner.spawn(work, "early")
        async with spawner.open():
            pass
        spawner.spawn(work, "late")
        await settle()

    anyio.run(scene)
    assert done == ["early"]


# -- the end ---------------------------------------------------------------------------------------------------------


def test_the_end_of_input_is_an_orderly_end() -> None:
    async def scene(stage: Stage) -> None:
        stage.gate("").set()
        stage.write(*(request(n, "hold") for n in range(3)))

    code, out = play(scene)
    assert code == 0
    assert answers(out) == dict.fromkeys(range(3), "ok")


def test_what_outlives_the_grace_is_cancelled_and_answered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(session_module, "GRACE_SECONDS", 0.05)

    async def scene(stage: Stage) -> None:
        stage.write(request(1, "hold", name="stuck"), [request(2, "hold", name="also stuck"), request(3, "ping")])
        await stage.until(lambda: len(stage.begun) == 2)

    code, out = play(scene)
    assert code == 0
    assert answers(out) == {1: "cancelled", 2: "cancelled", 3: "ok"}


@pytest.mark.parametrize(
    ("sent", "expected"),
    [
        ([request(1, "shutdown"), notification("exit")], 0),
        ([notification("exit")], 1),
        ([request(1, "ping"), notification("exit")], 1),
        ([[request(1, "shutdown"), notification("exit")]], 0),
        ([request(1, "shutdown")], 0),
    ],
    ids=["shutdown, exit", "exit", "ping, exit", "one batch", "shutdown, end of input"],
)
def test_the_exit_code(sent: list[Any], expected: int) -> None:
    async def scene(stage: Stage) -> None:
        stage.gate("").set()
        stage.write(*sent, request("after", "ping"))

    code, out = play(scene)
    assert code == expected
    assert answers(out).get("after") in {None, "shutting_down"}


def test_shutdown_waits_for_no_one_and_others_still_get_their_answers() -> None:
    async def scene(stage: Stage) -> None:
        stage.gate("").set()
        stage.write(request(1, "hold", name="x"), request(2, "shutdown"))
        await stage.replies(1)
        assert answers(stage.out) == {2: "ok"}
        stage.gate("x").set()
        await stage.replies(2)
        stage.write(notification("exit"))

    code, out = play(scene)
    assert (code, answers(out)) == (0, {1: "ok", 2: "ok"})


def test_stop_ends_a_session_that_waits_for_input() -> None:
    async def scene(stage: Stage) -> None:
        stage.session.stop()
        stage.write(request(1, "ping"))

    assert play(scene) == (0, [])


def test_stop_before_the_start_is_kept() -> None:
    async def main() -> None:
        stage = Stage(IN_FLIGHT)
        stage.session.stop()
        with anyio.fail_after(5):
            assert await stage.session.run() == 0

    anyio.run(main)


def test_stop_ends_a_session_that_waits_for_room(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(session_module, "GRACE_SECONDS", 0.05)

    async def scene(stage: Stage) -> None:
        stage.write(*(request(n, "hold", name=str(n)) for n in range(IN_FLIGHT)))
        stage.write([request("b", "hold"), request("c", "hold"), 1])
        await stage.until(lambda: len(stage.begun) == IN_FLIGHT)
        await settle()
        stage.session.stop()

    code, out = play(scene)
    assert code == 0
    assert answers(out) == dict.fromkeys([*range(IN_FLIGHT), "b", "c"], "cancelled") | {None: "invalid_request"}


def test_stop_ends_a_session_whose_client_does_not_read() -> None:
    async def scene(stage: Stage) -> None:
        await settle()
        stage.writable = anyio.Event()
        stage.write(request(1, "ping"), request(2, "ping"))
        await stage.replies(1)
        await settle()
        stage.session.stop()

    code, out = play(scene)
    assert (code, answers(out)) == (0, {1: "ok"})


def test_stop_ends_a_session_in_a_slow_shutdown(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(session_module, "GRACE_SECONDS", 0.05)

    async def scene(stage: Stage) -> None:
        stage.write(request(1, "shutdown", name="slow"))
        await stage.until(lambda: stage.begun)
        stage.session.stop()

    code, out = play(scene)
    assert (code, answers(out)) == (0, {1: "cancelled"})


def test_only_what_may_be_dropped_has_a_key() -> None:
    keys: list[str | None] = []

    async def scene(stage: Stage) -> None:
        stage.notify("kept")
        stage.hub.notify("gateway/progress", Progress(token="t", title="x", done=1))  # noqa: S106  # names work
        keys.extend(stage.keys[-2:])

    play(scene)
    assert keys == [None, "gateway/progress"]
