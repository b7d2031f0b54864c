"""The address of a gateway or of NATS, and what to do when it does not answer."""
from __future__ import annotations

from urllib.parse import urlsplit

NO_GATEWAY = "start `ctxledger up`, or set CTXLEDGER_URL to the address of a gateway"
NO_TOKEN = "give connect a token with the role publish; `ctxledger token create` makes one"


def checked(url: str) -> str:
    """checked returns an address without a slash at its end. The errors hold no password."""
    scheme, _, rest = url.partition("://")
    if scheme in ("nats", "tls"):
        return url.rstrip("/")
    try:
        found = urlsplit(url)
        known = scheme in ("http", "https") and bool(found.hostname) and (found.port or True)
    except ValueError:
        known = False
    if not known:
        raise ValueError("the address is malformed: write http://host:7070, https://, or nats://user:password@host:4222")
    if "@" in found.netloc:
        raise ValueError("the address has a user or a password; give connect the token of a gateway as token")
    return url.rstrip("/")
