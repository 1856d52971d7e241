"""The recognition of questions, in any script; pure."""

from promt.patterns import compile_late

ASKS = compile_late(r"[?\uff1f\u061f\u037e\u055e\u1367\u2047\u2048\u2049\u203d](?:[^\w\[\]]|\[[^\[\]]{0,300}\])*\Z")
"""The end of a text that asks: a question mark of any script, then at most signs and an aside in brackets."""
TELLS = compile_late(r"[.!…](?=\s+\S)|[。\uff01]|\n")
"""The end of a sentence that does not ask, with more after it."""
TAIL = 320  # characters that the end of a question is looked for in


def is_question(text: str) -> bool:
    """Return whether a text ends with a question."""
    return ASKS.search(text[-TAIL:]) is not None


def only_asks(text: str) -> bool:
    """Return whether a text is questions and nothing else."""
    return is_question(text) and TELLS.search(text.strip()) is None
