"""A stand-in of the published interface of LangChain's callbacks, and a chat model that calls them
as LangChain does. It posts to Chat Completions."""
import json
import urllib.request
import uuid
from types import SimpleNamespace


class BaseCallbackHandler:
    raise_error = run_inline = False


class Message(SimpleNamespace):
    pass


class Chat:
    def __init__(self, base, tools):
        self.base, self.tools = base, tools

    def invoke(self, messages, callbacks):
        run = uuid.uuid4()
        params = {"model": "gpt-5", "model_name": "gpt-5", "tools": self.tools, "_type": "openai-chat"}
        for handler in callbacks:
            handler.on_chat_model_start({"name": "Chat"}, [messages], run_id=run, parent_run_id=None, tags=[], metadata={}, invocation_params=params, name="Chat")
        told = post(f"{self.base}/v1/chat/completions", {"model": "gpt-5", "messages": [wire(m) for m in messages], "tools": self.tools})
        message, usage = told["choices"][0]["message"], told["usage"]
        read = usage["prompt_tokens_details"]["cached_tokens"]
        answer = Message(
            type="ai", content=message.get("content") or "", id="run-1", response_metadata={"model_name": told["model"], "finish_reason": told["choices"][0]["finish_reason"], "id": told["id"]},
            usage_metadata={"input_tokens": usage["prompt_tokens"], "output_tokens": usage["completion_tokens"], "total_tokens": 0, "input_token_details": {"cache_read": read}},
            tool_calls=[{"name": c["function"]["name"], "args": json.loads(c["function"]["arguments"]), "id": c["id"], "type": "tool_call"} for c in message.get("tool_calls") or []])
        for handler in callbacks:
            handler.on_llm_end(SimpleNamespace(generations=[[SimpleNamespace(message=answer, text="")]], llm_output=None), run_id=run, parent_run_id=None)
        return answer


def post(url, body):
    request = urllib.request.Request(url, json.dumps(body).encode(), {"content-type": "application/json"})
    with urllib.request.urlopen(request, timeout=10) as response:
        return json.load(response)


def wire(m):
    role = {"human": "user", "ai": "assistant"}.get(m.type, m.type)
    out = {"role": role, "content": m.content}
    if m.type == "tool":
        out["tool_call_id"] = m.tool_call_id
    if getattr(m, "tool_calls", None):
        out["tool_calls"] = [{"id": c["id"], "type": "function", "function": {"name": c["name"], "arguments": json.dumps(c["args"])}} for c in m.tool_calls]
    return out
