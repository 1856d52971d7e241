"""The guard against another program's packages: `memory/` of a user's workspace must not be imported as the product's.

Rule 1: it runs before the product's other packages are imported, so it imports the standard library only.
"""

from importlib.util import find_spec
from pathlib import Path

HOUSES = ("gateway", "agent", "memory", "thread_episodic", "knowledge", "retrieval", "promt", "protocol")


def _folder_of(package: str) -> Path | None:
    """Return the folder that an import of the package would read, or None when there is none to read."""
    try:
        spec = find_spec(package)
    except ValueError:  # something of that name is loaded that did not come from a file
        return None
    if spec is None or spec.origin is None:  # absent, or a bare folder of that name
        return None
    return Path(spec.origin).resolve().parent


def refusal() -> str | None:
    """Return why this process must not go on, or None where every package of the product stands beside this one."""
    ours = Path(__file__).resolve().parent.parent
    strangers = [package for package in HOUSES if _folder_of(package) != ours / package]
    if not strangers:
        return None
    names = ", ".join(f"`{package}`" for package in strangers)
    return (
        f"The module search path gives another package for {names} than the gateway's own. "
        "Start the console script `pioneer` itself, without PYTHONPATH and not by `python -m`."
    )
