import { promisify } from "node:util";
import { gzip } from "node:zlib";

import { recordMembers } from "./contract.js";
import { Guard } from "./guard.js";
import { uuidv7 } from "./key.js";
import { nats } from "./nats.js";
import { Outbox } from "./outbox.js";
import { Log, Run } from "./run.js";

const compress = promisify(gzip);
const version = "0.1.0";
const maxData = 64 << 10; // bytes of an event's data
const mostFingerprints = 200; // in one redaction
const correlation = ["agent", "resourceid", "sessionid", "threadid", "turnid", "taskid", "runid", "attemptid", "stepid", "toolcallid", "actionid", "contextid", "parentrunid", "rootrunid"];

const noGateway = "start `ctxledger up`, or set CTXLEDGER_URL to the address of a gateway";
const noToken = "give connect a token with the role publish; `ctxledger token create` makes one";

/** checked returns an address without a slash at its end. The error holds no password. */
function checked(url) {
  const { protocol, username, password } = URL.canParse(url) ? new URL(url) : {};
  if (!["http:", "https:"].includes(protocol)) {
    throw new Error("the address is malformed: write http://host:7070, https://, or nats://user:password@host:4222");
  }
  if (username || password) throw new Error("the address has a user or a password; give connect the token of a gateway as token");
  return url.replace(/\/$/, "");
}

function dataOf(type, fact) {
  return { schema_version: version, event_type: type, ...fact };
}

/** connect returns a client whose outbox, if it has one, is open. */
export async function connect(config = {}) {
  const client = new Client(config);
  await client.open();
  return client;
}

/**
 * Client records facts and sends them to a gateway, or by a transport, in order, in batches. Recording never waits
 * and never throws for a rule of the contract. The gateway judges the events; refused ones are
 * counted and reported.
 */
export class Client {
  #sequences = new Map(); // the last sequence, by session
  #logs = new Map(); // the numbers of item logs, by session and thread
  #lost = new Map(); // sequences of dropped facts, by session and ids
  #buffer = [];
  #bytes = 0;
  #queue = []; // batches that are not answered yet
  #timer = null;
  #sending = null;
  #keeping = Promise.resolve();
  #unkept = 0; // batches in the queue that the outbox does not have
  #events = 0; // events in the buffer and in the queue
  #closed = false;
  #asking = null; // the timer of the question for receipts
  #after = 0; // the position of the last receipt

  constructor({
    url = process.env.CTXLEDGER_URL ?? "http://127.0.0.1:7070", token, runtime = "unnamed", instance = uuidv7(), key = null, guard = new Guard(),
    tenant = "default", creds, transport = /^(nats|tls):/.test(url) ? nats({ url, tenant, creds }) : null, outbox, linger = 100, maxBatch = 500, maxQueued = 10_000, streamWait = 1000, receipts = 5000, log = (line) => console.warn(line), fetch = globalThis.fetch,
  } = {}) {
    Object.assign(this, { url: transport ? "" : checked(url), transport, token, runtime, key, guard, linger, maxBatch, maxQueued, streamWait, receiptsWait: receipts, log, fetch });
    this.source = `urn:ctxledger:runtime:${encodeURIComponent(runtime)}:${encodeURIComponent(instance)}`;
    this.outbox = outbox ? new Outbox(outbox) : null;
    /** Events that the gateway stored, and events that it refused. */
    this.stored = 0;
    this.refused = 0;
    /** Facts that found no room. Each loss is a recorded fact. */
    this.dropped = 0;
    /** The last refusals, at most 100: {id, type, violations}. */
    this.refusals = [];
    /** Stored events that the projector then quarantined, and the last 100 of their notices. */
    this.quarantined = 0;
    this.notices = [];
    /** The reason why the oldest events are not stored, or null. */
    this.error = null;
  }

  async open() {
    await this.transport?.open?.();
    this.transport?.hear(this.source);
    if (!this.outbox) return;
    await this.outbox.open();
    for (const name of await this.outbox.waiting()) this.#queue.push({ kept: Promise.resolve(name), documents: null, counted: false });
    this.#send();
  }

  /** run opens a root run. A run needs a session. */
  run(options) {
    return Run.open(this, options);
  }

  /** itemLog returns the numbers of a thread's item log, which all its runs share. */
  itemLog(session, thread) {
    const name = JSON.stringify([session, thread]);
    if (!this.#logs.has(name)) this.#logs.set(name, new Log());
    return this.#logs.get(name);
  }

  /**
   * record queues one fact, after the redactions of the guard in it, and reports whether it is
   * queued. The fact is the data without schema_version and event_type. Ids are CloudEvents
   * attributes such as turnid. used gets the sequence of each queued event.
   */
  record(type, fact, ids, used = () => {}) {
    const session = ids.sessionid;
    const last = this.#sequences.get(session) ?? 0;
    let made = this.#guarded(type, typeof fact === "function" ? fact(last + 1) : fact, ids);
    if (made?.length > 1 && typeof fact === "function") made = this.#guarded(type, fact(last + made.length), ids);
    if (made === null) return false;
    if (this.#closed || this.#events >= this.maxQueued) {
      this.dropped += made.length;
      const lost = this.#lost.get(session) ?? { sequences: [], ids };
      made.forEach((_, i) => lost.sequences.push(last + 1 + i));
      this.#sequences.set(session, last + made.length);
      this.#lost.set(session, lost);
      return false;
    }
    this.#reportLoss(session);
    let queued = true;
    for (const event of made) {
      const sequence = (this.#sequences.get(session) ?? 0) + 1;
      queued = this.#add(event, sequence);
      if (!queued) continue;
      this.#sequences.set(session, sequence);
      used(sequence);
    }
    return queued;
  }

  /** fits reports whether the gateway accepts a fact of this size. */
  fits(type, fact) {
    return Buffer.byteLength(JSON.stringify(dataOf(type, this.guard.maskAll(fact)))) <= maxData;
  }

  /**
   * guarded returns the events of the redactions in a fact, and of the masked fact. It returns null
   * for a fact that is refused.
   */
  #guarded(type, fact, ids) {
    try {
      return this.#masked(type, fact, ids);
    } catch (error) {
      if (!(error instanceof RangeError)) throw error;
      this.#refuse("", type, [{ code: "not_json", pointer: "/data", found: "a value that holds itself", fix: "pass values that JSON can encode" }]);
      return null;
    }
  }

  #masked(type, fact, ids) {
    const data = {};
    const fields = new Map();
    for (const [name, value] of Object.entries(fact)) {
      if (value === undefined || value === null) continue;
      const hits = [];
      data[name] = this.guard.maskAll(value, hits);
      for (const hit of hits) {
        if (name.endsWith("_id")) return this.#withheld(type, `/data/${name}`, hit);
        fields.set(hit, [...(fields.get(hit) ?? []), name]);
      }
    }
    const event = this.#event(type, data, ids);
    for (const name of ["subject", ...correlation]) {
      const { hits } = this.guard.mask(String(event[name] ?? ""));
      if (hits.length > 0) return this.#withheld(type, `/${name}`, hits[0]);
    }
    if (fields.size === 0 || type === "context.redaction.applied") return [event];
    const record = String(data[recordMembers[type]] ?? "");
    const names = type.split(".");
    const object = names.length > 2 ? names[1] : "context";
    const kind = { scope: "run", context: "pack", facts: "drop" }[object] ?? object;
    const target = kind === "item" ? record : { kind, id: record };
    return [...this.redactions(`${type}:${record}`, target, fields).map((one) => this.#event("context.redaction.applied", one, ids)), event];
  }

  /** redactions returns the facts of maskings in a target, one for each policy. */
  redactions(what, target, fields) {
    const policies = new Map();
    for (const hit of fields.keys()) policies.set(hit.policy_ref, [...(policies.get(hit.policy_ref) ?? []), hit]);
    const facts = [];
    for (const [ref, hits] of policies) {
      const found = this.key ? hits.flatMap((hit) => this.key.fingerprints(hit.value)) : [];
      const parts = Math.max(1, Math.ceil(found.length / mostFingerprints));
      for (let part = 1; part <= parts; part++) {
        const fingerprints = found.slice((part - 1) * mostFingerprints, part * mostFingerprints);
        facts.push({
          redaction_id: `redaction:${what}:${ref}`, target_ref: target, redaction_state: "masked", method: "mask",
          redacted_fields: [...new Set(hits.flatMap((hit) => fields.get(hit)))], reason: hits[0].reason, policy_refs: [ref], actor_ref: this.source,
          ...(fingerprints.length > 0 && { fingerprints }), ...(parts > 1 && { metadata: { part, parts } }),
        });
      }
    }
    return facts;
  }

  #withheld(type, pointer, hit) {
    const found = `a value that ${hit.policy_ref} withholds, where none can be masked`;
    this.#refuse("", type, [{ code: "withheld", pointer, found, fix: "use another value" }]);
    return null;
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
    const fact = {
      drop_id: `drop:${uuidv7()}`, count: lost.sequences.length, reason: "the queue was full", sequences: [{ source: this.source, ranges }],
    };
    this.#add(this.#event("context.facts.dropped", fact, lost.ids), lost.sequences[0]);
  }

  #event(type, fact, ids) {
    const event = {
      specversion: "1.0", id: uuidv7(), source: this.source, type: `dev.ctxledger.${type}.v1`, time: new Date().toISOString(), runtimeid: this.runtime,
      partitionkey: ids.sessionid, datacontenttype: "application/json", dataschema: `urn:ctxledger:schema:${type}:v1`,
    };
    const record = fact[recordMembers[type]];
    if (record) event.subject = String(record);
    for (const name of correlation) if (ids[name]) event[name] = ids[name];
    event.data = dataOf(type, fact);
    return event;
  }

  #add(event, sequence) {
    event.sequence = String(sequence).padStart(12, "0");
    let document;
    try {
      document = JSON.stringify(event);
      if (document.includes("\\ud")) document = JSON.stringify(event, (_, value) => (typeof value === "string" ? value.toWellFormed() : value));
    } catch (error) {
      this.#refuse(event.id, event.type, [{ code: "not_json", pointer: "/data", found: `a value that JSON cannot encode (${error.name})`, fix: "pass values that JSON can encode" }]);
      return false;
    }
    this.#buffer.push(document);
    this.#bytes += document.length;
    this.#events++;
    if (this.#buffer.length >= this.maxBatch || this.#bytes > 2 << 20) this.#cut();
    else this.#timer ??= setTimeout(() => this.#cut(), this.linger);
    return true;
  }

  /** cut makes a batch of the buffer. The events of a batch never change. */
  #cut() {
    clearTimeout(this.#timer);
    this.#timer = null;
    if (this.#buffer.length === 0) return;
    const batch = { documents: this.#buffer, kept: null, counted: true };
    this.#buffer = [];
    this.#bytes = 0;
    if (this.outbox) {
      const documents = batch.documents;
      batch.kept = this.#keeping.then(() => this.outbox.keep(documents)).catch((error) => {
        this.#fail(`the outbox did not keep ${documents.length} events: ${error.message}`);
        this.#unkept++;
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
      try {
        batch.documents ??= await this.outbox.read(name);
      } catch (error) {
        this.#fail(`the outbox has a batch that cannot be read, now ${name}.unreadable: ${error.message}`);
        await this.outbox.setAside(name).catch(() => {}); // the next process tries again
        this.#queue.shift();
        continue;
      }
      const before = batch.documents.length;
      let wait = null;
      try {
        wait = await this.#attempt(batch);
      } catch (error) {
        const reason = this.transport ? error : error.cause ?? error; // fetch says nothing itself
        const next = !this.transport && reason.code === "ECONNREFUSED" ? `; ${noGateway}` : "";
        this.#fail(`${this.transport?.name ?? this.url}: ${reason.message}${next}`);
        wait = 0;
      }
      if (batch.counted) this.#events -= before - batch.documents.length;
      if (batch.documents.length === 0) {
        if (name) await this.outbox.remove(name);
        else if (this.outbox) this.#unkept--;
        this.#queue.shift();
        this.error = null;
        if (this.receiptsWait !== null) this.#asking ??= setTimeout(() => this.#ask(), this.receiptsWait).unref();
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
    if (this.transport) {
      const verdicts = await this.transport.send(part);
      this.#judge(batch, part, verdicts);
      const failed = verdicts.find((verdict) => verdict.error);
      if (failed) throw failed.error;
      return null;
    }
    const headers = { "content-type": "application/cloudevents-batch+json", "content-encoding": "gzip" };
    if (this.token) headers.authorization = `Bearer ${this.token}`;
    const body = await compress(`[${part.join(",")}]`);
    const response = await this.fetch(`${this.url}/v1/events`, { method: "POST", headers, body, signal: AbortSignal.timeout(30_000) });
    const answer = await response.json().catch(() => ({}));
    if (Array.isArray(answer.events) && answer.events.length === n) {
      if (this.#judge(batch, part, answer.events)) return null;
    } else if ((response.status === 413 || response.status === 400) && n > 1) {
      batch.most = Math.ceil(n / 2);
      return null;
    } else if (response.status === 413 || response.status === 400) {
      this.#refuseDocument(batch.documents.shift(), [answer]);
      return null;
    }
    const fix = response.status === 401 || response.status === 403 ? noToken : answer.fix;
    this.#fail(`${this.url} answered ${response.status}: ${answer.detail ?? "no problem document"}${fix ? `; ${fix}` : ""}`);
    return 1000 * (Number(response.headers.get("retry-after")) || 0);
  }

  /** judge removes the events with a verdict from a batch, and reports whether all of them have one. */
  #judge(batch, part, verdicts) {
    const rest = [];
    verdicts.forEach((verdict, i) => {
      if (verdict.verdict === "stored") this.stored++;
      else if (verdict.verdict === "refused") this.#refuseDocument(part[i], verdict.violations);
      else rest.push(part[i]);
    });
    batch.documents.splice(0, part.length, ...rest);
    return rest.length === 0;
  }

  /**
   * receipts asks which stored events the projector has quarantined since the last question, logs
   * and counts them, and returns their number. An event is quarantined up to some seconds after it
   * was stored.
   */
  async receipts() {
    if (this.transport) return this.#heard(this.transport.notices());
    for (let found = 0; ; ) {
      const headers = this.token ? { authorization: `Bearer ${this.token}` } : {};
      const place = `after=${this.#after}&source=${encodeURIComponent(this.source)}`;
      const response = await this.fetch(`${this.url}/v1/receipts?${place}`, { headers, signal: AbortSignal.timeout(10_000) });
      if (response.status !== 200) return found; // a server without receipts, or one that is not ready
      const { notices, next, more } = await response.json();
      this.#after = Math.max(this.#after, next);
      found += this.#heard(notices);
      if (!more) return found;
    }
  }

  /** heard counts and logs notices, and returns their number. */
  #heard(notices) {
    for (const n of notices) {
      this.quarantined++;
      this.notices.push(n);
      if (this.notices.length > 100) this.notices.shift();
      this.log(`ctxledger quarantined ${n.type} ${n.id}: ${n.code} at ${n.pointer}; ${n.fix ?? ""}`);
    }
    return notices.length;
  }

  async #ask() {
    clearTimeout(this.#asking);
    this.#asking = null;
    await this.receipts().catch(() => {}); // the next stored event asks again
  }

  #refuseDocument(document, violations) {
    const { id, type } = JSON.parse(document);
    this.#refuse(id, type, violations ?? []);
  }

  #refuse(id, type, violations) {
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
    if (this.outbox) {
      await this.#keeping;
      if (this.#unkept === 0) return "outbox";
    }
    throw new Error(this.error?.message ?? "the events were not stored in time; they still wait");
  }

  /** close sends what waits, and ends the client. */
  async close(timeout = 10_000) {
    const done = await this.flush(timeout);
    await this.#keeping;
    if (done && this.#asking) await this.#ask();
    clearTimeout(this.#asking);
    if (!done && !this.outbox && !this.#closed) this.log(`ctxledger: the client ends, and ${this.#events} events that are not stored are lost; an outbox keeps them`);
    this.#closed = true;
    await this.outbox?.close();
    await this.transport?.close();
    return done;
  }
}
