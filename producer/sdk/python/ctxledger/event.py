"""The ids and the data of an event, and its bytes."""
from __future__ import annotations

import datetime
import json
from collections import deque
from typing import Any, Dict, Mapping

from .key import utf8

MAX_DATA = 64 << 10  # bytes of an event's data
_VERSION = "0.1.0"
IDS = (
    "agent", "resourceid", "sessionid", "threadid", "turnid", "taskid", "runid", "attemptid", "stepid", "toolcallid", "actionid", "contextid",
    "parentrunid", "rootrunid",
)


def data_of(type: str, fact: Mapping[str, Any]) -> Dict[str, Any]:
    """data_of returns the data of the event of a fact."""
    return {"schema_version": _VERSION, "event_type": type, **fact}


def encoded(value: Any) -> bytes:
    """encoded returns a value as JSON. Its errors are TypeError, ValueError and RecursionError."""
    return utf8(json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False, default=_plain))


def _plain(value: Any) -> Any:
    """_plain returns the JSON form of a time, and of an object that is a list."""
    if isinstance(value, datetime.datetime):
        return value.isoformat() if value.tzinfo else value.isoformat() + "Z"
    if isinstance(value, (set, frozenset, deque)):
        return list(value)
    raise TypeError(f"a {type(value).__name__} is not JSON")
