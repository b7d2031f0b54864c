// Records the facts of standard input, one JSON object a line with type and data, and prints each
// refusal. Argument: the address.
import { readFileSync } from "node:fs";
import { connect } from "@ctxledger/sdk";

const client = await connect({ url: process.argv[2], runtime: "cases", log: () => {} });
let printed = 0;
const report = async () => {
  await client.flush();
  for (const refusal of client.refusals.slice(client.refusals.length - (client.refused - printed))) console.log(JSON.stringify(refusal));
  printed = client.refused;
};
for (const [n, line] of readFileSync(0, "utf8").trim().split("\n").entries()) {
  const { type, data } = JSON.parse(line);
  client.record(type, data, { sessionid: "cases" });
  if (n % 100 === 99) await report();
}
await report();
await client.close();
