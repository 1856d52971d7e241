"""The home's own key, and equality without content."""

import hashlib
import hmac
import secrets
from pathlib import Path

from gateway.durable_file import publish_once
from protocol.errors import Unavailable

KEY_BYTES = 32
VERSION = b"\x01"


class HomeKey:
    """HMAC-SHA-256 under `HOME/keys/fingerprint.key`. A plain hash of a birthday is the birthday; this is not."""

    def __init__(self, key: bytes) -> None:
        self._key = key

    @classmethod
    def load(cls, folder: Path) -> "HomeKey":
        """The key of the home, made at the first start; processes that start together agree on one."""
        key = publish_once(folder / "fingerprint.key", secrets.token_bytes(KEY_BYTES))
        if len(key) != KEY_BYTES:
            raise Unavailable(message="The home's key file is damaged; it is left untouched.")
        return cls(key)

    def digest(self, domain: str, text: str) -> bytes:
        """32 bytes; the domain keeps equal texts of different meaning apart."""
        name = domain.encode()
        framed = VERSION + len(name).to_bytes(2, "big") + name + text.encode("utf-8", "surrogatepass")
        return hmac.new(self._key, framed, hashlib.sha256).digest()
