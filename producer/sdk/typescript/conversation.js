import { createHash } from "node:crypto";

const kinds = { // of a piece: its layer, its context kind, and the kind of its content
  system: ["system", "system_prompt", "fixed"], tools: ["tools", "tool_definition", "fixed"], user: ["user", "user_message", "message"],
  assistant: ["assistant", "assistant_message", "message"], reasoning: ["reasoning", "reasoning", "message"],
  tool_call: ["tool_calls", "tool_call", "tool_call"], tool_result: ["tool_results", "tool_result", "tool_result"],
  media: ["media", "unknown", "message"], opaque: ["opaque", "unknown", "message"],
};

/**
 * ModelCall records one model call of a framework: its window, then its answer. Adapters use it. A
 * piece is {of, role, text, toolCallId, name}. A piece that was seen before is the same item. It
 * never throws: a failure is logged, and the framework goes on.
 */
export class ModelCall {
  /** The turn is a Turn, or a function that returns the Turn of now. */
  constructor(turn, fidelity, ids = {}) {
    Object.assign(this, { fidelity, pieces: 0 });
    this.#safely(() => {
      this.turn = typeof turn === "function" ? turn() : turn;
      this.call = this.turn.call(undefined, ids);
    });
  }

  /** window records the items, the assembly and the injection. Reasons say why it is partial. */
  window(pieces, reasons = []) {
    this.#safely(() => {
      this.known = { fidelity: this.fidelity, coverage: reasons.length > 0 ? "partial" : "complete", ...(reasons.length > 0 && { coverage_reasons: reasons }) };
      this.call.inject(this.call.assemble(this.#items(pieces), this.known), "message_history");
    });
  }

  /** answer records the items of the answer, and the usage. */
  answer(pieces, { usage = {}, ...more } = {}) {
    this.#safely(() => {
      this.#items(pieces, this.call.id);
      this.call.usage(defined(usage), { ...this.known, ...defined(more) });
    });
  }

  #items(pieces, callId) {
    const items = this.turn.run.log.pieces;
    const seen = new Map();
    return pieces.map(({ of, role, text, toolCallId, name }) => {
      const print = createHash("sha256").update(JSON.stringify([of, role, text, toolCallId])).digest("base64");
      const nth = callId ? items.get(print)?.length ?? 0 : seen.get(print) ?? 0; // an answer is new
      seen.set(print, nth + 1);
      if (!items.has(print)) items.set(print, []);
      const [layer, context_kind, kind] = kinds[of];
      items.get(print)[nth] ??= this.turn.add({ id: `${this.call.id}/${this.pieces++}`, kind, layer, role, text, toolCallId, name, callId, context_kind });
      return items.get(print)[nth];
    });
  }

  #safely(record) {
    try {
      if (!this.failed) record();
    } catch (error) {
      this.failed = true;
      const log = this.turn?.client.log ?? ((line) => console.warn(line));
      log(`ctxledger: a model call is not recorded: ${error.message}`);
    }
  }
}

/** json returns a JSON text without spaces. A string that is no JSON stays as it is. */
export function json(value) {
  try {
    return JSON.stringify(typeof value === "string" ? JSON.parse(value) : value) ?? "";
  } catch {
    return String(value);
  }
}

/** tool returns the piece of a tool's definition. */
export function tool(name, description, parameters) {
  return { of: "tools", name, text: JSON.stringify({ name, description, parameters }) };
}

/** ordered returns pieces in the order of a window: the leading system messages, the tools, the rest. */
export function ordered(messages, tools) {
  const at = messages.findIndex((piece) => piece.of !== "system");
  const first = at < 0 ? messages.length : at;
  return [...messages.slice(0, first), ...tools, ...messages.slice(first)];
}

/** less returns a difference of two reported numbers, or undefined if one is not reported. */
export function less(total, part) {
  return Number.isFinite(total) && Number.isFinite(part) ? total - part : undefined;
}

function defined(object) {
  return Object.fromEntries(Object.entries(object).filter(([, value]) => value !== undefined && value !== null));
}
