package evidence_test

import (
	"fmt"
	"testing"

	"golang.org/x/mod/sumdb/note"

	"github.com/ctxledger/ctxledger/ledger"
	"github.com/ctxledger/ctxledger/ledger/evidence"
	"github.com/ctxledger/ctxledger/ledger/evidence/pack"
	"github.com/ctxledger/ctxledger/ledger/evidence/verify"
	"github.com/ctxledger/ctxledger/ledger/read"
	"github.com/ctxledger/ctxledger/schema"
)

// TestPackOfASessionWithoutATenant: a session without tenant begins under older rules and continues
// under the newest rules, also with the default tenant. The pack has it as one session, with
// unchanged events.
func TestPackOfASessionWithoutATenant(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	var all []*schema.Event
	say := func(tenant string, fact schema.Fact) *schema.Event {
		e := event(t, fmt.Sprint("e", len(all)), "s", "t", fact)
		n := int64(len(all) + 1)
		e.Tenant, e.Sequence = tenant, &n
		all = append(all, e)
		return e
	}
	item := func(tenant string) *schema.Event {
		return say(tenant, &schema.ItemAdded{Item: schema.Item{ItemID: fmt.Sprint("i", len(all))}})
	}
	f.writeBy(t, ledger.EnvelopeRules, item(""), item("default"), item(""))
	seal := func() *schema.Event {
		e := say("", &schema.EnvelopeCreated{
			ContextID: "c", Scope: "session", Lifecycle: "exported",
			Sequences: []schema.SequenceRanges{{Source: "urn:test", Ranges: [][2]int64{{1, 6}}}},
		})
		e.ContextID = "c"
		return e
	}
	f.writeBy(t, ledger.SubjectRules, item(""), item("default"), seal())
	places, err := read.Of(f.Ledger).ScopePlaces(t.Context(), read.Scope{Session: "s"}, 5)
	if err != nil || len(places) != 1 || places[0].Tenant != schema.DefaultTenant || places[0].Events != 6 {
		t.Fatalf("the session is in %+v: %v", places, err)
	}
	scope := pack.Scope{Kind: pack.ScopeSession, Tenant: places[0].Tenant, Session: "s"}
	c := f.config(t, scope)
	if _, err := evidence.Export(t.Context(), f.Ledger, c); err != nil {
		t.Fatal(err)
	}
	f.check(t, c.Target, scope, all)
	trusted, err := note.NewVerifier(f.ring.Keys[0].Public)
	if err != nil {
		t.Fatal(err)
	}
	report, err := verify.Pack(t.Context(), c.Target, verify.Options{Keys: []note.Verifier{trusted}})
	if err != nil {
		t.Fatal(err)
	}
	for _, v := range report.Verdicts {
		if len(v.Faults) > 0 || v.Question == verify.Completeness && v.Status != verify.Passed {
			t.Errorf("%+v", v)
		}
	}
}
