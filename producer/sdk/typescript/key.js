// Ids, digests and fingerprints, equal to those of Go's package schema.
import { createHash, createHmac, randomBytes } from "node:crypto";

import { words } from "./contract.js";

/** uuidv7 returns a new id that sorts by time. */
export function uuidv7() {
  const b = randomBytes(16);
  b.writeUIntBE(Date.now(), 0, 6);
  b[6] = (b[6] & 0x0f) | 0x70;
  b[8] = (b[8] & 0x3f) | 0x80;
  const hex = b.toString("hex");
  return [hex.slice(0, 8), hex.slice(8, 12), hex.slice(12, 16), hex.slice(16, 20), hex.slice(20)].join("-");
}

/** bucket returns the bucket of a session, "p00" to "pff". */
export function bucket(session) {
  let sum = 2166136261;
  for (const byte of Buffer.from(session)) sum = Math.imul(sum ^ byte, 16777619) >>> 0;
  const folded = ((sum >>> 24) ^ (sum >>> 16) ^ (sum >>> 8) ^ sum) & 0xff;
  return "p" + folded.toString(16).padStart(2, "0");
}

function field(text) {
  const bytes = Buffer.from(text);
  const length = [];
  let n = bytes.length;
  for (; n >= 0x80; n = Math.floor(n / 128)) length.push((n & 0x7f) | 0x80);
  return Buffer.concat([Buffer.from([...length, n]), bytes]);
}

/** messageID returns the Nats-Msg-Id of an event. */
export function messageID(source, id) {
  const sum = createHash("sha256").update(field(source)).update(field(id)).digest();
  return sum.subarray(0, 18).toString("base64url");
}

const prime = (1n << 61n) - 1n;

/**
 * Key is a tenant's secret for keyed digests and fingerprints. No string form of a key has the
 * secret.
 */
export class Key {
  #secret;

  /** A key has an id, and a secret of 32 bytes as a Buffer or in base64. */
  constructor(id, secret) {
    this.id = id;
    this.#secret = Buffer.from(secret, typeof secret === "string" ? "base64" : undefined);
    if (!/^k[0-9a-f]{10}$/.test(id) || this.#secret.length !== 32) {
      throw new Error("a key has an id such as k0123456789 and a secret of 32 bytes; see `ctxledger keys list`");
    }
  }

  /** parse returns the newest key of a key file's text. */
  static parse(text) {
    const lines = text.split("\n").map((line) => line.trim().split(/\s+/)).filter((f) => f[0] === "key" && f.length === 4);
    if (lines.length === 0) throw new Error("the key file has no line that begins with key");
    const [, id, , secret] = lines.at(-1);
    return new Key(id, secret);
  }

  #mac(secret, ...parts) {
    const mac = createHmac("sha256", secret);
    for (const part of parts) mac.update(part);
    return mac.digest();
  }

  /** digest returns the keyed digest of a text: "hmac-sha256:<key id>:<hex>". */
  digest(content) {
    return `hmac-sha256:${this.id}:${this.#mac(this.#secret, content).toString("hex")}`;
  }

  /** fingerprint returns the fingerprint of a value, or null for a value under 8 bytes. */
  fingerprint(value) {
    const bytes = Buffer.from(value);
    if (bytes.length < 8) return null;
    const derived = this.#mac(this.#secret, "ctxledger derive\0fingerprint");
    const mac = (label, message) => this.#mac(derived, `ctxledger redact ${label}\0`, message);
    const whole = mac("value", bytes);
    const base = mac("base", "").readBigUInt64BE() % prime;
    let roll = 0n;
    for (const byte of bytes.subarray(0, 8)) roll = (roll * base + BigInt(byte) + 1n) % prime;
    const prefix = roll ^ mac("seal", whole).readBigUInt64BE();
    return { key_id: this.id, length: bytes.length, prefix_hash: prefix.toString(16).padStart(16, "0"), hmac: whole.toString("hex") };
  }

  /**
   * fingerprints returns the fingerprints of a value and of the forms in which another producer
   * may send it, the value's first.
   */
  fingerprints(value) {
    return disguises(value).map((text) => this.fingerprint(text)).filter((one) => one !== null);
  }
}

const shortest = 8; // bytes of the shortest value with a fingerprint

/** holdsWord reports whether a value stands in a word of the contract, which every event has. */
export function holdsWord(value) {
  return Buffer.byteLength(value) >= shortest && words.includes(value);
}

/** disguises returns the forms of a value that its redaction recognises, the value first. */
function disguises(value) {
  const data = Buffer.from(value);
  if (data.length < shortest) return [];
  const one = (c, mapped) => ([...mapped].length === 1 ? mapped : c);
  const lower = Array.from(value, (c) => (c === "\u0130" ? "i" : one(c, c.toLowerCase()))).join("");
  const upper = Array.from(value, (c) => one(c, c.toUpperCase())).join("");
  const texts = [value, lower, upper, value.replace(/[\r\n\u00ad\u200b\u200c\u200d\u2060\ufeff]/g, "")];
  const percent = (safe) => Array.from(data, (byte) => (safe.test(String.fromCharCode(byte)) ? String.fromCharCode(byte) : `%${byte.toString(16).toUpperCase().padStart(2, "0")}`)).join("");
  texts.push(percent(/[A-Za-z0-9_.~-]/).replaceAll("%20", "+"), percent(/[A-Za-z0-9_.~$&+:=@-]/));
  for (let shift = 0; shift < 3; shift++) {
    const text = Buffer.concat([Buffer.alloc(shift), data]).toString("base64");
    const core = text.slice(Math.floor((shift * 8 + 5) / 6), Math.floor(((shift + data.length) * 8) / 6));
    texts.push(core, core.replaceAll("+", "-").replaceAll("/", "_"));
  }
  texts.push(data.toString("hex"), data.toString("hex").toUpperCase());
  const named = { "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&#34;", "'": "&#39;" };
  texts.push(value.replace(/[&<>"']/g, (c) => named[c]));
  texts.push(Array.from(value, (c) => `&#${c.codePointAt(0)};`).join(""), Array.from(value, (c) => `&#x${c.codePointAt(0).toString(16)};`).join(""));
  return [...new Set(texts)].filter((text) => !holdsWord(text));
}
