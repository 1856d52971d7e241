"""What a hostile peer sends to the chat proxy: nothing reaches an upstream but whole requests below `/v1/`."""

import asyncio
import json
from typing import Any

import pytest
from proxy_stage import Program, fake_model, fetch
from spawned import clean_environment, journey, run_to_end
from test_proxy import SLOW, den_of

from gateway.doors.proxy.app import MAX_READ_BYTES

WITH_BODY = "/v1/chat/completions"
BODY = json.dumps({"model": "m", "messages": [{"role": "user", "content": "Hello there."}]}).encode()

ELSEWHERE = [
    "/v1/../admin",
    "/v1/%2e%2e/admin",
    "/v1/%2E./admin",
    "/v1/..%2fadmin",
    "/v1/models/../../admin",
    "/v1/..",
    "/v1/./models",
    "/v1/..%5cadmin",
    "/v1",
    "/v2/models",
    "/admin",
    "//v1/models",
]


async def answer_to(port: int, head: list[str], rest: bytes) -> int:
    """The code of the answer to a request line and headers; 0 where there is none."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    lines = [f"{head[0]} HTTP/1.1", f"Host: 127.0.0.1:{port}", *head[1:], "", ""]
    writer.write("\r\n".join(lines).encode("latin-1") + rest)
    said = await reader.readline()
    writer.transport.abort()
    return int(said.split()[1]) if said else 0


@journey
async def test_no_path_leads_past_what_the_proxy_serves(tmp_path):
    async with fake_model() as model:
        den = den_of(tmp_path, model)
        async with den.proxy():
            base = f"/t/{den.token}"
            for path in ELSEWHERE:
                assert await answer_to(den.port, [f"GET {base}{path}"], b"") == 404, path
            assert model.seen == []
            assert await answer_to(den.port, [f"GET {base}/v1/files/a..b/...c"], b"") == 200
            assert [one.path for one in model.seen] == ["/v1/files/a..b/...c"]


SMUGGLED = b"0\r\n\r\nGET /v1/models HTTP/1.1\r\nHost: evil\r\n\r\n"


@journey
async def test_a_request_has_one_length_and_one_token(tmp_path):
    async with fake_model() as model:
        den = den_of(tmp_path, model)
        async with den.proxy():
            chat, other = f"POST /t/{den.token}{WITH_BODY}", f"POST /t/{den.token}/v1/embeddings"
            chunked = "Transfer-Encoding: chunked"
            for line in (chat, other):
                assert await answer_to(den.port, [line, "Content-Length: 5", chunked], SMUGGLED) == 400
                assert await answer_to(den.port, [line, "Content-Length: 5", "Content-Length: 6"], b"123456") == 400
                assert await answer_to(den.port, [line, f"Content-Length: {'9' * 5000}"], b"1") == 400
                assert await answer_to(den.port, [line, "Transfer-Encoding: chunked, chunked"], SMUGGLED) == 501
                assert await answer_to(den.port, [line, "X: a\0b"], b"") == 400
            assert (
                await answer_to(
                    den.port, ["GET /v1/models", "X-Pioneer-Token: x", f"X-Pioneer-Token: {den.token}"], b""
                )
                == 401
            )
            assert await answer_to(den.port, [f"GET http://evil.example/t/{den.token}/v1/models"], b"") == 401
            assert await answer_to(den.port, [f"GET /t/{den.token}/v1/models", "Origin: null"], b"") == 403
            assert (
                await answer_to(den.port, [f"GET /t/{den.token}/v1/models", "Sec-Fetch-Site: cross-site"], b"") == 403
            )
            assert await answer_to(den.port, [f"GET /t/{den.token}/v1/models", "Host: evil.example"], b"") == 421
            assert model.seen == []
            listed = ["Connection: close, authorization", "Authorization: Bearer k"]
            assert await answer_to(den.port, [f"GET /t/{den.token}/v1/models", *listed], b"") == 200
            assert model.seen[-1].header("connection") in {None, "keep-alive"}


@pytest.mark.parametrize("path", [WITH_BODY, "/v1/embeddings"])
@pytest.mark.parametrize("length", ["Content-Length: 1000", "Transfer-Encoding: chunked"])
@journey
async def test_a_client_that_leaves_in_the_middle_of_its_request_sends_none(tmp_path, path, length):
    async with fake_model() as model:
        den = den_of(tmp_path, model)
        async with den.proxy():
            _, writer = await asyncio.open_connection("127.0.0.1", den.port)
            head = f"POST /t/{den.token}{path} HTTP/1.1\r\nHost: 127.0.0.1:{den.port}\r\n{length}\r\n\r\n"
            writer.write(head.encode() + (b"%x\r\n%b\r\n" % (len(BODY), BODY) if "chunked" in length else BODY))
            await writer.drain()
            writer.close()
            await writer.wait_closed()
            assert (await Program(den).ask("Are you there?")).status == 200
            assert [one.body for one in model.seen if one.body.startswith(BODY)] == []
            assert await den.stop() == 0
            assert den.process.stderr is not None
            assert b"incident" not in await den.process.stderr.read()


@journey
async def test_a_request_that_stops_is_answered_and_left(tmp_path):
    """A head, bodies that memory would read, and some that go straight on, of which the upstream has seen a part."""
    async with fake_model() as model:
        den = den_of(tmp_path, model, settings=SLOW + "request_seconds = 1\n")
        async with den.proxy():

            async def begin(rest: bytes) -> tuple[int, dict[str, Any]]:
                """The answer to a request that stops after `rest`: its code and its body, read to the line's end."""
                reader, writer = await asyncio.open_connection("127.0.0.1", den.port)
                writer.write(b"POST /t/%b%b" % (den.token.encode(), rest))
                status = int((await reader.readline()).split()[1])
                said = json.loads((await reader.read()).partition(b"\r\n\r\n")[2])
                writer.close()
                return status, said

            head = b" HTTP/1.1\r\nHost: 127.0.0.1:%d\r\nContent-Length: 1000\r\n\r\n" % den.port
            paths = [WITH_BODY, "/v1/embeddings", "/v1/messages", "/v1/messages/count_tokens"]
            stopped = [begin(path.encode() + head + BODY) for path in paths]
            *answers, (status, _) = await asyncio.gather(*stopped, begin(b"/v1/chat"))
            assert status == 408
            for path, (status, said) in zip(paths, answers, strict=True):
                assert (status, said["error"]["type"], said["error"]["code"]) == (408, "pioneer_error", "too_slow"), (
                    path
                )
                assert said.get("type") == ("error" if "messages" in path else None), path
            assert model.seen == []
            assert (await Program(den).ask("Are you there?")).status == 200


@journey
async def test_a_flood_of_marks_does_not_hold_other_chats(tmp_path):
    async with fake_model() as model:
        den = den_of(tmp_path, model)
        async with den.proxy():
            flood = json.dumps({"messages": [{"role": "user", "content": "<system-reminder>" * 50_000}]}).encode()
            path, agent = f"/t/{den.token}{WITH_BODY}", {"User-Agent": "claude-cli/2"}
            async with asyncio.timeout(20):
                came, health = await asyncio.gather(
                    fetch(den.port, "POST", path, flood, agent), fetch(den.port, "GET", "/health")
                )
            assert (came.status, health.status, model.seen[0].body.count(b"<system-reminder>")) == (200, 200, 50_000)


@journey
async def test_no_address_is_printed_that_leads_nowhere(tmp_path):
    async with fake_model() as model:
        den = den_of(tmp_path, model)
        for name, code in (("nosuch", 64), ("vendor", 0), ("anthropic", 0)):
            told = run_to_end(den.proxy_command("url", "openai", "--upstream", name), env=clean_environment())
            assert (told.returncode, f"/u/{name}/" in told.stdout.decode()) == (code, code == 0)
        for place in (("--workspace", "ws/harbor"), ("--folder", str(tmp_path / "nosuch"))):
            told = run_to_end(den.proxy_command("url", "openai", *place), env=clean_environment())
            assert (told.returncode, told.stdout) == (64, b""), place
        den.add_config("\n[gateway.prox]\nport = 8789\n")
        told = run_to_end(den.proxy_command("url", "openai"), env=clean_environment())
        assert (told.returncode, told.stdout, b"gateway.prox" in told.stderr) == (78, b"", True)


@journey
async def test_the_port_that_is_asked_for_is_printed(tmp_path):
    async with fake_model() as model:
        den = den_of(tmp_path, model)
        async with den.proxy():
            for port, printed in ((0, den.port), (den.port, den.port), (5555, 5555)):
                told = run_to_end(den.proxy_command("url", "--port", str(port)), env=clean_environment())
                assert told.stdout.decode().startswith(f"http://127.0.0.1:{printed}/t/"), port


@journey
async def test_a_body_that_is_too_long_to_read_goes_on_and_says_so(tmp_path):
    async with fake_model() as model:
        den = den_of(tmp_path, model)
        async with den.proxy():
            body = b'{"messages": [{"role": "user", "content": "%s"}]}' % (b"a" * MAX_READ_BYTES)
            came = await fetch(den.port, "POST", f"/t/{den.token}{WITH_BODY}", body)
            assert (came.status, came.memory, model.seen[0].body == body) == (200, "skipped", True)
