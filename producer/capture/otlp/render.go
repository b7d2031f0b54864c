package otlp

import (
	"bytes"
	"encoding/json"
	"strings"

	"github.com/ctxledger/ctxledger/producer/capture/dialect"
)

// dialectOf returns the dialect in which the messages of a provider are written, so that a block
// has the digest of the same block on the wire.
func dialectOf(provider string) dialect.Dialect {
	if strings.Contains(strings.ToLower(provider), "anthropic") {
		return dialect.AnthropicMessages
	}
	return dialect.OpenAIChat
}

// marshal writes JSON without escapes that no client writes.
func marshal(value any) ([]byte, error) {
	var b bytes.Buffer
	encoder := json.NewEncoder(&b)
	encoder.SetEscapeHTML(false)
	err := encoder.Encode(value)
	return bytes.TrimSpace(b.Bytes()), err
}

// object is a JSON object.
type object = map[string]any

// request writes a window as a request of the dialect.
func (c *content) request(d dialect.Dialect) ([]byte, error) {
	body := object{"model": c.model}
	var messages []any
	if d == dialect.AnthropicMessages {
		var system []any
		for _, m := range c.system {
			system = append(system, anthropicParts(m)...)
		}
		if system != nil {
			body["system"] = system
		}
		for _, m := range c.input {
			role := m.role
			if role == "tool" {
				role = "user"
			}
			messages = append(messages, object{"role": role, "content": anthropicParts(m)})
		}
	} else {
		for _, m := range append(c.system[:len(c.system):len(c.system)], c.input...) {
			messages = append(messages, chatMessages(m)...)
		}
	}
	body["messages"] = append([]any{}, messages...)
	if tools := c.toolList(d); tools != nil {
		body["tools"] = tools
	}
	return marshal(body)
}

func (c *content) toolList(d dialect.Dialect) (list []any) {
	for _, tool := range c.tools {
		function, nested := tool["function"].(map[string]any)
		if !nested {
			function = tool
		}
		one := object{"name": function["name"]}
		if about, ok := function["description"]; ok {
			one["description"] = about
		}
		parameters := decoded(anyOf(function, "parameters", "input_schema", "inputSchema"))
		if d == dialect.AnthropicMessages {
			if parameters != nil {
				one["input_schema"] = parameters
			}
			list = append(list, one)
			continue
		}
		if parameters != nil {
			one["parameters"] = parameters
		}
		list = append(list, object{"type": "function", "function": one})
	}
	return list
}

// response writes an answer as a response of the dialect.
func (c *content) response(d dialect.Dialect) ([]byte, error) {
	var parts []part
	for _, m := range c.output {
		parts = append(parts, m.parts...)
	}
	m := message{role: "assistant", parts: parts}
	if d == dialect.AnthropicMessages {
		return marshal(object{"id": c.id, "type": "message", "role": "assistant", "model": c.answered, "stop_reason": c.stop, "content": append([]any{}, anthropicParts(m)...)})
	}
	var choices []any
	for _, one := range chatMessages(m) {
		choices = append(choices, object{"index": len(choices), "message": one, "finish_reason": c.stop})
	}
	return marshal(object{"id": c.id, "model": c.answered, "choices": append([]any{}, choices...)})
}

func anthropicParts(m message) (list []any) {
	for _, p := range m.parts {
		switch p.kind {
		case "text":
			list = append(list, object{"type": "text", "text": p.text})
		case "reasoning":
			list = append(list, object{"type": "thinking", "thinking": p.text})
		case "tool_call":
			input := decoded(p.value)
			if input == nil {
				input = object{}
			}
			list = append(list, object{"type": "tool_use", "id": p.id, "name": p.name, "input": input})
		case "tool_result":
			result := object{"type": "tool_result", "tool_use_id": p.id}
			if p.value != nil {
				result["content"] = contentOf(p.value)
			}
			list = append(list, result)
		default:
			list = append(list, p.raw)
		}
	}
	return list
}

// chatMessages writes a message for Chat Completions, which has a message for each tool result.
func chatMessages(m message) (list []any) {
	var content, calls []any
	for _, p := range m.parts {
		switch p.kind {
		case "text":
			content = append(content, object{"type": "text", "text": p.text})
		case "reasoning":
			content = append(content, object{"type": "reasoning", "reasoning": p.text})
		case "tool_call":
			arguments, ok := p.value.(string)
			if !ok {
				text, err := marshal(p.value)
				if err == nil {
					arguments = string(text)
				}
			}
			calls = append(calls, object{"id": p.id, "type": "function", "function": object{"name": p.name, "arguments": arguments}})
		case "tool_result":
			list = append(list, object{"role": "tool", "tool_call_id": p.id, "content": contentOf(p.value)})
		default:
			content = append(content, p.raw)
		}
	}
	if content != nil || calls != nil || list == nil {
		one := object{"role": m.role}
		if content != nil {
			one["content"] = content
		}
		if calls != nil {
			one["tool_calls"] = calls
		}
		list = append([]any{one}, list...)
	}
	return list
}

// contentOf writes a tool's result as a provider gets it: text, or parts of a type.
func contentOf(value any) any {
	if _, ok := value.(string); ok {
		return value
	}
	if list, ok := value.([]any); ok && len(list) > 0 {
		if first, ok := list[0].(map[string]any); ok && textOf(first["type"]) != "" {
			return value
		}
	}
	text, err := marshal(value)
	if err != nil {
		return nil
	}
	return string(text)
}
