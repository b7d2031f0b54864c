import { ModelCall, json, less, ordered, tool } from "./conversation.js";

/**
 * ledgerMiddleware returns a middleware of the Vercel AI SDK that records each model call: its
 * window before the call, its answer and usage after it. The turn is a Turn, or a function that
 * returns the Turn of now; it stays the caller's to seal. The window is what the SDK hands to the
 * provider's package, which may still change its form.
 */
export function ledgerMiddleware(turn) {
  const begin = ({ params }) => {
    const call = new ModelCall(turn, "stated");
    call.window(ordered(params.prompt.flatMap(message), (params.tools ?? []).map(definition)));
    return call;
  };
  return {
    specificationVersion: "v4",

    async wrapGenerate({ doGenerate, params, model }) {
      const call = begin({ params });
      const result = await doGenerate();
      end(call, model, result.content, result.usage, result.finishReason, result.response);
      return result;
    },

    async wrapStream({ doStream, params, model }) {
      const call = begin({ params });
      const { stream, ...rest } = await doStream();
      const parts = new Map(); // of the answer, by id
      let response = {};
      const tap = new TransformStream({
        transform(chunk, out) {
          out.enqueue(chunk);
          const [, of, step] = /^(text|reasoning)-(start|delta|end)$/.exec(chunk.type) ?? [];
          if (step === "start") parts.set(chunk.id, { type: of, text: "" });
          else if (step === "delta" && parts.has(chunk.id)) parts.get(chunk.id).text += chunk.delta ?? chunk.text ?? "";
          else if (chunk.type === "tool-call") parts.set(chunk.toolCallId, chunk);
          else if (chunk.type === "response-metadata") response = { ...response, ...chunk };
          else if (chunk.type === "finish") end(call, model, [...parts.values()], chunk.usage, chunk.finishReason, response);
        },
      });
      return { stream: stream.pipeThrough(tap), ...rest };
    },
  };
}

function end(call, model, content, usage, reason, response) {
  call.answer(content.flatMap((one) => part(one, "assistant")), {
    model: model.modelId, answered_model: response?.modelId, provider_message_id: response?.id,
    stop_reason: reason?.raw ?? reason?.unified ?? (typeof reason === "string" ? reason : undefined), ...bill(usage),
  });
}

/** bill returns the usage in disjoint buckets. Versions before 6 report totals as numbers. */
function bill({ inputTokens, outputTokens, cachedInputTokens, reasoningTokens, raw } = {}) {
  if (typeof inputTokens !== "object") {
    return { usage: { uncached_input_tokens: less(inputTokens, cachedInputTokens), cache_read_tokens: cachedInputTokens, output_tokens: less(outputTokens, reasoningTokens), reasoning_tokens: reasoningTokens } };
  }
  const { reasoning, text, total } = outputTokens ?? {};
  return {
    usage: {
      uncached_input_tokens: inputTokens.noCache, cache_read_tokens: inputTokens.cacheRead, cache_write_tokens: inputTokens.cacheWrite,
      output_tokens: text ?? (reasoning === undefined ? total : less(total, reasoning)), reasoning_tokens: reasoning,
    },
    provider_usage: raw,
  };
}

function definition({ type, name, description, inputSchema, parameters, ...rest }) {
  return type === "function" ? tool(name, description, inputSchema ?? parameters) : { of: "tools", name, text: json({ type, name, ...rest }) };
}

function message({ role, content }) {
  return typeof content === "string" ? [{ of: role, role, text: content }] : content.flatMap((one) => part(one, role));
}

/** part returns the pieces of a part. Parts of other types are opaque, and have their size. */
function part(one, role) {
  switch (one.type) {
    case "text":
      return one.text === "" ? [] : [{ of: role, role, text: one.text }];
    case "reasoning":
      return one.text === "" ? [] : [{ of: "reasoning", role, text: one.text }];
    case "tool-call":
      return [{ of: "tool_call", role, text: json(one.input ?? one.args), toolCallId: one.toolCallId, name: one.toolName }];
    case "tool-result":
      return [{ of: "tool_result", role, text: result(one.output ?? one.result), toolCallId: one.toolCallId, name: one.toolName }];
    case "file":
      return [{ of: "media", role, text: json(one) }];
    case "source":
      return []; // a citation, which the provider adds to its answer
    default:
      return [{ of: "opaque", role, text: json(one) }];
  }
}

function result(output) {
  switch (output?.type) {
    case "text":
    case "error-text":
      return output.value;
    case "execution-denied":
      return output.reason ?? "";
    default:
      return JSON.stringify(output?.value ?? output);
  }
}
