"""The static model: the tokens that its own tokenizer would give, the mean of their vectors, and nothing heavy to get
there."""

import json
import math
import struct
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tokenizers import Tokenizer

from gateway.embedding import model_files
from gateway.embedding.engine import EmbedderError
from gateway.embedding.model_files import StaticFiles, find_static
from gateway.embedding.static_model import StaticModel, open_static, tokens_of

ROOT = Path(__file__).resolve().parents[2]
TEXTS = (
    "My plumber is Otto Brandt; call 0431-5587 when the boiler leaks!",
    "Größe 44, Füße, Straße: »Schön« – äöü",
    "Мою дочь зовут Аня, ей 7 лет.",
    "私は毎朝六時に起きます。",
    "ฉันแพ้ถั่วลิสง",
    "def f(x):\n\treturn x ** 2  # a comment\r\n",
    "🎉 party 👩‍👩‍👧 at 10:30",
    "antidisestablishmentarianism aaaaaaaaaaaaaaaaaaaa zzzzqqqq",
    "مرحبا بالعالم",
    " leading and trailing ",
    "a",
)


@pytest.fixture(scope="module")
def files() -> StaticFiles:
    found = find_static()
    assert found is not None
    return found


@pytest.fixture(scope="module")
def model(files: StaticFiles) -> StaticModel:
    return open_static(files)


def numbers(vector: bytes) -> tuple[float, ...]:
    return struct.unpack(f"<{len(vector) // 2}e", vector)


def cosine(model: StaticModel, one: str, other: str) -> float:
    first, second = (numbers(vector) for vector in model.vectors([one, other], is_query=False))
    return sum(a * b for a, b in zip(first, second, strict=True))


@pytest.mark.loop("check")
def test_the_tokens_are_those_of_the_models_own_tokenizer(files: StaticFiles) -> None:
    own = Tokenizer.from_file(str(files.tokens))
    vocabulary = own.get_vocab()
    documents = [path.read_text(encoding="utf-8") for path in sorted((ROOT / "docs").glob("*.md"))]
    for text in [*TEXTS, *(line for document in documents for line in document.splitlines() if line.strip())]:
        expected = own.encode(" ".join(text.lower().split()), add_special_tokens=False).ids
        assert tokens_of(text, vocabulary) == expected, text


class CountedVocabulary(dict[str, int]):
    """A vocabulary that counts what is looked up."""

    lookups = 0

    def get(self, word: str, default: Any = None) -> Any:
        self.lookups += 1
        return super().get(word, default)


@pytest.mark.parametrize("word", ["[" * 20_000, "私は毎朝六時に起きます" * 500, "aGVsbG8gd29ybGQ" * 1000])
def test_a_word_without_end_is_cut_as_the_models_own_tokenizer_does_in_few_steps(files: StaticFiles, word: str) -> None:
    own = Tokenizer.from_file(str(files.tokens))
    vocabulary = CountedVocabulary(own.get_vocab())
    assert tokens_of(word, vocabulary) == own.encode(word.lower(), add_special_tokens=False).ids
    assert vocabulary.lookups < 6 * len(word)


def test_a_vector_is_the_mean_of_its_tokens_in_unit_length(files: StaticFiles, model: StaticModel) -> None:
    raw = files.vectors.read_bytes()
    begin = 8 + int.from_bytes(raw[:8], "little")
    rows = np.frombuffer(raw, "<f2", offset=begin).reshape(-1, model.identity.dim).astype(np.float64)
    own = Tokenizer.from_file(str(files.tokens))
    for text in TEXTS:
        mean = rows[tokens_of(text, own.get_vocab())].mean(axis=0)
        [vector] = model.vectors([text], is_query=True)
        assert math.isclose(math.hypot(*numbers(vector)), 1.0, abs_tol=2e-3)
        assert np.allclose(numbers(vector), mean / np.linalg.norm(mean), atol=2e-3)


def test_what_means_the_same_is_nearer_than_what_does_not(model: StaticModel) -> None:
    fact = "The user drives an old car."
    assert cosine(model, fact, "an old automobile") > 0.5
    assert cosine(model, fact, "how to cook rice") < 0.2


def test_company_case_and_blanks_change_nothing(model: StaticModel) -> None:
    alone = [model.vectors([text], is_query=True)[0] for text in TEXTS]
    assert model.vectors(TEXTS, is_query=False) == alone
    assert model.vectors([f"  {text.upper()}\n" for text in ("one two", "three")], is_query=False) == model.vectors(
        ["one  two", "THREE"], is_query=True
    )


def test_the_identity_tells_one_model_from_another(files: StaticFiles, model: StaticModel, tmp_path: Path) -> None:
    other = tmp_path / "other"
    for path in files:
        (other / path.parent.name).mkdir(parents=True)
        (other / path.parent.name / path.name).write_bytes(path.read_bytes())
    same = StaticFiles(other / "weights" / files.vectors.name, other / "tokenizers" / files.tokens.name)
    same.tokens.write_bytes(same.tokens.read_bytes().replace(b"\n", b"\r\n") + b"\r\n")
    assert open_static(same).identity == model.identity
    changed = bytearray(same.vectors.read_bytes())
    changed[-1] ^= 1
    same.vectors.write_bytes(changed)
    assert open_static(same).identity.digest != model.identity.digest


@pytest.mark.parametrize("damage", ["cut", "empty", "no header", "other numbers", "no vocabulary", "short"])
def test_a_damaged_package_is_a_broken_model(files: StaticFiles, tmp_path: Path, damage: str) -> None:
    vectors, tokens = tmp_path / "v", tmp_path / "t"
    raw = files.vectors.read_bytes()
    header = json.dumps({"embedding.weight": {"dtype": "F16", "shape": [3, 2], "data_offsets": [0, 12]}}).encode()
    kinds = {
        "cut": raw[:100_000],
        "empty": b"",
        "no header": b"x" * 1000,
        "other numbers": len(header).to_bytes(8, "little") + header.replace(b"F16", b"F32") + bytes(24),
        "no vocabulary": raw,
        "short": len(header).to_bytes(8, "little") + header + bytes(12),
    }
    vectors.write_bytes(kinds[damage])
    tokens.write_bytes(b"{}" if damage == "no vocabulary" else files.tokens.read_bytes())
    with pytest.raises(EmbedderError) as failed:
        open_static(StaticFiles(vectors, tokens))
    assert failed.value.reason == "model_broken"


def test_without_the_package_there_is_none(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(model_files, "STATIC_PACKAGE", "pioneer_no_such_package")
    assert find_static() is None
    (tmp_path / "pioneer_empty_package").mkdir()
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(model_files, "STATIC_PACKAGE", "pioneer_empty_package")
    assert find_static() is None


def test_nothing_heavy_is_imported_for_it() -> None:
    code = (
        "import sys; from gateway.embedding.model_files import find_static; from gateway.embedding.static_model import open_static;"
        "assert 'numpy' not in sys.modules; open_static(find_static()).vectors(['a text'], is_query=True);"
        "heavy = ('fastembed', 'onnxruntime', 'tokenizers', 'safetensors', 'wordllama', 'huggingface_hub', 'requests');"
        "print([name for name in heavy if name in sys.modules])"
    )
    told = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert told.stdout.strip() == "[]"
