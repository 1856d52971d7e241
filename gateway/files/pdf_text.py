"""The text of PDF files, page by page. The one home of pypdf, which is loaded only in a process of its own.

Rule 1: a PDF is hostile until it is read: the parser runs in a child with a deadline and a memory limit, and what it does
holds up nobody; the child is given the open file and nothing else, no name, no key.
Rule 2: pages come as they are read: what was read before a deadline is not lost.
"""

import contextlib
import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from typing import Any, BinaryIO, cast

import anyio

from agent.files.pages import PdfPages, PdfProblem

PDF_SECONDS = 6.0
"""A tool has ten; the rest is for starting a process and for waiting one's turn."""
MEMORY_BYTES = 768 * 1024 * 1024
"""Python with pypdf has about a tenth; what needs more is no document but a bomb."""
CHILDREN = 2
"""At once; each may use a core."""
WATCH_CODE = 124  # as of `timeout`
ENDED_BY_ITS_WATCH = {WATCH_CODE} if sys.platform == "win32" else {-signal.SIGALRM}
MAX_PAGE_CHARS = 200_000
"""A page of a book has three thousand."""
PASSED_ON = ("PATH", "PYTHONPATH", "PYTHONHOME", "SYSTEMROOT", "LD_LIBRARY_PATH", "TMPDIR", "TEMP")
"""All of the environment that the child gets: keys of providers are not its business."""


class PdfText:
    """Satisfies `agent.files.pages.ReadPdf`."""

    def __init__(self, seconds: float = PDF_SECONDS) -> None:
        self._seconds = seconds
        self._turns = anyio.Semaphore(CHILDREN)

    async def __call__(self, file: BinaryIO, first: int, chars: int) -> PdfPages:
        """Pages from number `first` (from 0) on until they have `chars` characters, or the deadline comes."""
        command = [sys.executable, "-P", "-m", __name__, str(first), str(chars), str(self._seconds)]
        environment = {name: os.environ[name] for name in PASSED_ON if name in os.environ}
        told = bytearray()
        code: int | None = None  # also of a child that was ended at the deadline
        with anyio.move_on_after(self._seconds):
            async with self._turns:
                file.seek(0)
                async with await anyio.open_process(
                    command, stdin=file, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env=environment
                ) as child:
                    if child.stdout is not None:
                        async for chunk in child.stdout:
                            told += chunk
                    code = await child.wait()
        return _pages_of(bytes(told), "too_slow" if code in {None, *ENDED_BY_ITS_WATCH} else "broken")


def _pages_of(told: bytes, torn: PdfProblem) -> PdfPages:
    """What a child said until it ended or was ended; `torn` is what is wrong where it did not say that it is through."""
    total, pages, problem = 0, cast("list[str | None]", []), cast("PdfProblem | None", torn)
    for line in told.split(b"\n")[:-1]:
        said = json.loads(line)
        if "page" in said:
            pages.append(said["page"])
        total = said.get("total", total)
        problem = said.get("end", problem)
    return PdfPages(total, pages, problem)


# -- in the child --------------------------------------------------------------------------------------------------


def _say(**said: Any) -> None:
    sys.stdout.write(json.dumps(said) + "\n")
    sys.stdout.flush()


def _limit(seconds: float) -> None:
    """End this process at the deadline even when its parent is gone, and keep it small where the platform can."""
    if sys.platform == "win32":
        watch = threading.Timer(seconds, os._exit, [WATCH_CODE])
        watch.daemon = True
        watch.start()
    else:
        import resource  # noqa: PLC0415  # not on Windows

        signal.setitimer(signal.ITIMER_REAL, seconds)  # what SIGALRM does by itself needs no line of Python to run
        with contextlib.suppress(ValueError, OSError):  # macOS takes no such limit
            resource.setrlimit(resource.RLIMIT_AS, (MEMORY_BYTES, MEMORY_BYTES))


def _clean(text: str) -> str:
    """What JSON and a prompt can hold."""
    return text[:MAX_PAGE_CHARS].replace("\0", "\ufffd").encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def _texts(reader: Any, first: int, total: int) -> Iterator[str | None]:
    """The text of each page from `first` on; None for a page that cannot be read, the end where there is none."""
    for number in range(first, total):
        try:
            yield _clean(reader.pages[number].extract_text())
        except IndexError:
            return  # the file names more pages than it has
        except MemoryError:
            raise
        except Exception:  # noqa: BLE001  # the parser's own failures have no common kind; the next page may be whole
            yield None


def tell(source: BinaryIO, first: int, chars: int) -> None:
    """Say the pages, one a line, then how it ended: null, or what was wrong."""
    try:
        import pypdf  # noqa: PLC0415  # an extra, and slow to load
        from pypdf.errors import DependencyError  # noqa: PLC0415
    except ImportError:
        _say(end="no_reader")
        return
    try:
        reader = pypdf.PdfReader(source)
        if reader.is_encrypted and not reader.decrypt(""):
            _say(end="encrypted")
            return
        total = len(reader.pages)
        _say(total=total)
        number = first
        for text in _texts(reader, first, total):
            _say(page=text)
            number += 1
            chars -= len(text or "")
            if chars <= 0:
                break
        else:
            _say(total=number)
    except DependencyError:
        _say(end="encrypted")  # by a cipher that needs a library of its own
    except MemoryError:
        _say(end="too_large")
    except Exception:  # noqa: BLE001  # the boundary of the child: whatever a damaged file does to the parser
        _say(end="broken")
    else:
        _say(end=None)


if __name__ == "__main__":
    _limit(float(sys.argv[3]))
    tell(sys.stdin.buffer, int(sys.argv[1]), int(sys.argv[2]))
