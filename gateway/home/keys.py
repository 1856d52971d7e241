"""The home's own key, and equality without content.

Rule 1: a key is made once, with the home. A home that has lost its key gets no other one unasked: under another one nothing that
was forgotten would be known again.
"""

import hmac
import secrets
from pathlib import Path

from gateway.base.durable_file import publish, publish_once
from memory.bundles.exporting import key_id
from protocol.errors import Unavailable

KEY_FILE = "fingerprint.key"
KEY_BYTES = 32
OF_FACTS = frozenset({"fact", "text"})
"""Domains of hashes that what is said is compared with what was forgotten by."""
VERSION = b"\x01"


class HomeKey:
    """HMAC-SHA-256 under `HOME/keys/fingerprint.key`. A plain hash of a birthday is the birthday; this is not."""

    def __init__(self, key: bytes) -> None:
        self._key = key

    @classmethod
    def load(cls, folder: Path) -> "HomeKey":
        """The key of the home, made at the first start; processes that start together agree on one."""
        key = publish_once(folder / KEY_FILE, secrets.token_bytes(KEY_BYTES))
        if len(key) != KEY_BYTES:
            raise Unavailable(message="The home's key file is damaged; it is left untouched.")
        return cls(key)

    @classmethod
    def known(cls, folder: Path, key_id: str | None) -> "HomeKey":
        """The key of a home that has one, by what tells it from others; a `LostKey` where it is not there."""
        if not (folder / KEY_FILE).is_file():
            return LostKey()
        found = cls.load(folder)
        return found if key_id in {None, found.id} else LostKey()

    @classmethod
    def renew(cls, folder: Path) -> "HomeKey":
        """A key in the place of one that is lost, because a person wants it so."""
        publish(folder / KEY_FILE, secrets.token_bytes(KEY_BYTES))
        return cls.load(folder)

    @property
    def is_lost(self) -> bool:
        """Whether this stands in for a key that is not there."""
        return False

    @property
    def id(self) -> str:
        """What tells this key from others, and nothing else of it."""
        return key_id(self)

    def digest(self, domain: str, text: str) -> bytes:
        """32 bytes; the domain keeps equal texts of different meaning apart."""
        name = domain.encode()
        framed = VERSION + len(name).to_bytes(2, "big") + name + text.encode("utf-8", "surrogatepass")
        return hmac.digest(self._key, framed, "sha256")


class LostKey(HomeKey):
    """In the place of the home's key when that is gone: reading and forgetting go on, and nothing is learnt.

    Whether something was forgotten, rejected or said before cannot be told, so that nobody may decide on it. What else is hashed
    is as good as new with a key that lives as long as the process.
    """

    def __init__(self) -> None:
        super().__init__(secrets.token_bytes(KEY_BYTES))

    @property
    def is_lost(self) -> bool:
        """True."""
        return True

    def digest(self, domain: str, text: str) -> bytes:
        """Raises `Unavailable` for what tells facts."""
        if domain in OF_FACTS:
            raise Unavailable(
                message="The home's key is gone: nothing is learnt until a person has seen to it (`pioneer doctor`)."
            )
        return super().digest(domain, text)
