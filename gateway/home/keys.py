"""The home's own key, and equality without content.

Rule 1: a key is made once, with the home. A home that has lost its key gets no other one unasked: under another one
no forgotten statement would be recognised.
"""

import hmac
import secrets
from functools import cache
from pathlib import Path

from gateway.base.durable_file import publish, publish_once
from protocol.errors import Unavailable
from protocol.seams.ports import key_id

KEY_FILE = "fingerprint.key"
KEY_BYTES = 32
OF_FACTS = frozenset({"fact", "text"})
"""Domains of the hashes that compare a statement with forgotten ones."""
VERSION = b"\x01"


class HomeKey:
    """HMAC-SHA-256 under `HOME/keys/fingerprint.key`. A plain hash of a birthday is the birthday; this is not."""

    def __init__(self, key: bytes) -> None:
        self._key = key

    @classmethod
    def load(cls, folder: Path) -> "HomeKey":
        """Return the key of the home, made at the first start; processes that start together agree on one."""
        key = publish_once(folder / KEY_FILE, secrets.token_bytes(KEY_BYTES))
        if len(key) != KEY_BYTES:
            raise Unavailable(message="The home's key file is damaged; it is left untouched.")
        return cls(key)

    @classmethod
    def load_existing(cls, folder: Path, key_id: str | None) -> "HomeKey":
        """Return the key of a home that has one, if its id is `key_id`; else a `LostKey`."""
        if not (folder / KEY_FILE).is_file():
            return LostKey()
        found = cls.load(folder)
        return found if key_id in {None, found.id} else LostKey()

    @classmethod
    def renew(cls, folder: Path) -> "HomeKey":
        """Make a key in the place of a lost one, at a person's wish, and return it."""
        publish(folder / KEY_FILE, secrets.token_bytes(KEY_BYTES))
        return cls.load(folder)

    @property
    def is_lost(self) -> bool:
        """Return whether this stands in for a key that does not exist."""
        return False

    @property
    def id(self) -> str:
        """Return an id that distinguishes this key from others and reveals nothing else of it."""
        return key_id(self)

    def digest(self, domain: str, text: str) -> bytes:
        """Return 32 bytes; the domain keeps equal texts of different meaning apart.

        A `LostKey` raises `Unavailable`.
        """
        return hmac.digest(self._key, _frame(domain) + text.encode("utf-8", "surrogatepass"), "sha256")


@cache
def _frame(domain: str) -> bytes:
    name = domain.encode()
    return VERSION + len(name).to_bytes(2, "big") + name


class LostKey(HomeKey):
    """The stand-in for a home's key that is gone: reading and forgetting go on, and nothing is learnt.

    Comparison with forgotten, rejected or earlier statements is impossible, so no decision may rest on it. Anything
    else that is hashed can use a key that lives as long as the process.
    """

    def __init__(self) -> None:
        super().__init__(secrets.token_bytes(KEY_BYTES))

    @property
    def is_lost(self) -> bool:
        """Return True."""
        return True

    def digest(self, domain: str, text: str) -> bytes:
        """Return 32 bytes. Raises `Unavailable` for a domain of facts."""
        if domain in OF_FACTS:
            raise Unavailable(
                message="The home's key is gone: nothing is learnt until a person has seen to it (`pioneer doctor`)."
            )
        return super().digest(domain, text)
