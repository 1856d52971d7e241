"""The structure of code: symbols by their grammars, and pieces that are functions, classes and methods."""

import re
import subprocess
import sys
from pathlib import Path

import pytest
from cases import each
from hypothesis import given
from hypothesis import strategies as st

from knowledge.index.code_cutting import CodeSymbol, cut_code

ROOT = Path(__file__).resolve().parents[2]

SAMPLES = {
    "c": ("static int *start(int a) { return 0; }\nstruct box { int a; };\nstruct box one;\n", "start box"),
    "cpp": ("namespace n { class A { void m() {} }; }\nint A::k() { return 1; }\n", "n A m A::k"),
    "csharp": ("namespace N { class A { void M() {} int P { get; } } }\n", "A M P"),
    "go": ("package p\n// F does\nfunc F() int { return 1 }\ntype T struct{}\nfunc (t T) M() {}\n", "F T M"),
    "java": ("class A { int m() { return 1; } A() {} }\n", "A m A"),
    "javascript": (
        "const f = (x) => { return 1 }\nconst n = 1\nclass A { m() {} }\nexport function g() {}\n",
        "f A m g",
    ),
    "python": (
        '@deco\ndef é(x):\n    return 1\n\nclass B:\n    """ü."""\n    async def m(self):\n        pass\n',
        "é B m",
    ),
    "ruby": ("module M\n class A\n  def m; end\n end\nend\n", "M A m"),
    "rust": ("fn f() {}\nstruct S;\nimpl S { fn m(&self) {} }\n", "f S S m"),
    "typescript": (
        "interface I { a: string }\nexport class A<T> { m(): void {} }\nconst X = () => <div/>;\n",
        "I A m X",
    ),
}


@each("language", list(SAMPLES))
def test_knowledge_code_symbols_of_a_language_are_named(language: str) -> None:
    pytest.importorskip("tree_sitter")
    from gateway.files.code_structure import find_symbols  # noqa: PLC0415

    text, names = SAMPLES[language]
    assert " ".join(text[one.name_start : one.name_end] for one in find_symbols(text, language)) == names


def test_knowledge_code_pieces_are_symbols_with_their_path_and_partition_the_file() -> None:
    pytest.importorskip("tree_sitter")
    from gateway.files.code_structure import find_symbols  # noqa: PLC0415

    for path in sorted((ROOT / "knowledge").rglob("*.py")):
        text = path.read_text(encoding="utf-8")
        pieces = cut_code(text, find_symbols(text, "python"))
        assert "".join(text[one.start : one.end] for one in pieces) == text
    text = (ROOT / "gateway/files/safe_open.py").read_text(encoding="utf-8")
    pieces = cut_code(text, find_symbols(text, "python"))
    trails = {tuple(text[one.start : one.end] for one in piece.trail) for piece in pieces}
    assert ("SafeFolder", "_link_target") in trails
    [found] = [one for one in pieces if "def _link_target" in text[one.start : one.end]]
    assert found.from_line <= text[: text.index("def _link_target")].count("\n") + 1 <= found.to_line
    assert max(one.end - one.start for one in pieces) <= 1600


def test_knowledge_code_is_read_without_grammars_in_the_process_itself() -> None:
    """Importing the gateway's wiring loads neither a grammar nor what watches folders."""
    code = "import sys, gateway.wiring; print(sorted(m for m in sys.modules if m.startswith(('tree_sitter', 'watchfiles', 'pypdf'))))"
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=ROOT)
    assert ran.stdout.strip() == "[]"


@given(st.data())
def test_knowledge_statement_13_pieces_of_code_joined_are_the_text(data: st.DataObject) -> None:
    text = data.draw(st.text(alphabet="ab #\n\r", max_size=400))
    symbols: list[CodeSymbol] = []
    bounds = [(0, len(text))]
    for _ in range(data.draw(st.integers(0, 6)) if text else 0):
        low, high = data.draw(st.sampled_from(bounds))
        start = data.draw(st.integers(low, max(low, high - 1)))
        end = data.draw(st.integers(min(start + 1, high), high))
        symbols.append(CodeSymbol(start, end, start, min(end, start + 1)))
        bounds.append((start, end))
    pieces = cut_code(text, sorted(symbols))
    assert "".join(text[one.start : one.end] for one in pieces) == text
    ends = [found.end() for found in re.finditer(r"\r\n|\n|\r", text)]
    assert all(one.start in {0, *ends} for one in pieces)
