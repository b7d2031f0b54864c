"""A callback handler of LangChain. It was run against a stand-in of the published interface; the
package itself was not run."""
from __future__ import annotations

from typing import Any, Callable, Dict, List, Mapping, Tuple, Union

from langchain_core.callbacks import BaseCallbackHandler

from .conversation import ModelCall, Piece, definition, joined, less, ordered, spoken, text
from .run import Turn

_ROLES = {"human": "user", "ai": "assistant", "AIMessageChunk": "assistant", "function": "tool"}


class LedgerHandler(BaseCallbackHandler):  # type: ignore[misc]
    """LedgerHandler records each call of a chat model. The turn is a Turn, or a function that
    returns the Turn of now; it stays the caller's to seal. The window is what the callback tells,
    before the model's package writes the request. Pass it in the callbacks of a model, a chain or
    an agent."""

    run_inline = True  # the window precedes the answer
    raise_error = False

    def __init__(self, turn: Union[Turn, Callable[[], Turn]]) -> None:
        super().__init__()
        self.turn = turn
        self._calls: Dict[Any, Tuple[ModelCall, Any]] = {}  # that have no answer yet, by run

    def on_chat_model_start(self, serialized: Any, messages: List[List[Any]], *, run_id: Any, **more: Any) -> None:
        params: Mapping[str, Any] = more.get("invocation_params") or {}
        call = ModelCall(self.turn, "reported")
        instructions: List[Piece] = [{"of": "system", "text": params["instructions"]}] if params.get("instructions") else []
        tools = [definition(one) for one in params.get("tools") or params.get("functions") or []]
        call.window(ordered([*instructions, *(piece for one in messages[0] for piece in _message(one))], tools))
        self._calls[run_id] = call, params.get("model") or params.get("model_name")

    def on_llm_end(self, response: Any, *, run_id: Any, **more: Any) -> None:
        call, model = self._calls.pop(run_id, (None, None))
        answer = getattr(response.generations[0][0], "message", None) if response.generations and response.generations[0] else None
        if call is None or answer is None:
            return
        about = {**(response.llm_output or {}), **(getattr(answer, "response_metadata", None) or {})}
        id = about.get("id") or getattr(answer, "id", None)
        usage = getattr(answer, "usage_metadata", None)
        call.answer(
            _message(answer), _bill(usage), model=model, answered_model=about.get("model_name") or about.get("model"),
            provider_message_id=None if str(id).startswith(("run-", "lc_run-")) else id,
            stop_reason=about.get("finish_reason") or about.get("stop_reason") or about.get("status"), provider_usage=dict(usage) if usage else None)

    def on_llm_error(self, error: BaseException, *, run_id: Any, **more: Any) -> None:
        self._calls.pop(run_id, None)


def _bill(usage: Any) -> Dict[str, Any]:
    """_bill returns the usage in disjoint buckets: LangChain adds the cached tokens to the input."""
    if not usage:
        return {}
    told = usage.get("input_token_details") or {}
    read, written = told.get("cache_read"), told.get("cache_creation")
    reasoning = (usage.get("output_token_details") or {}).get("reasoning")
    return {
        "uncached_input_tokens": less(less(usage.get("input_tokens"), read), written or 0), "cache_read_tokens": read, "cache_write_tokens": written,
        "output_tokens": less(usage.get("output_tokens"), reasoning or 0), "reasoning_tokens": reasoning,
    }


def _message(one: Any) -> List[Piece]:
    """_message returns the pieces of a message: its content, then its tool calls."""
    role = _ROLES.get(one.type, one.type) if one.type != "chat" else one.role
    if role == "tool":
        return [{"of": "tool_result", "role": role, "text": joined(one.content), "tool_call_id": one.tool_call_id, "name": getattr(one, "name", None)}]
    calls = getattr(one, "tool_calls", None) or []
    return [*spoken(one.content, role), *(
        {"of": "tool_call", "role": role, "text": text(call["args"]), "tool_call_id": call.get("id"), "name": call["name"]} for call in calls)]
