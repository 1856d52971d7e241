"""A session with a client in memory, and services that stop where a test wants them."""

import asyncio
import json
from collections.abc import Awaitable, Callable
from typing import Any, TypeVar

import anyio

from gateway.base.hub import CURRENT, Hub
from gateway.base.spawner import Spawner
from gateway.wire.rpc import Dispatcher
from gateway.wire.session import Session, Transport
from protocol.base import Params, Wire
from protocol.errors import Refused
from protocol.methods import Bound, Method
from protocol.notifications import GatewayRecovered

T = TypeVar("T")

MAX_BYTES = 2000
IN_FLIGHT = 4


class Call(Params):
    """Parameters of every method of these tests."""

    name: str = ""
    thread_id: str | None = None
    turn_id: str | None = None


class Said(Wire):
    """The answers of the session's methods."""

    name: str


class Stage:
    """A session, its client's two hands, and services that stop where a test wants them."""

    def __init__(self, max_in_flight: int) -> None:
        self.out: list[Any] = []
        self.keys: list[str | None] = []
        self.begun: list[str] = []
        self.incidents: list[str] = []
        self._gates: dict[str, anyio.Event] = {}
        self._inbox: asyncio.Queue[bytes] = asyncio.Queue()
        self.received = 0
        self._changed = anyio.Event()
        self.writable = anyio.Event()
        self.writable.set()
        self.hub, self.spawner = Hub(), Spawner()
        table = {
            "initialize": ("free", self._notifying),
            "shutdown": ("free", self._gated),
            "ping": ("free", self._plain),
            "hold": ("free", self._gated),
            "say": ("free", self._plain),
            "in_thread": ("thread", self._gated),
            "in_turn": ("turn", self._gated),
            "fail": ("free", self._failing),
            "notify": ("free", self._notifying),
            "spawn": ("free", self._spawning),
            "orphan": ("free", self._orphaned),
            "seal": ("free", self._sealed),
        }
        bound = {name: Bound(Method(name, Call, Said, "", (), order), call) for name, (order, call) in table.items()}
        self.session = Session(
            transport=Transport(self, self),
            hub=self.hub,
            dispatcher=Dispatcher(bound, self._incident),
            max_message_bytes=MAX_BYTES,
            max_in_flight=max_in_flight,
            thread_of_turn={"turn-of-a": "a"}.get,
        )

    # the session's side

    async def receive(self) -> bytes:
        chunk = await self._inbox.get()
        self.received += 1
        self._tell()
        return chunk

    def end(self) -> None:
        self._inbox.put_nowait(b"")

    def send(self, line: bytes, coalesce_key: str | None = None) -> None:
        assert b"\n" not in line
        self.out.append(json.loads(line))
        self.keys.append(coalesce_key)
        self._tell()

    @property
    def is_within_budget(self) -> bool:
        return self.writable.is_set()

    async def wait_writable(self) -> None:
        await self.writable.wait()

    async def flush(self) -> None:
        """Nothing is ever waiting here."""

    def _incident(self, error: BaseException) -> str:
        self.incidents.append(type(error).__name__)
        return "inc_1"

    def _tell(self) -> None:
        self._changed.set()
        self._changed = anyio.Event()

    # services

    async def _plain(self, params: Call) -> Said:
        return Said(name=params.name)

    async def _gated(self, params: Call) -> Said:
        self.begun.append(params.name)
        self._tell()
        await self.gate(params.name).wait()
        return Said(name=params.name)

    async def _sealed(self, params: Call) -> Said:
        with anyio.CancelScope(shield=True):
            await self._gated(params)
            self.begun.append(f"{params.name} is whole")
        return Said(name=params.name)

    async def _failing(self, params: Call) -> Said:
        if params.name == "refused":
            raise Refused("conflict")
        raise ValueError(params.name)

    async def _notifying(self, params: Call) -> Said:
        self.notify(params.name)
        await asyncio.sleep(0)
        return Said(name=params.name)

    async def _spawning(self, params: Call) -> Said:
        async def work() -> None:
            self.begun.append(f"work of {params.name}, replies: {len(self.out)}")
            self.notify(f"from {params.name}")

        self.spawner.spawn(work, "work")
        await asyncio.sleep(0)
        return Said(name=params.name)

    async def _orphaned(self, _params: Call) -> Said:
        await cancelled_future()
        raise AssertionError

    def notify(self, component: str) -> None:
        self.hub.notify("gateway/recovered", GatewayRecovered(component=component))

    # the client's side

    def gate(self, name: str) -> anyio.Event:
        return self._gates.setdefault(name, anyio.Event())

    def write(self, *values: Any) -> None:
        self._inbox.put_nowait(b"".join(json.dumps(value).encode() + b"\n" for value in values))

    def write_raw(self, data: bytes) -> None:
        self._inbox.put_nowait(data)

    def close(self) -> None:
        self._inbox.put_nowait(b"")

    async def until(self, is_so: Callable[[], object]) -> None:
        with anyio.fail_after(60):
            while not is_so():
                await self._changed.wait()

    async def replies(self, count: int) -> list[Any]:
        await self.until(lambda: len(self.out) >= count)
        return self.out[:count]

    async def initialize(self) -> None:
        self.write(request("init", "initialize"))
        await self.replies(2)
        self.out.clear()


async def cancelled_future() -> None:
    future: asyncio.Future[None] = asyncio.get_running_loop().create_future()
    future.cancel()
    await future


def request(request_id: Any, method: str, **params: Any) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": request_id, "method": method, "params": params}


def notification(method: str, **params: Any) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "method": method, "params": params}


def reason(message: Any) -> tuple[Any, str]:
    return message["id"], message["error"]["data"]["reason"]


def name(message: Any) -> tuple[Any, str]:
    return message["id"], message["result"]["name"]


async def settle() -> None:
    """Let every task that can go on go on."""
    for _ in range(20):
        await asyncio.sleep(0)


def play(
    scene: Callable[[Stage], Awaitable[None]], *, initialized: bool = True, max_in_flight: int = IN_FLIGHT
) -> tuple[int, list[Any]]:
    """Run a scene, end the input, and return the exit code and what was said after it ended."""

    async def main() -> tuple[int, list[Any]]:
        stage = Stage(max_in_flight)
        code: list[int] = []

        async def run() -> None:
            code.append(await stage.session.run())

        with anyio.fail_after(120):
            async with anyio.create_task_group() as tasks, stage.spawner.open():
                tasks.start_soon(run)
                if initialized:
                    await stage.initialize()
                await scene(stage)
                stage.close()
        assert CURRENT.get() is None
        return code[0], stage.out

    return anyio.run(main)


def answers(out: list[Any]) -> dict[Any, str]:
    flat = [reply for message in out for reply in (message if isinstance(message, list) else [message])]
    return {
        reply["id"]: reply["error"]["data"]["reason"] if "error" in reply else "ok" for reply in flat if "id" in reply
    }
