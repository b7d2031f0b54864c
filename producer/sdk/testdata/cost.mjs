// Measures what recording costs the agent, as medians of the time and of the time on a processor.
// Argument: the address.
import { connect } from "@ctxledger/sdk";

const client = await connect({ url: process.argv[2], runtime: "ts", maxQueued: 1e6 });
const turn = client.run({ session: "cost" }).turn("t", { name: "m", maxTokens: 100_000 });
const took = (n, f) => {
  const [times, busy] = [[], []];
  for (let i = 0; i < n; i++) {
    const [began, used] = [performance.now(), process.cpuUsage()];
    f(i);
    const { user, system } = process.cpuUsage(used);
    times.push(performance.now() - began);
    busy.push((user + system) / 1000);
  }
  return [times, busy].map((list) => list.sort((a, b) => a - b)[Math.floor(n / 2)]);
};
const items = [];
const add = took(2000, (i) => items.push(turn.add({ id: `i${i}`, kind: "message", role: "user", layer: "user", text: "word ".repeat(200) })));
const window = items.slice(0, 200);
const call = took(200, (i) => {
  const c = turn.call(`c${i}`);
  c.inject(c.assemble(c.select(window)), "message_history");
  c.usage({ output_tokens: 1 });
});
console.log(JSON.stringify({ add, window: call }));
process.exit(0);
