"""The steering of a turn, on the wire: instruction files of a project, and agent definitions.

Rule 1: an answer that is not asked for a part by its name has no text of SOUL.md or MEMORY.md.
"""

from typing import Annotated, Literal, TypeAlias

from msgspec import Meta, field

from protocol.base import At, Cursor, Diagnostic, Id, Limit, Params, Wire
from protocol.conversation.values import AgentLayer, InstructionProfile, MemoryMode, Path
from protocol.memory.values import Context

InstructionMode: TypeAlias = Literal["on", "off"]
InstructionKind: TypeAlias = Literal["root", "nested", "include"]
BoundaryKind: TypeAlias = Literal["git", "workspace", "cwd"]
InstructionProblem: TypeAlias = Literal[
    "absolute",
    "binary",
    "cycle",
    "empty",
    "home",
    "in_code",
    "link",
    "missing",
    "not_utf8",
    "outside",
    "repeated",
    "secret_file",
    "too_deep",
    "too_large",
    "too_many",
    "unreadable",
]
"""The reason why a file was not loaded."""
AgentPart: TypeAlias = Literal["agents", "soul", "memory"]
AgentProblemCode: TypeAlias = Literal[
    "bad_slug",
    "config_invalid",
    "empty",
    "ignored_key",
    "ignored_value",
    "link",
    "missing",
    "not_regular",
    "not_text",
    "too_large",
    "unknown_role",
    "unreadable",
    "wrong_case",
]
AgentProblemCause: TypeAlias = Literal[
    "anchor",
    "double_key",
    "key_not_text",
    "no_table",
    "second_document",
    "syntax",
    "tag",
    "too_deep",
    "too_large",
    "too_long",
    "wrong_value",
]
"""The reason why a configuration, or a value in it, is invalid."""


# -- instruction files -----------------------------------------------------------------------------------------------


class InstructionsPreviewParams(Params):
    """`instructions/preview`: by a thread, or by a workspace; `cwd` as a turn would give it."""

    thread_id: Id | None = None
    workspace_id: Id | None = None
    cwd: Path | None = None
    profile: InstructionProfile | None = None


class InstructionFile(Wire):
    """A file that a turn would be given, or one that was named and not loaded, with its `problem`.

    `path` begins at the boundary; of a refused include it is the path as it was written. `chars` are those of the whole
    file, `used_lines` the number of its lines in the prompt.
    """

    path: str
    kind: InstructionKind
    sha256: str | None
    chars: int
    used_lines: int
    problem: InstructionProblem | None = None


class InstructionCut(Wire):
    """Lines of a file that did not fit."""

    path: str
    from_line: int
    to_line: int
    chars: int


class InstructionBudget(Wire):
    """The budget of instruction files and what is used of it, in characters."""

    limit: int
    used: int


class InstructionsPreviewResult(Wire):
    """The section of a prompt, and how it came about; outermost file first."""

    text: str
    files: list[InstructionFile]
    cut: list[InstructionCut]
    budget: InstructionBudget
    boundary: BoundaryKind
    diagnostics: list[Diagnostic] = []


class InstructionsSetParams(Params):
    """`instructions/set`."""

    workspace_id: Id
    mode: InstructionMode


class InstructionsSetResult(Wire):
    """The mode in force."""

    workspace_id: str
    mode: InstructionMode


class InstructionsVersionsParams(Params):
    """`instructions/versions`."""

    workspace_id: Id
    path: Path
    limit: Limit = 20
    cursor: Cursor | None = None


class InstructionVersion(Wire):
    """A text that a file had from a turn on; secrets in it are masked."""

    sha256: str
    at: At
    text: str


class InstructionsVersionsResult(Wire):
    """Newest first."""

    versions: list[InstructionVersion]
    next_cursor: str | None


class InstructionChange(Wire):
    """The change of a file since it was last used; the digest of a removed one is that of its last bytes."""

    path: str
    sha256: str
    change: Literal["added", "changed", "removed"]


# -- agents ----------------------------------------------------------------------------------------------------------


class AgentProblem(Wire):
    """Something wrong with a definition: a code, and the file or key that it is about.

    Of `config_invalid` also the cause, and the line in config.yaml; never what stands there.
    """

    code: AgentProblemCode
    key: str | None = None
    line: int | None = None
    cause: AgentProblemCause | None = None

    @property
    def in_words(self) -> str:
        """Return the code with blanks, what it is about, its line and its cause."""
        key = f" {self.key}" if self.key else ""
        line = f", line {self.line}" if self.line is not None else ""
        cause = f" ({self.cause.replace('_', ' ')})" if self.cause is not None else ""
        return f"{self.code.replace('_', ' ')}{key}{line}{cause}"


class Agent(Wire):
    """An agent as everybody may know it. An agent with problems that is listed here acts all the same."""

    slug: str
    layer: AgentLayer
    name: str
    description: str
    model_role: str | None
    memory_mode: MemoryMode
    tools: list[str]
    """The domains whose tools it sees."""
    instructions: bool
    sha256: str
    problems: list[AgentProblem] = []


class InvalidAgent(Wire):
    """A definition that does not act until it is mended."""

    slug: str
    layer: AgentLayer
    problems: list[AgentProblem]


class AgentsListParams(Params):
    """`agents/list`."""

    limit: Limit = 100
    cursor: Cursor | None = None


class AgentsListResult(Wire):
    """By slug; `invalid` is whole on every page. `left_out` counts the definitions that are not read for a list.

    Each of them acts, and `agents/get` knows it.
    """

    agents: list[Agent]
    invalid: list[InvalidAgent]
    next_cursor: str | None
    left_out: int = 0


class AgentsGetParams(Params):
    """`agents/get`; `soul` and `memory` are given only by their names, and to no helper's thread."""

    slug: Id
    parts: Annotated[list[AgentPart], Meta(max_length=3)] = field(default_factory=lambda: list[AgentPart](["agents"]))
    context: Context = field(default_factory=Context)


class AgentsGetResult(Wire):
    """An agent with the texts that were asked for; a file that is not there has none."""

    agent: Agent
    texts: dict[AgentPart, str]
