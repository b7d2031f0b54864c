// Lets one client library talk to the model at a base URL: node talk.mjs LIBRARY BASE [http]
// With http nothing is asked by WebSocket, for which Node.js uses no proxy.
//
// Each conversation has a system prompt and a tool. The model calls the tool twice and then says
// what the sum is. A line of the output is the name of a conversation and its last text.

const [library, base, transport] = process.argv.slice(2)
const system = 'You add numbers with the tool.'
const description = 'Adds two numbers.'
const schema = {
  type: 'object',
  properties: { a: { type: 'number' }, b: { type: 'number' } },
  required: ['a', 'b'],
  additionalProperties: false,
}
const add = ({ a, b }) => `${a} + ${b} = ${a + b}`
const key = 'sk-no-key'

const print = (name, text) => console.log(`${name}: ${text}`)

// abandoned expects that a call has no end, because its caller leaves or its answer breaks off.
async function abandoned(name, call) {
  try {
    await call(AbortSignal.timeout(100))
    print(name, 'was answered')
  } catch {
    print(name, 'left')
  }
}

// malformed expects that an event which is no JSON ends a call, or is left out. Libraries differ.
async function malformed(name, call) {
  try {
    await call()
    print(name, 'went on')
  } catch {
    print(name, 'left')
  }
}

async function openai() {
  const { default: OpenAI } = await import('openai')
  const { ResponsesWS } = await import('openai/resources/responses/ws')
  const client = new OpenAI({ apiKey: key, baseURL: `${base}/v1` })
  const model = 'gpt-5'

  const chatTools = [{ type: 'function', function: { name: 'add', description, parameters: schema } }]
  const chat = async (name, ask) => {
    const messages = [{ role: 'system', content: system }, { role: 'user', content: name }]
    for (;;) {
      const message = await ask({ model, messages, tools: chatTools })
      messages.push(message)
      if (!message.tool_calls?.length) return print(name, message.content)
      for (const call of message.tool_calls)
        messages.push({ role: 'tool', tool_call_id: call.id, content: add(JSON.parse(call.function.arguments)) })
    }
  }
  const streamed = (options) => async (body) => (await client.chat.completions.stream({ ...body, ...options }).finalChatCompletion()).choices[0].message
  await chat('openai chat whole retry', async (body) => (await client.chat.completions.create(body)).choices[0].message)
  await chat('openai chat stream', streamed({ stream_options: { include_usage: true } }))
  await chat('openai chat stream without usage', streamed({}))
  await abandoned('openai chat abort', (signal) =>
    client.chat.completions.create({ model, messages: [{ role: 'user', content: 'openai chat abort' }] }, { signal }))

  await abandoned('openai chat cut', () =>
    client.chat.completions.stream({ model, messages: [{ role: 'user', content: 'openai chat cut' }] }).finalChatCompletion())
  await malformed('openai chat malformed', () =>
    client.chat.completions.stream({ model, messages: [{ role: 'user', content: 'openai chat malformed' }] }).finalChatCompletion())

  const tools = [{ type: 'function', name: 'add', description, parameters: schema, strict: true }]
  const results = (response) =>
    response.output.filter((item) => item.type === 'function_call')
      .map((call) => ({ type: 'function_call_output', call_id: call.call_id, output: add(JSON.parse(call.arguments)) }))
  const responses = async (name, chained, ask) => {
    let input = [{ role: 'user', content: name }]
    let previous
    for (;;) {
      const response = await ask({ model, instructions: system, input, tools, previous_response_id: previous })
      const next = results(response)
      if (!next.length) return print(name, response.output_text ?? response.output.at(-1).content[0].text)
      if (chained) [previous, input] = [response.id, next]
      else input = [...input, ...response.output, ...next]
    }
  }
  await responses('openai responses whole retry', false, (body) => client.responses.create(body))
  await responses('openai responses stream', false, (body) => client.responses.stream(body).finalResponse())
  await abandoned('openai responses cut', () => client.responses.stream({ model, input: 'openai responses cut' }).finalResponse())
  await malformed('openai responses malformed', () => client.responses.stream({ model, input: 'openai responses malformed' }).finalResponse())
  if (transport === 'http') return
  const ws = new ResponsesWS(client)
  const events = ws[Symbol.asyncIterator]()
  await responses('openai responses websocket', true, async (body) => {
    ws.send({ type: 'response.create', ...body })
    for (;;) {
      const { value } = await events.next()
      if (value.type === 'error') throw value.error
      if (value.type === 'message' && value.message.type === 'response.completed') return value.message.response
    }
  })
  ws.close()
}

async function anthropic() {
  const { default: Anthropic } = await import('@anthropic-ai/sdk')
  const client = new Anthropic({ apiKey: key, baseURL: base })
  const common = { model: 'claude-opus-4-1', max_tokens: 1000, system, tools: [{ name: 'add', description, input_schema: schema }] }
  const talk = async (name, ask) => {
    const messages = [{ role: 'user', content: name }]
    for (;;) {
      const message = await ask({ ...common, messages })
      messages.push({ role: 'assistant', content: message.content })
      const content = message.content.filter((block) => block.type === 'tool_use')
        .map((call) => ({ type: 'tool_result', tool_use_id: call.id, content: add(call.input) }))
      if (!content.length) return print(name, message.content.at(-1).text)
      messages.push({ role: 'user', content })
    }
  }
  await talk('anthropic whole retry', (body) => client.messages.create(body))
  await talk('anthropic stream', (body) => client.messages.stream(body).finalMessage())
  await abandoned('anthropic cut', () =>
    client.messages.stream({ ...common, messages: [{ role: 'user', content: 'anthropic cut' }] }).finalMessage())
  await malformed('anthropic malformed', () =>
    client.messages.stream({ ...common, messages: [{ role: 'user', content: 'anthropic malformed' }] }).finalMessage())
  await client.messages.countTokens({ model: common.model, messages: [{ role: 'user', content: 'how many?' }] })
  await abandoned('anthropic abort', (signal) =>
    client.messages.create({ ...common, messages: [{ role: 'user', content: 'anthropic abort' }] }, { signal }))
}

async function ai() {
  const { generateText, streamText, tool, jsonSchema, isStepCount } = await import('ai')
  const { createAnthropic } = await import('@ai-sdk/anthropic')
  const { createOpenAI } = await import('@ai-sdk/openai')
  const openai = createOpenAI({ apiKey: key, baseURL: `${base}/v1` })
  const models = {
    'anthropic': createAnthropic({ apiKey: key, baseURL: `${base}/v1` })('claude-opus-4-1'),
    'openai responses': openai('gpt-5'),
    'openai chat': openai.chat('gpt-5'),
  }
  const tools = { add: tool({ description, inputSchema: jsonSchema(schema), execute: async (input) => add(input) }) }
  for (const [provider, model] of Object.entries(models)) {
    const options = (prompt) => ({ model, instructions: system, prompt, tools, stopWhen: isStepCount(5) })
    const whole = `ai ${provider} whole retry`
    print(whole, (await generateText(options(whole))).text)
    const stream = `ai ${provider} stream`
    print(stream, await streamText(options(stream)).text)
    const broken = `ai ${provider} malformed`
    await malformed(broken, () => streamText({ ...options(broken), onError() {} }).text)
  }
}

async function langchain(name, model, streams) {
  const { tool } = await import('@langchain/core/tools')
  const { HumanMessage, SystemMessage, ToolMessage } = await import('@langchain/core/messages')
  const bound = model.bindTools([tool(async (input) => add(input), { name: 'add', description, schema })])
  const talk = async (name, ask) => {
    const messages = [new SystemMessage(system), new HumanMessage(name)]
    for (;;) {
      const message = await ask(messages)
      messages.push(message)
      if (!message.tool_calls?.length) return print(name, message.text)
      for (const call of message.tool_calls) messages.push(new ToolMessage({ content: add(call.args), tool_call_id: call.id }))
    }
  }
  await talk(`langchain ${name} whole retry`, (messages) => bound.invoke(messages))
  const streamed = async (messages) => {
    let all
    for await (const chunk of await bound.stream(messages)) all = all ? all.concat(chunk) : chunk
    return all
  }
  await talk(`langchain ${name} stream`, streamed)
  const broken = `langchain ${name} malformed`
  await malformed(broken, () => streamed([new HumanMessage(broken)]))
}

async function langchainAnthropic() {
  const { ChatAnthropic } = await import('@langchain/anthropic')
  await langchain('anthropic', new ChatAnthropic({ apiKey: key, anthropicApiUrl: base, model: 'claude-opus-4-1', maxTokens: 1000 }))
}

async function langchainOpenAI() {
  const { ChatOpenAI } = await import('@langchain/openai')
  for (const useResponsesApi of [false, true]) {
    const model = new ChatOpenAI({ apiKey: key, model: 'gpt-5', useResponsesApi, configuration: { baseURL: `${base}/v1` } })
    await langchain(useResponsesApi ? 'openai responses' : 'openai chat', model)
  }
}

async function agents() {
  const { Agent, Runner, tool, setDefaultOpenAIClient, setTracingDisabled, setOpenAIAPI } = await import('@openai/agents')
  const { default: OpenAI } = await import('openai')
  setDefaultOpenAIClient(new OpenAI({ apiKey: key, baseURL: `${base}/v1` }))
  setTracingDisabled(true)
  const runner = new Runner({ tracingDisabled: true })
  for (const api of ['responses', 'chat_completions']) {
    setOpenAIAPI(api)
    const agent = new Agent({
      name: 'adder', instructions: system, model: 'gpt-5',
      tools: [tool({ name: 'add', description, parameters: schema, strict: true, execute: async (input) => add(input) })],
    })
    const whole = `agents ${api} whole retry`
    print(whole, (await runner.run(agent, whole)).finalOutput)
    const stream = `agents ${api} stream`
    const result = await runner.run(agent, stream, { stream: true })
    for await (const _ of result);
    print(stream, result.finalOutput)
    const broken = `agents ${api} malformed`
    await malformed(broken, async () => {
      for await (const _ of await runner.run(agent, broken, { stream: true }));
    })
  }
}

await { openai, anthropic, ai, langchainAnthropic, langchainOpenAI, agents }[library]()
process.exit(0)
