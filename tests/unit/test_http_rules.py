"""The rules of the HTTP door, decision by decision."""

import asyncio
import socket

import pytest
from cases import each

from gateway.doors.http import rules
from gateway.doors.http.server import listen
from protocol.errors import CallerError

PORT = 42069
LOCAL = rules.access_of(PORT, "127.0.0.1", [], [])
LISTED = rules.access_of(PORT, "127.0.0.1", ["Box.lan", "gate.lan:8443"], ["https://App.example/"])


@each(
    ("hosts", "access", "status"),
    [
        ([f"127.0.0.1:{PORT}"], LOCAL, None),
        ([f"LocalHost:{PORT}"], LOCAL, None),
        ([f"[::1]:{PORT}"], LOCAL, None),
        ([], LOCAL, 400),
        ([""], LOCAL, 421),
        (["127.0.0.1"], LOCAL, 421),
        (["127.0.0.1:80"], LOCAL, 421),
        (["evil.example"], LOCAL, 421),
        ([f"127.0.0.1:{PORT}"] * 2, LOCAL, 421),
        ([f"127.0.0.1:{PORT} "], LOCAL, 421),
        ([f"127.0.0.1.:{PORT}"], LOCAL, 421),
        ([f"0.0.0.0:{PORT}"], LOCAL, 421),
        ([f"127.0.0.2:{PORT}"], LOCAL, 421),
        ([f"box.lan:{PORT}"], LOCAL, 421),
        (["box.lan"], LISTED, None),
        ([f"BOX.LAN:{PORT}"], LISTED, None),
        (["box.lan:1"], LISTED, 421),
        (["gate.lan:8443"], LISTED, None),
        (["gate.lan"], LISTED, 421),
        ([f"gate.lan:{PORT}"], LISTED, 421),
        (["127.0.0.1"], rules.access_of(80, "127.0.0.1", [], []), None),
        ([f"127.0.0.2:{PORT}"], rules.access_of(PORT, "127.0.0.2", [], []), None),
        ([f"[::1]:{PORT}"], rules.access_of(PORT, "::1", [], []), None),
        ([f"10.0.0.1:{PORT}"], rules.access_of(PORT, "10.0.0.1", ["box"], []), 421),
    ],
)
def test_hosts(hosts, access, status):
    found = rules.refuse_host({"host": hosts} if hosts else {}, access)
    assert (found and found.status) == status


@each(
    ("headers", "access", "is_refused"),
    [
        ({}, LOCAL, False),
        ({"origin": [f"http://localhost:{PORT}"]}, LOCAL, False),
        ({"origin": ["null"]}, LOCAL, True),
        ({"origin": [""]}, LOCAL, True),
        ({"origin": [f"https://localhost:{PORT}"]}, LOCAL, True),
        ({"origin": ["http://localhost"]}, LOCAL, True),
        ({"origin": ["https://app.example"]}, LOCAL, True),
        ({"origin": ["https://app.example"]}, LISTED, False),
        ({"origin": ["https://app.example.evil"]}, LISTED, True),
        ({"origin": ["https://app.example"] * 2}, LISTED, True),
        ({"sec-fetch-site": ["same-origin"]}, LOCAL, False),
        ({"sec-fetch-site": ["none"]}, LOCAL, False),
        ({"sec-fetch-site": ["Cross-Site"]}, LOCAL, True),
        ({"sec-fetch-site": ["same-site"]}, LOCAL, True),
        ({"sec-fetch-site": ["new-word"]}, LOCAL, True),
        ({"sec-fetch-site": ["same-origin", "cross-site"]}, LOCAL, True),
        ({"sec-fetch-site": ["cross-site"], "origin": ["https://app.example"]}, LISTED, False),
        ({"origin": ["http://box.lan"]}, LISTED, False),
    ],
)
def test_pages(headers, access, is_refused):
    assert (rules.refuse_page(headers, access) is rules.FOREIGN_PAGE) is is_refused


@each(
    ("values", "is_refused"),
    [
        (["Bearer secret"], False),
        (["bearer secret"], False),
        (["Bearer  secret "], False),
        ([], True),
        ([""], True),
        (["Bearer"], True),
        (["Bearer "], True),
        (["secret"], True),
        (["Basic secret"], True),
        (["Bearer secret", "Bearer secret"], True),
        (["Bearer secretx"], True),
        (["Bearer secre"], True),
        (["Bearer \xff"], True),
    ],
)
def test_tokens(values, is_refused):
    assert (
        rules.refuse_token({"authorization": values} if values else {}, "secret") is rules.UNAUTHORIZED
    ) is is_refused


JSON = {"content-type": ["application/json"]}


@each(
    ("headers", "status"),
    [
        ({}, None),
        ({"content-length": ["0"]}, None),
        ({"content-length": ["00"]}, None),
        ({"content-length": ["1"]}, 415),
        ({"transfer-encoding": ["chunked"]}, 415),
        ({**JSON, "content-length": ["10"]}, None),
        ({**JSON, "content-length": ["11"]}, 413),
        ({**JSON, "content-length": ["9" * 20]}, 413),
        ({**JSON, "transfer-encoding": ["chunked"]}, None),
        ({**JSON, "content-length": ["1"], "transfer-encoding": ["chunked"]}, 400),
        ({"content-length": ["1"], "content-type": ["application/json"] * 2}, 415),
        ({"content-length": ["1"], "content-type": ['Application/JSON ; Charset="UTF-8"']}, None),
        ({"content-length": ["1"], "content-type": ["application/json; charset=utf-16"]}, 415),
        ({"content-length": ["1"], "content-type": ["text/plain"]}, 415),
        ({"content-length": ["1"], "content-type": [""]}, 415),
    ],
)
def test_messages(headers, status):
    found = rules.refuse_message(headers, 10)
    assert (found and found.status) == status


def test_heads_and_verbs():
    assert rules.refuse_head(b"/" * (rules.MAX_HEAD_BYTES - 100), {"host": ["x"]}) is None
    assert rules.refuse_head(b"/" * rules.MAX_HEAD_BYTES, {"host": ["x"]}) is rules.HEAD_TOO_LARGE
    assert rules.refuse_head(b"/", {"x": ["y"] * 20_000}) is rules.HEAD_TOO_LARGE
    refused = {verb: rules.refuse_verb(verb, {}) is not None for verb in ("GET", "POST", "PURGE", "TRACE", "CONNECT")}
    assert refused == {"GET": False, "POST": False, "PURGE": False, "TRACE": True, "CONNECT": True}
    assert rules.refuse_verb("GET", {"upgrade": ["h2c"]}) is not None
    assert dict(rules.wrong_verb(["POST", "DELETE"]).headers) == {"allow": "DELETE, POST"}


def test_cross_origin_headers_are_for_listed_pages_alone():
    assert rules.cross_origin_headers({"origin": [f"http://localhost:{PORT}"]}, LISTED) == []
    assert rules.cross_origin_headers({}, LISTED) == []
    page = {"origin": ["https://app.example"]}
    assert rules.cross_origin_headers(page, LOCAL) == []
    assert dict(rules.cross_origin_headers(page, LISTED)) == {
        "access-control-allow-origin": "https://app.example",
        "vary": "Origin",
    }
    assert "access-control-allow-credentials" not in dict(rules.cross_origin_headers(page, LISTED, is_preflight=True))


def test_rates():
    rate = rules.Rate()
    assert [rate.takes(0.0, 10) for _ in range(21)] == [True] * 20 + [False]
    assert [rate.takes(0.1, 10) for _ in range(2)] == [True, False]
    assert [rate.takes(1000.0, 10) for _ in range(21)].count(True) == 20
    assert rate.takes(1000.0, 10) is False


def test_wrong_tokens():
    failures = rules.Failures()
    assert [failures.delay(at) for at in range(12)] == [0.0] * 9 + [1.0] * 3
    assert failures.delay(200.0) == 0.0
    assert len(failures.times) <= 10


@each(("query", "members"), [(b"", {}), (b"a=1&b=", {"a": "1", "b": ""}), (b"a=%C3%A4+b%26", {"a": "ä b&"})])
def test_queries(query, members):
    assert rules.members_of(query) == members


def test_a_name_alone_is_true_for_switches_only():
    assert rules.members_of(b"dry_run&q=1", switches={"dry_run"}) == {"dry_run": "true", "q": "1"}
    assert rules.members_of(b"dry_run=false", switches={"dry_run"}) == {"dry_run": "false"}
    with pytest.raises(CallerError):
        rules.members_of(b"dry_run&q", switches={"dry_run"})


@each("query", [b"a=1&a=1", b"a=%zz", b"a=%2", b"a=%ff", b"a", b"&", b"a=1&&b=2", b"a=1&b", b"\xff=1"])
def test_queries_that_are_none(query):
    with pytest.raises(CallerError):
        rules.members_of(query)


def test_a_body_does_not_wait_until_its_head_is_acknowledged():
    async def ask() -> int:
        came: asyncio.Future[int] = asyncio.get_running_loop().create_future()

        async def meet(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            came.set_result(writer.get_extra_info("socket").getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY))
            writer.close()

        listener = listen("127.0.0.1", 0)
        async with await asyncio.start_server(meet, sock=listener):
            _, writer = await asyncio.open_connection(*listener.getsockname())
            found = await came
            writer.close()
            return found

    assert asyncio.run(ask())
