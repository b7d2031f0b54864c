// Talks to a model through adapters: node adapters.mjs MODEL GATEWAY KEY CONVERSATION... The model
// calls a tool and then says the sum. The session has the name of the conversation.
import { Key, connect } from "@ctxledger/sdk";

const [model, url, key, ...conversations] = process.argv.slice(2);
const client = await connect({ url, key: Key.parse(key), runtime: "adapters" });
const system = "You add numbers with the tool.", description = "Adds two numbers.";
const schema = { type: "object", properties: { a: { type: "number" }, b: { type: "number" } }, required: ["a", "b"], additionalProperties: false };
const add = ({ a, b }) => `${a} + ${b} = ${a + b}`;
const apiKey = "sk-no-key";
const turn = (session) => client.run({ session, agent: "adder" }).turn("turn-1");

async function ai(name, provider, streams) {
  const { generateText, streamText, tool, jsonSchema, isStepCount, wrapLanguageModel } = await import("ai");
  const { ledgerMiddleware } = await import("@ctxledger/sdk/ai");
  const { createAnthropic } = await import("@ai-sdk/anthropic");
  const { createOpenAI } = await import("@ai-sdk/openai");
  const openai = createOpenAI({ apiKey, baseURL: `${model}/v1` });
  const models = { anthropic: createAnthropic({ apiKey, baseURL: `${model}/v1` })("claude-opus-4-1"), chat: openai.chat("gpt-5"), responses: openai("gpt-5") };
  const now = turn(name);
  const wrapped = wrapLanguageModel({ model: models[provider], middleware: ledgerMiddleware(now) });
  const tools = { add: tool({ description, inputSchema: jsonSchema(schema), execute: async (input) => add(input) }) };
  const options = { model: wrapped, instructions: system, prompt: name, tools, stopWhen: isStepCount(5) };
  const text = streams ? await streamText(options).text : (await generateText(options)).text;
  await now.seal();
  await generateText({ ...options, prompt: "what is recorded no longer" }); // does not disturb the agent
  return text;
}

async function langchain(name, provider, streams) {
  const { tool } = await import("@langchain/core/tools");
  const { HumanMessage, SystemMessage, ToolMessage } = await import("@langchain/core/messages");
  const { LedgerHandler } = await import("@ctxledger/sdk/langchain");
  const { ChatAnthropic } = await import("@langchain/anthropic");
  const { ChatOpenAI } = await import("@langchain/openai");
  const chat = provider === "anthropic"
    ? new ChatAnthropic({ apiKey, anthropicApiUrl: model, model: "claude-opus-4-1", maxTokens: 1000 })
    : new ChatOpenAI({ apiKey, model: "gpt-5", useResponsesApi: provider === "responses", configuration: { baseURL: `${model}/v1` } });
  const bound = chat.bindTools([tool(async (input) => add(input), { name: "add", description, schema })]);
  const now = turn(name);
  const options = { callbacks: [new LedgerHandler(now)] };
  const messages = [new SystemMessage(system), new HumanMessage(name)];
  for (;;) {
    let message;
    if (streams) for await (const chunk of await bound.stream(messages, options)) message = message ? message.concat(chunk) : chunk;
    else message = await bound.invoke(messages, options);
    messages.push(message);
    if (!message.tool_calls?.length) {
      await now.seal();
      return message.text;
    }
    for (const call of message.tool_calls) messages.push(new ToolMessage({ content: add(call.args), tool_call_id: call.id }));
  }
}

async function agents(name, api, streams) {
  const { Agent, Runner, tool, setDefaultOpenAIClient, setOpenAIAPI, setTraceProcessors, setTracingDisabled } = await import("@openai/agents");
  const { LedgerProcessor } = await import("@ctxledger/sdk/openai-agents");
  const { default: OpenAI } = await import("openai");
  setDefaultOpenAIClient(new OpenAI({ apiKey, baseURL: `${model}/v1` }));
  setOpenAIAPI(api === "chat" ? "chat_completions" : api);
  setTracingDisabled(false);
  setTraceProcessors([new LedgerProcessor(client)]);
  const agent = new Agent({
    name: "adder", instructions: system, model: "gpt-5",
    tools: [tool({ name: "add", description, parameters: schema, strict: true, execute: async (input) => add(input) })],
  });
  const result = await new Runner({ groupId: name }).run(agent, name, streams ? { stream: true } : {});
  if (streams) for await (const _ of result);
  return result.finalOutput;
}

for (const name of conversations) {
  const [library, provider, way] = name.split(" ");
  console.log(`${name}: ${await { ai, langchain, agents }[library](name, provider, way === "stream")}`);
}
await client.close();
for (const refusal of client.refusals) console.log(JSON.stringify(refusal));
process.exit(0);
