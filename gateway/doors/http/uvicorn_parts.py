"""uvicorn's server without its command line, whose import by the package takes a fifth of a door's start.

Rule 1: code that asks the package for a name of its `__init__.py` gets it: that file is then run after all.
"""

import importlib.util
import sys
from types import ModuleType
from typing import Any

__all__ = ["STATUS_PHRASES", "Config", "H11Protocol", "Server"]

PACKAGE = "uvicorn"
OWN_NAMES = {"__version__", "__all__"}
"""Names with two underscores that `__init__.py` defines; others are asked for by the import system and by tools."""
UNRUN = "unrun spec"
"""The attribute that holds the package's specification until `__init__.py` is run; no code can ask for such a name."""


class _Package(ModuleType):
    """The package with its modules; its `__init__.py` is run when a name of it is asked for."""

    def __getattr__(self, name: str) -> Any:
        is_given = name in OWN_NAMES or not name.startswith("__")
        if is_given and (spec := vars(self).pop(UNRUN, None)) is not None:
            spec.loader.exec_module(self)
        if name in vars(self):
            return vars(self)[name]
        raise AttributeError(name)


def _open_package() -> None:
    """Make the package known by its folder alone, unless it is imported already."""
    spec = importlib.util.find_spec(PACKAGE) if PACKAGE not in sys.modules else None
    if spec is None or spec.submodule_search_locations is None:
        return
    package = _Package(PACKAGE)
    package.__spec__, package.__file__ = spec, spec.origin
    vars(package)[UNRUN] = spec
    package.__path__ = spec.submodule_search_locations
    sys.modules[PACKAGE] = package


_open_package()
from uvicorn.config import Config  # noqa: E402  # the package has to be known by then
from uvicorn.protocols.http.h11_impl import STATUS_PHRASES, H11Protocol  # noqa: E402  # the same
from uvicorn.server import Server  # noqa: E402  # the same

vars(sys.modules[PACKAGE]).setdefault("Config", Config)  # a module that every start of a server imports asks for it
