"""A command of `pioneer` that a test spawns is forked from a process that has loaded the product, and has compiled its
patterns: what these cost is paid once.

The forked process is a child of the one that asked, with pipes, an environment, signals and an exit code of its own;
nothing tells it from a spawned one but what it need not load. A test that is about this is marked `cold`. Where Python is told
something at its start, or the system is not Linux, the command is spawned as ever. Where coverage follows the process,
it begins after the fork: what the import of a module runs is counted in the tests' own process.

It ends in order, but frees nothing one by one. A command that spawns others is given a process that forks those.

The process that forks keeps nothing: it makes a child that makes the command's process and ends, and the orphan becomes
a child of the nearest ancestor that takes orphans in (PR_SET_CHILD_SUBREAPER of prctl(2)), which the asker is for that
moment.
"""

import atexit
import ctypes
import functools
import gc
import inspect
import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple

import coverage
from coverage.config import CoverageConfig

LOADED = (
    "anyio._backends._asyncio",
    "anyio._core._subprocesses",
    "encodings.ascii",
    "encodings.utf_8_sig",
    "gateway.doors.commands.left_words",
    "gateway.doors.commands.new_memories",
    "gateway.doors.commands.processes.proxying",
    "gateway.doors.commands.processes.starting",
    "gateway.doors.http.events",
    "gateway.doors.http.openapi",
    "gateway.doors.http.page_routes",
    "gateway.doors.http.server",
    "gateway.doors.mcp.process",
    "gateway.doors.mcp.prompts",
    "gateway.doors.proxy.app",
    "gateway.files.text_reader",
    "gateway.home.config_check",
    "gateway.origin",
    "gateway.process",
    "gateway.process_methods",
    "gateway.wiring",
    "httpcore2",
    "httpx2",
    "jinja2",
    "jsonrpcserver.async_dispatcher",
    "knowledge.house",
    "mcp.server",
    "mmap",
    "numpy",
    "pathspec",
    "tzdata.zoneinfo",
    "tzlocal.utils",
    "uvicorn.lifespan.off",
    "uvicorn.protocols.http.h11_impl",
    "uvicorn.server",
    "yaml",
)
"""The modules that processes import for their first answers; all others come with them. What the import of a module runs
is counted in the tests' own process, so modules that no test imports there are left to the processes that need them."""
ROOT = Path(__file__).resolve().parents[2]
JUDGED = "I prefer window seats, and my dentist is in Hamburg since 3 May 2024."
"""Words that the rules read: what they compile and parse is the same for all that is read later."""
ASK_BYTES = 1 << 20
OPEN_FILES = 1024
"""More than the process that forks has open: a child closes all but its three pipes."""
PR_SET_CHILD_SUBREAPER = 36
PIPES = ("p2cread", "c2pwrite", "errwrite")
"""The child's ends, as `subprocess` calls them; -1 is the asker's own."""
STREAMS = ("stdin", "stdout", "stderr")
FOLLOW = "COVERAGE_PROCESS_CONFIG"
"""The variable that starts coverage in a spawned process; coverage sets it in the process that runs the tests."""
READ_AT_START = ("PYTHON", "COVERAGE_PROCESS", "LC_", "LANG")
"""The beginnings of the names of variables that Python reads before any of our code runs."""
SPAWNING = frozenset({"demo", "import", "proxy", "replay"})
"""The commands that spawn other ones."""
USUAL = {
    "preexec_fn": None,
    "pass_fds": (),
    "shell": False,
    "uid": None,
    "gid": None,
    "gids": None,
    "umask": -1,
    "process_group": -1,
}
"""Arguments of `subprocess` that a forked process does not know, and their values where nobody gave one."""


_one_at_a_time = threading.Lock()
"""Tests spawn from several threads, and the answers have no names."""


class Ask(NamedTuple):
    """The command, the environment and the folder of a process, and whether it leads a session of its own."""

    command: list[str]
    env: dict[str, str]
    cwd: str
    leads: bool


# -- in the process of the tests -------------------------------------------------------------------------------------


def fork_commands(
    script: str, is_cold: Callable[[], bool] = lambda: False, gate_of: Callable[[], socket.socket] | None = None
) -> None:
    """Have `subprocess`, and what is built on it, fork the commands of a console script from now on, unless a test is
    cold; by way of a process that forks for this one, which is started when it is first needed if none is named."""
    if not sys.platform.startswith("linux"):
        return
    popen: Any = subprocess.Popen
    spawn = popen._execute_child  # the one place that all ways to spawn share
    signature = inspect.signature(spawn)

    def execute(process: Any, *arguments: Any) -> None:
        asked = signature.bind(process, *arguments).arguments
        command = asked["args"]
        is_ours = isinstance(command, list | tuple) and command and os.fspath(command[0]) == script
        if not is_ours or is_cold() or not _can_fork(asked):
            spawn(process, *arguments)
            return
        env = os.environ if asked["env"] is None else asked["env"]
        folder = os.fspath(asked["cwd"] or Path.cwd())
        ask = Ask([os.fspath(word) for word in command], dict(env), folder, bool(asked["start_new_session"]))
        process.pid = _fork(
            (gate_of or _parent)(),
            ask,
            [number if (at := asked[name]) == -1 else at for number, name in enumerate(PIPES)],
        )
        process._child_created = True
        process._close_pipe_fds(
            *(asked[name] for name in ("p2cread", "p2cwrite", "c2pread", "c2pwrite", "errread", "errwrite"))
        )

    popen._execute_child = execute


def usual_config() -> str:
    """Return the value of FOLLOW that coverage would set in a process that it counts: the project's own settings."""
    told = coverage.Coverage(config_file=str(ROOT / "pyproject.toml")).config
    told.data_file = str(ROOT / told.data_file)  # wherever the process stands
    return told.serialize()


def followed_by_pattern(config: str) -> str:
    """Return the value of FOLLOW for a process to be followed: the same files by patterns instead of packages. By those
    each process would list all that it did not run; the tests' own process has listed them, and that is enough."""
    told = CoverageConfig.deserialize(config)
    told.run_include = [str(Path(str(import_module(name).__file__)).parent / "*") for name in told.source_pkgs]
    told.source_pkgs = []
    return told.serialize()


def _can_fork(asked: Mapping[str, Any]) -> bool:
    """Return whether a process can begin with what is asked: nothing that Python reads at its start, nothing unusual."""
    env = asked["env"] or {}
    told = {(name, value) for name, value in env.items() if name.startswith(READ_AT_START)}
    usual = all(asked.get(name, value) == value for name, value in USUAL.items())
    return usual and told <= set(os.environ.items())


def _fork(gate: socket.socket, ask: Ask, pipes: list[int]) -> int:
    """Return the id of a new child of this process that runs a command. Raises what starting it would raise."""
    if not Path(ask.cwd).is_dir():
        raise FileNotFoundError(ask.cwd)
    with _one_at_a_time, _taking_orphans_in():
        socket.send_fds(gate, [json.dumps(ask).encode()], pipes)
        return int(gate.recv(64))


@contextmanager
def _taking_orphans_in() -> Iterator[None]:
    set_option = ctypes.CDLL(None).prctl
    set_option(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    try:
        yield
    finally:
        set_option(PR_SET_CHILD_SUBREAPER, 0, 0, 0, 0)


@functools.cache
def _parent() -> socket.socket:
    """Start the process that forks; it ends with this one."""
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    with theirs:
        process = subprocess.Popen(
            [sys.executable, __file__, str(theirs.fileno())],
            pass_fds=[theirs.fileno()],
            env={name: value for name, value in os.environ.items() if name != FOLLOW},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
        )

    def end() -> None:
        ours.close()
        process.wait()

    atexit.register(end)
    return ours


# -- in the process that forks ---------------------------------------------------------------------------------------


def serve(gate: socket.socket) -> Ask | None:
    """Make a process for each ask. Return the ask in it, and None in this process when nobody asks any more."""
    while True:
        sent, pipes, *_ = socket.recv_fds(gate, ASK_BYTES, len(PIPES))
        if not sent:
            return None
        told, tells = os.pipe()
        between = os.fork()
        if not between:
            maker, pid = os.getpid(), os.fork()
            if not pid:
                while os.getppid() == maker:  # a command that saw its parent change would take itself for an orphan
                    os.sched_yield()
                return _begin(Ask(*json.loads(sent)), pipes)
            os.write(tells, b"%d" % pid)
            os._exit(0)  # the process is an orphan now
        os.waitpid(between, 0)
        gate.send(os.read(told, 64))
        for descriptor in (told, tells, *pipes):
            os.close(descriptor)


def _begin(ask: Ask, pipes: list[int]) -> Ask:
    """Become the process that was asked for."""
    signal.signal(signal.SIGINT, signal.default_int_handler)
    if ask.leads:
        os.setsid()
    for number, descriptor in enumerate(pipes):
        os.dup2(descriptor, number)
    for number, name in enumerate(STREAMS):  # a stream asks once whether its file can be sought in
        known = getattr(sys, name)
        mode, buffering = "w" if number else "r", 1 if name == "stderr" else -1
        stream = open(number, mode, buffering, known.encoding, known.errors, closefd=False)  # noqa: SIM115
        setattr(sys, name, stream)
        setattr(sys, f"__{name}__", stream)
    os.closerange(len(PIPES), OPEN_FILES)
    os.chdir(ask.cwd)
    os.environ.clear()
    os.environ.update(ask.env)
    time.tzset()
    sys.argv = ask.command
    return ask


def _fork_for(ask: Ask) -> Ask | None:
    """Leave a process beside a command that spawns others, which forks those. Return the ask of this process: there are
    three that go on from here, the command's, each that is forked later, and at last, with None, the one that forks."""
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    forking = os.fork()
    if not forking:
        ours.close()
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        nothing = os.open(os.devnull, os.O_RDWR)
        for descriptor in range(len(PIPES)):  # else who reads the command's output would wait for this one, too
            os.dup2(nothing, descriptor)
        os.close(nothing)
        return serve(theirs)
    theirs.close()

    def end() -> None:
        ours.close()
        os.waitpid(forking, 0)

    atexit.register(end)
    fork_commands(ask.command[0], gate_of=lambda: ours)
    return ask


def _warm() -> None:
    """Read a text by the rules, and compile the patterns that it did not need."""
    from gateway.secrets.scanner import RuleScanner  # noqa: PLC0415  # the tests' own process needs none of these
    from memory.extraction.rule_extraction import extract_statements  # noqa: PLC0415
    from promt.patterns import LatePattern  # noqa: PLC0415

    extract_statements({"": JUDGED})
    RuleScanner().find(JUDGED)
    for late in [one for one in gc.get_objects() if type(one) is LatePattern]:
        _ = late.flags
    inspect.stack()  # coverage begins with one, and this looks at each module once
    gc.freeze()  # a forked process need not copy what it never frees


def _end(run: Callable[[], int]) -> int:
    """Run a command and end as the interpreter does, but for freeing one by one what was loaded: that would copy most
    of the memory shared with the process that forks, and cost more than a short command does.

    Return the exit code where a stream is broken: the interpreter has a word and a code for that.
    """
    try:
        code = run()
    except SystemExit as left:
        if not isinstance(left.code, int):
            raise
        code = left.code
    threads: Any = threading
    threads._shutdown()
    atexit._run_exitfuncs()
    gc.collect()  # what only circles hold may have something to say when it goes
    with suppress(AttributeError, OSError, ValueError):
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)
    return code


def main(arguments: list[str]) -> int:
    """Load the product, and run each command that is asked for in a process of its own."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # of a terminal, meant for the tests
    sys.path.pop(0)  # this folder: the product is installed
    os.environ["OPENBLAS_NUM_THREADS"] = "1"  # as the product has it; threads that numpy began would not be forked
    for name in LOADED:
        import_module(name)
    _warm()
    ask = serve(socket.socket(fileno=int(arguments[0])))
    if ask is not None and SPAWNING.intersection(ask.command[1:2]):
        ask = _fork_for(ask)
    if ask is None:
        os._exit(0)
    if FOLLOW in ask.env:
        coverage.process_startup()
    from gateway.cli import main as run  # noqa: PLC0415  # as the console script does

    return _end(run)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
