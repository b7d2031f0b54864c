"""The model calls of a framework, for adapters."""
from __future__ import annotations

import hashlib
import json
import logging
from typing import Any, Callable, Dict, List, Mapping, Optional, Sequence, Union

from .run import Call, Item, Turn

Piece = Dict[str, Any]
_KINDS = {  # of a piece: its layer, its context kind, and the kind of its content
    "system": ("system", "system_prompt", "fixed"), "tools": ("tools", "tool_definition", "fixed"), "user": ("user", "user_message", "message"),
    "assistant": ("assistant", "assistant_message", "message"), "reasoning": ("reasoning", "reasoning", "message"),
    "tool_call": ("tool_calls", "tool_call", "tool_call"), "tool_result": ("tool_results", "tool_result", "tool_result"),
    "media": ("media", "unknown", "message"), "opaque": ("opaque", "unknown", "message"),
}


class ModelCall:
    """ModelCall records one model call of a framework: its window, then its answer. A piece has the
    members of, role, text, tool_call_id and name. A piece that was seen before is the same item. It
    never raises: a failure is logged, and the framework goes on."""

    def __init__(self, turn: Union[Turn, Callable[[], Turn]], fidelity: str, **ids: Optional[str]) -> None:
        """The turn is a Turn, or a function that returns the Turn of now."""
        self._known: Dict[str, Any] = {"fidelity": fidelity}
        self._pieces, self._failed = 0, False
        self._call: Call
        self._safely(lambda: setattr(self, "_call", (turn() if callable(turn) else turn).call(None, **ids)))

    def window(self, pieces: Sequence[Piece], reasons: Sequence[str] = ()) -> None:
        """window records the items, the assembly and the injection. Reasons say why it is partial."""
        self._known.update(coverage="partial", coverage_reasons=list(reasons)) if reasons else self._known.update(coverage="complete")
        self._safely(lambda: self._call.inject(self._call.assemble(self._items(pieces, False), **self._known), "message_history"))

    def answer(self, pieces: Sequence[Piece], usage: Mapping[str, Any], **more: Any) -> None:
        """answer records the items of the answer, and the usage."""
        def record() -> None:
            self._items(pieces, True)
            reported = {name: value for name, value in usage.items() if value is not None}
            self._call.usage(more={**self._known, **{name: value for name, value in more.items() if value is not None}}, **reported)
        self._safely(record)

    def _items(self, pieces: Sequence[Piece], answer: bool) -> List[Item]:
        turn, items = self._call.turn, self._call.turn.run.log.pieces
        found: List[Item] = []
        seen: Dict[bytes, int] = {}
        with turn.client.lock:
            for piece in pieces:
                of = piece["of"]
                print = hashlib.sha256(json.dumps([of, piece.get("role"), piece["text"], piece.get("tool_call_id")]).encode()).digest()
                same = items.setdefault(print, [])
                nth = len(same) if answer else seen.get(print, 0)  # an answer is new
                seen[print] = nth + 1
                if nth == len(same):
                    layer, context_kind, kind = _KINDS.get(of, _KINDS["opaque"])
                    same.append(turn.add(
                        f"{self._call.id}/{self._pieces}", piece["text"], kind=kind, layer=layer, role=piece.get("role"), context_kind=context_kind,
                        tool_call_id=piece.get("tool_call_id"), name=piece.get("name"), call_id=self._call.id if answer else None))
                    self._pieces += 1
                found.append(same[nth])
        return found

    def _safely(self, record: Callable[[], None]) -> None:
        if self._failed:
            return
        try:
            record()
        except Exception as error:  # the framework must not notice
            self._failed = True
            call = getattr(self, "_call", None)
            say = call.turn.client.log if call else logging.getLogger("ctxledger").warning
            say(f"ctxledger: a model call is not recorded: {error}")


def text(value: Any) -> str:
    """text returns a value as the JSON that a model receives, without spaces. A string that is no
    JSON stays as it is."""
    if isinstance(value, str):
        try:
            value = json.loads(value)
        except ValueError:
            return value
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False, default=str)


def tool(name: Any, description: Any, parameters: Any) -> Piece:
    """tool returns the piece of a tool's definition."""
    members = {"name": name, "description": description, "parameters": parameters}
    return {"of": "tools", "name": name, "text": text({n: v for n, v in members.items() if v is not None})}


def definition(one: Mapping[str, Any]) -> Piece:
    """definition returns the piece of a tool in the form of a provider."""
    function = one.get("function") or one
    schema = function.get("parameters") or function.get("input_schema")
    return tool(function.get("name"), function.get("description"), schema) if schema else {"of": "tools", "name": one.get("name"), "text": text(one)}


def ordered(messages: List[Piece], tools: List[Piece]) -> List[Piece]:
    """ordered returns pieces in the order of a window: the leading system messages, the tools, the rest."""
    first = next((n for n, piece in enumerate(messages) if piece["of"] != "system"), len(messages))
    return [*messages[:first], *tools, *messages[first:]]


def less(total: Optional[int], part: Optional[int]) -> Optional[int]:
    """less returns a difference of two reported numbers, or None if one is not reported."""
    return None if total is None or part is None else total - part


def spoken(content: Any, role: str) -> List[Piece]:
    """spoken returns the pieces of a message's content: a text, or a list of parts."""
    of, found = {"developer": "system"}.get(role, role), []
    for part in [{"type": "text", "text": content}] if isinstance(content, str) else content or []:
        part = {"type": "text", "text": part} if isinstance(part, str) else part
        kind = str(part.get("type"))
        if kind in ("text", "input_text", "output_text"):
            found += [{"of": of, "role": role, "text": part["text"]}] if part.get("text") else []
        elif kind in ("thinking", "reasoning"):
            found.append({"of": "reasoning", "role": role, "text": str(part.get("thinking") or part.get("reasoning") or text(part))})
        elif kind not in ("tool_use", "tool_call", "function_call", "input_json_delta"):  # those are also in the tool calls
            media = any(word in kind for word in ("image", "file", "audio"))
            found.append({"of": "media" if media else "opaque", "role": role, "text": text(part)})
    return found


def joined(content: Any) -> str:
    """joined returns the text of a tool's result."""
    if isinstance(content, str):
        return content
    if isinstance(content, list) and all(isinstance(part, dict) and isinstance(part.get("text"), str) for part in content):
        return "".join(part["text"] for part in content)
    return text(content)
