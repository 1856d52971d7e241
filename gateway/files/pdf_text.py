"""The text of PDF files, page by page. The one home of pypdf, which is loaded only in a process of its own.

Rule 1: a PDF is hostile until it is read: the parser runs in a child with a deadline and a memory limit, so that it
holds up no other work; the child is given the open file and nothing else, no name, no key.
Rule 2: pages come as they are read: pages that were read before a deadline are not lost.
"""

import contextlib
import json
import logging
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from typing import Any, BinaryIO, cast

import anyio
from msgspec import Struct

from agent.files.pages import PdfPages, PdfProblem

PDF_SECONDS = 6.0
"""A tool has ten; the rest is for starting a process and for waiting one's turn."""
MEMORY_BYTES = 768 * 1024 * 1024
"""Python with pypdf has about a tenth; a file that needs more is no document but a bomb."""
CHILDREN = 2
"""The most at once; each may use a core."""
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
        """Return pages from number `first` on, counted from 0, until they have `chars` characters or time is over."""
        command = [sys.executable, "-P", "-m", __name__, str(first), str(chars), str(self._seconds)]
        environment = {name: os.environ[name] for name in PASSED_ON if name in os.environ}
        output = bytearray()
        code: int | None = None  # also of a child that was ended at the deadline
        with anyio.move_on_after(self._seconds):
            async with self._turns:
                file.seek(0)
                async with await anyio.open_process(
                    command, stdin=file, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env=environment
                ) as child:
                    if child.stdout is not None:
                        async for chunk in child.stdout:
                            output += chunk
                    code = await child.wait()
        return _pages_of(bytes(output), "too_slow" if code in {None, *ENDED_BY_ITS_WATCH} else "broken")


def _pages_of(output: bytes, torn: PdfProblem) -> PdfPages:
    """Return the pages that a child wrote; `torn` is the problem where it did not write its own end."""
    total, pages, problem = 0, cast("list[str | None]", []), cast("PdfProblem | None", torn)
    for line in output.split(b"\n")[:-1]:
        message = json.loads(line)
        if "page" in message:
            pages.append(message["page"])
        total = message.get("total", total)
        problem = message.get("end", problem)
    return PdfPages(total, pages, problem)


# -- in the child --------------------------------------------------------------------------------------------------


def _write_message(**members: Any) -> None:
    sys.stdout.write(json.dumps(members) + "\n")
    sys.stdout.flush()


def _limit(seconds: float) -> None:
    """End this process at the deadline even when its parent is gone, and keep it small where the platform can."""
    if sys.platform == "win32":
        watch = threading.Timer(seconds, os._exit, [WATCH_CODE])
        watch.daemon = True
        watch.start()
    else:
        import resource  # noqa: PLC0415  # not on Windows

        signal.setitimer(signal.ITIMER_REAL, seconds)  # the signal ends the process without a line of Python
        with contextlib.suppress(ValueError, OSError):  # macOS takes no such limit
            resource.setrlimit(resource.RLIMIT_AS, (MEMORY_BYTES, MEMORY_BYTES))


def _clean(text: str) -> str:
    """Return the text as JSON and a prompt can hold it."""
    return text[:MAX_PAGE_CHARS].replace("\0", "\ufffd").encode("utf-16", "surrogatepass").decode("utf-16", "replace")


class _Mended(logging.Handler):
    """Notes that the parser came upon a stream that is damaged, and went on with what it could read of it."""

    has_any = False

    def emit(self, record: logging.LogRecord) -> None:  # noqa: ARG002  # whatever it says
        self.has_any = True


_MENDED = _Mended()


def page_texts(reader: Any, first: int, total: int) -> Iterator[str | None]:
    """Yield the text of each page from `first` on; None for a page that cannot be read, the end where there is none.

    A damaged page of which the parser could read nothing is none that is empty.
    """
    logging.getLogger("pypdf.filters").addHandler(_MENDED)
    for number in range(first, total):
        _MENDED.has_any = False
        try:
            text = _clean(reader.pages[number].extract_text())
            yield text if text.strip() or not _MENDED.has_any else None
        except IndexError:
            return  # the file names more pages than it has
        except MemoryError:
            raise
        except Exception:  # noqa: BLE001  # the parser's own failures have no common kind; the next page may be whole
            yield None


class OpenedPdf(Struct, frozen=True):
    """A PDF as the parser opened it, with the number of pages that it names; or the problem."""

    reader: Any = None
    total: int = 0
    problem: PdfProblem | None = None


def open_pdf(source: BinaryIO) -> OpenedPdf:
    """Return a PDF as the parser opens it, or the problem. To be called in a child only."""
    try:
        import pypdf  # noqa: PLC0415  # an extra, and slow to load
        from pypdf.errors import DependencyError  # noqa: PLC0415
    except ImportError:
        return OpenedPdf(problem="no_reader")
    try:
        reader = pypdf.PdfReader(source)
        if reader.is_encrypted and not reader.decrypt(""):
            return OpenedPdf(problem="encrypted")
        return OpenedPdf(reader, len(reader.pages))
    except DependencyError:
        return OpenedPdf(problem="encrypted")  # by a cipher that needs a library of its own
    except MemoryError:
        return OpenedPdf(problem="too_large")
    except Exception:  # noqa: BLE001  # the boundary of the child: a damaged file may raise anything in the parser
        return OpenedPdf(problem="broken")


def write_pages(source: BinaryIO, first: int, chars: int) -> None:
    """Write the pages as JSON, one a line, then the end: null, or the problem."""
    opened = open_pdf(source)
    if opened.problem is not None:
        _write_message(end=opened.problem)
        return
    try:
        _write_message(total=opened.total)
        number = first
        for text in page_texts(opened.reader, first, opened.total):
            _write_message(page=text)
            number += 1
            chars -= len(text or "")
            if chars <= 0:
                break
        else:
            _write_message(total=number)
    except MemoryError:
        _write_message(end="too_large")
    except Exception:  # noqa: BLE001  # as above
        _write_message(end="broken")
    else:
        _write_message(end=None)


if __name__ == "__main__":
    _limit(float(sys.argv[3]))
    write_pages(sys.stdin.buffer, int(sys.argv[1]), int(sys.argv[2]))
