// The transport over NATS: events go straight to JetStream, without a gateway.
import { createHash, randomUUID } from "node:crypto";
import { readFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { isIP } from "node:net";
import { join } from "node:path";
import { checkServerIdentity } from "node:tls";
import { pathToFileURL } from "node:url";

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
  try {
    const urls = text.split(",").map((one) => new URL(one.trim()));
    for (const { protocol, hostname, pathname, search, hash } of urls) {
      if (!["nats:", "tls:"].includes(protocol) || !hostname || pathname.length > 1 || search || hash) throw new Error();
    }
    const [{ username, password, protocol }] = urls;
    return {
      servers: urls.map((one) => one.host),
      ...(password ? { user: decodeURIComponent(username), pass: decodeURIComponent(password) } : username ? { token: decodeURIComponent(username) } : {}),
      ...(protocol === "tls:" && { tls: { checkServerIdentity: identity(urls.map((one) => one.hostname.replace(/^\[|\]$/g, ""))) } }),
    };
  } catch {
    // The error of URL holds the address, and so the password.
    throw new Error("the address of NATS is malformed: write nats://user:password@host:4222, or tls://, and percent-encode the special characters of the password");
  }
}

/** identity returns a check of certificates. The package compares that of an IP address with "localhost". */
function identity(hosts) {
  const addresses = hosts.filter((host) => isIP(host));
  return (host, certificate) => {
    if (host !== "localhost" || hosts.includes(host) || addresses.length === 0) return checkServerIdentity(host, certificate);
    const found = addresses.map((address) => checkServerIdentity(address, certificate));
    return found.includes(undefined) ? undefined : found[0];
  };
}

/** packages returns the modules of the NATS project, which the SDK does not install. */
async function packages() {
  return { ...(await installed("@nats-io/transport-node")), ...(await installed("@nats-io/jetstream")) };
}

/** installed imports a package of the program. An SDK that npm has linked lies outside of the program's folder. */
async function installed(name) {
  const places = [import.meta.url, process.argv[1] ?? "", join(process.cwd(), "program.js")];
  for (const place of places.filter((one) => one !== "")) {
    let path;
    try {
      path = createRequire(place).resolve(name);
    } catch {
      continue;
    }
    return import(pathToFileURL(path));
  }
  throw new Error("a package is missing: run `npm install @nats-io/transport-node @nats-io/jetstream`, or use the address of a gateway (http://)");
}

/** explained returns an error of the connection with the next step. */
function explained(error, tenant) {
  const said = error.message || error.name;
  const step = {
    AuthorizationError: "check the user and password, or the token, in the address, or the credentials file",
    PermissionViolationError: `this user may not publish for the tenant ${tenant}; set the tenant of the user`,
    JetStreamNotEnabled: "no stream takes this subject; start `ctxledger up`, or create the streams with `ctxledger migrate`",
    TimeoutError: "no NATS server answered; check the host and the port",
    ERR_TLS_CERT_ALTNAME_INVALID: "use a host name that the certificate has",
    ECONNREFUSED: "check that NATS runs there",
  };
  if (said.includes("'tls'")) return new Error(`the server has no TLS (${said}); with nats:// the connection is not encrypted`, { cause: error });
  const next = step[error.code] ?? step[error.name] ?? step[error.cause?.code] ?? step[error.cause?.name]
    ?? (/certificate/.test(said) ? "if the authority is your own, set NODE_EXTRA_CA_CERTS to the file of its certificate" : null);
  return next ? new Error(`${said}: ${next}`, { cause: error }) : error;
}

class Transport {
  #at; // the addresses, with what they say of the sign-in
  #given;
  #tenant;
  #timeout;
  #creds;
  #options;
  #opening = null;
  #open = null; // the connection with what belongs to it
  #source = null; // whose notices are heard
  #heard = []; // notices that nobody asked for yet
  #tried = new Set(); // events whose acknowledgement did not come

  constructor({ url = process.env.CTXLEDGER_NATS_URL ?? "nats://127.0.0.1:7422", connection = null, tenant = "default", timeout = 5000, creds, ...options }) {
    this.#at = connection ? {} : parse(url);
    this.#given = connection;
    this.#tenant = tenant;
    this.#timeout = timeout;
    this.#creds = creds;
    this.#options = options;
  }

  get name() {
    return this.#given ? "NATS" : `NATS at ${this.#at.servers.join(",")}`;
  }

  /** open throws if a package is missing. The first event connects. */
  async open() {
    await packages();
  }

  /** connected returns the open connection. A failed attempt is forgotten, so that the next one tries again. */
  #connected() {
    if (this.#open?.connection.isClosed() && !this.#given) this.#opening = null; // as after a changed password
    this.#opening ??= this.#connect().catch((error) => {
      this.#opening = null;
      throw explained(error, this.#tenant);
    });
    return this.#opening;
  }

  async #connect() {
    const { connect, credsAuthenticator, headers, jetstream } = await packages();
    const signIn = this.#creds ? { authenticator: credsAuthenticator(await readFile(this.#creds)) } : {};
    const connection = this.#given ?? (await connect({ timeout: this.#timeout, ...this.#at, maxReconnectAttempts: -1, ...signIn, ...this.#options }));
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
      throw explained(error, this.#tenant);
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
