package dialect

import (
	"bytes"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// anthropicSettings are the members of a request that are no content of the window. The member
// metadata holds a person's id, which is not recorded.
var anthropicSettings = []string{
	"model", "max_tokens", "metadata", "stop_sequences", "stream", "temperature", "top_k", "top_p", "tool_choice",
	"thinking", "service_tier", "context_management", "betas", "anthropic_version", "anthropic_beta", "output_config",
	"diagnostics", "speed", "inference_geo", "cache_control",
}

// anthropic reads a request of the Messages API.
func (w *windowReader) anthropic(top fields) {
	w.Model, w.MaxOutput = short(top.text("model")), whole(top.get("max_tokens"))
	w.Stream = string(bytes.TrimSpace(top.get("stream"))) == "true"
	if metadata, ok := members(top.get("metadata")); ok {
		w.Session = sessionOfUser(metadata.text("user_id"))
	}
	for _, p := range parts(top.get("system"), "text") {
		b := anthropicPart(p)
		if b.Kind == "text" {
			b.Kind, b.Layer = "system_prompt", LayerSystem
		}
		b.Message = -1
		w.add(b)
	}
	w.tools(top.get("tools"))
	for _, m := range top {
		switch {
		case m.name == "messages":
			messages, ok := elements(m.value)
			w.found = w.found || ok
			for i, message := range messages {
				w.anthropicMessage(i, message)
			}
		case m.name == "system" || m.name == "tools":
		case !slices.Contains(anthropicSettings, m.name):
			w.unknown(m)
		}
	}
}

// sessionOfUser returns the session of Claude Code's metadata.user_id. The rest of the value is
// a person's and is dropped. The two forms are a JSON object with the member session_id, and a
// text that ends in _session_ and the id.
func sessionOfUser(user string) string {
	if object, ok := members([]byte(user)); ok {
		return short(object.text("session_id"))
	}
	if at := strings.LastIndex(user, "_session_"); at >= 0 {
		return short(user[at+len("_session_"):])
	}
	return ""
}

// parts returns the parts of a content. A string is one text part of the type kind.
func parts(content jsontext.Value, kind string) []jsontext.Value {
	switch content.Kind() {
	case '"':
		return []jsontext.Value{part(kind, bytes.TrimSpace(content))}
	case '[':
		if list, ok := elements(content); ok {
			return list
		}
	case 0, 'n':
		return nil
	}
	return []jsontext.Value{content}
}

// tools adds one block for each tool definition.
func (w *windowReader) tools(list jsontext.Value) {
	for _, tool := range parts(list, "text") {
		b := Block{Kind: "tool_definition", Layer: LayerTools, Message: -1, Raw: tool, Text: tool}
		if f, ok := members(tool); ok {
			b.Cached = !empty(f.get("cache_control"))
			if b.Name = short(f.text("name")); b.Name == "" {
				function, _ := members(f.get("function"))
				b.Name = short(function.text("name"))
			}
			if b.Name == "" {
				b.Name = short(f.text("type"))
			}
		}
		w.add(b)
	}
}

func (w *windowReader) anthropicMessage(i int, message jsontext.Value) {
	f, ok := members(message)
	if !ok {
		w.add(Block{Kind: "unknown", Layer: LayerOpaque, Name: "message", Message: i, Raw: message})
		return
	}
	role := short(f.text("role"))
	if role != "system" {
		w.started = true
	}
	for _, p := range parts(f.get("content"), "text") {
		b := anthropicPart(p)
		b.Message, b.Role = i, role
		if b.Kind == "text" {
			b.Layer, b.Kind = w.textLayer(role, b.Text)
		}
		w.add(b)
	}
	w.remainder(i, role, f, "role", "content")
}

// textLayer returns the layer and the kind of a message's text.
func (w *windowReader) textLayer(role string, text []byte) (Layer, string) {
	switch {
	case role == "assistant" || role == "model":
		return LayerAssistant, "assistant_message"
	case role == "system" || role == "developer":
		return w.systemLayer()
	case bytes.HasPrefix(bytes.TrimSpace(text[:min(len(text), 256)]), []byte("<system-reminder>")):
		return LayerInjected, "system_reminder"
	}
	return LayerUser, "user_message"
}

// remainder keeps the members of a message other than those that were read.
func (w *windowReader) remainder(i int, role string, f fields, read ...string) {
	var left []member
	for _, m := range f {
		if !slices.Contains(read, m.name) && !empty(m.value) {
			left = append(left, m)
		}
	}
	if len(left) > 0 {
		w.add(Block{Kind: "message_members", Layer: LayerOpaque, Role: role, Name: blockName(left[0].name), Message: i, Raw: object(left...)})
	}
}

// anthropicPart reads a part of a message. The kind of a text is "text": its layer depends on
// the message.
func anthropicPart(raw jsontext.Value) Block {
	b := Block{Raw: raw, Kind: "unknown", Layer: LayerOpaque, Name: "unknown", Message: -1}
	f, ok := members(raw)
	if !ok {
		if raw.Kind() == '"' { // an element of an array that should be a part
			b.Kind, b.Text, b.Name = "text", textBytes(raw), ""
		}
		return b
	}
	b.Cached = !empty(f.get("cache_control"))
	kind := f.text("type")
	switch {
	case kind == "text":
		b.Kind, b.Name, b.Text = "text", "", readable(f.get("text"))
	case kind == "thinking" && !empty(f.get("thinking")):
		b.Kind, b.Layer, b.Name, b.Text = "reasoning", LayerReasoning, "", readable(f.get("thinking"))
	case kind == "thinking", kind == "redacted_thinking":
		b.Kind, b.Name = "reasoning", kind
	case kind == "tool_use" || kind == "server_tool_use" || kind == "mcp_tool_use":
		b.Kind, b.Layer, b.ID, b.Name = "tool_call", LayerToolCalls, short(f.text("id")), short(f.text("name"))
		b.Text = bytes.TrimSpace(f.get("input"))
	case kind == "tool_result" || strings.HasSuffix(kind, "_tool_result"):
		b.Kind, b.Layer, b.ID, b.Name = "tool_result", LayerToolResults, short(f.text("tool_use_id")), ""
		b.Text = textOfParts(f.get("content"))
	case kind == "image" || kind == "document":
		b.Kind, b.Layer, b.Name = kind, LayerMedia, ""
	default:
		b.Name = blockName(kind)
	}
	return b
}

// readable returns the text of a string. A missing text is empty.
func readable(value jsontext.Value) []byte {
	if t := textBytes(value); t != nil {
		return t
	}
	return []byte{}
}

// textOfParts returns the text of a result: a string, or the texts of its parts. Other parts
// have no text. A result of another form is read as JSON.
func textOfParts(content jsontext.Value) []byte {
	switch content.Kind() {
	case '"':
		return readable(content)
	case '{':
		return content
	}
	list, _ := elements(content)
	texts := make([][]byte, 0, len(list))
	for _, p := range list {
		if f, ok := members(p); ok {
			if t := textBytes(f.get("text")); t != nil {
				texts = append(texts, t)
			}
		}
	}
	if len(texts) == 1 {
		return texts[0]
	}
	return bytes.Join(texts, []byte("\n"))
}
