"""Plans the memory part of a turn: the categories that a message asks for, and the memory tools that it may need.

Rule 1: pure, and empty unless the user's own words ask for memory: deterministic recall has searched already.
Rule 2: a plan names targets and tools; the policy hook decides whether it may be carried out.
"""

from memory.rules.categories import ABOUT_THE_USER
from promt.intents import detect
from protocol.hooks import DurablePlan, TurnContext


def propose_durable(text: str, context: TurnContext) -> tuple[DurablePlan, list[str]]:
    """Return the searches of durable memory for a turn, and the memory tools that should be visible."""
    if context.mode == "chat" or context.memory_mode == "ignored":
        return DurablePlan(), []
    said = detect(text)
    wanted = (
        (said.asks_memory, ("memory_search", "memory_list")),
        (said.remember, ("memory_remember",)),
        (said.forget or said.points_back, ("memory_search", "memory_forget")),
    )
    tools = dict.fromkeys(name for is_wanted, names in wanted if is_wanted for name in names)
    if not said.asks_memory or said.no_recall:
        return DurablePlan(), list(tools)
    return DurablePlan(status="recall", modes=["category"], targets=list(ABOUT_THE_USER)), list(tools)
