package otlp

// Target is a part of a model call.
type Target string

// The targets.
const (
	Session      Target = "session"       // session of the facts
	Agent        Target = "agent"         // agent and runtime of the facts
	Provider     Target = "provider"      // dialect in which the messages are written
	Model        Target = "model"         // model that was asked
	Answered     Target = "answered"      // model that answered
	ResponseID   Target = "response id"   // provider's id of the message; joins several tellings of a call
	Stop         Target = "stop reason"   // provider's word for the end
	Failure      Target = "error"         // provider's type of an error
	System       Target = "system"        // blocks of the layer system
	Tools        Target = "tools"         // blocks of the layer tools
	Input        Target = "input"         // the other blocks of the window
	Output       Target = "output"        // the blocks of the answer
	InputTokens  Target = "input tokens"  // with the tokens of the cache
	Uncached     Target = "uncached"      // input tokens without those of the cache
	CacheRead    Target = "cache read"    // tokens that came from the cache
	CacheWrite   Target = "cache write"   // tokens that were written to the cache
	OutputTokens Target = "output tokens" // with the tokens of the reasoning
	Reasoning    Target = "reasoning"     // tokens of the reasoning
)

// Form is how an attribute holds its value.
type Form string

// The forms.
const (
	Text     Form = "text"
	Number   Form = "number"
	Parts    Form = "messages with parts"       // of the GenAI conventions: an array, or its JSON text
	AISDK    Form = "messages with content"     // of the AI SDK, as JSON text
	Prefixed Form = "attributes by index"       // <name>.0.role, <name>.0.content, …
	Nested   Form = "attributes below .message" // <name>.0.message.role, …
	JSONText Form = "JSON text"
)

// Attribute is a row of the mapping.
type Attribute struct {
	Name   string
	Of     string // who writes it
	Target Target
	Form   Form
}

// Names of those who write the attributes.
const (
	genAI        = "GenAI conventions"
	olderGenAI   = "GenAI conventions, older"
	aiSDK        = "Vercel AI SDK"
	openLLMetry  = "OpenLLMetry"
	openInferred = "OpenInference"
	claudeCode   = "Claude Code"
	codex        = "Codex"
)

// Mapping lists the attributes that are read. For each target, the first that a call has counts.
var Mapping = []Attribute{
	{"gen_ai.conversation.id", genAI, Session, Text},
	{"session.id", openInferred + ", " + claudeCode, Session, Text},
	{"conversation.id", codex, Session, Text},
	{"traceloop.association.properties.session_id", openLLMetry, Session, Text},
	{"ai.telemetry.metadata.sessionId", aiSDK, Session, Text},
	{"gen_ai.agent.name", genAI, Agent, Text},
	{"ai.telemetry.functionId", aiSDK, Agent, Text},
	{"service.name", "resource", Agent, Text},
	{"gen_ai.provider.name", genAI, Provider, Text},
	{"gen_ai.system", olderGenAI, Provider, Text},
	{"ai.model.provider", aiSDK, Provider, Text},
	{"llm.provider", openInferred, Provider, Text},
	{"gen_ai.request.model", genAI, Model, Text},
	{"ai.model.id", aiSDK, Model, Text},
	{"llm.model_name", openInferred, Model, Text},
	{"model", claudeCode + ", " + codex, Model, Text},
	{"gen_ai.response.model", genAI, Answered, Text},
	{"ai.response.model", aiSDK, Answered, Text},
	{"gen_ai.response.id", genAI, ResponseID, Text},
	{"ai.response.id", aiSDK, ResponseID, Text},
	{"message_id", claudeCode, ResponseID, Text},
	{"gen_ai.response.finish_reasons", genAI, Stop, Text},
	{"ai.response.finishReason", aiSDK, Stop, Text},
	{"error.type", genAI, Failure, Text},
	{"gen_ai.system_instructions", genAI, System, Parts},
	{"gen_ai.tool.definitions", genAI, Tools, JSONText},
	{"ai.prompt.tools", aiSDK, Tools, JSONText},
	{"llm.request.functions", openLLMetry, Tools, Prefixed},
	{"llm.tools", openInferred, Tools, Prefixed},
	{"gen_ai.input.messages", genAI, Input, Parts},
	{"ai.prompt.messages", aiSDK, Input, AISDK},
	{"llm.input_messages", openInferred, Input, Nested},
	{"gen_ai.prompt", openLLMetry, Input, Prefixed},
	{"gen_ai.output.messages", genAI, Output, Parts},
	{"llm.output_messages", openInferred, Output, Nested},
	{"gen_ai.completion", openLLMetry, Output, Prefixed},
	{"ai.response.text", aiSDK, Output, Text},
	{"ai.response.toolCalls", aiSDK, Output, JSONText},
	{"input_tokens", claudeCode, Uncached, Number},
	{"gen_ai.usage.input_tokens", genAI, InputTokens, Number},
	{"ai.usage.inputTokens", aiSDK, InputTokens, Number},
	{"ai.usage.promptTokens", aiSDK, InputTokens, Number},
	{"gen_ai.usage.prompt_tokens", olderGenAI, InputTokens, Number},
	{"llm.token_count.prompt", openInferred, InputTokens, Number},
	{"input_token_count", codex, InputTokens, Number},
	{"gen_ai.usage.cache_read.input_tokens", genAI, CacheRead, Number},
	{"gen_ai.usage.cache_read_tokens", "vendors", CacheRead, Number},
	{"gen_ai.usage.cache_read_input_tokens", openLLMetry, CacheRead, Number},
	{"gen_ai.usage.input_cached_tokens", "vendors", CacheRead, Number},
	{"input_cached_tokens", "vendors", CacheRead, Number},
	{"ai.usage.cachedInputTokens", aiSDK, CacheRead, Number},
	{"llm.token_count.prompt_details.cache_read", openInferred, CacheRead, Number},
	{"cache_read_tokens", claudeCode, CacheRead, Number},
	{"cached_token_count", codex, CacheRead, Number},
	{"gen_ai.usage.cache_creation.input_tokens", genAI, CacheWrite, Number},
	{"gen_ai.usage.cache_write.input_tokens", genAI, CacheWrite, Number},
	{"gen_ai.usage.cache_creation_input_tokens", openLLMetry, CacheWrite, Number},
	{"llm.token_count.prompt_details.cache_write", openInferred, CacheWrite, Number},
	{"cache_creation_tokens", claudeCode, CacheWrite, Number},
	{"cache_write_token_count", codex, CacheWrite, Number},
	{"gen_ai.usage.output_tokens", genAI, OutputTokens, Number},
	{"ai.usage.outputTokens", aiSDK, OutputTokens, Number},
	{"ai.usage.completionTokens", aiSDK, OutputTokens, Number},
	{"gen_ai.usage.completion_tokens", olderGenAI, OutputTokens, Number},
	{"llm.token_count.completion", openInferred, OutputTokens, Number},
	{"output_tokens", claudeCode, OutputTokens, Number},
	{"output_token_count", codex, OutputTokens, Number},
	{"gen_ai.usage.reasoning.output_tokens", genAI, Reasoning, Number},
	{"gen_ai.usage.reasoning_tokens", "vendors", Reasoning, Number},
	{"ai.usage.reasoningTokens", aiSDK, Reasoning, Number},
	{"llm.token_count.completion_details.reasoning", openInferred, Reasoning, Number},
	{"reasoning_token_count", codex, Reasoning, Number},
}

// Call kinds: a span or a log record is a model call by its name, or by an attribute.
var (
	// callEvents are the names of log records that are model calls.
	callEvents = []string{"gen_ai.client.inference.operation.details", "claude_code.api_request", "api_request"}
	// Log records of Codex have the name codexEvent. Records with codexCount are model calls.
	codexEvent, codexCount = "codex.sse_event", "input_token_count"
	// callOperations are the values of gen_ai.operation.name that are model calls.
	callOperations = []string{"chat", "generate_content", "text_completion"}
	// innerSpans are the spans of the AI SDK that are model calls. Those around them repeat them.
	innerSpans = []string{"ai.generateText.doGenerate", "ai.streamText.doStream", "ai.generateObject.doGenerate", "ai.streamObject.doStream"}
)
