// Computes the shared vectors: ids, digests, fingerprints and masked texts.
import { readFileSync } from "node:fs";
import { Guard, Key, bucket, messageID } from "@ctxledger/sdk";

const { key, sessions, events, values, withheld, texts } = JSON.parse(readFileSync(0, "utf8"));
const k = Key.parse(key);
const guard = new Guard();
withheld.forEach((value, i) => guard.withhold(value, { policy_ref: `p${i}`, reason: "secret" }));
console.log(JSON.stringify({
  buckets: sessions.map(bucket), ids: events.map(([source, id]) => messageID(source, id)), digests: values.map((v) => k.digest(v)),
  fingerprints: values.map((v) => k.fingerprint(v)), disguises: values.map((v) => k.fingerprints(v)), masked: texts.map((text) => guard.mask(text).text),
}));
