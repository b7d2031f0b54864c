import { uuidv7 } from "./key.js";

const logged = { message: "message", tool_call: "function_call", tool_result: "function_call_output" };

/** Run is one run of a session. Its helpers have the names of Go's package producer. */
export class Run {
  constructor(client, ids, log, depth, maxDepth) {
    Object.assign(this, { client, ids, log, depth, maxDepth });
  }

  static open(client, { id = uuidv7(), session, thread = session, agent, resource, task, attempt, maxDepth = 0, ...scope }) {
    if (!session) throw new Error("a run needs a session");
    const ids = { sessionid: session, threadid: thread, runid: id, rootrunid: id, agent, resourceid: resource, taskid: task, attemptid: attempt };
    const run = new Run(client, ids, { next: 0 }, 0, maxDepth);
    run.record("context.scope.opened", { run_id: id, root_run_id: id, thread_id: thread, scope_kind: "agent", depth: 0, max_depth: maxDepth, ...scope });
    return run;
  }

  /** child opens a run below this one. */
  child({ id = uuidv7(), thread = this.ids.threadid, agent = this.ids.agent, maxDepth = this.maxDepth, ...scope } = {}) {
    if (this.depth >= this.maxDepth) throw new Error(`the run allows a depth of ${this.maxDepth}; open it with a larger maxDepth`);
    const ids = { ...this.ids, threadid: thread, runid: id, parentrunid: this.ids.runid, agent };
    const same = thread === this.ids.threadid;
    const run = new Run(this.client, ids, same ? this.log : { next: 0 }, this.depth + 1, maxDepth);
    run.record("context.scope.opened", {
      run_id: id, parent_run_id: this.ids.runid, root_run_id: ids.rootrunid, thread_id: thread, parent_thread_id: this.ids.threadid,
      thread_overridden: !same, scope_kind: "subagent", depth: run.depth, max_depth: maxDepth, ...scope,
    });
    return run;
  }

  /** record records any fact with the ids of the run. */
  record(type, fact, ids = this.ids) {
    return this.client.record(type, fact, ids);
  }

  /** turn begins a turn. */
  turn(id = uuidv7(), model = {}) {
    return new Turn(this, id, model);
  }
}

/** Turn is one user turn. It collects the list of its facts for the seal. */
export class Turn {
  #used = [];
  #refs = { surface_refs: [], item_refs: [], selection_refs: [], assembly_refs: [], injection_refs: [], compaction_refs: [], missing_context_refs: [] };
  #budget = null;
  #sealed = null;

  constructor(run, id, model) {
    Object.assign(this, { run, id, model, client: run.client });
    this.ids = { ...run.ids, turnid: id, contextid: `context:${id}` };
  }

  /** record records any fact with the ids of the turn, and its record in the seal. */
  record(type, fact, more = {}) {
    if (this.#sealed) throw new Error("the turn is sealed");
    const event = this.client.record(type, fact, { ...this.ids, ...more });
    this.#use(event);
    const list = {
      "context.surface.created": ["surface_refs", "surface_id"], "context.item.added": ["item_refs", "item_id"],
      "context.selection.completed": ["selection_refs", "selection_id"], "context.assembly.created": ["assembly_refs", "assembly_id"],
      "context.injection.applied": ["injection_refs", "injection_id"], "context.compaction.completed": ["compaction_refs", "compaction_id"],
      "context.missing.detected": ["missing_context_refs", "missing_id"],
    }[type];
    if (list && !this.#refs[list[0]].includes(fact[list[1]])) this.#refs[list[0]].push(fact[list[1]]);
    if (type === "context.budget.applied") this.#budget = fact.budget_id;
    return event;
  }

  #use(event) {
    const n = event && Number(event.sequence);
    if (!event) return;
    if (this.#used.at(-1)?.[1] === n - 1) this.#used.at(-1)[1] = n;
    else this.#used.push([n, n]);
  }

  /**
   * add records a piece of content as an item, and an entry of the item log for messages and
   * tool calls. The text is masked, sized and digested, and stays in the process. Other members
   * are those of the fact context.item.added.
   */
  add({ id, text = "", kind, role, layer, tokens, toolCallId, name, ...item }) {
    const { text: masked, hits } = this.client.guard.mask(text);
    const redacted = hits.length > 0 && { redaction_state: "masked", redaction_reason: hits[0].reason, policy_refs: [...new Set(hits.map((hit) => hit.policy_ref))] };
    for (const hit of hits) this.#redaction(id, hit);
    const more = toolCallId ? { toolcallid: toolCallId } : {};
    const size = { byte_size: Buffer.byteLength(masked), ...(this.client.key && { content_digest: this.client.key.digest(masked) }) };
    const estimate = tokens === undefined ? { token_estimate: Math.ceil(Buffer.byteLength(masked) / 4), estimator: "bytes/4" } : { token_estimate: tokens, estimator: "stated" };
    const fact = { item_id: id, context_kind: item.context_kind ?? "message", content_mode: "opaque", visibility: ["model"], layer, role, ...size, ...estimate, ...redacted, ...item };
    this.record("context.item.added", fact, more);
    if (logged[kind]) {
      this.record("context.log.appended", {
        log_item_id: id, log_id: this.ids.threadid, item_type: logged[kind], position: this.run.log.next++, role, name, tool_call_id: toolCallId,
        item_ref: id, tokens: fact.token_estimate, byte_size: fact.byte_size, content_digest: fact.content_digest,
      }, more);
    }
    return { id, layer, role, tokens: fact.token_estimate, digest: fact.content_digest, redaction_state: fact.redaction_state, text: masked };
  }

  #redaction(target, { value, policy_ref, reason }) {
    const fingerprint = this.client.key?.fingerprint(value);
    this.record("context.redaction.applied", {
      redaction_id: `redaction:${target}:${uuidv7()}`, target_ref: target, redaction_state: "masked", method: "exact_value", redacted_fields: ["content"],
      reason, policy_refs: [policy_ref], ...(fingerprint && { fingerprints: [fingerprint] }),
    });
  }

  /** redact withholds a value from now on, and records its redaction from the target. */
  redact({ target_ref, value, reason, policy_ref }) {
    this.client.guard.withhold(value, { reason, policy_ref });
    this.#redaction(target_ref, { value, reason, policy_ref });
  }

  /** missing records a known gap: its question, owner, requested action and safe summary. */
  missing({ missing_id = `missing:${uuidv7()}`, ...gap }) {
    const fact = { missing_id, scope: "turn", ...gap };
    this.record("context.missing.detected", { ...fact, status: "open" });
    return new Gap(this, fact);
  }

  /** call begins a model call. */
  call(id = uuidv7()) {
    return new Call(this, id);
  }

  /**
   * seal records the turn's envelope as its last fact, and returns when the turn is stored in
   * the stream, or in the outbox. The receipt also counts the events that were refused.
   */
  async seal() {
    if (!this.#sealed) {
      const refs = Object.fromEntries(Object.entries(this.#refs).filter(([, list]) => list.length > 0));
      const event = this.client.record("context.envelope.created", (sequence) => {
        this.#use({ sequence });
        return {
          context_id: this.ids.contextid, scope: "turn", lifecycle: "injected", producer: this.client.source, runtime_refs: [{ kind: "turn", id: this.id }],
          ...refs, ...(this.#budget && { budget_ref: this.#budget }), sequences: [{ source: this.client.source, ranges: this.#used }],
        };
      }, this.ids);
      if (!event) throw new Error("the queue is full; the turn is not sealed");
      this.#sealed = { context_id: this.ids.contextid, sequences: this.#used };
    }
    const stored = await this.client.store();
    return { ...this.#sealed, stored, refused: this.client.refused };
  }
}

/** Call is one model call of a turn. */
export class Call {
  constructor(turn, id) {
    Object.assign(this, { turn, id });
  }

  /**
   * select records what was available and the decision: items that were selected, and items
   * that were omitted with a reason. Other members are those of context.selection.completed.
   */
  select({ selected, omitted = [], ...selection }) {
    const refer = (item) => (typeof item === "string" ? { item_ref: item } : { item_ref: item.item_ref ?? item.id, ...pick(item, ["rank", "score", "signals", "tokens", "reason", "note"]) });
    const [chosen, left] = [selected.map(refer), omitted.map(refer)];
    const all = [...chosen, ...left].map((item) => item.item_ref);
    const surface = `surface:${this.id}`;
    this.turn.record("context.surface.created", { surface_id: surface, call_id: this.id, available_item_refs: all });
    this.turn.record("context.selection.completed", {
      selection_id: `selection:${this.id}`, surface_id: surface, call_id: this.id, candidate_item_refs: all, selected_item_refs: chosen, omitted_item_refs: left, ...selection,
    });
  }

  /** assemble records the ordered blocks of the window: the items that add returned. */
  assemble(items, { target = "model", ...assembly } = {}) {
    const fact = {
      assembly_id: `assembly:${this.id}`, call_id: this.id, target, visibility: [target], source_item_refs: items.map((item) => item.id),
      ordered_blocks: items.map((item, position) => ({
        block: `block:${this.id}:${position}`, item_refs: [item.id], position, layer: item.layer, role: item.role, tokens: item.tokens, visibility: [target],
        digest: item.digest, redaction_state: item.redaction_state,
      })), ...assembly,
    };
    this.turn.record("context.assembly.created", fact);
    return fact;
  }

  /** inject records that an assembly became visible to its target. */
  inject(assembly, injection_point) {
    const tokens = assembly.ordered_blocks.reduce((sum, block) => sum + block.tokens, 0);
    this.turn.record("context.injection.applied", {
      injection_id: `inject:${this.id}`, call_id: this.id, assembly_id: assembly.assembly_id, target: assembly.target, injection_point, injection_kind: "window",
      item_refs: assembly.source_item_refs, ...(Number.isFinite(tokens) && { tokens }),
    });
  }

  /** usage records the provider's bill of the call, in disjoint buckets. */
  usage(usage, more = {}) {
    this.turn.record("context.usage.recorded", { call_id: this.id, model: this.turn.model.name, usage, ...more });
  }

  /**
   * compact records that a summary replaces items: the start, and then one end. The result has
   * complete, fail and discard. Each of them takes further members of the fact.
   */
  compact({ compaction_id = `compaction:${this.id}`, source_item_refs, ...more }) {
    const fact = { compaction_id, call_id: this.id, scope: "thread", source_item_refs, method: "abstractive_summary", trigger: "token_pressure", ...more };
    this.turn.record("context.compaction.started", fact);
    let ended = false;
    const end = (type) => (outcome = {}) => {
      if (ended) throw new Error("the compaction has ended");
      ended = true;
      this.turn.record(`context.compaction.${type}`, { ...fact, ...outcome });
    };
    return { complete: end("completed"), fail: end("failed"), discard: end("discarded") };
  }
}

/** Gap is a known gap that is open. */
export class Gap {
  constructor(turn, fact) {
    Object.assign(this, { turn, fact, id: fact.missing_id });
  }

  /** request records that the owner was asked. */
  request() {
    this.turn.record("context.missing.requested", { ...this.fact, status: "requested" });
  }

  /** resolve records what closed the gap. */
  resolve(...resolution_refs) {
    this.turn.record("context.missing.resolved", { ...this.fact, status: "resolved", resolution_refs });
  }

  /** withdraw records that nothing closes the gap: declined, blocked or expired. */
  withdraw(status) {
    this.turn.record("context.missing.resolved", { ...this.fact, status });
  }
}

function pick(object, names) {
  return Object.fromEntries(names.filter((name) => object[name] !== undefined).map((name) => [name, object[name]]));
}
