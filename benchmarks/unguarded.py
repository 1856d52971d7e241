"""`python -m benchmarks.unguarded serve ...`: a gateway that takes every word of a message for its user's, and a model at its word.

Rule 1: it exists to be compared with: what a turn costs more in the gateway as it is, is what judging words costs.
Rule 2: only judgements are left out (own words, wishes, quotes, junk); hooks, recall, rules and writes are the same.
"""

import sys

import memory.proposals.proposal_sources
import promt.intents
import promt.own_words
from gateway.cli import main
from memory.rules.quotes import Claim, SupportedClaim
from promt.intents import Intents
from promt.layout import Span
from protocol.seams.ports import Lexicon


def _all_of(text: str) -> tuple[Span, ...]:
    return ((0, len(text)),)


def _no_wish(_text: str) -> Intents:
    return Intents()


def _taken(claim: Claim, _text: str, _lexicon: Lexicon) -> SupportedClaim:
    return SupportedClaim(claim.content, claim.value, claim.quote, claim.quote)


def _whole(quote: str, _text: str) -> str:
    return quote


def forget_to_judge() -> None:
    """Put what judges nothing in the place of each judgement."""
    replaced = {
        promt.own_words: {"_spans": _all_of},
        promt.intents: {"_detect": _no_wish},
        memory.proposals.proposal_sources: {"find_support": _taken, "find_sentence": _whole},
    }
    for module, names in replaced.items():
        for name, value in names.items():
            if not hasattr(module, name):
                raise AttributeError(f"{module.__name__} has no {name} any more")
            setattr(module, name, value)


if __name__ == "__main__":
    forget_to_judge()
    sys.exit(main(sys.argv[1:]))
