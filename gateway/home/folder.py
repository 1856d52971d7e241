"""The home folder: its layout, its permissions, and the rule that nothing is written outside it."""

import os
import sys
import unicodedata
from pathlib import Path, PurePosixPath, PureWindowsPath

from protocol.errors import CallerError, Unavailable

NETWORK_FILE_SYSTEMS = frozenset({"nfs", "nfs4", "cifs", "smb3", "smbfs", "9p", "afs", "fuse.sshfs", "ncpfs", "ceph"})
"""File systems of other machines, whose locks and shared memory do not keep SQLite's promises."""

_RESERVED = frozenset({"con", "prn", "aux", "nul", *(f"com{n}" for n in range(10)), *(f"lpt{n}" for n in range(10))})
MAX_NAME_BYTES = 255
"""No usual file system keeps longer names."""

OWN_NAMES = frozenset(
    {
        "run",
        "keys",
        "logs",
        "http",
        "spool",
        "agents",
        "artifacts",
        "backups",
        "models",
        "ballast",
        "gateway.db",
        "config.toml",
    }
)

PASSED_OVER = frozenset({"lost+found", "desktop.ini", "DS_Store", "localized"})
"""Files that systems put into any folder, with or without a dot."""
STRANGE = "The home would be a folder that holds other things; name an empty or a new one."

LINKED = "Links in a home are not followed; put in their place what they stand for:"
LINKS_NAMED = 5
MOUNT_POINT = 0xA0000003
"""The tag of a junction of Windows (`stat.IO_REPARSE_TAG_MOUNT_POINT`); other tags are files in a cloud."""
DENIALS = 3
"""The denials in a row after which a file counts as one that may not be written: no log goes and comes that often."""

_FORBIDDEN = frozenset('~$%:*?"<>|')


def path_of(text: str) -> Path:
    """Return the path of a text; `~` is the user's own folder also where no shell has read it."""
    return Path(text).expanduser()


def default_root() -> Path:
    """Return `PIONEER_HOME`, else the platform's per-user data folder."""
    if given := os.environ.get("PIONEER_HOME"):
        return path_of(given)
    import platformdirs  # noqa: PLC0415  # most programs name the home

    return Path(platformdirs.user_data_dir("pioneer-gateway", appauthor=False))


def file_system_of(path: Path) -> str | None:
    """Return the file system's type where the platform reports it (Linux), else None."""
    try:
        mounts = Path("/proc/self/mounts").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return None
    best: tuple[int, str] | None = None
    for line in mounts.splitlines():
        _, point, kind, *_ = [*line.split(" "), "", ""]
        point = point.replace("\\040", " ")
        if path.is_relative_to(point) and (best is None or len(point) >= best[0]):
            best = (len(point), kind)
    return best[1] if best else None


def problem_of_relative(path: str) -> str | None:
    """Return the reason against a configured path below the home, or None; every platform has the same answer."""
    folded = unicodedata.normalize("NFKC", path)
    if not folded.strip() or folded != folded.strip():
        return "must not be empty or begin or end with a blank"
    if PurePosixPath(folded).is_absolute() or PureWindowsPath(folded).is_absolute() or folded[0] in "/\\":
        return "must be relative to the home"
    if PureWindowsPath(folded).drive:
        return "must not name a drive"
    if any(not char.isprintable() or char in _FORBIDDEN for char in folded):
        return "must not hold control, invisible or special characters"
    parts = folded.replace("\\", "/").split("/")
    if parts[0].lower() in OWN_NAMES:
        return "must not be a folder that the gateway itself uses"
    return next((problem for part in parts if (problem := _problem_of_name(part)) is not None), None)


def _problem_of_name(part: str) -> str | None:
    """Return the reason against a single name of a path, or None."""
    if part in {"", ".", ".."}:
        return "must not hold `.`, `..` or empty parts"
    if part[-1] in ". " or part.split(".", maxsplit=1)[0].strip().lower() in _RESERVED:
        return "must not hold a name that some platforms reserve"
    if len(part.encode()) > MAX_NAME_BYTES:
        return f"must not hold a name of more than {MAX_NAME_BYTES} bytes"
    return None


def is_foreign(root: Path) -> bool:
    """Return whether a folder belongs to something else: it is no home, and holds other names than a home."""
    if not root.is_dir() or (root / "gateway.db").exists():
        return False
    names = {path.name.lstrip(".") for path in root.iterdir()} - PASSED_OVER - OWN_NAMES
    # files that stand beside those for a while
    return not all(name.startswith(("config.toml.", "gateway.db-")) for name in names)


SEARCHED_FOLDERS = ("run", "keys", "logs", "http", "spool", "backups", "artifacts")
"""Folders of a home that are searched for links at a start: none of them has many entries.

Links below them are refused when a file is opened.
"""


def is_link(path: Path) -> bool:
    """Return whether a path is a link, or a junction of Windows."""
    if sys.platform == "win32":
        reparsed = getattr(path.lstat(), "st_reparse_tag", 0) if path.exists() else 0
        return path.is_symlink() or reparsed == MOUNT_POINT
    return path.is_symlink()


def links_in(root: Path) -> list[str]:
    """Return the links of a home by their paths in it, sorted."""
    folders = [root, *(root / name for name in SEARCHED_FOLDERS if not is_link(root / name))]
    found = (path for folder in folders if folder.is_dir() for path in folder.iterdir() if is_link(path))
    return sorted(path.relative_to(root).as_posix() for path in found)


def may_only_be_read(root: Path) -> bool:
    """Return whether a home exists whose database, or a file beside it, this process cannot write.

    The system is asked, and nothing is tried: a file that is opened and closed loses the locks that this process holds
    on it.
    """
    database = root / "gateway.db"
    if not database.is_file():
        return False
    beside = (root / "run", database.with_name("gateway.db-wal"), database.with_name("gateway.db-shm"))
    return any(_is_denied(place) for place in (root, database, *beside))


def _is_denied(place: Path) -> bool:
    """Return whether a file or folder stands there that this process cannot write.

    `os.access` also denies what is not there, and a log comes and goes while other processes open and close the
    database: so it has to stand there before and after each of several denials.
    """
    return place.exists() and all(not os.access(place, os.W_OK) and place.exists() for _ in range(DENIALS))


class Home:
    """A home folder that exists and has no other use; one that cannot be written is `is_read_only`."""

    def __init__(self, root: Path) -> None:
        try:
            if is_foreign(root):
                raise Unavailable(message=STRANGE)
            root.mkdir(parents=True, exist_ok=True, mode=0o700)
            self.root = root.resolve(strict=True)
            kind = file_system_of(self.root)
            if kind in NETWORK_FILE_SYSTEMS:
                raise Unavailable(
                    message=f"The home is on a network file system ({kind}), whose locks cannot be trusted."
                )
            if links := links_in(self.root):
                raise Unavailable(message=f"{LINKED} {', '.join(map(repr, links[:LINKS_NAMED]))}")
            self.is_read_only = may_only_be_read(self.root)
            if not self.is_read_only:
                self._make_own()
        except OSError as error:
            raise Unavailable("storage_read_only", f"The home cannot be written ({type(error).__name__}).") from error

    def _make_own(self) -> None:
        for folder in ("run", "keys", "logs"):
            (self.root / folder).mkdir(exist_ok=True, mode=0o700)
        mode = self.root.stat().st_mode
        if sys.platform != "win32" and mode & 0o077:
            self.root.chmod(mode & 0o700)

    @property
    def database(self) -> Path:
        """Return the path of `gateway.db`."""
        return self.root / "gateway.db"

    @property
    def run(self) -> Path:
        """Return the folder of living processes' locks."""
        return self.root / "run"

    @property
    def keys(self) -> Path:
        """Return the folder of the home's own keys."""
        return self.root / "keys"

    @property
    def logs(self) -> Path:
        """Return the folder of log files."""
        return self.root / "logs"

    @property
    def ballast(self) -> Path:
        """Return the file that reserves room for forgetting on a full disk."""
        return self.root / "ballast"

    @property
    def artifacts(self) -> Path:
        """Return the folder of files that messages carried, by content."""
        return self.root / "artifacts"

    @property
    def models(self) -> Path:
        """Return the folder of fetched embedding models, unless the configuration names another one."""
        return self.root / "models"

    @property
    def backups(self) -> Path:
        """Return the folder of copies made before a migration."""
        return self.root / "backups"

    def backup_names(self) -> list[str]:
        """Return the names of the home's own copies, sorted."""
        folder = self.backups
        return sorted(path.name for path in folder.iterdir() if path.is_file()) if folder.is_dir() else []

    def child(self, relative: str, *, key: str) -> Path:
        """Return a configured folder below the home.

        Raises `CallerError` naming `key` where it is none, or has a link in it.
        """
        problem = problem_of_relative(relative)
        if problem is not None:
            raise CallerError.at(f"$.{key}", problem)
        path = self.root
        for part in unicodedata.normalize("NFKC", relative).replace("\\", "/").split("/"):
            path = path / part
            if is_link(path):
                raise CallerError.at(f"$.{key}", "must not have a link in it")
        return path
