import { uuidv7 } from "./key.js";
import { blockBytes, candidateBytes, chunk, maxPartBytes, partOf, segmentBytes, textBytes, tooMany, truncationBytes, withMetadata } from "./part.js";

const logged = { message: "message", tool_call: "function_call", tool_result: "function_call_output" };
const strategies = {
  drop_retrieved: "defer_to_retrieval", trim_messages: "truncate_middle", summarize_messages: "summarize_oldest", compact_tool_outputs: "custom",
};
const sealed = {
  "context.surface.created": ["surface_refs", "surface_id"], "context.item.added": ["item_refs", "item_id"],
  "context.selection.completed": ["selection_refs", "selection_id"], "context.assembly.created": ["assembly_refs", "assembly_id"],
  "context.injection.applied": ["injection_refs", "injection_id"], "context.compaction.completed": ["compaction_refs", "compaction_id"],
  "context.missing.detected": ["missing_context_refs", "missing_id"],
};

/** Lineage is the last call of the calls that share a prompt cache. */
class Lineage {
  last = null; // milliseconds
  layers = new Map();
}

/** Log numbers the entries of a thread's item log, from 0. */
export class Log {
  next = 0;
  tokens = 0;
  positions = new Map();
  pieces = new Map(); // that adapters have seen, by content
  lineage = new Lineage();
}

/** Run is one run of a session. Its helpers have the names of Go's package producer. */
export class Run {
  constructor(client, ids, log, lineage, depth, maxDepth) {
    Object.assign(this, { client, ids, log, lineage, depth, maxDepth });
  }

  static open(client, { id = uuidv7(), session, thread = session, agent, resource, task, attempt, maxDepth = 0, ...scope }) {
    if (!session) throw new Error("a run needs a session");
    const ids = { sessionid: session, threadid: thread, runid: id, rootrunid: id, agent, resourceid: resource, taskid: task, attemptid: attempt };
    const log = client.itemLog(session, thread);
    const run = new Run(client, ids, log, log.lineage, 0, maxDepth);
    run.record("context.scope.opened", { run_id: id, root_run_id: id, thread_id: thread, scope_kind: "agent", depth: 0, max_depth: maxDepth, ...scope });
    return run;
  }

  /** child opens a run below this one. Thread and agent default to the parent's. */
  child({ id = uuidv7(), thread = this.ids.threadid, agent = this.ids.agent, ...scope } = {}) {
    if (this.depth >= this.maxDepth) throw new Error(`the run allows a depth of ${this.maxDepth}; open it with a larger maxDepth`);
    const ids = { ...this.ids, threadid: thread, runid: id, parentrunid: this.ids.runid, agent };
    const run = new Run(this.client, ids, this.client.itemLog(ids.sessionid, thread), new Lineage(), this.depth + 1, this.maxDepth);
    run.record("context.scope.opened", {
      run_id: id, parent_run_id: this.ids.runid, root_run_id: ids.rootrunid, thread_id: thread, parent_thread_id: this.ids.threadid,
      ...(thread !== this.ids.threadid && { thread_overridden: true }), scope_kind: "subagent", depth: run.depth, max_depth: this.maxDepth, ...scope,
    });
    return run;
  }

  /** record records any fact with the ids of the run. */
  record(type, fact) {
    return this.client.record(type, fact, this.ids);
  }

  /** turn begins a turn. With maxTokens, the size of the model's window, select records the budget too. */
  turn(id = uuidv7(), model = {}) {
    return new Turn(this, id, model);
  }
}

/** Turn is one user turn. It collects the list of its facts for the seal. */
export class Turn {
  #used = [];
  #refs = {};
  #budget;

  constructor(run, id, model) {
    Object.assign(this, { run, id, model, client: run.client, sealed: false });
    this.ids = { ...run.ids, turnid: id, contextid: `ctx:${id}` };
  }

  /** record records any fact with the ids of the turn, and its record in the seal. */
  record(type, fact, more = {}) {
    if (this.sealed) throw new Error("the turn is sealed");
    const queued = this.client.record(type, fact, { ...this.ids, ...more }, (sequence) => use(this.#used, sequence));
    if (!queued) return false;
    if (type === "context.budget.applied") this.#budget = fact.budget_id;
    if (sealed[type]) {
      const [list, member] = sealed[type];
      this.#refs[list] ??= [];
      if (this.#refs[list].at(-1) !== fact[member]) this.#refs[list].push(fact[member]);
    }
    return true;
  }

  /**
   * add records a piece of content as an item, and an entry of the item log for messages and
   * tool calls. The text is masked, sized and digested, and stays in the process: send the text
   * of the result to the model. Other members are those of the fact context.item.added.
   */
  add({ id, text = "", kind, role, layer, tokens, estimator = "stated", toolCallId, name, callId, policy_refs = [], ...item }) {
    const { text: masked, hits } = this.client.guard.mask(text);
    const more = toolCallId ? { toolcallid: toolCallId } : {};
    const refs = [...policy_refs];
    for (const { policy_ref } of hits) if (!refs.includes(policy_ref)) refs.push(policy_ref);
    for (const fact of this.client.redactions(id, id, new Map(hits.map((hit) => [hit, ["content"]])))) {
      this.record("context.redaction.applied", { ...fact, call_id: callId }, more);
    }
    const size = Buffer.byteLength(masked);
    if (tokens === undefined) [tokens, estimator] = [Math.ceil(size / 4), "bytes/4"];
    const fact = {
      item_id: id, context_kind: kind === "summary" ? "computed_summary" : "message", content_mode: kind === "summary" ? "summary" : "opaque",
      visibility: ["model"], layer, role, byte_size: size, content_digest: this.client.key?.digest(masked), token_estimate: tokens, estimator,
      ...(refs.length > 0 && { policy_refs: refs }), ...(hits.length > 0 && { redaction_state: "masked", redaction_reason: hits[0].reason }), ...item,
    };
    this.record("context.item.added", fact, more);
    const log = this.run.log;
    if (logged[kind]) {
      const entry = {
        log_item_id: id, log_id: this.ids.threadid, item_type: logged[kind], position: log.next, role, name, tool_call_id: toolCallId, call_id: callId,
        item_ref: id, tokens, byte_size: size, content_digest: fact.content_digest,
      };
      if (this.record("context.log.appended", entry, more)) {
        log.positions.set(id, log.next++);
        log.tokens += tokens;
      }
    }
    return { id, kind, layer, role, tokens, estimator, digest: fact.content_digest, redaction_state: fact.redaction_state, text: masked };
  }

  /** redact withholds a value from now on, and records its redaction in the target. */
  redact({ target_ref, value, reason, policy_ref }) {
    this.client.guard.withhold(value, { reason, policy_ref });
    for (const fact of this.client.redactions(target_ref, target_ref, new Map([[{ value, reason, policy_ref }, ["content"]]]))) {
      this.record("context.redaction.applied", fact);
    }
  }

  /**
   * missing records a known gap and the request to its owner. The user_summary is shown to users,
   * and must hold no secret.
   */
  missing({ missing_id = uuidv7(), ...gap }) {
    for (const name of ["question", "requested_from", "requested_action", "user_summary"]) if (!gap[name]) throw new Error(`a gap needs ${name}`);
    const fact = { missing_id, ...gap };
    this.record("context.missing.detected", { ...fact, status: "open" });
    this.record("context.missing.requested", { ...fact, status: "requested" });
    return new Gap(this, pick(fact, ["missing_id", "scope", "call_id", "question", "requested_from", "user_summary"]));
  }

  /** call begins a model call. Its facts have the further ids. */
  call(id = uuidv7(), ids = {}) {
    return new Call(this, id, ids);
  }

  /**
   * seal records the turn's envelope as its last fact, and returns when the turn is stored in
   * the stream, or in the outbox. The receipt also counts the events that were refused.
   */
  async seal() {
    if (!this.sealed && !this.client.record("context.envelope.created", (sequence) => this.#envelope(sequence), this.ids, (sequence) => use(this.#used, sequence))) {
      throw new Error("the queue is full, or the guard refused an id; the turn is not sealed");
    }
    this.sealed = true;
    const stored = await this.client.store();
    return { context_id: this.ids.contextid, sequences: this.#used, stored, refused: this.client.refused };
  }

  #envelope(sequence) {
    const ranges = this.#used.map((range) => [...range]);
    use(ranges, sequence);
    const seal = {
      context_id: this.ids.contextid, scope: "turn", lifecycle: "injected", producer: this.client.source, runtime_refs: [{ kind: "turn", id: this.id }],
      ...this.#refs, budget_ref: this.#budget, sequences: [{ source: this.client.source, ranges }],
    };
    if (this.client.fits("context.envelope.created", seal)) return seal;
    for (const list of Object.keys(this.#refs)) delete seal[list];
    return { ...seal, metadata: { refs_left_out: Object.values(this.#refs).flat().length } };
  }
}

/** use adds a sequence to closed ranges in order. */
function use(ranges, sequence) {
  if (ranges.at(-1)?.[1] === sequence - 1) ranges.at(-1)[1] = sequence;
  else ranges.push([sequence, sequence]);
}

/** Call is one model call of a turn. */
export class Call {
  #budget;
  #window = null; // of the assembly for the model

  constructor(turn, id, ids = {}) {
    Object.assign(this, { turn, id, ids });
  }

  /** record records any fact with the ids of the call. */
  record(type, fact) {
    return this.turn.record(type, fact, this.ids);
  }

  /**
   * select records the candidates, in the order of the window, and the decision: each is selected,
   * or omitted with a reason. It returns the selected ones. Pressure are the rungs of the ladder
   * that ran. If the turn has a window, its budget is recorded too. Other members are those of
   * context.selection.completed.
   */
  select(candidates, { omitted = [], scores = {}, pressure = [], pressure_policy, surface = {}, ...selection } = {}) {
    const { turn, id } = this;
    const out = new Map(omitted.map((one) => [one.id, one]));
    for (const name of out.keys()) if (!candidates.some((item) => item.id === name)) throw new Error(`the omitted ${JSON.stringify(name)} is no candidate`);
    const refs = candidates.map((item) => item.id);
    this.#budget = turn.model.maxTokens ? `budget:${id}` : undefined;
    const window = candidates.filter((item) => !out.has(item.id));
    const policy = pressure_policy?.name;
    for (const [i, part, n] of numbered(chunk(refs, textBytes))) {
      const about = i === 0 ? surface : pick(surface, ["visibility"]);
      this.record("context.surface.created", {
        surface_id: `surface:${id}`, scope: "turn", surface_kind: "model_call", visibility: ["model"], ...about, available_item_refs: part,
        ...withMetadata(about.metadata, partOf(i, n)),
      });
    }
    let rank = 0;
    for (const [i, part, n] of numbered(chunk(candidates, (item) => candidateBytes(item, scores[item.id], out.get(item.id))))) {
      const [chosen, left] = [[], []];
      for (const item of part) {
        const decision = { item_ref: item.id, ...pick(scores[item.id] ?? {}, ["score", "signals"]), tokens: item.tokens };
        if (out.has(item.id)) left.push({ ...decision, ...pick(out.get(item.id), ["reason", "note"]) });
        else chosen.push({ ...decision, rank: ++rank });
      }
      this.record("context.selection.completed", {
        selection_id: `selection:${id}`, surface_id: `surface:${id}`, call_id: id, model_ref: turn.model.name, candidate_item_refs: part.map((item) => item.id),
        selected_item_refs: chosen, ...(left.length > 0 && { omitted_item_refs: left }), selection_policy: policy, budget_ref: this.#budget,
        ...(i === 0 && selection), ...partOf(i, n),
      });
    }
    for (const rung of pressure) {
      for (const [i, part, n] of numbered(chunk(rung.item_refs ?? [], textBytes))) {
        const about = i === 0 ? rung : pick(rung, ["step", "name", "outcome"]);
        this.record("context.pressure.applied", {
          pressure_id: `pressure:${id}:${rung.step}`, call_id: id, policy, model: turn.model.name, ...about, ...(part.length > 0 && { item_refs: part }),
          ...withMetadata(about.metadata, partOf(i, n)),
        });
      }
    }
    if (turn.model.maxTokens) this.#recordBudget(candidates, window, out, pressure, pressure_policy);
    return window;
  }

  #recordBudget(candidates, window, out, rungs, policy) {
    const { name, maxTokens, reservedOutput = 0 } = this.turn.model;
    const sizes = new Map(candidates.map((item) => [item.id, item.tokens]));
    const actual = sum(window);
    const changed = rungs.filter((rung) => rung.outcome !== "skipped" && rung.item_refs?.length > 0);
    const truncated = changed.flatMap((rung) => rung.item_refs.filter((ref) => out.has(ref)).map((ref) => ({
      item_ref: ref, strategy: rung.name, tokens_before: sizes.get(ref), tokens_after: 0, ...pick(out.get(ref), ["reason"]),
    })));
    const parts = chunk(truncated, truncationBytes, maxPartBytes / 2);
    let list = segments(window);
    const fits = list.reduce((total, segment) => total + segmentBytes(segment), 0) <= maxPartBytes / 2;
    if (!fits) list = list.map(({ item_refs, ...segment }) => segment); // the assembly has the items
    const same = { budget_id: this.#budget, call_id: this.id, target: "model", model: name };
    this.record("context.budget.applied", {
      ...same, estimator: common(candidates, "estimator"), max_tokens: maxTokens,
      reserved_tokens: reservedOutput, estimated_prompt_tokens: sum(candidates), actual_tokens: actual, actual_items: window.length,
      overflow_strategy: actual > maxTokens - reservedOutput ? "reject" : strategies[changed.at(-1)?.name],
      ...(rungs.length > 0 && { pressure_policy: policy }), window_segments: list, ...(truncated.length > 0 && { truncation_records: parts[0] }),
      ...withMetadata(!fits && { segment_item_refs: "left_out" }, partOf(0, parts.length)),
    });
    for (const [i, part] of parts.entries()) {
      if (i > 0) this.record("context.budget.applied", { ...same, truncation_records: part, ...withMetadata(partOf(i, parts.length)) });
    }
  }

  /** assemble records the ordered blocks of the window: the items that select, or add, returned. */
  assemble(items, { target = "model", ...assembly } = {}) {
    const id = target === "model" ? this.id : `${this.id}:${target}`;
    const fact = {
      fidelity: "stated", assembly_id: `assembly:${id}`, call_id: this.id, target, budget_ref: this.#budget, visibility: [target],
      source_item_refs: items.map((item) => item.id),
      ordered_blocks: items.map((item, position) => ({
        block: `block:${id}:${position}`, item_refs: [item.id], position, layer: item.layer, role: item.role, tokens: item.tokens, visibility: [target],
        digest: item.digest, redaction_state: item.redaction_state,
      })), ...assembly,
    };
    let queued = true;
    for (const [i, part, n] of numbered(chunk(fact.ordered_blocks, blockBytes))) {
      const refs = part.map((block) => block.item_refs[0]);
      const parts = n > 1 ? { ordered_blocks: part, source_item_refs: refs, ...withMetadata(fact.metadata, partOf(i, n)) } : {};
      queued = this.record("context.assembly.created", { ...fact, ...parts }) && queued;
    }
    if (queued && target === "model") this.#window = [...items];
    return fact;
  }

  /** inject records that an assembly became visible to its target. */
  inject(assembly, injection_point) {
    const blocks = assembly.ordered_blocks;
    const tokens = sum(blocks);
    this.record("context.injection.applied", {
      injection_id: assembly.assembly_id.replace("assembly:", "inject:"), call_id: this.id, assembly_id: assembly.assembly_id, target: assembly.target,
      injection_point, injection_kind: "window",
      ...(chunk(assembly.source_item_refs, textBytes).length === 1 ? { item_refs: assembly.source_item_refs } : { metadata: { item_refs: "of_assembly" } }), ...(Number.isFinite(tokens) && { tokens }),
      redaction_state: common(blocks, "redaction_state"), ...(blocks.length === 1 && { digest: blocks[0].digest }),
    });
  }

  /**
   * usage records the provider's bill of the call, in disjoint buckets, and the assembled window
   * by layer and by use. A bucket that the provider did not report stays out.
   */
  usage(usage, more = {}) {
    const { turn } = this;
    const { lineage } = turn.run;
    const now = Date.now();
    const layers = new Map();
    for (const item of this.#window ?? []) layers.set(item.layer ?? "", [...(layers.get(item.layer ?? "") ?? []), item]);
    const sizes = this.#window ? this.#sizes(this.#window, layers, lineage, now) : {};
    const queued = this.record("context.usage.recorded", { fidelity: "stated", call_id: this.id, model: turn.model.name, ...sizes, usage, ...more });
    if (queued && this.#window) Object.assign(lineage, { last: now, layers: new Map([...layers].map(([name, items]) => [name, print(items)])) });
  }

  #sizes(window, layers, lineage, now) {
    const { ids, depth, log } = this.turn.run;
    const uses = { system_tokens: 0, tools_tokens: 0, history_tokens: 0 };
    for (const item of window) {
      if (item.kind === "retrieved") continue;
      const spoken = ["message", "tool_call", "tool_result", "summary", "stub"].includes(item.kind);
      if (spoken && (!["system", "developer"].includes(item.role) || item.kind === "summary")) uses.history_tokens += item.tokens;
      else uses[item.layer === "tools" ? "tools_tokens" : "system_tokens"] += item.tokens;
    }
    const positions = window.filter((item) => log.positions.has(item.id)).map((item) => log.positions.get(item.id));
    const first = positions.length > 0 ? Math.min(...positions) : undefined;
    return {
      ...uses, total_tokens: sum(window), estimator: common(window, "estimator"),
      layers: [...layers].map(([layer, items]) => ({
        layer, tokens: sum(items), items: items.length, ...(lineage.last !== null && { changed: lineage.layers.get(layer) !== print(items) }),
      })),
      ...(lineage.last !== null && now >= lineage.last && { gap_seconds: (now - lineage.last) / 1000 }),
      lineage_id: depth === 0 ? `t:${ids.threadid}` : `x:${ids.runid}`, assembly_id: `assembly:${this.id}`, window_first_position: first,
      window_next_position: log.next,
      metadata: { log_tokens: log.tokens, ...(first !== undefined && { entries_not_in_window: log.next - first - positions.length }) },
    };
  }

  /**
   * compact records the start of a compaction: a summary is to replace the items of the window
   * whose ids are in source. End it with complete, fail or discard. Lists of items that are too long
   * for one event are left out, and the metadata says so; the source window still names the ends.
   */
  compact(window, source, compaction = {}) {
    const named = window.filter((item) => source.includes(item.id));
    if (named.length === 0 || named.length !== source.length) {
      throw new Error("the source of a compaction is empty, or names an item twice or one that is not in the window");
    }
    const { positions } = this.turn.run.log;
    const [first, last] = [named[0].id, named.at(-1).id];
    const tail = window.slice(window.findLastIndex((item) => item.id === last) + 1).map((item) => item.id);
    const fact = {
      compaction_id: `compaction:${this.id}`, call_id: this.id, scope: "thread", method: "abstractive_summary", trigger: "token_pressure",
      source_item_refs: named.map((item) => item.id), tokens_before: sum(window),
      source_window: {
        thread_id: this.turn.ids.threadid, first_item_ref: first, last_item_ref: last, first_position: positions.get(first), last_position: positions.get(last),
        item_count: named.length, tokens: sum(named),
      },
      replacement_policy: "replace_window", ...(tail.length > 0 && { retained_tail_refs: tail }), ...compaction,
    };
    for (const name of ["source_item_refs", "retained_tail_refs"]) {
      if (!tooMany(fact[name] ?? [])) continue;
      fact[name] = name === "source_item_refs" ? [] : undefined; // the first one is required
      fact.metadata = { ...fact.metadata, [name]: "left_out" };
    }
    this.record("context.compaction.started", fact);
    return new OpenCompaction(this.turn, fact, [...window], named);
  }
}

/** OpenCompaction is a compaction that has started. It ends once. */
export class OpenCompaction {
  #ended = false;
  #window;
  #source;

  constructor(turn, fact, window, source) {
    Object.assign(this, { turn, fact });
    this.#window = window;
    this.#source = source;
  }

  /**
   * complete records the summary, as an item and as a summary, and its replacement of the source.
   * It returns the window after it. Content are members of add.
   */
  complete({ id, text, callId, loss_notes, open_questions, goal_refs, coverage, validation, ...content }) {
    this.#end();
    const { turn } = this;
    const item = turn.add({ id, text, callId, role: "system", layer: "summary", ...content, kind: "summary" });
    const { positions } = turn.run.log;
    const covered = this.#source.filter((one) => positions.has(one.id)).map((one) => positions.get(one.id));
    const refs = this.#source.map((one) => one.id);
    const many = tooMany(refs);
    turn.record("context.summary.created", {
      summary_id: id, summary_kind: "thread_summary", content_digest: item.digest, tokens: item.tokens, byte_size: Buffer.byteLength(item.text),
      source_item_refs: many ? [refs[0], refs.at(-1)] : refs, ...withMetadata(many && { source_item_refs: "first_and_last" }), ...(covered.length > 0 && { covers_through_position: Math.max(...covered) }), loss_notes,
      open_questions, goal_refs, summarizer_call_id: callId,
    });
    const [first] = this.#source;
    const after = this.#window.filter((one) => one === first || !this.#source.includes(one)).map((one) => (one === first ? item : one));
    turn.record("context.compaction.completed", {
      ...this.fact, summary_ref: id, summarizer_call_id: callId, coverage, loss_notes, validation, tokens_after: sum(after),
    });
    return after;
  }

  /** fail records why there is no summary. The reason quotes no content. */
  fail(reason, outcome = {}) {
    this.#end();
    this.turn.record("context.compaction.failed", { ...this.fact, reason, ...outcome });
  }

  /** discard records that a written summary is not used. The reason quotes no content. */
  discard(reason, outcome = {}) {
    this.#end();
    this.turn.record("context.compaction.discarded", { ...this.fact, reason, ...outcome });
  }

  #end() {
    if (this.#ended) throw new Error("the compaction has ended");
    this.#ended = true;
  }
}

/** Gap is missing context that was requested from its owner. */
export class Gap {
  #closed = false;

  constructor(turn, fact) {
    Object.assign(this, { turn, fact, id: fact.missing_id });
  }

  /** resolve records what filled the gap. */
  resolve(...resolution_refs) {
    if (resolution_refs.length === 0) throw new Error("a resolution names the records that filled the gap");
    this.#end({ status: "resolved", resolution_refs });
  }

  /** withdraw records that the gap ended unfilled: its owner declined, or it has expired. */
  withdraw(status) {
    if (!["declined", "expired"].includes(status)) throw new Error("the status is declined or expired");
    this.#end({ status });
  }

  #end(outcome) {
    if (this.#closed) throw new Error("the gap is closed");
    (this.turn.sealed ? this.turn.run : this.turn).record("context.missing.resolved", { ...this.fact, ...outcome });
    this.#closed = true;
  }
}

/** segments groups a window by layer, in the order of the layers' first items. */
function segments(window) {
  const layers = new Map();
  for (const item of window) {
    const layer = item.layer ?? "";
    if (!layers.has(layer)) layers.set(layer, { segment: layer, layer, role: item.role, actual: 0, item_refs: [], order: layers.size });
    const s = layers.get(layer);
    s.actual += item.tokens;
    s.item_refs.push(item.id);
    if (s.role !== item.role) s.role = undefined;
  }
  return [...layers.values()];
}

/** numbered returns parts as [number, part, count of parts]. */
function numbered(parts) {
  return parts.map((part, i) => [i, part, parts.length]);
}

function sum(list) {
  return list.reduce((total, one) => total + one.tokens, 0);
}

function print(items) {
  return JSON.stringify(items.map((item) => [item.id, item.tokens]));
}

/** common returns the value that all objects of a list share, if they share one. */
function common(list, name) {
  return list.every((one) => one[name] === list[0][name]) ? list[0]?.[name] : undefined;
}

function pick(object, names) {
  return Object.fromEntries(names.filter((name) => object[name] !== undefined && object[name] !== null).map((name) => [name, object[name]]));
}
