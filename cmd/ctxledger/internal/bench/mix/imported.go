package mix

import (
	"fmt"
	"time"

	"github.com/ctxledger/ctxledger/schema"
)

const importedModel = "claude-opus-4-5-20251101"

// imported is a session from a log.
type imported struct {
	*session
	calls    int // remaining calls
	line     int // line of the log
	position int64
	first    int64    // first position of the window
	items    []string // items of the window
	parent   string   // record of the last entry
	layers   map[string]*layer
	cached   int           // tokens in the provider's cache
	lost     int           // tokens that left the cache; the next call writes them again
	gap      time.Duration // pause before the call
	results  []string      // tool calls with a result in the window
}

type layer struct {
	tokens, items int
	changed       bool
}

// layerNames are in the order of an import's layers.
var layerNames = []string{"assistant", "injected", "reasoning", "summary", "tool_calls", "tool_results", "user"}

func beginImported(g *Generator, at time.Time) *session {
	s := g.newSession(at)
	i := &imported{session: s, calls: s.length(20, 160, importedLengths), layers: make(map[string]*layer), cached: s.between(12_000, 24_000)}
	id := s.uuid().String()
	s.ids = schema.Correlation{
		Tenant: s.tenant.name, Agent: "claude-code", RuntimeID: "claude-code", SessionID: id, ThreadID: id, RunID: id, RootRunID: id,
	}
	s.source = "urn:ctxledger:import:claude-code:" + id + ";r2;bare;00000000"
	s.goOn = i.goOn
	i.record(&schema.ScopeOpened{
		Common: i.origin(id), RunID: id, RootRunID: id, ThreadID: id, ScopeKind: "session", Depth: new(int64(0)),
		LocalMetadata: map[string]any{"cwd": "/home/dev/workspace/cli", "git_branch": "feature/" + pick(s, names), "slug": "quiet-sorting-otter"},
		Program:       "claude-code 2.1.14",
	})
	return s
}

// origin returns the metadata that names the log line of a fact.
func (i *imported) origin(record string) schema.Common {
	i.line += 1 + i.random.IntN(2)
	return schema.Common{Metadata: map[string]any{"line": i.line, "record_uuid": record}}
}

// goOn records the next call: the new input, the model's answer, and the provider's usage.
func (i *imported) goOn() bool {
	if i.calls == 0 {
		return false
	}
	i.calls--
	if i.ids.TurnID == "" || i.chance(80) {
		i.ids.TurnID = i.uuid().String()
		i.pass(10*time.Second, 5*time.Minute)
		i.add(entry{id: i.ids.TurnID, kind: "user_message", title: "user message", item: "message", role: "user", layer: "user"}, i.between(5, 80))
	}
	i.gap = time.Duration(i.random.IntN(60_000)) * time.Millisecond
	if i.corpus != nil {
		i.breakCache()
	}
	call := i.token("msg_01")
	if i.chance(420) {
		i.add(entry{id: i.uuid().String(), call: call, kind: "reasoning", title: "reasoning", item: "reasoning", role: "assistant", layer: "reasoning"}, i.between(60, 600))
	}
	if i.chance(380) {
		i.add(entry{id: i.uuid().String(), call: call, kind: "assistant_message", title: "assistant message", item: "message", role: "assistant", layer: "assistant"}, i.between(20, 500))
	}
	for range 1 + i.random.IntN(2) {
		i.useTool(call)
	}
	i.usage(call)
	if len(i.items) > 90 && i.chance(80) {
		i.compact()
	}
	return true
}

// entry is a line of the log: an item and its entry in the item log.
type entry struct{ id, call, kind, title, item, name, role, layer, tool string }

func (i *imported) add(e entry, tokens int) {
	i.pass(10*time.Millisecond, 3*time.Second)
	record := e.id
	if e.tool != "" {
		record = i.uuid().String()
	}
	origin := i.origin(record)
	mime := "text/markdown"
	if e.layer == "tool_calls" {
		mime = "application/json"
	}
	size, digest := int64(3*tokens+i.random.IntN(tokens+1)), i.digest()
	i.record(&schema.ItemAdded{Common: origin, Item: schema.Item{
		ItemID: e.id, ContextKind: e.kind, Title: e.title, ContentMode: schema.ContentRef, ContentRef: schema.Ref(i.source + "#" + record),
		ContentDigest: digest, MimeType: mime, TokenEstimate: new(int64(tokens)), Estimator: "estimate:o200k_base", ByteSize: &size,
		Visibility: []string{"model"}, Layer: e.layer, Role: e.role,
	}}, toolCall(e.tool))
	i.record(&schema.LogAppended{
		Common: origin, LogItemID: e.id, Position: new(i.position), ItemType: e.item, Role: e.role, Name: e.name, ToolCallID: e.tool, CallID: e.call,
		ItemRef: schema.Ref(e.id), ParentRef: schema.Ref(i.parent), Tokens: new(int64(tokens)), ByteSize: &size, ContentDigest: digest,
	}, toolCall(e.tool))
	i.position++
	i.parent = record
	i.items = append(i.items, e.id)
	i.grow(e.layer, tokens)
}

func (i *imported) grow(name string, tokens int) {
	l := i.layers[name]
	if l == nil {
		l = new(layer)
		i.layers[name] = l
	}
	l.tokens, l.items, l.changed = l.tokens+tokens, l.items+1, true
}

var tools = []string{"Read", "Read", "Grep", "Bash", "Bash", "Edit", "Glob", "TodoWrite"}

func (i *imported) useTool(call string) {
	id, name := i.token("toolu_01"), pick(i.session, tools)
	i.add(entry{id: id, call: call, kind: "tool_call", title: name + " call", item: "function_call", name: name, role: "assistant", layer: "tool_calls", tool: id}, i.between(20, 160))
	i.add(entry{id: id + ":result", kind: "tool_result", title: name + " result", item: "function_call_output", name: name, role: "tool", layer: "tool_results", tool: id}, i.between(30, 3200))
	i.results = append(i.results, id)
}

// usage records the provider's usage.
func (i *imported) usage(call string) {
	origin := i.origin(i.uuid().String())
	origin.Metadata["request_id"], origin.Metadata["usage_line"] = i.token("req_011"), i.line
	f := &schema.UsageRecorded{
		Common: origin, CallID: call, Model: importedModel, Estimator: "estimate:o200k_base", WindowFirst: new(i.first), WindowNext: new(i.position),
		LineageID: i.ids.ThreadID, GapSeconds: new(i.gap.Seconds()),
	}
	sum, written, input, output := 0, 0, 2+i.random.IntN(8), 1+i.random.IntN(300)
	for _, name := range layerNames {
		l := i.layers[name]
		if l == nil {
			continue
		}
		f.Layers = append(f.Layers, schema.LayerUsage{Layer: name, Tokens: new(int64(l.tokens)), Items: new(int64(l.items)), Changed: new(l.changed)})
		l.changed = false
		sum += l.tokens
	}
	f.HistoryTokens = new(int64(sum))
	written = i.lost + i.between(200, 4000)
	i.lost = 0
	f.Usage = schema.ProviderUsage{
		UncachedInput: new(int64(input)), CacheRead: new(int64(i.cached)), CacheWrite5m: new(int64(written)), CacheWrite1h: new(int64(0)), Output: new(int64(output)),
	}
	f.ProviderUsage = map[string]any{
		"cache_creation":              map[string]any{"ephemeral_1h_input_tokens": 0, "ephemeral_5m_input_tokens": written},
		"cache_creation_input_tokens": written, "cache_read_input_tokens": i.cached, "input_tokens": input, "output_tokens": output,
	}
	i.cached += written
	i.record(f)
}

// compact replaces the whole window by a summary.
func (i *imported) compact() {
	id, summary := i.uuid().String(), i.uuid().String()
	last := i.position - 1
	window := fmt.Sprintf(`{"first_position":%d,"id":"%s@%d-%d","item_count":%d,"kind":"log_range","last_position":%d,"thread_id":"%[2]s"}`,
		i.first, i.ids.ThreadID, i.first, last, len(i.items), last)
	i.record(&schema.CompactionCompleted{Common: i.origin(id), Compaction: schema.Compaction{
		CompactionID: id, Scope: "thread", SourceItemRefs: schema.Refs(i.items...), SummaryRef: schema.Ref(summary),
		SourceWindow: &schema.SourceWindow{ThreadID: i.ids.ThreadID, FirstPosition: new(i.first), LastPosition: &last, ItemCount: new(int64(len(i.items)))},
		Method:       schema.MethodAbstractiveSummary, Trigger: schema.TriggerManual, ReplacementPolicy: "replace_window",
	}})
	i.record(&schema.SummaryCreated{Common: i.origin(summary), Summary: schema.Summary{
		SummaryID: summary, SummaryKind: "thread_summary", ContentRef: schema.Ref(i.source + "#" + summary), ContentDigest: i.digest(),
		Tokens: new(int64(i.between(1500, 3500))), ByteSize: new(int64(i.between(6000, 14000))),
		SourceItemRefs: []schema.Ref{schema.Ref(window)}, CoversThroughPosition: &last,
	}})
	i.first, i.items, i.results, i.cached = i.position, nil, nil, i.between(12_000, 24_000)
	clear(i.layers)
	i.grow("summary", 2500)
}
