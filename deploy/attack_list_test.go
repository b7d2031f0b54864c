package deploy_test

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/google/uuid"
	"github.com/nats-io/nats.go"
	"github.com/synadia-io/orbit.go/jetstreamext"

	"github.com/ctxledger/ctxledger/projector/erasure"
	"github.com/ctxledger/ctxledger/projector/lease"
	"github.com/ctxledger/ctxledger/projector/quarantine"
	"github.com/ctxledger/ctxledger/schema"
)

// An attack is the attacker's action between two of the victim's facts. A stored message of an
// attack must be quarantined under the attacker's name with one of these codes. Without codes,
// the message is a fact of the attacker, or is not stored.
type attack struct {
	class, name string
	do          func(*battle) error
	denied      bool // the server must refuse it
	codes       []schema.Code
}

// forged is an event that the attacker creates or copies from the victim.
func forged(change func(*schema.Event)) *schema.Event {
	e := fact("urn:agent:attacker", uuid.NewString(), attacker, "s-attacker", &schema.ItemAdded{Item: schema.Item{ItemID: "forged", Title: "forged"}})
	if change != nil {
		change(e)
	}
	return e
}

// onOwn puts an event on a subject that the attacker may publish on.
func onOwn(e *schema.Event) schema.Message {
	m := e.Binary()
	s := schema.SubjectOf(e)
	s.Tenant = attacker
	m.Subject = s.String()
	return m
}

func messageOf(m schema.Message) *nats.Msg {
	msg := nats.NewMsg(m.Subject)
	msg.Data = m.Data
	for name, values := range m.Header {
		msg.Header[name] = slices.Clone(values)
	}
	return msg
}

func send(m schema.Message, headers ...string) func(*battle) error {
	return func(b *battle) error {
		msg := messageOf(m)
		for i := 0; i < len(headers); i += 2 {
			msg.Header[headers[i]] = append(msg.Header[headers[i]], headers[i+1])
		}
		return b.publish(msg)
	}
}

// as changes the envelope of an event on the attacker's subject.
func as(change func(*schema.Event)) func(*battle) error { return send(onOwn(forged(change))) }

// bare publishes bytes on a subject.
func bare(subject, data string) func(*battle) error {
	return func(b *battle) error {
		return b.publish(&nats.Msg{Subject: subject, Header: nats.Header{}, Data: []byte(data)})
	}
}

// answered makes the server send its answer to a subject.
func answered(reply string) func(*battle) error {
	return func(b *battle) error {
		m := forged(nil).Binary()
		err := b.attacker.Conn().PublishMsg(&nats.Msg{Subject: m.Subject, Header: nats.Header(m.Header), Data: m.Data, Reply: reply})
		return errors.Join(err, b.attacker.Conn().Flush())
	}
}

// asks calls the server's API.
func asks(subject string) func(*battle) error { return bare("$JS.API."+subject, "{}") }

func attacks() []attack {
	tenant := func(name string) func(*schema.Event) { return func(e *schema.Event) { e.Tenant = name } }
	mismatch := []schema.Code{schema.CodeTenantMismatch}
	elsewhere := []schema.Code{schema.CodeSubjectMismatch}
	structured := func(change func(*schema.Event)) schema.Message {
		e := forged(change)
		m, err := e.Structured()
		if err != nil {
			panic(err)
		}
		m.Subject = onOwn(e).Subject
		return m
	}
	unreadable := []schema.Code{schema.CodeDuplicate, schema.CodeMalformed, schema.CodeNotJSON, schema.CodeAttribute, schema.CodeNotCloudEvent, schema.CodeType}
	inJSON := func(from, to string) schema.Message {
		m := structured(nil)
		m.Data = bytes.Replace(m.Data, []byte(from), []byte(to), 1)
		return m
	}
	operators := func(kind schema.Type) string {
		object, verb := kind.ObjectVerb()
		return schema.Subject{Tenant: attacker, Runtime: "rt", Bucket: "p00", Object: object, Verb: verb}.String()
	}
	victims := forged(tenant(victim)).Binary()
	own := onOwn(forged(nil)).Subject
	erasure := func(e *schema.Event) {
		made, err := schema.NewEvent(&schema.ErasureApplied{
			Common: schema.Common{PolicyRefs: schema.Refs("policy:mine")}, ErasureID: "erasure-1", ErasedSubject: "user", Reason: "forged",
			Records: []schema.ErasedRecord{{Stream: "CTX", Sequence: 2, Leaf: strings.Repeat("ab", 32), SessionID: victimSession}},
		}, "erasure-1", erasure.Source, at, schema.Correlation{Tenant: attacker})
		if err != nil {
			panic(err)
		}
		*e = *made
	}
	return []attack{
		{"subject", "the victim's", send(victims), true, nil},
		{"subject", "of all tenants", bare("ctx.v1", "{}"), true, nil},
		{"subject", "in another case", bare(strings.Replace(own, attacker, "Zeta-2", 1), "{}"), true, nil},
		{"subject", "escaped", bare(strings.Replace(own, attacker, "zeta%2D2", 1), "{}"), true, nil},
		{"subject", "the empty token", bare(strings.Replace(own, attacker, "%", 1), "{}"), true, nil},
		{"subject", "too short", func(b *battle) error {
			m := forged(nil).Binary()
			m.Subject = "ctx.v1.acme.short"
			return send(m)(b)
		}, false, elsewhere},
		{"subject", "of another runtime", func(b *battle) error {
			m := forged(nil).Binary()
			m.Subject = strings.Replace(m.Subject, ".unnamed.", ".victims-runtime.", 1)
			return send(m)(b)
		}, false, elsewhere},
		{"subject", "of another bucket", func(b *battle) error {
			m := forged(nil).Binary()
			m.Subject = schema.Subject{Tenant: attacker, Runtime: schema.DefaultRuntime, Bucket: "pzz", Object: "item", Verb: "added"}.String()
			return send(m)(b)
		}, false, elsewhere},
		{"subject", "of another type", func(b *battle) error {
			m := forged(nil).Binary()
			m.Subject = strings.Replace(m.Subject, "item.added", "selection.completed", 1)
			return send(m)(b)
		}, false, elsewhere},

		{"envelope", "the victim's tenant, binary", as(tenant(victim)), false, mismatch},
		{"envelope", "the victim's tenant, structured", send(structured(tenant(victim))), false, mismatch},
		{"envelope", "the victim's session, too", as(func(e *schema.Event) { e.Tenant, e.SessionID, e.PartitionKey = victim, victimSession, victimSession }), false, mismatch},
		{"case", "Acme", as(tenant("Acme")), false, mismatch},
		{"case", "ZETA-2", as(tenant("ZETA-2")), false, mismatch},
		{"absent", "no tenant, binary", as(tenant("")), false, mismatch},
		{"absent", "no tenant, structured", send(structured(tenant(""))), false, mismatch},
		{"encoded", "percent-encoded", func(b *battle) error {
			m := onOwn(forged(nil))
			m.Header["ce-tenant"] = []string{"%7Aeta%2D2"}
			return send(m)(b)
		}, false, mismatch},
		{"encoded", "quoted", func(b *battle) error {
			m := onOwn(forged(nil))
			m.Header["ce-tenant"] = []string{`"zeta-2"`}
			return send(m)(b)
		}, false, mismatch},
		{"encoded", "a letter that looks alike", as(tenant("zеta-2")), false, mismatch},
		{"encoded", "white space", as(tenant("acme ")), false, mismatch},

		{"encoded", "two tenants in JSON", send(inJSON(`"tenant":"acme"`, `"tenant":"acme","tenant":"zeta-2"`)), false, unreadable},
		{"encoded", "a tenant in capitals in JSON", send(inJSON(`"tenant":"acme"`, `"tenant":"acme","TENANT":"zeta-2"`)), false, unreadable},
		{"encoded", "a tenant with an escape in JSON", send(inJSON(`"tenant":"acme"`, `"tenant":"zeta\u002d2"`)), false, mismatch},
		{"encoded", "null in JSON", send(inJSON(`"tenant":"acme"`, `"tenant":null`)), false, slices.Concat(mismatch, unreadable)},
		{"encoded", "a number in JSON", send(inJSON(`"tenant":"acme"`, `"tenant":2`)), false, slices.Concat(mismatch, unreadable)},
		{"encoded", "a list in JSON", send(inJSON(`"tenant":"acme"`, `"tenant":["acme","zeta-2"]`)), false, unreadable},
		{"encoded", "in the data", as(func(e *schema.Event) { e.Data = bytes.Replace(e.Data, []byte("{"), []byte(`{"tenant":"zeta-2",`), 1) }), false, []schema.Code{schema.CodeIDMismatch}},

		{"headers", "two tenants", send(onOwn(forged(nil)), "ce-tenant", victim), false, []schema.Code{schema.CodeDuplicate}},
		{"headers", "two tenants in two cases", send(onOwn(forged(nil)), "CE-Tenant", victim), false, []schema.Code{schema.CodeDuplicate}},
		{"headers", "structured with a binary tenant", send(structured(nil), "ce-tenant", victim), false, nil},
		{"headers", "a refusal of the quarantine", send(onOwn(forged(nil)), "Ctxledger-Refusal", `{"sequence":1}`), false, nil},
		{"headers", "a rollup", send(onOwn(forged(nil)), "Nats-Rollup", "all"), true, nil},
		{"headers", "a rollup of the subject", send(onOwn(forged(nil)), "Nats-Rollup", "sub"), true, nil},
		{"headers", "a lifetime", send(onOwn(forged(nil)), "Nats-TTL", "1s"), true, nil},
		{"headers", "a schedule", send(onOwn(forged(nil)), "Nats-Schedule", "@at 2026-01-01T00:00:00Z", "Nats-Schedule-Target", victims.Subject), true, nil},
		{"headers", "a counter", send(onOwn(forged(nil)), "Nats-Incr", "1"), true, nil},

		{"reply subjects", "the lease", answered("$KV." + lease.Bucket + ".CTX.projection"), false, nil},
		{"reply subjects", "the victim's", answered(victims.Subject), false, nil},
		{"reply subjects", "the quarantine", answered("ctx.quarantine.x"), false, nil},
		{"reply subjects", "the checkpoints", answered("ctx.checkpoints.x"), false, nil},
		{"reply subjects", "the operator's facts", answered(operators(schema.TypeErasureApplied)), false, []schema.Code{schema.CodeNotCloudEvent, schema.CodeRequired, schema.CodeNotJSON, schema.CodeMalformed}},
		{"reply subjects", "its own", answered(own), false, []schema.Code{schema.CodeNotCloudEvent, schema.CodeRequired, schema.CodeNotJSON, schema.CodeMalformed}},

		{"message ids", "of all that the victim will say", func(b *battle) error {
			for _, e := range b.script {
				m := onOwn(forged(nil))
				m.Header[schema.MsgIDHeader] = []string{e.MessageID()}
				if err := send(m)(b); err != nil {
					return err
				}
			}
			return nil
		}, false, nil},
		{"identities", "of all that the victim will say", func(b *battle) error {
			for _, e := range b.script {
				taken := forged(func(own *schema.Event) { own.Source, own.ID = e.Source, e.ID })
				m := onOwn(taken)
				m.Header[schema.MsgIDHeader] = []string{uuid.NewString()}
				if err := send(m)(b); err != nil {
					return err
				}
			}
			return nil
		}, false, nil},

		{"expected sequences", "of the stream", send(onOwn(forged(nil)), "Nats-Expected-Last-Sequence", "1"), true, nil},
		{"expected sequences", "of the victim's subject", send(onOwn(forged(nil)), "Nats-Expected-Last-Subject-Sequence", "77", "Nats-Expected-Last-Subject-Sequence-Subject", victims.Subject), true, nil},
		{"batches", "with one for the victim", func(b *battle) error {
			mine := onOwn(forged(nil))
			_, err := jetstreamext.PublishMsgBatch(b.ctx, b.attacker, []*nats.Msg{messageOf(mine), messageOf(victims)})
			return err
		}, true, nil},
		{"batches", "with an erasure", func(b *battle) error {
			mine, gone := onOwn(forged(nil)), forged(erasure).Binary()
			_, err := jetstreamext.PublishMsgBatch(b.ctx, b.attacker, []*nats.Msg{messageOf(mine), messageOf(gone)})
			return err
		}, true, nil},
		{"batches", "never committed", send(onOwn(forged(nil)), "Nats-Batch-Id", "left-open", "Nats-Batch-Sequence", "1"), false, nil},

		{"erasures", "its own fact", send(forged(erasure).Binary()), true, nil},
		{"erasures", "on the victim's subject", func(b *battle) error {
			m := forged(erasure).Binary()
			m.Subject = strings.Replace(m.Subject, attacker, victim, 1)
			return send(m)(b)
		}, true, nil},
		{"erasures", "on the subject of another type", func(b *battle) error {
			m := forged(erasure).Binary()
			m.Subject = strings.Replace(m.Subject, "erasure.applied", "item.added", 1)
			return send(m)(b)
		}, false, elsewhere},
		{"erasures", "of a type of its own on the operator's subject", bare(operators(schema.TypeErasureApplied), "{}"), true, nil},
		{"erasures", "a redaction revoked", bare(operators("context.redaction.revoked"), "{}"), true, nil},

		{"replays", "of what the victim has in quarantine", func(b *battle) error {
			for seq := range uint64(60) {
				if err := send(onOwn(forged(nil)), quarantine.ReplayHeader, fmt.Sprintf("%s:%d", b.incarnation, seq))(b); err != nil {
					return err
				}
			}
			return nil
		}, false, nil},
		{"quarantine", "a copy", bare("ctx.quarantine.malformed", "{}"), true, nil},
		{"checkpoints", "a signed head", bare("ctx.checkpoints.CTX", "forged"), true, nil},
		{"leases", "the lease", bare("$KV."+lease.Bucket+".CTX.projection", "{}"), true, nil},
		{"leases", "the fence", bare("$KV."+lease.Bucket+".CTX", "{}"), true, nil},
		{"leases", "a request for the lease", bare("$KV."+lease.Bucket+".CTX.projection.request", "me"), true, nil},
		{"interface", "look", asks("STREAM.INFO.CTX"), true, nil},
		{"interface", "purge", asks("STREAM.PURGE.CTX"), true, nil},
		{"interface", "change", asks("STREAM.UPDATE.CTX"), true, nil},
		{"interface", "delete", asks("STREAM.DELETE.CTX"), true, nil},
		{"interface", "delete a message", asks("STREAM.MSG.DELETE.CTX"), true, nil},
		{"interface", "read", asks("STREAM.MSG.GET.CTX"), true, nil},
		{"interface", "consume", asks("CONSUMER.CREATE.CTX"), true, nil},

		{"facts", "of the victim's session under its own name", as(func(e *schema.Event) {
			e.SessionID, e.PartitionKey, e.ResourceID = victimSession, victimSession, "user-victim"
		}), false, nil},
		{"facts", "sequences of the victim's source", as(func(e *schema.Event) {
			e.Source, e.SessionID, e.PartitionKey, e.Sequence = victimSource, victimSession, victimSession, new(int64(1_000))
		}), false, nil},
		{"facts", "sequences of the victim's source, refused", as(func(e *schema.Event) {
			e.Tenant, e.Source, e.SessionID, e.PartitionKey, e.Sequence = victim, victimSource, victimSession, victimSession, new(int64(2_000))
		}), false, mismatch},
		{"facts", "a loss that the victim did not have", send(fact("urn:agent:attacker", "loss", attacker, victimSession, &schema.FactsDropped{
			DropID: "loss", Count: new(int64(9)), Reason: "forged", Sequences: []schema.SequenceRanges{{Source: victimSource, Ranges: [][2]int64{{3, 11}}}},
		}).Binary()), false, nil},
		{"facts", "a redaction of the victim's item", send(fact("urn:agent:attacker", "redaction", attacker, victimSession, &schema.RedactionApplied{
			Common: schema.Common{PolicyRefs: schema.Refs("policy:mine")}, RedactionID: "forged", TargetRef: "item-1", RedactionState: schema.RedactionRemoved, Reason: "forged",
		}).Binary()), false, nil},
		{"withheld values", "a guess in the victim's name", as(func(e *schema.Event) {
			e.Tenant, e.Data = victim, bytes.Replace(e.Data, []byte("forged"), []byte(victimSecret), 1)
		}), false, mismatch},
		{"withheld values", "a guess in its own name", as(func(e *schema.Event) { e.Data = bytes.Replace(e.Data, []byte("forged"), []byte(victimSecret), 1) }), false, nil},
		{"withheld values", "a guess in nobody's name", bare("ctx.v1.acme.guess", victimSecret), false, []schema.Code{schema.CodeNotCloudEvent, schema.CodeRequired, schema.CodeNotJSON, schema.CodeMalformed}},
	}
}
