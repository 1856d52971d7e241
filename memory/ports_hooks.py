"""The port of the memory hooks: all that they need of the memory service, and nothing more.

Rule 1: the service satisfies this by shape; the tests have a second implementation.
Rule 2: every call carries the turn, so that scopes, tombstones and policy are judged where the data is.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from promt.brief import Brief
from protocol.base import Scope
from protocol.hooks import TurnContext
from protocol.memory.facts import Fact
from protocol.memory.forgetting import ForgetParams, ForgetResult
from protocol.memory.reads import GetParams, GetResult, Hit, ListParams, ListResult, SearchParams, SearchResult
from protocol.memory.writes import RememberParams, WriteResult
from protocol.seams.ports import Lexicon

EXTRACTOR_HOOK = "memory.post_turn_extractor"
"""The hook that learns from a turn; a forgetting cancels its open runs."""
ALREADY_SHOWN = "already_shown"
"""The reason of a recall that gives nothing because all that it found is in the prompt already."""


class RecallOutcome(Protocol):
    """The records that a recall gives, and the reason why it gives no more."""

    @property
    def hits(self) -> Sequence[Hit]:
        """The records, best first."""
        ...

    @property
    def reason(self) -> str:
        """Return the reason why there are no more; `Recall` names all of them."""
        ...

    @property
    def is_partial(self) -> bool:
        """Return whether a scope is missing because it failed or came too late."""
        ...


class MemoryForTurns(Protocol):
    """Durable memory as one turn may use it."""

    @property
    def lexicon(self) -> Lexicon:
        """Return the lexicon that cuts texts into terms."""
        ...

    def turn_scopes(self, turn: TurnContext) -> list[Scope]:
        """Return the scopes that are active in the turn."""
        ...

    async def recall(
        self, turn: TurnContext, text: str, *, limit: int, exclude: Sequence[str] = (), before: Sequence[str] = ()
    ) -> RecallOutcome:
        """Return the records of the active scopes that bear on a text and are not in `exclude`, `limit` at most.

        A very short text is searched together with the user's words `before` it.
        """
        ...

    async def standing(self, turn: TurnContext) -> Brief:
        """Return the block that stands in every prompt of the active scopes."""
        ...

    async def search_in_turn(self, turn: TurnContext, params: SearchParams) -> SearchResult:
        """Answer `memory/search` within the turn's scopes."""
        ...

    async def list_in_turn(self, turn: TurnContext, params: ListParams) -> ListResult:
        """Answer `memory/list` within the turn's scopes."""
        ...

    async def get_in_turn(self, turn: TurnContext, params: GetParams) -> GetResult:
        """Answer `memory/get` within the turn's scopes."""
        ...

    async def forget_in_turn(self, turn: TurnContext, params: ForgetParams) -> ForgetResult:
        """Answer `memory/forget` within the turn's scopes."""
        ...

    async def remember_in_turn(
        self,
        turn: TurnContext,
        params: RememberParams,
        *,
        explicit: bool,
        said: str | None = None,
        is_note: bool = False,
    ) -> WriteResult:
        """Answer `memory/remember` within the turn's scopes; a refusal is a result.

        `explicit`: the user asked for it in this turn, in the sentence `said`. `is_note`: the agent keeps it on its own
        account.
        """
        ...

    async def propose(
        self,
        turn: TurnContext,
        facts: Sequence[Fact],
        *,
        run_id: str,
        user_items: Mapping[str, str],
        is_by_rule: bool = False,
    ) -> list[WriteResult]:
        """Decide on each fact, all in one transaction, exactly once for a run; return the decisions in order.

        `is_by_rule`: rules found the facts, not a model.
        """
        ...

    async def find_earlier_counts(self, run_id: str) -> dict[str, Any] | None:
        """Return the counts that an earlier, committed attempt of the run has stored; None where there is none."""
        ...

    async def find_related(self, turn: TurnContext, text: str, limit: int) -> list[dict[str, Any]]:
        """Return active records and waiting candidates near the text, `limit` at most.

        Each is `{memory_id | candidate_id, category, key, content}`.
        """
        ...
