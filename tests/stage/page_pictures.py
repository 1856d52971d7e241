"""Pictures of the inspect page for the documentation, made of the demo's own home: `make page-pictures`.

Rule 1: what is shown came of the demo's story through a real gateway; nothing is painted.
"""

import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import NamedTuple

from browser import CHROMIUM, open_browser

from gateway.wire.client import console_script

DOCS = Path(__file__).resolve().parents[2] / "docs"
SHOWN = re.compile(r"--home (\S+) --clock-file (\S+)")
COLOURS = 128
"""A picture of text on flat ground needs no more; it is a third of the size."""


FRIDAY = 1_778_840_400_000 + 2_700_000
"""Friday, 15 May 2026, in the morning, after the correction of that day."""
KEPT = ("The harbour master of Aldermouth is Ines Okafor.", "Timetables are released on the first Monday of a month.")
"""The facts that the person keeps on the page itself."""


class Picture(NamedTuple):
    """A picture: its file, the page, the width and height of the window, and how the system is set."""

    name: str
    path: str
    width: int
    height: int
    is_dark: bool = False


PICTURES = (
    Picture("inspect-today.png", "today", 1080, 820),
    Picture("inspect-dark.png", "memory", 1080, 820, is_dark=True),
    Picture("inspect-phone.png", "today", 390, 844),
)


def play(folder: Path) -> tuple[str, str]:
    """Play the demo; return its home and its clock."""
    environment = {**os.environ, "TMPDIR": str(folder), "COLUMNS": "100"}
    told = subprocess.run([*console_script(), "demo"], env=environment, capture_output=True, text=True, check=True)
    found = SHOWN.search(told.stdout)
    if found is None:
        raise SystemExit(f"the demo named no home:\n{told.stdout}")
    return found[1], found[2]


def make(out: Path) -> None:
    """Make every picture, as on the Friday of the story's correction."""
    from PIL import Image  # noqa: PLC0415  # of the embedding library, and needed here alone

    with tempfile.TemporaryDirectory() as folder:
        home, clock = play(Path(folder))
        Path(clock).write_text(str(FRIDAY), encoding="ascii")
        command = [*console_script(), "inspect", "--no-open", "--home", home, "--clock-file", clock]
        with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
            assert process.stdout is not None
            url = process.stdout.readline().split(": ", 1)[1].strip()
            with open_browser() as browser:
                page = browser.new_page()
                page.goto(url)
                base = page.url.removesuffix("today")
                for text in KEPT:
                    page.goto(f"{base}memories?new=1")
                    page.locator("textarea[name=content]").fill(text)
                    page.get_by_role("button", name="Remember").click()
                for one in PICTURES:
                    page.set_viewport_size({"width": one.width, "height": one.height})
                    page.emulate_media(color_scheme="dark" if one.is_dark else "light", reduced_motion="reduce")
                    page.goto(f"{base}today")
                    if one.path == "memory":
                        page.get_by_role("link", name="two hours").first.click()
                    file = out / one.name
                    page.screenshot(path=str(file))
                    Image.open(file).convert("RGB").quantize(COLOURS).save(file, optimize=True)
                    sys.stdout.write(f"{file}: {file.stat().st_size // 1024} KiB\n")
            process.terminate()


if __name__ == "__main__":
    if CHROMIUM is None:
        raise SystemExit("there is no Chromium here: apt-get install chromium")
    make(Path(sys.argv[1]) if len(sys.argv) > 1 else DOCS)
