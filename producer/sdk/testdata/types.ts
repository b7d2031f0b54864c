// Uses the SDK's types as a program in TypeScript does. A line after @ts-expect-error must not compile.
import { addTraceProcessor } from "@openai/agents";
import { ChatOpenAI } from "@langchain/openai";
import { createOpenAI } from "@ai-sdk/openai";
import { generateText, wrapLanguageModel } from "ai";
import { Guard, Key, connect, type FactData, type Item, type Receipt } from "@ctxledger/sdk";
import { ledgerMiddleware } from "@ctxledger/sdk/ai";
import { LedgerHandler } from "@ctxledger/sdk/langchain";
import { LedgerProcessor } from "@ctxledger/sdk/openai-agents";

const guard = new Guard();
guard.withhold("secret", { policy_ref: "policy:p", reason: "secret" });
const client = await connect({ runtime: "types", key: Key.parse(""), guard, outbox: "outbox", linger: 10 });
const turn = client.run({ session: "s", agent: "a", maxDepth: 1 }).turn("t", { name: "m", maxTokens: 10 });
const item: Item & { text: string } = turn.add({ id: "i", text: "hi", kind: "message", role: "user", layer: "user" });
const call = turn.call("c", { agent: "b" });
const window: Item[] = call.select([item], { omitted: [{ id: "i", reason: "budget_limit" }] });
const assembly: FactData<"context.assembly.created"> = call.assemble(window);
call.inject(assembly, "message_history");
call.usage({ uncached_input_tokens: 1 });
const after: Item[] = call.compact(window, ["i"]).complete({ id: "s", text: "short" });
turn.missing({ question: "q", requested_from: "u", requested_action: "a", user_summary: "s" }).resolve("i", after[0]?.id ?? "");
turn.record("context.item.removed", { item_id: "i" });
const receipt: Receipt = await turn.seal();
console.log(receipt.stored, client.refusals[0]?.violations[0]?.code, client.notices[0]?.pointer);

// @ts-expect-error a fact has only the members of its type
turn.record("context.item.removed", { item: "i" });
// @ts-expect-error the contract has no such type
turn.record("context.item.vanished", { item_id: "i" });
// @ts-expect-error a run needs a session
client.run({ agent: "a" });
// @ts-expect-error usage has the disjoint buckets of the contract
call.usage({ input_tokens: 1 });

const model = wrapLanguageModel({ model: createOpenAI({ apiKey: "k" })("gpt-5"), middleware: ledgerMiddleware(() => turn) });
await generateText({ model, prompt: "hi" });
await new ChatOpenAI({ model: "gpt-5" }).invoke("hi", { callbacks: [new LedgerHandler(turn)] });
addTraceProcessor(new LedgerProcessor(client, { agent: "a" }));
