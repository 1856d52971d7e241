"""Work that is stopped at one of its awaits, whichever they are: something else happens there, and the work goes on.

An await is met twice: in front of it, whether it is going to wait or not, and where it waits. The first places are put
into the code itself, from its source, and the second are found by stepping the work and every task that it makes: an
await that is added later is met by itself.
"""

import ast
import asyncio
import builtins
import gc
import sys
from collections.abc import Awaitable, Callable, Coroutine, Generator, Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path
from types import CodeType, FunctionType
from typing import Any, NamedTuple

HOUSES = ("agent", "gateway", "knowledge", "memory", "promt", "retrieval", "thread_episodic")
"""The packages whose awaits are stopped at."""
_STOP = "__stop_before__"  # no other name in the builtins

_stopping: ContextVar["Interleaving | None"] = ContextVar("_stopping", default=None)
"""The interleaving that the running code is the work of."""


class Interleaving:
    """Runs work; at its await number `at`, counted from 0 over all its tasks, `between` is run to its end first."""

    def __init__(self, at: int, between: Callable[[], Awaitable[None]]) -> None:
        self._at = at
        self._between = between
        self._number = 0
        self.was_reached = False
        self.met = set[Await]()
        """The awaits in the code that the work came to."""
        self.stopped_at = ""
        """The place to be told where what happens there does harm."""
        self.goes_on = asyncio.Event()
        """Not set while all tasks of the work stand still."""
        self.goes_on.set()

    async def run(self, work: Coroutine[Any, Any, Any]) -> Any:
        """Do the work."""
        loop = asyncio.get_running_loop()
        loop.set_task_factory(_made)
        before = _stopping.set(self)
        try:
            return await _Stepped(work, self)
        finally:
            _stopping.reset(before)
            loop.set_task_factory(None)

    def is_here(self, place: str) -> bool:
        """Count an await; return whether it is the one to stop at."""
        self._number += 1
        is_here = self._number - 1 == self._at
        if is_here:
            self.was_reached, self.stopped_at = True, place
        return is_here

    async def stop_before(self, place: "Await") -> None:
        """Come to an await in the code."""
        self.met.add(place)
        if self.is_here(f"before {place.function}:{place.number}"):
            await self.stop()

    async def stop(self) -> None:
        """Run what happens between, in a task of its own as another client's would be; its awaits are not counted."""

        async def happen() -> None:
            try:
                await self._between()
            finally:
                self.goes_on.set()

        before = _stopping.set(None)
        self.goes_on.clear()
        happening = asyncio.ensure_future(happen())  # the work may hold a token of its task: a thread, a lock
        told: BaseException | None = None
        try:
            while not happening.done():
                try:
                    await asyncio.wait([happening])
                except asyncio.CancelledError as cancelled:  # the work's time is up
                    told = cancelled
        finally:
            _stopping.reset(before)
        happening.result()
        if told is not None:
            raise told


class _Stepped:
    """Awaits work step by step."""

    def __init__(self, work: Coroutine[Any, Any, Any], interleaving: Interleaving) -> None:
        self._work = work
        self._interleaving = interleaving

    def __await__(self) -> Generator[Any, Any, Any]:
        given: Any = None
        error = yield from self._stand_still()
        while True:
            try:
                waited_for = self._work.send(given) if error is None else self._work.throw(error)
            except StopIteration as ended:
                return ended.value
            if self._interleaving.goes_on.is_set() and self._interleaving.is_here(_inmost(self._work)):
                try:
                    yield from self._interleaving.stop().__await__()
                except asyncio.CancelledError as cancelled:
                    error = cancelled
                    continue
            given = error = None
            try:
                given = yield waited_for
            except BaseException as thrown:  # noqa: BLE001  # the work is told what it would be told without us
                error = thrown
            error = (yield from self._stand_still()) or error

    def _stand_still(self) -> Generator[Any, Any, BaseException | None]:
        """Wait while something happens between; return what the work is told meanwhile, such as that its time is up."""
        told: BaseException | None = None
        while not self._interleaving.goes_on.is_set():
            try:
                yield from self._interleaving.goes_on.wait().__await__()
            except BaseException as thrown:  # noqa: BLE001  # as above
                told = thrown
        return told


def _inmost(work: Any) -> str:
    """Return the function and the line of the houses' code in which a coroutine waits."""
    place = ""
    while (frame := getattr(work, "cr_frame", None)) is not None:
        if frame.f_globals["__name__"].partition(".")[0] in HOUSES:
            place = f"in {work.__qualname__}:{frame.f_lineno}"
        work = work.cr_await
    return place


def _made(loop: asyncio.AbstractEventLoop, work: Any, **how: Any) -> asyncio.Task[Any]:
    """A task; one that the work makes is part of it."""
    interleaving = _stopping.get()

    async def stepped(whole: Interleaving) -> Any:
        return await _Stepped(work, whole)

    return asyncio.Task(work if interleaving is None else stepped(interleaving), loop=loop, **how)


# -- the awaits in the code --------------------------------------------------------------------------------------------


class Await(NamedTuple):
    """An await of a function, by its place among that function's awaits."""

    module: str
    function: str
    number: int


class _Stops(ast.NodeTransformer):
    """Puts a stop in front of every await of a module, `async with` and `async for` among them."""

    def __init__(self, module: str) -> None:
        self._module = module
        self._within: list[str] = []
        self._numbers: dict[str, int] = {}
        self.all: list[Await] = []

    def _stop(self, awaited: ast.expr | None) -> ast.Await:
        function = ".".join(self._within)
        number = self._numbers[function] = self._numbers.get(function, -1) + 1
        self.all.append(Await(self._module, function, number))
        given = [ast.Constant(self._module), ast.Constant(function), ast.Constant(number)]
        return ast.Await(ast.Call(ast.Name(_STOP, ast.Load()), [*given, *([awaited] if awaited else [])], []))

    def _visit_named(self, node: Any) -> Any:
        self._within.append(node.name)
        self.generic_visit(node)
        self._within.pop()
        return node

    visit_ClassDef = visit_FunctionDef = visit_AsyncFunctionDef = _visit_named  # noqa: N815  # names of `ast`

    def visit_Await(self, node: ast.Await) -> ast.AST:
        self.generic_visit(node)
        return ast.copy_location(self._stop(node.value), node)

    def _visit_block(self, node: Any) -> Any:
        stop = ast.copy_location(ast.Expr(self._stop(None)), node)
        self.generic_visit(node)
        return [stop, node]

    visit_AsyncWith = visit_AsyncFor = _visit_block  # noqa: N815  # names of `ast`


async def _stop_before(module: str, function: str, number: int, *awaited: Awaitable[Any]) -> Any:
    if (interleaving := _stopping.get()) is not None:
        try:
            await interleaving.stop_before(Await(module, function, number))
        except asyncio.CancelledError:
            for one in awaited:
                if asyncio.iscoroutine(one):
                    one.close()  # nobody will await it
            raise
    for one in awaited:
        return await one
    return None


def loaded_modules() -> set[str]:
    """Return the names of the houses' modules that are imported by now."""
    return {name for name in sys.modules if name.partition(".")[0] in HOUSES}


@contextmanager
def awaits_in_the_code() -> Iterator[list[Await]]:
    """Give every function of the houses that are loaded stops in front of its awaits, and take them away again."""
    stopping: dict[tuple[str, str, int], CodeType] = {}
    awaits: list[Await] = []
    for name in loaded_modules():
        file = sys.modules[name].__file__
        if file is not None and b"async " in (source := Path(file).read_bytes()):
            stops = _Stops(name)
            tree = ast.fix_missing_locations(stops.visit(ast.parse(source)))
            stopping.update(_codes_of(compile(tree, file, "exec", dont_inherit=True)))
            awaits += stops.all
    functions = [one for one in gc.get_objects() if isinstance(one, FunctionType)]
    before = [(one, one.__code__) for one in functions if _place_of(one.__code__) in stopping]
    setattr(builtins, _STOP, _stop_before)
    for function, code in before:
        function.__code__ = stopping[_place_of(code)]
    try:
        yield awaits
    finally:
        for function, code in before:
            function.__code__ = code  # `_STOP` stays: coroutines may be under way that name it


def _place_of(code: CodeType) -> tuple[str, str, int]:
    return code.co_filename, code.co_qualname, code.co_firstlineno


def _codes_of(code: CodeType) -> Iterable[tuple[tuple[str, str, int], CodeType]]:
    """Return the functions within some code that have awaits, and those that hold such a function."""
    for one in code.co_consts:
        if isinstance(one, CodeType):
            within = list(_codes_of(one))
            if within or _STOP in one.co_names:
                yield _place_of(one), one
            yield from within
