// Records an event, and prints the notices that come. Arguments: the address and the session.
import { connect } from "@ctxledger/sdk";

const lines = [];
const client = await connect({ url: process.argv[2], runtime: "ts", instance: "fixed", receipts: 50, log: (line) => lines.push(line) });
client.run({ session: process.argv[3] });
await client.flush();
for (const end = Date.now() + 20_000; client.quarantined === 0 && Date.now() < end; ) await new Promise((resolve) => setTimeout(resolve, 20));
await client.close();
console.log(JSON.stringify({ quarantined: client.quarantined, again: await client.receipts(), lines, source: client.source, id: client.notices[0]?.id }));
