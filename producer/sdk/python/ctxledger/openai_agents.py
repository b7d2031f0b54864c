"""A tracing processor of the OpenAI Agents SDK. It was run against a stand-in of the published
interface; the package itself was not run."""
from __future__ import annotations

import threading
from typing import Any, Dict, List, Mapping, Optional, Tuple

from agents.tracing import TracingProcessor

from .client import Client
from .conversation import ModelCall, Piece, definition, joined, less, ordered, spoken, text
from .run import Run, Turn


class LedgerProcessor(TracingProcessor):  # type: ignore[misc]
    """LedgerProcessor records the model calls of traces. A trace is a turn. Its session is the
    trace's group, or the trace itself if it has no group. A trace tells a call after it has ended,
    and what a trace lacks is not recorded: the coverage then says partial, and why. Use
    add_trace_processor to add it."""

    def __init__(self, client: Client, **options: Any) -> None:
        """Options are arguments of Client.run, without a session."""
        self.client, self.options = client, options
        self._lock = threading.Lock()
        self._runs: Dict[str, Run] = {}  # by session
        self._traces: Dict[str, Tuple[Turn, Dict[Any, Optional[str]]]] = {}  # the turn and the agents of open traces

    def on_trace_start(self, trace: Any) -> None:
        group = getattr(trace, "group_id", None)
        session = group or trace.trace_id
        with self._lock:
            run = self._runs.get(session) or self.client.run(**{"agent": trace.name, **self.options, "session": session})
            if group:
                self._runs[session] = run
            if len(self._runs) > 1000:
                del self._runs[next(iter(self._runs))]  # a later trace opens another run
            self._traces[trace.trace_id] = run.turn(trace.trace_id), {}

    def on_span_start(self, span: Any) -> None:
        with self._lock:
            _, agents = self._traces.get(span.trace_id, (None, {}))
            agents[span.span_id] = span.span_data.name if span.span_data.type == "agent" else agents.get(span.parent_id)

    def on_span_end(self, span: Any) -> None:
        turn, agents = self._traces.get(span.trace_id, (None, {}))
        if turn is None or span.span_data.type not in ("generation", "response"):
            return
        call = ModelCall(turn, "reported", agent=agents.get(span.span_id))
        (_response if span.span_data.type == "response" else _generation)(call, span.span_data)

    def on_trace_end(self, trace: Any) -> None:
        turn, _ = self._traces.pop(trace.trace_id, (None, {}))
        try:
            if turn:
                turn.seal()
        except Exception as error:  # the framework must not notice
            self.client.log(f"ctxledger: the turn {trace.trace_id} is not stored yet: {error}")

    def force_flush(self) -> None:
        self.client.flush()

    def shutdown(self) -> None:
        self.client.flush()


def _response(call: ModelCall, data: Any) -> None:
    """_response records a call of the Responses API. Its response repeats instructions and tools."""
    told = _plain(data.response) or {}
    reasons = [reason for reason, lacks in (
        ("entries_missing", data.input is None), ("system_unknown", "instructions" not in told), ("tools_unknown", "tools" not in told),
        ("previous_unobserved", bool(told.get("previous_response_id"))),
    ) if lacks]
    system: List[Piece] = [{"of": "system", "text": told["instructions"]}] if isinstance(told.get("instructions"), str) else []
    items = [{"role": "user", "content": data.input}] if isinstance(data.input, str) else data.input or []
    tools = [definition(one) for one in told.get("tools") or []]
    call.window(ordered([*system, *(piece for item in items for piece in _item(_plain(item)))], tools), reasons)
    if told:
        spoken = [piece for item in told.get("output") or [] for piece in _item(item)]
        call.answer(
            spoken, _bill(told.get("usage")), answered_model=told.get("model"), provider_message_id=told.get("id"), stop_reason=told.get("status"),
            provider_usage=told.get("usage"))


def _generation(call: ModelCall, data: Any) -> None:
    """_generation records a call of Chat Completions. Its span has no tools."""
    messages = [piece for one in data.input or [] for piece in _message(one)]
    call.window(ordered(messages, []), ["tools_unknown"] if data.input else ["entries_missing", "system_unknown", "tools_unknown"])
    if data.output:
        call.answer([piece for one in data.output for piece in _message(one)], _bill(data.usage), model=data.model, provider_usage=data.usage)


def _bill(usage: Optional[Mapping[str, Any]]) -> Dict[str, Any]:
    """_bill returns the usage in disjoint buckets: the APIs count cached tokens in the input, and reasoning in the output."""
    usage = usage or {}
    read = (usage.get("input_tokens_details") or usage.get("prompt_tokens_details") or {}).get("cached_tokens")
    reasoning = (usage.get("output_tokens_details") or usage.get("completion_tokens_details") or {}).get("reasoning_tokens")
    total, answered = usage.get("input_tokens", usage.get("prompt_tokens")), usage.get("output_tokens", usage.get("completion_tokens"))
    return {
        "uncached_input_tokens": less(total, read), "cache_read_tokens": read, "output_tokens": less(answered, reasoning or 0), "reasoning_tokens": reasoning,
    }


def _item(item: Mapping[str, Any]) -> List[Piece]:
    """_item returns the pieces of an item of the Responses API."""
    kind, about = item.get("type", "message"), {"tool_call_id": item.get("call_id"), "name": item.get("name")}
    if kind == "message":
        return spoken(item.get("content"), str(item.get("role")))
    if kind == "function_call":
        return [{"of": "tool_call", "text": text(item.get("arguments")), **about}]
    if kind == "function_call_output":
        return [{"of": "tool_result", "text": joined(item.get("output")), **about}]
    if kind == "reasoning":
        parts = [*(item.get("summary") or []), *(item.get("content") or [])]
        return [{"of": "reasoning", "role": "assistant", "text": "\n".join(str(part.get("text")) for part in parts)}]
    return [{"of": "opaque", "text": text(item)}]


def _message(one: Mapping[str, Any]) -> List[Piece]:
    """_message returns the pieces of a message of Chat Completions: its content, then its tool calls."""
    role = str(one.get("role"))
    if role == "tool":
        return [{"of": "tool_result", "role": role, "text": joined(one.get("content")), "tool_call_id": one.get("tool_call_id")}]
    calls = [(call, call.get("function") or {}) for call in one.get("tool_calls") or []]
    return [*spoken(one.get("content"), role), *(
        {"of": "tool_call", "role": role, "text": text(f.get("arguments", call)), "tool_call_id": call.get("id"), "name": f.get("name")} for call, f in calls)]


def _plain(value: Any) -> Any:
    """_plain returns a mapping for an object of the openai package."""
    return value.model_dump(exclude_unset=True) if hasattr(value, "model_dump") else value
