package otlp

// message is a message of a window in one form for all conventions.
type message struct {
	role  string
	parts []part
}

// part is a part of a message. A part of another kind keeps its value in raw.
type part struct {
	kind     string // text, reasoning, tool_call, tool_result, other
	text     string // of a text or a reasoning
	id, name string // of a tool call
	value    any    // arguments of a call, or a result
	raw      any
}

// messagesOf reads the messages of an attribute.
func messagesOf(value any, form Form, role string) (list []message) {
	value = decoded(value)
	switch form {
	case Text:
		if text, ok := value.(string); ok {
			return []message{{role: role, parts: []part{{kind: "text", text: text}}}}
		}
	case JSONText: // the tool calls of the AI SDK
		m := message{role: role}
		for _, call := range array(value) {
			m.parts = append(m.parts, aiPart(call, "tool-call"))
		}
		return []message{m}
	}
	for _, one := range array(value) {
		object, ok := one.(map[string]any)
		if !ok {
			list = append(list, message{role: role, parts: []part{{kind: "other", raw: one}}})
			continue
		}
		if form == Nested {
			if below, ok := object["message"].(map[string]any); ok {
				object = below
			}
		}
		m := message{role: textOf(object["role"])}
		if m.role == "" {
			m.role = role
		}
		switch form {
		case Parts:
			m.parts = genAIParts(object)
		case AISDK:
			m.parts = aiParts(object["content"])
		default:
			m.parts = indexedParts(object)
		}
		list = append(list, m)
	}
	return list
}

// genAIParts reads a message of the GenAI conventions. A system instruction is a part itself.
func genAIParts(object map[string]any) (parts []part) {
	list, ok := object["parts"]
	if !ok {
		list = []any{object}
	}
	for _, one := range array(decoded(list)) {
		p, ok := one.(map[string]any)
		if !ok {
			parts = append(parts, part{kind: "other", raw: one})
			continue
		}
		switch textOf(p["type"]) {
		case "text":
			parts = append(parts, part{kind: "text", text: textOf(p["content"])})
		case "reasoning":
			parts = append(parts, part{kind: "reasoning", text: textOf(p["content"])})
		case "tool_call":
			parts = append(parts, part{kind: "tool_call", id: textOf(p["id"]), name: textOf(p["name"]), value: p["arguments"]})
		case "tool_call_response":
			parts = append(parts, part{kind: "tool_result", id: textOf(p["id"]), value: anyOf(p, "response", "result")})
		default:
			parts = append(parts, part{kind: "other", raw: one})
		}
	}
	return parts
}

// aiParts reads the content of a message of the AI SDK.
func aiParts(content any) (parts []part) {
	if text, ok := content.(string); ok {
		return []part{{kind: "text", text: text}}
	}
	for _, one := range array(content) {
		parts = append(parts, aiPart(one, ""))
	}
	return parts
}

func aiPart(one any, kind string) part {
	p, ok := one.(map[string]any)
	if !ok {
		return part{kind: "other", raw: one}
	}
	if kind == "" {
		kind = textOf(p["type"])
	}
	id, name := textOf(p["toolCallId"]), textOf(p["toolName"])
	switch kind {
	case "text":
		return part{kind: "text", text: textOf(p["text"])}
	case "reasoning":
		return part{kind: "reasoning", text: textOf(p["text"])}
	case "tool-call":
		return part{kind: "tool_call", id: id, name: name, value: anyOf(p, "input", "args")}
	case "tool-result":
		result := anyOf(p, "output", "result")
		if output, ok := result.(map[string]any); ok && output["value"] != nil {
			result = output["value"]
		}
		return part{kind: "tool_result", id: id, name: name, value: result}
	}
	return part{kind: "other", raw: one}
}

// indexedParts reads a message of OpenInference or OpenLLMetry.
func indexedParts(m map[string]any) (parts []part) {
	id := textOf(m["tool_call_id"])
	if content := decoded(m["content"]); content != nil {
		switch list, ok := content.([]any); {
		case id != "":
			parts = append(parts, part{kind: "tool_result", id: id, name: textOf(m["name"]), value: m["content"]})
		case ok:
			parts = append(parts, openParts(list)...)
		default:
			parts = append(parts, part{kind: "text", text: textOf(m["content"])})
		}
	}
	for _, one := range array(m["contents"]) {
		if object, ok := one.(map[string]any); ok {
			parts = append(parts, openParts([]any{object["message_content"]})...)
		}
	}
	for _, one := range array(m["tool_calls"]) {
		call, _ := one.(map[string]any)
		if below, ok := call["tool_call"].(map[string]any); ok {
			call = below
		}
		p := part{kind: "tool_call", id: textOf(call["id"]), name: textOf(call["name"]), value: call["arguments"]}
		if function, ok := call["function"].(map[string]any); ok {
			p.name, p.value = textOf(function["name"]), function["arguments"]
		}
		parts = append(parts, p)
	}
	return parts
}

// openParts reads parts in the form of a provider.
func openParts(list []any) (parts []part) {
	for _, one := range list {
		p, _ := one.(map[string]any)
		switch textOf(p["type"]) {
		case "text", "input_text", "output_text":
			parts = append(parts, part{kind: "text", text: textOf(p["text"])})
		case "tool_use":
			parts = append(parts, part{kind: "tool_call", id: textOf(p["id"]), name: textOf(p["name"]), value: p["input"]})
		case "tool_result":
			parts = append(parts, part{kind: "tool_result", id: textOf(p["tool_use_id"]), value: p["content"]})
		default:
			parts = append(parts, part{kind: "other", raw: one})
		}
	}
	return parts
}

// toolsOf reads tool definitions: objects, or their JSON texts.
func toolsOf(value any) (list []map[string]any) {
	for _, one := range array(decoded(value)) {
		tool, ok := decoded(one).(map[string]any)
		if !ok {
			continue
		}
		if below, ok := tool["tool"].(map[string]any); ok { // llm.tools.0.tool.json_schema
			tool = below
		}
		if schema, ok := decoded(tool["json_schema"]).(map[string]any); ok {
			tool = schema
		}
		list = append(list, tool)
	}
	return list
}

func array(value any) []any {
	list, ok := value.([]any)
	if !ok && value != nil && value != "" {
		return []any{value}
	}
	return list
}

func textOf(value any) string {
	text, _ := value.(string)
	return text
}

// anyOf returns the first member that an object has.
func anyOf(object map[string]any, names ...string) any {
	for _, name := range names {
		if value, ok := object[name]; ok {
			return value
		}
	}
	return nil
}
