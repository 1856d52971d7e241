"""A backup: a whole home in one file, made while other processes use it, and a home made of such a file.

Rule 1: the archive holds one snapshot of the database and every file that the snapshot needs, each with its digest.
Models, logs and locks, which can be made anew, are not in it.
Rule 2: a name in an archive is only ever one of the names that a backup writes; nothing is unpacked elsewhere.
Rule 3: a home is made beside its place, checked, and then moved there whole; an earlier home is moved aside, never
removed.
"""

import hashlib
import os
import re
import time
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Annotated, BinaryIO, Literal

import msgspec
from msgspec import Meta

from agent.rows.artifacts import list_needed_contents
from gateway import __version__
from gateway.base.durable_file import sync_folder
from gateway.files.artifact_files import ArtifactFiles
from gateway.home.folder import STRANGE, is_foreign
from gateway.home.keys import KEY_FILE
from gateway.home.owners import living_owners
from gateway.store.copy import OnProgress, copy, find_complaints, open_snapshot, read_version
from gateway.store.migrations import SCHEMA_VERSION
from gateway.store.staging import staging
from protocol.errors import Refused, Unavailable

FORMAT: Literal["pioneer.backup"] = "pioneer.backup"
VERSION = 1
MANIFEST = "manifest.json"
MAX_MANIFEST_BYTES = 64 * 1024 * 1024  # a quarter of a million files
CHUNK_BYTES = 1024 * 1024
DATABASE_NAME = "gateway.db"
KEY_NAME = f"keys/{KEY_FILE}"
TRIES = 3  # snapshots taken before a file that other processes removed meanwhile is reported as missing

_NAME = re.compile(r"gateway\.db|config\.toml|keys/fingerprint\.key|artifacts/[0-9a-f]{2}/[0-9a-f]{64}")


class Member(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A file of the home."""

    name: str
    size: Annotated[int, Meta(ge=0)]
    sha256: Annotated[str, Meta(pattern="^[0-9a-f]{64}$")]


class Manifest(msgspec.Struct, frozen=True, kw_only=True):
    """The contents of an archive; `missing` names contents that the home itself did not have any more."""

    format: Literal["pioneer.backup"] = FORMAT
    version: int = VERSION
    created_at: int
    gateway: str = __version__
    schema_version: int
    members: list[Member]
    missing: list[str] = []

    @property
    def size(self) -> int:
        """Return the bytes of all files together."""
        return sum(member.size for member in self.members)

    @property
    def has_key(self) -> bool:
        """Return whether the home's own key is in it; without it no forgotten statement is recognised."""
        return any(member.name == KEY_NAME for member in self.members)


class BadBackupError(Exception):
    """The file is no backup, or not a whole one; a line for a person."""


# -- writing -----------------------------------------------------------------------------------------------------------


def write_backup(home: Path, target: Path, on_progress: OnProgress) -> Manifest:
    """Write the home to one file, durably, and return its manifest; a failure leaves no file.

    Raises `GatewayError` and `OSError`.
    """
    with staging(target.parent) as folder:
        written = folder / "archive"
        written.touch(mode=0o600)
        with written.open("r+b") as file:
            manifest = _write_archive(home, file, folder / "gateway.db", on_progress)
            file.flush()
            os.fsync(file.fileno())
        written.replace(target)
    sync_folder(target.parent)
    return manifest


def _write_archive(home: Path, file: BinaryIO, snapshot: Path, on_progress: OnProgress) -> Manifest:
    needed, missing = list[str](), list[str]()
    for _ in range(TRIES):
        snapshot.unlink(missing_ok=True)
        copy(home / "gateway.db", snapshot, on_progress)
        needed = _find_needed_digests(snapshot)
        missing = [sha256 for sha256 in needed if not ArtifactFiles(home / "artifacts").holds(sha256)]
        if not missing:
            break
    if wrong := find_complaints(snapshot, is_thorough=False):
        raise Unavailable(message=f"The database is damaged ({wrong[0]}); `pioneer doctor` tells more.")
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
        members = [_put(archive, DATABASE_NAME, snapshot)]
        members += [_put(archive, name, home / name) for name in ("config.toml", KEY_NAME) if (home / name).is_file()]
        kept = ArtifactFiles(home / "artifacts")
        for place, sha256 in enumerate(needed, 1):
            try:
                members.append(_put(archive, f"artifacts/{sha256[:2]}/{sha256}", kept.path(sha256)))
            except FileNotFoundError:  # removed since the snapshot, or lost long ago: reported either way
                missing = [*missing, *([] if sha256 in missing else [sha256])]
            on_progress(place, len(needed))
        manifest = Manifest(
            created_at=int(time.time() * 1000), schema_version=read_version(snapshot), members=members, missing=missing
        )
        archive.writestr(MANIFEST, msgspec.json.encode(manifest))
    return manifest


def _find_needed_digests(snapshot: Path) -> list[str]:
    """Return the digests of the contents that a database refers to."""
    if read_version(snapshot) == 0:
        return []
    with open_snapshot(snapshot) as tx:
        return list_needed_contents(tx)


def _put(archive: zipfile.ZipFile, name: str, path: Path) -> Member:
    """Add a file to the archive, reading it once; return its entry."""
    digest, size = hashlib.sha256(), 0
    with path.open("rb") as source:
        info = zipfile.ZipInfo(name, date_time=time.localtime()[:6])
        info.compress_type, info.external_attr = zipfile.ZIP_DEFLATED, 0o600 << 16
        with archive.open(info, "w", force_zip64=True) as target:
            while chunk := source.read(CHUNK_BYTES):
                digest.update(chunk)
                size += len(chunk)
                target.write(chunk)
    return Member(name, size, digest.hexdigest())


# -- reading -----------------------------------------------------------------------------------------------------------


def read_manifest(archive: zipfile.ZipFile) -> Manifest:
    """Return an archive's manifest. Raises `BadBackupError`."""
    try:
        if archive.getinfo(MANIFEST).file_size > MAX_MANIFEST_BYTES:
            raise BadBackupError("it is no backup of a home")
        manifest = msgspec.json.decode(archive.read(MANIFEST), type=Manifest)
    except (KeyError, msgspec.MsgspecError, zipfile.BadZipFile, OSError, ValueError, NotImplementedError, RuntimeError):
        raise BadBackupError("it is no backup of a home") from None
    if manifest.version > VERSION or manifest.schema_version > SCHEMA_VERSION:
        raise BadBackupError("it was written by a newer version")
    names = [member.name for member in manifest.members]
    if len(set(names)) != len(names) or not all(map(_NAME.fullmatch, names)):
        raise BadBackupError("it holds names that no backup has")
    return manifest


def is_backup(file: BinaryIO) -> bool:
    """Return whether a file is an archive with the names of a backup, intact or not, of this version or another one."""
    try:
        with zipfile.ZipFile(file) as archive:
            return {MANIFEST, DATABASE_NAME} <= set(archive.namelist())
    except (OSError, zipfile.BadZipFile, NotImplementedError, ValueError):
        return False


def restore_backup(file: Path, home: Path, on_progress: OnProgress, *, is_forced: bool) -> tuple[Manifest, Path | None]:
    """Make a home of an archive; return its manifest, and the path of the earlier home that was moved aside.

    Raises `BadBackupError`, `Refused` for a place that is taken, and `OSError`. A failure leaves the place as it was.
    """
    _require_place(home, is_forced=is_forced)
    home.parent.mkdir(parents=True, exist_ok=True)
    with staging(home.parent) as folder:
        staged = folder / "home"
        staged.mkdir(mode=0o700)
        try:
            with zipfile.ZipFile(file) as archive:
                manifest = read_manifest(archive)
                _unpack(archive, manifest, staged, on_progress)
        except zipfile.BadZipFile:
            raise BadBackupError("the archive is damaged, or none") from None
        if find_complaints(staged / "gateway.db", is_thorough=True):
            raise BadBackupError("the database in it is damaged")
        _require_place(home, is_forced=is_forced)  # unpacking takes a while
        return manifest, _move_in(staged, home)


def _require_place(home: Path, *, is_forced: bool) -> None:
    if living_owners(home / "run"):
        raise Refused("home_locked", "A gateway uses that home; end it first.")
    if is_foreign(home):
        raise Refused("conflict", STRANGE)
    if home.exists() and any(home.iterdir()) and not is_forced:
        raise Refused("conflict", "There is a home already; --force moves it aside.")


def _unpack(archive: zipfile.ZipFile, manifest: Manifest, folder: Path, on_progress: OnProgress) -> None:
    done = 0
    for member in manifest.members:
        path = folder / member.name
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        digest, size = hashlib.sha256(), 0
        with path.open("xb") as target:
            path.chmod(0o600)
            for chunk in _chunks(archive, member.name):
                digest.update(chunk)
                size += len(chunk)
                if size > member.size:
                    break
                target.write(chunk)
                on_progress(done + size, manifest.size)
            target.flush()
            os.fsync(target.fileno())
        if (size, digest.hexdigest()) != (member.size, member.sha256):
            raise BadBackupError(f"{member.name} in it is damaged")
        done += size
    if not (folder / "gateway.db").is_file():
        raise BadBackupError("it holds no database")


def _chunks(archive: zipfile.ZipFile, name: str) -> Iterator[bytes]:
    try:
        with archive.open(name) as source:
            read: Callable[[int], bytes] = source.read
            while chunk := read(CHUNK_BYTES):
                yield chunk
    except (KeyError, zipfile.BadZipFile, EOFError, NotImplementedError, RuntimeError, ValueError) as error:
        raise BadBackupError(f"{name} in it is damaged or missing") from error


def _move_in(staged: Path, home: Path) -> Path | None:
    """Put the new home in its place; return the path of an earlier home, moved aside, or None."""
    if not home.exists() or not any(home.iterdir()):
        if home.exists():
            home.rmdir()
        staged.rename(home)
        sync_folder(home.parent)
        return None
    aside = home.with_name(f"{home.name}.before-{time.strftime('%Y%m%d-%H%M%S')}")
    if aside.exists():
        raise Refused("conflict", "Another home was moved aside this very second; try again.")
    home.rename(aside)
    try:
        staged.rename(home)
    except BaseException:
        aside.rename(home)
        raise
    sync_folder(home.parent)
    return aside
