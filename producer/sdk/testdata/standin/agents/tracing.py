"""A stand-in of the published interface of tracing in the OpenAI Agents SDK, and a runner that
emits traces as the SDK does. It posts to the Responses API."""
import abc
from types import SimpleNamespace

from langchain_core.callbacks import post


class TracingProcessor(abc.ABC):
    @abc.abstractmethod
    def on_trace_start(self, trace): ...

    @abc.abstractmethod
    def on_trace_end(self, trace): ...

    @abc.abstractmethod
    def on_span_start(self, span): ...

    @abc.abstractmethod
    def on_span_end(self, span): ...

    @abc.abstractmethod
    def shutdown(self): ...

    @abc.abstractmethod
    def force_flush(self): ...


class Response:
    """An object of the openai package."""

    def __init__(self, told):
        self._told = told

    def model_dump(self, exclude_unset=False):
        return self._told


def run(base, agent, tools, system, prompt, call, processor):
    trace = SimpleNamespace(trace_id="trace_1", name="Agent workflow", group_id=prompt)
    processor.on_trace_start(trace)
    outer = SimpleNamespace(trace_id="trace_1", span_id="span_1", parent_id=None, span_data=SimpleNamespace(type="agent", name=agent))
    processor.on_span_start(outer)
    items = [{"role": "user", "content": prompt}]
    for n in range(5):
        span = SimpleNamespace(trace_id="trace_1", span_id=f"span_{n + 2}", parent_id="span_1", span_data=SimpleNamespace(type="response", input=list(items), response=None))
        processor.on_span_start(span)
        told = post(f"{base}/v1/responses", {"model": "gpt-5", "instructions": system, "tools": tools, "input": items})
        span.span_data.response = Response({**told, "instructions": system, "tools": tools})
        processor.on_span_end(span)
        calls = [item for item in told["output"] if item["type"] == "function_call"]
        items += told["output"]
        items += [{"type": "function_call_output", "call_id": c["call_id"], "output": call(c["arguments"])} for c in calls]
        if not calls:
            break
    processor.on_span_end(outer)
    processor.on_trace_end(trace)
    return told["output"][-1]["content"][0]["text"]
