package observe

import (
	"crypto/rand"
	"crypto/sha256"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/google/uuid"
	"pgregory.net/rapid"

	"github.com/ctxledger/ctxledger/producer/capture/dialect"
	"github.com/ctxledger/ctxledger/producer/title"
	"github.com/ctxledger/ctxledger/schema"
)

// rig observes the exchanges of one session of a test.
type rig struct {
	t interface {
		Helper()
		Fatal(...any)
		Fatalf(string, ...any)
	}
	reader  Reader
	session *Session
	at      time.Time
	calls   int
	facts   []Fact
	titles  *title.Maker
}

func newRig(t interface {
	Helper()
	Fatal(...any)
	Fatalf(string, ...any)
}) *rig {
	key, err := schema.NewKey(rand.Reader, time.Unix(0, 0))
	if err != nil {
		t.Fatal(err)
	}
	return &rig{
		t: t, session: &Session{ID: "s1"}, at: time.Unix(1_700_000_000, 0).UTC(),
		reader: Reader{
			Equality: schema.KeyRing{Keys: []schema.Key{key}}.Equality(),
			Content:  func(text []byte) string { return key.Digest(text) },
			Count:    func(_, text string) (int64, string) { return int64(len(text)), "bytes" },
		},
	}
}

// send observes a request, and an answer whose blocks are given, or no answer for nil.
func (r *rig) send(body, answer string) []Fact {
	r.t.Helper()
	request, err := dialect.AnthropicMessages.ReadRequest([]byte(body))
	if err != nil {
		r.t.Fatalf("%v: %s", err, body)
	}
	x := &dialect.Exchange{Dialect: dialect.AnthropicMessages, Operation: dialect.Generate, Request: request}
	r.calls++
	a := dialect.AnthropicMessages.NewReader(200, "application/json")
	if answer != "" {
		_, _ = fmt.Fprintf(a, `{"id":"msg_%d","type":"message","content":%s,"usage":{"input_tokens":1,"output_tokens":2}}`, r.calls, answer)
	}
	x.Answer = a.Answer()
	r.at = r.at.Add(time.Second)
	facts := r.session.Observe(&r.reader, x, Call{At: r.at, Agent: "test", Fidelity: schema.FidelityWire, Titles: r.titles})
	r.facts = append(r.facts, facts...)
	for i := range facts {
		r.valid(&facts[i])
	}
	return facts
}

// valid fails for a fact that the contract refuses.
func (r *rig) valid(f *Fact) {
	r.t.Helper()
	e, err := schema.NewEvent(f.Fact, uuid.NewString(), "urn:test", f.At, f.IDs)
	if err != nil {
		r.t.Fatal(err)
	}
	if _, found := schema.Validate(e); len(found) > 0 {
		r.t.Fatalf("%s: %v\n%s", f.EventType(), found, e.Data)
	}
}

// restart continues the session from its encoded state.
func (r *rig) restart() {
	r.t.Helper()
	state, err := json.Marshal(r.session)
	if err != nil {
		r.t.Fatal(err)
	}
	r.session = new(Session)
	if err := json.Unmarshal(state, r.session); err != nil {
		r.t.Fatal(err)
	}
}

func of[F schema.Fact](facts []Fact) (list []F) {
	for _, f := range facts {
		if fact, ok := f.Fact.(F); ok {
			list = append(list, fact)
		}
	}
	return list
}

// windows returns the equality digests of each assembly's blocks, from the facts alone.
func windows(t interface{ Fatalf(string, ...any) }, facts []Fact) map[string][]string {
	all := make(map[string][]string)
	chain := make(map[string]int)
	for _, a := range of[*schema.AssemblyCreated](facts) {
		if part, ok := a.Metadata["part"].(int); a.BaseAssemblyID != "" && (!ok || part == 1) {
			base, known := all[a.BaseAssemblyID]
			if !known || int(*a.Keep) > len(base) {
				t.Fatalf("assembly %s keeps %d blocks of %d", a.AssemblyID, *a.Keep, len(base))
			}
			all[a.AssemblyID] = slices.Clone(base[:*a.Keep])
			if chain[a.AssemblyID] = chain[a.BaseAssemblyID] + 1; chain[a.AssemblyID] >= schema.MaxAssemblyChain {
				t.Fatalf("a chain of %d assemblies", chain[a.AssemblyID]+1)
			}
		}
		for _, b := range a.OrderedBlocks {
			if at := len(all[a.AssemblyID]); int(*b.Position) != at {
				t.Fatalf("block %d of %s has position %d", at, a.AssemblyID, *b.Position)
			}
			all[a.AssemblyID] = append(all[a.AssemblyID], b.EqualityDigest)
		}
	}
	return all
}

// want returns the equality digests of the blocks that a server received.
func (r *rig) want(body string) []string {
	request, err := dialect.AnthropicMessages.ReadRequest([]byte(body))
	if err != nil {
		r.t.Fatal(err)
	}
	list := []string{}
	for _, b := range request.Blocks {
		list = append(list, r.reader.Equality.EqualityDigest(sha256.Sum256(Canonical(b.Raw))))
	}
	return list
}

const tools = `"tools":[{"name":"Bash"}]`

func user(text string) string { return fmt.Sprintf(`{"role":"user","content":%q}`, text) }

func body(messages ...string) string {
	return fmt.Sprintf(`{"model":"m","system":"be brief",%s,"messages":[%s]}`, tools, strings.Join(messages, ","))
}

// TestAnyWindows: from the facts of any sequence of windows the same windows come back, with
// restarts between them, and no item is added twice.
func TestAnyWindows(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		r := newRig(t)
		part := rapid.Custom(func(t *rapid.T) string {
			n := rapid.IntRange(0, 5).Draw(t, "n")
			switch rapid.IntRange(0, 3).Draw(t, "kind") {
			case 0:
				return fmt.Sprintf(`{"type":"tool_use","id":"t%d","name":"Bash","input":{"a":%d}}`, n, n)
			case 1:
				return fmt.Sprintf(`{"type":"tool_result","tool_use_id":"t%d","content":%q}`, n, strings.Repeat("x", rapid.IntRange(0, 9).Draw(t, "size")))
			case 2:
				return fmt.Sprintf(`{"type":"novel","n":%d}`, n)
			}
			return fmt.Sprintf(`{"type":"text","text":"text %d"}`, n)
		})
		message := rapid.Custom(func(t *rapid.T) string {
			role := rapid.SampledFrom([]string{"user", "assistant", "system"}).Draw(t, "role")
			return fmt.Sprintf(`{"role":%q,"content":[%s]}`, role, strings.Join(rapid.SliceOfN(part, 0, 4).Draw(t, "parts"), ","))
		})
		var messages []string
		want := make(map[string][]string)
		for range rapid.IntRange(1, 90).Draw(t, "calls") {
			switch rapid.IntRange(0, 9).Draw(t, "step") {
			case 0: // anything
				messages = rapid.SliceOfN(message, 0, 6).Draw(t, "messages")
			case 1: // from the front
				messages = slices.Clone(messages[min(len(messages), 2):])
			case 2: // in the middle
				if len(messages) > 1 {
					messages = slices.Delete(slices.Clone(messages), 1, 2)
				}
			case 3:
				r.restart()
			case 4: // the same again
			default:
				messages = append(slices.Clone(messages), message.Draw(t, "message"))
			}
			b := body(messages...)
			facts := r.send(b, rapid.SampledFrom([]string{"", `[]`, `[{"type":"text","text":"an answer of the model"}]`}).Draw(t, "answer"))
			list := of[*schema.AssemblyCreated](facts)
			if len(list) != 1 || want[list[0].AssemblyID] != nil {
				t.Fatalf("%d assemblies", len(list))
			}
			want[list[0].AssemblyID] = r.want(b)
		}
		got := windows(t, r.facts)
		if len(got) != len(want) {
			t.Fatalf("%d windows of %d", len(got), len(want))
		}
		for id, w := range want {
			if !slices.Equal(got[id], w) {
				t.Fatalf("%s has %v, want %v", id, got[id], w)
			}
		}
		added, named := make(map[string]bool), make(map[string]bool)
		for _, f := range r.facts {
			if item, ok := f.Fact.(*schema.ItemAdded); ok {
				if added[item.ItemID] {
					t.Fatalf("item %s is added twice", item.ItemID)
				}
				added[item.ItemID] = true
			}
			key := string(f.EventType()) + "\x00" + strings.Join(f.Name, "\x00")
			if named[key] {
				t.Fatalf("two facts are named %q", key)
			}
			named[key] = true
		}
		for _, a := range of[*schema.AssemblyCreated](r.facts) {
			for _, b := range a.OrderedBlocks {
				if !added[string(b.ItemRefs[0])] {
					t.Fatalf("item %s was never added", b.ItemRefs[0])
				}
			}
		}
	})
}

// TestIdentityIsOfBlocks: a second observer of the same session gives the same facts.
func TestIdentityIsOfBlocks(t *testing.T) {
	t.Parallel()
	bodies := []string{
		body(user("hello there")), body(user("hello there"), user("more of this")), body(user("another thread")),
	}
	one, two := newRig(t), newRig(t)
	two.reader = one.reader
	for _, b := range bodies {
		a, c := one.send(b, `[]`), two.send(b, `[]`)
		two.restart()
		if len(a) != len(c) {
			t.Fatalf("%d facts and %d", len(a), len(c))
		}
		for i := range a {
			x, _ := schema.NewEvent(a[i].Fact, "1", "urn:x", a[i].At, a[i].IDs)
			y, _ := schema.NewEvent(c[i].Fact, "1", "urn:x", c[i].At, c[i].IDs)
			if string(x.Data) != string(y.Data) || a[i].IDs != c[i].IDs || !slices.Equal(a[i].Name, c[i].Name) {
				t.Errorf("%s\n%s", x.Data, y.Data)
			}
		}
	}
}

func result(id, text string) string {
	return fmt.Sprintf(`{"role":"user","content":[{"type":"tool_result","tool_use_id":%q,"content":%q}]}`, id, text)
}

func use(id string) string {
	return fmt.Sprintf(`{"role":"assistant","content":[{"type":"tool_use","id":%q,"name":"Bash","input":{}}]}`, id)
}

func TestElisionAndReload(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	full, stub := strings.Repeat("output ", 50), "[cleared]"
	r.send(body(user("go"), use("t1"), result("t1", full), user("next")), `[]`)
	elided := of[*schema.ElisionApplied](r.send(body(user("go"), use("t1"), result("t1", stub), user("next"), user("on")), `[]`))
	if len(elided) != 1 || elided[0].ElidedItemRefs[0].ItemRef != "t1:result" || *elided[0].ElidedItemRefs[0].TokensAfter != int64(len(stub)) {
		t.Fatalf("%+v", elided)
	}
	again := of[*schema.ElisionReloaded](r.send(body(user("go"), use("t1"), result("t1", full), user("next"), user("on")), `[]`))
	if len(again) != 1 || again[0].ElidedItemRefs[0].ItemRef != "t1:result" {
		t.Fatalf("%+v", again)
	}
}

func TestRemoval(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.send(body(user("one"), user("two"), user("three")), `[]`)
	facts := r.send(body(user("one"), user("three"), user("four")), `[]`)
	removed := of[*schema.InjectionRemoved](facts)
	if len(removed) != 1 || len(removed[0].ItemRefs) != 1 {
		t.Fatalf("%+v", removed)
	}
	if n := len(of[*schema.ItemAdded](facts)); n != 1 {
		t.Errorf("%d items, want the new one alone", n)
	}
	if n := len(of[*schema.CompactionCompleted](facts)); n != 0 {
		t.Errorf("a removal is a compaction")
	}
}

func TestCompaction(t *testing.T) {
	t.Parallel()
	summary := strings.Join([]string{"The user wants a parser.", "It reads JSON lines.", "Two files were changed.", "The tests of the reader pass.", "Next comes the writer."}, "\n")
	for proof, preface := range map[string]string{ProofEqual: "", ProofContained: "This session continues an earlier one.\n"} {
		r := newRig(t)
		const reminder = "<system-reminder>stays"
		r.send(body(user(reminder), user("write a parser")), `[{"type":"text","text":"a first answer that is long"}]`)
		r.send(body(user(reminder), user("write a parser"), user("go on")), `[{"type":"text","text":"a second answer, long enough"}]`)
		r.send(body(user(reminder), user("write a parser"), user("go on"), user("Summarise this.")),
			fmt.Sprintf(`[{"type":"text","text":%q}]`, map[bool]string{true: summary, false: "<analysis>\nwhat I think\n</analysis>\n<summary>\n" + summary + "\n</summary>"}[proof == ProofEqual]))
		r.restart()
		facts := r.send(body(user(preface+summary), user(reminder), user("and now?")), `[]`)
		list := of[*schema.CompactionCompleted](facts)
		if len(list) != 1 {
			t.Fatalf("%s: %d compactions", proof, len(list))
		}
		c := list[0]
		if got := c.Validation.(map[string]any)["proof"]; got != proof || c.SummarizerCallID != "msg_3" || len(c.SourceItemRefs) != 3 {
			t.Errorf("%s: proof %v, summariser %s, %d sources", proof, got, c.SummarizerCallID, len(c.SourceItemRefs))
		}
		if made := of[*schema.SummaryCreated](facts); len(made) != 1 || schema.Ref(made[0].SummaryID) != c.SummaryRef {
			t.Errorf("%s: %+v", proof, made)
		}
		if threads := of[*schema.ScopeOpened](r.facts); len(threads) != 1 {
			t.Errorf("%s: %d threads", proof, len(threads))
		}
	}
}

// TestUnprovenCompaction: without an earlier answer nothing is a summary.
func TestUnprovenCompaction(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.send(body(user("one"), user("two")), `[{"type":"text","text":"ok"}]`)
	facts := r.send(body(user("ok"), user("two")), `[]`)
	if len(of[*schema.CompactionCompleted](facts)) > 0 {
		t.Error("a short answer proves a compaction")
	}
}

func TestChild(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	found := "The bug is in the parser: it drops the last line of a file."
	const reminder = "<system-reminder>the same for all agents"
	r.send(body(user(reminder), user("fix it")), `[{"type":"tool_use","id":"task1","name":"Task","input":{}}]`)
	r.send(body(user(reminder), user("find the bug in the parser")), fmt.Sprintf(`[{"type":"text","text":%q}]`, found))
	facts := r.send(body(user(reminder), user("fix it"), use("task1"), result("task1", found)), `[]`)
	scopes := of[*schema.ScopeOpened](facts)
	if len(scopes) != 1 || scopes[0].ParentRunID == "" || scopes[0].ParentRunID == scopes[0].RunID {
		t.Fatalf("%+v", scopes)
	}
	if n := len(of[*schema.ScopeOpened](r.facts)); n != 3 {
		t.Errorf("%d scopes, want two threads and one parent", n)
	}
}

// TestSideCall: a request without tools does not continue a thread that has some.
func TestSideCall(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.send(body(user("hello"), user("more")), `[]`)
	side := r.send(`{"model":"small","system":"make a title","messages":[`+user("hello")+`]}`, `[]`)
	if u := of[*schema.UsageRecorded](side); u[0].Metadata["side_call"] != true {
		t.Errorf("%v", u[0].Metadata)
	}
	facts := r.send(body(user("hello"), user("more"), user("last")), `[]`)
	if len(of[*schema.InjectionRemoved](facts)) > 0 || len(of[*schema.ItemAdded](facts)) != 1 {
		t.Error("the side call took the thread's window")
	}
}

// TestPreviousResponse: a request that continues a response has its window before its own.
func TestPreviousResponse(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	ask := func(body, id string) []Fact {
		request, err := dialect.OpenAIResponses.ReadRequest([]byte(body))
		if err != nil {
			t.Fatal(err)
		}
		a := dialect.OpenAIResponses.NewReader(200, "application/json")
		_, _ = fmt.Fprintf(a, `{"id":%q,"status":"completed","output":[{"type":"message","role":"assistant","content":[{"type":"output_text","text":"yes"}]}]}`, id)
		x := &dialect.Exchange{Dialect: dialect.OpenAIResponses, Operation: dialect.Generate, Request: request, Answer: a.Answer()}
		facts := r.session.Observe(&r.reader, x, Call{At: r.at, Fidelity: schema.FidelityWire})
		r.facts = append(r.facts, facts...)
		return facts
	}
	ask(`{"model":"g","instructions":"s","input":"one"}`, "r1")
	r.restart()
	ask(`{"model":"g","instructions":"s","previous_response_id":"r1","input":"two"}`, "r2")
	if w := windows(t, r.facts)["r2:window"]; len(w) != 4 {
		t.Errorf("the window has %d blocks, want the prompt, one, yes and two", len(w))
	}
	facts := ask(`{"model":"g","previous_response_id":"gone","input":"three"}`, "r3")
	if u := of[*schema.UsageRecorded](facts)[0]; u.Coverage != schema.CoveragePartial || u.CoverageReasons[0] != string(schema.PartialPrevious) {
		t.Errorf("%s %v", u.Coverage, u.CoverageReasons)
	}
}

// TestLargeWindow: a window that one event cannot hold comes in parts.
// TestWarmUp: a request that asks for no answer begins the thread of the response that continues
// it. A window that is sent whole later, as after a new connection, changes nothing but its end.
func TestWarmUp(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	ask := func(id, body string) []Fact {
		request, err := dialect.OpenAIResponses.ReadRequest([]byte(body))
		if err != nil {
			t.Fatal(err)
		}
		x := &dialect.Exchange{Dialect: dialect.OpenAIResponses, Operation: dialect.Generate, Request: request}
		x.Answer = dialect.Answer{Status: 200, MessageID: id, Complete: true}
		r.at = r.at.Add(time.Second)
		facts := r.session.Observe(&r.reader, x, Call{At: r.at, Agent: "test", Fidelity: schema.FidelityWire})
		for i := range facts {
			r.valid(&facts[i])
		}
		r.facts = append(r.facts, facts...)
		r.restart()
		return facts
	}
	const head = `{"type":"response.create","model":"m","tools":[{"type":"function","name":"run"}],`
	const setup, rules, late = `{"role":"developer","content":"setup"}`, `{"role":"developer","content":"rules"}`, `{"role":"developer","content":"late"}`
	warm := ask("resp_1", head+`"generate":false,"input":[`+setup+`]}`)
	if m := of[*schema.UsageRecorded](warm)[0].Metadata; m["operation"] != "warm_up" || m["side_call"] != true {
		t.Errorf("the first call is %v", m)
	}
	ask("resp_2", head+`"previous_response_id":"resp_1","input":[`+rules+`,`+user("one")+`]}`)
	ask("resp_3", head+`"previous_response_id":"resp_2","input":[`+late+`,`+user("two")+`]}`)
	whole := ask("resp_4", head+`"input":[`+strings.Join([]string{setup, rules, user("one"), late, user("two"), user("three")}, ",")+`]}`)
	last := of[*schema.AssemblyCreated](whole)[0]
	if last.BaseAssemblyID != "resp_3:window" || *last.Keep != 6 || len(last.OrderedBlocks) != 1 {
		t.Errorf("the whole window keeps %v blocks of %q", *last.Keep, last.BaseAssemblyID)
	}
	layers := make(map[string]string)
	for _, added := range of[*schema.ItemAdded](r.facts) {
		if old, again := layers[added.Item.ItemID]; again {
			t.Errorf("%s is added in %s and %s", added.Item.ItemID, old, added.Item.Layer)
		}
		layers[added.Item.ItemID] = added.Item.Layer
	}
	if n := len(of[*schema.ScopeOpened](r.facts)); n != 1 || len(layers) != 7 || len(of[*schema.InjectionRemoved](r.facts)) > 0 {
		t.Errorf("%d threads, items %v", n, layers)
	}
}

func TestLargeWindow(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	var messages []string
	for i := range 1000 {
		messages = append(messages, user(fmt.Sprintf("message %d", i)))
	}
	b := body(messages...)
	r.send(b, `[]`)
	if got := windows(t, r.facts); len(got) != 1 || !slices.Equal(got["msg_1:window"], r.want(b)) {
		t.Error("the window does not come back")
	}
}
