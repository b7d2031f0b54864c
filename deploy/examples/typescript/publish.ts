// Publishes two facts to ctxledger: an item was added to the context of a turn,
// and a selection included it and excluded another item.
import { randomUUID } from "node:crypto";
import { jetstream } from "@nats-io/jetstream";
import { connect, headers } from "@nats-io/transport-node";
import { CloudEvent, HTTP } from "cloudevents";
import { header, messageID, subject } from "./contract.ts";

const { NATS_URL = "nats://127.0.0.1:4222", MODE = "structured", SESSION = randomUUID(), TIME = new Date().toISOString() } = process.env;

// All ids of the runtime: evidence joins context to the turn by these ids.
const ids = { tenant: "acme", agent: "codeur n° 1", runtimeid: "bench-ts", sessionid: SESSION, threadid: "thread-1", turnid: "turn-1", runid: "run-1", contextid: "ctx-turn-1" };
const source = `urn:ctxledger:runtime:${ids.runtimeid}:example`;

const facts = [
  {
    event_type: "context.item.added", item_id: "item-readme", context_kind: "file_excerpt", title: "README.md: “Über uns”", content_mode: "ref",
    content_ref: "file:///workspace/README.md", token_estimate: 612, estimator: "o200k_base", visibility: ["model"], layer: "tool_results",
  },
  {
    event_type: "context.selection.completed", selection_id: "sel-1", surface_id: "surface-1", candidate_item_refs: ["item-readme", "item-log"],
    selected_item_refs: [{ item_ref: "item-readme", rank: 1, score: 0.93, tokens: 612 }],
    omitted_item_refs: [{ item_ref: "item-log", tokens: 9120, reason: "budget_limit" }],
  },
];

const url = new URL(NATS_URL);
const connection = await connect({ servers: url.host, user: decodeURIComponent(url.username), pass: decodeURIComponent(url.password) });
const stream = jetstream(connection);
for (const [position, fact] of facts.entries()) {
  const sequence = String(position + 1).padStart(12, "0"); // contiguous for this source and session
  const event = new CloudEvent({
    id: `${SESSION}-${sequence}`, // the same id for the same fact: a second publish has no effect
    source, type: `dev.ctxledger.${fact.event_type}.v1`, subject: fact.item_id ?? fact.selection_id, time: TIME,
    datacontenttype: "application/json", dataschema: `urn:ctxledger:schema:${fact.event_type}:v1`,
    ...ids, sequence, partitionkey: SESSION, data: { schema_version: "0.1.0", ...fact },
  });
  // NATS uses the message of the HTTP binding, with escaped values of ce- headers.
  const message = MODE === "binary" ? HTTP.binary(event) : HTTP.structured(event);
  const carried = headers();
  for (const [name, value] of Object.entries(message.headers)) carried.set(name, name.startsWith("ce-") ? header(String(value)) : String(value));
  const ack = await stream.publish(subject(ids.tenant, ids.runtimeid, SESSION, fact.event_type), String(message.body), {
    headers: carried, msgID: messageID(event.source, event.id),
  });
  console.log(`${fact.event_type} ${ack.duplicate ? "was there already" : `is number ${ack.seq}`}`);
}
await connection.drain();
