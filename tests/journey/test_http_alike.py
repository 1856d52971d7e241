"""Every method over HTTP is the method over pipes: the same answers on equal homes, and the same fences.

The rows are those of the leak matrix: each is asked by one tenant, with names of another one, over stdio, `/rpc` and
`/rpc/<method>`.
"""

import json
import re
import shutil
from typing import Any

from http_stage import HttpDen
from leak_rows import ROWS
from spawned import Den, hello, journey
from test_leaks import A, B, foreign, outcome, params_of, plain, settle, world

from gateway.doors.http.rules import STATUS_OF_REASON

OF_THE_PROCESS = frozenset({"gateway/status", "gateway/drain", "hooks/runs", "thread_episodic/reindex"})
"""Methods whose answers say how long and how often a process did something, or what still waits in it: their members
are compared, not the values."""
OF_A_SESSION = frozenset({"initialize", "shutdown"})
BLOCK = re.compile(r"_[0-9a-f]{16}\b")
"""The end of a block's id."""
LATENCY = re.compile(r'("latency_ms": )\d+')
"""How long a model took, which a busy machine decides."""
IDLE = {"timeout_ms": 30_000}
CONFIG = "[gateway.http]\nrequests_per_second = 10000\n"


def over_rpc(den: HttpDen, method: str, params: Any) -> dict[str, Any]:
    said = den.ask("POST", "/rpc", {"jsonrpc": "2.0", "id": 1, "method": method, "params": params})
    assert said.status == 200
    error = said.json.get("error")
    return {"error": [error["code"], error["message"], error["data"]]} if error else {"result": said.json["result"]}


def bare(den: HttpDen, method: str, params: Any) -> dict[str, Any]:
    if "/" not in method:
        return over_rpc(den, method, params)
    said = den.ask("POST", f"/rpc/{method}", params)
    if said.status == 200:
        return {"result": said.json}
    error = said.json["error"]
    assert said.status == STATUS_OF_REASON[error["data"]["reason"]]
    return {"error": [error["code"], error["message"], error["data"]]}


def shape(method: str, came: dict[str, Any], names: dict[str, str]) -> Any:
    if method in OF_THE_PROCESS and "result" in came:
        return sorted(came["result"])
    return LATENCY.sub(r"\1<ms>", BLOCK.sub("_<made>", plain(came, names)))


@journey
async def test_http_statement_08_alike_and_fenced(tmp_path):
    settled = tmp_path / "settled", await settle(tmp_path / "settled")
    async with world(settled, tmp_path / "first") as (_, methods, tenants):
        pass
    folders = [tmp_path / name for name in ("pipes", "rpc", "bare")]
    for folder in folders:
        shutil.copytree(tmp_path / "first", folder)
    dens = [HttpDen(folder, scripted=True, config=CONFIG) for folder in folders[1:]]
    a, b = tenants[A], tenants[B]
    unlike, leaks, asked = [], [], set()
    with dens[0].door(), dens[1].door():
        async with await Den(folders[0], scripted=True, config=CONFIG).spawn() as client:
            said = await hello(client, None)
            over_http = dens[0].rpc(
                "initialize", {"protocol_version": "2026-11", "client": {"name": "journey", "version": "1"}}
            )
            said["capabilities"]["methods"].remove("shutdown")
            assert (over_http["capabilities"], over_http["limits"]) == (said["capabilities"], said["limits"])
            rows = [row for row in ROWS if row.method in methods and row.method not in OF_A_SESSION]
            for row in rows:
                params = params_of(row, b, a)
                if row.method.startswith("thread_episodic/"):  # these count work that waits
                    assert (await client.request("gateway/drain", IDLE))["idle"]
                    assert all(den.rpc("gateway/drain", IDLE)["idle"] for den in dens)
                answers = [
                    await outcome(client, row.method, params),
                    over_rpc(dens[0], row.method, params),
                    bare(dens[1], row.method, params),
                ]
                asked.add(row.method)
                if len({json.dumps(shape(row.method, one, b)) for one in answers}) != 1:
                    unlike.append((row.method, params, [shape(row.method, one, b) for one in answers]))
                if row.kind == "scoped" and any(foreign(one, tenants, {A}) for one in answers):
                    leaks.append(row)
    assert asked == set(methods) - OF_A_SESSION
    assert leaks == []
    assert unlike == [], "\n\n".join(
        f"{method} {params}\n" + "\n".join(map(str, came)) for method, params, came in unlike
    )
