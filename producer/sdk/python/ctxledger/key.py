"""Ids, digests and fingerprints, equal to those of Go's package schema."""
from __future__ import annotations

import base64
import hashlib
import hmac
import html
import os
import re
import time
from typing import Any, Dict, List, Optional, Union
from urllib.parse import quote

from .contract import WORDS

_PRIME = (1 << 61) - 1
_SHORTEST = 8  # bytes of the shortest value with a fingerprint


def utf8(text: Union[str, bytes]) -> bytes:
    """utf8 returns the bytes of a text. Half a surrogate pair becomes U+FFFD."""
    if isinstance(text, bytes):
        return text
    try:
        return text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace").encode()


def uuid7() -> str:
    """uuid7 returns a new id that sorts by time."""
    b = bytearray((time.time_ns() // 1_000_000).to_bytes(6, "big") + os.urandom(10))
    b[6] = b[6] & 0x0F | 0x70
    b[8] = b[8] & 0x3F | 0x80
    h = b.hex()
    return f"{h[:8]}-{h[8:12]}-{h[12:16]}-{h[16:20]}-{h[20:]}"


def bucket(session: str) -> str:
    """bucket returns the bucket of a session, "p00" to "pff"."""
    total = 2166136261
    for byte in utf8(session):
        total = (total ^ byte) * 16777619 & 0xFFFFFFFF
    return f"p{(total >> 24 ^ total >> 16 ^ total >> 8 ^ total) & 0xFF:02x}"


def _field(text: str) -> bytes:
    data = utf8(text)
    n, length = len(data), bytearray()
    while n >= 0x80:
        length.append(n & 0x7F | 0x80)
        n >>= 7
    length.append(n)
    return bytes(length) + data


def message_id(source: str, id: str) -> str:
    """message_id returns the Nats-Msg-Id of an event."""
    return base64.urlsafe_b64encode(hashlib.sha256(_field(source) + _field(id)).digest()[:18]).decode()


class Key:
    """Key is a tenant's secret for keyed digests and fingerprints. No printed form has the secret."""

    __slots__ = ("id", "_mac")

    def __init__(self, id: str, secret: Union[str, bytes]) -> None:
        """A key has an id, and a secret of 32 bytes, as bytes or in base64."""
        raw = base64.b64decode(secret) if isinstance(secret, str) else bytes(secret)
        if not re.fullmatch("k[0-9a-f]{10}", id) or len(raw) != 32:
            raise ValueError("a key has an id such as k0123456789 and a secret of 32 bytes; see `ctxledger keys list`")
        self.id = id
        self._mac = lambda message: hmac.digest(raw, message, "sha256")

    def __repr__(self) -> str:
        return f"Key({self.id!r})"

    def __reduce__(self) -> Any:
        raise TypeError("a key is not copied to another process")

    @classmethod
    def parse(cls, text: str) -> "Key":
        """parse returns the newest key of a key file's text."""
        lines = [f for f in map(str.split, text.split("\n")) if len(f) == 4 and f[0] == "key"]
        if not lines:
            raise ValueError("the key file has no line that begins with key")
        return cls(lines[-1][1], lines[-1][3])

    def digest(self, content: Union[str, bytes]) -> str:
        """digest returns the keyed digest of a text: "hmac-sha256:<key id>:<hex>"."""
        return f"hmac-sha256:{self.id}:{self._mac(utf8(content)).hex()}"

    def fingerprint(self, value: Union[str, bytes]) -> Optional[Dict[str, Any]]:
        """fingerprint returns the fingerprint of a value, or None for a value under 8 bytes."""
        data = utf8(value)
        if len(data) < _SHORTEST:
            return None
        derived = self._mac(b"ctxledger derive\0fingerprint")

        def mac(label: bytes, message: bytes) -> bytes:
            return hmac.digest(derived, b"ctxledger redact " + label + b"\0" + message, "sha256")

        whole = mac(b"value", data)
        base, roll = int.from_bytes(mac(b"base", b"")[:8], "big") % _PRIME, 0
        for byte in data[:_SHORTEST]:
            roll = (roll * base + byte + 1) % _PRIME
        prefix = roll ^ int.from_bytes(mac(b"seal", whole)[:8], "big")
        return {"key_id": self.id, "length": len(data), "prefix_hash": f"{prefix:016x}", "hmac": whole.hex()}

    def fingerprints(self, value: str) -> List[Dict[str, Any]]:
        """fingerprints returns the fingerprints of a value and of the forms in which another
        producer may send it, the value's first."""
        found = [self.fingerprint(text) for text in disguises(value)]
        return [one for one in found if one]


def holds_word(value: str) -> bool:
    """holds_word reports whether a value stands in a word of the contract, which every event has."""
    return len(utf8(value)) >= _SHORTEST and value in WORDS


def disguises(value: str) -> List[str]:
    """disguises returns the forms of a value that its redaction recognises, the value first."""
    data = utf8(value)
    if len(data) < _SHORTEST:
        return []
    simple = {"\u0130": "i"}
    lower = "".join(simple.get(c, c.lower() if len(c.lower()) == 1 else c) for c in value)
    upper = "".join(c.upper() if len(c.upper()) == 1 else c for c in value)
    texts = [value, lower, upper, re.sub("[\r\n\u00ad\u200b\u200c\u200d\u2060\ufeff]", "", value)]
    texts += [quote(data, safe="-_.~").replace("%20", "+"), quote(data, safe="-_.~$&+:=@")]
    for shift in range(3):
        core = base64.b64encode(b"\0" * shift + data).decode().rstrip("=")[(shift * 8 + 5) // 6:(shift + len(data)) * 8 // 6]
        texts += [core, core.replace("+", "-").replace("/", "_")]
    texts += [data.hex(), data.hex().upper()]
    texts.append(html.escape(value, quote=True).replace("&quot;", "&#34;").replace("&#x27;", "&#39;"))
    texts += ["".join(f"&#{ord(c)};" for c in value), "".join(f"&#x{ord(c):x};" for c in value)]
    return list(dict.fromkeys(text for text in texts if not holds_word(text)))
