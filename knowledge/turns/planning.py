"""The files part of the local plan: the searches for a message that asks about the user's files; pure.

Rule 1: there are none unless the message names a file, a page by its link, or notes, documents or code as such: recall
has searched by the message's words already.
Rule 2: names in the message narrow the first searches; where there is room, the last one is not narrowed, as a name
may be none.
"""

from collections.abc import Sequence

from knowledge.kinds import kind_of
from promt.intents import says
from promt.patterns import compile_late
from protocol.hooks import FileQuery, FilesPlan, TurnContext

MAX_QUERY_CHARS = 512
MAX_QUERIES = 3
"""The most searches of a turn, each of which reads its hits from the disk."""
TOOLS: Sequence[str] = ("knowledge_search", "knowledge_read")

_WIKILINK = compile_late(r"\[\[([^\[\]|#\n]{1,200})(?:[|#][^\[\]\n]{0,200})?\]\]")
_NAME = compile_late(r"[\w@~+-][\w@~+./-]{0,200}\.[A-Za-z0-9]{1,8}(?![\w/])")


def find_names(text: str) -> list[str]:
    """Return the names of linked pages, then of files, that a message uses."""
    linked = [found[1].strip() for found in _WIKILINK.finditer(text)]
    named = [found[0] for found in _NAME.finditer(text) if kind_of(found[0].rpartition("/")[2]) is not None]
    return list(dict.fromkeys(name for name in (*linked, *named) if name))


def propose_files(text: str, context: TurnContext) -> tuple[FilesPlan, list[str]]:
    """Return the searches of files for a turn, and the tools that the message may need."""
    if context.memory_mode == "ignored":
        return FilesPlan(), []
    names = find_names(text)
    if not names and not says(text, "files"):
        return FilesPlan(), []
    words = text.strip()[:MAX_QUERY_CHARS]
    queries = [*(FileQuery(query=words, entity=name) for name in names), FileQuery(query=words)][:MAX_QUERIES]
    tools = list(TOOLS) if context.mode != "chat" else []
    return FilesPlan(status="recall", queries=queries), tools
