"""The programs that stand in the documentation, for the tests that run them."""

import re
from pathlib import Path
from typing import Any

import pytest

DOCS = Path(__file__).resolve().parents[2] / "docs"


def examples_of(readme: Path, language: str, holding: str = "") -> list[Any]:
    """Every example in a language, of a client's page and of docs/, that holds some words; named by its page."""
    fence = re.compile(rf"^```{language}\n(.*?)^```", re.MULTILINE | re.DOTALL)
    pages = [readme, *sorted(DOCS.glob("*.md"))]
    found = [(page.name, code) for page in pages for code in fence.findall(page.read_text(encoding="utf-8"))]
    wanted = [(name, code) for name, code in found if holding in code]
    return [pytest.param(code, id=f"{name}-{number}") for number, (name, code) in enumerate(wanted)]
