"""The checkup of a home, which only reads: each check yields findings, and each finding has advice.

Rule 1: nothing is changed or made: no folder, no lock, no page, not the write-ahead log's place.
Rule 2: a check that cannot read yields a finding about that; no damage of a home is a defect of the checkup.
Rule 3: no key, no text of a message, no value of a setting is shown.
"""

import os
import shutil
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from agent.guidance.definitions import AGENTS_FILE, judge
from agent.rows.artifacts import list_needed_contents
from agent.rows.items import find_altered_items, items_after, list_lost_owners, read_items
from agent.rows.threads import find_lost_threads
from gateway.care.damage_checks import (
    REPAIRED,
    RESTORE,
    find_losses,
    find_lost_parts,
    find_page_damage,
    find_wrong_parts,
    is_readable,
    list_altered,
)
from gateway.care.file_checks import find_file_problems
from gateway.care.findings import Finding, Subject
from gateway.embedding.choice import choose
from gateway.embedding.coverage import count_texts
from gateway.embedding.spaces import find_current, list_spaces
from gateway.files.artifact_files import ArtifactFiles
from gateway.files.guidance_files import AgentFolders, agents_folder
from gateway.home.config_check import find_environment_problems, find_problems
from gateway.home.config_layers import find_unread
from gateway.home.folder import NETWORK_FILE_SYSTEMS, file_system_of
from gateway.home.keys import KEY_BYTES, KEY_FILE, HomeKey
from gateway.home.owners import SQL, fact_of_home, living_owners
from gateway.home.run_files import find_run_files
from gateway.home.spool import QUARANTINE, count_aside, find_spools, read_spool
from gateway.home.tokens import FILES, is_open_to_others, token_path
from gateway.jobs.queue import subjects_without_job
from gateway.jobs.runner import STUCK_MS
from gateway.secrets.scanner import RuleScanner
from gateway.store.copy import find_complaints, open_snapshot, read_version
from gateway.store.losses import join_names
from gateway.store.migrations import SCHEMA_VERSION
from gateway.store.staging import find_stale
from memory.rows.evidence import find_altered_evidence
from memory.rows.repair import find_altered_records, state_of
from memory.rows.repair import index_finds as memory_finds
from memory.rows.withheld import count_numbers
from protocol.errors import GatewayError
from protocol.guidance import InvalidAgent
from protocol.settings import ProviderConfig
from retrieval.terms import SnowballLexicon
from thread_episodic.index.repair_checks import jobless_turns, missing_sources
from thread_episodic.rows.counts import pending_turns
from thread_episodic.rows.damage import index_finds as episodic_finds
from thread_episodic.rows.scopes import find_indexed_workspace
from thread_episodic.values import lexicon_digest

ROOM_BYTES = 256 * 1024 * 1024
"""With less than this a home of ordinary size cannot be backed up beside itself."""
SPOOLED_MS = 60 * 60 * 1000
"""The age from which an answer in a spool is a warning: the memory of that proxy does not take it."""


UNMENDED = "--fix cannot know what stood there"
INSIDE = frozenset({"losses", "memory", "conversation", "files", "jobs", "vectors"})
"""Checks that read the database."""


def examine(subject: Subject) -> list[Finding]:
    """Return the findings about a home, in the order of the checks; a check without findings has one of level `ok`."""
    found: list[Finding] = []
    for name, check in CHECKS:
        if name in INSIDE and any(one.check in {"schema", "database"} and one.level == "error" for one in found):
            found.append(Finding(name, "note", "not looked at: the database cannot be used"))
            continue
        try:
            findings = list(check(subject))
        except (OSError, GatewayError) as error:
            findings = [_unreadable(name, error, found)]
        found += findings or [Finding(name, "ok", "")]
    return found


def _unreadable(name: str, error: OSError | GatewayError, found: Sequence[Finding]) -> Finding:
    """Return the finding about a check that could not read: a warning where mending the database will let it read."""
    if name in INSIDE and any(one.check == "database" and one.mend in {"pages", "schema"} for one in found):
        return Finding(name, "warning", "it cannot be looked at until the database is mended", REPAIRED)
    reason = error.message if isinstance(error, GatewayError) else error.strerror or type(error).__name__
    return Finding(name, "error", f"it cannot be looked at: {reason}")


# -- the home and its files --------------------------------------------------------------------------------------------


def _home(subject: Subject) -> Iterator[Finding]:
    root = subject.root
    kind = file_system_of(root)
    if kind in NETWORK_FILE_SYSTEMS:
        yield Finding("home", "error", f"it is on a network file system ({kind})", "move it to a local disk")
    if not os.access(root, os.W_OK | os.X_OK):
        yield Finding("home", "error", "it cannot be written", "give its folder back to the user who runs the gateway")
    if sys.platform != "win32":
        open_to_others = [
            path for path in (root, subject.database, root / "keys") if path.exists() and path.stat().st_mode & 0o077
        ]
        if open_to_others:
            yield Finding(
                "home", "warning", "other users of this machine may read it", "--fix closes it to them", "permissions"
            )


def _leftovers(subject: Subject) -> Iterator[Finding]:
    if count := sum(len(find_stale(folder)) for folder in subject.workplaces):
        yield Finding(
            "leftovers",
            "warning",
            f"{count} copies of a home were left by commands that were cut short",
            "--fix removes them",
            "leftovers",
        )


def _key(subject: Subject) -> Iterator[Finding]:
    key = subject.root / "keys" / KEY_FILE
    if key.is_file() and key.stat().st_size != KEY_BYTES:
        yield Finding("key", "error", "the home's key is damaged", "restore a backup")
        return
    expected = _read_expected_key(subject)
    is_other = key.is_file() and expected is not None and HomeKey(key.read_bytes()).id != expected
    if is_other or (subject.database.is_file() and not key.is_file()):
        yield Finding(
            "key",
            "warning",
            f"the home's key is {'another one' if is_other else 'gone'}: "
            "nothing is learnt, because what was forgotten is not known again",
            f"put back keys/{KEY_FILE} of a backup; "
            "--fix makes a new key, and what was forgotten or rejected may come back unasked",
            "key",
        )


def _read_expected_key(subject: Subject) -> str | None:
    """Return the id of the key that the home was made with; None where the database does not know it."""
    try:
        if not is_readable(subject):
            return None
        with open_snapshot(subject.database) as tx:
            return fact_of_home(tx, "key_id")
    except GatewayError:
        return None  # the check of the database reports it


def _config(subject: Subject) -> Iterator[Finding]:
    if not subject.config_path.exists():
        yield from _environment("")
        yield Finding("config", "ok", "no file; every setting has its default")
        return
    if not subject.config_path.is_file():
        yield Finding("config", "error", "it is a folder, or no regular file", "put a file in its place, or nothing")
        return
    try:
        text = subject.config_path.read_bytes().decode("utf-8-sig")
    except UnicodeDecodeError:
        yield Finding("config", "error", "it is not UTF-8", "save it as UTF-8")
        return
    yield from _environment(text)
    for one in find_problems(text):
        where = f"line {one.line}: " if one.line is not None else ""
        yield Finding("config", "error", f"{where}{one.key} {one.problem}".strip(), one.hint)


def _environment(text: str) -> Iterator[Finding]:
    for one in find_environment_problems(os.environ, text):
        yield Finding("config", "error", f"{one.key}: {one.problem}", one.hint)


def _variables(subject: Subject) -> Iterator[Finding]:
    config = subject.config()
    named = [*config.providers.values(), *config.proxy.upstreams.values()]
    for name, nearest in find_unread(os.environ, {one.api_key_env for one in named if one.api_key_env}):
        advice = f"did you mean {nearest}?" if nearest is not None else "settings are PIONEER_<TABLE>__<KEY>"
        yield Finding("variables", "note", f"{name} is set, and the gateway does not read it", advice)


def _disk(subject: Subject) -> Iterator[Finding]:
    free = shutil.disk_usage(subject.root).free
    size = subject.database.stat().st_size if subject.database.is_file() else 0
    if free < max(ROOM_BYTES, size):
        yield Finding(
            "disk",
            "warning",
            f"only {free // (1024 * 1024)} MiB are free",
            "make room; forgetting works even on a full disk",
        )


def _doors(subject: Subject) -> Iterator[Finding]:
    opened = [door for door in FILES if is_open_to_others(token_path(subject.root, door))]
    if opened:
        text = f"other users of this machine may read the token of: {', '.join(opened)}"
        advice = "--fix closes it to them and makes a new one"
        yield Finding("doors", "warning", text, advice, "tokens")
    listening = list(find_run_files(subject.root / "run"))
    for _, entry in listening:
        if entry is not None:
            yield Finding("doors", "ok", f"{entry.url} is open (pid {entry.pid})")
    if stale := sum(entry is None for _, entry in listening):
        yield Finding(
            "doors", "note", f"{stale} run files are of processes that ended", "--fix removes them", "run_files"
        )


def _spool(subject: Subject) -> Iterator[Finding]:
    """Find answers of chat proxies that memory does not have yet."""
    files = [(file, read_spool(file.path).lines) for file in find_spools(subject.root)]
    if left := sum(len(lines) for file, lines in files if file.is_left):
        advice = "the next gateway of the home keeps them; --fix does so now"
        yield Finding(
            "spool", "warning", f"{left} answers that ended chat proxies left are not kept yet", advice, "spool"
        )
    oldest = min((lines[0].at for file, lines in files if lines and not file.is_left), default=None)
    if oldest is not None and time.time() * 1000 - oldest > SPOOLED_MS:
        text = "answers wait in the spool of a chat proxy for more than an hour"
        yield Finding("spool", "warning", text, "its memory does not answer: the log says why")
    if torn := count_aside(subject.root):
        text = f"{torn} torn lines of answers lie in spool/{QUARANTINE}"
        yield Finding("spool", "note", text, "they cannot be kept any more: an erase removes the file, and so may you")


# -- the database ------------------------------------------------------------------------------------------------------


def _database(subject: Subject) -> Iterator[Finding]:
    if not subject.database.exists():
        yield Finding("database", "note", "there is none yet")
        return
    schema = read_version(subject.database)
    if schema > SCHEMA_VERSION:
        yield Finding(
            "schema",
            "error",
            "the database was written by a newer version",
            "update the gateway; this one leaves it untouched",
        )
    elif schema < SCHEMA_VERSION:
        yield Finding("database", "note", f"it is of schema {schema}; the next start brings it to {SCHEMA_VERSION}")
    if schema == SCHEMA_VERSION:
        yield from find_page_damage(subject)
        yield from find_lost_parts(subject)
        return
    for wrong in find_complaints(subject.database, is_thorough=True)[:3]:
        yield Finding("database", "error", f"it is damaged: {wrong}", RESTORE)


def _memory(subject: Subject) -> Iterator[Finding]:
    if not is_readable(subject):
        return
    with open_snapshot(subject.database) as tx:
        state = state_of(tx)
        numbers = count_numbers(tx, RuleScanner())
        altered = find_altered_records(tx)
    if numbers:
        yield Finding(
            "memory",
            "warning",
            f"{numbers} records hold the number of a card, a bank account or an id; they are hidden",
            "`pioneer doctor --erase-numbers` erases them for ever",
        )
    if altered:
        yield Finding(
            "memory",
            "error",
            f"{len(altered)} records fail their checksum and are hidden: {join_names(altered)}",
            f"restore a backup, or forget them: {UNMENDED}",
        )
    if doubted := list_altered(subject, find_altered_evidence()):
        text = f"evidence fails its checksum and is not shown, of: {join_names(doubted)}"
        yield Finding("memory", "error", text, f"restore a backup, or forget them: {UNMENDED}")
    if state.texts > 0 or state.erases:
        yield Finding(
            "memory",
            "warning",
            f"{max(0, state.texts)} records are not rightly indexed, {state.erases} erases are unfinished",
            REPAIRED,
            "memory",
        )
    yield from find_wrong_parts(subject, "memory", memory_finds(SnowballLexicon.version))


def _conversation(subject: Subject) -> Iterator[Finding]:
    if not is_readable(subject):
        return
    with open_snapshot(subject.database) as tx:
        waiting = sum(count for _, count, _ in pending_turns(tx, None, None))
        kept = ArtifactFiles(subject.root / "artifacts")
        missing = [sha256 for sha256 in list_needed_contents(tx) if not kept.holds(sha256)]
        lost = list_lost_owners(tx)
        restorable = [f"thread {one.thread_id}" for one in find_lost_threads(tx, find_indexed_workspace)]
    if waiting:
        yield Finding("conversation", "note", f"{waiting} messages wait to be indexed", "a running gateway does that")
    finds = episodic_finds(lexicon_digest(SnowballLexicon())) | {
        "missing_sources": missing_sources(items_after, read_items),
        "jobs": jobless_turns(subjects_without_job),
    }
    yield from find_wrong_parts(subject, "conversation", finds)
    if altered := list_altered(subject, find_altered_items()):
        text = f"{len(altered)} messages fail their checksum and are recalled nowhere: {join_names(altered)}"
        yield Finding("conversation", "error", text, f"restore a backup, or delete their threads: {UNMENDED}")
    if restorable:
        text = f"conversations are lost whose turns are there, and shown nowhere: {join_names(restorable)}"
        advice = f"--fix makes them again of their turns, without their names; to have those, {RESTORE}"
        yield Finding("conversation", "warning", text, advice, "conversation")
    if lost := [name for name in lost if name not in restorable]:
        text = f"messages are there whose turn or conversation is lost, and shown nowhere: {join_names(lost)}"
        yield Finding("conversation", "warning", text, RESTORE)  # the loss itself was told as one, until taken note of
    if missing:
        yield Finding(
            "conversation",
            "warning",
            f"{len(missing)} files of messages are gone",
            "restore a backup to have them again",
        )


def _jobs(subject: Subject) -> Iterator[Finding]:
    if not is_readable(subject):
        return
    with open_snapshot(subject.database) as tx:
        dead = {kind: count for kind, state, count in tx.all(SQL["count_all_jobs"]) if state == "dead"}
        leased = tx.all(SQL["leased_jobs"])
    alive, now = set(living_owners(subject.root / "run")), int(time.time() * 1000)
    for kind, count in dead.items():
        yield Finding("jobs", "warning", f"{count} {kind} jobs were given up", "--fix has them tried again", "jobs")
    if stuck := sum(owner in alive and at < now - STUCK_MS for _, owner, at in leased):
        yield Finding(
            "jobs",
            "warning",
            f"{stuck} jobs are held for more than a quarter of an hour",
            "another process takes them over by itself",
        )


def _processes(subject: Subject) -> Iterator[Finding]:
    alive = living_owners(subject.root / "run")
    if alive:
        yield Finding("processes", "ok", f"{len(alive)} use the home at present")
    if not is_readable(subject):
        return
    with open_snapshot(subject.database) as tx:
        gone = [owner for (owner,) in tx.all(SQL["list_owners"]) if owner not in alive]
    if gone:
        yield Finding(
            "processes",
            "note",
            f"{len(gone)} ended without an orderly end",
            "the next gateway takes over what they left; --fix does it now",
            "processes",
        )


# -- models ------------------------------------------------------------------------------------------------------------


def _model(subject: Subject) -> Iterator[Finding]:
    settings = subject.config().embedding
    if not settings.enabled:
        yield Finding("model", "ok", "switched off: search goes by words")
        return
    choice = choose(settings, subject.root / "models")
    if not choice.has_model:
        search = "search goes by words" if choice.static is None else "search uses the static model that comes along"
        text = f"the folder of the embedding model holds none that works: {search}" if choice.is_misplaced else search
        advice = (
            "correct gateway.embedding.model_path"
            if choice.is_misplaced
            else "`pioneer models fetch` fetches a better one"
        )
        yield Finding("model", "warning" if choice.is_misplaced else "note", text, advice)


def _vectors(subject: Subject) -> Iterator[Finding]:
    if not subject.config().embedding.enabled or not is_readable(subject):
        return
    with open_snapshot(subject.database) as tx:
        searched = find_current(list_spaces(tx))
        counts = count_texts(tx, searched.space.id if searched is not None else 0)
    facts, pieces, file_pieces = (counts[name].lacking for name in ("facts", "pieces", "file_pieces"))
    if facts or pieces or file_pieces:
        yield Finding(
            "vectors",
            "note",
            f"{facts} facts, {pieces} pieces of conversations and {file_pieces} pieces of files have no vector yet:"
            " only words find them",
            "a running gateway makes them; `pioneer models index` does so now",
        )


def _providers(subject: Subject) -> Iterator[Finding]:
    config = subject.config()
    roles = config.roles
    used = {roles.main, roles.preflight, roles.extractor, roles.enricher, *roles.agents.values()}
    for name, provider in config.providers.items():
        problem = _problem_of(provider, subject.config_path.parent)
        if problem is not None:
            yield Finding("providers", "warning" if name in used else "note", f"{name}: {problem[0]}", problem[1])


def _agents(subject: Subject) -> Iterator[Finding]:
    shelf = AgentFolders(lambda: agents_folder(subject.config().agents, subject.root))
    for slug in shelf.slugs():
        folder = shelf.read(slug, {AGENTS_FILE})
        judged = judge(folder) if folder is not None else None
        if isinstance(judged, InvalidAgent):
            problems = ", ".join(f"{one.code} {one.key or ''}".strip() for one in judged.problems)
            yield Finding("agents", "warning", f"{judged.slug}: {problems}", "no turn of it begins until it is mended")


def _problem_of(provider: ProviderConfig, folder: Path) -> tuple[str, str] | None:
    """Return a provider's problem and advice, never a key; None where it can answer."""
    if provider.kind == "scripted":
        is_there = provider.script is not None and (folder / provider.script).is_file()
        return None if is_there else ("its script is not there", "name a file that is: script")
    if provider.api_key_env is not None and not os.environ.get(provider.api_key_env):
        return f"the variable {provider.api_key_env} is not set here", "set it where the gateway is started"
    if provider.model is None:
        return "no model is named", "name one: model"
    return None


CHECKS: Sequence[tuple[str, Callable[[Subject], Iterator[Finding]]]] = (
    ("home", _home),
    ("leftovers", _leftovers),
    ("key", _key),
    ("config", _config),
    ("variables", _variables),
    ("doors", _doors),
    ("spool", _spool),
    ("disk", _disk),
    ("database", _database),
    ("losses", find_losses),
    ("memory", _memory),
    ("conversation", _conversation),
    ("files", find_file_problems),
    ("jobs", _jobs),
    ("processes", _processes),
    ("model", _model),
    ("vectors", _vectors),
    ("providers", _providers),
    ("agents", _agents),
)
"""Every check by its name, in the order in which a person would check."""
