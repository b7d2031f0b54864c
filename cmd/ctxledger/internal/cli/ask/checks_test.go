package ask_test

import (
	"strings"

	"github.com/ctxledger/ctxledger/ledger"
	"github.com/ctxledger/ctxledger/schema"
)

// numbered publishes an item of a session with a sequence, on the subject of another session.
func (p *person) numbered(session, on string, sequence int64) {
	p.T.Helper()
	e := p.Event(session, "", &schema.ItemAdded{Item: schema.Item{ItemID: "numbered", ContextKind: "note"}})
	e.Source, e.Sequence = "urn:test:numbered", &sequence
	m := e.Binary()
	m.Subject = strings.Replace(m.Subject, schema.Bucket(session), schema.Bucket(on), 1)
	p.Send(m)
}

// publishChecked publishes facts of a session on one shard that violate a rule only because of facts on the other
// shard, and others that do not violate one only because of these.
func (p *person) publishChecked() {
	p.T.Helper()
	first, second := p.Sessions[0], p.Sessions[1]
	p.Publish(first, "", &schema.ResourceResolved{Resource: schema.Resource{BindingID: "resource:a", Name: "memory"}})
	p.Item(first, "", "offer-1", "an offer", "")
	p.Publish(second, "", &schema.ItemAdded{Item: schema.Item{ItemID: "borrowed", BindingID: "resource:a", OfferedBy: "offer-1"}})
	p.Publish(second, "", &schema.ItemAdded{Item: schema.Item{ItemID: "nobodys", BindingID: "resource:none", OfferedBy: "none"}})
	for session, fact := range map[string]schema.Fact{
		first:  &schema.EnvelopeCreated{ContextID: "context-1", Scope: "session", Lifecycle: schema.LifecycleArchived},
		second: &schema.ItemAdded{Item: schema.Item{ItemID: "unsealed"}},
	} {
		e := p.Event(session, "", fact)
		e.Source, e.ContextID = "urn:test:seals", "context-1"
		p.Send(e.Binary())
	}
	for _, session := range p.Sessions { // a source counts once
		e := p.Event(session, "", &schema.ItemAdded{Item: schema.Item{ItemID: "of-both"}})
		e.Source = "urn:test:both"
		p.Send(e.Binary())
	}
	p.numbered(second, second, 1)
	p.numbered(second, first, 2) // refused on the other shard
	p.numbered(second, second, 3)
	p.numbered("nowhere", first, 5)
	p.numbered("nowhere", second, 9)
	p.numbered("nowhere", first, 10)
	p.numbered("nowhere", second, 11)
}

// sameChecks compares the question checks with one machine, after publishChecked.
func (p *person) sameChecks() {
	p.T.Helper()
	for _, l := range []*ledger.Ledger{p.Ledgers().All()[1], p.Plain} { // a session that is quiet for two days
		err := l.SQL(nil).Conn.Exec(p.T.Context(), `INSERT INTO events SELECT * REPLACE (
			recorded_at - toIntervalDay(2) AS recorded_at, 'quiet' AS session_id, stream_seq + 1000000 AS stream_seq) FROM events WHERE source = 'urn:test:seals' AND event_type = 'context.item.added'`)
		if err != nil {
			p.T.Fatal(err)
		}
	}
	found := p.SameOutput("check_references_elsewhere,2,1,"+p.Sessions[1]+",it names a resource of another run", "query", "checks", "-o", "csv", "--param", "tenant=acme")
	for _, says := range []string{"check_unsealed_scopes,1,1,quiet,", "check_sequence_gaps,1,1,nowhere,"} {
		if !strings.Contains(found, says) {
			p.T.Errorf("the checks lack %q:\n%s", says, found)
		}
	}
	p.SameOutput(",context.item.added,", "query", "event-types", "-o", "csv")
	p.SameOutput("check_conservation", "query", "checks")
}
