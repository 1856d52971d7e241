"""What a hostile peer sends to the HTTP door: each request has one answer, or none, and the door goes on."""

import json
import signal
import socket
import sys
from pathlib import Path

import pytest
from http_stage import Events, HttpDen, mode_of
from spawned import on_posix, run_to_end

PING = '{"jsonrpc":"2.0","id":1,"method":"ping"}'
TYPE = "Content-Type: application/json"
CHUNKED = "Transfer-Encoding: chunked"

HEADS: list[tuple[str, list[str], str, int]] = [
    # two readings of one length
    ("POST /rpc", [TYPE, "Content-Length: 5", CHUNKED], "0\r\n\r\nGET /health HTTP/1.1\r\n\r\n", 400),
    ("POST /rpc", [TYPE, "Content-Length: 5", "Content-Length: 6"], "12345", 400),
    ("POST /rpc", [TYPE, "Content-Length: -5"], "", 400),
    ("POST /rpc", [TYPE, "Content-Length: +5"], "12345", 400),
    ("POST /rpc", [TYPE, "Transfer-Encoding: chunked, chunked"], "", 501),
    ("POST /rpc", [TYPE, "Transfer-Encoding: xchunked"], "", 501),
    ("POST /rpc", [TYPE, CHUNKED], "zz\r\n\r\n", 400),
    ("POST /rpc", [TYPE, CHUNKED], f"{len(PING):x}\r\n{PING}\r\n0\r\nHost: evil\r\nAuthorization: none\r\n\r\n", 200),
    ("POST /rpc", [TYPE, CHUNKED], f"{len(PING):x}\r\n{PING}\r\n0\r\nX: {'x' * 200_000}\r\n\r\n", 431),
    # odd heads
    ("GET /v1/recall", ["Host : evil"], "", 400),
    ("GET /v1/recall", ["X: a\0b"], "", 400),
    ("GET /v1/recall", ["Host: evil"], "", 421),
    ("GET /v1/recall", [" folded: onto the token"], "", 401),
    ("GET /v1/recall?q=\xe4", [], "", 400),
    ("GET /v1/recall?q=%zz", [], "", 400),
    ("GET /v1/recall?q=%C0%AF", [], "", 400),
    ("GET /v1/../v1/recall", [], "", 404),
    ("GET http://evil.example/v1/recall", [], "", 404),
    ("POST /rpc%2fping", [TYPE, "Content-Length: 2"], "{}", 404),
    ("get /v1/recall", [], "", 405),
    ("CONNECT evil:80", [], "", 405),
    ("GET /events", ["Upgrade: websocket", "Connection: Upgrade"], "junk", 405),
    ("GET /events", [TYPE, "Content-Length: 5"], "12345", 400),
    ("GET /v1/recall", [TYPE, "Content-Length: 2"], "{}", 400),
    # odd JSON
    ("POST /rpc", [TYPE, "Content-Length: 400000"], "[" * 200_000 + "]" * 200_000, 400),
    ("POST /rpc", [TYPE, "Content-Length: 5001"], '{"a":' * 1000 + "1", 400),
    ("POST /v1/write", [TYPE, "Content-Length: 25"], '{"content": "\\ud800 lone"}', 400),
    ("POST /v1/write", [TYPE, "Content-Length: 26"], '{"content": 1e9999999999 }', 400),
]
"""A request line and headers beside the right host and token, what follows, and the answer's code."""


def test_each_odd_request_has_one_answer(tmp_path):
    with HttpDen(tmp_path).door() as den:
        wrong = []
        for line, headers, rest, status in HEADS:
            with den.raw() as raw:
                raw.send(den.head(f"{line} HTTP/1.1", *headers) + rest.encode("latin-1"))
                found = raw.answer()
                if found.status != status or not found.json.get("error", found.json.get("result") == {}):
                    wrong.append((line, headers, status, found))
        assert wrong == []
        for start in (
            b"\x16\x03\x01\x00\xff" + b"x" * 300,
            b"GET /health\r\n\r\n",
            b"\r\n" * 10 + b"nonsense\r\n\r\n",
        ):
            with den.raw() as raw:
                raw.send(start)
                assert raw.answer().status == 400
                assert raw.is_closed()
        assert den.is_healthy()
    log = (
        (den.home / "logs" / "gateway.log").read_text(encoding="utf-8")
        if (den.home / "logs" / "gateway.log").exists()
        else ""
    )
    assert "incident" not in log
    assert den.token() not in log


def test_pipelined_requests_are_answered_in_their_order(tmp_path):
    with HttpDen(tmp_path).door() as den, den.raw() as raw:
        body = [PING.replace("1,", f"{n},", 1).encode() for n in range(5)]
        raw.send(b"".join(den.head("POST /rpc HTTP/1.1", TYPE, f"Content-Length: {len(one)}") + one for one in body))
        assert [raw.answer().json["id"] for _ in body] == list(range(5))


def test_a_refused_body_does_not_become_the_next_request(tmp_path):
    with HttpDen(tmp_path).door() as den, den.raw() as raw:
        smuggled = (
            den.head("POST /rpc/memory/remember HTTP/1.1", TYPE, "Content-Length: 30")
            + b'{"content": "Smuggled words."}'
        )
        raw.send(
            f"POST /rpc HTTP/1.1\r\nHost: localhost:{den.port}\r\n{TYPE}\r\nContent-Length: {len(smuggled)}\r\n\r\n".encode()
            + smuggled
        )
        assert raw.answer().status == 401
        assert raw.is_closed()
        assert den.ask("GET", "/v1/recall").json["memories"] == []


def test_stalled_bodies_hold_their_own_places_alone(tmp_path):
    den = HttpDen(tmp_path).add_config("[gateway.limits]\nmax_in_flight = 3\n")
    with den.door():
        stalled = [den.raw() for _ in range(3)]
        for one in stalled:
            one.send(den.head("POST /rpc HTTP/1.1", TYPE, "Content-Length: 100"))
        while den.ask("GET", "/v1/recall").status != 429:
            pass
        assert den.is_healthy()
        for one in stalled:
            one.socket.close()
        while den.ask("GET", "/v1/recall").status != 200:
            pass


def test_a_closed_connection_cancels_its_method(tmp_path):
    den = HttpDen(tmp_path, scripted=True)
    den.write_script([{"role": "main", "delay_ms": 3_600_000, "respond": {"text": "Late."}}])
    den.add_config("[gateway.limits]\nmax_in_flight = 1\n")
    with den.door():
        body = json.dumps({"name": "scripted"}).encode()
        with den.raw() as raw:
            raw.send(den.head("POST /rpc/provider/test HTTP/1.1", TYPE, f"Content-Length: {len(body)}") + body)
            while den.ask("GET", "/v1/recall").status != 429:
                pass
        while den.ask("GET", "/v1/recall").status != 200:
            pass


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads /proc")
def test_connections_have_a_bound(tmp_path):
    with HttpDen(tmp_path).door() as den:
        idle = [socket.create_connection(("127.0.0.1", den.port), 10) for _ in range(600)]
        assert any(one.recv(1) == b"" for one in idle[-1:])
        assert len([*Path(f"/proc/{den.pid}/fd").iterdir()]) < 600
        for one in idle[:200]:
            one.close()
        while True:
            try:
                assert den.is_healthy()
                break
            except ConnectionError:
                continue
        for one in idle[200:]:
            one.close()


@on_posix
def test_a_reader_who_sleeps_does_not_keep_the_process(tmp_path):
    den = HttpDen(tmp_path).add_config("[gateway.http]\nrequests_per_second = 10000\n")
    process = den.start()
    with Events(den):
        for part in range(8):
            calls = [
                {
                    "jsonrpc": "2.0",
                    "id": n,
                    "method": "memory/remember",
                    "params": {"content": f"Crate {part}-{n}. " + "x" * 900, "key": f"{part}.{n}"},
                }
                for n in range(100)
            ]
            assert den.ask("POST", "/rpc", calls).status == 200
        process.send_signal(signal.SIGTERM)
        assert den.wait(process) == 0
    assert Path(den.home / "http" / "token").is_file()


@on_posix
@pytest.mark.parametrize("name", ["http/token", "http/proxy_token", "http", "spool", "run"])
def test_no_door_opens_over_a_link_in_its_home(tmp_path, name):
    den = HttpDen(tmp_path)
    with den.door():
        token = den.token()
    place, elsewhere = den.home / name, tmp_path / "elsewhere"
    if place.exists():
        place.rename(elsewhere)
    else:
        elsewhere.write_text(token, encoding="utf-8")
    elsewhere.chmod(0o755)
    place.symlink_to(elsewhere)
    told = run_to_end(den.door_command("--port", "0"))
    assert (told.returncode, told.stdout) == (69, b"")
    assert b"Links in a home are not followed" in told.stderr
    assert mode_of(elsewhere) == 0o755
