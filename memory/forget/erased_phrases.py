"""Finds phrases in new texts that were erased while their turn was under way, though no phrase is kept.

Rule 1: an erase marks each phrase and its length by a keyed hash, in the home's generation.
Rule 2: a text is searched only if something was erased since its turn began: it costs a hash for each place and length.
"""

from collections.abc import Sequence

from memory.ports import Collaborators
from memory.proposals.forgotten_sources import Mark, hash_of_mark, note_forgotten
from memory.rows.forgetting import marks_since
from protocol.saying import Saying, fold_text, stands_alone
from protocol.seams.ports import Tx

MOST_CHARS = 4000
"""Longer phrases are not found: no memory says so much in one sentence."""


def note_phrases(tx: Tx, means: Collaborators, saying: Saying) -> None:
    """Mark the phrases that an erase takes out of every place, so that `find_erased` finds them."""
    lengths = sorted({len(phrase) for phrase in saying.phrases})
    phrases = [Mark("phrase", phrase) for phrase in sorted(saying.phrases)]
    note_forgotten(tx, means, [*phrases, *(Mark("phrase_length", str(length)) for length in lengths)])


def find_erased(tx: Tx, means: Collaborators, texts: Sequence[str], since: int) -> Saying:
    """Return the phrases of some texts that were erased after a generation."""
    marks = marks_since(tx, since)
    if not marks:
        return Saying(())
    flats = [fold_text(text) for text in texts]
    most = min(max(map(len, flats), default=0), MOST_CHARS)
    lengths = [n for n in range(1, most + 1) if hash_of_mark(means, Mark("phrase_length", str(n))) in marks]
    asked = {
        flat[start : start + length]
        for flat in flats
        for length in lengths
        for start in range(len(flat) - length + 1)
        if stands_alone(flat, start, start + length)
    }
    return Saying(phrase for phrase in asked if hash_of_mark(means, Mark("phrase", phrase)) in marks)
