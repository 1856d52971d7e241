"""Forgetting to the last byte: the transaction, then the WAL, then the word that it is complete.

Rule 1: a receipt is `complete` only when no file of the home holds the bytes any more.
"""

from collections.abc import Callable

import msgspec

from memory.forgetting import Forgotten, finish_later
from memory.idempotency import tell_after
from memory.ports import Collaborators
from protocol.memory import ForgetResult
from protocol.notifications import MemoryErased
from protocol.ports import JobHandle, RetryJob, Tx


class Eraser:
    """Runs forgettings and finishes erases."""

    def __init__(self, means: Collaborators) -> None:
        self._means = means

    async def forget(self, work: Callable[[Tx], Forgotten]) -> ForgetResult:
        """Run a forgetting and tell it; after an erase the receipt says whether every byte is gone."""

        def told(tx: Tx) -> Forgotten:
            forgotten = work(tx)
            tell_after(tx, self._means, forgotten.notices)
            return forgotten

        forgotten = await self._means.db.write(told)
        result = forgotten.result
        if result.receipt is not None and not result.dry_run:
            receipt = result.receipt
            is_cut = await self._means.truncate_wal()
            if not is_cut:
                await self._means.db.write(lambda tx: finish_later(tx, self._means, receipt.memory_ids))
            receipt = msgspec.structs.replace(receipt, wal="truncated" if is_cut else "pending", complete=is_cut)
            result = msgspec.structs.replace(result, receipt=receipt)
        return result

    async def finish_erase(self, handle: JobHandle) -> None:
        """The handler of `erase_finish` jobs: empty the WAL of erased bytes, again and again until it succeeds."""
        if not await self._means.truncate_wal():
            raise RetryJob("wal_busy")
        self._means.notify("memory/erased", MemoryErased(memory_ids=handle.job.subject.split(",")))
