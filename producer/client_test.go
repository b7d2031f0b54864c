package producer

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/ctxledger/ctxledger/deploy/embedded/embeddedtest"
	"github.com/ctxledger/ctxledger/producer/grant"
	"github.com/ctxledger/ctxledger/producer/internal/bustest"
	"github.com/ctxledger/ctxledger/producer/redact"
	"github.com/ctxledger/ctxledger/producer/window"
	"github.com/ctxledger/ctxledger/schema"
)

const secretValue = "hunter2-correct-horse"

func guarding(t testing.TB, values ...string) func(*Config) {
	t.Helper()
	var list []redact.Value
	for _, v := range append(values, secretValue) {
		list = append(list, redact.Withhold(v, "policy:test", "secret"))
	}
	guard, err := redact.New(list...)
	if err != nil {
		t.Fatal(err)
	}
	key, err := schema.NewKey(bytes.NewReader(bytes.Repeat([]byte{7}, 32)), bustest.Removed(t, "x").Time)
	if err != nil {
		t.Fatal(err)
	}
	return func(c *Config) { c.Guard, c.Key = guard, key }
}

// bySequence checks that each session's sequences are 1, 2, 3, … in stream order, and
// returns the number of events of each session.
func bySequence(t *testing.T, events []*schema.Event) map[string]int64 {
	t.Helper()
	last := map[string]int64{}
	for _, e := range events {
		if e.Sequence == nil || *e.Sequence != last[e.SessionID]+1 {
			t.Fatalf("session %s: %v after %d", e.SessionID, e.Sequence, last[e.SessionID])
		}
		last[e.SessionID]++
	}
	return last
}

func TestSequencesAreContiguous(t *testing.T) {
	t.Parallel()
	embeddedtest.Smoke(t)
	b := bustest.Start(t)
	client := newClient(t, b, guarding(t))
	var wait sync.WaitGroup
	const writers, each = 8, 150
	for w := range writers {
		wait.Go(func() {
			for i := range each {
				ids := schema.Correlation{SessionID: fmt.Sprint("s", (w+i)%3)}
				var violations schema.Violations
				_, err := client.Record(t.Context(), &schema.ItemRemoved{}, ids) // refused
				if !errors.As(err, &violations) {
					t.Errorf("an item without an id: %v", err)
				}
				if _, err = client.Record(t.Context(), &schema.ItemRemoved{ItemID: secretValue}, ids); !errors.Is(err, ErrWithheld) {
					t.Errorf("a secret id: %v", err)
				}
				fact := &schema.ItemRemoved{ItemID: "i"}
				if i%10 == 0 {
					fact.Reason = "was " + secretValue // uses two sequences
				}
				if _, err := client.Record(t.Context(), fact, ids); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wait.Wait()
	if err := client.Flush(t.Context()); err != nil {
		t.Fatal(err)
	}
	sum := int64(0)
	for _, n := range bySequence(t, b.Events(t)) {
		sum += n
	}
	if want := int64(writers * each * 11 / 10); sum != want {
		t.Errorf("%d events, not %d", sum, want)
	}
}

func TestConfigDefaults(t *testing.T) {
	t.Parallel()
	b := bustest.Start(t)
	client, err := Connect(t.Context(), Config{NATS: b.NC})
	if err != nil {
		t.Fatal(err)
	}
	e, err := client.Record(t.Context(), &schema.ItemRemoved{ItemID: "i"}, schema.Correlation{SessionID: "s"})
	if err != nil {
		t.Fatal(err)
	}
	if e.Tenant != schema.DefaultTenant || e.RuntimeID != schema.DefaultRuntime || client.config.Linger == 0 {
		t.Errorf("tenant %q, runtime %q, linger %s", e.Tenant, e.RuntimeID, client.config.Linger)
	}
	for _, bad := range []Config{{}, {NATS: b.NC, Linger: -1}, {NATS: b.NC, MaxQueued: -1}} {
		if _, err := Connect(t.Context(), bad); err == nil {
			t.Errorf("%+v was accepted", bad)
		}
	}
	c := Config{NATS: b.NC, Instance: secretValue}
	guarding(t)(&c)
	if _, err := Connect(t.Context(), c); !errors.Is(err, ErrWithheld) {
		t.Errorf("a secret instance: %v", err)
	}
}

// TestGuardHoldsEverywhere puts a secret into every text field of the SDK, and searches
// every message and every error for the secret.
func TestGuardHoldsEverywhere(t *testing.T) {
	t.Parallel()
	b := bustest.Start(t)
	client := newClient(t, b, guarding(t))
	ctx, s := t.Context(), "x "+secretValue+" y"
	var failures []error
	note := func(err error) {
		if err != nil {
			failures = append(failures, err)
		}
	}
	run, err := client.Open(ctx, Run{
		Session: "s", MaxDepth: 3, Program: s, Tags: []string{s}, InheritedTags: []string{s}, ConfigurableKeys: []string{s},
		Metadata: map[string]any{s: s}, InheritedMetadata: map[string]any{"a": []any{s}}, Grants: grant.Set{"a/" + secretValue},
	})
	if err != nil {
		t.Fatal(err)
	}
	_, err = run.Child(ctx, Child{ID: "c1", Grants: grant.Only("b/" + secretValue)})
	note(err)
	var denied *grant.Error
	if !errors.As(err, &denied) {
		t.Errorf("a denied grant: %v", err)
	}
	_, err = run.Child(ctx, Child{ID: "c2", Grants: grant.Only(s)})
	note(err)
	for _, bad := range []Run{{Session: secretValue}, {Session: "s", Agent: s}, {Session: "s", ID: s}, {Session: "s", Grants: grant.Set{grant.Path(s)}}, {Session: "s", Metadata: map[string]any{"a": s + "\xff"}}} {
		_, err := client.Open(ctx, bad)
		if err == nil {
			t.Errorf("%+v was accepted", bad)
		}
		note(err)
	}
	turn := run.Turn("t1", Model{Name: "gpt-4o", Window: window.Budget{MaxTokens: 100}})
	item, err := turn.Add(ctx, Content{ID: "m1", Title: s, Role: "user", Kind: window.KindMessage, Text: s, SourceURI: "file:" + s})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []Content{{ID: s}, {ID: "m2", ToolCallID: s}} {
		_, err := turn.Add(ctx, c)
		if !errors.Is(err, ErrWithheld) {
			t.Errorf("%+v: %v", c, err)
		}
		note(err)
	}
	call := turn.Call("c1")
	leaky := item
	leaky.ID, leaky.Tokens = s, 1_000
	_, err = call.Fit(ctx, []window.Item{item, leaky}, window.DefaultPolicy(), nil)
	if !errors.Is(err, ErrWithheld) {
		t.Errorf("a limit error that would name a secret: %v", err)
	}
	note(err)
	_, err = call.Fit(ctx, []window.Item{leaky, leaky}, window.DefaultPolicy(), nil)
	note(err)
	plan, err := call.Fit(ctx, []window.Item{item}, window.DefaultPolicy(), nil)
	note(err)
	_, err = call.Assemble(ctx, plan)
	note(err)
	_, err = turn.Missing(ctx, schema.Missing{MissingID: "g", Question: s, RequestedFrom: "user", RequestedAction: s, UserSummary: s})
	note(err)
	if _, err := turn.Seal(ctx); err != nil {
		t.Fatal(err)
	}
	if len(failures) < 9 {
		t.Errorf("only %d refusals", len(failures))
	}
	for _, err := range failures {
		if text := fmt.Sprintf("%v %+v %q", err, err, err); strings.Contains(text, secretValue) {
			t.Errorf("an error says it: %s", strings.ReplaceAll(text, secretValue, "(secret)"))
		}
	}
	redactions := map[string][]string{}
	for _, e := range b.Events(t) {
		for _, a := range e.Attributes() {
			if strings.Contains(a.Value, secretValue) {
				t.Errorf("%s has it in %s", e.Type, a.Name)
			}
		}
		if strings.Contains(string(e.Data), secretValue) {
			t.Errorf("%s has it in its data", e.Type)
		}
		if fact, err := e.Decode(); err != nil {
			t.Error(err)
		} else if r, ok := fact.(*schema.RedactionApplied); ok {
			redactions[r.RedactionID] = r.RedactedFields
			if len(r.Fingerprints) == 0 || r.Fingerprints[0].Length != int64(len(secretValue)) || r.RedactionState != schema.RedactionMasked {
				t.Errorf("%+v", r)
			}
		}
	}
	for id, fields := range map[string][]string{
		"redaction:m1:policy:test":                         {"content"},
		"redaction:context.item.added:m1:policy:test":      {"source_refs", "title"},
		"redaction:context.missing.detected:g:policy:test": {"question", "requested_action", "user_summary"},
	} {
		got := slices.Clone(redactions[id])
		slices.Sort(got)
		if !slices.Equal(got, fields) {
			t.Errorf("%s names %v, not %v", id, got, fields)
		}
	}
	bySequence(t, b.Events(t))
}

// TestManyFingerprints first withholds more values of one policy than one fact can hold,
// and then one value. A redaction lists exactly its withheld values.
func TestManyFingerprints(t *testing.T) {
	t.Parallel()
	b := bustest.Start(t)
	var values []string
	for i := range 1_000 {
		values = append(values, fmt.Sprintf("planted-secret-%04d", i))
	}
	client := newClient(t, b, guarding(t, values...))
	run, err := client.Open(t.Context(), Run{Session: "s"})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := run.Add(t.Context(), "gpt-4o", Content{ID: "m", Text: strings.Join(values, " ")}); err != nil {
		t.Fatal(err)
	}
	if _, err := run.Add(t.Context(), "gpt-4o", Content{ID: "one", Text: values[500]}); err != nil {
		t.Fatal(err)
	}
	if err := client.Flush(t.Context()); err != nil {
		t.Fatal(err)
	}
	seen, ofOne := map[string]bool{}, 0
	for _, e := range b.Events(t) {
		fact, err := e.Decode()
		if err != nil {
			t.Fatal(err)
		}
		if r, ok := fact.(*schema.RedactionApplied); ok {
			for _, f := range r.Fingerprints {
				seen[f.HMAC] = f.Length == int64(len(values[0])) // as it is, and in upper case
			}
			if r.TargetRef == "one" {
				ofOne = len(r.Fingerprints)
			}
		}
	}
	verbatim := 0
	for _, itself := range seen {
		if itself {
			verbatim++
		}
	}
	// Some base64 of two values that differ in one character is the same.
	if ofOne != 9 || verbatim != 2*len(values) || len(seen) < 7*len(values) {
		t.Errorf("%d fingerprints of one value, %d of all, %d of the texts themselves", ofOne, len(seen), verbatim)
	}
}
