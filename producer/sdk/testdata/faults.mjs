// Records events through an outbox. Arguments: address, folder, number of events, and whether
// the process ends without sending ("leave"), waits for the stream ("send"), or only keeps the
// outbox until its input ends ("hold").
import { connect } from "@ctxledger/sdk";

const [url, outbox, n, mode] = process.argv.slice(2);
const client = await connect({ url, runtime: "ts", outbox, streamWait: 200, linger: 5, log: () => {} });
if (mode === "hold") {
  console.log("held");
  for await (const _ of process.stdin);
}
const turn = client.run({ session: `fault-${mode}` }).turn("t");
for (let i = 0; i < Number(n); i++) turn.add({ id: `i${i}`, text: "text" });
turn.record("context.item.removed", {}); // refused: it names no item
const receipt = await turn.seal();
if (mode === "leave") process.stdout.write(JSON.stringify({ stored: receipt.stored }), () => process.kill(process.pid, "SIGKILL"));
else {
  const done = await client.close(20_000);
  console.log(JSON.stringify({ stored: receipt.stored, done, refused: client.refusals }));
}
