"""How well a fact in other words is recognised, on pairs written by somebody who had not seen the rules.

`pairs_dev.jsonl` was read while the tables were written, `pairs_everyday.jsonl` was written beside them by the same hand, batch by batch
before the rules for it; of `pairs_dev2.jsonl`, another author's, half was read; `pairs_test.jsonl` was never read: only its totals count.
`pairs_near.jsonl` has other facts only, in almost the same words: opposites, other prepositions, other subjects, changed roles. No pair
of any that is another fact may be taken for the same. `-s` prints the figures.
"""

import json
import os
from collections import Counter
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from memory.likeness import is_same_fact

ROOT = Path(__file__).parents[2]
CORPORA = ROOT / "tests" / "corpora" / "identity"
MODEL = Path(os.environ.get("PIONEER_TEST_MODEL", ROOT.parent / "shared" / "models" / "all-MiniLM-L6-v2"))
MODEL_NAME = "test/identity-corpus"
CORPORA_READ = ("dev", "dev2", "everyday", "test")
FOUND_AT_LEAST = {
    ("dev", True): {"en": 0.82},
    ("dev2", True): {"en": 0.19},
    ("dev2", False): {"en": 0.16},
    ("dev", False): {"en": 0.7, "fr": 0.85, "es": 0.75, "de": 0.7, "ru": 0.5},
    ("everyday", True): {"en": 0.71},
    ("everyday", False): {"en": 0.64, "de": 0.55, "es": 0.75, "fr": 0.75, "ru": 0.65},
    ("test", True): {"en": 0.3},
    ("test", False): {"en": 0.28, "ru": 0.38, "de": 0.2, "es": 0.1, "fr": 0.05},
}
"""What was reached, rounded down: a fall below it is a loss. The aim, 0.7 of the English test pairs with a model, is not reached:
a wrong merge loses what was said, and vectors cannot tell `teaches` from `learns`, so that only listed words are trusted, and the test
pairs reword more freely than any list foresees. Nor do the vectors of single words in their sentences tell them apart: of the pairs that
differ by words, those of another fact lie as near as the paraphrases."""


def pairs(corpus: str) -> list[dict[str, str]]:
    text = (CORPORA / f"pairs_{corpus}.jsonl").read_text("utf-8")
    return [json.loads(line) for line in text.splitlines() if line.strip()]


@cache
def cosines(corpus: str) -> dict[str, float]:
    """Of the two statements of each pair for which it matters, from the real model."""
    fastembed = pytest.importorskip("fastembed")
    model_description = pytest.importorskip("fastembed.common.model_description")
    known = {entry["model"] for entry in fastembed.TextEmbedding.list_supported_models()}
    if MODEL_NAME not in known:
        fastembed.TextEmbedding.add_custom_model(
            model=MODEL_NAME, pooling=model_description.PoolingType.MEAN, normalization=True,
            sources=model_description.ModelSource(hf=MODEL_NAME), dim=384, model_file="onnx/model.onnx",
        )  # fmt: skip
    model: Any = fastembed.TextEmbedding(
        model_name=MODEL_NAME, specific_model_path=str(MODEL), threads=1, providers=["CPUExecutionProvider"]
    )
    asked = [pair for pair in pairs(corpus) if _is_by_vector(pair)]
    texts = sorted({pair[side] for pair in asked for side in ("a", "b")}, key=len)
    vectors = dict(zip(texts, model.embed(texts, batch_size=32), strict=True))
    return {pair["id"]: float(vectors[pair["a"]] @ vectors[pair["b"]]) for pair in asked}


def _is_by_vector(pair: dict[str, str]) -> bool:
    """Whether the rules leave it to the vectors: those of the others need not be made."""
    return is_same_fact(pair["a"], pair["b"], 1.0) != is_same_fact(pair["a"], pair["b"])


def measure(corpus: str, cosine_of: Callable[[str], float | None]) -> tuple[Counter[str], Counter[str], Counter[str]]:
    """Per language: paraphrases, those that were found, and other facts that were taken for the same."""
    given, found, false = Counter[str](), Counter[str](), Counter[str]()
    for pair in pairs(corpus):
        is_same = is_same_fact(pair["a"], pair["b"], cosine_of(pair["id"])).is_same
        if pair["label"] == "paraphrase":
            given[pair["language"]] += 1
            found[pair["language"]] += is_same
        else:
            false[f"{pair['language']} {pair['label']}"] += is_same
    return given, found, false


def check(corpus: str, cosine_of: Callable[[str], float | None], *, has_model: bool) -> None:
    given, found, false = measure(corpus, cosine_of)
    shares = {language: found[language] / given[language] for language in sorted(given)}
    figures = ", ".join(f"{language} {share:.2f}" for language, share in shares.items())
    print(f"\n{corpus}, {'with' if has_model else 'without'} a model: found {figures}; false merges {false.total()}")  # noqa: T201  # the figures are asked for
    assert false.total() == 0
    for language, least in FOUND_AT_LEAST[corpus, has_model].items():
        assert shares[language] >= least


@pytest.mark.parametrize("corpus", CORPORA_READ)
def test_by_rules_alone(corpus: str) -> None:
    check(corpus, lambda _: None, has_model=False)


@pytest.mark.parametrize("corpus", CORPORA_READ)
@pytest.mark.skipif(not (MODEL / "onnx" / "model.onnx").exists(), reason="no embedding model on this machine")
def test_with_a_model(corpus: str) -> None:
    cosine = cosines(corpus)
    check(corpus, cosine.get, has_model=True)


@pytest.mark.parametrize("corpus", [*CORPORA_READ, "near"])
def test_no_vector_makes_two_facts_one(corpus: str) -> None:
    _, _, false = measure(corpus, lambda _: 1.0)
    assert false.total() == 0
