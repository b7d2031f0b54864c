// Checks contract.ts against the vectors for all languages.
import { readFileSync } from "node:fs";
import { bucket, messageID, subject } from "./contract.ts";

const vectors = JSON.parse(readFileSync(process.argv[2] ?? new URL("../vectors.json", import.meta.url), "utf8"));
let failed = 0;
const check = (what: string, got: string, want: string) => {
  if (got === want) return;
  console.error(`${what}: ${got}, want ${want}`);
  failed = 1;
};
for (const v of vectors.buckets) check(`bucket of ${JSON.stringify(v.session)}`, bucket(v.session), v.bucket);
for (const v of vectors.message_ids) check(`message id of ${v.source}, ${v.id}`, messageID(v.source, v.id), v.message_id);
for (const v of vectors.subjects) check(`subject of ${v.event_type}`, subject(v.tenant, v.runtime, v.session, v.event_type), v.subject);
console.log(`${vectors.buckets.length + vectors.message_ids.length + vectors.subjects.length} vectors`);
process.exit(failed);
