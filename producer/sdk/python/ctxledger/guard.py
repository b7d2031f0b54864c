"""The guard keeps withheld values out of all facts. It writes the same text as Go's package redact."""
from __future__ import annotations

import threading
from typing import Any, Dict, List, NamedTuple, Tuple

from .key import holds_word


class Hit(NamedTuple):
    """Hit is a redaction that the guard made."""

    value: str
    policy_ref: str
    reason: str


class Guard:
    """Guard holds values that must reach no fact, in memory only. It masks each exact value in
    every text that the client records. Other forms of a value are found by Go's guard and by
    the fingerprints of the redaction. Safe for concurrent use."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._hits: Dict[str, Hit] = {}

    def __repr__(self) -> str:
        return f"Guard({len(self._hits)} values)"

    def withhold(self, value: str, *, policy_ref: str, reason: str) -> None:
        """withhold adds a value, with the policy and the reason of its redaction. Its errors do
        not hold the value."""
        if not value or not policy_ref or not reason:
            raise ValueError("a withheld value needs a value, a policy_ref and a reason")
        if holds_word(value):
            raise ValueError("the value is a word of the event contract, which every event holds; withhold the secret itself")
        if any(c in '"\\[]%' or not c.isprintable() for c in policy_ref):
            raise ValueError('the policy ref has a control character, or one of "\\[]%; use another policy ref')
        with self._lock:
            refs = {hit.policy_ref for hit in self._hits.values()} | {policy_ref}
            if any(len(v) >= 4 and v.casefold() in ref.casefold() for v in [*self._hits, value] for ref in refs):
                raise ValueError("a value is part of a policy ref, which would publish it; use another policy ref")
            self._hits = {**self._hits, value: self._hits.get(value) or Hit(value, policy_ref, reason)}

    def mask(self, text: str) -> Tuple[str, List[Hit]]:
        """mask returns a text with "[redacted:<policy ref>]" in place of the withheld values, and
        the redactions that it made, each value once."""
        values = self._hits
        found = _find(values, text)
        if not found:
            return text, []
        out, at, i = [], 0, 0
        while i < len(found):
            start, end, ref = found[i][0], found[i][1], values[found[i][2]].policy_ref
            while i < len(found) and found[i][0] < end:
                end = max(end, found[i][1])
                i += 1
            out += [text[at:start], _placeholder(ref)]
            at = end
        masked = "".join(out) + text[at:]
        hits = [values[value] for value in dict.fromkeys(value for _, _, value in found)]
        if _find(values, masked):  # a placeholder and the text around it form a value by chance
            masked = _placeholder(hits[0].policy_ref)
        return masked, hits

    def mask_all(self, value: Any) -> Tuple[Any, List[Hit]]:
        """mask_all returns a copy of a JSON value without the withheld values in any text, name
        or number of 8 digits or more."""
        if not self._hits:
            return value, []
        if isinstance(value, str):
            return self.mask(value)
        hits: List[Hit] = []
        if isinstance(value, dict):
            masked: Any = {}
            for name, member in value.items():
                name, one = self.mask(str(name))
                member, more = self.mask_all(member)
                masked[name] = member
                hits += one + more
        elif isinstance(value, (list, tuple)):
            masked = []
            for element in value:
                element, more = self.mask_all(element)
                masked.append(element)
                hits += more
        elif isinstance(value, (int, float)) and not isinstance(value, bool) and len(str(value)) >= 8 and str(value) in self._hits:
            hits, masked = [self._hits[str(value)]], _placeholder(self._hits[str(value)].policy_ref)
        else:
            masked = value
        return masked, list(dict.fromkeys(hits))


def _placeholder(policy_ref: str) -> str:
    return f"[redacted:{policy_ref}]"


def _find(values: Dict[str, Hit], text: str) -> List[Tuple[int, int, str]]:
    """_find returns the places of the values, by start, the longest first. Placeholders of the
    guard's policies are not searched."""
    found: List[Tuple[int, int, str]] = []
    for value in values:
        at = text.find(value)
        while at >= 0:
            if found and found[-1][2] == value and at < found[-1][1]:
                found[-1] = (found[-1][0], at + len(value), value)
            else:
                found.append((at, at + len(value), value))
            at = text.find(value, at + 1)
    if not found or "[redacted:" not in text:
        return sorted(found, key=lambda f: (f[0], -f[1]))
    spans = []
    for ref in {hit.policy_ref for hit in values.values()}:
        shown = _placeholder(ref)
        at = text.find(shown)
        while at >= 0:
            spans.append((at, at + len(shown)))
            at = text.find(shown, at + 1)
    return sorted((f for f in found if not any(s <= f[0] and f[1] <= e for s, e in spans)), key=lambda f: (f[0], -f[1]))
