package modelserver

import (
	"maps"

	"github.com/go-json-experiment/json/jsontext"
)

// anthropic returns an answer of the Messages API, whole and as the events of a stream.
func (r *Request) anthropic() (whole map[string]any, events []event) {
	a := &r.Answer
	stop := a.Stop
	switch {
	case stop != "":
	case a.callsTool():
		stop = "tool_use"
	default:
		stop = "end_turn"
	}
	first := a.Usage.anthropic()
	first["output_tokens"] = min(a.Usage.Output, 1) // the last usage counts
	start := map[string]any{
		"id": r.MessageID, "type": "message", "role": "assistant", "model": r.Model, "content": []any{},
		"stop_reason": nil, "stop_sequence": nil, "usage": first,
	}
	events = append(events, event{"message_start", map[string]any{"type": "message_start", "message": start}})
	var content []any
	for i, part := range a.Parts {
		block, empty, delta := part.anthropic()
		content = append(content, block)
		events = append(events, event{"content_block_start", map[string]any{"type": "content_block_start", "index": i, "content_block": empty}})
		for _, d := range delta {
			events = append(events, event{"content_block_delta", map[string]any{"type": "content_block_delta", "index": i, "delta": d}})
		}
		events = append(events, event{"content_block_stop", map[string]any{"type": "content_block_stop", "index": i}})
	}
	last := map[string]any{
		"type":  "message_delta",
		"delta": map[string]any{"stop_reason": stop, "stop_sequence": nil},
		"usage": a.Usage.anthropic(),
	}
	maps.Copy(last, a.Extra)
	events = append(events, event{"message_delta", last}, event{"message_stop", map[string]any{"type": "message_stop"}})

	whole = maps.Clone(start)
	whole["content"], whole["stop_reason"], whole["usage"] = content, stop, a.Usage.anthropic()
	if content == nil {
		whole["content"] = []any{}
	}
	maps.Copy(whole, a.Extra)
	return whole, events
}

// anthropic returns the part as a block, the block at the start of a stream, and its deltas.
func (p *Part) anthropic() (block, empty map[string]any, deltas []map[string]any) {
	half := len(p.Text) / 2
	for half > 0 && half < len(p.Text) && p.Text[half]&0xc0 == 0x80 {
		half-- // not inside of a character
	}
	switch p.Kind {
	case KindReasoning:
		const signature = "c2lnbmF0dXJl"
		return map[string]any{"type": "thinking", "thinking": p.Text, "signature": signature},
			map[string]any{"type": "thinking", "thinking": "", "signature": ""},
			[]map[string]any{
				{"type": "thinking_delta", "thinking": p.Text[:half]}, {"type": "thinking_delta", "thinking": p.Text[half:]},
				{"type": "signature_delta", "signature": signature},
			}
	case KindCall, KindCustom:
		input := p.Input
		if input == "" {
			input = "{}"
		}
		return map[string]any{"type": "tool_use", "id": p.ID, "name": p.Name, "input": jsontext.Value(input)},
			map[string]any{"type": "tool_use", "id": p.ID, "name": p.Name, "input": map[string]any{}},
			[]map[string]any{{"type": "input_json_delta", "partial_json": input}}
	}
	return map[string]any{"type": "text", "text": p.Text},
		map[string]any{"type": "text", "text": ""},
		[]map[string]any{{"type": "text_delta", "text": p.Text[:half]}, {"type": "text_delta", "text": p.Text[half:]}}
}

func (u Usage) anthropic() map[string]any {
	return map[string]any{
		"input_tokens": u.Input, "cache_read_input_tokens": u.CacheRead,
		"cache_creation_input_tokens": u.CacheWrite5m + u.CacheWrite1h,
		"cache_creation":              map[string]any{"ephemeral_5m_input_tokens": u.CacheWrite5m, "ephemeral_1h_input_tokens": u.CacheWrite1h},
		"output_tokens":               u.Output, "service_tier": "standard",
	}
}
