// Lets one emitter of OpenTelemetry tell of a conversation: node emit.mjs EMITTER MODEL OTLP
//
// MODEL is the base URL of the model, OTLP that of the receiver of the traces. The model calls a
// tool once and then says the sum.
import { NodeTracerProvider, SimpleSpanProcessor } from '@opentelemetry/sdk-trace-node'

const [emitter, base, otlp] = process.argv.slice(2)
const system = 'You add numbers with the tool.'
const description = 'Adds two numbers.'
const schema = { type: 'object', properties: { a: { type: 'number' }, b: { type: 'number' } }, required: ['a', 'b'], additionalProperties: false }
const add = ({ a, b }) => `${a} + ${b} = ${a + b}`
const apiKey = 'sk-no-key'

// The AI SDK sends protobuf, the others JSON.
const { OTLPTraceExporter } = await import(`@opentelemetry/exporter-trace-otlp-${emitter.startsWith('ai ') ? 'proto' : 'http'}`)
const exporter = new OTLPTraceExporter({ url: `${otlp}/v1/traces`, compression: 'gzip' })
const provider = new NodeTracerProvider({ spanProcessors: [new SimpleSpanProcessor(exporter)] })
provider.register()

async function ai(kind) {
  const { generateText, streamText, tool, jsonSchema, isStepCount, registerTelemetry } = await import('ai')
  const { OpenTelemetry } = await import('@ai-sdk/otel')
  registerTelemetry(new OpenTelemetry())
  const { createAnthropic } = await import('@ai-sdk/anthropic')
  const { createOpenAI } = await import('@ai-sdk/openai')
  const model = kind === 'anthropic'
    ? createAnthropic({ apiKey, baseURL: `${base}/v1` })('claude-opus-4-1')
    : createOpenAI({ apiKey, baseURL: `${base}/v1` }).chat('gpt-5')
  const tools = { add: tool({ description, inputSchema: jsonSchema(schema), execute: async (input) => add(input) }) }
  const options = { model, instructions: system, prompt: emitter, tools, stopWhen: isStepCount(5), telemetry: { functionId: 'adder' } }
  return kind === 'anthropic' ? (await generateText(options)).text : await streamText(options).text
}

async function chat(instrument) {
  const { default: OpenAI } = await import('openai')
  instrument(OpenAI)
  const client = new OpenAI({ apiKey, baseURL: `${base}/v1` })
  const messages = [{ role: 'system', content: system }, { role: 'user', content: emitter }]
  for (;;) {
    const tools = [{ type: 'function', function: { name: 'add', description, parameters: schema } }]
    const { choices: [{ message }] } = await client.chat.completions.create({ model: 'gpt-5', messages, tools })
    messages.push(message)
    if (!message.tool_calls?.length) return message.content
    for (const call of message.tool_calls) messages.push({ role: 'tool', tool_call_id: call.id, content: add(JSON.parse(call.function.arguments)) })
  }
}

const run = {
  'ai anthropic': () => ai('anthropic'),
  'ai openai': () => ai('openai'),
  async openinference() {
    const { OpenAIInstrumentation } = await import('@arizeai/openinference-instrumentation-openai')
    const instrumentation = new OpenAIInstrumentation()
    instrumentation.setTracerProvider(provider)
    return chat((OpenAI) => instrumentation.manuallyInstrument(OpenAI))
  },
  async openllmetry() {
    const { OpenAIInstrumentation } = await import('@traceloop/instrumentation-openai')
    const instrumentation = new OpenAIInstrumentation({ traceContent: true })
    instrumentation.setTracerProvider(provider)
    return chat((OpenAI) => instrumentation.manuallyInstrument(OpenAI))
  },
}[emitter]
console.log(await run())
await provider.forceFlush()
await provider.shutdown()
process.exit(0)
