"""Values that a publisher must compute: the subject of an event and its message id.
Standard library only. Check your implementation against ../vectors.json."""

import base64
import hashlib


def bucket(session: str) -> str:
    """The bucket of a session, p00 to pff: FNV-1a 32 of its id, folded to 8 bits."""
    total = 2166136261
    for byte in session.encode():
        total = (total ^ byte) * 16777619 & 0xFFFFFFFF
    return "p%02x" % ((total >> 24 ^ total >> 16 ^ total >> 8 ^ total) & 0xFF)


def token(text: str) -> str:
    """One token of a subject: every byte except letters, digits, - and _ is %XX."""
    plain = b"-_0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
    return "".join(chr(b) if b in plain else "%%%02X" % b for b in text.encode()) or "%"


def subject(tenant: str, runtime: str, session: str, event_type: str) -> str:
    """ctx.v1.<tenant>.<runtime>.<bucket>.<object>.<verb>"""
    object_, dot, verb = event_type.removeprefix("context.").partition(".")
    if not dot:
        object_, verb = "context", object_
    tokens = [tenant or "default", runtime or "unnamed", bucket(session), object_, verb]
    return ".".join(["ctx", "v1", *map(token, tokens)])


def message_id(source: str, id: str) -> str:
    """The Nats-Msg-Id: 18 bytes of a SHA-256 over source and id, each after its length."""
    digest = hashlib.sha256()
    for field in (source.encode(), id.encode()):
        digest.update(_uvarint(len(field)) + field)
    return base64.urlsafe_b64encode(digest.digest()[:18]).decode()


def _uvarint(n: int) -> bytes:
    out = bytearray()
    while n >= 0x80:
        out.append(n & 0x7F | 0x80)
        n >>= 7
    return bytes(out + bytes([n]))
