"""A real embedding model of a few hundred kilobytes: words that texts share, and words that mean the same, bring them
close."""

import json
import random
import string
from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper
from tokenizers import Regex, Tokenizer, models, normalizers, pre_tokenizers, processors

SYNONYMS = (
    ("car", "cars", "automobile", "automobiles", "vehicle", "vehicles"),
    ("dog", "dogs", "hound", "hounds", "puppy"),
    ("cat", "cats", "kitten", "feline"),
    ("tea", "oolong", "infusion"),
    ("coffee", "espresso", "cappuccino"),
    ("doctor", "physician", "medic"),
    ("buy", "bought", "purchase", "purchased", "acquired"),
    ("home", "house", "residence", "dwelling"),
    ("child", "children", "kid", "kids"),
    ("job", "occupation", "profession", "career"),
    ("trip", "journey", "voyage", "travel"),
    ("ill", "sick", "unwell"),
    ("fast", "quick", "rapid", "swift"),
    ("happy", "glad", "joyful"),
    ("begin", "start", "commence"),
    ("money", "cash", "funds"),
    ("bike", "bicycle", "cycle"),
    ("film", "movie", "cinema"),
    ("food", "meal", "dish"),
    ("boat", "ship", "vessel"),
)
"""Words of one row have one vector: what means the same without a common word."""

STOPWORDS = frozenset(
    "a an the is are was were be been am do does did has have had i you he she it we they me my your his her our their "
    "of to in on at for with and or not no that this what which who when where how from by as but so if than".split()
)
STOPWORD_WEIGHT = 0.05  # such a word says next to nothing, as in a trained model
PIECE_WEIGHT = 0.6
MAX_TOKENS = 256
SPECIAL = ("[PAD]", "[UNK]", "[CLS]", "[SEP]")
CONSONANTS = "bcdfghjklmnpqrstvwxz"
VOWELS = "aeiouy"
DIGITS = string.digits


def vocabulary() -> list[str]:
    """Special tokens, whole words of the rows above, and pieces that spell every other word of ASCII letters and
    digits."""
    letters = string.ascii_lowercase
    words = sorted({word for row in SYNONYMS for word in row} | STOPWORDS)
    starts = [*letters, *DIGITS, *(a + b for a in letters for b in letters)]
    starts += [a + b + c for a in CONSONANTS for b in VOWELS for c in letters]
    pieces = [*letters, *DIGITS, *(a + b for a in letters for b in letters)]
    pieces += [a + b + c for a in CONSONANTS for b in VOWELS for c in CONSONANTS]
    known = dict.fromkeys([*SPECIAL, *words, *starts, *string.punctuation, *(f"##{piece}" for piece in pieces)])
    return list(known)


def _weights(words: list[str], seed: int, dim: int) -> np.ndarray:
    chance = np.random.default_rng(seed)
    table = chance.standard_normal((len(words), dim)).astype(np.float32)
    table /= np.linalg.norm(table, axis=1, keepdims=True)
    place = {word: number for number, word in enumerate(words)}
    for row in SYNONYMS:
        for word in row[1:]:
            table[place[word]] = table[place[row[0]]]
    for word, number in place.items():
        if word in STOPWORDS or word in SPECIAL or word in string.punctuation:
            table[number] *= STOPWORD_WEIGHT
        elif word.startswith("##"):
            table[number] *= PIECE_WEIGHT
    return table


def _graph(table: np.ndarray) -> onnx.ModelProto:
    ids = helper.make_tensor_value_info("input_ids", TensorProto.INT64, ["batch", "length"])
    mask = helper.make_tensor_value_info("attention_mask", TensorProto.INT64, ["batch", "length"])
    states = helper.make_tensor_value_info("last_hidden_state", TensorProto.FLOAT, ["batch", "length", table.shape[1]])
    graph = helper.make_graph(
        [helper.make_node("Gather", ["words", "input_ids"], ["last_hidden_state"])],
        "tiny",
        [ids, mask],
        [states],
        [numpy_helper.from_array(table, "words")],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)])
    model.ir_version = 10
    onnx.checker.check_model(model)
    return model


def _tokenizer(words: list[str]) -> Tokenizer:
    place = {word: number for number, word in enumerate(words)}
    tokenizer = Tokenizer(models.WordPiece(place, unk_token="[UNK]", max_input_chars_per_word=100))  # noqa: S106
    tokenizer.normalizer = normalizers.BertNormalizer(lowercase=True)
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [pre_tokenizers.BertPreTokenizer(), pre_tokenizers.Split(Regex(r"\d"), "isolated")]
    )
    tokenizer.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", special_tokens=[("[CLS]", place["[CLS]"]), ("[SEP]", place["[SEP]"])]
    )
    tokenizer.add_special_tokens(list(SPECIAL))
    return tokenizer


def make_tiny_model(folder: Path, seed: int = 0, dim: int = 48) -> Path:
    """Write the model as fastembed reads one; another seed is another space. Returns the folder."""
    words = vocabulary()
    (folder / "onnx").mkdir(parents=True, exist_ok=True)
    (folder / "onnx" / "model.onnx").write_bytes(_graph(_weights(words, seed, dim)).SerializeToString())
    _tokenizer(words).save(str(folder / "tokenizer.json"))
    described = {
        "config.json": {"hidden_size": dim, "vocab_size": len(words), "pad_token_id": 0},
        "tokenizer_config.json": {"model_max_length": MAX_TOKENS, "pad_token": "[PAD]", "unk_token": "[UNK]"},
        "special_tokens_map.json": {
            "pad_token": "[PAD]",
            "unk_token": "[UNK]",
            "cls_token": "[CLS]",
            "sep_token": "[SEP]",
        },
    }
    for name, content in described.items():
        (folder / name).write_text(json.dumps(content), encoding="utf-8")
    return folder


def some_words(count: int, seed: int = 0) -> str:
    """That many pronounceable words, always the same for a seed."""
    chance = random.Random(seed)
    return " ".join(
        "".join(chance.choice(CONSONANTS) + chance.choice(VOWELS) for _ in range(chance.randint(2, 4)))
        for _ in range(count)
    )
