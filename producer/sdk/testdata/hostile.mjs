// Records what no agent should. Arguments: the address and the folder of the outbox.
import { mkdirSync, readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { connect } from "@ctxledger/sdk";

const [url, outbox] = process.argv.slice(2);
mkdirSync(outbox);
writeFileSync(join(outbox, "00000000000000-00000000-1.json"), "[{");
const client = await connect({ url, runtime: "ts", outbox, linger: 60_000, maxQueued: 5, log: () => {} });
const turn = client.run({ session: "hostile" }).turn("t");
for (let i = 0; i < 7; i++) turn.add({ id: `i${i}`, text: "text" });
const flushed = await client.flush();
client.guard.withhold("a secret value", { policy_ref: "policy:p", reason: "secret" });
const loop = [];
loop.push(loop);
turn.add({ id: "half", text: "\ud800x", title: "\ud800x" });
turn.record("context.item.updated", { item_id: "nan", metadata: { x: 1n } });
turn.record("context.item.updated", { item_id: "object", metadata: { x: { toJSON() { throw new Error("no"); } } } });
turn.record("context.item.updated", { item_id: "loop", metadata: { x: loop } });
turn.record("context.item.updated", { item_id: "a secret value" });
turn.add({ id: "last", text: "text", title: "a secret value" });
await client.flush();
await client.close();
console.log(JSON.stringify({ flushed, dropped: client.dropped, codes: client.refusals.map((r) => r.violations[0].code), forked: 0, left: readdirSync(outbox).sort() }));
