package mix

import (
	"fmt"
	"time"

	"github.com/ctxledger/ctxledger/schema"
)

// The window of a live session, in tokens, and its limits.
const (
	windowTokens   = 24_000
	reservedTokens = 2_000
	limitTokens    = windowTokens - reservedTokens
	mostPieces     = 46 // most pieces of a window before a compaction
	piecesKept     = 12 // most pieces that a compaction keeps
)

// live is a session of a runtime that records through the SDK.
type live struct {
	*session
	generator *Generator
	turns     int // remaining turns
	calls     int // remaining calls of the turn
	turn      int // from 1; 0 before the first
	call      int // number of the call in the session, from 1
	position  int64
	window    []piece
	turnFirst int64 // first sequence of the turn
	made      records
	steps     []step // tool results of the session, oldest first
	seen      int    // tokens of the last window, 0 if none of them are cached
}

// piece is an item that can be in the window.
type piece struct {
	id, layer, role string
	tokens          int
	position        int64 // position in the log; -1 for the fixed part, which is not logged
}

// step is a tool call and its result.
type step struct{ call, path string }

// records are the ids of a turn's records.
type records struct{ surfaces, items, selections, assemblies, injections []string }

func beginLive(g *Generator, at time.Time) *session {
	s := g.newSession(at)
	l := &live{session: s, generator: g, turns: s.length(3, 8, liveLengths)}
	run, id := s.id(), fmt.Sprintf("chat-%s%08x", s.mark(), s.random.Uint32())
	s.ids = schema.Correlation{
		Tenant: s.tenant.name, Agent: "coder", RuntimeID: "agentd", SessionID: id, ThreadID: id, RunID: run, RootRunID: run,
	}
	s.source = "urn:ctxledger:runtime:agentd:" + s.uuid().String()
	s.goOn = l.goOn
	l.open(run)
	return s
}

// open records the run, its surface and the fixed part of its window.
func (l *live) open(run string) {
	l.record(&schema.ScopeOpened{
		RunID: run, RootRunID: run, ThreadID: l.ids.ThreadID, ScopeKind: "agent", Depth: new(int64(0)), MaxDepth: new(int64(1)),
		InheritedTags: []string{"interactive"}, ConfigurableKeys: []string{"editor", "api_token"}, Program: "agentd 2.4.1",
	})
	l.record(&schema.GrantIssued{Grant: schema.Grant{
		GrantID: "grant:" + run, Grants: []string{"app/repo"}, Effective: []string{"app/repo"}, Issuer: "agentd",
	}})
	l.fix("system", "system prompt", "system_instruction", "system", 320)
	l.fix("tools", "tool definitions", "tool_definition", "tools", 1480)
	for range 1 + l.random.IntN(3) {
		path := l.path()
		l.fix("memory:"+path, "memory: "+path, "memory", "memory", l.between(120, 900))
	}
}

// fix adds an item at the beginning of every window.
func (l *live) fix(id, title, kind, layer string, tokens int) {
	if l.has(id) {
		return
	}
	l.add(schema.Item{ItemID: id, Title: title, ContextKind: kind, Layer: layer, Role: "system"}, tokens, "")
	l.window[len(l.window)-1].position = -1
}

func (l *live) has(id string) bool {
	for _, p := range l.window {
		if p.id == id {
			return true
		}
	}
	return false
}

// goOn records the next call, and the begin or the end of its turn.
func (l *live) goOn() bool {
	if l.calls > 0 {
		l.calls--
		l.step(l.calls == 0)
		if l.calls == 0 {
			l.seal()
		}
		return true
	}
	if l.turns == 0 {
		return false
	}
	l.turns--
	l.beginTurn()
	return true
}

func (l *live) beginTurn() {
	l.turn++
	l.calls = l.between(4, 18)
	l.made = records{}
	l.turnFirst = l.sequence + 1
	l.pass(20*time.Second, 6*time.Minute)
	l.ids.TurnID = fmt.Sprintf("turn-%d", l.turn)
	l.ids.ContextID = "ctx:" + l.ids.TurnID
	user := fmt.Sprintf("user-%d", l.turn)
	l.add(schema.Item{ItemID: user, Title: "user message", ContextKind: "user_message", Layer: "user", Role: "user"}, l.between(8, 120), "")
	l.log(user, "message", "user", "", "")
	if l.turn > 1 && len(l.steps) > 4 && l.chance(400) {
		elide(l)
	}
	l.remind(user)
	if l.turn%2 == 0 {
		recordRare(l)
	}
}

// remind injects a reminder that replaces the last turn's reminder.
func (l *live) remind(user string) {
	id := fmt.Sprintf("reminder-%d", l.turn)
	injection := func(turn int) schema.Injection {
		reminder := fmt.Sprintf("reminder-%d", turn)
		return schema.Injection{
			InjectionID: "inject:" + reminder, Target: "model", InjectionPoint: schema.InjectUserMessageAppendix, InjectionKind: "reminder",
			ItemRefs: schema.Refs(reminder), AttachedTo: schema.Ref(fmt.Sprintf("user-%d", turn)), Ephemeral: true, Tokens: new(int64(16)),
		}
	}
	if l.turn > 1 {
		l.record(&schema.InjectionRemoved{Injection: injection(l.turn - 1), ReplacedBy: schema.Ref(id)})
		l.drop(fmt.Sprintf("reminder-%d", l.turn-1))
	}
	l.add(schema.Item{ItemID: id, Title: "reminder", ContextKind: "system_reminder", Layer: "injected", Role: "system"}, 16, "")
	l.record(&schema.InjectionApplied{Injection: injection(l.turn)})
	l.made.injections = append(l.made.injections, "inject:"+id)
}

func (l *live) drop(id string) {
	for i, p := range l.window {
		if p.id == id {
			l.window = append(l.window[:i:i], l.window[i+1:]...)
			return
		}
	}
}

// add records an item and adds it at the end of the window.
func (l *live) add(i schema.Item, tokens int, tool string) {
	i.ContentMode, i.ContentDigest, i.Visibility = schema.ContentOpaque, l.digest(), []string{"model"}
	i.TokenEstimate, i.Estimator, i.ByteSize = new(int64(tokens)), "o200k_base", new(int64(tokens*3+l.random.IntN(tokens+1)))
	l.record(&schema.ItemAdded{Item: i}, toolCall(tool))
	l.made.items = append(l.made.items, i.ItemID)
	l.window = append(l.window, piece{i.ItemID, i.Layer, i.Role, tokens, l.position})
}

// log records an entry of the item log for the newest item.
func (l *live) log(id, kind, role, name, tool string) {
	last := l.window[len(l.window)-1]
	f := &schema.LogAppended{
		LogItemID: id, LogID: l.ids.ThreadID, Position: new(l.position), ItemType: kind, Role: role, Name: name, ToolCallID: tool,
		ItemRef: schema.Ref(id), Tokens: new(int64(last.tokens)), ByteSize: new(int64(3 * last.tokens)), ContentDigest: l.digest(),
	}
	if l.call > 0 && role != "user" {
		f.CallID = l.callID()
	}
	l.record(f, toolCall(tool))
	l.position++
}

func (l *live) callID() string { return fmt.Sprintf("call-%02d", l.call) }

// seal records the turn's envelope.
func (l *live) seal() {
	l.record(&schema.EnvelopeCreated{
		ContextID: l.ids.ContextID, Scope: "turn", Lifecycle: schema.LifecycleInjected, Producer: schema.Ref(l.source),
		RuntimeRefs: []schema.Ref{schema.Ref(`{"kind":"turn","id":"` + l.ids.TurnID + `"}`)},
		SurfaceRefs: schema.Refs(l.made.surfaces...), ItemRefs: schema.Refs(l.made.items...), SelectionRefs: schema.Refs(l.made.selections...),
		BudgetRef: schema.Ref("budget:" + l.callID()), AssemblyRefs: schema.Refs(l.made.assemblies...), InjectionRefs: schema.Refs(l.made.injections...),
		Sequences: []schema.SequenceRanges{{Source: l.source, Ranges: [][2]int64{{l.turnFirst, l.sequence}}}},
	})
}
