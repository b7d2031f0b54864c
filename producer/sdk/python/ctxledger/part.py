"""A fact with lists that are too long for one event is recorded in parts with one record id, as in
Go. Sizes are upper bounds of a list's JSON in bytes."""
from __future__ import annotations

import re
from typing import Any, Callable, Dict, List, Mapping, Optional, Sequence, TypeVar

from .key import utf8

MAX_PART_BYTES = (64 << 10) * 3 // 4
_ESCAPED = re.compile('[\0-\x1f"\\\\]')
_E = TypeVar("_E")


def chunk(items: Sequence[_E], size_of: Callable[[_E], int], limit: int = MAX_PART_BYTES) -> List[List[_E]]:
    """chunk divides a list, in order, into parts of at most limit bytes and at least one element."""
    parts, part, total = [], [], 0  # type: ignore[var-annotated]
    for item in items:
        size = size_of(item)
        if part and total + size > limit:
            parts.append(part)
            part, total = [], 0
        part.append(item)
        total += size
    return [*parts, part]


def part_of(i: int, n: int) -> Optional[Dict[str, Any]]:
    """part_of returns the number of part i of n for a fact's metadata. A fact with one part has none."""
    return None if n == 1 else {"part": i + 1, "parts": n}


def text_bytes(text: Any) -> int:
    """text_bytes returns an upper bound of a text's size in JSON, with quotes and a comma."""
    text = text or ""
    return 3 + len(utf8(text)) + 5 * len(_ESCAPED.findall(text))


def too_many(refs: Sequence[Any]) -> bool:
    """too_many reports whether references take more than their share of one event."""
    return len(chunk(refs, text_bytes, MAX_PART_BYTES // 3)) > 1


def candidate_bytes(id: str, score: Mapping[str, Any], omission: Optional[Mapping[str, Any]]) -> int:
    signals = sum(text_bytes(name) + 32 for name in score.get("signals") or {})
    return 96 + 2 * text_bytes(id) + 32 + signals + (text_bytes(omission.get("note")) if omission else 0)


def block_bytes(block: Mapping[str, Any]) -> int:
    named = sum(text_bytes(block.get(name)) for name in ("layer", "role", "wrapper", "digest", "redaction_state"))
    return 192 + text_bytes(block["block"]) + 2 * text_bytes(block["item_refs"][0]) + named


def segment_bytes(segment: Mapping[str, Any]) -> int:
    return 128 + 2 * text_bytes(segment.get("layer")) + sum(map(text_bytes, segment["item_refs"]))


def truncation_bytes(record: Mapping[str, Any]) -> int:
    return 112 + text_bytes(record["item_ref"]) + text_bytes(record.get("reason"))
