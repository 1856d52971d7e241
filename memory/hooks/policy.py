"""Permissions of a turn over memory: one table, one function.

Rule 1: every reason to deny a permission is a row of `DENIALS`; the first row that denies one names its reason.
Rule 2: a pure function of the turn and its words: the user's own words of this message count, quoted words do not.
"""

from collections.abc import Callable

import anyio.to_thread
import msgspec
from msgspec import Struct

from promt.intents import Intents, detect
from protocol.conversation.manifests import Permission, TurnPolicy
from protocol.hooks import HookInput, HookOutput, PolicyContribution, TurnContext

DEFAULT = "default"
USER_ASKED = "user_asked"
POLICY_FAILED = "policy_failed"
"""The reason of a permission where the policy hook failed."""

RECALL, READ_TOOLS, REMEMBER, FORGET, EXTRACTION = "recall", "read_tools", "remember", "forget", "extraction"
PERMISSIONS: tuple[str, ...] = (RECALL, READ_TOOLS, REMEMBER, FORGET, EXTRACTION)


class Denial(Struct, frozen=True):
    """A condition, the permissions that it denies, and the code of its reason."""

    reason_code: str
    denies: tuple[str, ...]
    applies: Callable[[TurnContext, Intents], bool]


DENIALS: tuple[Denial, ...] = (
    Denial("chat_mode", (READ_TOOLS, REMEMBER, FORGET, EXTRACTION), lambda turn, _: turn.mode == "chat"),
    Denial("memory_mode", PERMISSIONS, lambda turn, _: turn.memory_mode == "ignored"),
    Denial("memory_mode", (REMEMBER, FORGET, EXTRACTION), lambda turn, _: turn.memory_mode == "read_only"),
    Denial("skip_recall", (RECALL,), lambda turn, _: turn.options.skip_recall),
    Denial("no_recall_requested", (RECALL,), lambda _, said: said.no_recall),
    Denial("skip_retention", (REMEMBER, EXTRACTION), lambda turn, _: turn.options.skip_retention),
    Denial("no_memory_requested", (REMEMBER, EXTRACTION), lambda _, said: said.no_save),
    Denial("subagent", (REMEMBER, FORGET, EXTRACTION), lambda turn, _: turn.parent_thread_id is not None),
    Denial("task_owned", (REMEMBER, FORGET, EXTRACTION), lambda turn, _: turn.origin == "task"),
    Denial("system_or_tool_only", (REMEMBER, FORGET, EXTRACTION), lambda turn, _: turn.origin == "system"),
    Denial("unknown_client", (EXTRACTION,), lambda turn, _: turn.options.unknown_client),
    Denial("storage_full", (REMEMBER, FORGET, EXTRACTION), lambda turn, _: turn.not_stored == "storage_full"),
    Denial("storage_read_only", (REMEMBER, FORGET, EXTRACTION), lambda turn, _: turn.not_stored == "storage_read_only"),
)
"""The denials in the order in which the contract lists the reasons for a skipped extraction."""


def turn_policy(turn: TurnContext, intents: Intents) -> TurnPolicy:
    """Return the turn's permissions, with a reason code for each."""
    denials = [denial for denial in DENIALS if denial.applies(turn, intents)]
    asked = {REMEMBER: intents.remember, FORGET: intents.forget}

    def permission(name: str) -> Permission:
        for denial in denials:
            if name in denial.denies:
                return Permission(allowed=False, reason_code=denial.reason_code)
        return Permission(allowed=True, reason_code=USER_ASKED if asked.get(name) else DEFAULT)

    return TurnPolicy(**{name: permission(name) for name in PERMISSIONS})


def wishes_only(turn: TurnContext, text: str) -> TurnPolicy:
    """Return the policy of a turn whose policy hook failed: denials hold, and only explicit wishes change memory."""
    found = turn_policy(turn, detect(text))
    unasked = [
        name
        for name in (REMEMBER, FORGET, EXTRACTION)
        if (held := getattr(found, name)).allowed and held.reason_code != USER_ASKED
    ]
    denied = Permission(allowed=False, reason_code=POLICY_FAILED)
    return msgspec.structs.replace(found, **dict.fromkeys(unasked, denied))


def policy_of(given: HookInput) -> TurnPolicy:
    """Return the turn's policy: that of its policy hook, that which the hook would have given, or `wishes_only`."""
    if given.policy is None:
        return turn_policy(given.context, detect(given.text))
    has_failed = given.policy.remember.reason_code == POLICY_FAILED
    return wishes_only(given.context, given.text) if has_failed else given.policy


async def decide(given: HookInput) -> HookOutput:
    """Run the hook `memory.policy`."""
    intents = await anyio.to_thread.run_sync(detect, given.text)  # the first message of a process compiles patterns
    return HookOutput(contributions=[PolicyContribution(policy=turn_policy(given.context, intents))])
