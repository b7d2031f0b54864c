package dialect

import (
	"bytes"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// responsesSettings are the members of a request that are no content of the window.
var responsesSettings = []string{
	"model", "max_output_tokens", "max_tool_calls", "temperature", "top_p", "top_logprobs", "stream", "stream_options",
	"store", "background", "include", "tool_choice", "parallel_tool_calls", "reasoning", "metadata", "client_metadata",
	"service_tier", "truncation", "user", "prompt_cache_key", "prompt_cache_retention", "safety_identifier",
	"previous_response_id", "type", "generate", "stream_id", "context_management",
}

// responses reads a request of the Responses API, also one that a WebSocket carries.
func (w *windowReader) responses(top fields) {
	w.Model, w.MaxOutput = short(top.text("model")), whole(top.get("max_output_tokens"))
	w.Stream = string(bytes.TrimSpace(top.get("stream"))) == "true"
	w.Previous = short(top.text("previous_response_id"))
	w.WarmUp = string(bytes.TrimSpace(top.get("generate"))) == "false"
	for _, p := range parts(top.get("instructions"), "input_text") {
		b := Block{Kind: "system_prompt", Layer: LayerSystem, Message: -1, Raw: p}
		if f, ok := members(p); ok {
			b.Text = readable(f.get("text"))
		}
		w.add(b)
	}
	w.tools(top.get("tools"))
	for _, m := range top {
		switch {
		case m.name == "input":
			w.found = true
			w.responsesInput(m.value)
		case m.name == "instructions" || m.name == "tools":
		case !slices.Contains(responsesSettings, m.name):
			w.unknown(m)
		}
	}
	w.found = w.found || w.Previous != "" || !empty(top.get("prompt")) || !empty(top.get("conversation"))
}

func (w *windowReader) responsesInput(input jsontext.Value) {
	if input.Kind() == '"' {
		w.started = true
		raw := part("input_text", bytes.TrimSpace(input))
		w.add(Block{Kind: "user_message", Layer: LayerUser, Role: "user", Raw: raw, Text: textBytes(input)})
		return
	}
	for i, item := range parts(input, "input_text") {
		for _, b := range w.responsesItem(item) {
			b.Message = i
			w.add(b)
		}
	}
}

// responsesItem returns the blocks of an item of an input or an output. A message has a block
// for each part, any other item is one block.
func (w *windowReader) responsesItem(raw jsontext.Value) []Block {
	b := Block{Kind: "unknown", Layer: LayerOpaque, Name: "unknown", Message: -1, Raw: raw}
	f, ok := members(raw)
	if !ok {
		return []Block{b}
	}
	kind, role := f.text("type"), short(f.text("role"))
	switch {
	case kind == "message" || kind == "" && role != "":
		return w.responsesMessage(f, role)
	case strings.HasSuffix(kind, "_call_output") || kind == "mcp_approval_response":
		w.started = true
		b.Kind, b.Layer, b.ID, b.Name, b.Role = "tool_result", LayerToolResults, short(f.text("call_id")), "", "tool"
		b.Text = textOfParts(f.get("output"))
	case strings.HasSuffix(kind, "_call"):
		b.Kind, b.Layer, b.ID, b.Name, b.Role = "tool_call", LayerToolCalls, short(f.text("call_id")), short(f.text("name")), "assistant"
		if b.Name == "" {
			b.Name = blockName(kind)
		}
		b.Text = raw
		for _, name := range [...]string{"arguments", "input"} {
			if t := textBytes(f.get(name)); t != nil {
				b.Text = t
			}
		}
	case kind == "reasoning":
		b.Kind, b.Name, b.Role = "reasoning", "", "assistant"
		if empty(f.get("encrypted_content")) {
			b.Layer, b.Text = LayerReasoning, bytes.Join([][]byte{textOfParts(f.get("summary")), textOfParts(f.get("content"))}, nil)
		}
	default:
		b.Name = blockName(kind)
	}
	return []Block{b}
}

func (w *windowReader) responsesMessage(f fields, role string) (blocks []Block) {
	if role != "system" && role != "developer" {
		w.started = true
	}
	form := "input_text"
	if role == "assistant" {
		form = "output_text"
	}
	for _, p := range parts(f.get("content"), form) {
		b := openAIPart(p)
		b.Role = role
		if b.Kind == "text" {
			b.Layer, b.Kind = w.textLayer(role, b.Text)
		}
		blocks = append(blocks, b)
	}
	before := len(w.Blocks)
	w.remainder(0, role, f, "type", "role", "content", "id", "status", "phase")
	blocks = append(blocks, w.Blocks[before:]...)
	w.Blocks = w.Blocks[:before]
	return blocks
}
