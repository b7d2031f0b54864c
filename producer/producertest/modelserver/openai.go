package modelserver

import (
	"fmt"

	"github.com/go-json-experiment/json"
)

// responses returns an answer of the Responses API, whole and as the events of a stream.
func (r *Request) responses() (whole map[string]any, events []event) {
	a := &r.Answer
	response := func(status string, output []any) map[string]any {
		m := map[string]any{
			"id": r.MessageID, "object": "response", "created_at": r.At.Unix(), "status": status, "model": r.Model,
			"output": output, "error": nil, "incomplete_details": nil, "parallel_tool_calls": false, "usage": nil,
		}
		if status == "completed" {
			m["usage"] = a.Usage.responses()
		}
		return m
	}
	sequence := 0
	add := func(name string, members map[string]any) {
		members["type"], members["sequence_number"] = name, sequence
		sequence++
		events = append(events, event{name, members})
	}
	add("response.created", map[string]any{"response": response("in_progress", []any{})})
	output := []any{}
	for i, part := range a.Parts {
		item, empty := part.responses(fmt.Sprintf("%s_%d", r.MessageID, i))
		output = append(output, item)
		add("response.output_item.added", map[string]any{"output_index": i, "item": empty})
		for _, e := range part.events(item["id"], i) {
			add(e.name, e.data.(map[string]any))
		}
		add("response.output_item.done", map[string]any{"output_index": i, "item": item})
	}
	whole = response("completed", output)
	add("response.completed", map[string]any{"response": whole})
	return whole, events
}

// events returns the events between those that begin and end the part's item.
func (p *Part) events(id any, index int) []event {
	with := func(name string, members ...any) event {
		m := map[string]any{"item_id": id, "output_index": index}
		for i := 0; i < len(members); i += 2 {
			m[members[i].(string)] = members[i+1]
		}
		return event{name, m}
	}
	switch p.Kind {
	case KindReasoning:
		part := func(text string) map[string]any { return map[string]any{"type": "summary_text", "text": text} }
		return []event{
			with("response.reasoning_summary_part.added", "summary_index", 0, "part", part("")),
			with("response.reasoning_summary_text.delta", "summary_index", 0, "delta", p.Text),
			with("response.reasoning_summary_text.done", "summary_index", 0, "text", p.Text),
			with("response.reasoning_summary_part.done", "summary_index", 0, "part", part(p.Text)),
		}
	case KindCall:
		return []event{
			with("response.function_call_arguments.delta", "delta", p.Input),
			with("response.function_call_arguments.done", "arguments", p.Input, "name", p.Name),
		}
	case KindCustom:
		return []event{
			with("response.custom_tool_call_input.delta", "delta", p.Text),
			with("response.custom_tool_call_input.done", "input", p.Text),
		}
	}
	part := func(text string) map[string]any {
		return map[string]any{"type": "output_text", "text": text, "annotations": []any{}, "logprobs": []any{}}
	}
	return []event{
		with("response.content_part.added", "content_index", 0, "part", part("")),
		with("response.output_text.delta", "content_index", 0, "delta", p.Text, "logprobs", []any{}),
		with("response.output_text.done", "content_index", 0, "text", p.Text, "logprobs", []any{}),
		with("response.content_part.done", "content_index", 0, "part", part(p.Text)),
	}
}

// responses returns the part as an output item, and the item at the start of a stream.
func (p *Part) responses(id string) (item, empty map[string]any) {
	switch p.Kind {
	case KindReasoning:
		summary := []any{map[string]any{"type": "summary_text", "text": p.Text}}
		return map[string]any{"type": "reasoning", "id": "rs_" + id, "summary": summary, "encrypted_content": "ZW5jcnlwdGVk"},
			map[string]any{"type": "reasoning", "id": "rs_" + id, "summary": []any{}}
	case KindCall:
		return map[string]any{"type": "function_call", "id": "fc_" + id, "call_id": p.ID, "name": p.Name, "arguments": p.Input, "status": "completed"},
			map[string]any{"type": "function_call", "id": "fc_" + id, "call_id": p.ID, "name": p.Name, "arguments": "", "status": "in_progress"}
	case KindCustom:
		return map[string]any{"type": "custom_tool_call", "id": "ctc_" + id, "call_id": p.ID, "name": p.Name, "input": p.Text, "status": "completed"},
			map[string]any{"type": "custom_tool_call", "id": "ctc_" + id, "call_id": p.ID, "name": p.Name, "input": "", "status": "in_progress"}
	}
	text := []any{map[string]any{"type": "output_text", "text": p.Text, "annotations": []any{}}}
	return map[string]any{"type": "message", "id": "msg_" + id, "role": "assistant", "status": "completed", "content": text},
		map[string]any{"type": "message", "id": "msg_" + id, "role": "assistant", "status": "in_progress", "content": []any{}}
}

func (u Usage) responses() map[string]any {
	input := u.Input + u.CacheRead
	return map[string]any{
		"input_tokens": input, "input_tokens_details": map[string]any{"cached_tokens": u.CacheRead},
		"output_tokens": u.Output, "output_tokens_details": map[string]any{"reasoning_tokens": u.Reasoning},
		"total_tokens": input + u.Output,
	}
}

// chat returns an answer of the Chat Completions API, whole and as the events of a stream. A
// stream has a usage only if the client asked for it.
func (r *Request) chat() (whole map[string]any, events []event) {
	a := &r.Answer
	text, calls := "", []any{}
	for _, part := range a.Parts {
		switch part.Kind {
		case KindText:
			text += part.Text
		case KindCall:
			calls = append(calls, map[string]any{"id": part.ID, "type": "function", "function": map[string]any{"name": part.Name, "arguments": part.Input}})
		}
	}
	finish := "stop"
	message := map[string]any{"role": "assistant", "content": text}
	if len(calls) > 0 {
		finish, message["tool_calls"] = "tool_calls", calls
	}
	chunk := func(object, inner string, value any, finish any) map[string]any {
		return map[string]any{
			"id": r.MessageID, "object": object, "created": r.At.Unix(), "model": r.Model,
			"choices": []any{map[string]any{"index": 0, inner: value, "finish_reason": finish}},
		}
	}
	whole = chunk("chat.completion", "message", message, finish)
	whole["usage"] = a.Usage.chat()

	const object = "chat.completion.chunk"
	part := func(delta map[string]any) { events = append(events, event{"", chunk(object, "delta", delta, nil)}) }
	part(map[string]any{"role": "assistant", "content": ""})
	if text != "" {
		part(map[string]any{"content": text})
	}
	for i, call := range calls {
		indexed := map[string]any{"index": i}
		for name, value := range call.(map[string]any) {
			indexed[name] = value
		}
		part(map[string]any{"tool_calls": []any{indexed}})
	}
	events = append(events, event{"", chunk(object, "delta", map[string]any{}, finish)})
	var e envelope
	if json.Unmarshal(r.Body, &e) == nil && e.StreamOptions.IncludeUsage {
		last := chunk(object, "delta", nil, nil)
		last["choices"], last["usage"] = []any{}, a.Usage.chat()
		events = append(events, event{"", last})
	}
	return whole, append(events, event{"", "[DONE]"})
}

func (u Usage) chat() map[string]any {
	prompt := u.Input + u.CacheRead
	return map[string]any{
		"prompt_tokens": prompt, "prompt_tokens_details": map[string]any{"cached_tokens": u.CacheRead},
		"completion_tokens": u.Output, "completion_tokens_details": map[string]any{"reasoning_tokens": u.Reasoning},
		"total_tokens": prompt + u.Output,
	}
}
