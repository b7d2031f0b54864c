package dialect

import (
	"bytes"
	"sort"

	"github.com/ctxledger/ctxledger/schema"
	"github.com/go-json-experiment/json/jsontext"
)

// anthropicAnswer reads a response that is one message.
func anthropicAnswer(a *Answer, body []byte) {
	f, ok := members(body)
	if !ok {
		a.Problems++
		return
	}
	if a.failed(f) {
		return
	}
	a.anthropicHead(f)
	for _, p := range parts(f.get("content"), "text") {
		a.Blocks = append(a.Blocks, answered(anthropicPart(p)))
	}
	a.Complete = !empty(f.get("content")) || a.Stop != "" || f.get("input_tokens") != nil
	if n := whole(f.get("input_tokens")); n != nil { // the answer of count_tokens
		a.Raw = map[string]any{"input_tokens": jsontext.Value(bytes.TrimSpace(f.get("input_tokens")))}
	}
}

// answered sets the role of an answer's block.
func answered(b Block) Block {
	b.Role = "assistant"
	if b.Kind == "text" {
		b.Kind, b.Layer = "assistant_message", LayerAssistant
	}
	return b
}

// anthropicHead reads the members of a message other than its content.
func (a *Answer) anthropicHead(f fields) {
	if id := short(f.text("id")); id != "" {
		a.MessageID = id
	}
	if model := short(f.text("model")); model != "" {
		a.Model = model
	}
	a.anthropicState(f)
}

// anthropicState reads what both a message and a message_delta have.
func (a *Answer) anthropicState(f fields) {
	if stop := f.text("stop_reason"); stop != "" {
		a.Stop = blockName(stop)
	}
	if management, ok := members(f.get("context_management")); ok {
		if edits, ok := elements(management.get("applied_edits")); ok {
			a.Edits = nil
			for _, e := range edits[:min(len(edits), maxEdits)] {
				edit, _ := members(e)
				a.Edits = append(a.Edits, Edit{Type: blockName(edit.text("type")), Counts: numbers(edit, false)})
			}
		}
	}
	if diagnostics, ok := members(f.get("diagnostics")); ok {
		if reason := diagnostics.get("cache_miss_reason"); !empty(reason) {
			a.CacheMiss = missReason(reason)
		}
	}
	a.anthropicUsage(f.get("usage"))
}

// maxEdits is the number of edits that are read of an answer.
const maxEdits = 64

// missReason returns the word of a cache-miss reason, which is a string or an object of a type.
func missReason(reason jsontext.Value) string {
	if f, ok := members(reason); ok {
		return blockName(f.text("type"))
	}
	return blockName(text(reason))
}

// anthropicUsage reads a usage. The usage of a message_delta is cumulative and replaces the
// members that it has.
func (a *Answer) anthropicUsage(value jsontext.Value) {
	f, ok := members(value)
	if !ok {
		return
	}
	raw := numbers(f, true)
	if a.Raw == nil {
		a.Raw = raw
	}
	for name, n := range raw {
		a.Raw[name] = n
	}
	u := &a.Usage
	set(&u.UncachedInput, f.get("input_tokens"))
	set(&u.CacheRead, f.get("cache_read_input_tokens"))
	set(&u.Output, f.get("output_tokens"))
	written := whole(f.get("cache_creation_input_tokens"))
	if lifetimes, ok := members(f.get("cache_creation")); ok {
		short, long := whole(lifetimes.get("ephemeral_5m_input_tokens")), whole(lifetimes.get("ephemeral_1h_input_tokens"))
		if short != nil && long != nil && (written == nil || *short+*long == *written) {
			u.CacheWrite5m, u.CacheWrite1h, u.CacheWrite = short, long, nil
			return
		}
	}
	if written != nil && !splits(*u, *written) {
		u.CacheWrite, u.CacheWrite5m, u.CacheWrite1h = written, nil, nil
	}
}

// splits reports whether the usage already divides the written tokens by lifetime.
func splits(u schema.ProviderUsage, written int64) bool {
	return u.CacheWrite5m != nil && u.CacheWrite1h != nil && *u.CacheWrite5m+*u.CacheWrite1h == written
}

func set(to **int64, value jsontext.Value) {
	if n := whole(value); n != nil {
		*to = n
	}
}

// anthropicStream builds a message from its events.
type anthropicStream struct {
	open map[int64]*growing
}

// growing is a block of which parts arrived.
type growing struct {
	start fields
	texts map[string][]byte // member → its text so far
	more  []member          // members that a delta sets whole
}

// deltas name the member of the delta that holds the text, and the member of the block.
var deltas = map[string][2]string{
	"text_delta":       {"text", "text"},
	"input_json_delta": {"partial_json", "input"},
	"thinking_delta":   {"thinking", "thinking"},
	"signature_delta":  {"signature", "signature"},
	"compaction_delta": {"content", "content"},
}

func (s *anthropicStream) event(a *Answer, f fields) {
	switch f.text("type") {
	case "message_start":
		if message, ok := members(f.get("message")); ok {
			a.anthropicHead(message)
		}
	case "content_block_start":
		at, start := whole(f.get("index")), f.get("content_block")
		block, ok := members(start)
		if at == nil || !ok {
			a.Problems++
			return
		}
		if s.open == nil {
			s.open = make(map[int64]*growing)
		}
		s.open[*at] = &growing{start: block, texts: make(map[string][]byte)}
	case "content_block_delta":
		at := whole(f.get("index"))
		delta, ok := members(f.get("delta"))
		if at == nil || !ok || s.open[*at] == nil {
			a.Problems++
			return
		}
		s.open[*at].add(a, delta)
	case "message_delta":
		if delta, ok := members(f.get("delta")); ok {
			a.anthropicState(delta)
		}
		a.anthropicState(f)
	case "message_stop":
		a.Complete = true
	case "error":
		a.failed(f)
	case "content_block_stop", "ping":
	default:
		a.Problems++
	}
}

func (g *growing) add(a *Answer, delta fields) {
	kind := delta.text("type")
	if names, known := deltas[kind]; known {
		g.texts[names[1]] = append(g.texts[names[1]], textBytes(delta.get(names[0]))...)
		return
	}
	if kind == "citations_delta" {
		g.more = append(g.more, member{"citations", delta.get("citation")})
		return
	}
	a.Problems++
	for _, m := range delta {
		if m.name != "type" {
			g.more = append(g.more, m)
		}
	}
}

// block returns the block in the form in which a client sends it back.
func (g *growing) block() Block {
	var list []member
	for _, m := range g.start {
		if _, grown := g.texts[m.name]; !grown {
			list = append(list, m)
		}
	}
	names := make([]string, 0, len(g.texts))
	for name := range g.texts {
		names = append(names, name)
	}
	sort.Strings(names)
	for _, name := range names {
		value := jsontext.Value(g.texts[name])
		if name != "input" {
			value = quote(text(fields(g.start).get(name)) + string(value))
		} else if len(bytes.TrimSpace(value)) == 0 {
			value = jsontext.Value("{}")
		} else if !value.IsValid(lenient...) {
			value = quote(string(value)) // the stream ended within the input
		}
		list = append(list, member{name, value})
	}
	var citations []jsontext.Value
	for _, m := range g.more {
		if m.name == "citations" {
			citations = append(citations, m.value)
		} else {
			list = append(list, m)
		}
	}
	if len(citations) > 0 {
		for i := range list {
			if list[i].name == "citations" {
				list = append(list[:i], list[i+1:]...)
				break
			}
		}
		list = append(list, member{"citations", array(citations)})
	}
	return answered(anthropicPart(object(list...)))
}

func (s *anthropicStream) end(a *Answer) {
	for _, at := range sortedKeys(s.open) {
		a.Blocks = append(a.Blocks, s.open[at].block())
	}
}

func sortedKeys[V any](m map[int64]V) []int64 {
	keys := make([]int64, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	sort.Slice(keys, func(i, j int) bool { return keys[i] < keys[j] })
	return keys
}
