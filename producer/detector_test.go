package producer

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/ctxledger/ctxledger/producer/internal/bustest"
	"github.com/ctxledger/ctxledger/producer/redact"
	"github.com/ctxledger/ctxledger/producer/secrets"
	"github.com/ctxledger/ctxledger/schema"
)

func detecting(t testing.TB) func(*Config) {
	t.Helper()
	rules, err := secrets.New()
	if err != nil {
		t.Fatal(err)
	}
	return func(c *Config) { c.Detector = rules }
}

// githubToken has the form of a token.
var githubToken = "ghp_" + strings.Repeat("x7Qa", 2) + "9bTzP2mWv5LkR8sYcD1fGhJn4eUo"

// TestDetectedOnce: after one detection by the rules, the guard finds the value also in
// forms that the rules do not find.
func TestDetectedOnce(t *testing.T) {
	t.Parallel()
	b := bustest.Start(t)
	client := newClient(t, b, guarding(t), detecting(t))
	run, err := client.Open(t.Context(), Run{Session: "s"})
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{"used " + githubToken, "again " + strings.ToUpper(githubToken)} {
		if err := run.Record(t.Context(), &schema.ItemRemoved{ItemID: "i", Reason: text}); err != nil {
			t.Fatal(err)
		}
	}
	twoParts := &schema.ItemRemoved{ItemID: "i"}
	twoParts.Metadata = map[string]any{"from": githubToken[:10], "to": githubToken[10:]}
	if err := run.Record(t.Context(), twoParts); err != nil {
		t.Fatal(err)
	}
	if err := run.Record(t.Context(), &schema.ItemRemoved{ItemID: githubToken}); !errors.Is(err, ErrWithheld) {
		t.Errorf("an id: %v", err)
	}
	if err := client.Flush(t.Context()); err != nil {
		t.Fatal(err)
	}
	look, redactions := newReader([]string{githubToken}), 0
	for _, e := range b.Events(t) {
		if len(look.finds(e.Data)) > 0 {
			t.Errorf("%s says it", e.Type)
		}
		fact, err := e.Decode()
		if err != nil {
			t.Fatal(err)
		}
		if r, ok := fact.(*schema.RedactionApplied); ok {
			redactions++
			if !slices.Equal(r.PolicyRefs, schema.Refs("policy:secret-detection/github-pat")) || r.Reason != secrets.Reason || len(r.Fingerprints) == 0 || r.Fingerprints[0].Length != int64(len(githubToken)) {
				t.Errorf("%+v", r)
			}
		}
	}
	if redactions != 3 {
		t.Errorf("%d redactions, not 3", redactions)
	}
}

// detector is a Detector that is a function.
type detector func(text string) []redact.Value

func (d detector) Detect(_ context.Context, text string) []redact.Value { return d(text) }

// TestDetectedIsBounded: a detector with a new finding in each fact fills no memory, and
// concurrent writers do not lose findings.
func TestDetectedIsBounded(t *testing.T) {
	t.Parallel()
	b := bustest.Start(t)
	client := newClient(t, b, guarding(t), func(c *Config) {
		c.Detector = detector(func(text string) (found []redact.Value) {
			if _, secret, ok := strings.Cut(text, "reason: "); ok && strings.HasPrefix(secret, "planted-") {
				found = append(found, redact.Withhold(strings.TrimSpace(secret), "policy:found", "secret"))
			}
			return found
		})
	})
	var wait sync.WaitGroup
	for w := range 4 {
		wait.Go(func() {
			for i := range maxDetected {
				fact := &schema.ItemRemoved{ItemID: "i", Reason: fmt.Sprintf("planted-%d-%05d", w, i)}
				if _, err := client.Record(t.Context(), fact, schema.Correlation{SessionID: "s"}); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wait.Wait()
	if n := client.withheld.guard().Len(); n > maxDetected+1 || n < maxDetected/2 {
		t.Errorf("%d values are held", n)
	}
	if err := client.Flush(t.Context()); err != nil {
		t.Fatal(err)
	}
	for _, e := range b.Events(t) {
		if strings.Contains(string(e.Data), "planted-") {
			t.Fatalf("%s", e.Data)
		}
	}
}

// TestFindingsOfOneFact: a fact with values that the client knows and with new ones keeps none of
// them, also when the new ones push the known ones out, and when they are more than the client keeps.
func TestFindingsOfOneFact(t *testing.T) {
	t.Parallel()
	b := bustest.Start(t)
	client := newClient(t, b, guarding(t), func(c *Config) {
		c.Detector = detector(func(text string) (found []redact.Value) {
			for word := range strings.FieldsSeq(text) {
				if strings.HasPrefix(word, "planted-") {
					found = append(found, redact.Withhold(word, "policy:found", "secret"))
				}
			}
			return found
		})
	})
	planted := func(from, to int) (text string) {
		for i := from; i < to; i++ {
			text += fmt.Sprintf(" planted-%05d", i)
		}
		return text
	}
	for _, text := range []string{
		planted(0, 3), planted(3, 3+maxDetected/2), planted(200, 200+maxDetected/2-4), planted(0, 3) + planted(400, 402),
		planted(1000, 1000+3*maxDetected), planted(0, 1) + planted(1000, 1001) + planted(5000, 5000+maxDetected),
	} {
		if _, err := client.Record(t.Context(), &schema.ItemRemoved{ItemID: "i", Reason: text}, schema.Correlation{SessionID: "s"}); err != nil {
			t.Fatal(err)
		}
		if n := client.withheld.guard().Len(); n > maxDetected+1 {
			t.Errorf("%d values are held", n)
		}
	}
	if err := client.Flush(t.Context()); err != nil {
		t.Fatal(err)
	}
	for _, e := range b.Events(t) {
		if at := strings.Index(string(e.Data), "planted-"); at >= 0 {
			t.Errorf("%s keeps %s and %d more", e.Type, e.Data[at:at+13], strings.Count(string(e.Data), "planted-")-1)
		}
	}
}

// TestDetectorPanics: the fact is refused, and the runtime continues.
func TestDetectorPanics(t *testing.T) {
	t.Parallel()
	client := newClient(t, bustest.Start(t), func(c *Config) {
		c.Detector = detector(func(text string) []redact.Value { panic(text) })
	})
	_, err := client.Record(t.Context(), &schema.ItemRemoved{ItemID: "i", Reason: secretValue}, schema.Correlation{SessionID: "s"})
	if !errors.Is(err, ErrWork) || strings.Contains(err.Error(), secretValue) {
		t.Errorf("got %v", err)
	}
}

// TestDetectorIsShownText: the detector does not see ids and digests.
func TestDetectorIsShownText(t *testing.T) {
	t.Parallel()
	got := texts([]byte(`{"item_id":"i","content_digest":"d","title":"a\nb","n":1,"list":["x","x",{"y":"z","list":"x"}]}`))
	if want := "title: a\nb\nlist: x\ny: z\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

// BenchmarkRecordDetected is BenchmarkRecord with the rules of package secrets.
func BenchmarkRecordDetected(b *testing.B) {
	bus := bustest.Start(b)
	client := newClient(b, bus, guarding(b), detecting(b), func(c *Config) { c.MaxQueued = 1 << 30 })
	b.ReportAllocs()
	for b.Loop() {
		if _, err := client.Record(b.Context(), &schema.ItemRemoved{ItemID: "item-7", Reason: "no longer needed"}, schema.Correlation{SessionID: "s"}); err != nil {
			b.Fatal(err)
		}
	}
}
