// A whole agent loop that records its context: node agent.mjs ["a task"]
//
// The agent answers from the files of a folder. A scripted model stands in for a provider, so
// the example needs no account: replace answer() by a call of your provider's SDK. The address
// is CTXLEDGER_URL, or that of `ctxledger up` on this machine.
import { connect } from "@ctxledger/sdk";

const files = {
  "deploy.env": "REGION=eu-1\nDEPLOY_KEY=sk-live-4f9a1c77e2\n",
  "retry.js": "async function retry(call, limit) {\n  for (let attempt = 0; attempt < limit; attempt++) {\n    try {\n      return await call();\n    } catch {}\n  }\n}\n",
};
const maxTokens = 90; // of the model's window

/** answer is the scripted model: it reads each file, then answers. Usage is in disjoint buckets. */
async function answer(messages) {
  const spoken = messages.map((m) => m.content).join(" ");
  const usage = { uncached_input_tokens: Math.floor(spoken.length / 4), output_tokens: 12 };
  for (const path of [...Object.keys(files), "limits.md"]) if (!spoken.includes(`read ${path}`)) return { tool: path, usage };
  return { text: "retry() gives up without an error; limits.md is missing.", usage };
}

class Agent {
  window = [];
  gaps = {};
  turns = 0;

  constructor(client, session) {
    this.client = client;
    this.run = client.run({ session, agent: "reader", program: "examples/agent.mjs" });
  }

  /** ask answers one task: a turn of as many model calls as it needs. */
  async ask(task) {
    const n = ++this.turns;
    const turn = this.run.turn(`turn-${n}`, { name: "scripted", maxTokens, reservedOutput: 20 });
    if (n === 1) this.window.push(turn.add({ id: "system", text: "Answer from the files.", kind: "fixed", role: "system", layer: "system" }));
    this.window.push(turn.add({ id: `task-${n}`, text: task, kind: "message", role: "user", layer: "user" }));
    let reply;
    for (let i = 0; i < 10; i++) {
      const call = turn.call(`call-${n}-${i}`);
      this.makeRoom(call);
      const sent = call.select(this.window, { intent: "answer" });
      call.inject(call.assemble(sent), "message_history");
      reply = await answer(sent.map(({ role, text }) => ({ role, content: text })));
      call.usage(reply.usage);
      if (reply.text) {
        this.window.push(turn.add({ id: `answer-${n}`, text: reply.text, kind: "message", role: "assistant", layer: "assistant", callId: call.id }));
        break;
      }
      this.read(turn, call, reply.tool, `tool-${n}-${i}`);
    }
    return [reply?.text, await turn.seal()];
  }

  /** read runs the tool. Its call and its result enter the window; a missing file is a gap. */
  read(turn, call, path, tool) {
    let text = files[path];
    const key = path.endsWith(".env") && /KEY=(.+)/.exec(text);
    if (key) this.client.guard.withhold(key[1], { policy_ref: "policy:no-credentials", reason: "secret" }); // before anything of it is recorded
    if (text === undefined) {
      this.gaps[path] = turn.missing({
        question: `What does ${path} say?`, needed_for: "a complete answer", severity: "medium", scope: "turn", requested_from: "user",
        requested_action: "say where it is", user_summary: `${path} is missing, so the answer does without it.`, call_id: call.id,
      });
      text = `error: ${path} is missing`;
    }
    const about = { toolCallId: tool, callId: call.id, name: "read" };
    this.window.push(turn.add({ id: tool, text: `read ${path}`, kind: "tool_call", role: "assistant", layer: "tool_calls", context_kind: "tool_call", ...about }));
    this.window.push(turn.add({ id: `${tool}:result`, text, kind: "tool_result", role: "tool", layer: "tool_results", context_kind: "tool_result", title: path, ...about }));
  }

  /** makeRoom replaces the oldest half of a full window by a summary. */
  makeRoom(call) {
    if (this.window.reduce((sum, item) => sum + item.tokens, 0) <= maxTokens - 20 || this.window.length < 4) return;
    const half = this.window.slice(1, Math.floor(this.window.length / 2) + 1);
    const compaction = call.compact(this.window, half.map((item) => item.id));
    const text = `Earlier: ${half.map((item) => item.text.split("\n")[0]).join("; ")}`;
    this.window = compaction.complete({ id: `summary:${call.id}`, text: text.slice(0, 80), loss_notes: ["what the files say; they can be read again"] });
  }
}

const client = await connect({ runtime: "example-ts" });
const agent = new Agent(client, process.env.SESSION ?? "example-ts");
const tasks = process.argv.length > 2 ? process.argv.slice(2) : ["What does retry() do at its limit?", "And who deploys it?"];
for (const task of tasks) {
  const [text, receipt] = await agent.ask(task);
  console.log(`${task}\n  ${text}\n  ${receipt.context_id} is in the ${receipt.stored}, ${receipt.refused} facts refused`);
}
await client.close();
