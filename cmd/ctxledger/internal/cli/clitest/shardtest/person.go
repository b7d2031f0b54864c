package shardtest

import (
	"fmt"
	"maps"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/ctxledger/ctxledger/cmd/ctxledger/internal/keyfile"
	"github.com/ctxledger/ctxledger/schema"
	"github.com/ctxledger/ctxledger/schema/fingerprint"
)

// A Person publishes facts of the tenant acme.
type Person struct {
	rig      *Rig
	Key      schema.Key
	Facts    int       // that were published
	Sessions [2]string // by shard, of four streams that two shards have in turn
}

// NewPerson returns a person who publishes to the streams of a cluster.
func NewPerson(r *Rig) *Person {
	r.T.Helper()
	ring, err := keyfile.Open(r.Data, "acme")
	if err != nil {
		r.T.Fatal(err)
	}
	p := &Person{rig: r, Key: ring.Current()}
	for i := range 64 {
		session := fmt.Sprint("person-", i)
		subject := schema.Subject{Tenant: "acme", Runtime: schema.DefaultRuntime, Bucket: schema.Bucket(session), Object: "item", Verb: "added"}
		p.Sessions[schema.Partitions(4).Of(subject.String())%2] = session
	}
	return p
}

// Event returns the event of a fact in a session. whose is the resource, or empty.
func (p *Person) Event(session, whose string, fact schema.Fact) *schema.Event {
	p.rig.T.Helper()
	p.Facts++
	of := schema.Correlation{Tenant: "acme", SessionID: session, TurnID: "turn-" + session, ResourceID: whose}
	e, err := schema.NewEvent(fact, fmt.Sprint("person-", p.Facts), "urn:test:"+session, time.Date(2026, 1, 2, 3, 4, p.Facts, 0, time.UTC), of)
	if err != nil {
		p.rig.T.Fatal(err)
	}
	return e
}

// Publish publishes the event of a fact.
func (p *Person) Publish(session, whose string, fact schema.Fact) schema.Message {
	p.rig.T.Helper()
	m := p.Event(session, whose, fact).Binary()
	p.Send(m)
	return m
}

// Send publishes a message, also one that the stream has.
func (p *Person) Send(m schema.Message) {
	p.rig.T.Helper()
	header := nats.Header(maps.Clone(m.Header))
	header.Del(nats.MsgIdHdr)
	if _, err := p.rig.JS.PublishMsg(p.rig.T.Context(), &nats.Msg{Subject: m.Subject, Header: header, Data: m.Data}); err != nil {
		p.rig.T.Fatal(err)
	}
}

// Item publishes an item, which names a text unless that is empty.
func (p *Person) Item(session, whose, id, title, text string) schema.Message {
	p.rig.T.Helper()
	item := schema.Item{ItemID: id, ContextKind: "note", Title: title}
	if text != "" {
		item.ContentMode, item.ContentRef = schema.ContentRef, schema.TextRef(p.Key.Digest([]byte(text)))
	}
	return p.Publish(session, whose, &schema.ItemAdded{Item: item})
}

// Redact publishes a redaction of a value.
func (p *Person) Redact(session, id, value string) {
	p.rig.T.Helper()
	hasher, err := fingerprint.New(p.Key)
	if err != nil {
		p.rig.T.Fatal(err)
	}
	withheld, _ := hasher.Of([]byte(value))
	fact := &schema.RedactionApplied{Common: schema.Common{PolicyRefs: schema.Refs("policy:p")}}
	fact.RedactionID, fact.TargetRef, fact.Reason, fact.RedactionState = id, "i-1", "secret", schema.RedactionMasked
	fact.Fingerprints = []schema.Fingerprint{withheld}
	p.Publish(session, "", fact)
}
