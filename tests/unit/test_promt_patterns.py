import re
import sys
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

from promt.patterns import LatePattern, compile_late

ROOT = Path(__file__).parents[2]
HOUSES = ("gateway", "memory", "promt", "retrieval", "thread_episodic")


def late_patterns() -> dict[str, LatePattern]:
    """Every late pattern of the modules that make one, by its place."""
    found: dict[str, LatePattern] = {}
    for house in HOUSES:
        for path in sorted((ROOT / house).rglob("*.py")):
            if "compile_late(" in path.read_text(encoding="utf-8") and path.name != "patterns.py":
                name = ".".join(path.relative_to(ROOT).with_suffix("").parts)
                values = vars(import_module(name))
                entries = [
                    (key, one)
                    for key, value in values.items()
                    for one in (value if isinstance(value, tuple) else (value,))
                ]
                found |= {
                    f"{name}.{key}.{n}": one for n, (key, one) in enumerate(entries) if isinstance(one, LatePattern)
                }
    return found


def test_every_late_pattern_compiles():
    patterns = late_patterns()
    assert len(patterns) > 100
    for place, pattern in patterns.items():
        assert pattern.flags == re.compile(pattern.pattern, pattern.flags & ~re.UNICODE).flags, place


def test_a_late_pattern_is_compiled_once_and_answers_as_its_pattern_does(monkeypatch: pytest.MonkeyPatch):
    made: list[str] = []
    compiled = re.compile

    def counted(pattern: str, flags: int = 0) -> re.Pattern[str]:
        made.append(pattern)
        return compiled(pattern, flags)

    monkeypatch.setattr(sys.modules["promt.patterns"].re, "compile", counted)
    late = compile_late(r"b(\w)", re.IGNORECASE)
    assert late.pattern == r"b(\w)"
    assert made == []
    assert late.findall("Bad bud") == ["a", "u"]
    assert late.sub("-", "Bad bud") == "-d -d"
    assert (late.groups, late.flags & re.IGNORECASE) == (1, re.IGNORECASE)
    assert late.match("abc") is None
    assert made == [r"b(\w)"]


def test_a_late_pattern_has_nothing_that_a_pattern_lacks():
    late: Any = compile_late("a")
    with pytest.raises(AttributeError):
        assert late.no_such_thing
