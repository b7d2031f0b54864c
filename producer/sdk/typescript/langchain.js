import { ModelCall, json, less, ordered, tool } from "./conversation.js";

const roles = { human: "user", ai: "assistant", system: "system", developer: "developer", tool: "tool", function: "tool" };

/**
 * LedgerHandler is a callback handler of LangChain that records each call of a chat model. The
 * turn is a Turn, or a function that returns the Turn of now; it stays the caller's to seal. The
 * window is what the callback tells, before the model's package writes the request. Pass it in
 * the callbacks of a model, a chain or an agent.
 */
export class LedgerHandler {
  name = "ctxledger";
  awaitHandlers = true; // the window precedes the answer
  #calls = new Map(); // that have no answer yet, by run

  constructor(turn) {
    this.turn = turn;
  }

  handleChatModelStart(llm, batches, runId, parentRunId, { invocation_params: params = {} } = {}) {
    const call = new ModelCall(this.turn, "reported");
    const tools = params.tools ?? params.functions;
    const instructions = params.instructions ? [{ of: "system", text: params.instructions }] : [];
    call.window(ordered([...instructions, ...batches[0].flatMap((one) => message(one))], (tools ?? []).map(definition)));
    this.#calls.set(runId, { call, model: params.model ?? params.model_name });
  }

  handleLLMEnd({ generations, llmOutput }, runId) {
    const { call, model } = this.#calls.get(runId) ?? {};
    this.#calls.delete(runId);
    const answer = generations?.[0]?.[0]?.message;
    if (!call || !answer) return;
    const about = { ...llmOutput, ...answer.response_metadata };
    call.answer(message(answer), {
      model, answered_model: about.model_name ?? about.model, provider_message_id: providerID(about.id ?? answer.id),
      stop_reason: about.finish_reason ?? about.stop_reason ?? about.status, ...bill(answer.usage_metadata),
    });
  }

  handleLLMError(error, runId) {
    this.#calls.delete(runId);
  }
}

/** providerID leaves out the ids that LangChain itself gives to messages. */
function providerID(id) {
  return /^(run|lc_run)-/.test(id ?? "") ? undefined : id;
}

/** bill returns the usage in disjoint buckets: LangChain adds the cached tokens to the input. */
function bill(usage) {
  if (!usage) return {};
  const { cache_read, cache_creation } = usage.input_token_details ?? {};
  const { reasoning } = usage.output_token_details ?? {};
  return {
    usage: {
      uncached_input_tokens: less(less(usage.input_tokens, cache_read), cache_creation ?? 0), cache_read_tokens: cache_read,
      cache_write_tokens: cache_creation, output_tokens: less(usage.output_tokens, reasoning ?? 0), reasoning_tokens: reasoning,
    },
    provider_usage: usage,
  };
}

function definition(one) {
  const { name, description, parameters, input_schema } = one.function ?? one;
  const schema = parameters ?? input_schema;
  return schema ? tool(name, description, schema) : { of: "tools", name, text: json(one) };
}

/** message returns the pieces of a message: its content, then its tool calls. */
function message(one) {
  const role = one.role && one.getType?.() === "generic" ? one.role : roles[one.getType()] ?? one.getType();
  if (role === "tool") return [{ of: "tool_result", role, text: textOf(one.content), toolCallId: one.tool_call_id, name: one.name }];
  const of = role === "developer" ? "system" : role;
  const list = typeof one.content === "string" ? [{ type: "text", text: one.content }] : one.content;
  const calls = (one.tool_calls ?? []).map(({ id, name, args }) => ({ of: "tool_call", role, text: json(args), toolCallId: id, name }));
  return [...list.flatMap((part) => content(part, of, role)), ...calls];
}

function content(part, of, role) {
  switch (part.type) {
    case "text":
    case "output_text":
    case "input_text":
      return part.text ? [{ of, role, text: part.text }] : [];
    case "thinking":
    case "reasoning":
      return [{ of: "reasoning", role, text: part.thinking ?? part.reasoning ?? json(part) }];
    case "tool_use":
    case "tool_call":
    case "function_call":
    case "input_json_delta":
      return []; // also in the tool calls of the message
    case "image_url":
    case "image":
    case "audio":
    case "file":
      return [{ of: "media", role, text: json(part) }];
    default:
      return [{ of: "opaque", role, text: json(part) }];
  }
}

function textOf(value) {
  if (typeof value === "string") return value;
  if (value.every((part) => part.type === "text")) return value.map((part) => part.text).join("");
  return JSON.stringify(value);
}
