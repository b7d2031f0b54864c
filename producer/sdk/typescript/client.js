import { promisify } from "node:util";
import { gzip } from "node:zlib";

import { Guard } from "./guard.js";
import { uuidv7 } from "./key.js";
import { Outbox } from "./outbox.js";
import { Run } from "./run.js";

const compress = promisify(gzip);
const version = "0.1.0";
const correlation = ["agent", "resourceid", "sessionid", "threadid", "turnid", "taskid", "runid", "attemptid", "stepid", "toolcallid", "actionid", "contextid", "parentrunid", "rootrunid"];

/** connect returns a client whose outbox, if it has one, is open. */
export async function connect(config = {}) {
  const client = new Client(config);
  await client.open();
  return client;
}

/**
 * Client records facts and sends them to a gateway, in order, in batches. Recording never waits
 * and never throws for a rule of the contract. The gateway judges the events; refused ones are
 * counted and reported.
 */
export class Client {
  #sequences = new Map(); // the next sequence, by session
  #lost = new Map(); // sequences of dropped facts, by session and ids
  #buffer = [];
  #bytes = 0;
  #queue = []; // batches that are not answered yet
  #timer = null;
  #sending = null;
  #keeping = Promise.resolve();
  #events = 0; // events in the buffer and in the queue
  #closed = false;

  constructor({
    url = process.env.CTXLEDGER_URL ?? "http://127.0.0.1:7070", token, runtime = "unnamed", instance = uuidv7(), key = null, guard = new Guard(),
    outbox, linger = 100, maxBatch = 500, maxQueued = 10_000, streamWait = 1000, log = (line) => console.warn(line), fetch = globalThis.fetch,
  } = {}) {
    Object.assign(this, { url: url.replace(/\/$/, ""), token, runtime, key, guard, linger, maxBatch, maxQueued, streamWait, log, fetch });
    this.source = `urn:ctxledger:runtime:${encodeURIComponent(runtime)}:${encodeURIComponent(instance)}`;
    this.outbox = outbox ? new Outbox(outbox) : null;
    /** Events that the gateway stored, and events that it refused. */
    this.stored = 0;
    this.refused = 0;
    /** Facts that found no room. Each loss is a recorded fact. */
    this.dropped = 0;
    /** The last refusals, at most 100: {id, type, violations}. */
    this.refusals = [];
    /** The reason why the oldest events are not stored, or null. */
    this.error = null;
  }

  async open() {
    if (!this.outbox) return;
    for (const name of await this.outbox.waiting()) this.#queue.push({ kept: Promise.resolve(name), documents: null });
    this.#send();
  }

  /** run opens a root run. A run needs a session. */
  run(options) {
    return Run.open(this, options);
  }

  /**
   * record queues one fact and returns its event. The fact is the data without schema_version
   * and event_type, or null if the queue is full. Ids are CloudEvents attributes such as turnid.
   */
  record(type, fact, ids) {
    const session = ids.sessionid;
    const sequence = this.#sequences.get(session) ?? 1;
    this.#sequences.set(session, sequence + 1);
    if (this.#closed || this.#events >= this.maxQueued) {
      this.dropped++;
      const lost = this.#lost.get(session) ?? { sequences: [], ids };
      lost.sequences.push(sequence);
      this.#lost.set(session, lost);
      return null;
    }
    this.#reportLoss(session);
    return this.#add(type, typeof fact === "function" ? fact(sequence) : fact, ids, sequence);
  }

  #reportLoss(session) {
    const lost = this.#lost.get(session);
    if (!lost) return;
    this.#lost.delete(session);
    const ranges = [];
    for (const n of lost.sequences) {
      if (ranges.length > 0 && ranges.at(-1)[1] === n - 1) ranges.at(-1)[1] = n;
      else ranges.push([n, n]);
    }
    // The loss takes the first lost sequence.
    this.#add("context.facts.dropped", {
      drop_id: `drop:${uuidv7()}`, count: lost.sequences.length, reason: "the queue was full", sequences: [{ source: this.source, ranges }],
    }, lost.ids, lost.sequences[0]);
  }

  #add(type, fact, ids, sequence) {
    const id = uuidv7();
    const event = {
      specversion: "1.0", id, source: this.source, type: `dev.ctxledger.${type}.v1`, time: new Date().toISOString(), runtimeid: this.runtime,
      partitionkey: ids.sessionid, sequence: String(sequence).padStart(12, "0"), datacontenttype: "application/json",
    };
    for (const name of correlation) if (ids[name]) event[name] = ids[name];
    event.data = this.guard.maskAll({ schema_version: version, event_type: type, ...fact });
    const document = JSON.stringify(event);
    this.#buffer.push(document);
    this.#bytes += document.length;
    this.#events++;
    if (this.#buffer.length >= this.maxBatch || this.#bytes > 2 << 20) this.#cut();
    else this.#timer ??= setTimeout(() => this.#cut(), this.linger);
    return event;
  }

  /** cut makes a batch of the buffer. The events of a batch never change. */
  #cut() {
    clearTimeout(this.#timer);
    this.#timer = null;
    if (this.#buffer.length === 0) return;
    const batch = { documents: this.#buffer, kept: null };
    this.#buffer = [];
    this.#bytes = 0;
    if (this.outbox) {
      const documents = batch.documents;
      batch.kept = this.#keeping.then(() => this.outbox.keep(documents)).catch((error) => {
        this.#fail(`the outbox did not keep ${documents.length} events: ${error.message}`);
        return null;
      });
      this.#keeping = batch.kept;
    }
    this.#queue.push(batch);
    this.#send();
  }

  #send() {
    this.#sending ??= this.#sendAll().finally(() => {
      this.#sending = null;
    });
  }

  async #sendAll() {
    for (let delay = 100; this.#queue.length > 0 && !this.#closed; ) {
      const batch = this.#queue[0];
      const name = await batch.kept;
      const counted = batch.documents !== null;
      batch.documents ??= await this.outbox.read(name);
      const before = batch.documents.length;
      let wait = null;
      try {
        wait = await this.#attempt(batch);
      } catch (error) {
        this.#fail(`${this.url}: ${error.cause?.message ?? error.message}`);
        wait = 0;
      }
      if (counted || batch.counted) this.#events -= before - batch.documents.length;
      if (batch.documents.length === 0) {
        if (name) await this.outbox.remove(name);
        this.#queue.shift();
        this.error = null;
        delay = 100;
        continue;
      }
      if (wait === null) continue; // a smaller batch goes at once
      await new Promise((resolve) => setTimeout(resolve, Math.max(wait, delay * (0.5 + Math.random()))).unref?.());
      delay = Math.min(2 * delay, 5000);
    }
  }

  /**
   * attempt sends a batch and removes the events that were answered. The result is the time to
   * wait before the next attempt, in milliseconds, or null.
   */
  async #attempt(batch) {
    const n = Math.min(batch.documents.length, batch.most ?? this.maxBatch);
    const part = batch.documents.slice(0, n);
    const headers = { "content-type": "application/cloudevents-batch+json", "content-encoding": "gzip" };
    if (this.token) headers.authorization = `Bearer ${this.token}`;
    const body = await compress(`[${part.join(",")}]`);
    const response = await this.fetch(`${this.url}/v1/events`, { method: "POST", headers, body, signal: AbortSignal.timeout(30_000) });
    const answer = await response.json().catch(() => ({}));
    if (Array.isArray(answer.events) && answer.events.length === n) {
      const rest = [];
      answer.events.forEach((verdict, i) => {
        if (verdict.verdict === "stored") this.stored++;
        else if (verdict.verdict === "refused") this.#refuse(part[i], verdict.violations);
        else rest.push(part[i]);
      });
      batch.documents.splice(0, n, ...rest);
      if (rest.length === 0) return null;
    } else if ((response.status === 413 || response.status === 400) && n > 1) {
      batch.most = Math.ceil(n / 2);
      return null;
    } else if (response.status === 413 || response.status === 400) {
      this.#refuse(batch.documents.shift(), [answer]);
      return null;
    }
    this.#fail(`${this.url} answered ${response.status}: ${answer.detail ?? "no problem document"}`);
    return 1000 * (Number(response.headers.get("retry-after")) || 0);
  }

  #refuse(document, violations) {
    const { id, type } = JSON.parse(document);
    this.refused++;
    this.refusals.push({ id, type, violations });
    if (this.refusals.length > 100) this.refusals.shift();
    const [first] = violations;
    this.log(`ctxledger refused ${type} ${id}: ${first?.code} at ${first?.pointer ?? ""}: ${first?.found ?? first?.detail}; ${first?.fix}`);
  }

  #fail(message) {
    if (this.error?.message !== message) this.log(`ctxledger: ${message}; events wait`);
    this.error = new Error(message);
  }

  /** queued returns the number of events that wait in memory. */
  get queued() {
    return this.#events;
  }

  /**
   * flush returns true when every recorded event was answered, or false when the time in
   * milliseconds has passed. The events then still wait.
   */
  async flush(timeout = 10_000) {
    this.#cut();
    const end = Date.now() + timeout;
    while (this.#queue.length > 0 && Date.now() < end) {
      this.#send();
      await Promise.race([this.#sending, new Promise((resolve) => setTimeout(resolve, Math.min(20, Math.max(1, end - Date.now()))))]);
    }
    return this.#queue.length === 0;
  }

  /** store returns "stream" or "outbox" when all recorded events are there. It throws otherwise. */
  async store() {
    if (await this.flush(this.outbox ? this.streamWait : 10_000)) return "stream";
    if (this.outbox && (await this.#keeping) !== null) return "outbox";
    throw this.error ?? new Error("the events were not stored in time; they still wait");
  }

  /** close sends what waits, and ends the client. */
  async close(timeout = 10_000) {
    const done = await this.flush(timeout);
    await this.#keeping;
    this.#closed = true;
    return done;
  }
}
