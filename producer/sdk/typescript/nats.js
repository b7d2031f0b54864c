// The transport over NATS: events go straight to JetStream, without a gateway.
import { createHash, randomUUID } from "node:crypto";

const bytes = (text) => Buffer.from(text, "utf8");

/**
 * nats returns a transport. It needs the packages @nats-io/transport-node and @nats-io/jetstream of
 * the program. Without a connection, the first event connects to url.
 *
 * Nobody judges an event before it is stored. The projector quarantines one that breaks a rule, and
 * the client counts the notice of it.
 */
export function nats(options = {}) {
  return new Transport(options);
}

/** parse returns the options of a connection to the addresses of a list of URLs. */
function parse(text) {
  const urls = text.split(",").map((one) => new URL(one.trim()));
  const [{ username, password, protocol }] = urls;
  return {
    servers: urls.map((one) => one.host),
    ...(password ? { user: decodeURIComponent(username), pass: decodeURIComponent(password) } : username ? { token: decodeURIComponent(username) } : {}),
    ...(protocol === "tls:" && { tls: {} }),
  };
}

class Transport {
  #url;
  #given;
  #tenant;
  #timeout;
  #options;
  #opening = null;
  #open = null; // the connection with what belongs to it
  #source = null; // whose notices are heard
  #heard = []; // notices that nobody asked for yet
  #tried = new Set(); // events whose acknowledgement did not come

  constructor({ url = process.env.CTXLEDGER_NATS_URL ?? "nats://127.0.0.1:7422", connection = null, tenant = "default", timeout = 5000, ...options }) {
    this.#url = url;
    this.#given = connection;
    this.#tenant = tenant;
    this.#timeout = timeout;
    this.#options = options;
  }

  get name() {
    return this.#given ? "NATS" : `NATS at ${parse(this.#url).servers.join(",")}`;
  }

  /** connected returns the open connection. A failed attempt is forgotten, so that the next one tries again. */
  #connected() {
    this.#opening ??= this.#connect().catch((error) => {
      this.#opening = null;
      throw error;
    });
    return this.#opening;
  }

  async #connect() {
    const { connect, headers } = await import("@nats-io/transport-node");
    const { jetstream } = await import("@nats-io/jetstream");
    const connection = this.#given ?? (await connect({ ...parse(this.#url), maxReconnectAttempts: -1, ...this.#options }));
    this.#open = { connection, headers, stream: jetstream(connection, { timeout: this.#timeout }) };
    const source = this.#source;
    this.#open.notices = connection.subscribe(`ctxnotice.v1.${token(this.#tenant)}.${bucket(source)}.quarantined`, {
      callback: (error, message) => {
        const notice = error ? null : read(message);
        if (notice?.source === source && this.#heard.length < 10_000) this.#heard.push(notice);
      },
    });
    return this.#open;
  }

  /** hear collects the notices of a source, from the first event on. */
  hear(source) {
    this.#source = source;
  }

  /** notices returns the notices that came since the last question. */
  notices() {
    return this.#heard.splice(0);
  }

  /**
   * send publishes events, which are JSON texts, and returns a verdict for each: stored, refused
   * with violations, or waits with the error.
   */
  async send(documents) {
    const open = await this.#connected();
    const done = await Promise.allSettled(documents.map((document) => this.#publish(open, document)));
    return done.map(({ value, reason }) => value ?? { verdict: "waits", error: reason });
  }

  async #publish({ connection, headers, stream }, document) {
    const event = JSON.parse(document);
    const most = connection.info?.max_payload ?? Infinity;
    const size = Buffer.byteLength(document) + 200; // with its headers
    if (size > most) {
      const found = `an event of ${size} bytes, and the server accepts ${most}`;
      return { verdict: "refused", violations: [{ code: "too_large", pointer: "", found, fix: "record the text by reference" }] };
    }
    const to = subject(this.#tenant, event.runtimeid, event.sessionid, event.type.replace(/^dev\.ctxledger\./, "").replace(/\.v1$/, ""));
    const publish = (msgID) => {
      const carried = headers();
      carried.set("content-type", "application/cloudevents+json");
      return stream.publish(to, document, { headers: carried, msgID, timeout: this.#timeout });
    };
    const key = messageID(event.source, event.id);
    try {
      // If another message has this id, a random one makes JetStream store the event. The ledger counts
      // an event once, whatever its message id is.
      const ack = await publish(key);
      if (ack.duplicate && !this.#tried.has(key)) await publish(randomUUID());
    } catch (error) {
      this.#tried.add(key);
      throw error;
    }
    this.#tried.delete(key);
    return { verdict: "stored" };
  }

  async close() {
    this.#open?.notices.unsubscribe();
    if (!this.#given) await this.#open?.connection.close();
  }
}

function read(message) {
  try {
    return message.json();
  } catch {
    return null;
  }
}

/** subject is ctx.v1.<tenant>.<runtime>.<bucket>.<object>.<verb>. */
export function subject(tenant, runtime, session, eventType) {
  const [object, verb] = eventType.replace(/^context\./, "").split(/\.(.*)/s);
  const last = verb === undefined ? ["context", object] : [object, verb];
  return ["ctx", "v1", ...[tenant || "default", runtime || "unnamed", bucket(session ?? ""), ...last].map(token)].join(".");
}

/** bucket is that of a session, p00 to pff: FNV-1a 32, folded to 8 bits. */
function bucket(session) {
  let sum = 2166136261;
  for (const byte of bytes(session)) sum = Math.imul(sum ^ byte, 16777619) >>> 0;
  const folded = ((sum >>> 24) ^ (sum >>> 16) ^ (sum >>> 8) ^ sum) & 0xff;
  return "p" + folded.toString(16).padStart(2, "0");
}

/** token is one token of a subject: every byte except letters, digits, - and _ is %XX. */
function token(text) {
  if (text === "") return "%";
  return [...bytes(text)].map((byte) => {
    const letter = String.fromCharCode(byte);
    return /[A-Za-z0-9_-]/.test(letter) ? letter : "%" + byte.toString(16).toUpperCase().padStart(2, "0");
  }).join("");
}

/** messageID is the first 18 bytes of a SHA-256 over source and id, each after its length. */
export function messageID(source, id) {
  const hash = createHash("sha256");
  for (const field of [bytes(source), bytes(id)]) {
    let n = field.length;
    for (; n >= 0x80; n = Math.floor(n / 128)) hash.update(Buffer.from([(n % 128) | 0x80]));
    hash.update(Buffer.from([n])).update(field);
  }
  return hash.digest().subarray(0, 18).toString("base64url");
}
