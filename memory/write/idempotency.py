"""Runs a write once for an idempotency key, and sends its notifications.

Rule 1: a repeat of the same request gets the same answer with the record as it is now; another request under the key is
refused.
Rule 2: notifications go out after the commit, and only then.
"""

from collections.abc import Callable, Sequence
from typing import Any

from memory.ports import Collaborators
from memory.rows.answers import KeptAnswer, find_answer, keep_answer
from memory.rows.notices import Notice
from memory.rows.record_columns import to_column
from memory.write.answers import answer_of, replay_answer
from memory.write.writing import Outcome
from protocol.base import DAY_MS
from protocol.errors import Refused
from protocol.seams.ports import Tx

KEEP_ANSWERS_MS = 30 * DAY_MS
"""An answer is kept, and its key means the same request, for so long."""


def notify_after_commit(tx: Tx, means: Collaborators, notices: Sequence[Notice]) -> None:
    """Send notices after the commit of a transaction, even if its caller is gone; none while memory is switched off."""

    def send() -> None:
        for notice in notices if means.settings().enabled else ():
            means.notify(notice.method, notice.params)

    tx.after_commit(send)


async def write_once(
    means: Collaborators, key: str | None, request: list[Any], workspace_id: str | None, work: Callable[[Tx], Outcome]
) -> Outcome:
    """Run a write in a transaction of its own, and send its notices; return the outcome.

    A repeat of the request under the same `key` returns the outcome of the first one. Raises
    `Refused("idempotency_mismatch")` for another request under it.
    """

    def work_and_notify(tx: Tx) -> Outcome:
        outcome = work(tx)
        notify_after_commit(tx, means, outcome.notices)
        return outcome

    if key is None:
        return await means.db.write(work_and_notify)
    named = means.keyed.digest("idempotency", f"{workspace_id or '-'}|{key}").hex()
    digest = means.keyed.digest("request", to_column(request))
    after = means.clock.now() - KEEP_ANSWERS_MS

    def write(tx: Tx) -> Outcome:
        known = find_answer(tx, named, after)
        if known is not None:
            if known.request != digest:
                raise Refused("idempotency_mismatch")
            return replay_answer(tx, known.answer, means.clock.now(), means.settings().aging)
        outcome = work_and_notify(tx)
        keep_answer(tx, named, KeptAnswer(digest, to_column(answer_of(outcome))), means.clock.now())
        return outcome

    return await means.db.write(write)
