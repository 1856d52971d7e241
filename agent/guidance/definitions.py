"""Agent definitions: what a folder must hold to be one, and the two types that act by it.

Rule 1: a `HelperDefinition` has no member for SOUL.md or MEMORY.md. A `TopDefinition` is made in one place, for the top
thread of that very agent, and where a person asks for these parts by their names.
Rule 2: a definition with anything wrong in it does not act. An unknown key has no effect, and a note says so.
Rule 3: pure.
"""

import hashlib
from collections.abc import Mapping
from typing import Annotated, Final, TypeAlias, get_args

import msgspec
from msgspec import Meta

from agent.guidance.ports import AgentFolder, problem
from agent.guidance.source_text import to_printable
from promt.patterns import compile_late
from protocol.base import Params
from protocol.conversation.threads import AgentRef
from protocol.conversation.values import Domain, MemoryMode
from protocol.guidance import Agent, AgentProblem, InvalidAgent

AGENTS_FILE, CONFIG_FILE, SOUL_FILE, MEMORY_FILE = "AGENTS.md", "config.yaml", "SOUL.md", "MEMORY.md"
FILES = (CONFIG_FILE, AGENTS_FILE, SOUL_FILE, MEMORY_FILE)
SLUG: Final = compile_late(r"[a-z0-9_-]{1,64}\Z")

STRICTNESS: tuple[MemoryMode, ...] = ("normal", "read_only", "ignored")
"""Modes from the laxest to the strictest."""
DOMAINS: tuple[str, ...] = get_args(Domain)


class AgentConfig(Params):
    """config.yaml. Every value in the file is a text, a list or a table of texts."""

    name: Annotated[str, Meta(min_length=1, max_length=80)]
    description: Annotated[str, Meta(min_length=1, max_length=500)]
    model_role: Annotated[str, Meta(min_length=1, max_length=80)] | None = None
    memory_mode: MemoryMode = "normal"
    tools: Annotated[list[str], Meta(max_length=32)] | None = None
    instructions: bool = True


class HelperDefinition(msgspec.Struct, frozen=True, kw_only=True):
    """A definition as helpers, lists and tools may know it."""

    about: Agent
    text: str
    """AGENTS.md."""
    text_sha256: str

    @property
    def ref(self) -> AgentRef:
        """Return the definition's name, layer and digest."""
        return AgentRef(slug=self.about.slug, layer=self.about.layer, sha256=self.about.sha256)

    @property
    def tools(self) -> frozenset[str]:
        """Return the domains whose tools it sees."""
        return frozenset(self.about.tools)


class TopDefinition(HelperDefinition, frozen=True, kw_only=True):
    """A definition as the top thread of its own agent acts by it; a file that is not there is None."""

    soul: str | None
    soul_sha256: str | None
    memory: str | None
    memory_sha256: str | None


Judged: TypeAlias = HelperDefinition | InvalidAgent


def stricter(one: MemoryMode, other: MemoryMode) -> MemoryMode:
    """Return the mode that lets less through."""
    return STRICTNESS[max(STRICTNESS.index(one), STRICTNESS.index(other))]


def judge(folder: AgentFolder) -> Judged:
    """Return the definition that a folder gives to helpers and lists, or why it gives none. Needs AGENTS.md's text."""
    problems, notes, config = list(folder.problems), list[AgentProblem](), None
    if not SLUG.match(folder.slug):
        problems.insert(0, problem("bad_slug"))
    if not problems:
        config, problems, notes = _read_config(folder.config or {}, folder.lines)
    agents = folder.files.get(AGENTS_FILE)
    if not problems and (agents is None or not (agents.text or "").strip()):
        problems.append(problem("missing" if agents is None else "empty", AGENTS_FILE))
    if problems or config is None or agents is None:
        return InvalidAgent(slug=to_printable(folder.slug)[:128], layer=folder.layer, problems=problems)
    about = Agent(
        slug=folder.slug,
        layer=folder.layer,
        name=config.name.strip(),
        description=config.description.strip(),
        model_role=config.model_role,
        memory_mode=config.memory_mode,
        instructions=config.instructions,
        tools=[name for name in DOMAINS if config.tools is None or name in config.tools],
        sha256=_digest(folder),
        problems=notes,
    )
    return HelperDefinition(about=about, text=agents.text or "", text_sha256=agents.sha256)


def judge_whole(folder: AgentFolder) -> TopDefinition | InvalidAgent:
    """Return the definition that a folder gives the top thread of its agent. Needs the texts of all files."""
    judged = judge(folder)
    if isinstance(judged, InvalidAgent):
        return judged
    soul, memory = folder.files.get(SOUL_FILE), folder.files.get(MEMORY_FILE)
    return TopDefinition(
        about=judged.about,
        text=judged.text,
        text_sha256=judged.text_sha256,
        soul=soul.text if soul else None,
        soul_sha256=soul.sha256 if soul else None,
        memory=memory.text if memory else None,
        memory_sha256=memory.sha256 if memory else None,
    )


def _digest(folder: AgentFolder) -> str:
    """Return the digest of all files of a definition: another one once any of them says something else."""
    lines = [f"{name} {folder.files[name].sha256}\n" for name in FILES if name in folder.files]
    return hashlib.sha256("".join(lines).encode()).hexdigest()


def _read_config(
    values: Mapping[str, object], lines: Mapping[str, int]
) -> tuple[AgentConfig | None, list[AgentProblem], list[AgentProblem]]:
    """Return the configuration, what makes it invalid, and what of it has no effect."""
    known = {name: value for name, value in values.items() if name in AgentConfig.__struct_fields__ and value != ""}
    notes = [problem("ignored_key", name[:80]) for name in sorted(values.keys() - set(AgentConfig.__struct_fields__))]
    wrong: list[AgentProblem] = []
    for name in ("name", "description"):
        text = known.get(name)
        if not isinstance(text, str) or not text.strip():
            wrong.append(problem("empty" if name in values else "missing", name))
    for name, value in known.items():
        try:
            msgspec.convert({"name": "x", "description": "x"} | {name: value}, AgentConfig, strict=False)
        except msgspec.ValidationError as error:  # its message may hold the value
            cause = "too_long" if "length <=" in str(error) else "wrong_value"
            wrong.append(problem("config_invalid", name, lines.get(name), cause))
    if wrong:
        return None, wrong, notes
    config = msgspec.convert(known, AgentConfig, strict=False)
    notes += [problem("ignored_value", f"tools: {name[:64]}") for name in config.tools or () if name not in DOMAINS]
    return config, [], notes
