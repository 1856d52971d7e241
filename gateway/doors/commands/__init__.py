"""Every command of the command line: its name, its purpose, and the module that holds it.

Rule 1: a command's module is imported when the command is run, or when the options of all commands are listed.
Rule 2: a command calls the methods of `protocol.methods` as a client does, and repeats none of their rules.
"""

import argparse
from collections.abc import Callable, Mapping
from importlib import import_module

from msgspec import Struct


class CommandRow(Struct, frozen=True):
    """A row of the list of commands: the module below this package, and the purpose in a few words."""

    module: str
    summary: str
    is_guarded: bool = True
    """`ending.run_command` turns the command's errors into exit codes; without it the command does so itself."""


class Command(Struct, frozen=True):
    """A command: its options, its action, and examples of its use."""

    arrange: Callable[[argparse.ArgumentParser], None]
    run: Callable[[argparse.Namespace], int]
    examples: str = ""


COMMANDS: Mapping[str, CommandRow] = {
    "remember": CommandRow("new_memories", "keep a fact"),
    "search": CommandRow("memories", "find what is remembered"),
    "list": CommandRow("memories", "list what is remembered"),
    "show": CommandRow("memories", "show one memory with everything that is known of it"),
    "edit": CommandRow("changes", "correct or annotate a memory"),
    "forget": CommandRow("changes", "forget a memory; restorable, or erased to the last byte"),
    "confirm": CommandRow("changes", "take what an agent noted for your own word"),
    "restore": CommandRow("changes", "undo a forgetting or a merge"),
    "pin": CommandRow("passes", "keep a memory from fading"),
    "consolidate": CommandRow("passes", "tidy up now what agents noted; what you said is never touched"),
    "dream": CommandRow("passes", "count what the home holds and drop what nothing needs"),
    "passes": CommandRow("passes", "what tidies up and when; what it did; undo it; look at what has faded"),
    "similar": CommandRow("similar", "list memories that look alike"),
    "merge": CommandRow("similar", "make one of two memories that say the same"),
    "history": CommandRow("memories", "what happened to a memory and to those it replaced"),
    "why": CommandRow("reasons", "why something was or was not saved or recalled"),
    "stats": CommandRow("memories", "count what is remembered"),
    "candidates": CommandRow("candidates", "list what was proposed and waits for you; approve or reject it"),
    "instructions": CommandRow(
        "files.guidance", "the instruction files that a turn in a folder is given, and what was cut"
    ),
    "agents": CommandRow("files.guidance", "list the agents that you defined; show one"),
    "threads": CommandRow("places", "list conversations; show, rename or delete one"),
    "workspaces": CommandRow("places", "list workspaces: where conversations and their memory belong; delete one"),
    "recall": CommandRow("conversations", "find what was said"),
    "knowledge": CommandRow("files.knowledge", "folders whose files are searched, and what they say"),
    "import": CommandRow("bundles", "import conversations of other programs, or a bundle of memories"),
    "export": CommandRow("bundles", "write memories to a bundle"),
    "backup": CommandRow("backups", "write the whole home to one file, also while it is in use"),
    "restore-backup": CommandRow("backups", "make a home from a backup"),
    "doctor": CommandRow("health", "look what is wrong with a home, and mend what can be mended"),
    "status": CommandRow("health", "what works, what waits, what failed"),
    "settings": CommandRow("configuration", "show or change settings"),
    "config": CommandRow("configuration", "write a commented config.toml, or check one"),
    "models": CommandRow(
        "embedding_models", "the models of search by meaning: show them, fetch one, make missing vectors"
    ),
    "completion": CommandRow("processes.starting", "write the completion script of a shell"),
    "serve": CommandRow(
        "processes.starting", "speak JSON-RPC 2.0 over stdin and stdout; what a desktop app spawns", is_guarded=False
    ),
    "http": CommandRow("processes.starting", "answer programs that speak HTTP, on this machine", is_guarded=False),
    "inspect": CommandRow(
        "processes.starting", "open a page that shows what was learned, why, and undoes it", is_guarded=False
    ),
    "proxy": CommandRow(
        "processes.proxying", "give memory to programs that can only change an address", is_guarded=False
    ),
    "token": CommandRow("processes.services", "show or replace the token of a door that listens on a port"),
    "service": CommandRow("processes.services", "write the unit by which the system keeps a door open"),
    "mcp": CommandRow("processes.starting", "be a memory server for assistants that speak MCP", is_guarded=False),
    "demo": CommandRow("processes.starting", "play a bundled conversation of several days through a spawned gateway"),
    "replay": CommandRow("processes.starting", "play scripted sessions against a spawned gateway and compare"),
    "schemas": CommandRow(
        "processes.starting", "write what is generated from the protocol: schemas, references, types"
    ),
}

FIRST_STEPS = """\
A local memory for assistants, and for you. Six commands to begin with:

  pioneer remember "I live in Graz."       keep a fact; a later one of the kind replaces it
  pioneer search where do I live           find it, by words and by meaning
  pioneer forget Graz                      forget it; `pioneer restore Graz` takes that back
  pioneer import export.zip                take in what you said elsewhere: ChatGPT, Claude, Codex, Markdown
  pioneer knowledge add ./notes            have your files searched: `pioneer knowledge search boat`
  claude mcp add --scope user pioneer -- pioneer mcp
                                           give it to an assistant; others: docs/mcp.md

`pioneer help` lists all commands, `pioneer help remember` the options of one.
"""


def load(name: str) -> Command:
    """Import the module of a command and return the command."""
    module = import_module(f"gateway.doors.commands.{COMMANDS[name].module}")
    return module.COMMANDS[name]
