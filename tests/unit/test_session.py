"""A session: handshake, answers, order, batches, cancellation."""

import json
from typing import Any

import pytest
from session_stage import MAX_BYTES, Stage, answers, name, notification, play, reason, request, settle

from protocol.gateway import MAX_BATCH

# -- handshake -------------------------------------------------------------------------------------------------------

HANDSHAKE = [
    (["ping"], ["ok"]),
    (["say"], ["not_initialized"]),
    (["shutdown"], ["not_initialized"]),
    (["nope"], ["not_initialized"]),
    (["initialize", "say"], ["ok", "ok"]),
    (["initialize", "initialize"], ["ok", "already_initialized"]),
    (["initialize", "nope"], ["ok", "method_not_found"]),
    (["initialize", "ping", "shutdown", "ping"], ["ok", "ok", "ok", "shutting_down"]),
    (["initialize", "shutdown", "say", "shutdown", "initialize", "nope"], ["ok", "ok"] + ["shutting_down"] * 4),
    (["say", "initialize", "say"], ["not_initialized", "ok", "ok"]),
]


@pytest.mark.parametrize("as_batch", [False, True])
@pytest.mark.parametrize(("methods", "expected"), HANDSHAKE)
def test_what_is_allowed_when(methods: list[str], expected: list[str], *, as_batch: bool) -> None:
    async def scene(stage: Stage) -> None:
        stage.gate("").set()
        sent = [request(n, method) for n, method in enumerate(methods)]
        stage.write(*([sent] if as_batch else sent))
        await stage.until(lambda: len(answers(stage.out)) == len(methods))

    _, out = play(scene, initialized=False, max_in_flight=50)
    found = answers(out)
    assert [found[n] for n in range(len(methods))] == expected


def test_a_failed_initialize_leaves_the_session_new() -> None:
    async def scene(stage: Stage) -> None:
        stage.write(
            request(1, "initialize", nonsense=1), request(2, "say"), request(3, "initialize"), request(4, "say")
        )
        await stage.until(lambda: len(answers(stage.out)) == 4)

    _, out = play(scene, initialized=False)
    assert answers(out) == {1: "invalid_params", 2: "not_initialized", 3: "ok", 4: "ok"}


def test_notifications_are_never_answered() -> None:
    async def scene(stage: Stage) -> None:
        stage.write(
            notification("initialized"),
            notification("nope"),
            notification("say", name=1),
            notification("hold"),
            {"jsonrpc": "2.0", "id": 5, "result": 1},
            {"id": 6, "error": {}},
            request(7, "ping"),
        )
        await stage.replies(1)

    _, out = play(scene)
    assert [message["id"] for message in out] == [7]


# -- answers ---------------------------------------------------------------------------------------------------------


def test_each_error_has_its_request_s_id() -> None:
    async def scene(stage: Stage) -> None:
        stage.write(
            request("a", "fail", name="refused"),
            request(0, "fail", name="secret"),
            request("", "nope"),
            {"jsonrpc": "2.0", "id": "p", "method": "say", "params": ["positional"]},
            request("m", "say", other=1),
            {"jsonrpc": "2.0", "id": 1.5, "method": "say"},
            {"id": "v", "method": "say"},
            request("o", "orphan"),
        )
        await stage.replies(8)
        assert stage.incidents == ["ValueError"]

    _, out = play(scene)
    assert {reason(message) for message in out} == {
        ("a", "conflict"),
        (0, "internal"),
        ("", "method_not_found"),
        ("p", "invalid_params"),
        ("m", "invalid_params"),
        (None, "invalid_request"),
        ("v", "invalid_request"),
        ("o", "cancelled"),
    }
    assert "secret" not in json.dumps(out)


def test_a_bad_line_is_answered_and_the_next_one_served() -> None:
    async def scene(stage: Stage) -> None:
        stage.write_raw(b'{"jsonrpc"\n\r\n  \n\xff\n')
        stage.write_raw(b"x" * (MAX_BYTES + 500))
        stage.write_raw(b"x" * 500 + b"\n" + json.dumps(request(1, "say", name="on")).encode())
        stage.write_raw(b"\r\n")
        await stage.replies(4)

    _, out = play(scene)
    assert [reason(message) for message in out[:3]] == [
        (None, "parse_error"),
        (None, "parse_error"),
        (None, "message_too_large"),
    ]
    assert name(out[3]) == (1, "on")


def test_a_last_line_without_a_newline_is_served() -> None:
    async def scene(stage: Stage) -> None:
        stage.write_raw(json.dumps(request(1, "say", name="last")).encode())

    code, out = play(scene)
    assert ([name(message) for message in out], code) == ([(1, "last")], 0)


# -- order -----------------------------------------------------------------------------------------------------------


def test_requests_of_a_thread_are_answered_in_their_order() -> None:
    async def scene(stage: Stage) -> None:
        stage.write(*(request(n, "in_thread", name=n_, thread_id="a") for n, n_ in enumerate(("x", "y", "z"))))
        await stage.until(lambda: stage.begun)
        stage.gate("z").set()
        stage.gate("y").set()
        await settle()
        assert stage.begun == ["x"]
        stage.gate("x").set()
        await stage.replies(3)
        assert stage.begun == ["x", "y", "z"]

    _, out = play(scene)
    assert [message["id"] for message in out] == [0, 1, 2]


def test_requests_of_other_threads_and_of_none_do_not_wait() -> None:
    async def scene(stage: Stage) -> None:
        stage.write(
            request(1, "in_thread", name="a", thread_id="a"),
            request(2, "in_thread", name="b", thread_id="b"),
            request(3, "in_thread", name="c"),
            request(4, "say", name="d", thread_id="a"),
        )
        await stage.until(lambda: len(stage.begun) == 3)
        await stage.replies(1)
        assert name(stage.out[0]) == (4, "d")
        for gate in ("c", "b", "a"):
            stage.gate(gate).set()
            await stage.replies(len(stage.out) + 1)

    _, out = play(scene)
    assert [message["id"] for message in out] == [4, 3, 2, 1]


def test_a_turn_waits_for_its_thread() -> None:
    async def scene(stage: Stage) -> None:
        stage.write(
            request(1, "in_thread", name="first", thread_id="a"),
            request(2, "in_turn", name="same", turn_id="turn-of-a"),
            request(3, "in_turn", name="unknown", turn_id="u"),
            request(4, "in_turn", name="after unknown", turn_id="u"),
            request(5, "in_turn", name="bad", turn_id=7),
        )
        await stage.replies(1)
        assert reason(stage.out[0]) == (5, "invalid_params")
        await settle()
        assert stage.begun == ["first", "unknown"]
        for gate in ("same", "after unknown", "unknown", "first"):
            stage.gate(gate).set()
        await stage.replies(5)
        assert set(stage.begun) == {"first", "same", "unknown", "after unknown"}

    play(scene, max_in_flight=10)


def test_a_turn_waits_for_the_request_that_begins_it() -> None:
    async def scene(stage: Stage) -> None:
        stage.write(
            request(1, "in_thread", name="earlier", thread_id="b"),
            request(2, "in_thread", name="begins", thread_id="b", turn_id="new"),
            request(3, "in_thread", name="elsewhere", thread_id="c", turn_id="new"),
            request(4, "in_turn", name="goes on", turn_id="new"),
            request(5, "in_thread", name="last", thread_id="b"),
        )
        await stage.until(lambda: len(stage.begun) == 2)
        for gate in ("last", "goes on", "begins", "elsewhere", "earlier"):
            await settle()
            assert stage.begun == ["earlier", "elsewhere"]
            stage.gate(gate).set()
        await stage.replies(5)
        assert stage.begun == ["earlier", "elsewhere", "begins", "goes on", "last"]
        await settle()
        assert stage.session._coming == {}

    play(scene, max_in_flight=10)


def test_a_failure_or_a_cancellation_lets_the_next_of_the_thread_begin() -> None:
    async def scene(stage: Stage) -> None:
        stage.write(
            request(1, "in_thread", name="held", thread_id="a"),
            request(2, "in_thread", name="cancelled early", thread_id="a"),
            request(3, "in_thread", nonsense=1, thread_id="a"),
            request(4, "in_thread", name="last", thread_id="a"),
        )
        await stage.until(lambda: stage.begun)
        stage.write(notification("$/cancelRequest", id=2))
        await stage.replies(1)
        assert reason(stage.out[0]) == (2, "cancelled")
        await settle()
        assert stage.begun == ["held"]  # the cancelled one must not let its follower overtake the first
        stage.gate("last").set()
        stage.write(notification("$/cancelRequest", id=1))
        await stage.replies(4)
        assert stage.begun == ["held", "last"]

    _, out = play(scene)
    assert answers(out) == {1: "cancelled", 2: "cancelled", 3: "invalid_params", 4: "ok"}


def test_nothing_is_kept_of_a_thread_that_is_at_rest() -> None:
    async def scene(stage: Stage) -> None:
        stage.gate("").set()
        stage.write(*(request(n, "in_thread", thread_id=f"t{n % 3}") for n in range(12)))
        await stage.replies(12)
        await settle()
        assert stage.session._tails == {}
        assert stage.session._scopes == {}
        assert stage.session._in_flight == 0

    play(scene)


# -- batches ---------------------------------------------------------------------------------------------------------


def test_a_batch_is_answered_item_by_item_in_one_array() -> None:
    async def scene(stage: Stage) -> None:
        stage.gate("slow").set()
        stage.write(
            [
                request(1, "hold", name="slow"),
                1,
                {},
                notification("say"),
                request(2, "say", name="b"),
                request(3, "nope"),
                {"jsonrpc": "2.0", "id": 9, "result": 1},
                {"jsonrpc": "2.0", "id": 4, "method": 5},
                [],
                None,
            ]
        )
        await stage.replies(1)

    _, out = play(scene)
    (batch,) = out
    assert sorted((str(reply["id"]), answers([reply])[reply["id"]]) for reply in batch) == [
        ("1", "ok"),
        ("2", "ok"),
        ("3", "method_not_found"),
        ("4", "invalid_request"),
        *[("None", "invalid_request")] * 4,
    ]


@pytest.mark.parametrize("values", [[], [notification("say")] * (MAX_BATCH + 1)], ids=["empty", "too many"])
def test_a_batch_of_a_wrong_size_is_one_error(values: list[Any]) -> None:
    async def scene(stage: Stage) -> None:
        stage.write(values) if len(values) * 40 < MAX_BYTES else stage.write_raw(b"[" + b"1," * MAX_BATCH + b"1]\n")
        await stage.replies(1)

    _, out = play(scene)
    assert [reason(message) for message in out] == [(None, "invalid_request")]


def test_the_largest_batch_is_served() -> None:
    async def scene(stage: Stage) -> None:
        stage.write_raw(b"[" + b"1," * (MAX_BATCH - 1) + b"1]\n")
        await stage.replies(1)

    _, out = play(scene)
    assert [len(message) for message in out] == [MAX_BATCH]


def test_a_batch_of_notifications_is_not_answered() -> None:
    async def scene(stage: Stage) -> None:
        stage.write([notification("say"), notification("nope")], [{"id": 1, "result": 1}], request(1, "ping"))
        await stage.replies(1)

    _, out = play(scene)
    assert [message["id"] for message in out] == [1]


def test_a_batch_larger_than_the_room_is_served() -> None:
    async def scene(stage: Stage) -> None:
        stage.gate("").set()
        stage.write([request(n, "hold") for n in range(12)])
        await stage.replies(1)

    _, out = play(scene, max_in_flight=2)
    assert sorted(reply["id"] for reply in out[0]) == list(range(12))


# -- cancelling ------------------------------------------------------------------------------------------------------


def test_a_cancelled_request_is_answered_once() -> None:
    async def scene(stage: Stage) -> None:
        stage.write(request(1, "hold", name="x"), request("1", "hold", name="y"))
        await stage.until(lambda: len(stage.begun) == 2)
        stage.write(notification("$/cancelRequest", id=1), notification("$/cancelRequest", id=1))
        await stage.replies(1)
        assert reason(stage.out[0]) == (1, "cancelled")
        stage.gate("y").set()
        await stage.replies(2)

    _, out = play(scene)
    assert answers(out) == {1: "cancelled", "1": "ok"}
    assert len(out) == 2


def test_what_a_service_shields_is_finished_though_the_request_is_cancelled() -> None:
    async def scene(stage: Stage) -> None:
        stage.write(request(1, "seal", name="x"))
        await stage.until(lambda: stage.begun)
        stage.write(notification("$/cancelRequest", id=1), request(2, "ping"))
        await stage.replies(1)
        stage.gate("x").set()
        await stage.replies(2)
        assert stage.begun == ["x", "x is whole"]

    _, out = play(scene)
    assert answers(out) == {2: "ok", 1: "ok"}


def test_a_request_can_be_cancelled_before_it_begins() -> None:
    async def scene(stage: Stage) -> None:
        stage.write(request(1, "hold", name="x"), notification("$/cancelRequest", id=1), request(2, "ping"))
        await stage.replies(2)
        assert stage.begun == []

    _, out = play(scene)
    assert answers(out) == {1: "cancelled", 2: "ok"}


@pytest.mark.parametrize(
    "params",
    [
        {"id": 2},
        {"id": "x"},
        {},
        {"id": None},
        {"id": [1]},
        {"id": {"a": 1}},
        {"id": True},
        {"id": 1.0},
        {"id": 2**70},
        [1],
        None,
    ],
    ids=ascii,
)
def test_cancelling_what_is_not_there_does_nothing(params: Any) -> None:
    async def scene(stage: Stage) -> None:
        stage.write(request(1, "hold", name="x"))
        await stage.until(lambda: stage.begun)
        stage.write({"jsonrpc": "2.0", "method": "$/cancelRequest", "params": params}, request(3, "ping"))
        await stage.replies(1)
        stage.gate("x").set()
        await stage.replies(2)

    _, out = play(scene)
    assert answers(out) == {3: "ok", 1: "ok"}


def test_cancelling_an_answered_request_does_nothing() -> None:
    async def scene(stage: Stage) -> None:
        stage.write(request(1, "ping"))
        await stage.replies(1)
        stage.write(notification("$/cancelRequest", id=1), request(1, "ping"))
        await stage.replies(2)

    _, out = play(scene)
    assert [answers([message]) for message in out] == [{1: "ok"}, {1: "ok"}]


def test_two_requests_of_one_id_are_both_answered() -> None:
    async def scene(stage: Stage) -> None:
        stage.write(request(1, "hold", name="x"), request(1, "hold", name="y"))
        await stage.until(lambda: len(stage.begun) == 2)
        stage.gate("y").set()
        await stage.replies(1)
        stage.write(notification("$/cancelRequest", id=1))
        await stage.replies(2)

    _, out = play(scene)
    assert name(out[0]) == (1, "y")
    assert reason(out[1]) == (1, "cancelled")
