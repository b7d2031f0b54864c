// Records turns through an outbox until it is killed. Arguments: address, folder, session, name of the
// process. It prints the items of each turn that was reported as stored. Without a name, the process
// sends what waits in the outbox, and ends.
import { connect } from "@ctxledger/sdk";

const [url, outbox, session, name] = process.argv.slice(2);
const client = await connect({ url, runtime: "ts", outbox, streamWait: 100, linger: 2, maxBatch: 7, log: () => {} });
if (!name) console.log(`{"done":${await client.flush(40_000)}}`);
else {
  const run = client.run({ session });
  for (let n = 0; ; n++) {
    const turn = run.turn(`${name}/${n}`);
    const items = [];
    for (let i = 0; i < 1 + ((n * 7) % 20); i++) items.push(turn.add({ id: `${name}/${n}/${i}`, kind: "fixed", text: "text" }).id);
    const { stored } = await turn.seal();
    console.log(JSON.stringify({ stored, items }));
  }
}
await client.close();
