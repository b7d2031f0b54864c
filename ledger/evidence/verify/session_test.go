package verify

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/ctxledger/ctxledger/ledger/evidence/pack"
	"github.com/ctxledger/ctxledger/schema"
)

// session makes the facts of a session turn by turn, as a producer records them.
type session struct {
	t        testing.TB
	random   *rand.Rand
	sequence int64
	turn     int
	now      time.Time
	ids      schema.Correlation
	first    int64 // sequence of the turn's first fact
	items    []schema.Ref
	seals    bool
}

const testSource = "urn:ctxledger:runtime:test:1"

func newSession(t testing.TB, seed uint64) *session {
	return &session{
		t: t, random: rand.New(rand.NewPCG(seed, 1)), now: rigTime.Add(-time.Hour), seals: true,
		ids: schema.Correlation{Tenant: "acme", Agent: "coder", RuntimeID: "test", SessionID: "s-1", ThreadID: "th-1", RunID: "run-1"},
	}
}

// event makes the event of a fact, with the next sequence.
func (s *session) event(fact schema.Fact) *schema.Event {
	s.t.Helper()
	s.sequence++
	s.now = s.now.Add(time.Duration(1+s.random.IntN(1000)) * time.Millisecond)
	e, err := schema.NewEvent(fact, fmt.Sprintf("e-%d", s.sequence), testSource, s.now, s.ids)
	if err != nil {
		s.t.Fatal(err)
	}
	e.Sequence = new(s.sequence)
	if found, ok := violations(e); !ok {
		s.t.Fatalf("%s breaks the contract: %v", fact.EventType(), found)
	}
	return e
}

func violations(e *schema.Event) (schema.Violations, bool) {
	_, found := schema.Validate(e)
	return found, len(found) == 0
}

// item adds an item with a new id.
func (s *session) item() *schema.Event {
	id := fmt.Sprintf("item-%d", s.sequence)
	s.items = append(s.items, schema.Ref(id))
	return s.event(&schema.ItemAdded{Item: schema.Item{
		ItemID: id, ContextKind: "file", Title: fmt.Sprintf("docs/File %d.md", s.random.IntN(99)), ContentMode: "ref", ContentRef: schema.Ref("blob:" + id),
		SourceRefs:    []schema.SourceRef{{SourceID: "src-" + fmt.Sprint(s.random.IntN(20)), URI: "file:///a b", SourceKind: "file"}},
		TokenEstimate: new(int64(s.random.IntN(900))), Layer: "retrieved", Visibility: []string{"model"},
	}})
}

// turnOf emits the facts of one turn, about n facts.
func (s *session) turnOf(n int, emit func(*schema.Event)) {
	s.turn++
	s.ids.TurnID, s.ids.ContextID = fmt.Sprintf("turn-%d", s.turn), ""
	s.first = s.sequence + 1
	s.items = nil
	for range max(2, n-5) {
		emit(s.item())
	}
	surface, call := fmt.Sprintf("surface-%d", s.turn), fmt.Sprintf("call-%d", s.turn)
	emit(s.event(&schema.SurfaceCreated{Surface: schema.Surface{SurfaceID: surface, Scope: "turn", SurfaceKind: "retrieval", AvailableItemRefs: s.items, Visibility: []string{"model"}}}))
	selection := &schema.SelectionCompleted{Selection: schema.Selection{SelectionID: fmt.Sprintf("sel-%d", s.turn), SurfaceID: surface, CallID: call, Candidates: s.items[:min(len(s.items), 40)]}}
	for i, ref := range selection.Candidates {
		c := schema.Candidate{ItemRef: ref, Rank: new(int64(i + 1))}
		if s.random.IntN(2) == 0 {
			c.Reason = schema.OmitBudgetLimit
			selection.Omitted = append(selection.Omitted, c)
		} else {
			selection.Selected = append(selection.Selected, c)
		}
	}
	emit(s.event(selection))
	emit(s.event(&schema.BudgetApplied{BudgetID: fmt.Sprintf("budget-%d", s.turn), CallID: call, Target: "model", MaxTokens: new(int64(8000)), ActualTokens: new(int64(512)), OverflowStrategy: "truncate_tail"}))
	emit(s.event(&schema.AssemblyCreated{AssemblyID: fmt.Sprintf("asm-%d", s.turn), CallID: call, Target: "model", OrderedBlocks: []schema.Block{{Block: "system"}, {Block: "retrieved", ItemRefs: s.items[:1], Tokens: new(int64(12))}}, SourceItemRefs: s.items[:1], Visibility: []string{"model"}}))
	if s.seals {
		emit(s.seal("turn"))
	}
}

// seal seals the turn, or the session from its first fact.
func (s *session) seal(scope string) *schema.Event {
	first := s.first
	s.ids.ContextID = "ctx-" + s.ids.TurnID
	if scope == "session" {
		first, s.ids.TurnID, s.ids.ContextID = 1, "", "ctx-session"
	}
	return s.event(&schema.EnvelopeCreated{
		ContextID: s.ids.ContextID, Scope: scope, Lifecycle: "injected",
		Sequences: []schema.SequenceRanges{{Source: testSource, Ranges: [][2]int64{{first, s.sequence + 1}}}},
	})
}

func sessionScope() pack.Scope {
	return pack.Scope{Kind: pack.ScopeSession, Tenant: "acme", Session: "s-1"}
}

// sealed makes a pack of a complete session of about n records with a seal at the end. The log also
// has records of other sessions.
func sealed(t testing.TB, target string, asZip bool, n int, seed uint64) *rig {
	t.Helper()
	r := newRig(t, target, asZip, sessionScope(), 1)
	s := newSession(t, seed)
	r.begin()
	for s.sequence < int64(n)-1 {
		r.other(s.random.IntN(3))
		s.turnOf(min(2+s.random.IntN(60), n-1-int(s.sequence)), func(e *schema.Event) {
			r.other(s.random.IntN(2))
			r.record(e)
		})
	}
	r.record(s.seal("session"))
	r.other(s.random.IntN(9))
	r.finish()
	return r
}

func erasure(id, leaf string) *schema.ErasureApplied {
	return &schema.ErasureApplied{
		Common: schema.Common{PolicyRefs: []schema.Ref{"policy:erasure"}}, ErasureID: id, ErasedSubject: "user-1", Reason: "user request",
		Records: []schema.ErasedRecord{{Stream: "CTX", Sequence: 3, Leaf: leaf}},
	}
}
