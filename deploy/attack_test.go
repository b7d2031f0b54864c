package deploy_test

import (
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

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"golang.org/x/mod/sumdb/note"

	"github.com/ctxledger/ctxledger/deploy"
	"github.com/ctxledger/ctxledger/deploy/embedded/embeddedtest"
	"github.com/ctxledger/ctxledger/ledger"
	"github.com/ctxledger/ctxledger/ledger/evidence"
	"github.com/ctxledger/ctxledger/ledger/evidence/pack"
	"github.com/ctxledger/ctxledger/ledger/evidence/verify"
	"github.com/ctxledger/ctxledger/ledger/proof"
	"github.com/ctxledger/ctxledger/ledger/read"
	"github.com/ctxledger/ctxledger/ledger/shadow"
	"github.com/ctxledger/ctxledger/producer/publish"
	"github.com/ctxledger/ctxledger/projector"
	"github.com/ctxledger/ctxledger/projector/rebuild"
	"github.com/ctxledger/ctxledger/projector/streamio"
	"github.com/ctxledger/ctxledger/schema"
	"github.com/ctxledger/ctxledger/schema/fingerprint"
)

// The tenant acme attacks the tenant zeta-2. The attacker has only the account of `deploy nats`.
const (
	attacker, victim = "acme", "zeta-2"
	victimSource     = "urn:agent:victim"
	victimSession    = "s-victim"
	victimSecret     = "correct horse battery staple"
)

var at = time.Date(2026, 11, 1, 12, 0, 0, 0, time.UTC)

func fact(source, id, tenant, session string, f schema.Fact) *schema.Event {
	e, err := schema.NewEvent(f, id, source, at, schema.Correlation{Tenant: tenant, SessionID: session, ThreadID: session, TurnID: "turn", RunID: "run", ResourceID: "user-" + tenant})
	if err != nil {
		panic(err)
	}
	return e
}

// A battle is a node with both tenants and the facts of the victim.
type battle struct {
	t           *testing.T
	ctx         context.Context
	admin       jetstream.JetStream
	attacker    jetstream.JetStream
	victim      *publish.Publisher
	ledger      *ledger.Ledger
	config      projector.Config
	ring        proof.Ring
	key         schema.Key
	incarnation string
	script      []*schema.Event
}

// publish returns an error if no stream stores the message.
func (b *battle) publish(m *nats.Msg) error {
	ctx, cancel := context.WithTimeout(b.ctx, 2*time.Second)
	defer cancel()
	if m.Header.Get("Nats-Batch-Id") != "" { // the answer to a batch comes after its commit
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
	b.victim = publish.New(signIn(t, n, s, "tenant-"+victim), 0)
	if _, err := streamio.EnsureStreams(t.Context(), b.admin); err != nil {
		t.Fatal(err)
	}
	stream, err := b.admin.Stream(t.Context(), schema.EventStream)
	if err != nil {
		t.Fatal(err)
	}
	b.incarnation = stream.CachedInfo().Config.Metadata["ctxledger_incarnation"]
	if b.ledger, err = ledger.Open(t.Context(), embeddedtest.ClickHouse(t).ClickHouseDSN()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { b.ledger.Close() })
	if _, err := shadow.Of(b.ledger).Migrate(t.Context()); err != nil {
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

// write publishes the victim's facts: items, a redaction, a repeat, refused events, a seal.
func (b *battle) write() (script []*schema.Event) {
	f, err := fingerprint.New(b.key)
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

// seen returns the victim's rows, leaves and checks, without the stream's positions and times.
func (b *battle) seen() map[string][]string {
	b.t.Helper()
	seen := make(map[string][]string)
	ask := func(name, sql string) {
		result, err := read.Of(b.ledger).Query(b.ctx, sql, nil, read.DefaultLimits())
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
	for _, check := range []string{"conservation", "injected_without_assembly", "redaction_reintroduced", "lost_runtime_ids", "sequence_gaps", "unsealed_scopes", "reasoning_reinjected", "compaction_dropped_open_gap", "references_elsewhere"} {
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
		Header: pack.Header{ID: "pack-1", Scope: pack.Scope{Kind: pack.ScopeSession, Tenant: victim, Session: victimSession}, Created: time.Now(), Exporter: "test"},
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

// The victim's rows, leaves, verdicts and packs must equal those of a node without an attacker.
// The stored messages of an attack must be recorded under the attacker's name.
func TestATenantCannotHarmAnother(t *testing.T) {
	if testing.Short() {
		t.Skip("needs servers: run without -short")
	}
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
				b.say(e) // a repeat
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
				for _, a := range list { // a second time, about recorded facts
					b.fight(a)
				}
			}
		}
		b.project()
		b.judge(list)
		done, err := rebuild.Rebuild{Projector: projector.ForRebuild, JetStream: b.admin, Ledger: b.ledger, Keys: b.config.Keys, Ring: b.config.Ring, CompareOnly: true}.Run(b.ctx)
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

// fight runs an attack and checks that the server refuses the denied ones.
func (b *battle) fight(a attack) {
	b.t.Helper()
	if err := a.do(b); (err != nil) != a.denied {
		b.t.Errorf("%s, %s: denied %v: %v", a.class, a.name, !a.denied, err)
	}
}

// judge checks the results of the attacks.
func (b *battle) judge(list []attack) {
	b.t.Helper()
	expected := make(map[schema.Code]bool)
	for _, a := range list {
		for _, code := range a.codes {
			expected[code] = true
		}
	}
	found := make(map[schema.Code]int)
	err := read.Of(b.ledger).Refusals(b.ctx, read.RefusalFilter{}, func(r ledger.Refusal) error {
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
