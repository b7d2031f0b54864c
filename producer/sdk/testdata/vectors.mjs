// Computes the shared vectors: ids, digests and fingerprints.
import { readFileSync } from "node:fs";
import { Key, bucket, messageID } from "@ctxledger/sdk";

const { key, sessions, events, values } = JSON.parse(readFileSync(0, "utf8"));
const k = Key.parse(key);
console.log(JSON.stringify({
  buckets: sessions.map(bucket), ids: events.map(([source, id]) => messageID(source, id)), digests: values.map((v) => k.digest(v)), fingerprints: values.map((v) => k.fingerprint(v)),
}));
