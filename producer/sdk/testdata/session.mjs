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
gap.request();
const call = turn.call("call-1");
call.select({ query: "retry", selected: [system, user, env], omitted: [{ id: "readme", tokens: 10, reason: "low_relevance" }] });
const assembly = call.assemble([system, user, env]);
call.inject(assembly, "message_history");
call.usage({ uncached_input_tokens: 20, output_tokens: 9 });
const compaction = turn.call("call-2").compact({ source_item_refs: ["sys", "u1"] });
compaction.complete({ summary_ref: "sum-1", loss_notes: ["details"], tokens_before: 20, tokens_after: 5 });
gap.resolve("env");
run.child({ thread: "sub" }).turn("turn-2").add({ id: "c1", kind: "message", role: "user", text: "a child" });
const receipt = await turn.seal();
console.log(JSON.stringify({ receipt, stored: client.stored, refused: client.refusals, source: client.source, masked: env.text, queued: client.queued }));
