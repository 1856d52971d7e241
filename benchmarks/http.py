"""The cost of the HTTP door and the chat proxy: a search beside the same over pipes, a page beside its methods, a start,
and doing nothing; a request, a chunk and a preparation of the proxy beside a bare forwarder and `turn/prepare`.

Rule 1: each figure is processor time or a count of the process itself, and what it is compared with is measured in the
same run.
"""

import argparse
import json
import re
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager
from http.client import HTTPConnection
from pathlib import Path
from typing import NamedTuple
from urllib.parse import quote

from benchmarks.chat_proxy import figures
from benchmarks.goals import Row, at_most, paired, show, shown
from benchmarks.pipes import gateway
from benchmarks.report import machine
from benchmarks.wire import Side, by_turns, cpu_ms, sentence
from gateway.wire.client import console_script

RECORDS = 300
ROUNDS = 21
CALLS = 20
"""Calls of each side in a round: what a call leaves to be done after its answer is in the round."""
WARM = 50
STARTS = 7
IDLE_SECONDS = 15.0
IDLE_ROUNDS = 3
SETTLE_SECONDS = 6.0
"""The seconds after which the late work of a start is over."""
CONFIG = "[gateway.embedding]\nenabled = false\n\n[gateway.http]\nrequests_per_second = 10000\n"
PAGE_RATIO = 2.0
PAGE_KIB = 64.0
PAGE_QUERY = sentence(3)
DAY_MS = 86_400_000
START_RATIO = 1.25
ROUTES = 2.0
IDLE_RATIO = 1.1
"""One wake-up more or less in the time that is counted."""


class OpenDoor(NamedTuple):
    """A spawned door."""

    pid: int
    connection: HTTPConnection
    token: str

    def ask(self, verb: str, path: str, body: object = None) -> bytes:
        headers = {"Authorization": f"Bearer {self.token}", "Content-Type": "application/json"}
        self.connection.request(verb, path, None if body is None else json.dumps(body), headers)
        return self.connection.getresponse().read()


@contextmanager
def door(folder: Path) -> Generator[OpenDoor]:
    """A door that has answered once."""
    folder.mkdir(exist_ok=True)
    config = folder / "http.toml"
    config.write_text(CONFIG, encoding="utf-8")
    home = folder / "home"
    command = [*console_script(), "http", "--home", str(home), "--config", str(config), "--port", "0"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        line = process.stdout.readline() if process.stdout is not None else ""
        found = re.search(r":(\d+) \(", line)
        if found is None:
            raise EOFError("the door did not open")
        opened = OpenDoor(
            process.pid, HTTPConnection("127.0.0.1", int(found[1])), (home / "http" / "token").read_text()
        )
        try:
            opened.ask("GET", "/health")
            opened.connection.close()  # the next request opens one: an idle door has none
            yield opened
        finally:
            opened.connection.close()
            process.send_signal(signal.SIGTERM)


def message(number: int, method: str, params: object) -> dict[str, object]:
    """A request of JSON-RPC."""
    return {"jsonrpc": "2.0", "id": number, "method": method, "params": params}


def wakes(pid: int) -> int:
    """Return the times that the threads of a process were woken so far."""
    found = 0
    for status in Path(f"/proc/{pid}/task").glob("*/status"):
        found += int(re.findall(r"^voluntary_ctxt_switches:\s+(\d+)", status.read_text(), re.MULTILINE)[0])
    return found


def searches(folder: Path) -> list[Row]:
    """The same searches over pipes and over HTTP, by turns, and a route that does nothing."""
    asked = [{"query": sentence(number)} for number in range(RECORDS)]
    with gateway(folder / "home") as server:
        for number in range(RECORDS):
            server.ask(message(number, "memory/remember", {"content": sentence(number)}))
        server.ask(message(RECORDS, "gateway/drain", {}))
    shutil.copytree(folder / "home", folder / "other" / "home")
    with gateway(folder / "other" / "home") as server, door(folder) as opened:
        over_pipes, over_http, alone = by_turns(
            [
                Side(server.pid, lambda n: server.ask(message(n, "memory/search", asked[n % RECORDS]))),
                Side(opened.pid, lambda n: opened.ask("POST", "/rpc/memory/search", asked[n % RECORDS])),
                Side(opened.pid, lambda _: opened.ask("GET", "/health")),
            ],
            rounds=ROUNDS,
            calls=CALLS,
            warm=WARM,
        )
    (ours, pipes), empty = paired(over_http, over_pipes), statistics.median(alone)
    limit = pipes + ROUTES * empty
    return [
        shown("an empty route, CPU", empty, "µs"),
        at_most("a search over HTTP, CPU", ours, "µs", limit, beside="over pipes", floor=pipes),
    ]


class PageCost(NamedTuple):
    """A page of the inspect page, and the methods that it asks with their parameters."""

    name: str
    path: str
    methods: list[tuple[str, dict[str, object]]]


def page_costs(memory_id: str, home_day: int) -> list[PageCost]:
    """The pages that are measured, in a home with one workspace."""
    context = {"include_user": True, "workspace_id": "ws_default"}
    scopes = [{"kind": "user", "key": "default"}, {"kind": "workspace", "key": "ws_default"}]
    places: list[tuple[str, dict[str, object]]] = [("workspace/list", {"limit": 40}), ("thread/list", {"limit": 100})]
    seen = {"context": context, "scopes": scopes}
    one = {"memory_id": memory_id, "context": {"include_user": True}}
    day = {"since_at": home_day, "limit": 25}
    return [
        PageCost("today", "today", [*places, ("memory/changes", {**day, **seen})]),
        PageCost("memories", "memories", [*places, ("memory/list", {"limit": 20, **seen})]),
        PageCost(
            "a search",
            f"memories?q={quote(PAGE_QUERY)}",
            [*places, ("memory/search", {"query": PAGE_QUERY, "limit": 20, **seen})],
        ),
        PageCost(
            "a memory",
            f"memories/{memory_id}?scope=user",
            [
                ("memory/get", {**one, "include_evidence": True}),
                ("memory/explain", {"target": {"kind": "memory", "id": memory_id}, "context": {"include_user": True}}),
                ("memory/history", one),
            ],
        ),
    ]


def pages(folder: Path, records: int) -> list[Row]:
    """Pages of the inspect page beside the methods that they ask, without what a route costs for each of these."""
    with gateway(folder / "home") as server:
        for number in range(records):
            content = {"content": sentence(number % RECORDS) + f" It is number {number}."}
            server.ask(message(number, "memory/remember", content))
        server.ask(message(records, "gateway/drain", {}))
        newest = server.ask(message(records + 1, "memory/list", {"limit": 1}))
    (record,) = newest["result"]["records"]
    rows: list[Row] = []
    with door(folder) as opened:
        code = json.loads(opened.ask("POST", "/inspect"))["code"]
        opened.connection.request("GET", f"/inspect?code={code}")
        answer = opened.connection.getresponse()
        answer.read()
        base = str(answer.headers["location"]).removesuffix("today")
        time.sleep(SETTLE_SECONDS)
        for page in page_costs(record["memory_id"], record["created_at"] - DAY_MS):
            size = len(opened.ask("GET", base + page.path))
            calls: list[Callable[[int], object]] = [
                lambda _, path=page.path: opened.ask("GET", base + path),
                lambda _: opened.ask("GET", "/health"),
                *(lambda _, m=m, p=p: opened.ask("POST", f"/rpc/{m}", p) for m, p in page.methods),
            ]
            taken, alone, *of_methods = by_turns(
                [Side(opened.pid, call) for call in calls], rounds=ROUNDS, calls=CALLS, warm=WARM
            )
            floors = [
                empty + sum(one - empty for one in methods) for empty, *methods in zip(alone, *of_methods, strict=True)
            ]
            ours, floor = paired(taken, floors)
            what = f"the page {page.name}, {records} memories"
            rows.append(at_most(f"{what}, CPU", ours, "µs", PAGE_RATIO * floor, beside="its methods", floor=floor))
            rows.append(at_most(f"{what}, size", size / 1024, "KiB", PAGE_KIB))
    return rows


def starts(folder: Path) -> list[Row]:
    """From the spawn to the first answer."""
    pipes: list[float] = []
    ours: list[float] = []
    for number in range(STARTS):
        with gateway(folder / f"serve{number}") as server:
            pipes.append(cpu_ms(server.pid))
        with door(folder / f"http{number}") as opened:
            ours.append(cpu_ms(opened.pid))
    floor = min(pipes)
    return [at_most("a start, CPU", min(ours), "ms", START_RATIO * floor, beside="`serve`", floor=floor)]


def idle(folder: Path) -> list[Row]:
    """Measure the wake-ups of a process without requests."""
    if not Path("/proc/self/task").is_dir():
        return []
    pipes: list[int] = []
    ours: list[int] = []
    with gateway(folder / "serve") as server, door(folder / "http") as opened:
        time.sleep(SETTLE_SECONDS)
        for _ in range(IDLE_ROUNDS):
            before = wakes(server.pid), wakes(opened.pid)
            time.sleep(IDLE_SECONDS)
            pipes.append(wakes(server.pid) - before[0])
            ours.append(wakes(opened.pid) - before[1])
    what = f"doing nothing for {IDLE_SECONDS:g} s, wake-ups"
    floor = statistics.median(pipes)
    return [at_most(what, statistics.median(ours), "", IDLE_RATIO * floor, beside="`serve`", floor=floor)]


def main(arguments: list[str] | None = None) -> int:
    """Measure; 1 where a goal is missed."""
    argparse.ArgumentParser(prog="python -m benchmarks http", description=__doc__).parse_args(arguments)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for part in ("searches", "pages", "starts", "idle", "proxy"):
            (folder / part).mkdir()
        rows = [
            *searches(folder / "searches"),
            *pages(folder / "pages", RECORDS),
            *starts(folder / "starts"),
            *idle(folder / "idle"),
        ]
        show(f"the HTTP door, on {machine()}", rows)
        of_proxy = figures(folder / "proxy")
    show(f"the chat proxy, on {machine()}", of_proxy)
    return int(any(row.is_met is False for row in [*rows, *of_proxy]))


if __name__ == "__main__":
    sys.exit(main())
