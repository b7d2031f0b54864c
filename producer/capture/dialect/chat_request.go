package dialect

import (
	"bytes"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// chatSettings are the members of a request that are no content of the window.
var chatSettings = []string{
	"model", "max_tokens", "max_completion_tokens", "temperature", "top_p", "n", "stream", "stream_options", "stop",
	"presence_penalty", "frequency_penalty", "logit_bias", "logprobs", "top_logprobs", "user", "seed", "tool_choice",
	"parallel_tool_calls", "function_call", "metadata", "store", "service_tier", "reasoning_effort", "verbosity",
	"modalities", "audio", "prompt_cache_key", "prompt_cache_retention", "safety_identifier", "web_search_options",
}

// chat reads a request of the Chat Completions API.
func (w *windowReader) chat(top fields) {
	w.Model, w.MaxOutput = short(top.text("model")), whole(top.get("max_completion_tokens"))
	if w.MaxOutput == nil {
		w.MaxOutput = whole(top.get("max_tokens"))
	}
	w.Stream = string(bytes.TrimSpace(top.get("stream"))) == "true"
	messages, ok := elements(top.get("messages"))
	w.found = ok
	first := w.chatSystem(messages)
	w.tools(top.get("tools"))
	w.tools(top.get("functions"))
	w.started = true
	for i, message := range messages[first:] {
		w.chatMessage(first+i, message)
	}
	for _, m := range top {
		if m.name != "messages" && m.name != "tools" && m.name != "functions" && !slices.Contains(chatSettings, m.name) {
			w.unknown(m)
		}
	}
}

// chatSystem adds the system messages before the conversation and returns their number.
func (w *windowReader) chatSystem(messages []jsontext.Value) int {
	for i, message := range messages {
		f, _ := members(message)
		if role := f.text("role"); role != "system" && role != "developer" {
			return i
		}
		w.chatMessage(i, message)
	}
	return len(messages)
}

func (w *windowReader) chatMessage(i int, message jsontext.Value) {
	f, ok := members(message)
	if !ok {
		w.add(Block{Kind: "unknown", Layer: LayerOpaque, Name: "message", Message: i, Raw: message})
		return
	}
	role := short(f.text("role"))
	if role == "tool" || role == "function" {
		id := short(f.text("tool_call_id"))
		if list := parts(f.get("content"), "text"); len(list) > 0 {
			w.add(Block{
				Kind: "tool_result", Layer: LayerToolResults, Role: role, ID: id, Name: short(f.text("name")), Message: i,
				Raw: array(list), Text: textOfParts(f.get("content")),
			})
		}
		w.remainder(i, role, f, "role", "content", "tool_call_id")
		return
	}
	for _, p := range parts(f.get("content"), "text") {
		b := openAIPart(p)
		b.Message, b.Role = i, role
		if b.Kind == "text" {
			b.Layer, b.Kind = w.textLayer(role, b.Text)
		}
		w.add(b)
	}
	for _, call := range parts(f.get("tool_calls"), "text") {
		b := chatCall(call)
		b.Message, b.Role = i, role
		w.add(b)
	}
	w.remainder(i, role, f, "role", "content", "tool_calls")
}

func array(list []jsontext.Value) []byte {
	out := []byte{'['}
	for i, v := range list {
		if i > 0 {
			out = append(out, ',')
		}
		out = append(out, bytes.TrimSpace(v)...)
	}
	return append(out, ']')
}

// chatCall reads an element of tool_calls.
func chatCall(raw jsontext.Value) Block {
	b := Block{Kind: "tool_call", Layer: LayerToolCalls, Message: -1, Raw: raw, Text: raw}
	if f, ok := members(raw); ok {
		b.ID = short(f.text("id"))
		if function, ok := members(f.get("function")); ok {
			b.Name, b.Text = short(function.text("name")), readable(function.get("arguments"))
		} else if custom, ok := members(f.get("custom")); ok {
			b.Name, b.Text = short(custom.text("name")), readable(custom.get("input"))
		}
	}
	return b
}

// openAIPart reads a part of a message of either OpenAI API. The kind of a text is "text".
func openAIPart(raw jsontext.Value) Block {
	b := Block{Kind: "unknown", Layer: LayerOpaque, Name: "unknown", Message: -1, Raw: raw}
	f, ok := members(raw)
	if !ok {
		if raw.Kind() == '"' {
			b.Kind, b.Text, b.Name = "text", textBytes(raw), ""
		}
		return b
	}
	switch kind := f.text("type"); {
	case kind == "text" || kind == "input_text" || kind == "output_text" || kind == "summary_text" || kind == "reasoning_text":
		b.Kind, b.Name, b.Text = "text", "", readable(f.get("text"))
	case kind == "refusal":
		b.Kind, b.Layer, b.Name, b.Text = "assistant_message", LayerAssistant, "", readable(f.get("refusal"))
	case strings.Contains(kind, "image"):
		b.Kind, b.Layer, b.Name = "image", LayerMedia, ""
	case strings.Contains(kind, "file"):
		b.Kind, b.Layer, b.Name = "file", LayerMedia, ""
	case strings.Contains(kind, "audio"):
		b.Kind, b.Layer, b.Name = "audio", LayerMedia, ""
	default:
		b.Name = blockName(kind)
	}
	return b
}
