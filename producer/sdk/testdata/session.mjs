// A session with every helper, for the tests. Arguments: the address and the key file's text.
import { Guard, Key, connect } from "@ctxledger/sdk";

const [url, key] = process.argv.slice(2);
const secret = "sk-test-0123456789abcdef";
const client = await connect({ url, runtime: "ts", key: Key.parse(key), guard: new Guard() });
const run = client.run({ session: "ts-1", agent: "coder", maxDepth: 1, program: "test 1" });
const turn = run.turn("turn-1", { name: "gpt-4o" });
const system = turn.add({ id: "sys", kind: "message", role: "system", layer: "system", text: "You are a coder." });
const user = turn.add({ id: "u1", kind: "message", role: "user", layer: "user", text: "Fix ünicode." });
turn.redact({ target_ref: "env", value: secret, reason: "secret", policy_ref: "policy:no-credentials" });
const env = turn.add({ id: "env", kind: "tool_result", role: "tool", layer: "tool_results", toolCallId: "tc-1", text: `KEY=${secret}`, title: `env with ${secret}` });
const gap = turn.missing({
  question: "Where is docs/retry.md?", needed_for: "limits", severity: "medium", requested_from: "user", requested_action: "send the file", user_summary: "A file is missing.",
});
const call = turn.call("call-1");
const window = call.select([system, user, env, { id: "readme", tokens: 10 }], { query: "retry", omitted: [{ id: "readme", reason: "low_relevance" }] });
call.inject(call.assemble(window), "message_history");
call.usage({ uncached_input_tokens: 20, output_tokens: 9 });
const compaction = turn.call("call-2").compact(window, ["sys", "u1"]);
const after = compaction.complete({ id: "sum-1", text: "A fix.", loss_notes: ["details"] });
gap.resolve("env");
run.child({ thread: "sub" }).turn("turn-2").add({ id: "c1", kind: "message", role: "user", text: "a child" });
turn.record("context.item.updated", { item_id: secret }); // an id is not masked: the guard refuses the fact
const receipt = await turn.seal();
console.log(JSON.stringify({
  receipt, stored: client.stored, refused: client.refusals, source: client.source, masked: env.text, queued: client.queued, after: after.map((item) => item.id),
}));
await client.close();
