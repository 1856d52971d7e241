"""The rules of collections at the time of a search: a file that became ignored since the last scan is not shown.

Rule 1: the files of patterns down to a hit are read once a search; a left-out folder leaves out all below it.
"""

from collections.abc import Iterable
from typing import BinaryIO

from knowledge.rows.collections import KnownCollection
from knowledge.rows.files import split_path
from knowledge.walk.collection_walks import open_indexed
from knowledge.walk.patterns import Rules
from knowledge.walk.walking import rules_at, rules_of
from protocol.seams.safe_files import SafeRoot
from protocol.settings import KnowledgeSettings


class CurrentRules:
    """The rules of some collections, for one search."""

    def __init__(self, collections: Iterable[KnownCollection], settings: KnowledgeSettings) -> None:
        self._settings = settings
        self._known = {known.id: known for known in collections}
        self._rules: dict[tuple[int, str], Rules | None] = {}

    def leave_out(self, root: SafeRoot, collection: int, path: str) -> bool:
        """Return whether a file of a collection is left out at present."""
        if collection not in self._known:
            return False
        rules = self._within(root, collection, split_path(path)[0])
        return rules is None or rules.skips(path, is_folder=False) is not None

    def open_file(self, root: SafeRoot, collection: int, path: str) -> BinaryIO:
        """Return a file of a collection, opened. Raises `UnsafeFileError`, also for a link to what is left out."""
        known = self._known.get(collection)
        return open_indexed(root, known, self._settings, path) if known is not None else root.open_file(path)

    def _within(self, root: SafeRoot, collection: int, folder: str) -> Rules | None:
        """Return the rules in a folder; None where it is left out itself."""
        key = (collection, folder)
        if key not in self._rules:
            known = self._known[collection]
            if not folder:
                above: Rules | None = rules_of(root, known.choices(), follows_git=bool(known.follow_gitignore))
            else:
                above = self._within(root, collection, split_path(folder)[0])
                if above is not None and above.skips(folder, is_folder=True) is not None:
                    above = None
            self._rules[key] = rules_at(root, above, folder) if above is not None else None
        return self._rules[key]
