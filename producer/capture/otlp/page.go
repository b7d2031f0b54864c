package otlp

import (
	"fmt"
	"strings"
)

// Page returns the page MAPPING.md: what becomes of the attributes of model calls.
func Page() string {
	var b strings.Builder
	b.WriteString(`# What becomes of OpenTelemetry's model calls

This page is generated from the code: ` + "`UPDATE=1 go test ./producer/capture/otlp -run TestPage`" + `.

` + "`ctxledger up` and `ctxledger serve`" + ` take OTLP/HTTP on the port of the pages, ` + "`POST /v1/logs` and `POST /v1/traces`" + `,
as protobuf and as JSON, with gzip or without: set ` + "`OTEL_EXPORTER_OTLP_ENDPOINT`" + ` to that address. Its facts have the
fidelity ` + "`reported`" + `: they are what telemetry tells of a window, not its bytes.

## What is a model call

- a log record with the event name ` + quoted(callEvents) + `
- a log record with the event name ` + "`" + codexEvent + "` that has `" + codexCount + "`" + `
- a span with ` + "`gen_ai.operation.name`" + ` ` + quoted(callOperations) + `
- a span of the AI SDK named ` + quoted(innerSpans) + `; the spans around them repeat them
- a span with ` + "`openinference.span.kind` `LLM`" + `, or with ` + "`llm.request.type`" + `

Every other span and log record is counted and left. A record that comes twice counts once, and so do a span and an
event of one call.

## What becomes of its attributes

For each part of a call, the first attribute that the call has counts.
`)
	last := Target("")
	for _, row := range Mapping {
		if row.Target != last {
			fmt.Fprintf(&b, "\n### %s\n\n%s\n\n| attribute | written by | form |\n|---|---|---|\n", row.Target, about[row.Target])
			last = row.Target
		}
		fmt.Fprintf(&b, "| `%s` | %s | %s |\n", row.Name, row.Of, row.Form)
	}
	b.WriteString(`
## What telemetry does not tell

- Messages are content, and most emitters send them only on request. A call without messages has its usage and no
  window; its coverage is partial (` + "`entries_missing`" + `).
- Without system instructions or tool definitions the coverage is partial too (` + "`system_unknown`, `tools_unknown`" + `), except
  where a convention has the system prompt among the messages.
- A call without a conversation has its trace as the session: ` + "`trace_<trace id>`" + `. The answer to the emitter says so.
- A bucket of tokens that no attribute names is unknown, not 0. Input tokens include those of the cache, so without
  the latter the uncached ones are unknown; the number is kept in ` + "`provider_usage`" + `. A part that is larger than its whole is unknown, too.
- Selections, omissions and their reasons are never inferred. To state them, use an SDK.

## What was run

The tests run these emitters against a scripted model, at the versions that ` + "`producertest/realclient`" + ` pins: the AI SDK
with ` + "`@ai-sdk/otel`" + ` (Anthropic and OpenAI, whole and as a stream), and the instrumentations of ` + "`openai`" + ` by OpenInference
and OpenLLMetry, for Node.js. Each window is the one that the model received, block by block. Claude Code and Codex tell their calls by log events
with their usage, and no window. Emitters for Python, and the
log events of the GenAI conventions, were not run: payloads written from the published conventions stand in.
`)
	return b.String()
}

// about says what a target becomes.
var about = map[Target]string{
	Session: "The session of the facts.", Agent: "The agent and the runtime of the facts.",
	Provider: "The form in which the messages are compared with other records of the call: Anthropic's, or else OpenAI's.",
	Model:    "`model` of `context.usage.recorded`.", Answered: "`answered_model`, where it differs.",
	ResponseID: "`provider_message_id`, which joins the records of one call.", Stop: "`stop_reason`.", Failure: "`metadata.provider_error`.",
	System: "Items of the layer `system`.", Tools: "Items of the layer `tools`.",
	Input:       "The other items of the window, in order: `context.item.added`, `context.assembly.created`, `context.injection.applied`.",
	Output:      "Items of the answer.",
	Uncached:    "`uncached_input_tokens`.",
	InputTokens: "`uncached_input_tokens`, after the tokens of the cache are taken off.",
	CacheRead:   "`cache_read_tokens`.", CacheWrite: "`cache_write_tokens`.",
	OutputTokens: "`output_tokens`, after the tokens of the reasoning are taken off.", Reasoning: "`reasoning_tokens`.",
}

func quoted(names []string) string {
	return "`" + strings.Join(names, "`, `") + "`"
}
