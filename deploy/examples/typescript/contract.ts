// Values that a publisher must compute: the subject of an event, its message id, and the
// header of an attribute. Check your implementation against ../vectors.json.
import { createHash } from "node:crypto";

const utf8 = (text: string) => Buffer.from(text, "utf8");

/** The bucket of a session, p00 to pff: FNV-1a 32 of its id, folded to 8 bits. */
export function bucket(session: string): string {
  let sum = 2166136261;
  for (const byte of utf8(session)) sum = Math.imul(sum ^ byte, 16777619) >>> 0;
  const folded = ((sum >>> 24) ^ (sum >>> 16) ^ (sum >>> 8) ^ sum) & 0xff;
  return "p" + folded.toString(16).padStart(2, "0");
}

/** One token of a subject: every byte except letters, digits, - and _ is %XX. */
export function token(text: string): string {
  if (text === "") return "%";
  const escaped = (byte: number) => "%" + byte.toString(16).toUpperCase().padStart(2, "0");
  return [...utf8(text)].map((b) => (/[A-Za-z0-9_-]/.test(String.fromCharCode(b)) ? String.fromCharCode(b) : escaped(b))).join("");
}

/** ctx.v1.<tenant>.<runtime>.<bucket>.<object>.<verb> */
export function subject(tenant: string, runtime: string, session: string, eventType: string): string {
  const [object, verb] = eventType.replace(/^context\./, "").split(/\.(.*)/s);
  const last = verb === undefined ? ["context", object] : [object, verb];
  return ["ctx", "v1", ...[tenant || "default", runtime || "unnamed", bucket(session), ...last].map(token)].join(".");
}

/** The Nats-Msg-Id: 18 bytes of a SHA-256 over source and id, each after its length. */
export function messageID(source: string, id: string): string {
  const hash = createHash("sha256");
  for (const field of [utf8(source), utf8(id)]) hash.update(uvarint(field.length)).update(field);
  return hash.digest().subarray(0, 18).toString("base64url");
}

function uvarint(n: number): Buffer {
  const bytes: number[] = [];
  for (; n >= 0x80; n >>>= 7) bytes.push((n & 0x7f) | 0x80);
  return Buffer.from([...bytes, n]);
}

/** An attribute as a header: space, ", % and all except printable ASCII is %XX. */
export function header(value: string): string {
  return value.replace(/[^\x21-\x7e]|["%]/gu, encodeURIComponent);
}
