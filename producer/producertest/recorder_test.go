package producertest

import (
	"bytes"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/ctxledger/ctxledger/producer"
	"github.com/ctxledger/ctxledger/producer/publish"
	"github.com/ctxledger/ctxledger/producer/redact"
	"github.com/ctxledger/ctxledger/producer/window"
	"github.com/ctxledger/ctxledger/schema"
)

const secret = "hunter2-correct-horse"

func guarded(t testing.TB) func(*producer.Config) {
	t.Helper()
	guard, err := redact.New(redact.Withhold(secret, "policy:test", "secret"))
	if err != nil {
		t.Fatal(err)
	}
	return func(c *producer.Config) { c.Guard = guard }
}

// work uses many parts of the SDK: a child, a denied grant, a withheld value, pressure, a
// gap, an elision and a seal.
func work(t testing.TB, client *producer.Client) {
	t.Helper()
	ctx := t.Context()
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	run, err := client.Open(ctx, producer.Run{ID: "run", Session: "s", MaxDepth: 1, Tags: []string{"a " + secret}})
	must(err)
	_, err = run.Child(ctx, producer.Child{ID: "child"})
	must(err)
	turn := run.Turn("t1", producer.Model{Name: "gpt-4o", Window: window.Budget{MaxTokens: 60, ReservedOutput: 10}})
	var items []window.Item
	for i := range 6 {
		item, err := turn.Add(ctx, producer.Content{
			ID: fmt.Sprint("m", i), Layer: "user", Role: window.RoleUser, Kind: window.KindMessage, Text: strings.Repeat("tell me of "+secret+" ", 2),
		})
		must(err)
		items = append(items, item)
	}
	call := turn.Call("c1")
	plan, err := call.Fit(ctx, items, window.Policy{TrimKeepLast: 1}, nil)
	must(err)
	asm, err := call.Assemble(ctx, plan)
	must(err)
	must(call.Inject(ctx, asm, schema.InjectMessageHistory))
	must(call.Usage(ctx, plan, schema.ProviderUsage{}))
	must(turn.Record(ctx, &schema.ItemRemoved{ItemID: "m0", Reason: "said " + secret}))
	_, err = turn.Seal(ctx)
	must(err)
}

func TestSameCallsGiveTheSameBytes(t *testing.T) {
	t.Parallel()
	var first []byte
	for range 2 {
		client, rec := New(t, guarded(t))
		work(t, client)
		lines := rec.Events().JSON()
		if first == nil {
			first = lines
		}
		if !bytes.Equal(lines, first) {
			t.Errorf("not the same bytes:\n%s\n%s", first, lines)
		}
		if bytes.Contains(lines, []byte(secret)) || len(lines) == 0 {
			t.Errorf("the secret, or nothing, is in\n%s", lines)
		}
	}
	for line := range bytes.Lines(first) {
		e, err := schema.ParseStructured(line)
		if err != nil {
			t.Fatal(err)
		}
		if _, violations := schema.Validate(e); len(violations) > 0 {
			t.Error(violations)
		}
	}
}

func TestFilters(t *testing.T) {
	t.Parallel()
	client, rec := New(t)
	work(t, client)
	all := rec.Events()
	if n, m := len(all), len(all.Session("s")); n != m || n == 0 {
		t.Errorf("%d events, %d of the session", n, m)
	}
	if got := all.Run("child").Types(); !slices.Equal(got, []schema.Type{schema.TypeScopeOpened, schema.TypeGrantNarrowed}) {
		t.Errorf("the child has %v", got)
	}
	call := all.Call("c1")
	if len(call.Of(schema.TypePressureApplied)) != 5 || len(call.Of(schema.TypeItemAdded)) != 0 || len(call) >= len(all.Turn("t1")) {
		t.Errorf("the call has\n%s", call)
	}
	if got := Facts[*schema.ItemAdded](all.Turn("t1")); len(got) != 6 || got[5].ItemID != "m5" {
		t.Errorf("%d items", len(got))
	}
	if all[0].Time != Epoch || !all[1].Time.After(Epoch) {
		t.Errorf("the first facts are of %v and %v", all[0].Time, all[1].Time)
	}
	if got := Events(nil).String(); !strings.Contains(got, "nothing") {
		t.Errorf("no events: %q", got)
	}
}

func TestFailing(t *testing.T) {
	t.Parallel()
	client, rec := New(t)
	away, full := errors.New("away"), fmt.Errorf("%w: away", publish.ErrQueueFull)
	record := func() error {
		_, err := client.Record(t.Context(), &schema.ItemRemoved{ItemID: "i"}, schema.Correlation{SessionID: "s"})
		return err
	}
	rec.Fail(away)
	if err := record(); err != nil {
		t.Errorf("refused while away: %v", err)
	}
	if err := client.Flush(t.Context()); !errors.Is(err, away) || !errors.Is(client.Err(), away) {
		t.Errorf("flushed while away: %v, %v", err, client.Err())
	}
	rec.Fail(full)
	if err := record(); !errors.Is(err, publish.ErrQueueFull) {
		t.Errorf("recorded while full: %v", err)
	}
	rec.Fail(nil)
	if err := errors.Join(record(), client.Flush(t.Context()), client.Err()); err != nil {
		t.Error(err)
	}
	if n := len(rec.Events()); n != 2 {
		t.Errorf("%d events, not 2", n)
	}
}

// TestDropping lets a turn lose facts while there is no room. Its client is configured to
// drop facts.
func TestDropping(t *testing.T) {
	t.Parallel()
	client, rec := New(t, func(c *producer.Config) { c.WhenFull = producer.Drop })
	ctx := t.Context()
	run, err := client.Open(ctx, producer.Run{Session: "s"})
	if err != nil {
		t.Fatal(err)
	}
	turn := run.Turn("t1", producer.Model{Name: "gpt-4o", Window: window.Budget{MaxTokens: 60}})
	item, err := turn.Add(ctx, producer.Content{ID: "m", Role: window.RoleUser, Kind: window.KindMessage, Text: "hi"})
	if err != nil {
		t.Fatal(err)
	}
	call := turn.Call("c1")
	rec.Fail(publish.ErrQueueFull)
	plan, err := call.Fit(ctx, []window.Item{item}, window.DefaultPolicy(), nil)
	if err != nil {
		t.Fatal(err)
	}
	asm, err := call.Assemble(ctx, plan)
	if err != nil {
		t.Fatal(err)
	}
	rec.Fail(nil)
	if err := call.Inject(ctx, asm, schema.InjectMessageHistory); err != nil {
		t.Fatal(err)
	}
	if _, err := turn.Seal(ctx); err != nil {
		t.Fatal(err)
	}
	lost := One[*schema.FactsDropped](t, rec.Events())
	if *lost.Count != 4 || client.Dropped() != 4 {
		t.Errorf("%d facts are declared as dropped, %d were", *lost.Count, client.Dropped())
	}
}

func TestSendIsAllOrNone(t *testing.T) {
	t.Parallel()
	good := event(t, &schema.ItemRemoved{ItemID: "i"}, 1).Binary()
	wrong := good
	wrong.Subject = "ctx.v1.elsewhere"
	bad := event(t, &schema.RedactionApplied{RedactionID: "r"}, 2).Binary()
	var rec Recorder
	var violations schema.Violations
	if err := rec.Send(t.Context(), good, bad); !errors.As(err, &violations) {
		t.Errorf("a redaction without a reason: %v", err)
	}
	if err := rec.Send(t.Context(), good, wrong); err == nil {
		t.Error("the wrong subject was taken")
	}
	if err := rec.Send(t.Context(), good, schema.Message{Subject: good.Subject, Data: []byte("{}")}); err == nil {
		t.Error("no event was taken")
	}
	if n := len(rec.Events()); n != 0 {
		t.Errorf("%d events were kept", n)
	}
}

func TestManyWriters(t *testing.T) {
	t.Parallel()
	client, rec := New(t)
	const writers, each = 8, 50
	var wait sync.WaitGroup
	for w := range writers {
		wait.Go(func() {
			for range each {
				ids := schema.Correlation{SessionID: fmt.Sprint("s", w%2)}
				if _, err := client.Record(t.Context(), &schema.ItemRemoved{ItemID: "i"}, ids); err != nil {
					t.Error(err)
				}
				rec.Check(t)
			}
		})
	}
	wait.Wait()
	if n := len(rec.Events()); n != writers*each {
		t.Errorf("%d events", n)
	}
}

// spy is a test that records its failure.
type spy struct {
	testing.TB
	text  strings.Builder
	fatal bool
}

func (s *spy) Helper() {}

func (s *spy) Errorf(format string, args ...any) { fmt.Fprintf(&s.text, format+"\n", args...) }

func (s *spy) Fatalf(format string, args ...any) {
	s.Errorf(format, args...)
	s.fatal = true
	runtime.Goexit()
}

// watch runs f with a separate test and returns its failure.
func watch(f func(t testing.TB)) (text string, fatal bool) {
	s := new(spy)
	done := make(chan struct{})
	go func() {
		defer close(done)
		f(s)
	}()
	<-done
	return s.text.String(), s.fatal
}

func TestAssertionsSayWhatThereWas(t *testing.T) {
	t.Parallel()
	client, rec := New(t)
	work(t, client)
	turn := rec.Events().Turn("t1")
	for name, c := range map[string]struct {
		assert func(testing.TB)
		want   []string
		fatal  bool
	}{
		"none":     {func(t testing.TB) { One[*schema.ElisionApplied](t, turn) }, []string{"0 facts", "*schema.ElisionApplied", "context.selection.completed  selection:c1"}, true},
		"several":  {func(t testing.TB) { One[*schema.ItemAdded](t, turn) }, []string{"6 facts", "context.item.added"}, true},
		"one":      {func(t testing.TB) { One[*schema.UsageRecorded](t, turn) }, nil, false},
		"as it is": {func(t testing.TB) { turn.Want(t, turn.Types()...) }, nil, false},
		"too few":  {func(t testing.TB) { turn[:1].Want(t, schema.TypeItemAdded, schema.TypeLogAppended) }, []string{"context.log.appended is missing"}, false},
		"too many": {func(t testing.TB) { turn[:2].Want(t, schema.TypeItemAdded) }, []string{"context.log.appended was not expected"}, false},
		"another":  {func(t testing.TB) { turn[:1].Want(t, schema.TypeItemRemoved) }, []string{"fact 1 is context.item.added, not context.item.removed"}, false},
		"a config": {func(t testing.TB) { New(t, guarded(t), func(c *producer.Config) { c.Runtime = secret }) }, []string{"withheld"}, true},
	} {
		text, fatal := watch(c.assert)
		if fatal != c.fatal || (text == "") != (c.want == nil) {
			t.Errorf("%s: ended %v with %q", name, fatal, text)
		}
		for _, part := range c.want {
			if !strings.Contains(text, part) {
				t.Errorf("%s: %q does not say %q", name, text, part)
			}
		}
	}
}

func event(t testing.TB, fact schema.Fact, sequence int64) *schema.Event {
	t.Helper()
	e, err := schema.NewEvent(fact, fmt.Sprint("e", sequence), "urn:test", Epoch, schema.Correlation{SessionID: "s", TurnID: "t", ContextID: "ctx"})
	if err != nil {
		t.Fatal(err)
	}
	e.Sequence = &sequence
	return e
}

func TestCheckFindsBreaches(t *testing.T) {
	t.Parallel()
	removed := func() schema.Fact { return &schema.ItemRemoved{ItemID: "i"} }
	chosen := func(part, parts int64, candidates []schema.Ref, selected ...schema.Candidate) schema.Fact {
		f := &schema.SelectionCompleted{
			Selection: schema.Selection{SelectionID: "sel", SurfaceID: "sur", Candidates: candidates}, Selected: selected,
		}
		if parts > 1 {
			f.Part, f.Parts = &part, &parts
		}
		return f
	}
	sealed := func(first, last int64) schema.Fact {
		return &schema.EnvelopeCreated{ContextID: "ctx", Scope: "turn", Lifecycle: schema.LifecycleInjected, Sequences: []schema.SequenceRanges{
			{Source: "urn:test", Ranges: [][2]int64{{first, last}}},
		}}
	}
	dropped := func(first, last int64) schema.Fact {
		return &schema.FactsDropped{DropID: "d", Count: new(last - first + 1), Reason: "full", Sequences: []schema.SequenceRanges{
			{Source: "urn:test", Ranges: [][2]int64{{first, last}}},
		}}
	}
	type step struct {
		sequence int64
		fact     schema.Fact
	}
	a, b := schema.Candidate{ItemRef: "a"}, schema.Candidate{ItemRef: "b"}
	for name, c := range map[string]struct {
		steps []step
		want  string // "" for a recording without a violation
	}{
		"contiguous":       {[]step{{1, removed()}, {2, removed()}}, ""},
		"gap":              {[]step{{1, removed()}, {3, removed()}}, "has sequence 3, want 2"},
		"starts late":      {[]step{{2, removed()}}, "has sequence 2, want 1"},
		"twice":            {[]step{{1, removed()}, {1, removed()}}, "has sequence 1, want 2"},
		"dropped":          {[]step{{1, removed()}, {4, dropped(2, 3)}, {5, removed()}}, ""},
		"dropped too few":  {[]step{{1, removed()}, {4, dropped(2, 2)}}, "has sequence 4, want 3"},
		"parts":            {[]step{{1, chosen(1, 2, []schema.Ref{"a"}, a)}, {2, chosen(2, 2, []schema.Ref{"b"}, b)}}, ""},
		"part missing":     {[]step{{1, chosen(1, 2, []schema.Ref{"a"}, a)}}, "recorded 1 times and has 2 parts"},
		"part unconserved": {[]step{{1, chosen(1, 2, []schema.Ref{"a", "b"}, a)}, {2, chosen(2, 2, []schema.Ref{"c"})}}, "candidates are not"},
		"call id twice":    {[]step{{1, chosen(1, 1, nil, a)}, {2, chosen(1, 1, nil, a)}}, "its own id"},
		"whole turn":       {[]step{{1, removed()}, {2, sealed(1, 2)}}, ""},
		"dropped in turn":  {[]step{{1, removed()}, {3, dropped(2, 2)}, {4, sealed(1, 4)}}, ""},
		"torn turn":        {[]step{{1, removed()}, {2, removed()}, {3, sealed(2, 3)}}, "its envelope lists"},
		"after the seal":   {[]step{{1, sealed(1, 1)}, {2, removed()}}, "continues after"},
		"no assembly": {[]step{{1, &schema.InjectionApplied{Injection: schema.Injection{InjectionID: "in", AssemblyID: "nowhere"}}}},
			`names the assembly "nowhere"`},
	} {
		var rec Recorder
		for _, s := range c.steps {
			if err := rec.Send(t.Context(), event(t, s.fact, s.sequence).Binary()); err != nil {
				t.Fatalf("%s: %v", name, err)
			}
		}
		text, _ := watch(rec.Check)
		if (text == "") != (c.want == "") || !strings.Contains(text, c.want) {
			t.Errorf("%s: %q", name, text)
		}
	}
}

// TestNewChecksAtTheEnd ends a test with a violation in its recording.
func TestNewChecksAtTheEnd(t *testing.T) {
	t.Parallel()
	s := &cleaning{spy: spy{TB: t}}
	_, rec := New(s)
	if err := rec.Send(t.Context(), event(t, &schema.ItemRemoved{ItemID: "i"}, 2).Binary()); err != nil {
		t.Fatal(err)
	}
	s.cleanup()
	if got := s.text.String(); !strings.Contains(got, "has sequence 2, want 1") {
		t.Errorf("the test ended with %q", got)
	}
}

type cleaning struct {
	spy
	cleanup func()
}

func (c *cleaning) Cleanup(f func()) { c.cleanup = f }
