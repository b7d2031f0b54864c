package deploy_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/synadia-io/orbit.go/jetstreamext"
	"golang.org/x/mod/sumdb/note"

	"github.com/ctxledger/ctxledger/deploy"
	"github.com/ctxledger/ctxledger/deploy/embedded"
	"github.com/ctxledger/ctxledger/ledger"
	"github.com/ctxledger/ctxledger/ledger/evidence"
	"github.com/ctxledger/ctxledger/ledger/evidence/pack"
	"github.com/ctxledger/ctxledger/ledger/evidence/verify"
	"github.com/ctxledger/ctxledger/ledger/proof"
	"github.com/ctxledger/ctxledger/producer"
	"github.com/ctxledger/ctxledger/projector"
	"github.com/ctxledger/ctxledger/schema"
)

// The tenant acme attacks the tenant zeta-2 with nothing but the account that `deploy
// nats` makes for it.
const (
	attacker, victim = "acme", "zeta-2"
	victimSource     = "urn:agent:victim"
	victimSession    = "s-victim"
	victimSecret     = "correct horse battery staple"
)

// An attack is what the attacker does between two of the victim's facts. What a stream
// takes of it must end in quarantine under the attacker's name with one of these codes;
// without codes it is a fact of the attacker's own, or nothing at all.
type attack struct {
	class, name string
	do          func(*battle) error
	denied      bool // the server must refuse it
	codes       []schema.Code
}

// forged is an event that the attacker makes of its own, or of the victim's.
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

// as changes the envelope of an event that stays on the attacker's subject.
func as(change func(*schema.Event)) func(*battle) error { return send(onOwn(forged(change))) }

// bare publishes bytes on a subject.
func bare(subject, data string) func(*battle) error {
	return func(b *battle) error {
		return b.publish(&nats.Msg{Subject: subject, Header: nats.Header{}, Data: []byte(data)})
	}
}

// answered has the server's answer written to a subject.
func answered(reply string) func(*battle) error {
	return func(b *battle) error {
		m := forged(nil).Binary()
		err := b.attacker.Conn().PublishMsg(&nats.Msg{Subject: m.Subject, Header: nats.Header(m.Header), Data: m.Data, Reply: reply})
		return errors.Join(err, b.attacker.Conn().Flush())
	}
}

// asks calls the server's own interface.
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
		}, "erasure-1", projector.ErasureSource, at, schema.Correlation{Tenant: attacker})
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

		{"headers", "two tenants", send(onOwn(forged(nil)), "ce-tenant", victim), false, []schema.Code{schema.CodeDuplicate}},
		{"headers", "two tenants in two cases", send(onOwn(forged(nil)), "CE-Tenant", victim), false, []schema.Code{schema.CodeDuplicate}},
		{"headers", "structured with a binary tenant", send(structured(nil), "ce-tenant", victim), false, nil},
		{"headers", "a refusal of the quarantine", send(onOwn(forged(nil)), "Ctxledger-Refusal", `{"sequence":1}`), false, nil},
		{"headers", "a rollup", send(onOwn(forged(nil)), "Nats-Rollup", "all"), true, nil},
		{"headers", "a rollup of the subject", send(onOwn(forged(nil)), "Nats-Rollup", "sub"), true, nil},
		{"headers", "a lifetime", send(onOwn(forged(nil)), "Nats-TTL", "1s"), true, nil},
		{"headers", "a schedule", send(onOwn(forged(nil)), "Nats-Schedule", "@at 2026-01-01T00:00:00Z", "Nats-Schedule-Target", victims.Subject), true, nil},
		{"headers", "a counter", send(onOwn(forged(nil)), "Nats-Incr", "1"), true, nil},

		{"reply subjects", "the lease", answered("$KV." + projector.LeaseBucket + ".CTX.projection"), false, nil},
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
				if err := send(onOwn(forged(nil)), projector.ReplayHeader, fmt.Sprintf("%s:%d", b.incarnation, seq))(b); err != nil {
					return err
				}
			}
			return nil
		}, false, nil},
		{"quarantine", "a copy", bare("ctx.quarantine.malformed", "{}"), true, nil},
		{"checkpoints", "a signed head", bare("ctx.checkpoints.CTX", "forged"), true, nil},
		{"leases", "the lease", bare("$KV."+projector.LeaseBucket+".CTX.projection", "{}"), true, nil},
		{"leases", "the fence", bare("$KV."+projector.LeaseBucket+".CTX", "{}"), true, nil},
		{"leases", "a request for the lease", bare("$KV."+projector.LeaseBucket+".CTX.projection.request", "me"), true, nil},
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

var at = time.Date(2026, 11, 1, 12, 0, 0, 0, time.UTC)

func fact(source, id, tenant, session string, f schema.Fact) *schema.Event {
	e, err := schema.NewEvent(f, id, source, at, schema.Correlation{Tenant: tenant, SessionID: session, ThreadID: session, TurnID: "turn", RunID: "run", ResourceID: "user-" + tenant})
	if err != nil {
		panic(err)
	}
	return e
}

// A battle is a node with both tenants, and what the victim says in it.
type battle struct {
	t           *testing.T
	ctx         context.Context
	admin       jetstream.JetStream
	attacker    jetstream.JetStream
	victim      *producer.Publisher
	ledger      *ledger.Ledger
	config      projector.Config
	ring        proof.Ring
	key         schema.Key
	incarnation string
	script      []*schema.Event
}

// publish returns an error where no stream takes the message.
func (b *battle) publish(m *nats.Msg) error {
	ctx, cancel := context.WithTimeout(b.ctx, 2*time.Second)
	defer cancel()
	if m.Header.Get("Nats-Batch-Id") != "" { // a batch is answered when it is committed
		return errors.Join(b.attacker.Conn().PublishMsg(m), b.attacker.Conn().Flush())
	}
	inbox := nats.NewInbox()
	answers, err := b.attacker.Conn().SubscribeSync(inbox)
	if err != nil {
		return err
	}
	defer func() { _ = answers.Unsubscribe() }()
	m.Reply = inbox
	if err := errors.Join(b.attacker.Conn().PublishMsg(m), b.attacker.Conn().Flush()); err != nil {
		return err
	}
	for {
		answer, err := answers.NextMsg(100 * time.Millisecond)
		switch {
		case errors.Is(b.attacker.Conn().LastError(), nats.ErrPermissionViolation) && strings.Contains(b.attacker.Conn().LastError().Error(), `"`+m.Subject+`"`):
			return b.attacker.Conn().LastError()
		case errors.Is(err, nats.ErrTimeout) && ctx.Err() == nil:
			continue
		case err != nil:
			return err
		}
		var ack struct {
			Error *jetstream.APIError `json:"error"`
		}
		if err := json.Unmarshal(answer.Data, &ack); err != nil {
			return fmt.Errorf("answered %q: %w", answer.Data, err)
		}
		if ack.Error != nil {
			return ack.Error
		}
		return nil
	}
}

func newBattle(t *testing.T, n node, s *server.Server, ring proof.Ring, key schema.Key) *battle {
	t.Helper()
	b := &battle{t: t, ctx: t.Context(), ring: ring, key: key}
	b.admin, b.attacker = signIn(t, n, s, "admin"), signIn(t, n, s, "tenant-"+attacker)
	b.victim = producer.NewPublisher(signIn(t, n, s, "tenant-"+victim), 0)
	if _, err := projector.EnsureStreams(t.Context(), b.admin); err != nil {
		t.Fatal(err)
	}
	stream, err := b.admin.Stream(t.Context(), projector.StreamName)
	if err != nil {
		t.Fatal(err)
	}
	b.incarnation = stream.CachedInfo().Config.Metadata["ctxledger_incarnation"]
	if b.ledger, err = ledger.Open(t.Context(), embedded.SharedClickHouse(t).ClickHouseDSN()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { b.ledger.Close() })
	if _, err := b.ledger.Migrate(t.Context()); err != nil {
		t.Fatal(err)
	}
	b.config = projector.DefaultConfig(signIn(t, n, s, "projector"), b.ledger)
	b.config.UntilCaughtUp = true
	b.config.Log = slog.New(slog.NewTextHandler(t.Output(), &slog.HandlerOptions{Level: slog.LevelWarn}))
	b.config.Ring = func() (proof.Ring, error) { return ring, nil }
	b.config.Keys = func() ([]schema.KeyRing, error) {
		return []schema.KeyRing{{Tenant: victim, Keys: []schema.Key{key}}}, nil
	}
	b.script = b.write()
	return b
}

// write is what the victim says: items, a redaction, a repeat, what is refused, a seal.
func (b *battle) write() (script []*schema.Event) {
	f, err := schema.NewFingerprinter(b.key)
	if err != nil {
		b.t.Fatal(err)
	}
	fingerprint, ok := f.Of([]byte(victimSecret))
	if !ok {
		b.t.Fatal("no fingerprint")
	}
	say := func(f schema.Fact) *schema.Event {
		n := int64(len(script) + 1)
		e := fact(victimSource, fmt.Sprint("fact-", n), victim, victimSession, f)
		e.Sequence = &n
		script = append(script, e)
		return e
	}
	for i := range 8 {
		say(&schema.ItemAdded{Item: schema.Item{ItemID: fmt.Sprint("item-", i), Title: fmt.Sprint("the victim's item ", i)}})
	}
	say(&schema.RedactionApplied{
		Common: schema.Common{PolicyRefs: schema.Refs("policy:secrets")}, RedactionID: "redaction", TargetRef: "item-7",
		RedactionState: schema.RedactionMasked, Reason: "secret", Fingerprints: []schema.Fingerprint{fingerprint},
	})
	for i := range 8 {
		say(&schema.LogAppended{LogItemID: fmt.Sprint("log-", i), ItemType: "message", Position: new(int64(i))})
	}
	seal := say(&schema.EnvelopeCreated{ContextID: "context", Scope: "session", Lifecycle: "exported", Sequences: []schema.SequenceRanges{{Source: victimSource, Ranges: [][2]int64{{1, 18}}}}})
	seal.ContextID = "context"
	return script
}

// say publishes a fact of the victim.
func (b *battle) say(e *schema.Event) {
	b.t.Helper()
	if err := b.victim.Publish(b.ctx, e); err != nil {
		b.t.Fatal(err)
	}
	if err := b.victim.Flush(b.ctx); err != nil {
		b.t.Fatal(err)
	}
}

func (b *battle) project() {
	b.t.Helper()
	p, err := projector.New(b.config)
	if err != nil {
		b.t.Fatal(err)
	}
	if err := p.Run(b.ctx); err != nil {
		b.t.Fatal(err)
	}
}

// seen is everything that the ledger says of the victim, but for places and times of
// the stream.
func (b *battle) seen() map[string][]string {
	b.t.Helper()
	seen := make(map[string][]string)
	ask := func(name, sql string) {
		result, err := b.ledger.Query(b.ctx, sql, nil, ledger.DefaultLimits())
		if err != nil {
			b.t.Fatalf("%s: %v", name, err)
		}
		defer result.Close()
		rows := []string{}
		for result.Next() {
			rows = append(rows, fmt.Sprint(result.Values()...))
		}
		if err := result.Err(); err != nil {
			b.t.Fatalf("%s: %v", name, err)
		}
		slices.Sort(rows)
		seen[name] = rows
	}
	for _, table := range []string{"events", "scopes", "items", "decisions", "windows", "placements", "replacements", "redactions", "missing", "calls", "log_items"} {
		ask(table, "SELECT toString(tuple(* EXCEPT (incarnation, stream_seq, recorded_at))) FROM "+table+" FINAL WHERE tenant = 'zeta-2'")
	}
	ask("quarantine", "SELECT toString(tuple(* EXCEPT (incarnation, stream_seq, recorded_at, header))) FROM quarantine FINAL WHERE tenant = 'zeta-2'")
	ask("replays", "SELECT count() FROM replays FINAL WHERE tenant = 'zeta-2'")
	ask("waiting", "SELECT outcome FROM quarantine_replays WHERE tenant = 'zeta-2'")
	ask("leaves", "SELECT hex(l.hash), e.event_id FROM log_hashes AS l FINAL INNER JOIN events AS e ON e.incarnation = l.incarnation AND e.stream_seq = l.stream_seq WHERE e.tenant = 'zeta-2'")
	for _, check := range []string{"conservation", "injected_without_assembly", "redaction_reintroduced", "lost_runtime_ids", "sequence_gaps", "unsealed_scopes", "reasoning_reinjected", "compaction_dropped_open_gap"} {
		ask(check, "SELECT * FROM check_"+check+"_of(tenant = 'zeta-2')")
		ask(check+" of all", "SELECT * FROM check_"+check+" WHERE tenant = 'zeta-2'")
	}
	return seen
}

// verified exports the victim's session and returns the verdicts.
func (b *battle) verified() []verify.Verdict {
	b.t.Helper()
	signer, err := b.ring.Signer()
	if err != nil {
		b.t.Fatal(err)
	}
	c := evidence.Config{
		Header: pack.Header{ID: "pack-1", Scope: pack.Scope{Kind: pack.ScopeSession, Tenant: victim, Session: victimSession}, Created: at, Exporter: "test"},
		Target: filepath.Join(b.t.TempDir(), "pack"), Signer: signer, Known: b.ring.Verifiers(), Keys: []schema.Key{b.key},
	}
	if _, err := evidence.Export(b.ctx, b.ledger, c); err != nil {
		b.t.Fatal(err)
	}
	trusted, err := note.NewVerifier(b.ring.Keys[0].Public)
	if err != nil {
		b.t.Fatal(err)
	}
	report, err := verify.Pack(b.ctx, c.Target, verify.Options{Keys: []note.Verifier{trusted}, TenantKeys: []schema.Key{b.key}})
	if err != nil {
		b.t.Fatal(err)
	}
	return report.Verdicts
}

// Whatever the attacker does, the victim's rows, leaves, verdicts and packs are those
// of a node without it, and what a stream took of an attack is filed under its name.
func TestATenantCannotHarmAnother(t *testing.T) {
	ring, err := proof.NewRing(at)
	if err != nil {
		t.Fatal(err)
	}
	key, err := schema.NewKey(strings.NewReader(strings.Repeat("k", 64)), at)
	if err != nil {
		t.Fatal(err)
	}
	tell := func(t *testing.T, list []attack) (map[string][]string, []verify.Verdict) {
		n := write(t, deploy.NATS())
		b := newBattle(t, n, startNATS(t, n), ring, key)
		for i, e := range b.script {
			for j := i; j < len(list); j += len(b.script) {
				b.fight(list[j])
			}
			b.say(e)
			if i == len(b.script)/2 {
				b.say(e) // again
				broken := *e
				broken.ID, broken.Sequence = "broken", nil
				m := broken.Binary()
				m.Data = m.Data[:len(m.Data)-1]
				if err := b.victim.Send(b.ctx, m); err != nil {
					t.Fatal(err)
				}
				if err := b.victim.Flush(b.ctx); err != nil {
					t.Fatal(err)
				}
				b.project()
				for _, a := range list { // once more, about what is recorded
					b.fight(a)
				}
			}
		}
		b.project()
		b.judge(list)
		done, err := projector.Rebuild{JetStream: b.admin, Ledger: b.ledger, Keys: b.config.Keys, Ring: b.config.Ring, CompareOnly: true}.Run(b.ctx)
		if err != nil {
			t.Errorf("rebuild: %v, %+v", err, done.Compared.Differences)
		}
		return b.seen(), b.verified()
	}
	var calm, seen map[string][]string
	var unharmed, verdicts []verify.Verdict
	t.Run("alone", func(t *testing.T) { calm, unharmed = tell(t, nil) })
	t.Run("attacked", func(t *testing.T) { seen, verdicts = tell(t, attacks()) })
	for name, want := range calm {
		if got := seen[name]; !slices.Equal(got, want) {
			t.Errorf("%s of the victim\n got %q\nwant %q", name, got, want)
		}
	}
	if len(calm["events"]) < 18 || len(calm["quarantine"]) != 1 || len(calm["leaves"]) < 18 {
		t.Fatalf("the victim has said too little: %d events", len(calm["events"]))
	}
	for i, v := range verdicts {
		if v.Status != unharmed[i].Status || len(v.Faults) > 0 {
			t.Errorf("the pack's %s: %+v, and %+v alone", v.Question, v, unharmed[i])
		}
	}
}

// fight does an attack and looks whether the server refuses what it must.
func (b *battle) fight(a attack) {
	b.t.Helper()
	if err := a.do(b); (err != nil) != a.denied {
		b.t.Errorf("%s, %s: denied %v: %v", a.class, a.name, !a.denied, err)
	}
}

// judge looks where the attacks ended.
func (b *battle) judge(list []attack) {
	b.t.Helper()
	expected := make(map[schema.Code]bool)
	for _, a := range list {
		for _, code := range a.codes {
			expected[code] = true
		}
	}
	found := make(map[schema.Code]int)
	err := b.ledger.Refusals(b.ctx, ledger.RefusalFilter{}, func(r ledger.Refusal) error {
		code := schema.Code(r.Code)
		switch {
		case r.Tenant == attacker && expected[code]:
			found[code]++
		case r.Tenant != victim || code != schema.CodeMalformed:
			b.t.Errorf("in quarantine under %q with %s: %s %s", r.Tenant, r.Code, r.Subject, r.Reason)
		}
		return nil
	})
	if err != nil {
		b.t.Fatal(err)
	}
	for _, a := range list {
		if len(a.codes) > 0 && !slices.ContainsFunc(a.codes, func(c schema.Code) bool { return found[c] > 0 }) {
			b.t.Errorf("%s, %s: nothing is in quarantine with %v", a.class, a.name, a.codes)
		}
	}
}
