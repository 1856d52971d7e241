"""The disk as this room sees it: the shell reads files, this room decides which.

Rule 1: all functions are synchronous and called in a thread of their own: a disk may be slow.
"""

from collections.abc import Collection, Mapping, Sequence
from typing import Protocol, TypeAlias

from msgspec import Struct

from protocol.conversation.values import AgentLayer
from protocol.guidance import AgentProblem, AgentProblemCause, AgentProblemCode, InstructionProblem

Stamp: TypeAlias = tuple[int, int, int, int]
"""Device, inode, size and time of the last change in nanoseconds: equal ones mean the same bytes."""


class UnreadFile(Exception):
    """A file was not read, for a known reason."""

    def __init__(self, problem: InstructionProblem) -> None:
        self.problem: InstructionProblem = problem
        super().__init__(problem)


class InstructionDisk(Protocol):
    """Folders in which instruction files lie. Full paths have no links in them."""

    def user_home(self) -> str:
        """Return the full path of the user's home folder."""
        ...

    def real_folder(self, path: str) -> str | None:
        """Return the full path of a folder without links; None where there is no such folder."""
        ...

    def has_git(self, folder: str) -> bool:
        """Return whether a folder holds `.git`, as a folder or, in a worktree, a file."""
        ...

    def find(self, root: str, path: str) -> Stamp | None:
        """Return the stamp of a regular file below a root by its exact name; None where there is none."""
        ...

    def is_link(self, root: str, path: str) -> bool:
        """Return whether a path below a root is a link."""
        ...

    def resolve(self, root: str, folder: str, written: str) -> str:
        """Return the path below the root that a path written in a file of `folder` means, after all links.

        Raises `UnreadFile`.
        """
        ...

    def read(self, root: str, path: str, most: int) -> bytes:
        """Return a file's bytes, of which there are at most so many. Raises `UnreadFile`."""
        ...


class AgentFile(Struct, frozen=True):
    """A file of a definition: its digest, and its text where that was asked for."""

    sha256: str
    text: str | None = None


class AgentFolder(Struct, frozen=True):
    """A folder of definitions as it lies on the disk: its files, the plain values of its config.yaml, what is wrong."""

    layer: AgentLayer
    slug: str
    files: Mapping[str, AgentFile]
    config: Mapping[str, object] | None
    problems: Sequence[AgentProblem] = ()
    lines: Mapping[str, int] = {}
    """The line of each key of its config.yaml."""


class AgentShelf(Protocol):
    """The folders of both layers."""

    def slugs(self) -> dict[str, AgentLayer]:
        """Return the name of each definition, valid or not, with its layer; one in the vault hides a built-in one."""
        ...

    def read(self, slug: str, texts: Collection[str]) -> AgentFolder | None:
        """Return a definition's folder with the texts of those files; None where no layer has it."""
        ...


def problem(
    code: AgentProblemCode, key: str | None = None, line: int | None = None, cause: AgentProblemCause | None = None
) -> AgentProblem:
    """Return a problem of a definition."""
    return AgentProblem(code=code, key=key, line=line, cause=cause)
