import { ModelCall, json, less, ordered, tool } from "./conversation.js";

/**
 * LedgerProcessor is a tracing processor of the OpenAI Agents SDK. A trace is a turn. Its session
 * is the trace's group, or the trace itself if it has no group. Each generation and response is
 * a model call. A trace tells a call after it has ended, and what a trace lacks is not recorded:
 * the coverage then says partial, and why. Use addTraceProcessor to add it.
 */
export class LedgerProcessor {
  #runs = new Map(); // by session
  #traces = new Map(); // the turn and the agents of open traces, by trace

  /** The client is open. Options are those of Client.run, without a session. */
  constructor(client, options = {}) {
    Object.assign(this, { client, options });
  }

  async onTraceStart(trace) {
    const session = trace.groupId ?? trace.traceId;
    let run = this.#runs.get(session);
    if (!run) {
      run = this.client.run({ agent: trace.name, ...this.options, session });
      if (trace.groupId) this.#runs.set(session, run);
      if (this.#runs.size > 1000) this.#runs.delete(this.#runs.keys().next().value); // a later trace opens another run
    }
    this.#traces.set(trace.traceId, { turn: run.turn(trace.traceId), spans: new Map() });
  }

  async onSpanStart(span) {
    const { parentId, spanData: data } = span;
    const spans = this.#traces.get(span.traceId)?.spans;
    spans?.set(span.spanId, data.type === "agent" ? data.name : spans.get(parentId)); // the agent of a span
  }

  async onSpanEnd(span) {
    const { turn, spans } = this.#traces.get(span.traceId) ?? {};
    const { spanData: data } = span;
    if (!turn || !["generation", "response"].includes(data.type)) return;
    const call = new ModelCall(turn, "reported", { agent: spans.get(span.spanId) });
    if (data.type === "response") response(call, data);
    else generation(call, data);
  }

  async onTraceEnd(trace) {
    const { turn } = this.#traces.get(trace.traceId) ?? {};
    this.#traces.delete(trace.traceId);
    await turn?.seal().catch((error) => this.client.log(`ctxledger: the turn ${turn.id} is not stored yet: ${error.message}`));
  }

  async forceFlush() {
    await this.client.flush();
  }

  async shutdown(timeout) {
    await this.client.flush(timeout);
  }
}

/** response records a call of the Responses API. Its response repeats instructions and tools. */
function response(call, { _input: input, _response: told }) {
  const reasons = [];
  if (input === undefined) reasons.push("entries_missing");
  if (told?.instructions === undefined) reasons.push("system_unknown");
  if (told?.tools === undefined) reasons.push("tools_unknown");
  if (told?.previous_response_id) reasons.push("previous_unobserved");
  const instructions = typeof told?.instructions === "string" ? [{ of: "system", text: told.instructions }] : [];
  const list = typeof input === "string" ? [{ type: "message", role: "user", content: input }] : input ?? [];
  call.window(ordered([...instructions, ...list.flatMap(piece)], (told?.tools ?? []).map(definition)), reasons);
  if (told) call.answer((told.output ?? []).flatMap(piece), { answered_model: told.model, provider_message_id: told.id, stop_reason: told.status, ...bill(told.usage) });
}

/** generation records a call of Chat Completions. Its span has no tools. */
function generation(call, { input, output, model, usage }) {
  const reasons = input ? ["tools_unknown"] : ["entries_missing", "system_unknown", "tools_unknown"];
  call.window(ordered((input ?? []).flatMap(message), []), reasons);
  const [told] = output ?? [];
  const answer = told?.choices?.[0];
  if (!told) return;
  const spoken = answer ? message(answer.message) : output.flatMap((one) => (one.role ? message(one) : []));
  call.answer(spoken, { model, answered_model: told.model, provider_message_id: told.id, stop_reason: answer?.finish_reason, ...bill(told.usage ?? usage) });
}

/** bill returns the usage in disjoint buckets: the APIs count cached tokens in the input, and reasoning in the output. */
function bill(usage) {
  if (!usage) return {};
  const read = (usage.input_tokens_details ?? usage.prompt_tokens_details)?.cached_tokens;
  const reasoning = (usage.output_tokens_details ?? usage.completion_tokens_details)?.reasoning_tokens;
  return {
    usage: {
      uncached_input_tokens: less(usage.input_tokens ?? usage.prompt_tokens, read), cache_read_tokens: read,
      output_tokens: less(usage.output_tokens ?? usage.completion_tokens, reasoning ?? 0), reasoning_tokens: reasoning,
    },
    provider_usage: usage,
  };
}

function definition(one) {
  return one.type === "function" ? tool(one.name, one.description, one.parameters) : { of: "tools", name: one.name ?? one.type, text: json(one) };
}

/** piece returns the pieces of an item: of the Responses API, or of the SDK, whose names are in camel case. */
function piece(item) {
  const toolCallId = item.call_id ?? item.callId;
  switch (item.type ?? "message") {
    case "message":
      return parts(item.content, item.role);
    case "function_call":
      return [{ of: "tool_call", text: json(item.arguments), toolCallId, name: item.name }];
    case "function_call_output":
    case "function_call_result":
      return [{ of: "tool_result", text: textOf(item.output), toolCallId, name: item.name }];
    case "reasoning":
      return [{ of: "reasoning", role: "assistant", text: [...(item.summary ?? []), ...(item.content ?? [])].map((one) => one.text).join("\n") }];
    default:
      return [{ of: "opaque", text: json(item) }];
  }
}

/** message returns the pieces of a message of Chat Completions: its content, then its tool calls. */
function message({ role, content, tool_calls: calls = [], tool_call_id: toolCallId }) {
  if (role === "tool") return [{ of: "tool_result", role, text: textOf(content), toolCallId }];
  return [...parts(content ?? "", role), ...(calls ?? []).map((one) => (
    { of: "tool_call", role, text: json(one.function?.arguments ?? one), toolCallId: one.id, name: one.function?.name }))];
}

function parts(content, role) {
  const of = role === "developer" ? "system" : role;
  const list = typeof content === "string" ? [{ text: content }] : content;
  return list.filter((one) => one.text !== "").map((one) => (
    typeof one.text === "string" ? { of, role, text: one.text } : { of: /image|file|audio/.test(one.type) ? "media" : "opaque", role, text: json(one) }));
}

function textOf(value) {
  if (typeof value === "string") return value;
  if (typeof value?.text === "string") return value.text;
  return Array.isArray(value) && value.every((one) => typeof one.text === "string") ? value.map((one) => one.text).join("") : JSON.stringify(value);
}
