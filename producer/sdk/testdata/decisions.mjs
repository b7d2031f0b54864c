// Records the decisions of a file. Standard input: the file. Arguments: the address and the key file's text.
import { readFileSync } from "node:fs";
import { Guard, Key, connect } from "@ctxledger/sdk";

const d = JSON.parse(readFileSync(0, "utf8"));
const guard = new Guard();
guard.withhold(d.withheld.value, d.withheld);
const client = await connect({ url: process.argv[2], runtime: d.runtime, key: Key.parse(process.argv[3]), guard });
const run = client.run({ id: d.run, session: d.session, agent: d.agent, resource: d.resource, task: d.task, attempt: d.attempt, program: d.program });
const items = {};
let gap;
for (const t of d.turns) {
  const turn = run.turn(t.id, { name: d.model.name, maxTokens: d.model.max_tokens, reservedOutput: d.model.reserved_output });
  for (const { do: what, ...step } of t.steps) {
    if (what === "add") {
      const { tool_call_id: toolCallId, call_id: callId, ...content } = step;
      items[step.id] = turn.add({ ...content, toolCallId, callId, estimator: "o200k_base" });
    } else if (what === "missing") gap = turn.missing(step);
    else if (what === "resolve") gap.resolve(...step.refs);
    else if (what === "call") {
      const { id, candidates, point, usage, ...decision } = step;
      const call = turn.call(id);
      call.inject(call.assemble(call.select(candidates.map((ref) => items[ref]), decision)), point);
      call.usage(usage);
    } else if (what === "compact") {
      const compaction = turn.call(step.call).compact(step.window.map((ref) => items[ref]), step.source);
      if (step.fail) compaction.fail(step.fail);
      else {
        const { call_id: callId, ...summary } = step.summary;
        for (const item of compaction.complete({ ...summary, callId, estimator: "o200k_base" })) items[item.id] = item;
      }
    }
  }
  await turn.seal();
}
console.log(client.refused, "refused");
for (const refusal of client.refusals) console.log(JSON.stringify(refusal));
await client.close();
